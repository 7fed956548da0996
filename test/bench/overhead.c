// Cost of sprag between a program and ODE: under method=ode, where the step is stock's, against
// copies of ODE without sprag; and pull and push of our own step against the whole of QuickStep.
// Both sides take turns; ratios and differences are medians of pairs. Two copies of stock measure
// the noise.
#define _GNU_SOURCE 1 // dlmopen
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "bench_module.h"
#include "island.h"
#include "stribeck.h"

static line_fn *line;
static int missed;

// target: at most; NAN: for information.
static void judge(const char *what, const char *of, const char *unit, double value, double target)
{
    const char *verdict = isnan(target) ? "" : value <= target ? "met" : "NOT MET";
    line("%s|%s|%s|%.4g|%.4g|%s", what, of, unit, value, target, verdict);
    missed += !isnan(target) && !(value <= target);
}

// ---- ODE here, under a method, and elsewhere

enum { HERE, STOCK, STOCK_AGAIN, PLACES };

static const char *method; // of worlds and scenes that are made here

static void start_here(void)
{
}

static int open_here(sprag_scene *scene, const char *model)
{
    const sprag_model *found = sprag_model_find(model);
    dRandSetSeed(0);
    if (!found || !sprag_scene_open(scene, found, 0)) {
        return 0;
    }
    bench_configure(scene->world, method, 20);
    return 1;
}

static double step_here(sprag_scene *scene, bool quick)
{
    bench_stepper = quick ? dWorldQuickStep : NULL;
    sprag_scene_step(scene);
    bench_stepper = NULL;
    return bench_stepper_us;
}

static dWorldID create_here(void)
{
    dWorldID world = dWorldCreate();
    bench_configure(world, method, 20);
    return world;
}

static const bench_ode here = {.start = start_here,
                               .open = open_here,
                               .step = step_here,
                               .close = sprag_scene_close,
                               .create_world = create_here,
                               .create_body = dBodyCreate,
                               .world_step = bench_world_step,
                               .create_sphere = dCreateSphere,
                               .set_body = dGeomSetBody,
                               .create_space = dSimpleSpaceCreate,
                               .collide = dCollide,
                               .collide_space = dSpaceCollide};

static const bench_ode *ode[PLACES] = {&here};

// Namespaces have a libc each; their number is small.
static void load_copies(void)
{
    for (int i = STOCK; i < PLACES; i++) {
        void *library = dlmopen(LM_ID_NEWLM, BENCH_MODULE, RTLD_NOW | RTLD_LOCAL);
        ode[i] = library ? dlsym(library, "bench_module") : NULL;
        if (!ode[i]) {
            fprintf(stderr, "bench: %s\n", dlerror());
            exit(EXIT_FAILURE);
        }
        ode[i]->start();
    }
}

// Medians of what HERE or STOCK_AGAIN takes beyond STOCK, or of the ratio to it. Sorts them.
typedef struct pairs {
    int count;
    double *value[PLACES];
} pairs;

static pairs pairs_make(int count)
{
    pairs p = {.count = count};
    for (int i = 0; i < PLACES; i++) {
        p.value[i] = bench_allocate((size_t)count, sizeof(double));
    }
    return p;
}

static void pairs_free(pairs *p)
{
    for (int i = 0; i < PLACES; i++) {
        free(p->value[i]);
    }
}

static double pairs_median(const pairs *p, int place, bool ratio)
{
    double *sorted = bench_allocate((size_t)p->count, sizeof *sorted);
    for (int k = 0; k < p->count; k++) {
        double a = p->value[place][k], b = p->value[STOCK][k];
        sorted[k] = ratio ? a / b : a - b;
    }
    double median = bench_median(sorted, p->count);
    free(sorted);
    return median;
}

// ---- a step of bodies that nothing touches

static void bench_free(const char *of, int bodies, double target_ns)
{
    enum { BATCHES = 1001 };
    int batch = 4000 / (1 + bodies) + 1;
    dWorldID world[PLACES];
    pairs ns = pairs_make(BATCHES);
    for (int i = 0; i < PLACES; i++) {
        world[i] = ode[i]->create_world();
        for (int n = 0; n < bodies; n++) {
            ode[i]->create_body(world[i]);
        }
    }
    for (int k = 0; k < BATCHES; k++) {
        for (int turn = 0; turn < PLACES; turn++) {
            int i = (turn + k) % PLACES;
            double start = bench_cpu_us();
            for (int j = 0; j < batch; j++) {
                ode[i]->world_step(world[i], 0.01);
            }
            ns.value[i][k] = 1e3 * (bench_cpu_us() - start) / batch;
        }
    }
    judge(method, of, "ns/step", pairs_median(&ns, HERE, false), target_ns);
    judge("stock", of, "ns/step", pairs_median(&ns, STOCK_AGAIN, false), NAN);
    dWorldDestroy(world[HERE]);
    pairs_free(&ns);
}

// ---- steps, and whole frames with collision detection, of a pile

static bool is_same_state(const sprag_scene *a, const sprag_scene *b)
{
    bool same = true; // bodies of either ODE have the same layout
    for (int i = 0; i < a->bodies; i++) {
        same &= !memcmp(dBodyGetPosition(a->body[i]), dBodyGetPosition(b->body[i]),
                        3 * sizeof(dReal)) &&
                !memcmp(dBodyGetAngularVel(a->body[i]), dBodyGetAngularVel(b->body[i]),
                        3 * sizeof(dReal));
    }
    return same;
}

static void bench_frames(const char *model, bool quick, int steps, double target_percent)
{
    sprag_scene scene[PLACES];
    pairs step = pairs_make(steps), frame = pairs_make(steps);
    char of[64];
    for (int i = 0; i < PLACES; i++) {
        if (!ode[i]->open(&scene[i], model)) {
            fprintf(stderr, "bench: no memory for %s\n", model);
            exit(EXIT_FAILURE);
        }
        for (double t = 0; t < scene[i].model->settled; t += scene[i].step) {
            ode[i]->step(&scene[i], true);
        }
    }
    for (int k = 0; k < steps; k++) {
        for (int turn = 0; turn < PLACES; turn++) {
            int i = (turn + k) % PLACES;
            double start = bench_cpu_us();
            step.value[i][k] = ode[i]->step(&scene[i], quick);
            frame.value[i][k] = bench_cpu_us() - start;
        }
    }
    snprintf(of, sizeof of, "%s %s", model, quick ? "QuickStep" : "Step");
    judge(method, of, "% of step", 100 * (pairs_median(&step, HERE, true) - 1), target_percent);
    judge("stock", of, "% of step", 100 * (pairs_median(&step, STOCK_AGAIN, true) - 1), NAN);
    judge(method, of, "% of frame", 100 * (pairs_median(&frame, HERE, true) - 1), target_percent);
    judge("stock", of, "% of frame", 100 * (pairs_median(&frame, STOCK_AGAIN, true) - 1), NAN);
    judge(method, of, "other bits", !is_same_state(&scene[HERE], &scene[STOCK]), 0);
    for (int i = 0; i < PLACES; i++) {
        ode[i]->close(&scene[i]);
    }
    pairs_free(&step);
    pairs_free(&frame);
}

// ---- collision calls

static void ignore(void *data, dGeomID a, dGeomID b)
{
    (void)data;
    (void)a;
    (void)b;
}

static void bench_collide(double target_ns)
{
    enum { BATCHES = 1001, BATCH = 2000 };
    dWorldID world[PLACES];
    dSpaceID space[PLACES];
    dGeomID geom[PLACES][2];
    pairs pair = pairs_make(BATCHES), all = pairs_make(BATCHES);
    for (int i = 0; i < PLACES; i++) {
        world[i] = ode[i]->create_world();
        space[i] = ode[i]->create_space(NULL);
        for (int n = 0; n < 2; n++) { // at the same place
            geom[i][n] = ode[i]->create_sphere(space[i], 1);
            ode[i]->set_body(geom[i][n], ode[i]->create_body(world[i]));
        }
    }
    for (int k = 0; k < BATCHES; k++) {
        for (int turn = 0; turn < PLACES; turn++) {
            int i = (turn + k) % PLACES;
            dContactGeom found[4];
            double start = bench_cpu_us();
            for (int j = 0; j < BATCH; j++) {
                ode[i]->collide(geom[i][0], geom[i][1], 4, found, sizeof *found);
            }
            double middle = bench_cpu_us();
            for (int j = 0; j < BATCH; j++) {
                ode[i]->collide_space(space[i], NULL, ignore);
            }
            pair.value[i][k] = 1e3 * (middle - start) / BATCH;
            all.value[i][k] = 1e3 * (bench_cpu_us() - middle) / BATCH;
        }
    }
    judge(method, "dCollide", "ns/call", pairs_median(&pair, HERE, false), target_ns);
    judge(method, "dSpaceCollide", "ns/call", pairs_median(&all, HERE, false), target_ns);
    judge("stock", "dCollide", "ns/call", pairs_median(&pair, STOCK_AGAIN, false), NAN);
    dSpaceDestroy(space[HERE]);
    dWorldDestroy(world[HERE]);
    pairs_free(&pair);
    pairs_free(&all);
}

// ---- our own step: what it takes to read the island and to write it back

static struct {
    ode_warm_start *memory;
    sprag_scratch scratch;
    double pull_us, push_us; // of the last step
    double clock_us;         // that looking at the clock takes
} own;

static double since(double start)
{
    return bench_cpu_us() - start - own.clock_us;
}

static double time_of_clock(void)
{
    enum { LOOKS = 10000 };
    double start = bench_cpu_us();
    for (int i = 0; i < LOOKS; i++) {
        bench_cpu_us();
    }
    return (bench_cpu_us() - start) / LOOKS;
}

static bool own_island(dWorldID world, const ode_island *island, dReal step)
{
    ode_problem pulled;
    double start = bench_cpu_us();
    if (sprag_ode_pull(&pulled, world, island, step, NULL, own.memory, &own.scratch)) {
        return false;
    }
    own.pull_us += since(start);
    sprag_stribeck_options options = sprag_stribeck_defaults();
    if (sprag_stribeck_solve(&pulled.problem, &options, &own.scratch, &pulled.solution, NULL)) {
        return false;
    }
    start = bench_cpu_us();
    ode_feedback *feedback = SPRAG_TAKE(&own.scratch, island->joints, ode_feedback);
    ode_spin *spin = SPRAG_TAKE(&own.scratch, island->bodies, ode_spin);
    if (!feedback || !spin) {
        return false;
    }
    sprag_ode_push_feedback(feedback,
                            sprag_ode_push_velocities(&pulled, own.memory, feedback, spin), false);
    sprag_ode_move(island, step, NULL, spin, pulled.spins);
    own.push_us += since(start);
    sprag_scratch_reset(&own.scratch);
    return true;
}

// As the plugin's, but timed by processor.
static int own_step(dWorldID world, dReal step)
{
    ode_islands found;
    bool done = sprag_ode_find_islands(world, step, &found), bad_force;
    ode_island island = {.body = found.bodies, .joint = found.joints};
    own.pull_us = own.push_us = 0;
    for (size_t i = 0; done && i < found.count; i++) {
        island.bodies = (int)found.sizes[2 * i];
        island.joints = (int)found.sizes[2 * i + 1];
        if (island.joints > 0) {
            done = own_island(world, &island, step);
        } else {
            double start = bench_cpu_us();
            sprag_ode_step_free(island.body[0], world, step, &bad_force);
            own.push_us += since(start);
        }
        island.body += island.bodies;
        island.joint += island.joints;
    }
    double start = bench_cpu_us();
    sprag_ode_warm_start_next_step(own.memory);
    own.push_us += since(start);
    return done;
}

static void bench_adapters(const char *model, long size, int steps, double target_percent)
{
    bench_scene ours, quick;
    double *pull = bench_allocate((size_t)steps, sizeof *pull);
    double *push = bench_allocate((size_t)steps, sizeof *push);
    double *both = bench_allocate((size_t)steps, sizeof *both);
    double *stock = bench_allocate((size_t)steps, sizeof *stock);
    bench_settled_pile(&ours, size);
    bench_open(&quick, ours.scene.model, "method=ode-quick", 20);
    own.memory = sprag_ode_warm_start_make();
    own.clock_us = time_of_clock();
    for (int k = 0; k < steps; k++) {
        bench_copy_state(&quick.scene, &ours.scene);
        bench_step(&quick);
        stock[k] = bench_stepper_us;
        bench_stepper = own_step;
        bench_step(&ours);
        bench_stepper = NULL;
        pull[k] = 100 * own.pull_us / stock[k];
        push[k] = 100 * own.push_us / stock[k];
        both[k] = pull[k] + push[k];
    }
    judge("pull", model, "% of QuickStep", bench_median(pull, steps), NAN);
    judge("push", model, "% of QuickStep", bench_median(push, steps), NAN);
    judge("pull and push", model, "% of QuickStep", bench_median(both, steps), target_percent);
    judge("QuickStep(20)", model, "us", bench_median(stock, steps), NAN);
    sprag_ode_warm_start_free(own.memory);
    sprag_scratch_free(&own.scratch);
    sprag_scene_close(&ours.scene);
    sprag_scene_close(&quick.scene);
    free(pull);
    free(push);
    free(both);
    free(stock);
}

static bool is_wanted(const char *part, int names, char **name)
{
    bool found = names == 0;
    for (int i = 0; i < names; i++) {
        found |= !strcmp(part, name[i]);
    }
    return found;
}

int bench_overhead(line_fn *print, int names, char **name)
{
    static const char *const methods[] = {"method=ode", "method=stribeck"};
    for (int i = 0; i < names; i++) {
        if (!is_wanted("empty", 1, name + i) && !is_wanted("collide", 1, name + i) &&
            !is_wanted("pile", 1, name + i) && !is_wanted("adapters", 1, name + i)) {
            bench_refuse("overhead", name[i]);
        }
    }
    line = print;
    load_copies();
    puts("# beyond a copy of ODE that nobody stands in for; stock: another such copy");
    line("what|of|unit|value|at most|");
    for (int i = 0; i < 2; i++) {
        method = methods[i];
        if (is_wanted("empty", names, name)) {
            bench_free("empty world", 0, 200);
        }
        if (is_wanted("collide", names, name)) {
            bench_collide(10);
        }
    }
    method = methods[0];
    if (is_wanted("pile", names, name)) {
        bench_frames("pile:100", true, 600, 1);
        bench_frames("pile:100", false, 20, 1);
    }
    if (is_wanted("adapters", names, name)) {
        bench_adapters("pile:1000", 1000, 100, 25);
    }
    return missed;
}
