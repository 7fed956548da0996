// A problem in generalized coordinates as the system that is iterated on (system.h), in the space
// that its chart has chosen.
#ifndef SPRAG_GENERAL_SYSTEM_H
#define SPRAG_GENERAL_SYSTEM_H

#include "chart.h"

// A checked problem; guess: nv velocities. SPRAG_SINGULAR: the mass is not positive definite.
sprag_result sprag_general_prepare(const sprag_general_problem *problem,
                                   const sprag_general_options *options, const sprag_chart *chart,
                                   const double *guess, sprag_system *system,
                                   sprag_scratch *scratch);

#endif
