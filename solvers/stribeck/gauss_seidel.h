// Block Gauss-Seidel on the contact and row laws: each contact in turn takes the impulse that its
// law asks for at the velocity of the moment (Jourdan, Alart, Jean, Comput. Methods Appl. Mech.
// Engrg. 155, 1998), with the coupled laws of laws.h. A sweep costs time and memory linear in the
// contacts. Sweeps converge slowly, so they are accelerated by Nesterov's method, restarted when a
// sweep changes more than the one before (compare Mazhar, Heyn, Negrut, Tasora, ACM Trans. Graph.
// 34, 2015), and start from the expected impulses, those of the last step.
//
// After any number of sweeps momentum balances and every impulse is inside its cone and bounds; the
// error is the difference between the velocities and those that the laws were evaluated at. The
// friction law has a corner where that of laws.h is smooth.
#ifndef SPRAG_GAUSS_SEIDEL_H
#define SPRAG_GAUSS_SEIDEL_H

#include "system.h"

// The entry gauss_seidel of the space of bodies (sprag_space).
sprag_result sprag_gauss_seidel_solve(sprag_system *system, const sprag_gauss_seidel_limits *limits,
                                      double stiction, double *v, sprag_stats *stats);

#endif
