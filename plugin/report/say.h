// Messages and exit codes of the `sprag` command.
#ifndef SPRAG_SAY_H
#define SPRAG_SAY_H

#include <stdbool.h>

#include "settings.h"

// Exit codes of the command, next to EXIT_SUCCESS and EXIT_FAILURE.
enum { EXIT_USAGE = 2, EXIT_CANNOT_EXECUTE = 126, EXIT_NOT_FOUND = 127 };

// Prints a line on stderr, after "sprag: ". Returns code.
int cli_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Prints which option getopt_long has refused; its option string begins with ':' or "+:". Returns
// EXIT_USAGE.
int cli_bad_option(int found, char *const *argv);

// Reads SPRAG_OPTIONS, then options (NULL for none), over the defaults. "help" prints the options
// and ends the program. Returns false after printing why, when one of the two cannot be read.
bool cli_read_settings(settings *s, const char *options);

#endif
