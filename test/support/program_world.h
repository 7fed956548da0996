// Worlds as programs make and end them.
#ifndef TEST_PROGRAM_WORLD_H
#define TEST_PROGRAM_WORLD_H

#include <check.h>

#include "sprag.h"

static inline sprag_world_statistics statistics_of(dWorldID world)
{
    sprag_world_statistics s = {.struct_size = sizeof s};
    ck_assert(sprag_world_stats(world, &s));
    return s;
}

static inline dBodyID add_solid(dWorldID world, dGeomID geom, const dMass *mass, double x, double y,
                                double z)
{
    dBodyID body = dBodyCreate(world);
    dBodySetMass(body, mass);
    dGeomSetBody(geom, body);
    dBodySetPosition(body, x, y, z);
    return body;
}

static inline void destroy_world(dWorldID world, dSpaceID space, dJointGroupID contacts)
{
    dJointGroupDestroy(contacts);
    dSpaceDestroy(space);
    dWorldDestroy(world);
}

#endif
