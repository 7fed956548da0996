// The state of bodies before a step, so that a child can take the step again.
#ifndef SPRAG_SNAPSHOT_H
#define SPRAG_SNAPSHOT_H

#include <stdbool.h>

#include <ode/ode.h>

typedef struct snapshot snapshot;

snapshot *snapshot_take(dBodyID const *body, int bodies); // NULL: no memory

// Poses, velocities and accumulators bit by bit, enabled or not, and ODE's random numbers. What ODE
// hides stays: the time that a body has been idle.
void snapshot_restore(const snapshot *s);
void snapshot_free(snapshot *s);

#endif
