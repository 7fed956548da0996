// Rows of geoms, in the order of collision.h, collision_space.h and collision_trimesh.h.
#include "test/support_scene.h"

// ---- a cube of 0.2 m as points, faces, triangles

static dReal cube_points[24] = {-0.1, -0.1, -0.1, 0.1, -0.1, -0.1, -0.1, 0.1, -0.1, 0.1, 0.1, -0.1,
                                -0.1, -0.1, 0.1,  0.1, -0.1, 0.1,  -0.1, 0.1, 0.1,  0.1, 0.1, 0.1};
static dReal cube_planes[24] = {1, 0,  0, 0.1, -1, 0, 0,  0.1, 0, 1, 0, 0.1,
                                0, -1, 0, 0.1, 0,  0, 1,  0.1, 0, 0, -1, 0.1};
static unsigned cube_faces[30] = {4, 1, 3, 7, 5, 4, 2, 0, 4, 6, 4, 3, 2, 6, 7,
                                  4, 0, 1, 5, 4, 4, 4, 5, 7, 6, 4, 2, 3, 1, 0};
static const dTriIndex cube_triangles[36] = {1, 3, 7, 1, 7, 5, 2, 0, 4, 2, 4, 6, 3, 2, 6, 3, 6, 7,
                                             0, 1, 5, 0, 5, 4, 4, 5, 7, 4, 7, 6, 2, 3, 1, 2, 1, 0};

static dGeomID mesh_of(scene *s, const dReal *points, int count, const dTriIndex *index, int indices)
{
    dTriMeshDataID data = dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildDouble(data, points, 3 * sizeof *points, count, index, indices,
                                3 * sizeof *index);
    s->mesh = data;
    return dCreateTriMesh(s->space, data, NULL, NULL, NULL);
}

// ---- what rests, and on what

static dGeomID ball(scene *s)
{
    return dCreateSphere(s->space, 0.1);
}

static dGeomID box(scene *s)
{
    return dCreateBox(s->space, 0.4, 0.4, 0.2);
}

static dGeomID capsule(scene *s)
{
    return dCreateCapsule(s->space, 0.1, 0.4);
}

static dGeomID cylinder(scene *s)
{
    return dCreateCylinder(s->space, 0.15, 0.2);
}

static dGeomID convex(scene *s)
{
    return dCreateConvex(s->space, cube_planes, 6, cube_points, 8, cube_faces);
}

static dGeomID mesh(scene *s)
{
    return mesh_of(s, cube_points, 8, cube_triangles, 36);
}

typedef struct mover {
    dGeomID (*make)(scene *);
    bool lies; // its z axis along x
    double height;
} mover;

static const mover movers[] = {{ball, false, 0.1},     {box, false, 0.1},    {capsule, true, 0.1},
                               {cylinder, false, 0.1}, {cylinder, true, 0.15}, {convex, false, 0.1},
                               {mesh, false, 0.1}};

enum { BALL, BOX, CAPSULE, STANDING_CYLINDER, CYLINDER, CONVEX, MESH, MOVERS };

static dBodyID put(scene *s, const mover *m, double z)
{
    dMatrix3 R;
    dBodyID body = scene_free_body(s, m->make(s), 0.05, 0.03, z);
    dRFromAxisAndAngle(R, 0, 1, 0, m->lies ? acos(0) : 0);
    dBodySetRotation(body, R);
    return body;
}

static void tell_rest(support_run *run, scene *s, dBodyID body, double drop)
{
    dVector3 start;
    dBodyCopyPosition(body, start);
    dBodySetPosition(body, start[0], start[1], start[2] + drop);
    s->contact.surface.mu = 0.5;
    scene_run(s, 100);
    const dReal *at = dBodyGetPosition(body);
    support_tell(run, at[2]);
    support_tell_error(run, hypot(at[0] - start[0], at[1] - start[1]));
}

static void rest_on(support_run *run, void (*ground)(scene *), const int *which, int count)
{
    for (int i = 0; i < count; i++) {
        scene *s = scene_open(run, NULL);
        const mover *m = &movers[which[i]];
        ground(s);
        tell_rest(run, s, put(s, m, m->height), 0.0005);
        scene_close(s);
    }
}

static void rest_rightly(support_run *run, const int *which, int count)
{
    for (int i = 0; i < count; i++) {
        support_tell(run, movers[which[i]].height);
    }
}

static void plane_ground(scene *s)
{
    dCreatePlane(s->space, 0, 0, 1, 0);
}

static void box_ground(scene *s)
{
    dGeomSetPosition(dCreateBox(s->space, 3, 3, 1), 0, 0, -0.5);
}

static void cylinder_ground(scene *s)
{
    dGeomSetPosition(dCreateCylinder(s->space, 1, 1), 0, 0, -0.5);
}

static void capsule_ground(scene *s)
{
    dGeomID geom = dCreateCapsule(s->space, 1, 3);
    dMatrix3 R;
    dRFromAxisAndAngle(R, 1, 0, 0, acos(0));
    dGeomSetPosition(geom, 0.05, 0, -1);
    dGeomSetRotation(geom, R);
}

static void mesh_ground(scene *s)
{
    static const dReal points[] = {-2, -2, 0, 2, -2, 0, -2, 2, 0, 2, 2, 0};
    static const dTriIndex index[] = {0, 1, 3, 0, 3, 2};
    mesh_of(s, points, 4, index, 6);
}

static const double flat[9] = {0};

static dGeomID field_of(scene *s, dHeightfieldDataID data)
{
    dMatrix3 R;
    dGeomID field = dCreateHeightfield(s->space, data, 1);
    s->field = data;
    dRFromAxisAndAngle(R, 1, 0, 0, acos(0)); // its y axis up
    dGeomSetRotation(field, R);
    return field;
}

static void field_ground(scene *s)
{
    dHeightfieldDataID data = dGeomHeightfieldDataCreate();
    dGeomHeightfieldDataBuildDouble(data, flat, 1, 4, 4, 3, 3, 1, 0, 1, 0);
    field_of(s, data);
}

static const int all[] = {BALL, BOX, CAPSULE, STANDING_CYLINDER, CYLINDER, CONVEX, MESH};

static void on_plane(support_run *run)
{
    rest_on(run, plane_ground, all, MOVERS);
}

static void on_box(support_run *run)
{
    rest_on(run, box_ground, all, MOVERS);
}

static void on_cylinder(support_run *run)
{
    rest_on(run, cylinder_ground, all, MOVERS);
}

// Stock's own convex on mesh ends the program.
static const int on_meshes[] = {BALL, BOX, CAPSULE, STANDING_CYLINDER, CYLINDER, MESH};

static void on_mesh(support_run *run)
{
    rest_on(run, mesh_ground, on_meshes, 6);
}

static void on_mesh_rightly(support_run *run)
{
    rest_rightly(run, on_meshes, 6);
}

static void on_field(support_run *run)
{
    rest_on(run, field_ground, all, MOVERS);
}

static void all_rightly(support_run *run)
{
    rest_rightly(run, all, MOVERS);
}

const support_row support_geoms[] = {
    {"on_plane", on_plane, all_rightly, {EXACT,EXACT,EXACT}},
    {"on_box", on_box, all_rightly, {EXACT,EXACT,EXACT}},
    {"on_cylinder", on_cylinder, all_rightly, {EXACT,EXACT,EXACT}},
    {"on_mesh", on_mesh, on_mesh_rightly, {EXACT,EXACT,EXACT}},
    {"on_field", on_field, all_rightly, {EXACT,EXACT,EXACT}},
    {0},
};
