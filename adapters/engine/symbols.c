// Functions of the running ODE by their names in its symbol table (symbols.h). No name need exist:
// with an ODE that lacks one, sprag still loads and passes every call on.
#include "symbols.h"

#include <stdint.h>

typedef dGeomID listed_geom_fn(dSpaceID, int);
typedef dReal height_fn(dHeightfieldDataID, int, int);
typedef int world_step_fn(dWorldID, dReal);
typedef void world_fn(dWorldID);
typedef int collide_fn(dGeomID, dGeomID, int, dContactGeom *, int);
typedef void space_collide_fn(dSpaceID, void *, dNearCallback *);
typedef void space_collide2_fn(dGeomID, dGeomID, void *, dNearCallback *);
typedef void geom_fn(dGeomID);
typedef void space_fn(dSpaceID);
typedef void body_fn(dBodyID);
typedef void joint_fn(dJointID);
typedef void group_fn(dJointGroupID);
typedef void message_fn(int, const char *, ...);

// REAL_SYMBOL(type, name, symbol) defines sprag_real_name, OWN_SYMBOL the same for this file alone.
#ifdef SPRAG_WRAP // libsprag.a: __real_ is the linker's name for a function that it was told to
                  // --wrap
#define WEAK(symbol) __asm__(symbol) __attribute__((weak))
#define FIND_SYMBOL(linkage, type, name, symbol)                                                   \
    extern type wrapped_##name WEAK("__real_" symbol);                                             \
    extern type plain_##name WEAK(symbol);                                                         \
    linkage type *sprag_real_##name(void)                                                          \
    {                                                                                              \
        return wrapped_##name ? wrapped_##name : plain_##name;                                     \
    }
#else // libsprag.so, preloaded or linked before ODE
#define FIND_SYMBOL(linkage, type, name, symbol)                                                   \
    linkage type *sprag_real_##name(void)                                                          \
    {                                                                                              \
        static _Atomic(void *) found;                                                              \
        static _Atomic(unsigned) runtime; /* that it was found in */                               \
        if (runtime != sprag_ode_runtime_number()) {                                               \
            found = sprag_ode_runtime_symbol(symbol);                                              \
            runtime = sprag_ode_runtime_number();                                                  \
        }                                                                                          \
        return (type *)(intptr_t)found;                                                            \
    }
#endif
#define REAL_SYMBOL(type, name, symbol) FIND_SYMBOL(, type, name, symbol)
#define OWN_SYMBOL(type, name, symbol) FIND_SYMBOL(static, type, name, symbol)

#define PROCESS_ISLANDS                                                                            \
    "_Z16dxProcessIslandsP7dxWorldRK25dxWorldProcessIslandsInfodPFvPK30"                           \
    "dxStepperProcessingCallContextEPFj"

REAL_SYMBOL(reallocate_fn, reallocate,
            "_Z31dxReallocateWorldProcessContextP7dxWorldR25dxWorldProcessIslandsInfodPFmPKP6dxBody"
            "jPKP7dxJointjE")
OWN_SYMBOL(process_fn, process_2, PROCESS_ISLANDS "jjE")
OWN_SYMBOL(process_fn, process_3, PROCESS_ISLANDS "jjjE") // of 0.16.6
REAL_SYMBOL(step_body_fn, step_body, "_Z10dxStepBodyP6dxBodyd")
REAL_SYMBOL(opaque_fn, step_island, "_Z12dxStepIslandPK30dxStepperProcessingCallContext")
REAL_SYMBOL(opaque_fn, quick_island, "_Z17dxQuickStepIslandPK30dxStepperProcessingCallContext")
REAL_SYMBOL(estimate_fn, step_memory, "_Z32dxEstimateStepMemoryRequirementsPKP6dxBodyjPKP7dxJointj")
REAL_SYMBOL(estimate_fn, quick_memory,
            "_Z37dxEstimateQuickStepMemoryRequirementsPKP6dxBodyjPKP7dxJointj")
OWN_SYMBOL(opaque_fn, step_calls_2, "_Z26dxEstimateStepMaxCallCountjj")
OWN_SYMBOL(opaque_fn, step_calls_3, "_Z26dxEstimateStepMaxCallCountjjj")
OWN_SYMBOL(opaque_fn, quick_calls_2, "_Z31dxEstimateQuickStepMaxCallCountjj")
OWN_SYMBOL(opaque_fn, quick_calls_3, "_Z31dxEstimateQuickStepMaxCallCountjjj")
REAL_SYMBOL(count_fn, contact_count, "_ZN14dxJointContact8getInfo1EPN7dxJoint5Info1E")
REAL_SYMBOL(rows_fn, contact_rows, "_ZN14dxJointContact8getInfo2EddiPdS0_iS0_S0_Pi")
REAL_SYMBOL(count_fn, ball_count, "_ZN11dxJointBall8getInfo1EPN7dxJoint5Info1E")
REAL_SYMBOL(rows_fn, ball_rows, "_ZN11dxJointBall8getInfo2EddiPdS0_iS0_S0_Pi")
OWN_SYMBOL(listed_geom_fn, listed_geom, "_ZN7dxSpace7getGeomEi")
OWN_SYMBOL(height_fn, height, "_ZN17dxHeightfieldData9GetHeightEii")

// Either of a pair of names: dxProcessIslands and the estimates take one argument more from 0.16.6
// on.
process_fn *sprag_real_process_islands(void)
{
    return sprag_real_process_2() ? sprag_real_process_2() : sprag_real_process_3();
}

opaque_fn *sprag_real_step_calls(void)
{
    return sprag_real_process_2() ? sprag_real_step_calls_2() : sprag_real_step_calls_3();
}

opaque_fn *sprag_real_quick_calls(void)
{
    return sprag_real_process_2() ? sprag_real_quick_calls_2() : sprag_real_quick_calls_3();
}

OWN_SYMBOL(world_step_fn, world_step, "dWorldStep")
OWN_SYMBOL(world_step_fn, quick_step, "dWorldQuickStep")
OWN_SYMBOL(world_fn, world_destroy, "dWorldDestroy")

OWN_SYMBOL(message_fn, message, "dMessage")
REAL_SYMBOL(configuration_fn, is_configured, "dCheckConfiguration")
OWN_SYMBOL(collide_fn, collide, "dCollide")
OWN_SYMBOL(space_collide_fn, space_collide, "dSpaceCollide")
OWN_SYMBOL(space_collide2_fn, space_collide2, "dSpaceCollide2")
REAL_SYMBOL(override_fn, override, "dSetColliderOverride")
OWN_SYMBOL(geom_fn, geom_destroy, "dGeomDestroy")
OWN_SYMBOL(space_fn, space_destroy, "dSpaceDestroy")
OWN_SYMBOL(body_fn, body_destroy, "dBodyDestroy")
OWN_SYMBOL(joint_fn, joint_destroy, "dJointDestroy")
OWN_SYMBOL(group_fn, group_empty, "dJointGroupEmpty")
OWN_SYMBOL(group_fn, group_destroy, "dJointGroupDestroy")

REAL_SYMBOL(world_create_fn, world_create, "dWorldCreate")
REAL_SYMBOL(body_create_fn, body_create, "dBodyCreate")
REAL_SYMBOL(contact_create_fn, contact_create, "dJointCreateContact")
REAL_SYMBOL(set_moved_fn, set_moved_callback, "dBodySetMovedCallback")
REAL_SYMBOL(joint_create_fn, ball_create, "dJointCreateBall")

int sprag_ode_world_step(dWorldID world, dReal step, bool quick)
{
    return quick ? sprag_real_quick_step()(world, step) : sprag_real_world_step()(world, step);
}

void sprag_ode_world_destroy(dWorldID world)
{
    sprag_real_world_destroy()(world);
}

void sprag_ode_message(const char *text)
{
    sprag_real_message()(0, "%s", text);
}

int sprag_ode_collide(dGeomID a, dGeomID b, int flags, dContactGeom *contact, int skip)
{
    return sprag_real_collide()(a, b, flags, contact, skip);
}

void sprag_ode_space_collide(dSpaceID space, void *data, dNearCallback *callback)
{
    sprag_real_space_collide()(space, data, callback);
}

void sprag_ode_space_collide2(dGeomID a, dGeomID b, void *data, dNearCallback *callback)
{
    sprag_real_space_collide2()(a, b, data, callback);
}

void sprag_ode_geom_destroy(dGeomID geom)
{
    sprag_real_geom_destroy()(geom);
}

void sprag_ode_space_destroy(dSpaceID space)
{
    sprag_real_space_destroy()(space);
}

void sprag_ode_body_destroy(dBodyID body)
{
    sprag_real_body_destroy()(body);
}

void sprag_ode_joint_destroy(dJointID joint)
{
    sprag_real_joint_destroy()(joint);
}

void sprag_ode_joint_group_empty(dJointGroupID group)
{
    sprag_real_group_empty()(group);
}

void sprag_ode_joint_group_destroy(dJointGroupID group)
{
    sprag_real_group_destroy()(group);
}

dGeomID sprag_ode_listed_geom(dSpaceID space, int index)
{
    return sprag_real_listed_geom() ? sprag_real_listed_geom()(space, index) : NULL;
}

bool sprag_ode_has_heights(void)
{
    return sprag_real_height();
}

dReal sprag_ode_height(dHeightfieldDataID data, int x, int z)
{
    return sprag_real_height()(data, x, z);
}

const char *sprag_real_missing(void)
{
#define NEED(function, name)                                                                       \
    {                                                                                              \
        (void *)(intptr_t)(function), name                                                         \
    }
    const struct {
        const void *address;
        const char *name;
    } needed[] = {
        NEED(sprag_real_world_step(), "dWorldStep"),
        NEED(sprag_real_quick_step(), "dWorldQuickStep"),
        NEED(sprag_real_world_destroy(), "dWorldDestroy"),
        NEED(sprag_real_process_islands(), "dxProcessIslands"),
        NEED(sprag_real_reallocate(), "dxReallocateWorldProcessContext"),
        NEED(sprag_real_step_body(), "dxStepBody"),
        NEED(sprag_real_step_island(), "dxStepIsland"),
        NEED(sprag_real_quick_island(), "dxQuickStepIsland"),
        NEED(sprag_real_step_memory(), "dxEstimateStepMemoryRequirements"),
        NEED(sprag_real_quick_memory(), "dxEstimateQuickStepMemoryRequirements"),
        NEED(sprag_real_step_calls(), "dxEstimateStepMaxCallCount"),
        NEED(sprag_real_quick_calls(), "dxEstimateQuickStepMaxCallCount"),
        NEED(sprag_real_contact_count(), "dxJointContact::getInfo1"),
        NEED(sprag_real_contact_rows(), "dxJointContact::getInfo2"),
        NEED(sprag_real_ball_count(), "dxJointBall::getInfo1"),
        NEED(sprag_real_ball_rows(), "dxJointBall::getInfo2"),
    };
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (!needed[i].address) {
            return needed[i].name;
        }
    }
    return sprag_ode_runtime_missing();
}
