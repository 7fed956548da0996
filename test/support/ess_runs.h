// Runs of worlds under method=ess; a single joint, for tests of motors and stops.
#ifndef TEST_ESS_RUNS_H
#define TEST_ESS_RUNS_H

#include <check.h>

#include "suite.h"
#include "worlds_ess.h"

// Tests assert errors that belong to this tolerance.
static const char *const ESS = "method=ess,ess.tolerance=1e-9", *const STRIBECK = "method=stribeck",
                         *const STOCK = "method=ode-step";

static inline sprag_world_statistics stats_of(const yielding *y)
{
    return statistics_of(y->world);
}

static inline void run(yielding *y, int steps)
{
    for (int k = 0; k < steps; k++) {
        yielding_step(y);
    }
}

// ---- motors and stops

// A joint between a body of 2 kg and the world, either way round, without gravity.
typedef struct coordinate {
    yielding *y;
    dBodyID body;
    dJointID joint;
    double inertia; // kg or kg m^2, along it
} coordinate;

static inline coordinate open_coordinate(bool slider, bool reversed, double step)
{
    coordinate c = {.y = yielding_open(ESS, (material){.bounce = -1}, step)};
    dMass mass;
    dWorldSetGravity(c.y->world, 0, 0, 0);
    dMassSetBoxTotal(&mass, 2, 0.3, 0.2, 0.1);
    c.body = yielding_body(c.y, &mass, NULL, 0.4, 0, 0);
    c.joint = slider ? dJointCreateSlider(c.y->world, 0) : dJointCreateHinge(c.y->world, 0);
    dJointAttach(c.joint, reversed ? 0 : c.body, reversed ? c.body : 0);
    if (slider) {
        dJointSetSliderAxis(c.joint, 0, 1, 0);
    } else {
        dJointSetHingeAnchor(c.joint, 0, 0, 0);
        dJointSetHingeAxis(c.joint, 0, 1, 0);
    }
    c.inertia = slider ? 2 : mass.I[5] + 2 * 0.4 * 0.4;
    return c;
}

static inline void set(coordinate *c, int parameter, double value)
{
    if (dJointGetType(c->joint) == dJointTypeSlider) {
        dJointSetSliderParam(c->joint, parameter, value);
    } else {
        dJointSetHingeParam(c->joint, parameter, value);
    }
}

// Of a chain along x, on balls; the first hangs on the world.
static inline dBodyID add_link(yielding *y, int i)
{
    dMass mass;
    dMassSetBoxTotal(&mass, 0.1, 0.1, 0.02, 0.02);
    dBodyID link = yielding_body(y, &mass, NULL, 0.05 + 0.1 * i, 0, 0);
    dJointID joint = dJointCreateBall(y->world, 0);
    dJointAttach(joint, link, i > 0 ? y->body[i - 1] : NULL);
    dJointSetBallAnchor(joint, 0.1 * i, 0, 0);
    return link;
}

#endif
