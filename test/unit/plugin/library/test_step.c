// A step keeps what programs rely on besides velocities: sleep, callbacks, feedback, random
// numbers, memory; and stays finite when a solve fails.
#define _GNU_SOURCE 1 // feenableexcept
#include <check.h>
#include <fenv.h>
#include <float.h>

#include "allocations.h"
#include "models.h"
#include "plugin_scene.h"
#include "suite.h"
#include "workers.h"
#include "world.h"
#include "worlds.h"

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

// The joint error may be as large as stock's, from rounding and curved paths.
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

// A body that slides fast under little friction loses the speed mu g each second.
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
            dBodySetGyroscopicMode(body[w][i], 0); // with it they fly exactly: test_spin
            dBodySetLinearVel(body[w][i], 1, i, 3);
        }
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

// Boxes at rest fall asleep as in stock. A body that hits one of them wakes only that one.
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

// Contacts do not move a kinematic body. It carries the bodies that lie on it.
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

// Boxes at rest on one another: the contact forces on each box add up to its weight.
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

// ---- a dJointFeedback that several joints share

enum { SHARED_BODIES = 3 };

static void add_shared_contact(scene *s, dBodyID a, dBodyID b, double x, double z,
                               dJointFeedback *shared)
{
    dContact contact = {.geom = {.pos = {x, 0, z}, .normal = {0, 0, 1}, .depth = 1e-3}};
    dJointID joint = dJointCreateContact(s->world, s->contacts, &contact);
    dJointAttach(joint, a, b);
    dJointSetFeedback(joint, shared);
}

// A body on two contacts that carry unequal parts of its weight.
static void stand_on_two_contacts(scene *s, dJointFeedback *shared)
{
    add_shared_contact(s, s->body[0], NULL, -0.3, 0, shared);
    add_shared_contact(s, s->body[0], NULL, 0.1, 0, shared);
}

static void stand_on_one_another(scene *s, dJointFeedback *shared)
{
    for (int i = 0; i < SHARED_BODIES; i++) {
        add_shared_contact(s, s->body[i], i ? s->body[i - 1] : NULL, 0, i - 0.5, shared);
    }
}

static void hang_on_one_another(scene *s, dJointFeedback *shared)
{
    for (int i = 0; i < SHARED_BODIES; i++) {
        dJointID joint = dJointCreateBall(s->world, 0);
        dJointAttach(joint, s->body[i], i + 1 < SHARED_BODIES ? s->body[i + 1] : NULL);
        dJointSetBallAnchor(joint, 0, 0, i + 0.5);
        dJointSetFeedback(joint, shared);
    }
}

static void hang_on_two_joints(scene *s, dJointFeedback *shared)
{
    dJointID joint[2] = {dJointCreateSlider(s->world, 0), dJointCreateBall(s->world, 0)};
    dJointAttach(joint[0], s->body[0], s->body[1]);
    dJointSetSliderAxis(joint[0], 1, 0, 0);
    dJointAttach(joint[1], s->body[1], NULL);
    dJointSetBallAnchor(joint[1], 0, 0, 1);
    dJointSetFeedback(joint[0], shared);
    dJointSetFeedback(joint[1], shared);
}

// One step. Returns the shared feedback.
static dJointFeedback shared_feedback(const char *options, int which, step_fn *take_step)
{
    static void (*const arrange[])(scene *, dJointFeedback *) = {
        stand_on_two_contacts, stand_on_one_another, hang_on_one_another, hang_on_two_joints};
    dJointFeedback shared;
    memset(&shared, 0, sizeof shared);
    scene s = {.world = dWorldCreate(), .contacts = dJointGroupCreate(0)};
    s.space = dSimpleSpaceCreate(0);
    dWorldSetGravity(s.world, 0, 0, -9.81);
    dWorldSetQuickStepNumIterations(s.world, 200);
    configure(s.world, options);
    for (int i = 0; i < SHARED_BODIES; i++) {
        s.body[i] = create_body(s.world, 1 + i, 0, 0, i);
    }
    arrange[which](&s, &shared);
    take_step(s.world, step);
    close_scene(&s);
    return shared;
}

enum { SHARINGS = 4 };

// The step writes feedback joint after joint, and one of them remains: the same one as in stock.
START_TEST(shared_feedback_is_that_of_stocks_joint)
{
    bool quick = _i >= SHARINGS;
    dJointFeedback ours =
        shared_feedback("method=stribeck", _i % SHARINGS, quick ? dWorldQuickStep : dWorldStep);
    dJointFeedback stock =
        shared_feedback("method=ode", _i % SHARINGS, quick ? stock_quick : stock_step);
    const dReal *part[2][4] = {{ours.f1, ours.t1, ours.f2, ours.t2},
                               {stock.f1, stock.t1, stock.f2, stock.t2}};
    for (int k = 0; k < 12; k++) {
        double sprag = part[0][k / 3][k % 3], odes = part[1][k / 3][k % 3];
        ck_assert_msg(fabs(sprag - odes) < 2, "[%d]: %g, stock %g", k, sprag, odes);
    }
}
END_TEST

// Islands with many rows, one row and no row, which do not change.
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

// dWorldQuickStep draws random numbers to shuffle its rows. Programs can read ODE's seed after it.
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

// ---- failures

static void touch_plainly(dWorldID w, dBodyID body)
{
    const dSurfaceParameters plain = {.mu = 1};
    touch_at_body(w, 0, body, plain);
}

static dJointID taken;
static dBodyID taker;

static void take_joint(dBodyID body)
{
    (void)body;
    dJointAttach(taken, taker, 0);
}

// A body whose contact the moved callback of another hands to a third, after ODE has found the
// islands.
static dBodyID create_odd(dWorldID w)
{
    dBodyID odd = create_body(w, 1, 0, 0, 0), thief = create_body(w, 1, 2, 0, 0);
    taker = create_body(w, 1, 5, 0, 0);
    touch_plainly(w, odd);
    taken = dBodyGetJoint(odd, 0);
    dBodySetMovedCallback(thief, take_joint);
    return odd;
}

// Bodies fly where the problem makes no sense; a force that is not finite counts as zero.
START_TEST(bodies_without_a_problem_fly)
{
    dWorldID w = dWorldCreate();
    configure(w, "method=stribeck");
    dWorldSetGravity(w, 0, 0, -10);
    dBodyID odd = create_odd(w);
    dBodyAddForce(odd, (dReal)NAN, 0, 0);
    (_i ? dWorldQuickStep : dWorldStep)(w, step);
    ck_assert_double_eq(dBodyGetLinearVel(odd)[0], 0);
    ck_assert_double_eq_tol(dBodyGetLinearVel(odd)[2], -10 * step, 1e-12);
    ck_assert_double_eq_tol(dBodyGetLinearVel(taker)[2], -10 * step, 1e-12);
    ck_assert_double_eq(dBodyGetForce(odd)[0], 0);
    sprag_world_statistics t = statistics_of(w);
    ck_assert_int_eq(t.fallbacks, 1);
    ck_assert_int_eq(t.steps, 1);
    dWorldDestroy(w);
}
END_TEST

// Where no solution is finite, bodies fly on for this step.
START_TEST(bodies_without_a_finite_solution_fly)
{
    dWorldID w = dWorldCreate();
    configure(w, "method=stribeck");
    dWorldSetGravity(w, 0, 0, -10);
    dBodyID odd = create_body(w, 1, 0, 0, 0);
    touch_impossibly(w, 0, odd);
    (_i ? dWorldQuickStep : dWorldStep)(w, step);
    ck_assert_double_eq_tol(dBodyGetLinearVel(odd)[2], -10 * step, 1e-12);
    ck_assert_int_eq(statistics_of(w).fallbacks, 1);
    dWorldDestroy(w);
}
END_TEST

static const char *const every_method[] = {"method=stribeck", "method=advance", "method=ess",
                                           "method=stribeck,effort=exact"};

enum { EVERY_METHOD = sizeof every_method / sizeof *every_method };

// Two hinges with stops instead of one hold each two of 82 bodies: 972 rows, of which half depend
// on the others. ODE's own dWorldStep ends the program.
START_TEST(rows_that_depend_on_one_another_hold)
{
    enum { BODIES = 82, STEPS = 5 };
    dWorldID w = dWorldCreate();
    configure(w, every_method[_i]);
    dWorldSetGravity(w, 0, 0, -10);
    dWorldSetCFM(w, 0);
    dBodyID body[BODIES];
    for (int i = 0; i < BODIES; i++) {
        body[i] = create_body(w, 1, i, 0, 0);
        for (int k = 0; i > 0 && k < 2; k++) {
            dJointID hinge = dJointCreateHinge(w, 0);
            dJointAttach(hinge, body[i - 1], body[i]);
            dJointSetHingeAnchor(hinge, i - 0.5, 0, 0);
            dJointSetHingeAxis(hinge, 0, 1, 0.1 * k);
            dJointSetHingeParam(hinge, dParamLoStop, 0);
            dJointSetHingeParam(hinge, dParamHiStop, 0);
        }
    }
    for (int n = 0; n < STEPS; n++) {
        ck_assert_int_eq(dWorldStep(w, step), 1);
    }
    ck_assert_int_eq(statistics_of(w).fallbacks, 0);
    for (int i = 0; i < BODIES; i++) { // they fall as one
        ck_assert_double_eq_tol(dBodyGetLinearVel(body[i])[2], -10 * STEPS * step, 1e-6);
        ck_assert_double_eq_tol(dBodyGetAngularVel(body[i])[1], 0, 1e-6);
    }
    dWorldDestroy(w);
}
END_TEST

// Masses 18 orders of magnitude apart at long levers.
START_TEST(joints_of_any_masses_leave_the_world_finite)
{
    enum { BODIES = 8 };
    dWorldID w = dWorldCreate();
    configure(w, every_method[_i]);
    dWorldSetGravity(w, 0, 0, -10);
    dWorldSetCFM(w, 0);
    dBodyID body[BODIES];
    for (int i = 0; i < BODIES; i++) {
        dMass m;
        body[i] = create_body(w, 1, i, 0, 0);
        dMassSetSphereTotal(&m, i % 2 ? 1e9 : 1e-9, i % 2 ? 1 : 1e-3);
        dBodySetMass(body[i], &m);
        for (int k = 0; i > 0 && k < 3; k++) {
            dJointID fixed = dJointCreateFixed(w, 0);
            dJointAttach(fixed, body[i - 1], body[i]);
            dJointSetFixed(fixed);
        }
        touch_plainly(w, body[i]);
    }
    for (int n = 0; n < 5; n++) {
        dBodyAddForce(body[0], 1e6, 0, 1e6);
        ck_assert_int_eq(dWorldStep(w, step), 1);
    }
    ck_assert_int_eq(statistics_of(w).fallbacks, 0);
    for (int i = 0; i < BODIES; i++) {
        body_state after = state_of(body[i]);
        ck_assert(state_is_finite(&after));
    }
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

// One number of a body that is not finite: of its velocity, its mass or its inertia.
static void spoil(dBodyID body, int what)
{
    dMass mass;
    dBodyGetMass(body, &mass);
    *(what == 1 ? &mass.mass : &mass.I[5]) = what == 3 ? INFINITY : NAN;
    if (what == 0) {
        dBodySetLinearVel(body, 0, NAN, 0);
    } else {
        dBodySetMass(body, &mass);
    }
}

// The island of a body that is not finite stays where it is, the others do not; once the program
// has mended the body, so does its island.
START_TEST(bodies_that_are_not_finite_do_not_move)
{
    dWorldID w = dWorldCreate();
    configure(w, every_method[_i % EVERY_METHOD]);
    dWorldSetGravity(w, 0, 0, -10);
    dBodyID body[3];
    dMass mass;
    for (int i = 0; i < 3; i++) {
        body[i] = create_body(w, 1, i, 0, 0);
    }
    dJointAttach(dJointCreateBall(w, 0), body[0], body[1]);
    dBodyGetMass(body[0], &mass);
    spoil(body[0], _i / (int)EVERY_METHOD);
    dBodyAddForce(body[1], 1, 0, 0);
    body_state before = state_of(body[1]);
    for (int i = 1; i <= 5; i++) {
        dWorldStep(w, step);
        ck_assert_int_eq(statistics_of(w).frozen, 2 * i);
    }
    body_state after = state_of(body[1]);
    ck_assert_mem_eq(&after, &before, sizeof after);
    ck_assert_double_eq(dBodyGetForce(body[1])[0], 0);
    ck_assert_double_eq(dBodyGetPosition(body[0])[0], 0);
    ck_assert_double_eq_tol(dBodyGetLinearVel(body[2])[2], -0.5, 1e-12);
    ck_assert_int_eq(statistics_of(w).invalid_forces + statistics_of(w).fallbacks, 0);
    dBodySetMass(body[0], &mass);
    dBodySetLinearVel(body[0], 0, 0, 0);
    dWorldStep(w, step);
    ck_assert_int_eq(statistics_of(w).frozen, 10);
    ck_assert_double_eq_tol(dBodyGetLinearVel(body[1])[2], -0.1, 1e-12);
    dWorldDestroy(w);
}
END_TEST

// Forces that are NaN or too large for any velocity, in each step.
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

// Stock divides by no zero here.
START_TEST(traps_of_the_program_do_not_spring)
{
    enum { TRAPS = FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW };
    fenv_t before, after;
    scene s = open_scene(every_method[_i % EVERY_METHOD]);
    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(TRAPS);
    fegetenv(&before);
    before.__control_word |= _i < EVERY_METHOD ? 0 : TRAPS; // of SSE alone
    fesetenv(&before);
    for (int i = 0; i < 60; i++) {
        step_scene(&s, i % 2 ? dWorldStep : dWorldQuickStep);
    }
    fegetenv(&after);
    fedisableexcept(TRAPS);
    ck_assert_int_eq(after.__control_word, before.__control_word);
    ck_assert_int_eq(after.__mxcsr >> 6, before.__mxcsr >> 6); // but for its flags
    close_scene(&s);
}
END_TEST

static const double odd_masses[] = {1e-300, 1e-160, 1e-9, 1e-6, 1e-3, 1e3, 1e6, 1e9, 1e30, 1e300};

enum { ODD_MASSES = sizeof odd_masses / sizeof *odd_masses };

// Very light, very heavy and kinematic bodies on one another, also with the inertia of 1 kg.
START_TEST(odd_masses_leave_the_world_finite)
{
    const double mass = odd_masses[_i % ODD_MASSES];
    scene s = open_scene("method=stribeck");
    for (int i = 0; i < HEAP; i += 2) {
        dMass m;
        dMassSetBoxTotal(&m, 1, 0.3, 0.4, 0.2);
        if (_i < ODD_MASSES) {
            dMassAdjust(&m, mass);
        } else {
            m.mass = mass;
        }
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
    ck_assert_int_eq(statistics_of(s.world).frozen, 0);
    close_scene(&s);
}
END_TEST

// ---- memory

// Counts allocations during dWorldStep, after enough steps for the largest need of memory.
static const struct {
    const char *model, *options;
} settling[] = {
    {"stack", "method=stribeck"},
    {"pile:20:3", "method=stribeck"}, // its contacts and islands are most before step 1000
    {"heavy", "method=stribeck"},
    {"stack", "effort=exact"},
    {"pile:20:2", "stribeck.direct_work=0"},
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
            grown = workers_scratch(state->workers)->allocations;
            ck_assert_int_ge(grown, strstr(settling[_i].options, "method=ess") == NULL);
#ifndef SANITIZED
            ck_assert_int_ge(allocations, grown);
#endif
            allocations = 0;
        }
    }
    ck_assert_int_eq(workers_scratch(state->workers)->allocations, grown);
    ck_assert_int_eq(allocations, 0);
    ck_assert_int_gt(statistics_of(s.world).contacts, 0);
    sprag_scene_close(&model);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("step");
    ADD_TESTS_WITH(suite, "motion", setup, teardown,
                   {joint_moves_as_in_stock, JOINT_KINDS * JOINT_LIKES},
                   {joint_holds_as_well_as_in_stock, JOINT_KINDS * JOINT_LIKES},
                   {free_bodies_fly_as_in_stock, 1}, {small_forces_count_at_any_speed, 4},
                   {little_friction_counts_at_any_speed, 3}, {a_kinematic_body_carries_others, 1});
    ADD_TESTS_WITH(
        suite, "besides", setup, teardown, {bodies_sleep_and_wake_as_in_stock, 1},
        {moved_callbacks_come_in_stocks_order, 1}, {contact_feedback_carries_the_weight, 1},
        {shared_feedback_is_that_of_stocks_joint, 2 * SHARINGS},
        {quick_step_draws_stocks_random_numbers, 1}, {a_settled_scene_allocates_nothing, SETTLING});
    ADD_TESTS_WITH(suite, "what goes wrong", setup, teardown, {bodies_without_a_problem_fly, 2},
                   {bodies_without_a_finite_solution_fly, 2},
                   {rows_that_depend_on_one_another_hold, EVERY_METHOD},
                   {joints_of_any_masses_leave_the_world_finite, EVERY_METHOD},
                   {however_rough_a_box_stays, 9},
                   {bodies_that_are_not_finite_do_not_move, 4 * EVERY_METHOD},
                   {bad_forces_leave_the_world_finite, 5},
                   {traps_of_the_program_do_not_spring, 2 * EVERY_METHOD},
                   {odd_masses_leave_the_world_finite, 2 * ODD_MASSES});
    return run_suite(suite);
}
