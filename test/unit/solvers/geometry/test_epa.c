// Penetration depths of overlapping pairs: of polytopes against all facets that their difference
// can have, of cylinders against a search over directions; and distances of random pairs between
// bounds from planes and from points inside.
#include <check.h>
#include <math.h>
#include <stdio.h>

#include "core_gap.h"
#include "epa.h"
#include "linalg.h"
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

// ---- differences without volume

// A capsule's core about the origin along an axis, and a point or a segment across it at the
// origin: the depth is 0, and the normal is across both, whichever vertex the search starts with.
static void check_flat(const double axis[3], const double other[3], double half)
{
    const sprag_shape shape[2] = {{.kind = SPRAG_CAPSULE, .radius = 0.1, .half = {0, 0, 1}},
                                  {.kind = SPRAG_CAPSULE, .radius = 0.1, .half = {0, 0, half}}};
    sprag_pose pose[2] = {{{0}, {0}}, {{0}, {0}}};
    for (int k = 0; k < 3; k++) {
        pose[0].rotation[3 * k + 2] = axis[k]; // all that counts of them
        pose[1].rotation[3 * k + 2] = other[k];
    }
    const sprag_shape *const shapes[2] = {&shape[0], &shape[1]};
    const sprag_pose *const poses[2] = {&pose[0], &pose[1]};
    sprag_core core[2];
    ck_assert(sprag_cores_set(shapes, poses, core));
    for (int start = -1; start <= 1; start++) {
        const double towards[3] = {start * axis[0], start * axis[1], start * axis[2]};
        sprag_simplex simplex = {.count = start != 0};
        sprag_epa epa;
        sprag_pair_support(core, towards, &simplex.vertex[0]);
        sprag_epa_find(core, &simplex, 2, &epa);
        ck_assert_double_eq_tol(epa.bound, 0, 1e-15);
        ck_assert_double_eq_tol(norm3(epa.normal), 1, 1e-15);
        ck_assert_double_eq_tol(dot3(epa.normal, axis), 0, 1e-15);
        ck_assert_double_eq_tol(half * dot3(epa.normal, other), 0, 1e-15);
    }
}

START_TEST(flat_differences_have_depth_0_and_a_normal_across)
{
    for (int code = 1; code < 27; code++) {
        double axis[3] = {code % 3 - 1, code / 3 % 3 - 1, code / 9 - 1};
        if (normalise3(axis)) {
            for (int k = 0; k < 3; k++) {
                double other[3] = {0};
                other[k] = 1;
                check_flat(axis, other, 0);
                check_flat(axis, other, 0.5);
            }
        }
    }
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
    ADD_TESTS(suite, "flat", {flat_differences_have_depth_0_and_a_normal_across, 1});
    return run_suite(suite);
}
