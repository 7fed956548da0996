// The touch of two geoms later in a step, as a contact at its start.
#ifndef SPRAG_TOUCH_H
#define SPRAG_TOUCH_H

// Relative to the smaller geom's size: overlaps from this on may end on the other side of it.
static const double ode_passing = 0.25;

typedef struct ode_touch {
    double normal[3];   // unit, into the first geom
    double lever[2][3]; // m, from the centres of their bodies to the touch, at its time
    double left;        // m, by which these levers approach until then
} ode_touch;

#endif
