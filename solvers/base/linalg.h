// Operations on numbers, 3-vectors, 3x3 matrices (row by row) and 6-vectors.
#ifndef SPRAG_LINALG_H
#define SPRAG_LINALG_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

// Without a call, unlike fmax and fmin: b if one is not a number.
static inline double sprag_larger(double a, double b)
{
    return a > b ? a : b;
}

static inline double sprag_smaller(double a, double b)
{
    return a < b ? a : b;
}

static inline double dot3(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline double dot6(const double *a, const double *b)
{
    return dot3(a, b) + dot3(a + 3, b + 3);
}

static inline double norm3(const double *a)
{
    return sqrt(dot3(a, a));
}

static inline void cross3(const double *a, const double *b, double *c)
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

// X b = a x b
static inline void cross33(const double *a, double *X)
{
    X[0] = X[4] = X[8] = 0;
    X[1] = -a[2], X[2] = a[1], X[5] = -a[0];
    X[3] = a[2], X[6] = -a[1], X[7] = a[0];
}

static inline void add_scaled(double *a, double s, const double *b, int n)
{
    for (int i = 0; i < n; i++) {
        a[i] += s * b[i];
    }
}

static inline void subtract3(const double *a, const double *b, double *c)
{
    for (int i = 0; i < 3; i++) {
        c[i] = a[i] - b[i];
    }
}

// c = s a
static inline void scale3(double s, const double *a, double *c)
{
    for (int i = 0; i < 3; i++) {
        c[i] = s * a[i];
    }
}

// The number between lo and hi that is nearest to x; NaN if x is. Without branches: compilers
// vectorise it.
static inline double clamp(double x, double lo, double hi)
{
    x = x < lo ? lo : x;
    return x > hi ? hi : x;
}

// a = a / |a|. Returns false and leaves a unchanged if its length is 0 or not finite.
static inline bool normalise3(double *a)
{
    double length = norm3(a);
    if (!(length > 0) || !isfinite(length)) {
        return false;
    }
    double inverse = 1 / length;
    for (int i = 0; i < 3; i++) {
        a[i] *= inverse;
    }
    return true;
}

static inline void mul33(const double *A, const double *x, double *y)
{
    for (int i = 0; i < 3; i++) {
        y[i] = dot3(A + 3 * i, x);
    }
}

// y = A' x
static inline void mul33_transposed(const double *A, const double *x, double *y)
{
    for (int i = 0; i < 3; i++) {
        y[i] = A[i] * x[0] + A[3 + i] * x[1] + A[6 + i] * x[2];
    }
}

// C = A B; C is neither of them
static inline void mul33_33(const double *A, const double *B, double *C)
{
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            C[3 * i + j] = A[3 * i] * B[j] + A[3 * i + 1] * B[3 + j] + A[3 * i + 2] * B[6 + j];
        }
    }
}

// B = R A R'
static inline void turn33(const double *R, const double *A, double *B)
{
    double RA[9];
    mul33_33(R, A, RA);
    for (int i = 0; i < 9; i++) {
        B[i] = dot3(RA + i / 3 * 3, R + i % 3 * 3);
    }
}

// Inverse by cofactors. Returns the determinant; 0 (or not finite): B is not set.
static inline double invert33(const double *A, double *B)
{
    double c0 = A[4] * A[8] - A[5] * A[7];
    double c1 = A[5] * A[6] - A[3] * A[8];
    double c2 = A[3] * A[7] - A[4] * A[6];
    double det = A[0] * c0 + A[1] * c1 + A[2] * c2;
    if (!(fabs(det) > 0) || !isfinite(det)) {
        return 0;
    }
    double s = 1 / det;
    B[0] = c0 * s, B[3] = c1 * s, B[6] = c2 * s;
    B[1] = (A[2] * A[7] - A[1] * A[8]) * s;
    B[4] = (A[0] * A[8] - A[2] * A[6]) * s;
    B[7] = (A[1] * A[6] - A[0] * A[7]) * s;
    B[2] = (A[1] * A[5] - A[2] * A[4]) * s;
    B[5] = (A[2] * A[3] - A[0] * A[5]) * s;
    B[8] = (A[0] * A[4] - A[1] * A[3]) * s;
    return det;
}

// A x = b, by Cramer's rule. false: A is singular, or the determinant is not finite; x is not set.
static inline bool solve33(const double *A, const double *b, double *x)
{
    const double c0 = A[4] * A[8] - A[5] * A[7], c1 = A[5] * A[6] - A[3] * A[8],
                 c2 = A[3] * A[7] - A[4] * A[6], det = A[0] * c0 + A[1] * c1 + A[2] * c2;
    if (!(fabs(det) > 0) || !isfinite(det)) {
        return false;
    }
    const double s = 1 / det;
    x[0] =
        s * (c0 * b[0] + (A[2] * A[7] - A[1] * A[8]) * b[1] + (A[1] * A[5] - A[2] * A[4]) * b[2]);
    x[1] =
        s * (c1 * b[0] + (A[0] * A[8] - A[2] * A[6]) * b[1] + (A[2] * A[3] - A[0] * A[5]) * b[2]);
    x[2] =
        s * (c2 * b[0] + (A[1] * A[6] - A[0] * A[7]) * b[1] + (A[0] * A[4] - A[1] * A[3]) * b[2]);
    return true;
}

#endif
