// Memory that lasts one solve. Everything taken from it is given back at once, by a reset.
// It grows until a scene has settled; from then on a step allocates nothing.
#ifndef SPRAG_SCRATCH_H
#define SPRAG_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>

typedef struct sprag_scratch_chunk sprag_scratch_chunk;

// All zero is an empty scratch.
typedef struct sprag_scratch {
    sprag_scratch_chunk *chunk; // newest first
    size_t used;                // bytes, of the newest chunk
    size_t taken, peak;         // bytes, of all chunks
    long allocations;           // from the system, so far
    bool failed;                // something could not be had since the last reset
} sprag_scratch;

// count * size bytes, zeroed and aligned for vectors; on failure sets `failed` and returns NULL.
void *sprag_scratch_take(sprag_scratch *scratch, size_t count, size_t size);

#define SPRAG_TAKE(scratch, count, type)                                                           \
    sprag_scratch_take((scratch), (size_t)(count), sizeof(type))

// Gives everything back; chunks are joined into one that holds the largest need so far.
void sprag_scratch_reset(sprag_scratch *scratch);

// Returns all memory to the system.
void sprag_scratch_free(sprag_scratch *scratch);

#endif
