// Sets of keys: an array in the order of arrival, and a hash table of its indices.
#include "sets.h"

#include <stdint.h>
#include <stdlib.h>

#include "hash.h"

// The slot of a key, or the free one where it belongs.
static int look_up(const ode_set *set, const ode_key *key)
{
    const int mask = 2 * set->room - 1;
    uint64_t hash = 0;
    for (int i = 0; i < 4; i++) {
        hash = sprag_hash(hash, (uintptr_t)key->part[i]);
    }
    int at = sprag_hash_slot(hash, mask);
    while (set->slot[at] && memcmp(&set->key[set->slot[at] - 1], key, sizeof *key) != 0) {
        at = (at + 1) & mask;
    }
    return at;
}

static void place(ode_set *set, int index)
{
    const int at = look_up(set, &set->key[index]);
    set->slot[at] = index + 1;
    set->at[index] = at;
}

static bool grow(ode_set *set)
{
    const int room = set->room ? 2 * set->room : 32;
    const size_t size = (size_t)room * (sizeof *set->key + 2 * sizeof *set->slot + sizeof *set->at);
    ode_key *key = set->scratch ? sprag_scratch_take_raw(set->scratch, 1, size) : malloc(size);
    if (!key) {
        return false;
    }
    if (set->count) {
        memcpy(key, set->key, (size_t)set->count * sizeof *key);
    }
    if (!set->scratch) {
        free(set->key);
    }
    set->key = key;
    set->room = room;
    set->slot = memset(key + room, 0, 2 * (size_t)room * sizeof *set->slot);
    set->at = set->slot + 2 * room;
    for (int i = 0; i < set->count; i++) {
        place(set, i);
    }
    return true;
}

int sprag_ode_set_find(const ode_set *set, ode_key key)
{
    return set->count ? set->slot[look_up(set, &key)] - 1 : -1;
}

int sprag_ode_set_add(ode_set *set, ode_key key)
{
    int index = sprag_ode_set_find(set, key);
    if (index < 0 && (set->count < set->room || grow(set))) {
        index = set->count++;
        set->key[index] = key;
        place(set, index);
    }
    return index;
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
