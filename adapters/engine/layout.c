// ODE's private structs: the head of dxWorld, the moved callback of dxBody, the contact of
// dxJointContact, and the virtual functions getInfo1 and getInfo2 of dxJoint.
#include "layout.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

// Offsets in bytes, of ODE 0.16 in double precision.
enum { MOVED_CALLBACK_OFFSET = 704, CONTACT_OFFSET = 168 };

static atomic_bool world_head_known, moved_callback_known;

void sprag_ode_set_known_layout(bool world_head, bool moved_callback)
{
    world_head_known = world_head;
    moved_callback_known = moved_callback;
}

bool sprag_ode_uses_default_threads(dWorldID world)
{
    return !atomic_load_explicit(&world_head_known, memory_order_relaxed) ||
           !sprag_ode_world_head(world)->functions;
}

void (*sprag_ode_moved_callback(dBodyID body))(dBodyID)
{
    void (*callback)(dBodyID);
    memcpy(&callback, (const char *)(const void *)body + MOVED_CALLBACK_OFFSET, sizeof callback);
    return callback;
}

bool sprag_ode_calls_back(dBodyID body)
{
    return !atomic_load_explicit(&moved_callback_known, memory_order_relaxed) ||
           sprag_ode_moved_callback(body);
}

// ---- joints

typedef void count_rows_fn(dJointID, ode_row_count *);
typedef void get_rows_fn(dJointID, dReal, dReal, int, dReal *, dReal *, int, dReal *, dReal *,
                         int *);

void *sprag_ode_virtual_function(dJointID joint, int slot)
{
    return (*(void ***)joint)[slot];
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

void sprag_ode_get_rows(dJointID joint, dReal rate, dReal erp, dReal *J1, dReal *J2, dReal *rhs_cfm,
                        dReal *lo_hi, int *findex)
{
    void *get_info2 = sprag_ode_virtual_function(joint, ODE_GET_INFO2);
    ((get_rows_fn *)(intptr_t)get_info2)(joint, rate, erp, 6, J1, J2, 2, rhs_cfm, lo_hi, findex);
}

// sprag reads ODE's own copy: a table in sprag could outlive a joint, or miss one.
const dContact *sprag_ode_contact_of(dJointID joint)
{
    return (const dContact *)(const void *)((const char *)joint + CONTACT_OFFSET);
}

void sprag_ode_joint_bodies(dJointID joint, dBodyID body[2], bool *reversed)
{
    body[0] = dJointGetBody(joint, 0);
    body[1] = dJointGetBody(joint, 1);
    *reversed = !body[0];
    if (*reversed) {
        body[0] = body[1];
        body[1] = NULL;
    }
}
