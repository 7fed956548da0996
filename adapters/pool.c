// The program's own threads, those of the threading implementation that it gave to the world.
//
// ODE's dxProcessIslands posts, waits and limits as the program asked for; it knows nothing of what
// a "stepper" does with an "island". So jobs are handed to it as empty islands.
#include "adapters/ode.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>

enum { JOBS_MAX = 64 };

// dxWorld starts with dxThreadingBase.
typedef struct world_head {
    const void *virtual_functions, *default_provider;
    const dThreadingFunctionsInfo *functions;
    dThreadingImplementationID implementation;
} world_head;

// dxStepperProcessingCallContext
typedef struct stepper_context {
    dWorldID world;
    dReal step;
    const void *arena, *releasee;
    dBodyID const *bodies;
} stepper_context;

typedef struct run {
    void (*job)(void *data, int number);
    void *data;
    atomic_int next;
} run;

static void call_job(const stepper_context *context)
{
    run *r = (run *)(uintptr_t)context->bodies;
    r->job(r->data, atomic_fetch_add(&r->next, 1));
}

static unsigned no_more_calls(unsigned active, unsigned allowed)
{
    (void)active, (void)allowed;
    return 1;
}

bool sprag_ode_run(dWorldID world, int jobs, void (*job)(void *data, int number), void *data)
{
    static const unsigned nothing[2 * JOBS_MAX];
    run r = {.job = job, .data = data};
    ode_islands empty = {(size_t)jobs, nothing, (dBodyID const *)(const void *)&r, NULL};
    return jobs <= JOBS_MAX &&
           sprag_ode_process_islands(world, &empty, 1, (void *)(intptr_t)call_job,
                                     (void *)(intptr_t)no_more_calls);
}

// ---- how many

static atomic_bool known;

int sprag_ode_threads(dWorldID world)
{
    const world_head *head = (const world_head *)(const void *)world;
    // ODE's own default is one for all worlds, and not made for several threads: it is left alone.
    if (!atomic_load_explicit(&known, memory_order_relaxed) || !head->functions) {
        return 1;
    }
    unsigned limit = dWorldGetStepIslandsProcessingMaxThreadCount(world);
    unsigned threads = head->functions->retrieve_thread_count(head->implementation);
    threads = limit && limit < threads ? limit : threads;
    return threads < 1 ? 1 : threads < JOBS_MAX ? (int)threads : JOBS_MAX;
}

// ---- the check at start

typedef struct probe {
    dBodyID const *bodies;
    int calls;
} probe;

static _Thread_local probe *probing; // in its only thread

static void look_at_context(const stepper_context *context)
{
    probing->calls += context->bodies == probing->bodies;
}

static bool context_is_known(dWorldID world)
{
    const unsigned nothing[4] = {0};
    dBodyID body = NULL;
    probe p = {.bodies = &body};
    ode_islands empty = {2, nothing, p.bodies, NULL};
    probing = &p;
    return sprag_ode_process_islands(world, &empty, 1, (void *)(intptr_t)look_at_context,
                                     (void *)(intptr_t)no_more_calls) &&
           p.calls == 2;
}

void sprag_ode_check_threads(dWorldID world)
{
    const world_head *head = (const world_head *)(const void *)world;
    dThreadingImplementationID alone = dThreadingAllocateSelfThreadedImplementation();
    const dThreadingFunctionsInfo *functions =
        alone ? dThreadingImplementationGetFunctions(alone) : NULL;
    bool none = !head->functions && !head->implementation;
    if (functions) {
        dWorldSetStepThreadingImplementation(world, functions, alone);
        ode_islands found;
        known = none && head->functions == functions && head->implementation == alone &&
                sprag_ode_find_islands(world, 1, true, &found) && context_is_known(world);
        dWorldSetStepThreadingImplementation(world, NULL, NULL);
    }
    dThreadingFreeImplementation(alone);
}
