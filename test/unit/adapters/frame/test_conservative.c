// method=advance, as an ODE program sees it: what rests, slides, bounces and turns does so as it
// must, nothing penetrates, and what else a step of ODE does is done.
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chance.h"
#include "collide.h"
#include "linalg.h"
#include "start.h"
#include "suite.h"
#include "worlds.h"

static const double G = 9.81;
static const double STEP = 0.01;   // s
static const double REST = 0.5e-6; // m, gap of what rests

enum { MOST = 64, EVENTS = 64 };

// ---- a program

typedef struct scene {
    dWorldID world;
    dSpaceID space;
    dJointGroupID group;
    dSurfaceParameters surface;
    dVector3 along;
    bool declines, empties_late;
    int calls; // of the callback
    dJointFeedback feedback[MOST];
    int joints;                      // of this frame
    sprag_world_event event[EVENTS]; // of this frame
    int events;
    double touched; // s, when the first contact was made; negative: not yet
    long frames;
} scene;

static scene *open_scene(const char *options)
{
    scene *s = calloc(1, sizeof *s);
    ck_assert_ptr_nonnull(s);
    s->world = dWorldCreate();
    s->space = dHashSpaceCreate(NULL);
    s->group = dJointGroupCreate(0);
    s->surface = (dSurfaceParameters){.mode = dContactApprox1, .mu = 0.5};
    s->touched = -1;
    dWorldSetGravity(s->world, 0, 0, -G);
    ck_assert_msg(sprag_world_configure(s->world, options), "%s", sprag_error());
    return s;
}

// Whatever the scene, stock had nothing to do.
static void close_scene(scene *s)
{
    sprag_world_statistics stats;
    sprag_world_stats(s->world, &stats);
    ck_assert_int_eq(stats.fallbacks, 0);
    dJointGroupDestroy(s->group);
    dSpaceDestroy(s->space);
    dWorldDestroy(s->world);
    free(s);
}

static void touch(void *data, dGeomID a, dGeomID b)
{
    scene *s = data;
    dContactGeom geom[8];
    if (dGeomIsSpace(a) || dGeomIsSpace(b)) {
        dSpaceCollide2(a, b, data, touch);
        return;
    }
    s->calls++;
    int count = dCollide(a, b, 8, geom, sizeof geom[0]);
    for (int i = 0; i < count && !s->declines; i++) {
        dContact contact = {.geom = geom[i], .surface = s->surface};
        memcpy(contact.fdir1, s->along, sizeof contact.fdir1);
        dJointID joint = dJointCreateContact(s->world, s->group, &contact);
        dJointAttach(joint, dGeomGetBody(a), dGeomGetBody(b));
        if (s->joints < MOST) {
            memset(&s->feedback[s->joints], 0, sizeof s->feedback[0]);
            dJointSetFeedback(joint, &s->feedback[s->joints++]);
        }
    }
}

static void step(scene *s)
{
    dJointGroupEmpty(s->group);
    s->joints = 0;
    dSpaceCollide(s->space, s, touch);
    ck_assert_int_eq(dWorldStep(s->world, STEP), 1);
    s->events = sprag_world_events(s->world, s->event, EVENTS);
    for (int i = 0; i < s->events && i < EVENTS && s->touched < 0; i++) {
        if (s->event[i].kind == SPRAG_EVENT_CONTACT_MADE) {
            s->touched = (double)s->frames * STEP + s->event[i].time;
        }
    }
    s->frames++;
    if (s->empties_late) {
        dJointGroupEmpty(s->group);
    }
}

static void run(scene *s, int frames)
{
    for (int i = 0; i < frames; i++) {
        step(s);
    }
}

static sprag_world_statistics stats_of(const scene *s)
{
    sprag_world_statistics stats;
    ck_assert_int_eq(sprag_world_stats(s->world, &stats), 1);
    return stats;
}

static dBodyID body_at(scene *s, dGeomID geom, double x, double y, double z) // 2 kg
{
    dMass mass;
    dBodyID body = dBodyCreate(s->world);
    switch (dGeomGetClass(geom)) {
    case dSphereClass:
        dMassSetSphereTotal(&mass, 2, dGeomSphereGetRadius(geom));
        break;
    case dBoxClass: {
        dVector3 side;
        dGeomBoxGetLengths(geom, side);
        dMassSetBoxTotal(&mass, 2, side[0], side[1], side[2]);
        break;
    }
    default:
        dMassSetBoxTotal(&mass, 2, 0.5, 0.5, 0.5);
        break;
    }
    dBodySetMass(body, &mass);
    dGeomSetBody(geom, body);
    dBodySetPosition(body, x, y, z);
    return body;
}

static dBodyID add_box(scene *s, double x, double y, double z)
{
    return body_at(s, dCreateBox(s->space, 1, 1, 1), x, y, z);
}

static dBodyID add_ball(scene *s, double x, double y, double z, double radius)
{
    return body_at(s, dCreateSphere(s->space, radius), x, y, z);
}

static void add_floor(scene *s)
{
    dCreatePlane(s->space, 0, 0, 1, 0);
}

static double height(dBodyID body)
{
    return dBodyGetPosition(body)[2];
}

static double speed(dBodyID body)
{
    return norm3(dBodyGetLinearVel(body)) + norm3(dBodyGetAngularVel(body));
}

// ---- rest

// Every shape, from a fall and from where it rests; the program may empty its contacts early or
// late. Their feedback is the weight.
typedef struct shape {
    int class;
    bool lies;
    double rest; // m, height of the centre
} shape;

static const shape shapes[] = {
    {dBoxClass, false, 0.5},       {dSphereClass, false, 0.3},  {dCapsuleClass, true, 0.2},
    {dCylinderClass, false, 0.25}, {dCylinderClass, true, 0.2},
};

enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static dBodyID add_shape(scene *s, const shape *shape, double z)
{
    dGeomID geom = shape->class == dBoxClass       ? dCreateBox(s->space, 1, 1, 1)
                   : shape->class == dSphereClass  ? dCreateSphere(s->space, 0.3)
                   : shape->class == dCapsuleClass ? dCreateCapsule(s->space, 0.2, 0.5)
                                                   : dCreateCylinder(s->space, 0.2, 0.5);
    dBodyID body = body_at(s, geom, 0, 0, z);
    if (shape->lies) {
        dMatrix3 R;
        dRFromAxisAndAngle(R, 0, 1, 0, M_PI / 2);
        dBodySetRotation(body, R);
    }
    return body;
}

START_TEST(shapes_rest)
{
    const shape *shape = &shapes[_i % SHAPES];
    bool falls = _i / SHAPES % 2;
    scene *s = open_scene("method=advance");
    s->empties_late = _i / SHAPES / 2;
    add_floor(s);
    dBodyID body = add_shape(s, shape, shape->rest + (falls ? 0.2 : REST));
    for (int i = 0; i < 100; i++) {
        step(s);
        ck_assert_double_gt(height(body), shape->rest);
    }
    ck_assert_double_lt(speed(body), 1e-6);
    ck_assert_double_eq_tol(height(body), shape->rest + REST, 1e-7);
    double force = 0;
    ck_assert_int_gt(s->joints, 0);
    for (int i = 0; i < s->joints; i++) {
        force += s->feedback[i].f1[2];
    }
    if (!s->empties_late) {
        ck_assert_double_eq_tol(fabs(force), 2 * G, 1e-4);
    }
    sprag_world_statistics stats = stats_of(s);
    ck_assert_int_eq(stats.events[SPRAG_EVENT_CONTACT_MADE], 1);
    ck_assert_int_le(stats.substeps, 100 + 5);
    ck_assert_int_eq(stats.asked, falls);
    close_scene(s);
}
END_TEST

START_TEST(bodies_with_moved_geoms_rest)
{
    scene *s = open_scene("method=advance");
    add_floor(s);
    dGeomID geom = dCreateBox(s->space, 1, 1, 1);
    dBodyID body = body_at(s, geom, 0, 0, 0.5);
    dGeomSetOffsetPosition(geom, 0.1, 0, 0.3);
    run(s, 100);
    ck_assert_double_eq_tol(height(body), 0.2 + REST, 1e-7);
    ck_assert_double_lt(speed(body), 1e-6);
    close_scene(s);
}
END_TEST

START_TEST(inner_spaces_count)
{
    scene *s = open_scene("method=advance");
    dSpaceID inner = dSimpleSpaceCreate(s->space), other = dHashSpaceCreate(s->space),
             innermost = dHashSpaceCreate(other);
    dCreatePlane(inner, 0, 0, 1, 0);
    dBodyID body = body_at(s, dCreateBox(innermost, 1, 1, 1), 0, 0, 0.8);
    dBodyID top = add_box(s, 0, 0, 2);
    run(s, 100);
    ck_assert_double_eq_tol(height(body), 0.5 + REST, 1e-7);
    ck_assert_double_eq_tol(height(top), 1.5 + 2 * REST, 2e-7);
    close_scene(s);
}
END_TEST

// ---- meshes

static double meshed[11 * 11][3];
static dTriIndex corners[200 * 3];

static dGeomID add_mesh(scene *s, dTriMeshDataID *data) // 200 triangles, 10 m x 10 m
{
    int n = 0;
    for (int i = 0; i < 11 * 11; i++) {
        memcpy(meshed[i], (double[]){i % 11 - 5, i / 11 - 5, 0}, sizeof meshed[i]);
    }
    for (int i = 0; i < 100; i++) {
        dTriIndex a = (dTriIndex)(i / 10 * 11 + i % 10);
        const dTriIndex two[6] = {a, a + 1, a + 12, a, a + 12, a + 11};
        memcpy(corners + n, two, sizeof two);
        n += 6;
    }
    *data = dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildDouble(*data, meshed, sizeof meshed[0], 121, corners, n,
                                3 * sizeof corners[0]);
    return dCreateTriMesh(s->space, *data, NULL, NULL, NULL);
}

static dGeomID add_field(scene *s, dHeightfieldDataID *data) // likewise, y up turned to z
{
    static const double flat[11 * 11];
    dMatrix3 R;
    *data = dGeomHeightfieldDataCreate();
    dGeomHeightfieldDataBuildDouble(*data, flat, 0, 10, 10, 11, 11, 1, 0, 0.5, 0);
    dGeomHeightfieldDataSetBounds(*data, -1, 1);
    dGeomID field = dCreateHeightfield(s->space, *data, 1);
    dRFromAxisAndAngle(R, 1, 0, 0, M_PI / 2);
    dGeomSetRotation(field, R);
    return field;
}

// Falls, rests; is pushed, and crosses a few edges without noticing them.
START_TEST(meshes_are_flat)
{
    bool field = _i % 2, ball = _i / 2;
    scene *s = open_scene("method=advance");
    dTriMeshDataID mesh = NULL;
    dHeightfieldDataID data = NULL;
    dGeomID floor = field ? add_field(s, &data) : add_mesh(s, &mesh);
    s->surface.mu = 0;
    dBodyID body = ball ? add_ball(s, -2.2, 0.13, 0.8, 0.5) : add_box(s, -2.2, 0.13, 0.8);
    for (int i = 0; i < 60; i++) {
        step(s);
        ck_assert_double_gt(height(body), 0.5);
    }
    ck_assert_double_eq_tol(height(body), 0.5 + REST, 1e-7);
    ck_assert_double_lt(speed(body), 1e-6);
    long before = stats_of(s).substeps;
    dBodySetLinearVel(body, 2, 0.1, 0);
    for (int i = 0; i < 200; i++) {
        step(s);
        ck_assert_double_eq_tol(dBodyGetLinearVel(body)[0], 2, 1e-4);
        ck_assert_double_eq_tol(dBodyGetLinearVel(body)[1], 0.1, 1e-4);
        ck_assert_double_eq_tol(height(body), 0.5 + REST, 1e-5);
    }
    ck_assert_double_eq_tol(dBodyGetPosition(body)[0], 1.8, 1e-3);
    ck_assert_int_le(stats_of(s).substeps - before, 210);
    dGeomDestroy(floor);
    close_scene(s);
    if (field) {
        dGeomHeightfieldDataDestroy(data);
    } else {
        dGeomTriMeshDataDestroy(mesh);
    }
}
END_TEST

// ---- sleep

// Two equal boxes in free space, one asleep: what one loses the other gains, in the step of the
// hit.
START_TEST(what_sleeps_is_hit_and_not_run_into)
{
    scene *s = open_scene("method=advance");
    dWorldSetGravity(s->world, 0, 0, 0);
    dBodyID asleep = add_box(s, 0, 0, 0), other = add_box(s, -2, 0, 0);
    dBodyDisable(asleep);
    dBodySetLinearVel(other, 7, 0, 0);
    s->touched = -1;
    for (int i = 0; i < 50 && s->touched < 0; i++) {
        step(s);
    }
    ck_assert_double_ge(s->touched, 0);
    run(s, 2);
    ck_assert_int_eq(dBodyIsEnabled(asleep), 1);
    ck_assert_double_eq_tol(dBodyGetLinearVel(asleep)[0], 3.5, 1e-3);
    ck_assert_double_eq_tol(dBodyGetLinearVel(other)[0] + dBodyGetLinearVel(asleep)[0], 7, 1e-9);
    close_scene(s);
}
END_TEST

// What passes by at a distance wakes nobody.
START_TEST(what_sleeps_is_not_woken_from_afar)
{
    scene *s = open_scene("method=advance");
    dWorldSetGravity(s->world, 0, 0, 0);
    dBodyID asleep = add_box(s, 0, 0, 0), other = add_box(s, -5, 2, 0);
    dBodyDisable(asleep);
    dBodySetLinearVel(other, 7, 0, 0);
    run(s, 140);
    ck_assert_int_eq(dBodyIsEnabled(asleep), 0);
    close_scene(s);
}
END_TEST

START_TEST(sleeps_and_is_woken)
{
    scene *s = open_scene("method=advance");
    add_floor(s);
    dBodyID box = add_box(s, 0, 0, 0.55);
    dBodySetAutoDisableTime(box, 0.2);
    dBodySetAutoDisableSteps(box, 0);
    dBodySetAutoDisableFlag(box, 1);
    dBodyEnable(box); // sets its clock; ODE leaves it alone while there are no joints
    int awake = 0;
    for (; awake < 100 && dBodyIsEnabled(box); awake++) {
        step(s);
    }
    ck_assert_double_ge(awake * STEP, s->touched + 0.2);
    ck_assert_double_le(awake * STEP, s->touched + 0.23);
    run(s, 5);
    ck_assert_int_eq(dBodyIsEnabled(box), 0);
    ck_assert_double_eq_tol(height(box), 0.5 + REST, 1e-7);
    dBodyID ball = add_ball(s, 0, 0, 1.4, 0.2);
    s->touched = -1;
    for (int i = 0; i < 100 && s->touched < 0; i++) {
        step(s);
        ck_assert_double_gt(height(ball), 1.2);
    }
    ck_assert_double_ge(s->touched, 0);
    step(s);
    ck_assert_int_eq(dBodyIsEnabled(box), 1);
    run(s, 30);
    ck_assert_double_eq_tol(height(ball), 1.2 + 2 * REST, 2e-7);
    close_scene(s);
}
END_TEST

// What overlaps at the start is out before it sleeps: the push has no speed that ODE could see.
START_TEST(overlaps_end_before_sleep)
{
    scene *s = open_scene("method=advance");
    add_floor(s);
    dWorldSetERP(s->world, 0.05);
    dBodyID box[2] = {add_box(s, 0, 0, 0.49), add_box(s, 0.1, 0, 1.475)};
    for (int i = 0; i < 2; i++) {
        dBodySetAutoDisableSteps(box[i], 5);
        dBodySetAutoDisableFlag(box[i], 1);
        dBodyEnable(box[i]); // sets its clock
    }
    run(s, 300);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(dBodyIsEnabled(box[i]), 0);
        ck_assert_double_eq_tol(height(box[i]), 0.5 + i + (2 * i + 1) * REST, 1e-6);
        ck_assert_double_gt(height(box[i]), 0.5 + i);
    }
    close_scene(s);
}
END_TEST

static dBodyID put_to_bed[2];

static void puts_other_to_bed(dBodyID body)
{
    dBodyDisable(put_to_bed[body == put_to_bed[0]]);
}

// By the moved callback of another one, while it is pushed out of the floor.
START_TEST(overlap_does_not_wake)
{
    scene *s = open_scene("method=advance");
    add_floor(s);
    for (int i = 0; i < 2; i++) {
        put_to_bed[i] = add_ball(s, 3 * i, 0, 0.45, 0.5);
        dBodySetAutoDisableFlag(put_to_bed[i], 1);
        dBodySetMovedCallback(put_to_bed[i], puts_other_to_bed);
    }
    step(s);
    ck_assert_int_eq(stats_of(s).overlaps, 2);
    ck_assert(!dBodyIsEnabled(put_to_bed[0]) && !dBodyIsEnabled(put_to_bed[1]));
    close_scene(s);
}
END_TEST

// One that cannot come out sleeps where it is.
START_TEST(what_is_wedged_sleeps)
{
    scene *s = open_scene("method=advance");
    for (int side = -1; side <= 1; side += 2) {
        dGeomSetPosition(dCreateBox(s->space, 1, 4, 4), 0.99 * side, 0, 0);
    }
    dBodyID box = add_box(s, 0, 0, 0);
    dWorldSetGravity(s->world, 0, 0, 0);
    dBodySetAutoDisableSteps(box, 5);
    dBodySetAutoDisableFlag(box, 1);
    dBodyEnable(box);
    run(s, 20);
    ck_assert_int_eq(dBodyIsEnabled(box), 0);
    ck_assert_double_eq_tol(dBodyGetPosition(box)[0], 0, 1e-6);
    close_scene(s);
}
END_TEST

// A house of cards, as in ODE's demo_cards: pairs that lean on one another, others that lie on
// them.
enum { LEVELS = 8, CARDS = (3 * LEVELS * LEVELS + LEVELS) / 2 };

static dBodyID add_card(scene *s, double y, double z, double angle)
{
    static const double side[3] = {0.5, 0.02, 1}; // m
    dMass mass;
    dMatrix3 R;
    dGeomID geom = dCreateBox(s->space, side[0], side[1], side[2]);
    dBodyID body = dBodyCreate(s->world);
    dMassSetBox(&mass, 1, side[0], side[1], side[2]);
    dBodySetMass(body, &mass);
    dGeomSetBody(geom, body);
    dBodySetPosition(body, 0, y, z);
    dRFromAxisAndAngle(R, 1, 0, 0, angle * M_PI / 180);
    dBodySetRotation(body, R);
    return body;
}

static void add_house(scene *s, dBodyID *card)
{
    static const double angle = 20, gap = 0.05; // degrees, m
    double rise = cos(angle * M_PI / 180) + gap, pitch = sin(angle * M_PI / 180) + gap;
    for (int level = 0; level < LEVELS; level++) {
        int pairs = LEVELS - level;
        double z = (level + 0.5) * rise;
        for (int i = 0; i < 2 * pairs; i++) {
            *card++ = add_card(s, (i - pairs) * pitch, z, i % 2 ? angle : -angle);
        }
        for (int i = 0; i < pairs - 1; i++) {
            double y = (2 * i - (pairs - 1 - (1 - pitch) / 2)) * pitch;
            *card++ = add_card(s, y, z + rise / 2, 91);
        }
    }
}

static double mean_height(dBodyID *card)
{
    double sum = 0;
    for (int i = 0; i < CARDS; i++) {
        sum += height(card[i]);
    }
    return sum / CARDS;
}

// It comes down by its gaps, some centimetres, and stands: nothing slides while it does so.
START_TEST(house_of_cards_stands)
{
    scene *s = open_scene("method=advance");
    dBodyID card[CARDS];
    dWorldSetGravity(s->world, 0, 0, -0.5);
    s->surface.mu = 5;
    add_floor(s);
    add_house(s, card);
    double first = mean_height(card), fallen[2];
    run(s, 300);
    fallen[0] = first - mean_height(card);
    run(s, 100);
    fallen[1] = first - mean_height(card);
    ck_assert_double_lt(fallen[0], 0.05); // stock: 0.040
    ck_assert_double_lt(fallen[1] - fallen[0], 1e-4);
    for (int i = 0; i < CARDS; i++) {
        ck_assert_double_lt(speed(card[i]), 1e-3);
        ck_assert_double_lt(fabs(dBodyGetPosition(card[i])[0]), 0.05);
    }
    ck_assert_double_gt(stats_of(s).least_gap, 0);
    close_scene(s);
}
END_TEST

// Balls and boxes, in half of the heaps every fifth heavier, that fall on one another: not always
// is there a motion that keeps them all apart.
START_TEST(heaps_go_no_farther_than_they_move)
{
    enum { HEAP = 40 };
    scene *s = open_scene("method=advance");
    dBodyID body[HEAP];
    double place[HEAP][3];
    add_floor(s);
    dRandSetSeed((unsigned long)_i + 1);
    for (int i = 0; i < HEAP; i++) {
        dMass mass;
        dGeomID geom = i % 2 ? dCreateBox(s->space, 0.2, 0.2, 0.2) : dCreateSphere(s->space, 0.1);
        body[i] = body_at(s, geom, dRandReal(), dRandReal(), 0.2 + 0.22 * i);
        dMassSetSphereTotal(&mass, i % 5 || _i % 2 ? 1 : 100, 0.1);
        dBodySetMass(body[i], &mass);
    }
    for (int frame = 0; frame < 200; frame++) {
        double fastest = 0;
        for (int i = 0; i < HEAP; i++) {
            memcpy(place[i], dBodyGetPosition(body[i]), sizeof place[i]);
            fastest = fmax(fastest, speed(body[i]));
        }
        step(s);
        for (int i = 0; i < HEAP; i++) {
            fastest = fmax(fastest, speed(body[i]));
        }
        for (int i = 0; i < HEAP; i++) {
            double gone[3];
            subtract3(dBodyGetPosition(body[i]), place[i], gone);
            ck_assert_double_le(norm3(gone), 1.5 * STEP * fastest + 0.01);
        }
    }
    close_scene(s);
}
END_TEST

// ---- joints

static dJointID hinge_at(scene *s, dBodyID body, double x, double y, double z)
{
    dJointID hinge = dJointCreateHinge(s->world, 0);
    dJointAttach(hinge, body, NULL);
    dJointSetHingeAnchor(hinge, x, y, z);
    dJointSetHingeAxis(hinge, 0, 1, 0);
    return hinge;
}

START_TEST(stop_is_met_in_time)
{
    static const double stops[] = {0.507, 0.512345, 1.213};
    scene *s = open_scene("method=advance");
    dWorldSetGravity(s->world, 0, 0, 0);
    dBodyID wheel = add_box(s, 0, 0, 5);
    dJointID hinge = hinge_at(s, wheel, 0, 0, 5);
    dJointSetHingeParam(hinge, dParamLoStop, -stops[_i]);
    dJointSetHingeParam(hinge, dParamHiStop, stops[_i]);
    dBodySetAngularVel(wheel, 0, 2, 0);
    double met = -1;
    for (int i = 0; i < 100; i++) {
        step(s);
        for (int k = 0; k < s->events; k++) {
            if (s->event[k].kind == SPRAG_EVENT_LIMIT_REACHED && met < 0) {
                met = i * STEP + s->event[k].time;
            }
        }
    }
    ck_assert_double_eq_tol(met, stops[_i] / 2, 1e-6);
    ck_assert_double_eq_tol(fabs(dJointGetHingeAngle(hinge)), stops[_i], 1e-5);
    ck_assert_double_lt(speed(wheel), 1e-4);
    close_scene(s);
}
END_TEST

START_TEST(arm_rests_at_its_stop)
{
    scene *s = open_scene("method=advance");
    dBodyID arm = body_at(s, dCreateBox(s->space, 1, 0.1, 0.1), 0.5, 0, 5);
    dJointID hinge = hinge_at(s, arm, 0, 0, 5);
    dJointSetHingeParam(hinge, dParamLoStop, -0.5);
    dJointSetHingeParam(hinge, dParamHiStop, 0.5);
    run(s, 150);
    ck_assert_int_ge(stats_of(s).events[SPRAG_EVENT_LIMIT_REACHED], 1);
    long substeps = stats_of(s).substeps;
    for (int i = 0; i < 100; i++) {
        step(s);
        ck_assert_double_eq_tol(fabs(dJointGetHingeAngle(hinge)), 0.5, 1e-4);
        ck_assert_double_lt(speed(arm), 1e-3);
    }
    ck_assert_int_le(stats_of(s).substeps - substeps, 105);
    close_scene(s);
}
END_TEST

// Of a joint too, the load; also of a frame that events divide.
START_TEST(joints_tell_their_load)
{
    scene *s = open_scene("method=advance");
    dJointFeedback load;
    add_floor(s);
    dBodyID box = add_box(s, 0, 0, 1.5);
    dJointID joint = dJointCreateFixed(s->world, 0);
    dJointAttach(joint, box, NULL);
    dJointSetFixed(joint);
    memset(&load, 0, sizeof load);
    dJointSetFeedback(joint, &load);
    dBodyID ball = add_ball(s, 0, 0, 2.6, 0.5);
    for (int i = 0; i < 60; i++) {
        step(s);
        ck_assert_double_eq_tol(height(box), 1.5, 1e-6);
        if (s->touched < 0) {
            ck_assert_double_eq_tol(load.f1[2], 2 * G, 1e-4);
        }
    }
    ck_assert_double_ge(s->touched, 0);
    ck_assert_double_eq_tol(height(ball), 2.5 + REST, 2e-6);
    ck_assert_double_eq_tol(load.f1[2], 4 * G, 1e-3);
    close_scene(s);
}
END_TEST

// Momentum: a ball stops on a held box, whose joint takes all of it within that one step.
START_TEST(impacts_are_in_the_feedback)
{
    scene *s = open_scene("method=advance");
    dJointFeedback load;
    dWorldSetGravity(s->world, 0, 0, 0);
    dBodyID box = add_box(s, 0, 0, 0);
    dJointID joint = dJointCreateFixed(s->world, 0);
    dJointAttach(joint, box, NULL);
    dJointSetFixed(joint);
    memset(&load, 0, sizeof load);
    dJointSetFeedback(joint, &load);
    dBodyID ball = add_ball(s, 0, 0, 1.123, 0.5);
    dBodySetLinearVel(ball, 0, 0, -3);
    double impulse = 0;
    for (int i = 0; i < 20; i++) {
        step(s);
        impulse += load.f1[2] * STEP;
    }
    ck_assert_double_eq_tol(s->touched, 0.041, 1e-6);
    ck_assert_double_eq_tol(impulse, 6, 1e-3);
    close_scene(s);
}
END_TEST

START_TEST(motor_drives)
{
    scene *s = open_scene("method=advance");
    dBodyID wheel = add_box(s, 0, 0, 5);
    dJointID hinge = hinge_at(s, wheel, 0, 0, 5);
    dJointSetHingeParam(hinge, dParamVel, 3);
    dJointSetHingeParam(hinge, dParamFMax, _i ? 100 : 0.1);
    run(s, 20);
    double inertia = 2.0 / 6, w = _i ? 3 : 0.1 / inertia * 20 * STEP;
    ck_assert_double_eq_tol(fabs(dJointGetHingeAngleRate(hinge)), w, 1e-4);
    ck_assert_double_eq_tol(height(wheel), 5, 1e-6);
    close_scene(s);
}
END_TEST

// Nothing is near at the start of the step, nor at the speed that the body has then.
START_TEST(motor_flings_into_ground)
{
    scene *s = open_scene("method=advance");
    dCreatePlane(s->space, 0, 0, 1, 0);
    dBodyID box = add_box(s, 0, 0, 2);
    dJointID slider = dJointCreateSlider(s->world, 0);
    dJointAttach(slider, box, NULL);
    dJointSetSliderAxis(slider, 0, 0, 1);
    dJointSetSliderParam(slider, dParamVel, _i ? 500 : -500);
    dJointSetSliderParam(slider, dParamFMax, 1e7);
    step(s);
    ck_assert_double_ge(height(box), 0);
    ck_assert_double_ge(fabs(height(box) - 2), 1);
    close_scene(s);
}
END_TEST

// ---- surfaces

// Across fdir1 it slides, along it it is held.
// Slip and motors at the bound of friction: a car drives off as far as under method=stribeck.
static double drive_off(const char *options)
{
    scene *s = open_scene(options);
    add_floor(s);
    s->surface = (dSurfaceParameters){.mode = dContactApprox1 | dContactSlip1 | dContactSlip2,
                                      .mu = 1,
                                      .slip1 = 0.01,
                                      .slip2 = 0.01};
    dMass mass;
    dBodyID car = dBodyCreate(s->world);
    dMassSetBoxTotal(&mass, 200, 2, 1, 0.4);
    dBodySetMass(car, &mass);
    dBodySetPosition(car, 0, 0, 0.7);
    dJointID axle[4];
    for (int i = 0; i < 4; i++) {
        double x = i < 2 ? 0.9 : -0.9, y = i % 2 ? 0.7 : -0.7;
        dBodyID wheel = add_ball(s, x, y, 0.35, 0.35);
        dMassSetSphereTotal(&mass, 10, 0.35);
        dBodySetMass(wheel, &mass);
        axle[i] = hinge_at(s, wheel, x, y, 0.35);
        dJointAttach(axle[i], car, wheel);
        dJointSetHingeAnchor(axle[i], x, y, 0.35);
        dJointSetHingeAxis(axle[i], 0, 1, 0);
        dJointSetHingeParam(axle[i], dParamFMax, 150);
        dJointSetHingeParam(axle[i], dParamVel, 15);
    }
    run(s, 200);
    double gone = -dBodyGetPosition(car)[0];
    ck_assert_double_lt(norm3(dBodyGetAngularVel(car)), 1e-3);
    close_scene(s);
    return gone;
}

START_TEST(car_slips_as_it_must)
{
    double rigid = drive_off("method=advance"), yielding = drive_off("method=stribeck");
    ck_assert_double_gt(yielding, 4);
    ck_assert_double_eq_tol(rigid, yielding, 1e-3);
}
END_TEST

START_TEST(directions_have_their_friction)
{
    bool across = _i;
    scene *s = open_scene("method=advance");
    dWorldSetGravity(s->world, across ? 0 : 3, across ? 3 : 0, -G);
    s->surface.mode |= dContactMu2 | dContactFDir1;
    s->surface.mu = 0.9;
    s->surface.mu2 = 0.1;
    s->along[0] = 1;
    add_floor(s);
    dBodyID box = body_at(s, dCreateBox(s->space, 1, 1, 0.5), 0, 0, 0.25 + REST);
    run(s, 100);
    const dReal *v = dBodyGetLinearVel(box);
    ck_assert_double_eq_tol(v[0], 0, 1e-5);
    ck_assert_double_eq_tol(v[1], across ? 3 - 0.1 * G : 0, 1e-3);
    close_scene(s);
}
END_TEST

// The same way as in stock.
START_TEST(conveyor_carries)
{
    double carried[2];
    for (int stock = 0; stock < 2; stock++) {
        scene *s = open_scene(stock ? "method=ode" : "method=advance");
        s->surface.mode |= dContactMotion1 | dContactFDir1;
        s->surface.motion1 = 1.5;
        s->along[0] = 1;
        add_floor(s);
        dBodyID box = add_box(s, 0, 0, stock ? 0.499 : 0.5 + REST);
        run(s, 100);
        carried[stock] = dBodyGetLinearVel(box)[0];
        close_scene(s);
    }
    ck_assert_double_eq_tol(fabs(carried[0]), 1.5, 1e-4);
    ck_assert_double_eq_tol(carried[0], carried[1], 1e-2);
}
END_TEST

START_TEST(bounces)
{
    bool slow = _i;
    scene *s = open_scene("method=advance");
    dWorldSetGravity(s->world, 0, 0, 0);
    s->surface.mode |= dContactBounce;
    s->surface.bounce = 0.6;
    s->surface.bounce_vel = 1;
    add_floor(s);
    dBodyID ball = add_ball(s, 0, 0, 1, 0.5);
    dBodySetLinearVel(ball, 0, 0, slow ? -0.9 : -2);
    run(s, 80);
    ck_assert_double_eq_tol(s->touched, 0.5 / (slow ? 0.9 : 2), 2e-6);
    ck_assert_double_eq_tol(dBodyGetLinearVel(ball)[2], slow ? 0 : 1.2, slow ? 1e-3 : 1e-5);
    close_scene(s);
}
END_TEST

START_TEST(sensors_let_pass)
{
    scene *s = open_scene("method=advance");
    s->declines = true;
    dGeomID sensor = dCreateBox(s->space, 2, 2, 0.2);
    dGeomSetPosition(sensor, 0, 0, 0);
    dBodyID ball = add_ball(s, 0, 0, 1, 0.2);
    run(s, 100);
    ck_assert_int_gt(s->calls, 0);
    ck_assert_double_eq_tol(dBodyGetLinearVel(ball)[2], -G, 1e-6);
    ck_assert_double_eq_tol(height(ball), 1 - G * (1 + STEP) / 2, 1e-2);
    ck_assert_int_eq(stats_of(s).events[SPRAG_EVENT_CONTACT_MADE], 0);
    close_scene(s);
}
END_TEST

// ---- kinematic bodies

START_TEST(platform_carries)
{
    scene *s = open_scene("method=advance");
    dBodyID platform = body_at(s, dCreateBox(s->space, 4, 4, 1), 0, 0, -0.5);
    dBodySetKinematic(platform);
    dBodySetLinearVel(platform, 0.4, 0, 0.6);
    dBodyID box = add_box(s, 0, 0, 0.5 + REST);
    run(s, 100);
    const dReal *v = dBodyGetLinearVel(box);
    ck_assert_double_eq_tol(v[0], 0.4, 1e-5);
    ck_assert_double_eq_tol(v[2], 0.6, 1e-5);
    ck_assert_double_eq_tol(height(platform), 0.1, 1e-9);
    ck_assert_double_eq_tol(height(box) - height(platform), 1 + REST, 2e-7);
    close_scene(s);
}
END_TEST

// ---- what else a step does

static int moved_calls;

static void moved(dBodyID body)
{
    (void)body;
    moved_calls++;
}

// Damping, limits of speed, forces: as stock, to rounding; callbacks once, accumulators empty.
START_TEST(steps_do_what_stock_does)
{
    body_state state[2];
    for (int stock = 0; stock < 2; stock++) {
        scene *s = open_scene(stock ? "method=ode-step" : "method=advance");
        add_floor(s);
        dBodyID body = add_ball(s, 0, 0, 50, 0.5);
        dBodySetLinearVel(body, 3, 2, 1);
        dBodySetAngularVel(body, 1, 9, 3);
        dBodySetLinearDamping(body, 0.02);
        dBodySetAngularDamping(body, 0.03);
        dBodySetMaxAngularSpeed(body, 5);
        dBodySetMovedCallback(body, moved);
        moved_calls = 0;
        for (int i = 0; i < 20; i++) {
            dBodyAddForce(body, 5, -3, 7);
            dBodyAddTorque(body, 0.1, 0, -0.2);
            step(s);
            ck_assert_double_eq(norm3(dBodyGetForce(body)) + norm3(dBodyGetTorque(body)), 0);
            ck_assert_int_eq(moved_calls, i + 1);
        }
        state[stock] = state_of(body);
        close_scene(s);
    }
    for (int k = 0; k < 6; k++) {
        ck_assert_double_eq_tol(state[0].v[k], state[1].v[k], 1e-9);
        ck_assert_double_eq_tol(state[0].x[k % 3], state[1].x[k % 3], 1e-9);
    }
    ck_assert_double_gt(fabs(state[0].v[4]), 1);
}
END_TEST

// What turns no faster than that anyway meets nothing by it.
START_TEST(turns_are_capped_before_anything_is_met)
{
    for (int sign = -1; sign <= 1; sign += 2) {
        dMatrix3 tilted;
        scene *s = open_scene("method=advance");
        s->surface.mode |= dContactBounce;
        s->surface.bounce = 0.8;
        add_floor(s);
        dBodyID box = add_box(s, 0, 0, 0.8);
        dRFromAxisAndAngle(tilted, 1, 0, 0, 0.3);
        dBodySetRotation(box, tilted);
        dBodySetMaxAngularSpeed(box, 1);
        dBodySetAngularVel(box, sign * 30000, 0, 0);
        step(s);
        ck_assert_double_eq_tol(dBodyGetAngularVel(box)[0], sign, 1e-9);
        ck_assert_double_eq_tol(dBodyGetLinearVel(box)[2], -G * STEP, 1e-9);
        close_scene(s);
    }
}
END_TEST

// A ball that is put down deep in the floor is pushed out of it; one that has just come in bounces.
START_TEST(what_has_sunk_in_does_not_bounce)
{
    scene *s = open_scene("method=advance");
    s->surface.mode |= dContactBounce;
    s->surface.bounce = 0.8;
    add_floor(s);
    dBodyID deep = add_ball(s, 0, 0, 0.2, 0.5), late = add_ball(s, 3, 0, 0.49, 0.5);
    dBodySetLinearVel(deep, 0, 0, -3);
    dBodySetLinearVel(late, 0, 0, -3);
    step(s);
    ck_assert_double_eq_tol(dBodyGetLinearVel(deep)[2], 0, 1e-5);
    ck_assert_double_eq_tol(dBodyGetLinearVel(late)[2], 2.4, 0.2);
    ck_assert_double_gt(height(deep), 0.2);
    close_scene(s);
}
END_TEST

// A ball that may turn no faster than 5 rad/s slides until it is no faster than that rolls, and a
// box tumbles over its edges: none turns faster within a step either, and nothing goes in.
START_TEST(turns_are_capped_in_contact)
{
    scene *s = open_scene("method=advance");
    add_floor(s);
    dBodyID ball = add_ball(s, 0, 0, 0.5 + REST, 0.5), box = add_box(s, 0, 5, 3);
    dBodySetLinearVel(ball, 8, 0, 0);
    dBodySetLinearVel(box, 6, 1, 0);
    dBodySetAngularVel(box, 3, 7, 5);
    dBodySetMaxAngularSpeed(ball, 5);
    dBodySetMaxAngularSpeed(box, 5);
    double x = 0;
    for (int i = 0; i < 200; i++) {
        double v = fmax(8 - 0.5 * G * (i + 1) * STEP, 2.5);
        step(s);
        x += v * STEP;
        ck_assert_double_le(norm3(dBodyGetAngularVel(ball)), 5 * (1 + 1e-9));
        ck_assert_double_le(norm3(dBodyGetAngularVel(box)), 5 * (1 + 1e-9));
        ck_assert_double_gt(height(ball), 0.5);
        ck_assert_double_eq_tol(dBodyGetLinearVel(ball)[0], v, 1e-4);
    }
    ck_assert_double_eq_tol(dBodyGetPosition(ball)[0], x, 1e-3);
    sprag_world_statistics stats = stats_of(s);
    ck_assert_double_gt(stats.least_gap, 0);
    ck_assert_double_eq(stats.stalled, 0);
    ck_assert_int_eq(stats.overlaps, 0);
    close_scene(s);
}
END_TEST

// A joint that turns a body faster than it may: it is slowed down after the step, as by ODE, and
// nothing else.
START_TEST(joined_turns_are_capped_as_by_stock)
{
    enum { STEPS = 5 };
    body_state state[2];
    for (int stock = 0; stock < 2; stock++) {
        scene *s = open_scene(stock ? "method=ode-step" : "method=advance");
        dBodyID arm = add_ball(s, 0, 0, 50, 0.2), base = add_ball(s, 1, 0, 50, 0.2);
        dBodySetMaxAngularSpeed(base, 1);
        dJointID hinge = dJointCreateHinge(s->world, 0);
        dJointAttach(hinge, arm, base);
        dJointSetHingeAnchor(hinge, 0.5, 0, 50);
        dJointSetHingeAxis(hinge, 0, 0, 1);
        dJointSetHingeParam(hinge, dParamHiStop, -1);
        dJointSetHingeParam(hinge, dParamLoStop, -1);
        for (int i = 0; i < STEPS; i++) {
            step(s);
            ck_assert_double_le(norm3(dBodyGetAngularVel(base)), 1 + 1e-9);
        }
        state[stock] = state_of(arm);
        close_scene(s);
    }
    for (int k = 0; k < 6; k++) {
        ck_assert_double_eq_tol(state[0].v[k], state[1].v[k], 1e-2);
        ck_assert_double_eq_tol(state[0].x[k % 3], state[1].x[k % 3], 1e-3);
    }
    ck_assert_double_gt(fabs(state[0].v[5]), 1);
}
END_TEST

// Once per step, however many sub-steps there are; and forces act through all of them.
START_TEST(forces_act_through_substeps)
{
    scene *s = open_scene("method=advance");
    s->surface.mu = 0;
    add_floor(s);
    dBodyID box = add_box(s, 0, 0, 0.7);
    dBodySetMovedCallback(box, moved);
    moved_calls = 0;
    for (int i = 0; i < 100; i++) {
        dBodyAddForce(box, 4, 0, 0);
        step(s);
    }
    ck_assert_int_eq(moved_calls, 100);
    ck_assert_int_gt(stats_of(s).substeps, 100);
    ck_assert_double_eq_tol(dBodyGetLinearVel(box)[0], 2, 1e-9);
    close_scene(s);
}
END_TEST

// Impacts make it roll all the same.
static void slow_and_touch(void *data, dGeomID a, dGeomID b)
{
    dBodyID ball = dGeomGetBody(a) ? dGeomGetBody(a) : dGeomGetBody(b);
    dContactGeom at;
    touch(data, a, b);
    if (dCollide(a, b, 1, &at, sizeof at) > 0) {
        dBodySetLinearVel(ball, 1, 0, 0);
    }
}

START_TEST(velocity_is_set_without_spin)
{
    scene *s = open_scene("method=advance");
    s->surface.mu = 1;
    add_floor(s);
    dBodyID ball = add_ball(s, 0, 0, 0.505, 0.5);
    dBodySetLinearVel(ball, 1, 0, -2);
    dSpaceCollide(s->space, s, slow_and_touch);
    dWorldStep(s->world, 0.01);
    ck_assert_double_eq(dBodyGetLinearVel(ball)[0], 1);
    ck_assert_double_eq(dBodyGetLinearVel(ball)[2], 0);
    ck_assert_double_gt(dBodyGetAngularVel(ball)[1], 1);
    close_scene(s);
}
END_TEST

// ---- what the program is told

START_TEST(events_tell_what_happened)
{
    scene *s = open_scene("method=advance");
    dGeomID floor = dCreatePlane(s->space, 0, 0, 1, 0);
    dBodyID ball = add_ball(s, 0.3, 0.2, 1, 0.5);
    dWorldSetGravity(s->world, 0, 0, 0);
    dBodySetLinearVel(ball, 0, 0, -2);
    sprag_world_event none;
    ck_assert_int_eq(sprag_world_events(s->world, &none, 1), 0);
    for (int i = 0; i < 100 && s->touched < 0; i++) {
        step(s);
    }
    ck_assert_double_eq_tol(s->touched, 0.25, 2e-6);
    const sprag_world_event *e = s->event;
    while (e->kind != SPRAG_EVENT_CONTACT_MADE) {
        e++;
    }
    int first = e->body[0] == ball ? 0 : 1;
    ck_assert_ptr_eq(e->body[first], ball);
    ck_assert_ptr_null(e->body[!first]);
    ck_assert_ptr_eq(e->geom[first], dBodyGetFirstGeom(ball));
    ck_assert_ptr_eq(e->geom[!first], floor);
    ck_assert_double_eq_tol(e->position[0], 0.3, 1e-9);
    ck_assert_double_eq_tol(e->position[1], 0.2, 1e-9);
    ck_assert_double_eq_tol(e->position[2], 0, 2e-6);
    ck_assert_double_eq_tol(e->normal[2], first ? -1 : 1, 1e-9);
    ck_assert_double_eq_tol(e->speed, 2, 1e-6);
    memset(&none, 0x55, sizeof none);
    sprag_world_event copy = none;
    ck_assert_int_eq(sprag_world_events(s->world, &none, 0), s->events);
    ck_assert_int_eq(sprag_world_events(s->world, NULL, 0), s->events);
    ck_assert_mem_eq(&none, &copy, sizeof none);
    close_scene(s);
}
END_TEST

// What is hit goes twice as fast as anybody thought: the step is made anew, and told once.
START_TEST(events_are_told_once)
{
    scene *s = open_scene("method=advance");
    dMass mass;
    s->surface.mode |= dContactBounce;
    s->surface.bounce = 1;
    dWorldSetGravity(s->world, 0, 0, 0);
    dBodyID heavy = add_ball(s, -0.501, 0, 0, 0.5), light = add_ball(s, 0.5, 0, 0, 0.5);
    dMassSetSphereTotal(&mass, 200, 0.5);
    dBodySetMass(heavy, &mass);
    dBodySetLinearVel(heavy, 10, 0, 0);
    step(s);
    ck_assert_double_eq_tol(dBodyGetLinearVel(light)[0], 20 * 200 / 202.0, 1e-3);
    sprag_world_statistics stats = stats_of(s);
    ck_assert_int_eq(stats.events[SPRAG_EVENT_CONTACT_MADE], 1);
    int made = 0;
    for (int i = 0; i < s->events; i++) {
        made += s->event[i].kind == SPRAG_EVENT_CONTACT_MADE;
    }
    ck_assert_int_eq(made, 1);
    ck_assert_int_eq(stats.asked, 1);
    close_scene(s);
}
END_TEST

START_TEST(statistics_add_up)
{
    scene *s = open_scene("method=advance,advance.checks=1");
    add_floor(s);
    add_box(s, 0, 0, 0.6);
    add_ball(s, 30, 0, 1, 0.3);
    run(s, 100);
    sprag_world_statistics stats = stats_of(s);
    ck_assert_int_eq(stats.steps, 100);
    ck_assert_int_eq(stats.bodies, 2);
    ck_assert_int_eq(stats.islands, 2);
    ck_assert_int_eq(stats.contacts, 5); // points
    ck_assert_int_eq(stats.rows, 0);
    ck_assert_int_eq(stats.substeps, 200 + stats.limited);
    ck_assert_int_ge(stats.limited, 2);
    ck_assert_int_eq(stats.asked, 2);
    ck_assert_int_eq(stats.events[SPRAG_EVENT_CONTACT_MADE], 2);
    ck_assert_int_eq(stats.overlaps + stats.squeezed + stats.without_geometry, 0);
    ck_assert_double_eq(stats.stalled, 0);
    ck_assert_double_gt(stats.least_gap, 0);
    ck_assert_double_le(stats.largest_gap, 2e-6);
    close_scene(s);
}
END_TEST

static int messages;

static void count_message(int number, const char *format, va_list arguments)
{
    (void)number;
    (void)format;
    (void)arguments;
    messages++;
}

START_TEST(stiffness_of_the_world_is_refused_once)
{
    for (int stiff = 0; stiff < 2; stiff++) {
        scene *s = open_scene(stiff ? "method=advance,stribeck.stiffness=1e5" : "method=advance");
        add_floor(s);
        add_ball(s, 0, 0, 0.51, 0.5);
        messages = 0;
        dSetMessageHandler(count_message);
        run(s, 20);
        dSetMessageHandler(quiet);
        ck_assert_int_eq(messages, stiff);
        close_scene(s);
    }
}
END_TEST

START_TEST(no_geometry_is_said_once)
{
    scene *s = open_scene("method=advance");
    dBodyID body = add_box(s, 0, 0, 5);
    messages = 0;
    dSetMessageHandler(count_message);
    for (int i = 0; i < 10; i++) {
        ck_assert_int_eq(dWorldStep(s->world, STEP), 1);
    }
    dSetMessageHandler(quiet);
    ck_assert_int_eq(messages, 1);
    ck_assert_int_eq(stats_of(s).without_geometry, 10);
    ck_assert_double_eq_tol(dBodyGetLinearVel(body)[2], -0.1 * G, 1e-9);
    close_scene(s);
}
END_TEST

START_TEST(bodies_that_are_not_finite_stay)
{
    scene *s = open_scene("method=advance");
    add_floor(s);
    dBodyID bad = add_box(s, 0, 0, 3), good = add_box(s, 20, 0, 0.8);
    dBodySetLinearVel(bad, NAN, 0, 0);
    run(s, 50);
    ck_assert_double_eq(height(bad), 3);
    ck_assert_int_eq(stats_of(s).held, 50);
    ck_assert_double_eq_tol(height(good), 0.5 + REST, 1e-7);
    dBodySetLinearVel(bad, 0, 0, 0);
    run(s, 100);
    ck_assert_double_eq_tol(height(bad), 0.5 + REST, 1e-7);
    ck_assert_int_eq(stats_of(s).held, 50);
    close_scene(s);
}
END_TEST

START_TEST(forces_that_are_not_finite_do_nothing)
{
    scene *s = open_scene("method=advance");
    add_floor(s);
    dBodyID box = add_box(s, 0, 0, 0.5 + REST);
    run(s, 5);
    dBodyAddForce(box, INFINITY, 0, NAN);
    run(s, 5);
    ck_assert_int_eq(stats_of(s).bad_forces, 1);
    ck_assert_double_eq_tol(height(box), 0.5 + REST, 1e-6);
    ck_assert_double_lt(speed(box), 1e-6);
    close_scene(s);
}
END_TEST

// ---- same bits

enum { PILE = 7 };

static void add_pile(scene *s, dBodyID body[PILE], double x)
{
    chance c = {11};
    for (int i = 0; i < PILE; i++) {
        dMatrix3 R;
        body[i] = i % 3 == 2 ? add_ball(s, x + chance_between(&c, -0.3, 0.3), 0, 1.2 + 1.8 * i, 0.4)
                             : add_box(s, x + chance_between(&c, -0.3, 0.3), 0, 1.2 + 1.8 * i);
        dRFromAxisAndAngle(R, 1, chance_between(&c, 0, 1), 0.3, chance_between(&c, 0, 3));
        dBodySetRotation(body[i], R);
    }
}

static void compare(dBodyID *a, dBodyID *b)
{
    for (int i = 0; i < PILE; i++) {
        body_state one = state_of(a[i]), other = state_of(b[i]);
        ck_assert(state_is_finite(&one));
        ck_assert_mem_eq(&one, &other, sizeof one);
    }
}

// A pile, and the same one in another world, stepped in turns.
START_TEST(same_pile_same_bits)
{
    scene *a = open_scene("method=advance"), *b = open_scene("method=advance");
    dBodyID in_a[PILE], in_b[PILE];
    add_floor(a);
    add_floor(b);
    add_pile(a, in_a, 0);
    add_pile(b, in_b, 0);
    for (int i = 0; i < 150; i++) {
        step(a);
        step(b);
        compare(in_a, in_b);
    }
    ck_assert_int_gt(stats_of(a).events[SPRAG_EVENT_CONTACT_MADE], PILE);
    ck_assert_double_gt(stats_of(a).least_gap, 0);
    ck_assert_int_eq(stats_of(a).overlaps + stats_of(a).squeezed, 0);
    close_scene(a);
    close_scene(b);
}
END_TEST

// What is far away changes nothing but the order in which sums are made.
START_TEST(far_piles_do_not_matter)
{
    scene *a = open_scene("method=advance"), *b = open_scene("method=advance");
    dBodyID in_a[PILE], in_b[PILE], far[PILE];
    add_floor(a);
    add_floor(b);
    add_pile(a, in_a, 0);
    add_pile(b, in_b, 0);
    add_pile(b, far, 40);
    for (int i = 0; i < 100; i++) {
        step(a);
        step(b);
        for (int k = 0; k < PILE; k++) {
            for (int j = 0; j < 3; j++) {
                ck_assert_double_eq_tol(dBodyGetPosition(in_a[k])[j], dBodyGetPosition(in_b[k])[j],
                                        1e-9);
            }
        }
    }
    ck_assert_int_eq(stats_of(b).bodies, 2 * PILE);
    close_scene(a);
    close_scene(b);
}
END_TEST

int main(void)
{
    start_ode();
    dSetMessageHandler(quiet);
    Suite *suite = suite_create("ca");
    TCase *rest = tcase_create("rest");
    tcase_add_loop_test(rest, shapes_rest, 0, 4 * SHAPES);
    tcase_add_test(rest, bodies_with_moved_geoms_rest);
    tcase_add_test(rest, inner_spaces_count);
    tcase_add_test(rest, house_of_cards_stands);
    tcase_add_loop_test(rest, heaps_go_no_farther_than_they_move, 0, 12);
    tcase_add_loop_test(rest, meshes_are_flat, 0, 4);
    tcase_add_test(rest, sleeps_and_is_woken);
    tcase_add_test(rest, overlaps_end_before_sleep);
    tcase_add_test(rest, what_is_wedged_sleeps);
    tcase_add_test(rest, overlap_does_not_wake);
    tcase_add_test(rest, what_sleeps_is_hit_and_not_run_into);
    tcase_add_test(rest, what_sleeps_is_not_woken_from_afar);
    suite_add_tcase(suite, rest);
    TCase *joints = tcase_create("joints and surfaces");
    tcase_add_loop_test(joints, stop_is_met_in_time, 0, 3);
    tcase_add_test(joints, arm_rests_at_its_stop);
    tcase_add_test(joints, joints_tell_their_load);
    tcase_add_test(joints, impacts_are_in_the_feedback);
    tcase_add_loop_test(joints, motor_drives, 0, 2);
    tcase_add_loop_test(joints, motor_flings_into_ground, 0, 2);
    tcase_add_test(joints, car_slips_as_it_must);
    tcase_add_loop_test(joints, directions_have_their_friction, 0, 2);
    tcase_add_test(joints, conveyor_carries);
    tcase_add_loop_test(joints, bounces, 0, 2);
    tcase_add_test(joints, sensors_let_pass);
    tcase_add_test(joints, platform_carries);
    suite_add_tcase(suite, joints);
    TCase *steps = tcase_create("steps");
    tcase_add_test(steps, steps_do_what_stock_does);
    tcase_add_test(steps, turns_are_capped_before_anything_is_met);
    tcase_add_test(steps, turns_are_capped_in_contact);
    tcase_add_test(steps, what_has_sunk_in_does_not_bounce);
    tcase_add_test(steps, joined_turns_are_capped_as_by_stock);
    tcase_add_test(steps, forces_act_through_substeps);
    tcase_add_test(steps, velocity_is_set_without_spin);
    tcase_add_test(steps, events_tell_what_happened);
    tcase_add_test(steps, events_are_told_once);
    tcase_add_test(steps, statistics_add_up);
    tcase_add_test(steps, stiffness_of_the_world_is_refused_once);
    tcase_add_test(steps, no_geometry_is_said_once);
    tcase_add_test(steps, bodies_that_are_not_finite_stay);
    tcase_add_test(steps, forces_that_are_not_finite_do_nothing);
    tcase_add_test(steps, same_pile_same_bits);
    tcase_add_test(steps, far_piles_do_not_matter);
    suite_add_tcase(suite, steps);
    return run_suite(suite);
}
