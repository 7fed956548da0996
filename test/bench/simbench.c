// The tests of SimBenchmark side by side: stock, sprag, and MuJoCo and Bullet where they were
// installed when this was built (Debian's libmujoco-dev and libbullet-dev). Bodies, pushes and
// figures are the models'; contacts are each engine's own, at its defaults: mujoco.c and bullet.cpp
// say more. MuJoCo has no restitution, so it takes no part in the elastic tests.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "scene.h"

enum { ENGINES = 6, CELL = 48 };

typedef enum engine_kind { OF_ODE, OF_MUJOCO, OF_BULLET } engine_kind;

typedef struct engine {
    const char *name, *options; // of sprag, or of MuJoCo
    engine_kind kind;
} engine;

static const engine engines[ENGINES] = {
    {"ode-step", "method=ode-step", OF_ODE},  {"ode-quick", "method=ode-quick", OF_ODE},
    {"stribeck", "method=stribeck", OF_ODE},  {"advance", "method=advance", OF_ODE},
    {"mujoco", "solver='Newton'", OF_MUJOCO}, {"bullet", "", OF_BULLET},
};

dSurfaceParameters bench_surface(const sprag_scene *scene, dGeomID a, dGeomID b)
{
    const sprag_script *script = scene->model->script;
    dSurfaceParameters surface = {.mode = dContactApprox1, .mu = script->friction};
    if (script->surface) {
        script->surface(scene, a, b, &surface);
    }
    return surface;
}

static bool is_elastic(const sprag_scene *scene)
{
    dGeomID ball = dBodyGetFirstGeom(scene->body[0]);
    dSurfaceParameters surface = bench_surface(scene, ball, dSpaceGetGeom(scene->space, 0));
    return surface.mode & dContactBounce && surface.bounce > 0;
}

static bool can(const engine *e, const sprag_scene *scene)
{
    return e->kind == OF_ODE || (e->kind == OF_BULLET && bench_has_bullet()) ||
           (e->kind == OF_MUJOCO && bench_has_mujoco() && !is_elastic(scene));
}

static void start(bench_scene *b, const engine *e)
{
    enum { CONTACTS = 1000 };
    if (e->kind == OF_MUJOCO) {
        bench_mujoco_open(b, e->options, CONTACTS);
    } else if (e->kind == OF_BULLET) {
        bench_bullet_open(b);
    }
}

// The figures of one run, then its time, CELL each. Returns how many there are.
static int take_run(const sprag_model *model, const engine *e, sprag_measure *measure,
                    char cell[][CELL])
{
    bench_scene b;
    bench_open(&b, model, e->kind == OF_ODE ? e->options : "method=ode", 20);
    const sprag_script *script = model->script;
    bool possible = can(e, &b.scene);
    double spent = bench_cpu_us();
    if (possible) {
        start(&b, e);
        while (sprag_scene_time(&b.scene) < model->seconds - 0.5 * b.scene.step) {
            bench_step(&b);
        }
    }
    spent = bench_cpu_us() - spent;
    int count = script->measure(&b.scene, measure);
    for (int i = 0; i < count; i++) {
        snprintf(cell[i], CELL, "%.3g", measure[i].value);
    }
    snprintf(cell[count], CELL, "%.0f", spent / (double)b.scene.steps_done);
    for (int i = 0; i <= count && (!possible || b.scene.nonfinite); i++) {
        snprintf(cell[i], CELL, possible ? "diverges" : "-");
    }
    bench_mujoco_close(&b);
    bench_bullet_close(&b);
    sprag_scene_close(&b.scene);
    return count;
}

static void print_test(line_fn *line, const sprag_model *model)
{
    static char cell[ENGINES][SPRAG_MEASURES_MAX + 1][CELL];
    sprag_measure measure[SPRAG_MEASURES_MAX];
    int count = 0;
    for (int k = 0; k < ENGINES; k++) {
        count = take_run(model, &engines[k], measure, cell[k]);
    }
    for (int i = 0; i <= count; i++) {
        bool is_time = i == count;
        char right[CELL] = "";
        if (!is_time && !isnan(measure[i].exact)) {
            snprintf(right, sizeof right, "%.3g", measure[i].exact);
        }
        line("%s|%s|%s|%s|%s|%s|%s|%s|%s|%s", model->name, is_time ? "us" : measure[i].unit,
             is_time ? "time per step" : measure[i].name, right, cell[0][i], cell[1][i], cell[2][i],
             cell[3][i], cell[4][i], cell[5][i]);
    }
}

void bench_simbench(line_fn *line)
{
    static const char *const tests[] = {"rolling", "rolling-xy",  "bouncing",
                                        "666",     "elastic-666", "kapla"};
    bench_mujoco_print_version();
    bench_bullet_print_version();
    line("test|unit|figure|right|ode-step|ode-quick|stribeck|advance|mujoco|bullet");
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        print_test(line, sprag_model_find(tests[i]));
    }
}
