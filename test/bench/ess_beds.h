// The programs that `bench ess` compares on a plate that falls onto a bed of springs: ours,
// SUNDIALS, MuJoCo.
#ifndef ESS_BEDS_H
#define ESS_BEDS_H

#include "bench.h"
#include "problems_ess.h"

enum { POINTS = 1001, TRIALS = 20 };

typedef struct start { // of a plate
    double z, angle;
} start;

// z at POINTS times from 0 to 2 s; four states at 0.5, 1, 1.5, 2 s where there is room for them.
typedef struct trajectory {
    double z[POINTS];
    double state[4][6];
    long values; // of f
} trajectory;

typedef enum family {
    OURS,
    OURS_WIDE,
    ALONE, // nothing but callbacks
    ALONE_WIDE,
    ROOTS, // others that look for events
    IGNORE,
    COMPLIANT,
    TIPS
} family;

typedef struct program program;
struct program {
    const char *name, *how;
    family family;
    void *(*open)(const program *program, bed *b);
    double (*run)(const program *program, void *of, const start *at, trajectory *out); // us
    void (*close)(void *of);
    sprag_ess_mode mode;
    bool adaptive, jump, trust; // trust: of the bands
    double tolerance, eps;
    const char *solver;
};

// What programs have in common, by the prefix of their functions.
#define ESS_WAYS(ways)                                                                             \
    void *ways##_open(const program *program, bed *b);                                             \
    double ways##_run(const program *program, void *of, const start *at, trajectory *out);         \
    void ways##_close(void *of);

ESS_WAYS(ours)
double alone_run(const program *program, void *of, const start *at, trajectory *out);
#ifdef BENCH_SUNDIALS
ESS_WAYS(sundials)
#endif
#ifdef BENCH_MUJOCO
ESS_WAYS(mujoco)
struct mjModel_ *mujoco_model(const char *xml); // or ends the program
#endif

#define BY(ways, ...) .open = ways##_open, .run = ways##_run, .close = ways##_close, __VA_ARGS__

void ess_check(sprag_result result, const char *message); // ends the program unless it is SPRAG_OK
void ess_beds_free(void);

// ---- ess_figures.c

typedef struct ess_error {
    double rms, final;
} ess_error;

// Of the system of table 1 at eps, against its exact trajectory: root of mean square over times and
// states; norm at the end.
ess_error ess_order_error(sprag_ess_mode mode, double eps);

double ess_slope(const double *x, const double *y, int n); // by least squares

#endif
