// Pairs of hash spaces against all pairs of boxes, and sets of pairs.
#include <check.h>
#include <math.h>

#include "chance.h"
#include "convex_cube.h"
#include "geometry_cache.h"
#include "ode.h"
#include "sets.h"
#include "spaces.h"
#include "suite.h"

enum { GEOMS = 40 };

static dGeomID geom[GEOMS];
static int found[GEOMS][GEOMS];

static int number_of(dGeomID id)
{
    int i = 0;
    while (geom[i] != id) {
        i++;
    }
    return i;
}

static void note(void *data, dGeomID a, dGeomID b)
{
    (void)data;
    int i = number_of(a), k = number_of(b);
    found[i < k ? i : k][i < k ? k : i]++;
}

static bool boxes_meet(dGeomID a, dGeomID b)
{
    dReal of[6], other[6];
    bool all = true;
    dGeomGetAABB(a, of);
    dGeomGetAABB(b, other);
    for (int k = 0; k < 6; k += 2) {
        all &= of[k] <= other[k + 1] && other[k] <= of[k + 1];
    }
    return all;
}

// Boxes around the origin, where ODE misses pairs: sizes and places in quarters of a metre, so that
// many just touch; some are disabled, have bits, or are on one body.
static void fill(dSpaceID space, chance *by, dBodyID body)
{
    for (int i = 0; i < GEOMS; i++) {
        double size = 0.25 * (1 + floor(chance_between(by, 0, 6)));
        geom[i] = i % 7 ? dCreateBox(space, size, 0.5, 0.5) : dCreateSphere(space, size / 2);
        dGeomSetPosition(geom[i], 0.25 * floor(chance_between(by, -6, 8)),
                         0.25 * floor(chance_between(by, -6, 8)),
                         0.25 * floor(chance_between(by, -6, 4)));
        if (i % 6 == 1) {
            dGeomDisable(geom[i]);
        }
        if (i % 5 == 2) {
            dGeomSetCategoryBits(geom[i], i % 2 ? 1 : 2);
            dGeomSetCollideBits(geom[i], 2);
        }
        if (i % 9 == 3) {
            dGeomSetBody(geom[i], body);
        }
    }
}

// ODE's pairs and those that it misses are all pairs of boxes that meet, each once.
START_TEST(hash_spaces_find_all_pairs)
{
    chance by = {.state = (uint64_t)_i};
    sprag_scratch scratch = {0};
    int missed = 0, all = 0;
    dInitODE2(0);
    dWorldID world = dWorldCreate();
    for (int k = 0; k < 20; k++) {
        dSpaceID space = dHashSpaceCreate(NULL);
        dBodyID body = dBodyCreate(world);
        if (_i % 2) {
            dHashSpaceSetLevels(space, -1, 1);
        }
        fill(space, &by, body);
        memset(found, 0, sizeof found);
        sprag_ode_space_collide(space, NULL, note);
        int before = 0;
        for (int i = 0; i < GEOMS * GEOMS; i++) {
            before += found[i / GEOMS][i % GEOMS];
        }
        ck_assert(sprag_ode_find_missed(space, note, NULL, &scratch));
        for (int i = 0; i < GEOMS; i++) {
            for (int n = i + 1; n < GEOMS; n++) {
                dGeomID a = geom[i], b = geom[n];
                bool bits = (dGeomGetCategoryBits(a) & dGeomGetCollideBits(b)) ||
                            (dGeomGetCategoryBits(b) & dGeomGetCollideBits(a));
                bool apart = !dGeomGetBody(a) || dGeomGetBody(a) != dGeomGetBody(b);
                bool expected =
                    bits && apart && dGeomIsEnabled(a) && dGeomIsEnabled(b) && boxes_meet(a, b);
                ck_assert_msg(found[i][n] == expected, "%d and %d: %d, not %d", i, n, found[i][n],
                              expected);
                all += expected;
            }
        }
        missed += all - before;
        all = 0;
        dSpaceDestroy(space);
        dBodyDestroy(body);
    }
    ck_assert(missed > 0 || _i % 2); // few have the levels that are missed
    sprag_scratch_free(&scratch);
    dWorldDestroy(world);
    dCloseODE();
}
END_TEST

// Geoms of low levels come first in a hash space: level 0 is that of 0.5 to 1 m.
START_TEST(places_go_by_level)
{
    dInitODE2(0);
    dSpaceID hash = dHashSpaceCreate(NULL), simple = dSimpleSpaceCreate(NULL);
    dGeomID small = dCreateBox(hash, 0.6, 0.1, 0.1), large = dCreateBox(hash, 0.1, 0.1, 1.5),
            tiny = dCreateBox(hash, 0.01, 0.01, 0.01), huge = dCreateBox(hash, 9, 1, 1),
            other = dCreateBox(simple, 9, 1, 1);
    dHashSpaceSetLevels(hash, -2, 2);
    ck_assert_int_eq(sprag_ode_place_in(hash, 3, small), 4 * 2 + 3);
    ck_assert_int_eq(sprag_ode_place_in(hash, 3, large), 4 * 3 + 3);
    ck_assert_int_eq(sprag_ode_place_in(hash, 1, tiny), 1);
    ck_assert_int_eq(sprag_ode_place_in(hash, 2, huge), 4 * 5 + 2);
    ck_assert_int_eq(sprag_ode_place_in(simple, 7, other), 7);
    dSpaceDestroy(hash);
    dSpaceDestroy(simple);
    dCloseODE();
}
END_TEST

// ---- sets

static const void *part(int i)
{
    return (const void *)(uintptr_t)(8 * i);
}

static bool keep_third(const ode_key *key, void *data)
{
    return (uintptr_t)key->part[0] / 8 % 3 == (uintptr_t)data;
}

START_TEST(sets_keep_keys_in_their_order)
{
    enum { KEYS = 500 };
    ode_set set = {.size = sizeof(int64_t)};
    ck_assert_int_eq(sprag_ode_set_find(&set, (ode_key){{part(1)}}), -1);
    for (int i = 0; i < KEYS; i++) {
        ck_assert_int_eq(sprag_ode_set_add(&set, (ode_key){{part(i), part(i / 2)}}), i);
        *(int64_t *)sprag_ode_set_value(&set, i) = i;
        ck_assert_int_eq(sprag_ode_set_add(&set, (ode_key){{part(i), part(i / 2)}}), i);
        ck_assert_int_eq(set.count, i + 1);
        ck_assert_int_eq(sprag_ode_set_find(&set, (ode_key){{part(i), part(i / 2 + 1)}}), -1);
    }
    for (int i = 0; i < KEYS; i++) {
        ck_assert_int_eq(sprag_ode_set_find(&set, (ode_key){{part(i), part(i / 2)}}), i);
        ck_assert_ptr_eq(set.key[i].part[0], part(i));
    }
    for (uintptr_t third = 0; third < 2; third++) { // none is left by the second
        sprag_ode_set_filter(&set, keep_third, (void *)third);
        ck_assert_int_eq(set.count, third ? 0 : (KEYS + 2) / 3);
        for (int i = 0; i < KEYS; i++) {
            ck_assert_int_eq(sprag_ode_set_find(&set, (ode_key){{part(i), part(i / 2)}}),
                             !third && i % 3 == 0 ? i / 3 : -1);
        }
        for (int i = 0; i < set.count; i++) {
            ck_assert_ptr_eq(set.key[i].part[0], part(3 * i));
            ck_assert_int_eq(*(int64_t *)sprag_ode_set_value(&set, i), 3 * i);
        }
        sprag_ode_set_filter(&set, keep_third, (void *)third); // keeps all
        ck_assert_int_eq(set.count, third ? 0 : (KEYS + 2) / 3);
    }
    ck_assert_int_eq(sprag_ode_set_add(&set, (ode_key){{part(1)}}), 0);
    sprag_ode_set_clear(&set);
    ck_assert(sprag_ode_set_find(&set, (ode_key){{part(1)}}) < 0 && set.count == 0);
    sprag_ode_set_free(&set);
    ck_assert_int_eq(set.room, 0);
}
END_TEST

START_TEST(pairs_have_no_order)
{
    enum { PAIRS = 300 };
    static char byte[PAIRS + 1];
    sprag_scratch scratch = {0};
    ode_set set = {.scratch = &scratch, .size = sizeof(dGeomID)};
    dGeomID last = (dGeomID)(void *)&byte[PAIRS], *value = NULL;
    for (int i = 0; i < PAIRS; i++) {
        dGeomID a = (dGeomID)(void *)&byte[i];
        ode_key key = sprag_ode_pair_key(a, last, byte), turned = sprag_ode_pair_key(last, a, byte);
        ck_assert(!memcmp(&key, &turned, sizeof key));
        ck_assert_ptr_eq(key.part[2], byte);
        ck_assert_ptr_null(sprag_ode_set_value(&set, sprag_ode_set_find(&set, key)));
        value = sprag_ode_set_value(&set, sprag_ode_set_add(&set, key));
        ck_assert_ptr_eq(sprag_ode_set_value(&set, sprag_ode_set_add(&set, turned)), value);
        *value = a;
    }
    for (int i = 0; i < PAIRS; i++) {
        const ode_key key = sprag_ode_pair_key(last, (dGeomID)(void *)&byte[i], byte);
        value = sprag_ode_set_value(&set, sprag_ode_set_find(&set, key));
        ck_assert_ptr_eq(*value, (void *)&byte[i]);
    }
    sprag_scratch_free(&scratch);
}
END_TEST

// Values stay where they are while no more keys come than there is room for.
START_TEST(room_is_made_for_values)
{
    ode_set set = {.size = sizeof(double)};
    ck_assert(sprag_ode_set_make_room(&set, 1000));
    double *first = sprag_ode_set_value(&set, sprag_ode_set_add(&set, (ode_key){{part(0)}}));
    *first = 7;
    for (int i = 1; i < 1000; i++) {
        ck_assert_int_eq(sprag_ode_set_add(&set, (ode_key){{part(i)}}), i);
    }
    ck_assert_ptr_eq(sprag_ode_set_value(&set, 0), first);
    ck_assert(sprag_ode_set_make_room(&set, 5000));
    ck_assert_double_eq(*(double *)sprag_ode_set_value(&set, 0), 7);
    ck_assert_int_eq(sprag_ode_set_find(&set, (ode_key){{part(999)}}), 999);
    sprag_ode_set_free(&set);
}
END_TEST

// Hulls and meshes are kept for 1000 to 2000 searches that do without them.
START_TEST(unused_shapes_are_forgotten)
{
    dInitODE2(0);
    ode_geometry *g = sprag_ode_geometry_make();
    dTriMeshDataID data = dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildDouble(data, cube_points, 3 * sizeof(dReal), 8, cube_triangles, 36,
                                3 * sizeof(dTriIndex));
    dGeomID mesh = dCreateTriMesh(NULL, data, NULL, NULL, NULL),
            hull = dCreateConvex(NULL, cube_planes, 6, cube_points, 8, cube_faces);
    ck_assert(sprag_ode_mesh_of(g, mesh) && sprag_ode_polytope_of(g, hull));
    for (int search = 1; search <= 3000; search++) {
        if (search == 1500) {
            sprag_ode_keep(g, mesh);
        }
        sprag_ode_geometry_count_search(g);
        ck_assert_uint_eq(HASH_COUNT(g->kept), search < 2000 ? 2 : search < 3000);
    }
    sprag_ode_geometry_free(g);
    dGeomDestroy(mesh);
    dGeomDestroy(hull);
    dGeomTriMeshDataDestroy(data);
    dCloseODE();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("spaces");
    ADD_TESTS(suite, "all", {hash_spaces_find_all_pairs, 6}, {places_go_by_level, 1},
              {sets_keep_keys_in_their_order, 1}, {pairs_have_no_order, 1},
              {room_is_made_for_values, 1}, {unused_shapes_are_forgotten, 1});
    return run_suite(suite);
}
