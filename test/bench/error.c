// Work and error of steppers, for one pile of N bodies.
//
// The pile is settled once (pile.c), and every stepper gets a scene of its own in that state.
// The steppers take one step each in turn, so that other load of the machine slows all of them
// alike. Each goes on from its own state. Two scenes of 10 ms steps:
//
//   rest    nothing acts but gravity: no body may move
//   shaken  the bin moves on a circle of 3 cm radius, twice a second. In its frame this is a
//           rotating horizontal acceleration of half of gravity. Bodies roll, slide, stick, and
//           make and break contacts all the time
//
// The first half of the steps is not measured. In the second half, odd steps measure errors
// (residue.c, the same for all steppers) and even steps measure work, so that reading forces takes
// no measured time. Work is the median CPU time of the stepper without collision; wall clock time
// would be longer for long steps on a busy machine. Further errors:
//
//   creep   m/s, displacement of a body in the second half over its time, for `rest`: median
//           and mean of all bodies; the mean includes balls that roll and bodies that topple
//   gained  J/s, sum of the increases of total energy from step to step, for `rest`
//
// Stock has its best settings: dContactApprox1 (friction bounded by the normal force), ERP 0.2 and
// CFM 1e-10 as in ODE's defaults, over-relaxation 1.3 in QuickStep. Its source has no other options
// except warm starting, which is compiled out. A stepper is left out if its first step, tried in a
// child process, takes more than its share of the time budget; its row shows "-" and the reason.
// This concerns dWorldStep, whose time grows with the cube of N.
//
// If MuJoCo was installed when this was built (Debian's libmujoco-dev), mujoco.c gives it the same
// bodies in the same state. It makes its own contacts, and its errors are measured at those.
//
// Stock's curve gives its least error for a given time: the minimum of straight lines through
// QuickStep's points on logarithmic axes and of all points of QuickStep and dWorldStep with less
// time. For times below QuickStep's first point, the error is that of this point. Each other row
// shows its error as a multiple of stock's at the same time: 1 is on the curve, less is better.
// "worst" is the largest multiple of mean depth, slip and cone. The greatest depth is left out,
// because it is mostly that of a contact which collision detection found late.
#define _DEFAULT_SOURCE 1 // fork, setitimer
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "scene.h"

// ---- steppers

typedef enum maker { STOCK, OURS, MUJOCO } maker;

typedef struct stepper {
    const char *name, *options;
    int iterations; // of QuickStep; 0: another stepper
    int largest;    // bodies; 0: any
    maker by;
} stepper;

static const stepper known[] = {
    {"ode-step", "method=ode-step", 0, 100, STOCK},
    {"ode-quick:20", "method=ode-quick", 20, 0, STOCK},
    {"ode-quick:100", "method=ode-quick", 100, 0, STOCK},
    {"ode-quick:1000", "method=ode-quick", 1000, 0, STOCK},
    {"stribeck", "method=stribeck", 0, 0, OURS},
    {"exact", "effort=exact", 0, 0, OURS},
    {"swept:10", "effort=exact,stribeck.direct_work=0,stribeck.sweeps=10", 0, 0, OURS},
    {"swept:50", "effort=exact,stribeck.direct_work=0,stribeck.sweeps=50", 0, 0, OURS},
    {"swept:500", "effort=exact,stribeck.direct_work=0,stribeck.sweeps=500", 0, 0, OURS},
#ifdef BENCH_MUJOCO
    {"mujoco", "solver='Newton' impratio='10'", 0, 300, MUJOCO},
    {"mujoco-noslip", "solver='Newton' noslip_iterations='10'", 0, 300, MUJOCO},
    {"mujoco-cg", "solver='CG'", 0, 500, MUJOCO},
    {"mujoco-pgs", "solver='PGS' impratio='10'", 0, 500, MUJOCO},
#endif
};

enum { KNOWN = sizeof known / sizeof *known, STEPPERS_MAX = KNOWN + 16, REFERENCE = 1 };

// ---- scenes

static const int usual_sizes[] = {30, 100, 300, 1000};

static long steps_of(long size)
{
    return size <= 30 ? 400 : size <= 100 ? 200 : size <= 300 ? 100 : size <= 1000 ? 60 : 30;
}

// ---- one competitor

typedef struct contest {
    const stepper *stepper;
    bench_scene of;
    bool taken;            // into the contest
    const char *left;      // why it left, or NULL
    double *us, *sorted;   // per step, NAN where none was timed
    double (*begin)[3];    // m, positions at half time
    double energy, gained; // J
    residue residue;
    double touching; // contacts, sum over the steps of the second half
} contest;

// The figures of a row, by which steppers are compared.
enum { DEPTH, SLIP, CONE, JUDGED, DEPTH_MAX = JUDGED, FIGURES };

typedef struct result {
    const contest *of;
    double us, figure[FIGURES];
} result;

static void contest_open(contest *c, const stepper *s, const bench_scene *settled, long steps)
{
    const sprag_model *model = settled->scene.model;
    *c = (contest){.stepper = s, .taken = !s->largest || model->size <= s->largest};
    if (!c->taken) {
        c->left = "too large";
        return;
    }
    c->us = bench_allocate((size_t)steps, sizeof *c->us);
    c->sorted = bench_allocate((size_t)steps, sizeof *c->sorted);
    for (long k = 0; k < steps; k++) {
        c->us[k] = NAN;
    }
    c->begin = bench_allocate((size_t)model->size, sizeof *c->begin);
    bench_open(&c->of, model, s->by == MUJOCO ? "method=ode" : s->options,
               s->iterations ? s->iterations : 20);
    bench_copy_state(&c->of.scene, &settled->scene);
    if (s->by == MUJOCO) {
        bench_mujoco_open(&c->of, s->options, settled->scene.touching);
    }
}

static void contest_close(contest *c)
{
    if (c->taken) {
        bench_mujoco_close(&c->of);
        sprag_scene_close(&c->of.scene);
        free(c->us);
        free(c->sorted);
        free(c->begin);
    }
}

// Does the first step end within that CPU time? A child process takes the step, because a step
// cannot be interrupted.
static bool ends_within(contest *c, bool shaken, double us)
{
    pid_t child = fork();
    if (child == 0) {
        long whole = (long)(us / 1e6);
        struct itimerval limit = {.it_value = {whole, 1 + (long)(us - 1e6 * (double)whole)}};
        setitimer(ITIMER_PROF, &limit, NULL);
        bench_set_gravity(&c->of.scene, shaken);
        bench_step(&c->of);
        _exit(EXIT_SUCCESS);
    }
    int status;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == EXIT_SUCCESS;
}

static void contest_step(contest *c, long k, long steps, bool shaken, double weight)
{
    sprag_scene *scene = &c->of.scene;
    bool judged = k >= steps / 2, watched = k % 2;
    bench_set_gravity(scene, shaken);
    for (int i = 0; i < scene->bodies && k == steps / 2; i++) {
        memcpy(c->begin[i], dBodyGetPosition(scene->body[i]), sizeof c->begin[i]);
    }
    if (watched) {
        residue_begin(scene);
    }
    bench_step(&c->of);
    c->us[k] = judged && !watched ? bench_stepper_us : NAN;
    if (watched) {
        residue unused = {0};
        residue_end(judged ? &c->residue : &unused, weight);
    }
    c->gained += judged ? fmax(scene->energy - c->energy, 0) : 0;
    c->touching += judged ? scene->touching : 0;
    c->energy = scene->energy;
    if (scene->nonfinite) {
        c->left = "lost a body";
    }
}

// m/s: returns the median of all bodies; *mean: their mean.
static double creep(const contest *c, double seconds, double *mean)
{
    const sprag_scene *scene = &c->of.scene;
    double *speed = bench_allocate((size_t)scene->bodies, sizeof *speed);
    *mean = 0;
    for (int i = 0; i < scene->bodies; i++) {
        speed[i] = sprag_distance(c->begin[i], dBodyGetPosition(scene->body[i])) / seconds;
        *mean += speed[i] / scene->bodies;
    }
    double middle = bench_median(speed, scene->bodies);
    free(speed);
    return middle;
}

static double median_us(contest *c, const contest *reference, long steps)
{
    long count = 0;
    for (long k = 0; k < steps; k++) {
        double us = c->us[k] / (reference ? reference->us[k] : 1);
        if (!isnan(us)) {
            c->sorted[count++] = us;
        }
    }
    return bench_median(c->sorted, count);
}

static result result_of(contest *c, long steps)
{
    const residue *r = &c->residue;
    result found = {.of = c, .us = NAN, .figure = {NAN, NAN, NAN, NAN}};
    if (!c->left) {
        found.us = median_us(c, NULL, steps);
        found.figure[DEPTH] = r->contacts ? r->depth / (double)r->contacts : 0;
        found.figure[DEPTH_MAX] = r->depth_max;
        found.figure[SLIP] = residue_root_mean(r->slip, r->held);
        found.figure[CONE] = residue_root_mean(r->cone, (double)r->loaded);
    }
    return found;
}

// ---- stock's curve

// Error at a time between two points of QuickStep, by linear interpolation of logarithms; NAN for
// other times.
static double between(const result *p, const result *q, double us, int figure)
{
    double from = p->figure[figure], to = q->figure[figure];
    if (!(p->us < us && us < q->us && from > 0 && to > 0)) {
        return NAN;
    }
    return from * pow(to / from, log(us / p->us) / log(q->us / p->us));
}

// Least error of stock for steps that take at most `us`.
static double stock_error(const result *all, int count, double us, int figure)
{
    double least = NAN;
    const result *first = NULL, *last = NULL; // of QuickStep
    for (int i = 0; i < count; i++) {
        const result *r = &all[i];
        if (r->of->stepper->by != STOCK || r->of->left) {
            continue;
        }
        least = r->us <= us ? fmin(least, r->figure[figure]) : least;
        if (r->of->stepper->iterations) {
            first = first ? first : r;
            least = last ? fmin(least, between(last, r, us, figure)) : least;
            last = r;
        }
    }
    return isnan(least) && first ? first->figure[figure] : least;
}

// ---- tables

// Rows of the second table, which is printed after the first one.
static struct {
    int rows;
    char row[256][256];
} further;

static void keep_further(const result *mine, const char *head, const double *ratio, double seconds,
                         bool rest)
{
    const contest *c = mine->of;
    const residue *r = &c->residue;
    double mean, middle = creep(c, seconds, &mean);
    if (further.rows < (int)(sizeof further.row / sizeof *further.row)) {
        snprintf(further.row[further.rows++], sizeof *further.row,
                 "%s|%.2g|%.2g|%.2g|%.2g|%.0f%%|%.1e|%.1e|%.1e|%.1e|%.1e|%.1e|%ld", head,
                 ratio[DEPTH], ratio[DEPTH_MAX], ratio[SLIP], ratio[CONE],
                 r->loaded ? 100 * (double)r->sticking / (double)r->loaded : 0,
                 residue_root_mean(r->approach, (double)r->contacts), r->approach_max,
                 r->momentum_max, rest ? middle : NAN, rest ? mean : NAN,
                 rest ? c->gained / seconds : NAN, c->of.lcp_errors);
    }
}

// Largest multiples of stock's error at equal time, of method=stribeck. Depths of `rest` are some
// micrometres and have no target.
static double largest_shaken, largest_slip_at_rest;

static void print_result(line_fn *line, bool shaken, contest *c, const contest *reference,
                         const result *mine, const result *all, int count, long steps)
{
    char head[128];
    double ratio[FIGURES] = {NAN, NAN, NAN, NAN}, worst = NAN;
    snprintf(head, sizeof head, "%s|%s|%s", reference->of.scene.model->name,
             shaken ? "shaken" : "rest", c->stepper->name);
    if (c->left) {
        line("%s|nan|nan|nan|nan|nan|nan|nan|nan|nan|%s", head, c->left);
        return;
    }
    for (int f = 0; f < FIGURES && c->stepper->by != STOCK; f++) {
        ratio[f] = mine->figure[f] / stock_error(all, count, mine->us, f);
        worst = f < JUDGED ? fmax(worst, ratio[f]) : worst;
    }
    double half = (double)(steps - steps / 2);
    line("%s|%.0f|%.1f|%.2f|%.1e|%.1e|%.1e|%.1e|%.1e|%.1e|%.2g", head, c->touching / half, mine->us,
         median_us(c, reference, steps), mine->figure[DEPTH], mine->figure[DEPTH_MAX],
         mine->figure[SLIP], c->residue.slip_max, mine->figure[CONE], c->residue.cone_max, worst);
    if (!strcmp(c->stepper->name, "stribeck")) {
        largest_shaken = fmax(largest_shaken, shaken ? worst : 0);
        largest_slip_at_rest = fmax(largest_slip_at_rest, shaken ? 0 : ratio[SLIP]);
    }
    keep_further(mine, head, ratio, half * c->of.scene.step, !shaken);
}

// ---- the whole

static void bench_scene_of(line_fn *line, const stepper *steppers, int count,
                           const bench_scene *settled, bool shaken, double budget_us)
{
    contest contests[STEPPERS_MAX];
    result results[STEPPERS_MAX];
    long steps = steps_of(settled->scene.model->size);
    double weight = residue_weight(&settled->scene);
    for (int i = 0; i < count; i++) {
        contest_open(&contests[i], &steppers[i], settled, steps);
        if (!contests[i].left && !ends_within(&contests[i], shaken, budget_us / (double)steps)) {
            contests[i].left = "over budget";
        }
    }
    for (long k = 0; k < steps; k++) {
        for (int i = 0; i < count; i++) {
            contest *c = &contests[(i + k) % count]; // none is always the first
            if (!c->left) {
                contest_step(c, k, steps, shaken, weight);
            }
        }
    }
    for (int i = 0; i < count; i++) {
        results[i] = result_of(&contests[i], steps);
    }
    for (int i = 0; i < count; i++) {
        print_result(line, shaken, &contests[i], &contests[REFERENCE], &results[i], results, count,
                     steps);
    }
    for (int i = 0; i < count; i++) {
        contest_close(&contests[i]);
    }
}

static void bench_size(line_fn *line, const stepper *steppers, int count, long size,
                       double budget_us)
{
    bench_scene settled;
    bench_settled_pile(&settled, size);
    for (int shaken = 0; shaken < 2; shaken++) {
        bench_scene_of(line, steppers, count, &settled, shaken, budget_us);
    }
    sprag_scene_close(&settled.scene);
}

// A stepper of sprag from "options" or "name:options". Ends the program if the options are invalid.
static stepper labelled(const char *options)
{
    static char name[STEPPERS_MAX][32];
    static int names;
    size_t length = strcspn(options, ":=,");
    stepper s = {options, options, 0, 0, OURS};
    if (options[length] == ':') {
        snprintf(name[names], sizeof *name, "%.*s", (int)length, options);
        s = (stepper){name[names++], options + length + 1, 0, 0, OURS};
    }
    dWorldID world = dWorldCreate();
    bench_configure(world, s.options, 20);
    dWorldDestroy(world);
    return s;
}

void bench_error(line_fn *line, const error_request *request)
{
    stepper steppers[STEPPERS_MAX];
    int count = 0;
    while (count < KNOWN) {
        steppers[count] = known[count];
        count++;
    }
    for (int i = 0; i < request->methods && count < STEPPERS_MAX; i++) {
        steppers[count++] = labelled(request->options[i]);
    }
    bench_mujoco_print_version();
    puts(
        "# N: contacts. /quick:20: time by ode-quick:20's, paired. depth, slip: m, m/s of sticking "
        "contacts;");
    puts("# cone: weights of the mean body beyond the friction cone. worst: largest multiple of "
         "stock's error");
    puts("# at equal time, of depth, slip and cone; 1 is on stock's curve, less is better.");
    line("model|scene|method|contacts|us|/quick:20|depth|depth max|slip|slip max|cone|cone "
         "max|worst");
    int sizes = request->sizes ? request->sizes : (int)(sizeof usual_sizes / sizeof *usual_sizes);
    for (int i = 0; i < sizes; i++) {
        long size = request->sizes ? bench_size_of("error", request->size[i]) : usual_sizes[i];
        bench_size(line, steppers, count, size, request->budget_us);
    }
    puts("");
    puts("# The first four: multiples of stock's error at equal time. approach: m/s, of contacts. "
         "momentum:");
    puts("# weights that nothing explains. creep: m/s. gained: J/s.");
    line("model|scene|method|/depth|/depth max|/slip|/cone|sticking|approach|approach "
         "max|momentum|creep|mean creep|gained|LCP "
         "errors");
    for (int i = 0; i < further.rows; i++) {
        line("%s", further.row[i]);
    }
    bench_at_most("stribeck, shaken: error by stock's at equal time, worst", largest_shaken, 1);
    bench_at_most("stribeck, at rest: slip by stock's at equal time, worst", largest_slip_at_rest,
                  1);
    residue_free();
}
