// One step of a world by its method; and the public calls.
//
// dWorldStep and dWorldQuickStep are two internal calls each: dxReallocateWorldProcessContext does
// auto-disable, wake-up and islands, dxProcessIslands steps every island. A method of ours makes
// the first call and replaces the second: pull, solve, push, island by island. Nothing is written
// into ODE before a solve has succeeded, so stock can still take an island on which every phase
// fails.
#define _POSIX_C_SOURCE 200809L // clock_gettime
#include <math.h>
#include <string.h>
#include <time.h>

#include "plugin/collide.h"

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

void draw_as_quick_step(dWorldID id, int rows)
{
    enum { SHUFFLE_EVERY = 8 };
    int shuffles = (dWorldGetQuickStepNumIterations(id) - 1) / SHUFFLE_EVERY;
    for (long i = 0, draws = (long)shuffles * (rows - 1); i < draws; i++) {
        dRand();
    }
}

// Least and most of the islands that have contacts.
static void count_contacts(sprag_world_statistics *s, int contacts, const sprag_stats *stats)
{
    bool first = s->contacts == contacts;
    if (contacts > 0) {
        double least = stats->stiction_least;
        s->stiction_least = first ? least : fmin(s->stiction_least, least);
        s->stiffness_least =
            first ? stats->stiffness[0] : fmin(s->stiffness_least, stats->stiffness[0]);
        s->damping_least = first ? stats->damping[0] : fmin(s->damping_least, stats->damping[0]);
        s->stiffness_most = fmax(s->stiffness_most, stats->stiffness[1]);
        s->damping_most = fmax(s->damping_most, stats->damping[1]);
    }
}

static void count_island(sprag_world_statistics *s, const ode_problem *pulled,
                         const sprag_stats *stats)
{
    s->contacts += pulled->problem.contacts;
    s->rows += pulled->problem.rows;
    s->dropped += pulled->dropped;
    s->penetration = fmax(s->penetration, pulled->penetration);
    s->iterations += stats->iterations;
    s->factorizations += stats->factorizations;
    s->sweeps += stats->sweeps;
    s->residual = fmax(s->residual, stats->residual);
    s->bound_error = fmax(s->bound_error, stats->bound_error);
    s->stiction = fmax(s->stiction, stats->stiction);
    count_contacts(s, pulled->problem.contacts, stats);
    if (stats->phase != '-' && stats->phase > s->phase) {
        s->phase = stats->phase;
    }
}

// What goes wrong is said for the first island of a world, and counted for all.

// Stock takes an island that we cannot solve.
bool step_by_stock_island(world_state *w, const ode_island *island, dReal step, stock called,
                          sprag_result result)
{
    if (w->statistics.fallbacks++ == 0) {
        report_once(
            "sprag: world %d, at %g s: the island of body %p (%d bodies, %d joints) could not be "
            "solved (%s); ODE's own stepper takes it. Further ones are only counted.",
            w->number, w->statistics.time, (void *)island->body[0], island->bodies, island->joints,
            sprag_result_name(result));
    }
    w->statistics.phase = 'F';
    return sprag_ode_step_island(w->id, island, step, called == STOCK_QUICK);
}

void hold_bodies(world_state *w, dBodyID culprit, int bodies)
{
    if (w->statistics.held == 0) {
        report_once("sprag: world %d, at %g s: position or velocity of body %p (data %p) is not "
                    "finite; its island of %d bodies stays where it is. Further ones are only "
                    "counted.",
                    w->number, w->statistics.time, (void *)culprit, dBodyGetData(culprit), bodies);
    }
    w->statistics.held += bodies;
}

static void hold(world_state *w, const ode_island *island, dBodyID culprit)
{
    hold_bodies(w, culprit, island->bodies);
    sprag_ode_hold(island);
}

void ignore_forces(world_state *w, dBodyID culprit, int bodies)
{
    w->statistics.bad_forces += bodies;
    if (w->statistics.bad_forces == bodies) {
        report_once("sprag: world %d, at %g s: the force or torque on body %p (data %p) is not "
                    "finite, or too large; it is taken as zero. Further ones are only counted.",
                    w->number, w->statistics.time, (void *)culprit, dBodyGetData(culprit));
    }
}

static void warn_of_surface(world_state *w, const ode_problem *pulled)
{
    dBodyID body[2] = {dJointGetBody(pulled->odd_surface, 0),
                       dJointGetBody(pulled->odd_surface, 1)};
    if (w->statistics.odd_surfaces == 0) {
        report_once("sprag: world %d, at %g s: the surface of the contact between bodies %p (data "
                    "%p) and %p (data %p) %s. Further ones are only counted.",
                    w->number, w->statistics.time, (void *)body[0],
                    body[0] ? dBodyGetData(body[0]) : NULL, (void *)body[1],
                    body[1] ? dBodyGetData(body[1]) : NULL, pulled->oddity);
    }
    w->statistics.odd_surfaces += pulled->odd_surfaces;
}

static void warn_of_stiffness(world_state *w, const ode_island *island, double stiff_step)
{
    if (stiff_step > 1 && !w->warned) {
        w->warned = true;
        report_once(
            "sprag: world %d, at %g s: stribeck.scheme=one-way takes stiffness at the start "
            "of the step, and gains energy at steps as long as this one (step^2 k / m = %g "
            "in the island of body %p); shorter steps, less stiffness or two-way.",
            w->number, w->statistics.time, stiff_step, (void *)island->body[0]);
    }
}

// An island without joints is one body.
static void step_free(world_state *w, const ode_island *island, dReal step)
{
    bool bad_force = false;
    if (!sprag_ode_step_free(island->body[0], w->id, step, &bad_force)) {
        hold(w, island, island->body[0]);
    } else if (bad_force) {
        ignore_forces(w, island->body[0], 1);
    }
}

// dWorldQuickStep is called where a step must not take long. Its iterations count as sweeps.
static sprag_stribeck_options options_for(const world_state *w, stock called)
{
    sprag_stribeck_options options = w->settings.stribeck;
    if (called == STOCK_QUICK) {
        int iterations = dWorldGetQuickStepNumIterations(w->id);
        options.sweeps_least = iterations < 1 ? 1 : iterations;
    }
    return options;
}

bool step_island(world_state *w, const ode_island *island, dReal step, stock called)
{
    sprag_world_statistics *s = &w->statistics;
    ode_problem pulled;
    sprag_stats stats = {.phase = '-'};
    double start = now_us();
    sprag_result result = sprag_ode_pull(&pulled, w->id, island, step, &w->settings.stiffness,
                                         w->memory, &w->scratch);
    double pull_end = now_us();
    s->pull_us += pull_end - start;
    if (pulled.unusable) {
        hold(w, island, pulled.unusable);
        return true;
    }
    if (pulled.bad_forces) {
        ignore_forces(w, pulled.bad_force, pulled.bad_forces);
    }
    if (pulled.odd_surfaces) {
        warn_of_surface(w, &pulled);
    }
    if (result == SPRAG_OK) {
        sprag_stribeck_options options = options_for(w, called);
        result =
            sprag_stribeck_solve(&pulled.problem, &options, &w->scratch, &pulled.solution, &stats);
    }
    warn_of_stiffness(w, island, stats.stiff_step);
    double solve_end = now_us();
    s->solve_us += solve_end - pull_end;
    count_island(s, &pulled, &stats);
    if (result != SPRAG_OK) {
        sprag_ode_restore(&pulled);
        return step_by_stock_island(w, island, step, called, result);
    }
    if (called == STOCK_QUICK) {
        draw_as_quick_step(w->id, pulled.stock_rows);
    }
    sprag_ode_push(&pulled, w->memory);
    return true;
}

static void start_statistics(world_state *w, dReal step)
{
    sprag_world_statistics *s = &w->statistics;
    long events[SPRAG_EVENT_KINDS];
    memcpy(events, s->events, sizeof events);
    *s = (sprag_world_statistics){.time = s->time + step,
                                  .step = step,
                                  .phase = '-',
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

bool step_any_island(world_state *w, const ode_island *island, dReal step, stock called)
{
    if (island->joints == 0) {
        step_free(w, island, step);
        return true;
    }
    bool done = step_island(w, island, step, called);
    sprag_scratch_reset(&w->scratch);
    return done;
}

// One island after the other.
bool step_each_island(world_state *w, const ode_islands *islands, dReal step, stock called)
{
    bool done = true;
    ode_island island = {.body = islands->bodies, .joint = islands->joints};
    w->statistics.islands = (int)islands->count;
    for (size_t i = 0; i < islands->count && done; i++) {
        island.bodies = (int)islands->sizes[2 * i];
        island.joints = (int)islands->sizes[2 * i + 1];
        w->statistics.bodies += island.bodies;
        done = step_any_island(w, &island, step, called);
        island.body += island.bodies;
        island.joint += island.joints;
    }
    return done;
}

bool step_islands(world_state *w, const ode_islands *islands, dReal step, stock called)
{
    double start = now_us();
    start_statistics(w, step);
    bool done = w->settings.method->collides ? advance_islands(w, islands, step, called)
                                             : step_each_island(w, islands, step, called);
    sprag_ode_memory_turn(w->memory);
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
        sprag_ode_memory_turn(w->memory); // nothing that is old when our own method is back
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
    error[0] = '\0';
    world_state *w = world ? world_find_or_make(world) : NULL;
    if (!w || !options) {
        snprintf(error, sizeof error, "sprag_world_configure: %s",
                 !world     ? "no world"
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
