// `sprag replay`: the recorded command once more, and a comparison of the two runs, pose by pose.
// The inputs of a run are its command, directory and options, which the recording has, and the rest
// of the environment and standard input, which it has not.
#define _GNU_SOURCE 1 // setenv, mkstemp
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arguments.h"
#include "film.h"
#include "linalg.h"
#include "recording_header.h"
#include "report_cli.h"
#include "rerun.h"
#include "say.h"
#include "sprag_recording.h"

static const char help[] = "Usage: sprag replay RECORDING [-m METHOD] [--record FILE]\n"
                           "\n"
                           "Runs the recorded command again, in its directory and with its "
                           "options, for as many steps, and\n"
                           "compares the poses and velocities of all bodies, step by step. A "
                           "program that goes on then is\n"
                           "ended. What it prints is left out.\n"
                           "\n"
                           "  -m, --method METHOD   solves with another method; see sprag list\n"
                           "      --record FILE     keeps the recording of the new run\n"
                           "  -h, --help            this text\n"
                           "\n"
                           "Exit code: 0 the same bits; 1 another run, or none.\n";

// ---- the run

// The words behind the program that make it record are left out.
static void add_words(char **to, int count, json_t *command, bool is_sprag)
{
    size_t i;
    json_t *word;
    json_array_foreach(command, i, word)
    {
        char *text = (char *)json_string_value(word);
        bool is_output = is_sprag && i > 0 && text && !strncmp(text, "--re", 4);
        if (is_output && !strchr(text, '=')) { // --record FILE, --report FILE
            i++;
        } else if (!is_output && text) {
            to[count++] = text;
        }
    }
    to[count] = NULL;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), other = strlen(end);
    return length >= other && !strcmp(text + length - other, end);
}

// The command itself steps models; every other program is preloaded, or linked to the library.
static int run_again(json_t *header, const char *method, const char *file)
{
    int count = 2;
    const char *program = json_string_value(json_object_get(header, "program"));
    const char *directory = json_string_value(json_object_get(header, "directory"));
    const char *options = json_string_value(json_object_get(header, "options"));
    const char *preload = json_string_value(json_object_get(header, "preload"));
    json_t *command = json_object_get(header, "command");
    bool is_sprag = program && ends_with(program, "/sprag") && !(preload && *preload);
    if (!program || !directory || !options || json_array_size(command) == 0) {
        cli_fail(0, "the recording does not tell the command");
        return -1;
    }
    char **words = calloc(json_array_size(command) + 6, sizeof *words);
    if (!words) {
        cli_fail(0, "no memory for the command");
        return -1;
    }
    words[0] = "exec";
    words[1] = "-q";
    if (is_sprag) { // behind its own options, of which the last one counts
        add_words(words, 0, command, true);
        for (count = 0; words[count];) {
            count++;
        }
    }
    if (method) {
        words[count++] = "-m";
        words[count++] = (char *)method;
    }
    words[count] = NULL;
    if (!is_sprag) {
        words[count++] = "--";
        add_words(words, count, command, false);
    }
    setenv("SPRAG_RECORD", file, 1);
    if (*options) {
        setenv("SPRAG_OPTIONS", options, 1);
    } else {
        unsetenv("SPRAG_OPTIONS");
    }
    int ended = rerun(directory, is_sprag ? words + 1 : words);
    free(words);
    return ended;
}

// ---- the comparison

typedef struct difference {
    long steps;      // that both have
    long same;       // of them, until the first that differs
    double time;     // s, of that one
    double farthest; // m, between the poses of a body
    bool goes_on;    // the recorded run, where the new one has ended
} difference;

static bool is_same_step(const sprag_recording *a, const sprag_recording *b)
{
    return a->step->world == b->step->world && a->step->step == b->step->step &&
           a->poses == b->poses && !memcmp(a->pose, b->pose, a->poses * sizeof *a->pose);
}

static double distance(const sprag_recording *a, const sprag_recording *b)
{
    double most = 0;
    for (uint32_t i = 0; i < a->poses && i < b->poses; i++) {
        double way[3];
        subtract3(a->pose[i].position, b->pose[i].position, way);
        most = fmax(most, norm3(way));
    }
    return most;
}

static difference compare(sprag_recording *a, sprag_recording *b)
{
    difference d = {0};
    bool differs = false;
    for (;;) {
        d.goes_on = sprag_recording_next(a);
        if (!d.goes_on || !sprag_recording_next(b)) {
            return d;
        }
        if (!differs && !is_same_step(a, b)) {
            differs = true;
            d.time = a->step->time;
        }
        d.same += !differs;
        d.steps++;
        d.farthest = fmax(d.farthest, distance(a, b));
    }
}

static int report(const difference *d)
{
    if (d->same == d->steps && d->steps > 0 && !d->goes_on) {
        printf("%ld steps: the same bits\n", d->steps);
        return EXIT_SUCCESS;
    }
    if (d->same < d->steps) {
        printf("%ld of %ld steps: the same bits; from %.9g s on bodies are up to %.3g m apart\n",
               d->same, d->steps, d->time, d->farthest);
    } else {
        printf("%ld steps: the same bits; then the recorded run goes on\n", d->steps);
    }
    return EXIT_FAILURE;
}

// ended: the exit code of the command.
static int compare_files(const char *recorded, const char *again, int ended)
{
    sprag_recording a, b;
    if (!sprag_recording_open(&a, recorded)) {
        return cli_fail(EXIT_FAILURE, "%s %s", recorded, a.error);
    }
    if (!sprag_recording_open(&b, again)) {
        sprag_recording_close(&a);
        bool is_told = ended == EXIT_CANNOT_EXECUTE || ended == EXIT_NOT_FOUND;
        return is_told
                   ? EXIT_FAILURE
                   : cli_fail(EXIT_FAILURE,
                              "the command has ended with code %d and not stepped a world", ended);
    }
    difference d = compare(&a, &b);
    int code = report(&d);
    if (ended > 0 && code != EXIT_SUCCESS) {
        cli_note("the command has ended with code %d", ended);
    }
    sprag_recording_close(&a);
    sprag_recording_close(&b);
    return code;
}

// steps: how many the recording has.
static json_t *header_of(const char *file, long *steps)
{
    sprag_recording r;
    json_error_t error;
    if (!sprag_recording_open(&r, file)) {
        cli_fail(0, "%s %s", file, r.error);
        return NULL;
    }
    json_t *header = json_loadb(r.header, r.header_size, 0, &error);
    for (*steps = 0; sprag_recording_next(&r);) {
        ++*steps;
    }
    cli_note_end(file, recording_end(&r));
    sprag_recording_close(&r);
    if (!header) {
        cli_fail(0, "%s: its first line is no JSON: %s", file, error.text);
    } else if (*steps == 0) {
        cli_fail(0, "%s has no step", file);
        json_decref(header);
        return NULL;
    }
    return header;
}

static int replay(const char *recorded, const char *method, const char *again)
{
    char plan[] = "/tmp/sprag_replay_XXXXXX";
    long steps;
    json_t *header = header_of(recorded, &steps);
    int file = header ? mkstemp(plan) : -1;
    int ended = -1;
    if (file >= 0 && dprintf(file, "all_steps %ld\n\n", steps) > 0) {
        setenv("SPRAG_COMPARE", plan, 1);
        ended = run_again(header, method, again);
    }
    if (file >= 0) {
        close(file);
        unlink(plan);
    }
    json_decref(header);
    return ended < 0 ? EXIT_FAILURE : compare_files(recorded, again, ended);
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat p, q;
    return stat(a, &p) == 0 && stat(b, &q) == 0 && p.st_dev == q.st_dev && p.st_ino == q.st_ino;
}

int cli_replay(int argc, char **argv)
{
    const char *kept = NULL, *method = NULL;
    char file[PATH_MAX] = "/tmp/sprag_replay_XXXXXX", directory[PATH_MAX] = "";
    const argument all[] = {{"method", 'm', ARGUMENT_TEXT, .to = &method},
                            {"record", 0, ARGUMENT_FILE, .to = &kept},
                            {0}};
    int code = arguments_read(all, argc, argv, help, false);
    if (code >= 0) {
        return code;
    }
    if (optind + 1 != argc) {
        return cli_fail(EXIT_USAGE, "replay takes one recording; see sprag replay --help");
    }
    settings s = settings_defaults();
    if (method && !cli_read_method(&s, method, strlen(method))) {
        return EXIT_USAGE;
    }
    if (!cli_can_read_again(argv[optind]) || (kept && !cli_can_write(kept, RECORDING_START))) {
        return EXIT_FAILURE;
    }
    if (kept && is_same_file(kept, argv[optind])) {
        return cli_fail(EXIT_FAILURE, "%s is the recording itself: give --record another file",
                        kept);
    }
    if (kept && (*kept == '/' || getcwd(directory, sizeof directory))) {
        snprintf(file, sizeof file, "%s%s%s", directory, *directory ? "/" : "", kept);
    } else {
        int descriptor = mkstemp(file);
        if (descriptor < 0) {
            return cli_fail(EXIT_FAILURE, "cannot make a file in /tmp");
        }
        close(descriptor);
    }
    code = replay(argv[optind], method, file);
    if (!kept) {
        unlink(file);
    }
    return code;
}
