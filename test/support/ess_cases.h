// Runs of the event-selected integrator on the problems of problems_ess.h.
#ifndef TEST_ESS_CASES_H
#define TEST_ESS_CASES_H

#include <check.h>

#include "problems_ess.h"
#include "suite.h"

static sprag_scratch scratch;

static sprag_ess_stats stats;
static char message[200];

static inline sprag_result integrate(const sprag_ess_problem *p, const sprag_ess_options *o,
                                     double start, double end, double *x, double *label,
                                     sprag_ess_output *out)
{
    *message = '\0';
    sprag_result result = sprag_ess_integrate(p, o, start, end, x, label, out, &scratch, &stats,
                                              message, sizeof message);
    sprag_scratch_reset(&scratch);
    for (int i = 0; result != SPRAG_BAD_PROBLEM && i < p->states; i++) {
        ck_assert_msg(isfinite(x[i]), "x[%d] is %g", i, x[i]);
    }
    return result;
}

#define OK(call)                                                                                   \
    do {                                                                                           \
        sprag_result result_ = (call);                                                             \
        ck_assert_msg(result_ == SPRAG_OK, "%s, %s: %s", sprag_result_name(result_),               \
                      sprag_ess_stop_name(stats.stop), message);                                   \
    } while (0)

static inline void ask_for_labels(double *label, int guards)
{
    for (int k = 0; k < guards; k++) {
        label[k] = NAN;
    }
}

static inline double largest_difference(const double *a, const double *b, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++) {
        most = fmax(most, fabs(a[i] - b[i]));
    }
    return most;
}

static const sprag_ess_mode modes[] = {SPRAG_ESS_FIRST, SPRAG_ESS_MIDPOINT, SPRAG_ESS_LOCATE};
enum { MODES = sizeof modes / sizeof *modes };

// ---- exact answers

static inline double slope(const double *x, const double *y, int n)
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

typedef struct hopper_error {
    double z, speed;
} hopper_error;

static inline hopper_error run_hopper(const char *name, hopper *leg, const sprag_ess_options *o)
{
    table t = table_read(name);
    ck_assert_int_eq(t.rows, 1001);
    double time[1001], state[1001][2], x[2] = {2, 0}, label[2] = {NAN, NAN};
    for (int i = 0; i < t.rows; i++) {
        time[i] = t.row[i][0];
    }
    sprag_ess_problem p = hopper_problem(leg);
    sprag_ess_output out = {.time = time, .times = t.rows, .state = state[0]};
    OK(integrate(&p, o, 0, 2, x, label, &out));
    hopper_error e = {0};
    for (int i = 0; i < t.rows; i++) {
        e.z += pow(state[i][0] - t.row[i][1], 2) / t.rows;
        e.speed += pow(state[i][1] - t.row[i][2], 2) / t.rows;
    }
    table_free(&t);
    return (hopper_error){sqrt(e.z), sqrt(e.speed)};
}

// ---- the B-derivative

static inline void flow(const sprag_ess_problem *p, const double *start, double end, double *x)
{
    double label[3];
    sprag_ess_options o = sprag_ess_defaults(1e-3);
    o.mode = SPRAG_ESS_LOCATE;
    memcpy(x, start, 3 * sizeof *x);
    ask_for_labels(label, 3);
    OK(integrate(p, &o, 0, end, x, label, NULL));
}

static inline void jacobian(const sprag_ess_problem *p, const sprag_ess_options *o, double end,
                            double *x, double *J)
{
    double label[3];
    int n = p->states;
    memset(J, 0, (size_t)(n * n) * sizeof *J);
    for (int i = 0; i < n; i++) {
        J[i * n + i] = 1;
    }
    ask_for_labels(label, p->guards);
    sprag_ess_output out = {.directions = n, .direction = J};
    OK(integrate(p, o, 0, end, x, label, &out));
    ck_assert_int_eq(stats.corners, 0);
}

// direction i is column i of the table.
static inline double jacobian_error(const char *name, const double *J, int n)
{
    table t = table_read(name);
    double worst = 0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            worst = fmax(worst, fabs(J[j * n + i] - t.row[i][j]));
        }
    }
    table_free(&t);
    return worst;
}

// ---- situations, one by one (what is measured of a plain loop is in the paper's listing 1)

static const hopper stiff_leg = {1000, 0};

// On its spring, at rest or hardly moving: no projection leads from there to the guard.
static inline void oscillate(double eps, double amplitude, double speed, double end,
                             sprag_ess_mode mode)
{
    hopper leg = stiff_leg;
    sprag_ess_problem p = hopper_problem(&leg);
    double w = sqrt(1000), middle = 1 - 9.81 / 1000, x[2] = {middle + amplitude, speed};
    double label[2] = {1, 0};
    sprag_ess_options o = sprag_ess_defaults(0.002);
    o.mode = mode;
    o.eps = eps;
    o.trust_eps = true;
    OK(integrate(&p, &o, 0, end, x, label, NULL));
    ck_assert_double_eq_tol(x[0], middle + amplitude * cos(w * end) + speed / w * sin(w * end),
                            1e-7);
    ck_assert_int_eq(stats.events, 0);
    ck_assert_int_eq(stats.projected, 0);
}

static inline void line_guard(void *user, const double *x, const int *which, int count, double *h)
{
    (void)user;
    (void)which;
    for (int i = 0; i < count; i++) {
        h[i] = x[0];
    }
}

static inline size_t rk4_room(int size)
{
    return 6 * (size_t)size + 1;
}

#endif
