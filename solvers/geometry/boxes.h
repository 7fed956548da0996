// Two boxes: the largest separation along the 15 directions that a facet of their difference can
// have, three and three face normals and nine cross products of edges (Gottschalk, Lin, Manocha:
// OBBTree, 1996). It is the signed distance if the boxes overlap or if features that face each
// other are nearest; otherwise corners and edges may be farther apart than this bound.
#ifndef SPRAG_BOXES_H
#define SPRAG_BOXES_H

#include "manifold.h"

typedef struct sprag_boxes {
    double normal[3]; // unit, into core 0
    double bound;     // m, separation along the normal
    bool beyond;      // farther apart than reach: the normal is the first direction that shows it
    bool has_points;  // the bound is the distance, between these points (m):
    double point[2][3];
} sprag_boxes;

// cores: two boxes. reach: m, larger separations need only a lower bound. manifold: all pairs of
// points up to `most` (m) apart; NULL if not wanted.
void sprag_boxes_separate(const sprag_core core[2], double reach, double most, sprag_boxes *found,
                          sprag_manifold *manifold);

#endif
