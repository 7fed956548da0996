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

// For a program whose call of ODE's stepper has come to dxProcessIslands without us: the stock
// step, by the stock parameters of the world's settings; and, before any step, the comparison in
// place.
bool process_by_ode(world_state *world, const ode_islands *islands, dReal step, void *stepper,
                    void *max_calls);
void step_compare(world_state *world, dReal step, stock called);

#endif
