// The ODE that runs is one whose layout sprag knows.
#include "ode.h"
#include "start.h"
#include "suite.h"

START_TEST(the_running_ode_is_the_known_one)
{
    start_ode();
    ck_assert_ptr_null(sprag_ode_unsupported());
    dCloseODE();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("runtime");
    TCase *all = tcase_create("all");
    tcase_add_test(all, the_running_ode_is_the_known_one);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
