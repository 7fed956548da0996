// Contact points of two geoms while they are collected.
#ifndef SPRAG_CONTACT_POINTS_H
#define SPRAG_CONTACT_POINTS_H

#include "geom_pairs.h"

typedef struct ode_point {
    double at[3], normal[3]; // m, unit
    double gap;              // m
    int triangle[2];         // of the sides, as ODE's contacts name it
    double far;              // m^2, scratch of sprag_ode_choose_points
} ode_point;

typedef struct ode_points { // in scratch
    sprag_scratch *scratch;
    dGeomID geom[2]; // of the sides, as ODE's contacts name them
    double reach;    // m, points farther apart are left out
    double together; // m, apart by less: one point
    ode_point *point;
    int count, room;
} ode_points;

// The place of the points between the two surfaces.
typedef enum ode_spot {
    ODE_SPOT_BETWEEN, // in the middle of the two surfaces
    ODE_SPOT_ON_0,    // on the surface of side 0
    ODE_SPOT_ON_1
} ode_spot;

// Adds the points of a manifold; without any, that of the gap. false: no memory.
bool sprag_ode_add_points(ode_points *all, const sprag_gap *gap, const sprag_manifold *manifold,
                          const int triangle[2], ode_spot spot);

// Brings `most` points to the front.
void sprag_ode_choose_points(ode_points *all, int most);

void sprag_ode_put_point(const ode_points *all, const ode_point *from, dContactGeom *to);

// The number of a triangle as ODE's contacts name it.
int sprag_ode_named_triangle(dGeomID geom, int number);

// Can the kernel's answer be used? An error of a tenth of the reach cannot be told from the gap
// that counts as touching.
static inline bool sprag_ode_is_usable(sprag_result result, const sprag_gap *gap, double reach)
{
    return result == SPRAG_OK || (result == SPRAG_NOT_CONVERGED && gap->error < reach / 10);
}

// ---- collide_mesh.c

// Adds the points of a mesh and a shape. side: of the mesh. any: `most` points are enough. false:
// no memory.
bool sprag_ode_collide_mesh(ode_points *all, const ode_geom geom[2], int side, int most, bool any);

#endif
