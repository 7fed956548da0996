// The candidates are dWorldQuickStep by iterations, ERP and CFM, and dWorldStep by ERP and CFM: all
// of them take the step from every compared state, and the best one is known at the end.
//
// The best one has the least error among those that take no longer than the method to reach. Its
// error is the product of its mean depth, approach, slip, joint error, energy made and excess over
// the cone, each as a multiple of that of the method to reach.
#include "tune.h"

#include <math.h>
#include <stdio.h>

#include "say.h"

static const double longer = 1.1; // the noise of times
static const double least = 1e-9; // in the units of the values; smaller ones are rounding

static const int iterations[] = {10, 20, 40, 80, 160, 320, 640, 1280};
static const double erps[] = {0, 0.05, 0.4, 0.8};   // 0: the program's
static const double cfms[] = {0, 1e-9, 1e-6, 1e-4}; // likewise

enum {
    ITERATIONS = sizeof iterations / sizeof *iterations,
    ERPS = sizeof erps / sizeof *erps,
    CFMS = sizeof cfms / sizeof *cfms
};

// iterations: 0 for dWorldStep.
static void name_candidate(char name[CHOICE_NAME], int steps, double erp, double cfm)
{
    int at = steps ? snprintf(name, CHOICE_NAME, "ode-quick:%d", steps)
                   : snprintf(name, CHOICE_NAME, "ode-step");
    at += erp > 0 ? snprintf(name + at, (size_t)(CHOICE_NAME - at), ",ode.erp=%g", erp) : 0;
    if (cfm > 0) {
        snprintf(name + at, (size_t)(CHOICE_NAME - at), ",ode.cfm=%g", cfm);
    }
}

bool tune_add(comparison *c)
{
    for (int i = 0; i <= ITERATIONS; i++) {
        for (int e = 0; e < ERPS; e++) {
            for (int f = 0; f < CFMS; f++) {
                if (c->methods == PLAN_CHOICES_MAX) {
                    cli_fail(0, "too many methods");
                    return false;
                }
                choice *to = &c->method[c->methods++];
                bool quick = i < ITERATIONS;
                to->method = method_find(quick ? "ode-quick" : "ode-step", quick ? 9 : 8);
                name_candidate(to->name, quick ? iterations[i] : 0, erps[e], cfms[f]);
            }
        }
    }
    return true;
}

// Logarithm of the product.
static double error_of(const comparison *c, int method, int reached)
{
    static const sample_value judged[] = {SAMPLE_DEPTH_MEAN, SAMPLE_APPROACH, SAMPLE_SLIP,
                                          SAMPLE_JOINT_GAP, SAMPLE_ENERGY_MADE};
    double sum = 0;
    for (size_t i = 0; i < sizeof judged / sizeof *judged; i++) {
        double fine = fmax(sample_kinds[judged[i]].fine, least);
        double mine = comparison_figure(c, method, judged[i]);
        double others = comparison_figure(c, reached, judged[i]);
        if (!isnan(mine) && !isnan(others)) {
            sum += log((mine + fine) / (others + fine));
        }
    }
    double cone = fmax(1, comparison_figure(c, method, SAMPLE_CONE));
    return sum + (isnan(cone) ? 0 : log(cone));
}

void tune_keep_best(comparison *c, int count)
{
    int reached = count - 1, best = -1, kept[METHODS_MAX + 1];
    double limit = longer * comparison_quantile(c, reached, SAMPLE_US, 0.5);
    for (int k = count; k < c->methods; k++) {
        bool all = comparison_count(c, k, SAMPLE_TAKEN) == c->states;
        bool fast = comparison_quantile(c, k, SAMPLE_US, 0.5) <= limit;
        if (all && fast && (best < 0 || error_of(c, k, reached) < error_of(c, best, reached))) {
            best = k;
        }
    }
    for (int k = 0; k < count; k++) {
        kept[k] = k;
    }
    kept[count] = best;
    if (best < 0) {
        printf("No parameters make stock as fast as %s on these states.\n",
               c->method[reached].name);
    } else {
        printf("Stock's best of %d at the time of %s: %s\n", c->methods - count,
               c->method[reached].name, c->method[best].name);
        snprintf(c->method[best].name, CHOICE_NAME, "tuned");
    }
    comparison_keep(c, kept, count + (best >= 0));
}
