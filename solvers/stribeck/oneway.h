// The one-way scheme: friction is bounded by normal forces that are known before it is solved.
//
// Under Hunt and Crossley's law they are a function of the state before the step, k max(0, 1 - d
// vn) max(0, x), and act as such: the one-way coupled problem of the original (general.h). Of a
// rigid contact only what bounds friction is known beforehand, the normal force of the same step
// without friction; the force itself still follows its law, or else friction would drive bodies
// into one another. Either way the problem is convex: it has one solution, which is always found.
//
// What it loses: friction does not change its own bound. A body that friction tilts onto a point is
// braked as if it were not pressed on the harder; where normal forces come from friction alone, as
// of a wedge, there is none. What it is off by is the statistics' bound_error. An explicit
// stiffness is stable only for steps well below sqrt(m / k).
#ifndef SPRAG_ONEWAY_H
#define SPRAG_ONEWAY_H

#include "strategy.h"

// In place of sprag_strategy_solve. The statistics are those of both solves together. From then on
// the bounds of the system's friction are forces, and stiff contacts have given impulses.
sprag_result sprag_oneway_solve(sprag_strategy_state *phases);

#endif
