// Distances and normals of disjoint pairs that are constructed from the answer: a feature of each
// shape, a direction in its normal cone and a gap. By convexity the distance is that gap and the
// normal that direction, up to the rounding of the poses, which long double arithmetic repeats.
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "gap.h"
#include "shape_pairs.h"
#include "suite.h"

// ---- comparing

static long misses;

// Of one kind of pair, what is worst: relative to distance and size, to the distance alone where
// poses say it to 1e-13, to what is allowed; the normal, where poses hold it.
typedef struct worst {
    double sized, relative, share, normal, normal_share;
    long relative_pairs, normal_pairs, misses;
} worst;

static worst worst_so_far;

static void raise_worst(double *most, double value)
{
    *most = value > *most || isnan(value) ? value : *most;
}

static void expect(const thing t[2], const sprag_gap *gap, real distance, const real *normal,
                   real condition, const char *what)
{
    double L = reach_of(t), off = (double)fabsl(gap->distance - distance);
    double allowed = 1e-12 * (double)fabsl(distance) + 4 * eps * L;
    real n[3];
    widen(gap->normal, n);
    add(n, -1, normal);
    double turned = (double)length(n), may = 1e-12 + 64 * eps * (double)condition;
    worst *w = &worst_so_far;
    raise_worst(&w->sized, off / (double)(fabsl(distance) + L));
    raise_worst(&w->share, off / allowed);
    raise_worst(&w->normal_share, turned / may);
    if (eps * L < 1e-13 * (double)fabsl(distance)) {
        w->relative_pairs++;
        raise_worst(&w->relative, off / (double)fabsl(distance));
    }
    if (eps * (double)condition < 1e-14) {
        w->normal_pairs++;
        raise_worst(&w->normal, turned);
    }
    if (!(off <= allowed) || !(turned <= may)) {
        w->misses++;
        if (misses++ < SHOWN) {
            printf("%s: kinds %d %d, gap %.17Lg found %.17g error %.2g, normal off %.2g "
                   "(allowed %.2g, %.2g)\n",
                   what, (int)t[0].shape.kind, (int)t[1].shape.kind, distance, gap->distance,
                   gap->error, turned, allowed, may);
        }
    }
}

// ---- apart, put together from the answer

static bool no_pair(int k0, int k1)
{
    return k0 == SPRAG_PLANE && k1 == SPRAG_PLANE;
}

// SPRAG_PAIRS=1000000 test_gjk: so many of each kind of pair, and what is worst of each.
static bool is_long(void)
{
    return getenv("SPRAG_PAIRS") != NULL;
}

static long pairs_of_each(void)
{
    return is_long() ? strtol(getenv("SPRAG_PAIRS"), NULL, 10) : 8000;
}

static void print_worst(int k0, int k1, long each, long failed)
{
    static const char *const name[] = {"sphere", "capsule", "cylinder", "box", "convex", "plane"};
    const worst *w = &worst_so_far;
    if (!k0 && !k1) {
        printf("gaps log-uniform, 1e-12 to 1e3 m; worst of each kind of pair. distance: error over "
               "distance and size; over distance alone,\nwhere eps size < 1e-13 distance (pairs); "
               "over 1e-12 distance + 4 eps size. normal: error, where poses hold it to\n1e-14 "
               "(pairs); over what is allowed\n%-18s %8s %9s %9s %8s %6s %9s %8s %6s %6s %6s\n",
               "pair", "pairs", "d/(d+L)", "d/d", "pairs", "share", "normal", "pairs", "share",
               "missed", "failed");
    }
    printf("%-8s-%-9s %8ld %9.1e %9.1e %8ld %6.3f %9.1e %8ld %6.3f %6ld %6ld\n", name[k0], name[k1],
           each, w->sized, w->relative, w->relative_pairs, w->share, w->normal, w->normal_pairs,
           w->normal_share, w->misses, failed);
    fflush(stdout);
}

START_TEST(distance_and_normal_are_those_that_the_pair_was_made_from)
{
    static thing t[2];
    long each = pairs_of_each(), failed = 0;
    dice = 77;
    for (int k0 = 0; k0 < SPRAG_SHAPE_KINDS; k0++) {
        for (int k1 = 0; k1 < SPRAG_SHAPE_KINDS; k1++) {
            long failed_before = failed;
            worst_so_far = (worst){0};
            for (long i = 0; i < each && !no_pair(k0, k1); i++) {
                feature f[2];
                real distance, normal[3], condition;
                sprag_gap gap;
                build_pair(t, (sprag_shape_kind)k0, (sprag_shape_kind)k1, power(-12, 3), f,
                           &distance, normal, &condition);
                sprag_result result = find(t, NULL, &gap, NULL, 0);
                failed += result != SPRAG_OK;
                char what[64];
                snprintf(what, sizeof what, "made of %d %d", f[0].flat, f[1].flat);
                expect(t, &gap, distance, normal, condition, what);
            }
            if (is_long() && !no_pair(k0, k1)) {
                print_worst(k0, k1, each, failed - failed_before);
            }
        }
    }
    ck_assert_int_eq(misses, 0);
    ck_assert_int_eq(failed, 0);
}
END_TEST

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); // tests that fail end their process
    Suite *suite = suite_create("gjk");
    TCase *exact =
        ADD_TESTS(suite, "exact", {distance_and_normal_are_those_that_the_pair_was_made_from, 1});
    tcase_add_unchecked_fixture(exact, make_pool, NULL);
    tcase_set_timeout(exact, is_long() ? 36000 : 120);
    return run_suite(suite);
}
