#include "dense.h"

#include <string.h>

// Debian's OpenBLAS has the Fortran names only.
extern void dgemm_(const char *, const char *, const int *, const int *, const int *,
                   const double *, const double *, const int *, const double *, const int *,
                   const double *, double *, const int *);
extern void dgemv_(const char *, const int *, const int *, const double *, const double *,
                   const int *, const double *, const int *, const double *, double *, const int *);
extern void dpotrf_(const char *, const int *, double *, const int *, int *);
extern void dpotrs_(const char *, const int *, const int *, const double *, const int *, double *,
                    const int *, int *);
extern void dgetrf_(const int *, const int *, double *, const int *, int *, int *);
extern void dgetrs_(const char *, const int *, const int *, const double *, const int *,
                    const int *, double *, const int *, int *);

static const double one = 1, zero = 0;
static const int single = 1;

static void momentum(const sprag_system *system, const double *v, double *p)
{
    const sprag_dense *dense = system->chart;
    int n = system->size;
    // by rows or by columns, it is symmetric
    dgemv_("N", &n, &n, &one, dense->mass, &dense->lead, v, &single, &zero, p, &single);
}

static void velocities(const sprag_system *system, const double *v, double (*slip)[6], double *rate)
{
    (void)rate; // there are no equations
    const sprag_dense *dense = system->chart;
    int n = system->size;
    for (int p = 0; p < system->points; p++) {
        for (int k = 0; k < 3; k++) {
            const double *row = dense->jacobian + (size_t)(3 * p + k) * (size_t)n;
            for (int i = 0; i < n; i++) {
                slip[p][k] += row[i] * v[i];
            }
        }
    }
}

static void gather(const sprag_system *system, double *sum)
{
    const sprag_dense *dense = system->chart;
    int n = system->size;
    memset(sum, 0, (size_t)n * sizeof *sum);
    for (int p = 0; p < system->points; p++) {
        for (int k = 0; k < 3; k++) {
            const double *row = dense->jacobian + (size_t)(3 * p + k) * (size_t)n;
            for (int i = 0; i < n; i++) {
                sum[i] += system->impulse[p][k] * row[i];
            }
        }
    }
}

static sprag_result begin(sprag_system *system, bool symmetric)
{
    (void)symmetric;
    sprag_dense *dense = system->chart;
    size_t n = (size_t)system->size;
    if (n > 0) { // an empty problem has no arrays
        memcpy(dense->matrix, dense->mass, n * n * sizeof *dense->matrix);
        memset(dense->weighed, 0, 3 * (size_t)system->points * n * sizeof *dense->weighed);
    }
    return SPRAG_OK;
}

static void add_point(sprag_system *system, int p, const double G[6][6], bool symmetric)
{
    (void)symmetric;
    sprag_dense *dense = system->chart;
    size_t n = (size_t)system->size;
    const double *J = dense->jacobian + 3 * (size_t)p * n;
    double *GJ = dense->weighed + 3 * (size_t)p * n;
    for (size_t a = 0; a < 3; a++) {
        for (size_t b = 0; b < 3; b++) {
            for (size_t i = 0; G[a][b] != 0 && i < n; i++) {
                GJ[a * n + i] += G[a][b] * J[b * n + i];
            }
        }
    }
}

static void add_equations(sprag_system *system, int first, int count, const double *slope,
                          bool symmetric)
{
    (void)system, (void)first, (void)count, (void)slope, (void)symmetric; // there are none
}

static sprag_result factor_matrix(sprag_dense *dense, int n, bool symmetric)
{
    int info = 0;
    if (symmetric) {
        dpotrf_("L", &n, dense->matrix, &dense->lead, &info);
    } else {
        dgetrf_(&n, &n, dense->matrix, &dense->lead, dense->pivot, &info);
    }
    return info == 0 ? SPRAG_OK : SPRAG_SINGULAR;
}

static sprag_result factor(sprag_system *system, bool symmetric)
{
    sprag_dense *dense = system->chart;
    int n = system->size, rows = 3 * system->points;
    // matrix += J' (G J)
    dgemm_("N", "T", &n, &n, &rows, &one, dense->jacobian, &dense->lead, dense->weighed,
           &dense->lead, &one, dense->matrix, &dense->lead);
    return factor_matrix(dense, n, symmetric);
}

static void solve(sprag_system *system, bool symmetric, double *x)
{
    sprag_dense *dense = system->chart;
    int n = system->size, info;
    if (symmetric) {
        dpotrs_("L", &n, &single, dense->matrix, &dense->lead, x, &dense->lead, &info);
    } else {
        dgetrs_("N", &n, &single, dense->matrix, &dense->lead, dense->pivot, x, &dense->lead,
                &info);
    }
}

static double orientation(const sprag_system *system)
{
    const sprag_dense *dense = system->chart;
    bool negative = false;
    for (int i = 0; i < system->size; i++) {
        negative ^= dense->matrix[(size_t)i * (size_t)(system->size + 1)] < 0;
        negative ^= dense->pivot[i] != i + 1; // LAPACK counts from 1
    }
    return negative ? -1 : 1;
}

static const sprag_space coordinates = {.momentum = momentum,
                                        .velocities = velocities,
                                        .gather = gather,
                                        .begin = begin,
                                        .add_point = add_point,
                                        .add_equations = add_equations,
                                        .factor = factor,
                                        .solve = solve,
                                        .orientation = orientation};

sprag_result sprag_dense_take(sprag_dense *dense, sprag_system *system, const double *mass,
                              const double *jacobian, sprag_scratch *scratch)
{
    size_t n = (size_t)system->size;
    *dense = (sprag_dense){
        .mass = mass, .jacobian = jacobian, .lead = system->size + (system->size == 0)};
    dense->matrix = SPRAG_TAKE(scratch, n * n, double);
    dense->weighed = SPRAG_TAKE(scratch, 3 * (size_t)system->points * n, double);
    dense->pivot = SPRAG_TAKE(scratch, n, int);
    system->space = &coordinates;
    system->chart = dense;
    return scratch->failed ? SPRAG_NO_MEMORY : SPRAG_OK;
}

sprag_result sprag_dense_divide_by_mass(sprag_system *system, double *x)
{
    size_t n = (size_t)system->size;
    sprag_dense *dense = system->chart;
    memcpy(dense->matrix, dense->mass, n * n * sizeof *dense->matrix);
    sprag_result result = factor_matrix(dense, system->size, true);
    if (result == SPRAG_OK) {
        solve(system, true, x);
    }
    return result;
}
