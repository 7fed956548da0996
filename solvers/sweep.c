#include "solvers/sweep.h"

#include <math.h>
#include <string.h>

// ---- sort and sweep

typedef struct begin {
    double lo;
    int index;
} begin;

static bool before(const begin *a, const begin *b)
{
    return a->lo < b->lo || (a->lo == b->lo && a->index < b->index);
}

// Merge sort, from the bottom up; returns the one of the two arrays that is sorted then.
static begin *sort(begin *from, begin *to, int count)
{
    for (int width = 1; width < count; width *= 2) {
        for (int start = 0; start < count; start += 2 * width) {
            int i = start, middle = start + width < count ? start + width : count;
            int j = middle, end = middle + width < count ? middle + width : count;
            for (int k = start; k < end; k++) {
                to[k] =
                    j == end || (i < middle && !before(&from[j], &from[i])) ? from[i++] : from[j++];
            }
        }
        begin *swapped = from;
        from = to;
        to = swapped;
    }
    return from;
}

static int widest_axis(const double (*bounds)[6], int count)
{
    double widest = -1;
    int axis = 0;
    for (int k = 0; k < 3; k++) {
        double sum = 0, squares = 0;
        int finite = 0;
        for (int i = 0; i < count; i++) {
            double centre = (bounds[i][k] + bounds[i][k + 3]) / 2;
            if (isfinite(centre)) {
                sum += centre;
                squares += centre * centre;
                finite++;
            }
        }
        double spread = finite ? squares / finite - (sum / finite) * (sum / finite) : 0;
        if (spread > widest) {
            widest = spread;
            axis = k;
        }
    }
    return axis;
}

bool sprag_sweep(const double (*bounds)[6], int count, sprag_sweep_fn *found, void *data,
                 sprag_scratch *scratch)
{
    begin *first = SPRAG_TAKE(scratch, count, begin), *second = SPRAG_TAKE(scratch, count, begin);
    if (scratch->failed) {
        return false;
    }
    int axis = widest_axis(bounds, count);
    for (int i = 0; i < count; i++) {
        first[i] = (begin){bounds[i][axis], i};
    }
    const begin *sorted = sort(first, second, count);
    for (int a = 0; a < count; a++) {
        int i = sorted[a].index;
        for (int b = a + 1; b < count && sorted[b].lo <= bounds[i][axis + 3]; b++) {
            int j = sorted[b].index;
            if (sprag_boxes_overlap(bounds[i], bounds[j])) {
                found(data, i < j ? i : j, i < j ? j : i);
            }
        }
    }
    return true;
}

// ---- tree: the node of a range of the order has its halves at 2 node + 1 and 2 node + 2 of a
// tree as deep as the count needs; here they are numbered as they are come by: left is next, right
// is behind the 2 n - 1 nodes of a left range of n leaves.

enum { LEAF = 4 };

static int leaves_of(int count)
{
    return count <= LEAF ? 1 : leaves_of(count / 2) + leaves_of(count - count / 2);
}

static double centre(const double box[6], int axis)
{
    return box[axis] + box[axis + 3];
}

// Puts the `nth` smallest where it belongs, with none larger before it (Hoare's select).
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
    if (count <= LEAF) {
        return;
    }
    double x = b[3] - b[0], y = b[4] - b[1], z = b[5] - b[2];
    int half = count / 2;
    select_nth(tree->order + start, count, half, box, x >= y && x >= z ? 0 : y >= z ? 1 : 2);
    build(tree, node + 1, start, half, box);
    build(tree, node + 2 * leaves_of(half), start + half, count - half, box);
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
    if (count <= LEAF) {
        for (int i = 0; i < count; i++) {
            found(data, tree->order[start + i]);
        }
        return;
    }
    int half = count / 2;
    find(tree, node + 1, start, half, bounds, found, data);
    find(tree, node + 2 * leaves_of(half), start + half, count - half, bounds, found, data);
}

void sprag_tree_find(const sprag_tree *tree, const double bounds[6], sprag_tree_fn *found,
                     void *data)
{
    if (tree->count) {
        find(tree, 0, 0, tree->count, bounds, found, data);
    }
}
