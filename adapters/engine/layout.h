// ODE's private structs, as far as sprag reads them. Parts that vary between builds of ODE are
// checked at start-up (check.c), and the flags say with what result.
#ifndef SPRAG_LAYOUT_H
#define SPRAG_LAYOUT_H

#include "ode.h"

// dxWorld starts with dxThreadingBase.
typedef struct ode_world_head {
    const void *virtual_functions, *default_provider;
    const dThreadingFunctionsInfo *functions;  // NULL: ODE's default implementation
    dThreadingImplementationID implementation; // likewise
    dCallWaitID wait; // for a world's steps; NULL: that of a world that shares its memory is used
} ode_world_head;

static inline const ode_world_head *sprag_ode_world_head(dWorldID world)
{
    return (const ode_world_head *)(const void *)world;
}

// Is the world's threading implementation ODE's default? It is one for all worlds, and fails when
// two threads step at once. true also where ODE's layout is another.
bool sprag_ode_uses_default_threads(dWorldID world);

void (*sprag_ode_moved_callback(dBodyID body))(dBodyID);

// Virtual functions of dxJoint (Itanium ABI): 0 and 1 are destructors.
enum { ODE_GET_INFO1 = 2, ODE_GET_INFO2 = 3 };
void *sprag_ode_virtual_function(dJointID joint, int slot);

// The check at start-up sets them: is the head of dxWorld, is a body's moved callback as known?
void sprag_ode_set_known_layout(bool world_head, bool moved_callback);

#endif
