// Which space a problem in generalized coordinates is solved in: bodies with sparse matrices where
// it falls into such, dense matrices otherwise.
#ifndef SPRAG_CHART_H
#define SPRAG_CHART_H

#include "general.h"
#include "system.h"

// The velocities as nodes of up to six, where the mass matrix and the contacts allow it.
typedef struct sprag_chart {
    int *place;     // velocity -> place in the system
    int nodes;      // 0: dense, and places are the velocities' own
    bool in_order;  // so they are in nodes
    int (*node)[2]; // contact -> nodes that it touches
} sprag_chart;

// false: no memory.
bool sprag_chart_choose(const sprag_general_problem *problem, sprag_chart *chart,
                        sprag_scratch *scratch);

// Makes it the space of a system whose count of points is known.
sprag_result sprag_chart_take(const sprag_general_problem *problem, const sprag_chart *chart,
                              sprag_system *system, sprag_scratch *scratch);

// free = M^-1 p*. SPRAG_SINGULAR if the mass is not positive definite.
sprag_result sprag_chart_free_velocity(const sprag_general_problem *problem,
                                       const sprag_chart *chart, sprag_system *system);

// Row of a contact: 0 normal, 1 and 2 tangents.
static inline const double *sprag_jacobian_row(const sprag_general_problem *problem, int contact,
                                               int k)
{
    size_t nv = (size_t)problem->velocities, c = (size_t)contact;
    return k == 0 ? problem->normal_jacobian + c * nv
                  : problem->tangent_jacobian + (2 * c + (size_t)k - 1) * nv;
}

#endif
