// Memories of pairs: the last search's, by geoms and triangles, and those of the search under way.
#include "geometry_cache.h"

#include <stddef.h>
#include <stdlib.h>

static ode_key key_of(const ode_pair *pair)
{
    const ode_geom *a = pair->side[0], *b = pair->side[1];
    return (ode_key){{a->named, b->named, (const void *)(intptr_t)a->triangle,
                      (const void *)(intptr_t)b->triangle}};
}

// The search before becomes the last one. false: no memory.
static bool begin(ode_geometry *g, int pairs)
{
    sprag_ode_geometry_count_search(g);
    ode_pair_table spare = g->last;
    g->last = g->now;
    if (spare.room < pairs) {
        free(spare.memory);
        spare.memory = malloc(2 * (size_t)pairs * sizeof *spare.memory);
        spare.room = spare.memory ? 2 * pairs : 0;
    }
    sprag_ode_set_clear(&spare.pairs);
    g->now = spare;
    return spare.room >= pairs;
}

void sprag_ode_pair_memories_undo(ode_geometry *g)
{
    ode_pair_table now = g->now;
    g->now = g->last;
    g->last = now;
}

static void swap_sides(ode_pair *pair)
{
    const ode_geom *first = pair->side[0];
    pair->side[0] = pair->side[1];
    pair->side[1] = first;
    pair->first = !pair->first;
}

// Looks the pair up, also with the sides in the other order if no side, or both, move: the
// program's spaces may have reordered their geoms. The sides are put in the order of the table.
static sprag_pair_memory *find(const ode_pair_table *t, ode_pair *pair)
{
    int i = sprag_ode_set_find(&t->pairs, key_of(pair));
    if (i < 0 && pair->side[0]->moves == pair->side[1]->moves) {
        swap_sides(pair);
        i = sprag_ode_set_find(&t->pairs, key_of(pair));
        if (i < 0) {
            swap_sides(pair);
        }
    }
    return i < 0 ? NULL : &t->memory[i];
}

// NULL: no memory.
static sprag_pair_memory *memory_of(ode_geometry *g, ode_pair *pair)
{
    const sprag_pair_memory *last = find(&g->last, pair);
    const int known = g->now.pairs.count, i = sprag_ode_set_add(&g->now.pairs, key_of(pair));
    sprag_pair_memory *memory = i < 0 ? NULL : &g->now.memory[i];
    const size_t size = offsetof(sprag_pair_memory, point); // without points, most have none
    if (i == known && last) {
        memcpy(memory, last, size + (size_t)last->count * sizeof *last->point);
    } else if (i == known) {
        memset(memory, 0, size);
    }
    return memory;
}

bool sprag_ode_pair_memories(ode_geometry *g, ode_pairs *pairs)
{
    bool enough = begin(g, pairs->count);
    for (int i = 0; i < pairs->count && enough; i++) {
        pairs->pair[i].memory = memory_of(g, &pairs->pair[i]);
        enough = pairs->pair[i].memory;
    }
    return enough;
}

void sprag_ode_known_memories(ode_geometry *g, ode_pairs *pairs)
{
    for (int i = 0; i < pairs->count; i++) {
        pairs->pair[i].memory = find(&g->now, &pairs->pair[i]);
    }
}
