// Tables as text and as Markdown, and the verdicts in them.
#define _GNU_SOURCE 1 // open_memstream
#include <math.h>
#include <string.h>

#include "judge.h"
#include "suite.h"
#include "table.h"

static void check_print(const table *t, const char *expected)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    table_print(t, to);
    fclose(to);
    ck_assert_str_eq(text, expected);
    free(text);
}

static void choose(const char *columns, bool markdown)
{
    setenv("COLUMNS", columns, 1);
    table_choose_style(markdown);
    unsetenv("COLUMNS");
}

static void fill(table *t)
{
    static const char *const cell[3][4] = {
        {"", "", "first", "second "}, {"a", "kg", "1", "12"}, {"long", "", "", "3.5 x "}};
    *t = (table){.left = 2, .fixed = 2};
    for (int i = 0; i < 3; i++) {
        table_row(t);
        for (int j = 0; j < 4; j++) {
            table_set(t, j, "%s", cell[i][j]);
        }
    }
}

// Columns are two blanks apart; those on the right end where their widest cell ends.
START_TEST(columns_are_as_wide_as_their_cells)
{
    table t;
    fill(&t);
    choose("0", false);
    ck_assert(!table_is_markdown());
    check_print(&t, "          first  second\n"
                    "a     kg      1       12\n"
                    "long              3.5 x\n");
}
END_TEST

// 4 + 2 + 2 + 2 of the fixed columns, and 5 + 2 + 7 of the others: 24 characters hold both.
START_TEST(wide_tables_are_parted)
{
    static const char whole[] = "          first  second\n"
                                "a     kg      1       12\n"
                                "long              3.5 x\n";
    static const char parts[] = "          first\n"
                                "a     kg      1\n"
                                "long\n"
                                "\n"
                                "          second\n"
                                "a     kg       12\n"
                                "long       3.5 x\n";
    table t;
    fill(&t);
    choose("24", false);
    check_print(&t, whole);
    choose("23", false);
    check_print(&t, parts);
    choose("1", false); // a column at least
    check_print(&t, parts);
    t.fixed = 0;
    check_print(&t, whole);
}
END_TEST

START_TEST(markdown_has_a_head)
{
    table t;
    fill(&t);
    choose("10", true);
    ck_assert(table_is_markdown());
    check_print(&t, "|  |  | first | second |\n"
                    "|---|---|---:|---:|\n"
                    "| a | kg | 1 | 12 |\n"
                    "| long |  |  | 3.5 x |\n");
}
END_TEST

// Rows and columns behind the last one are left out.
START_TEST(tables_have_their_room)
{
    table t = {.left = 0};
    table_set(&t, 0, "before the first row");
    ck_assert_int_eq(t.cell[0][0][0], 0);
    for (int i = 0; i < TABLE_ROWS + 3; i++) {
        table_row(&t);
    }
    ck_assert_int_eq(t.rows, TABLE_ROWS);
    table_set(&t, TABLE_COLUMNS, "behind");
    table_set(&t, TABLE_COLUMNS - 1, "%0100d", 1);
    ck_assert_uint_eq(strlen(t.cell[TABLE_ROWS - 1][TABLE_COLUMNS - 1]), TABLE_CELL - 1);
}
END_TEST

// ---- verdicts

// Errors up to `good` are none; within a tenth of the other one they are the same.
START_TEST(errors_are_judged)
{
    static const struct {
        double error, others, good;
        verdict expected;
    } all[] = {
        {1, 2, 0, BETTER},       {2, 1, 0, WORSE},        {1, 1, 0, SAME},      {1.09, 1, 0, SAME},
        {1.11, 1, 0, WORSE},     {0.91, 1, 0, SAME},      {0.89, 1, 0, BETTER}, {1, 2, 2, SAME},
        {2, 1, 2, SAME},         {1, 2, 1.5, BETTER},     {2, 1, 1.5, WORSE},   {0, 0, 0, SAME},
        {NAN, 1, 9, NO_VERDICT}, {1, NAN, 9, NO_VERDICT}, {0, 1, 0, BETTER},    {1, 0, 0, WORSE}};
    for (int i = 0; i < COUNT(all); i++) {
        ck_assert_int_eq(judge_errors(all[i].error, all[i].others, all[i].good), all[i].expected);
    }
    ck_assert_str_eq(verdict_name(NO_VERDICT), "");
    ck_assert_str_eq(verdict_name(BETTER), "better");
    ck_assert_str_eq(verdict_name(SAME), "same");
    ck_assert_str_eq(verdict_name(WORSE), "worse");
}
END_TEST

static trial trial_of(double value, double exact, double good)
{
    return (trial){.measures = 1,
                   .measure[0] = {.name = "m", .value = value, .exact = exact, .good = good}};
}

START_TEST(trials_are_judged_by_their_distance)
{
    trial reference = trial_of(5, 2, 0.5), t = trial_of(-2, 2, 0.1), unknown = trial_of(1, 2, NAN);
    trial ended = t, better = trial_of(1.7, 2, 0.5);
    ck_assert_double_eq(measure_error(&t.measure[0]), 4);
    ck_assert_double_eq(measure_error(&(sprag_measure){.value = -3, .exact = NAN}), 3);
    ck_assert(measure_is_good(&better.measure[0]) && !measure_is_good(&t.measure[0]));
    ck_assert(measure_is_good(&(sprag_measure){.value = 1.5, .exact = 1, .good = 0.5}));
    ck_assert_int_eq(trial_judge(&reference, &t, 0), WORSE);
    ck_assert_int_eq(trial_judge(&t, &reference, 0), BETTER);
    ck_assert_int_eq(trial_judge(&reference, &better, 0), BETTER);
    ck_assert_int_eq(trial_judge(&reference, &reference, 0), NO_VERDICT);
    ck_assert_int_eq(trial_judge(&reference, &t, 1), NO_VERDICT);
    ck_assert_int_eq(trial_judge(&reference, &unknown, 0), NO_VERDICT);
    ended.failed = true;
    ck_assert(!trial_finished(&ended) && trial_finished(&t));
    ck_assert_int_eq(trial_judge(&reference, &ended, 0), WORSE);
    ck_assert_int_eq(trial_judge(&ended, &reference, 0), BETTER);
    ended.failed = false;
    ended.scene.nonfinite = true;
    ck_assert(!trial_finished(&ended));
    // Both are within what is good for both.
    t = trial_of(2.3, 2, 0.4);
    ck_assert_int_eq(trial_judge(&t, &better, 0), SAME);
    t = trial_of(2.4, 2, 0.4);
    reference = trial_of(2, 2, 0.5);
    ck_assert_int_eq(trial_judge(&reference, &t, 0), SAME);
    t = trial_of(2.45, 2, 0.4);
    ck_assert_int_eq(trial_judge(&reference, &t, 0), WORSE);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("table");
    ADD_TESTS(suite, "all", {columns_are_as_wide_as_their_cells, 1}, {wide_tables_are_parted, 1},
              {markdown_has_a_head, 1}, {tables_have_their_room, 1}, {errors_are_judged, 1},
              {trials_are_judged_by_their_distance, 1});
    return run_suite(suite);
}
