// Eigenvectors by Jacobi's rotations (Golub and Van Loan, Matrix Computations, 8.5): they stay
// orthonormal where eigenvalues coincide. Positive parts by the invariants of a matrix: without a
// branch, for several matrices at once.
#include "symmetric3.h"

#include <float.h>
#include <stdint.h>
#include <string.h>

#include "linalg.h"
#include "vectors.h"
#include "vectors6.h"

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

// ---- positive parts

typedef int64_t mask __attribute__((vector_size(32)));

// a where the mask is set, else b.
#define CHOSEN(mask_, a_, b_) ((sprag_four)(((mask)(a_) & (mask_)) | ((mask)(b_) & ~(mask_))))

static inline __attribute__((always_inline)) void take_roots(sprag_four *x)
{
    for (int i = 0; i < SPRAG_PARTS_AT_ONCE; i++) {
        (*x)[i] = sqrt((*x)[i]);
    }
}

// Sets y to the largest root of 4 y^3 - 3 y = q, -1 < q <= 1: the cosine of a third of the angle
// whose cosine q is. It is smooth in the cosine h of half the angle: a cubic with its values and
// slopes at both ends, then Halley's step, which is 0 / 0 at the double root of q = -1.
static inline __attribute__((always_inline)) void find_cosine_of_third(sprag_four *y,
                                                                       const sprag_four *q)
{
    static const double a = 0.57735026918962576, b = 1.5 - 2 * a - 4.0 / 9, c = a - 5.0 / 9;
    sprag_four h = 0.5 + 0.5 * *q;
    take_roots(&h);
    const sprag_four x = 0.5 + h * (a + h * (b + h * c)), f = x * (4 * x * x - 3) - *q,
                     slope = 12 * x * x - 3, curve = 24 * x;
    *y = x - 2 * f * slope / (2 * slope * slope - f * curve);
}

// Four matrices on the way to their positive parts.
typedef struct parting {
    sprag_four mean, q;    // of the eigenvalues; the cosine of three times the angle
    sprag_four size, sign; // v is mean + 2 sign size y
    sprag_four whole;      // 1 or 0, of the matrix in its positive part
    mask one;              // whose eigenvalues have one sign
} parting;

static inline __attribute__((always_inline)) void find_invariants(const sprag_four S[6],
                                                                  parting *to)
{
    const sprag_four none = {0}, one = none + 1, least = none - (1 - 4 * DBL_EPSILON);
    const sprag_four xx = S[0], xy = S[1], xz = S[2], yy = S[3], yz = S[4], zz = S[5];
    const sprag_four mean = (xx + yy + zz) * (1.0 / 3), minor = xx * yy - xy * xy,
                     minors = minor + (xx * zz - xz * xz) + (yy * zz - yz * yz),
                     det = xz * (xy * yz - xz * yy) + yz * (xy * xz - xx * yz) + zz * minor;
    const mask below = det < 0, alike = minors >= 0, positive = ~below & alike & (mean >= 0),
               negative = below & alike & (mean < 0);
    const sprag_four sign = CHOSEN(below, -one, one), square = mean * mean - minors * (1.0 / 3);
    sprag_four size = CHOSEN(square > 0, square, none);
    take_roots(&size);
    const sprag_four cube = 2 * size * size * size,
                     of_rest = det + mean * (2 * mean * mean - minors), // det of S - mean
        ratio = sign * of_rest / CHOSEN(cube > 0, cube, one);
    to->mean = mean, to->size = size, to->sign = sign;
    to->q = CHOSEN(ratio < least, least, CHOSEN(ratio > 1, one, ratio));
    to->whole = CHOSEN(positive | (below & ~negative), one, none);
    to->one = positive | negative;
}

// Unless all eigenvalues have one sign, one has a sign of its own: the positive part is that one's,
// or all without it. With that eigenvalue v of S, the adjugate of S - v is the projection on its
// vector, by a factor.
static inline __attribute__((always_inline)) void take_part(sprag_four S[6], const parting *of,
                                                            const sprag_four *y)
{
    const sprag_four none = {0}, one = none + 1;
    const sprag_four xx = S[0], xy = S[1], xz = S[2], yy = S[3], yz = S[4], zz = S[5];
    const sprag_four v = of->mean + 2 * of->sign * of->size * *y, x_v = xx - v, y_v = yy - v,
                     z_v = zz - v, axx = y_v * z_v - yz * yz, ayy = x_v * z_v - xz * xz,
                     azz = x_v * y_v - xy * xy, axy = xz * yz - xy * z_v, axz = xy * yz - xz * y_v,
                     ayz = xy * xz - yz * x_v, trace = axx + ayy + azz,
                     along = of->sign * v / CHOSEN(trace > 0, trace, one), whole = of->whole,
                     part = CHOSEN(of->one, none, along);
    S[0] = whole * xx + part * axx, S[1] = whole * xy + part * axy;
    S[2] = whole * xz + part * axz, S[3] = whole * yy + part * ayy;
    S[4] = whole * yz + part * ayz, S[5] = whole * zz + part * azz;
}

// In short passes over some fours: the processor works at several, while one waits for a quotient
// or a root.
SPRAG_VECTORS
static void take_positive_parts(int fours, size_t next, double *matrix)
{
    enum { AT_ONCE = 4 };
    for (int done = 0; done < fours; done += AT_ONCE) {
        const int count = fours - done < AT_ONCE ? fours - done : AT_ONCE;
        double *first = matrix + next * (size_t)done, *S = first;
        parting of[AT_ONCE];
        sprag_four y[AT_ONCE];
        for (int i = 0; i < count; i++, S += next) {
            find_invariants((const sprag_four *)S, &of[i]);
        }
        for (int i = 0; i < count; i++) {
            find_cosine_of_third(&y[i], &of[i].q);
        }
        S = first;
        for (int i = 0; i < count; i++, S += next) {
            take_part((sprag_four *)S, &of[i], &y[i]);
        }
    }
}

void sprag_positive_parts(int fours, size_t next, double *matrix)
{
    take_positive_parts(fours, next, matrix);
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
