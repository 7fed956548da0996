// The plan of a comparison in place (plugin/compare): the file that the environment variable
// SPRAG_COMPARE names. `sprag compare -- PROGRAM` writes it, and the program appends its samples.
#ifndef SPRAG_PLAN_H
#define SPRAG_PLAN_H

#include "settings.h"

enum { PLAN_CHOICES_MAX = 256 };

typedef struct plan {
    const char *file; // to append to
    int every;        // steps from one compared state of a world to the next
    double steps;     // of a world, after which the program is ended; 0: never
    double seconds;   // likewise, simulated, s
    double all_steps; // likewise, of all worlds of the process together
    double patience;  // s of the clock that a child may take
    bool whole;       // no children: the steps of the program themselves are measured
    int choices;
    settings choice[PLAN_CHOICES_MAX]; // the methods to compare
} plan;

// NULL: SPRAG_COMPARE is not set, or its file cannot be read, for which a message is printed.
const plan *plan_get(void);

// Whether a method of the plan needs the program's collision calls.
bool plan_records(void);

#endif
