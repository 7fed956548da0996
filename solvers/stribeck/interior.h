// The contact equations by an interior-point method. It needs 7 to 28 updates from any start, where
// Newton's method on the laws themselves may need any number: a law that is stiff at its kink tells
// nothing of what lies beyond. An update costs one factorisation and two solves.
#ifndef SPRAG_INTERIOR_H
#define SPRAG_INTERIOR_H

#include "system.h"

typedef struct sprag_interior_limits {
    double tolerance;
    int updates; // at most
    double warm; // share of the start's distance from the bounds where impulses are known
} sprag_interior_limits;

// Solves Coulomb's law with sticking that yields by `stiction` (m/s) at its bound, and the bounds
// of rows. Sets v (size, m/s, rad/s) and the impulses of the system, which keep all bounds.
// scale: m/s, what the step changes. dv: size, scratch. The history and the counts are those of
// stats.
// SPRAG_OK: the largest of the complementarity gaps has come to the tolerance times what `scale`
// stands for; SPRAG_NOT_CONVERGED: v and the impulses are the last; SPRAG_SINGULAR,
// SPRAG_NO_MEMORY: v is undefined.
sprag_result sprag_interior_solve(sprag_system *system, double scale, double stiction,
                                  const sprag_interior_limits *limits, double *v, double *dv,
                                  sprag_stats *stats);

#endif
