#include "solvers/laws.h"

#include <math.h>
#include <string.h>

// m(rho) / rho of arXiv 1909.05700, eq. 9 and 10, with rho^2 = |u|^2 + (softening tolerance)^2, and
// what makes its derivative: d (m / rho) / d u = -fall u.
static void quadratic_profile(double square, double tolerance, double softening, double *ratio,
                              double *fall)
{
    double least = softening * tolerance, rho = sqrt(square + least * least);
    if (rho < tolerance) {
        *ratio = (2 - rho / tolerance) / tolerance;
        *fall = rho > 0 ? 1 / (tolerance * tolerance * rho) : 0;
    } else {
        *ratio = 1 / rho;
        *fall = 1 / (rho * rho * rho);
    }
}

double sprag_cone_tolerance(const sprag_cone *cone, double stiction)
{
    return fmax(stiction, cone->stiction) * cone->per_length;
}

// Impulse of one cone under a given bound (normal impulse, or the step if `force`), and, if asked
// for, its derivatives: slope[i][j] = -d impulse_i / d slip_j, by_bound[i] = d impulse_i / d bound.
static void cone_law(const sprag_cone *cone, const double *slip, double stiction, double bound,
                     double impulse[2], double slope[2][2], double by_bound[2])
{
    double u[2] = {0, 0};
    for (int k = 0; k < cone->axes; k++) {
        u[k] = cone->shape[k] * slip[cone->first + k];
    }
    if (isinf(cone->coefficient)) {
        impulse[0] = -u[0] / cone->slip_yield;
        if (slope) {
            slope[0][0] = 1 / cone->slip_yield;
            by_bound[0] = 0;
        }
        return;
    }
    double largest = cone->coefficient * bound;
    double tolerance = sprag_cone_tolerance(cone, stiction);
    bool slips = cone->slip_yield * largest > tolerance;
    if (slips) { // creep in proportion to the force, in series with stiction
        tolerance = cone->slip_yield * largest;
    }
    // impulse = -largest ratio shape u; ratio = m(rho) / rho falls by `fall` with u u / rho^2
    double square = u[0] * u[0] + u[1] * u[1], ratio, fall;
    if (cone->quadratic) {
        quadratic_profile(square, tolerance, cone->softening, &ratio, &fall);
    } else {
        ratio = 1 / sqrt(tolerance * tolerance + square);
        fall = ratio * ratio * ratio;
    }
    for (int i = 0; i < cone->axes; i++) {
        impulse[i] = -largest * ratio * cone->shape[i] * u[i];
    }
    if (slope) {
        double ease = slips ? 1 - tolerance * tolerance * ratio * ratio : 1;
        for (int i = 0; i < cone->axes; i++) {
            by_bound[i] = -cone->coefficient * ease * ratio * cone->shape[i] * u[i];
            for (int j = 0; j < cone->axes; j++) {
                slope[i][j] = largest * cone->shape[i] * cone->shape[j] *
                              ((i == j) * ratio - fall * u[i] * u[j]);
            }
        }
    }
}

double sprag_normal_impulse(const sprag_system *system, const sprag_point *point,
                            double normal_velocity, double *slope)
{
    double impulse = point->given, steepness = 0; // SPRAG_GIVEN
    if (point->law == SPRAG_SPRING) {
        double wanted = -normal_velocity / point->yield;
        impulse = fmax(0, wanted);
        steepness = wanted > 0 ? 1 / point->yield : 0;
    } else if (point->law == SPRAG_HUNT_CROSSLEY) {
        double step = system->step, k = step * point->stiffness;
        double x = fmax(0, point->penetration - step * normal_velocity);
        double damping = fmax(0, 1 - point->dissipation * normal_velocity);
        impulse = k * damping * x;
        steepness =
            (damping > 0 ? k * point->dissipation * x : 0) + (x > 0 ? k * step * damping : 0);
    }
    if (slope) {
        *slope = steepness;
    }
    return impulse;
}

// Hunt and Crossley's is k (a - d w g)(b - h w g) = g, the smaller root, while a and b are
// positive.
static double hunt_crossley_balance(const sprag_point *point, double step, double free_velocity,
                                    double inverse_mass)
{
    double a = 1 - point->dissipation * free_velocity;
    double b = point->penetration - step * free_velocity;
    if (a <= 0 || b <= 0) {
        return 0;
    }
    double k = step * point->stiffness, by_d = point->dissipation * inverse_mass;
    double by_x = step * inverse_mass, A = k * by_d * by_x, B = 1 + k * (by_d * b + by_x * a);
    return 2 * k * a * b / (B + sqrt(fmax(0, B * B - 4 * A * k * a * b)));
}

double sprag_normal_balance(const sprag_system *system, const sprag_point *point,
                            double free_velocity, double inverse_mass)
{
    switch (point->law) {
    case SPRAG_SPRING:
        return fmax(0, -free_velocity / (point->yield + inverse_mass));
    case SPRAG_GIVEN:
        return point->given;
    case SPRAG_HUNT_CROSSLEY:
        return hunt_crossley_balance(point, system->step, free_velocity, inverse_mass);
    }
    return 0;
}

static double cone_bound(const sprag_system *system, const sprag_cone *cone, double normal,
                         const double *bound, int i)
{
    return cone->force ? system->step : bound ? bound[i] : normal;
}

void sprag_point_law(const sprag_system *system, int i, const double *slip, double stiction,
                     const double *bound, double impulse[6], double G[6][6])
{
    const sprag_point *point = &system->point[i];
    memset(impulse, 0, 6 * sizeof *impulse);
    if (G) {
        memset(G, 0, 6 * sizeof *G);
    }
    double normal_slope;
    double normal = sprag_normal_impulse(system, point, slip[SPRAG_NORMAL], &normal_slope);
    impulse[SPRAG_NORMAL] = normal;
    if (G) {
        G[SPRAG_NORMAL][SPRAG_NORMAL] = normal_slope;
    }
    for (int c = point->cone; c < point->cone + point->cones; c++) {
        const sprag_cone *cone = &system->cone[c];
        double slope[2][2], by_bound[2];
        cone_law(cone, slip, stiction, cone_bound(system, cone, normal, bound, i),
                 impulse + cone->first, G ? slope : NULL, by_bound);
        for (int a = 0; G && a < cone->axes; a++) {
            for (int b = 0; b < cone->axes; b++) {
                G[cone->first + a][cone->first + b] = slope[a][b];
            }
            if (!bound && !cone->force) {
                G[cone->first + a][SPRAG_NORMAL] = by_bound[a] * normal_slope;
            }
        }
    }
}

double sprag_equation_impulse(const sprag_equation *equation, double rate)
{
    double wanted = -rate / equation->yield;
    return fmin(fmax(wanted, equation->lo), equation->hi);
}

bool sprag_equation_yields(const sprag_equation *equation, double rate)
{
    double wanted = -rate / equation->yield;
    return wanted >= equation->lo && wanted <= equation->hi && equation->lo < equation->hi;
}
