// Explicit Runge-Kutta methods of order 5(4) with seven stages, of which the last is the first of
// the next step, and dense output of order 4: Dormand and Prince's (Hairer, Norsett, Wanner:
// Solving Ordinary Differential Equations I, 2nd ed., table II.5.2 and section II.6) and Tsitouras'
// (Computers and Mathematics with Applications 62, 2011).
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "smooth.h"
#include "vectors.h"

enum { STAGES = 7, DENSE = 5 };

typedef struct tableau {
    double a[STAGES - 1][STAGES - 1]; // stage i + 1 is evaluated at y + step sum_j a[i][j] k_j; the
                                      // last row is the solution
    double e[STAGES];                 // solution of order 5 minus the one of order 4
    double d[STAGES];                 // of the dense output, factors of s^4
} tableau;

static const tableau dormand_prince = {
    {
        {1.0 / 5},
        {3.0 / 40, 9.0 / 40},
        {44.0 / 45, -56.0 / 15, 32.0 / 9},
        {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
        {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
        {35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84},
    },
    {71.0 / 57600, 0, -71.0 / 16695, 71.0 / 1920, -17253.0 / 339200, 22.0 / 525, -1.0 / 40},
    {-12715105075.0 / 11282082432, 0, 87487479700.0 / 32700410799, -10690763975.0 / 1880347072,
     701980252875.0 / 199316789632, -1453857185.0 / 822651844, 69997945.0 / 29380423},
};

static const tableau tsitouras = {
    {
        {0.161},
        {-0.008480655492356992, 0.335480655492357},
        {2.8971530571054944, -6.359448489975075, 4.362295432869581},
        {5.32586482843926, -11.74888356406283, 7.495539342889836, -0.09249506636175525},
        {5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401,
         -0.02826905039406838},
        {0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081,
         2.324710524099774},
    },
    {-0.001780011052226, -0.000816434459657, 0.007880878010262, -0.144711007173263,
     0.582357165452555, -0.458082105929187, 1.0 / 66},
    {-1.0530884977290216, 0.1017, 2.490627285651253, -16.548102889244905, 47.37952196281928,
     -34.87065786149661, 2.5},
};

static size_t room(int size)
{
    return (size_t)(STAGES + DENSE) * (size_t)size;
}

// y1 = y + step sum_j weight_j k_j. The compiler knows the number of stages and unrolls the loop.
static inline void combine(int n, int stages, const double *weight, const double *restrict k,
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

// The error, and the coefficients r_j of the dense output
//
//     y = r0 + s (r1 + (1 - s) (r2 + s (r3 + (1 - s) r4)))
static inline void set_dense_output(const tableau *t, int n, const double *restrict k, double step,
                                    const double *restrict y, const double *restrict y1,
                                    double *restrict dense, double *restrict error)
{
    const double *f = k, *f1 = k + (STAGES - 1) * (size_t)n;
    for (int c = 0; c < n; c++) {
        double wrong = 0, bend = 0;
        for (int j = 0; j < STAGES; j++) {
            wrong += t->e[j] * k[j * n + c];
            bend += t->d[j] * k[j * n + c];
        }
        error[c] = step * wrong;
        double change = y1[c] - y[c], left = step * f[c] - change;
        dense[c] = y[c];
        dense[n + c] = change;
        dense[2 * n + c] = left;
        dense[3 * n + c] = change - step * f1[c] - left;
        dense[4 * n + c] = step * bend;
    }
}

static inline bool is_finite(int n, const double *restrict k)
{
    int bad = 0;
    for (int c = 0; c < n; c++) {
        bad |= !(fabs(k[c]) <= DBL_MAX);
    }
    return !bad;
}

// Ends at a stage that is not finite: f is never asked for where x is not.
static inline sprag_result take_step(const tableau *t, const sprag_field *field, double *memory,
                                     double step, const double *y, const double *f, double *y1,
                                     double *f1, double *error)
{
    int n = field->size;
    double *k = memory;
    memcpy(k, f, (size_t)n * sizeof *k);
#pragma GCC unroll 6
    for (int i = 0; i < STAGES - 1; i++) {
        combine(n, i + 1, t->a[i], k, y, step, y1);
        field->value(field->data, y1, k + (i + 1) * n);
        if (!is_finite(n, k + (i + 1) * n)) {
            y1[0] = NAN;
            return SPRAG_OK;
        }
    }
    set_dense_output(t, n, k, step, y, y1, memory + STAGES * n, error);
    memcpy(f1, k + (STAGES - 1) * n, (size_t)n * sizeof *k);
    return SPRAG_OK;
}

SPRAG_VECTORS static sprag_result step_dormand_prince(const sprag_field *field, double *memory,
                                                      double step, const double *y, const double *f,
                                                      double *y1, double *f1, double *error)
{
    return take_step(&dormand_prince, field, memory, step, y, f, y1, f1, error);
}

SPRAG_VECTORS static sprag_result step_tsitouras(const sprag_field *field, double *memory,
                                                 double step, const double *y, const double *f,
                                                 double *y1, double *f1, double *error)
{
    return take_step(&tsitouras, field, memory, step, y, f, y1, f1, error);
}

static void between(const double *restrict memory, int n, double part, int first, int end,
                    double *restrict y)
{
    const double *r = memory + STAGES * n;
    double rest = 1 - part;
    for (int c = first; c < end; c++) {
        y[c] = r[c] + part * (r[n + c] +
                              rest * (r[2 * n + c] + part * (r[3 * n + c] + rest * r[4 * n + c])));
    }
}

// The last two stages are at the end of the step (Hairer, Wanner: Solving Ordinary Differential
// Equations II, section IV.2).
static void apart(const tableau *t, const double *restrict k, int n, double step,
                  double *restrict y, double *restrict f)
{
    const double *before = t->a[STAGES - 3], *last = t->a[STAGES - 2];
    for (int c = 0; c < n; c++) {
        double sum = 0;
        for (int j = 0; j < STAGES - 1; j++) {
            sum += (last[j] - before[j]) * k[j * n + c];
        }
        y[c] = step * sum;
        f[c] = k[(STAGES - 1) * n + c] - k[(STAGES - 2) * n + c];
    }
}

static void apart_dormand_prince(const double *room, int n, double step, double *y, double *f)
{
    apart(&dormand_prince, room, n, step, y, f);
}

static void apart_tsitouras(const double *room, int n, double step, double *y, double *f)
{
    apart(&tsitouras, room, n, step, y, f);
}

// Stable up to 3.3 and 3.5, where a fast motion stays as it is. Larger: it ends slowly. Smaller:
// more steps; with 3, callers whose rates are 3 over their longest step would take two.
const sprag_smooth sprag_dopri5 = {
    "dopri5", 5, room, step_dormand_prince, between, apart_dormand_prince, 3.2};
const sprag_smooth sprag_tsit5 = {"tsit5", 5, room, step_tsitouras, between, apart_tsitouras, 3.1};
