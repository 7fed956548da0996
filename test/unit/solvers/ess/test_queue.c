// The order of guards that may be reached.
#include <check.h>

#include "ess_run.h"
#include "suite.h"

// Pushed in each order, with ties and with pops between, guards come out by time and number.
START_TEST(the_earliest_comes_first)
{
    enum { GUARDS = 7, ORDERS = 5040 };
    sprag_ess_pending entry[GUARDS];
    sprag_ess_run run = {.queue = {.entry = entry}};
    for (int order = 0; order < ORDERS; order++) {
        int left[GUARDS], code = order;
        for (int i = 0; i < GUARDS; i++) {
            left[i] = i;
        }
        for (int i = 0; i < GUARDS; i++) {
            int at = code % (GUARDS - i), guard = left[at];
            code /= GUARDS - i;
            left[at] = left[GUARDS - 1 - i];
            sprag_ess_push(&run, (sprag_ess_pending){.time = guard / 2, .guard = guard});
            if (i == 3) { // what was the earliest comes back
                sprag_ess_push(&run, sprag_ess_pop(&run));
            }
        }
        for (int i = 0; i < GUARDS; i++) {
            ck_assert_int_eq(run.queue.count, GUARDS - i);
            ck_assert_int_eq(sprag_ess_pop(&run).guard, i);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("queue");
    ADD_TESTS(suite, "order", {the_earliest_comes_first, 1});
    return run_suite(suite);
}
