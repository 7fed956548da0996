// The quadruped of models/legs.c, whose feet have 1000 vertices each, beside stock's dWorldStep.
#include <math.h>
#include <string.h>

#include "bench_advance.h"

static void tell_measures(const sprag_scene *scene, bool judged)
{
    sprag_measure measure[SPRAG_MEASURES_MAX];
    int count = sprag_scene_measure(scene, measure);
    for (int i = 0; i < count; i++) {
        const sprag_measure *m = &measure[i];
        if (judged && !isnan(m->good)) {
            row_near(m->name, m->value, isnan(m->exact) ? 0 : m->exact, m->good);
        } else {
            row_report(m->name, m->value);
        }
    }
}

static void walk(const char *name, const char *options)
{
    advance_world w;
    const sprag_model *model = sprag_model_find("legs");
    bool ours = options == advance_ours;
    advance_world_open(&w, model, 0, options);
    advance_world_run(&w, model->seconds);
    row_scene("legs, %s", name);
    tell_measures(&w.of.scene, ours);
    if (ours) {
        advance_counts c = advance_world_counts(&w);
        row_changes(&w, 1.1);
        row_report("mean substep/s", sprag_scene_time(&w.of.scene) / (double)c.substeps);
        row_world(&w);
    } else {
        row_report("least gap/m", w.least);
    }
    row_report("us/frame", w.us / (double)w.of.scene.steps_done);
    advance_world_close(&w);
}

void part_legs(bool full)
{
    (void)full;
    walk("ours", advance_ours);
    walk("dWorldStep", "method=ode-step");
}
