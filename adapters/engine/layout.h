// ODE's private structs, as far as sprag reads them. They vary between builds of ODE; the check at
// start-up (check.c) finds where things are, or that they are nowhere that sprag knows.
#ifndef SPRAG_LAYOUT_H
#define SPRAG_LAYOUT_H

#include "family.h"

// dxWorld starts with dxThreadingBase, from 0.13 on.
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

// Virtual functions of dxJoint (Itanium ABI): 0 and 1 are destructors.
enum { ODE_GET_INFO1 = 2, ODE_GET_INFO2 = 3, ODE_SIZE = 6 };
void *sprag_ode_virtual_function(dJointID joint, int slot);

// The part of an object at an offset in bytes.
static inline const void *sprag_ode_at(const void *object, size_t offset)
{
    return (const char *)object + offset;
}

typedef struct ode_layout {
    const ode_family *family;
    size_t surface, geom, direction; // bytes, in dxJointContact
    size_t moved_callback;           // bytes, in dxBody; 0: unknown
    bool world_head;                 // is ode_world_head the head of dxWorld?
    bool shuffles_first; // does dWorldQuickStep shuffle rows before its first iteration?
} ode_layout;

// The layout in use: that of 0.16, until the check has found another.
const ode_layout *sprag_ode_layout(void);
void sprag_ode_set_layout(const ode_layout *layout);

// Writes a surface as the family lays it out. Returns the number of bytes.
size_t sprag_ode_write_surface(const ode_family *family, void *to, const dSurfaceParameters *from);

#endif
