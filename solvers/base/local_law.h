// The laws of one contact while everything else stays as it is: what sprag_problem_residual
// measures a contact by, and what sweeps give it. Inline: both spend much of their time here.
#ifndef SPRAG_LOCAL_LAW_H
#define SPRAG_LOCAL_LAW_H

#include <math.h>

#include "linalg.h"
#include "softness.h"

// N s: friction bounded by less is none. Its slope, slip that counts as sticking over this bound,
// would overflow.
static const double SPRAG_LEAST_FRICTION = 1e-60;

// ---- the normal

// The smaller root p of Hunt and Crossley's k (1 - d u)(x - h u) = p, u = free + w p.
static inline double sprag_local_spring(const sprag_softness *soft, const sprag_contact *contact,
                                        double free, double w)
{
    double step = soft->step, d = contact->dissipation;
    double k = step * sprag_contact_stiffness(soft, contact, w);
    double a = 1 - d * free, b = -contact->gap - step * free;
    if (a <= 0 || b <= 0) {
        return 0;
    }
    double A = k * d * w * step * w, B = 1 + k * (d * w * b + step * w * a);
    return 2 * k * a * b / (B + sqrt(sprag_larger(0, B * B - 4 * A * k * a * b)));
}

// N s, the normal impulse in balance with the velocity that it leaves. free: m/s, the normal
// velocity without it; w: 1/kg, of the normal; yield: m/s per N s, of sprag_contact_yield.
static inline double sprag_local_normal(const sprag_softness *soft, const sprag_contact *contact,
                                        double free, double w, double yield)
{
    return contact->stiffness > 0 ? sprag_local_spring(soft, contact, free, w)
                                  : sprag_larger(0, (contact->bias - free) / (w + yield));
}

// J, duality gaps of the laws at a velocity u and impulses p that need not solve them (pulls count
// as 0): at least 0, and 0 only where they do (Fenchel and Young's inequality: Rockafellar, Convex
// Analysis, 1970, section 31). With velocities that balance all impulses, |v - solution|^2 / 2 in
// the metric of kinetic energy is at most the sum of all gaps, for bounds of friction as they are.
// w, yield as above.
static inline double sprag_local_normal_gap(const sprag_softness *soft,
                                            const sprag_contact *contact, double u, double w,
                                            double yield, double p)
{
    double y = sprag_larger(yield, SPRAG_SOFT_LEAST * w), short_of = contact->bias - u;
    p = sprag_larger(0, p);
    if (contact->stiffness > 0) {
        double a = 1 - contact->dissipation * u, step = soft->step;
        y = 1 / (step * step * sprag_contact_stiffness(soft, contact, w));
        short_of = sprag_larger(0, a) * (-contact->gap / step - u);
    }
    return short_of > 0 ? (short_of - y * p) * (short_of - y * p) / (2 * y)
                        : p * (y * p / 2 - short_of);
}

// ---- friction, along or about the axes `first` to first + axes - 1 of a pair

typedef struct sprag_local_axes {
    int first, axes;
    double normal;   // N s, impulse that bounds it
    double stiction; // m/s (rad/s), slip that counts as sticking; 0: none
    double coupling; // 1/kg, |J M^-1 J'| of the two axes of a cone with one another; 0: of each
                     // with itself alone
} sprag_local_axes;

// A pair at its velocities and impulses: slips beyond what the axes yield, m/s (rad/s), their
// yields, m/s per N s, and their bounds, N s.
typedef struct sprag_local_slip {
    double s[2], yield[2], bound[2];
} sprag_local_slip;

// Do the axes of a pair share slip and kind of bound? Then they are one elliptic cone; others are
// bounded one by one, as in ODE.
static inline bool sprag_local_is_cone(const sprag_friction *f)
{
    return f->slip[0] == f->slip[1] && f->force[0] == f->force[1] && !isinf(f->coefficient[0]) &&
           !isinf(f->coefficient[1]);
}

// w, u, p: inverse masses, velocities J v and impulses of the axes.
static inline sprag_local_slip sprag_local_slips(const sprag_softness *soft,
                                                 const sprag_friction *f,
                                                 const sprag_local_axes *of, const double *w,
                                                 const double *u, const double *p)
{
    sprag_local_slip slip = {.s = {0}};
    for (int k = 0; k < of->axes; k++) {
        int axis = of->first + k;
        double coefficient = sprag_smaller(f->coefficient[axis], 1e100), *bound = &slip.bound[k];
        slip.yield[k] = sprag_larger(f->slip[axis] / soft->step, soft->share.friction * w[k]);
        *bound = isinf(f->coefficient[axis])
                     ? INFINITY
                     : coefficient * (f->force[axis] ? soft->step : of->normal);
        *bound = *bound > SPRAG_LEAST_FRICTION ? *bound : 0;
        slip.yield[k] += of->stiction > 0 && *bound > 0 ? of->stiction / *bound : 0;
        slip.s[k] = u[k] - f->velocity[axis] + slip.yield[k] * p[k];
    }
    return slip;
}

// The duality gap, as of the normal. Axes that never slip count as if they yielded like the normal,
// or the gap would only tell that they hardly yield: `yield` is for them, in m/s per N s (rad/s per
// N m s).
static inline double sprag_local_friction_gap(const sprag_friction *f, const sprag_local_axes *of,
                                              const sprag_local_slip *slip, const double *w,
                                              const double *p, double yield)
{
    const double *s = slip->s, *bound = slip->bound;
    double square = 0, sum = 0;
    const bool cone = sprag_local_is_cone(f);
    for (int k = 0; k < of->axes; k++) {
        if (isinf(bound[k])) {
            sum += s[k] * s[k] / (2 * sprag_larger(yield, SPRAG_SOFT_LEAST * w[k]));
        } else {
            square += bound[k] * s[k] * bound[k] * s[k];
            sum += p[k] * s[k] + (cone ? 0 : bound[k] * fabs(s[k]));
        }
    }
    return sprag_larger(0, sum + (cone ? sqrt(square) : 0)); // rounding
}

// The projection of p - (s + yield p) / rho to the bounds, with one rho for both axes of a cone, so
// that what slides against its impulse stays as it is. Sets wanted; p itself if it solves the law.
static inline void sprag_local_friction(const sprag_friction *f, const sprag_local_axes *of,
                                        const sprag_local_slip *slip, const double *w,
                                        const double *p, double *wanted)
{
    const double *bound = slip->bound;
    double stiffest[2] = {0}, square = 0;
    bool cone = of->axes == 2 && sprag_local_is_cone(f);
    for (int k = 0; k < of->axes; k++) {
        double scale = cone ? sprag_smaller(f->coefficient[of->first + k], 1e100) : 1;
        stiffest[k] = scale * scale * (w[k] + slip->yield[k] + of->coupling);
    }
    double most = sprag_larger(stiffest[0], stiffest[1]);
    for (int k = 0; k < of->axes; k++) {
        double scale = cone ? sprag_smaller(f->coefficient[of->first + k], 1e100) : 1;
        double rho = cone ? most : stiffest[k];
        wanted[k] = rho > 0 ? p[k] - scale * scale * slip->s[k] / rho : 0;
        double share = bound[k] > 0 ? wanted[k] / bound[k] : 0;
        square += share * share;
    }
    double shrink = cone && square > 1 ? 1 / sqrt(square) : 1;
    for (int k = 0; k < of->axes; k++) {
        wanted[k] = sprag_smaller(sprag_larger(shrink * wanted[k], -bound[k]), bound[k]);
    }
}

#endif
