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

static void free_kept(ode_geometry *g, ode_kept *k)
{
    if (k->hh.tbl) { // there was memory to add it
        HASH_DEL(g->kept, k);
    }
    free(k->hull.normal);
    free(k->hull.links);
    free(k->mesh.corner);
    free(k);
}

// Frees what is unused since a search.
static void drop(ode_geometry *g, long before)
{
    ode_kept *k, *next;
    HASH_ITER(hh, g->kept, k, next)
    {
        if (k->used < before) {
            free_kept(g, k);
        }
    }
}

ode_kept *sprag_ode_keep(ode_geometry *g, dGeomID id)
{
    ode_kept *k;
    HASH_FIND_PTR(g->kept, &id, k);
    if (!k) {
        k = calloc(1, sizeof *k);
        if (!k) {
            return NULL;
        }
        k->geom = id;
        HASH_ADD_PTR(g->kept, geom, k);
        if (!k->hh.tbl) {
            free_kept(g, k);
            return NULL;
        }
    }
    k->used = g->searches;
    return k;
}

void sprag_ode_geometry_free(ode_geometry *g)
{
    if (g) {
        drop(g, LONG_MAX);
        sprag_ode_set_free(&g->last);
        sprag_ode_set_free(&g->now);
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
        drop(g, g->searches - KEPT_SEARCHES);
    }
}
