// Triangles near a shape, beside the gap of each triangle: none within reach is left out, and few
// others are listed.
#include <check.h>
#include <math.h>

#include "chance.h"
#include "gap.h"
#include "mesh_near.h"
#include "suite.h"

enum { CELLS = 30, MOST = 2 * CELLS * CELLS, SHAPES = 4 };

static const double cell = 0.1; // m
static ode_geometry *geometry;
static dTriMeshDataID triangles;
static dHeightfieldDataID heights;
static sprag_scratch scratch;

static dReal height(void *data, int x, int z)
{
    (void)data;
    return 0.2 * sin(0.5 * x) * cos(0.4 * z);
}

static void start(void)
{
    static double corner[CELLS + 1][CELLS + 1][3];
    static dTriIndex index[CELLS][CELLS][6];
    enum { ROW = CELLS + 1 };
    dInitODE2(0);
    geometry = sprag_ode_geometry_make();
    for (int i = 0; i < ROW * ROW; i++) {
        const int x = i / ROW, z = i % ROW, a = i, b = a + ROW;
        const double at[3] = {cell * x, height(NULL, x, z), cell * z};
        memcpy(corner[x][z], at, sizeof at);
        if (x < CELLS && z < CELLS) {
            const dTriIndex two[6] = {(dTriIndex)a,       (dTriIndex)(a + 1), (dTriIndex)b,
                                      (dTriIndex)(a + 1), (dTriIndex)(b + 1), (dTriIndex)b};
            memcpy(index[x][z], two, sizeof two);
        }
    }
    triangles = dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildDouble(triangles, corner, sizeof(double[3]), ROW * ROW, index, 3 * MOST,
                                3 * sizeof(dTriIndex));
    heights = dGeomHeightfieldDataCreate();
    dGeomHeightfieldDataBuildCallback(heights, NULL, height, CELLS * cell, CELLS * cell, ROW, ROW,
                                      1, 0, 1, 0);
    dGeomHeightfieldDataSetBounds(heights, -1, 1);
}

static void stop(void)
{
    sprag_ode_geometry_free(geometry);
    sprag_scratch_free(&scratch);
    dGeomTriMeshDataDestroy(triangles);
    dGeomHeightfieldDataDestroy(heights);
    dCloseODE();
}

static dGeomID create_shape(int kind, chance *dice)
{
    const double a = chance_between(dice, 0.05, 0.4), b = chance_between(dice, 0.05, 0.8);
    return kind == 0   ? dCreateSphere(NULL, a)
           : kind == 1 ? dCreateCapsule(NULL, a, b)
           : kind == 2 ? dCreateCylinder(NULL, a, b)
                       : dCreateBox(NULL, a, b, chance_between(dice, 0.05, 0.8));
}

typedef struct all { // triangles of the mesh by number, as far as they are within reach
    const ode_geom *mesh, *shape;
    double reach;
    bool near[MOST];
    int count;
} all;

static void note(void *data, int number, const double corner[3][3])
{
    all *a = data;
    double normal[2][3];
    const sprag_polytope polytope = sprag_triangle_make(corner, normal);
    const sprag_shape triangle = {.kind = SPRAG_POLYTOPE, .polytope = &polytope};
    const sprag_shape *const shape[2] = {&a->shape->shape, &triangle};
    const sprag_pose *const pose[2] = {&a->shape->pose, &a->mesh->pose};
    const sprag_gap_query query = {a->reach, 0};
    sprag_gap gap;
    ck_assert_int_lt(number, MOST);
    ck_assert_int_ne(sprag_gap_find(shape, pose, &query, NULL, &gap, NULL), SPRAG_BAD_PROBLEM);
    a->near[number] = !gap.beyond && gap.distance < a->reach;
    a->count += a->near[number];
}

START_TEST(all_triangles_within_reach_are_listed)
{
    enum { RUNS = 100 };
    chance dice = {(uint64_t)_i + 1};
    int listed = 0, near = 0;
    for (int i = 0; i < RUNS; i++) {
        dGeomID mesh = _i / SHAPES ? dCreateHeightfield(NULL, heights, 1)
                                   : dCreateTriMesh(NULL, triangles, NULL, NULL, NULL);
        dGeomID shape = create_shape(_i % SHAPES, &dice);
        ode_geom geom[2];
        double R[9];
        chance_rotation(&dice, R);
        const dMatrix3 turned = {R[0], R[1], R[2], 0, R[3], R[4], R[5], 0, R[6], R[7], R[8]};
        dGeomSetRotation(shape, turned);
        const double from = _i / SHAPES ? -CELLS * cell / 2 : 0;
        dGeomSetPosition(shape, from + chance_between(&dice, 0, CELLS * cell),
                         chance_between(&dice, -0.3, 0.6),
                         from + chance_between(&dice, 0, CELLS * cell));
        ck_assert(sprag_ode_geom_of(geometry, mesh, &geom[0]));
        ck_assert(sprag_ode_geom_of(geometry, shape, &geom[1]));
        sprag_ode_set_bounds(&geom[0]);
        static all brute;
        brute = (all){.mesh = &geom[0], .shape = &geom[1], .reach = chance_power(&dice, -6, -1)};
        ck_assert(sprag_ode_triangles(&geom[0], geom[0].bounds, INFINITY, note, &brute));
        for (int mode = ODE_NEAR_EACH; mode <= ODE_NEAR_MERGED; mode++) {
            ode_near found;
            int left = brute.count;
            sprag_scratch_reset(&scratch);
            ck_assert(sprag_ode_triangles_near(&geom[0], &geom[1], brute.reach, (ode_near_mode)mode,
                                               &scratch, &found));
            for (int k = 0; k < found.count; k++) {
                ck_assert_int_lt(found.triangle[k].number, MOST);
                left -= brute.near[found.triangle[k].number];
            }
            ck_assert_msg(left == 0, "run %d, mode %d: %d of %d", i, mode, left, brute.count);
            listed += found.count;
            near += brute.count;
        }
        dGeomDestroy(mesh);
        dGeomDestroy(shape);
    }
    ck_assert_msg(listed < 1.3 * near, "%d for %d", listed, near);
}
END_TEST

static double bump; // m, of one sample in the middle

static dReal slope(void *data, int x, int z)
{
    (void)data;
    return 0.125 * x + 0.0625 * z + (x == CELLS / 2 && z == CELLS / 2 ? bump : 0);
}

// One triangle stands for a slope of a field, as far as the field goes, and none for one elsewhere.
START_TEST(flat_fields_are_known_at_once)
{
    dHeightfieldDataID data = dGeomHeightfieldDataCreate();
    dGeomHeightfieldDataBuildCallback(data, NULL, slope, CELLS, CELLS, CELLS + 1, CELLS + 1, 1, 0,
                                      1, 0);
    dGeomID field = dCreateHeightfield(NULL, data, 1), ball = dCreateSphere(NULL, 2.3);
    static const struct {
        double bump, x, y; // m, from the middle of the field
        ode_near_mode mode;
        bool one;
        int least, most;
    } cases[] = {
        {0, 0, 1, ODE_NEAR_ONE, true, 1, 1},       {0, 0, 1, ODE_NEAR_MERGED, true, 1, 1},
        {0, 0, 1, ODE_NEAR_FLAT, false, 20, 80},   {0, 0, 3, ODE_NEAR_ONE, true, 0, 0},
        {1e-8, 0, 1, ODE_NEAR_ONE, false, 20, 80}, {0, 14, 1, ODE_NEAR_ONE, false, 10, 80}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double level = (0.125 + 0.0625) * CELLS / 2 + 0.125 * cases[i].x;
        ode_geom geom[2];
        ode_near near;
        bump = cases[i].bump;
        dGeomSetPosition(ball, cases[i].x, level + cases[i].y, 0);
        ck_assert(sprag_ode_geom_of(geometry, field, &geom[0]));
        ck_assert(sprag_ode_geom_of(geometry, ball, &geom[1]));
        sprag_scratch_reset(&scratch);
        ck_assert(
            sprag_ode_triangles_near(&geom[0], &geom[1], 0.1, cases[i].mode, &scratch, &near));
        ck_assert_msg(near.count >= cases[i].least && near.count <= cases[i].most, "case %zu: %d",
                      i, near.count);
        ck_assert_int_eq(cases[i].one && near.count > 0,
                         near.count > 0 && near.triangle[0].number == ODE_PATCH);
        const double down = 8 * near.normal[0] + near.normal[1];
        ck_assert(near.count != 1 || fabs(down) < 1e-15);
    }
    dGeomDestroy(field);
    dGeomDestroy(ball);
    dGeomHeightfieldDataDestroy(data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mesh near");
    ADD_TESTS_WITH(suite, "all", start, stop, {all_triangles_within_reach_are_listed, 2 * SHAPES},
                   {flat_fields_are_known_at_once, 1});
    return run_suite(suite);
}
