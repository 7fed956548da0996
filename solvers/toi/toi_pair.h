// Two moving shapes as candidate planes see them; of certificate.c, planes.c, edges.c.
//
// A point of side b is x_b + r: x goes straight, r turns. x is the centre of mass of what turns; of
// what does not, a point near the other shape.
#ifndef SPRAG_TOI_PAIR_H
#define SPRAG_TOI_PAIR_H

#include "gap.h"
#include "motion.h"
#include "series.h"

typedef struct sprag_side {
    const sprag_shape *shape;
    double margin;      // m, round the core
    double reach;       // m, r of the core, at most
    double velocity[6]; // m/s, rad/s
    double origin[3];   // m, of the shape: its r, in its own axes
    double start[3];    // m, x at t = 0
    double start_rotation[9];
    double x[3], rotation[9]; // where an expansion begins
} sprag_side;

// A plane with its normal, that turns at a constant rate, between the shapes; or the moving one
// across two edges. Then what blocks it.
typedef struct sprag_plane {
    bool crossing;    // edges
    int holder;       // the plane is this shape's, whose lowest point along it stays; -1: neither's
    double normal[3]; // unit, at t = 0, into shape 0
    double spin[3];   // rad/s, of the normal
    double support;   // m, of the holder: its farthest r along the plane, towards the other
    int end[2][2];    // crossing: vertices of the edges; SPRAG_NO_VERTEX: an axis
    double sign;      // crossing: of eA x eB, into shape 0
    double apart;     // m, crossing: the edges at t = 0
    double time;      // s, certain
    int side;         // what blocks: a point of this side,
    double point[2][3]; // r, in the axes of the shapes: it, and one of the plane
} sprag_plane;

typedef struct sprag_approach {
    sprag_side side[2];
    double level, horizon, angle; // m, s, rad/s: both spins
    double begin, length;         // s, of the expansion
} sprag_approach;

// Turns a by t w.
void sprag_turned(const double w[3], double t, const double a[3], double out[3]);

// Where both are at `begin`.
void sprag_approach_at(sprag_approach *a, double begin, double length);

// r of a vertex of the core, in the axes of the shape; SPRAG_NO_VERTEX: of its middle.
void sprag_side_vertex(const sprag_side *side, int vertex, double r[3]);

// The farthest r of the core along a direction (axes of the shape); which vertex.
int sprag_side_support(const sprag_side *side, const double direction[3], double r[3]);

// How much of the expansion, 0 to 1, the plane is certain to separate; *plane: what blocks, if it
// is not all.
double sprag_plane_follow(const sprag_approach *a, sprag_plane *plane);
double sprag_crossing_follow(const sprag_approach *a, sprag_plane *plane);

// Planes across edges near the normal, that separate at the start; the nearest first.
enum { SPRAG_CROSSINGS = 8 };
int sprag_crossings_find(const sprag_approach *a, const double normal[3],
                         sprag_plane plane[SPRAG_CROSSINGS]);

// Of the blocking point above its plane, at any time (s, from t = 0). normal: NULL, or the plane's.
double sprag_plane_height(const sprag_approach *a, const sprag_plane *plane, double t,
                          double normal[3]);

#endif
