// Allocations of sprag that fail, each once and from there on, under every method: the world is as
// it was and the stepper returns 0, or the step is done. ODE's own memory does not fail here: the
// linker gives this program's objects alone another malloc.
#include <check.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "../failing_memory.h"
#include "plugin_scene.h"
#include "suite.h"

// ---- what a step leaves

typedef struct step_state {
    double position[3], quaternion[4], velocity[3], spin[3], force[3], torque[3];
    int enabled;
} step_state;

static step_state whole_state_of(dBodyID body)
{
    step_state s = {.enabled = dBodyIsEnabled(body)};
    memcpy(s.position, dBodyGetPosition(body), sizeof s.position);
    memcpy(s.quaternion, dBodyGetQuaternion(body), sizeof s.quaternion);
    memcpy(s.velocity, dBodyGetLinearVel(body), sizeof s.velocity);
    memcpy(s.spin, dBodyGetAngularVel(body), sizeof s.spin);
    memcpy(s.force, dBodyGetForce(body), sizeof s.force);
    memcpy(s.torque, dBodyGetTorque(body), sizeof s.torque);
    return s;
}

// A scene, and what it has besides.
typedef enum extras { NONE, RECORDED, MORE, EXTRAS } extras;

enum { MORE_BODIES = 4, STATES = SCENE_BODIES + MORE_BODIES };

typedef struct fixture {
    scene s;
    dTriMeshDataID mesh;
    dBodyID body[STATES];
    int bodies;
} fixture;

static void read_states(const fixture *f, step_state state[STATES])
{
    memset(state, 0, STATES * sizeof *state);
    for (int i = 0; i < f->bodies; i++) {
        state[i] = whole_state_of(f->body[i]);
    }
}

static bool is_finite(const step_state *s)
{
    double sum = 0;
    for (int k = 0; k < 3; k++) {
        sum += s->position[k] + s->velocity[k] + s->spin[k] + s->quaternion[k];
    }
    return isfinite(sum);
}

// m, the way of the fastest body, of 20 m/s, in a step.
static const double STEP_WAY = 0.2;

// Awake bodies that a step without failures moves are moved, not far from where it moves them:
// another method may have taken the step, and then a body may hit another one differently.
static void check_done(const step_state *before, const step_state *after, const step_state *whole,
                       int bodies)
{
    for (int i = 0; i < bodies; i++) {
        bool moves = before[i].enabled &&
                     memcmp(before[i].position, whole[i].position, sizeof whole->position) != 0;
        bool moved = memcmp(before[i].position, after[i].position, sizeof after->position) != 0;
        ck_assert_msg(is_finite(&after[i]), "body %d", i);
        ck_assert_msg(moved || !moves, "body %d has not moved", i);
        for (int k = 0; k < 3; k++) {
            ck_assert_double_eq_tol(after[i].position[k], whole[i].position[k], STEP_WAY);
            ck_assert_double_eq(after[i].force[k], 0);
        }
    }
}

// ---- the scene

static void push_on(dBodyID body)
{
    dBodyAddForce(body, 0, 0, 1);
}

// Cubes on a mesh, of which one is a polytope, with moved callbacks. One flies at another that
// sleeps.
static void add_more(fixture *f)
{
    static const float corner[4][3] = {{20, -5, 0}, {30, -5, 0}, {30, 5, 0}, {20, 5, 0}};
    static const dTriIndex triangle[6] = {0, 1, 2, 0, 2, 3};
    static const dReal face[] = {1, 0,  0, 0.1, -1, 0, 0, 0.1, 0, 1, 0,  0.1,
                                 0, -1, 0, 0.1, 0,  0, 1, 0.1, 0, 0, -1, 0.1};
    static const dReal point[] = {-0.1, -0.1, -0.1, 0.1,  -0.1, -0.1, 0.1, 0.1,
                                  -0.1, -0.1, 0.1,  -0.1, -0.1, -0.1, 0.1, 0.1,
                                  -0.1, 0.1,  0.1,  0.1,  0.1,  -0.1, 0.1, 0.1};
    static const unsigned polygon[] = {4, 1, 2, 6, 5, 4, 0, 4, 7, 3, 4, 3, 7, 6, 2,
                                       4, 0, 1, 5, 4, 4, 4, 5, 6, 7, 4, 0, 3, 2, 1};
    f->mesh = dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildSingle(f->mesh, corner, 3 * sizeof(float), 4, triangle, 6,
                                3 * sizeof(dTriIndex));
    dGeomTriMeshDataPreprocess2(f->mesh, 1u << dTRIDATAPREPROCESS_BUILD_FACE_ANGLES, NULL);
    dCreateTriMesh(f->s.space, f->mesh, NULL, NULL, NULL);
    for (int i = 0; i < MORE_BODIES; i++) {
        dBodyID body = create_body(f->s.world, 1, 25 + 0.5 * i, 0, 0.1);
        dGeomSetBody(i == 2 ? dCreateConvex(f->s.space, face, 6, point, 8, polygon)
                            : dCreateBox(f->s.space, 0.2, 0.2, 0.2),
                     body);
        dBodySetMovedCallback(body, push_on);
        f->body[f->bodies++] = body;
    }
    dBodyDisable(f->body[SCENE_BODIES + 1]);
    dBodySetLinearVel(f->body[SCENE_BODIES], 20, 0, 0);
}

static fixture open_fixture(const char *options, extras with)
{
    dRandSetSeed(1);
    fixture f = {.s = open_scene(options), .bodies = SCENE_BODIES};
    memcpy(f.body, f.s.body, sizeof f.s.body);
    if (with == MORE) {
        add_more(&f);
    }
    return f;
}

static void close_fixture(fixture *f)
{
    close_scene(&f->s);
    if (f->mesh) {
        dGeomTriMeshDataDestroy(f->mesh);
    }
}

// ---- the steps

static const char *const methods[] = {
    "ode", "stribeck", "stribeck,effort=exact", "advance", "advance,advance.callbacks=before",
    "ess"};
enum { METHODS = sizeof methods / sizeof *methods, WARM = 4, POINTS_MAX = 2000 };

static void push(const fixture *f)
{
    dBodyAddForce(f->body[0], 1, 2, 3);
    dBodyAddTorque(f->body[HEAP + 1], 1, 0, 0);
}

// A step that fails at an allocation, if there are so many; then some that do not. whole: what a
// step without failures leaves (failing = 0), or should have left. Returns whether it has failed.
static bool take_failing_step(const char *options, extras with, step_fn *stepper, int warm,
                              step_state whole[STATES])
{
    step_state before[STATES], after[STATES];
    fixture f = open_fixture(options, with);
    for (int k = 0; k < warm; k++) {
        step_scene(&f.s, stepper);
    }
    push(&f);
    read_states(&f, before);
    allocation = 0;
    counting = failing > 0;
    dSpaceCollide(f.s.space, &f.s, touch);
    int done = stepper(f.s.world, step);
    counting = false;
    dJointGroupEmpty(f.s.contacts);
    bool reached = failing > 0 && allocation >= failing;
    read_states(&f, after);
    if (failing == 0) {
        memcpy(whole, after, sizeof after);
    } else if (done) {
        check_done(before, after, whole, f.bodies);
    } else {
        for (int i = 0; i < f.bodies; i++) {
            before[i].enabled = after[i].enabled; // ODE wakes bodies when it finds the islands
            ck_assert_msg(!memcmp(&before[i], &after[i], sizeof *before),
                          "allocation %ld: body %d has changed, although the step is not taken",
                          failing, i);
        }
    }
    for (int k = 0; k < 3; k++) {
        step_scene(&f.s, stepper);
        read_states(&f, after);
        for (int i = 0; i < f.bodies; i++) {
            ck_assert(is_finite(&after[i]));
        }
    }
    close_fixture(&f);
    return reached;
}

static void check_all_points(const char *method, extras with, step_fn *stepper, int warm)
{
    char options[128];
    snprintf(options, sizeof options, "method=%s", method);
    for (int mode = 0; mode < 2; mode++) {
        step_state whole[STATES];
        failing = 0;
        take_failing_step(options, with, stepper, warm, whole);
        from_there_on = mode;
        do {
            failing++;
        } while (take_failing_step(options, with, stepper, warm, whole) && failing < POINTS_MAX);
        ck_assert_int_lt(failing, POINTS_MAX);
        ck_assert(warm > 0 || failing > 1); // a first step takes memory
    }
}

// The heap lands meanwhile, so that later steps need more memory.
START_TEST(a_step_without_memory_is_done_or_undone)
{
    static const int warm[WARM] = {0, 1, 8, 20};
    int variant = _i / 2 / WARM;
    extras with = (extras)(variant % EXTRAS);
    if (with == RECORDED) {
        setenv("SPRAG_RECORD", "/dev/null", 1);
        setenv("SPRAG_STATS", "/dev/null", 1);
    }
    check_all_points(methods[variant / EXTRAS], with, _i % 2 ? dWorldQuickStep : dWorldStep,
                     warm[_i / 2 % WARM]);
}
END_TEST

// Pendulums enough for two threads. Where threads have no memory, one thread takes the step, or
// ODE.
START_TEST(threads_without_memory_are_done_without)
{
    enum { PENDULUMS = 260, LINKS = 2 * PENDULUMS };
    double whole[LINKS][3];
    dThreadingImplementationID threads = dThreadingAllocateMultiThreadedImplementation();
    dThreadingThreadPoolID pool =
        dThreadingAllocateThreadPool(2, 0, (unsigned)dAllocateMaskAll, NULL);
    dThreadingThreadPoolServeMultiThreadedImplementation(pool, threads);
    failing = 0;
    for (bool reached = true; reached; failing++) {
        dBodyID link[LINKS];
        dWorldID w = dWorldCreate();
        dWorldSetGravity(w, 0, 0, -9.81);
        dWorldSetStepThreadingImplementation(w, dThreadingImplementationGetFunctions(threads),
                                             threads);
        configure(w, "method=stribeck");
        for (int i = 0; i < LINKS; i++) {
            link[i] = create_body(w, 1 + 0.1 * i, i % 2 + 1, i, 0);
            dJointID ball = dJointCreateBall(w, 0);
            dJointAttach(ball, link[i], i % 2 ? link[i - 1] : NULL);
            dJointSetBallAnchor(ball, i % 2 + 0.5, i, 0);
        }
        allocation = 0;
        counting = failing > 0;
        int done = dWorldStep(w, step);
        counting = false;
        reached = failing == 0 || allocation >= failing;
        for (int i = 0; i < LINKS; i++) {
            const dReal *at = dBodyGetPosition(link[i]);
            if (failing == 0) {
                memcpy(whole[i], at, sizeof whole[i]);
                ck_assert_double_lt(at[2], 0);
            } else {
                ck_assert_double_le(fabs(at[2] - (done ? whole[i][2] : 0)), done ? 1e-6 : 0);
            }
        }
        dWorldDestroy(w);
    }
    ck_assert_int_gt(failing, 8);
    dThreadingImplementationShutdownProcessing(threads);
    dThreadingFreeThreadPool(pool);
    dThreadingFreeImplementation(threads);
}
END_TEST

// ---- derivatives

enum { BALLS = 3, A_ENTRIES = 12 * BALLS * 12 * BALLS, B_ENTRIES = A_ENTRIES / 2 };

// Balls in a row on a plane, before their first step.
static scene open_row(const char *options, dBodyID ball[BALLS])
{
    scene s = {.world = dWorldCreate(),
               .space = dSimpleSpaceCreate(NULL),
               .contacts = dJointGroupCreate(0)};
    dWorldSetGravity(s.world, 0, 0, -9.81);
    dCreatePlane(s.space, 0, 0, 1, 0);
    for (int i = 0; i < BALLS; i++) {
        ball[i] = create_body(s.world, 1, 0.199 * i, 0, 0.099);
        dGeomSetBody(dCreateSphere(s.space, 0.1), ball[i]);
    }
    configure(s.world, options);
    dSpaceCollide(s.space, &s, touch);
    return s;
}

// Derivatives are those that memory would give, or there are none and a reason; the step does not
// change.
START_TEST(derivatives_without_memory_are_right_or_refused)
{
    static const char *const all[] = {
        "method=stribeck,stribeck.stiffness=2e4,stribeck.dissipation=0.5",
        "method=ess,stribeck.stiffness=2e4,stribeck.dissipation=0.5"};
    static double A[A_ENTRIES], B[B_ENTRIES], right_A[A_ENTRIES], right_B[B_ENTRIES];
    step_state before[BALLS];
    int refused = 0;
    from_there_on = _i % 2;
    failing = 0;
    for (bool reached = true; reached; failing++) {
        dBodyID ball[BALLS];
        scene s = open_row(all[_i / 2], ball);
        for (int i = 0; i < BALLS; i++) {
            before[i] = whole_state_of(ball[i]);
        }
        allocation = 0;
        counting = failing > 0;
        int done = sprag_world_linearize(s.world, step, ball, BALLS, A, B);
        counting = false;
        reached = failing == 0 || allocation >= failing;
        for (int i = 0; i < BALLS; i++) {
            step_state after = whole_state_of(ball[i]);
            ck_assert_mem_eq(&before[i], &after, sizeof after);
        }
        if (failing == 0) {
            ck_assert_msg(done, "%s", sprag_error());
            memcpy(right_A, A, sizeof A);
            memcpy(right_B, B, sizeof B);
        } else if (done) {
            ck_assert_mem_eq(A, right_A, sizeof A);
            ck_assert_mem_eq(B, right_B, sizeof B);
        } else {
            ck_assert_ptr_nonnull(strstr(sprag_error(), "memory"));
            refused++;
        }
        ck_assert(dWorldStep(s.world, step));
        close_scene(&s);
    }
    ck_assert_int_gt(refused, 3);
}
END_TEST

// ---- ODE's memory

static void *fail_from_there_on(dsizeint size)
{
    allocation++;
    return allocation >= failing ? NULL : __real_malloc(size);
}

// The first use of sprag in a process looks at objects of its own in ODE, which follows the
// pointers that its allocations return. Here it is the answer of dCollide, which advance gives.
// Each test is a process.
// A heavy ball on a chain falls until it is taut: those steps are solved a second time, in the
// memory of the first.
START_TEST(a_second_solve_allocates_nothing)
{
    enum { LINKS = 50, STEPS = 200 };
    static const double length = 0.2; // m
    sprag_world_statistics of_step = {.struct_size = sizeof of_step};
    int twice = 0;
    dWorldID w = dWorldCreate();
    dBodyID link = NULL;
    for (int i = 0; i <= LINKS; i++) { // level, in two halves that lie upon each other
        bool back = i > LINKS / 2;
        double x = length * (back ? LINKS - i + 0.5 : i + 0.5);
        dBodyID next = create_body(w, i < LINKS ? 0.1 : 100, x, 0, 0);
        dJointID ball = dJointCreateBall(w, 0);
        dJointAttach(ball, next, link);
        dJointSetBallAnchor(ball, x + (back ? 0.5 : -0.5) * length, 0, 0);
        link = next;
    }
    dWorldSetGravity(w, 0, 0, -9.81);
    configure(w, "method=stribeck");
    failing = LONG_MAX;
    for (int i = 0; i < STEPS; i++) {
        allocation = 0;
        counting = true;
        dWorldStep(w, 0.01);
        counting = false;
        sprag_world_stats(w, &of_step);
        if (i > 1 && of_step.iterations > 1) {
            twice++;
            ck_assert_int_eq(allocation, 0);
        }
    }
    ck_assert_int_gt(twice, 0);
    failing = 0;
    dWorldDestroy(w);
}
END_TEST

START_TEST(the_check_at_start_needs_no_memory_of_ode)
{
    dContactGeom contact;
    dWorldID w = dWorldCreate();
    dGeomID plane = dCreatePlane(NULL, 0, 0, 1, 0), ball = dCreateSphere(NULL, 1);
    dBodyID body = create_body(w, 1, 0, 0, 2);
    dWorldSetGravity(w, 0, 0, -1);
    configure(w, "method=advance");
    allocation = 0;
    failing = 1 + 3 * _i;
    dSetAllocHandler(fail_from_there_on);
    dCollide(ball, plane, 1, &contact, sizeof contact);
    dSetAllocHandler(NULL);
    ck_assert_int_ge(allocation, failing);
    ck_assert(dWorldStep(w, 0.5));
    ck_assert_double_eq(dBodyGetLinearVel(body)[2], -0.5);
    dGeomDestroy(plane);
    dGeomDestroy(ball);
    dWorldDestroy(w);
}
END_TEST

static size_t largest; // bytes that ODE has asked for

static void *note_size(size_t size)
{
    largest = size > largest ? size : largest;
    return malloc(size);
}

// ODE tells an allocator of the program's own the size of what it frees, so that it must get what
// it asks for, in the first step of a world, too: 64 kB for its islands.
START_TEST(an_allocator_of_the_program_serves_ode_alone)
{
    dWorldID w = dWorldCreate();
    create_body(w, 1, 0, 0, 2);
    configure(w, "method=stribeck");
    largest = 0;
    dSetAllocHandler(note_size);
    ck_assert(dWorldStep(w, 0.01));
    ck_assert_ptr_eq((void *)(intptr_t)dGetAllocHandler(), (void *)(intptr_t)note_size);
    dSetAllocHandler(NULL);
    ck_assert_uint_eq(largest, 1 << 16);
    dWorldDestroy(w);
}
END_TEST

int main(void)
{
    Suite *start = suite_create("memory at the start of a process"),
          *suite = suite_create("memory");
    ADD_TESTS_WITH(start, "all", setup, teardown, {the_check_at_start_needs_no_memory_of_ode, 12});
    ADD_TESTS_WITH(suite, "all", setup, teardown,
                   {a_step_without_memory_is_done_or_undone, METHODS * EXTRAS * WARM * 2},
                   {threads_without_memory_are_done_without, 1},
                   {a_second_solve_allocates_nothing, 1},
                   {an_allocator_of_the_program_serves_ode_alone, 1},
                   {derivatives_without_memory_are_right_or_refused, 4});
    int failed = run_suite_as(start, CK_FORK);
    return run_suite(suite) || failed;
}
