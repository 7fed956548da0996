// Softness in closed form: how contacts and rows of a problem yield by masses, levers and speeds.
#include <math.h>

#include "linalg.h"
#include "problems.h"
#include "softness.h"
#include "suite.h"

static scene s;

static const sprag_shares shares = {1e-3, 1e-8, 1e-7};

static sprag_softness softness(void)
{
    return sprag_problem_softness(&s.problem, shares);
}

// The change of a step, a hundredth of the fastest body if that is more, or 1 m/s where nothing
// moves.
START_TEST(scale_is_what_changes)
{
    open_scene(&s);
    ck_assert_double_eq(sprag_problem_scale(&s.problem), 1);
    add_cube(&s, 2);
    ck_assert_double_eq(sprag_problem_scale(&s.problem), 1);
    add_cube(&s, 0);
    s.body[1].free_velocity[1] = 7; // no force makes it faster
    ck_assert_double_eq(sprag_problem_scale(&s.problem), 1);
    s.body[1].free_velocity[1] = 0;
    s.body[0].free_velocity[0] = 0.3;
    s.body[0].free_velocity[1] = -0.4;
    ck_assert_double_eq_tol(sprag_problem_scale(&s.problem), 0.5, 1e-15);
    s.body[1].velocity[2] = s.body[1].free_velocity[2] = -40;
    ck_assert_double_eq_tol(sprag_problem_scale(&s.problem), 0.5, 1e-15);
    s.body[1].velocity[2] = s.body[1].free_velocity[2] = -60;
    ck_assert_double_eq_tol(sprag_problem_scale(&s.problem), 0.6, 1e-15);
    const sprag_softness soft = softness();
    ck_assert_double_eq_tol(soft.scale, 0.6, 1e-15);
    ck_assert_double_eq_tol(soft.fall, 0.6 * STEP, 1e-15);
    ck_assert_double_eq(soft.heaviest, 2);
}
END_TEST

// In proportion to the fastest body where that is slower than what a step changes.
START_TEST(softness_in_motion_is_that_of_the_fastest)
{
    static const struct {
        double speed, softness;
    } of[] = {{0, SPRAG_SOFT_LEAST}, {0.1, 1e-4}, {0.5, 5e-4}, {1, 1e-3}, {30, 1e-3}};
    open_scene(&s);
    add_cube(&s, 1);
    add_cube(&s, 3);
    s.body[0].velocity[0] = of[_i].speed;
    s.body[1].velocity[0] = of[_i].speed / 2;
    s.body[0].free_velocity[0] = of[_i].speed;
    s.body[1].free_velocity[0] = of[_i].speed / 2;
    s.body[0].free_velocity[2] = -1;
    ck_assert_double_eq_tol(sprag_softness_in_motion(1e-3, &s.problem), of[_i].softness, 1e-15);
    ck_assert_double_eq(sprag_softness_in_motion(0, &s.problem), 0);
}
END_TEST

// By n^(2/3) beyond ten moving bodies, and by no more than ten.
START_TEST(softness_grows_with_bodies)
{
    open_scene(&s);
    for (int b = 0; b < 9; b++) {
        add_cube(&s, 1);
        add_cube(&s, 0);
    }
    ck_assert_double_eq(sprag_softness_for_sweeps(1e-3, &s.problem), 1e-3);
    for (int b = 9; b < 30; b++) {
        add_cube(&s, 1);
    }
    ck_assert_double_eq_tol(sprag_softness_for_sweeps(1e-3, &s.problem), 1e-3 * cbrt(9), 1e-15);
    static sprag_body many[1000];
    for (int b = 0; b < 1000; b++) {
        many[b].mass = 1;
    }
    s.problem.body = many;
    s.problem.bodies = 1000;
    ck_assert_double_eq_tol(sprag_softness_for_sweeps(1e-3, &s.problem), 1e-2, 1e-15);
}
END_TEST

// A share of the inverse mass, less for small bodies and where heavy ones are, or the compliance.
START_TEST(contacts_yield_by_masses_and_levers)
{
    open_scene(&s);
    add_cube(&s, 2);
    fall(&s);
    const double w = 1 / 2.0, share = shares.normal;
    sprag_softness soft = softness();
    sprag_contact *contact = add_ground(&s, 0, 0.5);
    ck_assert_double_eq(sprag_contact_yield(&soft, contact, 0), INFINITY);
    ck_assert_double_eq_tol(sprag_contact_yield(&soft, contact, w), share * w, 1e-18);
    contact->softening = 0.5;
    ck_assert_double_eq_tol(sprag_contact_yield(&soft, contact, w), share * w / 2, 1e-18);
    contact->softening = 1e-9;
    ck_assert_double_eq_tol(sprag_contact_yield(&soft, contact, w), SPRAG_SOFT_LEAST * w, 1e-18);
    contact->softening = 1;
    for (int side = 0; side < 2; side++) { // the longer lever counts
        const double large = 200 * G * STEP * STEP, small = 10 * G * STEP * STEP;
        contact->arm[side][1] = large;
        contact->arm[!side][1] = small;
        ck_assert_double_eq_tol(sprag_contact_yield(&soft, contact, w), share * w, 1e-18);
        contact->arm[side][1] = small;
        contact->arm[!side][1] = 0;
        ck_assert_double_eq_tol(sprag_contact_yield(&soft, contact, w), share * w / 10, 1e-18);
    }
    contact->arm[1][1] = 0;
    ck_assert_double_eq_tol(sprag_contact_yield(&soft, contact, 100), share * 4 / 2, 1e-18);
    contact->compliance = 1e-4;
    ck_assert_double_eq_tol(sprag_contact_yield(&soft, contact, w), 1e-4 / STEP, 1e-18);
    soft.share.normal = 0;
    ck_assert_double_eq_tol(sprag_contact_yield(&soft, contact, w), 1e-4 / STEP, 1e-18);
    contact->compliance = 0;
    ck_assert_double_eq(sprag_contact_yield(&soft, contact, w), 0);
}
END_TEST

// The contact's own, up to the least softness; none where nothing moves.
START_TEST(stiffness_is_bounded)
{
    open_scene(&s);
    add_cube(&s, 2);
    fall(&s);
    const sprag_softness soft = softness();
    sprag_contact *contact = add_ground(&s, 0, 0.5);
    contact->stiffness = 1e5;
    ck_assert_double_eq(sprag_contact_stiffness(&soft, contact, 0.5), 1e5);
    ck_assert_double_eq(sprag_contact_stiffness(&soft, contact, 0), 0);
    contact->stiffness = 1e20;
    const double most = 1 / (STEP * STEP * SPRAG_SOFT_LEAST * 0.5);
    ck_assert_double_eq_tol(sprag_contact_stiffness(&soft, contact, 0.5), most, 1e-9 * most);
}
END_TEST

// By what is linear in the row, or else by its turns; by the sides that move.
START_TEST(rows_yield_by_masses_or_inertias)
{
    open_scene(&s);
    add_cube(&s, 2);
    add_cube(&s, 5);
    const sprag_softness soft = softness();
    const double first[9] = {3, 9, 9, 9, 4, 9, 9, 9, 2}, other[9] = {1};
    sprag_inverse inverse[2] = {{1 / 2.0, first}, {1 / 5.0, other}};
    sprag_row *row = add_row(&s, 0, 1);
    row->jacobian[0][0] = 2, row->jacobian[1][1] = -1;
    row->jacobian[0][4] = 100;
    const double linear = 4 / 2.0 + 1 / 5.0, turning = 3 * 1e4;
    ck_assert_double_eq_tol(sprag_row_yield(&soft, row, inverse), 1e-8 * linear, 1e-20);
    inverse[1] = (sprag_inverse){0};
    ck_assert_double_eq_tol(sprag_row_yield(&soft, row, inverse), 1e-8 * 2, 1e-20);
    row->jacobian[0][0] = 0;
    ck_assert_double_eq_tol(sprag_row_yield(&soft, row, inverse), 1e-8 * turning, 1e-15);
    row->compliance = 3;
    ck_assert_double_eq_tol(sprag_row_yield(&soft, row, inverse), 300, 1e-12);
    inverse[0].mass = 0;
    ck_assert_double_eq(sprag_row_yield(&soft, row, inverse), INFINITY);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("softness");
    ADD_TESTS(suite, "all", {scale_is_what_changes, 1},
              {softness_in_motion_is_that_of_the_fastest, 5}, {softness_grows_with_bodies, 1},
              {contacts_yield_by_masses_and_levers, 1}, {stiffness_is_bounded, 1},
              {rows_yield_by_masses_or_inertias, 1});
    return run_suite(suite);
}
