// Distance between two convex cores: the nearest point to the origin of their difference
// { a - b }, found among simplices that its support points span. Gilbert, Johnson, Keerthi: A Fast
// Procedure for Computing the Distance Between Complex Objects in Three-Dimensional Space (1988).
//
// Every direction n bounds the distance from below, by s(n) = min n.a - max n.b (the slab between
// the two supporting planes), every point of the difference from above; the search ends where the
// two meet.
#ifndef SPRAG_GJK_H
#define SPRAG_GJK_H

#include "shape.h"

typedef struct sprag_pair_vertex {
    double at[3]; // m, point[0] - point[1]
    double point[2][3];
    int id[2]; // vertices of the cores, or SPRAG_NO_VERTEX
} sprag_pair_vertex;

typedef struct sprag_simplex {
    int count;
    sprag_pair_vertex vertex[4];
    double weight[4]; // of the nearest point
} sprag_simplex;

typedef enum sprag_gjk_end {
    SPRAG_GJK_APART,  // distance and normal are exact to rounding
    SPRAG_GJK_BEYOND, // farther than reach; the bound says how far at least
    SPRAG_GJK_NEAR,   // apart by `distance` at most and `bound` at least: curved, or stalled
    SPRAG_GJK_INSIDE, // the simplex has the origin inside, or on it to rounding
} sprag_gjk_end;

typedef struct sprag_gjk {
    sprag_simplex simplex;
    double normal[3]; // unit, from core 1 to core 0, with the best bound so far
    double bound;     // m, s(normal)
    double distance;  // m, of the nearest point so far
    double size;      // m, coordinates that were met: rounding is relative to them
} sprag_gjk;

// The farthest pair of points against the direction: the nearest ones if it is the normal. Returns
// s(direction) times its length.
double sprag_pair_support(const sprag_core core[2], const double direction[3],
                          sprag_pair_vertex *vertex);

// s(normal), by the pair of points.
static inline double sprag_pair_height(const sprag_pair_vertex *vertex, const double normal[3])
{
    return normal[0] * vertex->at[0] + normal[1] * vertex->at[1] + normal[2] * vertex->at[2];
}

// The point of the simplex nearest to the origin; drops the vertices that it does not need.
// Returns false if the origin is inside.
bool sprag_simplex_nearest(sprag_simplex *simplex, double nearest[3]);

// On entry: simplex, from a similar pair (count 0: none), with ids alone set; normal, a first
// guess of any length. reach: m.
sprag_gjk_end sprag_gjk_find(const sprag_core core[2], double reach, sprag_gjk *gjk);

// Where the nearest points are, by the weights of the simplex.
void sprag_simplex_points(const sprag_simplex *simplex, double point[2][3]);

// The direction to the nearest point once more, from edges that are taken about the cores' own
// centres: far apart, those between placed vertices have lost digits.
void sprag_simplex_normal(const sprag_core core[2], const sprag_simplex *simplex, double normal[3]);

#endif
