// `sprag compare -- PROGRAM`: runs a program once and compares methods on the states that it goes
// through (plugin/compare does that, in the program).
#define _GNU_SOURCE 1 // asprintf, sigtimedwait
#include "in_place.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arguments.h"
#include "cli.h"
#include "clock.h"
#include "exec.h"
#include "in_place_print.h"
#include "progress.h"
#include "recording_header.h"
#include "report_page.h"
#include "say.h"
#include "table.h"
#include "text.h"
#include "tune.h"

enum { EVERY = 10, LOOKS_PER_SECOND = 20 }; // at what there is to show

static const double patience = 10, steps_max = 1e9, seconds_max = 1e6; // s, steps, s

static const char default_methods[] = "ode-step,ode-quick,stribeck";

typedef struct in_place {
    comparison data;
    const char *names, *json, *page, *record;
    double steps, seconds, patience;
    bool markdown, quiet, tune;
    bool is_model;      // the program is this command, which runs a model
    char own[PATH_MAX]; // its path
    char *run[6];       // its words
} in_place;

// ---- arguments

// The program is then this command, which steps the model. false: after printing why.
static bool use_model(in_place *p, char *name)
{
    if (!request_find_model(name)) {
        return false;
    }
    ssize_t length = readlink("/proc/self/exe", p->own, sizeof p->own - 1);
    if (length <= 0) {
        cli_fail(0, "the path of sprag is unknown: /proc/self/exe cannot be read");
        return false;
    }
    p->own[length] = '\0';
    char *words[] = {p->own, "run", name, "-m", "ode-step", NULL};
    memcpy(p->run, words, sizeof words);
    p->data.command = p->run;
    return p->is_model = p->quiet = true;
}

// Returns -1, or the exit code if the command ends here.
static int read_arguments(in_place *p, int argc, char **argv)
{
    double every = p->data.every;
    const argument all[] = {{"method", 'm', ARGUMENT_TEXT, .to = &p->names},
                            {"options", 'o', ARGUMENT_TEXT, .to = &p->data.options},
                            {"under", 0, ARGUMENT_TEXT, .to = &p->data.under},
                            {"steps", 0, ARGUMENT_COUNT, .to = &p->steps, 1, steps_max},
                            {"seconds", 0, ARGUMENT_NUMBER, .to = &p->seconds, 1e-7, seconds_max},
                            {"every", 0, ARGUMENT_COUNT, .to = &every, 1, steps_max},
                            {"patience", 0, ARGUMENT_NUMBER, .to = &p->patience, 1e-3, seconds_max},
                            {"json", 0, ARGUMENT_FILE, .to = &p->json},
                            {"markdown", 0, ARGUMENT_FLAG, .to = &p->markdown},
                            {"quiet", 'q', ARGUMENT_FLAG, .to = &p->quiet},
                            {"whole", 0, ARGUMENT_FLAG, .to = &p->data.whole},
                            {"tune", 0, ARGUMENT_FLAG, .to = &p->tune},
                            {"report", 0, ARGUMENT_FILE, .to = &p->page},
                            {"record", 0, ARGUMENT_FILE, .to = &p->record},
                            {0}};
    int words = 0; // of sprag, up to "--"
    settings s;
    while (words < argc && strcmp(argv[words], "--") != 0) {
        words++;
    }
    int code = arguments_read(all, argc, argv, compare_help, words < argc);
    if (code >= 0) {
        return code;
    }
    p->data.every = (int)every;
    if (p->record && !cli_set_output("SPRAG_RECORD", p->record, RECORDING_START)) {
        return EXIT_FAILURE;
    }
    if (optind == argc) {
        return cli_fail(EXIT_USAGE, "the name of a program is missing behind --");
    }
    p->data.command = argv + optind;
    if (words == argc && optind + 1 == argc) {
        if (!use_model(p, argv[optind])) {
            return EXIT_USAGE;
        }
    } else if (words == argc || strcmp(argv[optind - 1], "--") != 0) {
        return cli_fail(EXIT_USAGE, "\"%s\": %s", argv[optind],
                        words == argc ? "--tune takes one model, or -- and a program"
                                      : "models and a program cannot be compared together");
    }
    if (!cli_read_settings(&s, p->data.options, true) ||
        !cli_read_method(&s, p->data.under, strlen(p->data.under)) ||
        !choices_add(p->data.method, &p->data.methods, p->names ? p->names : default_methods)) {
        return EXIT_USAGE;
    }
    if (p->tune && p->data.whole) {
        return cli_fail(EXIT_USAGE, "--tune compares steps from the same states, --whole does not");
    }
    if (!p->quiet) {
        choices_note_unheeded(p->data.method, p->data.methods, p->data.whole ? NULL : s.method,
                              p->data.options);
    }
    if (p->record && p->data.whole) {
        return cli_fail(EXIT_USAGE, "--record takes one run, --whole makes several: use --report, "
                                    "or sprag exec -m METHOD --record FILE");
    }
    return -1;
}

// ---- the program

// method: as in run_program.
static bool write_plan(const in_place *p, FILE *file, int method)
{
    int first = p->data.whole ? method : 0, last = p->data.whole ? method : p->data.methods - 1;
    fprintf(file, "every %d\nsteps %.17g\nseconds %.17g\npatience %.17g\n", p->data.every, p->steps,
            p->seconds, p->patience);
    for (int i = first; i <= last; i++) {
        fprintf(file, "method=%s\n", p->data.method[i].name);
    }
    fputs(p->data.whole ? "whole\n" : "", file);
    fputc('\n', file);
    return fflush(file) == 0 && !ferror(file);
}

static volatile sig_atomic_t program; // its process id

static void pass_on(int number)
{
    kill((pid_t)program, number);
}

// child: SIGCHLD alone, blocked since before the program began, so that its end is not missed.
static int wait_for(in_place *p, const char *file, long from, int method, const sigset_t *child)
{
    const struct timespec pause = {0, 1000000000 / LOOKS_PER_SECOND};
    double start = now_us();
    int status;
    while (waitpid((pid_t)program, &status, WNOHANG) == 0) {
        if (progress_is_shown()) {
            from = comparison_read(&p->data, file, from, method);
            progress("%s: %ld states, %.0f s",
                     method < 0 ? "compared" : p->data.method[method].name, p->data.states,
                     1e-6 * (now_us() - start));
        }
        sigtimedwait(child, NULL, &pause);
    }
    progress_end();
    p->data.seconds += 1e-6 * (now_us() - start);
    comparison_read(&p->data, file, from, method);
    return status;
}

// The exit code of the program. One that has made the steps asked for was ended by SIGTERM.
static int code_of(const in_place *p, int status)
{
    bool limited = p->steps > 0 || p->seconds > 0;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM && limited) {
        return EXIT_SUCCESS;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// method: of a whole run; -1: the program runs under p->data.under.
static int run_program(in_place *p, const char *file, long from, int method)
{
    const char *under = method < 0 ? p->data.under : p->data.method[method].name;
    sigset_t child, before;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, &before);
    fflush(stdout);
    program = fork();
    if (program < 0) {
        return cli_fail(EXIT_FAILURE, "cannot start a process: %s", strerror(errno));
    }
    if (program == 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        setenv("SPRAG_COMPARE", file, 1);
        if (p->is_model && !freopen("/dev/null", "w", stdout)) { // its own measures
            _exit(EXIT_FAILURE);
        }
        _exit(exec_program(p->data.command, under, *p->data.options ? p->data.options : NULL,
                           p->quiet));
    }
    signal(SIGINT, SIG_IGN); // of the terminal: the program gets it too, and what it did is printed
    signal(SIGTERM, pass_on);
    int exit_code = code_of(p, wait_for(p, file, from, method, &child));
    p->data.exit_code = exit_code ? exit_code : p->data.exit_code;
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return EXIT_SUCCESS;
}

// One run of the program. method: as in run_program.
static int compare_once(in_place *p, int method)
{
    char name[] = "/tmp/sprag_compare_XXXXXX";
    int descriptor = mkstemp(name);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    if (!file || !write_plan(p, file, method)) {
        return cli_fail(EXIT_FAILURE, "cannot write to %s: %s", name, strerror(errno));
    }
    int code = run_program(p, name, ftell(file), method);
    fclose(file);
    unlink(name);
    return code;
}

// Two runs under each method, in turn: load of the machine during one does not decide.
static int compare_whole_runs(in_place *p)
{
    int count = p->data.methods, code = EXIT_SUCCESS;
    for (int i = 0; i < 2 * count && code == EXIT_SUCCESS; i++) {
        if (p->page && i < count && !report_begin()) {
            return EXIT_FAILURE;
        }
        if (i == count) {
            report_pause();
        }
        code = compare_once(p, i < count ? i : 2 * count - 1 - i);
    }
    return code;
}

static int compare_states(in_place *p)
{
    int count = p->data.methods;
    if (p->tune && !tune_add(&p->data)) {
        return EXIT_FAILURE;
    }
    if (p->page && !report_begin()) {
        return EXIT_FAILURE;
    }
    int code = compare_once(p, -1);
    if (p->tune && code == EXIT_SUCCESS && p->data.states > 0) {
        tune_keep_best(&p->data, count);
    }
    return code;
}

static int report(in_place *p)
{
    const comparison *c = &p->data;
    if (c->states == 0 && (c->exit_code == EXIT_NOT_FOUND || c->exit_code == EXIT_CANNOT_EXECUTE)) {
        return c->exit_code; // with a message of its own
    }
    if (c->exit_code != EXIT_SUCCESS) {
        cli_fail(0, "%s has ended with exit code %d", c->command[0], c->exit_code);
    }
    if (c->states == 0 || comparison_count(c, 0, SAMPLE_NO_FORK) == c->states) {
        return cli_fail(EXIT_FAILURE,
                        "nothing was compared: the program has made fewer than %d steps of ODE, or "
                        "sprag had no effect on it%s",
                        c->every,
                        c->whole ? ", or it calls ODE by a handle of its own, as Python's ctypes "
                                   "does: leave out --whole"
                                 : "");
    }
    if (p->json && !in_place_write_json(c, p->json)) {
        return EXIT_FAILURE;
    }
    in_place_print(c);
    json_t *root = p->page ? in_place_json(c) : NULL;
    int code = p->page ? report_end(p->page, root) : EXIT_SUCCESS;
    json_decref(root);
    for (long i = 0; i < c->states; i++) {
        if (comparison_is_taken(c, i)) {
            return code;
        }
    }
    return cli_fail(EXIT_FAILURE, "nothing was compared: every child hung or died in its step");
}

int cli_in_place(int argc, char **argv)
{
    in_place p = {.data = {.options = "", .under = "ode", .every = EVERY}, .patience = patience};
    int code = read_arguments(&p, argc, argv);
    if (code < 0 && ((p.json && !cli_can_write(p.json, IN_PLACE_JSON_START)) ||
                     (p.page && !cli_can_write(p.page, PAGE_START)))) {
        code = EXIT_FAILURE;
    }
    if (code < 0) {
        table_choose_style(p.markdown);
        code = p.data.whole ? compare_whole_runs(&p) : compare_states(&p);
        code = code == EXIT_SUCCESS ? report(&p) : code;
    }
    comparison_free(&p.data);
    return code;
}
