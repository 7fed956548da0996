// A plain ODE program that knows nothing of sprag: boxes on a plane and a chain of hinges.
//
//     host step|quick <steps> [mode]
//
// It prints a hash of where everything ended. The modes are the ways in which programs meet ODE;
// the word after each is printed too:
//   idle       steps nothing; threads and open files before main did anything
//   chain      the chain alone: the number of equations stays the same
//   random     the seed of ODE's random numbers afterwards
//   places     where the bodies are, to 1e-6 m
//   callbacks  moved callbacks, and joints whose feedback was written
//   dlsym      the stepper taken from ODE's own handle, as Python's ctypes does
//   threads    two worlds in two threads, a hash each
//   pool       the world has a pool of threads to step islands in
//   again      three worlds one after another, mostly at the same address, a hash each
//   parts      again, the first by method=ode, and the worlds are destroyed as Webots' threads do
//              it; then 20 more, and the mean bytes that the last 10 left behind
//   floats     a cube on the water of webots.c: the largest and least height (m) and sine of its
//              turn about an edge, over all steps and over the last tenth
//   mixes      the same cube, level, by dWorldStep, dWorldQuickStep, dWorldStep: its height (m)
//   throws     the same cube by dWorldStep, then, after its velocity was set to 0.3 m/s, again
//   fork       a child that runs /bin/true
//   late       the world is destroyed after main
//   kept       it is never destroyed
//   slow       likewise, and a step takes 20 ms
//
// With WITHOUT_THREADS it can be built with an ODE that has no threads; the modes threads and pool
// are then like the others.
#define _GNU_SOURCE 1
#include <dirent.h>
#include <dlfcn.h>
#include <locale.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ode/ode.h>

enum { BOXES = 6, LINKS = 5, BODIES = BOXES + LINKS };

typedef int stepper(dWorldID, dReal);

typedef struct scene {
    dWorldID world;
    dSpaceID space;
    dJointGroupID contacts;
    dBodyID body[BODIES];
    dJointID joint[LINKS];
    dJointFeedback feedback[LINKS];
#ifndef WITHOUT_THREADS
    dThreadingImplementationID threading; // ODE's default one is not for two worlds at once
    dThreadingThreadPoolID pool;
#endif
} scene;

static stepper *step_world;
// The way in which Webots' fork destroys a world of one of its threads; NULL: another ODE.
static void (*destroy_part)(dWorldID);
static int (*configure)(dWorldID, const char *); // sprag_world_configure, for the next world; NULL
static int steps, chain_only, in_threads, has_pool, is_slow;
static long moved;

static void body_moved(dBodyID body)
{
    (void)body;
    moved++;
}

static dBodyID add_box(scene *s, double x, double z)
{
    dBodyID body = dBodyCreate(s->world);
    dMass mass;
    dMassSetBox(&mass, 1000, 0.2, 0.2, 0.2);
    dBodySetMass(body, &mass);
    dGeomSetBody(dCreateBox(s->space, 0.2, 0.2, 0.2), body);
    dBodySetPosition(body, x, 0, z);
    dBodySetMovedCallback(body, body_moved);
    return body;
}

#ifdef WITHOUT_THREADS
static void open_threads(scene *s)
{
    (void)s;
}

static void close_threads(scene *s)
{
    (void)s;
}
#else
static void open_threads(scene *s)
{
    if (in_threads || has_pool) {
        s->threading = has_pool ? dThreadingAllocateMultiThreadedImplementation()
                                : dThreadingAllocateSelfThreadedImplementation();
        dWorldSetStepThreadingImplementation(
            s->world, dThreadingImplementationGetFunctions(s->threading), s->threading);
    }
    if (has_pool) {
        s->pool = dThreadingAllocateThreadPool(3, 0, (unsigned)dAllocateMaskAll, NULL);
        dThreadingThreadPoolServeMultiThreadedImplementation(s->pool, s->threading);
    }
}

static void close_threads(scene *s)
{
    if (s->pool) {
        dThreadingImplementationShutdownProcessing(s->threading);
        dThreadingFreeThreadPool(s->pool);
    }
    if (s->threading) {
        dThreadingFreeImplementation(s->threading);
    }
}
#endif

static void open_scene(scene *s)
{
    memset(s, 0, sizeof *s);
    s->world = dWorldCreate();
    s->space = dSimpleSpaceCreate(NULL);
    s->contacts = dJointGroupCreate(0);
    open_threads(s);
    dWorldSetGravity(s->world, 0, 0, -9.81);
    dWorldSetCFM(s->world, 1e-6); // or stock dWorldStep complains of singular equations
    dCreatePlane(s->space, 0, 0, 1, 0);
    for (int i = 0; !chain_only && i < BOXES; i++) { // three stacks of two, thrown apart
        s->body[i] = add_box(s, i / 2, 0.0999 + 0.2 * (i % 2));
        dBodySetLinearVel(s->body[i], 0.1 * i, 0, 0);
    }
    for (int i = 0; i < LINKS; i++) { // above the ground, one end fixed
        dBodyID *link = s->body + BOXES + i;
        *link = add_box(s, -2 - 0.3 * i, 5);
        s->joint[i] = dJointCreateHinge(s->world, NULL);
        dJointAttach(s->joint[i], *link, i ? link[-1] : NULL);
        dJointSetHingeAnchor(s->joint[i], -1.85 - 0.3 * i, 0, 5);
        dJointSetHingeAxis(s->joint[i], 0, 1, 0);
        dJointSetFeedback(s->joint[i], s->feedback + i);
    }
}

static void collide(void *data, dGeomID a, dGeomID b)
{
    scene *s = data;
    dContactGeom found[4];
    int n = dCollide(a, b, 4, found, sizeof found[0]);
    for (int i = 0; i < n; i++) {
        dContact contact = {.surface = {.mode = dContactApprox1, .mu = 0.5}, .geom = found[i]};
        dJointAttach(dJointCreateContact(s->world, s->contacts, &contact), dGeomGetBody(a),
                     dGeomGetBody(b));
    }
}

static void run_scene(scene *s)
{
    for (int i = 0; i < steps; i++) {
        dSpaceCollide(s->space, s, collide);
        if (!step_world(s->world, 0.005)) {
            puts("a step failed");
        }
        if (is_slow) {
            usleep(20000);
        }
        dJointGroupEmpty(s->contacts);
    }
}

static void close_scene(scene *s)
{
    dJointGroupDestroy(s->contacts);
    dSpaceDestroy(s->space);
    destroy_part ? destroy_part(s->world) : dWorldDestroy(s->world);
    close_threads(s);
}

// FNV-1a over positions, orientations, velocities.
static uint64_t hash_scene(const scene *s)
{
    uint64_t hash = 14695981039346656037u;
    for (int i = 0; i < BODIES; i++) {
        if (!s->body[i]) {
            continue;
        }
        dReal state[13];
        memcpy(state, dBodyGetPosition(s->body[i]), 3 * sizeof *state);
        memcpy(state + 3, dBodyGetQuaternion(s->body[i]), 4 * sizeof *state);
        memcpy(state + 7, dBodyGetLinearVel(s->body[i]), 3 * sizeof *state);
        memcpy(state + 10, dBodyGetAngularVel(s->body[i]), 3 * sizeof *state);
        const unsigned char *byte = (const unsigned char *)state;
        for (size_t k = 0; k < sizeof state; k++) {
            hash = (hash ^ byte[k]) * 1099511628211u;
        }
    }
    return hash;
}

static void print_hash(const scene *s)
{
    printf("hash %016llx\n", (unsigned long long)hash_scene(s));
}

static void print_places(const scene *s)
{
    for (int i = 0; i < BODIES; i++) {
        const dReal *x = dBodyGetPosition(s->body[i]);
        printf("%.6f %.6f %.6f\n", (double)x[0], (double)x[1], (double)x[2]);
    }
}

static uint64_t whole_run(void)
{
    scene s;
    open_scene(&s);
    if (configure && !configure(s.world, "method=ode")) {
        puts("not configured");
    }
    run_scene(&s);
    uint64_t hash = hash_scene(&s);
    close_scene(&s);
    return hash;
}

// Bytes that each of 10 worlds leaves behind, after as many others.
static long bytes_left(void)
{
    size_t used = 0;
    for (int i = 0; i < 20; i++) {
        used = i == 10 ? mallinfo2().uordblks : used;
        whole_run();
    }
    return (long)(mallinfo2().uordblks - used) / 10;
}

static void *run_in_thread(void *hash)
{
    dAllocateODEDataForThread((unsigned)dAllocateMaskAll);
    *(uint64_t *)hash = whole_run();
    dCleanupODEAllDataForThread();
    return NULL;
}

static int entries(const char *directory)
{
    DIR *d = opendir(directory);
    int n = 0;
    while (d && readdir(d)) {
        n++;
    }
    closedir(d);
    return n;
}

static void print_feedback(const scene *s)
{
    int written = 0;
    for (int i = 0; i < LINKS; i++) {
        written += s->feedback[i].f1[2] != 0;
    }
    printf("moved %ld\nfeedback %d\n", moved, written);
}

static void *of_webots(const char *function)
{
    return dlsym(RTLD_DEFAULT, function);
}

// Half of a cube of 1 m and 500 kg is under water at rest; it starts 0.1 m above that, turned by
// so many rad. Before there is a body, the world takes some steps.
static dBodyID open_water(scene *s, dReal turn)
{
    *s = (scene){.world = dWorldCreate(), .space = dSimpleSpaceCreate(NULL)};
    for (int i = 0; i < 4; i++) {
        dWorldStep(s->world, 0.01);
    }
    dBodyID cube = dBodyCreate(s->world);
    dMass mass;
    dMatrix3 R;
    s->contacts = dJointGroupCreate(0);
    dWorldSetGravity(s->world, 0, 0, -9.81);
    dMassSetBoxTotal(&mass, 500, 1, 1, 1);
    dBodySetMass(cube, &mass);
    dBodySetPosition(cube, 0, 0, 0.1);
    dRFromAxisAndAngle(R, 0, 1, 0, turn);
    dBodySetRotation(cube, R);
    dGeomSetBody(dCreateBox(s->space, 1, 1, 1), cube);
    dCreatePlane(s->space, 0, 0, 1, -10);
    ((void (*)(dBodyID))(intptr_t)of_webots("float_body"))(cube);
    return cube;
}

static void mix_steps(bool throws)
{
    scene s;
    dBodyID cube = open_water(&s, 0);
    for (int i = 0; i < (throws ? 2 : 3); i++) {
        if (throws && i == 1) {
            dBodySetLinearVel(cube, 0, 0, 0.3);
        }
        dSpaceCollide(s.space, &s, collide);
        (i == 1 && !throws ? dWorldQuickStep : dWorldStep)(s.world, 0.01);
    }
    printf("%.12f\n", (double)dBodyGetPosition(cube)[2]);
    close_scene(&s);
}

static void float_cube(void)
{
    scene s;
    dBodyID cube = open_water(&s, 0.1);
    dReal height[2][2] = {{1, -1}, {1, -1}}, turn[2][2] = {{1, -1}, {1, -1}};
    for (int i = 0; i < steps; i++) {
        dSpaceCollide(s.space, &s, collide);
        step_world(s.world, 0.01);
        for (int late = 0; late <= (i >= steps / 10 * 9); late++) {
            dReal z = dBodyGetPosition(cube)[2], sine = dBodyGetRotation(cube)[2];
            height[late][0] = z < height[late][0] ? z : height[late][0];
            height[late][1] = z > height[late][1] ? z : height[late][1];
            turn[late][0] = sine < turn[late][0] ? sine : turn[late][0];
            turn[late][1] = sine > turn[late][1] ? sine : turn[late][1];
        }
    }
    for (int late = 0; late < 2; late++) {
        printf("%.6f %.6f %.6f %.6f\n", (double)height[late][0], (double)height[late][1],
               (double)turn[late][0], (double)turn[late][1]);
    }
    close_scene(&s);
}

static scene last;

static void close_late(void)
{
    close_scene(&last);
    dCloseODE();
}

int main(int argc, char **argv)
{
    const char *mode = argc > 3 ? argv[3] : "";
    setlocale(LC_ALL, ""); // numbers may have a decimal comma from here on
    if (argc < 3) {
        return 2;
    }
    if (strcmp(mode, "idle") == 0) {
        printf("threads %d\nfiles %d\n", entries("/proc/self/task") - 2,
               entries("/proc/self/fd") - 3);
        return 0;
    }
    steps = atoi(argv[2]);
    moved = 0; // of a module's last time
    step_world = strcmp(argv[1], "quick") == 0 ? dWorldQuickStep : dWorldStep;
    if (strcmp(mode, "dlsym") == 0) {
        void *ode = dlopen("libode.so.8", RTLD_NOW);
        const char *name = step_world == dWorldStep ? "dWorldStep" : "dWorldQuickStep";
        step_world = ode ? (stepper *)dlsym(ode, name) : step_world;
    }
    chain_only = strcmp(mode, "chain") == 0;
    has_pool = strcmp(mode, "pool") == 0;
    is_slow = strcmp(mode, "slow") == 0;
    dInitODE2(0);

    if (strcmp(mode, "threads") == 0) {
        in_threads = 1;
        pthread_t thread[2];
        uint64_t hash[2] = {0, 0};
        for (int i = 0; i < 2; i++) {
            pthread_create(thread + i, NULL, run_in_thread, hash + i);
        }
        for (int i = 0; i < 2; i++) {
            pthread_join(thread[i], NULL);
            printf("hash %016llx\n", (unsigned long long)hash[i]);
        }
        dCloseODE();
        return 0;
    }
    if (strcmp(mode, "parts") == 0) {
        destroy_part = (void (*)(dWorldID))(intptr_t)of_webots("end_part");
        configure = (int (*)(dWorldID, const char *))(intptr_t)of_webots("sprag_world_configure");
    }
    bool throws = strcmp(mode, "throws") == 0;
    if (throws || strcmp(mode, "mixes") == 0) {
        mix_steps(throws);
        dCloseODE();
        return 0;
    }
    if (strcmp(mode, "floats") == 0) {
        float_cube();
        dCloseODE();
        return 0;
    }
    if (strcmp(mode, "again") == 0 || strcmp(mode, "parts") == 0) {
        for (int i = 0; i < 3; i++) {
            printf("hash %016llx\n", (unsigned long long)whole_run());
            configure = NULL;
        }
        if (destroy_part) {
            printf("left %ld\n", bytes_left());
        }
        dCloseODE();
        return 0;
    }
    if (strcmp(mode, "fork") == 0) {
        int status = 0;
        if (fork() == 0) {
            execl("/bin/true", "true", NULL);
            _exit(1);
        }
        wait(&status);
        printf("child %d\n", status);
    }

    open_scene(&last);
    run_scene(&last);
    if (strcmp(mode, "places") == 0) {
        print_places(&last);
    } else {
        print_hash(&last);
    }
    if (strcmp(mode, "random") == 0 || chain_only) {
        printf("seed %lu\n", dRandGetSeed());
    }
    if (strcmp(mode, "callbacks") == 0) {
        print_feedback(&last);
    }
    if (strcmp(mode, "late") == 0) {
        atexit(close_late);
    } else if (strcmp(mode, "kept") != 0 && !is_slow) {
        close_late();
    }
    return 0;
}
