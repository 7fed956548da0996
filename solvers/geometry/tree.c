#include "tree.h"

#include "tolerances.h"
#include <math.h>
#include <string.h>

// A node stands for a range of `order`; its halves are nodes 2 node + 1 and 2 node + 2.

static double centre(const double box[6], int axis)
{
    return box[axis] + box[axis + 3];
}

// Puts the `nth` smallest at its place, with none larger before it (Hoare's select).
static void select_nth(int *order, int count, int nth, const double (*box)[6], int axis)
{
    int lo = 0, hi = count - 1;
    while (lo < hi) {
        double pivot = centre(box[order[(lo + hi) / 2]], axis);
        int i = lo, j = hi;
        while (i <= j) {
            while (centre(box[order[i]], axis) < pivot) {
                i++;
            }
            while (centre(box[order[j]], axis) > pivot) {
                j--;
            }
            if (i <= j) {
                int swapped = order[i];
                order[i++] = order[j];
                order[j--] = swapped;
            }
        }
        if (nth <= j) {
            hi = j;
        } else if (nth >= i) {
            lo = i;
        } else {
            return;
        }
    }
}

// The box around boxes.
static void bound(const double (*box)[6], const int *order, int count, double bounds[6])
{
    double b[6];
    memcpy(b, box[order[0]], sizeof b);
    for (int i = 1; i < count; i++) {
        const double *add = box[order[i]];
        for (int k = 0; k < 3; k++) {
            b[k] = sprag_smaller(b[k], add[k]);
            b[k + 3] = sprag_larger(b[k + 3], add[k + 3]);
        }
    }
    memcpy(bounds, b, sizeof b);
}

static void build(sprag_tree *tree, int node, int start, int count, const double (*box)[6])
{
    const double *b = tree->bounds[node];
    bound(box, tree->order + start, count, tree->bounds[node]);
    if (count <= SPRAG_TREE_LEAF) {
        return;
    }
    double x = b[3] - b[0], y = b[4] - b[1], z = b[5] - b[2];
    int half = count / 2;
    select_nth(tree->order + start, count, half, box, x >= y && x >= z ? 0 : y >= z ? 1 : 2);
    build(tree, 2 * node + 1, start, half, box);
    build(tree, 2 * node + 2, start + half, count - half, box);
}

void sprag_tree_build(sprag_tree *tree, const double (*box)[6])
{
    for (int i = 0; i < tree->count; i++) {
        tree->order[i] = i;
    }
    if (tree->count) {
        build(tree, 0, 0, tree->count, box);
    }
}

static void find(const sprag_tree *tree, int node, int start, int count, const double bounds[6],
                 sprag_tree_skip_fn *skips, sprag_tree_fn *found, void *data)
{
    if (!sprag_boxes_overlap(tree->bounds[node], bounds) ||
        (skips && skips(data, tree->bounds[node]))) {
        return;
    }
    if (count <= SPRAG_TREE_LEAF) {
        for (int i = 0; i < count; i++) {
            found(data, tree->order[start + i]);
        }
        return;
    }
    int half = count / 2;
    find(tree, 2 * node + 1, start, half, bounds, skips, found, data);
    find(tree, 2 * node + 2, start + half, count - half, bounds, skips, found, data);
}

void sprag_tree_find(const sprag_tree *tree, const double bounds[6], sprag_tree_skip_fn *skips,
                     sprag_tree_fn *found, void *data)
{
    if (tree->count) {
        find(tree, 0, 0, tree->count, bounds, skips, found, data);
    }
}

// ---- all pairs

typedef struct overlap {
    int box, place; // numbers of two boxes; of the one with the larger number, its place in `order`
} overlap;

// Finds each pair once, by pairs of nodes that overlap.
typedef struct pairing {
    const sprag_tree *tree;
    const double (*box)[6]; // in the order of the leaves
    const int *number;      // of these boxes
    overlap *found;         // in scratch
    int count, room;
    sprag_scratch *scratch;
} pairing;

typedef struct node {
    int index, start, count;
} node;

static void add_overlap(pairing *p, int i, int j)
{
    if (!sprag_boxes_overlap(p->box[i], p->box[j])) {
        return;
    }
    overlap *found =
        sprag_scratch_widen(p->scratch, p->found, p->count, &p->room, p->room, sizeof *found);
    if (!found) {
        return;
    }
    p->found = found;
    bool in_order = p->number[i] < p->number[j];
    p->found[p->count++] = (overlap){p->number[in_order ? i : j], in_order ? j : i};
}

static void halve(const node *n, node half[2])
{
    int first = n->count / 2;
    half[0] = (node){2 * n->index + 1, n->start, first};
    half[1] = (node){2 * n->index + 2, n->start + first, n->count - first};
}

static void pair_nodes(pairing *p, const node *a, const node *b)
{
    node half[2];
    if (!sprag_boxes_overlap(p->tree->bounds[a->index], p->tree->bounds[b->index])) {
        return;
    }
    if (a->count <= SPRAG_TREE_LEAF && b->count <= SPRAG_TREE_LEAF) {
        for (int i = 0; i < a->count; i++) {
            for (int j = 0; j < b->count; j++) {
                add_overlap(p, a->start + i, b->start + j);
            }
        }
        return;
    }
    const node *split = a->count >= b->count ? a : b, *other = split == a ? b : a;
    halve(split, half);
    pair_nodes(p, &half[0], other);
    pair_nodes(p, &half[1], other);
}

static void pair_within(pairing *p, const node *n)
{
    node half[2];
    for (int i = 0; n->count <= SPRAG_TREE_LEAF && i < n->count; i++) {
        for (int j = i + 1; j < n->count; j++) {
            add_overlap(p, n->start + i, n->start + j);
        }
    }
    if (n->count > SPRAG_TREE_LEAF) {
        halve(n, half);
        pair_within(p, &half[0]);
        pair_within(p, &half[1]);
        pair_nodes(p, &half[0], &half[1]);
    }
}

// Stable, by the box or by the place. first: room for `count` numbers; of each key, where it
// starts.
static void sort(const overlap *from, int overlaps, bool by_box, int count, int *first, overlap *to)
{
    memset(first, 0, (size_t)count * sizeof *first);
    for (int k = 0; k < overlaps; k++) {
        first[by_box ? from[k].box : from[k].place]++;
    }
    for (int i = 1; i < count && overlaps > 0; i++) {
        first[i] += first[i - 1];
    }
    for (int k = overlaps - 1; k >= 0; k--) {
        to[--first[by_box ? from[k].box : from[k].place]] = from[k];
    }
}

static bool is_finite(const double box[6])
{
    double sum = 0;
    for (int k = 0; k < 6; k++) {
        sum += fabs(box[k]);
    }
    return isfinite(sum);
}

// Overlaps are told in the order of boxes, those of one box in the order of the leaves.
bool sprag_overlaps(const double (*bounds)[6], int count, sprag_overlap_fn *found, void *data,
                    sprag_scratch *scratch)
{
    int *number = SPRAG_TAKE_RAW(scratch, count, int), *order = SPRAG_TAKE_RAW(scratch, count, int);
    int *first = SPRAG_TAKE_RAW(scratch, count, int),
        *of_leaf = SPRAG_TAKE_RAW(scratch, count, int);
    double(*box)[6] = SPRAG_TAKE_RAW(scratch, 2 * (size_t)count, *box);
    double(*nodes)[6] = SPRAG_TAKE_RAW(scratch, 2 * (size_t)count, *nodes);
    sprag_tree tree = {.order = order, .bounds = nodes};
    pairing p = {.tree = &tree, .number = of_leaf, .room = 8 * count, .scratch = scratch};
    p.found = SPRAG_TAKE_RAW(scratch, p.room, overlap);
    if (scratch->failed) {
        return false;
    }
    int infinite = 0; // their numbers fill the array from its end
    for (int i = 0; i < count; i++) {
        if (is_finite(bounds[i])) {
            memcpy(box[tree.count], bounds[i], sizeof *box);
            number[tree.count++] = i;
        } else {
            number[count - ++infinite] = i;
        }
    }
    sprag_tree_build(&tree, (const double(*)[6])box);
    double(*sorted)[6] = box + count;
    for (int i = 0; i < tree.count; i++) {
        memcpy(sorted[i], box[order[i]], sizeof *sorted);
        of_leaf[i] = number[order[i]];
    }
    p.box = (const double(*)[6])sorted;
    if (tree.count) {
        pair_within(&p, &(node){0, 0, tree.count});
    }
    overlap *other = SPRAG_TAKE_RAW(scratch, p.count, overlap);
    if (scratch->failed) {
        return false;
    }
    sort(p.found, p.count, false, count, first, other);
    sort(other, p.count, true, count, first, p.found);
    for (int k = 0; k < count; k++) {
        int i = number[k];
        for (int m = first[i]; m < p.count && p.found[m].box == i; m++) {
            found(data, i, of_leaf[p.found[m].place]);
        }
        for (int m = k < tree.count ? tree.count : k + 1; m < count; m++) {
            int j = number[m];
            if (sprag_boxes_overlap(bounds[i], bounds[j])) {
                found(data, i < j ? i : j, i < j ? j : i);
            }
        }
    }
    return true;
}
