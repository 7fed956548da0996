// Dry friction of boxes: it holds a box on a slope, is equal in every direction, and stops a box
// that slides.
#include "scene.h"

#include <math.h>

// A box on a slope that friction holds: tan 20 deg = 0.364 < mu = 0.5. It must not move at all.

typedef struct rest {
    dVector3 place; // position at model->settled
} rest;

static void slope_open(sprag_scene *scene)
{
    const double angle = 20 * SPRAG_DEGREE, half = 0.05;
    const double normal[3] = {-sin(angle), 0, cos(angle)};
    dCreatePlane(scene->space, normal[0], normal[1], normal[2], 0);
    dBodyID box =
        sprag_scene_cube(scene, 1, 2 * half, half * normal[0], half * normal[1], half * normal[2]);
    dMatrix3 turned;
    dRFromAxisAndAngle(turned, 0, 1, 0, -angle);
    dBodySetRotation(box, turned);
}

static void slope_after_step(sprag_scene *scene)
{
    rest *r = scene->data;
    if (sprag_scene_reaches(scene, scene->model->settled)) {
        dCopyVector3(r->place, dBodyGetPosition(scene->body[0]));
    }
}

static int slope_measure(const sprag_scene *scene, sprag_measure *measures)
{
    const rest *r = scene->data;
    double drift = sprag_scene_time(scene) < scene->model->settled
                       ? NAN
                       : sprag_distance(dBodyGetPosition(scene->body[0]), r->place);
    measures[0] = (sprag_measure){"drift from 1 s on", "m", drift, 0, SPRAG_GOOD_LENGTH};
    return 1;
}

const sprag_script sprag_slope = {
    .data = sizeof(rest),
    .contacts = 8,
    .friction = 0.5,
    .open = slope_open,
    .after_step = slope_after_step,
    .measure = slope_measure,
};

// Four flat boxes. A force that grows pushes each at its centre of mass, in a direction of its own,
// until it slides. The friction coefficient follows from (F - m a) / (m g), averaged while the box
// gets from slow_speed, above which no method takes it for sticking, to fast_speed, at which the
// force is hardly larger than at the start. ODE's tangents lie along the axes of the world here, so
// that its friction pyramid gives mu / cos(angle).

enum { PUSHES = 4 };

static const double push_angle[PUSHES] = {0, 15, 30, 45}; // deg
static const double push_mass = 1, push_friction = 0.5;
static const double push_rate = 0.05; // of the weight, per s

// A box that loses its contact forces for a step, as under stock ODE, gets from slow to fast within
// this time. The push alone takes longer.
static const double slow_speed = 2e-3, fast_speed = 2e-2; // m/s
static const double knock = 0.1;                          // s

typedef struct pushed {
    double started, speed_started; // s, m/s: the last time at which it was slow
    double pushed;                 // N s, impulse of the push since then
    double coefficient;            // friction force over weight, 0 until measured
} pushed;

static void push_open(sprag_scene *scene)
{
    sprag_scene_floor(scene);
    for (int i = 0; i < PUSHES; i++) {
        sprag_scene_box(scene, push_mass, (const double[3]){0.4, 0.4, 0.1}, 0, 2 * i, 0.05);
    }
}

// N, push on a box; it begins at model->settled.
static double push_force(const sprag_scene *scene)
{
    double t = sprag_scene_time(scene) - scene->model->settled;
    return t < 0 ? 0 : push_mass * SPRAG_GRAVITY * push_rate * t;
}

static void push_before_step(sprag_scene *scene)
{
    pushed *p = scene->data;
    for (int i = 0; i < PUSHES; i++) {
        double angle = push_angle[i] * SPRAG_DEGREE, force = push_force(scene);
        if (p[i].coefficient == 0) {
            dBodyAddForce(scene->body[i], force * cos(angle), force * sin(angle), 0);
            p[i].pushed += force * scene->step;
        }
    }
}

static void push_after_step(sprag_scene *scene)
{
    pushed *p = scene->data;
    for (int i = 0; i < PUSHES; i++) {
        double angle = push_angle[i] * SPRAG_DEGREE;
        const dReal *v = dBodyGetLinearVel(scene->body[i]);
        double speed = v[0] * cos(angle) + v[1] * sin(angle), now = sprag_scene_time(scene);
        if (p[i].coefficient > 0) {
            continue;
        }
        if (speed < slow_speed || (speed > fast_speed && now - p[i].started < knock)) {
            p[i] = (pushed){.started = now, .speed_started = speed};
        } else if (speed > fast_speed) {
            double lost = p[i].pushed - push_mass * (speed - p[i].speed_started);
            p[i].coefficient = lost / (push_mass * SPRAG_GRAVITY * (now - p[i].started));
        }
    }
}

static int push_measure(const sprag_scene *scene, sprag_measure *measures)
{
    static const char *const name[PUSHES] = {"friction at 0 deg", "friction at 15 deg",
                                             "friction at 30 deg", "friction at 45 deg"};
    const pushed *p = scene->data;
    for (int i = 0; i < PUSHES; i++) {
        measures[i] = (sprag_measure){name[i], "", p[i].coefficient > 0 ? p[i].coefficient : NAN,
                                      push_friction, 0.01 * push_friction};
    }
    return PUSHES;
}

const sprag_script sprag_push = {
    .data = PUSHES * sizeof(pushed),
    .contacts = 8,
    .friction = push_friction,
    .open = push_open,
    .before_step = push_before_step,
    .after_step = push_after_step,
    .measure = push_measure,
};

// A box that slides until friction stops it, after v^2 / (2 mu g). Semi-implicit Euler moves by the
// speed at the end of each step, so that it falls short of that by up to v h / 2. The distance of
// an exact semi-implicit Euler step is known too; the difference to it is the error of the solver.

static const double slide_speed = 2, slide_friction = 0.3; // m/s

static void slide_open(sprag_scene *scene)
{
    sprag_scene_floor(scene);
    dBodyID box = sprag_scene_box(scene, 1, (const double[3]){0.4, 0.4, 0.1}, 0, 0, 0.05);
    dBodySetLinearVel(box, slide_speed, 0, 0);
}

static int slide_measure(const sprag_scene *scene, sprag_measure *measures)
{
    double brake = slide_friction * SPRAG_GRAVITY, h = scene->step;
    double exact = slide_speed * slide_speed / (2 * brake), euler = 0;
    for (double v = slide_speed - brake * h; v > 0; v -= brake * h) {
        euler += v * h;
    }
    double way = dBodyGetPosition(scene->body[0])[0];
    measures[0] = (sprag_measure){"stopping distance", "m", way, exact,
                                  slide_speed * h / 2 + SPRAG_GOOD_LENGTH};
    measures[1] = (sprag_measure){"the same, of Euler's", "m", way, euler, SPRAG_GOOD_LENGTH};
    return 2;
}

const sprag_script sprag_slide = {
    .contacts = 8,
    .friction = slide_friction,
    .open = slide_open,
    .measure = slide_measure,
};
