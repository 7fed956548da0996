// Signed distance of two convex shapes: the largest separation by a slab,
//
//     gap = max over unit n of ( min n.a - max n.b ),   a in shape 0, b in shape 1
//
// Apart, it is the distance; overlapping, minus the depth of the shortest way out. Any unit normal
// n gives a lower bound of the gap: the height of the slab between its two supporting planes.
#ifndef SPRAG_GAP_H
#define SPRAG_GAP_H

#include "manifold.h"
#include "result.h"

// Warm start of a pair: sprag_gap_find reads and writes it, the caller keeps it between queries.
// All zero: no information.
typedef struct sprag_gap_memory {
    int count;        // vertex pairs of GJK's last simplex, 0 to 3
    int vertex[3][2]; // vertices of the two cores, or SPRAG_NO_VERTEX
    double normal[3]; // unit, the last normal, in the axes of shape 0
} sprag_gap_memory;

typedef struct sprag_gap {
    double distance;    // m; negative: depth
    double error;       // m, the true distance is larger by this at most; 0: exact to rounding
    double normal[3];   // unit, into shape 0
    double point[2][3]; // m, world: on shape 0 and on shape 1, distance apart along the normal
    int work;           // of searches: one is a height of a slab (25 to 40 ns) or a visited facet
    bool beyond;        // farther apart than the query's reach: `distance` is a lower bound, and
                        // `point` is not set
} sprag_gap;

typedef struct sprag_gap_query {
    double reach;  // m, larger distances need only a lower bound; INFINITY: the distance is always
                   // wanted
    double margin; // m, the manifold keeps pairs of points up to this far apart
} sprag_gap_query;

// The gap of two shapes (spheres, capsules, cylinders, boxes, polytopes, one half-space). memory:
// NULL for a cold start. manifold: NULL if not wanted. If corners or crossing edges touch, the
// manifold is the pair of nearest points alone; if the distance is larger than the margin, it is
// empty. Returns SPRAG_OK; SPRAG_NOT_CONVERGED if the error is more than 1e-9 of size and distance;
// SPRAG_BAD_PROBLEM for two half-spaces and for numbers that are not finite.
sprag_result sprag_gap_find(const sprag_shape *const shape[2], const sprag_pose *const pose[2],
                            const sprag_gap_query *query, sprag_gap_memory *memory, sprag_gap *gap,
                            sprag_manifold *manifold);

// Height (m) of the slab along a unit normal into shape 0: a lower bound of the distance.
// -INFINITY: the normal is not that of a half-space which takes part.
double sprag_gap_along(const sprag_shape *const shape[2], const sprag_pose *const pose[2],
                       const double normal[3]);

// The same along the opposite normal.
static inline double sprag_gap_against(const sprag_shape *const shape[2],
                                       const sprag_pose *const pose[2], const double normal[3])
{
    const double back[3] = {-normal[0], -normal[1], -normal[2]};
    return sprag_gap_along(shape, pose, back);
}

// Replaces the way out of an overlap by the way out at the front of a triangle of a mesh.
// shape[triangle] is a triangle whose first face looks outwards, the other shape is none. It does
// so if the shapes overlap and the normal of the gap leads out of the back, or if `always`; but not
// for a shape that only overlaps the edge a little. margin: m, as the query's. gap and manifold: in
// as sprag_gap_find returned them, out with the new normal, distance, points. false: as they were.
bool sprag_gap_by_front(const sprag_shape *const shape[2], const sprag_pose *const pose[2],
                        int triangle, bool always, double margin, sprag_gap *gap,
                        sprag_manifold *manifold);

// The manifold over the front of a triangle of a mesh, whatever the normal of the gap is. normal:
// that of the front, unit, into shape 0. margin: m, as the query's. false: it is empty.
bool sprag_triangle_manifold(const sprag_shape *const shape[2], const sprag_pose *const pose[2],
                             int triangle, double margin, double normal[3],
                             sprag_manifold *manifold);

// The unit normal (world) of the first face of a triangle with two faces. false: the shape is none.
bool sprag_gap_front(const sprag_shape *triangle, const sprag_pose *pose, double normal[3]);

// The normal into shape 0 along which a shape leaves such a triangle by the front.
bool sprag_triangle_way_out(const sprag_shape *const shape[2], const sprag_pose *const pose[2],
                            int triangle, double out[3]);

// The point (m) of a triangle that is nearest to another. true: it is within, not on the rim.
bool sprag_triangle_nearest(const double corner[3][3], const double at[3], double nearest[3]);

// Is the point on the triangle, or no farther (m) from it than this?
bool sprag_triangle_has(const double corner[3][3], const double at[3], double near);

// Does the triangle rise above the plane through a point of it, by more than `near` (m) and more
// than a slope that counts as flat?
bool sprag_triangle_rises(const double corner[3][3], const double at[3], const double normal[3],
                          double near);

// May it be, by the box of the triangle?
bool sprag_triangle_is_about(const double corner[3][3], const double at[3], double near);

#endif
