// The triangles of a mesh that are near a shape.
#ifndef SPRAG_MESH_NEAR_H
#define SPRAG_MESH_NEAR_H

#include "geom_pairs.h"
#include "geoms.h"
#include "scratch.h"

// m: a point this near to a triangle, or to its plane, is on it. Greater: corners of small
// triangles share what is apart, contacts are lost where triangles are not quite in one plane;
// smaller: edges count as seen from the side by rounding.
#define ODE_SAME_POINT 1e-9

typedef struct ode_triangle {
    int number;
    double corner[3][3]; // m, in the axes of the mesh
    double normal[3];    // of the front, m^2: twice the area long
} ode_triangle;

typedef struct ode_near { // in scratch
    ode_triangle *triangle;
    int count, room;
    bool is_flat;     // all that may be near the shape are in one plane; not ODE_NEAR_EACH
    double normal[3]; // its normal, unit, in the axes of the mesh
} ode_near;

typedef enum ode_near_mode {
    ODE_NEAR_EACH,
    ODE_NEAR_FLAT,   // as long as all that may be near are in one plane, all of these
    ODE_NEAR_ONE,    // the same, or a patch alone for them, if that is known at once
    ODE_NEAR_MERGED, // one triangle for all, if they fill one plane where the shape may go
} ode_near_mode;

// Corners of a triangle after six cuts. A cut leaves one more of a convex polygon, but rounding may
// make it cross a plane more often: then each corner that is left has two crossings beside it, and
// 3 become 4, 6, 9, 13, 19 and 28.
enum { ODE_CUT_MOST = 28 };

// Cuts off what is of a convex polygon (m) outside a plane. Returns its corners that are left.
int sprag_ode_cut(double (*point)[3], int count, const double origin[3], const double inwards[3]);

// Moves a shape to the middle of its way (m) and of the turn of its body. Returns how far (m) its
// surface is from there meanwhile: what round shapes turn about their axis does not count.
double sprag_ode_move_half(ode_geom *shape, const double way[3], const ode_motion *motion);

// Lists the triangles that are not farther (m) from a shape than this. Of balls, these are all; of
// capsules, cylinders and boxes, a few more: those that are not apart by their boxes along the axes
// of the shape. false: no memory, or too many.
bool sprag_ode_triangles_near(const ode_geom *mesh, const ode_geom *shape, double reach,
                              ode_near_mode mode, sprag_scratch *scratch, ode_near *near);

#endif
