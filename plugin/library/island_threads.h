// All islands of a step by the implicit Stribeck method, in the program's own threads if it has
// given the world any.
#ifndef SPRAG_ISLAND_THREADS_H
#define SPRAG_ISLAND_THREADS_H

#include "world.h"

// Islands that the method cannot solve are stepped by ODE. false: no memory.
bool step_all_islands(const step_context *context, const ode_islands *islands);

#endif
