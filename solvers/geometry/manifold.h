// Contact manifold: the pairs of points at which two bodies may rest on each other along a normal.
// The face (edge, rim) of each body that looks along the normal is projected along it, and one
// polygon is clipped by the other (Sutherland, Hodgman: Reentrant Polygon Clipping, 1974). Each
// corner of the overlap gives a pair of points, one on each body, as far apart as the two faces are
// there.
#ifndef SPRAG_MANIFOLD_H
#define SPRAG_MANIFOLD_H

#include "shape.h"

// Pairs of points; of more, those are dropped that change the area least, those that overlap last.
enum { SPRAG_MANIFOLD_MAX = 16 };

typedef struct sprag_manifold {
    int count;                              // pairs of points
    double point[SPRAG_MANIFOLD_MAX][2][3]; // m, on the shapes
    double gap[SPRAG_MANIFOLD_MAX];         // m, along the normal; negative: overlap
} sprag_manifold;

// The manifold along a unit normal into core 0. Keeps pairs up to `most` (m) apart, at most
// SPRAG_MANIFOLD_MAX; it is empty if only corners or crossing edges touch. A half-space takes part
// with its whole plane.
void sprag_manifold_clip(const sprag_core core[2], const double normal[3], double most,
                         sprag_manifold *manifold);

#endif
