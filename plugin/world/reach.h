// The distance at which sprag reports geoms as touching when the program collides them.
#ifndef SPRAG_REACH_H
#define SPRAG_REACH_H

#include "world.h"

// For two geoms, m. It is advance.epsilon, or more where a force acts across a larger gap, or under
// advance.callbacks=before.
double reach_of_pair(const world_state *w, dGeomID a, dGeomID b);
double reach_largest(const world_state *w); // of all pairs, m

// The reach of pairs for advance.callbacks=before in the next step, m; fastest: m/s. 0: callbacks
// are called within the step.
double reach_look_ahead(const world_state *w, double fastest);

#endif
