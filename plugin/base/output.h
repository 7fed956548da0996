// A file that the library writes beside the program, named by an environment variable.
#ifndef SPRAG_OUTPUT_H
#define SPRAG_OUTPUT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct output {
    const char *pattern; // the value of the variable; NULL: not set, or writing has failed
    char name[PATH_MAX]; // the pattern expanded
    int descriptor;      // -1: not open
    pid_t process;       // that opened it
    dev_t device;        // device and inode identify the open file
    ino_t inode;
    bool regular; // no pipe or device
} output;

// *o: {.descriptor = -1}. false: the variable is not set. A setuid program ignores it: its caller
// must not choose a file that it writes.
bool output_wanted(output *o, const char *variable);

// "%p" in the pattern becomes the process id, so that child processes do not share a file; "%%" a
// "%". false: errno says why.
bool output_open(output *o, int flags);

// Does each process have a file of its own?
bool output_is_per_process(const output *o);

// Is the descriptor still that of the file? Daemons close all descriptors; the number of ours may
// then belong to another file.
bool output_is_open(const output *o);

// A signal because the reader of a pipe is gone, or a file too large, does not reach the program.
// false: errno says why, and a part may have been written.
bool output_write(const output *o, const void *data, size_t size);

#endif
