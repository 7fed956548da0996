// The ODE functions that we stand in for. LD_PRELOAD, or linking before -lode, makes the program's
// calls arrive here; in the archive (SPRAG_WRAP) the linker's --wrap does.
#include "collide.h"

#ifdef SPRAG_WRAP
#define INTERPOSE(name) __wrap_##name
#else
#define INTERPOSE(name) name
#endif

SPRAG_API int INTERPOSE(dWorldStep)(dWorldID world, dReal step);
SPRAG_API int INTERPOSE(dWorldQuickStep)(dWorldID world, dReal step);
SPRAG_API void INTERPOSE(dWorldDestroy)(dWorldID world);
SPRAG_API int INTERPOSE(dCollide)(dGeomID a, dGeomID b, int flags, dContactGeom *contact, int skip);
SPRAG_API void INTERPOSE(dSpaceCollide)(dSpaceID space, void *data, dNearCallback *callback);
SPRAG_API void INTERPOSE(dSpaceCollide2)(dGeomID a, dGeomID b, void *data, dNearCallback *callback);
SPRAG_API void INTERPOSE(dSetColliderOverride)(int i, int j, dColliderFn *collider);
SPRAG_API void INTERPOSE(dGeomDestroy)(dGeomID geom);
SPRAG_API void INTERPOSE(dSpaceDestroy)(dSpaceID space);
SPRAG_API void INTERPOSE(dBodyDestroy)(dBodyID body);
SPRAG_API void INTERPOSE(dJointDestroy)(dJointID joint);
SPRAG_API void INTERPOSE(dJointGroupEmpty)(dJointGroupID group);
SPRAG_API void INTERPOSE(dJointGroupDestroy)(dJointGroupID group);

// A call that is meant for another ODE than the one that we serve goes there.
// NOLINTBEGIN(bugprone-macro-parentheses): arguments is a list in parentheses
#define REDIRECT(object, function, symbol, arguments)                                              \
    do {                                                                                           \
        void *other = sprag_ode_runtime_redirect(object, __builtin_return_address(0), symbol);     \
        if (other) {                                                                               \
            return ((__typeof__(&function))(intptr_t)say_other(other))arguments;                   \
        }                                                                                          \
    } while (0)
// NOLINTEND(bugprone-macro-parentheses)
#define REDIRECT_CALL(object, function, ...) REDIRECT(object, function, #function, (__VA_ARGS__))

static void *say_other(void *function)
{
    report_once("sprag: the program has two ODEs; the one that came second is left to itself.");
    return function;
}

// Stock's steppers call dxProcessIslands too: what arrives there from under one of our own calls is
// stock's.
static _Thread_local int depth;

static int step_from(dWorldID world, dReal step, stock called, const void *frame)
{
    depth++;
    int done = step_world(world, step, called, frame);
    depth--;
    return done;
}

int INTERPOSE(dWorldStep)(dWorldID world, dReal step)
{
    REDIRECT_CALL(world, dWorldStep, world, step);
    return step_from(world, step, STOCK_STEP, __builtin_frame_address(0));
}

int INTERPOSE(dWorldQuickStep)(dWorldID world, dReal step)
{
    REDIRECT_CALL(world, dWorldQuickStep, world, step);
    return step_from(world, step, STOCK_QUICK, __builtin_frame_address(0));
}

void INTERPOSE(dWorldDestroy)(dWorldID world)
{
    REDIRECT_CALL(world, dWorldDestroy, world);
    world_forget(world);
    sprag_ode_world_destroy(world);
}

// ---- collision

int INTERPOSE(dCollide)(dGeomID a, dGeomID b, int flags, dContactGeom *contact, int skip)
{
    REDIRECT_CALL(a, dCollide, a, b, flags, contact, skip);
    return collide_geoms(a, b, flags, contact, skip);
}

void INTERPOSE(dSpaceCollide)(dSpaceID space, void *data, dNearCallback *callback)
{
    REDIRECT_CALL(space, dSpaceCollide, space, data, callback);
    collide_space(space, data, callback);
}

void INTERPOSE(dSpaceCollide2)(dGeomID a, dGeomID b, void *data, dNearCallback *callback)
{
    REDIRECT_CALL(a, dSpaceCollide2, a, b, data, callback);
    collide_two(a, b, data, callback);
}

void INTERPOSE(dSetColliderOverride)(int i, int j, dColliderFn *collider)
{
    REDIRECT_CALL(NULL, dSetColliderOverride, i, j, collider);
    sprag_ode_override_collider(i, j, collider);
}

void INTERPOSE(dGeomDestroy)(dGeomID geom)
{
    REDIRECT_CALL(geom, dGeomDestroy, geom);
    collide_destroy(DOOMED_GEOM, geom);
}

void INTERPOSE(dSpaceDestroy)(dSpaceID space)
{
    REDIRECT_CALL(space, dSpaceDestroy, space);
    collide_destroy(DOOMED_SPACE, space);
}

void INTERPOSE(dBodyDestroy)(dBodyID body)
{
    REDIRECT_CALL(body, dBodyDestroy, body);
    collide_destroy(DOOMED_BODY, body);
}

void INTERPOSE(dJointDestroy)(dJointID joint)
{
    REDIRECT_CALL(joint, dJointDestroy, joint);
    collide_destroy(DOOMED_JOINT, joint);
}

void INTERPOSE(dJointGroupEmpty)(dJointGroupID group)
{
    REDIRECT_CALL(NULL, dJointGroupEmpty, group);
    collide_destroy(DOOMED_GROUP_EMPTY, group);
}

void INTERPOSE(dJointGroupDestroy)(dJointGroupID group)
{
    REDIRECT_CALL(NULL, dJointGroupDestroy, group);
    collide_destroy(DOOMED_GROUP, group);
}

// ---- ODE's own handle

#ifndef SPRAG_WRAP
// Programs that took dWorldStep by dlsym from ODE's own handle, as Python's ctypes does, meet us
// only here: ODE has found the islands already.
#define PROCESS_ISLANDS                                                                            \
    "_Z16dxProcessIslandsP7dxWorldRK25dxWorldProcessIslandsInfodPFvPK30"                           \
    "dxStepperProcessingCallContextEPFj"

SPRAG_API bool process_islands(dWorldID world, const ode_islands *islands, dReal step,
                               void *stepper, void *max_calls) __asm__(PROCESS_ISLANDS "jjE");
// As 0.16.6 calls it.
SPRAG_API bool process_islands_3(dWorldID world, const ode_islands *islands, dReal step,
                                 void *stepper, void *max_calls) __asm__(PROCESS_ISLANDS "jjjE");

static bool process(dWorldID world, const ode_islands *islands, dReal step, void *stepper,
                    void *max_calls)
{
    world_state *w = depth ? NULL : world_find_or_make(world);
    stock called = sprag_ode_is_quick_stepper(stepper) ? STOCK_QUICK : STOCK_STEP;
    if (w && w->settings.method->forced && w->settings.method->stepper != called) {
        report_once(
            "sprag: the program calls ODE's stepper where only its islands can be taken over; "
            "method=%s cannot be met and is left aside.",
            w->settings.method->name);
    }
    if (!w || !w->settings.method->ours || !method_is_possible()) {
        return sprag_ode_process_islands(world, islands, step, stepper, max_calls);
    }
    return step_islands(w, islands, step, called);
}

static bool process_from(dWorldID world, const ode_islands *islands, dReal step, void *stepper,
                         void *max_calls, const void *frame)
{
    collide_step outer;
    if (!collide_begin_step(&outer, frame)) {
        return false;
    }
    bool done = process(world, islands, step, stepper, max_calls);
    collide_end_step(&outer, depth ? NULL : world);
    return done;
}

bool process_islands(dWorldID world, const ode_islands *islands, dReal step, void *stepper,
                     void *max_calls)
{
    REDIRECT(world, process_islands, PROCESS_ISLANDS "jjE",
             (world, islands, step, stepper, max_calls));
    return process_from(world, islands, step, stepper, max_calls, __builtin_frame_address(0));
}

bool process_islands_3(dWorldID world, const ode_islands *islands, dReal step, void *stepper,
                       void *max_calls)
{
    REDIRECT(world, process_islands_3, PROCESS_ISLANDS "jjjE",
             (world, islands, step, stepper, max_calls));
    return process_from(world, islands, step, stepper, max_calls, __builtin_frame_address(0));
}
#endif
