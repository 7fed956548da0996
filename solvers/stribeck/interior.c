// Impulses p of contacts and rows are the unknowns beside v:
//
//     M (v - v*) = J' p,    u + Y p + lag = A' z,    s = A p + a,    s in K, z in K, s o z = 0
//
// u is the relative velocity J v + offset, Y what contacts and rows yield by. Each cone of friction
// is one K, the second-order cone s0 >= |s1|: s0 is its bound, s1 its impulses. What no cone
// couples to friction is bounded by half-lines. A cone alone would lift what slides (it is the
// convex problem of Anitescu); De Saxce and Feng's lag, mu |slip| on the normal velocity, makes its
// solution Coulomb's. The lag follows the iterate.
//
// Updates go along the central path s o z = mu e, in the scaling of Nesterov and Todd, with
// Mehrotra's predictor and corrector (Vandenberghe: The CVXOPT linear and quadratic cone program
// solvers, 2010, sections 4 to 7). Cones for contacts: Acary, Armand, Nguyen, Shpakovych:
// Second-order cone programming for frictional contact mechanics using interior point algorithm,
// Optimization Methods and Software 39, 2024.
#include "interior.h"

#include <math.h>
#include <string.h>

#include "interior_cones.h"
#include "laws.h"
#include "space6.h"
#include "stribeck_constants.h"
#include "vectors.h"

typedef struct interior {
    sprag_system *system;
    double scale, stiction; // m/s
    double warm;            // of the limits
    batch *first;
    int cones; // lanes that are used, of all batches
} interior;

// ---- start

// Does anything move the two bodies?
static bool is_held(double inverse_mass)
{
    return !(inverse_mass > 0);
}

// N s, normal impulse at the start: that which stops what the step changes, and more.
static double first_impulse(const interior *in, const sprag_point *point)
{
    return is_held(point->inverse_mass) ? 0
                                        : STRIBECK_INTERIOR_START * in->scale / point->inverse_mass;
}

// The same where the last step's impulse is known: no less than a share of it.
static double warm_impulse(const interior *in, const sprag_point *point)
{
    double first = first_impulse(in, point);
    return point->guess[0] < 0 ? first : fmax(point->guess[0], in->warm * first);
}

// In the middle of the bounds.
static double first_row_impulse(const interior *in, const sprag_equation *equation)
{
    bool lo = isfinite(equation->lo), hi = isfinite(equation->hi);
    double unit = is_held(equation->inverse_mass) ? 0 : in->scale / equation->inverse_mass;
    return lo && hi ? equation->lo + (equation->hi - equation->lo) / 2
           : lo     ? fmax(0, equation->lo + unit)
           : hi     ? fmin(0, equation->hi - unit)
                    : 0;
}

// Bound of a cone, N s, where the impulse of its normal is known.
static double bound_of(const sprag_system *system, const sprag_cone *cone, double normal)
{
    return cone->coefficient * (cone->force ? system->step : normal);
}

// m/s per N s, of sticking: under the impulse that a contact starts with.
static double slip_yield_of(const interior *in, const sprag_point *point, const sprag_cone *cone)
{
    return isinf(cone->coefficient)
               ? cone->slip_yield
               : sprag_friction_yield(cone->slip_yield, sprag_cone_tolerance(cone, in->stiction),
                                      bound_of(in->system, cone, first_impulse(in, point)));
}

// ---- batches

enum { MOST_CONES = 6, ALONE = -1 }; // of a point; the cone of a normal that bounds no friction

// Lists the cones that bound a point: places in the system, or ALONE.
static int list_cones(const sprag_system *system, const sprag_point *point, int cone[MOST_CONES])
{
    int count = 0;
    bool coupled = false;
    for (int c = point->cone; c < point->cone + point->cones; c++) {
        if (isfinite(system->cone[c].coefficient)) {
            cone[count++] = c;
            coupled |= !system->cone[c].force;
        }
    }
    if (!coupled) {
        cone[count++] = ALONE;
    }
    return count;
}

// Components of its impulses, so that as many cones as possible are alike.
static void set_components(const sprag_system *system, int cone, int at[3])
{
    const int first = cone == ALONE ? SPRAG_SLIDE : system->cone[cone].first;
    at[0] = 0;
    at[1] = first < SPRAG_ROLL ? SPRAG_SLIDE : first < SPRAG_SPIN ? SPRAG_ROLL : SPRAG_SPIN;
    at[2] = at[1] < SPRAG_SPIN ? at[1] + 1 : at[1];
}

static batch *add_batch(sprag_scratch *scratch, int n, int first, int count)
{
    const size_t numbers = 5 * (size_t)n + (size_t)(n * (n + 1) / 2);
    batch *b = SPRAG_TAKE_RAW(scratch, 1, batch);
    lanes *at = SPRAG_TAKE(scratch, numbers, lanes);
    cones *cone = SPRAG_TAKE_RAW(scratch, count, cones);
    if (scratch->failed) {
        return NULL;
    }
    *b = (batch){.n = n, .first = first, .cones = count, .cone = cone};
    b->p = at;
    b->dp = at + n;
    b->yield = at + 2 * n;
    b->rest = at + 3 * n;
    b->change = at + 4 * n;
    b->D = at + 5 * n;
    for (int i = 0; i < count; i++) {
        cone[i] = (cones){.constant = ones};
        cone[i].s[0] = cone[i].z[0] = ones;
    }
    return b;
}

// The last batch, if it has room for a point, or a row, that is bounded like its own; else a new
// one. NULL: no memory.
static batch *find_batch(interior *in, batch **last, int n, int index, const int (*at)[3],
                         int count)
{
    batch *b = *last;
    bool fits =
        b && b->n == n && b->cones == count && b->count < LANES && b->first + b->count == index;
    for (int i = 0; i < count && fits; i++) {
        fits = !memcmp(b->cone[i].at, at[i], sizeof *at);
    }
    if (!fits) {
        b = add_batch(in->system->scratch, n, index, count);
        *(*last ? &(*last)->next : &in->first) = b;
        *last = b;
    }
    for (int i = 0; i < count && b; i++) {
        memcpy(b->cone[i].at, at[i], sizeof *at);
        b->cone[i].used[b->count] = -1;
    }
    in->cones += count;
    return b;
}

static void set_free(batch *b, int k, int lane, double yield)
{
    b->free[k][lane] = -1;
    b->yield[k][lane] = yield;
}

// Yields of a point, and what its friction adds to its normal velocity.
static void set_point(const interior *in, const sprag_point *point, batch *b, int lane)
{
    const sprag_system *system = in->system;
    b->inverse_mass[lane] = point->inverse_mass;
    b->p[0][lane] = warm_impulse(in, point);
    set_free(b, SPRAG_NORMAL, lane, point->yield);
    for (int c = point->cone; c < point->cone + point->cones; c++) {
        const sprag_cone *cone = &system->cone[c];
        const double slip_yield = slip_yield_of(in, point, cone);
        for (int k = 0; k < cone->axes; k++) {
            const double shape = isinf(cone->coefficient) ? 1 : cone->shape[k];
            set_free(b, cone->first + k, lane, slip_yield / (shape * shape));
        }
    }
}

static void set_cone(const sprag_system *system, const sprag_point *point, int of, cones *c,
                     int lane)
{
    c->constant[lane] = 0;
    if (of == ALONE) {
        c->by[0][lane] = 1;
        c->follow[0][lane] = -1;
        return;
    }
    const sprag_cone *cone = &system->cone[of];
    if (cone->force) {
        c->constant[lane] = bound_of(system, cone, 0);
    } else {
        c->by[0][lane] = c->lag[lane] = cone->coefficient;
    }
    for (int k = 0; k < cone->axes; k++) {
        const int at = cone->first + k == c->at[1] ? 1 : 2;
        c->by[at][lane] = 1 / cone->shape[k];
        c->shape[at - 1][lane] = cone->shape[k];
        c->follow[at][lane] = -(point->cones == 1 && !cone->force);
    }
    c->follow[0][lane] = -(point->cones == 1 && !cone->force && cone->coefficient != 0);
}

// Friction of the last step, inside its cone. Returns where its dual is on the central path. The
// larger a load is, the larger may its change be: a dual that is too small for it stops the
// updates.
static double start_warm(const interior *in, const sprag_point *point, batch *b, cones *c, int lane)
{
    double square = 0;
    for (int k = 1; k < 3; k++) {
        const bool bounds = c->by[k][lane] > 0 && c->at[k] < SPRAG_ROLL;
        b->p[c->at[k]][lane] += bounds ? point->guess[c->at[k]] : 0;
        const double s = c->by[k][lane] * b->p[c->at[k]][lane];
        square += s * s;
    }
    const double bound =
        STRIBECK_INTERIOR_INSIDE * (c->by[0][lane] * b->p[0][lane] + c->constant[lane]);
    const double share = fmin(1, bound / sqrt(square)); // 1 without friction: 0 / 0 is no number
    for (int k = 1; k < 3; k++) {
        b->p[c->at[k]][lane] *= c->by[k][lane] > 0 ? share : 1;
    }
    double load = fmax(first_impulse(in, point), b->p[0][lane]);
    return in->warm * STRIBECK_INTERIOR_DUAL * in->scale * load;
}

static double dual_of(const interior *in, const cones *c, int lane)
{
    const double by = c->by[0][lane];
    return STRIBECK_INTERIOR_DUAL * in->scale / (by != 0 ? fabs(by) : 1);
}

// Duals in the middle of their cones, of contacts and rows that move apart slowly; where the last
// step's impulses are known, on the central path.
static void start_cones(const interior *in, batch *b)
{
    lanes path[MOST_CONES] = {{0}};
    for (int i = 0; i < b->cones; i++) {
        cones *c = &b->cone[i];
        for (int l = 0; l < b->count; l++) {
            const sprag_point *point = b->n > 1 ? &in->system->point[b->first + l] : NULL;
            const bool warm = point && point->guess[0] >= 0 && c->by[0][l] > 0;
            c->z[0][l] = dual_of(in, c, l);
            path[i][l] = warm ? start_warm(in, point, b, c, l) : 0;
        }
    }
    for (int i = 0; i < b->cones; i++) {
        set_slacks(&b->cone[i], b->n, b->p);
        centre_duals(&b->cone[i], &path[i]);
    }
}

static bool add_point(interior *in, batch **last, int i)
{
    const sprag_system *system = in->system;
    const sprag_point *point = &system->point[i];
    int cone[MOST_CONES], at[MOST_CONES][3], count = list_cones(system, point, cone);
    for (int c = 0; c < count; c++) {
        set_components(system, cone[c], at[c]);
    }
    batch *b = find_batch(in, last, point->dim, i, (const int(*)[3])at, count);
    if (!b) {
        return false;
    }
    set_point(in, point, b, b->count);
    for (int c = 0; c < count; c++) {
        set_cone(system, point, cone[c], &b->cone[c], b->count);
    }
    b->count++;
    return true;
}

static bool add_row(interior *in, batch **last, int i)
{
    const sprag_equation *equation = &in->system->equation[i];
    const double bound[2] = {equation->lo, equation->hi};
    const int count = isfinite(bound[0]) + isfinite(bound[1]);
    batch *b = find_batch(in, last, 1, i, (const int[2][3]){{0}}, count);
    if (!b) {
        return false;
    }
    b->inverse_mass[b->count] = equation->inverse_mass;
    b->p[0][b->count] = first_row_impulse(in, equation);
    set_free(b, 0, b->count, equation->yield);
    for (int side = 0, c = 0; side < 2; side++) {
        if (isfinite(bound[side])) {
            cones *to = &b->cone[c++];
            to->by[0][b->count] = side ? -1 : 1;
            to->constant[b->count] = side ? bound[1] : -bound[0];
            to->follow[0][b->count] = -(count == 1);
        }
    }
    b->count++;
    return true;
}

// Batches at the start. The system is placed there.
static bool take(interior *in)
{
    const sprag_system *system = in->system;
    batch *last = NULL;
    memset(system->impulse, 0, (size_t)system->points * sizeof *system->impulse);
    for (int i = 0; i < system->points; i++) {
        if (is_held(system->point[i].inverse_mass)) {
            system->impulse[i][SPRAG_NORMAL] = warm_impulse(in, &system->point[i]);
        } else if (!add_point(in, &last, i)) {
            return false;
        }
    }
    for (int i = 0; i < system->equations; i++) {
        if (is_held(system->equation[i].inverse_mass)) {
            system->row_impulse[i] = first_row_impulse(in, &system->equation[i]);
        } else if (!add_row(in, &last, i)) {
            return false;
        }
    }
    return true;
}

static double *numbers_of(const batch *b, double (*points)[6], double *rows)
{
    return b->n == 1 ? rows : points[0];
}

static void start(interior *in)
{
    const sprag_system *system = in->system;
    for (batch *b = in->first; b; b = b->next) {
        start_cones(in, b);
        load(b, b->n, numbers_of(b, system->slip, system->rate), b->rest);
        for (int i = 0; i < b->n; i++) {
            b->rest[i] += SELECT(b->free[i], b->yield[i] * b->p[i], -b->rest[i]);
        }
        for (int i = 0; i < b->cones; i++) {
            add_lag(&b->cone[i], b->n, b->rest, &b->lag);
        }
    }
}

// ---- updates

static void set_impulses(const interior *in)
{
    const sprag_system *system = in->system;
    for (const batch *b = in->first; b; b = b->next) {
        store(b, b->n, b->p, numbers_of(b, system->impulse, system->row_impulse));
    }
}

SPRAG_VECTORS
static bool set_all_matrices(const interior *in)
{
    lane_mask lost = {0};
    for (batch *b = in->first; b; b = b->next) {
        if (b->n == 3) {
            set_matrix(b, 3, &lost);
        } else if (b->n == 1) {
            set_matrix(b, 1, &lost);
        } else {
            set_matrix(b, 6, &lost);
        }
    }
    return !any(&lost);
}

SPRAG_VECTORS
static void add_to_matrix(sprag_system *system, const batch *b)
{
    double G[LANES][6][6];
    if (b->n == 3) {
        unpack(b, 3, G);
    } else if (b->n == 1) {
        unpack(b, 1, G);
    } else {
        unpack(b, 6, G);
    }
    for (int l = 0; l < b->count; l++) {
        if (b->n > 1) {
            system->space->add_point(system, b->first + l, (const double(*)[6])G[l], true);
        } else {
            system->space->add_equations(system, b->first + l, 1, &G[l][0][0], true);
        }
    }
}

static sprag_result factor(interior *in)
{
    sprag_system *system = in->system;
    sprag_result result = system->space->begin(system, true);
    if (result != SPRAG_OK) {
        return result;
    }
    if (!set_all_matrices(in)) {
        return SPRAG_SINGULAR;
    }
    for (const batch *b = in->first; b; b = b->next) {
        add_to_matrix(system, b);
    }
    return system->space->factor(system, true);
}

SPRAG_VECTORS
static void take_all_wanted(const interior *in, bool predicts, double mu)
{
    const sprag_system *system = in->system;
    for (batch *b = in->first; b; b = b->next) {
        if (b->n == 3) {
            take_wanted(b, 3, predicts, mu);
            store(b, 3, b->dp, system->impulse[0]);
        } else if (b->n == 1) {
            take_wanted(b, 1, predicts, mu);
            store(b, 1, b->dp, system->row_impulse);
        } else {
            take_wanted(b, 6, predicts, mu);
            store(b, 6, b->dp, system->impulse[0]);
        }
    }
}

SPRAG_VECTORS
static void take_all_changes(const interior *in, gaps *g)
{
    const sprag_system *system = in->system;
    lanes du[6];
    for (batch *b = in->first; b; b = b->next) {
        if (b->n == 3) {
            load(b, 3, system->slip_change[0], du);
            take_changes(b, 3, du, g);
        } else if (b->n == 1) {
            load(b, 1, system->rate_change, du);
            take_changes(b, 1, du, g);
        } else {
            load(b, 6, system->slip_change[0], du);
            take_changes(b, 6, du, g);
        }
    }
}

SPRAG_VECTORS
static void move_all(const interior *in, double share, lanes *gap, lanes *lack)
{
    for (batch *b = in->first; b; b = b->next) {
        if (b->n == 3) {
            move(b, 3, share, gap, lack);
        } else if (b->n == 1) {
            move(b, 1, share, gap, lack);
        } else {
            move(b, 6, share, gap, lack);
        }
    }
}

// Means of s'z over the cones, J, and the largest share up to `most` of an update.
typedef struct step {
    double mean[3], longest;
} step;

// An update of v, p, s and z.
static void update(interior *in, bool predicts, double mu, double most, double *dv, step *to)
{
    sprag_system *system = in->system;
    gaps g = {.share = most * ones};
    take_all_wanted(in, predicts, mu);
    system->space->gather(system, dv);
    add_scaled(dv, -1, system->residual, system->size);
    system->space->solve(system, true, dv);
    sprag_system_change(system, dv);
    take_all_changes(in, &g);
    to->longest = most;
    for (int l = 0; l < LANES; l++) {
        to->longest = fmin(to->longest, g.share[l]);
    }
    for (int i = 0; i < 3; i++) {
        const double sum = g.sum[i][0] + g.sum[i][1] + (g.sum[i][2] + g.sum[i][3]);
        to->mean[i] = in->cones > 0 ? sum / in->cones : 0;
    }
}

// Takes a share of an update. Returns the error: the largest speed that a gap stands for, and of
// the laws' own errors, relative to the scale.
static double take_share(interior *in, double share, double *v, const double *dv)
{
    sprag_system *system = in->system;
    lanes gap = {0}, lack = {0};
    double largest = 0, most = 0;
    add_scaled(v, share, dv, system->size);
    for (int i = 0; i < system->size; i++) { // the balance is linear
        system->residual[i] *= 1 - share;
    }
    system->moved = share;
    move_all(in, share, &gap, &lack);
    for (int l = 0; l < LANES; l++) {
        largest = fmax(largest, gap[l]);
        most = fmax(most, lack[l]);
    }
    return fmax(sqrt(largest), most) / in->scale;
}

// Sets the impulses of the system, and moves v to where they balance: an update leaves a share of
// the residual.
static void balance(interior *in, double *v, double *dv)
{
    sprag_system *system = in->system;
    set_impulses(in);
    sprag_system_balance(system, v);
    memcpy(dv, system->residual, (size_t)system->size * sizeof *dv);
    sprag_space6_divide_by_mass(system->chart, dv);
    add_scaled(v, -1, dv, system->size);
}

sprag_result sprag_interior_solve(sprag_system *system, double scale, double stiction,
                                  const sprag_interior_limits *limits, double *v, double *dv,
                                  sprag_stats *stats)
{
    interior in = {.system = system, .scale = scale, .stiction = stiction, .warm = limits->warm};
    const int updates = limits->updates;
    if (!take(&in)) {
        return SPRAG_NO_MEMORY;
    }
    memcpy(v, system->start, (size_t)system->size * sizeof *v);
    sprag_system_place(system, v);
    start(&in);
    set_impulses(&in);
    sprag_system_balance(system, v);
    sprag_result result = SPRAG_NOT_CONVERGED;
    double least = STRIBECK_INTERIOR_ENOUGH, left = 1; // of the first residual
    for (int it = 0, since = 0; it < updates && since < STRIBECK_INTERIOR_STALLED; it++, since++) {
        step s;
        sprag_result factored = factor(&in);
        stats->factorizations++;
        if (factored != SPRAG_OK) {
            if (it > 0 && factored == SPRAG_SINGULAR) { // rounding is reached
                break;
            }
            return factored;
        }
        update(&in, true, 0, 1, dv, &s);
        const double before = s.mean[0], x = s.longest;
        const double share = (before + x * (s.mean[1] + x * s.mean[2])) / before;
        update(&in, false, before * fmin(1, share * share * share), 1 / STRIBECK_INTERIOR_SHARE, dv,
               &s);
        const double length = STRIBECK_INTERIOR_SHARE * s.longest;
        left *= 1 - length;
        stats->convergence = take_share(&in, length, v, dv);
        sprag_system_log(system, stiction, stats);
        if (!isfinite(stats->convergence)) {
            return SPRAG_SINGULAR;
        }
        if (stats->convergence <= limits->tolerance) {
            result = SPRAG_OK;
            break;
        }
        const bool nears =
            stats->convergence > STRIBECK_INTERIOR_ENOUGH && left < STRIBECK_INTERIOR_LOST;
        if (nears || stats->convergence < least / 2) {
            since = 0;
            least = fmin(least, stats->convergence);
        }
    }
    balance(&in, v, dv);
    return result;
}
