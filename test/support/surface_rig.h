// A body on a plane in a world of its own, for tests of contact surfaces.
#ifndef TEST_SURFACE_RIG_H
#define TEST_SURFACE_RIG_H

#include <check.h>
#include <string.h>

#include "join_contacts.h"
#include "program_world.h"
#include "sprag.h"
#include "start.h"
#include "suite.h"

static const double G = 9.81; // m/s^2

enum { CONTACTS = 8, CORNERS = 4, BODIES = 8 };

// A world with a floor at z = 0 and a surface that all contacts have.
typedef struct rig {
    dWorldID world;
    dSpaceID space;
    dJointGroupID contacts;
    dBodyID body[BODIES];
    int bodies;
    dSurfaceParameters surface;
    dVector3 fdir1;
    double step; // s
} rig;

static const double step = 0.01; // s

static inline rig open_rig(const char *options, int mode)
{
    rig r = {.world = dWorldCreate(),
             .space = dSimpleSpaceCreate(0),
             .contacts = dJointGroupCreate(0),
             .surface = {.mode = mode},
             .step = step};
    dWorldSetGravity(r.world, 0, 0, -G);
    dCreatePlane(r.space, 0, 0, 1, 0);
    ck_assert_msg(sprag_world_configure(r.world, options), "%s", sprag_error());
    return r;
}

static inline void close_rig(rig *r)
{
    destroy_world(r->world, r->space, r->contacts);
}

static inline dBodyID add_body(rig *r, const dMass *mass, dGeomID geom, double x, double y,
                               double z)
{
    return r->body[r->bodies++] = add_solid(r->world, geom, mass, x, y, z);
}

// On the floor, in touch with all four corners, if bottom is 0.
static inline dBodyID add_box(rig *r, double mass, double x, double y, double z, double bottom)
{
    dMass m;
    dMassSetBoxTotal(&m, mass, x, y, z);
    bottom = bottom == 0 ? -1e-9 * z : bottom;
    return add_body(r, &m, dCreateBox(r->space, x, y, z), 0, 0, bottom + z / 2);
}

static inline dBodyID add_ball(rig *r, double mass, double radius, double bottom)
{
    dMass m;
    dMassSetSphereTotal(&m, mass, radius);
    return add_body(r, &m, dCreateSphere(r->space, radius), 0, 0, bottom + radius);
}

static inline void touch(void *data, dGeomID a, dGeomID b)
{
    const rig *r = data;
    join_contacts(r->world, r->contacts, a, b, CONTACTS, r->surface, r->fdir1);
}

static inline void step_rig(rig *r)
{
    dSpaceCollide(r->space, r, touch);
    dWorldStep(r->world, r->step);
    dJointGroupEmpty(r->contacts);
}

static inline void run_rig(rig *r, double seconds)
{
    for (long i = 0, n = lround(seconds / r->step); i < n; i++) {
        step_rig(r);
    }
}

// Under a force on the first body, at each step.
static inline void push_rig(rig *r, double seconds, double x, double y, double z)
{
    for (long i = 0, n = lround(seconds / r->step); i < n; i++) {
        dBodyAddForce(r->body[0], x, y, z);
        step_rig(r);
    }
}

static inline const dReal *velocity(const rig *r)
{
    return dBodyGetLinearVel(r->body[0]);
}

static inline const dReal *position(const rig *r)
{
    return dBodyGetPosition(r->body[0]);
}

// ---- rolling and spinning

static const double radius = 0.1;

// ---- soft contacts

static const double steps[] = {1e-4, 1e-3, 1e-2, 5e-2}; // s

// ---- all of it

static inline void setup(void)
{
    start_ode();
    dSetMessageHandler(quiet); // stock: "LCP internal error, s <= 0"
}

#endif
