// Collision calls under method=advance: sprag passes pairs that touch without overlapping to the
// near callback, and gives them contacts. All other answers have stock's bits.
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collision_scene.h"

// ---- bodies at rest

static const struct {
    const char *options;
    double height; // m
    bool touches;
} rests[] = {
    {"method=advance", 5e-7, true},   {"method=advance", 0.98e-6, true},
    {"method=advance", 1e-9, true},   {"method=advance", 1.1e-6, false},
    {"method=stribeck", 5e-7, false}, {"method=ode", 5e-7, false},
};

START_TEST(resting_pairs_are_offered_and_have_contacts)
{
    scene s = open_scene(rests[_i].options);
    dGeomID floor = add_floor(s.space), box = add_box(&s, s.space, 0, rests[_i].height);
    collide(&s);
    ck_assert_int_eq(times_given(&s, box, floor), rests[_i].touches);
    ck_assert_int_eq(s.contacts, rests[_i].touches ? 4 : 0);
    for (int i = 0; i < s.contacts; i++) {
        double up = s.contact[i].g1 == box ? 1 : -1;
        ck_assert(s.contact[i].depth == 0);
        ck_assert_double_eq_tol(s.contact[i].normal[2], up, 1e-12);
        ck_assert_double_eq_tol(fabs(s.contact[i].pos[0]), 0.5, 1e-12);
        ck_assert_double_eq_tol(s.contact[i].pos[2], rests[_i].height / 2, 1e-12);
        ck_assert_int_eq(s.contact[i].side1, -1);
    }
    ck_assert_int_eq(dWorldStep(s.world, 0.01), 1);
    close_scene(&s);
}
END_TEST

// dSpaceCollide2 of two geoms passes them on in the order of the call.
START_TEST(two_geoms_keep_their_order)
{
    scene s = open_scene("method=advance");
    dGeomID g[2] = {add_floor(NULL), add_box(&s, NULL, 0, gap)};
    start_frame(&s);
    dSpaceCollide2(g[_i], g[!_i], &s, touch);
    ck_assert_int_eq(s.calls, 1);
    ck_assert_ptr_eq(s.given[0][0], g[_i]);
    ck_assert_ptr_eq(s.given[0][1], g[!_i]);
    ck_assert_int_eq(s.contacts, 4);
    for (int i = 0; i < 4; i++) {
        ck_assert_ptr_eq(s.contact[i].g1, g[_i]);
        ck_assert_ptr_eq(s.contact[i].g2, g[!_i]);
        ck_assert_double_eq_tol(s.contact[i].normal[2], _i ? 1 : -1, 1e-12);
    }
    dGeomDestroy(g[0]);
    dGeomDestroy(g[1]);
    close_scene(&s);
}
END_TEST

// ---- random pairs

static unsigned long dice;

static double between(double low, double high)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(dice >> 11) / 9007199254740992.0;
}

enum { KINDS = 6 };

static dGeomID random_geom(scene *s, int kind)
{
    dGeomID made = kind == 0   ? dCreateSphere(NULL, between(0.2, 0.8))
                   : kind == 1 ? dCreateBox(NULL, between(0.3, 1), between(0.3, 1), 0.7)
                   : kind == 2 ? dCreateCapsule(NULL, between(0.2, 0.5), between(0.3, 1))
                   : kind == 3 ? dCreateCylinder(NULL, between(0.2, 0.5), between(0.3, 1))
                   : kind == 4 ? dCreateRay(NULL, between(0.5, 2))
                               : add_floor(NULL);
    if (kind != 5) {
        on_body(s, made, between(-0.6, 0.6), between(-0.6, 0.6), between(-0.6, 0.6));
        dQuaternion q = {between(-1, 1), between(-1, 1), between(-1, 1), between(-1, 1)};
        dSafeNormalize4(q);
        dGeomSetQuaternion(made, q);
    }
    return made;
}

static const char *const stocks[] = {"stribeck.contacts=ode", "method=ode", "method=ode-quick"};

// For worlds with another method dCollide has stock's bits, while another world has method=advance.
START_TEST(other_methods_get_stocks_bits)
{
    scene s = open_scene(stocks[_i]), other = open_scene("method=advance");
    int touching = 0;
    dice = 7 + (unsigned long)_i;
    for (int n = 0; n < 2000; n++) {
        dGeomID a = random_geom(&s, n % KINDS), b = random_geom(&s, n / KINDS % KINDS);
        dContactGeom ours[MOST], stocks_own[MOST];
        memset(ours, 0x55, sizeof ours);
        memset(stocks_own, 0x55, sizeof stocks_own);
        int flags = 1 + n % MOST;
        int count = dCollide(a, b, flags, ours, sizeof ours[0]);
        ck_assert_int_eq(count, stock_collide(a, b, flags, stocks_own, sizeof stocks_own[0]));
        ck_assert_int_eq(memcmp(ours, stocks_own, sizeof ours), 0);
        touching += count > 0;
        dGeomDestroy(a);
        dGeomDestroy(b);
    }
    ck_assert_int_gt(touching, 500);
    close_scene(&other);
    close_scene(&s);
}
END_TEST

// For overlapping geoms sprag gives stock's normal and depth if stock's normal is the shortest way
// out.
START_TEST(overlaps_agree_with_stock)
{
    scene s = open_scene("method=advance");
    int compared = 0;
    dice = 3;
    for (int n = 0; n < 400; n++) {
        int kind = n % 4;
        dGeomID a = random_geom(&s, kind), b = n % 2 ? add_floor(NULL) : random_geom(&s, 0);
        dGeomID first = n % 3 ? a : b, second = n % 3 ? b : a;
        dContactGeom ours[MOST], stocks_own[MOST];
        int count = dCollide(first, second, MOST, ours, sizeof ours[0]);
        int known = stock_collide(first, second, MOST, stocks_own, sizeof stocks_own[0]);
        double depth = 0, deepest = 0;
        for (int i = 0; i < known; i++) {
            deepest = fmax(deepest, stocks_own[i].depth);
        }
        for (int i = 0; i < count; i++) {
            ck_assert_ptr_eq(ours[i].g1, first);
            ck_assert_ptr_eq(ours[i].g2, second);
            depth = fmax(depth, ours[i].depth);
        }
        bool easy = kind == 0 || n % 2; // others' depths are not the shortest way out
        if (easy && known && deepest > 1e-3) {
            ck_assert_int_gt(count, 0);
            ck_assert_double_eq_tol(depth, deepest, 1e-9);
            double along = 0;
            for (int k = 0; k < 3; k++) {
                along += ours[0].normal[k] * stocks_own[0].normal[k];
            }
            ck_assert_double_gt(along, 1 - 1e-9);
            compared++;
        }
        dGeomDestroy(a);
        dGeomDestroy(b);
    }
    ck_assert_int_gt(compared, 100);
    close_scene(&s);
}
END_TEST

// ---- numbers of contacts

typedef struct roomy {
    dContactGeom geom;
    char mine[24];
} roomy;

START_TEST(no_more_than_asked_for)
{
    const int asked = _i + 1;
    scene s = open_scene("method=advance");
    dGeomID floor = add_floor(NULL), box = add_box(&s, NULL, 0, -0.1);
    dQuaternion tilt = {1, 0.02, 0.05, 0};
    dSafeNormalize4(tilt);
    dGeomSetQuaternion(box, tilt);
    roomy all[MOST], few[MOST];
    memset(few, 0x33, sizeof few);
    int count = dCollide(box, floor, MOST, &all[0].geom, sizeof all[0]);
    int got = dCollide(box, floor, asked, &few[0].geom, sizeof few[0]);
    ck_assert_int_eq(count, 4);
    ck_assert_int_eq(got, asked < 4 ? asked : 4);
    double deepest = 0;
    for (int i = 0; i < count; i++) {
        deepest = fmax(deepest, all[i].geom.depth);
    }
    ck_assert(asked >= 4 || few[0].geom.depth == deepest);
    ck_assert_double_gt(deepest, 0.1);
    for (size_t i = 0; i < MOST; i++) {
        for (size_t k = 0; k < sizeof few[i].mine; k++) {
            ck_assert_int_eq(few[i].mine[k], 0x33);
        }
        ck_assert((int)i < got || ((char *)&few[i].geom)[0] == 0x33);
    }
    if (asked == 2) { // the farthest from it is across the face
        double dx = few[0].geom.pos[0] - few[1].geom.pos[0];
        double dy = few[0].geom.pos[1] - few[1].geom.pos[1];
        ck_assert_double_gt(hypot(dx, dy), 1.3);
    }
    int any = dCollide(box, floor, (int)(CONTACTS_UNIMPORTANT | (unsigned)asked), &few[0].geom,
                       sizeof few[0]);
    ck_assert_int_eq(any, got);
    dGeomDestroy(box);
    dGeomDestroy(floor);
    close_scene(&s);
}
END_TEST

// ---- spaces in spaces

// An inner space holds a box whose bounding box does not overlap the floor's.
START_TEST(inner_spaces_are_offered_whole)
{
    scene s = open_scene("method=advance");
    dSpaceID inner = dSimpleSpaceCreate(s.space);
    dGeomID floor = add_floor(s.space), box = add_box(&s, inner, 0, gap);
    add_box(&s, inner, 3, 0.5);
    s.stays = _i == 1;
    collide(&s);
    ck_assert_int_eq(times_given(&s, (dGeomID)inner, floor), 1);
    ck_assert_int_eq(times_given(&s, box, floor), !s.stays);
    ck_assert_int_eq(s.contacts, s.stays ? 0 : 4);
    ck_assert_int_eq(s.calls, s.stays ? 1 : 2);
    ck_assert_int_eq(recorded(&s), s.stays ? 1 : 2);
    ck_assert_int_eq(sprag_ode_was_offered(record_of(&s), floor, box), !s.stays);
    ck_assert_int_eq(dWorldStep(s.world, 0.01), 1);
    close_scene(&s);
}
END_TEST

// Stock passes the inner space on because of another geom in it. The pair that stock leaves out is
// passed on once, by the program's own dSpaceCollide2 for the inner space.
START_TEST(nothing_is_offered_twice)
{
    scene s = open_scene("method=advance");
    dSpaceID inner = dHashSpaceCreate(s.space);
    dGeomID floor = add_floor(s.space), box = add_box(&s, inner, 0, gap);
    dGeomID deep = add_box(&s, inner, 3, -0.1), beside = add_box(&s, s.space, 1 + gap, gap);
    collide(&s);
    ck_assert_int_eq(times_given(&s, (dGeomID)inner, floor), 1);
    ck_assert_int_eq(times_given(&s, box, floor), 1);
    ck_assert_int_eq(times_given(&s, deep, floor), 1);
    ck_assert_int_eq(times_given(&s, beside, floor), 1);
    ck_assert_int_eq(times_given(&s, beside, box), 1);
    ck_assert_int_eq(s.contacts, 16);
    collide(&s); // a second call in the same frame passes all pairs on again, and is recorded once
    ck_assert_int_eq(times_given(&s, box, floor), 1);
    ck_assert_int_eq(s.contacts, 16);
    ck_assert_int_eq(recorded(&s), 3);
    close_scene(&s);
}
END_TEST

// Two spaces of different sublevels: stock passes on the geoms of the upper one with the other
// space.
START_TEST(levels_of_spaces_are_kept)
{
    scene s = open_scene("method=advance");
    dSpaceID above = dSimpleSpaceCreate(NULL), below = dSimpleSpaceCreate(NULL);
    dSpaceSetSublevel(above, 2);
    dGeomID slab = on_body(&s, dCreateBox(below, 4, 4, 1), 0, 0, -0.5);
    dGeomID box = add_box(&s, above, 0, gap);
    start_frame(&s);
    dSpaceCollide2((dGeomID)below, (dGeomID)above, &s, touch);
    ck_assert_int_eq(s.calls, 2);
    ck_assert_ptr_eq(s.given[0][0], (dGeomID)below);
    ck_assert_ptr_eq(s.given[0][1], box);
    ck_assert_ptr_eq(s.given[1][0], slab);
    ck_assert_ptr_eq(s.given[1][1], box);
    ck_assert_int_eq(s.contacts, 4);
    dSpaceDestroy(above);
    dSpaceDestroy(below);
    close_scene(&s);
}
END_TEST

static dSpaceID space_of_kind(int kind)
{
    const dVector3 middle = {0, 0, 0}, size = {10, 10, 10};
    return kind == 0   ? dSimpleSpaceCreate(NULL)
           : kind == 1 ? dHashSpaceCreate(NULL)
           : kind == 2 ? dQuadTreeSpaceCreate(NULL, middle, size, 4)
                       : dSweepAndPruneSpaceCreate(NULL, dSAP_AXES_XYZ);
}

START_TEST(every_kind_of_space_does)
{
    scene s = open_scene("method=advance");
    dSpaceDestroy(s.space);
    s.space = space_of_kind(_i);
    dGeomID floor = add_floor(s.space), box[3];
    for (int i = 0; i < 3; i++) {
        box[i] = add_box(&s, s.space, 3 * i - 3, gap);
    }
    dGeomID on_top = on_body(&s, dCreateBox(s.space, 1, 1, 1), 0.3, 0.2, 1.5 + 2 * gap);
    collide(&s);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(times_given(&s, box[i], floor), 1);
    }
    ck_assert_int_eq(times_given(&s, box[1], on_top), 1);
    // Sweep and prune offers a plane with everything.
    ck_assert_int_eq(s.calls, 4 + times_given(&s, floor, on_top));
    ck_assert_int_eq(times_given(&s, floor, on_top), _i == 3);
    ck_assert_int_eq(s.contacts, 16);
    ck_assert_int_eq(dWorldStep(s.world, 0.01), 1);
    close_scene(&s);
}
END_TEST

// Cubes of 0.1 to 2 m about the origin, of bodies, or one without. ODE's hash space alone misses
// one pair in a hundred.
START_TEST(hash_spaces_miss_no_pair)
{
    enum { PAIRS = 3000 };
    int touching = 0, missed = 0, given = 0;
    scene s = open_scene("method=stribeck");
    ck_assert_int_eq(dWorldStep(s.world, 0.01), 1); // from the first step on
    dRandSetSeed((unsigned long)_i + 1);
    for (int i = 0; i < PAIRS; i++) {
        double side[2] = {0.1 + 1.9 * dRandReal(), 0.1 + 1.9 * dRandReal()};
        dGeomID a = on_body(&s, dCreateBox(s.space, side[0], side[0], side[0]), dRandReal(),
                            dRandReal(), 2 * dRandReal() - 1);
        dGeomID b = dCreateBox(s.space, side[1], side[1], side[1]);
        dGeomSetPosition(b, dRandReal(), dRandReal(), 2 * dRandReal() - 1);
        s.calls = s.contacts = 0;
        s.declines = true;
        dSpaceCollide(s.space, &s, touch);
        dContactGeom known[MOST];
        bool touches = stock_collide(a, b, MOST, known, sizeof known[0]) > 0;
        touching += touches;
        missed += touches && times_given(&s, a, b) == 0;
        given += times_given(&s, a, b) > 1;
        dBodyDestroy(dGeomGetBody(a));
        dGeomDestroy(a);
        dGeomDestroy(b);
    }
    ck_assert_int_gt(touching, PAIRS / 2);
    ck_assert_int_eq(missed, 0);
    ck_assert_int_eq(given, 0);
    close_scene(&s);
}
END_TEST

START_TEST(bits_are_obeyed)
{
    scene s = open_scene("method=advance");
    dGeomID floor = add_floor(s.space), box = add_box(&s, s.space, 0, gap);
    dGeomSetCategoryBits(box, 2);
    dGeomSetCollideBits(box, 4);
    dGeomSetCollideBits(floor, _i ? 2 : 8);
    dGeomSetCategoryBits(floor, 8);
    collide(&s);
    ck_assert_int_eq(times_given(&s, box, floor), _i);
    close_scene(&s);
}
END_TEST

// ---- other geoms

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

START_TEST(transforms_are_named_as_by_stock)
{
    scene s = open_scene("method=advance");
    dGeomID floor = add_floor(s.space), outer = dCreateGeomTransform(s.space);
    dGeomID inner = dCreateBox(NULL, 1, 1, 1);
    dGeomSetPosition(inner, 0, 0, 0.5);
    dGeomTransformSetGeom(outer, inner);
    dGeomTransformSetInfo(outer, _i);
    dGeomTransformSetCleanup(outer, 1);
    on_body(&s, outer, 0, 0, -1e-3);
    dContactGeom known[MOST], ours[MOST];
    ck_assert_int_gt(stock_collide(floor, outer, MOST, known, sizeof known[0]), 0);
    dBodySetPosition(dGeomGetBody(outer), 0, 0, gap);
    collide(&s);
    ck_assert_int_eq(times_given(&s, outer, floor), 1);
    ck_assert_int_eq(s.contacts, 4);
    ck_assert(sprag_ode_was_offered(record_of(&s), outer, floor));
    ck_assert_int_eq(dCollide(floor, outer, MOST, ours, sizeof ours[0]), 4);
    ck_assert_ptr_eq(ours[0].g1, known[0].g1);
    ck_assert_ptr_eq(ours[0].g2, known[0].g2);
    ck_assert_ptr_eq(ours[0].g2, _i ? outer : inner);
    ck_assert_double_eq_tol(ours[0].normal[2], -1, 1e-12);
    close_scene(&s);
}
END_TEST

#pragma GCC diagnostic pop

static const dReal square[12] = {-2, -2, 0, 2, -2, 0, 2, 2, 0, -2, 2, 0};
static const dTriIndex halves[6] = {0, 1, 2, 0, 2, 3};

static int number_of_both(dGeomID mesh, int first, int second)
{
    (void)mesh;
    return first + second == 1 ? 7 : -1;
}

START_TEST(meshes_have_merged_contacts)
{
    scene s = open_scene("method=advance");
    dTriMeshDataID data = dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildDouble(data, square, 3 * sizeof(dReal), 4, halves, 6,
                                3 * sizeof(dTriIndex));
    dGeomID mesh = dCreateTriMesh(s.space, data, NULL, NULL, NULL);
    dGeomID round = on_body(&s, dCreateSphere(s.space, 0.5), 1.2, 1.2, 0.5 + gap);
    collide(&s);
    ck_assert_int_eq(s.calls, 1);
    ck_assert_int_eq(s.contacts, 1); // on the edge of both
    ck_assert_double_eq_tol(s.contact[0].pos[0], 1.2, 1e-9);
    dGeomTriMeshSetTriMergeCallback(mesh, number_of_both);
    collide(&s);
    ck_assert_int_eq(s.contacts, 1);
    ck_assert_int_eq(s.contact[0].side1 + s.contact[0].side2, 7 - 1);
    dGeomTriMeshSetTriMergeCallback(mesh, NULL);
    dGeomDestroy(round);
    dGeomID box = add_box(&s, s.space, 0.3, gap);
    collide(&s);
    ck_assert_int_eq(times_given(&s, box, mesh), 1);
    ck_assert_int_ge(s.contacts, 4);
    int corners = 0;
    for (int i = 0; i < s.contacts; i++) {
        const dContactGeom *c = &s.contact[i];
        int side = c->g1 == mesh ? c->side1 : c->side2;
        ck_assert(side == 0 || side == 1);
        ck_assert_int_eq(c->g1 == mesh ? c->side2 : c->side1, -1);
        ck_assert_double_eq_tol(c->normal[2], c->g1 == mesh ? -1 : 1, 1e-9);
        corners += fabs(fabs(c->pos[0] - 0.3) - 0.5) < 1e-9 && fabs(fabs(c->pos[1]) - 0.5) < 1e-9;
        for (int j = 0; j < i; j++) {
            ck_assert_double_gt(fabs(c->pos[0] - s.contact[j].pos[0]) +
                                    fabs(c->pos[1] - s.contact[j].pos[1]),
                                1e-7);
        }
    }
    ck_assert_int_eq(corners, 4);
    dContactGeom four[4];
    ck_assert_int_eq(dCollide(mesh, box, 4, four, sizeof four[0]), 4);
    ck_assert_ptr_eq(four[0].g1, mesh);
    ck_assert_double_eq_tol(four[0].normal[2], -1, 1e-9);
    close_scene(&s);
    dGeomTriMeshDataDestroy(data);
}
END_TEST

// Rays, disabled geoms, two geoms of one body and two geoms without bodies: dCollide has stock's
// bits.
START_TEST(stock_answers_the_rest)
{
    scene s = open_scene("method=advance");
    dGeomID floor = add_floor(NULL), ray = dCreateRay(NULL, 2);
    dGeomID box = add_box(&s, NULL, 0, gap), off = add_box(&s, NULL, 0, -0.1);
    dGeomID same = dCreateBox(NULL, 1, 1, 1), still = dCreateBox(NULL, 1, 1, 1);
    dGeomSetBody(ray, dBodyCreate(s.world));
    dGeomRaySet(ray, 0.1, 0.1, 1, 0, 0, -1);
    dGeomSetBody(same, dGeomGetBody(box));
    dGeomDisable(off);
    dGeomSetPosition(still, 0, 0, 0.5 + gap);
    const dGeomID pair[][2] = {{ray, floor}, {box, same}, {box, box}, {off, floor}, {still, floor}};
    const int expected[] = {1, 0, 0, 4, 0};
    for (int i = 0; i < 5; i++) {
        dContactGeom ours[MOST], known[MOST];
        memset(ours, 0, sizeof ours);
        memset(known, 0, sizeof known);
        int count = dCollide(pair[i][0], pair[i][1], MOST, ours, sizeof ours[0]);
        ck_assert_int_eq(count, stock_collide(pair[i][0], pair[i][1], MOST, known, sizeof *known));
        ck_assert_int_eq(count, expected[i]);
        ck_assert_int_eq(memcmp(ours, known, sizeof ours), 0);
    }
    const dGeomID all[] = {floor, ray, box, off, same, still};
    for (int i = 0; i < 6; i++) {
        dGeomDestroy(all[i]);
    }
    close_scene(&s);
}
END_TEST

// A box that stands deep in a flat mesh, beside one of its rims, leaves it over that rim; deeper
// within by the front.
START_TEST(rims_are_alike_on_all_sides)
{
    scene s = open_scene("method=stribeck");
    dTriMeshDataID data = dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildDouble(data, square, 3 * sizeof(dReal), 4, halves, 6,
                                3 * sizeof(dTriIndex));
    dGeomID mesh = dCreateTriMesh(s.space, data, NULL, NULL, NULL);
    dGeomID box = on_body(&s, dCreateBox(s.space, 0.04, 0.04, 1.2), 0, 0, 5);
    collide(&s);
    ck_assert_int_eq(dWorldStep(s.world, 0.01), 1);
    for (int k = 0; k < 2; k++) {
        dContactGeom contact[MOST];
        const double inwards = k ? 0.6 : 0.05, out = _i % 2 ? 2 - inwards : inwards - 2;
        dGeomSetPosition(box, _i / 2 ? 0.2 : out, _i / 2 ? out : 0.2, 0.1);
        ck_assert_int_ge(dCollide(box, mesh, MOST, contact, sizeof *contact), 1);
        ck_assert_double_eq_tol(contact[0].depth, k ? 0.5 : 0.07, 1e-9);
        ck_assert_double_eq_tol(contact[0].normal[k ? 2 : _i / 2], k || out > 0 ? 1 : -1, 1e-9);
    }
    close_scene(&s);
    dGeomTriMeshDataDestroy(data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("collide");
    ADD_TESTS(suite, "answers", {resting_pairs_are_offered_and_have_contacts, COUNT(rests)},
              {two_geoms_keep_their_order, 2}, {other_methods_get_stocks_bits, 3},
              {overlaps_agree_with_stock, 1}, {no_more_than_asked_for, 6},
              {inner_spaces_are_offered_whole, 2}, {nothing_is_offered_twice, 1},
              {levels_of_spaces_are_kept, 1}, {every_kind_of_space_does, 4},
              {hash_spaces_miss_no_pair, 2}, {bits_are_obeyed, 2},
              {transforms_are_named_as_by_stock, 2}, {meshes_have_merged_contacts, 1},
              {stock_answers_the_rest, 1}, {rims_are_alike_on_all_sides, 4});
    return run_beside_stock(suite, CK_NOFORK);
}
