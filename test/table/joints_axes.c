// Rows of joints: motors and stops of every axis of every type that has them. A ball at rest on one
// axis, whose others are held.
#include "support_joints.h"

static const double MASS = 2, INERTIA = 0.05, STEP = 0.01; // kg, kg m^2, s

typedef dReal read_fn(dJointID joint);

static dReal amotor_angle0(dJointID joint)
{
    return dJointGetAMotorAngle(joint, 0);
}

static dReal amotor_angle1(dJointID joint)
{
    return dJointGetAMotorAngle(joint, 1);
}

static dReal amotor_angle2(dJointID joint)
{
    return dJointGetAMotorAngle(joint, 2);
}

static dReal amotor_rate0(dJointID joint)
{
    return dJointGetAMotorAngleRate(joint, 0);
}

static dReal amotor_rate1(dJointID joint)
{
    return dJointGetAMotorAngleRate(joint, 1);
}

static dReal amotor_rate2(dJointID joint)
{
    return dJointGetAMotorAngleRate(joint, 2);
}

typedef struct axis {
    int type, group; // of parameters
    int along;       // x, y, z
    bool turns, stops;
    read_fn *value, *rate; // NULL: none
    bool euler;
} axis;

static const axis axes[] = {
    {dJointTypeHinge, 0, 2, true, true, dJointGetHingeAngle, dJointGetHingeAngleRate, false},
    {dJointTypeSlider, 0, 0, false, true, dJointGetSliderPosition, dJointGetSliderPositionRate,
     false},
    {dJointTypeUniversal, 0, 1, true, true, dJointGetUniversalAngle1, dJointGetUniversalAngle1Rate,
     false},
    {dJointTypeUniversal, 1, 2, true, true, dJointGetUniversalAngle2, dJointGetUniversalAngle2Rate,
     false},
    {dJointTypeHinge2, 0, 2, true, true, dJointGetHinge2Angle1, dJointGetHinge2Angle1Rate, false},
    {dJointTypeHinge2, 1, 0, true, false, dJointGetHinge2Angle2, dJointGetHinge2Angle2Rate, false},
    {dJointTypePR, 0, 0, false, true, dJointGetPRPosition, dJointGetPRPositionRate, false},
    {dJointTypePR, 1, 2, true, true, dJointGetPRAngle, dJointGetPRAngleRate, false},
    {dJointTypePU, 0, 1, true, true, dJointGetPUAngle1, dJointGetPUAngle1Rate, false},
    {dJointTypePU, 1, 2, true, true, dJointGetPUAngle2, dJointGetPUAngle2Rate, false},
    {dJointTypePU, 2, 0, false, true, dJointGetPUPosition, dJointGetPUPositionRate, false},
    {dJointTypePiston, 0, 2, false, true, dJointGetPistonPosition, dJointGetPistonPositionRate,
     false},
    {dJointTypePiston, 1, 2, true, true, dJointGetPistonAngle, dJointGetPistonAngleRate, false},
    {dJointTypeAMotor, 0, 0, true, true, amotor_angle0, amotor_rate0, false},
    {dJointTypeAMotor, 1, 1, true, true, amotor_angle1, amotor_rate1, false},
    {dJointTypeAMotor, 2, 2, true, true, amotor_angle2, amotor_rate2, false},
    {dJointTypeAMotor, 0, 0, true, true, amotor_angle0, amotor_rate0, true},
    {dJointTypeAMotor, 1, 1, true, true, amotor_angle1, amotor_rate1, true},
    {dJointTypeAMotor, 2, 2, true, true, amotor_angle2, amotor_rate2, true},
    {dJointTypeLMotor, 0, 0, false, false, NULL, NULL, false},
    {dJointTypeLMotor, 1, 1, false, false, NULL, NULL, false},
    {dJointTypeLMotor, 2, 2, false, false, NULL, NULL, false},
    {dJointTypePlane2D, 0, 0, false, false, NULL, NULL, false},
    {dJointTypePlane2D, 1, 1, false, false, NULL, NULL, false},
    {dJointTypePlane2D, 2, 2, true, false, NULL, NULL, false},
};

enum { AXES = sizeof axes / sizeof axes[0] };

// ---- the rig

typedef struct rig {
    support_scene scene;
    const axis *axis;
    dBodyID body;
    dJointID joint;
    double sign, start; // the coordinate's along the axis; where it begins
} rig;

static void place_at_centre(const rig *r)
{
    dVector3 x = {1, 0, 0}, z = {0, 0, 1};
    switch (r->axis->type) {
    case dJointTypeHinge:
        dJointSetHingeAnchor(r->joint, 0, 0, 0);
        dJointSetHingeAxis(r->joint, 0, 0, 1);
        break;
    case dJointTypeSlider:
        dJointSetSliderAxis(r->joint, 1, 0, 0);
        break;
    case dJointTypeUniversal:
        dJointSetUniversalAnchor(r->joint, 0, 0, 0);
        dJointSetUniversalAxis2(r->joint, 0, 0, 1);
        dJointSetUniversalAxis1(r->joint, 0, 1, 0);
        break;
    case dJointTypeHinge2:
        dJointSetHinge2Anchor(r->joint, 0, 0, 0);
        dJointSetHinge2Axes(r->joint, z, x);
        break;
    case dJointTypePR:
        dJointSetPRAnchor(r->joint, 0, 0, 0);
        dJointSetPRAxis1(r->joint, 1, 0, 0);
        dJointSetPRAxis2(r->joint, 0, 0, 1);
        break;
    case dJointTypePU:
        dJointSetPUAnchor(r->joint, 0, 0, 0);
        dJointSetPUAxis2(r->joint, 0, 0, 1);
        dJointSetPUAxis1(r->joint, 0, 1, 0);
        dJointSetPUAxis3(r->joint, 1, 0, 0);
        break;
    case dJointTypePiston:
        dJointSetPistonAnchor(r->joint, 0, 0, 0);
        dJointSetPistonAxis(r->joint, 0, 0, 1);
        break;
    default:
        place_joint(r->joint);
    }
    if (r->axis->euler) {
        dJointSetAMotorAxis(r->joint, 2, 2, 0, 0, 1);
        dJointSetAMotorMode(r->joint, dAMotorEuler);
    }
}

static void set(const rig *r, int parameter, double value)
{
    set_parameter(r->joint, r->axis->group * dParamGroup + parameter, value);
}

static void set_speed(const rig *r, double rate)
{
    double v[3] = {0};
    v[r->axis->along] = rate * r->sign;
    (r->axis->turns ? dBodySetAngularVel : dBodySetLinearVel)(r->body, v[0], v[1], v[2]);
}

// Of the coordinate.
static double speed(const rig *r)
{
    const dReal *v = r->axis->turns ? dBodyGetAngularVel(r->body) : dBodyGetLinearVel(r->body);
    return r->axis->rate ? r->axis->rate(r->joint) : r->sign * v[r->axis->along];
}

// A program that sets the angles of its motor, as user mode wants it.
static void set_angle(const rig *r)
{
    if (r->axis->type == dJointTypeAMotor && !r->axis->euler) {
        const dReal *q = dBodyGetQuaternion(r->body);
        dJointSetAMotorAngle(r->joint, r->axis->group,
                             r->sign * 2 * atan2(q[1 + r->axis->along], q[0]));
    }
}

// From where it began.
static double gone(const rig *r)
{
    set_angle(r);
    return r->axis->value(r->joint) - r->start;
}

static void hold_others(const rig *r)
{
    for (int i = 0; i < AXES; i++) {
        const axis *other = &axes[i];
        if (other->type == r->axis->type && other->group != r->axis->group && other->stops &&
            other->type != dJointTypeAMotor) {
            double here = other->value(r->joint);
            set_parameter(r->joint, other->group * dParamGroup + dParamLoStop, here);
            set_parameter(r->joint, other->group * dParamGroup + dParamHiStop, here);
        }
    }
}

static rig rig_open(const support_run *run, const axis *axis, bool held)
{
    dMass mass;
    rig r = {.scene = support_scene_open(run, STEP), .axis = axis, .sign = 1};
    r.body = dBodyCreate(r.scene.world);
    dMassSetSphereTotal(&mass, MASS, sqrt(2.5 * INERTIA / MASS));
    dBodySetMass(r.body, &mass);
    support_scene_add(&r.scene, r.body);
    r.joint = create_joint(r.scene.world, axis->type);
    if (axis->type == dJointTypeHinge2) {
        dBodyID frame = dBodyCreate(r.scene.world);
        dBodySetKinematic(frame);
        dJointAttach(r.joint, frame, r.body);
    } else {
        dJointAttach(r.joint, r.body, NULL);
    }
    place_at_centre(&r);
    if (held) {
        hold_others(&r);
    }
    set_speed(&r, 1);
    r.sign = speed(&r) < 0 ? -1 : 1;
    set_speed(&r, 0);
    r.start = axis->value ? axis->value(r.joint) : 0;
    return r;
}

static void rig_close(const rig *r)
{
    support_scene_close(&r->scene);
}

// Under a force or torque along the coordinate. Returns how far beyond its stops it comes.
static double rig_step(const rig *r, int steps, double load, const double stop[2])
{
    double beyond = 0;
    for (int i = 0; i < steps; i++) {
        double f[3] = {0};
        f[r->axis->along] = load * r->sign;
        (r->axis->turns ? dBodyAddTorque : dBodyAddForce)(r->body, f[0], f[1], f[2]);
        set_angle(r);
        support_scene_step(&r->scene);
        if (stop) {
            beyond = fmax(beyond, fmax(stop[0] - gone(r), gone(r) - stop[1]));
        }
    }
    return beyond;
}

static double inertia(const axis *axis)
{
    return axis->turns ? INERTIA : MASS;
}

// ---- motors

static void motor_reaches(support_run *run)
{
    for (int i = 0; i < AXES; i++) {
        rig r = rig_open(run, &axes[i], true);
        set(&r, dParamVel, 0.7);
        set(&r, dParamFMax, 100);
        rig_step(&r, 20, -1, NULL);
        support_report(run, speed(&r));
        rig_close(&r);
    }
}

static void motor_reaches_expected(support_run *run)
{
    for (int i = 0; i < AXES; i++) {
        support_report(run, 0.7);
    }
}

static void motor_saturates(support_run *run)
{
    for (int i = 0; i < AXES; i++) {
        rig r = rig_open(run, &axes[i], true);
        set(&r, dParamVel, 10);
        set(&r, dParamFMax, 0.5);
        rig_step(&r, 20, 0.1, NULL);
        support_report(run, speed(&r));
        rig_close(&r);
    }
}

static void motor_saturates_expected(support_run *run)
{
    for (int i = 0; i < AXES; i++) {
        support_report(run, 0.6 / inertia(&axes[i]) * 20 * STEP);
    }
}

// J v + CFM lambda = v of the motor
static void motor_yields(support_run *run)
{
    for (int i = 0; i < AXES; i++) {
        rig r = rig_open(run, &axes[i], true);
        set(&r, dParamVel, 0.3);
        set(&r, dParamFMax, 100);
        set(&r, dParamCFM, 0.01);
        rig_step(&r, 100, -2, NULL);
        support_report(run, speed(&r));
        rig_close(&r);
    }
}

static void motor_yields_expected(support_run *run)
{
    for (int i = 0; i < AXES; i++) {
        support_report(run, 0.3 - 0.01 * 2);
    }
}

// ---- stops

static const double STOP[2] = {-0.0225, 0.0325};

static rig rig_with_stops(const support_run *run, const axis *axis)
{
    rig r = rig_open(run, axis, true);
    set(&r, dParamLoStop, r.start + STOP[0]);
    set(&r, dParamHiStop, r.start + STOP[1]);
    return r;
}

static void stops_hold(support_run *run)
{
    for (int i = 0; i < 2 * AXES; i++) {
        if (axes[i / 2].stops) {
            rig r = rig_with_stops(run, &axes[i / 2]);
            support_report_error(run, fmax(0, rig_step(&r, 200, i % 2 ? 1 : -1, STOP)));
            support_report(run, gone(&r));
            support_report(run, speed(&r));
            rig_close(&r);
        }
    }
}

static void stops_hold_expected(support_run *run)
{
    for (int i = 0; i < 2 * AXES; i++) {
        if (axes[i / 2].stops) {
            support_report(run, STOP[i % 2]);
            support_report(run, 0);
        }
    }
}

// Reports how far a body at 1 m/s or rad/s passes its stop. An AMotor's stop acts only after a step
// has found it violated.
static void stops_met_in_time(support_run *run)
{
    for (int i = 0; i < 2 * AXES; i++) {
        if (axes[i / 2].stops && axes[i / 2].type != dJointTypeAMotor) {
            rig r = rig_with_stops(run, &axes[i / 2]);
            set_speed(&r, i % 2 ? 1 : -1);
            support_report(run, fmax(0, rig_step(&r, 8, 0, STOP)));
            rig_close(&r);
        }
    }
}

static void stops_met_expected(support_run *run)
{
    for (int i = 0; i < 2 * AXES; i++) {
        if (axes[i / 2].stops && axes[i / 2].type != dJointTypeAMotor) {
            support_report(run, 0);
        }
    }
}

static const double SOFT_ERP = 0.4, SOFT_CFM = 0.005;

static void stops_yield(support_run *run)
{
    for (int i = 0; i < 2 * AXES; i++) {
        if (axes[i / 2].stops) {
            rig r = rig_with_stops(run, &axes[i / 2]);
            set(&r, dParamStopERP, SOFT_ERP);
            set(&r, dParamStopCFM, SOFT_CFM);
            rig_step(&r, 300, i % 2 ? 1 : -1, NULL);
            support_report(run, 10 * gone(&r));
            support_report(run, speed(&r));
            rig_close(&r);
        }
    }
}

// A spring of ERP / (h CFM).
static void stops_yield_expected(support_run *run)
{
    double depth = STEP * SOFT_CFM / SOFT_ERP;
    for (int i = 0; i < 2 * AXES; i++) {
        if (axes[i / 2].stops) {
            support_report(run, 10 * (STOP[i % 2] + (i % 2 ? depth : -depth)));
            support_report(run, 0);
        }
    }
}

static void stops_bounce(support_run *run)
{
    for (int i = 0; i < 2 * AXES; i++) {
        if (axes[i / 2].stops) {
            rig r = rig_with_stops(run, &axes[i / 2]);
            set(&r, dParamBounce, 0.5);
            set(&r, dParamStopCFM, 1e-14);
            set_speed(&r, i % 2 ? 1 : -1);
            rig_step(&r, 8, 0, NULL);
            support_report(run, speed(&r));
            rig_close(&r);
        }
    }
}

static void stops_bounce_expected(support_run *run)
{
    for (int i = 0; i < 2 * AXES; i++) {
        if (axes[i / 2].stops) {
            support_report(run, i % 2 ? -0.5 : 0.5);
        }
    }
}

// The feedback of all steps equals the change of momentum.
static void stops_feed_back(support_run *run)
{
    for (int i = 0; i < 2 * AXES; i++) {
        const axis *axis = &axes[i / 2];
        if (axis->stops) {
            rig r = rig_with_stops(run, axis);
            dJointFeedback feedback = {.f1 = {0}};
            int side = dJointGetBody(r.joint, 0) != r.body;
            const dReal *force = axis->turns ? (side ? feedback.t2 : feedback.t1)
                                             : (side ? feedback.f2 : feedback.f1);
            double impulse = 0, start = i % 2 ? 1 : -1;
            set(&r, dParamBounce, i % 4 > 1 ? 0.5 : 0);
            set_speed(&r, start);
            dJointSetFeedback(r.joint, &feedback);
            for (int k = 0; k < 8; k++) {
                rig_step(&r, 1, 0, NULL);
                impulse += STEP * r.sign * force[axis->along];
            }
            double end = r.sign * (axis->turns ? dBodyGetAngularVel
                                               : dBodyGetLinearVel)(r.body)[axis->along];
            support_report(run, impulse - inertia(axis) * (end - start));
            support_report(run, fabs(impulse) > 0.9 * inertia(axis));
            dJointSetFeedback(r.joint, NULL);
            rig_close(&r);
        }
    }
}

static void stops_feed_back_expected(support_run *run)
{
    for (int i = 0; i < 2 * AXES; i++) {
        if (axes[i / 2].stops) {
            support_report(run, 0);
            support_report(run, 1);
        }
    }
}

// Both stops in one place; a motor has no effect there.
static void stops_lock(support_run *run)
{
    for (int i = 0; i < AXES; i++) {
        if (axes[i].stops) {
            rig r = rig_open(run, &axes[i], true);
            set(&r, dParamLoStop, r.start);
            set(&r, dParamHiStop, r.start);
            set(&r, dParamVel, 1);
            set(&r, dParamFMax, 2);
            rig_step(&r, 20, 1, NULL);
            support_report(run, gone(&r));
            support_report(run, speed(&r));
            rig_close(&r);
        }
    }
}

static void stops_lock_expected(support_run *run)
{
    for (int i = 0; i < AXES; i++) {
        if (axes[i].stops) {
            support_report(run, 0);
            support_report(run, 0);
        }
    }
}

// Taken off where they hold. ODE's hinge goes on being held.
static void stops_off(support_run *run)
{
    for (int i = 0; i < AXES; i++) {
        if (axes[i].stops) {
            rig r = rig_with_stops(run, &axes[i]);
            rig_step(&r, 150, 1, NULL);
            set(&r, dParamLoStop, -dInfinity);
            set(&r, dParamHiStop, dInfinity);
            rig_step(&r, 10, 1, NULL);
            support_report(run, speed(&r));
            rig_close(&r);
        }
    }
}

// ---- motors at stops

static rig rig_at_low_stop(const support_run *run, const axis *axis, double rate, double force)
{
    rig r = rig_open(run, axis, true);
    set(&r, dParamLoStop, r.start);
    set(&r, dParamHiStop, r.start + 1);
    set(&r, dParamVel, rate);
    set(&r, dParamFMax, force);
    set(&r, dParamFudgeFactor, 0.3);
    return r;
}

static void motor_into_stop(support_run *run)
{
    for (int i = 0; i < AXES; i++) {
        if (axes[i].stops) {
            rig r = rig_at_low_stop(run, &axes[i], -1, 2);
            rig_step(&r, 30, 0.5, NULL); // weaker than the motor
            support_report(run, gone(&r));
            support_report(run, speed(&r));
            rig_close(&r);
        }
    }
}

static void motor_off_stop(support_run *run)
{
    for (int i = 0; i < AXES; i++) {
        if (axes[i].stops) {
            rig r = rig_at_low_stop(run, &axes[i], 10, 0.5);
            rig_step(&r, 5, 0, NULL);
            support_report(run, speed(&r));
            rig_close(&r);
        }
    }
}

// A fraction in the first step, all in those that follow.
static void motor_off_stop_expected(support_run *run)
{
    for (int i = 0; i < AXES; i++) {
        if (axes[i].stops) {
            support_report(run, 0.5 / inertia(&axes[i]) * STEP * (0.3 + 4));
        }
    }
}

// Against a load that a fraction of the motor's force does not move, all of it does.
static void motor_kept_at_stop(support_run *run)
{
    for (int i = 0; i < AXES; i++) {
        if (axes[i].stops) {
            rig r = rig_at_low_stop(run, &axes[i], 10, 0.5);
            rig_step(&r, 20, -0.3, NULL);
            support_report(run, gone(&r));
            support_report(run, speed(&r));
            rig_close(&r);
        }
    }
}

// ---- a motor steered by what the program reads

static const double GAIN = 8, TARGET = 0.3; // 1/s, m or rad

static void servo(support_run *run)
{
    for (int i = 0; i < AXES; i++) {
        if (axes[i].stops) {
            rig r = rig_open(run, &axes[i], true);
            set(&r, dParamFMax, 1000);
            for (int k = 0; k < 40; k++) {
                set(&r, dParamVel, GAIN * (TARGET - gone(&r)));
                rig_step(&r, 1, 0.5, NULL);
            }
            support_report(run, gone(&r));
            support_report(run, speed(&r));
            rig_close(&r);
        }
    }
}

static void servo_expected(support_run *run)
{
    for (int i = 0; i < AXES; i++) {
        double at = 0, read = 0, rate = 0;
        for (int k = 0; k < 40 && axes[i].stops; k++) {
            rate = GAIN * (TARGET - read);
            read = axes[i].euler ? at : at + STEP * rate; // of the start of the step
            at += STEP * rate;
        }
        if (axes[i].stops) {
            support_report(run, read);
            support_report(run, rate);
        }
    }
}

// ---- angles and rates that the program reads, forces that it adds

static void readings(support_run *run)
{
    for (int i = 0; i < AXES; i++) {
        if (axes[i].value) {
            rig r = rig_open(run, &axes[i], false);
            set_speed(&r, 0.5);
            rig_step(&r, 20, 0, NULL);
            support_report(run, gone(&r));
            support_report(run, speed(&r));
            rig_close(&r);
        }
    }
}

// ODE's Euler angles are those of the start of the step; and its second angle of a hinge2 goes
// against its rate.
static void readings_expected(support_run *run)
{
    for (int i = 0; i < AXES; i++) {
        if (axes[i].value) {
            bool against = axes[i].type == dJointTypeHinge2 && axes[i].group == 1;
            support_report(run, (against ? -0.5 : 0.5) * STEP * (axes[i].euler ? 19 : 20));
            support_report(run, 0.5);
        }
    }
}

static bool push_by_joint(const rig *r, double force)
{
    double first = r->axis->group == 0 ? force : 0, second = r->axis->group == 1 ? force : 0;
    switch (r->axis->type) {
    case dJointTypeHinge:
        dJointAddHingeTorque(r->joint, force);
        return true;
    case dJointTypeSlider:
        dJointAddSliderForce(r->joint, force);
        return true;
    case dJointTypeUniversal:
        dJointAddUniversalTorques(r->joint, first, second);
        return true;
    case dJointTypeHinge2:
        dJointAddHinge2Torques(r->joint, first, second);
        return true;
    case dJointTypePR:
        dJointAddPRTorque(r->joint, second);
        return r->axis->group == 1;
    case dJointTypePiston:
        dJointAddPistonForce(r->joint, first);
        return r->axis->group == 0;
    case dJointTypeAMotor:
        dJointAddAMotorTorques(r->joint, first, second, r->axis->group == 2 ? force : 0);
        return true;
    default:
        return false;
    }
}

static void pushes(support_run *run)
{
    for (int i = 0; i < AXES; i++) {
        rig r = rig_open(run, &axes[i], false);
        for (int k = 0; k < 20 && push_by_joint(&r, 0.5); k++) {
            support_scene_step(&r.scene);
        }
        support_report(run, speed(&r));
        rig_close(&r);
    }
}

static void pushes_expected(support_run *run)
{
    for (int i = 0; i < AXES; i++) {
        const axis *axis = &axes[i];
        bool pushed = axis->type == dJointTypePR       ? axis->group == 1
                      : axis->type == dJointTypePiston ? axis->group == 0
                                                       : axis->value && axis->type != dJointTypePU;
        support_report(run, pushed ? 0.5 / inertia(axis) * 20 * STEP : 0);
    }
}

#define BUT_AMOTORS EXACT_SAYING("AMotors as `stribeck`, with a message", "joints")

const support_row support_joint_axes[] = {
    {"motors, reaching their speed under load",
     motor_reaches,
     motor_reaches_expected,
     {EXACT, EXACT, EXACT}},
    {"motors, short of force", motor_saturates, motor_saturates_expected, {EXACT, EXACT, EXACT}},
    {"motors, CFM", motor_yields, motor_yields_expected, {EXACT, EXACT, EXACT}},
    {"stops, reached under load", stops_hold, stops_hold_expected, {EXACT, BUT_AMOTORS, EXACT}},
    {"stops, how far beyond at 1 m/s or rad/s",
     stops_met_in_time,
     stops_met_expected,
     {NEAR(0.01, "moves on until the end of the step"), EXACT,
      NEAR(2e-9, "stopped at the time of the impact")}},
    {"stops, ERP and CFM", stops_yield, stops_yield_expected, {EXACT, BUT_AMOTORS, EXACT}},
    {"stops, bounce", stops_bounce, stops_bounce_expected, {EXACT, BUT_AMOTORS, EXACT}},
    {"stops, feedback of an impact",
     stops_feed_back,
     stops_feed_back_expected,
     {EXACT,
      NEAR_SAYING(
          1e-8, "impulse over step; other forces of its end; AMotors as `stribeck`, with a message",
          "joints"),
      EXACT}},
    {"stops, removed", stops_off, NULL, {AS_STOCK, AS_STOCK_SAYING("joints"), AS_STOCK}},
    {"stops, locked", stops_lock, stops_lock_expected, {EXACT, BUT_AMOTORS, EXACT}},
    {"motors into a stop", motor_into_stop, stops_lock_expected, {EXACT, BUT_AMOTORS, EXACT}},
    {"motors away from a stop, fudge factor",
     motor_off_stop,
     motor_off_stop_expected,
     {EXACT, BUT_AMOTORS, EXACT}},
    {"motors kept at a stop, fudge factor",
     motor_kept_at_stop,
     stops_lock_expected,
     {EXACT, BUT_AMOTORS, EXACT}},
    {"motors, a servo that reads angles",
     servo,
     servo_expected,
     {EXACT, NEAR(0.01, "a motor reaches its speed at the end of the step"), EXACT}},
    {"angles, positions and rates read back",
     readings,
     readings_expected,
     {EXACT, NEAR(0.0051, "Euler angles of the end of the step, not of its start"), EXACT}},
    {"forces and torques added by joint", pushes, pushes_expected, {EXACT, EXACT, EXACT}},
    {0},
};
