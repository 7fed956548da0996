// Scenes of games, with many bodies that fall, lie, lean and hang on each other: a row of dominoes,
// a tower of loose blocks, a wrecking ball in a wall of bricks, ragdolls that form a heap, a bowl,
// and a car among crates. There is no closed form for any of them; their figures are what should be
// zero (penetration, joint error, creep at rest) and what two steppers can be compared by.
#include "scene.h"

#include <math.h>

// ---- dominoes on a curve; the first one is pushed over

static const double domino[3] = {0.02, 0.08, 0.16}, domino_distance = 0.06; // m

typedef struct dominoes {
    double fallen; // s, when the last one has tilted by 30 degrees; 0: not yet
} dominoes;

static void dominoes_open(sprag_scene *scene)
{
    double x = 0, y = 0;
    sprag_scene_floor(scene);
    for (int i = 0; i < scene->model->size; i++) {
        double heading = 0.6 * sin(0.1 * i) + sprag_scene_draw(scene, -0.02, 0.02);
        dMatrix3 turned;
        dBodyID body = sprag_scene_box(scene, 0.15, domino, x, y, domino[2] / 2);
        dRFromAxisAndAngle(turned, 0, 0, 1, heading);
        dBodySetRotation(body, turned);
        x += domino_distance * cos(heading);
        y += domino_distance * sin(heading);
    }
    dBodySetAngularVel(scene->body[0], 0, 3, 0);
    dBodySetLinearVel(scene->body[0], 3 * domino[2] / 2, 0, 0);
}

static int stands(dBodyID body)
{
    return dBodyGetRotation(body)[10] > cos(30 * SPRAG_DEGREE);
}

static void dominoes_after_step(sprag_scene *scene)
{
    dominoes *d = scene->data;
    if (d->fallen == 0 && !stands(scene->body[scene->bodies - 1])) {
        d->fallen = sprag_scene_time(scene);
    }
}

static int dominoes_measure(const sprag_scene *scene, sprag_measure *measures)
{
    const dominoes *d = scene->data;
    int standing = 0;
    for (int i = 0; i < scene->bodies; i++) {
        standing += stands(scene->body[i]);
    }
    double way = (scene->bodies - 1) * domino_distance;
    measures[0] = (sprag_measure){"left standing", "bodies", standing, 0, 0.5};
    measures[1] = (sprag_measure){"front", "m/s", d->fallen > 0 ? way / d->fallen : NAN, NAN, NAN};
    return 2;
}

const sprag_script sprag_dominoes = {
    .data = sizeof(dominoes),
    .contacts = 8,
    .friction = 0.4,
    .open = dominoes_open,
    .after_step = dominoes_after_step,
    .measure = dominoes_measure,
};

// ---- jenga: 18 layers of three blocks, of which some are missing

enum { LAYERS = 18, BLOCKS = 3 * LAYERS };

static const double block[3] = {0.15, 0.05, 0.03}; // m

typedef struct jenga {
    dVector3 place[BLOCKS]; // where they were when settled
} jenga;

static void jenga_open(sprag_scene *scene)
{
    sprag_scene_floor(scene);
    for (int layer = 0; layer < LAYERS; layer++) {
        int missing = (int)sprag_scene_draw(scene, 0, 6); // 3 and more: no block
        missing = layer > 0 && layer < LAYERS - 1 ? missing : 3;
        for (int i = 0; i < 3; i++) {
            double off = (i - 1) * block[1], slid = sprag_scene_draw(scene, -1e-3, 1e-3);
            double turned[3] = {block[1], block[0], block[2]};
            if (i != missing) {
                sprag_scene_box(scene, 0.1, layer % 2 ? block : turned, layer % 2 ? slid : off,
                                layer % 2 ? off : slid, (layer + 0.5) * block[2]);
            }
        }
    }
}

static void jenga_after_step(sprag_scene *scene)
{
    jenga *j = scene->data;
    for (int i = 0; i < scene->bodies && sprag_scene_reaches(scene, scene->model->settled); i++) {
        dCopyVector3(j->place[i], dBodyGetPosition(scene->body[i]));
    }
}

static int jenga_measure(const sprag_scene *scene, sprag_measure *measures)
{
    const jenga *j = scene->data;
    double creep = 0, seconds = sprag_scene_time(scene) - scene->model->settled;
    for (int i = 0; i < scene->bodies; i++) {
        creep = fmax(creep, sprag_distance(dBodyGetPosition(scene->body[i]), j->place[i]));
    }
    measures[0] = (sprag_measure){"creep", "m", seconds > 0 ? creep : NAN, 0, SPRAG_GOOD_LENGTH};
    return 1;
}

const sprag_script sprag_jenga = {
    .data = sizeof(jenga),
    .contacts = 8,
    .friction = 0.5,
    .open = jenga_open,
    .after_step = jenga_after_step,
    .measure = jenga_measure,
};

// ---- a ball of 500 kg on a chain against a wall of bricks

enum { BRICKS_MAX = 1000, LINKS = 5 };

static const double brick[3] = {0.4, 0.2, 0.2}, hook = 3.5, link = 0.5; // m

typedef struct wreck {
    dJointID joint[LINKS + 1];
    dVector3 place[BRICKS_MAX];
    int bricks;
    double error; // m, largest so far
} wreck;

static void wreck_open(sprag_scene *scene)
{
    wreck *w = scene->data;
    double angle = 70 * SPRAG_DEGREE + sprag_scene_draw(scene, -0.05, 0.05);
    sprag_scene_floor(scene);
    w->bricks = scene->model->size;
    int in_course = (int)fmax(1, round(sqrt(2.0 * w->bricks))); // about twice as many as courses
    for (int i = 0; i < w->bricks; i++) {
        int course = i / in_course;
        double x = (i % in_course - in_course / 2 + (course % 2 ? 0.5 : 0)) * brick[0];
        sprag_scene_box(scene, 30, brick, x, 0, (course + 0.5) * brick[2]);
        dCopyVector3(w->place[i], dBodyGetPosition(scene->body[i]));
    }
    dBodyID above = 0;
    for (int i = 0; i <= LINKS; i++) {
        double down = i < LINKS ? (i + 0.5) * link : LINKS * link + 0.4;
        double y = -down * sin(angle) - 0.5, z = hook - down * cos(angle);
        dMatrix3 turned;
        dBodyID body = i < LINKS
                           ? sprag_scene_box(scene, 5, (const double[3]){0.05, 0.05, link}, 0, y, z)
                           : sprag_scene_ball(scene, 500, 0.4, 0, y, z);
        dRFromAxisAndAngle(turned, 1, 0, 0, -angle);
        dBodySetRotation(body, turned);
        w->joint[i] = dJointCreateBall(scene->world, 0);
        dJointAttach(w->joint[i], body, above);
        dJointSetBallAnchor(w->joint[i], 0, -i * link * sin(angle) - 0.5,
                            hook - i * link * cos(angle));
        above = body;
    }
}

static void wreck_after_step(sprag_scene *scene)
{
    wreck *w = scene->data;
    for (int i = 0; i <= LINKS; i++) {
        w->error = fmax(w->error, sprag_joint_error(w->joint[i]));
    }
}

static int wreck_measure(const sprag_scene *scene, sprag_measure *measures)
{
    const wreck *w = scene->data;
    int moved = 0;
    for (int i = 0; i < w->bricks; i++) {
        moved += sprag_distance(dBodyGetPosition(scene->body[i]), w->place[i]) > brick[1] / 4;
    }
    measures[0] = (sprag_measure){"moved bricks", "bodies", moved, NAN, NAN};
    measures[1] = (sprag_measure){"joint error", "m", w->error, 0, SPRAG_GOOD_LENGTH};
    return 2;
}

const sprag_script sprag_wreck = {
    .data = sizeof(wreck),
    .contacts = 8,
    .friction = 0.6,
    .size_max = BRICKS_MAX,
    .open = wreck_open,
    .after_step = wreck_after_step,
    .measure = wreck_measure,
};

// ---- ragdolls of eleven bodies, which fall upon each other

enum { PARTS = 11, DOLLS_MAX = 64 };

typedef struct part {
    double half[3];   // m; a box; or {radius, 0, half length}: a capsule along z
    double at[3];     // m, centre, of a figure that stands
    double mass;      // kg
    int on;           // the part that it hangs on; itself: none
    double joint[3];  // m, place of the joint
    char kind;        // 'h': hinge about y, 'u': universal about x and y, 'b': ball
    double low, high; // rad, stops of a hinge
} part;

static const part figure[PARTS] = {
    {{0.10, 0.15, 0.08}, {0, 0, 0.98}, 12, 0, {0}, 0, 0, 0},              // pelvis
    {{0.10, 0.17, 0.19}, {0, 0, 1.27}, 25, 0, {0, 0, 1.07}, 'u', 0, 0},   // chest
    {{0.10, 0, 0.01}, {0, 0, 1.60}, 5, 1, {0, 0, 1.48}, 'b', 0, 0},       // head
    {{0.05, 0, 0.10}, {0, 0.25, 1.28}, 2, 1, {0, 0.25, 1.41}, 'u', 0, 0}, // upper arms
    {{0.05, 0, 0.10}, {0, -0.25, 1.28}, 2, 1, {0, -0.25, 1.41}, 'u', 0, 0},
    {{0.04, 0, 0.10}, {0, 0.25, 1.00}, 1.5, 3, {0, 0.25, 1.14}, 'h', 0, 2.2}, // lower arms
    {{0.04, 0, 0.10}, {0, -0.25, 1.00}, 1.5, 4, {0, -0.25, 1.14}, 'h', 0, 2.2},
    {{0.07, 0, 0.14}, {0, 0.10, 0.70}, 8, 0, {0, 0.10, 0.90}, 'u', 0, 0}, // thighs
    {{0.07, 0, 0.14}, {0, -0.10, 0.70}, 8, 0, {0, -0.10, 0.90}, 'u', 0, 0},
    {{0.05, 0, 0.16}, {0, 0.10, 0.28}, 4, 7, {0, 0.10, 0.49}, 'h', -2.2, 0}, // shins
    {{0.05, 0, 0.16}, {0, -0.10, 0.28}, 4, 8, {0, -0.10, 0.49}, 'h', -2.2, 0},
};

typedef struct ragdolls {
    dJointID joint[DOLLS_MAX * PARTS];
    int joints;
    double error; // m, largest so far
} ragdolls;

static dJointID part_joint(sprag_scene *scene, const part *p, dBodyID body, dBodyID on,
                           const double shift[3])
{
    double x = p->joint[0] + shift[0], y = p->joint[1] + shift[1], z = p->joint[2] + shift[2];
    dJointID joint;
    switch (p->kind) {
    case 'h':
        joint = dJointCreateHinge(scene->world, 0);
        dJointAttach(joint, body, on);
        dJointSetHingeAnchor(joint, x, y, z);
        dJointSetHingeAxis(joint, 0, 1, 0);
        dJointSetHingeParam(joint, dParamLoStop, p->low);
        dJointSetHingeParam(joint, dParamHiStop, p->high);
        return joint;
    case 'u':
        joint = dJointCreateUniversal(scene->world, 0);
        dJointAttach(joint, on, body);
        dJointSetUniversalAnchor(joint, x, y, z);
        dJointSetUniversalParam(joint, dParamLoStop, -0.6); // about x
        dJointSetUniversalParam(joint, dParamHiStop, 0.6);
        dJointSetUniversalParam(joint, dParamLoStop2, -1.2); // about y
        dJointSetUniversalParam(joint, dParamHiStop2, 1.2);
        return joint;
    default:
        joint = dJointCreateBall(scene->world, 0);
        dJointAttach(joint, body, on);
        dJointSetBallAnchor(joint, x, y, z);
        return joint;
    }
}

// joint: room for PARTS; returns how many.
static int add_figure(sprag_scene *scene, double x, double y, double z, dJointID *joint)
{
    int first = scene->bodies, joints = 0;
    const double shift[3] = {x, y, z};
    for (int i = 0; i < PARTS; i++) {
        const part *p = &figure[i];
        double at[3] = {p->at[0] + x, p->at[1] + y, p->at[2] + z};
        double side[3] = {2 * p->half[0], 2 * p->half[1], 2 * p->half[2]};
        dBodyID body = side[1] > 0 ? sprag_scene_box(scene, p->mass, side, at[0], at[1], at[2])
                                   : sprag_scene_capsule(scene, p->mass, p->half[0], side[2], at[0],
                                                         at[1], at[2]);
        if (p->on != i && !scene->failed) {
            joint[joints++] = part_joint(scene, p, body, scene->body[first + p->on], shift);
        }
    }
    return joints;
}

static void ragdolls_open(sprag_scene *scene)
{
    ragdolls *r = scene->data;
    sprag_scene_floor(scene);
    for (int i = 0; i < scene->model->size; i++) {
        double x = 0.5 * (i % 4 / 2) + sprag_scene_draw(scene, -0.1, 0.1);
        double y = 0.9 * (i % 2) + sprag_scene_draw(scene, -0.05, 0.05);
        r->joints += add_figure(scene, x, y, 0.5 + 1.8 * (i / 4), r->joint + r->joints);
        for (int k = scene->bodies - PARTS; k < scene->bodies; k++) {
            dBodySetAngularVel(scene->body[k], 0, 0, 0);
            dBodySetLinearVel(scene->body[k], sprag_scene_draw(scene, -0.5, 0.5), 0, 0);
        }
    }
}

static void ragdolls_after_step(sprag_scene *scene)
{
    ragdolls *r = scene->data;
    for (int i = 0; i < r->joints; i++) {
        r->error = fmax(r->error, sprag_joint_error(r->joint[i]));
    }
}

static int ragdolls_measure(const sprag_scene *scene, sprag_measure *measures)
{
    const ragdolls *r = scene->data;
    measures[0] = (sprag_measure){"joint error", "m", r->error, 0, SPRAG_GOOD_LENGTH};
    return 1;
}

const sprag_script sprag_ragdolls = {
    .data = sizeof(ragdolls),
    .contacts = 6,
    .friction = 0.6,
    .size_max = DOLLS_MAX,
    .open = ragdolls_open,
    .after_step = ragdolls_after_step,
    .measure = ragdolls_measure,
};

// ---- a car that drives into crates and brakes there, and a ragdoll that falls upon them

enum { CRATES = 30, WHEELS = 4, CAR_JOINTS = WHEELS + PARTS };

static const double crate = 0.4, tyre = 0.2;                       // m
static const double drive_until = 2, drive_speed = 8, torque = 20; // s, rad/s, N m

typedef struct yard {
    dJointID joint[CAR_JOINTS];
    int joints;
    double error; // m, largest so far, of the ragdoll
} yard;

static void add_car(sprag_scene *scene, double x)
{
    yard *d = scene->data;
    const double spring = 20000, damper = 2000; // N/m, N s/m
    dBodyID chassis = sprag_scene_box(scene, 200, (const double[3]){1.6, 0.7, 0.3}, x, 0, 0.4);
    for (int i = 0; i < WHEELS; i++) {
        double wx = x + (i < 2 ? 0.6 : -0.6), wy = i % 2 ? 0.5 : -0.5;
        dBodyID wheel = sprag_scene_ball(scene, 5, tyre, wx, wy, tyre);
        dJointID joint = sprag_scene_wheel(scene, chassis, wheel, spring, damper);
        d->joint[d->joints++] = joint;
        dJointSetHinge2Param(joint, dParamLoStop, 0);
        dJointSetHinge2Param(joint, dParamHiStop, 0);
        dJointSetHinge2Param(joint, dParamFMax2, torque);
        dJointSetHinge2Param(joint, dParamVel2, -drive_speed);
    }
}

static void yard_open(sprag_scene *scene)
{
    yard *d = scene->data;
    sprag_scene_floor(scene);
    add_car(scene, -2);
    for (int i = 0; i < CRATES; i++) {
        double x = 0.6 + 0.5 * (i % 3) + sprag_scene_draw(scene, -0.05, 0.05);
        double y = 0.5 * (i / 3 % 3 - 1) + sprag_scene_draw(scene, -0.05, 0.05);
        dMatrix3 turned;
        dBodyID body = sprag_scene_cube(scene, 10, crate, x, y, 0.4 + 0.6 * (i / 9));
        dRFromAxisAndAngle(turned, sprag_scene_draw(scene, -1, 1), sprag_scene_draw(scene, -1, 1),
                           1, sprag_scene_draw(scene, -0.5, 0.5));
        dBodySetRotation(body, turned);
    }
    d->joints += add_figure(scene, 1.1, 0, 2.5, d->joint + d->joints);
}

static void yard_before_step(sprag_scene *scene)
{
    yard *d = scene->data;
    double speed = sprag_scene_time(scene) < drive_until ? drive_speed : 0;
    for (int i = 0; i < WHEELS; i++) {
        dJointSetHinge2Param(d->joint[i], dParamVel2, -speed);
        dJointSetHinge2Param(d->joint[i], dParamFMax2, speed > 0 ? torque : 10 * torque);
    }
}

static void yard_after_step(sprag_scene *scene)
{
    yard *d = scene->data;
    for (int i = 0; i < d->joints; i++) {
        d->error = fmax(d->error, sprag_joint_error(d->joint[i]));
    }
}

static int yard_measure(const sprag_scene *scene, sprag_measure *measures)
{
    const yard *d = scene->data;
    measures[0] = (sprag_measure){"joint error", "m", d->error, 0, SPRAG_GOOD_LENGTH};
    return 1;
}

const sprag_script sprag_yard = {
    .data = sizeof(yard),
    .contacts = 8,
    .friction = 0.6,
    .open = yard_open,
    .before_step = yard_before_step,
    .after_step = yard_after_step,
    .measure = yard_measure,
};
