// Functions of the running ODE by their names in its symbol table (symbols.h). No name need exist:
// with an ODE that lacks one, sprag still loads and passes every call on.
#include "symbols.h"

#include <stdint.h>

typedef dGeomID listed_geom_fn(dSpaceID, int);
typedef int world_step_fn(dWorldID, dReal);
typedef int collide_fn(dGeomID, dGeomID, int, dContactGeom *, int);
typedef void space_collide_fn(dSpaceID, void *, dNearCallback *);
typedef void space_collide2_fn(dGeomID, dGeomID, void *, dNearCallback *);
typedef void geom_fn(dGeomID);
typedef void space_fn(dSpaceID);
typedef void body_fn(dBodyID);
typedef void joint_fn(dJointID);
typedef void group_fn(dJointGroupID);
typedef void message_fn(int, const char *, ...);
typedef dReal joint_param_fn(dJointID, int);
typedef void joint_anchor_fn(dJointID, dVector3);

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

#define PROCESS_ISLANDS "_Z16dxProcessIslandsP7dxWorldRK25dxWorldProcessIslandsInfodPFvP"
#define IN_CALLS PROCESS_ISLANDS "K30dxStepperProcessingCallContextEPFj"
#define OF_ISLAND "P22dxWorldProcessMemArenaP7dxWorldPKP6dxBodyjPKP7dxJointjd"
#define IN_PAIRS "8getInfo2EddiPdS0_iS0_S0_Pi"
#define IN_ARRAYS "8getInfo2EddPKN7dxJoint10Info2DescrE"
#define IN_STRUCT "8getInfo2EPN7dxJoint5Info2E"

REAL_SYMBOL(reallocate_fn, reallocate,
            "_Z31dxReallocateWorldProcessContextP7dxWorldR25dxWorldProcessIslandsInfodPFmPKP6dxBody"
            "jPKP7dxJointjE")
OWN_SYMBOL(process_fn, process_2, IN_CALLS "jjE")
OWN_SYMBOL(process_fn, process_3, IN_CALLS "jjjE") // of 0.16.6
REAL_SYMBOL(process_in_arena_fn, process_in_arena,
            PROCESS_ISLANDS "22dxWorldProcessMemArenaS0_PKP6dxBodyjPKP7dxJointjdE")
REAL_SYMBOL(world_fn, clean_up, "_Z28dxCleanupWorldProcessContextP7dxWorld")
REAL_SYMBOL(fluid_step_fn, fluid_step, "dFluidDynamicsStep")
REAL_SYMBOL(step_body_fn, step_body, "_Z10dxStepBodyP6dxBodyd")
OWN_SYMBOL(opaque_fn, step_in_calls, "_Z12dxStepIslandPK30dxStepperProcessingCallContext")
OWN_SYMBOL(opaque_fn, quick_in_calls, "_Z17dxQuickStepIslandPK30dxStepperProcessingCallContext")
OWN_SYMBOL(opaque_fn, step_in_arena, "_Z19dInternalStepIsland" OF_ISLAND)
OWN_SYMBOL(opaque_fn, quick_in_arena, "_Z14dxQuickStepper" OF_ISLAND)
REAL_SYMBOL(estimate_fn, step_memory, "_Z32dxEstimateStepMemoryRequirementsPKP6dxBodyjPKP7dxJointj")
REAL_SYMBOL(estimate_fn, quick_memory,
            "_Z37dxEstimateQuickStepMemoryRequirementsPKP6dxBodyjPKP7dxJointj")
OWN_SYMBOL(opaque_fn, step_calls_2, "_Z26dxEstimateStepMaxCallCountjj")
OWN_SYMBOL(opaque_fn, step_calls_3, "_Z26dxEstimateStepMaxCallCountjjj")
OWN_SYMBOL(opaque_fn, quick_calls_2, "_Z31dxEstimateQuickStepMaxCallCountjj")
OWN_SYMBOL(opaque_fn, quick_calls_3, "_Z31dxEstimateQuickStepMaxCallCountjjj")
REAL_SYMBOL(count_fn, contact_count, "_ZN14dxJointContact8getInfo1EPN7dxJoint5Info1E")
REAL_SYMBOL(opaque_fn, contact_rows_in_pairs, "_ZN14dxJointContact" IN_PAIRS)
REAL_SYMBOL(opaque_fn, contact_rows_in_arrays, "_ZN14dxJointContact" IN_ARRAYS)
REAL_SYMBOL(opaque_fn, contact_rows_in_struct, "_ZN14dxJointContact" IN_STRUCT)
REAL_SYMBOL(count_fn, ball_count, "_ZN11dxJointBall8getInfo1EPN7dxJoint5Info1E")
REAL_SYMBOL(opaque_fn, ball_rows_in_pairs, "_ZN11dxJointBall" IN_PAIRS)
REAL_SYMBOL(opaque_fn, ball_rows_in_arrays, "_ZN11dxJointBall" IN_ARRAYS)
REAL_SYMBOL(opaque_fn, ball_rows_in_struct, "_ZN11dxJointBall" IN_STRUCT)
OWN_SYMBOL(listed_geom_fn, listed_geom, "_ZN7dxSpace7getGeomEi")
OWN_SYMBOL(ode_height_fn, height, "_ZN17dxHeightfieldData9GetHeightEii")

// Either of a pair of names. dxProcessIslands and the estimates take one argument more from 0.16.6
// on; the steppers had other names before 0.13.
process_fn *sprag_real_process_islands(void)
{
    return sprag_real_process_2() ? sprag_real_process_2() : sprag_real_process_3();
}

opaque_fn *sprag_real_step_island(void)
{
    return sprag_real_step_in_calls() ? sprag_real_step_in_calls() : sprag_real_step_in_arena();
}

opaque_fn *sprag_real_quick_island(void)
{
    return sprag_real_quick_in_calls() ? sprag_real_quick_in_calls() : sprag_real_quick_in_arena();
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
OWN_SYMBOL(world_fn, world_delete, "_ZN7dxWorldD0Ev")

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

#define CHANGE_MESH(name, parameters, arguments)                                                   \
    OWN_SYMBOL(__typeof__(name), name, #name)                                                      \
    void sprag_ode_##name parameters                                                               \
    {                                                                                              \
        sprag_real_##name() arguments;                                                             \
    }
ODE_MESH_CHANGES(CHANGE_MESH)

REAL_SYMBOL(world_create_fn, world_create, "dWorldCreate")
REAL_SYMBOL(body_create_fn, body_create, "dBodyCreate")
REAL_SYMBOL(contact_create_fn, contact_create, "dJointCreateContact")
REAL_SYMBOL(set_moved_fn, set_moved_callback, "dBodySetMovedCallback")
REAL_SYMBOL(joint_create_fn, ball_create, "dJointCreateBall")

REAL_SYMBOL(self_threaded_fn, self_threaded, "dThreadingAllocateSelfThreadedImplementation")
REAL_SYMBOL(free_threads_fn, free_threads, "dThreadingFreeImplementation")
REAL_SYMBOL(functions_of_threads_fn, functions_of_threads, "dThreadingImplementationGetFunctions")
REAL_SYMBOL(set_threads_fn, set_threads, "dWorldSetStepThreadingImplementation")
REAL_SYMBOL(island_threads_fn, island_threads, "dWorldGetStepIslandsProcessingMaxThreadCount")
REAL_SYMBOL(set_island_threads_fn, set_island_threads,
            "dWorldSetStepIslandsProcessingMaxThreadCount")

// The last three came with 0.13.
#define JOINT_TYPES(JOINT)                                                                         \
    JOINT(Ball)                                                                                    \
    JOINT(Hinge)                                                                                   \
    JOINT(Slider)                                                                                  \
    JOINT(Universal)                                                                               \
    JOINT(Hinge2)                                                                                  \
    JOINT(Fixed)                                                                                   \
    JOINT(AMotor)                                                                                  \
    JOINT(LMotor)                                                                                  \
    JOINT(Plane2D)                                                                                 \
    JOINT(PR)                                                                                      \
    JOINT(PU)                                                                                      \
    JOINT(Piston)                                                                                  \
    JOINT(DBall)                                                                                   \
    JOINT(DHinge)                                                                                  \
    JOINT(Transmission)
#define CREATE_JOINT(name) OWN_SYMBOL(joint_create_fn, create_##name, "dJointCreate" #name)
JOINT_TYPES(CREATE_JOINT)

OWN_SYMBOL(joint_anchor_fn, double_ball_anchor_1, "dJointGetDBallAnchor1")
OWN_SYMBOL(joint_anchor_fn, double_ball_anchor_2, "dJointGetDBallAnchor2")
OWN_SYMBOL(joint_anchor_fn, double_hinge_anchor_1, "dJointGetDHingeAnchor1")
OWN_SYMBOL(joint_anchor_fn, double_hinge_anchor_2, "dJointGetDHingeAnchor2")
OWN_SYMBOL(joint_param_fn, double_ball_param, "dJointGetDBallParam")
OWN_SYMBOL(joint_param_fn, double_hinge_param, "dJointGetDHingeParam")
OWN_SYMBOL(joint_param_fn, transmission_param, "dJointGetTransmissionParam")

dJointID sprag_real_create_joint(int number, dWorldID world, int *type)
{
#define TYPE_OF(name) {sprag_real_create_##name, dJointType##name},
    static const struct {
        joint_create_fn *(*create)(void);
        int type;
    } joint[] = {JOINT_TYPES(TYPE_OF)};
    _Static_assert(sizeof joint / sizeof *joint == ODE_JOINT_TYPES, "one entry a type");
    joint_create_fn *create = joint[number].create();
    *type = joint[number].type;
    return create ? create(world, NULL) : NULL;
}

// Functions that the release before lacked.
OWN_SYMBOL(opaque_fn, of_webots, "dToggleODE_MT")
OWN_SYMBOL(opaque_fn, of_gazebo, "dJointCreateScrew")
OWN_SYMBOL(opaque_fn, of_16, "dResourceContainerAcquire")
OWN_SYMBOL(opaque_fn, of_15, "dGeomTriMeshDataPreprocess2")
OWN_SYMBOL(opaque_fn, of_14, "dJointSetDBallDistance")
OWN_SYMBOL(opaque_fn, of_13, "dJointCreateTransmission")
OWN_SYMBOL(opaque_fn, of_12, "dWorldSetStepMemoryManager")

bool sprag_real_has(ode_mark mark)
{
    static opaque_fn *(*const function[ODE_MARKS])(void) = {
        [ODE_MARK_WEBOTS] = sprag_real_of_webots, [ODE_MARK_GAZEBO] = sprag_real_of_gazebo,
        [ODE_MARK_16] = sprag_real_of_16,         [ODE_MARK_15] = sprag_real_of_15,
        [ODE_MARK_14] = sprag_real_of_14,         [ODE_MARK_13] = sprag_real_of_13,
        [ODE_MARK_12] = sprag_real_of_12,
    };
    return function[mark]();
}

int sprag_ode_world_step(dWorldID world, dReal step, bool quick)
{
    return quick ? sprag_real_quick_step()(world, step) : sprag_real_world_step()(world, step);
}

void sprag_ode_world_destroy(dWorldID world)
{
    sprag_real_world_destroy()(world);
}

void sprag_ode_world_delete(dWorldID world)
{
    sprag_real_world_delete()(world);
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

dReal sprag_ode_own_erp(dJointID joint)
{
    switch (dJointGetType(joint)) {
    case dJointTypeBall:
        return dJointGetBallParam(joint, sprag_ode_parameter(dParamERP));
    case dJointTypeFixed:
        return dJointGetFixedParam(joint, sprag_ode_parameter(dParamERP));
    case dJointTypeDBall:
        return sprag_real_double_ball_param()(joint, sprag_ode_parameter(dParamERP));
    case dJointTypeDHinge:
        return sprag_real_double_hinge_param()(joint, sprag_ode_parameter(dParamERP));
    case dJointTypeTransmission:
        return sprag_real_transmission_param()(joint, sprag_ode_parameter(dParamERP));
    default:
        return 0;
    }
}

dReal sprag_ode_stop_erp(dJointID joint)
{
    const int erp = sprag_ode_parameter(dParamStopERP);
    switch ((int)dJointGetType(joint)) {
    case dJointTypeHinge:
        return dJointGetHingeParam(joint, erp);
    case dJointTypeSlider:
        return dJointGetSliderParam(joint, erp);
    case dJointTypeUniversal:
        return dJointGetUniversalParam(joint, erp);
    case dJointTypeHinge2:
        return dJointGetHinge2Param(joint, erp);
    case dJointTypePR:
        return dJointGetPRParam(joint, erp);
    case dJointTypePU:
        return dJointGetPUParam(joint, sprag_ode_parameter(dParamStopERP3));
    case dJointTypePiston:
        return dJointGetPistonParam(joint, erp);
    default:
        return 0;
    }
}

bool sprag_ode_distance_anchors(dJointID joint, dVector3 anchor[2])
{
    dJointType type = dJointGetType(joint);
    joint_anchor_fn *first = NULL, *second = NULL;
    if (type == dJointTypeDBall) {
        first = sprag_real_double_ball_anchor_1();
        second = sprag_real_double_ball_anchor_2();
    } else if (type == dJointTypeDHinge) {
        first = sprag_real_double_hinge_anchor_1();
        second = sprag_real_double_hinge_anchor_2();
    }
    if (!first || !second) {
        return false;
    }
    bool reversed = !dJointGetBody(joint, 0);
    first(joint, anchor[reversed]);
    second(joint, anchor[!reversed]);
    return true;
}

dGeomID sprag_ode_listed_geom(dSpaceID space, int index)
{
    return sprag_real_listed_geom() ? sprag_real_listed_geom()(space, index) : NULL;
}

ode_height_fn *sprag_ode_height(void)
{
    return sprag_real_height();
}

const char *sprag_first_missing(const sprag_symbol *needed, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!needed[i].address) {
            return needed[i].name;
        }
    }
    return NULL;
}

const char *sprag_real_missing(void)
{
    const sprag_symbol needed[] = {
        SPRAG_SYMBOL(sprag_real_world_step(), "dWorldStep"),
        SPRAG_SYMBOL(sprag_real_quick_step(), "dWorldQuickStep"),
        SPRAG_SYMBOL(sprag_real_world_destroy(), "dWorldDestroy"),
    };
    const char *missing = sprag_first_missing(needed, sizeof needed / sizeof *needed);
    return missing ? missing : sprag_ode_runtime_missing();
}
