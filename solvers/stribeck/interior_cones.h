// The cones of the interior-point method, s[0] >= |s[1 ... axes]|, with their duals z in the
// scaling of Nesterov and Todd (interior.c).
#ifndef SPRAG_INTERIOR_CONES_H
#define SPRAG_INTERIOR_CONES_H

#include <math.h>
#include <stdbool.h>

#include "linalg.h"

// s[0] = constant + head p[0], s[1 + k] = scale[k] p[at[k]]. Fewer than two components: scale and
// the rest of s, z and w are 0, so that all cones have the same size.
typedef struct limit {
    double *p, *dp; // of a point (six) or a row: impulses, N s (N m s), and their change
    double *e;      // of the same: A' of what the cones want, m/s
    int point;      // -1: of a row
    bool alone;     // no other one has its components
    int at[2];      // components that the cone bounds
    double constant, head, scale[2];
    double s[3], z[3], ds[3], dz[3];
    double w[3], root; // W = root (2 v v' - J) of Nesterov and Todd, by w = (w0, w1)
    double l[3];       // W^-1 s = W z
} limit;

static inline double determinant(const double x[3])
{
    double tail = sqrt(x[1] * x[1] + x[2] * x[2]);
    return (x[0] - tail) * (x[0] + tail);
}

// W x, or, inverse, W^-1 x
static inline void apply(const limit *of, bool inverse, const double x[3], double y[3])
{
    double sign = inverse ? -1 : 1, along = of->w[1] * x[1] + of->w[2] * x[2];
    double share = x[0] * sign + along / (1 + of->w[0]);
    double size = inverse ? 1 / of->root : of->root;
    y[0] = size * (of->w[0] * x[0] + sign * along);
    for (int k = 1; k < 3; k++) {
        y[k] = size * (x[k] + share * of->w[k]);
    }
}

// Jordan's product.
static inline void multiply(const double x[3], const double y[3], double xy[3])
{
    xy[0] = dot3(x, y);
    for (int k = 1; k < 3; k++) {
        xy[k] = x[0] * y[k] + y[0] * x[k];
    }
}

// y with l o y = x
static inline void divide(const double l[3], const double x[3], double y[3])
{
    y[0] = (2 * l[0] * x[0] - dot3(l, x)) / determinant(l);
    for (int k = 1; k < 3; k++) {
        y[k] = (x[k] - y[0] * l[k]) / l[0];
    }
}

// The largest a up to `most` at which x + a dx is in the cone, x inside.
static inline double longest(const double x[3], const double dx[3], double most)
{
    double end[3] = {x[0] + most * dx[0], x[1] + most * dx[1], x[2] + most * dx[2]};
    if (end[0] > 0 && 2 * end[0] * end[0] > dot3(end, end)) { // mostly: no root is needed
        return most;
    }
    double A = 2 * dx[0] * dx[0] - dot3(dx, dx), B = 2 * x[0] * dx[0] - dot3(x, dx);
    double C = determinant(x), discriminant = B * B - A * C;
    if (dx[0] < 0) {
        most = fmin(most, -x[0] / dx[0]);
    }
    if (discriminant < 0) {
        return most;
    }
    double q = -(B + copysign(sqrt(discriminant), B)), roots[2] = {q / A, C / q};
    for (int k = 0; k < 2; k++) {
        most = roots[k] > 0 && roots[k] < most ? roots[k] : most;
    }
    return most;
}

// false: rounding has brought s or z to the boundary.
static inline bool set_scaling(limit *of)
{
    double s = determinant(of->s), z = determinant(of->z);
    if (!(s > 0 && z > 0)) {
        return false;
    }
    double size_s = sqrt(s), size_z = sqrt(z);
    double both = dot3(of->s, of->z) / (size_s * size_z);
    double half = 1 / sqrt(2 * (1 + both));
    for (int k = 0; k < 3; k++) {
        of->w[k] = half * (of->s[k] / size_s + (k ? -1 : 1) * of->z[k] / size_z);
    }
    of->root = sqrt(size_s / size_z);
    apply(of, false, of->z, of->l);
    return true;
}

// A p
static inline void set_image(const limit *of, const double *p, double s[3])
{
    s[0] = of->head * p[0];
    for (int k = 0; k < 2; k++) {
        s[1 + k] = of->scale[k] * p[of->at[k]];
    }
}

static inline void set_slack(limit *of)
{
    set_image(of, of->p, of->s);
    of->s[0] += of->constant;
}

// z on the central path at mu, where s is.
static inline void set_central(limit *of, double mu)
{
    for (int k = 0; k < 3; k++) {
        of->z[k] = (k ? -mu : mu) / determinant(of->s) * of->s[k];
    }
}

// k of W^-1 ds + W dz = k: to the central path at mu, or to its end (predicts).
static inline void wanted(const limit *of, bool predicts, double mu, double k[3])
{
    double x[3], square[3], product[3], ds[3], dz[3];
    multiply(of->l, of->l, square);
    for (int j = 0; j < 3; j++) {
        x[j] = -square[j];
    }
    if (!predicts) {
        apply(of, true, of->ds, ds);
        apply(of, false, of->dz, dz);
        multiply(ds, dz, product);
        for (int j = 0; j < 3; j++) {
            x[j] += (j == 0 ? mu : 0) - product[j];
        }
    }
    divide(of->l, x, k);
}

// to += A' x
static inline void add_adjoint(const limit *of, const double x[3], double *to)
{
    to[0] += of->head * x[0];
    for (int k = 0; k < 2; k++) {
        to[of->at[k]] += of->scale[k] * x[1 + k];
    }
}

// A += A' W^-2 A
static inline void add_stiffness(const limit *of, double A[6][6])
{
    const int at[3] = {0, of->at[0], of->at[1]};
    const double by[3] = {of->head, of->scale[0], of->scale[1]};
    const double size = 1 / (of->root * of->root);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            double sign = (i == 0) != (j == 0) ? -1 : 1;
            double entry = 2 * sign * of->w[i] * of->w[j] + (i == j ? i == 0 ? -1 : 1 : 0);
            A[at[i]][at[j]] += by[i] * by[j] * size * entry;
        }
    }
}

#endif
