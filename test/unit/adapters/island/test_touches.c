// Contacts that a solution shows to be missing: which pairs are asked about, and what is added.
#include <check.h>
#include <math.h>

#include "body_motion.h"
#include "islands.h"
#include "loads.h"
#include "suite.h"

static const ode_stiffness ahead = {.speculative = true};
static dWorldID world;
static dBodyID body[2];
static dGeomID geom[2];
static double turn[2]; // rad/s, of the bodies in the solution, about the z axis
static int asked;
static bool found;
static bool is_aside; // the contacts

static bool find(void *data, const dGeomID pair[2], const double *const velocity[2], double h,
                 bool aside, ode_touch *touch)
{
    (void)data;
    ck_assert(aside == is_aside);
    asked++;
    ck_assert(pair[0] == geom[0] && pair[1] == geom[1] && h == step);
    ck_assert(!velocity[0] || velocity[0][5] == turn[0]);
    ck_assert(!velocity[1] || velocity[1][5] == turn[1]);
    *touch = (ode_touch){.left = 0.02, .normal = {0, 1, 0}, .lever = {{1, 2, 3}, {4, 5, 6}}};
    return found;
}

// A rod of 4 m and a ball, whose boxes have their corners at 2.005 m and at 0.866 m from the
// bodies, and half of their least extents 0.1 m and 0.5 m.
static void open_bodies(void)
{
    world = dWorldCreate();
    for (int i = 0; i < 2; i++) {
        body[i] = create_body(world, 1, 0, 0, i);
        geom[i] = i ? dCreateSphere(0, 0.5) : dCreateBox(0, 4, 0.2, 0.2);
        dGeomSetBody(geom[i], body[i]);
    }
    asked = 0;
}

static void close_bodies(void)
{
    for (int i = 0; i < 2; i++) {
        dGeomDestroy(geom[i]);
    }
    dWorldDestroy(world);
}

// Of these bodies, of which the second may be the world. Returns how many contacts are added.
static int add_touches(bool turned, bool alone, int contacts)
{
    double velocity[2][6] = {{0}}, contact_force[4][6] = {{0}};
    ode_warm_start *memory = sprag_ode_warm_start_make();
    pull p = {0};
    for (int i = 0; i < contacts; i++) {
        dContact c = {.geom = {.pos = {0.1 * i, 0, 0.5}, .normal = {0, 0, -1}, .depth = -0.01}};
        c.geom.g1 = geom[0];
        c.geom.g2 = geom[1];
        c.geom.side1 = is_aside ? ODE_SIDE_ASIDE : -1;
        dJointID joint = dJointCreateContact(world, 0, &c);
        dBodyID second = alone ? NULL : body[1];
        dJointAttach(joint, turned ? second : body[0], turned ? body[0] : second);
    }
    ck_assert(sprag_ode_find_islands(world, step, &p.islands));
    p.island = island_at(&p.islands, alone && p.islands.bodies[0] != body[0]);
    p.result = sprag_ode_pull(&p.ode, world, &p.island, step, &ahead, memory, &p.scratch);
    ck_assert_int_eq(p.result, SPRAG_OK);
    ck_assert_int_eq(p.ode.problem.contacts, contacts);
    for (int i = 0; i < p.island.bodies; i++) {
        velocity[i][5] = turn[p.island.body[i] == body[1]];
    }
    p.ode.solution.velocity = velocity;
    p.ode.solution.contact_force = contact_force;
    const int before = asked;
    p.scratch.failed = true; // without memory the solution stands
    ck_assert(!sprag_ode_add_touches(&p.ode, memory, find, NULL, &p.scratch));
    ck_assert_ptr_eq(p.ode.way.solution.velocity, velocity);
    p.scratch.failed = false;
    asked = before;
    const bool any = sprag_ode_add_touches(&p.ode, memory, find, NULL, &p.scratch);
    const int added = any ? p.ode.way.problem.contacts - contacts : 0;
    ck_assert(any == (p.ode.way.problem.body != NULL));
    for (int i = contacts; i < contacts + added; i++) {
        const sprag_contact *to = &p.ode.way.problem.contact[i];
        for (int side = 0; side < 2; side++) {
            if (to->body[side] != SPRAG_STATIC) {
                const int of = p.island.body[to->body[side]] == body[1];
                ck_assert_double_eq(to->arm[side][1], of ? 5 : 2);
                ck_assert_double_eq(to->frame[0][1], (of == side) ? 1 : -1);
            }
        }
        ck_assert_double_eq(to->gap, 0.02);
        ck_assert_double_eq_tol(to->bias, -2, 1e-12);
        ck_assert_double_eq_tol(dot3(to->frame[0], to->frame[1]), 0, 1e-12);
    }
    release(&p);
    sprag_ode_warm_start_free(memory);
    return added;
}

// Two bodies that move are asked about where the ways round of their farthest corners are an eighth
// of the half of the least extent, or where their contact is one aside; one against the world
// always is.
START_TEST(bodies_that_turn_are_asked_about)
{
    const double far[2] = {sqrt(4.02), sqrt(0.75)};
    found = false;
    for (int i = 0; i < 32; i++) {
        const bool enough = i & 1, which = i & 2, turned = i & 4, alone = i & 8;
        open_bodies();
        turn[0] = turn[1] = 0;
        is_aside = i & 16;
        turn[which] = (enough ? 1.001 : 0.999) * 0.1 / 8 / step / far[which];
        ck_assert_int_eq(add_touches(turned, alone, 1), 0);
        ck_assert_int_eq(asked, enough || alone || is_aside);
        close_bodies();
    }
}
END_TEST

// One contact of a pair, whichever body comes first, beside those that are there.
START_TEST(pairs_get_one_contact)
{
    found = true;
    turn[0] = 3, turn[1] = -2;
    for (int i = 0; i < 8; i++) {
        open_bodies();
        ck_assert_int_eq(add_touches(i & 1, i & 2, i & 4 ? 3 : 1), 1);
        ck_assert_int_eq(asked, 1);
        close_bodies();
    }
}
END_TEST

// A box on a motor rebounds from the world, with friction, and meets it again: in the motion its
// contact closes no faster than in the solution, the motor does nothing, and the other rows change
// as fast. The problem stays as it is.
START_TEST(the_motion_holds_what_the_solution_holds)
{
    enum { ROWS = 6, MOTOR = 5 };
    double velocity[1][6] = {{1, 2, 3, 4, 5, 6}}, contact_force[4][6] = {{7, 2, 0}};
    double row_force[ROWS] = {0}, rate[ROWS] = {0};
    ode_warm_start *memory = sprag_ode_warm_start_make();
    dContact c = {.geom = {.normal = {0, 0, 1}, .depth = 0.01, .side1 = -1}, .surface.mu = 1};
    pull p = {0};
    open_bodies();
    found = true;
    is_aside = false;
    c.geom.g1 = geom[0], c.geom.g2 = geom[1];
    turn[0] = velocity[0][5];
    dGeomSetBody(geom[1], 0);
    dJointAttach(dJointCreateContact(world, 0, &c), body[0], 0);
    dJointID motor = dJointCreateHinge(world, 0);
    dJointAttach(motor, body[0], 0);
    dJointSetHingeParam(motor, dParamFMax, 8);
    ck_assert(sprag_ode_find_islands(world, step, &p.islands));
    p.island = island_at(&p.islands, p.islands.bodies[0] != body[0]);
    ck_assert_int_eq(sprag_ode_pull(&p.ode, world, &p.island, step, &ahead, memory, &p.scratch), 0);
    ck_assert_int_eq(p.ode.problem.rows, ROWS);
    p.ode.solution = (sprag_solution){velocity, contact_force, row_force, rate};
    p.ode.contact[0].rebounds = true;
    velocity[0][2] = _i ? 3 : -0.3;
    const sprag_contact before = p.ode.contact[0];
    ck_assert(sprag_ode_add_touches(&p.ode, memory, find, NULL, &p.scratch));
    const sprag_problem *way = &p.ode.way.problem;
    const sprag_contact *held = way->contact;
    ck_assert_int_eq(way->contacts, 2);
    ck_assert_int_eq(p.ode.problem.contacts, 1);
    ck_assert_int_eq(memcmp(&before, p.ode.contact, sizeof before), 0);
    ck_assert(!held->rebounds && held->slide.coefficient[0] == 0);
    ck_assert_double_eq_tol(held->bias, _i ? 0 : -0.3, 1e-12);
    for (int k = 0; k < 6; k++) {
        ck_assert_double_eq(way->body[0].free_velocity[k], velocity[0][k]);
    }
    for (int i = 0; i < ROWS; i++) {
        const sprag_row *row = &way->row[i];
        ck_assert_double_eq_tol(
            row->bias, sprag_row_rate(&p.ode.row[i], velocity[0], sizeof velocity[0]), 1e-12);
        ck_assert(i == MOTOR ? row->lo == 0 && row->hi == 0 : sprag_row_holds(row));
    }
    release(&p);
    close_bodies();
    sprag_ode_warm_start_free(memory);
}
END_TEST

// A rod closes at 3 m/s with a touch that jams it, in a wind of 10 N along (case 0) or against
// that, and goes 0.1 m/s times the step less far: however large the force, the touch takes or gives
// no more than what the wind would have done on that way. The rod turns aside, and keeps its
// energy.
START_TEST(touches_take_no_more_than_the_rest_of_the_way)
{
    static const double wind = 10, left = 0.1; // N, m/s
    double velocity[1][6] = {{0, -3, 0, 1, 2, 20}}, contact_force[4][6] = {{0}};
    ode_warm_start *memory = sprag_ode_warm_start_make();
    dContact c = {.geom = {.normal = {0, 0, 1}, .depth = -1, .side1 = -1}};
    dMass m;
    pull p = {0};
    open_bodies();
    found = true;
    is_aside = false;
    turn[0] = velocity[0][5];
    dMassSetBoxTotal(&m, 1, 4, 0.2, 0.2);
    dBodySetMass(body[0], &m);
    dWorldSetGravity(world, 0, 0, 0);
    dBodyAddForce(body[0], 0, _i ? wind : -wind, 0);
    c.geom.g1 = geom[0], c.geom.g2 = geom[1];
    dGeomSetBody(geom[1], 0);
    dJointAttach(dJointCreateContact(world, 0, &c), body[0], 0);
    ck_assert(sprag_ode_find_islands(world, step, &p.islands));
    p.island = island_at(&p.islands, p.islands.bodies[0] != body[0]);
    ck_assert_int_eq(sprag_ode_pull(&p.ode, world, &p.island, step, &ahead, memory, &p.scratch), 0);
    p.ode.solution.velocity = velocity;
    p.ode.solution.contact_force = contact_force;
    sprag_ode_set_velocity(body[0], velocity[0]);
    const double before = kinetic_energy(body[0]), most = wind * step * left;
    ck_assert(sprag_ode_add_touches(&p.ode, memory, find, NULL, &p.scratch));
    p.ode.way.solution.velocity[0][1] += left;
    p.ode.way.solution.velocity[0][4] += 30;
    p.ode.way.solution.contact_force[1][0] = 1e9;
    sprag_ode_charge_ways(&p.ode);
    sprag_ode_set_velocity(body[0], velocity[0]);
    const double charged = kinetic_energy(body[0]);
    ck_assert_double_eq_tol(charged - before, _i ? most : -most, 1e-6 * most);
    sprag_ode_push_velocities(&p.ode, NULL, NULL, NULL);
    sprag_ode_move(&p.island, step, NULL, NULL, 0);
    ck_assert_double_eq_tol(kinetic_energy(body[0]), charged, 1e-12 * charged);
    release(&p);
    close_bodies();
    sprag_ode_warm_start_free(memory);
}
END_TEST

// A ball that is pushed farther than half of its half extent, and than its own speed, is held
// there, along its way: 0.25 m and 0.5 m at 25 m/s and 50 m/s. It keeps its velocity, ODE's step
// brings it to the end of its way, and its turn, too.
START_TEST(bodies_go_no_farther_than_they_were_looked_ahead_for)
{
    const double own = _i ? 50 : 0, reach = _i ? 0.5 : 0.25, spin = 2;
    double velocity[1][6] = {{0, 60, 80, 0, 0, 0}}, contact_force[4][6] = {{0}};
    ode_warm_start *memory = sprag_ode_warm_start_make();
    dContact c = {.geom = {.normal = {0, 0, 1}, .depth = -1, .side1 = -1}};
    pull p = {0};
    open_bodies();
    found = false;
    is_aside = false;
    turn[1] = 0;
    dBodySetLinearVel(body[1], own, 0, 0);
    c.geom.g1 = geom[0], c.geom.g2 = geom[1];
    dGeomSetBody(geom[0], 0);
    dJointAttach(dJointCreateContact(world, 0, &c), 0, body[1]);
    ck_assert(sprag_ode_find_islands(world, step, &p.islands));
    p.island = island_at(&p.islands, p.islands.bodies[0] != body[1]);
    ck_assert_int_eq(sprag_ode_pull(&p.ode, world, &p.island, step, &ahead, memory, &p.scratch), 0);
    p.ode.solution.velocity = velocity;
    p.ode.solution.contact_force = contact_force;
    ck_assert(sprag_ode_add_touches(&p.ode, memory, find, NULL, &p.scratch));
    const sprag_contact *end = &p.ode.way.problem.contact[1];
    ck_assert_int_eq(p.ode.way.problem.contacts, 2);
    ck_assert_double_eq_tol(end->bias, -reach / step, 1e-12);
    ck_assert_double_eq_tol(end->frame[0][1], -0.6, 1e-12);
    ck_assert_double_eq_tol(end->frame[0][2], -0.8, 1e-12);
    double *way = p.ode.way.solution.velocity[0];
    way[1] = 0.6 * reach / step, way[2] = 0.8 * reach / step, way[4] = spin;
    ck_assert(!sprag_ode_add_touches(&p.ode, memory, find, NULL, &p.scratch));
    sprag_ode_push_velocities(&p.ode, NULL, NULL, NULL);
    sprag_ode_move(&p.island, step, NULL, NULL, 0);
    const dReal *at = dBodyGetPosition(body[1]), *q = dBodyGetQuaternion(body[1]);
    ck_assert_double_eq_tol(at[1], 0.6 * reach, 1e-12);
    ck_assert_double_eq_tol(at[2], 1 + 0.8 * reach, 1e-12);
    ck_assert_double_eq_tol(q[2], sin(spin * step / 2), 1e-12);
    ck_assert_double_eq(dBodyGetLinearVel(body[1])[2], 80);
    release(&p);
    close_bodies();
    sprag_ode_warm_start_free(memory);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("touches");
    ADD_TESTS_WITH(suite, "all", setup, dCloseODE, {bodies_that_turn_are_asked_about, 1},
                   {pairs_get_one_contact, 1}, {the_motion_holds_what_the_solution_holds, 2},
                   {touches_take_no_more_than_the_rest_of_the_way, 2},
                   {bodies_go_no_farther_than_they_were_looked_ahead_for, 2});
    return run_suite(suite);
}
