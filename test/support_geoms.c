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
    support_tell(run, hypot(at[0] - start[0], at[1] - start[1]));
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
        support_tell(run, 0);
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


// In the groove between two that lie side by side.
static void in_groove(support_run *run)
{
    static const int which[] = {BALL, CAPSULE, CYLINDER};
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 2; k++) {
            scene *s = scene_open(run, NULL);
            dMatrix3 R;
            dRFromAxisAndAngle(R, 0, 1, 0, acos(0));
            for (int side = -1; side <= 1; side += 2) {
                dGeomID bar = k ? dCreateCylinder(s->space, 0.1, 2) : dCreateCapsule(s->space, 0.1, 2);
                dGeomSetPosition(bar, 0, 0.03 + side * 0.12, 0);
                dGeomSetRotation(bar, R);
            }
            double radius = movers[which[i]].height + 0.1;
            tell_rest(run, s, put(s, &movers[which[i]], sqrt(radius * radius - 0.12 * 0.12)), 0);
            scene_close(s);
        }
    }
}

static void in_groove_rightly(support_run *run)
{
    for (int i = 0; i < 3; i++) {
        double radius = i < 2 ? 0.2 : 0.25;
        for (int k = 0; k < 2; k++) {
            support_tell(run, sqrt(radius * radius - 0.12 * 0.12));
            support_tell(run, 0);
        }
    }
}

// ---- where a geom is on its body

// Its box lies 0.1 m beside the body and 0.05 m above, and on its side: 0.4 m high.
static void set_offset(dGeomID geom, int how)
{
    dMatrix3 R;
    dQuaternion q;
    dRFromAxisAndAngle(R, 0, 1, 0, acos(0));
    dQFromAxisAndAngle(q, 0, 1, 0, acos(0));
    switch (how) {
    case 0:
        dGeomSetOffsetPosition(geom, 0.1, 0, 0.05);
        dGeomSetOffsetRotation(geom, R);
        break;
    case 1:
        dGeomSetOffsetQuaternion(geom, q);
        dGeomSetOffsetPosition(geom, 0.1, 0, 0.05);
        break;
    case 2:
        dGeomSetOffsetWorldRotation(geom, R);
        dGeomSetOffsetWorldPosition(geom, 0.1, 0, 0.15 + 0.05);
        break;
    default:
        dGeomSetOffsetPosition(geom, 1, 2, 3);
        dGeomClearOffset(geom);
        break;
    }
}

static void offsets(support_run *run)
{
    for (int how = 0; how < 4; how++) {
        scene *s = scene_open(run, NULL);
        dGeomID geom = box(s);
        plane_ground(s);
        dBodyID body = scene_body(s, geom, 0, 0, how < 3 ? 0.15 : 0.1);
        set_offset(geom, how);
        tell_rest(run, s, body, 0.0005);
        scene_close(s);
    }
}

static void offsets_rightly(support_run *run)
{
    for (int how = 0; how < 4; how++) {
        support_tell(run, how < 3 ? 0.15 : 0.1);
        support_tell(run, 0);
    }
}

// A table: a slab with four legs, of every other one class.
static void several_geoms(support_run *run)
{
    scene *s = scene_open(run, NULL);
    dGeomID slab = dCreateBox(s->space, 1, 1, 0.1);
    plane_ground(s);
    dBodyID table = scene_free_body(s, slab, 0, 0, 0.5);
    for (int i = 0; i < 4; i++) {
        dGeomID leg = i % 2 ? dCreateCapsule(s->space, 0.05, 0.35) : dCreateBox(s->space, 0.1, 0.1, 0.45);
        dGeomSetBody(leg, table);
        dGeomSetOffsetPosition(leg, i & 1 ? 0.4 : -0.4, i & 2 ? 0.4 : -0.4, -0.275);
    }
    tell_rest(run, s, table, 0.0005);
    scene_close(s);
}

static void several_geoms_rightly(support_run *run)
{
    support_tell(run, 0.5);
    support_tell(run, 0);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static void transforms(support_run *run)
{
    for (int mode = 0; mode < 4; mode++) {
        scene *s = scene_open(run, NULL);
        dGeomID transform = dCreateGeomTransform(s->space), inner = dCreateBox(NULL, 0.4, 0.4, 0.2);
        plane_ground(s);
        dGeomTransformSetCleanup(transform, mode & 1);
        dGeomTransformSetInfo(transform, mode >> 1);
        dGeomTransformSetGeom(transform, inner);
        dGeomSetPosition(inner, 0.1, 0, 0.05);
        tell_rest(run, s, scene_body(s, transform, 0, 0, 0.05), 0.0005);
        scene_close(s);
        if (!(mode & 1)) {
            dGeomDestroy(inner);
        }
    }
}

#pragma GCC diagnostic pop

static void transforms_rightly(support_run *run)
{
    for (int mode = 0; mode < 4; mode++) {
        support_tell(run, 0.05);
        support_tell(run, 0);
    }
}

// ---- spaces and who meets whom

static dSpaceID space_of_kind(dSpaceID parent, int kind)
{
    const dVector3 centre = {0}, extent = {10, 10, 10};
    return kind == 0   ? dSimpleSpaceCreate(parent)
           : kind == 1 ? dHashSpaceCreate(parent)
           : kind == 2 ? dQuadTreeSpaceCreate(parent, centre, extent, 4)
                       : dSweepAndPruneSpaceCreate(parent, dSAP_AXES_XYZ);
}

// The body is in a space of the kind, in a space of the scene.
static void inner_spaces(support_run *run)
{
    for (int kind = 0; kind < 4; kind++) {
        scene *s = scene_open(run, NULL);
        dSpaceID inner = space_of_kind(s->space, kind);
        dGeomID geom = dCreateBox(inner, 0.4, 0.4, 0.2);
        box_ground(s);
        tell_rest(run, s, scene_body(s, geom, 0.05, 0.03, 0.1), 0.0005);
        scene_close(s);
    }
}

static void four_blocks_rightly(support_run *run)
{
    for (int i = 0; i < 4; i++) {
        support_tell(run, 0.1);
        support_tell(run, 0);
    }
}

// The outermost is.
static void outer_spaces(support_run *run)
{
    for (int kind = 0; kind < 4; kind++) {
        scene *s = scene_open(run, NULL);
        dSpaceDestroy(s->space);
        s->space = space_of_kind(NULL, kind);
        dGeomID geom = box(s);
        box_ground(s);
        tell_rest(run, s, scene_body(s, geom, 0.05, 0.03, 0.1), 0.0005);
        scene_close(s);
    }
}

static void step_two(scene *s, dGeomID a, dGeomID b)
{
    scene_empty(s);
    dSpaceCollide2(a, b, s, scene_near);
    dWorldStep(s->world, s->step);
}

// Two spaces, a geom and a space, two geoms; of two spaces only what is across.
static void collide_two(support_run *run)
{
    for (int i = 0; i < 3; i++) {
        scene *s = scene_open(run, NULL);
        dSpaceID other = dSimpleSpaceCreate(NULL);
        dGeomID ground = dCreateBox(other, 3, 3, 1), geom = box(s);
        dBodyID block = scene_body(s, geom, 0, 0, 0.1 + 0.0005);
        dBodyID upper = scene_body(s, box(s), 0, 0, 0.3 + 0.0005);
        dGeomSetPosition(ground, 0, 0, -0.5);
        for (int n = 0; n < 50; n++) {
            step_two(s, i < 2 ? (dGeomID)s->space : geom, i < 1 ? (dGeomID)other : ground);
        }
        support_tell(run, dBodyGetPosition(block)[2]);
        support_tell(run, dBodyGetPosition(upper)[2]);
        scene_close(s);
        dSpaceDestroy(other);
    }
}

static void collide_two_rightly(support_run *run)
{
    for (int i = 0; i < 3; i++) {
        support_tell(run, 0.1);
        support_tell(run, i < 2 ? 0.1 : 0.3 + 0.0005 - G * H * H * 50 * 51 / 2);
    }
}

// Every two geoms by dCollide, without a call on a space; dCollide of a geom and a space.
static void collide_geoms(support_run *run)
{
    for (int i = 0; i < 2; i++) {
        scene *s = scene_open(run, NULL);
        dSpaceID other = dSimpleSpaceCreate(NULL);
        dGeomID ground = dCreateBox(other, 3, 3, 1), geom = box(s);
        dBodyID block = scene_body(s, geom, 0, 0, 0.1);
        dGeomSetPosition(ground, 0, 0, -0.5);
        for (int n = 0; n < 50; n++) {
            dContactGeom contact[16];
            scene_empty(s);
            int count = dCollide(geom, i ? (dGeomID)other : ground, 16, contact, sizeof *contact);
            for (int k = 0; k < count; k++) {
                scene_join(s, &contact[k]);
            }
            dWorldStep(s->world, s->step);
        }
        support_tell(run, dBodyGetPosition(block)[2]);
        scene_close(s);
        dSpaceDestroy(other);
    }
}

static void collide_geoms_rightly(support_run *run)
{
    support_tell(run, 0.1);
    support_tell(run, 0.1);
}

// Bits that match, bits that do not, a geom that is disabled, one without size, and a pair for which
// the callback makes no contact: one block rests, the others fall.
static void let_through(support_run *run)
{
    for (int i = 0; i < 5; i++) {
        scene *s = scene_open(run, NULL);
        dGeomID geom = i == 3 ? dCreateSphere(s->space, 0) : box(s);
        dBodyID block = scene_body(s, geom, 0, 0, 0.1 + 0.0005);
        plane_ground(s);
        dGeomSetCategoryBits(geom, 2);
        dGeomSetCollideBits(geom, i == 1 ? 2 : 4);
        dGeomSetCategoryBits(dSpaceGetGeom(s->space, 0), 4);
        dGeomSetCollideBits(dSpaceGetGeom(s->space, 0), 0);
        dGeomSetCategoryBits(geom, 2);
        dGeomSetCollideBits(geom, i == 1 ? 2 : 4);
        s->flags = 16;
        if (i == 2) {
            dGeomDisable(geom);
        }
        for (int n = 0; n < 20; n++) {
            scene_empty(s);
            dSpaceCollide(s->space, s, i == 4 ? scene_ignore : scene_near);
            dWorldStep(s->world, s->step);
        }
        support_tell(run, dBodyGetPosition(block)[2]);
        scene_close(s);
    }
}

static void let_through_rightly(support_run *run)
{
    support_tell(run, 0.1);
    for (int i = 1; i < 5; i++) {
        support_tell(run, 0.1 + 0.0005 - G * H * H * 20 * 21 / 2);
    }
}

const support_row support_geoms[] = {
    {"on_plane", on_plane, all_rightly, {EXACT,EXACT,EXACT}},
    {"on_box", on_box, all_rightly, {EXACT,EXACT,EXACT}},
    {"on_cylinder", on_cylinder, all_rightly, {EXACT,EXACT,EXACT}},
    {"on_mesh", on_mesh, on_mesh_rightly, {EXACT,EXACT,EXACT}},
    {"on_field", on_field, all_rightly, {EXACT,EXACT,EXACT}},
    {"in_groove", in_groove, in_groove_rightly, {EXACT,EXACT,EXACT}},
    {"offsets", offsets, offsets_rightly, {EXACT,EXACT,EXACT}},
    {"several_geoms", several_geoms, several_geoms_rightly, {EXACT,EXACT,EXACT}},
    {"transforms", transforms, transforms_rightly, {EXACT,EXACT,EXACT}},
    {"inner_spaces", inner_spaces, four_blocks_rightly, {EXACT,EXACT,EXACT}},
    {"outer_spaces", outer_spaces, four_blocks_rightly, {EXACT,EXACT,EXACT}},
    {"collide_two", collide_two, collide_two_rightly, {EXACT,EXACT,EXACT}},
    {"collide_geoms", collide_geoms, collide_geoms_rightly, {EXACT,EXACT,EXACT}},
    {"let_through", let_through, let_through_rightly, {EXACT,EXACT,EXACT}},
    {0},
};
