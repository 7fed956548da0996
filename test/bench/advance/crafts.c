// People's scenes: parts that are fitted, carried, sorted and stacked. Time beside dWorldStep at
// steps of 1 ms, collision included, and errors (mm) against exact answers at 10 and 1 ms.
#include <math.h>
#include <string.h>

#include "bench_advance.h"

typedef struct craft {
    const char *name;
    double seconds;
    double good; // mm
    sprag_script script;
    double (*error)(const sprag_scene *scene); // mm
} craft;

static void block(sprag_scene *scene, const double side[3], double x, double y, double z)
{
    dGeomSetPosition(dCreateBox(scene->space, side[0], side[1], side[2]), x, y, z);
}

static const dReal *place(const sprag_scene *scene, int body)
{
    return dBodyGetPosition(scene->body[body]);
}

// ---- peg: models/fits.c

// By what the later one of two pegs is above where it should be.
static double peg_error(const sprag_scene *scene)
{
    sprag_measure measure[SPRAG_MEASURES_MAX];
    double most = 0;
    sprag_scene_measure(scene, measure);
    for (int i = 0; i < 2; i++) {
        const double fall = fabs(measure[i].value - measure[i].exact);
        most = fmax(most, fall * SPRAG_GRAVITY * measure[i].exact);
    }
    return 1e3 * most;
}

// ---- drawer: 2 kg with 10 um of play is drawn at a constant speed, then let go

enum { DRAWER, HANDLE };

// low: how high it presses on its sides is not determined
static const double drawer[3] = {0.3, 0.2, 0.01}, drawer_play = 1e-5, aside = 0.05; // m
static const double drawer_mu = 0.3;
static const double draw_speed = 0.5, draw_time = 0.4; // m/s, s

static void drawer_open(sprag_scene *scene)
{
    static const double along[3] = {2, 1, 0.1}, beside[3] = {2, 0.1, 1};
    for (int side = -1; side <= 1; side += 2) {
        block(scene, along, 0.5, 0, side * (drawer[2] / 2 + 0.05 + drawer_play));
        block(scene, beside, 0.5, side * (drawer[1] / 2 + 0.05 + drawer_play), 0);
    }
    sprag_scene_box(scene, 2, drawer, 0, 0, -drawer_play);
    sprag_scene_box(scene, 0.1, (const double[3]){0.02, 0.02, 0.01}, 0.2, aside, 0);
    dJointID joint = dJointCreateFixed(scene->world, NULL);
    dJointAttach(joint, scene->body[DRAWER], scene->body[HANDLE]);
    dJointSetFixed(joint);
    for (int i = 0; i < 2; i++) {
        dBodySetLinearVel(scene->body[i], draw_speed, 0, 0);
    }
}

// A force beside the middle presses two corners on the sides: their friction adds to the floor's.
static void drawer_before_step(sprag_scene *scene)
{
    const double arm = aside * 2 / 2.1; // m, from the centre of mass
    const double share = 1 - 2 * drawer_mu * arm / drawer[0];
    if (sprag_scene_time(scene) < draw_time - 1e-9) {
        dBodyAddForce(scene->body[HANDLE], drawer_mu * 2.1 * SPRAG_GRAVITY / share, 0, 0);
    }
}

static double drawer_error(const sprag_scene *scene)
{
    const double slide = draw_speed * draw_speed / (2 * drawer_mu * SPRAG_GRAVITY);
    return 1e3 * fabs(place(scene, DRAWER)[0] - draw_speed * draw_time - slide);
}

// ---- screw: three teeth of a shaft in two bushings turn down a thread by its weight

enum { TURNS = 4, STEPS = 96 };

static const double pitch = 0.06, shaft = 0.015, tooth_at = 0.035, tooth = 0.004; // m
static const double from = 0.14, inertia = 0.07 * 0.07 / 2; // m, height of the lowest tooth; m^2
static dTriMeshDataID thread;

static void add_thread(sprag_scene *scene)
{
    static float at[2 * (TURNS * STEPS + 1)][3];
    static dTriIndex index[TURNS * STEPS * 6];
    for (int i = 0; i < 2 * (TURNS * STEPS + 1); i++) {
        const double angle = M_PI * (i - i % 2) / STEPS, r = tooth_at + (i % 2 ? 5e-4 : -5e-4);
        at[i][0] = (float)(r * cos(angle));
        at[i][1] = (float)(r * sin(angle));
        at[i][2] = (float)(pitch * angle / (2 * M_PI));
    }
    for (int i = 0; i < TURNS * STEPS * 6; i++) {
        static const int corner[6] = {0, 1, 3, 0, 3, 2};
        index[i] = (dTriIndex)(2 * (i / 6) + corner[i % 6]);
    }
    thread = thread ? thread : dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildSingle(thread, at, sizeof *at, 2 * (TURNS * STEPS + 1), index,
                                TURNS * STEPS * 6, 3 * sizeof *index);
    dCreateTriMesh(scene->space, thread, NULL, NULL, NULL);
}

static void screw_open(sprag_scene *scene)
{
    const double slope = pitch / (2 * M_PI * tooth_at), wall[3] = {0.1, 0.1, 0.02};
    const double away = shaft + 1e-4 + wall[0] / 2;
    dMass mass;
    add_thread(scene);
    for (int i = 0; i < 8; i++) {
        const double x = i % 2 ? away : -away;
        block(scene, wall, i & 2 ? x : 0, i & 2 ? 0 : x, i & 4 ? 0.3 : -0.05);
    }
    dBodyID body = sprag_scene_cylinder(scene, 0.5, shaft, 0.8, 0, 0, from);
    for (int i = 0; i < 3; i++) {
        const double angle = 2 * M_PI * i / 3, up = tooth * sqrt(1 + slope * slope) + 1e-5;
        dGeomID ball = dCreateSphere(scene->space, tooth);
        dGeomSetBody(ball, body);
        dGeomSetOffsetPosition(ball, tooth_at * cos(angle), tooth_at * sin(angle),
                               pitch * (2 + i / 3.0) - from + up);
    }
    dMassSetCylinderTotal(&mass, 0.5, 3, 0.07, 0.02);
    dBodySetMass(body, &mass);
}

// Without friction: m g p = (m p^2 + I) turn'', where p is the pitch over a whole turn.
static double screw_error(const sprag_scene *scene)
{
    const double p = pitch / (2 * M_PI), t = sprag_scene_time(scene); // m
    const double falls = SPRAG_GRAVITY * p * p / (p * p + inertia);
    return 1e3 * fabs(place(scene, 0)[2] - (from - falls * t * t / 2));
}

// ---- conveyor: 40 parts are laid on a belt, and queue before a stop

enum { PARTS = 40, LANES = 4, BELT = PARTS };

static const double belt_speed = 0.4, belt_mu = 0.5, apart = 0.2, part = 0.1; // m/s, m

static void conveyor_open(sprag_scene *scene)
{
    for (int i = 0; i < PARTS; i++) {
        const double side[3] = {part, 0.08 + 0.01 * (i % 3), 0.04 + 0.01 * (i % 5)};
        sprag_scene_box(scene, 0.2 + 0.1 * (i % 4), side, -apart * (i / LANES), 0.3 * (i % LANES),
                        side[2] / 2);
    }
    sprag_scene_box(scene, 1, (const double[3]){8, 1.4, 0.1}, -1, 0.45, -0.05);
    dBodySetKinematic(scene->body[BELT]);
    dBodySetLinearVel(scene->body[BELT], belt_speed, 0, 0);
    block(scene, (const double[3]){0.1, 1.4, 0.2}, 0.45, 0.45, 0.11);
}

// Where the stop holds the queue, and where the belt carries the others to.
static double conveyor_error(const sprag_scene *scene)
{
    const double late = belt_speed / (2 * belt_mu * SPRAG_GRAVITY);
    const double way = belt_speed * (sprag_scene_time(scene) - late);
    double most = 0;
    for (int i = 0; i < PARTS; i++) {
        const double free = way - apart * (i / LANES), queue = 0.4 - part * (0.5 + i / LANES);
        most = fmax(most, fabs(place(scene, i)[0] - fmin(free, queue)));
    }
    return 1e3 * most;
}

// ---- gripper: closes on a cube, lifts, carries and lowers it, and opens

enum { CARRIER, LEFT, RIGHT, CUBE };

static const double lift = 0.1, carry = 0.3, phase = 0.4, cube = 0.05; // m, s
enum { CLOSES, LIFTS, CARRIES, LOWERS, OPENS };

static void gripper_open(sprag_scene *scene)
{
    sprag_scene_floor(scene);
    sprag_scene_box(scene, 1, (const double[3]){0.3, 0.05, 0.02}, 0, 0, 0.2);
    for (int side = -1; side <= 1; side += 2) {
        sprag_scene_box(scene, 0.2, (const double[3]){0.02, 0.04, 0.15}, side * 0.045, 0, 0.09);
        dJointID slider = dJointCreateSlider(scene->world, NULL);
        dJointAttach(slider, scene->body[scene->bodies - 1], scene->body[CARRIER]);
        dJointSetSliderAxis(slider, 1, 0, 0);
    }
    dBodySetKinematic(scene->body[CARRIER]);
    sprag_scene_cube(scene, 0.3, cube, 0, 0, cube / 2);
}

static void gripper_before_step(sprag_scene *scene)
{
    const double t = sprag_scene_time(scene) + 1e-9;
    const int now = (int)(t / phase);
    // a bell of speed, exact in its sum over the steps of the phase
    const double bell = (1 - cos(2 * M_PI * (t + scene->step / 2 - now * phase) / phase)) / phase;
    const double up = now == LIFTS ? lift : now == LOWERS ? -lift : 0;
    const double squeeze = now < OPENS ? 10 : t < OPENS * phase + 0.05 ? -2 : 0;
    dBodySetLinearVel(scene->body[CARRIER], 0, now == CARRIES ? carry * bell : 0, up * bell);
    dBodyAddForce(scene->body[LEFT], squeeze, 0, 0);
    dBodyAddForce(scene->body[RIGHT], -squeeze, 0, 0);
}

static double gripper_error(const sprag_scene *scene)
{
    return 1e3 * sprag_distance(place(scene, CUBE), (const dReal[3]){0, carry, cube / 2});
}

// ---- feeder: a tray that shakes along a slope moves twelve parts on

enum { FED = 12, TRAY = FED };

static const double shakes = 8, swing = 0.006, slant = 0.35, fed_mu = 0.4; // 1/s, m, rad

static double shake(double t)
{
    return swing * (1 - cos(2 * M_PI * shakes * t));
}

static void feeder_open(sprag_scene *scene)
{
    for (int i = 0; i < FED; i++) {
        sprag_scene_box(scene, 0.1, (const double[3]){0.04, 0.04, 0.02}, 0.08 * (i / 2),
                        0.1 * (i % 2), 0.01);
    }
    sprag_scene_box(scene, 1, (const double[3]){3, 0.4, 0.02}, 0.5, 0.05, -0.01);
    dBodySetKinematic(scene->body[TRAY]);
}

static void feeder_before_step(sprag_scene *scene)
{
    const double t = sprag_scene_time(scene), h = scene->step;
    const double speed = (shake(t + h) - shake(t)) / h;
    dBodySetLinearVel(scene->body[TRAY], speed * cos(slant), 0, speed * sin(slant));
}

// m, way of a part, which the tray presses on at all times, in small steps.
static double fed_way(double seconds)
{
    const double h = 1e-6, w = 2 * M_PI * shakes;
    double x = 0, v = 0;
    for (double t = h / 2; t < seconds; t += h) {
        const double along = swing * w * sin(w * t), quicker = swing * w * w * cos(w * t);
        const double grip = fed_mu * (SPRAG_GRAVITY + quicker * sin(slant)) * h;
        const double lacks = along * cos(slant) + quicker * cos(slant) * h / 2 - v;
        v += fmax(-grip, fmin(grip, lacks));
        x += v * h;
    }
    return x;
}

static double feeder_error(const sprag_scene *scene)
{
    const double way = fed_way(sprag_scene_time(scene));
    double most = 0;
    for (int i = 0; i < FED; i++) {
        most = fmax(most, fabs(place(scene, i)[0] - 0.08 * (i / 2) - way));
    }
    return 1e3 * most;
}

// ---- house of cards: three floors of pairs that lean on each other, and cards across them

enum { FLOORS = 3, CARDS = FLOORS * (FLOORS + 1) + FLOORS * (FLOORS - 1) / 2 };

static const double card[3] = {0.0003, 0.063, 0.088}, card_mass = 0.0018; // m, kg
static const double lean = 0.25, hair = 5e-7;                             // rad, m
static double card_at[CARDS][3];                                          // m

static void cards_open(sprag_scene *scene)
{
    // half the height of a pair, and of its width at the foot, with the thickness of the cards
    const double tall = card[2] * cos(lean) + card[0] * sin(lean) + hair;
    const double out = card[2] / 2 * sin(lean) + card[0] / 2 * cos(lean) + hair / 2;
    const double apart_of_pairs = 4 * out + 2 * card[0];
    dMatrix3 R;
    sprag_scene_floor(scene);
    for (int f = 0; f < FLOORS; f++) {
        const double foot = f * (tall + card[0] + hair) + hair;
        for (int i = 0; i < FLOORS - f; i++) {
            const double x = apart_of_pairs * (i + f / 2.0);
            for (int side = -1; side <= 1; side += 2) {
                dBodyID leans =
                    sprag_scene_box(scene, card_mass, card, x + side * out, 0, foot + tall / 2);
                dRFromAxisAndAngle(R, 0, 1, 0, -side * lean);
                dBodySetRotation(leans, R);
            }
            if (i > 0) {
                const double flat[3] = {apart_of_pairs + 0.02, card[1], card[0]};
                sprag_scene_box(scene, card_mass, flat, x - apart_of_pairs / 2, 0,
                                foot + tall + card[0] / 2);
            }
        }
    }
    for (int i = 0; i < CARDS; i++) {
        memcpy(card_at[i], place(scene, i), sizeof card_at[i]);
    }
}

static double cards_error(const sprag_scene *scene)
{
    double most = 0;
    for (int i = 0; i < scene->bodies; i++) {
        most = fmax(most, sprag_distance(place(scene, i), card_at[i]));
    }
    return 1e3 * most;
}

// ---- the table

#define CRAFT(mu, name, before)                                                                    \
    {                                                                                              \
        .contacts = 8, .friction = mu, .open = name, .before_step = before                         \
    }

static const craft crafts[] = {
    {"peg:2", 0.3, 0.1, {0}, peg_error},
    {"peg:1000", 0.3, 0.1, {0}, peg_error},
    {"drawer", 1, 1, CRAFT(drawer_mu, drawer_open, drawer_before_step), drawer_error},
    {"screw", 0.7, 1, CRAFT(0, screw_open, NULL), screw_error},
    {"conveyor", 2, 1, CRAFT(belt_mu, conveyor_open, NULL), conveyor_error},
    {"gripper", 2.4, 1, CRAFT(0.6, gripper_open, gripper_before_step), gripper_error},
    {"feeder", 2, 1, CRAFT(fed_mu, feeder_open, feeder_before_step), feeder_error},
    {"cards", 2, 1, CRAFT(0.6, cards_open, NULL), cards_error},
};

// us per step of the scene, collision included. error: mm
static double run_craft(const craft *c, double step, const char *options, double *error)
{
    const sprag_model own = {
        .name = c->name, .step = step, .seconds = c->seconds, .script = &c->script};
    sprag_model known = c->script.open ? own : *sprag_model_find(c->name);
    bench_scene b;
    known.step = step;
    bench_open(&b, &known, options, 20);
    const double start = bench_cpu_us();
    const long steps = lround(c->seconds / step);
    for (long k = 0; k < steps; k++) {
        bench_step(&b);
    }
    const double us = (bench_cpu_us() - start) / (double)steps;
    *error = b.scene.nonfinite ? INFINITY : c->error(&b.scene);
    sprag_scene_close(&b.scene);
    return us;
}

void part_crafts(bool full)
{
    (void)full;
    for (size_t i = 0; i < sizeof crafts / sizeof *crafts; i++) {
        const craft *c = &crafts[i];
        double error[2], stock_error[2], stock[2];
        row_scene("%s", c->name);
        stock[0] = run_craft(c, 0.001, "method=ode-step", &stock_error[0]);
        stock[1] = run_craft(c, 0.01, "method=ode-step", &stock_error[1]);
        const double fine = run_craft(c, 0.001, advance_ours, &error[0]);
        const double coarse = run_craft(c, 0.01, advance_ours, &error[1]);
        row_at_most("time at 1 ms, over dWorldStep's", fine / stock[0], 3);
        row_report("time at 10 ms, over dWorldStep's", coarse / stock[1]);
        row_report("us/step at 1 ms", fine);
        row_at_most("error at 1 ms/mm", error[0], c->good);
        row_at_most("error at 10 ms/mm", error[1], c->good);
        row_report("dWorldStep's error at 1 ms/mm", stock_error[0]);
        row_report("dWorldStep's error at 10 ms/mm", stock_error[1]);
    }
}
