// The inertia A that a load adds to a body, and the angular velocity u that A pulls it towards
// (load_stiffness.c).
#include <math.h>
#include <string.h>

#include "island_constants.h"
#include "linalg.h"
#include "loads.h"
#include "symmetric3.h"
#include "vectors3.h"

// The symmetric part of the sum of r f' (xx, yy, zz, xy, xz, yz): K is its trace less it. Without
// what turns the part: the torque t turns forces along a line, of which s is the sum of f.r, by the
// angle t / s, and their moment by half of that.
INLINE void find_moment(const ode_load *of, double m[6])
{
    const double *u = of->moment[0], *v = of->moment[1], *w = of->moment[2], *t = of->torque;
    const double s = u[0] + v[1] + w[2];
    m[0] = u[0], m[1] = v[1], m[2] = w[2];
    m[3] = 0.5 * (u[1] + v[0]), m[4] = 0.5 * (u[2] + w[0]), m[5] = 0.5 * (v[2] + w[1]);
    if (s > 0) {
        double x = t[0] + v[2] - w[1], y = t[1] + w[0] - u[2], z = t[2] + u[1] - v[0];
        const double k = s / (s * s + x * x + y * y + z * z);
        x *= k, y *= k, z *= k;
        const double xx = y * m[4] - z * m[3], yy = z * m[3] - x * m[5], zz = x * m[5] - y * m[4];
        const double xy = y * m[5] - z * m[1] + z * m[0] - x * m[4];
        const double xz = y * m[2] - z * m[5] + x * m[3] - y * m[0];
        const double yz = z * m[4] - x * m[2] + x * m[1] - y * m[3];
        m[0] -= xx, m[1] -= yy, m[2] -= zz;
        m[3] -= 0.5 * xy, m[4] -= 0.5 * xz, m[5] -= 0.5 * yz;
    }
}

// Sets square K - I of a part, as one of the matrices of sprag_positive_parts(). false: it has no
// positive part.
INLINE bool find_excess(const double *I, const double *moment, double square, double *to, int apart)
{
    const double xx = square * (moment[1] + moment[2]) - I[0],
                 yy = square * (moment[0] + moment[2]) - I[4],
                 zz = square * (moment[0] + moment[1]) - I[8],
                 xy = -square * moment[3] - 0.5 * (I[1] + I[3]),
                 xz = -square * moment[4] - 0.5 * (I[2] + I[6]),
                 yz = -square * moment[5] - 0.5 * (I[5] + I[7]);
    to[0] = xx, to[apart] = xy, to[2 * apart] = xz;
    to[3 * apart] = yy, to[4 * apart] = yz, to[5 * apart] = zz;
    // all eigenvalues are negative, by the signs of the leading minors
    const double minor = xx * yy - xy * xy, x = xy * yz - xz * yy, y = xy * xz - xx * yz;
    return !(xx < 0 && minor > 0 && xz * x + yz * y + zz * minor < 0);
}

// Finds it for the bodies whose parts are under load, and lists these. Returns their number.
SPRAG_VECTORS
static int find_all(ode_problem *pulled, double *excess, int apart)
{
    const double step = pulled->problem.step;
    int count = 0;
    for (int i = 0; i < pulled->problem.bodies; i++) {
        const int first = sprag_ode_part(pulled, i);
        if (first >= 0 && pulled->load[first].known && pulled->body[i].mass > 0) {
            double moment[6];
            find_moment(&pulled->load[first], moment);
            const double *I =
                pulled->part ? pulled->part[first + 1].inertia : pulled->body[i].inertia;
            pulled->stiffened_body[count].body = i;
            count += find_excess(I, moment, step * step, excess + count, apart);
        }
    }
    return count;
}

// Adds a body's share of A, the positive part of square K - I of its part: then I + A is no less
// than square K. It is no more than what counts beside the body's own inertia about the axes of A:
// that of a part with bodies far apart is larger by orders of magnitude. false: it is zero.
static bool add_inertia(sprag_body *body, const double *A, int apart, double share,
                        ode_stiffened_body *to)
{
    double *I = body->inertia;
    double xx = A[0], xy = A[apart], xz = A[2 * apart];
    double yy = A[3 * apart], yz = A[4 * apart], zz = A[5 * apart];
    const double all = xx * xx + yy * yy + zz * zz + 2 * (xy * xy + xz * xz + yz * yz),
                 own = xx * I[0] + yy * I[4] + zz * I[8] + xy * (I[1] + I[3]) + xz * (I[2] + I[6]) +
                       yz * (I[5] + I[7]);
    if (share * all > load_most * own) {
        share = load_most * own / all;
    }
    to->trace = share * (xx + yy + zz);
    if (!(to->trace > 0)) {
        return false;
    }
    memcpy(to->free, body->free_velocity + 3, sizeof to->free);
    xx *= share, xy *= share, xz *= share, yy *= share, yz *= share, zz *= share;
    const double added[9] = {xx, xy, xz, xy, yy, yz, xz, yz, zz};
    for (int i = 0; i < 9; i++) {
        to->added[i] = added[i];
        I[i] += added[i];
    }
    return true;
}

void sprag_ode_stiffen_bodies(ode_problem *pulled, const ode_warm_start *warm_start,
                              sprag_scratch *scratch)
{
    const int apart = pulled->problem.bodies + SPRAG_PARTS_AT_ONCE;
    double *excess = SPRAG_TAKE_RAW(scratch, 6 * apart, double);
    const int count = excess ? find_all(pulled, excess, apart) : 0;
    sprag_positive_parts(count, apart, excess);
    int run = 0; // of the body before in the warm start
    for (int i = 0; i < count; i++) {
        const int at = pulled->stiffened_body[i].body;
        sprag_body *body = &pulled->body[at];
        ode_stiffened_body *to = &pulled->stiffened_body[pulled->stiffened_bodies];
        double share = 1;
        if (pulled->part) {
            share = (body->inertia[0] + body->inertia[4] + body->inertia[8]) /
                    pulled->part[sprag_ode_part(pulled, at) + 1].trace;
        }
        if (add_inertia(body, excess + i, apart, share, to)) {
            to->body = at;
            sprag_ode_warm_start_added(warm_start, pulled->island.body[at], &run, &to->kept,
                                       &to->stored, &to->share);
            pulled->stiffened_bodies++;
        }
    }
    for (int i = 0; i < pulled->stiffened_bodies; i++) {
        ode_stiffened_body *to = &pulled->stiffened_body[i];
        const double before = pulled->solve == ODE_WON ? 0 : to->kept;
        to->kept = to->share * sqrt(sqrt(before / to->trace));
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

// The columns of the inverse of a matrix are the cross products of its rows, by the determinant.
SPRAG_VECTORS
static void pull_bodies_to_targets(ode_problem *pulled, const common_turn *sum)
{
    for (int i = 0; i < pulled->stiffened_bodies; i++) {
        ode_stiffened_body *of = &pulled->stiffened_body[i];
        sprag_body *body = &pulled->body[of->body];
        const int group = sum ? sprag_ode_group(pulled, of->body) : 0;
        double *free = body->free_velocity + 3;
        vector3 x = CONST_VECTOR3(body->inertia), y = CONST_VECTOR3(body->inertia + 3),
                z = CONST_VECTOR3(body->inertia + 6), common = {0}, now, xy, yz, zx;
        if (group > 0) {
            common = (1 - of->kept) * CONST_VECTOR3(sum[group].turn);
        }
        load_last3(&now, body->free_velocity);
        const vector3 target = common + of->kept * CONST_VECTOR3(body->velocity + 3),
                      part = target - now,
                      pull = part[0] * CONST_VECTOR3(of->added) +
                             part[1] * CONST_VECTOR3(of->added + 3) +
                             part[2] * CONST_VECTOR3(of->added + 6);
        VECTOR3(of->common) = common;
        VECTOR3(of->target) = target;
        cross_vectors3(&yz, &y, &z);
        cross_vectors3(&zx, &z, &x);
        cross_vectors3(&xy, &x, &y);
        x *= yz;
        const double det = sum3(&x);
        if (fabs(det) > 0 && isfinite(det)) {
            now += (pull[0] * yz + pull[1] * zx + pull[2] * xy) * (1 / det);
            store3(free, &now);
        } else {
            add_scaled(body->inertia, -1, of->added, 9);
            memset(of->added, 0, sizeof of->added);
            of->trace = 0;
        }
    }
}

void sprag_ode_set_targets(ode_problem *pulled, sprag_scratch *scratch)
{
    bool any = false;
    for (int i = 0; i < pulled->stiffened_bodies && pulled->solve != ODE_WON && !any; i++) {
        any = sprag_ode_group(pulled, pulled->stiffened_body[i].body) > 0;
    }
    common_turn *sum = any ? SPRAG_TAKE(scratch, pulled->problem.bodies + 1, common_turn) : NULL;
    if (sum) {
        sum_up_groups(pulled, sum);
        for (int i = 1; i <= pulled->problem.bodies; i++) { // 0: the world
            find_common_turn(&sum[i]);
        }
    }
    pull_bodies_to_targets(pulled, sum);
}
