// Warnings about a step by method=advance or method=ess.
#ifndef SPRAG_FRAME_WARN_H
#define SPRAG_FRAME_WARN_H

#include "frame_step.h"
#include "world.h"

// To be called before the step is added to the world's statistics.
void warn_of_frame(world_state *w, const ode_advance *step);

// sprag has seen no collision call, so the step takes its contacts as they are.
void warn_of_no_collision_call(world_state *w);

#endif
