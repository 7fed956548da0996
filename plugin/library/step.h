// One step of a world by its method.
//
// dWorldStep and dWorldQuickStep are two internal calls each: dxReallocateWorldProcessContext
// disables and enables bodies and finds the islands, dxProcessIslands steps every island. A method
// of sprag makes the first call and replaces the second.
#ifndef SPRAG_STEP_H
#define SPRAG_STEP_H

#include "world.h"

// Steps a world in place of the stepper that the program called. frame: stack frame of the function
// that the program called (__builtin_frame_address(0)). Returns 1 or 0, as dWorldStep does.
int step_world(dWorldID id, dReal step, stock called, const void *frame);

// Steps the islands that ODE has found. false: no memory.
bool step_islands(world_state *world, const ode_islands *islands, dReal step, stock called);

#endif
