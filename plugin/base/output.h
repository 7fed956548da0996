// A file that the library writes beside the program, named by an environment variable. Nothing that
// happens to it ends or stops the program.
#ifndef SPRAG_OUTPUT_H
#define SPRAG_OUTPUT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct output {
    char *pattern;       // the value of the variable; NULL: not set, or writing has failed
    char name[PATH_MAX]; // the pattern expanded
    int descriptor;      // -1: not open
    pid_t process;       // that opened it
    dev_t device;        // device and inode identify the open file
    ino_t inode;
    bool regular;        // no pipe or device
    bool linked;         // it had a name when it was opened
    const char *failure; // the reason why the last call has failed
} output;

// *o: {.descriptor = -1}. false: the variable is not set. A setuid program ignores it: its caller
// must not choose a file that it writes.
bool output_wanted(output *o, const char *variable);

// "%p" in the pattern becomes the process id, so that child processes do not share a file; "%%" a
// "%". Waits a second for the reader of a named pipe.
bool output_open(output *o, int flags);

// Locks a regular file against other processes. Waits so many seconds. false: another one has it.
bool output_lock(output *o, double seconds);
void output_unlock(const output *o);

// A regular file has to be empty or begin with `start`: another file of that name is left alone.
bool output_is_ours(output *o, const char *start);

// Does each process have a file of its own?
bool output_is_per_process(const output *o);

// Is the descriptor still that of the file? Daemons close all descriptors; the number of ours may
// then belong to another file.
bool output_is_open(const output *o);

// Signals because the reader of a pipe is gone, or a file too large, do not reach the program.
// Waits at most ten seconds for a reader that takes nothing. false: a part may have been written.
bool output_write(output *o, const void *data, size_t size);

#endif
