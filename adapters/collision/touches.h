// What is known of pairs of geoms.
#ifndef SPRAG_TOUCHES_H
#define SPRAG_TOUCHES_H

#include <stdbool.h>

#include <ode/ode.h>

#include "scratch.h"

typedef struct ode_touch {
    dGeomID geom[2];
    dJointID joint; // the first contact joint that the program made; its feedback is the pair's
    bool accepted;
    bool paired; // the kernel knows both, and the joint is between their bodies
    int next;    // of the same slot
} ode_touch;

typedef struct ode_touches {
    ode_touch *touch;
    int count, room;
    int *slot; // first, from 1
    int slots;
    sprag_scratch *scratch;
} ode_touches;

bool sprag_ode_touches_make(ode_touches *touches, int expected, sprag_scratch *scratch);
ode_touch *sprag_ode_touch_of(const ode_touches *touches, dGeomID a, dGeomID b);

// The one that is there, or a new one; NULL: no memory.
ode_touch *sprag_ode_touch_add(ode_touches *touches, dGeomID a, dGeomID b);

#endif
