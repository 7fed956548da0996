// Comparison in place. At every K-th step of a world the process forks: each child takes this step,
// from this state, by another method, and reports the error that it leaves and the time that it
// takes. The program itself goes on as it would without: its run has the same bits.
#ifndef SPRAG_COMPARE_H
#define SPRAG_COMPARE_H

#include "sample.h"
#include "world.h"

// Takes a step of a world by the method of its settings. Returns 1 or 0, as dWorldStep does.
typedef int compare_take(world_state *w, dReal step, stock called);

// Before a step that the program takes: compares, if a plan (plan.h) asks for it. false, once: the
// program has made the steps that the plan asks for, and is to be ended.
bool compare_state(world_state *w, dReal step, stock called, compare_take *take);

// A step that the program takes, measured if the plan asks for whole runs, or the caller for the
// residual. The program's run has the same bits.
typedef struct compared_step {
    struct yardstick *yardstick; // NULL: nothing is measured
    bool is_sample;              // of the plan
    sample_state state;          // before the step
    long fallbacks;              // likewise
    double start, us;            // thread CPU time, us
} compared_step;

compared_step compare_whole_begin(world_state *w, dReal step, bool residual);
void compare_whole_start(compared_step *c);            // right before the step, and
void compare_whole_taken(compared_step *c);            // right after it: its time
double compare_whole_residual(const compared_step *c); // NAN: not known, as of a world's first step
void compare_whole_end(compared_step *c, world_state *w, bool taken);

#endif
