// Rows of worlds: what a program may do with worlds and their memory, threads and steppers, and
// that the motion does not depend on it. Each plays a scene of its own twice, with the feature and
// plainly, and tells the difference.
#include <check.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "join_contacts.h"
#include "support.h"

enum { BOXES = 4, LINKS = 4, SCENE_BODIES = BOXES + LINKS, STATE = 13 * SCENE_BODIES, FRAMES = 40 };

static const dReal STEP = 0.01; // s

// ---- the scene: boxes that fall on one another and on the ground, a swinging chain

typedef struct scene {
    dWorldID world;
    dSpaceID space;
    dJointGroupID contacts;
    dBodyID body[SCENE_BODIES];
} scene;

static void open_scene(scene *s, const support_run *run)
{
    *s = (scene){.world = support_world(run, NULL), .space = dHashSpaceCreate(0)};
    s->contacts = dJointGroupCreate(0);
    dWorldSetGravity(s->world, 0, 0, -9.81);
    dCreatePlane(s->space, 0, 0, 1, 0);
    for (int i = 0; i < SCENE_BODIES; i++) {
        bool box = i < BOXES;
        s->body[i] =
            support_body(s->world, box ? 0.02 * i : 3 + 0.3 * i, 0, box ? 0.3 + 0.5 * i : 5);
        if (box) {
            dGeomSetBody(dCreateBox(s->space, 0.2, 0.3, 0.4), s->body[i]);
            continue;
        }
        dJointID joint = dJointCreateBall(s->world, 0);
        dJointAttach(joint, s->body[i], i > BOXES ? s->body[i - 1] : 0);
        dJointSetBallAnchor(joint, 3 + 0.3 * i - 0.15, 0, 5);
    }
}

static void close_scene(scene *s)
{
    dJointGroupDestroy(s->contacts);
    dSpaceDestroy(s->space);
    dWorldDestroy(s->world);
}

static void touch(void *data, dGeomID a, dGeomID b)
{
    const scene *s = data;
    join_contacts(s->world, s->contacts, a, b, 4,
                  (dSurfaceParameters){.mode = dContactApprox1, .mu = 0.5}, NULL);
}

static void step_by(scene *s, int stepper(dWorldID, dReal), dReal step)
{
    dSpaceCollide(s->space, s, touch);
    stepper(s->world, step);
    dJointGroupEmpty(s->contacts);
}

static void play(scene *s)
{
    for (int i = 0; i < FRAMES; i++) {
        step_by(s, dWorldStep, STEP);
    }
}

static void state_of(const scene *s, double state[STATE])
{
    for (int i = 0; i < SCENE_BODIES; i++, state += 13) {
        memcpy(state, dBodyGetPosition(s->body[i]), 3 * sizeof *state);
        memcpy(state + 3, dBodyGetQuaternion(s->body[i]), 4 * sizeof *state);
        memcpy(state + 7, dBodyGetLinearVel(s->body[i]), 3 * sizeof *state);
        memcpy(state + 10, dBodyGetAngularVel(s->body[i]), 3 * sizeof *state);
    }
}

static void plain_state(const support_run *run, double state[STATE])
{
    scene s;
    open_scene(&s, run);
    play(&s);
    state_of(&s, state);
    close_scene(&s);
}

// 0 where all is the same, to the last bit.
static double far_from(const double a[STATE], const double b[STATE])
{
    double most = 0;
    for (int i = 0; i < STATE; i++) {
        most = fmax(most, fabs(a[i] - b[i]));
    }
    return most;
}

static void report_difference(support_run *run, const scene *s)
{
    double state[STATE], plain[STATE];
    state_of(s, state);
    plain_state(run, plain);
    support_report(run, far_from(state, plain));
    support_report(run, plain[2] > 0.1 && plain[2] < 0.3); // the lowest box has come to lie
}

// ---- several worlds

static void side_by_side(support_run *run)
{
    scene s[3];
    for (int k = 0; k < 3; k++) {
        open_scene(&s[k], run);
    }
    for (int i = 0; i < FRAMES; i++) {
        for (int k = 0; k < 3; k++) {
            step_by(&s[k], dWorldStep, STEP);
        }
    }
    for (int k = 0; k < 3; k++) {
        report_difference(run, &s[k]);
        close_scene(&s[k]);
    }
}

enum { THREADS = 4, ROUNDS = 3 };

typedef struct player {
    support_run *run;
    double state[ROUNDS][STATE];
} player;

// The default implementation is one for all worlds, and not for several threads.
static void *play_in_thread(void *data)
{
    player *p = data;
    dAllocateODEDataForThread((unsigned)dAllocateMaskAll);
    dThreadingImplementationID own = dThreadingAllocateSelfThreadedImplementation();
    for (int i = 0; i < ROUNDS; i++) {
        scene s;
        open_scene(&s, p->run);
        dWorldSetStepThreadingImplementation(s.world, dThreadingImplementationGetFunctions(own),
                                             own);
        play(&s);
        state_of(&s, p->state[i]);
        close_scene(&s);
    }
    dThreadingFreeImplementation(own);
    return NULL;
}

static void in_threads(support_run *run)
{
    pthread_t thread[THREADS];
    player *players = calloc(THREADS, sizeof *players);
    double plain[STATE], most = 0;
    plain_state(run, plain);
    for (int k = 0; k < THREADS; k++) {
        players[k].run = run;
        pthread_create(&thread[k], NULL, play_in_thread, &players[k]);
    }
    for (int k = 0; k < THREADS; k++) {
        pthread_join(thread[k], NULL);
        for (int i = 0; i < ROUNDS; i++) {
            most = fmax(most, far_from(players[k].state[i], plain));
        }
    }
    support_report(run, most);
    free(players);
}

// Most allocators give the next world the address of the last one; the new world must not have the
// old one's options.
static void one_after_the_other(support_run *run)
{
    for (int i = 0; i < 5; i++) {
        scene s;
        open_scene(&s, run);
        play(&s);
        report_difference(run, &s);
        dWorldSetGravity(s.world, 1, 2, 3);
        dWorldSetERP(s.world, 0.9);
        close_scene(&s);
    }
}

// ---- memory

static void shared_memory(support_run *run)
{
    scene a, b;
    open_scene(&a, run);
    open_scene(&b, run);
    support_report(run, dWorldUseSharedWorkingMemory(b.world, a.world));
    for (int i = 0; i < FRAMES; i++) {
        step_by(&a, dWorldStep, STEP);
        step_by(&b, dWorldStep, STEP);
        if (i % 10 == 0) {
            dWorldCleanupWorkingMemory(a.world);
        }
    }
    report_difference(run, &a);
    close_scene(&a);
    report_difference(run, &b);
    close_scene(&b);
}

static long blocks, bytes;

static void *take(size_t size)
{
    blocks++;
    bytes += (long)size;
    return malloc(size);
}

static void *shrink(void *block, size_t size, size_t smaller)
{
    bytes -= (long)(size - smaller);
    return block;
}

static void give_back(void *block, size_t size)
{
    bytes -= (long)size;
    free(block);
}

static void memory_manager(support_run *run)
{
    scene s;
    const dWorldStepMemoryFunctionsInfo manager = {sizeof manager, take, shrink, give_back};
    const dWorldStepReserveInfo reserve = {sizeof reserve, 3, 1 << 20};
    blocks = bytes = 0;
    open_scene(&s, run);
    support_report(run, dWorldSetStepMemoryManager(s.world, &manager));
    support_report(run, dWorldSetStepMemoryReservationPolicy(s.world, &reserve));
    play(&s);
    support_report(run, blocks > 0 && bytes >= 1 << 20);
    report_difference(run, &s);
    close_scene(&s);
    support_report(run, (double)bytes);
}

// ---- threading implementations

typedef dThreadingImplementationID make_implementation(void);

static dThreadingImplementationID self_threaded(void)
{
    return dThreadingAllocateSelfThreadedImplementation();
}

static dThreadingImplementationID multi_threaded(void)
{
    return dThreadingAllocateMultiThreadedImplementation();
}

static void with_implementation(support_run *run, make_implementation *make, int threads)
{
    scene s;
    dThreadingThreadPoolID pool = NULL;
    open_scene(&s, run);
    dThreadingImplementationID implementation = make();
    if (threads) {
        pool = dThreadingAllocateThreadPool((unsigned)threads, 0, (unsigned)dAllocateMaskAll, NULL);
        dThreadingThreadPoolServeMultiThreadedImplementation(pool, implementation);
    }
    dWorldSetStepThreadingImplementation(
        s.world, dThreadingImplementationGetFunctions(implementation), implementation);
    play(&s);
    report_difference(run, &s);
    dWorldSetStepThreadingImplementation(s.world, NULL, NULL);
    if (pool) {
        dThreadingImplementationShutdownProcessing(implementation);
        dThreadingFreeThreadPool(pool);
    }
    close_scene(&s);
    dThreadingFreeImplementation(implementation);
}

static void threading(support_run *run)
{
    with_implementation(run, self_threaded, 0);
    with_implementation(run, multi_threaded, 1);
}

static void thread_pool(support_run *run)
{
    with_implementation(run, multi_threaded, 4);
}

typedef struct servants {
    dThreadingImplementationID implementation;
    pthread_barrier_t ready;
} servants;

static void is_ready(void *data)
{
    servants *all = data;
    pthread_barrier_wait(&all->ready);
}

static void *serve(void *data)
{
    servants *all = data;
    dAllocateODEDataForThread((unsigned)dAllocateMaskAll);
    dExternalThreadingServeMultiThreadedImplementation(all->implementation, is_ready, all);
    dCleanupODEAllDataForThread();
    return NULL;
}

static void play_served(support_run *run, dThreadingImplementationID implementation)
{
    scene s;
    open_scene(&s, run);
    dWorldSetStepThreadingImplementation(
        s.world, dThreadingImplementationGetFunctions(implementation), implementation);
    play(&s);
    report_difference(run, &s);
    dWorldSetStepThreadingImplementation(s.world, NULL, NULL);
    close_scene(&s);
    dThreadingImplementationShutdownProcessing(implementation);
}

// By threads that the program has made, and then by a pool.
static void own_threads(support_run *run)
{
    enum { THREADS = 3 };
    servants all = {.implementation = dThreadingAllocateMultiThreadedImplementation()};
    pthread_t thread[THREADS];
    ck_assert_int_eq(pthread_barrier_init(&all.ready, NULL, THREADS + 1), 0);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&thread[i], NULL, serve, &all), 0);
    }
    pthread_barrier_wait(&all.ready);
    play_served(run, all.implementation);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
    }
    pthread_barrier_destroy(&all.ready);
    dThreadingImplementationCleanupForRestart(all.implementation);
    dThreadingThreadPoolID pool =
        dThreadingAllocateThreadPool(2, 0, (unsigned)dAllocateMaskAll, NULL);
    dThreadingThreadPoolServeMultiThreadedImplementation(pool, all.implementation);
    play_served(run, all.implementation);
    dThreadingThreadPoolWaitIdleState(pool);
    dThreadingFreeThreadPool(pool);
    dThreadingFreeImplementation(all.implementation);
}

static void thread_count(support_run *run)
{
    scene s;
    open_scene(&s, run);
    dWorldSetStepIslandsProcessingMaxThreadCount(s.world, 2);
    support_report(run, dWorldGetStepIslandsProcessingMaxThreadCount(s.world));
    play(&s);
    report_difference(run, &s);
    close_scene(&s);
}

// ---- steppers

// Jointed bodies without contact, on which both steppers agree.
static dBodyID open_pair(const support_run *run, dWorldID *world)
{
    *world = support_world(run, NULL);
    dBodyID a = support_solid(*world, 0, 0, 0), b = support_solid(*world, 0, 0, 1);
    dJointID joint = dJointCreateFixed(*world, 0);
    dJointAttach(joint, a, b);
    dJointSetFixed(joint);
    dWorldSetGravity(*world, 0, 0, -9.81);
    dBodySetGyroscopicMode(a, 0);
    dBodySetGyroscopicMode(b, 0);
    return a;
}

static void quick_step(support_run *run)
{
    dWorldID world;
    dBodyID body = open_pair(run, &world);
    dWorldSetQuickStepNumIterations(world, 50);
    dWorldSetQuickStepW(world, 1.1);
    for (int i = 0; i < 50; i++) {
        support_look();
        support_report(run, dWorldQuickStep(world, STEP));
    }
    support_report_vector(run, dBodyGetLinearVel(body));
    dWorldDestroy(world);
}

static void changing_step(support_run *run)
{
    dWorldID world;
    dBodyID body = open_pair(run, &world);
    for (int i = 0; i < 50; i++) {
        support_step(world, STEP / (1 + i % 7));
    }
    support_report_vector(run, dBodyGetLinearVel(body));
    dWorldDestroy(world);
}

// QuickStep draws from dRand as it shuffles its rows, dWorldStep does not.
static void random_numbers(support_run *run)
{
    for (int quick = 0; quick < 2; quick++) {
        scene s;
        open_scene(&s, run);
        dRandSetSeed(42);
        int rows = 0;
        for (int i = 0; i < 8; i++) { // nothing has touched yet: stock finds as many rows
            step_by(&s, quick ? dWorldQuickStep : dWorldStep, STEP);
            rows += dBodyGetNumJoints(s.body[0]);
        }
        support_report(run, rows);
        support_report(run, (double)dRandGetSeed() / 4294967296.0);
        close_scene(&s);
    }
}

static void gravity_changes(support_run *run)
{
    dWorldID world;
    dBodyID body = open_pair(run, &world);
    for (int i = 0; i < 50; i++) {
        dWorldSetGravity(world, 0.1 * i, -0.2 * i, 3);
        support_step(world, STEP);
    }
    support_report_vector(run, dBodyGetLinearVel(body));
    dWorldDestroy(world);
}

// Without bodies, with sleepers only, with kinematic ones only.
static void idle_worlds(support_run *run)
{
    for (int i = 0; i < 3; i++) {
        dWorldID world = support_world(run, NULL);
        dBodyID body = i ? support_solid(world, 0, 0, 1) : NULL;
        dWorldSetGravity(world, 0, 0, -9.81);
        if (body) {
            dBodySetLinearVel(body, 1, 0, 0);
            (i == 1 ? dBodyDisable : dBodySetKinematic)(body);
        }
        for (int k = 0; k < 3; k++) {
            support_look();
            support_report(run, dWorldStep(world, STEP));
            support_look();
            support_report(run, dWorldQuickStep(world, STEP));
        }
        support_report(run, body ? dBodyGetPosition(body)[0] : 0);
        dWorldDestroy(world);
    }
}

static void data_and_restart(support_run *run)
{
    scene s;
    open_scene(&s, run);
    dWorldSetData(s.world, &s);
    play(&s);
    support_report(run, dWorldGetData(s.world) == &s);
    close_scene(&s);
    dCloseODE();
    dInitODE2(0);
    dAllocateODEDataForThread((unsigned)dAllocateMaskAll);
    open_scene(&s, run);
    play(&s);
    report_difference(run, &s);
    close_scene(&s);
}

#define SAME_IN_ALL                                                                                \
    {                                                                                              \
        AS_STOCK, AS_STOCK, AS_STOCK                                                               \
    }

const support_row support_worlds[] = {
    {"several worlds in one process", side_by_side, NULL, SAME_IN_ALL},
    {"several worlds in several threads at once", in_threads, NULL, SAME_IN_ALL},
    {"worlds at the address of destroyed ones", one_after_the_other, NULL, SAME_IN_ALL},
    {"shared working memory, cleaned up", shared_memory, NULL, SAME_IN_ALL},
    {"step memory manager, reservation policy", memory_manager, NULL, SAME_IN_ALL},
    {"threading implementation, self-threaded and one thread", threading, NULL, SAME_IN_ALL},
    {"thread pool: the same bits", thread_pool, NULL, SAME_IN_ALL},
    {"threads of the program's own that serve it, and a restart", own_threads, NULL, SAME_IN_ALL},
    {"`dWorldSetStepIslandsProcessingMaxThreadCount`", thread_count, NULL, SAME_IN_ALL},
    {"`dWorldQuickStep`, its iterations and W", quick_step, NULL, SAME_IN_ALL},
    {"steps of changing length", changing_step, NULL, SAME_IN_ALL},
    {"ODE's random numbers", random_numbers, NULL, SAME_IN_ALL},
    {"gravity that changes", gravity_changes, NULL, SAME_IN_ALL},
    {"worlds without bodies, with disabled or kinematic ones only", idle_worlds, NULL, SAME_IN_ALL},
    {"data of a world; `dCloseODE`, `dInitODE` again", data_and_restart, NULL, SAME_IN_ALL},
    {0},
};
