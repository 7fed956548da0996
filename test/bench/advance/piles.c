// Random boxes that fall into a bin or onto the floor, beside stock's steppers on the same scene:
// each steps its own, and where a stock one is over its budget it is stopped; ratios are of the
// frames that both took.
#include <math.h>
#include <stdio.h>

#include "bench_advance.h"

enum { FRAMES = 300, FEWER = 150 };

static const double budget = 10e6; // us, of a stock method

static int boxes;
static bool in_bin;

static void bin(sprag_scene *scene, double half)
{
    const double thick = 0.2, high = 6;
    for (int i = 0; i < 4 && in_bin; i++) {
        double far = (i % 2 ? 1 : -1) * (half + thick / 2);
        double along = 2 * half + 2 * thick;
        dGeomID side = dCreateBox(scene->space, i < 2 ? thick : along, i < 2 ? along : thick, high);
        dGeomSetPosition(side, i < 2 ? far : 0, i < 2 ? 0 : far, high / 2);
    }
}

static void pile_open(sprag_scene *scene)
{
    const double apart = 1.1; // m, more than the longest diagonal
    int wide = boxes > 200 ? 7 : boxes > 50 ? 5 : 2;
    chance c = {7};
    sprag_scene_floor(scene);
    bin(scene, apart * wide / 2);
    for (int i = 0; i < boxes; i++) {
        double side[3], R[9], density = 500;
        for (int k = 0; k < 3; k++) {
            side[k] = chance_between(&c, 0.2, 0.6);
        }
        dBodyID body = sprag_scene_box(scene, density * side[0] * side[1] * side[2], side,
                                       apart * (i % wide - (wide - 1) / 2.0),
                                       apart * (i / wide % wide - (wide - 1) / 2.0),
                                       0.6 + apart * (i / wide / wide));
        chance_turn(&c, R);
        dBodySetRotation(
            body, (const dMatrix3){R[0], R[1], R[2], 0, R[3], R[4], R[5], 0, R[6], R[7], R[8], 0});
    }
}

// us, of each frame; returns how many were taken.
static int run(advance_world *w, const char *options, int frames, double *us)
{
    double spent = 0;
    int k = 0;
    advance_world_make(w, pile_open, 0.5, options);
    for (; k < frames && (options == advance_ours || spent < budget); k++) {
        advance_world_step(w);
        us[k] = bench_stepper_us;
        spent += us[k];
    }
    return k;
}

static double sum(const double *us, int count)
{
    double total = 0;
    for (int k = 0; k < count; k++) {
        total += us[k];
    }
    return total;
}

static void beside(const char *name, const char *options, const double *ours, int frames)
{
    advance_world w;
    double us[FRAMES];
    char figure[64];
    int taken = run(&w, options, frames, us);
    snprintf(figure, sizeof figure, "ours / %s, time", name);
    row_report(figure, sum(ours, taken) / sum(us, taken));
    snprintf(figure, sizeof figure, "%s, us/frame", name);
    row_report(figure, sum(us, taken) / taken);
    snprintf(figure, sizeof figure, "%s, least gap/m", name);
    row_report(figure, w.least);
    advance_world_close(&w);
}

static void pile(int count, bool walled, int frames)
{
    advance_world w;
    double us[FRAMES];
    boxes = count;
    in_bin = walled;
    run(&w, advance_ours, frames, us);
    advance_counts c = advance_world_counts(&w);
    row_scene("%d boxes, %s", count, walled ? "bin" : "plane");
    row_at_most("substeps/frame of a group", (double)c.substeps / (double)w.groups, 7);
    row_report("groups", (double)w.groups / frames);
    row_changes(&w, INFINITY);
    row_world(&w);
    row_at_most("energy gained/J", w.of.scene.energy_gain, 1e-6 * fabs(w.of.scene.first_energy));
    row_report("us/frame", sum(us, frames) / frames);
    advance_world_close(&w);
    beside("dWorldStep", "method=ode-step", us, frames);
    beside("QuickStep(100)", "method=ode-quick", us, frames);
}

void part_piles(bool full)
{
    static const int count[] = {6, 12, 20, 100, 300, 700};
    for (int i = 0; i < 6 && (full || count[i] <= 100); i++) {
        const int frames = full || count[i] < 100 ? FRAMES : FEWER;
        pile(count[i], false, frames);
        pile(count[i], true, frames);
    }
}
