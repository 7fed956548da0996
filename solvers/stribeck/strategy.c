#include "strategy.h"

#include <math.h>
#include <string.h>

#include "frozen_friction.h"
#include "interior_point.h"
#include "limiter.h"
#include "linalg.h"
#include "stribeck_constants.h"

// Limits of Newton's method: at most `iterations` updates, of which at most `patience` in a row
// that do not bring the residual below `progress` times the least so far.
typedef struct effort {
    int iterations, patience;
    double progress;
} effort;

static void copy(double *to, const double *from, int n)
{
    memcpy(to, from, (size_t)n * sizeof *to);
}

static double limit_update(const sprag_strategy_state *w, double stiction)
{
    double alpha = 1;
    for (int i = 0; i < w->system->points; i++) {
        const sprag_point *point = &w->system->point[i];
        for (int c = point->cone; c < point->cone + point->cones; c++) {
            double slip[2], change[2], tolerance;
            if (sprag_system_cone_slip(w->system, i, c, stiction, slip, change, &tolerance)) {
                alpha = fmin(alpha, sprag_limit_slip(slip, change, tolerance, w->options.small,
                                                     w->options.theta));
            }
        }
    }
    return alpha;
}

// Moves the friction bounds towards the normal impulses of the last evaluation.
static void take_bounds(sprag_strategy_state *w, double relaxation)
{
    for (int i = 0; i < w->system->points; i++) {
        w->bound[i] += relaxation * (w->system->impulse[i][0] - w->bound[i]);
    }
}

// Returns the share of the update to take. The limiter regards slips only; where a row reaches a
// bound, or where the problem is convex, an exact search with the present friction bounds follows.
static double choose_length(sprag_strategy_state *w, double stiction)
{
    sprag_system *system = w->system;
    double alpha = limit_update(w, stiction);
    if (system->convex || sprag_system_reaches_bound(system)) {
        take_bounds(w, 1);
        alpha = fmin(alpha, sprag_system_search(system, w->v, w->dv, stiction, w->bound));
    }
    return alpha;
}

// Newton's method on the coupled equations from w->v. The system must be evaluated there, with the
// residual in the statistics.
static sprag_result iterate(sprag_strategy_state *w, double stiction, double tolerance,
                            effort effort)
{
    sprag_system *system = w->system;
    double best = INFINITY;
    for (int it = 0, since = 0; it < effort.iterations && since < effort.patience; it++, since++) {
        if (w->stats.residual <= tolerance) {
            return SPRAG_OK;
        }
        if (w->stats.residual < effort.progress * best) {
            best = w->stats.residual;
            since = 0;
        }
        sprag_result result = sprag_system_factor(system, stiction, NULL);
        w->stats.factorizations++;
        if (result != SPRAG_OK) {
            return result;
        }
        sprag_system_update(system, NULL, w->dv);
        sprag_system_move(system, w->v, choose_length(w, stiction), w->dv);
        double before = w->stats.residual;
        w->stats.residual = sprag_system_residual(system, w->v, stiction, NULL);
        sprag_system_log(system, stiction, &w->stats);
        if (!isfinite(w->stats.residual)) {
            return SPRAG_SINGULAR;
        }
        if (system->moved == 1 && w->stats.residual <= w->options.rounding &&
            w->stats.residual > STRIBECK_ROUNDING_PROGRESS * before) {
            return SPRAG_OK; // rounding is reached
        }
    }
    return w->stats.residual <= fmax(tolerance, w->options.rounding) ? SPRAG_OK
                                                                     : SPRAG_NOT_CONVERGED;
}

// The same from any w->v.
static sprag_result newton(sprag_strategy_state *w, double stiction, double tolerance,
                           effort effort)
{
    sprag_system_place(w->system, w->v);
    w->stats.residual = sprag_system_residual(w->system, w->v, stiction, NULL);
    return iterate(w, stiction, tolerance, effort);
}

// Sets v to the velocity before the step, the free velocity or the guess, whichever has the least
// residual.
static void go_to_start(sprag_strategy_state *w)
{
    sprag_system *system = w->system;
    sprag_system_place(system, system->free);
    double after = sprag_system_residual(system, system->free, w->options.finest, NULL);
    sprag_system_place(system, system->start);
    w->stats.residual = sprag_system_residual(system, system->start, w->options.finest, NULL);
    copy(w->v, w->stats.residual < after ? system->start : system->free, system->size);
    if (!(w->stats.residual < after)) {
        sprag_system_place(system, w->v);
        w->stats.residual = sprag_system_residual(system, w->v, w->options.finest, NULL);
    }
    if (w->guess) {
        double before = w->stats.residual;
        sprag_system_place(system, w->guess);
        w->stats.residual = sprag_system_residual(system, w->guess, w->options.finest, NULL);
        if (w->stats.residual < before) {
            copy(w->v, w->guess, system->size);
        } else {
            sprag_system_place(system, w->v);
            w->stats.residual = sprag_system_residual(system, w->v, w->options.finest, NULL);
        }
    }
}

static effort thorough(const sprag_strategy_state *w, int iterations)
{
    return (effort){iterations, w->options.patience, 1};
}

static bool has_gauss_seidel(const sprag_strategy_state *w)
{
    return w->options.sweeps > 0 && w->system->space->gauss_seidel;
}

// Newton's method from the start. If Gauss-Seidel can take over, Newton's method gives up after
// fewer updates without progress, and the fewer the larger the system is.
static sprag_result solve_newton(sprag_strategy_state *w)
{
    effort effort = thorough(w, w->options.max_iterations);
    if (has_gauss_seidel(w)) {
        effort.patience =
            (int)fmax(STRIBECK_BRIEF_PATIENCE_LEAST, STRIBECK_BRIEF_PATIENCE / w->system->size);
        effort.progress = STRIBECK_BRIEF_PROGRESS;
    }
    return iterate(w, w->options.finest, w->options.tolerance, effort);
}

// First friction bounds: the expected normal impulse of a contact, or, if that is unknown, the
// impulse that stops the approach when it is shared by a few contacts.
static void guess_bounds(sprag_strategy_state *w)
{
    sprag_system_place(w->system, w->system->free);
    for (int i = 0; i < w->system->points; i++) {
        const sprag_point *point = &w->system->point[i];
        double approach = -w->system->slip[i][SPRAG_NORMAL];
        bool free = approach <= 0 || point->inverse_mass == 0;
        w->bound[i] = point->guess[0] >= 0 ? point->guess[0]
                      : free               ? 0
                             : approach / (STRIBECK_CONTACTS_SHARING * point->inverse_mass);
    }
}

// One pass of the convex problem, from the end of the last one.
static sprag_result frozen_pass(sprag_strategy_state *w, int pass)
{
    if (pass == 0) {
        guess_bounds(w);
        copy(w->v, w->system->free, w->system->size);
    } else {
        take_bounds(w, pass == 1 ? 1 : STRIBECK_BOUND_RELAXATION);
    }
    return sprag_frozen_friction_solve_staged(
        w->system, w->bound, w->options.softest * (pass == 0 ? 1 : STRIBECK_FROZEN_LATER_START),
        w->options.stiction, w->options.tolerance, w->v, w->dv, &w->stats);
}

// warm_newton of bodies: Gauss-Seidel, whatever it reaches, then Newton's method.
static sprag_result warm_from_sweeps(sprag_strategy_state *w)
{
    sprag_gauss_seidel_limits limits = {.tolerance = w->options.sweeps_tolerance,
                                        .most = w->options.sweeps};
    sprag_result result =
        w->system->space->gauss_seidel(w->system, &limits, w->options.finest, w->v, &w->stats);
    return result == SPRAG_OK ? newton(w, w->options.stiction, w->options.tolerance,
                                       thorough(w, STRIBECK_WARM_ITERATIONS))
                              : result;
}

// Gauss-Seidel alone. It takes up to ten times the usual sweeps unless frozen friction is
// affordable, and accepts a larger change if no strategy is left (`last`).
static sprag_result solve_gauss_seidel(sprag_strategy_state *w, bool affordable, bool last)
{
    int least =
        w->options.sweeps > w->options.sweeps_least ? w->options.sweeps : w->options.sweeps_least;
    int most = affordable || least > STRIBECK_SWEEPS_FACTOR * w->options.sweeps
                   ? least
                   : STRIBECK_SWEEPS_FACTOR * w->options.sweeps;
    sprag_gauss_seidel_limits limits = {
        .tolerance = w->options.sweeps_tolerance,
        .good = w->options.sweeps_least > 0 ? STRIBECK_SWEEP_ACCEPTABLE : STRIBECK_SWEEP_GOOD,
        .least = least,
        .most = most};
    sprag_result result =
        w->system->space->gauss_seidel(w->system, &limits, w->options.finest, w->v, &w->stats);
    double enough = last         ? STRIBECK_SWEEP_TOLERABLE
                    : affordable ? limits.good
                                 : STRIBECK_SWEEP_ACCEPTABLE;
    return result == SPRAG_OK && w->stats.sweep_change > enough ? SPRAG_NOT_CONVERGED : result;
}

// warm_newton in generalized coordinates: frozen friction, then a few updates of Newton's method.
static sprag_result warm_from_frozen_friction(sprag_strategy_state *w)
{
    sprag_result result = SPRAG_NOT_CONVERGED;
    for (int pass = 0; pass < w->options.polish_passes && result != SPRAG_OK; pass++) {
        if (pass > 0) { // back to the frozen solution, for its impulses
            copy(w->v, w->good, w->system->size);
            sprag_system_place(w->system, w->v);
            sprag_system_residual(w->system, w->v, w->options.stiction, w->bound);
        }
        if (frozen_pass(w, pass) == SPRAG_NO_MEMORY) {
            return SPRAG_NO_MEMORY;
        }
        copy(w->good, w->v, w->system->size);
        result = newton(w, w->options.stiction, w->options.tolerance,
                        thorough(w, STRIBECK_POLISH_ITERATIONS));
    }
    return result;
}

// Paths from an easy problem (t = 0) to the given one (t = 1). Each has turning points of its own.
typedef enum path {
    STICTION, // the stiction tolerance falls
    BOTH,     // the stiction tolerance falls while the friction coefficients rise from 0
    IN_TURN,  // the coefficients rise first, then the tolerance falls
    FRICTION, // the coefficients rise
} path;

// Sets the friction coefficients at t and returns the stiction tolerance there.
static double go_to(sprag_strategy_state *w, path path, double t)
{
    double friction = path == STICTION ? 1 : path == IN_TURN ? fmin(1, 2 * t) : t;
    for (int i = 0; i < w->system->cones; i++) {
        double mu = w->coefficient[i];
        w->system->cone[i].coefficient = isinf(mu) ? mu : friction * mu;
    }
    double from =
        fmax(w->options.stiction, path == IN_TURN ? STRIBECK_PATH_TOLERANCE : w->options.softest);
    double along = path == FRICTION ? 1 : path == IN_TURN ? fmax(0, 2 * t - 1) : t;
    return along >= 1 ? w->options.stiction : from * pow(w->options.stiction / from, along);
}

// Follows one path in stages that Newton's method can solve.
static sprag_result follow(sprag_strategy_state *w, path path)
{
    int n = w->system->size, left = w->options.max_continuation;
    double t = 0, stride = w->options.stride, reached = -1, before = -1;
    copy(w->v, w->system->free, n);
    while (left > 0) {
        double stiction = go_to(w, path, t),
               tolerance = t < 1 ? STRIBECK_STAGE_TOLERANCE : w->options.tolerance;
        int updates = w->stats.iterations, most = w->options.max_iterations;
        sprag_result result =
            newton(w, stiction, tolerance, thorough(w, most < left ? most : left));
        left -= w->stats.iterations - updates;
        if (result == SPRAG_NO_MEMORY || (result == SPRAG_OK && t >= 1)) {
            return result;
        }
        if (result == SPRAG_OK) {
            copy(w->last, w->good, n);
            copy(w->good, w->v, n);
            before = reached;
            reached = t;
            stride *= w->options.extrapolates ? STRIBECK_STAGE_GROWTH : 1;
        } else {
            stride *= STRIBECK_STAGE_SHRINK;
        }
        if (reached < 0 || stride < STRIBECK_SHORTEST_STAGE) {
            return SPRAG_NOT_CONVERGED;
        }
        t = fmin(1, reached + stride);
        double ahead =
            !w->options.extrapolates || before < 0 ? 0 : (t - reached) / (reached - before);
        for (int i = 0; i < n; i++) {
            w->v[i] = w->good[i] + ahead * (w->good[i] - w->last[i]);
        }
    }
    return SPRAG_NOT_CONVERGED;
}

// Tries one path after the other.
static sprag_result solve_continuation(sprag_strategy_state *w)
{
    sprag_result result = SPRAG_NOT_CONVERGED;
    for (int i = 0; i < w->system->cones; i++) {
        w->coefficient[i] = w->system->cone[i].coefficient;
    }
    for (int i = 0; i < w->options.paths && result != SPRAG_OK && result != SPRAG_NO_MEMORY; i++) {
        result = follow(w, (path)i);
    }
    if (result != SPRAG_OK) {
        go_to(w, STICTION, 1);
    }
    return result;
}

// Error of the frozen friction bounds, relative to the largest bound.
static double bound_error(const sprag_strategy_state *w)
{
    double error = 0, largest = 0;
    for (int i = 0; i < w->system->points; i++) {
        const sprag_point *point = &w->system->point[i];
        for (int c = point->cone; c < point->cone + point->cones; c++) {
            double mu = w->system->cone[c].coefficient, normal = w->system->impulse[i][0];
            if (!w->system->cone[c].force && isfinite(mu)) {
                error = fmax(error, mu * fabs(normal - w->bound[i]));
                largest = fmax(largest, mu * fmax(normal, w->bound[i]));
            }
        }
    }
    return largest > 0 ? error / largest : 0;
}

// Frozen friction with few updates: contacts at rest are solved by the bounds of the last step.
static sprag_result solve_frozen_friction_briefly(sprag_strategy_state *w, int updates)
{
    sprag_result result = SPRAG_OK;
    guess_bounds(w);
    copy(w->v, w->guess ? w->guess : w->system->free, w->system->size);
    for (int pass = 0; pass < STRIBECK_BRIEF_PASSES && result == SPRAG_OK; pass++) {
        if (pass > 0) {
            take_bounds(w, 1);
        }
        result = sprag_frozen_friction_solve(w->system, w->bound, w->options.stiction,
                                             w->options.tolerance, updates, w->v, w->dv, &w->stats);
    }
    double error = result == SPRAG_OK ? bound_error(w) : INFINITY;
    if (error <= STRIBECK_BRIEF_BOUND_ERROR) {
        w->stats.bound_error = error;
        return SPRAG_OK;
    }
    return result == SPRAG_NO_MEMORY ? result : SPRAG_NOT_CONVERGED;
}

// Frozen friction in passes that move the bounds towards the normal impulses. The remaining
// difference is the statistics' bound_error; the result is accepted if momentum balances.
static sprag_result solve_frozen_friction(sprag_strategy_state *w)
{
    w->stats.residual = INFINITY;
    for (int pass = 0; pass < w->options.lagged_passes; pass++) {
        sprag_result result = frozen_pass(w, pass);
        if (result == SPRAG_SINGULAR || result == SPRAG_NO_MEMORY) {
            return result;
        }
    }
    w->stats.bound_error = bound_error(w);
    return w->stats.residual <= STRIBECK_FROZEN_ACCEPTABLE ? SPRAG_OK : SPRAG_NOT_CONVERGED;
}

// Lowers the stiction tolerance to that of each cone. Returns false, and keeps the solution, if a
// few updates do not converge.
static bool refine(sprag_strategy_state *w)
{
    copy(w->good, w->v, w->system->size);
    if (newton(w, w->options.finest, w->options.tolerance,
               thorough(w, STRIBECK_REFINE_ITERATIONS)) == SPRAG_OK) {
        return true;
    }
    copy(w->v, w->good, w->system->size);
    newton(w, w->options.stiction, w->options.tolerance,
           thorough(w, STRIBECK_RESTORE_ITERATIONS)); // v has changed by rounding
    return false;
}

static void record_tolerances(sprag_strategy_state *w, double stiction)
{
    double least = INFINITY, most = stiction;
    for (int i = 0; i < w->system->points; i++) {
        const sprag_point *point = &w->system->point[i];
        for (int c = point->cone; c < point->cone + point->cones; c++) {
            double own = w->system->cone[c].stiction;
            least = own < least ? own : least;
            most = own > most ? own : most;
        }
    }
    w->stats.stiction = most;
    w->stats.stiction_least = fmin(fmax(least, stiction), most);
}

static bool has_failed(sprag_result result)
{
    return result != SPRAG_OK && result != SPRAG_NO_MEMORY;
}

// Interior point under the expected friction bounds; a few sweeps estimate unknown ones.
static sprag_result solve_interior_point(sprag_strategy_state *w)
{
    sprag_system *system = w->system;
    sprag_gauss_seidel_limits limits = {.tolerance = w->options.sweeps_tolerance,
                                        .most = STRIBECK_INTERIOR_POINT_SWEEPS};
    sprag_result result = SPRAG_OK;
    bool known = true;
    for (int i = 0; i < system->points; i++) {
        w->bound[i] = system->point[i].guess[0];
        known &= w->bound[i] >= 0;
    }
    if (!known) {
        result = system->space->gauss_seidel(system, &limits, w->options.finest, w->v, &w->stats);
    }
    for (int i = 0; i < system->points; i++) {
        w->bound[i] = w->bound[i] < 0 ? system->point[i].guess[0] : w->bound[i];
    }
    if (result == SPRAG_OK) {
        result =
            sprag_interior_point_solve(system, w->bound, w->options.finest,
                                       w->options.interior_point_updates, w->v, w->dv, &w->stats);
    }
    w->stats.bound_error = result == SPRAG_OK ? bound_error(w) : 0;
    return result;
}

static bool wants_interior_point(const sprag_strategy_state *w)
{
    sprag_system *system = w->system;
    if (w->options.interior_point_updates <= 0 || !has_gauss_seidel(w) || !system->space->work) {
        return false;
    }
    double work = system->space->work(system);
    return work >= 0 &&
           work <= w->options.interior_point_work * (system->points + system->equations);
}

// The strategies that the cost of a factorisation allows.
typedef struct allowed {
    bool newton;          // newton, warm_newton, continuation and frozen_friction in full
    int brief;            // updates of frozen_friction before gauss_seidel; 0: none
    bool frozen_friction; // if gauss_seidel fails
} allowed;

// Chains and trees are cheap at any size. Heaps are not, and mostly move. Bodies that lie face on
// face with many contacts each are likely to rest; their loads may be too heavy for Gauss-Seidel,
// and an update takes as long as ten to fifty sweeps.
static allowed choose_allowed(const sprag_strategy_state *w)
{
    sprag_system *system = w->system;
    if (w->options.direct_work == 0) {
        return (allowed){.frozen_friction = w->options.lagged_passes > 0};
    }
    double work = system->space->work ? system->space->work(system) : 0;
    double bodies = system->size / 6.0, contacts = system->points;
    bool stacked = contacts >= STRIBECK_STACKED_CONTACTS * bodies;
    return (allowed){
        .newton = work <= STRIBECK_CHAIN_WORK * bodies || work <= w->options.direct_work,
        .brief = stacked && work <= STRIBECK_STACKED_WORK * contacts ? STRIBECK_STACKED_UPDATES : 0,
        .frozen_friction =
            work <= STRIBECK_FROZEN_WORK * w->options.direct_work || !has_gauss_seidel(w)};
}

static sprag_result run(sprag_strategy_state *w)
{
    w->stats.strategy = SPRAG_STRATEGY_NEWTON;
    go_to_start(w);
    if (w->stats.residual <= w->options.tolerance) {
        return SPRAG_OK;
    }
    sprag_result result = SPRAG_NOT_CONVERGED;
    if (wants_interior_point(w)) {
        w->stats.strategy = SPRAG_STRATEGY_INTERIOR_POINT;
        result = solve_interior_point(w);
        if (!has_failed(result)) {
            return result;
        }
        w->stats.strategy = SPRAG_STRATEGY_NEWTON;
        go_to_start(w);
    }
    allowed allowed = choose_allowed(w);
    if (allowed.newton || allowed.brief > 0 || w->guess) {
        result = solve_newton(w);
    }
    if (w->options.within_budget) {
        if (allowed.brief > 0 && has_failed(result)) {
            w->stats.strategy = SPRAG_STRATEGY_FROZEN_FRICTION;
            result = solve_frozen_friction_briefly(w, allowed.brief);
        }
        return result;
    }
    if (allowed.newton && has_failed(result)) {
        w->stats.strategy = SPRAG_STRATEGY_WARM_NEWTON;
        result = has_gauss_seidel(w) ? warm_from_sweeps(w) : warm_from_frozen_friction(w);
    }
    if (allowed.newton && has_failed(result)) {
        w->stats.strategy = SPRAG_STRATEGY_CONTINUATION;
        result = solve_continuation(w);
    }
    if (!allowed.newton && allowed.brief > 0 && has_failed(result)) {
        w->stats.strategy = SPRAG_STRATEGY_FROZEN_FRICTION;
        result = solve_frozen_friction_briefly(w, allowed.brief);
    }
    if (!allowed.newton && has_gauss_seidel(w) && has_failed(result)) {
        w->stats.strategy = SPRAG_STRATEGY_GAUSS_SEIDEL;
        result = solve_gauss_seidel(w, allowed.brief > 0, !allowed.frozen_friction);
    }
    if ((allowed.newton || allowed.frozen_friction) && w->options.lagged_passes > 0 &&
        has_failed(result)) {
        w->stats.strategy = SPRAG_STRATEGY_FROZEN_FRICTION;
        result = solve_frozen_friction(w);
    }
    return result;
}

sprag_result sprag_strategy_solve(sprag_strategy_state *w)
{
    sprag_result result = run(w);
    bool coupled = w->stats.strategy == SPRAG_STRATEGY_WARM_NEWTON ||
                   w->stats.strategy == SPRAG_STRATEGY_CONTINUATION;
    bool refined = w->stats.strategy == SPRAG_STRATEGY_NEWTON ||
                   w->stats.strategy == SPRAG_STRATEGY_GAUSS_SEIDEL;
    if (result == SPRAG_OK && coupled && w->options.finest < w->options.stiction) {
        refined = refine(w);
    }
    record_tolerances(w, refined ? w->options.finest : w->options.stiction);
    return result;
}

sprag_result sprag_strategy_open(sprag_strategy_state *w, sprag_system *system,
                                 sprag_scratch *scratch)
{
    w->system = system;
    w->v = SPRAG_TAKE(scratch, system->size, double);
    w->dv = SPRAG_TAKE(scratch, system->size, double);
    w->good = SPRAG_TAKE(scratch, system->size, double);
    w->last = SPRAG_TAKE(scratch, system->size, double);
    w->bound = SPRAG_TAKE(scratch, system->points, double);
    w->coefficient = SPRAG_TAKE(scratch, system->cones, double);
    return scratch->failed ? SPRAG_NO_MEMORY : SPRAG_OK;
}
