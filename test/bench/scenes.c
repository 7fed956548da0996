// Scenes of games and heaps, by the default method and by stock, against targets: thread CPU time
// of the stepper as a multiple of stock's, and what either leaves undone (residue.c). Stock and
// ours step scenes of their own, in turn, from the same state; each line is the worst of the seeds.
//
//   effort  a program that calls dWorldQuickStep gets fast, one that calls dWorldStep balanced,
//   unless
//           it says otherwise: scenes against QuickStep are measured with both
//   time    mean over the steps of the window, ours divided by stock's
//   worst   longest step of ours divided by stock's longest
//   depth, slip, cone, gap, creep: ours (stock's); mean depth (m) of contacts, root mean square
//   slip
//           (m/s) of contacts that stick, friction beyond the cone (weights), largest error of a
//           joint (m; mean over the steps, as that of a single one is chance), mean speed of bodies
//           that should rest (m/s)
//   residual   of our contact solves, mean and largest of the steps (residual.h, relative)
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "scene.h"
#include "sprag.h"

typedef enum window { WHOLE, REST, FIND, SHAKEN } window;

static const char *const window_name[] = {"", "rest", "find", "shaken"};

typedef struct entry {
    const char *model; // "pile:30"
    window window;
    bool step;             // against dWorldStep; else against QuickStep with 20 iterations
    double seconds;        // WHOLE
    double fast, balanced; // targets of the time with either effort
    double longest;        // target; INFINITY: none
    bool rests;            // creep is judged
} entry;

typedef enum effort { FAST, BALANCED, EFFORTS } effort;

static const char *const effort_name[] = {"fast", "balanced"};

static const entry entries[] = {
    {"pile:20", REST, false, 0, 1, 1, INFINITY, true},
    {"pile:30", REST, false, 0, 1, 1, INFINITY, true},
    {"pile:40", REST, false, 0, 1, 1, INFINITY, true},
    {"pile:60", REST, false, 0, 1, 1, INFINITY, true},
    {"pile:100", REST, false, 0, 0.8, 0.8, INFINITY, true},
    {"pile:300", REST, false, 0, 0.8, 0.8, INFINITY, true},
    {"pile:1000", REST, false, 0, 0.8, 0.8, INFINITY, true},
    {"pile:30", FIND, false, 0, 1.5, 1.5, INFINITY, false},
    {"pile:60", FIND, false, 0, 1.5, 1.5, INFINITY, false},
    {"pile:100", FIND, false, 0, 1.5, 1.5, INFINITY, false},
    {"pile:300", FIND, false, 0, 1.5, 1.5, INFINITY, false},
    {"pile:1000", FIND, false, 0, 1.5, 1.5, INFINITY, false},
    {"pile:10000", FIND, false, 0, 1.5, 1.5, INFINITY, false},
    {"pile:30", SHAKEN, false, 0, 1.5, 1.5, INFINITY, false},
    {"pile:60", SHAKEN, false, 0, 1.5, 1.5, INFINITY, false},
    {"pile:100", SHAKEN, false, 0, 1.5, 1.5, INFINITY, false},
    {"pile:300", SHAKEN, false, 0, 1.5, 1.5, INFINITY, false},
    {"pile:1000", SHAKEN, false, 0, 1.5, 1.5, INFINITY, false},
    {"dominoes:60", WHOLE, false, 5, 1.5, 1.5, 3, false},
    {"dominoes:200", WHOLE, false, 15, 1.5, 1.5, 3, false},
    {"jenga:54", WHOLE, false, 10, 1.5, 1.5, 3, false},
    {"yard:46", WHOLE, false, 12, 1.5, 1.5, 3, false},
    {"wreck:200", WHOLE, false, 4, 1.5, 1.5, 3, false},
    {"bowl:300", WHOLE, false, 4, 1.5, 1.5, 3, false},
    {"ragdolls:12", WHOLE, false, 6, 1.5, 4, 5, false},
    {"chain", WHOLE, true, 5, 1, 1, INFINITY, false},
    {"legs", WHOLE, true, 6, 1, 1, INFINITY, false},
    {"push", WHOLE, true, 16, 1, 1, INFINITY, false},
    {"slide", WHOLE, true, 2, 1, 1, INFINITY, false},
};

enum { ENTRIES = sizeof entries / sizeof *entries, STOCK = 0, OURS = 1, BOTH = 2 };

typedef struct side {
    bench_scene of;
    double sum, longest; // us
    double creep;        // m/s, sum over steps of the mean over bodies
    double gap;          // m, sum over steps of the largest of all joints
    residue residue;
    double residual, worst; // of the contact solves: sum over steps, largest
} side;

// The figures of a line, of one seed or the worst of several.
typedef struct figures {
    double time, longest;
    double depth[BOTH], slip[BOTH], cone[BOTH], gap[BOTH], creep[BOTH], us[BOTH];
    double contacts;
    double residual, worst; // of our contact solves: mean, largest
} figures;

// m/s, of the middle body: balls roll in their pockets for long.
static double middle_speed(const sprag_scene *scene)
{
    double *speed = bench_allocate((size_t)scene->bodies, sizeof *speed);
    for (int i = 0; i < scene->bodies; i++) {
        speed[i] = dCalcVectorLength3(dBodyGetLinearVel(scene->body[i]));
    }
    double middle = bench_median(speed, scene->bodies);
    free(speed);
    return middle;
}

// m, largest of the scene's joints as they are; NAN: it has none.
static double joint_error(const sprag_scene *scene)
{
    double most = NAN;
    for (int i = 0; i < scene->bodies; i++) {
        for (int k = 0; k < dBodyGetNumJoints(scene->body[i]); k++) {
            most = fmax(most, sprag_joint_error(dBodyGetJoint(scene->body[i], k)));
        }
    }
    return most;
}

// The window: steps that are made, and the first one that counts.
static long steps_of(const entry *e, const sprag_model *model, long *first)
{
    switch (e->window) {
    case REST:
        *first = 400; // stock's jitter has gone
        return 500;
    case FIND:
        *first = 15;
        return 30;
    case SHAKEN:
        *first = 20;
        return 60;
    case WHOLE:
        break;
    }
    *first = 0;
    return lround(e->seconds / model->step);
}

// Every fourth step is watched for what it leaves, and not timed.
static void step(side *s, const entry *e, bool counts, bool watched, double weight)
{
    if (e->window == SHAKEN) {
        bench_set_gravity(&s->of.scene, true);
    }
    if (watched) {
        residue_begin(&s->of.scene);
    }
    bench_step(&s->of);
    if (watched) {
        residue_end(&s->residue, weight);
    } else if (counts) {
        s->sum += bench_stepper_us;
        s->longest = fmax(s->longest, bench_stepper_us);
    }
    s->creep += counts ? middle_speed(&s->of.scene) : 0;
    s->gap += counts ? joint_error(&s->of.scene) : 0;
    sprag_world_statistics of = {.struct_size = sizeof of};
    if (counts && sprag_world_stats(s->of.scene.world, &of)) {
        s->residual += of.residual;
        s->worst = fmax(s->worst, of.residual);
    }
}

static figures measure(const entry *e, int seed, const char *ours)
{
    char name[64];
    bool sized = strchr(e->model, ':');
    snprintf(name, sizeof name, sized ? "%s:%d" : "%s", e->model, seed);
    const sprag_model *model = sprag_model_find(name);
    side sides[BOTH] = {0};
    const char *options[BOTH] = {e->step ? "method=ode-step" : "method=ode-quick", ours};
    bench_scene settled;
    bool prepares = e->window != WHOLE;
    if (prepares) {
        bench_settled(&settled, name);
    }
    for (int i = 0; i < BOTH; i++) {
        bench_open(&sides[i].of, model, options[i], 20);
        if (prepares) {
            bench_copy_state(&sides[i].of.scene, &settled.scene);
        }
    }
    if (prepares) {
        sprag_scene_close(&settled.scene);
    }
    long first, steps = steps_of(e, model, &first), timed = 0;
    double weight = residue_weight(&sides[0].of.scene);
    figures f = {0};
    for (long k = 0; k < steps; k++) {
        bool counts = k >= first, watched = counts && k % 4 == 3;
        for (int i = 0; i < BOTH; i++) {
            step(&sides[(i + k) % BOTH], e, counts, watched, weight);
        }
        timed += counts && !watched;
        f.contacts += counts ? (double)sides[OURS].of.scene.touching / (double)(steps - first) : 0;
    }
    f.time = sides[OURS].sum / sides[STOCK].sum;
    f.longest = sides[OURS].longest / sides[STOCK].longest;
    f.residual = sides[OURS].residual / (double)(steps - first);
    f.worst = sides[OURS].worst;
    for (int i = 0; i < BOTH; i++) {
        const residue *r = &sides[i].residue;
        f.us[i] = sides[i].sum / (double)timed;
        f.depth[i] = r->contacts ? r->depth / (double)r->contacts : 0;
        f.slip[i] = residue_root_mean(r->slip, r->held);
        f.cone[i] = residue_root_mean(r->cone, (double)r->loaded);
        f.gap[i] = sides[i].gap / (double)(steps - first);
        f.creep[i] = e->rests ? sides[i].creep / (double)(steps - first) : NAN;
        sprag_scene_close(&sides[i].of.scene);
    }
    return f;
}

static void take_worst(figures *worst, const figures *f)
{
    worst->time = fmax(worst->time, f->time);
    worst->longest = fmax(worst->longest, f->longest);
    worst->contacts = fmax(worst->contacts, f->contacts);
    worst->residual = fmax(worst->residual, f->residual);
    worst->worst = fmax(worst->worst, f->worst);
    for (int i = 0; i < BOTH; i++) {
        worst->us[i] = fmax(worst->us[i], f->us[i]);
        worst->depth[i] = fmax(worst->depth[i], f->depth[i]);
        worst->slip[i] = fmax(worst->slip[i], f->slip[i]);
        worst->cone[i] = fmax(worst->cone[i], f->cone[i]);
        worst->gap[i] = fmax(worst->gap[i], f->gap[i]);
        worst->creep[i] = fmax(worst->creep[i], f->creep[i]);
    }
}

static void print_pair(const char *name, const double value[BOTH])
{
    if (isfinite(value[OURS])) {
        printf("  %s %.1e (%.1e)", name, value[OURS], value[STOCK]);
    }
}

static bool print(const entry *e, const char *effort, double most, const figures *f)
{
    bool met = f->time <= most && !(f->longest > e->longest);
    printf("%-13s %-6s %-8s %6.0f %9.1f %7.2f %7.2f %6.2f", e->model, window_name[e->window],
           effort, f->contacts, f->us[STOCK], f->time, most, f->longest);
    if (isfinite(e->longest)) {
        printf(" %6.2f", e->longest);
    } else {
        printf(" %6s", "-");
    }
    print_pair("depth", f->depth);
    print_pair("slip", f->slip);
    print_pair("cone", f->cone);
    print_pair("gap", f->gap);
    print_pair("creep", f->creep);
    printf("  residual %.1e, largest %.1e%s\n", f->residual, f->worst, met ? "" : "  MISSED");
    fflush(stdout);
    return met;
}

// The worst of all seeds.
static bool judge(const entry *e, const char *effort, double target, const char *ours, int seeds)
{
    figures worst = {.gap = {NAN, NAN}, .creep = {NAN, NAN}};
    const char *size = strchr(e->model, ':');
    bool large = size && atoi(size + 1) >= 10000; // takes 100 s to settle
    for (int seed = 1; seed <= (size && !large ? seeds : 1); seed++) {
        figures f = measure(e, seed, ours);
        take_worst(&worst, &f);
    }
    return print(e, effort, target, &worst);
}

static bool judge_efforts(const entry *e, int seeds)
{
    bool met = true;
    for (effort effort = e->step ? BALANCED : FAST; effort < EFFORTS; effort++) {
        char ours[64];
        snprintf(ours, sizeof ours, "method=stribeck,effort=%s", effort_name[effort]);
        met &= judge(e, effort_name[effort], effort == FAST ? e->fast : e->balanced, ours, seeds);
    }
    return met;
}

static bool is_meant(const char *name, const entry *e)
{
    size_t length = strlen(name);
    return !strncmp(e->model, name, length) && (!e->model[length] || e->model[length] == ':');
}

bool bench_scenes(char **names, int count, const char *ours, int seeds)
{
    bool met = true;
    for (int k = 0; k < count; k++) {
        bool found = false;
        for (int i = 0; i < ENTRIES; i++) {
            found |= is_meant(names[k], &entries[i]);
        }
        if (!found) {
            bench_refuse("scenes", names[k]);
        }
    }
    printf("%-13s %-6s %-8s %6s %9s %7s %7s %6s %6s\n", "scene", "window", "effort", "points",
           "stock us", "time", "target", "worst", "target");
    for (int i = 0; i < ENTRIES; i++) {
        bool wanted = count == 0;
        for (int k = 0; k < count; k++) {
            wanted |= is_meant(names[k], &entries[i]);
        }
        if (wanted) {
            met &= ours ? judge(&entries[i], "", entries[i].balanced, ours, seeds)
                        : judge_efforts(&entries[i], seeds);
        }
    }
    return met;
}
