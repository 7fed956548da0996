// What users see: options, statistics, methods per world, and a step that keeps all that programs
// rely on besides velocities: sleep, callbacks, feedback, random numbers, memory. dWorldStep is
// ours here; stock is what libode's own handle gives, in a world with method=ode.
#define _GNU_SOURCE 1
#include <check.h>
#include <dlfcn.h>
#include <float.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "allocations.h"
#include "models.h"
#include "plugin.h"
#include "start.h"
#include "suite.h"
#include "worlds.h"

static const dReal step = 0.01; // s

typedef int step_fn(dWorldID, dReal);

static step_fn *stock_step, *stock_quick;

static void configure(dWorldID world, const char *options)
{
    ck_assert_msg(sprag_world_configure(world, options), "%s: %s", options, sprag_error());
}

static sprag_world_statistics statistics_of(dWorldID world)
{
    sprag_world_statistics s;
    ck_assert(sprag_world_stats(world, &s));
    return s;
}

// ---- a scene with something of everything: a heap of boxes and balls, a double pendulum, a flyer

enum { HEAP = 6, SCENE_BODIES = HEAP + 3, CONTACTS_MAX = 8 };

typedef struct scene {
    dWorldID world;
    dSpaceID space;
    dJointGroupID contacts;
    dBodyID body[SCENE_BODIES];
} scene;

static void add_geom(scene *s, int i)
{
    dGeomSetBody(i % 2 ? dCreateSphere(s->space, 0.2) : dCreateBox(s->space, 0.3, 0.4, 0.2),
                 s->body[i]);
}

static scene open_scene(const char *options)
{
    scene s = {.world = dWorldCreate(), .space = dSimpleSpaceCreate(0)};
    s.contacts = dJointGroupCreate(0);
    dWorldSetGravity(s.world, 0, 0, -9.81);
    dCreatePlane(s.space, 0, 0, 1, 0);
    for (int i = 0; i < HEAP; i++) {
        s.body[i] =
            create_body(s.world, 1 + 0.5 * i, 0.05 * (i % 3), 0.04 * (i % 2), 0.2 + 0.35 * i);
        dBodySetAngularVel(s.body[i], 0.3 * i, -0.2, 0.1);
        add_geom(&s, i);
    }
    s.body[HEAP] = create_body(s.world, 1, 5, 0, 3);
    s.body[HEAP + 1] = create_body(s.world, 1, 6, 0, 3);
    s.body[HEAP + 2] = create_body(s.world, 1, 10, 0, 100);
    dBodySetAngularVel(s.body[HEAP + 2], 3, 4, -5);
    dJointID hinge = dJointCreateHinge(s.world, 0), ball = dJointCreateBall(s.world, 0);
    dJointAttach(hinge, s.body[HEAP], 0);
    dJointSetHingeAnchor(hinge, 4.5, 0, 3);
    dJointSetHingeAxis(hinge, 0, 1, 0);
    dJointAttach(ball, s.body[HEAP], s.body[HEAP + 1]);
    dJointSetBallAnchor(ball, 5.5, 0, 3);
    configure(s.world, options);
    return s;
}

static void touch(void *data, dGeomID a, dGeomID b)
{
    scene *s = data;
    dContact contact[CONTACTS_MAX];
    int count = dCollide(a, b, CONTACTS_MAX, &contact[0].geom, sizeof contact[0]);
    for (int i = 0; i < count; i++) {
        contact[i].surface.mode = dContactApprox1;
        contact[i].surface.mu = 0.5;
        dJointAttach(dJointCreateContact(s->world, s->contacts, &contact[i]), dGeomGetBody(a),
                     dGeomGetBody(b));
    }
}

static void step_scene(scene *s, step_fn *stepper)
{
    dSpaceCollide(s->space, s, touch);
    ck_assert_int_eq(stepper(s->world, step), 1);
    dJointGroupEmpty(s->contacts);
}

static void close_scene(scene *s)
{
    dJointGroupDestroy(s->contacts);
    dSpaceDestroy(s->space);
    dWorldDestroy(s->world);
}

static bool same_bits(dBodyID a, dBodyID b)
{
    body_state x = state_of(a), y = state_of(b);
    return memcmp(&x, &y, sizeof x) == 0;
}

static void assert_same_scene(const scene *a, const scene *b)
{
    for (int i = 0; i < SCENE_BODIES; i++) {
        ck_assert_msg(same_bits(a->body[i], b->body[i]), "body %d", i);
    }
}

static bool scenes_differ(const scene *a, const scene *b)
{
    int same = 0;
    for (int i = 0; i < HEAP; i++) {
        same += same_bits(a->body[i], b->body[i]);
    }
    return same < HEAP;
}

// ---- options

static dWorldID world;

START_TEST(reads_options)
{
    static const char *const good[] = {
        "",
        ",, ,",
        "method=stribeck",
        "method=ode",
        "method=ode-step",
        "method=ode-quick",
        " method = ode , stribeck.tolerance = 1e-3 ",
        "stribeck.stiction_tolerance=1e-12,stribeck.stiction_at_rest=1e-12",
        "stribeck.stiction_at_rest=0.5,stribeck.stiction_tolerance=1",
        "stribeck.tolerance=.1",
        "stribeck.softness=1E-15",
        "stribeck.row_softness=+1.0",
        "stribeck.max_iterations=1",
        "stribeck.max_continuation=0",
        "stribeck.lagged_passes=10000",
        "stribeck.direct_work=1e15",
        "stribeck.scheme=one-way",
        "stribeck.scheme = two-way",
        "stribeck.stiffness=1e6,stribeck.dissipation=0.1",
        "stribeck.stiffness=0,stribeck.dissipation=0",
        "method=ode\n,\tmethod=stribeck\n",
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        configure(world, good[i]);
        ck_assert_str_eq(sprag_error(), "");
    }
}
END_TEST

typedef struct bad_option {
    const char *string;
    const char *named; // what the message must tell
} bad_option;

static const bad_option bad_options[] = {
    {"method=stribek", "stribek"},
    {"method=", "no method is called \"\""},
    {"method", "method=..."},
    {"stribeck", "method=stribeck"},
    {"metod=ode", "did you mean method?"},
    {"=ode", "\"\""},
    {"tolerance=1", "did you mean stribeck.tolerance?"},
    {"stribeck.tolerence=1", "did you mean stribeck.tolerance?"},
    {"stribeck.tolerance=", "stribeck.tolerance= is empty"},
    {"stribeck.tolerance", "lacks a value"},
    {"stribeck.tolerance=0", "stribeck.tolerance=0 is out of range"},
    {"stribeck.tolerance=1", "out of range"},
    {"stribeck.tolerance=-1e-3", "out of range"},
    {"stribeck.tolerance=1e-3x", "no number"},
    {"stribeck.tolerance=0x1p-4", "no number"},
    {"stribeck.tolerance=nan", "no number"},
    {"stribeck.tolerance=inf", "no number"},
    {"stribeck.tolerance=1e999", "out of range"},
    {"stribeck.tolerance=1e-3 1e-4", "no number"},
    {"stribeck.max_iterations=0", "out of range"},
    {"stribeck.max_iterations=1.5", "no whole number"},
    {"stribeck.max_iterations=99999999999999999999", "out of range"},
    {"stribeck.max_iterations=ten", "stribeck.max_iterations=ten"},
    {"stribeck.max_continuation=-1", "out of range"},
    {"stribeck.lagged_passes=10001", "stribeck.lagged_passes"},
    {"stribeck.direct_work=-1", "stribeck.direct_work"},
    {"stribeck.softness=2", "stribeck.softness"},
    {"stribeck.row_softness=0", "stribeck.row_softness"},
    {"stribeck.stiction_tolerance=1.1", "stribeck.stiction_tolerance"},
    {"stribeck.tolerance=1e-3=2", "1e-3=2"},
    {"stribeck.scheme=both", "stribeck.scheme=both is no scheme; there are two-way and one-way"},
    {"stribeck.scheme=", "is no scheme"},
    {"stribeck.scheme=1", "is no scheme"},
    {"scheme=one-way", "did you mean stribeck.scheme?"},
    {"stribeck.stiffness=-1", "stribeck.stiffness=-1 is out of range"},
    {"stribeck.stiffness=1e16", "out of range"},
    {"stribeck.stifness=1", "did you mean stribeck.stiffness?"},
    {"stribeck.dissipation=-0.1", "stribeck.dissipation=-0.1 is out of range"},
    {"nonsense", "nonsense"},
    {"a=b", "\"a\""},
    {"methodmethodmethodmethodmethodmethodmethodmethodmethodmethod=1", "..."},
    {"help=1", "\"help\""},
};

enum { BAD_OPTIONS = sizeof bad_options / sizeof bad_options[0] };

START_TEST(refuses_options_and_says_why)
{
    const bad_option *bad = &bad_options[_i];
    ck_assert_int_eq(sprag_world_configure(world, bad->string), 0);
    ck_assert_msg(strstr(sprag_error(), bad->named) != NULL, "%s: %s", bad->string, sprag_error());
    ck_assert_ptr_null(strchr(sprag_error(), '\n'));
    configure(world, "method=ode");
    ck_assert_str_eq(sprag_error(), "");
}
END_TEST

static bool settings_equal(const settings *a, const settings *b)
{
    const sprag_stribeck_options *x = &a->stribeck, *y = &b->stribeck;
    return a->method == b->method && a->stiffness.stiffness == b->stiffness.stiffness &&
           a->stiffness.dissipation == b->stiffness.dissipation && x->scheme == y->scheme &&
           x->stiction_tolerance == y->stiction_tolerance &&
           x->stiction_at_rest == y->stiction_at_rest && x->tolerance == y->tolerance &&
           x->softness == y->softness && x->row_softness == y->row_softness &&
           x->max_iterations == y->max_iterations && x->max_continuation == y->max_continuation &&
           x->lagged_passes == y->lagged_passes && x->sweeps == y->sweeps &&
           x->direct_work == y->direct_work;
}

// What stands before the bad entry, and behind it, does not count either.
START_TEST(takes_a_string_whole_or_not_at_all)
{
    char string[256], message[MESSAGE_MAX];
    const settings before = settings_defaults();
    settings after = before;
    snprintf(string, sizeof string,
             "method=ode-quick,stribeck.softness=0.5,stribeck.stiffness=7,stribeck.scheme=one-way,"
             "%s,stribeck.tolerance=0.05",
             bad_options[_i].string);
    ck_assert(!settings_read(&after, string, message));
    ck_assert(settings_equal(&after, &before));
    ck_assert_uint_gt(strlen(message), 10);
}
END_TEST

START_TEST(later_options_win)
{
    char message[MESSAGE_MAX];
    settings s = settings_defaults();
    ck_assert(settings_read(&s,
                            "method=ode,stribeck.tolerance=1e-3,stribeck.max_iterations=7,"
                            "method=ode-quick,stribeck.tolerance=2e-3",
                            message));
    ck_assert_str_eq(s.method->name, "ode-quick");
    ck_assert_double_eq(s.stribeck.tolerance, 2e-3);
    ck_assert_int_eq(s.stribeck.max_iterations, 7);
    ck_assert(settings_read(&s, "method=stribeck", message)); // the others stay
    ck_assert_int_eq(s.stribeck.max_iterations, 7);
}
END_TEST

START_TEST(asks_for_a_world_and_a_string)
{
    ck_assert_int_eq(sprag_world_configure(NULL, "method=ode"), 0);
    ck_assert_ptr_nonnull(strstr(sprag_error(), "no world"));
    ck_assert_int_eq(sprag_world_configure(world, NULL), 0);
    ck_assert_ptr_nonnull(strstr(sprag_error(), "no options"));
}
END_TEST

// Every option of the table is in the help, and can be set to what the help says is its default.
START_TEST(help_lists_the_defaults)
{
    char *text = NULL, line[512], name[64], value[64], entry[160], message[MESSAGE_MAX];
    size_t size = 0;
    int found = 0;
    FILE *file = open_memstream(&text, &size);
    settings_help(file);
    fclose(file);
    file = fmemopen(text, strlen(text), "r");
    while (fgets(line, sizeof line, file) && strncmp(line, "Methods", 7)) {
        if (sscanf(line, " %63s %63s", name, value) == 2 &&
            (strchr(name, '.') || !strcmp(name, "method")) && line[0] == ' ') {
            settings s = settings_defaults(), defaults = s;
            snprintf(entry, sizeof entry, "%s=%s", name, value);
            ck_assert_msg(settings_read(&s, entry, message), "%s", message);
            ck_assert(settings_equal(&s, &defaults));
            found++;
        }
    }
    ck_assert_int_eq(found, 22);
    fclose(file);
    free(text);
}
END_TEST

// ---- statistics

static const sprag_world_statistics nothing;

START_TEST(statistics_tell_of_the_step)
{
    scene s = open_scene("method=stribeck");
    sprag_world_statistics t;
    memset(&t, 1, sizeof t);
    ck_assert_int_eq(sprag_world_stats(s.world, &t), 0);
    ck_assert_double_eq(t.time, 0);
    ck_assert_int_eq(t.bodies, 0);
    int contacts = 0;
    for (int i = 0; i < 100; i++) {
        dSpaceCollide(s.space, &s, touch);
        contacts = 0;
        for (int k = 0; k < HEAP; k++) {
            contacts += dBodyGetNumJoints(s.body[k]);
            for (int j = 0; j < dBodyGetNumJoints(s.body[k]); j++) { // with two bodies: seen twice
                dJointID joint = dBodyGetJoint(s.body[k], j);
                contacts -= dJointGetBody(joint, 0) && dJointGetBody(joint, 1) &&
                            dJointGetBody(joint, 1) == s.body[k];
            }
        }
        dWorldStep(s.world, step);
        dJointGroupEmpty(s.contacts);
    }
    t = statistics_of(s.world);
    ck_assert_double_eq_tol(t.time, 1, 1e-12);
    ck_assert_double_eq(t.step, step);
    ck_assert_int_eq(t.bodies, SCENE_BODIES);
    ck_assert_int_ge(t.islands, 3);
    ck_assert_int_eq(t.contacts, contacts);
    ck_assert_int_eq(t.rows, 8);
    ck_assert_int_eq(t.dropped, 0);
    ck_assert(t.strategy >= SPRAG_STRATEGY_NEWTON && t.strategy <= SPRAG_STRATEGY_FROZEN_FRICTION);
    ck_assert_int_gt(t.factorizations, 0);
    ck_assert(t.residual >= 0 && t.residual < 1e-3);
    ck_assert(t.penetration >= 0 && t.penetration < 0.05);
    ck_assert_double_gt(t.stiction, 0);
    ck_assert(t.pull_us > 0 && t.solve_us > 0 && t.push_us > 0);
    ck_assert_int_eq(t.steps, 100);
    ck_assert_int_eq(t.fallbacks, 0);
    ck_assert_int_eq(t.held, 0);
    dWorldQuickStep(s.world, 2 * step);
    t = statistics_of(s.world);
    ck_assert_int_eq(t.steps, 101);
    ck_assert_int_eq(t.contacts, 0);
    ck_assert_double_eq(t.step, 2 * step);
    ck_assert_double_eq_tol(t.time, 1 + 2 * step, 1e-12);
    close_scene(&s);
}
END_TEST

START_TEST(statistics_of_stock_count_steps)
{
    scene s = open_scene("method=ode");
    step_scene(&s, dWorldStep);
    sprag_world_statistics t = statistics_of(s.world);
    ck_assert_int_eq(t.steps, 1);
    ck_assert_int_eq(t.strategy, SPRAG_STRATEGY_NONE);
    ck_assert_double_eq(t.time, step);
    ck_assert_int_eq(t.contacts, 0);
    close_scene(&s);
    ck_assert_int_eq(sprag_world_stats(s.world, &t), 0); // of the world that was
    ck_assert_int_eq(t.steps, nothing.steps);
}
END_TEST

// ---- methods and worlds

// method=ode is the stepper that the program calls; the other two are whatever it calls.
START_TEST(stock_methods_are_stock)
{
    static const struct {
        const char *method;
        bool calls_quick, is_quick;
    } cases[] = {
        {"method=ode", false, false},      {"method=ode", true, true},
        {"method=ode-step", false, false}, {"method=ode-step", true, false},
        {"method=ode-quick", false, true}, {"method=ode-quick", true, true},
    };
    scene ours = open_scene(cases[_i].method), stock = open_scene("method=ode");
    unsigned long seed[2] = {1, 1};
    for (int i = 0; i < 150; i++) {
        dRandSetSeed(seed[0]);
        step_scene(&ours, cases[_i].calls_quick ? dWorldQuickStep : dWorldStep);
        seed[0] = dRandGetSeed();
        dRandSetSeed(seed[1]);
        step_scene(&stock, cases[_i].is_quick ? stock_quick : stock_step);
        seed[1] = dRandGetSeed();
    }
    ck_assert_uint_eq(seed[0], seed[1]);
    assert_same_scene(&ours, &stock);
    close_scene(&ours);
    close_scene(&stock);
}
END_TEST

START_TEST(worlds_have_methods_of_their_own)
{
    static const char *const method[] = {"method=stribeck", "method=ode",
                                         "method=stribeck,stribeck.stiction_tolerance=1e-3"};
    enum { WORLDS = 3 };
    scene together[WORLDS], alone[WORLDS];
    for (int w = 0; w < WORLDS; w++) {
        together[w] = open_scene(method[w]);
        alone[w] = open_scene(method[w]);
    }
    for (int i = 0; i < 150; i++) {
        for (int w = 0; w < WORLDS; w++) {
            step_scene(&together[w], dWorldStep);
        }
    }
    for (int w = 0; w < WORLDS; w++) {
        for (int i = 0; i < 150; i++) {
            step_scene(&alone[w], dWorldStep);
        }
        assert_same_scene(&together[w], &alone[w]);
    }
    ck_assert(scenes_differ(&together[0], &together[1]));
    for (int w = 0; w < WORLDS; w++) {
        close_scene(&together[w]);
        close_scene(&alone[w]);
    }
}
END_TEST

// Stribeck, then stock, then Stribeck: from the next step on.
START_TEST(method_can_change_between_steps)
{
    scene s = open_scene("method=stribeck");
    for (int i = 0; i < 60; i++) {
        configure(s.world, i / 20 % 2 ? "method=ode" : "method=stribeck");
        step_scene(&s, dWorldStep);
        sprag_world_statistics t = statistics_of(s.world);
        ck_assert_int_eq(t.bodies, i / 20 % 2 ? 0 : SCENE_BODIES);
        ck_assert_int_eq(t.steps, i + 1);
    }
    close_scene(&s);
}
END_TEST

// What QuickStep would iterate counts as sweeps, if that is more.
START_TEST(quick_step_iterations_are_sweeps)
{
    scene s = open_scene("stribeck.direct_work=0,stribeck.sweeps=1");
    dWorldSetQuickStepNumIterations(s.world, 50);
    int by_step = 0, by_quick_step = 0;
    for (int i = 0; i < 100; i++) {
        step_scene(&s, i % 2 ? dWorldStep : dWorldQuickStep);
        sprag_world_statistics t = statistics_of(s.world);
        ck_assert_int_ne(t.strategy, SPRAG_STRATEGY_STOCK);
        int *most = i % 2 ? &by_step : &by_quick_step;
        *most = t.sweeps > *most ? t.sweeps : *most;
    }
    ck_assert_int_gt(by_quick_step, 2 * by_step);
    ck_assert_int_ge(by_quick_step, 50);
    close_scene(&s);
}
END_TEST

// A wall of 200 bricks of 1 kg under a beam that sweeps alone would never see the weight of.

typedef struct wall {
    dWorldID world;
    dSpaceID space;
    dJointGroupID contacts;
    dBodyID body[201];
    int bodies;
} wall;

static void add_brick(wall *w, double mass, double length, double x, double z)
{
    dMass m;
    dMassSetBoxTotal(&m, mass, length, 0.2, 0.2);
    dBodyID body = w->body[w->bodies++] = dBodyCreate(w->world);
    dBodySetMass(body, &m);
    dGeomSetBody(dCreateBox(w->space, length, 0.2, 0.2), body);
    dBodySetPosition(body, x, 0, z);
}

static void touch_wall(void *data, dGeomID a, dGeomID b)
{
    wall *w = data;
    scene s = {.world = w->world, .contacts = w->contacts};
    touch(&s, a, b);
}

static const struct {
    double mass; // kg
    step_fn *stepper;
} beams[] = {{10, dWorldStep}, {1e4, dWorldStep}, {1e6, dWorldStep}, {1e6, dWorldQuickStep}};

enum { BEAMS = sizeof beams / sizeof beams[0] };

START_TEST(a_wall_bears_a_beam)
{
    static const double sunk = 0.9998; // so that all touch
    wall w = {.world = dWorldCreate(), .space = dHashSpaceCreate(0)};
    w.contacts = dJointGroupCreate(0);
    dWorldSetGravity(w.world, 0, 0, -9.81);
    dCreatePlane(w.space, 0, 0, 1, 0);
    for (int row = 0; row < 10; row++) {
        for (int column = 0; column < 20; column++) {
            add_brick(&w, 1, 0.398, 0.4 * column + 0.18 * (row % 2), (0.1 + 0.2 * row) * sunk);
        }
    }
    add_brick(&w, beams[_i].mass, 8.2, 3.89, 2.1 * sunk);
    configure(w.world, "method=stribeck");
    for (int i = 0; i < 80; i++) {
        dSpaceCollide(w.space, &w, touch_wall);
        ck_assert(beams[_i].stepper(w.world, step));
        dJointGroupEmpty(w.contacts);
    }
    for (int i = 0; i < w.bodies; i++) {
        ck_assert_double_lt(dCalcVectorLength3(dBodyGetLinearVel(w.body[i])), 1e-3);
    }
    ck_assert_int_eq(statistics_of(w.world).fallbacks, 0);
    dJointGroupDestroy(w.contacts);
    dSpaceDestroy(w.space);
    dWorldDestroy(w.world);
}
END_TEST

static void *run_scene(void *data)
{
    dAllocateODEDataForThread((unsigned)dAllocateMaskAll);
    for (int i = 0; i < 300; i++) {
        step_scene(data, dWorldStep);
    }
    return NULL;
}

START_TEST(threads_step_worlds_at_once)
{
    enum { THREADS = 4 };
    scene threaded[THREADS], alone = open_scene("method=stribeck");
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++) {
        threaded[i] = open_scene("method=stribeck");
    }
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&thread[i], NULL, run_scene, &threaded[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
    }
    run_scene(&alone);
    for (int i = 0; i < THREADS; i++) {
        assert_same_scene(&threaded[i], &alone);
        close_scene(&threaded[i]);
    }
    close_scene(&alone);
}
END_TEST

START_TEST(a_new_world_at_an_old_address_starts_afresh)
{
    scene old = open_scene("method=ode,stribeck.stiction_tolerance=1e-2"), now, fresh;
    for (int i = 0; i < 50; i++) {
        step_scene(&old, dWorldStep);
    }
    dWorldID address = old.world;
    close_scene(&old);
    now = open_scene("");
#ifndef SANITIZED // there, memory is not used again
    ck_assert_ptr_eq(now.world, address);
#else
    (void)address;
#endif
    sprag_world_statistics t;
    ck_assert_int_eq(sprag_world_stats(now.world, &t), 0);
    fresh = open_scene("method=stribeck");
    for (int i = 0; i < 150; i++) {
        step_scene(&now, dWorldStep);
        step_scene(&fresh, dWorldStep);
    }
    t = statistics_of(now.world);
    ck_assert_int_eq(t.steps, 150);
    assert_same_scene(&now, &fresh);
    close_scene(&now);
    close_scene(&fresh);
}
END_TEST

// What a child ends with that makes a step of that length.
static int status_of(step_fn *stepper, dReal length, const char *method)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        ck_assert_ptr_nonnull(freopen("/dev/null", "w", stderr));
        dWorldID w = dWorldCreate();
        sprag_world_configure(w, method);
        dBodyCreate(w);
        _exit(stepper(w, length) ? 0 : 3);
    }
    ck_assert_int_gt(child, 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}

static int step_nothing(dWorldID world, dReal length)
{
    (void)world;
    return dWorldStep(NULL, length);
}

static int quick_step_nothing(dWorldID world, dReal length)
{
    (void)world;
    return dWorldQuickStep(NULL, length);
}

START_TEST(a_step_of_no_world_is_odes_own_error)
{
    ck_assert_int_eq(WTERMSIG(status_of(step_nothing, 0.01, "method=stribeck")), SIGABRT);
    ck_assert_int_eq(WTERMSIG(status_of(quick_step_nothing, 0.01, "method=stribeck")), SIGABRT);
}
END_TEST

START_TEST(a_bad_step_is_odes_own_error)
{
    static const dReal length[] = {0, -0.01, (dReal)NAN, 0.01};
    int stock = status_of(stock_step, length[_i], "method=ode");
    ck_assert_int_eq(status_of(dWorldStep, length[_i], "method=stribeck"), stock);
    ck_assert_int_eq(status_of(sprag_world_step, length[_i], "method=stribeck"), stock);
    ck_assert_int_eq(status_of(dWorldQuickStep, length[_i], "method=stribeck"),
                     status_of(stock_quick, length[_i], "method=ode"));
    ck_assert_int_eq(stock == 0, length[_i] > 0);
}
END_TEST

START_TEST(sprag_world_step_is_a_step_too)
{
    scene one = open_scene("method=stribeck"), other = open_scene("method=stribeck");
    for (int i = 0; i < 100; i++) {
        step_scene(&one, sprag_world_step);
        step_scene(&other, dWorldStep);
    }
    assert_same_scene(&one, &other);
    close_scene(&one);
    close_scene(&other);
    int parts[3], length = 0;
    sscanf(sprag_version(), "%d.%d.%d%n", &parts[0], &parts[1], &parts[2], &length);
    ck_assert_uint_eq(strlen(sprag_version()), (unsigned)length);
}
END_TEST

// What options do shows in the statistics.
START_TEST(options_reach_the_solver)
{
    scene s = open_scene("stribeck.stiction_tolerance=1e-3,stribeck.stiction_at_rest=1e-3");
    for (int i = 0; i < 100; i++) {
        step_scene(&s, dWorldStep);
    }
    sprag_world_statistics t = statistics_of(s.world);
    ck_assert_double_eq(t.stiction, 1e-3);
    ck_assert_int_lt(t.strategy, SPRAG_STRATEGY_FROZEN_FRICTION);
    configure(s.world, "stribeck.direct_work=0,stribeck.sweeps=0");
    step_scene(&s, dWorldStep);
    t = statistics_of(s.world);
    ck_assert_int_eq(t.strategy, SPRAG_STRATEGY_FROZEN_FRICTION);
    ck_assert_int_eq(t.fallbacks, 0);
    close_scene(&s);
}
END_TEST

// A world that shares its working memory, and one whose memory is cleaned up between steps.
START_TEST(working_memory_is_the_programs)
{
    scene plain = open_scene("method=stribeck"), first = open_scene("method=stribeck");
    scene shares = open_scene("method=stribeck"), cleans = open_scene("method=stribeck");
    ck_assert(dWorldUseSharedWorkingMemory(shares.world, first.world));
    for (int i = 0; i < 100; i++) {
        step_scene(&plain, dWorldStep);
        step_scene(&first, dWorldStep);
        step_scene(&shares, dWorldStep);
        step_scene(&cleans, dWorldStep);
        dWorldCleanupWorkingMemory(cleans.world);
    }
    assert_same_scene(&plain, &first);
    assert_same_scene(&plain, &shares);
    assert_same_scene(&plain, &cleans);
    close_scene(&shares);
    close_scene(&first);
    close_scene(&cleans);
    close_scene(&plain);
}
END_TEST

// Bodies, geoms and joints are made and destroyed between steps, at addresses seen before.
START_TEST(bodies_come_and_go)
{
    scene s = open_scene("method=stribeck");
    for (int i = 0; i < 300; i++) {
        step_scene(&s, dWorldStep);
        if (i % 10 == 9) {
            int k = i / 10 % HEAP;
            dGeomDestroy(dBodyGetFirstGeom(s.body[k]));
            dBodyDestroy(s.body[k]);
            s.body[k] = create_body(s.world, 1, 0.1 * k, 0, 1 + 0.1 * k);
            add_geom(&s, k);
        }
        for (int k = 0; k < HEAP; k++) {
            body_state b = state_of(s.body[k]);
            ck_assert(state_is_finite(&b));
            ck_assert_double_gt(b.x[2], 0); // above the floor
        }
    }
    ck_assert_int_eq(statistics_of(s.world).fallbacks, 0);
    close_scene(&s);
}
END_TEST

// ---- joints and free bodies

static const int joint_likes[] = {
    PAIR_PLAIN,
    PAIR_MOVED,
    PAIR_SKEWED | PAIR_MOVED,
    PAIR_MOTORS,
    PAIR_STOPS,
    PAIR_MOTORS | PAIR_STOPS,
    PAIR_TO_WORLD,
    PAIR_TO_WORLD | PAIR_MOVED | PAIR_SKEWED,
    PAIR_TO_WORLD | PAIR_MOTORS,
    PAIR_TO_WORLD | PAIR_STOPS | PAIR_MOTORS,
    PAIR_REVERSED | PAIR_MOVED,
    PAIR_REVERSED | PAIR_MOTORS | PAIR_STOPS,
};

enum { JOINT_LIKES = sizeof joint_likes / sizeof joint_likes[0] };

static double fastest(const body_state *s)
{
    double most = 1;
    for (int k = 0; k < 6; k++) {
        most = fmax(most, fabs(s->v[k]));
    }
    return most;
}

// One step of a joint's equations, motors and limits: stock's solution, stock's feedback.
START_TEST(joint_moves_as_in_stock)
{
    const joint_kind *kind = &joint_kinds[_i / JOINT_LIKES];
    int like = joint_likes[_i % JOINT_LIKES];
    pair ours, stock;
    if (!kind_can_be(kind, like)) {
        return;
    }
    open_pair(&ours, kind, like);
    open_pair(&stock, kind, like);
    ask_feedback(&ours);
    ask_feedback(&stock);
    configure(ours.world, "method=stribeck");
    configure(stock.world, "method=ode");
    dWorldStep(ours.world, step);
    stock_step(stock.world, step);
    const dReal *f[2][4];
    for (int w = 0; w < 2; w++) {
        const dJointFeedback *of = w ? &stock.feedback : &ours.feedback;
        const dReal *const parts[4] = {of->f1, of->t1, of->f2, of->t2};
        memcpy(f[w], parts, sizeof parts);
    }
    double largest = 1;
    for (int k = 0; k < 12; k++) {
        largest = fmax(largest, fabs(f[1][k / 3][k % 3]));
    }
    for (int k = 0; k < 12; k++) {
        ck_assert_msg(fabs(f[0][k / 3][k % 3] - f[1][k / 3][k % 3]) <= 1e-6 * largest,
                      "type %d like %#x: feedback[%d] %.10g, stock %.10g", kind->type,
                      (unsigned)like, k, f[0][k / 3][k % 3], f[1][k / 3][k % 3]);
    }
    ck_assert_int_eq(statistics_of(ours.world).fallbacks, 0);
    for (int i = 0; i < 2 && ours.body[i]; i++) {
        body_state a = state_of(ours.body[i]), b = state_of(stock.body[i]);
        for (int k = 0; k < 6; k++) {
            ck_assert_msg(fabs(a.v[k] - b.v[k]) <= 1e-6 * fastest(&b),
                          "type %d like %#x body %d: v[%d] = %.10g, stock %.10g", kind->type,
                          (unsigned)like, i, k, a.v[k], b.v[k]);
        }
    }
    close_pair(&ours);
    close_pair(&stock);
}
END_TEST

// What stock cannot mend, rounding and a curved path, we need not either.
START_TEST(joint_holds_as_well_as_in_stock)
{
    const joint_kind *kind = &joint_kinds[_i / JOINT_LIKES];
    int like = joint_likes[_i % JOINT_LIKES];
    pair ours, stock;
    double error[2] = {0, 0};
    if (!kind_can_be(kind, like)) {
        return;
    }
    open_pair(&ours, kind, like);
    open_pair(&stock, kind, like);
    configure(ours.world, "method=stribeck");
    configure(stock.world, "method=ode");
    for (int i = 0; i < 200; i++) {
        dWorldStep(ours.world, step);
        stock_step(stock.world, step);
        error[0] = fmax(error[0], joint_error(ours.joint));
        error[1] = fmax(error[1], joint_error(stock.joint));
    }
    body_state a = state_of(ours.body[0]);
    ck_assert(state_is_finite(&a));
    ck_assert_int_eq(statistics_of(ours.world).fallbacks, 0);
    bool holds = error[1] < 0.1; // stock's reversed PR and piston come apart
    ck_assert_msg(!holds || error[0] <= 1.05 * error[1] + 1e-6, "type %d like %#x: %g, stock %g",
                  kind->type, (unsigned)like, error[0], error[1]);
    close_pair(&ours);
    close_pair(&stock);
}
END_TEST

// A bob of 1 kg on a body of a thousand tons that moves: the bob falls as if it stood still.
START_TEST(small_forces_count_at_any_speed)
{
    static const double speed[] = {0, 3, 30, 300}, length = 1e-3;
    dWorldID world = dWorldCreate();
    dWorldSetGravity(world, 0, 0, -9.81);
    dBodyID heavy = dBodyCreate(world), bob = dBodyCreate(world);
    dMass m;
    dMassSetBoxTotal(&m, 1e6, 4, 2, 1);
    dBodySetMass(heavy, &m);
    dBodySetGravityMode(heavy, 0);
    dMassSetSphereTotal(&m, 1, 0.1);
    dBodySetMass(bob, &m);
    dBodySetPosition(bob, 1, 0, 0);
    dBodySetLinearVel(heavy, speed[_i], 0, 0);
    dBodySetLinearVel(bob, speed[_i], 0, 0);
    dJointID joint = dJointCreateBall(world, 0);
    dJointAttach(joint, heavy, bob);
    dJointSetBallAnchor(joint, 0, 0, 0);
    for (int i = 0; i < 300; i++) {
        dWorldStep(world, length);
    }
    double fallen = dBodyGetPosition(heavy)[2] - dBodyGetPosition(bob)[2];
    ck_assert_double_eq_tol(fallen, 0.424423, 1e-5); // as stock's at rest
    dWorldDestroy(world);
}
END_TEST

// A body that slides fast under little friction loses mu g each second.
START_TEST(little_friction_counts_at_any_speed)
{
    static const double speed[] = {1, 50, 100}, mu = 3e-3, length = 1e-3;
    dWorldID world = dWorldCreate();
    dJointGroupID contacts = dJointGroupCreate(0);
    dWorldSetGravity(world, 0, 0, -9.81);
    dBodyID puck = dBodyCreate(world);
    dMass m;
    dMassSetBoxTotal(&m, 1, 1, 1, 0.2);
    dBodySetMass(puck, &m);
    dBodySetPosition(puck, 0, 0, 0.1);
    dBodySetLinearVel(puck, speed[_i], 0, 0);
    for (int i = 0; i < 500; i++) {
        for (int corner = 0; corner < 4; corner++) {
            dContact c = {.surface = {.mode = dContactApprox1, .mu = mu}};
            dBodyGetRelPointPos(puck, corner & 1 ? 0.5 : -0.5, corner & 2 ? 0.5 : -0.5, -0.1,
                                c.geom.pos);
            c.geom.normal[2] = 1;
            c.geom.depth = fmax(0, -c.geom.pos[2]);
            dJointAttach(dJointCreateContact(world, contacts, &c), puck, 0);
        }
        dWorldStep(world, length);
        dJointGroupEmpty(contacts);
    }
    double lost = speed[_i] - dBodyGetLinearVel(puck)[0];
    ck_assert_double_eq_tol(lost, mu * 9.81 * 0.5, 1e-3 * mu * 9.81);
    dJointGroupDestroy(contacts);
    dWorldDestroy(world);
}
END_TEST

START_TEST(free_bodies_fly_as_in_stock)
{
    dWorldID worlds[2] = {dWorldCreate(), dWorldCreate()};
    dBodyID body[2][3];
    for (int w = 0; w < 2; w++) {
        configure(worlds[w], w ? "method=ode" : "method=stribeck");
        dWorldSetGravity(worlds[w], 0.1, -0.2, -9.81);
        for (int i = 0; i < 3; i++) {
            body[w][i] = create_body(worlds[w], 1 + i, i, 0, 0);
            dBodySetAngularVel(body[w][i], 1, 5, -3);
            dBodySetLinearVel(body[w][i], 1, i, 3);
        }
        dBodySetGyroscopicMode(body[w][1], 0);
        dBodySetDamping(body[w][2], 0.01, 0.02);
    }
    for (int i = 0; i < 100; i++) {
        for (int w = 0; w < 2; w++) {
            dBodyAddForceAtRelPos(body[w][i % 3], 1, 2, 3, 0.1, 0, 0);
            (w ? stock_step : dWorldStep)(worlds[w], step);
        }
    }
    for (int i = 0; i < 3; i++) {
        body_state a = state_of(body[0][i]), b = state_of(body[1][i]);
        for (int k = 0; k < 6; k++) {
            ck_assert_double_eq_tol(a.v[k], b.v[k], 1e-12 * fastest(&b));
        }
        for (int k = 0; k < 3; k++) {
            ck_assert_double_eq_tol(a.x[k], b.x[k], 1e-12 * fmax(1, fabs(b.x[k])));
        }
    }
    dWorldDestroy(worlds[0]);
    dWorldDestroy(worlds[1]);
}
END_TEST

// ---- sleep

static scene open_resting(const char *options)
{
    scene s = {.world = dWorldCreate(), .space = dSimpleSpaceCreate(0)};
    s.contacts = dJointGroupCreate(0);
    configure(s.world, options);
    dWorldSetGravity(s.world, 0, 0, -9.81);
    dWorldSetAutoDisableFlag(s.world, 1);
    dWorldSetAutoDisableSteps(s.world, 15);
    dCreatePlane(s.space, 0, 0, 1, 0);
    for (int i = 0; i < 3; i++) {
        s.body[i] = create_body(s.world, 1, 2 * i, 0, 0.1);
        dGeomSetBody(dCreateBox(s.space, 0.3, 0.4, 0.2), s.body[i]);
    }
    return s;
}

// When boxes that lie still fall asleep; what hits one wakes it, and no other.
START_TEST(bodies_sleep_and_wake_as_in_stock)
{
    scene s[2] = {open_resting("method=stribeck"), open_resting("method=ode")};
    int asleep[2] = {0, 0}, woken[2] = {0, 0};
    for (int w = 0; w < 2; w++) {
        step_fn *stepper = w ? stock_step : dWorldStep;
        for (int i = 1; i <= 300; i++) {
            step_scene(&s[w], stepper);
            if (!asleep[w] && !dBodyIsEnabled(s[w].body[1])) {
                asleep[w] = i;
            }
        }
        for (int k = 0; k < 3; k++) {
            ck_assert(!dBodyIsEnabled(s[w].body[k]));
        }
        s[w].body[3] = create_body(s[w].world, 1, 2, 0, 0.5);
        dGeomSetBody(dCreateSphere(s[w].space, 0.1), s[w].body[3]);
        dBodySetLinearVel(s[w].body[3], 0, 0, -1);
        for (int i = 1; i <= 50; i++) {
            step_scene(&s[w], stepper);
            if (!woken[w] && dBodyIsEnabled(s[w].body[1])) {
                woken[w] = i;
            }
            ck_assert(!dBodyIsEnabled(s[w].body[0]) && !dBodyIsEnabled(s[w].body[2]));
        }
    }
    ck_assert_int_gt(asleep[1], 0);
    ck_assert_int_eq(asleep[0], asleep[1]);
    ck_assert_int_gt(woken[1], 0);
    ck_assert_int_eq(woken[0], woken[1]);
    close_scene(&s[0]);
    close_scene(&s[1]);
}
END_TEST

// A kinematic body is moved by no contact, and takes along what lies on it.
START_TEST(a_kinematic_body_carries_others)
{
    scene s = open_resting("method=stribeck");
    const double v = 0.5; // m/s
    dWorldSetAutoDisableFlag(s.world, 0);
    for (int i = 0; i < 3; i++) {
        dBodySetAutoDisableFlag(s.body[i], 0);
        dBodySetPosition(s.body[i], 2 * i, 0, 1.1);
    }
    dBodySetPosition(s.body[1], 0, 0, 1.3);
    dBodySetKinematic(s.body[0]);
    dBodySetLinearVel(s.body[0], v, 0, 0);
    dBodySetLinearVel(s.body[1], v, 0, 0);
    for (int i = 0; i < 200; i++) {
        step_scene(&s, dWorldStep);
    }
    ck_assert_double_eq(dBodyGetLinearVel(s.body[0])[0], v);
    ck_assert_double_eq(dBodyGetLinearVel(s.body[0])[2], 0);
    ck_assert_double_eq(dBodyGetPosition(s.body[0])[2], 1.1);
    ck_assert_double_eq_tol(dBodyGetPosition(s.body[1])[0], 200 * step * v, 1e-4);
    ck_assert_double_eq_tol(dBodyGetPosition(s.body[1])[2], 1.3, 1e-4);
    close_scene(&s);
}
END_TEST

// ---- callbacks, feedback, random numbers

enum { CALLS_MAX = 64 };

static struct {
    int count;
    long number[CALLS_MAX]; // of the body
} calls;

static void body_moved(dBodyID body)
{
    if (calls.count < CALLS_MAX) {
        calls.number[calls.count] = (long)(intptr_t)dBodyGetData(body);
    }
    calls.count++;
    dBodyAddForce(body, 0, 0, 1000); // lost, as in stock
}

START_TEST(moved_callbacks_come_in_stocks_order)
{
    scene s[2] = {open_scene("method=stribeck"), open_scene("method=ode")};
    long order[2][CALLS_MAX] = {{0}};
    int count[2];
    for (int w = 0; w < 2; w++) {
        calls.count = 0;
        for (int i = 0; i < SCENE_BODIES; i++) {
            dBodySetData(s[w].body[i], (void *)(intptr_t)i);
            dBodySetMovedCallback(s[w].body[i], body_moved);
        }
        step_scene(&s[w], w ? stock_step : dWorldStep);
        step_scene(&s[w], w ? stock_step : dWorldStep);
        count[w] = calls.count;
        memcpy(order[w], calls.number, sizeof calls.number);
        ck_assert_double_eq(dBodyGetForce(s[w].body[0])[2], 0);
    }
    ck_assert_int_eq(count[0], 2 * SCENE_BODIES);
    ck_assert_int_eq(count[0], count[1]);
    ck_assert_mem_eq(order[0], order[1], sizeof(long[2 * SCENE_BODIES]));
    close_scene(&s[0]);
    close_scene(&s[1]);
}
END_TEST

// Boxes at rest: what holds them is their weight, whoever stands on whom.
START_TEST(contact_feedback_carries_the_weight)
{
    enum { BOXES = 3, FEEDBACKS = 64 };
    static dJointFeedback feedback[FEEDBACKS];
    scene s = open_resting("method=stribeck");
    for (int i = 0; i < BOXES; i++) {
        dMass m;
        dMassSetBoxTotal(&m, 1 + 2 * i, 0.3, 0.4, 0.2);
        dBodySetMass(s.body[i], &m);
        dBodySetPosition(s.body[i], 0, 0, 0.1 + 0.2 * i);
    }
    dWorldSetAutoDisableFlag(s.world, 0);
    double lifted[BOXES] = {0}, torque[BOXES] = {0};
    for (int n = 0; n < 300; n++) {
        int used = 0;
        memset(lifted, 0, sizeof lifted);
        memset(torque, 0, sizeof torque);
        for (int i = 0; i < BOXES; i++) {
            dBodySetAutoDisableFlag(s.body[i], 0);
        }
        dSpaceCollide(s.space, &s, touch);
        for (int i = 0; i < BOXES; i++) {
            for (int j = 0; j < dBodyGetNumJoints(s.body[i]); j++) {
                dJointID joint = dBodyGetJoint(s.body[i], j);
                if (!dJointGetFeedback(joint)) {
                    ck_assert_int_lt(used, FEEDBACKS);
                    dJointSetFeedback(joint, &feedback[used++]);
                }
            }
        }
        dWorldStep(s.world, step);
        for (int i = 0; i < BOXES; i++) {
            for (int j = 0; j < dBodyGetNumJoints(s.body[i]); j++) {
                dJointID joint = dBodyGetJoint(s.body[i], j);
                const dJointFeedback *f = dJointGetFeedback(joint);
                bool first = dJointGetBody(joint, 0) == s.body[i] || !dJointGetBody(joint, 0);
                lifted[i] += first ? f->f1[2] : f->f2[2];
                torque[i] += first ? f->t1[0] : f->t2[0];
            }
        }
        dJointGroupEmpty(s.contacts);
    }
    for (int i = 0; i < BOXES; i++) {
        ck_assert_double_eq_tol(lifted[i], (1 + 2 * i) * 9.81, 1e-3);
        ck_assert_double_eq_tol(torque[i], 0, 1e-3);
    }
    close_scene(&s);
}
END_TEST

// Islands with many rows, with one, with none, that stay as they are.
static dWorldID open_islands(const char *options)
{
    dWorldID w = dWorldCreate();
    configure(w, options);
    for (int i = 0; i < 4; i++) {
        dBodyID a = create_body(w, 1, 10 * i, 0, 0), b = create_body(w, 1, 10 * i + 1, 0, 0);
        for (int k = 0; k < 2 * i; k++) {
            dContact c;
            memset(&c, 0, sizeof c);
            c.surface.mu = 0.5;
            c.surface.mode = dContactApprox1;
            c.geom.normal[2] = 1;
            c.geom.pos[0] = 10 * i + k;
            dJointAttach(dJointCreateContact(w, 0, &c), a, k % 2 ? b : 0);
        }
        if (i > 1) {
            dJointAttach(dJointCreateBall(w, 0), a, b);
        }
    }
    dBodyID c = create_body(w, 1, 100, 0, 0), d = create_body(w, 1, 100.3, 0, 0);
    dJointID rod = dJointCreateDBall(w, 0); // one row
    dJointAttach(rod, c, d);
    dJointSetDBallAnchor1(rod, 100, 0, 0);
    dJointSetDBallAnchor2(rod, 100.3, 0, 0);
    dJointAttach(dJointCreateNull(w, 0), create_body(w, 1, 200, 0, 0),
                 create_body(w, 1, 201, 0, 0));
    return w;
}

// dWorldQuickStep shuffles its rows, and programs see where ODE's generator then is.
START_TEST(quick_step_draws_stocks_random_numbers)
{
    static const int iterations[] = {1, 7, 8, 9, 16, 17, 20, 24, 25, 33, 50};
    dWorldID ours = open_islands("method=stribeck"), stock = open_islands("method=ode");
    unsigned long seed[2];
    for (size_t i = 0; i < sizeof iterations / sizeof iterations[0]; i++) {
        for (int w = 0; w < 2; w++) {
            dWorldSetQuickStepNumIterations(w ? stock : ours, iterations[i]);
            dRandSetSeed(42);
            for (int k = 0; k < 5; k++) {
                (w ? stock_quick : dWorldQuickStep)(w ? stock : ours, step);
            }
            seed[w] = dRandGetSeed();
        }
        ck_assert_msg(seed[0] == seed[1], "%d iterations", iterations[i]);
        dRandSetSeed(42);
        dWorldStep(ours, step);
        ck_assert_uint_eq(dRandGetSeed(), 42);
    }
    dWorldDestroy(ours);
    dWorldDestroy(stock);
}
END_TEST

// ---- what goes wrong

// ODE takes the island, and only that one.
START_TEST(ode_takes_what_we_cannot_solve)
{
    static const char *const method[] = {"method=stribeck", "method=ode"};
    body_state after[2];
    unsigned long seed[2];
    for (int i = 0; i < 2; i++) {
        dWorldID w = dWorldCreate();
        configure(w, method[i]);
        dWorldSetGravity(w, 0, 0, -10);
        dBodyID odd = create_body(w, 1, 0, 0, 0), plain = create_body(w, 1, 5, 0, 0);
        dBodyAddForce(odd, 1, 2, 3);
        touch_impossibly(w, 0, odd);
        dRandSetSeed(3);
        (_i ? dWorldQuickStep : dWorldStep)(w, step);
        seed[i] = dRandGetSeed();
        after[i] = state_of(odd);
        ck_assert_double_eq_tol(dBodyGetLinearVel(plain)[2], -0.1, 1e-12);
        ck_assert_double_eq(dBodyGetForce(odd)[0], 0);
        sprag_world_statistics t = statistics_of(w);
        ck_assert_int_eq(t.fallbacks, i == 0);
        ck_assert_int_eq(t.strategy, i == 0 ? SPRAG_STRATEGY_STOCK : SPRAG_STRATEGY_NONE);
        ck_assert_int_eq(t.steps, 1);
        dWorldDestroy(w);
    }
    ck_assert(state_is_finite(&after[0]));
    ck_assert_mem_eq(&after[0], &after[1], sizeof after[0]);
    ck_assert_uint_eq(seed[0], seed[1]);
}
END_TEST

// What is taken as zero for us is so for ODE.
START_TEST(ode_gets_no_bad_force_either)
{
    dWorldID w = dWorldCreate();
    configure(w, "method=stribeck");
    dBodyID odd = create_body(w, 1, 0, 0, 0);
    touch_impossibly(w, 0, odd);
    dBodyAddForce(odd, (dReal)NAN, 0, 0);
    dWorldStep(w, step);
    body_state after = state_of(odd);
    ck_assert(state_is_finite(&after));
    dWorldDestroy(w);
}
END_TEST

// Programs write 1e20, FLT_MAX or dInfinity for a contact that must not slip.
START_TEST(however_rough_a_box_stays)
{
    static const double mu[] = {1e3, 1e6, 1e9, 1e12, 1e15, 1e20, FLT_MAX, DBL_MAX, INFINITY};
    dWorldID w = dWorldCreate();
    configure(w, "method=stribeck");
    dWorldSetGravity(w, 0, 0, -9.81);
    dBodyID box = create_body(w, 1, 0, 0, 0.1);
    for (int i = 0; i < 4; i++) {
        dContact c;
        memset(&c, 0, sizeof c);
        c.surface.mu = mu[_i];
        c.surface.mode = dContactApprox1;
        c.geom.normal[2] = 1;
        c.geom.pos[0] = i % 2 ? 0.15 : -0.15;
        c.geom.pos[1] = i / 2 ? 0.2 : -0.2;
        dJointAttach(dJointCreateContact(w, 0, &c), box, 0);
    }
    for (int i = 0; i < 100; i++) {
        dBodyAddForce(box, 5, 0, 0);
        dWorldStep(w, step);
        ck_assert_double_eq_tol(dBodyGetLinearVel(box)[0], 0, 1e-4);
    }
    sprag_world_statistics t = statistics_of(w);
    ck_assert_msg(t.fallbacks == 0, "mu %g: %ld of 100 steps left to ODE", mu[_i], t.fallbacks);
    dWorldDestroy(w);
}
END_TEST

// The island of a body whose velocity is not a number stays where it is, the others do not; once
// the program has mended the body, so does its island.
START_TEST(holds_what_is_not_finite)
{
    dWorldID w = dWorldCreate();
    configure(w, "method=stribeck");
    dWorldSetGravity(w, 0, 0, -10);
    dBodyID body[3];
    for (int i = 0; i < 3; i++) {
        body[i] = create_body(w, 1, i, 0, 0);
    }
    dJointAttach(dJointCreateBall(w, 0), body[0], body[1]);
    dBodySetLinearVel(body[0], 0, (dReal)NAN, 0);
    dBodyAddForce(body[1], 1, 0, 0);
    body_state before = state_of(body[1]);
    for (int i = 1; i <= 5; i++) {
        dWorldStep(w, step);
        ck_assert_int_eq(statistics_of(w).held, 2 * i);
    }
    body_state after = state_of(body[1]);
    ck_assert_mem_eq(&after, &before, sizeof after);
    ck_assert_double_eq(dBodyGetForce(body[1])[0], 0);
    ck_assert_double_eq(dBodyGetPosition(body[0])[0], 0);
    ck_assert_double_eq_tol(dBodyGetLinearVel(body[2])[2], -0.5, 1e-12);
    dBodySetLinearVel(body[0], 0, 0, 0);
    dWorldStep(w, step);
    ck_assert_int_eq(statistics_of(w).held, 10);
    ck_assert_double_eq_tol(dBodyGetLinearVel(body[1])[2], -0.1, 1e-12);
    dWorldDestroy(w);
}
END_TEST

// Forces that are not numbers, or too large for any velocity, each step anew.
START_TEST(bad_forces_leave_the_world_finite)
{
    static const double force[] = {NAN, INFINITY, -INFINITY, 1e200, 1e30};
    scene s = open_scene("method=stribeck");
    for (int i = 0; i < 100; i++) {
        if (i % 10 == 0) {
            dBodyAddForce(s.body[i / 10 % SCENE_BODIES], 0, 0, force[_i]);
            dBodyAddTorque(s.body[HEAP + i / 10 % 3], force[_i], 0, 0);
        }
        if (_i >= 3 && i % 10 == 1) { // not far enough to overflow ODE's collision
            break;
        }
        step_scene(&s, dWorldStep);
        for (int k = 0; k < SCENE_BODIES; k++) {
            body_state b = state_of(s.body[k]);
            ck_assert_msg(state_is_finite(&b), "body %d in step %d", k, i);
        }
    }
    close_scene(&s);
}
END_TEST

// Bodies next to nothing, as heavy as can be, and kinematic, on one another.
START_TEST(odd_masses_leave_the_world_finite)
{
    static const double mass[] = {1e-9, 1e-6, 1e-3, 1e3, 1e6, 1e9, 1e30, 1e300};
    scene s = open_scene("method=stribeck");
    for (int i = 0; i < HEAP; i += 2) {
        dMass m;
        dMassSetBoxTotal(&m, 1, 0.3, 0.4, 0.2);
        dMassAdjust(&m, mass[_i]);
        dBodySetMass(s.body[i], &m);
    }
    dBodySetKinematic(s.body[1]);
    for (int i = 0; i < 100; i++) {
        step_scene(&s, dWorldStep);
        for (int k = 0; k < SCENE_BODIES; k++) {
            body_state b = state_of(s.body[k]);
            ck_assert_msg(state_is_finite(&b), "body %d in step %d", k, i);
            ck_assert_msg(fabs(b.x[0]) + fabs(b.x[1]) + fabs(b.x[2]) < 1e6,
                          "body %d in step %d: thrown", k, i);
        }
    }
    ck_assert_int_eq(statistics_of(s.world).held, 0);
    close_scene(&s);
}
END_TEST

// ---- memory

// From the system, while dWorldStep runs; after as many steps as it takes to meet the largest need.
static const struct {
    const char *model, *options;
} settling[] = {
    {"stack", "method=stribeck"},
    {"pile:20", "method=stribeck"},
    {"heavy", "method=stribeck"},
    {"pile:20", "stribeck.sweeps=0,stribeck.max_iterations=3"},
    {"stack", "stribeck.direct_work=0"},
    {"stack", "method=ess"},
    {"bounce", "method=ess"},
};

enum { SETTLING = sizeof settling / sizeof settling[0] };

START_TEST(a_settled_scene_allocates_nothing)
{
    sprag_scene model;
    ck_assert(sprag_scene_open(&model, sprag_model_find(settling[_i].model), 0));
    scene s = {.world = model.world, .space = model.space, .contacts = model.contacts};
    configure(s.world, settling[_i].options);
    const world_state *state = world_find(s.world);
    long grown = 0;
    for (int i = 0; i < 2000; i++) {
        dSpaceCollide(s.space, &s, touch);
        counting = true;
        dWorldStep(s.world, step);
        counting = false;
        dJointGroupEmpty(s.contacts);
        if (i == 999) {
            grown = crew_scratch(state->crew)->allocations;
            ck_assert_int_gt(grown, 0);
#ifndef SANITIZED
            ck_assert_int_ge(allocations, grown);
#endif
            allocations = 0;
        }
    }
    ck_assert_int_eq(crew_scratch(state->crew)->allocations, grown);
    ck_assert_int_eq(allocations, 0);
    ck_assert_int_gt(statistics_of(s.world).contacts, 0);
    sprag_scene_close(&model);
}
END_TEST

static void setup(void)
{
    start_ode();
    dSetMessageHandler(quiet);
    void *ode = dlopen("libode.so.8", RTLD_NOW | RTLD_NOLOAD);
    stock_step = (step_fn *)(intptr_t)dlsym(ode, "dWorldStep");
    stock_quick = (step_fn *)(intptr_t)dlsym(ode, "dWorldQuickStep");
    ck_assert(stock_step && stock_step != dWorldStep && stock_quick);
    world = dWorldCreate();
}

static void teardown(void)
{
    dWorldDestroy(world);
    dCloseODE();
}

int main(void)
{
    TCase *options = tcase_create("options"), *statistics = tcase_create("statistics");
    TCase *methods_ = tcase_create("methods"), *motion = tcase_create("motion");
    TCase *rest = tcase_create("besides"), *wrong = tcase_create("what goes wrong");
    TCase *const cases[] = {options, statistics, methods_, motion, rest, wrong};
    Suite *suite = suite_create("plugin");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        suite_add_tcase(suite, cases[i]);
        tcase_add_checked_fixture(cases[i], setup, teardown);
        tcase_set_timeout(cases[i], 60);
    }
    tcase_add_test(options, reads_options);
    tcase_add_loop_test(options, refuses_options_and_says_why, 0, BAD_OPTIONS);
    tcase_add_loop_test(options, takes_a_string_whole_or_not_at_all, 0, BAD_OPTIONS);
    tcase_add_test(options, later_options_win);
    tcase_add_test(options, asks_for_a_world_and_a_string);
    tcase_add_test(options, help_lists_the_defaults);
    tcase_add_test(statistics, statistics_tell_of_the_step);
    tcase_add_test(statistics, statistics_of_stock_count_steps);
    tcase_add_loop_test(methods_, stock_methods_are_stock, 0, 6);
    tcase_add_test(methods_, worlds_have_methods_of_their_own);
    tcase_add_test(methods_, method_can_change_between_steps);
    tcase_add_test(methods_, threads_step_worlds_at_once);
    tcase_add_loop_test(methods_, a_wall_bears_a_beam, 0, BEAMS);
    tcase_add_test(methods_, quick_step_iterations_are_sweeps);
    tcase_add_test(methods_, a_new_world_at_an_old_address_starts_afresh);
    tcase_add_loop_test(methods_, a_bad_step_is_odes_own_error, 0, 4);
    tcase_add_test(methods_, a_step_of_no_world_is_odes_own_error);
    tcase_add_test(methods_, sprag_world_step_is_a_step_too);
    tcase_add_test(methods_, options_reach_the_solver);
    tcase_add_test(methods_, working_memory_is_the_programs);
    tcase_add_test(methods_, bodies_come_and_go);
    tcase_add_loop_test(motion, joint_moves_as_in_stock, 0, JOINT_KINDS * JOINT_LIKES);
    tcase_add_loop_test(motion, joint_holds_as_well_as_in_stock, 0, JOINT_KINDS * JOINT_LIKES);
    tcase_add_test(motion, free_bodies_fly_as_in_stock);
    tcase_add_loop_test(motion, small_forces_count_at_any_speed, 0, 4);
    tcase_add_loop_test(motion, little_friction_counts_at_any_speed, 0, 3);
    tcase_add_test(rest, bodies_sleep_and_wake_as_in_stock);
    tcase_add_test(motion, a_kinematic_body_carries_others);
    tcase_add_test(rest, moved_callbacks_come_in_stocks_order);
    tcase_add_test(rest, contact_feedback_carries_the_weight);
    tcase_add_test(rest, quick_step_draws_stocks_random_numbers);
    tcase_add_loop_test(rest, a_settled_scene_allocates_nothing, 0, SETTLING);
    tcase_add_loop_test(wrong, ode_takes_what_we_cannot_solve, 0, 2);
    tcase_add_test(wrong, ode_gets_no_bad_force_either);
    tcase_add_loop_test(wrong, however_rough_a_box_stays, 0, 9);
    tcase_add_test(wrong, holds_what_is_not_finite);
    tcase_add_loop_test(wrong, bad_forces_leave_the_world_finite, 0, 5);
    tcase_add_loop_test(wrong, odd_masses_leave_the_world_finite, 0, 8);

    return run_suite(suite);
}
