// One step by method=advance or method=ess.
#ifndef SPRAG_FRAME_METHODS_H
#define SPRAG_FRAME_METHODS_H

#include "world.h"

// All islands of a world. false: no memory.
bool step_frame(const step_context *context, const ode_islands *islands);

#endif
