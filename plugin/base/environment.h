// The settings that the environment variable SPRAG_OPTIONS gives.
#ifndef SPRAG_ENVIRONMENT_H
#define SPRAG_ENVIRONMENT_H

#include "settings.h"

// Reads SPRAG_OPTIONS once per process. SPRAG_OPTIONS=help prints the options and ends the program.
// A string that cannot be read ends it through dError: a run under other settings than asked for is
// worse than no run.
const settings *environment_settings(void);

// Whether SPRAG_OPTIONS asks for a method that keeps distance. Never ends the program.
bool environment_keeps_distance(void);

#endif
