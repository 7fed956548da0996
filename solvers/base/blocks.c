// Left-looking block factorisation, column by column of the elimination order (George and Liu,
// Computer Solution of Large Sparse Positive Definite Systems, ch. 5; Davis, Direct Methods, ch.
// 4).
#include "blocks.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>
#include <suitesparse/amd.h>

#include "block6.h"
#include "vectors.h"

// ---- pattern

// Does an edge join two nodes, and not those of the edge before it, as the rows of a joint do?
static bool is_new(const int (*edge)[2], int e)
{
    return edge[e][0] != edge[e][1] &&
           (e == 0 || edge[e][0] != edge[e - 1][0] || edge[e][1] != edge[e - 1][1]);
}

// Lists the neighbours of every node once, in any order. Returns their number.
static int gather_neighbours(int n, int edges, const int (*edge)[2], int *start, int *neighbour,
                             int *seen)
{
    int *end = seen; // one array for both: the ends are no longer used when the marks are set
    for (int e = 0; e < edges; e++) {
        if (is_new(edge, e)) {
            start[edge[e][0] + 1]++;
            start[edge[e][1] + 1]++;
        }
    }
    for (int i = 0; i < n; i++) {
        start[i + 1] += start[i];
        end[i] = start[i];
    }
    for (int e = 0; e < edges; e++) {
        int a = edge[e][0], b = edge[e][1];
        if (is_new(edge, e)) {
            neighbour[end[a]++] = b;
            neighbour[end[b]++] = a;
        }
    }
    for (int i = 0; i < n; i++) {
        seen[i] = -1;
    }
    int count = 0;
    for (int i = 0, from = 0; i < n; i++) {
        int to = start[i + 1];
        start[i] = count;
        for (int p = from; p < to; p++) {
            if (seen[neighbour[p]] != i) {
                seen[neighbour[p]] = i;
                neighbour[count++] = neighbour[p];
            }
        }
        from = to;
    }
    start[n] = count;
    return count;
}

// Orders trees from their leaves to a root, which is without fill. Returns false if the pattern has
// loops. A root that three nodes join makes short ways to it, of several right-hand sides. In a
// chain it is the first node: programs make bodies from a base on, and ODE lists the last one
// first. From a free end to the base, digits would be lost.
static bool order_tree(sprag_blocks *blocks, const int *start, const int *neighbour)
{
    enum { JOINS = 3 };
    int n = blocks->n, first = n, next = n, roots = 0; // first: of the nodes that have a place
    int *rank = blocks->rank;
    memset(rank, -1, (size_t)n * sizeof *rank);
    for (int i = 0; i < 2 * n; i++) {
        const int root = i % n, joins = start[root + 1] - start[root];
        if (rank[root] < 0 && (i >= n || joins >= JOINS)) {
            roots++;
            blocks->body[rank[root] = --first] = root;
        }
        while (next > first) {
            const int from = blocks->body[--next];
            for (int p = start[from]; p < start[from + 1]; p++) {
                if (rank[neighbour[p]] < 0) {
                    blocks->body[rank[neighbour[p]] = --first] = neighbour[p];
                }
            }
        }
    }
    return start[n] == 2 * (n - roots);
}

// Computes the elimination order by amd_2, which takes its workspace as an argument. Its wrapper
// amd_order would allocate memory.
static void order(sprag_blocks *blocks, const int *start, const int *neighbour, int count,
                  sprag_scratch *scratch)
{
    int n = blocks->n;
    int room = count + count / 5 + 7 * n + 1;
    int *work = SPRAG_TAKE_RAW(scratch, 8 * (size_t)n + (size_t)room, int);
    if (!work) {
        return;
    }
    int *pe = work, *len = pe + n, *nv = len + n, *next = nv + n, *last = next + n;
    int *head = last + n, *elen = head + n, *degree = elen + n, *iw = degree + n;
    int *w = blocks->place; // free until the factorisation
    for (int i = 0; i < n; i++) {
        pe[i] = start[i];
        len[i] = start[i + 1] - start[i];
    }
    memcpy(iw, neighbour, (size_t)count * sizeof *iw);
    double control[AMD_CONTROL], info[AMD_INFO];
    amd_defaults(control);
    amd_2(n, pe, iw, len, room, count, nv, next, last, head, elen, degree, w, control, info);
    for (int k = 0; k < n; k++) { // amd_2 leaves the permutation in `last`
        blocks->body[k] = last[k];
        blocks->rank[last[k]] = k;
    }
}

int sprag_blocks_parent(const sprag_blocks *blocks, int place)
{
    return blocks->start[place] < blocks->start[place + 1] ? blocks->row[blocks->start[place]] : -1;
}

// Computes the pattern of the factor. Column k has the rows of node k's later neighbours and the
// rows of its children in the elimination tree, except k. An insertion sort orders the few rows of
// each column.
static bool fill(sprag_blocks *blocks, const int *start, const int *neighbour, int count,
                 sprag_scratch *scratch)
{
    int n = blocks->n;
    int *first_child = SPRAG_TAKE_RAW(scratch, n, int);
    int *next_child = SPRAG_TAKE_RAW(scratch, n, int);
    int *seen = blocks->place;
    int room = 4 * n + 2 * count;
    blocks->row = SPRAG_TAKE_RAW(scratch, room, int);
    if (scratch->failed) {
        return false;
    }
    for (int k = 0; k < n; k++) {
        seen[k] = first_child[k] = -1;
    }
    int end = 0;
    for (int k = 0; k < n; k++) {
        if (room - end < n) { // a column has fewer rows
            room = 2 * room + n;
            int *bigger = SPRAG_TAKE_RAW(scratch, room, int);
            if (!bigger) {
                return false;
            }
            memcpy(bigger, blocks->row, (size_t)end * sizeof *bigger);
            blocks->row = bigger;
        }
        int begin = end;
        seen[k] = k;
        for (int p = start[blocks->body[k]]; p < start[blocks->body[k] + 1]; p++) {
            int i = blocks->rank[neighbour[p]];
            if (i > k && seen[i] != k) {
                seen[i] = k;
                blocks->row[end++] = i;
            }
        }
        for (int c = first_child[k]; c >= 0; c = next_child[c]) {
            for (int p = blocks->start[c]; p < blocks->start[c + 1]; p++) {
                int i = blocks->row[p];
                if (seen[i] != k) {
                    seen[i] = k;
                    blocks->row[end++] = i;
                }
            }
        }
        for (int p = begin + 1; p < end; p++) {
            int i = blocks->row[p], q = p;
            for (; q > begin && blocks->row[q - 1] > i; q--) {
                blocks->row[q] = blocks->row[q - 1];
            }
            blocks->row[q] = i;
        }
        blocks->start[k + 1] = end;
        int parent = sprag_blocks_parent(blocks, k);
        if (parent >= 0) {
            next_child[k] = first_child[parent];
            first_child[parent] = k;
        }
    }
    return true;
}

static void list_by_rows(sprag_blocks *blocks)
{
    int n = blocks->n, count = blocks->start[n], *end = blocks->place;
    for (int p = 0; p < count; p++) {
        blocks->left_start[blocks->row[p] + 1]++;
    }
    for (int i = 0; i < n; i++) {
        blocks->left_start[i + 1] += blocks->left_start[i];
        end[i] = blocks->left_start[i];
    }
    for (int k = 0; k < n; k++) {
        for (int p = blocks->start[k]; p < blocks->start[k + 1]; p++) {
            int at = end[blocks->row[p]]++;
            blocks->left_column[at] = k;
            blocks->left_block[at] = p;
        }
    }
}

sprag_result sprag_blocks_analyse(sprag_blocks *blocks, int n, int edges, const int (*edge)[2],
                                  sprag_scratch *scratch)
{
    *blocks = (sprag_blocks){.n = n};
    blocks->rank = SPRAG_TAKE_RAW(scratch, n, int);
    blocks->body = SPRAG_TAKE_RAW(scratch, n, int);
    blocks->start = SPRAG_TAKE(scratch, n + 1, int);
    blocks->place = SPRAG_TAKE_RAW(scratch, n + 1, int);
    int *start = SPRAG_TAKE(scratch, n + 1, int);
    int *neighbour = SPRAG_TAKE_RAW(scratch, 2 * (size_t)edges, int);
    if (scratch->failed) {
        return SPRAG_NO_MEMORY;
    }
    int count = gather_neighbours(n, edges, edge, start, neighbour, blocks->place);
    if (!order_tree(blocks, start, neighbour)) {
        order(blocks, start, neighbour, count, scratch);
    }
    if (scratch->failed || !fill(blocks, start, neighbour, count, scratch)) {
        return SPRAG_NO_MEMORY;
    }
    return SPRAG_OK;
}

sprag_result sprag_blocks_take(sprag_blocks *blocks, sprag_scratch *scratch)
{
    int n = blocks->n, off = blocks->start[n];
    blocks->left_start = SPRAG_TAKE(scratch, n + 1, int);
    blocks->left_column = SPRAG_TAKE_RAW(scratch, off, int);
    blocks->left_block = SPRAG_TAKE_RAW(scratch, off, int);
    blocks->work = SPRAG_TAKE_RAW(scratch, 6 * (size_t)n, double);
    blocks->pivot = SPRAG_TAKE_RAW(scratch, n, int[6]);
    blocks->diagonal = SPRAG_TAKE_RAW(scratch, n, double[36]);
    blocks->lower = SPRAG_TAKE_RAW(scratch, off, double[36]);
    blocks->upper = SPRAG_TAKE_RAW(scratch, off, double[36]);
    if (scratch->failed) {
        return SPRAG_NO_MEMORY;
    }
    list_by_rows(blocks);
    return SPRAG_OK;
}

double sprag_blocks_work(const sprag_blocks *blocks)
{
    double work = 0;
    for (int k = 0; k < blocks->n; k++) {
        double off = blocks->start[k + 1] - blocks->start[k];
        work += off * (off + 1) / 2;
    }
    return work;
}

void sprag_blocks_clear(sprag_blocks *blocks, bool symmetric)
{
    size_t off = (size_t)blocks->start[blocks->n];
    memset(blocks->upper, 0, off * sizeof *blocks->upper);
    if (!symmetric) {
        memset(blocks->lower, 0, off * sizeof *blocks->lower);
    }
}

int sprag_blocks_find(const sprag_blocks *blocks, int i, int j)
{
    int a = blocks->rank[i], b = blocks->rank[j];
    int column = a < b ? a : b, row = a < b ? b : a;
    int low = blocks->start[column], high = blocks->start[column + 1];
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (blocks->row[middle] <= row) {
            low = middle;
        } else {
            high = middle;
        }
    }
    assert(low < high && blocks->row[low] == row);
    return low;
}

// ---- numbers

// The lower blocks are divided by the pivot blocks. The upper ones are D^1/2 L' of a symmetric
// matrix, and of a general one not divided.
static inline __attribute__((always_inline)) sprag_result factor(sprag_blocks *blocks,
                                                                 bool symmetric)
{
    int *place = blocks->place; // row -> its block in column j
    double(*left)[36] = symmetric ? blocks->upper : blocks->lower;
    for (int j = 0; j < blocks->n; j++) {
        for (int p = blocks->start[j]; p < blocks->start[j + 1]; p++) {
            place[blocks->row[p]] = p;
        }
        for (int q = blocks->left_start[j]; q < blocks->left_start[j + 1]; q++) {
            int k = blocks->left_column[q], at = blocks->left_block[q];
            subtract_product(blocks->diagonal[j], left[at], blocks->upper[at]);
            for (int p = at + 1; p < blocks->start[k + 1]; p++) {
                int to = place[blocks->row[p]];
                subtract_product(blocks->upper[to], left[at], blocks->upper[p]);
                if (!symmetric) {
                    subtract_product(blocks->lower[to], blocks->upper[at], blocks->lower[p]);
                }
            }
        }
        if (symmetric ? !cholesky(blocks->diagonal[j])
                      : !lu(blocks->diagonal[j], blocks->pivot[j])) {
            return SPRAG_SINGULAR;
        }
        for (int p = blocks->start[j]; p < blocks->start[j + 1]; p++) {
            if (symmetric) {
                divide_cholesky(blocks->upper[p], blocks->lower[p], blocks->diagonal[j]);
            } else {
                divide_lu(blocks->lower[p], blocks->diagonal[j], blocks->pivot[j]);
            }
        }
    }
    return SPRAG_OK;
}

SPRAG_VECTORS
static sprag_result factor_symmetric(sprag_blocks *blocks)
{
    return factor(blocks, true);
}

SPRAG_VECTORS
static sprag_result factor_general(sprag_blocks *blocks)
{
    return factor(blocks, false);
}

sprag_result sprag_blocks_factor(sprag_blocks *blocks, bool symmetric)
{
    return symmetric ? factor_symmetric(blocks) : factor_general(blocks);
}

double sprag_blocks_orientation(const sprag_blocks *blocks)
{
    bool negative = false;
    for (int k = 0; k < blocks->n; k++) {
        for (int i = 0; i < 6; i++) {
            negative ^= blocks->diagonal[k][7 * i] < 0;
            negative ^= blocks->pivot[k][i] != i;
        }
    }
    return negative ? -1 : 1;
}

// With a symmetric matrix x waits in either direction for products with the divided blocks alone.
SPRAG_VECTORS
static void solve(sprag_blocks *blocks, bool symmetric, double *x)
{
    int n = blocks->n;
    double *y = blocks->work, (*right)[36] = symmetric ? blocks->lower : blocks->upper;
    for (int k = 0; k < n; k++) {
        memcpy(y + 6 * k, x + 6 * blocks->body[k], 6 * sizeof *y);
    }
    for (int k = 0; k < n; k++) {
        for (int p = blocks->start[k]; p < blocks->start[k + 1]; p++) {
            subtract_apply_transposed(y + 6 * blocks->row[p], blocks->lower[p], y + 6 * k);
        }
    }
    for (int k = n - 1; k >= 0; k--) {
        if (symmetric) {
            solve_cholesky(blocks->diagonal[k], y + 6 * k);
        }
        for (int p = blocks->start[k]; p < blocks->start[k + 1]; p++) {
            subtract_apply(y + 6 * k, right[p], y + 6 * blocks->row[p]);
        }
        if (!symmetric) {
            solve_lu(blocks->diagonal[k], blocks->pivot[k], y + 6 * k);
        }
    }
    for (int k = 0; k < n; k++) {
        memcpy(x + 6 * blocks->body[k], y + 6 * k, 6 * sizeof *y);
    }
}

void sprag_blocks_solve(sprag_blocks *blocks, bool symmetric, double *x)
{
    solve(blocks, symmetric, x);
}

// ---- several right-hand sides

// x = D^-1/2 L^-1 x
static inline void forward_four(const double *restrict L, sprag_four *restrict x)
{
    for (int k = 0; k < 6; k++) {
        for (int i = k + 1; i < 6; i++) {
            x[i] -= L[6 * i + k] * x[k];
        }
    }
    for (int k = 0; k < 6; k++) {
        x[k] *= L[7 * k];
    }
}

// y -= A' x
static inline void subtract_apply_four(sprag_four *restrict y, const double *restrict A,
                                       const sprag_four *restrict x)
{
    for (int i = 0; i < 6; i++) {
        sprag_four sum = A[i] * x[0];
        for (int j = 1; j < 6; j++) {
            sum += A[6 * j + i] * x[j];
        }
        y[i] -= sum;
    }
}

SPRAG_VECTORS
static int forward(const sprag_blocks *blocks, int first, int second, double *x, int *place,
                   double (*part)[6][SPRAG_FORWARD])
{
    sprag_four *X = (sprag_four *)x;
    int count = 0;
    while (first < blocks->n || second < blocks->n) {
        int k = first < second ? first : second, next = sprag_blocks_parent(blocks, k);
        sprag_four here[6];
        memcpy(here, X + 6 * k, sizeof here);
        memset(X + 6 * k, 0, sizeof here);
        forward_four(blocks->diagonal[k], here);
        for (int p = blocks->start[k]; p < blocks->start[k + 1]; p++) {
            subtract_apply_four(X + 6 * blocks->row[p], blocks->upper[p], here);
        }
        memcpy(part[count], here, sizeof here);
        place[count++] = k;
        next = next < 0 ? blocks->n : next;
        first = first == k ? next : first;
        second = second == k ? next : second;
    }
    return count;
}

int sprag_blocks_forward(const sprag_blocks *blocks, int first, int second, double *x, int *place,
                         double (*part)[6][SPRAG_FORWARD])
{
    return forward(blocks, first, second, x, place, part);
}
