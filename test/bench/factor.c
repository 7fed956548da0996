// Our block factorisation against dense LAPACK and the sparse libraries that are installed, on the
// matrices of piles: A = M + J' G J with the bodies and contacts of a settled pile:N. The entries
// of G are drawn, spread over a factor of 1e3 above the contact's inverse mass: diagonal for the
// symmetric kind; with friction that follows the normal force, and so the general kind, below it.
// Solvers take turns; medians over the rounds.
//
// Assembly is left out for all. The analysis includes all memory that a solver takes for it. A
// factorisation is the second on the same pattern, as in Newton's iteration. Dense solvers stop
// where they take seconds.
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "blocks.h"
#include "linalg.h"
#include "models.h"
#include "problem.h"
#include "sprag.h"

#ifdef BENCH_CXSPARSE
#include <suitesparse/cs.h>
#undef I // of complex.h
#endif
#ifdef BENCH_KLU
#include <suitesparse/klu.h>
#endif
#ifdef BENCH_CHOLMOD
#include <suitesparse/cholmod.h>
#endif

// LAPACK, in Fortran; OpenBLAS's own.
extern void dpotrf_(const char *uplo, const int *n, double *A, const int *lda, int *info, size_t);
extern void dpotrs_(const char *uplo, const int *n, const int *rhs, const double *A, const int *lda,
                    double *B, const int *ldb, int *info, size_t);
extern void dgetrf_(const int *m, const int *n, double *A, const int *lda, int *pivot, int *info);
extern void dgetrs_(const char *trans, const int *n, const int *rhs, const double *A,
                    const int *lda, const int *pivot, double *B, const int *ldb, int *info, size_t);
extern void openblas_set_num_threads(int threads);

enum { ROUNDS_MAX = 301, ROUNDS_MIN = 5, DENSE_MAX = 300 };
static const double time_per_table = 2e6; // us, per size and kind

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    if (!memory) {
        fputs("bench: no memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    return memory;
}

// ---- the matrix: 6x6 blocks row by row, and the same in compressed columns

typedef struct pair {
    int body[2];      // the first is the lower
    double there[36]; // block (body[0], body[1])
    double back[36];  // block (body[1], body[0])
} pair;

typedef struct matrix {
    int n, contacts, pairs;
    double (*diagonal)[36];
    pair *pair;       // in ascending order, each once
    int *start, *row; // compressed columns, both triangles, rows ascending
    double *value;
    double *b;
} matrix;

// One contact of a settled pile.
typedef struct touch {
    int body[2]; // [1]: SPRAG_STATIC for the bin
    double point[3], frame[3][3];
} touch;

typedef struct touches {
    sprag_scene *scene;
    touch *touch;
    int count, room;
} touches;

// In [0, 1), the same on every machine (Knuth's MMIX generator).
static double draw(uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (double)(*random >> 11) / 9007199254740992.0;
}

static int index_of(dBodyID body)
{
    return body ? (int)(intptr_t)dBodyGetData(body) : SPRAG_STATIC;
}

static void collect(void *data, dGeomID a, dGeomID b)
{
    touches *all = data;
    dBodyID p = dGeomGetBody(a), q = dGeomGetBody(b);
    dContactGeom contact[8];
    int count = p || q ? dCollide(a, b, 8, contact, sizeof *contact) : 0;
    for (int i = 0; i < count; i++) {
        if (all->count == all->room) {
            all->room = 2 * all->room + 64;
            touch *more = realloc(all->touch, (size_t)all->room * sizeof *more);
            if (!more) {
                exit(EXIT_FAILURE);
            }
            all->touch = more;
        }
        touch *t = &all->touch[all->count++];
        t->body[0] = index_of(p ? p : q);
        t->body[1] = p ? index_of(q) : SPRAG_STATIC;
        memcpy(t->point, contact[i].pos, sizeof t->point);
        memcpy(t->frame[0], contact[i].normal, sizeof t->frame[0]);
        dVector3 normal = {t->frame[0][0], t->frame[0][1], t->frame[0][2]}, u, v;
        dPlaneSpace(normal, u, v);
        memcpy(t->frame[1], u, sizeof t->frame[1]);
        memcpy(t->frame[2], v, sizeof t->frame[2]);
    }
}

// C += A' B, three rows each.
static void add_product(double *C, const double A[3][6], const double B[3][6])
{
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j < 6; j++) {
            C[6 * i + j] += A[0][i] * B[0][j] + A[1][i] * B[1][j] + A[2][i] * B[2][j];
        }
    }
}

static int by_bodies(const void *a, const void *b)
{
    const pair *p = a, *q = b;
    return p->body[0] != q->body[0] ? p->body[0] - q->body[0] : p->body[1] - q->body[1];
}

static void list_pairs(matrix *A, const touches *all)
{
    A->pair = allocate((size_t)all->count, sizeof *A->pair);
    for (int i = 0; i < all->count; i++) {
        const touch *t = &all->touch[i];
        if (t->body[1] != SPRAG_STATIC) {
            int later = t->body[0] > t->body[1];
            A->pair[A->pairs].body[later] = t->body[0];
            A->pair[A->pairs++].body[!later] = t->body[1];
        }
    }
    qsort(A->pair, (size_t)A->pairs, sizeof *A->pair, by_bodies);
    int kept = 0;
    for (int i = 0; i < A->pairs; i++) {
        if (kept == 0 || by_bodies(&A->pair[kept - 1], &A->pair[i])) {
            A->pair[kept++] = A->pair[i];
        }
    }
    A->pairs = kept;
}

static void add_touch(matrix *A, const touch *t, const sprag_scene *scene, bool symmetric,
                      uint64_t *random)
{
    double J[2][3][6] = {0}, GJ[2][3][6] = {0}, G[3][3] = {0}, inverse_mass = 0;
    for (int side = 0; side < 2 && t->body[side] != SPRAG_STATIC; side++) {
        dBodyID body = scene->body[t->body[side]];
        const dReal *x = dBodyGetPosition(body);
        dMass mass;
        dBodyGetMass(body, &mass);
        inverse_mass += 1 / mass.mass;
        double arm[3] = {t->point[0] - x[0], t->point[1] - x[1], t->point[2] - x[2]};
        for (int r = 0; r < 3; r++) {
            memcpy(J[side][r], t->frame[r], sizeof t->frame[r]);
            cross3(arm, t->frame[r], J[side][r] + 3);
            for (int k = 0; k < 6; k++) {
                J[side][r][k] *= side ? -1 : 1;
            }
        }
    }
    for (int r = 0; r < 3; r++) {
        G[r][r] = pow(1e3, draw(random)) / inverse_mass;
    }
    double friction = 0.5 * G[0][0], angle = 2 * M_PI * draw(random);
    G[1][0] = symmetric ? 0 : friction * cos(angle);
    G[2][0] = symmetric ? 0 : friction * sin(angle);
    for (int side = 0; side < 2; side++) {
        for (int r = 0; r < 3; r++) {
            for (int c = 0; c < 3; c++) {
                add_scaled(GJ[side][r], G[r][c], J[side][c], 6);
            }
        }
    }
    for (int side = 0; side < 2 && t->body[side] != SPRAG_STATIC; side++) {
        add_product(A->diagonal[t->body[side]], J[side], GJ[side]);
    }
    if (t->body[1] != SPRAG_STATIC) {
        int first = t->body[0] > t->body[1];
        pair key = {.body = {t->body[first], t->body[!first]}};
        pair *p = bsearch(&key, A->pair, (size_t)A->pairs, sizeof key, by_bodies);
        add_product(p->there, J[first], GJ[!first]);
        add_product(p->back, J[!first], GJ[first]);
    }
}

static void add_mass(double A[36], dBodyID body)
{
    dMass mass;
    dBodyGetMass(body, &mass);
    const dReal *R = dBodyGetRotation(body);
    for (int i = 0; i < 3; i++) {
        A[7 * i] += mass.mass;
        for (int j = 0; j < 3; j++) {
            for (int k = 0; k < 9; k++) {
                A[6 * (3 + i) + 3 + j] +=
                    R[4 * i + k / 3] * mass.I[4 * (k / 3) + k % 3] * R[4 * j + k % 3];
            }
        }
    }
}

static void put_column(matrix *A, int *end, int column, int first_row, const double block[36])
{
    for (int c = 0; c < 6; c++) {
        for (int r = 0; r < 6; r++) {
            int at = end[6 * column + c]++;
            A->row[at] = 6 * first_row + r;
            A->value[at] = block[6 * r + c];
        }
    }
}

static void compress(matrix *A)
{
    int size = 6 * A->n;
    int *end = allocate((size_t)size, sizeof *end),
        *blocks = allocate((size_t)A->n, sizeof *blocks);
    A->start = allocate((size_t)size + 1, sizeof *A->start);
    A->row = allocate(36 * (size_t)(A->n + 2 * A->pairs), sizeof *A->row);
    A->value = allocate(36 * (size_t)(A->n + 2 * A->pairs), sizeof *A->value);
    for (int p = 0; p < A->pairs; p++) {
        blocks[A->pair[p].body[0]]++;
        blocks[A->pair[p].body[1]]++;
    }
    for (int k = 0; k < size; k++) {
        end[k] = A->start[k];
        A->start[k + 1] = A->start[k] + 6 * (1 + blocks[k / 6]);
    }
    for (int p = 0; p < A->pairs; p++) { // above the diagonal, ascending
        put_column(A, end, A->pair[p].body[1], A->pair[p].body[0], A->pair[p].there);
    }
    for (int k = 0; k < A->n; k++) {
        put_column(A, end, k, k, A->diagonal[k]);
    }
    for (int p = 0; p < A->pairs; p++) {
        put_column(A, end, A->pair[p].body[0], A->pair[p].body[1], A->pair[p].back);
    }
    free(end);
    free(blocks);
}

static matrix matrix_of(sprag_scene *scene, const touches *all, bool symmetric)
{
    uint64_t random = 1;
    matrix A = {.n = scene->bodies, .contacts = all->count};
    A.diagonal = allocate((size_t)A.n, sizeof *A.diagonal);
    A.b = allocate(6 * (size_t)A.n, sizeof *A.b);
    list_pairs(&A, all);
    for (int i = 0; i < A.n; i++) {
        add_mass(A.diagonal[i], scene->body[i]);
    }
    for (int i = 0; i < all->count; i++) {
        add_touch(&A, &all->touch[i], scene, symmetric, &random);
    }
    for (int i = 0; i < 6 * A.n; i++) {
        A.b[i] = draw(&random) - 0.5;
    }
    compress(&A);
    return A;
}

static void matrix_free(matrix *A)
{
    free(A->diagonal);
    free(A->pair);
    free(A->start);
    free(A->row);
    free(A->value);
    free(A->b);
}

// Largest |A x - b| / (|A| |x| + |b|) of any row (Oettli and Prager).
static double backward_error(const matrix *A, const double *x)
{
    int size = 6 * A->n;
    double *r = allocate((size_t)size, sizeof *r), *scale = allocate((size_t)size, sizeof *scale);
    double error = 0;
    for (int c = 0; c < size; c++) {
        for (int p = A->start[c]; p < A->start[c + 1]; p++) {
            r[A->row[p]] += A->value[p] * x[c];
            scale[A->row[p]] += fabs(A->value[p] * x[c]);
        }
    }
    for (int i = 0; i < size; i++) {
        double row = fabs(r[i] - A->b[i]) / (scale[i] + fabs(A->b[i]));
        error = isnan(row) ? INFINITY : fmax(error, row);
    }
    free(r);
    free(scale);
    return error;
}

// ---- solvers: each analyses, factorises twice and solves once

typedef struct outcome {
    double analysis_us, factor_us, solve_us; // NAN: has none
    double entries;                          // of the factors
} outcome;

static outcome solve_by_blocks(const matrix *A, bool symmetric, double *x)
{
    static sprag_scratch scratch; // as in a world: it keeps its memory
    sprag_blocks blocks;
    outcome o;
    int(*edge)[2] = allocate((size_t)A->pairs, sizeof *edge);
    for (int p = 0; p < A->pairs; p++) {
        memcpy(edge[p], A->pair[p].body, sizeof *edge);
    }
    double start = bench_cpu_us();
    sprag_blocks_analyse(&blocks, A->n, A->pairs, (const int(*)[2])edge, &scratch);
    sprag_blocks_take(&blocks, &scratch);
    o.analysis_us = bench_cpu_us() - start;
    o.factor_us = NAN;
    for (int turn = 0; turn < 2; turn++) {
        sprag_blocks_clear(&blocks, symmetric);
        for (int i = 0; i < A->n; i++) {
            memcpy(blocks.diagonal[blocks.rank[i]], A->diagonal[i], sizeof *A->diagonal);
        }
        for (int p = 0; p < A->pairs; p++) {
            const pair *pair = &A->pair[p];
            int at = sprag_blocks_find(&blocks, pair->body[0], pair->body[1]);
            bool later = blocks.rank[pair->body[0]] > blocks.rank[pair->body[1]];
            memcpy(blocks.upper[at], later ? pair->back : pair->there, sizeof *blocks.upper);
            for (int k = 0; k < 36 && !symmetric; k++) {
                const double *lower = later ? pair->there : pair->back;
                blocks.lower[at][k] = lower[6 * (k % 6) + k / 6];
            }
        }
        start = bench_cpu_us();
        sprag_result result = sprag_blocks_factor(&blocks, symmetric);
        o.factor_us = result == SPRAG_OK ? bench_cpu_us() - start : NAN;
    }
    memcpy(x, A->b, 6 * (size_t)A->n * sizeof *x);
    start = bench_cpu_us();
    sprag_blocks_solve(&blocks, symmetric, x);
    o.solve_us = bench_cpu_us() - start;
    o.entries =
        (symmetric ? 21 : 36) * (double)A->n + (symmetric ? 36 : 72) * (double)blocks.start[A->n];
    sprag_scratch_reset(&scratch);
    free(edge);
    return o;
}

static outcome solve_by_lapack(const matrix *A, bool symmetric, double *x)
{
    static double *dense; // largest so far, column by column
    static int room;
    int size = 6 * A->n, one = 1, info = 0;
    int *pivot = allocate((size_t)size, sizeof *pivot);
    if (room < size) {
        free(dense);
        dense = allocate((size_t)size * (size_t)size, sizeof *dense);
        room = size;
    }
    outcome o = {.analysis_us = NAN, .entries = (double)size * size * (symmetric ? 0.5 : 1)};
    memset(dense, 0, (size_t)size * (size_t)size * sizeof *dense);
    for (int c = 0; c < size; c++) {
        for (int p = A->start[c]; p < A->start[c + 1]; p++) {
            dense[(size_t)c * (size_t)size + (size_t)A->row[p]] = A->value[p];
        }
    }
    memcpy(x, A->b, (size_t)size * sizeof *x);
    double start = bench_cpu_us();
    if (symmetric) {
        dpotrf_("L", &size, dense, &size, &info, 1);
    } else {
        dgetrf_(&size, &size, dense, &size, pivot, &info);
    }
    o.factor_us = info ? NAN : bench_cpu_us() - start;
    start = bench_cpu_us();
    if (symmetric) {
        dpotrs_("L", &size, &one, dense, &size, x, &size, &info, 1);
    } else {
        dgetrs_("N", &size, &one, dense, &size, pivot, x, &size, &info, 1);
    }
    o.solve_us = bench_cpu_us() - start;
    free(pivot);
    return o;
}

#ifdef BENCH_CXSPARSE
static outcome solve_by_cxsparse(const matrix *A, bool symmetric, double *x)
{
    enum { AMD = 1 };
    int size = 6 * A->n;
    outcome o;
    cs_di C = {.nzmax = A->start[size],
               .m = size,
               .n = size,
               .p = A->start,
               .i = A->row,
               .x = A->value,
               .nz = -1};
    double start = bench_cpu_us();
    cs_dis *S = symmetric ? cs_di_schol(AMD, &C) : cs_di_sqr(AMD, &C, 0);
    o.analysis_us = bench_cpu_us() - start;
    start = bench_cpu_us();
    cs_din *N = symmetric ? cs_di_chol(&C, S) : cs_di_lu(&C, S, 1e-3);
    o.factor_us = bench_cpu_us() - start;
    double *y = allocate((size_t)size, sizeof *y);
    start = bench_cpu_us();
    if (symmetric) {
        cs_di_ipvec(S->pinv, A->b, y, size);
        cs_di_lsolve(N->L, y);
        cs_di_ltsolve(N->L, y);
        cs_di_pvec(S->pinv, y, x, size);
    } else {
        cs_di_ipvec(N->pinv, A->b, y, size);
        cs_di_lsolve(N->L, y);
        cs_di_usolve(N->U, y);
        cs_di_ipvec(S->q, y, x, size);
    }
    o.solve_us = bench_cpu_us() - start;
    o.entries = (double)N->L->p[size] + (symmetric ? 0 : (double)N->U->p[size]);
    free(y);
    cs_di_nfree(N);
    cs_di_sfree(S);
    return o;
}
#endif

#ifdef BENCH_KLU
static outcome run_klu(const matrix *A, double *x, bool pivot_again)
{
    int size = 6 * A->n;
    outcome o;
    klu_common common;
    klu_defaults(&common);
    double start = bench_cpu_us();
    klu_symbolic *symbolic = klu_analyze(size, A->start, A->row, &common);
    o.analysis_us = bench_cpu_us() - start;
    start = bench_cpu_us();
    klu_numeric *numeric = klu_factor(A->start, A->row, A->value, symbolic, &common);
    o.factor_us = bench_cpu_us() - start;
    if (!pivot_again) {
        start = bench_cpu_us();
        klu_refactor(A->start, A->row, A->value, symbolic, numeric, &common);
        o.factor_us = bench_cpu_us() - start;
    }
    memcpy(x, A->b, (size_t)size * sizeof *x);
    start = bench_cpu_us();
    klu_solve(symbolic, numeric, size, 1, x, &common);
    o.solve_us = bench_cpu_us() - start;
    o.entries = (double)numeric->lnz + (double)numeric->unz;
    klu_free_numeric(&numeric, &common);
    klu_free_symbolic(&symbolic, &common);
    return o;
}

static outcome solve_by_klu(const matrix *A, bool symmetric, double *x)
{
    (void)symmetric;
    return run_klu(A, x, true);
}

static outcome solve_by_klu_again(const matrix *A, bool symmetric, double *x)
{
    (void)symmetric;
    return run_klu(A, x, false);
}
#endif

#ifdef BENCH_CHOLMOD
static outcome solve_by_cholmod(const matrix *A, bool symmetric, double *x)
{
    (void)symmetric;
    static cholmod_common common;
    static bool started;
    static cholmod_dense *X, *Y, *E;
    if (!started) {
        started = cholmod_start(&common);
        common.supernodal = CHOLMOD_SIMPLICIAL;
        common.nmethods = 1;
        common.method[0].ordering = CHOLMOD_AMD;
    }
    size_t size = 6 * (size_t)A->n;
    outcome o;
    cholmod_sparse C = {.nrow = size,
                        .ncol = size,
                        .nzmax = (size_t)A->start[size],
                        .p = A->start,
                        .i = A->row,
                        .x = A->value,
                        .stype = 1,
                        .itype = CHOLMOD_INT,
                        .xtype = CHOLMOD_REAL,
                        .dtype = CHOLMOD_DOUBLE,
                        .sorted = 1,
                        .packed = 1};
    cholmod_dense b = {.nrow = size,
                       .ncol = 1,
                       .nzmax = size,
                       .d = size,
                       .x = A->b,
                       .xtype = CHOLMOD_REAL,
                       .dtype = CHOLMOD_DOUBLE};
    double start = bench_cpu_us();
    cholmod_factor *L = cholmod_analyze(&C, &common);
    o.analysis_us = bench_cpu_us() - start;
    for (int turn = 0; turn < 2; turn++) {
        start = bench_cpu_us();
        cholmod_factorize(&C, L, &common);
        o.factor_us = bench_cpu_us() - start;
    }
    start = bench_cpu_us();
    cholmod_solve2(CHOLMOD_A, L, &b, NULL, &X, NULL, &Y, &E, &common);
    o.solve_us = bench_cpu_us() - start;
    memcpy(x, X->x, size * sizeof *x);
    o.entries = common.lnz;
    cholmod_free_factor(&L, &common);
    return o;
}
#endif

typedef struct solver {
    const char *name;
    bool symmetric, general, dense;
    outcome (*solve)(const matrix *, bool symmetric, double *x);
} solver;

static const solver solvers[] = {
    {"sprag blocks", true, true, false, solve_by_blocks},
    {"LAPACK dense", true, true, true, solve_by_lapack},
#ifdef BENCH_CXSPARSE
    {"CXSparse", true, true, false, solve_by_cxsparse},
#endif
#ifdef BENCH_CHOLMOD
    {"CHOLMOD LDL'", true, false, false, solve_by_cholmod},
#endif
#ifdef BENCH_KLU
    {"KLU", false, true, false, solve_by_klu},
    {"KLU refactor", false, true, false, solve_by_klu_again},
#endif
};

enum { SOLVERS = sizeof solvers / sizeof *solvers };

// ---- table

typedef struct record {
    double analysis_us[ROUNDS_MAX], factor_us[ROUNDS_MAX], solve_us[ROUNDS_MAX];
    double ratio[ROUNDS_MAX]; // of the factorisation, to ours
    double entries, error;
} record;

static double median(double *value, int count)
{
    qsort(value, (size_t)count, sizeof *value, bench_by_size);
    return value[count / 2];
}

static double least_ratio = INFINITY; // time of another solver by ours, 10 bodies and more
static double largest_error;          // of ours

static void bench_matrix(const matrix *A, bool symmetric, line_fn *line)
{
    static record records[SOLVERS];
    bool takes[SOLVERS];
    double *x = allocate(6 * (size_t)A->n, sizeof *x), spent = 0;
    int rounds = 0;
    for (int i = 0; i < SOLVERS; i++) {
        takes[i] = (symmetric ? solvers[i].symmetric : solvers[i].general) &&
                   (!solvers[i].dense || A->n <= DENSE_MAX);
    }
    for (; rounds < ROUNDS_MAX && (rounds < ROUNDS_MIN || spent < time_per_table); rounds++) {
        double start = bench_cpu_us();
        for (int k = 0; k < SOLVERS; k++) {
            int i = (k + rounds) % SOLVERS; // none is always the first
            record *r = &records[i];
            if (takes[i]) {
                outcome o = solvers[i].solve(A, symmetric, x);
                r->analysis_us[rounds] = o.analysis_us;
                r->factor_us[rounds] = o.factor_us;
                r->solve_us[rounds] = o.solve_us;
                r->entries = o.entries;
                r->error = backward_error(A, x);
            }
        }
        for (int i = 0; i < SOLVERS; i++) {
            records[i].ratio[rounds] = records[i].factor_us[rounds] / records[0].factor_us[rounds];
        }
        spent += bench_cpu_us() - start;
    }
    for (int i = 0; i < SOLVERS; i++) {
        record *r = &records[i];
        if (takes[i]) {
            line("%d|%s|%s|%d|%d|%.1f|%.1f|%.1f|%.2f|%.1f|%.1e|%d", A->n,
                 symmetric ? "symm." : "general", solvers[i].name, A->contacts, A->pairs,
                 median(r->analysis_us, rounds), median(r->factor_us, rounds),
                 median(r->solve_us, rounds), median(r->ratio, rounds), r->entries / 36, r->error,
                 rounds);
            if (i == 0) {
                largest_error = fmax(largest_error, r->error);
            } else if (A->n >= 10) {
                least_ratio = fmin(least_ratio, median(r->ratio, rounds));
            }
        }
    }
    free(x);
}

static void settle(sprag_scene *scene, int bodies)
{
    char name[32];
    snprintf(name, sizeof name, "pile:%d", bodies);
    const sprag_model *model = sprag_model_find(name);
    dRandSetSeed(0);
    if (!model || !sprag_scene_open(scene, model, 0) ||
        !sprag_world_configure(scene->world, "method=ode-quick")) {
        fprintf(stderr, "bench: cannot make %s\n", name);
        exit(EXIT_FAILURE);
    }
    for (long k = lround(model->seconds / model->step); k > 0; k--) {
        sprag_scene_step(scene);
    }
    for (int i = 0; i < scene->bodies; i++) {
        dBodySetData(scene->body[i], (void *)(intptr_t)i);
    }
}

void bench_factor(line_fn *line)
{
    static const int size[] = {1, 3, 10, 30, 100, 300, 1000};
    openblas_set_num_threads(1);
    line("bodies|kind|solver|contacts|pairs|analyse/us|factor/us|solve/us|/blocks|fill/36|error|"
         "rounds");
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        sprag_scene scene;
        settle(&scene, size[i]);
        touches all = {.scene = &scene};
        dSpaceCollide(scene.space, &all, collect);
        for (int symmetric = 1; symmetric >= 0; symmetric--) {
            matrix A = matrix_of(&scene, &all, symmetric);
            bench_matrix(&A, symmetric, line);
            matrix_free(&A);
        }
        free(all.touch);
        sprag_scene_close(&scene);
    }
    bench_at_least("fastest other solver's factorisation, of ours, from 10 bodies on", least_ratio,
                   1);
    bench_at_most("backward error of ours", largest_error, 1e-12);
}
