#include "say.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int cli_fail(int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("sprag: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return code;
}

int cli_bad_option(int found, char *const *argv)
{
    const char *last = argv[optind - 1];
    bool is_long = last[0] == '-' && last[1] == '-';
    if (found == ':') {
        return cli_fail(EXIT_USAGE, "%s needs a value; see sprag %s --help", last, argv[0]);
    }
    if (is_long || !optopt) {
        return cli_fail(EXIT_USAGE, "%s is not an option of %s; see sprag %s --help", last, argv[0],
                        argv[0]);
    }
    return cli_fail(EXIT_USAGE, "-%c is not an option of %s; see sprag %s --help", optopt, argv[0],
                    argv[0]);
}

static bool read_over(settings *s, const char *options, const char *where)
{
    char message[MESSAGE_MAX];
    if (options && strcmp(options, "help") == 0) {
        settings_help(stdout);
        exit(EXIT_SUCCESS);
    }
    if (options && !settings_read(s, options, message)) {
        cli_fail(0, "%s: %s", where, message);
        return false;
    }
    return true;
}

bool cli_read_settings(settings *s, const char *options)
{
    *s = settings_defaults();
    return read_over(s, getenv("SPRAG_OPTIONS"), "SPRAG_OPTIONS") && read_over(s, options, "-o");
}
