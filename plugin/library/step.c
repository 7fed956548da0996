#include "step.h"

#include "clock.h"
#include "frame_methods.h"
#include "island_threads.h"
#include "recorder.h"
#include "report.h"
#include "statistics.h"
#include "step_guard.h"

bool step_islands(world_state *w, const ode_islands *islands, dReal step, stock called)
{
    const step_context context = {.world = w, .step = step, .called = called};
    double start = now_us();
    statistics_start_step(&w->statistics, step);
    bool done = w->settings.method->keeps_distance ? step_frame(&context, islands)
                                                   : step_all_islands(&context, islands);
    sprag_ode_warm_start_next_step(w->warm_start);
    sprag_world_statistics *s = &w->statistics;
    const sprag_world_statistics rest = {.push_us = now_us() - start - s->pull_us - s->solve_us};
    statistics_add(s, &rest);
    report_step(w);
    return done;
}

static int step_by_ode(world_state *w, dReal step, stock called)
{
    const method *method = w->settings.method;
    stock stepper = method->fixed ? method->stepper : called;
    double start = now_us();
    int done = sprag_ode_world_step(w->id, step, stepper == STOCK_QUICK);
    if (done) {
        const sprag_world_statistics part = {.solve_us = now_us() - start};
        sprag_ode_warm_start_next_step(w->warm_start); // discards forces of earlier steps
        statistics_start_step(&w->statistics, step);
        statistics_add(&w->statistics, &part);
        report_step(w);
    }
    return done;
}

static int step_by_us(world_state *w, dReal step, stock called)
{
    ode_islands islands;
    w->can_find_islands = true;
    sprag_ode_begin_step(w->id, called == STOCK_QUICK);
    bool done = sprag_ode_find_islands(w->id, step, called == STOCK_QUICK, &islands) &&
                step_islands(w, &islands, step, called);
    sprag_ode_end_step(w->id);
    w->can_find_islands = false;
    return done;
}

static int step_by_method(dWorldID id, dReal step, stock called)
{
    world_state *w = id && step > 0 ? world_find_or_make(id) : NULL;
    bool ours = w && w->settings.method->ours;
    if (!w || (ours && !method_is_possible())) { // ODE reports errors in the arguments
        return sprag_ode_world_step(id, step, called == STOCK_QUICK);
    }
    recorded_step *recorded = recorder_begin(w, true);
    int done = ours ? step_by_us(w, step, called) : step_by_ode(w, step, called);
    recorder_end(recorded, w, called, done);
    return done;
}

int step_world(dWorldID id, dReal step, stock called, const void *frame)
{
    step_guard guard;
    if (!step_guard_begin(&guard, frame)) {
        return 0;
    }
    int done = step_by_method(id, step, called);
    step_guard_end(&guard, id);
    return done;
}
