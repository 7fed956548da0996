// RODAS: a Rosenbrock method of six stages, stiffly accurate, L-stable, of order 4(3), with a dense
// output of order 3 (Hairer, Wanner: Solving Ordinary Differential Equations II, 2nd ed., sections
// IV.7 and IV.10). Stages solve
//
//     (I/(step gamma) - A) u_i = f(y + sum_j a_ij u_j) + sum_j c_ij u_j / step,  A = D f(y)
//
// with one factorisation; the last stage is the error estimate.
#include "rodas.h"

// Debian's OpenBLAS has the Fortran names only.
extern void dgetrf_(const int *, const int *, double *, const int *, int *, int *);
extern void dgetrs_(const char *, const int *, const int *, const double *, const int *,
                    const int *, double *, const int *, int *);

enum { STAGES = 6, DENSE = 4 };

static const double gamma_ = 0.25;

static const double a[STAGES][STAGES] = {
    {0},
    {1.544000000000000},
    {0.9466785280815826, 0.2557011698983284},
    {3.314825187068521, 2.896124015972201, 0.9986419139977817},
    {1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950},
    {1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950, 1},
};

static const double c[STAGES][STAGES] = {
    {0},
    {-5.668800000000000},
    {-2.430093356833875, -0.2063599157091915},
    {-0.1073529058151375, -9.594562251023355, -20.47028614809616},
    {7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160},
    {8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136,
     -6.058818238834054},
};

static const double d[2][STAGES - 1] = {
    {10.12623508344586, -7.487995877610167, -34.80091861555747, -7.992771707568823,
     1.025137723295662},
    {-0.6762803392801253, 6.087714651680015, 16.43084320892478, 24.76722511418386,
     -6.594389125716872},
};

static size_t square(int size)
{
    return (size_t)size * (size_t)size;
}

// Doubles for the matrix, stages, dense output, a point, a column and the pivots.
static size_t room(int size)
{
    return square(size) + (size_t)(STAGES + DENSE + 3) * (size_t)size;
}

static sprag_result factor(const sprag_field *field, double step, const double *y, double *matrix,
                           double *column, int *pivot)
{
    int n = field->size, info = 0;
    for (int j = 0; j < n; j++) {
        double *Ae = matrix + (size_t)j * (size_t)n;
        for (int i = 0; i < n; i++) {
            column[i] = i == j;
        }
        field->tangent(field->data, y, column, Ae);
        for (int i = 0; i < n; i++) {
            Ae[i] = (i == j) / (step * gamma_) - Ae[i];
            if (!(Ae[i] - Ae[i] == 0)) {
                return SPRAG_SINGULAR;
            }
        }
    }
    dgetrf_(&n, &n, matrix, &n, pivot, &info);
    return info ? SPRAG_SINGULAR : SPRAG_OK;
}

static sprag_result take_step(const sprag_field *field, double *memory, double step,
                              const double *y, const double *f, double *y1, double *f1,
                              double *error)
{
    int n = field->size, info = 0;
    static const int single = 1;
    size_t stride = (size_t)n;
    double *matrix = memory, *u = matrix + square(n), *dense = u + STAGES * stride;
    double *point = dense + DENSE * stride, *column = point + stride;
    int *pivot = (int *)(column + stride);
    sprag_result result = factor(field, step, y, matrix, column, pivot);
    for (int s = 0; s < STAGES && result == SPRAG_OK; s++) {
        double *stage = u + (size_t)s * stride;
        if (s > 0) {
            for (int i = 0; i < n; i++) {
                point[i] = y[i];
                for (int j = 0; j < s; j++) {
                    point[i] += a[s][j] * u[(size_t)j * stride + (size_t)i];
                }
            }
            field->value(field->data, point, stage);
        }
        for (int i = 0; i < n; i++) {
            double sum = 0;
            for (int j = 0; j < s; j++) {
                sum += c[s][j] * u[(size_t)j * stride + (size_t)i];
            }
            stage[i] = (s > 0 ? stage[i] : f[i]) + sum / step;
        }
        dgetrs_("N", &n, &single, matrix, &n, pivot, stage, &n, &info);
    }
    if (result != SPRAG_OK) {
        return result;
    }
    for (int i = 0; i < n; i++) {
        error[i] = u[(size_t)(STAGES - 1) * stride + (size_t)i];
        y1[i] = point[i] + error[i];
        double *r = dense + DENSE * (size_t)i;
        r[0] = y[i];
        r[1] = y1[i];
        r[2] = r[3] = 0;
        for (int j = 0; j < STAGES - 1; j++) {
            r[2] += d[0][j] * u[(size_t)j * stride + (size_t)i];
            r[3] += d[1][j] * u[(size_t)j * stride + (size_t)i];
        }
    }
    field->value(field->data, y1, f1);
    return SPRAG_OK;
}

static void between(const double *memory, int size, double part, int first, int end, double *y)
{
    const double *dense = memory + square(size) + (size_t)STAGES * (size_t)size;
    for (int i = first; i < end; i++) {
        const double *r = dense + (size_t)DENSE * (size_t)i;
        double rest = 1 - part;
        y[i] = r[0] * rest + part * (r[1] + rest * (r[2] + part * r[3]));
    }
}

const sprag_smooth sprag_rodas = {
    .name = "rodas", .order = 4, .room = room, .step = take_step, .between = between};
