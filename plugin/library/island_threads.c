// One thread steps the islands one after the other, in ODE's order. Several threads solve islands
// ahead: all up to the next one with a moved callback, because a callback is code of the program.
// Then the calling thread finishes the islands in ODE's order: messages, statistics, random
// numbers, feedback, ODE's own steps, motion and moved callbacks. So a step gives the same bits in
// any number of threads. Velocities are written only after a solve has succeeded, and accumulators
// are restored after one that lacked memory, so that ODE can still step the island.
#include "island_threads.h"

#include <stdatomic.h>

#include "clock.h"
#include "island_step.h"
#include "plugin_constants.h"
#include "statistics.h"
#include "traps.h"

// The islands that threads solve ahead.
typedef struct job {
    const step_context *context;
    workers *workers;
    const ode_islands *islands;
    int shares;
    int heaviest;    // number of the share with the most work, which is taken first
    atomic_int next; // number of shares taken so far
} job;

static void solve_share(const job *j, const share *s, sprag_scratch *scratch)
{
    ode_island_walk walk = s->from;
    solved_island *to = s->to;
    while (walk.next < s->end && sprag_ode_next_island(&walk)) {
        if (walk.island.joints > 0) {
            to->feedback = j->workers->feedback + (walk.island.joint - j->islands->joints);
            to->spin = j->workers->spin + (walk.island.body - j->islands->bodies);
            solve_island(j->context, &walk.island, scratch, to++);
        }
    }
}

// Called once in every thread.
static void solve_shares(void *data, int thread)
{
    job *j = data;
    const int traps = traps_hold();
    for (int i; (i = atomic_fetch_add(&j->next, 1)) < j->shares;) {
        solve_share(j, &j->workers->share[(i + j->heaviest) % j->shares],
                    &j->workers->thread[thread].scratch);
    }
    traps_release(traps);
}

typedef struct sizes {
    size_t solved; // islands with joints
    long work;     // the sum of their bodies and joints
    long joints;
    int bodies; // of all islands
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

static sizes sizes_of(const ode_islands *islands)
{
    sizes all = {0};
    ode_island_walk walk = {.islands = islands};
    while (sprag_ode_next_island(&walk)) {
        add_size(&all, &walk.island);
    }
    return all;
}

// Sets *run to the islands from `walk` to the first one with a moved callback, that one included.
static sizes next_run(share *run, ode_island_walk *walk)
{
    sizes all = {0};
    run->from = *walk;
    for (bool last = false; !last && sprag_ode_next_island(walk);) {
        add_size(&all, &walk->island);
        last = sprag_ode_any_calls_back(walk->island.body, walk->island.bodies);
    }
    run->end = walk->next;
    return all;
}

// Divides a run into shares of at least so much work.
static void divide(job *j, const share *run, long least_work)
{
    ode_island_walk walk = run->from;
    long work = 0, most_work = 0;
    solved_island *to = j->workers->solved;
    share *s = NULL;
    j->shares = j->heaviest = 0;
    while (walk.next < run->end) {
        if (!s) {
            s = &j->workers->share[j->shares++];
            *s = (share){.from = walk, .to = to};
            work = 0;
        }
        sprag_ode_next_island(&walk);
        work += walk.island.joints > 0 ? walk.island.bodies + walk.island.joints : 0;
        to += walk.island.joints > 0;
        s->end = walk.next;
        if (work > most_work) {
            most_work = work;
            j->heaviest = j->shares - 1;
        }
        s = work < least_work ? s : NULL;
    }
}

// The times of several threads add up to more than the elapsed time: scales them down to it.
static void scale_times(solved_island *of, size_t count, double elapsed)
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

// false: one thread is faster, or there is no memory.
static bool solve_ahead(const step_context *c, const ode_islands *islands, const share *run,
                        const sizes *all, int threads)
{
    workers *workers = c->world->workers;
    job j = {.context = c, .workers = workers, .islands = islands};
    double start = now_us();
    long even = all->work / (SHARES_PER_THREAD * threads) + 1;
    if (all->work < LEAST_WORK_FOR_THREADS ||
        !workers_reserve_shares(workers, all->solved, (size_t)(SHARES_PER_THREAD * threads) + 1)) {
        return false;
    }
    divide(&j, run, even > LEAST_WORK_PER_SHARE ? even : LEAST_WORK_PER_SHARE);
    if (j.shares == 1 || !workers_reserve_threads(workers, threads) ||
        !sprag_ode_warm_start_begin_threads(c->world->warm_start, all->joints)) {
        return false;
    }
    atomic_store(&j.next, 0);
    sprag_ode_run(c->world->id, threads, solve_shares, &j);
    solve_shares(&j, 0); // the shares that are left if threads could not be called
    sprag_ode_warm_start_end_threads(c->world->warm_start);
    scale_times(workers->solved, all->solved, now_us() - start);
    return true;
}

static bool finish_run(const step_context *c, const share *run, bool solved)
{
    ode_island_walk walk = run->from;
    const solved_island *from = c->world->workers->solved;
    bool done = true;
    while (done && walk.next < run->end && sprag_ode_next_island(&walk)) {
        done = solved && walk.island.joints > 0 ? finish_island(c, from++)
                                                : step_island(c, &walk.island);
    }
    return done;
}

bool step_all_islands(const step_context *c, const ode_islands *islands)
{
    sizes all = sizes_of(islands);
    ode_island_walk next = {.islands = islands};
    share run = {.from = next, .end = islands->count};
    sprag_world_statistics *s = &c->world->statistics;
    bool done = true;
    s->islands += (int)islands->count;
    s->bodies += all.bodies;
    int threads = all.work < LEAST_WORK_FOR_THREADS ? 1 : sprag_ode_threads(c->world->id);
    if (threads == 1 || !workers_reserve_push(c->world->workers, all.joints, all.bodies)) {
        return finish_run(c, &run, false);
    }
    while (next.next < islands->count && done) {
        all = next_run(&run, &next);
        done = finish_run(c, &run, solve_ahead(c, islands, &run, &all, threads));
    }
    return done;
}
