// Implicit Stribeck in generalized coordinates: the reference vectors of data/stribeck (problems of
// the original solver, also those on which it fails, with roots computed in quadruple precision)
// and the original's own unit tests.
#include <check.h>
#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "general.h"
#include "general_runs.h"
#include "newton.h"
#include "problems_general.h"
#include "suite.h"

typedef struct answer {
    sprag_general_solution solution;
    double velocity[VELOCITIES_MAX], normal_velocity[CONTACTS_MAX];
    double tangent_velocity[2 * CONTACTS_MAX], normal_force[CONTACTS_MAX];
    double friction_force[2 * CONTACTS_MAX], generalized_friction[VELOCITIES_MAX];
    double generalized_force[VELOCITIES_MAX];
    sprag_stats stats;
} answer;

static answer a;

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
    char message[200] = "not yet";
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
    ck_assert_msg(result == SPRAG_OK, "%s: %s %s, %s, %d iterations, residual %g", name_of(r),
                  sprag_result_name(result), message, sprag_strategy_name(a.stats.strategy),
                  a.stats.iterations, a.stats.residual);
    ck_assert_str_eq(message, "");
    return result;
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

// If the record has a single root, the solution is that root.
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
        printf("%-40s nv %3d nc %3d %s it %d res %g ref %s\n", name_of(&r), r.problem.velocities,
               r.problem.contacts, sprag_strategy_name(a.stats.strategy), a.stats.iterations,
               a.stats.residual,
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

// ---- the unit tests of the original: the limiter

static const double pi = 3.14159265358979323846;

typedef struct slide {
    const char *name;
    double v[2], dv[2], alpha;
} slide;

START_TEST(limiter_unit_tests_of_the_original)
{
    static const slide slides[] = {
        {"zero, zero", {0, 0}, {0, 0}, 1},
        {"zero to inside", {0, 0}, {-0.5 * VS, 0.7 * VS}, 1},
        {"zero to sliding", {0, 0}, {0.3, -0.1}, 1.5811388300841897e-4},
        {"sliding to zero", {0.3, -0.1}, {-0.3, 0.1}, 0.99984188611699},
        {"sliding to inside", {1.2, 0.4}, {-1.2 - 0.3 * VS, -0.4 + 0.45 * VS}, 1},
        {"inside to sliding", {-0.5 * VS, 0.7 * VS}, {0.9, -0.3}, 1},
        {"near zero to sliding",
         {-0.5 * VS * SMALL, 0.3 * VS * SMALL},
         {0.3, 0.15},
         1.4907119849998598e-4},
        {"tiny change", {0.1, 0.05}, {-0.5 * VS * SMALL, 0.3 * VS * SMALL}, 1},
        {"straight through zero", {0.1, 0.05}, {-0.3, -0.15}, 0.33318426213483},
    };
    for (size_t i = 0; i < sizeof slides / sizeof *slides; i++) {
        const slide *s = &slides[i];
        double alpha = sprag_limit_slip(s->v, s->dv, VS, SMALL, pi / 6);
        ck_assert_msg(fabs(alpha - s->alpha) <= 1e-14 * fmax(1, 1 / VS * s->alpha), "%s: %.17g",
                      s->name, alpha);
    }
}
END_TEST

// Lands on the point of the segment that is closest to the origin.
START_TEST(limiter_stops_where_the_circle_is_crossed)
{
    double at[2] = {0.3 * VS, 0.2 * VS}, length = hypot(at[0], at[1]);
    double normal[2] = {-at[1] / length, at[0] / length};
    double v[2] = {at[0] + 0.5 * normal[0], at[1] + 0.5 * normal[1]};
    double dv[2] = {-1.3 * normal[0], -1.3 * normal[1]};
    double alpha = sprag_limit_slip(v, dv, VS, SMALL, pi / 6);
    ck_assert_double_eq_tol(alpha, 5.0 / 13, 1e-14);
}
END_TEST

// Rotations of a slip: by pi/8, pi/3, 5 pi/6, and one that is stretched.
START_TEST(limiter_turns_by_theta_max_at_most)
{
    static const double angle[] = {0.125, 1.0 / 3, 5.0 / 6},
                        expected[] = {1, 0.5, 0.36602540378444};
    double v[2] = {-0.5, 0.7};
    for (int i = 0; i < 3; i++) {
        double c = cos(pi * angle[i]), s = sin(pi * angle[i]);
        double dv[2] = {c * v[0] - s * v[1] - v[0], s * v[0] + c * v[1] - v[1]};
        double alpha = sprag_limit_slip(v, dv, VS, SMALL, pi / 6);
        ck_assert_double_eq_tol(alpha, expected[i], 1e-13);
        double end[2] = {v[0] + alpha * dv[0], v[1] + alpha * dv[1]};
        double turned =
            acos((v[0] * end[0] + v[1] * end[1]) / hypot(v[0], v[1]) / hypot(end[0], end[1]));
        ck_assert_double_eq_tol(turned, fmin(pi * angle[i], pi / 6), 1e-7);
    }
    double c = cos(pi / 6), s = sin(pi / 6);
    double dv[2] = {-3 * (c * v[0] - s * v[1]), -3 * (s * v[0] + c * v[1])};
    ck_assert_double_eq_tol(sprag_limit_slip(v, dv, VS, SMALL, pi / 6), 0.19245008972988, 1e-13);
}
END_TEST

// ---- the unit tests of the original: a pizza saver, pushed to turn on its three legs

static made make_pizza_saver(int legs, double moment)
{
    static const double step = 1e-3;
    made m = make(3, legs, step, true);
    m.mass[0] = m.mass[4] = m.mass[8] = 1;
    m.momentum[2] = step * moment;
    for (int c = 0; c < legs; c++) {
        double angle = pi / 5 + 2 * pi / 3 * c;
        double *row = m.tangent + 6 * (size_t)c;
        row[0] = row[4] = 1;
        row[2] = -sin(angle);
        row[5] = cos(angle);
        m.friction[c] = 0.5;
        m.force[c] = 10.0 / 3;
    }
    return m;
}

static const double eps = 2.220446049250313e-16;

static sprag_general_options original_options(double relative_tolerance)
{
    sprag_general_options options = sprag_general_defaults();
    options.stiction_tolerance = 1e-6;
    options.relative_tolerance = relative_tolerance;
    return options;
}

static void assert_legs_slip(const made *m, double speed)
{
    const double *v = m->solution.tangent_velocity;
    for (int c = 0; c < 3; c++) {
        ck_assert_double_eq_tol(hypot(v[2 * c], v[2 * c + 1]), speed, 10 * eps);
    }
}

START_TEST(pizza_saver_sticks_below_its_friction_moment)
{
    made m = make_pizza_saver(3, 3);
    sprag_general_options options = original_options(1e-4);
    sprag_iteration history[100];
    sprag_stats stats = {.history = history, .history_room = 100};
    assert_solved(&m, &options, &stats);
    ck_assert_double_lt(history[stats.iterations - 1].slip, 1e-10);
    const double *tau = m.solution.generalized_friction;
    ck_assert_double_eq_tol(tau[2], -3, 5e-4);
    ck_assert_double_eq_tol(tau[2], -2.99963251363, 1e-10);
    ck_assert_double_eq_tol(m.solution.velocity[2], 3.67486369891e-7, 1e-17);
    ck_assert_double_eq_tol(tau[0], 0, 10 * eps);
    ck_assert_double_eq_tol(tau[1], 0, 10 * eps);
    ck_assert_double_lt(m.solution.velocity[2], options.stiction_tolerance);
    assert_legs_slip(&m, m.solution.velocity[2]);
    made_free(&m);
}
END_TEST

START_TEST(pizza_saver_slides_above_it)
{
    made m = make_pizza_saver(3, 6);
    sprag_general_options options = original_options(1e-4);
    sprag_stats stats = {0};
    assert_solved(&m, &options, &stats);
    ck_assert_double_eq_tol(m.solution.generalized_friction[2], -5, 1e-13);
    ck_assert_double_eq_tol(m.solution.velocity[2], 1e-3, 10 * eps);
    ck_assert_double_gt(m.solution.velocity[2], options.stiction_tolerance);
    assert_legs_slip(&m, 1e-3);
    made_free(&m);
}
END_TEST

START_TEST(pizza_saver_without_legs_is_free)
{
    made m = make_pizza_saver(0, 6);
    sprag_general_options options = original_options(1e-4);
    sprag_stats stats = {0};
    assert_solved(&m, &options, &stats);
    ck_assert_double_eq(m.solution.generalized_friction[2], 0);
    ck_assert_double_eq_tol(m.solution.velocity[2], 6e-3, 10 * eps);
    ck_assert_int_le(stats.iterations, 1);
    made_free(&m);
}
END_TEST

// ---- the unit tests of the original: a cylinder that comes down, and rolls or slides

static made make_cylinder(double vx)
{
    made m = make(3, 1, 1e-3, false);
    m.mass[0] = m.mass[4] = m.mass[8] = 1;
    m.guess[0] = m.momentum[0] = vx;
    m.guess[1] = -3;
    m.momentum[1] = -3 - 9e-3;
    m.normal[1] = m.tangent[0] = m.tangent[2] = 1;
    m.friction[0] = 0.1;
    m.depth[0] = 1e-3;
    m.stiffness[0] = 9e6;
    m.dissipation[0] = 1 / (sqrt(9e6) * 1e-6);
    return m;
}

START_TEST(cylinder_rolls)
{
    made m = make_cylinder(0.5);
    sprag_general_options options = original_options(1e-2);
    sprag_stats stats = {0};
    assert_solved(&m, &options, &stats);
    const double *v = m.solution.velocity, *tau = m.solution.generalized_friction;
    ck_assert_double_lt(fabs(m.solution.tangent_velocity[0]), options.stiction_tolerance);
    ck_assert_double_eq_tol(m.solution.tangent_velocity[1], 0, 10 * eps);
    ck_assert_double_eq(tau[1], 0);
    ck_assert_double_eq(tau[2], tau[0]); // the radius is 1
    ck_assert_double_lt(fabs(v[0] + v[2]), options.stiction_tolerance);
    ck_assert_double_eq_tol(v[0], 0.25000029405068824, 1e-14);
    ck_assert_double_eq_tol(v[1], 1.994329585210411e-3, 1e-14);
    ck_assert_double_eq_tol(m.solution.normal_force[0], 3010.99432959, 1e-8);
    ck_assert_double_eq_tol(m.solution.friction_force[0], -249.99970594931173, 1e-10);
    made_free(&m);
}
END_TEST

START_TEST(cylinder_slides)
{
    made m = make_cylinder(0.7);
    sprag_general_options options = original_options(1e-2);
    sprag_stats stats = {0};
    assert_solved(&m, &options, &stats);
    const double *v = m.solution.velocity, vt = m.solution.tangent_velocity[0];
    ck_assert_double_gt(vt, options.stiction_tolerance);
    ck_assert_double_lt(v[2], 0);
    ck_assert_double_eq_tol(vt, v[0] + v[2], 10 * eps);
    ck_assert_double_eq_tol(v[0], 0.398900567041, 1e-12);
    ck_assert_double_eq_tol(v[2], -0.301099432959, 1e-12);
    ck_assert_double_eq_tol(m.solution.friction_force[0], -301.099432959, 1e-9);
    made_free(&m);
}
END_TEST

START_TEST(empty_world_is_solved)
{
    for (int one_way = 0; one_way < 2; one_way++) {
        made m = make(0, 0, 1e-3, one_way);
        sprag_stats stats = {0};
        ck_assert_int_eq(made_solve(&m, NULL, &scratch, &stats), SPRAG_OK);
        made_free(&m);
    }
    sprag_general_problem none = {.step = 1e-3};
    sprag_general_solution nothing = {0};
    ck_assert_int_eq(sprag_general_solve(&none, NULL, &scratch, &nothing, NULL, NULL, 0), SPRAG_OK);
    sprag_scratch_reset(&scratch);
}
END_TEST

int main(void)
{
    record_count = load("data/stribeck/reference.jsonl", records);
    Suite *suite = suite_create("general_reference");
    ADD_TESTS(suite, "reference", {all_records_are_there, 1},
              {every_reference_problem_is_solved, record_count},
              {limiter_is_that_of_the_original, 1});
    ADD_TESTS(suite, "unit tests of the original", {limiter_unit_tests_of_the_original, 1},
              {limiter_stops_where_the_circle_is_crossed, 1},
              {limiter_turns_by_theta_max_at_most, 1},
              {pizza_saver_sticks_below_its_friction_moment, 1}, {pizza_saver_slides_above_it, 1},
              {pizza_saver_without_legs_is_free, 1}, {cylinder_rolls, 1}, {cylinder_slides, 1},
              {empty_world_is_solved, 1});
    int code = run_suite(suite);
    for (int i = 0; i < record_count; i++) {
        json_decref(records[i]);
    }
    sprag_scratch_free(&scratch);
    return code;
}
