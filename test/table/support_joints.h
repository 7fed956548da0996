// Shared by the rows of joints.
#ifndef TEST_SUPPORT_JOINTS_H
#define TEST_SUPPORT_JOINTS_H

#include "support.h"
#include "worlds.h"

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
void support_report_limit(support_run *run, support_sampled *sampled);

// ---- pairs (worlds.h) in a scene

const joint_kind *support_joint_kind(int type);

// But for PR and piston where the first body is the world: there stock's own rows gain energy.
bool support_pair_can_be(const joint_kind *kind, int like);

// Not loaded yet.
void support_open_pair(const support_scene *scene, pair *p, const joint_kind *kind, int like);
void support_load_and_step(const support_scene *scene, pair *p, int steps, int pieces);
void support_report_pair(support_run *run, const pair *p);

#define CIRCLES "points of joints stay on their circles"

#endif
