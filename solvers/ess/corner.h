// The B-derivative of the flow at a corner, a point where several guards are crossed: where an
// offset from the trajectory before the guards leads behind them.
#ifndef SPRAG_CORNER_H
#define SPRAG_CORNER_H

#include "ess_guards.h"

typedef struct sprag_corner {
    sprag_guards *set;  // that the guards belong to; for rows
    long *field_values; // count of the statistics
    int room, guards;   // guards at most, and now
    int *guard;         // the guards that are crossed, by the caller
    double *h;          // their values where they are not 0 (affine), by the caller
    int *order;         // places in guard, as the last offset crossed them
    bool *taken;        // places that the offset under way has crossed
    double time;        // s, of the first guard, by the caller
    double *x, *label;  // the point, and labels before it
    double *now;        // labels on the way
    double *f;          // room + 1 fields at x, along `order`
    int known;          // of these fields
    double *arrived;    // directions x states, before the corner, by the caller
} sprag_corner;

// Memory for a corner of `room` guards. false: no memory.
bool sprag_corner_take(sprag_corner *corner, sprag_guards *set, int room, int directions,
                       long *field_values, sprag_scratch *scratch);

// Moves the corner to x, without guards. label: before it.
void sprag_corner_move(sprag_corner *corner, const double *x, const double *label);

// w (states): in, an offset before the guards; out, where it leads behind them. false: the flow
// approaches none of the guards that are left.
bool sprag_corner_map(sprag_corner *corner, double *w);

#endif
