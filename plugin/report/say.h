// Messages and exit codes of the `sprag` command.
#ifndef SPRAG_SAY_H
#define SPRAG_SAY_H

#include <stdbool.h>

#include "settings.h"

enum { METHOD_NAME = 64 }; // letters of a method and its number, at most

// Exit codes of the command, next to EXIT_SUCCESS and EXIT_FAILURE.
enum { EXIT_USAGE = 2, EXIT_CANNOT_EXECUTE = 126, EXIT_NOT_FOUND = 127 };

// Prints one line on stderr, after "sprag: ". Line breaks and control characters of the arguments
// are escaped, and a long message is cut in the middle. Returns code.
int cli_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cli_note(const char *format, ...) __attribute__((format(printf, 1, 2))); // "sprag: note: "

// Prints a note on the end of a recording: what is wrong with it, or nothing for NULL.
void cli_note_end(const char *recording, const char *end);

// false, after a message: the name behind the option is empty, or "-", of which users expect an
// output. NULL: the option was not given.
bool cli_names_file(const char *option, const char *name);

// Sets the variable of a program to the name of a file, from the root, since the program may change
// its directory. A "%" of the directory is doubled, so that "%p" there is no process id; literal:
// one of the name too. false, after a message: it cannot be set.
bool cli_set_file(const char *variable, const char *name, bool literal);

// The same for a file that the program writes. One that cannot be written is told before it runs,
// unless the name has a "%", which each process expands. start: as of cli_can_write.
bool cli_set_output(const char *variable, const char *name, const char *start);

// false, after a message: the file is a pipe, which ends when it has been read once. Does not wait
// for its writer.
bool cli_can_read_again(const char *name);

// false, after a message: the file cannot be written, or is neither empty nor begins with `start`.
// To be asked before a run that writes it.
bool cli_can_write(const char *name, const char *start);

// Reads SPRAG_OPTIONS, then options (NULL for none), over the defaults. "help" prints the options
// and ends the program. Returns false after printing why, when one of the two cannot be read, or
// both -m and the options name a method.
bool cli_read_settings(settings *s, const char *options, bool has_method);

// Prints a note on an option (NULL: there are none) that none of the methods heeds.
void cli_note_unheeded(const char *options, const method *const m[], int count);

// Chooses the method of this name, which has so many letters. Returns false after printing why not.
bool cli_read_method(settings *s, const char *name, size_t length);

#endif
