// Sets of up to four pointers each, in the order in which they were added.
#ifndef SPRAG_SETS_H
#define SPRAG_SETS_H

#include <stdbool.h>

#include <ode/ode.h>

typedef struct ode_key {
    const void *part[4];
} ode_key;

typedef struct ode_set { // all zero: empty
    int count, room;     // keys
    int slots;           // power of two, 0: none
    ode_key *key;
    int *slot; // 1 + index of a key, 0: free
    int *at;   // of the keys: their slot
} ode_set;

typedef enum ode_set_result { ODE_SET_NEW, ODE_SET_KNOWN, ODE_SET_NO_MEMORY } ode_set_result;

ode_set_result sprag_ode_set_add(ode_set *set, ode_key key);
bool sprag_ode_set_has(const ode_set *set, ode_key key);
void sprag_ode_set_clear(ode_set *set); // keeps its memory
void sprag_ode_set_free(ode_set *set);

// Keeps the keys that `keep` returns true for.
void sprag_ode_set_filter(ode_set *set, bool keep(const ode_key *key, void *data), void *data);

// The same for (a, b) and (b, a).
ode_key sprag_ode_pair_key(dGeomID a, dGeomID b, const void *third);

#endif
