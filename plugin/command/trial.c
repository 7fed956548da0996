// Models under methods, step by step. Trials that are to be compared take one step each in turn, so
// that other load on the machine slows all of them alike, and the median over the steps is fair.
// Each has its own sequence of ODE's random numbers, so its figures are those that it has alone.
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "progress.h"
#include "say.h"
#include "trial.h"

enum { SAMPLES_MAX = 100000 };

// ---- ODE's messages are counted for the trial that is stepping

static trial *stepping;
static jmp_buf given_up;

static void on_message(int number, const char *format, va_list arguments)
{
    if (stepping && number == d_ERR_LCP) {
        stepping->lcp_errors++;
        return;
    }
    fputs("\n", stderr);
    vfprintf(stderr, format, arguments);
    fputs("\n", stderr);
}

// ODE would end the program. The scene is unusable from now on, and is not freed either.
static void on_end(int number, const char *format, va_list arguments)
{
    (void)number;
    if (stepping) {
        trial *t = stepping;
        stepping = NULL;
        t->failed = true;
        vsnprintf(t->failure, sizeof t->failure, format, arguments);
        longjmp(given_up, 1);
    }
    fputs("sprag: ODE: ", stderr);
    vfprintf(stderr, format, arguments);
    fputs("\n", stderr);
    exit(EXIT_FAILURE);
}

// ---- One trial

bool trial_finished(const trial *t)
{
    return !t->failed && !t->scene.nonfinite;
}

// Like ODE's default, but one per trial: a step that ends early leaves its jobs in it.
static void use_own_threading(trial *t)
{
    t->threading = dThreadingAllocateSelfThreadedImplementation();
    if (t->threading) {
        dWorldSetStepThreadingImplementation(
            t->scene.world, dThreadingImplementationGetFunctions(t->threading), t->threading);
    }
}

static bool start(trial *t, const job *j, long samples)
{
    size_t size = strlen(j->options) + strlen(t->choice->name) + sizeof ",method=";
    char *options = malloc(size);
    t->us = calloc((size_t)samples, sizeof *t->us);
    t->strategy = SPRAG_STRATEGY_NONE;
    dRandSetSeed(0);
    if (!options || !t->us || !sprag_scene_open(&t->scene, j->model, j->step)) {
        t->scene = (sprag_scene){0};
        free(options);
        cli_fail(0, "no memory for %s", j->model->name);
        return false;
    }
    t->seed = dRandGetSeed();
    use_own_threading(t);
    snprintf(options, size, "%s,method=%s", j->options, t->choice->name);
    bool configured = sprag_world_configure(t->scene.world, options);
    if (!configured) {
        cli_fail(0, "%s", sprag_error());
    }
    free(options);
    return configured;
}

static void take_step(trial *t)
{
    stepping = t;
    if (!setjmp(given_up)) {
        sprag_scene_step(&t->scene);
        stepping = NULL;
    }
}

static void book(trial *t)
{
    sprag_world_statistics s = {.struct_size = sizeof s};
    if (sprag_world_stats(t->scene.world, &s)) {
        t->iterations += s.iterations;
        t->strategy = s.strategy > t->strategy ? s.strategy : t->strategy;
        t->fallbacks = s.fallbacks;
        t->frozen = s.frozen;
    }
}

static void step(trial *t, bool sampled)
{
    dRandSetSeed(t->seed);
    double before = now_us();
    take_step(t);
    double after = now_us();
    t->seed = dRandGetSeed();
    if (sampled && trial_finished(t)) {
        t->us[t->samples++] = after - before;
    }
    if (!t->failed) {
        book(t);
    }
}

static int by_size(const void *a, const void *b)
{
    const double *p = a, *q = b;
    return (*p > *q) - (*p < *q);
}

static void finish(trial *t)
{
    qsort(t->us, (size_t)t->samples, sizeof *t->us, by_size);
    t->median_us = t->samples ? t->us[t->samples / 2] : NAN;
    t->p99_us = t->samples ? t->us[t->samples * 99 / 100] : NAN;
    t->measures = sprag_scene_measure(&t->scene, t->measure);
    for (int i = 0; i < t->measures && !trial_finished(t); i++) {
        t->measure[i].value = NAN;
    }
}

bool trials_run(trial *trials, int count, const job *j)
{
    long stride = 1 + (j->steps - 1) / SAMPLES_MAX;
    for (int i = 0; i < count; i++) {
        if (!start(&trials[i], j, j->steps / stride + 1)) {
            return false;
        }
    }
    dSetMessageHandler(on_message);
    dSetErrorHandler(on_end);
    dSetDebugHandler(on_end);
    for (long k = 0; k < j->steps; k++) {
        progress("%s: %.3g of %.3g s", j->model->name, (double)k * j->step,
                 (double)j->steps * j->step);
        for (int i = 0; i < count; i++) {
            trial *t = &trials[(i + k) % count]; // each trial is the first in turn
            if (trial_finished(t)) {
                step(t, k % stride == 0);
            }
        }
    }
    progress_end();
    for (int i = 0; i < count; i++) {
        finish(&trials[i]);
    }
    return true;
}

void trials_free(trial *trials, int count)
{
    for (int i = 0; i < count; i++) {
        if (trials[i].scene.world && !trials[i].failed) {
            sprag_scene_close(&trials[i].scene);
            dThreadingFreeImplementation(trials[i].threading);
        }
        free(trials[i].us);
        trials[i] = (trial){0};
    }
}
