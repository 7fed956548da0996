// A half circle of nine wedge-shaped stones that hold each other up by their faces alone. A half
// circle stands from a thickness of 0.1075 of its mean radius on (Heyman, The Safety of Masonry
// Arches, 1969); this one has 0.26.
#include "scene.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { STONES = 9, CORNERS = 8, FACES = 6 };

static const double inner = 1, outer = 1.3, width = 0.5; // m
static const double stone_mass = 100;                    // kg

static const unsigned faces[] = {4, 0, 1, 2, 3, 4, 4, 7, 6, 5, 4, 0, 4, 5, 1,
                                 4, 1, 5, 6, 2, 4, 2, 6, 7, 3, 4, 3, 7, 4, 0};

typedef struct stone {
    dReal corner[CORNERS][3], plane[FACES][4]; // m; unit normal and m
    dVector3 start, settled;
} stone;

typedef struct arch {
    stone stone[STONES];
} arch;

static void set_planes(stone *s)
{
    for (int f = 0; f < FACES; f++) {
        const unsigned *p = faces + 5 * f + 1;
        dVector3 u, v, normal;
        dSubtractVectors3(u, s->corner[p[1]], s->corner[p[0]]);
        dSubtractVectors3(v, s->corner[p[2]], s->corner[p[0]]);
        dCalcVectorCross3(normal, u, v);
        dNormalize3(normal);
        memcpy(s->plane[f], normal, 3 * sizeof *normal);
        s->plane[f][3] = dCalcVectorDot3(normal, s->corner[p[0]]);
    }
}

// The sine of an angle up to pi, where it is 0: M_PI has a sine of 1e-16, by which ODE's spaces
// tell the last face from the floor, and the arch would fall for a step.
static double sine(double angle)
{
    return sin(fmin(angle, M_PI - angle));
}

// Between two angles. The mass is in the middle, as that of a block of its sides.
static void add_stone(sprag_scene *scene, stone *s, double from, double to)
{
    double middle = (inner + outer) / 2, angle = (from + to) / 2;
    double at[2] = {middle * cos(angle), middle * sine(angle)};
    for (int i = 0; i < CORNERS; i++) {
        double r = i % 4 == 0 || i % 4 == 3 ? inner : outer, a = i % 4 < 2 ? from : to;
        s->corner[i][0] = r * cos(a) - at[0];
        s->corner[i][1] = i < 4 ? -width / 2 : width / 2;
        s->corner[i][2] = r * sine(a) - at[1];
    }
    set_planes(s);
    const double side[3] = {outer - inner, width, middle * (to - from)};
    dBodyID body = sprag_scene_box(scene, stone_mass, side, at[0], 0, at[1]);
    dGeomDestroy(dBodyGetFirstGeom(body));
    dGeomSetBody(dCreateConvex(scene->space, s->plane[0], FACES, s->corner[0], CORNERS, faces),
                 body);
    dCopyVector3(s->start, dBodyGetPosition(body));
}

static void arch_open(sprag_scene *scene)
{
    arch *a = scene->data;
    sprag_scene_floor(scene);
    for (int i = 0; i < STONES; i++) {
        add_stone(scene, &a->stone[i], M_PI * i / STONES, M_PI * (i + 1) / STONES);
    }
}

static void arch_after_step(sprag_scene *scene)
{
    arch *a = scene->data;
    for (int i = 0; i < STONES && sprag_scene_reaches(scene, scene->model->settled); i++) {
        dCopyVector3(a->stone[i].settled, dBodyGetPosition(scene->body[i]));
    }
}

static int arch_measure(const sprag_scene *scene, sprag_measure *measures)
{
    const arch *a = scene->data;
    bool settled = sprag_scene_time(scene) > scene->model->settled;
    double moved = 0, creep = settled ? 0 : NAN;
    for (int i = 0; i < STONES; i++) {
        const stone *s = &a->stone[i];
        const dReal *at = dBodyGetPosition(scene->body[i]);
        moved = fmax(moved, sprag_distance(at, s->start));
        creep = settled ? fmax(creep, sprag_distance(at, s->settled)) : NAN;
    }
    measures[0] = (sprag_measure){"stones moved by", "m", moved, 0, 2e-3};
    measures[1] = (sprag_measure){"creep from 1 s on", "m", creep, 0, SPRAG_GOOD_LENGTH};
    return 2;
}

const sprag_script sprag_arch = {
    .data = sizeof(arch),
    .contacts = 8,
    .friction = 0.8,
    .penetration = 2e-3,
    .open = arch_open,
    .after_step = arch_after_step,
    .measure = arch_measure,
};
