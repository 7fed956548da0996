// Chunks of memory in a chain. Memory is taken from the present chunk by moving a mark; a reset
// goes back to the first one. Chunks are kept: memory that was touched need not be touched anew.
#include "scratch.h"

#include <stdint.h>
#include <stdlib.h>

enum { FIRST_CHUNK = 1 << 14, GUARD = SPRAG_GUARDED ? 2 * SPRAG_ALIGNMENT : 0 };

struct sprag_scratch_chunk {
    sprag_scratch_chunk *next;
    size_t room; // bytes
};

struct sprag_scratch_guard {
    sprag_scratch_guard *before; // of what was taken before
    const unsigned char *end;    // of the array, from where bytes are `filling`
};

static char *chunk_start(sprag_scratch_chunk *chunk)
{
    uintptr_t head = (uintptr_t)(chunk + 1);
    return (char *)((head + SPRAG_ALIGNMENT - 1) & ~(uintptr_t)(SPRAG_ALIGNMENT - 1));
}

static void go_to(sprag_scratch *scratch, sprag_scratch_chunk *chunk)
{
    scratch->chunk = chunk;
    scratch->start = chunk ? chunk_start(chunk) : NULL;
    scratch->room = chunk ? chunk->room : 0;
    scratch->used = 0;
}

// To a new chunk at the end of the chain.
static bool grow(sprag_scratch *scratch, size_t size)
{
    if (size > SIZE_MAX - sizeof(sprag_scratch_chunk) - SPRAG_ALIGNMENT) {
        return false;
    }
    sprag_scratch_chunk *chunk = malloc(sizeof *chunk + SPRAG_ALIGNMENT + size);
    if (!chunk) {
        return false;
    }
    *chunk = (sprag_scratch_chunk){.room = size};
    *(scratch->chunk ? &scratch->chunk->next : &scratch->first) = chunk;
    go_to(scratch, chunk);
    scratch->allocations++;
    return true;
}

// To a chunk with so much room, behind the present one.
static bool find_room(sprag_scratch *scratch, size_t bytes)
{
    while (scratch->chunk && scratch->room - scratch->used < bytes && scratch->chunk->next) {
        go_to(scratch, scratch->chunk->next);
    }
    if (scratch->chunk && scratch->room - scratch->used >= bytes) {
        return true;
    }
    const size_t twice = 2 * scratch->taken, wanted = bytes > twice ? bytes : twice;
    return grow(scratch, wanted > FIRST_CHUNK ? wanted : FIRST_CHUNK);
}

// The byte at an address: doubles of them are not numbers, integers are negative or large.
static unsigned char filling(const unsigned char *at)
{
    return (uintptr_t)at % 8 == 7 ? 0x7f : 0xf7;
}

// Fills an array and what is behind it, up to the guard.
static void set_guard(sprag_scratch *scratch, unsigned char *array, size_t size, size_t bytes)
{
    sprag_scratch_guard *guard = (sprag_scratch_guard *)(array + bytes + SPRAG_ALIGNMENT);
    for (unsigned char *at = array; at < (unsigned char *)guard; at++) {
        *at = filling(at);
    }
    *guard = (sprag_scratch_guard){.before = scratch->guard, .end = array + size};
    scratch->guard = guard;
}

// Checks all arrays that were taken after `last` was.
static void check_guards(const sprag_scratch *scratch, const sprag_scratch_guard *last)
{
    for (const sprag_scratch_guard *guard = scratch->guard; guard != last; guard = guard->before) {
        for (const unsigned char *at = guard->end; at < (const unsigned char *)guard; at++) {
            if (*at != filling(at)) {
                abort();
            }
        }
    }
}

void *sprag_scratch_take_more(sprag_scratch *scratch, size_t count, size_t size)
{
    if (size && count > (SIZE_MAX - SPRAG_ALIGNMENT - GUARD) / size) {
        scratch->failed = true;
        return NULL;
    }
    size_t bytes = (count * size + SPRAG_ALIGNMENT - 1) & ~(size_t)(SPRAG_ALIGNMENT - 1);
    if (!find_room(scratch, bytes + GUARD)) {
        scratch->failed = true;
        return NULL;
    }
    void *taken = scratch->start + scratch->used;
    scratch->used += bytes + GUARD;
    scratch->taken += bytes;
    if (SPRAG_GUARDED) {
        set_guard(scratch, taken, count * size, bytes);
    }
    return taken;
}

void *sprag_scratch_take(sprag_scratch *scratch, size_t count, size_t size)
{
    void *taken = sprag_scratch_take_raw(scratch, count, size);
    return taken ? memset(taken, 0, count * size) : NULL;
}

void sprag_scratch_release(sprag_scratch *scratch, const sprag_scratch *mark)
{
    check_guards(scratch, mark->guard);
    scratch->peak = scratch->taken > scratch->peak ? scratch->taken : scratch->peak;
    scratch->guard = mark->guard;
    go_to(scratch, mark->chunk ? mark->chunk : scratch->first);
    scratch->used = mark->used;
    scratch->taken = mark->taken;
}

void sprag_scratch_reset(sprag_scratch *scratch)
{
    sprag_scratch_release(scratch, &(sprag_scratch){0});
    scratch->failed = false;
}

void sprag_scratch_free(sprag_scratch *scratch)
{
    check_guards(scratch, NULL);
    for (sprag_scratch_chunk *chunk = scratch->first, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    *scratch = (sprag_scratch){0};
}
