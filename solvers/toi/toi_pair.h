// Two moving shapes as candidate planes see them; shared by certificate.c, pair.c, planes.c and
// edges.c.
//
// A point of side b is x_b + r: x moves straight, r turns. x is the centre of mass of a body that
// turns; otherwise a point near the other shape.
#ifndef SPRAG_TOI_PAIR_H
#define SPRAG_TOI_PAIR_H

#include "gap.h"
#include "motion.h"
#include "series.h"
#include "toi_constants.h"

// One shape. sprag_side_make sets it, sprag_approach_at moves it.
typedef struct sprag_side {
    sprag_core core;     // in the axes of the shape, about x
    double margin;       // m, radius that the shape adds to it
    double reach;        // m, largest |r| of it
    sprag_motion motion; // of x, with the axes of the shape
    sprag_pose now;      // of these at the start of the expansion
} sprag_side;

// A plane between the shapes: a supporting plane that a shape carries, a plane with a constant
// normal, or the moving plane across two edges.
typedef struct sprag_plane {
    bool crossing;    // the plane is across two edges
    int carrier;      // the shape that carries it, and whose lowest point along it is constant; -1:
                      // neither
    double normal[3]; // unit, at t = 0, into shape 0
    double spin[3];   // rad/s, of the normal
    double support;   // m, farthest r of the carrier along the plane, towards the other shape
    int end[2][2]; // crossing: vertices of the two edges; SPRAG_NO_VERTEX: the axis of a cylinder
    double sign;   // crossing: 1 or -1, of eA x eB as normal into shape 0
    double time;   // s, the plane separates the shapes so long
    int side;      // the shape whose point ends it, set by the safe_part functions
    double point[2][3]; // m, r in the axes of the shapes: that point, and one of the plane
} sprag_plane;

// The pair during the rest of the horizon.
typedef struct sprag_approach {
    const sprag_carried *pair; // at the start
    sprag_side side[2];
    double level, horizon, spin; // m, gap to keep; s; rad/s, sum of both spins
    double begin, length;        // s, start and length of the expansion
    long expansions;             // so far
} sprag_approach;

// Makes room for a key among `count` in descending order, of which the first `most` are kept.
// Returns its place, behind equal ones; `most`: all are larger. Entries of the same order, of this
// size (bytes), move with the keys.
int sprag_insert(double *key, int *count, int most, double value, void *entry, size_t size);

// A side from its shape and motion. near: a point near the other shape, used as x if the body does
// not turn. horizon: s.
void sprag_side_make(const sprag_carried *carried, const double *near, double horizon,
                     sprag_side *side);

// m, from a point (world) to the farthest one of a core.
double sprag_core_farthest(const sprag_core *core, const double from[3]);

// Turns a by the angle t w.
void sprag_turned(const double w[3], double t, const double a[3], double out[3]);

// Moves both sides to the time `begin` (s).
void sprag_approach_at(sprag_approach *a, double begin, double length);

// r of a vertex of the core, in the axes of the shape; SPRAG_NO_VERTEX: of the shape's centre.
void sprag_side_vertex(const sprag_side *side, int vertex, double r[3]);

// The part of the expansion, 0 to 1, during which the plane is certain to keep the shapes apart. If
// that is less than 1, sets side and point of the plane.
double sprag_plane_safe_part(const sprag_approach *a, sprag_plane *plane);
double sprag_crossing_safe_part(const sprag_approach *a, sprag_plane *plane);

// The same, at most `until`, during which base + r.m of the vertices r of a core stays positive,
// but of two that are skipped. m: in the axes of the shape. point: set to the vertex that ends it.
double sprag_vertices_safe_part(const sprag_side *side, const sprag_series3 *m,
                                const sprag_series *base, const int skip[2], double until,
                                double point[3]);

// The unit normal, into shape 0, of the plane across two edges, given by end and sign, at the start
// of the expansion. false: they are parallel.
bool sprag_crossing_normal(const sprag_approach *a, const sprag_plane *plane, double normal[3]);

// Finds planes across edges near the normal that separate the shapes at the start; the nearest
// edges first. Returns their number.
int sprag_crossings_find(const sprag_approach *a, const double normal[3],
                         sprag_plane plane[SPRAG_CROSSINGS]);

#endif
