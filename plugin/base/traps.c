#define _GNU_SOURCE 1 // fegetexcept
#include "traps.h"

#include <fenv.h>

// x86 has traps twice, and fegetexcept reads those of the x87 alone. Programs may set those of SSE
// by themselves.
#ifdef __SSE__
#include <xmmintrin.h>

enum { SSE_SHIFT = 8 };

static unsigned sse_traps(void)
{
    return ~_MM_GET_EXCEPTION_MASK() & _MM_MASK_MASK;
}

static void set_sse_traps(unsigned traps)
{
    _MM_SET_EXCEPTION_STATE(0);
    _MM_SET_EXCEPTION_MASK(~traps & _MM_MASK_MASK);
}
#else
enum { SSE_SHIFT = 0 };

static unsigned sse_traps(void)
{
    return 0;
}

static void set_sse_traps(unsigned traps)
{
    (void)traps;
}
#endif

int traps_hold(void)
{
    const int held = fegetexcept() | (int)(sse_traps() << SSE_SHIFT);
    if (held) {
        fedisableexcept(FE_ALL_EXCEPT);
        set_sse_traps(0);
    }
    return held;
}

void traps_release(int held)
{
    if (held) {
        feclearexcept(FE_ALL_EXCEPT);
        feenableexcept(held & FE_ALL_EXCEPT);
        set_sse_traps((unsigned)held >> SSE_SHIFT);
    }
}
