// The rolling test of SimBenchmark (leggedrobotics/SimBenchmark): a plate on the floor with 25
// balls on it, pushed hard enough to slide, but not so hard that the balls slide on it. F is the
// push, M and m are the masses of plate and ball, n the balls, mu the friction of the floor.
// The friction force m b at its lowest point gives a ball the acceleration b and a spin, so that
// this point, and the plate with it, accelerates by 7/2 b. At all times
//
//     b = (F - mu (M + n m) g) / (7/2 M + n m)    of the balls
//     a = 7/2 b                                   of the plate
//
// The figure is SimBenchmark's: the mean over the run of the sum of the squared velocity errors of
// the plate and of one ball. ODE's friction pyramid is exact for the push along y. For the push at
// 60 deg to x ("xy") its friction bound is larger than mu N, and the plate does not move.
#include "scene.h"

#include <math.h>

enum { SIDE = 5, BALLS = SIDE * SIDE, PLATE = 0, BALL = 1 };

static const double plate_mass = 10, ball_mass = 1, push = 150; // kg, kg, N
static const double floor_friction = 0.4, ball_friction = 0.8;
static const double overlap = 2e-5; // m, at first; constant, because ERP is 0 as in SimBenchmark

typedef struct rolling {
    double sum; // m^2/s^2, squares of the errors so far
} rolling;

static void rolling_open(sprag_scene *scene)
{
    dWorldSetERP(scene->world, 0);
    sprag_scene_floor(scene);
    sprag_scene_box(scene, plate_mass, (const double[3]){20, 20, 1}, 0, 0, 0.5 - overlap);
    for (int i = 0; i < BALLS; i++) {
        sprag_scene_ball(scene, ball_mass, 0.5, 2 * (i / SIDE) - 4, 2 * (i % SIDE) - 4,
                         1.5 - 3 * overlap);
    }
}

static void rolling_surface(const sprag_scene *scene, dGeomID a, dGeomID b,
                            dSurfaceParameters *surface)
{
    (void)scene;
    int ball = dGeomGetClass(a) == dSphereClass || dGeomGetClass(b) == dSphereClass;
    surface->mu = ball ? ball_friction : floor_friction;
}

static double error_of(const sprag_scene *scene, int body, const double direction[2], double speed)
{
    const dReal *v = dBodyGetLinearVel(scene->body[body]);
    return pow(v[0] - speed * direction[0], 2) + pow(v[1] - speed * direction[1], 2) + v[2] * v[2];
}

// Measures before each step, as SimBenchmark does.
static void look_and_push(sprag_scene *scene, const double direction[2])
{
    rolling *r = scene->data;
    double net = push - floor_friction * (plate_mass + BALLS * ball_mass) * SPRAG_GRAVITY;
    double ball = net / (3.5 * plate_mass + BALLS * ball_mass), t = sprag_scene_time(scene);
    r->sum += error_of(scene, PLATE, direction, 3.5 * ball * t) +
              error_of(scene, BALL, direction, ball * t);
    dBodyAddForce(scene->body[PLATE], push * direction[0], push * direction[1], 0);
}

static int rolling_measure(const sprag_scene *scene, sprag_measure *measures)
{
    const rolling *r = scene->data;
    double mean = scene->steps_done ? r->sum / (double)scene->steps_done : NAN;
    measures[0] = (sprag_measure){"velocity error", "m2/s2", mean, 0, 1e-4};
    return 1;
}

static void y_before_step(sprag_scene *scene)
{
    look_and_push(scene, (const double[2]){0, 1});
}

static void xy_before_step(sprag_scene *scene)
{
    look_and_push(scene, (const double[2]){0.5, sqrt(0.75)});
}

const sprag_script sprag_rolling = {
    .data = sizeof(rolling),
    .contacts = 8,
    .friction = floor_friction,
    .open = rolling_open,
    .surface = rolling_surface,
    .before_step = y_before_step,
    .measure = rolling_measure,
};

const sprag_script sprag_rolling_xy = {
    .data = sizeof(rolling),
    .contacts = 8,
    .friction = floor_friction,
    .open = rolling_open,
    .surface = rolling_surface,
    .before_step = xy_before_step,
    .measure = rolling_measure,
};
