// The tables of bodies, contacts, joints and events of a step.
#ifndef SPRAG_CAPTURE_H
#define SPRAG_CAPTURE_H

#include "frame_buffer.h"
#include "identities.h"
#include "recorded_shapes.h"
#include "world.h"

// A body of the world of the step. identity NULL: no memory.
typedef struct seen_body {
    dBodyID body;
    identity *identity;
} seen_body;

// Numbers of bodies, joints and geoms, of all worlds of the process.
typedef struct capture {
    identities bodies, joints;
    shapes shapes;
    seen_body *body; // of the world of the step, from the newest to the oldest
    int count, room;
    dJointID *joint; // that are no contacts, likewise
    int joints_count, joints_room;
    double falling; // m/s, that gravity gives in the step
    bool failed;    // no memory
} capture;

// Of one step of a world: where its bodies are at the start, from the newest to the oldest; and the
// forces of its joints. Each joint that has no dJointFeedback gets one of these for the step.
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
bool capture_start(step_start *start, dWorldID world);
bool capture_lend_feedback(step_start *start, dWorldID world);

// After the step. Takes the feedback back.
void capture_write(capture *c, const world_state *w, int64_t step, const step_start *start,
                   frame_buffer *to);

// Takes the feedback back without reading it.
void capture_return_feedback(const step_start *start, dWorldID world);

void capture_clear(capture *c); // describes all objects again

#endif
