// Memory of the objects that the checks at start-up make in ODE. ODE follows the pointers that its
// allocations return, so these must not fail: static memory serves those that the system does not.
#ifndef SPRAG_TRIAL_MEMORY_H
#define SPRAG_TRIAL_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include <ode/ode.h>

// Within sprag_ode_once. Between the two calls ODE's allocations in this thread do not fail.
void sprag_ode_begin_trial(void);
void sprag_ode_end_trial(void);

// Does ODE allocate by a function of the program?
bool sprag_ode_program_allocates(void);

// Memory functions for a world, of static memory alone.
void *sprag_ode_trial_take(dsizeint size);
void *sprag_ode_trial_retake(void *old, dsizeint old_size, dsizeint size);
void sprag_ode_trial_give(void *block, dsizeint size);

// Have these bytes been taken from it?
bool sprag_ode_in_trial(const void *pointer, size_t size);

#endif
