// `sprag compare -- PROGRAM`: the samples of one run of a program, state by state and method by
// method.
#ifndef SPRAG_IN_PLACE_H
#define SPRAG_IN_PLACE_H

#include "plan.h"
#include "request.h"
#include "sample.h"

typedef struct comparison {
    char **command;      // the program and its arguments
    const char *options; // of -o, "" for none
    const char *under;   // the method that steps the program itself
    int every;           // steps from one compared state to the next
    bool whole;          // a run under each method; else one run, and steps from its states
    choice method[PLAN_CHOICES_MAX];
    int methods;
    sample_state *state;
    sample *sample; // of state i by method k: [i * methods + k]
    long states, room;
    int exit_code;  // of the program
    double seconds; // of the clock, that the program ran
} comparison;

const sample *comparison_sample(const comparison *c, long state, int method);

// Adds the rows of a file from a place on. method: of all rows; -1: the rows tell. Returns the
// place behind the last whole row.
long comparison_read(comparison *c, const char *file, long from, int method);

// Keeps the methods of that numbers, in that order.
void comparison_keep(comparison *c, const int *method, int count);
void comparison_free(comparison *c);

// The value of all states: the worst, the mean, the sum or the median (sample_kinds). NAN: it is
// known of no state.
double comparison_figure(const comparison *c, int method, sample_value value);
double comparison_quantile(const comparison *c, int method, sample_value value, double share);

// Mean of the states from a share of them on, up to another one.
double comparison_mean(const comparison *c, int method, sample_value value, double from, double to);

// A method has taken its step from a state.
bool comparison_is_taken(const comparison *c, long state);

// States that a method was asked for with this outcome.
long comparison_count(const comparison *c, int method, sample_outcome outcome);

// The verdict on a method's figure, against that of the first method.
const char *comparison_verdict(const comparison *c, int method, sample_value value);

#endif
