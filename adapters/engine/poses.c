// Reads poses of ODE into those of the geometry kernel.
#include "ode.h"

#include <string.h>

void sprag_ode_set_pose(sprag_pose *pose, const dReal *at, const dReal *R)
{
    for (int i = 0; i < 3; i++) {
        pose->position[i] = at[i];
        memcpy(pose->rotation + 3 * i, R + 4 * i, 3 * sizeof *R);
    }
}

void sprag_ode_read_pose(dBodyID body, sprag_pose *pose)
{
    sprag_ode_set_pose(pose, dBodyGetPosition(body), dBodyGetRotation(body));
}
