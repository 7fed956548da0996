// The equations of motion, guards and rows of Dh, at a state.
#include <math.h>
#include <string.h>

#include "solvers/comply_run.h"
#include "solvers/laws.h"
#include "solvers/linalg.h"
#include "solvers/mover.h"

int comply_body(const comply_run *run, int guard, int side)
{
    return run->frame->collider[run->frame->pair[run->pair[guard]].collider[side]].body;
}

// ---- states

// Shepperd's: from the largest of the four.
static void quaternion_of(const double R[9], double q[4])
{
    double trace = R[0] + R[4] + R[8];
    const double size[4] = {trace, R[0], R[4], R[8]};
    int k = 0;
    for (int i = 1; i < 4; i++) {
        k = size[i] > size[k] ? i : k;
    }
    if (k == 0) {
        double s = 2 * sqrt(1 + trace);
        q[0] = s / 4;
        q[1] = (R[7] - R[5]) / s, q[2] = (R[2] - R[6]) / s, q[3] = (R[3] - R[1]) / s;
        return;
    }
    int a = k - 1, b = (a + 1) % 3, c = (a + 2) % 3;
    double s = 2 * sqrt(fmax(0, 1 + R[4 * a] - R[4 * b] - R[4 * c]));
    q[0] = (R[3 * c + b] - R[3 * b + c]) / s;
    q[1 + a] = s / 4;
    q[1 + b] = (R[3 * b + a] + R[3 * a + b]) / s;
    q[1 + c] = (R[3 * c + a] + R[3 * a + c]) / s;
}

static void rotation_of(const double q[4], double R[9])
{
    double n = q[0] * q[0] + dot3(q + 1, q + 1), s = n > 0 ? 2 / n : 0;
    double w = q[0], x = q[1], y = q[2], z = q[3];
    R[0] = 1 - s * (y * y + z * z), R[1] = s * (x * y - w * z), R[2] = s * (x * z + w * y);
    R[3] = s * (x * y + w * z), R[4] = 1 - s * (x * x + z * z), R[5] = s * (y * z - w * x);
    R[6] = s * (x * z - w * y), R[7] = s * (y * z + w * x), R[8] = 1 - s * (x * x + y * y);
}

void comply_pack(comply_run *run)
{
    for (int i = 0; i < run->frame->bodies; i++) {
        const sprag_mover *body = &run->frame->body[i];
        double *x = run->x + COMPLY_STATES * i;
        memcpy(x, body->pose.position, 3 * sizeof *x);
        quaternion_of(body->pose.rotation, x + COMPLY_QUATERNION);
        memcpy(x + COMPLY_VELOCITY, body->velocity, 6 * sizeof *x);
    }
    run->x[COMPLY_STATES * run->frame->bodies] = run->time;
}

void comply_place(comply_run *run, const double *x)
{
    for (int i = 0; i < run->frame->bodies; i++, x += COMPLY_STATES) {
        memcpy(run->pose[i].position, x, 3 * sizeof *x);
        rotation_of(x + COMPLY_QUATERNION, run->pose[i].rotation);
    }
}

void comply_unpack(comply_run *run)
{
    comply_place(run, run->x);
    for (int i = 0; i < run->frame->bodies; i++) {
        sprag_mover *body = &run->frame->body[i];
        body->pose = run->pose[i];
        memcpy(body->velocity, run->x + COMPLY_STATES * i + COMPLY_VELOCITY, sizeof body->velocity);
    }
}

static void multiply(const double *A, const double *B, double *C)
{
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            C[3 * i + j] = A[3 * i] * B[j] + A[3 * i + 1] * B[3 + j] + A[3 * i + 2] * B[6 + j];
        }
    }
}

void comply_turn_inertia(const double R[9], const double inertia[9], double turned[9])
{
    double half[9];
    multiply(R, inertia, half);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            turned[3 * i + j] = dot3(half + 3 * i, R + 3 * j);
        }
    }
}

// ---- a pair

static void pose_of(const comply_run *run, int guard, int side, sprag_pose *pose)
{
    const sprag_collider *collider =
        &run->frame->collider[run->frame->pair[run->pair[guard]].collider[side]];
    *pose = collider->mount;
    if (collider->body != SPRAG_STATIC) {
        const sprag_pose *body = &run->pose[collider->body];
        mul33(body->rotation, collider->mount.position, pose->position);
        add_scaled(pose->position, 1, body->position, 3);
        multiply(body->rotation, collider->mount.rotation, pose->rotation);
    }
}

// ---- how far a pair must still be apart, after what its bodies have moved since they were looked
// at

void comply_mark(comply_run *run)
{
    memcpy(run->marked, run->x, (size_t)run->frame->bodies * COMPLY_STATES * sizeof *run->marked);
}

// Of a chord between unit quaternions the turn is at most twice as long.
static double gone(const comply_run *run, const double *x, int body)
{
    const double *from = run->marked + COMPLY_STATES * body, *to = x + COMPLY_STATES * body;
    double apart[3], square = 0;
    subtract3(to, from, apart);
    for (int k = COMPLY_QUATERNION; k < COMPLY_VELOCITY; k++) {
        square += (to[k] - from[k]) * (to[k] - from[k]);
    }
    return norm3(apart) + (square > 0 ? 2.1 * run->radius[body] * sqrt(square) : 0);
}

double comply_least_gap(const comply_run *run, const double *x, int guard)
{
    double least = run->seen[guard];
    for (int side = 0; side < 2; side++) {
        int body = comply_body(run, guard, side);
        least -= body != SPRAG_STATIC ? gone(run, x, body) : 0;
    }
    return least;
}

// false: there is no number. memory NULL: a copy, so that the same state has the same answer.
static bool find_gap(const comply_run *run, int guard, double reach, double margin,
                     sprag_gap_memory *kept, sprag_gap *gap, sprag_manifold *manifold)
{
    const sprag_advance_pair *pair = &run->frame->pair[run->pair[guard]];
    const sprag_gap_query query = {reach, margin};
    sprag_gap_memory memory = run->memory[guard].gap;
    sprag_pose pose[2];
    const sprag_shape *shape[2];
    for (int side = 0; side < 2; side++) {
        pose_of(run, guard, side, &pose[side]);
        shape[side] = &run->frame->collider[pair->collider[side]].shape;
    }
    return sprag_gap_find(shape, (const sprag_pose *const[2]){&pose[0], &pose[1]}, &query,
                          kept ? kept : &memory, gap, manifold) != SPRAG_BAD_PROBLEM;
}

// Of a point, side 0 less side 1.
static void relative_velocity(const comply_run *run, const double *x, int guard, const double *at,
                              double u[3])
{
    memset(u, 0, 3 * sizeof *u);
    for (int side = 0; side < 2; side++) {
        int body = comply_body(run, guard, side);
        if (body != SPRAG_STATIC) {
            const double *state = x + COMPLY_STATES * body;
            double arm[3], turned[3];
            subtract3(at, run->pose[body].position, arm);
            cross3(state + COMPLY_SPIN, arm, turned);
            for (int k = 0; k < 3; k++) {
                u[k] += (side ? -1 : 1) * (state[COMPLY_VELOCITY + k] + turned[k]);
            }
        }
    }
}

// 1/kg, along a direction at a point.
static double inverse_mass(const comply_run *run, int guard, const double *at, const double *along)
{
    double sum = 0;
    for (int side = 0; side < 2; side++) {
        int body = comply_body(run, guard, side);
        if (body == SPRAG_STATIC || run->frame->body[body].mass == 0) {
            continue;
        }
        double arm[3], lever[3], own[3], turned[3];
        subtract3(at, run->pose[body].position, arm);
        cross3(arm, along, lever);
        mul33_transposed(run->pose[body].rotation, lever, own);
        mul33(run->inverse[body], own, turned);
        sum += 1 / run->frame->body[body].mass + dot3(own, turned);
    }
    return sum;
}

// On shape 0, along the tangents; returns how fast it changes with slip, N s/m.
static double friction(const sprag_surface *surface, const comply_law *law, double normal_force,
                       const double slip[2], double force[2])
{
    const sprag_friction *f = &surface->slide;
    double bound[2], creep = 0, square = 0, most = 0;
    for (int k = 0; k < 2; k++) {
        bound[k] = f->coefficient[k] * (f->force[k] ? 1 : normal_force);
        creep = fmax(creep, f->slip[k] * bound[k]);
        most = fmax(most, bound[k]);
    }
    if (!(most > 0)) {
        force[0] = force[1] = 0;
        return 0;
    }
    double u[2], shape[2];
    for (int k = 0; k < 2; k++) {
        shape[k] = bound[k] / most;
        u[k] = shape[k] * slip[k];
        square += u[k] * u[k];
    }
    double ratio = creep > law->stiction
                       ? sprag_profile_ratio(square, -creep)
                       : sprag_profile_ratio(square + law->stiction * law->stiction, 0);
    for (int k = 0; k < 2; k++) {
        force[k] = -most * ratio * shape[k] * u[k];
    }
    return most * ratio;
}

// The same in all directions, and at rest.
static bool is_plain(const sprag_friction *f)
{
    return f->coefficient[0] == f->coefficient[1] && f->slip[0] == f->slip[1] &&
           f->force[0] == f->force[1] && f->velocity[0] == 0 && f->velocity[1] == 0;
}

// Adds friction to the force of a point; returns its steepness. u: of the point.
static double rub(const comply_run *run, int guard, const double *normal, double normal_force,
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
        steepness = friction(surface, &run->law[guard], normal_force, slip, along);
        add_scaled(force, -steepness, sliding, 3);
        return steepness;
    }
    sprag_contact_frame(normal, surface->direction, frame);
    for (int k = 0; k < 2; k++) {
        slip[k] = dot3(frame[1 + k], u) - surface->slide.velocity[k];
    }
    steepness = friction(surface, &run->law[guard], normal_force, slip, along);
    add_scaled(force, along[0], frame[1], 3);
    add_scaled(force, along[1], frame[2], 3);
    return steepness;
}

// How fast forces at a point make velocities change.
static void add_rates(const comply_run *run, int guard, const double *at, double spring,
                      double steepness, comply_contact *c)
{
    const sprag_surface *surface = &run->frame->pair[run->pair[guard]].surface;
    const comply_law *law = &run->law[guard];
    double frame[3][3], w[3];
    sprag_contact_frame(c->gap.normal, surface->direction, frame);
    for (int k = 0; k < 3; k++) {
        w[k] = inverse_mass(run, guard, at, frame[k]);
    }
    c->rate += sqrt(law->stiffness * w[0]) + (law->damping + spring * law->dissipation) * w[0];
    c->slip_rate += steepness * fmax(w[1], w[2]);
}

// A damper makes a force as soon as its point touches. Beside points that are deeper its point
// would come and go at any time, so there it acts in full only where that is this share as deep as
// the deepest: forces within a contact are continuous.
static const double full = 0.1;

static void press(const comply_run *run, const double *x, int guard, int i, bool rates,
                  comply_contact *c)
{
    const sprag_surface *surface = &run->frame->pair[run->pair[guard]].surface;
    const comply_law *law = &run->law[guard];
    double u[3];
    const double *n = c->gap.normal;
    relative_velocity(run, x, guard, c->at[i], u);
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

static void set_point(comply_contact *c, const double apart[2][3], double depth)
{
    c->depth[c->count] = depth;
    for (int k = 0; k < 3; k++) {
        c->at[c->count][k] = (apart[0][k] + apart[1][k]) / 2;
    }
    c->count++;
}

// Of a polytope on a plane all vertices below count, not those of one face: rolling from one to the
// next does not make a force jump. At most as many as there is room for.
static void set_below(const comply_run *run, int guard, int side, comply_contact *c)
{
    const sprag_polytope *p =
        run->frame->collider[run->frame->pair[run->pair[guard]].collider[side]].shape.polytope;
    sprag_pose pose;
    double up = side ? -1 : 1;
    pose_of(run, guard, side, &pose);
    for (int i = 0; i < p->vertices && c->count < SPRAG_MANIFOLD_MAX; i++) {
        double at[2][3], above[3];
        mul33(pose.rotation, p->vertex[i], at[side]);
        add_scaled(at[side], 1, pose.position, 3);
        subtract3(at[side], c->gap.point[!side], above);
        double gap = up * dot3(above, c->gap.normal);
        if (gap < 0) {
            memcpy(at[!side], at[side], sizeof at[side]);
            add_scaled(at[!side], -up * gap, c->gap.normal, 3);
            set_point(c, (const double(*)[3])at, -gap);
        }
    }
}

static sprag_shape_kind kind_of(const comply_run *run, int guard, int side)
{
    return run->frame->collider[run->frame->pair[run->pair[guard]].collider[side]].shape.kind;
}

static void set_points(const comply_run *run, int guard, const sprag_manifold *manifold,
                       double margin, comply_contact *c)
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

static void touch(const comply_run *run, const double *x, int guard, comply_look look,
                  double margin, sprag_gap_memory *kept, comply_contact *c)
{
    sprag_manifold manifold;
    manifold.count = 0;
    c->count = 0;
    c->rate = c->slip_rate = c->approach = 0;
    if (!find_gap(run, guard, INFINITY, margin, kept, &c->gap,
                  look == COMPLY_GAP ? NULL : &manifold)) {
        c->gap.distance = NAN;
        return;
    }
    if (look != COMPLY_GAP) {
        set_points(run, guard, &manifold, margin, c);
    }
    if (c->count == 0) {
        set_point(c, (const double(*)[3])c->gap.point, -c->gap.distance);
    }
    c->deepest = 1e-300;
    for (int i = 0; i < c->count; i++) {
        c->deepest = fmax(c->deepest, c->depth[i]);
    }
    for (int i = 0; i < c->count && look >= COMPLY_FORCES; i++) {
        press(run, x, guard, i, look == COMPLY_RATES, c);
    }
}

void comply_touch(const comply_run *run, const double *x, int guard, comply_look look,
                  comply_contact *c)
{
    touch(run, x, guard, look, 0, NULL, c);
}

void comply_touch_near(const comply_run *run, const double *x, int guard, double margin,
                       comply_contact *c)
{
    touch(run, x, guard, COMPLY_POINTS, margin, NULL, c);
}

void comply_look_at(comply_run *run, int guard, comply_look look, comply_contact *c)
{
    touch(run, run->x, guard, look, 0, &run->memory[guard].gap, c);
    run->seen[guard] = c->gap.distance;
}

// ---- f

static void add_force(comply_run *run, int guard, const comply_contact *c)
{
    for (int side = 0; side < 2; side++) {
        int body = comply_body(run, guard, side);
        for (int i = 0; i < c->count && body != SPRAG_STATIC; i++) {
            double arm[3], torque[3], sign = side ? -1 : 1;
            subtract3(c->at[i], run->pose[body].position, arm);
            cross3(arm, c->force[i], torque);
            add_scaled(run->wrench[body], sign, c->force[i], 3);
            add_scaled(run->wrench[body] + 3, sign, torque, 3);
        }
    }
}

// Of a force and torque.
void comply_accelerate(const comply_run *run, int body, const double *wrench, double *a)
{
    double own[3], turned[3];
    const double *R = run->pose[body].rotation, mass = run->frame->body[body].mass;
    if (mass == 0) {
        memset(a, 0, 6 * sizeof *a);
        return;
    }
    for (int k = 0; k < 3; k++) {
        a[k] = wrench[k] / mass;
    }
    mul33_transposed(R, wrench + 3, own);
    mul33(run->inverse[body], own, turned);
    mul33(R, turned, a + 3);
}

static void add_gyroscopic(const comply_run *run, int body, const double *spin, double *wrench)
{
    const double *R = run->pose[body].rotation;
    double own[3], turned[3], momentum[3], torque[3];
    mul33_transposed(R, spin, own);
    mul33(run->frame->body[body].inertia, own, turned);
    mul33(R, turned, momentum);
    cross3(spin, momentum, torque);
    add_scaled(wrench + 3, -1, torque, 3);
}

void comply_cap_spin(const comply_run *run, int body, double *spin)
{
    double most = run->frame->body[body].most_spin, speed = most > 0 ? norm3(spin) : 0;
    for (int k = 0; k < 3 && speed > most; k++) {
        spin[k] *= most / speed;
    }
}

static void field(void *user, const double *x, const double *label, double *f)
{
    comply_run *run = user;
    comply_place(run, x);
    if (run->rows >= 0 && !comply_ask_rows(run, x)) {
        f[0] = NAN;
        return;
    }
    for (int i = 0; i < run->frame->bodies; i++) {
        const sprag_mover *body = &run->frame->body[i];
        memcpy(run->wrench[i], body->force, sizeof body->force);
        if (body->gyroscopic && body->mass > 0) {
            add_gyroscopic(run, i, x + COMPLY_STATES * i + COMPLY_SPIN, run->wrench[i]);
        }
    }
    for (int g = 0; g < run->guards; g++) {
        if (label[g] != 0 && comply_acts(&run->law[g])) {
            comply_contact contact;
            comply_touch(run, x, g, COMPLY_FORCES, &contact);
            if (isnan(contact.gap.distance)) {
                f[0] = NAN;
                return;
            }
            add_force(run, g, &contact);
        }
    }
    for (int i = 0; i < run->frame->bodies; i++) {
        const double *s = x + COMPLY_STATES * i, *q = s + COMPLY_QUATERNION;
        double *to = f + COMPLY_STATES * i, *dq = to + COMPLY_QUATERNION, w[3], turned[3];
        memcpy(w, s + COMPLY_SPIN, sizeof w);
        comply_cap_spin(run, i, w);
        memcpy(to, s + COMPLY_VELOCITY, 3 * sizeof *to);
        cross3(w, q + 1, turned);
        dq[0] = -dot3(w, q + 1) / 2;
        for (int k = 0; k < 3; k++) {
            dq[1 + k] = (q[0] * w[k] + turned[k]) / 2;
        }
        comply_accelerate(run, i, run->wrench[i], to + COMPLY_VELOCITY);
    }
    if (run->rows >= 0) {
        f[COMPLY_STATES * run->frame->bodies] = 1;
        f[0] = comply_constrain(run, x, label + run->guards, f) ? f[0] : NAN;
    }
}

// ---- guards

// Of all guards at once a lower bound of the gap will do, where that is outside of the band.
static double past(const comply_run *run, const double *x, int guard, bool exact)
{
    sprag_gap gap;
    double least = exact ? 0 : comply_least_gap(run, x, guard);
    if (least > 2 * run->eps[guard]) {
        return -least;
    }
    bool found = find_gap(run, guard, run->reach, 0, NULL, &gap, NULL);
    return !found ? NAN : gap.beyond ? -run->reach : -gap.distance;
}

static void guard(void *user, const double *x, const int *which, int count, double *h)
{
    comply_run *run = user;
    int first = which ? 0 : run->guards; // of the stops
    comply_place(run, x);
    for (int i = 0; i < count; i++) {
        int g = which ? which[i] : i, stop = g - run->guards;
        if (stop >= 0 && which) {
            h[i] = NAN;
            comply_past_stops(run, x, &stop, 1, &h[i]);
        } else if (stop < 0) {
            h[i] = past(run, x, g, which != NULL);
        }
    }
    if (!which && run->stops > 0 && !comply_past_stops(run, x, NULL, run->stops, h + first)) {
        h[first] = NAN;
    }
}

void comply_turn_row(const double *q, const double *lever, double sign, double value[4])
{
    double across[3], scale = 2 * sign / (q[0] * q[0] + dot3(q + 1, q + 1));
    cross3(q + 1, lever, across);
    value[0] = -scale * dot3(lever, q + 1);
    for (int k = 0; k < 3; k++) {
        value[1 + k] = scale * (q[0] * lever[k] - across[k]);
    }
}

// The gap grows with the velocities of the nearest points along the normal; a change of q turns by
// twice the vector part of dq conj(q) / |q|^2.
static int row(void *user, const double *x, int guard, int *column, double *value)
{
    comply_run *run = user;
    sprag_gap gap;
    int entries = 0;
    comply_place(run, x);
    if (guard >= run->guards) {
        return comply_stop_row(run, x, guard - run->guards, column, value);
    }
    if (!find_gap(run, guard, INFINITY, 0, NULL, &gap, NULL)) {
        return -1;
    }
    for (int side = 0; side < 2; side++) {
        int body = comply_body(run, guard, side);
        if (body == SPRAG_STATIC) {
            continue;
        }
        const double *q = x + COMPLY_STATES * body + COMPLY_QUATERNION;
        double sign = side ? 1 : -1, arm[3], lever[3]; // h = -gap
        subtract3(gap.point[side], run->pose[body].position, arm);
        cross3(arm, gap.normal, lever);
        for (int k = 0; k < 7; k++) {
            column[entries + k] = COMPLY_STATES * body + k;
        }
        for (int k = 0; k < 3; k++) {
            value[entries + k] = sign * gap.normal[k];
        }
        comply_turn_row(q, lever, sign, value + entries + 3);
        entries += 7;
    }
    return entries;
}

static void jump(void *user, const double *x, const double *label, int guard, double *change)
{
    comply_run *run = user;
    comply_contact contact;
    int n = COMPLY_STATES * run->frame->bodies;
    memset(change, 0, (size_t)n * sizeof *change);
    if (!comply_acts(&run->law[guard])) {
        return;
    }
    comply_place(run, x);
    comply_touch(run, x, guard, COMPLY_FORCES, &contact);
    for (int side = 0; side < 2; side++) {
        int body = comply_body(run, guard, side);
        if (body != SPRAG_STATIC) {
            memset(run->wrench[body], 0, sizeof run->wrench[body]);
        }
    }
    add_force(run, guard, &contact);
    for (int side = 0; side < 2; side++) {
        int body = comply_body(run, guard, side);
        if (body != SPRAG_STATIC) {
            double *a = change + COMPLY_STATES * body + COMPLY_VELOCITY;
            comply_accelerate(run, body, run->wrench[body], a);
            for (int k = 0; k < 6; k++) {
                a[k] *= label[guard] == 0 ? 1 : -1;
            }
        }
    }
}

sprag_ess_problem comply_problem(comply_run *run)
{
    int states = COMPLY_STATES * run->frame->bodies + (run->rows >= 0);
    return (sprag_ess_problem){.states = states,
                               .guards = run->guards + run->stops,
                               .user = run,
                               .field = field,
                               .guard = guard,
                               .row = row,
                               .row_entries = states < 14 ? states : 14,
                               .jump = run->rows >= 0 ? NULL : jump,
                               .eps = run->eps,
                               .two_way = run->two_way,
                               .last = run->last};
}
