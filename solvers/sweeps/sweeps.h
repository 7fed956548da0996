// Gauss-Seidel on a contact problem: each row and each contact in turn takes the impulse that its
// law asks for at the velocity of the moment (Jourdan, Alart, Jean: A Gauss-Seidel like algorithm
// to solve frictional contact problems, Comput. Methods Appl. Mech. Engrg. 155, 1998). Four
// contacts without a common body are treated at once. Sweeps are accelerated by Nesterov's
// momentum, which starts again when a sweep changes more than the one before it (compare Mazhar,
// Heyn, Negrut, Tasora: Using Nesterov's method to accelerate multibody dynamics, ACM Trans. Graph.
// 34, 2015).
//
// After every sweep momentum balances, friction is inside its cone and rows are inside their
// bounds. What is left is measured by sprag_problem_residual.
#ifndef SPRAG_SWEEPS_H
#define SPRAG_SWEEPS_H

#include "problem.h"
#include "result.h"
#include "scratch.h"
#include "softness.h"

typedef struct sprag_sweeps_options {
    sprag_shares soft;
    int most, least;  // sweeps; the least whatever they cost
    double most_work; // products of 6x6 blocks: the solve ends before it takes more. INFINITY: any
    double tolerance; // of the last change, relative to the momentum of the step: the solve ends
    double enough;    // likewise, where the last sweep moves no body by more than the tolerance
    double moving;    // m/s, largest stiction tolerance of a contact; 0: 1e-3 of the speed scale
    double at_rest;   // m/s, least stiction tolerance; 0: 1e-8 of the speed scale
} sprag_sweeps_options;

// Starts from the forces that the problem expects (guess). Motors that are expected to be within
// their bounds hold; where they do not, up to two further solves follow (stats count all). Sets
// velocities and forces of the solution; stats: sweeps, residual (the last change), stiction
// tolerances. SPRAG_OK, however large the residual; SPRAG_NOT_CONVERGED if a value is not finite;
// SPRAG_NO_MEMORY.
sprag_result sprag_sweeps_solve(const sprag_problem *problem, const sprag_sweeps_options *options,
                                sprag_scratch *scratch, sprag_solution *solution,
                                sprag_stats *stats);

#endif
