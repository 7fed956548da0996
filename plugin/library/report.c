// Statistics as CSV, one row per step, in the file that SPRAG_STATS names; and messages said once.
//
// A row is one write() to a file opened for appending: rows of two threads, or of two processes
// that share a file, follow one another whole; a crash loses none, and a forked child has no buffer
// of its parent's rows to write again. The file is opened at the first step, because preloading
// reaches every child process and most of them never step a world.
#define _GNU_SOURCE 1 // secure_getenv
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin.h"

enum { ROW_MAX = 1024, SAID_MAX = 64 };

static const char header[] =
    "process,world,method,time,step,bodies,islands,contacts,rows,dropped,strategy,iterations,"
    "factorizations,sweeps,residual,penetration,bound_error,stiction,stiction_least,stiffness_"
    "least,"
    "stiffness_most,damping_least,damping_most,fallbacks,bad_forces,held,odd_surfaces,pull_us,"
    "solve_us,push_us,substeps,limited,changes,overlaps,squeezed,asked,without_geometry,least_gap,"
    "largest_gap,stalled,contacts_made,contacts_lost,limits_reached,slips_begun,slips_ended,"
    "ess_steps,ess_events,ess_projected,ess_left,ess_switched\n";

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool wanted; // SPRAG_STATS is set; of start()

// Everything below is read and written under the lock.
static struct {
    const char *pattern; // of SPRAG_STATS, NULL if there is nothing to write
    char name[PATH_MAX];
    int descriptor; // -1: not open
    pid_t process;  // that opened it
    dev_t device;   // of the open file, to know it again
    ino_t inode;
} file = {.descriptor = -1};

static uint64_t said[SAID_MAX];
static int said_count;

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
    // Not of a setuid program: whoever starts it shall not choose what it writes to.
    const char *pattern = secure_getenv("SPRAG_STATS");
    file.pattern = pattern && *pattern ? strdup(pattern) : NULL;
    wanted = file.pattern;
    // A child must not inherit the lock of a thread that it does not have.
    pthread_atfork(lock_for_fork, unlock_after_fork, unlock_after_fork);
}

// ---- Statistics

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

// Column names go to an empty file; the lock on it keeps other processes from writing before.
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
    bool written = fstat(file.descriptor, &is) == 0 &&
                   (is.st_size > 0 || write_all(header, sizeof header - 1));
    if (locked) {
        flock(file.descriptor, LOCK_UN);
    }
    file.device = is.st_dev;
    file.inode = is.st_ino;
    return written;
}

// A program that closes all descriptors, as daemons do, may have got ours for a file of its own.
static bool is_open(void)
{
    struct stat is;
    return file.descriptor >= 0 && fstat(file.descriptor, &is) == 0 && is.st_dev == file.device &&
           is.st_ino == file.inode && (file.process == getpid() || !strstr(file.pattern, "%p"));
}

// A stock method tells its time only: what it does inside stays empty.
static size_t print_row(char *row, const world_state *world)
{
    const sprag_world_statistics *s = &world->statistics;
    int length = print_point(row, ROW_MAX, "%ld,%d,%s,%.9g,%.9g,", (long)getpid(), world->number,
                             world->settings.method->name, s->time, s->step);
    if (length < ROW_MAX && !world->settings.method->ours) {
        length += print_point(row + length, (size_t)(ROW_MAX - length),
                              ",,,,,,,,,,,,,,,,,,,,,,,%.2f,,,,,,,,,,,,,,,,,,,,,\n", s->solve_us);
    } else if (length < ROW_MAX) {
        length += print_point(
            row + length, (size_t)(ROW_MAX - length),
            "%d,%d,%d,%d,%d,%s,%d,%d,%d,%.4g,%.6g,%.4g,%.4g,%.4g,%.6g,%.6g,%.6g,%"
            ".6g,%ld,%ld,%ld,%ld,"
            "%.2f,%.2f,%.2f,%ld,%ld,%ld,%ld,%ld,%ld,%ld,%.6g,%.6g,%.6g,%ld,%ld,%"
            "ld,%ld,%ld,%ld,%ld,%ld,%ld,%ld\n",
            s->bodies, s->islands, s->contacts, s->rows, s->dropped,
            sprag_strategy_name(s->strategy), s->iterations, s->factorizations, s->sweeps,
            s->residual, s->penetration, s->bound_error, s->stiction, s->stiction_least,
            s->stiffness_least, s->stiffness_most, s->damping_least, s->damping_most, s->fallbacks,
            s->bad_forces, s->held, s->odd_surfaces, s->pull_us, s->solve_us, s->push_us,
            s->substeps, s->limited, s->changes, s->overlaps, s->squeezed, s->asked,
            s->without_geometry, s->least_gap, s->largest_gap, s->stalled,
            s->events[SPRAG_EVENT_CONTACT_MADE], s->events[SPRAG_EVENT_CONTACT_LOST],
            s->events[SPRAG_EVENT_LIMIT_REACHED], s->events[SPRAG_EVENT_SLIP_BEGINS],
            s->events[SPRAG_EVENT_SLIP_ENDS], s->ess_steps, s->ess_events, s->ess_projected,
            s->ess_left, s->ess_switched);
    }
    return length < ROW_MAX ? (size_t)length : ROW_MAX - 1;
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
            file.pattern = NULL; // no second try
        }
    }
    pthread_mutex_unlock(&lock);
    if (failure) {
        report_once("sprag: cannot write statistics to %s: %s. The program goes on without.",
                    file.name, strerror(failure));
    }
}

// ---- Messages

// FNV-1a, 64 bits: what was said is kept as a number, so that it takes little room.
static uint64_t hash_of(const char *text)
{
    uint64_t hash = 14695981039346656037u;
    for (; *text; text++) {
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    }
    return hash;
}

// Notes that a text is said now. Returns whether it is new; once there is no room to tell, nothing
// is.
static bool is_new(const char *text, bool *last)
{
    uint64_t hash = hash_of(text);
    pthread_mutex_lock(&lock);
    bool is = said_count < SAID_MAX;
    for (int i = 0; i < said_count && is; i++) {
        is = said[i] != hash;
    }
    if (is) {
        said[said_count++] = hash;
    }
    *last = is && said_count == SAID_MAX;
    pthread_mutex_unlock(&lock);
    return is;
}

void report_once(const char *format, ...)
{
    char text[PATH_MAX + MESSAGE_MAX];
    bool last;
    va_list arguments;
    pthread_once(&once, start);
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (is_new(text, &last)) {
        if (last) {
            strncat(text, " (no more messages follow)", sizeof text - strlen(text) - 1);
        }
        sprag_ode_message(text);
    }
}
