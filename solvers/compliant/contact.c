// A pair where the bodies are: its gap, and the points that overlap with their forces.
#include <math.h>
#include <string.h>

#include "compliant_run.h"
#include "kinematics.h"
#include "laws.h"
#include "linalg.h"
#include "pair_contact.h"

int compliant_body(const compliant_run *run, int guard, int side)
{
    return run->frame->collider[run->frame->pair[run->pair[guard]].collider[side]].body;
}

void compliant_place_pair(compliant_run *run, const double *x, int guard)
{
    for (int side = 0; side < 2; side++) {
        int body = compliant_body(run, guard, side);
        if (body != SPRAG_STATIC) {
            compliant_place_body(run, x, body);
        }
    }
}

// room: for one that is not there already.
static const sprag_pose *pose_of(const compliant_run *run, int guard, int side, sprag_pose *room)
{
    static const sprag_pose centred = {.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    const sprag_collider *collider =
        &run->frame->collider[run->frame->pair[run->pair[guard]].collider[side]];
    if (collider->body == SPRAG_STATIC) {
        return &collider->mount;
    }
    const sprag_pose *body = &run->pose[collider->body];
    if (memcmp(&collider->mount, &centred, sizeof centred) == 0) {
        return body;
    }
    mul33(body->rotation, collider->mount.position, room->position);
    add_scaled(room->position, 1, body->position, 3);
    compliant_multiply(body->rotation, collider->mount.rotation, room->rotation);
    return room;
}

bool compliant_find_gap(const compliant_run *run, int guard, double reach, double margin,
                        sprag_gap_memory *kept, sprag_gap *gap, sprag_manifold *manifold)
{
    const sprag_pair *pair = &run->frame->pair[run->pair[guard]];
    const sprag_gap_query query = {reach, margin};
    sprag_gap_memory memory = run->memory[guard];
    sprag_pose room[2];
    const sprag_pose *pose[2];
    const sprag_shape *shape[2];
    for (int side = 0; side < 2; side++) {
        pose[side] = pose_of(run, guard, side, &room[side]);
        shape[side] = &run->frame->collider[pair->collider[side]].shape;
    }
    return sprag_gap_find(shape, pose, &query, kept ? kept : &memory, gap, manifold) !=
           SPRAG_BAD_PROBLEM;
}

// ---- how far a pair must still be apart, after what its bodies have moved since they were looked
// at

void compliant_mark(compliant_run *run)
{
    memcpy(run->marked, run->x,
           (size_t)run->frame->bodies * COMPLIANT_STATES * sizeof *run->marked);
}

// Of a chord between unit quaternions the turn is at most twice as long.
static double gone(const compliant_run *run, const double *x, int body)
{
    const double *from = run->marked + COMPLIANT_STATES * body, *to = x + COMPLIANT_STATES * body;
    double apart[3], square = 0;
    subtract3(to, from, apart);
    for (int k = COMPLIANT_QUATERNION; k < COMPLIANT_VELOCITY; k++) {
        square += (to[k] - from[k]) * (to[k] - from[k]);
    }
    return norm3(apart) + (square > 0 ? 2.1 * run->radius[body] * sqrt(square) : 0);
}

void compliant_measure(compliant_run *run, const double *x)
{
    for (int i = 0; i < run->frame->bodies; i++) {
        run->gone[i] = gone(run, x, i);
    }
}

double compliant_least_gap(const compliant_run *run, int guard)
{
    double least = run->seen[guard];
    for (int side = 0; side < 2; side++) {
        int body = compliant_body(run, guard, side);
        least -= body != SPRAG_STATIC ? run->gone[body] : 0;
    }
    return least;
}

// ---- forces

// Velocity of the point of side 0 relative to that of side 1.
static void velocity_at(const compliant_run *run, const double *x, int guard, const double *at,
                        double u[3])
{
    const double *velocity[2] = {NULL, NULL};
    double arm[2][3] = {{0}};
    for (int side = 0; side < 2; side++) {
        int body = compliant_body(run, guard, side);
        if (body != SPRAG_STATIC) {
            velocity[side] = x + COMPLIANT_STATES * body + COMPLIANT_VELOCITY;
            subtract3(at, run->pose[body].position, arm[side]);
        }
    }
    relative_velocity(velocity, arm, u);
}

double compliant_inverse_mass(const compliant_run *run, int guard, const double *at,
                              const double *along)
{
    double sum = 0;
    for (int side = 0; side < 2; side++) {
        int body = compliant_body(run, guard, side);
        if (body != SPRAG_STATIC) {
            double arm[3], J[6];
            subtract3(at, run->pose[body].position, arm);
            point_jacobian(arm, along, J);
            sum += compliant_body_inverse_mass(run, body, J);
        }
    }
    return sum;
}

// The same in all directions, and at rest.
static bool is_plain(const sprag_friction *f)
{
    return f->coefficient[0] == f->coefficient[1] && f->slip[0] == f->slip[1] &&
           f->force[0] == f->force[1] && f->velocity[0] == 0 && f->velocity[1] == 0;
}

// Adds friction to the force of a point; returns its steepness. u: of the point.
static double rub(const compliant_run *run, int guard, const double *normal, double normal_force,
                  const double *u, double *force)
{
    const sprag_surface *surface = &run->frame->pair[run->pair[guard]].surface;
    double frame[3][3], slip[2], along[2], steepness;
    if (is_plain(&surface->slide)) {
        double sliding[3];
        memcpy(sliding, u, sizeof sliding);
        add_scaled(sliding, -dot3(u, normal), normal, 3);
        slip[0] = norm3(sliding);
        slip[1] = 0;
        steepness = sprag_surface_friction(&surface->slide, normal_force, run->law[guard].stiction,
                                           slip, along, NULL);
        add_scaled(force, -steepness, sliding, 3);
        return steepness;
    }
    sprag_contact_frame(normal, surface->direction, frame);
    for (int k = 0; k < 2; k++) {
        slip[k] = dot3(frame[1 + k], u) - surface->slide.velocity[k];
    }
    steepness = sprag_surface_friction(&surface->slide, normal_force, run->law[guard].stiction,
                                       slip, along, NULL);
    add_scaled(force, along[0], frame[1], 3);
    add_scaled(force, along[1], frame[2], 3);
    return steepness;
}

// How fast forces at a point make velocities change.
static void add_rates(const compliant_run *run, int guard, const double *at, double spring,
                      double steepness, compliant_contact *c)
{
    const sprag_surface *surface = &run->frame->pair[run->pair[guard]].surface;
    const compliant_law *law = &run->law[guard];
    double frame[3][3], w[3];
    sprag_contact_frame(c->gap.normal, surface->direction, frame);
    for (int k = 0; k < 3; k++) {
        w[k] = compliant_inverse_mass(run, guard, at, frame[k]);
    }
    c->rate += sqrt(law->stiffness * w[0]) + (law->damping + spring * law->dissipation) * w[0];
    c->slip_rate += steepness * fmax(w[1], w[2]);
}

// A damper makes a force as soon as its point touches. Beside points that are deeper its point
// would come and go at any time, so there it acts in full only where that is this share as deep as
// the deepest: forces within a contact are continuous.
static const double full = 0.1;

static void press(const compliant_run *run, const double *x, int guard, int i, bool rates,
                  compliant_contact *c)
{
    const sprag_surface *surface = &run->frame->pair[run->pair[guard]].surface;
    const compliant_law *law = &run->law[guard];
    double u[3];
    const double *n = c->gap.normal;
    velocity_at(run, x, guard, c->at[i], u);
    double apart = dot3(n, u) - surface->velocity_normal, deep = fmax(0, c->depth[i]);
    double spring = law->stiffness * deep, damped = fmax(0, 1 - law->dissipation * apart);
    double damping = law->damping * fmin(1, deep / (full * c->deepest));
    double N = fmax(0, spring * damped - damping * apart);
    for (int k = 0; k < 3; k++) {
        c->force[i][k] = N * n[k];
    }
    double steepness = rub(run, guard, n, N, u, c->force[i]);
    c->approach = i == 0 ? -apart : c->approach;
    if (rates) {
        add_rates(run, guard, c->at[i], spring, steepness, c);
    }
}

void compliant_add_wrench(const compliant_run *run, int guard, int side, const compliant_contact *c,
                          double wrench[6])
{
    int body = compliant_body(run, guard, side);
    for (int i = 0; i < c->count && body != SPRAG_STATIC; i++) {
        double arm[3], of_point[6];
        subtract3(c->at[i], run->pose[body].position, arm);
        point_jacobian(arm, c->force[i], of_point);
        add_scaled(wrench, side ? -1 : 1, of_point, 6);
    }
}

// ---- points

static void set_point(compliant_contact *c, const double apart[2][3], double depth)
{
    c->depth[c->count] = depth;
    for (int k = 0; k < 3; k++) {
        c->at[c->count][k] = (apart[0][k] + apart[1][k]) / 2;
    }
    c->count++;
}

// Of a polytope on a plane all vertices below count, not those of one face: rolling from one to the
// next does not make a force jump. At most as many as there is room for.
static void set_below(const compliant_run *run, int guard, int side, compliant_contact *c)
{
    const sprag_polytope *p =
        run->frame->collider[run->frame->pair[run->pair[guard]].collider[side]].shape.polytope;
    sprag_pose room;
    double up = side ? -1 : 1;
    const sprag_pose *pose = pose_of(run, guard, side, &room);
    for (int i = 0; i < p->vertices && c->count < SPRAG_MANIFOLD_MAX; i++) {
        double at[2][3], above[3];
        mul33(pose->rotation, p->vertex[i], at[side]);
        add_scaled(at[side], 1, pose->position, 3);
        subtract3(at[side], c->gap.point[!side], above);
        double gap = up * dot3(above, c->gap.normal);
        if (gap < 0) {
            memcpy(at[!side], at[side], sizeof at[side]);
            add_scaled(at[!side], -up * gap, c->gap.normal, 3);
            set_point(c, (const double(*)[3])at, -gap);
        }
    }
}

static sprag_shape_kind kind_of(const compliant_run *run, int guard, int side)
{
    return run->frame->collider[run->frame->pair[run->pair[guard]].collider[side]].shape.kind;
}

static void set_points(const compliant_run *run, int guard, const sprag_manifold *manifold,
                       double margin, compliant_contact *c)
{
    for (int side = 0; side < 2 && margin == 0; side++) {
        if (c->gap.distance < 0 && kind_of(run, guard, side) == SPRAG_POLYTOPE &&
            kind_of(run, guard, !side) == SPRAG_PLANE) {
            set_below(run, guard, side, c);
            return;
        }
    }
    for (int i = 0; i < manifold->count; i++) {
        if (manifold->gap[i] < margin) {
            set_point(c, (const double(*)[3])manifold->point[i], -manifold->gap[i]);
        }
    }
}

static void touch(const compliant_run *run, const double *x, int guard, compliant_look look,
                  double margin, sprag_gap_memory *kept, compliant_contact *c)
{
    sprag_manifold manifold;
    manifold.count = 0;
    c->count = 0;
    c->rate = c->slip_rate = c->approach = 0;
    if (!compliant_find_gap(run, guard, INFINITY, margin, kept, &c->gap,
                            look == COMPLIANT_GAP ? NULL : &manifold)) {
        c->gap.distance = NAN;
        return;
    }
    if (look != COMPLIANT_GAP) {
        set_points(run, guard, &manifold, margin, c);
    }
    if (c->count == 0) {
        set_point(c, (const double(*)[3])c->gap.point, -c->gap.distance);
    }
    c->deepest = 1e-300;
    for (int i = 0; i < c->count; i++) {
        c->deepest = fmax(c->deepest, c->depth[i]);
    }
    for (int i = 0; i < c->count && look >= COMPLIANT_FORCES; i++) {
        press(run, x, guard, i, look == COMPLIANT_RATES, c);
    }
}

void compliant_touch(const compliant_run *run, const double *x, int guard, compliant_look look,
                     compliant_contact *c)
{
    touch(run, x, guard, look, 0, NULL, c);
}

void compliant_touch_near(const compliant_run *run, const double *x, int guard, double margin,
                          compliant_contact *c)
{
    touch(run, x, guard, COMPLIANT_POINTS, margin, NULL, c);
}

void compliant_look_at(compliant_run *run, int guard, compliant_look look, compliant_contact *c)
{
    touch(run, run->x, guard, look, 0, &run->memory[guard], c);
    run->seen[guard] = c->gap.distance;
}
