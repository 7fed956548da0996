// The general solver: how often it succeeds on random problems, and how long it takes for cubes.
//
// Beside ours stand figures of the original (Drake's implicit Stribeck solver of 2019, C++ with
// Eigen, -O3 -march=native): literature values, measured on another machine, and for the success
// table on random problems of a generator that is not public. Ours has its own ranges
// (problems_general.h), so read the columns of the original for their order of magnitude. Per cent
// to a tenth take --full.
//
// Success is a root: the balance of momentum and both laws are evaluated anew (to 1e-9, rounding of
// fast bodies allowing). Microseconds are of the whole call, checks and all: medians.
#define _GNU_SOURCE 1 // clock_gettime
#include <stdio.h>
#include <time.h>

#include "test/problems_general.h"

typedef void line_fn(const char *format, ...);

void bench_general(line_fn *line, bool full); // for bench.c

extern void openblas_set_num_threads(int threads);

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

// ---- success

enum { STEPS = 3 };
static const double steps[STEPS] = {1e-4, 1e-3, 1e-2};

typedef struct cell { // a row of the table
    const char *name;
    family family;
    bool one_way, hard;
    int velocities, contacts;
    double original[STEPS]; // per cent of the original, with 100 updates
} cell;

static const cell cells[] = {
    {"bodies", BODIES, true, false, 6, 4, {100, 100, 100}},
    {"bodies", BODIES, true, false, 30, 20, {100, 100, 100}},
    {"bodies", BODIES, true, false, 60, 40, {98, 100, 100}},
    {"dense", DENSE, false, false, 1, 1, {99.8, 99.4, 97}},
    {"dense hard", DENSE, false, true, 1, 1, {98, 94, 92}},
    {"dense hard", DENSE, false, true, 30, 20, {99, 95, 72}},
    {"bodies", BODIES, false, false, 6, 4, {99.8, 99.4, 96}},
    {"bodies", BODIES, false, false, 12, 8, {100, 99, 97}},
    {"bodies", BODIES, false, false, 30, 20, {100, 98, 88}},
    {"bodies", BODIES, false, false, 60, 40, {100, 96, 82}},
    {"bodies hard", BODIES, false, true, 30, 20, {99, 92, 62}},
    {"bodies hard", BODIES, false, true, 60, 40, {100, 88, 18}},
    {"stack", STACK, false, false, 12, 8, {100, 99.8, 99.8}},
    {"stack", STACK, false, false, 60, 40, {100, 100, 96}},
    {"stack hard", STACK, false, true, 30, 20, {100, 99, 95}},
};

static void print_successes(line_fn *line, const cell *cell, double step, double original,
                            int problems)
{
    sprag_general_options options = sprag_general_defaults();
    sprag_scratch scratch = {0};
    int solved = 0, phase[256] = {0}, most = 0;
    double updates = 0, us = 0;
    uint64_t random = 1;
    for (int i = 0; i < problems; i++) {
        made m = draw_problem(cell->family, cell->velocities, cell->contacts, step, cell->one_way,
                              cell->hard, &random);
        sprag_stats stats = {0};
        double start = now_us();
        sprag_result result = made_solve(&m, &options, &scratch, &stats);
        us += now_us() - start;
        bool good = result == SPRAG_OK && made_is_solved(&m, &options);
        solved += good;
        phase[good ? (unsigned char)stats.phase : 0]++;
        updates += stats.iterations;
        most = stats.iterations > most ? stats.iterations : most;
        made_free(&m);
    }
    line("%s|%s|%d,%d|%g|%d|%.2f|%.1f|%d|%d|%d|%d|%.1f|%d|%.1f", cell->name,
         cell->one_way ? "one-way" : "two-way", cell->velocities, cell->contacts, step, problems,
         100.0 * solved / problems, original, phase['A'], phase['B'], phase['C'], problems - solved,
         updates / problems, most, us / problems);
    sprag_scratch_free(&scratch);
}

// ---- speed

enum { SIZES = 7, WAYS = 4 };

typedef struct original {
    double us;
    int updates; // 100: failed
} original;

static const int cubes[SIZES] = {1, 2, 5, 10, 20, 50, 100};
static const original speed[SIZES][WAYS] = {
    {{1.82, 2}, {3.79, 3}, {3.61, 4}, {3.77, 3}},
    {{6.27, 4}, {5.98, 3}, {12.4, 8}, {8.04, 4}},
    {{60.1, 10}, {52.3, 6}, {59.1, 10}, {51.8, 6}},
    {{506, 22}, {500, 16}, {317, 14}, {372, 12}},
    {{3725, 32}, {4973, 29}, {2308, 20}, {2692, 16}},
    {{98341, 66}, {121699, 63}, {47941, 34}, {41269, 22}},
    {{1.10e6, 100}, {1.41e6, 100}, {578293, 53}, {486804, 36}},
};

static int by_size(const void *a, const void *b)
{
    const double *p = a, *q = b;
    return (*p > *q) - (*p < *q);
}

static void print_speed(line_fn *line, int size, int way)
{
    enum { ROUNDS_MAX = 2001, ROUNDS_MIN = 11 };
    static const double budget = 3e5; // us
    bool tower = way < 2, one_way = way % 2 == 0;
    made m = make_cubes(cubes[size], tower, one_way);
    sprag_general_options options = sprag_general_defaults();
    sprag_scratch scratch = {0};
    sprag_stats stats = {0};
    double us[ROUNDS_MAX], spent = 0;
    int rounds = 0;
    sprag_result result = SPRAG_OK;
    while (rounds < ROUNDS_MAX && (rounds < ROUNDS_MIN || spent < budget)) {
        double start = now_us();
        result = made_solve(&m, &options, &scratch, &stats);
        us[rounds] = now_us() - start;
        spent += us[rounds++];
    }
    qsort(us, (size_t)rounds, sizeof *us, by_size);
    const original *theirs = &speed[size][way];
    bool good = result == SPRAG_OK && made_is_solved(&m, &options);
    line("%s|%s|%d,%d|%.2f|%d|%c|%.1e|%.2f|%d|%.2f|%s", tower ? "tower" : "field",
         one_way ? "one-way" : "two-way", m.problem.velocities, m.problem.contacts, us[rounds / 2],
         stats.iterations, good ? stats.phase : '!', stats.residual, theirs->us, theirs->updates,
         theirs->us / us[rounds / 2], theirs->updates == 100 ? "fails" : "");
    sprag_scratch_free(&scratch);
    made_free(&m);
}

void bench_general(line_fn *line, bool full)
{
    openblas_set_num_threads(1);
    puts("# Cubes: us per solve, beside the original's published ones (EPYC, Zen 5 class).");
    line("scene|kind|nv,nc|us|updates|phase|residual|theirs/us|updates|ratio|theirs");
    for (int way = 0; way < WAYS; way++) {
        for (int size = 0; size < SIZES; size++) {
            print_speed(line, size, way);
        }
    }
    puts("# Random problems: per cent solved, beside the original's published ones (at most 100 "
         "updates;");
    puts("# its generator is not public, ours draws from other ranges). A, B, C: by phase.");
    line("family|kind|nv,nc|step|problems|solved/%%|theirs/%%|A|B|C|failed|updates|most|us");
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        for (int k = 0; k < STEPS; k++) {
            int problems = cells[i].velocities < 60 ? 2000 : 1000;
            print_successes(line, &cells[i], steps[k], cells[i].original[k],
                            full ? problems : problems / 10);
        }
    }
}
