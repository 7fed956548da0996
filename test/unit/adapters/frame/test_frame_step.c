// When a step within which a body became faster than pairs were searched for starts again: only if
// the body has come to where there are others. After the last attempt it stands still.
#include <check.h>
#include <math.h>

#include "frame_constants.h"
#include "frame_step.h"
#include "suite.h"

static const dReal step = 0.01; // s
static dWorldID world;
static dSpaceID space;
static dJointGroupID contacts;
static int restarts;
static double kick; // m/s, at which bodies part if they meet; 16 times that with each restart

static dBodyID add_ball(dReal mass, dReal x, dReal speed)
{
    dMass m;
    dBodyID body = dBodyCreate(world);
    dMassSetSphereTotal(&m, mass, 0.1);
    dBodySetMass(body, &m);
    dBodySetPosition(body, x, 0, 0);
    dBodySetLinearVel(body, speed, 0, 0);
    dGeomSetBody(dCreateSphere(space, 0.1), body);
    return body;
}

static bool was_not_offered(void *data, dGeomID a, dGeomID b)
{
    (void)data;
    (void)a;
    (void)b;
    return false;
}

static dJointID bounce(void *data, const ode_pair *pair, double gap)
{
    (void)data;
    (void)gap;
    dContact contact = {.surface = {.mode = dContactBounce, .bounce = 1}};
    if (kick > 0) {
        contact.surface.mode = dContactMotionN;
        contact.surface.motionN = ldexp(kick, 4 * restarts);
    }
    contact.geom.g1 = pair->side[pair->first]->geom;
    contact.geom.g2 = pair->side[!pair->first]->geom;
    dJointID joint = dJointCreateContact(world, contacts, &contact);
    dJointAttach(joint, dGeomGetBody(contact.geom.g1), dGeomGetBody(contact.geom.g2));
    return joint;
}

static void count_restart(void *data)
{
    (void)data;
    restarts++;
}

// Returns for how long bodies stood still, s.
static double take_step(void)
{
    ode_islands islands;
    const ode_collision all = {.a = (dGeomID)space};
    sprag_scratch scratch[4] = {{0}};
    ode_geometry *geometry = sprag_ode_geometry_make();
    ode_warm_start *warm_start = sprag_ode_warm_start_make();
    ck_assert(geometry && warm_start && sprag_ode_find_islands(world, step, &islands));
    ode_advance a = {
        .input = {.world = world,
                  .step = step,
                  .number = 1,
                  .islands = &islands,
                  .geometry = geometry,
                  .warm_start = warm_start,
                  .collision = &all,
                  .collision_calls = 1,
                  .options = sprag_advance_defaults(),
                  .scratch = scratch,
                  .reach = 1e-6},
        .calls = {.was_offered = was_not_offered, .ask = bounce, .restart = count_restart}};
    ck_assert_int_eq(sprag_ode_advance(&a), SPRAG_OK);
    for (int i = 0; i < 4; i++) {
        sprag_scratch_free(&scratch[i]);
    }
    sprag_ode_warm_start_free(warm_start);
    sprag_ode_geometry_free(geometry);
    return a.results.stats.stalled;
}

// speed: of the kick.
static void open_scene(double speed)
{
    dInitODE2(0);
    world = dWorldCreate();
    space = dSimpleSpaceCreate(NULL);
    contacts = dJointGroupCreate(0);
    restarts = 0;
    kick = speed;
}

static void close_scene(void)
{
    dJointGroupDestroy(contacts);
    dSpaceDestroy(space);
    dWorldDestroy(world);
    dCloseODE();
}

// A light ball leaves the heavy one that hits it twice as fast as that was. Behind it is nothing,
// or a third ball, which it then hits: 100 kg at 10 m/s, 1 kg, and 1 kg at 0.16 m from it.
START_TEST(fast_bodies_restart_where_others_are)
{
    const bool meets = _i;
    open_scene(0);
    add_ball(100, -0.21, 10);
    dBodyID hit = add_ball(1, 0, 0), third = add_ball(1, meets ? 0.36 : 1, 0);
    take_step();
    const double speed = 2 * 100 / 101.0 * 10, left = step - 1e-3;
    ck_assert_int_eq(restarts, meets);
    ck_assert_double_eq_tol(dBodyGetLinearVel(hit)[0], (meets ? 0 : speed), 1e-4);
    ck_assert_double_eq_tol(dBodyGetPosition(hit)[0], (meets ? 0.16 : speed * left), 1e-5);
    ck_assert_double_eq_tol(dBodyGetLinearVel(third)[0], (meets ? speed : 0), 1e-4);
    close_scene();
}
END_TEST

// A ball beside the heavy one is in its group, so that pairs of it were searched for as if it were
// as fast. It does not move, and the light ball, which flies twice as far as was searched, comes no
// nearer to it than its own way.
START_TEST(fast_bodies_do_not_restart_where_others_might_have_been)
{
    open_scene(0);
    add_ball(100, -0.21, 10);
    dBodyID hit = add_ball(1, 0, 0), beside = add_ball(1, -0.52, 0);
    dBodySetPosition(beside, -0.52, 0.34, 0);
    take_step();
    ck_assert_int_eq(restarts, 0);
    ck_assert_double_eq_tol(dBodyGetLinearVel(hit)[0], 2 * 100 / 101.0 * 10, 1e-4);
    ck_assert_double_eq(dBodyGetPosition(beside)[0], -0.52);
    close_scene();
}
END_TEST

// A row of balls, of which each attempt finds one more, that the last one hits and sends farther
// than was searched. A ball that is far from them moves on.
START_TEST(bodies_that_come_farther_each_time_stand_still)
{
    static const double gap[] = {0.01, 1, 5, 20, 80, 300, 2000}; // m
    double x = -0.21;
    open_scene(200);
    dBodyID first = add_ball(100, x, 10), far = add_ball(1, -1e5, -1);
    for (int i = 0; i < 7; i++) {
        add_ball(1, x += 0.2 + gap[i], 0);
    }
    ck_assert_double_eq(take_step(), step);
    ck_assert_int_eq(restarts, FRAME_ATTEMPTS - 1);
    ck_assert_double_eq(dBodyGetPosition(first)[0], -0.21);
    ck_assert_double_eq(dBodyGetLinearVel(first)[0], 10);
    ck_assert_double_eq_tol(dBodyGetPosition(far)[0], -1e5 - step, 1e-9);
    close_scene();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("frame_step");
    ADD_TESTS(suite, "attempts", {fast_bodies_restart_where_others_are, 2},
              {fast_bodies_do_not_restart_where_others_might_have_been, 1},
              {bodies_that_come_farther_each_time_stand_still, 1});
    return run_suite(suite);
}
