// Block Gauss-Seidel on the contact and row laws: each contact in turn takes the impulse that its
// law asks for at the velocity of the moment (Jourdan, Alart, Jean, Comput. Methods Appl. Mech.
// Engrg. 155, 1998), with the laws of laws.h, coupled. A sweep costs time and memory linear in the
// contacts. Sweeps converge slowly, so they are accelerated (Nesterov's momentum, begun anew where
// a sweep moves more than the one before it; compare Mazhar, Heyn, Negrut, Tasora, ACM Trans.
// Graph. 34, 2015), and start from the impulses expected, those of the last step.
//
// Whenever they end, momentum balances, no impulse is outside its cone or its bounds, and what is
// left is how far velocities are from those that the laws were given.
#ifndef SPRAG_SWEEPS_H
#define SPRAG_SWEEPS_H

#include "solvers/system.h"

// For a system in the space of bodies (space6.h). v: the velocity found; the system has the
// impulses. stats->residual: what the last sweep changed, in the metric and on the scale of
// sprag_system_residual. Sweeps end when it is within tolerance, or there have been as many as
// `sweeps` and it is acceptable, or ten times as many.
// SPRAG_OK whatever is left; SPRAG_NOT_CONVERGED if v is not finite; SPRAG_NO_MEMORY.
sprag_result sprag_sweeps_run(sprag_system *system, int sweeps, double tolerance, double acceptable,
                              double stiction, double *v, sprag_stats *stats);

#endif
