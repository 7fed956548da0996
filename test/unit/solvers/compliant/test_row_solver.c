// Rows between bounds: the conditions of their solution, also where they depend on one another.
#include <math.h>
#include <string.h>

#include "chance.h"
#include "row_solver.h"
#include "suite.h"

enum { ROWS = 12, PARTS = 8, SYSTEMS = 2000 };

typedef struct system_of_rows {
    compliant_row_system of;
    compliant_active_row row[ROWS];
    int first[ROWS];
    size_t start[ROWS];
    double A[ROWS * (ROWS + 1) / 2], factor[ROWS * (ROWS + 2)], softness[ROWS];
    double *line[ROWS], right[ROWS], solution[ROWS], aim[ROWS], excess[ROWS];
} system_of_rows;

// Rows of random parts, more of them than parts, so that the softness alone keeps A regular.
// bounds: every third row has two.
static void open_system(system_of_rows *s, chance *dice, double softness, bool bounds)
{
    double J[ROWS][PARTS];
    *s = (system_of_rows){.of = {.count = ROWS, .has_bounds = bounds}};
    for (int i = 0, at = 0; i < ROWS; i++) {
        const bool bounded = bounds && i % 3 == 0;
        s->start[i] = (size_t)at;
        s->line[i] = s->factor + at;
        at += i + 1;
        s->softness[i] = bounded ? 0 : softness;
        s->right[i] = chance_between(dice, -1, 1);
        s->row[i].lo = bounded ? -0.3 : -INFINITY;
        s->row[i].hi = bounded ? 0.3 : INFINITY;
        for (int k = 0; k < PARTS; k++) {
            J[i][k] = chance_between(dice, -1, 1);
        }
        for (int j = 0; j <= i; j++) {
            double *entry = &s->A[s->start[i] + (size_t)j];
            for (int k = 0; k < PARTS; k++) {
                *entry += J[i][k] * J[j][k];
            }
        }
        s->A[s->start[i] + (size_t)i] += bounded ? 1e-9 : softness;
    }
    s->of.row = s->row;
    s->of.first = s->first;
    s->of.start = s->start;
    s->of.entries = sizeof s->A / sizeof *s->A;
    s->of.A = s->A;
    s->of.factor = s->factor;
    s->of.line = s->line;
    s->of.softness = s->softness;
    s->of.right = s->right;
    s->of.solution = s->solution;
    s->of.aim = s->aim;
    s->of.excess = s->excess;
}

static double entry(const system_of_rows *s, int i, int k)
{
    return i > k ? s->A[s->start[i] + (size_t)k] : s->A[s->start[k] + (size_t)i];
}

// The excess of a row, whose sign is that of its bound.
static void check_row(const system_of_rows *s, int i, double rounding)
{
    const compliant_active_row *row = &s->row[i];
    double excess = -s->aim[i];
    for (int k = 0; k < ROWS; k++) {
        excess += entry(s, i, k) * s->solution[k];
    }
    ck_assert_double_ge(s->solution[i], row->lo);
    ck_assert_double_le(s->solution[i], row->hi);
    if (s->solution[i] > row->lo) {
        ck_assert_double_le(excess, rounding);
    }
    if (s->solution[i] < row->hi) {
        ck_assert_double_ge(excess, -rounding);
    }
}

// Forces of rows that depend on one another are large, and their bounds have to be found all the
// same. The work of finding them is counted.
START_TEST(bounds_are_found)
{
    static const double softness[] = {1e-3, 1e-6, 1e-9};
    chance dice = {7};
    double exchanged = 0;
    for (int n = 0; n < SYSTEMS; n++) {
        system_of_rows s;
        double largest = 1;
        open_system(&s, &dice, softness[_i], true);
        ck_assert(compliant_solve_rows(&s.of));
        exchanged += s.of.exchanged / (ROWS * (ROWS + 1) / 2.0);
        for (int i = 0; i < ROWS; i++) {
            largest = fmax(largest, fabs(s.solution[i]));
        }
        for (int i = 0; i < ROWS; i++) {
            check_row(&s, i, 1e-12 * largest);
        }
    }
    ck_assert_double_ge(exchanged,
                        SYSTEMS); // each has rows at bounds, where the first guess has none
    ck_assert_double_eq(exchanged, floor(exchanged));
}
END_TEST

// Rows that are expected to depend on one another: without bounds the solution lacks the square of
// what the softness takes. Others have no softness.
START_TEST(softness_is_given_back)
{
    static const double softness = 1e-3;
    chance dice = {3};
    system_of_rows s;
    open_system(&s, &dice, softness, false);
    for (int i = 0; i < ROWS; i++) { // a matrix of one eigenvalue, 1
        for (int k = 0; k <= i; k++) {
            s.A[s.start[i] + (size_t)k] = i == k ? 1 + softness : 0;
        }
    }
    s.of.dependent = _i;
    ck_assert(compliant_solve_rows(&s.of));
    ck_assert_int_eq(s.of.soft, _i);
    ck_assert_double_eq(s.of.exchanged, 0);
    for (int i = 0; i < ROWS; i++) {
        const double share = _i ? softness / (1 + softness) : 0;
        ck_assert_double_eq_tol(s.solution[i], (1 - share * share) * s.right[i], 1e-14);
    }
}
END_TEST

// With softness the forces of the same two rows are shared, and without they have none.
START_TEST(rows_that_depend_are_soft)
{
    static const double softness = 1e-7;
    chance dice = {3};
    system_of_rows s;
    open_system(&s, &dice, softness, false);
    for (int i = 0; i < ROWS; i++) {
        for (int k = 0; k <= i; k++) {
            s.A[s.start[i] + (size_t)k] = i == k ? 1 + softness : i == ROWS - 1 && k == 0 ? 1 : 0;
        }
    }
    s.right[ROWS - 1] = s.right[0];
    ck_assert(compliant_solve_rows(&s.of));
    ck_assert(s.of.soft);
    ck_assert_double_eq_tol(s.solution[0], s.right[0] / 2, 1e-8);
    ck_assert_double_eq_tol(s.solution[ROWS - 1], s.right[0] / 2, 1e-8);
}
END_TEST

// Rounding is measured in the units of each row: one that starts at its bound leaves it, however
// heavy the bodies.
START_TEST(heavy_rows_leave_their_bounds)
{
    for (int n = 0; n < 10; n++) {
        for (int at = COMPLIANT_AT_LOWER; at <= COMPLIANT_AT_UPPER; at++) {
            chance dice = {1};
            system_of_rows s;
            const double inverse_mass = pow(100, -n), force = at == COMPLIANT_AT_LOWER ? 0.5 : -0.5;
            open_system(&s, &dice, 0, false);
            s.of.count = 1;
            s.of.has_bounds = true;
            s.A[0] = inverse_mass;
            s.right[0] = inverse_mass * force;
            s.row[0] = (compliant_active_row){.lo = -1, .hi = 1, .at = (compliant_bound)at};
            ck_assert(compliant_solve_rows(&s.of));
            ck_assert_double_eq_tol(s.solution[0], force, 1e-12);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("row_solver");
    ADD_TESTS(suite, "all", {bounds_are_found, 3}, {softness_is_given_back, 2},
              {rows_that_depend_are_soft, 1}, {heavy_rows_leave_their_bounds, 1});
    return run_suite(suite);
}
