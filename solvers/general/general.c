#include "general.h"

#include <math.h>
#include <string.h>

#include "frozen_friction.h"
#include "general_system.h"
#include "strategy.h"
#include "stribeck_constants.h"
#include "vectors.h"

static const double pi = 3.14159265358979323846;

sprag_general_options sprag_general_defaults(void)
{
    return (sprag_general_options){.stiction_tolerance = 1e-4,
                                   .relative_tolerance = 1e-2,
                                   .theta_max = pi / 3,
                                   .max_iterations = 100,
                                   .residual_tolerance = 1e-13};
}

// ---- the check

typedef struct complaint {
    char *message;
    int size;
} complaint;

// Returns whether an entry is not finite or below `least`. x * 0 is not 0 if x is not finite.
SPRAG_VECTORS
static bool has_fault(const double *x, size_t count, double least)
{
    enum { LANES = 8 };
    double sum[LANES] = {0}, lowest[LANES], total = 0, low = INFINITY;
    for (int k = 0; k < LANES; k++) {
        lowest[k] = INFINITY;
    }
    size_t i = 0;
    for (; i + 2 * LANES <= count; i += LANES) { // short arrays are faster one by one
        for (int k = 0; k < LANES; k++) {
            sum[k] += x[i + (size_t)k] * 0;
            lowest[k] = x[i + (size_t)k] < lowest[k] ? x[i + (size_t)k] : lowest[k];
        }
    }
    for (; i < count; i++) {
        total += x[i] * 0;
        low = x[i] < low ? x[i] : low;
    }
    for (int k = 0; k < LANES; k++) {
        total += sum[k];
        low = lowest[k] < low ? lowest[k] : low;
    }
    return total != 0 || low < least;
}

static sprag_result check_array(complaint *to, const char *name, const double *x, int rows,
                                int columns, double least)
{
    if (!x && rows > 0 && columns > 0) {
        return sprag_bad_problem(to->message, to->size, "%s is missing", name);
    }
    bool faulty = has_fault(x, (size_t)rows * (size_t)columns, least);
    for (int i = 0; faulty && i < rows; i++) { // find the entry
        for (int j = 0; j < columns; j++) {
            double e = x[(size_t)i * (size_t)columns + (size_t)j];
            if ((!isfinite(e) || e < least) && columns > 1) {
                return sprag_bad_problem(to->message, to->size, "%s[%d][%d] is %g", name, i, j, e);
            }
            if (!isfinite(e) || e < least) {
                return sprag_bad_problem(to->message, to->size, "%s[%d] is %g", name, i, e);
            }
        }
    }
    return SPRAG_OK;
}

// Compares bit by bit, as most matrices are exactly symmetric, in tiles, as columns of a large
// matrix are far apart in memory.
static bool is_symmetric(const double *M, int n)
{
    enum { TILE = 16 };
    int unequal = 0;
    for (int left = 0; left < n; left += TILE) {
        for (int i = left + 1; i < n; i++) {
            int end = i < left + TILE ? i : left + TILE;
            for (int j = left; j < end; j++) {
                unequal |=
                    M[(size_t)i * (size_t)n + (size_t)j] != M[(size_t)j * (size_t)n + (size_t)i];
            }
        }
    }
    return !unequal;
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
    if (is_symmetric(M, n)) {
        return SPRAG_OK;
    }
    for (int i = 0; i < n; i++) {
        const double *row = M + (size_t)i * (size_t)n;
        for (int j = 0; j < i; j++) {
            double other = M[(size_t)j * (size_t)n + (size_t)i];
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
    if (!(o->residual_tolerance > 0)) {
        return sprag_bad_problem(to->message, to->size,
                                 "residual_tolerance is %g, it must be positive",
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
    } array[] = {{"mass", p->mass, nv, nv, -INFINITY, true},
                 {"normal_jacobian", p->normal_jacobian, nc, nv, -INFINITY, true},
                 {"tangent_jacobian", p->tangent_jacobian, 2 * nc, nv, -INFINITY, true},
                 {"momentum", p->momentum, nv, 1, -INFINITY, true},
                 {"velocity (the guess)", guess, nv, 1, -INFINITY, true},
                 {"friction", p->friction, nc, 1, 0, true},
                 {"normal_force", p->normal_force, nc, 1, 0, p->normal_force},
                 {"penetration", p->penetration, nc, 1, -INFINITY, !p->normal_force},
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

static double largest(const double *x, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++) {
        most = fmax(most, fabs(x[i]));
    }
    return most;
}

static sprag_result solve_given(sprag_strategy_state *w)
{
    sprag_system *system = w->system;
    for (int i = 0; i < system->points; i++) {
        w->bound[i] = system->point[i].given;
    }
    memcpy(w->v, system->start, (size_t)system->size * sizeof *w->v);
    sprag_result result =
        sprag_frozen_friction_solve(system, w->bound, w->options.stiction, w->options.tolerance,
                                    STRIBECK_FROZEN_FRICTION_ITERATIONS, w->v, w->dv, &w->stats);
    if (result != SPRAG_OK && !(w->stats.residual <= w->options.rounding)) {
        result = sprag_frozen_friction_solve_staged(system, w->bound, 10, w->options.stiction,
                                                    w->options.tolerance, w->v, w->dv, &w->stats);
    }
    return w->stats.residual <= w->options.rounding ? SPRAG_OK : result;
}

static sprag_result solve_system(const sprag_general_problem *p,
                                 const sprag_general_options *options, sprag_strategy_state *w)
{
    sprag_system *system = w->system;
    w->options.stiction = w->options.finest = w->stats.stiction = options->stiction_tolerance;
    w->options.tolerance = options->residual_tolerance;
    w->options.rounding = 1e-9 + 4e-16 * largest(system->free, system->size) / w->options.stiction;
    w->options.small = options->relative_tolerance;
    w->options.theta = options->theta_max;
    w->options.direct_work = INFINITY;
    w->options.max_iterations = options->max_iterations;
    w->options.patience = 40;
    w->options.max_continuation = 20 * options->max_iterations;
    w->options.paths = 4;
    w->options.softest = 10;
    w->options.stride = 0.2;
    w->options.extrapolates = true;
    w->options.polish_passes = 12;
    w->stats.strategy = SPRAG_STRATEGY_NEWTON;
    return p->normal_force ? solve_given(w) : sprag_strategy_solve(w);
}

// Writes the contact forces and velocities and the generalized forces Jt' ft and Jn' fn.
static void write_forces(const sprag_general_problem *p, const sprag_chart *chart,
                         sprag_system *system, sprag_general_solution *solution)
{
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
        solution->generalized_force[i] = sum[chart->place[i]] / p->step;
    }
    for (int c = 0; c < p->contacts; c++) {
        system->impulse[c][0] = 0;
    }
    system->space->gather(system, sum);
    for (int i = 0; i < p->velocities; i++) {
        solution->generalized_friction[i] = sum[chart->place[i]] / p->step;
    }
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
    if (check(&to, problem, options, solution->velocity) != SPRAG_OK) {
        return SPRAG_BAD_PROBLEM;
    }
    sprag_system system;
    sprag_chart chart;
    if (!sprag_chart_choose(problem, &chart, scratch)) {
        return SPRAG_NO_MEMORY;
    }
    sprag_result result =
        sprag_general_prepare(problem, options, &chart, solution->velocity, &system, scratch);
    if (result == SPRAG_SINGULAR) {
        return sprag_bad_problem(message, size, "mass is not positive definite");
    }
    sprag_strategy_state w = {0};
    if (stats) {
        w.stats.history = stats->history;
        w.stats.history_room = stats->history_room;
    }
    if (result != SPRAG_OK || sprag_strategy_open(&w, &system, scratch) != SPRAG_OK) {
        return SPRAG_NO_MEMORY;
    }
    result = solve_system(problem, options, &w);
    if (result != SPRAG_OK) {
        memcpy(w.v, system.start, (size_t)system.size * sizeof *w.v);
        sprag_system_place(&system, w.v);
        sprag_system_residual(&system, w.v, w.options.stiction, NULL);
    }
    for (int i = 0; i < problem->velocities; i++) {
        solution->velocity[i] = w.v[chart.place[i]];
    }
    write_forces(problem, &chart, &system, solution);
    if (stats) {
        *stats = w.stats;
    }
    return result;
}
