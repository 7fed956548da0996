// Creep of bodies at rest along a whole run, which no single step shows.
#ifndef SPRAG_CREEP_H
#define SPRAG_CREEP_H

#include "sample.h"
#include "world.h"

// Notes where the bodies of the world are after a step. Sets, of the last tenth of the run so far,
// the share of the bodies that rest and the mean speed of their way from its start to its end. A
// body rests if this speed is below the one that gravity gives in a step. Kinematic bodies do not
// count. NAN: not known, as at the first sample of a run; or no body rests.
void creep_measure(world_state *w, double value[SAMPLE_VALUES]);

#endif
