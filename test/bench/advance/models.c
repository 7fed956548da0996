// Every model under ours and under stock's dWorldStep: how deep bodies ever are in each other,
// after a step. Pairs that overlap from the start are counted apart: they must not get deeper.
#include <math.h>

#include "bench_advance.h"

enum { STEPS = 500, LARGE = 50, STEPS_LARGE = 60 };

static void run(advance_world *w, const sprag_model *model, const char *options, bool full)
{
    long own = lround(model->seconds / model->step);
    long most = model->size >= LARGE ? STEPS_LARGE : STEPS;
    long steps = full || own < most ? own : most;
    advance_world_open(w, model, 0, options);
    for (long k = 0; k < steps; k++) {
        advance_world_step(w);
    }
}

static void one(const sprag_model *model, bool full)
{
    advance_world stock, ours;
    row_scene("%s", model->name);
    run(&ours, model, advance_ours, full);
    row_at_most("bodies not finite", (double)ours.of.scene.nonfinite, 0);
    row_world(&ours);
    row_report("penetration/m, as the program sees", ours.of.scene.worst_penetration);
    advance_world_close(&ours);
    run(&stock, model, "method=ode-step", full);
    row_report("dWorldStep, least gap/m", stock.least);
    row_report("dWorldStep, LCP errors", (double)stock.of.lcp_errors);
    row_report("dWorldStep, penetration/m", stock.of.scene.worst_penetration);
    advance_world_close(&stock);
}

void part_models(bool full)
{
    for (const sprag_model *model = sprag_models; model->name; model++) {
        one(model, full);
    }
}
