// Messages of the command on a terminal, and files that users name.
#define _GNU_SOURCE 1
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "say.h"
#include "suite.h"

static char text[8192];

static int before;
static FILE *to;

static void listen(void)
{
    to = tmpfile();
    before = dup(STDERR_FILENO);
    ck_assert(to && dup2(fileno(to), STDERR_FILENO) >= 0);
}

static const char *heard(void)
{
    fflush(stderr);
    dup2(before, STDERR_FILENO);
    close(before);
    rewind(to);
    text[fread(text, 1, sizeof text - 1, to)] = '\0';
    fclose(to);
    return text;
}

// Letters of UTF-8 stay; controls, of 7 and 8 bits, and bytes that are no letters are escaped.
START_TEST(messages_are_one_plain_line)
{
    static const char *const cases[][2] = {
        {"plain ~", "plain ~"},
        {"two\nlines", "two\\nlines"},
        {"tab\t\x1f\x7f", "tab\\x09\\x1f\\x7f"},
        {"\xc2\x9f\xc2\xa0", "\\xc2\\x9f\xc2\xa0"},
        {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\xff \xc3", "\\xff \\xc3"},
    };
    char expected[64];
    for (int i = 0; i < COUNT(cases); i++) {
        listen();
        ck_assert_int_eq(cli_fail(7, "%s", cases[i][0]), 7);
        snprintf(expected, sizeof expected, "sprag: %s\n", cases[i][1]);
        ck_assert_str_eq(heard(), expected);
        listen();
        cli_note("%s", cases[i][0]);
        snprintf(expected, sizeof expected, "sprag: note: %s\n", cases[i][1]);
        ck_assert_str_eq(heard(), expected);
    }
    listen();
    cli_note_end("file", NULL);
    ck_assert_str_eq(heard(), "");
    listen();
    cli_note_end("file", "ends");
    ck_assert_str_eq(heard(), "sprag: note: file ends\n");
}
END_TEST

// 500 bytes at either end of a message that is longer than both.
START_TEST(long_messages_are_cut)
{
    char name[1300], expected[1400];
    for (int size = 1000; size < 1300; size += 1 + 100 * (size > 1000)) {
        memset(name, 'b', sizeof name);
        memset(name, 'a', 500);
        memset(name + size - 500, 'c', 500);
        name[size] = '\0';
        listen();
        cli_fail(0, "%s", name);
        if (size == 1000) {
            snprintf(expected, sizeof expected, "sprag: %s\n", name);
        } else {
            snprintf(expected, sizeof expected, "sprag: %.500s[... %d bytes ...]%s\n", name,
                     size - 1000, name + size - 500);
        }
        ck_assert_str_eq(heard(), expected);
    }
}
END_TEST

// A path from the root; literal: a "%" stands for itself. That of the directory always does.
START_TEST(files_are_named_from_the_root)
{
    static const char variable[] = "SPRAG_TEST_FILE";
    char directory[] = "/tmp/sprag_%p_XXXXXX", is[PATH_MAX], expected[PATH_MAX + 64];
    char long_name[PATH_MAX + 1];
    ck_assert(mkdtemp(directory) && chdir(directory) == 0 && getcwd(is, sizeof is));
    ck_assert(cli_set_file(variable, "a%pb", false));
    snprintf(expected, sizeof expected, "/tmp/sprag_%%%%p%s/a%%pb", strrchr(is, '_'));
    ck_assert_str_eq(getenv(variable), expected);
    ck_assert(cli_set_file(variable, "/x/a%pb", true));
    ck_assert_str_eq(getenv(variable), "/x/a%%pb");
    ck_assert(cli_set_file(variable, "/x/a%pb", false));
    ck_assert_str_eq(getenv(variable), "/x/a%pb");
    memset(long_name, 'x', sizeof long_name);
    long_name[0] = '/';
    long_name[PATH_MAX - 1] = '\0';
    ck_assert(cli_set_file(variable, long_name, false));
    long_name[PATH_MAX - 1] = 'x';
    long_name[PATH_MAX] = '\0';
    listen();
    ck_assert(!cli_set_file(variable, long_name, false));
    ck_assert_ptr_nonnull(strstr(heard(), "is too long"));
    rmdir(is);
}
END_TEST

// What is tried stays as it is: a file keeps its bytes, what is not there is not made.
START_TEST(files_are_tried)
{
    char directory[] = "/tmp/sprag_say_XXXXXX";
    struct stat is;
    ck_assert(mkdtemp(directory) && chdir(directory) == 0);
    ck_assert(cli_can_write("new", "start") && stat("new", &is) != 0);
    FILE *file = fopen("old", "w");
    ck_assert(file && fputs("mine", file) >= 0 && fclose(file) == 0);
    ck_assert(cli_can_write("old", "") && stat("old", &is) == 0 && is.st_size == 4);
    ck_assert(mkfifo("pipe", 0600) == 0 && cli_can_write("pipe", "start"));
    ck_assert(cli_can_read_again("old") && cli_can_read_again("new"));
    ck_assert(cli_can_write("old", "min"));
    listen();
    ck_assert(!cli_can_write("old", "mines"));
    ck_assert_ptr_nonnull(strstr(heard(), "sprag: old is to be written, but holds something else"));
    listen();
    ck_assert(!cli_can_read_again("pipe"));
    ck_assert_ptr_nonnull(strstr(heard(), "sprag: pipe is a pipe"));
    listen();
    ck_assert(!cli_can_write("missing/new", "start"));
    ck_assert_ptr_nonnull(strstr(heard(), "cannot write to missing/new: No such file"));
    listen();
    ck_assert(cli_names_file("json", NULL) && cli_names_file("json", "x"));
    ck_assert_str_eq(heard(), "");
    listen();
    ck_assert(!cli_names_file("json", ""));
    ck_assert_str_eq(heard(), "sprag: --json needs the name of a file\n");
    unlink("old");
    unlink("pipe");
    rmdir(directory);
}
END_TEST

// The environment's options, those of -o over them, and a method in -o only where -m takes none.
START_TEST(settings_come_from_both)
{
    settings s;
    setenv("SPRAG_OPTIONS", "method=ode,ode.erp=0.3,ode.cfm=0.1", 1);
    ck_assert(cli_read_settings(&s, "ode.cfm=0.2", true));
    ck_assert_str_eq(s.method->name, "ode");
    ck_assert(s.stock.erp == 0.3 && s.stock.cfm == 0.2);
    ck_assert(cli_read_settings(&s, "method=ess", false));
    ck_assert_str_eq(s.method->name, "ess");
    ck_assert(cli_read_settings(&s, NULL, true));
    listen();
    ck_assert(!cli_read_settings(&s, "method=ess", true));
    ck_assert_ptr_nonnull(strstr(heard(), "by -m only"));
    listen();
    ck_assert(!cli_read_settings(&s, "none=1", true));
    ck_assert_ptr_nonnull(strstr(heard(), "sprag: -o: no option"));
    setenv("SPRAG_OPTIONS", "none=1", 1);
    listen();
    ck_assert(!cli_read_settings(&s, "", true));
    ck_assert_ptr_nonnull(strstr(heard(), "sprag: SPRAG_OPTIONS: no option"));
    ck_assert(cli_read_method(&s, "ode-quick:5,more", 11));
    ck_assert_int_eq(s.stock.iterations, 5);
    listen();
    char name[METHOD_NAME + 2];
    memset(name, 'x', sizeof name);
    ck_assert(!cli_read_method(&s, name, METHOD_NAME));
    ck_assert_ptr_nonnull(strstr(heard(), "the name is too long"));
    listen();
    ck_assert(!cli_read_method(&s, name, METHOD_NAME - 1));
    ck_assert_ptr_nonnull(strstr(heard(), "no method is called"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("say");
    ADD_TESTS(suite, "all", {messages_are_one_plain_line, 1}, {long_messages_are_cut, 1},
              {files_are_named_from_the_root, 1}, {files_are_tried, 1},
              {settings_come_from_both, 1});
    return run_suite_as(suite, CK_FORK);
}
