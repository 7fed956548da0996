// Pairs of geoms that move in the step: by the ways of their bodies relative to each other.
#include <check.h>
#include <math.h>
#include <string.h>

#include "geom_world.h"
#include "linalg.h"
#include "suite.h"

static void find(ode_motion_fn *motion)
{
    const ode_collision all = {.a = (dGeomID)space};
    sprag_scratch_reset(&scratch);
    ck_assert_int_eq(
        sprag_ode_find_pairs(geometry, &all, 1, motion, NULL, 0, false, &scratch, &pairs),
        SPRAG_OK);
}

static bool found(dGeomID a, dGeomID b)
{
    bool is = false;
    for (int i = 0; i < pairs.count; i++) {
        dGeomID g0 = pairs.pair[i].side[0]->named, g1 = pairs.pair[i].side[1]->named;
        is |= (g0 == a && g1 == b) || (g0 == b && g1 == a);
    }
    return is;
}

static bool fast(void *data, dBodyID body, ode_motion *motion)
{
    (void)data;
    motion->slack = norm3(dBodyGetLinearVel(body));
    memcpy(motion->turn, dBodyGetAngularVel(body), sizeof motion->turn);
    return true;
}

START_TEST(moving_bounds_reach_all_possible_contacts)
{
    dGeomID ball = on_body(dCreateSphere(space, 0.1), 0, 0, 0);
    dGeomID wall = dCreateBox(space, 0.1, 4, 4);
    dGeomID rod = on_body(dCreateBox(space, 4, 0.1, 0.1), 0, 0, 20);
    dGeomID post = dCreateSphere(space, 0.1);
    dGeomSetPosition(wall, 10, 0, 0);
    dGeomSetPosition(post, 0, 1.9, 20);
    find(fast);
    ck_assert_int_eq(pairs.count, 0);
    dBodySetLinearVel(dGeomGetBody(ball), 10, 0, 0);
    dBodySetAngularVel(dGeomGetBody(rod), 0, 0, 2);
    find(fast);
    ck_assert_int_eq(pairs.count, 2);
    ck_assert(found(ball, wall) && found(rod, post));
    dBodySetLinearVel(dGeomGetBody(ball), 9, 0, 0);
    find(fast);
    ck_assert(!found(ball, wall));
}
END_TEST

static bool straight(void *data, dBodyID body, ode_motion *motion)
{
    (void)data;
    memcpy(motion->shift, dBodyGetLinearVel(body), sizeof motion->shift);
    motion->slack = 0.01;
    return true;
}

START_TEST(bodies_that_move_together_are_no_pairs)
{
    dGeomID ball[2] = {on_body(dCreateSphere(space, 0.1), 0, 0, 0),
                       on_body(dCreateSphere(space, 0.1), 0.23, 0, 0)};
    for (int i = 0; i < 2; i++) {
        dBodySetLinearVel(dGeomGetBody(ball[i]), 5, 1, 0);
    }
    find(straight);
    ck_assert_int_eq(pairs.count, 0);
    dBodySetLinearVel(dGeomGetBody(ball[1]), 4.98, 1, 0);
    find(straight);
    ck_assert(found(ball[0], ball[1]));
}
END_TEST

START_TEST(tilted_planes_are_pairs_of_what_may_reach_them)
{
    dGeomID plane = dCreatePlane(space, 0.6, 0, 0.8, -2);
    dGeomID ball = on_body(dCreateSphere(space, 0.1), 0, 0, 0), box = dCreateBox(space, 1, 1, 1);
    on_body(box, 10, 50, 0);
    find(straight);
    ck_assert_int_eq(pairs.count, 0);
    dBodySetLinearVel(dGeomGetBody(ball), 0, 3, -2.4); // by 1.92 towards it, of 1.9
    dBodySetLinearVel(dGeomGetBody(box), -11.9, 0, 0); // by 7.14, of 7.3
    find(straight);
    ck_assert_int_eq(pairs.count, 1);
    ck_assert(found(ball, plane));
    dBodySetLinearVel(dGeomGetBody(box), -12.2, 0, 0);
    find(straight);
    ck_assert(found(box, plane));
}
END_TEST

enum { CELLS = 80 };

static const double cell = 0.25; // m

// Hills of small cells around the origin.
static dTriMeshDataID make_hills(dVector3 *vertex, dTriIndex (*triangle)[3])
{
    for (int i = 0; i < (CELLS + 1) * (CELLS + 1); i++) {
        const int column = i % (CELLS + 1), row = i / (CELLS + 1);
        vertex[i][0] = (column - CELLS / 2) * cell;
        vertex[i][1] = (row - CELLS / 2) * cell;
        vertex[i][2] = 0.02 * (column % 2) - 0.02;
    }
    for (int i = 0; i < CELLS * CELLS; i++) {
        const dTriIndex a = (dTriIndex)(i / CELLS * (CELLS + 1) + i % CELLS), b = a + CELLS + 1;
        const dTriIndex both[2][3] = {{a, a + 1, b + 1}, {a, b + 1, b}};
        memcpy(triangle[2 * i], both, sizeof both);
    }
    dTriMeshDataID data = dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildDouble(data, vertex, sizeof *vertex, (CELLS + 1) * (CELLS + 1), triangle,
                                6 * CELLS * CELLS, sizeof *triangle);
    return data;
}

START_TEST(triangles_are_sought_along_the_way)
{
    static dVector3 vertex[(CELLS + 1) * (CELLS + 1)];
    static dTriIndex triangle[2 * CELLS * CELLS][3];
    static const dTriIndex sheet[3] = {0, 1, CELLS + 1};
    dTriMeshDataID hills = make_hills(vertex, triangle), small = dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildDouble(small, vertex, sizeof *vertex, CELLS + 2, sheet, 3, sizeof sheet);
    dCreateTriMesh(space, hills, NULL, NULL, NULL);
    dGeomID geom = _i == 0 ? dCreateSphere(space, 0.1) : dCreateTriMesh(space, small, 0, 0, 0);
    const double corner = _i == 0 ? 0 : CELLS / 2 * cell; // of the sheet, from its centre
    on_body(geom, corner - 5, corner + 0.1, _i == 0 ? 0.1 : 0.02);
    dBodySetLinearVel(dGeomGetBody(geom), 10, 0, 0);
    find(straight);
    int along[CELLS] = {0};
    for (int i = 0; i < pairs.count; i++) {
        const ode_geom *const *side = pairs.pair[i].side;
        const int number = side[side[0]->named == geom]->triangle / 2, row = number / CELLS;
        const double x = (number % CELLS - CELLS / 2) * cell;
        ck_assert(x > -6 && x < 6);
        along[number % CELLS] += row == CELLS / 2;
    }
    for (int i = 20; i < 60; i++) { // from -5 m to 5 m
        ck_assert_int_eq(along[i], 2);
    }
    dGeomDestroy(geom);
    dGeomTriMeshDataDestroy(small);
    dSpaceClean(space);
    dGeomTriMeshDataDestroy(hills);
}
END_TEST

// Which of three boxes has too many triangles does not depend on their order.
START_TEST(boxes_on_most_triangles_are_left_to_stock)
{
    static dVector3 vertex[(CELLS + 1) * (CELLS + 1)];
    static dTriIndex triangle[2 * CELLS * CELLS][3];
    static const double wide[3] = {15, 9, 4}; // m: on 7200, 2592 and 512 triangles, or a few more
    dTriMeshDataID hills = make_hills(vertex, triangle);
    dCreateTriMesh(space, hills, NULL, NULL, NULL);
    dGeomID box[3];
    for (int i = 0; i < 3; i++) {
        const int k = (i + _i) % 3;
        box[k] = on_body(dCreateBox(space, wide[k], wide[k], 0.1), 0, 0, 0.04);
        dGeomSetCategoryBits(box[k], 2);
        dGeomSetCollideBits(box[k], 1);
    }
    find(straight);
    int count[3] = {0};
    for (int i = 0; i < pairs.count; i++) {
        for (int k = 0; k < 3; k++) {
            count[k] += pairs.pair[i].side[0]->named == box[k];
        }
    }
    ck_assert_int_eq(count[0], 0);
    ck_assert(count[1] >= 2592 && count[2] >= 512);
    ck_assert(pairs.crowded[0] == box[0] || pairs.crowded[1] == box[0]);
    dSpaceClean(space);
    dGeomTriMeshDataDestroy(hills);
}
END_TEST

static int found_with_spin(dGeomID geom, double x, double z)
{
    dBodySetAngularVel(dGeomGetBody(geom), x, 0, z);
    find(fast);
    return pairs.count;
}

START_TEST(turns_count_as_far_as_they_move_the_surface)
{
    static dVector3 vertex[(CELLS + 1) * (CELLS + 1)];
    static dTriIndex triangle[2 * CELLS * CELLS][3];
    dTriMeshDataID hills = make_hills(vertex, triangle);
    dCreateTriMesh(space, hills, NULL, NULL, NULL);
    dGeomID round[3] = {dCreateSphere(space, 1), dCreateCylinder(space, 1, 2),
                        dCreateCapsule(space, 1, 2)};
    dGeomID rod = on_body(dCreateBox(space, 4, 0.1, 0.1), 0, 0, 0.06);
    for (int i = 0; i < 3; i++) {
        dGeomDisable(round[i]);
        on_body(round[i], 0, 0, i == 2 ? 1.97 : 0.97);
    }
    bool is_at[CELLS][CELLS] = {{false}};
    found_with_spin(rod, 0, 1); // it turns by 1 rad: its end comes to (1.08, 1.68)
    for (int i = 0; i < pairs.count; i++) {
        const ode_geom *const *side = pairs.pair[i].side;
        const int cell_of = side[side[0]->named == rod]->triangle / 2;
        is_at[cell_of % CELLS][cell_of / CELLS] = true;
    }
    for (int i = 0; i <= 10; i++) {
        const int column = (int)floor(1.98 * cos(0.1 * i) / cell) + CELLS / 2;
        ck_assert(is_at[column][(int)floor(1.98 * sin(0.1 * i) / cell) + CELLS / 2]);
    }
    dGeomDisable(rod);
    for (int i = 0; i < 3; i++) {
        dGeomEnable(round[i]);
        const int still = found_with_spin(round[i], 0, 0);
        ck_assert(still > 0);
        ck_assert_int_eq(found_with_spin(round[i], 0, M_PI), still);
        ck_assert(found_with_spin(round[i], 0.5, 0) > 1.2 * still || i == 0);
        dGeomDisable(round[i]);
    }
    dSpaceClean(space);
    dGeomTriMeshDataDestroy(hills);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pairs in motion");
    ADD_TESTS_WITH(
        suite, "all", open_world, close_world, {moving_bounds_reach_all_possible_contacts, 1},
        {bodies_that_move_together_are_no_pairs, 1},
        {tilted_planes_are_pairs_of_what_may_reach_them, 1},
        {triangles_are_sought_along_the_way, 2}, {boxes_on_most_triangles_are_left_to_stock, 3},
        {turns_count_as_far_as_they_move_the_surface, 1});
    return run_suite(suite);
}
