// Pushes and blocks for the rows of contact surfaces.
#ifndef TEST_TABLE_SURFACES_H
#define TEST_TABLE_SURFACES_H

#include "sprag.h"
#include "support_scene.h"

enum { STEPS = 50 }; // of H: half a second

// ---- mu

static const double MU = 0.5, load[] = {0.5, 0.95, 1.05, 2}, angle[] = {0, 0.3, 0.785398163397448};

static inline void push(dBodyID body, double force, double at)
{
    dBodyAddForce(body, force * cos(at), force * sin(at), 0);
}

// Contacts of 1e5 N/m; the block sinks to where they bear it, and stays level.
static inline void soften(scene *s)
{
    s->contact.surface.mode |= dContactSoftERP | dContactSoftCFM;
    s->contact.surface.soft_erp = 0.5;
    s->contact.surface.soft_cfm = 0.5 / (H * 1e5);
}

// ---- the normal: ERP, CFM, layer, correcting speed

// m, below the plane, when it no longer moves; a ball has one contact.
static inline double sunk(scene *s)
{
    dCreatePlane(s->space, 0, 0, 1, 0);
    dBodyID ball = scene_body(s, dCreateSphere(s->space, 0.1), 0, 0, 0.1);
    scene_run(s, 300);
    double depth = 0.1 - dBodyGetPosition(ball)[2];
    scene_close(s);
    return depth;
}

// ---- contacts that the program makes by hand

static const char SOFT[] =
    "ignores the ERP, CFM or stiffness of contact surfaces, first between body",
                  WORLD[] = "ignores the world's contact surface layer (";

#define SMOOTH "friction is smooth"

#define AT_REST NEAR(5e-7, "contacts that hold have a least CFM")

#endif
