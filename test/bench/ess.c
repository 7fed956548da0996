// Event-selected systems: how accurate, and what a contact costs.
//
// Tables: order (error against eps), hopper (root of mean square against the exact trajectory at
// 0.002 s), bed (plate on N springs, 2 s, twenty starts of test/data/ess: errors against the
// reference states and, of z, against a run at tolerance 1e-10 on 1001 points), slope, equal error,
// cost (the same plate on up to 10 000 springs), and gates: what is asked for, and whether it is
// so. Times are thread CPU time, the least of five runs a start (of others two), then the median
// over the starts; the programs compared take turns start by start. "slope" is microseconds per
// contact per simulated second, by least squares over all N of the table.
//
// Ours is built for plain x86-64, as the others are by the distribution, callbacks too; "AVX" is
// ours with what the processor has; "callbacks alone" are what any such integrator calls at least,
// six times f and twice h a step. Beside ours stand, where installed: SUNDIALS with rootfinding
// (ARKODE's Dormand-Prince 5(4), CVODE's Adams) and without, and MuJoCo (contacts as springs:
// "compliant"; 10 g tips on sprung slides: "tips", by two of its solvers).
#include <stdarg.h>

#include "ess_beds.h"

static sprag_scratch scratch;

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, bench_by_size);
    return n > 0 ? (x[(n - 1) / 2] + x[n / 2]) / 2 : NAN;
}

// ---- gates

enum { GATES = 64 };
static struct {
    char what[80];
    double is, low, high;
} gates[GATES];
static int gate_count;

__attribute__((format(printf, 4, 5))) static void gate(double is, double low, double high,
                                                       const char *what, ...)
{
    if (gate_count < GATES) {
        va_list args;
        va_start(args, what);
        vsnprintf(gates[gate_count].what, sizeof gates->what, what, args);
        va_end(args);
        gates[gate_count].is = is;
        gates[gate_count].low = low;
        gates[gate_count++].high = high;
    }
}

static bool print_gates(line_fn *line)
{
    bool all_met = true;
    line("gate|is|target||what");
    for (int i = 0; i < gate_count; i++) {
        double is = gates[i].is, low = gates[i].low, high = gates[i].high;
        char target[40];
        if (low == -INFINITY) {
            snprintf(target, sizeof target, "<= %.3g", high);
        } else if (high == INFINITY) {
            snprintf(target, sizeof target, ">= %.3g", low);
        } else {
            snprintf(target, sizeof target, "%.3g to %.3g", low, high);
        }
        bool met = is >= low && is <= high;
        line("gate|%.3g|%s|%s|%s", is, target,
             met         ? "met"
             : isnan(is) ? "not measured"
                         : "MISSED",
             gates[i].what);
        all_met &= met || isnan(is); // not measured: an optional library is not installed
    }
    return all_met;
}

static const struct {
    const char *name;
    sprag_ess_mode mode;
} modes[] = {
    {"first", SPRAG_ESS_FIRST}, {"midpoint", SPRAG_ESS_MIDPOINT}, {"locate", SPRAG_ESS_LOCATE}};

// ---- order

static void bench_order(line_fn *line)
{
    enum { POINTS = 9 };
    line("order|mode||eps|rms|final");
    for (int m = 0; m < 3; m++) {
        double le[POINTS], lr[POINTS], lf[POINTS];
        for (int i = 0; i < POINTS; i++) {
            double eps = pow(10, -1 - 0.25 * i);
            ess_error error = ess_order_error(modes[m].mode, eps);
            le[i] = log(eps);
            lr[i] = log(error.rms);
            lf[i] = log(error.final);
            line("order|%s||%.2g|%.2e|%.2e", modes[m].name, eps, error.rms, error.final);
        }
        double order = ess_slope(le, lr, POINTS);
        line("order|%s|fitted|1e-3..1e-1|%.2f|%.2f", modes[m].name, order,
             ess_slope(le, lf, POINTS));
        if (modes[m].mode == SPRAG_ESS_LOCATE) {
            gate(exp(lf[0]), -INFINITY, 1e-11, "order test, located: final error");
        } else {
            bool first = modes[m].mode == SPRAG_ESS_FIRST;
            gate(order, first ? 1.8 : 2.8, first ? 2.4 : INFINITY, "order test, %s: fitted order",
                 modes[m].name);
        }
    }
}

// ---- hopper

static void bench_hopper(line_fn *line)
{
    static const struct {
        double eps, tolerance;
        bool trust;
    } run[] = {{0.05, 1, true},  {0.02, 1, true},     {0.01, 1, true},
               {0.01, 1, false}, {0.02, 1e-3, false}, {0.02, 1e-6, false}};
    static const size_t hopper_gate[] = {3, 1, 0}; // run of each mode
    line("hopper|mode|projects|eps|tolerance|rms z|rms zdot|projected|us");
    for (int damped = 0; damped < 2; damped++) {
        table t = table_read(damped ? "hopper_damped_exact" : "hopper_exact");
        double time[1001], state[1001][2];
        for (int i = 0; i < t.rows; i++) {
            time[i] = t.row[i][0];
        }
        for (int m = 0; m < 3; m++) {
            for (size_t r = 0; r < sizeof run / sizeof *run; r++) {
                if (modes[m].mode == SPRAG_ESS_LOCATE && r > 0) {
                    break;
                }
                hopper leg = {1000, damped ? 4 : 0};
                sprag_ess_problem p = hopper_problem(&leg);
                sprag_ess_options o = sprag_ess_defaults(0.002);
                sprag_ess_stats stats;
                char message[200];
                o.mode = modes[m].mode;
                o.eps = run[r].eps;
                o.trust_eps = run[r].trust;
                o.relative_tolerance = run[r].tolerance;
                double least = INFINITY, z = 0, speed = 0;
                for (int repeat = 0; repeat < 5; repeat++) {
                    double x[2] = {2, 0}, label[2] = {NAN, NAN};
                    sprag_ess_output out = {.time = time, .times = t.rows, .state = state[0]};
                    double start = bench_cpu_us();
                    ess_check(sprag_ess_integrate(&p, &o, 0, 2, x, label, &out, &scratch, &stats,
                                                  message, sizeof message),
                              message);
                    least = fmin(least, bench_cpu_us() - start);
                    sprag_scratch_reset(&scratch);
                }
                for (int i = 0; i < t.rows; i++) {
                    z += pow(state[i][0] - t.row[i][1], 2) / t.rows;
                    speed += pow(state[i][1] - t.row[i][2], 2) / t.rows;
                }
                double bound = modes[m].mode == SPRAG_ESS_FIRST      ? 4e-3
                               : modes[m].mode == SPRAG_ESS_MIDPOINT ? 1e-4
                                                                     : 1e-8;
                if (r == hopper_gate[m]) {
                    gate(sqrt(z), -INFINITY, bound, "%shopper, %s, eps %g, tolerance %g: rms z (m)",
                         damped ? "damped " : "", modes[m].name, o.eps, o.relative_tolerance);
                }
                line("%s|%s|%s|%g|%g|%.1e|%.1e|%ld|%.0f", damped ? "damped hopper" : "hopper",
                     modes[m].name,
                     modes[m].mode == SPRAG_ESS_LOCATE ? "-"
                     : o.trust_eps                     ? "from -eps on"
                                                       : "within tolerance",
                     o.eps, o.relative_tolerance, sqrt(z), sqrt(speed), stats.projected, least);
            }
        }
        table_free(&t);
    }
}

// ---- bed

#define FIXED(m, e) BY(ours, .mode = m, .jump = true, .tolerance = 1e-3, .eps = e)
#define ADAPTIVE(m, tol)                                                                           \
    BY(ours, .mode = m, .adaptive = true, .jump = true, .tolerance = tol, .eps = 0.02)
static const program programs[] = {
    {"locate", "fixed", OURS, FIXED(SPRAG_ESS_LOCATE, 0)},
    {"midpoint", "fixed", OURS, FIXED(SPRAG_ESS_MIDPOINT, 0.02)},
    {"locate", "fixed, AVX", OURS_WIDE, FIXED(SPRAG_ESS_LOCATE, 0)},
    {"midpoint", "fixed, AVX", OURS_WIDE, FIXED(SPRAG_ESS_MIDPOINT, 0.02)},
    {"midpoint", "fixed, no jumps", OURS,
     BY(ours, .mode = SPRAG_ESS_MIDPOINT, .tolerance = 1e-3, .eps = 0.02)},
    {"locate", "fixed, no jumps, 1e-6", OURS,
     BY(ours, .mode = SPRAG_ESS_LOCATE, .tolerance = 1e-6)},
    {"midpoint", "1e-3", OURS, ADAPTIVE(SPRAG_ESS_MIDPOINT, 1e-3)},
    {"midpoint", "5e-4", OURS, ADAPTIVE(SPRAG_ESS_MIDPOINT, 5e-4)},
    {"midpoint", "3e-4", OURS, ADAPTIVE(SPRAG_ESS_MIDPOINT, 3e-4)},
    {"midpoint", "2e-4", OURS, ADAPTIVE(SPRAG_ESS_MIDPOINT, 2e-4)},
    {"midpoint", "1e-4", OURS, ADAPTIVE(SPRAG_ESS_MIDPOINT, 1e-4)},
    {"midpoint", "5e-5", OURS, ADAPTIVE(SPRAG_ESS_MIDPOINT, 5e-5)},
    {"midpoint", "2e-5", OURS, ADAPTIVE(SPRAG_ESS_MIDPOINT, 2e-5)},
    {"midpoint", "1e-5", OURS, ADAPTIVE(SPRAG_ESS_MIDPOINT, 1e-5)},
    {"locate", "5e-4", OURS, ADAPTIVE(SPRAG_ESS_LOCATE, 5e-4)},
    {"locate", "1e-4", OURS, ADAPTIVE(SPRAG_ESS_LOCATE, 1e-4)},
    {"locate", "2e-5", OURS, ADAPTIVE(SPRAG_ESS_LOCATE, 2e-5)},
    {"locate", "1e-4, no jumps", OURS,
     BY(ours, .mode = SPRAG_ESS_LOCATE, .adaptive = true, .tolerance = 1e-4)},
    {"locate", "1e-9, no jumps", OURS,
     BY(ours, .mode = SPRAG_ESS_LOCATE, .adaptive = true, .tolerance = 1e-9)},
    {"callbacks", "alone", ALONE, .open = ours_open, .run = alone_run, .close = ours_close},
    {"callbacks", "alone, AVX", ALONE_WIDE, .open = ours_open, .run = alone_run,
     .close = ours_close},
#ifdef BENCH_SUNDIALS
    {"ARKODE", "1e-3, roots", ROOTS, BY(sundials, .tolerance = 1e-3)},
    {"ARKODE", "5e-4, roots", ROOTS, BY(sundials, .tolerance = 5e-4)},
    {"ARKODE", "3e-4, roots", ROOTS, BY(sundials, .tolerance = 3e-4)},
    {"ARKODE", "2e-4, roots", ROOTS, BY(sundials, .tolerance = 2e-4)},
    {"ARKODE", "1e-4, roots", ROOTS, BY(sundials, .tolerance = 1e-4)},
    {"ARKODE", "5e-5, roots", ROOTS, BY(sundials, .tolerance = 5e-5)},
    {"ARKODE", "2e-5, roots", ROOTS, BY(sundials, .tolerance = 2e-5)},
    {"ARKODE", "1e-5, roots", ROOTS, BY(sundials, .tolerance = 1e-5)},
    {"CVODE", "1e-5, roots", ROOTS, BY(sundials, .tolerance = 1e-5)},
    {"ARKODE", "1e-4, no events", IGNORE, BY(sundials, .tolerance = 1e-4)},
    {"ARKODE", "1e-6, no events", IGNORE, BY(sundials, .tolerance = 1e-6)},
#endif
#ifdef BENCH_MUJOCO
    {"MuJoCo", "compliant, Newton", COMPLIANT, BY(mujoco, .solver = "Newton")},
    {"MuJoCo", "tips, Newton", TIPS, BY(mujoco, .solver = "Newton")},
    {"MuJoCo", "tips, PGS", TIPS, BY(mujoco, .solver = "PGS")},
#endif
};
enum { PROGRAMS = sizeof programs / sizeof *programs };
static const program reference = {
    "locate", "1e-10", OURS,
    BY(ours, .mode = SPRAG_ESS_LOCATE, .adaptive = true, .tolerance = 1e-10)};

static const int springs[] = {2, 5, 10, 20, 40, 60, 80, 100};
enum { SIZES = sizeof springs / sizeof *springs };

typedef struct measured {
    double us, rms, worst, values; // medians over starts; largest; mean
} measured;

static double distance(const trajectory *a, const trajectory *b)
{
    double sum = 0;
    for (int i = 0; i < POINTS; i++) {
        sum += pow(a->z[i] - b->z[i], 2) / POINTS;
    }
    return sqrt(sum);
}

// All programs on the plates of one size, by turns.
static void measure(const table *t, int count, measured *m)
{
    static trajectory exact, found;
    static double us[PROGRAMS][TRIALS], rms[PROGRAMS][TRIALS];
    bed plain = bed_make(count), wide = plain;
    void *of[PROGRAMS], *ref = ours_open(&reference, &plain);
    bed_widen(&wide);
    for (int p = 0; p < PROGRAMS; p++) {
        bool is_wide = programs[p].family == OURS_WIDE || programs[p].family == ALONE_WIDE;
        of[p] = programs[p].open(&programs[p], is_wide ? &wide : &plain);
        m[p] = (measured){0};
    }
    int trials = 0;
    for (int r = 0; r < t->rows && trials < TRIALS; r++) {
        if ((int)t->row[r][0] != count) {
            continue;
        }
        start at = {t->row[r][2], t->row[r][3]};
        ours_run(&reference, ref, &at, &exact);
        for (int p = 0; p < PROGRAMS; p++) {
            double *least = &us[p][trials];
            memset(&found, 0, sizeof found);
            programs[p].run(&programs[p], of[p], &at, &found);
            rms[p][trials] = distance(&found, &exact);
            m[p].values += (double)found.values / TRIALS;
            for (int i = 0; i < 24; i++) {
                m[p].worst = fmax(m[p].worst, fabs(found.state[i / 6][i % 6] - t->row[r][5 + i]));
            }
            *least = INFINITY;
            for (int repeat = 0; repeat < (programs[p].family < ROOTS ? 5 : 2); repeat++) {
                *least = fmin(*least, programs[p].run(&programs[p], of[p], &at, NULL));
            }
        }
        trials++;
    }
    for (int p = 0; p < PROGRAMS; p++) {
        m[p].us = median(us[p], trials);
        m[p].rms = median(rms[p], trials);
        programs[p].close(of[p]);
    }
    ours_close(ref);
    bed_free(&plain);
}

// The cheapest of a family that is so accurate; INFINITY: none is.
static double cheapest(const measured *m, family family, double rms)
{
    double us = INFINITY;
    for (int p = 0; p < PROGRAMS; p++) {
        bool of_it = programs[p].family == family && (family != OURS || programs[p].adaptive);
        us = of_it && m[p].rms <= rms ? fmin(us, m[p].us) : us;
    }
    return us;
}

static void compare_at_equal_error(measured m[SIZES][PROGRAMS], line_fn *line)
{
    static const double bound[] = {6e-4, 1e-4};
    line("equal error|N|rms z <=|ours|SUNDIALS, roots|ratio|SUNDIALS, no events");
    for (int i = 0; i < 2; i++) {
        double least = INFINITY;
        for (int s = 0; s < SIZES; s++) {
            double ours = cheapest(m[s], OURS, bound[i]), roots = cheapest(m[s], ROOTS, bound[i]);
            least = fmin(least, roots / ours);
            line("equal error|%d|%g|%.0f|%.0f|%.1f|%.0f", springs[s], bound[i], ours, roots,
                 roots / ours, cheapest(m[s], IGNORE, bound[i]));
        }
        gate(isfinite(least) ? least : NAN, 5, INFINITY,
             "SUNDIALS with roots / ours, adaptive, rms z <= %g, least over N", bound[i]);
    }
}

static void judge_slopes(measured m[SIZES][PROGRAMS], line_fn *line)
{
    double number[SIZES], us[SIZES], per[PROGRAMS], least[TIPS + 1];
    for (int f = 0; f <= TIPS; f++) {
        least[f] = NAN;
    }
    line("slope|N|program|steps|us");
    for (int p = 0; p < PROGRAMS; p++) {
        for (int s = 0; s < SIZES; s++) {
            number[s] = springs[s];
            us[s] = m[s][p].us;
        }
        per[p] = ess_slope(number, us, SIZES) / 2;
        least[programs[p].family] = fmin(least[programs[p].family], per[p]);
        line("slope|2..100|%s|%s|%.2f", programs[p].name, programs[p].how, per[p]);
    }
    for (int p = 0; p < 4; p++) {
        bool wide = programs[p].family == OURS_WIDE;
        gate(per[p], -INFINITY, wide ? 1.2 : 2.5, "%s, %s: us per contact and s", programs[p].name,
             programs[p].how);
        if (!wide) {
            gate(least[COMPLIANT] / per[p], 14, INFINITY, "MuJoCo's best compliant / %s",
                 programs[p].name);
            gate(least[TIPS] / per[p], 40, INFINITY, "MuJoCo's sprung tips, best / %s",
                 programs[p].name);
        }
    }
}

static void bench_bed(line_fn *line)
{
    static measured m[SIZES][PROGRAMS];
    table t = table_read("bed_ref");
    line("bed|N|program|steps|us|rms z|worst|f");
    for (int s = 0; s < SIZES; s++) {
        measure(&t, springs[s], m[s]);
        for (int p = 0; p < PROGRAMS; p++) {
            if (programs[p].family == ALONE || programs[p].family == ALONE_WIDE) {
                continue;
            }
            line("bed|%d|%s|%s|%.0f|%.1e|%.1e|%.0f", springs[s], programs[p].name, programs[p].how,
                 m[s][p].us, m[s][p].rms, m[s][p].worst, m[s][p].values > 0 ? m[s][p].values : NAN);
        }
    }
    table_free(&t);
    for (int p = 0; p < PROGRAMS; p++) {
        bool exact = programs[p].family == OURS && !programs[p].jump && programs[p].eps == 0 &&
                     programs[p].tolerance <= 1e-6;
        double worst = 0;
        for (int s = 0; s < SIZES; s++) {
            worst = fmax(worst, m[s][p].worst);
        }
        if (exact) {
            gate(worst, -INFINITY, 1e-5, "bed, %s, %s: worst of all states", programs[p].name,
                 programs[p].how);
        }
    }
    gate(cheapest(m[SIZES - 1], OURS, 1e-3), -INFINITY, 400,
         "bed, N = 100, adaptive, rms z <= 1e-3: us");
    judge_slopes(m, line);
    compare_at_equal_error(m, line);
}

// ---- cost: many springs, dt 0.002

static void bench_cost(line_fn *line)
{
    static const int many[] = {100, 300, 1000, 3000, 10000};
    enum { COUNTS = sizeof many / sizeof *many };
    double us[4][COUNTS];
    line("cost|N|program|steps|us|a step|a contact and s|f");
    for (int s = 0; s < COUNTS; s++) {
        bed plain = bed_make(many[s]), wide = plain;
        bed_widen(&wide);
        for (int p = 0; p < 4; p++) {
            static trajectory found;
            start at = {2.5, 0.05};
            bed *b = programs[p].family == OURS_WIDE ? &wide : &plain;
            void *of = programs[p].open(&programs[p], b);
            programs[p].run(&programs[p], of, &at, &found);
            us[p][s] = INFINITY;
            for (int repeat = 0; repeat < 5 + 3000 / many[s]; repeat++) {
                us[p][s] = fmin(us[p][s], programs[p].run(&programs[p], of, &at, NULL));
            }
            line("cost|%d|%s|%s|%.0f|%.2f|%.2f|%ld", many[s], programs[p].name, programs[p].how,
                 us[p][s], us[p][s] / 1000, us[p][s] / many[s] / 2, found.values);
            programs[p].close(of);
        }
        bed_free(&plain);
    }
    for (int p = 0; p < 4; p++) {
        gate(log10(us[p][COUNTS - 1] / us[p][COUNTS - 3]), -INFINITY, 1.1,
             "%s, %s: cost ~ N^p from 1000 to 10 000", programs[p].name, programs[p].how);
    }
}

bool bench_ess(line_fn *line)
{
    gate_count = 0;
    bench_order(line);
    bench_hopper(line);
    bench_bed(line);
    bench_cost(line);
    bool all_met = print_gates(line);
    sprag_scratch_free(&scratch);
    ess_beds_free();
    return all_met;
}
