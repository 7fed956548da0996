// Forces of the last step, remembered by pair of geoms and by joint.
#include <check.h>
#include <stdint.h>

#include "islands.h"
#include "suite.h"

// ---- memory

static dJointID contact_at(const touching *t, dGeomID g1, dGeomID g2, double x)
{
    dContact c = oblique_contact(0);
    c.geom.pos[0] = x;
    c.geom.g1 = g1;
    c.geom.g2 = g2;
    return attach(t, &c, 0);
}

static sprag_contact framed(dJointID joint)
{
    const dReal *normal = sprag_ode_contact_geom(joint)->normal;
    dVector3 n = {normal[0], normal[1], normal[2]}, t, s;
    sprag_contact contact = {0};
    dPlaneSpace(n, t, s);
    for (int k = 0; k < 3; k++) {
        contact.frame[0][k] = n[k];
        contact.frame[1][k] = t[k];
        contact.frame[2][k] = s[k];
    }
    return contact;
}

static void remember(ode_warm_start *memory, dJointID joint, double normal)
{
    sprag_contact contact = framed(joint);
    double force[1][6] = {{normal, -2 * normal, 3}};
    ode_warm_key key;
    ode_contact_view view;
    sprag_ode_view_contact(sprag_ode_layout(), joint, &view);
    sprag_ode_warm_key_set(&key, &view, &contact);
    const ode_problem one = {.problem = {.contacts = 1, .contact = &contact},
                             .solution = {.contact_force = force},
                             .warm_key = &key};
    sprag_ode_warm_start_store(memory, &one);
}

// The normal force that one contact is given, -1: none known; along the tangents what goes with it.
static double recall(ode_warm_start *memory, dJointID joint)
{
    sprag_contact contact = framed(joint);
    recall_contacts(memory, &joint, &contact, 1);
    if (contact.guess[0] > 0) {
        ck_assert_double_eq_tol(contact.guess[1], -2 * contact.guess[0], 1e-12);
    }
    return contact.guess[0];
}

START_TEST(remembers_by_pair)
{
    touching t = open_touching();
    dGeomID a = dCreateSphere(0, 1), b = dCreateSphere(0, 1), other = dCreateSphere(0, 1);
    ode_warm_start *memory = sprag_ode_warm_start_make();
    ck_assert_double_eq(recall(memory, contact_at(&t, a, b, 0)), -1);
    remember(memory, contact_at(&t, a, b, 0), 10);
    remember(memory, contact_at(&t, 0, 0, 5), 30);
    ck_assert_double_eq(recall(memory, contact_at(&t, a, b, 0)), -1);
    sprag_ode_warm_start_next_step(memory);
    ck_assert_double_eq_tol(recall(memory, contact_at(&t, a, b, -9)), 10, 1e-12);
    dContact turned = oblique_contact(0); // the geoms the other way round
    turned.geom.g1 = b;
    turned.geom.g2 = a;
    for (int k = 0; k < 3; k++) {
        turned.geom.normal[k] *= -1;
    }
    ck_assert_double_eq_tol(recall(memory, attach(&t, &turned, 0)), 10, 1e-12);
    ck_assert_double_eq(recall(memory, contact_at(&t, a, other, 0)), -1);
    // Without geoms, by the bodies.
    ck_assert_double_eq_tol(recall(memory, contact_at(&t, 0, 0, 0)), 30, 1e-12);
    dJointID of_one = attach(&t, &(dContact){.geom = {.pos = {5}, .normal = {1}}}, 1);
    ck_assert_double_eq(recall(memory, of_one), -1);
    sprag_ode_warm_start_next_step(memory); // a step without contacts
    ck_assert_double_eq(recall(memory, contact_at(&t, a, b, 0)), -1);
    sprag_ode_warm_start_free(memory);
    dGeomDestroy(a);
    dGeomDestroy(b);
    dGeomDestroy(other);
    dWorldDestroy(t.world);
}
END_TEST

// Each stored force of a pair is given to the nearest of its new contacts.
START_TEST(forces_of_a_pair_go_to_the_nearest)
{
    static const double was[] = {0, 1, 5}, force[] = {10, 20, 40};
    static const double is[] = {0.4, 0.41, 4}, expected[] = {10, 20, 40};
    touching t = open_touching();
    dGeomID a = dCreateSphere(0, 1), b = dCreateSphere(0, 1);
    ode_warm_start *memory = sprag_ode_warm_start_make();
    dJointID joint[3];
    sprag_contact contact[3];
    for (int i = 0; i < 3; i++) {
        remember(memory, contact_at(&t, a, b, was[i]), force[i]);
    }
    sprag_ode_warm_start_next_step(memory);
    for (int i = 0; i < 3; i++) {
        joint[i] = contact_at(&t, a, b, is[i]);
        contact[i] = framed(joint[i]);
    }
    recall_contacts(memory, joint, contact, 3);
    for (int i = 0; i < 3; i++) {
        ck_assert_double_eq_tol(contact[i].guess[0], expected[i], 1e-12);
    }
    // Whatever has been asked before, as of displaced contacts, which are nearer.
    ck_assert_double_eq_tol(recall(memory, contact_at(&t, a, b, 9)), 70, 1e-12);
    sprag_ode_warm_start_free(memory);
    dGeomDestroy(a);
    dGeomDestroy(b);
    dWorldDestroy(t.world);
}
END_TEST

// A pair whose contacts do not follow one another, after a pair that it followed.
START_TEST(remembers_all_parts_of_a_pair)
{
    touching t = open_touching();
    dGeomID a = dCreateSphere(0, 1), b = dCreateSphere(0, 1), c = dCreateSphere(0, 1);
    ode_warm_start *memory = sprag_ode_warm_start_make();
    remember(memory, contact_at(&t, a, c, 0), 1);
    remember(memory, contact_at(&t, a, b, 0), 10);
    remember(memory, contact_at(&t, b, c, 0), 2);
    remember(memory, contact_at(&t, a, b, 1), 20);
    sprag_ode_warm_start_next_step(memory);
    dJointID joint[2] = {contact_at(&t, a, c, 0), contact_at(&t, a, b, 0.5)};
    sprag_contact contact[2] = {framed(joint[0]), framed(joint[1])};
    recall_contacts(memory, joint, contact, 2);
    ck_assert_double_eq_tol(contact[0].guess[0], 1, 1e-12);
    ck_assert_double_eq_tol(contact[1].guess[0], 30, 1e-12);
    sprag_ode_warm_start_free(memory);
    dGeomDestroy(a);
    dGeomDestroy(b);
    dGeomDestroy(c);
    dWorldDestroy(t.world);
}
END_TEST

static double force_of_row(const ode_warm_start *memory, dJointID joint, int row)
{
    int at = -1;
    return sprag_ode_warm_start_row(memory, joint, row, &at, NULL);
}

START_TEST(remembers_rows)
{
    touching t = open_touching();
    dJointID joint = contact_at(&t, 0, 0, 0), other = contact_at(&t, 0, 0, 0);
    ode_warm_start *memory = sprag_ode_warm_start_make();
    sprag_ode_warm_start_store_row(memory, joint, 0, 5, 0);
    sprag_ode_warm_start_store_row(memory, joint, 1, -6, 0);
    sprag_ode_warm_start_next_step(memory);
    ck_assert_double_eq(force_of_row(memory, joint, 0), 5);
    ck_assert_double_eq(force_of_row(memory, joint, 1), -6);
    ck_assert_double_eq(force_of_row(memory, joint, 2), 0);
    ck_assert_double_eq(force_of_row(memory, other, 0), 0);
    dJointID of[3] = {joint, joint, other};
    double force[3] = {7, 8, 9};
    const ode_problem rows = {.joint_rows = 3, .row_joint = of, .solution = {.row_force = force}};
    sprag_ode_warm_start_store(memory, &rows);
    sprag_ode_warm_start_next_step(memory);
    ck_assert_double_eq(force_of_row(memory, joint, 0), 7);
    ck_assert_double_eq(force_of_row(memory, joint, 1), 8);
    ck_assert_double_eq(force_of_row(memory, joint, 2), 0);
    ck_assert_double_eq(force_of_row(memory, other, 0), 9);
    ck_assert_double_eq(force_of_row(memory, other, 1), 0);
    sprag_ode_warm_start_free(memory);
    dWorldDestroy(t.world);
}
END_TEST

// More contacts than the tables had room for at first.
START_TEST(remembers_many)
{
    enum { MANY = 1000 };
    touching t = open_touching();
    static sprag_contact contact[MANY];
    dJointID joint[MANY];
    ode_warm_start *memory = sprag_ode_warm_start_make();
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++) {
            if (round == 0) {
                // Never looked at: a number that tells pairs apart.
                joint[i] = contact_at(&t, (dGeomID)(uintptr_t)(64 + 16 * (i / 4)), NULL, i % 4);
            }
            remember(memory, joint[i], i + round + 1);
        }
        sprag_ode_warm_start_next_step(memory);
        for (int i = 0; i < MANY; i++) {
            contact[i] = framed(joint[i]);
        }
        recall_contacts(memory, joint, contact, MANY);
        for (int i = 0; i < MANY; i++) {
            ck_assert_double_eq_tol(contact[i].guess[0], i + round + 1, 1e-9);
        }
    }
    sprag_ode_warm_start_free(memory);
    dWorldDestroy(t.world);
}
END_TEST

// What is the first, and all, that a step has stored.
START_TEST(remembers_groups)
{
    touching t = open_touching();
    ode_warm_start *memory = sprag_ode_warm_start_make();
    sprag_ode_warm_start_store_integrator_step(memory, t.body[0], 0.25);
    sprag_ode_warm_start_next_step(memory);
    ck_assert_double_eq(sprag_ode_warm_start_integrator_step(memory, t.body[0]), 0.25);
    ck_assert_double_eq(sprag_ode_warm_start_integrator_step(memory, t.body[1]), 0);
    const sprag_memory newton = {.last = SPRAG_STRATEGY_NEWTON},
                       none = {.last = SPRAG_STRATEGY_NONE};
    sprag_ode_warm_start_store_group(memory, t.body[0], &none);
    sprag_ode_warm_start_store_group(memory, t.body[1], &newton);
    sprag_ode_warm_start_next_step(memory);
    ck_assert_double_eq(sprag_ode_warm_start_integrator_step(memory, t.body[0]), 0);
    ck_assert_int_eq(sprag_ode_warm_start_island(memory, t.body[0]).last, SPRAG_STRATEGY_NONE);
    ck_assert_int_eq(sprag_ode_warm_start_island(memory, t.body[1]).last, SPRAG_STRATEGY_NEWTON);
    sprag_ode_warm_start_free(memory);
    dWorldDestroy(t.world);
}
END_TEST

// Several threads store at once, in room that is taken before: two rows and a contact's force.
START_TEST(remembers_what_threads_store)
{
    touching t = open_touching();
    dGeomID a = dCreateSphere(0, 1), b = dCreateSphere(0, 1);
    dJointID contact = contact_at(&t, a, b, 0);
    ode_warm_start *memory = sprag_ode_warm_start_make();
    sprag_ode_warm_start_store_row(memory, contact, 5, 50, 0);
    ck_assert(sprag_ode_warm_start_begin_threads(memory, 2));
    sprag_ode_warm_start_store_row(memory, contact, 0, 1, 0);
    remember(memory, contact, 10);
    sprag_ode_warm_start_end_threads(memory);
    sprag_ode_warm_start_store_row(memory, contact, 1, 2, 0);
    sprag_ode_warm_start_next_step(memory);
    ck_assert_double_eq(force_of_row(memory, contact, 5), 50);
    ck_assert_double_eq(force_of_row(memory, contact, 0), 1);
    ck_assert_double_eq(force_of_row(memory, contact, 1), 2);
    ck_assert_double_eq_tol(recall(memory, contact), 10, 1e-12);
    sprag_ode_warm_start_free(memory);
    dGeomDestroy(a);
    dGeomDestroy(b);
    dWorldDestroy(t.world);
}
END_TEST

// A pair with more than 64 contacts, as two meshes have, starts without a guess: one contact would
// be compared with all of them.
START_TEST(forgets_pairs_of_very_many)
{
    touching t = open_touching();
    dGeomID a = dCreateSphere(0, 1), b = dCreateSphere(0, 1);
    for (int many = 64; many < 66; many++) {
        ode_warm_start *memory = sprag_ode_warm_start_make();
        for (int i = 0; i < many; i++) {
            remember(memory, contact_at(&t, a, b, i), 1);
        }
        sprag_ode_warm_start_next_step(memory);
        ck_assert_double_eq_tol(recall(memory, contact_at(&t, a, b, 0)), many == 64 ? 64 : -1,
                                1e-12);
        sprag_ode_warm_start_free(memory);
    }
    dGeomDestroy(a);
    dGeomDestroy(b);
    dWorldDestroy(t.world);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("warm_start");
    ADD_TESTS_WITH(suite, "all", setup, dCloseODE, {remembers_by_pair, 1},
                   {forces_of_a_pair_go_to_the_nearest, 1}, {remembers_all_parts_of_a_pair, 1},
                   {remembers_rows, 1}, {remembers_many, 1}, {forgets_pairs_of_very_many, 1},
                   {remembers_groups, 1}, {remembers_what_threads_store, 1});
    return run_suite(suite);
}
