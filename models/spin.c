// Fast spin: a gyroscope on a ball joint and a top on the ground. Both precess about the vertical.
#include "scene.h"

#include <math.h>

typedef struct spinning {
    double gone, angle; // rad, of precession
    double lowest;      // m, of a gyroscope's centre
    double tilt;        // rad, largest of a top's axis
} spinning;

static dBodyID add_disc(sprag_scene *scene, int axis)
{
    dMass m;
    dBodyID body = sprag_scene_ball(scene, 1, 0.005, 0, 0, 0);
    dMassSetCylinderTotal(&m, 1, axis, 0.1, 0.02);
    dBodySetMass(body, &m);
    return body;
}

static void follow(spinning *c, double angle)
{
    c->gone += remainder(angle - c->angle, 2 * M_PI);
    c->angle = angle;
}

// ---- a disc on a level arm of 10 cm: m g l / (I3 w)

static const double arm = 0.1, gyroscope_spin = 100; // m, rad/s
static const double disc_moment = 0.005;             // kg m^2

static double gyroscope_rate(void)
{
    return SPRAG_GRAVITY * arm / (disc_moment * gyroscope_spin);
}

static void gyroscope_open(sprag_scene *scene)
{
    dBodyID disc = add_disc(scene, 1);
    dBodySetPosition(disc, arm, 0, 0);
    dBodySetAngularVel(disc, gyroscope_spin, 0, gyroscope_rate());
    dBodySetLinearVel(disc, 0, gyroscope_rate() * arm, 0);
    dJointID joint = dJointCreateBall(scene->world, 0);
    dJointAttach(joint, disc, 0);
    dJointSetBallAnchor(joint, 0, 0, 0);
}

static void gyroscope_after_step(sprag_scene *scene)
{
    spinning *c = scene->data;
    const dReal *at = dBodyGetPosition(scene->body[0]);
    c->lowest = fmin(c->lowest, at[2]);
    follow(c, atan2(at[1], at[0]));
}

static int gyroscope_measure(const sprag_scene *scene, sprag_measure *measures)
{
    const spinning *c = scene->data;
    double rate = gyroscope_rate();
    measures[0] = (sprag_measure){"precession", "rad/s", c->gone / sprag_scene_time(scene), rate,
                                  1e-4 * rate};
    measures[1] = (sprag_measure){"height lost", "m", -c->lowest, 0, SPRAG_GOOD_LENGTH};
    return 2;
}

const sprag_script sprag_gyroscope = {
    .data = sizeof(spinning),
    .open = gyroscope_open,
    .after_step = gyroscope_after_step,
    .measure = gyroscope_measure,
};

// ---- a disc above a round tip, tilted by 0.3 rad; the rate is that of stock at 0.1 ms

static const double tip_radius = 0.005, tip_arm = 0.0488;             // m
static const double top_spin = 60, top_tilt = 0.3, top_rate = 1.5578; // rad/s, rad, rad/s

static void top_open(sprag_scene *scene)
{
    dMatrix3 R;
    double s = sin(top_tilt), c = cos(top_tilt);
    sprag_scene_floor(scene);
    dBodyID disc = add_disc(scene, 3);
    dGeomSetOffsetPosition(dBodyGetFirstGeom(disc), 0, 0, -tip_arm);
    dRFromAxisAndAngle(R, 0, 1, 0, top_tilt);
    dBodySetRotation(disc, R);
    dBodySetPosition(disc, tip_arm * s, 0, tip_radius + tip_arm * c);
    dBodySetAngularVel(disc, top_spin * s, 0, top_spin * c);
}

static void top_after_step(sprag_scene *scene)
{
    spinning *c = scene->data;
    const dReal *R = dBodyGetRotation(scene->body[0]);
    c->tilt = fmax(c->tilt, acos(fmin(1, R[10])));
    follow(c, atan2(R[6], R[2]));
}

static int top_measure(const sprag_scene *scene, sprag_measure *measures)
{
    const spinning *c = scene->data;
    measures[0] = (sprag_measure){"precession", "rad/s", c->gone / sprag_scene_time(scene),
                                  top_rate, 0.02 * top_rate};
    measures[1] = (sprag_measure){"largest tilt", "rad", c->tilt, top_tilt, 0.05};
    return 2;
}

const sprag_script sprag_top = {
    .data = sizeof(spinning),
    .contacts = 4,
    .friction = 0.5,
    .open = top_open,
    .after_step = top_after_step,
    .measure = top_measure,
};
