// The Gauss-Seidel strategy of implicit Stribeck.
#include <check.h>

#include "problems.h"
#include "stribeck.h"
#include "stribeck_cases.h"

static scene t; // a second scene, to compare with
#include "suite.h"

// ---- strategies

// Sweeps leave velocities that are not quite those of the laws; but momentum balances, friction is
// within its cones and rows within their bounds, whatever is left.
static void check_swept(const scene *scene, double left)
{
    ck_assert_int_eq(scene->stats.strategy, SPRAG_STRATEGY_GAUSS_SEIDEL);
    ck_assert_int_gt(scene->stats.sweeps, 0);
    ck_assert_double_le(scene->stats.convergence, left);
    ck_assert_double_le(momentum_error(scene), 1e-10);
    for (int i = 0; i < scene->problem.contacts; i++) {
        const double *f = scene->contact_force[i];
        double mu = scene->contact[i].slide.coefficient[0];
        ck_assert_double_ge(f[0], 0);
        ck_assert_double_le(hypot(f[1], f[2]), mu * f[0] * (1 + 1e-12));
    }
    for (int i = 0; i < scene->problem.rows; i++) {
        ck_assert_double_ge(scene->row_force[i], scene->row[i].lo * (1 + 1e-15));
        ck_assert_double_le(scene->row_force[i], scene->row[i].hi * (1 + 1e-15));
    }
}

START_TEST(sweeps_solve_every_pile)
{
    sprag_stribeck_options options = only(SPRAG_STRATEGY_GAUSS_SEIDEL);
    open_pile(&s, _i, true);
    ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
    if (s.stats.strategy == SPRAG_STRATEGY_GAUSS_SEIDEL ||
        _i / 4 % 4 < 3) { // with mu = 1 sweeps may go in circles
        check_swept(&s, 0.1);
    }
}
END_TEST

// One where friction is not so large that there are many solutions.
static void open_gentle_pile(scene *scene, int i)
{
    open_pile(scene, 16 * (i / 2) + 4 * (i % 2) + 1, false);
}

// |v - expected| over all bodies, in the metric of mass, m/s.
static double distance_to(const double (*expected)[6])
{
    double error = 0, mass = 0;
    for (int b = 0; b < s.problem.bodies; b++) {
        for (int k = 0; k < 3; k++) {
            error += s.body[b].mass * pow(s.velocity[b][k] - expected[b][k], 2);
        }
        mass += s.body[b].mass;
    }
    return sqrt(error / mass);
}

// Swept long enough, it is the coupled solution, where Newton finds that.
START_TEST(sweeps_end_at_the_coupled_solution)
{
    static double velocity[BODIES_MAX][6];
    int compared = 0;
    for (int i = 0; i < 12; i++) {
        sprag_stribeck_options options = alike();
        open_gentle_pile(&s, i);
        solve_alike(&s);
        bool coupled = s.stats.strategy < SPRAG_STRATEGY_FROZEN_FRICTION;
        memcpy(velocity, s.velocity, sizeof velocity);
        options.direct_work = 0;
        options.sweeps = 100000;
        ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
        check_swept(&s, 1.0001e-5);
        if (coupled) {
            ck_assert_double_le(distance_to((const double(*)[6])velocity), 1e-3 * G * STEP);
            compared++;
        }
    }
    ck_assert_int_ge(compared, 9);
}
END_TEST

// Every kind of friction on a leaning box that slides, spins and rolls: swept as by Newton.
START_TEST(sweeps_know_every_kind_of_friction)
{
    sprag_stribeck_options options = alike();
    double expected[6];
    open_scene(&s);
    add_box(&s, MASS, 1, 2, 0.5);
    if (_i % 2) {
        stand(&s, 0, SPRAG_STATIC, MU);
    } else {
        add_ground(&s, 0, MU)->arm[0][0] = 0.3;
    }
    for (int i = 0; i < s.problem.contacts; i++) {
        set_kind(&s, &s.contact[i], _i / 2);
    }
    s.body[0].velocity[0] = 0.4;
    s.body[0].velocity[1] = -0.2;
    s.body[0].velocity[3] = 0.3;
    s.body[0].velocity[5] = 2;
    fall(&s);
    solve_alike(&s);
    ck_assert_int_le(s.stats.strategy, SPRAG_STRATEGY_CONTINUATION);
    memcpy(expected, s.velocity[0], sizeof expected);
    options.direct_work = 0;
    options.sweeps = 100000;
    ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
    ck_assert_int_eq(s.stats.strategy, SPRAG_STRATEGY_GAUSS_SEIDEL);
    ck_assert_double_le(momentum_error(&s), 1e-10);
    for (int k = 0; k < 6; k++) {
        ck_assert_double_eq_tol(s.velocity[0][k], expected[k], 2e-3);
    }
}
END_TEST

// Rest without a force on anything: nothing to measure by, and nothing to do but what is asked.
START_TEST(sweeps_need_no_force_to_measure_by)
{
    sprag_stribeck_options options = only(SPRAG_STRATEGY_GAUSS_SEIDEL);
    open_scene(&s);
    add_cube(&s, MASS);
    add_ground(&s, 0, MU)->bias = 0.1;
    ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
    ck_assert_int_eq(s.stats.strategy, SPRAG_STRATEGY_GAUSS_SEIDEL);
    ck_assert_double_eq_tol(s.velocity[0][2], 0.1, 1e-3);
}
END_TEST

static const double nonsense[] = {1e3, 1e12, 1e20, 1e150};

// Forces expected that nothing bears out are not even tried.
START_TEST(sweeps_forget_nonsense)
{
    sprag_stribeck_options options = alike();
    options.direct_work = 0;
    open_gentle_pile(&s, 4);
    ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
    t = s;
    for (int i = 0; i < s.problem.contacts; i++) {
        for (int k = 0; k < 3; k++) {
            s.contact[i].guess[k] = nonsense[_i] * (1 + i % 3);
        }
    }
    ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
    ck_assert_mem_eq(s.velocity, t.velocity, sizeof s.velocity);
}
END_TEST

// From the forces that solve it there is little left to do: the momentum of the sweeps alone needs
// some fifteen to die away.
START_TEST(sweeps_start_from_the_forces_expected)
{
    sprag_stribeck_options options = alike();
    open_gentle_pile(&s, _i);
    options.direct_work = 0;
    options.sweeps = 100000;
    ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
    int cold = s.stats.sweeps;
    for (int i = 0; i < s.problem.contacts; i++) {
        memcpy(s.contact[i].guess, s.contact_force[i], sizeof s.contact[i].guess);
    }
    ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
    ck_assert_int_le(8 * s.stats.sweeps, cold);
}
END_TEST

static const double slow[] = {1, 0.1, 0.01};

// Near rest, the slower bodies move, the less the last sweep changes.
START_TEST(sweeps_are_as_exact_as_bodies_are_slow)
{
    sprag_stribeck_options options = alike();
    options.exact = false;
    options.direct_work = 0;
    options.sweeps = 100000;
    options.sweep_change = 1e-2;
    int last = 0;
    for (int k = 0; k < 3; k++) {
        int sweeps = 0;
        for (int i = 0; i < 12; i++) {
            open_pile(&s, 16 * i + 4, false); // at rest
            for (int b = 0; b < s.problem.bodies; b++) {
                s.body[b].velocity[0] = slow[k] * G * STEP;
            }
            fall(&s);
            ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
            ck_assert_double_le(s.stats.convergence, 1e-2 * slow[k] * (1 + 1e-12));
            sweeps += s.stats.sweeps;
        }
        ck_assert_int_gt(2 * sweeps, 3 * last);
        last = sweeps;
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gauss_seidel");
    ADD_CASE(
        suite, "strategies", {sweeps_solve_every_pile, PILES},
        {sweeps_end_at_the_coupled_solution, 1}, {sweeps_know_every_kind_of_friction, 2 * KINDS},
        {sweeps_need_no_force_to_measure_by, 1}, {sweeps_forget_nonsense, COUNT(nonsense)},
        {sweeps_start_from_the_forces_expected, 12}, {sweeps_are_as_exact_as_bodies_are_slow, 1});
    return run_suite(suite);
}
