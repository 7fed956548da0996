// Files beside a program: their names, and whose they are.
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "output.h"
#include "suite.h"

static const char variable[] = "SPRAG_TEST_OUTPUT";

static char directory[] = "/tmp/sprag_output_XXXXXX";

static bool open_named(output *o, const char *pattern)
{
    *o = (output){.descriptor = -1};
    setenv(variable, pattern, 1);
    return output_wanted(o, variable) && output_open(o, O_WRONLY | O_CREAT);
}

static void drop(output *o)
{
    close(o->descriptor);
    unlink(o->name);
    free(o->pattern);
}

// %p is the process, %% a percent sign, and another % itself.
START_TEST(names_have_the_process)
{
    char pattern[PATH_MAX + 64], expected[96];
    output o;
    ck_assert(mkdtemp(directory) && chdir(directory) == 0);
    ck_assert(open_named(&o, "a%pb%%p%x%"));
    snprintf(expected, sizeof expected, "a%ldb%%p%%x%%", (long)getpid());
    ck_assert_str_eq(o.name, expected);
    ck_assert(access(expected, F_OK) == 0 && o.regular && o.linked && output_is_per_process(&o));
    drop(&o);
    setenv(variable, "", 1);
    ck_assert(!output_wanted(&o, variable));
    memset(pattern, '/', sizeof pattern); // the root, if it has room
    pattern[PATH_MAX - 1] = '\0';
    ck_assert(!open_named(&o, pattern));
    ck_assert_str_eq(o.failure, "Is a directory");
    free(o.pattern);
    pattern[PATH_MAX - 1] = '/';
    pattern[PATH_MAX] = '\0';
    ck_assert(!open_named(&o, pattern));
    ck_assert_str_eq(o.failure, "File name too long");
    free(o.pattern);
    rmdir(directory);
}
END_TEST

// A file is open as long as the descriptor is still its own; in a child only without %p.
START_TEST(files_stay_open)
{
    output o;
    ck_assert(mkdtemp(directory) && chdir(directory) == 0);
    ck_assert(open_named(&o, _i ? "file_%p" : "file"));
    ck_assert(output_is_open(&o) && output_lock(&o, 0));
    ck_assert(output_is_ours(&o, "start") && output_write(&o, "start of it", 11));
    ck_assert(output_is_ours(&o, "start") && !output_is_ours(&o, "stare"));
    ck_assert(!output_is_ours(&o, "start of it all"));
    int status;
    pid_t child = fork();
    if (child == 0) {
        _exit(output_is_open(&o));
    }
    ck_assert(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == !_i);
    int other = open("other", O_WRONLY | O_CREAT, 0600), own = dup(o.descriptor);
    dup2(other, o.descriptor);
    ck_assert(!output_is_open(&o));
    dup2(own, o.descriptor);
    ck_assert(output_is_open(&o));
    unlink(o.name);
    ck_assert(!output_write(&o, "more", 4));
    ck_assert_str_eq(o.failure, "it has been deleted");
    close(own);
    close(other);
    drop(&o);
    ck_assert(!output_is_open(&o));
    unlink("other");
    rmdir(directory);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("output");
    ADD_TESTS(suite, "all", {names_have_the_process, 1}, {files_stay_open, 2});
    return run_suite_as(suite, CK_FORK);
}
