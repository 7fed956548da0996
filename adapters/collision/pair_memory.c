// Memories of pairs: the last search's, by geoms and triangles, and those of the search under way.
#include "geometry_cache.h"

#include <stddef.h>

static ode_key key_of(const ode_pair *pair)
{
    const ode_geom *a = pair->side[0], *b = pair->side[1];
    return (ode_key){{a->named, b->named, (const void *)(intptr_t)a->triangle,
                      (const void *)(intptr_t)b->triangle}};
}

void sprag_ode_pair_memories_undo(ode_geometry *g)
{
    ode_set now = g->now;
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
static sprag_pair_memory *find(const ode_set *memories, ode_pair *pair)
{
    int i = sprag_ode_set_find(memories, key_of(pair));
    if (i < 0 && pair->side[0]->moves == pair->side[1]->moves) {
        swap_sides(pair);
        i = sprag_ode_set_find(memories, key_of(pair));
        if (i < 0) {
            swap_sides(pair);
        }
    }
    return sprag_ode_set_value(memories, i);
}

// NULL: no memory.
static sprag_pair_memory *memory_of(ode_geometry *g, ode_pair *pair)
{
    const sprag_pair_memory *last = find(&g->last, pair);
    const int known = g->now.count, i = sprag_ode_set_add(&g->now, key_of(pair));
    sprag_pair_memory *memory = sprag_ode_set_value(&g->now, i);
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
    sprag_ode_geometry_count_search(g);
    sprag_ode_pair_memories_undo(g); // the search before becomes the last one
    g->now.size = sizeof(sprag_pair_memory);
    sprag_ode_set_clear(&g->now);
    bool enough = sprag_ode_set_make_room(&g->now, pairs->count);
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
