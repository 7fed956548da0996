// The B-derivative of event-selected systems, against tables and against differences of flows.
#include <check.h>

#include "ess_cases.h"
#include "problems_ess.h"
#include "suite.h"

static long tangents;

// ---- the B-derivative

START_TEST(corner_has_the_known_derivative)
{
    static const int guard[] = {0, 1, 2};
    static const double rho[3] = {0}, label[3] = {0};
    table t = table_read("corner3_bderiv");
    ck_assert_int_gt(t.rows, 10);
    for (int r = 0; r < t.rows; r++) {
        double w[3];
        int order[3];
        ck_assert_int_eq(sprag_ess_corner(&corner_problem, rho, label, guard, 3, false, t.row[r], w,
                                          order, &scratch, message, sizeof message),
                         SPRAG_OK);
        sprag_scratch_reset(&scratch);
        ck_assert_double_le(largest_difference(w, t.row[r] + 4, 3), 1e-12);
        // Along the trajectory through it: constant fields carry directions unchanged.
        double x[3] = {-0.5, -0.5, -0.5}, at[3], v[3]; // f is (1, 1, 1) up to the origin
        memcpy(v, t.row[r], sizeof v);
        ask_for_labels(at, 3);
        sprag_ess_options o = sprag_ess_defaults(0.01);
        sprag_ess_output out = {.directions = 1, .direction = v};
        OK(integrate(&corner_problem, &o, 0, 1, x, at, &out));
        ck_assert_int_eq(stats.corners, 1);
        ck_assert_double_le(largest_difference(v, t.row[r] + 4, 3), 1e-9);
    }
    table_free(&t);
}
END_TEST

// Through three guards at once: the table, and the quotient of two flows.
START_TEST(order_test_has_the_known_directional_derivatives)
{
    static const double start[3] = {-0.278491537543878145, -0.216316380965167714,
                                    0.284025416687741484};
    table t = table_read("order_bderiv");
    ck_assert_int_eq(t.rows, 12);
    for (int r = 0; r < t.rows; r++) {
        double x[3], v[3], label[3], moved[3], there[3], here[3];
        memcpy(x, start, sizeof x);
        memcpy(v, t.row[r], sizeof v);
        ask_for_labels(label, 3);
        sprag_ess_options o = sprag_ess_defaults(1e-3);
        o.mode = SPRAG_ESS_LOCATE;
        sprag_ess_output out = {.directions = 1, .direction = v};
        OK(integrate(&order_problem, &o, 0, 0.5, x, label, &out));
        ck_assert_int_eq(stats.corners, 1);
        ck_assert_double_le(largest_difference(v, t.row[r] + 4, 3), 1e-6);
        double step = 1e-7;
        for (int i = 0; i < 3; i++) {
            moved[i] = start[i] + step * t.row[r][i];
        }
        flow(&order_problem, start, 0.5, here);
        flow(&order_problem, moved, 0.5, there);
        for (int i = 0; i < 3; i++) {
            ck_assert_double_eq_tol((there[i] - here[i]) / step, v[i], 2e-5);
        }
    }
    table_free(&t);
}
END_TEST

START_TEST(flow_has_the_known_jacobian)
{
    static const struct {
        sprag_ess_mode mode;
        double eps, bound; // with D f along projections: of their orders, too
    } run[] = {{SPRAG_ESS_LOCATE, 0.01, 1e-6},
               {SPRAG_ESS_MIDPOINT, 0.01, 3e-5},
               {SPRAG_ESS_MIDPOINT, 0.001, 3e-8},
               {SPRAG_ESS_FIRST, 0.01, 2e-3},
               {SPRAG_ESS_FIRST, 0.001, 2e-5}};
    double J[9];
    for (size_t i = 0; i < sizeof run / sizeof *run; i++) {
        double x[3];
        memcpy(x, order_start, sizeof x);
        sprag_ess_options o = sprag_ess_defaults(1e-3);
        o.mode = run[i].mode;
        o.eps = run[i].eps;
        o.trust_eps = true;
        jacobian(&order_problem, &o, 0.5, x, J);
        ck_assert_double_le(jacobian_error("order_jacobian", J, 3), run[i].bound);
    }
    static const char *const name[] = {"hopper_jacobian", "hopper_damped_jacobian"};
    for (int damped = 0; damped < 2; damped++) {
        double x[2] = {2, 0};
        hopper leg = {1000, damped ? 4 : 0};
        sprag_ess_problem p = hopper_problem(&leg);
        sprag_ess_options o = sprag_ess_defaults(0.05);
        o.mode = SPRAG_ESS_LOCATE;
        o.adaptive = true;
        o.relative_tolerance = o.absolute_tolerance = 1e-11;
        jacobian(&p, &o, 2, x, J);
        ck_assert_double_le(jacobian_error(name[damped], J, 2), 1e-6);
    }
}
END_TEST

// D f of the order test, where f is affine: given, instead of by differences.
static void order_tangent(void *user, const double *x, const double *label, const double *v,
                          double *Df)
{
    static const double origin[3] = {0};
    double here[3], there[3];
    (void)x;
    order_field(user, origin, label, here);
    order_field(user, v, label, there);
    for (int i = 0; i < 3; i++) {
        Df[i] = there[i] - here[i];
    }
    tangents++;
}

START_TEST(directions_use_the_tangent_that_is_given)
{
    for (int m = 0; m < MODES; m++) {
        double J[2][9], x[3];
        for (int given = 0; given < 2; given++) {
            sprag_ess_problem p = order_problem;
            sprag_ess_options o = sprag_ess_defaults(1e-3);
            p.tangent = given ? order_tangent : NULL;
            o.mode = modes[m];
            tangents = 0;
            memcpy(x, order_start, sizeof x);
            jacobian(&p, &o, 0.5, x, J[given]);
            ck_assert(!given || tangents > 1000);
        }
        ck_assert_double_le(largest_difference(J[0], J[1], 9), 1e-7);
        ck_assert_double_le(jacobian_error("order_jacobian", J[1], 3), 1e-4);
    }
}
END_TEST

// Events within corner_time of one another are one corner, and no others.
START_TEST(corner_time_says_what_is_one_corner)
{
    for (int wide = 0; wide < 2; wide++) {
        double x[3], v[3] = {1, 0, 0}, label[3];
        memcpy(x, order_start, sizeof x);
        ask_for_labels(label, 3);
        sprag_ess_options o = sprag_ess_defaults(1e-3);
        o.mode = SPRAG_ESS_LOCATE;
        o.corner_time = wide ? 0.06 : 0.05; // the first two are 0.0528 s apart
        sprag_ess_output out = {.directions = 1, .direction = v};
        OK(integrate(&order_problem, &o, 0, 0.5, x, label, &out));
        ck_assert_int_eq(stats.corners, wide);
        ck_assert_double_eq_tol(stats.smallest_gap, 0.262364264467491 - 0.209588078334635, 1e-9);
    }
}
END_TEST

// Guards 0.01 apart and an offset that takes them in another order: what the affine corner says of
// constant fields is exact.
START_TEST(affine_corner_takes_guards_in_another_order)
{
    static const int guard[] = {0, 1, 2};
    static const double label[3] = {0};
    double rho[3] = {0, -0.01, -0.03}, v[3] = {-0.05, 0.04, 0.02}, w[3], linear[3];
    double start[3], moved[3], here[3], there[3];
    for (int i = 0; i < 3; i++) {
        start[i] = rho[i] - 0.5;
        moved[i] = start[i] + v[i];
    }
    int order[3];
    ck_assert_int_eq(sprag_ess_corner(&corner_problem, rho, label, guard, 3, true, v, w, order,
                                      &scratch, NULL, 0),
                     SPRAG_OK);
    ck_assert_int_eq(order[0], 1);
    ck_assert_int_eq(sprag_ess_corner(&corner_problem, rho, label, guard, 3, false, v, linear, NULL,
                                      &scratch, NULL, 0),
                     SPRAG_OK);
    flow(&corner_problem, start, 1, here);
    flow(&corner_problem, moved, 1, there);
    for (int i = 0; i < 3; i++) {
        ck_assert_double_eq_tol(there[i] - here[i], w[i], 1e-12);
    }
    ck_assert_double_gt(largest_difference(linear, w, 3), 1e-3);
}
END_TEST

// ---- as many guards as a corner has room for, crossed at once

enum { STATES = 16, GUARDS = 128, DIRECTIONS = 3 };

static void even_field(void *user, const double *x, const double *label, double *f)
{
    (void)user, (void)x, (void)label;
    for (int i = 0; i < STATES; i++) {
        f[i] = 1;
    }
}

static void even_guard(void *user, const double *x, const int *which, int count, double *h)
{
    (void)user;
    for (int i = 0; i < count; i++) {
        h[i] = x[(which ? which[i] : i) % STATES];
    }
}

static int even_row(void *user, const double *x, int guard, int *column, double *value)
{
    (void)user, (void)x;
    column[0] = guard % STATES;
    value[0] = 1;
    return 1;
}

// A field that is the same on all sides carries directions unchanged.
START_TEST(full_corner_keeps_its_directions)
{
    const sprag_ess_problem p = {.states = STATES,
                                 .guards = GUARDS,
                                 .field = even_field,
                                 .guard = even_guard,
                                 .row = even_row,
                                 .row_entries = 1};
    sprag_ess_options o = sprag_ess_defaults(0.1);
    double x[STATES], label[GUARDS], direction[DIRECTIONS][STATES], kept[DIRECTIONS][STATES];
    ask_for_labels(label, GUARDS);
    for (int i = 0; i < STATES; i++) {
        x[i] = -0.5;
        for (int d = 0; d < DIRECTIONS; d++) {
            kept[d][i] = direction[d][i] = 0.1 * d - 0.01 * i;
        }
    }
    sprag_ess_output out = {.directions = DIRECTIONS, .direction = direction[0]};
    OK(integrate(&p, &o, 0, 1, x, label, &out));
    ck_assert_int_eq(stats.corners, 1);
    ck_assert_int_eq(stats.events, GUARDS);
    ck_assert_double_le(largest_difference(*direction, *kept, DIRECTIONS * STATES), 1e-12);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("corner");
    ADD_TESTS(
        suite, "B-derivative", {corner_has_the_known_derivative, 1},
        {order_test_has_the_known_directional_derivatives, 1}, {flow_has_the_known_jacobian, 1},
        {directions_use_the_tangent_that_is_given, 1}, {corner_time_says_what_is_one_corner, 1},
        {affine_corner_takes_guards_in_another_order, 1}, {full_corner_keeps_its_directions, 1});
    int code = run_suite(suite);
    sprag_scratch_free(&scratch);
    return code;
}
