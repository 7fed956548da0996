// When a step within which a body became faster than pairs were searched for starts again: only if
// the body has come to where there are others. After the last attempt it stands still. And what a
// step makes of the contacts that the program has made.
#include <check.h>
#include <math.h>

#include "frame_constants.h"
#include "frame_step.h"
#include "suite.h"

static const dReal step = 0.01; // s
static dWorldID world;
static dSpaceID space;
static dJointGroupID contacts;
static ode_advance taken; // the last step
static int restarts;
static bool offered; // all pairs were, and `bounce` is not asked
static double kick;  // m/s, at which bodies part if they meet; 16 times that with each restart

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

static bool was_offered(void *data, dGeomID a, dGeomID b)
{
    (void)data;
    (void)a;
    (void)b;
    return offered;
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
    taken = (ode_advance){.input = {.world = world,
                                    .step = step,
                                    .number = 1,
                                    .islands = &islands,
                                    .geometry = geometry,
                                    .warm_start = warm_start,
                                    .collision = &all,
                                    .collision_calls = 1,
                                    .options = sprag_advance_defaults(),
                                    .scratch = scratch,
                                    .reach = 1e-6,
                                    .compares_normals = true},
                          .calls = {.was_offered = was_offered,
                                    .ask = offered ? NULL : bounce,
                                    .restart = count_restart}};
    ck_assert_int_eq(sprag_ode_advance(&taken), SPRAG_OK);
    for (int i = 0; i < 4; i++) {
        sprag_scratch_free(&scratch[i]);
    }
    sprag_ode_warm_start_free(warm_start);
    sprag_ode_geometry_free(geometry);
    return taken.results.stats.stalled;
}

// speed: of the kick.
static void open_scene(double speed)
{
    dInitODE2(0);
    world = dWorldCreate();
    space = dSimpleSpaceCreate(NULL);
    contacts = dJointGroupCreate(0);
    restarts = 0;
    offered = false;
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

// ---- what the program has made

// Between two geoms, or the balls of two bodies that have none.
static dJointID add_contact(dBodyID a, dBodyID b, dContact contact)
{
    dJointID joint = dJointCreateContact(world, contacts, &contact);
    dJointAttach(joint, a, b);
    return joint;
}

static const dContact whole = {
    .surface = {.mode = dContactMu2 | dContactFDir1 | dContactBounce | dContactSoftCFM |
                        dContactMotion1 | dContactMotion2 | dContactMotionN | dContactSlip1 |
                        dContactSlip2 | dContactRolling | dContactApprox1,
                .mu = 0.5,
                .mu2 = 0.5,
                .rho = 0.1,
                .rho2 = 0.1,
                .rhoN = 0.1,
                .bounce = 0.5,
                .bounce_vel = 0.1},
    .geom = {.pos = {0.1}, .normal = {-1}},
    .fdir1 = {0, 1, 0}};

// The first contact of two geoms has the surface of all. One that differs in what counts is told.
START_TEST(surfaces_that_differ_are_told)
{
    enum { FIELDS = 13 };
    dContact changed = whole;
    dReal *field[FIELDS] = {
        &changed.surface.mu,         &changed.surface.mu2,      &changed.surface.rho,
        &changed.surface.rho2,       &changed.surface.rhoN,     &changed.surface.bounce,
        &changed.surface.bounce_vel, &changed.surface.soft_cfm, &changed.surface.motion1,
        &changed.surface.motion2,    &changed.surface.motionN,  &changed.surface.slip1,
        &changed.surface.slip2};
    static const int approx[] = {dContactApprox1_1, dContactApprox1_2, dContactApprox1_N};
    for (int i = -1; i < FIELDS + 3; i++) {
        for (int used = 0; used < 2; used++) {
            open_scene(0);
            dBodyID a = add_ball(1, 0, 0), b = add_ball(1, 0.2, 0);
            dContact first = whole;
            changed = whole;
            if (i >= FIELDS) {
                changed.surface.mode &= ~approx[i - FIELDS];
            } else if (i >= 0) {
                *field[i] += 0.25;
            }
            if (!used) { // Coulomb friction alone, of which one number counts
                first.surface.mode = changed.surface.mode = dContactApprox1;
            }
            first.geom.g1 = changed.geom.g1 = dBodyGetFirstGeom(a);
            first.geom.g2 = changed.geom.g2 = dBodyGetFirstGeom(b);
            add_contact(a, b, first);
            add_contact(a, b, changed);
            take_step();
            const bool counts = i >= 0 && (used || i == 0);
            ck_assert_msg((taken.warnings.other_surface != NULL) == counts, "%d %d", i, used);
            ck_assert(!counts || dJointGetBody(taken.warnings.other_surface, 0) == a);
            close_scene();
        }
    }
}
END_TEST

// Told: a contact that is inclined by more than six degrees to the geoms' normal, whichever is its
// first geom.
START_TEST(other_normals_are_told)
{
    for (int i = 0; i < 8; i++) {
        const double angle = (i & 1 ? 7 : 5) * M_PI / 180, size = i & 2 ? 3 : 1;
        open_scene(0);
        dBodyID a = add_ball(1, 0, 0), b = add_ball(1, 0.2, 0);
        dContact contact = whole;
        const double sign = i & 4 ? 1 : -1;
        contact.geom.g1 = dBodyGetFirstGeom(i & 4 ? b : a);
        contact.geom.g2 = dBodyGetFirstGeom(i & 4 ? a : b);
        contact.geom.normal[0] = size * sign * cos(angle);
        contact.geom.normal[1] = size * sin(angle);
        dJointID joint = add_contact(i & 4 ? b : a, i & 4 ? a : b, contact);
        take_step();
        ck_assert_ptr_eq(taken.warnings.other_normal, i & 1 ? joint : NULL);
        close_scene();
    }
}
END_TEST

// A contact between balls that do not come near each other acts as given, unless it was made in
// advance of geoms that were offered: with no depth, between the bodies of the geoms.
START_TEST(contacts_made_in_advance_wait_for_their_geoms)
{
    static const struct {
        bool offered, named, others;
        double depth;
        bool acts;
    } made[] = {{false, true, false, 0, true},  {true, true, false, 0, false},
                {true, true, false, -1, false}, {true, true, false, 1e-3, true},
                {true, false, false, 0, true},  {true, true, true, 0, true}};
    for (size_t i = 0; i < 2 * sizeof made / sizeof *made; i++) {
        const bool turned = i & 1;
        open_scene(0);
        offered = made[i / 2].offered;
        dBodyID body[3] = {add_ball(1, 0, 1), add_ball(1, 5, -1), add_ball(1, 50, 0)};
        dContact contact = {.geom = {.pos = {2.5}, .normal = {-1}, .depth = made[i / 2].depth}};
        if (made[i / 2].named) {
            contact.geom.g1 = dBodyGetFirstGeom(body[turned]);
            contact.geom.g2 = dBodyGetFirstGeom(body[!turned]);
        }
        if (made[i / 2].others) {
            contact.geom.g2 = dBodyGetFirstGeom(body[2]);
        }
        add_contact(body[0], body[1], contact);
        take_step();
        ck_assert_int_eq(taken.results.given_contacts, made[i / 2].acts);
        ck_assert(made[i / 2].acts == (dBodyGetLinearVel(body[0])[0] < 0.5));
        close_scene();
    }
}
END_TEST

// The contact of two geoms that touch is theirs if it joins their bodies, either way round. Between
// other bodies it is one that the program has given, for all that the geoms are named.
START_TEST(contacts_between_other_bodies_are_given)
{
    static const int joins[][2] = {{0, 1}, {1, 0}, {0, 2}, {2, 0}, {2, 1}, {1, 2}};
    for (int i = 0; i < 6; i++) {
        open_scene(0);
        dBodyID body[3] = {add_ball(1, 0, 1), add_ball(1, 0.2, -1), add_ball(1, 50, 0)};
        dContact contact = {.geom = {.pos = {0.1}, .normal = {-1}}};
        contact.geom.g1 = dBodyGetFirstGeom(body[0]);
        contact.geom.g2 = dBodyGetFirstGeom(body[1]);
        add_contact(body[joins[i][0]], body[joins[i][1]], contact);
        take_step();
        ck_assert_int_eq(taken.results.given_contacts, i > 1);
        if (i < 2) {
            ck_assert_double_eq_tol(dBodyGetLinearVel(body[0])[0], 0, 1e-5);
            ck_assert_double_eq_tol(dBodyGetLinearVel(body[1])[0], 0, 1e-5);
        }
        close_scene();
    }
}
END_TEST

// Contacts without a number for their depth are left out: counted, and the first one is named.
START_TEST(contacts_without_depth_are_dropped)
{
    open_scene(0);
    dBodyID a = add_ball(1, 0, 1), b = add_ball(1, 5, -1);
    dContact contact = {.geom = {.pos = {2.5}, .normal = {-1}, .depth = NAN}};
    dJointID joint[2] = {add_contact(a, b, contact), add_contact(a, b, contact)};
    ode_islands islands;
    ck_assert(sprag_ode_find_islands(world, step, &islands));
    dJointID first = islands.joints[0];
    ck_assert(first == joint[0] || first == joint[1]);
    take_step();
    ck_assert_int_eq(taken.results.dropped_contacts, 2);
    ck_assert_int_eq(taken.results.given_contacts, 0);
    ck_assert_ptr_eq(taken.warnings.invalid_contact, first);
    ck_assert_double_eq(dBodyGetLinearVel(a)[0], 1);
    close_scene();
}
END_TEST

// ---- what is not finite

// Bodies without a number for their velocity stay where they are, with all of their islands; the
// first one is named. Forces that are none are left out, and the bodies fly on.
START_TEST(what_is_not_finite_is_named_once)
{
    open_scene(0);
    for (int i = 0; i < 2; i++) {
        dBodyID bad = add_ball(1, 10 * i, NAN), with = add_ball(1, 10 * i + 5, 1);
        dJointAttach(dJointCreateBall(world, 0), bad, with);
        dBodyAddForce(add_ball(1, 100 + 10 * i, 1), 0, NAN, 0);
        dBodyAddTorque(add_ball(1, 200 + 10 * i, 1), 0, 0, INFINITY);
    }
    dBodyID nonfinite = NULL, forced = NULL, all[8];
    ode_islands islands;
    ck_assert(sprag_ode_find_islands(world, step, &islands));
    for (int i = 0; i < 8; i++) {
        dBodyID body = all[i] = islands.bodies[i];
        if (!nonfinite && isnan(dBodyGetLinearVel(body)[0])) {
            nonfinite = body;
        }
        if (!forced && !isfinite(dBodyGetForce(body)[1] + dBodyGetTorque(body)[2])) {
            forced = body;
        }
    }
    take_step();
    ck_assert_int_eq(taken.results.bodies, 8);
    ck_assert_int_eq(taken.results.frozen_bodies, 4);
    ck_assert_int_eq(taken.results.invalid_forces, 4);
    ck_assert_ptr_eq(taken.warnings.nonfinite_body, nonfinite);
    ck_assert_ptr_eq(taken.warnings.invalid_force, forced);
    for (int i = 0; i < 8; i++) {
        const double x = dBodyGetPosition(all[i])[0], way = x - floor(x + 0.001);
        ck_assert_double_eq_tol(way, x < 99 ? 0 : step, 1e-9);
    }
    close_scene();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("frame_step");
    ADD_TESTS(suite, "attempts", {fast_bodies_restart_where_others_are, 2},
              {fast_bodies_do_not_restart_where_others_might_have_been, 1},
              {bodies_that_come_farther_each_time_stand_still, 1});
    ADD_TESTS(suite, "contacts", {surfaces_that_differ_are_told, 1}, {other_normals_are_told, 1},
              {contacts_made_in_advance_wait_for_their_geoms, 1},
              {contacts_between_other_bodies_are_given, 1},
              {contacts_without_depth_are_dropped, 1});
    ADD_TESTS(suite, "numbers", {what_is_not_finite_is_named_once, 1});
    return run_suite(suite);
}
