// Methods of worlds: each world has its own, and it can change between steps.
#include <check.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "allocations.h"
#include "body_motion.h"
#include "plugin_scene.h"
#include "suite.h"
#include "worlds.h"

// ---- a scene with something of everything: a heap of boxes and balls, a double pendulum, a flyer

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

// ---- within a step its world's settings and memory are in use

static struct {
    scene *of;
    bool in_step, steps; // steps: a moved callback asks for another step
    int calls;
} within;

static void meddle(void)
{
    scene *s = within.of;
    static double A[144 * SCENE_BODIES * SCENE_BODIES], B[72 * SCENE_BODIES * SCENE_BODIES];
    if (within.in_step) {
        within.calls++;
        ck_assert_int_eq(sprag_world_configure(s->world, "method=ode"), 0);
        ck_assert_ptr_nonnull(strstr(sprag_error(), "within a step"));
        ck_assert_int_eq(sprag_world_forget(s->world), 0);
        ck_assert_ptr_nonnull(strstr(sprag_error(), "within a step"));
        ck_assert_int_eq(sprag_world_linearize(s->world, step, s->body, SCENE_BODIES, A, B), 0);
        ck_assert_ptr_nonnull(strstr(sprag_error(), "within a step"));
    }
}

static void meddle_when_moved(dBodyID body)
{
    (void)body;
    meddle();
    if (within.steps) {
        ck_assert_int_eq(dWorldStep(within.of->world, step), 0);
    }
}

static void meddle_and_touch(void *data, dGeomID a, dGeomID b)
{
    meddle();
    touch(data, a, b);
}

START_TEST(callbacks_leave_a_step_alone)
{
    static const char *const method[] = {"method=stribeck", "method=advance", "method=ess"};
    scene s = open_scene(method[_i]), plain = open_scene(method[_i]);
    within.of = &s;
    within.steps = _i > 0; // under stribeck it is taken, as in stock
    for (int i = 0; i < SCENE_BODIES; i++) {
        dBodySetMovedCallback(s.body[i], meddle_when_moved);
    }
    for (int i = 0; i < 40; i++) {
        dSpaceCollide(s.space, &s, meddle_and_touch);
        within.in_step = true;
        ck_assert_int_eq(dWorldStep(s.world, step), 1);
        within.in_step = false;
        dJointGroupEmpty(s.contacts);
        step_scene(&plain, dWorldStep);
    }
    assert_same_scene(&s, &plain);
    ck_assert_int_ge(within.calls, 40 * SCENE_BODIES + (_i > 0));
    configure(s.world, "method=ode");
    close_scene(&s);
    close_scene(&plain);
}
END_TEST

static dWorldID to_destroy[2];

static void destroy_worlds(dBodyID body)
{
    (void)body;
    for (int i = 0; i < 2 && within.in_step; i++) {
        dWorldDestroy(to_destroy[i]);
    }
    within.in_step = false;
}

static void touch_and_destroy(void *data, dGeomID a, dGeomID b)
{
    touch(data, a, b);
    destroy_worlds(NULL);
}

// Its own world and another one, which has bodies, by a moved or a near callback.
START_TEST(callbacks_destroy_worlds)
{
    static const char *const method[] = {"method=stribeck", "method=advance", "method=ess"};
    scene s = open_scene(method[_i / 2]), other = open_scene("method=ode");
    bool near = _i % 2;
    sprag_world_statistics t = {.struct_size = sizeof t};
    to_destroy[0] = s.world;
    to_destroy[1] = other.world;
    dBodySetMovedCallback(s.body[0], near ? NULL : destroy_worlds);
    dBodySetPosition(s.body[0], 0, 0, 0.1005); // falls on the floor within the step
    dBodySetLinearVel(s.body[0], 0, 0, -1);
    dBodySetRotation(s.body[0], (dMatrix3){1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0});
    dSpaceCollide(s.space, &s, touch_and_destroy);
    within.in_step = true;
    ck_assert_int_eq(dWorldStep(s.world, step), 1);
    ck_assert(near && _i / 2 == 0 ? within.in_step : !within.in_step);
    destroy_worlds(NULL);
    ck_assert_int_eq(sprag_world_stats(s.world, &t), 0);
    dJointGroupDestroy(s.contacts);
    dSpaceDestroy(s.space);
    dJointGroupDestroy(other.contacts);
    dSpaceDestroy(other.space);
}
END_TEST

// The number of QuickStep's iterations sets the number of sweeps of what moves.
START_TEST(quick_step_iterations_are_sweeps)
{
    scene s = open_scene("stribeck.direct_work=0");
    dWorldSetQuickStepNumIterations(s.world, 1);
    int by_step = 0, by_quick_step = 0;
    for (int i = 0; i < 100; i++) {
        step_scene(&s, i % 2 ? dWorldStep : dWorldQuickStep);
        sprag_world_statistics t = statistics_of(s.world);
        ck_assert_int_ne(t.strategy, SPRAG_STRATEGY_STOCK);
        *(i % 2 ? &by_step : &by_quick_step) += t.sweeps;
    }
    ck_assert_int_gt(by_quick_step, 0);
    ck_assert_int_gt(by_step, by_quick_step + 50);
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
    double bounce;
} wall;

static void add_block(wall *w, double mass, const dVector3 size, double x, double z)
{
    dMass m;
    dMassSetBoxTotal(&m, mass, size[0], size[1], size[2]);
    dBodyID body = w->body[w->bodies++] = dBodyCreate(w->world);
    dBodySetMass(body, &m);
    dGeomSetBody(dCreateBox(w->space, size[0], size[1], size[2]), body);
    dBodySetPosition(body, x, 0, z);
}

static void add_brick(wall *w, double mass, double length, double x, double z)
{
    add_block(w, mass, (const dVector3){length, 0.2, 0.2}, x, z);
}

static void touch_wall(void *data, dGeomID a, dGeomID b)
{
    wall *w = data;
    scene s = {.world = w->world, .contacts = w->contacts, .bounce = w->bounce};
    touch(&s, a, b);
}

static wall open_wall(void)
{
    wall w = {.world = dWorldCreate(), .space = dHashSpaceCreate(0)};
    w.contacts = dJointGroupCreate(0);
    dWorldSetGravity(w.world, 0, 0, -9.81);
    dCreatePlane(w.space, 0, 0, 1, 0);
    return w;
}

static void step_wall(wall *w, step_fn *stepper, double h)
{
    dSpaceCollide(w->space, w, touch_wall);
    ck_assert(stepper(w->world, h));
    dJointGroupEmpty(w->contacts);
}

static void close_wall(wall *w)
{
    destroy_world(w->world, w->space, w->contacts);
}

static const struct {
    double mass, drop; // kg, m
    step_fn *stepper;
    int steps;
} beams[] = {{10, 0, dWorldStep, 60},
             {1e4, 0, dWorldStep, 80},
             {1e6, 0, dWorldStep, 80},
             {10, 0.3, dWorldQuickStep, 130}};

enum { BEAMS = sizeof beams / sizeof beams[0] };

START_TEST(a_wall_bears_a_beam)
{
    static const double sunk = 0.9998; // so that all touch
    wall w = open_wall();
    for (int row = 0; row < 10; row++) {
        for (int column = 0; column < 20; column++) {
            add_brick(&w, 1, 0.398, 0.4 * column + 0.18 * (row % 2), (0.1 + 0.2 * row) * sunk);
        }
    }
    add_brick(&w, beams[_i].mass, 8.2, 3.89, 2.1 * sunk + beams[_i].drop);
    configure(w.world, "method=stribeck");
    for (int i = 0; i < beams[_i].steps; i++) {
        step_wall(&w, beams[_i].stepper, step);
    }
    for (int i = 0; i < w.bodies; i++) {
        ck_assert_double_lt(dCalcVectorLength3(dBodyGetLinearVel(w.body[i])), 1e-3);
    }
    ck_assert_int_eq(statistics_of(w.world).fallbacks, 0);
    close_wall(&w);
}
END_TEST

static const struct {
    int rows;
    double mass; // kg
    const char *options;
} loads[] = {{8, 60, "effort=fast"},
             {8, 60, "effort=balanced"},
             {12, 100, "effort=fast"},
             {12, 100, "effort=balanced"},
             {12, 100, "effort=exact"}};

enum { LOADS = sizeof loads / sizeof loads[0] };

// Bricks of 2 kg with gaps between them, under a load at one place.
static wall build_loaded_wall(int rows, double mass)
{
    wall w = open_wall();
    for (int row = 0; row < rows; row++) {
        for (int k = 0; k < 8 - row % 2; k++) {
            add_block(&w, 2, (const dVector3){0.24, 0.12, 0.08}, 0.25 * k + 0.125 * (row % 2),
                      0.04 + 0.08 * row);
        }
    }
    add_block(&w, mass, (const dVector3){0.2, 0.12, 0.2}, 0.9, 0.08 * rows + 0.1);
    return w;
}

// A load of 30 or 50 bricks. Sweeps alone leave such a wall trembling at 1e-2 m/s for ever.
START_TEST(a_wall_bears_a_load)
{
    wall w = build_loaded_wall(loads[_i].rows, loads[_i].mass);
    configure(w.world, loads[_i].options);
    for (int i = 0; i < 200; i++) {
        step_wall(&w, dWorldQuickStep, step);
    }
    for (int i = 0; i < w.bodies; i++) {
        ck_assert_double_lt(dCalcVectorLength3(dBodyGetLinearVel(w.body[i])), 1e-4);
    }
    close_wall(&w);
}
END_TEST

// Known forces follow sweeps that have converged; of others an update leads away.
START_TEST(what_sweeps_leave_open_is_not_known)
{
    wall w = build_loaded_wall(loads[_i].rows, loads[_i].mass);
    configure(w.world, loads[_i].options);
    for (int i = 0; i < 2; i++) {
        step_wall(&w, dWorldQuickStep, step);
        const sprag_world_statistics t = statistics_of(w.world);
        ck_assert_int_eq(t.strategy, SPRAG_STRATEGY_GAUSS_SEIDEL);
        ck_assert_int_eq(t.factorizations, 0);
    }
    close_wall(&w);
}
END_TEST

// Sweeps would lead to where Newton's method takes three updates at once.
START_TEST(bodies_that_are_placed_begin_without_sweeps)
{
    enum { ROW = 10 };
    wall w = open_wall();
    for (int i = 0; i < ROW; i++) {
        add_brick(&w, 1, 0.398, i, 0.0999);
    }
    step_wall(&w, dWorldStep, step);
    const sprag_world_statistics t = statistics_of(w.world);
    ck_assert_int_eq(t.islands, ROW);
    ck_assert_int_eq(t.strategy, SPRAG_STRATEGY_NEWTON);
    ck_assert_int_eq(t.sweeps, 0);
    ck_assert_int_le(t.iterations, 3 * ROW);
    close_wall(&w);
}
END_TEST

static const struct {
    const char *options;
    int updates; // of the first solve by cones
} rests[] = {{"effort=fast", 20}, {"effort=balanced", 15}};

enum { WALLS = 3 };

// Known forces are near again after an update that leads away: a wall that comes to rest is solved
// by them, not by cones. These begin where enough sweeps have led (without them 22 updates). Walls
// whose bricks are moved by rounding: one of them takes 4 to 25 solves by cones.
START_TEST(walls_that_rest_are_known)
{
    int solved = 0;
    for (int k = 0; k < WALLS; k++) {
        wall w = open_wall();
        for (int row = 0; row < 10; row++) {
            for (int column = 0; column < 8; column++) {
                const double x = (0.4 + 1e-10 * k) * column + 0.18 * (row % 2);
                add_brick(&w, 1, 0.398, x, 0.1 + 0.2 * row);
            }
        }
        configure(w.world, rests[_i].options);
        for (int i = 0, before = solved; i < 100; i++) {
            step_wall(&w, dWorldStep, step);
            const sprag_world_statistics t = statistics_of(w.world);
            const bool cones = t.strategy == SPRAG_STRATEGY_INTERIOR_POINT;
            if (cones && solved == before) {
                ck_assert_int_le(t.iterations, rests[_i].updates);
            }
            solved += cones;
        }
        close_wall(&w);
    }
    ck_assert_int_le(solved, 20 * WALLS);
}
END_TEST

// Planks that lean on each other and on a block. They touch in a tree, where Newton's method often
// fails, and sweeps alone leave them trembling at 1e-2 m/s for ever.
START_TEST(leaning_planks_rest)
{
    static const double lengths[] = {0.01, 0.02};
    wall w = open_wall();
    add_block(&w, 50, (const dVector3){0.5, 2, 2}, 1, 1);
    for (int i = 0; i < 5; i++) {
        dMatrix3 R;
        add_block(&w, 1, (const dVector3){0.05, 0.3, 1.2}, 0.45 - 0.12 * i, 0.6);
        dRFromAxisAndAngle(R, 0, 1, 0, 0.25);
        dBodySetRotation(w.body[w.bodies - 1], R);
    }
    configure(w.world, "method=stribeck");
    for (int i = 0; i < 600; i++) {
        step_wall(&w, dWorldStep, lengths[_i]);
    }
    for (int i = 0; i < w.bodies; i++) {
        ck_assert_double_lt(dCalcVectorLength3(dBodyGetLinearVel(w.body[i])), 1e-5);
    }
    close_wall(&w);
}
END_TEST

// J, half a step before: a step of a body that flies does not change it.
static double energy_of_wall(const wall *w, double h)
{
    double sum = 0;
    for (int i = 0; i < w->bodies; i++) {
        dMass m;
        dBodyGetMass(w->body[i], &m);
        double fall = h / 2 * dBodyGetLinearVel(w->body[i])[2];
        sum += kinetic_energy(w->body[i]);
        sum += m.mass * 9.81 * (dBodyGetPosition(w->body[i])[2] - fall);
    }
    return sum;
}

// Without the recovery of overlaps, restitution is all that may drive. By Newton's law for each
// contact alone the wall would win 16 to 29 J.
START_TEST(a_wall_that_rebounds_wins_nothing)
{
    static const double lengths[] = {0.005, 0.01, 1.0 / 60};
    const double h = lengths[_i];
    wall w = build_loaded_wall(6, 60);
    w.bounce = 1;
    configure(w.world, "method=stribeck");
    dWorldSetContactMaxCorrectingVel(w.world, 0);
    const double first = energy_of_wall(&w, h);
    for (int i = 0; i < 100; i++) {
        step_wall(&w, dWorldStep, h);
        ck_assert_double_lt(energy_of_wall(&w, h), first + 0.02); // of 551 J
    }
    close_wall(&w);
}
END_TEST

// Rad/s per rad/s: the spin of a block of half-diagonal angle a after it lands on its other edge
// (Housner, The Behavior of Inverted Pendulum Structures During Earthquakes, 1963, equation 7).
static double housner(double a)
{
    return 1 - 1.5 * sin(a) * sin(a);
}

// A tower of cubes that leans on one edge of its foot and is let go rocks as one block does: an
// impact takes Housner's share, and no step wins energy. Each cube is a little narrower than the
// one below, so that the foot lands first: of equal ones rounding decides, and others leave 3 %.
START_TEST(towers_rock_as_one_block)
{
    static const int sizes[] = {3, 5};
    enum { LEANS = 5 };
    const int n = sizes[_i];
    const double h = 0.0005, side = 0.3, a = atan(1.0 / n);
    const double rate = sqrt(3 * 9.81 / (2 * side * hypot(1, n))); // 1/s, that it falls with
    const double rest = n * 9.81 * n * side / 2;
    for (int k = 0; k < LEANS; k++) {
        const double lean = 0.02 + 0.005 * k, landing = acosh(1 / (1 - lean / a)) / rate;
        wall w = open_wall();
        dMatrix3 R;
        dRFromAxisAndAngle(R, 0, 1, 0, lean);
        for (int i = 0; i < n; i++) {
            const double x = -side / 2, z = (i + 0.5) * side;
            add_block(&w, 1, (const dVector3){side * (1 - 1e-4 * i), side, side},
                      x * cos(lean) + z * sin(lean) + side / 2, z * cos(lean) - x * sin(lean));
            dBodySetRotation(w.body[i], R);
        }
        configure(w.world, "method=stribeck");
        const double first = energy_of_wall(&w, h) - rest;
        for (int i = 0; i * h < landing + 0.1; i++) {
            step_wall(&w, dWorldStep, h);
            ck_assert_double_lt(energy_of_wall(&w, h) - rest, 1.001 * first);
        }
        const double left = (energy_of_wall(&w, h) - rest) / first;
        ck_assert_double_eq_tol(left, housner(a) * housner(a), 0.01);
        close_wall(&w);
    }
}
END_TEST

// A wall is one island of contacts whose bodies do not touch in trees.
START_TEST(effort_bounds_the_sweeps_of_heaps)
{
    static const struct {
        const char *options;
        int most; // sweeps of a wall in motion; near rest 50
        step_fn *step;
    } efforts[] = {{"effort=balanced", 50, dWorldQuickStep},
                   {"effort=fast", 20, dWorldStep},
                   {"effort=auto", 50, dWorldStep},
                   {"", 20, dWorldQuickStep}};
    wall w = open_wall();
    dWorldSetQuickStepNumIterations(w.world, 20);
    for (int i = 0; i < 30; i++) {
        add_brick(&w, 1, 0.398, 0.4 * (i % 6) + 0.18 * (i / 6 % 2), (0.1 + 0.2 * (i / 6)) * 0.9998);
    }
    configure(w.world, efforts[_i].options);
    dBodySetLinearVel(w.body[0], 0, 3, 0);
    for (int i = 0; i < 900; i++) {
        step_wall(&w, efforts[_i].step, step);
        sprag_world_statistics t = statistics_of(w.world);
        ck_assert(t.strategy == SPRAG_STRATEGY_KEPT || t.strategy == SPRAG_STRATEGY_GAUSS_SEIDEL ||
                  t.strategy == SPRAG_STRATEGY_NEWTON || t.strategy == SPRAG_STRATEGY_WARM_NEWTON ||
                  t.strategy == SPRAG_STRATEGY_FROZEN_FRICTION ||
                  t.strategy == SPRAG_STRATEGY_INTERIOR_POINT);
        ck_assert_int_le(t.sweeps, t.islands * (i == 0 ? efforts[_i].most : 50));
        ck_assert_int_eq(t.fallbacks, 0);
        ck_assert_double_lt(t.residual, 0.5);
        ck_assert_double_gt(t.stiffness_most, 0);
    }
    for (int i = 0; i < w.bodies; i++) {
        ck_assert_double_lt(dCalcVectorLength3(dBodyGetLinearVel(w.body[i])), 1e-6);
    }
    configure(w.world, "effort=exact");
    step_wall(&w, dWorldStep, step);
    sprag_world_statistics exact = statistics_of(w.world);
    ck_assert_int_ne(exact.strategy, SPRAG_STRATEGY_GAUSS_SEIDEL);
    ck_assert_double_lt(exact.residual, 1e-3);
    close_wall(&w);
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

// ODE's memory of a world is kept, and given to the next world.
static struct {
    void *block; // of the world, then of the one that is destroyed
    size_t size; // 0 before it is destroyed
} kept;

static void keep_block(void *block, size_t size)
{
    if (block == kept.block) {
        kept.size = size;
    } else {
        free(block);
    }
}

static void *give_block(size_t size)
{
    if (size != kept.size) {
        return malloc(size);
    }
    kept.size = 0;
    return kept.block;
}

START_TEST(a_new_world_at_an_old_address_starts_afresh)
{
    scene old = open_scene("method=ode,stribeck.stiction_tolerance=1e-2"), now, fresh;
    for (int i = 0; i < 50; i++) {
        step_scene(&old, dWorldStep);
    }
    dWorldID address = old.world;
    kept.block = address;
    dSetFreeHandler(keep_block);
    close_scene(&old);
    dSetFreeHandler(NULL);
    dSetAllocHandler(give_block);
    now = open_scene("");
    dSetAllocHandler(NULL);
    ck_assert_ptr_eq(now.world, address);
    sprag_world_statistics t = {.struct_size = sizeof t};
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

// Returns the exit status of a child process that makes a step of that length.
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

// The lock of the fallback to stock is free in the child, twice.
START_TEST(a_child_can_step_by_stock)
{
    int status;
    dWorldID w = dWorldCreate();
    configure(w, "method=stribeck"); // the first world prepares for forks
    pid_t child = fork();
    if (child == 0) {
        signal(SIGALRM, SIG_DFL);
        alarm(20);
        for (int i = 0; i < 2; i++) {
            sprag_ode_lock_default(true);
            sprag_ode_lock_default(false);
        }
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    dWorldDestroy(w);
}
END_TEST

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

// Options change the statistics.
START_TEST(options_reach_the_solver)
{
    scene s = open_scene("stribeck.stiction_tolerance=1e-3,stribeck.stiction_at_rest=1e-3");
    sprag_world_statistics t;
    int direct = 0;
    for (int i = 0; i < 100; i++) {
        step_scene(&s, dWorldStep);
        t = statistics_of(s.world);
        direct += t.strategy < SPRAG_STRATEGY_FROZEN_FRICTION;
    }
    ck_assert_double_eq(t.stiction, 1e-3);
    ck_assert_int_gt(direct, 0);
    configure(s.world, "stribeck.direct_work=0");
    step_scene(&s, dWorldStep);
    t = statistics_of(s.world);
    ck_assert_int_eq(t.strategy, SPRAG_STRATEGY_GAUSS_SEIDEL);
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

static void put_back(scene *s, const body_state *states)
{
    dSpaceClean(s->space); // those that are set come first, in this order
    for (int i = 0; i < SCENE_BODIES; i++) {
        const body_state *b = &states[i];
        dBodySetPosition(s->body[i], b->x[0], b->x[1], b->x[2]);
        dBodySetQuaternion(s->body[i], b->q);
        dBodySetLinearVel(s->body[i], b->v[0], b->v[1], b->v[2]);
        dBodySetAngularVel(s->body[i], b->v[3], b->v[4], b->v[5]);
    }
}

// From a heap in motion, and from one at rest.
START_TEST(a_state_that_is_put_back_goes_the_same_way)
{
    static const char *const method[] = {"method=stribeck", "method=advance", "method=ess",
                                         "method=stribeck,stribeck.speculative=1"};
    scene s = open_scene(method[_i / 2]);
    body_state from[SCENE_BODIES], to[SCENE_BODIES];
    ck_assert_int_eq(sprag_world_forget(s.world), 1); // nothing yet
    for (int i = 0; i < (_i % 2 ? 200 : 45); i++) {
        step_scene(&s, dWorldStep);
    }
    for (int i = 0; i < SCENE_BODIES; i++) {
        from[i] = state_of(s.body[i]);
    }
    for (int run = 0; run < 3; run++) {
        put_back(&s, from);
        ck_assert_int_eq(sprag_world_forget(s.world), 1);
        for (int i = 0; i < 30; i++) {
            step_scene(&s, dWorldStep);
        }
        for (int i = 0; i < SCENE_BODIES; i++) {
            const body_state now = state_of(s.body[i]);
            ck_assert_msg(run == 0 || memcmp(&now, &to[i], sizeof now) == 0, "body %d: %g", i,
                          now.x[2] - to[i].x[2]);
            to[i] = now;
        }
    }
    ck_assert_int_eq(sprag_world_forget(NULL), 0);
    ck_assert_ptr_nonnull(strstr(sprag_error(), "NULL"));
    close_scene(&s);
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

int main(void)
{
    Suite *suite = suite_create("world");
    ADD_TESTS_WITH(suite, "all", setup, teardown, {stock_methods_are_stock, 6},
                   {worlds_have_methods_of_their_own, 1}, {method_can_change_between_steps, 1},
                   {callbacks_leave_a_step_alone, 3}, {callbacks_destroy_worlds, 6},
                   {threads_step_worlds_at_once, 1}, {a_wall_bears_a_beam, BEAMS},
                   {a_wall_bears_a_load, LOADS}, {walls_that_rest_are_known, 2},
                   {bodies_that_are_placed_begin_without_sweeps, 1},
                   {what_sweeps_leave_open_is_not_known, 4}, {a_wall_that_rebounds_wins_nothing, 3},
                   {leaning_planks_rest, 2}, {towers_rock_as_one_block, 2},
                   {effort_bounds_the_sweeps_of_heaps, 4}, {quick_step_iterations_are_sweeps, 1},
                   {a_new_world_at_an_old_address_starts_afresh, 1},
                   {a_bad_step_is_odes_own_error, 4}, {a_child_can_step_by_stock, 1},
                   {a_step_of_no_world_is_odes_own_error, 1}, {sprag_world_step_is_a_step_too, 1},
                   {options_reach_the_solver, 1}, {working_memory_is_the_programs, 1},
                   {a_state_that_is_put_back_goes_the_same_way, 8}, {bodies_come_and_go, 1});
    return run_suite(suite);
}
