#include "loads_scenes.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "body_motion.h"
#include "scene.h"

static const double good_stretch = 0.01; // m

typedef struct loaded {
    double gap;     // m, of joints, largest since model->settled
    double sum;     // m, of all joints, likewise
    double stretch; // m, of a rope of beads
} loaded;

static double error_of(dJointID joint)
{
    if (dJointGetType(joint) != dJointTypeDBall) {
        return sprag_joint_error(joint);
    }
    dVector3 a, b;
    dJointGetDBallAnchor1(joint, a);
    dJointGetDBallAnchor2(joint, b);
    return fabs(sprag_distance(a, b) - dJointGetDBallDistance(joint));
}

// The largest error of a joint, and the sum of all.
static void note_gaps(sprag_scene *scene)
{
    loaded *c = scene->data;
    double sum = 0;
    bool settled = sprag_scene_time(scene) >= scene->model->settled;
    for (int i = 0; i < scene->bodies && settled; i++) {
        for (int k = 0; k < dBodyGetNumJoints(scene->body[i]); k++) {
            dJointID joint = dBodyGetJoint(scene->body[i], k);
            double error = error_of(joint);
            c->gap = fmax(c->gap, error);
            sum += dJointGetBody(joint, 0) == scene->body[i] ? error : 0;
        }
    }
    c->sum = fmax(c->sum, sum);
}

static void join(sprag_scene *scene, dBodyID a, dBodyID b, const double at[3])
{
    dJointID joint = dJointCreateBall(scene->world, 0);
    dJointAttach(joint, a, b);
    dJointSetBallAnchor(joint, at[0], at[1], at[2]);
}

// ---- a chain of 2 m with a load at each end that whirls at 3 rad/s without gravity

static void bola_open(sprag_scene *scene)
{
    enum { N = 20 };
    const double link = 0.1, turn = 3; // m, rad/s
    dWorldSetGravity(scene->world, 0, 0, 0);
    for (int i = 0; i < N; i++) {
        const double from[3] = {(i - N / 2) * link};
        sprag_scene_box(scene, 0.1, (const double[3]){link, 0.02, 0.02}, from[0] + link / 2, 0, 0);
        if (i > 0) {
            join(scene, scene->body[i], scene->body[i - 1], from);
        }
    }
    for (int side = 0; side < 2; side++) {
        const double at[3] = {(side ? 1 : -1) * link * N / 2};
        dBodyID load = sprag_scene_ball(scene, 0.1 * scene->model->size, 0.1, at[0], 0, 0);
        join(scene, load, scene->body[side ? N - 1 : 0], at);
    }
    for (int i = 0; i < scene->bodies; i++) {
        dBodySetLinearVel(scene->body[i], 0, turn * dBodyGetPosition(scene->body[i])[0], 0);
        dBodySetAngularVel(scene->body[i], 0, 0, turn);
    }
}

static int bola_measure(const sprag_scene *scene, sprag_measure *measures)
{
    const loaded *c = scene->data;
    measures[0] =
        (sprag_measure){"energy over the first", "", scene->energy / scene->first_energy, 1, 0.05};
    measures[1] = (sprag_measure){"joint error", "m", c->gap, 0, 1e-3};
    return 2;
}

// ---- beads of 0.1 kg on distances of 10 cm (DBall), and a load of so many beads, at 45 degrees;
// the anchors are in the beads' centres, or off them along the chain

enum { BEADS = 50 };

static const double spacing = 0.1; // m

static void hang_beads(sprag_scene *scene, double off)
{
    const double along = M_SQRT1_2 * spacing;
    dBodyID last = 0;
    for (int i = 1; i <= BEADS; i++) {
        double from = (i - off) * along, to = (i - 1 + (i > 1 ? off : 0)) * along;
        double mass = i < BEADS ? 0.1 : 0.1 * scene->model->size;
        dBodyID body =
            sprag_scene_ball(scene, mass, i < BEADS ? 0.02 : 0.1, i * along, 0, -i * along);
        dJointID joint = dJointCreateDBall(scene->world, 0);
        dJointAttach(joint, body, last);
        dJointSetDBallAnchor1(joint, from, 0, -from);
        dJointSetDBallAnchor2(joint, to, 0, -to);
        last = body;
    }
}

static void beads_open(sprag_scene *scene)
{
    hang_beads(scene, 0);
}

static void offset_open(sprag_scene *scene)
{
    hang_beads(scene, 0.2);
}

static void note_beads(sprag_scene *scene)
{
    loaded *c = scene->data;
    const dReal *load = dBodyGetPosition(scene->body[BEADS - 1]), top[3] = {0};
    c->stretch = fmax(c->stretch, sprag_distance(load, top) - BEADS * spacing);
    note_gaps(scene);
}

static int beads_measure(const sprag_scene *scene, sprag_measure *measures)
{
    const loaded *c = scene->data;
    measures[0] = (sprag_measure){"stretch", "m", c->stretch, 0, good_stretch};
    measures[1] = (sprag_measure){"joint error", "m", c->gap, 0, NAN};
    return 2;
}

// The errors of all joints together have the limit of a rope's stretch: no way through the figure
// is longer by more.
static int figure_measure(const sprag_scene *scene, sprag_measure *measures)
{
    const loaded *c = scene->data;
    measures[0] = (sprag_measure){"joint errors, sum", "m", c->sum, 0, good_stretch};
    measures[1] = (sprag_measure){"joint error", "m", c->gap, 0, NAN};
    return 2;
}

// ---- a figure that hangs by a hand, with 100 kg at the other side's foot. It falls into that
// pose; its limbs flail until damping has taken their energy.

static void hanged_open(sprag_scene *scene)
{
    enum { HAND = 5, FOOT = 10 };
    const double to_hand = 0.14, to_foot = 0.21; // m, along the arm and the shin
    void *data = scene->data;
    scene->data = bench_allocate(1, sprag_ragdolls.data);
    dWorldSetAngularDamping(scene->world, 2 * scene->step);
    sprag_ragdolls.open(scene);
    free(scene->data);
    scene->data = data;
    dGeomDestroy(dSpaceGetGeom(scene->space, 0)); // the floor
    for (int i = 0; i < scene->bodies; i++) {
        dBodySetLinearVel(scene->body[i], 0, 0, 0);
    }
    dVector3 hand, foot;
    dBodyGetRelPointPos(scene->body[HAND], 0, 0, -to_hand, hand);
    dBodyGetRelPointPos(scene->body[FOOT], 0, 0, -to_foot, foot);
    join(scene, scene->body[HAND], 0, hand);
    dBodyID load = sprag_scene_ball(scene, 100, 0.1, foot[0], foot[1], foot[2]);
    join(scene, load, scene->body[FOOT], foot);
}

// ---- a vehicle of 200 kg on two tracks of 24 links, driven at 5 rad/s

enum { TRACK = 24, SIDES = 2, ENDS = 2 };

static const double axle = 1, wheel = 0.19, track = 0.22, shoe = 0.02; // m

// The point of the loop at a share of its length, about the vehicle's middle.
static void on_loop(double share, double at[2])
{
    double length = 2 * axle + 2 * M_PI * track, s = share * length, arc = M_PI * track;
    if (s < axle) {
        at[0] = -axle / 2 + s, at[1] = -track;
    } else if (s < axle + arc) {
        double angle = (s - axle) / track;
        at[0] = axle / 2 + track * sin(angle), at[1] = -track * cos(angle);
    } else if (s < 2 * axle + arc) {
        at[0] = axle / 2 - (s - axle - arc), at[1] = track;
    } else {
        double angle = (s - 2 * axle - arc) / track;
        at[0] = -axle / 2 - track * sin(angle), at[1] = track * cos(angle);
    }
}

static dJointID hinge_between(sprag_scene *scene, dBodyID a, dBodyID b, double x, double y,
                              double z)
{
    dJointID joint = dJointCreateHinge(scene->world, 0);
    dJointAttach(joint, a, b);
    dJointSetHingeAnchor(joint, x, y, z);
    dJointSetHingeAxis(joint, 0, 1, 0);
    return joint;
}

static void add_track(sprag_scene *scene, double y, double height)
{
    int first = scene->bodies;
    for (int i = 0; i < TRACK; i++) {
        double from[2], to[2];
        dMatrix3 turned;
        on_loop(i / (double)TRACK, from);
        on_loop((i + 1) % TRACK / (double)TRACK, to);
        double length = hypot(to[0] - from[0], to[1] - from[1]);
        const double side[3] = {0.95 * length, 0.15, shoe};
        dBodyID body = sprag_scene_box(scene, 2, side, (from[0] + to[0]) / 2, y,
                                       height + (from[1] + to[1]) / 2);
        dRFromAxisAndAngle(turned, 0, 1, 0, -atan2(to[1] - from[1], to[0] - from[0]));
        dBodySetRotation(body, turned);
        if (i > 0) {
            hinge_between(scene, body, scene->body[first + i - 1], from[0], y, height + from[1]);
        }
        if (i == TRACK - 1) {
            hinge_between(scene, body, scene->body[first], to[0], y, height + to[1]);
        }
    }
}

static void tracks_open(sprag_scene *scene)
{
    const double height = track + shoe / 2, aside = 0.45; // m
    sprag_scene_floor(scene);
    dBodyID hull = sprag_scene_box(scene, 200, (const double[3]){1.2, 0.6, 0.2}, 0, 0, height);
    for (int i = 0; i < SIDES; i++) {
        double y = i ? aside : -aside;
        for (int k = 0; k < ENDS; k++) {
            double x = k ? axle / 2 : -axle / 2;
            dBodyID body = sprag_scene_ball(scene, 5, wheel, x, y, height);
            dJointID joint = hinge_between(scene, body, hull, x, y, height);
            if (k) {
                dJointSetHingeParam(joint, dParamVel, 5);
                dJointSetHingeParam(joint, dParamFMax, 40);
            }
        }
        add_track(scene, y, height);
    }
}

static int tracks_measure(const sprag_scene *scene, sprag_measure *measures)
{
    static const double exact = 4.14; // m, of stock at 0.5 ms to 1 %
    const loaded *c = scene->data;
    measures[0] = (sprag_measure){"joint error", "m", c->gap, 0, good_stretch};
    measures[1] =
        (sprag_measure){"way", "m", dBodyGetPosition(scene->body[0])[0], exact, 0.05 * exact};
    return 2;
}

// ---- the table

#define BEADED .data = sizeof(loaded), .after_step = note_beads
#define LOADED .data = sizeof(loaded), .after_step = note_gaps

static const sprag_script bola = {LOADED, .open = bola_open, .measure = bola_measure};
static const sprag_script beads = {BEADED, .open = beads_open, .measure = beads_measure};
static const sprag_script offset = {BEADED, .open = offset_open, .measure = beads_measure};
static const sprag_script hanged = {LOADED, .open = hanged_open, .measure = figure_measure};
static const sprag_script tracks = {LOADED, .contacts = 4, .friction = 1, .open = tracks_open,
                                    .measure = tracks_measure};

static const sprag_model scenes[] = {
    {"bola:1", "", 0.01, 5, 0, 1, 1, &bola, 0},
    {"bola:100", "", 0.01, 5, 0, 1, 100, &bola, 0},
    {"bola:1000", "", 0.01, 5, 0, 1, 1000, &bola, 0},
    {"beads:10", "", 0.01, 10, 0, 1, 10, &beads, 0},
    {"beads:100", "", 0.01, 10, 0, 1, 100, &beads, 0},
    {"beads:1000", "", 0.01, 10, 0, 1, 1000, &beads, 0},
    {"offset:10", "", 0.01, 10, 0, 1, 10, &offset, 0},
    {"offset:100", "", 0.01, 10, 0, 1, 100, &offset, 0},
    {"offset:1000", "", 0.01, 10, 0, 1, 1000, &offset, 0},
    {"hanged", "", 0.01, 10, 7, 1, 1, &hanged, 0},
    {"tracks", "", 0.01, 5, 0, 1, 0, &tracks, 0},
};

const sprag_model *loads_scene_find(const char *name)
{
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        if (!strcmp(scenes[i].name, name)) {
            return &scenes[i];
        }
    }
    return NULL;
}

// ---- free flight

static double turning_energy(dBodyID body, dVector3 momentum)
{
    angular_momentum(body, momentum);
    return dCalcVectorDot3(momentum, dBodyGetAngularVel(body)) / 2;
}

void loads_judge_flight(void)
{
    static const double moments[][3] = {{1, 2, 2.5}, {1, 1, 1.9}, {1, 1.001, 1.9}, {1, 2, 2.99}};
    double off_energy = 0, off_momentum = 0;
    for (int i = 0; i < 8; i++) {
        dMass m;
        dMatrix3 turned;
        dVector3 before, now;
        const double *of = moments[i % 4], speed = i < 4 ? 10 : 100;
        dWorldID world = dWorldCreate();
        dBodyID body = dBodyCreate(world);
        dMassSetParameters(&m, 1, 0, 0, 0, of[0], of[1], of[2], 0, 0, 0);
        dBodySetMass(body, &m);
        dRFromAxisAndAngle(turned, 1, 2, 3, 1);
        dBodySetRotation(body, turned);
        dBodySetAngularVel(body, 0.64 * speed, 0.57 * speed, 0.51 * speed);
        double first = turning_energy(body, before);
        for (int k = 0; k < 10000; k++) {
            dWorldStep(world, 0.01);
            off_energy = fmax(off_energy, fabs(turning_energy(body, now) / first - 1));
            dSubtractVectors3(now, now, before);
            off_momentum = fmax(off_momentum, dCalcVectorLength3(now) / dCalcVectorLength3(before));
        }
        dWorldDestroy(world);
    }
    bench_at_most("free flight, 10 ms, 100 s: energy off by", off_energy, 1e-6);
    bench_at_most("free flight, 10 ms, 100 s: angular momentum off by", off_momentum, 1e-12);
}
