// Sets of up to four words each, in the order in which they were added, and values of these keys:
// the one hash table of this folder.
#ifndef SPRAG_SETS_H
#define SPRAG_SETS_H

#include <stdbool.h>

#include <ode/ode.h>

#include "scratch.h"
#include "spaces.h"

typedef union ode_key {
    const void *part[4];
    ode_collision call;
} ode_key;

typedef struct ode_set {    // all zero: empty
    sprag_scratch *scratch; // its memory; NULL: the system's, which sprag_ode_set_free returns
    size_t size;            // bytes of a value, a multiple of 8
    int count, room;        // keys
    ode_key *key;           // with all that follow behind the last one, in one block
    void *value;            // of the keys; those of new ones are not set
    int *slot;              // 1 + index of a key, 0: free; twice the room
    int *at;                // of the keys: their slot
} ode_set;

int sprag_ode_set_find_key(const ode_set *set, const ode_key *key);
int sprag_ode_set_add_key(ode_set *set, const ode_key *key);

// Index of a key; -1: the set has not got it.
static inline int sprag_ode_set_find(const ode_set *set, ode_key key)
{
    return sprag_ode_set_find_key(set, &key);
}

// Index of a key that the set has got or gets by this: then it is the last one. -1: no memory.
static inline int sprag_ode_set_add(ode_set *set, ode_key key)
{
    return sprag_ode_set_add_key(set, &key);
}

// Makes room for so many keys: up to these, values stay where they are. false: no memory.
bool sprag_ode_set_make_room(ode_set *set, int keys);

// NULL, if the index is that of no key.
static inline void *sprag_ode_set_value(const ode_set *set, int index)
{
    return index < 0 ? NULL : (char *)set->value + (size_t)index * set->size;
}

void sprag_ode_set_clear(ode_set *set); // keeps its memory
void sprag_ode_set_free(ode_set *set);

// Keeps the keys that `keep` returns true for.
void sprag_ode_set_filter(ode_set *set, bool keep(const ode_key *key, void *data), void *data);

// The same for (a, b) and (b, a).
ode_key sprag_ode_pair_key(dGeomID a, dGeomID b, const void *third);

#endif
