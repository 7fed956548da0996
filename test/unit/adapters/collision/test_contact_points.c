// Contact points while they are collected: which are one, which are left out, and which come first.
#include <check.h>
#include <math.h>

#include "contact_points.h"
#include "ode.h"
#include "suite.h"

static sprag_scratch scratch;
static ode_points all;

static void start(void)
{
    sprag_scratch_reset(&scratch);
    all = (ode_points){.scratch = &scratch, .reach = 0.25, .gaps = 0.25, .together = 0.125};
}

static void stop(void)
{
    sprag_scratch_free(&scratch);
}

// A point of two surfaces that are `gap` (m) apart, side 0 above side 1.
static void add_by(double x, double y, double z, double gap, const double normal[3], ode_spot spot)
{
    static const int none[2] = {-1, -1};
    const sprag_gap one = {.distance = gap,
                           .normal = {normal[0], normal[1], normal[2]},
                           .point = {{x, y, z + gap}, {x, y, z}}};
    sprag_ode_add_points(&all, &one, &(sprag_manifold){0}, none, spot);
}

static void add(double x, double y, double z, double gap)
{
    add_by(x, y, z, gap, (double[3]){0, 0, 1}, ODE_SPOT_ON_1);
}

// Neither reads nor writes what is behind the last point, whatever is marked there.
static void keep_outlines(void)
{
    for (int mark = 1; mark <= 4; mark++) {
        const ode_point beyond = {.at = {50, -70, 0}, .normal = {0, 0, 1}, .far = mark % 4};
        ode_point *end = &all.point[all.count];
        ck_assert_int_lt(all.count, all.room);
        *end = beyond;
        sprag_ode_keep_outlines(&all);
        ck_assert_mem_eq(end, &beyond, sizeof beyond);
    }
}

static void choose_points(int most)
{
    const ode_point beyond = {.at = {50, -70, 0}, .normal = {0, 0, 1}, .gap = -90, .far = 1e9};
    ode_point *end = &all.point[all.count];
    ck_assert_int_lt(all.count, all.room);
    *end = beyond;
    sprag_ode_choose_points(&all, most);
    ck_assert_mem_eq(end, &beyond, sizeof beyond);
}

static void assert_at(int i, double x, double y, double z)
{
    ck_assert_int_lt(i, all.count);
    ck_assert(all.point[i].at[0] == x && all.point[i].at[1] == y && all.point[i].at[2] == z);
}

// Along each axis: as far apart as counts as together, and farther.
START_TEST(points_together_are_one)
{
    for (int side = -1; side <= 1; side += 2) {
        for (int k = 0; k < 3; k++) {
            double at[2][3] = {{8, 16, 32}, {8, 16, 32}};
            start();
            at[0][k] += side * 0.125;
            at[1][k] += side * 0.126;
            add(8, 16, 32, 0);
            add(at[0][0], at[0][1], at[0][2], 0);
            ck_assert_int_eq(all.count, 1);
            add(at[1][0], at[1][1], at[1][2], 0);
            ck_assert_int_eq(all.count, 2);
        }
    }
}
END_TEST

// Normals that differ by 1e-3 along an axis are those of one face, by 1.1e-3 they are not.
START_TEST(points_of_two_faces_are_two)
{
    static const double off[] = {1e-3, 1.1e-3};
    for (int i = 0; i < 6; i++) {
        double normal[2][3] = {{0}};
        start();
        normal[0][(i / 2 + 1) % 3] = normal[1][(i / 2 + 1) % 3] = 1;
        normal[1][i / 2] = off[i % 2];
        add_by(0, 0, 0, 0, normal[0], ODE_SPOT_ON_1);
        add_by(0, 0, 0, 0, normal[1], ODE_SPOT_ON_1);
        ck_assert_int_eq(all.count, 1 + i % 2);
    }
}
END_TEST

// As far as the reach, not beyond it, and only numbers.
START_TEST(points_out_of_reach_are_left_out)
{
    add(0, 0, 0, 0.25);
    ck_assert_int_eq(all.count, 1);
    add(1, 0, 0, 0.26);
    add(NAN, 0, 0, 0);
    add(0, INFINITY, 0, 0);
    add_by(2, 0, 0, 0, (double[3]){0, 0, NAN}, ODE_SPOT_ON_1);
    add(2, 0, 0, NAN);
    add(2, 0, 0, -INFINITY);
    ck_assert_int_eq(all.count, 1);
}
END_TEST

// Behind the points that touch are the least gaps that close or open in two steps of 0.125 s: the
// first body turns at 4 rad/s about y, so at x the rate is -4 x.
START_TEST(gaps_follow_the_points_that_touch)
{
    static const struct {
        int most, count;
        double gap[5];
    } is[] = {{0, 2, {-0.5, 0.25}},
              {2, 2, {-0.5, 0.25}},
              {3, 3, {-0.5, 0.25, 0.5}},
              {4, 4, {-0.5, 0.25, 0.5, 1}},
              {9, 5, {-0.5, 0.25, 0.5, 1, 2}}};
    dWorldID world = dWorldCreate();
    const ode_last_step last = {.length = 0.125};
    dGeomID geom[2] = {dCreateSphere(NULL, 1), dCreateSphere(NULL, 1)};
    for (int side = 0; side < 2; side++) {
        dGeomSetBody(geom[side], dBodyCreate(world));
    }
    dBodySetAngularVel(dGeomGetBody(geom[0]), 0, 4, 0);
    for (int i = 0; i < COUNT(is); i++) {
        start();
        all.last = &last;
        all.gaps = 4;
        all.geom[0] = geom[0], all.geom[1] = geom[1];
        add(2, 0, 0, 2); // in 0.25 s
        add(0.5, 0, 0, -0.5);
        add(-1, 0, 0, 1);    // opens
        add(1, 1, 0, 1.125); // later
        add(0.5, 1, 0, 0.5);
        add(0, 1, 0, 0.25);
        sprag_ode_touching_first(&all, is[i].most);
        ck_assert_int_eq(all.count, is[i].count);
        for (int k = 0; k < all.count; k++) {
            dContactGeom contact;
            ck_assert_double_eq(all.point[k].gap, is[i].gap[k]);
            sprag_ode_put_point(&all, &all.point[k], &contact);
            ck_assert_double_eq(contact.depth, k == 1 ? 0 : -is[i].gap[k]);
            ck_assert_int_eq(contact.side1, k < 2 ? -1 : ODE_SIDE_OF_GAP);
        }
    }
    dGeomDestroy(geom[0]);
    dGeomDestroy(geom[1]);
    dWorldDestroy(world);
}
END_TEST

// On either surface or in the middle; a contact is as deep as the overlap, and never less than 0.
START_TEST(points_are_on_the_surface_asked_for)
{
    static const double height[] = {
        [ODE_SPOT_BETWEEN] = 1 - 0.0625, [ODE_SPOT_ON_0] = 1 - 0.125, [ODE_SPOT_ON_1] = 1};
    for (int spot = ODE_SPOT_BETWEEN; spot <= ODE_SPOT_ON_1; spot++) {
        dContactGeom contact;
        start();
        add_by(0, 0, 1, -0.125, (double[3]){0, 0, 1}, (ode_spot)spot);
        assert_at(0, 0, 0, height[spot]);
        sprag_ode_put_point(&all, &all.point[0], &contact);
        ck_assert(contact.depth == 0.125 && contact.pos[2] == height[spot]);
        ck_assert(contact.normal[2] == 1 && contact.side1 == -1 && contact.side2 == -1);
        all.point[0].gap = 0.125;
        sprag_ode_put_point(&all, &all.point[0], &contact);
        ck_assert(contact.depth == 0);
    }
}
END_TEST

// Of two grids askew to each other, the corners. A point 1e-4 of the size out of a plane is in it.
START_TEST(outlines_are_corners)
{
    const double slope[3] = {0.6, 0, 0.8};
    for (int x = 0; x < 5; x++) {
        for (int y = 0; y < 5; y++) {
            add(x, y, x == 2 && y == 2 ? 5e-4 : x == 1 && y == 3 ? -7e-4 : 0, 0);
            add_by(10 + 4 * x, y, -3 * x, 0, slope, ODE_SPOT_ON_1);
        }
    }
    keep_outlines();
    ck_assert_int_eq(all.count, 8);
    for (int i = 0; i < 8; i++) {
        const double *at = all.point[i].at, x = at[0] < 5 ? at[0] : (at[0] - 10) / 4;
        ck_assert((x == 0 || x == 4) && (at[1] == 0 || at[1] == 4));
    }
}
END_TEST

// Bumps and dents within an outline are faces of their own, from 1e-4 of the size on.
START_TEST(bumps_are_kept)
{
    static const double out[] = {1e-4, 1.1e-4, -1e-4, -1.1e-4};
    for (int i = 0; i < COUNT(out); i++) {
        start();
        add(0, 0, 0, 0);
        add(0.5, 0.125, out[i], 0);
        add(1, 0, 0, 0);
        add(0.5, 0.5, 0, 0);
        add(0.5, -0.25, 0, 0);
        keep_outlines();
        ck_assert_int_eq(all.count, 4 + i % 2);
    }
}
END_TEST

// A corner is left out if it is as near to the line between its neighbours as 1e-3 of the size, on
// either side, which is measured from the first point.
START_TEST(flat_corners_are_left_out)
{
    static const double out[] = {2e-3, 2.1e-3, -2e-3, -2.1e-3};
    for (int i = 0; i < COUNT(out); i++) {
        start();
        add(0, 0, 0, 0);
        add(2, 0, 0, 0);
        add(1, out[i], 0, 0);
        keep_outlines();
        ck_assert_int_eq(all.count, 2 + i % 2);
    }
}
END_TEST

// The first point is a corner as any other is.
START_TEST(the_first_point_is_a_corner)
{
    add(0, 0, 0, 0);
    add(3, 1, 0, 0);
    add(-2, 1, 0, 0);
    keep_outlines();
    ck_assert_int_eq(all.count, 3);
}
END_TEST

// The deepest, then the farthest from all that are kept. The middle is (3, 0, 0), and 1e-3 of the
// distance from it decides between depths: (7, 0, 0) comes before (4, 0, 0), unless that is deeper
// by 0.003 m.
START_TEST(the_deepest_and_outermost_are_kept)
{
    static const double x[3][4] = {{7, 0, 4, 1}, {4, 0, 7, 1}, {7, 0, 4, 1}};
    for (int i = 0; i < 3; i++) {
        start();
        add(0, 0, 0, 0);
        add(7, 0, 0, -0.01);
        add(4, 0, 0, -0.01 - (i == 0 ? 0.0025 : i == 1 ? 0.0035 : 0));
        add(1, 0, 0, 0);
        choose_points(3);
        ck_assert_int_eq(all.count, 4);
        for (int k = 0; k < 4; k++) {
            assert_at(k, x[i][k], 0, 0);
        }
    }
}
END_TEST

// Of points as good as each other, the first one comes first; the others stay where they are.
START_TEST(points_at_rest_keep_their_order)
{
    for (int i = 0; i < 4; i++) {
        add(i % 2, i / 2, 0, 0);
    }
    choose_points(1);
    for (int i = 0; i < 4; i++) {
        assert_at(i, i % 2, i / 2, 0);
    }
    choose_points(2);
    assert_at(0, 0, 0, 0);
    assert_at(1, 1, 1, 0);
}
END_TEST

// A program's merge callback numbers the point that two triangles share.
static int larger(dGeomID mesh, int first, int second)
{
    (void)mesh;
    return 100 * first + second;
}

START_TEST(shared_points_have_the_programs_number)
{
    const sprag_gap gap = {.normal = {0, 0, 1}};
    const int triangle[3][2] = {{-1, 3}, {-1, 5}, {-1, 305}};
    dInitODE2(0);
    dTriMeshDataID data = dGeomTriMeshDataCreate();
    all.geom[0] = dCreateSphere(NULL, 1);
    all.geom[1] = dCreateTriMesh(NULL, data, NULL, NULL, NULL);
    for (int i = 0; i < 3; i++) {
        dGeomTriMeshSetTriMergeCallback(all.geom[1], i ? larger : NULL);
        sprag_ode_add_points(&all, &gap, &(sprag_manifold){0}, triangle[i], ODE_SPOT_BETWEEN);
        ck_assert_int_eq(all.count, 1);
        ck_assert_int_eq(all.point[0].triangle[0], -1);
        ck_assert_int_eq(all.point[0].triangle[1], i ? 305 : 3);
    }
    ck_assert_int_eq(sprag_ode_named_triangle(all.geom[1], 0), 0);
    ck_assert_int_eq(sprag_ode_named_triangle(all.geom[1], -7), -1);
    dGeomDestroy(all.geom[0]);
    dGeomDestroy(all.geom[1]);
    dGeomTriMeshDataDestroy(data);
    dCloseODE();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("contact points");
    ADD_TESTS_WITH(suite, "all", start, stop, {points_together_are_one, 1},
                   {points_of_two_faces_are_two, 1}, {points_out_of_reach_are_left_out, 1},
                   {points_are_on_the_surface_asked_for, 1}, {gaps_follow_the_points_that_touch, 1},
                   {outlines_are_corners, 1}, {bumps_are_kept, 1}, {flat_corners_are_left_out, 1},
                   {the_first_point_is_a_corner, 1}, {points_at_rest_keep_their_order, 1},
                   {the_deepest_and_outermost_are_kept, 1},
                   {shared_points_have_the_programs_number, 1});
    return run_suite(suite);
}
