// The faces of convex geoms. The vertices stay in the program's own array.
#include "geometry_cache.h"

#include <stdlib.h>
#include <uthash.h>

#include "geom_layout.h"

struct ode_hull {
    dGeomID geom;     // key
    long used;        // search that has used it last
    uint64_t content; // hash of the geom's data
    int faces;        // room
    int *start;
    double (*normal)[3];
    int *links;
    sprag_polytope polytope; // of these arrays
    UT_hash_handle hh;
};

static void free_hull(ode_geometry *g, ode_hull *h)
{
    if (h->hh.tbl) { // there was memory to add it
        HASH_DEL(g->hulls, h);
    }
    free(h->start);
    free(h->normal);
    free(h->links);
    free(h);
}

void sprag_ode_drop_hulls(ode_geometry *g, long before)
{
    ode_hull *h, *next;
    HASH_ITER(hh, g->hulls, h, next)
    {
        if (h->used < before) {
            free_hull(g, h);
        }
    }
}

const sprag_polytope *sprag_ode_polytope_of(ode_geometry *g, dGeomID id)
{
    const dx_convex *c = sprag_ode_convex(id);
    const double(*vertex)[3] = (const double(*)[3])(const void *)c->points;
    int faces = c->polygons ? (int)c->plane_count : 0, loops = 0;
    for (int i = 0; i < faces; i++) {
        loops += 1 + (int)c->polygons[loops];
    }
    uint64_t content =
        sprag_ode_hash_bytes(c->point_count, c->points, 3 * sizeof(dReal) * c->point_count);
    content = sprag_ode_hash_bytes(content, c->polygons, sizeof(unsigned) * (size_t)loops);
    content = sprag_ode_hash_bytes(content, &c->polygons, sizeof c->polygons);
    ode_hull *h;
    HASH_FIND_PTR(g->hulls, &id, h);
    if (h) {
        h->used = g->searches;
    }
    if (h && h->content == content && h->polytope.vertex == vertex) {
        return &h->polytope;
    }
    if (h && h->faces < faces) {
        free_hull(g, h);
        h = NULL;
    }
    if (!h) {
        h = calloc(1, sizeof *h);
        if (!h) {
            return NULL;
        }
        h->geom = id;
        h->used = g->searches;
        h->faces = faces;
        h->start = malloc((size_t)(faces + 1) * sizeof *h->start);
        h->normal = malloc((size_t)(faces + 1) * sizeof *h->normal);
        HASH_ADD_PTR(g->hulls, geom, h);
        if (!h->start || !h->normal || !h->hh.tbl) {
            free_hull(g, h);
            return NULL;
        }
    }
    h->content = content;
    h->polytope =
        sprag_polytope_make(vertex, (int)c->point_count, c->polygons, faces, h->start, h->normal);
    int *links = realloc(h->links, (size_t)sprag_polytope_links(&h->polytope) * sizeof *links);
    h->links = links ? links : h->links;
    if (links) {
        sprag_polytope_link(&h->polytope, links);
    }
    return &h->polytope;
}
