// method=ess: rows of every joint type within a step. Joints do no work and hold, whichever way
// round they are attached, and stops that bounce return all energy.
#include "body_motion.h"
#include "ess_runs.h"
#include "program_world.h"
#include "start.h"

enum { TYPES = 6, WAYS = 3 }; // two bodies; a body and the world; the world and a body

static const double STEP = 0.01;

static dJointID make_joint(dWorldID world, int type, dBodyID first, dBodyID second)
{
    dJointID (*make[TYPES])(dWorldID, dJointGroupID) = {dJointCreateBall,      dJointCreateHinge,
                                                        dJointCreateSlider,    dJointCreateFixed,
                                                        dJointCreateUniversal, dJointCreateHinge2};
    dJointID joint = make[type](world, 0);
    dJointAttach(joint, first, second);
    switch (type) {
    case 0:
        dJointSetBallAnchor(joint, 0.1, 0.2, -0.1);
        break;
    case 1:
        dJointSetHingeAnchor(joint, 0.1, 0.2, -0.1);
        dJointSetHingeAxis(joint, 0.6, 0, 0.8);
        break;
    case 2:
        dJointSetSliderAxis(joint, 0.6, 0, 0.8);
        break;
    case 3:
        dJointSetFixed(joint);
        break;
    case 4:
        dJointSetUniversalAnchor(joint, 0.1, 0.2, -0.1);
        dJointSetUniversalAxis1(joint, 0.6, 0, 0.8);
        dJointSetUniversalAxis2(joint, 0, 1, 0);
        break;
    default:
        dJointSetHinge2Anchor(joint, 0.1, 0.2, -0.1);
        dJointSetHinge2Axes(joint, (dVector3){0.6, 0, 0.8}, (dVector3){0, 0.8, 0.6});
        dJointSetHinge2Param(joint, dParamSuspensionERP, 0.2);
        dJointSetHinge2Param(joint, dParamSuspensionCFM, 0);
    }
    return joint;
}

static void set_stops(dJointID joint, int type)
{
    void (*set[TYPES])(dJointID, int, dReal) = {NULL, dJointSetHingeParam,     dJointSetSliderParam,
                                                NULL, dJointSetUniversalParam, NULL};
    static const int parameter[] = {dParamLoStop, dParamHiStop, dParamBounce};
    static const double value[] = {-0.25, 0.25, 1};
    for (int k = 0; k < 3; k++) {
        set[type](joint, parameter[k], value[k]);
        if (type == 4) {
            set[type](joint, parameter[k] + dParamGroup, value[k]);
        }
    }
}

// Two bodies of unlike axes that a joint holds, in motion. Way 0: its anchors move.
static yielding *open_pair(int type, int way, dJointID *joint)
{
    yielding *y = yielding_open("method=ess,ess.tolerance=1e-10", (material){.bounce = -1}, STEP);
    dWorldSetCFM(y->world, 0);
    dMass mass;
    for (int i = 0; i < (way == 0 ? 2 : 1); i++) {
        dMassSetBoxTotal(&mass, 1 + i, 0.3, 0.5 - 0.3 * i, 0.1);
        dBodyID body = yielding_body(y, &mass, NULL, 0.3 * i, 0.1, 0.2 * i);
        dMatrix3 R;
        dRFromAxisAndAngle(R, 1, 2, i, 0.7 + i);
        dBodySetRotation(body, R);
        dBodySetGyroscopicMode(body, 1);
    }
    dBodyID first = way == 2 ? NULL : y->body[0], second = way == 0 ? y->body[1] : NULL;
    *joint = make_joint(y->world, type, first, way == 2 ? y->body[0] : second);
    for (int i = 0; i < y->bodies; i++) {
        dBodyAddForce(y->body[i], 90 - 240 * i, 60, 270 - 120 * i);
        dBodyAddTorque(y->body[i], 6, 9 - 3 * i, -12 + 27 * i);
    }
    yielding_step(y); // to a motion that the joint allows
    return y;
}

START_TEST(joints_do_no_work)
{
    int type = _i % TYPES, way = _i / TYPES;
    if (type == 5 && way > 0) {
        return; // ODE's hinge2 joins two bodies
    }
    dJointID joint;
    yielding *y = open_pair(type, way, &joint);
    double first = yielding_energy(y), gap = 0, fastest = 0;
    for (int k = 0; k < 200; k++) {
        yielding_step(y);
        fastest = fmax(fastest, fabs(dBodyGetAngularVel(y->body[0])[0]));
        gap = fmax(gap, joint_gap(joint));
    }
    ck_assert(type == 2 || type == 3 || fastest > 0.1);
    ck_assert_double_lt(fabs(yielding_energy(y) - first), 1e-8);
    ck_assert_double_lt(gap, 1e-9);
    sprag_world_statistics stats = stats_of(y);
    ck_assert_int_eq(stats.ess_declined + stats.ess_switched + stats.fallbacks, 0);
    yielding_close(y);
}
END_TEST

START_TEST(elastic_stops_do_no_work)
{
    static const int types[] = {1, 2, 4};
    int type = types[_i % 3], way = _i / 3;
    dJointID joint;
    yielding *y = open_pair(type, way, &joint);
    set_stops(joint, type);
    double first = yielding_energy(y), beyond = 0;
    for (int k = 0; k < 200; k++) {
        yielding_step(y);
        double at = type == 1   ? dJointGetHingeAngle(joint)
                    : type == 2 ? dJointGetSliderPosition(joint)
                                : dJointGetUniversalAngle1(joint);
        beyond = fmax(beyond, fabs(at) - 0.25);
    }
    ck_assert_double_lt(beyond, 1e-8);
    ck_assert_double_lt(fabs(yielding_energy(y) - first), 1e-6);
    ck_assert_int_gt(stats_of(y).events[SPRAG_EVENT_LIMIT_REACHED], 3);
    sprag_world_statistics stats = stats_of(y);
    ck_assert_int_eq(stats.ess_declined + stats.ess_switched + stats.fallbacks, 0);
    yielding_close(y);
}
END_TEST

// Turns a body about an axis by an angle.
static void turn_by(dBodyID body, const dReal *axis, double angle)
{
    dMatrix3 turn, turned;
    dRFromAxisAndAngle(turn, axis[0], axis[1], axis[2], angle);
    dMultiply0_333(turned, turn, dBodyGetRotation(body));
    dBodySetRotation(body, turned);
}

// ODE's angle of a hinge whose axes are not parallel jumps where it passes 0. A stop there is found
// all the same, beside a universal joint whose axes are off their right angle.
START_TEST(stops_of_bent_joints_are_found)
{
    static const double bent = 0.004; // rad
    dJointID universal;
    yielding *y = open_pair(4, 0, &universal);
    set_stops(universal, 4);
    dMass mass;
    dMassSetBoxTotal(&mass, 1, 0.1, 0.2, 0.3);
    dBodyID arm = yielding_body(y, &mass, NULL, 0.3, 0.1, 0.5);
    dJointID hinge = dJointCreateHinge(y->world, 0);
    dJointAttach(hinge, arm, y->body[1]);
    dJointSetHingeAnchor(hinge, 0.3, 0.1, 0.3);
    dJointSetHingeAxis(hinge, 0, 1, 0);
    dJointSetHingeParam(hinge, dParamLoStop, 0);
    dJointSetHingeParam(hinge, dParamHiStop, 1);
    dJointSetHingeParam(hinge, dParamBounce, 0.5);
    for (int k = 0; k < 200; k++) {
        if (k % 5 == 0) {
            dVector3 axis[2], across;
            dJointGetUniversalAxis1(universal, axis[0]);
            dJointGetUniversalAxis2(universal, axis[1]);
            dCalcVectorCross3(across, axis[0], axis[1]);
            turn_by(y->body[0], across, bent);
            dJointGetHingeAxis(hinge, axis[0]);
            dPlaneSpace(axis[0], axis[1], across);
            turn_by(arm, across, bent);
        }
        yielding_step(y);
    }
    sprag_world_statistics stats = stats_of(y);
    ck_assert_int_gt(stats.events[SPRAG_EVENT_LIMIT_REACHED], 3);
    ck_assert_int_eq(stats.ess_declined + stats.ess_switched + stats.fallbacks, 0);
    yielding_close(y);
}
END_TEST

typedef struct jam {
    dWorldID world;
    dJointGroupID contacts;
} jam;

static void jam_near(void *data, dGeomID a, dGeomID b)
{
    const jam *j = data;
    dBodyID first = dGeomGetBody(a), second = dGeomGetBody(b);
    dContact contact[8];
    if (first && second && dAreConnectedExcluding(first, second, dJointTypeContact)) {
        return;
    }
    int count = dCollide(a, b, 8, &contact[0].geom, sizeof *contact);
    for (int i = 0; i < count; i++) {
        contact[i].surface = (dSurfaceParameters){.mode = dContactApprox1, .mu = 0.5};
        dJointAttach(dJointCreateContact(j->world, j->contacts, &contact[i]), first, second);
    }
}

// An arm folds onto its base, in free space, until its motors (20 N m, 2 rad/s at most) press it
// there. The loop of joints and contacts locks itself. What mended the error of its joints made
// impulses of 3e6 N s, which won 2200 J.
START_TEST(jam_wins_no_energy)
{
    enum { LINKS = 3 };
    jam j = {dWorldCreate(), dJointGroupCreate(0)};
    dSpaceID space = dSimpleSpaceCreate(0);
    dBodyID body[1 + LINKS];
    dMass m;
    sprag_world_configure(j.world, "method=ess");
    for (int i = 0; i <= LINKS; i++) {
        const double length = i > 0 ? 0.4 : 0.5, width = i > 0 ? 0.08 : 0.5;
        const double pivot = 0.4 * i - 0.15; // m, of the joint to the last body
        body[i] = dBodyCreate(j.world);
        dMassSetBoxTotal(&m, i > 0 ? 1 : 10, length, width, width);
        dBodySetMass(body[i], &m);
        dBodySetPosition(body[i], i > 0 ? pivot + 0.2 : 0, 0, 0);
        dGeomSetBody(dCreateBox(space, length, width, width), body[i]);
        if (i > 0) {
            dJointID joint = dJointCreateHinge(j.world, 0);
            dJointAttach(joint, body[i - 1], body[i]);
            dJointSetHingeAnchor(joint, pivot, 0, 0);
            dJointSetHingeAxis(joint, i == 2, i == 3, i == 1);
            dJointSetHingeParam(joint, dParamFMax, 20);
            dJointSetHingeParam(joint, dParamVel, i % 2 ? -2 : 1.5);
        }
    }
    for (int k = 0; k < 500; k++) {
        double energy = 0;
        dSpaceCollide(space, &j, jam_near);
        dWorldStep(j.world, 0.005);
        dJointGroupEmpty(j.contacts);
        for (int i = 0; i <= LINKS; i++) {
            energy += kinetic_energy(body[i]);
        }
        ck_assert_double_lt(energy, 1.5); // 0.96 while the arm folds
    }
    dJointGroupDestroy(j.contacts);
    dSpaceDestroy(space);
    dWorldDestroy(j.world);
}
END_TEST

// An arm that its motors press onto the ground and against a block lies still after 2 s, and its
// steps are integrated. Its forces, a hundred times its weight, were found in every second step
// alone, and it trembled by 1e-6 m/s for ever.
START_TEST(jammed_arms_rest)
{
    enum { LINKS = 3 };
    static const double strength[] = {2, 20, 50}; // N m
    jam j = {dWorldCreate(), dJointGroupCreate(0)};
    dSpaceID space = dSimpleSpaceCreate(0);
    dBodyID body[LINKS];
    dMass m;
    long declined = 0;
    sprag_world_configure(j.world, "method=ess");
    dWorldSetGravity(j.world, 0, 0, -9.81);
    dCreatePlane(space, 0, 0, 1, 0);
    dGeomSetPosition(dCreateBox(space, 0.4, 0.4, 0.3), 0.5, 0, 0.15);
    for (int i = 0; i < LINKS; i++) {
        dMassSetBoxTotal(&m, 1, 0.1, 0.1, 0.4);
        dGeomID geom = dCreateBox(space, 0.1, 0.1, 0.4);
        body[i] = add_solid(j.world, geom, &m, 0, 0, i > 0 ? 0.3 + 0.4 * i : 0.25);
        dJointID joint = dJointCreateHinge(j.world, 0);
        dJointAttach(joint, body[i], i > 0 ? body[i - 1] : 0);
        dJointSetHingeAnchor(joint, 0, 0, 0.1 + 0.4 * i);
        dJointSetHingeAxis(joint, 0, 1, 0.02 * i);
        dJointSetHingeParam(joint, dParamVel, i == 1 ? -3 : 2);
        dJointSetHingeParam(joint, dParamFMax, strength[_i] * (LINKS - i));
    }
    for (int k = 0; k < 400; k++) {
        declined = k == 200 ? statistics_of(j.world).ess_declined : declined;
        dSpaceCollide(space, &j, jam_near);
        dWorldStep(j.world, 0.01);
        dJointGroupEmpty(j.contacts);
    }
    for (int i = 0; i < LINKS; i++) {
        ck_assert_double_lt(dCalcVectorLength3(dBodyGetLinearVel(body[i])), 1e-8);
    }
    ck_assert_int_eq(statistics_of(j.world).ess_declined, declined);
    destroy_world(j.world, space, j.contacts);
}
END_TEST

static Suite *rows_suite(void)
{
    Suite *suite = suite_create("method_ess_rows");
    ADD_TESTS(suite, "rows", {joints_do_no_work, TYPES * WAYS}, {elastic_stops_do_no_work, 9},
              {stops_of_bent_joints_are_found, 1}, {jam_wins_no_energy, 1}, {jammed_arms_rest, 3});
    return suite;
}

int main(void)
{
    start_ode();
    return run_suite(rows_suite());
}
