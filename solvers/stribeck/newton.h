// Newton's method on the coupled equations, with updates limited in direction (arXiv 1909.05700,
// section IV). Where a row reaches a bound, or where the problem is convex, an exact search with
// the present friction bounds shortens the update further.
#ifndef SPRAG_NEWTON_H
#define SPRAG_NEWTON_H

#include "system.h"

// The limiter of section IV.B: the largest share of an update by which one slip may change. The
// slip may enter the stiction circle but not cross it, and may not turn by more than theta. v, dv:
// m/s. tolerance: m/s, radius of the stiction circle. small: slips below this share of it are at
// rest. theta: rad. Returns alpha in (0, 1].
double sprag_limit_slip(const double v[2], const double dv[2], double tolerance, double small,
                        double theta);

typedef struct sprag_newton_limits {
    double small, theta; // of the limiter
    double tolerance;    // momentum residual at which it ends
    double rounding;     // momentum residual at which it ends if updates do not lower it further
    int iterations;      // updates
    int patience;        // of which so many in a row may bring no progress:
    double progress;     // a residual below this share of the least so far
} sprag_newton_limits;

// Vectors of one run. The caller takes them.
typedef struct sprag_newton_state {
    double *v;            // size, m/s, rad/s: the present iterate
    double *dv;           // size: the last update
    double *bound;        // points, N s: normal impulses, for the search
    double *best;         // size: the iterate of least residual so far; NULL: not kept
    double best_residual; // of it; the caller sets INFINITY before the first run
    bool hardened;        // set by sprag_newton_harden_rows: has it changed the iterate?
} sprag_newton_state;

// From state->v, where the system must be evaluated, with the residual in *stats; that of the last
// iterate is left there. SPRAG_OK, SPRAG_NOT_CONVERGED; SPRAG_SINGULAR: a factorisation failed or
// the residual is not finite; SPRAG_NO_MEMORY.
sprag_result sprag_newton(sprag_system *system, const sprag_newton_limits *limits, double stiction,
                          sprag_newton_state *state, sprag_stats *stats);

// After sprag_newton, of rows without points; otherwise all stays as it was: removes the excess
// yield that rows have against rounding, at the impulses found, by one further update. Rows between
// their bounds are linear, so the factors are still good. Where a row reaches its bound, all stays,
// too. tolerance: momentum residual. SPRAG_OK, SPRAG_NO_MEMORY.
sprag_result sprag_newton_harden_rows(sprag_system *system, double tolerance, double stiction,
                                      sprag_newton_state *state, sprag_stats *stats);

#endif
