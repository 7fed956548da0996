// Eigenvectors by Jacobi's rotations (Golub and Van Loan, Matrix Computations, 8.5): they stay
// orthonormal where eigenvalues coincide.
#include "symmetric3.h"

#include <float.h>
#include <math.h>
#include <string.h>

static void rotate_rows(double *a, double *b, int stride, double c, double s)
{
    for (int k = 0; k < 3; k++, a += stride, b += stride) {
        double x = *a, y = *b;
        *a = c * x - s * y;
        *b = s * x + c * y;
    }
}

// Makes the entry (p, q) of D zero.
static void annihilate(double D[9], double V[9], int p, int q)
{
    double ratio = (D[4 * q] - D[4 * p]) / (2 * D[3 * p + q]);
    double t = copysign(1, ratio) / (fabs(ratio) + sqrt(ratio * ratio + 1));
    double c = 1 / sqrt(t * t + 1), s = t * c;
    rotate_rows(D + 3 * p, D + 3 * q, 1, c, s);
    rotate_rows(D + p, D + q, 3, c, s);
    rotate_rows(V + 3 * p, V + 3 * q, 1, c, s);
}

void sprag_eigen3(const double A[9], double value[3], double vector[9])
{
    enum { SWEEPS = 12 }; // five reach rounding
    static const int pair[3][2] = {{0, 1}, {0, 2}, {1, 2}};
    double D[9];
    memcpy(D, A, sizeof D);
    memset(vector, 0, 9 * sizeof *vector);
    vector[0] = vector[4] = vector[8] = 1;
    for (int i = 0; i < SWEEPS; i++) {
        double size = fabs(D[0]) + fabs(D[4]) + fabs(D[8]);
        if (!(fabs(D[1]) + fabs(D[2]) + fabs(D[5]) > DBL_EPSILON * size)) {
            break;
        }
        for (int k = 0; k < 3; k++) {
            int p = pair[k][0], q = pair[k][1];
            if (D[3 * p + q] != 0) {
                annihilate(D, vector, p, q);
            }
        }
    }
    for (int k = 0; k < 3; k++) {
        value[k] = D[4 * k];
    }
}

bool sprag_cholesky3(const double A[9], double L[9])
{
    memset(L, 0, 9 * sizeof *L);
    L[0] = sqrt(A[0]);
    L[3] = A[3] / L[0];
    L[6] = A[6] / L[0];
    L[4] = sqrt(A[4] - L[3] * L[3]);
    L[7] = (A[7] - L[6] * L[3]) / L[4];
    L[8] = sqrt(A[8] - L[6] * L[6] - L[7] * L[7]);
    return L[0] > 0 && L[4] > 0 && L[8] > 0;
}
