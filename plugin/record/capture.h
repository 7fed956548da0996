// The tables of bodies, contacts, joints and events of a step.
#ifndef SPRAG_CAPTURE_H
#define SPRAG_CAPTURE_H

#include "frame_buffer.h"
#include "identities.h"
#include "recorded_shapes.h"
#include "world.h"

// Numbers of bodies, joints and geoms, of all worlds of the process.
typedef struct capture {
    identities bodies, joints;
    shapes shapes;
    dBodyID *body; // of the world of the step, from the newest to the oldest
    int count, room;
    double falling; // m/s, that gravity gives in the step
    bool failed;    // no memory
} capture;

// The forces of joints during a step of one world: each joint that has no dJointFeedback gets one
// of these for the step.
typedef struct force_pool {
    dJointFeedback *force;
    int count, room;
    struct force_pool *next; // of those that no step uses
} force_pool;

// Before the step: finds the bodies and remembers where they are. The pool lends its feedback.
void capture_begin(capture *c, const world_state *w, int64_t step);
bool capture_lend_feedback(force_pool *pool, dWorldID world);

// After the step. Takes the feedback back.
void capture_write(capture *c, const world_state *w, int64_t step, const force_pool *pool,
                   frame_buffer *to);

// Takes the feedback back without reading it.
void capture_return_feedback(const force_pool *pool, dWorldID world);

void capture_clear(capture *c); // describes all objects again

#endif
