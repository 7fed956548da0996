// Conservative advancement against its targets: one table, a row per figure with what was measured,
// the target and whether it is met. Seeds are fixed. The gap is measured by a check of our
// own (advance/apart.c) that shares no code with the solver.
//
//   certify  certificates alone                      advance/certify.c
//   die      thrown dice, no-slip and Coulomb        advance/die.c
//   alone    stacks, rocking, corners, walls, no ODE advance/alone.c
//   chain    100 links, 100 m                        advance/chain.c
//   bounds   of a chain's links                      advance/bounds.c
//   legs     a trotting quadruped                    advance/legs.c
//   rest     stacks, inclines, rocking, corners      advance/rest.c
//   fast     thin walls                              advance/fast.c
//   piles    random boxes                            advance/piles.c
//   disturb  random velocities after the solve       advance/disturb.c
//   paper    the paper's method, as published       advance/paper.c
//   order    convergence, free flight and pendulum   advance/order.c
//   models   all of models/                          advance/models.c
//   compare  their time, over that of stribeck       advance/compare.c
//   crafts   parts fitted, carried, sorted, stacked  advance/crafts.c
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bench_advance.h"

static bool csv;
static const char *part;
static char scene[32];
static long rows, good;

void row_scene(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(scene, sizeof scene, format, arguments);
    va_end(arguments);
}

static void row(const char *figure, const char *value, const char *target, const char *verdict)
{
    printf(csv ? "%s,%s,%s,%s,%s,%s\n" : "%-8s %-26s %-34s %12s %14s  %s\n", part, scene, figure,
           value, target, verdict);
    fflush(stdout);
}

static void judge(const char *figure, double value, const char *target, bool met)
{
    char text[32];
    snprintf(text, sizeof text, "%.6g", value);
    row(figure, text, target, met ? "pass" : "FAIL");
    rows++;
    good += met;
}

void row_report(const char *figure, double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.6g", value);
    row(figure, text, "", "");
}

void row_at_most(const char *figure, double value, double target)
{
    char text[32];
    snprintf(text, sizeof text, "<= %g", target);
    judge(figure, value, text, value <= target);
}

void row_at_least(const char *figure, double value, double target)
{
    char text[32];
    snprintf(text, sizeof text, ">= %g", target);
    judge(figure, value, text, value >= target);
}

void row_near(const char *figure, double value, double exact, double tolerance)
{
    char text[32];
    snprintf(text, sizeof text, "%.5g+-%.2g", exact, tolerance);
    judge(figure, value, text, fabs(value - exact) <= tolerance);
}

void row_missing(const char *figure, const char *why)
{
    row(figure, "-", why, "FAIL");
    rows++;
}

typedef struct named_part {
    const char *name;
    advance_part *run;
} named_part;

static const named_part parts[] = {
    {"certify", part_certify}, {"die", part_die},         {"alone", part_alone},
    {"chain", part_chain},     {"legs", part_legs},       {"rest", part_rest},
    {"fast", part_fast},       {"piles", part_piles},     {"bounds", part_bounds},
    {"disturb", part_disturb}, {"order", part_order},     {"models", part_models},
    {"paper", part_paper},     {"compare", part_compare}, {"crafts", part_crafts},
};

enum { PARTS = sizeof parts / sizeof *parts };

static void run_part(const named_part *p, bool full)
{
    double start = bench_cpu_us();
    part = p->name;
    p->run(full);
    if (!csv) {
        printf("# %s: %.1f s\n", p->name, (bench_cpu_us() - start) / 1e6);
    }
}

static bool wanted(const char *name, int names, char **given)
{
    bool found = names == 0;
    for (int i = 0; i < names; i++) {
        found = found || !strcmp(name, given[i]);
    }
    return found;
}

static bool known(const char *name)
{
    bool found = false;
    for (int i = 0; i < PARTS; i++) {
        found = found || !strcmp(name, parts[i].name);
    }
    return found;
}

int bench_advance(int names, char **name, bool full, bool as_csv)
{
    csv = as_csv;
    for (int i = 0; i < names; i++) {
        if (!known(name[i])) {
            bench_refuse("advance", name[i]);
        }
    }
    printf(csv ? "part,scene,figure,measured,target,verdict\n"
               : "part     scene                      figure                             "
                 "    measured         target  verdict\n");
    for (int i = 0; i < PARTS; i++) {
        if (wanted(parts[i].name, names, name)) {
            run_part(&parts[i], full);
        }
    }
    printf("# %ld of %ld targets met\n", good, rows);
    return good != rows;
}
