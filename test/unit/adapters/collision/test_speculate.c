// Contacts before geoms touch, by closed forms, of geoms that are asked about directly.
#include <check.h>
#include <math.h>

#include "convex_cube.h"
#include "geometry_cache.h"
#include "ode.h"
#include "suite.h"

enum { MOST = 16 };

static ode_search search;
static const ode_ahead ahead = {0.01, 0, 0, &search}; // s, m, m/s
static dWorldID world;
static ode_geometry *geometry;
static sprag_scratch scratch;
static dContactGeom contact[MOST];

static void start(void)
{
    dInitODE2(0);
    world = dWorldCreate();
    geometry = sprag_ode_geometry_make();
    search = (ode_search){.left = 65536};
}

static void stop(void)
{
    sprag_ode_geometry_free(geometry);
    sprag_scratch_free(&scratch);
    dWorldDestroy(world);
    dCloseODE();
}

static int speculate(dGeomID a, dGeomID b, int most, int found)
{
    sprag_scratch_reset(&scratch);
    return sprag_ode_speculate(geometry, &scratch, a, b, &ahead, most, contact, sizeof *contact,
                               found);
}

// On a body of 1 kg that falls at this speed (m/s) from this height (m, of its centre).
static dGeomID drop(dGeomID geom, double height, double speed)
{
    dBodyID body = dBodyCreate(world);
    dBodySetPosition(body, 0, 0, height);
    dGeomSetBody(geom, body);
    dBodySetLinearVel(body, 0, 0, -speed);
    return geom;
}

// A box whose top is at z = 0.
static dGeomID create_floor(void)
{
    dGeomID box = dCreateBox(NULL, 4, 4, 2);
    dGeomSetPosition(box, 0, 0, -1);
    return box;
}

static void assert_left(const dContactGeom *c, double left)
{
    ck_assert_double_eq_tol(c->depth, -left, 1e-12);
    ck_assert_double_eq_tol(c->normal[2], 1, 1e-12);
}

// A ball at 50 mm above the floor that falls by 100 mm in the step; the contact is at its lowest
// point. At other speeds, places of its body, or radii, the answer is another one each time: what
// is known of a geom is not of the state before.
START_TEST(falling_balls_meet_the_floor)
{
    dGeomID floor = create_floor(), ball = drop(dCreateSphere(NULL, 0.1), 0.15, 10);
    dBodyID body = dGeomGetBody(ball);
    for (int turned = 0; turned < 2; turned++) {
        dBodySetLinearVel(body, 0, 0, -10);
        ck_assert_int_eq(speculate(turned ? floor : ball, turned ? ball : floor, MOST, 0), 1);
        ck_assert_double_eq_tol(contact[0].depth, -0.05, 1e-12);
        ck_assert_double_eq_tol(contact[0].normal[2], turned ? -1 : 1, 1e-12);
        ck_assert_double_eq_tol(contact[0].pos[2], turned ? 0 : 0.05, 1e-12);
        ck_assert_ptr_eq(contact[0].g1, turned ? floor : ball);
        ck_assert_ptr_eq(contact[0].g2, turned ? ball : floor);
        dBodySetLinearVel(body, 0, 0, -4); // 40 mm
        ck_assert_int_eq(speculate(turned ? floor : ball, turned ? ball : floor, MOST, 0), 0);
        dBodySetLinearVel(body, 0, 0, -4.9); // at the end a tenth of the way is left
        ck_assert_int_eq(speculate(turned ? floor : ball, turned ? ball : floor, MOST, 0), 1);
    }
    dGeomSphereSetRadius(ball, 0.12);
    ck_assert_int_eq(speculate(ball, floor, MOST, 0), 1);
    assert_left(&contact[0], 0.03);
    dBodyDisable(body); // what is asleep does not move
    ck_assert_int_eq(speculate(ball, floor, MOST, 0), 0);
    dBodyEnable(body);
    dGeomDisable(floor);
    ck_assert_int_eq(speculate(ball, floor, MOST, 0), 0);
    dGeomDestroy(ball);
    dGeomDestroy(floor);
}
END_TEST

// A ball that its body carries round on an arm of 1 m, at rest itself: the way is that of the
// arm's end. Then the body is elsewhere, and the ball where it was.
START_TEST(arms_are_read_anew)
{
    dGeomID floor = create_floor(), ball = drop(dCreateSphere(NULL, 0.1), 0.15, 0);
    dBodyID body = dGeomGetBody(ball);
    dGeomSetOffsetPosition(ball, 1, 0, 0);
    dBodySetAngularVel(body, 0, 8, 0); // down at 8 m/s
    ck_assert_int_eq(speculate(ball, floor, MOST, 0), 1);
    ck_assert_double_eq_tol(contact[0].pos[0], 1, 0.01);
    ck_assert_double_eq_tol(contact[0].depth, -0.05, 1e-3);
    dBodySetPosition(body, 2, 0, 0.15);
    dGeomSetOffsetWorldPosition(ball, 1, 0, 0.15); // up at 8 m/s
    ck_assert_int_eq(speculate(ball, floor, MOST, 0), 0);
    dGeomDestroy(ball);
    dGeomDestroy(floor);
}
END_TEST

// A box that falls flat has its four corners, as many as are asked for, and none twice.
START_TEST(boxes_fall_on_their_corners)
{
    dGeomID floor = create_floor(), box = drop(dCreateBox(NULL, 0.4, 0.4, 0.2), 0.15, 10);
    ck_assert_int_eq(speculate(box, floor, MOST, 0), 4);
    for (int i = 0; i < 4; i++) {
        assert_left(&contact[i], 0.05);
        ck_assert_double_eq_tol(fabs(contact[i].pos[0]), 0.2, 1e-9);
        ck_assert_double_eq_tol(fabs(contact[i].pos[1]), 0.2, 1e-9);
    }
    ck_assert_int_eq(speculate(box, floor, 3, 0), 3);
    ck_assert_int_eq(speculate(box, floor, MOST, 0), 4);
    ck_assert_int_eq(speculate(box, floor, MOST, 4), 0);
    ck_assert_int_eq(speculate(box, floor, MOST, 3), 1);
    dGeomDestroy(box);
    dGeomDestroy(floor);
}
END_TEST

static double draw(double low, double high)
{
    return low + (high - low) * dRandReal();
}

static dGeomID create_any(int kind)
{
    dGeomID geom = kind == 0   ? dCreateBox(NULL, 0.3, 0.2, 0.1)
                   : kind == 1 ? dCreateCapsule(NULL, 0.08, 0.3)
                   : kind == 2 ? dCreateCylinder(NULL, 0.1, 0.3)
                               : dCreateSphere(NULL, 0.12);
    dBodyID body = dBodyCreate(world);
    dQuaternion q = {draw(-1, 1), draw(-1, 1), draw(-1, 1), draw(-1, 1)};
    dGeomSetBody(geom, body);
    dNormalize4(q);
    dBodySetQuaternion(body, q);
    dBodySetPosition(body, draw(-0.2, 0.2), draw(-0.2, 0.2), draw(-0.2, 0.2));
    dBodySetLinearVel(body, draw(-3, 3), draw(-3, 3), draw(-3, 3));
    dBodySetAngularVel(body, draw(-10, 10), draw(-10, 10), draw(-10, 10));
    return geom;
}

// By the exponential of its angular velocity.
static void move(dGeomID geom, double step)
{
    dBodyID body = dGeomGetBody(geom);
    const dReal *x = dBodyGetPosition(body), *v = dBodyGetLinearVel(body),
                *w = dBodyGetAngularVel(body);
    dQuaternion turn, after;
    dQFromAxisAndAngle(turn, w[0], w[1], w[2], step * dCalcVectorLength3(w));
    dQMultiply0(after, turn, dBodyGetQuaternion(body));
    dBodySetQuaternion(body, after);
    dBodySetPosition(body, x[0] + step * v[0], x[1] + step * v[1], x[2] + step * v[2]);
}

static int collide(dGeomID a, dGeomID b, const ode_ahead *to_come)
{
    static const ode_reach reach = {1e-9, 0, MOST};
    static const ode_last_step none;
    sprag_scratch_reset(&scratch);
    return sprag_ode_collide_within(geometry, &scratch, a, b, &reach, &none, to_come, MOST, contact,
                                    sizeof *contact);
}

// Pairs that turn, most of them apart. Those that overlap when the step ends have contacts before,
// the same whether the gap is known from dCollide or not; those that touch keep their contacts.
START_TEST(all_that_will_overlap_has_contacts)
{
    int meet = 0;
    dRandSetSeed(1);
    for (int i = 0; i < 4000; i++) {
        dGeomID a = create_any(i % 4), b = create_any(i / 4 % 4);
        const int now = collide(a, b, NULL), with = collide(a, b, &ahead);
        ck_assert_int_ge(with, now);
        ck_assert(now == 0 || contact[now - 1].depth >= 0);
        if (now == 0) {
            ck_assert_int_eq(speculate(a, b, MOST, 0), with);
            move(a, ahead.step);
            move(b, ahead.step);
            const bool meets = collide(a, b, NULL) > 0;
            ck_assert(with > 0 || !meets);
            meet += meets;
        }
        dBodyDestroy(dGeomGetBody(a));
        dBodyDestroy(dGeomGetBody(b));
        dGeomDestroy(a);
        dGeomDestroy(b);
    }
    ck_assert_int_gt(meet, 100);
}
END_TEST

// What a class of geoms collides with is the program's to say, once it has said so.
START_TEST(replaced_colliders_have_no_contacts_ahead)
{
    ck_assert_ptr_null(sprag_ode_unsupported());
    dGeomID floor = create_floor(), bar = drop(dCreateCapsule(NULL, 0.1, 0.3), 0.3, 10);
    ck_assert_int_gt(speculate(bar, floor, MOST, 0), 0);
    sprag_ode_override_collider(dCapsuleClass, dBoxClass, NULL);
    ck_assert_int_eq(speculate(bar, floor, MOST, 0), 0);
    dGeomDestroy(bar);
    dGeomDestroy(floor);
}
END_TEST

// A cube of triangles.
static dGeomID create_cube(void)
{
    static dVector3 corner[8];
    static dTriIndex index[36];
    for (int i = 0; i < 24; i++) {
        corner[i / 3][i % 3] = cube_points[i];
    }
    for (int i = 0; i < 36; i++) {
        index[i] = cube_triangles[i];
    }
    dTriMeshDataID data = dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildSimple(data, (const dReal *)corner, 8, index, 36);
    return dCreateTriMesh(NULL, data, NULL, NULL, NULL);
}

static void destroy_cube(dGeomID cube)
{
    dTriMeshDataID data = dGeomTriMeshGetData(cube);
    dGeomDestroy(cube);
    dGeomTriMeshDataDestroy(data);
}

// Triangles have no size by which to tell a little overlap: one cube falls flat on the other, which
// is at rest, from 250 mm, by 400 mm or by 240 mm in the step. It has contacts as far as there is
// work for its search, of which it takes no more than a quarter.
START_TEST(meshes_meet_meshes)
{
    dGeomID rests = create_cube(), falls = drop(create_cube(), 1.25, 0);
    dBodySetPosition(dGeomGetBody(falls), 0.25, 0.125, 1.25);
    for (int slow = 0; slow < 2; slow++) {
        dBodySetLinearVel(dGeomGetBody(falls), 0, 0, slow ? -24 : -40);
        const int count = speculate(falls, rests, MOST, 0);
        int level = 0;
        for (int i = 0; i < count; i++) {
            level += fabs(contact[i].depth + 0.25) < 1e-12 && contact[i].normal[2] > 1 - 1e-12;
        }
        ck_assert((level > 0) == !slow && (count > 0) == !slow);
        ck_assert_int_eq(search.cut, 0);
    }
    search.left = 0;
    dBodySetLinearVel(dGeomGetBody(falls), 0, 0, -40);
    speculate(falls, rests, MOST, 0);
    ck_assert_int_eq(search.cut, 1);
    ck_assert(search.left >= 96 && search.left < 128);
    destroy_cube(falls);
    destroy_cube(rests);
}
END_TEST

// A ball that flies beside a cube, where something may turn it to it, has a contact of the nearest
// face without force.
START_TEST(balls_beside_meshes_have_a_contact_of_the_nearest_face)
{
    static const double side[6][3] = {{1, 0, 0},  {-1, 0, 0}, {0, 1, 0},
                                      {0, -1, 0}, {0, 0, 1},  {0, 0, -1}};
    dGeomID cube = create_cube(), ball = drop(dCreateSphere(NULL, 0.1), 0, 0);
    for (int k = 0; k < 6; k++) {
        const double *n = side[k];
        dBodySetPosition(dGeomGetBody(ball), 0.7 * n[0] + 0.03, 0.7 * n[1] - 0.05,
                         0.7 * n[2] + 0.1);
        dBodySetLinearVel(dGeomGetBody(ball), 90 * n[1], 90 * n[2], 90 * n[0]);
        ck_assert_int_eq(speculate(cube, ball, MOST, 0), 1);
        ck_assert_int_eq(contact->side1, ODE_SIDE_ASIDE);
        for (int i = 0; i < 3; i++) {
            ck_assert_double_eq_tol(contact->normal[i], -n[i], 1e-9);
        }
    }
    dGeomDestroy(ball);
    destroy_cube(cube);
}
END_TEST

// A rod that turns by 3 rad in a step passes a post. One advance does not tell that, and a pair may
// take no more than a quarter of those that are left.
START_TEST(rods_pass_posts_for_a_quarter_of_the_advances)
{
    static const int left[] = {1024, 4, 3};
    static const double spin[6] = {0, 0, 0, 0, 0, 300}; // rad/s
    dGeomID rod = drop(dCreateBox(NULL, 2, 0.04, 0.04), 0, 0), post = dCreateSphere(NULL, 0.04);
    dGeomSetPosition(post, 0, 0.9, 0);
    for (int i = 0; i < 3; i++) {
        const dGeomID pair[2] = {rod, post};
        const double *const velocity[2] = {spin, NULL};
        ode_touch touch;
        search = (ode_search){.left = left[i]};
        sprag_scratch_reset(&scratch);
        bool found =
            sprag_ode_touch_ahead(geometry, &scratch, pair, velocity, 0.01, false, &search, &touch);
        ck_assert(found == (i == 0));
        ck_assert_int_ge(search.left, left[i] - left[i] / 4);
        ck_assert(search.left < left[i] || i == 2);
        ck_assert_int_eq(search.cut, i > 0);
    }
    dGeomDestroy(rod);
    dGeomDestroy(post);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("speculate");
    ADD_TESTS_WITH(
        suite, "all", start, stop, {falling_balls_meet_the_floor, 1}, {arms_are_read_anew, 1},
        {boxes_fall_on_their_corners, 1}, {meshes_meet_meshes, 1},
        {balls_beside_meshes_have_a_contact_of_the_nearest_face, 1},
        {all_that_will_overlap_has_contacts, 1}, {replaced_colliders_have_no_contacts_ahead, 1},
        {rods_pass_posts_for_a_quarter_of_the_advances, 1});
    return run_suite(suite);
}
