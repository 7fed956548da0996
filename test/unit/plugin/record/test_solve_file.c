// A solve as a file: every number comes back as the same bits, and the table of members leaves none
// out.
#define _GNU_SOURCE 1
#include <check.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <unistd.h>

#include "plugin_scene.h"
#include "solve_file.h"

static char file[] = "/tmp/sprag_solve_XXXXXX";

// The program has closed its input: the file has the number 0 while it is written.
static void setup_solve(void)
{
    close(STDIN_FILENO);
    int descriptor = mkstemp(file);
    ck_assert_int_ge(descriptor, 0);
    close(descriptor);
    unlink(file);
    setup();
    setenv("SPRAG_DUMP", file, 1);
}

static void teardown_solve(void)
{
    ck_assert_int_lt(fcntl(STDIN_FILENO, F_GETFD), 0);
    teardown();
    unlink(file);
}

// Numbers that differ, and need all their digits.
static void fill(const solve_field *fields, void *to, double *seed)
{
    for (const solve_field *f = fields; f->name; f++) {
        char *at = (char *)to + f->offset;
        for (int i = 0; i < f->count; i++) {
            *seed += 1;
            switch (f->type) {
            case SOLVE_REAL:
                ((double *)(void *)at)[i] = sin(*seed) * pow(10, fmod(*seed, 40) - 20);
                break;
            case SOLVE_INT:
                ((int *)(void *)at)[i] = (int)*seed;
                break;
            case SOLVE_BOOL:
                ((bool *)at)[i] = (int)*seed % 2;
                break;
            }
        }
    }
}

static double real_of(const json_t *value)
{
    return json_is_string(value) ? strtod(json_string_value(value), NULL)
                                 : json_number_value(value);
}

static void check_fields(const solve_field *fields, const void *of, const json_t *from)
{
    for (const solve_field *f = fields; f->name; f++) {
        const json_t *value = json_object_get(from, f->name);
        const char *at = (const char *)of + f->offset;
        ck_assert_msg(value != NULL, "no %s", f->name);
        for (int i = 0; i < f->count; i++) {
            const json_t *one = f->count > 1 ? json_array_get(value, (size_t)i) : value;
            switch (f->type) {
            case SOLVE_REAL: {
                double got = real_of(one), expected = ((const double *)(const void *)at)[i];
                ck_assert_msg(!memcmp(&got, &expected, sizeof got), "%s", f->name);
                break;
            }
            case SOLVE_INT:
                ck_assert_int_eq(json_integer_value(one), ((const int *)(const void *)at)[i]);
                break;
            case SOLVE_BOOL:
                ck_assert_int_eq(json_is_true(one), ((const bool *)at)[i]);
                break;
            }
        }
    }
}

static json_t *written(void)
{
    json_error_t error;
    json_t *root = json_load_file(file, 0, &error);
    ck_assert_msg(root != NULL, "%s", error.text);
    return root;
}

static void offer(sprag_result result)
{
    static sprag_body body[2];
    static sprag_turning turning;
    static sprag_contact contact[2];
    static sprag_row row;
    static sprag_stribeck_options options;
    const sprag_stats stats = {.strategy = SPRAG_STRATEGY_CONTINUATION, .residual = 0.1};
    double seed = 0;
    fill(solve_body_fields, &body[0], &seed);
    fill(solve_body_fields, &body[1], &seed);
    fill(solve_contact_fields, &contact[0], &seed);
    fill(solve_contact_fields, &contact[1], &seed);
    fill(solve_turning_fields, &turning, &seed);
    fill(solve_row_fields, &row, &seed);
    fill(solve_options_fields, &options, &seed);
    row.hi = INFINITY;
    row.lo = -INFINITY;
    contact[1].turning = &turning;
    const sprag_problem p = {.step = 0.01,
                             .bodies = 2,
                             .contacts = 2,
                             .rows = 1,
                             .body = body,
                             .contact = contact,
                             .row = &row};
    const world_state *w = world_find_or_make(world);
    solve_file_offer(w, &p, &options, result, &stats);
    if (result == SPRAG_OK) {
        ck_assert_int_ne(access(file, F_OK), 0);
        return;
    }
    json_t *root = written();
    const json_t *bodies = json_object_get(root, "bodies");
    const json_t *contacts = json_object_get(root, "contacts");
    ck_assert_uint_eq(json_array_size(bodies), 2);
    check_fields(solve_body_fields, &body[1], json_array_get(bodies, 1));
    check_fields(solve_contact_fields, &contact[0], json_array_get(contacts, 0));
    ck_assert_ptr_null(json_object_get(json_array_get(contacts, 0), "turning"));
    check_fields(solve_turning_fields, &turning,
                 json_object_get(json_array_get(contacts, 1), "turning"));
    check_fields(solve_row_fields, &row, json_array_get(json_object_get(root, "rows"), 0));
    check_fields(solve_options_fields, &options, json_object_get(root, "options"));
    ck_assert_str_eq(json_string_value(json_object_get(root, "result")), "not converged");
    json_decref(root);
}

START_TEST(a_failed_solve_is_written_whole)
{
    offer(SPRAG_OK);
    offer(SPRAG_NOT_CONVERGED);
}
END_TEST

// What the fields leave out of a struct is padding: a run of bytes shorter than a number.
static void check_cover(const solve_field *fields, size_t size, size_t left_out)
{
    static const size_t width[] = {
        [SOLVE_REAL] = sizeof(double), [SOLVE_INT] = sizeof(int), [SOLVE_BOOL] = sizeof(bool)};
    char covered[4096] = {0};
    size_t run = 0, longest = 0;
    ck_assert_uint_lt(size, sizeof covered);
    for (const solve_field *f = fields; f->name; f++) {
        memset(covered + f->offset, 1, width[f->type] * (size_t)f->count);
    }
    for (size_t i = 0; i < size; i++) {
        run = covered[i] ? 0 : run + 1;
        longest = run > longest ? run : longest;
    }
    ck_assert_msg(longest <= left_out, "a run of %zu bytes is in no field", longest);
}

START_TEST(the_fields_leave_nothing_out)
{
    check_cover(solve_body_fields, sizeof(sprag_body), 7);
    check_cover(solve_row_fields, sizeof(sprag_row), 6);
    check_cover(solve_turning_fields, sizeof(sprag_turning), 6);
    // work_left and memory belong to the caller: a solve that is read again has all work left
    check_cover(solve_options_fields, sizeof(sprag_stribeck_options), 7 + 2 * sizeof(void *));
    check_cover(solve_contact_fields, sizeof(sprag_contact), 6 + sizeof(void *));
}
END_TEST

START_TEST(the_largest_solve_of_a_step_is_written)
{
    setenv("SPRAG_DUMP_STEP", "3", 1);
    scene s = open_scene("method=stribeck");
    for (int k = 0; k < 5; k++) {
        step_scene(&s, dWorldStep);
    }
    close_scene(&s);
    json_t *root = written();
    ck_assert_int_eq(json_integer_value(json_object_get(root, "number")), 3);
    ck_assert_uint_eq(json_array_size(json_object_get(root, "bodies")), 2); // the pendulum
    ck_assert_uint_eq(json_array_size(json_object_get(root, "rows")), 8);
    json_decref(root);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("solve_file");
    ADD_TESTS_WITH(suite, "all", setup_solve, teardown_solve, {a_failed_solve_is_written_whole, 1},
                   {the_fields_leave_nothing_out, 1}, {the_largest_solve_of_a_step_is_written, 1});
    return run_suite_as(suite, CK_FORK);
}
