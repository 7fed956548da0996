// Rows of bodies: what moves them besides joints and contacts.
#include "test/support.h"

static void free_flight(support_run *run)
{
    dWorldID world = support_world(run, NULL);
    dBodyID body = support_body(world, 0, 0, 1);
    dWorldSetGravity(world, 0, 0, -9.81);
    dBodySetLinearVel(body, 1, 2, 3);
    for (int i = 0; i < 100; i++) {
        dWorldStep(world, 0.01);
    }
    support_tell_body(run, body);
    dWorldDestroy(world);
}

static void free_flight_rightly(support_run *run)
{
    const dReal z = 1 + 3 - 9.81 / 2, vz = 3 - 9.81;
    const dReal v[3] = {1, 2, vz}, w[3] = {0}, x[3] = {1, 2, z};
    support_tell_vector(run, v);
    support_tell_vector(run, w);
    support_tell_vector(run, x);
    support_tell(run, 1);
    support_tell_vector(run, w);
}

const support_row support_bodies[] = {
    {"free flight", free_flight, free_flight_rightly, {AS_STOCK, EXACT, AS_STOCK}},
    {0},
};
