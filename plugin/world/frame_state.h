// Memory of method=advance and method=ess from step to step of a world.
#ifndef SPRAG_FRAME_STATE_H
#define SPRAG_FRAME_STATE_H

#include "frame_step.h"
#include "record.h"
#include "sprag.h"

typedef struct frame_state {
    // Memory, kept
    ode_geometry *geometry;
    sprag_scratch scratch[4]; // of the step, of a group, of its sub-steps, of their solves
    int *stock_rows;          // per island of the step under way: rows that ODE would solve
    size_t stock_rows_room;
    ode_fluids fluids;

    // Results of the last step, read by reach.c and sprag_world_events
    ode_set distant;         // pairs across whose gap of more than epsilon a force acts
    double farthest_distant; // m, the largest of these gaps
    double look_ahead;       // m, the gap up to which pairs count as touching before the next step
    long steps;              // taken so far
    sprag_world_event *event;
    int events, event_room;

    // For the step under way
    sprag_compliant_options compliant; // set before the step from the world's settings
} frame_state;

frame_state *frame_state_make(void); // NULL: no memory
void frame_state_free(frame_state *state);

#endif
