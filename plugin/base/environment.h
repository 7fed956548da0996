// The settings that the environment variable SPRAG_OPTIONS gives.
#ifndef SPRAG_ENVIRONMENT_H
#define SPRAG_ENVIRONMENT_H

#include "settings.h"

// Reads SPRAG_OPTIONS once per process. SPRAG_OPTIONS=help prints the options and ends the program.
// A string that cannot be read ends it through dError: a run under other settings than asked for is
// worse than no run.
const settings *environment_settings(void);

// The same, but never ends the program. NULL: the string asks for help, or cannot be read.
const settings *environment_readable_settings(void);

#endif
