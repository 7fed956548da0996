// Scenes of loads.c that are no models.
#ifndef LOADS_SCENES_H
#define LOADS_SCENES_H

#include "models.h"

const sprag_model *loads_scene_find(const char *name); // NULL: there is none

// Free flight of bodies of four inertias at 10 and 100 rad/s for 100 s at 10 ms: energy and angular
// momentum.
void loads_judge_flight(void);

#endif
