// Contact with frozen friction bounds: the velocity is the minimum of a strictly convex function,
//
//     1/2 |v - v*|_M^2 + sum (potentials of the contact and row laws at J v),
//
// found by Newton's method with an exact search along each update (Castro, Permenter, Han: An
// Unconstrained Convex Formulation of Compliant Contact, arXiv 2110.10107, section IV; friction
// bounds "lagged" as in arXiv 2312.03908). It converges from anywhere; stages in the stiction
// tolerance keep the number of iterations low.
#ifndef SPRAG_FROZEN_FRICTION_H
#define SPRAG_FROZEN_FRICTION_H

#include "system.h"

enum { SPRAG_CONVEX_ITERATIONS = 100 }; // enough, of a stage

// bound: normal impulses, N s, one per point. v: 6 nodes, first guess on entry. Counts into *stats
// and leaves the residual there. The last iterate is returned even if it is SPRAG_NOT_CONVERGED.
sprag_result sprag_convex_solve(sprag_system *system, const double *bound, double stiction,
                                double tolerance, int iterations, double *v, double *dv,
                                sprag_stats *stats);

// The same through stages of the stiction tolerance, from a soft one (m/s) downwards.
sprag_result sprag_convex_solve_staged(sprag_system *system, const double *bound, double soft,
                                       double stiction, double tolerance, double *v, double *dv,
                                       sprag_stats *stats);

#endif
