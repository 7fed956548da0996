// Rows of geoms, in the order of collision.h, collision_space.h and collision_trimesh.h.
#include "geoms.h"

// ---- bodies at rest on each kind of ground

static void rest_on(support_run *run, void (*ground)(scene *), const int *which, int count)
{
    for (int i = 0; i < count; i++) {
        scene *s = scene_open(run, NULL);
        const mover *m = &movers[which[i]];
        ground(s);
        scene_report_rest(run, s, put(s, m, m->height), 0.0005);
        scene_close(s);
    }
}

static void rest_expected(support_run *run, const int *which, int count)
{
    for (int i = 0; i < count; i++) {
        support_report_pairs(run, 1, movers[which[i]].height, 0);
    }
}

static void box_ground(scene *s)
{
    dGeomSetPosition(dCreateBox(s->space, 3, 3, 1), 0, 0, -0.5);
}

static void cylinder_ground(scene *s)
{
    dGeomSetPosition(dCreateCylinder(s->space, 1, 1), 0, 0, -0.5);
}

static const double flat[9] = {0};

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

static void on_mesh_expected(support_run *run)
{
    rest_expected(run, on_meshes, 6);
}

static void on_field(support_run *run)
{
    rest_on(run, field_ground, all, MOVERS);
}

static void all_expected(support_run *run)
{
    rest_expected(run, all, MOVERS);
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
                dGeomID bar =
                    k ? dCreateCylinder(s->space, 0.1, 2) : dCreateCapsule(s->space, 0.1, 2);
                dGeomSetPosition(bar, 0, 0.03 + side * 0.12, 0);
                dGeomSetRotation(bar, R);
            }
            double radius = movers[which[i]].height + 0.1;
            scene_report_rest(run, s,
                              put(s, &movers[which[i]], sqrt(radius * radius - 0.12 * 0.12)), 0);
            scene_close(s);
        }
    }
}

static void in_groove_expected(support_run *run)
{
    for (int i = 0; i < 3; i++) {
        double radius = i < 2 ? 0.2 : 0.25;
        support_report_pairs(run, 2, sqrt(radius * radius - 0.12 * 0.12), 0);
    }
}

// ---- offsets of geoms on their bodies

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
    case 3:
        dGeomSetOffsetWorldQuaternion(geom, q);
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
    for (int how = 0; how < 5; how++) {
        scene *s = scene_open(run, NULL);
        dGeomID geom = box(s);
        plane_ground(s);
        dBodyID body = scene_body(s, geom, 0, 0, how < 4 ? 0.15 : 0.1);
        set_offset(geom, how);
        scene_report_rest(run, s, body, 0.0005);
        scene_close(s);
    }
}

static void offsets_expected(support_run *run)
{
    support_report_pairs(run, 4, 0.15, 0);
    support_report_pairs(run, 1, 0.1, 0);
}

// A table: a slab with four legs, of every other one class.
static void several_geoms(support_run *run)
{
    scene *s = scene_open(run, NULL);
    dGeomID slab = dCreateBox(s->space, 1, 1, 0.1);
    plane_ground(s);
    dBodyID table = scene_free_body(s, slab, 0, 0, 0.5);
    for (int i = 0; i < 4; i++) {
        dGeomID leg =
            i % 2 ? dCreateCapsule(s->space, 0.05, 0.35) : dCreateBox(s->space, 0.1, 0.1, 0.45);
        dGeomSetBody(leg, table);
        dGeomSetOffsetPosition(leg, i & 1 ? 0.4 : -0.4, i & 2 ? 0.4 : -0.4, -0.275);
    }
    scene_report_rest(run, s, table, 0.0005);
    scene_close(s);
}

static void several_geoms_expected(support_run *run)
{
    support_report_pairs(run, 1, 0.5, 0);
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
        scene_report_rest(run, s, scene_body(s, transform, 0, 0, 0.05), 0.0005);
        scene_close(s);
        if (!(mode & 1)) {
            dGeomDestroy(inner);
        }
    }
}

#pragma GCC diagnostic pop

static void transforms_expected(support_run *run)
{
    support_report_pairs(run, 4, 0.05, 0);
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

// The body is in a space of the kind: in a space of the scene, or the outermost.
static void spaces(support_run *run, bool outermost)
{
    for (int kind = 0; kind < 4; kind++) {
        scene *s = scene_open(run, NULL);
        dSpaceID inner;
        if (outermost) {
            dSpaceDestroy(s->space);
            s->space = inner = space_of_kind(NULL, kind);
        } else {
            inner = space_of_kind(s->space, kind);
        }
        dGeomID geom = dCreateBox(inner, 0.4, 0.4, 0.2);
        box_ground(s);
        scene_report_rest(run, s, scene_body(s, geom, 0.05, 0.03, 0.1), 0.0005);
        scene_close(s);
    }
}

static void inner_spaces(support_run *run)
{
    spaces(run, false);
}

static void outer_spaces(support_run *run)
{
    spaces(run, true);
}

static void four_blocks_expected(support_run *run)
{
    support_report_pairs(run, 4, 0.1, 0);
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
        support_report(run, dBodyGetPosition(block)[2]);
        support_report(run, dBodyGetLinearVel(upper)[2]);
        scene_close(s);
        dSpaceDestroy(other);
    }
}

static void collide_two_expected(support_run *run)
{
    support_report_pairs(run, 2, 0.1, 0);
    support_report_pairs(run, 1, 0.1, -G * 50 * H);
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
                scene_join(s, &contact[k], block, NULL);
            }
            dWorldStep(s->world, s->step);
        }
        support_report(run, dBodyGetPosition(block)[2]);
        scene_close(s);
        dSpaceDestroy(other);
    }
}

// Bits that match, bits that do not, a geom that is disabled, one without size, and a pair for
// which the callback makes no contact: one block rests, the others fall; the last one's geom is
// enabled again.
static void let_through(support_run *run)
{
    for (int i = 0; i < 6; i++) {
        scene *s = scene_open(run, NULL);
        dGeomID geom = i == 3 ? dCreateSphere(s->space, 0) : box(s);
        dBodyID block = scene_body(s, geom, 0, 0, 0.1 + 0.0005);
        dGeomID ground = dCreatePlane(s->space, 0, 0, 1, 0);
        dGeomSetCategoryBits(geom, 2);
        dGeomSetCollideBits(geom, i == 1 ? 2 : 4);
        dGeomSetCategoryBits(ground, 4);
        dGeomSetCollideBits(ground, 0);
        if (i == 2 || i == 5) {
            dGeomDisable(geom);
        }
        if (i == 5) {
            dGeomEnable(geom);
        }
        for (int n = 0; n < 20; n++) {
            scene_empty(s);
            dSpaceCollide(s->space, s, i == 4 ? scene_ignore : scene_near);
            dWorldStep(s->world, s->step);
        }
        support_report(run, dBodyGetLinearVel(block)[2]);
        scene_close(s);
    }
}

static void let_through_expected(support_run *run)
{
    support_report(run, 0);
    for (int i = 1; i < 5; i++) {
        support_report(run, -G * 20 * H);
    }
    support_report(run, 0);
}

// ---- heightfields

const support_row support_geoms[] = {
    {"All classes at rest on `dPlaneClass`",
     on_plane,
     all_expected,
     {NEAR(1e-5, FLOOR), NEAR(5e-09, HELD), NEAR(1e-6, APART)}},
    {"on `dBoxClass`",
     on_box,
     all_expected,
     {NEAR(1e-5, FLOOR), NEAR(5e-09, HELD), NEAR(1e-6, APART)}},
    {"on `dCylinderClass`",
     on_cylinder,
     all_expected,
     {NEAR(1e-5, FLOOR), NEAR(5e-09, HELD), NEAR(1e-6, APART)}},
    {"on `dTriMeshClass`",
     on_mesh,
     on_mesh_expected,
     {NEAR(2e-5, FLOOR), NEAR_SAYING(5e-9, MESHES_ALONE, NO_DISTANCE), NEAR(1e-6, APART)}},
    {"on `dHeightfieldClass`",
     on_field,
     all_expected,
     {NEAR(2e-5, FLOOR), NEAR_SAYING(5e-9, MESHES_ALONE, NO_DISTANCE), NEAR(1e-6, APART)}},
    {"Balls, capsules and cylinders between capsules and cylinders",
     in_groove,
     in_groove_expected,
     {NEAR(5e-6, FLOOR), EXACT, NEAR(1e-6, APART)}},
    {"`dGeomSetOffset...`, `dGeomClearOffset`",
     offsets,
     offsets_expected,
     {NEAR(5e-6, FLOOR), EXACT, NEAR(1e-6, APART)}},
    {"Several geoms of one body",
     several_geoms,
     several_geoms_expected,
     {NEAR(5e-6, FLOOR), EXACT, NEAR(1e-6, APART)}},
    {"`dCreateGeomTransform`, its cleanup and info",
     transforms,
     transforms_expected,
     {NEAR(5e-6, FLOOR), EXACT, NEAR(1e-6, APART)}},
    {"Simple, hash, quadtree and SAP spaces",
     outer_spaces,
     four_blocks_expected,
     {NEAR(5e-6, FLOOR), EXACT, NEAR(1e-6, APART)}},
    {"each in a space",
     inner_spaces,
     four_blocks_expected,
     {NEAR(5e-6, FLOOR), EXACT, NEAR(1e-6, APART)}},
    {"`dSpaceCollide2` of spaces and geoms",
     collide_two,
     collide_two_expected,
     {NEAR(5e-5, "contacts are found late, as by stock"), EXACT, NEAR(1e-6, APART)}},
    {"`dCollide` alone, of geoms and of a space",
     collide_geoms,
     two_expected,
     {NEAR(5e-6, FLOOR), NEAR_SAYING(5e-9, FLOOR ", with a message", GIVEN), AS_STRIBECK(NO_CALL)}},
    {"Category and collide bits, `dGeomDisable`, `dGeomEnable`, size 0, a callback that declines",
     let_through,
     let_through_expected,
     {NEAR(1e-4, "contacts are found late, as by stock"), EXACT, EXACT}},
    {0},
};
