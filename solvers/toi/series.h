// Taylor models: a function of time as a polynomial and a bound of its remainder (Makino, Berz:
// Taylor models, 2003). Time is scaled to u in [0, 1]:
//
//     f(u) = c[0] + c[1] u + ... + c[4] u^4 + r(u),   |r(u)| <= remainder u^5
#ifndef SPRAG_SERIES_H
#define SPRAG_SERIES_H

#include "linalg.h"

enum { SPRAG_TERMS = 5 };

typedef struct sprag_series {
    double c[SPRAG_TERMS], remainder;
} sprag_series;

typedef struct sprag_series3 { // a vector; the remainder bounds its length
    double c[SPRAG_TERMS][3], remainder;
} sprag_series3;

// A frame that turns, seen from another frame that turns too, both at constant rates in the world.
// A vector a that is constant in the first frame has in the axes of the second
//
//     m' = O x m,   O' = O x w,   O(0) = w_a - w,
//
// which gives the coefficients one from another; those of O have constant lengths.
typedef struct sprag_turning {
    int terms; // coefficients of O, the others are 0; none: m is constant
    double rate[SPRAG_TERMS][3], length[SPRAG_TERMS]; // rad, coefficients of O, and their lengths
} sprag_turning;

// The angles (rad) are those of the whole interval.
void sprag_turning_set(const double of[3], const double seen_from[3], sprag_turning *turning);

// The series of a constant vector a of the first frame, in the axes of the second.
void sprag_turning_apply(const sprag_turning *turning, const double a[3], sprag_series3 *m);

// The series of d + u v in the axes of a frame that turns by w (rad).
void sprag_series_line(const double d[3], const double v[3], const double w[3], sprag_series3 *y);

// f += s (a.g)
static inline void sprag_series_dot(sprag_series *f, double s, const double a[3],
                                    const sprag_series3 *g)
{
    for (int k = 0; k < SPRAG_TERMS; k++) {
        f->c[k] += s * dot3(a, g->c[k]);
    }
    f->remainder += fabs(s) * norm3(a) * g->remainder;
}

static inline void sprag_series_add(sprag_series *f, double s, const sprag_series *g)
{
    for (int k = 0; k < SPRAG_TERMS; k++) {
        f->c[k] += s * g->c[k];
    }
    f->remainder += fabs(s) * g->remainder;
}

// One component of a vector.
static inline sprag_series sprag_series_component(const sprag_series3 *f, int i)
{
    return (sprag_series){{f->c[0][i], f->c[1][i], f->c[2][i], f->c[3][i], f->c[4][i]},
                          f->remainder};
}

// fg = f g; may be f or g.
void sprag_series_multiply(const sprag_series *f, const sprag_series *g, sprag_series *fg);

// A series that is at least sqrt(q), and close to it. false: q comes too near to 0.
bool sprag_series_root(const sprag_series *q, sprag_series *root);

// The largest u, at most `until`, up to which f is certain not to be negative.
double sprag_series_positive(const sprag_series *f, double until);

#endif
