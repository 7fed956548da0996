#include "strategy.h"

#include <float.h>
#include <limits.h>
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

// Limits of Newton's method: at most `iterations` updates, of which at most `patience` in a row
// that do not bring the residual below `progress` times the least so far.
typedef struct effort {
    int iterations, patience;
    double progress;
} effort;

// Traits of an island that decide which strategies it gets (traits_of).
enum {
    SETTLES = 1,  // the caller says that it settles, and its factorization is small
    CURVED = 2,   // Hunt and Crossley's law, or friction that known forces bound (one-way)
    LINEAR = 4,   // otherwise: contacts and rows yield in proportion to their forces
    SPRINGS = 8,  // likewise, with contacts
    OTHERS = 16,  // without SPRINGS
    SMALL = 32,   // cheap to factorize
    BOUNDED = 64, // joints alone, with motors or stops
    JOINED = 128, // with rows
    LOOSE = 256   // without
};

static void copy(double *to, const double *from, int n)
{
    memcpy(to, from, (size_t)n * sizeof *to);
}

double sprag_strategy_work(const sprag_strategy_state *w)
{
    return w->stats.iterations * w->update_work;
}

// Updates that the work left allows, at most so many and at least one.
static int affordable(const sprag_strategy_state *w, int most)
{
    double left = (w->options.most_work - sprag_strategy_work(w)) / w->update_work;
    return (int)sprag_smaller(most, 1 + sprag_larger(left, 0));
}

// Newton's method on the coupled equations from w->v. The system must be evaluated there.
static sprag_result iterate(sprag_strategy_state *w, double stiction, double tolerance,
                            effort effort)
{
    const sprag_newton_limits limits = {.small = w->options.small,
                                        .theta = w->options.theta,
                                        .tolerance = tolerance,
                                        .rounding = w->options.tolerance,
                                        .iterations = affordable(w, effort.iterations),
                                        .patience = effort.patience,
                                        .progress = effort.progress};
    sprag_newton_state state = {.v = w->v, .dv = w->dv, .bound = w->bound};
    return sprag_newton(w->system, &limits, stiction, &state, &w->stats);
}

// The residual at w->v, where the system is then evaluated.
static double evaluate(sprag_strategy_state *w, double stiction)
{
    sprag_system_place(w->system, w->v);
    return w->stats.convergence = sprag_system_residual(w->system, w->v, stiction, NULL);
}

// Sets v to the free velocity or, where contacts act, that before the step or the guess, whichever
// has the least residual: rows alone are linear but for their bounds.
static void go_to_start(sprag_strategy_state *w)
{
    const double *from[] = {w->system->free, w->system->start, w->guess};
    double least = INFINITY;
    int best = 0, last = 0;
    for (int i = 0; i < (w->system->points > 0 ? 3 : 1) && from[i]; i++) {
        copy(w->v, from[i], w->system->size);
        double residual = evaluate(w, w->options.finest);
        best = residual < least ? i : best;
        least = sprag_smaller(residual, least);
        last = i;
    }
    if (best != last) {
        copy(w->v, from[best], w->system->size);
        evaluate(w, w->options.finest);
    }
}

// Fewer updates without progress if other strategies can take over, and the fewer the larger the
// system is.
static effort effort_of(const sprag_strategy_state *w)
{
    if (!w->is_two_way) {
        return (effort){w->options.max_iterations, STRIBECK_PATIENCE, 1};
    }
    int kinks = w->system->points + w->system->equations; // an update may pass only one of them
    double patience =
        sprag_smaller(kinks, STRIBECK_BRIEF_PATIENCE / sprag_larger(1, w->system->size));
    patience = sprag_larger(STRIBECK_BRIEF_PATIENCE_LEAST, patience);
    return (effort){w->options.max_iterations, (int)patience, STRIBECK_BRIEF_PROGRESS};
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

// To the forces of the last step, or of the caller's sweeps; but in trees (ATTEMPT_NEWTON) to those
// of the last step after sweeps, too: from the sweeps' a stack of 1 to 1000 kg takes 1.2
// times as many instructions.
static void go_to_known(sprag_strategy_state *w)
{
    sprag_system *system = w->system;
    w->reached = w->options.finest;
    if (w->options.attempts == SPRAG_ATTEMPT_SWEPT) {
        take(w, w->best->solution);
        return;
    }
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

// Momentum before the step, relative to what the step changes.
static double moves(const sprag_strategy_state *w)
{
    const sprag_system *system = w->system;
    system->space->momentum(system, system->start, system->work);
    return sprag_system_weighed(system, system->work) / fmax(system->momentum, DBL_MIN);
}

// The error that an interior-point solve may leave, at most so much: what moves needs less exact
// velocities than what has nearly come to rest.
static double interior_tolerance(const sprag_strategy_state *w, double most)
{
    const double exact = STRIBECK_INTERIOR_OF_MOTION, finest = STRIBECK_INTERIOR_FINEST;
    return w->options.exact ? clamp(exact * moves(w), finest, STRIBECK_INTERIOR_COARSEST)
                            : clamp(STRIBECK_INTERIOR_ENOUGH * moves(w), finest, most);
}

// The impulses of sweeps that have not converged are farther from the solution than those of the
// last step; but in motion updates that begin close to them show at once what cannot be reached.
static double swept_warmth(const sprag_strategy_state *w)
{
    const double motion = fmax(1, moves(w));
    return fmax(STRIBECK_INTERIOR_WARM, STRIBECK_INTERIOR_SWEPT / (motion * motion));
}

// Newton's method in known forces. It is given up where it leaves them: contacts that were held let
// go, and it takes many updates, if it ends. But as many as the interior-point method would take
// pay where that follows: after an update that leads away the next one is often near again, and
// where that would end is near enough. A root must not depend on the forces that are known.
static sprag_result solve_known(sprag_strategy_state *w)
{
    const bool root = w->options.attempts & SPRAG_ATTEMPT_ROOT;
    const bool patient = w->options.attempts & SPRAG_ATTEMPT_PATIENT;
    const double tolerance = (root ? STRIBECK_FORCE_KNOWN : 1) * w->options.tolerance;
    const sprag_forces_limits limits = {
        w->options.finest,
        patient ? fmax(tolerance, interior_tolerance(w, STRIBECK_INTERIOR_ENOUGH)) : tolerance,
        affordable(w, w->options.max_iterations),
        patient ? SPRAG_FORCES_PATIENT : SPRAG_FORCES_BRIEF};
    go_to_known(w);
    return sprag_forces_iterate(w->system, &limits, w->v, w->dv, &w->stats);
}

// Newton's method from the start; of joints alone with motors or stops from known forces, where
// these lead to a solution: it takes an update for each row that reaches or leaves its bounds, and
// they one or two for all.
static sprag_result solve_newton(sprag_strategy_state *w)
{
    if ((w->traits & BOUNDED) && solve_known(w) == SPRAG_OK) {
        evaluate(w, w->options.finest);
    } else {
        go_to_start(w);
    }
    w->reached = w->options.finest;
    const double share = w->traits & SPRINGS ? STRIBECK_FORCE_KNOWN : 1;
    const double tolerance = share * w->options.tolerance;
    sprag_newton_state state = {.v = w->v, .dv = w->dv};
    sprag_result result = iterate(w, w->options.finest, tolerance, effort_of(w));
    return result == SPRAG_OK ? sprag_newton_harden_rows(w->system, w->options.tolerance,
                                                         w->options.finest, &state, &w->stats)
                              : result;
}

// Newton's method in the forces to a root, also from the interior-point method's result.
static sprag_result solve_forces(sprag_strategy_state *w)
{
    const sprag_forces_limits limits = {w->options.finest, w->options.tolerance,
                                        affordable(w, INT_MAX), SPRAG_FORCES_LONG};
    go_to_known(w);
    return sprag_forces_solve(w->system, w->options.softest, &limits, w->v, w->dv, &w->stats);
}

// Friction bounds: the expected normal impulse of a contact, or, if that is unknown, the impulse
// that stops the approach when it is shared by a few contacts.
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

// The stiction tolerance at t, along the path from a large one (t = 0) to the finest (t = 1).
static double tolerance_at(const sprag_strategy_state *w, double t)
{
    double from = fmax(w->options.finest, w->options.softest);
    return t >= 1 ? w->options.finest : from * pow(w->options.finest / from, t);
}

// Follows the path in stages that Newton's method can solve.
static sprag_result solve_continuation(sprag_strategy_state *w)
{
    int n = w->system->size, left = w->options.max_continuation;
    double t = 0, stride = STRIBECK_FIRST_STAGE, reached = -1;
    w->reached = w->options.finest;
    copy(w->v, w->system->free, n);
    while (left > 0) {
        double tolerance = t < 1 ? STRIBECK_STAGE_TOLERANCE : w->options.tolerance;
        int updates = w->stats.iterations, most = w->options.max_iterations;
        effort limits = {most < left ? most : left, STRIBECK_PATIENCE, 1};
        evaluate(w, tolerance_at(w, t));
        sprag_result result = iterate(w, tolerance_at(w, t), tolerance, limits);
        left -= w->stats.iterations - updates;
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

// Frozen friction. What rests is where it was, after a few updates; otherwise in stages. The
// difference between bounds and normal impulses is the statistics' bound_error.
static sprag_result solve_frozen_friction(sprag_strategy_state *w)
{
    const sprag_strategy_options *o = &w->options;
    const bool settles = w->traits & SETTLES;
    const double finest = settles ? o->finest : fmax(o->finest, o->stiction);
    sprag_result result = SPRAG_NOT_CONVERGED;
    guess_bounds(w);
    if (settles) {
        copy(w->v, w->guess ? w->guess : w->system->start, w->system->size);
        result = sprag_frozen_friction_solve(w->system, w->bound, finest, o->tolerance,
                                             STRIBECK_SETTLED_UPDATES, w->v, w->dv, &w->stats);
    }
    if (result == SPRAG_NOT_CONVERGED) {
        copy(w->v, w->system->free, w->system->size);
        result = sprag_frozen_friction_solve_staged(w->system, w->bound, o->softest, finest,
                                                    o->tolerance, w->v, w->dv, &w->stats);
    }
    w->stats.bound_error = bound_error(w);
    return result == SPRAG_NOT_CONVERGED ? SPRAG_OK : result;
}

// The interior-point method, where the work that is left should be enough for it: from the impulses
// of the sweeps, however far they are from carrying a load, else from those expected.
static sprag_result solve_interior_point(sprag_strategy_state *w)
{
    const sprag_strategy_options *o = &w->options;
    sprag_interior_limits limits = {interior_tolerance(w, INFINITY),
                                    affordable(w, STRIBECK_INTERIOR_UPDATES),
                                    STRIBECK_INTERIOR_WARM};
    if (limits.updates < STRIBECK_INTERIOR_LEAST) {
        return SPRAG_NOT_CONVERGED;
    }
    if (w->best->stats.residual <= STRIBECK_ACCEPTED) {
        take(w, w->best->solution);
        limits.warm = swept_warmth(w);
    }
    sprag_result result =
        sprag_interior_solve(w->system, o->softest, o->stiction, &limits, w->v, w->dv, &w->stats);
    bool enough = w->stats.convergence <= STRIBECK_INTERIOR_ENOUGH;
    return result == SPRAG_NOT_CONVERGED && enough ? SPRAG_OK : result;
}

static unsigned traits_of(const sprag_strategy_state *w)
{
    sprag_system *system = w->system;
    const double work = system->space->work ? system->space->work(system) : 0;
    const bool settles = work <= w->options.settled_work * (system->points + system->equations);
    return (w->options.settled_work > 0 && settles ? SETTLES : 0) |
           (work <= w->options.small_work ? SMALL : 0) | (system->equations > 0 ? JOINED : LOOSE) |
           (system->points == 0 && system->bounded ? BOUNDED : 0) |
           (w->is_two_way && !system->curved ? LINEAR : CURVED) |
           (w->is_two_way && !system->curved && system->points > 0 ? SPRINGS : OTHERS);
}

// In the order of their cost. `traits`: all that an island must have. Newton's method in the
// velocities passes one kink with each update, and from joints it seldom gets to a root in as many
// as it has: there it comes last.
static const struct {
    sprag_strategy name;
    unsigned attempts, traits;
    sprag_result (*run)(sprag_strategy_state *);
} strategies[] = {
    {SPRAG_STRATEGY_FROZEN_FRICTION, SPRAG_ATTEMPT_SETTLED, SETTLES, solve_frozen_friction},
    {SPRAG_STRATEGY_NEWTON, SPRAG_ATTEMPT_DIRECT | SPRAG_ATTEMPT_SWEPT | SPRAG_ATTEMPT_NEWTON,
     OTHERS, solve_newton},
    {SPRAG_STRATEGY_CONTINUATION, SPRAG_ATTEMPT_ROOT, CURVED, solve_continuation},
    {SPRAG_STRATEGY_FROZEN_FRICTION, SPRAG_ATTEMPT_ROOT, CURVED, solve_frozen_friction},
    {SPRAG_STRATEGY_NEWTON, SPRAG_ATTEMPT_ROOT, SPRINGS | SMALL | LOOSE, solve_newton},
    {SPRAG_STRATEGY_WARM_NEWTON, SPRAG_ATTEMPT_DIRECT | SPRAG_ATTEMPT_SWEPT, SPRINGS, solve_known},
    {SPRAG_STRATEGY_NEWTON, SPRAG_ATTEMPT_NEWTON, SPRINGS, solve_newton},
    {SPRAG_STRATEGY_WARM_NEWTON, SPRAG_ATTEMPT_ROOT | SPRAG_ATTEMPT_FORCES, SPRINGS | SMALL,
     solve_forces},
    {SPRAG_STRATEGY_NEWTON, SPRAG_ATTEMPT_ROOT, SPRINGS | SMALL | JOINED, solve_newton},
    {SPRAG_STRATEGY_INTERIOR_POINT, SPRAG_ATTEMPT_INTERIOR, LINEAR, solve_interior_point},
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
    w->stats.stiction_least = sprag_smaller(sprag_larger(least, stiction), most);
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
            const bool root = strategies[i].attempts & SPRAG_ATTEMPT_ROOT;
            const double before = sprag_strategy_work(w);
            result = strategies[i].run(w);
            w->root_work += root ? sprag_strategy_work(w) - before : 0;
            record_tolerances(w, w->reached);
            if (result == SPRAG_OK && w->is_two_way) {
                result = sprag_strategy_offer(w);
            }
            if (result == SPRAG_OK && (w->traits & SETTLES) &&
                w->stats.bound_error > STRIBECK_BOUND_ERROR) {
                result = SPRAG_NOT_CONVERGED; // sweeps may find a better one
            }
            w->at_root = root && result == SPRAG_OK;
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
    w->v = SPRAG_TAKE_RAW(scratch, system->size, double);
    w->dv = SPRAG_TAKE_RAW(scratch, system->size, double);
    w->good = SPRAG_TAKE_RAW(scratch, system->size, double);
    w->bound = SPRAG_TAKE_RAW(scratch, system->points, double);
    return scratch->failed ? SPRAG_NO_MEMORY : SPRAG_OK;
}
