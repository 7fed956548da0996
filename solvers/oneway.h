// The one-way scheme: normal forces that are known before friction is solved. Those of Hunt and
// Crossley's law are a function of the state before the step, k max(0, 1 - d vn) max(0, x), as in
// the one-way coupled problem of the original (general.h); those of rigid contacts are what the
// same step takes without the friction that they bound. Friction under given normal forces has one
// solution, which is always found.
//
// What it loses: friction does not act back on normal forces within the step. A body that friction
// tilts or wedges presses on nothing the harder for it: where the normal force comes from friction
// (a wedge between walls) there is none at all, and normal velocities that friction brings stay. An
// explicit stiffness is stable only for steps well below sqrt(m / k).
#ifndef SPRAG_ONEWAY_H
#define SPRAG_ONEWAY_H

#include "solvers/phases.h"

// In place of sprag_phases_run. Statistics are those of both solves together. From then on the
// points of the system have given impulses.
sprag_result sprag_oneway_run(sprag_phases *phases);

#endif
