// Products, factors and solves of 6x6 blocks, row by row: loops of fixed length, in an order that
// compilers vectorise.
#ifndef SPRAG_BLOCK6_H
#define SPRAG_BLOCK6_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "vectors6.h"

// C -= A B
static inline void subtract_product(double *restrict C, const double *restrict A,
                                    const double *restrict B)
{
    for (int i = 0; i < 6; i++) {
        vector6 c;
        load6(&c, C + 6 * i);
        for (int k = 0; k < 6; k++) {
            subtract6(&c, A[6 * i + k], B + 6 * k);
        }
        store6(C + 6 * i, &c);
    }
}

static inline void transpose(const double *restrict A, double *restrict B)
{
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j < 6; j++) {
            B[6 * j + i] = A[6 * i + j];
        }
    }
}

static inline void subtract_apply(double *restrict y, const double *restrict A,
                                  const double *restrict x)
{
    for (int i = 0; i < 6; i++) {
        double s = 0;
        for (int j = 0; j < 6; j++) {
            s += A[6 * i + j] * x[j];
        }
        y[i] -= s;
    }
}

static inline void subtract_apply_transposed(double *restrict y, const double *restrict A,
                                             const double *restrict x)
{
    vector6 sum;
    load6(&sum, y);
    for (int i = 0; i < 6; i++) {
        subtract6(&sum, x[i], A + 6 * i);
    }
    store6(y, &sum);
}

// A = L L', L in the lower half; the diagonal holds the inverse of L's. Reads the upper half.
static inline __attribute__((always_inline)) bool cholesky(double *A)
{
    vector6 row[6];
    for (int i = 0; i < 6; i++) {
        load6(&row[i], A + 6 * i);
    }
#pragma GCC unroll 6
    for (int k = 0; k < 6; k++) {
        double d = lane6(&row[k], k);
        if (!(d > 0) || !isfinite(d)) {
            return false;
        }
        double inverse = 1 / sqrt(d);
        A[7 * k] = inverse;
        row[k].a *= inverse;
        row[k].b *= inverse;
#pragma GCC unroll 6
        for (int i = k + 1; i < 6; i++) {
            double l = lane6(&row[k], i);
            A[6 * i + k] = l;
            row[i].a -= l * row[k].a;
            row[i].b -= l * row[k].b;
        }
    }
    return true;
}

// B = B L'^-1, all rows at once: on the transposed block
static inline void divide_cholesky(double *restrict B, const double *restrict L)
{
    double T[36];
    transpose(B, T);
    for (int j = 0; j < 6; j++) {
        vector6 t;
        load6(&t, T + 6 * j);
        for (int k = 0; k < j; k++) {
            subtract6(&t, L[6 * j + k], T + 6 * k);
        }
        t.a *= L[7 * j];
        t.b *= L[7 * j];
        store6(T + 6 * j, &t);
    }
    transpose(T, B);
}

static inline void forward_cholesky(const double *restrict L, double *restrict x)
{
    double y[6];
    memcpy(y, x, sizeof y);
    for (int k = 0; k < 6; k++) {
        y[k] *= L[7 * k];
        for (int i = k + 1; i < 6; i++) {
            y[i] -= L[6 * i + k] * y[k];
        }
    }
    memcpy(x, y, sizeof y);
}

static inline void backward_cholesky(const double *restrict L, double *restrict x)
{
    double y[6];
    memcpy(y, x, sizeof y);
    for (int k = 5; k >= 0; k--) {
        y[k] *= L[7 * k];
        for (int i = 0; i < k; i++) {
            y[i] -= L[6 * k + i] * y[k];
        }
    }
    memcpy(x, y, sizeof y);
}

// P A = L U with unit L; the diagonal holds the inverse of U's. L is kept in an array of its own
// until the end, so that rows of A are written as a whole: processors stall when they load a vector
// that was stored in parts.
static inline __attribute__((always_inline)) bool lu(double *A, int *pivot)
{
    double L[6][6];
    for (int k = 0; k < 6; k++) {
        int p = k;
        double most = fabs(A[7 * k]);
        for (int i = k + 1; i < 6; i++) {
            double size = fabs(A[6 * i + k]);
            p = size > most ? i : p;
            most = size > most ? size : most;
        }
        if (!(most > 0) || !isfinite(most)) {
            return false;
        }
        vector6 upper, row;
        load6(&upper, A + 6 * p);
        if (p != k) {
            load6(&row, A + 6 * k);
            store6(A + 6 * p, &row);
            store6(A + 6 * k, &upper);
            for (int j = 0; j < k; j++) {
                double swap = L[k][j];
                L[k][j] = L[p][j];
                L[p][j] = swap;
            }
        }
        pivot[k] = p;
        L[k][k] = 1 / A[7 * k];
        for (int i = k + 1; i < 6; i++) { // what is left of column k + 1 does not matter any more
            L[i][k] = A[6 * i + k] * L[k][k];
            load6(&row, A + 6 * i);
            row.a -= L[i][k] * upper.a;
            row.b -= L[i][k] * upper.b;
            store6(A + 6 * i, &row);
        }
    }
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j <= i; j++) {
            A[6 * i + j] = L[i][j];
        }
    }
    return true;
}

static inline void solve_lu(const double *A, const int *pivot, double *x)
{
    for (int k = 0; k < 6; k++) {
        double swap = x[k];
        x[k] = x[pivot[k]];
        x[pivot[k]] = swap;
    }
    for (int i = 1; i < 6; i++) {
        for (int k = 0; k < i; k++) {
            x[i] -= A[6 * i + k] * x[k];
        }
    }
    for (int k = 5; k >= 0; k--) {
        for (int j = k + 1; j < 6; j++) {
            x[k] -= A[6 * k + j] * x[j];
        }
        x[k] *= A[7 * k];
    }
}

// B = B D^-1, all rows at once, on the transposed block: x D = b with P D = L U, so x = z P,
// z L = y, y U = b.
static inline void divide_lu(double *restrict B, const double *restrict D, const int *pivot)
{
    double T[36];
    transpose(B, T);
    for (int j = 0; j < 6; j++) {
        vector6 t;
        load6(&t, T + 6 * j);
        for (int k = 0; k < j; k++) {
            subtract6(&t, D[6 * k + j], T + 6 * k);
        }
        t.a *= D[7 * j];
        t.b *= D[7 * j];
        store6(T + 6 * j, &t);
    }
    for (int j = 4; j >= 0; j--) {
        vector6 t;
        load6(&t, T + 6 * j);
        for (int k = j + 1; k < 6; k++) {
            subtract6(&t, D[6 * k + j], T + 6 * k);
        }
        store6(T + 6 * j, &t);
    }
    for (int j = 5; j >= 0; j--) {
        vector6 here, there;
        load6(&here, T + 6 * j);
        load6(&there, T + 6 * pivot[j]);
        store6(T + 6 * j, &there);
        store6(T + 6 * pivot[j], &here);
    }
    transpose(T, B);
}

#endif
