// Comparison in place. At every K-th step of a world the process forks: each child takes this step,
// from this state, by another method, and reports the error that it leaves and the time that it
// takes. The program itself goes on as it would without: its run has the same bits.
#ifndef SPRAG_COMPARE_H
#define SPRAG_COMPARE_H

#include "world.h"

// Takes a step of a world by the method of its settings. Returns 1 or 0, as dWorldStep does.
typedef int compare_take(world_state *w, dReal step, stock called);

// Before a step that the program takes: compares, if a plan (plan.h) asks for it. false, once: the
// program has made the steps that the plan asks for, and is to be ended.
bool compare_state(world_state *w, dReal step, stock called, compare_take *take);

// A step that the program takes, measured if the plan asks for whole runs.
int compare_whole(world_state *w, dReal step, stock called, compare_take *take);

#endif
