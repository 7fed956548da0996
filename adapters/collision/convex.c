// The faces of convex geoms. The vertices stay in the program's own array.
#include "geometry_cache.h"

#include <stdlib.h>

#include "geom_layout.h"
#include "hash.h"

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

// Adds data of so many bytes, in parts of four, to a hash. Four words go side by side: none waits
// for the product of another.
static uint64_t add_data(uint64_t hash, const void *data, size_t size)
{
    const char *at = data;
    uint64_t word[4], of[4] = {hash, 1, 2, 3};
    uint32_t part;
    for (; size >= sizeof word; size -= sizeof word, at += sizeof word) {
        memcpy(word, at, sizeof word);
        for (int k = 0; k < 4; k++) {
            of[k] = sprag_hash(of[k], word[k]);
        }
    }
    for (; size > 0; size -= sizeof part, at += sizeof part) {
        memcpy(&part, at, sizeof part);
        of[0] = sprag_hash(of[0], part);
    }
    return sprag_hash(sprag_hash(of[0], of[1]), sprag_hash(of[2], of[3]));
}

const sprag_polytope *sprag_ode_polytope_of(ode_geometry *g, dGeomID id)
{
    const dx_convex *c = sprag_ode_convex(id);
    const double(*vertex)[3] = (const double(*)[3])(const void *)c->points;
    int faces = c->polygons ? (int)c->plane_count : 0, loops = 0;
    for (int i = 0; i < faces; i++) {
        loops += 1 + (int)c->polygons[loops];
    }
    uint64_t content = add_data(0, c, sizeof *c);
    content = add_data(content, c->points, 3 * sizeof(dReal) * c->point_count);
    content = add_data(content, c->polygons, sizeof(unsigned) * (size_t)loops);
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
