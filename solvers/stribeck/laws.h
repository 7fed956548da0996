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

#include "system.h"

// The tolerance of a cone when the system asks for one, m/s or rad/s, without slip.
static inline double sprag_cone_tolerance(const sprag_cone *cone, double stiction)
{
    return (stiction > cone->stiction ? stiction : cone->stiction) * cone->per_length;
}

// Friction under a known bound: impulse = -largest m(rho) / rho shape u, rho^2 = |u|^2 + least.
typedef struct sprag_profile {
    double largest; // N s
    double least;   // m^2/s^2: the smooth profile's tolerance, or the quadratic one's softening
    double knee; // m/s, from where the quadratic one is flat; 0: smooth; negative: a straight line
                 // up to there
    bool slips;  // the cone's slip yield, not the stiction tolerance, makes the tolerance
} sprag_profile;

// bound: N s, or the step if the cone is a `force`.
static inline sprag_profile sprag_cone_profile(const sprag_cone *cone, double stiction,
                                               double bound)
{
    double largest = cone->coefficient * bound;
    double tolerance = sprag_cone_tolerance(cone, stiction);
    bool slips = cone->slip_yield * largest > tolerance;
    if (slips) { // creep in proportion to the force, in series with stiction
        tolerance = cone->slip_yield * largest;
    }
    if (slips && cone->creeps) {
        return (sprag_profile){.largest = largest, .knee = -tolerance, .slips = true};
    }
    double least = cone->quadratic ? cone->softening * tolerance : tolerance;
    return (sprag_profile){.largest = largest,
                           .least = least * least,
                           .knee = cone->quadratic ? tolerance : 0,
                           .slips = slips};
}

// m(rho) / rho. No branches: for vectors of them.
static inline double sprag_profile_ratio(double square, double knee)
{
    double rho = sqrt(square), flat = fabs(knee), inverse = 1 / (rho > flat ? rho : flat);
    double inside = (2 - rho * inverse) * inverse; // s (2 - s) / rho
    return rho < knee ? inside : inverse;
}

// slope, if asked for: -d impulse / d normal velocity.
double sprag_normal_impulse(const sprag_system *system, const sprag_point *point,
                            double normal_velocity, double *slope);

// The impulse at which the law and a body of that inverse mass (1/kg) agree: impulse =
// law(free_velocity + inverse_mass impulse).
double sprag_normal_balance(const sprag_system *system, const sprag_point *point,
                            double free_velocity, double inverse_mass);

double sprag_equation_impulse(const sprag_equation *equation, double rate);

// Is it between its bounds, that is, does its impulse change with the rate?
bool sprag_equation_yields(const sprag_equation *equation, double rate);

// Impulse of point i at a relative velocity. bound: frozen normal impulses of all points, NULL:
// coupled. G, if asked for, is -d impulse / d slip, dim x dim.
void sprag_point_law(const sprag_system *system, int i, const double *slip, double stiction,
                     const double *bound, double impulse[6], double G[6][6]);

// The impulses of all points, where the system is.
void sprag_point_impulses(sprag_system *system, double stiction, const double *bound);

#endif
