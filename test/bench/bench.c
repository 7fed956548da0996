// Benches: `bench --help` lists them. Tables are text or (--csv) comma separated values; times are
// CPU time of the calling thread. A bench prints its targets, and bench exits non-zero when one is
// missed.
//
// bench steps: methods take one step each in turn, so that other load on the machine affects all of
// them; ratios are medians over the steps that both took. Each method first steps its own scene:
// "start" is before model->settled, "own" from then on. Then "same": before every step all scenes
// are put into the state of ours, again from model->settled on. A stock method that is over its
// budget (s) is stopped in the first and left out of most steps, evenly chosen, in the second; the
// column "steps" counts those it took.
#define _GNU_SOURCE 1 // clock_gettime
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "bench.h"
#include "scene.h"
#include "sprag.h"

extern void openblas_set_num_threads(int threads);

// ---- output

static bool csv;

// A row of cells, separated by '|'. As text: the first three flush left, all as wide as their place
// wants.
__attribute__((format(printf, 1, 2))) static void line(const char *format, ...)
{
    static const int width[] = {20, 10, 20};
    enum { LEFT = sizeof width / sizeof *width, OTHERS = 10 };
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    int column = 0;
    for (char *cell = text, *next; cell; cell = next, column++) {
        next = strchr(cell, '|');
        if (next) {
            *next++ = '\0';
        }
        if (!strcmp(cell, "nan") || !strcmp(cell, "-nan")) {
            cell = csv ? "" : "-";
        }
        if (csv) {
            printf("%s%s", cell, next ? "," : "\n");
        } else if (column < LEFT) {
            printf("%-*s%s", width[column], cell, next ? "" : "\n");
        } else {
            printf(" %*s%s", OTHERS, cell, next ? "" : "\n");
        }
    }
    fflush(stdout);
}

static void print_machine(void)
{
    struct utsname system;
    char model[256] = "unknown processor", row[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(row, sizeof row, file)) {
        char *value = strstr(row, ": ");
        if (value && !strncmp(row, "model name", 10)) {
            snprintf(model, sizeof model, "%.*s", (int)strcspn(value + 2, "\n"), value + 2);
            break;
        }
    }
    if (file) {
        fclose(file);
    }
    if (!uname(&system)) {
        printf("# %s: %s, %s %s %s\n", system.nodename, model, system.sysname, system.release,
               system.machine);
    }
    printf("# sprag %s, compiler %s\n", sprag_version(), __VERSION__);
}

double bench_cpu_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

// ---- targets

static int targets, targets_met;

static void judge(const char *figure, double value, const char *relation, double target, bool met)
{
    printf(csv ? "target,%s,%.4g,%s %g,%s\n" : "target: %s: %.4g (%s %g): %s\n", figure, value,
           relation, target, met ? "met" : "MISSED");
    targets++;
    targets_met += met;
}

void bench_at_most(const char *figure, double value, double target)
{
    judge(figure, value, "<=", target, value <= target);
}

void bench_at_least(const char *figure, double value, double target)
{
    judge(figure, value, ">=", target, value >= target);
}

_Noreturn void bench_refuse(const char *bench, const char *word)
{
    fprintf(stderr, "bench: %s has no %s\n", bench, word);
    exit(EXIT_FAILURE);
}

long bench_size_of(const char *bench, const char *word)
{
    char *end;
    long size = strtol(word, &end, 10);
    if (size < 1 || size > 100000 || *end) {
        bench_refuse(bench, word);
    }
    return size;
}

void *bench_allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory) {
        fputs("bench: no memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    return memory;
}

int bench_by_size(const void *a, const void *b)
{
    const double *p = a, *q = b;
    return (*p > *q) - (*p < *q);
}

double bench_median(double *value, long count)
{
    qsort(value, (size_t)count, sizeof *value, bench_by_size);
    return count ? (value[(count - 1) / 2] + value[count / 2]) / 2 : NAN;
}

// ---- the linker's --wrap sends these calls here: the step that a scene takes, and our own
// allocations

double bench_stepper_us;
int (*bench_stepper)(dWorldID world, dReal step);
static bench_scene *stepping;
static long allocations;

extern int __real_dWorldStep(dWorldID world, dReal step);
extern void *__real_malloc(size_t size);
extern void *__real_calloc(size_t count, size_t size);
extern void *__real_realloc(void *memory, size_t size);
int __wrap_dWorldStep(dWorldID world, dReal step);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

int __wrap_dWorldStep(dWorldID world, dReal step)
{
    if (stepping && stepping->mujoco) {
        bench_mujoco_step(stepping);
        return 1;
    }
    if (stepping && stepping->bullet) {
        bench_bullet_step(stepping);
        return 1;
    }
    if (bench_stepper == bench_world_step) { // the clock takes as long as a small scene's step
        return bench_world_step(world, step);
    }
    double start = bench_cpu_us();
    int done = (bench_stepper ? bench_stepper : __real_dWorldStep)(world, step);
    bench_stepper_us = bench_cpu_us() - start;
    return done;
}

int bench_world_step(dWorldID world, dReal step)
{
    return __real_dWorldStep(world, step);
}

void *__wrap_malloc(size_t size)
{
    allocations++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    allocations++;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    allocations++;
    return __real_realloc(memory, size);
}

// ---- scenes under options

static void on_message(int number, const char *format, va_list arguments)
{
    if (stepping && number == d_ERR_LCP) {
        stepping->lcp_errors++;
        return;
    }
    vfprintf(stderr, format, arguments);
    fputs("\n", stderr);
}

static void configure(dWorldID world, const char *options)
{
    if (!sprag_world_configure(world, options)) {
        fprintf(stderr, "bench: %s\n", sprag_error());
        exit(EXIT_FAILURE);
    }
}

void bench_configure(dWorldID world, const char *options, int iterations)
{
    configure(world, options);
    dWorldSetQuickStepNumIterations(world, iterations);
}

void bench_open(bench_scene *b, const sprag_model *model, const char *options, int iterations)
{
    *b = (bench_scene){0};
    dRandSetSeed(0);
    if (!sprag_scene_open(&b->scene, model, 0)) {
        fprintf(stderr, "bench: no memory for %s\n", model->name);
        exit(EXIT_FAILURE);
    }
    b->seed = dRandGetSeed();
    bench_configure(b->scene.world, options, iterations);
}

void bench_step(bench_scene *b)
{
    stepping = b;
    dRandSetSeed(b->seed);
    sprag_scene_step(&b->scene);
    b->seed = dRandGetSeed();
    stepping = NULL;
}

void bench_copy_state(sprag_scene *to, const sprag_scene *from)
{
    for (int i = 0; i < from->bodies; i++) {
        dBodyID a = from->body[i], b = to->body[i];
        const dReal *x = dBodyGetPosition(a), *v = dBodyGetLinearVel(a);
        const dReal *w = dBodyGetAngularVel(a);
        dBodySetPosition(b, x[0], x[1], x[2]);
        dBodySetQuaternion(b, dBodyGetQuaternion(a));
        dBodySetLinearVel(b, v[0], v[1], v[2]);
        dBodySetAngularVel(b, w[0], w[1], w[2]);
    }
}

// ---- samples: one per step, NAN where none was taken

typedef struct samples {
    double *value, *sorted;
    long room;
} samples;

static void samples_clear(samples *s)
{
    for (long k = 0; k < s->room; k++) {
        s->value[k] = NAN;
    }
}

static samples samples_make(long room)
{
    samples s = {bench_allocate((size_t)room, sizeof(double)),
                 bench_allocate((size_t)room, sizeof(double)), room};
    samples_clear(&s);
    return s;
}

static void samples_free(samples *s)
{
    free(s->value);
    free(s->sorted);
}

static long samples_count(const samples *s)
{
    long count = 0;
    for (long k = 0; k < s->room; k++) {
        count += !isnan(s->value[k]);
    }
    return count;
}

// Of value, or of value / reference where both were taken.
static double samples_median(samples *s, const samples *reference)
{
    long count = 0;
    for (long k = 0; k < s->room; k++) {
        double value = s->value[k] / (reference ? reference->value[k] : 1);
        if (!isnan(value)) {
            s->sorted[count++] = value;
        }
    }
    return bench_median(s->sorted, count);
}

static double samples_mean(const samples *s)
{
    double sum = 0;
    for (long k = 0; k < s->room; k++) {
        sum += isnan(s->value[k]) ? 0 : s->value[k];
    }
    return sum / (double)samples_count(s);
}

// ---- methods, each with a scene

enum { STEP, QUICK, QUICK_100, OURS, WAYS };

typedef struct way {
    const char *name, *options;
    int iterations; // of QuickStep
} way;

static const way ways[WAYS] = {
    [STEP] = {"ode-step", "method=ode-step", 20},
    [QUICK] = {"ode-quick", "method=ode-quick", 20},
    [QUICK_100] = {"ode-quick-100", "method=ode-quick", 100},
    [OURS] = {"stribeck", "method=stribeck", 20},
};

typedef struct run {
    const way *way;
    bench_scene of;
    double spent_us; // by the steps that were measured
    double touching; // contacts, sum over them
    samples us;
} run;

// Statistics of our own steps.
typedef struct details {
    samples pull_us, solve_us, push_us, rest_us;
    double iterations, factorizations; // sums
    long strategy[SPRAG_STRATEGIES];   // steps
    long late_allocations;             // in the second half of the steps
} details;

static void run_open(run *r, const way *way, const sprag_model *model, long steps)
{
    *r = (run){.way = way, .us = samples_make(steps)};
    bench_open(&r->of, model, way->options, way->iterations);
}

static void run_measure(run *r, long k, details *d)
{
    long before = allocations;
    bench_step(&r->of);
    r->us.value[k] = bench_stepper_us;
    r->spent_us += bench_stepper_us;
    r->touching += r->of.scene.touching;
    sprag_world_statistics s = {.struct_size = sizeof s};
    if (r->way == &ways[OURS] && sprag_world_stats(r->of.scene.world, &s)) {
        d->pull_us.value[k] = s.pull_us;
        d->solve_us.value[k] = s.solve_us;
        d->push_us.value[k] = s.push_us;
        d->rest_us.value[k] = bench_stepper_us - s.pull_us - s.solve_us - s.push_us;
        d->iterations += s.iterations;
        d->factorizations += s.factorizations;
        d->strategy[s.strategy]++;
        d->late_allocations += k > r->us.room / 2 ? allocations - before : 0;
    }
}

// A step that is not measured, under a method that is never slow.
static void run_pass(run *r)
{
    configure(r->of.scene.world, "method=ode-quick");
    bench_step(&r->of);
    configure(r->of.scene.world, r->way->options);
}

static void step_own(run *runs, long k, double budget_us, details *d)
{
    for (int i = 0; i < WAYS; i++) {
        run *r = &runs[(i + k) % WAYS]; // none is always the first
        if (!r->of.scene.nonfinite && (r->way == &ways[OURS] || r->spent_us <= budget_us)) {
            run_measure(r, k, d);
        }
    }
}

// progress: of what is judged, negative before.
static void step_same(run *runs, long k, double budget_us, double progress, details *d)
{
    if (runs[OURS].of.scene.nonfinite) {
        return;
    }
    for (int i = 0; i < OURS; i++) {
        bench_copy_state(&runs[i].of.scene, &runs[OURS].of.scene);
        runs[i].of.scene.nonfinite = 0;
    }
    for (int i = 0; i < WAYS; i++) {
        run *r = &runs[(i + k) % WAYS];
        if (progress >= 0 && (r->way == &ways[OURS] || r->spent_us <= budget_us * progress)) {
            run_measure(r, k, d);
        } else if (r->way == &ways[OURS]) {
            bench_step(&r->of);
        } else {
            run_pass(r);
        }
    }
}

static details details_make(long steps)
{
    return (details){.pull_us = samples_make(steps),
                     .solve_us = samples_make(steps),
                     .push_us = samples_make(steps),
                     .rest_us = samples_make(steps)};
}

static void details_free(details *d)
{
    samples_free(&d->pull_us);
    samples_free(&d->solve_us);
    samples_free(&d->push_us);
    samples_free(&d->rest_us);
}

// Forgets what was measured, but not what was spent.
static void clear_figures(run *runs, details *d)
{
    for (int i = 0; i < WAYS; i++) {
        samples_clear(&runs[i].us);
        runs[i].touching = 0;
        runs[i].of.lcp_errors = 0;
    }
    samples_clear(&d->pull_us);
    samples_clear(&d->solve_us);
    samples_clear(&d->push_us);
    samples_clear(&d->rest_us);
    d->iterations = d->factorizations = 0;
    memset(d->strategy, 0, sizeof d->strategy);
    d->late_allocations = 0;
}

static void print_runs(const char *scenes, run *runs)
{
    for (int i = 0; i < WAYS; i++) {
        run *r = &runs[i];
        long steps = samples_count(&r->us);
        line("%s|%s|%s|%d|%.1f|%ld|%.1f|%.1f|%.4f|%.2f|%ld", r->of.scene.model->name, scenes,
             r->way->name, r->of.scene.bodies, r->touching / (double)steps, steps,
             samples_median(&r->us, NULL), samples_mean(&r->us),
             samples_median(&r->us, &runs[STEP].us), samples_median(&r->us, &runs[QUICK].us),
             r->of.lcp_errors);
    }
}

// The lines of the second table, until the first one is complete.
typedef struct details_text {
    int rows;
    char row[192][256];
} details_text;

static void print_details(const run *ours, const char *scenes, details *d, details_text *text)
{
    enum { ROWS = sizeof text->row / sizeof *text->row, ROOM = sizeof *text->row };
    double steps = (double)samples_count(&ours->us);
    if (text->rows == ROWS || steps == 0) {
        return;
    }
    char *row = text->row[text->rows++];
    int length = snprintf(row, ROOM, "%s|%s|%s|%.1f|%.1f|%.1f|%.1f|%.2f|%.2f",
                          ours->of.scene.model->name, scenes, ours->way->name,
                          samples_median(&d->pull_us, NULL), samples_median(&d->solve_us, NULL),
                          samples_median(&d->push_us, NULL), samples_median(&d->rest_us, NULL),
                          d->iterations / steps, d->factorizations / steps);
    for (int i = 0; i < SPRAG_STRATEGIES; i++) {
        length += snprintf(row + length, ROOM - (size_t)length, "|%.1f%%",
                           100 * (double)d->strategy[i] / steps);
    }
    snprintf(row + length, ROOM - (size_t)length, "|%ld", d->late_allocations);
}

static long late_allocations, stock_steps; // of method=stribeck, all models

static void bench_model(const sprag_model *model, bool same, double budget_us, details_text *text)
{
    long steps = lround(model->seconds / model->step);
    long settled = lround(model->settled / model->step);
    details d = details_make(steps);
    run runs[WAYS];
    for (int i = 0; i < WAYS; i++) {
        run_open(&runs[i], &ways[i], model, steps);
    }
    for (long k = 0; k < steps; k++) {
        if (!same && k == settled && k > 0) {
            print_runs("start", runs);
            print_details(&runs[OURS], "start", &d, text);
            clear_figures(runs, &d);
        }
        if (same) {
            step_same(runs, k, budget_us, (double)(k - settled) / (double)(steps - settled), &d);
        } else {
            step_own(runs, k, budget_us, &d);
        }
    }
    print_runs(same ? "same" : "own", runs);
    print_details(&runs[OURS], same ? "same" : "own", &d, text);
    late_allocations += d.late_allocations;
    stock_steps += d.strategy[SPRAG_STRATEGY_STOCK];
    for (int i = 0; i < WAYS; i++) {
        sprag_scene_close(&runs[i].of.scene);
        samples_free(&runs[i].us);
    }
    details_free(&d);
}

// ---- a scene of our own: bodies that nothing touches

static void free_open(sprag_scene *scene)
{
    for (int i = 0; i < scene->model->size; i++) {
        const double side[3] = {0.1, 0.2, 0.3};
        dBodyID body = sprag_scene_box(scene, 6, side, i % 10, i / 10 % 10, i / 100);
        dBodySetAngularVel(body, 1, i % 7 - 3, i % 3 - 1);
    }
}

static int free_measure(const sprag_scene *scene, sprag_measure *measures)
{
    (void)scene;
    (void)measures;
    return 0;
}

static const sprag_script free_script = {.open = free_open, .measure = free_measure};
static const sprag_model free_model = {
    "free-1000", "1000 bodies that nothing touches", 0.01, 3, 0, 0, 1000, &free_script, 0};

static void bench_steps(int names, char **name, double budget_us)
{
    static char *usual[] = {"stack",   "stack-geometric", "slope",    "gripper",  "chain",    "car",
                            "rolling", "pile:30",         "pile:100", "pile:300", "free-1000"};
    static details_text text;
    if (names == 0) {
        names = sizeof usual / sizeof *usual;
        name = usual;
    }
    line("model|scene|method|bodies|contacts|steps|median/us|mean/us|/ode-step|/ode-quick|LCP "
         "errors");
    for (int i = 0; i < names; i++) {
        const sprag_model *model =
            strcmp(name[i], free_model.name) ? sprag_model_find(name[i]) : &free_model;
        if (!model) {
            bench_refuse("steps", name[i]);
        }
        bench_model(model, false, budget_us, &text);
        bench_model(model, true, budget_us, &text);
    }
    puts("");
    line("model|scene|method|pull/us|solve/us|push/us|rest/"
         "us|Newton|factor|none|newton|warm|continued|frozen|"
         "Gauss-Seidel|stock|mallocs");
    for (int i = 0; i < text.rows; i++) {
        line("%s", text.row[i]);
    }
    bench_at_most("steps that stock took over", (double)stock_steps, 0);
    bench_at_most("allocations in the second half of the steps", (double)late_allocations, 0);
}

// ---- command line

enum { WRONG_USE = 2 }; // exit code; of a target that is missed: EXIT_FAILURE

static int usage(FILE *to, int code)
{
    fputs(
        "bench [--csv] NAME: times are CPU time of the calling thread; exits with 1 when a target "
        "is missed, with 2 when used wrongly.\n"
        "\n"
        "  steps [--budget=S] [MODEL...]  time of a step without collision, method by method; "
        "1 min a model\n"
        "  overhead [PART...]             cost of sprag between program and ODE; 2 min\n"
        "  error [--budget=S] [--options=[NAME:]OPTIONS]... [BODIES...]\n"
        "                                 work against error in piles, beside MuJoCo if "
        "installed; 1 min for 30 100\n"
        "  scenes [--options=OPTIONS] [MODEL...]\n"
        "                                 heaps and games against QuickStep(20): time, worst step, "
        "errors; 9 min\n"
        "  factor                         sparse factorization beside LAPACK and, if installed, "
        "SuiteSparse; 2 min\n"
        "  general [--full]               success and time of the general solver; 3 min\n"
        "  geometry                       distances and contact points beside dCollide; 2 min\n"
        "  terrain                        bodies on meshes and heightfields, beside dCollide and "
        "dWorldStep; 1 min\n"
        "  derivatives                    cost of sprag_world_linearize in steps; 1 min\n"
        "  threads                        islands in the program's threads (elapsed time too); "
        "2 min\n"
        "  ess                            accuracy and cost of the event-selected integrator, "
        "beside SUNDIALS\n"
        "                                 and MuJoCo if installed; run it in the "
        "top folder or in test/; 1 min\n"
        "  ess figure1|figure3|figure4|figure5|table2   of its paper, each; 1 min\n"
        "  ess price                      cost of method=ess beside dWorldStep, also at equal "
        "error; "
        "1 min\n"
        "  ess tolerance                  that a looser ess.tolerance costs no more; 4 min\n"
        "  ess share                      steps that method=ess integrates whole; 1 min\n"
        "  ess worlds                     method=ess in ODE worlds against exact answers; 1 min\n"
        "  advance [--full] [PART...]     method=advance against its targets; 5 min; parts:\n"
        "                                 certify die alone chain legs rest fast piles bounds "
        "disturb order models\n"
        "                                 paper compare crafts\n"
        "  loads [PART...]                loads, spin, fast bodies against their targets; "
        "2 min; parts: joints\n"
        "                                 spin speed cost\n"
        "  record                         cost of recording a heap of 100 bodies; 1 min\n"
        "  simbench                       tests of SimBenchmark, beside MuJoCo and Bullet if "
        "installed; 2 min\n"
        "  solve FILE                     a solve of `sprag dump` again, update by update\n"
        "  profile [BODIES]               steps of a pile, for test/scripts/profile.sh; no "
        "target; 1 min\n",
        to);
    return code;
}

int main(int argc, char **argv)
{
    enum { OPTIONS_MAX = 16 };
    static const struct option options[] = {
        {"csv", no_argument, NULL, 'c'},          {"full", no_argument, NULL, 'f'},
        {"budget", required_argument, NULL, 'b'}, {"options", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},         {0}};
    const char *given[OPTIONS_MAX];
    int many = 0;
    double budget = 0; // s, per method and scene; 0: the subcommand's own
    bool full = false; // all random problems
    char *end;
    for (int found; (found = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (found == 'c') {
            csv = true;
        } else if (found == 'f') {
            full = true;
        } else if (found == 'b' && (budget = strtod(optarg, &end)) > 0 && !*end) {
            continue;
        } else if (found == 'o' && many < OPTIONS_MAX) {
            given[many++] = optarg;
        } else {
            return found == 'h' ? usage(stdout, EXIT_SUCCESS) : usage(stderr, WRONG_USE);
        }
    }
    const char *what = optind < argc ? argv[optind++] : "";
    const bool sweeps = !strcmp(what, "scenes"), errors = !strcmp(what, "error");
    if ((many > 0 && !errors && !(sweeps && many == 1)) ||
        (budget > 0 && !errors && strcmp(what, "steps")) ||
        (full && strcmp(what, "general") && strcmp(what, "advance"))) {
        return usage(stderr, WRONG_USE);
    }
    int names = argc - optind, code = EXIT_SUCCESS;
    char **name = argv + optind;
    openblas_set_num_threads(1); // CPU time of the calling thread is all of it then
    dInitODE2(0);
    dSetMessageHandler(on_message);
    if (strcmp(what, "profile")) {
        print_machine();
    }
    if (!strcmp(what, "steps")) {
        bench_steps(names, name, 1e6 * (budget > 0 ? budget : 20));
    } else if (!strcmp(what, "error")) {
        bench_error(line,
                    &(error_request){name, names, given, many, 1e6 * (budget > 0 ? budget : 100)});
    } else if (!strcmp(what, "profile") && names < 2) {
        bench_profile(names ? bench_size_of("profile", *name) : 100);
    } else if (!strcmp(what, "overhead")) {
        code = bench_overhead(line, names, name) ? EXIT_FAILURE : EXIT_SUCCESS;
    } else if (!strcmp(what, "factor") && !names) {
        bench_factor(line);
    } else if (!strcmp(what, "general") && !names) {
        bench_general(line, full);
    } else if (!strcmp(what, "geometry") && !names) {
        bench_geometry(line);
    } else if (!strcmp(what, "terrain") && !names) {
        bench_terrain(line);
    } else if (!strcmp(what, "scenes")) {
        code = bench_scenes(name, names, many ? given[0] : NULL, 3) ? EXIT_SUCCESS : EXIT_FAILURE;
    } else if (!strcmp(what, "derivatives") && !names) {
        bench_derivatives(line);
    } else if (!strcmp(what, "threads") && !names) {
        bench_threads(line);
    } else if (!strcmp(what, "ess") && !names) {
        code = bench_ess(line) ? EXIT_SUCCESS : EXIT_FAILURE;
    } else if (!strcmp(what, "ess") && names == 1 && bench_ess_figure(line, *name)) {
        code = EXIT_SUCCESS;
    } else if (!strcmp(what, "ess") && names == 1 && !strcmp(*name, "price")) {
        bench_ess_price(line);
    } else if (!strcmp(what, "ess") && names == 1 && !strcmp(*name, "tolerance")) {
        bench_ess_tolerance(line);
    } else if (!strcmp(what, "ess") && names == 1 && !strcmp(*name, "share")) {
        bench_ess_share(line);
    } else if (!strcmp(what, "ess") && names == 1 && !strcmp(*name, "worlds")) {
        code = bench_ess_worlds(line) ? EXIT_SUCCESS : EXIT_FAILURE;
    } else if (!strcmp(what, "record") && !names) {
        bench_record(line);
    } else if (!strcmp(what, "loads")) {
        bench_loads(line, names, name);
    } else if (!strcmp(what, "simbench") && !names) {
        bench_simbench(line);
    } else if (!strcmp(what, "solve") && names == 1) {
        code = bench_solve(*name) ? EXIT_SUCCESS : EXIT_FAILURE;
    } else if (!strcmp(what, "advance")) {
        code = bench_advance(names, name, full, csv) ? EXIT_FAILURE : EXIT_SUCCESS;
    } else {
        return usage(stderr, WRONG_USE);
    }
    dCloseODE();
    return targets_met == targets ? code : EXIT_FAILURE;
}
