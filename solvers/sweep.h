// Broad phase: which of many boxes overlap. Sorted along the axis on which they are spread most,
// each is compared with those that begin before it ends: Baraff: Dynamic Simulation of
// Non-Penetrating Rigid Bodies (1992), chapter 7. And a tree of boxes that do not move among
// themselves, the triangles of a mesh: halved along the longest side, down to a few.
#ifndef SPRAG_SWEEP_H
#define SPRAG_SWEEP_H

#include <stdbool.h>

#include "solvers/scratch.h"

// Boxes are lo[3], hi[3]; they may be infinite. Touching counts.
static inline bool sprag_boxes_overlap(const double a[6], const double b[6])
{
    return a[0] <= b[3] && b[0] <= a[3] && a[1] <= b[4] && b[1] <= a[4] && a[2] <= b[5] &&
           b[2] <= a[5];
}

typedef void sprag_sweep_fn(void *data, int i, int j); // i < j

// Calls back for every pair that overlaps. false: no memory.
bool sprag_sweep(const double (*bounds)[6], int count, sprag_sweep_fn *found, void *data,
                 sprag_scratch *scratch);

// ---- tree. The caller owns the arrays: `count` of order, 2 count of bounds.

typedef struct sprag_tree {
    int count;
    int *order;          // boxes, by leaf
    double (*bounds)[6]; // of the nodes
} sprag_tree;

// tree: with its arrays; box: of what is in it.
void sprag_tree_build(sprag_tree *tree, const double (*box)[6]);

typedef void sprag_tree_fn(void *data, int box);

// Calls back for every box whose leaf overlaps the bounds.
void sprag_tree_find(const sprag_tree *tree, const double bounds[6], sprag_tree_fn *found,
                     void *data);

#endif
