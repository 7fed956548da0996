// Stacks of boxes, which must neither fall, nor creep, nor sink into each other. Mass on top makes
// them harder: the force on the lowest contacts is then far larger than the weight of their own
// box, and iterations from body to body take long to transmit it.
#include "scene.h"

#include <math.h>

enum { BOXES = 10 };

typedef struct stack {
    dVector3 place[BOXES]; // positions at model->settled
    double fell;           // s, time of its fall, 0 while it stands
} stack;

static void pile_up(sprag_scene *scene, int boxes, double side, const double *mass)
{
    sprag_scene_floor(scene);
    for (int i = 0; i < boxes; i++) {
        sprag_scene_cube(scene, mass[i], side, 0, 0, (i + 0.5) * side);
    }
}

static void stack_open(sprag_scene *scene)
{
    static const double mass[BOXES] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    pile_up(scene, BOXES, 1, mass);
}

static void geometric_open(sprag_scene *scene)
{
    double mass[BOXES];
    for (int i = 0; i < BOXES; i++) {
        mass[i] = pow(1000, i / (BOXES - 1.0));
    }
    pile_up(scene, BOXES, 1, mass);
}

static void heavy_top_open(sprag_scene *scene)
{
    static const double mass[BOXES] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1000};
    pile_up(scene, BOXES, 1, mass);
}

static void heavy_open(sprag_scene *scene)
{
    static const double mass[2] = {1, 100};
    pile_up(scene, 2, 0.5, mass);
}

// A box has fallen when it is off its place by half its height.
static int is_off(const sprag_scene *scene, int i)
{
    dVector3 side;
    dGeomBoxGetLengths(dBodyGetFirstGeom(scene->body[i]), side);
    dVector3 place = {0, 0, (i + 0.5) * side[2]};
    return sprag_distance(dBodyGetPosition(scene->body[i]), place) > side[2] / 2;
}

static void after_step(sprag_scene *scene)
{
    stack *s = scene->data;
    for (int i = 0; i < scene->bodies; i++) {
        if (s->fell == 0 && is_off(scene, i)) {
            s->fell = sprag_scene_time(scene);
        }
        if (sprag_scene_reaches(scene, scene->model->settled)) {
            dCopyVector3(s->place[i], dBodyGetPosition(scene->body[i]));
        }
    }
}

// m, largest horizontal displacement of a box since model->settled.
static double creep(const sprag_scene *scene)
{
    const stack *s = scene->data;
    double most = 0;
    if (sprag_scene_time(scene) < scene->model->settled) {
        return NAN;
    }
    for (int i = 0; i < scene->bodies; i++) {
        const dReal *x = dBodyGetPosition(scene->body[i]);
        most = fmax(most, hypot(x[0] - s->place[i][0], x[1] - s->place[i][1]));
    }
    return most;
}

static int stack_measure(const sprag_scene *scene, sprag_measure *measures)
{
    const stack *s = scene->data;
    double now = sprag_scene_time(scene);
    measures[0] =
        (sprag_measure){"stood for", "s", s->fell > 0 ? s->fell : now, now, scene->step / 2};
    measures[1] = (sprag_measure){"creep from 1 s on", "m", creep(scene), 0, SPRAG_GOOD_LENGTH};
    return 2;
}

const sprag_script sprag_stack = {
    .data = sizeof(stack),
    .contacts = 8,
    .friction = 0.8,
    .open = stack_open,
    .after_step = after_step,
    .measure = stack_measure,
};

// With 1000 kg on top of 1 kg the boxes overlap by 8e-3 m even after a thousand iterations of
// dWorldQuickStep, so that half a per cent of a box is a good result.
const sprag_script sprag_stack_geometric = {
    .data = sizeof(stack),
    .contacts = 8,
    .friction = 0.8,
    .penetration = 5e-3,
    .open = geometric_open,
    .after_step = after_step,
    .measure = stack_measure,
};

const sprag_script sprag_stack_heavy_top = {
    .data = sizeof(stack),
    .contacts = 8,
    .friction = 0.8,
    .penetration = 5e-3,
    .open = heavy_top_open,
    .after_step = after_step,
    .measure = stack_measure,
};

static int heavy_measure(const sprag_scene *scene, sprag_measure *measures)
{
    int count = stack_measure(scene, measures);
    double sink = 0.75 - dBodyGetPosition(scene->body[1])[2]; // of the upper box
    measures[count++] = (sprag_measure){"sink", "m", sink, 0, SPRAG_GOOD_LENGTH};
    return count;
}

const sprag_script sprag_heavy = {
    .data = sizeof(stack),
    .contacts = 8,
    .friction = 0.8,
    .open = heavy_open,
    .after_step = after_step,
    .measure = heavy_measure,
};
