// The paper's method (paper.h) on the dice of part die, as its experiment has them: no slip, 10 ms,
// touching within 1e-6 m, the transient minimum 1e-6 s. Beside it ours on the same dice.
#include <math.h>
#include <stdio.h>

#include "bench_advance.h"
#include "paper.h"

enum { DICE = 50 };

typedef struct sums {
    double time, least, own, mean; // s, m, m, s
    long steps, limited, changes, failed, refused, unrest;
} sums;

static sums throw_dice(advance_simulate *simulate, double shortest)
{
    sums t = {.least = INFINITY, .own = INFINITY};
    for (int seed = 1; seed <= DICE; seed++) {
        advance_scene s;
        advance_scene_die(&s, INFINITY, seed);
        s.simulate = simulate;
        s.options.shortest = shortest > 0 ? shortest : s.options.shortest;
        t.unrest += isnan(advance_scene_rest(&s, 0.01));
        t.time += s.time;
        t.least = fmin(t.least, s.least);
        t.own = fmin(t.own, s.stats.least_gap);
        t.steps += s.stats.substeps;
        t.limited += s.stats.limited;
        t.changes += s.stats.changes;
        t.failed += s.stats.failed;
        t.refused += s.failed;
        advance_scene_free(&s);
    }
    return t;
}

static void tell(const char *name, const sums *t)
{
    row_scene("die, no-slip, %s", name);
    row_report("simulated/s", t->time);
    row_report("never at rest", (double)t->unrest);
    row_at_most("frames refused", (double)t->refused, 0);
    row_report("solves failed", (double)t->failed);
    row_report("steps/s", (double)t->steps / t->time);
    row_report("mean step/s", t->time / (double)t->steps);
    row_report("changes/die", (double)t->changes / DICE);
    row_report("steps/change", (double)t->steps / (double)t->changes);
    row_report("limited/change", (double)t->limited / (double)t->changes);
    row_report("least gap/m", t->least);
    row_report("least gap/m, its own", t->own);
}

void part_paper(bool full)
{
    (void)full;
    sums paper = throw_dice(sprag_paper_simulate, 1e-4);
    sums ours = throw_dice(sprag_advance, 0);
    tell("paper's", &paper);
    tell("ours", &ours);
    row_at_least("times fewer steps/s",
                 (double)paper.steps * ours.time / ((double)ours.steps * paper.time), 50);
    row_at_least("least gap/m", ours.least, 0);
}
