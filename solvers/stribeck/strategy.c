#include "strategy.h"

#include <math.h>
#include <string.h>

#include "frozen_friction.h"
#include "interior_point.h"
#include "limiter.h"
#include "linalg.h"

// How long Newton goes on: at most so many updates, and at most `patience` that have not brought
// the residual below `progress` times the least so far.
typedef struct effort {
    int iterations, patience;
    double progress;
} effort;

static void copy(double *to, const double *from, int n)
{
    memcpy(to, from, (size_t)n * sizeof *to);
}

static double limit_update(const sprag_phases *w, double stiction)
{
    double alpha = 1;
    for (int i = 0; i < w->system->points; i++) {
        const sprag_point *point = &w->system->point[i];
        for (int c = point->cone; c < point->cone + point->cones; c++) {
            double slip[2], change[2], tolerance;
            if (sprag_system_cone_slip(w->system, i, c, stiction, slip, change, &tolerance)) {
                alpha = fmin(alpha, sprag_limit_slip(slip, change, tolerance, w->small, w->theta));
            }
        }
    }
    return alpha;
}

// Bounds as they are at the last residual.
static void take_bounds(sprag_phases *w, double relaxation)
{
    for (int i = 0; i < w->system->points; i++) {
        w->bound[i] += relaxation * (w->system->impulse[i][0] - w->bound[i]);
    }
}

// How far to go along an update. The limiter sees slips only: where a row saturates, or where the
// problem is convex, the exact search with the bounds of this moment sees the rest.
static double choose_length(sprag_phases *w, double stiction)
{
    sprag_system *system = w->system;
    double alpha = limit_update(w, stiction);
    if (system->convex || sprag_system_meets_bound(system)) {
        take_bounds(w, 1);
        alpha = fmin(alpha, sprag_system_search(system, w->v, w->dv, stiction, w->bound));
    }
    return alpha;
}

// Newton on the coupled equations from w->v, where the system is, with its residual in the stats.
static sprag_result iterate(sprag_phases *w, double stiction, double tolerance, effort effort)
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
        if (system->moved == 1 && w->stats.residual <= w->rounding &&
            w->stats.residual > 0.5 * before) {
            return SPRAG_OK; // as far as the numbers go
        }
    }
    return w->stats.residual <= fmax(tolerance, w->rounding) ? SPRAG_OK : SPRAG_NOT_CONVERGED;
}

// The same from wherever w->v is. Leaves the residual of the last iterate in the stats.
static sprag_result newton(sprag_phases *w, double stiction, double tolerance, effort effort)
{
    sprag_system_place(w->system, w->v);
    w->stats.residual = sprag_system_residual(w->system, w->v, stiction, NULL);
    return iterate(w, stiction, tolerance, effort);
}

// To the velocity before the step or the free one, whichever balances better.
static void go_to_start(sprag_phases *w)
{
    sprag_system *system = w->system;
    sprag_system_place(system, system->free);
    double after = sprag_system_residual(system, system->free, w->finest, NULL);
    sprag_system_place(system, system->start);
    w->stats.residual = sprag_system_residual(system, system->start, w->finest, NULL);
    copy(w->v, w->stats.residual < after ? system->start : system->free, system->size);
    if (!(w->stats.residual < after)) {
        sprag_system_place(system, w->v);
        w->stats.residual = sprag_system_residual(system, w->v, w->finest, NULL);
    }
    if (w->guess) {
        double before = w->stats.residual;
        sprag_system_place(system, w->guess);
        w->stats.residual = sprag_system_residual(system, w->guess, w->finest, NULL);
        if (w->stats.residual < before) {
            copy(w->v, w->guess, system->size);
        } else {
            sprag_system_place(system, w->v);
            w->stats.residual = sprag_system_residual(system, w->v, w->finest, NULL);
        }
    }
}

static effort thorough(const sprag_phases *w, int iterations)
{
    return (effort){iterations, w->patience, 1};
}

static bool sweeps(const sprag_phases *w)
{
    return w->sweeps > 0 && w->system->space->sweep;
}

// A: from there; briefly where sweeps give a better start, for about what those cost.
static sprag_result direct(sprag_phases *w)
{
    effort effort = thorough(w, w->max_iterations);
    if (sweeps(w)) {
        effort.patience = (int)fmax(3, 1800.0 / w->system->size);
        effort.progress = 0.5;
    }
    return iterate(w, w->finest, w->tolerance, effort);
}

// Bounds to start frozen phases from: what the caller expects, else what stops the approach in four
// contacts.
static void guess_bounds(sprag_phases *w)
{
    sprag_system_place(w->system, w->system->free);
    for (int i = 0; i < w->system->points; i++) {
        const sprag_point *point = &w->system->point[i];
        double approach = -w->system->slip[i][SPRAG_NORMAL];
        bool free = approach <= 0 || point->inverse_mass == 0;
        w->bound[i] = point->guess[0] >= 0 ? point->guess[0]
                      : free               ? 0
                                           : approach / (4 * point->inverse_mass);
    }
}

// One pass of the frozen problem, from where the last one ended.
static sprag_result frozen_pass(sprag_phases *w, int pass)
{
    if (pass == 0) {
        guess_bounds(w);
        copy(w->v, w->system->free, w->system->size);
    } else {
        take_bounds(w, pass == 1 ? 1 : 0.5);
    }
    return sprag_convex_solve_staged(w->system, w->bound, pass == 0 ? w->softest : 0.1 * w->softest,
                                     w->stiction, w->tolerance, w->v, w->dv, &w->stats);
}

// B, of bodies: sweeps first, whatever they reach, then coupled updates.
static sprag_result swept_start(sprag_phases *w)
{
    sprag_sweep_limits limits = {.tolerance = w->sweeps_tolerance, .most = w->sweeps};
    sprag_result result = w->system->space->sweep(w->system, &limits, w->finest, w->v, &w->stats);
    return result == SPRAG_OK ? newton(w, w->stiction, w->tolerance, thorough(w, 25)) : result;
}

// E: sweeps alone; ten times as many where a heap has just met the floor, or joints pull hard, and
// D would take longer still (`affordable`: it would not) or is out of reach (`last`).
static sprag_result swept(sprag_phases *w, bool affordable, bool last)
{
    static const double good = 1e-2, acceptable = 0.1, tolerable = 0.5;
    bool hurried = w->sweeps_least > 0;
    int least = w->sweeps > w->sweeps_least ? w->sweeps : w->sweeps_least;
    int most = affordable || least > 10 * w->sweeps ? least : 10 * w->sweeps;
    sprag_sweep_limits limits = {.tolerance = w->sweeps_tolerance,
                                 .good = hurried ? acceptable : good,
                                 .least = least,
                                 .most = most};
    sprag_result result = w->system->space->sweep(w->system, &limits, w->finest, w->v, &w->stats);
    double enough = last ? tolerable : affordable ? limits.good : acceptable;
    return result == SPRAG_OK && w->stats.residual > enough ? SPRAG_NOT_CONVERGED : result;
}

// B, in generalized coordinates: the frozen solution first, then a few coupled updates.
static sprag_result frozen_start(sprag_phases *w)
{
    sprag_result result = SPRAG_NOT_CONVERGED;
    for (int pass = 0; pass < w->polish_passes && result != SPRAG_OK; pass++) {
        if (pass > 0) { // back to the frozen solution, for its impulses
            copy(w->v, w->good, w->system->size);
            sprag_system_place(w->system, w->v);
            sprag_system_residual(w->system, w->v, w->stiction, w->bound);
        }
        if (frozen_pass(w, pass) == SPRAG_NO_MEMORY) {
            return SPRAG_NO_MEMORY;
        }
        copy(w->good, w->v, w->system->size);
        result = newton(w, w->stiction, w->tolerance, thorough(w, 15));
    }
    return result;
}

// Ways from a problem that is easy (t = 0) to ours (t = 1). Each has turning points of its own.
typedef enum path {
    STICTION, // tolerance: from a soft one down
    BOTH,     // friction, from none up, with it
    IN_TURN,  // friction first
    FRICTION,
} path;

// The stiction tolerance at t; sets the friction there.
static double go_to(sprag_phases *w, path path, double t)
{
    static const double soft = 0.1; // m/s, after friction
    double friction = path == STICTION ? 1 : path == IN_TURN ? fmin(1, 2 * t) : t;
    for (int i = 0; i < w->system->cones; i++) {
        double mu = w->coefficient[i];
        w->system->cone[i].coefficient = isinf(mu) ? mu : friction * mu;
    }
    double from = fmax(w->stiction, path == IN_TURN ? soft : w->softest);
    double gone = path == FRICTION ? 1 : path == IN_TURN ? fmax(0, 2 * t - 1) : t;
    return gone >= 1 ? w->stiction : from * pow(w->stiction / from, gone);
}

// One path, in steps that Newton can take.
static sprag_result follow(sprag_phases *w, path path)
{
    static const double stage_tolerance = 1e-2, least = 2e-3;
    int n = w->system->size, left = w->max_continuation;
    double t = 0, stride = w->stride, reached = -1, before = -1;
    copy(w->v, w->system->free, n);
    while (left > 0) {
        double stiction = go_to(w, path, t), tolerance = t < 1 ? stage_tolerance : w->tolerance;
        int updates = w->stats.iterations, most = w->max_iterations;
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
            stride *= w->extrapolates ? 1.5 : 1;
        } else {
            stride *= 0.5;
        }
        if (reached < 0 || stride < least) {
            return SPRAG_NOT_CONVERGED;
        }
        t = fmin(1, reached + stride);
        double ahead = !w->extrapolates || before < 0 ? 0 : (t - reached) / (reached - before);
        for (int i = 0; i < n; i++) {
            w->v[i] = w->good[i] + ahead * (w->good[i] - w->last[i]);
        }
    }
    return SPRAG_NOT_CONVERGED;
}

// C: one path after the other.
static sprag_result continuation(sprag_phases *w)
{
    sprag_result result = SPRAG_NOT_CONVERGED;
    for (int i = 0; i < w->system->cones; i++) {
        w->coefficient[i] = w->system->cone[i].coefficient;
    }
    for (int i = 0; i < w->paths && result != SPRAG_OK && result != SPRAG_NO_MEMORY; i++) {
        result = follow(w, (path)i);
    }
    if (result != SPRAG_OK) {
        go_to(w, STICTION, 1);
    }
    return result;
}

static double bound_error(const sprag_phases *w)
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

// D in brief: what rests is solved by the bounds of the last step in very few updates.
static sprag_result lagged_briefly(sprag_phases *w, int updates)
{
    enum { PASSES = 3 };
    static const double acceptable = 0.3; // of the bounds
    sprag_result result = SPRAG_OK;
    guess_bounds(w);
    copy(w->v, w->guess ? w->guess : w->system->free, w->system->size);
    for (int pass = 0; pass < PASSES && result == SPRAG_OK; pass++) {
        if (pass > 0) {
            take_bounds(w, 1);
        }
        result = sprag_convex_solve(w->system, w->bound, w->stiction, w->tolerance, updates, w->v,
                                    w->dv, &w->stats);
    }
    double error = result == SPRAG_OK ? bound_error(w) : INFINITY;
    if (error <= acceptable) {
        w->stats.bound_error = error;
        return SPRAG_OK;
    }
    return result == SPRAG_NO_MEMORY ? result : SPRAG_NOT_CONVERGED;
}

// D: frozen bounds, in passes that bring them towards the normal impulses. Accepted with what is
// left of the difference, an error of the friction bound, once momentum balances acceptably.
static sprag_result lagged(sprag_phases *w)
{
    static const double acceptable = 1e-3;
    w->stats.residual = INFINITY;
    for (int pass = 0; pass < w->lagged_passes; pass++) {
        sprag_result result = frozen_pass(w, pass);
        if (result == SPRAG_SINGULAR || result == SPRAG_NO_MEMORY) {
            return result;
        }
    }
    w->stats.bound_error = bound_error(w);
    return w->stats.residual <= acceptable ? SPRAG_OK : SPRAG_NOT_CONVERGED;
}

// Down to the tolerances of the cones, if a few updates get there; the solution stays if not.
static bool refine(sprag_phases *w)
{
    copy(w->good, w->v, w->system->size);
    if (newton(w, w->finest, w->tolerance, thorough(w, 10)) == SPRAG_OK) {
        return true;
    }
    copy(w->v, w->good, w->system->size);
    newton(w, w->stiction, w->tolerance, thorough(w, 3)); // where rounding has left it, coming back
    return false;
}

static void tell_tolerances(sprag_phases *w, double stiction)
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

static bool goes_on(sprag_result result)
{
    return result != SPRAG_OK && result != SPRAG_NO_MEMORY;
}

// I: under the bounds of friction that are expected, or that a few sweeps tell.
static sprag_result central(sprag_phases *w)
{
    enum { SWEEPS = 20 };
    sprag_system *system = w->system;
    sprag_sweep_limits limits = {.tolerance = w->sweeps_tolerance, .most = SWEEPS};
    sprag_result result = SPRAG_OK;
    bool known = true;
    for (int i = 0; i < system->points; i++) {
        w->bound[i] = system->point[i].guess[0];
        known &= w->bound[i] >= 0;
    }
    if (!known) {
        result = system->space->sweep(system, &limits, w->finest, w->v, &w->stats);
    }
    for (int i = 0; i < system->points; i++) {
        w->bound[i] = w->bound[i] < 0 ? system->point[i].guess[0] : w->bound[i];
    }
    if (result == SPRAG_OK) {
        result = sprag_central_run(system, w->bound, w->finest, w->central, w->v, w->dv, &w->stats);
    }
    w->stats.bound_error = result == SPRAG_OK ? bound_error(w) : 0;
    return result;
}

static bool is_central(const sprag_phases *w)
{
    sprag_system *system = w->system;
    if (w->central <= 0 || !sweeps(w) || !system->space->work) {
        return false;
    }
    double work = system->space->work(system);
    return work >= 0 && work <= w->central_work * (system->points + system->equations);
}

// What the factorisation of an island allows.
typedef struct reach {
    bool full;   // A to D
    int brief;   // updates of D that are tried before E
    bool lagged; // D, where E fails
} reach;

// Chains and trees are cheap at any size; heaps are not, and are in motion mostly. Where bodies lie
// face on face, with many contacts each, they are likely to rest, what they carry may be too heavy
// for sweeps, and an update takes as long as ten to fifty of these.
static reach choose_reach(const sprag_phases *w)
{
    sprag_system *system = w->system;
    if (w->direct_work == 0) {
        return (reach){.lagged = w->lagged_passes > 0};
    }
    double work = system->space->work ? system->space->work(system) : 0;
    double bodies = system->size / 6.0, contacts = system->points;
    bool stacked = contacts >= 5 * bodies;
    return (reach){.full = work <= 3 * bodies || work <= w->direct_work,
                   .brief = stacked && work <= 20 * contacts ? 20 : 0,
                   .lagged = work <= 400 * w->direct_work || !sweeps(w)};
}

static sprag_result run(sprag_phases *w)
{
    w->stats.strategy = SPRAG_STRATEGY_NEWTON;
    go_to_start(w);
    if (w->stats.residual <= w->tolerance) {
        return SPRAG_OK;
    }
    sprag_result result = SPRAG_NOT_CONVERGED;
    if (is_central(w)) {
        w->stats.strategy = SPRAG_STRATEGY_INTERIOR_POINT;
        result = central(w);
        if (!goes_on(result)) {
            return result;
        }
        w->stats.strategy = SPRAG_STRATEGY_NEWTON;
        go_to_start(w);
    }
    reach reach = choose_reach(w);
    if (reach.full || reach.brief > 0 || w->guess) {
        result = direct(w);
    }
    if (reach.full && goes_on(result)) {
        w->stats.strategy = SPRAG_STRATEGY_WARM_NEWTON;
        result = sweeps(w) ? swept_start(w) : frozen_start(w);
    }
    if (reach.full && goes_on(result)) {
        w->stats.strategy = SPRAG_STRATEGY_CONTINUATION;
        result = continuation(w);
    }
    if (!reach.full && reach.brief > 0 && goes_on(result)) {
        w->stats.strategy = SPRAG_STRATEGY_FROZEN_FRICTION;
        result = lagged_briefly(w, reach.brief);
    }
    if (!reach.full && sweeps(w) && goes_on(result)) {
        w->stats.strategy = SPRAG_STRATEGY_GAUSS_SEIDEL;
        result = swept(w, reach.brief > 0, !reach.lagged);
    }
    if ((reach.full || reach.lagged) && w->lagged_passes > 0 && goes_on(result)) {
        w->stats.strategy = SPRAG_STRATEGY_FROZEN_FRICTION;
        result = lagged(w);
    }
    return result;
}

sprag_result sprag_phases_run(sprag_phases *w)
{
    sprag_result result = run(w);
    bool coupled = w->stats.strategy == SPRAG_STRATEGY_WARM_NEWTON ||
                   w->stats.strategy == SPRAG_STRATEGY_CONTINUATION;
    bool refined = w->stats.strategy == SPRAG_STRATEGY_NEWTON ||
                   w->stats.strategy == SPRAG_STRATEGY_GAUSS_SEIDEL;
    if (result == SPRAG_OK && coupled && w->finest < w->stiction) {
        refined = refine(w);
    }
    tell_tolerances(w, refined ? w->finest : w->stiction);
    return result;
}

sprag_result sprag_phases_take(sprag_phases *w, sprag_system *system, sprag_scratch *scratch)
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
