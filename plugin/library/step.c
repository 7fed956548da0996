#include "step.h"

#include <math.h>
#include <signal.h>
#include <unistd.h>

#include "clock.h"
#include "collide_thread.h"
#include "compare.h"
#include "frame_methods.h"
#include "frame_state.h"
#include "held_memory.h"
#include "island_step.h"
#include "island_threads.h"
#include "message.h"
#include "recorder.h"
#include "report.h"
#include "statistics.h"
#include "step_guard.h"

bool step_islands(world_state *w, const ode_islands *islands, dReal step, stock called)
{
    const step_context context = {.world = w, .step = step, .called = called};
    const void *frame = __builtin_frame_address(0);
    const void *outer = step_guard_is_within(w, frame) ? w->step_frame : NULL;
    double start = now_us();
    if (!reserve_for_islands(w, islands)) {
        return false;
    }
    w->step_frame = frame;
    collide_now.within_step = true;
    statistics_start_step(&w->statistics, step);
    bool done = w->settings.method->keeps_distance ? step_frame(&context, islands)
                                                   : step_all_islands(&context, islands);
    sprag_ode_warm_start_next_step(w->warm_start);
    sprag_world_statistics *s = &w->statistics;
    s->push_us += now_us() - start - s->pull_us - s->solve_us;
    report_step(w);
    w->step_frame = outer;
    return done;
}

// Between these two a stock stepper finds the parameters of the settings in the world.
static stock_parameters set_parameters(dWorldID id, const stock_parameters *p)
{
    const stock_parameters own = {dWorldGetQuickStepNumIterations(id), dWorldGetERP(id),
                                  dWorldGetCFM(id)};
    if (p->iterations > 0) {
        dWorldSetQuickStepNumIterations(id, p->iterations);
    }
    if (p->erp > 0) {
        dWorldSetERP(id, p->erp);
    }
    if (p->cfm > 0) {
        dWorldSetCFM(id, p->cfm);
    }
    return own;
}

static void restore_parameters(dWorldID id, const stock_parameters *own)
{
    dWorldSetQuickStepNumIterations(id, own->iterations);
    dWorldSetERP(id, own->erp);
    dWorldSetCFM(id, own->cfm);
}

bool process_by_ode(world_state *w, const ode_islands *islands, dReal step, void *stepper,
                    void *max_calls)
{
    const stock_parameters own = set_parameters(w->id, &w->settings.stock);
    statistics_start_step(&w->statistics, step);
    bool done = sprag_ode_process_islands(w->id, islands, step, stepper, max_calls);
    restore_parameters(w->id, &own);
    return done;
}

static int step_by_ode(world_state *w, dReal step, stock called)
{
    const method *method = w->settings.method;
    stock stepper = method->fixed ? method->stepper : called;
    double start = now_us();
    const stock_parameters own = set_parameters(w->id, &w->settings.stock);
    int done = sprag_ode_world_step(w->id, step, stepper == STOCK_QUICK);
    restore_parameters(w->id, &own);
    if (done) {
        const double solve_us = now_us() - start;
        sprag_ode_warm_start_next_step(w->warm_start); // discards forces of earlier steps
        statistics_start_step(&w->statistics, step);
        w->statistics.solve_us = solve_us;
        report_step(w);
    }
    return done;
}

// ODE makes room for the islands of a world in its first step.
static bool find_islands(world_state *w, dReal step, ode_islands *islands)
{
    const bool first = w->statistics.steps == 0;
    if (first && !sprag_ode_hold_memory()) {
        return false;
    }
    const bool found = sprag_ode_find_islands(w->id, step, islands);
    if (first) {
        sprag_ode_release_memory();
    }
    return found;
}

static int step_by_settings(world_state *w, dReal step, stock called)
{
    ode_islands islands;
    if (w->settings.method->keeps_distance && step_guard_is_within(w, __builtin_frame_address(0))) {
        message_once(
            "sprag: a moved callback asks for another step of its world, whose method works "
            "within the step. That step is not taken.");
        return 0;
    }
    if (w->frame) { // a step without geometry has no events, nor has one by another method
        w->frame->events = 0;
    }
    if (!w->settings.method->ours) {
        return step_by_ode(w, step, called);
    }
    w->can_find_islands = true;
    if (w->settings.method->keeps_distance) {
        begin_frame(w, called);
    } else {
        sprag_ode_begin_step(w->id, called == STOCK_QUICK);
    }
    bool done = find_islands(w, step, &islands) && step_islands(w, &islands, step, called);
    sprag_ode_end_step(w->id);
    w->can_find_islands = false;
    return done;
}

void step_compare(world_state *w, dReal step, stock called)
{
    if (!compare_state(w, step, called, step_by_settings)) {
        recorder_write(); // a signal leaves no time for it
        kill(getpid(), SIGTERM);
    }
}

static int step_by_method(dWorldID id, dReal step, stock called)
{
    const bool good = id && step > 0;
    world_state *w = good ? world_find_or_make(id) : NULL;
    if (good && !w) {
        message_once("sprag: there is no memory for a world. Its step is not taken.");
        return 0; // ODE's own step ends the program where there is no memory
    }
    if (!good || (w->settings.method->ours && !method_is_possible())) {
        return sprag_ode_world_step(id, step, called == STOCK_QUICK); // reports errors in arguments
    }
    step_compare(w, step, called);
    compared_step compared = compare_whole_begin(w, step, recorder_wants_residual());
    recorded_step *recorded = recorder_begin(w, true);
    compare_whole_start(&compared);
    int done = step_by_settings(w, step, called);
    recorder_taken(recorded);
    compare_whole_taken(&compared);
    double residual = recorded && done ? compare_whole_residual(&compared) : NAN;
    recorder_end(recorded, w, called, done, &residual);
    compare_whole_end(&compared, w, done);
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
