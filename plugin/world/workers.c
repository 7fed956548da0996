#include "workers.h"

#include <stdlib.h>
#include <string.h>

workers *workers_make(void)
{
    workers *w = calloc(1, sizeof *w);
    thread_context *only = calloc(1, sizeof *only);
    if (!w || !only) {
        free(w);
        free(only);
        return NULL;
    }
    w->thread = only;
    w->threads = 1;
    return w;
}

void workers_free(workers *w)
{
    if (w) {
        for (int i = 0; i < w->threads; i++) {
            sprag_scratch_free(&w->thread[i].scratch);
        }
        free(w->thread);
        free(w->solved);
        free(w->feedback);
        free(w->spin);
        free(w->force);
        free(w->share);
        free(w);
    }
}

const sprag_scratch *workers_scratch(const workers *w)
{
    return &w->thread[0].scratch;
}

// Grows an array to the wanted number of entries and a quarter more. Without memory it stays as it
// is.
static void *grown(void *array, size_t *room, size_t wanted, size_t size)
{
    size_t more = wanted + wanted / 4;
    void *larger = wanted > *room ? realloc(array, more * size) : NULL;
    *room = larger ? more : *room;
    return larger ? larger : array;
}

bool workers_reserve_push(workers *w, long joints, int bodies)
{
    size_t wanted = (size_t)joints, of_bodies = (size_t)bodies;
    w->feedback = grown(w->feedback, &w->feedback_room, wanted, sizeof *w->feedback);
    w->spin = grown(w->spin, &w->spin_room, of_bodies, sizeof *w->spin);
    w->force = grown(w->force, &w->force_room, of_bodies, sizeof *w->force);
    return wanted <= w->feedback_room && of_bodies <= w->spin_room && of_bodies <= w->force_room;
}

bool workers_reserve_shares(workers *w, size_t islands, size_t shares)
{
    w->solved = grown(w->solved, &w->solved_room, islands, sizeof *w->solved);
    w->share = grown(w->share, &w->share_room, shares, sizeof *w->share);
    return islands <= w->solved_room && shares <= w->share_room;
}

static void grow_scratch(sprag_scratch *scratch, size_t room)
{
    long allocations = scratch->allocations;
    sprag_scratch_free(scratch);
    scratch->allocations = allocations;
    sprag_scratch_take_raw(scratch, room, 1);
    sprag_scratch_reset(scratch);
}

bool workers_reserve_threads(workers *w, int threads)
{
    size_t most = 0;
    if (threads > w->threads) {
        thread_context *more = realloc(w->thread, (size_t)threads * sizeof *more);
        if (!more) {
            return false;
        }
        memset(more + w->threads, 0, (size_t)(threads - w->threads) * sizeof *more);
        w->thread = more;
        w->threads = threads;
    }
    for (int i = 0; i < threads; i++) {
        most = w->thread[i].scratch.peak > most ? w->thread[i].scratch.peak : most;
    }
    for (int i = 0; i < threads; i++) {
        if (w->thread[i].scratch.peak < most) {
            grow_scratch(&w->thread[i].scratch, most);
        }
    }
    return true;
}
