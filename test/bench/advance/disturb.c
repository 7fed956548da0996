// Random velocities, given to half of the bodies behind the back of the contact solve, before the
// certificate: whatever the solve returns, nothing may interpenetrate.
#include <math.h>
#include <string.h>

#include "bench_advance.h"

enum { SEEDS = 67, FRAMES = 20 }; // 5 scenes, 3 levels: 1005 runs

static const double hair = 5e-7; // m, between what rests on each other

static void single(advance_scene *s)
{
    advance_scene_box(s, (const double[3]){1, 1, 1}, 1, 0, 0, 0.5 + hair);
}

static void tower(advance_scene *s)
{
    for (int i = 0; i < 5; i++) {
        advance_scene_box(s, (const double[3]){1, 1, 1}, 1, 0.02 * i, 0,
                          (i + 0.5) + (i + 1) * hair);
    }
}

static void turn_45(sprag_mover *body, bool about_x)
{
    const double r = sqrt(0.5);
    const double x[9] = {1, 0, 0, 0, r, -r, 0, r, r}, y[9] = {r, 0, r, 0, 1, 0, -r, 0, r};
    memcpy(body->pose.rotation, about_x ? x : y, sizeof x);
}

static void crossed(advance_scene *s)
{
    const double r = sqrt(0.5);
    turn_45(advance_scene_box(s, (const double[3]){2, 1, 1}, 1, 0, 0, r + hair), true);
    turn_45(advance_scene_box(s, (const double[3]){1, 2, 1}, 1, 0, 0, 3 * r + 2 * hair), false);
}

static void plank(advance_scene *s)
{
    advance_scene_box(s, (const double[3]){0.3, 0.3, 0.3}, 1, 0, 0, 0.15 + hair);
    advance_scene_box(s, (const double[3]){2, 0.3, 0.02}, 1, 0.2, 0, 0.31 + 2 * hair);
}

static void heap(advance_scene *s)
{
    for (int i = 0; i < 6; i++) {
        const double side[3] = {0.3 + 0.05 * i, 0.5, 0.7 - 0.05 * i};
        sprag_mover *body =
            advance_scene_box(s, side, 1, i % 2 ? 0.1 : 0, 0.05 * i, 0.6 + 1.05 * i);
        chance_turn(&s->chance, body->pose.rotation);
        body->velocity[2] = -5;
    }
}

typedef struct disturbed {
    const char *name;
    void (*open)(advance_scene *);
} disturbed;

static const disturbed scenes[] = {{"box", single},
                                   {"tower of 5", tower},
                                   {"crossed edges", crossed},
                                   {"plank", plank},
                                   {"heap of 6", heap}};

typedef struct totals {
    double initial, least; // m
    long runs, deep, failed, substeps, frames;
} totals;

static void run(totals *t, const disturbed *of, double noise, int seed)
{
    advance_scene s;
    advance_scene_start(&s, 0.5);
    s.noise = noise;
    s.chance = (chance){(uint64_t)seed};
    of->open(&s);
    advance_scene_close_up(&s);
    for (int k = 0; k < FRAMES; k++) {
        advance_scene_step(&s, 0.01);
    }
    t->runs++;
    t->deep += !(s.least >= 0);
    t->failed += s.failed;
    t->initial = fmin(t->initial, s.initial);
    t->least = fmin(t->least, s.least);
    t->substeps += s.stats.substeps;
    t->frames += FRAMES;
    advance_scene_free(&s);
}

void part_disturb(bool full)
{
    static const double level[] = {0.01, 1, 5};
    (void)full;
    for (int i = 0; i < (int)(sizeof scenes / sizeof *scenes); i++) {
        for (int k = 0; k < 3; k++) {
            totals t = {.initial = INFINITY, .least = INFINITY};
            row_scene("%s, %g m/s", scenes[i].name, level[k]);
            for (int seed = 1; seed <= SEEDS; seed++) {
                run(&t, &scenes[i], level[k], seed);
            }
            row_report("initial gap/m", t.initial);
            row_at_most("runs that interpenetrate", (double)t.deep, 0);
            row_report("of", (double)t.runs);
            row_report("least gap/m", t.least);
            row_report("substeps/frame", (double)t.substeps / (double)t.frames);
            row_at_most("frames refused", (double)t.failed, 0);
        }
    }
}
