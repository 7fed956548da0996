// The data of geoms and pairs that are kept from step to step.
#ifndef SPRAG_GEOMETRY_CACHE_H
#define SPRAG_GEOMETRY_CACHE_H

#include <stddef.h>
#include <string.h>
#include <uthash.h>

#include "geom_pairs.h"
#include "sets.h"
#include "tree.h"

typedef struct ode_hull { // the faces of a convex geom
    int room;             // faces
    double (*normal)[3];  // with `start` behind it, in one block
    int *start;
    int *links;
    sprag_polytope polytope; // of these arrays; the vertices stay in the program's own one
} ode_hull;

typedef struct ode_mesh {   // a triangle mesh
    long looked;            // at its triangles last, by the count of the cache
    long change;            // the last one of its data, then
    dTriMeshDataID data;    // of the geom, and its number of triangles
    int count;              // then
    int room;               // triangles
    double (*corner)[3][3]; // m, in the axes of the geom; with all that follow, in one block
    double (*box)[6];       // m, around each triangle
    sprag_tree tree;        // of the boxes
    bool inside_out;        // it is closed, and its triangles face inwards
} ode_mesh;

typedef struct ode_kept { // the data of a geom
    dGeomID geom;         // key
    long used;            // search that has used it last
    uint64_t content;     // hash of the geom's data, of a mesh of a sample; 0: nothing is kept
    ode_hull hull;        // of a convex geom
    ode_mesh mesh;        // of a mesh
    UT_hash_handle hh;
} ode_kept;

struct ode_geometry {
    ode_kept *kept;    // by geom
    ode_set last, now; // of searches for pairs: memories, by geoms and triangles of the sides
    long searches;     // for pairs, so far
    long looks;        // calls of sprag_ode_geometry_look_again so far
};

// ---- convex.c

// The faces of a convex geom of known layout. NULL: no memory.
const sprag_polytope *sprag_ode_polytope_of(ode_geometry *geometry, dGeomID id);

// ---- meshes.c: triangle meshes

const ode_mesh *sprag_ode_mesh_of(ode_geometry *geometry, dGeomID id); // NULL: no memory

// m, in the axes of the geom: the box around all triangles, and the triangles that may be in a box.
// turned: they face the other way.
void sprag_ode_mesh_bounds(const ode_mesh *mesh, double bounds[6]);
void sprag_ode_mesh_triangles(const ode_mesh *mesh, const double bounds[6], bool turned,
                              ode_box_fn *skips, ode_triangle_fn *found, void *data);

// ---- heightfields.c: the same for heightfields of known layout

void sprag_ode_field_bounds(dGeomID id, double bounds[6]);
// false: none is passed on, as there may be more than `most`.
bool sprag_ode_field_triangles(dGeomID id, const double bounds[6], double most, double flat,
                               ode_box_fn *skips, ode_triangle_fn *found, void *data);

// ---- pair_memory.c

// Sets the memories of the pairs of a search: all zero of a pair that the search before has not
// found. They are valid until the next search. If no side of a pair, or both, move, the sides are
// put in the order of the last search. false: no memory.
bool sprag_ode_pair_memories(ode_geometry *geometry, ode_pairs *pairs);

// Sets those that the last search has made for the same pairs; NULL: it has not found the pair.
void sprag_ode_known_memories(ode_geometry *geometry, ode_pairs *pairs);

// ---- geometry_cache.c

// The data of a geom, in use now; new ones are all zero. NULL: no memory.
ode_kept *sprag_ode_keep(ode_geometry *geometry, dGeomID id);

// Counts a search for pairs; drops the data of geoms that have long been unused.
void sprag_ode_geometry_count_search(ode_geometry *geometry);

#endif
