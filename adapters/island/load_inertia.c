// The inertia A that a load adds to a body, and the angular velocity u that A pulls it towards
// (load_stiffness.c).
#include <math.h>
#include <string.h>

#include "island.h"
#include "island_constants.h"
#include "linalg.h"
#include "symmetric3.h"

// Has a symmetric matrix, of which the upper triangle counts, no positive eigenvalue? By the signs
// of its leading minors.
static bool is_negative(const double S[9])
{
    const double minor = S[0] * S[4] - S[1] * S[1], x = S[1] * S[5] - S[2] * S[4],
                 y = S[1] * S[2] - S[0] * S[5];
    return S[0] < 0 && minor > 0 && S[2] * x + S[5] * y + S[8] * minor < 0;
}

// A = the positive part of square K - I, with the inertia I of the part: then I + A is no less than
// square K. The body's share of it is no more than what counts beside its own inertia about each
// axis of A: that of a part with bodies far apart is larger by orders of magnitude. Returns the
// trace of the share.
static double excess(const double *I, const double *own, double share, const double *moment,
                     double square, double A[9])
{
    double over[9], value[3], u[9], trace = 0;
    over[0] = square * (moment[1] + moment[2]) - I[0];
    over[4] = square * (moment[0] + moment[2]) - I[4];
    over[8] = square * (moment[0] + moment[1]) - I[8];
    over[1] = -square * moment[3] - 0.5 * (I[1] + I[3]);
    over[2] = -square * moment[4] - 0.5 * (I[2] + I[6]);
    over[5] = -square * moment[5] - 0.5 * (I[5] + I[7]);
    if (is_negative(over)) {
        return 0;
    }
    sprag_eigen3(over, value, u);
    const double least = 1 / inverse_trace33(own); // no eigenvalue is below it
    memset(A, 0, 9 * sizeof *A);
    for (int k = 0; k < 3; k++) {
        const double *axis = u + 3 * k;
        double along[3], added = share * value[k];
        if (added > load_most * least) {
            mul33(own, axis, along);
            added = fmin(added, load_most * dot3(axis, along));
        }
        if (added > 0) {
            const double x = added * axis[0], y = added * axis[1];
            A[0] += x * axis[0], A[1] += x * axis[1], A[2] += x * axis[2];
            A[4] += y * axis[1], A[5] += y * axis[2], A[8] += added * axis[2] * axis[2];
            trace += added;
        }
    }
    A[3] = A[1], A[6] = A[2], A[7] = A[5];
    return trace;
}

bool sprag_ode_add_inertia(sprag_body *body, const double *I, const double *moment, double square,
                           double share_of_part, ode_stiffened_body *to)
{
    to->trace = excess(I, body->inertia, share_of_part, moment, square, to->added);
    if (!(to->trace > 0)) {
        return false;
    }
    memcpy(to->inertia, body->inertia, sizeof to->inertia);
    memcpy(to->free, body->free_velocity + 3, sizeof to->free);
    for (int i = 0; i < 9; i++) {
        body->inertia[i] += to->added[i];
    }
    return true;
}

// ---- targets

// Sums over the bodies of a group, of what their targets do not keep of their own turns.
typedef struct common_turn {
    double inertia[9];  // kg m^2, of A
    double momentum[3]; // N m s, that A has
    double turn[3];     // kg m^2 rad/s, by the traces of A; at last rad/s, the common turn
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

static void pull_body_to_target(sprag_body *body, ode_stiffened_body *of, const double common[3])
{
    double inverse[9], part[3], pull[3], *free = body->free_velocity + 3;
    for (int k = 0; k < 3; k++) {
        of->common[k] = (1 - of->kept) * common[k];
        of->target[k] = of->common[k] + of->kept * body->velocity[3 + k];
    }
    subtract3(of->target, free, part);
    mul33(of->added, part, pull);
    if (invert33(body->inertia, inverse) == 0) {
        memcpy(body->inertia, of->inertia, sizeof of->inertia);
        memset(of->added, 0, sizeof of->added);
        of->trace = 0;
        return;
    }
    mul33(inverse, pull, part);
    add_scaled(free, 1, part, 3);
}

void sprag_ode_set_targets(ode_problem *pulled, sprag_scratch *scratch)
{
    static const double none[3];
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
    for (int i = 0; i < pulled->stiffened_bodies; i++) {
        ode_stiffened_body *of = &pulled->stiffened_body[i];
        const int group = sum ? sprag_ode_group(pulled, of->body) : 0;
        pull_body_to_target(&pulled->body[of->body], of, group > 0 ? sum[group].turn : none);
    }
}
