// The block-sparse factorisation against dense LAPACK, on graphs of every shape that islands take.
#include <check.h>
#include <stdlib.h>

#include "blocks.h"
#include "problems.h"
#include "suite.h"

enum { NODES_MAX = 400, DENSE_MAX = 40, EDGES_MAX = 8 * NODES_MAX };

extern void dposv_(const char *uplo, const int *n, const int *nrhs, double *a, const int *lda,
                   double *b, const int *ldb, int *info, size_t uplo_length);
extern void dgesv_(const int *n, const int *nrhs, double *a, const int *lda, int *pivot, double *b,
                   const int *ldb, int *info);

static sprag_scratch scratch;

static void free_scratch(void)
{
    sprag_scratch_free(&scratch);
}

// ---- graphs

typedef struct graph {
    int n, edges;
    int edge[EDGES_MAX][2];
} graph;

static graph g;

static void connect(int a, int b)
{
    ck_assert_int_lt(g.edges, EDGES_MAX);
    g.edge[g.edges][0] = a;
    g.edge[g.edges++][1] = b;
}

static void shuffle_nodes(chance *c)
{
    int name[NODES_MAX];
    for (int i = 0; i < g.n; i++) {
        int j = pick(c, i + 1);
        name[i] = name[j];
        name[j] = i;
    }
    for (int e = 0; e < g.edges; e++) {
        g.edge[e][0] = name[g.edge[e][0]];
        g.edge[e][1] = name[g.edge[e][1]];
    }
}

static void chain(int n)
{
    g.n = n;
    for (int i = 1; i < n; i++) {
        connect(i - 1, i);
    }
}

static void star(int n)
{
    g.n = n;
    for (int i = 1; i < n; i++) {
        connect(0, i);
    }
}

static void tree(int n)
{
    chance c = {(uint64_t)n};
    g.n = n;
    for (int i = 1; i < n; i++) {
        connect(pick(&c, i), i);
    }
}

static void grid(int n) // of n columns and rows
{
    g.n = n * n;
    for (int i = 0; i < g.n; i++) {
        if (i % n) {
            connect(i, i - 1);
        }
        if (i >= n) {
            connect(i, i - n);
        }
    }
}

static void random_graph(int n)
{
    chance c = {(uint64_t)n};
    g.n = n;
    for (int e = 0; e < 2 * n; e++) {
        connect(pick(&c, n), pick(&c, n));
    }
}

// Every edge again, turned round, and every node with itself: patches of contacts, and what analyse
// ignores.
static void repeated(int n)
{
    random_graph(n);
    for (int e = 0, edges = g.edges; e < edges; e++) {
        connect(g.edge[e][1], g.edge[e][0]);
        connect(g.edge[e][0], g.edge[e][1]);
    }
    for (int i = 0; i < n; i++) {
        connect(i, i);
    }
}

static void dense(int n)
{
    g.n = n;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            connect(i, j);
        }
    }
}

static void apart(int n) // three chains and lone nodes
{
    g.n = n;
    for (int i = 3; i < n - 3; i++) {
        connect(i - 3, i);
    }
}

static void unconnected(int n)
{
    g.n = n;
}

static const struct {
    const char *name;
    void (*make)(int n);
    int n;
} shapes[] = {
    {"nothing", unconnected, 0}, {"one", unconnected, 1},      {"two apart", unconnected, 2},
    {"pair", chain, 2},          {"triangle", dense, 3},       {"lone", unconnected, 9},
    {"chain", chain, 40},        {"star", star, 40},           {"tree", tree, 40},
    {"grid", grid, 6},           {"random", random_graph, 40}, {"small random", random_graph, 7},
    {"repeated", repeated, 20},  {"dense", dense, 20},         {"apart", apart, 30},
};

enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static void make_shape(int i)
{
    chance c = {99};
    g = (graph){0};
    shapes[i].make(shapes[i].n);
    shuffle_nodes(&c);
}

// ---- matrices: a full one for LAPACK, and the same in blocks

static double A[6 * DENSE_MAX * 6 * DENSE_MAX]; // row by row
static double b[6 * NODES_MAX], x[6 * NODES_MAX], oracle[6 * NODES_MAX];
static sprag_blocks blocks;

static double *entry(int i, int j)
{
    return &A[(size_t)i * (size_t)(6 * g.n) + (size_t)j];
}

// M + sum of J' W J over the edges, as contacts and rows make them. W has an unsymmetric part if
// asked for, within what friction's dependence on the normal force adds. stiffness: of every second
// edge.
static void fill_dense(chance *c, bool symmetric, double lightest, double stiffness)
{
    memset(A, 0, sizeof A);
    for (int i = 0; i < 6 * g.n; i++) {
        *entry(i, i) = pow(lightest, uniform(c, 0, 1));
        b[i] = uniform(c, -1, 1);
    }
    for (int e = 0; e < g.edges; e++) {
        double J[3][12], W[3][3] = {{0}}, k = e % 2 ? stiffness : 1;
        if (g.edge[e][0] == g.edge[e][1]) {
            continue;
        }
        for (int r = 0; r < 3; r++) {
            for (int i = 0; i < 12; i++) {
                J[r][i] = uniform(c, -1, 1);
            }
            W[r][r] = k;
            W[r][0] += symmetric || r == 0 ? 0 : 0.5 * k;
        }
        for (int i = 0; i < 12; i++) {
            for (int j = 0; j < 12; j++) {
                double sum = 0;
                for (int r = 0; r < 3; r++) {
                    for (int q = 0; q < 3; q++) {
                        sum += J[r][i] * W[r][q] * J[q][j];
                    }
                }
                *entry(6 * g.edge[e][i / 6] + i % 6, 6 * g.edge[e][j / 6] + j % 6) += sum;
            }
        }
    }
    for (int i = 0; symmetric && i < 6 * g.n; i++) { // to the last bit
        for (int j = 0; j < i; j++) {
            *entry(i, j) = *entry(j, i);
        }
    }
}

static void copy_block(int i, int j, double *block)
{
    for (int k = 0; k < 36; k++) {
        block[k] = *entry(6 * i + k / 6, 6 * j + k % 6);
    }
}

static void transpose(double *block)
{
    for (int i = 0; i < 6; i++) {
        for (int k = 0; k < i; k++) {
            double swap = block[6 * i + k];
            block[6 * i + k] = block[6 * k + i];
            block[6 * k + i] = swap;
        }
    }
}

static void fill_blocks(bool symmetric)
{
    sprag_blocks_clear(&blocks, symmetric);
    for (int i = 0; i < g.n; i++) {
        copy_block(i, i, blocks.diagonal[blocks.rank[i]]);
    }
    for (int e = 0; e < g.edges; e++) {
        int i = g.edge[e][0], j = g.edge[e][1];
        if (i != j) {
            int found = sprag_blocks_find(&blocks, i, j);
            bool i_later = blocks.rank[i] > blocks.rank[j];
            ck_assert_int_eq(found, sprag_blocks_find(&blocks, j, i));
            copy_block(i_later ? j : i, i_later ? i : j, blocks.upper[found]);
            if (!symmetric) {
                copy_block(i_later ? i : j, i_later ? j : i, blocks.lower[found]);
                transpose(blocks.lower[found]);
            }
        }
    }
}

static void analyse(void)
{
    sprag_result result =
        sprag_blocks_analyse(&blocks, g.n, g.edges, (const int(*)[2])g.edge, &scratch);
    ck_assert_str_eq(sprag_result_name(result), "ok");
    ck_assert_int_eq(sprag_blocks_take(&blocks, &scratch), SPRAG_OK);
}

static sprag_result factor_and_solve(bool symmetric)
{
    fill_blocks(symmetric);
    memcpy(x, b, sizeof x);
    sprag_result result = sprag_blocks_factor(&blocks, symmetric);
    if (result == SPRAG_OK) {
        sprag_blocks_solve(&blocks, symmetric, x);
    }
    return result;
}

static int solve_by_lapack(bool symmetric)
{
    static double copy[6 * DENSE_MAX * 6 * DENSE_MAX];
    int n = 6 * g.n, one = 1, info = 0, pivot[6 * DENSE_MAX];
    for (int i = 0; i < n; i++) { // column by column
        for (int j = 0; j < n; j++) {
            copy[(size_t)i + (size_t)j * (size_t)n] = *entry(i, j);
        }
    }
    memcpy(oracle, b, sizeof oracle);
    if (n && symmetric) {
        dposv_("L", &n, &one, copy, &n, oracle, &n, &info, 1);
    } else if (n) {
        dgesv_(&n, &one, copy, &n, pivot, oracle, &n, &info);
    }
    return info;
}

static double difference(void)
{
    double error = 0, largest = 0;
    for (int i = 0; i < 6 * g.n; i++) {
        error = fmax(error, fabs(x[i] - oracle[i]));
        largest = fmax(largest, fabs(oracle[i]));
    }
    return g.n ? error / largest : 0;
}

// |A x - b| / (|A| |x| + |b|), largest norms: what a stable method leaves, however bad the scaling.
static double backward_error(void)
{
    double error = 0, norm = 0, size = 0, right = 0;
    for (int i = 0; i < 6 * g.n; i++) {
        double sum = -b[i], row = 0;
        for (int j = 0; j < 6 * g.n; j++) {
            sum += *entry(i, j) * x[j];
            row += fabs(*entry(i, j));
        }
        error = fmax(error, fabs(sum));
        norm = fmax(norm, row);
        size = fmax(size, fabs(x[i]));
        right = fmax(right, fabs(b[i]));
    }
    return g.n ? error / (norm * size + right) : 0;
}

// ---- numbers

START_TEST(agrees_with_lapack_on_every_shape)
{
    int shape = _i / 2;
    bool symmetric = _i % 2;
    chance c = {7};
    make_shape(shape);
    fill_dense(&c, symmetric, 1e-2, 1);
    analyse();
    ck_assert_int_eq(solve_by_lapack(symmetric), 0);
    ck_assert_msg(factor_and_solve(symmetric) == SPRAG_OK, "%s", shapes[shape].name);
    ck_assert_msg(difference() < 1e-11, "%s: %g", shapes[shape].name, difference());
}
END_TEST

// Two ways through one matrix.
START_TEST(symmetric_and_general_agree)
{
    chance c = {8};
    make_shape(_i);
    fill_dense(&c, true, 1e-2, 1);
    analyse();
    ck_assert_int_eq(factor_and_solve(true), SPRAG_OK);
    memcpy(oracle, x, sizeof oracle);
    ck_assert_int_eq(factor_and_solve(false), SPRAG_OK);
    ck_assert_msg(difference() < 1e-11, "%s: %g", shapes[_i].name, difference());
}
END_TEST

static const double stiffness[] = {1e2, 1e5, 1e8, 1e11};

START_TEST(stays_stable_when_badly_scaled)
{
    bool symmetric = _i % 2;
    double k = stiffness[_i / 2 % 4];
    chance c = {9};
    make_shape(_i / 8);
    fill_dense(&c, symmetric, 1e-4, k);
    analyse();
    ck_assert_int_eq(factor_and_solve(symmetric), SPRAG_OK);
    ck_assert_msg(backward_error() < (symmetric ? 1e-15 : 1e-13), "%s at %g: %g",
                  shapes[_i / 8].name, k, backward_error());
}
END_TEST

// Diagonal blocks with zeros on their diagonal: only swapped rows have pivots.
START_TEST(pivots_inside_the_diagonal_blocks)
{
    chance c = {10};
    make_shape(_i);
    fill_dense(&c, false, 1, 1e-2);
    for (int i = 0; i < 6 * g.n; i++) {
        for (int j = i / 6 * 6; j < i / 6 * 6 + 6; j++) {
            *entry(i, j) = j % 6 == (i + 1 + i / 6 % 5) % 6 ? 30 : uniform(&c, -1, 1) * (i != j);
        }
        for (int j = 0; j < 6 * g.n; j++) {
            *entry(i, j) *= j / 6 == i / 6 ? 1 : 0.1;
        }
    }
    analyse();
    ck_assert_int_eq(solve_by_lapack(false), 0);
    ck_assert_msg(factor_and_solve(false) == SPRAG_OK, "%s", shapes[_i].name);
    ck_assert_msg(difference() < 1e-11, "%s: %g", shapes[_i].name, difference());
}
END_TEST

START_TEST(many_right_hand_sides_by_one_factorisation)
{
    chance c = {11};
    make_shape(9);
    fill_dense(&c, false, 1e-2, 10);
    analyse();
    fill_blocks(false);
    ck_assert_int_eq(sprag_blocks_factor(&blocks, false), SPRAG_OK);
    for (int k = 0; k < 5; k++) {
        for (int i = 0; i < 6 * g.n; i++) {
            b[i] = uniform(&c, -1, 1);
        }
        ck_assert_int_eq(solve_by_lapack(false), 0);
        memcpy(x, b, sizeof x);
        sprag_blocks_solve(&blocks, false, x);
        ck_assert_double_lt(difference(), 1e-11);
    }
}
END_TEST

// |L^-1 b|^2 = b' A^-1 b, column by column, for b at two places or one (second: n).
START_TEST(forward_solves_from_two_places)
{
    static double right[6 * NODES_MAX][SPRAG_FORWARD], part[NODES_MAX][6][SPRAG_FORWARD];
    int place[NODES_MAX];
    chance c = {15};
    make_shape(_i);
    fill_dense(&c, true, 1e-2, 10);
    analyse();
    ck_assert_int_eq(factor_and_solve(true), SPRAG_OK);
    for (int trial = 0; trial < (g.n ? 10 : 0); trial++) {
        const int first = pick(&c, g.n), second = pick(&c, g.n + 1);
        const int rank[2] = {blocks.rank[first], second < g.n ? blocks.rank[second] : g.n};
        static double b_of[6 * NODES_MAX][SPRAG_FORWARD];
        for (int i = 0; i < 6 * g.n; i++) {
            for (int k = 0; k < SPRAG_FORWARD; k++) {
                const bool here = i / 6 == rank[0] || i / 6 == rank[1];
                b_of[i][k] = right[i][k] = here ? uniform(&c, -1, 1) : 0;
            }
        }
        const int count = sprag_blocks_forward(&blocks, rank[0], rank[1], right[0], place, part);
        for (int k = 0; k < SPRAG_FORWARD; k++) {
            double sum = 0, by_solve = 0;
            for (int i = 0; i < 6 * g.n; i++) {
                x[6 * blocks.body[i / 6] + i % 6] = b_of[i][k];
                ck_assert_double_eq(right[i][k], 0);
            }
            memcpy(oracle, x, sizeof oracle);
            sprag_blocks_solve(&blocks, true, x);
            for (int i = 0; i < 6 * g.n; i++) {
                by_solve += x[i] * oracle[i];
            }
            for (int p = 0; p < 6 * count; p++) {
                sum += part[p / 6][p % 6][k] * part[p / 6][p % 6][k];
            }
            ck_assert_double_eq_tol(sum / by_solve, 1, 1e-11);
        }
    }
}
END_TEST

// A factorisation does not depend on the one before, of either kind.
START_TEST(one_analysis_serves_many_matrices)
{
    chance c = {12};
    make_shape(10);
    analyse();
    size_t taken = scratch.taken;
    for (int k = 0; k < 6; k++) {
        bool symmetric = k % 3 == 0;
        fill_dense(&c, symmetric, 1e-2, 1);
        ck_assert_int_eq(solve_by_lapack(symmetric), 0);
        ck_assert_int_eq(factor_and_solve(symmetric), SPRAG_OK);
        ck_assert_double_lt(difference(), 1e-11);
    }
    ck_assert_uint_eq(scratch.taken, taken);
}
END_TEST

// ---- singular ones

static void identity_plus_chain(void)
{
    make_shape(6);
    chance c = {13};
    fill_dense(&c, true, 1, 1);
    analyse();
    ck_assert_int_eq(factor_and_solve(true), SPRAG_OK);
    ck_assert_int_eq(factor_and_solve(false), SPRAG_OK);
}

static const double spoils[] = {NAN, INFINITY, -INFINITY};

START_TEST(names_an_entry_that_is_not_finite)
{
    identity_plus_chain();
    *entry(6 * 17 + 3, 6 * 17 + 3) = spoils[_i];
    ck_assert_int_eq(factor_and_solve(true), SPRAG_SINGULAR);
    ck_assert_int_eq(factor_and_solve(false), SPRAG_SINGULAR);
}
END_TEST

START_TEST(names_a_matrix_that_is_not_definite)
{
    identity_plus_chain();
    *entry(6 * _i + 2, 6 * _i + 2) = -1;
    ck_assert_int_eq(solve_by_lapack(true) > 0, 1);
    ck_assert_int_eq(factor_and_solve(true), SPRAG_SINGULAR);
    ck_assert_int_eq(factor_and_solve(false), SPRAG_OK); // a general one may be
    ck_assert_double_lt(backward_error(), 1e-13);
}
END_TEST

START_TEST(names_a_row_of_zeros)
{
    identity_plus_chain();
    for (int j = 0; j < 6 * g.n; j++) {
        *entry(6 * _i + 5, j) = *entry(j, 6 * _i + 5) = 0;
    }
    ck_assert_int_eq(factor_and_solve(true), SPRAG_SINGULAR);
    ck_assert_int_eq(factor_and_solve(false), SPRAG_SINGULAR);
}
END_TEST

// Springs without mass, a chain that floats: the last pivot is exactly zero.
START_TEST(names_bodies_without_constraint)
{
    g = (graph){0};
    chain(5);
    memset(A, 0, sizeof A);
    for (int e = 0; e < g.edges; e++) {
        for (int k = 0; k < 6; k++) {
            int i = 6 * g.edge[e][0] + k, j = 6 * g.edge[e][1] + k;
            *entry(i, i) += 1;
            *entry(j, j) += 1;
            *entry(i, j) -= 1;
            *entry(j, i) -= 1;
        }
    }
    analyse();
    ck_assert_int_eq(factor_and_solve(true), SPRAG_SINGULAR);
    ck_assert_int_eq(factor_and_solve(false), SPRAG_SINGULAR);
    *entry(0, 0) += 1; // held at one end in x only: still singular in y
    ck_assert_int_eq(factor_and_solve(true), SPRAG_SINGULAR);
    for (int k = 1; k < 6; k++) {
        *entry(k, k) += 1;
    }
    ck_assert_int_eq(factor_and_solve(true), SPRAG_OK);
}
END_TEST

// ---- pattern

static int fill_of(void)
{
    return blocks.start[blocks.n];
}

START_TEST(trees_do_not_fill)
{
    static void (*const make[])(int) = {chain, star, tree};
    static const int sizes[] = {2, 3, 10, 100, NODES_MAX};
    chance c = {14};
    g = (graph){0};
    make[_i / 5](sizes[_i % 5]);
    shuffle_nodes(&c);
    analyse();
    ck_assert_int_eq(fill_of(), g.n - 1);
}
END_TEST

// A chain at its first node; a tree where three nodes join, if they do.
START_TEST(trees_end_at_a_root)
{
    g = (graph){0};
    chain(7);
    if (_i == 1) {
        g.n = 9;
        connect(7, 4);
        connect(8, 7);
    }
    analyse();
    ck_assert_int_eq(blocks.body[g.n - 1], _i == 1 ? 4 : 0);
}
END_TEST

START_TEST(dense_is_full)
{
    g = (graph){0};
    dense(12);
    analyse();
    ck_assert_int_eq(fill_of(), 12 * 11 / 2);
}
END_TEST

START_TEST(edges_count_once)
{
    g = (graph){0};
    chain(10);
    for (int k = 0; k < 3; k++) {
        for (int i = 1; i < 10; i++) {
            connect(i, i - 1);
            connect(i, i);
        }
    }
    analyse();
    ck_assert_int_eq(fill_of(), 9);
}
END_TEST

// In the order of its rows a grid of n x n fills its band, n^3 blocks.
START_TEST(a_grid_fills_less_than_half_its_band)
{
    g = (graph){0};
    grid(20);
    analyse();
    ck_assert_int_gt(fill_of(), g.edges);
    ck_assert_int_lt(fill_of(), 20 * 20 * 20 / 2);
}
END_TEST

// rank and body are inverse permutations; both lists of the factor name the same blocks in order.
START_TEST(the_pattern_is_consistent)
{
    make_shape(_i);
    analyse();
    for (int k = 0; k < g.n; k++) {
        ck_assert_int_eq(blocks.rank[blocks.body[k]], k);
        for (int p = blocks.start[k]; p < blocks.start[k + 1]; p++) {
            ck_assert_int_gt(blocks.row[p], p > blocks.start[k] ? blocks.row[p - 1] : k);
        }
        for (int q = blocks.left_start[k]; q < blocks.left_start[k + 1]; q++) {
            int column = blocks.left_column[q], p = blocks.left_block[q];
            ck_assert_int_eq(blocks.row[p], k);
            ck_assert_int_le(blocks.start[column], p);
            ck_assert_int_lt(p, blocks.start[column + 1]);
        }
    }
    ck_assert_int_eq(blocks.left_start[g.n], fill_of());
}
END_TEST

START_TEST(analysis_is_the_same_twice)
{
    sprag_scratch other = {0};
    sprag_blocks again;
    make_shape(_i);
    analyse();
    sprag_scratch_take(&other, 1000, 8); // elsewhere in memory
    ck_assert_int_eq(sprag_blocks_analyse(&again, g.n, g.edges, (const int(*)[2])g.edge, &other),
                     SPRAG_OK);
    ck_assert_int_eq(sprag_blocks_take(&again, &other), SPRAG_OK);
    ck_assert_int_eq(again.start[g.n], fill_of());
    for (int i = 0; i < g.n; i++) {
        ck_assert_int_eq(again.rank[i], blocks.rank[i]);
        ck_assert_int_eq(again.start[i], blocks.start[i]);
    }
    for (int p = 0; p < fill_of(); p++) {
        ck_assert_int_eq(again.row[p], blocks.row[p]);
    }
    sprag_scratch_free(&other);
}
END_TEST

START_TEST(scratch_stops_growing)
{
    long allocations = 0;
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < SHAPES; i++) {
            make_shape(i);
            analyse();
        }
        sprag_scratch_reset(&scratch);
        if (round == 0) {
            allocations = scratch.allocations;
        }
        ck_assert_int_eq(scratch.allocations, allocations);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("blocks");
    ADD_TESTS_WITH(
        suite, "numbers", NULL, free_scratch, {agrees_with_lapack_on_every_shape, 2 * SHAPES},
        {symmetric_and_general_agree, SHAPES}, {stays_stable_when_badly_scaled, 8 * SHAPES},
        {pivots_inside_the_diagonal_blocks, SHAPES},
        {many_right_hand_sides_by_one_factorisation, 1}, {forward_solves_from_two_places, SHAPES},
        {one_analysis_serves_many_matrices, 1}, {names_an_entry_that_is_not_finite, 3},
        {names_a_matrix_that_is_not_definite, 40}, {names_a_row_of_zeros, 40},
        {names_bodies_without_constraint, 1});
    ADD_TESTS_WITH(suite, "pattern", NULL, free_scratch, {trees_do_not_fill, 15},
                   {trees_end_at_a_root, 2}, {dense_is_full, 1}, {edges_count_once, 1},
                   {a_grid_fills_less_than_half_its_band, 1}, {the_pattern_is_consistent, SHAPES},
                   {analysis_is_the_same_twice, SHAPES}, {scratch_stops_growing, 1});
    return run_suite(suite);
}
