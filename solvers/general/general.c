#include "general.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "continuation.h"
#include "general_constants.h"
#include "general_residual.h"
#include "general_system.h"
#include "vectors.h"

static const double pi = 3.14159265358979323846;

sprag_general_options sprag_general_defaults(void)
{
    return (sprag_general_options){.stiction_tolerance = 1e-4,
                                   .relative_tolerance = 1e-2,
                                   .theta_max = pi / 3,
                                   .max_iterations = 20000,
                                   .residual_tolerance = 1e-13};
}

// ---- the check

typedef struct complaint {
    char *message;
    int size;
} complaint;

static bool is_fit(double x, double least)
{
    return x >= least && x <= DBL_MAX;
}

SPRAG_VECTORS
static bool all_fit(const double *x, size_t count, double least)
{
    long long fit = 1;
    for (size_t i = 0; i < count; i++) {
        fit &= is_fit(x[i], least);
    }
    return fit;
}

static sprag_result check_array(complaint *to, const char *name, const double *x, int rows,
                                int columns, double least)
{
    if (!x && rows > 0 && columns > 0) {
        return sprag_bad_problem(to->message, to->size, "%s is missing", name);
    }
    if (all_fit(x, (size_t)rows * (size_t)columns, least)) {
        return SPRAG_OK;
    }
    size_t at = 0;
    while (is_fit(x[at], least)) {
        at++;
    }
    const int row = (int)(at / (size_t)columns), column = (int)(at % (size_t)columns);
    return columns > 1 ? sprag_bad_problem(to->message, to->size, "%s[%d][%d] is %g", name, row,
                                           column, x[at])
                       : sprag_bad_problem(to->message, to->size, "%s[%d] is %g", name, row, x[at]);
}

static sprag_result check_mass(complaint *to, const double *M, int n)
{
    for (int i = 0; i < n; i++) {
        const double *row = M + (size_t)i * (size_t)n;
        if (!(row[i] > 0)) {
            return sprag_bad_problem(to->message, to->size,
                                     "mass[%d][%d] is %g, a diagonal entry must be positive", i, i,
                                     row[i]);
        }
    }
    for (int i = 0; i < n; i++) {
        const double *row = M + (size_t)i * (size_t)n;
        for (int j = 0; j < i; j++) {
            double other = M[(size_t)j * (size_t)n + (size_t)i];
            if (row[j] == other) {
                continue;
            }
            double scale = sqrt(row[i] * M[(size_t)j * (size_t)n + (size_t)j]);
            if (!(fabs(row[j] - other) <= 1e-9 * scale)) {
                return sprag_bad_problem(to->message, to->size,
                                         "mass[%d][%d] is %g, but mass[%d][%d] is %g", i, j, row[j],
                                         j, i, other);
            }
        }
    }
    return SPRAG_OK;
}

static sprag_result check_options(complaint *to, const sprag_general_options *o)
{
    if (!(o->stiction_tolerance > 0) || !isfinite(o->stiction_tolerance)) {
        return sprag_bad_problem(to->message, to->size,
                                 "stiction_tolerance is %g, it must be positive",
                                 o->stiction_tolerance);
    }
    if (!(o->relative_tolerance > 0) || !(o->relative_tolerance < 1)) {
        return sprag_bad_problem(to->message, to->size,
                                 "relative_tolerance is %g, it must be between 0 and 1",
                                 o->relative_tolerance);
    }
    if (!(o->theta_max > 0) || !(o->theta_max <= pi)) {
        return sprag_bad_problem(to->message, to->size,
                                 "theta_max is %g, it must be between 0 and pi", o->theta_max);
    }
    if (o->max_iterations < 1) {
        return sprag_bad_problem(to->message, to->size, "max_iterations is %d, it must be positive",
                                 o->max_iterations);
    }
    if (!(o->residual_tolerance > 0) || !(o->residual_tolerance < 0.1)) {
        return sprag_bad_problem(to->message, to->size,
                                 "residual_tolerance is %g, it must be between 0 and 0.1",
                                 o->residual_tolerance);
    }
    return SPRAG_OK;
}

static sprag_result check(complaint *to, const sprag_general_problem *p,
                          const sprag_general_options *options, const double *guess)
{
    int nv = p->velocities, nc = p->contacts;
    if (nv < 0 || nc < 0) {
        return sprag_bad_problem(to->message, to->size, "%s is negative",
                                 nv < 0 ? "velocities" : "contacts");
    }
    if (!(p->step > 0) || !isfinite(p->step)) {
        return sprag_bad_problem(to->message, to->size, "step is %g, it must be positive", p->step);
    }
    const struct {
        const char *name;
        const double *x;
        int rows, columns;
        double least;
        bool wanted;
    } array[] = {{"mass", p->mass, nv, nv, -DBL_MAX, true},
                 {"normal_jacobian", p->normal_jacobian, nc, nv, -DBL_MAX, true},
                 {"tangent_jacobian", p->tangent_jacobian, 2 * nc, nv, -DBL_MAX, true},
                 {"momentum", p->momentum, nv, 1, -DBL_MAX, true},
                 {"velocity (the guess)", guess, nv, 1, -DBL_MAX, true},
                 {"friction", p->friction, nc, 1, 0, true},
                 {"normal_force", p->normal_force, nc, 1, 0, p->normal_force},
                 {"penetration", p->penetration, nc, 1, -DBL_MAX, !p->normal_force},
                 {"stiffness", p->stiffness, nc, 1, 0, !p->normal_force},
                 {"dissipation", p->dissipation, nc, 1, 0, !p->normal_force}};
    for (size_t i = 0; i < sizeof array / sizeof *array; i++) {
        if (array[i].wanted && check_array(to, array[i].name, array[i].x, array[i].rows,
                                           array[i].columns, array[i].least) != SPRAG_OK) {
            return SPRAG_BAD_PROBLEM;
        }
    }
    return check_mass(to, p->mass, nv) != SPRAG_OK ? SPRAG_BAD_PROBLEM : check_options(to, options);
}

// ---- solve

// One solve: the iteration, and arrays of its own.
typedef struct run {
    sprag_system system;
    sprag_chart chart;
    sprag_newton_state newton;
    sprag_stats stats;
    sprag_general_solution solution; // the caller's arrays, or others where the caller has none
    double *guess;                   // nv
    double *work;                    // 2 nv
} run;

static double *take_missing(double *array, int count, sprag_scratch *scratch)
{
    return array ? array : SPRAG_TAKE(scratch, count, double);
}

static bool take_arrays(run *r, const sprag_general_problem *p,
                        const sprag_general_solution *solution, sprag_scratch *scratch)
{
    int nv = p->velocities, nc = p->contacts, n = r->system.size;
    r->newton = (sprag_newton_state){.v = SPRAG_TAKE(scratch, n, double),
                                     .dv = SPRAG_TAKE(scratch, n, double),
                                     .bound = SPRAG_TAKE(scratch, nc, double),
                                     .best = SPRAG_TAKE(scratch, n, double),
                                     .best_residual = INFINITY};
    r->guess = SPRAG_TAKE(scratch, nv, double);
    r->work = SPRAG_TAKE(scratch, 2 * (size_t)nv, double);
    sprag_general_solution *s = &r->solution;
    *s = *solution;
    s->normal_velocity = take_missing(s->normal_velocity, nc, scratch);
    s->tangent_velocity = take_missing(s->tangent_velocity, 2 * nc, scratch);
    s->normal_force = take_missing(s->normal_force, nc, scratch);
    s->friction_force = take_missing(s->friction_force, 2 * nc, scratch);
    s->generalized_friction = take_missing(s->generalized_friction, nv, scratch);
    s->generalized_force = take_missing(s->generalized_force, nv, scratch);
    return !scratch->failed;
}

static void copy(double *to, const double *from, int n)
{
    for (int i = 0; i < n; i++) {
        to[i] = from[i];
    }
}

static double largest(const double *x, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++) {
        most = fmax(most, fabs(x[i]));
    }
    return most;
}

static double evaluate(run *r, const double *v, double stiction)
{
    sprag_system_place(&r->system, v);
    return sprag_system_residual(&r->system, v, stiction, NULL);
}

// Newton's method from the guess or the free velocity, whichever balances better, then
// continuation. Leaves the iterate of least residual in newton.v, with the system evaluated there.
static sprag_result solve_system(run *r, const sprag_general_options *options)
{
    const sprag_system *system = &r->system;
    double vs = options->stiction_tolerance, fastest = largest(system->free, system->size) / vs;
    int most = options->max_iterations;
    sprag_newton_limits limits = {
        .small = options->relative_tolerance,
        .theta = options->theta_max,
        .tolerance = options->residual_tolerance,
        .rounding =
            fmin(GENERAL_ROUNDING_MOST, GENERAL_ROUNDING + GENERAL_ROUNDING_SPEED * fastest),
        .iterations = most,
        .patience = GENERAL_NEWTON_PATIENCE,
        .progress = GENERAL_NEWTON_PROGRESS};
    r->stats.strategy = SPRAG_STRATEGY_NEWTON;
    r->stats.stiction = r->stats.stiction_least = vs;
    bool moves = evaluate(r, system->free, vs) < evaluate(r, system->start, vs);
    copy(r->newton.v, moves ? system->free : system->start, system->size);
    copy(r->newton.best, r->newton.v, system->size);
    r->stats.convergence = evaluate(r, r->newton.v, vs);
    sprag_result result = sprag_newton(&r->system, &limits, vs, &r->newton, &r->stats);
    if (result != SPRAG_OK && result != SPRAG_NO_MEMORY && r->stats.factorizations < most) {
        r->stats.strategy = SPRAG_STRATEGY_CONTINUATION;
        result = sprag_continuation(&r->system, &limits, vs, &r->newton, &r->stats);
    }
    if (result != SPRAG_OK) {
        copy(r->newton.v, r->newton.best, system->size);
        evaluate(r, r->newton.v, vs);
    }
    return result;
}

// Writes velocities, contact forces and the generalized forces Jt' ft and Jn' fn.
static void write_solution(run *r, const sprag_general_problem *p)
{
    sprag_general_solution *solution = &r->solution;
    sprag_system *system = &r->system;
    const int *place = r->chart.place;
    double *sum = system->work;
    for (int c = 0; c < p->contacts; c++) {
        solution->normal_force[c] = system->impulse[c][0] / p->step;
        solution->friction_force[2 * c] = system->impulse[c][1] / p->step;
        solution->friction_force[2 * c + 1] = system->impulse[c][2] / p->step;
        solution->normal_velocity[c] = system->slip[c][0];
        solution->tangent_velocity[2 * c] = system->slip[c][1];
        solution->tangent_velocity[2 * c + 1] = system->slip[c][2];
    }
    system->space->gather(system, sum);
    for (int i = 0; i < p->velocities; i++) {
        solution->velocity[i] = r->newton.v[place[i]];
        solution->generalized_force[i] = sum[place[i]] / p->step;
    }
    for (int c = 0; c < p->contacts; c++) {
        system->impulse[c][0] = 0;
    }
    system->space->gather(system, sum);
    for (int i = 0; i < p->velocities; i++) {
        solution->generalized_friction[i] = sum[place[i]] / p->step;
    }
}

// Accepts the solution or refuses it.
static sprag_result judge(run *r, const sprag_general_problem *p,
                          const sprag_general_options *options, complaint *to)
{
    sprag_general_residual residual =
        sprag_general_measure(p, options, r->guess, &r->solution, r->work);
    r->stats.residual = sprag_general_error(&residual);
    if (r->stats.residual <= fmax(GENERAL_ACCEPTED, options->residual_tolerance)) {
        return SPRAG_OK;
    }
    if (to->message && to->size > 0) {
        snprintf(to->message, (size_t)to->size,
                 "no root was found in %d updates; of what the step changes, momentum is off by "
                 "%.1e, normal forces by %.1e, friction by %.1e",
                 r->stats.iterations, residual.momentum, residual.normal, residual.friction);
    }
    return SPRAG_NOT_CONVERGED;
}

static sprag_result check_arguments(complaint *to, const sprag_general_problem *problem,
                                    const sprag_scratch *scratch,
                                    const sprag_general_solution *solution)
{
    const char *missing = !problem    ? "problem"
                          : !scratch  ? "scratch"
                          : !solution ? "solution"
                                      : NULL;
    return missing ? sprag_bad_problem(to->message, to->size, "%s is missing", missing) : SPRAG_OK;
}

sprag_result sprag_general_solve(const sprag_general_problem *problem,
                                 const sprag_general_options *options, sprag_scratch *scratch,
                                 sprag_general_solution *solution, sprag_stats *stats,
                                 char *message, int size)
{
    sprag_general_options defaults = sprag_general_defaults();
    complaint to = {message, size};
    if (message && size > 0) {
        message[0] = '\0';
    }
    options = options ? options : &defaults;
    if (check_arguments(&to, problem, scratch, solution) != SPRAG_OK ||
        check(&to, problem, options, solution->velocity) != SPRAG_OK) {
        return SPRAG_BAD_PROBLEM;
    }
    run r = {0};
    if (!sprag_chart_choose(problem, &r.chart, scratch)) {
        return SPRAG_NO_MEMORY;
    }
    sprag_result result =
        sprag_general_prepare(problem, options, &r.chart, solution->velocity, &r.system, scratch);
    if (result == SPRAG_SINGULAR) {
        return sprag_bad_problem(message, size, "mass is not positive definite");
    }
    if (result != SPRAG_OK || !take_arrays(&r, problem, solution, scratch)) {
        return SPRAG_NO_MEMORY;
    }
    if (stats) {
        r.stats.history = stats->history;
        r.stats.history_room = stats->history_room;
    }
    copy(r.guess, solution->velocity, problem->velocities);
    if (solve_system(&r, options) == SPRAG_NO_MEMORY) {
        return SPRAG_NO_MEMORY;
    }
    write_solution(&r, problem);
    result = judge(&r, problem, options, &to);
    if (stats) {
        *stats = r.stats;
    }
    return result;
}
