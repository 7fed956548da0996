// Bounding volume tree: finds which of many boxes overlap. A binary tree, split at the median along
// the longest side of a node's box, down to a few boxes a leaf (Bentley: Multidimensional Binary
// Search Trees, 1975; here of boxes). Moving bodies get a new tree each time; the triangles of a
// mesh keep theirs.
#ifndef SPRAG_TREE_H
#define SPRAG_TREE_H

#include "box.h"
#include "scratch.h"

// The caller owns the arrays: order has room for `count` entries, bounds for 2 count.
typedef struct sprag_tree {
    int count;           // boxes, set by the caller
    int *order;          // boxes in the order of the leaves; sprag_tree_build sets it
    double (*bounds)[6]; // m, of the nodes; sprag_tree_build sets them
} sprag_tree;

// Builds the tree over `count` finite boxes. tree: with its count and arrays.
void sprag_tree_build(sprag_tree *tree, const double (*box)[6]);

typedef void sprag_tree_fn(void *data, int box);

typedef bool sprag_tree_skip_fn(const void *data, const double box[6]);

// Calls back for every box whose leaf overlaps the bounds; the box itself may not. skips: true for
// bounds of nodes in which none is wanted; NULL: all are.
void sprag_tree_find(const sprag_tree *tree, const double bounds[6], sprag_tree_skip_fn *skips,
                     sprag_tree_fn *found, void *data);

typedef void sprag_overlap_fn(void *data, int i, int j); // i < j

// Calls back for every pair of boxes that overlap. Boxes may be infinite; each of those is compared
// with all others. false: no memory.
bool sprag_overlaps(const double (*bounds)[6], int count, sprag_overlap_fn *found, void *data,
                    sprag_scratch *scratch);

#endif
