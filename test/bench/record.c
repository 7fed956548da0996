// The cost of a recording: a heap of 100 bodies at rest, each step with and without one. Both runs
// have the same bits, so their steps have the same work. A run is a process, because a recording is
// switched on for a process; of a step its least time in several runs counts, because other load on
// the machine only adds to it.
#define _GNU_SOURCE 1 // setenv
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "fnv.h"

enum { STEPS = 400, ROUNDS = 9 }; // a few writes of many frames; quiet moments

typedef struct run {
    double us[STEPS], all_us[STEPS]; // of the stepper; with collision detection
    uint64_t state;                  // hash of the poses at the end
} run;

static uint64_t state_of(const sprag_scene *scene)
{
    uint64_t hash = fnv_of_nothing;
    for (int i = 0; i < scene->bodies; i++) {
        fnv_add(&hash, dBodyGetPosition(scene->body[i]), 3 * sizeof(dReal));
    }
    return hash;
}

static run take_steps(const char *options)
{
    bench_scene b;
    run r;
    bench_open(&b, sprag_model_find("pile:100"), options, 20);
    while ((double)b.scene.steps_done * b.scene.step < b.scene.model->settled) {
        bench_step(&b);
    }
    for (int k = 0; k < STEPS; k++) {
        double start = bench_cpu_us();
        bench_step(&b);
        r.all_us[k] = bench_cpu_us() - start;
        r.us[k] = bench_stepper_us;
    }
    r.state = state_of(&b.scene);
    sprag_scene_close(&b.scene);
    return r;
}

static bool run_process(const char *options, const char *file, run *to)
{
    int ends[2];
    if (pipe(ends) != 0) {
        return false;
    }
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (file) {
            setenv("SPRAG_RECORD", file, 1);
        }
        run r = take_steps(options);
        bool written = write(ends[1], &r, sizeof r) == sizeof r;
        _exit(written ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    close(ends[1]);
    size_t done = 0;
    for (ssize_t got;
         done < sizeof *to && (got = read(ends[0], (char *)to + done, sizeof *to - done)) > 0;) {
        done += (size_t)got;
    }
    close(ends[0]);
    return waitpid(child, NULL, 0) == child && done == sizeof *to;
}

static bool compare(const char *options, run least[2])
{
    char file[] = "/tmp/bench_record_XXXXXX";
    int descriptor = mkstemp(file);
    bool done = descriptor >= 0;
    for (int round = 0; done && round < ROUNDS; round++) {
        for (int recorded = 0; done && recorded < 2; recorded++) {
            run r;
            done = run_process(options, recorded ? file : NULL, &r);
            for (int k = 0; k < STEPS; k++) {
                run *to = &least[recorded];
                to->us[k] = fmin(round ? to->us[k] : INFINITY, r.us[k]);
                to->all_us[k] = fmin(round ? to->all_us[k] : INFINITY, r.all_us[k]);
            }
            least[recorded].state = r.state;
        }
    }
    if (descriptor >= 0) {
        close(descriptor);
        unlink(file);
    }
    return done;
}

static double mean(const double us[STEPS])
{
    double sum = 0;
    for (int k = 0; k < STEPS; k++) {
        sum += us[k];
    }
    return sum / STEPS;
}

void bench_record(line_fn *line)
{
    static const char *const methods[] = {"stribeck", "ode-quick"};
    line("method|bodies|step us|with collision us|recording us|percent|of all");
    for (int i = 0; i < 2; i++) {
        char options[64];
        run least[2];
        snprintf(options, sizeof options, "method=%s", methods[i]);
        if (!compare(options, least)) {
            fputs("bench: a run has failed\n", stderr);
            exit(EXIT_FAILURE);
        }
        double step = mean(least[0].us), all = mean(least[0].all_us);
        double cost = mean(least[1].us) - step; // one step in many writes for all
        line("%s|100|%.1f|%.1f|%.1f|%.2f|%.2f", methods[i], step, all, cost, 100 * cost / step,
             100 * cost / all);
        bench_at_most("% of a step that recording takes", 100 * cost / step, 10);
        bench_at_most("runs whose bits recording changes", least[0].state != least[1].state, 0);
    }
}
