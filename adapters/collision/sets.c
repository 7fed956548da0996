// Sets of keys: an array in the order of arrival, and a hash table of its indices.
#include "sets.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"

static int slot_of(const ode_set *set, const ode_key *key)
{
    uint64_t hash = 0;
    for (int i = 0; i < 4; i++) {
        hash = sprag_hash(hash, (uintptr_t)key->part[i]);
    }
    return sprag_hash_slot(hash, set->slots - 1);
}

// The slot of a key, or the free one where it belongs.
static int look_up(const ode_set *set, const ode_key *key)
{
    int at = slot_of(set, key);
    while (set->slot[at] && memcmp(&set->key[set->slot[at] - 1], key, sizeof *key) != 0) {
        at = (at + 1) & (set->slots - 1);
    }
    return at;
}

static void place(ode_set *set, int index)
{
    int at = look_up(set, &set->key[index]);
    set->slot[at] = index + 1;
    set->at[index] = at;
}

static bool grow(ode_set *set)
{
    int room = set->room ? 2 * set->room : 32;
    ode_key *key = realloc(set->key, (size_t)room * sizeof *key);
    set->key = key ? key : set->key;
    int *at = realloc(set->at, (size_t)room * sizeof *at);
    set->at = at ? at : set->at;
    int *slot = key && at ? calloc((size_t)room * 2, sizeof *slot) : NULL;
    if (!slot) {
        return false;
    }
    free(set->slot);
    set->slot = slot;
    set->room = room;
    set->slots = 2 * room;
    for (int i = 0; i < set->count; i++) {
        place(set, i);
    }
    return true;
}

ode_set_result sprag_ode_set_add(ode_set *set, ode_key key)
{
    if (sprag_ode_set_has(set, key)) {
        return ODE_SET_KNOWN;
    }
    if (set->count == set->room && !grow(set)) {
        return ODE_SET_NO_MEMORY;
    }
    set->key[set->count] = key;
    place(set, set->count++);
    return ODE_SET_NEW;
}

bool sprag_ode_set_has(const ode_set *set, ode_key key)
{
    return set->slots && set->slot[look_up(set, &key)];
}

void sprag_ode_set_clear(ode_set *set)
{
    for (int i = 0; i < set->count; i++) {
        set->slot[set->at[i]] = 0;
    }
    set->count = 0;
}

void sprag_ode_set_free(ode_set *set)
{
    free(set->key);
    free(set->slot);
    free(set->at);
    *set = (ode_set){0};
}

ode_key sprag_ode_pair_key(dGeomID a, dGeomID b, const void *third)
{
    bool swap = (uintptr_t)a > (uintptr_t)b;
    return (ode_key){{swap ? b : a, swap ? a : b, third, NULL}};
}

void sprag_ode_set_filter(ode_set *set, bool keep(const ode_key *key, void *data), void *data)
{
    int kept = 0, count = set->count;
    while (kept < count && keep(&set->key[kept], data)) {
        kept++;
    }
    if (kept == count) {
        return;
    }
    sprag_ode_set_clear(set);
    for (int i = kept; i < count; i++) {
        if (keep(&set->key[i], data)) {
            set->key[kept++] = set->key[i];
        }
    }
    for (int i = 0; i < kept; i++) {
        place(set, i);
    }
    set->count = kept;
}
