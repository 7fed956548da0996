// One step by method=advance or method=ess.
#ifndef SPRAG_FRAME_METHODS_H
#define SPRAG_FRAME_METHODS_H

#include "world.h"

// sprag_ode_begin_step, for a step that may be taken by step_frame.
void begin_frame(world_state *world, stock called);

// All islands of a world. false: no memory.
bool step_frame(const step_context *context, const ode_islands *islands);

// sprag_world_linearize under method=ess, of the bodies of `islands`, in the order of `body`.
// NULL, or the reason why there are no derivatives.
const char *linearize_frame(const step_context *context, const ode_islands *islands,
                            const dBodyID *body, int bodies, double *A, double *B);

#endif
