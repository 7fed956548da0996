// Reads poses, velocities and boxes of ODE into those of the geometry kernel.
#include "ode.h"

void sprag_ode_set_pose(sprag_pose *pose, const dReal *at, const dReal *R)
{
    memcpy(pose->position, at, sizeof pose->position);
    sprag_ode_pack(R, pose->rotation);
}

void sprag_ode_read_pose(dBodyID body, sprag_pose *pose)
{
    sprag_ode_set_pose(pose, dBodyGetPosition(body), dBodyGetRotation(body));
}

void sprag_ode_read_velocity(dBodyID body, double v[6])
{
    memcpy(v, dBodyGetLinearVel(body), 3 * sizeof *v);
    memcpy(v + 3, dBodyGetAngularVel(body), 3 * sizeof *v);
}

void sprag_ode_read_bounds(dGeomID geom, double bounds[6])
{
    dReal box[6]; // lo and hi of x, y, z
    dGeomGetAABB(geom, box);
    for (int k = 0; k < 6; k++) {
        bounds[k] = box[k < 3 ? 2 * k : 2 * k - 5];
    }
}
