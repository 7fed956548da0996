// One geom of ODE as the geometry kernel sees it: a convex shape, or a mesh of triangles, in a
// pose.
#ifndef SPRAG_GEOMS_H
#define SPRAG_GEOMS_H

#include <limits.h>
#include <stdbool.h>

#include <ode/ode.h>

#include "shape.h"

// Data that are kept from step to step (geometry_cache.c): the faces of convex geoms, the triangles
// of meshes, and a memory for each pair. A geom whose data has changed is read anew.
typedef struct ode_geometry ode_geometry;

ode_geometry *sprag_ode_geometry_make(void); // NULL: no memory
void sprag_ode_geometry_free(ode_geometry *geometry);

// The program may have deformed its meshes. From the first call on, only such calls make the cache
// compare the triangles of a mesh that it knows; before, each use does.
void sprag_ode_geometry_look_again(ode_geometry *geometry);

// The program has given a mesh other triangles: all caches read it anew at its next use.
void sprag_ode_mesh_changed(dTriMeshDataID data);

typedef enum ode_geom_kind {
    ODE_GEOM_NONE,   // collides with nothing: a ray, a geom without size, a disabled one
    ODE_GEOM_SHAPE,  // one convex shape
    ODE_GEOM_MESH,   // a triangle mesh or heightfield: a shape for each triangle
    ODE_GEOM_UNKNOWN // of a class that sprag has no shape for
} ode_geom_kind;

typedef struct ode_geom {
    ode_geom_kind kind;
    dGeomID id;                  // as its space has it, and as callbacks get it
    dGeomID geom;                // whose shape it is; of a transform, the geom inside
    dGeomID named;               // as ODE's contacts name it
    dBodyID body;                // NULL: static
    int triangle;                // number in a mesh or heightfield, of a pair's side; -1: none
    sprag_shape shape;           // SHAPE, or of the triangle
    sprag_pose pose;             // SHAPE, MESH
    double bounds[6];            // m, world axes, lo and hi; by sprag_ode_set_bounds
    const struct ode_mesh *mesh; // MESH, of a triangle mesh
    bool turned;                 // its triangles are to face the other way
    bool moves;                  // in this step, by the search for pairs
    int mover;                   // then: number of the body, by ode_motion_fn
    int number;                  // of the sides of a search
} ode_geom;

// Sets all but the bounds. false: no memory.
bool sprag_ode_geom_of(ode_geometry *geometry, dGeomID id, ode_geom *geom);

void sprag_ode_set_bounds(ode_geom *geom); // of a SHAPE or MESH

// The rotation of a half-space with this normal (unit).
void sprag_ode_set_plane(const double normal[3], double rotation[9]);

// The pose `time` s ago, by the velocity that the body has now.
void sprag_ode_pose_before(const ode_geom *geom, double time, sprag_pose *before);

typedef void ode_triangle_fn(void *data, int number, const double corner[3][3]);

// Calls back for the triangles of a mesh that may be within the bounds (m, world axes). Corners are
// in the axes of its pose, counter-clockwise from outside. false: for none, as the bounds have
// cells of a heightfield with more triangles than `most`.
bool sprag_ode_triangles(const ode_geom *mesh, const double bounds[6], double most,
                         ode_triangle_fn *found, void *data);

// Spaces offer no geom without size.
bool sprag_ode_has_size(dGeomID id);

typedef bool ode_box_fn(const void *data, const double box[6]);

enum { ODE_PATCH = INT_MAX }; // number of a triangle that takes the place of others

// The same with bounds in the axes of the mesh, but for triangles in boxes that are skipped. skips:
// NULL for none. flat: m, or 0. Where it is known at once that one plane fills the bounds, up to so
// much, one triangle of it is the patch for all.
bool sprag_ode_triangles_in(const ode_geom *mesh, const double bounds[6], double most, double flat,
                            ode_box_fn *skips, ode_triangle_fn *found, void *data);

// Triangles of one geom, or pairs of triangles of two, that a collision call looks at: with more,
// stock answers. Each takes a microsecond to store, or a few to look at. More: single calls of
// seconds, for sheets of 5000 triangles on each other and large geoms on fine heightfields.
enum { ODE_MOST_TRIANGLES = 40000 };

// Pairs with triangles in a search of up to so many geoms; of more, likewise more. Where there are
// more, the geoms with the most are left to stock. Each pair takes some microseconds a step. More:
// steps of seconds, where fine meshes are fast; fewer: more meshes that only stock keeps apart.
// Fewer geoms: 30 bodies of three geoms have twice as many pairs, and steps of 0.3 s.
enum { ODE_MOST_PAIRS = 10000, ODE_PAIRS_GEOMS = 60 };

#endif
