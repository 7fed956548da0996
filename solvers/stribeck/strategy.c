#include "strategy.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "assemble.h"
#include "forces.h"
#include "frozen_friction.h"
#include "interior.h"
#include "linalg.h"
#include "newton.h"
#include "space6.h"
#include "stribeck_constants.h"
#include "sweeps.h"

// Limits of Newton's method: at most `iterations` updates, of which at most `patience` in a row
// that do not bring the residual below `progress` times the least so far.
typedef struct effort {
    int iterations, patience;
    double progress;
} effort;

// Traits of an island that decide which strategies it gets (traits_of).
enum {
    CHEAP = 1,     // to factorize
    COSTLY = 2,    // otherwise
    STARTS = 4,    // cheap, or there is a guess
    STACKED = 8,   // many contacts a body, and an update of them is bearable
    SWEEPS = 32,   // Gauss-Seidel has the laws of the problem
    SETTLES = 64,  // the caller says that it settles
    FREEZES = 128, // frozen friction is worth its passes
    SPRINGS = 256, // there are contacts, and they yield in proportion to their forces
    OTHERS = 512   // otherwise: joints alone, or Hunt and Crossley's law
};

static void copy(double *to, const double *from, int n)
{
    memcpy(to, from, (size_t)n * sizeof *to);
}

double sprag_strategy_work(const sprag_strategy_state *w)
{
    return w->stats.iterations * w->update_work + w->stats.sweep_work;
}

// Moves the friction bounds towards the normal impulses of the last evaluation.
static void take_bounds(sprag_strategy_state *w, double relaxation)
{
    for (int i = 0; i < w->system->points; i++) {
        w->bound[i] += relaxation * (w->system->impulse[i][0] - w->bound[i]);
    }
}

// Updates that the work left allows, at most so many and at least one.
static int affordable(const sprag_strategy_state *w, int most)
{
    double left = (w->options.most_work - sprag_strategy_work(w)) / w->update_work;
    return (int)fmin(most, 1 + fmax(0, left));
}

// Newton's method on the coupled equations from w->v. The system must be evaluated there.
static sprag_result iterate(sprag_strategy_state *w, double stiction, double tolerance,
                            effort effort)
{
    const sprag_newton_limits limits = {.small = w->options.small,
                                        .theta = w->options.theta,
                                        .tolerance = tolerance,
                                        .iterations = affordable(w, effort.iterations),
                                        .patience = effort.patience,
                                        .progress = effort.progress};
    sprag_newton_state state = {.v = w->v, .dv = w->dv, .bound = w->bound};
    return sprag_newton(w->system, &limits, stiction, &state, &w->stats);
}

static sprag_result harden_rows(sprag_strategy_state *w)
{
    sprag_newton_state state = {.v = w->v, .dv = w->dv};
    return sprag_newton_harden_rows(w->system, w->options.tolerance, w->options.finest, &state,
                                    &w->stats);
}

// The residual at w->v, where the system is then evaluated.
static double evaluate(sprag_strategy_state *w, double stiction)
{
    sprag_system_place(w->system, w->v);
    return w->stats.convergence = sprag_system_residual(w->system, w->v, stiction, NULL);
}

// The same from any w->v.
static sprag_result newton(sprag_strategy_state *w, double stiction, double tolerance,
                           effort effort)
{
    evaluate(w, stiction);
    return iterate(w, stiction, tolerance, effort);
}

// Sets v to the free velocity, that before the step or the guess, whichever has the least residual.
static void go_to_start(sprag_strategy_state *w)
{
    const double *from[] = {w->system->free, w->system->start, w->guess};
    double least = INFINITY;
    int best = 0, last = 0;
    for (int i = 0; i < 3 && from[i]; i++) {
        copy(w->v, from[i], w->system->size);
        double residual = evaluate(w, w->options.finest);
        best = residual < least ? i : best;
        least = fmin(least, residual);
        last = i;
    }
    if (best != last) {
        copy(w->v, from[best], w->system->size);
        evaluate(w, w->options.finest);
    }
}

static effort thorough(const sprag_strategy_state *w, int iterations)
{
    return (effort){iterations, w->options.patience, 1};
}

static bool has_gauss_seidel(const sprag_strategy_state *w)
{
    return w->options.sweeps > 0 && w->is_two_way;
}

// Limits where Gauss-Seidel can take over: fewer updates without progress, and the
// fewer the larger the system is.
static effort brief(const sprag_strategy_state *w, int iterations)
{
    int kinks = w->system->points + w->system->equations; // an update may pass only one of them
    double patience = fmin(kinks, STRIBECK_BRIEF_PATIENCE / fmax(1, w->system->size));
    return (effort){iterations, (int)fmax(STRIBECK_BRIEF_PATIENCE_LEAST, patience),
                    STRIBECK_BRIEF_PROGRESS};
}

// Takes the velocities of a solution, and its impulses also as those expected.
static void take(sprag_strategy_state *w, const sprag_solution *solution)
{
    sprag_system *system = w->system;
    sprag_assemble_start(system, w->problem, w->node_of, solution, w->v);
    for (int i = 0; i < system->points; i++) {
        memcpy(system->point[i].guess, system->impulse[i], sizeof system->point[i].guess);
    }
}

// Gauss-Seidel on the problem.
static sprag_result sweep(sprag_strategy_state *w, sprag_sweeps_options options)
{
    sprag_system *system = w->system;
    const sprag_problem *problem = w->problem;
    sprag_solution solution = {.velocity = SPRAG_TAKE(system->scratch, problem->bodies, double[6]),
                               .contact_force =
                                   SPRAG_TAKE(system->scratch, problem->contacts, double[6]),
                               .row_force = SPRAG_TAKE(system->scratch, problem->rows, double)};
    if (system->scratch->failed) {
        return SPRAG_NO_MEMORY;
    }
    options.most_work = w->options.most_work - sprag_strategy_work(w);
    options.softness = w->options.softness;
    options.row_softness = w->options.row_softness;
    options.tolerance = w->options.sweeps_tolerance;
    options.moving = w->options.stiction;
    options.at_rest = w->options.finest;
    sprag_result result =
        sprag_sweeps_solve(problem, &options, system->scratch, &solution, &w->stats);
    if (result == SPRAG_OK) {
        take(w, &solution);
    }
    return result;
}

// Newton's method from the start.
static sprag_result solve_newton(sprag_strategy_state *w)
{
    int most = w->options.max_iterations;
    go_to_start(w);
    w->reached = w->options.finest;
    sprag_result result = iterate(w, w->options.finest, w->options.tolerance,
                                  has_gauss_seidel(w) ? brief(w, most) : thorough(w, most));
    return result == SPRAG_OK && w->system->points == 0 && w->system->equations > 0 ? harden_rows(w)
                                                                                    : result;
}

// Newton's method in the forces, from those of the last step or of the caller's sweeps. It is given
// up where it leaves them: contacts that were held let go, and it takes many updates, if it ends.
static sprag_result solve_known(sprag_strategy_state *w)
{
    sprag_system *system = w->system;
    if (!(w->options.direct_work > 0)) {
        return SPRAG_NOT_CONVERGED;
    }
    if (w->options.attempts == SPRAG_ATTEMPT_SWEPT) {
        take(w, w->best->solution);
    } else {
        copy(w->v, w->guess ? w->guess : system->start, system->size);
        memset(system->impulse, 0, (size_t)system->points * sizeof *system->impulse);
        for (int i = 0; i < system->points; i++) {
            const sprag_point *point = &system->point[i];
            if (point->guess[0] >= 0) {
                memcpy(system->impulse[i], point->guess, sizeof point->guess);
            }
        }
        for (int i = 0; i < system->equations; i++) {
            system->row_impulse[i] = system->equation[i].guess;
        }
    }
    w->reached = w->options.finest;
    return sprag_forces_iterate(system, w->options.finest, w->options.tolerance,
                                affordable(w, w->options.max_iterations), true, w->v, w->dv,
                                &w->stats);
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
    const sprag_strategy_options *o = &w->options;
    double share = w->traits & SETTLES ? STRIBECK_SETTLED_STICTION : 1;
    double finest = fmax(o->finest, share * o->stiction);
    if (pass == 0) {
        guess_bounds(w);
        if (w->traits & SETTLES) { // what rests is where it was, after a few updates
            copy(w->v, w->guess ? w->guess : w->system->start, w->system->size);
            sprag_result result =
                sprag_frozen_friction_solve(w->system, w->bound, finest, o->tolerance,
                                            STRIBECK_SETTLED_UPDATES, w->v, w->dv, &w->stats);
            if (result != SPRAG_NOT_CONVERGED) {
                return result;
            }
        }
        copy(w->v, w->system->free, w->system->size);
    } else {
        take_bounds(w, pass == 1 ? 1 : STRIBECK_BOUND_RELAXATION);
    }
    return sprag_frozen_friction_solve_staged(
        w->system, w->bound, o->softest * (pass == 0 ? 1 : STRIBECK_FROZEN_LATER_START), finest,
        o->tolerance, w->v, w->dv, &w->stats);
}

// Solves at the stiction tolerance of each cone in a few updates, from a solution at a larger one:
// in the forces, where that is possible. In the velocities a contact that is to stick near its
// bound makes steps that overshoot: it would keep the creep of the larger tolerance.
static sprag_result solve_finer(sprag_strategy_state *w)
{
    const sprag_strategy_options *o = &w->options;
    if (!(w->traits & SPRINGS)) {
        return newton(w, o->finest, o->tolerance, thorough(w, STRIBECK_REFINE_ITERATIONS));
    }
    return sprag_forces_iterate(w->system, o->finest, o->tolerance,
                                affordable(w, STRIBECK_REFINE_ITERATIONS), true, w->v, w->dv,
                                &w->stats);
}

// Lowers the stiction tolerance to that of each cone, or keeps the solution if that fails.
static void refine(sprag_strategy_state *w)
{
    if (w->options.finest >= w->options.stiction) {
        return;
    }
    copy(w->good, w->v, w->system->size);
    if (solve_finer(w) == SPRAG_OK) {
        w->reached = w->options.finest;
        return;
    }
    copy(w->v, w->good, w->system->size);
    newton(w, w->options.stiction, w->options.tolerance,
           thorough(w, STRIBECK_RESTORE_ITERATIONS)); // v has changed by rounding
}

// Newton's method in the velocities that Gauss-Seidel finds.
static sprag_result solve_swept(sprag_strategy_state *w)
{
    sprag_result result = sweep(w, (sprag_sweeps_options){.most = w->options.sweeps});
    if (result == SPRAG_OK) {
        result = newton(w, w->options.stiction, w->options.tolerance,
                        thorough(w, STRIBECK_WARM_ITERATIONS));
    }
    if (result == SPRAG_OK) {
        refine(w);
    }
    return result;
}

// Gauss-Seidel alone. It takes up to ten times the usual sweeps unless the island is stacked.
static sprag_result solve_gauss_seidel(sprag_strategy_state *w)
{
    const sprag_strategy_options *o = &w->options;
    int least = o->sweeps > o->sweeps_least ? o->sweeps : o->sweeps_least;
    int most = STRIBECK_SWEEPS_FACTOR * o->sweeps;
    w->reached = w->options.finest;
    return sweep(w,
                 (sprag_sweeps_options){
                     .good = o->sweeps_least > 0 ? STRIBECK_SWEEP_ACCEPTABLE : STRIBECK_SWEEP_GOOD,
                     .least = least,
                     .most = w->traits & STACKED || least > most ? least : most});
}

// The stiction tolerance at t, along the path from a large one (t = 0) to the given one (t = 1).
static double tolerance_at(const sprag_strategy_state *w, double t)
{
    double from = fmax(w->options.stiction, w->options.softest);
    return t >= 1 ? w->options.stiction : from * pow(w->options.stiction / from, t);
}

// Follows the path in stages that Newton's method can solve.
static sprag_result solve_continuation(sprag_strategy_state *w)
{
    int n = w->system->size, left = w->options.max_continuation;
    double t = 0, stride = STRIBECK_FIRST_STAGE, reached = -1;
    copy(w->v, w->system->free, n);
    while (left > 0) {
        double tolerance = t < 1 ? STRIBECK_STAGE_TOLERANCE : w->options.tolerance;
        int updates = w->stats.iterations, most = w->options.max_iterations;
        sprag_result result =
            newton(w, tolerance_at(w, t), tolerance, thorough(w, most < left ? most : left));
        left -= w->stats.iterations - updates;
        if (result == SPRAG_OK && t >= 1) {
            refine(w);
        }
        if (result == SPRAG_NO_MEMORY || (result == SPRAG_OK && t >= 1)) {
            return result;
        }
        if (result == SPRAG_OK) {
            copy(w->good, w->v, n);
            reached = t;
        } else {
            stride *= STRIBECK_STAGE_SHRINK;
        }
        if (reached < 0 || stride < STRIBECK_SHORTEST_STAGE) {
            return SPRAG_NOT_CONVERGED;
        }
        t = fmin(1, reached + stride);
        copy(w->v, w->good, n);
    }
    return SPRAG_NOT_CONVERGED;
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

// Frozen friction in passes that move the bounds towards the normal impulses. The remaining
// difference is the statistics' bound_error.
static sprag_result solve_frozen_friction(sprag_strategy_state *w)
{
    w->stats.convergence = INFINITY;
    for (int pass = 0; pass < w->options.lagged_passes &&
                       (pass == 0 || sprag_strategy_work(w) <= w->options.most_work);
         pass++) {
        sprag_result result = frozen_pass(w, pass);
        if (result == SPRAG_SINGULAR || result == SPRAG_NO_MEMORY) {
            return result;
        }
    }
    w->stats.bound_error = bound_error(w);
    return SPRAG_OK;
}

// The error that an interior-point solve may leave: what moves needs less exact velocities than
// what has nearly come to rest.
static double interior_tolerance(const sprag_strategy_state *w)
{
    const sprag_system *system = w->system;
    system->space->momentum(system, system->start, system->work);
    double moves = sprag_system_weighed(system, system->work) / fmax(system->momentum, DBL_MIN);
    return clamp(STRIBECK_INTERIOR_OF_MOTION * moves, STRIBECK_INTERIOR_FINEST,
                 STRIBECK_INTERIOR_COARSEST);
}

// The interior-point method, where the work that is left should be enough for it.
static sprag_result solve_interior_point(sprag_strategy_state *w)
{
    const sprag_strategy_options *o = &w->options;
    int most = affordable(w, STRIBECK_INTERIOR_UPDATES);
    if (most < STRIBECK_INTERIOR_LEAST) {
        return SPRAG_NOT_CONVERGED;
    }
    sprag_result result = sprag_interior_solve(w->system, o->softest, o->stiction,
                                               interior_tolerance(w), most, w->v, w->dv, &w->stats);
    bool enough = w->stats.convergence <= STRIBECK_INTERIOR_ENOUGH;
    return result == SPRAG_NOT_CONVERGED && enough ? SPRAG_OK : result;
}

// Chains and trees are cheap at any size. Heaps are not, and mostly move. Bodies that lie face on
// face with many contacts each are likely to rest; their loads may be too heavy for Gauss-Seidel,
// and an update takes as long as ten to fifty sweeps.
static unsigned traits_of(const sprag_strategy_state *w)
{
    sprag_system *system = w->system;
    const sprag_strategy_options *o = &w->options;
    double work = system->space->work ? system->space->work(system) : 0;
    double bodies = system->size / 6.0, contacts = system->points, rows = system->equations;
    bool direct = o->direct_work > 0;
    bool cheap = direct && (work <= STRIBECK_CHAIN_WORK * bodies || work <= o->direct_work);
    bool stacked = direct && contacts >= STRIBECK_STACKED_CONTACTS * bodies &&
                   work <= STRIBECK_STACKED_WORK * contacts;
    bool frozen = o->lagged_passes > 0 && o->settled_work == 0;
    bool bearable = work <= STRIBECK_FROZEN_WORK * o->direct_work;
    return (cheap ? CHEAP : COSTLY) | (cheap || w->guess ? STARTS : 0) | (stacked ? STACKED : 0) |
           (has_gauss_seidel(w) ? SWEEPS : 0) |
           (o->settled_work > 0 && work <= o->settled_work * (contacts + rows) ? SETTLES : 0) |
           (w->is_two_way && contacts > 0 && !system->curved ? SPRINGS : OTHERS) |
           (frozen && (!direct || bearable || !has_gauss_seidel(w)) ? FREEZES : 0);
}

// In the order of their cost. `traits`: all that an island must have.
static const struct {
    sprag_strategy name;
    unsigned attempts, traits;
    sprag_result (*run)(sprag_strategy_state *);
} strategies[] = {
    {SPRAG_STRATEGY_FROZEN_FRICTION, SPRAG_ATTEMPT_SETTLED, SETTLES, solve_frozen_friction},
    {SPRAG_STRATEGY_NEWTON, SPRAG_ATTEMPT_BRIEF, STARTS | OTHERS, solve_newton},
    {SPRAG_STRATEGY_WARM_NEWTON, SPRAG_ATTEMPT_BRIEF | SPRAG_ATTEMPT_SWEPT, SPRINGS, solve_known},
    {SPRAG_STRATEGY_NEWTON, SPRAG_ATTEMPT_TREES, STARTS | SPRINGS, solve_newton},
    {SPRAG_STRATEGY_NEWTON, SPRAG_ATTEMPT_ALL, STARTS, solve_newton},
    {SPRAG_STRATEGY_WARM_NEWTON, SPRAG_ATTEMPT_ALL, CHEAP | SWEEPS, solve_swept},
    {SPRAG_STRATEGY_CONTINUATION, SPRAG_ATTEMPT_ALL, CHEAP, solve_continuation},
    {SPRAG_STRATEGY_WARM_NEWTON, SPRAG_ATTEMPT_ALL, SPRINGS | STACKED | COSTLY, solve_known},
    {SPRAG_STRATEGY_INTERIOR_POINT, SPRAG_ATTEMPT_ALL, STACKED | COSTLY, solve_interior_point},
    {SPRAG_STRATEGY_INTERIOR_POINT, SPRAG_ATTEMPT_INTERIOR, SPRINGS, solve_interior_point},
    {SPRAG_STRATEGY_GAUSS_SEIDEL, SPRAG_ATTEMPT_ALL, COSTLY | SWEEPS, solve_gauss_seidel},
    {SPRAG_STRATEGY_FROZEN_FRICTION, SPRAG_ATTEMPT_ALL, FREEZES, solve_frozen_friction},
    {SPRAG_STRATEGY_GAUSS_SEIDEL, SPRAG_ATTEMPT_ALL, CHEAP | SWEEPS, solve_gauss_seidel},
};

static bool applies(const sprag_strategy_state *w, size_t i)
{
    return (strategies[i].attempts & w->options.attempts) &&
           (strategies[i].traits & w->traits) == strategies[i].traits;
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

sprag_result sprag_strategy_offer(sprag_strategy_state *w)
{
    sprag_solution *to = sprag_best_room(w->best);
    double sum = w->stats.convergence;
    for (int i = 0; i < w->system->size; i++) {
        sum += w->v[i];
    }
    if (!to) {
        return SPRAG_NO_MEMORY;
    }
    if (!isfinite(sum)) {
        return SPRAG_NOT_CONVERGED;
    }
    sprag_assemble_solution(w->system, w->problem, w->node_of, w->v, to);
    return sprag_best_offer(w->best, &w->stats) <= STRIBECK_ACCEPTED ? SPRAG_OK
                                                                     : SPRAG_NOT_CONVERGED;
}

sprag_result sprag_strategy_solve(sprag_strategy_state *w)
{
    sprag_result result = SPRAG_NOT_CONVERGED;
    w->traits = traits_of(w);
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        if (applies(w, i) && sprag_strategy_work(w) <= w->options.most_work) {
            w->stats.strategy = strategies[i].name;
            w->stats.bound_error = 0;
            w->reached = w->options.stiction;
            result = strategies[i].run(w);
            record_tolerances(w, w->reached);
            if (result == SPRAG_OK && w->is_two_way) {
                result = sprag_strategy_offer(w);
            }
            if (result == SPRAG_OK || result == SPRAG_NO_MEMORY) {
                return result;
            }
        }
    }
    return result;
}

sprag_result sprag_strategy_open(sprag_strategy_state *w, sprag_system *system,
                                 sprag_scratch *scratch)
{
    w->system = system;
    w->update_work = sprag_system_update_work(system);
    w->v = SPRAG_TAKE(scratch, system->size, double);
    w->dv = SPRAG_TAKE_RAW(scratch, system->size, double);
    w->good = SPRAG_TAKE_RAW(scratch, system->size, double);
    w->bound = SPRAG_TAKE(scratch, system->points, double);
    return scratch->failed ? SPRAG_NO_MEMORY : SPRAG_OK;
}
