// A child takes its step three times from the same state. The first one is measured for its errors;
// it also faults in the pages that the child shares with the program. The third one is timed. All
// start from forces that the same method has found one step earlier, in another child: a run of its
// own would have them too.
#define _GNU_SOURCE 1 // secure_getenv
#include "compare.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "clock.h"
#include "creep.h"
#include "message.h"
#include "plan.h"
#include "snapshot.h"
#include "yardstick.h"

// Children of one method that hang one after another until it is given up: each costs the patience
// of the user.
enum { HUNG_MAX = 3 };

static bool has_ended; // nothing more is compared

// ---- in a child

typedef struct task {
    world_state *world;
    dReal step;
    stock called;
    compare_take *take;
    const settings *settings;
    const world_memory *memory; // of forces, of the step before
    bool measures;              // false: only finds the forces from which the next step starts
} task;

// A report of a child; the bytes of its memory follow.
typedef struct report {
    sample sample;
    sample_state state; // bodies, contacts, rows
} report;

static int lcp_errors;

static void on_message(int number, const char *format, va_list arguments)
{
    (void)format, (void)arguments;
    lcp_errors += number == d_ERR_LCP;
}

static void on_end(int number, const char *format, va_list arguments)
{
    (void)number, (void)format, (void)arguments;
    _exit(EXIT_FAILURE);
}

static void enter(const task *t)
{
    world_state *w = t->world;
    int callbacks = w->settings.callbacks;
    bool own_memory = w->settings.method == t->settings->method;
    w->settings = *t->settings;
    w->settings.callbacks = callbacks > w->settings.callbacks ? callbacks : w->settings.callbacks;
    w->is_trial = true;
    world_update_record(w);
    sprag_ode_use_one_thread(w->id); // those of the program's pool do not exist in the child
    dSetMessageHandler(on_message);
    dSetErrorHandler(on_end);
    dSetDebugHandler(on_end);
    if (!own_memory) {
        sprag_ode_warm_start_read(w->warm_start, t->memory->bytes, t->memory->length);
    }
}

static void write_memory(const world_state *w, int file)
{
    size_t length = sprag_ode_warm_start_write(w->warm_start, NULL, 0);
    char *bytes = malloc(length + 1);
    if (bytes) {
        sprag_ode_warm_start_write(w->warm_start, bytes, length);
        child_write(file, bytes, length);
    }
}

static void remember(void *data, int file)
{
    const task *t = data;
    enter(t);
    t->take(t->world, t->step, t->called);
    write_memory(t->world, file);
}

static void set_statistics(sample *s, const world_state *w, long fallbacks)
{
    if (w->settings.method->ours) {
        s->strategy = w->statistics.strategy;
        s->value[SAMPLE_ITERATIONS] = w->statistics.iterations;
        s->value[SAMPLE_FALLBACKS] = (double)(w->statistics.fallbacks - fallbacks);
    } else {
        s->value[SAMPLE_LCP_ERRORS] = lcp_errors;
    }
}

// The step twice again, the last one timed: at the first, scratch that the measured step has found
// too small becomes one new block, whose pages fault in. Contacts that the steps have made within
// them are out of the way.
static double time_of_step(const task *t, const snapshot *before, const yardstick *y)
{
    double start = 0;
    for (int k = 0; k < 2; k++) {
        yardstick_disable_new_joints(y);
        snapshot_restore(before);
        sprag_ode_warm_start_read(t->world->warm_start, t->memory->bytes, t->memory->length);
        start = cpu_us();
        t->take(t->world, t->step, t->called);
    }
    return cpu_us() - start;
}

static void measure(void *data, int file)
{
    const task *t = data;
    world_state *w = t->world;
    report r = {.sample.strategy = SPRAG_STRATEGY_NONE};
    int bodies;
    long fallbacks = w->statistics.fallbacks;
    ode_islands found; // with ODE's memory for a step, which motors at a stop need
    if (w->statistics.steps == 0 && !sprag_ode_find_islands(w->id, t->step, &found)) {
        _exit(EXIT_FAILURE);
    }
    yardstick *y = yardstick_begin(w->id, t->step, false);
    if (!y) {
        _exit(EXIT_FAILURE);
    }
    dBodyID const *body = yardstick_bodies(y, &bodies);
    snapshot *before = snapshot_take(body, bodies);
    enter(t);
    if (!before || !t->take(w, t->step, t->called)) {
        _exit(EXIT_FAILURE);
    }
    yardstick_count(y, &r.state);
    yardstick_measure(y, r.sample.value);
    yardstick_end(y);
    set_statistics(&r.sample, w, fallbacks);
    r.sample.value[SAMPLE_US] = time_of_step(t, before, y);
    child_write(file, &r, sizeof r);
    write_memory(w, file);
}

// ---- in the program

static void append(const sample_state *state, int choice, const sample *s)
{
    char row[SAMPLE_ROW_MAX];
    size_t length = sample_print(row, state, choice, s);
    // Opened for every row: programs close files that they have not opened.
    int file = open(plan_get()->file, O_WRONLY | O_APPEND | O_CLOEXEC);
    bool written = file >= 0 && write(file, row, length) == (ssize_t)length;
    if (!written) {
        message_once("sprag: cannot write to %s: %s. Nothing more is compared.", plan_get()->file,
                     strerror(errno));
        has_ended = true;
    }
    if (file >= 0) {
        close(file);
    }
}

static void give_up_on_forks(void)
{
    message_once("sprag: this program cannot fork (%s). Nothing is compared.", strerror(errno));
    has_ended = true;
}

// The memory of a choice becomes the bytes behind the first `skipped` of those found.
static void keep_memory(world_state *w, int choice, char *found, size_t length, size_t skipped)
{
    world_memory *to = &w->memory[choice];
    free(to->bytes);
    *to = (world_memory){NULL, 0};
    if (length > skipped) {
        memmove(found, found + skipped, length - skipped);
        *to = (world_memory){found, length - skipped};
    } else {
        free(found);
    }
}

static bool make_room(world_state *w, const plan *p)
{
    if (!w->memory) {
        w->memory = calloc((size_t)p->choices, sizeof *w->memory);
        w->memories = w->memory ? p->choices : 0;
    }
    return w->memory;
}

static sample_state state_of(const world_state *w, dReal step)
{
    return (sample_state){.process = getpid(),
                          .world = w->number,
                          .step = w->statistics.steps,
                          .time = w->statistics.time,
                          .length = step};
}

static void remember_forces(task *t, int choice, const plan *p)
{
    char *found;
    size_t length;
    world_state *w = t->world;
    if (t->settings->method->ours && t->settings->method != w->settings.method) {
        if (child_run(remember, t, p->patience, &found, &length) == SAMPLE_TAKEN) {
            keep_memory(w, choice, found, length, 0);
        } else {
            free(found);
        }
    }
}

static void compare_one(task *t, int choice, const plan *p)
{
    static int hung[PLAN_CHOICES_MAX];
    char *found;
    size_t length;
    report r = {.state = state_of(t->world, t->step)};
    if (hung[choice] >= HUNG_MAX) {
        return;
    }
    r.sample.outcome = child_run(measure, t, p->patience, &found, &length);
    if (r.sample.outcome == SAMPLE_TAKEN && length < sizeof r) {
        r.sample.outcome = SAMPLE_DIED; // a callback has called _exit, by chance with JOB_DONE
    }
    if (r.sample.outcome == SAMPLE_TAKEN) {
        const report *child = (const report *)(const void *)found;
        r.sample = child->sample;
        r.state.bodies = child->state.bodies;
        r.state.contacts = child->state.contacts;
        r.state.joint_rows = child->state.joint_rows;
        keep_memory(t->world, choice, found, length, sizeof r);
    } else {
        for (int i = 0; i < SAMPLE_VALUES; i++) {
            r.sample.value[i] = NAN;
        }
        free(found);
    }
    hung[choice] = r.sample.outcome == SAMPLE_HUNG ? hung[choice] + 1 : 0;
    if (r.sample.outcome == SAMPLE_NO_FORK) {
        give_up_on_forks();
    }
    append(&r.state, choice, &r.sample);
}

// The program has made the steps that the user wants to see.
static bool is_at_end(const world_state *w, const plan *p)
{
    static atomic_long begun; // steps of all worlds
    const sprag_world_statistics *s = &w->statistics;
    return (p->steps > 0 && (double)s->steps >= p->steps) ||
           (p->seconds > 0 && s->time >= p->seconds - 1e-9 * s->step) ||
           (p->all_steps > 0 && (double)atomic_fetch_add(&begun, 1) >= p->all_steps);
}

bool compare_state(world_state *w, dReal step, stock called, compare_take *take)
{
    const plan *p = has_ended || w->is_trial ? NULL : plan_get();
    if (p && is_at_end(w, p)) {
        has_ended = true;
        return false;
    }
    if (!p || p->whole || !method_is_possible() || !make_room(w, p)) {
        return true;
    }
    long to_go = p->every - 1 - w->statistics.steps % p->every; // steps to the next compared one
    for (int i = 0; i < p->choices && to_go <= 1 && !has_ended; i++) {
        int choice = (int)((w->statistics.steps + i) % p->choices); // each is the first in turn
        task t = {.world = w,
                  .step = step,
                  .called = called,
                  .take = take,
                  .settings = &p->choice[choice],
                  .memory = &w->memory[choice]};
        if (to_go == 0) {
            compare_one(&t, choice, p);
        } else {
            remember_forces(&t, choice, p);
        }
    }
    return true;
}

// A program may set the method of a world over the one that it was started with.
static bool is_under(const world_state *w, const settings *wanted)
{
    bool is = w->settings.method == wanted->method;
    if (!is) {
        message_once("sprag: the program itself steps world %d by method=%s, not by %s. Such steps "
                     "are not compared: leave out --whole.",
                     w->number, w->settings.method->name, wanted->method->name);
    }
    return is;
}

compared_step compare_whole_begin(world_state *w, dReal step, bool residual)
{
    const plan *p = has_ended || w->is_trial ? NULL : plan_get();
    compared_step c = {.is_sample = p && p->whole && method_is_possible() &&
                                    w->statistics.steps % p->every == p->every - 1 &&
                                    is_under(w, p->choice)};
    // Motors at a stop cannot be asked for rows before ODE has taken memory for a step.
    if ((c.is_sample || residual) && w->statistics.steps > 0) {
        c.yardstick = yardstick_begin(w->id, step, true);
        c.state = state_of(w, step);
        c.fallbacks = w->statistics.fallbacks;
    }
    return c;
}

void compare_whole_start(compared_step *c)
{
    c->start = c->yardstick ? cpu_us() : 0;
}

void compare_whole_taken(compared_step *c)
{
    c->us = c->yardstick ? cpu_us() - c->start : 0;
}

double compare_whole_residual(const compared_step *c)
{
    return c->yardstick ? yardstick_residual(c->yardstick) : NAN;
}

void compare_whole_end(compared_step *c, world_state *w, bool taken)
{
    if (c->yardstick && c->is_sample && taken) {
        sample s = {.outcome = SAMPLE_TAKEN, .strategy = SPRAG_STRATEGY_NONE};
        yardstick_count(c->yardstick, &c->state);
        yardstick_measure(c->yardstick, s.value);
        creep_measure(w, s.value);
        set_statistics(&s, w, c->fallbacks);
        s.value[SAMPLE_US] = c->us;
        append(&c->state, 0, &s);
    }
    yardstick_free(c->yardstick);
}
