// A recorded run whose figures are known: bodies that tumble, come and go, a shape that changes, a
// kinematic body, contacts that stick and slip, and a pendulum.
#ifndef TEST_FILM_SCENE_H
#define TEST_FILM_SCENE_H

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "convex_cube.h"
#include "linalg.h"
#include "plugin_scene.h"

// Steps in which a body goes, one comes, and a ball grows.
enum { FILM_STEPS = 25, GOES = 8, COMES = 5, GROWS = 10, FILM_BODIES = 7, FILM_GEOMS = 10 };

// Places in film_scene.body: the number of the body in the recording.
enum { TUMBLES, KINEMATIC, GOING, RESTS, SLIDES, SWINGS, COMING };

static const double film_gravity[3] = {0.5, -0.25, -9.81};

typedef struct film_truth {
    double energy, gap, depth, mean_depth; // of a step
    int contacts;
} film_truth;

typedef struct film_scene {
    char directory[40], recording[64], second[64];
    dWorldID world;
    dSpaceID space;
    dJointGroupID contacts;
    dBodyID body[FILM_BODIES];
    dJointID joint;
    dGeomID ball;
    dReal point[2][COUNT(cube_points)];
    double last_place[3]; // of the body that tumbles
    film_truth truth[FILM_STEPS];
} film_scene;

static film_scene filmed = {.directory = "/tmp/sprag_film_XXXXXX"};

static inline dBodyID film_body_at(dGeomID geom, double mass, double x, double y, double z)
{
    dMass m;
    dMassSetParameters(&m, mass, 0, 0, 0, 0.3, 0.5, 0.4, 0.05, -0.02, 0.1);
    return add_solid(filmed.world, geom, &m, x, y, z);
}

static inline void film_touch(void *data, dGeomID a, dGeomID b)
{
    film_truth *truth = data;
    dContact contact[8];
    int count = dCollide(a, b, COUNT(contact), &contact[0].geom, sizeof contact[0]);
    for (int i = 0; i < count && (dGeomGetBody(a) || dGeomGetBody(b)); i++) {
        bool slides =
            dGeomGetBody(a) == filmed.body[SLIDES] || dGeomGetBody(b) == filmed.body[SLIDES];
        contact[i].surface =
            (dSurfaceParameters){.mode = dContactApprox1, .mu = slides ? 0.05 : 0.9};
        truth->depth = fmax(truth->depth, contact[i].geom.depth);
        truth->mean_depth += contact[i].geom.depth;
        truth->contacts++;
        dJointAttach(dJointCreateContact(filmed.world, filmed.contacts, &contact[i]),
                     dGeomGetBody(a), dGeomGetBody(b));
    }
}

static inline double film_energy(dBodyID body)
{
    dMass m;
    dVector3 spin, moment, at;
    const dReal *v = dBodyGetLinearVel(body), *w = dBodyGetAngularVel(body);
    dBodyGetMass(body, &m);
    dBodyVectorFromWorld(body, w[0], w[1], w[2], spin);
    for (int k = 0; k < 3; k++) {
        moment[k] = dCalcVectorDot3(&m.I[4 * (size_t)k], spin);
        at[k] = dBodyGetPosition(body)[k];
    }
    return (m.mass * dCalcVectorDot3(v, v) + dCalcVectorDot3(spin, moment)) / 2 -
           m.mass * dCalcVectorDot3(film_gravity, at);
}

static inline void film_step_scene(int step_number)
{
    film_truth *truth = &filmed.truth[step_number];
    dVector3 anchor[2];
    if (step_number == GOES) {
        dBodyDestroy(filmed.body[GOING]);
    }
    if (step_number == COMES) {
        filmed.body[COMING] = film_body_at(dCreateCapsule(filmed.space, 0.2, 0.5), 2, 6, 1, 9);
    }
    if (step_number == GROWS) {
        dGeomSphereSetRadius(filmed.ball, 0.3);
    }
    dSpaceCollide(filmed.space, truth, film_touch);
    truth->mean_depth /= truth->contacts;
    ck_assert_int_eq(dWorldStep(filmed.world, step), 1);
    dJointGroupEmpty(filmed.contacts);
    for (int i = 0; i < FILM_BODIES; i++) {
        bool is_there = i != KINEMATIC && (i != GOING || step_number < GOES) &&
                        (i != COMING || step_number >= COMES);
        truth->energy += is_there ? film_energy(filmed.body[i]) : 0;
    }
    dJointGetBallAnchor(filmed.joint, anchor[0]);
    dJointGetBallAnchor2(filmed.joint, anchor[1]);
    truth->gap = dCalcPointsDistance3(anchor[0], anchor[1]);
}

static inline void film_open(void)
{
    filmed.world = dWorldCreate();
    filmed.space = dSimpleSpaceCreate(0);
    filmed.contacts = dJointGroupCreate(0);
    dWorldSetGravity(filmed.world, film_gravity[0], film_gravity[1], film_gravity[2]);
    dCreatePlane(filmed.space, 0, 0, 1, 0);
    filmed.ball = dCreateSphere(filmed.space, 0.2);
    filmed.body[TUMBLES] = film_body_at(filmed.ball, 3, 2, -12, 9);
    dBodySetLinearVel(filmed.body[TUMBLES], 0.5, -3, 2);
    dBodySetAngularVel(filmed.body[TUMBLES], 30, 40, -50);
    dGeomSetOffsetPosition(filmed.ball, 0.1, 0.2, -0.3);
    filmed.body[KINEMATIC] = film_body_at(dCreateBox(filmed.space, 1, 1, 1), 7, 3, 3, 3);
    dBodySetKinematic(filmed.body[KINEMATIC]);
    dBodySetLinearVel(filmed.body[KINEMATIC], 1, 0, 0);
    filmed.body[GOING] = film_body_at(dCreateBox(filmed.space, 0.4, 0.5, 0.6), 4, -3, 2, 5);
    filmed.body[RESTS] = film_body_at(dCreateBox(filmed.space, 0.8, 0.8, 0.4), 5, -1, 1, 0.198);
    filmed.body[SLIDES] = film_body_at(dCreateBox(filmed.space, 0.8, 0.8, 0.4), 1, -3, 5, 0.2);
    dBodySetLinearVel(filmed.body[SLIDES], 2, 0, 0);
    filmed.body[SWINGS] = film_body_at(dCreateCylinder(filmed.space, 0.2, 0.5), 2, 0, 5, 5);
    filmed.joint = dJointCreateBall(filmed.world, 0);
    dJointAttach(filmed.joint, filmed.body[SWINGS], 0);
    dJointSetBallAnchor(filmed.joint, 1, 5, 5);
    for (int i = 0; i < 2; i++) { // static meshes, the second of half the size
        for (int k = 0; k < COUNT(cube_points); k++) {
            filmed.point[i][k] = cube_points[k] / (1 + i);
        }
        dGeomID convex =
            dCreateConvex(filmed.space, cube_planes, 6, filmed.point[i], 8, cube_faces);
        dGeomSetPosition(convex, 0.1, -8 + 3 * i, 4);
    }
    configure(filmed.world, "method=stribeck");
}

// A world with one step and one body, without a geom, in a file of its own.
static inline void film_second(void)
{
    dWorldID second = dWorldCreate();
    dBodySetPosition(dBodyCreate(second), 2000, 0, 0);
    configure(second, "method=stribeck");
    ck_assert_int_eq(dWorldStep(second, step), 1);
    dWorldDestroy(second);
}

// Worlds of this process are recorded.
static inline void film_begin(void)
{
    ck_assert_ptr_nonnull(mkdtemp(filmed.directory));
    snprintf(filmed.recording, sizeof filmed.recording, "%s/run.sprec", filmed.directory);
    setup();
    setenv("SPRAG_RECORD", filmed.recording, 1);
}

static inline void film_setup(void)
{
    film_begin();
    film_open();
    for (int k = 0; k < FILM_STEPS; k++) {
        film_step_scene(k);
    }
    dCopyVector3(filmed.last_place, dBodyGetPosition(filmed.body[TUMBLES]));
    film_second();
    destroy_world(filmed.world, filmed.space, filmed.contacts);
}

static inline void film_teardown(void)
{
    char command[64];
    teardown();
    snprintf(command, sizeof command, "rm -rf %s", filmed.directory);
    ck_assert_int_eq(system(command), 0);
}

#endif
