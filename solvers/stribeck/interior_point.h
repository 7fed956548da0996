// An interior point method on the contact and row laws, under frozen bounds of friction: a convex
// problem. Impulses stay inside their bounds and what is complementary to them above zero; the
// products of the two go towards zero together, by predictor and corrector (Mehrotra, SIAM J.
// Optim. 2, 1992). An update costs what one of Newton's does, but one or two dozen of them suffice,
// however stiff the laws are and however many contacts there are. (Of Newton's method the stiff
// laws of rigid contacts make a search through what sticks, slips and lifts off.)
//
// Momentum balances, no impulse is outside its bounds, and friction has a corner where that of
// laws.h is smooth.
#ifndef SPRAG_INTERIOR_POINT_H
#define SPRAG_INTERIOR_POINT_H

#include "system.h"

// bound: N s, normal impulses that bound friction, one per point. v: where it starts, and the
// velocity found; dv: room. The system has the impulses. SPRAG_NOT_CONVERGED: also where a normal
// law is no spring.
sprag_result sprag_interior_point_solve(sprag_system *system, const double *bound, double stiction,
                                        int iterations, double *v, double *dv, sprag_stats *stats);

#endif
