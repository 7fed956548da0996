// Position, velocity and accumulated force of a body, read from ODE; velocity and accumulated
// force, written to it.
#include <string.h>

#include "island.h"

void sprag_ode_read_state(ode_state *to, dBodyID body)
{
    memcpy(to->position, dBodyGetPosition(body), sizeof to->position);
    sprag_ode_read_velocity(body, to->velocity);
}

void sprag_ode_set_velocity(dBodyID body, const double v[6])
{
    dBodySetLinearVel(body, v[0], v[1], v[2]);
    dBodySetAngularVel(body, v[3], v[4], v[5]);
}

void sprag_ode_read_accumulators(dBodyID body, double force[6])
{
    memcpy(force, dBodyGetForce(body), 3 * sizeof(dReal));
    memcpy(force + 3, dBodyGetTorque(body), 3 * sizeof(dReal));
}

void sprag_ode_empty_accumulators(dBodyID body)
{
    dBodySetForce(body, 0, 0, 0);
    dBodySetTorque(body, 0, 0, 0);
}

void sprag_ode_set_accumulators(dBodyID body, const double f[6])
{
    dBodySetForce(body, f[0], f[1], f[2]);
    dBodySetTorque(body, f[3], f[4], f[5]);
}

void sprag_ode_add_weight(dBodyID body)
{
    if (dBodyGetGravityMode(body)) {
        dMass mass;
        dVector3 gravity;
        dBodyGetMass(body, &mass);
        dWorldGetGravity(dBodyGetWorld(body), gravity);
        dBodyAddForce(body, mass.mass * gravity[0], mass.mass * gravity[1], mass.mass * gravity[2]);
    }
}
