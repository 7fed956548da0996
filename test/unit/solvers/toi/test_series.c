// Taylor models against closed forms: zeros, roots and turns, and what their remainders bound.
#include <check.h>
#include <math.h>

#include "chance.h"
#include "motion.h"
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

// ---- what turns

static void turned(const double w[3], double t, const double a[3], double out[3])
{
    sprag_pose before = {{0}, {1, 0, 0, 0, 1, 0, 0, 0, 1}}, after;
    sprag_motion motion = {.pose = before};
    memcpy(motion.velocity + 3, w, 3 * sizeof *w);
    sprag_motion_at(&motion, t, &after);
    mul33(after.rotation, a, out);
}

// m, from a series at u to a vector.
static double off(const sprag_series3 *m, double u, const double exact[3])
{
    double d[3];
    for (int i = 0; i < 3; i++) {
        const sprag_series x = sprag_series_component(m, i);
        d[i] = value_of(&x, u) - exact[i];
    }
    return norm3(d);
}

// Angles of a radian, and of a tenth of it, where the next term is all that is left out: the bound
// holds, and is no more than a few times that.
START_TEST(turns_are_within_their_bounds)
{
    chance dice = {23};
    for (int i = 0; i < 2000; i++) {
        const double size = i % 2 ? 1 : 0.1;
        double w[2][3], a[3], v[3], back[3], seen[3], way[3], exact[3];
        sprag_turning turning;
        sprag_series3 m, line;
        for (int k = 0; k < 2; k++) {
            chance_unit(&dice, w[k]);
            for (int j = 0; j < 3; j++) {
                w[k][j] *= chance_between(&dice, 0.5, 1) * size;
            }
        }
        chance_unit(&dice, a);
        chance_unit(&dice, v);
        sprag_turning_set(w[0], w[1], &turning);
        sprag_turning_apply(&turning, a, &m);
        sprag_series_line(a, v, w[1], &line);
        for (double u = 0.25; u <= 1; u += 0.25) {
            const double fifth = pow(u, 5);
            for (int j = 0; j < 3; j++) {
                back[j] = -w[1][j];
                way[j] = a[j] + u * v[j];
            }
            turned(w[0], u, a, seen);
            turned(back, u, seen, exact);
            ck_assert_double_le(off(&m, u, exact), m.remainder * fifth + 1e-15);
            turned(back, u, way, exact);
            ck_assert_double_le(off(&line, u, exact), line.remainder * fifth + 1e-15);
        }
        ck_assert_double_le(m.remainder, pow(2 * size, 5));
        ck_assert_double_le(line.remainder, pow(size, 5) / 60 + pow(size, 4) / 24);
    }
}
END_TEST

// Frames that turn alike see nothing of it; without a turn a line is one.
START_TEST(what_turns_along_is_constant)
{
    const double w[3] = {1, 2, -3}, a[3] = {4, 5, 6}, v[3] = {7, 8, 9}, none[3] = {0};
    sprag_turning turning;
    sprag_series3 m;
    sprag_turning_set(w, w, &turning);
    ck_assert_int_eq(turning.terms, 0);
    sprag_turning_apply(&turning, a, &m);
    ck_assert(off(&m, 1, a) == 0 && m.remainder == 0);
    sprag_series_line(a, v, none, &m);
    const double end[3] = {11, 13, 15};
    ck_assert(off(&m, 1, end) == 0 && m.remainder == 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("series");
    ADD_TESTS(suite, "all", {first_zeros_are_found, 1}, {what_begins_at_zero_has_no_time, 1},
              {roots_are_upper_bounds, 1}, {turns_are_within_their_bounds, 1},
              {what_turns_along_is_constant, 1});
    return run_suite(suite);
}
