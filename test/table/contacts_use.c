// Rows of contacts: feedback, joints of contacts, sleep, near callbacks, landings within a step.
#include "contacts.h"

// ---- feedback of both bodies

static dJointFeedback sum_of(const scene *s)
{
    dJointFeedback sum = {.f1 = {0}};
    for (int i = 0; i < s->joints; i++) {
        for (int k = 0; k < 3; k++) {
            sum.f1[k] += s->feedback[i].f1[k];
            sum.t1[k] += s->feedback[i].t1[k];
            sum.f2[k] += s->feedback[i].f2[k];
            sum.t2[k] += s->feedback[i].t2[k];
        }
    }
    return sum;
}

// A block that is pulled over one which the program holds, without moving; attached either way.
static void feedback_of_two(support_run *run)
{
    for (int turned = 0; turned < 2; turned++) {
        scene *s = scene_open(run, NULL);
        dBodyID upper = scene_free_body(s, dCreateBox(s->space, 0.4, 0.4, 0.2), 0, 0, 0.2 - 1e-8);
        dBodyID lower = scene_body(s, dCreateBox(s->space, 1, 1, 0.2), 0, 0, 0);
        dBodySetKinematic(lower);
        s->turned = turned;
        s->contact.surface.mu = MU;
        for (int n = 0; n < 50; n++) {
            dBodyAddForce(upper, 5, 0, 0);
            scene_step(s);
        }
        dJointFeedback sum = sum_of(s);
        bool first = dJointGetBody(dBodyGetJoint(upper, 0), 0) == upper;
        support_report_vector(run, first ? sum.f1 : sum.f2);
        support_report_vector(run, first ? sum.t1 : sum.t2);
        support_report_vector(run, first ? sum.f2 : sum.f1);
        support_report_vector(run, first ? sum.t2 : sum.t1);
        scene_close(s);
    }
}

static void feedback_of_two_expected(support_run *run)
{
    const dVector3 up = {-5, 0, MASS * G}, none = {0}, down = {5, 0, -MASS * G}, turn = {0, 1, 0};
    for (int turned = 0; turned < 2; turned++) {
        support_report_vector(run, up);
        support_report_vector(run, none);
        support_report_vector(run, down);
        support_report_vector(run, turn);
    }
}

// Of what slows a ball that spins, and of a contact that no longer touches.
static void feedback_of_friction(support_run *run)
{
    scene *s = scene_open(run, NULL);
    dBodyID ball = scene_body(s, dCreateSphere(s->space, 0.1), 0, 0, 0.1 - 1e-8);
    dCreatePlane(s->space, 0, 0, 1, 0);
    s->contact.surface.mode |= dContactRolling;
    s->contact.surface.mu = MU;
    s->contact.surface.rho = 0.01;
    dBodySetLinearVel(ball, 2, 0, 0);
    dBodySetAngularVel(ball, 0, 0, 3);
    scene_run(s, 10);
    dJointFeedback sum = sum_of(s);
    support_report_vector(run, sum.f1);
    support_report_vector(run, sum.t1);
    scene_close(s);
}

static void feedback_of_friction_expected(support_run *run)
{
    dVector3 f = {-MU * MASS * G, 0, MASS * G}, t = {0, 0.1 * MU * MASS * G, -0.01 * MASS * G};
    support_report_vector(run, f);
    support_report_vector(run, t);
}

// ---- joints of contacts

// Of no group, each destroyed by the program; one is never attached.
static void without_a_group(support_run *run)
{
    scene *s = scene_open(run, NULL);
    dBodyID block = scene_block_on_plane(s);
    s->contact.surface.mu = MU;
    dJointGroupID group = s->group;
    s->group = NULL;
    dBodySetLinearVel(block, 2, 0, 0);
    for (int n = 0; n < 20; n++) {
        dSpaceCollide(s->space, s, scene_near);
        dJointCreateContact(s->world, n ? NULL : group, &s->contact);
        dWorldStep(s->world, H);
        while (dBodyGetNumJoints(block) > 0) {
            dJointDestroy(dBodyGetJoint(block, 0));
        }
        s->joints = 0;
    }
    support_report_vector(run, dBodyGetLinearVel(block));
    s->group = group;
    scene_close(s);
}

static void sliding_expected(support_run *run)
{
    dVector3 v = {2 - MU * G * 20 * H, 0, 0};
    support_report_vector(run, v);
}

// A block on another that slides, on a belt: motion2 and slip between two that move, and stock's
// order of bodies.
static void two_that_move(support_run *run)
{
    for (int i = 0; i < 8; i++) {
        scene *s = scene_open(run, NULL);
        dBodyID lower = scene_block(s, 0, 0), upper = scene_block(s, 0, 0);
        dBodySetPosition(upper, 0, 0, 0.3 - 2e-8);
        dWorldSetGravity(s->world, 0, 0, 0);
        s->turned = i & 1;
        s->contact.surface.mode |= dContactFDir1 | dContactMu2;
        s->contact.surface.mode |= i & 2 ? dContactMotion2 : 0;
        s->contact.surface.mode |= i & 4 ? dContactSlip1 | dContactSlip2 : 0;
        s->contact.surface.mu = 0.3;
        s->contact.surface.mu2 = 0.6;
        s->contact.surface.motion2 = 4;
        s->contact.surface.slip1 = 0.01;
        s->contact.surface.slip2 = 0.02;
        s->contact.fdir1[0] = 1;
        dBodySetLinearVel(upper, i & 2 ? 0 : 3, i & 2 ? 0.5 : 0, 0);
        for (int n = 0; n < 20; n++) {
            dBodyAddForce(upper, 0, 0, -MASS * G);
            dBodyAddForce(lower, 0, 0, MASS * G);
            scene_step(s);
        }
        support_report_vector(run, dBodyGetLinearVel(upper));
        support_report_vector(run, dBodyGetLinearVel(lower));
        scene_close(s);
    }
}

// A wheel that a motor on its hinge drives, with its car.
static void driven_wheel(support_run *run)
{
    scene *s = scene_open(run, NULL);
    dBodyID wheel = scene_free_body(s, dCreateSphere(s->space, 0.1), 0, 0, 0.1 - 1e-8);
    dBodyID car = scene_body(s, NULL, 0, 0.2, 0.3);
    dJointID hinge = dJointCreateHinge(s->world, NULL);
    dCreatePlane(s->space, 0, 0, 1, 0);
    dJointAttach(hinge, car, wheel);
    dJointSetHingeAnchor(hinge, 0, 0, 0.1);
    dJointSetHingeAxis(hinge, 0, 1, 0);
    dJointSetHingeParam(hinge, dParamVel, -1000);
    dJointSetHingeParam(hinge, dParamFMax, 0.5);
    s->contact.surface.mu = 1;
    scene_run(s, 50);
    support_report_vector(run, dBodyGetLinearVel(car));
    support_report(run, 0.1 * dBodyGetAngularVel(wheel)[1]);
    scene_close(s);
}

static void driven_wheel_expected(support_run *run)
{
    const double speed = 0.5 / 0.1 / (2 * MASS + 0.4 * MASS) * 50 * H;
    dVector3 v = {speed, 0, 0};
    support_report_vector(run, v);
    support_report(run, speed);
}

// Friction and a stack under the other stepper.
static void quickly(support_run *run)
{
    for (int i = 0; i < 2; i++) {
        scene *s = scene_open(run, NULL);
        dBodyID block = scene_block_on_plane(s), upper = scene_block(s, 0, 0);
        dBodySetPosition(upper, 0, 0, i ? 0.3 - 2e-8 : 9);
        s->contact.surface.mu = MU;
        dBodySetLinearVel(block, 2, 0, 0);
        dBodySetLinearVel(upper, 2, 0, 0);
        for (int n = 0; n < 20; n++) {
            scene_empty(s);
            dSpaceCollide(s->space, s, scene_near);
            support_report(run, dWorldQuickStep(s->world, H));
        }
        support_report_vector(run, dBodyGetLinearVel(block));
        support_report(run, dBodyGetLinearVel(upper)[0]);
        scene_close(s);
    }
}

static void quickly_expected(support_run *run)
{
    for (int i = 0; i < 2; i++) {
        dVector3 v = {2 - MU * G * 20 * H, 0, 0};
        for (int n = 0; n < 20; n++) {
            support_report(run, 1);
        }
        support_report_vector(run, v);
        support_report(run, i ? v[0] : 2);
    }
}

// ---- sleep

// Steps, in hundreds, after which each has fallen asleep; 0: never.
static void report_asleep(support_run *run, scene *s, const dBodyID *body, int bodies, int steps)
{
    enum { MOST = 4 };
    int asleep[MOST] = {0};
    for (int n = 1; n <= steps; n++) {
        scene_step(s);
        for (int k = 0; k < bodies; k++) {
            asleep[k] = dBodyIsEnabled(body[k]) ? 0 : asleep[k] ? asleep[k] : n;
        }
    }
    for (int k = 0; k < bodies; k++) {
        support_report(run, asleep[k]);
        support_report_vector(run, dBodyGetLinearVel(body[k]));
    }
}

// At rest, one on the other, one apart that slides first, one that is pushed on.
static void falls_asleep(support_run *run)
{
    scene *s = scene_open(run, NULL);
    dBodyID body[4] = {scene_block_on_plane(s), scene_block(s, 0, 0), scene_block(s, 3, 0),
                       scene_block(s, 6, 0)};
    dBodySetPosition(body[1], 0, 0, 0.3 - 2e-8);
    s->contact.surface.mu = MU;
    for (int k = 0; k < 4; k++) {
        dBodySetAutoDisableFlag(body[k], 1);
    }
    dBodySetAutoDisableTime(body[1], 0.3);
    dBodySetLinearVel(body[2], 1, 0, 0);
    dBodySetLinearVel(body[3], 0.5, 0, 0);
    dBodySetDamping(body[3], 0, 0);
    report_asleep(run, s, body, 4, 60);
    scene_close(s);
}

// A sleeper that is fallen on, one that is not.
static void is_woken(support_run *run)
{
    scene *s = scene_open(run, NULL);
    dBodyID sleeper = scene_block_on_plane(s), other = scene_block(s, 3, 0);
    dBodyID ball = scene_body(s, dCreateSphere(s->space, 0.1), 0, 0, 0.45);
    int woken = 0;
    s->contact.surface.mu = MU;
    dBodyDisable(sleeper);
    dBodyDisable(other);
    for (int n = 1; n <= 40; n++) {
        scene_step(s);
        woken = woken || !dBodyIsEnabled(sleeper) ? woken : n;
    }
    support_report(run, woken * H);
    support_report(run, dBodyIsEnabled(other));
    support_report_vector(run, dBodyGetLinearVel(sleeper));
    support_report_vector(run, dBodyGetLinearVel(ball));
    support_report_vector(run, dBodyGetLinearVel(other));
    scene_close(s);
}

// ---- near callbacks that do other things

typedef enum deed { DESTROY, SPAWN, PUSH, CATCH, TURN_BACK, DEEDS } deed;

typedef struct stage {
    scene *scene;
    deed deed;
    dBodyID ball, other, made;
    bool done;
} stage;

// Once, when the ball has come to the floor.
static void act(void *data, dGeomID a, dGeomID b)
{
    stage *t = data;
    dContactGeom at[4];
    if (t->done || dCollide(a, b, 4, at, sizeof at[0]) == 0) {
        return;
    }
    t->done = true;
    switch (t->deed) {
    case DESTROY:
        dBodyDestroy(t->other); // has no geom: stock does not let go of those in a space here
        break;
    case SPAWN:
        t->made = dBodyCreate(dBodyGetWorld(t->ball));
        dBodySetPosition(t->made, 5, 0, 1);
        dBodySetLinearVel(t->made, 1, 0, 0);
        break;
    case PUSH:
        dBodyAddForce(t->ball, 200, 0, 0);
        break;
    case CATCH:
        dBodySetKinematic(t->ball);
        break;
    default:
        dBodySetLinearVel(t->ball, 0, 0, 1);
    }
}

// No longer pushed, and turned round; it goes on to be spun.
static void lets_go(void *data, dGeomID a, dGeomID b)
{
    stage *t = data;
    dContactGeom at[4];
    if (!t->done && dCollide(a, b, 4, at, sizeof at[0]) > 0) {
        t->done = true;
        dBodySetForce(t->ball, 0, 0, 0);
        dBodySetLinearVel(t->ball, 0, 0, 1);
    }
}

static void let_go_of_forces(support_run *run)
{
    scene *s = scene_open(run, NULL);
    stage t = {.scene = s};
    dCreatePlane(s->space, 0, 0, 1, 0);
    t.ball = scene_body(s, dCreateSphere(s->space, 0.1), 0, 0, 0.1249);
    dWorldSetGravity(s->world, 0, 0, 0);
    dBodySetLinearVel(t.ball, 0, 0, -1);
    dMass mass;
    dBodyGetMass(t.ball, &mass);
    int n = 0;
    for (; n < 20 && !t.done; n++) {
        dBodyAddForce(t.ball, 200, 0, 0);
        dBodyAddTorque(t.ball, 0, 0, 0.1);
        dSpaceCollide(s->space, &t, lets_go);
        dWorldStep(s->world, H);
    }
    support_report(run, dBodyGetAngularVel(t.ball)[2] - n * H * 0.1 / mass.I[10]);
    support_report_vector(run, dBodyGetLinearVel(t.ball));
    support_report_vector(run, dBodyGetForce(t.ball));
    support_report_vector(run, dBodyGetTorque(t.ball));
    dSpaceCollide(s->space, &t, lets_go);
    dWorldStep(s->world, H);
    support_report_vector(run, dBodyGetLinearVel(t.ball));
    scene_close(s);
}

static void deeds(support_run *run)
{
    for (int i = 0; i < DEEDS; i++) {
        scene *s = scene_open(run, NULL);
        stage t = {.scene = s, .deed = (deed)i};
        dBodyID witness = scene_body(s, dCreateSphere(s->space, 0.1), 9, 0, 5);
        dCreatePlane(s->space, 0, 0, 1, 0);
        t.ball = scene_body(s, dCreateSphere(s->space, 0.1), 0, 0, 0.1249);
        t.other = scene_body(s, NULL, 0, 0, 3);
        dJointAttach(dJointCreateBall(s->world, NULL), t.other, NULL);
        dWorldSetGravity(s->world, 0, 0, 0);
        dBodySetLinearVel(t.ball, 0, 0, -1);
        for (int n = 0; n < 8; n++) {
            dSpaceCollide(s->space, &t, act);
            dWorldStep(s->world, H);
        }
        support_report(run, t.done);
        support_report_vector(run, dBodyGetLinearVel(t.ball));
        support_report_vector(run, dBodyGetForce(t.ball));
        support_report_vector(run, dBodyGetLinearVel(t.made ? t.made : witness));
        scene_close(s);
    }
    let_go_of_forces(run);
}

static void deeds_expected(support_run *run)
{
    const dVector3 rest = {0}, falling = {0, 0, -1}, pushed = {200 / MASS * H, 0, -1};
    const dVector3 set = {0, 0, 1}, made = {1, 0, 0};
    const dReal *ball[DEEDS] = {falling, falling, pushed, falling, set};
    for (int i = 0; i < DEEDS; i++) {
        support_report(run, 1);
        support_report_vector(run, ball[i]);
        support_report_vector(run, rest);
        support_report_vector(run, i == SPAWN ? made : rest);
    }
    support_report(run, 0);
    support_report_vector(run, set);
    support_report_vector(run, rest);
    support_report_vector(run, rest);
    support_report_vector(run, set);
}

// ---- contacts within a step

// A ball over ground, which are asked for in either order.
typedef struct landing {
    scene *scene;
    dGeomID pair[2];
    dBodyID ball;
} landing;

static landing ball_over_ground(const support_run *run, bool ground_first, bool turns)
{
    const double above = 0.106; // m, that the fourth step of four ends below
    landing l = {.scene = scene_open(run, NULL)};
    l.pair[!ground_first] = dCreatePlane(l.scene->space, 0, 0, 1, 0);
    l.pair[ground_first] = dCreateSphere(l.scene->space, 0.1);
    l.ball = (turns ? scene_free_body : scene_body)(l.scene, l.pair[ground_first], 0, 0, above);
    return l;
}

static void step_landing(const landing *l)
{
    scene_empty(l->scene);
    memset(l->scene->feedback, 0, sizeof l->scene->feedback);
    dSpaceCollide2(l->pair[0], l->pair[1], l->scene, scene_near);
    dWorldStep(l->scene->world, H);
}

// Belts that take along what does not turn, from the start.
static void landing_on_belts(support_run *run)
{
    for (int i = 0; i < 8; i++) {
        landing l = ball_over_ground(run, i & 1, false);
        dContact *contact = &l.scene->contact;
        l.scene->turned = i & 2;
        contact->surface.mode |= dContactFDir1 | (i & 4 ? dContactMotion2 : dContactMotion1);
        contact->surface.motion1 = contact->surface.motion2 = 0.1;
        contact->surface.mu = 1;
        contact->fdir1[0] = 1;
        for (int n = 0; n < 5; n++) {
            step_landing(&l);
        }
        support_report(run, dBodyGetLinearVel(l.ball)[0]);
        support_report(run, dBodyGetLinearVel(l.ball)[1]);
        scene_close(l.scene);
    }
}

static void landing_on_belts_expected(support_run *run)
{
    support_report_pairs(run, 4, 0.1, 0);
    support_report_pairs(run, 4, 0, 0.1);
}

// Momentum and spin of a ball after an impact equal the sums of feedback and weight.
static void landing_feedback(support_run *run)
{
    static const double w[3] = {20, 10, 5};
    for (int i = 0; i < 2; i++) {
        landing l = ball_over_ground(run, i, true);
        dContact *contact = &l.scene->contact;
        double inertia = 0.4 * MASS * 0.1 * 0.1, p[3] = {0, 0, -MASS * G * 6 * H}, L[3] = {0};
        contact->surface.mode |= dContactRolling | dContactFDir1;
        contact->surface.mu = 0.3;
        contact->surface.rho = contact->surface.rho2 = contact->surface.rhoN = 0.02;
        contact->fdir1[0] = 1;
        dBodySetAngularVel(l.ball, w[0], w[1], w[2]);
        for (int n = 0; n < 6; n++) {
            step_landing(&l);
            dJointFeedback sum = sum_of(l.scene);
            for (int k = 0; k < 3; k++) {
                p[k] += H * sum.f1[k];
                L[k] += H * sum.t1[k];
            }
        }
        for (int k = 0; k < 3; k++) {
            support_report(run, p[k] - MASS * dBodyGetLinearVel(l.ball)[k]);
            support_report(run, L[k] - inertia * (dBodyGetAngularVel(l.ball)[k] - w[k]));
        }
        scene_close(l.scene);
    }
}

static void landing_feedback_expected(support_run *run)
{
    support_report_pairs(run, 6, 0, 0);
}

static void add_feedback(dBodyID body, double sum[6])
{
    for (int i = 0; i < dBodyGetNumJoints(body); i++) {
        dJointID joint = dBodyGetJoint(body, i);
        const dJointFeedback *f = dJointGetFeedback(joint);
        bool first = dJointGetBody(joint, 0) == body;
        add_scaled(sum, H, first ? f->f1 : f->f2, 3);
        add_scaled(sum + 3, H, first ? f->t1 : f->t2, 3);
    }
}

// Of two balls that spin and graze each other, rigid and soft, attached either way.
static void collision_feedback(support_run *run)
{
    static const double v[2] = {0, -1}, w[2][3] = {{5, 10, 3}, {0, -4, 7}};
    for (int i = 0; i < 4; i++) {
        scene *s = scene_open(run, NULL);
        dBodyID ball[2];
        double sum[2][6] = {{0}}, inertia = 0.4 * MASS * 0.1 * 0.1;
        dWorldSetGravity(s->world, 0, 0, 0);
        s->turned = i & 1;
        s->contact.surface.mu = 0.3;
        if (i & 2) {
            sprag_surface_set_stiffness(&s->contact.surface, 1e4);
            sprag_surface_set_dissipation(&s->contact.surface, 0.2);
        }
        for (int k = 0; k < 2; k++) {
            dGeomID geom = dCreateSphere(s->space, 0.1);
            ball[k] = scene_free_body(s, geom, k * 0.215, k * 0.05, k * 0.02);
            dBodySetLinearVel(ball[k], v[k], 0, 0);
            dBodySetAngularVel(ball[k], w[k][0], w[k][1], w[k][2]);
        }
        for (int n = 0; n < 15; n++) {
            memset(s->feedback, 0, sizeof s->feedback);
            scene_step(s);
            add_feedback(ball[0], sum[0]);
            add_feedback(ball[1], sum[1]);
        }
        for (int k = 0; k < 2; k++) {
            for (int axis = 0; axis < 3; axis++) {
                double start = axis == 0 ? v[k] : 0;
                const dReal *end = dBodyGetLinearVel(ball[k]);
                support_report(run, sum[k][axis] - MASS * (end[axis] - start));
                end = dBodyGetAngularVel(ball[k]);
                support_report(run, sum[k][3 + axis] - inertia * (end[axis] - w[k][axis]));
            }
        }
        scene_close(s);
    }
}

static void collision_feedback_expected(support_run *run)
{
    support_report_pairs(run, 24, 0, 0);
}

const support_row support_contact_uses[] = {
    {"Feedback of both bodies: forces and torques, attached either way",
     feedback_of_two,
     feedback_of_two_expected,
     {NEAR(5e-6, SMOOTH), EXACT, NEAR(5e-7, SMOOTH)}},
    {"Feedback of sliding, rolling and spinning friction",
     feedback_of_friction,
     feedback_of_friction_expected,
     {NEAR(1e-4, SMOOTH), NEAR(2e-07, HELD), NEAR(1e-7, SMOOTH)}},
    {"Feedback of contacts made within a step: sums of sliding, rolling and spinning friction",
     landing_feedback,
     landing_feedback_expected,
     {EXACT, EXACT, EXACT}},
    {"the same for two bodies that collide, rigid and with sprag's stiffness",
     collision_feedback,
     collision_feedback_expected,
     {NEAR(1e-7, "tolerance of a solve"), EXACT, EXACT_SAYING("rigid, with a message", SOFT)}},
    {"Contact joints of no group, destroyed one by one, or never attached",
     without_a_group,
     sliding_expected,
     {NEAR(5e-7, SMOOTH), NEAR(1e-08, HELD), NEAR(2e-8, SMOOTH)}},
    {"`mu2`, motion2 and slip between two that move, attached either way",
     two_that_move,
     NULL,
     {NEAR(3e-5, SMOOTH), NEAR(0.2, HELD), NEAR(5e-9, SMOOTH)}},
    {"A wheel driven by a hinge's motor",
     driven_wheel,
     driven_wheel_expected,
     {NEAR(5e-7, SMOOTH), NEAR(5e-07, HELD), NEAR(1e-5, SMOOTH)}},
    {"Contacts under `dWorldQuickStep`",
     quickly,
     quickly_expected,
     {NEAR(1e-6, FLOOR), NEAR(0.0002, HELD), NEAR(2e-5, SMOOTH)}},
    {"Motion1 and motion2 of belts that are touched within a step, attached either way",
     landing_on_belts,
     landing_on_belts_expected,
     {NEAR(1e-4, SMOOTH), NEAR(5e-09, HELD), NEAR(1e-08, SMOOTH)}},
    {"Auto-disable of bodies that rest on others, and of bodies that slide first",
     falls_asleep,
     NULL,
     {AS_STOCK, NEAR(0.1, HELD), AS_STOCK}},
    {"A disabled body that another falls on",
     is_woken,
     NULL,
     {NEAR(1e-5, FLOOR), NEAR(5e-05, HELD),
      NEAR(2e-5, "it wakes in the step in which it may be hit")}},
    {"Near callbacks that destroy, create, push, set or hold bodies",
     deeds,
     deeds_expected,
     {EXACT, EXACT, EXACT}},
    {0},
};
