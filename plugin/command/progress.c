#define _POSIX_C_SOURCE 200809L // isatty
#include "progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "clock.h"

static const double shortest = 1e5; // us between two lines

bool progress_is_shown(void)
{
    return isatty(STDERR_FILENO);
}

void progress(const char *format, ...)
{
    static double last;
    va_list arguments;
    if (!progress_is_shown() || now_us() - last < shortest) {
        return;
    }
    last = now_us();
    va_start(arguments, format);
    fputs("\r\033[K", stderr);
    vfprintf(stderr, format, arguments);
    fflush(stderr);
    va_end(arguments);
}

void progress_end(void)
{
    if (progress_is_shown()) {
        fputs("\r\033[K", stderr);
    }
}
