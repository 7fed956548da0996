// Tests of SimBenchmark (leggedrobotics/SimBenchmark), with its sizes, masses and figures; its
// rolling test is in rolling.c. All but kapla are without friction. As there, energies and
// penetrations enter as the mean over the run of their squared errors, before each step. ERP is
// ODE's default, 0.2: SimBenchmark's runs with "erp on".
//
//   bouncing      49 balls drop from 5 m and bounce elastically: energy stays m g H n
//   666           6 x 6 x 6 balls drop in a loose lattice and spread: nothing overlaps
//   elastic-666   the same from 1 m higher, elastic: energy stays
//   kapla         a tower of six floors of loose blocks: it stands
#include "scene.h"

#include <math.h>

static const double ball_mass = 10, ball_radius = 0.1; // kg, m

typedef struct squares {
    double sum, energy; // squares so far; J, at first
} squares;

static void elastic(const sprag_scene *scene, dGeomID a, dGeomID b, dSurfaceParameters *surface)
{
    (void)scene, (void)a, (void)b;
    surface->mode |= dContactBounce;
    surface->bounce = 1;
    surface->bounce_vel = 0;
}

static double mean_square(const sprag_scene *scene)
{
    const squares *s = scene->data;
    return scene->steps_done ? s->sum / (double)scene->steps_done : NAN;
}

static void add_energy_error(sprag_scene *scene)
{
    squares *s = scene->data;
    s->energy = scene->steps_done ? s->energy : scene->energy;
    s->sum += pow(scene->energy - s->energy, 2);
}

// Good: a hundredth of the energy.
static int measure_energy(const sprag_scene *scene, sprag_measure *measures)
{
    const squares *s = scene->data;
    measures[0] = (sprag_measure){"squared energy error", "J2", mean_square(scene), 0,
                                  pow(0.01 * s->energy, 2)};
    return 1;
}

// ---- bouncing

static void bouncing_open(sprag_scene *scene)
{
    enum { ROW = 7 };
    sprag_scene_floor(scene);
    for (int i = 0; i < ROW * ROW; i++) {
        sprag_scene_ball(scene, ball_mass, ball_radius, 2 * (i / ROW), 2 * (i % ROW), 5);
    }
}

const sprag_script sprag_bouncing = {
    .data = sizeof(squares),
    .contacts = 1,
    .penetration = 0.1, // a ball at 10 m/s is found as deep as it moves in a step
    .open = bouncing_open,
    .surface = elastic,
    .before_step = add_energy_error,
    .measure = measure_energy,
};

// ---- 666

static void open_lattice(sprag_scene *scene, double height)
{
    enum { SIDE = 6 };
    const double gap = 0.21, disorder = 0.001; // m
    sprag_scene_floor(scene);
    for (int i = 0; i < SIDE * SIDE * SIDE; i++) {
        sprag_scene_ball(scene, ball_mass, ball_radius,
                         gap * (i / (SIDE * SIDE)) + sprag_scene_draw(scene, 0, disorder),
                         gap * (i / SIDE % SIDE) + sprag_scene_draw(scene, 0, disorder),
                         gap * (i % SIDE) + sprag_scene_draw(scene, 0, disorder) + height);
    }
}

static void lattice_open(sprag_scene *scene)
{
    open_lattice(scene, 0.101);
}

// m^2, of all pairs of balls and of all balls with the floor.
static void add_penetration(sprag_scene *scene)
{
    squares *s = scene->data;
    for (int i = 0; i < scene->bodies; i++) {
        const dReal *x = dBodyGetPosition(scene->body[i]);
        s->sum += pow(fmax(0, ball_radius - x[2]), 2);
        for (int k = 0; k < i; k++) {
            double apart = sprag_distance(x, dBodyGetPosition(scene->body[k]));
            s->sum += pow(fmax(0, 2 * ball_radius - apart), 2);
        }
    }
}

static int measure_penetration(const sprag_scene *scene, sprag_measure *measures)
{
    double good = scene->bodies * SPRAG_GOOD_LENGTH * SPRAG_GOOD_LENGTH;
    measures[0] = (sprag_measure){"squared penetration", "m2", mean_square(scene), 0, good};
    return 1;
}

const sprag_script sprag_666 = {
    .data = sizeof(squares),
    .contacts = 1,
    .open = lattice_open,
    .before_step = add_penetration,
    .measure = measure_penetration,
};

static void elastic_open(sprag_scene *scene)
{
    open_lattice(scene, 1.101);
}

const sprag_script sprag_elastic_666 = {
    .data = sizeof(squares),
    .contacts = 1,
    .penetration = 0.1,
    .open = elastic_open,
    .surface = elastic,
    .before_step = add_energy_error,
    .measure = measure_energy,
};

// ---- kapla

enum { FLOORS = 6, BASES = 8, WALLS = BASES / 2 };

static const double thick = 0.05, wide = 0.2, high = 0.1, block_mass = 10; // m, kg

typedef struct kapla {
    double stood;    // s, until the last block was below the height of its floor
    double contacts; // sum over steps
} kapla;

static void add_floor(sprag_scene *scene, double z)
{
    const double base[3] = {thick, wide + thick, high}, wall[3] = {wide, thick, high};
    for (int j = 0; j < BASES; j++) {
        sprag_scene_box(scene, block_mass, base, j * wide, 0, z + 0.5 * high);
    }
    for (int j = 0; j < WALLS; j++) {
        sprag_scene_box(scene, block_mass, wall, (2 * j + 0.5) * wide, -0.5 * wide, z + 1.5 * high);
    }
    for (int j = 0; j < WALLS - 1; j++) {
        sprag_scene_box(scene, block_mass, wall, (2 * j + 1.5) * wide, 0.5 * wide, z + 1.5 * high);
    }
    sprag_scene_box(scene, block_mass, wall, 0.5 * wide, 0.5 * wide, z + 1.5 * high);
    sprag_scene_box(scene, block_mass, wall, (2 * (WALLS - 1) + 0.5) * wide, 0.5 * wide,
                    z + 1.5 * high);
}

static void kapla_open(sprag_scene *scene)
{
    sprag_scene_floor(scene);
    for (int i = 0; i < FLOORS; i++) {
        add_floor(scene, 2 * i * high);
    }
}

static void kapla_after_step(sprag_scene *scene)
{
    kapla *k = scene->data;
    double top = dBodyGetPosition(scene->body[scene->bodies - 1])[2];
    k->contacts += scene->touching;
    if (top >= 2 * (FLOORS - 1) * high && k->stood >= sprag_scene_time(scene) - 1.5 * scene->step) {
        k->stood = sprag_scene_time(scene);
    }
}

static int kapla_measure(const sprag_scene *scene, sprag_measure *measures)
{
    const kapla *k = scene->data;
    double time = sprag_scene_time(scene), steps = (double)scene->steps_done;
    measures[0] = (sprag_measure){"stands for", "s", k->stood, time, scene->step};
    measures[1] =
        (sprag_measure){"contacts, mean", "", steps > 0 ? k->contacts / steps : NAN, NAN, NAN};
    return 2;
}

const sprag_script sprag_kapla = {
    .data = sizeof(kapla),
    .contacts = 8,
    .friction = 0.64, // 0.8 of either block: SimBenchmark multiplies them
    .open = kapla_open,
    .after_step = kapla_after_step,
    .measure = kapla_measure,
};
