// Distance between two convex cores: the point nearest to the origin of their difference { a - b },
// found among simplices of its support points. Gilbert, Johnson, Keerthi: A Fast Procedure for
// Computing the Distance Between Complex Objects in Three-Dimensional Space (1988).
//
// Each direction n gives a lower bound, s(n) = min n.a - max n.b (the slab between the two
// supporting planes), each point of the difference an upper one; the search ends when the two
// agree.
#ifndef SPRAG_GJK_H
#define SPRAG_GJK_H

#include "shape.h"

typedef struct sprag_pair_vertex {
    double at[3];       // m, point[0] - point[1]
    double point[2][3]; // m, on the cores
    int id[2];          // vertices of the cores, or SPRAG_NO_VERTEX
} sprag_pair_vertex;

typedef struct sprag_simplex {
    int count; // vertices, 1 to 4
    sprag_pair_vertex vertex[4];
    double weight[4]; // weights that give the nearest point; their sum is 1
} sprag_simplex;

typedef enum sprag_gjk_end {
    SPRAG_GJK_APART,  // distance and normal are exact to rounding
    SPRAG_GJK_BEYOND, // farther than reach; `bound` is a lower bound of the distance
    SPRAG_GJK_NEAR,   // apart by `distance` at most and `bound` at least: a curved core, or no
                      // progress
    SPRAG_GJK_INSIDE, // the origin is inside the simplex, or on it to rounding: the cores overlap
} sprag_gjk_end;

typedef struct sprag_gjk {
    sprag_simplex simplex;
    double normal[3]; // in: first guess; out: unit, from core 1 to core 0, has the best bound
    double bound;     // m, s(normal), a lower bound of the distance
    double distance;  // m, of the nearest point so far, an upper bound
    int steps;        // taken
    double size; // m, the largest coordinate of a support point: rounding errors are relative to it
} sprag_gjk;

// Support points of the difference against a direction of any length: the nearest points if it is
// the normal. Returns s(direction) times its length, m.
double sprag_pair_support(const sprag_core core[2], const double direction[3],
                          sprag_pair_vertex *vertex);

// s(normal) by a pair of points, m.
static inline double sprag_pair_height(const sprag_pair_vertex *vertex, const double normal[3])
{
    return normal[0] * vertex->at[0] + normal[1] * vertex->at[1] + normal[2] * vertex->at[2];
}

// The point of the simplex nearest to the origin; drops vertices that it does not need and sets the
// weights of the others. false: the origin is inside.
bool sprag_simplex_nearest(sprag_simplex *simplex, double nearest[3]);

// GJK. On entry: gjk->simplex, from a similar pair (count 0: none), with only its ids set;
// gjk->normal, a first guess of any length. reach: m, larger distances need only a lower bound.
sprag_gjk_end sprag_gjk_find(const sprag_core core[2], double reach, sprag_gjk *gjk);

// The nearest points (m, on the cores), by the weights of the simplex.
void sprag_simplex_points(const sprag_simplex *simplex, double point[2][3]);

// The normal of the simplex once more, from edges about the cores' own centres. Far from the
// origin, edges between placed vertices have lost digits.
void sprag_simplex_normal(const sprag_core core[2], const sprag_simplex *simplex, double normal[3]);

#endif
