// Contact manifold: the pairs of points at which two bodies may rest on each other along a normal.
// The face (edge, rim) of each that looks along it, seen along it, one polygon clipped by the other
// (Sutherland, Hodgman: Reentrant Polygon Clipping, 1974); a corner of what is common to both is a
// pair of points, one on each body, as far apart as the two faces are there.
#ifndef SPRAG_MANIFOLD_H
#define SPRAG_MANIFOLD_H

#include "shape.h"

enum { SPRAG_MANIFOLD_MAX = 16 };

typedef struct sprag_manifold {
    int count;
    double point[SPRAG_MANIFOLD_MAX][2][3]; // m, on the shapes
    double gap[SPRAG_MANIFOLD_MAX];         // m, along the normal; negative: overlap
} sprag_manifold;

// normal: unit, into core 0, m. Keeps pairs up to `most` (m) apart; none is left if only corners or
// crossing edges meet. A plane counts with all of it.
void sprag_manifold_clip(const sprag_core core[2], const double normal[3], double most,
                         sprag_manifold *manifold);

#endif
