// One measure of how far velocities and forces are from the equations of a problem, whoever found
// them. It is the natural map of the complementarity problem, local by local (Facchinei, Pang:
// Finite-Dimensional Variational Inequalities and Complementarity Problems, 2003, 1.5.8): each
// contact and each row computes the impulse that its own law asks for, given the velocity that it
// has; the difference to the impulse that it has is its residual. All residuals are speeds:
// an impulse difference dp counts as |dp| sqrt(w / m), w the inverse mass of its direction, m the
// lighter of its bodies; a momentum error e of a body as sqrt(e' M^-1 e / m).
#ifndef SPRAG_RESIDUAL_H
#define SPRAG_RESIDUAL_H

#include "problem.h"
#include "scratch.h"
#include "softness.h"

typedef struct sprag_residual {
    double scale;    // m/s, what the step changes: the fastest change of a body's velocity without
                     // contacts and rows, or a hundredth of the fastest body
    double momentum; // m/s, largest of the bodies
    double normal;   // m/s, largest of the contacts: complementarity with compliance
    double friction; // m/s, largest of the contacts: cone with direction; rolling and spinning
    double row;      // m/s, largest of the rows
    double gap;      // m/s, largest of the contacts: the speed of the lighter body whose kinetic
                     // energy is the duality gap of its laws (local_law.h). Those of all contacts
                     // together bound how far velocities are from the solution where residuals do
                     // not: light bodies under heavy ones may be far from it though every residual
                     // is small
    double mean;     // m/s, root mean square of all
    double relative; // largest, relative to what the step changes there: scale, or what all
                     // impulses on the body (the lighter of two) would change if they did not
                     // cancel. 0 solved, 1 nothing solved
    int body, contact, joint_row;    // where the largest are; -1: nowhere
    double stiffness[2], damping[2]; // N/m, N s/m, effective, of contact normals: least, most; 0:
                                     // no contact
} sprag_residual;

// Measures a solution: velocities (m/s, rad/s) at the end of the step and forces (N, N m) of it.
// Sets the rates of its rows. The problem must have passed sprag_problem_check. soft: of the
// solver; 0: none. scratch: for six numbers a body; without memory, and for values that are not
// finite, the residual is INFINITY.
sprag_residual sprag_problem_residual(const sprag_problem *problem, const sprag_solution *solution,
                                      sprag_shares soft, sprag_scratch *scratch);

#endif
