// The interior point strategy of the implicit Stribeck method: what it finds are impulses of the
// laws under the bounds of friction that it was given, in few updates, whatever the bodies, their
// masses and their number.
#include <check.h>
#include <math.h>

#include "problems.h"
#include "stribeck.h"
#include "suite.h"

static const double MU = 0.5;

static scene s, other;
static sprag_scratch scratch;

static sprag_stribeck_options interior(void)
{
    sprag_stribeck_options options = sprag_stribeck_defaults();
    options.softness = 1e-6;
    options.interior_point_updates = 40;
    options.interior_point_work = INFINITY;
    return options;
}

static void solve(scene *scene, const sprag_stribeck_options *options, sprag_strategy strategy)
{
    sprag_result result =
        sprag_stribeck_solve(&scene->problem, options, &scratch, &scene->solution, &scene->stats);
    sprag_scratch_reset(&scratch);
    ck_assert_int_eq(result, SPRAG_OK);
    ck_assert_int_eq(scene->stats.strategy, strategy);
}

// Momentum, no pull, no contact that closes, none that presses and opens; friction within the bound
// that is expected, against the slip where it is at that.
static void check(const scene *scene)
{
    double weight = 0, change = G * STEP; // N, m/s
    for (int b = 0; b < scene->problem.bodies; b++) {
        weight = fmax(weight, scene->body[b].mass * G);
    }
    ck_assert_double_le(momentum_error(scene), 1e-6);
    for (int i = 0; i < scene->problem.contacts; i++) {
        const sprag_contact *contact = &scene->contact[i];
        const double *f = scene->contact_force[i];
        double u[6], most = contact->slide.coefficient[0] * contact->guess[0];
        contact_velocity(scene, i, scene->velocity, u);
        double apart = u[0] - contact->bias, slip = hypot(u[1], u[2]), force = hypot(f[1], f[2]);
        ck_assert_double_ge(f[0], 0);
        ck_assert_double_ge(apart, -1e-3 * change - 1e-6 * f[0]);
        ck_assert_double_le(f[0] * apart, 1e-3 * weight * change);
        if (contact->guess[0] >= 0) {
            ck_assert_double_le(force, most + 1e-2 * weight);
            ck_assert_double_le(fabs(force * slip + f[1] * u[1] + f[2] * u[2]),
                                1e-3 * weight * fmax(change, slip));
        }
        if (contact->guess[0] >= 0 && force < 0.9 * most) {
            ck_assert_double_le(slip, 1e-3 * change + 1e-2 * slip);
        }
    }
}

// As in the next step.
static void expect_forces(scene *scene)
{
    for (int i = 0; i < scene->problem.contacts; i++) {
        scene->contact[i].guess[0] = scene->contact_force[i][0];
    }
}

START_TEST(puck_slides_under_the_bound_expected)
{
    static const double expected[] = {0.5, 1, 2};
    sprag_stribeck_options options = interior();
    open_scene(&s);
    add_cube(&s, 2);
    add_ground(&s, 0, MU)->guess[0] = expected[_i] * 2 * G;
    s.body[0].velocity[0] = 1;
    fall(&s);
    solve(&s, &options, SPRAG_STRATEGY_INTERIOR_POINT);
    check(&s);
    ck_assert_double_eq_tol(s.contact_force[0][0], 2 * G, 1e-3);
    ck_assert_double_eq_tol(s.contact_force[0][1], -MU * expected[_i] * 2 * G, 0.01 * 2 * G);
    ck_assert_double_eq_tol(s.stats.bound_error, fabs(1 - expected[_i]) / fmax(1, expected[_i]),
                            1e-2);
}
END_TEST

// Cubes on top of one another, heavier and heavier, are held.
START_TEST(towers_stand_in_few_updates)
{
    static const int heights[] = {2, 10, 60};
    static const double grows[] = {1, 1.1};
    sprag_stribeck_options options = interior();
    int bodies = heights[_i % 3];
    open_scene(&s);
    for (int b = 0; b < bodies; b++) {
        add_cube(&s, pow(grows[_i / 3], b));
        stand(&s, b, b - 1, MU);
        s.body[b].velocity[0] = 0;
    }
    fall(&s);
    push(&s, bodies - 1, 0.3 * MU * s.body[bodies - 1].mass * G, 0, 0);
    for (int i = 0; i < 2; i++) { // what presses is known from the first
        solve(&s, &options, SPRAG_STRATEGY_INTERIOR_POINT);
        ck_assert_int_le(s.stats.iterations, 20);
        check(&s);
        expect_forces(&s);
    }
    for (int b = 0; b < bodies; b++) {
        ck_assert_double_le(sqrt(dot(s.velocity[b], s.velocity[b], 6)), 0.02 * G * STEP);
    }
}
END_TEST

// With mu = 5 the bounds that a few sweeps find may leave as much as no solution does: then others
// go on.
START_TEST(piles_end)
{
    static const double mus[] = {0, 0.2, 0.5, 5}, speeds[] = {0, 0.1, 3};
    sprag_stribeck_options options = interior();
    open_scene(&s);
    add_pile(&s, (uint64_t)_i, 5 + _i * 7 % 56, mus[_i % 4], speeds[_i % 3], false);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(
            sprag_stribeck_solve(&s.problem, &options, &scratch, &s.solution, &s.stats), SPRAG_OK);
        sprag_scratch_reset(&scratch);
        ck_assert_double_le(s.stats.residual, 1);
        if (mus[_i % 4] < 1 || s.stats.strategy == SPRAG_STRATEGY_INTERIOR_POINT) {
            ck_assert_int_eq(s.stats.strategy, SPRAG_STRATEGY_INTERIOR_POINT);
            ck_assert_int_le(s.stats.iterations, 40);
            check(&s);
        }
        expect_forces(&s);
    }
}
END_TEST

// Rows with bounds and without; compared with what Newton finds.
START_TEST(rows_are_within_their_bounds)
{
    sprag_stribeck_options options = interior(), direct = sprag_stribeck_defaults();
    chance c = {(uint64_t)_i};
    direct.direct_work = 0;
    open_scene(&s);
    for (int b = 0; b < 10; b++) {
        add_cube(&s, pow(10, uniform(&c, -1, 1)));
        sprag_row *row = add_row(&s, b, b > 0 && b % 3 ? b - 1 : SPRAG_STATIC);
        for (int k = 0; k < 6; k++) {
            row->jacobian[0][k] = uniform(&c, -1, 1);
            row->jacobian[1][k] = row->body[1] == SPRAG_STATIC ? 0 : uniform(&c, -1, 1);
        }
        row->bias = uniform(&c, -0.1, 0.1);
        row->lo = b % 2 ? -INFINITY : uniform(&c, -10, 0);
        row->hi = b % 4 ? row->lo + (b == 5 ? INFINITY : uniform(&c, 0, 20)) : INFINITY;
        row->hi = isinf(row->lo) && b % 4 ? uniform(&c, 0, 20) : row->hi;
        row->lo = b == 6 ? row->hi : row->lo;
    }
    fall(&s);
    other = s;
    other.problem.body = other.body, other.problem.row = other.row;
    other.solution = (sprag_solution){other.velocity, other.contact_force, other.row_force};
    solve(&s, &options, SPRAG_STRATEGY_INTERIOR_POINT);
    direct.direct_work = INFINITY;
    solve(&other, &direct, SPRAG_STRATEGY_NEWTON);
    ck_assert_double_le(momentum_error(&s), 1e-6);
    for (int i = 0; i < s.problem.rows; i++) {
        ck_assert_double_ge(s.row_force[i], s.row[i].lo - 1e-12);
        ck_assert_double_le(s.row_force[i], s.row[i].hi + 1e-12);
    }
    for (int b = 0; b < s.problem.bodies; b++) {
        for (int k = 0; k < 6; k++) {
            ck_assert_double_eq_tol(s.velocity[b][k], other.velocity[b][k], 1e-4);
        }
    }
}
END_TEST

// Another strategy solves what the interior point method cannot, or may not.
START_TEST(others_go_on)
{
    sprag_stribeck_options options = interior();
    open_scene(&s);
    for (int b = 0; b < 3; b++) {
        add_cube(&s, 1);
        stand(&s, b, b - 1, MU);
    }
    if (_i == 0) {
        options.interior_point_work = 0;
    } else if (_i == 1) {
        options.interior_point_updates = 1;
    } else {
        s.contact[0].stiffness = 1e5;
    }
    fall(&s);
    solve(&s, &options, SPRAG_STRATEGY_NEWTON);
    ck_assert_double_le(momentum_error(&s), 1e-6);
}
END_TEST

START_TEST(same_pile_same_bits)
{
    sprag_stribeck_options options = interior();
    for (int run = 0; run < 2; run++) {
        scene *scene = run ? &other : &s;
        open_scene(scene);
        add_pile(scene, 7, 40, MU, 1, false);
        solve(scene, &options, SPRAG_STRATEGY_INTERIOR_POINT);
    }
    ck_assert_mem_eq(s.velocity, other.velocity, sizeof s.velocity);
    ck_assert_mem_eq(s.contact_force, other.contact_force, sizeof s.contact_force);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("central");
    TCase *all = tcase_create("interior point");
    tcase_add_loop_test(all, puck_slides_under_the_bound_expected, 0, 3);
    tcase_add_loop_test(all, towers_stand_in_few_updates, 0, 6);
    tcase_add_loop_test(all, piles_end, 0, 60);
    tcase_add_loop_test(all, rows_are_within_their_bounds, 0, 30);
    tcase_add_loop_test(all, others_go_on, 0, 3);
    tcase_add_test(all, same_pile_same_bits);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
