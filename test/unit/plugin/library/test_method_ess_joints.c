// Joints, motors and stops under method=ess.
#include <check.h>
#include <math.h>
#include <string.h>

#include "body_motion.h"
#include "chance.h"
#include "ess_runs.h"
#include "start.h"
#include "suite.h"
#include "worlds_ess.h"

// ---- motors and stops

// In the sense of ODE's rows. The getters of a reversed joint have other signs.
static double rate_of(const coordinate *c)
{
    bool slider = dJointGetType(c->joint) == dJointTypeSlider;
    return slider ? dJointGetSliderPositionRate(c->joint) : dBodyGetAngularVel(c->body)[1];
}

static double place_of(const coordinate *c)
{
    const dReal *R = dBodyGetRotation(c->body);
    return dJointGetType(c->joint) == dJointTypeSlider ? dJointGetSliderPosition(c->joint)
                                                       : atan2(R[2], R[10]);
}

// Under a constant force a joint moves by h times its mean rate. Five tests of ODE's demo_joints
// (221, 321, 421, 731, 742) expect h times the rate at the end of the step, which differs by h a /
// 2 in rate.
START_TEST(joints_move_at_their_mean_rate)
{
    double h = 0.05, force = 0.1, rate = 0, place = 0;
    coordinate c = open_coordinate(_i, false, h);
    for (int k = 1; k <= 50; k++) {
        if (_i) {
            dBodyAddForce(c.body, 0, force, 0);
        } else {
            dBodyAddTorque(c.body, 0, force, 0);
        }
        yielding_step(c.y);
        double mean = (place_of(&c) - place) / h, a = force / c.inertia;
        ck_assert_double_eq_tol(rate_of(&c), k * h * a, 1e-9);
        ck_assert_double_eq_tol(mean, (rate + rate_of(&c)) / 2, 1e-9);
        ck_assert_double_eq_tol(rate_of(&c) - mean, h * a / 2, 1e-9);
        rate = rate_of(&c);
        place = place_of(&c);
    }
    yielding_close(c.y);
}
END_TEST

// A motor uses its full force until it reaches its speed, at the end of a frame.
START_TEST(motors_are_bounded)
{
    double h = 0.01, force = 3, wanted = 0.5;
    coordinate c = open_coordinate(_i % 2, _i / 2, h);
    set(&c, dParamFMax, force);
    set(&c, dParamVel, wanted);
    for (int k = 1; k <= 60; k++) {
        yielding_step(c.y);
        ck_assert_double_eq_tol(rate_of(&c), fmin(force / c.inertia * k * h, wanted), 1e-8);
    }
    sprag_world_statistics stats = stats_of(c.y);
    ck_assert_int_eq(stats.ess_declined + stats.ess_switched + stats.fallbacks, 0);
    yielding_close(c.y);
}
END_TEST

// An arm in gravity: its load changes within the frame, and the motor's speed from frame to frame.
START_TEST(motor_reaches_its_speed_at_the_end)
{
    coordinate c = open_coordinate(false, _i % 2, 0.01);
    dWorldSetGravity(c.y->world, 0, 0, -ESS_G);
    set(&c, dParamFMax, _i / 2 ? dInfinity : 1000);
    set(&c, dParamCFM, 0);
    for (int k = 0; k < 100; k++) {
        double wanted = 3 * cos(0.3 * k);
        set(&c, dParamVel, wanted);
        yielding_step(c.y);
        ck_assert_double_eq_tol(rate_of(&c), wanted, 1e-8);
    }
    ck_assert_int_eq(stats_of(c.y).ess_declined + stats_of(c.y).ess_switched, 0);
    yielding_close(c.y);
}
END_TEST

// A bounce within a step changes the motor's speed by more than its force can undo in the step. The
// motor pulls with its full force until it has its speed again.
START_TEST(motor_pulls_after_a_bounce)
{
    coordinate c = open_coordinate(true, false, 0.01);
    double at = 0;
    dBodyID ball = yielding_ball(c.y, 0.1, 0.1, 0.4, 0.252, 0);
    dGeomID box = dCreateBox(c.y->space, 0.3, 0.2, 0.1);
    dGeomSetBody(box, c.body);
    c.y->made_of.bounce = 1;
    dBodySetLinearVel(ball, 0, -20, 0);
    set(&c, dParamFMax, 20);
    for (int k = 1; k <= 30; k++) {
        yielding_step(c.y);
        at = k == 2 ? fabs(rate_of(&c)) : at;
        if (k > 2) { // 10 m/s^2
            ck_assert_double_eq_tol(fabs(rate_of(&c)), fmax(0, at - 0.1 * (k - 2)), 1e-8);
        }
    }
    ck_assert_double_gt(at, 1);
    ck_assert_int_eq(stats_of(c.y).ess_declined + stats_of(c.y).ess_switched, 0);
    yielding_close(c.y);
}
END_TEST

// A cart of 2 kg at 1 m/s hits a ball of 1 kg, e = 0.5, or pushes it on, e = 0. A motor of force F
// has its speed again after m dv / F, and has lost m dv^2 / 2 F of its way, m with what it pushes.
START_TEST(motor_loses_the_way_of_its_full_force)
{
    static const struct {
        double step, force, bounce, error; // s, N, 1, m
    } run[] = {{0.01, 500, 0.5, 1e-6},
               {1 / 60.0, 500, 0.5, 1e-6},
               {1 / 60.0, 100, 0.5, 1e-6},
               {0.01, 500, 0, 1e-6},
               {1 / 60.0, 500, 0, 1e-6},
               {0.001, 100, 0.5, 1e-5}, // the last of many steps is evenly accelerated
               {0.001, 100, 0, 1e-5},
               {0.01, 10, 0.5, 1e-4}};
    const double h = run[_i].step, force = run[_i].force, e = run[_i].bounce, cart = 2, mass = 1;
    coordinate c = open_coordinate(true, false, h);
    dBodyID ball = yielding_ball(c.y, mass, 0.1, 0.4, 0.2037, 0);
    dGeomSetBody(dCreateBox(c.y->space, 0.3, 0.2, 0.1), c.body);
    c.y->made_of.bounce = e;
    dBodySetLinearVel(c.body, 0, 1, 0);
    set(&c, dParamVel, rate_of(&c));
    set(&c, dParamFMax, force);
    const int steps = (int)lround(0.5 / h);
    for (int k = 0; k < steps; k++) {
        yielding_step(c.y);
    }
    const double change = (1 + e) * mass / (cart + mass), drawn = e > 0 ? cart : cart + mass;
    ck_assert_double_eq_tol(steps * h - dBodyGetPosition(c.body)[1],
                            drawn * change * change / (2 * force), run[_i].error);
    ck_assert_double_eq_tol(dBodyGetLinearVel(c.body)[1], 1, 1e-8);
    ck_assert_double_eq_tol(dBodyGetLinearVel(ball)[1], e > 0 ? (1 + e) * cart / (cart + mass) : 1,
                            1e-6);
    ck_assert_int_eq(stats_of(c.y).ess_declined + stats_of(c.y).ess_switched, 0);
    yielding_close(c.y);
}
END_TEST

// One step removes a velocity that the joint does not allow, as in stock.
START_TEST(joints_remove_velocities_in_one_step)
{
    double end[2][6];
    for (int i = 0; i < 2; i++) {
        yielding *y = yielding_open(i ? ESS : STOCK, (material){.bounce = -1}, 0.01);
        dWorldSetGravity(y->world, 0, 0, 0);
        dBodyID ball = yielding_ball(y, 3, 0.1, 0.5, 0, 0);
        dJointID joint = dJointCreateBall(y->world, 0);
        dJointFeedback feedback;
        dJointAttach(joint, ball, 0);
        dJointSetBallAnchor(joint, 0, 0, 0);
        dJointSetFeedback(joint, &feedback);
        dBodySetLinearVel(ball, 2, 0, 1e-3);
        run(y, 1);
        memcpy(end[i], dBodyGetLinearVel(ball), 3 * sizeof **end);
        memcpy(end[i] + 3, feedback.f1, 3 * sizeof **end);
        yielding_close(y);
    }
    for (int k = 0; k < 6; k++) {
        ck_assert_double_eq_tol(end[1][k], end[0][k], k < 3 ? 1e-5 : 1e-2);
    }
    ck_assert_double_eq_tol(end[1][3], -600, 1e-2);
}
END_TEST

// A motor drives a body beyond its greatest angular speed: each step limits the speed to that.
START_TEST(greatest_angular_speed_is_kept)
{
    coordinate c = open_coordinate(false, _i, 0.01);
    double most = 3;
    set(&c, dParamVel, 5);
    set(&c, dParamFMax, 1000);
    dBodySetMaxAngularSpeed(c.body, most);
    dBodySetAngularVel(c.body, 0, 4, 0);
    dBodySetLinearVel(c.body, 0, 0, -4 * 0.4);
    for (int k = 1; k <= 20; k++) {
        yielding_step(c.y);
        ck_assert_double_eq_tol(dBodyGetAngularVel(c.body)[1], most, 1e-12);
        ck_assert_double_eq_tol(place_of(&c), most * 0.01 * k, 1e-9);
    }
    ck_assert_int_eq(stats_of(c.y).ess_declined + stats_of(c.y).ess_switched, 0);
    yielding_close(c.y);
}
END_TEST

// A motor with infinite speed acts as a constant force.
START_TEST(motor_with_infinite_speed_is_a_force)
{
    coordinate c = open_coordinate(_i % 2, _i / 2, 0.01);
    double force = 3;
    set(&c, dParamFMax, force);
    set(&c, dParamVel, -dInfinity);
    set(&c, dParamLoStop, -3);
    for (int k = 1; k <= 20; k++) {
        yielding_step(c.y);
        ck_assert_double_eq_tol(rate_of(&c), -force / c.inertia * 0.01 * k, 1e-8);
    }
    ck_assert_int_eq(stats_of(c.y).ess_declined + stats_of(c.y).ess_switched, 0);
    yielding_close(c.y);
}
END_TEST

// A motor drives a joint into its stop: the joint reaches it at the exact time, and stays there.
START_TEST(motor_rests_on_its_stop)
{
    double h = 0.01, force = 3, stop = 0.1, met = -1;
    coordinate c = open_coordinate(_i % 2, _i / 2 % 2, h);
    ck_assert(sprag_world_configure(c.y->world, _i / 4 ? "method=ess" : ESS));
    set(&c, dParamFMax, force);
    set(&c, dParamVel, -100);
    set(&c, dParamLoStop, -stop);
    for (int k = 0; k < 200; k++) {
        sprag_world_event event[4];
        yielding_step(c.y);
        int count = sprag_world_events(c.y->world, event, 4);
        for (int i = 0; i < count; i++) {
            ck_assert_int_eq(event[i].kind, SPRAG_EVENT_LIMIT_REACHED);
            ck_assert(event[i].joint == c.joint);
            met = met < 0 ? k * h + event[i].time : met;
        }
    }
    ck_assert_double_eq_tol(met, sqrt(2 * stop * c.inertia / force), 1e-7);
    ck_assert_double_eq_tol(place_of(&c), -stop, 1e-7);
    ck_assert_double_lt(fabs(rate_of(&c)), 1e-9);
    sprag_world_statistics stats = stats_of(c.y);
    ck_assert_int_eq(stats.events[SPRAG_EVENT_LIMIT_REACHED], 1);
    ck_assert_int_eq(stats.ess_declined + stats.ess_switched + stats.fallbacks, 0);
    ck_assert_double_eq(dJointGetType(c.joint) == dJointTypeSlider
                            ? dJointGetSliderParam(c.joint, dParamLoStop)
                            : dJointGetHingeParam(c.joint, dParamLoStop),
                        -stop); // as it was
    yielding_close(c.y);
}
END_TEST

// A body bounces between two stops: restitution is exact for hinge and slider, attached
// either way.
START_TEST(stops_bounce_as_asked_for)
{
    static const double e[] = {0.3, 0.8, 1};
    coordinate c = open_coordinate(_i % 2, _i / 2 % 2, 0.01);
    double speed = 1.5;
    set(&c, dParamLoStop, -0.2);
    set(&c, dParamHiStop, 0.3);
    set(&c, dParamBounce, e[_i / 4]);
    set(&c, dParamStopCFM, 0);
    dWorldSetCFM(c.y->world, 0);
    if (_i % 2) {
        dBodySetLinearVel(c.body, 0, speed, 0);
    } else {
        dBodySetLinearVel(c.body, 0, 0, -0.4 * speed);
        dBodySetAngularVel(c.body, 0, speed, 0);
    }
    for (int k = 0; k < 400; k++) {
        yielding_step(c.y);
        double place = place_of(&c);
        int turns = (int)stats_of(c.y).events[SPRAG_EVENT_LIMIT_REACHED];
        if (place > -0.2 && place < 0.3) {
            ck_assert_double_eq_tol(fabs(rate_of(&c)), speed * pow(e[_i / 4], turns), 1e-7);
        }
        ck_assert_double_lt(fabs(place - 0.05), 0.25 + 1e-7);
    }
    sprag_world_statistics stats = stats_of(c.y);
    ck_assert_int_ge(stats.events[SPRAG_EVENT_LIMIT_REACHED], 2);
    ck_assert_int_eq(stats.ess_declined + stats.ess_switched + stats.fallbacks, 0);
    yielding_close(c.y);
}
END_TEST

static double energy_of(dBodyID body)
{
    dVector3 L;
    angular_momentum(body, L);
    const dReal *v = dBodyGetLinearVel(body);
    return (2 * dCalcVectorDot3(v, v) + dCalcVectorDot3(L, dBodyGetAngularVel(body))) / 2; // 2 kg
}

// A body at a stop gets velocities that neither the joint nor the stop allows.
START_TEST(a_stop_wins_no_energy_at_the_start)
{
    chance dice = {(uint64_t)_i};
    double v[6];
    coordinate c = open_coordinate(false, _i % 2, 0.01);
    dJointSetHingeAnchor(c.joint, -1.5, 0.7, 0.9);
    dJointSetHingeAxis(c.joint, 1, 2, -1);
    set(&c, dParamLoStop, 0);
    set(&c, dParamHiStop, 0.3);
    for (int k = 0; k < 6; k++) {
        v[k] = chance_between(&dice, -3, 3);
    }
    dBodySetLinearVel(c.body, v[0], v[1], v[2]);
    dBodySetAngularVel(c.body, v[3], v[4], v[5]);
    double before = energy_of(c.body);
    run(c.y, 1);
    ck_assert_double_le(energy_of(c.body), before);
    yielding_close(c.y);
}
END_TEST

// A body bounces 15 times on each of two stops in one frame.
START_TEST(stops_bounce_often)
{
    coordinate c = open_coordinate(_i % 2, _i / 2, 0.01);
    double speed = 3;
    set(&c, dParamLoStop, -5e-4);
    set(&c, dParamHiStop, 5e-4);
    set(&c, dParamBounce, 1);
    set(&c, dParamStopCFM, 0);
    dWorldSetCFM(c.y->world, 0);
    dBodySetLinearVel(c.body, 0, _i % 2 ? speed : 0, _i % 2 ? 0 : -0.4 * speed);
    dBodySetAngularVel(c.body, 0, _i % 2 ? 0 : speed, 0);
    for (int k = 0; k < 10; k++) {
        yielding_step(c.y);
        ck_assert_double_eq_tol(fabs(rate_of(&c)), speed, 1e-5);
        ck_assert_double_lt(fabs(place_of(&c)), 5e-4 + 1e-7);
    }
    sprag_world_statistics stats = stats_of(c.y);
    ck_assert_int_eq(stats.ess_declined + stats.ess_switched + stats.fallbacks, 0);
    ck_assert_int_ge(stats.events[SPRAG_EVENT_LIMIT_REACHED], 280);
    yielding_close(c.y);
}
END_TEST

// Bounces that become smaller and smaller end within a frame that would have too many of them.
START_TEST(stop_comes_to_rest)
{
    coordinate c = open_coordinate(_i % 2, _i / 2, 0.01);
    dMass mass;
    dBodyGetMass(c.body, &mass);
    set(&c, dParamLoStop, -0.05);
    set(&c, dParamBounce, 0.7);
    set(&c, dParamStopCFM, 0);
    dWorldSetCFM(c.y->world, 0);
    for (int k = 0; k < 300; k++) {
        dBodyAddForce(c.body, 0, _i == 1 ? -20 : _i == 3 ? 20 : 0, _i % 2 ? 0 : 50);
        yielding_step(c.y);
        ck_assert_double_gt(place_of(&c), -0.05 - 1e-7);
    }
    ck_assert_double_eq_tol(place_of(&c), -0.05, 1e-7);
    ck_assert_double_lt(fabs(rate_of(&c)), 1e-7);
    sprag_world_statistics stats = stats_of(c.y);
    ck_assert_int_ge(stats.events[SPRAG_EVENT_LIMIT_REACHED], 10);
    ck_assert_int_eq(stats.ess_declined + stats.ess_switched + stats.fallbacks, 0);
    yielding_close(c.y);
}
END_TEST

static dJointID join(dWorldID world, int kind, dBodyID a, dBodyID b)
{
    dJointID joint = kind == 0   ? dJointCreateDHinge(world, 0)
                     : kind == 1 ? dJointCreateDBall(world, 0)
                     : kind == 2 ? dJointCreateHinge(world, 0)
                                 : dJointCreateBall(world, 0);
    dJointAttach(joint, a, b);
    if (kind == 0) {
        dJointSetDHingeAxis(joint, 0.36, 0.8, 0.48);
        dJointSetDHingeAnchor1(joint, 0.3, 0.1, 1.7);
        dJointSetDHingeAnchor2(joint, -0.1, 0.2, 0.3);
    } else if (kind == 1) {
        dJointSetDBallAnchor1(joint, 0.3, 0.1, 1.7);
        dJointSetDBallAnchor2(joint, -0.1, 0.2, 0.3);
    } else if (kind == 2) {
        dJointSetHingeAxis(joint, 0.36, 0.8, 0.48);
        dJointSetHingeAnchor(joint, 0.3, 0.1, 1);
    } else {
        dJointSetBallAnchor(joint, 0.3, 0.1, 1);
    }
    return joint;
}

// The anchors of a joint are 1 m apart. They approach each other as under stock's steps. If the
// joint kept the speed of the correction while its bodies turn, it would add several times the
// energy.
START_TEST(joints_far_apart_return)
{
    double most[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        yielding *y = yielding_open(i ? ESS : STOCK, (material){.bounce = -1}, 0.01);
        dMass mass;
        dWorldSetGravity(y->world, 0, 0, 0);
        dWorldSetERP(y->world, 0.7);
        for (int k = 0; k < 2; k++) {
            dMassSetBoxTotal(&mass, k ? 5 : 1, 0.4, 0.3, 0.2);
            dBodyID body = yielding_body(y, &mass, NULL, 0, 0, k ? 0 : 2);
            dBodySetAngularVel(body, k ? -9 : 7, 4, k ? 12 : -5);
        }
        join(y->world, _i, y->body[0], y->body[1]);
        dBodySetPosition(y->body[0], -0.6, 0.7, 2.39);
        for (int k = 0; k < 60; k++) {
            yielding_step(y);
            most[i] =
                fmax(most[i], yielding_energy(y) - ESS_G * (dBodyGetPosition(y->body[0])[2] +
                                                            5 * dBodyGetPosition(y->body[1])[2]));
        }
        if (i) {
            ck_assert_int_ge(stats_of(y).ess_declined, 1);
            ck_assert_int_lt(stats_of(y).ess_declined, 20);
        }
        yielding_close(y);
    }
    ck_assert_double_lt(most[1], 2 * most[0]);
}
END_TEST

// A joint beyond its stop returns by ERP, as in stock, or rebounds if it arrives faster.
START_TEST(violated_stops_return_as_in_stock)
{
    static const double erp[] = {0.2, 1, 0.2, 0.2, 0.2}, cfm[] = {0, 0, 0, 1e-4, 1.5e-4},
                        bounce[] = {0, 0, 0.5, 0, 0}, in[] = {0, 0, -8, 0, 0};
    double h = 0.01, past = 0.1, rate[2], place[2];
    for (int i = 0; i < 2; i++) {
        coordinate c = open_coordinate(_i % 2, _i / 2 % 2, h);
        ck_assert(sprag_world_configure(c.y->world, i ? ESS : STOCK));
        set(&c, dParamLoStop, past);
        set(&c, dParamStopERP, erp[_i / 4]);
        set(&c, dParamStopCFM, cfm[_i / 4]);
        set(&c, dParamBounce, bounce[_i / 4]);
        double speed = in[_i / 4] * (_i % 4 == 3 ? -1 : 1); // a reversed slider counts against it
        dBodySetLinearVel(c.body, 0, _i % 2 ? speed : 0, _i % 2 ? 0 : -0.4 * speed);
        dBodySetAngularVel(c.body, 0, _i % 2 ? 0 : speed, 0);
        yielding_step(c.y);
        rate[i] = rate_of(&c);
        place[i] = place_of(&c);
        if (i) {
            ck_assert_int_eq(stats_of(c.y).ess_declined + stats_of(c.y).fallbacks, 0);
        }
        yielding_close(c.y);
    }
    double expected = fmax(erp[_i / 4] * past / h, -bounce[_i / 4] * in[_i / 4]);
    ck_assert_double_eq_tol(rate[0], expected, cfm[_i / 4] > 0 ? 0.7 * expected : 1e-6);
    ck_assert_double_eq_tol(rate[1], rate[0], 1e-6);
    ck_assert_double_eq_tol(place[1], rate[0] * h, 1e-7);
    ck_assert_double_eq_tol(place[1], place[0], 2e-3 * expected * h);
}
END_TEST

// Joints with a CFM too small for a spring: a body hangs on a ball joint with an error of 2 cm.
START_TEST(yielding_joints_return_as_in_stock)
{
    static const double cfm[] = {1e-5, 1e-4};
    double z[2][20];
    for (int i = 0; i < 2; i++) {
        yielding *y = yielding_open(i ? ESS : STOCK, (material){.bounce = -1}, 0.01);
        dWorldSetCFM(y->world, cfm[_i]);
        dBodyID body = yielding_ball(y, 2, 0.1, 0, 0, 0);
        dJointID joint = dJointCreateBall(y->world, 0);
        dJointAttach(joint, body, 0);
        dJointSetBallAnchor(joint, 0, 0, 0);
        dBodySetPosition(body, 0, 0, 0.02);
        for (int k = 0; k < 20; k++) {
            yielding_step(y);
            z[i][k] = dBodyGetPosition(body)[2];
        }
        if (i) {
            ck_assert_int_eq(stats_of(y).ess_declined + stats_of(y).fallbacks, 0);
        }
        yielding_close(y);
    }
    for (int k = 0; k < 20; k++) {
        ck_assert_double_eq_tol(z[1][k], z[0][k], 1e-6);
    }
}
END_TEST

// A box on a hinge with a torsion spring, 0.5 m away: its own inertia is a fortieth of that about
// the hinge.
START_TEST(springs_at_long_levers_yield)
{
    static const double steps[] = {0.005, 0.009, 0.01, 1 / 60.0};
    const double h = steps[_i], k = 200, damping = 20, arm = 0.5;
    yielding *y = yielding_open(ESS, (material){.bounce = -1}, h);
    dBodyID box = dBodyCreate(y->world);
    dMass mass;
    dMassSetBoxTotal(&mass, 10, 0.2, 0.2, 0.2);
    dBodySetMass(box, &mass);
    dJointID hinge = dJointCreateHinge(y->world, 0);
    dJointAttach(hinge, box, 0);
    dJointSetHingeAnchor(hinge, -arm, 0, 0);
    dJointSetHingeAxis(hinge, 0, 1, 0);
    dJointSetHingeParam(hinge, dParamLoStop, 0);
    dJointSetHingeParam(hinge, dParamHiStop, 0);
    dJointSetHingeParam(hinge, dParamStopERP, h * k / (h * k + damping));
    dJointSetHingeParam(hinge, dParamStopCFM, 1 / (h * k + damping));
    for (int i = 0; i * h < 5; i++) {
        yielding_step(y);
    }
    double angle = fabs(dJointGetHingeAngle(hinge));
    ck_assert_double_eq_tol(k * angle, 10 * 9.81 * arm * cos(angle), 1e-4);
    yielding_close(y);
}
END_TEST

// A parallelogram, whose rows depend on one another when its links are in line: there, errors of
// the closure would turn it into a crossed one, with forces without a bound.
START_TEST(parallelogram_passes_its_dead_points)
{
    static const double steps[] = {0.01, 1 / 60.0, 0.02}, rates[] = {1, 2, 5};
    const double h = steps[_i / 3], rate = rates[_i % 3];
    yielding *y = yielding_open("method=ess", (material){.bounce = -1}, h);
    dBodyID bar[3];
    for (int i = 0; i < 3; i++) { // two cranks of 1 m, and the coupler
        dMass mass;
        dMassSetBoxTotal(&mass, i < 2 ? 1 : 2, i < 2 ? 0.05 : 2, 0.05, i < 2 ? 1 : 0.05);
        bar[i] = yielding_body(y, &mass, NULL, i < 2 ? 2 * i : 1, 0, i < 2 ? 0.5 : 1);
    }
    for (int i = 0; i < 4; i++) {
        dJointID hinge = dJointCreateHinge(y->world, 0);
        dJointAttach(hinge, bar[i / 2 ? 2 : i], i / 2 ? bar[i % 2] : NULL);
        dJointSetHingeAnchor(hinge, 2 * (i % 2), 0, i / 2);
        dJointSetHingeAxis(hinge, 0, 1, 0);
        dJointSetHingeParam(hinge, dParamVel, rate);
        dJointSetHingeParam(hinge, dParamFMax, i == 0 ? 200 : 0);
    }
    for (int k = 0; k * h < 10; k++) {
        yielding_step(y);
        ck_assert_double_lt(fabs(dBodyGetRotation(bar[2])[8]), 1e-3);
        ck_assert_double_lt(dBodyGetAngularVel(bar[0])[1], 1.001 * rate);
    }
    yielding_close(y);
}
END_TEST

// A chain of links whose stops are reached and left in turns, at lower and lower speeds: they come
// to rest within the frame and do not chatter.
START_TEST(stops_that_take_turns_come_to_rest)
{
    enum { LINKS = 7 };
    yielding *y = yielding_open(ESS, (material){.bounce = -1}, 0.05);
    dMass mass;
    long steps = 0, most = 0;
    dWorldSetGravity(y->world, 0, 0, 0);
    dMassSetBox(&mass, 1, 1, 1, 1);
    for (int i = 0; i < LINKS; i++) {
        dBodyID link = yielding_body(y, &mass, NULL, 1.2 * i, 0, 0);
        dJointID hinge = i > 0 ? dJointCreateHinge(y->world, 0) : NULL;
        if (hinge) {
            dJointAttach(hinge, y->body[i - 1], link);
            dJointSetHingeAnchor(hinge, 1.2 * i - 0.6, 0, 0);
            dJointSetHingeAxis(hinge, 0, 0, 1);
            dJointSetHingeParam(hinge, dParamLoStop, -1);
            dJointSetHingeParam(hinge, dParamHiStop, 1);
        }
    }
    dRandSetSeed(2);
    for (int k = 0; k < 400; k++) {
        double x = 60 * (dRandReal() - 0.5), z = 60 * (dRandReal() - 0.5);
        dBodyAddForce(y->body[0], x, z, 0);
        dBodyAddTorque(y->body[0], 0, 0, 20 * (dRandReal() - 0.5));
        yielding_step(y);
        sprag_world_statistics stats = stats_of(y);
        most = stats.ess_steps - steps > most ? stats.ess_steps - steps : most;
        steps = stats.ess_steps;
        ck_assert_int_eq(stats.ess_declined, 0);
    }
    ck_assert_int_gt(stats_of(y).events[SPRAG_EVENT_LIMIT_REACHED], 150);
    ck_assert_int_lt(most, 60);
    yielding_close(y);
}
END_TEST

// A stop halts a motor of unbounded force. The motor leaves the stop when it reverses.
START_TEST(unbounded_motor_stops)
{
    coordinate c = open_coordinate(_i % 2, _i / 2, 0.01);
    set(&c, dParamLoStop, -0.05);
    set(&c, dParamFMax, dInfinity);
    for (int k = 0; k < 60; k++) {
        set(&c, dParamVel, k < 30 ? -1 : 1);
        yielding_step(c.y);
        ck_assert_double_gt(place_of(&c), -0.05 - 1e-7);
        if (k == 29) {
            ck_assert_double_eq_tol(place_of(&c), -0.05, 1e-7);
            ck_assert_double_lt(fabs(rate_of(&c)), 1e-7);
        }
    }
    ck_assert_double_eq_tol(rate_of(&c), 1, 1e-7);
    sprag_world_statistics stats = stats_of(c.y);
    ck_assert_int_eq(stats.ess_declined + stats.ess_switched + stats.fallbacks, 0);
    yielding_close(c.y);
}
END_TEST

// Links on hinges that all have motors: no motor exerts more than its greatest torque.
START_TEST(coupled_motors_are_bounded)
{
    enum { LINKS = 5 };
    yielding *y = yielding_open(ESS, (material){.bounce = -1}, 0.01);
    dJointFeedback feedback[LINKS];
    dJointID hinge[LINKS];
    dMass mass;
    double force = _i ? 60 : 4;
    int held = 0;
    dMassSetBoxTotal(&mass, 1, 0.4, 0.1, 0.1);
    for (int i = 0; i < LINKS; i++) {
        dBodyID link = yielding_body(y, &mass, NULL, 0.2 + 0.4 * i, 0, 0);
        hinge[i] = dJointCreateHinge(y->world, 0);
        dJointAttach(hinge[i], link, i > 0 ? y->body[i - 1] : NULL);
        dJointSetHingeAnchor(hinge[i], 0.4 * i, 0, 0);
        dJointSetHingeAxis(hinge[i], 0, 1, 0);
        dJointSetHingeParam(hinge[i], dParamFMax, force);
        dJointSetHingeParam(hinge[i], dParamVel, 0);
        dJointSetFeedback(hinge[i], &feedback[i]);
    }
    for (int k = 0; k < 200; k++) {
        yielding_step(y);
        for (int i = 0; i < LINKS; i++) {
            dVector3 anchor, arm, turned;
            dJointGetHingeAnchor(hinge[i], anchor);
            dSubtractVectors3(arm, dBodyGetPosition(y->body[i]), anchor);
            dCalcVectorCross3(turned, arm, feedback[i].f1);
            double torque = feedback[i].t1[1] + turned[1];
            ck_assert_double_lt(fabs(torque), force * (1 + 1e-8)); // by the drift of joints
            held += fabs(torque) > force * (1 - 1e-9);
        }
    }
    sprag_world_statistics stats = stats_of(y);
    ck_assert_int_eq(stats.ess_declined + stats.ess_switched + stats.fallbacks, 0);
    if (_i) { // 49 N m at most
        ck_assert_int_eq(held, 0);
        ck_assert_double_lt(fabs(dBodyGetPosition(y->body[LINKS - 1])[2]), 1e-5);
    } else {
        ck_assert_int_gt(held, 20);
    }
    yielding_close(y);
}
END_TEST

// A group with joints moves exactly until a contact is made, and by the implicit step from then on.
START_TEST(jointed_body_rests_on_a_floor)
{
    double h = 0.01;
    yielding *y = yielding_open(ESS, (material){.friction = 0.5, .bounce = -1}, h);
    dCreatePlane(y->space, 0, 0, 1, -0.5);
    dBodyID ball = yielding_ball(y, 1, 0.1, 0.8, 0, 0);
    dJointID hinge = dJointCreateHinge(y->world, 0);
    dJointAttach(hinge, ball, 0);
    dJointSetHingeAnchor(hinge, 0, 0, 0);
    dJointSetHingeAxis(hinge, 0, 1, 0);
    do {
        yielding_step(y);
    } while (stats_of(y).events[SPRAG_EVENT_CONTACT_MADE] == 0);
    const dReal *x = dBodyGetPosition(ball);
    ck_assert_double_eq_tol(x[2], -0.4, 1e-4);
    ck_assert_double_eq_tol(hypot(x[0], x[2]), 0.8, 1e-5);
    ck_assert_double_lt(fabs(dBodyGetLinearVel(ball)[2]), 1e-2);
    run(y, 50);
    ck_assert_double_eq_tol(dBodyGetPosition(ball)[2], -0.4, 1e-5);
    ck_assert_int_eq(stats_of(y).ess_declined + stats_of(y).ess_switched, 0);
    ck_assert_int_eq(stats_of(y).fallbacks, 0);
    yielding_close(y);
}
END_TEST

// Stops of an angular motor, both or one alone: the rates of its angles are not those of its rows,
// so that the implicit step moves the group, to the same bits as method=stribeck.
START_TEST(stops_without_events_are_left_to_the_implicit_step)
{
    double end[2][3], low = _i == 1 ? -dInfinity : -0.3, high = _i == 2 ? dInfinity : 0.3;
    for (int i = 0; i < 2; i++) {
        yielding *y = yielding_open(i ? ESS : STRIBECK, (material){.bounce = -1}, 0.01);
        dBodyID a = yielding_ball(y, 1, 0.1, 0.5, 0, 1);
        dJointID ball = dJointCreateBall(y->world, 0), motor = dJointCreateAMotor(y->world, 0);
        dJointAttach(ball, a, 0);
        dJointSetBallAnchor(ball, 0, 0, 1);
        dJointAttach(motor, a, 0);
        dJointSetAMotorNumAxes(motor, 1);
        dJointSetAMotorAxis(motor, 0, 0, 0, 1, 0);
        dJointSetAMotorParam(motor, dParamLoStop, low);
        dJointSetAMotorParam(motor, dParamHiStop, high);
        run(y, 50);
        memcpy(end[i], dBodyGetPosition(a), sizeof end[i]);
        if (i) {
            ck_assert_int_eq(stats_of(y).ess_declined, 50);
            ck_assert_int_eq(stats_of(y).ess_steps, 0);
        }
        yielding_close(y);
    }
    ck_assert_mem_eq(end[0], end[1], sizeof end[0]);
}
END_TEST

// A chain with more rows than a dense matrix may have.
START_TEST(long_chain_keeps_its_energy)
{
    enum { LINKS = 60 };
    yielding *y = yielding_open(ESS, (material){.bounce = -1}, 0.01);
    for (int i = 0; i < LINKS; i++) {
        add_link(y, i);
    }
    double first = yielding_energy(y);
    run(y, 10);
    sprag_world_statistics stats = stats_of(y);
    ck_assert_int_eq(stats.ess_declined + stats.ess_switched, 0);
    ck_assert_int_eq(stats.rows, 3 * LINKS);
    ck_assert_double_lt(fabs(yielding_energy(y) - first), 1e-5);
    yielding_close(y);
}
END_TEST

// Planks along an arc between two ends.
static void hang_bridge(yielding *y, int planks, double half_angle)
{
    const double plank = 0.2; // m
    double x = 0, z = 0, angle = 0;
    dMass mass;
    dMatrix3 R;
    for (int i = 0; i <= planks; i++, x += plank * cos(angle), z += plank * sin(angle)) {
        angle = half_angle * ((2 * i + 1.0) / planks - 1);
        dMassSetBoxTotal(&mass, 1, plank, 0.8, 0.04);
        dRFromAxisAndAngle(R, 0, 1, 0, -angle);
        if (i < planks) {
            dBodySetRotation(yielding_body(y, &mass, NULL, x + plank / 2 * cos(angle), 0,
                                           z + plank / 2 * sin(angle)),
                             R);
        }
        dJointID hinge = dJointCreateHinge(y->world, 0);
        dJointAttach(hinge, y->body[i < planks ? i : i - 1],
                     i > 0 && i < planks ? y->body[i - 1] : NULL);
        dJointSetHingeAnchor(hinge, x, 0, z);
        dJointSetHingeAxis(hinge, 0, 1, 0);
    }
}

// A bridge, and a load of ten planks that falls in: many of its swings are within a step.
START_TEST(bridge_swings_within_long_steps)
{
    enum { PLANKS = 50 };
    static const double steps[] = {0.1, 0.34};
    yielding *y = yielding_open(ESS, (material){.bounce = -1}, steps[_i]);
    dMass mass;
    hang_bridge(y, PLANKS, 0.55298);
    const dReal *middle = dBodyGetPosition(y->body[PLANKS / 2]);
    dMassSetSphereTotal(&mass, 10, 0.2);
    dBodyID load = yielding_body(y, &mass, NULL, middle[0], 0, middle[2]);
    dJointID joint = dJointCreateBall(y->world, 0);
    dJointAttach(joint, load, y->body[PLANKS / 2]);
    dJointSetBallAnchor(joint, middle[0], 0, middle[2]);
    const double first = yielding_energy(y);
    for (int k = 0; k * y->step < 10; k++) {
        yielding_step(y);
        ck_assert_double_lt(fabs(yielding_energy(y) - first), 0.02); // J, of 15 that it falls by
        ck_assert_double_lt(joint_gap(joint), 1e-6);
    }
    ck_assert_int_eq(stats_of(y).ess_declined, 0);
    yielding_close(y);
}
END_TEST

static Suite *ess_suite(void)
{
    Suite *suite = suite_create("method_ess_joints");
    ADD_TESTS(suite, "left", {jointed_body_rests_on_a_floor, 1});
    ADD_TESTS(suite, "joints", {motors_are_bounded, 4}, {joints_move_at_their_mean_rate, 2},
              {motor_reaches_its_speed_at_the_end, 4}, {motor_with_infinite_speed_is_a_force, 4},
              {motor_pulls_after_a_bounce, 1}, {motor_loses_the_way_of_its_full_force, 8},
              {greatest_angular_speed_is_kept, 2}, {joints_remove_velocities_in_one_step, 1},
              {motor_rests_on_its_stop, 8}, {stops_bounce_as_asked_for, 12},
              {a_stop_wins_no_energy_at_the_start, 40}, {stops_bounce_often, 4},
              {stop_comes_to_rest, 4}, {joints_far_apart_return, 4},
              {violated_stops_return_as_in_stock, 20}, {yielding_joints_return_as_in_stock, 2},
              {springs_at_long_levers_yield, 4}, {parallelogram_passes_its_dead_points, 9},
              {stops_that_take_turns_come_to_rest, 1}, {unbounded_motor_stops, 4},
              {coupled_motors_are_bounded, 2},
              {stops_without_events_are_left_to_the_implicit_step, 3},
              {long_chain_keeps_its_energy, 1}, {bridge_swings_within_long_steps, 2});
    return suite;
}

int main(void)
{
    start_ode();
    dSetMessageHandler(quiet);
    return run_suite(ess_suite());
}
