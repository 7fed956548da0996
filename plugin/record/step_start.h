// The start of a step of a world: where its bodies are, from the newest to the oldest; and the
// forces of its joints. Each joint that has no dJointFeedback gets one of these for the step.
#ifndef SPRAG_STEP_START_H
#define SPRAG_STEP_START_H

#include "layout.h"
#include "ode.h"

typedef struct body_start {
    dBodyID body;
    double position[3];
} body_start;

typedef struct step_start {
    body_start *body;
    int bodies, bodies_room;
    dJointFeedback *force;
    int forces, forces_room;
} step_start;

// Before the step. false: no memory; what there is is set.
bool step_start_set(step_start *start, dWorldID world);
bool step_start_lend(step_start *start, dWorldID world);

// The place of a body at the start; of a new one, its place now. Bodies are asked for in the order
// of the lists, of which the program may have changed either end and any part. *next: 0 before the
// first one.
const double *step_start_place(const step_start *start, dBodyID body, int *next);

// Takes the feedback of a joint back and returns the one to be read. NULL: the joint was not there
// before the step, or the program's own may be of an earlier step because no body is enabled.
static inline const dJointFeedback *
step_start_take(const step_start *start, dJointFeedback **feedback, const dBodyID body[2])
{
    const dJointFeedback *found = *feedback;
    if (found >= start->force && found < start->force + start->forces) {
        *feedback = NULL;
        return found;
    }
    bool known =
        found && ((body[0] && dBodyIsEnabled(body[0])) || (body[1] && dBodyIsEnabled(body[1])));
    return known ? found : NULL;
}

// Takes all feedback back without reading it.
void step_start_return(const step_start *start, dWorldID world);

#endif
