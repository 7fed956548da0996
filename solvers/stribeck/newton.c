#include "newton.h"

#include <math.h>
#include <string.h>

#include "laws.h"
#include "linalg.h"
#include "stribeck_constants.h"

// ---- the limiter

static double length(double x, double y)
{
    return sqrt(x * x + y * y);
}

// The alpha at which v + alpha dv has turned by theta, by the sine rule in the triangle of v and
// dv.
static double turn_limit(const double v[2], const double dv[2], double theta)
{
    double cross = fabs(v[0] * dv[1] - v[1] * dv[0]);
    double along = v[0] * dv[0] + v[1] * dv[1];
    double square = v[0] * v[0] + v[1] * v[1];
    double turned = cross * cos(theta) - along * sin(theta);
    double alpha = turned > 0 ? square * sin(theta) / turned : 1;
    return sprag_smaller(alpha, 1);
}

double sprag_limit_slip(const double v[2], const double dv[2], double tolerance, double small,
                        double theta)
{
    double end[2] = {v[0] + dv[0], v[1] + dv[1]};
    double change = length(dv[0], dv[1]);
    double x = length(v[0], v[1]) / tolerance, x1 = length(end[0], end[1]) / tolerance;
    if (change < small * tolerance) {
        return 1;
    }
    if (x < small && x1 > 1) { // from rest to sliding: stop first where the law is steep
        return tolerance / (2 * change);
    }
    if (x > 1 && x1 < small) { // from sliding to rest, likewise
        return 1 - tolerance / (2 * change);
    }
    if (x < 1 || x1 < 1) {
        return 1;
    }
    double nearest = -(v[0] * dv[0] + v[1] * dv[1]) / (change * change);
    if (nearest > 0 && nearest < 1) {
        double miss = length(v[0] + nearest * dv[0], v[1] + nearest * dv[1]) / tolerance;
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

// ---- the iteration

static double limit_update(const sprag_system *system, const sprag_newton_limits *limits,
                           double stiction)
{
    double alpha = 1;
    for (int i = 0; i < system->points; i++) {
        const sprag_point *point = &system->point[i];
        for (int c = point->cone; c < point->cone + point->cones; c++) {
            double slip[2], change[2], tolerance;
            if (sprag_system_cone_slip(system, i, c, stiction, slip, change, &tolerance)) {
                alpha = sprag_smaller(
                    sprag_limit_slip(slip, change, tolerance, limits->small, limits->theta), alpha);
            }
        }
    }
    return alpha;
}

// Returns the share of the update to take. The limiter regards slips only. Rows alone that neither
// reach nor leave a bound are linear.
static double choose_length(sprag_system *system, const sprag_newton_limits *limits,
                            double stiction, sprag_newton_state *s)
{
    double alpha = limit_update(system, limits, stiction);
    if ((system->convex && system->points > 0) ||
        (system->bounded && sprag_system_reaches_bound(system))) {
        for (int i = 0; i < system->points; i++) {
            s->bound[i] = system->impulse[i][SPRAG_NORMAL];
        }
        alpha = sprag_smaller(sprag_system_search(system, s->v, s->dv, stiction, s->bound), alpha);
    }
    return alpha;
}

static void keep_best(const sprag_system *system, sprag_newton_state *s, double residual)
{
    if (s->best && residual < s->best_residual) {
        memcpy(s->best, s->v, (size_t)system->size * sizeof *s->v);
        s->best_residual = residual;
    }
}

sprag_result sprag_newton(sprag_system *system, const sprag_newton_limits *limits, double stiction,
                          sprag_newton_state *s, sprag_stats *stats)
{
    double best = INFINITY;
    keep_best(system, s, stats->convergence);
    for (int it = 0, since = 0; it < limits->iterations && since < limits->patience;
         it++, since++) {
        if (stats->convergence <= limits->tolerance) {
            return SPRAG_OK;
        }
        if (stats->convergence < limits->progress * best) {
            best = stats->convergence;
            since = 0;
        }
        sprag_result result =
            sprag_system_factor(system, stiction, NULL, sprag_system_is_symmetric(system));
        stats->factorizations++;
        if (result != SPRAG_OK) {
            return result;
        }
        sprag_system_update(system, s->dv);
        sprag_system_move(system, s->v, choose_length(system, limits, stiction, s), s->dv);
        double before = stats->convergence;
        stats->convergence = sprag_system_residual(system, s->v, stiction, NULL);
        sprag_system_log(system, stiction, stats);
        if (!isfinite(stats->convergence)) {
            return SPRAG_SINGULAR;
        }
        keep_best(system, s, stats->convergence);
        if (system->moved == 1 && stats->convergence <= limits->rounding &&
            stats->convergence > STRIBECK_ROUNDING_PROGRESS * before) {
            return SPRAG_OK; // rounding is reached
        }
    }
    return stats->convergence <= sprag_larger(limits->tolerance, limits->rounding)
               ? SPRAG_OK
               : SPRAG_NOT_CONVERGED;
}

// ---- rows without excess yield

// Are there no factors, or are they those of other slopes? Rows may have reached or left their
// bounds since.
static bool factors_are_old(const sprag_system *system, const sprag_stats *stats)
{
    bool old = stats->factorizations == 0;
    for (int i = 0; i < system->equations && !old; i++) {
        old = system->row_slope[i] != sprag_equation_slope(&system->equation[i], system->rate[i]);
    }
    return old;
}

// Sets the impulses. Returns whether the system is linear between these rates and those now, but
// for rounding: no row has reached or left a bound, nor do rows oppose one another with large
// loads.
static bool is_linear_since(sprag_system *system, const double *before)
{
    const double most = STRIBECK_OPPOSED * system->momentum;
    double sum = 0;
    bool bends = false;
    for (int i = 0; i < system->equations; i++) {
        const sprag_equation *equation = &system->equation[i];
        const double rate = system->rate[i], impulse = sprag_equation_impulse(equation, rate);
        system->row_impulse[i] = impulse;
        sum += impulse * impulse * equation->inverse_mass;
        if (system->bounded) {
            const bool yields = sprag_equation_yields(equation, rate);
            bends |= yields != sprag_equation_yields(equation, before[i]) ||
                     (!yields && impulse != sprag_equation_impulse(equation, before[i]));
        }
    }
    return !bends && sum <= most * most;
}

sprag_result sprag_newton_harden_rows(sprag_system *system, double tolerance, double stiction,
                                      sprag_newton_state *s, sprag_stats *stats)
{
    size_t size = (size_t)system->size, rows = (size_t)system->equations;
    double before = stats->convergence;
    if (system->points > 0 || rows == 0) {
        return SPRAG_OK;
    }
    double *rate = SPRAG_TAKE_RAW(system->scratch, rows, double);
    double *v = SPRAG_TAKE_RAW(system->scratch, size, double);
    if (system->scratch->failed) {
        return SPRAG_NO_MEMORY;
    }
    if (factors_are_old(system, stats)) {
        const bool symmetric = sprag_system_is_symmetric(system);
        stats->factorizations++;
        if (sprag_system_factor(system, stiction, NULL, symmetric) != SPRAG_OK) {
            return SPRAG_OK;
        }
    }
    memcpy(v, s->v, size * sizeof *v);
    memcpy(rate, system->rate, rows * sizeof *rate);
    for (size_t i = 0; i < rows; i++) {
        const sprag_equation *equation = &system->equation[i];
        bool yields = isfinite(equation->excess) && sprag_equation_yields(equation, rate[i]);
        double given = yields ? equation->excess * system->row_impulse[i] : 0;
        system->rate[i] -= given;
        system->row_impulse[i] = given / equation->yield;
    }
    system->space->gather(system, system->work);
    add_scaled(system->residual, -1, system->work, system->size);
    sprag_system_update(system, s->dv);
    sprag_system_move(system, s->v, 1, s->dv);
    if (!is_linear_since(system, rate)) {
        stats->convergence = sprag_system_residual(system, s->v, stiction, NULL);
    }
    const double most = fmax(fmax(before, tolerance), STRIBECK_HARDENED);
    s->hardened = stats->convergence <= most;
    if (!s->hardened) { // a row has reached its bound
        memcpy(s->v, v, size * sizeof *v);
        memcpy(system->rate, rate, rows * sizeof *rate);
        stats->convergence = sprag_system_residual(system, s->v, stiction, NULL);
    }
    return SPRAG_OK;
}
