// Programs run as children, in a directory of their own, and what they print.
#ifndef TEST_SHELL_H
#define TEST_SHELL_H

#include <check.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suite.h"

enum { OUTPUT_MAX = 4096, COMMAND_MAX = 4096 };

typedef struct run {
    int status; // as the shell's: 128 and more is a signal
    char out[OUTPUT_MAX], err[OUTPUT_MAX];
} run;

static char directory[] = "/tmp/sprag_test_XXXXXX";

static inline void read_text(const char *name, char *text)
{
    FILE *file = fopen(name, "r");
    ck_assert_msg(file != NULL, "no %s", name);
    text[fread(text, 1, OUTPUT_MAX - 1, file)] = '\0';
    fclose(file);
}

static inline int remove_entry(const char *name, const struct stat *is, int kind, struct FTW *at)
{
    (void)is, (void)kind;
    return at->level > 0 ? remove(name) : 0;
}

// Runs a line of shell in an empty directory, which stays the current one.
__attribute__((format(printf, 1, 2))) static inline run sh(const char *format, ...)
{
    char line[COMMAND_MAX], command[COMMAND_MAX + 64];
    run r;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    ck_assert_int_lt(length, COMMAND_MAX);
    ck_assert_int_eq(nftw(".", remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
    remove("../out"); // a program that is left behind may write there yet
    remove("../err");
    snprintf(command, sizeof command, "{ %s; } >../out 2>../err </dev/null", line);
    r.status = system(command);
    r.status = WIFEXITED(r.status) ? WEXITSTATUS(r.status) : 255;
    read_text("../out", r.out);
    read_text("../err", r.err);
    return r;
}

#define ck_assert_fine(r)                                                                          \
    do {                                                                                           \
        ck_assert_str_eq((r).err, "");                                                             \
        ck_assert_msg((r).status == 0, "status %d: %s", (r).status, (r).out);                      \
    } while (0)

static inline bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static inline void remove_directory(void)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", directory);
    if (chdir("/") == 0 && system(command) != 0) {
        perror(directory);
    }
}

// Runs the suite, whose children start in an empty directory and without our environment.
static inline int run_in_directory(Suite *suite)
{
    char empty[sizeof directory + 8];
    unsetenv("SPRAG_OPTIONS");
    unsetenv("SPRAG_STATS");
    unsetenv("LD_PRELOAD");
    if (!mkdtemp(directory)) {
        perror(directory);
        return EXIT_FAILURE;
    }
    snprintf(empty, sizeof empty, "%s/empty", directory);
    int code = mkdir(empty, 0700) == 0 && chdir(empty) == 0 ? run_suite(suite) : EXIT_FAILURE;
    remove_directory();
    return code;
}

#endif
