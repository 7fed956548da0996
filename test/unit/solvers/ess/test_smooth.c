// Integrators for the smooth parts of event-selected systems.
#include <check.h>

#include "ess_cases.h"
#include "problems_ess.h"
#include "rodas.h"
#include "suite.h"

// ---- methods for the smooth parts

// Prothero and Robinson: y' = k (sin t - y) + cos t, t' = 1; y = sin t is the solution.
static void stiff_field(void *user, const double *x, const double *label, double *f)
{
    (void)label;
    double k = *(const double *)user;
    f[0] = k * (sin(x[1]) - x[0]) + cos(x[1]);
    f[1] = 1;
}

START_TEST(rodas_takes_stiffness_that_dopri5_cannot)
{
    double k = 1e6, x[2] = {0, 0};
    sprag_ess_problem p = {.states = 2, .user = &k, .field = stiff_field};
    sprag_ess_options o = sprag_ess_defaults(0.5);
    o.adaptive = true;
    o.smooth = &sprag_rodas;
    OK(integrate(&p, &o, 0, 2, x, NULL, NULL));
    ck_assert_double_eq_tol(x[0], sin(2), 1e-5);
    ck_assert_int_lt(stats.steps, 500);
    // Explicit steps as long explode: said, and nothing that is not finite comes out.
    o.adaptive = false;
    o.smooth = NULL;
    o.step = 0.01;
    x[0] = 0.1;
    x[1] = 0;
    ck_assert_int_eq(integrate(&p, &o, 0, 2, x, NULL, NULL), SPRAG_NOT_CONVERGED);
    ck_assert_int_eq(stats.stop, SPRAG_ESS_TINY_STEP);
    ck_assert_str_ne(message, "");
}
END_TEST

// Two points that friction brakes, coupled. Steps as long as the error allows leave 1e-2 of the
// tolerance, and take as many steps and a third more of rejected ones.
static void braked_field(void *user, const double *x, const double *label, double *f)
{
    (void)label;
    double k = *(const double *)user;
    for (int i = 0; i < 2; i++) {
        f[i] = -k * x[i] / hypot(1, x[i]) + k / 2 * (x[1 - i] - x[i]);
    }
}

START_TEST(fast_motions_end_at_any_tolerance)
{
    const sprag_smooth *method[] = {&sprag_dopri5, &sprag_tsit5};
    double k = 1e4;
    sprag_ess_problem p = {.states = 2, .user = &k, .field = braked_field};
    for (int i = 3; i < 9; i++) {
        double x[2] = {1, -0.7};
        sprag_ess_options o = sprag_ess_defaults(0.01);
        o.adaptive = true;
        o.relative_tolerance = 0;
        o.absolute_tolerance = pow(10, -i);
        o.smooth = method[_i];
        OK(integrate(&p, &o, 0, 0.1, x, NULL, NULL));
        ck_assert_double_le(hypot(x[0], x[1]), 1e-20);
        ck_assert_int_le(stats.steps, 800);
        ck_assert_int_le(stats.rejected, 5);
    }
}
END_TEST

// Errors at the end and, of the dense output, between, where steps are halved.
START_TEST(smooth_methods_have_their_orders)
{
    const sprag_smooth *method[] = {&sprag_dopri5, &sprag_rodas, &sprag_tsit5};
    const double order[] = {5, 4, 5}, dense[] = {4, 3, 4};
    double k = 2, h[4], end[4], inside[4], time[] = {0.33333};
    sprag_ess_problem p = {.states = 2, .user = &k, .field = stiff_field};
    for (int i = 0; i < 4; i++) {
        double x[2] = {1, 0}, state[2];
        sprag_ess_options o = sprag_ess_defaults(1.0 / (4 << i));
        o.smooth = method[_i];
        sprag_ess_output out = {.time = time, .times = 1, .state = state};
        OK(integrate(&p, &o, 0, 1, x, NULL, &out));
        h[i] = log(o.step);
        end[i] = log(fabs(x[0] - sin(1) - exp(-k)));
        inside[i] = log(fabs(state[0] - sin(time[0]) - exp(-k * time[0])));
    }
    ck_assert_double_ge(slope(h, end, 4), order[_i] - 0.3);
    ck_assert_double_ge(slope(h, inside, 4), dense[_i] - 0.3);
}
END_TEST

// A method of one's own: the classical one of order 4, with a cubic for its dense output.

static sprag_result rk4_step(const sprag_field *field, double *room, double step, const double *y,
                             const double *f, double *y1, double *f1, double *error)
{
    int n = field->size;
    double *k = room + 1 + 4 * n, *sum = k + n;
    static const double part[] = {0.5, 0.5, 1}, weight[] = {2, 2, 1};
    memcpy(k, f, (size_t)n * sizeof *k);
    memcpy(sum, f, (size_t)n * sizeof *k);
    for (int s = 0; s < 3; s++) {
        for (int i = 0; i < n; i++) {
            y1[i] = y[i] + step * part[s] * k[i];
        }
        field->value(field->data, y1, k);
        for (int i = 0; i < n; i++) {
            sum[i] += weight[s] * k[i];
        }
    }
    for (int i = 0; i < n; i++) {
        y1[i] = y[i] + step / 6 * sum[i];
        error[i] = 0;
    }
    field->value(field->data, y1, f1);
    room[0] = step;
    memcpy(room + 1, y, (size_t)n * sizeof *y);
    memcpy(room + 1 + n, y1, (size_t)n * sizeof *y);
    memcpy(room + 1 + 2 * n, f, (size_t)n * sizeof *y);
    memcpy(room + 1 + 3 * n, f1, (size_t)n * sizeof *y);
    return SPRAG_OK;
}

static void rk4_between(const double *room, int n, double s, int first, int end, double *y)
{
    double h = room[0], r = 1 - s;
    for (int i = first; i < end; i++) {
        const double *at = room + 1 + i;
        y[i] = r * r * (1 + 2 * s) * at[0] + s * s * (3 - 2 * s) * at[n] +
               h * s * r * (r * at[2 * n] - s * at[3 * n]);
    }
}

START_TEST(any_method_takes_the_smooth_parts)
{
    static const sprag_smooth rk4 = {
        .name = "rk4", .order = 5, .room = rk4_room, .step = rk4_step, .between = rk4_between};
    const sprag_smooth *method[] = {&rk4, &sprag_rodas, &sprag_dopri5, &sprag_tsit5};
    const double bound[] = {1e-4, 1e-5, 1e-8, 1e-9};
    hopper leg = {1000, 4};
    sprag_ess_options o = sprag_ess_defaults(0.002);
    o.mode = SPRAG_ESS_LOCATE;
    o.smooth = method[_i];
    ck_assert_double_le(run_hopper("hopper_damped_exact", &leg, &o).z, bound[_i]);
    ck_assert_int_eq(stats.events, 5);
}
END_TEST

// Directions with a stiff method, too.
START_TEST(rodas_carries_directions)
{
    double J[9], x[3];
    memcpy(x, order_start, sizeof x);
    sprag_ess_options o = sprag_ess_defaults(1e-3);
    o.mode = SPRAG_ESS_LOCATE;
    o.smooth = &sprag_rodas;
    jacobian(&order_problem, &o, 0.5, x, J);
    ck_assert_double_le(jacobian_error("order_jacobian", J, 3), 1e-6);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("smooth");
    ADD_TESTS(suite, "smooth parts", {rodas_takes_stiffness_that_dopri5_cannot, 1},
              {fast_motions_end_at_any_tolerance, 2}, {smooth_methods_have_their_orders, 3},
              {any_method_takes_the_smooth_parts, 4}, {rodas_carries_directions, 1});
    int code = run_suite(suite);
    sprag_scratch_free(&scratch);
    return code;
}
