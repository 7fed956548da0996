// Four contacts, or four bodies, at once: operations on vectors of four lanes. Only kernels
// include it.
#ifndef SPRAG_LANES_H
#define SPRAG_LANES_H

#include <math.h>

#include "batches.h"
#include "vectors.h"

#define INLINE static inline __attribute__((always_inline))
#define SELECT(mask, a, b) ((batch_real)(((batch_mask)(a) & (mask)) | ((batch_mask)(b) & ~(mask))))
#define LARGER(a, b) SELECT((a) > (b), a, b)
// A divisor: 1 in lanes whose quotient nobody reads, for programs that trap invalid operations.
#define DIVISOR(mask, a) SELECT(mask, a, ones)

#if defined(__clang__) || __GNUC__ >= 12
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (batch_mask){__VA_ARGS__})
#endif

enum { LANES = BATCH_LANES, NUMBERS = BATCH_NUMBERS };

static const batch_real ones = {1, 1, 1, 1}, zeros = {0};

// ---- vectors of four

INLINE void transpose(batch_real r[LANES])
{
    batch_real t[LANES];
    for (int i = 0; i < LANES; i += 2) {
        t[i] = SHUFFLE(r[i], r[i + 1], 0, 4, 2, 6);
        t[i + 1] = SHUFFLE(r[i], r[i + 1], 1, 5, 3, 7);
    }
    for (int k = 0; k < 2; k++) {
        r[k] = SHUFFLE(t[k], t[k + 2], 0, 1, 4, 5);
        r[k + 2] = SHUFFLE(t[k], t[k + 2], 2, 3, 6, 7);
    }
}

// Velocities of four nodes, component by component.
INLINE void load(const batch_velocity *v, const int32_t node[LANES], batch_real r[NUMBERS])
{
    for (int l = 0; l < LANES; l++) {
        const batch_real *from = (const batch_real *)v[node[l]];
        r[l] = from[0];
        r[LANES + l] = from[1];
    }
    transpose(r);
    transpose(r + LANES);
}

INLINE void store(batch_velocity *v, const int32_t node[LANES], batch_real r[NUMBERS])
{
    transpose(r);
    transpose(r + LANES);
    for (int l = 0; l < LANES; l++) {
        batch_real *to = (batch_real *)v[node[l]];
        to[0] = r[l];
        to[1] = r[LANES + l];
    }
}

INLINE void cross(const batch_real a[3], const batch_real b[3], batch_real c[3])
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

// y = I x
INLINE void turn(const batch_real I[6], const batch_real x[3], batch_real y[3])
{
    y[0] = I[0] * x[0] + I[3] * x[1] + I[4] * x[2];
    y[1] = I[3] * x[0] + I[1] * x[1] + I[5] * x[2];
    y[2] = I[4] * x[0] + I[5] * x[1] + I[2] * x[2];
}

INLINE void root(batch_real *x)
{
    for (int l = 0; l < LANES; l++) {
        (*x)[l] = sqrt((*x)[l]);
    }
}

INLINE bool any(const batch_mask *mask)
{
    int64_t all = 0;
    for (int l = 0; l < LANES; l++) {
        all |= (*mask)[l];
    }
    return all != 0;
}

// Relative velocities in the frames of the contacts, with the offsets; a, b: of the nodes.
INLINE void slip_of(const batch *c, const batch_real a[NUMBERS], const batch_real b[NUMBERS],
                    batch_real slip[3])
{
    batch_real by_a[3], by_b[3], u[3];
    cross(a + 4, c->arm[0], by_a);
    cross(b + 4, c->arm[1], by_b);
    for (int k = 0; k < 3; k++) {
        u[k] = (a[k] + by_a[k]) - (b[k] + by_b[k]);
    }
    for (int k = 0; k < 3; k++) {
        const batch_real *f = c->frame[k];
        slip[k] = c->offset[k] + (f[0] * u[0] + f[1] * u[1] + f[2] * u[2]);
    }
}

#endif
