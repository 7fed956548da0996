// Start of tests that step ODE worlds.
#ifndef TEST_START_H
#define TEST_START_H

#include <stdarg.h>
#include <stdlib.h>

#include <ode/ode.h>

// A message handler, for what stock complains of.
static inline void quiet(int number, const char *format, va_list arguments)
{
    (void)number;
    (void)format;
    (void)arguments;
}

// ODE, and none of the settings of whoever runs the tests.
static inline void start_ode(void)
{
    unsetenv("SPRAG_OPTIONS");
    unsetenv("SPRAG_STATS");
    unsetenv("SPRAG_RECORD");
    unsetenv("SPRAG_DUMP");
    unsetenv("SPRAG_DUMP_STEP");
    dInitODE2(0);
    dAllocateODEDataForThread((unsigned)dAllocateMaskAll);
}

#endif
