#define _GNU_SOURCE 1 // secure_getenv
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

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

bool output_open(output *o, int flags)
{
    struct stat is = {0};
    o->process = getpid();
    if (!expand(o->pattern, o->name)) {
        return false;
    }
    o->descriptor = open(o->name, flags | O_CLOEXEC, 0666);
    if (o->descriptor < 0 || fstat(o->descriptor, &is) != 0) {
        return false;
    }
    o->device = is.st_dev;
    o->inode = is.st_ino;
    o->regular = S_ISREG(is.st_mode);
    return true;
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

static bool write_all(int descriptor, const char *data, size_t size)
{
    while (size) {
        ssize_t written = write(descriptor, data, size);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        if (written > 0) {
            data += written;
            size -= (size_t)written;
        }
    }
    return true;
}

// Blocks the two signals that a write can raise in its own thread, and takes back one that it has
// raised, unless the program had one pending already.
bool output_write(const output *o, const void *data, size_t size)
{
    static const struct timespec at_once = {0};
    sigset_t raised, before, program;
    sigemptyset(&raised);
    sigaddset(&raised, SIGPIPE);
    sigaddset(&raised, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &raised, &before);
    sigpending(&program);
    bool written = write_all(o->descriptor, data, size);
    int error = errno;
    if (!written) {
        bool ours = (error == EPIPE && !sigismember(&program, SIGPIPE)) ||
                    (error == EFBIG && !sigismember(&program, SIGXFSZ));
        if (ours) {
            sigset_t one;
            sigemptyset(&one);
            sigaddset(&one, error == EPIPE ? SIGPIPE : SIGXFSZ);
            sigtimedwait(&one, NULL, &at_once);
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return written;
}
