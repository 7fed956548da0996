// One line on stderr that tells how far the command is, if stderr is a terminal.
#ifndef SPRAG_PROGRESS_H
#define SPRAG_PROGRESS_H

#include <stdbool.h>

bool progress_is_shown(void);
void progress(const char *format, ...) __attribute__((format(printf, 1, 2))); // replaces the line
void progress_end(void);                                                      // removes the line

#endif
