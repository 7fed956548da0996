// Forces of fluids, which Webots' fork of ODE adds at the start of a step, for methods that work
// within the step.
#ifndef SPRAG_FLUIDS_H
#define SPRAG_FLUIDS_H

#include "island.h"
#include "sets.h"

typedef struct ode_fluid_body {
    dBodyID id;
    double force[6]; // N, N m, of the fluids in this step
    // set behind the step:
    double flown;       // s, in which the force moved the body along a parabola
    double velocity[6]; // m/s, rad/s
} ode_fluid_body;

typedef struct ode_fluids { // of a world; all zero at first
    ode_set now, last; // an ode_fluid_body by its id: of the step under way, of the one before;
                       // none if that had no fluids
} ode_fluids;

// sprag_ode_begin_step, in a world whose last steps went through here too. Where memory lacks, the
// forces act as they are.
void sprag_ode_fluids_begin_step(ode_fluids *fluids, dWorldID world, bool quick);

#endif
