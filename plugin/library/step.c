// One step of a world by its method; and the public calls.
//
// dWorldStep and dWorldQuickStep are two internal calls each: dxReallocateWorldProcessContext does
// auto-disable, wake-up and islands, dxProcessIslands steps every island. A method of ours makes
// the first call and replaces the second (islands.c).
#define _POSIX_C_SOURCE 200809L // clock_gettime
#include <string.h>
#include <time.h>

#include "collide.h"

_Static_assert((int)SPRAG_CONTACT_STIFFNESS == (int)ODE_SURFACE_STIFFNESS &&
                   (int)SPRAG_CONTACT_DISSIPATION == (int)ODE_SURFACE_DISSIPATION &&
                   (int)SPRAG_CONTACT_STICTION == (int)ODE_SURFACE_STICTION,
               "the header and the adapter name the same bits");

const method methods[] = {
    {"stribeck", "implicit Stribeck: compliant contact, true Coulomb cone, coupled solve",
     .ours = true},
    {"advance", "conservative advancement: certified sub-steps, nothing interpenetrates",
     .ours = true, .collides = true},
    {"ess", "event-selected integrator: contact that yields, in continuous time", .ours = true,
     .collides = true, .yields = true},
    {"ode", "the stock stepper that the program calls, untouched", .stepper = STOCK_STEP},
    {"ode-step", "stock dWorldStep, whatever the program calls", .forced = true},
    {"ode-quick", "stock dWorldQuickStep, whatever the program calls", .forced = true,
     .stepper = STOCK_QUICK},
    {0},
};

const method *method_find(const char *name, size_t length)
{
    for (const method *m = methods; m->name; m++) {
        if (strlen(m->name) == length && memcmp(m->name, name, length) == 0) {
            return m;
        }
    }
    return NULL;
}

bool method_answers_collisions(const method *method)
{
    return method->collides;
}

double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static void start_statistics(world_state *w, dReal step)
{
    sprag_world_statistics *s = &w->statistics;
    long events[SPRAG_EVENT_KINDS];
    memcpy(events, s->events, sizeof events);
    *s = (sprag_world_statistics){.time = s->time + step,
                                  .step = step,
                                  .steps = s->steps + 1,
                                  .fallbacks = s->fallbacks,
                                  .bad_forces = s->bad_forces,
                                  .held = s->held,
                                  .odd_surfaces = s->odd_surfaces,
                                  .substeps = s->substeps,
                                  .limited = s->limited,
                                  .changes = s->changes,
                                  .overlaps = s->overlaps,
                                  .squeezed = s->squeezed,
                                  .asked = s->asked,
                                  .without_geometry = s->without_geometry,
                                  .least_gap = s->least_gap,
                                  .largest_gap = s->largest_gap,
                                  .stalled = s->stalled,
                                  .ess_steps = s->ess_steps,
                                  .ess_events = s->ess_events,
                                  .ess_projected = s->ess_projected,
                                  .ess_left = s->ess_left,
                                  .ess_switched = s->ess_switched};
    memcpy(s->events, events, sizeof events);
}

bool step_islands(world_state *w, const ode_islands *islands, dReal step, stock called)
{
    double start = now_us();
    start_statistics(w, step);
    bool done = w->settings.method->collides ? advance_islands(w, islands, step, called)
                                             : step_each_island(w, islands, step, called);
    sprag_ode_warm_start_next_step(w->memory);
    sprag_world_statistics *s = &w->statistics;
    s->push_us = now_us() - start - s->pull_us - s->solve_us; // and all else, free bodies included
    report_step(w);
    return done;
}

static int step_by_stock(world_state *w, dReal step, stock called)
{
    const method *method = w->settings.method;
    stock stepper = method->forced ? method->stepper : called;
    double start = now_us();
    int done = sprag_ode_world_step(w->id, step, stepper == STOCK_QUICK);
    if (done) {
        sprag_ode_warm_start_next_step(
            w->memory); // nothing that is old when our own method is back
        start_statistics(w, step);
        w->statistics.solve_us = now_us() - start;
        report_step(w);
    }
    return done;
}

// Says once what ODE lacks; then stock steps, whatever the method.
bool method_is_possible(void)
{
    const char *missing = sprag_ode_unsupported();
    if (missing) {
        report_once(
            "sprag: this ODE lacks %s (0.16 in double precision is needed); all stepping is "
            "left to it.",
            missing);
    }
    return !missing;
}

static int step_by_method(dWorldID id, dReal step, stock called)
{
    ode_islands islands;
    world_state *w = id && step > 0 ? world_find_or_make(id) : NULL;
    if (!w) { // ODE says what is wrong with a call
        return sprag_ode_world_step(id, step, called == STOCK_QUICK);
    }
    if (!w->settings.method->ours) {
        return step_by_stock(w, step, called);
    }
    if (!method_is_possible()) {
        return sprag_ode_world_step(id, step, called == STOCK_QUICK);
    }
    w->islands_are_ours = true;
    bool done = sprag_ode_find_islands(id, step, called == STOCK_QUICK, &islands) &&
                step_islands(w, &islands, step, called);
    w->islands_are_ours = false;
    return done;
}

int step_world(dWorldID id, dReal step, stock called, const void *frame)
{
    collide_step outer;
    if (!collide_begin_step(&outer, frame)) {
        return 0;
    }
    int done = step_by_method(id, step, called);
    collide_end_step(&outer, id);
    return done;
}

// ---- the public calls

static _Thread_local char error[MESSAGE_MAX];

int sprag_world_configure(dWorldID world, const char *options)
{
    bool of_other = sprag_ode_runtime_redirect(world, __builtin_return_address(0), "dWorldStep");
    error[0] = '\0';
    world_state *w = world && !of_other ? world_find_or_make(world) : NULL;
    if (!w || !options) {
        snprintf(error, sizeof error, "sprag_world_configure: %s",
                 !world     ? "no world"
                 : of_other ? "a world of another ODE"
                 : !options ? "no options"
                            : "no memory");
        return 0;
    }
    if (!settings_read(&w->settings, options, error)) {
        return 0;
    }
    if (!world_set_record(w)) {
        snprintf(error, sizeof error, "sprag_world_configure: no memory");
        return 0;
    }
    return 1;
}

const char *sprag_error(void)
{
    return error;
}

int sprag_world_step(dWorldID world, dReal step)
{
    void *other = sprag_ode_runtime_redirect(world, __builtin_return_address(0), "dWorldStep");
    if (other) {
        return ((__typeof__(&dWorldStep))(intptr_t)other)(world, step);
    }
    return step_world(world, step, STOCK_STEP, __builtin_frame_address(0));
}

int sprag_world_stats(dWorldID world, sprag_world_statistics *statistics)
{
    error[0] = '\0';
    if (!statistics) {
        snprintf(error, sizeof error, "sprag_world_stats: nowhere to write to");
        return 0;
    }
    const world_state *w = world_find(world);
    bool stepped = w && w->statistics.steps > 0;
    *statistics = w ? w->statistics : (sprag_world_statistics){0};
    if (!stepped) {
        snprintf(error, sizeof error, "sprag_world_stats: sprag has not stepped this world");
    }
    return stepped;
}

const char *sprag_version(void)
{
    return SPRAG_VERSION;
}
