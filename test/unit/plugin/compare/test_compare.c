// Comparison in place of programs (host.c, watched.c), run as children: the program must not
// notice, and what happens to the children must be told.
#define _GNU_SOURCE 1
#include <check.h>
#include <jansson.h>
#include <math.h>

#include "sample.h"
#include "shell.h"

#define COMPARE PROGRAM_SPRAG_COMMAND " compare --json states.json "
#define HOST " -- " PROGRAM_HOST " "
#define WATCHED " -- " PROGRAM_WATCHED " "

static json_t *read_json(void)
{
    json_error_t error;
    json_t *root = json_load_file("states.json", 0, &error);
    ck_assert_msg(root != NULL, "%s", error.text);
    return root;
}

static json_t *method_of(json_t *root, size_t i)
{
    return json_array_get(json_object_get(root, "methods"), i);
}

static json_t *values_of(json_t *root, size_t method, const char *name)
{
    return json_object_get(json_object_get(method_of(root, method), "values"), name);
}

static long count_outcomes(json_t *root, size_t method, const char *name)
{
    size_t i;
    json_t *word;
    long count = 0;
    json_array_foreach(json_object_get(method_of(root, method), "outcome"), i, word)
    {
        count += strcmp(json_string_value(word), name) == 0;
    }
    return count;
}

static double figure_of(json_t *root, size_t method, const char *name)
{
    json_t *figures = json_object_get(method_of(root, method), "figures");
    return json_number_value(json_object_get(json_object_get(figures, name), "value"));
}

static size_t states_in(json_t *root)
{
    return json_array_size(json_object_get(json_object_get(root, "states"), "step"));
}

// ---- the program does not notice

START_TEST(leaves_the_bits_of_the_program)
{
    static const char *const modes[] = {"",      "chain", "random", "callbacks",
                                        "again", "late",  "dlsym"};
    static const char *const steppers[] = {"step", "quick"};
    run plain = sh(PROGRAM_HOST " %s 20 %s", steppers[_i % 2], modes[_i / 2]);
    run compared =
        sh(COMPARE "--every 10 -m ode-step,ode-quick:100,stribeck,advance,ess" HOST "%s 20 %s",
           steppers[_i % 2], modes[_i / 2]);
    ck_assert_fine(compared);
    ck_assert_msg(starts_with(compared.out, plain.out), "%s", compared.out);
    json_t *root = read_json();
    for (size_t k = 0; k < 5; k++) {
        ck_assert_int_eq(count_outcomes(root, k, "taken"), (long)states_in(root));
    }
    json_decref(root);
}
END_TEST

// Under a method of sprag's, whose memory of forces the children must not spoil. In a pool of
// threads stock's own runs differ from each other, and sprag's do not.
START_TEST(leaves_the_bits_under_our_method)
{
    static const char *const modes[] = {"", "pool"};
    run plain =
        sh(PROGRAM_SPRAG_COMMAND " exec -m stribeck " PROGRAM_HOST " step 40 %s", modes[_i]);
    run compared = sh(COMPARE "--under stribeck --every 8" HOST "step 40 %s", modes[_i]);
    ck_assert_fine(compared);
    ck_assert(starts_with(compared.out, plain.out));
}
END_TEST

START_TEST(leaves_files_pipes_and_output)
{
    run plain = sh(PROGRAM_WATCHED " 40 write");
    run compared = sh(COMPARE "--every 5" WATCHED "40 write");
    ck_assert_fine(compared);
    ck_assert_msg(starts_with(compared.out, plain.out), "%s", compared.out);
}
END_TEST

START_TEST(leaves_children_and_their_signals)
{
    run plain = sh(PROGRAM_WATCHED " 60 child");
    run compared = sh(COMPARE "--every 5" WATCHED "60 child");
    ck_assert_fine(compared);
    ck_assert_ptr_nonnull(strstr(plain.out, "own 3\nhandled 3"));
    ck_assert_msg(starts_with(compared.out, plain.out), "%s", compared.out);
}
END_TEST

START_TEST(writes_no_statistics_of_children)
{
    sh("SPRAG_STATS=stats " COMPARE "--every 2" WATCHED "20");
    FILE *stats = fopen("stats", "r");
    ck_assert_ptr_nonnull(stats);
    int lines = 0;
    for (int c; (c = fgetc(stats)) != EOF;) {
        lines += c == '\n';
    }
    fclose(stats);
    ck_assert_int_eq(lines, 21);
}
END_TEST

// No step of a child is in the recording, and the file is where the command ran.
START_TEST(records_the_run_of_the_program)
{
    run plain = sh(PROGRAM_HOST " quick 40");
    run r =
        sh(COMPARE "-q --every 5 --record run.sprec -m ode,stribeck -- "
                   "sh -c 'mkdir -p there && cd there && exec %s quick 40' && %s replay run.sprec",
           PROGRAM_HOST, PROGRAM_SPRAG_COMMAND);
    ck_assert_fine(r);
    ck_assert_msg(starts_with(r.out, plain.out), "%s", r.out);
    ck_assert_ptr_nonnull(strstr(r.out, "\n40 steps: the same bits\n"));
}
END_TEST

// ---- children in trouble

START_TEST(tells_what_became_of_children)
{
    static const struct {
        const char *mode, *outcome, *row;
        long least;      // children
        double patience; // s: all of it passes for each child that hangs
    } cases[] = {{"hang", "hung", "states that hung", 3, 0.05},
                 {"locked", "hung", "states that hung", 3, 0.05},
                 {"die", "died", "states that died", 5, 10},
                 {"exit", "died", "states that died", 5, 10}};
    run plain = sh(PROGRAM_WATCHED " 50 %s", cases[_i].mode);
    run r = sh(COMPARE "--every 10 --patience %g -m ode,stribeck" WATCHED "50 %s",
               cases[_i].patience, cases[_i].mode);
    ck_assert_int_eq(r.status, 1);
    ck_assert_ptr_nonnull(strstr(r.err, "nothing was compared: every child hung or died"));
    ck_assert_ptr_null(strstr(r.out, "0 bodies"));
    ck_assert(starts_with(r.out, plain.out));
    ck_assert_ptr_nonnull(strstr(r.out, cases[_i].row));
    ck_assert_ptr_null(strstr(r.out, "handler of the program ran"));
    ck_assert_int_ne(access("exited", F_OK), 0);
    json_t *root = read_json();
    for (size_t k = 0; k < 2; k++) {
        ck_assert_int_eq(count_outcomes(root, k, cases[_i].outcome), cases[_i].least);
        ck_assert_int_eq(count_outcomes(root, k, "taken"), 0);
    }
    json_decref(root);
}
END_TEST

START_TEST(says_that_a_program_cannot_fork)
{
    run plain = sh(PROGRAM_WATCHED " 30 nofork");
    run r = sh(COMPARE WATCHED "30 nofork");
    ck_assert_int_eq(r.status, 1);
    ck_assert_str_eq(r.out, plain.out);
    ck_assert_ptr_nonnull(strstr(r.err, "this program cannot fork (Operation not permitted)"));
    ck_assert_ptr_nonnull(strstr(r.err, "nothing was compared"));
}
END_TEST

// ---- programs without an end, and without a way in

START_TEST(ends_the_program_after_its_steps)
{
    run r = sh(COMPARE "--steps 30" WATCHED "0 endless");
    ck_assert_fine(r);
    ck_assert_msg(starts_with(r.out, "ended 31\n"), "%s", r.out);
    json_t *root = read_json();
    ck_assert_int_eq((int)states_in(root), 3);
    json_decref(root);
    r = sh(COMPARE "--seconds 0.2 --record run.sprec" HOST "step 1000000 && " PROGRAM_SPRAG_COMMAND
                   " replay run.sprec");
    ck_assert_fine(r);
    ck_assert_ptr_nonnull(strstr(r.out, "\n40 steps: the same bits\n"));
}
END_TEST

// The program calls ODE's own dWorldStep: the other stepper cannot take over, but children can.
START_TEST(refuses_a_stock_stepper_that_it_cannot_force)
{
    run r = sh(PROGRAM_SPRAG_COMMAND " exec -m ode-quick " PROGRAM_HOST " step 20 dlsym");
    ck_assert_int_ne(r.status, 0);
    ck_assert_ptr_nonnull(strstr(r.err, "method=ode-quick is not possible in this program"));
    r = sh(COMPARE "--under ode-quick" HOST "step 20 dlsym");
    ck_assert_int_eq(r.status, 1);
    r = sh(COMPARE "--whole -m ode,stribeck" HOST "step 20 dlsym");
    ck_assert_int_eq(r.status, 1);
    ck_assert_ptr_nonnull(strstr(r.err, "a handle of its own, as Python's ctypes does"));
    ck_assert_fine(sh(PROGRAM_SPRAG_COMMAND " exec -m ode-step " PROGRAM_HOST " step 20 dlsym"));
}
END_TEST

// ---- values

// The known answers for a stack at rest: nothing slips, the cone holds, forces explain velocities.
// Each method steps from states of another run, so that it knows no forces: exactly.
START_TEST(measures_with_one_yardstick)
{
    run r = sh(COMPARE "--every 50 -m ode-step,ode-quick,ode-quick:1000,stribeck,advance "
                       "-o effort=exact" WATCHED "200");
    ck_assert_fine(r);
    json_t *root = read_json();
    ck_assert_int_eq((int)json_integer_value(json_object_get(root, "schema")), 1);
    ck_assert_int_eq((int)states_in(root), 4);
    for (size_t k = 0; k < 5; k++) {
        ck_assert_double_lt(figure_of(root, k, "momentum"), 1e-6);
        ck_assert_double_gt(figure_of(root, k, "us"), 0);
        ck_assert_int_eq((int)json_array_size(values_of(root, k, "slip")), 4);
        ck_assert(json_is_null(json_array_get(values_of(root, k, "joint_gap"), 0)));
    }
    for (size_t k = 3; k < 5; k++) {
        ck_assert_double_lt(figure_of(root, k, "cone"), 1 + 1e-6);
        ck_assert_double_lt(figure_of(root, k, "slip"), 1e-5);
    }
    // More iterations of QuickStep cost more and leave less.
    ck_assert_double_gt(figure_of(root, 2, "us"), 1.5 * figure_of(root, 1, "us"));
    ck_assert_double_lt(figure_of(root, 2, "approach"), 0.5 * figure_of(root, 1, "approach"));
    json_decref(root);
}
END_TEST

// A child starts from the forces that its method has found one step before: while the pile comes to
// rest it needs no more iterations than one that knows those of all steps.
START_TEST(children_start_warm)
{
    double last[2]; // of the only child, and of one after each step
    for (int k = 0; k < 2; k++) {
        ck_assert_fine(sh(COMPARE "--every %d -m stribeck" HOST "step 30", k ? 1 : 30));
        json_t *root = read_json(), *iterations = values_of(root, 0, "iterations");
        size_t count = json_array_size(iterations);
        ck_assert_uint_eq(count, k ? 30 : 1);
        ck_assert_int_eq(count_outcomes(root, 0, "taken"), (long)count); // from the first step on
        last[k] = json_number_value(json_array_get(iterations, count - 1));
        json_decref(root);
    }
    ck_assert_double_le(last[0], 1.5 * last[1]); // 5 of 6; from no forces 17
}
END_TEST

// Measuring whole runs leaves their bits.
START_TEST(compares_whole_runs)
{
    run stock = sh(PROGRAM_HOST " quick 40"), ours;
    char both[4 * OUTPUT_MAX];
    ours = sh(PROGRAM_SPRAG_COMMAND " exec " PROGRAM_HOST " quick 40");
    snprintf(both, sizeof both, "%s%s%s%s", stock.out, ours.out, ours.out, stock.out);
    run r = sh(COMPARE "--whole --every 4 -m ode,stribeck" HOST "quick 40");
    ck_assert_fine(r);
    ck_assert_msg(starts_with(r.out, both), "%s", r.out);
    json_t *root = read_json();
    ck_assert_str_eq(json_string_value(json_object_get(root, "kind")), "whole");
    ck_assert_int_eq((int)states_in(root), 10);
    for (size_t k = 0; k < 2; k++) {
        ck_assert_int_eq(count_outcomes(root, k, "taken"), 10);
        ck_assert_double_gt(figure_of(root, k, "us"), 0);
        ck_assert_double_gt(figure_of(root, k, "joint_gap"), 0);
        ck_assert_double_gt(figure_of(root, k, "energy"), 1000);
        ck_assert_double_gt(figure_of(root, k, "resting"), 0);
        ck_assert_double_gt(figure_of(root, k, "creep"), 0);
        ck_assert_double_gt(figure_of(root, k, "residual"), 0);
        ck_assert_double_le(figure_of(root, k, "residual"), 1);
        ck_assert(json_is_null(json_array_get(values_of(root, k, "momentum"), 0)));
    }
    json_decref(root);
    r = sh(COMPARE "--whole -m ode-quick,stribeck -- " PROGRAM_SPRAG_COMMAND
                   " run slope -m ode-quick");
    ck_assert_ptr_nonnull(strstr(r.err, "the program itself steps world 1 by method=ode-quick"));
    root = read_json();
    ck_assert_int_eq(count_outcomes(root, 1, "taken"), 0);
    json_decref(root);
    r = sh(PROGRAM_SPRAG_COMMAND " compare --whole slope --seconds 0.1");
    ck_assert_int_eq(r.status, 0);
    ck_assert_ptr_nonnull(strstr(r.out, "stribeck against ode-step"));
}
END_TEST

// The numbers of an array of JSON, up to its end; NAN: null. Returns their count.
static int read_numbers(const char *from, double *to, int room)
{
    int count = 0;
    for (const char *at = from; *at != ']' && count < room; count++) {
        char *end = NULL;
        bool is_null = strncmp(at, "null", 4) == 0;
        to[count] = is_null ? NAN : strtod(at, &end);
        at = is_null ? at + 4 : end;
        at += *at == ',';
    }
    return count;
}

// The page of whole runs has the residual of every step but the first, of stock too.
START_TEST(plots_the_residual_of_all_methods)
{
    enum { ROOM = 1 << 22, HOST_STEPS = 40 };
    static const char key[] = "\"residual\":[";
    double value[HOST_STEPS + 1], most[2] = {0, 0};
    run r = sh(COMPARE "--whole --report page.html -m ode-quick,stribeck" HOST "quick 40");
    ck_assert_fine(r);
    FILE *file = fopen("page.html", "r");
    char *page = calloc(1, ROOM), *at = page;
    ck_assert(file && page && fread(page, 1, ROOM - 1, file) > 0);
    fclose(file);
    for (int method = 0; method < 2; method++) {
        at = strstr(at, key);
        ck_assert_ptr_nonnull(at);
        at += sizeof key - 1;
        ck_assert_int_eq(read_numbers(at, value, HOST_STEPS + 1), HOST_STEPS);
        ck_assert_double_nan(value[0]);
        for (int i = 1; i < HOST_STEPS; i++) {
            ck_assert_double_ge(value[i], 0);
            most[method] = fmax(most[method], value[i]);
        }
    }
    ck_assert_double_gt(most[0], 10 * most[1]); // QuickStep ends early
    free(page);
}
END_TEST

// Among candidates that are fast enough one is no worse than the defaults.
START_TEST(tunes_stock)
{
    run r = sh(COMPARE "--tune --every 40 -m ode-quick,stribeck" WATCHED "40");
    ck_assert_fine(r);
    ck_assert_ptr_nonnull(strstr(r.out, "Stock's best of 144 at the time of stribeck: ode-"));
    json_t *root = read_json();
    ck_assert_int_eq((int)json_array_size(json_object_get(root, "methods")), 3);
    ck_assert_str_eq(json_string_value(json_object_get(method_of(root, 2), "method")), "tuned");
    ck_assert_double_lt(figure_of(root, 2, "us"), 1.2 * figure_of(root, 1, "us"));
    ck_assert_double_le(figure_of(root, 2, "approach") * figure_of(root, 2, "depth_mean"),
                        figure_of(root, 0, "approach") * figure_of(root, 0, "depth_mean"));
    json_decref(root);
}
END_TEST

START_TEST(tunes_stock_on_a_model)
{
    run r = sh(PROGRAM_SPRAG_COMMAND
               " compare slope --tune --every 100 --seconds 1 -m ode-quick,stribeck");
    ck_assert_int_eq(r.status, 0);
    ck_assert_ptr_nonnull(strstr(r.out, "Stock's best of 144 at the time of stribeck: ode-"));
    ck_assert_ptr_nonnull(strstr(r.out, "run slope -m ode-step: 1 state"));
    ck_assert_ptr_null(strstr(r.out, "drift")); // what the model itself prints
}
END_TEST

START_TEST(refuses_bad_arguments)
{
    static const char *const cases[][2] = {
        {"--every 0 -- /bin/true", "--every: \"0\" is not a whole number from 1"},
        {"--steps x -- /bin/true", "--steps: \"x\" is not a whole number"},
        {"-m nothing -- /bin/true", "no method is called \"nothing\""},
        {"--under nothing -- /bin/true", "no method is called \"nothing\""},
        {"-m ode-step:5 -- /bin/true", "only ode-quick takes a number"},
        {"slope -- /bin/true", "models and a program cannot be compared together"},
        {"--whole --tune -- /bin/true", "--tune compares steps from the same states"},
        {"--tune nothing", "no model is called \"nothing\""},
        {"--tune slope stack", "--tune takes one model, or -- and a program"},
        {"--", "the name of a program is missing"},
        {"--steps 2 --", "the name of a program is missing"},
        {"--json -- /bin/true", "--json needs a value"},
        {"--every 2 --report -- /bin/true", "--report needs a value"},
        {"--whole --record run.sprec -- /bin/true", "--record takes one run"},
        {"./program", "a program: sprag exec PROGRAM, or sprag compare -- PROGRAM"},
        {"-- ./not_there", "is not found"},
        {"-- /bin/true", "nothing was compared"},
    };
    run r = sh(PROGRAM_SPRAG_COMMAND " compare %s", cases[_i][0]);
    ck_assert_int_ne(r.status, 0);
    ck_assert_msg(strstr(r.err, cases[_i][1]) != NULL, "%s: %s", cases[_i][0], r.err);
}
END_TEST

// ---- the terminal

#define MODEL                                                                                      \
    PROGRAM_SPRAG_COMMAND " compare gripper --seconds 2 -m ode-quick,ode-quick:100,stribeck"
#define ON_A_TERMINAL "script -qec '%s' /dev/null"

static size_t longest_line(const char *text)
{
    size_t most = 0;
    for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
        most = (size_t)(end - text) > most ? (size_t)(end - text) : most;
    }
    return most;
}

// A narrow table has its methods below one another, each with the names of the measures.
START_TEST(tables_are_as_wide_as_columns_says)
{
    static const char legend[] = "exact: the right answer";
    run wide = sh(MODEL), narrow = sh("COLUMNS=60 " MODEL);
    ck_assert_fine(narrow);
    ck_assert_ptr_nonnull(strstr(wide.out, legend));
    *strstr(wide.out, "LCP errors") = '\0';
    *strstr(narrow.out, "ode-quick:100 against") = '\0';
    ck_assert_uint_gt(longest_line(wide.out), 60);
    ck_assert_uint_le(longest_line(strstr(narrow.out, "\n\n")), 60);
    ck_assert_ptr_nonnull(strstr(strstr(narrow.out, "LCP errors") + 1, "LCP errors"));
}
END_TEST

START_TEST(the_method_that_others_are_judged_by_gets_no_verdict)
{
    run r = sh(PROGRAM_SPRAG_COMMAND " compare stack --seconds 1 -m ode-step,stribeck --json");
    json_t *root = json_loads(r.out, 0, NULL), *methods;
    ck_assert_int_eq((int)json_integer_value(json_object_get(root, "schema")), 1);
    methods = json_object_get(json_array_get(json_object_get(root, "models"), 0), "methods");
    for (size_t k = 0; k < 2; k++) {
        json_t *measures = json_object_get(json_array_get(methods, k), "measures");
        json_t *verdict = json_object_get(json_array_get(measures, 0), "verdict");
        ck_assert(k ? json_is_string(verdict) : json_is_null(verdict));
    }
    json_decref(root);
}
END_TEST

START_TEST(prints_markdown)
{
    run r = sh(MODEL " --markdown");
    ck_assert_fine(r);
    ck_assert_ptr_nonnull(strstr(r.out, "\n|---|---|---:|---:|---:|---:|\n"));
    ck_assert_ptr_nonnull(strstr(r.out, "\n| LCP errors | "));
    r = sh(COMPARE "--markdown -m ode,stribeck" WATCHED "20");
    ck_assert_ptr_nonnull(strstr(r.out, "\n| CPU time of a step, median | us |"));
}
END_TEST

START_TEST(colours_and_progress_are_for_terminals)
{
    if (system("script -qec true /dev/null >/dev/null 2>&1") != 0) {
        return; // a container without pseudo-terminals
    }
    run piped = sh(MODEL), terminal = sh(ON_A_TERMINAL, MODEL);
    ck_assert_ptr_null(strchr(piped.out, '\033'));
    ck_assert_str_eq(piped.err, "");
    ck_assert_ptr_nonnull(strstr(terminal.out, "\033[32mbetter\033[0m"));
    ck_assert_ptr_nonnull(strstr(terminal.out, "\r\033[Kgripper: ")); // progress
    terminal = sh("NO_COLOR=1 " ON_A_TERMINAL, MODEL);
    ck_assert_ptr_null(strstr(terminal.out, "\033[32m"));
    ck_assert_ptr_nonnull(strstr(terminal.out, "better"));
}
END_TEST

// ---- rows

START_TEST(rows_come_back_as_they_were)
{
    char row[SAMPLE_ROW_MAX];
    sample s = {.outcome = SAMPLE_DIED, .strategy = SPRAG_STRATEGY_NEWTON}, t;
    sample_state state = {12, 3, 99, 0.1 + 0.2, 0.01, 4, 5, 6}, read;
    int choice;
    for (int i = 0; i < SAMPLE_VALUES; i++) {
        s.value[i] = i % 3 ? i / 4.0 : NAN;
    }
    ck_assert_uint_eq(sample_print(row, &state, 2, &s), strlen(row));
    ck_assert(sample_read(row, &read, &choice, &t));
    ck_assert_int_eq(choice, 2);
    ck_assert_int_eq(t.outcome, s.outcome);
    ck_assert_int_eq(t.strategy, s.strategy);
    ck_assert_double_eq(read.time, state.time);
    ck_assert_int_eq(read.joint_rows, 6);
    for (int i = 0; i < SAMPLE_VALUES; i++) {
        ck_assert(i % 3 ? t.value[i] == s.value[i] : isnan(t.value[i]));
    }
    row[strlen(row) / 2] = '\0';
    ck_assert(!sample_read(row, &read, &choice, &t));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("comparison in place");
    ADD_TESTS(suite, "all", {leaves_the_bits_of_the_program, 14},
              {leaves_the_bits_under_our_method, 2}, {leaves_files_pipes_and_output, 1},
              {leaves_children_and_their_signals, 1}, {writes_no_statistics_of_children, 1},
              {records_the_run_of_the_program, 1}, {tells_what_became_of_children, 4},
              {says_that_a_program_cannot_fork, 1}, {ends_the_program_after_its_steps, 1},
              {refuses_a_stock_stepper_that_it_cannot_force, 1}, {measures_with_one_yardstick, 1},
              {children_start_warm, 1}, {compares_whole_runs, 1},
              {plots_the_residual_of_all_methods, 1}, {tunes_stock, 1}, {tunes_stock_on_a_model, 1},
              {refuses_bad_arguments, 17}, {tables_are_as_wide_as_columns_says, 1},
              {the_method_that_others_are_judged_by_gets_no_verdict, 1}, {prints_markdown, 1},
              {colours_and_progress_are_for_terminals, 1}, {rows_come_back_as_they_were, 1});
    return run_in_directory(suite);
}
