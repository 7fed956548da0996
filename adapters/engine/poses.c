// Reads poses of ODE into those of the geometry kernel.
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
