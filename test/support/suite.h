// End of the main of every test program.
#ifndef TEST_SUITE_H
#define TEST_SUITE_H

#include <check.h>
#include <stdlib.h>

// Runs it, frees it and returns the exit code.
static inline int run_suite(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
