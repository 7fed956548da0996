// Rows of contacts in use: what programs leave unset, bounces between what moves, feedback of both
// bodies, sleep, and what near callbacks do besides making contacts.
#include "contacts.h"

// ---- surfaces as programs fill them in

// Everything but mode and mu, as a program leaves it that never cleared its dContact.
static void leave_unset(scene *s, double garbage)
{
    dSurfaceParameters *p = &s->contact.surface;
    p->mu2 = p->rho = p->rho2 = p->rhoN = p->bounce = p->soft_erp = p->soft_cfm = garbage;
    p->bounce_vel = fabs(garbage) / 1e9;
    p->motion1 = p->motion2 = p->motionN = p->slip1 = p->slip2 = garbage;
    for (int k = 0; k < 3; k++) {
        s->contact.fdir1[k] = garbage;
    }
}

static const double unset[] = {NAN, 0.9, -1e30, 1e300};

enum { UNSET = sizeof unset / sizeof unset[0] };

static void fields_without_bits(support_run *run)
{
    for (int i = 0; i < UNSET; i++) {
        scene *s = scene_open(run, NULL);
        dBodyID block = scene_block_on_plane(s);
        leave_unset(s, unset[i]);
        s->contact.surface.mu = MU;
        dBodySetLinearVel(block, 2, 1, 0);
        scene_run(s, 20);
        support_report_vector(run, dBodyGetLinearVel(block));
        scene_close(s);
        s = scene_open(run, NULL);
        dBodyID ball = scene_free_body(s, dCreateSphere(s->space, 0.1), 0, 0, 0.1 - 1e-8);
        dCreatePlane(s->space, 0, 0, 1, 0);
        leave_unset(s, unset[i]);
        dBodySetAngularVel(ball, 2, 0, 3);
        scene_run(s, 20);
        support_report_vector(run, dBodyGetAngularVel(ball));
        scene_close(s);
    }
}

static void fields_without_bits_expected(support_run *run)
{
    const double speed = sqrt(5), left = 1 - MU * G * 20 * H / speed;
    for (int i = 0; i < UNSET; i++) {
        dVector3 v = {2 * left, left, 0}, w = {2, 0, 3};
        support_report_vector(run, v);
        support_report_vector(run, w);
    }
}

// rho alone, and the others left as they are.
static void rolling_without_bits(support_run *run)
{
    for (int i = 0; i < UNSET; i++) {
        for (int axis = 0; axis < 3; axis++) {
            scene *s = scene_open(run, NULL);
            dBodyID ball = scene_free_body(s, dCreateSphere(s->space, 0.1), 0, 0, 0.1);
            dCreatePlane(s->space, 0, 0, 1, 0);
            leave_unset(s, unset[i]);
            s->contact.surface.mode |= dContactRolling;
            s->contact.surface.mu = 0;
            s->contact.surface.rho = 0.001;
            dBodySetAngularVel(ball, 9 * (axis == 0), 9 * (axis == 1), 9 * (axis == 2));
            scene_run(s, 20);
            support_report_vector(run, dBodyGetAngularVel(ball));
            scene_close(s);
        }
    }
}

static void rolling_without_bits_expected(support_run *run)
{
    for (int i = 0; i < UNSET; i++) {
        for (int axis = 0; axis < 3; axis++) {
            dVector3 w = {0};
            w[axis] = 9 - 0.001 * MASS * G / (0.4 * MASS * 0.01) * 20 * H;
            support_report_vector(run, w);
        }
    }
}

// Negative coefficients are none.
static void negative_fields(support_run *run)
{
    for (int i = 0; i < 2; i++) {
        scene *s = scene_open(run, NULL);
        dBodyID block = scene_block_on_plane(s);
        s->contact.surface.mode |= dContactMu2 | dContactFDir1 | dContactRolling;
        s->contact.surface.mu = i ? -1 : MU;
        s->contact.surface.mu2 = i ? MU : -1;
        s->contact.surface.rho = s->contact.surface.rho2 = s->contact.surface.rhoN = -1;
        s->contact.fdir1[0] = 1;
        dBodySetLinearVel(block, i ? 0.5 : 2, i ? 2 : 0.5, 0);
        dBodySetAngularVel(block, 0, 0, 1e-3);
        scene_run(s, 20);
        support_report_vector(run, dBodyGetLinearVel(block));
        support_report(run, 1e3 * dBodyGetAngularVel(block)[2]);
        scene_close(s);
    }
}

// An ellipse without one of its axes slows along the other one, in full where all slip is along it.
static void negative_fields_expected(support_run *run)
{
    for (int i = 0; i < 2; i++) {
        double slowed = 2 - MU * G * 20 * H;
        dVector3 v = {i ? 0.5 : slowed, i ? slowed : 0.5, 0};
        support_report_vector(run, v);
        support_report(run, 1);
    }
}

// Under bits that are set. Stock, which ends by some of them, is spared all.
static void odd_fields(support_run *run)
{
    static const double odd[] = {NAN, -INFINITY, -3};
    for (int i = 0; i < 3; i++) {
        scene *s = scene_open(run, NULL);
        dBodyID block = scene_block_on_plane(s);
        if (!is_stock(run)) {
            leave_unset(s, odd[i]);
            s->contact.surface.mode |= dContactBounce | dContactSlip1 | dContactSlip2 |
                                       dContactRolling | dContactFDir1 | dContactSoftCFM;
            s->contact.surface.mode |=
                odd[i] == -3 ? 0 : dContactMotion1 | dContactMotion2 | dContactMotionN;
            s->contact.surface.bounce_vel = odd[i];
        }
        s->contact.surface.mu = MU;
        dBodySetLinearVel(block, 2, 0, 0);
        scene_run(s, 20);
        support_report_vector(run, dBodyGetLinearVel(block));
        scene_close(s);
    }
}

static void odd_fields_expected(support_run *run)
{
    for (int i = 0; i < 3; i++) {
        dVector3 v = {2 - MU * G * 20 * H, 0, 0};
        support_report_vector(run, v);
    }
}

// Walls: motion, slip and two coefficients without fdir1, in the directions that ODE chooses.
static void own_directions(support_run *run)
{
    static const double wall[][3] = {
        {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0.6, 0, 0.8}, {0, -0.6, 0.8}};
    for (int i = 0; i < 5; i++) {
        for (int turned = 0; turned < 2; turned++) {
            scene *s = scene_open(run, NULL);
            const double *n = wall[i];
            dGeomID ball = dCreateSphere(s->space, 0.1);
            dBodyID body = scene_body(s, ball, 0.1 * n[0], 0.1 * n[1], 0.1 * n[2]);
            dCreatePlane(s->space, n[0], n[1], n[2], 0);
            dWorldSetGravity(s->world, -G * n[0], -G * n[1], -G * n[2]);
            s->turned = turned;
            s->contact.surface.mode |= dContactMu2 | dContactMotion1;
            s->contact.surface.mu = 0.2;
            s->contact.surface.mu2 = 0.6;
            s->contact.surface.motion1 = 3;
            s->contact.fdir1[0] = s->contact.fdir1[1] = 1; // without its bit
            scene_run(s, 10);
            support_report_vector(run, dBodyGetLinearVel(body));
            scene_close(s);
        }
    }
}

// ---- bounces

static const double RESTITUTION = 0.8;

// A ball comes down at 1 m/s on what comes up at half of it: another ball of half its mass, what a
// kinematic body carries, a surface in motion.
static void bounces_of_two(support_run *run)
{
    for (int i = 0; i < 6; i++) {
        scene *s = scene_open(run, NULL);
        dMass half;
        dGeomID floor = i / 2 == 2 ? dCreatePlane(s->space, 0, 0, 1, 0) : NULL;
        dBodyID ball = scene_body(s, dCreateSphere(s->space, 0.1), 0, 0, 0.1049);
        dBodyID other = floor ? NULL : scene_body(s, dCreateSphere(s->space, 0.1), 0, 0, -0.1);
        dWorldSetGravity(s->world, 0, 0, 0);
        s->turned = i & 1;
        s->contact.surface.mode |= dContactBounce | (floor ? dContactMotionN : 0);
        s->contact.surface.bounce = RESTITUTION;
        s->contact.surface.bounce_vel = 0.1;
        s->contact.surface.motionN = 0.5;
        dBodySetLinearVel(ball, 0, 0, -1);
        if (other) {
            dBodySetLinearVel(other, 0, 0, 0.5);
            dMassSetParameters(&half, MASS / 2, 0, 0, 0, 1e9, 1e9, 1e9, 0, 0, 0);
            dBodySetMass(other, &half);
        }
        if (i / 2 == 1) {
            dBodySetKinematic(other);
        }
        scene_run(s, 10);
        support_report_vector(run, dBodyGetLinearVel(ball));
        support_report(run, other ? dBodyGetLinearVel(other)[2] : 0);
        scene_close(s);
    }
}

static void bounces_of_two_expected(support_run *run)
{
    const double met = 1.5, pair = met * (1 + RESTITUTION) / 3;
    for (int i = 0; i < 6; i++) {
        double out = i / 2 == 0 ? -1 + pair : 0.5 + RESTITUTION * met;
        dVector3 v = {0, 0, out};
        support_report_vector(run, v);
        support_report(run, i / 2 == 0 ? 0.5 - 2 * pair : i / 2 == 1 ? 0.5 : 0);
    }
}

// A body that turns bounces on a point at the end of an arm.
static void bounce_of_an_arm(support_run *run)
{
    scene *s = scene_open(run, NULL);
    dMass mass;
    dGeomID tip = dCreateSphere(s->space, 0.1);
    dBodyID arm = scene_body(s, tip, 0, 0, 0.1);
    s->step = 1e-4;
    dWorldSetGravity(s->world, 0, 0, 0);
    dCreatePlane(s->space, 0, 0, 1, 0);
    dGeomSetOffsetPosition(tip, 0.5, 0, 1e-6);
    dMassSetParameters(&mass, MASS, 0, 0, 0, 0.2, 0.2, 0.2, 0, 0, 0);
    dBodySetMass(arm, &mass);
    dBodySetAngularVel(arm, 0, 1, 0); // the tip goes down at 0.5 m/s
    s->contact.surface.mode |= dContactBounce;
    s->contact.surface.bounce = RESTITUTION;
    scene_run(s, 5);
    support_report_vector(run, dBodyGetLinearVel(arm));
    support_report_vector(run, dBodyGetAngularVel(arm));
    scene_close(s);
}

static void bounce_of_an_arm_expected(support_run *run)
{
    const double impulse = 0.5 * (1 + RESTITUTION) / (1 / MASS + 0.5 * 0.5 / 0.2);
    dVector3 v = {0, 0, impulse / MASS}, w = {0, 1 - 0.5 * impulse / 0.2, 0};
    support_report_vector(run, v);
    support_report_vector(run, w);
}

// A trampoline.
static void bounce_above_one(support_run *run)
{
    scene *s = scene_open(run, NULL);
    dBodyID ball = scene_body(s, dCreateSphere(s->space, 0.1), 0, 0, 0.1149);
    dCreatePlane(s->space, 0, 0, 1, 0);
    dWorldSetGravity(s->world, 0, 0, 0);
    s->contact.surface.mode |= dContactBounce;
    s->contact.surface.bounce = 1.5;
    dBodySetLinearVel(ball, 0, 0, -1);
    scene_run(s, 10);
    support_report(run, dBodyGetLinearVel(ball)[2]);
    scene_close(s);
}

static void bounce_above_one_expected(support_run *run)
{
    support_report(run, 1.5);
}

// sprag's stiffness, without dissipation, and a bounce: faster than bounce_vel the bounce counts,
// slower the spring.
static void bounce_and_stiffness(support_run *run)
{
    for (int slow = 0; slow < 2; slow++) {
        scene *s = scene_open(run, NULL);
        dBodyID ball = scene_body(s, dCreateSphere(s->space, 0.1), 0, 0, 0.1049);
        s->step = 1e-4;
        dCreatePlane(s->space, 0, 0, 1, 0);
        dWorldSetGravity(s->world, 0, 0, 0);
        s->contact.surface.mode |= dContactBounce;
        s->contact.surface.bounce = 0.3;
        s->contact.surface.bounce_vel = slow ? 1.1 : 0.9;
        sprag_surface_set_stiffness(&s->contact.surface, 1e4);
        sprag_surface_set_dissipation(&s->contact.surface, 0);
        dBodySetLinearVel(ball, 0, 0, -1);
        scene_run(s, 800);
        support_report(run, dBodyGetLinearVel(ball)[2]);
        scene_close(s);
    }
}

static void bounce_and_stiffness_expected(support_run *run)
{
    support_report(run, 0.3);
    support_report(run, 1);
}

const support_row support_contacts[] = {
    {"Fields whose bit is not set: NaN, or any value",
     fields_without_bits,
     fields_without_bits_expected,
     {NEAR(5e-7, SMOOTH), NEAR(5e-09, HELD), EXACT}},
    {"the same for rolling friction: only `rho` is used",
     rolling_without_bits,
     rolling_without_bits_expected,
     {NEAR(2e-7, SMOOTH), EXACT, EXACT}},
    {"Negative `mu`, `mu2`, `rho` count as 0",
     negative_fields,
     negative_fields_expected,
     {NEAR(5e-7, SMOOTH), NEAR(1e-08, HELD), NEAR(2e-8, SMOOTH)}},
    {"Slip, bounce, CFM and `rho` below 0 or NaN count as 0",
     odd_fields,
     odd_fields_expected,
     {NEAR(5e-7, SMOOTH), NEAR(1e-08, HELD),
      NEAR_SAYING(2e-8, SMOOTH "; rigid, with a message", SOFT)}},
    {"Directions without `fdir1`, on walls and slopes",
     own_directions,
     NULL,
     {NEAR(5e-5, SMOOTH), AS_STOCK, AS_STOCK}},
    {"Bounces of two moving bodies, and off a kinematic body, with `motionN`",
     bounces_of_two,
     bounces_of_two_expected,
     {NEAR(5e-6, FLOOR), EXACT, NEAR(5e-6, FLOOR)}},
    {"A bounce of a spinning body",
     bounce_of_an_arm,
     bounce_of_an_arm_expected,
     {NEAR(5e-6, FLOOR), EXACT, NEAR(5e-6, FLOOR)}},
    {"`bounce` above 1",
     bounce_above_one,
     bounce_above_one_expected,
     {NEAR(5e-6, FLOOR), REFUSED("it counts as 1", "has a bounce above 1"), NEAR(5e-6, FLOOR)}},
    {"`dContactBounce` and sprag's stiffness: the spring below `bounce_vel`",
     bounce_and_stiffness,
     bounce_and_stiffness_expected,
     {NEAR(0.02, "first order in the step"), EXACT, REFUSED("rigid", SOFT)}},
    {0},
};
