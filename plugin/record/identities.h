// Numbers for objects of ODE that live longer than a step. An address that ODE uses again after its
// object was gone gets a new number.
#ifndef SPRAG_IDENTITIES_H
#define SPRAG_IDENTITIES_H

#include <stdbool.h>
#include <stdint.h>

#include "hash.h"

#define IDENTITY_NONE 0xffffffffu

typedef struct identity {
    const void *object;
    uint32_t id, world;
    uint32_t body;     // of a geom
    uint32_t geom;     // first of a body: its number, and
    const void *first; // itself
    int64_t seen;      // number of the world's last step that had it
    double value[12];  // of the owner of the table
} identity;

extern const identity identities_none; // id, geom: IDENTITY_NONE

typedef struct identities {
    int64_t gap;    // steps after which an object that was not seen is taken for another; 0: never
    identity *item; // identities_none, and then in the order in which they were first seen
    int count, room;
    int *slot;     // places in item; 0: a free slot
    int mask;      // slots less 1
    int after;     // place of the identity behind the last one seen: mostly the next to be seen
    uint32_t next; // number of the next new object
} identities;

// The identity of an object in a step of a world. *is_new: it was not there in the step before.
// NULL: no memory. Valid until the next call.
identity *identities_see(identities *of, const void *object, uint32_t world, int64_t step,
                         bool *is_new);

// The slot of an object, or the free one that it would get. NULL gets none.
static inline int *identities_slot(const identities *of, const void *object)
{
    int i = sprag_hash_slot(sprag_hash(0, (uintptr_t)object), of->mask);
    while (of->slot[i] && of->item[of->slot[i]].object != object) {
        i = (i + 1) & of->mask;
    }
    return &of->slot[i];
}

// The identity of an object; identities_none: it has never been seen, or is NULL.
static inline const identity *identities_find(const identities *of, const void *object)
{
    return of->slot ? &of->item[*identities_slot(of, object)] : &identities_none;
}

void identities_clear(identities *of); // the numbers start again at 0

#endif
