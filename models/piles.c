// Spheres and boxes of 8 to 16 cm, half of each, dropped into a bin: many contacts, no symmetry.
// After they have settled they must neither overlap, nor move, nor be outside.
#include "scene.h"

#include <math.h>

static const double least = 0.08, largest = 0.16; // m, a body's sides
static const double spacing = 0.3;  // m, at first; they do not overlap at any orientation
static const double wall = 0.2;     // m, thickness
static const double density = 1000; // kg/m^3

typedef struct pile {
    double side;  // m, of the bin, inside
    double depth; // m, mean over contacts, summed over steps since settled
    double speed; // m/s, mean over bodies, likewise
    long steps;   // since settled
} pile;

static void add_bin(sprag_scene *scene, double side, double height)
{
    sprag_scene_floor(scene);
    for (int i = 0; i < 4; i++) {
        double far = (i % 2 ? 1 : -1) * (side + wall) / 2, long_side = side + 2 * wall;
        dGeomID geom =
            dCreateBox(scene->space, i < 2 ? wall : long_side, i < 2 ? long_side : wall, height);
        dGeomSetPosition(geom, i < 2 ? far : 0, i < 2 ? 0 : far, height / 2);
    }
}

static void add_one(sprag_scene *scene, double x, double y, double z)
{
    double a = sprag_scene_draw(scene, least, largest), b = sprag_scene_draw(scene, least, largest),
           c = sprag_scene_draw(scene, least, largest);
    if (scene->bodies % 2) {
        sprag_scene_ball(scene, density * M_PI / 6 * a * a * a, a / 2, x, y, z);
    } else {
        dBodyID box =
            sprag_scene_box(scene, density * a * b * c, (const double[3]){a, b, c}, x, y, z);
        dMatrix3 turned;
        double u = sprag_scene_draw(scene, -1, 1), v = sprag_scene_draw(scene, -1, 1),
               w = sprag_scene_draw(scene, -1, 1);
        dRFromAxisAndAngle(turned, u, v, w, sprag_scene_draw(scene, 0, 3));
        dBodySetRotation(box, turned);
    }
}

// The bin is such that the pile is about as high as wide at any size.
static void pile_open(sprag_scene *scene)
{
    pile *p = scene->data;
    int size = scene->model->size;
    int row = (int)fmax(2, round(cbrt(0.6 * size)));
    p->side = row * spacing;
    add_bin(scene, p->side, spacing * (size / (row * row) + 2));
    for (int i = 0; i < size; i++) {
        double x = spacing * (i % row + 0.5) - p->side / 2 + sprag_scene_draw(scene, -0.01, 0.01);
        double y =
            spacing * (i / row % row + 0.5) - p->side / 2 + sprag_scene_draw(scene, -0.01, 0.01);
        add_one(scene, x, y, spacing * (i / (row * row) + 0.75));
    }
}

static void pile_after_step(sprag_scene *scene)
{
    pile *p = scene->data;
    if (sprag_scene_time(scene) <= scene->model->settled) {
        return;
    }
    double speed = 0;
    for (int i = 0; i < scene->bodies; i++) {
        const dReal *v = dBodyGetLinearVel(scene->body[i]);
        speed += dCalcVectorLength3(v);
    }
    p->speed += speed / scene->bodies;
    p->depth += scene->mean_penetration;
    p->steps++;
}

static int left_the_bin(const sprag_scene *scene)
{
    const pile *p = scene->data;
    int count = 0;
    for (int i = 0; i < scene->bodies; i++) {
        const dReal *x = dBodyGetPosition(scene->body[i]);
        count += x[2] < 0 || fmax(fabs(x[0]), fabs(x[1])) > p->side / 2;
    }
    return count;
}

static int pile_measure(const sprag_scene *scene, sprag_measure *measures)
{
    const pile *p = scene->data;
    double steps = p->steps ? (double)p->steps : NAN;
    measures[0] = (sprag_measure){"mean penetration", "m", p->depth / steps, 0, SPRAG_GOOD_LENGTH};
    // Balls roll for a long time, so that the speed does not fall to rounding errors.
    measures[1] = (sprag_measure){"mean speed", "m/s", p->speed / steps, 0, 1e-2};
    measures[2] = (sprag_measure){"left the bin", "bodies", left_the_bin(scene), 0, 0.5};
    return 3;
}

const sprag_script sprag_pile = {
    .data = sizeof(pile),
    .contacts = 8,
    .friction = 0.5,
    .open = pile_open,
    .after_step = pile_after_step,
    .measure = pile_measure,
};

// A bowl of eight sides instead of a bin.
static void bowl_open(sprag_scene *scene)
{
    enum { SIDES = 8 };
    pile *p = scene->data;
    const double slope = 35 * SPRAG_DEGREE;
    int size = scene->model->size, row = (int)fmax(2, round(cbrt(0.6 * size)));
    double inner = 0.3 * row * spacing;
    p->side = INFINITY;
    sprag_scene_floor(scene);
    for (int i = 0; i < SIDES; i++) {
        double angle = 2 * M_PI * i / SIDES, x = -sin(slope) * cos(angle);
        dCreatePlane(scene->space, x, -sin(slope) * sin(angle), cos(slope), -sin(slope) * inner);
    }
    for (int i = 0; i < size; i++) {
        double x = spacing * (i % row + 0.5 - row / 2.0) + sprag_scene_draw(scene, -0.01, 0.01);
        double y =
            spacing * (i / row % row + 0.5 - row / 2.0) + sprag_scene_draw(scene, -0.01, 0.01);
        add_one(scene, x, y, 0.4 * row * spacing + spacing * (i / (row * row) + 0.75));
    }
}

const sprag_script sprag_bowl = {
    .data = sizeof(pile),
    .contacts = 8,
    .friction = 0.5,
    .open = bowl_open,
    .after_step = pile_after_step,
    .measure = pile_measure,
};
