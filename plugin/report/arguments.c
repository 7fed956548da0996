#include "arguments.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "say.h"
#include "text.h"

enum { ARGUMENTS_MAX = 16, HELP = 'h', UNNAMED = 256 }; // UNNAMED + i: option i, without a letter

static int refuse(int found, char *const *argv)
{
    const char *last = argv[optind - 1];
    bool is_long = last[0] == '-' && last[1] == '-';
    if (found == ':') {
        return cli_fail(EXIT_USAGE, "%s needs a value; see sprag %s --help", last, argv[0]);
    }
    if (is_long && optopt) {
        return cli_fail(EXIT_USAGE, "%s: the option takes no value; see sprag %s --help", last,
                        argv[0]);
    }
    if (is_long || !optopt) {
        return cli_fail(EXIT_USAGE, "%s is not an option of %s; see sprag %s --help", last, argv[0],
                        argv[0]);
    }
    return cli_fail(EXIT_USAGE, "-%c is not an option of %s; see sprag %s --help", optopt, argv[0],
                    argv[0]);
}

static bool read_number(const argument *a)
{
    double *to = a->to;
    bool whole = a->kind == ARGUMENT_COUNT;
    bool done = whole ? text_read_integer(optarg, to) : text_read_real(optarg, to);
    if (!done || !(*to >= a->least && *to <= a->most)) {
        cli_fail(0, "--%s: \"%s\" is not a %snumber from %g to %g", a->name, optarg,
                 whole ? "whole " : "", a->least, a->most);
        return false;
    }
    return true;
}

// false: after printing why.
static bool read_one(const argument *a)
{
    switch (a->kind) {
    case ARGUMENT_FLAG:
        *(bool *)a->to = true;
        return true;
    case ARGUMENT_TEXT:
    case ARGUMENT_FILE:
        *(const char **)a->to = optarg;
        return a->kind == ARGUMENT_TEXT || cli_names_file(a->name, optarg);
    case ARGUMENT_NUMBER:
    case ARGUMENT_COUNT:
        return read_number(a);
    case ARGUMENT_REFUSED:
        break;
    }
    cli_fail(0, "--%s %s", a->name, a->why);
    return false;
}

int arguments_read(const argument *all, int argc, char **argv, const char *help, bool leading)
{
    struct option named[ARGUMENTS_MAX + 2] = {{"help", no_argument, NULL, HELP}};
    char letters[2 * ARGUMENTS_MAX + 4];
    size_t length = (size_t)sprintf(letters, "%s", leading ? "+:h" : ":h");
    for (int i = 0; all[i].name && i < ARGUMENTS_MAX; i++) {
        bool refused = all[i].kind == ARGUMENT_REFUSED, alone = all[i].kind == ARGUMENT_FLAG;
        int value = refused ? optional_argument : alone ? no_argument : required_argument;
        named[i + 1] = (struct option){all[i].name, value, NULL, UNNAMED + i};
        if (all[i].letter) {
            named[i + 1].val = all[i].letter;
            length += (size_t)sprintf(letters + length, "%c%s", all[i].letter, alone ? "" : ":");
        }
    }
    for (int found; (found = getopt_long(argc, argv, letters, named, NULL)) != -1;) {
        if (found == HELP) {
            fputs(help, stdout);
            return EXIT_SUCCESS;
        }
        if (found == '?' || found == ':') {
            return refuse(found, argv);
        }
        if (optarg && optarg == argv[optind - 1] && strcmp(optarg, "--") == 0) {
            return cli_fail(EXIT_USAGE, "%s needs a value; see sprag %s --help", argv[optind - 2],
                            argv[0]);
        }
        const argument *a = all;
        while (found != (a->letter ? a->letter : UNNAMED + (int)(a - all))) {
            a++;
        }
        if (!read_one(a)) {
            return EXIT_USAGE;
        }
    }
    return -1;
}
