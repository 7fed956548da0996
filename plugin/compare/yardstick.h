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

// Before a step. Gives joints a feedback until the end, with which stock computes the same bits.
// is_program: the process goes on behind the step as without it. Joints keep a feedback that the
// program has given them; the momentum is then not known. Otherwise accumulators of bodies are left
// undefined. ODE must have found the islands of the world before. NULL: no memory, or an ODE whose
// list of bodies is not known.
yardstick *yardstick_begin(dWorldID world, dReal step, bool is_program);

// The bodies, contacts and rows of joints before the step.
void yardstick_count(const yardstick *y, sample_state *state);

// After the step: sets the values that poses, velocities and forces tell, the others to NAN.
void yardstick_measure(yardstick *y, double value[SAMPLE_VALUES]);

// The residual alone, for a fraction of the time. NAN: not known.
double yardstick_residual(yardstick *y);

void yardstick_end(yardstick *y);  // gives the joints their feedback back
void yardstick_free(yardstick *y); // and ends it

// Disables contacts that have been made since yardstick_begin: those that a method has asked the
// program for within its step.
void yardstick_disable_new_joints(const yardstick *y);

// The bodies of the world, y's.
dBodyID const *yardstick_bodies(const yardstick *y, int *count);

#endif
