// method=ess on ODE worlds beside stock and the implicit step, at the same steps: error against
// exact or converged answers, energy, time of the processor. The targets are those of the issue:
// how many times the others' least error is ours, at least. 2 s each.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "worlds_ess.h"

enum { WAYS = 3 };
static const char *const way[WAYS] = {"method=ess", "method=stribeck", "method=ode-step"};

typedef double error_fn(void *data, const char *options);

static int rows, good;

static void compare(line_fn *line, double target, const char *what, const char *unit,
                    error_fn *measure, void *data)
{
    double error[WAYS], ms[WAYS];
    for (int i = 0; i < WAYS; i++) {
        double start = bench_cpu_us();
        error[i] = measure(data, way[i]);
        ms[i] = 1e-3 * (bench_cpu_us() - start);
    }
    double times = fmin(error[1], error[2]) / error[0];
    bool met = times >= target;
    line("%s|%s|%.3g|%.3g|%.3g|%.3g|%g|%s|%.1f|%.1f|%.1f", what, unit, error[0], error[1], error[2],
         times, target, met ? "met" : "NOT MET", ms[0], ms[1], ms[2]);
    rows++;
    good += met;
}

static double hopper(void *data, const char *options)
{
    return hopper_error(options, *(double *)data, 2);
}

static double pendulum(void *data, const char *options)
{
    return pendulum_error(options, *(double *)data, 2);
}

typedef struct rebound {
    double step, dissipation;
} rebound;

static double bounced(void *data, const char *options)
{
    const rebound *r = data;
    return rebound_error(options, r->step, 2e4, r->dissipation, 3);
}

typedef struct plate {
    springs springs;
    double step, *state;
    int steps;
} plate;

static double sprung(void *data, const char *options)
{
    plate *p = data;
    return plate_error(options, &p->springs, p->step, p->steps, p->state);
}

static void bench_plates(line_fn *line, double step)
{
    static const int count[] = {2, 5, 10, 20, 50, 100};
    for (size_t i = 0; i < sizeof count / sizeof *count; i++) {
        plate p = {{count[i], 2e4 / count[i], 0.1}, step, .steps = (int)lround(2 / step)};
        char what[64];
        p.state = bench_allocate(6 * (size_t)p.steps, sizeof(double));
        plate_reference(&p.springs, step, p.steps, p.state);
        snprintf(what, sizeof what, "%d springs", count[i]);
        compare(line, 100, what, "m, rad", sprung, &p);
        free(p.state);
    }
}

typedef struct balls {
    double step, seconds;
    bool rms;
} balls;

static double elastic(void *data, const char *options)
{
    const balls *b = data;
    energy_error e = elastic_balls_error(options, 6, b->step, b->seconds, options == way[0]);
    return b->rms ? e.rms : e.largest;
}

bool bench_ess_worlds(line_fn *line)
{
    static const double step[] = {1e-3, 1e-2};
    char what[64];
    line("method=ess|unit|ess|stribeck|ode-step|times|target||ms|ms|ms");
    for (int i = 0; i < 2; i++) {
        double h = step[i];
        rebound r = {h, 0.2};
        snprintf(what, sizeof what, "hopper %g ms", 1e3 * h);
        compare(line, 100, what, "m", hopper, &h);
        snprintf(what, sizeof what, "pendulum %g ms", 1e3 * h);
        compare(line, 100, what, "m", pendulum, &h);
        snprintf(what, sizeof what, "rebound %g ms", 1e3 * h);
        compare(line, 100, what, "m/s", bounced, &r);
    }
    bench_plates(line, 2e-3);
    for (int i = 0; i < 4; i++) { // SimBenchmark's 666
        balls b = {step[i / 2], 2, i % 2};
        snprintf(what, sizeof what, "balls%s %g ms", b.rms ? " rms" : "", 1e3 * b.step);
        compare(line, 10, what, "J", elastic, &b);
    }
    printf("# %d of %d targets met\n", good, rows);
    return good == rows;
}
