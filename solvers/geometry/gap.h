// Signed distance of two convex shapes: the greatest separation by a slab,
//
//     gap = max over unit n of ( min n.a - max n.b ),   a in shape 0, b in shape 1
//
// which is the distance apart, and minus the depth of the shortest way out when they overlap. The
// normal n carries a separating plane: whatever it is, the gap is not less than its bound.
#ifndef SPRAG_GAP_H
#define SPRAG_GAP_H

#include "manifold.h"
#include "result.h"

// What one query leaves for the next one of the same pair. All zero: nothing is known.
typedef struct sprag_gap_memory {
    int count;
    int vertex[3][2];
    double normal[3]; // in the axes of shape 0
} sprag_gap_memory;

typedef struct sprag_gap {
    double distance;    // m, negative: depth
    double error;       // m, the true distance is at most so much more; 0: exact to rounding
    double normal[3];   // unit, into shape 0
    double point[2][3]; // m, on the shapes, distance apart along the normal
    bool beyond;        // the shapes are farther apart than reach: distance is only a lower bound,
                        // and there are no points
} sprag_gap;

typedef struct sprag_gap_query {
    double reach;  // m, INFINITY: any distance is wanted
    double margin; // m, pairs of points up to this far apart belong to the manifold
} sprag_gap_query;

// memory, manifold: NULL for none. Where corners or crossing edges meet, the manifold is the
// nearest points alone; farther apart than the margin, it is empty. SPRAG_OK; SPRAG_NOT_CONVERGED:
// the error is more than 1e-9 of size and distance; SPRAG_BAD_PROBLEM: two planes, or numbers that
// are not finite.
sprag_result sprag_gap_find(const sprag_shape *const shape[2], const sprag_pose *const pose[2],
                            const sprag_gap_query *query, sprag_gap_memory *memory, sprag_gap *gap,
                            sprag_manifold *manifold);

// The separation that a given unit normal has: a lower bound of the distance.
double sprag_gap_along(const sprag_shape *const shape[2], const sprag_pose *const pose[2],
                       const double normal[3]);

// `triangle` (0 or 1) is one of a mesh, with the first face outside, and what it meets is no such
// one. Where they overlap and the shortest way out leads out of its back, or `always`: the way out
// by the front instead, but for what is a little over an edge. margin: as the query's.
void sprag_gap_by_front(const sprag_shape *const shape[2], const sprag_pose *const pose[2],
                        int triangle, bool always, double margin, sprag_gap *gap,
                        sprag_manifold *manifold);

// Of a triangle with two sides, the first one's; into the other shape. false: it has none.
bool sprag_gap_front(const sprag_shape *triangle, const sprag_pose *pose, double normal[3]);

#endif
