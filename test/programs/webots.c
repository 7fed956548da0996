// Stands in for what Webots' fork of ODE adds to a step: preloaded after sprag and before ODE 0.16.
// It says at exit how often it was called:
//   fluid   dFluidDynamicsStep, with which the fork's dWorldStep begins
//   clean   dxCleanupWorldProcessContext, with which a step ends
//   part    the end of a world of its threads: sprag sees no dWorldDestroy, only dxWorld's destructor
// The fluid is water up to z = 0, in which one body floats, a cube of 1 m: see float_body.
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

#include <ode/ode.h>

static int fluid, clean, part;
static dBodyID floating;

void float_body(dBodyID body);
void end_part(dWorldID world);
int dFluidDynamicsStep(dWorldID world);
void clean_up(dWorldID world) __asm__("_Z28dxCleanupWorldProcessContextP7dxWorld");

// From here on the water lifts this body by 9810 N/m of depth below z = 0.5 m, and turns it back by
// 600 N m/rad.
void float_body(dBodyID body)
{
    floating = body;
}

int dFluidDynamicsStep(dWorldID world)
{
    fluid++;
    if (floating && dBodyGetWorld(floating) == world) {
        const dReal *R = dBodyGetRotation(floating);
        dBodyAddForce(floating, 0, 0, 9810 * (0.5 - dBodyGetPosition(floating)[2]));
        dBodyAddTorque(floating, -600 * R[9], 600 * R[8], 0);
    }
    return 1;
}

void clean_up(dWorldID world)
{
    (void)world;
    clean++;
}

void end_part(dWorldID world)
{
    typedef void destroy_fn(dWorldID);
    part++;
    ((destroy_fn *)(intptr_t)dlsym(RTLD_NEXT, "dWorldDestroy"))(world);
}

__attribute__((destructor)) static void say(void)
{
    fprintf(stderr, "fluid %d clean %d part %d\n", fluid, clean, part);
}
