// A scene with something of everything: a heap of boxes and balls, a double pendulum and a flying
// body. dWorldStep is ours here; stock's comes from libode's own handle.
#ifndef TEST_PLUGIN_SCENE_H
#define TEST_PLUGIN_SCENE_H

#include <check.h>
#include <dlfcn.h>

#include "join_contacts.h"
#include "program_world.h"
#include "sprag.h"
#include "start.h"
#include "suite.h"
#include "worlds.h"

static const dReal step = 0.01; // s

typedef int step_fn(dWorldID, dReal);

static step_fn *stock_step, *stock_quick;

static inline void configure(dWorldID world, const char *options)
{
    ck_assert_msg(sprag_world_configure(world, options), "%s: %s", options, sprag_error());
}

// ---- a scene with something of everything: a heap of boxes and balls, a double pendulum, a flyer

enum { HEAP = 6, SCENE_BODIES = HEAP + 3, CONTACTS_MAX = 8 };

typedef struct scene {
    dWorldID world;
    dSpaceID space;
    dJointGroupID contacts;
    dBodyID body[SCENE_BODIES];
    double bounce; // restitution; 0: contacts have none
} scene;

static inline void add_geom(scene *s, int i)
{
    dGeomSetBody(i % 2 ? dCreateSphere(s->space, 0.2) : dCreateBox(s->space, 0.3, 0.4, 0.2),
                 s->body[i]);
}

static inline scene open_scene(const char *options)
{
    scene s = {.world = dWorldCreate(), .space = dSimpleSpaceCreate(0)};
    s.contacts = dJointGroupCreate(0);
    dWorldSetGravity(s.world, 0, 0, -9.81);
    dCreatePlane(s.space, 0, 0, 1, 0);
    for (int i = 0; i < HEAP; i++) {
        s.body[i] =
            create_body(s.world, 1 + 0.5 * i, 0.05 * (i % 3), 0.04 * (i % 2), 0.2 + 0.35 * i);
        dBodySetAngularVel(s.body[i], 0.3 * i, -0.2, 0.1);
        add_geom(&s, i);
    }
    s.body[HEAP] = create_body(s.world, 1, 5, 0, 3);
    s.body[HEAP + 1] = create_body(s.world, 1, 6, 0, 3);
    s.body[HEAP + 2] = create_body(s.world, 1, 10, 0, 100);
    dBodySetAngularVel(s.body[HEAP + 2], 3, 4, -5);
    dJointID hinge = dJointCreateHinge(s.world, 0), ball = dJointCreateBall(s.world, 0);
    dJointAttach(hinge, s.body[HEAP], 0);
    dJointSetHingeAnchor(hinge, 4.5, 0, 3);
    dJointSetHingeAxis(hinge, 0, 1, 0);
    dJointAttach(ball, s.body[HEAP], s.body[HEAP + 1]);
    dJointSetBallAnchor(ball, 5.5, 0, 3);
    configure(s.world, options);
    return s;
}

static inline void touch(void *data, dGeomID a, dGeomID b)
{
    const scene *s = data;
    const dSurfaceParameters surface = {.mode =
                                            dContactApprox1 | (s->bounce > 0 ? dContactBounce : 0),
                                        .mu = 0.5,
                                        .bounce = s->bounce};
    join_contacts(s->world, s->contacts, a, b, CONTACTS_MAX, surface, NULL);
}

static inline void step_scene(scene *s, step_fn *stepper)
{
    dSpaceCollide(s->space, s, touch);
    ck_assert_int_eq(stepper(s->world, step), 1);
    dJointGroupEmpty(s->contacts);
}

static inline void close_scene(scene *s)
{
    destroy_world(s->world, s->space, s->contacts);
}

// ---- before and after each test

static dWorldID world;

static inline void setup(void)
{
    start_ode();
    dSetMessageHandler(quiet);
    void *ode = dlopen("libode.so.8", RTLD_NOW | RTLD_NOLOAD);
    stock_step = (step_fn *)(intptr_t)dlsym(ode, "dWorldStep");
    stock_quick = (step_fn *)(intptr_t)dlsym(ode, "dWorldQuickStep");
    ck_assert(stock_step && stock_step != dWorldStep && stock_quick);
    world = dWorldCreate();
}

static inline void teardown(void)
{
    dWorldDestroy(world);
    dCloseODE();
}

#endif
