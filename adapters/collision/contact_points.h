// Contact points of two geoms while they are collected.
#ifndef SPRAG_CONTACT_POINTS_H
#define SPRAG_CONTACT_POINTS_H

#include "geom_pairs.h"
#include "mesh_near.h"

typedef struct ode_point {
    double at[3], normal[3]; // m, unit
    double gap;              // m
    int triangle[2];         // of the sides, as ODE's contacts name it
    double far;              // scratch of the functions below
} ode_point;

typedef struct ode_points { // in scratch
    sprag_scratch *scratch;
    dGeomID geom[2]; // of the sides, as ODE's contacts name them
    const ode_last_step *last;
    double reach;    // m, points farther apart do not touch
    double gaps;     // m, points farther apart are left out
    double together; // m, apart by less: one point
    ode_point *point;
    int count, room;
    bool left_out; // of two meshes: points whose normals are not of both
} ode_points;

// The place of the points between the two surfaces.
typedef enum ode_spot {
    ODE_SPOT_BETWEEN, // in the middle of the two surfaces
    ODE_SPOT_ON_0,    // on the surface of side 0
    ODE_SPOT_ON_1
} ode_spot;

// Adds the points of a manifold; without any, that of the gap. Without memory `scratch` has failed.
void sprag_ode_add_points(ode_points *all, const sprag_gap *gap, const sprag_manifold *manifold,
                          const int triangle[2], ode_spot spot);

// Takes out the points within or on the outline of those in one plane with them: they carry nothing
// that its corners do not. Without memory `scratch` has failed.
void sprag_ode_keep_outlines(ode_points *all);

// Brings the points that touch to the front, in their order, and behind them those with the least
// gaps, as many as make `most` with those that touch.
void sprag_ode_touching_first(ode_points *all, int most);

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

// The collision of a mesh with a shape, or with the triangles of another mesh, each of which is a
// shape.
typedef struct ode_mesh_collision {
    ode_points *all;
    const ode_geom *geom;      // of both sides
    int side;                  // of the mesh
    const ode_triangle *piece; // which triangle of the other mesh the shape is; NULL: none
    ode_near near[2];          // triangles of the meshes near the other side; none of a shape
    ode_spot spot;
} ode_mesh_collision;

// Adds the points of the shape and one triangle of the mesh; none of one that the kernel cannot
// use.
void sprag_ode_collide_triangle(ode_mesh_collision *c, const ode_triangle *triangle);

// Adds points of the triangle of that number.
void sprag_ode_add_mesh_points(ode_mesh_collision *c, int number, const sprag_gap *gap,
                               const sprag_manifold *manifold);

// Is a point (m, in the axes of the mesh) nearer to any triangle than this (m)?
bool sprag_ode_leaves_elsewhere(const ode_mesh_collision *c, const double at[3], double length);

// Adds the points of a mesh and a shape. side: of the mesh. any: `most` points are enough. false:
// too many triangles, or no memory.
bool sprag_ode_collide_mesh(ode_points *all, const ode_geom geom[2], int side, int most, bool any);

// The same of two meshes; collide_meshes.c. false, too: too many triangles, or they
// overlap so deeply that no point has a normal of both.
bool sprag_ode_collide_meshes(ode_points *all, const ode_geom geom[2], int most, bool any);

// ---- mesh_sides.c

// Is a shape that overlaps a triangle, and has most of its width behind it, to leave by the back?
// Not if a contact of the last step led it by the front, unless that is of another surface, in
// which the shape hardly is: of a floor beneath a ramp. It is if most of it was behind the triangle
// two steps ago, apart from it: thin shapes pass a triangle whole within one. If it overlapped it
// then, it leaves where the last contacts led; without any it has been placed there, and leaves by
// the front unless it is hardly in front of the triangle. Heightfields have no back.
bool sprag_ode_is_behind(const ode_mesh_collision *c, const sprag_shape *const shape[2],
                         const sprag_pose *const pose[2], const sprag_gap *found);

#endif
