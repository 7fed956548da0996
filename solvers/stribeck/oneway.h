// The one-way scheme: friction is bounded by normal forces that are known before it is solved.
//
// Under Hunt and Crossley's law the normal forces are a function of the state before the step,
// k max(0, 1 - d vn) max(0, x): the one-way coupled problem of arXiv 1909.05700, section III
// (general.h). For a rigid contact the friction bound comes from a first solve of the same step
// without friction; the normal force itself still follows its law, as otherwise friction would
// drive bodies into one another. Either way the problem is convex: it has one solution, which is
// always found.
//
// The limit of the scheme: friction does not change its own bound. If friction presses a body
// harder onto a point, the bound does not rise; if normal forces arise from friction alone, as at a
// wedge, the bound is 0. The statistics' bound_error measures the difference. An explicit stiffness
// is stable only for steps well below sqrt(m / k).
#ifndef SPRAG_ONEWAY_H
#define SPRAG_ONEWAY_H

#include "strategy.h"

// Used in place of sprag_strategy_solve, with the same results. The statistics are the sum of both
// solves. Afterwards the friction bounds of the system are forces and stiff contacts have given
// impulses.
sprag_result sprag_oneway_solve(sprag_strategy_state *state);

#endif
