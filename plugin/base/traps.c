#define _GNU_SOURCE 1 // fegetexcept
#include "traps.h"

#include <fenv.h>

int traps_hold(void)
{
    int held = fegetexcept();
    if (held) {
        fedisableexcept(held);
    }
    return held;
}

void traps_release(int held)
{
    if (held) {
        feclearexcept(FE_ALL_EXCEPT);
        feenableexcept(held);
    }
}
