// The account of the energy that the inertia of a loaded joint has taken, and may give back.
#include <check.h>
#include <math.h>

#include "island.h"
#include "suite.h"

static const double LEFT = 0.1; // J, in the account before the step

// A body that spins about z, slower after the step, with an added inertia of 1 kg m^2 that pulls it
// towards another spin, and a row with an impulse of 1 N s that asks for a velocity to mend an
// error.
typedef struct step_of_joint {
    sprag_body body;
    sprag_row row;
    ode_stiffened_body stiffened;
    double velocity[1][6], row_force[1], ahead[1];
    ode_problem pulled;
} step_of_joint;

static const double BEFORE = 1, AFTER = 0.9; // rad/s

static void take_step(step_of_joint *s, double target, double mends)
{
    *s = (step_of_joint){.body = {.mass = 1, .inertia = {2, 0, 0, 0, 2, 0, 0, 0, 2}},
                         .row = {.body = {0, SPRAG_STATIC},
                                 .jacobian = {{1}},
                                 .bias = mends,
                                 .lo = -INFINITY,
                                 .hi = INFINITY},
                         .stiffened = {.added = {1, 0, 0, 0, 1, 0, 0, 0, 1},
                                       .trace = 3,
                                       .target = {0, 0, target},
                                       .inertia = {1, 0, 0, 0, 1, 0, 0, 0, 1},
                                       .stored = LEFT},
                         .velocity = {{0, 0, 0, 0, 0, AFTER}},
                         .row_force = {100}};
    s->body.velocity[5] = s->body.free_velocity[5] = BEFORE;
    s->pulled = (ode_problem){
        .problem = {.step = 0.01, .bodies = 1, .rows = 1, .body = &s->body, .row = &s->row},
        .solution = {.velocity = s->velocity, .row_force = s->row_force},
        .body = &s->body,
        .row = &s->row,
        .stiffened_body = &s->stiffened,
        .stiffened_bodies = 1,
        .joint_rows = 1,
        .ahead = s->ahead};
}

static bool is_solved_again(step_of_joint *s)
{
    sprag_scratch scratch = {0};
    bool again = sprag_ode_solve_again(&s->pulled, NULL, &scratch);
    ck_assert(!scratch.failed);
    sprag_scratch_free(&scratch);
    return again;
}

// J, that the added inertia brings into a step.
static double brought_in(double target)
{
    return (target - AFTER) * (BEFORE + AFTER) / 2;
}

// What a row takes out as it mends makes room; what it brings in takes room.
START_TEST(an_account_keeps_what_inertia_takes)
{
    static const double mends[] = {-0.2, 0, 0.2};
    const double target = 0.5, taken = -brought_in(target), mending = mends[_i] / 2;
    step_of_joint s;
    take_step(&s, target, mends[_i]);
    ck_assert(!is_solved_again(&s));
    ck_assert_double_eq_tol(s.stiffened.stored, LEFT - mending + taken, 1e-12);
    ck_assert_double_eq_tol(s.pulled.may_win, LEFT - mending, 1e-12);
}
END_TEST

// It holds no more than the inertia does.
START_TEST(an_account_is_full)
{
    step_of_joint s;
    take_step(&s, -2, 0);
    ck_assert(!is_solved_again(&s));
    ck_assert_double_eq_tol(s.stiffened.stored, AFTER * AFTER, 1e-12);
}
END_TEST

// A step that brings in more than there is, with what rows bring in, is solved again; but not for
// what rows bring in alone.
START_TEST(what_wins_more_is_solved_again)
{
    const double more = 1.2, less = 0.95, least = 0.9;
    const double over = brought_in(more) - LEFT, left = LEFT - brought_in(less);
    const struct {
        double target, mends;
        bool again;
    } cases[] = {{more, 0, true},
                 {more, -2 * over + 1e-3, true},
                 {more, -2 * over - 1e-3, false},
                 {less, 2 * left - 1e-3, false},
                 {less, 2 * left + 1e-3, true},
                 {least, 2 * LEFT + 1e-3, false}};
    step_of_joint s;
    take_step(&s, cases[_i].target, cases[_i].mends);
    ck_assert_int_eq(is_solved_again(&s), cases[_i].again);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("load_energy");
    TCase *tests = tcase_create("all");
    tcase_add_loop_test(tests, an_account_keeps_what_inertia_takes, 0, 3);
    tcase_add_test(tests, an_account_is_full);
    tcase_add_loop_test(tests, what_wins_more_is_solved_again, 0, 6);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
