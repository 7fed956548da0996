// State per world, found by the dWorldID that the program already has. A world that is destroyed
// takes its state along: the next one may be made at the same address.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "plugin.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static world_state *worlds; // by id, under the lock
static int numbered;

static atomic_int colliding = -1;  // worlds with records, and the environment; -1: not looked yet
static atomic_uint generation = 1; // changes with what world_that_collides may say

// A child process must not inherit the lock of a thread that it does not have.
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void hold_records(bool hold)
{
    for (world_state *w = worlds; w; w = w->hh.next) {
        if (w->record) {
            sprag_ode_record_lock(w->record, hold);
        }
    }
}

static void lock_for_fork(void)
{
    sprag_ode_lock_default(true);
    pthread_mutex_lock(&lock);
    hold_records(true);
}

static void unlock_after_fork(void)
{
    hold_records(false);
    pthread_mutex_unlock(&lock);
    sprag_ode_lock_default(false);
}

static void prepare_for_fork(void)
{
    pthread_atfork(lock_for_fork, unlock_after_fork, unlock_after_fork);
}

static world_state *find(dWorldID id)
{
    world_state *w;
    HASH_FIND_PTR(worlds, &id, w);
    return w;
}

static void destroy(world_state *w)
{
    crew_free(w->crew);
    sprag_ode_warm_start_free(w->memory);
    advance_free(w->advance);
    sprag_ode_record_free(w->record);
    free(w);
}

static void look_at_environment(void)
{
    int unknown = -1;
    if (atomic_load(&colliding) < 0) {
        atomic_compare_exchange_strong(&colliding, &unknown, environment_collides());
    }
}

// Under the lock. A record that is no longer wanted stays until the world goes: a step may have it.
static bool set_record(world_state *w)
{
    bool wanted = method_answers_collisions(w->settings.method);
    look_at_environment();
    if (wanted && !w->record) {
        w->record = sprag_ode_record_make();
        if (w->record) {
            atomic_fetch_add(&colliding, 1);
        }
    }
    atomic_fetch_add(&generation, 1);
    return w->record || !wanted;
}

static world_state *make(dWorldID id, const settings *settings)
{
    world_state *w = calloc(1, sizeof *w);
    if (!w) {
        return NULL;
    }
    w->memory = sprag_ode_warm_start_make();
    w->crew = crew_make();
    if (!w->memory || !w->crew) {
        destroy(w);
        return NULL;
    }
    w->id = id;
    w->settings = *settings;
    w->number = ++numbered;
    HASH_ADD_PTR(worlds, id, w);
    if (!w->hh.tbl) { // HASH_NONFATAL_OOM: not added
        destroy(w);
        return NULL;
    }
    set_record(w);
    return w;
}

world_state *world_find_or_make(dWorldID id)
{
    pthread_once(&once, prepare_for_fork);
    const settings *settings = settings_of_environment(); // may end the program: not under the lock
    pthread_mutex_lock(&lock);
    world_state *w = find(id);
    if (!w) {
        w = make(id, settings);
    }
    pthread_mutex_unlock(&lock);
    return w;
}

world_state *world_find(dWorldID id)
{
    pthread_mutex_lock(&lock);
    world_state *w = find(id);
    pthread_mutex_unlock(&lock);
    return w;
}

void world_forget(dWorldID id)
{
    pthread_mutex_lock(&lock);
    world_state *w = find(id);
    if (w) {
        HASH_DEL(worlds, w);
        atomic_fetch_sub(&colliding, w->record != NULL);
        atomic_fetch_add(&generation, 1);
    }
    pthread_mutex_unlock(&lock);
    if (w) {
        destroy(w);
    }
}

bool world_set_record(world_state *w)
{
    pthread_mutex_lock(&lock);
    bool done = set_record(w);
    pthread_mutex_unlock(&lock);
    return done;
}

bool world_any_collides(void)
{
    if (atomic_load_explicit(&colliding, memory_order_relaxed) < 0) {
        look_at_environment();
    }
    return atomic_load_explicit(&colliding, memory_order_relaxed) > 0 && method_is_possible();
}

world_state *world_that_collides(dWorldID id)
{
    static _Thread_local struct {
        unsigned generation;
        dWorldID id;
        world_state *world;
    } last;
    unsigned at = atomic_load(&generation);
    if (last.generation != at || last.id != id) {
        world_state *w = environment_collides() ? world_find_or_make(id) : world_find(id);
        bool ours = w && w->record && method_answers_collisions(w->settings.method);
        last.generation = at; // if it has changed meanwhile, we look again
        last.id = id;
        last.world = ours && method_is_possible() ? w : NULL;
    }
    return last.world;
}

void world_records_forget(dGeomID id)
{
    pthread_mutex_lock(&lock);
    for (world_state *w = worlds; w; w = w->hh.next) {
        if (w->record) {
            sprag_ode_record_forget(w->record, id);
        }
    }
    pthread_mutex_unlock(&lock);
}
