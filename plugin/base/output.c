#define _GNU_SOURCE 1 // secure_getenv
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "plugin_constants.h"
#include "write_guard.h"

bool output_wanted(output *o, const char *variable)
{
    const char *pattern = secure_getenv(variable);
    o->pattern = pattern && *pattern ? strdup(pattern) : NULL;
    return o->pattern;
}

static bool expand(const char *pattern, char name[PATH_MAX])
{
    size_t length = 0;
    for (const char *at = pattern; *at; at++) {
        char piece[16] = {*at};
        if (at[0] == '%' && at[1] == 'p') {
            snprintf(piece, sizeof piece, "%ld", (long)getpid());
            at++;
        } else if (at[0] == '%' && at[1] == '%') {
            at++;
        }
        size_t more = strlen(piece);
        if (length + more >= PATH_MAX) {
            errno = ENAMETOOLONG;
            return false;
        }
        memcpy(name + length, piece, more);
        length += more;
    }
    name[length] = '\0';
    return true;
}

static const struct timespec between = {.tv_nsec = 10000000}; // two attempts

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool fail(output *o, const char *why)
{
    o->failure = why;
    return false;
}

// ---- open

// A named pipe without a reader gives ENXIO; a reader may be on its way.
static int open_pipe(const char *name, int flags)
{
    double end = seconds_now() + READER_COMES;
    int descriptor = open(name, flags, 0666);
    while (descriptor < 0 && errno == ENXIO && seconds_now() < end) {
        nanosleep(&between, NULL);
        descriptor = open(name, flags, 0666);
    }
    return descriptor;
}

bool output_open(output *o, int flags)
{
    struct stat is = {0};
    o->process = getpid();
    if (!expand(o->pattern, o->name)) {
        return fail(o, strerror(errno));
    }
    if (strcmp(o->name, "-") == 0) {
        return fail(o, "it is no file; /dev/stderr is the standard error");
    }
    o->descriptor = open_pipe(o->name, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (o->descriptor < 0 || fstat(o->descriptor, &is) != 0) {
        return fail(o, errno == ENXIO ? "no process reads it" : strerror(errno));
    }
    o->device = is.st_dev;
    o->inode = is.st_ino;
    o->regular = S_ISREG(is.st_mode);
    o->linked = is.st_nlink > 0;
    return true;
}

bool output_lock(output *o, double seconds)
{
    double end = seconds_now() + seconds;
    bool locked = !o->regular || flock(o->descriptor, LOCK_EX | LOCK_NB) == 0;
    while (!locked && seconds_now() < end) {
        nanosleep(&between, NULL);
        locked = flock(o->descriptor, LOCK_EX | LOCK_NB) == 0;
    }
    return locked ||
           fail(o, "another process writes to it (%p in the name gives each process a file of its "
                   "own)");
}

void output_unlock(const output *o)
{
    if (o->regular) {
        flock(o->descriptor, LOCK_UN);
    }
}

bool output_is_ours(output *o, const char *start)
{
    char text[OUTPUT_START_MAX] = "";
    struct stat is;
    size_t length = strlen(start);
    if (!o->regular || (fstat(o->descriptor, &is) == 0 && is.st_size == 0)) {
        return true;
    }
    int descriptor = open(o->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // ours only writes
    if (descriptor < 0) {
        return fail(o, strerror(errno));
    }
    bool ours =
        pread(descriptor, text, length, 0) == (ssize_t)length && memcmp(text, start, length) == 0;
    close(descriptor);
    return ours || fail(o, "the file holds something else");
}

bool output_is_per_process(const output *o)
{
    return strstr(o->pattern, "%p");
}

bool output_is_open(const output *o)
{
    struct stat is;
    return o->descriptor >= 0 && fstat(o->descriptor, &is) == 0 && is.st_dev == o->device &&
           is.st_ino == o->inode && (o->process == getpid() || !output_is_per_process(o));
}

// ---- write

static bool is_deleted(const output *o)
{
    struct stat is;
    return o->linked && fstat(o->descriptor, &is) == 0 && is.st_nlink == 0;
}

// false: the reader has taken nothing for too long.
static bool wait_for_reader(int descriptor)
{
    struct pollfd room = {.fd = descriptor, .events = POLLOUT};
    double left = READER_TAKES, end = seconds_now() + left;
    int found = 0;
    while (found <= 0 && left > 0) {
        found = poll(&room, 1, (int)(1000 * left) + 1);
        left = end - seconds_now(); // signals of the program interrupt
    }
    return found > 0;
}

static bool write_all(output *o, const char *data, size_t size)
{
    while (size) {
        ssize_t written = write(o->descriptor, data, size);
        if (written > 0) {
            data += written;
            size -= (size_t)written;
        } else if (written < 0 && errno == EAGAIN) {
            if (!wait_for_reader(o->descriptor)) {
                return fail(o, "its reader takes nothing");
            }
        } else if (written < 0 && errno != EINTR) {
            return fail(o, errno == EPIPE ? "its reader is gone" : strerror(errno));
        }
    }
    return true;
}

bool output_write(output *o, const void *data, size_t size)
{
    write_guard guard;
    if (is_deleted(o)) {
        return fail(o, "it has been deleted");
    }
    write_guard_begin(&guard);
    bool written = write_all(o, data, size);
    write_guard_end(&guard);
    return written;
}
