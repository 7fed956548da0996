// dCollide by the kernel, beside closed forms: meshes that are solids, and flat ones.
#include <check.h>
#include <math.h>

#include "convex_cube.h"
#include "geometry_cache.h"
#include "suite.h"

enum { MOST = 16 };

static const ode_reach reach = {1e-4, 0, MOST}; // m
static dWorldID world;
static dTriMeshDataID data;
static ode_geometry *geometry;
static sprag_scratch scratch;
static dContactGeom contact[MOST];

static void start(void)
{
    dInitODE2(0);
    world = dWorldCreate();
    data = dGeomTriMeshDataCreate();
    geometry = sprag_ode_geometry_make();
}

static void stop(void)
{
    sprag_ode_geometry_free(geometry);
    sprag_scratch_free(&scratch);
    dGeomTriMeshDataDestroy(data);
    dWorldDestroy(world);
    dCloseODE();
}

static int touch(dGeomID a, dGeomID b)
{
    static const ode_last_step none;
    sprag_scratch_reset(&scratch);
    return sprag_ode_collide_within(geometry, &scratch, a, b, &reach, &none, NULL, MOST, contact,
                                    sizeof *contact);
}

// ---- closed meshes

static const double half[3] = {1, 0.5, 0.25}; // m

// The first triangles of a block, that look outwards, or inwards, at (5, -3, 2), turned by 90
// degrees.
static dGeomID create_part(bool inwards, int indices)
{
    static double corner[8][3];
    static dTriIndex index[36];
    for (int i = 0; i < 24; i++) {
        corner[i / 3][i % 3] = 2 * half[i % 3] * cube_points[i];
    }
    for (int i = 0; i < 36; i++) {
        index[i] = cube_triangles[inwards ? 35 - i : i];
    }
    dGeomTriMeshDataBuildDouble(data, corner, sizeof corner[0], 8, index, indices,
                                3 * sizeof *index);
    dGeomID block = dCreateTriMesh(NULL, data, NULL, NULL, NULL);
    dMatrix3 turn;
    dRFromAxisAndAngle(turn, 0, 0, 1, acos(0));
    dGeomSetBody(block, dBodyCreate(world));
    dGeomSetPosition(block, 5, -3, 2);
    dGeomSetRotation(block, turn);
    return block;
}

static dGeomID create_block(bool inwards)
{
    return create_part(inwards, 36);
}

// Has a ball, whose middle is so far (m) outside each face of the block, one contact at that face,
// and does it push it there (1) or inwards (-1)?
static bool pushes(dGeomID block, double outside, int way)
{
    const double radius = 0.125;
    dGeomID ball = dCreateSphere(NULL, radius);
    bool all = true;
    for (int face = 0; face < 6; face++) {
        const int k = face / 2, sign = face % 2 ? 1 : -1;
        double at[3] = {0.03, 0.02, 0.01}, normal[3] = {0};
        at[k] = sign * (half[k] + outside);
        normal[k] = sign * way;
        dGeomSetPosition(ball, 5 - at[1], -3 + at[0], 2 + at[2]);
        all &= touch(ball, block) == 1 &&
               fabs(contact[0].depth - (radius - way * outside)) < 1e-12 &&
               fabs(contact[0].normal[0] + normal[1]) < 1e-12 &&
               fabs(contact[0].normal[1] - normal[0]) < 1e-12 &&
               fabs(contact[0].normal[2] - normal[2]) < 1e-12;
    }
    dGeomDestroy(ball);
    return all;
}

// Of a body it is a solid, whichever way its triangles look, unless what it meets is within it.
// What does not move is what its triangles say.
START_TEST(blocks_of_inward_triangles_are_solids)
{
    dGeomID block = create_block(false);
    ck_assert(pushes(block, 0.05, 1) && pushes(block, -0.05, 1));
    dGeomDestroy(block);
    block = create_block(true);
    ck_assert(pushes(block, 0.05, 1) && pushes(block, -0.05, -1));
    dBodySetKinematic(dGeomGetBody(block));
    ck_assert(pushes(block, 0.05, -1) && pushes(block, -0.05, -1));
    dGeomSetBody(block, NULL);
    ck_assert(pushes(block, 0.05, -1) && pushes(block, -0.05, -1));
    dGeomDestroy(block);
}
END_TEST

// Half of a block is a bowl, not a solid that is turned inside out, and is what its triangles say.
START_TEST(open_blocks_of_inward_triangles_are_sheets)
{
    dGeomID block = create_block(true);
    ode_geom geom;
    ck_assert(sprag_ode_geom_of(geometry, block, &geom) && geom.mesh->inside_out);
    dGeomDestroy(block);
    block = create_part(true, 30);
    ck_assert(sprag_ode_geom_of(geometry, block, &geom) && !geom.mesh->inside_out);
    dGeomDestroy(block);
}
END_TEST

// Longer than its diagonal, nothing is within it: a rod through two walls leaves by the top alone.
START_TEST(long_rods_are_not_within_a_block)
{
    const double diagonal = 2 * sqrt(half[0] * half[0] + half[1] * half[1] + half[2] * half[2]);
    dGeomID block = create_block(true);
    for (int i = 0; i < 2; i++) {
        dGeomID rod = dCreateBox(NULL, diagonal + (i ? 0.01 : -0.01), 0.2, 0.2);
        dGeomSetPosition(rod, 5, -3, 2 + 0.2);
        int up = 0, all = touch(rod, block);
        for (int n = 0; n < all; n++) {
            up += fabs(contact[n].normal[2] - 1) < 1e-12 && fabs(contact[n].depth - 0.15) < 1e-12;
        }
        ck_assert_int_ge(up, 4);
        ck_assert_int_eq(up == all, i);
        dGeomDestroy(rod);
    }
    dGeomDestroy(block);
}
END_TEST

// ---- flat meshes

// Two triangles in z = height, 8 m on each side, with a seam along the diagonal.
static dGeomID create_floor(double height)
{
    static double corner[4][3];
    static const dTriIndex index[6] = {0, 1, 3, 0, 3, 2};
    for (int i = 0; i < 4; i++) {
        corner[i][0] = i % 2 ? 4 : -4;
        corner[i][1] = i / 2 ? 4 : -4;
        corner[i][2] = height;
    }
    dGeomTriMeshDataBuildDouble(data, corner, sizeof corner[0], 4, index, 6, 3 * sizeof *index);
    return dCreateTriMesh(NULL, data, NULL, NULL, NULL);
}

// A box has four contacts, those of a plane, across the seam: apart, touching and overlapping.
START_TEST(boxes_touch_flat_meshes_at_their_corners)
{
    static const double gap[] = {1.01e-4, 0.99e-4, 0.5e-4, 0, -0x1p-10, -0x1p-4, -0x3p-4};
    dGeomID floor = create_floor(0), box = dCreateBox(NULL, 1, 0.5, 0.25);
    for (int i = 0; i < COUNT(gap); i++) {
        dGeomSetPosition(box, 0.125, 0.0625, 0.125 + gap[i]);
        ck_assert_int_eq(touch(box, floor), i ? 4 : 0);
        for (int k = 0; k < 4 && i; k++) {
            ck_assert_double_eq_tol(contact[k].depth, fmax(0, -gap[i]), 1e-15);
            ck_assert_double_eq_tol(fabs(contact[k].pos[0] - 0.125), 0.5, 1e-15);
            ck_assert_double_eq_tol(fabs(contact[k].pos[1] - 0.0625), 0.25, 1e-15);
            ck_assert_double_eq(contact[k].normal[2], 1);
        }
    }
    dGeomDestroy(floor);
    dGeomDestroy(box);
}
END_TEST

// ---- meshes that change

// m, of a flat mesh, by what a box at z = 0 has for a depth.
static double height_of(dGeomID floor)
{
    dGeomID box = dCreateBox(NULL, 1, 0.5, 0.25);
    dGeomSetPosition(box, 0, 0, 0.125);
    const double depth = touch(box, floor) == 4 ? contact[0].depth : NAN;
    dGeomDestroy(box);
    return depth;
}

// Fills an array of corners that ODE has by reference.
static void lift(double corner[4][3], double height)
{
    for (int i = 0; i < 4; i++) {
        corner[i][0] = i % 2 ? 4 : -4;
        corner[i][1] = i / 2 ? 4 : -4;
        corner[i][2] = height;
    }
}

// A mesh is what it is when it is looked at, unless the program tells that it has changed, or takes
// other data, or data of another size. Where nothing says when to look again, each look is one.
START_TEST(meshes_are_what_they_were_at_the_last_look)
{
    static const dTriIndex index[] = {0, 1, 3, 0, 3, 2, 0, 1, 3};
    static double corner[2][4][3];
    dTriMeshDataID other = dGeomTriMeshDataCreate();
    lift(corner[0], 0.01);
    lift(corner[1], 0.02);
    dGeomTriMeshDataBuildDouble(data, corner[0], sizeof(double[3]), 4, index, 6, 3 * sizeof *index);
    dGeomTriMeshDataBuildDouble(other, corner[1], sizeof(double[3]), 4, index, 6,
                                3 * sizeof *index);
    dGeomID floor = dCreateTriMesh(NULL, data, NULL, NULL, NULL);
    ck_assert_double_eq_tol(height_of(floor), 0.01, 1e-8);
    lift(corner[0], 0.03);
    ck_assert_double_eq_tol(height_of(floor), 0.03, 1e-8);
    sprag_ode_geometry_look_again(geometry);
    lift(corner[0], 0.04);
    ck_assert_double_eq_tol(height_of(floor), 0.04, 1e-8);
    lift(corner[0], 0.05); // not told, and not looked at
    ck_assert_double_eq_tol(height_of(floor), 0.04, 1e-8);
    sprag_ode_mesh_changed(data);
    ck_assert_double_eq_tol(height_of(floor), 0.05, 1e-8);
    dGeomTriMeshSetData(floor, other);
    ck_assert_double_eq_tol(height_of(floor), 0.02, 1e-8);
    dGeomTriMeshSetData(floor, data);
    ck_assert_double_eq_tol(height_of(floor), 0.05, 1e-8);
    lift(corner[0], 0.06);
    dGeomTriMeshDataBuildDouble(data, corner[0], sizeof(double[3]), 4, index, 9, 3 * sizeof *index);
    dGeomTriMeshSetData(floor, data);
    ck_assert_double_eq_tol(height_of(floor), 0.06, 1e-8);
    lift(corner[0], 0.07);
    sprag_ode_geometry_look_again(geometry);
    ck_assert_double_eq_tol(height_of(floor), 0.07, 1e-8);
    dGeomDestroy(floor);
    dGeomTriMeshDataDestroy(other);
}
END_TEST

static void count(void *found, int number, const double corner[3][3])
{
    (void)number, (void)corner;
    ++*(int *)found;
}

// The bounds of a mesh have all of its triangles, also where it has no height and its place is
// rounded; a little above it there is none.
START_TEST(bounds_have_all_triangles)
{
    for (int i = 0; i < 400; i++) {
        dMatrix3 turn;
        ode_geom geom;
        int all = 0, none = 0;
        dGeomID floor = i % 4 ? create_floor(0.1 * (i % 7 - 3)) : create_block(false);
        dRFromAxisAndAngle(turn, i % 3 == 0, i % 3 == 1, i % 3 == 2, 0.7 * (i % 11 - 5));
        dGeomSetRotation(floor, turn);
        dGeomSetPosition(floor, 0.1 * (i % 13 - 6), 0.3 * (i % 5 - 2), 0.7 * (i % 17 - 8));
        ck_assert(sprag_ode_geom_of(geometry, floor, &geom));
        sprag_ode_set_bounds(&geom);
        ck_assert(sprag_ode_triangles(&geom, geom.bounds, INFINITY, count, &all));
        ck_assert_int_eq(all, i % 4 ? 2 : 12);
        const double far = geom.bounds[5] - geom.bounds[2] + 20;
        geom.bounds[2] += far;
        geom.bounds[5] += far;
        ck_assert(sprag_ode_triangles(&geom, geom.bounds, INFINITY, count, &none));
        ck_assert_int_eq(none, 0);
        dGeomDestroy(floor);
    }
}
END_TEST

// A floor of two triangles, one of which rises by half of the reach in 280 m. A box above both is
// within reach of that corner alone: the plane of the other triangle is not that of the floor.
START_TEST(floors_that_rise_by_less_than_the_reach_are_touched)
{
    static const double corner[4][3] = {
        {-100, -100, 0}, {100, -100, 0}, {-100, 100, 0}, {100, 100, 5e-5}};
    static const dTriIndex index[6] = {0, 1, 2, 1, 3, 2};
    dGeomTriMeshDataBuildDouble(data, corner, sizeof corner[0], 4, index, 6, 3 * sizeof *index);
    dGeomID floor = dCreateTriMesh(NULL, data, NULL, NULL, NULL);
    dGeomID box = dCreateBox(NULL, 220, 220, 2);
    dGeomSetPosition(box, 0, 0, 1 + 1.2e-4);
    const int count = touch(box, floor);
    ck_assert_int_ge(count, 1);
    for (int i = 0; i < count; i++) {
        ck_assert_double_eq(contact[i].depth, 0);
        ck_assert_double_gt(contact[i].pos[0] + contact[i].pos[1], 50);
    }
    dGeomDestroy(box);
    dGeomDestroy(floor);
}
END_TEST

// The largest side, on each axis, of the geom that has the smaller one.
START_TEST(sizes_are_the_largest_sides)
{
    static const double side[] = {1, 4, 2, 1, 4};
    for (int k = 0; k < 3; k++) {
        dGeomID box = dCreateBox(NULL, side[k], side[k + 1], side[k + 2]);
        dGeomSetPosition(box, 20, 30, -40);
        for (int i = 0; i < 2; i++) {
            dGeomID ball = dCreateSphere(NULL, i ? 1.5 : 2.5);
            dGeomSetPosition(ball, -20, 50, 70);
            ck_assert_double_eq(sprag_ode_size_of_smaller(box, ball), i ? 3 : 4);
            ck_assert_double_eq(sprag_ode_size_of_smaller(ball, box), i ? 3 : 4);
            dGeomDestroy(ball);
        }
        dGeomDestroy(box);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("collide within");
    ADD_TESTS_WITH(
        suite, "all", start, stop, {blocks_of_inward_triangles_are_solids, 1},
        {long_rods_are_not_within_a_block, 1}, {open_blocks_of_inward_triangles_are_sheets, 1},
        {boxes_touch_flat_meshes_at_their_corners, 1}, {bounds_have_all_triangles, 1},
        {floors_that_rise_by_less_than_the_reach_are_touched, 1},
        {meshes_are_what_they_were_at_the_last_look, 1}, {sizes_are_the_largest_sides, 1});
    return run_suite(suite);
}
