// Three numbers in a vector register, with a fourth one that nobody reads. Those that are read from
// memory have a number behind them, which is finite: programs may trap invalid operations. Only
// kernels include it.
#ifndef SPRAG_VECTORS3_H
#define SPRAG_VECTORS3_H

#include "lanes.h"
#include "vectors6.h"

typedef sprag_four vector3;

#define VECTOR3(x) (*(vector3 *)(x))
#define CONST_VECTOR3(x) (*(const vector3 *)(x))
#define NEXT3(a) SHUFFLE(a, a, 1, 2, 0, 3)

// The last three of six numbers, with anything behind them. (GCC makes vectors of single numbers in
// memory: their store is not done when they are loaded.)
INLINE void load_last3(vector3 *to, const double six[6])
{
    const vector3 four = CONST_VECTOR3(six + 2);
    *to = SHUFFLE(four, four, 1, 2, 3, 0);
}

INLINE void store3(double *to, const vector3 *x)
{
    *(sprag_two *)to = (sprag_two){(*x)[0], (*x)[1]};
    to[2] = (*x)[2];
}

// c = a x b; it may be one of them
INLINE void cross_vectors3(vector3 *c, const vector3 *a, const vector3 *b)
{
    const vector3 ab = *a * NEXT3(*b) - NEXT3(*a) * *b;
    *c = NEXT3(ab);
}

INLINE double sum3(const vector3 *a)
{
    return (*a)[0] + (*a)[1] + (*a)[2];
}

#endif
