#include "island_step.h"

#include <string.h>

#include "clock.h"
#include "collide_thread.h"
#include "plugin_constants.h"
#include "softness.h"
#include "solve_file.h"
#include "statistics.h"
#include "warn.h"

void draw_as_quick_step(dWorldID id, int rows)
{
    int shuffles = sprag_ode_shuffles(dWorldGetQuickStepNumIterations(id));
    for (long i = 0, draws = (long)shuffles * (rows - 1); i < draws; i++) {
        dRand();
    }
}

// ODE has its memory since it has found the islands.
static bool step_island_by_ode(const step_context *c, const ode_island *island)
{
    const sprag_world_statistics part = {.fallbacks = 1, .strategy = SPRAG_STRATEGY_STOCK};
    bool quick = c->called == STOCK_QUICK, found_by_step = !quick && !c->world->can_find_islands;
    warn_of_fallback(c->world, island, SPRAG_NO_MEMORY);
    statistics_add(&c->world->statistics, &part);
    return sprag_ode_step_island(c->world->id, island, c->step, quick, found_by_step);
}

// The island has no solution: its bodies move as if nothing touched or held them. Either what the
// program has set is so large that no strategy has found finite numbers, or it makes no sense, as a
// joint that a moved callback has handed to bodies of another island. Stock would do no better:
// ODE ends programs for numbers that are not finite.
static void let_go(ode_problem *pulled)
{
    const sprag_problem *problem = &pulled->problem;
    const sprag_solution *to = &pulled->solution;
    for (int b = 0; b < problem->bodies; b++) {
        memcpy(to->velocity[b], problem->body[b].free_velocity, sizeof to->velocity[b]);
    }
    memset(to->contact_force, 0, (size_t)problem->contacts * sizeof *to->contact_force);
    memset(to->row_force, 0, (size_t)problem->rows * sizeof *to->row_force);
    pulled->knows_opened = false;
}

static bool is_let_go(const solved_island *from)
{
    return from->result != SPRAG_OK && from->result != SPRAG_NO_MEMORY &&
           !from->pulled.errors.nonfinite_body;
}

static void freeze(const step_context *c, const ode_island *island, dBodyID nonfinite_body)
{
    warn_of_nonfinite(c->world, nonfinite_body, island->bodies);
    c->world->statistics.frozen += island->bodies;
    sprag_ode_freeze(island);
}

// An island without joints is one body.
static void step_free_body(const step_context *c, const ode_island *island)
{
    bool invalid_force = false;
    if (!sprag_ode_step_free(island->body[0], c->world->id, c->step, &invalid_force)) {
        freeze(c, island, island->body[0]);
    } else if (invalid_force) {
        warn_of_force(c->world, island->body[0]);
        c->world->statistics.invalid_forces++;
    }
}

// Programs call dWorldQuickStep to limit the time of a step, so its number of iterations becomes
// that of Gauss-Seidel sweeps.
static sprag_stribeck_options options_for(const step_context *c)
{
    sprag_stribeck_options options = c->world->settings.stribeck;
    int effort = c->world->settings.effort;
    if (effort == EFFORT_AUTO) {
        effort = c->called == STOCK_QUICK ? EFFORT_FAST : EFFORT_BALANCED;
    }
    if (effort != EFFORT_EXACT) {
        int iterations = dWorldGetQuickStepNumIterations(c->world->id);
        iterations = iterations < 1 ? 1 : iterations;
        options.exact = false;
        options.sweeps = effort == EFFORT_FAST ? iterations : BALANCED_SWEEPS;
        options.sweep_change = effort == EFFORT_FAST ? FAST_CHANGE : BALANCED_CHANGE;
        options.hard_in_motion = HARD_IN_MOTION;
    }
    return options;
}

double island_softness(const world_state *w, const sprag_problem *problem)
{
    double softness = w->settings.stribeck.softness;
    if (w->settings.effort != EFFORT_EXACT) {
        softness = sprag_softness_for_sweeps(softness, problem);
    }
    // Contacts do not yield while method=ess integrates. A heap at rest that goes to and fro
    // between it and steps in which they do sinks in one and is pushed out in the other, not along
    // the same way, and creeps.
    return w->settings.method->is_compliant ? sprag_softness_in_motion(softness, problem)
                                            : softness;
}

static bool any_rebounds(const sprag_problem *problem)
{
    bool any = false;
    for (int i = 0; i < problem->contacts && !any; i++) {
        any = problem->contact[i].rebounds;
    }
    return any;
}

// Leaves the solution alone in the scratch, so that a second solve works in the memory of the
// first. Friction contradicts what contacts ask for where bodies rebound, or are stopped at gaps to
// rebound later.
static sprag_result solve_problem(const world_state *w, ode_problem *pulled,
                                  const sprag_stribeck_options *options, sprag_scratch *scratch,
                                  sprag_stats *stats)
{
    const sprag_scratch before = *scratch;
    const sprag_problem *problem = &pulled->problem;
    const bool asks = settings_speculate(&w->settings) || any_rebounds(problem);
    const sprag_result result = (asks ? sprag_stribeck_solve_bounded : sprag_stribeck_solve)(
        problem, options, scratch, &pulled->solution, stats);
    sprag_scratch_release(scratch, &before);
    return result;
}

// false: there is no other solution.
static bool solve_again(const world_state *w, ode_problem *pulled,
                        const sprag_stribeck_options *options, sprag_scratch *scratch,
                        sprag_stats *stats)
{
    sprag_stats second = {0};
    if (solve_problem(w, pulled, options, scratch, &second) != SPRAG_OK) {
        return false;
    }
    sprag_stats_add_work(&second, stats);
    *stats = second;
    return true;
}

typedef struct touch_search {
    collide_context *context;
    ode_record *record;
    ode_search work; // of the island in this step
} touch_search;

static bool find_touch(void *data, const dGeomID geom[2], const double *const velocity[2],
                       double step, bool aside, ode_touch *touch)
{
    touch_search *search = data;
    collide_context *c = search->context;
    for (int side = 0; side < 2; side++) {
        if (!velocity[side] && !sprag_ode_is_fixed(search->record, geom[side])) {
            return false;
        }
    }
    sprag_scratch_reset(&c->scratch);
    return sprag_ode_touch_ahead(c->geometry, &c->scratch, geom, velocity, step, aside,
                                 &search->work, touch);
}

// Bodies that turn may get into one another within the step: the contacts of one moment do not keep
// them apart. The energy of rebounds is limited first: their velocities lead to what they meet.
static void meet_touches(const world_state *w, const sprag_stribeck_options *options,
                         sprag_scratch *scratch, solved_island *to)
{
    ode_problem *pulled = &to->pulled;
    sprag_stats *stats = &to->stats;
    const int contacts = pulled->problem.contacts;
    touch_search search = {contacts > 0 ? collide_context_get() : NULL,
                           world_record(w),
                           {.left = TOUCH_ADVANCES + TOUCH_ADVANCES_OF_CONTACT * contacts}};
    for (int i = 0; i < ODE_TOUCHES_MAX && search.context && search.record; i++) {
        if (any_rebounds(&pulled->problem)) {
            sprag_stribeck_limit_energy(&pulled->problem, options, scratch, &pulled->solution,
                                        stats);
        }
        int added = sprag_ode_add_touches(pulled, contacts, find_touch, &search, scratch);
        to->unsearched = search.work.cut;
        if (added == 0) {
            return;
        }
        if (!solve_again(w, pulled, options, scratch, stats)) {
            sprag_ode_drop_touches(pulled, added);
            return;
        }
    }
}

static void solve(const step_context *c, sprag_scratch *scratch, solved_island *to)
{
    ode_problem *pulled = &to->pulled;
    sprag_stribeck_options options = options_for(c);
    options.memory = &pulled->memory;
    options.softness = island_softness(c->world, &pulled->problem);
    to->result = solve_problem(c->world, pulled, &options, scratch, &to->stats);
    while (to->result == SPRAG_OK && pulled->problem.rows > 0 &&
           sprag_ode_solve_again(pulled, c->world->warm_start, scratch)) {
        if (!solve_again(c->world, pulled, &options, scratch, &to->stats)) {
            pulled->solution = pulled->first;
            break;
        }
    }
    if (to->result == SPRAG_OK && settings_speculate(&c->world->settings)) {
        meet_touches(c->world, &options, scratch, to);
    }
    solve_file_offer(c->world, &pulled->problem, &options, to->result, &to->stats);
    if (to->result == SPRAG_OK && pulled->problem.contacts > 0) {
        sprag_ode_unstiffen(pulled);
        to->result = sprag_stribeck_limit_energy(&pulled->problem, &options, scratch,
                                                 &pulled->solution, &to->stats);
        sprag_ode_add_spent(pulled);
        sprag_ode_expect_rebounds(pulled, scratch);
    }
}

void solve_island(const step_context *c, const ode_island *island, sprag_scratch *scratch,
                  solved_island *to)
{
    const world_state *w = c->world;
    double start = now_us();
    to->stats = (sprag_stats){0};
    to->unsearched = 0;
    ode_stiffness stiffness = w->settings.stiffness;
    stiffness.speculative = settings_speculate(&w->settings);
    to->result =
        sprag_ode_pull(&to->pulled, w->id, island, c->step, &stiffness, w->warm_start, scratch);
    double pulled = now_us();
    to->pull_us = pulled - start;
    if (to->result == SPRAG_OK) {
        solve(c, scratch, to);
        sprag_ode_expect_mending(&to->pulled);
    }
    to->solve_us = now_us() - pulled;
    if (is_let_go(to)) {
        let_go(&to->pulled);
    }
    if (to->result == SPRAG_OK || is_let_go(to)) {
        to->feedbacks =
            sprag_ode_push_velocities(&to->pulled, w->warm_start, to->feedback, to->spin);
    } else {
        sprag_ode_restore(&to->pulled);
    }
    sprag_scratch_reset(scratch);
}

static sprag_world_statistics statistics_of(const solved_island *from)
{
    const ode_problem *pulled = &from->pulled;
    const sprag_stats *stats = &from->stats;
    sprag_world_statistics part = {.contacts = pulled->problem.contacts,
                                   .rows = pulled->joint_rows,
                                   .dropped = pulled->errors.dropped_contacts,
                                   .invalid_forces = pulled->errors.invalid_forces,
                                   .invalid_surfaces = pulled->errors.invalid_surfaces,
                                   .penetration = pulled->penetration,
                                   .strategy = stats->strategy,
                                   .iterations = stats->iterations,
                                   .factorizations = stats->factorizations,
                                   .sweeps = stats->sweeps,
                                   .residual = stats->residual,
                                   .bound_error = stats->bound_error,
                                   .stiction = stats->stiction,
                                   .pull_us = from->pull_us,
                                   .solve_us = from->solve_us,
                                   .unsearched = from->unsearched};
    if (pulled->problem.contacts > 0) {
        part.stiction_least = stats->stiction_least;
        part.stiffness_least = stats->stiffness[0];
        part.stiffness_most = stats->stiffness[1];
        part.damping_least = stats->damping[0];
        part.damping_most = stats->damping[1];
    }
    return part;
}

static void warn_of_input(world_state *w, const solved_island *from)
{
    const ode_problem *pulled = &from->pulled;
    if (pulled->errors.invalid_forces) {
        warn_of_force(w, pulled->errors.invalid_force);
    }
    if (pulled->errors.invalid_surfaces) {
        warn_of_surface(w, pulled->errors.invalid_surface, pulled->errors.surface_error);
    }
    if (pulled->errors.dropped_contacts) {
        warn_of_contact(w, pulled->errors.invalid_contact);
    }
    warn_of_one_way_stiffness(w, &pulled->island, from->stats.stiff_step);
}

bool finish_island(const step_context *c, const solved_island *from)
{
    world_state *w = c->world;
    const ode_problem *pulled = &from->pulled;
    const ode_island *island = &pulled->island;
    bool quick = c->called == STOCK_QUICK;
    if (pulled->errors.nonfinite_body) {
        w->statistics.pull_us += from->pull_us;
        freeze(c, island, pulled->errors.nonfinite_body);
        return true;
    }
    const sprag_world_statistics part = statistics_of(from);
    warn_of_input(w, from);
    statistics_add(&w->statistics, &part);
    if (is_let_go(from)) {
        warn_of_fallback(w, island, from->result);
        w->statistics.fallbacks++;
    } else if (from->result != SPRAG_OK) {
        return step_island_by_ode(c, island);
    }
    if (quick) {
        draw_as_quick_step(w->id, pulled->stock_rows);
    }
    sprag_ode_push_feedback(from->feedback, from->feedbacks, quick);
    // A force that a moved callback adds to a body that moves later in the same island acts in this
    // step under dWorldStep, and is lost under dWorldQuickStep.
    const bool adds = !quick && sprag_ode_any_calls_back(island->body, island->bodies);
    sprag_ode_move(island, c->step, adds ? w->workers->force : NULL, from->spin, pulled->spins);
    return true;
}

bool reserve_for_islands(const world_state *w, const ode_islands *islands)
{
    long joints = 0;
    int bodies = 0;
    ode_island_walk walk = {.islands = islands};
    while (sprag_ode_next_island(&walk)) {
        joints = walk.island.joints > joints ? walk.island.joints : joints;
        bodies = walk.island.bodies > bodies ? walk.island.bodies : bodies;
    }
    return workers_reserve_push(w->workers, joints, bodies);
}

bool reserve_for_world(const world_state *w)
{
    long joints = 0;
    int bodies = 0;
    bool known = sprag_ode_lists_are_known();
    for (dBodyID b = known ? sprag_ode_newest_body(w->id) : NULL; b; b = sprag_ode_older_body(b)) {
        bodies++;
    }
    for (dJointID j = known ? sprag_ode_newest_joint(w->id) : NULL; j;
         j = sprag_ode_older_joint(j)) {
        joints++;
    }
    return workers_reserve_push(w->workers, joints, bodies);
}

bool step_island(const step_context *c, const ode_island *island)
{
    workers *workers = c->world->workers;
    if (island->joints == 0) {
        step_free_body(c, island);
        return true;
    }
    solved_island one = {.feedback = workers->feedback, .spin = workers->spin};
    solve_island(c, island, &workers->thread[0].scratch, &one);
    return finish_island(c, &one);
}
