// The momentum balance at a velocity and its derivative, in any space.
#include "system.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "laws.h"
#include "linalg.h"
#include "stribeck_constants.h"
#include "vectors.h"
#include "vectors6.h"

sprag_result sprag_system_take(sprag_system *system, sprag_scratch *scratch)
{
    int n = system->size;
    system->scratch = scratch;
    system->start = SPRAG_TAKE(scratch, n, double);
    system->free = SPRAG_TAKE(scratch, n, double);
    system->weight = SPRAG_TAKE_RAW(scratch, n, double);
    system->residual = SPRAG_TAKE_RAW(scratch, n, double);
    system->work = SPRAG_TAKE_RAW(scratch, n, double);
    system->momentum_change = SPRAG_TAKE_RAW(scratch, n, double);
    system->point = SPRAG_TAKE_RAW(scratch, system->points, sprag_point);
    system->cone = SPRAG_TAKE_RAW(scratch, system->cones, sprag_cone);
    system->equation = SPRAG_TAKE_RAW(scratch, system->equations, sprag_equation);
    system->slip = SPRAG_TAKE_RAW(scratch, system->points, double[6]);
    system->slip_change = SPRAG_TAKE_RAW(scratch, system->points, double[6]);
    system->impulse = SPRAG_TAKE_RAW(scratch, system->points, double[6]);
    system->rate = SPRAG_TAKE_RAW(scratch, system->equations, double);
    system->rate_change = SPRAG_TAKE(scratch, system->equations, double);
    system->row_impulse = SPRAG_TAKE_RAW(scratch, system->equations, double);
    system->row_slope = SPRAG_TAKE(scratch, system->equations, double);
    system->line = SPRAG_TAKE_RAW(
        scratch, sprag_search_room(system->points, system->cones, system->equations), double);
    return scratch->failed ? SPRAG_NO_MEMORY : SPRAG_OK;
}

// |D x|^2, D = diag(weight)
SPRAG_VECTORS
static double weighed_square(const double *weight, const double *x, int size)
{
    sprag_four sums = {0}; // one alone waits for itself
    int i = 0;
    for (; i + 4 <= size; i += 4) {
        sprag_four e = *(const sprag_four *)(weight + i) * *(const sprag_four *)(x + i);
        sums += e * e;
    }
    double sum = sums[0] + sums[1] + (sums[2] + sums[3]);
    for (; i < size; i++) {
        double e = weight[i] * x[i];
        sum += e * e;
    }
    return sum;
}

double sprag_system_weighed(const sprag_system *system, const double *x)
{
    return sqrt(weighed_square(system->weight, x, system->size));
}

SPRAG_VECTORS
static void set_weights(double *restrict weight, const double *restrict mass_diagonal, int size)
{
    for (int i = 0; i < size; i++) {
        weight[i] = 1 / sqrt(mass_diagonal[i]);
    }
}

void sprag_system_weigh(sprag_system *system, const double *mass_diagonal, const double *before)
{
    set_weights(system->weight, mass_diagonal, system->size);
    for (int i = 0; i < system->size; i++) {
        system->residual[i] = system->free[i] - (before ? before[i] : 0);
    }
    system->space->momentum(system, system->residual, system->work);
    double change = sprag_system_weighed(system, system->work);
    if (before) {
        system->space->momentum(system, system->free, system->work);
    }
    system->momentum = sprag_larger(change, STRIBECK_MOMENTUM_ROUNDING *
                                                sprag_system_weighed(system, system->work));
}

// ---- evaluation

void sprag_system_place(sprag_system *system, const double *v)
{
    for (int i = 0; i < system->points; i++) {
        memcpy(system->slip[i], system->point[i].offset, sizeof system->slip[i]);
    }
    for (int i = 0; i < system->equations; i++) {
        system->rate[i] = system->equation[i].offset;
    }
    system->space->velocities(system, v, system->slip, system->rate);
    system->moved = 1;
}

void sprag_system_move(sprag_system *system, double *v, double alpha, const double *dv)
{
    add_scaled(v, alpha, dv, system->size);
    add_scaled(system->slip[0], alpha, system->slip_change[0], 6 * system->points);
    add_scaled(system->rate, alpha, system->rate_change, system->equations);
    system->moved = alpha;
}

// The root of the sum of squares of all impulses before they cancel, each in the metric of |D x|.
static double gross_impulse(const sprag_system *system)
{
    double sum = 0;
    for (int i = 0; i < system->points; i++) {
        double normal = system->impulse[i][SPRAG_NORMAL];
        sum += normal * normal * system->point[i].inverse_mass;
    }
    for (int i = 0; i < system->equations; i++) {
        double impulse = system->row_impulse[i];
        sum += impulse * impulse * system->equation[i].inverse_mass;
    }
    return sqrt(sum);
}

double sprag_system_update_work(sprag_system *system)
{
    double factorization = system->space->work ? system->space->work(system) : 0;
    return sprag_larger(factorization, 0) +
           STRIBECK_UPDATE_WORK * (system->points + system->equations);
}

void sprag_system_set_impulses(sprag_system *system, double (*impulse)[6],
                               const double *row_impulse)
{
    memcpy(system->impulse, impulse, (size_t)system->points * sizeof *impulse);
    memcpy(system->row_impulse, row_impulse, (size_t)system->equations * sizeof *row_impulse);
}

double sprag_system_balance(sprag_system *system, const double *v)
{
    double *r = system->residual, *change = system->work;
    system->space->gather(system, r);
    double scale = sprag_larger(sprag_system_weighed(system, r), system->momentum);
    for (int i = 0; i < system->size; i++) {
        change[i] = v[i] - system->free[i];
    }
    system->space->momentum(system, change, system->momentum_change);
    for (int i = 0; i < system->size; i++) {
        r[i] = system->momentum_change[i] - r[i];
    }
    return scale;
}

void sprag_system_rebalance(sprag_system *system)
{
    double *r = system->residual;
    system->space->gather(system, r);
    for (int i = 0; i < system->size; i++) {
        r[i] = system->momentum_change[i] - r[i];
    }
}

double sprag_system_residual(sprag_system *system, const double *v, double stiction,
                             const double *bound)
{
    sprag_point_impulses(system, stiction, bound);
    for (int i = 0; i < system->equations; i++) {
        system->row_impulse[i] = sprag_equation_impulse(&system->equation[i], system->rate[i]);
    }
    double scale = sprag_system_balance(system, v);
    // Opposed rows may carry any load; their sum has the rounding error of that load.
    scale = sprag_larger(STRIBECK_IMPULSE_ROUNDING * gross_impulse(system), scale);
    scale = sprag_larger(scale, DBL_MIN);
    return isfinite(scale) ? sprag_system_weighed(system, system->residual) / scale : INFINITY;
}

// ---- matrix

// A search that stops at once is at the kink of a stiff law, and Newton updates may cross it back
// and forth for ever; so may a row that jumps between its bounds. Then the mean slope over the last
// move replaces the slope at its end, if it is steeper.
static double steepened(double slope, double moved, double impulse_now, double impulse_before)
{
    return moved == 0 ? slope : fmax(slope, (impulse_before - impulse_now) / moved);
}

static bool stopped_at_once(const sprag_system *system)
{
    return system->moved < STRIBECK_STOPPED_LENGTH;
}

// slope: where it is now.
static double normal_slope(const sprag_system *system, int i, double slope)
{
    const sprag_point *point = &system->point[i];
    if (!stopped_at_once(system)) {
        return slope;
    }
    double now = system->slip[i][SPRAG_NORMAL];
    double moved = system->moved * system->slip_change[i][SPRAG_NORMAL];
    return steepened(slope, moved, sprag_normal_impulse(system, point, now, NULL),
                     sprag_normal_impulse(system, point, now - moved, NULL));
}

static double equation_slope(const sprag_system *system, int i)
{
    const sprag_equation *equation = &system->equation[i];
    double now = system->rate[i], moved = system->moved * system->rate_change[i];
    double slope = sprag_equation_slope(equation, now);
    if (slope != 0 && !stopped_at_once(system)) {
        return slope;
    }
    double impulse = sprag_equation_impulse(equation, now);
    double before = sprag_equation_impulse(equation, now - moved);
    bool jumped = impulse != before && !sprag_equation_yields(equation, now - moved);
    return stopped_at_once(system) || jumped ? steepened(slope, moved, impulse, before) : slope;
}

sprag_result sprag_system_factor(sprag_system *system, double stiction, const double *bound,
                                 bool symmetric)
{
    system->symmetric = symmetric;
    sprag_result result = system->space->begin(system, symmetric);
    if (result != SPRAG_OK) {
        return result;
    }
    for (int i = 0; i < system->points; i++) {
        double impulse[6], G[6][6], *slope = &G[SPRAG_NORMAL][SPRAG_NORMAL];
        sprag_point_law(system, i, system->slip[i], stiction, bound, impulse, G);
        *slope = normal_slope(system, i, *slope);
        system->space->add_point(system, i, (const double(*)[6])G, symmetric);
    }
    for (int i = 0; i < system->equations; i++) {
        system->row_slope[i] = equation_slope(system, i); // 0: at its bound
    }
    system->space->add_equations(system, 0, system->equations, system->row_slope, symmetric);
    return system->space->factor(system, symmetric);
}

void sprag_system_update(sprag_system *system, double *dv)
{
    for (int i = 0; i < system->size; i++) {
        dv[i] = -system->residual[i];
    }
    system->space->solve(system, system->symmetric, dv);
    sprag_system_change(system, dv);
}

void sprag_system_change(sprag_system *system, const double *dv)
{
    memset(system->slip_change, 0, (size_t)system->points * sizeof *system->slip_change);
    memset(system->rate_change, 0, (size_t)system->equations * sizeof *system->rate_change);
    system->space->velocities(system, dv, system->slip_change, system->rate_change);
}

// |Jt dv|, over all contacts
static double slip_change(const sprag_system *system)
{
    double sum = 0;
    for (int i = 0; i < system->points; i++) {
        const double *change = system->slip_change[i] + SPRAG_SLIDE;
        sum += change[0] * change[0] + change[1] * change[1];
    }
    return sqrt(sum);
}

void sprag_system_log(const sprag_system *system, double stiction, sprag_stats *stats)
{
    if (stats->iterations < stats->history_room && stats->history) {
        stats->history[stats->iterations] = (sprag_iteration){.strategy = stats->strategy,
                                                              .stiction = stiction,
                                                              .length = system->moved,
                                                              .slip = slip_change(system),
                                                              .convergence = stats->convergence};
    }
    stats->iterations++;
}

// ---- along an update

bool sprag_system_reaches_bound(const sprag_system *system)
{
    for (int i = 0; i < system->equations; i++) {
        const sprag_equation *equation = &system->equation[i];
        double now = system->rate[i], end = now + system->rate_change[i];
        bool yields = sprag_equation_yields(equation, now);
        bool crosses =
            sprag_equation_impulse(equation, now) != sprag_equation_impulse(equation, end);
        if (yields != sprag_equation_yields(equation, end) || (!yields && crosses)) {
            return true;
        }
    }
    return false;
}

bool sprag_system_cone_slip(const sprag_system *system, int i, int c, double stiction,
                            double slip[2], double change[2], double *tolerance)
{
    const sprag_point *point = &system->point[i];
    const sprag_cone *cone = &system->cone[c];
    double end = system->slip[i][SPRAG_NORMAL] + system->slip_change[i][SPRAG_NORMAL];
    double bound = system->step;
    if (!cone->force) {
        double before = system->impulse[i][SPRAG_NORMAL];
        double after = sprag_normal_impulse(system, point, end, NULL);
        bound = before > after ? before : after;
    }
    if (isinf(cone->coefficient) || cone->coefficient == 0 || bound == 0) {
        return false;
    }
    *tolerance = sprag_cone_slip_at_bound(cone, stiction, cone->coefficient * bound);
    slip[1] = change[1] = 0;
    for (int k = 0; k < cone->axes; k++) {
        int at = cone->first + k;
        slip[k] = cone->shape[k] * system->slip[i][at];
        change[k] = cone->shape[k] * system->slip_change[i][at];
    }
    return true;
}
