// The program's own threads, those of the threading implementation that it gave to the world: jobs
// are posted as stock posts its own. The calling thread does not only wait, it does the first job.
#define _GNU_SOURCE // a recursive mutex
#include "ode.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

enum { JOBS_MAX = 64 };

// dxWorld starts with dxThreadingBase.
typedef struct world_head {
    const void *virtual_functions, *default_provider;
    const dThreadingFunctionsInfo *functions;
    dThreadingImplementationID implementation;
    dCallWaitID wait; // for a world's steps; NULL: that of a world that shares its memory is used
} world_head;

static const world_head *head_of(dWorldID world)
{
    return (const world_head *)(const void *)world;
}

typedef struct run {
    void (*job)(void *data, int number);
    void *data;
    atomic_int done; // jobs; orders what they wrote, whatever the implementation does
} run;

static int do_nothing(void *data, dcallindex_t number, dCallReleaseeID this)
{
    (void)data, (void)number, (void)this;
    return 1;
}

static int do_job(void *data, dcallindex_t number, dCallReleaseeID this)
{
    run *r = data;
    (void)this;
    r->job(r->data, (int)number + 1);
    atomic_fetch_add(&r->done, 1);
    return 1;
}

bool sprag_ode_run(dWorldID world, int jobs, void (*job)(void *data, int number), void *data)
{
    const world_head *head = head_of(world);
    const dThreadingFunctionsInfo *f = head->functions;
    dThreadingImplementationID threads = head->implementation;
    if (jobs < 2 || !f->preallocate_resources_for_calls(threads, (ddependencycount_t)jobs)) {
        return false;
    }
    dCallWaitID wait = head->wait ? head->wait : f->alloc_call_wait(threads);
    if (!wait) {
        return false;
    }
    run r = {.job = job, .data = data};
    dCallReleaseeID all;
    int others = jobs - 1;
    f->post_call(threads, NULL, &all, (ddependencycount_t)others, NULL, wait, do_nothing, NULL, 0,
                 "sprag islands");
    for (int i = 0; i < others; i++) {
        f->post_call(threads, NULL, NULL, 0, all, NULL, do_job, &r, (dcallindex_t)i,
                     "sprag islands, a job");
    }
    job(data, 0);
    f->wait_call(threads, NULL, wait, NULL, "sprag islands, the end");
    if (head->wait) {
        f->reset_call_wait(threads, wait);
    } else {
        f->free_call_wait(threads, wait);
    }
    return atomic_load(&r.done) == others;
}

// ---- how many

static atomic_bool known;

// What ODE uses by default is one for all worlds, and fails when two threads step at once.
static bool has_default(dWorldID world)
{
    return !atomic_load_explicit(&known, memory_order_relaxed) || !head_of(world)->functions;
}

static pthread_mutex_t of_default = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

void sprag_ode_lock_default(bool hold)
{
    if (hold) {
        pthread_mutex_lock(&of_default);
    } else {
        pthread_mutex_unlock(&of_default);
    }
}

bool sprag_ode_process_one(dWorldID world, const ode_islands *one, dReal step, void *stepper,
                           void *max_calls)
{
    bool hold = has_default(world);
    unsigned limit = dWorldGetStepIslandsProcessingMaxThreadCount(world);
    if (hold) {
        sprag_ode_lock_default(true);
    }
    dWorldSetStepIslandsProcessingMaxThreadCount(world, 1);
    bool done = sprag_ode_process_islands(world, one, step, stepper, max_calls);
    dWorldSetStepIslandsProcessingMaxThreadCount(world, limit);
    if (hold) {
        sprag_ode_lock_default(false);
    }
    return done;
}

int sprag_ode_threads(dWorldID world)
{
    if (has_default(world)) {
        return 1;
    }
    const world_head *head = head_of(world);
    unsigned limit = dWorldGetStepIslandsProcessingMaxThreadCount(world);
    unsigned threads = head->functions->retrieve_thread_count(head->implementation);
    threads = limit && limit < threads ? limit : threads;
    return threads < 1 ? 1 : threads < JOBS_MAX ? (int)threads : JOBS_MAX;
}

// ---- moved callbacks

typedef void moved_fn(dBodyID);

static atomic_bool callback_known;

static moved_fn *moved_callback_of(dBodyID body)
{
    enum { MOVED_CALLBACK = 704 }; // in dxBody
    moved_fn *callback;
    memcpy(&callback, (const char *)(const void *)body + MOVED_CALLBACK, sizeof callback);
    return callback;
}

bool sprag_ode_calls_back(dBodyID body)
{
    return !atomic_load_explicit(&callback_known, memory_order_relaxed) || moved_callback_of(body);
}

static void ignore_move(dBodyID body)
{
    (void)body;
}

void sprag_ode_check_callback(dBodyID body, void set(dBodyID, void (*)(dBodyID)))
{
    bool none = !moved_callback_of(body);
    set(body, ignore_move);
    callback_known = none && moved_callback_of(body) == ignore_move;
    set(body, NULL);
}

void sprag_ode_check_threads(dWorldID world)
{
    const world_head *head = head_of(world);
    dThreadingImplementationID alone = dThreadingAllocateSelfThreadedImplementation();
    const dThreadingFunctionsInfo *functions =
        alone ? dThreadingImplementationGetFunctions(alone) : NULL;
    bool none = !head->functions && !head->implementation;
    if (functions) {
        ode_islands found;
        dWorldSetStepThreadingImplementation(world, functions, alone);
        known = none && head->functions == functions && head->implementation == alone &&
                !head->wait && sprag_ode_find_islands(world, 1, true, &found) && head->wait;
        dWorldSetStepThreadingImplementation(world, NULL, NULL);
    }
    dThreadingFreeImplementation(alone);
}
