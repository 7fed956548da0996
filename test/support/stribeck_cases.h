// Scenes, checked solves and the table of test cases for the tests of implicit Stribeck.
#ifndef TEST_STRIBECK_CASES_H
#define TEST_STRIBECK_CASES_H

#include <check.h>

#include "problems.h"
#include "stribeck.h"
#include "suite.h"

#define MU 0.5
#define MASS 2.0
#define SOFTNESS 1e-3 // of the defaults
#define ROW_SOFTNESS 1e-8
#define MOVING (1e-3 * G * STEP) // m/s, stiction tolerance of what slides, if gravity is all
#define AT_REST (1e-5 * MOVING)
#define TOLERANCE 1e-6

extern void dgesv_(const int *n, const int *nrhs, double *a, const int *lda, int *pivot, double *b,
                   const int *ldb, int *info);

static scene s;

static sprag_scratch scratch;

static inline void free_scratch(void)
{
    sprag_scratch_free(&scratch);
}

static inline sprag_result solve_with(scene *scene, const sprag_stribeck_options *options)
{
    sprag_result result =
        sprag_stribeck_solve(&scene->problem, options, &scratch, &scene->solution, &scene->stats);
    sprag_scratch_reset(&scratch);
    return result;
}

static inline void solve(scene *scene)
{
    ck_assert_str_eq(sprag_result_name(solve_with(scene, NULL)), "ok");
    ck_assert_double_le(momentum_error(scene), 2 * TOLERANCE);
}

// Every contact with the same stiction tolerance, moving or not, and a root for every island.
static inline sprag_stribeck_options alike(void)
{
    sprag_stribeck_options options = sprag_stribeck_defaults();
    options.stiction_tolerance = options.stiction_at_rest = 1e-4;
    options.direct_work = 1e15;
    return options;
}

static inline void solve_alike(scene *scene)
{
    sprag_stribeck_options options = alike();
    ck_assert_str_eq(sprag_result_name(solve_with(scene, &options)), "ok");
    ck_assert_double_le(momentum_error(scene), 2 * TOLERANCE);
}

// One body without extent in contact with the ground: nothing turns, w = 1 / mass.
static inline sprag_contact *puck(double mu)
{
    open_scene(&s);
    add_cube(&s, MASS);
    sprag_contact *contact = add_ground(&s, 0, mu);
    fall(&s);
    return contact;
}

static inline double fn(int contact)
{
    return s.contact_force[contact][0];
}

static inline double ft(int contact)
{
    return hypot(s.contact_force[contact][1], s.contact_force[contact][2]);
}

// The force that carries the puck: it sinks in, until the law gives its weight.
#define PUCK_WEIGHT (MASS * G / (1 + SOFTNESS))

// ---- rows

// J M^-1 J' of a row, by LAPACK.
static inline double inverse_mass(const sprag_row *row)
{
    double sum = 0;
    for (int side = 0; side < 2; side++) {
        int b = row->body[side], n = 6, one = 1, info, pivot[6];
        double M[36] = {0}, x[6];
        for (int k = 0; b != SPRAG_STATIC && k < 3; k++) {
            M[7 * k] = s.body[b].mass;
            memcpy(M + 21 + 6 * k, s.body[b].inertia + 3 * k, 3 * sizeof *M);
        }
        if (b != SPRAG_STATIC) {
            memcpy(x, row->jacobian[side], sizeof x);
            dgesv_(&n, &one, M, &n, pivot, x, &n, &info);
            sum += dot(row->jacobian[side], x, 6);
        }
    }
    return sum;
}

// ---- properties of every solution

static const double speeds[] = {0, 0.1, 1, 10};
static const double coefficients[] = {0, 0.3, 0.6, 1};

enum { PILES = 4 * 4 * 12 };

static inline void open_pile(scene *scene, int i, bool bias)
{
    open_scene(scene);
    add_pile(scene, (uint64_t)i, 5 + i * 7 % 56, coefficients[i / 4 % 4], speeds[i % 4], bias);
}

// From the problem alone.
static inline double normal_yield(const scene *scene, int i)
{
    const sprag_contact *contact = &scene->contact[i];
    double heaviest = 0;
    sprag_row row = {.body = {contact->body[0], contact->body[1]}};
    for (int side = 0; side < 2; side++) {
        memcpy(row.jacobian[side], contact->frame[0], sizeof contact->frame[0]);
        cross(contact->arm[side], contact->frame[0], row.jacobian[side] + 3);
    }
    for (int b = 0; b < scene->problem.bodies; b++) {
        heaviest = fmax(heaviest, scene->body[b].mass);
    }
    double soft = fmax(SOFTNESS * contact->softening, 1e-6);
    return fmax(contact->compliance / STEP, soft * fmin(inverse_mass(&row), 4 / heaviest));
}

// Isotropic piles at a root: normal forces by their law, friction by its own. Newton's method in
// the forces leaves an error of velocity, which the law of what sticks multiplies: the residual has
// it.
static inline void check_laws(const scene *scene)
{
    bool exact = scene->stats.strategy != SPRAG_STRATEGY_WARM_NEWTON;
    for (int i = 0; i < scene->problem.contacts; i++) {
        const double *f = scene->contact_force[i];
        double slip[6], mu = scene->contact[i].slide.coefficient[0];
        contact_velocity(scene, i, (const double(*)[6])scene->velocity, slip);
        double wanted = fmax(0, scene->contact[i].bias - slip[0]);
        ck_assert_double_ge(f[0], 0);
        ck_assert_double_eq_tol(f[0] * STEP * normal_yield(scene, i), wanted, 1e-11);
        ck_assert_double_le(f[1] * slip[1] + f[2] * slip[2], exact ? 1e-15 : INFINITY);
        ck_assert_double_le(hypot(f[1], f[2]), mu * f[0] * (1 + 1e-9));
        double rho = sqrt(dot(slip + 1, slip + 1, 2) + pow(scene->stats.stiction, 2));
        for (int k = 1; k < 3 && exact; k++) {
            ck_assert_double_eq_tol(f[k], -mu * f[0] * slip[k] / rho, 1e-7 * (1 + mu * f[0]));
        }
        for (int k = 3; k < 6; k++) {
            ck_assert_double_eq(f[k], 0);
        }
    }
}

static inline void expect_same_velocities(const double (*v)[6], const double (*expected)[6],
                                          double tolerance)
{
    for (int b = 0; b < s.problem.bodies; b++) {
        for (int k = 0; k < 6; k++) {
            ck_assert_double_eq_tol(v[b][k], expected[b][k], tolerance);
        }
    }
}

// ---- strategies

static inline sprag_stribeck_options only(sprag_strategy strategy)
{
    sprag_stribeck_options options = sprag_stribeck_defaults();
    switch (strategy) {
    case SPRAG_STRATEGY_CONTINUATION: // its stages are as short as Newton
        options.max_iterations = 6;
        options.sweeps = 0;
        break;
    case SPRAG_STRATEGY_GAUSS_SEIDEL:
        options.direct_work = 0;
        break;
    default:
        break;
    }
    return options;
}

// A motor drags a cube over the ground, with too little force for its speed.
static inline void motorised_cube(void)
{
    open_scene(&s);
    add_cube(&s, MASS);
    stand(&s, 0, SPRAG_STATIC, MU);
    sprag_row *motor = add_axis_row(&s, 0, 0);
    motor->bias = 3;
    motor->lo = -30;
    motor->hi = 30;
    fall(&s);
}

#define ADD_CASE(suite, name, ...)                                                                 \
    ADD_TESTS_WITH((suite), (name), NULL, free_scratch, __VA_ARGS__)

#endif
