// The system of a problem, as sprag_stribeck_solve makes it from the options.
#ifndef SPRAG_STRIBECK_SYSTEM_H
#define SPRAG_STRIBECK_SYSTEM_H

#include "stribeck.h"
#include "system.h"

// *stiction: m/s, that the last evaluation of a solve has. SPRAG_OK, SPRAG_NO_MEMORY.
sprag_result sprag_stribeck_system(const sprag_problem *problem,
                                   const sprag_stribeck_options *options, sprag_scratch *scratch,
                                   sprag_system *system, int **node_of, double *stiction);

#endif
