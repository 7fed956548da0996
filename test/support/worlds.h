// Small ODE worlds that several tests share: a body or two on one joint of every type.
#ifndef SPRAG_WORLDS_H
#define SPRAG_WORLDS_H

#include <math.h>
#include <string.h>

#include <ode/ode.h>

#include "island.h"

// Every joint type but the contact, with the class that getInfo1 and getInfo2 belong to.
typedef struct joint_kind {
    int type;
    const char *class;
    int motors; // with limits: groups of parameters
} joint_kind;

static const joint_kind joint_kinds[] = {
    {dJointTypeBall, "11dxJointBall", 0},     {dJointTypeHinge, "12dxJointHinge", 1},
    {dJointTypeSlider, "13dxJointSlider", 1}, {dJointTypeUniversal, "16dxJointUniversal", 2},
    {dJointTypeHinge2, "13dxJointHinge2", 2}, {dJointTypeFixed, "12dxJointFixed", 0},
    {dJointTypeNull, "11dxJointNull", 0},     {dJointTypeAMotor, "13dxJointAMotor", 3},
    {dJointTypeLMotor, "13dxJointLMotor", 3}, {dJointTypePlane2D, "14dxJointPlane2D", 3},
    {dJointTypePR, "9dxJointPR", 2},          {dJointTypePU, "9dxJointPU", 3},
    {dJointTypePiston, "13dxJointPiston", 2}, {dJointTypeDBall, "12dxJointDBall", 0},
    {dJointTypeDHinge, "13dxJointDHinge", 0}, {dJointTypeTransmission, "19dxJointTransmission", 0},
};

enum { JOINT_KINDS = sizeof joint_kinds / sizeof joint_kinds[0] };

// Properties of the joint; bits.
enum {
    PAIR_PLAIN = 0,
    PAIR_TO_WORLD = 1, // attached as (body, 0)
    PAIR_REVERSED = 2, // attached as (0, body)
    PAIR_MOTORS = 4,
    PAIR_STOPS = 8,   // at the stops
    PAIR_MOVED = 16,  // since the joint was set, so that there is an error to mend
    PAIR_SKEWED = 32, // bodies turned, before the joint was set
    PAIR_AT_REST = 64,
    PAIR_KINEMATIC = 128, // the first body is, and moves on
};

typedef struct pair {
    dWorldID world;
    dBodyID body[2]; // [1] NULL if the joint is to the world
    dJointID joint;
    dJointFeedback feedback;
} pair;

static inline void set_parameter(dJointID joint, int parameter, dReal value)
{
    switch (dJointGetType(joint)) {
    case dJointTypeHinge:
        dJointSetHingeParam(joint, parameter, value);
        break;
    case dJointTypeSlider:
        dJointSetSliderParam(joint, parameter, value);
        break;
    case dJointTypeUniversal:
        dJointSetUniversalParam(joint, parameter, value);
        break;
    case dJointTypeHinge2:
        dJointSetHinge2Param(joint, parameter, value);
        break;
    case dJointTypeAMotor:
        dJointSetAMotorParam(joint, parameter, value);
        break;
    case dJointTypeLMotor:
        dJointSetLMotorParam(joint, parameter, value);
        break;
    case dJointTypePR:
        dJointSetPRParam(joint, parameter, value);
        break;
    case dJointTypePU:
        dJointSetPUParam(joint, parameter, value);
        break;
    case dJointTypePiston:
        dJointSetPistonParam(joint, parameter, value);
        break;
    case dJointTypePlane2D:
        switch (parameter / dParamGroup) {
        case 0:
            dJointSetPlane2DXParam(joint, parameter % dParamGroup, value);
            break;
        case 1:
            dJointSetPlane2DYParam(joint, parameter % dParamGroup, value);
            break;
        default:
            dJointSetPlane2DAngleParam(joint, parameter % dParamGroup, value);
            break;
        }
        break;
    default:
        break;
    }
}

static inline dJointID create_joint(dWorldID world, int type)
{
    switch (type) {
    case dJointTypeBall:
        return dJointCreateBall(world, 0);
    case dJointTypeHinge:
        return dJointCreateHinge(world, 0);
    case dJointTypeSlider:
        return dJointCreateSlider(world, 0);
    case dJointTypeUniversal:
        return dJointCreateUniversal(world, 0);
    case dJointTypeHinge2:
        return dJointCreateHinge2(world, 0);
    case dJointTypeFixed:
        return dJointCreateFixed(world, 0);
    case dJointTypeNull:
        return dJointCreateNull(world, 0);
    case dJointTypeAMotor:
        return dJointCreateAMotor(world, 0);
    case dJointTypeLMotor:
        return dJointCreateLMotor(world, 0);
    case dJointTypePlane2D:
        return dJointCreatePlane2D(world, 0);
    case dJointTypePR:
        return dJointCreatePR(world, 0);
    case dJointTypePU:
        return dJointCreatePU(world, 0);
    case dJointTypePiston:
        return dJointCreatePiston(world, 0);
    case dJointTypeDBall:
        return dJointCreateDBall(world, 0);
    case dJointTypeDHinge:
        return dJointCreateDHinge(world, 0);
    case dJointTypeTransmission:
        return dJointCreateTransmission(world, 0);
    default:
        return NULL;
    }
}

// Anchors halfway between the bodies, axes along x, y and z as far as the type has them.
static inline void place_joint(dJointID joint)
{
    const dReal ax = 0.2, ay = 0.1, az = 0.05;
    dVector3 x = {1, 0, 0}, z = {0, 0, 1};
    switch (dJointGetType(joint)) {
    case dJointTypeBall:
        dJointSetBallAnchor(joint, ax, ay, az);
        break;
    case dJointTypeHinge:
        dJointSetHingeAnchor(joint, ax, ay, az);
        dJointSetHingeAxis(joint, 0, 0.6, 0.8);
        break;
    case dJointTypeSlider:
        dJointSetSliderAxis(joint, 0.8, 0.6, 0);
        break;
    case dJointTypeUniversal:
        dJointSetUniversalAnchor(joint, ax, ay, az);
        dJointSetUniversalAxis2(joint, 0, 0, 1);
        dJointSetUniversalAxis1(joint, 0, 1, 0);
        break;
    case dJointTypeHinge2:
        dJointSetHinge2Anchor(joint, ax, ay, az);
        dJointSetHinge2Axes(joint, z, x);
        dJointSetHinge2Param(joint, dParamSuspensionERP, 0.4);
        dJointSetHinge2Param(joint, dParamSuspensionCFM, 1e-3);
        break;
    case dJointTypeFixed:
        dJointSetFixed(joint);
        break;
    case dJointTypeAMotor:
        dJointSetAMotorMode(joint, dAMotorUser);
        dJointSetAMotorNumAxes(joint, 3);
        dJointSetAMotorAxis(joint, 0, 0, 1, 0, 0);
        dJointSetAMotorAxis(joint, 1, 1, 0, 1, 0);
        dJointSetAMotorAxis(joint, 2, dJointGetBody(joint, 1) ? 2 : 0, 0, 0, 1);
        break;
    case dJointTypeLMotor:
        dJointSetLMotorNumAxes(joint, 3);
        dJointSetLMotorAxis(joint, 0, 0, 1, 0, 0);
        dJointSetLMotorAxis(joint, 1, 1, 0, 1, 0);
        dJointSetLMotorAxis(joint, 2, dJointGetBody(joint, 1) ? 2 : 0, 0, 0, 1);
        break;
    case dJointTypePR:
        dJointSetPRAnchor(joint, ax, ay, az);
        dJointSetPRAxis1(joint, 1, 0, 0);
        dJointSetPRAxis2(joint, 0, 0, 1);
        break;
    case dJointTypePU:
        dJointSetPUAnchor(joint, ax, ay, az);
        dJointSetPUAxis2(joint, 0, 0, 1);
        dJointSetPUAxis1(joint, 0, 1, 0);
        dJointSetPUAxis3(joint, 1, 0, 0);
        break;
    case dJointTypePiston:
        dJointSetPistonAnchor(joint, ax, ay, az);
        dJointSetPistonAxis(joint, 0, 0, 1);
        break;
    case dJointTypeDBall:
        dJointSetDBallAnchor1(joint, 0.1, 0, 0);
        dJointSetDBallAnchor2(joint, 0.3, 0.2, 0.1);
        break;
    case dJointTypeDHinge:
        dJointSetDHingeAxis(joint, 0, 0, 1);
        dJointSetDHingeAnchor1(joint, 0.1, 0, 0);
        dJointSetDHingeAnchor2(joint, 0.3, 0.2, 0.0);
        break;
    case dJointTypeTransmission:
        dJointSetTransmissionMode(joint, dTransmissionParallelAxes);
        dJointSetTransmissionAxis(joint, 0, 0, 1);
        dJointSetTransmissionAnchor1(joint, 0, 0, 0);
        dJointSetTransmissionAnchor2(joint, 0.4, 0.2, 0);
        dJointSetTransmissionRatio(joint, 2);
        break;
    default:
        break;
    }
}

static inline dBodyID create_body(dWorldID world, double mass, double x, double y, double z)
{
    dMass m;
    dBodyID body = dBodyCreate(world);
    dMassSetBoxTotal(&m, mass, 0.3, 0.4, 0.2);
    dBodySetMass(body, &m);
    dBodySetPosition(body, x, y, z);
    return body;
}

// A point of the body touches what stands still.
static inline void touch_at_body(dWorldID world, dJointGroupID group, dBodyID body,
                                 dSurfaceParameters surface)
{
    dContact c;
    memset(&c, 0, sizeof c);
    c.surface = surface;
    c.geom.normal[2] = 1;
    c.geom.depth = 1e-3;
    dBodyCopyPosition(body, c.geom.pos);
    dJointAttach(dJointCreateContact(world, group, &c), body, 0);
}

// A surface that moves at 1e200 m/s: no solver of ours takes it.
static inline void touch_impossibly(dWorldID world, dJointGroupID group, dBodyID body)
{
    const dSurfaceParameters fast = {.mu = dInfinity,
                                     .mode = dContactMotionN | dContactMotion1,
                                     .motionN = 1e200,
                                     .motion1 = 1e200};
    touch_at_body(world, group, body, fast);
}

static inline void drive(dJointID joint, const joint_kind *kind, int like)
{
    for (int k = 0; k < kind->motors; k++) {
        int group = k * dParamGroup;
        if (like & PAIR_MOTORS) {
            set_parameter(joint, group + dParamFMax, 3);
            set_parameter(joint, group + dParamVel, k % 2 ? -0.7 : 0.5);
        }
        if (like & PAIR_STOPS) {
            set_parameter(joint, group + dParamHiStop, 0.5);
            set_parameter(joint, group + dParamLoStop, 0.01);
            set_parameter(joint, group + dParamBounce, 0.1);
        }
    }
}

// Plane2D and the transmission are made for a body and the world and for two bodies.
static inline int kind_can_be(const joint_kind *kind, int like)
{
    int to_world = like & (PAIR_TO_WORLD | PAIR_REVERSED);
    return kind->type == dJointTypePlane2D
               ? like & PAIR_TO_WORLD
               : !(to_world && (kind->type == dJointTypeTransmission ||
                                kind->type == dJointTypeHinge2 || kind->type == dJointTypeNull));
}

static inline void join_pair(pair *p, const joint_kind *kind, int like)
{
    p->joint = create_joint(p->world, kind->type);
    if (like & PAIR_REVERSED) {
        dJointAttach(p->joint, NULL, p->body[0]);
    } else {
        dJointAttach(p->joint, p->body[0], p->body[1]);
    }
    place_joint(p->joint);
    drive(p->joint, kind, like);
}

static inline void move_pair(pair *p, int like)
{
    dMatrix3 turn, more, now;
    for (int i = 0; i < 2 && p->body[i]; i++) {
        if (like & PAIR_MOVED) {
            const dReal *x = dBodyGetPosition(p->body[i]), *R = dBodyGetRotation(p->body[i]);
            dBodySetPosition(p->body[i], x[0] + 2e-3 * i, x[1] - 1e-3, x[2] + 1e-3 * (2 - i));
            dRFromAxisAndAngle(turn, i, 1, 1, 4e-3);
            memcpy(now, R, sizeof now);
            dMultiply0_333(more, turn, now);
            dBodySetRotation(p->body[i], more);
        }
        if (!(like & PAIR_AT_REST)) {
            dBodySetLinearVel(p->body[i], 0.1 + i, -0.2, 0.3 * i);
            dBodySetAngularVel(p->body[i], 0.5, 0.4 - i, 0.3 + i);
        }
    }
}

static inline void load_pair(pair *p)
{
    dBodyAddForce(p->body[0], 0.3, -0.4, 0.5);
    dBodyAddTorque(p->body[0], 0.01, 0.02, -0.03);
}

// In the world that it has.
static inline void make_pair(pair *p, const joint_kind *kind, int like)
{
    int to_world = like & (PAIR_TO_WORLD | PAIR_REVERSED);
    dMatrix3 turn;
    dWorldSetGravity(p->world, 0, 0.5, -9.81);
    p->body[0] = create_body(p->world, 1.5, 0, 0, 0);
    p->body[1] = to_world ? NULL : create_body(p->world, 0.7, 0.4, 0.2, 0.1);
    for (int i = 0; i < 2 && p->body[i] && like & PAIR_SKEWED; i++) {
        dRFromAxisAndAngle(turn, 1, 2 - i, 3 * i - 1, 0.4 + i);
        dBodySetRotation(p->body[i], turn);
    }
    if (like & PAIR_KINEMATIC) {
        dBodySetKinematic(p->body[0]);
    }
    join_pair(p, kind, like);
    move_pair(p, like);
    load_pair(p);
}

static inline void open_pair(pair *p, const joint_kind *kind, int like)
{
    *p = (pair){.world = dWorldCreate()};
    make_pair(p, kind, like);
}

// With feedback; the pair must stay where it is.
static inline void ask_feedback(pair *p)
{
    memset(&p->feedback, 0, sizeof p->feedback);
    dJointSetFeedback(p->joint, &p->feedback);
}

static inline void close_pair(pair *p)
{
    dWorldDestroy(p->world);
}

// Largest error of an equation of the joint (m, rad): what getInfo2 asks to be mended within 1 s.
// Only for a world that has been stepped.
static inline double joint_error(dJointID joint)
{
    enum { ROWS = 6 };
    dReal J[2][6 * ROWS] = {{0}}, rhs_cfm[2 * ROWS] = {0}, bound[2 * ROWS];
    int findex[ROWS] = {0};
    double force[2][6], error = 0;
    dBodyID body[2] = {dJointGetBody(joint, 0), dJointGetBody(joint, 1)};
    for (int i = 0; i < 2 && body[i]; i++) { // a powered motor at its stop adds to them
        memcpy(force[i], dBodyGetForce(body[i]), sizeof(double[3]));
        memcpy(force[i] + 3, dBodyGetTorque(body[i]), sizeof(double[3]));
    }
    for (int k = 0; k < ROWS; k++) {
        bound[2 * k] = -dInfinity;
        bound[2 * k + 1] = dInfinity;
    }
    int rows = sprag_ode_count_rows(joint).rows;
    if (rows) {
        const ode_rows to_fill = {rows, J[0], J[1], rhs_cfm, bound, findex};
        sprag_ode_get_rows(joint, 1, 1, &to_fill);
    }
    for (int k = 0; k < rows; k++) {
        if (bound[2 * k] == -dInfinity && bound[2 * k + 1] == dInfinity) {
            error = fmax(error, fabs(rhs_cfm[2 * k]));
        }
    }
    for (int i = 0; i < 2 && body[i]; i++) {
        dBodySetForce(body[i], force[i][0], force[i][1], force[i][2]);
        dBodySetTorque(body[i], force[i][3], force[i][4], force[i][5]);
    }
    return error;
}

// ---- states

typedef struct body_state {
    double x[3], q[4], v[6];
} body_state;

static inline body_state state_of(dBodyID body)
{
    body_state s;
    memcpy(s.x, dBodyGetPosition(body), sizeof s.x);
    memcpy(s.q, dBodyGetQuaternion(body), sizeof s.q);
    memcpy(s.v, dBodyGetLinearVel(body), sizeof(double[3]));
    memcpy(s.v + 3, dBodyGetAngularVel(body), sizeof(double[3]));
    return s;
}

static inline int state_is_finite(const body_state *s)
{
    double sum = 0;
    for (int k = 0; k < 3; k++) {
        sum += 0 * s->x[k] + 0 * s->v[k] + 0 * s->v[k + 3] + 0 * s->q[k];
    }
    return sum + 0 * s->q[3] == 0;
}

#endif
