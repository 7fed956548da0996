#include "solvers/stribeck.h"

#include <math.h>
#include <string.h>

#include "solvers/convex.h"
#include "solvers/linalg.h"
#include "solvers/system.h"

sprag_stribeck_options sprag_stribeck_defaults(void)
{
    return (sprag_stribeck_options){.stiction_tolerance = 1e-4,
                                    .stiction_at_rest = 1e-6,
                                    .tolerance = 1e-6,
                                    .softness = 1e-3,
                                    .row_softness = 1e-8,
                                    .max_iterations = 25,
                                    .max_continuation = 250,
                                    .lagged_passes = 3,
                                    .direct_bodies = 200};
}

typedef struct work {
    sprag_system system;
    const sprag_stribeck_options *options;
    double stiction;
    double *v, *dv, *good, *bound; // 6 nodes each; bound: one per contact
    sprag_stats stats;
} work;

// ---- limiter: how far one slip may change at once, as a fraction of the update

// The stretch of v + alpha dv after which it has turned by theta: sine rule in the triangle of v
// and dv.
static double turn_limit(const double v[2], const double dv[2], double theta)
{
    double cross = fabs(v[0] * dv[1] - v[1] * dv[0]);
    double along = v[0] * dv[0] + v[1] * dv[1];
    double square = v[0] * v[0] + v[1] * v[1];
    double turned = cross * cos(theta) - along * sin(theta);
    double alpha = turned > 0 ? square * sin(theta) / turned : 1;
    return fmin(1, alpha);
}

// arXiv 1909.05700, section IV.B: an update may enter the stiction circle but not jump over it, and
// may not turn a slip by more than 60 degrees. small: slips below this part of the tolerance are at
// rest.
static double limit_slip(const double v[2], const double dv[2], double tolerance)
{
    static const double small = 1e-2, theta = 1.0471975511965976;
    double end[2] = {v[0] + dv[0], v[1] + dv[1]};
    double change = hypot(dv[0], dv[1]);
    double x = hypot(v[0], v[1]) / tolerance, x1 = hypot(end[0], end[1]) / tolerance;
    if (change < small * tolerance) {
        return 1;
    }
    if (x < small && x1 > 1) { // from rest to sliding: first to where the law is steep
        return tolerance / (2 * change);
    }
    if (x > 1 && x1 < small) { // and back
        return 1 - tolerance / (2 * change);
    }
    if (x < 1 || x1 < 1) {
        return 1;
    }
    double nearest = -(v[0] * dv[0] + v[1] * dv[1]) / (change * change);
    if (nearest > 0 && nearest < 1) {
        double miss = hypot(v[0] + nearest * dv[0], v[1] + nearest * dv[1]) / tolerance;
        if (miss < small) {
            return nearest - tolerance / (2 * change);
        }
        if (miss < 1) {
            return nearest;
        }
    }
    double cosine = (v[0] * end[0] + v[1] * end[1]) / (x * x1 * tolerance * tolerance);
    return cosine > cos(theta) ? 1 : turn_limit(v, dv, theta);
}

static double limit_update(const sprag_system *system, double stiction)
{
    double alpha = 1;
    for (int i = 0; i < system->points; i++) {
        const sprag_point *point = &system->point[i];
        for (int c = point->cone; c < point->cone + point->cones; c++) {
            double slip[2], change[2], tolerance;
            if (sprag_system_cone_slip(system, point, &system->cone[c], stiction, slip, change,
                                       &tolerance)) {
                alpha = fmin(alpha, limit_slip(slip, change, tolerance));
            }
        }
    }
    return alpha;
}

// ---- phases

// Bounds as they are at the last residual.
static void take_bounds(work *w, double relaxation)
{
    for (int i = 0; i < w->system.points; i++) {
        w->bound[i] += relaxation * (w->system.impulse[i][0] - w->bound[i]);
    }
}

// How far to go along an update. The limiter sees slips only: where a row saturates, or where the
// problem is convex, the exact search with the bounds of this moment sees the rest.
static double choose_length(work *w, double stiction)
{
    sprag_system *system = &w->system;
    double alpha = limit_update(system, stiction);
    if (system->convex || sprag_system_meets_bound(system)) {
        take_bounds(w, 1);
        alpha = fmin(alpha, sprag_system_search(system, w->v, w->dv, stiction, w->bound));
    }
    return alpha;
}

// Newton on the coupled equations from w->v. Leaves the residual of the last iterate in the stats.
static sprag_result newton(work *w, double stiction, double tolerance, int iterations)
{
    sprag_system *system = &w->system;
    sprag_system_place(system, w->v);
    w->stats.residual = sprag_system_residual(system, w->v, stiction, NULL);
    for (int it = 0; it < iterations; it++) {
        if (w->stats.residual <= tolerance) {
            return SPRAG_OK;
        }
        sprag_result result = sprag_system_factor(system, stiction, NULL);
        w->stats.factorizations++;
        if (result != SPRAG_OK) {
            return result;
        }
        sprag_system_update(system, NULL, w->dv);
        sprag_system_move(system, w->v, choose_length(w, stiction), w->dv);
        w->stats.iterations++;
        w->stats.residual = sprag_system_residual(system, w->v, stiction, NULL);
        if (!isfinite(w->stats.residual)) {
            return SPRAG_SINGULAR;
        }
    }
    return w->stats.residual <= tolerance ? SPRAG_OK : SPRAG_NOT_CONVERGED;
}

static void copy(double *to, const double *from, int n)
{
    memcpy(to, from, (size_t)n * sizeof *to);
}

// A: from the velocity before the step or the free one, whichever balances better.
static sprag_result direct(work *w)
{
    sprag_system *system = &w->system;
    int n = 6 * system->nodes;
    sprag_system_place(system, system->start);
    double before = sprag_system_residual(system, system->start, w->stiction, NULL);
    sprag_system_place(system, system->free);
    double after = sprag_system_residual(system, system->free, w->stiction, NULL);
    copy(w->v, before < after ? system->start : system->free, n);
    return newton(w, w->stiction, w->options->tolerance, w->options->max_iterations);
}

// Bounds to start the lagged phases from: the last step's forces, else what stops the approach in
// four contacts.
static void guess_bounds(work *w)
{
    const sprag_problem *problem = w->system.problem;
    sprag_system_place(&w->system, w->system.free);
    for (int i = 0; i < w->system.points; i++) {
        const sprag_point *point = &w->system.point[i];
        double force = problem->contact[i].force_guess;
        double inverse_mass = 4 * point->inverse_mass;
        w->bound[i] = force >= 0 ? force * problem->step
                      : inverse_mass > 0
                          ? fmax(0, (point->bias - w->system.slip[i][0]) / inverse_mass)
                          : 0;
    }
}

// B: the frozen solution first, then a few coupled updates.
static sprag_result polish(work *w)
{
    enum { POLISH = 15 };
    guess_bounds(w);
    copy(w->v, w->system.free, 6 * w->system.nodes);
    sprag_result result = sprag_convex_solve_staged(&w->system, w->bound, 0.1, w->stiction,
                                                    w->options->tolerance, w->v, w->dv, &w->stats);
    if (result == SPRAG_NO_MEMORY) {
        return result;
    }
    return newton(w, w->stiction, w->options->tolerance, POLISH);
}

// C: the stiction tolerance shrinks from a soft one; where Newton fails, by a smaller factor.
static sprag_result continuation(work *w)
{
    static const double soft = 0.1, stage_tolerance = 1e-2, least_factor = 0.85;
    int n = 6 * w->system.nodes, left = w->options->max_continuation;
    double reached = 0, stiction = fmax(soft, w->stiction), factor = 0.1;
    copy(w->v, w->system.free, n);
    while (left > 0) {
        bool last = stiction <= w->stiction;
        double tolerance = last ? w->options->tolerance : stage_tolerance;
        int before = w->stats.iterations, most = w->options->max_iterations;
        sprag_result result = newton(w, stiction, tolerance, most < left ? most : left);
        left -= w->stats.iterations - before;
        if (result == SPRAG_NO_MEMORY || (result == SPRAG_OK && last)) {
            return result;
        }
        if (result == SPRAG_OK) {
            copy(w->good, w->v, n);
            reached = stiction;
        } else {
            factor = sqrt(factor);
            if (reached == 0 || factor > least_factor) {
                return SPRAG_NOT_CONVERGED;
            }
            copy(w->v, w->good, n);
        }
        stiction = fmax(reached * factor, w->stiction);
    }
    return SPRAG_NOT_CONVERGED;
}

static double bound_error(const work *w)
{
    double error = 0, largest = 0;
    for (int i = 0; i < w->system.points; i++) {
        const sprag_point *point = &w->system.point[i];
        for (int c = point->cone; c < point->cone + point->cones; c++) {
            double mu = w->system.cone[c].coefficient, normal = w->system.impulse[i][0];
            if (!w->system.cone[c].force && isfinite(mu)) {
                error = fmax(error, mu * fabs(normal - w->bound[i]));
                largest = fmax(largest, mu * fmax(normal, w->bound[i]));
            }
        }
    }
    return largest > 0 ? error / largest : 0;
}

// D: frozen bounds, in passes that bring them towards the normal impulses. Accepted with what is
// left of the difference: an error of the friction bound, never one of momentum.
static sprag_result lagged(work *w)
{
    static const double acceptable = 1e-3;
    int n = 6 * w->system.nodes;
    guess_bounds(w);
    copy(w->v, w->system.free, n);
    w->stats.residual = INFINITY;
    sprag_result result = SPRAG_NOT_CONVERGED;
    for (int pass = 0; pass < w->options->lagged_passes; pass++) {
        if (pass > 0) {
            take_bounds(w, pass == 1 ? 1 : 0.5);
        }
        result =
            sprag_convex_solve_staged(&w->system, w->bound, pass == 0 ? 0.1 : 0.01, w->stiction,
                                      w->options->tolerance, w->v, w->dv, &w->stats);
        if (result == SPRAG_SINGULAR || result == SPRAG_NO_MEMORY) {
            return result;
        }
    }
    w->stats.bound_error = bound_error(w);
    return w->stats.residual <= acceptable ? SPRAG_OK : SPRAG_NOT_CONVERGED;
}

static sprag_result run_phases(work *w)
{
    const sprag_stribeck_options *options = w->options;
    bool small = w->system.nodes <= options->direct_bodies;
    sprag_result result = SPRAG_NOT_CONVERGED;
    if (small) {
        w->stats.phase = 'A';
        result = direct(w);
    }
    if (small && w->system.bounded && result != SPRAG_OK && result != SPRAG_NO_MEMORY) {
        w->stats.phase = 'B';
        result = polish(w);
    }
    if (small && result != SPRAG_OK && result != SPRAG_NO_MEMORY) {
        w->stats.phase = 'C';
        result = continuation(w);
    }
    if (result != SPRAG_OK && result != SPRAG_NO_MEMORY) {
        w->stats.phase = 'D';
        result = lagged(w);
    }
    return result;
}

// ---- in and out

// A thousandth of the fastest motion, within bounds: creep at rest is that of the lower, the cost
// of motion that of the upper.
static double choose_stiction(const sprag_problem *problem, const sprag_stribeck_options *options)
{
    double fastest = 0;
    for (int i = 0; i < problem->bodies; i++) {
        fastest = fmax(fastest, norm3(problem->body[i].velocity));
    }
    double moving = fmax(options->stiction_at_rest, 1e-3 * fastest);
    return fmin(moving, options->stiction_tolerance);
}

static void write_solution(const work *w, sprag_solution *solution)
{
    const sprag_system *system = &w->system;
    const sprag_problem *problem = system->problem;
    for (int b = 0; b < problem->bodies; b++) {
        copy(solution->velocity[b], problem->body[b].velocity, 6); // kinematic ones keep it
    }
    for (int node = 0; node < system->nodes; node++) {
        copy(solution->velocity[system->body[node]], w->v + 6 * node, 6);
    }
    for (int i = 0; i < system->points; i++) {
        for (int k = 0; k < 6; k++) {
            solution->contact_force[i][k] = system->impulse[i][k] / problem->step;
        }
    }
    for (int i = 0; i < system->equations; i++) {
        solution->row_force[i] = system->row_impulse[i] / problem->step;
    }
}

static bool solution_is_finite(const work *w)
{
    double sum = 0;
    for (int i = 0; i < 6 * w->system.nodes; i++) {
        sum += w->v[i];
    }
    return isfinite(sum) && isfinite(w->stats.residual);
}

sprag_result sprag_stribeck_solve(const sprag_problem *problem,
                                  const sprag_stribeck_options *options, sprag_scratch *scratch,
                                  sprag_solution *solution, sprag_stats *stats)
{
    sprag_stribeck_options defaults = sprag_stribeck_defaults();
    work w = {.options = options ? options : &defaults, .stats.phase = '-'};
    sprag_result result = sprag_problem_check(problem, NULL, 0);
    if (result != SPRAG_OK) {
        return result;
    }
    w.stiction = choose_stiction(problem, w.options);
    w.stats.stiction = w.stiction;
    result = sprag_system_prepare(&w.system, problem, w.options->softness, w.options->row_softness,
                                  scratch);
    int n = 6 * w.system.nodes;
    w.v = SPRAG_TAKE(scratch, n, double);
    w.dv = SPRAG_TAKE(scratch, n, double);
    w.good = SPRAG_TAKE(scratch, n, double);
    w.bound = SPRAG_TAKE(scratch, w.system.points, double);
    if (result != SPRAG_OK || scratch->failed) {
        return SPRAG_NO_MEMORY;
    }
    if (problem->contacts || problem->rows) {
        result = run_phases(&w);
    } else {
        copy(w.v, w.system.free, n);
    }
    if (result == SPRAG_OK && !solution_is_finite(&w)) {
        result = SPRAG_NOT_CONVERGED;
    }
    if (result == SPRAG_OK) {
        write_solution(&w, solution);
    }
    if (stats) {
        *stats = w.stats;
    }
    return result;
}
