// Worlds whose near callback writes down what it was given. dCollide and the others are ours here;
// stock's come from libode's own handle.
#ifndef TEST_COLLISION_SCENE_H
#define TEST_COLLISION_SCENE_H

#include <check.h>
#include <dlfcn.h>
#include <stdio.h>

#include "start.h"
#include "suite.h"
#include "world.h"

typedef int collide_fn(dGeomID, dGeomID, int, dContactGeom *, int);

static collide_fn *stock_collide;
static const double gap = 5e-7; // m, at which things rest

enum { MOST = 32 };

// ---- a world, and what its callback was given

typedef struct scene {
    dWorldID world;
    dSpaceID space;
    dJointGroupID group;
    dGeomID given[MOST][2];
    int calls;    // of the callback
    int contacts; // of all that it was given
    bool stays;   // does not go down into spaces
    bool declines;
    dContactGeom contact[MOST];
} scene;

static inline scene open_scene(const char *options)
{
    scene s = {.world = dWorldCreate(), .space = dHashSpaceCreate(NULL)};
    s.group = dJointGroupCreate(0);
    ck_assert_msg(sprag_world_configure(s.world, options), "%s", sprag_error());
    return s;
}

static inline void close_scene(scene *s)
{
    dJointGroupDestroy(s->group);
    dSpaceDestroy(s->space);
    dWorldDestroy(s->world);
}

static inline void touch(void *data, dGeomID a, dGeomID b)
{
    scene *s = data;
    if (s->calls < MOST) { // (a check would allocate)
        s->given[s->calls][0] = a;
        s->given[s->calls][1] = b;
    }
    s->calls++;
    if (dGeomIsSpace(a) || dGeomIsSpace(b)) {
        if (!s->stays) {
            dSpaceCollide2(a, b, data, touch);
        }
        return;
    }
    int count = dCollide(a, b, MOST, s->contact, sizeof s->contact[0]);
    s->contacts += count;
    for (int i = 0; i < count && !s->declines; i++) {
        dContact contact = {.geom = s->contact[i], .surface = {.mu = 0.5}};
        dJointAttach(dJointCreateContact(s->world, s->group, &contact), dGeomGetBody(a),
                     dGeomGetBody(b));
    }
}

static inline void start_frame(scene *s)
{
    dJointGroupEmpty(s->group);
    s->calls = s->contacts = 0;
}

static inline void collide(scene *s)
{
    start_frame(s);
    dSpaceCollide(s->space, s, touch);
}

static inline dGeomID on_body(scene *s, dGeomID geom, double x, double y, double z)
{
    dMass mass;
    dBodyID body = dBodyCreate(s->world);
    dMassSetSphere(&mass, 1, 0.5);
    dBodySetMass(body, &mass);
    dGeomSetBody(geom, body);
    dBodySetPosition(body, x, y, z);
    return geom;
}

static inline dGeomID add_box(scene *s, dSpaceID space, double x, double height)
{
    return on_body(s, dCreateBox(space, 1, 1, 1), x, 0, 0.5 + height);
}

static inline dGeomID add_floor(dSpaceID space)
{
    return dCreatePlane(space, 0, 0, 1, 0);
}

static inline int times_given(const scene *s, dGeomID a, dGeomID b)
{
    int count = 0;
    ck_assert_int_le(s->calls, MOST);
    for (int i = 0; i < s->calls; i++) {
        count += (s->given[i][0] == a && s->given[i][1] == b) ||
                 (s->given[i][0] == b && s->given[i][1] == a);
    }
    return count;
}

static inline ode_record *record_of(const scene *s)
{
    return world_record(world_find(s->world));
}

static inline int recorded(const scene *s)
{
    int count = 0;
    if (record_of(s)) {
        sprag_ode_recorded(record_of(s), &count);
    }
    return count;
}

// ---- the main of a test program

static inline int run_beside_stock(Suite *suite, enum fork_status mode)
{
    start_ode();
    void *ode = dlopen("libode.so.8", RTLD_LAZY | RTLD_NOLOAD);
    stock_collide = ode ? (collide_fn *)(intptr_t)dlsym(ode, "dCollide") : NULL;
    if (!stock_collide || stock_collide == dCollide) {
        fprintf(stderr, "no dCollide of ODE's own\n");
        return EXIT_FAILURE;
    }
    return run_suite_as(suite, mode);
}

#endif
