// Rows of joints: feedback, softness, errors, transmissions, and what programs do to joints while
// the world runs.
#include "joints_use.h"

// ---- all types

static void all_at_once(support_run *run)
{
    each_type(run, PAIR_MOTORS | PAIR_STOPS, 1, report_motion);
    each_type(run, PAIR_MOTORS | PAIR_STOPS | PAIR_TO_WORLD | PAIR_SKEWED, 1, report_motion);
}

// In one turn and motion with what carries it, at first.
static void carry_along(pair *p)
{
    const dVector3 v = {0.3, -0.2, 0.1}, w = {0.2, 0.3, 0.4};
    dVector3 arm, more;
    dBodySetLinearVel(p->body[0], v[0], v[1], v[2]);
    dBodySetAngularVel(p->body[0], w[0], w[1], w[2]);
    dSubtractVectors3(arm, dBodyGetPosition(p->body[1]), dBodyGetPosition(p->body[0]));
    dCalcVectorCross3(more, w, arm);
    dBodySetLinearVel(p->body[1], v[0] + more[0], v[1] + more[1], v[2] + more[2]);
    dBodySetAngularVel(p->body[1], w[0], w[1], w[2]);
}

static void report_carried(support_run *run, const support_scene *scene, pair *p, int pieces)
{
    if (p->body[1] && is_known(p)) {
        carry_along(p);
        report_motion(run, scene, p, pieces);
    }
}

static void carried_sampled(support_run *run, int pieces)
{
    each_type(run, PAIR_KINEMATIC | PAIR_AT_REST, pieces, report_carried);
}
IN_TIME(carried)

static void report_first(support_run *run, const support_scene *scene, pair *p, int pieces)
{
    support_load_and_step(scene, p, 15, pieces);
    support_report_vector(run, dBodyGetPosition(p->body[0]));
    support_report_vector(run, dBodyGetLinearVel(p->body[0]));
}

static void report_mended(support_run *run, const support_scene *scene, pair *p, int pieces)
{
    double erp = 2 * joint_error(p->joint) * pow(1 - dWorldGetERP(scene->world), 15);
    report_first(run, scene, p, pieces);
    support_report_error(run, fmax(joint_error(p->joint), erp)); // twice what ERP leaves is well
}

static void errors_mended(support_run *run)
{
    each_type(run, PAIR_MOVED | PAIR_AT_REST, 1, report_mended);
    each_type(run, PAIR_MOVED | PAIR_AT_REST | PAIR_TO_WORLD, 1, report_mended);
}

static void report_thrown(support_run *run, const support_scene *scene, pair *p, int pieces)
{
    if (is_known(p)) {
        report_first(run, scene, p, pieces);
        support_report(run, joint_error(p->joint));
    }
}

static void thrown_sampled(support_run *run, int pieces)
{
    each_type(run, PAIR_PLAIN, pieces, report_thrown);
}
IN_TIME(thrown)

static void report_asleep(support_run *run, const support_scene *scene, pair *p, int pieces)
{
    if (p->body[1] && is_known(p)) {
        dBodyDisable(p->body[1]);
        report_motion(run, scene, p, pieces);
        support_report(run, dBodyIsEnabled(p->body[1]));
    }
}

static void asleep_sampled(support_run *run, int pieces)
{
    each_type(run, PAIR_AT_REST, pieces, report_asleep);
}
IN_TIME(asleep)

// ---- one body held

static void set_softness(dJointID joint, double erp, double cfm)
{
    switch (dJointGetType(joint)) {
    case dJointTypeBall:
        dJointSetBallParam(joint, dParamERP, erp);
        dJointSetBallParam(joint, dParamCFM, cfm);
        break;
    case dJointTypeDBall:
        dJointSetDBallParam(joint, dParamERP, erp);
        dJointSetDBallParam(joint, dParamCFM, cfm);
        break;
    case dJointTypeDHinge:
        dJointSetDHingeParam(joint, dParamERP, erp);
        dJointSetDHingeParam(joint, dParamCFM, cfm);
        break;
    default:
        dJointSetFixedParam(joint, dParamERP, erp);
        dJointSetFixedParam(joint, dParamCFM, cfm);
    }
}

static const int soft[] = {dJointTypeBall, dJointTypeDBall, dJointTypeDHinge, dJointTypeFixed};

// Along the axis that ODE's CFM of a ball and a fixed joint has effect on.
static void own_softness(support_run *run)
{
    for (int i = 0; i < 4; i++) {
        support_scene scene = support_scene_open(run, STEP);
        dBodyID body = held_body(&scene, 0, 0, 0);
        dWorldSetGravity(scene.world, G, 0, 0);
        set_softness(hold(scene.world, soft[i], body), 0.4, 1e-3);
        steps(&scene, 200);
        support_report(run, 1e3 * dBodyGetPosition(body)[0]);
        support_scene_close(&scene);
    }
}

static void own_softness_expected(support_run *run)
{
    for (int i = 0; i < 4; i++) {
        support_report(run, 1e3 * 2 * G * STEP * 1e-3 / 0.4);
    }
}

static void world_softness(support_run *run)
{
    support_scene scene = support_scene_open(run, STEP);
    pair p;
    support_open_pair(&scene, &p, support_joint_kind(dJointTypeHinge),
                      PAIR_AT_REST | PAIR_TO_WORLD);
    for (int i = 0; i < 4; i++) {
        dWorldSetERP(scene.world, 0.1 + 0.2 * i);
        dWorldSetCFM(scene.world, i % 2 ? 1e-4 : 1e-8);
        support_load_and_step(&scene, &p, 5, 1);
        support_report_pair(run, &p);
    }
    support_scene_close(&scene);
}

// ---- suspension

static const double SUSPENSION_ERP = 0.1, SUSPENSION_CFM = 0.02;

static support_scene open_suspension(const support_run *run, dBodyID *wheel)
{
    support_scene scene = support_scene_open(run, STEP);
    dVector3 up = {0, 0, 1}, across = {0, 1, 0};
    dBodyID chassis = dBodyCreate(scene.world);
    *wheel = held_body(&scene, 0, 0, 0);
    dJointID joint = dJointCreateHinge2(scene.world, NULL);
    dBodySetKinematic(chassis);
    dJointAttach(joint, chassis, *wheel);
    dJointSetHinge2Anchor(joint, 0, 0, 0);
    dJointSetHinge2Axes(joint, up, across);
    dJointSetHinge2Param(joint, dParamSuspensionERP, SUSPENSION_ERP);
    dJointSetHinge2Param(joint, dParamSuspensionCFM, SUSPENSION_CFM);
    dWorldSetGravity(scene.world, 0, 0, -G);
    return scene;
}

static void suspension_sags(support_run *run)
{
    dBodyID wheel;
    support_scene scene = open_suspension(run, &wheel);
    steps(&scene, 400);
    support_report(run, 10 * dBodyGetPosition(wheel)[2]);
    support_scene_close(&scene);
}

static void suspension_sags_expected(support_run *run)
{
    support_report(run, -10 * 2 * G * STEP * SUSPENSION_CFM / SUSPENSION_ERP);
}

static void suspension_springs(support_run *run)
{
    dBodyID wheel;
    support_scene scene = open_suspension(run, &wheel);
    for (int i = 0; i < 30; i++) {
        support_scene_step(&scene);
        support_report(run, 10 * dBodyGetPosition(wheel)[2]);
    }
    support_scene_close(&scene);
}

// A spring k = ERP / (h CFM) and a damper c = (1 - ERP) / CFM
static void suspension_springs_expected(support_run *run)
{
    double k = SUSPENSION_ERP / (STEP * SUSPENSION_CFM), c = (1 - SUSPENSION_ERP) / SUSPENSION_CFM;
    double decay = c / 4, rate = sqrt(k / 2 - decay * decay);
    for (int i = 1; i <= 30; i++) {
        double t = i * STEP, swing = cos(rate * t) + decay / rate * sin(rate * t);
        support_report(run, -10 * 2 * G / k * (1 - exp(-decay * t) * swing));
    }
}

// ---- transmissions

static const double WHEEL = 0.05, TORQUE = 2; // kg m^2, N m

static dBodyID wheel_at(const support_scene *scene, const double at[3], int along)
{
    dMass mass;
    dVector3 axis = {0};
    dBodyID wheel = dBodyCreate(scene->world);
    dJointID hinge = dJointCreateHinge(scene->world, NULL);
    dMassSetSphereTotal(&mass, 2, sqrt(2.5 * WHEEL / 2));
    dBodySetMass(wheel, &mass);
    dBodySetPosition(wheel, at[0], at[1], at[2]);
    support_scene_add(scene, wheel);
    axis[along] = 1;
    dJointAttach(hinge, wheel, NULL);
    dJointSetHingeAnchor(hinge, at[0], at[1], at[2]);
    dJointSetHingeAxis(hinge, axis[0], axis[1], axis[2]);
    return wheel;
}

// Radii of 0.4 and 0.2 m. wheel[1] turns about its `along`.
static dJointID open_transmission(const support_scene *scene, int mode, dBodyID wheel[2])
{
    static const double second[][3] = {
        [dTransmissionParallelAxes] = {0.6, 0, 0},
        [dTransmissionIntersectingAxes] = {0.4, 0, 0.2},
        [dTransmissionChainDrive] = {0.8, 0, 0},
    };
    const double *at = second[mode], first[3] = {0};
    bool crossed = mode == dTransmissionIntersectingAxes;
    dJointID joint = dJointCreateTransmission(scene->world, NULL);
    wheel[0] = wheel_at(scene, first, 2);
    wheel[1] = wheel_at(scene, at, crossed ? 0 : 2);
    dJointAttach(joint, wheel[0], wheel[1]);
    dJointSetTransmissionMode(joint, mode);
    if (crossed) {
        dJointSetTransmissionAxis1(joint, 0, 0, 1);
        dJointSetTransmissionAxis2(joint, -1, 0, 0);
    } else {
        dJointSetTransmissionAxis(joint, 0, 0, 1);
    }
    dJointSetTransmissionAnchor1(joint, 0, 0, 0);
    dJointSetTransmissionAnchor2(joint, at[0], at[1], at[2]);
    if (mode == dTransmissionParallelAxes) {
        dJointSetTransmissionRatio(joint, 2);
    } else if (mode == dTransmissionChainDrive) {
        dJointSetTransmissionRadius1(joint, 0.4);
        dJointSetTransmissionRadius2(joint, 0.2);
    }
    return joint;
}

static const int modes[] = {dTransmissionParallelAxes, dTransmissionIntersectingAxes,
                            dTransmissionChainDrive};

static void transmission(support_run *run)
{
    for (int i = 0; i < 3; i++) {
        support_scene scene = support_scene_open(run, STEP);
        dBodyID wheel[2];
        dJointID joint = open_transmission(&scene, modes[i], wheel);
        for (int k = 0; k < 100; k++) {
            dBodyAddTorque(wheel[0], 0, 0, TORQUE);
            support_scene_step(&scene);
        }
        support_report(run, dBodyGetAngularVel(wheel[0])[2]);
        support_report(run, dBodyGetAngularVel(wheel[1])[modes[i] == modes[1] ? 0 : 2]);
        support_report(run, dJointGetTransmissionAngle1(joint));
        support_report(run, dJointGetTransmissionAngle2(joint));
        support_scene_close(&scene);
    }
}

// The angles are those of the start of the step, and against the axes.
static void transmission_expected(support_run *run)
{
    for (int i = 0; i < 3; i++) {
        double rate = TORQUE / (5 * WHEEL), angle = rate * STEP * STEP * 99 * 100 / 2;
        support_report(run, rate);
        support_report(run, modes[i] == dTransmissionParallelAxes ? -2 * rate : 2 * rate);
        support_report(run, -angle);
        support_report(run, modes[i] == dTransmissionChainDrive ? -2 * angle : 2 * angle);
    }
}

static void backlash(support_run *run)
{
    support_scene scene = support_scene_open(run, STEP);
    dBodyID wheel[2];
    dJointID joint = open_transmission(&scene, dTransmissionParallelAxes, wheel);
    dJointSetTransmissionBacklash(joint, 0.02);
    for (int k = 0; k < 60; k++) {
        dBodyAddTorque(wheel[0], 0, 0, k < 30 ? 1 : -1);
        support_scene_step(&scene);
        support_report(run, dBodyGetAngularVel(wheel[0])[2]);
        support_report(run, dBodyGetAngularVel(wheel[1])[2]);
    }
    support_scene_close(&scene);
}

// ---- while the world runs

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static void set_again(dJointID joint)
{
    const dReal d = 2e-3;
    switch (dJointGetType(joint)) {
    case dJointTypeBall:
        dJointSetBallAnchor2(joint, 0.2 + d, 0.1, 0.05);
        break;
    case dJointTypeHinge:
        dJointSetHingeAnchorDelta(joint, 0.2, 0.1, 0.05, d, 0, d);
        dJointSetHingeAxisOffset(joint, 0, 0.6, 0.8, 0.3);
        break;
    case dJointTypeSlider:
        dJointSetSliderAxisDelta(joint, 0.8, 0.6, 0, d, 0, 0);
        break;
    case dJointTypeUniversal:
        dJointSetUniversalAxis1Offset(joint, 0, 1, 0, 0.1, 0.2);
        dJointSetUniversalAxis2Offset(joint, 0, 0, 1, 0.1, 0.2);
        break;
    case dJointTypeHinge2:
        dJointSetHinge2Anchor(joint, 0.2, 0.1 + d, 0.05);
        dJointSetHinge2Axis1(joint, 0, 0.6, 0.8);
        dJointSetHinge2Axis2(joint, 0.8, 0.6, 0);
        break;
    case dJointTypePU:
        dJointSetPUAnchorDelta(joint, 0.2, 0.1, 0.05, d, d, 0);
        break;
    case dJointTypePiston:
        dJointSetPistonAxisDelta(joint, 0.6, 0, 0.8, d, 0, 0);
        dJointSetPistonAnchorOffset(joint, 0.2, 0.1, 0.05, d, 0, d);
        break;
    case dJointTypeDBall:
        dJointSetDBallDistance(joint, dJointGetDBallDistance(joint) + d);
        break;
    default:
        place_joint(joint);
    }
}

#pragma GCC diagnostic pop

static void report_set_again(support_run *run, const support_scene *scene, pair *p, int pieces)
{
    set_again(p->joint);
    report_first(run, scene, p, pieces);
}

static void placed_again(support_run *run)
{
    each_type(run, PAIR_AT_REST, 1, report_set_again);
}

// ---- joints with others

static dJointID hinge_at(dWorldID world, dBodyID a, dBodyID b, double x, double z)
{
    dJointID joint = dJointCreateHinge(world, NULL);
    dJointAttach(joint, a, b);
    dJointSetHingeAnchor(joint, x, 0, z);
    dJointSetHingeAxis(joint, 0, 1, 0);
    return joint;
}

// A parallelogram of three bars, 20 rows for 17 freedoms.
static void four_bars_sampled(support_run *run, int pieces)
{
    support_scene scene = support_scene_open(run, STEP / pieces);
    dBodyID bar[] = {held_body(&scene, 0.2, 0, 0.2), held_body(&scene, 0.9, 0, 0.4),
                     held_body(&scene, 1.2, 0, 0.2)};
    dJointID joint[] = {
        hinge_at(scene.world, bar[0], NULL, 0, 0), hinge_at(scene.world, bar[0], bar[1], 0.4, 0.4),
        hinge_at(scene.world, bar[1], bar[2], 1.4, 0.4), hinge_at(scene.world, bar[2], NULL, 1, 0)};
    double error = 0;
    dWorldSetGravity(scene.world, 0, 0, -G);
    for (int i = 0; i < 20 * pieces; i++) {
        support_scene_step(&scene);
        for (int k = 0; k < 4; k++) {
            error = fmax(error, joint_error(joint[k]));
        }
    }
    for (int i = 0; i < 3; i++) {
        support_report_body(run, bar[i]);
    }
    support_report_error(run, error);
    support_scene_close(&scene);
}
IN_TIME(four_bars)

// An arm without friction against a floor: half the weight on either end.
typedef struct floor_contact {
    dWorldID world;
    dJointGroupID group;
    dJointFeedback feedback;
} floor_contact;

static void touch_floor(void *data, dGeomID a, dGeomID b)
{
    floor_contact *on = data;
    dContact contact = {.surface.mode = dContactApprox1};
    if (dCollide(a, b, 1, &contact.geom, sizeof contact) == 1) {
        dJointID joint = dJointCreateContact(on->world, on->group, &contact);
        dJointAttach(joint, dGeomGetBody(a), dGeomGetBody(b));
        dJointSetFeedback(joint, &on->feedback);
    }
}

static void arm_on_floor(support_run *run)
{
    floor_contact on = {.world = support_world(run, NULL), .group = dJointGroupCreate(0)};
    dSpaceID space = dSimpleSpaceCreate(NULL);
    dGeomID tip = dCreateSphere(space, 0.1);
    dBodyID arm = support_body(on.world, 0.5, 0, 0.1);
    dJointFeedback feedback = {.f1 = {0}};
    dCreatePlane(space, 0, 0, 1, 0);
    dGeomSetBody(tip, arm);
    dGeomSetOffsetPosition(tip, 0.5, 0, 0);
    dJointSetFeedback(hinge_at(on.world, arm, NULL, 0, 0.1), &feedback);
    dWorldSetGravity(on.world, 0, 0, -G);
    for (int i = 0; i < 200; i++) {
        dSpaceCollide(space, &on, touch_floor);
        dWorldStep(on.world, STEP);
        dJointGroupEmpty(on.group);
    }
    support_report(run, feedback.f1[2]);
    support_report(run, fabs(on.feedback.f1[2]));
    support_report_vector(run, dBodyGetLinearVel(arm));
    dJointGroupDestroy(on.group);
    dSpaceDestroy(space);
    dWorldDestroy(on.world);
}

static void arm_on_floor_expected(support_run *run)
{
    static const double still[3];
    support_report(run, G);
    support_report(run, G);
    support_report_vector(run, still);
}

// Boxes that overlap where they are joined; the program makes no contact between them.
static void unless_joined(void *data, dGeomID a, dGeomID b)
{
    dContact contact = {.surface.mu = 1};
    dBodyID body[2] = {dGeomGetBody(a), dGeomGetBody(b)};
    bool joined = dAreConnected(body[0], body[1]) &&
                  dAreConnectedExcluding(body[0], body[1], dJointTypeContact);
    if (!joined && dCollide(a, b, 1, &contact.geom, sizeof contact) == 1) {
        floor_contact *on = data;
        dJointAttach(dJointCreateContact(on->world, on->group, &contact), body[0], body[1]);
    }
}

static void overlapping_sampled(support_run *run, int pieces)
{
    floor_contact on = {.world = support_world(run, NULL), .group = dJointGroupCreate(0)};
    dSpaceID space = dSimpleSpaceCreate(NULL);
    dBodyID link[] = {support_body(on.world, 0, 0, 0), support_body(on.world, 0.15, 0, 0),
                      support_body(on.world, 0.3, 0, 0.1)};
    for (int i = 0; i < 3; i++) {
        dGeomSetBody(dCreateBox(space, 0.2, 0.3, i < 2 ? 0.1 : 0.05), link[i]);
        dBodySetFiniteRotationMode(link[i], 1);
        hinge_at(on.world, link[i], i ? link[i - 1] : NULL, 0.15 * i - 0.05, 0);
    }
    dWorldSetGravity(on.world, 0, 0, -G);
    for (int i = 0; i < 15 * pieces; i++) {
        dSpaceCollide(space, &on, unless_joined);
        dWorldStep(on.world, STEP / pieces);
        dJointGroupEmpty(on.group);
    }
    for (int i = 0; i < 3; i++) {
        support_report_vector(run, dBodyGetPosition(link[i]));
        support_report_vector(run, dBodyGetLinearVel(link[i]));
        support_report_vector(run, dBodyGetAngularVel(link[i]));
    }
    dJointGroupDestroy(on.group);
    dSpaceDestroy(space);
    dWorldDestroy(on.world);
}
IN_TIME(overlapping)

// The first two are kinematic and part; the third hangs on them.
static void between_kinematic_sampled(support_run *run, int pieces)
{
    support_scene scene = support_scene_open(run, STEP / pieces);
    dBodyID body[] = {held_body(&scene, 0, 0, 0), held_body(&scene, 1, 0, 0),
                      held_body(&scene, 0.3, 0, 0)};
    dBodySetKinematic(body[0]);
    dBodySetKinematic(body[1]);
    hinge_at(scene.world, body[0], body[1], 0.5, 0);
    hinge_at(scene.world, body[0], NULL, 0, 0);
    hinge_at(scene.world, body[2], body[0], 0, 0);
    dBodySetLinearVel(body[1], 1, 2, 3);
    dWorldSetGravity(scene.world, 0, 0, -G);
    for (int i = 0; i < 20 * pieces; i++) {
        support_scene_step(&scene);
    }
    for (int i = 0; i < 3; i++) {
        support_report_body(run, body[i]);
    }
    support_scene_close(&scene);
}
IN_TIME(between_kinematic)

static void quickly(support_run *run)
{
    support_scene scene = support_scene_open(run, STEP);
    dBodyID link[6];
    dWorldSetGravity(scene.world, 0, 0, -G);
    for (int i = 0; i < 6; i++) {
        link[i] = held_body(&scene, 0.3 * i, 0, 0.1 * i);
        hinge_at(scene.world, link[i], i ? link[i - 1] : NULL, 0.3 * i - 0.15, 0.1 * i);
    }
    for (int i = 0; i < 20; i++) {
        dSpaceCollide(scene.space, NULL, unless_joined);
        dWorldQuickStep(scene.world, STEP);
    }
    for (int i = 0; i < 6; i++) {
        support_report_body(run, link[i]);
    }
    support_scene_close(&scene);
}

// By dWorldStep.
static void quickly_expected(support_run *run)
{
    run->method = "ode-step";
    quickly(run);
}

// A shoulder: a ball, and a motor in Euler's angles with speeds and stops.
static void shoulder(support_run *run)
{
    support_scene scene = support_scene_open(run, STEP);
    pair p;
    support_open_pair(&scene, &p, support_joint_kind(dJointTypeBall), PAIR_AT_REST);
    dJointID motor = dJointCreateAMotor(scene.world, NULL);
    dJointAttach(motor, p.body[0], p.body[1]);
    dJointSetAMotorMode(motor, dAMotorEuler);
    dJointSetAMotorAxis(motor, 0, 1, 1, 0, 0);
    dJointSetAMotorAxis(motor, 2, 2, 0, 0, 1);
    dJointSetAMotorMode(motor, dAMotorEuler);
    drive(motor, support_joint_kind(dJointTypeAMotor), PAIR_MOTORS | PAIR_STOPS);
    support_load_and_step(&scene, &p, 30, 1);
    support_report_pair(run, &p);
    for (int i = 0; i < 3; i++) {
        support_report(run, dJointGetAMotorAngle(motor, i));
        support_report(run, dJointGetAMotorAngleRate(motor, i));
    }
    support_scene_close(&scene);
}

#define LEFT AS_STRIBECK("joints")

const support_row support_joint_uses[] = {
    {"motors and stops of swinging bodies",
     all_at_once,
     NULL,
     {AS_STOCK,
      NEAR_SAYING(0.005, "in continuous time; AMotors as `stribeck`, with a message", "joints"),
      NEAR(2e-4, CIRCLES)}},
    {"a ball with an AMotor in Euler's angles",
     shoulder,
     NULL,
     {AS_STOCK, LEFT, NEAR(1e-5, CIRCLES)}},
    {"hinge2's suspension, at rest",
     suspension_sags,
     suspension_sags_expected,
     {EXACT, EXACT, EXACT}},
    {"hinge2's suspension, springing",
     suspension_springs,
     suspension_springs_expected,
     {AS_STOCK, EXACT, AS_STOCK}},
    {"transmission: gears, bevel gears, chain",
     transmission,
     transmission_expected,
     {EXACT, LEFT, EXACT}},
    {"transmission, backlash", backlash, NULL, {AS_STOCK, LEFT, AS_STOCK}},
    {"on a kinematic body that moves", carried, carried_in_time, {AS_STOCK, EXACT, FLYING(0.01)}},
    {"between kinematic bodies",
     between_kinematic,
     between_kinematic_in_time,
     {AS_STOCK, EXACT, NEARER(0.003, CIRCLES)}},
    {"to a disabled body", asleep, asleep_in_time, {AS_STOCK, EXACT, FLYING(0.006)}},
    {"four bars in a loop, more rows than needed",
     four_bars,
     four_bars_in_time,
     {NEAR(5e-3, "as stock, held in the middle between anchors"), EXACT, NEARER(0.003, CIRCLES)}},
    {"geoms that overlap where they are joined, without contact",
     overlapping,
     overlapping_in_time,
     {AS_STOCK, CONTINUOUS, NEARER(0.002, CIRCLES)}},
    {"under `dWorldQuickStep`, as `dWorldStep`",
     quickly,
     quickly_expected,
     {EXACT, NEAR(0.004, "in continuous time"), NEAR(0.004, CIRCLES)}},
    {"an arm that rests on a floor",
     arm_on_floor,
     arm_on_floor_expected,
     {NEAR(1e-8, "sweeps"), EXACT, EXACT}},
    {"velocities that the joint does not allow",
     thrown,
     thrown_in_time,
     {AS_STOCK, EXACT, FLYING(0.007)}},
    {"errors at the start, mended",
     errors_mended,
     NULL,
     {AS_STOCK, AS_IT_GOES(0.008), FLYING(0.008)}},
    {"anchors and offsets set again",
     placed_again,
     NULL,
     {AS_STOCK, AS_IT_GOES(0.006), FLYING(0.006)}},
    {"ERP and CFM of a joint", own_softness, own_softness_expected, {EXACT, EXACT, EXACT}},
    {"ERP and CFM of the world, changed",
     world_softness,
     NULL,
     {AS_STOCK, NEAR(0.003, "in continuous time"), NEAR(0.001, CIRCLES)}},
    {0},
};
