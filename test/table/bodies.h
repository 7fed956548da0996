// Steps for the rows of bodies.
#ifndef TEST_TABLE_BODIES_H
#define TEST_TABLE_BODIES_H

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "support.h"

static const dReal STEP = 0.01;    // s
static const dReal GRAVITY = 9.81; // m/s^2

static inline void steps(dWorldID world, int count)
{
    for (int i = 0; i < count; i++) {
        support_step(world, STEP);
    }
}

// ---- flights: a body on its own, turned and tumbling, with something set

typedef void flight_setting(dWorldID world, dBodyID body);

static inline dBodyID start_flight(dWorldID world, flight_setting *set)
{
    dMatrix3 turn;
    dBodyID body = support_solid(world, 0, 0, 1);
    dRFromEulerAngles(turn, 0.3, -0.7, 1.1);
    dBodySetRotation(body, turn);
    dBodySetLinearVel(body, 1, 2, 3);
    dBodySetAngularVel(body, 0.8, -1.1, 0.6);
    dWorldSetGravity(world, 0, 0, -GRAVITY);
    dJointAttach(dJointCreateNull(world, 0), body, support_solid(world, 10, 0, 0)); // an island
    if (set) {
        set(world, body);
    }
    return body;
}

static inline void without_torque(dWorldID world, dBodyID body)
{
    dWorldSetGravity(world, 0, 0, 0);
    dBodySetGyroscopicMode(body, 0);
}

static inline void turns_finitely(dWorldID world, dBodyID body)
{
    without_torque(world, body);
    dBodySetFiniteRotationMode(body, 1);
}

#endif
