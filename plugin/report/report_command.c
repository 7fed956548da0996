// `sprag report`: a page of recordings, and of what `sprag compare --json` has written.
#define _GNU_SOURCE 1 // mkstemp, setenv
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arguments.h"
#include "page.h"
#include "report_cli.h"
#include "report_page.h"
#include "say.h"

static const char help[] =
    "Usage: sprag report PAGE.html [--json FILE] [RECORDING...]\n"
    "\n"
    "Writes a page that opens in any browser, without a network: figures by step, a 3-D replay of\n"
    "the recordings side by side, worst steps, measures with verdicts, and what has been run.\n"
    "\n"
    "      --json FILE   of `sprag compare --json`, for measures and verdicts\n"
    "  -h, --help        this text\n"
    "\n"
    "Example: sprag run stack -m ode-quick --record quick.sprec\n"
    "         sprag run stack --record ours.sprec\n"
    "         sprag report stack.html quick.sprec ours.sprec\n";

static int write_page(const char *file, const char *json, char **recording, int recordings)
{
    char message[REPORT_MESSAGE];
    json_error_t error;
    page p = {.recording = (const char *const *)recording, .recordings = recordings};
    json_t *comparison = json ? json_load_file(json, 0, &error) : NULL;
    if (json && !comparison) {
        return cli_fail(EXIT_FAILURE, "%s: %s", json, error.text);
    }
    if (comparison && !json_object_get(comparison, "kind") &&
        !json_object_get(comparison, "models")) {
        json_decref(comparison);
        return cli_fail(EXIT_FAILURE, "%s is not what `sprag compare --json` writes", json);
    }
    p.comparison = comparison;
    bool done = page_write(&p, file, message);
    json_decref(comparison);
    return done ? EXIT_SUCCESS : cli_fail(EXIT_FAILURE, "%s", message);
}

// ---- --report of run and compare

enum { RUNS_MAX = 16, NAME_ROOM = 64 };

static char own[RUNS_MAX][NAME_ROOM]; // recordings that are removed at the end
static int runs;
static bool is_named; // the user has named the recording

bool report_begin(void)
{
    setenv("SPRAG_RECORD_RESIDUAL", "1", 1);
    is_named |= runs == 0 && getenv("SPRAG_RECORD");
    if (is_named) {
        return true;
    }
    if (runs == RUNS_MAX) {
        cli_fail(0, "a page has room for %d runs", RUNS_MAX);
        return false;
    }
    snprintf(own[runs], NAME_ROOM, "/tmp/sprag_report_XXXXXX");
    int descriptor = mkstemp(own[runs]);
    if (descriptor < 0 || setenv("SPRAG_RECORD", own[runs], 1) != 0) {
        cli_fail(0, "cannot make a file in /tmp");
        return false;
    }
    close(descriptor);
    runs++;
    return true;
}

void report_pause(void)
{
    if (!is_named) {
        unsetenv("SPRAG_RECORD");
        unsetenv("SPRAG_RECORD_RESIDUAL");
    }
}

int report_end(const char *file, const json_t *comparison)
{
    const char *recording[RUNS_MAX] = {getenv("SPRAG_RECORD")};
    char message[REPORT_MESSAGE];
    page p = {.comparison = comparison,
              .recording = recording,
              .recordings = is_named,
              .passing = !is_named};
    for (int i = 0; i < runs; i++) {
        struct stat is;
        if (stat(own[i], &is) == 0 && is.st_size > 0) { // the run has stepped a world
            recording[p.recordings++] = own[i];
        }
    }
    bool done = page_write(&p, file, message);
    for (int i = 0; i < runs; i++) {
        unlink(own[i]);
    }
    return done ? EXIT_SUCCESS : cli_fail(EXIT_FAILURE, "%s", message);
}

// ---- the subcommand

int cli_report(int argc, char **argv)
{
    const char *json = NULL;
    const argument all[] = {{"json", 0, ARGUMENT_TEXT, .to = &json}, {0}};
    int code = arguments_read(all, argc, argv, help, false);
    if (code >= 0) {
        return code;
    }
    if (optind == argc || (optind + 1 == argc && !json) || !strcmp(argv[optind], "-")) {
        return cli_fail(EXIT_USAGE, "report takes the name of the page, and a recording or --json; "
                                    "see sprag report --help");
    }
    if (!cli_can_write(argv[optind], PAGE_START)) {
        return EXIT_FAILURE;
    }
    for (int i = optind + 1; i < argc; i++) {
        if (!cli_can_read_again(argv[i])) {
            return EXIT_FAILURE;
        }
    }
    return write_page(argv[optind], json, argv + optind + 1, argc - optind - 1);
}
