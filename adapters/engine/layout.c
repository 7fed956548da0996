// ODE's private structs: the head of dxWorld, the moved callback of dxBody, the contact of
// dxJointContact, and the virtual functions getInfo1 and getInfo2 of dxJoint.
#include "layout.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

// Places in the structs of ODE 0.16 in double precision, bytes.
enum {
    BODY = 64,
    OTHER_BODY = 88,
    FEEDBACK = 104,
    SURFACE = 168,
    GEOM = SURFACE + sizeof(dSurfaceParameters),
    DIRECTION = GEOM + sizeof(dContactGeom)
};

static ode_layout slot[2] = {{.family = sprag_ode_families,
                              .surface = SURFACE,
                              .geom = GEOM,
                              .direction = DIRECTION,
                              .body = {BODY, OTHER_BODY},
                              .feedback = FEEDBACK}};
static _Atomic(const ode_layout *) in_use = slot;

const ode_layout *sprag_ode_layout(void)
{
    return atomic_load_explicit(&in_use, memory_order_acquire);
}

// The check of one runtime at a time writes here.
void sprag_ode_set_layout(const ode_layout *layout)
{
    ode_layout *other = sprag_ode_layout() == slot ? slot + 1 : slot;
    *other = *layout;
    atomic_store_explicit(&in_use, other, memory_order_release);
}

// ---- contacts

// dSurfaceParameters of 0.12 lacks the fields from rho to rhoN.
enum {
    ROLLING = offsetof(dSurfaceParameters, rho),
    AFTER_ROLLING = offsetof(dSurfaceParameters, bounce),
    REST = sizeof(dSurfaceParameters) - AFTER_ROLLING
};

size_t sprag_ode_write_surface(const ode_family *family, void *to, const dSurfaceParameters *from)
{
    size_t rest = family->of_12 ? ROLLING : AFTER_ROLLING;
    memcpy(to, from, rest);
    memcpy((char *)to + rest, (const char *)from + AFTER_ROLLING, REST);
    return rest + REST;
}

// sprag reads ODE's own copy: a table in sprag could outlive a joint, or miss one.
const dSurfaceParameters *sprag_ode_contact_surface(dJointID joint, dSurfaceParameters *room)
{
    const ode_layout *layout = sprag_ode_layout();
    const void *surface = sprag_ode_at(joint, layout->surface);
    if (!layout->family->of_12) {
        return surface;
    }
    memset(room, 0, sizeof *room);
    memcpy(room, surface, ROLLING);
    memcpy(&room->bounce, sprag_ode_at(surface, ROLLING), REST);
    room->mode &= ~dContactRolling;
    return room;
}

const dContactGeom *sprag_ode_contact_geom(dJointID joint)
{
    return sprag_ode_at(joint, sprag_ode_layout()->geom);
}

const dReal *sprag_ode_contact_direction(dJointID joint)
{
    return sprag_ode_at(joint, sprag_ode_layout()->direction);
}

// ---- worlds and bodies

bool sprag_ode_uses_default_threads(dWorldID world)
{
    return !sprag_ode_layout()->world_head || !sprag_ode_world_head(world)->functions;
}

bool sprag_ode_calls_back(dBodyID body)
{
    void (*callback)(dBodyID);
    size_t at = sprag_ode_layout()->moved_callback;
    if (at) {
        memcpy(&callback, sprag_ode_at(body, at), sizeof callback);
    }
    return !at || callback;
}

bool sprag_ode_any_calls_back(dBodyID const *body, int bodies)
{
    bool any = false;
    for (int i = 0; i < bodies && !any; i++) {
        any = sprag_ode_calls_back(body[i]);
    }
    return any;
}

// From 0.14 on, dWorldQuickStep starts with the rows in the order of their joints.
int sprag_ode_shuffles(int iterations)
{
    enum { SHUFFLE_EVERY = 8 };
    return sprag_ode_layout()->shuffles_first ? (iterations + SHUFFLE_EVERY - 1) / SHUFFLE_EVERY
                                              : (iterations - 1) / SHUFFLE_EVERY;
}

// ---- joints

int sprag_ode_parameter(int parameter)
{
    enum { MORE = dParamFMax - dParamLoVel }; // that 0.12 lacks
    return parameter >= dParamFMax && sprag_ode_layout()->family->of_12 ? parameter - MORE
                                                                        : parameter;
}

const dReal *sprag_ode_axis_in_world(dJointID hinge)
{
    const size_t at = sprag_ode_layout()->axis;
    return at ? sprag_ode_at(hinge, at) : NULL;
}

typedef void count_rows_fn(dJointID, ode_row_count *);

void *sprag_ode_virtual_function(dJointID joint, int slot_number)
{
    return (*(void ***)joint)[slot_number];
}

ode_row_count sprag_ode_count_rows(dJointID joint)
{
    ode_row_count count = {0, 0};
    void *get_info1 = sprag_ode_virtual_function(joint, ODE_GET_INFO1);
    ((count_rows_fn *)(intptr_t)get_info1)(joint, &count);
    return count;
}

bool sprag_ode_joint_acts(dJointID joint)
{
    return dJointIsEnabled(joint) && (dJointGetBody(joint, 0) || dJointGetBody(joint, 1));
}

void sprag_ode_get_rows(dJointID joint, dReal rate, dReal erp, const ode_rows *rows)
{
    void *get_info2 = sprag_ode_virtual_function(joint, ODE_GET_INFO2);
    sprag_ode_layout()->family->get_rows((opaque_fn *)(intptr_t)get_info2, joint, rate, erp, rows);
}

void sprag_ode_joint_bodies(dJointID joint, dBodyID body[2], bool *reversed)
{
    const ode_layout *layout = sprag_ode_layout();
    body[0] = sprag_ode_pointer_at(joint, layout->body[0]);
    body[1] = sprag_ode_pointer_at(joint, layout->body[1]);
    *reversed = !body[1] && !dJointGetBody(joint, 0);
}
