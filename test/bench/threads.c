// Islands in the program's own threads: separate towers of boxes in equal worlds, which differ in
// the pool that they are given. Steps alone, without collision; by turns, the worlds in every
// order.
#define _GNU_SOURCE 1 // clock_gettime
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <ode/ode.h>

#include "bench.h"
#include "join_contacts.h"
#include "sprag.h"

enum { POOLS = 3, HEIGHT = 10, POINTS_MAX = 8 };

static const double edge = 0.5, step = 0.01; // m, s

typedef struct towers {
    dWorldID world;
    dSpaceID space;
    dJointGroupID contacts;
    dThreadingImplementationID threading;
    dThreadingThreadPoolID pool;
} towers;

static void near(void *data, dGeomID a, dGeomID b)
{
    const towers *t = data;
    join_contacts(t->world, t->contacts, a, b, POINTS_MAX, (dSurfaceParameters){.mu = 0.5}, NULL);
}

static void build(towers *t, int index, int height)
{
    double x = 2 * (index % 32), y = 2 * (index / 32);
    dSpaceID space = dSimpleSpaceCreate(t->space); // no tower looks at another
    dGeomID ground = dCreatePlane(space, 0, 0, 1, 0);
    (void)ground;
    for (int i = 0; i < height; i++) {
        dMass mass;
        dBodyID body = dBodyCreate(t->world);
        dMassSetBox(&mass, 1000, edge, edge, edge);
        dBodySetMass(body, &mass);
        dBodySetPosition(body, x + 0.01 * (i % 3), y, edge * (i + 0.4999));
        dGeomSetBody(dCreateBox(space, edge, edge, edge), body);
    }
}

static void open_towers(towers *t, int count, int height, unsigned threads)
{
    *t = (towers){.world = dWorldCreate(), .space = dSimpleSpaceCreate(0)};
    t->contacts = dJointGroupCreate(0);
    dWorldSetGravity(t->world, 0, 0, -9.81);
    for (int i = 0; i < count; i++) {
        build(t, i, height);
    }
    sprag_world_configure(t->world, "method=stribeck");
    if (threads) {
        t->threading = dThreadingAllocateMultiThreadedImplementation();
        t->pool = dThreadingAllocateThreadPool(threads, 0, dAllocateFlagBasicData, NULL);
        dThreadingThreadPoolServeMultiThreadedImplementation(t->pool, t->threading);
        dWorldSetStepThreadingImplementation(
            t->world, dThreadingImplementationGetFunctions(t->threading), t->threading);
    }
}

static void close_towers(towers *t)
{
    dJointGroupDestroy(t->contacts);
    dWorldDestroy(t->world);
    dSpaceDestroy(t->space);
    if (t->pool) {
        dThreadingImplementationShutdownProcessing(t->threading);
        dThreadingFreeThreadPool(t->pool);
        dThreadingFreeImplementation(t->threading);
    }
}

static double us_by(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

// The speed-up by a pool of threads shows in elapsed time only; CPU time of the process counts the
// work of all threads.
static double elapsed_us(void)
{
    return us_by(CLOCK_MONOTONIC);
}

static double process_us(void)
{
    return us_by(CLOCK_PROCESS_CPUTIME_ID);
}

typedef struct timing {
    double us, work, own; // by the clock, of processors, of the calling thread's
} timing;

static timing time_step(towers *t)
{
    for (int i = 0; i < dSpaceGetNumGeoms(t->space); i++) {
        dSpaceCollide((dSpaceID)dSpaceGetGeom(t->space, i), t, near);
    }
    timing start = {elapsed_us(), process_us(), bench_cpu_us()};
    dWorldStep(t->world, step);
    timing took = {elapsed_us() - start.us, process_us() - start.work, bench_cpu_us() - start.own};
    dJointGroupEmpty(t->contacts);
    return took;
}

void bench_threads(line_fn *line)
{
    enum { SCENES = 5, STEPS_MAX = 400, WARM = 3 };
    static const struct {
        int towers, height, steps;
    } scene[SCENES] = {
        {1000, HEIGHT, 20}, {100, HEIGHT, 60}, {10, HEIGHT, 200}, {2, HEIGHT, 400}, {2, 2, 400}};
    static const unsigned threads[POOLS] = {0, 1, 2};
    puts("# Towers of boxes, every one an island. Pools of 0 (none), 1 and 2 threads; medians of "
         "steps, and of the paired ratios to no pool.");
    line("towers|boxes|contacts|no pool, us|of one, us|of two, us|one/none|two/none|work "
         "two/none|own two/none");
    double most_work = 0;
    for (int k = 0; k < SCENES; k++) {
        static double us[POOLS][STEPS_MAX], work[POOLS][STEPS_MAX];
        static double own[POOLS][STEPS_MAX], ratio[POOLS][STEPS_MAX];
        towers t[POOLS];
        sprag_world_statistics s = {.struct_size = sizeof s};
        for (int i = 0; i < POOLS; i++) {
            open_towers(&t[i], scene[k].towers, scene[k].height, threads[i]);
        }
        for (int n = -WARM; n < scene[k].steps; n++) {
            for (int turn = 0; turn < POOLS; turn++) {
                int i = (turn + n + WARM) % POOLS;
                timing took = time_step(&t[i]);
                if (n >= 0) {
                    us[i][n] = took.us;
                    work[i][n] = took.work;
                    own[i][n] = took.own;
                }
            }
        }
        sprag_world_stats(t[0].world, &s);
        for (int i = 1; i < POOLS; i++) {
            for (int n = 0; n < scene[k].steps; n++) {
                ratio[i][n] = us[i][n] / us[0][n];
                own[i][n] /= work[0][n];
                work[i][n] /= work[0][n];
            }
        }
        line("%d|%d|%d|%.1f|%.1f|%.1f|%.3f|%.3f|%.3f|%.3f", scene[k].towers, scene[k].height,
             s.contacts, bench_median(us[0], scene[k].steps), bench_median(us[1], scene[k].steps),
             bench_median(us[2], scene[k].steps), bench_median(ratio[1], scene[k].steps),
             bench_median(ratio[2], scene[k].steps), bench_median(work[2], scene[k].steps),
             bench_median(own[2], scene[k].steps));
        most_work = fmax(most_work, bench_median(work[2], scene[k].steps));
        for (int i = 0; i < POOLS; i++) {
            close_towers(&t[i]);
        }
    }
    bench_at_most("CPU time of a pool of two by that of none, most", most_work, 1.5);
}
