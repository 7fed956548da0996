// ODE's own step in parts: it finds the islands, and a stock stepper takes one of them.
#define _GNU_SOURCE // a recursive mutex
#include "symbols.h"

#include <pthread.h>
#include <stdint.h>

// The arena of before 0.13 keeps what a step has taken from it until it is told to let go.
static void clean_up(dWorldID world)
{
    if (sprag_real_clean_up()) {
        sprag_real_clean_up()(world);
    }
}

// Webots' dWorldQuickStep has no fluids.
bool sprag_ode_has_fluids(bool quick)
{
    return !quick && sprag_real_fluid_step();
}

void sprag_ode_begin_step(dWorldID world, bool quick)
{
    if (sprag_ode_has_fluids(quick)) {
        sprag_real_fluid_step()(world);
    }
}

void sprag_ode_end_step(dWorldID world)
{
    clean_up(world);
}

bool sprag_ode_find_islands(dWorldID world, dReal step, ode_islands *islands)
{
    *islands = (ode_islands){0};
    clean_up(world); // the step may have found islands before
    return sprag_real_reallocate()(world, islands, step, sprag_real_quick_memory());
}

bool sprag_ode_process_islands(dWorldID world, const ode_islands *islands, dReal step,
                               void *stepper, void *max_calls)
{
    if (sprag_real_process_islands()) {
        return sprag_real_process_islands()(world, islands, step, stepper, max_calls);
    }
    sprag_real_process_in_arena()(world, islands, step, stepper);
    return true;
}

bool sprag_ode_is_quick_stepper(void *stepper)
{
    return stepper == (void *)(intptr_t)sprag_real_quick_island();
}

// ---- one island

static pthread_mutex_t default_threads = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

void sprag_ode_lock_default(bool lock)
{
    if (lock) {
        pthread_mutex_lock(&default_threads);
    } else {
        pthread_mutex_unlock(&default_threads);
    }
}

// The child is not the thread that has taken the lock: glibc refuses to release a recursive one.
void sprag_ode_renew_default_lock(void)
{
    default_threads = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
}

// dxProcessIslands for one island, in one thread: QuickStep in several threads is not reproducible.
// Worlds with ODE's default threading implementation share it: their calls wait for one another.
static bool process_one(dWorldID world, const ode_islands *one, dReal step, void *stepper,
                        void *max_calls)
{
    if (!sprag_real_island_threads()) {
        return sprag_ode_process_islands(world, one, step, stepper, max_calls);
    }
    bool lock = sprag_ode_uses_default_threads(world);
    unsigned limit = sprag_real_island_threads()(world);
    if (lock) {
        sprag_ode_lock_default(true);
    }
    sprag_real_set_island_threads()(world, 1);
    bool done = sprag_ode_process_islands(world, one, step, stepper, max_calls);
    sprag_real_set_island_threads()(world, limit);
    if (lock) {
        sprag_ode_lock_default(false);
    }
    return done;
}

// QuickStep takes so many iterations and ends; dWorldStep's pivots may take minutes, and end the
// program where rows depend on one another. It takes small islands whose memory does not suffice
// for QuickStep.
bool sprag_ode_step_island(dWorldID world, const ode_island *island, dReal step, bool quick,
                           bool memory_of_step)
{
    unsigned sizes[2] = {(unsigned)island->bodies, (unsigned)island->joints};
    ode_islands one = {1, sizes, island->body, island->joint};
    if (memory_of_step &&
        sprag_real_step_memory()(island->body, sizes[0], island->joint, sizes[1]) <
            sprag_real_quick_memory()(island->body, sizes[0], island->joint, sizes[1])) {
        return process_one(world, &one, step, (void *)(intptr_t)sprag_real_step_island(),
                           (void *)(intptr_t)sprag_real_step_calls());
    }
    unsigned long seed = dRandGetSeed();
    bool done = process_one(world, &one, step, (void *)(intptr_t)sprag_real_quick_island(),
                            (void *)(intptr_t)sprag_real_quick_calls());
    if (!quick) { // dWorldStep draws no random numbers
        dRandSetSeed(seed);
    }
    return done;
}

void sprag_ode_step_body(dBodyID body, dReal step)
{
    sprag_real_step_body()(body, step);
}
