// Runs of the solver in generalized coordinates.
#ifndef TEST_GENERAL_RUNS_H
#define TEST_GENERAL_RUNS_H

#include <check.h>
#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "general.h"
#include "problems_general.h"
#include "suite.h"

enum { VELOCITIES_MAX = 120, CONTACTS_MAX = 40, RECORDS_MAX = 200 };

typedef struct record {
    json_t *json;
    sprag_general_problem problem;
    sprag_general_options options;
    double *numbers; // all arrays of the problem
} record;

static json_t *records[RECORDS_MAX];
static int record_count;
static sprag_scratch scratch;

static inline int load(const char *path, json_t **to)
{
    FILE *file = fopen(path, "r");
    int count = 0;
    char *line = NULL;
    size_t room = 0;
    while (file && count < RECORDS_MAX && getline(&line, &room, file) > 0 &&
           (to[count] = json_loads(line, 0, NULL))) {
        count++;
    }
    free(line);
    if (file) {
        fclose(file);
    }
    return count;
}

static inline double *array(json_t *object, const char *name, double **room)
{
    json_t *values = json_object_get(object, name);
    double *start = *room;
    for (size_t i = 0; i < json_array_size(values); i++) {
        *(*room)++ = json_number_value(json_array_get(values, i));
    }
    return start;
}

static inline record read_record(json_t *json)
{
    enum { ROOM = VELOCITIES_MAX * (VELOCITIES_MAX + 3 * CONTACTS_MAX + 2) + 5 * CONTACTS_MAX };
    record r = {.json = json, .numbers = malloc(ROOM * sizeof(double))};
    double *room = r.numbers;
    json_t *params = json_object_get(json, "params");
    bool one_way = !strcmp(json_string_value(json_object_get(json, "coupling")), "one_way");
    r.problem =
        (sprag_general_problem){.velocities = (int)json_integer_value(json_object_get(json, "nv")),
                                .contacts = (int)json_integer_value(json_object_get(json, "nc")),
                                .step = json_number_value(json_object_get(json, "dt")),
                                .mass = array(json, "M", &room),
                                .normal_jacobian = array(json, "Jn", &room),
                                .tangent_jacobian = array(json, "Jt", &room),
                                .momentum = array(json, "p_star", &room),
                                .friction = array(json, "mu", &room),
                                .normal_force = one_way ? array(json, "fn_in", &room) : NULL,
                                .penetration = array(json, "x0", &room),
                                .stiffness = array(json, "stiffness", &room),
                                .dissipation = array(json, "dissipation", &room)};
    r.options = sprag_general_defaults();
    r.options.stiction_tolerance = json_number_value(json_object_get(params, "stiction_tolerance"));
    r.options.relative_tolerance = json_number_value(json_object_get(params, "relative_tolerance"));
    r.options.theta_max = json_number_value(json_object_get(params, "theta_max"));
    return r;
}

static inline double largest(const double *x, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++) {
        most = fmax(most, fabs(x[i]));
    }
    return most;
}

// ---- the unit tests of the original: the limiter

#define VS 1e-4
#define SMALL 0.01

// ---- the unit tests of the original: a pizza saver, pushed to turn on its three legs

static inline void assert_solved(made *m, const sprag_general_options *options, sprag_stats *stats)
{
    sprag_result result = made_solve(m, options, &scratch, stats);
    ck_assert_msg(result == SPRAG_OK, "%s, %s, residual %g", sprag_result_name(result),
                  sprag_strategy_name(stats->strategy), stats->residual);
    ck_assert_msg(made_is_solved(m, options), "momentum off by %g, laws by %g",
                  made_momentum_error(m), made_law_error(m, options));
}

#endif
