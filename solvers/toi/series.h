// Functions of time on an interval, as a polynomial and what it may miss (Makino, Berz: Taylor
// models, 2003). Time is scaled to u in [0, 1]:
//
//     f(u) = c[0] + c[1] u + ... + c[4] u^4 + r(u),   |r(u)| <= rest u^5
#ifndef SPRAG_SERIES_H
#define SPRAG_SERIES_H

#include "linalg.h"

enum { SPRAG_TERMS = 5 };

typedef struct sprag_series {
    double c[SPRAG_TERMS], rest;
} sprag_series;

typedef struct sprag_series3 { // a vector; rest bounds its length
    double c[SPRAG_TERMS][3], rest;
} sprag_series3;

// One frame that turns as seen from another one that turns too, both at a constant rate in the
// world. A vector a that is fixed in the first has in the axes of the second
//
//     m' = O x m,   O' = O x w,   O(0) = w_a - w,
//
// whose coefficients follow from each other; the coefficients of O keep their lengths.
typedef struct sprag_turning {
    bool still;
    double of[3];
    double rate[SPRAG_TERMS][3], length[SPRAG_TERMS];
} sprag_turning;

// Angles of the whole interval.
void sprag_turning_set(const double of[3], const double seen_from[3], sprag_turning *turning);

void sprag_turning_apply(const sprag_turning *turning, const double a[3], sprag_series3 *m);

// d + u v in the axes of what turns by w.
void sprag_series_line(const double d[3], const double v[3], const double w[3], sprag_series3 *y);

// A bound of what f differs from f(0) by.
static inline double sprag_series_change(const sprag_series3 *f)
{
    double change = f->rest;
    for (int k = 1; k < SPRAG_TERMS; k++) {
        change += norm3(f->c[k]);
    }
    return change;
}

// f += s (a.g)
static inline void sprag_series_dot(sprag_series *f, double s, const double a[3],
                                    const sprag_series3 *g)
{
    for (int k = 0; k < SPRAG_TERMS; k++) {
        f->c[k] += s * dot3(a, g->c[k]);
    }
    f->rest += fabs(s) * norm3(a) * g->rest;
}

static inline void sprag_series_add(sprag_series *f, double s, const sprag_series *g)
{
    for (int k = 0; k < SPRAG_TERMS; k++) {
        f->c[k] += s * g->c[k];
    }
    f->rest += fabs(s) * g->rest;
}

void sprag_series_multiply(const sprag_series *f, const sprag_series *g, sprag_series *fg);

// Never less than sqrt(q), and close to it. false: q comes too near to 0.
bool sprag_series_root(const sprag_series *q, sprag_series *root);

// Up to where, `until` at most, f is certain not to be negative.
double sprag_series_positive(const sprag_series *f, double until);

#endif
