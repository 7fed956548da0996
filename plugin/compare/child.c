#define _GNU_SOURCE 1 // pipe2
#include "child.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"

enum { JOB_DONE = 7 }; // exit code of a child whose job has returned

// ---- in the child

// Whatever the step writes, into files, sockets and pipes of the program, must not get there.
static void lose_files(int keep)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    DIR *all = nothing >= 0 ? opendir("/proc/self/fd") : NULL;
    if (!all) {
        _exit(EXIT_FAILURE);
    }
    for (const struct dirent *d; (d = readdir(all));) {
        int file = atoi(d->d_name);
        if (d->d_name[0] != '.' && file != keep && file != nothing && file != dirfd(all)) {
            dup2(nothing, file);
        }
    }
    closedir(all);
}

// A crash of the child ends it, without the program's handlers, a core file or a crash report.
static void lose_signals(void)
{
    static const int crash[] = {SIGSEGV, SIGABRT, SIGBUS,  SIGFPE, SIGILL,
                                SIGTRAP, SIGSYS,  SIGTERM, SIGINT, SIGHUP};
    const struct rlimit none = {0, 0};
    sigset_t all;
    for (size_t i = 0; i < sizeof crash / sizeof *crash; i++) {
        signal(crash[i], SIG_DFL);
    }
    sigfillset(&all);
    for (size_t i = 0; i < sizeof crash / sizeof *crash; i++) {
        sigdelset(&all, crash[i]);
    }
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0);
}

// A callback that calls exit() ends the child, without the program's own handlers.
static void leave(void)
{
    _exit(EXIT_FAILURE);
}

static _Noreturn void be_child(child_job *job, void *data, int file, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(EXIT_FAILURE);
    }
    lose_signals();
    lose_files(file);
    if (atexit(leave) != 0) {
        _exit(EXIT_FAILURE);
    }
    job(data, file);
    _exit(JOB_DONE);
}

void child_write(int file, const void *from, size_t length)
{
    const char *at = from;
    while (length > 0) {
        ssize_t written = write(file, at, length);
        if (written < 0 && errno != EINTR) {
            _exit(EXIT_FAILURE);
        }
        if (written > 0) {
            at += written;
            length -= (size_t)written;
        }
    }
}

// ---- in the program

// One comparison at a time: SIGCHLD belongs to the whole process.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void renew_lock(void)
{
    pthread_mutex_init(&lock, NULL);
}

static void prepare_for_fork(void)
{
    // A child that the program forks must not inherit the lock of a thread that it does not have.
    pthread_atfork(NULL, NULL, renew_lock);
}

// Reads until the end of the file. false: not within the time, us.
static bool read_all(int file, double time, char **found, size_t *length)
{
    double end = now_us() + time;
    size_t room = 0;
    for (;;) {
        if (*length == room) {
            char *more = realloc(*found, room = room ? 2 * room : 4096);
            if (!more) {
                return false;
            }
            *found = more;
        }
        double left = 1e-3 * (end - now_us());
        struct pollfd p = {.fd = file, .events = POLLIN};
        int ready = left > 0 ? poll(&p, 1, left > 1e6 ? 1000000 : (int)left + 1) : 0;
        ssize_t count = ready > 0 ? read(file, *found + *length, room - *length) : -1;
        if (ready == 0 && left <= 1e6) {
            return false;
        }
        if (count == 0) {
            return true;
        }
        *length += count > 0 ? (size_t)count : 0;
    }
}

// A handler of the program for SIGCHLD must not see our children: it is off until they are gone.
// It is told if a child of the program's own has ended in the meantime.
static void put_handler_back(const struct sigaction *before)
{
    siginfo_t ended = {.si_pid = 0};
    sigaction(SIGCHLD, before, NULL);
    bool handled = before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN;
    if (handled && waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid) {
        raise(SIGCHLD);
    }
}

static sample_outcome run_locked(child_job *job, void *data, double patience, char **found,
                                 size_t *length)
{
    const struct sigaction ignore = {.sa_handler = SIG_DFL};
    struct sigaction before;
    sigset_t all, mask;
    int ends[2], status = 0;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return SAMPLE_NO_FORK;
    }
    sigfillset(&all);
    sigaction(SIGCHLD, &ignore, &before);
    pthread_sigmask(SIG_SETMASK, &all, &mask); // no handler of the program may run in the child
    pid_t parent = getpid(), child = fork();
    int error = errno;
    if (child == 0) {
        close(ends[0]);
        be_child(job, data, ends[1], parent);
    }
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    close(ends[1]);
    bool ended = child > 0 && read_all(ends[0], 1e6 * patience, found, length);
    close(ends[0]);
    if (child > 0 && !ended) {
        kill(child, SIGKILL);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    put_handler_back(&before);
    errno = error;
    return child < 0                                              ? SAMPLE_NO_FORK
           : !ended                                               ? SAMPLE_HUNG
           : WIFEXITED(status) && WEXITSTATUS(status) == JOB_DONE ? SAMPLE_TAKEN
                                                                  : SAMPLE_DIED;
}

sample_outcome child_run(child_job *job, void *data, double patience, char **found, size_t *length)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int error = errno;
    pthread_once(&once, prepare_for_fork);
    *found = NULL;
    *length = 0;
    pthread_mutex_lock(&lock);
    sample_outcome outcome = run_locked(job, data, patience, found, length);
    pthread_mutex_unlock(&lock);
    if (outcome != SAMPLE_NO_FORK) {
        errno = error;
    }
    return outcome;
}
