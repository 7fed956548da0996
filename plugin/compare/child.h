// A forked child of the program that does one job, writes what it has found, and ends. The program
// does not notice: the child has no files and no sockets of it, prints nothing, runs none of its
// exit and signal handlers, and its death raises no SIGCHLD in a handler of the program.
#ifndef SPRAG_CHILD_H
#define SPRAG_CHILD_H

#include <stddef.h>

#include "sample.h"

// Called in the child. It may write to the file; what it returns is ignored if it does not return.
typedef void child_job(void *data, int file);

// Runs a job in a child and reads what it writes, into memory of *found that the caller frees.
// patience: s. SAMPLE_TAKEN: the job has returned. SAMPLE_NO_FORK: errno tells why; else it is
// kept.
sample_outcome child_run(child_job *job, void *data, double patience, char **found, size_t *length);

void child_write(int file, const void *from, size_t length); // all of it, or ends the child

#endif
