// Shapes for the rows of geoms.
#ifndef TEST_TABLE_GEOMS_H
#define TEST_TABLE_GEOMS_H

#include "support_scene.h"

// ---- a cube of 0.2 m as points, faces, triangles

static dReal cube_points[24] = {-0.1, -0.1, -0.1, 0.1, -0.1, -0.1, -0.1, 0.1, -0.1, 0.1, 0.1, -0.1,
                                -0.1, -0.1, 0.1,  0.1, -0.1, 0.1,  -0.1, 0.1, 0.1,  0.1, 0.1, 0.1};
static dReal cube_planes[24] = {1, 0,  0, 0.1, -1, 0, 0, 0.1, 0, 1, 0,  0.1,
                                0, -1, 0, 0.1, 0,  0, 1, 0.1, 0, 0, -1, 0.1};
static unsigned cube_faces[30] = {4, 1, 3, 7, 5, 4, 2, 0, 4, 6, 4, 3, 2, 6, 7,
                                  4, 0, 1, 5, 4, 4, 4, 5, 7, 6, 4, 2, 3, 1, 0};
static const dTriIndex cube_triangles[36] = {1, 3, 7, 1, 7, 5, 2, 0, 4, 2, 4, 6, 3, 2, 6, 3, 6, 7,
                                             0, 1, 5, 0, 5, 4, 4, 5, 7, 4, 7, 6, 2, 3, 1, 2, 1, 0};

// ---- bodies at rest on each kind of ground

static inline dGeomID ball(scene *s)
{
    return dCreateSphere(s->space, 0.1);
}

static inline dGeomID box(scene *s)
{
    return dCreateBox(s->space, 0.4, 0.4, 0.2);
}

static inline dGeomID capsule(scene *s)
{
    return dCreateCapsule(s->space, 0.1, 0.4);
}

static inline dGeomID cylinder(scene *s)
{
    return dCreateCylinder(s->space, 0.15, 0.2);
}

static inline dGeomID convex(scene *s)
{
    return dCreateConvex(s->space, cube_planes, 6, cube_points, 8, cube_faces);
}

static inline dGeomID mesh(scene *s)
{
    return scene_mesh(s, cube_points, 8, cube_triangles, 36);
}

typedef struct mover {
    dGeomID (*make)(scene *);
    bool lies; // its z axis along x
    double height;
} mover;

static const mover movers[] = {{ball, false, 0.1},     {box, false, 0.1},      {capsule, true, 0.1},
                               {cylinder, false, 0.1}, {cylinder, true, 0.15}, {convex, false, 0.1},
                               {mesh, false, 0.1}};

enum { BALL, BOX, CAPSULE, STANDING_CYLINDER, CYLINDER, CONVEX, MESH, MOVERS };

static inline dBodyID put(scene *s, const mover *m, double z)
{
    dMatrix3 R;
    dBodyID body = scene_free_body(s, m->make(s), 0.05, 0.03, z);
    dRFromAxisAndAngle(R, 0, 1, 0, m->lies ? acos(0) : 0);
    dBodySetRotation(body, R);
    return body;
}

static inline void plane_ground(scene *s)
{
    dCreatePlane(s->space, 0, 0, 1, 0);
}

static inline void mesh_ground(scene *s)
{
    static const dReal points[] = {-2, -2, 0, 2, -2, 0, -2, 2, 0, 2, 2, 0};
    static const dTriIndex index[] = {0, 1, 3, 0, 3, 2};
    scene_mesh(s, points, 4, index, 6);
}

static inline dGeomID field_of(scene *s, dHeightfieldDataID data)
{
    dMatrix3 R;
    dGeomID field = dCreateHeightfield(s->space, data, 1);
    s->field = data;
    dRFromAxisAndAngle(R, 1, 0, 0, acos(0)); // its y axis up
    dGeomSetRotation(field, R);
    return field;
}

// ---- spaces and who meets whom

static inline void two_expected(support_run *run)
{
    support_report_pairs(run, 1, 0.1, 0.1);
}

#endif
