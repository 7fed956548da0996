// Bodies on triangle meshes and heightfields under method=advance: seams are not felt, nothing
// sinks in or passes, and what starts inside leaves by the front without speed. Contacts of meshes
// under method=stribeck.
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "body_motion.h"
#include "join_contacts.h"
#include "start.h"
#include "suite.h"
#include "world.h"

static const double gravity = 9.81, step = 0.01, epsilon = 1e-6;

typedef struct scene {
    dWorldID world;
    dSpaceID space;
    dJointGroupID group;
    double mu, rho, bounce;
    bool mirrored; // blocks: their triangles face inwards
    dTriMeshDataID data, block;
    dHeightfieldDataID heights;
    float *vertex;
    dTriIndex *index;
} scene;

static scene open_scene(double mu)
{
    scene s = {.world = dWorldCreate(), .space = dHashSpaceCreate(NULL), .mu = mu};
    s.group = dJointGroupCreate(0);
    dWorldSetGravity(s.world, 0, 0, -gravity);
    ck_assert_msg(sprag_world_configure(s.world, "method=advance"), "%s", sprag_error());
    return s;
}

static void close_scene(scene *s)
{
    dJointGroupDestroy(s->group);
    dSpaceDestroy(s->space);
    dWorldDestroy(s->world);
    if (s->data) {
        dGeomTriMeshDataDestroy(s->data);
    }
    if (s->block) {
        dGeomTriMeshDataDestroy(s->block);
    }
    if (s->heights) {
        dGeomHeightfieldDataDestroy(s->heights);
    }
    free(s->vertex);
    free(s->index);
}

static void touch(void *data, dGeomID a, dGeomID b)
{
    const scene *s = data;
    const dSurfaceParameters surface = {.mode = dContactApprox1 |
                                                (s->rho > 0 ? dContactRolling : 0) |
                                                (s->bounce > 0 ? dContactBounce : 0),
                                        .mu = s->mu,
                                        .bounce = s->bounce,
                                        .bounce_vel = 0.05,
                                        .rho = s->rho,
                                        .rho2 = s->rho,
                                        .rhoN = s->rho};
    join_contacts(s->world, s->group, a, b, 64, surface, NULL);
}

static void go(scene *s)
{
    dSpaceCollide(s->space, s, touch);
    ck_assert_int_eq(dWorldStep(s->world, step), 1);
    dJointGroupEmpty(s->group);
}

static sprag_world_statistics stats_of(const scene *s)
{
    return world_find(s->world)->statistics;
}

// ---- grounds

// Of all of the scene's vertices and triangles.
static dGeomID build_mesh(scene *s, int vertices, int faces)
{
    s->data = dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildSingle(s->data, s->vertex, 3 * sizeof(float), vertices, s->index,
                                3 * faces, 3 * sizeof(dTriIndex));
    return dCreateTriMesh(s->space, s->data, NULL, NULL, NULL);
}

// Cells of that size, two triangles each, the diagonals this way and that; z = 0, up is outside.
static dGeomID add_floor(scene *s, int cells_x, int cells_y, double x0, double y0, double cell)
{
    int n = (cells_x + 1) * (cells_y + 1), faces = 0;
    s->vertex = calloc((size_t)n * 3, sizeof *s->vertex);
    s->index = calloc((size_t)(cells_x * cells_y) * 6, sizeof *s->index);
    ck_assert_ptr_nonnull(s->vertex);
    ck_assert_ptr_nonnull(s->index);
    for (int i = 0; i < n; i++) {
        s->vertex[3 * i] = (float)(x0 + cell * (i % (cells_x + 1)));
        s->vertex[3 * i + 1] = (float)(y0 + cell * (i / (cells_x + 1)));
    }
    for (int y = 0; y < cells_y; y++) {
        for (int x = 0; x < cells_x; x++) {
            dTriIndex a = (dTriIndex)(y * (cells_x + 1) + x), b = a + 1,
                      c = a + (dTriIndex)cells_x + 1, d = c + 1;
            const dTriIndex one[] = {a, b, d, a, d, c}, other[] = {a, b, c, b, d, c};
            memcpy(s->index + 3 * faces, (x + y) % 2 ? one : other, sizeof one);
            faces += 2;
        }
    }
    return build_mesh(s, n, faces);
}

enum { SAMPLES = 33 };
static const double width = 8; // m

static double height_at(double x, double y)
{
    return 0.25 * sin(1.3 * x) * cos(1.1 * y);
}

static dReal sample(void *data, int x, int z)
{
    (void)data; // its z is -y, once it is turned upright
    return height_at((x / (SAMPLES - 1.0) - 0.5) * width, -(z / (SAMPLES - 1.0) - 0.5) * width);
}

static dGeomID add_hills(scene *s)
{
    s->heights = dGeomHeightfieldDataCreate();
    dGeomHeightfieldDataBuildCallback(s->heights, NULL, sample, width, width, SAMPLES, SAMPLES, 1,
                                      0, 1, 0);
    dGeomHeightfieldDataSetBounds(s->heights, -0.3, 0.3);
    dGeomID field = dCreateHeightfield(s->space, s->heights, 1);
    dMatrix3 R;
    dRFromAxisAndAngle(R, 1, 0, 0, M_PI / 2);
    dGeomSetRotation(field, R);
    return field;
}

// ---- bodies

static dBodyID add_body(scene *s, dGeomID geom, double x, double y, double z)
{
    dMass mass;
    dBodyID body = dBodyCreate(s->world);
    dVector3 side;
    dReal r, l;
    switch (dGeomGetClass(geom)) {
    case dBoxClass:
        dGeomBoxGetLengths(geom, side);
        dMassSetBoxTotal(&mass, 1, side[0], side[1], side[2]);
        break;
    case dCapsuleClass:
        dGeomCapsuleGetParams(geom, &r, &l);
        dMassSetCapsuleTotal(&mass, 1, 3, r, l);
        break;
    case dCylinderClass:
        dGeomCylinderGetParams(geom, &r, &l);
        dMassSetCylinderTotal(&mass, 1, 3, r, l);
        break;
    default:
        dMassSetSphereTotal(&mass, 1, dGeomSphereGetRadius(geom));
        break;
    }
    dBodySetMass(body, &mass);
    dGeomSetBody(geom, body);
    dBodySetPosition(body, x, y, z);
    return body;
}

// ---- seams

// A box slides on a plane and on a mesh alike, along the rows of cells and askew to them.
START_TEST(boxes_slide_over_seams)
{
    static const double turn[] = {0, 0, 0.3, 0.7, 0, 0.4}, side[] = {0, 0.013, 0, 0.02, 0, 0.003};
    const double speed = 3.5, mu = 0.3;
    scene s = open_scene(mu);
    double cell = _i < 4 ? 0.1 : 0.025; // 200 triangles, or 3200
    add_floor(&s, (int)lround(2.5 / cell), (int)lround(0.4 / cell), -0.5, -0.2, cell);
    dBodyID box =
        add_body(&s, dCreateBox(s.space, 0.2, 0.15, 0.1), -0.3, side[_i], 0.05 + 0.5 * epsilon);
    dMatrix3 R;
    dRFromAxisAndAngle(R, 0, 0, 1, turn[_i]);
    dBodySetRotation(box, R);
    dBodySetLinearVel(box, speed, 0, 0);
    double braked = speed;
    for (int i = 1; braked > 0; i++) {
        go(&s);
        braked = fmax(0, speed - mu * gravity * step * i);
        const dReal *v = dBodyGetLinearVel(box), *w = dBodyGetAngularVel(box);
        ck_assert_double_eq_tol(v[0], braked, 1e-3);
        ck_assert_double_eq_tol(v[1], 0, 1e-3);
        ck_assert_double_eq_tol(w[2], 0, 1e-3);
    }
    for (int i = 0; i < 20; i++) {
        go(&s);
    }
    const dReal *at = dBodyGetPosition(box);
    double way = 0, v = speed;
    for (; v > 0; v -= mu * gravity * step) {
        way += step * fmax(0, v - mu * gravity * step);
    }
    ck_assert_double_ge(way, 2);
    ck_assert_double_eq_tol(at[0], -0.3 + way, 2e-3);
    ck_assert_double_eq_tol(at[1], side[_i], 2e-3);
    ck_assert_double_eq_tol(at[2], 0.05, epsilon);
    ck_assert_double_eq_tol(dBodyGetRotation(box)[10], 1, 1e-9);
    ck_assert_double_lt(kinetic_energy(box), 1e-9);
    ck_assert_double_eq(stats_of(&s).stalled, 0);
    ck_assert_int_eq(stats_of(&s).overlaps, 0);
    ck_assert_int_le(stats_of(&s).substeps, stats_of(&s).steps + 5);
    ck_assert_int_eq(stats_of(&s).contacts, 4); // whatever the triangles
    close_scene(&s);
}
END_TEST

// Straight on, along a row of seams, across corners, over diagonals.
START_TEST(balls_and_capsules_roll_over_seams)
{
    static const double side[] = {0, 0.031, 0.05}, radius = 0.1, speed = 2;
    for (int capsule = 0; capsule < 2; capsule++) {
        scene s = open_scene(0.8);
        add_floor(&s, 25, 4, -0.5, -0.2, 0.1);
        dGeomID geom =
            capsule ? dCreateCapsule(s.space, radius, 0.1) : dCreateSphere(s.space, radius);
        dBodyID body = add_body(&s, geom, -0.4, side[_i], radius + 0.5 * epsilon);
        dMatrix3 R;
        dRFromAxisAndAngle(R, 1, 0, 0, M_PI / 2); // its axis is y
        dBodySetRotation(body, R);
        dBodySetLinearVel(body, speed, 0, 0);
        dBodySetAngularVel(body, 0, speed / radius, 0);
        for (int i = 0; i < 100; i++) {
            go(&s);
            const dReal *v = dBodyGetLinearVel(body), *at = dBodyGetPosition(body);
            ck_assert_double_eq_tol(v[0], speed, 1e-5);
            ck_assert_double_eq_tol(v[1], 0, 1e-5);
            ck_assert_double_eq_tol(v[2], 0, 1e-4);
            ck_assert_double_eq_tol(at[2], radius, 2 * epsilon);
        }
        ck_assert_double_eq_tol(dBodyGetPosition(body)[1], side[_i], 2 * epsilon);
        ck_assert_double_eq(stats_of(&s).stalled, 0);
        ck_assert_int_le(stats_of(&s).substeps, 110);
        close_scene(&s);
    }
}
END_TEST

// ---- hills

// The height of the terrain, whose cells have a diagonal from (0, 1) to (1, 0): ODE's two
// triangles.
static double ground_at(double x, double y)
{
    double cell = width / (SAMPLES - 1), u = (x + width / 2) / cell, v = (-y + width / 2) / cell;
    int i = (int)floor(u), j = (int)floor(v);
    double a = sample(NULL, i, j), b = sample(NULL, i + 1, j), c = sample(NULL, i, j + 1),
           d = sample(NULL, i + 1, j + 1);
    u -= i;
    v -= j;
    return u + v < 1 ? a + u * (b - a) + v * (c - a) : d + (1 - u) * (c - d) + (1 - v) * (b - d);
}

// Least height of the surface of the geom above the ground, of many of its points.
static double clearance(dGeomID geom)
{
    enum { AROUND = 24, ALONG = 12 };
    double least = INFINITY;
    dVector3 side = {0, 0, 0}, at;
    dReal r = 0, l = 0;
    int class = dGeomGetClass(geom);
    if (class == dBoxClass) {
        dGeomBoxGetLengths(geom, side);
    } else if (class == dCapsuleClass) {
        dGeomCapsuleGetParams(geom, &r, &l);
    } else if (class == dCylinderClass) {
        dGeomCylinderGetParams(geom, &r, &l);
    } else {
        r = dGeomSphereGetRadius(geom);
    }
    for (int i = 0; i < AROUND; i++) {
        for (int j = 0; j <= ALONG; j++) {
            double turn = 2 * M_PI * i / AROUND, up = 2.0 * j / ALONG - 1, p[3];
            if (class == dBoxClass) {
                double u = i % 5 / 2.0 - 1, v = j % 5 / 2.0 - 1;
                int axis = i % 3;
                p[axis] = 0.5 * side[axis] * (i % 2 ? 1 : -1);
                p[(axis + 1) % 3] = 0.5 * side[(axis + 1) % 3] * u;
                p[(axis + 2) % 3] = 0.5 * side[(axis + 2) % 3] * v;
            } else {
                double round = class == dCylinderClass ? 1 : sqrt(1 - up * up);
                p[0] = r * round * cos(turn);
                p[1] = r * round * sin(turn);
                p[2] = class == dCylinderClass ? 0.5 * l * up : r * up + copysign(0.5 * l, up);
            }
            dBodyGetRelPointPos(dGeomGetBody(geom), p[0], p[1], p[2], at);
            least = fmin(least, at[2] - ground_at(at[0], at[1]));
        }
    }
    return least;
}

START_TEST(bodies_come_to_rest_on_hills)
{
    enum { BODIES = 8 };
    scene s = open_scene(0.8);
    dGeomID geom[BODIES];
    add_hills(&s);
    s.rho = 0.08;
    for (int i = 0; i < BODIES; i++) {
        geom[i] = i % 4 == 0   ? dCreateBox(s.space, 0.3, 0.4, 0.2)
                  : i % 4 == 1 ? dCreateCapsule(s.space, 0.12, 0.3)
                  : i % 4 == 2 ? dCreateCylinder(s.space, 0.15, 0.3)
                               : dCreateSphere(s.space, 0.15);
        dBodyID body = add_body(&s, geom[i], i % 4 - 1.4, i < 4 ? -0.9 : 0.9, 0.7 + 0.02 * i);
        dMatrix3 R;
        dRFromAxisAndAngle(R, 1, 0.3 * i, 0.5, 0.4 * i);
        dBodySetRotation(body, R);
    }
    for (int i = 0; i < 300; i++) {
        go(&s);
        for (int k = 0; k < BODIES; k++) {
            ck_assert_double_ge(clearance(geom[k]), -1e-9);
        }
    }
    for (int k = 0; k < BODIES; k++) {
        ck_assert_double_lt(kinetic_energy(dGeomGetBody(geom[k])), 1e-6);
        ck_assert_double_lt(clearance(geom[k]), 5e-3); // of the points that it looks at
    }
    ck_assert_int_eq(stats_of(&s).overlaps, 0);
    ck_assert_double_le(stats_of(&s).stalled, 0.01);
    close_scene(&s);
}
END_TEST

// ---- inside

// A box that starts in the floor, upright or askew, comes up, slower than it would fall so far.
START_TEST(bodies_inside_a_mesh_leave_by_the_front)
{
    static const double turn[] = {0, 0, 0.5, 1.2, 0, 0.3},
                        depth[] = {0.05, 0.1, 0.1, 0.12, 0.15, 0.17};
    scene s = open_scene(0.5);
    dWorldSetERP(s.world, 0.2);
    add_floor(&s, 20, 20, -1, -1, 0.1);
    dGeomID geom = dCreateBox(s.space, 0.3, 0.25, 0.2);
    dBodyID box = add_body(&s, geom, 0.03, 0.02, 0.1 - depth[_i]);
    dMatrix3 R;
    dRFromAxisAndAngle(R, 1, 0.4, 0.2, turn[_i]);
    dBodySetRotation(box, R);
    double lowest = dBodyGetPosition(box)[2], most = lowest;
    for (int i = 0; i < 200; i++) {
        go(&s);
        double z = dBodyGetPosition(box)[2];
        ck_assert_double_ge(z, lowest - 1e-3);
        most = fmax(most, z);
        if (turn[_i] == 0) { // the whole of it, a share of what is left each time
            ck_assert_double_eq_tol(0.1 - z, depth[_i] * pow(1 - 0.2, i + 1), 1e-5);
        }
        // The kinetic energy is at most that of the fall from its highest position.
        ck_assert_double_le(kinetic_energy(box), gravity * (most - z) + 1e-3);
    }
    dReal bounds[6];
    dGeomGetAABB(geom, bounds);
    ck_assert_double_ge(bounds[4], -1e-4);
    ck_assert_double_le(bounds[4], 1e-3);
    ck_assert_double_lt(kinetic_energy(box), 1e-3);
    close_scene(&s);
}
END_TEST

// ---- walls

// A closed wall of two sides: what is in it from the one is not held by the other.
static dGeomID add_wall(scene *s, double thick)
{
    static const dTriIndex face[] = {0, 1, 3, 0, 3, 2, 4, 6, 7, 4, 7, 5, 0, 4, 5, 0, 5, 1,
                                     2, 3, 7, 2, 7, 6, 0, 2, 6, 0, 6, 4, 1, 5, 7, 1, 7, 3};
    s->vertex = calloc(24, sizeof *s->vertex);
    s->index = calloc(36, sizeof *s->index);
    ck_assert_ptr_nonnull(s->vertex);
    ck_assert_ptr_nonnull(s->index);
    for (int i = 0; i < 8; i++) { // 4 is x, 2 is y, 1 is z
        s->vertex[3 * i] = (float)(i & 4 ? thick / 2 : -thick / 2);
        s->vertex[3 * i + 1] = i & 2 ? 0.5F : -0.5F;
        s->vertex[3 * i + 2] = i & 1 ? 0.5F : -0.5F;
    }
    memcpy(s->index, face, sizeof face);
    s->data = dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildSingle(s->data, s->vertex, 3 * sizeof(float), 8, s->index, 36,
                                3 * sizeof(dTriIndex));
    return dCreateTriMesh(s->space, s->data, NULL, NULL, NULL);
}

START_TEST(bodies_in_a_wall_go_back)
{
    scene s = open_scene(0.5);
    dWorldSetGravity(s.world, 0, 0, 0);
    add_wall(&s, 0.01);
    double side = _i % 2 ? -1 : 1, radius = 0.1, at = 0.035;
    dGeomID geom = _i < 2   ? dCreateSphere(s.space, radius)
                   : _i < 4 ? dCreateBox(s.space, 2 * radius, 0.15, 0.17)
                            : dCreateCylinder(s.space, 0.08, 2 * radius);
    dBodyID body = add_body(&s, geom, side * at, 0.03, 0.07);
    dMatrix3 R;
    dRFromAxisAndAngle(R, 0, 1, 0, _i < 4 ? 0 : M_PI / 2);
    dBodySetRotation(body, R);
    for (int i = 0; i < 80; i++) {
        double before = side * dBodyGetPosition(body)[0];
        go(&s);
        ck_assert_double_ge(side * dBodyGetPosition(body)[0], before - 1e-9);
        ck_assert_double_lt(kinetic_energy(body), 1e-9);
    }
    ck_assert_double_eq_tol(side * dBodyGetPosition(body)[0], radius + 0.005, 25 * epsilon);
    close_scene(&s);
}
END_TEST

START_TEST(fast_balls_do_not_pass_a_wall)
{
    static const double aim[][2] = {{0, 0}, {0.01, 0.02}, {0.1, 0.1}, {0.033, 0.05}};
    scene s = open_scene(0.5);
    dGeomID wall = add_floor(&s, 10, 10, -0.5, -0.5, 0.1);
    dWorldSetGravity(s.world, 0, 0, 0);
    dMatrix3 R;
    dRFromAxisAndAngle(R, 0, 1, 0, M_PI / 2); // faces x
    dGeomSetRotation(wall, R);
    bool back = _i >= 4; // from there no less
    dBodyID ball = add_body(&s, dCreateSphere(s.space, 0.02), back ? -1.234 : 1.234, aim[_i % 4][0],
                            aim[_i % 4][1]);
    dBodySetLinearVel(ball, back ? 100 : -100, 0, 0);
    for (int i = 0; i < 20; i++) {
        go(&s);
        double x = dBodyGetPosition(ball)[0];
        ck_assert_double_ge(back ? -x : x, 0.02);
    }
    ck_assert_double_le(fabs(dBodyGetPosition(ball)[0]), 0.02 + 25 * epsilon);
    close_scene(&s);
}
END_TEST

// ---- bounces

static dGeomID shape_of(dSpaceID space, int kind)
{
    switch (kind) {
    case 0:
        return dCreateSphere(space, 0.2);
    case 1:
        return dCreateBox(space, 0.4, 0.4, 0.4);
    case 2:
        return dCreateCapsule(space, 0.2, 0.3);
    case 3:
        return dCreateCylinder(space, 0.2, 0.4);
    default:
        return dCreateCylinder(space, 0.15, 0.4); // upright
    }
}

static dGeomID flat_field(scene *s)
{
    static const double level[81];
    s->heights = dGeomHeightfieldDataCreate();
    dGeomHeightfieldDataBuildDouble(s->heights, level, 0, width, width, 9, 9, 1, 0, 0.5, 0);
    dGeomID field = dCreateHeightfield(s->space, s->heights, 1);
    dMatrix3 R;
    dRFromAxisAndAngle(R, 1, 0, 0, M_PI / 2);
    dGeomSetRotation(field, R);
    return field;
}

// All corners of what lands flat are hit at once, however many triangles they are on: it bounces
// upright.
START_TEST(flat_bounces_stay_upright)
{
    const bool exact = _i < 4; // the impulses of method=advance have its solver's tolerance
    for (int i = 0; i < 4; i++) {
        scene s = open_scene(0.5);
        const int kind = _i % 4 + 1;
        s.bounce = i < 2 ? 0.8 : 0.95;
        ck_assert(sprag_world_configure(s.world, exact ? "method=ess" : "method=advance"));
        if (i % 2) {
            add_floor(&s, 8, 8, -2, -2, 0.5);
        } else {
            flat_field(&s);
        }
        dBodyID body = add_body(&s, shape_of(s.space, kind), 0.13, 0.21, 1);
        dMatrix3 R;
        dRFromAxisAndAngle(R, 1, 0, 0, kind == 2 || kind == 3 ? M_PI / 2 : 0);
        dBodySetRotation(body, R);
        for (int k = 0; k < 300; k++) {
            go(&s);
            const dReal *at = dBodyGetPosition(body), *spin = dBodyGetAngularVel(body);
            ck_assert_double_le(hypot(at[0] - 0.13, at[1] - 0.21), exact ? 1e-6 : 2e-5);
            ck_assert_double_le(dCalcVectorLength3(spin), exact ? 1e-6 : 1e-4);
        }
        close_scene(&s);
    }
}
END_TEST

// Drops a body of 1 kg, turned and faster each time, at its place: no step wins more (J).
static void fall_in_turn(scene *s, dBodyID body, double x, double z, double most)
{
    for (int i = 0; i < 20; i++) {
        dMatrix3 R;
        dRFromAxisAndAngle(R, 1, 0.3 * i - 2, 0.7, 0.3 + 0.3 * i);
        dBodySetRotation(body, R);
        dBodySetPosition(body, x + 0.023 * i, 0.017 * i, z);
        dBodySetLinearVel(body, 0, 0, -0.15 * i);
        dBodySetAngularVel(body, 0, 0, 0);
        double before = INFINITY;
        for (int k = 0; k < 100; k++) {
            go(s);
            const double now = kinetic_energy(body) + gravity * dBodyGetPosition(body)[2];
            ck_assert_double_le(now, before + most);
            before = now;
        }
    }
}

// A cube that is hardly tilted touches with all corners of a face: on three it would rock for ever.
static void touches_with_four(scene *s, dBodyID body)
{
    for (double tilt = 1e-5; tilt < 0.03; tilt *= 3) {
        dMatrix3 R;
        dRFromAxisAndAngle(R, 1, 0.3, 0, tilt);
        dBodySetRotation(body, R);
        dBodySetPosition(body, 0, 0, 0.19);
        dBodySetLinearVel(body, 0, 0, 0);
        dBodySetAngularVel(body, 0, 0, 0);
        go(s);
        ck_assert_int_ge(stats_of(s).contacts, 4);
    }
}

static dBodyID add_block(scene *s, const double size[3], double x, double y, double z)
{
    static float corner[24];
    static const dTriIndex face[36] = {4, 5, 6, 4, 6, 7, 0, 2, 1, 0, 3, 2, 0, 1, 5, 0, 5, 4,
                                       1, 2, 6, 1, 6, 5, 2, 3, 7, 2, 7, 6, 3, 0, 4, 3, 4, 7};
    for (int i = 0; i < 8 && !s->block; i++) {
        const bool side[3] = {i % 4 == 1 || i % 4 == 2, i % 4 > 1, i > 3};
        for (int k = 0; k < 3; k++) {
            corner[3 * i + k] =
                (float)(side[k] != (s->mirrored && k == 0) ? size[k] / 2 : -size[k] / 2);
        }
    }
    if (!s->block) {
        s->block = dGeomTriMeshDataCreate();
        dGeomTriMeshDataBuildSingle(s->block, corner, 12, 8, face, 36, 12);
        dGeomTriMeshDataPreprocess2(s->block, 1U << dTRIDATAPREPROCESS_BUILD_FACE_ANGLES, NULL);
    }
    dBodyID body = add_body(s, dCreateBox(s->space, size[0], size[1], size[2]), x, y, z);
    dGeomDestroy(dBodyGetFirstGeom(body));
    dGeomSetBody(dCreateTriMesh(s->space, s->block, NULL, NULL, NULL), body);
    return body;
}

// A mesh that falls on a plane, on a box much larger than itself, or on boxes of its own size, wins
// no energy, however it lands: each of its triangles is moved out where it overlaps, not across a
// box, and one that touches at an edge to a level neighbour is not moved at all.
START_TEST(cubes_of_triangles_fall)
{
    const int tiles = _i % 3 == 1 ? 7 : 1;
    const double wide = tiles > 1 ? 0.5 : 10;
    scene s = open_scene(0.5);
    s.mirrored = _i > 5;
    ck_assert(sprag_world_configure(s.world, _i % 6 < 3 ? "method=stribeck" : "method=advance"));
    for (int i = 0; i < tiles * tiles && _i % 3 < 2; i++) {
        dGeomSetPosition(dCreateBox(s.space, wide, wide, 1), wide * (i % tiles - tiles / 2),
                         wide * (i / tiles - tiles / 2), -0.5);
    }
    if (_i % 3 == 2) {
        dCreatePlane(s.space, 0, 0, 1, 0);
    }
    const double size[3] = {0.4, 0.4, 0.4};
    dBodyID body = add_block(&s, size, 0, 0, 1);
    fall_in_turn(&s, body, 0, 0.6, tiles > 1 ? 0.05 : 0.02);
    if (_i == 0) {
        touches_with_four(&s, body);
    }
    close_scene(&s);
}
END_TEST

// At the edge of two faces, what is beneath both leaves by the nearer one, and what is beside one,
// over the other, is not beneath it: bodies that fall on stairs win no energy. Neither do those
// that come to stairs from behind the triangles.
START_TEST(bodies_fall_on_stairs_of_triangles)
{
    enum { STEPS = 30 };
    scene s = open_scene(0.5);
    ck_assert(sprag_world_configure(s.world, "method=stribeck"));
    s.vertex = calloc(STEPS * 12, sizeof *s.vertex);
    s.index = calloc(STEPS * 12, sizeof *s.index);
    ck_assert_ptr_nonnull(s.vertex);
    ck_assert_ptr_nonnull(s.index);
    for (int i = 0; i < 4 * STEPS; i++) { // below and above each front
        s.vertex[3 * i] = 0.25F * (float)(i / 4 - STEPS / 2);
        s.vertex[3 * i + 1] = i % 2 ? 5 : -5;
        s.vertex[3 * i + 2] = 0.1F * (float)(i / 4 - STEPS / 2 + i % 4 / 2);
    }
    for (int i = 0; i < 4 * (STEPS - 1) + 2; i += 2) {
        const dTriIndex a = (dTriIndex)i, up[] = {a, a + 2, a + 1, a + 1, a + 2, a + 3},
                        down[] = {a, a + 1, a + 2, a + 1, a + 3, a + 2};
        memcpy(s.index + 3 * i, _i < 4 ? up : down, sizeof up);
    }
    build_mesh(&s, 4 * STEPS, 4 * (STEPS - 1) + 2);
    dGeomID geom = _i % 4 == 0 ? dCreateSphere(s.space, 0.12)
                   : _i == 1   ? dCreateBox(s.space, 0.25, 0.3, 0.2)
                   : _i == 2   ? dCreateCylinder(s.space, 0.12, 0.3)
                               : dCreateCapsule(s.space, 0.1, 0.3);
    fall_in_turn(&s, add_body(&s, geom, 0, 0, 2), -0.2, 0.6, 0.05);
    close_scene(&s);
}
END_TEST

// A floor stops what comes from the back of its triangles, also fast, and what is laid on it there.
START_TEST(floors_have_a_back)
{
    scene s = open_scene(0.5);
    ck_assert(sprag_world_configure(s.world, "method=stribeck"));
    dMatrix3 R;
    dRFromAxisAndAngle(R, 1, 0, 0, M_PI);
    dGeomSetRotation(add_floor(&s, 4, 4, -4, -4, 2), R);
    dGeomID geom = _i % 2 ? dCreateSphere(s.space, 0.1) : dCreateBox(s.space, 0.2, 0.2, 0.2);
    dBodyID body = add_body(&s, geom, 0.3, 0.1, _i < 2 ? 0.6 : 0.097);
    dBodySetLinearVel(body, 0, 0, _i < 2 ? -10 : 0);
    for (int i = 0; i < 100; i++) {
        go(&s);
        ck_assert_double_gt(dBodyGetPosition(body)[2], 0);
    }
    ck_assert_double_eq_tol(dBodyGetPosition(body)[2], 0.1, 1e-4);
    close_scene(&s);
}
END_TEST

// ---- dCollide under method=stribeck

static scene open_stribeck_scene(void)
{
    scene s = open_scene(0.5);
    ck_assert(sprag_world_configure(s.world, "method=stribeck"));
    return s;
}

static int touch_now(dGeomID a, dGeomID b, dContactGeom *contact)
{
    return dCollide(a, b, 16, contact, sizeof *contact);
}

// Over cells that are much smaller than a box, its corners are the contacts, each as deep as it is,
// also where that is deeper than a cell is wide; at the rim of the mesh those on it.
START_TEST(fine_flat_meshes_are_planes)
{
    scene s = open_stribeck_scene();
    dContactGeom contact[16];
    dGeomID floor = add_floor(&s, 40, 40, -1, -1, 0.05);
    dGeomID geom = dCreateBox(s.space, 0.6, 0.4, 0.2);
    dBodyID box = add_body(&s, geom, 0.017, 0.023, 0.5);
    go(&s);
    for (int i = 0; i < 4; i++) {
        const double depth = i % 2 ? 1e-5 : 0.07;
        dMatrix3 R;
        dRFromAxisAndAngle(R, 0, 0, 1, 0.3 * i);
        dBodySetPosition(box, 0.017, 0.023, 0.1 - depth);
        dBodySetRotation(box, R);
        ck_assert_int_eq(touch_now(geom, floor, contact), 4);
        for (int k = 0; k < 4; k++) {
            dVector3 corner;
            dBodyGetPosRelPoint(box, contact[k].pos[0], contact[k].pos[1], contact[k].pos[2],
                                corner);
            ck_assert_double_eq_tol(contact[k].depth, depth, 1e-12);
            ck_assert_double_eq_tol(contact[k].normal[2], 1, 1e-12);
            ck_assert_double_eq_tol(fabs(corner[0]), 0.3, 1e-12);
            ck_assert_double_eq_tol(fabs(corner[1]), 0.2, 1e-12);
        }
    }
    dBodySetPosition(box, 1.1, 0.023, 0.1 - 1e-5);
    const int count = touch_now(geom, floor, contact);
    ck_assert_int_ge(count, 4);
    for (int k = 0; k < count; k++) {
        ck_assert_double_le(contact[k].pos[0], 1 + 1e-9);
        ck_assert_double_eq_tol(contact[k].normal[2], 1, 1e-6);
    }
    close_scene(&s);
}
END_TEST

// What is under a roof and clear of it, though near its triangles' boxes, does not touch it; what
// is half through it is pushed out by the front.
START_TEST(flat_meshes_are_thin)
{
    scene s = open_stribeck_scene();
    dContactGeom contact[16];
    dGeomID roof = add_floor(&s, 10, 10, -2, -2, 0.4);
    for (int i = 0; i < 121; i++) {
        s.vertex[3 * i + 2] = s.vertex[3 * i];
    }
    dGeomTriMeshDataUpdate(s.data);
    dGeomID geom[] = {dCreateSphere(s.space, 0.1), dCreateBox(s.space, 0.2, 0.2, 0.2),
                      dCreateCapsule(s.space, 0.05, 0.2), dCreateCylinder(s.space, 0.1, 0.2)};
    for (int i = 0; i < 4; i++) {
        dBodySetGravityMode(add_body(&s, geom[i], 0, 0, 5 + i), 0);
    }
    go(&s);
    for (int i = 0; i < 4; i++) {
        const double under = 0.17 / sqrt(2), through = 0.03 / sqrt(2);
        dGeomSetPosition(geom[i], 0.7 + under, 0.3, 0.7 - under);
        ck_assert_int_eq(touch_now(geom[i], roof, contact), 0);
        dGeomSetPosition(geom[i], 0.7 + through, 0.3, 0.7 - through);
        ck_assert_int_ge(touch_now(geom[i], roof, contact), 1);
        ck_assert_double_gt(contact[0].depth, 0.03);
        ck_assert_double_eq_tol(contact[0].normal[2], sqrt(0.5), 1e-6);
    }
    close_scene(&s);
}
END_TEST

// A bar that goes past the rim of a flat mesh, or through a hole of it, does not touch it, though
// its low end is beneath.
START_TEST(bars_pass_the_rim_of_flat_meshes)
{
    scene s = open_stribeck_scene();
    dContactGeom contact[16];
    dGeomID floor = add_floor(&s, 10, 10, -2, -2, 0.4);
    memset(s.index + 3 * 110, 0, 6 * sizeof *s.index); // the cell from (0, 0) on
    dGeomTriMeshDataUpdate(s.data);
    dGeomID geom[] = {dCreateBox(s.space, 0.04, 0.04, 1.2), dCreateCapsule(s.space, 0.02, 1.2),
                      dCreateCylinder(s.space, 0.02, 1.2)};
    dMatrix3 R;
    dRFromAxisAndAngle(R, 0, 1, 0, M_PI / 3);
    for (int i = 0; i < 3; i++) {
        dBodySetRotation(add_body(&s, geom[i], 0, 0, 5 + i), R);
    }
    go(&s);
    for (int i = 0; i < 3; i++) {
        dGeomSetPosition(geom[i], 2.1, 0.2, 0);
        ck_assert_int_eq(touch_now(geom[i], floor, contact), 0);
        dGeomSetPosition(geom[i], 0.2, 0.2, 0);
        ck_assert_int_eq(touch_now(geom[i], floor, contact), 0);
        dGeomSetPosition(geom[i], 1.4, 0.2, 0);
        ck_assert_int_ge(touch_now(geom[i], floor, contact), 1);
        ck_assert_double_gt(contact[0].depth, 0.3);
    }
    close_scene(&s);
}
END_TEST

// It has stepped once.
static dBodyID add_ball_in_floor(scene *s)
{
    dBodyID ball = add_body(s, dCreateSphere(s->space, 0.5), 0.2, 0.3, 0.4);
    go(s);
    return ball;
}

// Blocks of triangles on each other, and on a mesh, rest as boxes do: turned by any angle, across
// each other where no corner of one is in the other, and turned inside out.
START_TEST(blocks_of_triangles_rest)
{
    const bool across = _i % 2 == 1;
    const double size[3] = {across ? 1 : 0.25, 0.25, 0.25}, h = _i % 4 < 2 ? 0.01 : 0.001;
    dBodyID block[5];
    dQuaternion q;
    scene s = open_stribeck_scene();
    s.mirrored = _i > 3;
    add_floor(&s, 16, 16, -2, -2, 0.25);
    for (int i = 0; i < 5; i++) {
        block[i] = add_block(&s, size, 0.013 * (i % 2), 0.004 * i, 0.125 + 0.2502 * i);
        dQFromAxisAndAngle(q, 0, 0, 1, (across ? acos(0) : 0.3) * i);
        dBodySetQuaternion(block[i], q);
    }
    for (int i = 0; i < 1 / h; i++) {
        dSpaceCollide(s.space, &s, touch);
        dWorldStep(s.world, h);
        dJointGroupEmpty(s.group);
    }
    for (int i = 0; i < 5; i++) {
        ck_assert_double_eq_tol(dBodyGetPosition(block[i])[2], 0.125 + 0.25 * i, 2e-4);
        ck_assert_double_le(dCalcVectorLength3(dBodyGetLinearVel(block[i])), 1e-6);
        ck_assert_double_le(dCalcVectorLength3(dBodyGetAngularVel(block[i])), 1e-6);
    }
    close_scene(&s);
}
END_TEST

// Two triangles have no size, by which a first look ahead is measured: steps of 1 ms never ended.
START_TEST(meshes_touch_ahead)
{
    const double size[3] = {0.25, 0.25, 0.25};
    scene s = open_stribeck_scene();
    ck_assert(sprag_world_configure(s.world, "stribeck.speculative=1"));
    add_floor(&s, 4, 4, -2, -2, 1);
    dBodyID block = add_block(&s, size, 0.2, 0.1, 0.1255);
    for (int i = 0; i < 100; i++) {
        dSpaceCollide(s.space, &s, touch);
        dWorldStep(s.world, 0.001);
        dJointGroupEmpty(s.group);
    }
    ck_assert_double_eq_tol(dBodyGetPosition(block)[2], 0.125, 1e-5);
    close_scene(&s);
}
END_TEST

// A mesh that the program deforms, and tells ODE of, is as it is now: after a step, in a
// dSpaceCollide, and between two questions; in one place, too, and where it is built anew.
START_TEST(deformed_meshes_are_noticed)
{
    scene s = open_stribeck_scene();
    dContactGeom contact[16];
    dGeomID floor = add_floor(&s, 4, 4, -2, -2, 1);
    dBodyID ball = add_ball_in_floor(&s);
    dGeomID geom = dBodyGetFirstGeom(ball);
    for (int i = 1; i < 6; i++) {
        for (int k = 0; k < 25; k++) {
            s.vertex[3 * k + 2] = 0.125F * (float)i;
        }
        dGeomTriMeshDataUpdate(s.data);
        dBodySetPosition(ball, 0.2, 0.3, 0.4 + 0.125 * i);
        if (i % 3 == 1) {
            dWorldStep(s.world, 1e-9);
        } else if (i % 3 == 2) {
            dSpaceCollide(s.space, &s, touch);
            dJointGroupEmpty(s.group);
        }
        ck_assert_int_eq(touch_now(geom, floor, contact), 1);
        ck_assert_double_eq_tol(contact[0].depth, 0.1, 1e-6);
    }
    for (int i = 0; i < 3; i++) { // the corner at (0, 0) of a larger mesh, which sprag samples
        dGeomDestroy(floor);
        dGeomTriMeshDataDestroy(s.data);
        free(s.vertex);
        free(s.index);
        floor = add_floor(&s, 20, 20, -10, -10, 1);
        dBodySetPosition(ball, 0, 0, 0.6);
        ck_assert_int_eq(touch_now(geom, floor, contact), 0);
        s.vertex[3 * 220 + 2] = 0.5F;
        if (i == 0) {
            dGeomTriMeshDataUpdate(s.data);
        } else if (i == 1) {
            dGeomTriMeshDataBuildSingle(s.data, s.vertex, 3 * sizeof(float), 441, s.index, 2400,
                                        3 * sizeof(dTriIndex));
        } else {
            dGeomTriMeshDataBuildSingle1(s.data, s.vertex, 3 * sizeof(float), 441, s.index, 2400,
                                         3 * sizeof(dTriIndex), NULL);
        }
        ck_assert_int_ge(touch_now(geom, floor, contact), 1);
        ck_assert_double_eq_tol(contact[0].depth, 0.4, 1e-6);
    }
    close_scene(&s);
}
END_TEST

// Between two steps, too, a mesh is not taken for one that was destroyed, in whose memory it may
// be.
START_TEST(new_meshes_are_noticed)
{
    scene s = open_stribeck_scene();
    dContactGeom contact[16];
    dGeomID floor = add_floor(&s, 4, 4, -2, -2, 1);
    dBodyID ball = add_ball_in_floor(&s);
    dGeomID geom = dBodyGetFirstGeom(ball);
    dBodySetPosition(ball, 0.2, 0.3, 0.4);
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(touch_now(geom, floor, contact), 1);
        ck_assert_double_eq_tol(contact[0].depth, 0.1 + 0.0625 * i, 1e-6);
        dGeomDestroy(floor);
        dGeomTriMeshDataDestroy(s.data);
        for (int k = 0; k < 25; k++) {
            s.vertex[3 * k + 2] += 0.0625F;
        }
        floor = build_mesh(&s, 25, 32);
    }
    close_scene(&s);
}
END_TEST

int main(void)
{
    start_ode();
    Suite *suite = suite_create("meshes");
    TCase *all = ADD_TESTS(
        suite, "all", {boxes_slide_over_seams, 6}, {balls_and_capsules_roll_over_seams, 3},
        {bodies_come_to_rest_on_hills, 1}, {bodies_inside_a_mesh_leave_by_the_front, 6},
        {fast_balls_do_not_pass_a_wall, 8}, {bodies_in_a_wall_go_back, 6},
        {flat_bounces_stay_upright, 8}, {cubes_of_triangles_fall, 12},
        {bodies_fall_on_stairs_of_triangles, 6}, {floors_have_a_back, 4},
        {blocks_of_triangles_rest, 8}, {meshes_touch_ahead, 1}, {fine_flat_meshes_are_planes, 1},
        {flat_meshes_are_thin, 1}, {bars_pass_the_rim_of_flat_meshes, 1},
        {deformed_meshes_are_noticed, 1}, {new_meshes_are_noticed, 1});
    tcase_set_timeout(all, 60);
    return run_suite(suite);
}
