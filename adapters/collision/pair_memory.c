// Memories of pairs: the last search's, by geoms and triangles, and those of the search under way.
#include "geometry_cache.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct ode_pair_entry {
    dGeomID geom[2]; // of the sides
    int triangle[2]; // of the sides
    sprag_pair_memory memory;
};

static int slot_of(const ode_pair_table *t, const ode_pair *pair)
{
    uint64_t hash = 0;
    for (int i = 0; i < 2; i++) {
        hash = sprag_hash(hash, (uintptr_t)pair->side[i]->geom);
        hash = sprag_hash(hash, (uint64_t)pair->side[i]->triangle);
    }
    return sprag_hash_slot(hash, t->slots - 1);
}

static bool is_of(const ode_pair_entry *entry, const ode_pair *pair)
{
    return entry->geom[0] == pair->side[0]->geom && entry->geom[1] == pair->side[1]->geom &&
           entry->triangle[0] == pair->side[0]->triangle &&
           entry->triangle[1] == pair->side[1]->triangle;
}

// The slot of a pair, or the free one where it belongs; NULL: the table has none.
static int *look_up(const ode_pair_table *t, const ode_pair *pair)
{
    if (!t->slots) {
        return NULL;
    }
    for (int i = slot_of(t, pair);; i = (i + 1) & (t->slots - 1)) {
        if (!t->slot[i] || is_of(&t->entry[t->slot[i] - 1], pair)) {
            return &t->slot[i];
        }
    }
}

// The search before becomes the last one. false: no memory.
static bool begin(ode_geometry *g, int pairs)
{
    sprag_ode_geometry_count_search(g);
    ode_pair_table spare = g->last;
    g->last = g->now;
    int room = 8;
    while (room < pairs) {
        room *= 2;
    }
    if (spare.room < room) {
        free(spare.entry);
        spare.entry = malloc((size_t)room * (sizeof *spare.entry + 2 * sizeof *spare.slot));
        spare.room = spare.entry ? room : 0;
        spare.slot = spare.entry ? (int *)(spare.entry + room) : NULL;
    }
    spare.slots = spare.entry ? 2 * room : 0;
    spare.entries = 0;
    g->now = spare;
    if (g->now.slots) {
        memset(g->now.slot, 0, (size_t)g->now.slots * sizeof *g->now.slot);
    }
    return g->now.slots;
}

void sprag_ode_pair_memories_undo(ode_geometry *g)
{
    ode_pair_table now = g->now;
    g->now = g->last;
    g->last = now;
}

static void swap_sides(ode_pair *pair)
{
    const ode_side *first = pair->side[0];
    pair->side[0] = pair->side[1];
    pair->side[1] = first;
    pair->first = !pair->first;
}

// Looks the pair up, also with the sides in the other order if no side, or both, move: the
// program's spaces may have reordered their geoms. The sides are put in the order of the table.
static const int *look_up_either(const ode_pair_table *t, ode_pair *pair)
{
    const int *slot = look_up(t, pair);
    if (slot && !*slot && pair->side[0]->moves == pair->side[1]->moves) {
        swap_sides(pair);
        slot = look_up(t, pair);
        if (!*slot) {
            swap_sides(pair);
        }
    }
    return slot;
}

static sprag_pair_memory *memory_of(ode_geometry *g, ode_pair *pair)
{
    const int *last = look_up_either(&g->last, pair);
    int *now = look_up(&g->now, pair);
    if (!*now) {
        *now = ++g->now.entries;
        ode_pair_entry *entry = &g->now.entry[*now - 1];
        for (int i = 0; i < 2; i++) {
            entry->geom[i] = pair->side[i]->geom;
            entry->triangle[i] = pair->side[i]->triangle;
        }
        size_t size = offsetof(sprag_pair_memory, point); // without points, most have none
        if (last && *last) {
            const sprag_pair_memory *from = &g->last.entry[*last - 1].memory;
            memcpy(&entry->memory, from, size + (size_t)from->count * sizeof *from->point);
        } else {
            memset(&entry->memory, 0, size);
        }
    }
    return &g->now.entry[*now - 1].memory;
}

bool sprag_ode_pair_memories(ode_geometry *g, ode_pairs *pairs)
{
    if (!begin(g, pairs->count)) {
        return false;
    }
    for (int i = 0; i < pairs->count; i++) {
        pairs->pair[i].memory = memory_of(g, &pairs->pair[i]);
    }
    return true;
}

void sprag_ode_known_memories(ode_geometry *g, ode_pairs *pairs)
{
    for (int i = 0; i < pairs->count; i++) {
        const int *known = look_up_either(&g->now, &pairs->pair[i]);
        pairs->pair[i].memory = known && *known ? &g->now.entry[*known - 1].memory : NULL;
    }
}
