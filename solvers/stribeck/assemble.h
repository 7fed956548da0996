// A contact problem of bodies as a system in the space of bodies.
#ifndef SPRAG_ASSEMBLE_H
#define SPRAG_ASSEMBLE_H

#include "problem.h"
#include "space6.h"

// softness, row_softness: least yield of contacts and rows, relative to their inverse mass; less
// for contacts of bodies that are small beside what they fall in a step. change: m/s, of free
// velocities in a step. *node_of: the node of every body, SPRAG_NOWHERE for kinematic ones.
sprag_result sprag_island_prepare(sprag_system *system, const sprag_problem *problem, double change,
                                  double softness, double row_softness, sprag_scratch *scratch,
                                  int **node_of);

// What the normals of the contacts are in physical terms: least and most of what a force N/m more
// deep, and N s/m faster, they give. Without a contact that anything can move: 0.
void sprag_island_effective(const sprag_system *system, const sprag_problem *problem,
                            double stiffness[2], double damping[2]);

#endif
