// The list of tests and the end of the main of every test program.
#ifndef TEST_SUITE_H
#define TEST_SUITE_H

#include <check.h>
#include <stdlib.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

enum { CASE_SECONDS = 120 }; // of a test, until it counts as hung; Check's own limit is 4 s

// A test and how often it runs, with _i from 0.
typedef struct test_entry {
    const TTest *test;
    int count;
} test_entry;

static inline TCase *add_tests(Suite *suite, const char *name, const test_entry *entry, int count)
{
    TCase *tests = tcase_create(name);
    tcase_set_timeout(tests, CASE_SECONDS);
    for (int i = 0; i < count; i++) {
        tcase_add_loop_test(tests, entry[i].test, 0, entry[i].count);
    }
    suite_add_tcase(suite, tests);
    return tests;
}

// Adds a case of the tests {test, count}, ... to the suite and returns it, for fixtures.
#define ADD_TESTS(suite, name, ...)                                                                \
    add_tests((suite), (name), (const test_entry[]){__VA_ARGS__},                                  \
              COUNT(((const test_entry[]){__VA_ARGS__})))

// The same, with a checked fixture; either function may be NULL.
#define ADD_TESTS_WITH(suite, name, setup, teardown, ...)                                          \
    tcase_add_checked_fixture(ADD_TESTS(suite, name, __VA_ARGS__), (setup), (teardown))

// Runs it, frees it and returns the exit code. CK_FORK: a process for each test, for tests that
// need one as it starts (environment, options that are read once).
static inline int run_suite_as(Suite *suite, enum fork_status mode)
{
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, getenv("CK_FORK") ? CK_FORK_GETENV : mode);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

// The same with all tests in this process: a process costs 300 page faults, half of the time of
// suites with hundreds of tests. CK_FORK=yes names the test that crashes.
static inline int run_suite(Suite *suite)
{
    return run_suite_as(suite, CK_NOFORK);
}

#endif
