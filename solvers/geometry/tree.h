// Which of many boxes overlap: a tree of them, halved along the longest side of what is in a node,
// down to a few (Bentley: Multidimensional Binary Search Trees, 1975; here of boxes). It is made
// anew for bodies that move, and kept for the triangles of a mesh.
#ifndef SPRAG_TREE_H
#define SPRAG_TREE_H

#include <stdbool.h>

#include "scratch.h"

// Boxes are lo[3], hi[3]. Touching counts.
static inline bool sprag_boxes_overlap(const double a[6], const double b[6])
{
    return a[0] <= b[3] && b[0] <= a[3] && a[1] <= b[4] && b[1] <= a[4] && a[2] <= b[5] &&
           b[2] <= a[5];
}

// The caller owns the arrays: `count` of order, 2 count of bounds.
typedef struct sprag_tree {
    int count;
    int *order;          // boxes, by leaf
    double (*bounds)[6]; // of the nodes
} sprag_tree;

// tree: with its arrays; box: of what is in it, finite.
void sprag_tree_build(sprag_tree *tree, const double (*box)[6]);

typedef void sprag_tree_fn(void *data, int box);

// Calls back for every box whose leaf overlaps the bounds.
void sprag_tree_find(const sprag_tree *tree, const double bounds[6], sprag_tree_fn *found,
                     void *data);

typedef void sprag_overlap_fn(void *data, int i, int j); // i < j

// Calls back for every pair of boxes that overlap; they may be infinite (each of those costs a look
// at all others). false: no memory.
bool sprag_overlaps(const double (*bounds)[6], int count, sprag_overlap_fn *found, void *data,
                    sprag_scratch *scratch);

#endif
