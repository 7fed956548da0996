// A solve that `sprag dump` has written, once more: the result, the statistics, and a row for each
// Newton update. The file is a bug report's first aid, so the bench also tells whether the result
// is that of the program.
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "solve_file.h"
#include "stribeck.h"

enum { HISTORY = 1000 };

static void __attribute__((noreturn)) refuse(const char *file, const char *why)
{
    fprintf(stderr, "bench: %s: %s\n", file, why);
    exit(EXIT_FAILURE);
}

// "inf", "-inf" and "nan" are strings.
static bool read_real(const json_t *from, double *to)
{
    *to = json_is_string(from) ? strtod(json_string_value(from), NULL) : json_number_value(from);
    return json_is_string(from) || json_is_number(from);
}

static bool read_value(const solve_field *f, const json_t *from, char *at, int i)
{
    switch (f->type) {
    case SOLVE_REAL:
        return read_real(from, &((double *)(void *)at)[i]);
    case SOLVE_INT:
        ((int *)(void *)at)[i] = (int)json_integer_value(from);
        return json_is_integer(from);
    case SOLVE_BOOL:
        ((bool *)at)[i] = json_is_true(from);
        return json_is_boolean(from);
    }
    return false;
}

static void read_fields(const char *file, const solve_field *fields, const json_t *from, void *to)
{
    for (const solve_field *f = fields; f->name; f++) {
        const json_t *value = json_object_get(from, f->name);
        for (int i = 0; i < f->count; i++) {
            const json_t *one = f->count > 1 ? json_array_get(value, (size_t)i) : value;
            if (!read_value(f, one, (char *)to + f->offset, i)) {
                char why[128];
                snprintf(why, sizeof why, "%s is missing, or no number", f->name);
                refuse(file, why);
            }
        }
    }
}

// An array of structs; *count: their number.
static void *read_array(const char *file, const json_t *root, const char *name,
                        const solve_field *fields, size_t size, int *count)
{
    const json_t *from = json_object_get(root, name);
    *count = (int)json_array_size(from);
    char *to = bench_allocate((size_t)*count + 1, size);
    for (int i = 0; i < *count; i++) {
        read_fields(file, fields, json_array_get(from, (size_t)i), to + (size_t)i * size);
    }
    return to;
}

static void read_turning(const char *file, const json_t *root, sprag_contact *contact, int count)
{
    for (int i = 0; i < count; i++) {
        const json_t *from = json_object_get(
            json_array_get(json_object_get(root, "contacts"), (size_t)i), "turning");
        if (from) {
            sprag_turning *to = bench_allocate(1, sizeof *to);
            read_fields(file, solve_turning_fields, from, to);
            contact[i].turning = to;
        }
    }
}

static json_t *load(const char *file)
{
    json_error_t error;
    json_t *root = json_load_file(file, 0, &error);
    const char *format = json_string_value(json_object_get(root, "format"));
    if (!root) {
        refuse(file, error.text);
    }
    if (!format || strcmp(format, "sprag solve") != 0) {
        refuse(file, "is no solve that `sprag dump` has written");
    }
    return root;
}

static void print_history(const sprag_stats *stats, int updates)
{
    printf("%4s  %-16s %10s %8s %10s %10s\n", "", "strategy", "stiction", "length", "slip",
           "residual");
    for (int i = 0; i < updates; i++) {
        const sprag_iteration *u = &stats->history[i];
        printf("%4d  %-16s %10.2e %8.2g %10.2e %10.2e\n", i + 1, sprag_strategy_name(u->strategy),
               u->stiction, u->length, u->slip, u->convergence);
    }
}

bool bench_solve(const char *file)
{
    json_t *root = load(file);
    sprag_problem p = {.step = json_number_value(json_object_get(root, "step"))};
    sprag_stribeck_options options = sprag_stribeck_defaults();
    sprag_body *body = read_array(file, root, "bodies", solve_body_fields, sizeof *body, &p.bodies);
    sprag_contact *contact =
        read_array(file, root, "contacts", solve_contact_fields, sizeof *contact, &p.contacts);
    sprag_row *row = read_array(file, root, "rows", solve_row_fields, sizeof *row, &p.rows);
    read_fields(file, solve_options_fields, json_object_get(root, "options"), &options);
    read_turning(file, root, contact, p.contacts);
    p.body = body;
    p.contact = contact;
    p.row = row;
    sprag_solution solution = {
        .velocity = bench_allocate((size_t)p.bodies + 1, sizeof *solution.velocity),
        .contact_force = bench_allocate((size_t)p.contacts + 1, sizeof *solution.contact_force),
        .row_force = bench_allocate((size_t)p.rows + 1, sizeof *solution.row_force)};
    sprag_stats stats = {.history = bench_allocate(HISTORY, sizeof *stats.history),
                         .history_room = HISTORY};
    sprag_scratch scratch = {0};
    char message[256] = "";
    double start = bench_cpu_us();
    sprag_result result = sprag_stribeck_solve(&p, &options, &scratch, &solution, &stats);
    double us = bench_cpu_us() - start;
    print_history(&stats, stats.iterations < HISTORY ? stats.iterations : HISTORY);
    printf("%d bodies, %d contacts, %d rows: %s by %s in %d updates, %d factorizations, %d sweeps; "
           "residual %.3g; %.1f us\n",
           p.bodies, p.contacts, p.rows, sprag_result_name(result),
           sprag_strategy_name(stats.strategy), stats.iterations, stats.factorizations,
           stats.sweeps, stats.residual, us);
    if (sprag_problem_check(&p, message, sizeof message) != SPRAG_OK) {
        printf("the problem makes no sense: %s\n", message);
    }
    const char *then = json_string_value(json_object_get(root, "result"));
    double residual = NAN;
    read_real(json_object_get(root, "residual"), &residual);
    bool same = then && !strcmp(then, sprag_result_name(result)) &&
                (residual == stats.residual || isnan(residual));
    printf("in the program: %s, residual %.3g: %s\n", then ? then : "?", residual,
           same ? "the same" : "another result");
    sprag_scratch_free(&scratch);
    json_decref(root);
    return same;
}
