// The models in a copy of ODE of their own, which nobody stands in for: `bench overhead` loads this
// with dlmopen and steps a scene here and the same one under sprag in turn.
#define _POSIX_C_SOURCE 200809L // clock_gettime
#include "bench_module.h"

#include <time.h>

static double step_us;
static bool step_quick;

extern int __real_dWorldStep(dWorldID world, dReal step);
int __wrap_dWorldStep(dWorldID world, dReal step);

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

int __wrap_dWorldStep(dWorldID world, dReal step)
{
    double start = now_us();
    int done = step_quick ? dWorldQuickStep(world, step) : __real_dWorldStep(world, step);
    step_us = now_us() - start;
    return done;
}

static void start(void)
{
    dInitODE2(0);
    dSetMessageHandler(0);
}

static int open_scene(sprag_scene *scene, const char *model)
{
    const sprag_model *found = sprag_model_find(model);
    dRandSetSeed(0);
    return found && sprag_scene_open(scene, found, 0);
}

static double step_scene(sprag_scene *scene, bool quick)
{
    step_quick = quick;
    sprag_scene_step(scene);
    return step_us;
}

const bench_ode bench_module = {.start = start,
                                .open = open_scene,
                                .step = step_scene,
                                .close = sprag_scene_close,
                                .create_world = dWorldCreate,
                                .create_body = dBodyCreate,
                                .world_step = __real_dWorldStep,
                                .create_sphere = dCreateSphere,
                                .set_body = dGeomSetBody,
                                .create_space = dSimpleSpaceCreate,
                                .collide = dCollide,
                                .collide_space = dSpaceCollide};
