// The interior-point method against closed forms and against Newton's method.
#include <check.h>

#include "assemble.h"
#include "interior.h"
#include "problems.h"
#include "softness.h"
#include "stribeck.h"
#include "stribeck_cases.h"
#include "suite.h"

enum { UPDATES = 40, STALLED = 5 };

static sprag_iteration history[UPDATES];
static int room = UPDATES; // of the history
static double warm = 0.03; // of the start

// Solves s by the interior-point method alone: velocities into s, impulses into *system.
static sprag_result solve_interior(sprag_system *system, double tolerance)
{
    static double v[6 * 100], dv[6 * 100];
    sprag_stribeck_options options = sprag_stribeck_defaults();
    int *node_of;
    double stiction;
    sprag_scratch_reset(&scratch);
    sprag_scales scales = sprag_stribeck_scales(&s.problem, &options);
    ck_assert_int_eq(
        sprag_stribeck_assemble(&s.problem, &scales, &scratch, system, &node_of, &stiction),
        SPRAG_OK);
    ck_assert_int_le(system->size, 6 * 100);
    s.stats = (sprag_stats){.history = history, .history_room = room};
    const sprag_interior_limits limits = {tolerance, UPDATES, warm};
    sprag_result result = sprag_interior_solve(system, sprag_problem_scale(&s.problem), stiction,
                                               &limits, v, dv, &s.stats);
    for (int b = 0; b < s.problem.bodies; b++) {
        memcpy(s.velocity[b], v + 6 * node_of[b], 6 * sizeof *v);
    }
    return result;
}

static const double starts[] = {0, 0.02, 0.3, 30}; // m/s

// What slides is slowed by mu times its weight, what would come to rest within the step sticks.
START_TEST(a_puck_slides_and_stops)
{
    sprag_system system;
    puck(MU);
    s.body[0].velocity[0] = starts[_i];
    fall(&s);
    ck_assert_int_eq(solve_interior(&system, 1e-3), SPRAG_OK);
    double weight = PUCK_WEIGHT * STEP, stop = starts[_i] * MASS;
    double friction = fmin(MU * weight, stop);
    double error = 5e-3 * weight; // of what slides: the lag follows the iterate
    ck_assert_double_eq_tol(system.impulse[0][0], weight, error);
    ck_assert_double_eq_tol(system.impulse[0][1], -friction, error);
    ck_assert_double_eq_tol(s.velocity[0][0], starts[_i] - friction / MASS, error / MASS);
}
END_TEST

// A bound that is a force holds whatever the weight.
START_TEST(a_force_bounds_friction)
{
    sprag_system system;
    sprag_contact *contact = puck(MU);
    for (int k = 0; k < 2; k++) {
        contact->slide.force[k] = true;
        contact->slide.coefficient[k] = 2; // N
    }
    s.body[0].velocity[0] = 1;
    fall(&s);
    ck_assert_int_eq(solve_interior(&system, 1e-5), SPRAG_OK);
    ck_assert_double_eq_tol(system.impulse[0][1], -2 * STEP, 1e-6);
}
END_TEST

// A motor that would lift the puck, with a force of less than its weight.
START_TEST(a_row_keeps_its_bound)
{
    sprag_system system;
    puck(MU);
    sprag_row *row = add_row(&s, 0, SPRAG_STATIC);
    row->jacobian[0][2] = 1;
    row->bias = 1;
    row->lo = 0;
    row->hi = 3; // N
    fall(&s);
    ck_assert_int_eq(solve_interior(&system, 1e-5), SPRAG_OK);
    ck_assert_double_eq_tol(system.row_impulse[0], 3 * STEP, 1e-6);
    ck_assert_double_eq_tol(system.impulse[0][0], (MASS * G - 3) * STEP / (1 + SOFTNESS), 1e-5);
}
END_TEST

// Of every kind but Hunt and Crossley's.
enum { PUCKS = 24 };

static void add_kind(int i)
{
    const int body = add_cube(&s, MASS), kind = 5 * i % KINDS;
    set_kind(&s, add_ground(&s, body, MU), kind == 11 ? 0 : kind);
    memcpy(s.body[body].velocity, (double[]){0.3, 0.1 * i - 1, 0, 0.1, 0.2, -0.3}, 6 * 8);
}

// Pucks that have nothing to do with each other: each is solved as alone, whatever law the contacts
// before and behind it have.
START_TEST(contacts_do_not_mix)
{
    sprag_system system;
    double together[PUCKS][6];
    open_scene(&s);
    for (int i = 0; i < PUCKS; i++) {
        add_kind(i);
    }
    fall(&s);
    solve_interior(&system, 1e-6);
    memcpy(together, system.impulse, sizeof together);
    for (int i = 0; i < PUCKS; i++) {
        open_scene(&s);
        add_kind(i);
        fall(&s);
        solve_interior(&system, 1e-6);
        for (int k = 0; k < 6; k++) {
            ck_assert_double_eq_tol(together[i][k], system.impulse[0][k],
                                    2e-3 * PUCK_WEIGHT * STEP);
        }
    }
}
END_TEST

// Piles that hardly slide: within a few updates, at the velocities of Newton's method. No impulse
// leaves its cone, and momentum balances.
START_TEST(piles_agree_with_newton)
{
    static double expected[100][6];
    sprag_system system;
    open_pile(&s, 16 * _i, true);
    solve_alike(&s);
    memcpy(expected, s.velocity, (size_t)s.problem.bodies * sizeof *expected);
    sprag_result result = solve_interior(&system, 1e-3);
    ck_assert(result == SPRAG_OK || result == SPRAG_NOT_CONVERGED);
    double scale = sprag_problem_scale(&s.problem);
    for (int i = 0; i < s.problem.contacts; i++) {
        const double *p = system.impulse[i], mu = s.contact[i].slide.coefficient[0];
        ck_assert_double_ge(p[0], 0);
        ck_assert_double_le(hypot(p[1], p[2]), mu * p[0] * (1 + 1e-12) + 1e-300);
    }
    for (int b = 0; b < s.problem.bodies; b++) {
        for (int k = 0; k < 3; k++) {
            ck_assert_double_eq_tol(s.velocity[b][k], expected[b][k], 0.02 * scale);
        }
    }
}
END_TEST

// It ends where rounding is reached, after UPDATES, at the fifth update from the last one that
// halved the error or left it above 0.1, or after five that do not get ahead at all.
START_TEST(stalled_updates_end_it)
{
    int stalls = 0, lost = 0;
    for (int i = 0; i < 24; i++) {
        sprag_system system;
        open_pile(&s, 5 * i, true);
        ck_assert_int_eq(solve_interior(&system, 0), SPRAG_NOT_CONVERGED);
        int since = 0;
        double least = 0.1;
        for (int k = 0; k < s.stats.iterations; k++, since++) {
            ck_assert_int_lt(since, STALLED);
            const double now = history[k].convergence;
            if (now > 0.1 || now < least / 2) {
                since = 0;
                least = fmin(least, now);
            }
        }
        const bool stands = s.stats.iterations == STALLED &&
                            history[STALLED - 1].convergence > 0.99 * history[0].convergence;
        ck_assert(since == STALLED || stands || s.stats.iterations == UPDATES ||
                  s.stats.factorizations > s.stats.iterations);
        stalls += since == STALLED;
        lost += stands;
    }
    ck_assert_int_gt(stalls, 0);
    ck_assert_int_gt(lost, 0);
}
END_TEST

// A tower whose impulses are known as badly as a few sweeps know them: a start far from the bounds
// takes fewer updates to the same impulses.
START_TEST(bad_impulses_are_left_at_once)
{
    enum { TOWER = 20 };
    sprag_system system;
    double fall_of[2][TOWER];
    int updates[2];
    for (int far = 0; far < 2; far++) {
        open_scene(&s);
        for (int i = 0; i < TOWER; i++) {
            add_cube(&s, MASS);
            stand(&s, i, i ? i - 1 : SPRAG_STATIC, MU);
        }
        fall(&s);
        for (int i = 0; i < s.problem.contacts; i++) {
            s.contact[i].guess[0] = i % 3 ? 0.1 * MASS : 0; // N
        }
        warm = far ? 0.3 : 0.03;
        ck_assert_int_eq(solve_interior(&system, 1e-4), SPRAG_OK);
        updates[far] = s.stats.iterations;
        for (int b = 0; b < TOWER; b++) {
            fall_of[far][b] = s.velocity[b][2];
        }
    }
    warm = 0.03;
    for (int b = 0; b < TOWER; b++) {
        ck_assert_double_eq_tol(fall_of[1][b], fall_of[0][b],
                                0.02 * sprag_problem_scale(&s.problem));
    }
    ck_assert_int_lt(updates[1], updates[0]);
}
END_TEST

// The history has the first updates, in order, and no more than there is room for.
START_TEST(the_history_ends_with_its_room)
{
    sprag_system system;
    sprag_iteration whole[UPDATES];
    open_pile(&s, 16, true);
    solve_interior(&system, 1e-3);
    const int iterations = s.stats.iterations;
    ck_assert_int_gt(iterations, 3);
    memcpy(whole, history, sizeof whole);
    memset(history, 0, sizeof history);
    room = 3;
    solve_interior(&system, 1e-3);
    room = UPDATES;
    ck_assert_int_eq(s.stats.iterations, iterations);
    ck_assert_mem_eq(history, whole, 3 * sizeof *history);
    ck_assert_double_gt(whole[3].convergence, 0);
    ck_assert_double_eq(history[3].convergence, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("interior");
    ADD_CASE(suite, "interior", {a_puck_slides_and_stops, 4}, {a_force_bounds_friction, 1},
             {a_row_keeps_its_bound, 1}, {contacts_do_not_mix, 1}, {piles_agree_with_newton, 12},
             {stalled_updates_end_it, 1}, {bad_impulses_are_left_at_once, 1},
             {the_history_ends_with_its_room, 1});
    return run_suite(suite);
}
