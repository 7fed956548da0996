// `sprag dump`: one contact solve of a model or program, to a file that `build/bench solve` runs
// again.
#define _GNU_SOURCE 1 // setenv
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arguments.h"
#include "report_cli.h"
#include "rerun.h"
#include "say.h"
#include "solve_file.h"

static const char help[] =
    "Usage: sprag dump FILE [-o OPTIONS] [--step N] MODEL\n"
    "       sprag dump FILE [-o OPTIONS] [--step N] -- PROGRAM [ARGUMENTS...]\n"
    "\n"
    "Runs a model or program and writes the first contact solve that fails, so that ODE has to "
    "step\n"
    "the island (`fallbacks` in the statistics): the problem and the options, as JSON. Attach it "
    "to\n"
    "a bug report; `build/bench solve FILE` runs it again.\n"
    "\n"
    "  -o, --options OPTIONS name=value,... of `sprag options`, over those in SPRAG_OPTIONS\n"
    "      --step N          writes the largest solve of step N instead\n"
    "  -h, --help            this text\n"
    "\n"
    "A FILE that is no earlier dump is left alone.\n"
    "\n"
    "Exit code: 0 written; 1 not written, no solve has failed, or there was no such step;\n"
    "2 wrong arguments; 127 PROGRAM not found, 126 it cannot be executed.\n";

// Makes the file, empty, or empties an earlier dump. What else has that name stays as it is.
static bool make_file(const char *name)
{
    char text[sizeof SOLVE_START] = "";
    struct stat is = {0};
    const char *failure = NULL;
    int file = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    if (file < 0 || fstat(file, &is) != 0) {
        failure = strerror(errno);
    } else if (!S_ISREG(is.st_mode)) {
        failure = "no regular file";
    } else if (is.st_size &&
               (pread(file, text, sizeof text - 1, 0) < 0 || strcmp(text, SOLVE_START))) {
        failure = "the file holds something else";
    } else if (ftruncate(file, 0) != 0) {
        failure = strerror(errno);
    }
    if (file >= 0) {
        close(file);
    }
    if (failure) {
        cli_fail(EXIT_FAILURE, "%s: %s", name, failure);
    }
    return !failure;
}

// Has the program written all of it? A file without a solve is removed.
static bool is_written(const char *name, bool *whole)
{
    char last[sizeof SOLVE_END] = "";
    long end = sizeof last - 1;
    FILE *from = fopen(name, "rb");
    if (!from) {
        return false;
    }
    bool some = fseek(from, 0, SEEK_END) == 0 && ftell(from) > 0;
    *whole = some && fseek(from, -end, SEEK_END) == 0 && fread(last, 1, (size_t)end, from) > 0 &&
             !strcmp(last, SOLVE_END);
    fclose(from);
    if (!some) {
        unlink(name);
    }
    return some;
}

static int run(char **words, int count, bool is_program, const char *options)
{
    char **all = calloc((size_t)count + 6, sizeof *all);
    int n = 0;
    if (!all) {
        cli_fail(0, "no memory for the command");
        return -1;
    }
    all[n++] = is_program ? "exec" : "run";
    if (is_program) {
        all[n++] = "-q";
    }
    if (options) {
        all[n++] = "-o";
        all[n++] = (char *)options;
    }
    all[n++] = "--";
    memcpy(all + n, words, (size_t)count * sizeof *all);
    int code = rerun(NULL, all);
    free(all);
    return code;
}

int cli_dump(int argc, char **argv)
{
    const char *options = NULL, *step = NULL, *file = argc > 1 ? argv[1] : "-";
    int named = *file != '-';
    if (named) { // the file comes first, so that -- may separate the program
        argv[1] = argv[0];
        argv++;
        argc--;
    }
    const argument all[] = {{"options", 'o', ARGUMENT_TEXT, .to = &options},
                            {"step", 0, ARGUMENT_TEXT, .to = &step},
                            {0}};
    int code = arguments_read(all, argc, argv, help, true);
    if (code >= 0) {
        return code;
    }
    bool is_program = optind > 1 && optind < argc && !strcmp(argv[optind - 1], "--");
    settings s;
    if (!named || optind == argc || (!is_program && optind + 1 != argc)) {
        return cli_fail(EXIT_USAGE, "dump takes a file, and a model or -- PROGRAM; see sprag dump "
                                    "--help");
    }
    if (step && (step[strspn(step, "0123456789")] || strtol(step, NULL, 10) < 1)) {
        return cli_fail(EXIT_USAGE, "--step %s is not the number of a step; the first is 1", step);
    }
    if (!cli_read_settings(&s, options, false)) {
        return EXIT_USAGE;
    }
    if (!cli_set_file("SPRAG_DUMP", file, true) ||
        (step && setenv("SPRAG_DUMP_STEP", step, 1) != 0)) {
        return EXIT_FAILURE;
    }
    if (!make_file(file)) {
        return EXIT_FAILURE;
    }
    bool whole = false;
    code = run(argv + optind, argc - optind, is_program, options);
    if (is_written(file, &whole)) {
        if (!whole) {
            return cli_fail(EXIT_FAILURE, "%s: not all of the solve is there", file);
        }
        printf("%s: run it with build/bench solve %s\n", file, file);
        return EXIT_SUCCESS;
    }
    bool is_refused = is_program ? code == EXIT_CANNOT_EXECUTE || code == EXIT_NOT_FOUND
                                 : code == EXIT_USAGE; // with a message of its own
    if (is_refused) {
        return code;
    }
    return code < 0 ? EXIT_FAILURE
                    : cli_fail(EXIT_FAILURE,
                               step ? "no contact was solved in step %s" : "no solve has failed%s",
                               step ? step : "");
}
