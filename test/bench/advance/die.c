// A die thrown onto the floor, with the distributions of the experiment's own files, until it is at
// rest: without slip, as there, and with Coulomb friction.
#include <math.h>

#include "bench_advance.h"

enum { DICE = 50 };

static const double longest = 30, quiet = 0.2, at_rest = 1e-3; // s, s, m/s and rad/s

typedef struct totals {
    double time, rest;               // s
    double initial, least, own;      // m
    double shortest;                 // s
    long substeps, limited, changes; //
    long looks, unrest, overlaps, failed;
} totals;

void advance_scene_die(advance_scene *s, double friction, int seed)
{
    chance c = {(uint64_t)seed};
    advance_scene_start(s, friction);
    sprag_mover *die = advance_scene_box(s, (const double[3]){1, 1, 1}, 1, 0, 0, 2);
    for (int k = 0; k < 3; k++) {
        die->pose.position[k] += chance_between(&c, -1, 1);
    }
    chance_turn(&c, die->pose.rotation);
    for (int k = 0; k < 6; k++) {
        die->velocity[k] = chance_between(&c, -10, 10);
    }
    advance_scene_close_up(s);
}

double advance_scene_rest(advance_scene *s, double step)
{
    double since = NAN;
    while (s->time < longest && !s->failed) {
        advance_scene_step(s, step);
        if (advance_scene_speed(s) > at_rest) {
            since = NAN;
        } else if (isnan(since)) {
            since = s->time;
        } else if (s->time - since >= quiet) {
            return since;
        }
    }
    return NAN;
}

static void add(totals *t, const advance_scene *s, double rest)
{
    t->time += s->time;
    t->rest += isnan(rest) ? longest : rest;
    t->unrest += isnan(rest);
    t->failed += s->failed;
    t->initial = fmin(t->initial, s->initial);
    t->least = fmin(t->least, s->least);
    t->own = fmin(t->own, s->stats.least_gap);
    t->shortest = fmin(t->shortest, s->stats.least_step);
    t->substeps += s->stats.substeps;
    t->limited += s->stats.limited;
    t->changes += s->stats.changes;
    t->looks += s->looks;
    t->overlaps += s->stats.overlaps;
}

static totals throw_all(double friction, double step)
{
    totals t = {.initial = INFINITY, .least = INFINITY, .own = INFINITY, .shortest = INFINITY};
    for (int seed = 1; seed <= DICE; seed++) {
        advance_scene s;
        advance_scene_die(&s, friction, seed);
        double rest = advance_scene_rest(&s, step);
        add(&t, &s, rest);
        advance_scene_free(&s);
    }
    return t;
}

static void one_friction(const char *name, double friction)
{
    totals t = throw_all(friction, 0.01), fine = throw_all(friction, 0.001);
    row_scene("die, %s", name);
    row_report("simulated/s", t.time);
    row_at_most("frames refused", (double)t.failed, 0);
    row_at_most("limited/change", (double)t.limited / (double)t.changes, 1.1);
    row_at_most("substeps/s", (double)t.substeps / t.time, 135);
    row_report("changes/die", (double)t.changes / DICE);
    row_report("shortest substep/s", t.shortest);
    row_report("substeps that the check saw", (double)t.looks);
    row_report("initial gap/m", t.initial);
    row_at_least("least gap/m, ours to check", t.least, 0);
    row_at_least("least gap/m, its own", t.own, 0);
    row_at_least("least gap/m, ours, 1 ms", fine.least, 0);
    row_at_most("overlaps", (double)t.overlaps, 0);
    row_at_most("never at rest", (double)t.unrest, 0);
    row_report("rest time/s, 10 ms", t.rest);
    row_near("the same over that at 1 ms", t.rest / fine.rest, 1, 0.07);
}

void part_die(bool full)
{
    (void)full;
    one_friction("no-slip", INFINITY);
    one_friction("mu 0.5", 0.5);
}
