// The file of statistics. A row is one write() to a file opened for appending: rows of two threads,
// or of two processes that share a file, do not mix, a crash loses no row, and a forked child has
// no buffer with rows of its parent. The file is opened at the first step, because LD_PRELOAD loads
// sprag into every child process and most of them never step a world.
#define _GNU_SOURCE 1 // secure_getenv
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "message.h"
#include "statistics.h"
#include "text.h"

enum { ROW_MAX = STATISTICS_TEXT_MAX + 128 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool wanted; // whether SPRAG_STATS is set; written by start() only

// Read and written under the lock.
static struct {
    const char *pattern; // the value of SPRAG_STATS; NULL: not set, or writing has failed
    char name[PATH_MAX]; // the pattern expanded
    int descriptor;      // -1: not open
    pid_t process;       // that opened it
    dev_t device;        // device and inode identify the open file
    ino_t inode;
} file = {.descriptor = -1};

static void lock_for_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void unlock_after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

static void start(void)
{
    // A setuid program ignores the variable: its caller must not choose a file that it writes.
    const char *pattern = secure_getenv("SPRAG_STATS");
    file.pattern = pattern && *pattern ? strdup(pattern) : NULL;
    wanted = file.pattern;
    // A child must not inherit the lock of a thread that it does not have.
    pthread_atfork(lock_for_fork, unlock_after_fork, unlock_after_fork);
}

// "%p" becomes the process id, so that child processes do not share a file; "%%" a "%".
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

static bool write_all(const char *text, size_t length)
{
    while (length) {
        ssize_t written = write(file.descriptor, text, length);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        if (written > 0) {
            text += written;
            length -= (size_t)written;
        }
    }
    return true;
}

static bool write_names(void)
{
    char names[ROW_MAX] = "process,world,method";
    size_t length = strlen(names);
    length += statistics_print_names(names + length);
    names[length++] = '\n';
    return write_all(names, length);
}

// An empty file gets the column names. The lock on the file keeps other processes from writing a
// row before them.
static bool open_file(void)
{
    struct stat is = {0};
    file.process = getpid();
    if (!expand(file.pattern, file.name)) {
        return false;
    }
    file.descriptor = open(file.name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file.descriptor < 0) {
        return false;
    }
    bool locked = flock(file.descriptor, LOCK_EX) == 0;
    bool written = fstat(file.descriptor, &is) == 0 && (is.st_size > 0 || write_names());
    if (locked) {
        flock(file.descriptor, LOCK_UN);
    }
    file.device = is.st_dev;
    file.inode = is.st_ino;
    return written;
}

// Daemons close all descriptors; the number of ours may then belong to another file.
static bool is_open(void)
{
    struct stat is;
    return file.descriptor >= 0 && fstat(file.descriptor, &is) == 0 && is.st_dev == file.device &&
           is.st_ino == file.inode && (file.process == getpid() || !strstr(file.pattern, "%p"));
}

static size_t print_row(char row[ROW_MAX], const world_state *world)
{
    int length = text_print(row, ROW_MAX, "%ld,%d,%s", (long)getpid(), world->number,
                            world->settings.method->name);
    size_t end = (size_t)length + statistics_print_row(row + length, &world->statistics,
                                                       world->settings.method->ours);
    row[end] = '\n';
    return end + 1;
}

void report_step(const world_state *world)
{
    char row[ROW_MAX];
    int failure = 0;
    pthread_once(&once, start);
    if (!wanted) {
        return;
    }
    pthread_mutex_lock(&lock);
    if (file.pattern) {
        size_t length = print_row(row, world);
        if (!(is_open() || open_file()) || !write_all(row, length)) {
            failure = errno;
            file.pattern = NULL; // do not try again
        }
    }
    pthread_mutex_unlock(&lock);
    if (failure) {
        message_once("sprag: cannot write the statistics to %s: %s. The program runs without them.",
                     file.name, strerror(failure));
    }
}
