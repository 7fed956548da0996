// `sprag run`: a model under one method. `sprag compare`: models under several, side by side,
// judged by the exact answers that the models know.
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "json.h"
#include "judge.h"
#include "recorder.h"
#include "report_page.h"
#include "request.h"
#include "say.h"
#include "table.h"
#include "trial.h"

enum { CELL = 32 }; // bytes of a printed number or word

static const double steps_max = 1e7;

static const char run_help[] =
    "Usage: sprag run MODEL [-m METHOD] [-o OPTIONS] [--step S] [--seconds S] [--json]\n"
    "                 [--record FILE] [--report FILE]\n"
    "\n"
    "Runs a model under one method and prints what it measured.\n"
    "\n"
    "  -m, --method METHOD   of `sprag list`; default: that of the options, or of sprag.\n"
    "                        ode-quick:N has N iterations, ode-quick ODE's own 20\n"
    "  -o, --options OPTIONS name=value,... of `sprag options`, over those in SPRAG_OPTIONS\n"
    "      --step S          length of a step, in seconds; default: the model's\n"
    "      --seconds S       time to simulate; default: the model's\n"
    "      --json            the same as JSON\n"
    "      --record FILE     records every step to FILE; see sprag exec --help\n"
    "      --report FILE     writes a page of HTML with plots and a 3-D replay; see sprag report\n"
    "  -h, --help            this text\n"
    "\n"
    "`sprag list` names the models. SPRAG_STATS=FILE writes a row per step to FILE.\n"
    "Example: sprag run stack -m ode-quick\n";

const char compare_help[] =
    "Usage: sprag compare MODEL... [-m METHOD,METHOD...] [-o OPTIONS] [--step S] [--seconds S]\n"
    "                     [--json] [--markdown] [--record FILE] [--report FILE]\n"
    "       sprag compare [-m METHOD,METHOD...] [-o OPTIONS] [--under METHOD] [--every K]\n"
    "                     [--steps N | --seconds S] [--patience S] [--whole | --tune]\n"
    "                     [--json FILE] [--record FILE] [--report FILE] [--markdown] [-q]\n"
    "                     -- PROGRAM [ARGUMENTS...]\n"
    "       sprag compare --tune [--every K] ... MODEL\n"
    "\n"
    "Runs each model under each method and prints their measures side by side, judged against the\n"
    "first method by the distance to the exact answer. The methods take one step each in turn, so\n"
    "that their times can be compared.\n"
    "\n"
    "With --, runs PROGRAM once, and compares the methods on states that it goes through: at\n"
    "every K-th step the program forks, and each child takes the same step from the same state\n"
    "by another method. The program itself runs on as without sprag.\n"
    "\n"
    "  -m, --method LIST     methods of `sprag list`; default: ode-step,ode-quick,stribeck.\n"
    "                        ode-quick:N has N iterations, ode-quick the program's, or ODE's 20\n"
    "  -o, --options OPTIONS name=value,... of `sprag options`, over those in SPRAG_OPTIONS\n"
    "      --step S          length of a step, in seconds; default: each model's\n"
    "      --seconds S       time to simulate; default: each model's. A program is ended then\n"
    "      --all             all models of `sprag list`\n"
    "      --under METHOD    steps the program itself; default: ode, its own stepper\n"
    "      --every K         compares every K-th step; default: 10\n"
    "      --steps N         ends the program after N steps; default: it ends itself\n"
    "      --patience S      time in which a child must take its step; default: 10\n"
    "      --whole           of a program: runs it under each method, twice in turn, and compares\n"
    "                        the runs, as is always done of models\n"
    "      --tune            of a program: looks for the iterations, ERP and CFM with which stock\n"
    "                        leaves least in the time of the last method; adds it as a column\n"
    "      --json            of models: the same as JSON, to standard output\n"
    "      --json FILE       of a program: the values of all states, to FILE\n"
    "      --record FILE     records every step to FILE, of a program its own run; see sprag exec\n"
    "      --report FILE     writes a page of HTML with plots and a 3-D replay; see sprag report\n"
    "      --markdown        tables for issues and pages\n"
    "  -q, --quiet           no notes on programs where sprag may have no effect\n"
    "  -h, --help            this text\n"
    "\n"
    "Exit code: 0 compared; 1 failed, or nothing was compared; 2 wrong arguments; 127 PROGRAM not\n"
    "found, 126 it cannot be executed.\n"
    "Examples: sprag compare slope stack -m ode-quick,ode-quick:100,stribeck\n"
    "          sprag compare --seconds 20 -- ./game\n";

// ---- Jobs

static bool make_job(job *j, const request *r, const sprag_model *model)
{
    double step = r->step > 0 ? r->step : model->step;
    double seconds = r->seconds > 0 ? r->seconds : model->seconds;
    double steps = seconds / step;
    if (steps > steps_max || steps < 0.5) {
        cli_fail(0, "%s: %g s in steps of %g s is %.3g steps; 1 to %g can be done", model->name,
                 seconds, step, steps, steps_max);
        return false;
    }
    *j = (job){model, step, lround(fmax(steps, 1)), r->options};
    return true;
}

// ---- Cells

// "0 +-0.0001": what is exact, and how far from it is still good.
static void set_exact(table *t, int column, const sprag_measure *m)
{
    if (isnan(m->exact) && isnan(m->good)) {
        return;
    }
    if (isnan(m->exact)) {
        table_set(t, column, "up to %.3g", m->good);
    } else if (isnan(m->good)) {
        table_set(t, column, "%.5g", m->exact);
    } else {
        table_set(t, column, "%.5g +-%.1g", m->exact, m->good);
    }
}

static void print_value(char value[CELL], const trial *of, int i)
{
    if (of->failed) {
        snprintf(value, CELL, "stopped");
    } else if (!trial_finished(of)) {
        snprintf(value, CELL, "not finite");
    } else if (i >= of->measures || isnan(of->measure[i].value)) {
        snprintf(value, CELL, "unknown");
    } else {
        snprintf(value, CELL, "%.3g", of->measure[i].value);
    }
}

static double steps_of(const trial *t)
{
    return (double)(t->scene.steps_done > 0 ? t->scene.steps_done : 1);
}

static double seconds_of(const trial *t)
{
    return (double)t->scene.steps_done * t->scene.step;
}

static void print_head(const job *j)
{
    printf("%s: %s\n%ld steps of %g s\n", j->model->name, j->model->summary, j->steps, j->step);
    if ((double)j->steps * j->step <= j->model->settled) {
        printf("The run ends within the %g s that the model has to settle: some measures are not "
               "judged.\n",
               j->model->settled);
    }
    putchar('\n');
}

// Why a trial ended early.
static void print_end(const trial *t)
{
    if (t->failed) {
        printf("%s: ODE would have ended the program after %.4g s: %s\n", t->choice->name,
               seconds_of(t), t->failure);
    } else if (!trial_finished(t)) {
        printf("%s: a body was lost after %.4g s, its state not finite or far away\n",
               t->choice->name, seconds_of(t));
    }
}

// ---- Run

// A row that has a label, and so far nothing else.
static void begin_row(table *t, const char *name, const char *unit)
{
    table_row(t);
    table_set(t, 0, "%s", name);
    table_set(t, 1, "%s", unit);
}

static void print_run(const job *j, const trial *of)
{
    enum { VALUE = 2, EXACT, GOOD };
    table t = {.left = 2};
    begin_row(&t, "", "");
    table_set(&t, VALUE, "%s", of->choice->name);
    table_set(&t, EXACT, "exact");
    for (int i = 0; i < of->measures; i++) {
        char value[CELL];
        const sprag_measure *m = &of->measure[i];
        begin_row(&t, m->name, m->unit);
        print_value(value, of, i);
        table_set(&t, VALUE, "%s", value);
        set_exact(&t, EXACT, m);
        if (!isnan(m->good) && !isnan(m->value)) {
            table_set(&t, GOOD, "%s", measure_is_good(m) ? "good" : "bad");
        }
    }
    begin_row(&t, "LCP errors", "");
    table_set(&t, VALUE, "%ld", of->lcp_errors);
    if (of->method->ours) {
        begin_row(&t, "iterations per step", "");
        table_set(&t, VALUE, "%.2f", (double)of->iterations / steps_of(of));
        begin_row(&t, "worst strategy", "");
        table_set(&t, VALUE, "%s", sprag_strategy_name(of->strategy));
        begin_row(&t, "fallbacks to ODE", "");
        table_set(&t, VALUE, "%ld", of->fallbacks);
    }
    begin_row(&t, "time per step, median", "us");
    table_set(&t, VALUE, "%.1f", of->median_us);
    begin_row(&t, "time per step, 99 % below", "us");
    table_set(&t, VALUE, "%.1f", of->p99_us);
    print_head(j);
    table_print(&t, stdout);
    print_end(of);
}

// ---- Compare

enum { NAME, UNIT, EXACT, FIRST }; // columns; one per trial from FIRST on

// A cell of a trial that is compared: value, then a word. The first trial has no words.
static void set_pair(table *t, int i, const char *value, const char *word)
{
    table_set(t, FIRST + i, i ? "%s %-6s" : "%s", value, word);
}

static void add_measure(table *t, const trial *trials, int count, int k)
{
    const sprag_measure *m = &trials->measure[k];
    begin_row(t, m->name, m->unit);
    set_exact(t, EXACT, m);
    for (int i = 0; i < count; i++) {
        char value[CELL];
        print_value(value, &trials[i], k);
        set_pair(t, i, value, verdict_name(trial_judge(trials, &trials[i], k)));
    }
}

static double time_ratio(const trial *reference, const trial *t)
{
    return t->median_us / reference->median_us;
}

static void add_time(table *t, const trial *trials, int count)
{
    begin_row(t, "time per step", "us");
    for (int i = 0; i < count; i++) {
        char value[CELL], word[CELL];
        double ratio = time_ratio(trials, &trials[i]);
        snprintf(value, CELL, "%.1f", trials[i].median_us);
        snprintf(word, CELL, "%.*f x", ratio < 10 ? 2 : ratio < 100 ? 1 : 0, ratio);
        set_pair(t, i, value, isfinite(ratio) ? word : "");
    }
}

static void add_count(table *t, const char *name, const trial *trials, int count, bool lcp)
{
    begin_row(t, name, "");
    for (int i = 0; i < count; i++) {
        char value[CELL];
        snprintf(value, CELL, "%ld", lcp ? trials[i].lcp_errors : trials[i].fallbacks);
        set_pair(t, i, lcp || trials[i].method->ours ? value : "", "");
    }
}

static void print_verdict(const trial *reference, const trial *t)
{
    int counted[WORSE + 1] = {0};
    for (int k = 0; k < reference->measures; k++) {
        counted[trial_judge(reference, t, k)]++;
    }
    printf("%s against %s: better in %d, same in %d, worse in %d", t->choice->name,
           reference->choice->name, counted[BETTER], counted[SAME], counted[WORSE]);
    if (isfinite(time_ratio(reference, t))) {
        printf("; %.2f x the time", time_ratio(reference, t));
    }
    putchar('\n');
}

static void print_comparison(const job *j, const trial *trials, int count)
{
    table t = {.left = 2, .fixed = FIRST};
    begin_row(&t, "", "");
    table_set(&t, EXACT, "exact");
    for (int i = 0; i < count; i++) {
        set_pair(&t, i, trials[i].choice->name, "");
    }
    for (int k = 0; k < trials->measures; k++) {
        add_measure(&t, trials, count, k);
    }
    add_count(&t, "LCP errors", trials, count, true);
    add_count(&t, "fallbacks to ODE", trials, count, false);
    add_time(&t, trials, count);
    print_head(j);
    table_print(&t, stdout);
    putchar('\n');
    for (int i = 0; i < count; i++) {
        print_end(&trials[i]);
    }
    for (int i = 1; i < count; i++) {
        print_verdict(trials, &trials[i]);
    }
    putchar('\n');
}

// ---- Both

static int do_job(const request *r, const job *j, bool judged, json_t *all)
{
    trial trials[METHODS_MAX] = {0};
    int code = EXIT_SUCCESS;
    for (int i = 0; i < r->methods; i++) {
        trials[i].choice = &r->method[i];
        trials[i].method = r->method[i].method;
    }
    if (!trials_run(trials, r->methods, j)) {
        code = EXIT_FAILURE;
    } else if (all &&
               json_array_append_new(all, json_of_trials(j, trials, r->methods, judged)) != 0) {
        code = cli_fail(EXIT_FAILURE, "no memory for JSON");
    } else if (judged && !r->json) {
        print_comparison(j, trials, r->methods);
    } else if (!r->json) {
        print_run(j, trials);
    }
    fflush(stdout);
    trials_free(trials, r->methods);
    return code;
}

static int do_jobs(const request *r, bool judged)
{
    job j;
    int code = EXIT_SUCCESS;
    json_t *all = r->json || r->report ? json_array() : NULL;
    if (r->report && (!cli_can_write(r->report, PAGE_START) || !report_begin())) {
        code = EXIT_FAILURE;
    }
    for (int i = 0; i < r->models; i++) {
        if (code == EXIT_SUCCESS && !make_job(&j, r, r->model[i])) {
            code = EXIT_USAGE;
        }
    }
    for (int i = 0; i < r->models && code == EXIT_SUCCESS; i++) {
        make_job(&j, r, r->model[i]);
        code = do_job(r, &j, judged, all);
    }
    json_t *root = all ? json_root(all, r->options) : NULL;
    if (all && !root) {
        code = cli_fail(EXIT_FAILURE, "no memory for JSON");
    }
    if (r->json && code == EXIT_SUCCESS) {
        code = json_print(root);
    }
    if (r->report && code == EXIT_SUCCESS) {
        code = report_end(r->report, root);
    }
    json_decref(root);
    return code == EXIT_SUCCESS && recorder_has_failed() ? EXIT_FAILURE : code;
}

int cli_run(int argc, char **argv)
{
    request r;
    int code = request_read(&r, argc, argv, run_help, NULL);
    if (code < 0 && (r.models > 1 || r.methods > 1)) {
        code =
            cli_fail(EXIT_USAGE, "run takes one model and one method; `sprag compare` takes more");
    }
    code = code < 0 ? do_jobs(&r, false) : code;
    request_free(&r);
    return code;
}

static void print_legend(const char *reference)
{
    printf("exact: the right answer, +- what is still good\n"
           "better, worse: nearer to the exact answer than %s, or farther from it\n"
           "same: both are good, or they differ by less than 10 %%\n"
           "time per step: median, collision detection included; x: times that of %s\n",
           reference, reference);
}

static bool is_in_place(int argc, char **argv)
{
    bool any = false;
    for (int i = 1; i < argc; i++) {
        any |= strcmp(argv[i], "--") == 0 || strcmp(argv[i], "--tune") == 0;
    }
    return any;
}

int cli_compare(int argc, char **argv)
{
    request r;
    if (is_in_place(argc, argv)) {
        return cli_in_place(argc, argv);
    }
    int code = request_read(&r, argc, argv, compare_help, "ode-step,ode-quick,stribeck");
    if (code < 0) {
        code = do_jobs(&r, true);
        if (code == EXIT_SUCCESS && !r.json && r.methods > 1) {
            print_legend(r.method[0].name);
        }
    }
    request_free(&r);
    return code;
}
