// Distances of cylinders with a common axis, or nearly, to cylinders, capsules and boxes.
#include <check.h>
#include <math.h>
#include <stdio.h>

#include "gap.h"
#include "shape_bounds.h"
#include "suite.h"

// ---- rest: what lies, stands or leans on each other, a little out of line

// One in the other, one on the other, side by side: cylinders with one axis or nearly, on each
// other or on what is flat. Out of line by an angle, distances are by as much of the size.
START_TEST(cylinders_in_line_come_apart)
{
    static thing t[2];
    static skeleton k[2];
    static const sprag_shape_kind kinds[] = {SPRAG_CYLINDER, SPRAG_CAPSULE, SPRAG_BOX};
    long bad = 0;
    dice = 101;
    for (int i = 0; i < 4000; i++) {
        sprag_shape_kind kind = kinds[i % 3];
        make_thing(&t[0], SPRAG_CYLINDER);
        make_thing(&t[1], kind);
        double r0 = t[0].shape.radius, h0 = t[0].shape.half[2], h1 = t[1].shape.half[2];
        double r1 = kind == SPRAG_BOX ? 0 : t[1].shape.radius;
        double skin = kind == SPRAG_CAPSULE ? r1 : 0, out = pick(3) ? power(-16, -3) : 0;
        real R[3][3], world[3][3], leaning[3][3], from[3], at[3] = {0, 0, 0}, u[3];
        double up = pick(3) ? between(-1, 1) * (h0 + h1) : pick(2) ? h0 + h1 + skin : 0;
        double aside = kind == SPRAG_BOX || pick(2) ? 0
                       : pick(3)                    ? fraction() * (r0 + r1)
                                                    : r0 + r1;
        up *= kind == SPRAG_BOX && fabs(up) < 0.98 * (h0 + h1) ? (h0 + h1) * 0.98 / fabs(up) : 1;
        up = isfinite(up) ? up : h0 + h1;
        about(2, between(0, 6.3), R);
        set_rotation(&t[0], (const real(*)[3])R);
        random_unit(u);
        about(0, out * u[0], world);
        multiply((const real(*)[3])world, (const real(*)[3])R, leaning);
        set_rotation(&t[1], (const real(*)[3])leaning);
        set_position(&t[0], at);
        from[0] = aside, from[1] = 0, from[2] = up;
        set_position(&t[1], from);
        double along = fabs(up) - h0 - h1 - skin, across = aside - r0 - r1;
        if (kind == SPRAG_BOX) { // lies on it: the side is farther
            across = -r0 - fmin(t[1].shape.half[0], t[1].shape.half[1]);
        } else if (kind == SPRAG_CAPSULE && along + skin > 0 && aside > r0) {
            continue; // past the rim
        }
        double expected = fmax(along, across), L = reach_of(t);
        sprag_gap gap;
        sprag_manifold m;
        sprag_result result = find(t, NULL, &gap, &m, 0.01);
        skeleton_of(&t[0], &k[0]);
        skeleton_of(&t[1], &k[1]);
        real n[3];
        widen(gap.normal, n);
        double held = (double)separation(k, n);
        bool ok =
            (result == SPRAG_OK || (result == SPRAG_NOT_CONVERGED && gap.error <= 8 * out * L)) &&
            fabsl(length(n) - 1) <= 4 * eps && fabs(held - gap.distance) <= 1e-12 * L &&
            fabs(gap.distance - expected) <= 3 * out * L + 1e-12 * L && m.count > 0;
        for (int side = 0; side < 2; side++) {
            ok &= outside(&t[side], &k[side], gap.point[side]) <= 3 * out * L + 1e-9 * L;
        }
        if (!ok && bad++ < SHOWN) {
            printf(
                "kind %d up %g aside %g out %g: result %d distance %g expected %g held %g error %g "
                "normal %g %g %g, %d points, outside %Lg %Lg\n",
                (int)kind, up, aside, out, (int)result, gap.distance, expected, held, gap.error,
                gap.normal[0], gap.normal[1], gap.normal[2], m.count,
                outside(&t[0], &k[0], gap.point[0]), outside(&t[1], &k[1], gap.point[1]));
        }
    }
    ck_assert_int_eq(bad, 0);
}
END_TEST

// The rim of a tilted cylinder sinks into the cap of another: the depth is that of its lowest
// point, along the other's axis, where heights of slabs are not smooth.
START_TEST(a_rim_in_a_cap_is_found_in_little_work)
{
    const double tilt = 0.05 + 0.1 * (_i % 4), sunk = 0.02 + 0.1 * (double)(_i / 4);
    const double lowest = 0.5 * cos(tilt) + 0.3 * sin(tilt); // under the centre
    const sprag_shape upper = {.kind = SPRAG_CYLINDER, .radius = 0.3, .half = {0, 0, 0.5}},
                      lower = {.kind = SPRAG_CYLINDER, .radius = 0.5, .half = {0, 0, 0.3}};
    const sprag_pose above = {.position = {0.1, 0.05, 0.3 + lowest - sunk},
                              .rotation = {cos(tilt), 0, sin(tilt), 0, 1, 0, -sin(tilt), 0,
                                           cos(tilt)}},
                     below = {.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    const sprag_shape *const shape[2] = {&upper, &lower};
    const sprag_pose *const pose[2] = {&above, &below};
    const sprag_gap_query query = {.reach = INFINITY};
    sprag_gap gap;
    ck_assert_int_eq(sprag_gap_find(shape, pose, &query, NULL, &gap, NULL), SPRAG_OK);
    ck_assert_double_eq_tol(gap.distance, -sunk, 1e-14);
    ck_assert_double_eq_tol(gap.normal[2], 1, 1e-15);
    ck_assert_int_le(gap.work, 150);
}
END_TEST

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); // tests that fail end their process
    Suite *suite = suite_create("cylinders");
    TCase *exact = ADD_TESTS(suite, "exact", {cylinders_in_line_come_apart, 1},
                             {a_rim_in_a_cap_is_found_in_little_work, 12});
    tcase_add_unchecked_fixture(exact, make_pool, NULL);
    return run_suite(suite);
}
