// Impacts: how high a ball bounces, and whether a fast one is stopped by a thin wall.
#include "scene.h"

#include <math.h>

// A ball dropped from 1 m. Its speeds before and after the first impact, both extrapolated along
// the flight to the height of touch, must have the ratio of the restitution. The figure does not
// depend on the time of the impact within its step.

static const double restitution = 0.8, bounce_radius = 0.1, bounce_drop = 1; // m

typedef struct bounce {
    double speed;   // m/s, at the height of touch, from the last step
    double ratio;   // rebound to impact, 0 until the first bounce
    double falling; // m/s, downwards, after the last step
} bounce;

static void bounce_open(sprag_scene *scene)
{
    sprag_scene_floor(scene);
    sprag_scene_ball(scene, 1, bounce_radius, 0, 0, bounce_radius + bounce_drop);
}

static void bounce_surface(const sprag_scene *scene, dGeomID a, dGeomID b,
                           dSurfaceParameters *surface)
{
    (void)scene, (void)a, (void)b;
    surface->mode |= dContactBounce;
    surface->bounce = restitution;
    surface->bounce_vel = 0.01;
}

static void bounce_after_step(sprag_scene *scene)
{
    bounce *b = scene->data;
    double height = dBodyGetPosition(scene->body[0])[2] - bounce_radius;
    double v = dBodyGetLinearVel(scene->body[0])[2];
    double speed = sqrt(fmax(0, v * v + 2 * SPRAG_GRAVITY * height));
    if (b->ratio == 0 && b->falling > 0 && v > 0) {
        b->ratio = speed / b->speed;
    }
    b->speed = speed;
    b->falling = -v;
}

static int bounce_measure(const sprag_scene *scene, sprag_measure *measures)
{
    const bounce *b = scene->data;
    measures[0] = (sprag_measure){"rebound over impact speed", "", b->ratio > 0 ? b->ratio : NAN,
                                  restitution, 0.01 * restitution};
    return 1;
}

const sprag_script sprag_bounce = {
    .data = sizeof(bounce),
    .contacts = 8,
    .friction = 0.5,
    .open = bounce_open,
    .surface = bounce_surface,
    .after_step = bounce_after_step,
    .measure = bounce_measure,
};

// Four balls of 5 cm radius, without gravity, each against a wall from x = 0.95 to x = 1.05. At
// steps of 10 ms ODE's collision first finds the three fast balls at x = 1.02, past the middle of
// the wall, and pushes them out at its back.

enum { BALLS = 4 };

static const double ball_speed[BALLS] = {5, 20, 50, 100}; // m/s
static const double wall_middle = 1;                      // m

static void wall_open(sprag_scene *scene)
{
    dWorldSetGravity(scene->world, 0, 0, 0);
    for (int i = 0; i < BALLS; i++) {
        dGeomSetPosition(dCreateBox(scene->space, 0.1, 1, 1), wall_middle, 2 * i, 0);
        dBodyID ball = sprag_scene_ball(scene, 1, 0.05, 0.02, 2 * i, 0);
        dBodySetLinearVel(ball, ball_speed[i], 0, 0);
    }
}

static int wall_measure(const sprag_scene *scene, sprag_measure *measures)
{
    int through = 0;
    for (int i = 0; i < BALLS; i++) {
        through += dBodyGetPosition(scene->body[i])[0] > wall_middle;
    }
    measures[0] = (sprag_measure){"passed through", "balls", through, 0, 0.5};
    return 1;
}

const sprag_script sprag_wall = {
    .contacts = 8,
    .friction = 0.5,
    .open = wall_open,
    .measure = wall_measure,
};

// The same balls, shot at plates of 10 cm that hang from hinges, each with the same momentum. A
// plate is hit at its centre, and swings as far as the impulse (1 + e) v / (1/m + d^2/I) takes it.

static const double plate[3] = {0.1, 1, 1}, plate_mass = 10;    // m, kg
static const double shot_momentum = 10, shot_restitution = 0.5; // kg m/s
static const double hinge_height = 1, muzzle = 0.3, apart = 2;  // m
static const double shot_radius = 0.05;                         // m

typedef struct cannon {
    double swung[BALLS]; // rad
} cannon;

static void cannon_open(sprag_scene *scene)
{
    for (int i = 0; i < BALLS; i++) {
        double mass = shot_momentum / ball_speed[i];
        dBodyID hung = sprag_scene_box(scene, plate_mass, plate, 0, apart * i, 0);
        dJointID hinge = dJointCreateHinge(scene->world, 0);
        dJointAttach(hinge, hung, 0);
        dJointSetHingeAnchor(hinge, 0, apart * i, hinge_height);
        dJointSetHingeAxis(hinge, 0, 1, 0);
        dBodyID ball = sprag_scene_ball(scene, mass, shot_radius, -muzzle, apart * i, 0);
        dBodySetGravityMode(ball, 0);
        dBodySetLinearVel(ball, ball_speed[i], 0, 0);
    }
}

static void cannon_surface(const sprag_scene *scene, dGeomID a, dGeomID b,
                           dSurfaceParameters *surface)
{
    (void)scene, (void)a, (void)b;
    surface->mode |= dContactBounce;
    surface->bounce = shot_restitution;
    surface->bounce_vel = 0.01;
}

static void cannon_after_step(sprag_scene *scene)
{
    cannon *c = scene->data;
    for (int i = 0; i < BALLS; i++) {
        const dReal *at = dBodyGetPosition(scene->body[2 * i]);
        c->swung[i] = fmax(c->swung[i], atan2(at[0], hinge_height - at[2]));
    }
}

// rad
static double exact_swing(double mass)
{
    double square = plate[0] * plate[0] + plate[2] * plate[2], d = hinge_height;
    double inertia = plate_mass * (square / 12 + d * d);
    double impulse = (1 + shot_restitution) * shot_momentum / mass / (1 / mass + d * d / inertia);
    double turn = impulse * d / inertia;
    return acos(1 - inertia * turn * turn / (2 * plate_mass * SPRAG_GRAVITY * d));
}

static int cannon_measure(const sprag_scene *scene, sprag_measure *measures)
{
    const cannon *c = scene->data;
    int through = 0;
    double worst = 1;
    for (int i = 0; i < BALLS; i++) {
        const dReal *hung = dBodyGetPosition(scene->body[2 * i]);
        through += dBodyGetPosition(scene->body[2 * i + 1])[0] > hung[0];
        double ratio = c->swung[i] / exact_swing(shot_momentum / ball_speed[i]);
        worst = fabs(ratio - 1) > fabs(worst - 1) ? ratio : worst;
    }
    measures[0] = (sprag_measure){"passed through", "balls", through, 0, 0.5};
    measures[1] = (sprag_measure){"swing over the exact one, worst", "", worst, 1, 0.01};
    return 2;
}

const sprag_script sprag_cannon = {
    .data = sizeof(cannon),
    .contacts = 8,
    .friction = 0,
    .open = cannon_open,
    .surface = cannon_surface,
    .after_step = cannon_after_step,
    .measure = cannon_measure,
};
