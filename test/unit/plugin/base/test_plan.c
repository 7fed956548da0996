// The plan of a comparison, as `sprag compare` writes it for the program.
#define _GNU_SOURCE 1
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ode/ode.h>

#include "plan.h"
#include "suite.h"

static char file[] = "/tmp/sprag_plan_XXXXXX", heard[2048];

static void hear(int number, const char *format, va_list arguments)
{
    (void)number;
    vsnprintf(heard, sizeof heard, format, arguments);
}

static const plan *plan_of(const char *text, const char *options)
{
    int descriptor = mkstemp(file);
    ck_assert(write(descriptor, text, strlen(text)) == (ssize_t)strlen(text));
    close(descriptor);
    setenv("SPRAG_COMPARE", file, 1);
    if (options) {
        setenv("SPRAG_OPTIONS", options, 1);
    }
    dSetMessageHandler(hear);
    const plan *p = plan_get();
    ck_assert_ptr_eq(plan_get(), p);
    unlink(file);
    return p;
}

START_TEST(lines_are_read)
{
    const plan *p = plan_of("every 5\nsteps 100\nseconds 2.5\nall_steps 300\npatience 0.25\n"
                            "method=ode\nmethod=ode-quick:50\n\nevery 7\n1 2 3\n",
                            "ode.erp=0.3");
    ck_assert_msg(p != NULL, "%s", heard);
    ck_assert_str_eq(p->file, file);
    ck_assert_int_eq(p->every, 5);
    ck_assert_double_eq(p->steps, 100);
    ck_assert_double_eq(p->seconds, 2.5);
    ck_assert_double_eq(p->all_steps, 300);
    ck_assert_double_eq(p->patience, 0.25);
    ck_assert(!p->whole && !plan_records());
    ck_assert_int_eq(p->choices, 2);
    ck_assert_str_eq(p->choice[0].method->name, "ode");
    ck_assert_int_eq(p->choice[0].stock.iterations, 0);
    ck_assert_int_eq(p->choice[1].stock.iterations, 50);
    ck_assert_double_eq(p->choice[1].stock.erp, 0.3);
}
END_TEST

START_TEST(an_empty_plan_has_defaults)
{
    const plan *p = plan_of("\n", NULL);
    ck_assert_ptr_nonnull(p);
    ck_assert_int_eq(p->every, 1);
    ck_assert_double_eq(p->patience, 10);
    ck_assert_double_eq(p->steps, 0);
    ck_assert_int_eq(p->choices, 0);
}
END_TEST

// Methods that keep a distance need the program's collision calls, in one run with its states.
START_TEST(methods_may_need_collision_calls)
{
    ck_assert_ptr_nonnull(
        plan_of(_i ? "whole\nmethod=advance\n\n" : "method=ode\nmethod=ess\n\n", NULL));
    ck_assert(plan_get()->whole == (_i == 1));
    ck_assert(plan_records() == (_i == 0));
}
END_TEST

START_TEST(other_lines_are_refused)
{
    static const char *const bad[][2] = {{"every 0\n\n", "no such line: every 0"},
                                         {"every x\n\n", "no such line: every x"},
                                         {"patience\n\n", "no such line: patience"},
                                         {"steps 1x\n\n", "no such line: steps 1x"},
                                         {"method=nothing\n\n", "no method is called \"nothing\""},
                                         {"wholes\n\n", "no such line: wholes"}};
    ck_assert_ptr_null(plan_of(bad[_i][0], NULL));
    ck_assert_msg(strstr(heard, bad[_i][1]) != NULL, "%s", heard);
    ck_assert_ptr_nonnull(strstr(heard, "Nothing is compared"));
    ck_assert(!plan_records());
}
END_TEST

START_TEST(a_missing_file_is_told)
{
    setenv("SPRAG_COMPARE", _i ? "/nonexistent/plan" : "", 1);
    dSetMessageHandler(hear);
    ck_assert_ptr_null(plan_get());
    ck_assert(!*heard == !_i);
    ck_assert(!_i || strstr(heard, "No such file"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan");
    ADD_TESTS(suite, "all", {lines_are_read, 1}, {an_empty_plan_has_defaults, 1},
              {methods_may_need_collision_calls, 2}, {other_lines_are_refused, 6},
              {a_missing_file_is_told, 2});
    return run_suite_as(suite, CK_FORK);
}
