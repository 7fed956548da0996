#include "passages.h"

#include <math.h>
#include <stdlib.h>
#include <uthash.h>

#include "linalg.h"

// m: a path that crosses a triangle this near to its edges crosses it. Greater: paths beside a mesh
// go through it; smaller: paths through the edge of two triangles miss both by rounding.
static const double ON_EDGE = 1e-9;

// Of the way that the velocities of now explain. A shape that has come farther since its passage
// was kept has been moved by the program, which ends the passage.
static const double EXPLAINED = 2;

// Looks of the cache after which a passage that nobody asked for is freed.
enum { KEPT_LOOKS = 100 };

typedef struct key {
    dGeomID mesh, shape;
} key;

struct ode_kept_passage {
    key of;
    double out[3], middle[3]; // unit; m, of the shape when it was kept: in the axes of the mesh
    long used;                // by the looks of the cache
    UT_hash_handle hh;
};

static ode_kept_passage *kept_of(const ode_geometry *g, const ode_geom *mesh, const ode_geom *shape)
{
    ode_kept_passage *kept = NULL;
    const key of = {mesh->geom, shape->geom};
    if (g->passages) {
        HASH_FIND(hh, g->passages, &of, sizeof of, kept);
    }
    return kept;
}

static void forget(ode_geometry *g, ode_kept_passage *kept)
{
    HASH_DEL(g->passages, kept);
    free(kept);
}

void sprag_ode_drop_passages(ode_geometry *g, long before)
{
    ode_kept_passage *kept, *next;
    HASH_ITER(hh, g->passages, kept, next)
    {
        if (kept->used < before) {
            forget(g, kept);
        }
    }
}

// m, the way of the middle of the shape past the mesh within a step, in the axes of the mesh.
static void way_of(const ode_geom *mesh, const ode_geom *shape, const double middle[3], double step,
                   double way[3])
{
    double at[3], past[3] = {0};
    mul33(mesh->pose.rotation, middle, at);
    add_scaled(at, 1, mesh->pose.position, 3);
    for (int i = 0; i < 2; i++) {
        dBodyID body = i ? mesh->body : shape->body;
        dVector3 velocity;
        if (body && dBodyIsEnabled(body)) {
            dBodyGetPointVel(body, at[0], at[1], at[2], velocity);
            add_scaled(past, i ? -step : step, velocity, 3);
        }
    }
    mul33_transposed(mesh->pose.rotation, past, way);
}

// Are all triangles near the shape in one plane that the path to the middle does not cross?
static bool is_at_one_side(const ode_near *near, const double way[3])
{
    double to[3];
    subtract3(near->middle, near->triangle[0].corner[0], to);
    const double height = dot3(near->normal, to);
    return near->is_flat && height * (height - dot3(near->normal, way)) > 0;
}

typedef struct path {       // of the middle of a shape
    double from[3], way[3]; // m, in the axes of the mesh
    double first;           // share of the way to the first triangle that it crosses
    ode_passage passage;
} path;

static void cross(void *data, int number, const double corner[3][3])
{
    path *p = data;
    double edge[2][3], normal[3], to[3], at[3];
    (void)number;
    subtract3(corner[1], corner[0], edge[0]);
    subtract3(corner[2], corner[0], edge[1]);
    cross3(edge[0], edge[1], normal);
    subtract3(p->from, corner[0], to);
    const double before = dot3(normal, to), closer = -dot3(normal, p->way);
    if (!(before * (before - closer) < 0)) {
        return;
    }
    memcpy(at, p->from, sizeof at);
    add_scaled(at, before / closer, p->way, 3);
    if (before / closer < p->first && sprag_triangle_has(corner, at, ON_EDGE)) {
        p->first = before / closer;
        for (int k = 0; k < 3; k++) {
            p->passage.out[k] = before < 0 ? -normal[k] : normal[k];
        }
        p->passage.known = normalise3(p->passage.out);
    }
}

// Looks for the first triangle that the path to the middle crosses.
static ode_passage look_along(const ode_geom *mesh, const double middle[3], const double way[3])
{
    path p = {.first = INFINITY, .passage.known = false};
    double bounds[6];
    for (int k = 0; k < 3; k++) {
        p.way[k] = way[k];
        p.from[k] = middle[k] - way[k];
        bounds[k] = fmin(p.from[k], middle[k]) - ON_EDGE;
        bounds[k + 3] = fmax(p.from[k], middle[k]) + ON_EDGE;
    }
    sprag_ode_triangles_in(mesh, bounds, cross, &p);
    return p.passage;
}

ode_passage sprag_ode_passage_find(const ode_geometry *g, const ode_geom *mesh,
                                   const ode_geom *shape, const ode_near *near, double step)
{
    ode_passage passage = {.known = false};
    double way[3], moved[3];
    if (!(step > 0)) {
        return passage;
    }
    way_of(mesh, shape, near->middle, step, way);
    const ode_kept_passage *kept = kept_of(g, mesh, shape);
    if (kept) {
        subtract3(near->middle, kept->middle, moved);
        if (dot3(moved, moved) <= EXPLAINED * EXPLAINED * dot3(way, way)) {
            memcpy(passage.out, kept->out, sizeof passage.out);
            passage.known = true;
            return passage;
        }
    }
    return is_at_one_side(near, way) ? passage : look_along(mesh, near->middle, way);
}

void sprag_ode_passage_keep(ode_geometry *g, const ode_geom *mesh, const ode_geom *shape,
                            const ode_near *near, const ode_passage *passage, bool is_through)
{
    ode_kept_passage *kept = kept_of(g, mesh, shape);
    if (kept && !is_through) {
        forget(g, kept);
        return;
    }
    if (!kept && is_through) {
        sprag_ode_drop_passages(g, g->looks - KEPT_LOOKS);
        kept = calloc(1, sizeof *kept);
        if (!kept) {
            return;
        }
        kept->of = (key){mesh->geom, shape->geom};
        HASH_ADD(hh, g->passages, of, sizeof kept->of, kept);
        if (!kept->hh.tbl) { // no memory
            free(kept);
            return;
        }
    }
    if (kept) {
        kept->used = g->looks;
        memcpy(kept->out, passage->out, sizeof kept->out);
        memcpy(kept->middle, near->middle, sizeof kept->middle);
    }
}
