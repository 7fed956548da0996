// One yardstick for all methods: the error that a step leaves, from poses and velocities before and
// after it and from ODE's joint feedback, by the same code whoever took the step.
//
// Contacts and joints are those that the program had made before the step. Velocities of a contact
// are those of its point after the step, with the arms of before: the steppers solve for them.
// Depths are those that ODE's dCollide finds after the step for the pairs of geoms in contact.
// A contact is loaded if its normal force is above a thousandth of the mean one, and sticks if it
// is loaded and its friction below nine tenths of the cone: what it then slips is an error.
#ifndef SPRAG_YARDSTICK_H
#define SPRAG_YARDSTICK_H

#include "island.h"
#include "sample.h"

typedef struct yardstick yardstick;

// Before a step. watches_forces: gives every joint a feedback of its own until the end, with which
// stock computes other bits; false: what needs forces is not known. NULL: no memory, or an ODE
// whose list of bodies is not known.
yardstick *yardstick_begin(dWorldID world, dReal step, bool watches_forces);

// The bodies, contacts and rows of joints before the step.
void yardstick_count(const yardstick *y, sample_state *state);

// After the step: sets the values that poses, velocities and forces tell, the others to NAN, and
// gives the joints their feedback back. Leaves accumulators of bodies undefined.
void yardstick_end(yardstick *y, double value[SAMPLE_VALUES]);
void yardstick_free(yardstick *y);

// Disables contacts that have been made since yardstick_begin: those that a method has asked the
// program for within its step.
void yardstick_disable_new_joints(const yardstick *y);

// The bodies of the world, y's.
dBodyID const *yardstick_bodies(const yardstick *y, int *count);

#endif
