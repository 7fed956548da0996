// The strategy that solves with frozen friction.
#include <check.h>

#include "problems.h"
#include "stribeck.h"
#include "stribeck_cases.h"
#include "suite.h"

// ---- islands that settle

// Instead of sweeps, under the bounds of friction that the contacts expect; direct strategies wait:
// they are in debt, and a factorization takes too much to be free of accounts.
static sprag_stribeck_options settled(void)
{
    static sprag_memory memory;
    sprag_stribeck_options options = sprag_stribeck_defaults();
    memory = (sprag_memory){.known.left = -1e9, .update = 1e9};
    options.memory = &memory;
    options.exact = false;
    options.sweeps = 1;
    options.softness = 1e-6; // of advance
    options.settled_work = INFINITY;
    return options;
}

static scene other;

static void solve_by(scene *scene, const sprag_stribeck_options *options, sprag_strategy strategy)
{
    ck_assert_int_eq(solve_with(scene, options), SPRAG_OK);
    ck_assert_int_eq(scene->stats.strategy, strategy);
}

// Momentum, no pull, no contact that closes, none that presses and opens; friction within the bound
// that is expected, against the slip where it is at that.
static void check_settled(const scene *scene)
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

// A puck that slides, of which this share of its weight is expected on the ground.
static void open_puck(double expected)
{
    open_scene(&s);
    add_cube(&s, 2);
    add_ground(&s, 0, MU)->guess[0] = expected * 2 * G;
    s.body[0].velocity[0] = 1;
    fall(&s);
}

START_TEST(puck_slides_under_the_bound_expected)
{
    static const double expected[] = {0.85, 1, 1.2};
    sprag_stribeck_options options = settled();
    open_puck(expected[_i]);
    solve_by(&s, &options, SPRAG_STRATEGY_FROZEN_FRICTION);
    check_settled(&s);
    ck_assert_double_eq_tol(s.contact_force[0][0], 2 * G, 1e-3);
    ck_assert_double_eq_tol(s.contact_force[0][1], -MU * expected[_i] * 2 * G, 0.01 * 2 * G);
    ck_assert_double_eq_tol(s.stats.bound_error, fabs(1 - expected[_i]) / fmax(1, expected[_i]),
                            1e-2);
}
END_TEST

// The bounds are wrong: sweeps find the friction of the force that presses.
START_TEST(puck_slides_under_its_own_force)
{
    static const double expected[] = {0, 0.5, 2};
    sprag_stribeck_options options = settled();
    options.sweeps = 100;
    open_puck(expected[_i]);
    solve_by(&s, &options, SPRAG_STRATEGY_GAUSS_SEIDEL);
    ck_assert_double_eq_tol(s.contact_force[0][1], -MU * 2 * G, 0.01 * 2 * G);
}
END_TEST

// Where sweeps find a better solution than under bounds that are wrong, the next solve spares the
// attempt, and comes back to it later.
START_TEST(waits_after_a_failure)
{
    sprag_stribeck_options options = settled();
    int step = 0;
    options.sweeps = 100;
    open_puck(2);
    solve_by(&s, &options, SPRAG_STRATEGY_GAUSS_SEIDEL);
    const long tried = s.stats.factorizations;
    ck_assert_int_gt(tried, 0);
    open_puck(2);
    solve_by(&s, &options, SPRAG_STRATEGY_GAUSS_SEIDEL);
    ck_assert_int_eq(s.stats.factorizations, 0);
    do {
        open_puck(2);
        solve_by(&s, &options, SPRAG_STRATEGY_GAUSS_SEIDEL);
    } while (s.stats.factorizations == 0 && ++step < 1000);
    ck_assert_int_lt(step, 1000);
}
END_TEST

// Cubes on top of one another, heavier and heavier, are held.
START_TEST(towers_stand)
{
    static const int heights[] = {2, 10, 20};
    static const double grows[] = {1, 1.1};
    sprag_stribeck_options options = settled();
    int bodies = heights[_i % 3];
    open_scene(&s);
    for (int b = 0; b < bodies; b++) {
        add_cube(&s, pow(grows[_i / 3], b));
        stand(&s, b, b - 1, MU);
        s.body[b].velocity[0] = 0;
    }
    fall(&s);
    push(&s, bodies - 1, 0.3 * MU * s.body[bodies - 1].mass * G, 0, 0);
    ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
    expect_forces(&s);   // what presses is known from the first
    options = settled(); // and the method is not in debt
    solve_by(&s, &options, SPRAG_STRATEGY_FROZEN_FRICTION);
    check_settled(&s);
    for (int b = 0; b < bodies; b++) {
        ck_assert_double_le(sqrt(dot(s.velocity[b], s.velocity[b], 6)), 0.02 * G * STEP);
    }
}
END_TEST

// What converges balances momentum; of the rest, others make a solution. With mu = 5 bounds that
// are guessed may leave more than no solution does.
START_TEST(piles_end)
{
    static const double mus[] = {0, 0.2, 0.5, 5}, speeds[] = {0, 0.1, 3};
    sprag_stribeck_options options = settled();
    open_scene(&s);
    add_pile(&s, (uint64_t)_i, 5 + _i * 7 % 56, mus[_i % 4], speeds[_i % 3], false);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
        ck_assert_double_le(s.stats.residual, mus[_i % 4] > 1 ? 2 : 1);
        if (s.stats.convergence <= TOLERANCE) {
            ck_assert_double_le(momentum_error(&s), 1.01 * TOLERANCE);
        }
        expect_forces(&s);
    }
}
END_TEST

// Rows with bounds and without; compared with what Newton finds.
START_TEST(rows_are_within_their_bounds)
{
    sprag_stribeck_options options = settled(), direct = sprag_stribeck_defaults();
    chance c = {(uint64_t)_i};
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
    other.solution = (sprag_solution){other.velocity, other.contact_force, other.row_force, NULL};
    solve_by(&s, &options, SPRAG_STRATEGY_FROZEN_FRICTION);
    solve_by(&other, &direct, SPRAG_STRATEGY_NEWTON);
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

START_TEST(same_pile_same_bits)
{
    sprag_stribeck_options options = settled();
    for (int run = 0; run < 2; run++) {
        scene *scene = run ? &other : &s;
        open_scene(scene);
        add_pile(scene, 7, 40, MU, 1, false);
        solve_by(scene, &options, SPRAG_STRATEGY_FROZEN_FRICTION);
    }
    ck_assert_mem_eq(s.velocity, other.velocity, sizeof s.velocity);
    ck_assert_mem_eq(s.contact_force, other.contact_force, sizeof s.contact_force);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("frozen_friction");
    ADD_CASE(suite, "islands that settle", {puck_slides_under_the_bound_expected, 3},
             {puck_slides_under_its_own_force, 3}, {waits_after_a_failure, 1}, {towers_stand, 6},
             {piles_end, 60}, {rows_are_within_their_bounds, 30}, {same_pile_same_bits, 1});
    return run_suite(suite);
}
