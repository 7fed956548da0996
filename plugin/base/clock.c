#define _POSIX_C_SOURCE 200809L // clock_gettime
#include "clock.h"

#include <time.h>

static double read_us(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

double now_us(void)
{
    return read_us(CLOCK_MONOTONIC);
}

double cpu_us(void)
{
    return read_us(CLOCK_THREAD_CPUTIME_ID);
}
