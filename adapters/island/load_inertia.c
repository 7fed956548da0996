// The inertia A that a load adds to a body, and the angular velocity u that A pulls it towards
// (load_stiffness.c).
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "island_constants.h"
#include "lanes.h"
#include "linalg.h"
#include "loads.h"
#include "symmetric3.h"
#include "vectors6.h"

// ---- four bodies at once

// Four bodies that may be under load, number by number. The passes over the fours are many and
// short: the processor then works at several at once, while one waits for a quotient or a root.
typedef struct four {
    lanes I[9];        // kg m^2; of their parts, until they take their shares of A
    lanes A[6];        // xx, xy, xz, yy, yz, zz
    lanes part;        // of its part's A that a body takes
    lanes sums[LANES]; // ode_stiffened_body: trace, kept, stored, share
    lanes w[LANES];    // rad/s, from 1 on: before the step
    lanes free[LANES]; // likewise, without A
    lanes now[LANES];  // with it
    lanes target[LANES];
    int body[LANES];
    int count; // fewer in the last four
} four;

enum { TRACE, KEPT, STORED, SHARE };

// The numbers of four matrices.
INLINE void load_matrices(const void *const of[LANES], lanes A[9])
{
    lanes last[LANES];
    load_four(of, 0, A);
    load_four(of, 4 * sizeof(double), A + 4);
    load_four(of, 5 * sizeof(double), last);
    A[8] = last[3];
}

// The symmetric part of the sum of r f': K is its trace less it. Without what turns the part: the
// torque t turns forces along a line, of which s is the sum of f.r, by the angle t / s, and their
// moment by half of that.
INLINE void find_moments(const void *const of[LANES], lanes m[6])
{
    lanes u[LANES], v[LANES], w[LANES], t[LANES];
    load_four(of, offsetof(ode_load, moment[0]), u);
    load_four(of, offsetof(ode_load, moment[1]), v);
    load_four(of, offsetof(ode_load, moment[2]), w);
    load_four(of, offsetof(ode_load, torque), t);
    const lanes s = u[0] + v[1] + w[2], xx = u[0], yy = v[1], zz = w[2], xy = 0.5 * (u[1] + v[0]),
                xz = 0.5 * (u[2] + w[0]), yz = 0.5 * (v[2] + w[1]);
    lanes x = t[0] + v[2] - w[1], y = t[1] + w[0] - u[2], z = t[2] + u[1] - v[0];
    const lanes square = s * s + x * x + y * y + z * z, share = s / DIVISOR(s > 0, square),
                k = SELECT(s > 0, share, zeros);
    x *= k, y *= k, z *= k;
    m[0] = xx - (y * xz - z * xy);
    m[3] = yy - (z * xy - x * yz);
    m[5] = zz - (x * yz - y * xz);
    m[1] = xy - 0.5 * (y * yz - z * yy + z * xx - x * xz);
    m[2] = xz - 0.5 * (y * zz - z * yz + x * xy - y * xx);
    m[4] = yz - 0.5 * (z * xz - x * zz + x * yy - y * xy);
}

// E = square K - I. Sets which have a positive part.
INLINE void find_excess(const lanes I[9], const lanes m[6], double square, lanes E[6],
                        lane_mask *some)
{
    const lanes xx = square * (m[3] + m[5]) - I[0], yy = square * (m[0] + m[5]) - I[4],
                zz = square * (m[0] + m[3]) - I[8], xy = -square * m[1] - 0.5 * (I[1] + I[3]),
                xz = -square * m[2] - 0.5 * (I[2] + I[6]),
                yz = -square * m[4] - 0.5 * (I[5] + I[7]);
    E[0] = xx, E[1] = xy, E[2] = xz, E[3] = yy, E[4] = yz, E[5] = zz;
    // all eigenvalues are negative, by the signs of the leading minors
    const lanes minor = xx * yy - xy * xy, x = xy * yz - xz * yy, y = xy * xz - xx * yz,
                det = xz * x + yz * y + zz * minor;
    *some = ~((xx < 0) & (minor > 0) & (det < 0));
}

// I += way A
INLINE void add_matrices(lanes I[9], const lanes A[6], const lanes *way)
{
    static const int at[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
    for (int k = 0; k < 9; k++) {
        I[k] += *way * A[at[k]];
    }
}

// A body takes no more of A than what counts beside its own inertia about the axes of A: that of a
// part with bodies far apart is larger by orders of magnitude.
INLINE void take_share(four *f, double memory)
{
    lanes *I = f->I, *A = f->A;
    const lanes all = A[0] * A[0] + A[3] * A[3] + A[5] * A[5] +
                      2 * (A[1] * A[1] + A[2] * A[2] + A[4] * A[4]),
                own = A[0] * I[0] + A[3] * I[4] + A[5] * I[8] + A[1] * (I[1] + I[3]) +
                      A[2] * (I[2] + I[6]) + A[4] * (I[5] + I[7]),
                most = load_most * own / DIVISOR(all > 0, all),
                part = SELECT(f->part * all > load_most * own, most, f->part);
    for (int k = 0; k < 6; k++) {
        A[k] *= part;
    }
    add_matrices(I, A, &ones);
    f->sums[TRACE] = A[0] + A[3] + A[5];
    lanes kept = f->sums[KEPT] * memory / DIVISOR(f->sums[TRACE] > 0, f->sums[TRACE]);
    root_of(&kept);
    root_of(&kept);
    f->sums[KEPT] = kept * f->sums[SHARE];
}

// The columns of the inverse of a matrix are the cross products of its rows, by the determinant.
INLINE void pull_to_target(four *f)
{
    const lanes *I = f->I, *A = f->A;
    lanes way[3], yz[3], zx[3], xy[3], det;
    for (int k = 0; k < 3; k++) {
        f->target[k] = f->sums[KEPT] * f->w[1 + k];
        way[k] = f->target[k] - f->free[1 + k];
    }
    f->target[3] = zeros;
    const lanes x = A[0] * way[0] + A[1] * way[1] + A[2] * way[2],
                y = A[1] * way[0] + A[3] * way[1] + A[4] * way[2],
                z = A[2] * way[0] + A[4] * way[1] + A[5] * way[2];
    cross(I + 3, I + 6, yz);
    cross(I + 6, I, zx);
    cross(I, I + 3, xy);
    dot_of(I, yz, &det);
    const lanes size = ABS(det);
    const lane_mask good = (size > 0) & (size <= DBL_MAX);
    const lanes inverse = 1 / DIVISOR(good, det);
    f->now[0] = f->free[0];
    for (int k = 0; k < 3; k++) {
        const lanes gained = (x * yz[k] + y * zx[k] + z * xy[k]) * inverse;
        f->now[1 + k] = f->free[1 + k] + SELECT(good, gained, zeros);
    }
    const lanes back = SELECT(good, zeros, -ones); // of what is singular with A
    add_matrices(f->I, A, &back);
    f->sums[TRACE] = SELECT(good, f->sums[TRACE], zeros);
}

// ---- the island

static int list_loaded(const ode_problem *pulled, int *list)
{
    const ode_part *part = pulled->part;
    const ode_load *load = pulled->load;
    const sprag_body *body = pulled->body;
    int count = 0;
    for (int i = 0; i < pulled->problem.bodies; i++) {
        const int first = part ? sprag_ode_part(pulled, i) : i;
        list[count] = i;
        count += first >= 0 && load[first].known & (body[i].mass > 0);
    }
    for (int i = count; i % LANES != 0; i++) { // the last one fills up its four
        list[i] = list[count - 1];
    }
    return count;
}

// Sets the fours of whose bodies one has an excess. Returns their number.
SPRAG_VECTORS
static int find_fours(const ode_problem *pulled, const int *list, int loaded, four *f)
{
    const four *start = f;
    const double square = pulled->problem.step * pulled->problem.step;
    for (int i = 0; i < loaded; i += LANES) {
        const void *load[LANES], *inertia[LANES], *body[LANES];
        lanes m[6];
        lane_mask some;
        for (int l = 0; l < LANES; l++) {
            const int at = list[i + l], first = sprag_ode_part(pulled, at);
            body[l] = &pulled->body[at];
            load[l] = &pulled->load[first];
            inertia[l] = pulled->part ? pulled->part[first + 1].inertia : pulled->body[at].inertia;
            f->body[l] = at;
        }
        load_matrices(inertia, f->I);
        find_moments(load, m);
        find_excess(f->I, m, square, f->A, &some);
        load_four(body, offsetof(sprag_body, velocity[2]), f->w);
        load_four(body, offsetof(sprag_body, free_velocity[2]), f->free);
        f->part = ones;
        f->count = loaded - i < LANES ? loaded - i : LANES;
        f += any(&some);
    }
    return (int)(f - start);
}

// From the last step: the trace of A, for now where it is to say what is kept, what is stored, and
// the share.
SPRAG_VECTORS
static void find_last(const ode_problem *pulled, const ode_warm_start *warm_start, four *f,
                      int fours)
{
    int at = 0; // in the warm start, of the body before
    for (const four *end = f + fours; f < end; f++) {
        const void *from[LANES];
        lanes last[LANES];
        for (int l = 0; l < LANES; l++) {
            from[l] = sprag_ode_warm_start_added(warm_start, pulled->island.body[f->body[l]], &at);
        }
        load_four(from, 0, last);
        f->sums[KEPT] = last[0], f->sums[STORED] = last[1], f->sums[SHARE] = last[2];
    }
}

// Sets the own inertia of bodies in parts, and their shares of A.
static void find_shares(const ode_problem *pulled, four *f)
{
    for (int l = 0; l < LANES; l++) {
        const double *own = pulled->body[f->body[l]].inertia;
        for (int k = 0; k < 9; k++) {
            f->I[k][l] = own[k];
        }
        f->part[l] =
            (own[0] + own[4] + own[8]) / pulled->part[sprag_ode_part(pulled, f->body[l]) + 1].trace;
    }
}

// Adds A, the positive part of square K - I: then I + A is no less than square K. memory: 0 where
// targets keep nothing, else 1.
SPRAG_VECTORS
static void stiffen_fours(four *f, int fours, double memory)
{
    for (int i = 0; i < fours; i++) {
        sprag_positive_parts(LANES, LANES, (double *)f[i].A);
    }
    for (int i = 0; i < fours; i++) {
        take_share(&f[i], memory);
    }
    for (int i = 0; i < fours; i++) {
        pull_to_target(&f[i]);
    }
}

// Lists what is under load.
SPRAG_VECTORS
static void store_fours(ode_problem *pulled, const four *f, int fours)
{
    int count = 0;
    for (const four *end = f + fours; f < end; f++) {
        sprag_body *body[LANES];
        ode_stiffened_body *of[LANES], *to = NULL;
        for (int l = 0; l < LANES; l++) {
            const bool more = l < f->count; // the rest are the last one again
            of[l] = to = more ? &pulled->stiffened_body[count] : to;
            to->body = f->body[l];
            body[l] = &pulled->body[f->body[l]];
            count += more && f->sums[TRACE][l] > 0;
        }
        const lanes *A = f->A, first[LANES] = {A[0], A[1], A[2], A[1]},
                    next[LANES] = {A[3], A[4], A[2], A[4]},
                    free[LANES] = {f->free[1], f->free[2], f->free[3]};
        store_four((void *const *)of, offsetof(ode_stiffened_body, added), first);
        store_four((void *const *)of, offsetof(ode_stiffened_body, added[4]), next);
        store_four((void *const *)of, offsetof(ode_stiffened_body, trace), f->sums);
        store_four((void *const *)of, offsetof(ode_stiffened_body, target), f->target);
        store_four((void *const *)of, offsetof(ode_stiffened_body, free), free);
        store_four((void *const *)body, offsetof(sprag_body, inertia), f->I);
        store_four((void *const *)body, offsetof(sprag_body, inertia[4]), f->I + 4);
        store_four((void *const *)body, offsetof(sprag_body, free_velocity[2]), f->now);
        for (int l = 0; l < LANES; l++) {
            of[l]->added[8] = A[5][l];
            body[l]->inertia[8] = f->I[8][l];
        }
    }
    pulled->stiffened_bodies = count;
}

void sprag_ode_stiffen_bodies(ode_problem *pulled, const ode_warm_start *warm_start,
                              sprag_scratch *scratch)
{
    const int bodies = pulled->problem.bodies;
    int *list = SPRAG_TAKE_RAW(scratch, bodies + LANES, int);
    four *f = SPRAG_TAKE_RAW(scratch, (bodies + LANES - 1) / LANES, four);
    if (scratch->failed) {
        return;
    }
    const int fours = find_fours(pulled, list, list_loaded(pulled, list), f);
    find_last(pulled, warm_start, f, fours);
    for (int i = 0; i < fours && pulled->part; i++) {
        find_shares(pulled, &f[i]);
    }
    stiffen_fours(f, fours, pulled->solve == ODE_WON ? 0 : 1);
    store_fours(pulled, f, fours);
}

// ---- derivatives

static const double TURN = 1e-7; // rad, of differences

// Turns three vectors: the one at i `next` has its numbers `apart`.
static void turn_vectors(double *x, const double turn[3], const double *of, int next, int apart)
{
    for (int i = 0; i < 3; i++) {
        const double r[3] = {of[i * next], of[i * next + apart], of[i * next + 2 * apart]};
        double turned[3];
        cross3(turn, r, turned);
        for (int k = 0; k < 3; k++) {
            x[i * next + k * apart] += turned[k];
        }
    }
}

// The levers of a body turn with it, what pulls at them does not.
static void turn_load(const ode_problem *pulled, const ode_stiffened_body *stiff,
                      const ode_turned_load *of, ode_load *load, double I[9])
{
    const double share = of->by == of->body ? TURN : 0,
                 turn[3] = {share * (of->axis == 0), share * (of->axis == 1),
                            share * (of->axis == 2)};
    double own[9];
    memcpy(own, pulled->body[stiff->body].inertia, sizeof own);
    add_scaled(own, -1, stiff->added, 9);
    memcpy(I, own, sizeof own);
    turn_vectors(I, turn, own, 1, 3);
    turn_vectors(I, turn, own, 3, 1);
    *load = pulled->load[stiff->body];
    turn_vectors(load->moment[0], turn, pulled->load[stiff->body].moment[0], 1, 4);
    add_scaled(load->torque, TURN, of->torque, 3);
}

// The target u keeps a part of the body's turn w, by the fourth root of the trace of A: the balance
// A (v - u) at the velocity v.
static void take_turned(const ode_problem *pulled, const ode_stiffened_body *stiff, double trace,
                        ode_turned_load *to)
{
    const double *v = pulled->solution.velocity[stiff->body] + 3;
    double left[3], kept[3];
    add_scaled(to->added, -1, stiff->added, 9);
    for (int k = 0; k < 9; k++) {
        to->added[k] /= TURN;
    }
    subtract3(v, stiff->target, left);
    mul33(to->added, left, to->balance);
    mul33(stiff->added, stiff->target, kept);
    add_scaled(to->balance, (trace - stiff->trace) / (4 * TURN * trace), kept, 3);
}

SPRAG_VECTORS
static void turn_four(const ode_problem *pulled, const ode_stiffened_body *const stiff[LANES],
                      ode_turned_load *const to[LANES], double trace[LANES])
{
    ode_load load[LANES];
    double inertia[LANES][9];
    const void *of[LANES], *I[LANES];
    lanes m[6];
    lane_mask some;
    four f = {.part = ones};
    for (int l = 0; l < LANES; l++) {
        turn_load(pulled, stiff[l], to[l], &load[l], inertia[l]);
        of[l] = &load[l], I[l] = inertia[l];
    }
    load_matrices(I, f.I);
    find_moments(of, m);
    find_excess(f.I, m, pulled->problem.step * pulled->problem.step, f.A, &some);
    sprag_positive_parts(LANES, LANES, (double *)f.A);
    take_share(&f, 0);
    for (int l = 0; l < LANES; l++) {
        static const int at[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
        for (int k = 0; k < 9; k++) {
            to[l]->added[k] = f.A[at[k]][l];
        }
        trace[l] = f.sums[TRACE][l];
    }
}

void sprag_ode_turn_loads(const ode_problem *pulled, ode_turned_load *turned, int count)
{
    const ode_stiffened_body *stiff[LANES];
    ode_turned_load *to[LANES];
    int lane = 0;
    for (int i = 0; i < count; i++) {
        int s = 0;
        while (s < pulled->stiffened_bodies && pulled->stiffened_body[s].body != turned[i].body) {
            s++;
        }
        memset(turned[i].added, 0, sizeof turned[i].added);
        memset(turned[i].balance, 0, sizeof turned[i].balance);
        if (s < pulled->stiffened_bodies) {
            to[lane] = &turned[i], stiff[lane++] = &pulled->stiffened_body[s];
        }
        const int full = lane == LANES || i == count - 1 ? lane : 0;
        for (; lane > 0 && full > 0 && lane < LANES; lane++) { // the last one fills up its four
            to[lane] = to[lane - 1], stiff[lane] = stiff[lane - 1];
        }
        if (full > 0) {
            double trace[LANES];
            turn_four(pulled, stiff, to, trace);
            for (int l = 0; l < full; l++) {
                take_turned(pulled, stiff[l], trace[l], to[l]);
            }
            lane = 0;
        }
    }
}

// ---- targets

// Sums over the bodies of a group, of what their targets do not keep of their own turns.
typedef struct common_turn {
    double inertia[9];  // kg m^2, of A
    double momentum[3]; // N m s, that A has
    double turn[4];     // kg m^2 rad/s, by the traces of A; at last rad/s, the common turn
} common_turn;

static void sum_up_groups(const ode_problem *pulled, common_turn *sum)
{
    for (int i = 0; i < pulled->stiffened_bodies; i++) {
        const ode_stiffened_body *of = &pulled->stiffened_body[i];
        const double *w = pulled->body[of->body].velocity + 3, lost = 1 - of->kept;
        common_turn *to = &sum[sprag_ode_group(pulled, of->body)];
        double momentum[3];
        mul33(of->added, w, momentum);
        add_scaled(to->inertia, lost, of->added, 9);
        add_scaled(to->momentum, lost, momentum, 3);
        add_scaled(to->turn, lost * of->trace, w, 3);
    }
}

// With the common turn, A takes no angular momentum from the group. About an axis with little A of
// its own it is the mean, so that it does not jump where A begins.
static void find_common_turn(common_turn *of)
{
    static const double least = 1e-2; // of the trace
    const double trace = of->inertia[0] + of->inertia[4] + of->inertia[8];
    double inverse[9], A[9], left[3], w[3] = {0};
    memcpy(A, of->inertia, sizeof A);
    for (int k = 0; k < 3; k++) {
        A[4 * k] += least * trace;
    }
    if (trace > 0 && invert33(A, inverse) != 0) {
        add_scaled(w, 1 / trace, of->turn, 3);
        mul33(of->inertia, w, left);
        subtract3(of->momentum, left, left);
        mul33(inverse, left, A);
        add_scaled(w, 1, A, 3);
    }
    memcpy(of->turn, w, sizeof w);
}

// Beside what they keep of their own turns.
static void pull_to_common_turns(ode_problem *pulled, const common_turn *sum)
{
    for (int i = 0; i < pulled->stiffened_bodies; i++) {
        ode_stiffened_body *of = &pulled->stiffened_body[i];
        sprag_body *body = &pulled->body[of->body];
        const int group = sprag_ode_group(pulled, of->body);
        double inverse[9], common[3] = {0}, pull[3], gained[3];
        if (group > 0 && invert33(body->inertia, inverse) != 0) {
            add_scaled(common, 1 - of->kept, sum[group].turn, 3);
            add_scaled(of->target, 1, common, 3);
            mul33(of->added, common, pull);
            mul33(inverse, pull, gained);
            add_scaled(body->free_velocity + 3, 1, gained, 3);
        }
    }
}

void sprag_ode_set_targets(ode_problem *pulled, sprag_scratch *scratch)
{
    bool any = false;
    const bool may = pulled->loose > 0 && pulled->solve != ODE_WON;
    for (int i = 0; i < pulled->stiffened_bodies && may && !any; i++) {
        any = sprag_ode_group(pulled, pulled->stiffened_body[i].body) > 0;
    }
    common_turn *sum = any ? SPRAG_TAKE(scratch, pulled->problem.bodies + 1, common_turn) : NULL;
    if (sum) {
        sum_up_groups(pulled, sum);
        for (int i = 1; i <= pulled->problem.bodies; i++) { // 0: the world
            find_common_turn(&sum[i]);
        }
        pull_to_common_turns(pulled, sum);
    }
}
