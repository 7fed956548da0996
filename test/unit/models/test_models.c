// Every model under every method: states stay finite, under our methods the same bits come twice,
// and under stribeck the models are physically right; the figures of what they measure are each
// model's own. SPRAG_STEPS=100000 test_models: the models' own lengths under every method.
#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fnv.h"
#include "models.h"
#include "sprag.h"
#include "start.h"
#include "suite.h"

enum { STEPS = 80, STEPS_SLOW = 15, LARGE = 20 };

typedef struct run {
    sprag_scene scene;
    sprag_world_statistics statistics;
    sprag_measure measure[SPRAG_MEASURES_MAX];
    int measures;
    uint64_t hash; // of all states, after each step
} run;

static void hash_scene(run *r)
{
    for (int i = 0; i < r->scene.bodies; i++) {
        dBodyID body = r->scene.body[i];
        fnv_add(&r->hash, dBodyGetPosition(body), sizeof(dReal[3]));
        fnv_add(&r->hash, dBodyGetQuaternion(body), sizeof(dReal[4]));
        fnv_add(&r->hash, dBodyGetLinearVel(body), sizeof(dReal[3]));
        fnv_add(&r->hash, dBodyGetAngularVel(body), sizeof(dReal[3]));
    }
}

static run begin_run(const char *name, const char *options)
{
    run r = {.hash = fnv_of_nothing};
    const sprag_model *model = sprag_model_find(name);
    ck_assert_msg(model != NULL, "no model %s", name);
    dRandSetSeed(0);
    ck_assert(sprag_scene_open(&r.scene, model, 0));
    ck_assert_msg(sprag_world_configure(r.scene.world, options), "%s", sprag_error());
    return r;
}

static void finish_run(run *r, long steps)
{
    for (long i = 0; i < steps; i++) {
        sprag_scene_step(&r->scene);
        hash_scene(r);
    }
    r->measures = sprag_scene_measure(&r->scene, r->measure);
    r->statistics.struct_size = sizeof r->statistics;
    ck_assert(sprag_world_stats(r->scene.world, &r->statistics));
    ck_assert_int_eq(r->statistics.steps, steps);
    ck_assert_int_eq(r->scene.steps_done, steps);
}

// steps: 0 for as many as the model takes by itself.
static run run_model(const char *name, const char *options, long steps)
{
    run r = begin_run(name, options);
    finish_run(&r, steps ? steps : lround(r.scene.model->seconds / r.scene.model->step));
    return r;
}

static void end_run(run *r)
{
    sprag_scene_close(&r->scene);
}

static const char *name_of(int model)
{
    return sprag_models[model].name;
}

static const char *const all_methods[] = {"method=ode-step", "method=ode-quick", "method=stribeck",
                                          "method=stribeck,stribeck.direct_work=0", "method=ess"};

enum { ALL_METHODS = sizeof all_methods / sizeof all_methods[0] };

// Under dWorldStep a step takes as long as the cube of its contacts, in ODE's LCP: large models are
// not stepped. Under ess it takes as long as its bodies.
static long steps_for(const run *r, const char *options)
{
    const char *asked = getenv("SPRAG_STEPS");
    long own = lround(r->scene.model->seconds / r->scene.model->step);
    bool large = r->scene.bodies >= LARGE;
    long steps = asked                                  ? strtol(asked, NULL, 10)
                 : large && strstr(options, "ode-step") ? 0
                 : large && strstr(options, "ess")      ? STEPS_SLOW
                                                        : STEPS;
    return steps < own ? steps : own;
}

// ---- every model, every method

START_TEST(stays_finite_and_gives_the_same_bits_twice)
{
    for (int i = 0; i < ALL_METHODS; i++) {
        run r[2];
        int runs = strstr(all_methods[i], "ode-") ? 1 : 2;
        for (int k = 0; k < runs; k++) {
            r[k] = begin_run(sprag_models[_i].name, all_methods[i]);
            long steps = steps_for(&r[k], all_methods[i]);
            if (steps > 0) {
                finish_run(&r[k], steps);
                ck_assert_int_gt(r[k].measures, 0);
            }
            ck_assert_msg(r[k].scene.nonfinite == 0, "%s under %s", name_of(_i), all_methods[i]);
            end_run(&r[k]);
        }
        ck_assert_msg(r[0].hash == r[runs - 1].hash, "%s under %s", name_of(_i), all_methods[i]);
    }
}
END_TEST

// ---- ours

typedef struct figure {
    const char *model, *measure;
    double exact; // NAN: the less the better
    double good;
} figure;

// Positions are compared to 0.1 mm, which is invisible; coefficients and speeds to one percent.
static const figure figures[] = {
    {"slope", "drift from 1 s on", 0, 1e-4},
    {"slope", "penetration", 0, 1e-4},
    {"push", "friction at 0 deg", 0.5, 0.005},
    {"push", "friction at 15 deg", 0.5, 0.005},
    {"push", "friction at 30 deg", 0.5, 0.005},
    {"push", "friction at 45 deg", 0.5, 0.005},
    {"push", "penetration", 0, 1e-4},
    {"slide", "stopping distance", 1 / (2 * 0.3 * 9.81) * 4, 0.0101},
    {"slide", "the same, of Euler's", NAN, 1e-4},
    {"slide", "penetration", 0, 1e-4},
    {"gripper", "slip from 1 s on", 0, 1e-4},
    {"gripper", "held for", 30, 0.005},
    {"gripper", "penetration", 0, 1e-4},
    {"stack", "stood for", 10, 0.005},
    {"stack", "creep from 1 s on", 0, 1e-4},
    {"stack", "penetration", 0, 1e-4},
    {"stack-geometric", "stood for", 10, 0.005},
    {"stack-geometric", "creep from 1 s on", 0, 1e-4},
    {"stack-geometric", "penetration", 0, 0.005},
    {"stack-heavy-top", "stood for", 10, 0.005},
    {"stack-heavy-top", "creep from 1 s on", 0, 1e-4},
    {"stack-heavy-top", "penetration", 0, 0.005},
    {"heavy", "stood for", 10, 0.005},
    {"heavy", "creep from 1 s on", 0, 1e-4},
    {"heavy", "sink", 0, 1e-4},
    {"heavy", "penetration", 0, 1e-4},
    {"rolling", "velocity error", 0, 1e-4},
    {"rolling", "penetration", 0, 1e-4},
    {"rolling-xy", "velocity error", 0, 1e-4},
    {"rolling-xy", "penetration", 0, 1e-4},
    {"car", "speed", 4, 0.04},
    {"car", "off its track", 0, 1e-4},
    {"car", "joint error", 0, 1e-4},
    {"car", "penetration", 0, 1e-4},
    {"legs", "walked for", 6, 0.005},
    {"legs", "speed", 0.1 / 0.22, 0.2 * 0.1 / 0.22},
    {"legs", "penetration", 0, 0.008},
};

enum { FIGURES = sizeof figures / sizeof figures[0] };

static const figure *figure_of(const char *model, const char *measure)
{
    for (int i = 0; i < FIGURES; i++) {
        if (!strcmp(figures[i].model, model) && !strcmp(figures[i].measure, measure)) {
            return &figures[i];
        }
    }
    return NULL;
}

// Every measure that can be good, of every figure listed.
static void assert_measures_are_good(const run *r)
{
    const char *model = r->scene.model->name;
    int found = 0, listed = 0;
    for (int i = 0; i < FIGURES; i++) {
        listed += !strcmp(figures[i].model, model);
    }
    for (int i = 0; listed && i < r->measures; i++) {
        const sprag_measure *m = &r->measure[i];
        const figure *f = figure_of(model, m->name);
        if (isnan(m->good)) {
            continue;
        }
        double error = fabs(m->value - (isnan(m->exact) ? 0 : m->exact));
        ck_assert_msg(error <= m->good, "%s of %s: %g, good up to %g", m->name, model, error,
                      m->good);
        if (f) {
            found++;
            ck_assert_double_eq_tol(m->good, f->good, 1e-15);
            if (!isnan(f->exact)) {
                ck_assert_double_eq_tol(m->value, f->exact, f->good);
            }
        }
    }
    ck_assert_int_eq(found, listed);
}

// The stacks come to rest, in the plane: their bodies do not turn or move sideways.
static void assert_upright(const sprag_scene *scene)
{
    for (int i = 0; i < scene->bodies; i++) {
        const dReal *v = dBodyGetLinearVel(scene->body[i]), *x = dBodyGetPosition(scene->body[i]);
        ck_assert_double_eq_tol(sqrt(dCalcVectorLengthSquare3(v)), 0, 1e-6);
        ck_assert_double_eq_tol(x[0], 0, 1e-6);
        ck_assert_double_eq_tol(x[1], 0, 1e-6);
        ck_assert_double_eq_tol(dBodyGetRotation(scene->body[i])[10], 1, 1e-9);
    }
}

// The push at 45 degrees moves its box as far along x as along y: the friction cone is round.
static void assert_mirror_image(const sprag_scene *scene)
{
    const dReal *x = dBodyGetPosition(scene->body[scene->bodies - 1]);
    double beside = 2 * (scene->bodies - 1); // m, where it began
    ck_assert_double_gt(x[0], 0.001);
    ck_assert_double_eq_tol(x[1] - beside, x[0], 1e-6 * x[0]);
}

static const struct {
    const char *model;
    void (*check)(const sprag_scene *end);
} ends[] = {{"stack", assert_upright},
            {"stack-geometric", assert_upright},
            {"stack-heavy-top", assert_upright},
            {"heavy", assert_upright},
            {"push", assert_mirror_image}};

// Over the model's own length: no island is handed to ODE, no body held; nothing but a motor adds
// energy; every figure listed is good, and so is the end.
START_TEST(solves_it_all_and_measures_are_good)
{
    run r = run_model(name_of(_i), "method=stribeck", 0);
    ck_assert_int_eq(r.scene.nonfinite, 0);
    ck_assert_int_eq(r.statistics.fallbacks, 0);
    ck_assert_int_eq(r.statistics.frozen, 0);
    ck_assert_int_eq(r.statistics.dropped, 0);
    const sprag_measure *last = &r.measure[r.measures - 1];
    if (!r.scene.model->driven) {
        ck_assert_str_eq(last->name, "energy growth");
        ck_assert_double_le(last->value, last->good);
    }
    assert_measures_are_good(&r);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (!strcmp(ends[i].model, name_of(_i))) {
            ends[i].check(&r.scene);
        }
    }
    end_run(&r);
}
END_TEST

// Every figure and end above is of a model that there is.
START_TEST(figures_are_of_models)
{
    for (int i = 0; i < FIGURES; i++) {
        ck_assert_ptr_nonnull(sprag_model_find(figures[i].model));
    }
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        ck_assert_ptr_nonnull(sprag_model_find(ends[i].model));
    }
}
END_TEST

static const figure minute[] = {
    {"slope", "drift from 1 s on", 0, 1e-6}, // 73 % of the cone
    {"gripper", "slip from 1 s on", 0, 1e-6},
    {"stack-geometric", "penetration", 0, 1e-5},
    {"stack-heavy-top", "penetration", 0, 1e-5},
    {"stack-geometric", "creep from 1 s on", 0, 1e-6},
    {"stack-heavy-top", "creep from 1 s on", 0, 1e-6},
};

// Models that stay at rest for a minute, at 10 ms.
START_TEST(rests_for_a_minute)
{
    static const char *const name[] = {"slope", "gripper", "stack-geometric", "stack-heavy-top",
                                       "gripper"};
    run r = run_model(name[_i], _i < 4 ? "method=stribeck" : "method=ess", 6000);
    int found = 0, listed = 0;
    ck_assert_double_eq(r.scene.step, 0.01);
    for (size_t k = 0; k < sizeof minute / sizeof minute[0]; k++) {
        const figure *f = &minute[k];
        if (strcmp(f->model, name[_i])) {
            continue;
        }
        listed++;
        for (int i = 0; i < r.measures; i++) {
            if (!strcmp(r.measure[i].name, f->measure)) {
                ck_assert_double_eq_tol(r.measure[i].value, f->exact, f->good);
                found++;
            }
        }
    }
    ck_assert_int_gt(listed, 0);
    ck_assert_int_eq(found, listed);
    ck_assert_int_eq(r.statistics.fallbacks, 0);
    end_run(&r);
}
END_TEST

// If friction hardly changes the normal forces, the one-way scheme is as accurate as the two-way.
START_TEST(one_way_is_good_too)
{
    static const char *const name[] = {"slope", "push", "slide", "gripper", "stack", "heavy"};
    run r = run_model(name[_i], "method=stribeck,stribeck.scheme=one-way", 0);
    for (int i = 0; i < r.measures; i++) {
        const sprag_measure *m = &r.measure[i];
        if (!isnan(m->good)) {
            ck_assert_double_eq_tol(m->value, isnan(m->exact) ? 0 : m->exact, m->good);
        }
    }
    ck_assert_int_eq(r.statistics.fallbacks, 0);
    end_run(&r);
}
END_TEST

// ---- finding

START_TEST(finds_models_by_name)
{
    for (int i = 0; sprag_models[i].name; i++) {
        ck_assert_ptr_eq(sprag_model_find(sprag_models[i].name), &sprag_models[i]);
    }
    const sprag_model *pile = sprag_model_find("pile:17");
    ck_assert_ptr_nonnull(pile);
    ck_assert_str_eq(pile->name, "pile:17");
    ck_assert_int_eq(pile->size, 17);
    ck_assert_ptr_eq(sprag_model_find("pile:17"), pile);
    ck_assert_ptr_ne(sprag_model_find("pile:18"), pile);
    run r = run_model("pile:17", "method=stribeck", 2);
    ck_assert_int_eq(r.scene.bodies, 17);
    end_run(&r);
}
END_TEST

START_TEST(finds_no_other_names)
{
    static const char *const bad[] = {
        "",           "slop",         "slopes", "SLOPE",   " slope",  "slope ",
        "slope:3",    "pile:",        "pile:0", "pile:-1", "pile:1x", "pile:1.5",
        "pile:x",     "pile:1000000", ":",      ":5",      "stack:2", "pile:99999999999999999999",
        "wreck:1001", "ragdolls:65"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_msg(sprag_model_find(bad[i]) == NULL, "found \"%s\"", bad[i]);
    }
}
END_TEST

// Figures that fall on one another: no body need stand still for its joints or neighbours. A pair
// that has to wait 2 ms for the end of a frame is chance; it is rare. Elastic balls: of two that
// would still collide, the one that leaves goes on.
START_TEST(bodies_hardly_stand_still)
{
    static const char *const name[2][4] = {{"ragdolls:3", "ragdolls:4", "ragdolls:5", "ragdolls:6"},
                                           {"elastic-666"}};
    static const double most[] = {1e-3, 0.2}; // s, mean of the runs
    double sum = 0;
    int runs = 0;
    for (; runs < 4 && name[_i][runs]; runs++) {
        run r = run_model(name[_i][runs], "method=advance", 0);
        sum += r.statistics.stalled;
        end_run(&r);
    }
    ck_assert_double_lt(sum / runs, most[_i]);
}
END_TEST

static void setup(void)
{
    start_ode();
    dSetMessageHandler(quiet); // stock: "LCP internal error, s <= 0"
}

int main(void)
{
    Suite *suite = suite_create("models");
    int models = 0;
    while (sprag_models[models].name) {
        models++;
    }
    TCase *const cases[] = {
        ADD_TESTS(suite, "every model", {stays_finite_and_gives_the_same_bits_twice, models}),
        ADD_TESTS(suite, "ours", {solves_it_all_and_measures_are_good, models},
                  {figures_are_of_models, 1}, {rests_for_a_minute, 5}, {one_way_is_good_too, 6},
                  {bodies_hardly_stand_still, 2}),
        ADD_TESTS(suite, "names", {finds_models_by_name, 1}, {finds_no_other_names, 1}),
    };
    for (int i = 0; i < COUNT(cases); i++) {
        tcase_add_checked_fixture(cases[i], setup, dCloseODE);
        tcase_set_timeout(cases[i], getenv("SPRAG_STEPS") ? 3600 : CASE_SECONDS);
    }
    return run_suite(suite);
}
