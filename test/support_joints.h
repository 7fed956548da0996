// What the rows of joints share.
#ifndef TEST_SUPPORT_JOINTS_H
#define TEST_SUPPORT_JOINTS_H

#include "test/support.h"
#include "test/worlds.h"

// A world with a space that the program asks for contacts, and finds none: methods that need
// distances have them.
typedef struct support_scene {
    dWorldID world;
    dSpaceID space;
    double step; // s
} support_scene;

support_scene support_scene_open(const support_run *run, double step);
void support_scene_step(const support_scene *scene);
void support_scene_close(const support_scene *scene);

// A small ball in the space, and finite rotation, which `advance` and `ess` have in any case.
void support_scene_add(const support_scene *scene, dBodyID body);

// Continuous time: what stock's steps tend to, by Richardson's extrapolation of runs of `pieces` of
// steps, each a first-order method's.
typedef void support_sampled(support_run *run, int pieces);
void support_tell_limit(support_run *run, support_sampled *sampled);

#endif
