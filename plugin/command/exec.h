// Programs under libsprag.so.
#ifndef SPRAG_EXEC_H
#define SPRAG_EXEC_H

#include <stdbool.h>

// Becomes the program, with libsprag.so in LD_PRELOAD. method, options: NULL for none. quiet: no
// notes on programs where sprag may have no effect. Returns an exit code if that fails.
int exec_program(char **arguments, const char *method, const char *options, bool quiet);

#endif
