// A world with one space, whose geoms have contacts before they touch.
#ifndef TEST_SPECULATIVE_SCENE_H
#define TEST_SPECULATIVE_SCENE_H

#include <stdbool.h>

#include <ode/ode.h>

#include "program_world.h"
#include "sprag.h"
#include "suite.h"

static const char speculative[] = "stribeck.speculative=1";

typedef struct scene {
    dWorldID world;
    dSpaceID space;
    dJointGroupID contacts;
    double friction, bounce;
    bool force;               // the friction is one
    dJointFeedback *feedback; // of contacts; NULL: none
    int gaps;                 // contacts with a negative depth, of the last step
} scene;

static inline scene open_scene(const char *options, double gravity)
{
    scene s = {.world = dWorldCreate(),
               .space = dHashSpaceCreate(0),
               .contacts = dJointGroupCreate(0),
               .friction = 0.5};
    dWorldSetGravity(s.world, 0, 0, -gravity);
    ck_assert(sprag_world_configure(s.world, options));
    return s;
}

static inline void close_scene(scene *s)
{
    destroy_world(s->world, s->space, s->contacts);
}

static inline dBodyID add(scene *s, dGeomID geom, double x, double y, double z)
{
    dMass m;
    dMassSetSphereTotal(&m, 1, 0.1);
    return add_solid(s->world, geom, &m, x, y, z);
}

static inline dBodyID add_ball(scene *s, double radius, double x, double y, double z)
{
    dMass m;
    dMassSetSphereTotal(&m, 1, radius);
    return add_solid(s->world, dCreateSphere(s->space, radius), &m, x, y, z);
}

static inline void touch(void *data, dGeomID a, dGeomID b)
{
    scene *s = data;
    dContact contact[8];
    int n = dCollide(a, b, 8, &contact[0].geom, sizeof *contact);
    for (int i = 0; i < n; i++) {
        contact[i].surface = (dSurfaceParameters){.mode = (s->force ? 0 : dContactApprox1) |
                                                          (s->bounce > 0 ? dContactBounce : 0),
                                                  .mu = s->friction,
                                                  .bounce = s->bounce};
        s->gaps += contact[i].geom.depth < 0;
        dJointID joint = dJointCreateContact(s->world, s->contacts, &contact[i]);
        dJointAttach(joint, dGeomGetBody(a), dGeomGetBody(b));
        dJointSetFeedback(joint, s->feedback);
    }
}

static inline void step(scene *s, double h)
{
    s->gaps = 0;
    dSpaceCollide(s->space, s, touch);
    ck_assert_int_eq(dWorldStep(s->world, h), 1);
    dJointGroupEmpty(s->contacts);
}

#endif
