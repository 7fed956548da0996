// Chooses the space of a problem in generalized coordinates: bodies with sparse matrices if mass
// matrix and contacts allow it, dense matrices otherwise.
#ifndef SPRAG_CHART_H
#define SPRAG_CHART_H

#include "general.h"
#include "system.h"

// Assignment of the velocities to nodes of up to six. sprag_chart_choose sets all fields.
typedef struct sprag_chart {
    int *place;     // velocity -> place in the system
    int nodes;      // 0: dense, places are the indices of the velocities
    int (*node)[2]; // contact -> nodes that it acts on
} sprag_chart;

// Sets *chart. Returns false without memory.
bool sprag_chart_choose(const sprag_general_problem *problem, sprag_chart *chart,
                        sprag_scratch *scratch);

// Sets the chosen space as that of a system with a known number of points. SPRAG_NO_MEMORY.
sprag_result sprag_chart_take(const sprag_general_problem *problem, const sprag_chart *chart,
                              sprag_system *system, sprag_scratch *scratch);

// free = M^-1 p*. SPRAG_SINGULAR if the mass is not positive definite.
sprag_result sprag_chart_free_velocity(const sprag_general_problem *problem,
                                       const sprag_chart *chart, sprag_system *system);

// Row k of the jacobian of a contact, nv entries: 0 normal, 1 and 2 tangents.
static inline const double *sprag_jacobian_row(const sprag_general_problem *problem, int contact,
                                               int k)
{
    size_t nv = (size_t)problem->velocities, c = (size_t)contact;
    return k == 0 ? problem->normal_jacobian + c * nv
                  : problem->tangent_jacobian + (2 * c + (size_t)k - 1) * nv;
}

#endif
