// Whole islands: indices in large ones, and a stock step of one of several.
#include <check.h>

#include "islands.h"
#include "linalg.h"
#include "suite.h"
#include "worlds.h"

// ---- islands

enum { LINKS = 300 };

// A chain of bodies on ball joints, each on a contact too.
static void add_chain(dWorldID world, dBodyID *body, int links, double y)
{
    dWorldSetGravity(world, 0, 0, -9.81);
    for (int i = 0; i < links; i++) {
        dContact c = oblique_contact(dContactApprox1);
        body[i] = create_body(world, 1 + i % 3, i, y, 0);
        c.geom.pos[0] = i;
        dJointAttach(dJointCreateContact(world, 0, &c), body[i], 0);
        if (i) {
            dJointID ball = dJointCreateBall(world, 0);
            dJointAttach(ball, body[i], body[i - 1]);
            dJointSetBallAnchor(ball, i - 0.5, y, 0);
        }
    }
}

START_TEST(finds_its_way_in_a_large_island)
{
    dBodyID body[LINKS];
    dWorldID world = dWorldCreate();
    add_chain(world, body, LINKS, 0);
    pull p = pull_world(world);
    ck_assert_int_eq(p.ode.problem.bodies, LINKS);
    ck_assert_int_eq(p.ode.problem.contacts, LINKS);
    ck_assert_int_eq(p.ode.problem.rows, 3 * (LINKS - 1));
    for (int i = 0; i < LINKS; i++) {
        const sprag_contact *c = &p.ode.problem.contact[i];
        ck_assert_ptr_eq(p.island.body[c->body[0]], dJointGetBody(p.ode.contact_joint[i], 0));
        ck_assert_int_eq(c->body[1], SPRAG_STATIC);
    }
    for (int i = 0; i < p.ode.problem.rows; i++) {
        for (int side = 0; side < 2; side++) {
            ck_assert_ptr_eq(p.island.body[p.ode.problem.row[i].body[side]],
                             dJointGetBody(p.ode.row_joint[i], side));
        }
    }
    release(&p);
    dWorldDestroy(world);
}
END_TEST

// As a moved callback may, after ODE has made the islands. sprag_problem_check would find it, and
// solvers do not look for it again.
START_TEST(refuses_a_stranger)
{
    for (int stranger = 0; stranger < 2; stranger++) {
        dWorldID world = dWorldCreate();
        dBodyID body[2] = {create_body(world, 1, 0, 0, 0), create_body(world, 1, 9, 0, 0)};
        dContact c = oblique_contact(dContactApprox1);
        dJointID joint = dJointCreateContact(world, 0, &c);
        dJointAttach(joint, body[0], 0);
        pull p = {0};
        ck_assert(sprag_ode_find_islands(world, step, &p.islands));
        p.island = island_at(&p.islands, 0);
        p.island = p.island.joints ? p.island : island_at(&p.islands, 1);
        if (stranger) {
            dJointAttach(joint, body[1], 0);
        }
        p.result = sprag_ode_pull(&p.ode, world, &p.island, step, NULL, NULL, &p.scratch);
        ck_assert_str_eq(sprag_result_name(p.result),
                         sprag_result_name(stranger ? SPRAG_BAD_PROBLEM : SPRAG_OK));
        release(&p);
        dWorldDestroy(world);
    }
}
END_TEST

// A contact has no force then, as in stock.
START_TEST(endless_softness_holds_nothing)
{
    dBodyID body[1];
    dWorldID world = dWorldCreate();
    add_chain(world, body, 1, 0);
    dWorldSetCFM(world, (dReal)INFINITY);
    pull p = pull_world(world);
    ck_assert_int_eq(p.ode.problem.contacts, 0);
    ck_assert_int_eq(p.ode.errors.dropped_contacts, 0);
    release(&p);
    double before = dBodyGetLinearVel(body[0])[2];
    ck_assert(dWorldStep(world, step)); // stock's
    ck_assert_double_eq_tol(dBodyGetLinearVel(body[0])[2], before - 9.81 * step, 1e-12);
    dWorldDestroy(world);
}
END_TEST

static bool touches_ahead(void *data, const dGeomID geom[2], const double *const velocity[2],
                          double h, bool aside, ode_touch *touch)
{
    (void)data, (void)aside, (void)geom, (void)velocity, (void)h;
    *touch = (ode_touch){.normal = {0, 0, 1}};
    return true;
}

// Also after a second solve that has failed.
START_TEST(a_kept_solution_has_room_for_touches)
{
    enum { BODIES = 3 };
    dBodyID body[BODIES];
    dWorldID world = dWorldCreate();
    dSpaceID space = dSimpleSpaceCreate(0);
    ode_warm_start *memory = sprag_ode_warm_start_make();
    const ode_stiffness stiffness = {.speculative = true};
    pull p = {0};
    add_chain(world, body, BODIES, 0);
    ck_assert(sprag_ode_find_islands(world, step, &p.islands));
    p.island = island_at(&p.islands, 0);
    for (int i = 0; i < p.island.joints; i++) {
        dJointID joint = p.island.joint[i];
        if (dJointGetType(joint) == dJointTypeContact) {
            dContactGeom *geom = (dContactGeom *)(uintptr_t)sprag_ode_contact_geom(joint);
            geom->g1 = dCreateSphere(space, 0.1);
            geom->g2 = dCreatePlane(space, 0, 0, 1, 0);
            dGeomSetBody(geom->g1, dJointGetBody(joint, 0));
        }
    }
    p.result = sprag_ode_pull(&p.ode, world, &p.island, step, &stiffness, memory, &p.scratch);
    ck_assert_str_eq(sprag_result_name(p.result), "ok");
    for (int i = 0; i < BODIES; i++) {
        p.ode.contact[i].slide.velocity[0] = p.ode.contact[i].slide.velocity[1] = 1;
        p.ode.contact[i].on_chords = true;
    }
    memset(p.ode.solution.velocity, 0, BODIES * sizeof *p.ode.solution.velocity);
    memset(p.ode.solution.contact_force, 0, BODIES * sizeof *p.ode.solution.contact_force);
    memset(p.ode.solution.row_force, 0, (size_t)p.ode.problem.rows * sizeof(double));
    ck_assert(sprag_ode_keep_solution(&p.ode, &p.scratch));
    p.ode.solution = p.ode.first;
    ck_assert_int_eq(sprag_ode_add_touches(&p.ode, BODIES, touches_ahead, NULL, &p.scratch),
                     BODIES);
    ck_assert_int_eq(p.ode.problem.contacts, 2 * BODIES);
    for (int i = 0; i < BODIES; i++) { // the surface of a touch moves as that of its contact
        const sprag_contact *of = &p.ode.problem.contact[i], *touch = of + BODIES;
        ck_assert_double_eq_tol(dot3(touch->frame[2], of->frame[1]), 0, 1e-15);
        ck_assert_double_gt(dot3(touch->frame[1], of->frame[1]), 0);
        ck_assert_double_eq(touch->slide.velocity[0], 0); // it has no chord
        ck_assert_double_eq(touch->slide.velocity[1], 0);
    }
    memset(p.ode.solution.contact_force, 1, 2 * BODIES * sizeof *p.ode.solution.contact_force);
    for (int i = 0; i < p.ode.problem.rows; i++) {
        ck_assert_double_eq(p.ode.solution.row_force[i], 0);
    }
    release(&p);
    sprag_ode_warm_start_free(memory);
    dSpaceDestroy(space);
    dWorldDestroy(world);
}
END_TEST

// One of two chains moves as if it were alone; the other one is left as it was.
START_TEST(stock_steps_one_island)
{
    enum { FEW = 1 }; // dWorldStep's memory does not suffice for QuickStep
    bool quick = _i;
    dWorldID world = dWorldCreate(), alone = dWorldCreate();
    dBodyID body[FEW], other[FEW], single[FEW];
    add_chain(world, body, FEW, 0);
    add_chain(world, other, FEW, 1);
    add_chain(alone, single, FEW, 0);
    ode_islands islands;
    ck_assert(sprag_ode_find_islands(world, step, &islands));
    ck_assert_uint_eq(islands.count, 2);
    ode_island island = island_at(&islands, 0);
    for (int i = 0; i < island.bodies; i++) {
        if (island.body[i] == other[0]) {
            island = island_at(&islands, 1);
        }
    }
    body_state before = state_of(other[0]);
    dRandSetSeed(7);
    ck_assert(sprag_ode_step_island(world, &island, step, quick, !quick));
    unsigned long seed = dRandGetSeed();
    dRandSetSeed(7);
    ck_assert((quick ? dWorldQuickStep : dWorldStep)(alone, step));
    ck_assert_uint_eq(seed, dRandGetSeed());
    for (int i = 0; i < FEW; i++) {
        body_state ours = state_of(body[i]), stock = state_of(single[i]);
        assert_same_bits(&ours, &stock);
    }
    body_state after = state_of(other[0]);
    assert_same_bits(&after, &before);
    dWorldDestroy(world);
    dWorldDestroy(alone);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pull");
    ADD_TESTS_WITH(suite, "all", setup, dCloseODE, {finds_its_way_in_a_large_island, 1},
                   {refuses_a_stranger, 1}, {endless_softness_holds_nothing, 1},
                   {a_kept_solution_has_room_for_touches, 1}, {stock_steps_one_island, 2});
    return run_suite(suite);
}
