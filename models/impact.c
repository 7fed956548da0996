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
