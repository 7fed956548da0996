// The yardstick of comparisons against exact answers, in worlds of one or two bodies; the snapshot
// that lets a child step twice; and the memory of forces that goes from child to child.
#include <check.h>
#include <math.h>
#include <string.h>

#include "creep.h"
#include "plugin_scene.h"
#include "snapshot.h"
#include "warm_start.h"
#include "yardstick.h"

static const double h = 0.01, g = 9.81; // s, m/s^2

static dWorldID open_world(double gravity)
{
    dWorldID w = dWorldCreate();
    dWorldSetGravity(w, 0, 0, -gravity);
    configure(w, "method=ode-step");
    return w;
}

static dBodyID add_body(dWorldID w, double mass, double z)
{
    dBodyID body = dBodyCreate(w);
    dMass m;
    dMassSetSphereTotal(&m, mass, 0.5);
    dBodySetMass(body, &m);
    dBodySetPosition(body, 0, 0, z);
    return body;
}

static void measure_step(dWorldID w, double value[SAMPLE_VALUES])
{
    yardstick *y = yardstick_begin(w, h, false);
    ck_assert_ptr_nonnull(y);
    ck_assert(dWorldStep(w, h));
    yardstick_measure(y, value);
    yardstick_free(y);
}

// Semi-implicit Euler loses m g^2 h^2 / 2 in a step of free fall.
START_TEST(free_fall_makes_no_energy)
{
    double value[SAMPLE_VALUES];
    dWorldID w = open_world(g);
    add_body(w, 2, 5);
    measure_step(w, value);
    ck_assert_double_eq(value[SAMPLE_ENERGY_MADE], 0);
    ck_assert_double_eq_tol(value[SAMPLE_ENERGY], 2 * g * 5 - 2 * g * g * h * h / 2, 1e-12);
    ck_assert_double_eq_tol(value[SAMPLE_SPEED], g * h, 1e-15);
    ck_assert_double_le(value[SAMPLE_MOMENTUM], 1e-15);
    ck_assert_double_nan(value[SAMPLE_SLIP]);
    ck_assert_double_nan(value[SAMPLE_JOINT_GAP]);
    dWorldDestroy(w);
}
END_TEST

START_TEST(energy_is_not_known_under_forces_of_the_program)
{
    double value[SAMPLE_VALUES];
    dWorldID w = open_world(0);
    dBodyAddForce(add_body(w, 2, 5), 1, 0, 0);
    measure_step(w, value);
    ck_assert_double_nan(value[SAMPLE_ENERGY_MADE]);
    ck_assert_double_le(value[SAMPLE_MOMENTUM], 1e-15);
    dWorldDestroy(w);
}
END_TEST

// Contacts of bodies that turn together drive nothing: what they make of energy is known.
START_TEST(energy_is_known_of_bodies_that_turn_together)
{
    double value[SAMPLE_VALUES];
    dWorldID w = open_world(0);
    dBodyID body[2] = {add_body(w, 2, 0), add_body(w, 1, 1)};
    dContact contact = {.geom = {.pos = {0, 0.1, 0.5}, .normal = {0, 0, 1}},
                        .surface = {.mode = dContactApprox1, .mu = 1}};
    dJointAttach(dJointCreateContact(w, 0, &contact), body[1], body[0]);
    dBodySetPosition(body[1], 0, 0.2, 1);
    dBodySetAngularVel(body[0], 0, 0, 2);
    dBodySetAngularVel(body[1], 0, 0, 2);
    measure_step(w, value);
    ck_assert_double_le(value[SAMPLE_ENERGY_MADE], 1e-12);
    dWorldDestroy(w);
}
END_TEST

// Each pair of geoms counts once, however many contacts the program has made for it.
START_TEST(depth_is_that_of_all_pairs)
{
    static const double depth[] = {0.03, 0.01, 0.05};
    double value[SAMPLE_VALUES];
    dWorldID w = open_world(0);
    dGeomID plane = dCreatePlane(NULL, 0, 0, 1, 0), ball[COUNT(depth)];
    dWorldSetERP(w, 0);
    for (int i = 0; i < COUNT(depth); i++) {
        dBodyID body = add_body(w, 1, 0.5 - depth[i]);
        dBodySetPosition(body, 3 * i, 0, 0.5 - depth[i]);
        ball[i] = dCreateSphere(NULL, 0.5);
        dGeomSetBody(ball[i], body);
        for (int k = 0; k < 3 - i; k++) {
            dContact contact = {.surface.mode = dContactApprox1};
            ck_assert_int_eq(dCollide(ball[i], plane, 1, &contact.geom, sizeof contact), 1);
            dJointAttach(dJointCreateContact(w, 0, &contact), body, NULL);
        }
    }
    measure_step(w, value);
    ck_assert_double_eq_tol(value[SAMPLE_DEPTH_LARGEST], 0.05, 1e-6);
    ck_assert_double_eq_tol(value[SAMPLE_DEPTH_MEAN], 0.03, 1e-6);
    for (int i = 0; i < COUNT(depth); i++) {
        dGeomDestroy(ball[i]);
    }
    dGeomDestroy(plane);
    dWorldDestroy(w);
}
END_TEST

// A velocity that something else than a force has changed.
START_TEST(tells_velocity_without_a_force)
{
    double value[SAMPLE_VALUES];
    dWorldID w = open_world(g);
    dBodyID body = add_body(w, 2, 5);
    yardstick *y = yardstick_begin(w, h, false);
    dWorldStep(w, h);
    dBodySetLinearVel(body, 0.25, 0, -g * h);
    yardstick_measure(y, value);
    yardstick_free(y);
    ck_assert_double_eq_tol(value[SAMPLE_MOMENTUM], 0.25, 1e-12);
    ck_assert_double_eq_tol(value[SAMPLE_ENERGY_MADE], 0.25 * 0.25 - g * g * h * h, 1e-9);
    dWorldDestroy(w);
}
END_TEST

// The program moves kinematic bodies, whatever acts on them: they have no energy and no mean speed.
// One that moves may do work.
START_TEST(kinematic_bodies_need_no_force)
{
    double value[SAMPLE_VALUES];
    dWorldID w = open_world(g);
    dBodyID hook = add_body(w, 1, 6), body = add_body(w, 2, 5);
    dJointID ball = dJointCreateBall(w, NULL);
    dBodySetKinematic(hook);
    dJointAttach(ball, hook, body);
    dJointSetBallAnchor(ball, 0, 0, 6);
    dBodySetLinearVel(hook, 3 * _i, 0, 0);
    dBodySetLinearVel(body, 3 * _i, 0, 0);
    measure_step(w, value);
    ck_assert_double_le(value[SAMPLE_MOMENTUM], 1e-12);
    ck_assert_double_eq_tol(value[SAMPLE_SPEED], 3 * _i, 1e-6);
    ck_assert_double_eq_tol(value[SAMPLE_ENERGY], 2 * g * 5 + 9 * _i, 1e-6);
    ck_assert(!isnan(value[SAMPLE_ENERGY_MADE]) == !_i);
    dWorldDestroy(w);
}
END_TEST

// A ball joint whose ends are 3 cm apart, with an ERP that nearly leaves them so; a hinge that is
// turned.
START_TEST(tells_errors_of_joints)
{
    double value[SAMPLE_VALUES];
    dWorldID w = open_world(0);
    dBodyID body = add_body(w, 2, 0);
    dJointID ball = dJointCreateBall(w, NULL), hinge = dJointCreateHinge(w, NULL);
    dJointSetBallParam(ball, dParamERP, 1e-6);
    dJointAttach(ball, body, NULL);
    dJointSetBallAnchor(ball, 0, 0, 1);
    dBodySetPosition(body, 0.03, 0, 0);
    measure_step(w, value);
    ck_assert_double_eq_tol(value[SAMPLE_JOINT_GAP], 0.03, 1e-7);
    ck_assert_double_eq(value[SAMPLE_JOINT_TURN], 0);
    dJointDestroy(ball);
    dWorldSetERP(w, 1e-6);
    dBodySetPosition(body, 0, 0, 0);
    dBodySetLinearVel(body, 0, 0, 0);
    dBodySetAngularVel(body, 0, 0, 0);
    dJointAttach(hinge, body, NULL);
    dJointSetHingeAxis(hinge, 0, 0, 1);
    dMatrix3 turned;
    dRFromAxisAndAngle(turned, 1, 0, 0, 0.01);
    dBodySetRotation(body, turned);
    measure_step(w, value);
    ck_assert_double_eq_tol(value[SAMPLE_JOINT_TURN], sin(0.01), 1e-7);
    dWorldDestroy(w);
}
END_TEST

// A motor may do work; its speed is no error of the joint.
START_TEST(leaves_motors_out)
{
    double value[SAMPLE_VALUES];
    dWorldID w = open_world(0);
    dJointID hinge = dJointCreateHinge(w, NULL);
    dJointAttach(hinge, add_body(w, 2, 0), NULL);
    dJointSetHingeAxis(hinge, 0, 0, 1);
    dJointSetHingeParam(hinge, dParamVel, 1);
    dJointSetHingeParam(hinge, dParamFMax, 100);
    measure_step(w, value);
    ck_assert_double_nan(value[SAMPLE_ENERGY_MADE]);
    ck_assert_double_le(value[SAMPLE_JOINT_GAP] + value[SAMPLE_JOINT_TURN], 1e-12);
    dWorldDestroy(w);
}
END_TEST

// A box pushed along a plane: `push` times its weight, mu 0.5.
typedef struct pushed {
    dWorldID world;
    dSpaceID space;
    dJointGroupID contacts;
    dBodyID box;
} pushed;

static pushed open_pushed(double push)
{
    pushed p = {open_world(g), dSimpleSpaceCreate(NULL), dJointGroupCreate(0), NULL};
    dGeomID plane = dCreatePlane(p.space, 0, 0, 1, 0), geom = dCreateBox(p.space, 1, 1, 1);
    dContactGeom found[4];
    dWorldSetCFM(p.world, 1e-9);
    p.box = add_body(p.world, 3, 0.5 - 1e-9);
    dGeomSetBody(geom, p.box);
    dBodyAddForceAtRelPos(p.box, push * 3 * g, 0, 0, 0, 0, -0.5);
    int n = dCollide(geom, plane, 4, found, sizeof *found);
    for (int i = 0; i < n; i++) {
        dContact c = {.surface = {.mode = dContactApprox1, .mu = 0.5}, .geom = found[i]};
        dJointAttach(dJointCreateContact(p.world, p.contacts, &c), p.box, NULL);
    }
    return p;
}

static void close_pushed(pushed *p)
{
    destroy_world(p->world, p->space, p->contacts);
}

// Below the bound the cone is used by the share that the push asks for, above it wholly.
START_TEST(tells_the_share_of_the_cone)
{
    static const double push[] = {0.2, 0.4, 0.8};
    double value[SAMPLE_VALUES];
    pushed p = open_pushed(push[_i]);
    configure(p.world, "method=stribeck");
    measure_step(p.world, value);
    // Contacts share the push as they share the weight only in the mean.
    ck_assert_double_ge(value[SAMPLE_CONE], fmin(1, push[_i] / 0.5) - 1e-6);
    ck_assert_double_le(value[SAMPLE_CONE], 1 + 1e-6);
    ck_assert_double_le(value[SAMPLE_SLIP_LARGEST], 1e-4);
    ck_assert_double_le(value[SAMPLE_MOMENTUM], 1e-6);
    ck_assert_double_le(value[SAMPLE_DEPTH_LARGEST], 1e-5);
    ck_assert_double_gt(value[SAMPLE_DEPTH_LARGEST], 1e-9); // by the softness of contacts
    close_pushed(&p);
}
END_TEST

// Stock's dWorldStep solves the equations of joints and of contacts without friction to rounding.
// Moved by u, what it has solved is off by u or more, of what the step and its impulses change.
START_TEST(tells_the_residual_of_stock)
{
    static const double u[] = {0, 0.02};
    double value[SAMPLE_VALUES];
    pushed p = open_pushed(0);
    dBodyID hangs = add_body(p.world, 1, 3);
    dJointID hinge = dJointCreateHinge(p.world, NULL);
    dJointAttach(hinge, hangs, p.box);
    dJointSetHingeAnchor(hinge, 0, 0, 2);
    dJointSetHingeAxis(hinge, 0, 1, 0);
    yardstick *y = yardstick_begin(p.world, h, false);
    dWorldStep(p.world, h);
    const dReal *v = dBodyGetLinearVel(hangs);
    dBodySetLinearVel(hangs, v[0] + u[_i], v[1], v[2]);
    yardstick_measure(y, value);
    yardstick_free(y);
    if (u[_i] == 0) {
        ck_assert_double_le(value[SAMPLE_RESIDUAL], 1e-9);
    } else {
        ck_assert_double_ge(value[SAMPLE_RESIDUAL], u[_i] / (10 * g * h));
        ck_assert_double_le(value[SAMPLE_RESIDUAL], u[_i] / (g * h));
    }
    close_pushed(&p);
}
END_TEST

START_TEST(the_residual_is_not_known_under_damping)
{
    double value[SAMPLE_VALUES];
    dWorldID w = open_world(g);
    dBodySetLinearDamping(add_body(w, 2, 5), 0.1);
    measure_step(w, value);
    ck_assert_double_nan(value[SAMPLE_RESIDUAL]);
    dWorldDestroy(w);
}
END_TEST

// A stepper that moves a box that friction holds: the contacts carry a small load and slip.
START_TEST(tells_slip_of_contacts_that_stick)
{
    double value[SAMPLE_VALUES];
    pushed p = open_pushed(0.1);
    configure(p.world, "method=stribeck");
    yardstick *y = yardstick_begin(p.world, h, false);
    dWorldStep(p.world, h);
    dBodySetLinearVel(p.box, 0.02, 0, -0.03);
    dBodySetAngularVel(p.box, 0, 0, 0);
    yardstick_measure(y, value);
    yardstick_free(y);
    ck_assert_double_eq_tol(value[SAMPLE_SLIP], 0.02, 1e-9);
    ck_assert_double_eq_tol(value[SAMPLE_SLIP_LARGEST], 0.02, 1e-9);
    ck_assert_double_eq_tol(value[SAMPLE_APPROACH], 0.03, 1e-9);
    close_pushed(&p);
}
END_TEST

// ---- in a program that goes on

static bool measures;

// measures: with the yardstick around the step, which finds the residual twice.
static int step_of_program(dWorldID w, dReal length)
{
    double value[SAMPLE_VALUES];
    yardstick *y = measures ? yardstick_begin(w, length, true) : NULL;
    int done = dWorldStep(w, length);
    if (y) {
        double residual = yardstick_residual(y);
        yardstick_measure(y, value);
        ck_assert_msg(residual == value[SAMPLE_RESIDUAL] || isnan(residual), "%g", residual);
    }
    yardstick_free(y);
    return done;
}

static int quick_step_of_program(dWorldID w, dReal length)
{
    yardstick *y = measures ? yardstick_begin(w, length, true) : NULL;
    int done = dWorldQuickStep(w, length);
    ck_assert(!measures || yardstick_residual(y) > 0);
    yardstick_free(y);
    return done;
}

typedef struct ending {
    body_state state[SCENE_BODIES];
    dJointFeedback own[2]; // of the hinge, and of a contact of the last step
    dReal force[SCENE_BODIES][6];
} ending;

// A motor that pushes against a stop adds forces whenever its joint is asked for rows.
static void press_against_stop(scene *s)
{
    dJointID hinge = dBodyGetJoint(s->body[HEAP], 1);
    ck_assert_int_eq(dJointGetType(hinge), dJointTypeHinge);
    dJointSetHingeParam(hinge, dParamLoStop, 0.02);
    dJointSetHingeParam(hinge, dParamHiStop, 3);
    dJointSetHingeParam(hinge, dParamVel, 1);
    dJointSetHingeParam(hinge, dParamFMax, 40);
    dJointSetHingeParam(hinge, dParamFudgeFactor, 0.5);
}

static void run_program(const char *options, step_fn *stepper, bool measured, ending *to)
{
    dRandSetSeed(1);
    memset(to, 0, sizeof *to);
    scene s = open_scene(options);
    dJointSetFeedback(dBodyGetJoint(s.body[HEAP], 1), &to->own[0]);
    press_against_stop(&s);
    for (int i = 0; i < 60; i++) {
        measures = measured && i > 0;
        step_scene(&s, stepper);
    }
    dSpaceCollide(s.space, &s, touch);
    int touching = 0;
    while (dBodyGetNumJoints(s.body[touching]) == 0) {
        touching++;
    }
    ck_assert_int_lt(touching, HEAP);
    dJointSetFeedback(dBodyGetJoint(s.body[touching], 0), &to->own[1]);
    ck_assert(stepper(s.world, step));
    for (int i = 0; i < SCENE_BODIES; i++) {
        to->state[i] = state_of(s.body[i]);
        memcpy(to->force[i], dBodyGetForce(s.body[i]), 3 * sizeof(dReal));
        memcpy(to->force[i] + 3, dBodyGetTorque(s.body[i]), 3 * sizeof(dReal));
    }
    dJointID hinge = dBodyGetJoint(s.body[HEAP], 1);
    ck_assert_ptr_eq(dJointGetFeedback(hinge), &to->own[0]);
    ck_assert_ptr_null(dJointGetFeedback(dBodyGetJoint(s.body[HEAP], 0)));
    close_scene(&s);
}

// Bodies, forces and the program's own feedback have the bits of a run that is not measured.
START_TEST(leaves_the_bits_of_a_program)
{
    static const struct {
        const char *options;
        step_fn *stepper;
    } run[] = {{"method=ode", step_of_program},
               {"method=ode", quick_step_of_program},
               {"method=stribeck", step_of_program},
               {"method=stribeck", quick_step_of_program}};
    ending plain, measured;
    run_program(run[_i].options, run[_i].stepper, false, &plain);
    run_program(run[_i].options, run[_i].stepper, true, &measured);
    ck_assert_int_eq(memcmp(plain.state, measured.state, sizeof plain.state), 0);
    ck_assert_int_eq(memcmp(plain.force, measured.force, sizeof plain.force), 0);
    ck_assert_double_ne(plain.own[0].f1[2], 0);
    ck_assert_double_ne(plain.own[1].f1[2], 0);
    ck_assert_int_eq(memcmp(plain.own, measured.own, sizeof plain.own), 0);
}
END_TEST

static dJointID doomed;

static void destroy_joint(dBodyID body)
{
    (void)body;
    if (doomed) {
        dJointDestroy(doomed);
        doomed = NULL;
    }
}

// A moved callback destroys a joint: nothing is known of that step.
START_TEST(survives_joints_that_a_step_destroys)
{
    double value[SAMPLE_VALUES];
    dWorldID w = open_world(g);
    dBodyID body = add_body(w, 2, 5);
    doomed = dJointCreateBall(w, NULL);
    dJointAttach(doomed, body, NULL);
    dBodySetMovedCallback(body, destroy_joint);
    yardstick *y = yardstick_begin(w, h, true);
    ck_assert(dWorldStep(w, h));
    ck_assert_double_nan(yardstick_residual(y));
    yardstick_measure(y, value);
    ck_assert_double_nan(value[SAMPLE_ENERGY]);
    yardstick_free(y);
    dWorldDestroy(w);
}
END_TEST

START_TEST(gives_feedback_back)
{
    double value[SAMPLE_VALUES];
    dJointFeedback own;
    pushed p = open_pushed(0.1);
    dJointID joint = dBodyGetJoint(p.box, 0);
    dJointSetFeedback(joint, &own);
    measure_step(p.world, value);
    ck_assert_ptr_eq(dJointGetFeedback(joint), &own);
    close_pushed(&p);
}
END_TEST

// ---- creep

static dBodyID add_mover(dWorldID w, double speed)
{
    dBodyID body = add_body(w, 1, 0);
    dBodySetGravityMode(body, 0);
    dBodySetLinearVel(body, speed, 0, 0);
    return body;
}

// Gravity gives 98 mm/s in a step. Two bodies move slower than that, by 10 mm/s and to and fro, one
// faster; others are kinematic, or too young. Until the window has a start nothing is known.
START_TEST(tells_the_creep_of_bodies_at_rest)
{
    enum { SAMPLES = 39, EVERY = 10, START = 35 };
    double value[SAMPLE_VALUES];
    dWorldID w = open_world(g);
    dBodyID doomed_body = add_mover(w, 0.02), swings;
    add_mover(w, 0.01);
    add_mover(w, 0.5);
    swings = add_mover(w, 0.05);
    dBodySetKinematic(add_mover(w, 0.02));
    for (int i = 1; i <= SAMPLES; i++) {
        for (int k = 0; k < EVERY; k++) {
            dWorldStep(w, h);
        }
        if (i == SAMPLES / 2) {
            dBodyDestroy(doomed_body);
        }
        if (i == SAMPLES - 1) {
            add_mover(w, 0.03);
        }
        if (i >= START) { // where the window begins in the end
            const dReal *v = dBodyGetLinearVel(swings);
            dBodySetLinearVel(swings, -v[0], 0, 0);
        }
        creep_measure(world_find_or_make(w), value);
        ck_assert(i > 1 || isnan(value[SAMPLE_RESTING]));
        ck_assert(i > 1 || isnan(value[SAMPLE_CREEP]));
    }
    ck_assert_double_eq_tol(value[SAMPLE_RESTING], 2.0 / 3, 1e-15);
    ck_assert_double_eq_tol(value[SAMPLE_CREEP], (0.01 + 0) / 2, 1e-12);
    dWorldSetGravity(w, 0, 0, 0); // nothing rests where nothing falls
    dWorldStep(w, h);
    creep_measure(world_find_or_make(w), value);
    ck_assert_double_eq(value[SAMPLE_RESTING], 0);
    ck_assert_double_nan(value[SAMPLE_CREEP]);
    dWorldDestroy(w);
}
END_TEST

// A body that is made takes the address of one that has been destroyed in the window (but under
// AddressSanitizer), and is young all the same: the others rest.
START_TEST(the_creep_of_others_outlasts_a_destroyed_body)
{
    enum { SAMPLES = 30, BODIES = 5 };
    double value[SAMPLE_VALUES];
    dWorldID w = open_world(g);
    dBodyID body[BODIES];
    for (int i = 0; i < BODIES; i++) {
        body[i] = add_mover(w, 0.01);
    }
    for (int i = 1; i <= SAMPLES; i++) {
        for (int k = 0; k < 10; k++) {
            dWorldStep(w, h);
        }
        if (i == SAMPLES) {
            dBodyDestroy(body[2]);
            add_mover(w, 0.5);
        }
        creep_measure(world_find_or_make(w), value);
    }
    ck_assert_double_eq(value[SAMPLE_RESTING], 1);
    ck_assert_double_eq_tol(value[SAMPLE_CREEP], 0.01, 1e-12);
    dWorldDestroy(w);
}
END_TEST

// A run of any length, sampled at every step, keeps a bounded number of places.
START_TEST(creep_keeps_few_places)
{
    double value[SAMPLE_VALUES];
    dWorldID w = open_world(g);
    add_mover(w, 0.01);
    for (int i = 0; i < 1000; i++) {
        dWorldStep(w, h);
        creep_measure(world_find_or_make(w), value);
        ck_assert_int_le(world_find_or_make(w)->way.count, 23);
    }
    ck_assert_double_eq_tol(value[SAMPLE_CREEP], 0.01, 1e-12);
    dWorldDestroy(w);
}
END_TEST

// ---- stepping twice

START_TEST(a_snapshot_brings_the_bits_back)
{
    static const char *const options[] = {"method=stribeck", "method=ode-quick"};
    scene s = open_scene(options[_i]);
    for (int i = 0; i < 60; i++) { // until the heap has fallen
        step_scene(&s, dWorldStep);
    }
    body_state state[3];
    snapshot *before = snapshot_take(s.body, SCENE_BODIES);
    ck_assert_ptr_nonnull(before);
    state[0] = state_of(s.body[0]);
    dWorldStep(s.world, step);
    state[1] = state_of(s.body[0]);
    snapshot_restore(before);
    state[2] = state_of(s.body[0]);
    ck_assert_int_eq(memcmp(&state[0], &state[2], sizeof *state), 0);
    ck_assert_int_ne(memcmp(&state[0], &state[1], sizeof *state), 0);
    snapshot_free(before);
    close_scene(&s);
}
END_TEST

// Bytes that were written are read as the same memory; others are refused.
START_TEST(memory_of_forces_travels)
{
    ode_warm_start *from = sprag_ode_warm_start_make(), *to = sprag_ode_warm_start_make();
    dWorldID w = open_world(0);
    dJointID joint = dJointCreateBall(w, NULL);
    for (int row = 0; row < 3; row++) {
        sprag_ode_warm_start_store_row(from, joint, row, 1.5 * row, 0);
    }
    sprag_ode_warm_start_next_step(from);
    size_t length = sprag_ode_warm_start_write(from, NULL, 0);
    char bytes[4096], untouched[4096];
    ck_assert_uint_gt(length, 0);
    ck_assert_uint_le(length, sizeof bytes);
    memset(bytes, 7, sizeof bytes);
    memset(untouched, 7, sizeof untouched);
    ck_assert_uint_eq(sprag_ode_warm_start_write(from, bytes, length - 1), length);
    ck_assert_mem_eq(bytes, untouched, sizeof bytes);
    sprag_ode_warm_start_write(from, bytes, sizeof bytes);
    ck_assert(sprag_ode_warm_start_read(to, bytes, length));
    int at = -1;
    for (int row = 0; row < 3; row++) {
        ck_assert_double_eq(sprag_ode_warm_start_row(to, joint, row, &at, NULL), 1.5 * row);
    }
    ck_assert(!sprag_ode_warm_start_read(to, bytes, length - 1));
    at = -1;
    ck_assert_double_eq(sprag_ode_warm_start_row(to, joint, 1, &at, NULL), 0);
    ck_assert(sprag_ode_warm_start_read(to, NULL, 0));
    sprag_ode_warm_start_free(from);
    sprag_ode_warm_start_free(to);
    dWorldDestroy(w);
}
END_TEST

static void prepare(void)
{
    setup();
    ck_assert_ptr_null(sprag_ode_unsupported()); // it looks for ODE's list of bodies
}

int main(void)
{
    Suite *suite = suite_create("yardstick");
    ADD_TESTS_WITH(suite, "all", prepare, teardown, {free_fall_makes_no_energy, 1},
                   {energy_is_not_known_under_forces_of_the_program, 1},
                   {energy_is_known_of_bodies_that_turn_together, 1},
                   {tells_velocity_without_a_force, 1}, {kinematic_bodies_need_no_force, 2},
                   {depth_is_that_of_all_pairs, 1}, {tells_errors_of_joints, 1},
                   {leaves_motors_out, 1}, {tells_the_share_of_the_cone, 3},
                   {tells_the_residual_of_stock, 2}, {the_residual_is_not_known_under_damping, 1},
                   {tells_slip_of_contacts_that_stick, 1}, {leaves_the_bits_of_a_program, 4},
                   {tells_the_creep_of_bodies_at_rest, 1},
                   {the_creep_of_others_outlasts_a_destroyed_body, 1}, {creep_keeps_few_places, 1},
                   {survives_joints_that_a_step_destroys, 1}, {gives_feedback_back, 1},
                   {a_snapshot_brings_the_bits_back, 2}, {memory_of_forces_travels, 1});
    return run_suite(suite);
}
