// Numbers for objects of ODE that live longer than a step. An address that ODE uses again after its
// object was gone gets a new number.
#ifndef SPRAG_IDENTITIES_H
#define SPRAG_IDENTITIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct identity {
    const void *object;
    uint32_t id, world;
    uint32_t body;    // of a geom
    uint32_t geom;    // first of a body
    int64_t seen;     // number of the world's last step that had it
    double value[12]; // of the owner of the table
} identity;

typedef struct identities {
    int64_t gap;    // steps after which an object that was not seen is taken for another; 0: never
    identity *item; // in the order in which they were first seen
    int count, room;
    int *slot;     // places in item, from 1; 0: a free slot
    int mask;      // slots less 1
    int after;     // place of the identity behind the last one seen: mostly the next to be seen
    uint32_t next; // number of the next new object
} identities;

// The identity of an object in a step of a world. *is_new: it was not there in the step before.
// NULL: no memory. Valid until the next call.
identity *identities_see(identities *of, const void *object, uint32_t world, int64_t step,
                         bool *is_new);

// NULL: the object has never been seen.
identity *identities_find(const identities *of, const void *object);

void identities_clear(identities *of); // the numbers start again at 0

#endif
