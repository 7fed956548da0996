// A contact problem of bodies as a system in the space of bodies.
#ifndef SPRAG_ASSEMBLE_H
#define SPRAG_ASSEMBLE_H

#include "problem.h"
#include "softness.h"
#include "space6.h"
#include "stribeck.h"

// Sets *system from the problem. *node_of: bodies, the node of each body, SPRAG_NOWHERE for
// kinematic ones. SPRAG_NO_MEMORY.
sprag_result sprag_assemble(sprag_system *system, const sprag_problem *problem,
                            const sprag_softness *softness, sprag_scratch *scratch, int **node_of);

// Effective stiffness (N/m) and damping (N s/m) of the contact normals: least and largest of all
// contacts between bodies that can move; 0 without such a contact.
void sprag_effective_stiffness(const sprag_system *system, const sprag_problem *problem,
                               double stiffness[2], double damping[2]);

// Writes velocities v (size of the system, m/s, rad/s) and the impulses of the system as a
// solution.
void sprag_assemble_solution(const sprag_system *system, const sprag_problem *problem,
                             const int *node_of, const double *v, sprag_solution *solution);

// The system of a problem as sprag_stribeck_solve makes it from the options (stribeck.c).
// *stiction: m/s, that the last evaluation of a solve has. SPRAG_OK, SPRAG_NO_MEMORY.
sprag_result sprag_stribeck_system(const sprag_problem *problem,
                                   const sprag_stribeck_options *options, sprag_scratch *scratch,
                                   sprag_system *system, int **node_of, double *stiction);

#endif
