// Implicit Stribeck in generalized coordinates: cubes with known sums, random families, refused
// problems, what a failure returns, what is accepted.
#include <check.h>
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "general.h"
#include "general_runs.h"
#include "problems_general.h"
#include "suite.h"

// ---- cubes with known sums

typedef struct sums {
    double velocity, force;
    int stick, slip;
} sums;

enum { SIZES = 7 };
static const int cubes[SIZES] = {1, 2, 5, 10, 20, 50, 100};
static const sums known[SIZES][4] = {
    // tower one-way, two-way, field one-way, two-way
    {{0.00884542834641, 9.81, 0, 4},
     {0.0277048233859, 9.81589786418, 0, 4},
     {-0.0339525405662, 9.81, 4, 0},
     {-0.0239161293624, 9.81589785709, 0, 4}},
    {{0.291189036303, 29.43, 0, 8},
     {0.282988958047, 29.4475509154, 0, 8},
     {0.0653104837532, 19.62, 7, 1},
     {0.0443053808757, 19.6316406211, 0, 8}},
    {{-0.0110170216607, 147.15, 4, 16},
     {0.0135214689322, 147.451037642, 0, 20},
     {0.0405039312089, 49.05, 15, 5},
     {0.0135012516488, 49.0751582066, 4, 16}},
    {{0.312927063324, 539.55, 28, 12},
     {0.0359535997601, 540.682723856, 20, 20},
     {0.0454083752986, 98.1, 31, 9},
     {0.0226754593684, 98.147407872, 18, 22}},
    {{0.00966188186857, 2060.1, 60, 20},
     {0.0269769420144, 2062.91993358, 60, 20},
     {-0.00137199333431, 196.2, 62, 18},
     {-0.035093474917, 196.298635036, 29, 51}},
    {{-0.0909342571026, 12507.75, 186, 14},
     {-0.347126310029, 12514.2982044, 180, 20},
     {-0.0130477355712, 490.5, 154, 46},
     {-0.082208834587, 490.74244313, 79, 121}},
    {{0.197521716283, 49540.5, 384, 16},
     {0.0582628271688, 49550.6739201, 378, 22},
     {-0.140008990618, 981, 311, 89},
     {-0.295062972162, 981.482245093, 177, 223}},
};

static sums sums_of(const made *m)
{
    sums s = {0};
    for (int i = 0; i < m->problem.velocities; i++) {
        s.velocity += m->solution.velocity[i];
    }
    for (int c = 0; c < m->problem.contacts; c++) {
        const double *vt = m->solution.tangent_velocity + 2 * c;
        bool sticks = sqrt(vt[0] * vt[0] + vt[1] * vt[1] + VS * VS * SMALL * SMALL) < VS;
        s.stick += sticks;
        s.slip += !sticks;
        s.force += m->solution.normal_force[c];
    }
    return s;
}

START_TEST(cubes_have_the_known_sums)
{
    int size = _i / 4, way = _i % 4;
    made m = make_cubes(cubes[size], way < 2, way % 2 == 0);
    sprag_general_options options = sprag_general_defaults();
    sprag_stats stats = {0};
    assert_solved(&m, &options, &stats);
    sums s = sums_of(&m), expected = known[size][way];
    ck_assert_double_eq_tol(s.velocity, expected.velocity, 1e-9);
    ck_assert_double_eq_tol(s.force, expected.force, 1e-10 * expected.force);
    ck_assert_int_eq(s.stick, expected.stick);
    ck_assert_int_eq(s.slip, expected.slip);
    made_free(&m);
}
END_TEST

// ---- messages for bad problems

static void assert_refused(made *m, const sprag_general_options *options, const char *expected)
{
    char message[200] = "";
    sprag_stats stats = {.iterations = -7};
    int nv = m->problem.velocities;
    m->solution.generalized_force[0] = m->solution.normal_force[0] = 4711;
    sprag_result result = sprag_general_solve(&m->problem, options, &scratch, &m->solution, &stats,
                                              message, sizeof message);
    sprag_scratch_reset(&scratch);
    ck_assert_str_eq(sprag_result_name(result), "bad problem");
    ck_assert_msg(strstr(message, expected), "\"%s\" does not have \"%s\"", message, expected);
    ck_assert_int_eq(stats.iterations, -7);
    ck_assert_double_eq(m->solution.generalized_force[0], 4711);
    ck_assert_double_eq(m->solution.normal_force[0], 4711);
    if (nv > 0) { // without room for a message, or with little
        ck_assert_int_eq(
            sprag_general_solve(&m->problem, options, &scratch, &m->solution, NULL, NULL, 0),
            SPRAG_BAD_PROBLEM);
        sprag_scratch_reset(&scratch);
        sprag_general_solve(&m->problem, options, &scratch, &m->solution, NULL, message, 4);
        sprag_scratch_reset(&scratch);
        ck_assert_uint_eq(strlen(message), 3);
    }
}

static void assert_entry_refused(made *m, double *entry, double value, const char *expected)
{
    double good = *entry;
    *entry = value;
    assert_refused(m, NULL, expected);
    *entry = good;
}

START_TEST(bad_entries_are_named)
{
    made m = make_cubes(2, true, false), one = make_cubes(2, true, true);
    memcpy(m.solution.velocity, m.guess, 12 * sizeof *m.guess);
    assert_entry_refused(&m, &m.mass[12 * 3 + 5], NAN, "mass[3][5] is nan");
    assert_entry_refused(&m, &m.mass[12 * 3 + 3], 0, "mass[3][3] is 0");
    assert_entry_refused(&m, &m.mass[12 * 3 + 3], -1, "mass[3][3] is -1");
    assert_entry_refused(&m, &m.mass[12 * 5 + 3], 1e-3, "mass[5][3] is 0.001, but mass[3][5] is 0");
    assert_entry_refused(&m, &m.normal[12 * 7 + 2], INFINITY, "normal_jacobian[7][2] is inf");
    assert_entry_refused(&m, &m.tangent[12 * 15 + 11], NAN, "tangent_jacobian[15][11] is nan");
    assert_entry_refused(&m, &m.momentum[4], -INFINITY, "momentum[4] is -inf");
    assert_entry_refused(&m, &m.solution.velocity[11], NAN, "velocity (the guess)[11] is nan");
    assert_entry_refused(&m, &m.friction[7], -0.5, "friction[7] is -0.5");
    assert_entry_refused(&m, &m.depth[1], NAN, "penetration[1] is nan");
    assert_entry_refused(&m, &m.stiffness[2], -2, "stiffness[2] is -2");
    assert_entry_refused(&m, &m.dissipation[3], -3, "dissipation[3] is -3");
    assert_entry_refused(&one, &one.force[4], -4, "normal_force[4] is -4");
    m.mass[12 * 5 + 3] = 1e-12; // rounding
    ck_assert_int_eq(made_solve(&m, NULL, &scratch, NULL), SPRAG_OK);
    m.mass[12 * 5 + 3] = m.mass[12 * 3 + 5] = 1;
    assert_refused(&m, NULL, "mass is not positive definite");
    made_free(&m);
    made_free(&one);
}
END_TEST

START_TEST(bad_sizes_and_missing_arrays_are_named)
{
    made m = make_cubes(2, true, false);
    const sprag_general_problem good = m.problem;
    static const double steps[] = {0, -1, NAN, INFINITY};
    static const char *const said[] = {"step is 0", "step is -1", "step is nan", "step is inf"};
    for (int i = 0; i < 4; i++) {
        m.problem.step = steps[i];
        assert_refused(&m, NULL, said[i]);
    }
    m.problem = good;
    m.problem.contacts = -1;
    assert_refused(&m, NULL, "contacts is negative");
    m.problem.velocities = -1;
    assert_refused(&m, NULL, "velocities is negative");
    const struct {
        size_t at;
        const char *name;
    } array[] = {{offsetof(sprag_general_problem, mass), "mass"},
                 {offsetof(sprag_general_problem, normal_jacobian), "normal_jacobian"},
                 {offsetof(sprag_general_problem, tangent_jacobian), "tangent_jacobian"},
                 {offsetof(sprag_general_problem, momentum), "momentum"},
                 {offsetof(sprag_general_problem, friction), "friction"},
                 {offsetof(sprag_general_problem, penetration), "penetration"},
                 {offsetof(sprag_general_problem, stiffness), "stiffness"},
                 {offsetof(sprag_general_problem, dissipation), "dissipation"}};
    for (size_t i = 0; i < sizeof array / sizeof *array; i++) {
        char expected[100];
        m.problem = good;
        memset((char *)&m.problem + array[i].at, 0, sizeof(double *));
        snprintf(expected, sizeof expected, "%s is missing", array[i].name);
        assert_refused(&m, NULL, expected);
    }
    m.problem = good;
    made_free(&m);
}
END_TEST

START_TEST(bad_options_are_named)
{
    made m = make_cubes(1, false, false);
    static const double values[] = {0, -1, NAN};
    const struct {
        size_t at;
        const char *name;
    } option[] = {{offsetof(sprag_general_options, stiction_tolerance), "stiction_tolerance"},
                  {offsetof(sprag_general_options, relative_tolerance), "relative_tolerance"},
                  {offsetof(sprag_general_options, theta_max), "theta_max"},
                  {offsetof(sprag_general_options, residual_tolerance), "residual_tolerance"}};
    for (size_t i = 0; i < sizeof option / sizeof *option; i++) {
        for (int k = 0; k < 3; k++) {
            sprag_general_options options = sprag_general_defaults();
            memcpy((char *)&options + option[i].at, &values[k], sizeof(double));
            char expected[100];
            snprintf(expected, sizeof expected, "%s is %g", option[i].name, values[k]);
            assert_refused(&m, &options, expected);
        }
    }
    const sprag_general_options good = sprag_general_defaults();
    sprag_general_options options = good;
    options.max_iterations = 0;
    assert_refused(&m, &options, "max_iterations is 0");
    options = good, options.stiction_tolerance = INFINITY;
    assert_refused(&m, &options, "stiction_tolerance is inf");
    options = good, options.relative_tolerance = 1;
    assert_refused(&m, &options, "relative_tolerance is 1");
    options = good, options.theta_max = 3.1416;
    assert_refused(&m, &options, "theta_max is 3.1416");
    options = good, options.residual_tolerance = 0.1;
    assert_refused(&m, &options, "residual_tolerance is 0.1");
    options = good, options.theta_max = acos(-1), options.max_iterations = 1;
    ck_assert_int_ne(made_solve(&m, &options, &scratch, NULL), SPRAG_BAD_PROBLEM);
    made_free(&m);
}
END_TEST

// ---- states

// With few updates, some hard problems are not solved. Then the solution is the best that was met,
// and all arrays belong to it.
START_TEST(failure_returns_the_best_iterate)
{
    sprag_general_options options = sprag_general_defaults();
    options.max_iterations = 6;
    uint64_t random = 5;
    int failures = 0;
    for (int i = 0; i < 60; i++) {
        made m = draw_problem(i % 2 ? DENSE : BODIES, 30, 20, 1e-2, false, true, &random);
        sprag_iteration history[6];
        sprag_stats stats = {.history = history, .history_room = 6};
        char message[200] = "";
        int nv = m.problem.velocities, nc = m.problem.contacts;
        memcpy(m.solution.velocity, m.guess, (size_t)nv * sizeof *m.guess);
        sprag_result result = sprag_general_solve(&m.problem, &options, &scratch, &m.solution,
                                                  &stats, message, sizeof message);
        sprag_scratch_reset(&scratch);
        double momentum = made_momentum_share(&m);
        if (result != SPRAG_OK) {
            failures++;
            ck_assert_double_le(made_law_error(&m, &options), 1e-12);
            ck_assert(strstr(message, "no root was found in 6 updates"));
            ck_assert_double_gt(stats.residual, 1e-6);
            ck_assert_double_ge(stats.residual, 0.99 * momentum);
        }
        for (int r = 0; r < 3 * nc; r++) {
            const double *row = r < nc ? m.normal + r * nv : m.tangent + (r - nc) * nv;
            double sum = 0;
            for (int k = 0; k < nv; k++) {
                sum += row[k] * m.solution.velocity[k];
            }
            ck_assert_double_eq_tol(
                sum, r < nc ? m.solution.normal_velocity[r] : m.solution.tangent_velocity[r - nc],
                1e-11);
        }
        for (int k = 0; k < nv; k++) {
            double friction = 0, force = 0;
            for (int r = 0; r < 2 * nc; r++) {
                friction += m.tangent[r * nv + k] * m.solution.friction_force[r];
            }
            for (int c = 0; c < nc; c++) {
                force += m.normal[c * nv + k] * m.solution.normal_force[c];
            }
            double scale = 1e-12 * largest(m.solution.normal_force, nc);
            ck_assert_double_eq_tol(friction, m.solution.generalized_friction[k], scale);
            ck_assert_double_eq_tol(friction + force, m.solution.generalized_force[k], scale);
        }
        made_free(&m);
    }
    ck_assert_int_gt(failures, 0);
}
END_TEST

static void assert_nothing_touched(const made *m, const double *velocity)
{
    int nv = m->problem.velocities, nc = m->problem.contacts;
    ck_assert_mem_eq(m->solution.velocity, velocity, (size_t)nv * sizeof(double));
    const double *const others[] = {
        m->solution.normal_velocity,      m->solution.tangent_velocity,
        m->solution.normal_force,         m->solution.friction_force,
        m->solution.generalized_friction, m->solution.generalized_force};
    const int counts[] = {nc, 2 * nc, nc, 2 * nc, nv, nv};
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        for (int i = 0; i < counts[k]; i++) {
            ck_assert_double_eq(others[k][i], 0);
        }
    }
}

START_TEST(without_memory_nothing_is_touched)
{
    made m = make_cubes(2, true, _i);
    sprag_scratch own = {.failed = true}; // as after a take that failed
    sprag_stats stats = {.iterations = -7};
    char message[10] = "x";
    memcpy(m.solution.velocity, m.guess, 12 * sizeof(double));
    ck_assert_int_eq(
        sprag_general_solve(&m.problem, NULL, &own, &m.solution, &stats, message, sizeof message),
        SPRAG_NO_MEMORY);
    ck_assert_str_eq(message, "");
    ck_assert_int_eq(stats.iterations, -7);
    assert_nothing_touched(&m, m.guess);
    sprag_scratch_free(&own);
    made_free(&m);
}
END_TEST

// A longer run never returns a worse solution: the best is kept.
START_TEST(more_updates_are_no_worse)
{
    uint64_t random = 5;
    int failures = 0;
    for (int i = 0; i < 30; i++) {
        made m = draw_problem(BODIES, 60, 40, 1e-2, false, true, &random);
        double before = INFINITY;
        for (int most = 1; most <= 50; most++) {
            sprag_general_options options = sprag_general_defaults();
            options.max_iterations = most;
            sprag_stats stats = {0};
            failures += made_solve(&m, &options, &scratch, &stats) != SPRAG_OK;
            double residual = made_momentum_residual(&m);
            ck_assert_double_le(residual, before * (1 + 1e-6));
            before = residual;
        }
        made_free(&m);
    }
    ck_assert_int_gt(failures, 1000);
}
END_TEST

// Both schemes take no more factorisations than they may, and an update takes one.
START_TEST(max_iterations_bounds_the_work)
{
    static const int bounds[] = {1, 2, 5, 20, 41, 60, 150, 400};
    bool one_way = _i;
    int exhausted = 0, continued = 0;
    for (size_t k = 0; k < sizeof bounds / sizeof *bounds; k++) {
        uint64_t random = 5;
        for (int i = 0; i < 20; i++) {
            made m = one_way
                         ? make_cubes(20 + i, true, true)
                         : draw_problem(i % 2 ? DENSE : BODIES, 60, 40, 1e-2, false, true, &random);
            sprag_general_options options = sprag_general_defaults();
            options.max_iterations = bounds[k];
            sprag_stats stats = {0};
            sprag_result result = made_solve(&m, &options, &scratch, &stats);
            ck_assert_int_le(stats.factorizations, bounds[k]);
            ck_assert_int_le(stats.iterations, stats.factorizations);
            exhausted += result != SPRAG_OK && stats.factorizations == bounds[k];
            continued += stats.strategy == SPRAG_STRATEGY_CONTINUATION;
            made_free(&m);
        }
    }
    ck_assert_int_gt(exhausted, 40);
    ck_assert(one_way || continued > 10);
}
END_TEST

// Slips that may turn by little at a time take more updates, in both schemes.
START_TEST(theta_max_bounds_the_turns)
{
    static const double theta[] = {3.14159 / 3, 0.2, 0.05};
    int updates[3] = {0};
    for (int k = 0; k < 3; k++) {
        uint64_t random = 5;
        for (int i = 0; i < 20; i++) {
            made m = draw_problem(BODIES, 30, 20, 1e-2, _i, false, &random);
            sprag_general_options options = sprag_general_defaults();
            options.theta_max = theta[k];
            sprag_stats stats = {0};
            ck_assert_int_eq(made_solve(&m, &options, &scratch, &stats), SPRAG_OK);
            updates[k] += stats.iterations;
            made_free(&m);
        }
    }
    ck_assert_int_gt(updates[1], updates[0] * 11 / 10);
    ck_assert_int_gt(updates[2], updates[1] * 11 / 10);
}
END_TEST

// A failure reports the strategies that were tried and every update.
START_TEST(failure_has_its_history)
{
    enum { ROOM = 150 };
    sprag_iteration history[ROOM + 1];
    sprag_general_options options = sprag_general_defaults();
    options.max_iterations = ROOM;
    uint64_t random = 5;
    int failures = 0;
    for (int i = 0; i < 60; i++) {
        made m = draw_problem(i % 2 ? DENSE : BODIES, 30, 20, 1e-2, false, true, &random);
        sprag_stats stats = {.history = history, .history_room = ROOM};
        if (made_solve(&m, &options, &scratch, &stats) != SPRAG_OK) {
            failures += stats.strategy == SPRAG_STRATEGY_CONTINUATION; // the last that there is
            ck_assert_int_eq(history[0].strategy, SPRAG_STRATEGY_NEWTON);
            ck_assert_int_eq(history[stats.iterations - 1].strategy, stats.strategy);
            for (int k = 1; k < stats.iterations; k++) {
                ck_assert(history[k].strategy >= history[k - 1].strategy);
            }
        }
        made_free(&m);
    }
    ck_assert_int_gt(failures, 0);
}
END_TEST

// ---- acceptance

enum { SINGULAR_MASS, FAST, HUGE_MOMENTUM, BIG_MOMENTUM };

// Replaces the last velocity by a copy of the first: M is of rank nv - 1, to rounding.
static void make_singular(made *m)
{
    int nv = m->problem.velocities, last = nv - 1;
    for (int i = 0; i < nv; i++) {
        m->mass[i * nv + last] = m->mass[i * nv];
    }
    for (int i = 0; i < nv; i++) {
        m->mass[last * nv + i] = m->mass[i];
    }
    m->mass[nv * nv - 1] = m->mass[0] * (1 + 4e-16);
}

// Numbers that rounding makes unsolvable: a singular mass, a momentum or speeds out of proportion.
// What is accepted balances, relative to what the step changes; what is not has a message.
START_TEST(ok_means_that_it_balances)
{
    uint64_t random = 3;
    int refused = 0;
    for (int i = 0; i < 30; i++) {
        made m = draw_problem((family)(i % 3), 30, 20, 1e-3, i % 2, _i % 2, &random);
        int nv = m.problem.velocities, kind = _i / 2;
        sprag_general_options options = sprag_general_defaults();
        double by = kind == FAST            ? 1e12 * options.stiction_tolerance
                    : kind == HUGE_MOMENTUM ? 1e10
                                            : 1e6;
        for (int k = 0; k < nv && kind != SINGULAR_MASS; k++) {
            m.momentum[k] *= by;
            m.guess[k] *= kind == FAST ? by : 1;
        }
        if (kind == SINGULAR_MASS) {
            make_singular(&m);
        }
        char message[200] = "";
        sprag_stats stats = {0};
        options.max_iterations = 1000;
        memcpy(m.solution.velocity, m.guess, (size_t)nv * sizeof *m.guess);
        sprag_result result = sprag_general_solve(&m.problem, &options, &scratch, &m.solution,
                                                  &stats, message, sizeof message);
        sprag_scratch_reset(&scratch);
        if (result == SPRAG_OK) {
            ck_assert_msg(made_momentum_share(&m) <= 1.01e-6, "%d: off by %g", i,
                          made_momentum_share(&m));
            ck_assert_double_le(stats.residual, 1e-6);
            ck_assert_str_eq(message, "");
        } else {
            refused++;
            ck_assert(strstr(message, result == SPRAG_BAD_PROBLEM ? "positive definite"
                                                                  : "no root was found"));
        }
        made_free(&m);
    }
    ck_assert(_i == 7 || _i == 6 || refused > 0);
}
END_TEST

// ---- outputs

START_TEST(outputs_are_optional)
{
    made m = draw_problem(_i ? DENSE : BODIES, 30, 20, 1e-3, false, false, &(uint64_t){4});
    ck_assert_int_eq(made_solve(&m, NULL, &scratch, NULL), SPRAG_OK);
    double v[30];
    memcpy(v, m.guess, sizeof v);
    sprag_general_solution only = {.velocity = v};
    ck_assert_int_eq(sprag_general_solve(&m.problem, NULL, &scratch, &only, NULL, NULL, 0),
                     SPRAG_OK);
    sprag_scratch_reset(&scratch);
    ck_assert_mem_eq(v, m.solution.velocity, sizeof v);
    double *const wanted[] = {m.solution.normal_velocity,      m.solution.tangent_velocity,
                              m.solution.normal_force,         m.solution.friction_force,
                              m.solution.generalized_friction, m.solution.generalized_force};
    const size_t counts[] = {20, 40, 20, 40, 30, 30};
    for (int k = 0; k < 6; k++) { // one at a time
        double out[40] = {0}, *array[6] = {NULL};
        array[k] = out;
        memcpy(v, m.guess, sizeof v);
        only =
            (sprag_general_solution){v, array[0], array[1], array[2], array[3], array[4], array[5]};
        sprag_general_solve(&m.problem, NULL, &scratch, &only, NULL, NULL, 0);
        sprag_scratch_reset(&scratch);
        ck_assert_mem_eq(out, wanted[k], counts[k] * sizeof *out);
    }
    made_free(&m);
}
END_TEST

START_TEST(missing_arguments_are_named)
{
    made m = make_cubes(1, true, false);
    char message[100];
    sprag_general_solution none = {0};
    ck_assert_int_eq(sprag_general_solve(NULL, NULL, &scratch, &m.solution, NULL, message, 100),
                     SPRAG_BAD_PROBLEM);
    ck_assert_str_eq(message, "problem is missing");
    ck_assert_int_eq(sprag_general_solve(&m.problem, NULL, NULL, &m.solution, NULL, message, 100),
                     SPRAG_BAD_PROBLEM);
    ck_assert_str_eq(message, "scratch is missing");
    ck_assert_int_eq(sprag_general_solve(&m.problem, NULL, &scratch, NULL, NULL, message, 100),
                     SPRAG_BAD_PROBLEM);
    ck_assert_str_eq(message, "solution is missing");
    ck_assert_int_eq(sprag_general_solve(&m.problem, NULL, &scratch, &none, NULL, message, 100),
                     SPRAG_BAD_PROBLEM);
    ck_assert_str_eq(message, "velocity (the guess) is missing");
    made_free(&m);
}
END_TEST

// ---- threads

typedef struct job {
    made m;
    pthread_t thread;
} job;

static void *work(void *argument)
{
    job *j = argument;
    sprag_scratch own = {0};
    for (int i = 0; i < 2; i++) {
        made_solve(&j->m, NULL, &own, NULL);
    }
    sprag_scratch_free(&own);
    return NULL;
}

// Solves at the same time have the bits of one alone, dense ones too.
START_TEST(threads_do_not_matter)
{
    enum { THREADS = 4 };
    for (int i = 0; i < 2; i++) {
        job jobs[THREADS];
        for (int k = 0; k < THREADS; k++) {
            uint64_t random = 30 + (uint64_t)i;
            jobs[k].m = draw_problem(i % 2 ? DENSE : BODIES, 90, 60, 1e-2, false, true, &random);
            ck_assert_int_eq(pthread_create(&jobs[k].thread, NULL, work, &jobs[k]), 0);
        }
        for (int k = 0; k < THREADS; k++) {
            pthread_join(jobs[k].thread, NULL);
        }
        made *first = &jobs[0].m;
        double v[90];
        memcpy(v, first->solution.velocity, sizeof v);
        made_solve(first, NULL, &scratch, NULL);
        ck_assert_mem_eq(v, first->solution.velocity, sizeof v);
        for (int k = 0; k < THREADS; k++) {
            ck_assert_mem_eq(v, jobs[k].m.solution.velocity, sizeof v);
            made_free(&jobs[k].m);
        }
    }
}
END_TEST

// Entries of any size: overflow on the way, or a matrix that is singular to rounding, is a result.
START_TEST(enormous_and_tiny_entries_have_a_result)
{
    uint64_t random = 21;
    int seen[SPRAG_NO_MEMORY + 1] = {0};
    for (int i = 0; i < 300; i++) {
        bool one_way = i % 2;
        made m = draw_problem((family)(i % 3), 12, 8, 1e-3, one_way, false, &random);
        double *const arrays[] = {m.momentum,  m.normal,      m.tangent, m.force, m.depth,
                                  m.stiffness, m.dissipation, m.guess,   m.mass};
        const int counts[] = {12, 96, 192, 8, 8, 8, 8, 12, 144};
        for (int k = 0; k < 3; k++) { // a few arrays as a whole
            int which = (int)(draw(&random) * 9);
            double by = draw_magnitude(&random, 1e-200, 1e200);
            for (int e = 0; e < counts[which]; e++) {
                arrays[which][e] *= by;
            }
        }
        sprag_general_options options = sprag_general_defaults();
        options.max_iterations = 10;
        sprag_result result = made_solve(&m, &options, &scratch, NULL);
        ck_assert(result >= SPRAG_OK && result <= SPRAG_BAD_PROBLEM);
        seen[result]++;
        if (result != SPRAG_OK) {
            ck_assert_mem_eq(m.solution.velocity, m.guess, 12 * sizeof(double));
        }
        for (int e = 0; result == SPRAG_OK && e < 12; e++) {
            ck_assert(isfinite(m.solution.velocity[e]));
        }
        made_free(&m);
    }
    ck_assert_int_gt(seen[SPRAG_OK], 0);
    ck_assert_int_lt(seen[SPRAG_OK], 300);
}
END_TEST

START_TEST(history_lists_every_update)
{
    enum { ROOM = 3000, LITTLE = 3 };
    made m = make_cubes(10, true, false);
    sprag_iteration *history = calloc(ROOM, sizeof *history), few[LITTLE + 1] = {{0}};
    sprag_stats stats = {.history = history, .history_room = ROOM};
    sprag_general_options options = sprag_general_defaults();
    assert_solved(&m, &options, &stats);
    ck_assert_int_gt(stats.iterations, LITTLE);
    ck_assert_int_le(stats.iterations, ROOM);
    for (int i = 0; i < stats.iterations; i++) {
        ck_assert(history[i].strategy >= SPRAG_STRATEGY_NEWTON &&
                  history[i].strategy <= SPRAG_STRATEGY_CONTINUATION);
        ck_assert(history[i].length > 0 && history[i].length <= 1);
        ck_assert(history[i].stiction >= options.stiction_tolerance && history[i].slip >= 0);
        ck_assert(isfinite(history[i].convergence));
    }
    const sprag_iteration *last = &history[stats.iterations - 1];
    ck_assert_double_le(last->convergence, 1e-9);
    ck_assert_double_le(stats.residual, 1e-9);
    ck_assert_double_eq(last->stiction, options.stiction_tolerance);
    ck_assert_int_eq(last->strategy, stats.strategy);
    ck_assert_int_eq(history[stats.iterations].strategy, SPRAG_STRATEGY_NONE);
    stats = (sprag_stats){.history = few, .history_room = LITTLE};
    assert_solved(&m, &options, &stats);
    ck_assert_mem_eq(few, history, LITTLE * sizeof *few);
    ck_assert_int_eq(few[LITTLE].strategy, SPRAG_STRATEGY_NONE);
    free(history);
    made_free(&m);
}
END_TEST

START_TEST(same_problem_gives_the_same_bits)
{
    uint64_t random = 9;
    for (int i = 0; i < 20; i++) {
        made m = draw_problem((family)(i % 3), 30, 20, 1e-2, false, true, &random);
        size_t size = 30 * sizeof(double);
        double v[30], tau[30];
        sprag_scratch fresh = {0};
        sprag_stats first = {0}, second = {0};
        sprag_result result = made_solve(&m, NULL, &fresh, &first);
        memcpy(v, m.solution.velocity, size);
        memcpy(tau, m.solution.generalized_force, size);
        ck_assert_int_eq(made_solve(&m, NULL, &scratch, &second), result);
        ck_assert_mem_eq(v, m.solution.velocity, size);
        ck_assert_mem_eq(tau, m.solution.generalized_force, size);
        ck_assert_int_eq(first.iterations, second.iterations);
        sprag_scratch_free(&fresh);
        made_free(&m);
    }
}
END_TEST

// Velocities in another order.
static made permuted(const made *m, const int *to)
{
    int nv = m->problem.velocities, nc = m->problem.contacts;
    made p = make(nv, nc, m->problem.step, m->problem.normal_force);
    for (int i = 0; i < nv; i++) {
        for (int j = 0; j < nv; j++) {
            p.mass[to[i] * nv + to[j]] = m->mass[i * nv + j];
        }
        for (int c = 0; c < nc; c++) {
            p.normal[c * nv + to[i]] = m->normal[c * nv + i];
            p.tangent[2 * c * nv + to[i]] = m->tangent[2 * c * nv + i];
            p.tangent[(2 * c + 1) * nv + to[i]] = m->tangent[(2 * c + 1) * nv + i];
        }
        p.momentum[to[i]] = m->momentum[i];
        p.guess[to[i]] = m->guess[i];
    }
    for (int c = 0; c < nc; c++) {
        p.friction[c] = m->friction[c];
        p.force[c] = m->force[c];
        p.depth[c] = m->depth[c];
        p.stiffness[c] = m->stiffness[c];
        p.dissipation[c] = m->dissipation[c];
    }
    return p;
}

// In blocks, in another order, and coupled by next to nothing, so that it is dense: one answer.
START_TEST(order_and_space_do_not_matter)
{
    made m = make_cubes(5, _i < 2, _i % 2 == 0);
    int nv = m.problem.velocities, to[30];
    for (int i = 0; i < nv; i++) {
        to[i] = i * 7 % nv; // 7 and 30 have no common factor
    }
    made p = permuted(&m, to), dense = permuted(&m, to);
    dense.mass[nv - 1] = dense.mass[nv * (nv - 1)] = 1e-300;
    made *each[] = {&m, &p, &dense};
    sprag_general_options options = sprag_general_defaults();
    for (int k = 0; k < 3; k++) {
        sprag_stats stats = {0};
        assert_solved(each[k], &options, &stats);
        for (int i = 0; i < nv; i++) {
            int at = k == 0 ? i : to[i];
            ck_assert_double_eq_tol(each[k]->solution.velocity[at], m.solution.velocity[i], 1e-11);
            ck_assert_double_eq_tol(each[k]->solution.generalized_force[at],
                                    m.solution.generalized_force[i], 1e-6);
        }
    }
    made_free(&m);
    made_free(&p);
    made_free(&dense);
}
END_TEST

START_TEST(scratch_stops_growing)
{
    sprag_scratch own = {0};
    made m = make_cubes(20, true, _i == 0);
    long settled = 0;
    for (int i = 0; i < 10; i++) {
        ck_assert_int_eq(made_solve(&m, NULL, &own, NULL), SPRAG_OK);
        settled = i == 1 ? own.allocations : settled;
    }
    ck_assert_int_eq(own.allocations, settled);
    sprag_scratch_free(&own);
    made_free(&m);
}
END_TEST

// ---- random families: all are solved

typedef struct quick {
    family family;
    int velocities, contacts;
    bool one_way, hard;
    double step;
    int problems;
} quick;

static const quick quicks[] = {
    {BODIES, 6, 4, true, false, 1e-2, 100},   {BODIES, 60, 40, true, false, 1e-2, 100},
    {DENSE, 30, 20, true, true, 1e-2, 100},   {STACK, 60, 40, true, true, 1e-2, 100},
    {DENSE, 1, 1, false, true, 1e-2, 100},    {DENSE, 30, 20, false, true, 1e-3, 100},
    {BODIES, 12, 8, false, false, 1e-2, 100}, {BODIES, 60, 40, false, false, 1e-4, 100},
    {BODIES, 60, 40, false, true, 1e-2, 100}, {DENSE, 30, 20, false, true, 1e-2, 100},
    {BODIES, 60, 40, false, true, 1e-3, 100}, {STACK, 60, 40, false, true, 1e-2, 100},
    {BODIES, 300, 200, false, true, 1e-2, 6}, {BODIES, 600, 400, false, true, 1e-3, 3},
};

START_TEST(random_problems_are_solved)
{
    const quick *q = &quicks[_i];
    sprag_general_options options = sprag_general_defaults();
    uint64_t random = 77;
    int solved = 0;
    for (int i = 0; i < q->problems; i++) {
        made m = draw_problem(q->family, q->velocities, q->contacts, q->step, q->one_way, q->hard,
                              &random);
        sprag_result result = made_solve(&m, &options, &scratch, NULL);
        if (result == SPRAG_OK) { // then it is one
            ck_assert_msg(made_is_solved(&m, &options), "%d: momentum off by %g, laws by %g", i,
                          made_momentum_error(&m), made_law_error(&m, &options));
        }
        solved += result == SPRAG_OK;
        made_free(&m);
    }
    ck_assert_int_eq(solved, q->problems);
}
END_TEST

int main(void)
{
    record_count = load("data/stribeck/reference.jsonl", records);
    Suite *suite = suite_create("general");
    ADD_TESTS(suite, "interface", {bad_entries_are_named, 1},
              {bad_sizes_and_missing_arrays_are_named, 1}, {bad_options_are_named, 1},
              {failure_returns_the_best_iterate, 1}, {without_memory_nothing_is_touched, 2},
              {failure_has_its_history, 1}, {more_updates_are_no_worse, 1},
              {max_iterations_bounds_the_work, 2}, {theta_max_bounds_the_turns, 2},
              {ok_means_that_it_balances, 8}, {outputs_are_optional, 2},
              {missing_arguments_are_named, 1}, {threads_do_not_matter, 1},
              {enormous_and_tiny_entries_have_a_result, 1}, {history_lists_every_update, 1},
              {same_problem_gives_the_same_bits, 1}, {order_and_space_do_not_matter, 4},
              {scratch_stops_growing, 2});
    ADD_TESTS(suite, "cubes and families", {cubes_have_the_known_sums, 4 * SIZES},
              {random_problems_are_solved, COUNT(quicks)});
    int code = run_suite(suite);
    for (int i = 0; i < record_count; i++) {
        json_decref(records[i]);
    }
    sprag_scratch_free(&scratch);
    return code;
}
