// sprag_world_linearize in worlds of many kinds of joints and contacts, and the reasons why some
// steps have no derivatives.
#include <check.h>
#include <string.h>

#include "linearize_rig.h"
#include "start.h"
#include "suite.h"

// Three bodies in a row that two joints of a type hold, the first one to the world: what rows yield
// is taken out of the step, so it counts for nothing.
START_TEST(joints_in_a_row)
{
    static const int type[] = {dJointTypeBall, dJointTypeHinge, dJointTypeSlider,   dJointTypeFixed,
                               dJointTypePR,   dJointTypePU,    dJointTypeUniversal};
    rig s = open_rig("");
    dBodyID before = NULL;
    for (int i = 0; i < 4; i++) {
        dBodyID body = add_box(&s, false, _i % 2 ? 1 + i : 4 - 1.2 * i, 0.3 * i, 0.1 * i, 2);
        add_joint(&s, type[_i / 2], body, before);
        set_motion(body, 0.1 * i, -0.2, 0.1, 0.4, 0.3 - 0.1 * i, 0.2);
        before = body;
    }
    run(&s, 8);
    compare_with_differences(&s, 1e-5);
    close_rig(&s);
}
END_TEST

// A box that turns on corners whose friction has no bound: it is as stiff as in the step.
START_TEST(friction_without_bound)
{
    rig s = open_rig("");
    s.surface.mu = dInfinity;
    dCreatePlane(s.space, 0, 0, 1, 0);
    dBodyID box = add_box(&s, true, 1 + _i, 0, 0, 0.0995);
    set_motion(box, 0.1 * _i, -0.2, 0, 0.3, -0.1, 0.4);
    run(&s, 3 + _i);
    compare_with_differences(&s, 1e-5);
    close_rig(&s);
}
END_TEST

// A thin body that hangs on a distance, whose anchors get inertia: how much follows its pose.
static rig hang_on_distance(void)
{
    dMass mass;
    rig s = open_rig("");
    dBodyID rod = add_box(&s, false, 1, 0, 0, 2);
    dMassSetBoxTotal(&mass, 1, 0.3, 0.02, 0.02);
    dBodySetMass(rod, &mass);
    dJointID joint = dJointCreateDHinge(s.world, 0);
    dJointAttach(joint, rod, NULL);
    dJointSetDHingeAxis(joint, 0.42, -0.89, -0.18);
    dJointSetDHingeAnchor1(joint, 0, -0.16, 1.8);
    dJointSetDHingeAnchor2(joint, 0.19, -0.12, 2.04);
    set_motion(rod, 0, 0.35, 0, -0.9, 0.2, -0.2);
    run(&s, 8);
    s.make = hang_on_distance;
    return s;
}

START_TEST(distance_under_load)
{
    rig s = hang_on_distance();
    compare_with_differences(&s, 1e-5);
    close_rig(&s);
}
END_TEST

// A body of a thin rod's inertia that a ball joint holds in a floor: the inertia that the load
// adds counts for the contact, too.
static rig touch_under_load(void)
{
    static const double pull[3] = {2.5, 2.3, 1.2}; // N
    dMass mass;
    rig s = open_rig("");
    s.surface.mu = 0.7;
    dCreatePlane(s.space, 0, 0, 1, 0);
    dBodyID rod = add_box(&s, false, 1, 0, -0.08, 0.158);
    dMassSetBoxTotal(&mass, 1.65, 0.3, 0.02, 0.02);
    dBodySetMass(rod, &mass);
    dGeomSetBody(dCreateCapsule(s.space, 0.08, 0.3), rod);
    dJointID joint = dJointCreateBall(s.world, 0);
    dJointAttach(joint, rod, NULL);
    dJointSetBallAnchor(joint, 0.04, 0.08, 0.213);
    memcpy(s.force[0], pull, sizeof pull);
    set_motion(rod, 0.8, 0.8, 0, -0.5, -0.3, 0.1);
    run(&s, 8);
    s.make = touch_under_load;
    return s;
}

START_TEST(contact_under_load)
{
    rig s = touch_under_load();
    compare_with_differences(&s, 1e-5);
    close_rig(&s);
}
END_TEST

static void join_links(const rig *s, int i, int type)
{
    dBodyID link = s->body[i], before = i > 0 ? s->body[i - 1] : NULL;
    dJointID joint;
    switch (type) {
    case dJointTypeHinge:
        joint = dJointCreateHinge(s->world, 0);
        dJointAttach(joint, before, link);
        dJointSetHingeAnchor(joint, 0.3 * i, 0, 2);
        dJointSetHingeAxis(joint, 0.2, 1, 0.1);
        dJointSetHingeParam(joint, dParamFMax, i == 2 ? 0.3 : 0);
        return;
    case dJointTypeUniversal:
        joint = dJointCreateUniversal(s->world, 0);
        dJointAttach(joint, before, link);
        dJointSetUniversalAnchor(joint, 0.3 * i, 0, 2);
        dJointSetUniversalAxis1(joint, 0.2, 1, 0.1);
        dJointSetUniversalAxis2(joint, 0, -0.1, 1);
        dJointSetUniversalParam(joint, dParamFMax2, 0.5);
        return;
    case dJointTypeHinge2:
        joint = dJointCreateHinge2(s->world, 0);
        dJointAttach(joint, before, link);
        dJointSetHinge2Anchor(joint, 0.3 * i, 0, 2);
        dJointSetHinge2Axes(joint, (const dVector3){0, 0.1, 1}, (const dVector3){0.3, 1, 0});
        dJointSetHinge2Param(joint, dParamFMax2, 0.5);
        return;
    case dJointTypeAMotor:
        joint = dJointCreateAMotor(s->world, 0);
        dJointAttach(joint, before, link);
        dJointSetAMotorNumAxes(joint, 1);
        dJointSetAMotorAxis(joint, 0, 1, 0.3, 1, 0.2);
        dJointSetAMotorParam(joint, dParamFMax, 0.4);
        // fall through
    default:
        joint = dJointCreateBall(s->world, 0);
        dJointAttach(joint, before, link);
        dJointSetBallAnchor(joint, 0.3 * i, 0, 2);
    }
}

// Thin links that swing from the world with a load at their end: where they are leaves the loads as
// they are, how they are turned does not. Every other joint is a hinge.
static int swing_type;

static rig swing_thin_chain(void)
{
    enum { LINKS = 5 };
    dMass mass;
    rig s = open_rig("");
    dMassSetBoxTotal(&mass, 1, 0.3, 0.02, 0.02);
    for (int i = 0; i < LINKS; i++) {
        dBodyID link = add_box(&s, false, 5, 0.3 * i + 0.15, 0, 2);
        if (i < LINKS - 1) {
            dBodySetMass(link, &mass);
        }
        join_links(&s, i, i % 2 ? swing_type : dJointTypeHinge);
        set_motion(link, 0, 0, -0.3 * (0.3 * i + 0.15), 0.1 * i, 0.3, 0.2);
    }
    run(&s, 10);
    s.make = swing_thin_chain;
    return s;
}

START_TEST(swing_under_load)
{
    swing_type = (const int[]){dJointTypeBall, dJointTypeUniversal, dJointTypeHinge,
                               dJointTypeAMotor, dJointTypeHinge2}[_i];
    rig s = swing_thin_chain();
    compare_with_differences(&s, 1e-5);
    close_rig(&s);
}
END_TEST

// A thin body off its place on a joint whose rows span planes: its load is by the force of each
// row. The other body is free, or on a point of the world.
static int loaded_type;
static bool is_tied;

static rig hold_off_place(void)
{
    dMass mass;
    rig s = open_rig("");
    dBodyID a = add_box(&s, false, 2, 0.3, 0.1, 2), b = add_box(&s, false, 1, -0.2, 0.3, 2.1);
    dMassSetBoxTotal(&mass, 1, 0.3, 0.02, 0.02);
    dBodySetMass(b, &mass);
    add_joint(&s, loaded_type, b, a);
    if (is_tied) {
        dJointID joint = dJointCreateBall(s.world, 0);
        dJointAttach(joint, a, NULL);
        dJointSetBallAnchor(joint, 0.4, 0.2, 2.1);
    }
    dBodySetPosition(b, -0.13, 0.36, 2.02);
    dBodySetQuaternion(b, (const dQuaternion){1, 0.08, -0.05, 0.06});
    set_motion(a, 0.3, -0.5, 0.3, 0.7, -0.4, 0.9);
    run(&s, 1);
    s.make = hold_off_place;
    return s;
}

START_TEST(loads_of_rows_in_a_plane)
{
    loaded_type = (const int[]){dJointTypeHinge, dJointTypeSlider, dJointTypeHinge2}[_i % 3];
    is_tied = _i / 3;
    rig s = hold_off_place();
    compare_with_differences(&s, 1e-5);
    close_rig(&s);
}
END_TEST

// ODE ends the program where a joint without rows is asked for some.
START_TEST(joints_without_rows)
{
    rig s = open_rig("");
    dBodyID a = add_box(&s, false, 1, 0, 0, 2), b = add_box(&s, false, 2, 0.3, 0.1, 2);
    dJointID joint = (_i ? dJointCreateLMotor : dJointCreateNull)(s.world, 0);
    dJointAttach(joint, a, b);
    compare_with_differences(&s, 1e-5);
    close_rig(&s);
}
END_TEST

static const char *reason_of(const rig *s)
{
    double A[144 * 4], B[72 * 4];
    ck_assert(!sprag_world_linearize(s->world, H, s->body, s->bodies, A, B));
    return sprag_error();
}

// The step has another force than the program's, or is no solution of one contact problem.
START_TEST(steps_of_another_problem)
{
    rig s = open_rig("");
    dCreatePlane(s.space, 0, 0, 1, 0);
    dBodyID box = add_box(&s, true, 1, 0, 0, 0.0999);
    prepare(&s);
    dBodyAddForce(box, dInfinity, 0, 0);
    ck_assert_ptr_nonnull(strstr(reason_of(&s), "not finite"));
    prepare(&s);
    ck_assert(sprag_world_configure(s.world, "stribeck.speculative=1"));
    ck_assert_ptr_nonnull(strstr(reason_of(&s), "speculative"));
    close_rig(&s);
}
END_TEST

static Suite *worlds_suite(void)
{
    Suite *suite = suite_create("linearize_worlds");
    ADD_TESTS(suite, "worlds", {joints_in_a_row, 14}, {friction_without_bound, 4},
              {distance_under_load, 1}, {contact_under_load, 1}, {swing_under_load, 5},
              {loads_of_rows_in_a_plane, 6}, {joints_without_rows, 2},
              {steps_of_another_problem, 1});
    return suite;
}

int main(void)
{
    start_ode();
    dSetMessageHandler(quiet);
    return run_suite(worlds_suite());
}
