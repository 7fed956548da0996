// Forces of fluids, which Webots' fork of ODE adds at the start of a step, for methods that work
// within the step.
#ifndef SPRAG_FLUIDS_H
#define SPRAG_FLUIDS_H

#include "island.h"

typedef struct ode_fluid_body {
    dBodyID id;
    double force[6];    // N, N m, of the fluids in this step
    double flown;       // s of the step, in which the force moved the body along a parabola
    double velocity[6]; // m/s, rad/s, that the step has left
} ode_fluid_body;

typedef struct ode_fluids {  // of a world; all zero at first
    ode_fluid_body *body[2]; // of the step under way; of the last one, and room for the next
    int bodies, room[2];     // no bodies: nothing is known of the last step, as it had no fluids
} ode_fluids;

void sprag_ode_fluids_free(ode_fluids *fluids);

// sprag_ode_begin_step, in a world whose last steps went through here too. Where memory lacks, the
// forces act as they are.
void sprag_ode_fluids_begin_step(ode_fluids *fluids, dWorldID world, bool quick);

// flown: s, of the body.
void sprag_ode_fluids_end_body(ode_fluid_body *body, double flown);

#endif
