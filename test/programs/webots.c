// Stands in for what Webots' fork of ODE adds to a step: preloaded after sprag and before ODE 0.16.
// It says at exit how often it was called:
//   fluid   dFluidDynamicsStep, with which the fork's dWorldStep begins
//   clean   dxCleanupWorldProcessContext, with which a step ends
//   part    dWorldDestroy_ST, by which its threads destroy their worlds
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

#include <ode/ode.h>

static int fluid, clean, part;

int dFluidDynamicsStep(dWorldID world);
void clean_up(dWorldID world) __asm__("_Z28dxCleanupWorldProcessContextP7dxWorld");
void destroy_part(dWorldID world) __asm__("_Z16dWorldDestroy_STP7dxWorld");

int dFluidDynamicsStep(dWorldID world)
{
    (void)world;
    fluid++;
    return 1;
}

void clean_up(dWorldID world)
{
    (void)world;
    clean++;
}

void destroy_part(dWorldID world)
{
    typedef void destroy_fn(dWorldID);
    part++;
    ((destroy_fn *)(intptr_t)dlsym(RTLD_NEXT, "dWorldDestroy"))(world);
}

__attribute__((destructor)) static void say(void)
{
    fprintf(stderr, "fluid %d clean %d part %d\n", fluid, clean, part);
}
