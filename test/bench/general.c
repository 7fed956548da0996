// The general solver: how often it succeeds on random problems, and how long it takes for cubes.
//
// Beside ours stand figures of the original (Drake's implicit Stribeck solver of 2019, C++ with
// Eigen, -O3 -march=native): literature values, measured on another machine, and for the success
// table on random problems of a generator that is not public. Ours has its own ranges
// (problems_general.h), so read the columns of the original for their order of magnitude. Per cent
// to a tenth take --full.
//
// Success is a root: the balance of momentum and both laws are evaluated anew (to 1e-9, rounding of
// fast bodies allowing). Microseconds are of the whole call, checks and all:
// medians, and the least median of several sweeps over all cases.
#include <stdio.h>

#include "bench.h"
#include "problems_general.h"

extern void openblas_set_num_threads(int threads);

// ---- success

enum { STEPS = 3 };
static const double steps[STEPS] = {1e-4, 1e-3, 1e-2};

typedef struct cell { // a row of the table
    const char *name;
    family family;
    bool one_way, hard;
    int velocities, contacts;
    double original[STEPS]; // per cent of the original, with 100 updates; 0: unknown
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
    {"bodies hard", BODIES, false, true, 300, 200, {0}},
    {"bodies hard", BODIES, false, true, 600, 400, {0}},
};

// Returns the share of problems that are solved, in per cent.
static double print_successes(line_fn *line, const cell *cell, double step, double original,
                              int problems)
{
    sprag_general_options options = sprag_general_defaults();
    sprag_scratch scratch = {0};
    int solved = 0, by[SPRAG_STRATEGIES] = {0}, most = 0;
    double updates = 0, us = 0;
    uint64_t random = 1;
    for (int i = 0; i < problems; i++) {
        made m = draw_problem(cell->family, cell->velocities, cell->contacts, step, cell->one_way,
                              cell->hard, &random);
        sprag_stats stats = {0};
        double start = bench_cpu_us();
        sprag_result result = made_solve(&m, &options, &scratch, &stats);
        us += bench_cpu_us() - start;
        bool good = result == SPRAG_OK && made_is_solved(&m, &options);
        solved += good;
        by[good ? stats.strategy : SPRAG_STRATEGY_NONE]++;
        updates += stats.iterations;
        most = stats.iterations > most ? stats.iterations : most;
        made_free(&m);
    }
    char theirs[20] = "";
    if (original > 0) {
        snprintf(theirs, sizeof theirs, "%.1f", original);
    }
    line("%s|%s|%d,%d|%g|%d|%.2f|%s|%d|%d|%d|%.1f|%d|%.1f", cell->name,
         cell->one_way ? "one-way" : "two-way", cell->velocities, cell->contacts, step, problems,
         100.0 * solved / problems, theirs, by[SPRAG_STRATEGY_NEWTON],
         by[SPRAG_STRATEGY_CONTINUATION], problems - solved, updates / problems, most,
         us / problems);
    sprag_scratch_free(&scratch);
    return 100.0 * solved / problems;
}

// ---- speed

enum { SIZES = 7, WAYS = 4, SWEEPS = 9 };

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

static double median(double *x, int count)
{
    qsort(x, (size_t)count, sizeof *x, bench_by_size);
    return x[count / 2];
}

// Cubes, the solver's memory and what it found. us: medians of the sweeps.
typedef struct trial {
    made m;
    sprag_scratch scratch;
    sprag_stats stats;
    sprag_result result;
    double us[SWEEPS];
} trial;

static double measure(trial *t, const sprag_general_options *options)
{
    enum { ROUNDS_MAX = 2001, ROUNDS_MIN = 5 };
    static const double budget = 5e4; // us
    double us[ROUNDS_MAX], spent = 0;
    int rounds = 0;
    while (rounds < ROUNDS_MAX && (rounds < ROUNDS_MIN || spent < budget)) {
        double start = bench_cpu_us();
        t->result = made_solve(&t->m, options, &t->scratch, &t->stats);
        us[rounds] = bench_cpu_us() - start;
        spent += us[rounds++];
    }
    return median(us, rounds);
}

// Returns whether the problem is solved.
static bool print_speed(line_fn *line, trial *t, int size, int way,
                        const sprag_general_options *options)
{
    const original *theirs = &speed[size][way];
    double us = median(t->us, SWEEPS);
    bool good = t->result == SPRAG_OK && made_is_solved(&t->m, options);
    line("%s|%s|%d,%d|%.2f|%.2f|%d|%s|%.1e|%.2f|%d|%.2f|%s", way < 2 ? "tower" : "field",
         way % 2 == 0 ? "one-way" : "two-way", t->m.problem.velocities, t->m.problem.contacts, us,
         t->us[0], t->stats.iterations, good ? sprag_strategy_name(t->stats.strategy) : "failed",
         t->stats.residual, theirs->us, theirs->updates, theirs->us / us,
         theirs->updates == 100 ? "fails" : "");
    return good;
}

// All cases in turn, several times: other load on the machine slows all of them alike.
static void bench_speed(line_fn *line)
{
    static trial trials[WAYS][SIZES];
    int solved = 0;
    sprag_general_options options = sprag_general_defaults();
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        for (int way = 0; way < WAYS; way++) {
            for (int size = 0; size < SIZES; size++) {
                trial *t = &trials[way][size];
                if (sweep == 0) {
                    t->m = make_cubes(cubes[size], way < 2, way % 2 == 0);
                }
                t->us[sweep] = measure(t, &options);
            }
        }
    }
    for (int way = 0; way < WAYS; way++) {
        for (int size = 0; size < SIZES; size++) {
            solved += print_speed(line, &trials[way][size], size, way, &options);
            sprag_scratch_free(&trials[way][size].scratch);
            made_free(&trials[way][size].m);
        }
    }
    bench_at_least("cubes that are solved", solved, WAYS * SIZES);
}

void bench_general(line_fn *line, bool full)
{
    openblas_set_num_threads(1);
    puts("# Cubes: us per solve, beside the original's published ones (EPYC, Zen 5 class).");
    line("scene|kind|nv,nc|us|least|updates|strategy|residual|theirs/us|updates|ratio|theirs");
    bench_speed(line);
    puts("# Random problems: per cent solved, beside the original's published ones (at most 100 "
         "updates;");
    puts("# its generator is not public, ours draws from other ranges). newton, warm, continued: "
         "by strategy.");
    line("family|kind|nv,nc|step|problems|solved/%%|theirs/"
         "%%|newton|continued|failed|updates|most|us");
    double least = 100;
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        for (int k = 0; k < STEPS; k++) {
            int nv = cells[i].velocities, problems = nv < 60 ? 2000 : nv == 60 ? 1000 : 200;
            least = fmin(least, print_successes(line, &cells[i], steps[k], cells[i].original[k],
                                                full ? problems : problems / 10));
        }
    }
    bench_at_least("least share of a family that is solved, %", least, 100);
}
