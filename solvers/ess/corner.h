// What a corner, guards that are crossed at the same point, does to offsets from the trajectory.
#ifndef SPRAG_CORNER_H
#define SPRAG_CORNER_H

#include "ess_guards.h"

typedef struct sprag_corner {
    sprag_guards *of; // for rows
    long *field_values;
    int room, guards;
    int *guard, *order; // room; the order of the last offset
    bool *taken;        // room
    double *h;          // room, where they are not zero
    double time;        // s, of the first guard
    double *x, *label;  // where, and labels before it
    double *now;        // labels
    double *f;          // room + 1 fields, along that order
    int known;          // of those
    double *arrived;    // directions x n, before the corner
} sprag_corner;

// false: no memory.
bool sprag_corner_take(sprag_corner *corner, sprag_guards *of, int room, int directions,
                       long *field_values, sprag_scratch *scratch);

// At another point; without guards.
void sprag_corner_move(sprag_corner *corner, const double *x, const double *label);

// w <- where an offset w leads. false: no guard that is left is approached.
bool sprag_corner_map(sprag_corner *corner, double *w);

#endif
