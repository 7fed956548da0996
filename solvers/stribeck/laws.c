#include "laws.h"

#include <math.h>
#include <string.h>

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
