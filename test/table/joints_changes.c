// Rows of joints: feedback, and joints that the program breaks, disables, attaches again or
// destroys.
#include "joints_use.h"

static void report_feedback(support_run *run, const support_scene *scene, pair *p, int pieces)
{
    ask_feedback(p);
    support_load_and_step(scene, p, 10, pieces);
    if (is_known(p) && sprag_ode_count_rows(p->joint).rows > 0) {
        support_report_vector(run, p->feedback.f1);
        support_report_vector(run, p->feedback.t1);
        support_report_vector(run, p->feedback.f2);
        support_report_vector(run, p->feedback.t2);
    }
    dJointSetFeedback(p->joint, NULL);
}

static void feedback_sampled(support_run *run, int pieces)
{
    each_type(run, PAIR_AT_REST | PAIR_TO_WORLD | PAIR_SKEWED, pieces, report_feedback);
}
IN_TIME(feedback)

// ---- all types

static void feedback_between(support_run *run)
{
    each_type(run, PAIR_MOVED, 1, report_feedback);
}

static void feedback_of_motors(support_run *run)
{
    each_type(run, PAIR_MOTORS | PAIR_STOPS, 1, report_feedback);
}

static void report_disabled(support_run *run, const support_scene *scene, pair *p, int pieces)
{
    support_load_and_step(scene, p, 5, pieces);
    dJointDisable(p->joint);
    support_load_and_step(scene, p, 3, pieces);
    dJointEnable(p->joint);
    report_motion(run, scene, p, pieces);
}

static void disabled(support_run *run)
{
    each_type(run, PAIR_AT_REST, 1, report_disabled);
}

static void report_reattached(support_run *run, const support_scene *scene, pair *p, int pieces)
{
    support_load_and_step(scene, p, 5, pieces);
    dJointAttach(p->joint, NULL, NULL); // in limbo
    support_load_and_step(scene, p, 2, pieces);
    dJointAttach(p->joint, p->body[1], p->body[0]);
    place_joint(p->joint);
    report_motion(run, scene, p, pieces);
}

static void reattached(support_run *run)
{
    static const int types[] = {dJointTypeBall, dJointTypeHinge, dJointTypeFixed, dJointTypeHinge2};
    for (int i = 0; i < 4; i++) {
        support_scene scene = support_scene_open(run, STEP);
        pair p;
        support_open_pair(&scene, &p, support_joint_kind(types[i]), PAIR_AT_REST);
        report_reattached(run, &scene, &p, 1);
        support_scene_close(&scene);
    }
}

// ---- one body held

static const int holding[] = {dJointTypeBall,   dJointTypeHinge,  dJointTypeUniversal,
                              dJointTypeSlider, dJointTypePiston, dJointTypeDBall,
                              dJointTypeDHinge, dJointTypeFixed};

enum { HOLDING = sizeof holding / sizeof holding[0] };

static void feedback_at_rest(support_run *run)
{
    for (int i = 0; i < HOLDING; i++) {
        support_scene scene = support_scene_open(run, STEP);
        dJointFeedback feedback = {.f2 = {1, 2, 3}}; // of no second body: stays as it is
        dWorldSetGravity(scene.world, G, 0, 0);
        dJointSetFeedback(hold(scene.world, holding[i], held_body(&scene, 0, 0, 0)), &feedback);
        steps(&scene, 40);
        support_report_vector(run, feedback.f1);
        support_report_vector(run, feedback.t1);
        support_report_vector(run, feedback.f2);
        support_scene_close(&scene);
    }
}

static void feedback_at_rest_expected(support_run *run)
{
    static const double f1[] = {-2 * 9.81, 0, 0}, t1[3], f2[] = {1, 2, 3};
    for (int i = 0; i < HOLDING; i++) {
        support_report_vector(run, f1);
        support_report_vector(run, t1);
        support_report_vector(run, f2);
    }
}

// Breaks at 50 N, by a load that grows by 1 N a step.
static void breaks(support_run *run)
{
    for (int i = 0; i < HOLDING; i++) {
        support_scene scene = support_scene_open(run, STEP);
        dBodyID body = held_body(&scene, 0, 0, 0);
        dJointFeedback feedback = {.f1 = {0}};
        dWorldSetGravity(scene.world, G, 0, 0);
        dJointID joint = hold(scene.world, holding[i], body);
        dJointSetFeedback(joint, &feedback);
        int step = 0;
        while (step < 60 && dCalcVectorLength3(feedback.f1) <= 50) {
            dBodyAddForce(body, step++, 0, 0);
            support_scene_step(&scene);
        }
        dJointDestroy(joint);
        double before = dBodyGetLinearVel(body)[0];
        support_scene_step(&scene);
        support_report(run, step);
        support_report(run, dBodyGetLinearVel(body)[0] - before);
        support_scene_close(&scene);
    }
}

static void breaks_expected(support_run *run)
{
    for (int i = 0; i < HOLDING; i++) {
        support_report(run, 32); // 31 N and the weight
        support_report(run, G * STEP);
    }
}

// ---- while the world runs

static pair moved_pair;
static int moved_left;

static void destroy_joint(dBodyID body)
{
    (void)body;
    if (moved_left-- == 0) {
        dJointDestroy(moved_pair.joint);
    }
}

static void destroyed_sampled(support_run *run, int pieces)
{
    support_scene scene = support_scene_open(run, STEP);
    support_open_pair(&scene, &moved_pair, support_joint_kind(dJointTypeHinge), PAIR_AT_REST);
    ask_feedback(&moved_pair);
    moved_left = 10 * pieces - 1;
    dBodySetMovedCallback(moved_pair.body[0], destroy_joint);
    support_load_and_step(&scene, &moved_pair, 20, pieces);
    support_report_pair(run, &moved_pair);
    support_report(run, dBodyGetNumJoints(moved_pair.body[0]));
    support_scene_close(&scene);
}
IN_TIME(destroyed)

// ---- joints with others

// A ball on a kinematic slide comes down on a floor at 1 m/s; the program's callback lets go of it,
// or holds it there.
typedef enum reaction { DESTROY, DETACH, DISABLE, EMPTY_GROUP, HOLD, REACTIONS } reaction;

typedef struct descent {
    reaction reaction;
    dWorldID world;
    dJointGroupID group;
    dJointID joint; // NULL: let go
} descent;

static void react(void *data, dGeomID a, dGeomID b)
{
    descent *d = data;
    dContactGeom contact;
    if (!d->joint || dCollide(a, b, 1, &contact, sizeof contact) == 0) {
        return;
    }
    dBodyID body = dJointGetBody(d->joint, 0);
    switch (d->reaction) {
    case DESTROY:
        dJointDestroy(d->joint);
        break;
    case DETACH:
        dJointAttach(d->joint, NULL, NULL);
        break;
    case DISABLE:
        dJointDisable(d->joint);
        break;
    case EMPTY_GROUP:
        dJointGroupEmpty(d->group);
        break;
    default:
        dJointSetFixed(d->joint);
        d->joint = dJointCreateFixed(d->world, d->group);
        dJointAttach(d->joint, body, NULL);
        dJointSetFixed(d->joint);
    }
    d->joint = NULL;
}

static void descents(support_run *run)
{
    for (int i = 0; i < REACTIONS; i++) {
        support_scene scene = support_scene_open(run, STEP);
        descent d = {(reaction)i, scene.world, dJointGroupCreate(0), NULL};
        dBodyID slide = dBodyCreate(scene.world), body = held_body(&scene, 0, 0, 0.1049);
        dCreatePlane(scene.space, 0, 0, 1, 0);
        dBodySetKinematic(slide);
        dBodySetLinearVel(slide, 0, 0, -1);
        dBodySetLinearVel(body, 0, 0, -1);
        d.joint = dJointCreateFixed(scene.world, d.group);
        dJointAttach(d.joint, body, i == HOLD ? NULL : slide);
        dJointSetFixed(d.joint);
        if (i == HOLD) {
            dJointDisable(d.joint);
        }
        for (int k = 0; k < 30; k++) {
            dSpaceCollide(scene.space, &d, react);
            dWorldStep(scene.world, STEP);
            dBodyAddForce(body, 4, 0, 0);
        }
        support_report_vector(run, dBodyGetLinearVel(body));
        dJointGroupDestroy(d.group);
        support_scene_close(&scene);
    }
}

#define FLIGHT "bodies without joints fly exactly, with their gyroscopic torque"

const support_row support_joint_changes[] = {
    {"feedback at rest", feedback_at_rest, feedback_at_rest_expected, {EXACT, EXACT, EXACT}},
    {"feedback in motion",
     feedback,
     feedback_in_time,
     {AS_STOCK, CONTINUOUS, NEARER(0.03, CIRCLES)}},
    {"feedback in motion and error",
     feedback_between,
     NULL,
     {AS_STOCK, AS_IT_GOES(0.06), NEAR(0.001, CIRCLES)}},
    {"feedback of motors and stops",
     feedback_of_motors,
     NULL,
     {AS_STOCK,
      NEAR_SAYING(1.1,
                  "of the end of the step, with the motor's force at a stop, which ODE leaves out; "
                  "AMotors as `stribeck`, with a message",
                  "joints"),
      NEAR(0.006, CIRCLES)}},
    {"broken by feedback", breaks, breaks_expected, {EXACT, EXACT, EXACT}},
    {"disabled and enabled",
     disabled,
     NULL,
     {NEAR(1e-5, FLIGHT), AS_IT_GOES(0.006), FLYING(0.006)}},
    {"attached again", reattached, NULL, {NEAR(1e-5, FLIGHT), AS_IT_GOES(0.006), FLYING(0.001)}},
    {"destroyed, detached, disabled or made in a near callback",
     descents,
     NULL,
     {AS_STOCK, NEAR(0.005, "released at once, not a step later; attached from the next step on"),
      NEAR(0.002, "a joint made within a step acts from the next one on")}},
    {"destroyed in a moved callback",
     destroyed,
     destroyed_in_time,
     {NEAR(0.006, "of order 1, as stock's; then bodies fly exactly"),
      NEAR(0.003, "forces act at the start of a step where nothing holds the body"),
      NEAR(0.006, "of order 1, as stock's; then bodies fly exactly")}},
    {0},
};
