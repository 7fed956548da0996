// Pairs of geoms, in either order, and what the program wants their contacts to be.
#include <stdint.h>
#include <string.h>

#include "touches.h"

static int slot_of(const ode_touches *t, dGeomID a, dGeomID b)
{
    uintptr_t low = (uintptr_t)a, high = (uintptr_t)b;
    if (low > high) {
        uintptr_t swap = low;
        low = high;
        high = swap;
    }
    uint64_t hash = (low * 0x9e3779b97f4a7c15u) ^ (high * 0xc2b2ae3d27d4eb4fu);
    return (int)((hash >> 32) & (uint64_t)(t->slots - 1));
}

bool sprag_ode_touches_make(ode_touches *t, int expected, sprag_scratch *scratch)
{
    *t = (ode_touches){.slots = 64, .room = expected + 64, .scratch = scratch};
    while (t->slots < 2 * expected) {
        t->slots *= 2;
    }
    t->slot = SPRAG_TAKE(scratch, t->slots, int);
    t->touch = SPRAG_TAKE(scratch, t->room, ode_touch);
    return !scratch->failed;
}

ode_touch *sprag_ode_touch_of(const ode_touches *t, dGeomID a, dGeomID b)
{
    for (int i = t->slot[slot_of(t, a, b)]; i > 0; i = t->touch[i - 1].next) {
        ode_touch *touch = &t->touch[i - 1];
        if ((touch->geom[0] == a && touch->geom[1] == b) ||
            (touch->geom[0] == b && touch->geom[1] == a)) {
            return touch;
        }
    }
    return NULL;
}

ode_touch *sprag_ode_touch_add(ode_touches *t, dGeomID a, dGeomID b)
{
    ode_touch *known = sprag_ode_touch_of(t, a, b);
    if (known) {
        return known;
    }
    if (t->count == t->room) {
        ode_touch *wider = SPRAG_TAKE(t->scratch, 2 * t->room, ode_touch);
        if (!wider) {
            return NULL;
        }
        memcpy(wider, t->touch, (size_t)t->count * sizeof *wider);
        t->touch = wider;
        t->room *= 2;
    }
    int *slot = &t->slot[slot_of(t, a, b)];
    ode_touch *touch = &t->touch[t->count++];
    *touch = (ode_touch){.geom = {a, b}, .next = *slot};
    *slot = t->count;
    return touch;
}
