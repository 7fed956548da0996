// Products, factors and solves of 6x6 blocks, row by row: loops of fixed length, in an order that
// compilers vectorise.
#ifndef SPRAG_BLOCK6_H
#define SPRAG_BLOCK6_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "vectors6.h"

// C -= A' B
static inline void subtract_product(double *restrict C, const double *restrict A,
                                    const double *restrict B)
{
    for (int i = 0; i < 6; i++) {
        vector6 c;
        load6(&c, C + 6 * i);
        for (int k = 0; k < 6; k++) {
            subtract6(&c, A[6 * k + i], B + 6 * k);
        }
        store6(C + 6 * i, &c);
    }
}

static inline void subtract_apply(double *restrict y, const double *restrict A,
                                  const double *restrict x)
{
    for (int i = 0; i < 6; i++) {
        y[i] -= product6(A + 6 * i, x);
    }
}

// y -= A' x, in two sums: one alone waits for itself.
static inline void subtract_apply_transposed(double *restrict y, const double *restrict A,
                                             const double *restrict x)
{
    vector6 left, sum[2];
    load6(&left, y);
#pragma GCC unroll 2
    for (int half = 0; half < 2; half++) {
        const double *rows = A + 18 * half, *by = x + 3 * half;
        load6(&sum[half], rows);
        sum[half].a *= by[0];
        sum[half].b *= by[0];
        add6(&sum[half], by[1], rows + 6);
        add6(&sum[half], by[2], rows + 12);
    }
    left.a -= sum[0].a + sum[1].a;
    left.b -= sum[0].b + sum[1].b;
    store6(y, &left);
}

// A = L D L' with a unit L, which is left below the diagonal; the diagonal holds D^-1/2. Reads the
// upper half. Of L D^1/2 each step would wait for a root as well.
static inline __attribute__((always_inline)) bool cholesky(double *A)
{
    vector6 row[6];
    for (int i = 0; i < 6; i++) {
        load6(&row[i], A + 6 * i);
    }
#pragma GCC unroll 6
    for (int k = 0; k < 6; k++) {
        double d = lane6(&row[k], k);
        double inverse = 1 / d;
        if (!(d > 0) || !isfinite(d) || !isfinite(inverse)) {
            return false;
        }
        A[7 * k] = sqrt(inverse);
#pragma GCC unroll 6
        for (int i = k + 1; i < 6; i++) {
            const double a = lane6(&row[k], i);
            A[6 * i + k] = a * inverse;
            row[i].a -= a * row[k].a * inverse; // the products do not wait for the division
            row[i].b -= a * row[k].b * inverse;
        }
    }
    return true;
}

// B = D^-1/2 L^-1 B, C = A^-1 B of the B before.
static inline void divide_cholesky(double *restrict B, double *restrict C, const double *restrict L)
{
    vector6 b[6];
#pragma GCC unroll 6
    for (int j = 0; j < 6; j++) {
        load6(&b[j], B + 6 * j);
#pragma GCC unroll 6
        for (int k = 0; k < j; k++) {
            b[j].a -= L[6 * j + k] * b[k].a;
            b[j].b -= L[6 * j + k] * b[k].b;
        }
    }
#pragma GCC unroll 6
    for (int j = 0; j < 6; j++) {
        b[j].a *= L[7 * j];
        b[j].b *= L[7 * j];
        store6(B + 6 * j, &b[j]);
        b[j].a *= L[7 * j];
        b[j].b *= L[7 * j];
    }
#pragma GCC unroll 6
    for (int j = 5; j >= 0; j--) {
#pragma GCC unroll 6
        for (int k = 5; k > j; k--) {
            b[j].a -= L[6 * k + j] * b[k].a;
            b[j].b -= L[6 * k + j] * b[k].b;
        }
        store6(C + 6 * j, &b[j]);
    }
}

// x = L'^-1 D^-1 L^-1 x. In registers, as solve_lu: processors wait where a vector is loaded that
// was stored in parts.
static inline void solve_cholesky(const double *restrict L, double *restrict x)
{
    double y[6];
    memcpy(y, x, sizeof y);
#pragma GCC unroll 6
    for (int k = 0; k < 6; k++) {
#pragma GCC unroll 6
        for (int i = k + 1; i < 6; i++) {
            y[i] -= L[6 * i + k] * y[k];
        }
    }
    for (int k = 0; k < 6; k++) {
        y[k] *= L[7 * k] * L[7 * k];
    }
#pragma GCC unroll 6
    for (int k = 5; k >= 0; k--) {
#pragma GCC unroll 6
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
#pragma GCC unroll 6
    for (int i = 0; i < 6; i++) {
#pragma GCC unroll 6
        for (int j = 0; j <= i; j++) { // written out, or it is a call of memcpy for each row
            A[6 * i + j] = L[i][j];
        }
    }
    return true;
}

static inline void solve_lu(const double *restrict A, const int *pivot, double *restrict x)
{
    double y[6];
    for (int k = 0; k < 6; k++) {
        double swap = x[k];
        x[k] = x[pivot[k]];
        x[pivot[k]] = swap;
    }
    memcpy(y, x, sizeof y);
#pragma GCC unroll 6
    for (int i = 1; i < 6; i++) {
#pragma GCC unroll 6
        for (int k = 0; k < i; k++) {
            y[i] -= A[6 * i + k] * y[k];
        }
    }
#pragma GCC unroll 6
    for (int k = 5; k >= 0; k--) {
#pragma GCC unroll 6
        for (int j = k + 1; j < 6; j++) {
            y[k] -= A[6 * k + j] * y[j];
        }
        y[k] *= A[7 * k];
    }
    memcpy(x, y, sizeof y);
}

// B' = B' D^-1: of each column x D = b with P D = L U, so x = z P, z L = y, y U = b.
static inline void divide_lu(double *restrict B, const double *restrict D, const int *pivot)
{
    for (int j = 0; j < 6; j++) {
        vector6 b;
        load6(&b, B + 6 * j);
        for (int k = 0; k < j; k++) {
            subtract6(&b, D[6 * k + j], B + 6 * k);
        }
        b.a *= D[7 * j];
        b.b *= D[7 * j];
        store6(B + 6 * j, &b);
    }
    for (int j = 4; j >= 0; j--) {
        vector6 b;
        load6(&b, B + 6 * j);
        for (int k = j + 1; k < 6; k++) {
            subtract6(&b, D[6 * k + j], B + 6 * k);
        }
        store6(B + 6 * j, &b);
    }
    for (int j = 5; j >= 0; j--) {
        vector6 here, there;
        load6(&here, B + 6 * j);
        load6(&there, B + 6 * pivot[j]);
        store6(B + 6 * j, &there);
        store6(B + 6 * pivot[j], &here);
    }
}

#endif
