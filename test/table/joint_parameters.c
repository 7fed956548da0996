// Rows of joints: parameters and setters that the other rows leave alone, and feedback as what
// moves the bodies.
#include "support_joints.h"

static const double STEP = 0.01; // s

// ---- one body on one axis

typedef struct held {
    support_scene scene;
    dBodyID body;
    dJointID joint;
    bool turns;
} held;

static const int axes[] = {dJointTypeHinge, dJointTypeSlider};

enum { AXES = 2 };

static held open_held(const support_run *run, int type)
{
    held h = {.scene = support_scene_open(run, STEP), .turns = type == dJointTypeHinge};
    h.body = support_body(h.scene.world, 0, 0, 0);
    support_scene_add(&h.scene, h.body);
    h.joint = create_joint(h.scene.world, type);
    dJointAttach(h.joint, h.body, NULL);
    if (h.turns) {
        dJointSetHingeAnchor(h.joint, 0, 0, 0);
        dJointSetHingeAxis(h.joint, 0, 0, 1);
    } else {
        dJointSetSliderAxis(h.joint, 0, 0, 1);
    }
    return h;
}

static void load_and_step(const held *h, double load, int steps)
{
    for (int i = 0; i < steps; i++) {
        (h->turns ? dBodyAddTorque : dBodyAddForce)(h->body, 0, 0, load);
        support_scene_step(&h->scene);
    }
}

static double speed_of(const held *h)
{
    return h->turns ? dJointGetHingeAngleRate(h->joint) : dJointGetSliderPositionRate(h->joint);
}

static double inertia_of(const held *h)
{
    dMass mass;
    dBodyGetMass(h->body, &mass);
    return h->turns ? mass.I[10] : mass.mass;
}

typedef struct stops {
    double low, high; // infinity where an angle has none, so that a slider has none there either
    bool hold;        // at 0, against a load upwards
} stops;

// Crossed, at pi and beyond, on one side only.
static const stops odd_stops[] = {{0.5, -0.5, false},      {-4, 4, false}, {-INFINITY, 9, false},
                                  {-0.5, INFINITY, false}, {-1, 0, true},  {-INFINITY, 0, true}};

enum { ODD_STOPS = sizeof odd_stops / sizeof odd_stops[0] };

static void stops_that_are_none(support_run *run)
{
    for (int i = 0; i < ODD_STOPS; i++) {
        for (int k = 0; k < AXES; k++) {
            held h = open_held(run, axes[k]);
            set_parameter(h.joint, dParamLoStop, odd_stops[i].low);
            set_parameter(h.joint, dParamHiStop, odd_stops[i].high);
            load_and_step(&h, 10 * inertia_of(&h), 60);
            support_report(run, speed_of(&h));
            support_scene_close(&h.scene);
        }
    }
}

// After 0.6 s at 10 /s^2, within 1.8; a hinge's angle jumps at pi, nothing else does.
static void stops_that_are_none_expected(support_run *run)
{
    for (int i = 0; i < ODD_STOPS; i++) {
        for (int k = 0; k < AXES; k++) {
            support_report(run, odd_stops[i].hold ? 0 : 6);
        }
    }
}

static void turns_over(support_run *run)
{
    held h = open_held(run, dJointTypeHinge);
    dJointSetHingeParam(h.joint, dParamLoStop, -3.5);
    dJointSetHingeParam(h.joint, dParamHiStop, 3.5);
    load_and_step(&h, 10 * inertia_of(&h), 150);
    support_report(run, speed_of(&h));
    support_scene_close(&h.scene);
}

static void turns_over_expected(support_run *run)
{
    support_report(run, 15);
}

static const double endless[] = {INFINITY, DBL_MAX, 1e60, 1e20};

enum { ENDLESS = sizeof endless / sizeof endless[0] };

// Without an end of its speed, up and down, against a load of 10; far from stops.
static void endless_motors(support_run *run)
{
    for (int k = 0; k < AXES; k++) {
        for (int i = 0; i < 4 * ENDLESS; i++) {
            held h = open_held(run, axes[k]);
            set_parameter(h.joint, dParamVel, (i % 2 ? 1 : -1) * endless[i / 4]);
            set_parameter(h.joint, dParamFMax, 15 * inertia_of(&h));
            if (i / 2 % 2) {
                set_parameter(h.joint, dParamLoStop, -2);
                set_parameter(h.joint, dParamHiStop, 2);
            }
            load_and_step(&h, -10 * inertia_of(&h), 10);
            support_report(run, speed_of(&h));
            support_scene_close(&h.scene);
        }
    }
}

// Between stops that are far away: unbounded, with a CFM, off, of a negative bound.
static void odd_motors(support_run *run)
{
    static const double bound[] = {INFINITY, 100, 0, -1}, cfm[] = {0, 0.01, 0, 0};
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < AXES; k++) {
            for (int stops = 0; stops < 2; stops++) {
                held h = open_held(run, axes[k]);
                set_parameter(h.joint, dParamVel, 0.3);
                set_parameter(h.joint, dParamFMax, bound[i]);
                if (stops) {
                    set_parameter(h.joint, dParamLoStop, -2);
                    set_parameter(h.joint, dParamHiStop, 2);
                }
                set_parameter(h.joint, dParamCFM, cfm[i]);
                load_and_step(&h, -10 * inertia_of(&h), 200);
                support_report(run, i < 2 ? speed_of(&h) + cfm[i] * 10 * inertia_of(&h)
                                          : 0.015 * speed_of(&h));
                support_scene_close(&h.scene);
            }
        }
    }
    endless_motors(run);
}

// One that is off is not there, and the stops, 2 away, are come to.
static void odd_motors_expected(support_run *run)
{
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 2 * AXES; k++) {
            support_report(run, i < 2 ? 0.3 : k % 2 ? 0 : -0.3);
        }
    }
    for (int i = 0; i < 4 * ENDLESS * AXES; i++) {
        support_report(run, (i % 2 ? 5 : -25) * 10 * STEP);
    }
}

// ---- setters

static const int on_two[] = {dJointTypeHinge2, dJointTypePU, dJointTypePiston, dJointTypeAMotor,
                             dJointTypeLMotor};

enum { ON_TWO = sizeof on_two / sizeof on_two[0] };

static void set_otherwise(dJointID joint, int relative)
{
    const dReal d = 1e-3;
    switch (dJointGetType(joint)) {
    case dJointTypeHinge2:
        dJointSetHinge2Axes(joint, (const dReal[]){0, 0, 1}, NULL);
        dJointSetHinge2Axes(joint, NULL, (const dReal[]){0.8, 0.6, 0});
        break;
    case dJointTypePU:
        dJointSetPUAnchorOffset(joint, 0.2, 0.1, 0.05, d, 0, 0);
        dJointSetPUAxisP(joint, 1, 0, d);
        break;
    case dJointTypePiston:
        dJointSetPistonAxis(joint, 0.6, 0, 0.8);
        break;
    case dJointTypeAMotor:
        dJointSetAMotorNumAxes(joint, 1 + relative);
        dJointSetAMotorAxis(joint, 0, relative, 0, 0.6, 0.8);
        dJointSetAMotorParam(joint, dParamFMax, 1);
        dJointSetAMotorParam(joint, dParamVel, 0.4);
        break;
    default:
        dJointSetLMotorNumAxes(joint, 1 + relative);
        dJointSetLMotorAxis(joint, 0, relative, 0, 0.6, 0.8);
        dJointSetLMotorParam(joint, dParamFMax, 1);
        dJointSetLMotorParam(joint, dParamVel, 0.4);
    }
}

static void setters(support_run *run)
{
    for (int i = 0; i < ON_TWO; i++) {
        bool motor = on_two[i] == dJointTypeAMotor || on_two[i] == dJointTypeLMotor;
        for (int relative = 0; relative < (motor ? 3 : 1); relative++) {
            support_scene scene = support_scene_open(run, STEP);
            pair p;
            support_open_pair(&scene, &p, support_joint_kind(on_two[i]), PAIR_AT_REST);
            set_otherwise(p.joint, relative);
            support_load_and_step(&scene, &p, 15, 1);
            support_report_vector(run, dBodyGetLinearVel(p.body[0]));
            support_report_vector(run, dBodyGetAngularVel(p.body[0]));
            support_scene_close(&scene);
        }
    }
}

// ---- feedback is what moves the bodies

static const int moving[] = {dJointTypeBall,      dJointTypeHinge,  dJointTypeSlider,
                             dJointTypeUniversal, dJointTypeHinge2, dJointTypeFixed,
                             dJointTypePR,        dJointTypePiston, dJointTypeDBall,
                             dJointTypeDHinge,    dJointTypeAMotor, dJointTypeLMotor};

enum { MOVING = sizeof moving / sizeof moving[0] };

// Of a body at the start of a step.
typedef struct state {
    dMatrix3 inertia; // kg m^2, world axes
    dVector3 v, w;
} state;

static state state_before(dBodyID body)
{
    state s;
    dMass mass;
    dMatrix3 half;
    dBodyGetMass(body, &mass);
    dMultiply2_333(half, mass.I, dBodyGetRotation(body));
    dMultiply0_333(s.inertia, dBodyGetRotation(body), half);
    dCopyVector3(s.v, dBodyGetLinearVel(body));
    dCopyVector3(s.w, dBodyGetAngularVel(body));
    return s;
}

// Reports the change of a body's momentum by a step, less gravity and feedback (N and N m).
static void report_balance(support_run *run, const pair *p, int side, const state *before,
                           double step)
{
    const dReal *force = side ? p->feedback.f2 : p->feedback.f1;
    const dReal *torque = side ? p->feedback.t2 : p->feedback.t1;
    dVector3 gravity, dv, dw, turned;
    dMass mass;
    dWorldGetGravity(p->world, gravity);
    dBodyGetMass(p->body[side], &mass);
    dSubtractVectors3(dv, dBodyGetLinearVel(p->body[side]), before->v);
    dSubtractVectors3(dw, dBodyGetAngularVel(p->body[side]), before->w);
    dMultiply0_331(turned, before->inertia, dw);
    for (int k = 0; k < 3; k++) {
        support_report(run, mass.mass * (dv[k] / step - gravity[k]) - force[k]);
        support_report(run, turned[k] / step - torque[k]);
    }
}

// An AMotor at its stop is left to the implicit step, and so to ODE's feedback.
static bool is_balanced(int type, int like)
{
    bool both = like == (PAIR_MOTORS | PAIR_STOPS);
    return (support_joint_kind(type)->motors || !like) && !(both && type == dJointTypeAMotor);
}

static void balance(support_run *run, int like)
{
    const double brief = 1e-5; // s
    for (int i = 0; i < MOVING; i++) {
        const joint_kind *kind = support_joint_kind(moving[i]);
        if (!is_balanced(moving[i], like)) {
            continue;
        }
        support_scene scene = support_scene_open(run, STEP);
        pair p;
        support_open_pair(&scene, &p, kind, like | PAIR_AT_REST | PAIR_SKEWED);
        dBodySetGyroscopicMode(p.body[0], 0);
        dBodySetGyroscopicMode(p.body[1], 0);
        ask_feedback(&p);
        support_load_and_step(&scene, &p, 10, 1);
        support_scene last = scene;
        last.step = like ? STEP : brief;
        if (!like) { // from a step of another length on, velocities change by the forces of both
            support_scene_step(&last);
        }
        const state before[] = {state_before(p.body[0]), state_before(p.body[1])};
        support_scene_step(&last);
        report_balance(run, &p, 0, &before[0], last.step);
        report_balance(run, &p, 1, &before[1], last.step);
        dJointSetFeedback(p.joint, NULL);
        support_scene_close(&scene);
    }
}

static void none_left(support_run *run, int like)
{
    for (int i = 0; i < MOVING; i++) {
        for (int k = 0; k < 12 && is_balanced(moving[i], like); k++) {
            support_report(run, 0);
        }
    }
}

static void balance_of_joints(support_run *run)
{
    balance(run, 0);
}

static void balance_of_joints_expected(support_run *run)
{
    none_left(run, 0);
}

static void balance_of_motors(support_run *run)
{
    balance(run, PAIR_MOTORS);
}

static void balance_of_motors_expected(support_run *run)
{
    none_left(run, PAIR_MOTORS);
}

static void balance_of_stops(support_run *run)
{
    balance(run, PAIR_STOPS);
}

static void balance_of_stops_expected(support_run *run)
{
    none_left(run, PAIR_STOPS);
}

static void balance_of_both(support_run *run)
{
    balance(run, PAIR_MOTORS | PAIR_STOPS);
}

static void balance_of_both_expected(support_run *run)
{
    none_left(run, PAIR_MOTORS | PAIR_STOPS);
}

// ---- transmissions that yield

static void soft_transmission(support_run *run)
{
    support_scene scene = support_scene_open(run, STEP);
    dBodyID wheel[2];
    dJointID joint = dJointCreateTransmission(scene.world, NULL);
    for (int i = 0; i < 2; i++) {
        wheel[i] = support_body(scene.world, 0.6 * i, 0, 0);
        support_scene_add(&scene, wheel[i]);
        dJointID hinge = dJointCreateHinge(scene.world, NULL);
        dJointAttach(hinge, wheel[i], NULL);
        dJointSetHingeAnchor(hinge, 0.6 * i, 0, 0);
        dJointSetHingeAxis(hinge, 0, 0, 1);
    }
    dJointAttach(joint, wheel[0], wheel[1]);
    dJointSetTransmissionMode(joint, dTransmissionParallelAxes);
    dJointSetTransmissionAxis(joint, 0, 0, 1);
    dJointSetTransmissionAnchor1(joint, 0, 0, 0);
    dJointSetTransmissionAnchor2(joint, 0.6, 0, 0);
    dJointSetTransmissionRatio(joint, 2);
    dJointSetTransmissionParam(joint, dParamERP, 0.3);
    dJointSetTransmissionParam(joint, dParamCFM, 0.02);
    for (int k = 0; k < 30; k++) {
        dVector3 at;
        dBodyAddTorque(wheel[0], 0, 0, 1);
        support_scene_step(&scene);
        support_report(run, dBodyGetAngularVel(wheel[0])[2]);
        support_report(run, dBodyGetAngularVel(wheel[1])[2]);
        dJointGetTransmissionContactPoint1(joint, at);
        support_report_vector(run, at);
    }
    support_scene_close(&scene);
}

#define TAKEN "bodies lose what joints would win, by no force"

const support_row support_joint_parameters[] = {
    {"stops in the wrong order, beyond pi or at infinity do not exist; a stop on one side",
     stops_that_are_none,
     stops_that_are_none_expected,
     {EXACT, EXACT, EXACT}},
    {"a hinge that turns over, with stops beyond pi",
     turns_over,
     turns_over_expected,
     {EXACT, EXACT, EXACT}},
    {"motors unbounded, with CFM, off, between stops",
     odd_motors,
     odd_motors_expected,
     {EXACT, EXACT, EXACT}},
    {"setters of hinge2, PU and piston; AMotors and LMotors of fewer axes, on either body",
     setters,
     NULL,
     {AS_STOCK, NEAR(1e-3, "in continuous time; motors lag by a step"), NEAR(1e-5, CIRCLES)}},
    {"ERP and CFM of a transmission, its contact point",
     soft_transmission,
     NULL,
     {AS_STOCK, AS_STRIBECK("joints"), AS_STOCK}},
    {"feedback, gravity and loads are all that moves the bodies",
     balance_of_joints,
     balance_of_joints_expected,
     {EXACT, NEAR(1e-7, "N, of the end of the step"), EXACT}},
    {"the same with motors",
     balance_of_motors,
     balance_of_motors_expected,
     {EXACT, NEAR(5e-3, "N, of the end of the step"), NEAR(1e-6, TAKEN)}},
    {"the same with stops",
     balance_of_stops,
     balance_of_stops_expected,
     {EXACT,
      NEAR_SAYING(2e-4, "N, of the end of the step; AMotors as `stribeck`, with a message",
                  "joints"),
      NEAR(1e-7, TAKEN)}},
    {"the same with motors at stops, whose force ODE leaves out",
     balance_of_both,
     balance_of_both_expected,
     {AS_STOCK, NEAR(5e-3, "N, with the motor's force, of the end of the step"),
      NEAR(3, "N, without that force")}},
    {0},
};
