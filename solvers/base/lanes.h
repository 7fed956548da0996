// Four numbers at once, of four contacts, bodies or cones. Only kernels include it.
#ifndef SPRAG_LANES_H
#define SPRAG_LANES_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "vectors.h"

enum { LANES = 4 };
typedef double lanes __attribute__((vector_size(32), aligned(32)));
typedef int64_t lane_mask __attribute__((vector_size(32), aligned(32)));

#define INLINE static inline __attribute__((always_inline))
#define SELECT(mask, a, b) ((lanes)(((lane_mask)(a) & (mask)) | ((lane_mask)(b) & ~(mask))))
#define LARGER(a, b) SELECT((a) > (b), a, b)
#define SMALLER(a, b) SELECT((a) < (b), a, b)
#define ABS(a) ((lanes)((lane_mask)(a) & (INT64_MAX)))
// A divisor: 1 in lanes whose quotient nobody reads, for programs that trap invalid operations.
#define DIVISOR(mask, a) SELECT(mask, a, ones)

#if defined(__clang__) || __GNUC__ >= 12
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (lane_mask){__VA_ARGS__})
#endif

static const lanes ones = {1, 1, 1, 1}, zeros = {0};

INLINE void transpose(lanes r[LANES])
{
    const lanes a = SHUFFLE(r[0], r[1], 0, 4, 2, 6), b = SHUFFLE(r[0], r[1], 1, 5, 3, 7),
                c = SHUFFLE(r[2], r[3], 0, 4, 2, 6), d = SHUFFLE(r[2], r[3], 1, 5, 3, 7);
    r[0] = SHUFFLE(a, c, 0, 1, 4, 5), r[1] = SHUFFLE(b, d, 0, 1, 4, 5);
    r[2] = SHUFFLE(a, c, 2, 3, 6, 7), r[3] = SHUFFLE(b, d, 2, 3, 6, 7);
}

// Four numbers, one after the other in each of four structs: number by number. first: bytes.
INLINE void load_four(const void *const from[LANES], size_t first, lanes r[LANES])
{
    memcpy(&r[0], (const char *)from[0] + first, sizeof r[0]);
    memcpy(&r[1], (const char *)from[1] + first, sizeof r[1]);
    memcpy(&r[2], (const char *)from[2] + first, sizeof r[2]);
    memcpy(&r[3], (const char *)from[3] + first, sizeof r[3]);
    transpose(r);
}

// Stores four numbers in each struct, as load_four reads them.
INLINE void store_four(void *const to[LANES], size_t first, const lanes from[LANES])
{
    lanes r[LANES] = {from[0], from[1], from[2], from[3]};
    transpose(r);
    for (int l = 0; l < LANES; l++) {
        memcpy((char *)to[l] + first, &r[l], sizeof r[l]);
    }
}

INLINE void root_of(lanes *x)
{
    for (int l = 0; l < LANES; l++) {
        (*x)[l] = sqrt((*x)[l]);
    }
}

INLINE bool any(const lane_mask *mask)
{
    return ((*mask)[0] | (*mask)[1] | (*mask)[2] | (*mask)[3]) != 0;
}

INLINE double sum_of(const lanes *x)
{
    return ((*x)[0] + (*x)[1]) + ((*x)[2] + (*x)[3]);
}

INLINE void dot_of(const lanes x[3], const lanes y[3], lanes *sum)
{
    *sum = x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
}

INLINE void cross(const lanes a[3], const lanes b[3], lanes c[3])
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

#endif
