// ODE's geoms as the kernel sees them: which pairs are found beside those that ODE itself finds,
// and gaps beside its depths and beside values computed by hand.
#include <check.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "convex_cube.h"
#include "geom_layout.h"
#include "geom_world.h"
#include "linalg.h"
#include "suite.h"

static void find_in(const ode_collision *calls, int count, ode_motion_fn *motion, double margin)
{
    sprag_scratch_reset(&scratch);
    ck_assert_int_eq(
        sprag_ode_find_pairs(geometry, calls, count, motion, NULL, margin, false, &scratch, &pairs),
        SPRAG_OK);
}

static void find(double margin)
{
    const ode_collision all = {.a = (dGeomID)space};
    find_in(&all, 1, NULL, margin);
}

static int found(dGeomID a, dGeomID b)
{
    int count = 0;
    for (int i = 0; i < pairs.count; i++) {
        dGeomID g0 = pairs.pair[i].side[0]->named, g1 = pairs.pair[i].side[1]->named;
        count += (g0 == a && g1 == b) || (g0 == b && g1 == a);
    }
    return count;
}

static int found_at(dGeomID ground, dGeomID geom, double x, double y, double z, double margin)
{
    dGeomSetPosition(geom, x, y, z);
    find(margin);
    return found(ground, geom);
}

// The least gap of all pairs that were found.
static sprag_gap least_gap(void)
{
    const sprag_gap_query query = {INFINITY, 0.01};
    sprag_gap least = {.distance = INFINITY};
    for (int i = 0; i < pairs.count; i++) {
        sprag_gap gap;
        ck_assert_int_eq(sprag_ode_gap(&pairs.pair[i], &query, &gap, NULL), SPRAG_OK);
        if (gap.distance < least.distance) {
            least = gap;
        }
    }
    return least;
}

// ---- chance

static unsigned long dice;

static double between(double low, double high)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(dice >> 11) / 9007199254740992.0;
}

static int pick(int count)
{
    return (int)between(0, count);
}

// ---- shapes

static dTriMeshDataID cube_data;

static dGeomID mesh_cube(dSpaceID in)
{
    cube_data = dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildDouble(cube_data, cube_points, 3 * sizeof(dReal), 8, cube_triangles, 36,
                                3 * sizeof(dTriIndex));
    return dCreateTriMesh(in, cube_data, NULL, NULL, NULL);
}

static dGeomID convex_cube(dSpaceID in)
{
    return dCreateConvex(in, cube_planes, 6, cube_points, 8, cube_faces);
}

static dGeomID any_geom(dSpaceID in)
{
    switch (pick(5)) {
    case 0:
        return dCreateSphere(in, between(0.1, 0.6));
    case 1:
        return dCreateBox(in, between(0.1, 1), between(0.1, 1), between(0.1, 1));
    case 2:
        return dCreateCapsule(in, between(0.1, 0.3), between(0, 1));
    case 3:
        return dCreateCylinder(in, between(0.1, 0.5), between(0.1, 1));
    default:
        return convex_cube(in);
    }
}

static void turn_anyhow(dGeomID geom)
{
    dQuaternion q;
    for (int k = 0; k < 4; k++) {
        q[k] = between(-1, 1);
    }
    dNormalize4(q);
    dGeomSetQuaternion(geom, q);
}

// ---- which pairs

enum { MET_MAX = 20000 };
static dGeomID met[MET_MAX][2];
static int met_count;

static void near(void *data, dGeomID a, dGeomID b)
{
    dContactGeom contact[1];
    if (dGeomIsSpace(a) || dGeomIsSpace(b)) {
        dSpaceCollide2(a, b, data, near);
    } else if (dGeomIsEnabled(a) &&
               dGeomIsEnabled(b) && // dSpaceCollide2 forgets to ask one of them
               (dGeomGetBody(a) || dGeomGetBody(b)) &&
               dCollide(a, b, 1, contact, sizeof *contact)) {
        ck_assert_int_lt(met_count, MET_MAX);
        met[met_count][0] = a;
        met[met_count++][1] = b;
    }
}

static dSpaceID top_of(dGeomID geom)
{
    dSpaceID in = dGeomGetSpace(geom);
    return in == space ? NULL : in;
}

// Whatever ODE finds to touch is found, at the same depth or about; nothing is found that ODE's
// rules forbid.
START_TEST(pairs_are_those_that_ode_collides)
{
    dice = 5;
    for (int round = 0; round < 8; round++) {
        dSpaceID inner[3] = {dSimpleSpaceCreate(space), dHashSpaceCreate(space),
                             dSweepAndPruneSpaceCreate(space, dSAP_AXES_XYZ)};
        dGeomSetCategoryBits((dGeomID)inner[2], 2);
        dGeomSetCollideBits((dGeomID)inner[2], 2);
        dCreatePlane(space, 0, 0, 1, 0);
        for (int i = 0; i < 150; i++) {
            int where = pick(6);
            dGeomID geom = any_geom(where < 3 ? inner[where] : space);
            if (pick(5)) {
                dGeomSetBody(geom, dBodyCreate(world));
            }
            dGeomSetPosition(geom, between(-3, 3), between(-3, 3), between(0, 3));
            turn_anyhow(geom);
            dGeomSetCategoryBits(geom, 1ul << pick(3));
            dGeomSetCollideBits(geom, (unsigned long)pick(8));
            if (!pick(10)) {
                dGeomDisable(geom);
            }
        }
        met_count = 0;
        dSpaceCollide(space, NULL, near);
        find(0);
        ck_assert_int_gt(met_count, 50);
        ck_assert_int_eq(pairs.unknown, 0);
        for (int i = 0; i < met_count; i++) {
            ck_assert_int_eq(found(met[i][0], met[i][1]), 1);
        }
        for (int i = 0; i < pairs.count; i++) {
            dGeomID a = pairs.pair[i].side[0]->named, b = pairs.pair[i].side[1]->named;
            ck_assert(dGeomIsEnabled(a) && dGeomIsEnabled(b));
            ck_assert(dGeomGetBody(a) || dGeomGetBody(b));
            ck_assert((dGeomGetCategoryBits(a) & dGeomGetCollideBits(b)) ||
                      (dGeomGetCategoryBits(b) & dGeomGetCollideBits(a)));
            ck_assert(!top_of(a) || top_of(a) != top_of(b));
        }
        dSpaceDestroy(space);
        space = dHashSpaceCreate(NULL);
    }
}
END_TEST

static void half(void *data, dGeomID geom, double bounds[6])
{
    (void)data, (void)geom;
    for (int k = 0; k < 3; k++) {
        bounds[k] -= 0.05;
        bounds[k + 3] += 0.05;
    }
}

static bool boxes_overlap(dGeomID a, dGeomID b)
{
    dReal p[6], q[6];
    dGeomGetAABB(a, p);
    dGeomGetAABB(b, q);
    return p[0] <= q[1] && q[0] <= p[1] && p[2] <= q[3] && q[2] <= p[3] && p[4] <= q[5] &&
           q[4] <= p[5];
}

static double gap_of(dGeomID a, dGeomID b)
{
    const sprag_gap_query query = {INFINITY, 0};
    sprag_scratch room = {0};
    ode_pairs two;
    sprag_gap gap;
    ck_assert_int_eq(sprag_ode_pairs_of_two(geometry, a, b, 0, &room, &two), SPRAG_OK);
    ck_assert_int_eq(sprag_ode_gap(&two.pair[0], &query, &gap, NULL), SPRAG_OK);
    sprag_scratch_free(&room);
    return gap.distance;
}

typedef struct meetings { // of pairs of geoms but the mesh
    int all, apart;       // all; those whose boxes do not overlap
    int found;            // those that the search has found: the others are out of reach
    bool mesh;            // the mesh met something
} meetings;

static void meet(void *data, dGeomID first, dGeomID second)
{
    meetings *of = data;
    const bool mesh = !dGeomGetData(first) || !dGeomGetData(second);
    of->mesh |= mesh;
    of->all += !mesh;
    of->apart += !mesh && !boxes_overlap(first, second);
    if (!mesh && found(first, second) == 1) {
        of->found++;
    } else {
        ck_assert(mesh || gap_of(first, second) > 0.1);
    }
}

// A call meets the pairs of geoms that a search with its reach finds, and others whose boxes
// overlap at corners; with `apart`, those whose boxes do not overlap.
START_TEST(calls_meet_what_searches_find)
{
    dice = 7;
    for (int i = 0; i < 60; i++) {
        dGeomID geom = i ? any_geom(space) : mesh_cube(space);
        on_body(geom, between(-1, 1), between(-1, 1), between(-1, 1));
        turn_anyhow(geom);
        dGeomSetData(geom, (void *)(intptr_t)i);
    }
    find(0.1);
    int all = 0;
    for (int i = 0; i < pairs.count; i++) {
        const ode_geom *const *side = pairs.pair[i].side;
        all += dGeomGetData(side[0]->id) && dGeomGetData(side[1]->id);
    }
    const ode_collision call = {.a = (dGeomID)space};
    meetings met = {0}, apart = {0};
    sprag_scratch room = {0};
    ck_assert(sprag_ode_meet(geometry, &call, false, half, meet, &met, &room));
    ck_assert(sprag_ode_meet(geometry, &call, true, half, meet, &apart, &room));
    sprag_scratch_free(&room);
    ck_assert(met.mesh);
    ck_assert_int_eq(met.found, all);
    ck_assert_int_gt(met.all, all);
    ck_assert_int_gt(apart.found, 10);
    ck_assert_int_gt(met.apart, 10);
    ck_assert_int_lt(met.apart, all - 10);
    ck_assert_int_eq(apart.all, met.apart);
    ck_assert_int_eq(apart.apart, met.apart);
    dGeomTriMeshDataDestroy(cube_data);
}
END_TEST

START_TEST(geoms_of_one_body_are_no_pair)
{
    dGeomID a = on_body(dCreateSphere(space, 1), 0, 0, 0), b = dCreateSphere(space, 1);
    dGeomSetBody(b, dGeomGetBody(a));
    find(0);
    ck_assert_int_eq(pairs.count, 0);
}
END_TEST

START_TEST(two_spaces_meet_across_and_not_within)
{
    dSpaceID other = dSimpleSpaceCreate(NULL);
    dGeomID a = on_body(dCreateSphere(space, 1), 0, 0, 0);
    dGeomID b = on_body(dCreateSphere(space, 1), 1, 0, 0);
    dGeomID c = on_body(dCreateSphere(other, 1), 0, 1, 0);
    const ode_collision across = {.a = (dGeomID)space, .b = (dGeomID)other},
                        lone = {.a = a, .b = b};
    find_in(&across, 1, NULL, 0);
    ck_assert_int_eq(pairs.count, 2);
    ck_assert_int_eq(found(a, c) + found(b, c), 2);
    find_in(&lone, 1, NULL, 0);
    ck_assert_int_eq(pairs.count, 1);
    const ode_collision both[3] = {across, lone, {.a = (dGeomID)space}};
    find_in(both, 3, NULL, 0);
    ck_assert_int_eq(pairs.count, 3); // each once
    dSpaceDestroy(other);
}
END_TEST

// ---- geoms as shapes

START_TEST(transforms_and_offsets_place_the_shape)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    dGeomID inside = dCreateBox(NULL, 1, 1, 1), outer = dCreateGeomTransform(space);
    dGeomSetPosition(inside, 0, 0, 2);
    dGeomTransformSetGeom(outer, inside);
    dGeomTransformSetCleanup(outer, 1);
    dGeomTransformSetInfo(outer, 1);
#pragma GCC diagnostic pop
    on_body(outer, 0, 0, 0);
    dMatrix3 R;
    dRFromAxisAndAngle(R, 1, 0, 0, M_PI / 2); // the box is now at y = -2
    dGeomSetRotation(outer, R);
    dGeomID ball = on_body(dCreateSphere(space, 0.5), 0, -4, 0);
    find(10);
    ck_assert_int_eq(found(outer, ball), 1);
    ck_assert_double_eq_tol(least_gap().distance, 1, 1e-15);

    dGeomDestroy(outer);
    dGeomID box = dCreateBox(space, 1, 1, 1);
    dGeomSetBody(box, dBodyCreate(world));
    dGeomSetOffsetPosition(box, 0, -2, 0);
    find(10);
    ck_assert_double_eq_tol(least_gap().distance, 1, 1e-15);
}
END_TEST

START_TEST(depths_are_those_of_ode_where_it_is_exact)
{
    dContactGeom contact[8];
    dice = 6;
    for (int i = 0; i < 3000; i++) {
        dGeomID a = i % 3 == 0 ? dCreateSphere(space, 0.5) : dCreateBox(space, 0.5, 1, 2);
        dGeomID b = i % 3 == 2 ? dCreatePlane(space, 0, 0.6, 0.8, 0.1) : dCreateBox(space, 1, 1, 1);
        on_body(a, between(-1, 1), between(-1, 1), between(-1, 1));
        turn_anyhow(a);
        int count = dCollide(a, b, 8, contact, sizeof *contact);
        double deepest = 0;
        for (int k = 0; k < count; k++) {
            deepest = fmax(deepest, contact[k].depth);
        }
        find(0);
        sprag_gap gap = least_gap();
        if (count) {
            // ODE prefers faces to edges by a factor of 1.05
            ck_assert_double_le(-gap.distance, 1.06 * deepest + 1e-9);
            ck_assert_double_ge(-gap.distance, deepest / 1.06 - 1e-9);
        } else {
            ck_assert_double_ge(gap.distance, -1e-12);
        }
        dBodyDestroy(dGeomGetBody(a));
        dGeomDestroy(a);
        dGeomDestroy(b);
    }
}
END_TEST

// The same cube as a box, as a convex geom and as a mesh of triangles.
START_TEST(box_convex_and_mesh_are_the_same_cube)
{
    dGeomID cube[3] = {dCreateBox(space, 1, 1, 1), convex_cube(space), mesh_cube(space)};
    dGeomID ball = NULL;
    dice = 7;
    for (int i = 0; i < 300; i++) {
        double x = between(-2, 2), y = between(-2, 2), z = between(-2, 2), distance[3];
        dQuaternion q = {between(-1, 1), between(-1, 1), between(-1, 1), between(-1, 1)};
        dNormalize4(q);
        ball = on_body(any_geom(space), between(-0.1, 0.1), between(-0.1, 0.1), 0);
        turn_anyhow(ball);
        for (int k = 0; k < 3; k++) {
            for (int other = 0; other < 3; other++) {
                (other == k ? dGeomEnable : dGeomDisable)(cube[other]);
            }
            dGeomSetPosition(cube[k], x, y, z);
            dGeomSetQuaternion(cube[k], q);
            find(20);
            ck_assert_int_eq(found(ball, cube[k]), k == 2 ? 12 : 1);
            distance[k] = least_gap().distance;
        }
        ck_assert_double_eq_tol(distance[1], distance[0], 1e-12);
        if (distance[0] > 0) { // a mesh has no inside
            ck_assert_double_eq_tol(distance[2], distance[0], 1e-12);
        }
        dBodyDestroy(dGeomGetBody(ball));
        dGeomDestroy(ball);
    }
    dGeomDestroy(cube[2]);
    dGeomTriMeshDataDestroy(cube_data);
}
END_TEST

START_TEST(two_meshes_meet_by_their_triangles)
{
    dGeomID a = mesh_cube(space);
    dTriMeshDataID data = cube_data;
    dGeomID b = mesh_cube(space);
    on_body(a, 0, 0, 0);
    on_body(b, 1.25, 0.1, 0.2);
    find(1);
    ck_assert_double_eq_tol(least_gap().distance, 0.25, 1e-15);
    ck_assert_int_lt(pairs.count, 144);
    find(0);
    ck_assert_int_eq(pairs.count, 0);
    dGeomDestroy(a);
    dGeomDestroy(b);
    dGeomTriMeshDataDestroy(data);
    dGeomTriMeshDataDestroy(cube_data);
}
END_TEST

// A thin wall of a mesh: what is half through it is pushed back to its front.
START_TEST(meshes_push_out_of_their_front)
{
    dGeomID cube = mesh_cube(space);
    dGeomSetPosition(cube, 0, 0, -0.5); // its top is z = 0
    dGeomID ball = on_body(dCreateSphere(space, 0.25), 0.2, 0.1, -0.1);
    find(0);
    const sprag_gap_query query = {INFINITY, 0.01};
    int up = 0;
    for (int i = 0; i < pairs.count; i++) {
        sprag_gap gap;
        ck_assert_int_eq(sprag_ode_gap(&pairs.pair[i], &query, &gap, NULL), SPRAG_OK);
        if (gap.distance < 0) {
            bool first = pairs.pair[i].side[0]->named == ball;
            ck_assert_double_eq_tol(gap.normal[2], first ? 1 : -1, 1e-15);
            ck_assert_double_eq_tol(gap.distance, -0.35, 1e-15);
            up++;
        }
    }
    ck_assert_int_ge(up, 1);
    dGeomDestroy(cube);
    dGeomTriMeshDataDestroy(cube_data);
}
END_TEST

static dReal hill(void *data, int x, int z)
{
    (void)data;
    return x == 2 && z == 2 ? 1 : 0;
}

START_TEST(heightfields_are_two_triangles_a_cell)
{
    dHeightfieldDataID data = dGeomHeightfieldDataCreate();
    dGeomHeightfieldDataBuildCallback(data, NULL, hill, 4, 4, 5, 5, 1, 0, 0.1, 0);
    dGeomHeightfieldDataSetBounds(data, 0, 1);
    dGeomID field = dCreateHeightfield(space, data, 1);
    dGeomID ball = on_body(dCreateSphere(space, 0.25), -1.5, 1, -1.4);
    find(2);
    ck_assert_double_eq_tol(least_gap().distance, 0.75, 1e-15); // over the flat
    ck_assert_int_gt(found_at(field, ball, 0, 2, 0, 2), 0);
    ck_assert_double_eq_tol(least_gap().distance, 0.75, 1e-15); // over the top
    ck_assert_int_gt(found_at(field, ball, -0.3, 0.6, -0.3, 2), 0);
    // the cell that falls from (0,0) to x = -1 and z = -1 alike
    ck_assert_double_gt(least_gap().distance, -0.25);
    ck_assert_int_le(found_at(field, ball, -1.5, 0.1, -1.4, 0), 4); // only the cells near it
    const sprag_gap gap = least_gap();
    ck_assert_double_eq_tol(gap.distance, -0.15, 1e-15);
    ck_assert_double_eq_tol(fabs(gap.normal[1]), 1, 1e-15);
    dGeomHeightfieldDataDestroy(data);
}
END_TEST

// Cells of 10 cm under a box: one triangle takes the place of those that fill one plane where it
// may go, and of none beside the border, on a bump of 10 nm, or where a mesh lacks a triangle.
START_TEST(triangles_that_fill_a_plane_are_one)
{
    enum { SIDE = 11, CELLS = (SIDE - 1) * (SIDE - 1) };
    static double heights[SIDE * SIDE];
    static dReal vertex[SIDE * SIDE][4];
    static dTriIndex index[CELLS][6];
    for (int i = 0; i < SIDE * SIDE; i++) {
        memcpy(vertex[i], (dReal[]){0.1 * (i / SIDE) - 0.5, 0.1 * (i % SIDE) - 0.5, -3, 0},
               sizeof *vertex);
    }
    for (int i = 0; i < CELLS; i++) {
        const dTriIndex a = (dTriIndex)(i / (SIDE - 1) * SIDE + i % (SIDE - 1)), b = a + SIDE;
        memcpy(index[i], (dTriIndex[]){a, b, b + 1, a, b + 1, a + 1}, sizeof *index);
    }
    dHeightfieldDataID data = dGeomHeightfieldDataCreate();
    dGeomHeightfieldDataBuildDouble(data, heights, 0, 1, 1, SIDE, SIDE, 1, 0, 0.1, 0);
    dGeomID field = dCreateHeightfield(space, data, 1);
    dTriMeshDataID mesh_data = dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildDouble(mesh_data, vertex, sizeof *vertex, SIDE * SIDE, *index, 6 * CELLS,
                                sizeof *index / 2);
    dGeomID mesh = dCreateTriMesh(space, mesh_data, NULL, NULL, NULL);
    dGeomID box = on_body(dCreateBox(space, 0.4, 0.4, 0.4), 0, 0, 0);
    ck_assert_int_eq(found_at(field, box, 0.03, 0.25, 0.02, 0.1), 1);
    ck_assert_double_eq_tol(least_gap().distance, 0.05, 1e-15);
    ck_assert_int_gt(found_at(field, box, 0.35, 0.25, 0, 0.1), 20);
    heights[SIDE * SIDE / 2] = 1e-8;
    ck_assert_int_gt(found_at(field, box, 0.03, 0.25, 0.02, 0.1), 20);
    ck_assert_int_eq(found_at(mesh, box, 0.03, 0.02, -2.75, 0.1), 1);
    ck_assert_double_eq_tol(least_gap().distance, 0.05, 1e-15);
    dGeomTriMeshDataBuildDouble(mesh_data, vertex, sizeof *vertex, SIDE * SIDE, index[55], 6 * 45,
                                sizeof *index / 2);
    dGeomTriMeshSetData(mesh, mesh_data);
    ck_assert_int_gt(found_at(mesh, box, 0.03, 0.02, -2.75, 0.1), 10);
    dGeomDestroy(mesh);
    dGeomHeightfieldDataDestroy(data);
    dGeomTriMeshDataDestroy(mesh_data);
}
END_TEST

// ODE's y-up field on its side, as programs with z up have it.
START_TEST(heightfields_turn)
{
    static const double heights[9] = {0};
    dHeightfieldDataID data = dGeomHeightfieldDataCreate();
    dGeomHeightfieldDataBuildDouble(data, heights, 0, 2, 2, 3, 3, 1, 0.5, 0.1, 0);
    dGeomID field = dCreateHeightfield(space, data, 1);
    dMatrix3 R;
    dRFromAxisAndAngle(R, 1, 0, 0, M_PI / 2);
    dGeomSetRotation(field, R);
    on_body(dCreateBox(space, 0.5, 0.5, 0.5), 0.1, 0.2, 1);
    find(1);
    ck_assert_double_eq_tol(least_gap().distance, 0.25, 1e-15);
    dGeomHeightfieldDataDestroy(data);
}
END_TEST

static dColliderFn *no_collider(int class)
{
    (void)class;
    return NULL;
}

START_TEST(geoms_without_shape_are_counted)
{
    static const dGeomClass strange = {0, no_collider, dInfiniteAABB, NULL, NULL};
    int class = dCreateGeomClass(&strange);
    dGeomID geom = dCreateGeom(class);
    dSpaceAdd(space, geom);
    dCreateRay(space, 1);
    on_body(dCreateSphere(space, 1), 0, 0, 0);
    find(0);
    ck_assert_int_eq(pairs.count, 0);
    ck_assert_int_eq(pairs.unknown, 1);
    ck_assert_ptr_eq(pairs.unknown_geom, geom);
}
END_TEST

static bool has_shape(dGeomID id)
{
    ode_geom geom;
    ck_assert(sprag_ode_geom_of(geometry, id, &geom));
    return geom.kind == ODE_GEOM_SHAPE;
}

START_TEST(geoms_without_extent_have_no_shape)
{
    for (int k = 0; k < 8; k++) { // of eight boxes, one has three sides
        dGeomID box = dCreateBox(space, k & 1, k >> 1 & 1, k >> 2 & 1);
        ck_assert_int_eq(has_shape(box), k == 7);
    }
    for (int k = 0; k < 4; k++) {
        dReal radius = k & 1, length = k >> 1 & 1;
        ck_assert_int_eq(has_shape(dCreateSphere(space, radius)), radius > 0);
        ck_assert_int_eq(has_shape(dCreateCapsule(space, radius, length)), radius > 0);
        ck_assert_int_eq(has_shape(dCreateCylinder(space, radius, length)), k == 3);
    }
    dGeomID empty = dCreateHeightfield(NULL, NULL, 1);
    ck_assert_ptr_null(sprag_ode_heights(empty));
    dGeomDestroy(empty);
}
END_TEST

// A convex geom whose points a program moves where they are.
START_TEST(changed_convex_geoms_are_read_again)
{
    dReal points[24];
    memcpy(points, cube_points, sizeof points);
    dGeomID cube = dCreateConvex(space, cube_planes, 6, points, 8, cube_faces);
    on_body(dCreateSphere(space, 0.5), 0, 0, 2);
    sprag_manifold manifold;
    sprag_gap gap;
    const sprag_gap_query query = {INFINITY, 10};
    find(10);
    ck_assert_double_eq_tol(least_gap().distance, 1, 1e-15);
    for (int i = 0; i < 24; i++) {
        points[i] *= 2;
    }
    find(10);
    ck_assert_int_eq(sprag_ode_gap(&pairs.pair[0], &query, &gap, &manifold), SPRAG_OK);
    ck_assert_double_eq_tol(gap.distance, 0.5, 1e-15);
    ck_assert_int_eq(manifold.count, 1);
    dGeomDestroy(cube);
}
END_TEST

// ---- accepted geoms

START_TEST(settled_steps_allocate_nothing)
{
    dice = 8;
    dCreatePlane(space, 0, 0, 1, 0);
    for (int i = 0; i < 300; i++) {
        on_body(any_geom(space), between(-3, 3), between(-3, 3), between(0, 3));
    }
    find(0.01);
    find(0.01);
    find(0.01);
    long before = scratch.allocations;
    int count = pairs.count;
    sprag_gap first = least_gap();
    for (int i = 0; i < 5; i++) {
        find(0.01);
        sprag_gap again = least_gap();
        ck_assert_int_eq(pairs.count, count);
        ck_assert_double_eq_tol(again.distance, first.distance, 1e-13);
    }
    ck_assert_int_eq(scratch.allocations, before);
}
END_TEST

START_TEST(geoms_may_go)
{
    on_body(dCreateSphere(space, 0.5), 0, 0, 2);
    for (int i = 0; i < 2500; i++) {
        dGeomID cube = i < 100 || i > 2400 ? i % 2 ? convex_cube(space) : mesh_cube(space) : NULL;
        find(1);
        ck_assert_int_eq(pairs.count > 0, cube != NULL);
        if (cube) {
            ck_assert_double_eq_tol(least_gap().distance, 1, 1e-15);
            dGeomDestroy(cube);
        }
        if (cube && i % 2 == 0) {
            dGeomTriMeshDataDestroy(cube_data);
        }
    }
}
END_TEST

static void pass(void *data, dGeomID first, dGeomID second)
{
    (void)data, (void)first, (void)second;
}

// Those that questions about two geoms have read, too, though searches find no pair.
START_TEST(what_questions_have_read_goes)
{
    const ode_collision call = {.a = (dGeomID)space};
    dGeomID ball = on_body(dCreateSphere(space, 0.5), 0, 0, 1), cube = convex_cube(space);
    ck_assert_int_eq(sprag_ode_pairs_of_two(geometry, ball, cube, 1, &scratch, &pairs), SPRAG_OK);
    ck_assert_ptr_nonnull(geometry->kept);
    dGeomDestroy(cube);
    for (int i = 0; i < 2500; i++) {
        sprag_scratch_reset(&scratch);
        ck_assert(sprag_ode_meet(geometry, &call, false, half, pass, NULL, &scratch));
    }
    ck_assert_ptr_null(geometry->kept);
}
END_TEST

// Memories of pairs are theirs, wherever the pair is in the list.
START_TEST(pairs_are_remembered)
{
    dGeomID a = on_body(convex_cube(space), 0, 0, 0), b = on_body(convex_cube(space), 0, 0, 1.01);
    find(1);
    least_gap();
    sprag_gap_memory before = pairs.pair[0].memory->gap;
    ck_assert_int_gt(before.count, 0);
    on_body(dCreateSphere(space, 1), -1, 0, 0);
    find(1);
    for (int i = 0; i < pairs.count; i++) {
        ode_pair *p = &pairs.pair[i];
        if ((p->side[0]->named == a && p->side[1]->named == b) ||
            (p->side[0]->named == b && p->side[1]->named == a)) {
            ck_assert_mem_eq(&p->memory->gap, &before, sizeof before);
        } else {
            ck_assert_int_eq(p->memory->gap.count, 0);
        }
    }
}
END_TEST

static dReal bump(void *data, int x, int z)
{
    (void)data;
    return 0.1 * sin(0.9 * x) * cos(1.3 * z);
}

static int triangle_of(const ode_geom *const side[2])
{
    return side[0]->triangle >= 0 ? side[0]->triangle : side[1]->triangle;
}

// Of a heightfield that a round or a square shape lies in, as far as the margin; few more.
START_TEST(triangles_within_the_margin_are_pairs)
{
    enum { CELLS = 12, TRIANGLES = 2 * CELLS * CELLS };
    const sprag_gap_query query = {INFINITY, 0};
    dHeightfieldDataID field = dGeomHeightfieldDataCreate();
    int near = 0, listed = 0;
    dGeomHeightfieldDataBuildCallback(field, NULL, bump, 2, 2, CELLS + 1, CELLS + 1, 1, 0, 1, 0);
    dCreateHeightfield(space, field, 1);
    for (int i = 0; i < 200; i++) {
        const double margin = i % 2 ? 0.01 : 0.1;
        bool is_near[TRIANGLES] = {false}, is_pair[TRIANGLES] = {false};
        dGeomID geom = i % 4 == 0   ? dCreateSphere(space, between(0.1, 0.5))
                       : i % 4 == 1 ? dCreateCapsule(space, between(0.1, 0.3), between(0, 1))
                       : i % 4 == 2 ? dCreateCylinder(space, between(0.1, 0.5), between(0.1, 1))
                                    : dCreateBox(space, between(0.1, 1), between(0.1, 1), 0.3);
        on_body(geom, between(-0.5, 0.5), between(0, 0.6), between(-0.5, 0.5));
        turn_anyhow(geom);
        find(100);
        ck_assert_int_eq(pairs.count, TRIANGLES);
        for (int k = 0; k < pairs.count; k++) {
            const ode_geom *const *side = pairs.pair[k].side;
            sprag_gap gap;
            ck_assert_int_eq(sprag_ode_gap(&pairs.pair[k], &query, &gap, NULL), SPRAG_OK);
            is_near[triangle_of(side)] = gap.distance <= margin;
        }
        find(margin);
        listed += pairs.count;
        for (int k = 0; k < pairs.count; k++) {
            const ode_geom *const *side = pairs.pair[k].side;
            is_pair[triangle_of(side)] = true;
        }
        for (int k = 0; k < TRIANGLES; k++) {
            near += is_near[k];
            ck_assert(is_pair[k] || !is_near[k]);
        }
        dBodyDestroy(dGeomGetBody(geom));
        dGeomDestroy(geom);
    }
    ck_assert_int_gt(near, 1000);
    ck_assert_int_lt(listed, 2 * near);
    dGeomHeightfieldDataDestroy(field);
}
END_TEST

// Two million cells of a heightfield that has no end: their contacts are the program's.
START_TEST(large_geoms_on_fine_fields_are_left_to_stock)
{
    static const double heights[9] = {0};
    static const float corner[] = {0, 0, 0, 150, 0, 0, 0, 0, 150, 0, 0.1F, 0};
    static const dTriIndex triangles[] = {0, 1, 2, 0, 3, 1, 0, 2, 3, 1, 3, 2};
    dHeightfieldDataID heights_of = dGeomHeightfieldDataCreate();
    dTriMeshDataID triangles_of = dGeomTriMeshDataCreate();
    dContactGeom contact[4];
    dGeomHeightfieldDataBuildDouble(heights_of, heights, 0, 0.2, 0.2, 3, 3, 1, 0, 1, 1);
    dGeomTriMeshDataBuildSingle(triangles_of, corner, 12, 4, triangles, 12, 12);
    dGeomID field = dCreateHeightfield(space, heights_of, 1);
    dGeomID ball = on_body(dCreateSphere(space, 0.5), 200, 0.4, 0);
    dGeomID large[2] = {on_body(dCreateTriMesh(space, triangles_of, 0, 0, 0), 0, 0, 0),
                        on_body(dCreateBox(space, 150, 1, 150), 0, 0.4, 0)};
    find(0.01);
    ck_assert_int_eq(pairs.unknown, 0);
    ck_assert_int_gt(found(field, ball), 0);
    for (int i = 0; i < 2; i++) {
        const ode_last_step none = {0};
        const ode_reach reach = {1e-4, 0, 4};
        ck_assert_int_eq(found(field, large[i]), 0);
        ck_assert_int_eq(sprag_ode_collide_within(geometry, &scratch, field, large[i], &reach,
                                                  &none, NULL, 4, contact, sizeof *contact),
                         -1);
    }
    dGeomDestroy(field);
    dGeomDestroy(large[0]);
    dGeomHeightfieldDataDestroy(heights_of);
    dGeomTriMeshDataDestroy(triangles_of);
}
END_TEST

// A mesh of so many triangles that look like a roof each, side by side.
static dGeomID row_of_triangles(int count, dTriMeshDataID *data)
{
    enum { MOST = 120 };
    static double corner[2][3 * MOST][3];
    static dTriIndex index[3 * MOST];
    static int turn;
    double(*of)[3] = corner[turn++ % 2];
    for (int i = 0; i < 3 * count; i++) {
        index[i] = (dTriIndex)i;
        of[i][0] = 0.01 * (i / 3) + (i % 3 == 1);
        of[i][1] = i % 3 == 2;
        of[i][2] = 0.1 * (i % 3);
    }
    *data = dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildDouble(*data, of, sizeof of[0], 3 * count, index, 3 * count,
                                3 * sizeof index[0]);
    return on_body(dCreateTriMesh(space, *data, NULL, NULL, NULL), 0, 0, turn);
}

// Two of them beside a third mesh that has few triangles, also where there are 45 other geoms.
START_TEST(fine_meshes_are_left_to_stock)
{
    dTriMeshDataID data[3];
    for (int i = 0; i < 45 * _i; i++) {
        on_body(dCreateSphere(space, 0.1), 1000 + 2 * i, 0, 0);
    }
    dGeomID fine[2] = {row_of_triangles(120, &data[0]), row_of_triangles(110, &data[1])};
    dGeomID ball = on_body(dCreateSphere(space, 0.5), 0, 0, 3);
    find(100);
    ck_assert_int_eq(found(fine[0], fine[1]), 0);
    ck_assert_int_eq(found(fine[0], ball), 120);
    ck_assert(pairs.crowded[0] == fine[0] || pairs.crowded[1] == fine[0]);
    ck_assert(pairs.crowded[0] == fine[1] || pairs.crowded[1] == fine[1]);
    dGeomDestroy(fine[1]);
    dGeomID coarse = row_of_triangles(10, &data[2]);
    find(100);
    ck_assert_int_eq(found(fine[0], coarse), 1200);
    ck_assert_ptr_null(pairs.crowded[0]);
    dGeomDestroy(fine[0]);
    dGeomDestroy(coarse);
    for (int i = 0; i < 3; i++) {
        dGeomTriMeshDataDestroy(data[i]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("geoms");
    ADD_TESTS_WITH(
        suite, "all", open_world, close_world, {pairs_are_those_that_ode_collides, 1},
        {calls_meet_what_searches_find, 1}, {geoms_of_one_body_are_no_pair, 1},
        {two_spaces_meet_across_and_not_within, 1}, {transforms_and_offsets_place_the_shape, 1},
        {depths_are_those_of_ode_where_it_is_exact, 1}, {box_convex_and_mesh_are_the_same_cube, 1},
        {two_meshes_meet_by_their_triangles, 1}, {meshes_push_out_of_their_front, 1},
        {heightfields_are_two_triangles_a_cell, 1}, {triangles_that_fill_a_plane_are_one, 1},
        {heightfields_turn, 1}, {geoms_without_shape_are_counted, 1},
        {geoms_without_extent_have_no_shape, 1}, {changed_convex_geoms_are_read_again, 1},
        {settled_steps_allocate_nothing, 1}, {geoms_may_go, 1}, {what_questions_have_read_goes, 1},
        {pairs_are_remembered, 1}, {triangles_within_the_margin_are_pairs, 1},
        {large_geoms_on_fine_fields_are_left_to_stock, 1}, {fine_meshes_are_left_to_stock, 2});
    return run_suite(suite);
}
