// Contacts that a solution shows to be missing: which pairs are asked about, and what is added.
#include <check.h>
#include <math.h>

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
    for (int i = 0; i < contacts; i++) {
        p.ode.contact[i].rebounds = true;
        p.ode.contact[i].recovery = p.ode.contact[i].returns = 1;
    }
    const int added = sprag_ode_add_touches(&p.ode, contacts, find, NULL, &p.scratch);
    ck_assert_int_eq(p.ode.problem.contacts, contacts + added);
    for (int i = contacts; i < contacts + added; i++) {
        const sprag_contact *to = &p.ode.contact[i];
        for (int side = 0; side < 2; side++) {
            if (to->body[side] != SPRAG_STATIC) {
                const int of = p.island.body[to->body[side]] == body[1];
                ck_assert_double_eq(to->arm[side][1], of ? 5 : 2);
                ck_assert_double_eq(to->frame[0][1], (of == side) ? 1 : -1);
            }
        }
        ck_assert(!to->rebounds && to->recovery == 0 && to->returns == 0); // another's stop
        ck_assert_double_eq(to->gap, 0.02);
        ck_assert_double_eq_tol(to->bias, -2, 1e-12);
        ck_assert_double_eq_tol(dot3(to->frame[0], to->frame[1]), 0, 1e-12);
        ck_assert_int_eq(p.ode.contact_joint[i] == p.ode.contact_joint[0], 1);
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

// A box on a motor rebounds from the world, and meets it again: it goes on from its velocities, and
// the motor has what is left of its torque. Case 2: it bears a load, which acts for all of the
// step.
START_TEST(forces_before_a_touch_are_spent)
{
    enum { ROWS = 6, MOTOR = 5 };
    static const double most = 8; // N m
    double velocity[1][6] = {{1, 2, 3, 4, 5, 6}}, contact_force[4][6] = {{7, 2, 0}};
    double row_force[ROWS], rate[ROWS] = {0};
    ode_warm_start *memory = sprag_ode_warm_start_make();
    ode_stiffened_four four = {.trace = {1}};
    dContact c = {.geom = {.normal = {0, 0, 1}, .depth = 0.01, .side1 = -1}};
    pull p = {0};
    open_bodies();
    found = true;
    is_aside = false;
    c.geom.g1 = geom[0], c.geom.g2 = geom[1];
    turn[0] = velocity[0][5];
    dGeomSetBody(geom[1], 0);
    dBodySetAngularVel(body[0], 0.1, 0.2, 0.3);
    dJointAttach(dJointCreateContact(world, 0, &c), body[0], 0);
    dJointID motor = dJointCreateHinge(world, 0);
    dJointAttach(motor, body[0], 0);
    dJointSetHingeParam(motor, dParamFMax, most);
    ck_assert(sprag_ode_find_islands(world, step, &p.islands));
    p.island = island_at(&p.islands, p.islands.bodies[0] != body[0]);
    ck_assert_int_eq(sprag_ode_pull(&p.ode, world, &p.island, step, &ahead, memory, &p.scratch), 0);
    ck_assert_int_eq(p.ode.problem.rows, ROWS);
    for (int i = 0; i < ROWS; i++) {
        row_force[i] = i;
    }
    p.ode.solution = (sprag_solution){velocity, contact_force, row_force, rate};
    p.ode.contact[0].rebounds = true;
    p.ode.stiffened_four = &four;
    p.ode.stiffened_fours = _i == 2;
    const ode_problem before = p.ode;
    const sprag_body start = p.ode.body[0];
    const sprag_row row = p.ode.row[MOTOR];
    ck_assert_int_eq(sprag_ode_add_touches(&p.ode, 1, find, NULL, &p.scratch), 1);
    if (_i == 2) {
        ck_assert(p.ode.contact[0].rebounds && !p.ode.spent);
        p.ode.stiffened_fours = 0;
        p.ode.problem.contacts--;
        ck_assert_int_eq(sprag_ode_add_touches(&p.ode, 1, find, NULL, &p.scratch), 1);
    }
    ck_assert(!p.ode.contact[0].rebounds && before.contact[0].rebounds);
    ck_assert_double_eq(p.ode.row[MOTOR].lo, -most - MOTOR);
    ck_assert_double_eq(p.ode.row[MOTOR].hi, most - MOTOR);
    for (int k = 0; k < 6; k++) {
        const double added = velocity[0][k] - start.free_velocity[k];
        ck_assert_double_eq_tol(p.ode.body[0].velocity[k], start.velocity[k] + added, 1e-12);
        ck_assert_double_eq(p.ode.body[0].free_velocity[k], velocity[0][k]);
    }
    ode_problem other = p.ode;
    if (_i == 1) {
        sprag_ode_drop_touches(&other, 1);
        ck_assert(other.body == before.body && other.contact == before.contact && !other.spent);
        ck_assert_int_eq(other.problem.contacts, 1);
    } else {
        sprag_ode_add_spent(&other);
        ck_assert_double_eq(contact_force[0][0], 14);
        ck_assert_double_eq(contact_force[0][1], 4);
        ck_assert_double_eq(row_force[MOTOR], 2 * MOTOR);
    }
    ck_assert_double_eq(other.row[MOTOR].lo, row.lo);
    ck_assert_double_eq(other.row[MOTOR].hi, row.hi);
    ck_assert_double_eq_tol(other.row[MOTOR].bias, row.bias, 1e-12);
    release(&p);
    close_bodies();
    sprag_ode_warm_start_free(memory);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("touches");
    ADD_TESTS_WITH(suite, "all", setup, dCloseODE, {bodies_that_turn_are_asked_about, 1},
                   {pairs_get_one_contact, 1}, {forces_before_a_touch_are_spent, 3});
    return run_suite(suite);
}
