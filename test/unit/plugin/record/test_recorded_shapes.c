// Recorded shapes of every class: their size and their place on a body that is turned, once for
// each change; and of joints their anchors.
#define _GNU_SOURCE 1
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "convex_cube.h"
#include "plugin_scene.h"
#include "sprag_recording.h"

static char file[] = "/tmp/sprag_shapes_XXXXXX";
static dSpaceID space;

static void setup_shapes(void)
{
    close(mkstemp(file));
    setup();
    setenv("SPRAG_RECORD", file, 1);
    configure(world, "method=stribeck");
    space = dSimpleSpaceCreate(NULL);
}

static void teardown_shapes(void)
{
    dSpaceDestroy(space);
    teardown();
    unlink(file);
}

static void ignore_pair(void *data, dGeomID a, dGeomID b)
{
    (void)data;
    (void)a;
    (void)b;
}

static void take_step(void)
{
    dSpaceCollide(space, NULL, ignore_pair);
    ck_assert(dWorldStep(world, step));
}

static sprag_recording open_recording(void)
{
    sprag_recording r;
    dWorldDestroy(dWorldCreate()); // before a world goes, all steps are written
    ck_assert(sprag_recording_open(&r, file));
    return r;
}

static dGeomID solid_of(int kind)
{
    switch (kind) {
    case SPRAG_RECORDED_SPHERE:
        return dCreateSphere(space, 0.1);
    case SPRAG_RECORDED_BOX:
        return dCreateBox(space, 0.1, 0.2, 0.3);
    case SPRAG_RECORDED_CAPSULE:
        return dCreateCapsule(space, 0.1, 0.2);
    case SPRAG_RECORDED_CYLINDER:
        return dCreateCylinder(space, 0.1, 0.2);
    default:
        return dCreateConvex(space, cube_planes, 6, cube_points, 8, cube_faces);
    }
}

// Changes the size of a solid in its number `n`; false: it has fewer.
static bool change_size(dGeomID geom, int kind, int n)
{
    const double more = 0.5;
    switch (kind) {
    case SPRAG_RECORDED_SPHERE:
        dGeomSphereSetRadius(geom, 0.1 + more);
        return n == 0;
    case SPRAG_RECORDED_BOX:
        dGeomBoxSetLengths(geom, 0.1 + more * (n == 0), 0.2 + more * (n == 1),
                           0.3 + more * (n == 2));
        return n < 3;
    case SPRAG_RECORDED_CAPSULE:
        dGeomCapsuleSetParams(geom, 0.1 + more * (n == 0), 0.2 + more * (n == 1));
        return n < 2;
    case SPRAG_RECORDED_CYLINDER:
        dGeomCylinderSetParams(geom, 0.1 + more * (n == 0), 0.2 + more * (n == 1));
        return n < 2;
    default:
        return false;
    }
}

static void check_size(const sprag_recorded_shape *s, int kind, int n)
{
    static const double sizes[][3] = {[SPRAG_RECORDED_SPHERE] = {0.1, 0, 0},
                                      [SPRAG_RECORDED_BOX] = {0.1, 0.2, 0.3},
                                      [SPRAG_RECORDED_CAPSULE] = {0.1, 0.2, 0},
                                      [SPRAG_RECORDED_CYLINDER] = {0.1, 0.2, 0},
                                      [SPRAG_RECORDED_PLANE] = {0},
                                      [SPRAG_RECORDED_MESH] = {0}};
    ck_assert_uint_eq(s->kind, (unsigned)kind);
    for (int k = 0; k < 3 && kind < SPRAG_RECORDED_PLANE; k++) {
        ck_assert_double_eq_tol(s->size[k], sizes[kind][k] + (k == n ? 0.5 : 0), 1e-12);
    }
}

static void check_turn(const double quaternion[4], const dReal expected[4])
{
    double along = 0;
    for (int k = 0; k < 4; k++) {
        along += quaternion[k] * expected[k];
    }
    ck_assert_double_eq_tol(fabs(along), 1, 1e-12);
}

// On a turned body with an offset, then with each size changed, moved, turned, disabled and
// enabled: each is told once, in the axes of the body.
START_TEST(solids_are_told_when_they_change)
{
    dQuaternion turn, body_turn;
    const int kind = _i ? _i : SPRAG_RECORDED_MESH;
    dGeomID geom = solid_of(kind);
    dBodyID body = create_body(world, 1, 1, 2, 3);
    int sizes = 0;
    dQFromAxisAndAngle(body_turn, 1, -2, 0.5, 1);
    dQFromAxisAndAngle(turn, 0.3, 1, -2, 2);
    dBodySetQuaternion(body, body_turn);
    dGeomSetBody(geom, body);
    dGeomSetOffsetPosition(geom, 0.1, -0.2, 0.3);
    dGeomSetOffsetQuaternion(geom, turn);
    for (int n = -1; n < 0 || change_size(geom, kind, n); n++) {
        sizes++;
        take_step();
        take_step();
    }
    dGeomSetOffsetPosition(geom, 0.1, -0.2, 0.4);
    take_step();
    dGeomSetOffsetQuaternion(geom, body_turn);
    take_step();
    dGeomDisable(geom);
    take_step();
    dGeomEnable(geom);
    take_step();
    sprag_recording r = open_recording();
    uint32_t number = 0;
    for (int n = -1; n < sizes - 1; n++) {
        ck_assert(sprag_recording_next(&r));
        ck_assert_uint_eq(r.shapes, 1);
        number = n < 0 ? r.shape->geom : number;
        ck_assert_uint_eq(r.shape->geom, number);
        ck_assert_uint_eq(r.shape->body, r.pose->body);
        check_size(r.shape, kind, n);
        check_turn(r.shape->quaternion, turn);
        ck_assert_double_eq_tol(r.shape->position[0], 0.1, 1e-12);
        ck_assert_double_eq_tol(r.shape->position[1], -0.2, 1e-12);
        ck_assert_double_eq_tol(r.shape->position[2], 0.3, 1e-12);
        ck_assert_uint_eq(r.shape->triangles, kind == SPRAG_RECORDED_MESH ? 12 : 0);
        ck_assert(sprag_recording_next(&r));
        ck_assert_uint_eq(r.shapes, 0);
    }
    ck_assert(sprag_recording_next(&r) && r.shapes == 1);
    ck_assert_double_eq_tol(r.shape->position[2], 0.4, 1e-12);
    ck_assert(sprag_recording_next(&r) && r.shapes == 1);
    check_turn(r.shape->quaternion, body_turn);
    ck_assert(sprag_recording_next(&r) && r.shapes == 1);
    ck_assert_uint_eq(r.shape->kind, SPRAG_RECORDED_NOTHING);
    ck_assert(sprag_recording_next(&r) && r.shapes == 1);
    ck_assert_uint_eq(r.shape->kind, (unsigned)kind);
    ck_assert(!sprag_recording_next(&r));
    sprag_recording_close(&r);
}
END_TEST

// Of the environment the place counts, of a plane its parameters. A geom that takes its body's
// place is told anew, and one within spaces in spaces is found.
START_TEST(static_geoms_are_told_when_they_change)
{
    dSpaceID inner = dSimpleSpaceCreate(dSimpleSpaceCreate(space));
    dGeomID plane = dCreatePlane(space, 0, 0, 1, 0), ball = dCreateSphere(inner, 0.1);
    dBodyID body = create_body(world, 1, 1, 2, 3);
    dGeomSetPosition(ball, 5, 6, 7);
    take_step();
    take_step();
    dGeomPlaneSetParams(plane, 0, 0.6, 0.8, 2);
    take_step();
    dGeomSetPosition(ball, 5, 6, 8);
    take_step();
    dGeomSetBody(ball, body);
    take_step();
    dGeomSetOffsetPosition(ball, 0, 0, 0.5);
    take_step();
    sprag_recording r = open_recording();
    ck_assert(sprag_recording_next(&r));
    ck_assert_uint_eq(r.shapes, 2);
    ck_assert_uint_eq(r.shape[0].body, SPRAG_RECORDED_NONE);
    ck_assert_uint_eq(r.shape[1].body, SPRAG_RECORDED_NONE);
    ck_assert(sprag_recording_next(&r) && r.shapes == 0);
    ck_assert(sprag_recording_next(&r) && r.shapes == 1);
    ck_assert_uint_eq(r.shape->kind, SPRAG_RECORDED_PLANE);
    ck_assert_double_eq_tol(r.shape->position[2], 1.6, 1e-12); // its point nearest to the origin
    ck_assert_double_eq_tol(r.shape->position[1], 1.2, 1e-12);
    dMatrix3 R; // whose third column is the normal
    dQuaternion q;
    memcpy(q, r.shape->quaternion, sizeof q);
    ck_assert_double_eq_tol(dCalcVectorDot3(q, q) + q[3] * q[3], 1, 1e-12);
    dRfromQ(R, q);
    ck_assert_double_eq_tol(R[6], 0.6, 1e-12);
    ck_assert_double_eq_tol(R[10], 0.8, 1e-12);
    ck_assert(sprag_recording_next(&r) && r.shapes == 1);
    ck_assert_double_eq_tol(r.shape->position[2], 8, 1e-12);
    ck_assert(sprag_recording_next(&r) && r.shapes == 1);
    ck_assert_uint_eq(r.shape->body, r.pose->body);
    ck_assert_double_eq_tol(r.shape->position[2], 0, 1e-12);
    ck_assert(sprag_recording_next(&r) && r.shapes == 1);
    ck_assert_double_eq_tol(r.shape->position[2], 0.5, 1e-12);
    sprag_recording_close(&r);
}
END_TEST

static dReal height(void *data, int x, int z)
{
    (void)data;
    return x + z;
}

// A heightfield that is repeated has 100 m on either side, one that ends what there is of it.
START_TEST(heightfields_have_an_end)
{
    double low = INFINITY, high = -INFINITY;
    dHeightfieldDataID data = dGeomHeightfieldDataCreate();
    dGeomHeightfieldDataBuildCallback(data, NULL, height, 84, 40, 5, 5, 1, 0, 1, _i);
    dGeomHeightfieldDataSetBounds(data, 0, 8);
    create_body(world, 1, 1, 2, 300);
    dCreateHeightfield(space, data, 1);
    take_step();
    sprag_recording r = open_recording();
    ck_assert(sprag_recording_next(&r) && r.shapes == 1);
    ck_assert_uint_eq(r.shape->kind, SPRAG_RECORDED_MESH);
    for (uint32_t i = 0; i < r.vertices; i++) {
        low = fmin(low, (double)r.vertex[i].at[0]);
        high = fmax(high, (double)r.vertex[i].at[0]);
    }
    // Cells of 21 m, as far as they are needed.
    ck_assert_double_eq_tol(high, _i ? 105 : 42, 1e-4);
    ck_assert_double_eq_tol(low, _i ? -105 : -42, 1e-4);
    sprag_recording_close(&r);
    dGeomHeightfieldDataDestroy(data);
}
END_TEST

static dJointID joint_of(int type, dBodyID a, dBodyID b)
{
    dJointID j = type == dJointTypeBall        ? dJointCreateBall(world, NULL)
                 : type == dJointTypeHinge     ? dJointCreateHinge(world, NULL)
                 : type == dJointTypeHinge2    ? dJointCreateHinge2(world, NULL)
                 : type == dJointTypeUniversal ? dJointCreateUniversal(world, NULL)
                 : type == dJointTypePiston    ? dJointCreatePiston(world, NULL)
                                               : dJointCreateSlider(world, NULL);
    dJointAttach(j, a, b);
    switch (type) {
    case dJointTypeBall:
        dJointSetBallAnchor(j, 1, 2, 3.5);
        break;
    case dJointTypeHinge:
        dJointSetHingeAnchor(j, 1, 2, 3.5);
        break;
    case dJointTypeHinge2:
        dJointSetHinge2Anchor(j, 1, 2, 3.5);
        break;
    case dJointTypeUniversal:
        dJointSetUniversalAnchor(j, 1, 2, 3.5);
        break;
    case dJointTypePiston:
        dJointSetPistonAnchor(j, 1, 2, 3.5);
        break;
    default:
        break;
    }
    return j;
}

// Anchors on either body, apart by what the first has moved since.
START_TEST(joints_have_their_anchors)
{
    static const int types[] = {dJointTypeBall,      dJointTypeHinge,  dJointTypeHinge2,
                                dJointTypeUniversal, dJointTypePiston, dJointTypeSlider};
    dBodyID a = create_body(world, 1, 1, 2, 3), b = create_body(world, 1, 1, 2, 4);
    dBodySetKinematic(a);
    dBodySetKinematic(b);
    dJointID joint = joint_of(types[_i], a, b);
    dBodySetLinearVel(a, 10, 0, 0);
    take_step();
    sprag_recording r = open_recording();
    ck_assert(sprag_recording_next(&r) && r.joints == 1);
    ck_assert_uint_eq(r.joint->type, (unsigned)dJointGetType(joint));
    ck_assert_uint_eq(r.joint->body[0], r.pose[0].body);
    ck_assert_uint_eq(r.joint->body[1], r.pose[1].body);
    ck_assert_uint_eq(r.pose[0].flags, SPRAG_RECORDED_KINEMATIC);
    bool has = types[_i] != dJointTypeSlider;
    for (int k = 0; k < 2; k++) {
        const float *at = r.joint->anchor[k];
        ck_assert(isnan(at[0]) == !has);
        ck_assert(!has || fabs((double)at[0] - (k ? 1 : 1.1)) < 1e-6);
        ck_assert(!has || (fabs((double)at[1] - 2) < 1e-6 && fabs((double)at[2] - 3.5) < 1e-6));
    }
    sprag_recording_close(&r);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recorded shapes");
    ADD_TESTS_WITH(suite, "all", setup_shapes, teardown_shapes,
                   {solids_are_told_when_they_change, 5},
                   {static_geoms_are_told_when_they_change, 1}, {heightfields_have_an_end, 2},
                   {joints_have_their_anchors, 6});
    return run_suite_as(suite, CK_FORK);
}
