// The ODE functions that sprag replaces. The program's calls arrive here through LD_PRELOAD or
// because sprag is linked before -lode; in the archive (SPRAG_WRAP) through the linker's --wrap.
#include <stdint.h>

#include "collide.h"
#include "collide_destroy.h"
#include "message.h"
#include "recorder.h"
#include "step.h"
#include "step_guard.h"

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
#define DECLARE_CHANGE(name, parameters, arguments) SPRAG_API void INTERPOSE(name) parameters;
ODE_MESH_CHANGES(DECLARE_CHANGE)

// A program can have a second ODE, by dlopen. Its calls go to that ODE.
// NOLINTBEGIN(bugprone-macro-parentheses): arguments is a list in parentheses
#define REDIRECT(object, function, symbol, arguments)                                              \
    do {                                                                                           \
        void *other = sprag_ode_runtime_redirect(object, __builtin_return_address(0), symbol);     \
        if (other) {                                                                               \
            return ((__typeof__(&function))(intptr_t)report_second_ode(other))arguments;           \
        }                                                                                          \
    } while (0)
// NOLINTEND(bugprone-macro-parentheses)
#define REDIRECT_CALL(object, function, ...) REDIRECT(object, function, #function, (__VA_ARGS__))

static void *report_second_ode(void *function)
{
    message_once(
        "sprag: the program has loaded two ODE libraries. sprag serves the first one only; "
        "worlds of the second one are stepped by it.");
    return function;
}

// Calls of step_from under way: ODE's steppers call dxProcessIslands too, and these calls belong to
// ODE.
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
    recorder_write();
    collide_destroy(DESTROY_WORLD, world);
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
    recorder_collides((dGeomID)space);
    collide_space(space, data, callback);
}

void INTERPOSE(dSpaceCollide2)(dGeomID a, dGeomID b, void *data, dNearCallback *callback)
{
    REDIRECT_CALL(a, dSpaceCollide2, a, b, data, callback);
    recorder_collides(a);
    recorder_collides(b);
    collide_two(a, b, data, callback);
}

void INTERPOSE(dSetColliderOverride)(int i, int j, dColliderFn *collider)
{
    REDIRECT_CALL(NULL, dSetColliderOverride, i, j, collider);
    sprag_ode_override_collider(i, j, collider);
}

#define CHANGE_MESH(name, parameters, arguments)                                                   \
    void INTERPOSE(name) parameters                                                                \
    {                                                                                              \
        REDIRECT(NULL, name, #name, arguments);                                                    \
        sprag_ode_##name arguments;                                                                \
        sprag_ode_mesh_changed(g);                                                                 \
    }
ODE_MESH_CHANGES(CHANGE_MESH)

void INTERPOSE(dGeomDestroy)(dGeomID geom)
{
    REDIRECT_CALL(geom, dGeomDestroy, geom);
    recorder_destroys(geom);
    collide_destroy(DESTROY_GEOM, geom);
}

void INTERPOSE(dSpaceDestroy)(dSpaceID space)
{
    REDIRECT_CALL(space, dSpaceDestroy, space);
    recorder_destroys((dGeomID)space);
    collide_destroy(DESTROY_SPACE, space);
}

void INTERPOSE(dBodyDestroy)(dBodyID body)
{
    REDIRECT_CALL(body, dBodyDestroy, body);
    collide_destroy(DESTROY_BODY, body);
}

void INTERPOSE(dJointDestroy)(dJointID joint)
{
    REDIRECT_CALL(joint, dJointDestroy, joint);
    collide_destroy(DESTROY_JOINT, joint);
}

void INTERPOSE(dJointGroupEmpty)(dJointGroupID group)
{
    REDIRECT_CALL(NULL, dJointGroupEmpty, group);
    collide_destroy(EMPTY_GROUP, group);
}

void INTERPOSE(dJointGroupDestroy)(dJointGroupID group)
{
    REDIRECT_CALL(NULL, dJointGroupDestroy, group);
    collide_destroy(DESTROY_GROUP, group);
}

// ---- ODE's own handle

#ifndef SPRAG_WRAP
// A program that takes dWorldStep by dlsym from ODE's own handle, as Python's ctypes does, calls
// ODE's function, and that calls this one with the islands that it has found.
#define PROCESS_ISLANDS "_Z16dxProcessIslandsP7dxWorldRK25dxWorldProcessIslandsInfodPFvP"
#define IN_CALLS PROCESS_ISLANDS "K30dxStepperProcessingCallContextEPFj"
#define IN_ARENA PROCESS_ISLANDS "22dxWorldProcessMemArenaS0_PKP6dxBodyjPKP7dxJointjdE"

SPRAG_API bool process_islands(dWorldID world, const ode_islands *islands, dReal step,
                               void *stepper, void *max_calls) __asm__(IN_CALLS "jjE");
// The name in ODE 0.16.6.
SPRAG_API bool process_islands_3(dWorldID world, const ode_islands *islands, dReal step,
                                 void *stepper, void *max_calls) __asm__(IN_CALLS "jjjE");
// The name before ODE 0.13, and in Webots' fork.
SPRAG_API void process_in_arena(dWorldID world, const ode_islands *islands, dReal step,
                                void *stepper) __asm__(IN_ARENA);

static bool process(dWorldID world, const ode_islands *islands, dReal step, void *stepper,
                    void *max_calls)
{
    world_state *w = depth ? NULL : world_find_or_make(world);
    stock called = sprag_ode_is_quick_stepper(stepper) ? STOCK_QUICK : STOCK_STEP;
    if (!w) {
        return sprag_ode_process_islands(world, islands, step, stepper, max_calls);
    }
    step_compare(w, step, called);
    if (w->settings.method->fixed && w->settings.method->stepper != called) {
        dError(0,
               "sprag: method=%s is not possible in this program: it calls ODE's %s by a handle of "
               "its own, and ODE has prepared the step for that. Let the program call the other "
               "stepper, or use method=ode.",
               w->settings.method->name, called == STOCK_QUICK ? "dWorldQuickStep" : "dWorldStep");
    }
    if (!w->settings.method->ours || !method_is_possible()) {
        return process_by_ode(w, islands, step, stepper, max_calls);
    }
    recorded_step *recorded = recorder_begin(w, false);
    bool done = step_islands(w, islands, step, called);
    recorder_taken(recorded);
    recorder_end(recorded, w, called, done, NULL);
    return done;
}

static bool process_from(dWorldID world, const ode_islands *islands, dReal step, void *stepper,
                         void *max_calls, const void *frame)
{
    step_guard guard;
    if (!step_guard_begin(&guard, frame)) {
        return false;
    }
    bool done = process(world, islands, step, stepper, max_calls);
    step_guard_end(&guard, depth ? NULL : world);
    return done;
}

bool process_islands(dWorldID world, const ode_islands *islands, dReal step, void *stepper,
                     void *max_calls)
{
    REDIRECT(world, process_islands, IN_CALLS "jjE", (world, islands, step, stepper, max_calls));
    return process_from(world, islands, step, stepper, max_calls, __builtin_frame_address(0));
}

bool process_islands_3(dWorldID world, const ode_islands *islands, dReal step, void *stepper,
                       void *max_calls)
{
    REDIRECT(world, process_islands_3, IN_CALLS "jjjE", (world, islands, step, stepper, max_calls));
    return process_from(world, islands, step, stepper, max_calls, __builtin_frame_address(0));
}

void process_in_arena(dWorldID world, const ode_islands *islands, dReal step, void *stepper)
{
    REDIRECT(world, process_in_arena, IN_ARENA, (world, islands, step, stepper));
    process_from(world, islands, step, stepper, NULL, __builtin_frame_address(0));
}

// ---- worlds that end without dWorldDestroy

// The deleting destructor of dxWorld, which is virtual from 0.13 on. Webots' fork spreads the
// bodies of a world over worlds of its own, and deletes these.
SPRAG_API void delete_world(dWorldID world) __asm__("_ZN7dxWorldD0Ev");

void delete_world(dWorldID world)
{
    REDIRECT(world, delete_world, "_ZN7dxWorldD0Ev", (world));
    world_forget(world);
    sprag_ode_world_delete(world);
}
#endif
