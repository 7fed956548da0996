// Symmetric 3x3 matrices, row by row.
#ifndef SPRAG_SYMMETRIC3_H
#define SPRAG_SYMMETRIC3_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

// Eigenvalues of A and their unit eigenvectors, the rows of `vector`, which are right-handed.
void sprag_eigen3(const double A[9], double value[3], double vector[9]);

// The positive parts of so many times four matrices, in place, to 2e-8 of their size. Entry k of
// the upper triangle, row by row, of matrix i of a four is at SPRAG_PARTS_AT_ONCE k + i. next: from
// a four to the next one.
enum { SPRAG_PARTS_AT_ONCE = 4 };
void sprag_positive_parts(int fours, size_t next, double *matrix);

// A = (A + A') / 2, unless they are the same but for rounding: inertia with gyroscopic terms
// (spin.h) where a solver needs it symmetric. stride: from row to row. Returns whether A has
// changed.
static inline bool sprag_symmetrise3(double *A, int stride)
{
    bool changed = false;
    double size = fabs(A[0]) + fabs(A[stride + 1]) + fabs(A[2 * stride + 2]);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < i; k++) {
            double *a = &A[stride * i + k], *b = &A[stride * k + i];
            if (fabs(*a - *b) > 1e-12 * size) {
                *a = *b = (*a + *b) / 2;
                changed = true;
            }
        }
    }
    return changed;
}

// A = B (1 + K) B', K skew: |K|^2, also that of the inverse of A. 0: the symmetric part is
// singular.
double sprag_skew_share3(const double A[9]);

#endif
