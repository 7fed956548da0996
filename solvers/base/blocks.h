// A sparse square matrix of 6x6 blocks, one block row per body, with a symmetric pattern, and its
// factorisation in an order that keeps the fill low (AMD; of trees, without fill, from their leaves
// to a root). Symmetric positive definite: L L'.
// General: L U with pivoting inside the diagonal blocks only, which suffices for mass-dominated
// matrices. One step's cost and memory follow the fill, never the square of the number of bodies.
#ifndef SPRAG_BLOCKS_H
#define SPRAG_BLOCKS_H

#include <stdbool.h>

#include "result.h"
#include "scratch.h"

typedef struct sprag_blocks {
    int n;     // block rows
    int *rank; // block row -> place in the order of elimination
    int *body; // and back
    // Off-diagonal blocks of the factor, column by column: column k (places) holds the blocks
    // start[k] .. start[k + 1] at rows row[] > k, ascending.
    int *start, *row;
    // The same by rows: row i has the blocks at block[] of columns column[], for
    // left_start[i] .. left_start[i + 1].
    int *left_start, *left_column, *left_block;
    double (*diagonal)[36]; // n
    double (*lower)[36];    // block (row, k), transposed; set by the caller if general
    double (*upper)[36];    // block (k, row)
    int (*pivot)[6];        // of the diagonal blocks; general only
    int *place;             // work of the factorisation
    double *work;           // 6 n
} sprag_blocks;

// Orders and analyses the pattern with the given edges (pairs of block rows; repeated and in any
// order; pairs of equal ones are ignored). All memory comes from scratch.
sprag_result sprag_blocks_analyse(sprag_blocks *blocks, int n, int edges, const int (*edge)[2],
                                  sprag_scratch *scratch);

// Takes the memory for the blocks of an analysed pattern. They hold anything.
sprag_result sprag_blocks_take(sprag_blocks *blocks, sprag_scratch *scratch);

// Products of blocks that a symmetric factorisation takes.
double sprag_blocks_work(const sprag_blocks *blocks);

// Sets the blocks off the diagonal to 0. The caller sets those on it.
void sprag_blocks_clear(sprag_blocks *blocks, bool symmetric);

// Returns the index k of the blocks (i, j) and (j, i), i != j in the caller's numbering: the one
// whose row is eliminated later (higher rank) is lower[k], transposed, the other upper[k]. The
// pattern must contain them.
int sprag_blocks_find(const sprag_blocks *blocks, int i, int j);

// Factorises in place. SPRAG_SINGULAR if a pivot is zero, not finite or, if symmetric, not
// positive.
sprag_result sprag_blocks_factor(sprag_blocks *blocks, bool symmetric);

// Right-hand sides that sprag_blocks_forward solves at once.
enum { SPRAG_FORWARD = 4 };

// The forward solve of a symmetric matrix: L^-1 x. x: 6 n rows of SPRAG_FORWARD, in the order of
// elimination, zero but at two places (n: none). What is not zero in the solution lies at these
// places and their parents: lists them, with 6 rows of the solution each. Leaves x zero. Returns
// the number of places.
int sprag_blocks_forward(const sprag_blocks *blocks, int first, int second, double *x, int *place,
                         double (*part)[6][SPRAG_FORWARD]);

// The next place that a forward solve from `place` reaches; -1: none.
int sprag_blocks_parent(const sprag_blocks *blocks, int place);

// Sign of the determinant of a general matrix that has been factorised.
double sprag_blocks_orientation(const sprag_blocks *blocks);

// x (6 n, caller's numbering): right-hand side on entry, solution on return.
void sprag_blocks_solve(sprag_blocks *blocks, bool symmetric, double *x);

#endif
