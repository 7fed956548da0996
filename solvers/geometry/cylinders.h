// Exact separation of two cores of which one is a cylinder (or of two whose edges are nearly
// parallel), from a good first guess. Newton's method on the sphere (slab.h) maximises the height
// of the slab for each choice of active features, to rounding; support points alone would reach
// half the digits. Each height is evaluated over all known vertices, so the largest is that of
// their two hulls. A support vertex below the slab joins the hulls, until there is none: a
// cutting-plane method whose subproblems are solved exactly.
#ifndef SPRAG_CYLINDERS_H
#define SPRAG_CYLINDERS_H

#include "gjk.h"

typedef struct sprag_cylinders {
    double normal[3];   // in: a first guess; out: unit, into core 0
    double near[3];     // in: unit; only normals whose cosine with it
    double cosine;      // in: is at least this are searched; -1: all
    double bound;       // out: m, height of the slab along the normal over the whole cores
    double point[2][3]; // out: m, nearest points, on the cores
    double error;       // out: m, |point[0] - point[1] - bound normal|
    int work;           // in, out: grows by the heights tried
    bool closed;        // out: converged, no vertex of a core is inside the slab
} sprag_cylinders;

// vertex: pairs of vertices that may be active (count of them, from GJK or EPA). size: m, rounding
// errors are relative to it. found->bound is -INFINITY if no slab was found.
void sprag_cylinders_separate(const sprag_core core[2], const sprag_pair_vertex *vertex, int count,
                              double size, sprag_cylinders *found);

#endif
