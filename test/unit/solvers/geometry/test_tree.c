// The tree of boxes: the overlapping pairs that it finds are all there are.
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "shape_pairs.h"
#include "suite.h"
#include "tree.h"

// ---- which boxes overlap

static bool met[120][120];

static void mark(void *data, int i, int j)
{
    ck_assert_int_lt(i, j);
    ck_assert(!met[i][j]);
    met[i][j] = true;
    ++*(int *)data;
}

START_TEST(overlaps_are_all_there_are)
{
    sprag_scratch scratch = {0};
    dice = 85;
    for (int round = 0; round < 300; round++) {
        double box[120][6];
        int count = pick(121), found = 0, expected = 0;
        for (int i = 0; i < count; i++) {
            double size = power(-2, 1);
            for (int k = 0; k < 3; k++) { // some on a lattice, where they touch; some without end
                double lo = round % 2 ? pick(6) : between(0, 6);
                box[i][k] = pick(40) ? lo : -INFINITY;
                box[i][k + 3] = pick(40) ? lo + (round % 2 ? 1 : size) : INFINITY;
            }
        }
        memset(met, 0, sizeof met);
        ck_assert(sprag_overlaps((const double(*)[6])box, count, mark, &found, &scratch));
        for (int i = 0; i < count; i++) {
            for (int j = i + 1; j < count; j++) {
                bool overlap = sprag_boxes_overlap(box[i], box[j]);
                expected += overlap;
                ck_assert_int_eq(met[i][j], overlap);
            }
        }
        ck_assert_int_eq(found, expected);
        sprag_scratch_reset(&scratch);
    }
    sprag_scratch_free(&scratch);
}
END_TEST

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); // tests that fail end their process
    Suite *suite = suite_create("tree");
    TCase *exact = ADD_TESTS(suite, "exact", {overlaps_are_all_there_are, 1});
    tcase_add_unchecked_fixture(exact, make_pool, NULL);
    return run_suite(suite);
}
