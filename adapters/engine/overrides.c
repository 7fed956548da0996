// Pairs of geom classes for which the program has set a collider of its own.
#include "symbols.h"

#include <stdint.h>
#include <string.h>

static _Atomic uint32_t overridden[dGeomNumClasses]; // of a class: a bit for each other one
_Static_assert(dGeomNumClasses <= 32, "a bit for every class");

static ode_once cleared; // for the running ODE

static void clear_overrides(void)
{
    memset((void *)overridden, 0, sizeof overridden);
}

void sprag_ode_override_collider(int i, int j, dColliderFn *collider)
{
    sprag_ode_once(&cleared, clear_overrides);
    if ((unsigned)i < dGeomNumClasses && (unsigned)j < dGeomNumClasses) {
        overridden[i] |= 1u << j;
        overridden[j] |= 1u << i;
    }
    sprag_real_override()(i, j, collider);
}

bool sprag_ode_is_overridden(dGeomID a, dGeomID b)
{
    sprag_ode_once(&cleared, clear_overrides);
    return overridden[dGeomGetClass(a)] & 1u << dGeomGetClass(b);
}
