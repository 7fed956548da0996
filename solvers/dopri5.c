// Dormand and Prince's explicit Runge-Kutta method of order 5(4), with its dense output of order 4
// (Hairer, Norsett, Wanner: Solving Ordinary Differential Equations I, 2nd ed., table II.5.2 and
// section II.6). The last stage is the first of the next step.
#include "solvers/smooth.h"

enum { STAGES = 7, DENSE = 5 };

// y1 = y + step sum_j a[i][j] k_j is where stage i + 1 is taken; the last row is the solution.
static const double a[STAGES - 1][STAGES - 1] = {
    {1.0 / 5},
    {3.0 / 40, 9.0 / 40},
    {44.0 / 45, -56.0 / 15, 32.0 / 9},
    {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
    {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
    {35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84},
};

// Solution of order 5 minus the one of order 4.
static const double e[STAGES] = {71.0 / 57600,      0,          -71.0 / 16695, 71.0 / 1920,
                                 -17253.0 / 339200, 22.0 / 525, -1.0 / 40};

static const double d[STAGES] = {-12715105075.0 / 11282082432,  0,
                                 87487479700.0 / 32700410799,   -10690763975.0 / 1880347072,
                                 701980252875.0 / 199316789632, -1453857185.0 / 822651844,
                                 69997945.0 / 29380423};

static size_t room(int size)
{
    return (size_t)(STAGES + DENSE) * (size_t)size;
}

// y1 = y + step sum_j weight_j k_j, for a number of stages that the compiler knows.
static inline void go(int n, int stages, const double *weight, const double *restrict k,
                      const double *restrict y, double step, double *restrict y1)
{
    for (int c = 0; c < n; c++) {
        double sum = 0;
        for (int j = 0; j < stages; j++) {
            sum += weight[j] * k[j * n + c];
        }
        y1[c] = y[c] + step * sum;
    }
}

static sprag_result take_step(const sprag_field *field, double *memory, double step,
                              const double *y, const double *f, double *y1, double *f1,
                              double *error)
{
    int n = field->size;
    double *k[STAGES], *dense = memory + (size_t)STAGES * (size_t)n;
    for (int i = 0; i < STAGES; i++) {
        k[i] = memory + (size_t)i * (size_t)n;
    }
    for (int c = 0; c < n; c++) {
        k[0][c] = f[c];
    }
#pragma GCC unroll 6
    for (int i = 0; i < STAGES - 1; i++) {
        go(n, i + 1, a[i], memory, y, step, y1);
        field->value(field->data, y1, k[i + 1]);
    }
    for (int c = 0; c < n; c++) {
        double wrong = 0, bend = 0;
        for (int j = 0; j < STAGES; j++) {
            wrong += e[j] * k[j][c];
            bend += d[j] * k[j][c];
        }
        f1[c] = k[STAGES - 1][c];
        error[c] = step * wrong;
        double *r = dense + (size_t)DENSE * (size_t)c;
        r[0] = y[c];
        r[1] = y1[c] - y[c];
        r[2] = step * f[c] - r[1];
        r[3] = r[1] - step * f1[c] - r[2];
        r[4] = step * bend;
    }
    return SPRAG_OK;
}

static void between(const double *memory, int size, double part, double *y)
{
    const double *dense = memory + (size_t)STAGES * (size_t)size;
    for (int c = 0; c < size; c++) {
        const double *r = dense + (size_t)DENSE * (size_t)c;
        double rest = 1 - part;
        y[c] = r[0] + part * (r[1] + rest * (r[2] + part * (r[3] + rest * r[4])));
    }
}

const sprag_smooth sprag_dopri5 = {
    .name = "dopri5", .order = 5, .room = room, .step = take_step, .between = between};
