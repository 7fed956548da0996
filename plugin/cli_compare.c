// `sprag run`: a model under one method. `sprag compare`: models under several, side by side, judged
// by the exact answers that the models know.
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/cli.h"

static const double steps_max = 1e7;

static const char run_help[] =
    "Usage: sprag run MODEL [-m METHOD] [-o OPTIONS] [--step S] [--seconds S] [--json]\n"
    "\n"
    "Runs a model under one method and prints what it measured.\n"
    "\n"
    "  -m, --method METHOD   of `sprag list`; default: that of the options, or of sprag\n"
    "  -o, --options OPTIONS name=value,... of `sprag options`, over those in SPRAG_OPTIONS\n"
    "      --step S          length of a step, in seconds; default: the model's\n"
    "      --seconds S       time to simulate; default: the model's\n"
    "      --json            the same as JSON\n"
    "  -h, --help            this text\n"
    "\n"
    "`sprag list` names the models. SPRAG_STATS=FILE writes a row per step to FILE.\n"
    "Example: sprag run stack -m ode-quick\n";

static const char compare_help[] =
    "Usage: sprag compare MODEL... [-m METHOD,METHOD...] [-o OPTIONS] [--step S] [--seconds S]\n"
    "                     [--json]\n"
    "\n"
    "Runs each model under each method and prints their measures side by side, judged against the\n"
    "first method by the distance to the exact answer. The methods take one step each in turn, so\n"
    "that their times can be compared.\n"
    "\n"
    "  -m, --method LIST     methods of `sprag list`; default: ode-step,ode-quick,stribeck\n"
    "  -o, --options OPTIONS name=value,... of `sprag options`, over those in SPRAG_OPTIONS\n"
    "      --step S          length of a step, in seconds; default: each model's\n"
    "      --seconds S       time to simulate; default: each model's\n"
    "      --all             all models of `sprag list`\n"
    "      --json            the same as JSON\n"
    "  -h, --help            this text\n"
    "\n"
    "Example: sprag compare slope stack -m ode-quick,stribeck\n";

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

static void set_value(table *t, int column, const trial *of, int i)
{
    if (i >= of->measures) {
        return;
    }
    if (of->failed) {
        table_set(t, column, "stopped");
    } else if (!trial_finished(of)) {
        table_set(t, column, "not finite");
    } else if (isnan(of->measure[i].value)) {
        table_set(t, column, "unknown");
    } else {
        table_set(t, column, "%.3g", of->measure[i].value);
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
    printf("%s: %s\n%ld steps of %g s\n\n", j->model->name, j->model->summary, j->steps, j->step);
}

// What cut a trial short.
static void print_end(const trial *t)
{
    if (t->failed) {
        printf("%s: ODE would have ended the program after %.4g s: %s\n", t->method->name,
               seconds_of(t), t->failure);
    } else if (!trial_finished(t)) {
        printf("%s: a body was lost after %.4g s, its state not finite or far away\n",
               t->method->name, seconds_of(t));
    }
}

// ---- Run

static void print_run(const job *j, const trial *of)
{
    table t = {.left = 2};
    print_head(j);
    table_row(&t);
    table_set(&t, 2, "%s", of->method->name);
    table_set(&t, 3, "exact");
    for (int i = 0; i < of->measures; i++) {
        const sprag_measure *m = &of->measure[i];
        table_row(&t);
        table_set(&t, 0, "%s", m->name);
        table_set(&t, 1, "%s", m->unit);
        set_value(&t, 2, of, i);
        set_exact(&t, 3, m);
        if (!isnan(m->good)) {
            table_set(&t, 4, "%s", measure_is_good(m) ? "good" : "bad");
        }
    }
    table_row(&t);
    table_set(&t, 0, "time per step, median");
    table_set(&t, 1, "us");
    table_set(&t, 2, "%.1f", of->median_us);
    table_row(&t);
    table_set(&t, 0, "time per step, 99 %%");
    table_set(&t, 1, "us");
    table_set(&t, 2, "%.1f", of->p99_us);
    table_row(&t);
    if (of->method->ours) {
        table_set(&t, 0, "iterations per step");
        table_set(&t, 2, "%.2f", (double)of->iterations / steps_of(of));
        table_row(&t);
        table_set(&t, 0, "worst phase");
        table_set(&t, 2, "%c", of->phase);
        table_row(&t);
        table_set(&t, 0, "fallbacks to ODE");
        table_set(&t, 2, "%ld", of->fallbacks);
        table_row(&t);
    }
    table_set(&t, 0, "LCP errors");
    table_set(&t, 2, "%ld", of->lcp_errors);
    table_print(&t, stdout);
    print_end(of);
}

// ---- Compare

enum { NAME, UNIT, EXACT, FIRST }; // columns; a value and its verdict for each trial from FIRST on

static int value_column(int i)
{
    return i ? FIRST + 2 * i - 1 : FIRST;
}

static void add_measures(table *t, const trial *trials, int count)
{
    for (int k = 0; k < trials->measures; k++) {
        table_row(t);
        table_set(t, NAME, "%s", trials->measure[k].name);
        table_set(t, UNIT, "%s", trials->measure[k].unit);
        set_exact(t, EXACT, &trials->measure[k]);
        for (int i = 0; i < count; i++) {
            set_value(t, FIRST + i, &trials[i], k);
            const char *name = verdict_name(i ? trial_judge(trials, &trials[i], k) : NO_VERDICT);
            char *cell = t->cell[t->rows - 1][FIRST + i];
            size_t length = strlen(cell);
            snprintf(cell + length, TABLE_CELL - length, i ? " %-6s" : "%s", name);
        }
    }
}
