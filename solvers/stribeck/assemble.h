// A contact problem of bodies as a system in the space of bodies.
#ifndef SPRAG_ASSEMBLE_H
#define SPRAG_ASSEMBLE_H

#include "problem.h"
#include "space6.h"

// Sets *system from the problem. softness, row_softness: least yield of contacts and rows, relative
// to their inverse mass; contacts of bodies that are small compared with their fall in a step get
// less. change: m/s, largest change of a free velocity in the step. *node_of: bodies, the node of
// each body, SPRAG_NOWHERE for kinematic ones. SPRAG_NO_MEMORY.
sprag_result sprag_assemble(sprag_system *system, const sprag_problem *problem, double change,
                            double softness, double row_softness, sprag_scratch *scratch,
                            int **node_of);

// Effective stiffness (N/m) and damping (N s/m) of the contact normals: least and largest of all
// contacts between bodies that can move; 0 without such a contact.
void sprag_effective_stiffness(const sprag_system *system, const sprag_problem *problem,
                               double stiffness[2], double damping[2]);

#endif
