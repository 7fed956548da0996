// The begin and the end of every step that goes through sprag.
#ifndef SPRAG_STEP_GUARD_H
#define SPRAG_STEP_GUARD_H

#include <stdbool.h>

#include <ode/ode.h>

#include "world.h"

typedef struct step_guard {
    const void *outer_frame; // of the step within which this one is called; NULL: none
    bool within_step;        // of that step
    int traps;               // of the program, off during the step
} step_guard;

// frame: stack frame of the function of sprag that the program has called
// (__builtin_frame_address(0)). false: a collision callback that a step has called asks for another
// step, which must not be taken.
bool step_guard_begin(step_guard *guard, const void *frame);

// Whether a call with the stack frame `frame` is made from within a step of the world by a method
// of sprag, by one of the program's callbacks.
bool step_guard_is_within(const world_state *world, const void *frame);

// Carries out destructions that have waited, and empties the record of collision calls. world: NULL
// for none.
void step_guard_end(const step_guard *guard, dWorldID world);

#endif
