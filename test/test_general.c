// Implicit Stribeck in generalized coordinates against the reference vectors of data/stribeck:
// problems of the original solver, those on which it fails included, with roots computed in
// quadruple precision.
#include <check.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solvers/general.h"
#include "solvers/limiter.h"

enum { VELOCITIES_MAX = 120, CONTACTS_MAX = 40, RECORDS_MAX = 200 };

typedef struct record {
    json_t *json;
    sprag_general_problem problem;
    sprag_general_options options;
    double *numbers; // all arrays of the problem
} record;

typedef struct answer {
    sprag_general_solution solution;
    double velocity[VELOCITIES_MAX], normal_velocity[CONTACTS_MAX];
    double tangent_velocity[2 * CONTACTS_MAX], normal_force[CONTACTS_MAX];
    double friction_force[2 * CONTACTS_MAX], generalized_friction[VELOCITIES_MAX];
    double generalized_force[VELOCITIES_MAX];
    sprag_stats stats;
} answer;

static json_t *records[RECORDS_MAX];
static int record_count;
static sprag_scratch scratch;
static answer a;

static int load(const char *path, json_t **to)
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

static double *array(json_t *object, const char *name, double **room)
{
    json_t *values = json_object_get(object, name);
    double *start = *room;
    for (size_t i = 0; i < json_array_size(values); i++) {
        *(*room)++ = json_number_value(json_array_get(values, i));
    }
    return start;
}

static record read_record(json_t *json)
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

static const char *name_of(const record *r)
{
    return json_string_value(json_object_get(r->json, "name"));
}

static void close_record(record *r)
{
    free(r->numbers);
}

static sprag_result solve(const record *r)
{
    char message[200] = "";
    double guess[VELOCITIES_MAX], *room = guess;
    array(r->json, "v_guess", &room);
    a = (answer){.solution = {.velocity = a.velocity,
                              .normal_velocity = a.normal_velocity,
                              .tangent_velocity = a.tangent_velocity,
                              .normal_force = a.normal_force,
                              .friction_force = a.friction_force,
                              .generalized_friction = a.generalized_friction,
                              .generalized_force = a.generalized_force}};
    memcpy(a.velocity, guess, (size_t)r->problem.velocities * sizeof *guess);
    sprag_result result = sprag_general_solve(&r->problem, &r->options, &scratch, &a.solution,
                                              &a.stats, message, sizeof message);
    sprag_scratch_reset(&scratch);
    ck_assert_msg(result == SPRAG_OK, "%s: %s %s, phase %c, %d iterations, residual %g", name_of(r),
                  sprag_result_name(result), message, a.stats.phase, a.stats.iterations,
                  a.stats.residual);
    return result;
}

static double largest(const double *x, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++) {
        most = fmax(most, fabs(x[i]));
    }
    return most;
}

// max |R| <= (1e-9 + 2e-16 max|v| / vs) of the largest sum of absolute terms
static void assert_momentum_balances(const record *r)
{
    const sprag_general_problem *p = &r->problem;
    int nv = p->velocities;
    double worst = 0, scale = 0;
    for (int i = 0; i < nv; i++) {
        double sum = -p->momentum[i], absolute = fabs(p->momentum[i]);
        for (int j = 0; j < nv; j++) {
            sum += p->mass[i * nv + j] * a.velocity[j];
            absolute += fabs(p->mass[i * nv + j] * a.velocity[j]);
        }
        for (int c = 0; c < p->contacts; c++) {
            double term[3] = {p->normal_jacobian[c * nv + i] * a.normal_force[c],
                              p->tangent_jacobian[2 * c * nv + i] * a.friction_force[2 * c],
                              p->tangent_jacobian[(2 * c + 1) * nv + i] *
                                  a.friction_force[2 * c + 1]};
            for (int k = 0; k < 3; k++) {
                sum -= p->step * term[k];
                absolute += p->step * fabs(term[k]);
            }
        }
        worst = fmax(worst, fabs(sum));
        scale = fmax(scale, absolute);
    }
    double tolerance = 1e-9 + 2e-16 * largest(a.velocity, nv) / r->options.stiction_tolerance;
    ck_assert_msg(worst <= tolerance * scale, "%s: momentum off by %g of %g", name_of(r), worst,
                  scale);
}

static void assert_row(const record *r, const double *row, double velocity)
{
    double sum = 0, absolute = 0;
    for (int i = 0; i < r->problem.velocities; i++) {
        sum += row[i] * a.velocity[i];
        absolute += fabs(row[i] * a.velocity[i]);
    }
    ck_assert_msg(fabs(sum - velocity) <= 1e-12 * absolute + 1e-300, "%s: J v is %g, not %g",
                  name_of(r), sum, velocity);
}

// Both laws, to 1e-9 of the largest normal force; velocities are J v.
static void assert_laws_hold(const record *r)
{
    const sprag_general_problem *p = &r->problem;
    double vs = r->options.stiction_tolerance, ev = vs * r->options.relative_tolerance;
    double most = largest(a.normal_force, p->contacts);
    for (int c = 0; c < p->contacts; c++) {
        assert_row(r, p->normal_jacobian + c * p->velocities, a.normal_velocity[c]);
        double vn = a.normal_velocity[c], fn = p->normal_force ? p->normal_force[c] : 0;
        if (!p->normal_force) {
            fn = p->stiffness[c] * fmax(0, 1 - p->dissipation[c] * vn) *
                 fmax(0, p->penetration[c] - p->step * vn);
        }
        ck_assert_msg(fabs(fn - a.normal_force[c]) <= 1e-9 * most, "%s: fn", name_of(r));
        const double *vt = a.tangent_velocity + 2 * c;
        double rho = sqrt(vt[0] * vt[0] + vt[1] * vt[1] + ev * ev), s = rho / vs;
        double m = p->friction[c] * (s < 1 ? s * (2 - s) : 1);
        for (int k = 0; k < 2; k++) {
            assert_row(r, p->tangent_jacobian + (2 * c + k) * p->velocities, vt[k]);
            ck_assert_msg(fabs(-m * fn * vt[k] / rho - a.friction_force[2 * c + k]) <=
                              1e-9 * fmax(most, 1e-300),
                          "%s: ft", name_of(r));
        }
    }
}

static void assert_near(const record *r, const char *what, const double *x, const double *y, int n,
                        double tolerance)
{
    double worst = 0;
    for (int i = 0; i < n; i++) {
        worst = fmax(worst, fabs(x[i] - y[i]));
    }
    ck_assert_msg(worst <= tolerance, "%s: %s is %g from the root, %g allowed", name_of(r), what,
                  worst, tolerance);
}

// Where there is one root only, it is that.
static void assert_is_the_root(const record *r)
{
    json_t *root = json_object_get(r->json, "root"), *err = json_object_get(root, "err_double");
    const char *uniqueness = json_string_value(json_object_get(root, "uniqueness"));
    if (strcmp(uniqueness, "proved")) {
        return;
    }
    double v[VELOCITIES_MAX], vt[2 * CONTACTS_MAX], *room = v;
    array(root, "v", &room);
    room = vt;
    array(root, "vt", &room);
    double vs = r->options.stiction_tolerance;
    double v_err = fmax(1e-9, 100 * json_number_value(json_object_get(err, "v")));
    double vt_err = fmax(1e-6, 100 * json_number_value(json_object_get(err, "vt")));
    int nv = r->problem.velocities;
    assert_near(r, "v", a.velocity, v, nv, v_err * fmax(vs, largest(v, nv)));
    assert_near(r, "vt", a.tangent_velocity, vt, 2 * r->problem.contacts, vt_err * vs);
}

START_TEST(all_records_are_there)
{
    ck_assert_int_eq(record_count, 138);
}
END_TEST

START_TEST(every_reference_problem_is_solved)
{
    record r = read_record(records[_i]);
    solve(&r);
    if (getenv("SHOW")) {
        printf("%-40s nv %3d nc %3d %c it %d res %g ref %s\n", name_of(&r), r.problem.velocities,
               r.problem.contacts, a.stats.phase, a.stats.iterations, a.stats.residual,
               json_string_value(json_object_get(json_object_get(r.json, "ref"), "result")));
    }
    assert_momentum_balances(&r);
    assert_laws_hold(&r);
    assert_is_the_root(&r);
    close_record(&r);
}
END_TEST

START_TEST(limiter_is_that_of_the_original)
{
    json_t *limits[RECORDS_MAX];
    int count = load("data/stribeck/limiter.jsonl", limits);
    ck_assert_int_gt(count, 100);
    for (int i = 0; i < count; i++) {
        double v[2], dv[2], *room = v;
        array(limits[i], "v", &room);
        room = dv;
        array(limits[i], "dv", &room);
        double alpha = sprag_limit_slip(
            v, dv, json_number_value(json_object_get(limits[i], "stiction_tolerance")),
            json_number_value(json_object_get(limits[i], "relative_tolerance")),
            json_number_value(json_object_get(limits[i], "theta_max")));
        double expected = json_number_value(json_object_get(limits[i], "alpha"));
        ck_assert_msg(fabs(alpha - expected) <= 1e-9 * fabs(expected), "record %d (%s): %g, not %g",
                      i, json_string_value(json_object_get(limits[i], "case")), alpha, expected);
        json_decref(limits[i]);
    }
}
END_TEST

int main(void)
{
    record_count = load("data/stribeck/reference.jsonl", records);
    Suite *suite = suite_create("general");
    TCase *reference = tcase_create("reference");
    tcase_set_timeout(reference, 60);
    tcase_add_test(reference, all_records_are_there);
    tcase_add_loop_test(reference, every_reference_problem_is_solved, 0, record_count);
    tcase_add_test(reference, limiter_is_that_of_the_original);
    suite_add_tcase(suite, reference);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    for (int i = 0; i < record_count; i++) {
        json_decref(records[i]);
    }
    sprag_scratch_free(&scratch);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
