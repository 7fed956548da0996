// Share of the steps of groups with contacts that method=ess integrates whole, in 2 s of scenes;
// the mean of five tolerances around the default: where several in a row are not, up to 63 more are
// left to the implicit step, so that a few of these decide. "limit": left at the limit of work;
// "stopped": without forces; the others for any reason.
#include <math.h>
#include <stdio.h>

#include "bench.h"
#include "scene.h"
#include "sprag.h"

static const double SECONDS = 2, LEAST = 0.8;
static const double tolerances[] = {0.9e-6, 0.95e-6, 1e-6, 1.05e-6, 1.1e-6};
enum { TOLERANCES = sizeof tolerances / sizeof *tolerances };

static const struct scene {
    const char *name;
    bool judged;
} scenes[] = {
    {"legs", true},        {"ragdolls:1", true}, {"ragdolls:2", true}, {"pile:10", true},
    {"pile:15", true},     {"pile:20", true},    {"bowl:10", true},    {"bowl:20", true},
    {"dominoes:20", true}, {"wreck:20", false},  {"yard", false},
};

static sprag_world_statistics run(const char *name, double tolerance)
{
    bench_scene of;
    char options[64];
    sprag_world_statistics stats = {.struct_size = sizeof stats};
    const sprag_model *model = sprag_model_find(name);
    snprintf(options, sizeof options, "method=ess,ess.tolerance=%g", tolerance);
    bench_open(&of, model, options, 20);
    for (long k = 0; k < lround(SECONDS / model->step); k++) {
        bench_step(&of);
    }
    if (!sprag_world_stats(of.scene.world, &stats)) {
        stats = (sprag_world_statistics){0};
    }
    sprag_scene_close(&of.scene);
    return stats;
}

void bench_ess_share(line_fn *line)
{
    line("share|||whole|least|most|limit|stopped|others");
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        double mean = 0, least = 1, most = 0;
        long left = 0, limit = 0, stopped = 0;
        for (int t = 0; t < TOLERANCES; t++) {
            sprag_world_statistics s = run(scenes[i].name, tolerances[t]);
            const long declined = s.ess_declined + s.ess_switched;
            const double share = (double)s.ess_whole / (double)(s.ess_whole + declined);
            mean += share / TOLERANCES;
            least = fmin(least, share);
            most = fmax(most, share);
            left += declined;
            limit += s.ess_left[SPRAG_ESS_LIMIT];
            stopped += s.ess_left[SPRAG_ESS_STOPPED];
        }
        line("%s|||%.2f|%.2f|%.2f|%ld|%ld|%ld", scenes[i].name, mean, least, most, limit, stopped,
             left - limit - stopped);
        if (scenes[i].judged) {
            bench_at_least(scenes[i].name, mean, LEAST);
        }
    }
}
