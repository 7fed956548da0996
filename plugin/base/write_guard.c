#include "write_guard.h"

#include <errno.h>
#include <time.h>

static const int raised[] = {SIGPIPE, SIGXFSZ};

void write_guard_begin(write_guard *g)
{
    sigset_t both;
    sigemptyset(&both);
    sigaddset(&both, SIGPIPE);
    sigaddset(&both, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &both, &g->mask);
    sigpending(&g->pending);
}

void write_guard_end(const write_guard *g)
{
    static const struct timespec at_once = {0};
    int error = errno;
    sigset_t now;
    sigpending(&now);
    for (int i = 0; i < 2; i++) {
        if (sigismember(&now, raised[i]) && !sigismember(&g->pending, raised[i])) {
            sigset_t one;
            sigemptyset(&one);
            sigaddset(&one, raised[i]);
            sigtimedwait(&one, NULL, &at_once);
        }
    }
    pthread_sigmask(SIG_SETMASK, &g->mask, NULL);
    errno = error;
}
