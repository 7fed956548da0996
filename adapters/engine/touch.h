// The touch of two geoms later in a step, as a contact at its start.
#ifndef SPRAG_TOUCH_H
#define SPRAG_TOUCH_H

// Relative to the smaller geom's size: overlaps from this on may end on the other side of it.
static const double ode_passing = 0.25;

// Relative to that size: geoms that come nearer by less than this do not pass, and contacts of the
// step's end do.
static const double ode_fast_way = 0.5;

typedef struct ode_touch {
    double normal[3];   // unit, into the first geom
    double lever[2][3]; // m, from the centres of their bodies to the touch, at its time
    double left;        // m, by which these levers approach until then
} ode_touch;

#endif
