// Contact points of a pair where its bodies are placed, and their forces.
#include <math.h>
#include <string.h>

#include "compliant_run.h"
#include "kinematics.h"
#include "laws.h"
#include "pair_contact.h"

void compliant_velocity_at(const compliant_run *run, const double *x, int guard, const double *at,
                           double u[3])
{
    const double *velocity[2];
    double arm[2][3] = {{0}};
    for (int side = 0; side < 2; side++) {
        int body = compliant_body(run, guard, side);
        velocity[side] = compliant_velocity_of(x, body);
        if (body != SPRAG_STATIC) {
            subtract3(at, run->state.pose[body].position, arm[side]);
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
            subtract3(at, run->state.pose[body].position, arm);
            point_jacobian(arm, along, J);
            sum += compliant_body_inverse_mass(run, body, J);
        }
    }
    return sum;
}

// ---- forces

static bool is_isotropic_and_still(const sprag_friction *f)
{
    return f->coefficient[0] == f->coefficient[1] && f->slip[0] == f->slip[1] &&
           f->force[0] == f->force[1] && f->velocity[0] == 0 && f->velocity[1] == 0;
}

// Laws are of forces that push: friction in proportion to one that pulls turns round, too.
static double sign_of(const sprag_friction *f, int axis, double normal_force)
{
    return normal_force < 0 && !f->force[axis] ? -1 : 1;
}

// Adds friction to the force of a point with velocity u. Returns its slope, N s/m.
static double add_friction(const compliant_run *run, int guard, const double *normal,
                           double normal_force, const double *u, double *force)
{
    const sprag_surface *surface = compliant_surface(run, guard);
    const sprag_friction *slide = &surface->slide;
    double stiction = run->guards.law[guard].stiction, N = fabs(normal_force);
    double frame[3][3], slip[2], along[2], slope;
    if (is_isotropic_and_still(slide)) { // needs no tangents
        double sliding[3];
        memcpy(sliding, u, sizeof sliding);
        add_scaled(sliding, -dot3(u, normal), normal, 3);
        slip[0] = norm3(sliding);
        slip[1] = 0;
        slope = sprag_surface_friction(slide, N, stiction, slip, along, NULL);
        add_scaled(force, -slope * sign_of(slide, 0, normal_force), sliding, 3);
        return slope;
    }
    sprag_contact_frame(normal, surface->direction, frame);
    for (int k = 0; k < 2; k++) {
        slip[k] = dot3(frame[1 + k], u) - slide->velocity[k];
    }
    slope = sprag_surface_friction(slide, N, stiction, slip, along, NULL);
    for (int k = 0; k < 2; k++) {
        add_scaled(force, along[k] * sign_of(slide, k, normal_force), frame[1 + k], 3);
    }
    return slope;
}

// Adds the rates, 1/s, at which the forces of a point may change velocities.
static void add_rates(const compliant_run *run, int guard, const double *at, double spring,
                      double friction_slope, compliant_contact *c)
{
    const compliant_law *law = &run->guards.law[guard];
    double frame[3][3], w[3];
    sprag_contact_frame(c->gap.normal, compliant_surface(run, guard)->direction, frame);
    for (int k = 0; k < 3; k++) {
        w[k] = compliant_inverse_mass(run, guard, at, frame[k]);
    }
    c->rate += sqrt(law->stiffness * w[0]) + (law->damping + spring * law->dissipation) * w[0];
    c->slip_rate += friction_slope * fmax(w[1], w[2]);
}

static sprag_shape_kind kind_of(const compliant_run *run, int guard, int side)
{
    return compliant_collider(run, guard, side)->shape.kind;
}

// Touches the pair at one point, on whichever side of the guard?
static bool has_ball(const compliant_run *run, int guard)
{
    return kind_of(run, guard, 0) == SPRAG_SPHERE || kind_of(run, guard, 1) == SPRAG_SPHERE;
}

// A damper has a force as soon as its point overlaps. Beside deeper points its point may come and
// go at any time, so the damping grows with the depth there: forces within a contact are
// continuous.
static void set_force(const compliant_run *run, const double *x, int guard, int i, bool rates,
                      compliant_contact *c)
{
    const compliant_law *law = &run->guards.law[guard];
    double u[3];
    const double *n = c->gap.normal;
    compliant_velocity_at(run, x, guard, c->at[i], u);
    double apart = dot3(n, u) - compliant_surface(run, guard)->velocity_normal;
    // The force of a point that is alone goes on smoothly where its overlap ends, for derivatives
    // there, and for steps of the integrator that lead beyond: it cuts them at the guard. Of other
    // shapes than balls the points beyond are others.
    bool beyond = c->count == 1 && (run->has_forces || has_ball(run, guard)) &&
                  !(law->damping > 0 && apart > 0);
    double deep = beyond ? c->depth[i] : fmax(0, c->depth[i]);
    double spring = law->stiffness * deep, damped = fmax(0, 1 - law->dissipation * apart);
    double full = beyond ? 1 : fmin(1, deep / (COMPLIANT_FULL_DAMPING_DEPTH * c->deepest));
    double push = spring * damped - law->damping * full * apart;
    double N = c->share[i] * (beyond && deep < 0 ? push : fmax(0, push));
    for (int k = 0; k < 3; k++) {
        c->force[i][k] = N * n[k];
    }
    double friction_slope = add_friction(run, guard, n, N, u, c->force[i]);
    c->approach = i == 0 ? -apart : c->approach;
    if (rates) {
        add_rates(run, guard, c->at[i], spring, friction_slope, c);
    }
}

static void set_forces(const compliant_run *run, const double *x, int guard, bool rates,
                       compliant_contact *c)
{
    for (int i = 0; i < c->count; i++) {
        set_force(run, x, guard, i, rates, c);
    }
}

void compliant_add_wrench(const compliant_run *run, int guard, int side, const compliant_contact *c,
                          double wrench[6])
{
    int body = compliant_body(run, guard, side);
    for (int i = 0; i < c->count && body != SPRAG_STATIC; i++) {
        double arm[3], of_point[6];
        subtract3(c->at[i], run->state.pose[body].position, arm);
        point_jacobian(arm, c->force[i], of_point);
        add_scaled(wrench, side ? -1 : 1, of_point, 6);
    }
}

// ---- points

static void add_point(compliant_contact *c, const double point[2][3], double depth, double share)
{
    c->depth[c->count] = depth;
    c->share[c->count] = share;
    for (int k = 0; k < 3; k++) {
        c->at[c->count][k] = (point[0][k] + point[1][k]) / 2;
    }
    c->count++;
}

// Adds all vertices of a polytope below a plane, as many as there is room for, not those of one
// face: forces do not jump when it rolls from one face to the next.
static void add_vertices(const compliant_run *run, int guard, int side, compliant_contact *c)
{
    const sprag_polytope *p = compliant_collider(run, guard, side)->shape.polytope;
    sprag_pose room;
    double up = side ? -1 : 1;
    const sprag_pose *pose = compliant_shape_pose(run, guard, side, &room);
    for (int i = 0; i < p->vertices && c->count < SPRAG_MANIFOLD_MAX; i++) {
        double at[2][3], above[3];
        mul33(pose->rotation, p->vertex[i], at[side]);
        add_scaled(at[side], 1, pose->position, 3);
        subtract3(at[side], c->gap.point[!side], above);
        double gap = up * dot3(above, c->gap.normal);
        if (gap < 0) {
            memcpy(at[!side], at[side], sizeof at[side]);
            add_scaled(at[!side], -up * gap, c->gap.normal, 3);
            add_point(c, (const double(*)[3])at, -gap, 1);
        }
    }
}

// Share of a corner of the manifold, by the angle that its boundary turns there.
static double share_of(const sprag_manifold *manifold, int i)
{
    const int count = manifold->count, next = i + 1 < count ? i + 1 : 0;
    const int last = i > 0 ? i - 1 : count - 1;
    double in[3], out[3], normal[3];
    if (count < 3) {
        return 1;
    }
    subtract3(manifold->point[i][0], manifold->point[last][0], in);
    subtract3(manifold->point[next][0], manifold->point[i][0], out);
    double along = dot3(in, out), lengths = dot3(in, in) * dot3(out, out);
    if (!(along > 0) || !(lengths > 0)) {
        return 1;
    }
    cross3(in, out, normal);
    double sine = sqrt(dot3(normal, normal) / lengths);
    return sine < COMPLIANT_FULL_CORNER ? sine / COMPLIANT_FULL_CORNER : 1;
}

static void add_points(const compliant_run *run, int guard, const sprag_manifold *manifold,
                       double margin, compliant_contact *c)
{
    for (int side = 0; side < 2 && margin == 0; side++) {
        if (c->gap.distance < 0 && kind_of(run, guard, side) == SPRAG_POLYTOPE &&
            kind_of(run, guard, !side) == SPRAG_PLANE) {
            add_vertices(run, guard, side, c);
            return;
        }
    }
    for (int i = 0; i < manifold->count; i++) {
        if (manifold->gap[i] < margin) {
            add_point(c, (const double(*)[3])manifold->point[i], -manifold->gap[i],
                      share_of(manifold, i));
        }
    }
}

static double square_between(const compliant_contact *c, int i, int j)
{
    double apart[3];
    subtract3(c->at[i], c->at[j], apart);
    return dot3(apart, apart);
}

// Clipped faces have more corners than either face as soon as they turn against each other, however
// little, and forces must not jump then. A corner at which the boundary hardly turns has hardly a
// share of a point's force, and corners that nearly coincide share that of one. A point at the
// height of the surface takes no share of others.
static void set_shares(compliant_contact *c)
{
    double turn[SPRAG_MANIFOLD_MAX], wide = 0, near = INFINITY;
    for (int i = 0; i < c->count; i++) {
        turn[i] = c->share[i];
        for (int j = 0; j < i; j++) {
            double square = square_between(c, i, j);
            wide = square > wide ? square : wide;
            near = square < near ? square : near;
        }
    }
    double together = COMPLIANT_POINTS_TOGETHER * COMPLIANT_POINTS_TOGETHER * wide;
    for (int i = 0; i < c->count && c->count > 2 && near < together; i++) {
        double sum = turn[i];
        for (int j = 0; j < c->count; j++) {
            double square = square_between(c, i, j);
            if (j != i && square < together && c->depth[i] > 0 && c->depth[j] > 0) {
                sum += turn[j] * (1 - square / together) * fmin(1, c->depth[j] / c->depth[i]);
            }
        }
        c->share[i] = turn[i] / fmax(1, sum);
    }
}

static void find_contact(compliant_run *run, const double *x, int guard, compliant_detail detail,
                         double margin, compliant_contact *c)
{
    sprag_manifold manifold;
    manifold.count = 0;
    c->count = 0;
    c->rate = c->slip_rate = c->approach = 0;
    // All corners of faces, those that do not overlap, too: shares depend on the whole boundary.
    if (!compliant_find_gap(run, guard, margin > 0 ? margin : INFINITY, INFINITY, NULL, &c->gap,
                            detail == COMPLIANT_GAP ? NULL : &manifold)) {
        c->gap.distance = NAN;
        return;
    }
    c->deepest = 1e-300;
    if (c->gap.beyond) {
        return;
    }
    if (detail > COMPLIANT_OWN_POINTS &&
        compliant_belongs_to_neighbour(run, x, guard, &c->gap, &c->deepest)) {
        return;
    }
    if (detail != COMPLIANT_GAP) {
        add_points(run, guard, &manifold, margin, c);
    }
    if (c->count == 0) {
        add_point(c, (const double(*)[3])c->gap.point, -c->gap.distance, 1);
    }
    for (int i = 0; i < c->count; i++) {
        c->deepest = fmax(c->deepest, c->depth[i]);
    }
    set_shares(c);
    if (detail < COMPLIANT_FORCES) {
        return;
    }
    run->budget.work += (1 - COMPLIANT_COST_GAP) * run->guards.cost[guard];
    set_forces(run, x, guard, detail == COMPLIANT_RATES, c);
}

void compliant_update_forces(const compliant_run *run, const double *x, int guard,
                             compliant_contact *c)
{
    set_forces(run, x, guard, false, c);
}

void compliant_find_contact(compliant_run *run, const double *x, int guard, compliant_detail detail,
                            compliant_contact *c)
{
    find_contact(run, x, guard, detail, 0, c);
}

void compliant_find_points(compliant_run *run, const double *x, int guard, double margin,
                           compliant_contact *c)
{
    find_contact(run, x, guard, COMPLIANT_POINTS, margin, c);
}

void compliant_find_own_points(compliant_run *run, const double *x, int guard, compliant_contact *c)
{
    find_contact(run, x, guard, COMPLIANT_OWN_POINTS, INFINITY, c);
}

void compliant_update_gap(compliant_run *run, int guard)
{
    sprag_gap gap;
    const bool found = compliant_find_gap(run, guard, run->sizes.step_range, 0,
                                          &run->guards.memory[guard], &gap, NULL);
    run->guards.gap[guard] = found ? gap.distance : NAN;
}

void compliant_add_impulses(compliant_run *run, int guard, const compliant_contact *c, double time)
{
    double wrench[2][6] = {{0}};
    for (int side = 0; side < 2; side++) {
        compliant_add_wrench(run, guard, side, c, wrench[side]);
    }
    sprag_pair_add_impulse(compliant_pair(run, guard), (const double(*)[6])wrench, time);
}

// ---- edges that meet

// m/s: no point of a body at a pair moves faster.
static double most_speed(const compliant_run *run, const double *x, int guard)
{
    double speed = 0;
    for (int side = 0; side < 2; side++) {
        int body = compliant_body(run, guard, side);
        const double *v = compliant_velocity_of(x, body);
        speed += v ? compliant_fastest_point(run, body, v) : 0;
    }
    return speed;
}

static double distance_after(compliant_run *run, int guard, double time)
{
    const double *x = run->state.x;
    sprag_gap gap;
    for (int side = 0; side < 2; side++) {
        int body = compliant_body(run, guard, side);
        if (body != SPRAG_STATIC) {
            sprag_motion motion = {.pose = run->state.pose[body]};
            memcpy(motion.velocity, compliant_velocity_of(x, body), sizeof motion.velocity);
            sprag_motion_at(&motion, time, &run->state.pose[body]);
        }
    }
    bool found = compliant_find_gap(run, guard, INFINITY, 0, NULL, &gap, NULL);
    compliant_place_pair(run, x, guard);
    return found ? gap.distance : -INFINITY;
}

bool compliant_passes(compliant_run *run, int guard, const compliant_contact *c, double touch,
                      double least)
{
    const double *x = run->state.x;
    double approach = 0, depth = 0;
    for (int i = 0; i < c->count; i++) {
        double u[3];
        compliant_velocity_at(run, x, guard, c->at[i], u);
        double speed = -dot3(c->gap.normal, u);
        depth = speed > approach ? c->depth[i] : depth;
        approach = fmax(approach, speed);
    }
    if (!(approach > least)) {
        return false;
    }
    double time = COMPLIANT_PASSING * touch / most_speed(run, x, guard);
    return distance_after(run, guard, time) > -(depth + approach * time / 2);
}
