// Writes that do not end the program: SIGPIPE and SIGXFSZ of the calling thread are blocked, and
// those that the writes raise are taken back.
#ifndef SPRAG_WRITE_GUARD_H
#define SPRAG_WRITE_GUARD_H

#include <signal.h>

typedef struct write_guard {
    sigset_t mask, pending; // the program's
} write_guard;

void write_guard_begin(write_guard *g);
void write_guard_end(const write_guard *g); // errno stays as it is

#endif
