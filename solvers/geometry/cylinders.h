// Exact separation when a cylinder takes part, from a good guess. The height of a slab along a unit
// normal n between two active features is smooth:
//
//     s(n) = n.c - r0 |P0 n| - r1 |P1 n|,   n at right angles to the edges that are active
//
// c joins a vertex (of a cylinder: the centre of a cap) to another, P removes the cylinder's axis,
// and a cylinder's side is the edge between its caps. Newton's method on the sphere maximises it
// for each choice of features, to rounding, where support points alone would creep up to half the
// digits. Every height is evaluated over all vertices in play, so the best is the best of the two
// hulls; a support vertex that is below it joins them, until none is: cutting planes, each cut
// exact.
#ifndef SPRAG_CYLINDERS_H
#define SPRAG_CYLINDERS_H

#include "gjk.h"

typedef struct sprag_rims {
    double normal[3];   // in: a guess; out: unit
    double near[3];     // in: only normals that have at least
    double cosine;      // this cosine with that unit vector; -1: all
    double bound;       // m, s(normal) over the whole cores
    double point[2][3]; // m, on the cores
    double error;       // m, |point[0] - point[1] - bound normal|
    bool closed;        // no vertex is below the height that was found
} sprag_rims;

// vertices: those that may be active (count of them, of GJK's or EPA's). size: m, for rounding.
void sprag_rims_polish(const sprag_core core[2], const sprag_pair_vertex *vertex, int count,
                       double size, sprag_rims *rims);

#endif
