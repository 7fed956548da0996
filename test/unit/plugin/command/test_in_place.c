// The samples of a comparison in place: rows as a program writes them, the figures made of them,
// the table, and the search for stock's best parameters.
#define _GNU_SOURCE 1
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "in_place_print.h"
#include "judge.h"
#include "method.h"
#include "suite.h"
#include "table.h"
#include "tune.h"

enum { STATES = 4, US = SAMPLE_US };

static comparison c;
static char *words[] = {"./program", "--fast", NULL};

static void add_method(const char *name, const char *choice)
{
    c.method[c.methods].method = method_find(name, strlen(name));
    ck_assert_ptr_nonnull(c.method[c.methods].method);
    strcpy(c.method[c.methods++].name, choice);
}

static void begin(bool whole)
{
    c = (comparison){.command = words, .options = "", .under = "ode", .every = 10, .whole = whole};
    add_method("ode-step", "ode-step");
    add_method("ode-quick", "ode-quick:50");
    add_method("stribeck", "stribeck");
}

// Reads rows, each of one method; the last one lacks its end. of_all: as of comparison_read.
static void read_rows(const sample_state *state, const sample *s, const int *choice, int count,
                      int of_all)
{
    char name[] = "/tmp/sprag_rows_XXXXXX", row[SAMPLE_ROW_MAX];
    int descriptor = mkstemp(name);
    FILE *file = fdopen(descriptor, "w");
    ck_assert(file && fputs("plan\n", file) >= 0);
    for (int i = 0; i < count; i++) {
        sample_print(row, &state[i], choice[i], &s[i]);
        fputs(row, file);
    }
    fflush(file);
    long end = ftell(file);
    fputs("12 1", file);
    fflush(file);
    ck_assert_int_eq(comparison_read(&c, name, 5, of_all), end);
    ck_assert_int_eq(comparison_read(&c, name, end, of_all), end);
    ck_assert_int_eq(comparison_read(&c, "/nonexistent", 7, of_all), 7);
    fclose(file);
    unlink(name);
}

static sample sample_of(double value, double us)
{
    sample s = {.outcome = SAMPLE_TAKEN, .strategy = SPRAG_STRATEGY_NONE};
    for (int v = 0; v < SAMPLE_VALUES; v++) {
        s.value[v] = NAN;
    }
    s.value[SAMPLE_DEPTH_LARGEST] = s.value[SAMPLE_DEPTH_MEAN] = value;
    s.value[SAMPLE_ENERGY_MADE] = s.value[SAMPLE_RESIDUAL] = s.value[SAMPLE_CREEP] = value;
    s.value[SAMPLE_US] = us;
    return s;
}

// Four states: two worlds, of which the last state of the second comes before that of the first.
// Our method is missing from the first state, has hung in the second and died in the third.
static void fill(void)
{
    static const double depth[STATES][3] = {{1, 4, 0}, {2, 8, 0}, {8, 0, 0}, {5, 4, 3}};
    sample_state state[3 * STATES];
    sample s[3 * STATES];
    int choice[3 * STATES], rows = 0;
    begin(false);
    for (int i = 0; i < STATES; i++) {
        for (int k = 0; k < 3; k++) {
            if (i == 0 && k == 2) {
                continue;
            }
            state[rows] = (sample_state){.process = 7,
                                         .world = i == 2 ? 2 : 1,
                                         .step = 10 * i,
                                         .time = 0.1 * i,
                                         .length = 0.01,
                                         .bodies = 3 + i,
                                         .contacts = 12 + i,
                                         .joint_rows = 5};
            s[rows] = sample_of(depth[i][k], 10 * (k + 1) + i);
            if (k == 2 && i < 3) {
                s[rows] = sample_of(NAN, NAN);
                s[rows].outcome = i == 1 ? SAMPLE_HUNG : SAMPLE_DIED;
            }
            s[rows].strategy = k == 2 && i == 3 ? SPRAG_STRATEGY_NEWTON : SPRAG_STRATEGY_NONE;
            s[rows].value[SAMPLE_JOINT_GAP] = k == 0 ? 0.25 : NAN;
            s[rows].value[SAMPLE_CONE] = 0.5 + k;
            choice[rows++] = k;
        }
    }
    read_rows(state, s, choice, rows, -1);
    c.exit_code = 0;
}

START_TEST(figures_are_made_of_all_states)
{
    fill();
    ck_assert_int_eq(c.states, STATES);
    ck_assert_int_eq(c.state[3].bodies, 6);
    ck_assert_int_eq(comparison_sample(&c, 0, 2)->outcome, SAMPLE_NO_FORK);
    ck_assert_double_nan(comparison_sample(&c, 0, 2)->value[SAMPLE_US]);
    ck_assert_double_eq(comparison_sample(&c, 2, 1)->value[SAMPLE_US], 22);
    // The worst, the mean, the sum, the median, and the mean of each world's last.
    ck_assert_double_eq(comparison_figure(&c, 0, SAMPLE_DEPTH_LARGEST), 8);
    ck_assert_double_eq(comparison_figure(&c, 0, SAMPLE_DEPTH_MEAN), 4);
    ck_assert_double_eq(comparison_figure(&c, 0, SAMPLE_ENERGY_MADE), 16);
    ck_assert_double_eq(comparison_figure(&c, 0, SAMPLE_RESIDUAL), 5);
    ck_assert_double_eq(comparison_figure(&c, 0, SAMPLE_CREEP), 6.5);
    ck_assert_double_eq(comparison_figure(&c, 2, SAMPLE_CREEP), 3);
    ck_assert_double_eq(comparison_figure(&c, 2, SAMPLE_DEPTH_MEAN), 3);
    ck_assert_double_nan(comparison_figure(&c, 2, SAMPLE_JOINT_GAP));
    ck_assert_double_nan(comparison_figure(&c, 0, SAMPLE_SLIP));
    ck_assert_double_eq(comparison_quantile(&c, 0, SAMPLE_RESIDUAL, 0), 1);
    ck_assert_double_eq(comparison_quantile(&c, 0, SAMPLE_RESIDUAL, 0.25), 2);
    ck_assert_double_eq(comparison_quantile(&c, 0, SAMPLE_RESIDUAL, 0.99), 8);
    ck_assert_double_eq(comparison_quantile(&c, 0, SAMPLE_RESIDUAL, 1), 8);
    ck_assert_double_nan(comparison_quantile(&c, 0, SAMPLE_SLIP, 0.5));
    ck_assert_double_eq(comparison_mean(&c, 0, SAMPLE_DEPTH_MEAN, 0, 0.5), 1.5);
    ck_assert_double_eq(comparison_mean(&c, 0, SAMPLE_DEPTH_MEAN, 0.5, 1), 6.5);
    ck_assert_double_eq(comparison_mean(&c, 2, SAMPLE_DEPTH_MEAN, 0, 1), 3);
    ck_assert_double_nan(comparison_mean(&c, 2, SAMPLE_DEPTH_MEAN, 0, 0.5));
    ck_assert_int_eq(comparison_count(&c, 2, SAMPLE_DIED), 1);
    ck_assert_int_eq(comparison_count(&c, 0, SAMPLE_TAKEN), STATES);
    ck_assert(comparison_is_taken(&c, 0));
    comparison_free(&c);
}
END_TEST

// Errors are what is above the right value, which is 1 for a cone.
START_TEST(figures_have_verdicts)
{
    fill();
    ck_assert_str_eq(comparison_verdict(&c, 0, SAMPLE_DEPTH_MEAN), "");
    ck_assert_str_eq(comparison_verdict(&c, 1, SAMPLE_DEPTH_MEAN), "same");
    ck_assert_str_eq(comparison_verdict(&c, 2, SAMPLE_DEPTH_MEAN), "better");
    ck_assert_str_eq(comparison_verdict(&c, 2, SAMPLE_ENERGY_MADE), "");
    ck_assert_str_eq(comparison_verdict(&c, 2, SAMPLE_JOINT_GAP), "");
    ck_assert_str_eq(comparison_verdict(&c, 1, SAMPLE_CONE), "worse");
    for (long i = 0; i < c.states; i++) {
        c.sample[i * c.methods + 1].value[SAMPLE_CONE] = 0.1; // both are below 1
    }
    ck_assert_str_eq(comparison_verdict(&c, 1, SAMPLE_CONE), "same");
    comparison_free(&c);
}
END_TEST

static void check_print(const char *expected)
{
    char text[8192];
    FILE *to = tmpfile();
    fflush(stdout);
    int before = dup(STDOUT_FILENO);
    ck_assert(to && dup2(fileno(to), STDOUT_FILENO) >= 0);
    in_place_print(&c);
    fflush(stdout);
    dup2(before, STDOUT_FILENO);
    close(before);
    rewind(to);
    text[fread(text, 1, sizeof text - 1, to)] = '\0';
    fclose(to);
    ck_assert_str_eq(text, expected);
}

START_TEST(states_are_printed)
{
    unsetenv("COLUMNS");
    table_choose_style(false);
    fill();
    for (int k = 0; k < 3; k++) { // nothing is known of the first state
        c.sample[k].outcome = SAMPLE_HUNG;
    }
    check_print(
        "./program --fast: 4 states of a run under ode, one in 10 steps, up to 0.31 s; "
        "4 bodies and 13 contacts in the first, 6 and 15 in the last\n"
        "\n"
        "                                 right  ode-step  ode-quick:50          stribeck\n"
        "largest depth               m        0         8             8 same            3 better\n"
        "mean depth                  m        0         4             4 same            3 better\n"
        "friction / cone, largest          <= 1       0.5           1.5 worse         2.5 worse\n"
        "joint error                 m        0      0.25     not known         not known\n"
        "energy made                 J                 16            16                 3\n"
        "residual                                       5             4                 3\n"
        "creep of these, last tenth  m/s      0       6.5             2 better          3 better\n"
        "worst strategy                                                                   newton\n"
        "states that hung                               1                    1                 2\n"
        "states that died                               0                    0                 1\n"
        "CPU time of a step, median  us              12.0          22.0 1.83 x       33.0 2.75 x\n"
        "99 % below                  us              13.0          23.0              33.0\n"
        "\n"
        "0, <= 1: the right value. Each method takes one step from each of the states of the run.\n"
        "Depths: after this step. Largest values of all states, means, sums (energy made) or "
        "medians\n"
        "(residual). better, worse, same: than ode-step; within 10 % is the same.\n");
    comparison_free(&c);
}
END_TEST

// Rows of whole runs come from processes of their own, a method each, and in two rounds of which
// the shorter time counts.
START_TEST(whole_runs_are_printed)
{
    enum { STEPS = 20 };
    sample_state state[STEPS];
    sample s[STEPS];
    int choice[STEPS] = {0};
    unsetenv("COLUMNS");
    table_choose_style(false);
    begin(true);
    c.methods = 2;
    for (int run = 0; run < 4; run++) {
        int method = run % 2;
        for (int i = 0; i < STEPS; i++) {
            state[i] = (sample_state){run, 1, 10 * i, 0.1 * i, 0.01, 1, 2, 3};
            s[i] = sample_of(0.5, run < 2 ? 100 : 70 + 900 * method);
            s[i].value[SAMPLE_ENERGY] = (i + 1) * (method + 1);
            s[i].value[SAMPLE_SPEED] = i;
            s[i].value[SAMPLE_DEPTH_MEAN] = 100 + i;
        }
        read_rows(state, s, choice, STEPS, method);
    }
    ck_assert_int_eq(c.states, STEPS);
    check_print("./program --fast: whole runs of 191 steps of which one in 10 is measured, up to "
                "1.91 s\n"
                "\n"
                "                                 right  ode-step  ode-quick:50\n"
                "largest depth               m        0       0.5           0.5 same\n"
                "mean depth                  m        0       110           110 same\n"
                "energy made                 J                 10            10\n"
                "residual                                     0.5           0.5\n"
                "creep of these, last tenth  m/s      0       0.5           0.5 same\n"
                "energy, first tenth         J                1.5             3\n"
                "energy, last tenth          J               19.5            39\n"
                "mean speed, last tenth      m/s             18.5          18.5\n"
                "mean depth, last tenth      m              118.5         118.5\n"
                "worst strategy\n"
                "CPU time of a step, median  us              70.0         100.0 1.43 x\n"
                "99 % below                  us              70.0         100.0\n"
                "\n"
                "0: the right value. Largest values of the run, or means. better, worse, same: "
                "than ode-step;\n"
                "within 10 % is the same. Runs drift apart: they show what a method does in the "
                "long run, not\n"
                "in the same state. Times: the shorter of two runs.\n");
    comparison_free(&c);
}
END_TEST

// More states than there is room for at first, and rows that are none.
START_TEST(many_states_keep_their_rows)
{
    enum { MANY = 300 };
    static sample_state state[MANY + 2];
    static sample s[MANY + 2];
    static int choice[MANY + 2];
    begin(false);
    for (int i = 0; i < MANY + 2; i++) {
        state[i] = (sample_state){1, 1, i, i, 1, 0, 0, 0};
        s[i] = sample_of(i, i);
        choice[i] = 1;
    }
    choice[MANY] = -1;
    choice[MANY + 1] = 3; // methods are 0 to 2
    read_rows(state, s, choice, MANY + 2, -1);
    ck_assert_int_eq(c.states, MANY);
    for (long i = 0; i < MANY; i++) {
        ck_assert_double_eq(comparison_sample(&c, i, 1)->value[SAMPLE_US], (double)i);
        ck_assert(comparison_is_taken(&c, i));
        ck_assert_int_eq(comparison_sample(&c, i, 2)->outcome, SAMPLE_NO_FORK);
    }
    // Of late rows, those of the last 256 states find theirs.
    for (int i = 0; i < 2; i++) {
        state[i] = c.state[i ? MANY - 256 : MANY - 257];
        choice[i] = 2;
    }
    read_rows(state, s, choice, 1, -1);
    ck_assert_int_eq(c.states, MANY + 1);
    state[0] = c.state[MANY + 1 - 256];
    read_rows(state, s, choice, 1, -1);
    ck_assert_int_eq(c.states, MANY + 1);
    comparison_free(&c);
}
END_TEST

// ---- stock's best parameters

static bool has_method(const char *name)
{
    for (int k = 0; k < c.methods; k++) {
        if (!strcmp(c.method[k].name, name)) {
            return true;
        }
    }
    return false;
}

static void tune_states(const double error[], const double us[], int last)
{
    begin(false);
    ck_assert(tune_add(&c));
    c.states = 1;
    c.state = calloc(1, sizeof *c.state);
    c.sample = calloc((size_t)c.methods, sizeof *c.sample);
    for (int k = 0; k < c.methods; k++) {
        int i = k < 3 ? 0 : k < 3 + last ? k - 2 : last + 1;
        c.sample[k] = sample_of(NAN, us[i]);
        c.sample[k].value[SAMPLE_DEPTH_MEAN] = error[i];
        c.sample[k].value[SAMPLE_APPROACH] = error[i];
        c.sample[k].value[SAMPLE_CONE] = i == 4 ? 100 : 0.5;
    }
    c.sample[3 + 4].outcome = SAMPLE_HUNG;
}

// All candidates there are: eight numbers of iterations and dWorldStep, by four ERPs and CFMs. The
// least product of errors of those as fast as the last method wins.
START_TEST(the_best_fast_candidate_is_kept)
{
    //                       the user's, then the candidates, the rest slow
    const double error[] = {1, 0.9, 0.5, 0.01, 0.1, 0.001, 1e-6},
                 us[] = {10, 9, 10.9, 11.1, 9, 9, 100};
    tune_states(error, us, 5);
    ck_assert_int_eq(c.methods, 3 + 9 * 16);
    ck_assert(has_method("ode-quick:10") &&
              has_method("ode-quick:1280,ode.erp=0.8,ode.cfm=0.0001"));
    ck_assert(has_method("ode-step") && has_method("ode-step,ode.cfm=1e-09"));
    ck_assert(has_method("ode-step,ode.erp=0.05") && !has_method("ode-quick:0"));
    ck_assert_str_eq(c.method[3].method->name, "ode-quick");
    ck_assert_str_eq(c.method[c.methods - 1].method->name, "ode-step");
    ck_assert_str_eq(c.method[4].name, "ode-quick:10,ode.cfm=1e-09");
    tune_keep_best(&c, 3);
    ck_assert_int_eq(c.methods, 4);
    ck_assert_str_eq(c.method[3].name, "tuned");
    ck_assert_double_eq(comparison_sample(&c, 0, 3)->value[SAMPLE_DEPTH_MEAN], 0.5);
    ck_assert_str_eq(c.method[2].name, "stribeck");
    comparison_free(&c);
}
END_TEST

START_TEST(no_candidate_is_kept_if_all_are_slow)
{
    const double error[] = {1, 0.1}, us[] = {10, 100};
    tune_states(error, us, 0);
    tune_keep_best(&c, 3);
    ck_assert_int_eq(c.methods, 3);
    c.methods = PLAN_CHOICES_MAX - 9 * 16;
    ck_assert(tune_add(&c));
    c.methods = PLAN_CHOICES_MAX - 9 * 16 + 1;
    ck_assert(!tune_add(&c));
    comparison_free(&c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("in place");
    ADD_TESTS(suite, "all", {figures_are_made_of_all_states, 1}, {figures_have_verdicts, 1},
              {states_are_printed, 1}, {whole_runs_are_printed, 1},
              {many_states_keep_their_rows, 1}, {the_best_fast_candidate_is_kept, 1},
              {no_candidate_is_kept_if_all_are_slow, 1});
    return run_suite(suite);
}
