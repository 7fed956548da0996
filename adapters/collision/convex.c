// The faces of convex geoms. The vertices stay in the program's own array.
#include "geometry_cache.h"

#include <stdlib.h>

#include "geom_layout.h"

static bool make_room(ode_hull *h, int faces)
{
    if (faces > h->room) {
        free(h->normal);
        h->normal = malloc((size_t)faces * (sizeof *h->normal + sizeof *h->start));
        h->room = h->normal ? faces : 0;
        h->start = (int *)(void *)(h->normal + h->room);
    }
    return faces <= h->room;
}

const sprag_polytope *sprag_ode_polytope_of(ode_geometry *g, dGeomID id)
{
    const dx_convex *c = sprag_ode_convex(id);
    const double(*vertex)[3] = (const double(*)[3])(const void *)c->points;
    int faces = c->polygons ? (int)c->plane_count : 0, loops = 0;
    for (int i = 0; i < faces; i++) {
        loops += 1 + (int)c->polygons[loops];
    }
    uint64_t content = sprag_ode_hash_bytes(0, c, sizeof *c);
    content = sprag_ode_hash_bytes(content, c->points, 3 * sizeof(dReal) * c->point_count);
    content = sprag_ode_hash_bytes(content, c->polygons, sizeof(unsigned) * (size_t)loops);
    ode_kept *kept = sprag_ode_keep(g, id);
    ode_hull *h = kept ? &kept->hull : NULL;
    if (!h) {
        return NULL;
    }
    if (kept->content == content) {
        return &h->polytope;
    }
    kept->content = 0;
    if (!make_room(h, faces)) {
        return NULL;
    }
    kept->content = content;
    h->polytope =
        sprag_polytope_make(vertex, (int)c->point_count, c->polygons, faces, h->start, h->normal);
    int *links = realloc(h->links, (size_t)sprag_polytope_links(&h->polytope) * sizeof *links);
    h->links = links ? links : h->links;
    if (links) {
        sprag_polytope_link(&h->polytope, links);
    }
    return &h->polytope;
}
