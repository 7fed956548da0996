// Penetration depths of overlapping pairs: of polytopes against all facets that their difference
// can have, of cylinders against a search over directions; and distances of random pairs between
// bounds from planes and from points inside.
#include <check.h>
#include <math.h>
#include <stdio.h>

#include "shape_bounds.h"
#include "suite.h"

// ---- overlap

static void check_all_near(const char *what, bool curved, int each, bool brute)
{
    static thing t[2];
    for (int k0 = 0; k0 < SPRAG_PLANE; k0++) {
        for (int k1 = 0; k1 < SPRAG_PLANE; k1++) {
            bool round = k0 == SPRAG_CYLINDER || k1 == SPRAG_CYLINDER;
            for (int i = 0; i < each && round == curved; i++) {
                make_thing(&t[0], (sprag_shape_kind)k0);
                make_thing(&t[1], (sprag_shape_kind)k1);
                put_near(t, i % 2 ? 0.5 : 1);
                check_near(t, what, brute);
            }
        }
    }
}

START_TEST(depth_of_polytopes_is_the_least_over_all_facets)
{
    dice = 78;
    check_all_near("facets", false, 600, true);
    ck_assert_int_eq(misses, 0);
    ck_assert_int_le(astray, pairs / 5000);
}
END_TEST

START_TEST(depth_of_cylinders_is_the_least_that_a_search_finds)
{
    dice = 79;
    check_all_near("search", true, 40, true);
    ck_assert_int_eq(misses, 0);
    ck_assert_int_le(astray, pairs / 5000);
}
END_TEST

START_TEST(normal_and_points_bear_the_distance_out)
{
    dice = 80;
    check_all_near("polytopes", false, 3000, false);
    check_all_near("curved", true, 3000, false);
    ck_assert_int_eq(misses, 0);
    ck_assert_int_le(astray, pairs / 5000);
}
END_TEST

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); // tests that fail end their process
    Suite *suite = suite_create("epa");
    TCase *exact = ADD_TESTS(suite, "exact", {depth_of_polytopes_is_the_least_over_all_facets, 1},
                             {depth_of_cylinders_is_the_least_that_a_search_finds, 1},
                             {normal_and_points_bear_the_distance_out, 1});
    tcase_add_unchecked_fixture(exact, make_pool, NULL);
    return run_suite(suite);
}
