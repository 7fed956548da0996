// The tables of bodies, contacts, joints and events of a step.
#ifndef SPRAG_CAPTURE_H
#define SPRAG_CAPTURE_H

#include "frame_buffer.h"
#include "identities.h"
#include "recorded_contacts.h"
#include "world.h"

// A body of the world of the step.
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
    joint_list joint_list; // that are no contacts
    bool failed;           // no memory
} capture;

// After the step. Takes the feedback back.
void capture_write(capture *c, const world_state *w, int64_t step, const step_start *start,
                   frame_buffer *to);

void capture_clear(capture *c); // describes all objects again

#endif
