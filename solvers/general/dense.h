// The space of generalized coordinates: any mass matrix and any jacobians, as dense matrices,
// factorised by LAPACK.
#ifndef SPRAG_DENSE_H
#define SPRAG_DENSE_H

#include "system.h"

typedef struct sprag_dense {
    const double *mass;     // size x size
    const double *jacobian; // 3 points x size: normal, tangent, tangent of every point
    double *matrix;         // size x size, by columns
    double *weighed;        // 3 points x size: G J
    int *pivot;             // size
    int lead;               // LAPACK's distance of columns: size, but not 0
} sprag_dense;

// Sets *dense as the space of a system with known size and number of points (3 components each, no
// equations). SPRAG_NO_MEMORY.
sprag_result sprag_dense_take(sprag_dense *dense, sprag_system *system, const double *mass,
                              const double *jacobian, sprag_scratch *scratch);

// x = M^-1 x. SPRAG_SINGULAR if the mass is not positive definite.
sprag_result sprag_dense_divide_by_mass(sprag_system *system, double *x);

#endif
