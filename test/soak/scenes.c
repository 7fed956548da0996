// Scenes that go on for hours: a pile whose bodies are destroyed and made again, and a car that
// drives over hills and parks. Both repeat themselves every 20 s, and every time in another way.
// Creep: how far a body has moved in the last seconds of a period, if it was slow all the time. The
// third scene, the gripper, is a model.
#include "soak.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "scene.h"

static const double period = 20; // s

static long steps_of(const sprag_scene *scene, double seconds)
{
    return lround(seconds / scene->step);
}

// Has the period reached this time?
static bool is_at(const sprag_scene *scene, double t)
{
    return scene->steps_done % steps_of(scene, period) == steps_of(scene, t);
}

// ---- creep

enum { WATCHED_MAX = 10 };

static const double resting_speed = 1e-4; // m/s

typedef struct watch {
    dVector3 at[WATCHED_MAX]; // m, where the bodies were when they should rest
    bool rests[WATCHED_MAX];  // since then
    long rested, crept;       // bodies and periods; those of more than a good length
    double creep;             // m, largest so far
} watch;

static void watch_begin(watch *w, const sprag_scene *scene)
{
    for (int i = 0; i < scene->bodies; i++) {
        memcpy(w->at[i], dBodyGetPosition(scene->body[i]), sizeof w->at[i]);
        w->rests[i] = true;
    }
}

// m/s; no point of the body is faster. A box that two points hold spins about the line through
// them, and hardly moves its centre.
static double largest_speed(dBodyID body)
{
    dReal box[6]; // about the centre
    dGeomGetAABB(dBodyGetFirstGeom(body), box);
    const dVector3 size = {box[1] - box[0], box[3] - box[2], box[5] - box[4]};
    return dCalcVectorLength3(dBodyGetLinearVel(body)) +
           dCalcVectorLength3(dBodyGetAngularVel(body)) * dCalcVectorLength3(size) / 2;
}

static void watch_step(watch *w, const sprag_scene *scene)
{
    for (int i = 0; i < scene->bodies; i++) {
        w->rests[i] &= largest_speed(scene->body[i]) < resting_speed;
    }
}

static void watch_end(watch *w, const sprag_scene *scene)
{
    for (int i = 0; i < scene->bodies; i++) {
        if (w->rests[i]) {
            double creep = sprag_distance(dBodyGetPosition(scene->body[i]), w->at[i]);
            w->creep = fmax(w->creep, creep);
            w->rested++;
            w->crept += creep > SPRAG_GOOD_LENGTH;
        }
    }
}

static int creep_measure(const sprag_scene *scene, sprag_measure *measures)
{
    const watch *w = scene->data; // the first member of all data here
    measures[0] = (sprag_measure){"creep", "m", w->creep, 0, SPRAG_GOOD_LENGTH};
    measures[1] = (sprag_measure){"bodies that rested", "", (double)w->rested, NAN, NAN};
    measures[2] = (sprag_measure){"of them crept", "", (double)w->crept, NAN, NAN};
    return 3;
}

// ---- boxes in a bin; every period the oldest half of them is destroyed and as many fall in

enum { BOXES = 8, RECYCLED = BOXES / 2 };

static void drop_box(sprag_scene *scene, int place)
{
    const double reach = 0.15; // m
    double side[3], x = sprag_scene_draw(scene, -reach, reach);
    double y = sprag_scene_draw(scene, -reach, reach), z = 1 + 0.4 * place;
    for (int k = 0; k < 3; k++) {
        side[k] = sprag_scene_draw(scene, 0.08, 0.2);
    }
    dBodyID body = sprag_scene_box(scene, 1000 * side[0] * side[1] * side[2], side, x, y, z);
    dQuaternion q;
    for (int k = 0; k < 4; k++) {
        q[k] = sprag_scene_draw(scene, -1, 1);
    }
    dNormalize4(q);
    dBodySetQuaternion(body, q);
}

static void pile_open(sprag_scene *scene)
{
    const double half = 0.3; // m
    sprag_scene_floor(scene);
    for (int k = 0; k < 4; k++) {
        double along = k % 2 ? 1 : -1;
        dCreatePlane(scene->space, k < 2 ? along : 0, k < 2 ? 0 : along, 0, -half);
    }
    for (int i = 0; i < BOXES; i++) {
        drop_box(scene, i);
    }
}

static void recycle(sprag_scene *scene)
{
    for (int i = 0; i < RECYCLED; i++) {
        dGeomDestroy(dBodyGetFirstGeom(scene->body[i]));
        dBodyDestroy(scene->body[i]);
    }
    scene->bodies -= RECYCLED;
    memmove(scene->body, scene->body + RECYCLED, (size_t)scene->bodies * sizeof *scene->body);
    for (int i = 0; i < RECYCLED; i++) {
        drop_box(scene, i);
    }
}

static void pile_after_step(sprag_scene *scene)
{
    const double rests = 10; // s
    watch_step(scene->data, scene);
    if (is_at(scene, rests)) {
        watch_begin(scene->data, scene);
    } else if (is_at(scene, 0)) {
        watch_end(scene->data, scene);
        recycle(scene);
    }
}

static const sprag_script pile = {
    .data = sizeof(watch),
    .contacts = 8,
    .friction = 0.5,
    .open = pile_open,
    .after_step = pile_after_step,
    .measure = creep_measure,
};

// ---- a car with sprung wheels on hills: it drives a circle, brakes and stands

enum { WHEELS = 4, CHASSIS = 0, FRONT = 2 }; // wheels 0 and 1 are in front

static const double wheel_radius = 0.2, spring = 4000, damper = 300;     // m, N/m, N s/m
static const double brakes_from = 10, rests_from = 15, brake = 50;       // s, s, N m
static const double drive_torque = 8, steer_torque = 20, steer_gain = 5; // N m, N m, 1/s

typedef struct car {
    watch watch;
    dHeightfieldDataID hills;
    dJointID wheel[WHEELS];
    double angle, speed; // rad, rad/s, of the steered and of the driven wheels
} car;

static dReal height(void *data, int x, int y)
{
    (void)data;
    return 0.15 * (sin(0.9 * x) + cos(0.7 * y));
}

static void add_hills(sprag_scene *scene)
{
    enum { SAMPLES = 41 };
    const double width = 40, thickness = 1; // m
    car *c = scene->data;
    dMatrix3 upright;
    c->hills = dGeomHeightfieldDataCreate();
    dGeomHeightfieldDataBuildCallback(c->hills, NULL, height, width, width, SAMPLES, SAMPLES, 1, 0,
                                      thickness, 0);
    dGeomID geom = dCreateHeightfield(scene->space, c->hills, 1);
    dRFromAxisAndAngle(upright, 1, 0, 0, M_PI / 2); // ODE's heights are along y
    dGeomSetRotation(geom, upright);
}

static void add_wheel(sprag_scene *scene, int i, double z)
{
    double x = i < FRONT ? 0.5 : -0.5, y = i % 2 ? 0.35 : -0.35;
    dBodyID body = sprag_scene_ball(scene, 2, wheel_radius, x, y, z);
    dJointID joint = sprag_scene_wheel(scene, scene->body[CHASSIS], body, spring, damper);
    if (i < FRONT) {
        dJointSetHinge2Param(joint, dParamFMax, steer_torque);
    } else {
        dJointSetHinge2Param(joint, dParamLoStop, 0);
        dJointSetHinge2Param(joint, dParamHiStop, 0);
    }
    ((car *)scene->data)->wheel[i] = joint;
}

static void draw_way(sprag_scene *scene)
{
    car *c = scene->data;
    c->angle = sprag_scene_draw(scene, 0.15, 0.35) * (sprag_scene_draw(scene, -1, 1) < 0 ? -1 : 1);
    c->speed = sprag_scene_draw(scene, 5, 15);
}

static void car_open(sprag_scene *scene)
{
    const double z = 1; // m, of the axles
    add_hills(scene);
    sprag_scene_box(scene, 20, (const double[3]){1.2, 0.4, 0.1}, 0, 0, z + 0.1);
    for (int i = 0; i < WHEELS; i++) {
        add_wheel(scene, i, z);
    }
    draw_way(scene);
}

// Puts the car back into the middle, upright: it may have come near the edge, or have turned over.
static void start_again(sprag_scene *scene)
{
    static const dQuaternion upright = {1};
    car *c = scene->data;
    for (int i = 0; i < scene->bodies; i++) {
        int wheel = i - 1;
        double x = i == CHASSIS ? 0 : wheel < FRONT ? 0.5 : -0.5;
        double y = i == CHASSIS ? 0 : wheel % 2 ? 0.35 : -0.35;
        dBodyID body = scene->body[i];
        dBodySetPosition(body, x, y, i == CHASSIS ? 1.1 : 1);
        dBodySetQuaternion(body, upright);
        dBodySetLinearVel(body, 0, 0, 0);
        dBodySetAngularVel(body, 0, 0, 0);
    }
    for (int i = 0; i < WHEELS; i++) {
        dJointSetHinge2Param(c->wheel[i], dParamVel2, 0);
    }
    draw_way(scene);
}

static void car_before_step(sprag_scene *scene)
{
    car *c = scene->data;
    bool brakes = scene->steps_done % steps_of(scene, period) >= steps_of(scene, brakes_from);
    for (int i = 0; i < WHEELS; i++) {
        if (i < FRONT) {
            double off = c->angle - dJointGetHinge2Angle1(c->wheel[i]);
            dJointSetHinge2Param(c->wheel[i], dParamVel, steer_gain * off);
        }
        dJointSetHinge2Param(c->wheel[i], dParamVel2, brakes ? 0 : -c->speed);
        dJointSetHinge2Param(c->wheel[i], dParamFMax2,
                             brakes      ? brake
                             : i < FRONT ? 0
                                         : drive_torque);
    }
}

static void car_after_step(sprag_scene *scene)
{
    car *c = scene->data;
    watch_step(&c->watch, scene);
    if (is_at(scene, rests_from)) {
        watch_begin(&c->watch, scene);
    } else if (is_at(scene, 0)) {
        watch_end(&c->watch, scene);
        start_again(scene);
    }
}

static const sprag_script drive = {
    .data = sizeof(car),
    .contacts = 8,
    .friction = 1,
    .open = car_open,
    .before_step = car_before_step,
    .after_step = car_after_step,
    .measure = creep_measure,
};

static const sprag_model models[] = {
    {"pile", "boxes in a bin, half of them new every 20 s", 0.01, 60, 0, 1, 0, &pile, 0},
    {"car", "four sprung wheels on hills", 0.01, 60, 0, 1, 0, &drive, 0},
};

const sprag_model *soak_scene(const char *name)
{
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        if (!strcmp(models[i].name, name)) {
            return &models[i];
        }
    }
    return strcmp(name, "gripper") ? NULL : sprag_model_find(name);
}
