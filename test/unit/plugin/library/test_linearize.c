// sprag_world_linearize against central differences of whole steps, with collision, and against
// closed forms.
#include <check.h>
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linearize_rig.h"
#include "scene.h"
#include "sprag.h"
#include "start.h"
#include "suite.h"

START_TEST(flight)
{
    rig s = open_rig(_i ? "stribeck.arcs=1" : "");
    dBodyID body = add_box(&s, false, 2, 0.3, 0.2, 1);
    dBodySetGyroscopicMode(body, 0);
    set_motion(body, 1, -0.5, 0.3, 0.7, -0.4, 0.9);
    compare_with_differences(&s, 1e-7);
    close_rig(&s);
}
END_TEST

static void add_chain(rig *s, int links)
{
    for (int i = 0; i < links; i++) {
        dBodyID link = add_box(s, false, 1 + 0.1 * i, 0.2 + 0.4 * i, 0, 2);
        dBodyID before = i > 0 ? s->body[s->bodies - 2] : NULL;
        dJointID joint;
        switch (i % 3) {
        case 0:
            joint = dJointCreateHinge(s->world, 0);
            dJointAttach(joint, link, before);
            dJointSetHingeAnchor(joint, 0.4 * i, 0, 2);
            dJointSetHingeAxis(joint, 0, 1, 0);
            break;
        case 1:
            joint = dJointCreateBall(s->world, 0);
            dJointAttach(joint, link, before);
            dJointSetBallAnchor(joint, 0.4 * i, 0, 2);
            break;
        default:
            joint = dJointCreateUniversal(s->world, 0);
            dJointAttach(joint, link, before);
            dJointSetUniversalAnchor(joint, 0.4 * i, 0, 2);
            dJointSetUniversalAxis1(joint, 0, 1, 0);
            dJointSetUniversalAxis2(joint, 0, 0, 1);
        }
        s->force[s->bodies - 1][4] = 0.3 * i;
    }
}

// A chain that swings, of one, four and seven links of several joints, whose bodies go along
// tangents or on arcs: bodies that are displaced together do not mix.
START_TEST(chains)
{
    rig s = open_rig(_i < 3 ? "" : "stribeck.arcs=1");
    add_chain(&s, 1 + 3 * (_i % 3));
    run(&s, 25);
    compare_with_differences(&s, 1e-5);
    close_rig(&s);
}
END_TEST

// One joint with errors, between bodies that turn, or a body and the world, attached either way
// round (hinge2: between bodies alone).
START_TEST(joints_off_their_place)
{
    static const int type[] = {
        dJointTypeBall,  dJointTypeHinge,  dJointTypeSlider, dJointTypeUniversal, dJointTypeFixed,
        dJointTypePR,    dJointTypePU,     dJointTypePiston, dJointTypeAMotor,    dJointTypeLMotor,
        dJointTypeDBall, dJointTypeDHinge, dJointTypeHinge2};
    const int attached = _i % 4;
    rig s = open_rig("");
    dBodyID a = add_box(&s, false, 1, 0.3, 0.1, 2), b = NULL;
    if (attached < 2) {
        b = add_box(&s, false, 2, -0.2, 0.3, 2.1);
    }
    add_joint(&s, type[_i / 4], attached % 2 ? b : a, attached % 2 ? a : b);
    for (int i = 0; i < s.bodies; i++) {
        dQuaternion q = {1, 0.02 - 0.01 * i, 0.03, -0.01};
        dBodySetPosition(s.body[i], 0.303 - 0.5 * i, 0.102 + 0.2 * i, 1.996 + 0.1 * i);
        dBodySetQuaternion(s.body[i], q);
        set_motion(s.body[i], 1, -0.5, 0.3, 0.7 + i, -0.4, 0.9);
    }
    run(&s, 1);
    compare_with_differences(&s, 1e-5);
    close_rig(&s);
}
END_TEST

static int displaced; // calls of dBodySetLinearVel

void dBodySetLinearVel(dBodyID body, dReal x, dReal y, dReal z)
{
    typedef void set_fn(dBodyID, dReal, dReal, dReal);
    void *real = dlsym(RTLD_NEXT, __func__);
    set_fn *set;
    memcpy(&set, &real, sizeof set);
    displaced++;
    set(body, x, y, z);
}

// No body is displaced where the derivatives of all rows are known.
START_TEST(known_rows_are_not_asked_for)
{
    double A[STATES * STATES * 4], B[STATES * 6 * 4];
    rig s = open_rig("");
    dBodyID a = add_box(&s, false, 1, 0.3, 0.1, 2), b = add_box(&s, false, 2, -0.2, 0.3, 2.1);
    add_joint(&s, dJointTypeBall, a, NULL);
    add_joint(&s, dJointTypeHinge, a, b);
    add_joint(&s, dJointTypeHinge, b, NULL);
    add_joint(&s, dJointTypeHinge, NULL, b);
    run(&s, 2);
    displaced = 0;
    ck_assert_msg(sprag_world_linearize(s.world, H, s.body, 2, A, B), "%s", sprag_error());
    ck_assert_int_eq(displaced, 0);
    close_rig(&s);
}
END_TEST

static void set_stops(dJointID joint, double low, double high)
{
    switch ((int)dJointGetType(joint)) {
    case dJointTypeHinge:
        dJointSetHingeParam(joint, dParamFMax, 0);
        dJointSetHingeParam(joint, dParamLoStop, low);
        dJointSetHingeParam(joint, dParamHiStop, high);
        dJointSetHingeParam(joint, dParamStopERP, 0.3);
        return;
    case dJointTypeSlider:
        dJointSetSliderParam(joint, dParamFMax, 0);
        dJointSetSliderParam(joint, dParamLoStop, low);
        dJointSetSliderParam(joint, dParamHiStop, high);
        return;
    default:
        dJointSetHinge2Param(joint, dParamLoStop, low);
        dJointSetHinge2Param(joint, dParamHiStop, high);
    }
}

// A hinge, slider or hinge2 at a stop that it is pushed beyond, or locked between both, with errors
// that turn the axes apart, between bodies, or a body and the world, attached either way round
// (hinge2: between bodies alone).
START_TEST(stops_are_known)
{
    static const int type[] = {dJointTypeHinge, dJointTypeSlider, dJointTypeHinge2};
    double A[STATES * STATES * 4], B[STATES * 6 * 4];
    const bool locked = _i % 2, reversed = _i / 2 % 2;
    rig s = open_rig("");
    dBodyID a = add_box(&s, false, 1, 0.3, 0.1, 2), b = NULL;
    if (_i / 4 % 2 == 0) {
        b = add_box(&s, false, 2, -0.2, 0.3, 2.1);
    }
    dJointID joint = add_joint(&s, type[_i / 8], reversed ? b : a, reversed ? a : b);
    set_stops(joint, locked ? 0.05 : -1, locked ? 0.05 : -0.1);
    dBodySetPosition(a, 0.303, 0.102, 1.996);
    dBodySetQuaternion(a, (const dQuaternion){1, 0.02, -0.05, 0.03});
    set_motion(a, 0.3, -0.5, 0.3, 0.7, -0.4, 0.9);
    run(&s, 1);
    prepare(&s);
    displaced = 0;
    ck_assert_msg(sprag_world_linearize(s.world, H, s.body, s.bodies, A, B), "%s", sprag_error());
    ck_assert_int_eq(displaced, 0);
    compare_with_differences(&s, 1e-5);
    close_rig(&s);
}
END_TEST

// A hinge locked at 0, where rounding is all that is left of its turn, has the derivatives of one
// that is locked beside it.
START_TEST(hinges_are_locked_at_zero)
{
    enum { SIZE = STATES * STATES * 4 };
    double A[2][SIZE], B[STATES * 6 * 4];
    for (int i = 0; i < 2; i++) {
        rig s = open_rig("");
        dBodyID a = add_box(&s, false, 1, 0.3, 0.1, 2), b = add_box(&s, false, 2, -0.2, 0.3, 2.1);
        set_stops(add_joint(&s, dJointTypeHinge, a, b), 1e-4 * i, 1e-4 * i);
        set_motion(a, 0.3, -0.5, 0.3, 0.7, -0.4, _i * 0.1);
        run(&s, 150);
        prepare(&s);
        ck_assert_msg(sprag_world_linearize(s.world, H, s.body, 2, A[i], B), "%s", sprag_error());
        close_rig(&s);
    }
    for (int i = 0; i < SIZE; i++) {
        ck_assert_double_eq_tol(A[1][i], A[0][i], 5e-4);
    }
}
END_TEST

// Rods of three welded boxes under a load that draws them tight: the inertia of a rod is shared by
// boxes that no joint joins.
static rig hang_rods(void)
{
    rig s = open_rig("");
    for (int i = 0; i < 7; i++) {
        const double end[3] = {0.36 * i, 0, 2 - 0.48 * i};
        dMatrix3 R;
        dBodyID box = add_box(&s, false, i < 6 ? 0.1 : 400, end[0] + 0.12, 0, end[2] - 0.16);
        dJointID joint;
        dRFromAxisAndAngle(R, 0, 1, 0, atan2(4, 3));
        dBodySetRotation(box, R);
        dBodyID before = i > 0 ? s.body[i - 1] : NULL;
        if (i % 3 > 0) {
            joint = dJointCreateFixed(s.world, 0);
            dJointAttach(joint, box, before);
            dJointSetFixed(joint);
        } else {
            joint = dJointCreateBall(s.world, 0);
            dJointAttach(joint, box, before);
            dJointSetBallAnchor(joint, end[0], end[1], end[2]);
        }
    }
    run(&s, 10);
    s.make = hang_rods;
    return s;
}

// A chain with a load at each end that whirls: no joint ties it to the world, and the turn that its
// bodies are pulled towards is that of all of them.
static rig whirl_chain(void)
{
    rig s = open_rig("");
    for (int i = 0; i < 6; i++) {
        const double turn = 4, x = 0.4 * i - 1;
        dBodyID box = add_box(&s, false, i % 5 > 0 ? 0.1 : 100, x, 0, 2);
        dBodySetLinearVel(box, 0, turn * x, 0);
        dBodySetAngularVel(box, 0, 0, turn);
        if (i > 0) {
            dJointID joint = dJointCreateBall(s.world, 0);
            dJointAttach(joint, box, s.body[i - 1]);
            dJointSetBallAnchor(joint, x - 0.2, 0, 2);
        }
    }
    run(&s, 10);
    s.make = whirl_chain;
    return s;
}

START_TEST(bodies_under_load)
{
    rig s = _i ? whirl_chain() : hang_rods();
    compare_with_differences(&s, 1e-5);
    close_rig(&s);
}
END_TEST

// A link whose motor drives it into its stop, where ODE pushes the body, and a chain.
START_TEST(motor_at_a_stop)
{
    rig s = open_rig("");
    dJointID hinge = dJointCreateHinge(s.world, 0);
    dJointAttach(hinge, add_box(&s, false, 1, 1, 1, 2), NULL);
    dJointSetHingeAnchor(hinge, 0.8, 1, 2);
    dJointSetHingeAxis(hinge, 0.2, 1, 0);
    dJointSetHingeParam(hinge, dParamHiStop, 0.1);
    dJointSetHingeParam(hinge, dParamVel, 1);
    dJointSetHingeParam(hinge, dParamFMax, 20);
    dJointSetHingeParam(hinge, dParamFudgeFactor, 0.3);
    add_chain(&s, 3);
    run(&s, 40);
    compare_with_differences(&s, 1e-5);
    close_rig(&s);
}
END_TEST

// Arcs have limits. At the limit of one there are no derivatives, and the reason is told.
START_TEST(arcs_begin_and_end)
{
    enum { LINKS = 7, STEPS = 8, ROWS = STATES * LINKS };
    rig s = open_rig("stribeck.arcs=1");
    int refused = 0;
    double *A = calloc((size_t)ROWS * ROWS, sizeof *A),
           *B = calloc((size_t)ROWS * 6 * LINKS, sizeof *B);
    add_chain(&s, LINKS);
    for (int i = 0; i < STEPS; i++) {
        run(&s, 1);
        prepare(&s);
        if (!sprag_world_linearize(s.world, H, s.body, LINKS, A, B)) {
            refused++;
            ck_assert_msg(strstr(sprag_error(), "arc begins or ends"), "%s", sprag_error());
        }
    }
    ck_assert_int_gt(refused, 0);
    ck_assert_int_lt(refused, STEPS);
    free(A);
    free(B);
    close_rig(&s);
}
END_TEST

// A box that slides and turns on a plane, and one that sticks on a slope.
START_TEST(boxes_on_a_plane)
{
    rig s = open_rig("");
    dCreatePlane(s.space, 0, 0, 1, 0);
    dBodyID box = add_box(&s, true, 2, 0, 0, 0.0999);
    run(&s, 20); // to the overlap at rest
    if (_i == 0) {
        set_motion(box, 1.5, 0.4, 0, 0, 0, 0.8);
        run(&s, 3);
    }
    compare_with_differences(&s, 1e-5);
    close_rig(&s);
}
END_TEST

static void linearize(rig *s, const char *options, double *A)
{
    int n = s->bodies;
    double *B = calloc((size_t)(6 * STATES * n * n), sizeof *B);
    ck_assert(sprag_world_configure(s->world, options));
    ck_assert_msg(sprag_world_linearize(s->world, H, s->body, n, A, B), "%s", sprag_error());
    free(B);
}

// Of a stack of 13 boxes: unless the effort is exact, its contacts are (13 / 10)^(2/3) times
// softer.
START_TEST(softness_follows_effort)
{
    enum { ENTRIES = STATES * MOST * STATES * MOST };
    rig s = open_rig("");
    double *A[3], change = 0;
    char softer[64];
    snprintf(softer, sizeof softer, "effort=exact,stribeck.softness=%.17g",
             1e-3 * pow(1.3, 2.0 / 3));
    const char *const options[3] = {"effort=balanced", softer,
                                    "effort=exact,stribeck.softness=1e-3"};
    dCreatePlane(s.space, 0, 0, 1, 0);
    for (int i = 0; i < MOST; i++) {
        add_box(&s, true, 2, 0, 0, 0.0999 + 0.1999 * i);
    }
    run(&s, 20);
    prepare(&s);
    for (int i = 0; i < 3; i++) {
        A[i] = calloc(ENTRIES, sizeof *A[i]);
        linearize(&s, options[i], A[i]);
    }
    for (int i = 0; i < ENTRIES; i++) {
        ck_assert_double_eq_tol(A[0][i], A[1][i], 1e-6 * fmax(1, fabs(A[1][i])));
        change = fmax(change, fabs(A[1][i] - A[2][i]));
    }
    ck_assert_double_gt(change, 0.1);
    for (int i = 0; i < 3; i++) {
        free(A[i]);
    }
    close_rig(&s);
}
END_TEST

// A ball on a box on a plane: contacts whose point and normal move with the bodies.
START_TEST(ball_on_a_box)
{
    rig s = open_rig("");
    dMass mass;
    dCreatePlane(s.space, 0, 0, 1, 0);
    dBodyID box = add_box(&s, true, 2, 0, 0, 0.0999);
    dBodyID ball = s.body[s.bodies++] = dBodyCreate(s.world);
    dMassSetSphereTotal(&mass, 0.5, 0.1);
    dBodySetMass(ball, &mass);
    dGeomSetBody(dCreateSphere(s.space, 0.1), ball);
    dBodySetPosition(ball, 0.02, 0.01, 0.2999);
    run(&s, 5);
    set_motion(box, 0.8, 0.1, 0, 0, 0, 0.1);
    set_motion(ball, 0.9, 0.1, 0, 0, 1, 0);
    run(&s, 3);
    compare_with_differences(&s, 1e-5);
    close_rig(&s);
}
END_TEST

// An arm of twelve links whose last lies on the floor.
START_TEST(arm_on_the_floor)
{
    rig s = open_rig(_i ? "effort=balanced" : "");
    add_chain(&s, 12);
    dMass mass;
    dBodyGetMass(s.body[11], &mass);
    dGeomSetBody(dCreateSphere(s.space, 0.1), s.body[11]);
    run(&s, 40);
    dCreatePlane(s.space, 0, 0, 1, dBodyGetPosition(s.body[11])[2] - 0.1 + 1e-4);
    run(&s, 3);
    compare_with_differences(&s, 1e-5);
    close_rig(&s);
}
END_TEST

// A hinge that the derivatives ask for, with geoms off the centres of its bodies, beside a heap.
static void add_heap(rig *s)
{
    dCreatePlane(s->space, 0, 0, 1, 0);
    for (int i = 0; i < 6; i++) {
        dBodyID box = add_box(s, true, 1 + 0.3 * i, 0.05 * (i % 3), 0.03 * i, 0.12 + 0.23 * i);
        dGeomID ball = dCreateSphere(s->space, 0.12);
        dGeomSetBody(ball, box);
        dGeomSetOffsetPosition(ball, 0.1 * (i % 2), 0.04, -0.02);
    }
    dJointID hinge = dJointCreateHinge(s->world, 0);
    dJointAttach(hinge, s->body[4], s->body[5]);
    dJointSetHingeAnchor(hinge, 0.1, 0.1, 1.1);
    dJointSetHingeAxis(hinge, 0.3, 1, 0.2);
    dJointSetHingeParam(hinge, dParamLoStop, -0.1);
    dJointSetHingeParam(hinge, dParamHiStop, 0.1);
}

// Neither steps nor the order in which ODE lists geoms, and offers pairs of them, depend on whether
// a program asks for derivatives.
START_TEST(leaves_no_trace)
{
    pose end[2][6];
    int place[2][13];
    double *A = calloc(144 * 36, sizeof *A), *B = calloc(72 * 36, sizeof *B);
    for (int asked = 0; asked < 2; asked++) {
        rig s = open_rig(_i ? "effort=balanced" : "");
        int count = 0;
        add_heap(&s);
        for (int k = 0; k < 40; k++) {
            prepare(&s);
            count += asked && sprag_world_linearize(s.world, H, s.body, s.bodies, A, B);
            ck_assert(dWorldStep(s.world, H));
        }
        ck_assert(count > 10 || !asked);
        read_poses(&s, end[asked]);
        for (int i = 0; i < 13; i++) {
            const dGeomID geom = dSpaceGetGeom(s.space, i);
            place[asked][i] = 0;
            for (int b = 0; b < 6; b++) {
                place[asked][i] += dGeomGetBody(geom) == s.body[b] ? b + 1 : 0;
            }
        }
        close_rig(&s);
    }
    ck_assert_mem_eq(place[0], place[1], sizeof place[0]);
    ck_assert_mem_eq(end[0], end[1], sizeof end[0]);
    free(A);
    free(B);
}
END_TEST

// ---- method=ess

// Soft contacts; errors of the integration are far below a difference.
static rig open_soft_rig(const char *law)
{
    rig s = open_rig("method=ess,ess.tolerance=1e-11,stribeck.stiction_tolerance=1e-2,"
                     "advance.callbacks=before");
    ck_assert(sprag_world_configure(s.world, law));
    s.change = 1e-5; // larger than noise of touches over the tolerance
    dCreatePlane(s.space, 0, 0, 1, 0);
    return s;
}

static dBodyID add_ball(rig *s, double mass, double x, double y, double z)
{
    dMass m;
    dBodyID body = s->body[s->bodies++] = dBodyCreate(s->world);
    dMassSetSphereTotal(&m, mass, 0.1);
    dBodySetMass(body, &m);
    dGeomSetBody(dCreateSphere(s->space, 0.1), body);
    dBodySetPosition(body, x, y, z);
    return body;
}

// A box that tumbles and a ball that falls, in one world, far from each other.
START_TEST(ess_flight)
{
    rig s = open_soft_rig("");
    set_motion(add_box(&s, true, 2, 0.3, 0.2, 5), 1, -0.5, 0.3, 7, -4, 9);
    set_motion(add_ball(&s, 1, 5, 0, 5), 0, 1, 0, 0, 0, 3);
    compare_with_differences(&s, 1e-6);
    close_rig(&s);
}
END_TEST

static const char *const soft_laws[2] = {"stribeck.stiffness=2e4,stribeck.dissipation=0.5",
                                         "stribeck.stiffness=0"};

static void set_soft(rig *s)
{
    s->surface.mode |= dContactSoftERP | dContactSoftCFM;
    s->surface.soft_erp = 0.5;
    s->surface.soft_cfm = 2e-3;
}

// A ball that slides and turns within the contact, by both laws.
START_TEST(ess_slides)
{
    rig s = open_soft_rig(soft_laws[_i]);
    if (_i == 1) {
        set_soft(&s);
    }
    dBodyID ball = add_ball(&s, 1, 0, 0, 0.0995);
    run(&s, 5);
    set_motion(ball, 1.2, 0.3, 0, 0.5, 1, 2);
    run(&s, 2);
    compare_with_differences(&s, 1e-5);
    close_rig(&s);
}
END_TEST

// Three balls in a row that slide, roll and press on one another, by both laws.
START_TEST(ess_groups)
{
    rig s = open_soft_rig(soft_laws[_i]);
    if (_i == 1) {
        set_soft(&s);
    }
    for (int i = 0; i < 3; i++) {
        dBodyID ball = add_ball(&s, 1 + i, 0.1995 * i, 0.02 * (i % 2), 0.0995);
        dBodySetQuaternion(ball, (const dQuaternion){0.5, 0.5, -0.5 + 0.2 * i, 0.5});
    }
    run(&s, 2);
    for (int i = 0; i < 3; i++) {
        set_motion(s.body[i], 0.8 - 0.1 * i, 0.3, 0, 0.5 * i, 1, 2 - i);
    }
    run(&s, 1);
    int joints = 0; // with the floor, and twice with one another
    for (int i = 0; i < 3; i++) {
        joints += dBodyGetNumJoints(s.body[i]);
    }
    ck_assert_int_eq(joints, 7);
    compare_with_differences(&s, 2e-3); // error of the differences: it falls with change squared
    close_rig(&s);
}
END_TEST

static void set_falling(rig *s, double height)
{
    dBodySetPosition(s->body[0], 0, 0, 0.1 + 2 * H);
    set_motion(s->body[0], 0, 0, -0.8, 0, 0, 0);
    run(s, 1); // sprag looks ahead by the motion of a step
    dBodySetPosition(s->body[0], 0, 0, 0.1 + height);
    set_motion(s->body[0], 0, 0, -0.8, 0, 0, 0);
    prepare(s);
}

// A ball that just touches, by ODE's law, whose damper acts at once: A of a start that overlaps is
// the derivative of that side, A of a start above that of the other.
START_TEST(ess_at_a_kink)
{
    double A[2][144], B[72], speed[3], slope[2];
    rig s = open_soft_rig(soft_laws[1]);
    const double change = 1e-6;
    set_soft(&s);
    s.surface.mu = 0;
    add_ball(&s, 1, 0, 0, 1);
    for (int k = 0; k < 3; k++) { // below, at, above
        set_falling(&s, (k - 1) * change);
        if (k != 1) {
            ck_assert_msg(sprag_world_linearize(s.world, H, s.body, 1, A[k / 2], B), "%s",
                          sprag_error());
        }
        ck_assert(dWorldStep(s.world, H));
        speed[k] = dBodyGetLinearVel(s.body[0])[2];
    }
    for (int side = 0; side < 2; side++) {
        slope[side] = (speed[side + 1] - speed[side]) / change;
        ck_assert_double_eq_tol(A[side][STATES * 8 + 2], slope[side], 1e-3 * fabs(slope[side]));
    }
    ck_assert_double_gt(fabs(slope[1] - slope[0]), 10);
    close_rig(&s);
}
END_TEST

// A step is the same, bit by bit, whether derivatives were asked for before it or not.
START_TEST(ess_leaves_no_trace)
{
    pose end[2][2];
    double A[2 * 144 * 2], B[2 * 144];
    for (int asked = 0; asked < 2; asked++) {
        rig s = open_soft_rig(soft_laws[0]);
        set_motion(add_ball(&s, 1, 0, 0, 0.11), 0.5, 0, -0.8, 0, 3, 1);
        set_motion(add_box(&s, true, 2, 0.05, 0, 0.4), 0, 0.1, -1, 1, 2, 3);
        for (int k = 0; k < 40; k++) {
            prepare(&s);
            if (asked) {
                sprag_world_linearize(s.world, H, s.body, 2, A, B);
            }
            ck_assert(dWorldStep(s.world, H));
        }
        read_poses(&s, end[asked]);
        close_rig(&s);
    }
    ck_assert_mem_eq(end[0], end[1], sizeof end[0]);
}
END_TEST

// A rigid contact has a kink where it holds.
START_TEST(ess_reasons)
{
    double A[144], B[72];
    rig s = open_soft_rig("");
    dBodyID box = add_box(&s, true, 2, 0, 0, 0.1);
    run(&s, 20);
    prepare(&s);
    ck_assert(!sprag_world_linearize(s.world, H, s.body, 1, A, B));
    ck_assert_msg(strstr(sprag_error(), "rigid contacts hold"), "%s", sprag_error());
    dBodySetPosition(box, 0, 0, 0.103);
    set_motion(box, 0, 0, -1, 0, 0, 0);
    prepare(&s);
    ck_assert(!sprag_world_linearize(s.world, H, s.body, 1, A, B));
    ck_assert_msg(strstr(sprag_error(), "rigid or bounces"), "%s", sprag_error());
    close_rig(&s);
}
END_TEST

// A ball that touches, and one that leaves, within the step: by ODE's law forces jump there, and
// friction does that is a force.
START_TEST(ess_events)
{
    rig s = open_soft_rig(soft_laws[_i % 2]);
    if (_i % 2 == 1) {
        set_soft(&s);
    }
    if (_i / 4 == 1) {
        s.surface.mode &= ~dContactApprox1;
        s.surface.mu = 2.5; // N
    }
    dBodyID ball = add_ball(&s, 1, 0, 0, 0.1 + 0.8 * 2 * H);
    set_motion(ball, 0.5, 0, -0.8, 0, 3, 1);
    run(&s, _i / 2 % 2 == 0 ? 0 : 4);
    compare_with_differences(&s, 1e-5);
    close_rig(&s);
}
END_TEST

// A mass on a plane without friction: x' = x + h v', v' = v + h f / m; and a pendulum's A has the
// eigenvalues of a rotation by sqrt(g / l) h, to first order in h.
START_TEST(closed_forms)
{
    rig s = open_rig("");
    dWorldSetGravity(s.world, 0, 0, -9.81);
    s.surface.mu = 0;
    dCreatePlane(s.space, 0, 0, 1, 0);
    add_box(&s, true, 2, 0, 0, 0.0999);
    run(&s, 20);
    double A[144], B[72];
    prepare(&s);
    ck_assert(sprag_world_linearize(s.world, H, s.body, 1, A, B));
    for (int k = 0; k < 2; k++) { // horizontal
        ck_assert_double_eq_tol(A[13 * k], 1, 1e-9);
        ck_assert_double_eq_tol(A[12 * k + 6 + k], H, 1e-9);
        ck_assert_double_eq_tol(A[13 * (6 + k)], 1, 1e-9);
        ck_assert_double_eq_tol(B[6 * (6 + k) + k], H / 2, 1e-9);
        ck_assert_double_eq_tol(B[6 * k + k], H * H / 2, 1e-9);
    }
    ck_assert_double_eq_tol(A[13 * 8], 0, 0.01); // the floor takes vertical velocity
    ck_assert_double_eq_tol(B[6 * 8 + 2], 0, 0.01 * H);
    close_rig(&s);
}
END_TEST

// The gain of the model `balance`: the regulator of the cart and pole at rest upright, from A and B
// in the four directions that the joints leave.
START_TEST(regulator_of_the_model)
{
    static const double weight[4] = {10, 100, 1, 10}, of_force = 0.1, half = 0.5; // m
    sprag_scene scene;
    ck_assert(sprag_scene_open(&scene, sprag_model_find("balance"), 0));
    dMatrix3 upright;
    dRSetIdentity(upright);
    dBodySetRotation(scene.body[1], upright);
    dBodySetPosition(scene.body[1], 0, 0, half);
    ck_assert(sprag_world_configure(scene.world, "method=stribeck"));
    double A[24 * 24], B[24 * 12];
    ck_assert_msg(sprag_world_linearize(scene.world, scene.step, scene.body, 2, A, B), "%s",
                  sprag_error());
    // Directions: cart's x, tilt, and their rates; entries of the state that they change.
    static const int entry[4] = {0, STATES + 4, 6, STATES + 10};
    double lift[4][24] = {{0}}, F[4][4], g[4], P[4][4] = {{0}}, K[4] = {0};
    for (int rate = 0; rate < 2; rate++) {
        lift[2 * rate][6 * rate] = lift[2 * rate][STATES + 6 * rate] = 1;
        lift[2 * rate + 1][STATES + 6 * rate] = half;
        lift[2 * rate + 1][entry[2 * rate + 1]] = 1;
    }
    for (int i = 0; i < 4; i++) {
        g[i] = B[entry[i] * 12];
        for (int j = 0; j < 4; j++) {
            F[i][j] = 0;
            for (int k = 0; k < 24; k++) {
                F[i][j] += A[entry[i] * 24 + k] * lift[j][k];
            }
        }
    }
    for (int round = 0; round < 20000; round++) { // Riccati's equation
        double PF[4][4], Pg[4], M[4][4], gPg = of_force;
        for (int i = 0; i < 4; i++) {
            Pg[i] = 0;
            for (int j = 0; j < 4; j++) {
                PF[i][j] = 0;
                Pg[i] += P[i][j] * g[j];
                for (int k = 0; k < 4; k++) {
                    PF[i][j] += P[i][k] * F[k][j];
                }
            }
        }
        for (int i = 0; i < 4; i++) {
            gPg += g[i] * Pg[i];
        }
        for (int j = 0; j < 4; j++) {
            K[j] = 0;
            for (int i = 0; i < 4; i++) {
                K[j] += g[i] * PF[i][j] / gPg;
            }
        }
        for (int i = 0; i < 4; i++) {
            for (int j = 0; j < 4; j++) {
                M[i][j] = i == j ? weight[i] : 0;
                for (int k = 0; k < 4; k++) {
                    M[i][j] += F[k][i] * (PF[k][j] - Pg[k] * K[j]);
                }
            }
        }
        memcpy(P, M, sizeof P);
    }
    for (int k = 0; k < 4; k++) {
        ck_assert_msg(fabs(K[k] - sprag_balance_gain[k]) < 1e-3, "gain %d: %.6f", k, K[k]);
    }
    sprag_scene_close(&scene);
}
END_TEST

START_TEST(reasons_are_told)
{
    static const struct {
        const char *options, *says;
    } method[] = {{"method=ess", "no derivatives of joints"},
                  {"method=advance", "divides steps"},
                  {"method=ode", "ODE's own stepper"},
                  {"method=stribeck,stribeck.scheme=one-way", "two problems"}};
    double A[2 * 144 * 2], B[4 * 72];
    rig s = open_rig("");
    add_chain(&s, 2);
    prepare(&s);
    for (int i = 0; i < 4; i++) {
        ck_assert(sprag_world_configure(s.world, method[i].options));
        ck_assert(!sprag_world_linearize(s.world, H, s.body, 2, A, B));
        ck_assert_ptr_nonnull(strstr(sprag_error(), method[i].says));
    }
    ck_assert(sprag_world_configure(s.world, "method=stribeck,stribeck.scheme=two-way"));
    ck_assert(!sprag_world_linearize(s.world, H, s.body, 1, A, B));
    ck_assert_ptr_nonnull(strstr(sprag_error(), "not listed"));
    ck_assert(!sprag_world_linearize(NULL, H, s.body, 2, A, B));
    ck_assert(!sprag_world_linearize(s.world, 0, s.body, 2, A, B));
    dBodySetKinematic(s.body[1]);
    ck_assert(!sprag_world_linearize(s.world, H, s.body, 2, A, B));
    ck_assert_ptr_nonnull(strstr(sprag_error(), "kinematic"));
    close_rig(&s);
}
END_TEST

// A contact that the program has made itself has no geoms to move with.
START_TEST(contacts_of_the_programs_own)
{
    double A[144], B[72];
    rig s = open_rig("");
    dBodyID box = add_box(&s, false, 1, 0, 0, 0.1);
    dContact contact = {.geom = {.normal = {0, 0, 1}, .depth = 1e-3},
                        .surface = {.mode = dContactApprox1, .mu = 1}};
    dJointAttach(dJointCreateContact(s.world, s.group, &contact), box, NULL);
    ck_assert(!sprag_world_linearize(s.world, H, s.body, 1, A, B));
    ck_assert_ptr_nonnull(strstr(sprag_error(), "dCollide"));
    close_rig(&s);
}
END_TEST

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // of dGeomTransform

// The pose of a geom within a geom transform is hidden.
START_TEST(contacts_of_transforms)
{
    double A[144], B[72];
    rig s = open_rig("");
    dCreatePlane(s.space, 0, 0, 1, 0);
    dGeomID outer = dCreateGeomTransform(s.space), inner = dCreateSphere(NULL, 0.1);
    dGeomTransformSetGeom(outer, inner);
    dGeomTransformSetInfo(outer, 1);
    dGeomTransformSetCleanup(outer, 1);
    dGeomSetPosition(inner, 0.03, 0, 0);
    dGeomSetBody(outer, add_box(&s, false, 1, 0, 0, 0.0999));
    prepare(&s);
    ck_assert_int_eq(dBodyGetNumJoints(s.body[0]), 1);
    ck_assert(!sprag_world_linearize(s.world, H, s.body, 1, A, B));
    ck_assert_ptr_nonnull(strstr(sprag_error(), "geom transform"));
    close_rig(&s);
}
END_TEST

#pragma GCC diagnostic pop

static Suite *linearize_suite(void)
{
    Suite *suite = suite_create("linearize");
    ADD_TESTS(suite, "differences", {flight, 2}, {chains, 6}, {joints_off_their_place, 50},
              {known_rows_are_not_asked_for, 1}, {stops_are_known, 20},
              {hinges_are_locked_at_zero, 4}, {bodies_under_load, 2}, {motor_at_a_stop, 1},
              {arcs_begin_and_end, 1}, {boxes_on_a_plane, 2}, {softness_follows_effort, 1},
              {ball_on_a_box, 1}, {arm_on_the_floor, 2}, {leaves_no_trace, 2});
    ADD_TESTS(suite, "ess", {ess_flight, 1}, {ess_slides, 2}, {ess_groups, 2}, {ess_at_a_kink, 1},
              {ess_leaves_no_trace, 1}, {ess_reasons, 1}, {ess_events, 8});
    ADD_TESTS(suite, "other", {closed_forms, 1}, {regulator_of_the_model, 1}, {reasons_are_told, 1},
              {contacts_of_the_programs_own, 1}, {contacts_of_transforms, 1});
    return suite;
}

int main(void)
{
    start_ode();
    dSetMessageHandler(quiet);
    return run_suite(linearize_suite());
}
