// Joints: a chain that falls from the horizontal, and a car on sprung wheels. The anchors of a
// joint on its two bodies must stay together, and only a motor may add energy.
#include "scene.h"

#include <math.h>

double sprag_joint_error(dJointID joint)
{
    dVector3 a, b, axis;
    switch (dJointGetType(joint)) {
    case dJointTypeBall:
        dJointGetBallAnchor(joint, a);
        dJointGetBallAnchor2(joint, b);
        return sprag_distance(a, b);
    case dJointTypeHinge:
        dJointGetHingeAnchor(joint, a);
        dJointGetHingeAnchor2(joint, b);
        return sprag_distance(a, b);
    case dJointTypeHinge2:
        dJointGetHinge2Anchor(joint, a);
        dJointGetHinge2Anchor2(joint, b);
        dJointGetHinge2Axis1(joint, axis);
        double along = axis[0] * (b[0] - a[0]) + axis[1] * (b[1] - a[1]) + axis[2] * (b[2] - a[2]);
        dAddScaledVectors3(b, b, axis, 1, -along);
        return sprag_distance(a, b);
    case dJointTypeUniversal:
        dJointGetUniversalAnchor(joint, a);
        dJointGetUniversalAnchor2(joint, b);
        return sprag_distance(a, b);
    default:
        return NAN;
    }
}

// Twenty links of 10 cm in a row along x. A joint attaches the end of the first one to the world.

enum { LINKS = 20 };

static const double link_length = 0.1, chain_height = 3; // m

typedef struct chain {
    dJointID joint[LINKS];
    double error; // m, largest so far
} chain;

static void add_links(sprag_scene *scene)
{
    for (int i = 0; i < LINKS; i++) {
        sprag_scene_box(scene, 0.1, (const double[3]){link_length, 0.02, 0.02},
                        (i + 0.5) * link_length, 0, chain_height);
    }
}

static void chain_open(sprag_scene *scene)
{
    chain *c = scene->data;
    add_links(scene);
    for (int i = 0; i < scene->bodies; i++) {
        c->joint[i] = dJointCreateBall(scene->world, 0);
        dJointAttach(c->joint[i], scene->body[i], i > 0 ? scene->body[i - 1] : 0);
        dJointSetBallAnchor(c->joint[i], i * link_length, 0, chain_height);
    }
}

// Hinges turn about y, the axis of the swing, and about z in turn.
static void chain_hinge_open(sprag_scene *scene)
{
    chain *c = scene->data;
    add_links(scene);
    for (int i = 0; i < scene->bodies; i++) {
        c->joint[i] = dJointCreateHinge(scene->world, 0);
        dJointAttach(c->joint[i], scene->body[i], i > 0 ? scene->body[i - 1] : 0);
        dJointSetHingeAnchor(c->joint[i], i * link_length, 0, chain_height);
        dJointSetHingeAxis(c->joint[i], 0, i % 2 == 0, i % 2 == 1);
    }
}

static void chain_after_step(sprag_scene *scene)
{
    chain *c = scene->data;
    for (int i = 0; i < scene->bodies; i++) {
        c->error = fmax(c->error, sprag_joint_error(c->joint[i]));
    }
}

static int chain_measure(const sprag_scene *scene, sprag_measure *measures)
{
    const chain *c = scene->data;
    measures[0] = (sprag_measure){"joint error", "m", c->error, 0, SPRAG_GOOD_LENGTH};
    return 1;
}

const sprag_script sprag_chain = {
    .data = sizeof(chain),
    .open = chain_open,
    .after_step = chain_after_step,
    .measure = chain_measure,
};

const sprag_script sprag_chain_hinge = {
    .data = sizeof(chain),
    .open = chain_hinge_open,
    .after_step = chain_after_step,
    .measure = chain_measure,
};

// A car drives along x until it has reached the speed of its motors, then turns left. Its wheels do
// not slip: its speed is theirs times their radius. ODE counts the turn of a hinge2's second body,
// the wheel, as negative about the axis.

enum { WHEELS = 4, CHASSIS = 0, FRONT = 2 }; // wheels 0 and 1 are in front

static const double wheel_radius = 0.2, wheel_speed = 20;             // m, rad/s
static const double drive_torque = 5, steer_torque = 20;              // N m
static const double spring = 4000, damper = 300;                      // N/m, N s/m
static const double turn_from = 8, turn_angle = -0.2, steer_gain = 5; // s, rad, 1/s

typedef struct car {
    dJointID wheel[WHEELS];
    double error;  // m, largest so far
    double speed;  // m/s, at the begin of the turn; 0 before
    double astray; // m, off to the side at that time
} car;

static void add_wheel(sprag_scene *scene, int i)
{
    double x = i < FRONT ? 0.5 : -0.5, y = i % 2 ? 0.35 : -0.35;
    dBodyID body = sprag_scene_ball(scene, 2, wheel_radius, x, y, wheel_radius);
    dJointID joint = sprag_scene_wheel(scene, scene->body[CHASSIS], body, spring, damper);
    if (i < FRONT) {
        dJointSetHinge2Param(joint, dParamFMax, steer_torque);
    } else {
        dJointSetHinge2Param(joint, dParamLoStop, 0);
        dJointSetHinge2Param(joint, dParamHiStop, 0);
        dJointSetHinge2Param(joint, dParamFMax2, drive_torque);
        dJointSetHinge2Param(joint, dParamVel2, -wheel_speed);
    }
    ((car *)scene->data)->wheel[i] = joint;
}

static void car_open(sprag_scene *scene)
{
    sprag_scene_floor(scene);
    sprag_scene_box(scene, 20, (const double[3]){1.2, 0.4, 0.1}, 0, 0, 0.3);
    for (int i = 0; i < WHEELS; i++) {
        add_wheel(scene, i);
    }
}

static void car_before_step(sprag_scene *scene)
{
    car *c = scene->data;
    double angle = sprag_scene_time(scene) < turn_from ? 0 : turn_angle;
    for (int i = 0; i < FRONT; i++) {
        double off = angle - dJointGetHinge2Angle1(c->wheel[i]);
        dJointSetHinge2Param(c->wheel[i], dParamVel, steer_gain * off);
    }
}

static void car_after_step(sprag_scene *scene)
{
    car *c = scene->data;
    for (int i = 0; i < WHEELS; i++) {
        c->error = fmax(c->error, sprag_joint_error(c->wheel[i]));
    }
    if (sprag_scene_reaches(scene, turn_from)) {
        c->speed = dBodyGetLinearVel(scene->body[CHASSIS])[0];
        c->astray = fabs(dBodyGetPosition(scene->body[CHASSIS])[1]);
    }
}

static int car_measure(const sprag_scene *scene, sprag_measure *measures)
{
    const car *c = scene->data;
    int told = sprag_scene_time(scene) >= turn_from;
    const dReal *v = dBodyGetLinearVel(scene->body[CHASSIS]);
    const dReal *w = dBodyGetAngularVel(scene->body[CHASSIS]);
    double exact = wheel_speed * wheel_radius, radius = hypot(v[0], v[1]) / w[2];
    measures[0] = (sprag_measure){"speed", "m/s", told ? c->speed : NAN, exact, 0.01 * exact};
    measures[1] =
        (sprag_measure){"off its track", "m", told ? c->astray : NAN, 0, SPRAG_GOOD_LENGTH};
    measures[2] = (sprag_measure){"turning radius", "m", told ? radius : NAN, NAN, NAN};
    measures[3] = (sprag_measure){"joint error", "m", c->error, 0, SPRAG_GOOD_LENGTH};
    return 4;
}

const sprag_script sprag_car = {
    .data = sizeof(car),
    .contacts = 8,
    .friction = 1,
    .open = car_open,
    .before_step = car_before_step,
    .after_step = car_after_step,
    .measure = car_measure,
};
