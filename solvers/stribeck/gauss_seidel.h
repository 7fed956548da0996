// Block Gauss-Seidel on the contact and row laws: each contact in turn takes the impulse that its
// law asks for at the velocity of the moment (Jourdan, Alart, Jean, Comput. Methods Appl. Mech.
// Engrg. 155, 1998), with the laws of laws.h, coupled. A sweep costs time and memory linear in the
// contacts. Sweeps converge slowly, so they are accelerated (Nesterov's momentum, begun anew where
// a sweep moves more than the one before it; compare Mazhar, Heyn, Negrut, Tasora, ACM Trans.
// Graph. 34, 2015), and start from the impulses expected, those of the last step.
//
// Whenever they end, momentum balances, no impulse is outside its cone or its bounds, and what is
// left is how far velocities are from those that the laws were given. The friction law has a corner
// where that of laws.h is smooth.
#ifndef SPRAG_GAUSS_SEIDEL_H
#define SPRAG_GAUSS_SEIDEL_H

#include "system.h"

// The sweep of the space of bodies (sprag_space.sweep).
sprag_result sprag_sweeps_run(sprag_system *system, const sprag_sweep_limits *limits,
                              double stiction, double *v, sprag_stats *stats);

#endif
