// Joints, motors, surfaces and kinematic bodies under method=advance.
#include <check.h>
#include <math.h>
#include <string.h>

#include "advance_program.h"
#include "body_motion.h"
#include "linalg.h"
#include "start.h"
#include "suite.h"

// ---- joints

static dJointID hinge_at(scene *s, dBodyID body, double x, double y, double z)
{
    dJointID hinge = dJointCreateHinge(s->world, 0);
    dJointAttach(hinge, body, NULL);
    dJointSetHingeAnchor(hinge, x, y, z);
    dJointSetHingeAxis(hinge, 0, 1, 0);
    return hinge;
}

START_TEST(joint_stops_act_in_time)
{
    static const double stops[] = {0.507, 0.512345, 1.213};
    scene *s = open_scene("method=advance");
    dWorldSetGravity(s->world, 0, 0, 0);
    dBodyID wheel = add_box(s, 0, 0, 5);
    dJointID hinge = hinge_at(s, wheel, 0, 0, 5);
    dJointSetHingeParam(hinge, dParamLoStop, -stops[_i]);
    dJointSetHingeParam(hinge, dParamHiStop, stops[_i]);
    dBodySetAngularVel(wheel, 0, 2, 0);
    double met = -1;
    for (int i = 0; i < 100; i++) {
        step(s);
        for (int k = 0; k < s->events; k++) {
            if (s->event[k].kind == SPRAG_EVENT_LIMIT_REACHED && met < 0) {
                met = i * STEP + s->event[k].time;
            }
        }
    }
    ck_assert_double_eq_tol(met, stops[_i] / 2, 1e-6);
    ck_assert_double_eq_tol(fabs(dJointGetHingeAngle(hinge)), stops[_i], 1e-5);
    ck_assert_double_lt(speed(wheel), 1e-4);
    close_scene(s);
}
END_TEST

START_TEST(arm_rests_at_its_stop)
{
    scene *s = open_scene("method=advance");
    dBodyID arm = body_at(s, dCreateBox(s->space, 1, 0.1, 0.1), 0.5, 0, 5);
    dJointID hinge = hinge_at(s, arm, 0, 0, 5);
    dJointSetHingeParam(hinge, dParamLoStop, -0.5);
    dJointSetHingeParam(hinge, dParamHiStop, 0.5);
    run(s, 150);
    ck_assert_int_ge(stats_of(s).events[SPRAG_EVENT_LIMIT_REACHED], 1);
    long substeps = stats_of(s).substeps;
    for (int i = 0; i < 100; i++) {
        step(s);
        ck_assert_double_eq_tol(fabs(dJointGetHingeAngle(hinge)), 0.5, 1e-4);
        ck_assert_double_lt(speed(arm), 1e-3);
    }
    ck_assert_int_le(stats_of(s).substeps - substeps, 105);
    close_scene(s);
}
END_TEST

// Two fingers of sliders on a hand press 400 N on a cylinder along a line, and the hand sets off
// sideways. Did one end of the line carry all, the cylinder would swing about it.
START_TEST(fingers_hold_along_a_line)
{
    static const double steps[] = {1e-3, 0.01, 1.0 / 60}, speeds[2] = {0, 0.5}; // s, m/s
    scene *s = open_scene("method=advance");
    s->length = steps[_i];
    s->surface.mu = 0.6;
    dMass m;
    dMassSetCylinderTotal(&m, 1, 3, 0.04, 0.08);
    dBodyID held = body_at(s, dCreateCylinder(s->space, 0.04, 0.08), 0, 0, 0);
    dBodySetMass(held, &m);
    dMassSetBoxTotal(&m, 0.2, 0.06, 0.02, 0.2);
    dBodyID hand = dBodyCreate(s->world);
    dBodySetPosition(hand, 0, 0, 0.15);
    dBodySetKinematic(hand);
    for (int side = -1; side <= 1; side += 2) {
        dBodyID finger = body_at(s, dCreateBox(s->space, 0.06, 0.02, 0.2), 0, side * 0.0501, 0.02);
        dBodySetMass(finger, &m);
        dJointID slider = dJointCreateSlider(s->world, 0);
        dJointAttach(slider, finger, hand);
        dJointSetSliderAxis(slider, 0, 1, 0);
        dJointSetSliderParam(slider, dParamFMax, 400);
        dJointSetSliderParam(slider, dParamVel, -0.2 * side);
    }
    for (int leg = 0; leg < 2; leg++) {
        dBodySetLinearVel(hand, speeds[leg], 0, 0);
        run(s, (int)(0.5 / s->length));
    }
    ck_assert_double_gt(dBodyGetRotation(held)[10], cos(1e-3));
    close_scene(s);
}
END_TEST

// A ball on an arm that turns by about once a step: the error of the joint points anywhere, and
// what mends it must bring in no energy. The first step does not know the load of the joint.
START_TEST(fast_swings_win_nothing)
{
    static const double rates[] = {100, 575, 600, 625}; // rad/s
    scene *s = open_scene("method=advance");
    dWorldSetGravity(s->world, 0, 0, 0);
    const double rate = rates[_i], radius = 0.45, arm = 0.7;
    dBodyID ball = add_ball(s, arm, 0, 5, radius);
    dJointID joint = dJointCreateBall(s->world, 0);
    dJointAttach(joint, ball, NULL);
    dJointSetBallAnchor(joint, 0, 0, 5);
    dBodySetAngularVel(ball, 0.3 * rate, 0.5 * rate, 0.8 * rate);
    dBodySetLinearVel(ball, 0, 0.8 * arm * rate, -0.5 * arm * rate);
    double most = INFINITY;
    for (int i = 0; i <= 100; i++) {
        const dReal *v = dBodyGetLinearVel(ball), *w = dBodyGetAngularVel(ball);
        double energy = dot3(v, v) / 2 + 0.4 * radius * radius * dot3(w, w) / 2;
        ck_assert_double_le(energy, most);
        most = i ? most : (1 + 1e-9) * energy;
        const dReal *x = dBodyGetPosition(ball);
        ck_assert_double_lt(fabs(hypot(hypot(x[0], x[1]), x[2] - 5) - arm), 0.5);
        step(s);
    }
    close_scene(s);
}
END_TEST

// A ball of 50 kg on 20 links of 0.1 kg, level at first, at steps of 5, 10 and 16.7 ms: the
// joints stay together, and no energy comes in. Stock's part by 29 m at 10 ms.
START_TEST(heavy_ball_stays_on_its_chain)
{
    enum { LINKS = 21 };
    static const double length = 0.2, steps[] = {0.005, 0.01, 0.0167}; // m, s
    scene *s = open_scene("method=advance");
    dBodyID body[LINKS];
    dJointID joint[LINKS];
    s->length = steps[_i];
    for (int i = 0; i < LINKS; i++) {
        dMass mass;
        bool last = i + 1 == LINKS;
        body[i] = dBodyCreate(s->world);
        dMassSetBoxTotal(&mass, last ? 50 : 0.1, length, last ? length : 0.04,
                         last ? length : 0.04);
        dBodySetMass(body[i], &mass);
        dBodySetPosition(body[i], (i + 0.5) * length, 0, 0);
        joint[i] = dJointCreateBall(s->world, 0);
        dJointAttach(joint[i], body[i], i ? body[i - 1] : NULL);
        dJointSetBallAnchor(joint[i], i * length, 0, 0);
    }
    for (double time = 0; time < 5; time += s->length) {
        double energy = 0;
        step(s);
        for (int i = 0; i < LINKS; i++) {
            dMass mass;
            dBodyGetMass(body[i], &mass);
            double middle = height(body[i]) - s->length / 2 * dBodyGetLinearVel(body[i])[2];
            energy += kinetic_energy(body[i]) + mass.mass * G * middle;
            ck_assert_double_lt(joint_gap(joint[i]), 0.0065);
        }
        ck_assert_double_lt(energy, 1); // J, of the 2000 of its fall
    }
    close_scene(s);
}
END_TEST

// The same ball on 20 balls of 0.1 kg, each at a distance of 0.2 m from the next. Stock's part by
// 8 m at 16.7 ms.
START_TEST(heavy_ball_stays_on_its_distances)
{
    enum { BALLS = 21 };
    static const double length = 0.2, steps[] = {0.005, 0.01, 0.0167}; // m, s
    scene *s = open_scene("method=advance");
    dBodyID body[BALLS];
    long substeps = 0;
    s->length = steps[_i];
    for (int i = 0; i < BALLS; i++) {
        dMass mass;
        body[i] = dBodyCreate(s->world);
        dMassSetSphereTotal(&mass, i + 1 == BALLS ? 50 : 0.1, 0.05);
        dBodySetMass(body[i], &mass);
        dBodySetPosition(body[i], (i + 1) * length, 0, 0);
        dGeomSetBody(dCreateSphere(s->space, 0.05), body[i]);
        dJointID joint = dJointCreateDBall(s->world, 0);
        dJointAttach(joint, body[i], i ? body[i - 1] : NULL);
        dJointSetDBallAnchor1(joint, (i + 1) * length, 0, 0);
        dJointSetDBallAnchor2(joint, i * length, 0, 0);
    }
    for (double time = 0; time < 5; time += s->length) {
        double energy = 0;
        const dVector3 origin = {0};
        step(s);
        const long now = stats_of(s).substeps; // of half of the last one the velocities are
        const double behind = s->length / 2 / (double)(now - substeps);
        substeps = now;
        for (int i = 0; i < BALLS; i++) {
            const dReal *before = i ? dBodyGetPosition(body[i - 1]) : origin;
            double middle = height(body[i]) - behind * dBodyGetLinearVel(body[i])[2];
            energy += kinetic_energy(body[i]) + (i + 1 == BALLS ? 50 : 0.1) * G * middle;
            double apart = dCalcPointsDistance3(before, dBodyGetPosition(body[i]));
            ck_assert_double_eq_tol(apart, length, 0.005);
        }
        ck_assert_double_lt(energy, 15); // J, of the 2000 of its fall
    }
    close_scene(s);
}
END_TEST

// A vehicle of 100 kg on a track of 24 links about two wheels, one of which drives, for 2 s at
// steps of 10 and 16.7 ms: the joints stay together, nothing stands still. At 15 ms some links get
// jammed: all stand still for that time, else joints open by 25 to 37 mm.
enum { TRACK = 24 };
static const double axle = 1, wheel = 0.19, around = 0.22; // m

// The point of the track at a share of its length, about the middle of the vehicle.
static void on_track(double share, double at[2])
{
    double arc = M_PI * around, along = share * 2 * (axle + arc), side = 1;
    if (along >= axle + arc) {
        along -= axle + arc;
        side = -1;
    }
    double angle = fmax(0, along - axle) / around;
    at[0] = side * (fmin(along, axle) - axle / 2 + around * sin(angle));
    at[1] = -side * around * cos(angle);
}

static dJointID hinge_between(scene *s, dBodyID a, dBodyID b, double x, double z)
{
    dJointID hinge = hinge_at(s, a, x, 0, z);
    dJointAttach(hinge, a, b);
    dJointSetHingeAnchor(hinge, x, 0, z);
    dJointSetHingeAxis(hinge, 0, 1, 0);
    return hinge;
}

static void add_track(scene *s, double height, dJointID *hinge)
{
    dBodyID link[TRACK];
    for (int i = 0; i < TRACK; i++) {
        double from[2], to[2];
        dMatrix3 turned;
        on_track(i / (double)TRACK, from);
        on_track((i + 1) % TRACK / (double)TRACK, to);
        double dx = to[0] - from[0], dz = to[1] - from[1];
        dGeomID shoe = dCreateBox(s->space, 0.95 * hypot(dx, dz), 0.4, 0.02);
        dGeomSetCategoryBits(shoe, 2); // links do not touch each other
        dGeomSetCollideBits(shoe, 1);
        link[i] = body_at(s, shoe, from[0] + dx / 2, 0, height + from[1] + dz / 2);
        dRFromAxisAndAngle(turned, 0, 1, 0, -atan2(dz, dx));
        dBodySetRotation(link[i], turned);
        if (i > 0) {
            hinge[i] = hinge_between(s, link[i], link[i - 1], from[0], height + from[1]);
        }
    }
    double closed[2];
    on_track(0, closed);
    hinge[0] = hinge_between(s, link[0], link[TRACK - 1], closed[0], height + closed[1]);
}

// Whether the fast ones stall for a frame is chance: of 40 speeds that differ by 1e-7, 7 do so for
// 0.015 s, or 6 for up to 0.03 s with joints that differ by rounding.
static const struct {
    double step, speed, torque; // s, rad/s, N m, of the wheel that drives
    double gap, stalled;        // m, s, at most
} drives[] = {{0.01, 5, 20, 0.004, 1e-4},
              {1 / 60.0, 5, 20, 0.004, 1e-4},
              {0.015, 7, 30, 0.01, 0.035},
              {0.015, 12, 40, 0.01, 0.035}};

START_TEST(track_stays_together)
{
    static const double height = around + 0.01; // m
    dJointID hinge[TRACK], drive = NULL;
    dMass mass;
    scene *s = open_scene("method=advance");
    s->length = drives[_i].step;
    s->surface.mu = 1;
    dGeomSetCategoryBits(dCreatePlane(s->space, 0, 0, 1, 0), 1);
    dBodyID hull = dBodyCreate(s->world);
    dMassSetBoxTotal(&mass, 100, 1, 0.4, 0.2);
    dBodySetMass(hull, &mass);
    dBodySetPosition(hull, 0, 0, height);
    for (int k = -1; k <= 1; k += 2) {
        dGeomID round = dCreateSphere(s->space, wheel);
        dGeomSetCategoryBits(round, 1);
        drive = hinge_between(s, body_at(s, round, k * axle / 2, 0, height), hull, k * axle / 2,
                              height);
    }
    dJointSetHingeParam(drive, dParamVel, drives[_i].speed);
    dJointSetHingeParam(drive, dParamFMax, drives[_i].torque);
    add_track(s, height, hinge);
    double widest = 0;
    for (double time = 0; time < 2; time += s->length) {
        step(s);
        for (int i = 0; i < TRACK; i++) {
            dVector3 at[2];
            dJointGetHingeAnchor(hinge[i], at[0]);
            dJointGetHingeAnchor2(hinge[i], at[1]);
            widest = fmax(widest, dCalcPointsDistance3(at[0], at[1]));
        }
    }
    ck_assert_double_lt(widest, drives[_i].gap);
    ck_assert_double_lt(stats_of(s).stalled, drives[_i].stalled);
    close_scene(s);
}
END_TEST

static dBodyID add_bead(scene *s, double x, double y)
{
    dMass mass;
    dBodyID bead = body_at(s, dCreateSphere(s->space, 0.04), x, y, 0);
    dMassSetSphereTotal(&mass, 0.1, 0.04);
    dBodySetMass(bead, &mass);
    return bead;
}

// At a distance, or by a ball joint half way.
static void tie(scene *s, bool apart, dBodyID a, dBodyID b, const double from[2],
                const double to[2])
{
    dJointID joint = apart ? dJointCreateDBall(s->world, 0) : dJointCreateBall(s->world, 0);
    dJointAttach(joint, a, b);
    if (apart) {
        dJointSetDBallAnchor1(joint, from[0], from[1], 0);
        dJointSetDBallAnchor2(joint, to[0], to[1], 0.02);
    } else {
        dJointSetBallAnchor(joint, (from[0] + to[0]) / 2, (from[1] + to[1]) / 2, 0);
    }
}

// 8 x 8 beads, tied to their neighbours, and at the rim to the world.
static void hang_net(scene *s, bool apart)
{
    enum { SIDE = 8 };
    static const double mesh = 0.2; // m
    dBodyID bead[SIDE][SIDE];
    for (int i = 0; i < SIDE; i++) {
        for (int k = 0; k < SIDE; k++) {
            const double at[2] = {mesh * i, mesh * k},
                         before[2][2] = {{at[0] - mesh, at[1]}, {at[0], at[1] - mesh}},
                         behind[2][2] = {{at[0] + mesh, at[1]}, {at[0], at[1] + mesh}};
            bead[i][k] = add_bead(s, at[0], at[1]);
            tie(s, apart, bead[i][k], i ? bead[i - 1][k] : NULL, at, before[0]);
            tie(s, apart, bead[i][k], k ? bead[i][k - 1] : NULL, at, before[1]);
            if (i + 1 == SIDE) {
                tie(s, apart, bead[i][k], NULL, at, behind[0]);
            }
            if (k + 1 == SIDE) {
                tie(s, apart, bead[i][k], NULL, at, behind[1]);
            }
        }
    }
}

// 20 hinged planks that sag by 5 cm, and 6 boxes on them.
static void hang_bridge(scene *s)
{
    enum { PLANKS = 20 };
    static const double plank = 0.2, steepest = 0.05; // m, rad
    double x = 0, z = 0;
    dBodyID before = NULL;
    for (int i = 0; i < PLANKS; i++) {
        const double angle = steepest * (2 * i + 1 - PLANKS) / PLANKS, dx = plank * cos(angle),
                     dz = plank * sin(angle);
        dMatrix3 turned;
        dBodyID body =
            body_at(s, dCreateBox(s->space, 0.9 * plank, 0.8, 0.04), x + dx / 2, 0, z + dz / 2);
        dRFromAxisAndAngle(turned, 0, 1, 0, -angle);
        dBodySetRotation(body, turned);
        hinge_between(s, body, before, x, z);
        x += dx;
        z += dz;
        before = body;
    }
    hinge_between(s, before, NULL, x, z);
    for (int i = 0; i < 6; i++) {
        body_at(s, dCreateBox(s->space, 0.25, 0.25, 0.25), 1.4 + 0.3 * (i % 4), 0,
                0.15 + 0.3 * (i / 4));
    }
}

// Their joints would make 2 to 35 sub-steps of a step at 10 ms.
START_TEST(what_hangs_at_rest_takes_one_substep)
{
    static const double steps[] = {0.01, 0.0167}; // s
    scene *s = open_scene("method=advance");
    s->length = steps[_i / 3];
    if (_i % 3 < 2) {
        hang_net(s, _i % 3);
    } else {
        hang_bridge(s);
    }
    run(s, (int)(3 / s->length));
    const long substeps = stats_of(s).substeps;
    run(s, 50);
    ck_assert_int_eq(stats_of(s).substeps - substeps, 50);
    close_scene(s);
}
END_TEST

// 50 kg hang by distances on two balls of 0.1 kg, one of which is pushed aside. They swing by 2 to 4
// rad in a step.
START_TEST(distances_under_load_take_few_substeps)
{
    enum { BALLS = 3 };
    static const double length = 0.2, push = 0.1, steps[] = {0.01, 0.0167}; // m, m/s, s
    scene *s = open_scene("method=advance");
    dBodyID body[BALLS];
    s->length = steps[_i];
    for (int i = 0; i < BALLS; i++) {
        dMass mass;
        body[i] = add_ball(s, 0, 0, -(i + 1) * length, 0.05);
        dMassSetSphereTotal(&mass, i + 1 == BALLS ? 50 : 0.1, 0.05);
        dBodySetMass(body[i], &mass);
        dJointID joint = dJointCreateDBall(s->world, 0);
        dJointAttach(joint, body[i], i ? body[i - 1] : NULL);
        dJointSetDBallAnchor1(joint, 0, 0, -(i + 1) * length);
        dJointSetDBallAnchor2(joint, 0, 0, -i * length);
    }
    step(s); // tells the load
    const long substeps = stats_of(s).substeps;
    dBodySetLinearVel(body[0], push, 0, 0);
    for (int frame = 1; frame <= 100; frame++) {
        const dReal *before = (const dVector3){0};
        step(s);
        ck_assert_int_le(stats_of(s).substeps - substeps, 4 * frame);
        for (int i = 0; i < BALLS; i++) {
            const dReal *at = dBodyGetPosition(body[i]);
            ck_assert_double_eq_tol(dCalcPointsDistance3(before, at), length, 1e-4);
            ck_assert_double_le(fabs(at[0]), push * s->length); // as far as freely in a step
            before = at;
        }
    }
    close_scene(s);
}
END_TEST

// A pendulum of 50 kg on 20 links of 0.1 kg swings by 0.2 rad. What settles is damped, and a swing
// at its turning points but little: by 1 and 2 % in 14 s. The half period is that at 0.5 ms.
START_TEST(swings_under_load_go_on)
{
    enum { LINKS = 21 };
    static const double length = 0.2, steps[] = {0.01, 0.0167}, half = 2.0297; // m, s
    scene *s = open_scene("method=advance");
    dBodyID body[LINKS];
    const double along[2] = {length * sin(0.2), -length * cos(0.2)};
    s->length = steps[_i];
    for (int i = 0; i < LINKS; i++) {
        dMatrix3 turned;
        dMass mass;
        const bool last = i + 1 == LINKS;
        const double x = i * along[0], z = i * along[1];
        body[i] = body_at(s, dCreateSphere(s->space, 0.01), x + along[0] / 2, 0, z + along[1] / 2);
        dMassSetBoxTotal(&mass, last ? 50 : 0.1, length, last ? length : 0.04,
                         last ? length : 0.04);
        dBodySetMass(body[i], &mass);
        dRFromAxisAndAngle(turned, 0, 1, 0, atan2(-along[1], along[0]));
        dBodySetRotation(body[i], turned);
        dJointID joint = dJointCreateBall(s->world, 0);
        dJointAttach(joint, body[i], i ? body[i - 1] : NULL);
        dJointSetBallAnchor(joint, x, 0, z);
    }
    double crossed[8], farthest = 0;
    for (int crossings = 0; crossings < 8;) {
        const double before = dBodyGetPosition(body[LINKS - 1])[0];
        step(s);
        const double now = dBodyGetPosition(body[LINKS - 1])[0];
        farthest = crossings == 7 ? fmax(farthest, fabs(now)) : farthest;
        if (before * now < 0) {
            crossed[crossings++] = s->length * ((double)s->frames - now / (now - before));
        }
    }
    ck_assert_double_eq_tol((crossed[7] - crossed[0]) / 7, half, 1e-3);
    ck_assert_double_gt(farthest, 0.975 * (LINKS - 0.5) * along[0]);
    close_scene(s);
}
END_TEST

// A box on a joint, over a smooth floor without weight.
static dBodyID box_on(scene *s, dJointID joint, void (*set)(dJointID))
{
    dBodyID box = add_box(s, 0, 0, 0.5 + REST);
    dWorldSetGravity(s->world, 0, 0, 0);
    s->surface.mu = 0;
    add_floor(s);
    dJointAttach(joint, box, NULL);
    set(joint);
    return box;
}

static void set_spring(dJointID slider)
{
    const double stiffness = 100; // N/m, of 1 kg
    dJointSetSliderAxis(slider, 1, 0, 0);
    dJointSetSliderParam(slider, dParamLoStop, 0);
    dJointSetSliderParam(slider, dParamHiStop, 0);
    dJointSetSliderParam(slider, dParamStopERP, 1);
    dJointSetSliderParam(slider, dParamStopCFM, 1 / (STEP * stiffness));
}

static void set_weld(dJointID fixed)
{
    dJointSetFixed(fixed);
    dJointSetFixedParam(fixed, dParamERP, 1);
    dJointSetFixedParam(fixed, dParamCFM, 0.3);
}

static void set_motor(dJointID hinge)
{
    dJointSetHingeAxis(hinge, 0, 0, 1);
    dJointSetHingeParam(hinge, dParamVel, 3);
    dJointSetHingeParam(hinge, dParamFMax, dInfinity);
}

static void set_anchor(dJointID ball)
{
    dJointSetBallAnchor(ball, 0, 0, 0.5 + REST);
}

// What mends its error is a spring, a motor, an anchor that the program moves, or a stop: the
// fastest motion of the box is that under stock. At the end the program has opened the joint.
START_TEST(joints_bring_in_what_is_theirs)
{
    static void (*const set[])(dJointID) = {set_spring, set_weld, set_motor, set_anchor};
    double fastest[2] = {0};
    for (int stock = 0; stock < 2; stock++) {
        scene *s = open_scene(stock ? "method=ode-step" : "method=advance");
        dJointID joint = _i == 0   ? dJointCreateSlider(s->world, 0)
                         : _i == 1 ? dJointCreateFixed(s->world, 0)
                         : _i == 2 ? dJointCreateHinge(s->world, 0)
                                   : dJointCreateBall(s->world, 0);
        dBodyID box = box_on(s, joint, set[_i]);
        for (int i = 0; i < 200; i++) {
            if (_i == 3) {
                dJointSetBallAnchor2(joint, 0.2 * sin(3 * STEP * i), 0, 0.5 + REST);
            } else if (i == 100) {
                dBodySetPosition(box, 0.1, 0, 0.5 + REST);
            }
            step(s);
            const dReal *w = dBodyGetAngularVel(box);
            fastest[stock] = fmax(fastest[stock], fmax(speed(box), norm3(w)));
        }
        close_scene(s);
    }
    ck_assert_double_gt(fastest[1], 0.4);
    ck_assert_double_eq_tol(fastest[0], fastest[1], 1e-3 * fastest[1]);
}
END_TEST

static double energy_of(dBodyID body)
{
    const dReal *v = dBodyGetLinearVel(body), *w = dBodyGetAngularVel(body);
    dMass mass;
    dVector3 turning;
    dBodyGetMass(body, &mass);
    dBodyVectorFromWorld(body, w[0], w[1], w[2], turning);
    double sum = 0.5 * mass.mass * dot3(v, v) + mass.mass * G * height(body);
    for (int k = 0; k < 3; k++) {
        sum += 0.5 * turning[k] * dot3(&mass.I[4 * k], turning);
    }
    return sum;
}

// A rod of 2 kg and 1 m, beside a box on the floor that carries it, falls from the horizontal and
// has 9.8 J at the bottom.
START_TEST(pendulum_keeps_swinging)
{
    scene *s = open_scene("method=advance");
    add_floor(s);
    dBodyID box = body_at(s, dCreateBox(s->space, 8, 2, 2), 0, 0, 1 + REST);
    dBodyID rod = body_at(s, dCreateBox(s->space, 1, 0.05, 0.05), 0.5, 1.5, 2);
    dMass heavy;
    dMassSetBoxTotal(&heavy, 1e5, 8, 2, 2);
    dBodySetMass(box, &heavy);
    dJointAttach(hinge_at(s, rod, 0, 1.5, 2), rod, box);
    const double first = energy_of(rod);
    run(s, 1000);
    ck_assert_double_lt(speed(box), 1e-3);
    ck_assert_double_le(energy_of(rod), first);
    ck_assert_double_ge(energy_of(rod), first - 1.5); // stock: 0.9
    close_scene(s);
}
END_TEST

// A puck slides without friction on a heavy deck that carries a pendulum, which swings: what the
// pendulum's joint does is nothing to the puck.
START_TEST(swings_do_not_brake_what_slides_beside)
{
    scene *s = open_scene("method=advance");
    add_floor(s);
    s->surface.mu = 0;
    dBodyID deck = body_at(s, dCreateBox(s->space, 40, 10, 2), 0, 0, 1 + REST);
    dBodyID bob = body_at(s, dCreateSphere(s->space, 0.1), 0.5, 0, 5);
    dBodyID puck = body_at(s, dCreateBox(s->space, 0.3, 0.3, 0.2), -15, 3, 2.1 + 2 * REST);
    dMass heavy;
    dMassSetBoxTotal(&heavy, 1e5, 40, 10, 2);
    dBodySetMass(deck, &heavy);
    dMassSetSphereTotal(&heavy, 300, 0.1);
    dBodySetMass(bob, &heavy);
    dJointAttach(hinge_at(s, bob, 0, 0, 5), bob, deck);
    dBodySetLinearVel(puck, 2, 0, 0);
    run(s, 300);
    ck_assert_double_eq_tol(dBodyGetLinearVel(puck)[0], 2, 1e-3);
    close_scene(s);
}
END_TEST

// The feedback of a joint is its load, also in a frame with events.
START_TEST(joint_feedback_is_the_load)
{
    scene *s = open_scene("method=advance");
    dJointFeedback load;
    add_floor(s);
    dBodyID box = add_box(s, 0, 0, 1.5);
    dJointID joint = dJointCreateFixed(s->world, 0);
    dJointAttach(joint, box, NULL);
    dJointSetFixed(joint);
    memset(&load, 0, sizeof load);
    dJointSetFeedback(joint, &load);
    dBodyID ball = add_ball(s, 0, 0, 2.6, 0.5);
    for (int i = 0; i < 60; i++) {
        step(s);
        ck_assert_double_eq_tol(height(box), 1.5, 1e-6);
        if (s->touched < 0) {
            ck_assert_double_eq_tol(load.f1[2], 2 * G, 1e-4);
        }
    }
    ck_assert_double_ge(s->touched, 0);
    ck_assert_double_eq_tol(height(ball), 2.5 + REST, 2e-6);
    ck_assert_double_eq_tol(load.f1[2], 4 * G, 1e-3);
    close_scene(s);
}
END_TEST

// Contacts of one pair that share a dJointFeedback get the force of the pair. If two pairs share
// it, the force of one of them remains.
START_TEST(shared_feedback_has_the_force_of_a_pair)
{
    scene *s = open_scene("method=advance");
    s->shares_feedback = true;
    add_floor(s);
    add_box(s, 0, 0, 0.5 + REST);
    run(s, 50);
    ck_assert_int_gt(s->joints, 1);
    ck_assert_double_eq_tol(fabs(s->feedback[0].f1[2]), 2 * G, 1e-3);
    dMass mass;
    dMassSetBoxTotal(&mass, 5, 1, 1, 1);
    dBodySetMass(add_box(s, 0, 0, 1.5 + 2 * REST), &mass);
    run(s, 100);
    double force = fabs(s->feedback[0].f1[2]);
    ck_assert_double_eq_tol(force, force > 6 * G ? 7 * G : 5 * G, 1e-3);
    close_scene(s);
}
END_TEST

// Momentum: a ball stops on a held box, whose joint takes all of it within that one step.
START_TEST(impacts_are_in_the_feedback)
{
    scene *s = open_scene("method=advance");
    dJointFeedback load;
    dWorldSetGravity(s->world, 0, 0, 0);
    dBodyID box = add_box(s, 0, 0, 0);
    dJointID joint = dJointCreateFixed(s->world, 0);
    dJointAttach(joint, box, NULL);
    dJointSetFixed(joint);
    memset(&load, 0, sizeof load);
    dJointSetFeedback(joint, &load);
    dBodyID ball = add_ball(s, 0, 0, 1.123, 0.5);
    dBodySetLinearVel(ball, 0, 0, -3);
    double impulse = 0;
    for (int i = 0; i < 20; i++) {
        step(s);
        impulse += load.f1[2] * STEP;
    }
    ck_assert_double_eq_tol(s->touched, 0.041, 1e-6);
    ck_assert_double_eq_tol(impulse, 6, 1e-3);
    close_scene(s);
}
END_TEST

START_TEST(motor_drives)
{
    scene *s = open_scene("method=advance");
    dBodyID wheel = add_box(s, 0, 0, 5);
    dJointID hinge = hinge_at(s, wheel, 0, 0, 5);
    dJointSetHingeParam(hinge, dParamVel, 3);
    dJointSetHingeParam(hinge, dParamFMax, _i ? 100 : 0.1);
    run(s, 20);
    double inertia = 2.0 / 6, w = _i ? 3 : 0.1 / inertia * 20 * STEP;
    ck_assert_double_eq_tol(fabs(dJointGetHingeAngleRate(hinge)), w, 1e-4);
    ck_assert_double_eq_tol(height(wheel), 5, 1e-6);
    close_scene(s);
}
END_TEST

// No geom is near at the start of the step, or would be reached at the body's speed then.
START_TEST(motor_flings_into_ground)
{
    scene *s = open_scene("method=advance");
    dCreatePlane(s->space, 0, 0, 1, 0);
    dBodyID box = add_box(s, 0, 0, 2);
    dJointID slider = dJointCreateSlider(s->world, 0);
    dJointAttach(slider, box, NULL);
    dJointSetSliderAxis(slider, 0, 0, 1);
    dJointSetSliderParam(slider, dParamVel, _i ? 500 : -500);
    dJointSetSliderParam(slider, dParamFMax, 1e7);
    step(s);
    ck_assert_double_ge(height(box), 0);
    ck_assert_double_ge(fabs(height(box) - 2), 1);
    close_scene(s);
}
END_TEST

// ---- surfaces

// A box slides across fdir1 and sticks along it.
// Slip and motors at the bound of friction: a car drives off as far as under method=stribeck.
static double drive_off(const char *options)
{
    scene *s = open_scene(options);
    add_floor(s);
    s->surface = (dSurfaceParameters){.mode = dContactApprox1 | dContactSlip1 | dContactSlip2,
                                      .mu = 1,
                                      .slip1 = 0.01,
                                      .slip2 = 0.01};
    dMass mass;
    dBodyID car = dBodyCreate(s->world);
    dMassSetBoxTotal(&mass, 200, 2, 1, 0.4);
    dBodySetMass(car, &mass);
    dBodySetPosition(car, 0, 0, 0.7);
    dJointID axle[4];
    for (int i = 0; i < 4; i++) {
        double x = i < 2 ? 0.9 : -0.9, y = i % 2 ? 0.7 : -0.7;
        dBodyID wheel = add_ball(s, x, y, 0.35, 0.35);
        dMassSetSphereTotal(&mass, 10, 0.35);
        dBodySetMass(wheel, &mass);
        axle[i] = hinge_at(s, wheel, x, y, 0.35);
        dJointAttach(axle[i], car, wheel);
        dJointSetHingeAnchor(axle[i], x, y, 0.35);
        dJointSetHingeAxis(axle[i], 0, 1, 0);
        dJointSetHingeParam(axle[i], dParamFMax, 150);
        dJointSetHingeParam(axle[i], dParamVel, 15);
    }
    run(s, 200);
    double gone = -dBodyGetPosition(car)[0];
    ck_assert_double_lt(norm3(dBodyGetAngularVel(car)), 1e-3);
    close_scene(s);
    return gone;
}

START_TEST(car_slips_as_it_must)
{
    double rigid = drive_off("method=advance"), yielding = drive_off("method=stribeck");
    ck_assert_double_gt(yielding, 4);
    ck_assert_double_eq_tol(rigid, yielding, 1e-3);
}
END_TEST

START_TEST(directions_have_their_friction)
{
    bool across = _i;
    scene *s = open_scene("method=advance");
    dWorldSetGravity(s->world, across ? 0 : 3, across ? 3 : 0, -G);
    s->surface.mode |= dContactMu2 | dContactFDir1;
    s->surface.mu = 0.9;
    s->surface.mu2 = 0.1;
    s->along[0] = 1;
    add_floor(s);
    dBodyID box = body_at(s, dCreateBox(s->space, 1, 1, 0.5), 0, 0, 0.25 + REST);
    run(s, 100);
    const dReal *v = dBodyGetLinearVel(box);
    ck_assert_double_eq_tol(v[0], 0, 1e-5);
    ck_assert_double_eq_tol(v[1], across ? 3 - 0.1 * G : 0, 1e-3);
    close_scene(s);
}
END_TEST

// The conveyor moves bodies in the same direction as in stock.
START_TEST(conveyor_carries)
{
    double carried[2];
    for (int stock = 0; stock < 2; stock++) {
        scene *s = open_scene(stock ? "method=ode" : "method=advance");
        s->surface.mode |= dContactMotion1 | dContactFDir1;
        s->surface.motion1 = 1.5;
        s->along[0] = 1;
        add_floor(s);
        dBodyID box = add_box(s, 0, 0, stock ? 0.499 : 0.5 + REST);
        run(s, 100);
        carried[stock] = dBodyGetLinearVel(box)[0];
        close_scene(s);
    }
    ck_assert_double_eq_tol(fabs(carried[0]), 1.5, 1e-4);
    ck_assert_double_eq_tol(carried[0], carried[1], 1e-2);
}
END_TEST

START_TEST(bounces)
{
    bool slow = _i;
    scene *s = open_scene("method=advance");
    dWorldSetGravity(s->world, 0, 0, 0);
    s->surface.mode |= dContactBounce;
    s->surface.bounce = 0.6;
    s->surface.bounce_vel = 1;
    add_floor(s);
    dBodyID ball = add_ball(s, 0, 0, 1, 0.5);
    dBodySetLinearVel(ball, 0, 0, slow ? -0.9 : -2);
    run(s, 80);
    ck_assert_double_eq_tol(s->touched, 0.5 / (slow ? 0.9 : 2), 2e-6);
    ck_assert_double_eq_tol(dBodyGetLinearVel(ball)[2], slow ? 0 : 1.2, slow ? 1e-3 : 1e-5);
    close_scene(s);
}
END_TEST

START_TEST(sensors_let_pass)
{
    scene *s = open_scene("method=advance");
    s->declines = true;
    dGeomID sensor = dCreateBox(s->space, 2, 2, 0.2);
    dGeomSetPosition(sensor, 0, 0, 0);
    dBodyID ball = add_ball(s, 0, 0, 1, 0.2);
    run(s, 100);
    ck_assert_int_gt(s->calls, 0);
    ck_assert_double_eq_tol(dBodyGetLinearVel(ball)[2], -G, 1e-6);
    ck_assert_double_eq_tol(height(ball), 1 - G / 2, 1e-9);
    ck_assert_int_eq(stats_of(s).events[SPRAG_EVENT_CONTACT_MADE], 0);
    close_scene(s);
}
END_TEST

// ---- kinematic bodies

START_TEST(platform_carries)
{
    scene *s = open_scene("method=advance");
    dBodyID platform = body_at(s, dCreateBox(s->space, 4, 4, 1), 0, 0, -0.5);
    dBodySetKinematic(platform);
    dBodySetLinearVel(platform, 0.4, 0, 0.6);
    dBodyID box = add_box(s, 0, 0, 0.5 + REST);
    run(s, 100);
    const dReal *v = dBodyGetLinearVel(box);
    ck_assert_double_eq_tol(v[0], 0.4, 1e-5);
    ck_assert_double_eq_tol(v[2], 0.6, 1e-5);
    ck_assert_double_eq_tol(height(platform), 0.1, 1e-9);
    ck_assert_double_eq_tol(height(box) - height(platform), 1 + REST, 2e-7);
    close_scene(s);
}
END_TEST

// A lift goes down into the floor, and through another kinematic body: nothing can push either, so
// they hold up neither each other nor what stands on the lift.
START_TEST(lifts_pass_what_nothing_can_push)
{
    static const char *const methods[] = {"method=advance", "method=ess"};
    scene *s = open_scene(methods[_i]);
    dBodyID lift = body_at(s, dCreateBox(s->space, 2, 2, 0.4), 0, 0, 0.5);
    dBodyID beam = body_at(s, dCreateBox(s->space, 0.2, 9, 0.2), 0.9, 0, 0.2);
    add_floor(s);
    dBodySetKinematic(lift);
    dBodySetKinematic(beam);
    dBodyID box = body_at(s, dCreateBox(s->space, 0.4, 0.4, 0.4), -0.3, 0, 0.9 + REST);
    dBodySetLinearVel(lift, 0, 0, -0.5);
    dBodySetLinearVel(box, 0, 0, -0.5);
    for (int i = 0; i < 100; i++) {
        step(s);
        ck_assert_double_eq_tol(height(box) - height(lift), 0.4, 1e-5);
    }
    ck_assert_double_eq_tol(height(lift), 0, 1e-9);
    ck_assert_double_lt(fabs(dBodyGetPosition(box)[0] + 0.3), 1e-9);
    sprag_world_statistics stats = stats_of(s);
    ck_assert(stats.stalled == 0);
    ck_assert_int_eq(stats.overlaps + stats.squeezed, 0);
    close_scene(s);
}
END_TEST

int main(void)
{
    start_ode();
    dSetMessageHandler(quiet);
    Suite *suite = suite_create("method_advance_joints");
    ADD_TESTS(suite, "joints and surfaces", {joint_stops_act_in_time, 3},
              {fingers_hold_along_a_line, 3}, {arm_rests_at_its_stop, 1},
              {fast_swings_win_nothing, 4}, {heavy_ball_stays_on_its_chain, 3},
              {heavy_ball_stays_on_its_distances, 3}, {what_hangs_at_rest_takes_one_substep, 6},
              {distances_under_load_take_few_substeps, 2}, {swings_under_load_go_on, 2},
              {track_stays_together, COUNT(drives)}, {joints_bring_in_what_is_theirs, 4},
              {swings_do_not_brake_what_slides_beside, 1}, {pendulum_keeps_swinging, 1},
              {joint_feedback_is_the_load, 1}, {impacts_are_in_the_feedback, 1},
              {shared_feedback_has_the_force_of_a_pair, 1}, {motor_drives, 2},
              {motor_flings_into_ground, 2}, {car_slips_as_it_must, 1},
              {directions_have_their_friction, 2}, {conveyor_carries, 1}, {bounces, 2},
              {sensors_let_pass, 1}, {platform_carries, 1}, {lifts_pass_what_nothing_can_push, 2});
    return run_suite(suite);
}
