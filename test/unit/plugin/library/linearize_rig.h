// A world with bodies, and the comparison of sprag_world_linearize with central differences of
// whole steps of it, with collision.
#ifndef TEST_LINEARIZE_RIG_H
#define TEST_LINEARIZE_RIG_H

#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "join_contacts.h"
#include "sprag.h"

enum { STATES = 12, MOST = 13 };

static const double H = 0.01; // s

typedef struct rig {
    dWorldID world;
    dSpaceID space;
    dJointGroupID group;
    dSurfaceParameters surface;
    dBodyID body[MOST];
    int bodies;
    double force[MOST][6];    // N, N m, in every step
    double change;            // m, rad, m/s, rad/s, N, N m: of the differences
    struct rig (*make)(void); // again, with the loads of its last steps; NULL: there are none
} rig;

static inline rig open_rig(const char *options)
{
    rig s = {.world = dWorldCreate(),
             .space = dSimpleSpaceCreate(NULL),
             .group = dJointGroupCreate(0),
             .surface = {.mode = dContactApprox1, .mu = 0.5},
             .change = 1e-6};
    dWorldSetGravity(s.world, 0.3, -0.2, -9.81);
    ck_assert(sprag_world_configure(s.world, "method=stribeck,effort=exact"));
    ck_assert(sprag_world_configure(s.world, "stribeck.tolerance=1e-12"));
    ck_assert(sprag_world_configure(s.world, options));
    return s;
}

static inline void close_rig(rig *s)
{
    dJointGroupDestroy(s->group);
    dSpaceDestroy(s->space);
    dWorldDestroy(s->world);
}

static inline dBodyID add_box(rig *s, bool shape, double mass, double x, double y, double z)
{
    dMass m;
    dBodyID body = s->body[s->bodies++] = dBodyCreate(s->world);
    dMassSetBoxTotal(&m, mass, 0.4, 0.3, 0.2);
    dBodySetMass(body, &m);
    if (shape) {
        dGeomSetBody(dCreateBox(s->space, 0.4, 0.3, 0.2), body);
    }
    dBodySetPosition(body, x, y, z);
    return body;
}

static inline void touch(void *data, dGeomID a, dGeomID b)
{
    const rig *s = data;
    dBodyID of_a = dGeomGetBody(a), of_b = dGeomGetBody(b);
    if (!of_a || !of_b || !dAreConnected(of_a, of_b)) {
        join_contacts(s->world, s->group, a, b, 8, s->surface, NULL);
    }
}

static inline void prepare(rig *s)
{
    dJointGroupEmpty(s->group);
    dSpaceCollide(s->space, s, touch);
    for (int i = 0; i < s->bodies; i++) {
        dBodySetForce(s->body[i], s->force[i][0], s->force[i][1], s->force[i][2]);
        dBodySetTorque(s->body[i], s->force[i][3], s->force[i][4], s->force[i][5]);
    }
}

static inline void run(rig *s, int steps)
{
    for (int k = 0; k < steps; k++) {
        prepare(s);
        ck_assert(dWorldStep(s->world, H));
    }
}

typedef struct pose {
    dReal at[3];
    dQuaternion q;
    double v[6];
} pose;

static inline void read_poses(const rig *s, pose *to)
{
    for (int i = 0; i < s->bodies; i++) {
        memcpy(to[i].at, dBodyGetPosition(s->body[i]), sizeof to[i].at);
        memcpy(to[i].q, dBodyGetQuaternion(s->body[i]), sizeof to[i].q);
        memcpy(to[i].v, dBodyGetLinearVel(s->body[i]), 3 * sizeof(dReal));
        memcpy(to[i].v + 3, dBodyGetAngularVel(s->body[i]), 3 * sizeof(dReal));
    }
}

// The state `from`, with one entry of a body's state changed.
static inline void set_poses(const rig *s, const pose *from, int body, int state, double change)
{
    for (int i = 0; i < s->bodies; i++) {
        double d[STATES] = {0};
        dQuaternion q, turn;
        d[state] = i == body ? change : 0;
        turn[0] = cos(change / 2);
        for (int k = 0; k < 3; k++) {
            turn[1 + k] = d[3 + k] != 0 ? sin(change / 2) : 0;
        }
        turn[0] = turn[1] == 0 && turn[2] == 0 && turn[3] == 0 ? 1 : turn[0];
        dQMultiply0(q, turn, from[i].q);
        dBodySetPosition(s->body[i], from[i].at[0] + d[0], from[i].at[1] + d[1],
                         from[i].at[2] + d[2]);
        dBodySetQuaternion(s->body[i], q);
        dBodySetLinearVel(s->body[i], from[i].v[0] + d[6], from[i].v[1] + d[7],
                          from[i].v[2] + d[8]);
        dBodySetAngularVel(s->body[i], from[i].v[3] + d[9], from[i].v[4] + d[10],
                           from[i].v[5] + d[11]);
    }
}

// The difference of two states, per `change`.
static inline void quotient(const pose *plus, const pose *minus, double change, double out[STATES])
{
    dQuaternion turn;
    dQMultiply2(turn, plus->q, minus->q); // plus times minus inverse
    double sign = turn[0] < 0 ? -1 : 1;
    for (int k = 0; k < 3; k++) {
        out[k] = (plus->at[k] - minus->at[k]) / change;
        out[3 + k] = 2 * sign * turn[1 + k] / change;
    }
    for (int k = 0; k < 6; k++) {
        out[6 + k] = (plus->v[k] - minus->v[k]) / change;
    }
}

// Compares all entries. Gains: of a force, a step times the inverse mass.
static inline void compare_with_differences(rig *s, double tolerance)
{
    const double change = s->change;
    int n = s->bodies, rows = STATES * n;
    pose before[MOST], start[MOST], end[2][MOST];
    double *A = calloc((size_t)(rows * rows), sizeof *A),
           *B = calloc((size_t)(rows * 6 * n), sizeof *B);
    read_poses(s, before);
    run(s, 1);
    read_poses(s, start);
    prepare(s);
    ck_assert_msg(sprag_world_linearize(s->world, H, s->body, n, A, B), "%s", sprag_error());
    read_poses(s, end[0]);
    ck_assert_mem_eq(start, end[0], (size_t)n * sizeof *start);
    double worst = 0;
    for (int column = 0; column < rows + 6 * n; column++) {
        bool force = column >= rows;
        int body = force ? (column - rows) / 6 : column / STATES,
            state = force ? (column - rows) % 6 : column % STATES;
        for (int side = 0; side < 2; side++) {
            double by = side ? -change : change;
            rig t = s->make ? s->make() : *s;
            set_poses(&t, before, 0, 0, 0); // a step starts from the forces of the last one
            run(&t, 1);
            set_poses(&t, start, body, force ? 0 : state, force ? 0 : by);
            t.force[body][state % 6] += force ? by : 0;
            prepare(&t);
            ck_assert(dWorldStep(t.world, H));
            read_poses(&t, end[side]);
            if (s->make) {
                close_rig(&t);
            }
        }
        for (int i = 0; i < n; i++) {
            double expected[STATES];
            quotient(&end[0][i], &end[1][i], 2 * change, expected);
            for (int k = 0; k < STATES; k++) {
                int row = STATES * i + k;
                double ours = force ? B[row * 6 * n + column - rows] : A[row * rows + column];
                worst = fmax(worst, fabs(ours - expected[k]));
                ck_assert_msg(fabs(ours - expected[k]) <= tolerance * fmax(1, fabs(expected[k])),
                              "%s: body %d entry %d by body %d entry %d: %g, by differences %g",
                              force ? "B" : "A", i, k, body, state, ours, expected[k]);
            }
        }
    }
    set_poses(s, start, 0, 0, 0);
    free(A);
    free(B);
}

static inline void set_motion(dBodyID body, double x, double y, double z, double wx, double wy,
                              double wz)
{
    dBodySetLinearVel(body, x, y, z);
    dBodySetAngularVel(body, wx, wy, wz);
}

static inline dJointID add_joint(rig *s, int type, dBodyID a, dBodyID b)
{
    dJointID joint = NULL;
    switch (type) {
    case dJointTypeBall:
        joint = dJointCreateBall(s->world, 0);
        dJointAttach(joint, a, b);
        dJointSetBallAnchor(joint, 0.1, 0.2, 2);
        break;
    case dJointTypeHinge:
        joint = dJointCreateHinge(s->world, 0);
        dJointAttach(joint, a, b);
        dJointSetHingeAnchor(joint, 0.1, 0.2, 2);
        dJointSetHingeAxis(joint, 0.3, 1, 0.2);
        dJointSetHingeParam(joint, dParamVel, 0.5);
        dJointSetHingeParam(joint, dParamFMax, 3);
        break;
    case dJointTypeSlider:
        joint = dJointCreateSlider(s->world, 0);
        dJointAttach(joint, a, b);
        dJointSetSliderAxis(joint, 0.3, 1, 0.2);
        dJointSetSliderParam(joint, dParamVel, 0.5);
        dJointSetSliderParam(joint, dParamFMax, 3);
        break;
    case dJointTypeUniversal:
        joint = dJointCreateUniversal(s->world, 0);
        dJointAttach(joint, a, b);
        dJointSetUniversalAnchor(joint, 0.1, 0.2, 2);
        dJointSetUniversalAxis1(joint, 0, 1, 0.1);
        dJointSetUniversalAxis2(joint, 1, 0, 0);
        dJointSetUniversalParam(joint, dParamVel2, 0.5);
        dJointSetUniversalParam(joint, dParamFMax2, 3);
        break;
    case dJointTypeHinge2:
        joint = dJointCreateHinge2(s->world, 0);
        dJointAttach(joint, a, b);
        dJointSetHinge2Anchor(joint, 0.1, 0.2, 2);
        dJointSetHinge2Axes(joint, (const dVector3){0, 0.1, 1}, (const dVector3){0.3, 1, 0});
        dJointSetHinge2Param(joint, dParamVel2, 0.5);
        dJointSetHinge2Param(joint, dParamFMax2, 3);
        dJointSetHinge2Param(joint, dParamSuspensionERP, 0.4);
        dJointSetHinge2Param(joint, dParamSuspensionCFM, 1e-3);
        break;
    case dJointTypePR:
        joint = dJointCreatePR(s->world, 0);
        dJointAttach(joint, a, b);
        dJointSetPRAnchor(joint, 0.1, 0.2, 2);
        dJointSetPRAxis1(joint, 0.3, 1, 0.2);
        dJointSetPRAxis2(joint, 1, -0.3, 0);
        break;
    case dJointTypePU:
        joint = dJointCreatePU(s->world, 0);
        dJointAttach(joint, a, b);
        dJointSetPUAnchor(joint, 0.1, 0.2, 2);
        dJointSetPUAxis1(joint, 0, 1, 0.1);
        dJointSetPUAxis2(joint, 1, 0, 0);
        dJointSetPUAxisP(joint, 0, 0, 1);
        break;
    case dJointTypePiston:
        joint = dJointCreatePiston(s->world, 0);
        dJointAttach(joint, a, b);
        dJointSetPistonAnchor(joint, 0.1, 0.2, 2);
        dJointSetPistonAxis(joint, 0.3, 1, 0.2);
        break;
    case dJointTypeAMotor:
        joint = dJointCreateAMotor(s->world, 0);
        dJointAttach(joint, a, b);
        dJointSetAMotorNumAxes(joint, 1);
        dJointSetAMotorAxis(joint, 0, 1, 0.3, 1, 0.2);
        dJointSetAMotorParam(joint, dParamVel, 0.5);
        dJointSetAMotorParam(joint, dParamFMax, 3);
        break;
    case dJointTypeLMotor:
        joint = dJointCreateLMotor(s->world, 0);
        dJointAttach(joint, a, b);
        dJointSetLMotorNumAxes(joint, 1);
        dJointSetLMotorAxis(joint, 0, 1, 0.3, 1, 0.2);
        dJointSetLMotorParam(joint, dParamVel, 0.5);
        dJointSetLMotorParam(joint, dParamFMax, 3);
        break;
    case dJointTypeDBall:
        joint = dJointCreateDBall(s->world, 0);
        dJointAttach(joint, a, b);
        dJointSetDBallAnchor1(joint, 0.1, 0.2, 2);
        dJointSetDBallAnchor2(joint, 0.3, 0.3, 1.8);
        break;
    case dJointTypeDHinge:
        joint = dJointCreateDHinge(s->world, 0);
        dJointAttach(joint, a, b);
        dJointSetDHingeAxis(joint, 0, 1, 0);
        dJointSetDHingeAnchor1(joint, 0.1, 0.2, 2);
        dJointSetDHingeAnchor2(joint, 0.3, 0.2, 1.8);
        break;
    default:
        joint = dJointCreateFixed(s->world, 0);
        dJointAttach(joint, a, b);
        dJointSetFixed(joint);
        dJointSetFixedParam(joint, dParamERP, 0.3);
    }
    return joint;
}

#endif
