// The measure that the general solver accepts solutions by: nothing at a root, and as large as what
// is wrong elsewhere.
#include <check.h>
#include <math.h>
#include <string.h>

#include "general_residual.h"
#include "problems_general.h"
#include "suite.h"

static sprag_scratch scratch;

static sprag_general_residual measure(const made *m)
{
    sprag_general_options options = sprag_general_defaults();
    double *work = calloc(2 * (size_t)m->problem.velocities, sizeof *work);
    sprag_general_residual r =
        sprag_general_measure(&m->problem, &options, m->guess, &m->solution, work);
    free(work);
    return r;
}

static made solved(int i)
{
    uint64_t random = 50 + (uint64_t)i;
    made m = draw_problem((family)(i % 3), 30, 20, 1e-3, i % 2, false, &random);
    ck_assert_int_eq(made_solve(&m, NULL, &scratch, NULL), SPRAG_OK);
    return m;
}

START_TEST(roots_have_none)
{
    made m = solved(_i);
    sprag_general_residual r = measure(&m);
    ck_assert_double_le(sprag_general_error(&r), 1e-10);
    ck_assert_double_eq_tol(r.momentum, made_momentum_share(&m), 1e-12);
    made_free(&m);
}
END_TEST

// Twice the deviation has twice the residual, and only in what is wrong.
START_TEST(deviations_are_measured)
{
    made m = solved(_i);
    double *force = m.solution.normal_force, *friction = m.solution.friction_force;
    double residual[3][2];
    int loaded = 0;
    for (int c = 0; c < 20; c++) {
        loaded = force[c] * m.friction[c] > force[loaded] * m.friction[loaded] ? c : loaded;
    }
    for (int k = 0; k < 2; k++) {
        double by = (k + 1) * 1e-4, kept = force[loaded];
        force[loaded] *= 1 + by;
        residual[0][k] = measure(&m).normal;
        residual[1][k] = measure(&m).momentum;
        force[loaded] = kept;
        kept = friction[2 * loaded];
        friction[2 * loaded] += by * force[loaded];
        residual[2][k] = measure(&m).friction;
        ck_assert_double_le(measure(&m).normal, 1e-10);
        friction[2 * loaded] = kept;
    }
    for (int i = 0; i < 3; i++) {
        ck_assert_double_gt(residual[i][0], 1e-9);
        ck_assert_double_eq_tol(residual[i][1] / residual[i][0], 2, 0.02);
    }
    made_free(&m);
}
END_TEST

// Nothing solved is 1, whatever the unit of momentum; and what is not finite is no root.
START_TEST(the_scale_is_what_the_step_changes)
{
    made m = make_cubes(1, false, true);
    memcpy(m.solution.velocity, m.guess, 6 * sizeof(double));
    ck_assert_double_eq_tol(measure(&m).momentum, 1, 1e-12); // p* - M guess is not answered
    for (int i = 0; i < 36; i++) {
        m.mass[i] *= 1e6;
    }
    for (int i = 0; i < 6; i++) {
        m.momentum[i] *= 1e6;
    }
    ck_assert_double_eq_tol(measure(&m).momentum, 1, 1e-12);
    m.solution.velocity[2] = NAN;
    sprag_general_residual r = measure(&m);
    ck_assert(isinf(sprag_general_error(&r)));
    made_free(&m);
}
END_TEST

// Friction that nothing has begun to find lacks the whole impulse, however near it is to slipping:
// 1 kg at 1 m/s, on a contact whose friction could stop 1.05 kg m/s.
START_TEST(friction_that_would_hold_is_missed)
{
    made m = make(3, 1, 1e-3, true);
    for (int k = 0; k < 3; k++) {
        m.mass[4 * k] = 1;
    }
    m.tangent[0] = m.tangent[4] = m.normal[2] = 1;
    m.friction[0] = 1.05;
    m.force[0] = m.solution.normal_force[0] = 1 / m.problem.step;
    m.guess[0] = m.momentum[0] = m.solution.velocity[0] = 1;
    ck_assert_double_eq_tol(measure(&m).friction, 1, 0.01);
    made_free(&m);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("general_residual");
    ADD_TESTS(suite, "measure", {roots_have_none, 12}, {deviations_are_measured, 12},
              {the_scale_is_what_the_step_changes, 1}, {friction_that_would_hold_is_missed, 1});
    int code = run_suite(suite);
    sprag_scratch_free(&scratch);
    return code;
}
