// The cache as a whole: made, freed, and cleared of geoms that are no longer used.
#include "geometry_cache.h"

#include <limits.h>
#include <stdlib.h>

// Searches for pairs after which an unused entry is freed: ODE does not report that a geom has been
// destroyed. Greater: dead entries hold memory longer; smaller: a geom that pauses is read anew.
enum { KEPT_SEARCHES = 1000 };

ode_geometry *sprag_ode_geometry_make(void)
{
    return calloc(1, sizeof(ode_geometry));
}

void sprag_ode_geometry_free(ode_geometry *g)
{
    if (g) {
        sprag_ode_drop_hulls(g, LONG_MAX);
        sprag_ode_drop_meshes(g, LONG_MAX);
        for (int i = 0; i < 2; i++) {
            ode_pair_table *table = i ? &g->last : &g->now;
            sprag_ode_set_free(&table->pairs);
            free(table->memory);
        }
        free(g->flights);
        free(g);
    }
}

void sprag_ode_geometry_look_again(ode_geometry *g)
{
    g->looks++;
}

void sprag_ode_geometry_count_search(ode_geometry *g)
{
    if (++g->searches % KEPT_SEARCHES == 0) {
        sprag_ode_drop_hulls(g, g->searches - KEPT_SEARCHES);
        sprag_ode_drop_meshes(g, g->searches - KEPT_SEARCHES);
    }
}
