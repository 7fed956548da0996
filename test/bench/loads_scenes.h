// Parts of loads.c.
#ifndef LOADS_SCENES_H
#define LOADS_SCENES_H

#include "bench.h"

// Scenes that are no models; NULL: there is none.
const sprag_model *loads_scene_find(const char *name);

// Free flight of bodies of four inertias at 10 and 100 rad/s for 100 s at 10 ms: energy and angular
// momentum.
void loads_judge_flight(void);

void loads_judge_speed(line_fn *line); // loads_speed.c

#endif
