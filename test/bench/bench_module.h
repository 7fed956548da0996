// Functions of an ODE that overhead.c calls: of ours, and of the copies in module.c.
#ifndef BENCH_MODULE_H
#define BENCH_MODULE_H

#include <stdbool.h>

#include "models.h"

typedef struct bench_ode {
    void (*start)(void);
    int (*open)(sprag_scene *scene, const char *model); // 0: no memory
    double (*step)(sprag_scene *scene,
                   bool quick); // us of processor, of the stepper; quick: by dWorldQuickStep
    void (*close)(sprag_scene *scene);
    dWorldID (*create_world)(void);
    dBodyID (*create_body)(dWorldID world);
    int (*world_step)(dWorldID world, dReal step);
    dGeomID (*create_sphere)(dSpaceID space, dReal radius);
    void (*set_body)(dGeomID geom, dBodyID body);
    dSpaceID (*create_space)(dSpaceID space);
    int (*collide)(dGeomID a, dGeomID b, int flags, dContactGeom *contact, int skip);
    void (*collide_space)(dSpaceID space, void *data, dNearCallback *callback);
} bench_ode;

extern __attribute__((visibility("default"))) const bench_ode bench_module;

#endif
