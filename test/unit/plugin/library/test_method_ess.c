// method=ess as an ODE program sees it: exact and converged answers, energy, events, frames that
// are left to the implicit step.
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "body_motion.h"
#include "ess_runs.h"
#include "start.h"
#include "suite.h"
#include "worlds_ess.h"

// ---- against exact and converged answers, and a hundred times nearer than others at the same step

START_TEST(hopper_is_exact)
{
    double h = _i ? 0.01 : 0.002, ours = hopper_error(ESS, h, 2);
    ck_assert_double_lt(ours, 1e-6);
    ck_assert_double_lt(100 * ours, hopper_error(STRIBECK, h, 2));
    ck_assert_double_lt(100 * ours, hopper_error(STOCK, h, 2));
}
END_TEST

START_TEST(dissipation_is_as_given)
{
    static const double d[] = {0.02, 0.2, 1};
    double ours = rebound_error(ESS, 0.005, 2e4, d[_i], 3);
    ck_assert_double_lt(ours, 1e-5);
    ck_assert_double_lt(100 * ours, rebound_error(STRIBECK, 0.005, 2e4, d[_i], 3));
    ck_assert_double_lt(100 * ours, rebound_error(STOCK, 0.005, 2e4, d[_i], 3));
}
END_TEST

// The world and the generic system share no line but the integrator's.
START_TEST(plate_on_springs_is_the_generic_system)
{
    static const int count[] = {2, 10, 100};
    enum { STEPS = 500 };
    springs s = {count[_i], 2e4 / count[_i], 0.1};
    double *state = calloc(6 * STEPS, sizeof *state), h = 0.002;
    ck_assert_ptr_nonnull(state);
    plate_reference(&s, h, STEPS, state);
    double ours = plate_error(ESS, &s, h, STEPS, state);
    ck_assert_double_lt(ours, 1e-6);
    ck_assert_double_lt(100 * ours, plate_error(STRIBECK, &s, h, STEPS, state));
    ck_assert_double_lt(100 * ours, plate_error(STOCK, &s, h, STEPS, state));
    free(state);
}
END_TEST

// At the default tolerance: steps lead beyond the ends of contacts, and many ends are one event.
START_TEST(springs_end_exactly)
{
    static const char own[] = "method=ess";
    static const int count[] = {2, 10, 100};
    static const double limit[] = {2e-9, 2e-9, 1e-5}; // m, rad
    enum { STEPS = 500 };
    double *state = calloc(6 * STEPS, sizeof *state);
    ck_assert_ptr_nonnull(state);
    for (int i = 0; i < 3; i++) {
        springs s = {count[i], 2e4 / count[i], 0.1};
        plate_reference(&s, 0.002, STEPS, state);
        ck_assert_double_lt(plate_error(own, &s, 0.002, STEPS, state), limit[i]);
    }
    ck_assert_double_lt(hopper_error(own, 0.002, 2), 1e-8);
    ck_assert_double_lt(hopper_error(own, 0.01, 2), 5e-7);
    ck_assert_double_lt(rebound_error(own, 0.005, 2e4, 0.2, 3), 2e-6);
    free(state);
}
END_TEST

START_TEST(pendulum_is_exact)
{
    double h = _i ? 0.01 : 0.001, ours = pendulum_error(ESS, h, 2);
    ck_assert_double_lt(ours, 1e-7);
    ck_assert_double_lt(100 * ours, pendulum_error(STRIBECK, h, 2));
    ck_assert_double_lt(100 * ours, pendulum_error(STOCK, h, 2));
}
END_TEST

// The default tolerance: errors of about 1e-4 of the motion in 2 s, and a smaller tolerance never
// takes fewer steps.
START_TEST(tolerance_trades_errors_for_steps)
{
    static const char *const options[] = {"method=ess,ess.tolerance=1e-9", "method=ess",
                                          "method=ess,ess.tolerance=1e-4"};
    long steps[3];
    ck_assert_double_lt(hopper_error(options[1], 0.01, 2), 2e-4);
    ck_assert_double_lt(rebound_error(options[1], 0.005, 2e4, 0.2, 3), 2e-4);
    ck_assert_double_lt(pendulum_error(options[1], 0.01, 2), 1e-6);
    for (int o = 0; o < 3; o++) {
        yielding *y = _i ? hopper_open(options[o], 0.01) : pendulum_open(options[o], 0.01);
        run(y, 200);
        steps[o] = stats_of(y).ess_steps;
        yielding_close(y);
    }
    ck_assert_int_gt(steps[0], steps[1]);
    ck_assert_int_ge(steps[1], steps[2]);
    ck_assert(_i || steps[1] == 200); // of the pendulum one a frame
}
END_TEST

// Rods on ball joints and hinges, that swing in space and hit a soft floor: joints hold, energy
// stays.
START_TEST(chain_keeps_its_energy)
{
    enum { LINKS = 4 };
    yielding *y = yielding_open(ESS, (material){2e4, .bounce = -1}, 0.01);
    dMass mass;
    dMassSetBoxTotal(&mass, 1, 0.5, 0.1, 0.1);
    dCreatePlane(y->space, 0, 0, 1, _i ? -0.9 : -9);
    dJointID joint[LINKS];
    for (int i = 0; i < LINKS; i++) {
        dGeomID geom = i == LINKS - 1 ? dCreateSphere(y->space, 0.2) : NULL;
        dBodyID link = yielding_body(y, &mass, geom, 0.25 + 0.5 * i, 0, 0);
        joint[i] = i % 2 ? dJointCreateHinge(y->world, 0) : dJointCreateBall(y->world, 0);
        dJointAttach(joint[i], link, i > 0 ? y->body[i - 1] : NULL);
        if (i % 2) {
            dJointSetHingeAnchor(joint[i], 0.5 * i, 0, 0);
            dJointSetHingeAxis(joint[i], 0, 0.6, 0.8);
        } else {
            dJointSetBallAnchor(joint[i], 0.5 * i, 0, 0);
        }
        dBodySetAngularVel(link, 0.5, 0, 0);
    }
    run(y, 1); // ODE's joints look at their bodies then
    double first = yielding_energy(y), error = 0, apart = 0;
    for (int k = 0; k < 100; k++) {
        yielding_step(y);
        for (int i = 0; i < LINKS; i++) {
            apart = fmax(apart, joint_gap(joint[i]));
        }
        error = stats_of(y).contacts == 0 ? fmax(error, fabs(yielding_energy(y) - first)) : error;
    }
    sprag_world_statistics stats = stats_of(y);
    ck_assert_int_eq(stats.ess_declined + stats.ess_switched, 0);
    ck_assert_int_eq(stats.ess_events > 0, _i);
    ck_assert_double_lt(apart, 1e-6);
    ck_assert_double_lt(error, _i ? 1e-3 : 1e-5);
    yielding_close(y);
}
END_TEST

START_TEST(joint_feedback_is_the_force)
{
    yielding *y = yielding_open(ESS, (material){.bounce = -1}, 0.01);
    dBodyID ball = yielding_ball(y, 3, 0.1, 0, 0, 0);
    dJointID joint = dJointCreateBall(y->world, 0);
    dJointFeedback feedback;
    dJointAttach(joint, ball, 0);
    dJointSetBallAnchor(joint, 0, 0, 1);
    dJointSetFeedback(joint, &feedback);
    dBodyAddForce(ball, 0, 0, -5);
    run(y, 1);
    ck_assert_double_eq_tol(feedback.f1[2], 3 * ESS_G + 5, 2e-6); // CFM 1e-10 takes 1e-6
    run(y, 1);
    ck_assert_double_eq_tol(feedback.f1[2], 3 * ESS_G, 1e-6);
    ck_assert_int_eq(stats_of(y).ess_declined, 0);
    yielding_close(y);
}
END_TEST

// Whatever is left of the step when a load lands on what is held.
START_TEST(feedback_of_a_landing_is_impulse_over_step)
{
    for (int phase = 0; phase < 10; phase++) {
        yielding *y = yielding_open(ESS, (material){.bounce = -1}, 0.01);
        dBodyID held = yielding_ball(y, 3, 0.1, 0, 0, 0);
        dJointID joint = dJointCreateFixed(y->world, 0);
        dJointFeedback feedback;
        double v = 1.5 + 0.01 * phase, most = 0;
        dJointAttach(joint, held, 0);
        dJointSetFixed(joint);
        dJointSetFeedback(joint, &feedback);
        dWorldSetGravity(y->world, 0, 0, 0);
        dBodySetLinearVel(yielding_ball(y, 2, 0.1, 0, 0, 0.29), 0, 0, -v);
        for (int k = 0; k < 10; k++) {
            run(y, 1);
            most = fmax(most, fabs(feedback.f1[2]));
        }
        ck_assert_double_eq_tol(most, 2 * v / 0.01, 0.01 * 2 * v / 0.01);
        yielding_close(y);
    }
}
END_TEST

// A ball with spin and friction, through a bounce on another ball: there both methods have the
// contact midway between the surfaces, stock's collision of a ball and a plane has it on the ball.
static void thrown_ball(const char *options, double step, double x[6])
{
    yielding *y = yielding_open(options, (material){1e4, 0.2, 0.3, 0.05, -1}, step);
    dGeomSetPosition(dCreateSphere(y->space, 5), 0, 0, -5);
    dBodyID ball = yielding_ball(y, 1, 0.1, 0, 0, 0.2);
    dBodySetLinearVel(ball, 2, 0.5, -1);
    dBodySetAngularVel(ball, 3, -4, 1);
    run(y, (int)lround(0.16 / step));
    memcpy(x, dBodyGetPosition(ball), 3 * sizeof *x);
    memcpy(x + 3, dBodyGetAngularVel(ball), 3 * sizeof *x);
    yielding_close(y);
}

// Two methods, one model: what the implicit step tends to is what ess gives.
START_TEST(stribeck_tends_to_ess)
{
    enum { HALVINGS = 5 };
    double exact[6], x[6], error[HALVINGS], step = 1e-3;
    thrown_ball("method=ess,ess.tolerance=1e-10", 1e-3, exact);
    for (int i = 0; i < HALVINGS; i++, step /= 2) {
        thrown_ball(STRIBECK, step, x);
        error[i] = 0;
        for (int k = 0; k < 6; k++) {
            error[i] = fmax(error[i], fabs(x[k] - exact[k]));
        }
    }
    double order = log2(error[0] / error[HALVINGS - 1]) / (HALVINGS - 1);
    ck_assert_double_eq_tol(order, 1, 0.25);
    ck_assert_double_lt(error[HALVINGS - 1], 0.15 * error[0]);
}
END_TEST

// The convex hull of points on a sphere, evenly spread: by trying all triples. Returns the faces.
static unsigned hull_of(dReal *vertex, int count, dReal *plane, unsigned *face)
{
    unsigned faces = 0;
    for (int i = 0; i < count; i++) {
        double z = 1 - (2 * i + 1.0) / count, turn = 2.399963 * i, r = sqrt(1 - z * z);
        vertex[3 * i] = 0.2 * r * cos(turn);
        vertex[3 * i + 1] = 0.2 * r * sin(turn);
        vertex[3 * i + 2] = 0.2 * z;
    }
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < count; j++) {
            for (int k = 0; k < count; k++) {
                const dReal *a = vertex + 3 * i, *b = vertex + 3 * j, *c = vertex + 3 * k;
                dVector3 ab, ac, n;
                dSubtractVectors3(ab, b, a);
                dSubtractVectors3(ac, c, a);
                dCalcVectorCross3(n, ab, ac);
                bool first = i < j && i < k && j != k, outer = first;
                for (int l = 0; l < count && outer; l++) {
                    dVector3 al;
                    dSubtractVectors3(al, vertex + 3 * l, a);
                    outer = l == i || l == j || l == k || dCalcVectorDot3(al, n) < 0;
                }
                if (outer) {
                    dNormalize3(n);
                    memcpy(plane + 4 * faces, n, 3 * sizeof *n);
                    plane[4 * faces + 3] = dCalcVectorDot3(n, a);
                    const unsigned corners[4] = {3, (unsigned)i, (unsigned)j, (unsigned)k};
                    memcpy(face + 4 * faces++, corners, sizeof corners);
                }
            }
        }
    }
    return faces;
}

// ---- energy

START_TEST(elastic_balls_keep_their_energy)
{
    energy_error ours = elastic_balls_error(ESS, 3, 1e-3, 1, true);
    energy_error stock = elastic_balls_error(STOCK, 3, 1e-3, 1, false);
    ck_assert_double_lt(ours.largest, 1e-6 * ours.first);
    ck_assert_double_lt(10 * ours.largest, stock.largest);
    ck_assert_double_lt(10 * ours.rms, stock.rms);
}
END_TEST

START_TEST(restitution_is_as_asked_for)
{
    static const double e[] = {0.01, 0.5, 0.8, 1};
    yielding *y = yielding_open(ESS, (material){.bounce = e[_i]}, 0.01);
    dWorldSetGravity(y->world, 0, 0, 0);
    dCreatePlane(y->space, 0, 0, 1, 0);
    dBodyID ball = yielding_ball(y, 3, 0.1, 0, 0, 0.151);
    dBodySetLinearVel(ball, 0, 0, -2);
    run(y, 10);
    ck_assert_double_eq_tol(dBodyGetLinearVel(ball)[2], 2 * e[_i], 1e-5);
    yielding_close(y);
}
END_TEST

// Of a ball, and of a box that lands flat: what their weight takes meanwhile is given back.
START_TEST(weight_takes_nothing_of_a_rebound)
{
    static const double e[] = {0.3, 0.7, 0.9}, height[] = {0.4, 0.05};
    yielding *y = yielding_open(ESS, (material){.bounce = e[_i % 3]}, 0.01);
    dMass mass;
    dMassSetBoxTotal(&mass, 1, 0.4, 0.4, 0.4);
    dGeomID geom = _i / 3 % 2 ? dCreateBox(y->space, 0.4, 0.4, 0.4) : dCreateSphere(y->space, 0.2);
    dCreatePlane(y->space, 0, 0, 1, 0);
    dBodyID body = yielding_body(y, &mass, geom, 0, 0, 0.2 + height[_i / 6]);
    double square = 0;
    for (int k = 0; k < 100 && !(square > 0); k++) {
        yielding_step(y);
        double v = dBodyGetLinearVel(body)[2], z = dBodyGetPosition(body)[2] - 0.2;
        square = v > 0 && z > 0 ? v * v + 2 * ESS_G * z : 0;
    }
    double speed = sqrt(2 * ESS_G * height[_i / 6]);
    ck_assert_double_eq_tol(sqrt(square) / speed, e[_i % 3], _i / 6 ? 2e-4 : 3e-5);
    yielding_close(y);
}
END_TEST

// From a floor that yields, for the least restitution that is corrected for the weight, too.
START_TEST(weight_takes_little_of_a_soft_rebound)
{
    static const double e[] = {0.2, 0.4, 0.8};
    yielding *y = yielding_open(ESS, (material){4e4, .bounce = e[_i]}, 0.01);
    dCreatePlane(y->space, 0, 0, 1, 0);
    dBodyID ball = yielding_ball(y, 1, 0.2, 0, 0, 0.4);
    double square = 0;
    for (int k = 0; k < 100 && !(square > 0); k++) {
        yielding_step(y);
        double v = dBodyGetLinearVel(ball)[2], z = dBodyGetPosition(ball)[2] - 0.2;
        square = v > 0 && z > 0 ? v * v + 2 * ESS_G * z : 0;
    }
    ck_assert_double_eq_tol(sqrt(square / (2 * ESS_G * 0.2)), e[_i], 3e-3);
    yielding_close(y);
}
END_TEST

// At any time of a step: friction that sticks makes a bounce stiff, not implicit.
START_TEST(friction_does_not_end_bounces)
{
    const double e = 0.8, friction[] = {0.1, 0.5, 1, 2};
    for (int k = 0; k < 20; k++) {
        yielding *y = yielding_open(ESS, (material){.friction = friction[_i], .bounce = e}, 0.01);
        double height = 0.5 + 0.09 * k, top = 0;
        dCreatePlane(y->space, 0, 0, 1, 0);
        dBodyID ball = yielding_ball(y, 1, 0.25, 0, 0, 0.25 + height);
        while (dBodyGetLinearVel(ball)[2] <= 0) {
            yielding_step(y);
        }
        for (; dBodyGetLinearVel(ball)[2] > -0.1; yielding_step(y)) {
            top = fmax(top, dBodyGetPosition(ball)[2] - 0.25);
        }
        ck_assert_double_eq_tol(top, e * e * height, 0.02 * height);
        ck_assert_int_eq(stats_of(y).ess_declined, 0);
        yielding_close(y);
    }
}
END_TEST

// Dropped, it rebounds until it comes down slower than bounce_vel; then it rests as what does not
// bounce.
START_TEST(slow_ones_do_not_bounce)
{
    double least = 0.5, e = 0.7, stiffness = _i ? 2e5 : 0;
    yielding *y = yielding_open(ESS, (material){stiffness, 1, .bounce = e}, 0.01);
    y->bounce_speed = least;
    dCreatePlane(y->space, 0, 0, 1, 0);
    dBodyID ball = yielding_ball(y, 3, 0.1, 0, 0, 0.5);
    double speed = sqrt(2 * ESS_G * 0.4);
    int bounces = 0, expected = 1 + (int)floor(log(least / speed) / log(e));
    for (int k = 0; k < 300; k++) {
        sprag_world_event event[16];
        yielding_step(y);
        int count = sprag_world_events(y->world, event, 16);
        for (int i = 0; i < count; i++) {
            bool made = event[i].kind == SPRAG_EVENT_CONTACT_MADE;
            bounces += made && event[i].speed > least;
            ck_assert(!made || event[i].speed > least || bounces == expected);
        }
    }
    ck_assert_int_eq(bounces, expected);
    ck_assert_double_lt(fabs(dBodyGetLinearVel(ball)[2]), _i ? 1e-3 : 1e-6);
    ck_assert_double_eq_tol(dBodyGetPosition(ball)[2], _i ? 0.1 - 3 * ESS_G / stiffness : 0.1,
                            1e-5);
    ck_assert_int_eq(stats_of(y).fallbacks, 0);
    yielding_close(y);
}
END_TEST

// Oblique, without gravity: what slides to the end loses mu times the impulse along the normal,
// what sticks rolls; and neither is left to the implicit step.
START_TEST(oblique_bounces_are_coulombs)
{
    double fast = _i ? 1 : 20, mu = 0.4, e = 0.7, down = 2;
    yielding *y = yielding_open(ESS, (material){.friction = mu, .bounce = e}, 0.01);
    dWorldSetGravity(y->world, 0, 0, 0);
    dCreatePlane(y->space, 0, 0, 1, 0);
    dBodyID ball = yielding_ball(y, 3, 0.1, 0, 0, 0.151);
    dBodySetLinearVel(ball, fast, 0, -down);
    run(y, 10);
    const dReal *v = dBodyGetLinearVel(ball), *w = dBodyGetAngularVel(ball);
    double lost = _i ? fast / 3.5 : mu * (1 + e) * down;
    ck_assert_double_eq_tol(v[2], e * down, 1e-5);
    ck_assert_double_eq_tol(v[0], fast - lost, 5e-3 * fast);
    ck_assert_double_eq_tol(0.1 * w[1], 2.5 * lost,
                            0.02 * lost); // by the depth, its lever is shorter
    ck_assert_int_eq(stats_of(y).ess_switched + stats_of(y).ess_declined, 0);
    yielding_close(y);
}
END_TEST

// A box without dissipation tumbles on a floor: rotations, levers and inertia are right.
START_TEST(tumbling_box_keeps_its_energy)
{
    yielding *y = yielding_open(ESS, (material){2e4, .bounce = -1}, 0.005);
    dMass mass;
    dMassSetBoxTotal(&mass, 2, 0.5, 0.3, 0.2);
    dCreatePlane(y->space, 0, 0, 1, 0);
    dBodyID box = yielding_body(y, &mass, dCreateBox(y->space, 0.5, 0.3, 0.2), 0, 0, 0.8);
    dBodySetAngularVel(box, 2, 3, -1);
    double first = yielding_energy(y), error = 0;
    long flying = 0;
    for (int k = 0; k < 600; k++) {
        yielding_step(y);
        if (stats_of(y).contacts == 0) { // nothing is stored
            error = fmax(error, fabs(yielding_energy(y) - first));
            flying++;
        }
    }
    sprag_world_statistics stats = stats_of(y);
    ck_assert_int_gt(flying, 50);
    ck_assert_int_gt(stats.ess_events, 10);
    ck_assert_int_eq(stats.ess_declined, 0);
    ck_assert_int_eq(stats.ess_switched, 0);
    ck_assert_double_lt(error, 1e-4 * first);
    yielding_close(y);
}
END_TEST

// ---- events

START_TEST(events_are_reported)
{
    double h = 0.01, fall = sqrt(2 * hopper_drop / ESS_G), v = ESS_G * fall;
    yielding *y = hopper_open(ESS, h);
    sprag_world_event event[4];
    double made = -1, lost = -1;
    for (int k = 0; k < 60; k++) {
        yielding_step(y);
        int count = sprag_world_events(y->world, event, 4);
        for (int i = 0; i < count; i++) {
            bool is_made = event[i].kind == SPRAG_EVENT_CONTACT_MADE;
            ck_assert(is_made || event[i].kind == SPRAG_EVENT_CONTACT_LOST);
            ck_assert_double_eq_tol(event[i].speed, v, 1e-5);
            ck_assert_double_eq_tol(event[i].position[2], 0, 1e-7);
            ck_assert_double_eq_tol(fabs(event[i].normal[2]), 1, 1e-12);
            ck_assert(event[i].body[0] == y->body[0] || event[i].body[1] == y->body[0]);
            *(is_made ? &made : &lost) = k * h + event[i].time;
        }
        if (lost > 0) {
            break;
        }
    }
    double w = sqrt(HOPPER_STIFFNESS), phase = atan2(v / w, ESS_G / HOPPER_STIFFNESS);
    ck_assert_double_eq_tol(made, fall, 1e-7);
    ck_assert_double_eq_tol(lost - made, (2 * acos(-1) - 2 * phase) / w, 1e-6);
    sprag_world_statistics stats = stats_of(y);
    ck_assert_int_eq(stats.ess_events, 2);
    ck_assert_int_eq(stats.events[SPRAG_EVENT_CONTACT_MADE], 1);
    ck_assert_int_eq(stats.events[SPRAG_EVENT_CONTACT_LOST], 1);
    ck_assert_int_eq(stats.ess_declined + stats.ess_switched + stats.fallbacks, 0);
    yielding_close(y);
}
END_TEST

// Feedback is the mean force of a step: over a bounce it gives what the velocity has changed.
START_TEST(feedback_is_the_impulse)
{
    yielding *y = hopper_open(ESS, 0.01);
    dJointFeedback feedback;
    double sum = 0, h = 0.01;
    y->feedback = &feedback;
    for (int k = 0; k < 60; k++) {
        memset(&feedback, 0, sizeof feedback);
        yielding_step(y);
        sum += h * feedback.f1[2];
    }
    double change = dBodyGetLinearVel(y->body[0])[2] + ESS_G * 60 * h;
    ck_assert_double_gt(change, 1);
    ck_assert_double_eq_tol(sum, change, 1e-5 * change);
    yielding_close(y);
}
END_TEST

// ---- frames that are left to the implicit step

START_TEST(rigid_contacts_begin_in_time_and_come_to_rest)
{
    yielding *y = yielding_open(ESS, (material){.friction = 0.5, .bounce = -1}, 0.01);
    dCreatePlane(y->space, 0, 0, 1, 0);
    dBodyID ball = yielding_ball(y, 1, 0.1, 0, 0, 0.6);
    run(y, 31); // falls for 0.319 s
    ck_assert_int_eq(stats_of(y).events[SPRAG_EVENT_CONTACT_MADE], 0);
    yielding_step(y);
    ck_assert_int_eq(stats_of(y).events[SPRAG_EVENT_CONTACT_MADE], 1);
    run(y, 100);
    ck_assert_double_eq_tol(dBodyGetPosition(ball)[2], 0.1, 1e-8);
    ck_assert_double_lt(fabs(dBodyGetLinearVel(ball)[2]), 1e-8);
    ck_assert_int_eq(stats_of(y).ess_declined + stats_of(y).ess_switched, 0);
    ck_assert_int_eq(stats_of(y).fallbacks, 0);
    yielding_close(y);
}
END_TEST

// Forces jump where a hull rolls on a box: faces come and go.
static yielding *open_rolling_hulls(int hulls)
{
    enum { VERTICES = 20 };
    yielding *y = yielding_open("method=ess,ess.tolerance=1e-9,ess.steps=20",
                                (material){.friction = 0.4, .bounce = -1}, 0.01);
    dMass mass;
    static dReal vertex[3 * VERTICES], plane[4 * 2 * VERTICES]; // ODE keeps no copy
    static unsigned face[4 * 2 * VERTICES];
    unsigned faces = hull_of(vertex, VERTICES, plane, face);
    dWorldSetERP(y->world, 0.3); // 300 N/m, 7 N s/m
    dWorldSetCFM(y->world, 0.1);
    dGeomSetPosition(dCreateBox(y->space, 20, 20, 2), 0, 0, -1);
    dMassSetBoxTotal(&mass, 1, 0.3, 0.25, 0.2);
    for (int i = 0; i < hulls; i++) {
        dGeomID geom = dCreateConvex(y->space, plane, faces, vertex, VERTICES, face);
        dBodyID hull = yielding_body(y, &mass, geom, i, 0.1 * i, 0.3);
        dBodySetLinearVel(hull, 1, 0, 0);
        dBodySetAngularVel(hull, 1, 5 - 0.5 * i, 0);
    }
    return y;
}

// If a frame takes more steps than allowed, the next frames go to the implicit step at once.
START_TEST(failed_integrations_are_not_repeated)
{
    yielding *y = open_rolling_hulls(8);
    run(y, 200);
    sprag_world_statistics stats = stats_of(y);
    ck_assert_int_gt(stats.ess_declined, 900);
    ck_assert_int_lt(stats.ess_steps, 6000); // 11000 if every frame is tried
    ck_assert_int_eq(stats.fallbacks, 0);
    yielding_close(y);
}
END_TEST

// The rest of a frame that the integrator gives up turns no body faster than its greatest speed.
START_TEST(greatest_angular_speed_is_kept_to_the_end_of_a_frame)
{
    const double most = 2;
    yielding *y = open_rolling_hulls(8);
    double fastest = 0;
    for (int i = 0; i < y->bodies; i++) {
        dBodySetMaxAngularSpeed(y->body[i], most);
    }
    for (int k = 0; k < 100; k++) {
        dQuaternion before[8];
        for (int i = 0; i < y->bodies; i++) {
            memcpy(before[i], dBodyGetQuaternion(y->body[i]), sizeof before[i]);
        }
        yielding_step(y);
        for (int i = 0; i < y->bodies; i++) {
            dQuaternion turn;
            dQMultiply2(turn, dBodyGetQuaternion(y->body[i]), before[i]);
            fastest = fmax(fastest, 2 * asin(dCalcVectorLength3(turn + 1)) / y->step);
        }
    }
    ck_assert_double_lt(fastest, most * (1 + 1e-6));
    ck_assert_int_gt(stats_of(y).ess_switched, 10);
    yielding_close(y);
}
END_TEST

// A ball that starts inside the floor, where stiffness comes from a bounce or from ERP and CFM:
// taken out as ODE does, not thrown (by a bounce in a quarter of a step: at 60 m/s).
START_TEST(overlaps_are_not_thrown_out)
{
    yielding *y = yielding_open(ESS, (material){.bounce = _i ? 0.5 : -1}, 0.01);
    dWorldSetCFM(y->world, _i ? 1e-10 : 1e-4);
    dCreatePlane(y->space, 0, 0, 1, 0);
    dBodyID ball = yielding_ball(y, 1, 0.1, 0, 0, 0.05);
    double fastest = 0;
    for (int k = 0; k < 100; k++) {
        yielding_step(y);
        fastest = fmax(fastest, fabs(dBodyGetLinearVel(ball)[2]));
    }
    ck_assert_double_lt(fastest, 2); // 1 m/s by ERP 0.2
    ck_assert_double_eq_tol(dBodyGetPosition(ball)[2], 0.1, 0.01);
    yielding_close(y);
}
END_TEST

// The same where nothing is to take it out: it leaves the floor by itself, or falls back within the
// step, by a surface that bounces or not.
START_TEST(overlaps_give_no_energy)
{
    static const double speed[] = {1, 0.05, 3.6}, erp[] = {0.2, 0.2, 0.8};
    static const double cfm[] = {1e-4, 1e-4, 0.008};
    // By 1.5 times the overlap of its weight and of a fall of two steps, with k = 1e4 N/m.
    const double deep = 1.5 * (ESS_G / 1e4 + 2 * ESS_G * 0.01 / 100);
    const double held[] = {0, 0, 0.5 * 1e4 * deep * deep};
    yielding *y = yielding_open(ESS, (material){.bounce = _i / 3 ? 0.5 : -1}, 0.01);
    dWorldSetCFM(y->world, cfm[_i % 3]);
    dWorldSetERP(y->world, erp[_i % 3]);
    dWorldSetContactMaxCorrectingVel(y->world, 0);
    dCreatePlane(y->space, 0, 0, 1, 0);
    dBodyID ball = yielding_ball(y, 1, 0.1, 0, 0, 0.05);
    dBodySetLinearVel(ball, 0, 0, speed[_i % 3]);
    double most = ESS_G * 0.05 + speed[_i % 3] * speed[_i % 3] / 2 + held[_i % 3];
    for (int k = 0; k < 40; k++) {
        yielding_step(y);
        double v = dBodyGetLinearVel(ball)[2];
        ck_assert_double_le(ESS_G * dBodyGetPosition(ball)[2] + v * v / 2, most + 1e-9);
    }
    yielding_close(y);
}
END_TEST

// A box on a box, turned by so little that each corner of the one cuts off one of the other: eight
// points carry it as four do.
START_TEST(turned_box_is_carried_by_four_points)
{
    static const double turn[] = {0, 1e-12, 1e-9, 1e-7, 1e-5, 1e-4};
    const material soft = {1e4, 5, 0.5, 0.01, -1};
    double side = 0.2, sink = 1 * ESS_G / (4 * soft.stiffness);
    yielding *y = yielding_open(ESS, soft, 0.01);
    dMass mass;
    dMatrix3 R;
    dMassSetBoxTotal(&mass, 1, side, side, side);
    dGeomSetPosition(dCreateBox(y->space, side, side, side), 0, 0, -side / 2);
    dBodyID box = yielding_body(y, &mass, dCreateBox(y->space, side, side, side), 0, 0,
                                side / 2 - 0.9 * sink);
    dRFromAxisAndAngle(R, 0, 0, 1, turn[_i]);
    dBodySetRotation(box, R);
    run(y, 20); // before it rests, when the implicit step takes the program's points
    ck_assert_double_eq_tol(dBodyGetPosition(box)[2], side / 2 - sink, 1e-3 * sink);
    ck_assert_int_eq(stats_of(y).ess_declined, 0);
    yielding_close(y);
}
END_TEST

// A ball set on a stiff spring trembles by 1 um, faster than what counts as rest: it goes on so.
START_TEST(trembling_is_no_rest)
{
    const material stiff = {1e7, 0, 0, 0, -1};
    const double radius = 0.1, sink = ESS_G / stiff.stiffness;
    yielding *y = yielding_open(ESS, stiff, 0.01);
    dCreatePlane(y->space, 0, 0, 1, 0);
    dBodyID ball = yielding_ball(y, 1, radius, 0, 0, radius);
    for (int k = 0; k < 50; k++) {
        yielding_step(y);
        double depth = radius - dBodyGetPosition(ball)[2], v = dBodyGetLinearVel(ball)[2];
        double energy = v * v / 2 + stiff.stiffness * (depth - sink) * (depth - sink) / 2;
        ck_assert_double_eq_tol(energy, stiff.stiffness * sink * sink / 2, 0.01 * ESS_G * sink);
    }
    yielding_close(y);
}
END_TEST

// Sticking friction on a soft contact: not thousands of steps. At rest the contact holds.
START_TEST(sticking_contacts_do_not_slow_integration)
{
    yielding *y = yielding_open(ESS, (material){1e4, 1, 0.5, 1e-6, -1}, 0.01);
    dMass mass;
    dMassSetBoxTotal(&mass, 1, 0.2, 0.2, 0.2);
    dCreatePlane(y->space, 0, 0, 1, 0);
    dBodyID box = yielding_body(y, &mass, dCreateBox(y->space, 0.2, 0.2, 0.2), 0, 0, 0.1);
    dBodySetLinearVel(box, 0.3, 0, 0);
    run(y, 300);
    sprag_world_statistics stats = stats_of(y);
    ck_assert_int_lt(stats.ess_declined + stats.ess_switched, 5);
    long left = 0;
    for (int i = 0; i < SPRAG_ESS_REASONS; i++) {
        left += stats.ess_left[i];
    }
    ck_assert_int_eq(left, stats.ess_declined + stats.ess_switched);
    ck_assert_int_lt(stats.ess_steps, 300 * 60);
    ck_assert_int_eq(stats.fallbacks, 0);
    ck_assert_double_eq_tol(dBodyGetPosition(box)[0], 0.3 * 0.3 / (2 * 0.5 * ESS_G), 1e-3);
    ck_assert_double_lt(fabs(dBodyGetLinearVel(box)[0]), 1e-5);
    yielding_close(y);
}
END_TEST

// A tower of boxes on springs comes to rest at any tolerance, and takes a single step a frame then.
START_TEST(soft_towers_rest_at_any_tolerance)
{
    const double tolerance = pow(10, -3 - _i);
    char options[64];
    snprintf(options, sizeof options, "method=ess,ess.tolerance=%g", tolerance);
    yielding *y = yielding_open(options, (material){1e4, 5, 0.5, 0.01, -1}, 0.01);
    dMass mass;
    dMassSetBoxTotal(&mass, 1, 0.2, 0.2, 0.2);
    dCreatePlane(y->space, 0, 0, 1, 0);
    for (int i = 0; i < 5; i++) {
        yielding_body(y, &mass, dCreateBox(y->space, 0.2, 0.2, 0.2), 0.25, 0.25, 0.1 + 0.2 * i);
    }
    run(y, 200);
    const long before = stats_of(y).ess_steps;
    run(y, 200);
    ck_assert_int_eq(stats_of(y).ess_steps - before, 200);
    for (int i = 0; i < y->bodies; i++) {
        ck_assert_double_le(kinetic_energy(y->body[i]), 1e-4 * tolerance * tolerance);
    }
    yielding_close(y);
}
END_TEST

// ---- motors and stops

// A soft hull tumbles deep into a floor: all its vertices there are springs, whatever face they are
// of, so that it loses nothing.
START_TEST(tumbling_hull_keeps_its_energy)
{
    enum { VERTICES = 20 };
    yielding *y = yielding_open(ESS, (material){300, .bounce = -1}, 0.01);
    dMass mass;
    dReal vertex[3 * VERTICES], plane[4 * 2 * VERTICES];
    unsigned face[4 * 2 * VERTICES], faces = hull_of(vertex, VERTICES, plane, face);
    dCreatePlane(y->space, 0, 0, 1, 0);
    dMassSetBoxTotal(&mass, 1, 0.3, 0.25, 0.2);
    dGeomID geom = dCreateConvex(y->space, plane, faces, vertex, VERTICES, face);
    dBodyID hull = yielding_body(y, &mass, geom, 0, 0, 0.4);
    dBodySetAngularVel(hull, 1, 5, 0);
    double first = yielding_energy(y), error = 0;
    int flying = 0;
    for (int k = 0; k < 300; k++) {
        yielding_step(y);
        if (stats_of(y).contacts == 0) {
            error = fmax(error, fabs(yielding_energy(y) - first));
            flying++;
        }
    }
    sprag_world_statistics stats = stats_of(y);
    ck_assert_int_eq(stats.ess_declined + stats.ess_switched + stats.fallbacks, 0);
    ck_assert_int_gt(flying, 50);
    ck_assert_int_gt(stats.ess_events, 6);
    ck_assert_double_lt(error, 1e-5 * first);
    yielding_close(y);
}
END_TEST

// Four corners carry it as on a plane; over a seam, where both triangles have points, more do.
START_TEST(soft_boxes_rest_on_meshes)
{
    static const float vertex[] = {-5, -5, 0, 5, -5, 0, 5, 5, 0, -5, 5, 0};
    static const dTriIndex index[] = {0, 1, 2, 0, 2, 3};
    static const double at[][2] = {{0.6, -0.4}, {0.3, 0.3}}; // m
    const double sink = ESS_G / (4 * 1e4);
    yielding *y = yielding_open(ESS, (material){1e4, 0.5, .friction = 0.5, .bounce = -1}, 0.01);
    dTriMeshDataID data = dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildSingle(data, vertex, 3 * sizeof(float), 4, index, 6,
                                3 * sizeof(dTriIndex));
    dGeomID mesh = dCreateTriMesh(y->space, data, NULL, NULL, NULL);
    dMass mass;
    dMassSetBoxTotal(&mass, 1, 0.2, 0.2, 0.2);
    dBodyID box =
        yielding_body(y, &mass, dCreateBox(y->space, 0.2, 0.2, 0.2), at[_i][0], at[_i][1], 0.5);
    run(y, 300);
    double sunk = 0.1 - dBodyGetPosition(box)[2];
    ck_assert_double_lt(sunk, 1.001 * sink);
    ck_assert_double_gt(sunk, (_i ? 0.4 : 0.999) * sink);
    ck_assert_double_lt(fabs(dBodyGetLinearVel(box)[2]), 1e-6);
    ck_assert_int_eq(stats_of(y).ess_declined + stats_of(y).ess_switched, 0);
    dGeomDestroy(mesh);
    yielding_close(y);
    dGeomTriMeshDataDestroy(data);
}
END_TEST

// ---- anything else

START_TEST(same_bits_twice)
{
    double end[2][6];
    for (int i = 0; i < 2; i++) {
        yielding *y = elastic_balls_open(ESS, 3, 0.002);
        run(y, 300);
        memcpy(end[i], dBodyGetPosition(y->body[5]), 3 * sizeof(double));
        memcpy(end[i] + 3, dBodyGetLinearVel(y->body[20]), 3 * sizeof(double));
        yielding_close(y);
    }
    ck_assert_mem_eq(end[0], end[1], sizeof end[0]);
}
END_TEST

// The frame of reference far away, and numbers that are none.
START_TEST(odd_numbers_do_no_harm)
{
    static const double k[] = {0, 1e-300, 1e-3, 1e15, 1e300, NAN, -1};
    yielding *y = yielding_open(ESS, (material){k[_i], 1e6, 0.5, 0, -1}, 0.01);
    dCreatePlane(y->space, 0, 0, 1, 0);
    dBodyID ball = yielding_ball(y, 1e-6, 0.1, 1e4, 0, 0.15),
            heavy = yielding_ball(y, 1e6, 0.1, 0, 0, 0.05);
    dBodySetAngularVel(ball, 1e3, 1e5, 0);
    run(y, 50);
    dBodySetLinearVel(heavy, 0, 0, NAN);
    run(y, 5);
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        sum += 0 * dBodyGetPosition(ball)[i] + 0 * dBodyGetPosition(heavy)[i];
    }
    ck_assert(sum == 0);
    yielding_close(y);
}
END_TEST

// However many times the integration ends at an event and goes on: a fast arm, on a slider that
// knocks about between its stops.
START_TEST(steps_of_a_frame_are_bounded)
{
    coordinate c = open_coordinate(true, false, 0.01);
    set(&c, dParamLoStop, -5e-4);
    set(&c, dParamHiStop, 5e-4);
    set(&c, dParamBounce, 1);
    dBodySetLinearVel(c.body, 0, 6, 0);
    dMass mass;
    dMassSetBoxTotal(&mass, 0.01, 0.3, 0.2, 0.1);
    dBodyID arm = yielding_body(c.y, &mass, NULL, 0.5, 0, 0);
    dJointID hinge = dJointCreateHinge(c.y->world, 0);
    dJointAttach(hinge, c.body, arm);
    dJointSetHingeAnchor(hinge, 0.4, 0, 0);
    dJointSetHingeAxis(hinge, 0, 0, 1);
    dBodySetAngularVel(arm, 0, 0, 1e4);
    dBodySetLinearVel(arm, 0, 6 + 1e3, 0);
    yielding_step(c.y);
    sprag_world_statistics stats = stats_of(c.y);
    ck_assert_int_eq(stats.ess_declined, 1);
    ck_assert_int_le(stats.ess_steps, 500);
    yielding_close(c.y);
}
END_TEST

// Steps count by what they cost: a long chain, for which a few are as much work as many of a
// pendulum, is handed over before all are taken.
START_TEST(work_of_a_frame_is_bounded)
{
    const int links = _i ? 120 : 1;
    yielding *y = yielding_open("method=ess,ess.tolerance=1e-9,ess.steps=20",
                                (material){.bounce = -1}, 0.005);
    for (int i = 0; i < links; i++) {
        dBodyID link = add_link(y, i);
        dBodySetLinearVel(link, 0, 0, -2 * (0.05 + 0.1 * i)); // they swing as one
        dBodySetAngularVel(link, 0, 2, 0);
    }
    run(y, 5);
    sprag_world_statistics stats = stats_of(y);
    ck_assert_int_eq(stats.ess_declined, _i ? 5 : 0);
    ck_assert_int_lt(stats.ess_steps, 5 * 20);
    yielding_close(y);
}
END_TEST

static Suite *ess_suite(void)
{
    Suite *suite = suite_create("method_ess");
    ADD_TESTS(suite, "answers", {hopper_is_exact, 2}, {dissipation_is_as_given, 3},
              {plate_on_springs_is_the_generic_system, 3}, {springs_end_exactly, 1},
              {pendulum_is_exact, 2}, {turned_box_is_carried_by_four_points, 6},
              {tolerance_trades_errors_for_steps, 2}, {stribeck_tends_to_ess, 1});
    ADD_TESTS(suite, "energy", {elastic_balls_keep_their_energy, 1},
              {restitution_is_as_asked_for, 4}, {weight_takes_nothing_of_a_rebound, 12},
              {weight_takes_little_of_a_soft_rebound, 3}, {slow_ones_do_not_bounce, 2},
              {friction_does_not_end_bounces, 4}, {oblique_bounces_are_coulombs, 2},
              {tumbling_box_keeps_its_energy, 1}, {tumbling_hull_keeps_its_energy, 1},
              {chain_keeps_its_energy, 2});
    ADD_TESTS(suite, "told", {events_are_reported, 1}, {feedback_is_the_impulse, 1},
              {joint_feedback_is_the_force, 1}, {feedback_of_a_landing_is_impulse_over_step, 1});
    ADD_TESTS(
        suite, "left", {rigid_contacts_begin_in_time_and_come_to_rest, 1},
        {sticking_contacts_do_not_slow_integration, 1}, {soft_towers_rest_at_any_tolerance, 6},
        {overlaps_are_not_thrown_out, 2}, {overlaps_give_no_energy, 6}, {trembling_is_no_rest, 1},
        {failed_integrations_are_not_repeated, 1},
        {greatest_angular_speed_is_kept_to_the_end_of_a_frame, 1}, {soft_boxes_rest_on_meshes, 2},
        {steps_of_a_frame_are_bounded, 1}, {work_of_a_frame_is_bounded, 2});
    ADD_TESTS(suite, "other", {same_bits_twice, 1}, {odd_numbers_do_no_harm, 7});
    return suite;
}

int main(void)
{
    start_ode();
    dSetMessageHandler(quiet);
    return run_suite(ess_suite());
}
