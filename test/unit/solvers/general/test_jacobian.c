// The matrix that Newton's method factorises, in both spaces, against the derivative of the
// residual as the paper writes it (arXiv 1909.05700, eq. 9, 10, 13, 17), taken by automatic
// differentiation: forwards, with as many directions as velocities. Every kind of slip (none, in
// the stiction circle, next to its rim on both sides, far outside) meets every kind of normal force
// (on, off by distance, off by speed).
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "general_system.h"
#include "problems_general.h"
#include "suite.h"

enum { NV = 12, SLIPS = 5, NORMALS = 3, NC = SLIPS * NORMALS };

static const double vs = 1e-4;
static sprag_scratch scratch;

// ---- numbers with derivatives

typedef struct dual {
    double x, d[NV];
} dual;

static dual combine(double a, dual p, double b, dual q) // a p + b q
{
    dual r = {.x = a * p.x + b * q.x};
    for (int i = 0; i < NV; i++) {
        r.d[i] = a * p.d[i] + b * q.d[i];
    }
    return r;
}

static dual constant(double x)
{
    return (dual){.x = x};
}

static dual product(dual p, dual q)
{
    dual r = combine(q.x, p, p.x, q);
    r.x = p.x * q.x;
    return r;
}

static dual root(dual p)
{
    double x = sqrt(p.x);
    dual r = combine(0.5 / x, p, 0, p);
    r.x = x;
    return r;
}

static dual quotient(dual p, dual q)
{
    dual r = combine(1 / q.x, p, -p.x / (q.x * q.x), q);
    r.x = p.x / q.x;
    return r;
}

static dual positive(dual p)
{
    return p.x > 0 ? p : constant(0);
}

// ---- the residual

static dual dot_row(const double *row, const dual *v)
{
    dual sum = constant(0);
    for (int i = 0; i < NV; i++) {
        sum = combine(1, sum, row[i], v[i]);
    }
    return sum;
}

static dual normal_force(const sprag_general_problem *p, int c, dual vn)
{
    if (p->normal_force) {
        return constant(p->normal_force[c]);
    }
    dual damping = positive(combine(1, constant(1), -p->dissipation[c], vn));
    dual x = positive(combine(1, constant(p->penetration[c]), -p->step, vn));
    return product(combine(p->stiffness[c], damping, 0, damping), x);
}

// m(s) / rho
static dual friction_ratio(double mu, double r, const dual vt[2])
{
    dual square = combine(1, product(vt[0], vt[0]), 1, product(vt[1], vt[1]));
    dual rho = root(combine(1, square, 1, constant(r * r * vs * vs)));
    dual s = combine(1 / vs, rho, 0, rho);
    dual m = s.x < 1 ? product(s, combine(2, constant(1), -1, s)) : constant(1);
    return quotient(combine(mu, m, 0, m), rho);
}

static void residual(const sprag_general_problem *p, double r, const double *at, dual *R)
{
    dual v[NV];
    for (int i = 0; i < NV; i++) {
        v[i] = constant(at[i]);
        v[i].d[i] = 1;
    }
    for (int i = 0; i < NV; i++) {
        R[i] = combine(1, dot_row(p->mass + i * NV, v), -p->momentum[i], constant(1));
    }
    for (int c = 0; c < p->contacts; c++) {
        const double *n = p->normal_jacobian + c * NV, *t = p->tangent_jacobian + 2 * c * NV;
        dual fn = normal_force(p, c, dot_row(n, v)), vt[2] = {dot_row(t, v), dot_row(t + NV, v)};
        dual ratio = product(friction_ratio(p->friction[c], r, vt), fn);
        for (int i = 0; i < NV; i++) {
            R[i] = combine(1, R[i], -p->step * n[i], fn);
            for (int k = 0; k < 2; k++) {
                R[i] = combine(1, R[i], p->step * t[k * NV + i], product(ratio, vt[k]));
            }
        }
    }
}

// ---- problems

static double speed_along(const double *row, const double *v)
{
    double sum = 0;
    for (int i = 0; i < NV; i++) {
        sum += row[i] * v[i];
    }
    return sum;
}

// row v = 0, without an entry where there was none
static void take_out(double *row, const double *v)
{
    double along = speed_along(row, v), square = 0;
    for (int i = 0; i < NV; i++) {
        square += row[i] != 0 ? v[i] * v[i] : 0;
    }
    for (int i = 0; i < NV; i++) {
        row[i] -= row[i] != 0 ? along / square * v[i] : 0;
    }
}

static void scale_row(double *row, double by)
{
    for (int i = 0; i < NV; i++) {
        row[i] *= by;
    }
}

// Makes slip number `slip` and normal force number `normal` of contact c at velocity v.
static void set_regime(made *m, int c, int slip, int normal, const double *v)
{
    static const double slips[SLIPS] = {0, 0.3, 0.98, 1.02, 300}; // of vs
    double *n = m->normal + c * NV, *t = m->tangent + 2 * c * NV;
    if (slips[slip] == 0) {
        take_out(t, v);
        take_out(t + NV, v);
    } else {
        double by = slips[slip] * vs / hypot(speed_along(t, v), speed_along(t + NV, v));
        scale_row(t, by);
        scale_row(t + NV, by);
    }
    double vn = speed_along(n, v);
    if (vn < 0) {
        scale_row(n, -1);
        vn = -vn;
    }
    m->friction[c] = 0.5 + 0.1 * slip;
    m->force[c] = 3 + c;
    m->stiffness[c] = 1e5;
    m->dissipation[c] = (normal == 2 ? 2 : 0.5) / vn;
    m->depth[c] = m->problem.step * vn + (normal == 1 ? -1e-4 : 1e-4);
}

static made draw_regimes(family family, bool one_way, uint64_t *random)
{
    made m = draw_problem(family, NV, NC, 1e-3, one_way, false, random);
    for (int i = 0; i < NV; i++) {
        m.guess[i] = draw_between(random, 0.2, 1) * (draw(random) < 0.5 ? -1 : 1);
    }
    for (int c = 0; c < NC; c++) {
        set_regime(&m, c, c % SLIPS, c / SLIPS, m.guess);
    }
    return m;
}

// ---- the test

// Column by column: what is factorised, applied backwards to the derivative, is the identity.
static void assert_is_derivative(const made *m, bool bodies)
{
    const sprag_general_problem *p = &m->problem;
    sprag_general_options options = sprag_general_defaults();
    sprag_chart chart;
    sprag_system system;
    ck_assert(sprag_chart_choose(p, &chart, &scratch));
    ck_assert_int_eq(chart.nodes, bodies ? NV / 6 : 0);
    ck_assert_int_eq(sprag_general_prepare(p, &options, &chart, m->guess, &system, &scratch),
                     SPRAG_OK);
    double bound[NC], *frozen = p->normal_force ? bound : NULL;
    for (int c = 0; c < p->contacts; c++) {
        bound[c] = p->step * m->force[c];
    }
    dual R[NV];
    residual(p, options.relative_tolerance, m->guess, R);
    sprag_system_place(&system, system.start);
    sprag_system_residual(&system, system.start, vs, frozen);
    ck_assert_int_eq(sprag_system_factor(&system, vs, frozen, frozen != NULL), SPRAG_OK);
    for (int i = 0; i < NV; i++) {
        ck_assert_double_eq_tol(system.residual[chart.place[i]], R[i].x, 1e-11);
    }
    for (int k = 0; k < NV; k++) {
        double x[NV];
        for (int i = 0; i < NV; i++) {
            x[chart.place[i]] = R[i].d[k];
        }
        system.space->solve(&system, frozen != NULL, x);
        for (int i = 0; i < NV; i++) {
            ck_assert_double_eq_tol(x[chart.place[i]], i == k ? 1.0 : 0.0, 1e-10);
        }
    }
    sprag_scratch_reset(&scratch);
}

START_TEST(matrix_is_the_derivative_of_the_residual)
{
    bool bodies = _i % 2, one_way = _i / 2;
    uint64_t random = 3;
    for (int round = 0; round < 20; round++) {
        made m = draw_regimes(bodies ? BODIES : DENSE, one_way, &random);
        assert_is_derivative(&m, bodies);
        made_free(&m);
    }
}
END_TEST

// Nothing moves: no slip has a direction.
START_TEST(matrix_is_the_derivative_at_rest)
{
    bool bodies = _i % 2, one_way = _i / 2;
    uint64_t random = 4;
    made m = draw_regimes(bodies ? BODIES : DENSE, one_way, &random);
    for (int i = 0; i < NV; i++) {
        m.guess[i] = 0;
    }
    assert_is_derivative(&m, bodies);
    made_free(&m);
}
END_TEST

// The regimes are what they are called: laws of both spaces at the drawn velocities.
START_TEST(regimes_are_as_drawn)
{
    uint64_t random = 3;
    made m = draw_regimes(DENSE, false, &random);
    for (int c = 0; c < NC; c++) {
        const double *t = m.tangent + 2 * c * NV;
        double slip = hypot(speed_along(t, m.guess), speed_along(t + NV, m.guess)) / vs;
        double vn = speed_along(m.normal + c * NV, m.guess);
        double x = m.depth[c] - m.problem.step * vn, damping = 1 - m.dissipation[c] * vn;
        static const double low[SLIPS] = {0, 0.2, 0.9, 1.01, 100},
                            high[SLIPS] = {1e-10, 0.4, 0.99, 1.1, 1000};
        ck_assert_double_ge(slip, low[c % SLIPS]);
        ck_assert_double_le(slip, high[c % SLIPS]);
        ck_assert_int_eq(x > 0, c / SLIPS != 1);
        ck_assert_int_eq(damping > 0, c / SLIPS != 2);
    }
    made_free(&m);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("jacobian");
    ADD_TESTS(suite, "derivative", {matrix_is_the_derivative_of_the_residual, 4},
              {matrix_is_the_derivative_at_rest, 4}, {regimes_are_as_drawn, 1});
    int code = run_suite(suite);
    sprag_scratch_free(&scratch);
    return code;
}
