// Guards that reset the state: states and derivatives of systems with closed answers.
#include "ess_cases.h"

enum { ROOM = 32 };

// ---- a ball of 1 kg that bounces: z, zdot. Its guard -z arms itself.

typedef struct ball {
    double restitution;
    long maps, tangents;
} ball;

static void ball_field(void *user, const double *x, const double *label, double *f)
{
    (void)user, (void)label;
    f[0] = x[1];
    f[1] = -9.81;
}

static void ball_guard(void *user, const double *x, const int *which, int count, double *h)
{
    (void)user, (void)which;
    for (int i = 0; i < count; i++) {
        h[i] = -x[0];
    }
}

static void ball_map(void *user, const double *x, const double *label, int guard, double *after)
{
    ball *b = user;
    (void)label, (void)guard;
    b->maps++;
    after[0] = x[0];
    after[1] = -b->restitution * x[1];
}

static void ball_tangent(void *user, const double *x, const double *label, int guard,
                         const double *v, double *DRv)
{
    ball *b = user;
    (void)x, (void)label, (void)guard;
    b->tangents++;
    DRv[0] = v[0];
    DRv[1] = -b->restitution * v[1];
}

static const sprag_ess_reset again = {0, 0, true};

static sprag_ess_problem ball_problem(ball *b)
{
    return (sprag_ess_problem){.states = 2,
                               .guards = 1,
                               .user = b,
                               .field = ball_field,
                               .guard = ball_guard,
                               .reset_map = ball_map,
                               .reset_tangent = ball_tangent,
                               .reset = &again,
                               .resets = 1};
}

// From height z at rest.
static void ball_exact(double restitution, double z, double time, double x[2], int *bounces)
{
    const double g = 9.81;
    double last = sqrt(2 * z / g), speed = restitution * g * last;
    *bounces = 0;
    if (time < last) {
        x[0] = z - g * time * time / 2;
        x[1] = -g * time;
        return;
    }
    for (*bounces = 1; time > last + 2 * speed / g; ++*bounces) {
        last += 2 * speed / g;
        speed *= restitution;
    }
    x[0] = speed * (time - last) - g * (time - last) * (time - last) / 2;
    x[1] = speed - g * (time - last);
}

START_TEST(ball_bounces_as_in_closed_form)
{
    static const double restitution[] = {1, 0.8, 0.5};
    for (int i = 0; i < 3; i++) {
        ball b = {.restitution = restitution[i]};
        sprag_ess_problem p = ball_problem(&b);
        sprag_ess_options o = sprag_ess_defaults(_i / MODES ? 2 : 0.01);
        o.mode = modes[_i % MODES];
        o.adaptive = _i / MODES;
        o.relative_tolerance = o.absolute_tolerance = 1e-10;
        sprag_ess_event event[ROOM];
        double direction[2] = {1, 0}, label = NAN, x[2] = {1, 0}, exact[2], near[2][2];
        double time[1] = {1.1}, state[2];
        sprag_ess_output out = {.event = event,
                                .event_room = ROOM,
                                .time = time,
                                .times = 1,
                                .state = state,
                                .directions = 1,
                                .direction = direction};
        int bounces;
        OK(integrate(&p, &o, 0, 1.3, x, &label, &out));
        ball_exact(restitution[i], 1, 1.3, exact, &bounces);
        ck_assert_int_eq(stats.events, bounces);
        ck_assert_int_eq(b.maps, bounces);
        ck_assert_int_eq(b.tangents, bounces);
        ck_assert_double_le(largest_difference(x, exact, 2), 1e-8);
        ck_assert_double_eq_tol(event[0].time, sqrt(2 / 9.81), 1e-9);
        ck_assert_double_eq(label, 0); // it armed itself
        int other;
        ball_exact(restitution[i], 1 + 1e-6, 1.3, near[0], &other);
        ball_exact(restitution[i], 1 - 1e-6, 1.3, near[1], &other);
        for (int k = 0; k < 2; k++) {
            ck_assert_double_eq_tol(direction[k], (near[0][k] - near[1][k]) / 2e-6, 1e-6);
        }
        ball_exact(restitution[i], 1, 1.1, exact, &bounces);
        ck_assert_double_le(largest_difference(state, exact, 2), 1e-8);

        p.reset_tangent = NULL; // by differences
        double by_difference[2] = {1, 0};
        x[0] = 1;
        x[1] = 0;
        out.direction = by_difference;
        OK(integrate(&p, &o, 0, 1.3, x, &label, &out));
        ck_assert_double_le(largest_difference(by_difference, direction, 2), 1e-6);
    }
}
END_TEST

// The intervals between the bounces add up to twice e / (1 - e) times the first fall. The run ends
// after so many bounces in a step's time, which leave it e to that power of the step's time.
START_TEST(bouncing_without_end_is_zeno)
{
    static const double restitution[] = {0.1, 0.5, 0.8, 0.95}, height[] = {1e-3, 1, 10};
    static const double step[] = {1e-3, 0.01, 0.011};
    for (int i = 0; i < 4 * 3 * 3; i++) {
        const double e = restitution[i % 4], h = step[i / 12];
        ball b = {.restitution = e};
        sprag_ess_problem p = ball_problem(&b);
        sprag_ess_options o = sprag_ess_defaults(h);
        o.mode = modes[_i];
        double x[2] = {height[i / 4 % 3], 0}, label = NAN, fall = sqrt(2 * x[0] / 9.81);
        ck_assert_int_eq(integrate(&p, &o, 0, 100, x, &label, NULL), SPRAG_NOT_CONVERGED);
        ck_assert_int_eq(stats.stop, SPRAG_ESS_ZENO);
        double end = fall * (1 + 2 * e / (1 - e)), left = h * pow(e, o.zeno_events);
        ck_assert_msg(fabs(stats.time - end) <= left + 1e-6, "e %g, z %g, h %g: %.12g, not %.12g",
                      e, height[i / 4 % 3], h, stats.time, end);
    }
}
END_TEST

// ---- a rimless wheel: angle, rate; theta'' = sin theta. At a spoke's touch-down the angle goes
// back by the angle between spokes, and the rate is multiplied by its cosine.

static const double spoke = 0.4,
                    slope_angle = 0.12; // rad, half an angle between spokes; of the slope

static void wheel_field(void *user, const double *x, const double *label, double *f)
{
    (void)user, (void)label;
    f[0] = x[1];
    f[1] = sin(x[0]);
}

static void wheel_guard(void *user, const double *x, const int *which, int count, double *h)
{
    (void)user;
    for (int i = 0; i < count; i++) { // the second is never reached and not mapped
        h[i] = (which ? which[i] : i) == 0 ? x[0] - slope_angle - spoke : x[1] - 100;
    }
}

static void wheel_map(void *user, const double *x, const double *label, int guard, double *after)
{
    (void)user, (void)label;
    ck_assert_int_eq(guard, 0);
    after[0] = x[0] - 2 * spoke;
    after[1] = cos(2 * spoke) * x[1];
}

// The state transition matrix of a period has the eigenvalues 1 and cos^2 of the angle between
// spokes (McGeer, 1990).
START_TEST(rimless_wheel_has_its_multiplier)
{
    static const bool mapped[2] = {true, false};
    sprag_ess_problem p = {.states = 2,
                           .guards = 2,
                           .field = wheel_field,
                           .guard = wheel_guard,
                           .reset_map = wheel_map,
                           .is_mapped = mapped,
                           .reset = &again,
                           .resets = 1};
    double shrink = pow(cos(2 * spoke), 2);
    double gain = 2 * (cos(slope_angle - spoke) - cos(slope_angle + spoke)); // of rate^2, a swing
    double x[2] = {slope_angle - spoke, sqrt(shrink * gain / (1 - shrink))}, label[2] = {0, 0};
    sprag_ess_options o = sprag_ess_defaults(0.02);
    o.mode = modes[_i];
    o.relative_tolerance = o.absolute_tolerance = 1e-11;
    sprag_ess_event event[2];
    sprag_ess_output out = {.event = event, .event_room = 2};
    double y[2] = {x[0], x[1]};
    OK(integrate(&p, &o, 0, 2.5 * 2 * spoke / x[1], y, label, &out));
    ck_assert_int_ge(stats.events, 2);
    double period = event[1].time - event[0].time;
    OK(integrate(&p, &o, 0, period / 3, x, label, NULL)); // between two impacts
    double D[4] = {1, 0, 0, 1}, start[2] = {x[0], x[1]};
    out = (sprag_ess_output){.directions = 2, .direction = D};
    OK(integrate(&p, &o, 0, period, x, label, &out));
    ck_assert_int_eq(stats.events, 1);
    ck_assert_double_le(largest_difference(x, start, 2), 1e-8);
    ck_assert_double_eq_tol(D[0] + D[3], 1 + shrink, 1e-6);
    ck_assert_double_eq_tol(D[0] * D[3] - D[1] * D[2], shrink, 1e-6);
}
END_TEST

// ---- a ball on a table that vibrates: z, zdot, time

static const double amplitude = 0.02, pace = 60; // m, 1/s

static void table_field(void *user, const double *x, const double *label, double *f)
{
    (void)user, (void)label;
    f[0] = x[1];
    f[1] = -9.81;
    f[2] = 1;
}

static void table_guard(void *user, const double *x, const int *which, int count, double *h)
{
    (void)user, (void)which;
    for (int i = 0; i < count; i++) {
        h[i] = amplitude * sin(pace * x[2]) - x[0];
    }
}

static void table_map(void *user, const double *x, const double *label, int guard, double *after)
{
    (void)user, (void)label, (void)guard;
    double speed = amplitude * pace * cos(pace * x[2]); // of the table
    after[0] = x[0];
    after[1] = speed - 0.6 * (x[1] - speed);
    after[2] = x[2];
}

// Steps as long as the whole time find the impacts of short steps, and the derivative is that of
// differences.
START_TEST(ball_meets_a_vibrating_table)
{
    static const double bound = 20; // m/s: the table's speed is 1.2, the ball's stays below 8
    enum { RUNS = 4 };              // short steps; long ones: with a direction, and displaced
    sprag_ess_event event[RUNS][ROOM];
    int events = 0;
    double x[RUNS][3], direction[3] = {1, 0, 0}, end = 2, shift = 1e-8;
    for (int r = 0; r < RUNS; r++) {
        sprag_ess_problem p = {.states = 3,
                               .guards = 1,
                               .field = table_field,
                               .guard = table_guard,
                               .reset_map = table_map,
                               .reset = &again,
                               .resets = 1,
                               .rate_bound = r > 0 ? &bound : NULL};
        sprag_ess_options o = sprag_ess_defaults(r > 0 ? end : 1e-4);
        o.mode = r > 0 ? modes[_i] : SPRAG_ESS_LOCATE;
        o.adaptive = r > 0;
        o.relative_tolerance = o.absolute_tolerance = 1e-11;
        sprag_ess_output out = {
            .event = event[r], .event_room = ROOM, .directions = r == 1, .direction = direction};
        double label = NAN;
        memcpy(x[r], (double[3]){0.5 + (r == 2 ? shift : r == 3 ? -shift : 0), 0, 0}, sizeof x[r]);
        OK(integrate(&p, &o, 0, end, x[r], &label, &out));
        events = r == 0 ? (int)stats.events : events;
        ck_assert_int_ge(events, 3);
        ck_assert_int_eq(stats.events, events);
        for (int i = 0; i < stats.events; i++) {
            ck_assert_double_eq_tol(event[r][i].time, event[0][i].time, r < 2 ? 1e-8 : 1e-4);
        }
        ck_assert_double_le(largest_difference(x[r], x[0], 3), r < 2 ? 1e-6 : 1e-3);
    }
    for (int i = 0; i < 3; i++) {
        double slope_by_runs = (x[2][i] - x[3][i]) / (2 * shift);
        ck_assert_double_eq_tol(direction[i], slope_by_runs, 1e-4 * (1 + fabs(slope_by_runs)));
    }
}
END_TEST

static void bad_map(void *user, const double *x, const double *label, int guard, double *after)
{
    ball_map(user, x, label, guard, after);
    after[1] = NAN;
}

START_TEST(bad_maps_are_named)
{
    ball b = {.restitution = 1};
    sprag_ess_problem p = ball_problem(&b);
    p.reset_map = bad_map;
    sprag_ess_options o = sprag_ess_defaults(0.01);
    o.mode = modes[_i];
    double x[2] = {1, 0}, label = NAN, v[2] = {0}, w[2];
    int guard = 0;
    ck_assert_int_eq(integrate(&p, &o, 0, 5, x, &label, NULL), SPRAG_BAD_PROBLEM);
    ck_assert_int_eq(stats.stop, SPRAG_ESS_BAD_VALUE);
    ck_assert_int_eq(stats.stop_guard, 0);
    ck_assert_ptr_nonnull(strstr(message, "reset_map of guard 0"));
    label = 0;
    ck_assert_int_eq(sprag_ess_corner(&p, x, &label, &guard, 1, false, v, w, NULL, &scratch,
                                      message, sizeof message),
                     SPRAG_BAD_PROBLEM);
    ck_assert_ptr_nonnull(strstr(message, "resets the state"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reset map");
    ADD_TESTS(suite, "maps", {ball_bounces_as_in_closed_form, 2 * MODES},
              {bouncing_without_end_is_zeno, MODES}, {rimless_wheel_has_its_multiplier, MODES},
              {ball_meets_a_vibrating_table, MODES}, {bad_maps_are_named, MODES});
    int code = run_suite(suite);
    sprag_scratch_free(&scratch);
    return code;
}
