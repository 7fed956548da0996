// Fast spin, against closed forms: free flight, a gyroscope on a ball joint, a top on the ground, a
// coin that rolls, the wheels of a car.
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <ode/ode.h>

#include "body_motion.h"
#include "join_contacts.h"
#include "program_world.h"
#include "spin.h"
#include "spinners.h"
#include "sprag.h"
#include "suite.h"

static const double g = 9.81;

static dBodyID add_body(dWorldID world, const double moment[3])
{
    dMass m;
    dBodyID body = dBodyCreate(world);
    dMassSetParameters(&m, 1, 0, 0, 0, moment[0], moment[1], moment[2], 0, 0, 0);
    dBodySetMass(body, &m);
    return body;
}

// I w, world axes.
static double energy_of(dBodyID body)
{
    dVector3 L;
    angular_momentum(body, L);
    const dReal *v = dBodyGetLinearVel(body);
    return (dCalcVectorDot3(L, dBodyGetAngularVel(body)) + dCalcVectorDot3(v, v)) / 2;
}

static void turn(dBodyID body, double x, double y, double z, double angle)
{
    dMatrix3 R;
    dRFromAxisAndAngle(R, x, y, z, angle);
    dBodySetRotation(body, R);
}

static double angle_between(double from, double to)
{
    return remainder(to - from, 2 * M_PI);
}

// ---- free flight

static const double moments[][3] = {{1, 2, 2.5}, {1, 1, 1.9}, {1, 1.001, 1.9}, {1, 2, 2.99}};
enum { MOMENTS = sizeof moments / sizeof moments[0] };

START_TEST(flight_keeps_energy_and_momentum)
{
    static const double speed[] = {0.5, 10, 100, 1e4, 1e8}; // rad/s
    dWorldID world = dWorldCreate();
    dBodyID body = add_body(world, moments[_i % MOMENTS]);
    double w = speed[_i / MOMENTS], first, off_energy = 0, off_momentum = 0;
    turn(body, 1, 2, 3, 1);
    dBodySetAngularVel(body, 0.64 * w, 0.57 * w, 0.51 * w);
    dVector3 before, now;
    angular_momentum(body, before);
    first = energy_of(body);
    for (int i = 0; i < 10000; i++) {
        dWorldStep(world, 0.01);
        angular_momentum(body, now);
        dSubtractVectors3(now, now, before);
        off_energy = fmax(off_energy, fabs(energy_of(body) / first - 1));
        off_momentum = fmax(off_momentum, dCalcVectorLength3(now) / dCalcVectorLength3(before));
    }
    ck_assert_double_lt(off_energy, 1e-11);
    ck_assert_double_lt(off_momentum, 1e-12);
    dWorldDestroy(world);
}
END_TEST

// A symmetric body: its axis goes round L at |L| / I1, and it spins about the axis besides.
START_TEST(symmetric_flight_is_exact)
{
    const double moment[3] = {1, 1, 1.9}, tilt = 0.4, w = 20, step = 0.01;
    dWorldID world = dWorldCreate();
    dBodyID body = add_body(world, moment);
    turn(body, 0, 1, 0, tilt);
    dBodySetAngularVel(body, w * sin(tilt / 2), 0, w * cos(tilt / 2));
    dVector3 L, axis, start;
    angular_momentum(body, L);
    dBodyVectorToWorld(body, 0, 0, 1, start);
    for (int i = 0; i < 1000; i++) {
        dWorldStep(world, step);
    }
    dMatrix3 R;
    double length = dCalcVectorLength3(L);
    dRFromAxisAndAngle(R, L[0], L[1], L[2], length / moment[0] * 10);
    dMultiply0_331(axis, R, start);
    const dReal *now = dBodyGetRotation(body);
    for (int k = 0; k < 3; k++) {
        ck_assert_double_eq_tol(now[4 * k + 2], axis[k], 1e-4);
    }
    dWorldDestroy(world);
}
END_TEST

// The program's flag counts: without gyroscopic torque the angular velocity stays.
START_TEST(flight_without_gyroscopic_torque)
{
    dWorldID world = dWorldCreate();
    dBodyID body = add_body(world, moments[0]);
    dBodySetGyroscopicMode(body, 0);
    dBodySetAngularVel(body, 3, 4, 5);
    for (int i = 0; i < 100; i++) {
        dWorldStep(world, 0.01);
    }
    const dReal *w = dBodyGetAngularVel(body);
    ck_assert(w[0] == 3 && w[1] == 4 && w[2] == 5);
    dWorldDestroy(world);
}
END_TEST

static int moves;
static double moved_speed;

static void count_move(dBodyID body)
{
    moves++;
    moved_speed = dCalcVectorLength3(dBodyGetAngularVel(body));
}

// Damping, the greatest angular velocity and the moved callback are ODE's, once a step.
START_TEST(flight_is_damped_capped_and_reported)
{
    dWorldID world = dWorldCreate();
    dBodyID body = add_body(world, moments[0]);
    dBodySetAngularVel(body, 30, 40, 50);
    dBodySetAngularDamping(body, 0.01);
    dBodySetMaxAngularSpeed(body, 60);
    dBodySetMovedCallback(body, count_move);
    moves = 0;
    for (int i = 0; i < 50; i++) {
        dWorldStep(world, 0.01);
        ck_assert_double_le(moved_speed, 60 * (1 + 1e-12));
        ck_assert_double_eq_tol(dCalcVectorLength3(dBodyGetAngularVel(body)), 0.99 * moved_speed,
                                1e-12 * moved_speed);
    }
    ck_assert_int_eq(moves, 50);
    dWorldDestroy(world);
}
END_TEST

// In a step of half a turn about its axis a plate has the mean inertia of its two transverse axes.
START_TEST(plates_are_discs_in_half_turns)
{
    const double axis[3] = {1, 0, 0}, step = 0.01, w[3] = {M_PI / step, 3, -2};
    double plate[9] = {1.9, 0, 0, 0, 0.8, 0, 0, 0, 1.2}, disc[9] = {1.9, 0, 0, 0, 1, 0, 0, 0, 1};
    double free[2][3] = {{w[0], w[1], w[2]}, {w[0], w[1], w[2]}}; // no torque
    ck_assert(sprag_spin_free(plate, axis, w, step, false, free[0]));
    ck_assert(sprag_spin_free(disc, axis, w, step, false, free[1]));
    for (int i = 0; i < 9; i++) {
        ck_assert_double_eq_tol(plate[i], disc[i], 1e-12);
    }
    for (int i = 0; i < 3; i++) {
        ck_assert_double_eq_tol(free[0][i], free[1][i], 1e-9);
    }
}
END_TEST

// Of a plate about its third axis, the part of the inertia that turns, with 2 angle, has its mean
// over the step: sin(angle) / angle of what it is in the middle. About its axis, spin s, a plate
// has the matrix M = I + s step / 2 (a x I - I a x) + what is antisymmetric.
START_TEST(plates_have_the_mean_inertia_of_their_turn)
{
    const double axis[3] = {1, 0, 0}, step = 0.01, angle = 0.5 + 0.5 * _i, uneven = -0.2;
    const double w[3] = {angle / step, 0, 0};
    double plate[9] = {1.9, 0, 0, 0, 1 + uneven, 0, 0, 0, 1 - uneven}, free[3] = {w[0], 0, 0};
    const double mean = uneven * sin(angle) / angle, c = mean * cos(angle), s = mean * sin(angle);
    ck_assert(sprag_spin_free(plate, axis, w, step, false, free));
    ck_assert_double_eq_tol(plate[0], 1.9, 1e-12);
    ck_assert_double_eq_tol(plate[4] + plate[8], 2, 1e-12);
    ck_assert_double_eq_tol(plate[4] - plate[8], 2 * (c - angle * s), 1e-12);
    ck_assert_double_eq_tol(plate[5] + plate[7], 2 * (s + angle * c), 1e-12);
}
END_TEST

// ---- gyroscope

// A body of 1 kg on a level arm along its axis, from the origin. It turns at w about the axis and
// at `rate` (rad/s) about the vertical.
static dBodyID add_gyroscope(dWorldID world, const double moment[3], double arm, double w,
                             double rate)
{
    dBodyID body = add_body(world, moment);
    dJointID joint = dJointCreateBall(world, 0);
    dBodySetPosition(body, arm, 0, 0);
    dJointAttach(joint, body, 0);
    dJointSetBallAnchor(joint, 0, 0, 0);
    dBodySetAngularVel(body, w, 0, rate);
    dBodySetLinearVel(body, 0, rate * arm, 0);
    return body;
}

typedef struct gyroscope {
    double arm, moment[2], w, step; // m; kg m^2, about the axis and across it; rad/s, s
    double off;                     // most, relative to the rate and to the arm
} gyroscope;

// Its axis level, it precesses at m g l / (I3 w). Bodies that are as good as balls have the axis of
// their arm. Where joints open by the square of the rate, long arms are 1e-3 off.
START_TEST(gyroscope_precesses)
{
    static const double disc[] = {0.005, 0.0025 + 1 / 30e3};
    static const gyroscope gyroscopes[] = {
        {0.1, {disc[0], disc[1]}, 100, 0.01, 1e-6}, {0.1, {disc[0], disc[1]}, 300, 0.01, 1e-6},
        {0.1, {disc[0], disc[1]}, 90, 0.001, 1e-6}, {0.1, {disc[0], disc[1]}, 30, 0.001, 1e-6},
        {0.5, {0.019, 0.01}, 100, 0.01, 1e-6},      {0.5, {0.019, 0.01}, 100, 1 / 60., 1e-6},
        {0.5, {0.00999, 0.01}, 300, 0.01, 1e-6},    {0.5, {0.01, 0.01}, 300, 0.01, 1e-6},
    };
    const gyroscope *of = &gyroscopes[_i];
    const double moment[] = {of->moment[0], of->moment[1], of->moment[1]};
    const double rate = g * of->arm / (moment[0] * of->w);
    dWorldID world = dWorldCreate();
    dWorldSetGravity(world, 0, 0, -g);
    dBodyID body = add_gyroscope(world, moment, of->arm, of->w, rate);
    double gone = 0, angle = 0, most = 0;
    for (int i = 0; i < lround(20 / of->step); i++) {
        dWorldStep(world, of->step);
        const dReal *at = dBodyGetPosition(body);
        double now = atan2(at[1], at[0]);
        gone += angle_between(angle, now);
        angle = now;
        most = fmax(most, fabs(at[2]));
    }
    ck_assert_double_eq_tol(gone / (20 * rate), 1, of->off);
    ck_assert_double_lt(most, of->off * of->arm);
    dWorldDestroy(world);
}
END_TEST

// Without weight the axis goes round a cone, at the same speed for ever.
START_TEST(nutation_keeps_its_energy)
{
    static const double spin[] = {40, 100, 300}, steps[] = {0.005, 0.01, 1 / 60.}; // rad/s, s
    static const double moment[] = {0.0157, 0.0087, 0.0087}, arm = 0.15, across = 6;
    const double step = steps[_i / 3];
    dWorldID world = dWorldCreate();
    dBodyID body = add_gyroscope(world, moment, arm, spin[_i % 3], across);
    const double first = energy_of(body);
    double gap = 0;
    for (int i = 0; i < lround(20 / step); i++) {
        dWorldStep(world, step);
        gap = fmax(gap, fabs(dCalcVectorLength3(dBodyGetPosition(body)) - arm));
    }
    const double energy = 0.5 * (moment[1] + arm * arm) * across * across;
    ck_assert_double_lt(fabs(energy_of(body) - first), 0.01 * energy);
    ck_assert_double_lt(gap, 1e-8); // m
    dWorldDestroy(world);
}
END_TEST

static void never(void *data, dGeomID a, dGeomID b)
{
    (void)data, (void)a, (void)b;
    ck_abort();
}

// A body of three moments on an arm of 10 cm, let go with its axis level, stays below: what damps
// its nutation would turn spin into height.
START_TEST(uneven_gyroscope_does_not_rise)
{
    static const char *const method[] = {"method=stribeck", "method=advance", "method=ess"};
    static const double moment[] = {0.005, 0.002, 0.0035}, step = 0.01; // kg m^2, s
    dWorldID world = dWorldCreate();
    dSpaceID space = dSimpleSpaceCreate(0); // advance steps after calls for contacts only
    sprag_world_configure(world, method[_i / 2]);
    dWorldSetGravity(world, 0, 0, -g);
    dBodyID body = add_gyroscope(world, moment, 0.1, _i % 2 ? 60 : 100, 0);
    dGeomSetBody(dCreateSphere(space, 0.05), body);
    double highest = 0;
    for (int i = 0; i < 1000; i++) {
        dSpaceCollide(space, NULL, never);
        dWorldStep(world, step);
        highest = fmax(highest, dBodyGetPosition(body)[2]);
    }
    ck_assert_double_lt(highest, 1e-3); // m; damped: 0.019
    dSpaceDestroy(space);
    dWorldDestroy(world);
}
END_TEST

// ---- top

typedef struct ground {
    dWorldID world;
    dSpaceID space;
    dJointGroupID contacts;
} ground;

static ground open_ground(const char *method)
{
    const ground s = {dWorldCreate(), dHashSpaceCreate(0), dJointGroupCreate(0)};
    sprag_world_configure(s.world, method);
    dWorldSetGravity(s.world, 0, 0, -g);
    dCreatePlane(s.space, 0, 0, 1, 0);
    return s;
}

static void touch(void *data, dGeomID a, dGeomID b)
{
    const ground *s = data;
    join_contacts(s->world, s->contacts, a, b, 4,
                  (dSurfaceParameters){.mode = dContactApprox1, .mu = 0.5}, NULL);
}

static void step_ground(ground *s, double step)
{
    dSpaceCollide(s->space, s, touch);
    dWorldStep(s->world, step);
    dJointGroupEmpty(s->contacts);
}

// rad, by which the axis of a body has gone round the vertical since *angle, which becomes that of
// now.
static double gone_round(dBodyID body, double *angle)
{
    const dReal *R = dBodyGetRotation(body);
    const double before = *angle;
    *angle = atan2(R[6], R[2]);
    return angle_between(before, *angle);
}

enum { TOPS = 4 };

// A disc above a round tip, tilted by 0.3 rad. At 0.1 ms, stock's way: 1.5578 rad/s at 60 rad/s.
START_TEST(top_stands)
{
    static const char *const method[] = {"method=stribeck", "method=advance", "method=ess"};
    static const struct {
        double spin, rate, step; // rad/s, rad/s, s
    } of[TOPS] = {
        {60, 1.5578, 0.01}, {150, 0.6100, 0.01}, {60, 1.5578, 1 / 60.0}, {60, 1.5578, 0.001}};
    const double arm = 0.0488, tip = 0.005, tilt = 0.3, seconds = 5;
    const double step = of[_i % TOPS].step, w = of[_i % TOPS].spin, rate = of[_i % TOPS].rate;
    ground s = open_ground(method[_i / TOPS]);
    dMass m;
    dMassSetCylinderTotal(&m, 1, 3, 0.1, 0.02);
    dBodyID body = dBodyCreate(s.world);
    dBodySetMass(body, &m);
    dGeomID geom = dCreateSphere(s.space, tip);
    dGeomSetBody(geom, body);
    dGeomSetOffsetPosition(geom, 0, 0, -arm);
    turn(body, 0, 1, 0, tilt);
    dBodySetPosition(body, arm * sin(tilt), 0, tip + arm * cos(tilt));
    dBodySetAngularVel(body, w * sin(tilt), 0, w * cos(tilt));
    double gone = 0, angle = 0, most = 0;
    for (int i = 0; i < lround(seconds / step); i++) {
        step_ground(&s, step);
        gone += gone_round(body, &angle);
        most = fmax(most, acos(dBodyGetRotation(body)[10]));
    }
    ck_assert_double_eq_tol(gone / seconds, rate, 0.02 * rate);
    ck_assert_double_lt(most, 0.35);
    destroy_world(s.world, s.space, s.contacts);
}
END_TEST

// ---- wheels

// A coin of radius r that leans by `lean` and rolls in a circle. With the turn W of its axis about
// the vertical and its spin S about the axis, W cos(lean) (1.5 r S - r W sin(lean) / 4) = -g
// sin(lean). Its edge is 2 mm wide, which makes the turn slower by a hundredth or two.
START_TEST(a_coin_rolls_round)
{
    static const char *const method[] = {"method=stribeck", "method=advance"};
    static const struct {
        double lean, rate, step; // rad, rad/s, s
    } of[] = {{0.3, -0.5, 0.01}, {0.3, -0.25, 1 / 60.0}, {0.1, -0.2, 0.01}, {0.3, -0.5, 0.001}};
    const double lean = of[_i % 4].lean, rate = of[_i % 4].rate, step = of[_i % 4].step;
    const double r = 0.3, wide = 0.002, seconds = 10;
    const double spin = (rate * sin(lean) / 4 - g * tan(lean) / (rate * r)) / 1.5;
    const double own = spin - rate * sin(lean);
    ground s = open_ground(method[_i / 4]);
    dMass m;
    dMassSetCylinderTotal(&m, 1, 3, r, wide);
    dBodyID body = dBodyCreate(s.world);
    dBodySetMass(body, &m);
    dGeomSetBody(dCreateCylinder(s.space, r, wide), body);
    turn(body, 0, 1, 0, M_PI / 2 - lean);
    dBodySetPosition(body, 0, 0, r * cos(lean) + wide / 2 * sin(lean));
    dBodySetAngularVel(body, own * cos(lean), 0, rate + own * sin(lean));
    dBodySetLinearVel(body, 0, -r * spin, 0);
    double gone = 0, angle = 0;
    for (int i = 0; i < lround(seconds / step); i++) {
        step_ground(&s, step);
        gone += gone_round(body, &angle);
        ck_assert_double_eq_tol(asin(dBodyGetRotation(body)[10]), lean,
                                0.01); // in world axes it falls over
    }
    ck_assert_double_eq_tol(gone / seconds, rate, 0.05 * fabs(rate));
    destroy_world(s.world, s.space, s.contacts);
}
END_TEST

static dBodyID add_box(dWorldID world, dSpaceID space, double mass, const dVector3 size, double z)
{
    dMass m;
    dBodyID body = dBodyCreate(world);
    dMassSetBoxTotal(&m, mass, size[0], size[1], size[2]);
    dBodySetMass(body, &m);
    dGeomSetBody(dCreateBox(space, size[0], size[1], size[2]), body);
    dBodySetPosition(body, 0, 0, z);
    return body;
}

// A car of 20 m/s, on cylinders or balls, turns its front wheels by 0.02 rad. Its rear wheels do
// not slip: the angle between its way and its length is their distance from the centre by the
// radius of the curve, less what the tyres creep.
START_TEST(a_fast_car_does_not_drift)
{
    static const double steps[] = {0.001, 0.01, 1 / 60.0};
    const double step = steps[_i % 3], speed = 20, r = 0.3, half = 1.2, turned = 0.02;
    ground s = open_ground("method=stribeck");
    dJointID joint[4];
    dBodyID car = add_box(s.world, s.space, 1000, (dVector3){3, 0.8, 0.5}, 0.7);
    dBodySetLinearVel(car, speed, 0, 0);
    for (int i = 0; i < 4; i++) {
        const double at[3] = {i < 2 ? half : -half, i % 2 ? 0.8 : -0.8, r};
        dMass m;
        dBodyID wheel = dBodyCreate(s.world);
        dGeomID geom = _i < 3 ? dCreateCylinder(s.space, r, 0.2) : dCreateSphere(s.space, r);
        dMassSetCylinderTotal(&m, 20, 2, r, 0.2);
        if (_i >= 3) {
            dMassSetSphereTotal(&m, 20, r);
        }
        dBodySetMass(wheel, &m);
        dGeomSetBody(geom, wheel);
        dGeomSetOffsetQuaternion(geom, (dQuaternion){sqrt(0.5), sqrt(0.5), 0, 0});
        dBodySetPosition(wheel, at[0], at[1], at[2]);
        dBodySetLinearVel(wheel, speed, 0, 0);
        dBodySetAngularVel(wheel, 0, speed / r, 0);
        joint[i] = dJointCreateHinge2(s.world, 0);
        dJointAttach(joint[i], car, wheel);
        dJointSetHinge2Anchor(joint[i], at[0], at[1], at[2]);
        dJointSetHinge2Axes(joint[i], (dVector3){0, 0, 1}, (dVector3){0, 1, 0});
        dJointSetHinge2Param(joint[i], dParamLoStop, 0);
        dJointSetHinge2Param(joint[i], dParamHiStop, 0);
    }
    for (int i = 0; i < lround(4 / step); i++) {
        for (int k = 0; k < 2 && i == lround(1 / step); k++) {
            dJointSetHinge2Param(joint[k], dParamLoStop, turned);
            dJointSetHinge2Param(joint[k], dParamHiStop, turned);
        }
        step_ground(&s, step);
    }
    const dReal *v = dBodyGetLinearVel(car), *R = dBodyGetRotation(car);
    const double rate = dBodyGetAngularVel(car)[2];
    const double drift = angle_between(atan2(R[4], R[0]), atan2(v[1], v[0]));
    ck_assert_double_eq_tol(rate, -hypot(v[0], v[1]) * tan(turned) / (2 * half), 0.02 * fabs(rate));
    ck_assert_double_eq_tol(drift, half * rate / speed, 0.006);
    destroy_world(s.world, s.space, s.contacts);
}
END_TEST

// A corner of a spinning brick hits the ground, with restitution 1 and without friction. The
// gyroscopic torque of the step does no work on the spin before the impact, and none after it.
START_TEST(elastic_impacts_of_spinning_bricks_win_nothing)
{
    const double step = 1.0 / 60, rounding = 1e-9;
    for (int i = 0; i < 100; i++) {
        dWorldID world = dWorldCreate();
        dBodyID body = add_body(world, moments[0]);
        turn(body, 1, 0.3 * (i % 10), 2, 0.2 * i);
        dBodySetLinearVel(body, 0, 0, -3);
        dBodySetAngularVel(body, 20 * sin(i), 15 * cos(2 * i), 10 * sin(3 * i));
        dContact contact = {
            .surface = {.mode = dContactBounce, .bounce = 1},
            .geom = {.pos = {0.8 * cos(i), 0.8 * sin(i), -0.5}, .normal = {0, 0, 1}}};
        dJointAttach(dJointCreateContact(world, 0, &contact), body, NULL);
        double before = energy_of(body);
        dWorldStep(world, step);
        ck_assert_double_le(energy_of(body), before * (1 + rounding));
        dWorldDestroy(world);
    }
}
END_TEST

// About the axis, the one turn that ends the step in the same pose is by the velocity itself; also
// of a body that the step brings to rest.
START_TEST(turns_about_the_axis_keep_their_rate)
{
    static const double axis[3] = {0.6, 0, 0.8}, speeds[3] = {0, 1, -200}; // rad/s
    double w[3], rate[3];
    for (int k = 0; k < 3; k++) {
        w[k] = speeds[_i] * axis[k];
    }
    sprag_spin_rate(axis, 0.01, w, rate);
    for (int k = 0; k < 3; k++) {
        ck_assert_double_eq_tol(rate[k], speeds[_i] * axis[k], 1e-12 * (1 + fabs(speeds[_i])));
        ck_assert_double_eq_tol(w[k], speeds[_i] * axis[k], 1e-12 * (1 + fabs(speeds[_i])));
    }
}
END_TEST

int main(void)
{
    dInitODE2(0);
    Suite *suite = suite_create("spin");
    ADD_TESTS(suite, "flight", {flight_keeps_energy_and_momentum, 5 * MOMENTS},
              {symmetric_flight_is_exact, 1}, {flight_without_gyroscopic_torque, 1},
              {flight_is_damped_capped_and_reported, 1}, {plates_are_discs_in_half_turns, 1},
              {plates_have_the_mean_inertia_of_their_turn, 5});
    ADD_TESTS(suite, "held", {gyroscope_precesses, 8}, {nutation_keeps_its_energy, 9},
              {uneven_gyroscope_does_not_rise, 6}, {top_stands, 3 * TOPS}, {a_coin_rolls_round, 8},
              {a_fast_car_does_not_drift, 6}, {turns_about_the_axis_keep_their_rate, 3},
              {elastic_impacts_of_spinning_bricks_win_nothing, 1});
    return run_suite(suite);
}
