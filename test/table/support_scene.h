// A scene for rows of contacts: a space, its near callback, one surface for all contacts.
#ifndef TEST_SUPPORT_SCENE_H
#define TEST_SUPPORT_SCENE_H

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

// ess leaves contacts to the implicit step that have no distance.
static const char GIVEN[] = "contacts without a signed distance. The first body is body",
                  NO_DISTANCE[] = "has no signed distance from another mesh",
                  NO_CALL[] = "has seen no collision call",
                  OVERLAP[] = "at the start of a step, first the ";

#define FLOOR "contacts have a least CFM"
#define APART "rests with a gap of 5e-7 m"
#define HELD "the tolerance of its forces"
#define MESHES_ALONE "two meshes have the program's contacts, with a message"

enum { SCENE_CONTACTS = 64 };

static const double G = 9.81, H = 0.01, MASS = 2; // m/s^2, s, kg

typedef struct scene {
    dWorldID world;
    dSpaceID space;
    dJointGroupID group;
    dContact contact; // surface and fdir1 of all
    int flags;        // of dCollide
    double step;      // s
    bool turned;      // contacts are attached the other way round, and their normals turned
    bool disabled;    // so are contact joints
    dJointFeedback feedback[SCENE_CONTACTS];
    int joints; // of the last collision calls
    int times;  // that every contact is made
    void (*alter)(struct scene *, dContact *);
    void *data;
    dTriMeshDataID mesh[2]; // to be destroyed
    int meshes;
    dHeightfieldDataID field; // likewise
} scene;

static inline scene *scene_open(const support_run *run, const char *options)
{
    scene *s = calloc(1, sizeof *s);
    ck_assert_ptr_nonnull(s);
    s->world = support_world(run, options);
    s->space = dSimpleSpaceCreate(NULL);
    s->group = dJointGroupCreate(0);
    s->contact.surface = (dSurfaceParameters){.mode = dContactApprox1};
    s->flags = 16;
    s->times = 1;
    s->step = H;
    dWorldSetGravity(s->world, 0, 0, -G);
    return s;
}

// Does stock step it? It loses forces, or ends, where contacts are many times the same.
static inline bool is_stock(const support_run *run)
{
    return strncmp(run->method, "ode", 3) == 0;
}

static inline void scene_close(scene *s)
{
    dJointGroupDestroy(s->group);
    dSpaceDestroy(s->space);
    dWorldDestroy(s->world);
    for (int i = 0; i < s->meshes; i++) {
        dGeomTriMeshDataDestroy(s->mesh[i]);
    }
    if (s->field) {
        dGeomHeightfieldDataDestroy(s->field);
    }
    free(s);
}

static inline void scene_join(scene *s, const dContactGeom *geom, dBodyID a, dBodyID b)
{
    dContact contact = s->contact;
    contact.geom = *geom;
    if (s->turned) {
        for (int k = 0; k < 3; k++) {
            contact.geom.normal[k] = -geom->normal[k];
        }
        contact.geom.g1 = geom->g2;
        contact.geom.g2 = geom->g1;
    }
    if (s->alter) {
        s->alter(s, &contact);
    }
    ck_assert_int_lt(s->joints, SCENE_CONTACTS);
    dBodyID of = a ? a : b;
    dJointID joint = dJointCreateContact(of ? dBodyGetWorld(of) : s->world, s->group, &contact);
    dJointAttach(joint, s->turned ? b : a, s->turned ? a : b);
    dJointSetFeedback(joint, &s->feedback[s->joints++]);
    if (s->disabled) {
        dJointDisable(joint);
    }
}

static inline void scene_near(void *data, dGeomID a, dGeomID b)
{
    scene *s = data;
    if (dGeomIsSpace(a) || dGeomIsSpace(b)) {
        dSpaceCollide2(a, b, data, scene_near);
        return;
    }
    dContact contact[16];
    int count = dCollide(a, b, s->flags, &contact[0].geom, sizeof *contact);
    for (int i = 0; i < count * s->times; i++) {
        scene_join(s, &contact[i / s->times].geom, dGeomGetBody(a), dGeomGetBody(b));
    }
}

static inline void scene_ignore(void *data, dGeomID a, dGeomID b)
{
    (void)data;
    (void)a;
    (void)b;
}

static inline void scene_empty(scene *s)
{
    dJointGroupEmpty(s->group);
    s->joints = 0;
}

static inline void scene_step(scene *s)
{
    scene_empty(s);
    dSpaceCollide(s->space, s, scene_near);
    dWorldStep(s->world, s->step);
}

static inline void scene_run(scene *s, int steps)
{
    for (int i = 0; i < steps; i++) {
        scene_step(s);
    }
}

// A body of MASS kg, so inert that it does not turn.
static inline dBodyID scene_body(scene *s, dGeomID geom, double x, double y, double z)
{
    dMass mass;
    dBodyID body = dBodyCreate(s->world);
    dMassSetParameters(&mass, MASS, 0, 0, 0, 1e9, 1e9, 1e9, 0, 0, 0);
    dBodySetMass(body, &mass);
    if (geom) {
        dGeomSetBody(geom, body);
    }
    dBodySetPosition(body, x, y, z);
    return body;
}

// Of the geom's own inertia.
static inline dBodyID scene_free_body(scene *s, dGeomID geom, double x, double y, double z)
{
    dBodyID body = scene_body(s, geom, x, y, z);
    dVector3 side = {0};
    dReal radius = 0, length = 0;
    dMass mass;
    switch (dGeomGetClass(geom)) {
    case dSphereClass:
        dMassSetSphereTotal(&mass, MASS, dGeomSphereGetRadius(geom));
        break;
    case dCapsuleClass:
        dGeomCapsuleGetParams(geom, &radius, &length);
        dMassSetCapsuleTotal(&mass, MASS, 3, radius, length);
        break;
    case dCylinderClass:
        dGeomCylinderGetParams(geom, &radius, &length);
        dMassSetCylinderTotal(&mass, MASS, 3, radius, length);
        break;
    case dBoxClass:
        dGeomBoxGetLengths(geom, side);
        dMassSetBoxTotal(&mass, MASS, side[0], side[1], side[2]);
        break;
    default:
        dMassSetBoxTotal(&mass, MASS, 0.4, 0.4, 0.2);
        break;
    }
    dBodySetMass(body, &mass);
    return body;
}

// A block of 0.4 x 0.4 x 0.2 m that stands on the plane z = 0 and does not turn; a little in it,
// for stock to find all its corners.
static inline dBodyID scene_block(scene *s, double x, double y)
{
    return scene_body(s, dCreateBox(s->space, 0.4, 0.4, 0.2), x, y, 0.1 - 1e-8);
}

static inline dBodyID scene_block_on_plane(scene *s)
{
    dCreatePlane(s->space, 0, 0, 1, 0);
    return scene_block(s, 0, 0);
}

static inline dGeomID scene_mesh(scene *s, const dReal *points, int count, const dTriIndex *index,
                                 int indices)
{
    dTriMeshDataID data = dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildDouble(data, points, 3 * sizeof *points, count, index, indices,
                                3 * sizeof *index);
    s->mesh[s->meshes++] = data;
    return dCreateTriMesh(s->space, data, NULL, NULL, NULL);
}

// Dropped, and left alone for a second: how high and how far away it rests.
static inline void scene_report_rest(support_run *run, scene *s, dBodyID body, double drop)
{
    dVector3 start;
    dBodyCopyPosition(body, start);
    dBodySetPosition(body, start[0], start[1], start[2] + drop);
    s->contact.surface.mu = 0.5;
    scene_run(s, 100);
    const dReal *at = dBodyGetPosition(body);
    support_report(run, at[2]);
    support_report(run, hypot(at[0] - start[0], at[1] - start[1]));
}

static inline void support_report_pairs(support_run *run, int count, double first, double second)
{
    for (int i = 0; i < count; i++) {
        support_report(run, first);
        support_report(run, second);
    }
}

#endif
