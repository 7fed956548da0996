// Shared by the files of the yardstick.
#ifndef SPRAG_YARDSTICK_PARTS_H
#define SPRAG_YARDSTICK_PARTS_H

#include "linalg.h"
#include "yardstick.h"

struct yardstick {
    dWorldID world;
    dReal step;     // s
    ode_island all; // every body of the world; every joint that acts
    dBodyID *body;
    dJointID *joint;
    bool is_program;
    dJointID *sorted;         // the joints, by address
    dJointFeedback *feedback; // of each joint
    dJointFeedback **own;     // the program's, of each joint
    bool has_ended;           // these are the joints' again
    sprag_scratch scratch;
    ode_index index; // of the bodies
    ode_problem pulled;
    double energy;         // J, before the step
    bool is_closed;        // nothing but gravity and contacts does work
    double (*velocity)[6]; // m/s, rad/s, of each body after the step
    bool is_read;          // they are set
};

// yardstick_contacts.c: approach, slip and cone; depth.
void yardstick_contacts(const yardstick *y, double value[SAMPLE_VALUES]);
void yardstick_depth(yardstick *y, double value[SAMPLE_VALUES]);

// yardstick_joints.c: errors of equality rows at the poses that are.
void yardstick_joints(const yardstick *y, double value[SAMPLE_VALUES]);

// After the step: reads the velocities. false: the step has made or destroyed joints, or destroyed
// bodies, so that forces are not all known, or nothing is.
bool yardstick_read(yardstick *y);

// Forces of a joint in the step. Those of a joint that no enabled body has are of an earlier one.
const dJointFeedback *yardstick_forces(dJointID joint);

// Whether a step has moved this body, or could have.
static inline bool yardstick_is_moved(const yardstick *y, int body)
{
    return body != SPRAG_STATIC && dBodyIsEnabled(y->body[body]);
}

// Whether damping has changed a velocity in the step.
static inline bool yardstick_is_damped(const yardstick *y, int body)
{
    dBodyID b = y->body[body];
    return (dBodyGetLinearDamping(b) > 0 &&
            dBodyGetLinearDampingThreshold(b) < norm3(y->velocity[body])) ||
           (dBodyGetAngularDamping(b) > 0 &&
            dBodyGetAngularDampingThreshold(b) < norm3(y->velocity[body] + 3));
}

#endif
