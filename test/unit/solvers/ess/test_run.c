// Parts of the integrator that its files share, each against closed forms: norm, differences,
// pieces of trajectory, outputs; and labels, lists and rates of guards.
#include <float.h>

#include "ess_cases.h"
#include "ess_run.h"

enum { N = 2, SIZE = 4 }; // states; with one direction

// f = (x1, -9 x0): D f v is (v1, -9 v0) everywhere.
static void spring_field(void *user, const double *x, const double *label, double *f)
{
    (void)user, (void)label;
    f[0] = x[1];
    f[1] = -9 * x[0];
}

START_TEST(errors_are_weighed_by_their_tolerances)
{
    static const double scale[N] = {2, 0.5}, error[SIZE] = {0.03, -0.02, 0.01, 0.04};
    static double y[SIZE] = {-10, 0, 4, -3};
    sprag_ess_options o = {.absolute_tolerance = 0.01, .relative_tolerance = 0.001};
    sprag_ess_run run = {.options = &o, .states = N, .size = SIZE, .now.y = y};
    const double plain[SIZE] = {0.02, 0.01, 0.014, 0.013}, wide[SIZE] = {0.03, 0.005, 0.024, 0.008};
    double expected[2] = {0};
    for (int i = 0; i < SIZE; i++) {
        expected[0] += pow(error[i] / plain[i], 2) / SIZE;
        expected[1] += pow(error[i] / wide[i], 2) / SIZE;
    }
    ck_assert_double_eq_tol(sprag_ess_norm(&run, error), sqrt(expected[0]), 1e-13);
    o.scale = scale;
    ck_assert_double_eq_tol(sprag_ess_norm(&run, error), sqrt(expected[1]), 1e-13);
}
END_TEST

// The step moves y by a cube root of the rounding of the largest entry, or of 1.
START_TEST(differences_are_as_large_as_the_state)
{
    static const double y[][2] = {{0.5, -0.25}, {3, -800}}, v[][2] = {{0, 0}, {1e-3, -4}};
    ck_assert_double_eq(sprag_ess_difference(y[0], v[1], 2), cbrt(DBL_EPSILON) / 4);
    ck_assert_double_eq(sprag_ess_difference(y[1], v[1], 2), cbrt(DBL_EPSILON) * 800 / 4);
    ck_assert_double_eq(sprag_ess_difference(y[1], v[0], 2), 1);
}
END_TEST

// With directions, f has their derivatives; the tangent of all is again that of the spring.
START_TEST(directions_have_the_derivative_of_the_field)
{
    static const double y[SIZE] = {1e4, -2, 0.25, 5}, v[SIZE] = {1, 2, -3, 4};
    double shifted[2 * N], full[SIZE], middle[SIZE], f[SIZE], Df[SIZE];
    sprag_ess_stats of = {0};
    sprag_ess_problem p = {.states = N, .field = spring_field};
    sprag_ess_run run = {.problem = &p,
                         .stats = &of,
                         .states = N,
                         .size = SIZE,
                         .directions = 1,
                         .work = {.shifted = shifted, .full = full, .middle = middle}};
    sprag_ess_set_field(&run);
    run.field.value(run.field.data, y, f);
    static const double expected[SIZE] = {-2, -9e4, 5, -2.25};
    static const double tangent[SIZE] = {2, -9, 4, 27};
    ck_assert_double_le(largest_difference(f, expected, SIZE), 1e-6);
    ck_assert_int_eq(of.field_values, 3);
    run.field.tangent(run.field.data, y, v, Df);
    ck_assert_double_le(largest_difference(Df, tangent, SIZE), 1e-4);
    run.directions = 0;
    run.size = N;
    run.field.tangent(run.field.data, y, v, Df);
    ck_assert_double_le(largest_difference(Df, tangent, N), 1e-6);
}
END_TEST

// Behind a kink at t_j the velocity has changed by the jump there; a piece is a parabola besides.
START_TEST(paths_bend_and_have_kinks)
{
    static const double y[SIZE] = {1, 2, 3, 4}, f[SIZE] = {0.5, -1, 2, 8};
    static const double bend[SIZE] = {4, 0, -2, 1}, kink_time[2] = {0.25, 0.5};
    static const double jump[2][N] = {{3, -5}, {-7, 2}};
    double kink[2][2][N], full[SIZE], at[SIZE];
    for (int i = 0; i < N; i++) {
        kink[0][0][i] = jump[0][i];
        kink[0][1][i] = 0.25 * jump[0][i];
        kink[1][0][i] = jump[0][i] + jump[1][i];
        kink[1][1][i] = 0.25 * jump[0][i] + 0.5 * jump[1][i];
    }
    sprag_ess_piece piece = {.states = N,
                             .size = SIZE,
                             .start = 3,
                             .length = 1,
                             .y = y,
                             .f = f,
                             .kinks = 2,
                             .kink_time = kink_time,
                             .kink = kink[0][0],
                             .full = full};
    for (int k = 0; k <= 16; k++) {
        const double t = (k - 4) / 8.0;
        for (int bends = 0; bends < 2; bends++) {
            piece.bend = bends ? bend : NULL;
            sprag_ess_path(&piece, t, at);
            for (int i = 0; i < SIZE; i++) {
                double expected = y[i] + t * f[i] + bends * t * t * bend[i];
                for (int j = 0; j < 2 && i < N; j++) {
                    expected += fmax(0, t - kink_time[j]) * jump[j][i];
                }
                ck_assert_double_eq_tol(at[i], expected, 1e-14);
            }
        }
        double x[N], end[SIZE];
        sprag_ess_piece_at(&piece, 3 + t, x);
        sprag_ess_path(&piece, fmin(fmax(t, 0), 1), end);
        ck_assert_mem_eq(x, end, sizeof x);
    }
}
END_TEST

static int observed;

static void observe(void *user, double start, double end, const sprag_ess_piece *piece)
{
    (void)user, (void)piece;
    ck_assert_double_lt(start, end);
    observed++;
}

// States are given at times up to the end of a piece, and pieces without a length are not observed.
START_TEST(outputs_get_their_times)
{
    static const double y[N] = {1, 2}, f[N] = {4, -8}, times[] = {2, 2.5, 2.5, 2.75, 3};
    double state[5][N] = {{0}}, full[N];
    sprag_ess_output out = {.time = times, .times = 5, .state = state[0], .observe = observe};
    sprag_ess_run run = {.output = &out, .states = N, .size = N, .time = 2};
    sprag_ess_piece piece = {
        .states = N, .size = N, .start = 2, .length = 0.5, .y = y, .f = f, .full = full};
    observed = 0;
    sprag_ess_emit(&run, &piece);
    ck_assert_double_eq(run.time, 2.5);
    ck_assert_int_eq(out.reached, 3);
    for (int i = 0; i < 3; i++) {
        ck_assert_double_eq(state[i][0], 1 + 4 * (times[i] - 2));
        ck_assert_double_eq(state[i][1], 2 - 8 * (times[i] - 2));
    }
    piece.start = 2.5;
    piece.length = 0;
    sprag_ess_emit(&run, &piece);
    ck_assert_int_eq(out.reached, 3);
    piece.start = 2.25;
    piece.length = 0.125; // ends before
    sprag_ess_emit(&run, &piece);
    ck_assert_double_eq(run.time, 2.5);
    ck_assert_int_eq(observed, 1);
    run.output = NULL;
    piece.length = 0.75;
    sprag_ess_emit(&run, &piece);
    ck_assert_double_eq(run.time, 3);
    ck_assert_int_eq(out.reached, 3);
}
END_TEST

START_TEST(lookahead_is_a_multiple_of_the_step)
{
    sprag_ess_options o = {0};
    sprag_ess_run run = {.options = &o, .step = 0.5};
    ck_assert_double_eq(sprag_ess_lookahead(&run, 0.25), 1.25 * 2);
    ck_assert(isinf(sprag_ess_lookahead(&run, 0)));
    o.strict = true;
    ck_assert(isinf(sprag_ess_lookahead(&run, 0.25)));
    o = (sprag_ess_options){.trust_eps = true};
    ck_assert(isinf(sprag_ess_lookahead(&run, 0.25)));
}
END_TEST

// ---- guards

enum { GUARDS = 5 };

static void square_guard(void *user, const double *x, const int *which, int count, double *h)
{
    (void)user;
    for (int i = 0; i < count; i++) {
        h[i] = x[0] * x[0] + (which ? which[i] : i) * x[1];
    }
}

static int square_row(void *user, const double *x, int guard, int *column, double *value)
{
    (void)user;
    column[0] = 1;
    value[0] = guard;
    column[1] = guard == 4 ? N : 0; // no such state
    value[1] = guard == 3 ? NAN : 2 * x[0];
    return guard == 2 ? N + 1 : 2;
}

static void open_guards(sprag_guards *g, const sprag_ess_problem *p, double *label)
{
    static const double eps[GUARDS] = {0.5, 1, 2, 4, 8};
    ck_assert(sprag_guards_take(g, p, label, eps, &stats, &scratch));
    sprag_guards_arm_all(g);
}

// A central difference of a parabola is exact, to the rounding of h.
START_TEST(rates_are_rows_or_differences)
{
    static const double x[N] = {1e5, 2}, w[N] = {-3, 1e-3}, still[N];
    double label[GUARDS] = {0};
    sprag_ess_problem p = {.states = N, .guards = GUARDS, .guard = square_guard};
    sprag_guards g;
    open_guards(&g, &p, label);
    for (int k = 0; k < GUARDS; k++) {
        ck_assert_double_eq_tol(sprag_guards_rate(&g, x, k, w), -6e5 + k * 1e-3, 1e-4);
        ck_assert_double_eq(sprag_guards_rate(&g, x, k, still), 0);
    }
    p.row = square_row;
    for (int k = 0; k < GUARDS; k++) {
        g.row.bad = SPRAG_ESS_NO_GUARD;
        const bool good = k < 2;
        ck_assert_double_eq(sprag_guards_rate(&g, x, k, w), good ? -6e5 + k * 1e-3 : 0);
        ck_assert_int_eq(g.row.entries, good ? 2 : 0);
        ck_assert_int_eq(g.row.bad, good ? SPRAG_ESS_NO_GUARD : k);
    }
    sprag_scratch_reset(&scratch);
}
END_TEST

// The lists of unseen guards, signs and bands follow from labels alone.
static void check_guards(const sprag_guards *g, const bool *armed, const bool *unseen)
{
    int count = 0;
    for (int k = 0; k < g->count; k++) {
        const bool on = armed[k] && !unseen[k], back = k == 1 && g->label[k] == 1;
        ck_assert_int_eq(g->armed[k], armed[k]);
        ck_assert_int_eq(g->unseen[k], unseen[k]);
        ck_assert_double_eq(g->sign[k], on ? (back ? -1 : 1) : 0);
        ck_assert(on ? g->depth[k] > g->eps[k] && g->depth[k] < g->eps[k] * (1 + 1e-5)
                     : g->depth[k] < -1e200);
        count += unseen[k];
        ck_assert(!unseen[k] || g->unseen_list[g->unseen_place[k]] == k);
    }
    ck_assert_int_eq(g->unseen_count, count);
}

// Guard 1 is crossed either way. 0 arms 2 and 3, 2 arms 0, 4 disarms 3 and 1.
START_TEST(crossings_arm_and_disarm)
{
    static const bool two_way[GUARDS] = {false, true, false, false, false};
    static const sprag_ess_reset reset[] = {{4, 3, false}, {0, 2, true},  {2, 0, true},
                                            {0, 3, true},  {4, 1, false}, {0, 1, true}};
    double label[GUARDS] = {0, 0, 1, 1, 0}, other[GUARDS];
    sprag_ess_problem p = {.states = N,
                           .guards = GUARDS,
                           .guard = square_guard,
                           .two_way = two_way,
                           .reset = reset,
                           .resets = 6};
    sprag_guards g;
    open_guards(&g, &p, label);
    static const bool permanent[GUARDS] = {false, false, false, false, true};
    ck_assert_mem_eq(g.permanent, permanent, sizeof permanent);
    ck_assert(g.any_permanent);
    check_guards(&g, (const bool[]){1, 1, 0, 0, 1}, (const bool[]){0, 0, 0, 0, 0});
    memcpy(other, label, sizeof other);
    sprag_guards_relabel(&g, 0, other);
    sprag_guards_cross(&g, 0);
    static const double after[GUARDS] = {1, 0, 0, 0, 0};
    ck_assert_mem_eq(label, after, sizeof after);
    ck_assert_mem_eq(other, after, sizeof after);
    check_guards(&g, (const bool[]){0, 1, 1, 1, 1}, (const bool[]){0, 1, 1, 1, 0});
    sprag_guards_seen(&g, 2);
    check_guards(&g, (const bool[]){0, 1, 1, 1, 1}, (const bool[]){0, 1, 0, 1, 0});
    sprag_guards_cross(&g, 2);
    check_guards(&g, (const bool[]){1, 1, 0, 1, 1}, (const bool[]){1, 1, 0, 1, 0});
    sprag_guards_seen(&g, 1);
    sprag_guards_seen(&g, 1); // again: nothing
    sprag_guards_cross(&g, 1);
    ck_assert_double_eq(label[1], 1);
    check_guards(&g, (const bool[]){1, 1, 0, 1, 1}, (const bool[]){1, 1, 0, 1, 0});
    sprag_guards_seen(&g, 1);
    check_guards(&g, (const bool[]){1, 1, 0, 1, 1}, (const bool[]){1, 0, 0, 1, 0});
    sprag_guards_cross(&g, 4);
    check_guards(&g, (const bool[]){1, 0, 0, 0, 0}, (const bool[]){1, 0, 0, 0, 0});
    sprag_scratch_reset(&scratch);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("run");
    ADD_TESTS(suite, "run", {errors_are_weighed_by_their_tolerances, 1},
              {differences_are_as_large_as_the_state, 1},
              {directions_have_the_derivative_of_the_field, 1}, {paths_bend_and_have_kinks, 1},
              {outputs_get_their_times, 1}, {lookahead_is_a_multiple_of_the_step, 1});
    ADD_TESTS(suite, "guards", {rates_are_rows_or_differences, 1}, {crossings_arm_and_disarm, 1});
    int code = run_suite(suite);
    sprag_scratch_free(&scratch);
    return code;
}
