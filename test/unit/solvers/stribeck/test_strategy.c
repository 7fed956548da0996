// The strategies of implicit Stribeck: each solves alone, and all agree.
#include <check.h>

#include "problems.h"
#include "stribeck.h"
#include "stribeck_cases.h"
#include "stribeck_constants.h"
#include "suite.h"

// ---- strategies

START_TEST(easy_scenes_are_solved_directly)
{
    puck(MU);
    s.body[0].velocity[0] = 1;
    fall(&s);
    solve(&s);
    ck_assert_int_eq(s.stats.strategy, SPRAG_STRATEGY_NEWTON);
    ck_assert_int_gt(s.stats.iterations, 0);
    ck_assert_int_le(s.stats.iterations, 10);
    ck_assert_int_eq(s.stats.factorizations, s.stats.iterations);
    ck_assert_double_eq(s.stats.bound_error, 0);
}
END_TEST

// A saturated motor pushes with its force.
START_TEST(motorised_cube_moves_as_if_pushed)
{
    double expected[6];
    motorised_cube();
    s.problem.rows = 0;
    push(&s, 0, 30, 0, 0);
    solve(&s);
    memcpy(expected, s.velocity[0], sizeof expected);
    motorised_cube();
    solve(&s);
    ck_assert_double_eq_tol(s.row_force[0], 30, 1e-12);
    expect_same_velocities((const double(*)[6])s.velocity, (const double(*)[6])expected, 1e-6);
}
END_TEST

// Cubes on springs that slide and turn: six updates do not find the cone of each.
START_TEST(continuation_agrees_with_direct)
{
    sprag_stribeck_options options = only(SPRAG_STRATEGY_CONTINUATION);
    double expected[BODIES_MAX][6];
    open_scene(&s);
    for (int b = 0; b < 3; b++) {
        add_cube(&s, 1 + b);
        stand(&s, b, b - 1, 0.3);
        s.body[b].velocity[0] = 0.2 * (b + 1);
        s.body[b].velocity[1] = 0.3 * (b % 2);
        s.body[b].velocity[5] = 0.5 - b;
    }
    for (int i = 0; i < s.problem.contacts; i++) {
        s.contact[i].gap = -1e-4;
        s.contact[i].stiffness = 1e5;
        s.contact[i].dissipation = 0.1;
    }
    fall(&s);
    solve(&s);
    ck_assert_int_eq(s.stats.strategy, SPRAG_STRATEGY_NEWTON);
    memcpy(expected, s.velocity, sizeof expected);
    ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
    ck_assert_int_eq(s.stats.strategy, SPRAG_STRATEGY_CONTINUATION);
    ck_assert_double_eq(s.stats.bound_error, 0);
    ck_assert_double_le(momentum_error(&s), 1.01 * TOLERANCE);
    expect_same_velocities((const double(*)[6])s.velocity, (const double(*)[6])expected, 1e-5);
}
END_TEST

START_TEST(piles_reach_every_strategy)
{
    bool reached[SPRAG_STRATEGIES] = {false};
    for (int i = 0; i < 80; i++) {
        sprag_stribeck_options options = sprag_stribeck_defaults();
        options.direct_work = i % 8 == 1 ? 0 : options.direct_work;
        open_pile(&s, i / 2, true);
        ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
        reached[s.stats.strategy] = true;
    }
    static const sprag_strategy all[] = {SPRAG_STRATEGY_NEWTON, SPRAG_STRATEGY_WARM_NEWTON,
                                         SPRAG_STRATEGY_INTERIOR_POINT,
                                         SPRAG_STRATEGY_GAUSS_SEIDEL};
    for (int i = 0; i < COUNT(all); i++) {
        ck_assert_msg(reached[all[i]], "%s", sprag_strategy_name(all[i]));
    }
}
END_TEST

// Cubes in a row, each driven along the one before it; every third motor is short of force.
static void drive_cubes(double speed)
{
    open_scene(&s);
    for (int b = 0; b < 9; b++) {
        add_cube(&s, 1);
        s.body[b].velocity[0] = 0.1 * b;
        sprag_row *row = add_row(&s, b, b - 1);
        row->jacobian[0][0] = 1;
        row->jacobian[1][0] = b > 0 ? -1 : 0;
        row->bias = speed * (1 + b % 2);
        row->hi = b % 3 == 2 ? 20 : 2000;
        row->lo = -row->hi;
    }
    fall(&s);
}

// From no forces each motor that gives all of its force costs an update.
START_TEST(motors_with_known_forces_take_two_updates)
{
    double expected[BODIES_MAX][6], force[9];
    drive_cubes(1);
    solve(&s);
    memcpy(force, s.row_force, sizeof force);
    drive_cubes(1.1);
    solve(&s);
    memcpy(expected, s.velocity, sizeof expected);
    drive_cubes(1.1);
    for (int i = 0; i < 9; i++) {
        s.row[i].guess = force[i];
    }
    solve(&s);
    ck_assert_int_eq(s.stats.strategy, SPRAG_STRATEGY_NEWTON);
    ck_assert_int_le(s.stats.factorizations, 2);
    expect_same_velocities((const double(*)[6])s.velocity, (const double(*)[6])expected, 1e-12);
    ck_assert_double_eq_tol(s.row_force[2], 20, 1e-9);
    ck_assert_double_lt(fabs(s.row_force[1]), 2000);
}
END_TEST

// Failures count up to 2 in what is stacked, of five contacts a body or more, and up to 6 in other
// heaps. A pair whose contacts are apart in the list makes no tree.
START_TEST(five_contacts_a_body_are_a_stack)
{
    sprag_memory memory = {.root.failures = 6};
    sprag_stribeck_options options = sprag_stribeck_defaults();
    options.memory = &memory;
    open_scene(&s);
    for (int b = 0; b < 2; b++) {
        add_cube(&s, 1);
        stand(&s, b, b - 1, MU);
    }
    s.contact[8] = s.contact[0];
    s.contact[9] = s.contact[4];
    s.problem.contacts = 10 - _i;
    s.problem.contact += _i;
    fall(&s);
    solve_with(&s, &options);
    ck_assert_int_eq(memory.root.failures <= 2, _i == 0);
}
END_TEST

// Cubes that slide, one of them held by a joint: as many as make a solve dear, or one less.
static sprag_strategy strategy_of_cubes(int count, double update)
{
    sprag_memory memory = {.update = update};
    sprag_stribeck_options options = sprag_stribeck_defaults();
    options.exact = false;
    options.memory = &memory;
    open_scene(&s);
    for (int b = 0; b < count; b++) {
        s.body[add_cube(&s, 1)].velocity[0] = 1 + b;
        stand(&s, b, SPRAG_STATIC, MU);
    }
    add_axis_row(&s, 0, 5);
    fall(&s);
    solve_with(&s, &options);
    return s.stats.strategy;
}

// What an island took before others joined it tells nothing of what it takes now.
START_TEST(an_island_that_has_grown_is_no_small_one)
{
    ck_assert_int_eq(strategy_of_cubes(9, 1), SPRAG_STRATEGY_NEWTON);
    ck_assert_int_eq(strategy_of_cubes(9, 1000), SPRAG_STRATEGY_GAUSS_SEIDEL);
    ck_assert_int_eq(strategy_of_cubes(10, 1), SPRAG_STRATEGY_GAUSS_SEIDEL);
    ck_assert_int_eq(strategy_of_cubes(10, 1000), SPRAG_STRATEGY_GAUSS_SEIDEL);
}
END_TEST

// Exactly: the way to the root of a pile takes more than 300 sweeps of it, and owes nothing where
// it is found.
START_TEST(a_root_that_is_found_owes_nothing)
{
    enum { DEAR = 52, SOLVES = 5 };
    sprag_memory memory = {0};
    sprag_stribeck_options options = sprag_stribeck_defaults();
    options.memory = &memory;
    open_pile(&s, DEAR, false);
    for (int i = 0; i < SOLVES; i++) {
        solve_with(&s, &options);
        ck_assert_int_eq(s.stats.strategy, SPRAG_STRATEGY_WARM_NEWTON);
        ck_assert_double_eq(memory.root.left, 0);
        if (i == 0) {
            ck_assert_double_gt(s.stats.iterations * memory.update,
                                STRIBECK_AFFORDABLE_SWEEPS * s.problem.contacts);
        }
    }
    ck_assert_double_gt(memory.update, options.direct_work);
}
END_TEST

// What it owes is paid by the work of the others, half of it after a failure, and so on.
START_TEST(a_root_waits_until_it_is_paid_for)
{
    static const double debt = -1e9;
    enum { DEAR = 52 };
    sprag_memory memory = {.root = {debt, _i}};
    sprag_stribeck_options options = sprag_stribeck_defaults();
    options.memory = &memory;
    open_pile(&s, DEAR, false);
    solve_with(&s, &options);
    ck_assert_int_gt(s.stats.sweeps, 0);
    ck_assert_double_gt(s.stats.sweep_work, 0);
    ck_assert_double_ge(memory.root.left - debt, ldexp(s.stats.sweep_work, -_i));
    ck_assert_double_le(memory.root.left - debt,
                        ldexp(s.stats.sweep_work + (s.stats.iterations + 2) * memory.update, -_i));
    ck_assert_int_eq(memory.root.failures, _i);
}
END_TEST

// In small islands no memory decides.
START_TEST(a_small_island_owes_nothing)
{
    sprag_memory memory = {.known.left = -1e9, .root.left = -1e9};
    sprag_stribeck_options options = sprag_stribeck_defaults();
    options.memory = &memory;
    open_pile(&s, 0, false);
    solve_with(&s, &options);
    ck_assert_double_le(memory.update, options.direct_work);
    ck_assert_int_gt(s.stats.iterations, 0);
    ck_assert_int_eq(s.stats.sweeps, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("strategy");
    ADD_CASE(suite, "strategies", {easy_scenes_are_solved_directly, 1},
             {motorised_cube_moves_as_if_pushed, 1}, {continuation_agrees_with_direct, 1},
             {piles_reach_every_strategy, 1}, {motors_with_known_forces_take_two_updates, 1},
             {five_contacts_a_body_are_a_stack, 2}, {an_island_that_has_grown_is_no_small_one, 1},
             {a_root_that_is_found_owes_nothing, 1}, {a_root_waits_until_it_is_paid_for, 3},
             {a_small_island_owes_nothing, 1});
    return run_suite(suite);
}
