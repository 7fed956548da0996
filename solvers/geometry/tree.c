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

static void build(sprag_tree *tree, int node, int start, int count, const double (*box)[6])
{
    double *b = tree->bounds[node];
    memcpy(b, box[tree->order[start]], sizeof tree->bounds[0]);
    for (int i = 1; i < count; i++) {
        const double *add = box[tree->order[start + i]];
        for (int k = 0; k < 3; k++) {
            b[k] = fmin(b[k], add[k]);
            b[k + 3] = fmax(b[k + 3], add[k + 3]);
        }
    }
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
                 sprag_tree_fn *found, void *data)
{
    if (!sprag_boxes_overlap(tree->bounds[node], bounds)) {
        return;
    }
    if (count <= SPRAG_TREE_LEAF) {
        for (int i = 0; i < count; i++) {
            found(data, tree->order[start + i]);
        }
        return;
    }
    int half = count / 2;
    find(tree, 2 * node + 1, start, half, bounds, found, data);
    find(tree, 2 * node + 2, start + half, count - half, bounds, found, data);
}

void sprag_tree_find(const sprag_tree *tree, const double bounds[6], sprag_tree_fn *found,
                     void *data)
{
    if (tree->count) {
        find(tree, 0, 0, tree->count, bounds, found, data);
    }
}

// ---- all pairs

typedef struct query {
    const double (*bounds)[6];
    const int *number; // numbers of the tree's boxes in `bounds`
    int box;           // the box whose overlaps are reported; only with boxes of larger numbers
    sprag_overlap_fn *found;
    void *data;
} query;

static void report_overlap(void *data, int place)
{
    const query *q = data;
    int other = q->number[place];
    if (other > q->box && sprag_boxes_overlap(q->bounds[q->box], q->bounds[other])) {
        q->found(q->data, q->box, other);
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

bool sprag_overlaps(const double (*bounds)[6], int count, sprag_overlap_fn *found, void *data,
                    sprag_scratch *scratch)
{
    int *number = SPRAG_TAKE(scratch, count, int), *order = SPRAG_TAKE(scratch, count, int);
    double(*box)[6] = SPRAG_TAKE(scratch, count, *box);
    double(*nodes)[6] = SPRAG_TAKE(scratch, 2 * (size_t)count, *nodes);
    if (scratch->failed) {
        return false;
    }
    sprag_tree tree = {.order = order, .bounds = nodes};
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
    for (int k = 0; k < count; k++) {
        int i = number[k];
        query q = {bounds, number, i, found, data};
        if (k < tree.count) {
            sprag_tree_find(&tree, bounds[i], report_overlap, &q);
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
