// A pile that has come to rest, whatever its size, in a time that one can wait for.
//
// The model drops its bodies from a lattice: 10000 of them from up to 9 m, and they would arrive at
// 13 m/s, farther than their own size in one step. So they first sink as through a thick fluid, at
// most 4 m/s fast, stepped by QuickStep(20) until the mean speed says that they lie; then half a
// second of QuickStep(100) in a thicker one takes the rolling away. What is left moves at 1e-2 m/s
// in the mean whatever is done: stock's jitter, from which every stepper has to find rest itself.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "scene.h"

static const double sinking = 4;  // m/s, at most
static const double lying = 0.03; // m/s, mean
static const double thick = 0.1;  // share of its velocity that a body loses in a step

static void set_damping(const sprag_scene *scene, double share)
{
    for (int i = 0; i < scene->bodies; i++) {
        dBodySetDamping(scene->body[i], share, share);
    }
}

static double mean_speed(const sprag_scene *scene)
{
    double sum = 0;
    for (int i = 0; i < scene->bodies; i++) {
        sum += dCalcVectorLength3(dBodyGetLinearVel(scene->body[i]));
    }
    return sum / scene->bodies;
}

void bench_settled_pile(bench_scene *b, long size)
{
    char name[32];
    snprintf(name, sizeof name, "pile:%ld", size);
    bench_settled(b, name);
}

void bench_settled(bench_scene *b, const char *name)
{
    enum { STEPS_MIN = 50, STEPS_MAX = 1000, REFINING = 50 };
    const sprag_model *model = sprag_model_find(name);
    if (!model) {
        fprintf(stderr, "bench: there is no %s\n", name);
        exit(EXIT_FAILURE);
    }
    double start = bench_cpu_us();
    bench_open(b, model, "method=ode-quick", 20);
    dVector3 g;
    dWorldGetGravity(b->scene.world, g);
    set_damping(&b->scene, -g[2] * b->scene.step / sinking);
    long steps = 0;
    do {
        bench_step(b);
    } while (++steps < STEPS_MIN || (steps < STEPS_MAX && mean_speed(&b->scene) > lying));
    bench_configure(b->scene.world, "method=ode-quick", 100);
    set_damping(&b->scene, thick);
    for (int k = 0; k < REFINING; k++) {
        bench_step(b);
    }
    const sprag_scene *s = &b->scene;
    printf("# %s at rest: %ld + %d steps, %.1f s; %d contacts, mean speed %.1e m/s, depth %.1e m, "
           "mean %.1e m\n",
           name, steps, REFINING, (bench_cpu_us() - start) / 1e6, s->touching, mean_speed(s),
           s->penetration, s->mean_penetration);
    fflush(stdout);
}

void bench_set_gravity(sprag_scene *scene, bool shaken)
{
    const double shake = SPRAG_GRAVITY / 2, turns = 2; // m/s^2, 1/s
    double angle = 2 * M_PI * turns * sprag_scene_time(scene), size = shaken ? shake : 0;
    dWorldSetGravity(scene->world, size * cos(angle), size * sin(angle), -SPRAG_GRAVITY);
}
