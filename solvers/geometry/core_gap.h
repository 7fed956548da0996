// Signed distance of two cores, in world axes about the position of the first. gap.c turns it into
// the gap of two shapes.
#ifndef SPRAG_CORE_GAP_H
#define SPRAG_CORE_GAP_H

#include "gap.h"
#include "gjk.h"

typedef struct sprag_core_gap {
    double distance;    // m, between the cores; negative: depth. The algorithm sets it
    double error;       // m, the true distance is at most this much more
    double normal[3];   // unit, into core 0
    double point[2][3]; // m, nearest points, or deepest ones; on the cores, later on the shapes
    double size;        // m, of the coordinates: rounding errors are relative to it
    int work;           // of searches, as in sprag_gap
    bool beyond;        // farther apart than reach: `distance` is a lower bound, no points
    bool has_manifold;  // the algorithm has made the manifold, too
} sprag_core_gap;

static inline bool sprag_cores_curved(const sprag_core core[2])
{
    return core[0].shape->kind == SPRAG_CYLINDER || core[1].shape->kind == SPRAG_CYLINDER;
}

// The cores of two shapes, relative to the position of pose 0. false: a number is not finite.
bool sprag_cores_set(const sprag_shape *const shape[2], const sprag_pose *const pose[2],
                     sprag_core core[2]);

// Overlap of two intervals of an axis, [-half0, half0] and [at - half1, at + half1] (m): returns
// the width of the hole between them, negative if they overlap. end: the middle of the overlap,
// twice, or the two ends of the hole.
double sprag_interval_gap(double half0, double half1, double at, double end[2]);

// Closed forms. plane, sphere: 0 or 1, the core that is one. The other core of a sphere may be
// anything but a plane; of polytopes, a triangle.
void sprag_core_gap_plane(const sprag_core core[2], int plane, sprag_core_gap *a);
void sprag_core_gap_sphere(const sprag_core core[2], int sphere, sprag_core_gap *a);

// A triangle and a core that is no half-space. false: no closed form has their distance.
bool sprag_core_gap_triangle(const sprag_core core[2], double reach, sprag_core_gap *a);

// A box and a capsule or cylinder. false: other cores, or no closed form has their distance.
bool sprag_core_gap_box(const sprag_core core[2], double reach, sprag_core_gap *a);

// Whether the axes of two cylinders, or of a cylinder and a capsule, are parallel to rounding; then
// sprag_core_gap_parallel has their distance.
bool sprag_cores_parallel(const sprag_core core[2]);
void sprag_core_gap_parallel(const sprag_core core[2], sprag_core_gap *a);

// Any two cores but planes, from the first guess in gjk (simplex and normal). reach: m.
void sprag_core_gap_search(const sprag_core core[2], double reach, sprag_gjk *gjk,
                           sprag_core_gap *a);

// The same with the first guess from memory, where the result is kept; NULL: none.
void sprag_core_gap_warm(const sprag_core core[2], double reach, sprag_gap_memory *memory,
                         sprag_core_gap *a);

#endif
