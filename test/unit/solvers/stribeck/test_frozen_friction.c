// The strategy that solves with frozen friction (lagged).
#include <check.h>

#include "problems.h"
#include "stribeck.h"
#include "stribeck_cases.h"
#include "suite.h"

// ---- strategies

// If friction does not change the normal force, the second pass has the right bound.
START_TEST(lagged_agrees_with_direct)
{
    sprag_stribeck_options options = only(SPRAG_STRATEGY_FROZEN_FRICTION);
    double expected[6];
    puck(MU);
    s.body[0].velocity[0] = 0.3;
    s.body[0].velocity[1] = -1;
    fall(&s);
    solve(&s);
    memcpy(expected, s.velocity[0], sizeof expected);
    ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
    ck_assert_int_eq(s.stats.strategy, SPRAG_STRATEGY_FROZEN_FRICTION);
    ck_assert_double_le(s.stats.bound_error, 1e-6);
    ck_assert_double_le(momentum_error(&s), 1.01 * TOLERANCE);
    expect_same_velocities((const double(*)[6])s.velocity, (const double(*)[6])expected, 1e-5);
}
END_TEST

static const double guesses[] = {0, 0.5, 0.9, 1, 2};

// One pass takes the bound that it is given, tells by how much it is wrong, and balances momentum
// all the same.
START_TEST(one_lagged_pass_reports_its_bound_error)
{
    sprag_stribeck_options options = only(SPRAG_STRATEGY_FROZEN_FRICTION);
    options.lagged_passes = 1;
    sprag_contact *contact = puck(MU);
    contact->guess[0] = guesses[_i] * PUCK_WEIGHT;
    s.body[0].velocity[0] = 1;
    fall(&s);
    ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
    ck_assert_double_eq_tol(s.contact_force[0][1], -MU * guesses[_i] * PUCK_WEIGHT, 1e-4);
    ck_assert_double_eq_tol(s.stats.bound_error, fabs(1 - guesses[_i]) / fmax(1, guesses[_i]),
                            1e-4);
    ck_assert_double_le(momentum_error(&s), 1.01 * TOLERANCE);
}
END_TEST

// Frozen bounds make it convex: every pile ends, with its momentum in balance.
START_TEST(lagged_solves_every_pile)
{
    sprag_stribeck_options options = only(SPRAG_STRATEGY_FROZEN_FRICTION);
    open_pile(&s, _i, true);
    ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
    ck_assert_int_eq(s.stats.strategy, SPRAG_STRATEGY_FROZEN_FRICTION);
    ck_assert_double_le(s.stats.convergence, TOLERANCE);
    ck_assert_double_le(momentum_error(&s), 1.01 * TOLERANCE);
    ck_assert(s.stats.bound_error >= 0 && s.stats.bound_error <= 1);
    check_laws(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("frozen_friction");
    ADD_CASE(suite, "strategies", {lagged_agrees_with_direct, 1},
             {one_lagged_pass_reports_its_bound_error, COUNT(guesses)},
             {lagged_solves_every_pile, PILES / 4});
    return run_suite(suite);
}
