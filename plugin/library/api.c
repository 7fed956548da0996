// The functions of sprag.h.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "frame_state.h"
#include "linearize.h"
#include "step.h"
#include "step_guard.h"

_Static_assert((int)SPRAG_CONTACT_STIFFNESS == (int)ODE_SURFACE_STIFFNESS &&
                   (int)SPRAG_CONTACT_DISSIPATION == (int)ODE_SURFACE_DISSIPATION &&
                   (int)SPRAG_CONTACT_STICTION == (int)ODE_SURFACE_STICTION,
               "the header and the adapter name the same bits");

static _Thread_local char error[MESSAGE_MAX];
static const char within_step[] = "a callback calls it within a step of the world";

static int fail(const char *function, const char *why)
{
    snprintf(error, sizeof error, "%s: %s", function, why);
    return 0;
}

const char *sprag_error(void)
{
    return error;
}

int sprag_world_configure(dWorldID world, const char *options)
{
    static const char name[] = "sprag_world_configure";
    error[0] = '\0';
    if (!world) {
        return fail(name, "the world is NULL");
    }
    if (sprag_ode_runtime_redirect(world, __builtin_return_address(0), "dWorldStep")) {
        return fail(name, "the world belongs to another ODE than the one that sprag serves");
    }
    if (!options) {
        return fail(name, "the options are NULL");
    }
    world_state *w = world_find_or_make(world);
    if (!w) {
        return fail(name, "no memory");
    }
    if (step_guard_is_within(w, __builtin_frame_address(0))) {
        return fail(name, within_step);
    }
    if (!settings_read(&w->settings, options, error)) {
        return 0;
    }
    return world_update_record(w) ? 1 : fail(name, "no memory");
}

int sprag_world_forget(dWorldID world)
{
    static const char name[] = "sprag_world_forget";
    error[0] = '\0';
    if (!world) {
        return fail(name, "the world is NULL");
    }
    world_state *w = world_find(world);
    if (w && step_guard_is_within(w, __builtin_frame_address(0))) {
        return fail(name, within_step);
    }
    return !w || world_forget_steps(w) ? 1 : fail(name, "no memory");
}

int sprag_world_step(dWorldID world, dReal step)
{
    void *other = sprag_ode_runtime_redirect(world, __builtin_return_address(0), "dWorldStep");
    if (other) {
        return ((__typeof__(&dWorldStep))(intptr_t)other)(world, step);
    }
    return step_world(world, step, STOCK_STEP, __builtin_frame_address(0));
}

// Statistics structs end behind `time` at the earliest. A size beyond the limit is a field that the
// caller has not set.
enum { STRUCT_SIZE_LEAST = offsetof(sprag_world_statistics, step), STRUCT_SIZE_MOST = 1 << 16 };

int sprag_world_stats(dWorldID world, sprag_world_statistics *statistics)
{
    static const char name[] = "sprag_world_stats";
    error[0] = '\0';
    if (!statistics) {
        return fail(name, "the struct to write to is NULL");
    }
    size_t size = statistics->struct_size, own = sizeof *statistics;
    if (size < STRUCT_SIZE_LEAST || size > STRUCT_SIZE_MOST) {
        return fail(name, "set struct_size to sizeof(sprag_world_statistics) before the call");
    }
    const world_state *w = world_find(world);
    memset(statistics, 0, size);
    if (w) {
        memcpy(statistics, &w->statistics, size < own ? size : own);
    }
    statistics->struct_size = size;
    return w && w->statistics.steps > 0 ? 1 : fail(name, "sprag has not stepped this world");
}

int sprag_world_events(dWorldID world, sprag_world_event *events, int room)
{
    const world_state *w = world_find(world);
    int count = w && w->frame ? w->frame->events : 0, copied = count < room ? count : room;
    if (events && copied > 0) {
        memcpy(events, w->frame->event, (size_t)copied * sizeof *events);
    }
    return count;
}

int sprag_world_linearize(dWorldID world, dReal step, const dBodyID *body, int bodies, double *A,
                          double *B)
{
    static const char name[] = "sprag_world_linearize";
    error[0] = '\0';
    if (!world || !body || !A || !B) {
        return fail(name, "the world or an array is NULL");
    }
    if (!(step > 0) || bodies < 1) {
        return fail(name, "the step or the number of bodies is not positive");
    }
    if (sprag_ode_runtime_redirect(world, __builtin_return_address(0), "dWorldStep")) {
        return fail(name, "the world belongs to another ODE than the one that sprag serves");
    }
    if (!method_is_possible()) {
        return fail(name, "the running ODE lacks what sprag needs");
    }
    world_state *w = world_find_or_make(world);
    if (w && step_guard_is_within(w, __builtin_frame_address(0))) {
        return fail(name, within_step);
    }
    const char *why = w ? linearize(w, step, body, bodies, A, B) : "no memory";
    return why ? fail(name, why) : 1;
}

const char *sprag_version(void)
{
    return SPRAG_VERSION;
}
