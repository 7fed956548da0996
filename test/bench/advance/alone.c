// Contact that lasts, and walls that are thin, in the solver without ODE: here the check looks
// three times in every sub-step.
#include <math.h>
#include <string.h>

#include "bench_advance.h"

static const double hair = 5e-7; // m, between what rests on each other

static sprag_mover *cube(advance_scene *s, double side, double density, double x, double z)
{
    return advance_scene_box(s, (const double[3]){side, side, side}, density, x, 0, z);
}

static void stack(advance_scene *s, double shift, double drop)
{
    for (int i = 0; i < 10; i++) {
        cube(s, 1, 1, shift * i, i + 0.5 + (i + 1) * drop);
    }
}

static void aligned(advance_scene *s)
{
    stack(s, 0, hair);
}

static void staggered(advance_scene *s)
{
    stack(s, 0.02, 1e-3);
}

static void thousand(advance_scene *s)
{
    cube(s, 1, 1, 0, 0.5 + hair);
    cube(s, 1, 1000, 0, 1.5 + 2 * hair);
}

static void fix(sprag_mover *body)
{
    body->mass = 0;
    memset(body->force, 0, sizeof body->force);
}

static void turn(sprag_mover *body, int axis, double angle)
{
    double c = cos(angle), s = sin(angle);
    int a = (axis + 1) % 3, b = (axis + 2) % 3;
    double *R = body->pose.rotation;
    R[4 * a] = R[4 * b] = c;
    R[3 * a + b] = -s;
    R[3 * b + a] = s;
}

static void tilted(advance_scene *s, double floor)
{
    const double tilt = 0.3;
    double z = floor + 0.25 * sin(tilt) + 0.5 * cos(tilt) + hair;
    turn(advance_scene_box(s, (const double[3]){0.5, 0.5, 1}, 4, 0, 0, z), 1, tilt);
}

static void rock_plane(advance_scene *s)
{
    tilted(s, 0);
}

static void rock_fixed(advance_scene *s)
{
    fix(advance_scene_box(s, (const double[3]){4, 4, 0.5}, 1, 0, 0, 1));
    tilted(s, 1.25);
}

static void rock_free(advance_scene *s)
{
    advance_scene_box(s, (const double[3]){2, 2, 0.5}, 5, 0, 0, 0.25 + hair);
    tilted(s, 0.5 + hair);
}

static void crossed(advance_scene *s, bool fixed)
{
    const double up = sqrt(0.5) / 2, floor = fixed ? 0.3 : hair;
    sprag_mover *lower = advance_scene_box(s, (const double[3]){2, 0.5, 0.5}, 1, 0, 0, floor + up);
    turn(lower, 0, M_PI / 4);
    if (fixed) {
        fix(lower);
    }
    turn(advance_scene_box(s, (const double[3]){0.5, 2, 0.5}, 1, 0.01, 0.02, floor + 3 * up + 0.01),
         1, M_PI / 4);
}

static void crossed_fixed(advance_scene *s)
{
    crossed(s, true);
}

static void crossed_free(advance_scene *s)
{
    crossed(s, false);
}

static void corners(advance_scene *s)
{
    const double r = sqrt(0.5), t = sqrt(1 / 3.0), high = 0.25 * sqrt(3);
    const double up[9] = {r, -r, 0, r * t, r * t, -2 * r * t, t, t, t};
    for (int i = 0; i < 2; i++) {
        sprag_mover *body = cube(s, 0.5, 1, 0, 1 + i * (2 * high + 0.01));
        memcpy(body->pose.rotation, up, sizeof up);
        if (i == 0) {
            fix(body);
        }
    }
}

static void heap(advance_scene *s)
{
    chance c = {7};
    for (int i = 0; i < 12; i++) {
        double side[3];
        for (int k = 0; k < 3; k++) {
            side[k] = chance_between(&c, 0.2, 0.6);
        }
        sprag_mover *body =
            advance_scene_box(s, side, 500, 0.2 * (i % 2), 0.2 * (i / 2 % 2), 0.6 + 1.1 * i);
        chance_turn(&c, body->pose.rotation);
    }
}

// Flat on the floor in a moment, one corner after the other, each of them on its own event.
static void landing(advance_scene *s)
{
    const double v[6] = {0.25300299041118712, -0.59314494027026488, -1.5574940877871546,
                         6.67969632824357,    1.3644617683742266,   -0.82208896508439366};
    const double q[4] = {0.63357605208282652, -0.01297716907050054, 0.012652866458828604,
                         0.77346808872792572};
    const double side[3] = {0.47858121285505489, 0.49249272526453242, 0.25155793735754933};
    sprag_mover *body =
        advance_scene_box(s, side, 500, 2.2134426180387385, 1.069941157662694, 0.13523659420001446);
    body->force[2] *= 9.81 / 9.8;
    chance_turn_by(q, body->pose.rotation);
    memcpy(body->velocity, v, sizeof v);
}

static void thin_wall(advance_scene *s)
{
    fix(advance_scene_box(s, (const double[3]){0.01, 10, 10}, 1, 2, 0, 6));
}

static void shot(advance_scene *s)
{
    thin_wall(s);
    const double v[6] = {200, 0, 0, 0, 200, 111.7};
    memcpy(cube(s, 0.1, 1000, 1, 6)->velocity, v, sizeof v);
}

static void rod(advance_scene *s)
{
    thin_wall(s);
    const double v[6] = {1, 0, 0, 0, 229, 0};
    memcpy(advance_scene_box(s, (const double[3]){0.02, 0.02, 1}, 1000, 1.7, 0, 6)->velocity, v,
           sizeof v);
}

// ---- running

typedef struct alone {
    const char *name;
    void (*open)(advance_scene *);
    double seconds;
    double substeps; // a frame, at most
    double drift;    // m, from 1 s on, at most; INFINITY: it moves
} alone;

static const alone scenes[] = {
    {"stack, aligned", aligned, 30, 1.01, 1e-5},
    {"stack, staggered", staggered, 30, 1.01, 1e-5},
    {"1:1000", thousand, 10, 1.01, 1e-5},
    {"rocking on plane", rock_plane, 4, 2, INFINITY},
    {"rocking on fixed box", rock_fixed, 4, 2, INFINITY},
    {"rocking on free box", rock_free, 4, 2, INFINITY},
    {"crossed, one fixed", crossed_fixed, 4, 2.1, INFINITY},
    {"crossed, both free", crossed_free, 4, 2.1, INFINITY},
    {"vertex on vertex", corners, 4, 2, INFINITY},
    {"landing by corners", landing, 0.1, 2, INFINITY},
    {"12 boxes, plane", heap, 5, 7, INFINITY},
    {"cube 200 m/s, wall 1 cm", shot, 1, 7, INFINITY},
    {"rod 229 rad/s, wall 1 cm", rod, 1, 7, INFINITY},
};

static double drift(const advance_scene *s, const sprag_pose *from)
{
    double most = 0;
    for (int i = 0; i < s->bodies; i++) {
        const double *x = s->body[i].pose.position, *y = from[i].position;
        most = fmax(most, sqrt(pow(x[0] - y[0], 2) + pow(x[1] - y[1], 2) + pow(x[2] - y[2], 2)));
    }
    return most;
}

static void tell(const alone *a, const advance_scene *s, double drifted)
{
    const sprag_advance_stats *c = &s->stats;
    double farthest = s->body[s->bodies - 1].pose.position[0];
    row_scene("%s", a->name);
    row_report("initial gap/m", s->initial);
    row_at_least("least gap/m, ours to check", s->least, 0);
    row_at_least("least gap/m, its own", c->least_gap, 0);
    row_at_most("pairs squeezed", (double)c->squeezed, 0);
    row_at_most("substeps/frame", (double)c->substeps / (double)c->frames, a->substeps);
    row_report("changes", (double)c->changes);
    row_report("limited/change", (double)c->limited / fmax((double)c->changes, 1));
    row_at_most("stalled share", c->stalled / s->time, 1e-3);
    row_at_most("frames refused", (double)s->failed, 0);
    row_at_most("solves failed", (double)c->failed, 0);
    if (isfinite(a->drift)) {
        row_at_most("drift from 1 s on/m", drifted, a->drift);
    } else if (a->open == shot || a->open == rod) {
        row_at_most("farthest/m", farthest, 2);
    }
}

static void run(const alone *a)
{
    advance_scene s;
    sprag_pose settled[ADVANCE_BODIES] = {0};
    advance_scene_start(&s, 0.5);
    a->open(&s);
    advance_scene_close_up(&s);
    double start = bench_cpu_us(), first = advance_scene_energy(&s), gain = 0;
    for (long k = 0; k < lround(a->seconds / 0.01); k++) {
        for (int i = 0; i < s.bodies && k == 100; i++) {
            settled[i] = s.body[i].pose;
        }
        advance_scene_step(&s, 0.01);
        gain = fmax(gain, advance_scene_energy(&s) - first);
    }
    double us = bench_cpu_us() - start;
    tell(a, &s, drift(&s, settled));
    row_at_most("energy gained/J", gain, 1e-6 * first);
    row_report("us/frame, with checks", us / (double)s.stats.frames);
    advance_scene_free(&s);
}

void part_alone(bool full)
{
    (void)full;
    for (int i = 0; i < (int)(sizeof scenes / sizeof *scenes); i++) {
        run(&scenes[i]);
    }
}
