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

// Four bodies that may be under load, number by number: what nobody reads later. The passes over
// the fours are many and short: the processor then works at several at once, while one waits for a
// quotient or a root.
typedef struct four {
    lanes I[9];       // kg m^2; of their parts, until they take their shares of A
    lanes part;       // of its part's A that a body takes
    lanes now[LANES]; // rad/s, from 1 on: the free angular velocity with A
    int count;        // fewer in the last four
} four;

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
// part with bodies far apart is larger by orders of magnitude. to->kept: the trace in the last
// step.
INLINE void take_share(four *f, ode_stiffened_four *to, double memory)
{
    lanes *I = f->I, *A = to->added;
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
    to->trace = A[0] + A[3] + A[5];
    lanes kept = to->kept * memory / DIVISOR(to->trace > 0, to->trace);
    root_of(&kept);
    root_of(&kept);
    to->kept = kept * to->share;
}

// The columns of the inverse of a matrix are the cross products of its rows, by the determinant.
INLINE void pull_to_target(four *f, ode_stiffened_four *to)
{
    const lanes *I = f->I, *A = to->added;
    lanes way[3], yz[3], zx[3], xy[3], det;
    for (int k = 0; k < 3; k++) {
        to->target[k] = to->kept * to->own[k];
        way[k] = to->target[k] - to->free[k];
    }
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
    for (int k = 0; k < 3; k++) {
        const lanes gained = (x * yz[k] + y * zx[k] + z * xy[k]) * inverse;
        f->now[1 + k] = to->free[k] + SELECT(good, gained, zeros);
    }
    const lanes back = SELECT(good, zeros, -ones); // of what is singular with A
    add_matrices(f->I, A, &back);
    to->trace = SELECT(good, to->trace, zeros);
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
        count += first >= 0 && body[i].mass > 0 && sprag_ode_bears(&load[first]);
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
    ode_stiffened_four *to = pulled->stiffened_four;
    const double square = pulled->problem.step * pulled->problem.step;
    for (int i = 0; i < loaded; i += LANES) {
        const void *load[LANES], *inertia[LANES], *body[LANES];
        lanes m[6], own[LANES];
        lane_mask some;
        for (int l = 0; l < LANES; l++) {
            const int at = list[i + l], first = sprag_ode_part(pulled, at);
            body[l] = &pulled->body[at];
            load[l] = &pulled->load[first];
            inertia[l] = pulled->part ? pulled->part[first + 1].inertia : pulled->body[at].inertia;
            to->body[l] = at;
        }
        load_matrices(inertia, f->I);
        find_moments(load, m);
        find_excess(f->I, m, square, to->added, &some);
        load_four(body, offsetof(sprag_body, velocity[2]), own);
        load_four(body, offsetof(sprag_body, free_velocity[2]), f->now);
        for (int k = 0; k < 3; k++) {
            to->own[k] = own[1 + k], to->free[k] = f->now[1 + k];
        }
        f->part = ones;
        f->count = loaded - i < LANES ? loaded - i : LANES;
        const bool more = any(&some);
        f += more, to += more;
    }
    return (int)(f - start);
}

// Sets of the last step the trace of A, where it is to say what is kept, what is stored, and the
// share.
SPRAG_VECTORS
static void find_last(const ode_problem *pulled, const ode_warm_start *warm_start, int fours)
{
    int at = 0; // in the warm start, of the body before
    for (ode_stiffened_four *to = pulled->stiffened_four, *end = to + fours; to < end; to++) {
        const void *from[LANES];
        lanes last[LANES];
        for (int l = 0; l < LANES; l++) {
            from[l] = sprag_ode_warm_start_added(warm_start, pulled->island.body[to->body[l]], &at);
        }
        load_four(from, 0, last);
        to->kept = last[0], to->stored = last[1], to->share = last[2];
    }
}

// Sets the own inertia of bodies in parts, and their shares of A.
static void find_shares(const ode_problem *pulled, four *f, const ode_stiffened_four *of)
{
    for (int l = 0; l < LANES; l++) {
        const double *own = pulled->body[of->body[l]].inertia;
        for (int k = 0; k < 9; k++) {
            f->I[k][l] = own[k];
        }
        f->part[l] = (own[0] + own[4] + own[8]) /
                     pulled->part[sprag_ode_part(pulled, of->body[l]) + 1].trace;
    }
}

// Adds A, the positive part of square K - I: then I + A is no less than square K. memory: 0 where
// targets keep nothing, else 1.
SPRAG_VECTORS
static void stiffen_fours(four *f, ode_stiffened_four *to, int fours, double memory)
{
    sprag_positive_parts(fours, sizeof *to / sizeof(double), (double *)to->added);
    for (int i = 0; i < fours; i++) {
        take_share(&f[i], &to[i], memory);
    }
    for (int i = 0; i < fours; i++) {
        pull_to_target(&f[i], &to[i]);
    }
}

// Stores what the bodies have, and leaves nothing of those that need nothing, or fill up their
// four.
SPRAG_VECTORS
static void store_fours(ode_problem *pulled, const four *f, int fours)
{
    static const lane_mask at = {0, 1, 2, 3};
    lane_mask count = {0};
    ode_stiffened_four *of = pulled->stiffened_four;
    for (const four *end = f + fours; f < end; f++, of++) {
        void *body[LANES];
        for (int l = 0; l < LANES; l++) {
            body[l] = &pulled->body[of->body[l]];
        }
        store_four(body, offsetof(sprag_body, inertia), f->I);
        store_four(body, offsetof(sprag_body, inertia[4]), f->I + 4);
        store_four(body, offsetof(sprag_body, free_velocity[2]), f->now);
        for (int l = 0; l < LANES; l++) {
            ((sprag_body *)body[l])->inertia[8] = f->I[8][l];
        }
        const lane_mask some = (of->trace > 0) & (at < f->count);
        for (int k = 0; k < 6; k++) {
            of->added[k] = SELECT(some, of->added[k], zeros);
        }
        of->trace = SELECT(some, of->trace, zeros), of->kept = SELECT(some, of->kept, zeros);
        of->stored = SELECT(some, of->stored, zeros), of->share = SELECT(some, of->share, zeros);
        count -= some;
    }
    pulled->stiffened_fours = fours;
    pulled->stiffened_bodies = (int)(count[0] + count[1] + count[2] + count[3]);
}

void sprag_ode_stiffen_bodies(ode_problem *pulled, const ode_warm_start *warm_start,
                              sprag_scratch *scratch)
{
    const int bodies = pulled->problem.bodies, most = (bodies + LANES - 1) / LANES;
    ode_stiffened_four *to = SPRAG_TAKE_RAW(scratch, most, ode_stiffened_four);
    const sprag_scratch before = *scratch;
    int *list = SPRAG_TAKE_RAW(scratch, bodies + LANES, int);
    four *f = SPRAG_TAKE_RAW(scratch, most, four);
    if (scratch->failed) {
        return;
    }
    pulled->stiffened_four = to;
    const int fours = find_fours(pulled, list, list_loaded(pulled, list), f);
    find_last(pulled, warm_start, fours);
    for (int i = 0; i < fours && pulled->part; i++) {
        find_shares(pulled, &f[i], &to[i]);
    }
    stiffen_fours(f, to, fours, pulled->solve == ODE_WON ? 0 : 1);
    store_fours(pulled, f, fours);
    sprag_scratch_release(scratch, &before);
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

// A body under load, and its load as it is to be turned.
typedef struct turning {
    ode_turned_load *to;
    double added[9], target[3], trace; // ode_stiffened_four's
} turning;

// The levers of a body turn with it, what pulls at them does not.
static void turn_load(const ode_problem *pulled, const turning *by, ode_load *load, double I[9])
{
    const ode_turned_load *of = by->to;
    const double share = of->by == of->body ? TURN : 0,
                 turn[3] = {share * (of->axis == 0), share * (of->axis == 1),
                            share * (of->axis == 2)};
    double own[9];
    memcpy(own, pulled->body[of->body].inertia, sizeof own);
    add_scaled(own, -1, by->added, 9);
    memcpy(I, own, sizeof own);
    turn_vectors(I, turn, own, 1, 3);
    turn_vectors(I, turn, own, 3, 1);
    *load = pulled->load[of->body];
    turn_vectors(load->moment[0], turn, pulled->load[of->body].moment[0], 1, 4);
    add_scaled(load->torque, TURN, of->torque, 3);
}

// The target u keeps a part of the body's turn w, by the fourth root of the trace of A: the balance
// A (v - u) at the velocity v.
static void take_turned(const ode_problem *pulled, const turning *by, double trace)
{
    ode_turned_load *to = by->to;
    const double *v = pulled->solution.velocity[to->body] + 3;
    double left[3], kept[3];
    add_scaled(to->added, -1, by->added, 9);
    for (int k = 0; k < 9; k++) {
        to->added[k] /= TURN;
    }
    subtract3(v, by->target, left);
    mul33(to->added, left, to->balance);
    mul33(by->added, by->target, kept);
    add_scaled(to->balance, (trace - by->trace) / (4 * TURN * by->trace), kept, 3);
}

// The last one of fewer than four fills up the four.
SPRAG_VECTORS
static void turn_four(const ode_problem *pulled, const turning *by, int count)
{
    ode_load load[LANES];
    double inertia[LANES][9];
    const void *of[LANES], *I[LANES];
    lanes m[6];
    lane_mask some;
    four f = {.part = ones};
    ode_stiffened_four turned = {0};
    for (int l = 0; l < LANES; l++) {
        turn_load(pulled, &by[l < count ? l : count - 1], &load[l], inertia[l]);
        of[l] = &load[l], I[l] = inertia[l];
    }
    load_matrices(I, f.I);
    find_moments(of, m);
    find_excess(f.I, m, pulled->problem.step * pulled->problem.step, turned.added, &some);
    sprag_positive_parts(1, 0, (double *)turned.added);
    take_share(&f, &turned, 0);
    for (int l = 0; l < count; l++) {
        sprag_ode_added(&turned, l, by[l].to->added);
        take_turned(pulled, &by[l], turned.trace[l]);
    }
}

// Whether a body is under load.
static bool find_turning(const ode_problem *pulled, ode_turned_load *of, turning *to)
{
    for (int i = 0; i < LANES * pulled->stiffened_fours; i++) {
        const ode_stiffened_four *four = &pulled->stiffened_four[i / LANES];
        const int l = i % LANES;
        if (four->body[l] == of->body && four->trace[l] > 0) {
            *to = (turning){of,
                            .target = {four->target[0][l], four->target[1][l], four->target[2][l]},
                            .trace = four->trace[l]};
            sprag_ode_added(four, l, to->added);
            return true;
        }
    }
    return false;
}

void sprag_ode_turn_loads(const ode_problem *pulled, ode_turned_load *turned, int count)
{
    turning by[LANES];
    int waiting = 0;
    for (int i = 0; i < count; i++) {
        memset(turned[i].added, 0, sizeof turned[i].added);
        memset(turned[i].balance, 0, sizeof turned[i].balance);
        waiting += find_turning(pulled, &turned[i], &by[waiting]);
        if (waiting == LANES || (i == count - 1 && waiting > 0)) {
            turn_four(pulled, by, waiting);
            waiting = 0;
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
    for (int i = 0; i < LANES * pulled->stiffened_fours; i++) {
        const ode_stiffened_four *of = &pulled->stiffened_four[i / LANES];
        const int l = i % LANES, body = of->body[l];
        const double *w = pulled->body[body].velocity + 3, lost = 1 - of->kept[l];
        common_turn *to = &sum[sprag_ode_group(pulled, body)];
        double A[9], momentum[3];
        sprag_ode_added(of, l, A);
        mul33(A, w, momentum);
        add_scaled(to->inertia, lost, A, 9);
        add_scaled(to->momentum, lost, momentum, 3);
        add_scaled(to->turn, lost * of->trace[l], w, 3);
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
    for (int i = 0; i < LANES * pulled->stiffened_fours; i++) {
        ode_stiffened_four *of = &pulled->stiffened_four[i / LANES];
        const int l = i % LANES, group = sprag_ode_group(pulled, of->body[l]);
        sprag_body *body = &pulled->body[of->body[l]];
        double A[9], inverse[9], common[3] = {0}, pull[3], gained[3];
        if (of->trace[l] > 0 && group > 0 && invert33(body->inertia, inverse) != 0) {
            add_scaled(common, 1 - of->kept[l], sum[group].turn, 3);
            for (int k = 0; k < 3; k++) {
                of->target[k][l] += common[k];
            }
            sprag_ode_added(of, l, A);
            mul33(A, common, pull);
            mul33(inverse, pull, gained);
            add_scaled(body->free_velocity + 3, 1, gained, 3);
        }
    }
}

void sprag_ode_set_targets(ode_problem *pulled, sprag_scratch *scratch)
{
    bool any = false;
    const bool may = pulled->loose > 0 && pulled->solve != ODE_WON;
    for (int i = 0; i < LANES * pulled->stiffened_fours && may && !any; i++) {
        const ode_stiffened_four *of = &pulled->stiffened_four[i / LANES];
        any = of->trace[i % LANES] > 0 && sprag_ode_group(pulled, of->body[i % LANES]) > 0;
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
