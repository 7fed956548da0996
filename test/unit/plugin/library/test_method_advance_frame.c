// A frame of method=advance: forces, speed limits, events, statistics and messages. The same world
// gives the same bits.
#include <check.h>
#include <math.h>
#include <string.h>

#include "advance_program.h"
#include "chance.h"
#include "linalg.h"
#include "start.h"
#include "suite.h"
#include "worlds.h"

// ---- other duties of a step

static int moved_calls;

static void moved(dBodyID body)
{
    (void)body;
    moved_calls++;
}

// Damping, limits of speed, forces: as stock, to rounding; callbacks once, accumulators empty.
START_TEST(steps_do_what_stock_does)
{
    body_state state[2];
    for (int stock = 0; stock < 2; stock++) {
        scene *s = open_scene(stock ? "method=ode-step" : "method=advance");
        add_floor(s);
        dBodyID body = add_ball(s, 0, 0, 50, 0.5);
        dBodySetLinearVel(body, 3, 2, 1);
        dBodySetAngularVel(body, 1, 9, 3);
        dBodySetLinearDamping(body, 0.02);
        dBodySetAngularDamping(body, 0.03);
        dBodySetMaxAngularSpeed(body, 5);
        dBodySetMovedCallback(body, moved);
        moved_calls = 0;
        for (int i = 0; i < 20; i++) {
            dBodyAddForce(body, 5, -3, 7);
            dBodyAddTorque(body, 0.1, 0, -0.2);
            step(s);
            ck_assert_double_eq(norm3(dBodyGetForce(body)) + norm3(dBodyGetTorque(body)), 0);
            ck_assert_int_eq(moved_calls, i + 1);
        }
        state[stock] = state_of(body);
        close_scene(s);
    }
    for (int k = 0; k < 6; k++) {
        ck_assert_double_eq_tol(state[0].v[k], state[1].v[k], 1e-9);
    }
    ck_assert_double_gt(fabs(state[0].v[4]), 1);
    for (int k = 0; k < 3; k++) {
        ck_assert_double_eq_tol(state[0].x[k], state[1].x[k], 1e-9);
    }
}
END_TEST

// A spring and damper of the program's forces holds a box in the air, from the floor on. On a
// parabola under the force of the start of a step it would gain energy (10 ms: 58 m).
START_TEST(springs_of_the_program_gain_nothing)
{
    static const char *const methods[] = {"method=advance", "method=ess"};
    const double rate = 1000, damping = 2, place = 1.5, length = _i < 2 ? 0.01 : 1.0 / 60;
    scene *s = open_scene(methods[_i % 2]);
    add_floor(s);
    dBodyID box = add_box(s, 0, 0, 0.5);
    dMass mass;
    dMassSetBoxTotal(&mass, 1, 1, 1, 1);
    dBodySetMass(box, &mass);
    for (double t = 0; t < 10; t += length) {
        const dReal *x = dBodyGetPosition(box), *v = dBodyGetLinearVel(box);
        dBodyAddForce(box, -rate * x[0] - damping * v[0], -rate * x[1] - damping * v[1],
                      rate * (place - x[2]) - damping * v[2]);
        dJointGroupEmpty(s->group);
        dSpaceCollide(s->space, s, touch);
        dWorldStep(s->world, length);
        ck_assert_double_lt(height(box), 2 * place);
    }
    ck_assert_double_eq_tol(height(box), place - G / rate, 1e-3);
    close_scene(s);
}
END_TEST

// Contacts that the program makes in the middle of a step have feedback, too: the first of a pair
// the force of the pair, the others none.
static dJointFeedback feedback[16];
static int fed;

static void touch_with_feedback(void *data, dGeomID a, dGeomID b)
{
    scene *s = data;
    dContact contact[4];
    const int count = dCollide(a, b, 4, &contact[0].geom, sizeof contact[0]);
    for (int i = 0; i < count; i++) {
        contact[i].surface = s->surface;
        dJointID joint = dJointCreateContact(s->world, s->group, &contact[i]);
        dJointAttach(joint, dGeomGetBody(a), dGeomGetBody(b));
        ck_assert_int_lt(fed, 16);
        feedback[fed].f1[2] = NAN;
        dJointSetFeedback(joint, &feedback[fed++]);
    }
}

START_TEST(contacts_of_a_step_have_feedback)
{
    scene *s = open_scene(_i ? "method=ess" : "method=advance");
    s->surface.mu = 0;
    add_floor(s);
    dBodyID box = add_box(s, 0, 0, 0.53);
    dBodySetLinearVel(box, 0, 0, -5); // it lands within the step
    fed = 0;
    dSpaceCollide(s->space, s, touch_with_feedback);
    ck_assert_int_eq(fed, 0);
    dWorldStep(s->world, STEP);
    ck_assert_int_gt(fed, 1);
    double sum = 0;
    for (int i = 0; i < fed; i++) {
        sum += feedback[i].f1[2];
    }
    ck_assert_double_eq_tol(sum, 2 * ((dBodyGetLinearVel(box)[2] + 5) / STEP + G), 1e-6);
    close_scene(s);
}
END_TEST

// The limit changes nothing for bodies that turn more slowly.
START_TEST(angular_speed_is_limited_before_contacts_are_found)
{
    for (int sign = -1; sign <= 1; sign += 2) {
        dMatrix3 tilted;
        scene *s = open_scene("method=advance");
        s->surface.mode |= dContactBounce;
        s->surface.bounce = 0.8;
        add_floor(s);
        dBodyID box = add_box(s, 0, 0, 0.8);
        dRFromAxisAndAngle(tilted, 1, 0, 0, 0.3);
        dBodySetRotation(box, tilted);
        dBodySetMaxAngularSpeed(box, 1);
        dBodySetAngularVel(box, sign * 30000, 0, 0);
        step(s);
        ck_assert_double_eq_tol(dBodyGetAngularVel(box)[0], sign, 1e-9);
        ck_assert_double_eq_tol(dBodyGetLinearVel(box)[2], -G * STEP, 1e-9);
        close_scene(s);
    }
}
END_TEST

// A ball that is put down deep in the floor is pushed out of it; one that has just come in bounces.
START_TEST(overlapping_bodies_do_not_bounce)
{
    scene *s = open_scene("method=advance");
    s->surface.mode |= dContactBounce;
    s->surface.bounce = 0.8;
    add_floor(s);
    dBodyID deep = add_ball(s, 0, 0, 0.2, 0.5), late = add_ball(s, 3, 0, 0.49, 0.5);
    dBodySetLinearVel(deep, 0, 0, -3);
    dBodySetLinearVel(late, 0, 0, -3);
    step(s);
    ck_assert_double_eq_tol(dBodyGetLinearVel(deep)[2], 0, 1e-5);
    ck_assert_double_eq_tol(dBodyGetLinearVel(late)[2], 2.4, 0.2);
    ck_assert_double_gt(height(deep), 0.2);
    close_scene(s);
}
END_TEST

// Between walls that lean by 2 mrad the way out of an overlap of 1 mm is half a metre long. The
// ball goes no faster than four times the separation that is asked for.
START_TEST(long_ways_out_are_slow)
{
    scene *s = open_scene("method=advance");
    dWorldSetGravity(s->world, 0, 0, 0);
    s->surface.mu = 0;
    for (int side = -1; side < 2; side += 2) {
        dGeomID wall = dCreateBox(s->space, 1, 4, 4);
        dMatrix3 R;
        dRFromAxisAndAngle(R, 0, 1, 0, 2e-3 * side);
        dGeomSetRotation(wall, R);
        dGeomSetPosition(wall, 0.599 * side, 0, 0);
    }
    dBodyID ball = add_ball(s, 0, 0, 0, 0.1);
    step(s);
    ck_assert_double_gt(height(ball), 1e-4);
    ck_assert_double_lt(height(ball), 2e-3);
    close_scene(s);
}
END_TEST

// A ball whose angular speed is limited to 5 rad/s slides until it can roll at that speed, and a
// box tumbles over its edges. None turns faster within a step, and none penetrates the floor.
START_TEST(turns_are_capped_in_contact)
{
    scene *s = open_scene("method=advance");
    add_floor(s);
    dBodyID ball = add_ball(s, 0, 0, 0.5 + REST, 0.5), box = add_box(s, 0, 5, 3);
    dBodySetLinearVel(ball, 8, 0, 0);
    dBodySetLinearVel(box, 6, 1, 0);
    dBodySetAngularVel(box, 3, 7, 5);
    dBodySetMaxAngularSpeed(ball, 5);
    dBodySetMaxAngularSpeed(box, 5);
    double x = 0;
    for (int i = 0; i < 200; i++) {
        double v = fmax(8 - 0.5 * G * (i + 1) * STEP, 2.5);
        step(s);
        x += v * STEP;
        ck_assert_double_le(norm3(dBodyGetAngularVel(ball)), 5 * (1 + 1e-9));
        ck_assert_double_le(norm3(dBodyGetAngularVel(box)), 5 * (1 + 1e-9));
        ck_assert_double_gt(height(ball), 0.5);
        ck_assert_double_eq_tol(dBodyGetLinearVel(ball)[0], v, 1e-4);
    }
    ck_assert_double_eq_tol(dBodyGetPosition(ball)[0], x, 1e-3);
    sprag_world_statistics stats = stats_of(s);
    ck_assert_double_gt(stats.least_gap, 0);
    ck_assert_double_eq(stats.stalled, 0);
    ck_assert_int_eq(stats.overlaps, 0);
    close_scene(s);
}
END_TEST

// A joint turns a body faster than its greatest angular speed. As in ODE, the body is slowed down
// after the step, and other bodies are not.
START_TEST(joined_turns_are_capped_as_by_stock)
{
    enum { STEPS = 5 };
    body_state state[2];
    for (int stock = 0; stock < 2; stock++) {
        scene *s = open_scene(stock ? "method=ode-step" : "method=advance");
        dBodyID arm = add_ball(s, 0, 0, 50, 0.2), base = add_ball(s, 1, 0, 50, 0.2);
        dBodySetMaxAngularSpeed(base, 1);
        dJointID hinge = dJointCreateHinge(s->world, 0);
        dJointAttach(hinge, arm, base);
        dJointSetHingeAnchor(hinge, 0.5, 0, 50);
        dJointSetHingeAxis(hinge, 0, 0, 1);
        dJointSetHingeParam(hinge, dParamHiStop, -0.3);
        dJointSetHingeParam(hinge, dParamLoStop, -0.3);
        for (int i = 0; i < STEPS; i++) {
            step(s);
            ck_assert_double_le(norm3(dBodyGetAngularVel(base)), 1 + 1e-9);
        }
        state[stock] = state_of(arm);
        close_scene(s);
    }
    for (int k = 0; k < 6; k++) {
        ck_assert_double_eq_tol(state[0].v[k], state[1].v[k], 1e-2);
        ck_assert_double_eq_tol(state[0].x[k % 3], state[1].x[k % 3], 1e-3);
    }
    ck_assert_double_gt(fabs(state[0].v[5]), 1);
}
END_TEST

// Once per step, however many sub-steps there are; and forces act through all of them.
START_TEST(forces_act_through_substeps)
{
    scene *s = open_scene("method=advance");
    s->surface.mu = 0;
    add_floor(s);
    dBodyID box = add_box(s, 0, 0, 0.7);
    dBodySetMovedCallback(box, moved);
    moved_calls = 0;
    for (int i = 0; i < 100; i++) {
        dBodyAddForce(box, 4, 0, 0);
        step(s);
    }
    ck_assert_int_eq(moved_calls, 100);
    ck_assert_int_gt(stats_of(s).substeps, 100);
    ck_assert_double_eq_tol(dBodyGetLinearVel(box)[0], 2, 1e-9);
    close_scene(s);
}
END_TEST

// Impacts make the ball roll nevertheless.
static void slow_and_touch(void *data, dGeomID a, dGeomID b)
{
    dBodyID ball = dGeomGetBody(a) ? dGeomGetBody(a) : dGeomGetBody(b);
    dContactGeom at;
    touch(data, a, b);
    if (dCollide(a, b, 1, &at, sizeof at) > 0) {
        dBodySetLinearVel(ball, 1, 0, 0);
    }
}

START_TEST(velocity_is_set_without_spin)
{
    scene *s = open_scene("method=advance");
    s->surface.mu = 1;
    add_floor(s);
    dBodyID ball = add_ball(s, 0, 0, 0.505, 0.5);
    dBodySetLinearVel(ball, 1, 0, -2);
    dSpaceCollide(s->space, s, slow_and_touch);
    dWorldStep(s->world, 0.01);
    ck_assert_double_eq(dBodyGetLinearVel(ball)[0], 1);
    ck_assert_double_eq(dBodyGetLinearVel(ball)[2], 0);
    ck_assert_double_gt(dBodyGetAngularVel(ball)[1], 1);
    close_scene(s);
}
END_TEST

// ---- events, statistics, messages

START_TEST(events_list_contacts_and_impacts)
{
    scene *s = open_scene("method=advance");
    dGeomID floor = dCreatePlane(s->space, 0, 0, 1, 0);
    dBodyID ball = add_ball(s, 0.3, 0.2, 1, 0.5);
    dWorldSetGravity(s->world, 0, 0, 0);
    dBodySetLinearVel(ball, 0, 0, -2);
    sprag_world_event none;
    ck_assert_int_eq(sprag_world_events(s->world, &none, 1), 0);
    for (int i = 0; i < 100 && s->touched < 0; i++) {
        step(s);
    }
    ck_assert_double_eq_tol(s->touched, 0.25, 2e-6);
    const sprag_world_event *e = s->event;
    while (e->kind != SPRAG_EVENT_CONTACT_MADE) {
        e++;
    }
    int first = e->body[0] == ball ? 0 : 1;
    ck_assert_ptr_eq(e->body[first], ball);
    ck_assert_ptr_null(e->body[!first]);
    ck_assert_ptr_eq(e->geom[first], dBodyGetFirstGeom(ball));
    ck_assert_ptr_eq(e->geom[!first], floor);
    ck_assert_double_eq_tol(e->position[0], 0.3, 1e-9);
    ck_assert_double_eq_tol(e->position[1], 0.2, 1e-9);
    ck_assert_double_eq_tol(e->position[2], 0, 2e-6);
    ck_assert_double_eq_tol(e->normal[2], first ? -1 : 1, 1e-9);
    ck_assert_double_eq_tol(e->speed, 2, 1e-6);
    memset(&none, 0x55, sizeof none);
    sprag_world_event copy = none;
    ck_assert_int_eq(sprag_world_events(s->world, &none, 0), s->events);
    ck_assert_int_eq(sprag_world_events(s->world, NULL, 0), s->events);
    ck_assert_mem_eq(&none, &copy, sizeof none);
    close_scene(s);
}
END_TEST

// A body that is hit moves twice as fast as estimated: the step is repeated and reports its events
// once.
START_TEST(events_are_reported_once)
{
    scene *s = open_scene("method=advance");
    dMass mass;
    s->surface.mode |= dContactBounce;
    s->surface.bounce = 1;
    dWorldSetGravity(s->world, 0, 0, 0);
    dBodyID heavy = add_ball(s, -0.501, 0, 0, 0.5), light = add_ball(s, 0.5, 0, 0, 0.5);
    dMassSetSphereTotal(&mass, 200, 0.5);
    dBodySetMass(heavy, &mass);
    dBodySetLinearVel(heavy, 10, 0, 0);
    step(s);
    ck_assert_double_eq_tol(dBodyGetLinearVel(light)[0], 20 * 200 / 202.0, 1e-3);
    sprag_world_statistics stats = stats_of(s);
    ck_assert_int_eq(stats.events[SPRAG_EVENT_CONTACT_MADE], 1);
    int made = 0;
    for (int i = 0; i < s->events; i++) {
        made += s->event[i].kind == SPRAG_EVENT_CONTACT_MADE;
    }
    ck_assert_int_eq(made, 1);
    ck_assert_int_eq(stats.callbacks, 1);
    close_scene(s);
}
END_TEST

START_TEST(statistics_add_up)
{
    scene *s = open_scene("method=advance,advance.checks=1");
    add_floor(s);
    add_box(s, 0, 0, 0.6);
    add_ball(s, 30, 0, 1, 0.3);
    run(s, 100);
    sprag_world_statistics stats = stats_of(s);
    ck_assert_int_eq(stats.steps, 100);
    ck_assert_int_eq(stats.bodies, 2);
    ck_assert_int_eq(stats.islands, 2);
    ck_assert_int_eq(stats.contacts, 5); // points
    ck_assert_int_eq(stats.rows, 0);
    ck_assert_int_eq(stats.substeps, 200 - 13 + stats.shortened); // 13 steps fly both as one group
    ck_assert_int_ge(stats.shortened, 2);
    ck_assert_int_eq(stats.callbacks, 2);
    ck_assert_int_eq(stats.events[SPRAG_EVENT_CONTACT_MADE], 2);
    ck_assert_int_eq(stats.overlaps + stats.squeezed + stats.without_geometry, 0);
    ck_assert_double_eq(stats.stalled, 0);
    ck_assert_double_gt(stats.least_gap, 0);
    ck_assert_double_le(stats.largest_gap, 2e-6);
    close_scene(s);
}
END_TEST

static int messages;

static void count_message(int number, const char *format, va_list arguments)
{
    (void)number;
    (void)format;
    (void)arguments;
    messages++;
}

START_TEST(stiffness_of_the_world_is_refused_once)
{
    for (int stiff = 0; stiff < 2; stiff++) {
        scene *s = open_scene(stiff ? "method=advance,stribeck.stiffness=1e5" : "method=advance");
        add_floor(s);
        add_ball(s, 0, 0, 0.51, 0.5);
        messages = 0;
        dSetMessageHandler(count_message);
        run(s, 20);
        dSetMessageHandler(quiet);
        ck_assert_int_eq(messages, stiff);
        close_scene(s);
    }
}
END_TEST

START_TEST(missing_geometry_is_reported_once)
{
    scene *s = open_scene("method=advance");
    dBodyID body = add_box(s, 0, 0, 5);
    messages = 0;
    dSetMessageHandler(count_message);
    for (int i = 0; i < 10; i++) {
        ck_assert_int_eq(dWorldStep(s->world, STEP), 1);
    }
    dSetMessageHandler(quiet);
    ck_assert_int_eq(messages, 1);
    ck_assert_int_eq(stats_of(s).without_geometry, 10);
    ck_assert_double_eq_tol(dBodyGetLinearVel(body)[2], -0.1 * G, 1e-9);
    close_scene(s);
}
END_TEST

START_TEST(bodies_that_are_not_finite_stay)
{
    scene *s = open_scene("method=advance");
    add_floor(s);
    dBodyID bad = add_box(s, 0, 0, 3), good = add_box(s, 20, 0, 0.8);
    dBodySetLinearVel(bad, NAN, 0, 0);
    run(s, 50);
    ck_assert_double_eq(height(bad), 3);
    ck_assert_int_eq(stats_of(s).frozen, 50);
    ck_assert_double_eq_tol(height(good), 0.5 + REST, 1e-7);
    dBodySetLinearVel(bad, 0, 0, 0);
    run(s, 100);
    ck_assert_double_eq_tol(height(bad), 0.5 + REST, 1e-7);
    ck_assert_int_eq(stats_of(s).frozen, 50);
    close_scene(s);
}
END_TEST

START_TEST(forces_that_are_not_finite_do_nothing)
{
    scene *s = open_scene("method=advance");
    add_floor(s);
    dBodyID box = add_box(s, 0, 0, 0.5 + REST);
    run(s, 5);
    dBodyAddForce(box, INFINITY, 0, NAN);
    run(s, 5);
    ck_assert_int_eq(stats_of(s).invalid_forces, 1);
    ck_assert_double_eq_tol(height(box), 0.5 + REST, 1e-6);
    ck_assert_double_lt(speed(box), 1e-6);
    close_scene(s);
}
END_TEST

// ---- same bits

enum { PILE = 7 };

static void add_pile(scene *s, dBodyID body[PILE], double x)
{
    chance c = {11};
    for (int i = 0; i < PILE; i++) {
        dMatrix3 R;
        body[i] = i % 3 == 2 ? add_ball(s, x + chance_between(&c, -0.3, 0.3), 0, 1.2 + 1.8 * i, 0.4)
                             : add_box(s, x + chance_between(&c, -0.3, 0.3), 0, 1.2 + 1.8 * i);
        dRFromAxisAndAngle(R, 1, chance_between(&c, 0, 1), 0.3, chance_between(&c, 0, 3));
        dBodySetRotation(body[i], R);
    }
}

static void compare(dBodyID *a, dBodyID *b)
{
    for (int i = 0; i < PILE; i++) {
        body_state one = state_of(a[i]), other = state_of(b[i]);
        ck_assert(state_is_finite(&one));
        ck_assert_mem_eq(&one, &other, sizeof one);
    }
}

// A pile, and the same one in another world, stepped in turns.
START_TEST(same_pile_same_bits)
{
    scene *a = open_scene("method=advance"), *b = open_scene("method=advance");
    dBodyID in_a[PILE], in_b[PILE];
    add_floor(a);
    add_floor(b);
    add_pile(a, in_a, 0);
    add_pile(b, in_b, 0);
    for (int i = 0; i < 150; i++) {
        step(a);
        step(b);
        compare(in_a, in_b);
    }
    ck_assert_int_gt(stats_of(a).events[SPRAG_EVENT_CONTACT_MADE], PILE);
    ck_assert_double_gt(stats_of(a).least_gap, 0);
    ck_assert_int_eq(stats_of(a).overlaps + stats_of(a).squeezed, 0);
    close_scene(a);
    close_scene(b);
}
END_TEST

// Distant bodies change only the order of summation.
START_TEST(far_piles_do_not_matter)
{
    scene *a = open_scene("method=advance"), *b = open_scene("method=advance");
    dBodyID in_a[PILE], in_b[PILE], far[PILE];
    add_floor(a);
    add_floor(b);
    add_pile(a, in_a, 0);
    add_pile(b, in_b, 0);
    add_pile(b, far, 40);
    for (int i = 0; i < 100; i++) {
        step(a);
        step(b);
        for (int k = 0; k < PILE; k++) {
            for (int j = 0; j < 3; j++) {
                ck_assert_double_eq_tol(dBodyGetPosition(in_a[k])[j], dBodyGetPosition(in_b[k])[j],
                                        1e-9);
            }
        }
    }
    ck_assert_int_eq(stats_of(b).bodies, 2 * PILE);
    close_scene(a);
    close_scene(b);
}
END_TEST

// Six columns of 40 turned boxes with gaps of 2 cm land at 5 m/s. Each impact passes through many
// boxes, and sweeps take long to carry it: with rounds of projection that each began anew, the
// columns stood still for 87 ms altogether.
START_TEST(columns_land_without_a_halt)
{
    enum { COLUMNS = 6, BOXES = 40 };
    scene *s = open_scene("method=advance");
    dCreatePlane(s->space, 0, 0, 1, 0);
    for (int i = 0; i < COLUMNS * BOXES; i++) {
        const int k = i % BOXES, phase = i / BOXES;
        dBodyID box =
            body_at(s, dCreateBox(s->space, 0.3, 0.3, 0.2), 2 * phase + 0.01 * sin(3 * k + phase),
                    0.01 * cos(5 * k), 0.1 + 0.02 * (k + 1) + 0.2 * k);
        dMatrix3 turned;
        dRFromAxisAndAngle(turned, sin(2 * k), cos(3 * k), 0.3, 0.1 * sin(7 * k + phase));
        dBodySetRotation(box, turned);
        dBodySetLinearVel(box, 0, 0, -5);
    }
    s->surface = (dSurfaceParameters){.mode = dContactApprox1, .mu = 0.5};
    run(s, 40);
    ck_assert_double_lt(stats_of(s).stalled, 0.02);
    close_scene(s);
}
END_TEST

static const double rough = 0.002; // m

static dReal level(void *data, int x, int z)
{
    return data ? rough * sin(1.3 * x) * cos(0.9 * z) : 0;
}

// A heightfield of cells of 5 cm. The caller destroys it behind the scene.
static dHeightfieldDataID add_cells(scene *s, bool is_rough)
{
    enum { CELLS = 200 };
    static const double wide = 10; // m
    dMatrix3 upright;
    dHeightfieldDataID cells = dGeomHeightfieldDataCreate();
    dGeomHeightfieldDataBuildCallback(cells, is_rough ? s : NULL, level, wide, wide, CELLS + 1,
                                      CELLS + 1, 1, 0, 1, 0);
    dGeomHeightfieldDataSetBounds(cells, -rough, rough);
    dRFromAxisAndAngle(upright, 1, 0, 0, M_PI / 2);
    dGeomSetRotation(dCreateHeightfield(s->space, cells, 1), upright);
    return cells;
}

// Four boxes that touch lie on a heightfield of cells of 5 cm, and a ball of 200 m/s hits them. Its
// reach makes more pairs of cells than a step takes. They had none then, and sank by 4 mm.
START_TEST(bodies_stay_on_fine_cells_beside_a_fast_one)
{
    enum { BOXES = 4 };
    scene *s = open_scene("method=advance");
    dBodyID box[BOXES];
    dHeightfieldDataID cells = add_cells(s, false);
    for (int i = 0; i < BOXES; i++) {
        box[i] = body_at(s, dCreateBox(s->space, 0.2, 0.2, 0.2), -3.9 + 0.2 * i, 0, 0.1);
    }
    run(s, 10);
    dBodyID ball = add_ball(s, -4.4, 0, 0.12, 0.05);
    dBodySetLinearVel(ball, 200, 0, 0);
    for (int i = 0; i < 20; i++) {
        step(s);
        for (int k = 0; k < BOXES; k++) {
            const dReal *R = dBodyGetRotation(box[k]);
            const double lowest = height(box[k]) - 0.1 * (fabs(R[8]) + fabs(R[9]) + fabs(R[10]));
            ck_assert_double_gt(lowest, -1e-9);
        }
    }
    close_scene(s);
    dGeomHeightfieldDataDestroy(cells);
}
END_TEST

// Ten boxes that touch lie on rough cells, and a ball of 300 m/s comes: 10 000 pairs of cells may
// meet in a step of 16.7 ms. To look at them all took its work, and nothing moved for a second.
START_TEST(fast_bodies_on_fine_cells_get_on)
{
    scene *s = open_scene("method=advance");
    dHeightfieldDataID cells = add_cells(s, true);
    s->length = 1 / 60.0;
    for (int i = 0; i < 10; i++) {
        body_at(s, dCreateBox(s->space, 0.2, 0.2, 0.2), -3.9 + 0.2 * i, 0, 0.1 + rough);
    }
    run(s, 10);
    dBodyID ball = add_ball(s, -4.4, 0, 0.12, 0.05);
    dBodySetLinearVel(ball, 300, 0, 0);
    run(s, 40);
    ck_assert_double_gt(dBodyGetPosition(ball)[0], -3.4);
    close_scene(s);
    dGeomHeightfieldDataDestroy(cells);
}
END_TEST

enum { SQUARES = 60 };

// noise: m, by which corners are off their plane; raised: m, of the half where x > 0.
static dTriMeshDataID add_ground(scene *s, double cell, double noise, double raised)
{
    static float corner[(SQUARES + 1) * (SQUARES + 1)][4];
    static dTriIndex index[SQUARES * SQUARES][2][3];
    for (int i = 0; i <= SQUARES; i++) {
        for (int j = 0; j <= SQUARES; j++) {
            const dTriIndex a = (dTriIndex)(i * (SQUARES + 1) + j), b = a + SQUARES + 1;
            corner[a][0] = (float)((i - SQUARES / 2) * cell);
            corner[a][1] = (float)((j - SQUARES / 2) * cell);
            corner[a][2] = (float)(noise * ((a * 2654435761U >> 16) % 10007 / 5003.0 - 1) +
                                   (i > SQUARES / 2 ? raised : 0));
            if (i < SQUARES && j < SQUARES) {
                const dTriIndex two[2][3] = {{a, b, a + 1}, {a + 1, b, b + 1}};
                memcpy(index[i * SQUARES + j], two, sizeof two);
            }
        }
    }
    dTriMeshDataID data = dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildSingle(data, corner, sizeof *corner, (SQUARES + 1) * (SQUARES + 1), index,
                                SQUARES * SQUARES * 6, 3 * sizeof(dTriIndex));
    dCreateTriMesh(s->space, data, NULL, NULL, NULL);
    return data;
}

// A turned box slides over triangles at 16.7 ms, with a force of friction at each point that makes
// 0.3 of its weight. A corner that bore nothing had none, so that it slid 3 % too far.
START_TEST(four_corners_rub_on_a_mesh_as_on_a_plane)
{
    static const double weight = 2 * 9.81;
    scene *s = open_scene("method=advance");
    const dTriMeshDataID data = add_ground(s, 0.2, 0, 0);
    dBodyID box = body_at(s, dCreateBox(s->space, 0.3, 0.3, 0.2), -2.03, 0.017, 0.1);
    dMatrix3 turned;
    dRFromAxisAndAngle(turned, 0, 0, 1, 0.3);
    dBodySetRotation(box, turned);
    s->length = 1 / 60.0;
    s->surface = (dSurfaceParameters){.mu = 0.3 * weight / 4};
    run(s, 6);
    const double start = dBodyGetPosition(box)[0], speed = 3, slower = 0.3 * G;
    dBodySetLinearVel(box, speed, 0, 0);
    run(s, 90);
    ck_assert_double_eq_tol(dBodyGetPosition(box)[0] - start,
                            speed * speed / (2 * slower) - speed * s->length / 2, 1e-3);
    close_scene(s);
    dGeomTriMeshDataDestroy(data);
}
END_TEST

// Corners of meshes are rounded. A box, and a cylinder on its end, slide over triangles that are
// off their plane by as much or more than the gap of contacts, without friction: they keep their
// velocities, and hardly rise.
START_TEST(rounded_corners_of_a_mesh_stop_nothing)
{
    static const double speed = 1, off[] = {1e-7, 1e-6, 1e-5};
    const double way = 0.3 * (_i / 6 + 1), noise = off[_i / 2 % 3]; // rad, m
    scene *s = open_scene("method=advance");
    const dTriMeshDataID data = add_ground(s, 0.05, noise, 0);
    dGeomID geom =
        _i % 2 ? dCreateBox(s->space, 0.4, 0.3, 0.2) : dCreateCylinder(s->space, 0.2, 0.2);
    dBodyID body = body_at(s, geom, -0.4 * cos(way), -0.4 * sin(way), 0.1 + 1e-6 + noise);
    s->surface.mu = 0;
    dBodySetLinearVel(body, speed * cos(way), speed * sin(way), 0);
    for (int i = 0; i < 60; i++) {
        step(s);
        ck_assert_double_eq_tol(dBodyGetLinearVel(body)[0], speed * cos(way), 1e-3);
        ck_assert_double_eq_tol(dBodyGetLinearVel(body)[1], speed * sin(way), 1e-3);
        ck_assert_double_eq_tol(height(body), 0.1, 5e-5);
    }
    close_scene(s);
    dGeomTriMeshDataDestroy(data);
}
END_TEST

// A box falls onto thousands of triangles with peaks of up to 1 mm, without friction, and slides on
// the highest ones: it meets no peak from the side, and keeps its velocity.
START_TEST(peaks_below_a_box_do_not_stop_it)
{
    static const double speed = 1, peak = 1e-3;
    const double way = 0.3 * (_i + 1); // rad
    scene *s = open_scene("method=advance");
    const dTriMeshDataID data = add_ground(s, 0.02, peak, 0);
    dBodyID body = body_at(s, dCreateBox(s->space, 0.8, 0.6, 0.2), -0.1 * cos(way), -0.1 * sin(way),
                           0.1 + 1e-6 + peak);
    s->surface.mu = 0;
    dBodySetLinearVel(body, speed * cos(way), speed * sin(way), 0);
    run(s, 18);
    const double to = 0.18 * speed - 0.1;
    ck_assert_double_eq_tol(dBodyGetLinearVel(body)[0], speed * cos(way), 2e-3);
    ck_assert_double_eq_tol(dBodyGetLinearVel(body)[1], speed * sin(way), 2e-3);
    ck_assert_double_eq_tol(dBodyGetPosition(body)[0], to * cos(way), 1e-3);
    ck_assert_double_eq_tol(dBodyGetPosition(body)[1], to * sin(way), 1e-3);
    close_scene(s);
    dGeomTriMeshDataDestroy(data);
}
END_TEST

// Bodies slide onto a ramp of 1 cm that rises by 20 um: they meet its triangles, and not from the
// side those behind its top. They go on at the height of the top.
START_TEST(ramps_lift_what_slides)
{
    const double rise = 2e-5, slower = 5e-3, way = _i / 2 * 0.3;
    scene *s = open_scene("method=advance");
    const dTriMeshDataID data = add_ground(s, 0.01, 0, rise);
    dGeomID geom =
        _i % 2 ? dCreateBox(s->space, 0.2, 0.15, 0.1) : dCreateCylinder(s->space, 0.1, 0.1);
    dBodyID body = body_at(s, geom, -0.17, 0.003, 0.05 + 1e-6);
    dMatrix3 turned;
    dRFromAxisAndAngle(turned, 0, 0, 1, way);
    dBodySetRotation(body, turned);
    s->surface.mu = 0;
    dBodySetLinearVel(body, 1, 0.1, 0);
    run(s, 35);
    ck_assert_double_eq_tol(dBodyGetLinearVel(body)[0], 1, slower);
    ck_assert_double_eq_tol(dBodyGetLinearVel(body)[1], 0.1, slower);
    ck_assert_double_eq_tol(height(body), 0.05 + rise, 2e-6);
    close_scene(s);
    dGeomTriMeshDataDestroy(data);
}
END_TEST

int main(void)
{
    start_ode();
    dSetMessageHandler(quiet);
    Suite *suite = suite_create("method_advance_frame");
    ADD_TESTS(
        suite, "steps", {steps_do_what_stock_does, 1}, {springs_of_the_program_gain_nothing, 4},
        {contacts_of_a_step_have_feedback, 2},
        {angular_speed_is_limited_before_contacts_are_found, 1}, {turns_are_capped_in_contact, 1},
        {overlapping_bodies_do_not_bounce, 1}, {long_ways_out_are_slow, 1},
        {joined_turns_are_capped_as_by_stock, 1}, {forces_act_through_substeps, 1},
        {velocity_is_set_without_spin, 1}, {events_list_contacts_and_impacts, 1},
        {events_are_reported_once, 1}, {statistics_add_up, 1},
        {stiffness_of_the_world_is_refused_once, 1}, {missing_geometry_is_reported_once, 1},
        {bodies_that_are_not_finite_stay, 1}, {forces_that_are_not_finite_do_nothing, 1},
        {same_pile_same_bits, 1}, {far_piles_do_not_matter, 1}, {columns_land_without_a_halt, 1},
        {bodies_stay_on_fine_cells_beside_a_fast_one, 1}, {fast_bodies_on_fine_cells_get_on, 1},
        {four_corners_rub_on_a_mesh_as_on_a_plane, 1}, {rounded_corners_of_a_mesh_stop_nothing, 36},
        {ramps_lift_what_slides, 3}, {peaks_below_a_box_do_not_stop_it, 6});
    return run_suite(suite);
}
