// Memories of pairs: the last search's, by geoms and triangles, and those of the search under way.
#include "geometry_cache.h"

#include <stdlib.h>

struct ode_pair_entry {
    dGeomID geom[2]; // of the sides; NULL: a free slot
    int triangle[2]; // of the sides
    sprag_pair_memory memory;
};

static int slot_of(const ode_pair_table *t, const ode_pair *pair)
{
    uint64_t hash = 0;
    for (int i = 0; i < 2; i++) {
        hash = sprag_ode_hash(hash, (uintptr_t)pair->side[i]->geom);
        hash = sprag_ode_hash(hash, (uint64_t)pair->side[i]->triangle);
    }
    return sprag_ode_hash_slot(hash, t->slots - 1);
}

// The slot of a pair, or the free one where it belongs; NULL: the table has none.
static ode_pair_entry *look_up(const ode_pair_table *t, const ode_pair *pair)
{
    if (!t->slots) {
        return NULL;
    }
    for (int i = slot_of(t, pair);; i = (i + 1) & (t->slots - 1)) {
        ode_pair_entry *k = &t->slot[i];
        if (!k->geom[0] ||
            (k->geom[0] == pair->side[0]->geom && k->geom[1] == pair->side[1]->geom &&
             k->triangle[0] == pair->side[0]->triangle &&
             k->triangle[1] == pair->side[1]->triangle)) {
            return k;
        }
    }
}

bool sprag_ode_pair_memories_begin(ode_geometry *g, int pairs)
{
    sprag_ode_geometry_count_search(g);
    ode_pair_table spare = g->last;
    g->last = g->now;
    int slots = 16;
    while (slots < 2 * pairs) {
        slots *= 2;
    }
    if (spare.room < slots) {
        free(spare.slot);
        spare.slot = malloc((size_t)slots * sizeof *spare.slot);
        spare.room = spare.slot ? slots : 0;
    }
    spare.slots = spare.slot ? slots : 0;
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

sprag_pair_memory *sprag_ode_pair_memory(ode_geometry *g, ode_pair *pair)
{
    ode_pair_entry *last = look_up(&g->last, pair);
    if (last && !last->geom[0] && pair->side[0]->moves == pair->side[1]->moves) {
        // The program's spaces may have reordered their geoms.
        swap_sides(pair);
        last = look_up(&g->last, pair);
        if (!last->geom[0]) {
            swap_sides(pair);
        }
    }
    ode_pair_entry *now = look_up(&g->now, pair);
    if (!now->geom[0]) {
        for (int i = 0; i < 2; i++) {
            now->geom[i] = pair->side[i]->geom;
            now->triangle[i] = pair->side[i]->triangle;
        }
        if (last && last->geom[0]) {
            now->memory = last->memory;
        }
    }
    return &now->memory;
}
