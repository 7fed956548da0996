// Rows of geoms that the program defines, changes, moves or answers for itself.
#include "geoms.h"

// ---- arguments of dCollide

// One point only, and any points: under a block that does not turn, and one that may.
static void few_contacts(support_run *run)
{
    static const int flags[] = {1, 16 | (int)CONTACTS_UNIMPORTANT, 2};
    for (int i = 0; i < 3; i++) {
        scene *s = scene_open(run, NULL);
        dBodyID block = scene_block_on_plane(s);
        s->flags = flags[i];
        s->contact.surface.mu = 0.5;
        dBodySetLinearVel(block, 1, 0, 0);
        scene_run(s, 10);
        support_report(run, dBodyGetLinearVel(block)[0]);
        support_report(run, dBodyGetPosition(block)[2]);
        scene_close(s);
    }
}

static void few_contacts_expected(support_run *run)
{
    support_report_pairs(run, 3, 1 - 0.5 * G * 10 * H, 0.1);
}

static void one_contact(support_run *run)
{
    scene *s = scene_open(run, NULL);
    plane_ground(s);
    s->flags = 1;
    scene_report_rest(run, s, put(s, &movers[BOX], 0.1), 0);
    scene_close(s);
}

// ---- classes and colliders of the program

static int column_class;

// A class of its own, a point, that only knows planes.
static int collide_column(dGeomID a, dGeomID b, int flags, dContactGeom *contact, int skip)
{
    dVector4 plane;
    const dReal *at = dGeomGetPosition(a);
    (void)flags;
    (void)skip;
    dGeomPlaneGetParams(b, plane);
    double depth = plane[3] - (plane[0] * at[0] + plane[1] * at[1] + plane[2] * at[2]) + 0.1;
    if (depth < 0) {
        return 0;
    }
    *contact = (dContactGeom){.depth = depth, .g1 = a, .g2 = b, .side1 = -1, .side2 = -1};
    for (int k = 0; k < 3; k++) {
        contact->normal[k] = plane[k];
        contact->pos[k] = at[k] - 0.1 * plane[k];
    }
    return 1;
}

static dColliderFn *collider_of(int class)
{
    return class == dPlaneClass ? collide_column : NULL;
}

static void bounds_of(dGeomID geom, dReal box[6])
{
    for (int k = 0; k < 6; k++) {
        box[k] = dGeomGetPosition(geom)[k / 2] + (k % 2 ? 0.1 : -0.1);
    }
}

static void own_class(support_run *run)
{
    static const dGeomClass class = {.collider = collider_of, .aabb = bounds_of};
    scene *s = scene_open(run, NULL);
    if (!column_class) {
        column_class = dCreateGeomClass(&class);
    }
    dGeomID geom = dCreateGeom(column_class);
    dSpaceAdd(s->space, geom);
    plane_ground(s);
    scene_report_rest(run, s, scene_body(s, geom, 0, 0, 0.1), 0.0005);
    scene_close(s);
}

static void one_expected(support_run *run)
{
    support_report_pairs(run, 1, 0.1, 0);
}

// The program says that boxes sink into planes until 0.1 m from their middle.
static void collider_override(support_run *run)
{
    scene *s = scene_open(run, NULL);
    plane_ground(s);
    dSetColliderOverride(dBoxClass, dPlaneClass, collide_column);
    scene_report_rest(run, s, scene_body(s, dCreateBox(s->space, 0.4, 0.4, 0.4), 0, 0, 0.1),
                      0.0005);
    scene_close(s);
}

// ---- geoms that come, go, grow and change their owner

static void changing_geoms(support_run *run)
{
    scene *s = scene_open(run, NULL);
    plane_ground(s);
    dGeomID ground = dCreateBox(s->space, 3, 3, 0.2), geom = dCreateSphere(s->space, 0.1);
    dBodyID body = scene_body(s, geom, 0, 0, 0.2 - 1e-8);
    dGeomSetPosition(ground, 0, 0, 0);
    scene_run(s, 20);
    support_report(run, dBodyGetPosition(body)[2]); // on the box
    dGeomSphereSetRadius(geom, 0.05);
    scene_run(s, 30);
    support_report(run, dBodyGetPosition(body)[2]); // smaller
    dGeomDestroy(ground);
    scene_run(s, 40);
    support_report(run, dBodyGetPosition(body)[2]); // on the plane
    dGeomDestroy(geom);
    scene_run(s, 10);
    support_report(run, dBodyGetLinearVel(body)[2] / 10);
    geom = dCreateBox(s->space, 0.4, 0.4, 0.2);
    dGeomSetBody(geom, body);
    dBodySetPosition(body, 0, 0, 0.1);
    dBodySetLinearVel(body, 0, 0, 0);
    scene_run(s, 10);
    support_report(run, dBodyGetPosition(body)[2]); // as a box
    dGeomSetBody(geom, NULL);
    scene_run(s, 10);
    support_report(run, dBodyGetLinearVel(body)[2] / 10);
    scene_close(s);
}

static void changing_geoms_expected(support_run *run)
{
    const double z[] = {0.2, 0.15, 0.05, -G * 0.1 / 10, 0.1, -G * 0.1 / 10};
    for (int i = 0; i < 6; i++) {
        support_report(run, z[i]);
    }
}

// The program moves a geom without body, and a plane: what stands on it is lifted at 0.1 m/s, or
// let down; how fast, and where it stands after a rest.
static void moved_geoms(support_run *run)
{
    for (int i = 0; i < 2; i++) {
        scene *s = scene_open(run, NULL);
        dGeomID ground = i ? dCreatePlane(s->space, 0, 0, 1, 0) : dCreateBox(s->space, 3, 3, 1);
        dBodyID block = scene_block(s, 0, 0);
        for (int n = 0; n < 150; n++) {
            double z = 0.001 * (n < 50 ? n : 50);
            if (i) {
                dGeomPlaneSetParams(ground, 0, 0, 1, z);
            } else {
                dGeomSetPosition(ground, 0, 0, z - 0.5);
            }
            if (n == 40) {
                support_report(run, dBodyGetPosition(block)[2]);
            }
            scene_step(s);
        }
        support_report(run, dBodyGetPosition(block)[2]);
        scene_close(s);
    }
}

static void moved_geoms_expected(support_run *run)
{
    support_report_pairs(run, 2, 0.139, 0.15);
}

// Geoms of bodies of two worlds in one space.
static void two_worlds(support_run *run)
{
    scene *s = scene_open(run, NULL), *t = scene_open(run, NULL);
    plane_ground(s);
    dBodyID block = scene_block(s, 0, 0), other;
    other = scene_body(t, dCreateBox(s->space, 0.4, 0.4, 0.2), 1, 0, 0.1);
    for (int n = 0; n < 50; n++) {
        scene_empty(s);
        dSpaceCollide(s->space, s, scene_near);
        dWorldStep(s->world, H);
        dWorldStep(t->world, H);
    }
    support_report(run, dBodyGetPosition(block)[2]);
    support_report(run, dBodyGetPosition(other)[2]);
    dJointGroupEmpty(s->group);
    scene_close(t);
    scene_close(s);
}

// The callback puts the contact of a feeler's geom on the body that carries the feeler.
static void near_feeler(void *data, dGeomID a, dGeomID b)
{
    scene *s = data;
    dContactGeom geom[4];
    int count = dCollide(a, b, 4, geom, sizeof *geom);
    for (int i = 0; i < count; i++) {
        bool first = dGeomGetClass(geom[i].g1) == dSphereClass;
        scene_join(s, &geom[i], first ? s->data : NULL, first ? NULL : s->data);
    }
}

static void other_bodies(support_run *run)
{
    scene *s = scene_open(run, NULL);
    plane_ground(s);
    dGeomID feeler = dCreateSphere(s->space, 0.1);
    dBodyID body = scene_body(s, NULL, 0, 0, 1);
    s->data = body;
    for (int n = 0; n < 100; n++) {
        const dReal *at = dBodyGetPosition(body);
        dGeomSetPosition(feeler, at[0], at[1], at[2] - 0.9);
        scene_empty(s);
        dSpaceCollide(s->space, s, near_feeler);
        dWorldStep(s->world, H);
    }
    support_report(run, dBodyGetPosition(body)[2]);
    scene_close(s);
}

static void other_bodies_expected(support_run *run)
{
    support_report(run, 1);
}

// ---- meshes

static int refuse(dGeomID mesh, dGeomID other, int triangle)
{
    (void)mesh;
    (void)other;
    return triangle == 0;
}

static int listed;

static void list(dGeomID mesh, dGeomID other, const int *triangles, int count)
{
    (void)mesh;
    (void)other;
    for (int i = 0; i < count; i++) {
        listed += triangles[i] == 0;
    }
}

// A ball on the triangle that counts, and one on the triangle that the callback refuses.
static void triangle_callback(support_run *run)
{
    for (int i = 0; i < 4; i++) {
        scene *s = scene_open(run, NULL);
        mesh_ground(s);
        dGeomTriMeshSetCallback(dSpaceGetGeom(s->space, 0), refuse);
        dGeomTriMeshSetArrayCallback(dSpaceGetGeom(s->space, 0), list);
        listed = 0;
        double x = i & 1 ? 1 : -1;
        dGeomID geom = i & 2 ? dCreateBox(s->space, 0.2, 0.2, 0.2) : dCreateSphere(s->space, 0.1);
        dBodyID body = scene_body(s, geom, x, -x, 0.1 - 1e-8);
        scene_run(s, 20);
        support_report(run, dBodyGetLinearVel(body)[2]);
        support_report(run, listed > 0 || !(i & 1)); // some list what is near, too
        scene_close(s);
    }
}

static void triangle_callback_expected(support_run *run)
{
    for (int i = 0; i < 2; i++) {
        support_report_pairs(run, 1, -G * 20 * H, 1);
        support_report_pairs(run, 1, 0, 1);
    }
}

// The program moves the points of a mesh and says so.
static void deformed_mesh(support_run *run)
{
    dReal points[] = {-2, -2, 0, 2, -2, 0, -2, 2, 0, 2, 2, 0};
    static const dTriIndex index[] = {0, 1, 3, 0, 3, 2};
    scene *s = scene_open(run, NULL);
    scene_mesh(s, points, 4, index, 6);
    dBodyID body = scene_body(s, dCreateSphere(s->space, 0.1), 0.3, -0.2, 0.1 - 1e-8);
    for (int n = 0; n < 100; n++) {
        for (int i = 0; i < 4; i++) {
            points[3 * i + 2] = -0.001 * (n < 50 ? n : 50);
        }
        dGeomTriMeshDataUpdate(s->mesh[0]);
        dGeomSetPosition(dSpaceGetGeom(s->space, 1), 0, 0, 0);
        scene_step(s);
    }
    support_report(run, dBodyGetPosition(body)[2]);
    scene_close(s);
}

static void deformed_mesh_expected(support_run *run)
{
    support_report(run, 0.05);
}

// As demos do: the pose of a step before, for mesh on mesh.
static void last_transform(support_run *run)
{
    scene *s = scene_open(run, NULL);
    mesh_ground(s);
    dGeomID geom = mesh(s);
    dBodyID body = scene_free_body(s, geom, 0.05, 0.03, 0.1 + 0.0005);
    for (int n = 0; n < 100; n++) {
        dMatrix4 last = {0};
        const dReal *at = dGeomGetPosition(geom), *R = dGeomGetRotation(geom);
        for (int i = 0; i < 3; i++) {
            memcpy(last + 4 * i, R + 4 * i, 3 * sizeof *R);
            last[4 * i + 3] = at[i];
        }
        last[15] = 1;
        scene_step(s);
        dGeomTriMeshSetLastTransform(geom, last);
    }
    support_report(run, dBodyGetPosition(body)[2]);
    support_report(run, hypot(dBodyGetPosition(body)[0] - 0.05, dBodyGetPosition(body)[1] - 0.03));
    scene_close(s);
}

// ---- heightfields

static dReal field_height(void *data, int x, int z)
{
    (void)data;
    (void)x;
    (void)z;
    return 3;
}

// Built in every way, of height 3 x 0.5 + 0.25; wrapped, far out; not placeable, y up.
static void field_kinds(support_run *run)
{
    static const unsigned char byte[9] = {3, 3, 3, 3, 3, 3, 3, 3, 3};
    static const short integer[9] = {3, 3, 3, 3, 3, 3, 3, 3, 3};
    static const float single[9] = {3, 3, 3, 3, 3, 3, 3, 3, 3};
    static const double real[9] = {3, 3, 3, 3, 3, 3, 3, 3, 3};
    for (int i = 0; i < 7; i++) {
        scene *s = scene_open(run, NULL);
        dHeightfieldDataID data = s->field = dGeomHeightfieldDataCreate();
        int wrap = i == 5;
        if (i == 0) {
            dGeomHeightfieldDataBuildByte(data, byte, 0, 4, 4, 3, 3, 0.5, 0.25, 1, 0);
        } else if (i == 1) {
            dGeomHeightfieldDataBuildShort(data, integer, 1, 4, 4, 3, 3, 0.5, 0.25, 1, 0);
        } else if (i == 2) {
            dGeomHeightfieldDataBuildSingle(data, single, 0, 4, 4, 3, 3, 0.5, 0.25, 1, 0);
        } else if (i == 3) {
            dGeomHeightfieldDataBuildCallback(data, NULL, field_height, 4, 4, 3, 3, 0.5, 0.25, 1,
                                              0);
            dGeomHeightfieldDataSetBounds(data, 2, 4);
        } else {
            dGeomHeightfieldDataBuildDouble(data, real, 1, 4, 4, 3, 3, 0.5, 0.25, 1, wrap);
        }
        dBodyID body = scene_body(s, dCreateSphere(s->space, 0.1), 0, 0, 0);
        if (i == 6) {
            dCreateHeightfield(s->space, data, 0);
            dWorldSetGravity(s->world, 0, -G, 0);
            dBodySetPosition(body, 0.3, 1.85 - 1e-8, 0.2);
        } else {
            field_of(s, data);
            dBodySetPosition(body, 0.3 + 20 * wrap, 0.2, 1.85 - 1e-8);
        }
        scene_run(s, 50);
        support_report(run, dBodyGetPosition(body)[i == 6 ? 1 : 2]);
        scene_close(s);
    }
}

static void field_kinds_expected(support_run *run)
{
    for (int i = 0; i < 7; i++) {
        support_report(run, 1.85);
    }
}

const support_row support_program_geoms[] = {
    {"`dCollide` for 1 or 2 contacts, `CONTACTS_UNIMPORTANT`",
     few_contacts,
     few_contacts_expected,
     {NEAR(1e-5, FLOOR), NEAR(5e-08, HELD), NEAR(1e-6, APART)}},
    {"1 contact under a box that may tilt",
     one_contact,
     one_expected,
     {NEAR(0.01, "it tilts, as under stock"), EXACT, NEAR(1e-6, "on all its corners")}},
    {"`dCreateGeomClass`",
     own_class,
     one_expected,
     {NEAR(1e-5, FLOOR), NEAR_SAYING(1e-8, FLOOR ", with a message", GIVEN),
      NEAR(1e-8, "the program's contacts")}},
    {"`dSetColliderOverride`",
     collider_override,
     one_expected,
     {NEAR(1e-5, FLOOR), NEAR_SAYING(1e-8, FLOOR ", with a message", GIVEN),
      NEAR(1e-8, "the program's contacts")}},
    {"Geoms destroyed, created, resized, given to and taken from bodies",
     changing_geoms,
     changing_geoms_expected,
     {NEAR(1e-4, "contacts are found late, as by stock"), EXACT,
      NEAR_SAYING(1e-6, APART ", with a message", NO_CALL)}},
    {"Geoms without a body that the program moves: at 0.1 m/s, and at rest",
     moved_geoms,
     moved_geoms_expected,
     {NEAR(0.005, "lags by speed h / ERP, as under stock"),
      NEAR(0.005, "lags by speed h / ERP, as under stock"),
      NEAR_SAYING(0.005, "lags by speed h / ERP, with a message", OVERLAP)}},
    {"Bodies of two worlds in one space",
     two_worlds,
     two_expected,
     {NEAR(5e-6, FLOOR), EXACT, NEAR(1e-6, APART)}},
    {"Contacts attached to other bodies than the geoms'",
     other_bodies,
     other_bodies_expected,
     {NEAR(1e-5, FLOOR), NEAR_SAYING(1e-8, FLOOR ", with a message", GIVEN), AS_STRIBECK(NO_CALL)}},
    {"`dGeomTriMeshSetCallback`, `dGeomTriMeshSetArrayCallback`",
     triangle_callback,
     triangle_callback_expected,
     {NEAR(1e-6, FLOOR), NEAR(5e-09, HELD), EXACT}},
    {"`dGeomTriMeshDataUpdate`",
     deformed_mesh,
     deformed_mesh_expected,
     {NEAR(1e-5, FLOOR), NEAR(5e-09, HELD), NEAR(1e-6, APART)}},
    {"`dGeomTriMeshSetLastTransform`",
     last_transform,
     one_expected,
     {NEAR(5e-6, FLOOR), NEAR_SAYING(5e-9, MESHES_ALONE, NO_DISTANCE), NEAR(1e-6, APART)}},
    {"Heightfields of bytes, shorts, floats, doubles, by callback, wrapped, not placeable",
     field_kinds,
     field_kinds_expected,
     {NEAR(5e-6, FLOOR), EXACT, NEAR(1e-6, APART)}},
    {0},
};
