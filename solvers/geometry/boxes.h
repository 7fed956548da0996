// Two boxes: the greatest separation along the 15 directions that a facet of their difference can
// have, three and three face normals and nine crossings of edges. Gottschalk, Lin, Manocha:
// OBBTree (1996). It is the signed distance when they overlap, and when the direction joins
// features that face each other; apart, corners and edges may be farther away than this bound.
#ifndef SPRAG_BOXES_H
#define SPRAG_BOXES_H

#include "manifold.h"

typedef struct sprag_boxes {
    double normal[3]; // unit, into core 0
    double bound;     // m, separation along it
    bool beyond;      // farther than reach: the normal is any that says so
    bool met;         // the bound is the distance, between these points:
    double point[2][3];
} sprag_boxes;

// cores: boxes, about their own centres. manifold: all up to `most` (m) apart; NULL: not wanted.
void sprag_boxes_separate(const sprag_core core[2], double reach, double most, sprag_boxes *found,
                          sprag_manifold *manifold);

#endif
