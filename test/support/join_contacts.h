// Contact joints, as a program's collision callback makes them.
#ifndef TEST_JOIN_CONTACTS_H
#define TEST_JOIN_CONTACTS_H

#include <string.h>

#include <ode/ode.h>

// Of the first `most` contacts of two geoms, up to 64. fdir1: first direction of friction; NULL: 0.
static inline void join_contacts(dWorldID world, dJointGroupID group, dGeomID a, dGeomID b,
                                 int most, dSurfaceParameters surface, const dReal *fdir1)
{
    enum { ROOM = 64 };
    dContactGeom geom[ROOM];
    int count = dCollide(a, b, most < ROOM ? most : ROOM, geom, sizeof geom[0]);
    for (int i = 0; i < count; i++) {
        dContact contact = {.geom = geom[i], .surface = surface};
        if (fdir1) {
            memcpy(contact.fdir1, fdir1, 3 * sizeof *fdir1);
        }
        dJointAttach(dJointCreateContact(world, group, &contact), dGeomGetBody(a), dGeomGetBody(b));
    }
}

#endif
