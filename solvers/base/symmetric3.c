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

// Numbers of their own, and no arrays: what is stored by one and read by two waits for the store.
typedef struct axis {
    double x, y, z;
} axis;

// Makes the entry pq of a symmetric matrix zero; r is its third row.
static inline void annihilate(double *pp, double *qq, double *pq, double *rp, double *rq, axis *p,
                              axis *q)
{
    double off = *pq, ratio = (*qq - *pp) / (2 * off);
    double root = sqrt(ratio * ratio + 1), sum = fabs(ratio) + root;
    double t = copysign(1, ratio) / sum, c = sqrt(sum / (2 * root)), s = t * c; // |t| <= 1
    *pp -= t * off;
    *qq += t * off;
    *pq = 0;
    rotate(rp, rq, c, s);
    rotate(&p->x, &q->x, c, s);
    rotate(&p->y, &q->y, c, s);
    rotate(&p->z, &q->z, c, s);
}

void sprag_eigen3(const double A[9], double value[3], double vector[9])
{
    enum { SWEEPS = 12 }; // five reach rounding
    double xx = A[0], xy = A[1], xz = A[2], yy = A[4], yz = A[5], zz = A[8];
    axis x = {1, 0, 0}, y = {0, 1, 0}, z = {0, 0, 1};
    double least = DBL_EPSILON * (fabs(xx) + fabs(yy) + fabs(zz));
    bool done = false;
    for (int i = 0; i < SWEEPS && !done; i++) {
        done = true;
        if (fabs(xy) > least) {
            annihilate(&xx, &yy, &xy, &xz, &yz, &x, &y);
            done = false;
        }
        if (fabs(xz) > least) {
            annihilate(&xx, &zz, &xz, &xy, &yz, &x, &z);
            done = false;
        }
        if (fabs(yz) > least) {
            annihilate(&yy, &zz, &yz, &xy, &xz, &y, &z);
            done = false;
        }
    }
    value[0] = xx, value[1] = yy, value[2] = zz;
    vector[0] = x.x, vector[1] = x.y, vector[2] = x.z;
    vector[3] = y.x, vector[4] = y.y, vector[5] = y.z;
    vector[6] = z.x, vector[7] = z.y, vector[8] = z.z;
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
