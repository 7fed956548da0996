// One measure of how far a solution is from the equations of a problem, whoever found it: the only
// acceptance of the general solver. It reads the problem and the solution, nothing of a solver.
#ifndef SPRAG_GENERAL_RESIDUAL_H
#define SPRAG_GENERAL_RESIDUAL_H

#include "general.h"

// momentum  |M v - p* - dt (Jn' fn + Jt' ft)|
// normal, friction
//           largest |f - f'| of a contact, where f' is the force at which its law agrees with the
//           velocity that f' leaves, all else as it is (the natural map; Facchinei, Pang:
//           Finite-Dimensional Variational Inequalities and Complementarity Problems, 2003, 1.5.8)
// relative to what the step changes: the larger of the momentum that contacts change, of the change
// of M guess to p*, and of a hundredth of p*. A momentum x counts as |D x|, D = diag(M)^-1/2, an
// impulse dp along a row J as |dp| |D J'|.
typedef struct sprag_general_residual {
    double momentum, normal, friction;
} sprag_general_residual;

// solution: all arrays but the generalized forces are read. guess: nv, the velocity before the step
// (m/s). work: room for 2 nv. Values that are not finite have a residual of INFINITY.
sprag_general_residual sprag_general_measure(const sprag_general_problem *problem,
                                             const sprag_general_options *options,
                                             const double *guess,
                                             const sprag_general_solution *solution, double *work);

// The largest of the three: 0 is solved, 1 nothing solved.
double sprag_general_error(const sprag_general_residual *residual);

#endif
