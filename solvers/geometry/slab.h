// A slab between two convex hulls of a few vertices each, of which a cylinder adds its radius all
// round its axis. The height of the slab along a unit normal n, between one feature of each hull:
//
//     s(n) = n.c - r0 |P0 n| - r1 |P1 n|,   n at right angles to the edges of the features
//
// c joins a vertex of feature 1 to one of feature 0, and P removes the component along the axis of
// the cylinder. s is smooth, except where n is the axis of a cylinder.
#ifndef SPRAG_SLAB_H
#define SPRAG_SLAB_H

#include "gjk.h"

enum { SPRAG_SLAB_VERTICES = 4 };

// The vertices of a core that may be active. For a cylinder: the centres of its two caps.
typedef struct sprag_slab_hull {
    int count;
    double at[SPRAG_SLAB_VERTICES][3];    // m
    double about[SPRAG_SLAB_VERTICES][3]; // m, from the centre of the core: edges keep their digits
    int id[SPRAG_SLAB_VERTICES];          // vertices of the core
    double radius;                        // m, of a cylinder; else 0
    double axis[3], across[2][3];         // of a cylinder: unit, an orthonormal basis
} sprag_slab_hull;

// Active vertices, by their places in the hull: a vertex, an edge or a face. count 0: a cap.
typedef struct sprag_slab_feature {
    int count, pick[3];
} sprag_slab_feature;

typedef struct sprag_slab {
    sprag_slab_feature feature[2];
    double normal[3]; // unit, into core 0
    double height;    // m, over all vertices of the hulls
} sprag_slab;

// The normals that are searched: those whose cosine with `near` is at least `cosine`; -1: all.
typedef struct sprag_slab_cone {
    double near[3], cosine;
} sprag_slab_cone;

// Height along a normal over all vertices of the hulls, m.
double sprag_slab_height(const sprag_slab_hull hull[2], const double n[3]);

// P n / |P n| (p; 0 if P n is) and |P n| (returned), by the axes across: what the axis leaves of n
// may be small.
double sprag_slab_radial(const sprag_slab_hull *h, const double n[3], double p[3]);

// The edges of a feature from its first vertex, m. Returns their number.
int sprag_slab_edges(const sprag_slab_hull *h, const sprag_slab_feature *f, double edge[][3]);

// Newton's method from n for the largest smooth height, on the unit sphere or, with an edge, on its
// circle at right angles to the edge. c: m, from feature 1 to feature 0. size: m, rounding errors
// are relative to it. A search that leaves the cone ends. work: grows by the heights tried. true:
// the height is largest there or outside the cone, or, near a cylinder's axis, the slab of its cap
// is higher. false: no maximum was found; n is then the last normal.
bool sprag_slab_maximise(const sprag_slab_hull hull[2], const double c[3], const double *edge,
                         double size, const sprag_slab_cone *cone, double n[3], int *work);

// A first guess for n between two features that are vertices: puts each rim in turn where it is
// nearest to the other feature. Exact if only one of the cores is a cylinder.
void sprag_slab_start(const sprag_slab_hull hull[2], const double c[3], double n[3]);

// The points of the two features that are nearest along the normal. Returns by how far (m) their
// difference is not height times normal.
double sprag_slab_points(const sprag_slab_hull hull[2], const sprag_slab *slab, double size,
                         double point[2][3]);

#endif
