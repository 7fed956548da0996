// A yardstick without memory: each allocation fails, once or with all that follow. A value is then
// the one that it is with memory, or unknown.
#include <check.h>
#include <math.h>

#include "../failing_memory.h"
#include "creep.h"
#include "plugin_scene.h"
#include "snapshot.h"
#include "yardstick.h"

static dGeomID plane, box;
static dBodyID body[2];

// A box slides on a plane and carries a ball by a joint.
static void open_yard(void)
{
    dMass m;
    setup();
    configure(world, "method=ode-step");
    dWorldSetGravity(world, 0, 0, -9.81);
    plane = dCreatePlane(NULL, 0, 0, 1, 0);
    box = dCreateBox(NULL, 1, 1, 1);
    dMassSetBoxTotal(&m, 2, 1, 1, 1);
    for (int i = 0; i < 2; i++) {
        body[i] = dBodyCreate(world);
        dBodySetMass(body[i], &m);
        dBodySetPosition(body[i], 0, 0, 0.499 + i);
        dBodySetLinearVel(body[i], 0.3, 0, 0);
    }
    dGeomSetBody(box, body[0]);
    dContact contact[8];
    const int count = dCollide(box, plane, 8, &contact->geom, sizeof *contact);
    ck_assert_int_eq(count, 4);
    for (int i = 0; i < count; i++) {
        contact[i].surface = (dSurfaceParameters){.mode = dContactApprox1, .mu = 0.5};
        dJointAttach(dJointCreateContact(world, 0, &contact[i]), body[0], NULL);
    }
    dJointID ball = dJointCreateBall(world, 0);
    dJointAttach(ball, body[0], body[1]);
    dJointSetBallAnchor(ball, 0, 0, 1);
}

static void close_yard(void)
{
    dGeomDestroy(box);
    dGeomDestroy(plane);
    teardown();
}

// Measures a step from the same state. false: not even that, and nothing has happened.
static bool measure(double value[SAMPLE_VALUES])
{
    counting = failing > 0;
    allocation = 0;
    yardstick *y = yardstick_begin(world, step, false);
    counting = false;
    if (!y) {
        return false;
    }
    ck_assert(dWorldStep(world, step));
    counting = failing > 0;
    yardstick_measure(y, value);
    yardstick_free(y);
    counting = false;
    return true;
}

START_TEST(without_memory_values_are_unknown)
{
    double whole[SAMPLE_VALUES], value[SAMPLE_VALUES];
    int known = 0, unknown = 0, none = 0;
    snapshot *before = snapshot_take(body, 2);
    failing = 0;
    ck_assert(measure(whole));
    snapshot_restore(before);
    from_there_on = _i;
    bool reached = true;
    for (failing = 1; reached; failing++) {
        if (!measure(value)) {
            none++;
            continue;
        }
        snapshot_restore(before);
        reached = allocation >= failing;
        for (int k = 0; k < SAMPLE_VALUES; k++) {
            ck_assert_msg(isnan(value[k]) || fabs(value[k] - whole[k]) <= 1e-9,
                          "allocation %ld: value %d is %g, not %g", failing, k, value[k], whole[k]);
            known += !isnan(value[k]);
            unknown += isnan(value[k]) && !isnan(whole[k]);
        }
        ck_assert(!isnan(value[SAMPLE_SPEED]));
    }
    ck_assert(known > 0 && unknown > 0 && none > 0);
    snapshot_free(before);
}
END_TEST

START_TEST(without_memory_there_is_no_snapshot)
{
    from_there_on = _i;
    bool reached = true;
    for (failing = 1; reached; failing++) {
        counting = true;
        allocation = 0;
        snapshot *s = snapshot_take(body, 2);
        counting = false;
        reached = allocation >= failing;
        ck_assert(!s == reached);
        snapshot_free(s);
    }
    ck_assert_int_eq(failing, 4);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("yardstick_memory");
    ADD_TESTS_WITH(suite, "all", open_yard, close_yard, {without_memory_values_are_unknown, 2},
                   {without_memory_there_is_no_snapshot, 2});
    return run_suite(suite);
}
