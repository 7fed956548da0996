#include "forces.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "assemble.h"
#include "interior.h"
#include "laws.h"
#include "linalg.h"
#include "stribeck_constants.h"
#include "vectors.h"

typedef struct iterate {
    sprag_system *system; // slip, rate: w
    double stiction;
    double rounding;           // m/s, of the normal laws; 0: none
    double *v, *dv;            // size, m/s, rad/s
    double (*slip)[6], *rate;  // points, equations: u
    double (*p)[6], *row_p;    // points, equations: N s
    double (*dp)[6], *row_dp;  // likewise: change of p by the last update
    double (*at)[6], *row_at;  // likewise: g(w)
    double (*slope)[6][6];     // points: -g'(w)
    double *normal;            // points: N s, bounds friction at w
    double (*inverse_mass)[6]; // points, 1/kg, of cones the largest of their axes; 0: no law's
    sprag_cones cones;
    double apart; // N s / sqrt(kg), from momentum balance and laws
} iterate;

// ---- the point of a law

// J, product of a normal impulse and its distance from the spring's law, which rounding keeps.
static double product_of(const iterate *s, const sprag_point *point)
{
    return s->rounding * s->rounding / point->inverse_mass;
}

// From u to w, of the normal of a spring. Returns g(w).
static double solve_normal(const iterate *s, const sprag_point *point, double impulse, double *w)
{
    const double rho = 1 / point->inverse_mass, stiff = 1 + rho * point->yield;
    const double z = impulse - rho * *w;
    if (!(s->rounding > 0)) {
        *w = -z / (rho + (z > 0 ? 1 / point->yield : 0));
        return z > 0 ? -*w / point->yield : 0;
    }
    const double product = product_of(s, point), root = sqrt(z * z + 4 * stiff * rho * product);
    const double p = z > 0 ? (z + root) / (2 * stiff) : 2 * rho * product / (root - z);
    *w = product / p - point->yield * p;
    return p;
}

// Sets w of the normals, the impulse that bounds friction there, g(w) and -g'(w).
static void solve_normals(iterate *s)
{
    sprag_system *system = s->system;
    for (int i = 0; i < system->points; i++) {
        const sprag_point *point = &system->point[i];
        const bool solved = point->inverse_mass > 0 && point->law == SPRAG_SPRING;
        double w = s->slip[i][SPRAG_NORMAL], share = 1, *at = &s->at[i][SPRAG_NORMAL];
        s->normal[i] = solved ? solve_normal(s, point, s->p[i][SPRAG_NORMAL], &w) : 0;
        system->slip[i][SPRAG_NORMAL] = w;
        if (solved && s->rounding > 0) { // friction is bounded by a spring's impulse elsewhere
            const double y = point->yield, product = product_of(s, point);
            const double root = sqrt(w * w + 4 * y * product);
            const double p = w < 0 ? (root - w) / (2 * y) : 2 * product / (root + w);
            w = -y * p;
            share = y * p / root;
        }
        *at = sprag_normal_impulse(system, point, w, &s->slope[i][SPRAG_NORMAL][SPRAG_NORMAL]);
        s->slope[i][SPRAG_NORMAL][SPRAG_NORMAL] *= share;
    }
}

static void solve_equation(iterate *s, int i)
{
    const sprag_equation *equation = &s->system->equation[i];
    double rho = 1 / equation->inverse_mass, z = s->row_p[i] - rho * s->rate[i];
    double w = -z / (1 / equation->yield + rho), p = -w / equation->yield;
    bool inside = p >= equation->lo && p <= equation->hi;
    w = inside ? w : (clamp(p, equation->lo, equation->hi) - z) / rho;
    s->system->rate[i] = equation->inverse_mass > 0 ? w : s->rate[i];
}

// Sets w, g(w) and -g'(w). Returns the distance of the iterate from the laws, N s / sqrt(kg).
static double take_laws(iterate *s)
{
    sprag_system *system = s->system;
    double sum = 0;
    solve_normals(s);
    sprag_cones_solve(&s->cones, s->stiction, s->normal, (const double(*)[6])s->slip,
                      (const double(*)[6])s->p, system->slip, s->at, s->slope);
    for (int i = 0; i < system->points; i++) {
        for (int k = 0; k < system->point[i].dim; k++) {
            const double apart = s->at[i][k] - s->p[i][k]; // N s, or N m s and 1/(kg m^2)
            sum += apart * apart * s->inverse_mass[i][k];
        }
    }
    for (int i = 0; i < system->equations; i++) {
        solve_equation(s, i);
        s->row_at[i] = sprag_equation_impulse(&system->equation[i], system->rate[i]);
        double apart = s->row_at[i] - s->row_p[i];
        sum += apart * apart * system->equation[i].inverse_mass;
    }
    return sqrt(sum);
}

// ---- updates

// p = at - slope apart
static inline __attribute__((always_inline)) void
linear_impulse(int dim, const double *at, const double (*slope)[6], const double *apart, double *p)
{
    for (int k = 0; k < dim; k++) {
        double sum = at[k];
        for (int j = 0; j < dim; j++) {
            sum -= slope[k][j] * apart[j];
        }
        p[k] = sum;
    }
    for (int k = dim; k < 6; k++) {
        p[k] = at[k];
    }
}

// Impulses by the laws as they are linear at w: at u, or after the update.
SPRAG_VECTORS
static void take_linear_laws(const iterate *s, bool after, double (*p)[6], double *row_p)
{
    const sprag_system *system = s->system;
    for (int i = 0; i < system->points; i++) {
        const double(*slope)[6] = (const double(*)[6])s->slope[i];
        double apart[6];
        for (int k = 0; k < 6; k++) {
            double change = after ? system->slip_change[i][k] : 0;
            apart[k] = s->slip[i][k] + change - system->slip[i][k];
        }
        if (system->point[i].dim == 3) {
            linear_impulse(3, s->at[i], slope, apart, p[i]);
        } else {
            linear_impulse(6, s->at[i], slope, apart, p[i]);
        }
    }
    for (int i = 0; i < system->equations; i++) {
        const sprag_equation *equation = &system->equation[i];
        double apart = s->rate[i] + (after ? system->rate_change[i] : 0) - system->rate[i];
        bool yields = sprag_equation_yields(equation, system->rate[i]);
        row_p[i] = s->row_at[i] - (yields ? apart / equation->yield : 0);
    }
}

// The system with other impulses.
static sprag_system carrying(const sprag_system *system, double (*impulse)[6], double *row_impulse)
{
    sprag_system with = *system;
    with.impulse = impulse;
    with.row_impulse = row_impulse;
    return with;
}

// Error of the iterate: of the momentum balance and of the laws, relative to the momenta.
static double error_of(iterate *s)
{
    sprag_system with = carrying(s->system, s->p, s->row_p);
    double scale = sprag_larger(sprag_system_balance(&with, s->v), DBL_MIN);
    double error = sprag_system_weighed(s->system, s->system->residual);
    s->apart = hypot(error, take_laws(s));
    return s->apart / scale;
}

// The matrix of the laws as they are linear at w.
static sprag_result factor(iterate *s)
{
    sprag_system *system = s->system;
    system->symmetric = sprag_system_is_symmetric(system);
    sprag_result result = system->space->begin(system, system->symmetric);
    if (result != SPRAG_OK) {
        return result;
    }
    for (int i = 0; i < system->points; i++) {
        system->space->add_point(system, i, (const double(*)[6])s->slope[i], false);
    }
    for (int i = 0; i < system->equations; i++) {
        system->row_slope[i] = sprag_equation_slope(&system->equation[i], system->rate[i]);
    }
    system->space->add_equations(system, 0, system->equations, system->row_slope,
                                 system->symmetric);
    return system->space->factor(system, system->symmetric);
}

// Sets dv and the changes that go with it.
static sprag_result update(iterate *s)
{
    sprag_system *system = s->system;
    sprag_result result = factor(s);
    if (result != SPRAG_OK) {
        return result;
    }
    take_linear_laws(s, false, s->dp, s->row_dp);
    sprag_system with = carrying(system, s->dp, s->row_dp);
    sprag_system_rebalance(&with); // v is that of error_of
    sprag_system_update(system, s->dv);
    take_linear_laws(s, true, s->dp, s->row_dp);
    add_scaled(s->dp[0], -1, s->p[0], 6 * system->points);
    add_scaled(s->row_dp, -1, s->row_p, system->equations);
    return SPRAG_OK;
}

static void move(iterate *s, double share)
{
    sprag_system *system = s->system;
    system->moved = share;
    add_scaled(s->v, share, s->dv, system->size);
    add_scaled(s->slip[0], share, system->slip_change[0], 6 * system->points);
    add_scaled(s->rate, share, system->rate_change, system->equations);
    add_scaled(s->p[0], share, s->dp[0], 6 * system->points);
    add_scaled(s->row_p, share, s->row_dp, system->equations);
}

static bool take(iterate *s, sprag_scratch *scratch)
{
    const sprag_system *system = s->system;
    s->slip = SPRAG_TAKE_RAW(scratch, system->points, *s->slip);
    s->p = SPRAG_TAKE_RAW(scratch, system->points, *s->p);
    s->dp = SPRAG_TAKE_RAW(scratch, system->points, *s->dp);
    s->row_dp = SPRAG_TAKE_RAW(scratch, system->equations, double);
    s->at = SPRAG_TAKE(scratch, system->points, *s->at);
    s->slope = SPRAG_TAKE(scratch, system->points, *s->slope);
    s->normal = SPRAG_TAKE_RAW(scratch, system->points, double);
    s->inverse_mass = SPRAG_TAKE(scratch, system->points, *s->inverse_mass);
    s->rate = SPRAG_TAKE_RAW(scratch, system->equations, double);
    s->row_p = SPRAG_TAKE_RAW(scratch, system->equations, double);
    s->row_at = SPRAG_TAKE_RAW(scratch, system->equations, double);
    return !scratch->failed;
}

// From v and the impulses of the system. false: no memory.
static bool set_start(iterate *s)
{
    sprag_system *system = s->system;
    memcpy(s->p, system->impulse, (size_t)system->points * sizeof *s->p);
    memcpy(s->row_p, system->row_impulse, (size_t)system->equations * sizeof *s->row_p);
    for (int i = 0; i < system->points; i++) {
        const sprag_point *point = &system->point[i];
        s->inverse_mass[i][SPRAG_NORMAL] = point->inverse_mass;
        for (int c = point->cone; c < point->cone + point->cones; c++) {
            const sprag_cone *cone = &system->cone[c];
            s->inverse_mass[i][cone->first + cone->axes - 1] = cone->inverse_mass;
            s->inverse_mass[i][cone->first] = cone->inverse_mass;
        }
    }
    sprag_cones_take(&s->cones, system, (const double(*)[6])s->inverse_mass, system->scratch);
    sprag_system_place(system, s->v);
    memcpy(s->slip, system->slip, (size_t)system->points * sizeof *s->slip);
    memcpy(s->rate, system->rate, (size_t)system->equations * sizeof *s->rate);
    return !system->scratch->failed;
}

// Takes the update, or the first half, quarter and so on of it that is nearer to the laws than the
// farthest of the last iterates (Grippo, Lampariello, Lucidi, SIAM J. Numer. Anal. 23, 1986).
// Updates go back and forth between sliding either way otherwise; and if each had to come nearer
// than the last one, they would end at a kink. Not relative to the impulses: these would grow
// without bound between bodies that wedge. apart: of the last iterates. Returns the error.
static double search(iterate *s, const double *apart, int count)
{
    double share = 1, farthest = 0;
    for (int i = 0; i < count && i < STRIBECK_FORCE_MEMORY; i++) {
        farthest = fmax(farthest, apart[i]);
    }
    move(s, 1);
    double error = error_of(s);
    while (!(s->apart < farthest) && share > STRIBECK_FORCE_SHARE) {
        share /= 2;
        move(s, -share);
        error = error_of(s);
    }
    s->system->moved = share;
    return error;
}

sprag_result sprag_forces_iterate(sprag_system *system, const sprag_forces_limits *limits,
                                  double *v, double *dv, sprag_stats *stats)
{
    const bool patient = limits->mode == SPRAG_FORCES_PATIENT;
    const bool known = limits->mode != SPRAG_FORCES_LONG;
    iterate s = {.system = system, .stiction = limits->stiction, .v = v, .dv = dv};
    if (!take(&s, system->scratch) || !set_start(&s)) {
        return SPRAG_NO_MEMORY;
    }
    const double first = error_of(&s);
    double least = INFINITY, error = first;
    for (int i = 0, since = 0;; i++, since++) {
        stats->convergence = error;
        since = error < least / 2 ? 0 : since;
        least = sprag_smaller(error, least);
        const bool stalls = since >= STRIBECK_FORCE_STALLED;
        const double share = known && i == 0 ? STRIBECK_FORCE_KNOWN : 1;
        if (error <=
            sprag_larger(share * limits->tolerance, stalls ? STRIBECK_FORCE_ROUNDING : 0)) {
            sprag_system_set_impulses(system, s.at, s.row_at);
            return SPRAG_OK;
        }
        const double most = patient ? STRIBECK_FORCE_LOST * pow(first, 1 - 1.0 / fmax(1, i))
                                    : STRIBECK_FORCE_ROUNDING;
        const bool lost =
            error > sprag_larger(first, most) || (patient && since > STRIBECK_FORCE_PATIENCE);
        if (i >= limits->updates || !isfinite(error) || (known && lost)) {
            return SPRAG_NOT_CONVERGED;
        }
        sprag_result result = update(&s);
        stats->factorizations++;
        if (result != SPRAG_OK) {
            return result;
        }
        move(&s, stalls && since % 2 ? 0.5 : 1);
        error = error_of(&s);
        sprag_system_log(system, limits->stiction, stats);
    }
}

// Updates that are left, at most so many.
static int updates_left(int last, const sprag_stats *stats, int most)
{
    int left = last - stats->iterations;
    return left < 0 ? 0 : left < most ? left : most;
}

sprag_result sprag_forces_solve(sprag_system *system, double softest,
                                const sprag_forces_limits *limits, double *v, double *dv,
                                sprag_stats *stats)
{
    const int before = stats->iterations;
    const int last = limits->updates < INT_MAX - before ? before + limits->updates : INT_MAX;
    sprag_forces_limits part = *limits;
    part.updates = updates_left(last, stats, STRIBECK_FORCE_UPDATES);
    sprag_result result = sprag_forces_iterate(system, &part, v, dv, stats);
    if (result != SPRAG_NOT_CONVERGED || stats->iterations >= last) {
        return result;
    }
    const sprag_interior_limits interior = {STRIBECK_INTERIOR_FINEST,
                                            updates_left(last, stats, STRIBECK_INTERIOR_UPDATES),
                                            STRIBECK_INTERIOR_WARM};
    result = sprag_interior_solve(system, softest, limits->stiction, &interior, v, dv, stats);
    if (result != SPRAG_OK && result != SPRAG_NOT_CONVERGED) {
        return result;
    }
    part.updates = updates_left(last, stats, STRIBECK_FORCE_UPDATES);
    return sprag_forces_iterate(system, &part, v, dv, stats);
}

// ---- rounded laws

// An iterate to which stages that are not found return.
typedef struct place {
    double *v, *rate, *row_p;
    double (*slip)[6], (*p)[6];
} place;

static bool take_place(const sprag_system *system, place *to)
{
    sprag_scratch *scratch = system->scratch;
    *to = (place){.v = SPRAG_TAKE_RAW(scratch, system->size, double),
                  .rate = SPRAG_TAKE_RAW(scratch, system->equations, double),
                  .row_p = SPRAG_TAKE_RAW(scratch, system->equations, double),
                  .slip = SPRAG_TAKE_RAW(scratch, system->points, double[6]),
                  .p = SPRAG_TAKE_RAW(scratch, system->points, double[6])};
    return !scratch->failed;
}

static void copy_place(const sprag_system *system, const place *from, const place *to)
{
    const size_t rows = (size_t)system->equations, points = (size_t)system->points;
    memcpy(to->v, from->v, (size_t)system->size * sizeof *to->v);
    memcpy(to->rate, from->rate, rows * sizeof *to->rate);
    memcpy(to->row_p, from->row_p, rows * sizeof *to->row_p);
    memcpy(to->slip, from->slip, points * sizeof *to->slip);
    memcpy(to->p, from->p, points * sizeof *to->p);
}

// Returns the error by laws that are rounded by so much, m/s.
static double round_laws(iterate *s, const sprag_forces_limits *limits, double rounding)
{
    s->rounding = rounding;
    s->stiction = fmax(limits->stiction, STRIBECK_ROUNDED_STICTION * rounding);
    return error_of(s);
}

// N s / sqrt(kg), of all points at 1 m/s.
static double size_of(const sprag_system *system)
{
    double mass = 0;
    for (int i = 0; i < system->points; i++) {
        const double inverse = system->point[i].inverse_mass;
        mass += inverse > 0 ? 1 / inverse : 0;
    }
    return sqrt(mass);
}

// Newton's method with updates that are shortened, from v and the impulses of the system, by laws
// whose rounding (m/s) goes to 0 in stages: what pushes and what slides is found little by little.
// A stage that is not found is taken in parts; where the path turns back, none is short enough.
// The first rounding is by the distance of the start from the laws: motors may do far more than a
// step's other changes. Not rounded: no stages.
static sprag_result follow(sprag_system *system, const sprag_forces_limits *limits, bool rounded,
                           double *v, double *dv, sprag_stats *stats)
{
    iterate s = {.system = system, .v = v, .dv = dv};
    place last;
    if (!take(&s, system->scratch) || !take_place(system, &last) || !set_start(&s)) {
        return SPRAG_NO_MEMORY;
    }
    const place here = {.v = v, .rate = s.rate, .row_p = s.row_p, .slip = s.slip, .p = s.p};
    const double size = size_of(system);
    double apart[STRIBECK_FORCE_MEMORY], factor = STRIBECK_ROUNDED_STAGE, found = 0;
    double error = round_laws(&s, limits, 0), least = INFINITY;
    double rounding = rounded ? STRIBECK_ROUNDED_FIRST * s.apart / size : 0;
    const double sharp = STRIBECK_ROUNDED_LEAST * rounding;
    error = rounded ? round_laws(&s, limits, rounding) : error;
    for (int i = 0, since = 0, idle = 0;; i++) {
        while (rounding > 0 && s.apart <= rounding * size) {
            copy_place(system, &here, &last);
            factor *= since < STRIBECK_ROUNDED_FEW ? factor : 1;
            factor = fmax(factor, STRIBECK_ROUNDED_STAGE);
            found = rounding;
            rounding = factor * found > sharp ? factor * found : 0;
            error = round_laws(&s, limits, rounding);
            since = 0;
        }
        if (found > 0 && since == STRIBECK_ROUNDED_UPDATES) {
            copy_place(system, &last, &here);
            factor = sqrt(factor);
            rounding = factor * found;
            error = round_laws(&s, limits, rounding);
            since = 0;
        }
        idle = s.apart < least / 2 ? 0 : idle + 1;
        least = fmin(least, s.apart);
        const bool lost = found == 0 && idle >= STRIBECK_FORCE_TRIES;
        const bool ends = i >= limits->updates || lost || factor > STRIBECK_ROUNDED_SHORTEST;
        if (ends && rounding > 0 && found > 0) {
            copy_place(system, &last, &here);
        }
        error = ends ? round_laws(&s, limits, 0) : error;
        const double enough = (ends ? STRIBECK_FORCE_ENOUGH : 1) * limits->tolerance;
        stats->convergence = error;
        if (s.rounding == 0 && error <= enough) {
            sprag_system_set_impulses(system, s.at, s.row_at);
            return SPRAG_OK;
        }
        if (ends || !isfinite(error)) {
            return SPRAG_NOT_CONVERGED;
        }
        sprag_result result = update(&s);
        stats->factorizations++;
        if (result != SPRAG_OK) {
            return result;
        }
        apart[since % STRIBECK_FORCE_MEMORY] = s.apart;
        error = search(&s, apart, ++since);
        sprag_system_log(system, s.stiction, stats);
    }
}

// To the free velocities, without impulses.
static void begin_anew(sprag_system *system, double *v)
{
    memcpy(v, system->free, (size_t)system->size * sizeof *v);
    memset(system->impulse, 0, (size_t)system->points * sizeof *system->impulse);
    memset(system->row_impulse, 0, (size_t)system->equations * sizeof *system->row_impulse);
}

sprag_result sprag_stribeck_forces(const sprag_problem *problem,
                                   const sprag_stribeck_options *options, sprag_scratch *scratch,
                                   sprag_solution *solution, sprag_stats *stats)
{
    sprag_system system;
    int *node_of;
    double stiction;
    sprag_scales scales = sprag_stribeck_scales(problem, options);
    sprag_result result =
        sprag_stribeck_assemble(problem, &scales, scratch, &system, &node_of, &stiction);
    if (result != SPRAG_OK) {
        return result;
    }
    double *v = SPRAG_TAKE_RAW(scratch, system.size, double);
    double *dv = SPRAG_TAKE_RAW(scratch, system.size, double);
    if (scratch->failed) {
        return SPRAG_NO_MEMORY;
    }
    const double update = sprag_system_update_work(&system);
    const int before = stats->iterations;
    const int last = before + (int)clamp(*options->work_left / update, 0, INT_MAX / 2);
    sprag_forces_limits limits = {.stiction = stiction,
                                  .tolerance = options->tolerance,
                                  .updates = updates_left(last, stats, STRIBECK_FORCE_UPDATES)};
    sprag_assemble_start(&system, problem, node_of, solution, v);
    result = follow(&system, &limits, false, v, dv, stats);
    if (result == SPRAG_NOT_CONVERGED) {
        limits.updates = updates_left(last, stats, STRIBECK_ROUNDED_MOST);
        begin_anew(&system, v);
        result = follow(&system, &limits, true, v, dv, stats);
    }
    *options->work_left -= (stats->iterations - before + 1) * update; // 1: the assembly
    if (result == SPRAG_OK) {
        sprag_assemble_solution(&system, problem, node_of, v, solution);
    }
    return result;
}
