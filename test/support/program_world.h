// Worlds as programs make and end them.
#ifndef TEST_PROGRAM_WORLD_H
#define TEST_PROGRAM_WORLD_H

#include <check.h>
#include <math.h>

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

static inline dBodyID add_card(dWorldID world, dSpaceID space, double y, double z, double angle)
{
    static const double side[3] = {0.5, 0.02, 1}; // m
    dMass mass;
    dMatrix3 R;
    dGeomID geom = dCreateBox(space, side[0], side[1], side[2]);
    dMassSetBox(&mass, 1, side[0], side[1], side[2]);
    dBodyID body = add_solid(world, geom, &mass, 0, y, z);
    dRFromAxisAndAngle(R, 1, 0, 0, angle * M_PI / 180);
    dBodySetRotation(body, R);
    return body;
}

// A house of (3 levels^2 + levels) / 2 cards, as in ODE's demo_cards: pairs that lean on one
// another, others that lie on them. It begins with gaps, in which the cards sink until they jam.
static inline void add_house(dWorldID world, dSpaceID space, int levels, dBodyID *card)
{
    static const double angle = 20, gap = 0.05; // degrees, m
    double rise = cos(angle * M_PI / 180) + gap, pitch = sin(angle * M_PI / 180) + gap;
    for (int level = 0; level < levels; level++) {
        int pairs = levels - level;
        double z = (level + 0.5) * rise;
        for (int i = 0; i < 2 * pairs; i++) {
            *card++ = add_card(world, space, (i - pairs) * pitch, z, i % 2 ? angle : -angle);
        }
        for (int i = 0; i < pairs - 1; i++) {
            double y = (2 * i - (pairs - 1 - (1 - pitch) / 2)) * pitch;
            *card++ = add_card(world, space, y, z + rise / 2, 91);
        }
    }
}

#endif
