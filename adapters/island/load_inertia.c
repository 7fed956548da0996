// The inertia A that a load adds to a body, and the angular velocity u that A pulls it towards
// (load_stiffness.c).
#include <math.h>
#include <string.h>

#include "island.h"
#include "island_constants.h"
#include "linalg.h"
#include "symmetric3.h"

// No eigenvalue is below it.
static double least_moment(const double *I)
{
    return 1 / inverse_trace33(I);
}

// The eigenvalues of K are sums of two of the moment's symmetric part.
bool sprag_ode_load_counts(const double *I, const double *moment, double square)
{
    double sum = 0, least = least_moment(I);
    for (int i = 0; i < 9; i++) {
        sum += moment[i] * moment[i];
    }
    return 2 * sum * square * square > least * least;
}

// A = the positive part of square K - I, with the inertia I of the part: then I + A is no less than
// square K. The body's share of it is no more than what counts beside its own inertia about each
// axis of A: that of a part with bodies far apart is larger by orders of magnitude. Returns the
// trace of the share.
static double excess(const double *I, const double *own, double share, const double *moment,
                     double square, double A[9])
{
    const double least = least_moment(own);
    double over[9], value[3], u[9], trace = 0;
    const double all = moment[0] + moment[4] + moment[8];
    for (int i = 0; i < 3; i++) {
        over[4 * i] = square * (all - moment[4 * i]) - I[4 * i];
    }
    over[1] = -0.5 * (square * (moment[1] + moment[3]) + I[1] + I[3]);
    over[2] = -0.5 * (square * (moment[2] + moment[6]) + I[2] + I[6]);
    over[5] = -0.5 * (square * (moment[5] + moment[7]) + I[5] + I[7]);
    memset(A, 0, 9 * sizeof *A);
    sprag_eigen3(over, value, u);
    for (int k = 0; k < 3; k++) {
        const double *axis = u + 3 * k;
        double along[3], added = share * value[k];
        if (added > load_most * least) {
            mul33(own, axis, along);
            added = fmin(added, load_most * dot3(axis, along));
        }
        if (added > 0) {
            for (int i = 0; i < 3; i++) {
                add_scaled(A + 3 * i, added * axis[i], axis, 3);
            }
            trace += added;
        }
    }
    return trace;
}

bool sprag_ode_add_inertia(sprag_body *body, const double *I, const double *moment, double square,
                           double share_of_part, double added_before, ode_stiffened_body *to)
{
    double inverse[9], part[3], pull[3], *free = body->free_velocity + 3;
    to->trace = excess(I, body->inertia, share_of_part, moment, square, to->added);
    if (!(to->trace > 0)) {
        return false;
    }
    memcpy(to->inertia, body->inertia, sizeof to->inertia);
    memcpy(to->free, free, sizeof to->free);
    for (int i = 0; i < 9; i++) {
        body->inertia[i] += to->added[i];
    }
    if (invert33(body->inertia, inverse) == 0) {
        memcpy(body->inertia, to->inertia, sizeof to->inertia);
        return false;
    }
    const double share = to->share * sqrt(sqrt(added_before / to->trace));
    for (int k = 0; k < 3; k++) {
        to->target[k] = share * body->velocity[3 + k];
    }
    subtract3(to->target, free, part);
    mul33(to->added, part, pull);
    mul33(inverse, pull, part);
    add_scaled(free, 1, part, 3);
    return true;
}
