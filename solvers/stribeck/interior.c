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

// ---- limits

static limit *add_limit(interior *in, int point, double *p, double *dp, double *e)
{
    limit *to = &in->limit[in->limits++];
    *to = (limit){.point = point, .p = p, .dp = dp, .e = e};
    return to;
}

// Bound of a cone, N s, where the impulse of its normal is known.
static double bound_of(const sprag_system *system, const sprag_cone *cone, double normal)
{
    return cone->coefficient * (cone->force ? system->step : normal);
}

static void add_limits_of_point(interior *in, int i)
{
    const sprag_system *system = in->system;
    const sprag_point *point = &system->point[i];
    bool given = point->law == SPRAG_GIVEN, coupled = false;
    in->free[i][SPRAG_NORMAL] = !given;
    for (int c = point->cone; c < point->cone + point->cones; c++) {
        const sprag_cone *cone = &system->cone[c];
        memset(in->free[i] + cone->first, true, (size_t)cone->axes * sizeof in->free[i][0]);
        if (isinf(cone->coefficient)) {
            continue;
        }
        bool fixed = given || cone->force;
        limit *to = add_limit(in, i, in->p[i], in->dp[i], in->e[i]);
        to->constant = fixed ? bound_of(system, cone, point->given) : 0;
        to->by[0] = fixed ? 0 : cone->coefficient;
        for (int k = 0; k < cone->axes; k++) {
            to->at[1 + k] = cone->first + k;
            to->by[1 + k] = 1 / cone->shape[k];
        }
        to->alone = point->cones == 1 && (given || !fixed);
        coupled |= !fixed;
    }
    if (!given && !coupled) {
        limit *to = add_limit(in, i, in->p[i], in->dp[i], in->e[i]);
        to->by[0] = 1;
        to->alone = true;
    }
}

static void add_limits_of_row(interior *in, int i)
{
    const sprag_equation *equation = &in->system->equation[i];
    const double bound[2] = {equation->lo, equation->hi};
    for (int side = 0; side < 2; side++) {
        if (isfinite(bound[side])) {
            limit *to = add_limit(in, -1, &in->row_p[i], &in->row_dp[i], &in->row_e[i]);
            to->alone = !isfinite(bound[!side]);
            to->by[0] = side ? -1 : 1;
            to->constant = side ? bound[1] : -bound[0];
        }
    }
}

// Does anything move the two bodies?
static bool is_held(const sprag_point *point)
{
    return !(point->inverse_mass > 0);
}

// N s, normal impulse at the start: that which stops what the step changes, and more.
static double first_impulse(const interior *in, const sprag_point *point)
{
    return is_held(point) ? 0 : STRIBECK_INTERIOR_START * in->scale / point->inverse_mass;
}

// The same where the last step's impulse is known: no less than a share of it.
static double warm_impulse(const interior *in, const sprag_point *point)
{
    double first = first_impulse(in, point);
    return point->guess[0] < 0 ? first : fmax(point->guess[0], STRIBECK_INTERIOR_WARM * first);
}

// Impulses inside of all bounds: normals of the last step, or those that stop what the step
// changes, and rows in the middle.
static void start_impulses(interior *in)
{
    const sprag_system *system = in->system;
    for (int i = 0; i < system->points; i++) {
        const sprag_point *point = &system->point[i];
        in->p[i][0] = point->law == SPRAG_GIVEN ? point->given : warm_impulse(in, point);
    }
    for (int i = 0; i < system->equations; i++) {
        const sprag_equation *equation = &system->equation[i];
        bool lo = isfinite(equation->lo), hi = isfinite(equation->hi);
        double unit = equation->inverse_mass > 0 ? in->scale / equation->inverse_mass : 0;
        in->row_p[i] = lo && hi ? equation->lo + (equation->hi - equation->lo) / 2
                       : lo     ? fmax(0, equation->lo + unit)
                       : hi     ? fmin(0, equation->hi - unit)
                                : 0;
    }
}

static bool take(interior *in, sprag_scratch *scratch)
{
    const sprag_system *system = in->system;
    int points = system->points, rows = system->equations;
    in->limit = SPRAG_TAKE_RAW(scratch, system->cones + points + 2L * rows, limit);
    in->p = SPRAG_TAKE(scratch, points, double[6]);
    in->dp = SPRAG_TAKE(scratch, points, double[6]);
    in->c = system->impulse; // what is gathered
    in->e = SPRAG_TAKE(scratch, points, double[6]);
    in->yield = SPRAG_TAKE(scratch, points, double[6]);
    in->rest = SPRAG_TAKE(scratch, points, double[6]);
    in->D = SPRAG_TAKE_RAW(scratch, points, double[6][6]);
    in->free = SPRAG_TAKE(scratch, points, bool[6]);
    in->cones =
        SPRAG_TAKE(scratch, (system->cones + points + 2L * rows + LANES - 1) / LANES, cones);
    in->row_p = SPRAG_TAKE(scratch, rows, double);
    in->row_dp = SPRAG_TAKE(scratch, rows, double);
    in->row_c = system->row_impulse;
    in->row_e = SPRAG_TAKE(scratch, rows, double);
    in->row_rest = SPRAG_TAKE(scratch, rows, double);
    in->row_D = SPRAG_TAKE(scratch, rows, double);
    return !scratch->failed;
}

// ---- velocities of the laws

// m/s, normal velocity at which a contact has the impulse p > 0, and its fall with p.
static double normal_velocity(const sprag_system *system, const sprag_point *point, double p,
                              double *yield)
{
    if (point->law != SPRAG_HUNT_CROSSLEY) {
        *yield = point->yield;
        return -point->yield * p;
    }
    double h = system->step, d = point->dissipation, x = point->penetration;
    double k = h * point->stiffness, sum = h + d * x;
    double root = sqrt(fmax(0, sum * sum - 4 * d * h * (x - p / k)));
    *yield = 1 / (k * root);
    return 2 * (x - p / k) / (sum + root);
}

// m/s per N s, of sticking: under the impulse that a contact starts with.
static double slip_yield_of(const interior *in, const sprag_point *point, const sprag_cone *cone)
{
    double normal = point->law == SPRAG_GIVEN ? point->given : first_impulse(in, point);
    return isinf(cone->coefficient)
               ? cone->slip_yield
               : sprag_friction_yield(cone->slip_yield, sprag_cone_tolerance(cone, in->stiction),
                                      bound_of(in->system, cone, normal));
}

// Yields, and u + Y p + lag, at the present v and p.
static void set_rest(interior *in)
{
    const sprag_system *system = in->system;
    for (int i = 0; i < system->points; i++) {
        const sprag_point *point = &system->point[i];
        const double *p = in->p[i], *slip = system->slip[i];
        double *yield = in->yield[i], *rest = in->rest[i];
        memset(yield, 0, 6 * sizeof *yield);
        memset(rest, 0, 6 * sizeof *rest);
        if (is_held(point)) {
            continue;
        }
        if (point->law != SPRAG_GIVEN) {
            rest[0] = slip[0] - normal_velocity(system, point, p[0], &yield[0]);
        }
        for (int c = point->cone; c < point->cone + point->cones; c++) {
            const sprag_cone *cone = &system->cone[c];
            bool bond = isinf(cone->coefficient);
            double square = 0, slip_yield = slip_yield_of(in, point, cone);
            for (int k = 0; k < cone->axes; k++) {
                int at = cone->first + k;
                yield[at] = slip_yield / (bond ? 1 : cone->shape[k] * cone->shape[k]);
                rest[at] = slip[at] + yield[at] * p[at];
                square += cone->shape[k] * rest[at] * cone->shape[k] * rest[at];
            }
            bool coupled = !bond && !cone->force && point->law != SPRAG_GIVEN;
            rest[0] += coupled ? cone->coefficient * sqrt(square) : 0;
        }
    }
    for (int i = 0; i < system->equations; i++) {
        in->row_rest[i] = system->rate[i] + system->equation[i].yield * in->row_p[i];
    }
}

static double inverse_mass_of(const interior *in, const limit *of)
{
    const sprag_system *system = in->system;
    return of->point >= 0 ? system->point[of->point].inverse_mass
                          : system->equation[of->p - in->row_p].inverse_mass;
}

// Sets s where p is.
static void set_slacks(interior *in)
{
    for (int i = 0; i < in->limits; i++) {
        const limit *of = &in->limit[i];
        double s[3];
        set_image(of, of->p, s);
        for (int k = 0; k < 3; k++) {
            in->cones[i / LANES].s[k][i % LANES] = k == 0 ? s[0] + of->constant : s[k];
        }
    }
}

// Friction of the last step, inside its cone. Returns where its dual is on the central path. The
// larger a load is, the larger may its change be: a dual that is too small for it stops the
// updates.
static double start_warm(const interior *in, const limit *of, const sprag_point *point)
{
    double s[3];
    for (int k = 1; k < 3; k++) {
        of->p[of->at[k]] += of->at[k] > 0 && of->at[k] < 3 ? point->guess[of->at[k]] : 0;
    }
    set_image(of, of->p, s);
    double size = hypot(s[1], s[2]), bound = STRIBECK_INTERIOR_INSIDE * (s[0] + of->constant);
    const double share = fmin(1, bound / size); // 1 without friction: 0 / 0 is no number
    for (int k = 1; k < 3; k++) {
        of->p[of->at[k]] *= of->at[k] > 0 ? share : 1;
    }
    double load = fmax(first_impulse(in, point), of->p[0]);
    return STRIBECK_INTERIOR_WARM * STRIBECK_INTERIOR_DUAL * in->scale * load;
}

// Duals in the middle of their cones, of contacts and rows that move apart slowly.
static void start_duals(interior *in)
{
    in->batches = (in->limits + LANES - 1) / LANES;
    for (int i = 0; i < LANES * in->batches; i++) {
        cones *c = &in->cones[i / LANES];
        const int l = i % LANES;
        c->s[0][l] = c->z[0][l] = 1;
        if (i >= in->limits) {
            continue;
        }
        const limit *of = &in->limit[i];
        const sprag_point *point = of->point >= 0 ? &in->system->point[of->point] : NULL;
        const bool warm = point && point->guess[0] >= 0 && of->by[0] > 0;
        for (int k = 0; k < 3; k++) {
            c->by[k][l] = of->by[k];
            c->follow[k][l] = -(of->alone && of->by[k] != 0);
        }
        c->used[l] = -1;
        c->inverse_mass[l] = inverse_mass_of(in, of);
        c->z[0][l] = STRIBECK_INTERIOR_DUAL * in->scale / (of->by[0] != 0 ? fabs(of->by[0]) : 1);
        c->x[0][l] = warm ? start_warm(in, of, point) : 0;
    }
    set_slacks(in);
    centre_duals(in->cones, in->batches);
    set_rest(in);
}

// ---- matrix

static sprag_result factor(interior *in)
{
    sprag_system *system = in->system;
    sprag_result result = system->space->begin(system, true);
    if (result != SPRAG_OK) {
        return result;
    }
    int next = 0;
    if (!scale_cones(in->cones, in->batches) || !set_point_matrices(in, &next)) {
        return SPRAG_SINGULAR;
    }
    for (int i = 0; i < system->points; i++) {
        if (!is_held(&system->point[i])) {
            system->space->add_point(system, i, (const double(*)[6])in->D[i], true);
        }
    }
    for (int i = 0; i < system->equations; i++) {
        double sum = system->equation[i].yield;
        for (; next < in->limits && in->limit[next].p == &in->row_p[i]; next++) {
            const double root = in->cones[next / LANES].root[next % LANES];
            sum += 1 / (root * root);
        }
        in->row_D[i] = 1 / sum;
        if (in->row_D[i] > 0) {
            system->space->add_equation(system, i, in->row_D[i], true);
        }
    }
    return system->space->factor(system, true);
}

// ---- updates

// Sets the residual M (v - v*) - J' p of the system.
static void set_residual(const interior *in, const double *v)
{
    sprag_system_set_impulses(in->system, in->p, in->row_p);
    sprag_system_balance(in->system, v);
}

// Sets ds, and what those duals follow that have one solution.
static void set_changes(const interior *in)
{
    const sprag_system *system = in->system;
    for (int i = 0; i < in->limits; i++) {
        const limit *of = &in->limit[i];
        cones *c = &in->cones[i / LANES];
        const bool points = of->point >= 0;
        const long row = points ? 0 : of->p - in->row_p;
        const double *rest = points ? in->rest[of->point] : &in->row_rest[row];
        const double *du = points ? system->slip_change[of->point] : &system->rate_change[row];
        const double *yield = points ? in->yield[of->point] : &system->equation[row].yield;
        double ds[3];
        set_image(of, of->dp, ds);
        for (int k = 0; k < 3; k++) {
            const int at = of->at[k], l = i % LANES;
            c->ds[k][l] = ds[k];
            c->x[k][l] = rest[at] + du[at] + yield[at] * of->dp[at];
        }
    }
}

static void clear_adjoints(interior *in)
{
    memset(in->e, 0, (size_t)in->system->points * sizeof *in->e);
    memset(in->row_e, 0, (size_t)in->system->equations * sizeof *in->row_e);
}

// An update of v, p, s and z.
static void update(interior *in, bool predicts, double mu, double *dv)
{
    sprag_system *system = in->system;
    clear_adjoints(in);
    want(in->cones, in->batches, predicts, mu);
    for (int i = 0; i < in->limits; i++) { // e = A' (W^-1 k + z) - rest: the duals cancel
        const limit *of = &in->limit[i];
        add_adjoint(of, in->cones[i / LANES].x, i % LANES, of->e);
    }
    take_all_wanted(in);
    for (int i = 0; i < system->equations; i++) {
        in->row_c[i] = in->row_D[i] * (in->row_e[i] - in->row_rest[i]);
    }
    system->space->gather(system, dv);
    add_scaled(dv, -1, system->residual, system->size);
    system->space->solve(system, true, dv);
    sprag_system_change(system, dv);
    take_all_changes(in);
    for (int i = 0; i < system->equations; i++) {
        in->row_dp[i] = in->row_c[i] - in->row_D[i] * system->rate_change[i];
    }
    set_changes(in);
    set_dual_changes(in->cones, in->batches);
}

static double longest_update(const interior *in, double share)
{
    return share * longest_share(in->cones, in->batches, 1 / share);
}

// Mean of s'z after a share of the update, J.
static double mean_gap(const interior *in, double share)
{
    double sum = 0;
    for (int i = 0; i < in->batches; i++) {
        const cones *c = &in->cones[i];
        lanes gap[3];
        for (int k = 0; k < 3; k++) {
            gap[k] = (c->s[k] + share * c->ds[k]) * (c->z[k] + share * c->dz[k]);
        }
        for (int l = 0; l < LANES && LANES * i + l < in->limits; l++) {
            sum = sum + gap[0][l] + gap[1][l] + gap[2][l];
        }
    }
    return in->limits > 0 ? sum / in->limits : 0;
}

// Largest speed that a gap stands for, and of the laws' own errors, relative to the scale.
static double error_of(interior *in)
{
    const sprag_system *system = in->system;
    const double gap = largest_gap(in->cones, in->batches);
    double lack = 0;
    clear_adjoints(in);
    for (int i = 0; i < in->limits; i++) {
        const limit *of = &in->limit[i];
        add_adjoint(of, in->cones[i / LANES].z, i % LANES, of->e);
    }
    for (int i = 0; i < system->points; i++) {
        for (int k = 0; k < 3; k++) { // m/s
            const double apart = fabs(in->e[i][k] - in->rest[i][k]);
            lack = apart > lack ? apart : lack;
        }
    }
    return fmax(sqrt(gap), lack) / in->scale;
}

static void move(interior *in, double alpha, double *v, const double *dv)
{
    sprag_system *system = in->system;
    sprag_system_move(system, v, alpha, dv);
    for (int i = 0; i < system->points; i++) {
        add_scaled(in->p[i], alpha, in->dp[i], 6);
    }
    add_scaled(in->row_p, alpha, in->row_dp, system->equations);
    set_slacks(in);
    for (int i = 0; i < in->batches; i++) {
        for (int k = 0; k < 3; k++) {
            in->cones[i].z[k] += alpha * in->cones[i].dz[k];
        }
    }
}

// Sets the impulses of the system, and moves v to where they balance: an update leaves a share of
// the residual.
static void balance(interior *in, double *v, double *dv)
{
    sprag_system *system = in->system;
    set_residual(in, v);
    for (int i = 0; i < system->size; i++) {
        dv[i] = -system->residual[i];
    }
    sprag_space6_divide_by_mass(system->chart, dv);
    sprag_system_change(system, dv);
    sprag_system_move(system, v, 1, dv);
}

sprag_result sprag_interior_solve(sprag_system *system, double scale, double stiction,
                                  double tolerance, int updates, double *v, double *dv,
                                  sprag_stats *stats)
{
    interior in = {.system = system, .scale = scale, .stiction = stiction};
    if (!take(&in, system->scratch)) {
        return SPRAG_NO_MEMORY;
    }
    start_impulses(&in);
    for (int i = 0; i < system->points; i++) {
        if (!is_held(&system->point[i])) {
            add_limits_of_point(&in, i);
        }
    }
    for (int i = 0; i < system->equations; i++) {
        add_limits_of_row(&in, i);
    }
    memcpy(v, system->start, (size_t)system->size * sizeof *v);
    sprag_system_place(system, v);
    start_duals(&in);
    set_residual(&in, v);
    sprag_result result = SPRAG_NOT_CONVERGED;
    double least = STRIBECK_INTERIOR_ENOUGH, left = 1; // of the first residual
    for (int it = 0, since = 0; it < updates && since < STRIBECK_INTERIOR_STALLED; it++, since++) {
        sprag_result factored = factor(&in);
        stats->factorizations++;
        if (factored != SPRAG_OK) {
            if (it > 0 && factored == SPRAG_SINGULAR) { // rounding is reached
                break;
            }
            return factored;
        }
        double before = mean_gap(&in, 0);
        update(&in, true, 0, dv);
        double after = mean_gap(&in, longest_update(&in, 1)), share = after / before;
        update(&in, false, before * fmin(1, share * share * share), dv);
        const double length = longest_update(&in, STRIBECK_INTERIOR_SHARE);
        move(&in, length, v, dv);
        left *= 1 - length;
        for (int i = 0; i < system->size; i++) { // the balance is linear
            system->residual[i] *= 1 - length;
        }
        set_rest(&in);
        stats->convergence = error_of(&in);
        sprag_system_log(system, stiction, stats);
        if (!isfinite(stats->convergence)) {
            return SPRAG_SINGULAR;
        }
        if (stats->convergence <= tolerance) {
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
