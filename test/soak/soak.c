// build/soak: scenes that are stepped for hours of their time, under each method, each in a process
// of its own. Memory must not grow, what rests must not creep, and every island must have a
// solution.
#define _GNU_SOURCE 1 // MAP_ANONYMOUS
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "scene.h"
#include "soak.h"
#include "sprag.h"

static const char help[] =
    "Usage: build/soak [-t SECONDS] [-m METHOD] [SCENE...]\n"
    "\n"
    "Steps the scenes pile, gripper and car for so many seconds of their time (default: 60) under\n"
    "stribeck, advance and ess, or under one method with its options\n"
    "(-m advance,advance.epsilon=1e-5).\n"
    "\n"
    "  CPU/us     CPU time of a step with collision detection\n"
    "  creep/m    largest, of boxes in 10 s, of the parked car in 5 s, of the gripped cube in all\n"
    "             but the first second; of what had no point faster than 0.1 mm/s; at most\n"
    "             1e-4\n"
    "  rested     bodies that were so slow, in all periods of 20 s (at least 1), and those of\n"
    "             them with more creep\n"
    "  fallbacks  islands without a solution; at most 1 in 1e5 steps\n"
    "  stalled/s  time in which bodies stood still\n"
    "  memory/kB  resident, after a tenth of the steps and at the end; grows by at most 1024: "
    "room\n"
    "             doubles when a step needs more than any before\n"
    "\n"
    "Exit code: 0 all is met, 1 something is not, 2 wrong arguments.\n";

static const double creep_most = 1e-4, fallbacks_most = 1e-5; // m; of a step
// kB. The sanitizer keeps what is freed for a while.
#ifdef __SANITIZE_ADDRESS__
static const long growth_most = LONG_MAX;
#else
static const long growth_most = 1024;
#endif

typedef struct figures {
    long steps, rested, crept, fallbacks, memory[2]; // kB
    double us, creep, stalled;                       // CPU time of a step; m; s
    bool done;
} figures;

static volatile figures *shared;

static long resident_kb(void)
{
    long total, resident = 0;
    FILE *from = fopen("/proc/self/statm", "r");
    if (!from || fscanf(from, "%ld %ld", &total, &resident) != 2) {
        resident = 0;
    }
    if (from) {
        fclose(from);
    }
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static double cpu_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

static void run(const sprag_model *model, const char *method, double seconds, volatile figures *to)
{
    char options[256];
    sprag_scene scene;
    sprag_measure measure[SPRAG_MEASURES_MAX];
    sprag_world_statistics s = {.struct_size = sizeof s};
    snprintf(options, sizeof options, "method=%s", method);
    if (!sprag_scene_open(&scene, model, 0) || !sprag_world_configure(scene.world, options)) {
        fprintf(stderr, "soak: %s\n", sprag_error());
        exit(EXIT_FAILURE);
    }
    long steps = lround(seconds / scene.step);
    double start = cpu_us();
    for (long k = 0; k < steps && !scene.nonfinite; k++) {
        sprag_scene_step(&scene);
        to->steps = k + 1;
        if (k == steps / 10) {
            to->memory[0] = resident_kb();
        }
    }
    to->us = (cpu_us() - start) / (double)steps;
    to->memory[1] = resident_kb();
    int own = model->script->measure(&scene, measure);
    to->creep = measure[0].value;
    to->rested = own == 3 ? lround(measure[1].value) : 1;
    to->crept = own == 3 ? lround(measure[2].value) : measure[0].value > creep_most;
    if (sprag_world_stats(scene.world, &s)) {
        to->fallbacks = s.fallbacks;
        to->stalled = s.stalled;
    }
    to->done = !scene.nonfinite;
    sprag_scene_close(&scene);
}

static bool judge(const char *scene, const char *method)
{
    const figures f = *(figures *)(uintptr_t)shared;
    bool met = f.done && f.rested > 0 && f.creep <= creep_most &&
               (double)f.fallbacks <= fallbacks_most * (double)f.steps &&
               f.memory[1] - f.memory[0] <= growth_most;
    printf("%-8s %-9s %8ld %8.1f %9.1e %7ld %6ld %9ld %9.2g %7ld %7ld %s\n", scene, method, f.steps,
           f.us, f.creep, f.rested, f.crept, f.fallbacks, f.stalled, f.memory[0], f.memory[1],
           met ? "met" : "MISSED");
    fflush(stdout);
    return met;
}

static bool soak(const char *scene, const char *method, double seconds)
{
    *(figures *)(uintptr_t)shared = (figures){.creep = NAN};
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dInitODE2(0);
        run(soak_scene(scene), method, seconds, shared);
        dCloseODE();
        _exit(EXIT_SUCCESS);
    }
    int status = 0;
    bool ended = child > 0 && waitpid(child, &status, 0) == child && status == 0;
    return judge(scene, method) && ended;
}

int main(int argc, char **argv)
{
    static char *all[] = {"pile", "gripper", "car"};
    const char *methods[] = {"stribeck", "advance", "ess"};
    int count = 3, scenes = 3, missed = 0;
    double seconds = 60;
    for (int found; (found = getopt(argc, argv, "t:m:h")) != -1;) {
        if (found == 't') {
            seconds = strtod(optarg, NULL);
            if (!(seconds > 0) || isinf(seconds)) {
                fprintf(stderr, "soak: -t needs seconds, not %s\n", optarg);
                return 2;
            }
        } else if (found == 'm') {
            methods[0] = optarg;
            count = 1;
        } else {
            fputs(help, found == 'h' ? stdout : stderr);
            return found == 'h' ? 0 : 2;
        }
    }
    char **scene = optind < argc ? argv + optind : all;
    scenes = optind < argc ? argc - optind : scenes;
    for (int i = 0; i < scenes; i++) {
        if (!soak_scene(scene[i])) {
            fprintf(stderr, "soak: no scene %s\n", scene[i]);
            return 2;
        }
    }
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        perror("soak");
        return 2;
    }
    printf("%-8s %-9s %8s %8s %9s %7s %6s %9s %9s %15s\n", "scene", "method", "steps", "CPU/us",
           "creep/m", "rested", "crept", "fallbacks", "stalled/s", "memory/kB");
    for (int i = 0; i < scenes; i++) {
        for (int k = 0; k < count; k++) {
            missed += !soak(scene[i], methods[k], seconds);
        }
    }
    return missed > 0;
}
