// Event-selected systems: how accurate, and what a contact costs.
//
// Tables: order (error against eps), hopper (root of mean square against the exact trajectory at
// 0.002 s), bed (plate on N springs, 2 s, twenty starts of test/data/ess: errors against the
// reference states and, of z, against a run at tolerance 1e-10 on 1001 points), cost (the same
// plate on up to 10 000 springs). Times are thread CPU time, the least of three runs a start, then
// the median over the starts; the programs compared take turns start by start. "slope" is
// microseconds per contact per simulated second, by least squares over all N of the table.
//
// Beside ours stand, where installed: SUNDIALS' ARKODE (Dormand-Prince 5(4), with and without its
// rootfinding) and MuJoCo (contacts as springs: "compliant"; 10 g tips on sprung slides: "tips").
#define _GNU_SOURCE 1 // clock_gettime
#include <stdarg.h>
#include <time.h>

#include "test/bench.h"
#include "test/problems_ess.h"

#ifdef BENCH_ARKODE
#include <arkode/arkode_butcher_erk.h>
#include <arkode/arkode_erkstep.h>
#include <nvector/nvector_serial.h>
#endif
#ifdef BENCH_MUJOCO
#include <mujoco/mujoco.h>
#endif

static sprag_scratch scratch;

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, bench_by_size);
    return n > 0 ? (x[(n - 1) / 2] + x[n / 2]) / 2 : NAN;
}

static double slope(const double *x, const double *y, int n)
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (int i = 0; i < n; i++) {
        sx += x[i];
        sy += y[i];
        sxx += x[i] * x[i];
        sxy += x[i] * y[i];
    }
    return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

static void check(sprag_result result, const char *message)
{
    if (result != SPRAG_OK) {
        fprintf(stderr, "bench ess: %s: %s\n", sprag_result_name(result), message);
        exit(EXIT_FAILURE);
    }
}

static const struct {
    const char *name;
    sprag_ess_mode mode;
} modes[] = {
    {"first", SPRAG_ESS_FIRST}, {"midpoint", SPRAG_ESS_MIDPOINT}, {"locate", SPRAG_ESS_LOCATE}};

// ---- order

static void bench_order(line_fn *line)
{
    enum { POINTS = 9 };
    table t = table_read("order_exact");
    double *time = calloc((size_t)t.rows, sizeof *time);
    double(*state)[3] = calloc((size_t)t.rows, sizeof *state);
    for (int i = 0; i < t.rows; i++) {
        time[i] = t.row[i][0];
    }
    line("order|mode||eps|rms|final");
    for (int m = 0; m < 3; m++) {
        double le[POINTS], lr[POINTS], lf[POINTS];
        for (int i = 0; i < POINTS; i++) {
            double x[3] = {order_start[0], order_start[1], order_start[2]};
            double label[3] = {NAN, NAN, NAN}, rms = 0, final = 0;
            char message[200];
            sprag_ess_options o = sprag_ess_defaults(1e-3);
            o.mode = modes[m].mode;
            o.trust_eps = true;
            o.eps = pow(10, -1 - 0.25 * i);
            sprag_ess_output out = {.time = time, .times = t.rows, .state = state[0]};
            check(sprag_ess_integrate(&order_problem, &o, 0, 0.5, x, label, &out, &scratch, NULL,
                                      message, sizeof message),
                  message);
            sprag_scratch_reset(&scratch);
            for (int r = 0; r < t.rows; r++) {
                final = 0;
                for (int k = 0; k < 3; k++) {
                    double wrong = state[r][k] - t.row[r][1 + k];
                    rms += wrong * wrong / (3 * t.rows);
                    final += wrong * wrong;
                }
            }
            le[i] = log(o.eps);
            lr[i] = log(sqrt(rms));
            lf[i] = log(sqrt(final));
            line("order|%s||%.2g|%.2e|%.2e", modes[m].name, o.eps, sqrt(rms), sqrt(final));
        }
        line("order|%s|fitted|1e-3..1e-1|%.2f|%.2f", modes[m].name, slope(le, lr, POINTS),
             slope(le, lf, POINTS));
    }
    free(time);
    free(state);
    table_free(&t);
}

// ---- hopper

static void bench_hopper(line_fn *line)
{
    static const struct {
        double eps, tolerance;
        bool trust;
    } run[] = {{0.05, 1, true},  {0.02, 1, true},     {0.01, 1, true},
               {0.01, 1, false}, {0.02, 1e-3, false}, {0.02, 1e-6, false}};
    line("hopper|mode|projects|eps|tolerance|rms z|rms zdot|projected|us");
    for (int damped = 0; damped < 2; damped++) {
        table t = table_read(damped ? "hopper_damped_exact" : "hopper_exact");
        double time[1001], state[1001][2];
        for (int i = 0; i < t.rows; i++) {
            time[i] = t.row[i][0];
        }
        for (int m = 0; m < 3; m++) {
            for (size_t r = 0; r < sizeof run / sizeof *run; r++) {
                if (modes[m].mode == SPRAG_ESS_LOCATE && r > 0) {
                    break;
                }
                hopper leg = {1000, damped ? 4 : 0};
                sprag_ess_problem p = hopper_problem(&leg);
                sprag_ess_options o = sprag_ess_defaults(0.002);
                sprag_ess_stats stats;
                char message[200];
                o.mode = modes[m].mode;
                o.eps = run[r].eps;
                o.trust_eps = run[r].trust;
                o.relative_tolerance = run[r].tolerance;
                double least = INFINITY, z = 0, speed = 0;
                for (int repeat = 0; repeat < 5; repeat++) {
                    double x[2] = {2, 0}, label[2] = {NAN, NAN};
                    sprag_ess_output out = {.time = time, .times = t.rows, .state = state[0]};
                    double start = bench_now_us();
                    check(sprag_ess_integrate(&p, &o, 0, 2, x, label, &out, &scratch, &stats,
                                              message, sizeof message),
                          message);
                    least = fmin(least, bench_now_us() - start);
                    sprag_scratch_reset(&scratch);
                }
                for (int i = 0; i < t.rows; i++) {
                    z += pow(state[i][0] - t.row[i][1], 2) / t.rows;
                    speed += pow(state[i][1] - t.row[i][2], 2) / t.rows;
                }
                line("%s|%s|%s|%g|%g|%.1e|%.1e|%ld|%.0f", damped ? "damped hopper" : "hopper",
                     modes[m].name,
                     modes[m].mode == SPRAG_ESS_LOCATE ? "-"
                     : o.trust_eps                     ? "from -eps on"
                                                       : "within tolerance",
                     o.eps, o.relative_tolerance, sqrt(z), sqrt(speed), stats.projected, least);
            }
        }
        table_free(&t);
    }
}

// ---- bed: the programs that are compared

enum { POINTS = 1001, TRIALS = 20 };

typedef struct start { // of a plate
    double z, angle;
} start;

// z at POINTS times from 0 to 2 s; four states at 0.5, 1, 1.5, 2 s where there is room for them.
typedef struct trajectory {
    double z[POINTS];
    double state[4][6];
    long events, values; // of f
} trajectory;

typedef struct program program;
struct program {
    const char *name, *how;
    void *(*open)(const program *program, bed *b);
    double (*run)(const program *program, void *of, const start *at, trajectory *out); // us
    void (*close)(void *of);
    sprag_ess_mode mode;
    bool adaptive, jump, roots;
    double tolerance, eps;
};

typedef struct ours {
    bed *b;
    double *label, time[POINTS], (*state)[6];
} ours;

static void *ours_open(const program *program, bed *b)
{
    (void)program;
    ours *of = calloc(1, sizeof *of);
    of->b = b;
    of->label = calloc((size_t)b->springs, sizeof *of->label);
    of->state = calloc(POINTS, sizeof *of->state);
    for (int i = 0; i < POINTS; i++) {
        of->time[i] = 2.0 * i / (POINTS - 1);
    }
    return of;
}

static double ours_run(const program *program, void *data, const start *at, trajectory *out)
{
    ours *of = data;
    sprag_ess_problem p = bed_problem(of->b);
    p.jump = program->jump ? p.jump : NULL;
    sprag_ess_options o = sprag_ess_defaults(program->adaptive ? 0.1 : 0.002);
    o.mode = program->mode;
    o.adaptive = program->adaptive;
    o.eps = program->eps;
    o.relative_tolerance = o.absolute_tolerance = program->tolerance;
    double x[6] = {0, at->z, at->angle};
    char message[200];
    sprag_ess_stats stats;
    sprag_ess_output output = {.time = of->time, .times = POINTS, .state = of->state[0]};
    for (int k = 0; k < of->b->springs; k++) {
        of->label[k] = NAN;
    }
    double start_us = bench_now_us();
    sprag_result result = sprag_ess_integrate(&p, &o, 0, 2, x, of->label, out ? &output : NULL,
                                              &scratch, &stats, message, sizeof message);
    double us = bench_now_us() - start_us;
    check(result, message);
    sprag_scratch_reset(&scratch);
    for (int i = 0; out && i < POINTS; i++) {
        out->z[i] = of->state[i][1];
    }
    for (int i = 0; out && i < 4; i++) {
        memcpy(out->state[i], of->state[250 * (i + 1)], sizeof out->state[i]);
        out->events = stats.events;
        out->values = stats.field_values;
    }
    return us;
}

static void ours_close(void *data)
{
    ours *of = data;
    free(of->label);
    free(of->state);
    free(of);
}

#ifdef BENCH_ARKODE
typedef struct arkode {
    bed *b;
    double *label;
    int *found;
    SUNContext context;
    N_Vector y;
    void *memory;
    bool frozen; // labels; else by the sign of h
    double *h;
} arkode;

static int arkode_field(realtype t, N_Vector y, N_Vector f, void *user)
{
    (void)t;
    arkode *of = user;
    if (!of->frozen) {
        bed_guard(of->b, N_VGetArrayPointer(y), NULL, of->b->springs, of->h);
        for (int k = 0; k < of->b->springs; k++) {
            of->label[k] = of->h[k] >= 0;
        }
    }
    bed_field(of->b, N_VGetArrayPointer(y), of->label, N_VGetArrayPointer(f));
    return 0;
}

static int arkode_guard(realtype t, N_Vector y, realtype *h, void *user)
{
    (void)t;
    arkode *of = user;
    bed_guard(of->b, N_VGetArrayPointer(y), NULL, of->b->springs, h);
    return 0;
}

static void *arkode_open(const program *program, bed *b)
{
    arkode *of = calloc(1, sizeof *of);
    *of = (arkode){.b = b,
                   .label = calloc((size_t)b->springs, sizeof(double)),
                   .h = calloc((size_t)b->springs, sizeof(double)),
                   .found = calloc((size_t)b->springs, sizeof(int)),
                   .frozen = program->roots};
    SUNContext_Create(NULL, &of->context);
    of->y = N_VNew_Serial(6, of->context);
    N_VConst(0, of->y);
    of->memory = ERKStepCreate(arkode_field, 0, of->y, of->context);
    ERKStepSetUserData(of->memory, of);
    ERKStepSStolerances(of->memory, program->tolerance, program->tolerance);
    ERKStepSetTableNum(of->memory, ARKODE_DORMAND_PRINCE_7_4_5);
    ERKStepSetMaxNumSteps(of->memory, 1000000);
    if (program->roots) {
        ERKStepRootInit(of->memory, b->springs, arkode_guard);
        ERKStepSetNoInactiveRootWarn(of->memory);
    }
    return of;
}

static double arkode_run(const program *program, void *data, const start *at, trajectory *out)
{
    (void)program;
    arkode *of = data;
    double *x = N_VGetArrayPointer(of->y), t = 0;
    memcpy(x, (double[6]){0, at->z, at->angle}, 6 * sizeof *x);
    memset(of->label, 0, (size_t)of->b->springs * sizeof *of->label);
    double start_us = bench_now_us();
    ERKStepReInit(of->memory, arkode_field, 0, of->y);
    for (int i = 1, last = out ? POINTS - 1 : 1; i <= last; i++) {
        double until = 2.0 * i / last;
        int flag;
        while ((flag = ERKStepEvolve(of->memory, until, of->y, &t, ARK_NORMAL)) ==
               ARK_ROOT_RETURN) {
            ERKStepGetRootInfo(of->memory, of->found);
            for (int k = 0; k < of->b->springs; k++) {
                of->label[k] = of->found[k] ? of->found[k] > 0 : of->label[k];
            }
            ERKStepReset(of->memory, t, of->y);
        }
        if (flag < 0) {
            fprintf(stderr, "bench ess: ARKODE says %d\n", flag);
            return NAN;
        }
        if (out) {
            out->z[i] = x[1];
        }
        if (out && i % 250 == 0) {
            memcpy(out->state[i / 250 - 1], x, sizeof out->state[0]);
        }
    }
    double us = bench_now_us() - start_us;
    if (out) {
        out->z[0] = at->z;
        ERKStepGetNumRhsEvals(of->memory, &out->values);
    }
    return us;
}

static void arkode_close(void *data)
{
    arkode *of = data;
    ERKStepFree(&of->memory);
    N_VDestroy(of->y);
    SUNContext_Free(&of->context);
    free(of->label);
    free(of->h);
    free(of->found);
    free(of);
}
#endif

#ifdef BENCH_MUJOCO
typedef struct mujoco {
    mjModel *model;
    mjData *data;
} mujoco;

// A plate that may move in x and z and turn about y; springs fixed in the world as large spheres
// whose contacts are springs, or as tips on slides. Contacts are given in pairs, so that no time
// goes into looking for them.
static void *mujoco_open(const program *program, bed *b)
{
    bool tips = program->jump;
    size_t room = 4096 + 1024 * (size_t)b->springs;
    char *xml = malloc(room);
    size_t used = 0;
#define ADD(...) used += (size_t)snprintf(xml + used, room - used, __VA_ARGS__)
    double thick = 1, ball = tips ? 0.02 : 0.4;
    ADD("<mujoco><option timestep='0.002' gravity='0 0 -9.81' collision='predefined'/>"
        "<size nconmax='%d' njmax='%d'/><worldbody>"
        "<body name='plate' pos='0 0 0'><joint type='slide' axis='1 0 0'/>"
        "<joint type='slide' axis='0 0 1'/><joint type='hinge' axis='0 -1 0'/>"
        "<inertial pos='0 0 0' mass='10' diaginertia='30 30 30'/>"
        "<geom name='plate' type='box' size='3 1 %g' pos='0 0 %g'/></body>",
        2 * b->springs + 10, 8 * b->springs + 100, thick / 2, thick / 2);
    for (int k = 0; k < b->springs; k++) {
        if (tips) {
            ADD("<body pos='%.17g 0 %.17g'><joint type='slide' axis='0 0 1' stiffness='%g' "
                "damping='%g'/><geom name='s%d' type='sphere' size='%g' mass='0.01'/></body>",
                b->at[k], 1 - ball, b->stiffness, b->damping, k, ball);
        } else {
            ADD("<geom name='s%d' type='sphere' size='%g' pos='%.17g 0 %.17g'/>", k, ball, b->at[k],
                1 - ball);
        }
    }
    ADD("</worldbody><contact>");
    for (int k = 0; k < b->springs; k++) {
        ADD("<pair geom1='plate' geom2='s%d' condim='1' %s/>", k,
            tips ? "solref='0.004 1' solimp='0.999 0.9999 0.001'" : "");
    }
    ADD("</contact></mujoco>");
    FILE *file = fopen("/tmp/bench_ess.xml", "w");
    mujoco *of = calloc(1, sizeof *of);
    char error[500] = "cannot write /tmp/bench_ess.xml";
    if (file) {
        fwrite(xml, 1, used, file);
        fclose(file);
        of->model = mj_loadXML("/tmp/bench_ess.xml", NULL, error, sizeof error);
        remove("/tmp/bench_ess.xml");
    }
    free(xml);
    if (!of->model) {
        fprintf(stderr, "bench ess: MuJoCo: %s\n", error);
        exit(EXIT_FAILURE);
    }
    // force = k depth + c rate, up to O(N d): impedance d, reference scaled by the inverse weight.
    double d = 1e-4, weight = of->model->body_invweight0[2];
    for (int k = 0; !tips && k < of->model->npair; k++) {
        of->model->pair_solref[2 * k] = -b->stiffness * weight;
        of->model->pair_solref[2 * k + 1] = -b->damping * weight;
        double impedance[] = {d, d, 0.001, 0.5, 2};
        memcpy(of->model->pair_solimp + 5 * k, impedance, sizeof impedance);
    }
    of->data = mj_makeData(of->model);
    return of;
}

static double mujoco_run(const program *program, void *data, const start *at, trajectory *out)
{
    (void)program;
    mujoco *of = data;
    mj_resetData(of->model, of->data);
    of->data->qpos[1] = at->z;
    of->data->qpos[2] = at->angle;
    mj_forward(of->model, of->data);
    double start_us = bench_now_us();
    for (int i = 0; i < POINTS - 1; i++) {
        if (out) {
            out->z[i] = of->data->qpos[1];
        }
        mj_step(of->model, of->data);
        if (out && (i + 1) % 250 == 0) {
            for (int k = 0; k < 3; k++) {
                out->state[(i + 1) / 250 - 1][k] = of->data->qpos[k];
                out->state[(i + 1) / 250 - 1][3 + k] = of->data->qvel[k];
            }
        }
    }
    double us = bench_now_us() - start_us;
    if (out) {
        out->z[POINTS - 1] = of->data->qpos[1];
    }
    return us;
}

static void mujoco_close(void *data)
{
    mujoco *of = data;
    mj_deleteData(of->data);
    mj_deleteModel(of->model);
    free(of);
}
#endif

#define OURS(...) .open = ours_open, .run = ours_run, .close = ours_close, __VA_ARGS__
static const program programs[] = {
    {"locate", "fixed, jumps", OURS(.mode = SPRAG_ESS_LOCATE, .jump = true, .tolerance = 1e-3)},
    {"midpoint", "fixed, jumps",
     OURS(.mode = SPRAG_ESS_MIDPOINT, .jump = true, .tolerance = 1e-3, .eps = 0.02)},
    {"midpoint", "fixed", OURS(.mode = SPRAG_ESS_MIDPOINT, .tolerance = 1e-3, .eps = 0.02)},
    {"locate", "fixed", OURS(.mode = SPRAG_ESS_LOCATE, .tolerance = 1e-6)},
    {"midpoint", "1e-4, jumps",
     OURS(.mode = SPRAG_ESS_MIDPOINT, .adaptive = true, .jump = true, .tolerance = 1e-4,
          .eps = 0.02)},
    {"locate", "1e-4, jumps",
     OURS(.mode = SPRAG_ESS_LOCATE, .adaptive = true, .jump = true, .tolerance = 1e-4)},
    {"locate", "1e-4", OURS(.mode = SPRAG_ESS_LOCATE, .adaptive = true, .tolerance = 1e-4)},
    {"locate", "1e-9", OURS(.mode = SPRAG_ESS_LOCATE, .adaptive = true, .tolerance = 1e-9)},
#ifdef BENCH_ARKODE
#define ARKODE(...) .open = arkode_open, .run = arkode_run, .close = arkode_close, __VA_ARGS__
    {"ARKODE", "1e-4, roots", ARKODE(.roots = true, .tolerance = 1e-4)},
    {"ARKODE", "1e-9, roots", ARKODE(.roots = true, .tolerance = 1e-9)},
    {"ARKODE", "1e-4, no events", ARKODE(.tolerance = 1e-4)},
#endif
#ifdef BENCH_MUJOCO
#define MUJOCO(...) .open = mujoco_open, .run = mujoco_run, .close = mujoco_close, __VA_ARGS__
    {"MuJoCo", "fixed, compliant", MUJOCO(.jump = false)},
    {"MuJoCo", "fixed, tips", MUJOCO(.jump = true)},
#endif
};
enum { PROGRAMS = sizeof programs / sizeof *programs };
static const program reference = {
    "locate", "1e-10", OURS(.mode = SPRAG_ESS_LOCATE, .adaptive = true, .tolerance = 1e-10)};

static void bench_bed(line_fn *line)
{
    static const int springs[] = {2, 5, 10, 20, 40, 60, 80, 100};
    enum { SIZES = sizeof springs / sizeof *springs };
    static trajectory exact, found;
    table t = table_read("bed_ref");
    double us[PROGRAMS][SIZES], number[SIZES];
    line("bed|N|program|steps|us|rms z|worst|f");
    for (int s = 0; s < SIZES; s++) {
        bed b = bed_make(springs[s]);
        void *of[PROGRAMS], *ref = ours_open(&reference, &b);
        double time[PROGRAMS][TRIALS], rms[PROGRAMS][TRIALS], worst[PROGRAMS] = {0};
        double values[PROGRAMS] = {0};
        for (int p = 0; p < PROGRAMS; p++) {
            of[p] = programs[p].open(&programs[p], &b);
        }
        int trials = 0;
        for (int r = 0; r < t.rows && trials < TRIALS; r++) {
            if ((int)t.row[r][0] != springs[s]) {
                continue;
            }
            start at = {t.row[r][2], t.row[r][3]};
            ours_run(&reference, ref, &at, &exact);
            for (int p = 0; p < PROGRAMS; p++) {
                double *least = &time[p][trials], sum = 0;
                memset(&found, 0, sizeof found);
                programs[p].run(&programs[p], of[p], &at, &found);
                *least = INFINITY;
                for (int i = 0; i < POINTS; i++) {
                    sum += pow(found.z[i] - exact.z[i], 2) / POINTS;
                }
                rms[p][trials] = sqrt(sum);
                values[p] += (double)found.values / TRIALS;
                for (int i = 0; i < 24; i++) {
                    worst[p] = fmax(worst[p], fabs(found.state[i / 6][i % 6] - t.row[r][5 + i]));
                }
                for (int repeat = 0; repeat < 3; repeat++) {
                    *least = fmin(*least, programs[p].run(&programs[p], of[p], &at, NULL));
                }
            }
            trials++;
        }
        number[s] = springs[s];
        for (int p = 0; p < PROGRAMS; p++) {
            us[p][s] = median(time[p], trials);
            line("bed|%d|%s|%s|%.0f|%.1e|%.1e|%.0f", springs[s], programs[p].name, programs[p].how,
                 us[p][s], median(rms[p], trials), worst[p], values[p] > 0 ? values[p] : NAN);
            programs[p].close(of[p]);
        }
        ours_close(ref);
        bed_free(&b);
    }
    line("slope|N|program|steps|us");
    for (int p = 0; p < PROGRAMS; p++) {
        line("slope|2..100|%s|%s|%.2f", programs[p].name, programs[p].how,
             slope(number, us[p], SIZES) / 2);
    }
    table_free(&t);
}

// ---- cost: many springs, dt 0.002

static void bench_cost(line_fn *line)
{
    static const int springs[] = {100, 300, 1000, 3000, 10000};
    line("cost|N|program|steps|us|a contact|f");
    for (size_t s = 0; s < sizeof springs / sizeof *springs; s++) {
        bed b = bed_make(springs[s]);
        for (int p = 0; p < 2; p++) {
            static trajectory found;
            start at = {2.5, 0.05};
            void *of = programs[p].open(&programs[p], &b);
            programs[p].run(&programs[p], of, &at, &found);
            double least = INFINITY;
            for (int repeat = 0; repeat < 3 + 3000 / springs[s]; repeat++) {
                least = fmin(least, programs[p].run(&programs[p], of, &at, NULL));
            }
            line("cost|%d|%s|%s|%.0f|%.2f|%ld", springs[s], programs[p].name, programs[p].how,
                 least, least / springs[s] / 2, found.values);
            programs[p].close(of);
        }
        bed_free(&b);
    }
}

void bench_ess(line_fn *line)
{
    bench_order(line);
    bench_hopper(line);
    bench_bed(line);
    bench_cost(line);
    sprag_scratch_free(&scratch);
}
