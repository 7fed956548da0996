// Files beside a program: their names, and whose they are.
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

// A pipe takes less at once than a step writes; what its slow reader gets is all of it, in order.
START_TEST(pipes_get_all_that_is_written)
{
    enum { NUMBERS = 100000 };
    static int number[NUMBERS];
    output o;
    int status;
    ck_assert(mkdtemp(directory) && chdir(directory) == 0 && mkfifo("pipe", 0600) == 0);
    pid_t child = fork();
    if (child == 0) {
        FILE *from = fopen("pipe", "rb");
        usleep(20000);
        int count = 0;
        for (int next; fread(&next, sizeof next, 1, from) == 1; count++) {
            if (next != count) {
                _exit(1);
            }
        }
        _exit(count != NUMBERS);
    }
    for (int i = 0; i < NUMBERS; i++) {
        number[i] = i;
    }
    ck_assert(open_named(&o, "pipe") && !o.regular);
    ck_assert(output_lock(&o, 0) && output_is_ours(&o, "start"));
    ck_assert(output_write(&o, number, sizeof number));
    drop(&o);
    ck_assert(waitpid(child, &status, 0) == child && WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    rmdir(directory);
}
END_TEST

// One process at a time: a second one waits as long as it may.
START_TEST(files_have_one_writer)
{
    output o, other;
    ck_assert(mkdtemp(directory) && chdir(directory) == 0);
    ck_assert(open_named(&o, "file") && output_lock(&o, 0));
    ck_assert(open_named(&other, "file") && !output_lock(&other, 0.03));
    ck_assert_ptr_nonnull(strstr(other.failure, "another process writes to it"));
    output_unlock(&o);
    ck_assert(output_lock(&other, 0));
    pid_t child = fork();
    if (child == 0) { // the lock is of the file that is open, in this process as well
        usleep(30000);
        output_unlock(&other);
        _exit(0);
    }
    ck_assert(output_lock(&o, 10));
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    close(other.descriptor);
    free(other.pattern);
    drop(&o);
    rmdir(directory);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("output");
    ADD_TESTS(suite, "all", {names_have_the_process, 1}, {files_stay_open, 2},
              {pipes_get_all_that_is_written, 1}, {files_have_one_writer, 1});
    return run_suite_as(suite, CK_FORK);
}
