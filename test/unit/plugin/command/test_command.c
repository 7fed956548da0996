// `sprag run` and `sprag compare` of models: what is printed is what the JSON of the same run says.
#define _GNU_SOURCE 1
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <ode/ode.h>

#include "cli.h"
#include "suite.h"

enum { TEXT = 1 << 16, CELLS = 16 };

static char text[TEXT];

// The exit code of a command whose words are apart by blanks; its output is in `text`.
static int run(int command(int, char **), const char *line)
{
    char words[256], *word[16];
    int count = 0;
    FILE *to = tmpfile();
    strcpy(words, line);
    for (char *at = strtok(words, " "); at; at = strtok(NULL, " ")) {
        word[count++] = at;
    }
    word[count] = NULL;
    fflush(stdout);
    int before = dup(STDOUT_FILENO);
    ck_assert(to && dup2(fileno(to), STDOUT_FILENO) >= 0);
    optind = 0;
    dInitODE();
    int code = command(count, word);
    dCloseODE();
    fflush(stdout);
    dup2(before, STDOUT_FILENO);
    close(before);
    rewind(to);
    text[fread(text, 1, TEXT - 1, to)] = '\0';
    fclose(to);
    return code;
}

static json_t *methods_of(const char *line, int command(int, char **))
{
    ck_assert_int_eq(run(command, line), 0);
    json_t *root = json_loads(text, 0, NULL);
    ck_assert_ptr_nonnull(root);
    return root;
}

static const json_t *model_in(const json_t *root)
{
    return json_array_get(json_object_get(root, "models"), 0);
}

static const json_t *method_in(const json_t *root, size_t i)
{
    return json_array_get(json_object_get(model_in(root), "methods"), i);
}

static double number(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

// The words of a row behind its label and unit; their count.
static int cells_of(const char *label, const char *unit, char cell[CELLS][32])
{
    char start[128];
    snprintf(start, sizeof start, "\n%s ", label);
    const char *at = strstr(text, start);
    ck_assert_msg(at != NULL, "no row %s: %s", label, text);
    at += strlen(start);
    at += strspn(at, " ");
    ck_assert(strncmp(at, unit, strlen(unit)) == 0);
    at += strlen(unit);
    int count = 0, length = 0;
    for (; *at && *at != '\n'; at += length) {
        at += strspn(at, " ");
        length = (int)strcspn(at, " \n");
        if (length) {
            snprintf(cell[count++], 32, "%.*s", length, at);
        }
    }
    return count;
}

static void check_value(const char *cell, const json_t *measure)
{
    char expected[32];
    snprintf(expected, sizeof expected, "%.3g", number(measure, "value"));
    ck_assert_str_eq(cell, isnan(number(measure, "value")) ? "unknown" : expected);
}

// Words of what is exact: "0 +-0.0001", "up to 0.5", or "3".
static int check_exact(char cell[][32], const json_t *measure)
{
    char expected[32];
    double exact = number(measure, "exact"), good = number(measure, "good_up_to");
    if (isnan(exact) && isnan(good)) {
        return 0;
    }
    if (isnan(exact)) {
        snprintf(expected, sizeof expected, "%.3g", good);
        ck_assert(!strcmp(cell[0], "up") && !strcmp(cell[1], "to"));
        ck_assert_str_eq(cell[2], expected);
        return 3;
    }
    snprintf(expected, sizeof expected, "%.5g", exact);
    ck_assert_str_eq(cell[0], expected);
    if (isnan(good)) {
        return 1;
    }
    snprintf(expected, sizeof expected, "+-%.1g", good);
    ck_assert_str_eq(cell[1], expected);
    return 2;
}

static void check_count(const char *label, const char *expected, int at)
{
    char cell[CELLS][32];
    ck_assert_int_gt(cells_of(label, "", cell), at);
    ck_assert_str_eq(cell[at], expected);
}

static const char *const models[] = {"slope --seconds 1.2", "push --seconds 0.2",
                                     "bounce --seconds 1.1", "legs --seconds 0.1"};

START_TEST(a_run_is_printed_as_its_json)
{
    char line[128], cell[CELLS][32], expected[64];
    const bool ours = _i % 2;
    const char *const method = ours ? "stribeck" : "ode-quick:7";
    snprintf(line, sizeof line, "run %s -m %s --json", models[_i / 2], method);
    json_t *root = methods_of(line, cli_run), *measure;
    const json_t *m = method_in(root, 0), *model = model_in(root);
    size_t i;
    *strstr(line, " --json") = '\0';
    ck_assert_int_eq(run(cli_run, line), 0);
    snprintf(expected, sizeof expected, "\n%g steps of %g s\n", number(m, "steps"),
             number(model, "step"));
    ck_assert_ptr_nonnull(strstr(text, expected));
    json_array_foreach(json_object_get(m, "measures"), i, measure)
    {
        const json_t *good = json_object_get(measure, "good");
        int count = cells_of(json_string_value(json_object_get(measure, "name")),
                             json_string_value(json_object_get(measure, "unit")), cell);
        check_value(cell[0], measure);
        int next = 1 + check_exact(cell + 1, measure);
        ck_assert_int_eq(count, next + !json_is_null(good));
        ck_assert(json_is_null(good) || !strcmp(cell[next], json_is_true(good) ? "good" : "bad"));
        ck_assert(json_is_null(good) || json_is_true(good) == (number(measure, "error") <=
                                                               number(measure, "good_up_to")));
        ck_assert_ptr_null(json_object_get(measure, "verdict"));
    }
    ck_assert(ours == (strstr(text, "fallbacks to ODE") != NULL));
    ck_assert_double_gt(number(m, "us_per_step"), 0);
    ck_assert_double_le(number(m, "us_per_step"), number(m, "us_per_step_p99"));
    if (ours) {
        snprintf(expected, sizeof expected, "%.2f", number(m, "iterations_per_step"));
        check_count("iterations per step", expected, 0);
        check_count("worst strategy", json_string_value(json_object_get(m, "worst_strategy")), 0);
        check_count("fallbacks to ODE", "0", 0);
    }
    check_count("LCP errors", "0", 0);
    json_decref(root);
}
END_TEST

static void check_ratio(const char *time, const char *first, const char *ratio)
{
    double is = atof(ratio), times = atof(time) / atof(first);
    ck_assert_double_eq_tol(is, times, 0.006 + 0.01 * times + 0.06 * (1 + times) / atof(first));
}

START_TEST(a_comparison_is_printed_as_its_json)
{
    static const char *const verdicts[] = {"better", "same", "worse"};
    char line[128], cell[CELLS][32], expected[128];
    int counted[3][3] = {{0}};
    snprintf(line, sizeof line, "compare %s -m ode-step,ode-quick,stribeck --json", models[_i]);
    json_t *root = methods_of(line, cli_compare), *measure;
    size_t i;
    *strstr(line, " --json") = '\0';
    ck_assert_int_eq(run(cli_compare, line), 0);
    ck_assert_str_eq(json_string_value(json_object_get(model_in(root), "reference")), "ode-step");
    json_array_foreach(json_object_get(method_in(root, 0), "measures"), i, measure)
    {
        int count = cells_of(json_string_value(json_object_get(measure, "name")),
                             json_string_value(json_object_get(measure, "unit")), cell);
        int next = check_exact(cell, measure);
        for (size_t k = 0; k < 3; k++) {
            const json_t *mine = json_array_get(json_object_get(method_in(root, k), "measures"), i);
            const char *verdict = json_string_value(json_object_get(mine, "verdict"));
            check_value(cell[next++], mine);
            ck_assert(k > 0 || !verdict);
            if (verdict) {
                ck_assert_str_eq(cell[next++], verdict);
                for (int v = 0; v < 3; v++) {
                    counted[k][v] += !strcmp(verdict, verdicts[v]);
                }
            }
        }
        ck_assert_int_eq(next, count);
    }
    check_count("LCP errors", "0", 2);
    ck_assert_int_eq(cells_of("fallbacks to ODE", "", cell), 1); // ours alone
    // time, time, ratio, "x", time, ratio, "x"
    ck_assert_int_eq(cells_of("time per step", "us", cell), 7);
    check_ratio(cell[1], cell[0], cell[2]);
    check_ratio(cell[4], cell[0], cell[5]);
    for (size_t k = 1; k < 3; k++) {
        snprintf(expected, sizeof expected,
                 "\n%s against ode-step: better in %d, same in %d, worse in %d; ",
                 k == 1 ? "ode-quick" : "stribeck", counted[k][0], counted[k][1], counted[k][2]);
        const char *at = strstr(text, expected);
        ck_assert_msg(at != NULL, "%s in %s", expected, text);
        check_ratio(cell[3 * k - 2], cell[0], at + strlen(expected));
    }
    ck_assert_ptr_nonnull(strstr(text, "x: times that of ode-step\n"));
    ck_assert(!strstr(text, "has to settle") == (_i != 1 && _i != 3));
    json_decref(root);
}
END_TEST

// One method has no one to be compared with.
START_TEST(one_method_gets_no_legend)
{
    ck_assert_int_eq(run(cli_compare, "compare slope --seconds 0.1 -m ode-step"), 0);
    ck_assert(!strstr(text, "times that of") && !strstr(text, "against"));
    ck_assert_int_eq(run(cli_run, "run slope stack"), 2);
    ck_assert_int_eq(run(cli_run, "run slope -m ode,stribeck"), 2);
}
END_TEST

// Half a step is one; less is none.
START_TEST(runs_have_whole_steps)
{
    ck_assert_int_eq(run(cli_run, "run slope --seconds 0.006 --step 0.01"), 0);
    ck_assert_ptr_nonnull(strstr(text, "\n1 steps of 0.01 s\n"));
    ck_assert_int_eq(run(cli_run, "run slope --seconds 0.024 --step 0.01"), 0);
    ck_assert_ptr_nonnull(strstr(text, "\n2 steps of 0.01 s\n"));
    ck_assert_int_eq(run(cli_run, "run slope --seconds 0.004 --step 0.01"), 2);
    ck_assert_int_eq(run(cli_run, "run slope --seconds 1000000 --step 0.01"), 2);
}
END_TEST

// A command that runs itself, which no test here does, would run this program.
int main(int argc, char **argv)
{
    if (argc > 1) {
        fprintf(stderr, "%s takes no arguments\n", argv[0]);
        return EXIT_FAILURE;
    }
    Suite *suite = suite_create("command");
    ADD_TESTS(suite, "all", {a_run_is_printed_as_its_json, 2 * COUNT(models)},
              {a_comparison_is_printed_as_its_json, COUNT(models)}, {one_method_gets_no_legend, 1},
              {runs_have_whole_steps, 1});
    return run_suite_as(suite, CK_FORK);
}
