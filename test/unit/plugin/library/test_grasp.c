// What bodies hold between them while they move as one: a part that an arm carries, crates on a
// plate that turns freely. Every effort solves it to a root, so that nothing slips.
#include <check.h>
#include <stdbool.h>

#include "surface_rig.h"

enum { HINGES_MAX = 7, EFFORTS = 4 };

static const char *const efforts[EFFORTS] = {"effort=fast", "effort=balanced", "effort=exact",
                                             "stribeck.speculative=1"};

// ---- an arm of hinges with motors, and a gripper of two fingers on sliders at its end

static const struct carry {
    int hinges;
    double mass, side, mu, squeeze; // kg, m, 1 or N of each contact, N of each finger
    bool force;                     // mu is one
    double step;                    // s
    bool turns;                     // the last hinge turns the part over
} carries[] = {
    {2, 0.5, 0.06, 0.8, 30, .step = 0.01},
    {3, 9, 0.1, 1, 400, .step = 0.01},
    {4, 6.5, 0.09, 0.6, 300, .step = 0.01},
    {5, 5, 0.08, 0.5, 400, .step = 0.01},
    {5, 5, 0.08, 0.5, 400, .step = 1.0 / 60},
    {5, 2, 0.08, 40, 100, .force = true, .step = 0.001},
    {6, 10, 0.12, 0.9, 600, .step = 0.01},
    {7, 4, 0.1, 0.6, 250, .step = 0.01},
    {7, 1, 0.06, 20, 40, .force = true, .step = 0.01},
};

static const struct carry turned[] = {
    {2, 0.2, 0.06, 0.7, 5, .step = 0.01, .turns = true},
    {3, 0.3, 0.06, 0.9, 6, .step = 0.01, .turns = true},
    {3, 0.1, 0.06, 1, 4, .step = 0.01, .turns = true},
    {4, 0.15, 0.06, 0.8, 5, .step = 0.01, .turns = true},
    {4, 0.3, 0.06, 0.5, 12, .step = 1.0 / 60, .turns = true},
    {5, 0.4, 0.06, 0.8, 10, .step = 1.0 / 60, .turns = true},
    {7, 0.1, 0.06, 0.6, 5, .step = 0.01, .turns = true},
};

static const double arm_height = 2, link = 0.28; // m

typedef struct arm {
    rig r;
    const struct carry *c;
    dJointID hinge[HINGES_MAX];
    dBodyID finger[2], part;
} arm;

static dBodyID add_part(arm *a, double mass, dVector3 sides, bool touches, double x, double y,
                        double z)
{
    dMass m;
    dMassSetBoxTotal(&m, mass, sides[0], sides[1], sides[2]);
    if (touches) {
        return add_solid(a->r.world, dCreateBox(a->r.space, sides[0], sides[1], sides[2]), &m, x, y,
                         z);
    }
    dBodyID body = dBodyCreate(a->r.world);
    dBodySetMass(body, &m);
    dBodySetPosition(body, x, y, z);
    return body;
}

// Turns about z at its foot, and up and down at the others; or about its length at the last one.
static dBodyID add_links(arm *a)
{
    dBodyID last = NULL;
    for (int i = 0; i < a->c->hinges; i++) {
        dVector3 sides = {0.8 * link, 0.06, 0.06};
        dBodyID body = add_part(a, 3 * pow(0.7, i), sides, false, (i + 0.5) * link, 0, arm_height);
        dJointID hinge = a->hinge[i] = dJointCreateHinge(a->r.world, 0);
        dJointAttach(hinge, body, last);
        dJointSetHingeAnchor(hinge, i * link, 0, arm_height);
        const bool over = a->c->turns && i == a->c->hinges - 1;
        dJointSetHingeAxis(hinge, over, i > 0 && !over, i == 0);
        dJointSetHingeParam(hinge, dParamFMax, 500);
        last = body;
    }
    return last;
}

static void open_arm(arm *a, const struct carry *c, const char *options)
{
    *a = (arm){.r = open_rig(options, c->force ? 0 : dContactApprox1), .c = c};
    a->r.step = c->step;
    a->r.surface.mu = c->mu;
    dBodyID last = add_links(a);
    const double x = c->hinges * link, z = arm_height - 0.16, reach = c->side / 2 + 0.01;
    dBodyID palm = add_part(a, 1, (dVector3){0.12, 0.3, 0.05}, false, x, 0, arm_height);
    dJointID wrist = dJointCreateFixed(a->r.world, 0);
    dJointAttach(wrist, palm, last);
    dJointSetFixed(wrist);
    a->part = add_part(a, c->mass, (dVector3){c->side, c->side, c->side}, true, x, 0, z);
    for (int i = 0; i < 2; i++) {
        const int side = i ? 1 : -1;
        dVector3 sides = {0.05, 0.02, 0.15};
        a->finger[i] = add_part(a, 0.2 + 0.1 * i, sides, true, x, side * reach, z);
        dJointID slider = dJointCreateSlider(a->r.world, 0);
        dJointAttach(slider, a->finger[i], palm);
        dJointSetSliderAxis(slider, 0, side, 0);
        dJointSetSliderParam(slider, dParamHiStop, 0.01);
        dJointSetSliderParam(slider, dParamFMax, c->squeeze);
        dJointSetSliderParam(slider, dParamVel, -0.1);
    }
}

// To and fro, at most so far (rad), by velocities that follow.
static void move_arm(arm *a, double t)
{
    for (int i = 0; i < a->c->hinges; i++) {
        const bool over = a->c->turns && i == a->c->hinges - 1;
        const double far = over ? M_PI / 2 : (i % 2 ? -0.5 : 0.5) / (1 + 0.25 * a->c->hinges);
        const double goal = t < 0.5 ? 0 : far * (1 - cos(2 * (t - 0.5)));
        const double speed = 10 * (goal - dJointGetHingeAngle(a->hinge[i]));
        dJointSetHingeParam(a->hinge[i], dParamVel, fmax(-2, fmin(2, speed)));
    }
}

// m, along the faces of the first finger.
static void part_in_finger(const arm *a, double at[2])
{
    const dReal *x = dBodyGetPosition(a->part);
    dVector3 local;
    dBodyGetPosRelPoint(a->finger[0], x[0], x[1], x[2], local);
    at[0] = local[0];
    at[1] = local[2];
}

// After a step that ends behind the time t: no slip since the fingers have closed.
static void carry(arm *a, double t, double before[2])
{
    double at[2];
    move_arm(a, t);
    step_rig(&a->r);
    part_in_finger(a, at);
    if (t < 0.4) {
        memcpy(before, at, sizeof at);
    }
    ck_assert_double_lt(hypot(at[0] - before[0], at[1] - before[1]), 1e-4);
}

START_TEST(what_an_arm_carries_does_not_slip)
{
    arm a;
    double before[2] = {0};
    open_arm(&a, &carries[_i / EFFORTS], efforts[_i % EFFORTS]);
    for (double t = 0; t < 4; t += a.r.step) {
        carry(&a, t, before);
    }
    close_rig(&a.r);
}
END_TEST

// A light part is pressed so hard that it would tilt by the next step about the points that stay,
// where one opens by a micrometre.
START_TEST(what_a_wrist_turns_over_does_not_tilt)
{
    arm a;
    double before[2] = {0};
    open_arm(&a, &turned[_i / EFFORTS], efforts[_i % EFFORTS]);
    for (double t = 0; t < 4; t += a.r.step) {
        carry(&a, t, before);
        const dReal *R = dBodyGetRotation(a.part), *finger = dBodyGetRotation(a.finger[0]);
        double along = 0; // of the normals of the faces
        for (int k = 0; k < 3; k++) {
            along += R[4 * k + 1] * finger[4 * k + 1];
        }
        ck_assert_double_lt(acos(fmin(1, along)), 1e-3);
    }
    close_rig(&a.r);
}
END_TEST

// ---- two crates that are pressed on both sides of a plate, without gravity

static const struct plate {
    double speed, place, crate, mass; // rad/s, m from the middle, kg, kg
} plates[] = {
    {0.1, 0.8, 20, 5}, {1, 0.3, 1, 200}, {1, 0.8, 20, 5}, {1.9, 0.8, 5, 20}, {1.9, 0.8, 1, 200},
};

START_TEST(crates_on_a_plate_that_turns_freely_stay)
{
    const struct plate *p = &plates[_i / EFFORTS];
    const double height = 5, edge = 0.4, press = 100; // m, m, N
    const double middle = 2 * p->crate * p->place / (2 * p->crate + p->mass);
    rig r = open_rig(efforts[_i % EFFORTS], dContactApprox1);
    r.surface.mu = 0.6;
    dWorldSetGravity(r.world, 0, 0, 0);
    add_box(&r, p->mass, 3, 3, 0.1, height - 0.05);
    for (int side = -1; side <= 1; side += 2) {
        dBodyID crate = add_box(&r, p->crate, edge, edge, edge, 1);
        dBodySetPosition(crate, p->place, 0, height + side * (0.05 + edge / 2));
    }
    for (int b = 0; b < r.bodies; b++) { // about the centre of all
        dBodySetAngularVel(r.body[b], 0, 0, p->speed);
        dBodySetLinearVel(r.body[b], 0, p->speed * ((b ? p->place : 0) - middle), 0);
    }
    for (int i = 0; i < 500; i++) {
        for (int b = 1; b < r.bodies; b++) {
            dBodyAddForce(r.body[b], 0, 0, b == 1 ? press : -press);
        }
        step_rig(&r);
        for (int b = 1; b < r.bodies; b++) {
            const dReal *x = dBodyGetPosition(r.body[b]);
            dVector3 at;
            dBodyGetPosRelPoint(r.body[0], x[0], x[1], x[2], at);
            ck_assert_double_lt(hypot(at[0] - p->place, at[1]), 1e-6);
        }
    }
    close_rig(&r);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("grasp");
    ADD_TESTS_WITH(suite, "all", setup, dCloseODE,
                   {what_an_arm_carries_does_not_slip, EFFORTS * COUNT(carries)},
                   {what_a_wrist_turns_over_does_not_tilt, EFFORTS * COUNT(turned)},
                   {crates_on_a_plate_that_turns_freely_stay, EFFORTS * COUNT(plates)});
    return run_suite(suite);
}
