// Joints under load and fast spin against their targets, at steps of 5, 10 and 16.7 ms: the models
// that have exact answers, and scenes of this file (loads_scenes.c). Then what it costs: steps with
// and without the stiffness of loads and the frame of spin, from the same states.
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "island.h"
#include "loads_scenes.h"
#include "scene.h"

static const double steps[] = {0.005, 0.01, 1 / 60.0}; // s
enum { STEPS = sizeof steps / sizeof *steps };
static const char opened[] = "arch, faces 0.2 mrad open";

// ---- right answers

// Turns every second body about y, so that faces of stones are open by an angle (rad).
static void open_faces(sprag_scene *scene, double angle)
{
    for (int i = 0; i < scene->bodies; i++) {
        dMatrix3 turned;
        dRFromAxisAndAngle(turned, 0, 1, 0, i % 2 ? angle : 0);
        dBodySetRotation(scene->body[i], turned);
    }
}

// Returns the number of measures; NaN where the state is not finite at the end.
static int run(const sprag_model *own, const char *options, sprag_measure *measure)
{
    bench_scene b;
    bench_open(&b, own, options, 20);
    if (!strcmp(own->name, opened)) {
        open_faces(&b.scene, 2e-4);
    }
    while (sprag_scene_time(&b.scene) < own->seconds - 0.5 * own->step && !b.scene.nonfinite) {
        bench_step(&b);
    }
    const int count = own->script->measure(&b.scene, measure);
    for (int i = 0; i < count && b.scene.nonfinite; i++) {
        measure[i].value = NAN;
    }
    sprag_scene_close(&b.scene);
    return count;
}

static void judge(line_fn *line, const sprag_model *of, double step, const char *options,
                  const sprag_measure *m, bool counts)
{
    const double exact = isnan(m->exact) ? 0 : m->exact;
    line("%s|%.1f|%s|%s|%s|%.5g|%.5g", of->name, 1e3 * step, options, m->name, m->unit, m->value,
         exact);
    if (!isnan(m->good) && counts) {
        char figure[128];
        snprintf(figure, sizeof figure, "%s, %.1f ms, %s, %s: off by", of->name, 1e3 * step,
                 options, m->name);
        bench_at_most(figure, fabs(m->value - exact), m->good);
    }
}

static void judge_run(line_fn *line, const sprag_model *model, const char *options, double step)
{
    sprag_model own = *model;
    sprag_measure measure[SPRAG_MEASURES_MAX];
    own.step = step;
    const int count = run(&own, options, measure);
    for (int i = 0; i < count; i++) {
        judge(line, &own, step, options, &measure[i], i > 0 || strcmp(own.name, opened) != 0);
    }
}

// The way of a tracked vehicle differs by several percent between steps that differ by 1e-4: its
// mean counts, and the largest joint error.
static void judge_tracks(line_fn *line, const char *options, int runs)
{
    for (int i = 0; i < STEPS; i++) {
        sprag_model own = *loads_scene_find("tracks");
        sprag_measure measure[SPRAG_MEASURES_MAX];
        double error = 0, mean = 0, square = 0; // m, m, m^2
        for (int k = 0; k < runs; k++) {
            own.step = steps[i] * (1 + 1e-4 * (k - runs / 2));
            run(&own, options, measure);
            const double way = measure[1].value; // NaN if any run is not finite
            error = fmax(error, measure[0].value);
            mean += way / runs;
            square += way * way / runs;
        }
        measure[0].value = error, measure[1].value = mean;
        judge(line, &own, steps[i], options, &measure[0], true);
        judge(line, &own, steps[i], options, &measure[1], true);
        line("%s|%.1f|%s|standard deviation of %d ways|m|%.2g|", own.name, 1e3 * steps[i], options,
             runs, sqrt(fmax(0, square - mean * mean)));
    }
}

static void judge_all(line_fn *line, const char *const *name, const char *options)
{
    for (; *name; name++) {
        const sprag_model *model = loads_scene_find(*name);
        model = model ? model : sprag_model_find(*name);
        for (int i = 0; i < STEPS; i++) {
            judge_run(line, model, options, steps[i]);
        }
    }
}

static void judge_masonry(line_fn *line)
{
    sprag_model arch = *sprag_model_find("arch");
    arch.seconds = 60;
    for (int k = 0; k < 2; k++) {
        arch.name = k ? opened : arch.name;
        for (int i = 0; i < STEPS; i++) {
            judge_run(line, &arch, "stribeck.contacts=sprag", steps[i]);
        }
    }
}

static void judge_joints(line_fn *line)
{
    static const char *const name[] = {"rope:1",     "rope:10",    "rope:100",    "rope:1000",
                                       "bridge:10",  "bridge:100", "bridge:1000", "bola:1",
                                       "bola:100",   "bola:1000",  "beads:10",    "beads:100",
                                       "beads:1000", "offset:10",  "offset:100",  "offset:1000",
                                       "hanged",     "crane",      NULL};
    static const char *const arcs[] = {"rope:1000", "bola:100", "hanged", NULL};
    judge_all(line, name, "method=stribeck");
    judge_all(line, arcs, "stribeck.arcs=1");
    judge_masonry(line);
    judge_tracks(line, "method=stribeck", 12);
    judge_tracks(line, "effort=exact", 3); // they take long
    judge_tracks(line, "method=advance", 3);
}

static void judge_spin(line_fn *line)
{
    static const char *const held[] = {"gyroscope", NULL}, *const top[] = {"top", NULL};
    static const char *const method[] = {"method=stribeck", "method=advance", "method=ess"};
    judge_all(line, held, "method=stribeck");
    for (int i = 0; i < 3; i++) {
        judge_all(line, top, method[i]);
    }
    loads_judge_flight();
}

// ---- cost

static bool plain; // steps as if loads and spin were those of stock

extern void __real_sprag_ode_stiffen(ode_problem *pulled, const ode_warm_start *warm_start,
                                     sprag_scratch *scratch);
extern void __real_sprag_ode_spin(ode_problem *pulled, sprag_scratch *scratch);
void __wrap_sprag_ode_stiffen(ode_problem *pulled, const ode_warm_start *warm_start,
                              sprag_scratch *scratch);
void __wrap_sprag_ode_spin(ode_problem *pulled, sprag_scratch *scratch);

void __wrap_sprag_ode_stiffen(ode_problem *pulled, const ode_warm_start *warm_start,
                              sprag_scratch *scratch)
{
    if (!plain) {
        __real_sprag_ode_stiffen(pulled, warm_start, scratch);
    }
}

void __wrap_sprag_ode_spin(ode_problem *pulled, sprag_scratch *scratch)
{
    if (!plain) {
        __real_sprag_ode_spin(pulled, scratch);
    }
}

// Each step has the same work in every run, so its time is the least of them.
static void measure_cost(line_fn *line, const char *name)
{
    enum { RUNS = 20 };
    const sprag_model *model = sprag_model_find(name);
    long count = lround(fmin(model->seconds, 3) / model->step);
    double *us[2], sum[2] = {0};
    char figure[64];
    us[0] = bench_allocate((size_t)count, sizeof(double));
    us[1] = bench_allocate((size_t)count, sizeof(double));
    for (int run = 0; run < RUNS; run++) {
        bench_scene b[2];
        for (int k = 0; k < 2; k++) {
            bench_open(&b[k], model, "method=stribeck", 20);
        }
        for (long i = 0; i < count; i++) {
            bench_copy_state(&b[1].scene, &b[0].scene);
            for (int k = 0; k < 2; k++) {
                int which = (k + (int)i) % 2;
                plain = which;
                bench_step(&b[which]);
                us[which][i] = run ? fmin(us[which][i], bench_stepper_us) : bench_stepper_us;
            }
        }
        plain = false;
        for (int k = 0; k < 2; k++) {
            sprag_scene_close(&b[k].scene);
        }
    }
    for (long i = 0; i < count; i++) {
        sum[0] += us[0][i];
        sum[1] += us[1][i];
    }
    line("%s|||with, without|us|%.2f|%.2f", model->name, sum[0] / (double)count,
         sum[1] / (double)count);
    snprintf(figure, sizeof figure, "%s: step by that without loads and spin", model->name);
    bench_at_most(figure, sum[0] / sum[1], 1.1);
    free(us[0]);
    free(us[1]);
}

static void judge_cost(line_fn *line)
{
    static const char *const name[] = {"rope:1",      "rope:1000", "bridge:10", "bridge:100",
                                       "bridge:1000", "crane",     "chain",     "legs",
                                       "car",         "ragdolls",  "wreck",     "pile:30"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        measure_cost(line, name[i]);
    }
}

// ---- the whole

void bench_loads(line_fn *line, int names, char **name)
{
    static const struct {
        const char *name;
        void (*judge)(line_fn *line);
    } part[] = {{"joints", judge_joints},
                {"spin", judge_spin},
                {"speed", loads_judge_speed},
                {"cost", judge_cost}};
    for (int k = 0; k < names; k++) {
        bool found = false;
        for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
            found |= !strcmp(name[k], part[i].name);
        }
        if (!found) {
            bench_refuse("loads", name[k]);
        }
    }
    line("model|ms|options|figure|unit|value|exact");
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        bool asked = names == 0;
        for (int k = 0; k < names; k++) {
            asked |= !strcmp(name[k], part[i].name);
        }
        if (asked) {
            part[i].judge(line);
        }
    }
}
