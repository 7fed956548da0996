// The triangles of a mesh that are near a shape.
#ifndef SPRAG_MESH_NEAR_H
#define SPRAG_MESH_NEAR_H

#include "geoms.h"
#include "scratch.h"

typedef struct ode_triangle {
    int number;
    double corner[3][3]; // m, in the axes of the mesh
    double normal[3];    // of the front, m^2: twice the area long
} ode_triangle;

typedef struct ode_near { // in scratch
    ode_triangle *triangle;
    int count, room;
    bool is_flat;     // all that are in the box of the shape are in one plane; not if `closely`
    double normal[3]; // its normal, unit, in the axes of the mesh
} ode_near;

// Lists the triangles that are not farther (m) from a shape than this. Of balls, these are all; of
// capsules, cylinders and boxes, a few more: those that are apart neither along their normal nor
// along an axis of the shape, nor by the balls around them. closely: those in one plane, too; else
// these are all that are in the shape's box. false: no memory, or too many.
bool sprag_ode_triangles_near(const ode_geom *mesh, const ode_geom *shape, double reach,
                              bool closely, sprag_scratch *scratch, ode_near *near);

#endif
