// State per world, found by the dWorldID that the program already has. A world that is destroyed
// takes its state along: the next one may be made at the same address.
#include <pthread.h>
#include <stdlib.h>

#include "plugin/plugin.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static world_state *worlds; // by id, under the lock
static int numbered;

// A child process must not inherit the lock of a thread that it does not have.
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void lock_for_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void unlock_after_fork(void)
{
    pthread_mutex_unlock(&lock);
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
    sprag_scratch_free(&w->scratch);
    sprag_ode_memory_free(w->memory);
    free(w);
}

static world_state *make(dWorldID id, const settings *settings)
{
    world_state *w = calloc(1, sizeof *w);
    ode_memory *memory = sprag_ode_memory_make();
    if (!w || !memory) {
        sprag_ode_memory_free(memory);
        free(w);
        return NULL;
    }
    w->id = id;
    w->memory = memory;
    w->settings = *settings;
    w->number = ++numbered;
    HASH_ADD_PTR(worlds, id, w);
    if (!w->hh.tbl) { // HASH_NONFATAL_OOM: not added
        destroy(w);
        return NULL;
    }
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
    }
    pthread_mutex_unlock(&lock);
    if (w) {
        destroy(w);
    }
}
