// An ODE program that steps under method=advance and measures how far its shapes overlap.
#ifndef TEST_ADVANCE_PROGRAM_H
#define TEST_ADVANCE_PROGRAM_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "linalg.h"
#include "program_world.h"
#include "sprag.h"
#include "suite.h"

static const double G = 9.81;
static const double STEP = 0.01;   // s
static const double REST = 0.5e-6; // m, gap of what rests

enum { MOST = 64, EVENTS = 64 };

// ---- a program

typedef struct scene {
    dWorldID world;
    dSpaceID space;
    dJointGroupID group;
    dSurfaceParameters surface;
    dVector3 along;
    bool declines, empties_late;
    bool shares_feedback; // all contacts have feedback[0]
    int calls;            // of the callback
    dJointFeedback feedback[MOST];
    int joints;                      // of this frame
    sprag_world_event event[EVENTS]; // of this frame
    int events;
    double length;  // s, of a step
    double touched; // s, when the first contact was made; negative: not yet
    long frames;
} scene;

static inline scene *open_scene(const char *options)
{
    scene *s = calloc(1, sizeof *s);
    ck_assert_ptr_nonnull(s);
    s->world = dWorldCreate();
    s->space = dHashSpaceCreate(NULL);
    s->group = dJointGroupCreate(0);
    s->surface = (dSurfaceParameters){.mode = dContactApprox1, .mu = 0.5};
    s->length = STEP;
    s->touched = -1;
    dWorldSetGravity(s->world, 0, 0, -G);
    ck_assert_msg(sprag_world_configure(s->world, options), "%s", sprag_error());
    return s;
}

// Whatever the scene, stock had nothing to do.
static inline void close_scene(scene *s)
{
    ck_assert_int_eq(statistics_of(s->world).fallbacks, 0);
    destroy_world(s->world, s->space, s->group);
    free(s);
}

static inline void touch(void *data, dGeomID a, dGeomID b)
{
    scene *s = data;
    dContactGeom geom[8];
    if (dGeomIsSpace(a) || dGeomIsSpace(b)) {
        dSpaceCollide2(a, b, data, touch);
        return;
    }
    s->calls++;
    int count = dCollide(a, b, 8, geom, sizeof geom[0]);
    for (int i = 0; i < count && !s->declines; i++) {
        dContact contact = {.geom = geom[i], .surface = s->surface};
        memcpy(contact.fdir1, s->along, sizeof contact.fdir1);
        dJointID joint = dJointCreateContact(s->world, s->group, &contact);
        dJointAttach(joint, dGeomGetBody(a), dGeomGetBody(b));
        if (s->joints < MOST) {
            dJointFeedback *feedback = &s->feedback[s->shares_feedback ? 0 : s->joints];
            memset(feedback, 0, sizeof *feedback);
            dJointSetFeedback(joint, feedback);
            s->joints++;
        }
    }
}

static inline void step(scene *s)
{
    dJointGroupEmpty(s->group);
    s->joints = 0;
    dSpaceCollide(s->space, s, touch);
    ck_assert_int_eq(dWorldStep(s->world, s->length), 1);
    s->events = sprag_world_events(s->world, s->event, EVENTS);
    for (int i = 0; i < s->events && i < EVENTS && s->touched < 0; i++) {
        if (s->event[i].kind == SPRAG_EVENT_CONTACT_MADE) {
            s->touched = (double)s->frames * s->length + s->event[i].time;
        }
    }
    s->frames++;
    if (s->empties_late) {
        dJointGroupEmpty(s->group);
    }
}

static inline void run(scene *s, int frames)
{
    for (int i = 0; i < frames; i++) {
        step(s);
    }
}

static inline sprag_world_statistics stats_of(const scene *s)
{
    return statistics_of(s->world);
}

static inline dBodyID body_at(scene *s, dGeomID geom, double x, double y, double z) // 2 kg
{
    dMass mass;
    dBodyID body = dBodyCreate(s->world);
    switch (dGeomGetClass(geom)) {
    case dSphereClass:
        dMassSetSphereTotal(&mass, 2, dGeomSphereGetRadius(geom));
        break;
    case dBoxClass: {
        dVector3 side;
        dGeomBoxGetLengths(geom, side);
        dMassSetBoxTotal(&mass, 2, side[0], side[1], side[2]);
        break;
    }
    default:
        dMassSetBoxTotal(&mass, 2, 0.5, 0.5, 0.5);
        break;
    }
    dBodySetMass(body, &mass);
    dGeomSetBody(geom, body);
    dBodySetPosition(body, x, y, z);
    return body;
}

static inline dBodyID add_box(scene *s, double x, double y, double z)
{
    return body_at(s, dCreateBox(s->space, 1, 1, 1), x, y, z);
}

static inline dBodyID add_ball(scene *s, double x, double y, double z, double radius)
{
    return body_at(s, dCreateSphere(s->space, radius), x, y, z);
}

static inline void add_floor(scene *s)
{
    dCreatePlane(s->space, 0, 0, 1, 0);
}

static inline double height(dBodyID body)
{
    return dBodyGetPosition(body)[2];
}

static inline double speed(dBodyID body)
{
    return norm3(dBodyGetLinearVel(body)) + norm3(dBodyGetAngularVel(body));
}

#endif
