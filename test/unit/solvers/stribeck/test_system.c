// The system of equations of implicit Stribeck and the search along a direction.
#include <check.h>
#include <stdlib.h>

#include "assemble.h"
#include "frozen_friction.h"
#include "problems.h"
#include "stribeck_cases.h"
#include "suite.h"

// ---- the system underneath

static sprag_system sys;
static int *node_of;
static double v[6 * BODIES_MAX], dv[6 * BODIES_MAX], bounds[CONTACTS_MAX];

#define STICTION 0.05 // m/s: smooth enough for finite differences

// Everything that the laws know: each kind of friction, biases, soft and bounded rows, a kinematic
// body.
static void open_system(uint64_t seed)
{
    chance c = {seed};
    open_scene(&s);
    add_pile(&s, seed, 6, 0.7, 1, true);
    s.body[1].mass = 0;
    for (int i = 0; i < s.problem.contacts; i++) {
        sprag_contact *contact = &s.contact[i];
        sprag_turning *turning = turning_of(&s, contact);
        if (i % 4 == 1) {
            contact->stiffness = uniform(&c, 1e2, 1e4);
            contact->dissipation = uniform(&c, 0, 2);
            contact->gap = -uniform(&c, 0, 0.01);
        }
        switch (i % 6) {
        case 0:
            turning->roll.coefficient[0] = turning->roll.coefficient[1] = 0.1;
            turning->spin.coefficient[0] = 0.05;
            break;
        case 1:
            contact->slide.coefficient[1] *= 0.3;
            contact->slide.velocity[0] = 0.2;
            break;
        case 2:
            contact->slide.slip[0] = contact->slide.slip[1] = uniform(&c, 0, 0.1);
            break;
        case 3:
            contact->slide.force[0] = true;
            contact->slide.coefficient[0] = 5;
            break;
        case 4:
            contact->slide.coefficient[0] = INFINITY;
            contact->slide.slip[0] = 0.1;
            break;
        case 5:
            contact->compliance = 1e-3;
            turning->roll.coefficient[1] = 0.2;
            turning->roll.velocity[1] = 0.3;
            break;
        }
    }
    for (int i = 0; i < 6; i++) {
        sprag_row *row = add_row(&s, i, i == 1 ? 0 : i % 2 ? SPRAG_STATIC : (i + 3) % 6);
        for (int k = 0; k < 12; k++) {
            row->jacobian[k / 6][k % 6] = uniform(&c, -1, 1);
        }
        row->compliance = 1e-2;
        row->bias = uniform(&c, -1, 1);
        row->lo = i < 3 ? -INFINITY : -20;
        row->hi = i < 3 ? INFINITY : 20;
    }
    sprag_softness soft = sprag_problem_softness(&s.problem, (sprag_shares){1e-1, 1e-3, 1e-3});
    soft.fall = 0; // as if at rest
    ck_assert_int_eq(sprag_assemble(&sys, &s.problem, &soft, &scratch, &node_of), SPRAG_OK);
    ck_assert_int_eq(sys.size, 6 * 5);
    for (int i = 0; i < sys.size; i++) {
        v[i] = sys.free[i] + uniform(&c, -0.3, 0.3);
    }
    for (int i = 0; i < s.problem.contacts; i++) {
        bounds[i] = uniform(&c, 0, 0.3);
    }
}

static double residual_at(const double *at, const double *bound)
{
    sprag_system_place(&sys, at);
    return sprag_system_residual(&sys, at, STICTION, bound);
}

// (r(v + e d) - r(v - e d)) / 2 e
static void difference_along(const double *d, const double *bound, double *slope)
{
    static const double e = 1e-7;
    double there[6 * BODIES_MAX];
    int n = sys.size;
    for (int sign = -1; sign < 2; sign += 2) {
        for (int i = 0; i < n; i++) {
            there[i] = v[i] + sign * e * d[i];
        }
        residual_at(there, bound);
        for (int i = 0; i < n; i++) {
            slope[i] = (sign < 0 ? 0 : slope[i]) + sign * sys.residual[i] / (2 * e);
        }
    }
}

// Every column of the inverse, moved along, changes the residual by its unit vector.
START_TEST(derivative_meets_finite_differences)
{
    const double *bound = _i % 2 ? bounds : NULL;
    double slope[6 * BODIES_MAX];
    open_system((uint64_t)_i / 2);
    residual_at(v, bound);
    ck_assert_int_eq(sprag_system_factor(&sys, STICTION, bound, bound != NULL), SPRAG_OK);
    for (int j = 0; j < sys.size; j++) {
        for (int i = 0; i < sys.size; i++) {
            sys.residual[i] = -(i == j);
        }
        sprag_system_update(&sys, dv);
        difference_along(dv, bound, slope);
        for (int i = 0; i < sys.size; i++) {
            ck_assert_double_eq_tol(slope[i], i == j, 1e-5);
        }
    }
}
END_TEST

// Symmetric when frozen, not when coupled: what a gradient is.
START_TEST(frozen_residual_is_a_gradient)
{
    chance c = {(uint64_t)_i};
    double a[6 * BODIES_MAX] = {0}, b[6 * BODIES_MAX] = {0}, Aa[6 * BODIES_MAX], Ab[6 * BODIES_MAX];
    open_system((uint64_t)_i);
    int n = sys.size;
    for (int i = 0; i < n; i++) {
        a[i] = uniform(&c, -1, 1);
        b[i] = uniform(&c, -1, 1);
    }
    difference_along(a, bounds, Aa);
    difference_along(b, bounds, Ab);
    double size = sqrt(dot(a, Aa, n) * dot(b, Ab, n));
    ck_assert_double_eq_tol(dot(b, Aa, n) / size, dot(a, Ab, n) / size, 1e-7);
    difference_along(a, NULL, Aa);
    difference_along(b, NULL, Ab);
    ck_assert_double_gt(fabs(dot(b, Aa, n) - dot(a, Ab, n)) / size, 1e-4);
}
END_TEST

// Strictly convex: (r(v1) - r(v2)) (v1 - v2) >= |v1 - v2|^2 in the metric of M, near and far.
START_TEST(frozen_residual_is_monotone)
{
    chance c = {(uint64_t)_i};
    double there[6 * BODIES_MAX], here[6 * BODIES_MAX];
    open_system((uint64_t)_i);
    int n = sys.size;
    for (double far = 1e-3; far < 1e3; far *= 3) {
        residual_at(v, bounds);
        memcpy(here, sys.residual, (size_t)n * sizeof *here);
        for (int i = 0; i < n; i++) {
            dv[i] = uniform(&c, -far, far);
            there[i] = v[i] + dv[i];
        }
        residual_at(there, bounds);
        double rise = 0, least = 0;
        for (int b = 0; b < s.problem.bodies; b++) {
            if (node_of[b] != SPRAG_NOWHERE) {
                double p[6];
                momentum(&s.body[b], dv + 6 * node_of[b], p);
                least += dot(p, dv + 6 * node_of[b], 6);
            }
        }
        for (int i = 0; i < n; i++) {
            rise += (sys.residual[i] - here[i]) * dv[i];
        }
        ck_assert_double_ge(rise, least * (1 - 1e-9));
    }
}
END_TEST

// Along a Newton update the search ends where the residual is normal to it, or at the whole update
// if the function still falls there.
START_TEST(search_ends_where_the_slope_vanishes)
{
    int shortened = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        open_system(seed);
        int n = sys.size;
        for (int it = 0; it < 8; it++) {
            residual_at(v, bounds);
            ck_assert_int_eq(sprag_system_factor(&sys, STICTION, bounds, bounds != NULL), SPRAG_OK);
            sprag_system_update(&sys, dv);
            double before = dot(sys.residual, dv, n);
            if (!(before < -1e-12)) {
                break;
            }
            double alpha = sprag_system_search(&sys, v, dv, STICTION, bounds);
            ck_assert_double_gt(alpha, 0);
            ck_assert_double_le(alpha, 1);
            sprag_system_move(&sys, v, alpha, dv);
            residual_at(v, bounds);
            double after = dot(sys.residual, dv, n);
            ck_assert_double_le(after, 2e-3 * -before);
            if (alpha < 1) {
                ck_assert_double_ge(after, -2e-3 * -before);
                shortened++;
            }
        }
        sprag_scratch_reset(&scratch);
    }
    ck_assert_int_gt(shortened, 5);
}
END_TEST

// The incremental update of the system agrees with its evaluation from scratch.
START_TEST(move_agrees_with_place)
{
    double moved[6];
    open_system(3);
    residual_at(v, NULL);
    ck_assert_int_eq(sprag_system_factor(&sys, STICTION, NULL, false), SPRAG_OK);
    sprag_system_update(&sys, dv);
    sprag_system_move(&sys, v, 0.7, dv);
    for (int i = 0; i < s.problem.contacts; i++) {
        memcpy(moved, sys.slip[i], sizeof moved);
        sprag_system_place(&sys, v);
        for (int k = 0; k < sys.point[i].dim; k++) {
            ck_assert_double_eq_tol(moved[k], sys.slip[i][k], 1e-12);
        }
    }
}
END_TEST

// Another stage gains nothing once its tolerance is twice the last one.
START_TEST(stages_end_at_twice_the_tolerance)
{
    static const double soft[3] = {STICTION, 2 * STICTION, 2.001 * STICTION};
    double x[3][6 * BODIES_MAX];
    for (int i = 0; i < 3; i++) {
        sprag_stats stats = {0};
        open_system(1);
        memcpy(x[i], v, sizeof v);
        sprag_frozen_friction_solve_staged(&sys, bounds, soft[i], STICTION, 1e-9, x[i], dv, &stats);
    }
    ck_assert_mem_eq(x[1], x[0], (size_t)sys.size * sizeof *v);
    ck_assert_mem_ne(x[2], x[0], (size_t)sys.size * sizeof *v);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("system");
    ADD_CASE(suite, "system", {derivative_meets_finite_differences, 20},
             {frozen_residual_is_a_gradient, 10}, {frozen_residual_is_monotone, 10},
             {search_ends_where_the_slope_vanishes, 1}, {move_agrees_with_place, 1},
             {stages_end_at_twice_the_tolerance, 1});
    return run_suite(suite);
}
