// The laws of one contact while everything else stays as it is: what sprag_problem_residual
// measures a contact by, and what sweeps give it.
#ifndef SPRAG_LOCAL_LAW_H
#define SPRAG_LOCAL_LAW_H

#include "softness.h"

// N s: friction bounded by less is none. Its slope, slip that counts as sticking over this bound,
// would overflow.
static const double SPRAG_LEAST_FRICTION = 1e-60;

// N s, the normal impulse in balance with the velocity that it leaves. free: m/s, the normal
// velocity without it; w: 1/kg, of the normal; yield: m/s per N s, of sprag_contact_yield.
double sprag_local_normal(const sprag_softness *softness, const sprag_contact *contact, double free,
                          double w, double yield);

// Do the axes of a pair share slip and kind of bound? Then they are one elliptic cone; others are
// bounded one by one, as in ODE.
bool sprag_local_is_cone(const sprag_friction *friction);

// Friction along or about the axes `first` to first + axes - 1: the projection of p - (s + yield
// p) / rho to its bounds, s the slip less that of a moving surface, with one rho for both axes of a
// cone, so that what slides against its impulse stays as it is.
typedef struct sprag_local_axes {
    int first, axes;
    double normal;   // N s, impulse that bounds it
    double stiction; // m/s (rad/s), slip that counts as sticking; 0: none
    double coupling; // 1/kg, |J M^-1 J'| of the two axes of a cone with one another; 0: of each
                     // with itself alone
} sprag_local_axes;

// w, u, p: inverse masses, velocities J v and impulses of the axes. Sets wanted; p itself if it
// solves the law.
void sprag_local_friction(const sprag_softness *softness, const sprag_friction *friction,
                          const sprag_local_axes *of, const double *w, const double *u,
                          const double *p, double *wanted);

// J, duality gaps of the laws at a velocity u and impulses p that need not solve them (pulls count
// as 0): at least 0, and 0 only where they do (Fenchel and Young's inequality: Rockafellar, Convex
// Analysis, 1970, section 31). With velocities that balance all impulses, |v - solution|^2 / 2 in
// the metric of kinetic energy is at most the sum of all gaps, for bounds of friction as they are.
// w, yield as above; axes that never slip count as if they yielded like the normal, or the gap
// would only tell that they hardly yield: `yield` of friction is for them, in m/s per N s (rad/s
// per N m s).
double sprag_local_normal_gap(const sprag_softness *softness, const sprag_contact *contact,
                              double u, double w, double yield, double p);
double sprag_local_friction_gap(const sprag_softness *softness, const sprag_friction *friction,
                                const sprag_local_axes *of, const double *w, const double *u,
                                const double *p, double yield);

#endif
