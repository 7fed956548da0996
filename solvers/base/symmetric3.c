// Eigenvectors by Jacobi's rotations (Golub and Van Loan, Matrix Computations, 8.5): they stay
// orthonormal where eigenvalues coincide.
#include "symmetric3.h"

#include <float.h>
#include <string.h>

#include "linalg.h"

static void rotate(double *a, double *b, double c, double s)
{
    double x = *a, y = *b;
    *a = c * x - s * y;
    *b = s * x + c * y;
}

// Makes the entry (p, q) of D zero, r the third index. Of D only the upper triangle counts.
static inline void annihilate(double D[9], double V[9], int p, int q, double *rp, double *rq)
{
    double off = D[3 * p + q], ratio = (D[4 * q] - D[4 * p]) / (2 * off);
    double root = sqrt(ratio * ratio + 1), sum = fabs(ratio) + root;
    double t = copysign(1, ratio) / sum, c = sqrt(sum / (2 * root)), s = t * c; // |t| <= 1
    D[4 * p] -= t * off;
    D[4 * q] += t * off;
    D[3 * p + q] = 0;
    rotate(rp, rq, c, s);
    for (int k = 0; k < 3; k++) {
        rotate(V + 3 * p + k, V + 3 * q + k, c, s);
    }
}

void sprag_eigen3(const double A[9], double value[3], double vector[9])
{
    enum { SWEEPS = 12 }; // five reach rounding
    double D[9];
    memcpy(D, A, sizeof D);
    memset(vector, 0, 9 * sizeof *vector);
    vector[0] = vector[4] = vector[8] = 1;
    double least = DBL_EPSILON * (fabs(D[0]) + fabs(D[4]) + fabs(D[8]));
    for (int i = 0; i < SWEEPS; i++) {
        bool done = true;
        if (fabs(D[1]) > least) {
            annihilate(D, vector, 0, 1, &D[2], &D[5]);
            done = false;
        }
        if (fabs(D[2]) > least) {
            annihilate(D, vector, 0, 2, &D[1], &D[5]);
            done = false;
        }
        if (fabs(D[5]) > least) {
            annihilate(D, vector, 1, 2, &D[1], &D[2]);
            done = false;
        }
        if (done) {
            break;
        }
    }
    for (int k = 0; k < 3; k++) {
        value[k] = D[4 * k];
    }
}

// B K B' is a cross product with the vector a, and |K|^2 = a.S a / det S, S = B B'.
double sprag_skew_share3(const double A[9])
{
    const double a[3] = {(A[7] - A[5]) / 2, (A[2] - A[6]) / 2, (A[3] - A[1]) / 2};
    double S[9], turned[3], unused[9];
    memcpy(S, A, sizeof S);
    sprag_symmetrise3(S, 3);
    mul33(S, a, turned);
    double det = invert33(S, unused);
    return det > 0 ? dot3(a, turned) / det : 0;
}
