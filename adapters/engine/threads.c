// Jobs in the threads of the threading implementation that the program has set for a world. They
// are posted as stock posts its own; the calling thread runs the first of them.
#include "layout.h"

#include <stdatomic.h>

// Threads that one step uses at most; each has scratch memory of its own.
enum { JOBS_MAX = 64 };

typedef struct run {
    void (*job)(void *data, int number);
    void *data;
    atomic_int done; // jobs; its updates order what the jobs have written
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
    const ode_world_head *head = sprag_ode_world_head(world);
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

int sprag_ode_threads(dWorldID world)
{
    if (sprag_ode_uses_default_threads(world)) {
        return 1;
    }
    const ode_world_head *head = sprag_ode_world_head(world);
    unsigned limit = sprag_real_island_threads()(world);
    unsigned threads = head->functions->retrieve_thread_count(head->implementation);
    threads = limit && limit < threads ? limit : threads;
    return threads < 1 ? 1 : threads < JOBS_MAX ? (int)threads : JOBS_MAX;
}

void sprag_ode_use_one_thread(dWorldID world)
{
    if (!sprag_ode_uses_default_threads(world)) {
        dThreadingImplementationID alone = sprag_real_self_threaded()();
        const dThreadingFunctionsInfo *functions = sprag_real_functions_of_threads()(alone);
        sprag_real_set_threads()(world, functions, alone);
    }
}
