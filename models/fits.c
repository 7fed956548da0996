// Two pegs fall into holes that they fit: a square one between four walls, a round one between 24.
// Nothing presses them on the walls, so they fall as in the air. The size is the play on each side
// in micrometres.
#include "scene.h"

#include <math.h>

static const double radius = 0.02, length = 0.1, deep = 0.04, above = 1e-4; // m

typedef struct pegs {
    double fell[2]; // s, time of the fall by `deep`; 0: not yet
    double last[2]; // m, height before the step
} pegs;

static void add_hole(sprag_scene *scene, double x, int walls, double width)
{
    const double thick = 0.1, away = radius + 1e-6 * scene->model->size + thick / 2;
    for (int i = 0; i < walls; i++) {
        double angle = 2 * M_PI * i / walls;
        dMatrix3 R;
        dGeomID wall = dCreateBox(scene->space, thick, width, 0.06);
        dRFromAxisAndAngle(R, 0, 0, 1, angle);
        dGeomSetPosition(wall, x + away * cos(angle), away * sin(angle), -0.03);
        dGeomSetRotation(wall, R);
    }
}

static void peg_open(sprag_scene *scene)
{
    const double side[3] = {2 * radius, 2 * radius, length}, high = length / 2 + above;
    pegs *p = scene->data;
    add_hole(scene, 0, 4, 0.2);
    add_hole(scene, 1, 24, 0.02);
    sprag_scene_box(scene, 0.1, side, 0, 0, high);
    sprag_scene_cylinder(scene, 0.1, radius, length, 1, 0, high);
    p->last[0] = p->last[1] = high;
}

static void peg_after_step(sprag_scene *scene)
{
    pegs *p = scene->data;
    const double goal = length / 2 + above - deep;
    for (int i = 0; i < 2; i++) {
        double now = dBodyGetPosition(scene->body[i])[2], last = p->last[i];
        if (p->fell[i] == 0 && now < goal) {
            p->fell[i] = sprag_scene_time(scene) - scene->step * (goal - now) / (last - now);
        }
        p->last[i] = now;
    }
}

static int peg_measure(const sprag_scene *scene, sprag_measure *measures)
{
    static const char *const name[] = {"square peg falls 40 mm in", "round peg falls 40 mm in"};
    const pegs *p = scene->data;
    for (int i = 0; i < 2; i++) {
        double time = p->fell[i] > 0 ? p->fell[i] : INFINITY;
        measures[i] = (sprag_measure){name[i], "s", time, sqrt(2 * deep / SPRAG_GRAVITY), 1e-3};
    }
    return 2;
}

const sprag_script sprag_peg = {
    .data = sizeof(pegs),
    .contacts = 8,
    .friction = 0.5,
    .open = peg_open,
    .after_step = peg_after_step,
    .measure = peg_measure,
};
