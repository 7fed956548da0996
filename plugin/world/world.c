#include "world.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "environment.h"
#include "frame_state.h"
#include "plan.h"
#include "workers.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static world_state *worlds; // by id; under the lock
static int last_number;

// The number of worlds with records, and of those for which sprag answers collision calls, plus 1
// if the environment asks for it; -1: the environment has not been read yet.
static atomic_int recording = -1, answering = -1;

// Increased whenever a world is made or forgotten, or an answer of world_that_collides may change.
static atomic_uint generation = 1;

// A child process must not inherit the lock of a thread that it does not have.
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void lock_records(bool lock_them)
{
    for (world_state *w = worlds; w; w = w->hh.next) {
        if (w->record) {
            sprag_ode_record_lock(w->record, lock_them);
        }
    }
}

static void lock_for_fork(void)
{
    sprag_ode_lock_default(true);
    pthread_mutex_lock(&lock);
    lock_records(true);
}

static void unlock_after_fork(void)
{
    lock_records(false);
    pthread_mutex_unlock(&lock);
    sprag_ode_lock_default(false);
}

static void unlock_in_child(void)
{
    lock_records(false);
    pthread_mutex_unlock(&lock);
    sprag_ode_renew_default_lock();
}

static void prepare_for_fork(void)
{
    pthread_atfork(lock_for_fork, unlock_after_fork, unlock_in_child);
}

static world_state *find(dWorldID id)
{
    world_state *w;
    HASH_FIND_PTR(worlds, &id, w);
    return w;
}

static void destroy(world_state *w)
{
    workers_free(w->workers);
    sprag_ode_warm_start_free(w->warm_start);
    frame_state_free(w->frame);
    for (int i = 0; i < 3; i++) {
        sprag_scratch_free(&w->linearize_scratch[i]);
    }
    sprag_ode_record_free(w->record);
    for (int i = 0; i < w->memories; i++) {
        free(w->memory[i].bytes);
    }
    free(w->memory);
    for (int i = 0; i < w->way.count; i++) {
        free(w->way.sample[i].place);
    }
    free(w->way.sample);
    free(w);
}

// Is the world recorded, by its settings or for a comparison with them?
static bool records(const settings *s)
{
    return (s && settings_record(s)) || plan_records();
}

static bool answers(const settings *s)
{
    return (s && settings_collide(s)) || plan_records();
}

static bool answers_at_once(const settings *s)
{
    return (s && settings_collide_at_once(s)) || plan_records();
}

// Whether a count is above 0. Costs a load and a comparison.
static bool any(atomic_int *count, bool (*of_environment)(const settings *))
{
    int now = atomic_load_explicit(count, memory_order_relaxed);
    if (now < 0 && atomic_compare_exchange_strong(
                       count, &now, of_environment(environment_readable_settings()))) {
        now = atomic_load(count);
    }
    return now > 0;
}

// Under the lock. A record that the method does not need any more stays until the world is
// destroyed: a step under way may use it.
static bool update_record(world_state *w)
{
    bool wanted = records(&w->settings);
    any(&recording, records);
    any(&answering, answers_at_once);
    if (wanted && !w->record) {
        w->record = sprag_ode_record_make();
        atomic_fetch_add(&recording, w->record != NULL);
    }
    if (answers(&w->settings) && !w->answers) {
        w->answers = true;
        atomic_fetch_add(&answering, 1);
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
    w->warm_start = sprag_ode_warm_start_make();
    w->workers = workers_make();
    if (!w->warm_start || !w->workers) {
        destroy(w);
        return NULL;
    }
    w->id = id;
    w->settings = *settings;
    w->number = ++last_number;
    HASH_ADD_PTR(worlds, id, w);
    if (!w->hh.tbl) { // HASH_NONFATAL_OOM: not added
        destroy(w);
        return NULL;
    }
    update_record(w);
    return w;
}

world_state *world_find_or_make(dWorldID id)
{
    static _Thread_local struct {
        unsigned generation; // before the search
        world_state *world;
    } last;
    const unsigned at = atomic_load(&generation);
    if (last.generation == at && last.world && last.world->id == id) {
        return last.world;
    }
    pthread_once(&once, prepare_for_fork);
    const settings *settings = environment_settings(); // may end the program: not under the lock
    pthread_mutex_lock(&lock);
    world_state *w = find(id);
    if (!w) {
        w = make(id, settings);
    }
    pthread_mutex_unlock(&lock);
    last.generation = at;
    last.world = w;
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
        atomic_fetch_sub(&recording, w->record != NULL);
        atomic_fetch_sub(&answering, w->answers);
        atomic_fetch_add(&generation, 1);
    }
    pthread_mutex_unlock(&lock);
    if (w) {
        destroy(w);
    }
}

bool world_forget_steps(world_state *w)
{
    ode_warm_start *none = sprag_ode_warm_start_make();
    if (none) {
        sprag_ode_warm_start_free(w->warm_start);
        w->warm_start = none;
        frame_state_free(w->frame);
        w->frame = NULL;
    }
    return none;
}

bool world_update_record(world_state *w)
{
    pthread_mutex_lock(&lock);
    bool done = update_record(w);
    pthread_mutex_unlock(&lock);
    return done;
}

bool world_any_is_recorded(void)
{
    return any(&recording, records) && method_is_possible();
}

bool world_any_collides(void)
{
    return any(&answering, answers_at_once) && method_is_possible();
}

ode_record *world_record(const world_state *w)
{
    return w && records(&w->settings) ? w->record : NULL;
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
        bool all = answers_at_once(environment_readable_settings());
        world_state *w = all ? world_find_or_make(id) : world_find(id);
        last.generation = at; // read before the search: a change since then makes the answer stale
        last.id = id;
        last.world = w && answers(&w->settings) && method_is_possible() ? w : NULL;
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
