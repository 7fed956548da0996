// Rows of bodies: moved callbacks, auto-disable and wake-up.
#include "bodies.h"

// ---- moved callbacks

static int calls;
static dVector3 seen;

static void saw(dBodyID body)
{
    calls++;
    dBodyCopyPosition(body, seen);
}

static void moved_callbacks(support_run *run)
{
    dWorldID world = support_world(run, NULL);
    dBodyID body = support_solid(world, 0, 0, 1), other = support_solid(world, 3, 0, 1);
    calls = 0;
    dBodySetLinearVel(body, 1, 2, 3);
    dBodySetMovedCallback(body, saw);
    dBodySetMovedCallback(other, saw);
    dBodySetKinematic(other);
    steps(world, 3);
    support_report(run, calls);
    dBodyDisable(other);
    steps(world, 3);
    support_report(run, calls);
    support_report_vector(run, seen);
    dWorldDestroy(world);
}

enum { MOVERS = 4 };

static dBodyID mover[MOVERS];
static int order[8 * MOVERS];

// Which one it is; the second one's is taken off when it has been called twice.
static void writes_down(dBodyID body)
{
    static int seconds;
    seconds = calls == 0 ? 0 : seconds;
    for (int k = 0; k < MOVERS; k++) {
        if (mover[k] == body) {
            order[calls++] = k;
            seconds += k == 1;
        }
    }
    if (body == mover[1] && seconds == 2) {
        dBodySetMovedCallback(body, NULL);
    }
}

// Two on a joint, two alone.
static void order_of_callbacks(support_run *run)
{
    dWorldID world = support_world(run, NULL);
    calls = 0;
    for (int k = 0; k < MOVERS; k++) {
        mover[k] = support_solid(world, 0, 0, k);
        dBodySetMovedCallback(mover[k], writes_down);
        dBodySetLinearVel(mover[k], 1, 0, 0);
    }
    dJointID joint = dJointCreateFixed(world, 0);
    dJointAttach(joint, mover[0], mover[2]);
    dJointSetFixed(joint);
    steps(world, 5);
    support_report(run, calls);
    for (int i = 0; i < calls; i++) {
        support_report(run, order[i]);
    }
    dWorldDestroy(world);
}

static dGeomID follower;
static dReal bounds[6];

static void looks_at_geom(dBodyID body)
{
    (void)body;
    dCopyVector3(seen, dGeomGetPosition(follower));
    dGeomGetAABB(follower, bounds);
}

// In a moved callback and after the step.
static void geoms_follow(support_run *run)
{
    dWorldID world = support_world(run, NULL);
    dBodyID body = start_flight(world, turns_finitely);
    follower = dCreateBox(0, 0.2, 0.3, 0.4);
    dGeomSetBody(follower, body);
    dGeomSetOffsetPosition(follower, 0.1, 0.2, 0.3);
    dBodySetMovedCallback(body, looks_at_geom);
    for (int i = 0; i < 5; i++) {
        dReal after[6];
        support_step(world, STEP);
        support_report_vector(run, seen);
        support_report_vector(run, bounds);
        support_report_vector(run, bounds + 3);
        dGeomGetAABB(follower, after);
        support_report_vector(run, after);
        support_report_vector(run, after + 3);
        support_report_vector(run, dGeomGetPosition(follower));
        support_report_vector(run, dGeomGetRotation(follower));
    }
    dGeomDestroy(follower);
    dWorldDestroy(world);
}

static void pushes(dBodyID body)
{
    calls++;
    dBodyAddForce(body, 0, 0, 200);
}

// Stock's dWorldStep forgets forces that are added there.
static void forces_in_callbacks(support_run *run)
{
    dWorldID world = support_world(run, NULL);
    dBodyID body = support_solid(world, 0, 0, 1), other = support_solid(world, 0, 0, 2);
    dJointID joint = dJointCreateBall(world, 0);
    dJointAttach(joint, body, other);
    dJointSetBallAnchor(joint, 0, 0, 1.5);
    dBodySetMovedCallback(body, pushes);
    steps(world, 10);
    support_report_vector(run, dBodyGetLinearVel(body));
    support_report_vector(run, dBodyGetForce(body));
    support_report_vector(run, dBodyGetLinearVel(other));
    dWorldDestroy(world);
}

// ---- islands of two bodies each, on joints

enum { PAIRS = 3, IN_PAIRS = 2 * PAIRS };

static struct {
    dBodyID body[IN_PAIRS];
    dVector3 force[IN_PAIRS]; // seen in its callback
    int calls;
} pairs;

static int number_in_pairs(dBodyID body)
{
    int i = 0;
    while (pairs.body[i] != body) {
        i++;
    }
    return i;
}

static dWorldID open_pairs(const support_run *run, void (*callback)(dBodyID))
{
    dWorldID world = support_world(run, NULL);
    dWorldSetGravity(world, 0, 0, -9.81);
    for (int i = 0; i < IN_PAIRS; i++) {
        pairs.body[i] = support_solid(world, 5 * (i / 2), 0, i % 2);
        dBodySetMovedCallback(pairs.body[i], callback);
        if (i % 2) {
            dJointID joint = dJointCreateBall(world, 0);
            dJointAttach(joint, pairs.body[i - 1], pairs.body[i]);
            dJointSetBallAnchor(joint, 5 * (i / 2), 0, 0.5);
        }
    }
    pairs.calls = 0;
    return world;
}

// Each of the second pair in turn pushes the other and the pairs stepped before and after.
static void pushes_others(dBodyID body)
{
    int pusher = number_in_pairs(body);
    if (pusher / 2 == 1 && pairs.calls++ % 5 == 0) {
        for (int i = 0; i < IN_PAIRS; i++) {
            if (i != pusher) {
                dBodyAddForce(pairs.body[i], 10 * (i + 1), 0, 20);
                dBodyAddTorque(pairs.body[i], 0, 0.2, 0.1 * i);
            }
        }
    }
}

// The second pair wants no force on any.
static void empties_all(dBodyID body)
{
    for (int i = 0; i < IN_PAIRS && number_in_pairs(body) / 2 == 1; i++) {
        dBodySetForce(pairs.body[i], 0, 0, 0);
        dBodySetTorque(pairs.body[i], 0, 0, 0);
    }
}

// Which acts at once on what is moved later, its weight too, and is not made up for afterwards.
static void empty_forces(support_run *run)
{
    dWorldID world = open_pairs(run, empties_all);
    for (int i = 0; i < IN_PAIRS; i++) {
        dBodyAddForce(pairs.body[i], 10, 0, 2 * i);
        dBodyAddTorque(pairs.body[i], 0, 0.2, 0.1);
    }
    support_step(world, STEP);
    for (int i = 0; i < IN_PAIRS; i++) {
        support_report_vector(run, dBodyGetForce(pairs.body[i]));
        support_report_vector(run, dBodyGetTorque(pairs.body[i]));
        support_report_vector(run, dBodyGetLinearVel(pairs.body[i]));
    }
    dWorldDestroy(world);
}

// QuickStep, which iterates, reports only the bodies at rest and forces that wait for the next
// step.
static void forces_on_others(support_run *run)
{
    dWorldID world = open_pairs(run, pushes_others);
    for (int n = 0; n < 5; n++) {
        support_step(world, STEP);
        for (int i = 0; i < IN_PAIRS; i++) {
            support_report_vector(run, dBodyGetLinearVel(pairs.body[i]));
        }
    }
    dWorldDestroy(world);
    world = open_pairs(run, pushes_others);
    dWorldSetGravity(world, 0, 0, 0);
    support_look();
    dWorldQuickStep(world, STEP);
    for (int i = 0; i < IN_PAIRS; i++) {
        support_report(run, dBodyGetForce(pairs.body[i])[0] / 1000); // kN
        support_report(run, i / 2 == 1 ? dBodyGetLinearVel(pairs.body[i])[0] : 0);
    }
    dWorldDestroy(world);
    empty_forces(run);
}

static void sees_force(dBodyID body)
{
    memcpy(pairs.force[number_in_pairs(body)], dBodyGetForce(body), 3 * sizeof(dReal));
}

static void forces_seen(support_run *run)
{
    dWorldID world = open_pairs(run, sees_force);
    dBodySetGravityMode(pairs.body[1], 0);
    dBodySetKinematic(pairs.body[3]);
    for (int i = 0; i < IN_PAIRS; i++) {
        dBodyAddForce(pairs.body[i], i, 2 * i, 3);
    }
    support_step(world, STEP);
    for (int i = 0; i < IN_PAIRS; i++) {
        support_report_vector(run, pairs.force[i]);
    }
    dWorldDestroy(world);
}

static dBodyID born;

// Of the world's callbacks the first makes a body.
static void creates(dBodyID body)
{
    dWorldID world = dBodyGetWorld(body);
    if (calls++ == 0) {
        born = support_solid(world, 0, 9, 0);
        dBodySetLinearVel(born, 0, 0, 1);
    }
}

static void bodies_made_in_callbacks(support_run *run)
{
    dWorldID world = support_world(run, NULL);
    dBodyID body = support_solid(world, 0, 0, 1);
    calls = 0;
    dBodySetLinearVel(body, 1, 0, 0);
    dBodySetMovedCallback(body, creates);
    steps(world, 10);
    support_report_vector(run, dBodyGetPosition(body));
    support_report_vector(run, dBodyGetPosition(born));
    dWorldDestroy(world);
}

// ---- sleep

enum { SLEEPERS = 4 };

// The step in which each body falls asleep.
static void report_sleep(support_run *run, dWorldID world, const dBodyID *body, int bodies,
                         int frames)
{
    int asleep[SLEEPERS] = {0};
    for (int i = 0; i < frames; i++) {
        support_step(world, STEP);
        for (int k = 0; k < bodies; k++) {
            asleep[k] = asleep[k] || dBodyIsEnabled(body[k]) ? asleep[k] : i + 1;
        }
    }
    for (int k = 0; k < bodies; k++) {
        support_report(run, asleep[k]);
        support_report_vector(run, dBodyGetLinearVel(body[k]));
    }
}

static void auto_disable(support_run *run)
{
    dBodyID body[SLEEPERS];
    dWorldID world = support_world(run, NULL);
    dWorldSetAutoDisableFlag(world, 1);
    dWorldSetAutoDisableSteps(world, 7);
    for (int k = 0; k < SLEEPERS; k++) {
        body[k] = support_solid(world, k, 0, 1);
        dBodySetDamping(body[k], 0.05, 0.05);
        dBodySetLinearVel(body[k], 0.05 * k, 0, 0);
        dBodySetAngularVel(body[k], 0, 0, 0.02 * k);
    }
    dBodySetAutoDisableTime(body[1], 0.1);
    dBodySetAutoDisableLinearThreshold(body[2], 0.03);
    dBodySetAutoDisableAngularThreshold(body[2], 0.01);
    dBodySetAutoDisableAverageSamplesCount(body[3], 10);
    report_sleep(run, world, body, SLEEPERS, 120);
    dWorldDestroy(world);
}

// Of the world, for one that was made before, one that takes them, and one that is made after.
static void auto_disable_of_the_world(support_run *run)
{
    dBodyID body[SLEEPERS];
    dWorldID world = support_world(run, NULL);
    for (int k = 0; k < SLEEPERS; k++) {
        if (k == 2) {
            dWorldSetAutoDisableFlag(world, 1);
            dWorldSetAutoDisableSteps(world, 4);
            dWorldSetAutoDisableTime(world, 0.15);
            dWorldSetAutoDisableLinearThreshold(world, 0.05);
            dWorldSetAutoDisableAngularThreshold(world, 0.04);
            dWorldSetAutoDisableAverageSamplesCount(world, 3);
            dBodySetAutoDisableDefaults(body[1]);
        }
        body[k] = support_solid(world, k, 0, 1);
        dBodySetDamping(body[k], 0.05, 0.05);
        dBodySetLinearVel(body[k], 0.1 + 0.05 * k, 0, 0);
        dBodySetAngularVel(body[k], 0, 0, 0.1);
    }
    dBodySetAutoDisableSteps(body[3], 40);
    report_sleep(run, world, body, SLEEPERS, 120);
    dWorldDestroy(world);
}

// A body that is enabled again and again stays awake; after the last time its counters start at
// zero.
static void counters_restart(support_run *run)
{
    dWorldID world = support_world(run, NULL);
    dBodyID body = support_solid(world, 0, 0, 1);
    dBodySetAutoDisableFlag(body, 1);
    dBodySetAutoDisableSteps(body, 6);
    for (int i = 0; i < 40; i++) {
        if (i < 20 && i % 4 == 0) {
            dBodyEnable(body);
        }
        support_step(world, STEP);
        support_report(run, dBodyIsEnabled(body));
    }
    dWorldDestroy(world);
}

// A pair on a joint, as an island; and one that may not sleep.
static void auto_disable_of_islands(support_run *run)
{
    dBodyID body[SLEEPERS];
    dWorldID world = support_world(run, NULL);
    dWorldSetAutoDisableFlag(world, 1);
    for (int k = 0; k < SLEEPERS; k++) {
        body[k] = support_solid(world, k, 0, 1);
        dBodySetDamping(body[k], 0.05, 0.05);
        dBodySetLinearVel(body[k], k < 2 ? 0.1 : 0.2, 0, 0);
    }
    dJointID joint = dJointCreateFixed(world, 0);
    dJointAttach(joint, body[0], body[1]);
    dJointSetFixed(joint);
    dBodySetAutoDisableFlag(body[3], 0);
    report_sleep(run, world, body, SLEEPERS, 120);
    dWorldDestroy(world);
}

static void wake_up(support_run *run)
{
    dWorldID world = support_world(run, NULL);
    dBodyID asleep = support_solid(world, 0, 0, 1), awake = support_solid(world, 0, 0, 2);
    dBodyID alone = support_solid(world, 5, 0, 1);
    dBodyDisable(asleep);
    dBodyDisable(awake);
    dBodyDisable(alone);
    dBodyAddForce(alone, 1, 0, 0);
    steps(world, 3);
    support_report(run, dBodyIsEnabled(asleep) + 2 * dBodyIsEnabled(alone));
    support_report_vector(run, dBodyGetForce(alone)); // waits
    dJointID joint = dJointCreateBall(world, 0);
    dJointAttach(joint, asleep, awake);
    dJointSetBallAnchor(joint, 0, 0, 1.5);
    dBodyEnable(awake);
    dBodyEnable(alone);
    dBodySetLinearVel(awake, 0, 0, 1);
    steps(world, 3);
    support_report(run, dBodyIsEnabled(asleep) + 2 * dBodyIsEnabled(alone));
    support_report_vector(run, dBodyGetLinearVel(asleep));
    support_report_vector(run, dBodyGetLinearVel(alone));
    dWorldDestroy(world);
}

const support_row support_body_callbacks[] = {
    {"moved callbacks", moved_callbacks, NULL, {AS_STOCK, AS_STOCK, AS_STOCK}},
    {"their order, and one removed", order_of_callbacks, NULL, {AS_STOCK, AS_STOCK, AS_STOCK}},
    {"geoms of a body in them and after the step: position, rotation, AABB",
     geoms_follow,
     NULL,
     {AS_STOCK, AS_STOCK, AS_STOCK}},
    {"forces added in moved callbacks", forces_in_callbacks, NULL, {AS_STOCK, AS_STOCK, AS_STOCK}},
    {"forces added there to other bodies",
     forces_on_others,
     NULL,
     {AS_STOCK, NEAR(0.011, "joints of islands moved later answer a step later"),
      NEAR(0.011, "joints of islands moved later answer a step later")}},
    {"`dBodyGetForce` in moved callbacks", forces_seen, NULL, {AS_STOCK, AS_STOCK, AS_STOCK}},
    {"bodies created in moved callbacks",
     bodies_made_in_callbacks,
     NULL,
     {AS_STOCK, AS_STOCK, AS_STOCK}},
    {"auto-disable: steps, time, thresholds, samples",
     auto_disable,
     NULL,
     {AS_STOCK, AS_STOCK, AS_STOCK}},
    {"auto-disable by the world's parameters, `dBodySetAutoDisableDefaults`",
     auto_disable_of_the_world,
     NULL,
     {AS_STOCK, AS_STOCK, AS_STOCK}},
    {"`dBodyEnable` before they are disabled",
     counters_restart,
     NULL,
     {AS_STOCK, AS_STOCK, AS_STOCK}},
    {"auto-disable of islands", auto_disable_of_islands, NULL, {AS_STOCK, AS_STOCK, AS_STOCK}},
    {"disabled bodies, wake-up", wake_up, NULL, {AS_STOCK, AS_STOCK, AS_STOCK}},
    {0},
};
