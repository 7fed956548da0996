// Right-hand sides of every node of a matrix of blocks.
#include <check.h>
#include <string.h>

#include "derivative.h"
#include "problems.h"
#include "suite.h"

enum { MOST = 17 };

static sprag_scratch scratch;
static sprag_blocks blocks;
static sprag_columns X[MOST * MOST], Z[MOST * MOST], again[MOST * MOST];
static const sprag_columns *at[MOST * MOST];

static void fill(chance *c, double *block, double diagonal)
{
    for (int k = 0; k < 36; k++) {
        block[k] = uniform(c, -1, 1) + (k % 7 == 0 ? diagonal : 0);
    }
}

// A tree of n nodes, with loops, and its factors.
static void make_factors(chance *c, int n, int loops)
{
    int edge[2 * MOST][2], edges = n - 1 + loops;
    for (int e = 0; e < edges; e++) {
        edge[e][0] = e < n - 1 ? e + 1 : (int)uniform(c, 0, n);
        edge[e][1] = (int)uniform(c, 0, e < n - 1 ? e + 1 : n);
    }
    ck_assert_int_eq(sprag_blocks_analyse(&blocks, n, edges, (const int(*)[2])edge, &scratch),
                     SPRAG_OK);
    ck_assert_int_eq(sprag_blocks_take(&blocks, &scratch), SPRAG_OK);
    sprag_blocks_clear(&blocks, false);
    for (int i = 0; i < n; i++) {
        fill(c, blocks.diagonal[i], 9);
    }
    for (int e = 0; e < edges; e++) {
        if (edge[e][0] != edge[e][1]) {
            const int k = sprag_blocks_find(&blocks, edge[e][0], edge[e][1]);
            fill(c, blocks.lower[k], 0);
            fill(c, blocks.upper[k], 0);
        }
    }
    ck_assert_int_eq(sprag_blocks_factor(&blocks, false), SPRAG_OK);
}

static void make_columns(chance *c, int n)
{
    for (int i = 0; i < n * n; i++) {
        const bool own = i / n == i % n;
        at[i] = own || uniform(c, 0, n) < 3 ? &X[i] : NULL;
        for (int k = 0; k < 6 * SPRAG_COLUMNS; k++) {
            const int row = k / SPRAG_COLUMNS, column = k % SPRAG_COLUMNS;
            const double unit = own && column == SPRAG_INVERSE + row;
            X[i][row][column] = at[i] && column < SPRAG_INVERSE ? uniform(c, -1, 1) : unit;
        }
        memcpy(again[n * (i % n) + i / n], X[i], sizeof X[i]);
    }
}

// Those with blocks on few rows, and on all, are solved as each alone.
START_TEST(columns_are_solutions)
{
    chance c = {(uint64_t)_i};
    const int n = 1 + _i % MOST;
    make_factors(&c, n, _i < MOST ? 0 : n);
    make_columns(&c, n);
    ck_assert_int_eq(sprag_columns_spread(&blocks, at, Z, &scratch), SPRAG_OK);
    sprag_columns_solve(&blocks, again);
    for (int k = 0; k < n * SPRAG_COLUMNS; k++) {
        const int node = k / SPRAG_COLUMNS, column = k % SPRAG_COLUMNS;
        double x[6 * MOST];
        for (int i = 0; i < 6 * n; i++) {
            x[i] = X[n * node + i / 6][i % 6][column];
        }
        sprag_blocks_solve(&blocks, false, x);
        for (int i = 0; i < 6 * n; i++) {
            ck_assert_double_eq_tol(Z[n * (i / 6) + node][i % 6][column], x[i], 1e-11);
            ck_assert_double_eq_tol(again[n * (i / 6) + node][i % 6][column], x[i], 1e-11);
        }
    }
    sprag_scratch_free(&scratch);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("columns");
    ADD_TESTS(suite, "all", {columns_are_solutions, 3 * MOST});
    return run_suite(suite);
}
