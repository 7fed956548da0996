// Two shapes on their ways within a step to come: a pair of geoms, or a geom and a triangle.
#ifndef SPRAG_SPECULATE_H
#define SPRAG_SPECULATE_H

#include "geom_pairs.h"

typedef struct ode_flyer { // a side of the pair
    const ode_geom *start; // when the step starts
    ode_geom side;         // at another time
    double centre[3];      // m, of its body, when the step starts
    double velocity[6];    // of that
    double spin, far;      // rad/s; m, from the body's centre; 0: a ball about it
    double speed;          // m/s, of its fastest point
    double size;           // m, half of its shortest extent
    bool moves;
} ode_flyer;

typedef struct ode_meeting {
    ode_flyer flyer[2];
    double step, size; // s; m, of the smaller geom
    double reach;      // m, by which the geoms may come nearer in the step
    double near;       // m: points that are farther apart at the step's end have no contacts
    double aside;      // m, by which something may turn them towards one another; 0: nothing does
    double within;     // m: geoms that are farther apart when the step starts have no contacts
} ode_meeting;

void sprag_ode_set_meeting(ode_meeting *m, const ode_geom geom[2], const ode_ahead *ahead);

// sprag_ode_speculate() of two shapes. start: their gap when the step starts; NULL: it is not
// known. open: they are within the reach of the meeting at points where they do not touch, too.
int sprag_ode_speculate_shapes(ode_meeting *m, const sprag_gap *start, bool open, int most,
                               dContactGeom *contact, int skip, int found);

#endif
