#include "result.h"

#include <stdarg.h>
#include <stdio.h>

const char *sprag_result_name(sprag_result result)
{
    switch (result) {
    case SPRAG_OK:
        return "ok";
    case SPRAG_NOT_CONVERGED:
        return "not converged";
    case SPRAG_SINGULAR:
        return "singular";
    case SPRAG_BAD_PROBLEM:
        return "bad problem";
    case SPRAG_NO_MEMORY:
        return "no memory";
    }
    return "unknown result";
}

sprag_result sprag_bad_problem(char *message, int size, const char *format, ...)
{
    if (message && size > 0) {
        va_list args;
        va_start(args, format);
        vsnprintf(message, (size_t)size, format, args);
        va_end(args);
    }
    return SPRAG_BAD_PROBLEM;
}
