// Contact joints as entries of the table CONT.
#ifndef SPRAG_RECORDED_CONTACTS_H
#define SPRAG_RECORDED_CONTACTS_H

#include "frame_buffer.h"
#include "identities.h"
#include "recorded_shapes.h"
#include "step_start.h"

typedef struct joint_list {
    dJointID *joint;
    int count, room;
} joint_list;

typedef struct contacts_of {
    dWorldID world;
    const step_start *start;  // with the feedback of the step, which is taken back
    const identities *bodies; // whose first six values are m/s, rad/s: how the body moves at the
                              // end of the step about its place at the start, at the origin
    const shapes *shapes;
    double falling; // m/s, the speed that gravity gives in the step
    bool ours;      // sprag's method, which bounds friction by a cone
} contacts_of;

// others: becomes the joints that are no contacts; their list is long, and walked once. Their
// feedback is left. false: no memory for them.
bool contacts_write(const contacts_of *of, joint_list *others, frame_buffer *to);

#endif
