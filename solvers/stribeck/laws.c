#include "laws.h"

#include <math.h>
#include <string.h>

#include "lanes.h"
#include "linalg.h"
#include "stribeck_constants.h"
#include "vectors.h"

// The share of the impulse that grows with the bound; 0 where the impulse is proportional to slip.
static double bound_share(const sprag_friction_law *law, double square, double ratio)
{
    if (law->knee < 0) {
        return law->creeps && sqrt(square) < -law->knee ? 0 : 1;
    }
    return law->creeps ? 1 - law->least * ratio * ratio : 1;
}

// Impulse of one cone under a given bound (normal impulse, or the step if `force`), and, if asked
// for, its derivatives: slope[i][j] = -d impulse_i / d slip_j, by_bound[i] = d impulse_i / d bound.
static inline void cone_law(const sprag_cone *cone, int axes, const double *slip, double stiction,
                            double bound, double *impulse, double slope[2][2], double by_bound[2])
{
    if (isinf(cone->coefficient)) {
        impulse[0] = -cone->shape[0] * slip[0] / cone->slip_yield;
        if (slope) {
            slope[0][0] = 1 / cone->slip_yield;
            by_bound[0] = 0;
        }
        return;
    }
    sprag_friction_law law = sprag_cone_law(cone, stiction, bound);
    sprag_friction_impulse(&law, cone->shape, axes, slip, impulse, slope);
    if (slope) {
        double u[2] = {0, 0};
        for (int k = 0; k < axes; k++) {
            u[k] = cone->shape[k] * slip[k];
        }
        double square = u[0] * u[0] + u[1] * u[1] + law.least;
        double ratio = sprag_friction_ratio(square, law.knee);
        double share = bound_share(&law, square, ratio);
        for (int i = 0; i < axes; i++) {
            by_bound[i] = -cone->coefficient * share * ratio * cone->shape[i] * u[i];
        }
    }
}

void sprag_cone_stuck_slip(const sprag_cone *cone, double stiction, double bound,
                           const double *impulse, double slip[2])
{
    const double largest = cone->coefficient * bound;
    double share[2] = {0}, square = 0;
    for (int k = 0; k < cone->axes && largest > 0; k++) {
        share[k] = cone->shape[k] > 0 ? impulse[k] / (largest * cone->shape[k]) : 0;
        square += share[k] * share[k];
    }
    const double stuck = sprag_smaller(square, STRIBECK_STUCK * STRIBECK_STUCK);
    const double s = sqrt(square > 0 ? stuck / (square * (1 - stuck)) : 0);
    const double tolerance = sprag_cone_slip_at_bound(cone, stiction, largest);
    for (int k = 0; k < cone->axes; k++) {
        slip[k] = cone->shape[k] > 0 ? -s * tolerance * share[k] / cone->shape[k] : 0;
    }
}

double sprag_surface_friction(const sprag_friction *friction, double normal_force, double stiction,
                              const double slip[2], double force[2], double slope[2][2])
{
    double bound[2], shape[2], creep = 0, largest = 0;
    for (int k = 0; k < 2; k++) {
        bound[k] = friction->coefficient[k] * (friction->force[k] ? 1 : normal_force);
        creep = fmax(creep, friction->slip[k] * bound[k]);
        largest = fmax(largest, bound[k]);
    }
    if (!(largest > 0)) {
        force[0] = force[1] = 0;
        if (slope) {
            memset(slope, 0, 4 * sizeof **slope);
        }
        return 0;
    }
    for (int k = 0; k < 2; k++) {
        shape[k] = bound[k] / largest;
    }
    bool creeps = creep > stiction;
    sprag_friction_law law = {.largest = largest,
                              .least = creeps ? 0 : stiction * stiction,
                              .knee = creeps ? -creep : 0,
                              .creeps = creeps};
    return sprag_friction_impulse(&law, shape, 2, slip, force, slope);
}

static inline double positive(double x)
{
    return x > 0 ? x : 0;
}

static inline double normal_law(const sprag_system *system, const sprag_point *point,
                                double normal_velocity, double *slope)
{
    double impulse = point->given, steepness = 0; // SPRAG_GIVEN
    if (point->law == SPRAG_SPRING) {
        double wanted = -normal_velocity / point->yield;
        impulse = positive(wanted);
        steepness = wanted > 0 ? 1 / point->yield : 0;
    } else if (point->law == SPRAG_HUNT_CROSSLEY) {
        double step = system->step, k = step * point->stiffness;
        double x = positive(point->penetration - step * normal_velocity);
        double damping = positive(1 - point->dissipation * normal_velocity);
        impulse = k * damping * x;
        steepness =
            (damping > 0 ? k * point->dissipation * x : 0) + (x > 0 ? k * step * damping : 0);
    }
    if (slope) {
        *slope = steepness;
    }
    return impulse;
}

double sprag_normal_impulse(const sprag_system *system, const sprag_point *point,
                            double normal_velocity, double *slope)
{
    return normal_law(system, point, normal_velocity, slope);
}

// Adds the law of one cone. first and axes should be constants at the call, so that the compiler
// specialises it.
static inline __attribute__((always_inline)) void
add_cone_law(const sprag_system *system, const sprag_cone *cone, int first, int axes,
             const double *slip, double stiction, double bound, double normal_slope, bool coupled,
             double *impulse, double G[6][6])
{
    double slope[2][2], by_bound[2];
    cone_law(cone, axes, slip + first, stiction, cone->force ? system->step : bound,
             impulse + first, G ? slope : NULL, by_bound);
    for (int a = 0; G && a < axes; a++) {
        for (int b = 0; b < axes; b++) {
            G[first + a][first + b] = slope[a][b];
        }
        if (coupled && !cone->force) {
            G[first + a][SPRAG_NORMAL] = by_bound[a] * normal_slope;
        }
    }
}

static inline __attribute__((always_inline)) void point_law(const sprag_system *system, int i,
                                                            const double *slip, double stiction,
                                                            const double *bound, double impulse[6],
                                                            double G[6][6])
{
    const sprag_point *point = &system->point[i];
    double normal_slope, normal = normal_law(system, point, slip[SPRAG_NORMAL], &normal_slope);
    memset(impulse, 0, 6 * sizeof *impulse);
    impulse[SPRAG_NORMAL] = normal;
    if (G && point->dim == 3) {
        for (int a = 0; a < 3; a++) {
            G[a][0] = G[a][1] = G[a][2] = 0;
        }
    } else if (G) {
        memset(G, 0, 6 * sizeof *G);
    }
    if (G) {
        G[SPRAG_NORMAL][SPRAG_NORMAL] = normal_slope;
    }
    for (int c = point->cone; c < point->cone + point->cones; c++) {
        const sprag_cone *cone = &system->cone[c];
        double limit = bound ? bound[i] : normal;
        if (cone->axes == 2 && cone->first == SPRAG_SLIDE) { // most cones
            add_cone_law(system, cone, SPRAG_SLIDE, 2, slip, stiction, limit, normal_slope, !bound,
                         impulse, G);
        } else {
            add_cone_law(system, cone, cone->first, cone->axes, slip, stiction, limit, normal_slope,
                         !bound, impulse, G);
        }
    }
}

SPRAG_VECTORS
static void one_point(const sprag_system *system, int i, const double *slip, double stiction,
                      const double *bound, double impulse[6], double G[6][6])
{
    point_law(system, i, slip, stiction, bound, impulse, G);
}

void sprag_point_law(const sprag_system *system, int i, const double *slip, double stiction,
                     const double *bound, double impulse[6], double G[6][6])
{
    one_point(system, i, slip, stiction, bound, impulse, G);
}

SPRAG_VECTORS
static void all_points(sprag_system *system, double stiction, const double *bound)
{
    for (int i = 0; i < system->points; i++) {
        point_law(system, i, system->slip[i], stiction, bound, system->impulse[i], NULL);
    }
}

void sprag_point_impulses(sprag_system *system, double stiction, const double *bound)
{
    all_points(system, stiction, bound);
}

// ---- all cones, four at a time

// Cones that follow one another. Lanes behind the last cone are copies of it.
typedef struct four {
    lanes coefficient, slip_yield, stiction, of_stiction;
    lanes shape[2], own;                   // own: kg
    lane_mask bond, linear, creeps, force; // bond: its coefficient is infinite
    lane_mask two;                         // axes
    lane_mask springs;                     // its point has a spring
    int count;
    int point[LANES], axis[2][LANES]; // the first component and the last one
} four;

static void set_lane(four *f, int l, const sprag_system *system, int i, const sprag_cone *cone,
                     const double *own)
{
    const sprag_point *point = &system->point[i];
    const bool bond = isinf(cone->coefficient), two = cone->axes == 2;
    f->coefficient[l] = bond ? 1 : cone->coefficient;
    f->slip_yield[l] = cone->slip_yield;
    f->stiction[l] = cone->stiction;
    f->of_stiction[l] = cone->of_stiction;
    f->shape[0][l] = cone->shape[0];
    f->shape[1][l] = two ? cone->shape[1] : 1;
    f->own[l] = own[cone->first] > 0 ? 1 / own[cone->first] : 1; // nobody reads the 1
    f->bond[l] = -(int64_t)bond;
    f->linear[l] = -(int64_t)cone->linear;
    f->creeps[l] = -(int64_t)cone->creeps;
    f->force[l] = -(int64_t)cone->force;
    f->two[l] = -(int64_t)two;
    f->point[l] = i;
    f->axis[0][l] = cone->first;
    f->axis[1][l] = cone->first + cone->axes - 1;
    f->springs[l] = -(int64_t)(point->law == SPRAG_SPRING && point->inverse_mass > 0);
}

void sprag_cones_take(sprag_cones *cones, const sprag_system *system, const double (*own)[6],
                      sprag_scratch *scratch)
{
    cones->step = system->step;
    cones->fours = (system->cones + LANES - 1) / LANES;
    cones->four = SPRAG_TAKE_RAW(scratch, cones->fours, four);
    const int n = system->cones, room = LANES * cones->fours;
    for (int i = 0; i < system->points && cones->four; i++) {
        const sprag_point *point = &system->point[i];
        for (int c = point->cone; c < point->cone + point->cones; c++) {
            for (int l = c; l < (c == n - 1 ? room : c + 1); l++) {
                set_lane(&cones->four[l / LANES], l % LANES, system, i, &system->cone[c], own[i]);
            }
        }
    }
    for (int i = 0; i < cones->fours && cones->four; i++) {
        cones->four[i].count = n - LANES * i < LANES ? n - LANES * i : LANES;
    }
}

// The components of the cones, of arrays of all points; 0 for the second one of a cone of one axis.
INLINE void load_axes(const four *f, const double (*x)[6], lanes to[2])
{
    for (int l = 0; l < LANES; l++) {
        to[0][l] = x[f->point[l]][f->axis[0][l]];
        to[1][l] = x[f->point[l]][f->axis[1][l]];
    }
    to[1] = SELECT(f->two, to[1], zeros);
}

// As sprag_friction_law. A linear law is proportional up to the slip `flat` (m/s), other laws have
// a tolerance (m/s); the other one of the two is 0. least: tolerance^2.
typedef struct laws {
    lanes largest, tolerance, least, flat;
    lane_mask linear, creeps;
} laws;

// As sprag_cone_law, of cones that are no bonds, by the smooth profile.
INLINE void laws_of(const sprag_cones *cones, const four *f, double stiction, const lanes *bound,
                    laws *of)
{
    const lanes asked = ones * stiction, step = ones * cones->step;
    of->largest = f->coefficient * SELECT(f->force, step, *bound);
    const lanes sticks = LARGER(asked, f->stiction) * f->of_stiction;
    const lanes yields = f->slip_yield * of->largest, tolerance = LARGER(yields, sticks);
    of->creeps = yields > sticks;
    of->linear = f->linear | (of->creeps & f->creeps);
    of->tolerance = SELECT(of->linear, zeros, tolerance);
    of->least = of->tolerance * of->tolerance;
    of->flat = SELECT(of->linear, tolerance, zeros);
}

// The cube root, to a twentieth, of lanes that are not negative: a third of the exponent. 1/3 = 1/4
// + 1/16 + 1/64 + ...
INLINE void cube_root_of(lanes *x)
{
    typedef uint64_t bits __attribute__((vector_size(32), aligned(32)));
    const bits of = (bits)*x;
    const bits third = (of >> 2) + (of >> 4) + (of >> 6) + (of >> 8) + (of >> 10) + (of >> 12);
    *x = (lanes)(third + 0x2aa0c00000000000); // two thirds of 1, and a mean error of 0
}

// rho, m/s, at the point of a law: 1 = sum (a / (L + b rho))^2 + least / rho^2, or less at the knee
// of a proportional law. The inverse of the root of the right-hand side is a mean of functions that
// are linear in rho, concave and nearly linear itself. Newton's method starts at the solution for
// b = 0, which sticks, or at the slip without stiction. Where |a| is nearly L neither is near;
// there the sum falls in proportion to rho, and (spare + rho) rho^2 = cube.
INLINE void find_rho(const laws *law, const lanes a[2], const lanes b[2], lanes *rho)
{
    const lanes tolerance = law->tolerance, largest = law->largest;
    lanes least = LARGER(tolerance, law->flat), stuck = zeros, slides = zeros;
    lanes square = zeros, rate = zeros;
    for (int k = 0; k < 2; k++) {
        const lanes share = a[k] / (largest + b[k] * least);
        const lanes size = ABS(a[k]);
        const lanes slip = (size - largest) / b[k];
        lanes whole = size / largest;
        whole = SELECT(whole < 1e100, whole, 1e100 * ones); // room for products
        stuck += share * share;
        square += whole * whole;
        rate += 2 * (whole * b[k]) * (whole / largest);
        slides = LARGER(slip, slides);
    }
    const lane_mask holds = stuck < 1;
    lanes left = DIVISOR(holds, 1 - stuck);
    root_of(&left);
    rate = DIVISOR(rate > 0, rate);
    const lanes cube = law->least / rate, spare = (1 - square) / rate;
    lanes edge = rate * tolerance;
    edge = 1 / DIVISOR(edge > 0, edge); // cube, in tolerances
    cube_root_of(&edge);
    edge *= tolerance;
    const lanes held = tolerance / left, slid = LARGER(-spare, edge);
    const lane_mask close = holds & (edge > STRIBECK_LAW_EDGE * spare);
    lanes at = SELECT(holds, held, slid);
    if (any(&close)) {
        lanes next = LARGER(spare, zeros);
        next += SMALLER(held, edge);
        next = cube / DIVISOR(next > 0, next);
        root_of(&next);
        at = SELECT(close & (next < at), next, at);
    }
    least = LARGER(slides, least);
    *rho = LARGER(at, least);
    lane_mask open = (lane_mask)zeros - 1;
    for (int i = 0; i < STRIBECK_LAW_ITERATIONS && any(&open); i++) {
        lanes sum = law->least / (*rho * *rho), fall = sum / *rho;
        for (int k = 0; k < 2; k++) {
            const lanes d = law->largest + b[k] * *rho, share = a[k] / d;
            sum += share * share;
            fall += share * share * b[k] / d;
        }
        lanes root = sum;
        root_of(&root);
        lanes next = *rho + sum * (root - 1) / fall;
        next = LARGER(next, least);
        const lanes change = ABS(next - *rho);
        *rho = SELECT(open, next, *rho);
        open &= change > STRIBECK_LAW_CHANGE * next;
    }
}

// w, from u and p. bound: N s.
INLINE void solve(const sprag_cones *cones, const four *f, double stiction, const lanes *bound,
                  const lanes u[2], const lanes p[2], lanes w[2])
{
    lanes z[2], a[2], b[2], rho, secant = 1 / DIVISOR(f->bond, f->slip_yield);
    laws law;
    laws_of(cones, f, stiction, bound, &law);
    const lane_mask slides = (law.largest > 0) & (f->shape[0] > 0) & (f->shape[1] > 0) & ~f->bond;
    secant = SELECT(f->bond, secant, zeros);
    for (int k = 0; k < 2; k++) {
        z[k] = p[k] - f->own * u[k];
        a[k] = z[k] / DIVISOR(slides, f->shape[k]);
        b[k] = f->own / DIVISOR(slides, f->shape[k] * f->shape[k]);
        a[k] = SELECT(slides, a[k], zeros);
        b[k] = DIVISOR(slides, b[k]);
    }
    if (any(&slides)) {
        law.largest = DIVISOR(slides, law.largest);
        law.tolerance = DIVISOR(slides, law.tolerance);
        law.least = DIVISOR(slides, law.least);
        find_rho(&law, a, b, &rho);
        const lanes of_law = law.largest / rho;
        secant = SELECT(slides, of_law, secant);
    }
    for (int k = 0; k < 2; k++) {
        const lanes solved = -z[k] / (secant * f->shape[k] * f->shape[k] + f->own);
        w[k] = SELECT(f->springs, solved, u[k]);
    }
}

// Friction impulses, as by sprag_friction_impulse, and what their slopes need.
typedef struct friction {
    laws law;
    lanes u[2], rho, ratio, impulse[2];
} friction;

INLINE void rub(const sprag_cones *cones, const four *f, double stiction, const lanes *bound,
                const lanes w[2], friction *of)
{
    laws *law = &of->law;
    laws_of(cones, f, stiction, bound, law);
    for (int k = 0; k < 2; k++) {
        of->u[k] = f->shape[k] * w[k];
    }
    of->rho = of->u[0] * of->u[0] + of->u[1] * of->u[1] + law->least;
    root_of(&of->rho);
    of->ratio = 1 / LARGER(of->rho, law->flat);
    for (int k = 0; k < 2; k++) {
        const lanes bonded = -f->shape[k] * w[k] / DIVISOR(f->bond, f->slip_yield);
        of->impulse[k] = -law->largest * of->ratio * f->shape[k] * of->u[k];
        of->impulse[k] = SELECT(f->bond, bonded, of->impulse[k]);
    }
}

// -d impulse / d slip, and d impulse / d bound.
INLINE void slopes_of(const four *f, const friction *of, lanes slope[2][2], lanes by_bound[2])
{
    const laws *law = &of->law;
    const lanes largest = law->largest, ratio = of->ratio, cube = ratio * ratio * ratio;
    const lane_mask straight = of->rho < law->flat;
    const lanes fall = SELECT(straight, zeros, cube), grows = 1 - law->least * ratio * ratio;
    const lanes curved = SELECT(law->creeps, grows, ones);
    const lanes share = SELECT(law->linear & law->creeps & straight, zeros, curved);
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 2; j++) {
            const lanes along = i == j ? ratio : zeros;
            slope[i][j] =
                largest * f->shape[i] * f->shape[j] * (along - fall * of->u[i] * of->u[j]);
        }
        by_bound[i] = -f->coefficient * share * ratio * f->shape[i] * of->u[i];
        by_bound[i] = SELECT(f->bond, zeros, by_bound[i]);
    }
    const lanes bonded = 1 / DIVISOR(f->bond, f->slip_yield);
    slope[0][0] = SELECT(f->bond, bonded, slope[0][0]);
}

SPRAG_VECTORS
static void solve_four(const sprag_cones *cones, const four *f, double stiction,
                       const double *normal, const double (*u)[6], const double (*p)[6],
                       double (*to_w)[6], double (*to_impulse)[6], double (*to_slope)[6][6])
{
    friction of;
    lanes of_u[2], of_p[2], w[2], slope[2][2], by_bound[2], solved, bound, steepness;
    load_axes(f, u, of_u);
    load_axes(f, p, of_p);
    for (int l = 0; l < LANES; l++) {
        const int i = f->point[l];
        solved[l] = normal[i];
        bound[l] = to_impulse[i][SPRAG_NORMAL];
        steepness[l] = to_slope[i][SPRAG_NORMAL][SPRAG_NORMAL];
    }
    solve(cones, f, stiction, &solved, of_u, of_p, w);
    rub(cones, f, stiction, &bound, w, &of);
    slopes_of(f, &of, slope, by_bound);
    for (int k = 0; k < 2; k++) {
        by_bound[k] = SELECT(f->force, zeros, by_bound[k] * steepness);
    }
    for (int l = 0; l < f->count; l++) {
        const int i = f->point[l], axis[2] = {f->axis[0][l], f->axis[1][l]};
        for (int k = 1; k >= 0; k--) { // of one axis: the first one is the last one
            double *row = to_slope[i][axis[k]];
            to_w[i][axis[k]] = w[k][l];
            to_impulse[i][axis[k]] = of.impulse[k][l];
            row[axis[1]] = slope[k][1][l];
            row[axis[0]] = slope[k][0][l];
            row[SPRAG_NORMAL] = by_bound[k][l];
        }
    }
}

void sprag_cones_solve(const sprag_cones *cones, double stiction, const double *normal,
                       const double (*u)[6], const double (*p)[6], double (*w)[6],
                       double (*impulse)[6], double (*slope)[6][6])
{
    for (int i = 0; i < cones->fours; i++) {
        solve_four(cones, &cones->four[i], stiction, normal, u, p, w, impulse, slope);
    }
}
