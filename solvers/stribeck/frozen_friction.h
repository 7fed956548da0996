// Contact with frozen friction bounds: the velocity is the minimum of a strictly convex function,
//
//     1/2 |v - v*|_M^2 + sum (potentials of the contact and row laws at J v),
//
// found by Newton's method with an exact search along each update (Castro, Permenter, Han: An
// Unconstrained Convex Formulation of Compliant Contact, arXiv 2110.10107, section IV; friction
// bounds of the last estimate, "lagged" in arXiv 2312.03908). It converges from anywhere; stages in
// the stiction tolerance keep the number of iterations low.
#ifndef SPRAG_FROZEN_FRICTION_H
#define SPRAG_FROZEN_FRICTION_H

#include "system.h"

// bound: N s, normal impulses that bound friction, one per point. v: size velocities, m/s, rad/s;
// first guess on entry, last iterate on return, also after SPRAG_NOT_CONVERGED. dv: size, scratch.
// tolerance: of the momentum residual, which is left in *stats. SPRAG_SINGULAR: a factorisation
// failed or the residual is not finite.
sprag_result sprag_frozen_friction_solve(sprag_system *system, const double *bound, double stiction,
                                         double tolerance, int iterations, double *v, double *dv,
                                         sprag_stats *stats);

// The same in stages of the stiction tolerance, from `soft` (m/s) down to `stiction`.
sprag_result sprag_frozen_friction_solve_staged(sprag_system *system, const double *bound,
                                                double soft, double stiction, double tolerance,
                                                double *v, double *dv, sprag_stats *stats);

#endif
