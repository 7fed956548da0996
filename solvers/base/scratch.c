// Chunks of memory, newest first. Memory is taken from the newest chunk by moving a mark.
#include "scratch.h"

#include <stdint.h>
#include <stdlib.h>

enum { FIRST_CHUNK = 1 << 14 };

struct sprag_scratch_chunk {
    sprag_scratch_chunk *older;
};

static char *chunk_start(sprag_scratch_chunk *chunk)
{
    uintptr_t head = (uintptr_t)(chunk + 1);
    return (char *)((head + SPRAG_ALIGNMENT - 1) & ~(uintptr_t)(SPRAG_ALIGNMENT - 1));
}

static bool grow(sprag_scratch *scratch, size_t size)
{
    if (size > SIZE_MAX - sizeof(sprag_scratch_chunk) - SPRAG_ALIGNMENT) {
        return false;
    }
    sprag_scratch_chunk *chunk = malloc(sizeof *chunk + SPRAG_ALIGNMENT + size);
    if (!chunk) {
        return false;
    }
    chunk->older = scratch->chunk;
    scratch->chunk = chunk;
    scratch->start = chunk_start(chunk);
    scratch->room = size;
    scratch->used = 0;
    scratch->allocations++;
    return true;
}

void *sprag_scratch_take_more(sprag_scratch *scratch, size_t count, size_t size)
{
    if (size && count > (SIZE_MAX - SPRAG_ALIGNMENT) / size) {
        scratch->failed = true;
        return NULL;
    }
    size_t bytes = (count * size + SPRAG_ALIGNMENT - 1) & ~(size_t)(SPRAG_ALIGNMENT - 1);
    if (!scratch->chunk || scratch->room - scratch->used < bytes) {
        size_t twice = 2 * scratch->taken;
        size_t wanted = bytes > twice ? bytes : twice;
        if (!grow(scratch, wanted > FIRST_CHUNK ? wanted : FIRST_CHUNK)) {
            scratch->failed = true;
            return NULL;
        }
    }
    void *taken = scratch->start + scratch->used;
    scratch->used += bytes;
    scratch->taken += bytes;
    scratch->peak = scratch->taken > scratch->peak ? scratch->taken : scratch->peak;
    return taken;
}

void *sprag_scratch_take(sprag_scratch *scratch, size_t count, size_t size)
{
    void *taken = sprag_scratch_take_raw(scratch, count, size);
    return taken ? memset(taken, 0, count * size) : NULL;
}

static void free_chunks(sprag_scratch *scratch)
{
    while (scratch->chunk) {
        sprag_scratch_chunk *older = scratch->chunk->older;
        free(scratch->chunk);
        scratch->chunk = older;
    }
    scratch->room = scratch->used = 0;
}

void sprag_scratch_reset(sprag_scratch *scratch)
{
    bool several = scratch->chunk && scratch->chunk->older;
    scratch->used = scratch->taken = 0;
    scratch->failed = false;
    if (several) {
        // A quarter more than the peak, so that a slightly larger step needs no allocation. If
        // the system has no memory, the next take tries again.
        free_chunks(scratch);
        grow(scratch, scratch->peak + scratch->peak / 4);
    }
}

void sprag_scratch_free(sprag_scratch *scratch)
{
    free_chunks(scratch);
    *scratch = (sprag_scratch){0};
}
