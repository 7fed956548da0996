// Derivatives of a step of a world (sprag_world_linearize).
#ifndef SPRAG_LINEARIZE_H
#define SPRAG_LINEARIZE_H

#include "world.h"

// sprag_world_linearize of a world that has a state. NULL, or a message: the reason why there
// are no derivatives.
const char *linearize(world_state *world, dReal step, const dBodyID *body, int bodies, double *A,
                      double *B);

#endif
