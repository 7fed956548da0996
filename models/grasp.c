// Two fingers on sliders squeeze a cube and hold it in the air by friction alone: up to 2 mu F =
// 32 N against the 4.9 N of its weight, so it must stay where it was gripped.
#include "scene.h"

#include <math.h>

enum { CUBE, LEFT, RIGHT };

static const double squeeze = 20;                        // N
static const double cube_side = 0.1, finger_side = 0.05; // m

typedef struct grasp {
    double hold;    // m, height of the cube over the fingers at model->settled
    double dropped; // s, time of its fall, 0 while it is held
} grasp;

static void add_finger(sprag_scene *scene, double x)
{
    dBodyID finger = sprag_scene_cube(scene, 0.2, finger_side, x, 0, 1);
    dJointID slider = dJointCreateSlider(scene->world, 0);
    dJointAttach(slider, finger, 0);
    dJointSetSliderAxis(slider, 1, 0, 0);
}

static void gripper_open(sprag_scene *scene)
{
    const double reach = (cube_side + finger_side) / 2;
    sprag_scene_cube(scene, 0.5, cube_side, 0, 0, 1);
    add_finger(scene, -reach);
    add_finger(scene, reach);
}

static void gripper_before_step(sprag_scene *scene)
{
    dBodyAddForce(scene->body[LEFT], squeeze, 0, 0);
    dBodyAddForce(scene->body[RIGHT], -squeeze, 0, 0);
}

static double height_over_fingers(const sprag_scene *scene)
{
    return dBodyGetPosition(scene->body[CUBE])[2] -
           (dBodyGetPosition(scene->body[LEFT])[2] + dBodyGetPosition(scene->body[RIGHT])[2]) / 2;
}

static void gripper_after_step(sprag_scene *scene)
{
    grasp *g = scene->data;
    double height = height_over_fingers(scene);
    if (sprag_scene_reaches(scene, scene->model->settled)) {
        g->hold = height;
    }
    if (g->dropped == 0 && fabs(height) > (cube_side + finger_side) / 2) {
        g->dropped = sprag_scene_time(scene);
    }
}

static int gripper_measure(const sprag_scene *scene, sprag_measure *measures)
{
    const grasp *g = scene->data;
    double now = sprag_scene_time(scene);
    double slip = now < scene->model->settled ? NAN : fabs(height_over_fingers(scene) - g->hold);
    measures[0] = (sprag_measure){"slip from 1 s on", "m", slip, 0, SPRAG_GOOD_LENGTH};
    measures[1] =
        (sprag_measure){"held for", "s", g->dropped > 0 ? g->dropped : now, now, scene->step / 2};
    return 2;
}

const sprag_script sprag_gripper = {
    .data = sizeof(grasp),
    .contacts = 8,
    .friction = 0.8,
    .open = gripper_open,
    .before_step = gripper_before_step,
    .after_step = gripper_after_step,
    .measure = gripper_measure,
};
