// A pole on a hinge above a cart on a slider, 0.2 rad off the vertical. A force on the cart holds
// the pole up and brings the cart back, by the discrete linear-quadratic regulator
//
//     u = -K (x, tilt, x', tilt')
//
// K was computed from sprag_world_linearize of this scene at rest upright, with the weights
// diag(10, 100, 1, 10) of the state and 0.1 of the force: test_linearize computes it again.
#include "scene.h"

#include <math.h>

const double sprag_balance_gain[4] = {-8.997461, -81.532016, -11.619544, -21.087544};

enum { CART, POLE };

static const double cart_height = 0.1, pole_length = 1; // m
static const double first_tilt = 0.2;                   // rad

typedef struct balance {
    double tilt; // rad, largest from 3 s on
} balance;

static void balance_open(sprag_scene *scene)
{
    sprag_scene_box(scene, 1, (const double[3]){0.4, 0.2, cart_height}, 0, 0, 0);
    sprag_scene_box(scene, 0.2, (const double[3]){0.04, 0.04, pole_length},
                    pole_length / 2 * sin(first_tilt), 0, pole_length / 2 * cos(first_tilt));
    dMatrix3 R;
    dRFromAxisAndAngle(R, 0, 1, 0, first_tilt);
    dBodySetRotation(scene->body[POLE], R);
    dJointID slider = dJointCreateSlider(scene->world, 0);
    dJointAttach(slider, scene->body[CART], 0);
    dJointSetSliderAxis(slider, 1, 0, 0);
    dJointID hinge = dJointCreateHinge(scene->world, 0);
    dJointAttach(hinge, scene->body[POLE], scene->body[CART]);
    dJointSetHingeAnchor(hinge, 0, 0, 0);
    dJointSetHingeAxis(hinge, 0, 1, 0);
}

static double tilt_of(dBodyID pole)
{
    const dReal *R = dBodyGetRotation(pole);
    return atan2(R[2], R[10]); // of its axis in the plane of x and z
}

static void balance_before_step(sprag_scene *scene)
{
    dBodyID cart = scene->body[CART], pole = scene->body[POLE];
    const double state[4] = {dBodyGetPosition(cart)[0], tilt_of(pole), dBodyGetLinearVel(cart)[0],
                             dBodyGetAngularVel(pole)[1]};
    double force = 0;
    for (int k = 0; k < 4; k++) {
        force -= sprag_balance_gain[k] * state[k];
    }
    dBodyAddForce(cart, force, 0, 0);
}

static void balance_after_step(sprag_scene *scene)
{
    balance *b = scene->data;
    if (sprag_scene_time(scene) >= 3) {
        b->tilt = fmax(b->tilt, fabs(tilt_of(scene->body[POLE])));
    }
}

static int balance_measure(const sprag_scene *scene, sprag_measure *measures)
{
    const balance *b = scene->data;
    measures[0] = (sprag_measure){"tilt from 3 s on", "rad", b->tilt, 0, 0.02};
    measures[1] = (sprag_measure){"cart's offset", "m",
                                  fabs(dBodyGetPosition(scene->body[CART])[0]), 0, 0.02};
    return 2;
}

const sprag_script sprag_balance = {
    .data = sizeof(balance),
    .open = balance_open,
    .before_step = balance_before_step,
    .after_step = balance_after_step,
    .measure = balance_measure,
};
