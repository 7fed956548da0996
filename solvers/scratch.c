// Chunks of memory, newest first; taking moves a mark in the newest.
#include "solvers/scratch.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64, FIRST_CHUNK = 1 << 14 };

struct sprag_scratch_chunk {
    sprag_scratch_chunk *older;
    size_t size; // bytes behind the head
};

static char *chunk_start(sprag_scratch_chunk *chunk)
{
    uintptr_t head = (uintptr_t)(chunk + 1);
    return (char *)((head + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1));
}

static bool grow(sprag_scratch *scratch, size_t size)
{
    if (size > SIZE_MAX - sizeof(sprag_scratch_chunk) - ALIGNMENT) {
        return false;
    }
    sprag_scratch_chunk *chunk = malloc(sizeof *chunk + ALIGNMENT + size);
    if (!chunk) {
        return false;
    }
    chunk->older = scratch->chunk;
    chunk->size = size;
    scratch->chunk = chunk;
    scratch->used = 0;
    scratch->allocations++;
    return true;
}

void *sprag_scratch_take(sprag_scratch *scratch, size_t count, size_t size)
{
    if (size && count > (SIZE_MAX - ALIGNMENT) / size) {
        scratch->failed = true;
        return NULL;
    }
    size_t bytes = (count * size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (!scratch->chunk || scratch->chunk->size - scratch->used < bytes) {
        size_t twice = 2 * scratch->taken;
        size_t wanted = bytes > twice ? bytes : twice;
        if (!grow(scratch, wanted > FIRST_CHUNK ? wanted : FIRST_CHUNK)) {
            scratch->failed = true;
            return NULL;
        }
    }
    void *taken = chunk_start(scratch->chunk) + scratch->used;
    scratch->used += bytes;
    scratch->taken += bytes;
    if (scratch->taken > scratch->peak) {
        scratch->peak = scratch->taken;
    }
    return memset(taken, 0, bytes);
}

static void free_chunks(sprag_scratch *scratch)
{
    while (scratch->chunk) {
        sprag_scratch_chunk *older = scratch->chunk->older;
        free(scratch->chunk);
        scratch->chunk = older;
    }
}

void sprag_scratch_reset(sprag_scratch *scratch)
{
    bool several = scratch->chunk && scratch->chunk->older;
    scratch->used = scratch->taken = 0;
    scratch->failed = false;
    if (several) {
        // With room to spare, so that a scene's next small record costs nothing. Without success
        // the next take tries again.
        free_chunks(scratch);
        grow(scratch, scratch->peak + scratch->peak / 4);
    }
}

void sprag_scratch_free(sprag_scratch *scratch)
{
    free_chunks(scratch);
    *scratch = (sprag_scratch){0};
}
