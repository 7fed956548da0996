// The scenes of `sprag compare` under method=advance and under stribeck: CPU time of all steps,
// collision detection included. The two take some steps each in turn.
#include <math.h>

#include "bench_advance.h"

enum { WAYS = 2, TURN = 10 }; // steps: reading the clock takes as long as a step of a small scene

static void run(const sprag_model *model, double us[WAYS])
{
    static const char *const options[WAYS] = {"method=stribeck", "method=advance"};
    bench_scene way[WAYS];
    const long turns = lround(model->seconds / model->step) / TURN;
    for (int i = 0; i < WAYS; i++) {
        bench_open(&way[i], model, options[i], 20);
        us[i] = 0;
    }
    for (long k = 0; k < WAYS * turns; k++) {
        const double before = bench_cpu_us();
        for (int step = 0; step < TURN; step++) {
            bench_step(&way[k % WAYS]);
        }
        us[k % WAYS] += bench_cpu_us() - before;
    }
    for (int i = 0; i < WAYS; i++) {
        us[i] /= (double)(TURN * turns);
        sprag_scene_close(&way[i].scene);
    }
}

void part_compare(bool full)
{
    bench_stepper = bench_world_step;
    for (const sprag_model *model = sprag_models; model->name; model++) {
        double us[WAYS];
        if (full || model->size == 0) {
            row_scene("%s", model->name);
            run(model, us);
            row_report("stribeck, us/step", us[0]);
            row_at_most("advance / stribeck, time", us[1] / us[0], 1.5);
        }
    }
    bench_stepper = NULL;
}
