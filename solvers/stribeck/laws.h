// Contact and row laws: impulse as a function of relative velocity, and its derivative.
//
//     normal    spring and damper, Hunt and Crossley's, or given (system.h)
//     friction  gt = -bound m(u) shape u / |u|,  u = shape slip
//     row       gr = clamp(-rate / yield, lo, hi)
//
// The bound of friction is mu gn at the same velocity (coupled), or mu times a frozen normal
// impulse, or a force. Its profile m is smooth, s / sqrt(1 + s^2) with s = |u| / stiction, or the
// quadratic one of arXiv 1909.05700: s (2 - s) up to s = 1, then 1, with s softened at rest. Both
// keep the true cone.
//
// Every normal law falls, or stays, as the normal velocity grows (Hunt and Crossley's as a product
// of two factors that do, and are not negative, for any stiffness and dissipation): with frozen
// friction bounds the momentum balance is the gradient of a convex function, whatever the law.
#ifndef SPRAG_LAWS_H
#define SPRAG_LAWS_H

#include <math.h>

#include "linalg.h"
#include "problem.h"
#include "system.h"

// Friction under a known bound: impulse = -largest m(rho) / rho shape u, with u = shape slip and
// rho^2 = |u|^2 + least. A force instead of an impulse follows the same law.
typedef struct sprag_friction_law {
    double largest; // N s (N), impulse of fast slip
    double least;   // m^2/s^2, of the smooth profile its squared tolerance, of the quadratic one
                    // its squared softening
    double knee;    // m/s, slip from which the quadratic profile is constant; 0: the smooth
                    // profile; negative: proportional up to -knee, then constant
    bool creeps;    // the slip yield, not the stiction tolerance, sets the slip at the bound
} sprag_friction_law;

// m(rho) / rho, s/m. square: rho^2. Has no branches, so that compilers vectorise it.
static inline double sprag_friction_ratio(double square, double knee)
{
    double rho = sqrt(square), flat = fabs(knee), inverse = 1 / (rho > flat ? rho : flat);
    double inside = (2 - rho * inverse) * inverse; // s (2 - s) / rho
    return rho < knee ? inside : inverse;
}

// Returns -d ratio / d u, divided by u.
static inline double sprag_friction_fall(double square, double knee, double ratio)
{
    double rho = sqrt(square);
    if (rho < knee) {
        return rho > 0 ? 1 / (knee * knee * rho) : 0;
    }
    return rho < -knee ? 0 : ratio * ratio * ratio;
}

// Impulse against a slip along one axis or two (m/s), and, if slope is not NULL, slope[i][j] =
// -d impulse_i / d slip_j. shape: coefficient of each axis relative to the larger one. Returns
// largest m(rho) / rho, the secant slope (N s per m/s).
static inline double sprag_friction_impulse(const sprag_friction_law *law, const double *shape,
                                            int axes, const double *slip, double *impulse,
                                            double slope[2][2])
{
    double u[2] = {0, 0};
    for (int k = 0; k < axes; k++) {
        u[k] = shape[k] * slip[k];
    }
    double square = u[0] * u[0] + u[1] * u[1] + law->least;
    double ratio = sprag_friction_ratio(square, law->knee);
    for (int i = 0; i < axes; i++) {
        impulse[i] = -law->largest * ratio * shape[i] * u[i];
    }
    if (slope) {
        double fall = sprag_friction_fall(square, law->knee, ratio);
        for (int i = 0; i < axes; i++) {
            for (int j = 0; j < axes; j++) {
                slope[i][j] =
                    law->largest * shape[i] * shape[j] * ((i == j) * ratio - fall * u[i] * u[j]);
            }
        }
    }
    return law->largest * ratio;
}

// Friction force (N) of a surface with finite coefficients under a normal force (N) that is known,
// at a slip (m/s) along its two axes, measured from friction->velocity. stiction: m/s. Both axes
// share one elliptic cone; they creep alike, by the larger of their slips. slope as above, per
// force (N per m/s). Returns the secant slope.
double sprag_surface_friction(const sprag_friction *friction, double normal_force, double stiction,
                              const double slip[2], double force[2], double slope[2][2]);

// Largest slip that counts as sticking for a cone when the system asks for `stiction`, m/s (rad/s).
static inline double sprag_cone_tolerance(const sprag_cone *cone, double stiction)
{
    return (stiction > cone->stiction ? stiction : cone->stiction) * cone->of_stiction;
}

// Slip at which the friction of a cone is about at its bound, m/s (rad/s): creep in proportion to
// the force, in series with stiction. largest: N s.
static inline double sprag_cone_slip_at_bound(const sprag_cone *cone, double stiction,
                                              double largest)
{
    double sticks = sprag_cone_tolerance(cone, stiction), creeps = cone->slip_yield * largest;
    return creeps > sticks ? creeps : sticks;
}

// Slip per impulse up to the bound, for strategies that take friction to be proportional there,
// m/s per N s. tolerance: of the cone (sprag_cone_tolerance).
static inline double sprag_friction_yield(double slip_yield, double tolerance, double largest)
{
    double sticks = tolerance / largest;
    return slip_yield > sticks ? slip_yield : sticks;
}

// The law of a cone with a finite coefficient. bound: N s, or the step if the cone is a `force`.
static inline sprag_friction_law sprag_cone_law(const sprag_cone *cone, double stiction,
                                                double bound)
{
    double largest = cone->coefficient * bound;
    double tolerance = sprag_cone_slip_at_bound(cone, stiction, largest);
    bool creeps = cone->slip_yield * largest > sprag_cone_tolerance(cone, stiction);
    if (cone->linear || (creeps && cone->creeps)) {
        return (sprag_friction_law){.largest = largest, .knee = -tolerance, .creeps = creeps};
    }
    double least = cone->quadratic ? cone->softening * tolerance : tolerance;
    return (sprag_friction_law){.largest = largest,
                                .least = least * least,
                                .knee = cone->quadratic ? tolerance : 0,
                                .creeps = creeps};
}

// Inverts the law of a cone that sticks: slip (m/s) at which its impulse (N s) is the given one,
// or, where that is at the bound, the nearest one that sticks. bound as above.
void sprag_cone_stuck_slip(const sprag_cone *cone, double stiction, double bound,
                           const double *impulse, double slip[2]);

// slope, if asked for: -d impulse / d normal velocity.
double sprag_normal_impulse(const sprag_system *system, const sprag_point *point,
                            double normal_velocity, double *slope);

static inline double sprag_equation_impulse(const sprag_equation *equation, double rate)
{
    return clamp(-rate / equation->yield, equation->lo, equation->hi);
}

// Is it between its bounds, that is, does its impulse change with the rate?
static inline bool sprag_equation_yields(const sprag_equation *equation, double rate)
{
    double wanted = -rate / equation->yield;
    return wanted >= equation->lo && wanted <= equation->hi && equation->lo < equation->hi;
}

// -d impulse / d rate, N s per m/s.
static inline double sprag_equation_slope(const sprag_equation *equation, double rate)
{
    return sprag_equation_yields(equation, rate) ? 1 / equation->yield : 0;
}

// Impulse of point i at a relative velocity. bound: frozen normal impulses of all points, NULL:
// coupled. G, if asked for, is -d impulse / d slip, dim x dim.
void sprag_point_law(const sprag_system *system, int i, const double *slip, double stiction,
                     const double *bound, double impulse[6], double G[6][6]);

// The impulses of all points, where the system is.
void sprag_point_impulses(sprag_system *system, double stiction, const double *bound);

// ---- all cones of a system between bodies, four at a time

typedef struct sprag_cones {
    double step;
    int fours;
    struct four *four;
} sprag_cones;

// The cones as they are now. own: points, 1/kg: what an impulse along each component changes there.
// Out of memory: the scratch has failed.
void sprag_cones_take(sprag_cones *cones, const sprag_system *system, const double (*own)[6],
                      sprag_scratch *scratch);

// Sets the slips w (m/s) that solve own (p - g(w)) = u - w, where friction is bounded by `normal`
// (N s); at points without springs they are u. Then sets g(w), and slope to -g'(w), with the normal
// impulse and its slope that these arrays have. All are of points, as those of the system. What no
// cone has is left alone.
void sprag_cones_solve(const sprag_cones *cones, double stiction, const double *normal,
                       const double (*u)[6], const double (*p)[6], double (*w)[6],
                       double (*impulse)[6], double (*slope)[6][6]);

#endif
