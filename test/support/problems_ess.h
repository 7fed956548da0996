// Event-selected systems with known answers, for the tests and the bench; test/data/ess has the
// answers (exact but for bed_ref.csv, which is a converged one).
#ifndef SPRAG_PROBLEMS_ESS_H
#define SPRAG_PROBLEMS_ESS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ess.h"

// ---- tables: numbers separated by commas, # comments

enum { TABLE_COLUMNS = 32 };

typedef struct table {
    int rows;
    double (*row)[TABLE_COLUMNS];
} table;

// A word instead of a number reads as NAN.
static inline table table_read(const char *name)
{
    table t = {0};
    char path[256], line[4096];
    snprintf(path, sizeof path, "data/ess/%s.csv", name);
    FILE *file = fopen(path, "r");
    if (!file) {
        snprintf(path, sizeof path, "test/data/ess/%s.csv", name);
        file = fopen(path, "r");
    }
    while (file && fgets(line, sizeof line, file)) {
        if (*line == '#') {
            continue;
        }
        t.row = realloc(t.row, ((size_t)t.rows + 1) * sizeof *t.row);
        if (!t.row) {
            abort();
        }
        double *row = t.row[t.rows++];
        int column = 0;
        for (char *cell = line, *end; cell && column < TABLE_COLUMNS; column++) {
            row[column] = strtod(cell, &end);
            row[column] = end == cell ? NAN : row[column];
            cell = strchr(end, ',');
            cell = cell ? cell + 1 : NULL;
        }
    }
    if (file) {
        fclose(file);
    }
    return t;
}

static inline void table_free(table *t)
{
    free(t->row);
    *t = (table){0};
}

// ---- order test: affine, 3 states, guards x, y, -z (table 1 of the paper)

static inline void order_field(void *user, const double *x, const double *label, double *f)
{
    (void)user;
    bool right = label[0] != 0, up = label[1] != 0;
    f[0] = right ? (up ? 10 * x[0] + 1 : -2 * x[1] + 1) : (up ? x[1] + 1 : -x[1] + 1);
    f[1] = right ? (up ? x[1] + 1 : x[0] / 2 + 2) : (up ? -x[0] + 1 : x[0] + 1);
    f[2] = label[2] != 0 ? 3 * x[2] - 1 : -x[2] - 1;
}

static inline void order_guard(void *user, const double *x, const int *which, int count, double *h)
{
    (void)user;
    for (int i = 0; i < count; i++) {
        int k = which ? which[i] : i;
        h[i] = k == 2 ? -x[2] : x[k];
    }
}

static inline int order_row(void *user, const double *x, int guard, int *column, double *value)
{
    (void)user;
    (void)x;
    column[0] = guard;
    value[0] = guard == 2 ? -1 : 1;
    return 1;
}

static const sprag_ess_problem order_problem = {.states = 3,
                                                .guards = 3,
                                                .field = order_field,
                                                .guard = order_guard,
                                                .row = order_row,
                                                .row_entries = 1};
static const double order_start[3] = {-0.4, -0.15, 0.3};

// ---- corner: piecewise constant, 3 guards, rational answers

static const double corner_C[3][3] = {{1, 0, 0}, {0.25, 1, 0}, {0, -0.2, 1}};

static inline void corner_field(void *user, const double *x, const double *b, double *f)
{
    (void)user;
    (void)x;
    f[0] = 1 - b[1] / 4 + b[2] / 2 + b[0] * b[1] / 4 - b[0] * b[2] / 4;
    f[1] = 1 + b[0] / 2 - b[2] / 4 + b[0] * b[1] / 4 + b[1] * b[2] / 4;
    f[2] = 1 - b[0] / 4 + b[1] / 2 - b[1] * b[2] / 4 + b[0] * b[2] / 4;
}

static inline void corner_guard(void *user, const double *x, const int *which, int count, double *h)
{
    (void)user;
    for (int i = 0; i < count; i++) {
        const double *c = corner_C[which ? which[i] : i];
        h[i] = c[0] * x[0] + c[1] * x[1] + c[2] * x[2];
    }
}

static inline int corner_row(void *user, const double *x, int guard, int *column, double *value)
{
    (void)user;
    (void)x;
    int entries = 0;
    for (int i = 0; i < 3; i++) {
        if (corner_C[guard][i] != 0) {
            column[entries] = i;
            value[entries++] = corner_C[guard][i];
        }
    }
    return entries;
}

static inline void corner_jump(void *user, const double *x, const double *label, int guard,
                               double *change)
{
    double before[3], after[3], flipped[3] = {label[0], label[1], label[2]};
    flipped[guard] = 1 - flipped[guard];
    corner_field(user, x, label, before);
    corner_field(user, x, flipped, after);
    for (int i = 0; i < 3; i++) {
        change[i] = after[i] - before[i];
    }
}

static const sprag_ess_problem corner_problem = {
    .states = 3, .guards = 3, .field = corner_field, .guard = corner_guard, .row = corner_row};

// ---- hopper: z, zdot; a leg of length 1 m, 1000 N/m, under 1 kg. Guards: landing, lift-off; each
// arms the other.

enum { LANDING, LIFT_OFF };

typedef struct hopper {
    double stiffness, damping; // of 1 kg
} hopper;

static inline void hopper_field(void *user, const double *x, const double *label, double *f)
{
    const hopper *leg = user;
    f[0] = x[1];
    f[1] = -9.81;
    if (label[LANDING] != 0) {
        f[1] += leg->stiffness * (1 - x[0]) - leg->damping * x[1];
    }
}

static inline void hopper_guard(void *user, const double *x, const int *which, int count, double *h)
{
    (void)user;
    for (int i = 0; i < count; i++) {
        h[i] = (which ? which[i] : i) == LANDING ? 1 - x[0] : x[0] - 1;
    }
}

static inline int hopper_row(void *user, const double *x, int guard, int *column, double *value)
{
    (void)user;
    (void)x;
    column[0] = 0;
    value[0] = guard == LANDING ? -1 : 1;
    return 1;
}

static const sprag_ess_reset hopper_reset[] = {{LANDING, LIFT_OFF, true},
                                               {LIFT_OFF, LANDING, true}};

static inline sprag_ess_problem hopper_problem(hopper *leg)
{
    return (sprag_ess_problem){.states = 2,
                               .guards = 2,
                               .user = leg,
                               .field = hopper_field,
                               .guard = hopper_guard,
                               .row = hopper_row,
                               .row_entries = 1,
                               .reset = hopper_reset,
                               .resets = 2};
}

// ---- plate on a bed of springs: x, z, theta and their rates; a two-way guard a spring,
// h = L0 + tan(theta) (x - xs) - z. Above 100 springs each is softer, so that all together stay.

typedef struct bed {
    int springs;
    double *at;                // xs, m
    double stiffness, damping; // per spring, N/m, N s/m
    bool *two_way;
    void (*sums)(const double *at, const double *label, int springs, double base, double slope,
                 double sum[2]);
    void (*gaps)(const double *at, int springs, double base, double slope, double *h);
    double angle, slope; // its tangent, lest it be taken anew at every guard
} bed;

static const double bed_mass = 10, bed_inertia = 30, bed_gravity = 9.81, bed_length = 1;

// Sums of base + slope xs and of its moment, of springs whose label is 1: in eight lanes, so that
// all versions give the same bits.
#define BED_SUMS(name, bytes, target)                                                              \
    target static inline void name(const double *at, const double *label, int springs,             \
                                   double base, double slope, double sum[2])                       \
    {                                                                                              \
        typedef double part __attribute__((vector_size(bytes), aligned(8), may_alias));            \
        enum { LANES = 8, WIDE = bytes / 8, PARTS = LANES / WIDE };                                \
        part S0[PARTS] = {0}, S1[PARTS] = {0};                                                     \
        int i = 0;                                                                                 \
        for (; i + LANES <= springs; i += LANES) {                                                 \
            for (int j = 0; j < PARTS; j++) {                                                      \
                part xs = *(const part *)(at + i + WIDE * j);                                      \
                part force = *(const part *)(label + i + WIDE * j) * (base + slope * xs);          \
                S0[j] += force;                                                                    \
                S1[j] += force * xs;                                                               \
            }                                                                                      \
        }                                                                                          \
        double a[LANES], b[LANES];                                                                 \
        memcpy(a, S0, sizeof a);                                                                   \
        memcpy(b, S1, sizeof b);                                                                   \
        double s0 = ((a[0] + a[2]) + (a[4] + a[6])) + ((a[1] + a[3]) + (a[5] + a[7]));             \
        double s1 = ((b[0] + b[2]) + (b[4] + b[6])) + ((b[1] + b[3]) + (b[5] + b[7]));             \
        for (; i < springs; i++) {                                                                 \
            double force = label[i] * (base + slope * at[i]);                                      \
            s0 += force;                                                                           \
            s1 += force * at[i];                                                                   \
        }                                                                                          \
        sum[0] = s0;                                                                               \
        sum[1] = s1;                                                                               \
    }

#define BED_GAPS(name, target)                                                                     \
    target static inline void name(const double *restrict at, int springs, double base,            \
                                   double slope, double *restrict h)                               \
    {                                                                                              \
        for (int i = 0; i < springs; i++) {                                                        \
            h[i] = base + slope * at[i];                                                           \
        }                                                                                          \
    }

BED_SUMS(bed_sums, 16, )
BED_GAPS(bed_gaps, )

#ifdef __x86_64__
BED_SUMS(bed_sums_avx2, 32, __attribute__((target("avx2"))))
BED_GAPS(bed_gaps_avx2, __attribute__((target("avx2"))))
BED_SUMS(bed_sums_avx512, 64, __attribute__((target("avx512f,avx512vl"))))
BED_GAPS(bed_gaps_avx512, __attribute__((target("avx512f,avx512vl"))))
#endif

// The versions for this processor.
static inline void bed_widen(bed *b)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512vl")) {
        b->sums = bed_sums_avx512;
        b->gaps = bed_gaps_avx512;
    } else if (__builtin_cpu_supports("avx2")) {
        b->sums = bed_sums_avx2;
        b->gaps = bed_gaps_avx2;
    }
#else
    (void)b;
#endif
}

static inline bed bed_make(int springs)
{
    double share = springs > 100 ? 100.0 / springs : 1;
    bed b = {.springs = springs,
             .at = calloc((size_t)springs, sizeof(double)),
             .two_way = calloc((size_t)springs, sizeof(bool)),
             .stiffness = 500 * share,
             .damping = 5 * share,
             .sums = bed_sums,
             .gaps = bed_gaps};
    if (!b.at || !b.two_way) {
        abort();
    }
    for (int i = 0; i < springs; i++) {
        b.at[i] = -0.5 + (double)i / (springs - 1);
        b.two_way[i] = true;
    }
    return b;
}

static inline void bed_free(bed *b)
{
    free(b->at);
    free(b->two_way);
}

static inline double bed_slope(bed *b, double angle)
{
    if (angle != b->angle) {
        b->angle = angle;
        b->slope = tan(angle);
    }
    return b->slope;
}

static inline void bed_field(void *user, const double *x, const double *label, double *f)
{
    bed *b = user;
    double slope = bed_slope(b, x[2]), sec2 = 1 + slope * slope, k = b->stiffness, c = b->damping,
           S[2];
    double h = bed_length + slope * x[0] - x[1];            // at xs = 0
    double rate = slope * x[3] - x[4] + sec2 * x[5] * x[0]; // there
    b->sums(b->at, label, b->springs, k * h + c * rate, -k * slope - c * sec2 * x[5], S);
    f[0] = x[3];
    f[1] = x[4];
    f[2] = x[5];
    f[3] = -slope * S[0] / bed_mass;
    f[4] = S[0] / bed_mass - bed_gravity;
    f[5] = sec2 * (S[1] - x[0] * S[0]) / bed_inertia;
}

static inline void bed_jump(void *user, const double *x, const double *label, int guard,
                            double *change)
{
    bed *b = user;
    double slope = bed_slope(b, x[2]), sec2 = 1 + slope * slope, arm = x[0] - b->at[guard];
    double h = bed_length + slope * arm - x[1];
    double rate = slope * x[3] - x[4] + sec2 * x[5] * arm;
    double force = (label[guard] == 0 ? 1 : -1) * (b->stiffness * h + b->damping * rate);
    change[0] = change[1] = change[2] = 0;
    change[3] = -slope * force / bed_mass;
    change[4] = force / bed_mass;
    change[5] = -sec2 * arm * force / bed_inertia;
}

static inline void bed_guard(void *user, const double *x, const int *which, int count, double *h)
{
    bed *b = user;
    double slope = bed_slope(b, x[2]), base = bed_length + slope * x[0] - x[1];
    if (!which) {
        b->gaps(b->at, count, base, -slope, h);
        return;
    }
    for (int i = 0; i < count; i++) {
        h[i] = base - slope * b->at[which[i]];
    }
}

static inline int bed_row(void *user, const double *x, int guard, int *column, double *value)
{
    bed *b = user;
    double slope = bed_slope(b, x[2]);
    for (int i = 0; i < 3; i++) {
        column[i] = i;
    }
    value[0] = slope;
    value[1] = -1;
    value[2] = (1 + slope * slope) * (x[0] - b->at[guard]);
    return 3;
}

static inline sprag_ess_problem bed_problem(bed *b)
{
    return (sprag_ess_problem){.states = 6,
                               .guards = b->springs,
                               .user = b,
                               .field = bed_field,
                               .guard = bed_guard,
                               .row = bed_row,
                               .row_entries = 3,
                               .jump = bed_jump,
                               .two_way = b->two_way};
}

#endif
