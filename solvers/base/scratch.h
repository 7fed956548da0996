// Memory that lasts one solve: a reset frees everything that was taken. It grows while a scene
// needs more; after that a step allocates nothing.
#ifndef SPRAG_SCRATCH_H
#define SPRAG_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "api.h"

// 1: memory that is taken is full of numbers that are none until it is written, and ends with a
// guard; one that has changed when its array is freed aborts. Sanitizers see chunks, not arrays.
#ifndef SPRAG_GUARDED
#define SPRAG_GUARDED 0
#endif

SPRAG_BEGIN_C

typedef struct sprag_scratch_chunk sprag_scratch_chunk;
typedef struct sprag_scratch_guard sprag_scratch_guard;

// All zero is an empty scratch.
typedef struct sprag_scratch {
    sprag_scratch_chunk *first; // of a chain
    sprag_scratch_chunk *chunk; // the present one
    char *start;                // of the present chunk, aligned
    size_t room, used;          // bytes, of the present chunk
    size_t taken;               // bytes, of all chunks, without guards
    size_t peak;                // the most of these before a release
    sprag_scratch_guard *guard; // of what was taken last; NULL: none
    long allocations;           // from the system, so far
    bool failed;                // an allocation has failed since the last reset
} sprag_scratch;

enum { SPRAG_ALIGNMENT = 64 };

// Takes memory as sprag_scratch_take_raw does, from another chunk if the present one is full.
SPRAG_SOLVER_API void *sprag_scratch_take_more(sprag_scratch *scratch, size_t count, size_t size);

// count * size bytes, aligned for vectors; on failure sets `failed` and returns NULL. The bytes are
// not set: for arrays of which every entry is written before it is read.
static inline void *sprag_scratch_take_raw(sprag_scratch *scratch, size_t count, size_t size)
{
    const size_t few = 1 << 24;
    size_t bytes = (count * size + SPRAG_ALIGNMENT - 1) & ~(size_t)(SPRAG_ALIGNMENT - 1);
    if (SPRAG_GUARDED || count > few || size > few || !scratch->chunk ||
        scratch->room - scratch->used < bytes) {
        return sprag_scratch_take_more(scratch, count, size);
    }
    void *taken = scratch->start + scratch->used;
    scratch->used += bytes;
    scratch->taken += bytes;
    return taken;
}

// The same, zeroed.
SPRAG_SOLVER_API void *sprag_scratch_take(sprag_scratch *scratch, size_t count, size_t size);

#define SPRAG_TAKE(scratch, count, type)                                                           \
    sprag_scratch_take((scratch), (size_t)(count), sizeof(type))
#define SPRAG_TAKE_RAW(scratch, count, type)                                                       \
    sprag_scratch_take_raw((scratch), (size_t)(count), sizeof(type))

// An array of the scratch with room for one more entry than the `count` in use: the same if *room
// (entries) is enough, else a copy twice as wide, at first of `first` entries. NULL: no memory; the
// array stays as it is.
static inline void *sprag_scratch_widen(sprag_scratch *scratch, void *array, int count, int *room,
                                        int first, size_t size)
{
    if (count < *room) {
        return array;
    }
    const int wider = *room ? 2 * *room : first;
    void *to = sprag_scratch_take_raw(scratch, (size_t)wider, size);
    if (to && count) {
        memcpy(to, array, (size_t)count * size);
    }
    *room = to ? wider : *room;
    return to;
}

// Frees what is taken after `mark` was copied from the scratch: for solves in a loop.
SPRAG_SOLVER_API void sprag_scratch_release(sprag_scratch *scratch, const sprag_scratch *mark);

// Frees everything that was taken. The memory stays, for what is taken next.
SPRAG_SOLVER_API void sprag_scratch_reset(sprag_scratch *scratch);

// Returns all memory to the system.
SPRAG_SOLVER_API void sprag_scratch_free(sprag_scratch *scratch);

SPRAG_END_C

#endif
