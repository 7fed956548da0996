// The islands of a step, in the program's own threads if it has given the world any.
//
// In one thread islands are stepped one after the other, in ODE's order. Several solve ahead what
// no code of the program comes between, that is up to the next island of which a body has a moved
// callback, every thread with a scratch of its own: pull, solve, velocities. Then, in ODE's order
// and in the calling thread, comes what is seen outside: messages, statistics, random numbers,
// feedback, stock's steps, motion and moved callbacks. So a step is the same, bit by bit, in any
// number of threads. Nothing is written into ODE before a solve has succeeded, so stock can still
// take an island on which every strategy fails.
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

// One island between its solve and its motion.
typedef struct solved {
    ode_problem pulled; // its arrays are gone
    sprag_stats stats;
    sprag_result result;
    double pull_us, solve_us;
    ode_feedback *feedback; // room for one of each joint
    int feedbacks;
} solved;

// Islands that follow one another: what a thread takes at a time.
typedef struct share {
    island_walk from; // the first of them is the next
    size_t end;
    solved *to; // of the first that has joints
} share;

typedef struct lane {
    sprag_scratch scratch;
    char apart[128]; // from what other threads write
} lane;

struct crew {
    lane *lane; // the first: of the calling thread
    int lanes;
    solved *solved;
    size_t room;
    ode_feedback *feedback;
    size_t feedback_room;
    double (*force)[6]; // of an island that calls the program back
    size_t force_room;
    share *share;
    size_t share_room;
    int shares;
    // of the step under way:
    world_state *world;
    const ode_islands *islands;
    dReal step;
    stock called;
    int heaviest;    // share
    atomic_int next; // share, counted from the heaviest
};

void crew_free(crew *c)
{
    if (c) {
        for (int i = 0; i < c->lanes; i++) {
            sprag_scratch_free(&c->lane[i].scratch);
        }
        free(c->lane);
        free(c->solved);
        free(c->feedback);
        free(c->force);
        free(c->share);
        free(c);
    }
}

crew *crew_make(void)
{
    crew *c = calloc(1, sizeof *c);
    lane *only = calloc(1, sizeof *only);
    if (!c || !only) {
        free(c);
        free(only);
        return NULL;
    }
    c->lane = only;
    c->lanes = 1;
    return c;
}

const sprag_scratch *crew_scratch(const crew *c)
{
    return &c->lane[0].scratch;
}

// ---- what an island did

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
    s->dropped += pulled->errors.dropped_contacts;
    s->penetration = fmax(s->penetration, pulled->penetration);
    s->iterations += stats->iterations;
    s->factorizations += stats->factorizations;
    s->sweeps += stats->sweeps;
    s->residual = fmax(s->residual, sprag_stats_error(stats));
    s->bound_error = fmax(s->bound_error, stats->bound_error);
    s->stiction = fmax(s->stiction, stats->stiction);
    count_contacts(s, pulled->problem.contacts, stats);
    s->strategy = stats->strategy > s->strategy ? stats->strategy : s->strategy;
}

// ---- one island

// Stock takes an island that we cannot solve.
bool step_by_stock_island(world_state *w, const ode_island *island, dReal step, stock called,
                          sprag_result result)
{
    warn_of_fallback(w, island, result);
    w->statistics.strategy = SPRAG_STRATEGY_STOCK;
    return sprag_ode_step_island(w->id, island, step, called == STOCK_QUICK);
}

static void hold(world_state *w, const ode_island *island, dBodyID culprit)
{
    hold_bodies(w, culprit, island->bodies);
    sprag_ode_freeze(island);
}

// An island without joints is one body.
static void step_free(world_state *w, const ode_island *island, dReal step)
{
    bool invalid_force = false;
    if (!sprag_ode_step_free(island->body[0], w->id, step, &invalid_force)) {
        hold(w, island, island->body[0]);
    } else if (invalid_force) {
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

// to: of it the feedback's room is set.
static void solve_island(const crew *c, const ode_island *island, sprag_scratch *scratch,
                         solved *to)
{
    const world_state *w = c->world;
    double start = now_us();
    to->stats = (sprag_stats){0};
    to->result = sprag_ode_pull(&to->pulled, w->id, island, c->step, &w->settings.stiffness,
                                w->memory, scratch);
    double pulled = now_us();
    to->pull_us = pulled - start;
    if (to->result == SPRAG_OK) {
        sprag_stribeck_options options = options_for(w, c->called);
        to->result = sprag_stribeck_solve(&to->pulled.problem, &options, scratch,
                                          &to->pulled.solution, &to->stats);
    }
    to->solve_us = now_us() - pulled;
    if (to->result == SPRAG_OK) {
        to->feedbacks = sprag_ode_push_velocities(&to->pulled, w->memory, to->feedback);
    } else {
        sprag_ode_restore(&to->pulled);
    }
    sprag_scratch_reset(scratch);
}

// Of so many and a quarter more; as it was, if there is no memory.
static void *with_room(void *array, size_t *room, size_t wanted, size_t size)
{
    size_t more = wanted + wanted / 4;
    void *wider = wanted > *room ? realloc(array, more * size) : NULL;
    *room = wider ? more : *room;
    return wider ? wider : array;
}

static bool calls_back(const ode_island *island)
{
    bool any = false;
    for (int i = 0; i < island->bodies && !any; i++) {
        any = sprag_ode_calls_back(island->body[i]);
    }
    return any;
}

// What a callback adds to a body of its own island that is moved later acts in dWorldStep, and is
// lost in dWorldQuickStep.
static double (*force_room(crew *c, const ode_island *island))[6]
{
    size_t wanted = (size_t)island->bodies;
    if (c->called == STOCK_QUICK || !calls_back(island)) {
        return NULL;
    }
    c->force = with_room(c->force, &c->force_room, wanted, sizeof *c->force);
    return wanted <= c->force_room ? c->force : NULL;
}

static bool finish_island(crew *c, const solved *from)
{
    world_state *w = c->world;
    const ode_problem *pulled = &from->pulled;
    const ode_island *island = &pulled->island;
    w->statistics.pull_us += from->pull_us;
    if (pulled->errors.nonfinite_body) {
        hold(w, island, pulled->errors.nonfinite_body);
        return true;
    }
    if (pulled->errors.invalid_forces) {
        ignore_forces(w, pulled->errors.invalid_force, pulled->errors.invalid_forces);
    }
    if (pulled->errors.invalid_surfaces) {
        warn_of_surface(w, pulled->errors.invalid_surface, pulled->errors.surface_error,
                        pulled->errors.invalid_surfaces);
    }
    if (pulled->errors.dropped_contacts) {
        warn_of_dropped(w, pulled->errors.invalid_contact);
    }
    warn_of_stiffness(w, island, from->stats.stiff_step);
    w->statistics.solve_us += from->solve_us;
    count_island(&w->statistics, pulled, &from->stats);
    if (from->result != SPRAG_OK) {
        return step_by_stock_island(w, island, c->step, c->called, from->result);
    }
    if (c->called == STOCK_QUICK) {
        draw_as_quick_step(w->id, pulled->stock_rows);
    }
    sprag_ode_push_feedback(from->feedback, from->feedbacks);
    sprag_ode_move(island, c->step, force_room(c, island));
    return true;
}

static bool make_feedback_room(crew *c, long joints)
{
    size_t wanted = (size_t)joints;
    c->feedback = with_room(c->feedback, &c->feedback_room, wanted, sizeof *c->feedback);
    return wanted <= c->feedback_room;
}

static void start_step(world_state *w, dReal step, stock called)
{
    w->crew->world = w;
    w->crew->step = step;
    w->crew->called = called;
}

bool step_any_island(world_state *w, const ode_island *island, dReal step, stock called)
{
    if (island->joints == 0) {
        step_free(w, island, step);
        return true;
    }
    crew *c = w->crew;
    if (!make_feedback_room(c, island->joints)) {
        return false;
    }
    solved one = {.feedback = c->feedback};
    start_step(w, step, called);
    solve_island(c, island, &c->lane[0].scratch, &one);
    return finish_island(c, &one);
}

// ---- all of them

bool walk_on(island_walk *walk)
{
    const ode_islands *is = walk->islands;
    ode_island *at = &walk->island;
    if (walk->next == is->count) {
        return false;
    }
    at->body = walk->next ? at->body + at->bodies : is->bodies;
    at->joint = walk->next ? at->joint + at->joints : is->joints;
    at->bodies = (int)is->sizes[2 * walk->next];
    at->joints = (int)is->sizes[2 * walk->next + 1];
    walk->next++;
    return true;
}

static void solve_share(crew *c, const share *s, sprag_scratch *scratch)
{
    island_walk walk = s->from;
    solved *to = s->to;
    while (walk.next < s->end && walk_on(&walk)) {
        if (walk.island.joints > 0) {
            to->feedback = c->feedback + (walk.island.joint - c->islands->joints);
            solve_island(c, &walk.island, scratch, to++);
        }
    }
}

static void solve_shares(void *data, int number)
{
    crew *c = data;
    for (int i; (i = atomic_fetch_add(&c->next, 1)) < c->shares;) {
        solve_share(c, &c->share[(i + c->heaviest) % c->shares], &c->lane[number].scratch);
    }
}

static void widen(sprag_scratch *scratch, size_t room)
{
    long allocations = scratch->allocations;
    sprag_scratch_free(scratch);
    scratch->allocations = allocations;
    sprag_scratch_take(scratch, room, 1);
    sprag_scratch_reset(scratch);
}

// A scratch for every thread, each with the room of the largest: which thread meets the largest
// island is chance. false: no memory.
static bool make_lanes(crew *c, int threads)
{
    size_t most = 0;
    if (threads > c->lanes) {
        lane *wider = realloc(c->lane, (size_t)threads * sizeof *wider);
        if (!wider) {
            return false;
        }
        memset(wider + c->lanes, 0, (size_t)(threads - c->lanes) * sizeof *wider);
        c->lane = wider;
        c->lanes = threads;
    }
    for (int i = 0; i < threads; i++) {
        most = c->lane[i].scratch.room > most ? c->lane[i].scratch.room : most;
    }
    for (int i = 0; i < threads; i++) {
        if (c->lane[i].scratch.room < most) {
            widen(&c->lane[i].scratch, most);
        }
    }
    return true;
}

typedef struct sizes {
    size_t solved; // islands that have joints
    long work;     // of these, bodies and joints
    long joints;
    int bodies; // of all
} sizes;

static void add_size(sizes *all, const ode_island *island)
{
    all->bodies += island->bodies;
    if (island->joints > 0) {
        all->solved++;
        all->work += island->bodies + island->joints;
        all->joints += island->joints;
    }
}

static sizes measure(const ode_islands *islands)
{
    sizes all = {0};
    island_walk walk = {.islands = islands};
    while (walk_on(&walk)) {
        add_size(&all, &walk.island);
    }
    return all;
}

// From where `run` ends, at `walk`, to the first island that calls the program back.
static sizes go_on(share *run, island_walk *walk)
{
    sizes all = {0};
    run->from = *walk;
    for (bool last = false; !last && walk_on(walk);) {
        add_size(&all, &walk->island);
        last = calls_back(&walk->island);
    }
    run->end = walk->next;
    return all;
}

static bool make_room(crew *c, size_t islands, size_t shares)
{
    c->solved = with_room(c->solved, &c->room, islands, sizeof *c->solved);
    c->share = with_room(c->share, &c->share_room, shares, sizeof *c->share);
    return islands <= c->room && shares <= c->share_room;
}

// Shares of so much work, or of one island that has more.
static void divide(crew *c, const share *run, long enough)
{
    island_walk walk = run->from;
    long work = 0, heaviest = 0;
    solved *to = c->solved;
    share *s = NULL;
    c->shares = c->heaviest = 0;
    while (walk.next < run->end) {
        if (!s) {
            s = &c->share[c->shares++];
            *s = (share){.from = walk, .to = to};
            work = 0;
        }
        walk_on(&walk);
        work += walk.island.joints > 0 ? walk.island.bodies + walk.island.joints : 0;
        to += walk.island.joints > 0;
        s->end = walk.next;
        if (work > heaviest) {
            heaviest = work;
            c->heaviest = c->shares - 1;
        }
        s = work < enough ? s : NULL;
    }
}

// Several threads take longer than the clock on the wall says.
static void scale_times(solved *of, size_t count, double elapsed)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += of[i].pull_us + of[i].solve_us;
    }
    for (size_t i = 0; i < count && sum > elapsed; i++) {
        of[i].pull_us *= elapsed / sum;
        of[i].solve_us *= elapsed / sum;
    }
}

// Bodies and joints, at 0.4 us or more, that several threads are worth: one takes 30 us to wake.
enum { SHARES_EACH = 8, WORK_OF_SHARE = 64, WORK_OF_THREADS = 1024 };

// false: none of them is; there are too few, or there is no memory.
static bool solve_ahead(crew *c, const share *run, const sizes *all, int threads)
{
    double start = now_us();
    long even = all->work / (SHARES_EACH * threads) + 1;
    if (all->work < WORK_OF_THREADS ||
        !make_room(c, all->solved, (size_t)(SHARES_EACH * threads) + 1)) {
        return false;
    }
    divide(c, run, even > WORK_OF_SHARE ? even : WORK_OF_SHARE);
    if (c->shares == 1 || !make_lanes(c, threads) ||
        !sprag_ode_warm_start_begin_threads(c->world->memory, all->joints)) {
        return false;
    }
    atomic_store(&c->next, 0);
    sprag_ode_run(c->world->id, threads, solve_shares, c);
    solve_shares(c, 0); // what is left, if nobody could be called
    sprag_ode_warm_start_end_threads(c->world->memory);
    scale_times(c->solved, all->solved, now_us() - start);
    return true;
}

static bool step_run(crew *c, const share *run, bool ahead)
{
    island_walk walk = run->from;
    const solved *from = c->solved;
    bool done = true;
    while (done && walk.next < run->end && walk_on(&walk)) {
        done = ahead && walk.island.joints > 0
                   ? finish_island(c, from++)
                   : step_any_island(c->world, &walk.island, c->step, c->called);
    }
    return done;
}

bool step_each_island(world_state *w, const ode_islands *islands, dReal step, stock called)
{
    crew *c = w->crew;
    sizes all = measure(islands);
    island_walk next = {.islands = islands};
    share run = {.from = next, .end = islands->count};
    bool done = true;
    start_step(w, step, called);
    c->islands = islands;
    w->statistics.islands = (int)islands->count;
    w->statistics.bodies += all.bodies;
    int threads = all.work < WORK_OF_THREADS ? 1 : sprag_ode_threads(w->id);
    if (threads == 1 || !make_feedback_room(c, all.joints)) {
        return step_run(c, &run, false);
    }
    while (next.next < islands->count && done) {
        all = go_on(&run, &next);
        done = step_run(c, &run, solve_ahead(c, &run, &all, threads));
    }
    return done;
}
