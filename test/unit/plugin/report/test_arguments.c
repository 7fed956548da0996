// Options of the command: what they set, and what is said of others.
#define _GNU_SOURCE 1
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arguments.h"
#include "say.h"
#include "suite.h"

static struct {
    bool flag;
    const char *text, *file;
    double number, count;
} got;

static const argument all[] = {
    {"flag", 'f', ARGUMENT_FLAG, .to = &got.flag},
    {"text", 't', ARGUMENT_TEXT, .to = &got.text},
    {"file", 0, ARGUMENT_FILE, .to = &got.file},
    {"number", 0, ARGUMENT_NUMBER, .to = &got.number, 0.5, 2},
    {"count", 'c', ARGUMENT_COUNT, .to = &got.count, 1, 9},
    {"other", 0, ARGUMENT_REFUSED, .why = "belongs elsewhere"},
    {0},
};

static char said[4096];

// The words of a line; its result, and what it says, on either stream.
static int read_line(const char *line, bool leading)
{
    static char words[256];
    static char *word[16];
    int count = 0;
    FILE *to = tmpfile();
    snprintf(words, sizeof words, "%s", line);
    for (char *at = strtok(words, " "); at; at = strtok(NULL, " ")) {
        word[count++] = strcmp(at, "''") ? at : at + 2;
    }
    word[count] = NULL;
    fflush(NULL);
    int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
    dup2(fileno(to), STDOUT_FILENO);
    dup2(fileno(to), STDERR_FILENO);
    memset(&got, 0, sizeof got);
    optind = 0;
    opterr = 0;
    int code = arguments_read(all, count, word, "the help\n", leading);
    fflush(NULL);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    close(out);
    close(err);
    rewind(to);
    said[fread(said, 1, sizeof said - 1, to)] = '\0';
    fclose(to);
    return code;
}

START_TEST(options_are_set)
{
    ck_assert_int_eq(read_line("do", false), -1);
    ck_assert(!got.flag && !got.text && optind == 1);
    ck_assert_int_eq(read_line("do -f -t x --file y --number 0.5 -c 9 rest", false), -1);
    ck_assert(got.flag && !strcmp(got.text, "x") && !strcmp(got.file, "y"));
    ck_assert(got.number == 0.5 && got.count == 9 && optind == 10);
    ck_assert_int_eq(read_line("do rest --flag --text=x --number=2 --count 1", false), -1);
    ck_assert(got.flag && !strcmp(got.text, "x") && got.number == 2 && got.count == 1);
    ck_assert_int_eq(read_line("do -f rest -t x", true), -1); // of the program
    ck_assert(got.flag && !got.text && optind == 2);
    ck_assert_int_eq(read_line("do -f -- -t x", false), -1);
    ck_assert(got.flag && !got.text && optind == 3);
    ck_assert_str_eq(said, "");
    ck_assert_int_eq(read_line("do --help", false), 0);
    ck_assert_str_eq(said, "the help\n");
    ck_assert_int_eq(read_line("do -h", false), 0);
    ck_assert_str_eq(said, "the help\n");
}
END_TEST

START_TEST(others_are_refused)
{
    static const char *const cases[][2] = {
        {"do -z", "-z is not an option of do; see sprag do --help"},
        {"do -fz", "-z is not an option of do; see sprag do --help"},
        {"do --zzz", "--zzz is not an option of do; see sprag do --help"},
        {"do --zzz=1", "--zzz=1 is not an option of do; see sprag do --help"},
        {"do --flag=1", "--flag=1: the option takes no value; see sprag do --help"},
        {"do -t", "-t needs a value; see sprag do --help"},
        {"do --text", "--text needs a value; see sprag do --help"},
        {"do --text -- x", "--text needs a value; see sprag do --help"},
        {"do -t -- x", "-t needs a value; see sprag do --help"},
        {"do --file ''", "--file needs the name of a file"},
        {"do --file -", "--file needs the name of a file, such as /dev/stderr; ./- is a file "
                        "called \"-\""},
        {"do --number 0.4", "--number: \"0.4\" is not a number from 0.5 to 2"},
        {"do --number 2.1", "--number: \"2.1\" is not a number from 0.5 to 2"},
        {"do --number nan", "--number: \"nan\" is not a number from 0.5 to 2"},
        {"do --count 1.5", "--count: \"1.5\" is not a whole number from 1 to 9"},
        {"do -c 0", "--count: \"0\" is not a whole number from 1 to 9"},
        {"do -c 10", "--count: \"10\" is not a whole number from 1 to 9"},
        {"do --other", "--other belongs elsewhere"},
        {"do --other=1", "--other belongs elsewhere"},
    };
    char expected[128];
    for (int i = 0; i < COUNT(cases); i++) {
        ck_assert_int_eq(read_line(cases[i][0], false), EXIT_USAGE);
        snprintf(expected, sizeof expected, "sprag: %s\n", cases[i][1]);
        ck_assert_str_eq(said, expected);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arguments");
    ADD_TESTS(suite, "all", {options_are_set, 1}, {others_are_refused, 1});
    return run_suite(suite);
}
