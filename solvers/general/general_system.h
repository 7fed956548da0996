// Converts a problem in generalized coordinates to a system (system.h), in the space of its chart.
#ifndef SPRAG_GENERAL_SYSTEM_H
#define SPRAG_GENERAL_SYSTEM_H

#include "chart.h"

// problem: already checked. guess: nv velocities. SPRAG_SINGULAR: the mass is not positive
// definite. SPRAG_NO_MEMORY.
sprag_result sprag_general_prepare(const sprag_general_problem *problem,
                                   const sprag_general_options *options, const sprag_chart *chart,
                                   const double *guess, sprag_system *system,
                                   sprag_scratch *scratch);

#endif
