#include "in_place_print.h"

#include <math.h>

#include "table.h"

enum { LABEL, UNIT, RIGHT, FIRST }; // columns; one per method from FIRST on

static const sample_value shown[] = {
    SAMPLE_DEPTH_LARGEST, SAMPLE_DEPTH_MEAN,  SAMPLE_APPROACH,  SAMPLE_SLIP,
    SAMPLE_SLIP_LARGEST,  SAMPLE_CONE,        SAMPLE_JOINT_GAP, SAMPLE_JOINT_TURN,
    SAMPLE_MOMENTUM,      SAMPLE_ENERGY_MADE, SAMPLE_RESIDUAL,  SAMPLE_LCP_ERRORS,
    SAMPLE_FALLBACKS,     SAMPLE_RESTING,     SAMPLE_CREEP,
};

// A row of whole runs: along the run, in its first and in its last tenth.
typedef struct whole_row {
    sample_value value;
    const char *label;
    double from, to; // share of the run
} whole_row;

static const whole_row whole_rows[] = {{SAMPLE_ENERGY, "energy, first tenth", 0, 0.1},
                                       {SAMPLE_ENERGY, "energy, last tenth", 0.9, 1},
                                       {SAMPLE_SPEED, "mean speed, last tenth", 0.9, 1},
                                       {SAMPLE_DEPTH_MEAN, "mean depth, last tenth", 0.9, 1}};

static bool is_known(const comparison *c, sample_value value)
{
    bool any = false;
    for (int k = 0; k < c->methods; k++) {
        any |= !isnan(comparison_figure(c, k, value));
    }
    return any;
}

static const char *right_of(const sample_kind *kind)
{
    return isnan(kind->right) ? "" : kind->right > 0 ? "<= 1" : "0";
}

static void begin_row(table *t, const char *label, const char *unit)
{
    table_row(t);
    table_set(t, LABEL, "%s", label);
    table_set(t, UNIT, "%s", unit);
}

static void add_figure(table *t, const comparison *c, sample_value value)
{
    const sample_kind *kind = &sample_kinds[value];
    begin_row(t, kind->label, kind->unit);
    table_set(t, RIGHT, "%s", right_of(kind));
    for (int k = 0; k < c->methods; k++) {
        double figure = comparison_figure(c, k, value);
        const char *verdict = comparison_verdict(c, k, value);
        if (!isnan(figure)) {
            table_set(t, FIRST + k, k ? "%.3g %-6s" : "%.3g", figure, verdict);
        } else if (kind->right == kind->right) {
            table_set(t, FIRST + k, k ? "not known %-6s" : "not known", "");
        }
    }
}

static void add_whole(table *t, const comparison *c)
{
    for (size_t i = 0; i < sizeof whole_rows / sizeof *whole_rows; i++) {
        const whole_row *row = &whole_rows[i];
        begin_row(t, row->label, sample_kinds[row->value].unit);
        for (int k = 0; k < c->methods; k++) {
            double figure = comparison_mean(c, k, row->value, row->from, row->to);
            if (!isnan(figure)) {
                table_set(t, FIRST + k, k ? "%.4g %-6s" : "%.4g", figure, "");
            }
        }
    }
}

static void add_times(table *t, const comparison *c)
{
    double first = comparison_quantile(c, 0, SAMPLE_US, 0.5);
    begin_row(t, "CPU time of a step, median", "us");
    for (int k = 0; k < c->methods; k++) {
        double us = comparison_quantile(c, k, SAMPLE_US, 0.5), ratio = us / first;
        if (k && isfinite(ratio)) {
            table_set(t, FIRST + k, "%.1f %.*f x", us, ratio < 10 ? 2 : ratio < 100 ? 1 : 0, ratio);
        } else if (isfinite(us)) {
            table_set(t, FIRST + k, "%.1f", us);
        }
    }
    begin_row(t, "99 % below", "us");
    for (int k = 0; k < c->methods; k++) {
        double us = comparison_quantile(c, k, SAMPLE_US, 0.99);
        if (isfinite(us)) {
            table_set(t, FIRST + k, k ? "%.1f %-6s" : "%.1f", us, "");
        }
    }
}

static sprag_strategy worst_strategy(const comparison *c, int method)
{
    sprag_strategy worst = SPRAG_STRATEGY_NONE;
    for (long i = 0; i < c->states; i++) {
        sprag_strategy used = comparison_sample(c, i, method)->strategy;
        worst = used > worst ? used : worst;
    }
    return worst;
}

static void add_strategies(table *t, const comparison *c)
{
    begin_row(t, "worst strategy", "");
    for (int k = 0; k < c->methods; k++) {
        if (c->method[k].method->ours) {
            table_set(t, FIRST + k, "%s", sprag_strategy_name(worst_strategy(c, k)));
        }
    }
}

static void add_outcomes(table *t, const comparison *c)
{
    static const sample_outcome lost[] = {SAMPLE_HUNG, SAMPLE_DIED};
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++) {
        long all = 0;
        for (int k = 0; k < c->methods; k++) {
            all += comparison_count(c, k, lost[i]);
        }
        if (all > 0) {
            begin_row(t, lost[i] == SAMPLE_HUNG ? "states that hung" : "states that died", "");
            for (int k = 0; k < c->methods; k++) {
                table_set(t, FIRST + k, "%ld", comparison_count(c, k, lost[i]));
            }
        }
    }
}

// The first state from one on, in steps of 1 or -1, that a child has described. NULL: none.
static const sample_state *first_taken(const comparison *c, long from, long way)
{
    for (long i = from; i >= 0 && i < c->states; i += way) {
        if (comparison_is_taken(c, i)) {
            return &c->state[i];
        }
    }
    return NULL;
}

static void print_head(const comparison *c)
{
    for (char **word = c->command; *word; word++) {
        printf("%s%s", word == c->command ? "" : " ", *word);
    }
    const sample_state *last = &c->state[c->states - 1];
    if (c->whole) {
        printf(": whole runs of %ld steps of which one in %d is measured, up to %g s\n\n",
               last->step + 1, c->every, last->time + last->length);
        return;
    }
    printf(": %ld states of a run under %s, one in %d steps, up to %g s", c->states, c->under,
           c->every, last->time + last->length);
    const sample_state *first = first_taken(c, 0, 1);
    last = first_taken(c, c->states - 1, -1);
    if (first) {
        printf("; %d bodies and %d contacts in the first, %d and %d in the last", first->bodies,
               first->contacts, last->bodies, last->contacts);
    }
    fputs("\n\n", stdout);
}

static void print_legend(const comparison *c)
{
    if (c->whole) {
        printf(
            "%s0: the right value. Largest values of the run, or means. better, worse, same: than "
            "%s;\nwithin 10 %% is the same. Runs drift apart: they show what a method does in the "
            "long run, not\nin the same state. Times: the shorter of two runs.\n",
            table_is_markdown() ? "\n" : "", c->method[0].name);
        return;
    }
    printf("%s0, <= 1: the right value. Each method takes one step from each of the states of the "
           "run.\n"
           "Depths: after this step. Largest values of all states, means, sums (energy made) or "
           "medians\n(residual). better, worse, same: than %s; within 10 %% is the same.\n",
           table_is_markdown() ? "\n" : "", c->method[0].name);
}

void in_place_print(const comparison *c)
{
    table t = {.left = 2, .fixed = FIRST};
    begin_row(&t, "", "");
    table_set(&t, RIGHT, "right");
    for (int k = 0; k < c->methods; k++) {
        table_set(&t, FIRST + k, k ? "%s %-6s" : "%s", c->method[k].name, "");
    }
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        if (is_known(c, shown[i])) {
            add_figure(&t, c, shown[i]);
        }
    }
    if (c->whole) {
        add_whole(&t, c);
    }
    add_strategies(&t, c);
    add_outcomes(&t, c);
    add_times(&t, c);
    print_head(c);
    table_print(&t, stdout);
    putchar('\n');
    print_legend(c);
}
