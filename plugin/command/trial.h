// Runs of a model under several methods, step by step.
#ifndef SPRAG_TRIAL_H
#define SPRAG_TRIAL_H

#include <stdbool.h>

#include "models.h"
#include "request.h"
#include "sprag.h"

// One model of a request.
typedef struct job {
    const sprag_model *model;
    double step; // s
    long steps;
    const char *options;
} job;

typedef struct trial {
    const choice *choice;
    const method *method; // of the choice
    sprag_scene scene;
    dThreadingImplementationID threading;
    unsigned long seed; // of ODE's random numbers
    double *us;         // microseconds of every n-th step
    long samples;       // entries of us
    double median_us, p99_us;
    long lcp_errors;         // messages of ODE's own solver
    long iterations;         // of sprag, all steps
    sprag_strategy strategy; // of sprag, the largest
    long fallbacks, frozen;  // of sprag
    int measures;
    sprag_measure measure[SPRAG_MEASURES_MAX];
    bool failed;       // ODE would have ended the program
    char failure[160]; // ODE's error message
} trial;

// Whether the state stayed finite and ODE did not end the program.
bool trial_finished(const trial *t);

// Steps a scene under the method of each trial. Returns false, after printing why, if the scenes
// cannot be made. Call trials_free in either case.
bool trials_run(trial *trials, int count, const job *j);
void trials_free(trial *trials, int count);

#endif
