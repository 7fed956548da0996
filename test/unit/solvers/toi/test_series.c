// Taylor models against closed forms: zeros, roots and turns, and what their remainders bound.
#include <check.h>
#include <math.h>

#include "chance.h"
#include "series.h"
#include "suite.h"

static double value_of(const sprag_series *f, double u)
{
    return f->c[0] + u * (f->c[1] + u * (f->c[2] + u * (f->c[3] + u * f->c[4])));
}

// The first zero of (u - z) (u - 2) (u - 3) (u - y), y the greater, with and without a remainder.
START_TEST(first_zeros_are_found)
{
    chance dice = {21};
    for (int i = 0; i < 2000; i++) {
        const double z = chance_between(&dice, 1e-6, 0.999), y = chance_between(&dice, z, 1.5);
        const double p = z * y, q = z + y;
        sprag_series f = {.c = {6 * p, -5 * p - 6 * q, p + 5 * q + 6, -5 - q, 1}};
        const double found = sprag_series_positive(&f, 1);
        ck_assert_double_le(found, z + 1e-12);
        ck_assert_double_ge(found, z - 1e-7 - 1e-13 / (y - z));
        ck_assert_double_eq(sprag_series_positive(&f, z / 2), z / 2); // none as early as that
        f.remainder = 1;
        const double sooner = sprag_series_positive(&f, 1);
        ck_assert_double_eq_tol(value_of(&f, sooner), pow(sooner, 5), 1e-9);
        ck_assert_double_lt(sooner, z);
    }
}
END_TEST

START_TEST(what_begins_at_zero_has_no_time)
{
    const sprag_series falls = {.c = {0, -1}}, rises = {.c = {0, 1}}, returns = {.c = {0, 1, -2}},
                       below = {.c = {-1, 3}}, unknown = {.c = {1}, .remainder = INFINITY},
                       still = {.c = {0}}, touches = {.c = {1, -2, 1}};
    ck_assert_double_eq(sprag_series_positive(&falls, 1), 0);
    ck_assert_double_eq(sprag_series_positive(&rises, 1), 1);
    ck_assert_double_eq(sprag_series_positive(&returns, 1), 0);
    ck_assert_double_eq(sprag_series_positive(&below, 1), 0);
    ck_assert_double_eq(sprag_series_positive(&unknown, 1), 0);
    ck_assert_double_eq(sprag_series_positive(&still, 1), 1);
    ck_assert_double_eq_tol(sprag_series_positive(&touches, 1), 1, 1e-7);
}
END_TEST

// With the remainder never below the root, and as close to it as the next term is small.
START_TEST(roots_are_upper_bounds)
{
    chance dice = {22};
    for (int i = 0; i < 2000; i++) {
        sprag_series q = {.c = {1}, .remainder = i % 2 ? chance_between(&dice, 0, 1e-3) : 0}, root;
        double size = 0;
        for (int k = 1; k < SPRAG_TERMS; k++) {
            q.c[k] = chance_between(&dice, -0.1, 0.1);
            size += fabs(q.c[k]);
        }
        ck_assert(sprag_series_root(&q, &root));
        for (double u = 0; u <= 1; u += 0.125) {
            const double exact = sqrt(value_of(&q, u)), fifth = pow(u, 5);
            const double above = value_of(&root, u) + root.remainder * fifth - exact;
            ck_assert_double_ge(above, -1e-15);
            ck_assert_double_le(above, 2 * (q.remainder + size * size) * fifth + 1e-15);
        }
    }
    const sprag_series none = {.c = {0, 1}}, falls = {.c = {1, -1.2}}, slowly = {.c = {1, -0.9}};
    sprag_series root;
    ck_assert(!sprag_series_root(&none, &root) && !sprag_series_root(&falls, &root));
    ck_assert(sprag_series_root(&slowly, &root));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("series");
    ADD_TESTS(suite, "all", {first_zeros_are_found, 1}, {what_begins_at_zero_has_no_time, 1},
              {roots_are_upper_bounds, 1});
    return run_suite(suite);
}
