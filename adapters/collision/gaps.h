// ODE's geoms -> the geometry kernel: which pairs may come near each other within a step, as convex
// shapes in poses, for sprag_gap_find. It follows ODE's rules of what collides with what, but not
// its bounding boxes: ours are widened by the motion of the step.
#ifndef SPRAG_GAPS_H
#define SPRAG_GAPS_H

#include <stdbool.h>

#include <ode/ode.h>

#include "frame.h"
#include "gap.h"
#include "scratch.h"

// ---- shapes.c: one geom

// What is kept from step to step: faces of convex geoms, trees of meshes, memories of pairs. Found
// anew when a geom's data has changed.
typedef struct ode_geometry ode_geometry;

ode_geometry *sprag_ode_geometry_make(void); // NULL: no memory
void sprag_ode_geometry_free(ode_geometry *geometry);

// A mesh or heightfield is many shapes, each a triangle.
typedef enum ode_geom_kind {
    ODE_GEOM_NONE,
    ODE_GEOM_SHAPE,
    ODE_GEOM_MESH,
    ODE_GEOM_UNKNOWN
} ode_geom_kind;

typedef struct ode_geom {
    ode_geom_kind kind; // NONE: touches nothing, as a ray, or what has no size or is disabled
    dGeomID geom;       // whose shape it is; of a transform, what is inside
    dGeomID named;      // as ODE's contacts name it
    dBodyID body;       // NULL: static
    sprag_shape shape;  // SHAPE
    sprag_pose pose;    // SHAPE, MESH
    double bounds[6];   // of the world, lo and hi
    const void *mesh;   // MESH
} ode_geom;

// false: no memory.
bool sprag_ode_geom_of(ode_geometry *geometry, dGeomID id, ode_geom *geom);

// A mesh of class dTriMeshClass that is not looked at this time is not to be forgotten.
void sprag_ode_keep_mesh(ode_geometry *geometry, dGeomID id);

typedef void ode_triangle_fn(void *data, int number, const double corner[3][3]);

// Calls back for the triangles of a mesh that may be within the bounds (of the world); corners in
// the axes of its pose, counter-clockwise from outside.
void sprag_ode_triangles(const ode_geom *mesh, const double bounds[6], ode_triangle_fn *found,
                         void *data);

// As dSpaceGetGeom; NULL: it cannot be had.
dGeomID sprag_ode_geom_in(dSpaceID space, int index);

// ---- gaps.c: all of them

// One call of the program: dSpaceCollide(a), then b is NULL, or dSpaceCollide2(a, b), which is also
// what two geoms on their own are. Spaces inside take part with all that is in them, but not among
// themselves: what a program's callback asks about them is a call of its own.
typedef struct ode_collision {
    dGeomID a, b;
} ode_collision;

// How far a body may move: its centre by at most `shift` either way or less, a turn, and more.
typedef struct ode_motion {
    double shift[3]; // m, displacement of the centre; anywhere between is possible
    double turn;     // rad, at most
    double slack;    // m, any way besides
} ode_motion;

// Sets how far a body may move. false: it does not move in this step.
typedef bool ode_motion_fn(void *data, dBodyID body, ode_motion *motion);

typedef struct ode_side {
    dGeomID geom; // as ODE's contacts name it
    dBodyID body; // NULL: static
    int triangle; // of a mesh or heightfield, -1: none
    sprag_shape shape;
    sprag_pose pose;
    dGeomID id; // as its space has it, and as callbacks get it
    bool moves; // in this step, by ode_motion_fn
} ode_side;

typedef struct ode_pair {
    const ode_side *side[2];   // side 0 moves, if the pairs were found for a step
    sprag_pair_memory *memory; // from the last time that this pair was found
    int call;                  // which of the calls asks about it; of several, the last
    int first;                 // the side whose geom the program's callback gets first
} ode_pair;

typedef struct ode_pairs { // in scratch
    int count, room;
    ode_pair *pair;
    int unknown;          // geoms that we have no shape for: of a program's own class, ...
    dGeomID unknown_geom; // one of them
} ode_pairs;

// Every pair of which at least one moves and whose boxes, widened by the motion of both and by
// `margin` (m), overlap; in an order that the program's calls and spaces determine. motion: NULL if
// nothing moves. SPRAG_OK or SPRAG_NO_MEMORY.
sprag_result sprag_ode_find_pairs(ode_geometry *geometry, const ode_collision *calls, int count,
                                  ode_motion_fn *motion, void *data, double margin,
                                  sprag_scratch *scratch, ode_pairs *pairs);

// The same for one call, of what does not move, and of two geoms (first and second as the callback
// of the call would get them) only if they are wanted: nothing is done about others but to look at
// the boxes that ODE has of them.
typedef bool ode_wanted_fn(void *data, dGeomID first, dGeomID second);

sprag_result sprag_ode_find_wanted(ode_geometry *geometry, const ode_collision *call, double margin,
                                   ode_wanted_fn *wanted, void *data, sprag_scratch *scratch,
                                   ode_pairs *pairs);

// The pairs of two geoms (one, unless there is a mesh) within `margin` of each other, whatever
// their bits and bodies; side[0] is of `a`. No memories. SPRAG_BAD_PROBLEM: one of them has no
// shape of ours, or ODE has no collider for the two.
sprag_result sprag_ode_pairs_of_two(ode_geometry *geometry, dGeomID a, dGeomID b, double margin,
                                    sprag_scratch *scratch, ode_pairs *pairs);

// sprag_gap_find for a pair. What is inside a mesh's triangle is pushed out of its front, if it
// would else come out of its back.
sprag_result sprag_ode_gap(const ode_pair *pair, const sprag_gap_query *query, sprag_gap *gap,
                           sprag_manifold *manifold);

// ---- between the two

// The memory of a pair, fresh if it has not been found the last time. Good until the next turn. A
// pair that had its sides the other way round then gets them so again.
sprag_pair_memory *sprag_ode_pair_memory(ode_geometry *geometry, ode_pair *pair);

// What has been found since the last turn is forgotten at the next one, which goes on from before.
void sprag_ode_pair_memories_undo_step(ode_geometry *geometry);

// What has been found since the last turn becomes the last time; room for `pairs` next.
bool sprag_ode_pair_memories_next_step(ode_geometry *geometry, int pairs);

#endif
