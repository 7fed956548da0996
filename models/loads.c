// Joints under load: a rope with a weight, a hinged bridge, a crane. Long runs of light bodies
// carry heavy ones, so that every joint is drawn tight. References are runs of stock at 0.2 ms.
#include "scene.h"

#include <math.h>

enum { LINKS = 50 };

static const double good_stretch = 0.01; // m

typedef struct loaded {
    dJointID joint[LINKS + 2];
    int joints;
    double error;              // m, largest so far
    double stretch;            // m, of a rope
    double crossed[2], across; // s, when the weight was below; m, where it was last
    int crossings;
    double lowest;                          // m, of a bridge's load
    double start;                           // m, its height at first
    double swing;                           // m, of a crane's load, from the trolley
    double potential, first, lowest_energy; // J, now, at first, and of a rope that hangs straight
    // of a swing, above the first, over what it has, by both readings; now and the largest
    double energy[2], won[2];
} loaded;

// A bar from one point to another in the plane y = 0.
static dBodyID add_bar(sprag_scene *scene, double mass, const double side[3], const double from[3],
                       const double to[3])
{
    dMatrix3 R;
    dBodyID bar =
        sprag_scene_box(scene, mass, side, (from[0] + to[0]) / 2, 0, (from[2] + to[2]) / 2);
    dRFromAxisAndAngle(R, 0, 1, 0, -atan2(to[2] - from[2], to[0] - from[0]));
    dBodySetRotation(bar, R);
    return bar;
}

static void join(sprag_scene *scene, dJointID joint, dBodyID a, dBodyID b, const double at[3])
{
    loaded *c = scene->data;
    c->joint[c->joints++] = joint;
    dJointAttach(joint, a, b);
    if (dJointGetType(joint) == dJointTypeBall) {
        dJointSetBallAnchor(joint, at[0], at[1], at[2]);
    } else {
        dJointSetHingeAnchor(joint, at[0], at[1], at[2]);
        dJointSetHingeAxis(joint, 0, 1, 0);
    }
}

static void note_error(const sprag_scene *scene)
{
    loaded *c = scene->data;
    for (int i = 0; i < c->joints; i++) {
        c->error = fmax(c->error, sprag_joint_error(c->joint[i]));
    }
}

// ---- a rope of 50 links of 10 cm, and a weight of so many links' mass at its end, at 45 degrees

static const double link_length = 0.1, link_mass = 0.1; // m, kg

// From `first`, which may be the world, along a direction.
static void add_rope(sprag_scene *scene, dBodyID first, const double along[3], double load)
{
    dBodyID before = first;
    for (int i = 0; i <= LINKS; i++) {
        double from[3], to[3];
        for (int k = 0; k < 3; k++) {
            from[k] = i * link_length * along[k];
            to[k] = (i + 1) * link_length * along[k];
        }
        dBodyID body =
            i < LINKS
                ? add_bar(scene, link_mass, (const double[3]){link_length, 0.02, 0.02}, from, to)
                : sprag_scene_ball(scene, load * link_mass, 0.1, from[0], from[1], from[2]);
        join(scene, dJointCreateBall(scene->world, 0), body, before, from);
        before = body;
    }
}

static double potential_of(const sprag_scene *scene)
{
    double sum = 0;
    for (int i = 0; i < scene->bodies; i++) {
        dMass m;
        dBodyGetMass(scene->body[i], &m);
        sum += m.mass * SPRAG_GRAVITY * dBodyGetPosition(scene->body[i])[2];
    }
    return sum;
}

static void rope_open(sprag_scene *scene)
{
    loaded *c = scene->data;
    add_rope(scene, 0, (const double[3]){M_SQRT1_2, 0, -M_SQRT1_2}, scene->model->size);
    c->across = LINKS * link_length * M_SQRT1_2;
    c->first = c->potential = potential_of(scene);
    c->lowest_energy = c->first / M_SQRT1_2;
}

// The velocity is that of the middle of a step, as in the semi-implicit Euler step of ODE, whose
// height is the mean of both its ends; or, under ess, that of the end. What is won is so by both.
static void note_energy(const sprag_scene *scene)
{
    loaded *c = scene->data;
    const double after = potential_of(scene), kinetic = scene->energy - after;
    const double potential[2] = {(c->potential + after) / 2, after};
    for (int i = 0; i < 2; i++) {
        c->energy[i] = (kinetic + potential[i] - c->first) / (c->first - c->lowest_energy);
        c->won[i] = fmax(c->won[i], c->energy[i]);
    }
    c->potential = after;
}

static void rope_after_step(sprag_scene *scene)
{
    loaded *c = scene->data;
    const dReal *at = dBodyGetPosition(scene->body[LINKS]);
    double length = sprag_distance(at, (const dReal[3]){0, 0, 0}), h = scene->step;
    c->stretch = fmax(c->stretch, length - LINKS * link_length);
    if (c->across * at[0] < 0 && c->crossings < 2) {
        double part = c->across / (c->across - at[0]);
        c->crossed[c->crossings++] = sprag_scene_time(scene) - h + part * h;
    }
    c->across = at[0];
    note_energy(scene);
    note_error(scene);
}

static int rope_measure(const sprag_scene *scene, sprag_measure *measures)
{
    static const int load[] = {1, 10, 100, 1000};
    static const double half_period[] = {1.92521, 2.04432, 2.25781, 2.32307}; // s
    const loaded *c = scene->data;
    double exact = NAN;
    for (int i = 0; i < 4; i++) {
        exact = scene->model->size == load[i] ? half_period[i] : exact;
    }
    double found = c->crossings == 2 ? c->crossed[1] - c->crossed[0] : NAN;
    measures[0] = (sprag_measure){"stretch", "m", c->stretch, 0, good_stretch};
    measures[1] = (sprag_measure){"half period", "s", found, exact, 1e-3 * found};
    measures[2] = (sprag_measure){"joint error", "m", c->error, 0, good_stretch};
    measures[3] = (sprag_measure){"energy won", "", fmin(c->won[0], c->won[1]), 0, 1e-4};
    const double lost = -fmax(c->energy[0], c->energy[1]);
    measures[4] = (sprag_measure){"energy lost", "", fmax(0, lost), 0, 0.02};
    return 5;
}

const sprag_script sprag_rope = {
    .data = sizeof(loaded),
    .open = rope_open,
    .after_step = rope_after_step,
    .measure = rope_measure,
};

// ---- 50 hinged planks between two ends at 95 % of their length, and a load of so many planks

static const double plank = 0.2, half_angle = 0.55298; // m; rad, of the arc at its ends

static void bridge_open(sprag_scene *scene)
{
    double at[LINKS + 1][3] = {{0}};
    dWorldID world = scene->world;
    for (int i = 0; i < LINKS; i++) {
        double angle = half_angle * ((2 * i + 1.0) / LINKS - 1);
        at[i + 1][0] = at[i][0] + plank * cos(angle);
        at[i + 1][2] = at[i][2] + plank * sin(angle);
        dBodyID body = add_bar(scene, 1, (const double[3]){plank, 0.8, 0.04}, at[i], at[i + 1]);
        join(scene, dJointCreateHinge(world, 0), body, i > 0 ? scene->body[i - 1] : 0, at[i]);
    }
    const double *middle = at[LINKS / 2];
    join(scene, dJointCreateHinge(world, 0), scene->body[LINKS - 1], 0, at[LINKS]);
    dBodyID load = sprag_scene_ball(scene, scene->model->size, 0.2, middle[0], 0, middle[2]);
    join(scene, dJointCreateBall(world, 0), load, scene->body[LINKS / 2], middle);
    ((loaded *)scene->data)->start = middle[2];
}

static void bridge_after_step(sprag_scene *scene)
{
    loaded *c = scene->data;
    c->lowest = fmin(c->lowest, dBodyGetPosition(scene->body[LINKS])[2] - c->start);
    note_error(scene);
}

static int bridge_measure(const sprag_scene *scene, sprag_measure *measures)
{
    static const int load[] = {10, 100, 1000};
    static const double lowest[] = {-0.1674, -0.2143, -0.2159}; // m
    const loaded *c = scene->data;
    double exact = NAN;
    for (int i = 0; i < 3; i++) {
        exact = scene->model->size == load[i] ? lowest[i] : exact;
    }
    measures[0] = (sprag_measure){"sag of the load", "m", c->lowest, exact, 0.05};
    measures[1] = (sprag_measure){"joint error", "m", c->error, 0, 1e-3};
    return 2;
}

const sprag_script sprag_bridge = {
    .data = sizeof(loaded),
    .open = bridge_open,
    .after_step = bridge_after_step,
    .measure = bridge_measure,
};

// ---- a trolley that starts at once, and a load of 100 kg on a cable of 5 m and 5 kg

static const double trolley_speed = 1, crane_swing = 0.714702; // m/s, m

static void crane_open(sprag_scene *scene)
{
    dBodyID trolley = sprag_scene_cube(scene, 1, 0.2, 0, 0, 0.1);
    dBodySetKinematic(trolley);
    dBodySetLinearVel(trolley, trolley_speed, 0, 0);
    add_rope(scene, trolley, (const double[3]){0, 0, -1}, 1000);
}

static void crane_after_step(sprag_scene *scene)
{
    loaded *c = scene->data;
    const dReal *load = dBodyGetPosition(scene->body[1 + LINKS]);
    const dReal *trolley = dBodyGetPosition(scene->body[0]);
    const dReal top[3] = {trolley[0], 0, 0};
    c->swing = fmax(c->swing, load[0] - trolley[0]);
    c->stretch = fmax(c->stretch, sprag_distance(load, top) - LINKS * link_length);
    note_error(scene);
}

static int crane_measure(const sprag_scene *scene, sprag_measure *measures)
{
    const loaded *c = scene->data;
    measures[0] = (sprag_measure){"swing ahead", "m", c->swing, crane_swing, 0.01 * crane_swing};
    measures[1] = (sprag_measure){"stretch", "m", c->stretch, 0, good_stretch};
    // The trolley starts at once, and no velocity before the step tells that way of the first link.
    const double start = pow(scene->step * trolley_speed, 2) / (2 * link_length);
    measures[2] = (sprag_measure){"joint error", "m", c->error, 0, fmax(1e-3, start)};
    return 3;
}

const sprag_script sprag_crane = {
    .data = sizeof(loaded),
    .open = crane_open,
    .after_step = crane_after_step,
    .measure = crane_measure,
};
