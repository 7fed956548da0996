// Sets of keys: arrays of keys and values in the order of arrival, and a hash table of indices.
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

static void place(ode_set *set, int index, int at)
{
    set->slot[at] = index + 1;
    set->at[index] = at;
}

bool sprag_ode_set_make_room(ode_set *set, int keys)
{
    int room = set->room ? set->room : 32;
    while (room < keys) {
        room *= 2;
    }
    if (room == set->room) {
        return true;
    }
    const size_t count = (size_t)set->count, values = (size_t)room * set->size,
                 size = (size_t)room * (sizeof *set->key + 3 * sizeof *set->slot) + values;
    ode_key *key = set->scratch ? sprag_scratch_take_raw(set->scratch, 1, size) : malloc(size);
    if (!key) {
        return false;
    }
    if (count) {
        memcpy(key, set->key, count * sizeof *key);
        memcpy(key + room, set->value, count * set->size);
    }
    if (!set->scratch) {
        free(set->key);
    }
    set->key = key;
    set->value = key + room;
    set->room = room;
    set->slot = memset((char *)set->value + values, 0, 2 * (size_t)room * sizeof *set->slot);
    set->at = set->slot + 2 * room;
    for (int i = 0; i < set->count; i++) {
        place(set, i, look_up(set, &set->key[i]));
    }
    return true;
}

int sprag_ode_set_find_key(const ode_set *set, const ode_key *key)
{
    return set->count ? set->slot[look_up(set, key)] - 1 : -1;
}

int sprag_ode_set_add_key(ode_set *set, const ode_key *key)
{
    int at = set->room ? look_up(set, key) : 0;
    if (set->room && set->slot[at]) {
        return set->slot[at] - 1;
    }
    if (set->count == set->room) {
        if (!sprag_ode_set_make_room(set, set->count + 1)) {
            return -1;
        }
        at = look_up(set, key);
    }
    set->key[set->count] = *key;
    place(set, set->count, at);
    return set->count++;
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
            set->key[kept] = set->key[i];
            memcpy(sprag_ode_set_value(set, kept++), sprag_ode_set_value(set, i), set->size);
        }
    }
    for (int i = 0; i < kept; i++) {
        place(set, i, look_up(set, &set->key[i]));
    }
    set->count = kept;
}
