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

// A pointer there.
static inline void *sprag_ode_pointer_at(const void *object, size_t offset)
{
    return *(void *const *)sprag_ode_at(object, offset);
}

typedef struct ode_layout {
    const ode_family *family;
    size_t surface, geom, direction; // bytes, in dxJointContact
    size_t body[2], feedback;        // bytes, in dxJoint; its dJointFeedback
    const void *contact_functions;   // the virtual functions of dxJointContact
    size_t moved_callback;           // bytes, in dxBody; 0: unknown
    size_t axis;                     // bytes, in dxJointHinge, of sprag_ode_axis_in_world
    bool world_head;                 // is ode_world_head the head of dxWorld?
    bool shuffles_first; // does dWorldQuickStep shuffle rows before its first iteration?
} ode_layout;

// The layout in use: that of 0.16, until the check has found another.
const ode_layout *sprag_ode_layout(void);
void sprag_ode_set_layout(const ode_layout *layout);

// ---- joints, read in place

// The place of a joint's pointer to its dJointFeedback.
static inline dJointFeedback **sprag_ode_feedback_of(const ode_layout *layout, dJointID joint)
{
    return (dJointFeedback **)((uintptr_t)joint + layout->feedback);
}

// All of a contact joint that does not take a call.
typedef struct ode_contact_view {
    dJointID joint;
    const dContactGeom *geom;
    const dSurfaceParameters *surface;
    dBodyID body[2]; // of sprag_ode_joint_bodies
    bool reversed;
    const double (*like)[3]; // axes that follow from their normal alone; NULL: none are known
    dSurfaceParameters room; // of sprag_ode_contact_surface
} ode_contact_view;

static inline bool sprag_ode_is_contact(const ode_layout *layout, dJointID joint)
{
    return sprag_ode_pointer_at(joint, 0) == layout->contact_functions;
}

static inline void sprag_ode_view_contact(const ode_layout *layout, dJointID joint,
                                          ode_contact_view *view)
{
    view->joint = joint;
    view->geom = sprag_ode_at(joint, layout->geom);
    view->surface = layout->family->of_12 ? sprag_ode_contact_surface(joint, &view->room)
                                          : sprag_ode_at(joint, layout->surface);
    view->body[0] = sprag_ode_pointer_at(joint, layout->body[0]);
    view->body[1] = sprag_ode_pointer_at(joint, layout->body[1]);
    view->like = NULL;
    view->reversed = !view->body[1] && !dJointGetBody(joint, 0);
}

// Writes a surface as the family lays it out. Returns the number of bytes.
size_t sprag_ode_write_surface(const ode_family *family, void *to, const dSurfaceParameters *from);

#endif
