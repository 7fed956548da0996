#define _GNU_SOURCE 1 // mkstemps
#include "ess_beds.h"

#include <unistd.h>

#ifdef BENCH_SUNDIALS
#include <arkode/arkode_butcher_erk.h>
#include <arkode/arkode_erkstep.h>
#include <cvode/cvode.h>
#include <nvector/nvector_serial.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>
#endif
#ifdef BENCH_MUJOCO
#include <mujoco/mujoco.h>
#endif

typeof(sprag_ess_integrate) plain_ess_integrate; // without versions for wider vectors

static sprag_scratch scratch;

void ess_beds_free(void)
{
    sprag_scratch_free(&scratch);
}

void ess_check(sprag_result result, const char *message)
{
    if (result != SPRAG_OK) {
        fprintf(stderr, "bench ess: %s: %s\n", sprag_result_name(result), message);
        exit(EXIT_FAILURE);
    }
}

// ---- ours

typedef struct ours {
    bed *b;
    double *label, *h, time[POINTS], (*state)[6];
} ours;

void *ours_open(const program *program, bed *b)
{
    (void)program;
    ours *of = calloc(1, sizeof *of);
    of->b = b;
    of->label = calloc((size_t)b->springs, sizeof *of->label);
    of->h = calloc((size_t)b->springs, sizeof *of->h);
    of->state = calloc(POINTS, sizeof *of->state);
    for (int i = 0; i < POINTS; i++) {
        of->time[i] = 2.0 * i / (POINTS - 1);
    }
    return of;
}

double ours_run(const program *program, void *data, const start *at, trajectory *out)
{
    ours *of = data;
    sprag_ess_problem p = bed_problem(of->b);
    p.jump = program->jump ? p.jump : NULL;
    sprag_ess_options o = sprag_ess_defaults(program->adaptive ? 2 : 0.002);
    o.mode = program->mode;
    o.adaptive = program->adaptive;
    o.eps = program->eps;
    o.trust_eps = program->trust;
    o.relative_tolerance = o.absolute_tolerance = program->tolerance;
    double x[6] = {0, at->z, at->angle};
    char message[200];
    sprag_ess_stats stats;
    sprag_ess_output output = {.time = of->time, .times = POINTS, .state = of->state[0]};
    for (int k = 0; k < of->b->springs; k++) {
        of->label[k] = NAN;
    }
    typeof(sprag_ess_integrate) *integrate =
        program->family == OURS_WIDE ? sprag_ess_integrate : plain_ess_integrate;
    double start_us = bench_cpu_us();
    sprag_result result = integrate(&p, &o, 0, 2, x, of->label, out ? &output : NULL, &scratch,
                                    &stats, message, sizeof message);
    double us = bench_cpu_us() - start_us;
    ess_check(result, message);
    sprag_scratch_reset(&scratch);
    for (int i = 0; out && i < POINTS; i++) {
        out->z[i] = of->state[i][1];
    }
    for (int i = 0; out && i < 4; i++) {
        memcpy(out->state[i], of->state[250 * (i + 1)], sizeof out->state[i]);
        out->values = stats.field_values;
    }
    return us;
}

void ours_close(void *data)
{
    ours *of = data;
    free(of->label);
    free(of->h);
    free(of->state);
    free(of);
}

// The least work of 1000 steps with one sample each: six values of f, two passes over the guards.
double alone_run(const program *program, void *data, const start *at, trajectory *out)
{
    (void)program;
    ours *of = data;
    double x[6] = {0, at->z, at->angle}, f[6] = {0}, *h = of->h;
    for (int k = 0; k < of->b->springs; k++) {
        of->label[k] = k % 2;
    }
    double start_us = bench_cpu_us();
    for (int i = 0; i < 1000; i++) {
        for (int j = 0; j < 6; j++) {
            x[2] += 1e-9 + 1e-20 * f[4]; // each waits for the last, as in a step
            bed_field(of->b, x, of->label, f);
            if (j % 3 == 0) {
                bed_guard(of->b, x, NULL, of->b->springs, h);
            }
        }
    }
    double us = bench_cpu_us() - start_us;
    if (out) {
        out->z[0] = f[4] + h[0]; // is used
    }
    return us;
}

// ---- SUNDIALS

#ifdef BENCH_SUNDIALS
typedef struct sundials sundials;

typedef struct stepper { // what its programs have in common, but for the names
    void (*create)(sundials *of, const program *program);
    int (*begin)(sundials *of);
    int (*evolve)(void *memory, realtype until, N_Vector y, realtype *t, int task);
    int (*roots)(void *memory, int *found);
    int (*restart)(void *memory, realtype t, N_Vector y);
    int (*values)(void *memory, long *values);
    void (*destroy)(void **memory);
} stepper;

struct sundials {
    const stepper *by;
    bed *b;
    double *label, *h;
    int *found;
    SUNContext context;
    N_Vector y;
    SUNNonlinearSolver solver;
    void *memory;
    bool frozen; // labels; else by the sign of h
};

static int sundials_field(realtype t, N_Vector y, N_Vector f, void *user)
{
    (void)t;
    sundials *of = user;
    if (!of->frozen) {
        bed_guard(of->b, N_VGetArrayPointer(y), NULL, of->b->springs, of->h);
        for (int k = 0; k < of->b->springs; k++) {
            of->label[k] = of->h[k] >= 0;
        }
    }
    bed_field(of->b, N_VGetArrayPointer(y), of->label, N_VGetArrayPointer(f));
    return 0;
}

static int sundials_guard(realtype t, N_Vector y, realtype *h, void *user)
{
    (void)t;
    sundials *of = user;
    bed_guard(of->b, N_VGetArrayPointer(y), NULL, of->b->springs, h);
    return 0;
}

static void arkode_create(sundials *of, const program *program)
{
    of->memory = ERKStepCreate(sundials_field, 0, of->y, of->context);
    ERKStepSetUserData(of->memory, of);
    ERKStepSStolerances(of->memory, program->tolerance, program->tolerance);
    ERKStepSetTableNum(of->memory, ARKODE_DORMAND_PRINCE_7_4_5);
    ERKStepSetMaxNumSteps(of->memory, 1000000);
    ERKStepSetInterpolantDegree(of->memory, 3); // higher ones take more values of f
    if (of->frozen) {
        ERKStepRootInit(of->memory, of->b->springs, sundials_guard);
        ERKStepSetNoInactiveRootWarn(of->memory);
    }
}

static int arkode_begin(sundials *of)
{
    return ERKStepReInit(of->memory, sundials_field, 0, of->y);
}

static const stepper arkode = {arkode_create,      arkode_begin, ERKStepEvolve,
                               ERKStepGetRootInfo, ERKStepReset, ERKStepGetNumRhsEvals,
                               ERKStepFree};

static void cvode_create(sundials *of, const program *program)
{
    of->memory = CVodeCreate(CV_ADAMS, of->context);
    CVodeInit(of->memory, sundials_field, 0, of->y);
    CVodeSetUserData(of->memory, of);
    CVodeSStolerances(of->memory, program->tolerance, program->tolerance);
    of->solver = SUNNonlinSol_FixedPoint(of->y, 0, of->context);
    CVodeSetNonlinearSolver(of->memory, of->solver);
    CVodeSetMaxNumSteps(of->memory, 1000000);
    if (of->frozen) {
        CVodeRootInit(of->memory, of->b->springs, sundials_guard);
        CVodeSetNoInactiveRootWarn(of->memory);
    }
}

static int cvode_begin(sundials *of)
{
    return CVodeReInit(of->memory, 0, of->y);
}

static const stepper cvode = {cvode_create, cvode_begin,         CVode,    CVodeGetRootInfo,
                              CVodeReInit,  CVodeGetNumRhsEvals, CVodeFree};

void *sundials_open(const program *program, bed *b)
{
    sundials *of = calloc(1, sizeof *of);
    *of = (sundials){.by = strcmp(program->name, "CVODE") ? &arkode : &cvode,
                     .b = b,
                     .label = calloc((size_t)b->springs, sizeof(double)),
                     .h = calloc((size_t)b->springs, sizeof(double)),
                     .found = calloc((size_t)b->springs, sizeof(int)),
                     .frozen = program->family == ROOTS};
    SUNContext_Create(NULL, &of->context);
    of->y = N_VNew_Serial(6, of->context);
    N_VConst(0, of->y);
    of->by->create(of, program);
    return of;
}

// To a time, across roots.
static bool sundials_reach(sundials *of, double until, double *t)
{
    int flag;
    while ((flag = of->by->evolve(of->memory, until, of->y, t, ARK_NORMAL)) == ARK_ROOT_RETURN) {
        of->by->roots(of->memory, of->found);
        for (int k = 0; k < of->b->springs; k++) {
            of->label[k] = of->found[k] ? of->found[k] > 0 : of->label[k];
        }
        of->by->restart(of->memory, *t, of->y);
    }
    return flag >= 0;
}

double sundials_run(const program *program, void *data, const start *at, trajectory *out)
{
    sundials *of = data;
    double *x = N_VGetArrayPointer(of->y), t = 0;
    memcpy(x, (double[6]){0, at->z, at->angle}, 6 * sizeof *x);
    memset(of->label, 0, (size_t)of->b->springs * sizeof *of->label);
    double start_us = bench_cpu_us();
    of->by->begin(of);
    for (int i = 1, last = out ? POINTS - 1 : 1; i <= last; i++) {
        if (!sundials_reach(of, 2.0 * i / last, &t)) {
            fprintf(stderr, "bench ess: %s fails at %g s\n", program->name, t);
            return NAN;
        }
        if (out) {
            out->z[i] = x[1];
        }
        if (out && i % 250 == 0) {
            memcpy(out->state[i / 250 - 1], x, sizeof out->state[0]);
        }
    }
    double us = bench_cpu_us() - start_us;
    if (out) {
        out->z[0] = at->z;
        of->by->values(of->memory, &out->values);
    }
    return us;
}

void sundials_close(void *data)
{
    sundials *of = data;
    of->by->destroy(&of->memory);
    if (of->solver) {
        SUNNonlinSolFree(of->solver);
    }
    N_VDestroy(of->y);
    SUNContext_Free(&of->context);
    free(of->label);
    free(of->h);
    free(of->found);
    free(of);
}
#endif

// ---- MuJoCo

#ifdef BENCH_MUJOCO
typedef struct mujoco {
    mjModel *model;
    mjData *data;
} mujoco;

mjModel *mujoco_model(const char *xml)
{
    char name[] = "/tmp/bench_ess.XXXXXX.xml", error[500] = "cannot write a file in /tmp";
    int file = mkstemps(name, 4);
    mjModel *model = NULL;
    if (file >= 0 && write(file, xml, strlen(xml)) == (ssize_t)strlen(xml)) {
        model = mj_loadXML(name, NULL, error, sizeof error);
    }
    if (file >= 0) {
        close(file);
        remove(name);
    }
    if (!model) {
        fprintf(stderr, "bench ess: MuJoCo: %s\n", error);
        exit(EXIT_FAILURE);
    }
    return model;
}

// A plate that may move in x and z and turn about y; springs fixed in the world as large spheres
// whose contacts are springs, or as tips on slides. Contacts are given in pairs, so that no time
// goes into looking for them.
void *mujoco_open(const program *program, bed *b)
{
    bool tips = program->family == TIPS;
    size_t room = 4096 + 1024 * (size_t)b->springs;
    char *xml = malloc(room);
    size_t used = 0;
#define ADD(...) used += (size_t)snprintf(xml + used, room - used, __VA_ARGS__)
    double thick = 1, ball = tips ? 0.02 : 0.4;
    ADD("<mujoco><option timestep='0.002' gravity='0 0 -9.81' "
        "collision='predefined' solver='%s'/>"
        "<size nconmax='%d' njmax='%d'/><worldbody>"
        "<body name='plate' pos='0 0 0'><joint type='slide' axis='1 0 0'/>"
        "<joint type='slide' axis='0 0 1'/><joint type='hinge' axis='0 -1 0'/>"
        "<inertial pos='0 0 0' mass='10' diaginertia='30 30 30'/>"
        "<geom name='plate' type='box' size='3 1 %g' pos='0 0 %g'/></body>",
        program->solver, 2 * b->springs + 10, 8 * b->springs + 100, thick / 2, thick / 2);
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
    mujoco *of = calloc(1, sizeof *of);
    of->model = mujoco_model(xml);
    free(xml);
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

double mujoco_run(const program *program, void *data, const start *at, trajectory *out)
{
    (void)program;
    mujoco *of = data;
    mj_resetData(of->model, of->data);
    of->data->qpos[1] = at->z;
    of->data->qpos[2] = at->angle;
    mj_forward(of->model, of->data);
    double start_us = bench_cpu_us();
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
    double us = bench_cpu_us() - start_us;
    if (out) {
        out->z[POINTS - 1] = of->data->qpos[1];
    }
    return us;
}

void mujoco_close(void *data)
{
    mujoco *of = data;
    mj_deleteData(of->data);
    mj_deleteModel(of->model);
    free(of);
}
#endif
