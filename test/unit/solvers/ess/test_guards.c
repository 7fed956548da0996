// Guards that are crossed, overdue, left, receding, tied or met often: one test a situation.
#include <check.h>

#include "ess_cases.h"
#include "problems_ess.h"
#include "suite.h"

// ---- situations, one by one (what is measured of a plain loop is in the paper's listing 1)

// One state and one guard at x = 0.

typedef struct line {
    double before, after; // f
} line;

static void line_field(void *user, const double *x, const double *label, double *f)
{
    (void)x;
    const line *l = user;
    f[0] = label[0] != 0 ? l->after : l->before;
}

// Beyond a guard that counts as not crossed, by less than eps: crossed at once.
START_TEST(overdue_guards_are_crossed_at_once)
{
    line l = {1, 2};
    for (int m = 0; m < MODES; m++) {
        sprag_ess_problem p = {
            .states = 1, .guards = 1, .user = &l, .field = line_field, .guard = line_guard};
        double x = 1e-3, label = 0;
        sprag_ess_event event;
        sprag_ess_output out = {.event = &event, .event_room = 1};
        sprag_ess_options o = sprag_ess_defaults(0.1);
        o.mode = modes[m];
        OK(integrate(&p, &o, 0, 1, &x, &label, &out));
        ck_assert_int_eq(stats.overdue, 1);
        ck_assert_double_eq(event.time, 0);
        ck_assert_double_eq_tol(x, 1e-3 + 2, 1e-14);
        ck_assert_int_eq(stats.steps, 10); // none of them a sliver
    }
}
END_TEST

static void pushed_field(void *user, const double *x, const double *label, double *f)
{
    (void)label;
    f[0] = x[1];
    f[1] = *(const double *)user;
}

// Beyond a guard that counts as not crossed, on the way to before it: there is nothing to cross,
// neither at a constant rate nor where it grows, until the flow has been before the guard.
START_TEST(a_way_back_crosses_nothing)
{
    static const double depth[] = {1e-7, 1};
    for (int i = 0; i < 3 * 2 * MODES; i++) {
        double push = 5 * (i % 3 - 1), tolerance = 2 * depth[i / 3 % 2];
        sprag_ess_problem p = {.states = 2,
                               .guards = 1,
                               .user = &push,
                               .field = pushed_field,
                               .guard = line_guard,
                               .label_tolerance = &tolerance};
        double x[2] = {depth[i / 3 % 2], -1}, label = 0;
        const double end = x[0] - 0.1 + push * 0.005;
        sprag_ess_options o = sprag_ess_defaults(0.01);
        o.mode = modes[i / 6];
        OK(integrate(&p, &o, 0, 0.1, x, &label, NULL));
        ck_assert_int_eq(stats.events, 0);
        ck_assert_double_eq(stats.time, 0.1);
        ck_assert_double_eq_tol(x[0], end, 1e-12);
    }
}
END_TEST

static void jumping_guard(void *user, const double *x, const int *which, int count, double *h)
{
    (void)which;
    for (int i = 0; i < count; i++) {
        h[i] = x[0] < *(const double *)user ? -1 : 1;
    }
}

static void even_field(void *user, const double *x, const double *label, double *f)
{
    (void)user, (void)x, (void)label;
    f[0] = 1;
}

// A guard that jumps is located to 1e-9 of the step: by secants, and then by 30 halvings at most.
START_TEST(jumps_are_located_by_halves)
{
    static const double at[] = {1.0 / 3, 0.7, 0.999};
    for (int i = 0; i < 3 * MODES; i++) {
        double jump = at[i % 3], x = 0, label = 0;
        sprag_ess_problem p = {
            .states = 1, .guards = 1, .user = &jump, .field = even_field, .guard = jumping_guard};
        sprag_ess_event event;
        sprag_ess_output out = {.event = &event, .event_room = 1};
        sprag_ess_options o = sprag_ess_defaults(1);
        o.mode = modes[i / 3];
        OK(integrate(&p, &o, 0, 1, &x, &label, &out));
        ck_assert_int_eq(stats.events, 1);
        ck_assert_double_eq_tol(event.time, jump, 1e-9);
        ck_assert_int_le(stats.guard_values, 12 + 30 + 8);
    }
}
END_TEST

START_TEST(resting_contact_takes_plain_steps)
{
    for (int sign = -1; sign <= 1; sign += 2) {
        oscillate(0.13, 0, sign * 1e-3, 1, SPRAG_ESS_MIDPOINT);
        ck_assert_int_gt(stats.refused[sign < 0 ? SPRAG_ESS_RECEDING : SPRAG_ESS_PAST_END], 0);
        ck_assert_int_ge(stats.steps, 500);
    }
}
END_TEST

static void receding_guard(void *user, const double *x, const int *which, int count, double *h)
{
    for (int i = 0; i < count; i++) {
        int k = which ? which[i] : i;
        if (k < 3) {
            order_guard(user, x, &k, 1, h + i);
        } else {
            h[i] = -0.35 - x[0]; // x grows: it moves away from it, out of its band
        }
    }
}

START_TEST(receding_guards_are_no_candidates)
{
    sprag_ess_problem p = order_problem;
    p.guards = 4;
    p.guard = receding_guard;
    p.row = NULL;
    double x[3], y[3], label[4];
    memcpy(x, order_start, sizeof x);
    x[0] = -0.349; // 1e-3 behind the fourth
    memcpy(y, x, sizeof x);
    sprag_ess_event event[4];
    sprag_ess_output out = {.event = event, .event_room = 4};
    sprag_ess_options o = sprag_ess_defaults(1e-3);
    o.trust_eps = true;
    ask_for_labels(label, 4);
    OK(integrate(&p, &o, 0, 0.5, x, label, &out));
    ck_assert_int_eq(stats.events, 3);
    ck_assert_int_gt(stats.refused[SPRAG_ESS_RECEDING], 0);
    ck_assert(event[0].time > 0 && event[1].time > event[0].time && event[2].time > event[1].time);
    ck_assert_double_eq(label[3], 0);

    o.strict = true;
    memcpy(x, y, sizeof x);
    ask_for_labels(label, 4);
    ck_assert_int_eq(integrate(&p, &o, 0, 0.5, x, label, &out), SPRAG_NOT_CONVERGED);
    ck_assert_int_eq(stats.stop, SPRAG_ESS_NOT_LIVE);
    ck_assert_int_eq(stats.stop_guard, 3);
    ck_assert_ptr_nonnull(strstr(message, "guard 3"));
}
END_TEST

START_TEST(sliding_ends_with_its_guard)
{
    line l = {1, -0.5};
    bool two_way = _i / MODES;
    sprag_ess_problem p = {.states = 1,
                           .guards = 1,
                           .user = &l,
                           .field = line_field,
                           .guard = line_guard,
                           .two_way = &two_way};
    double x = -0.2, label = NAN;
    sprag_ess_options o = sprag_ess_defaults(0.03);
    o.mode = modes[_i % MODES];
    ck_assert_int_eq(integrate(&p, &o, 0, 1, &x, &label, NULL), SPRAG_NOT_CONVERGED);
    ck_assert_int_eq(stats.stop, SPRAG_ESS_SLIDING);
    ck_assert_int_eq(stats.stop_guard, 0);
    ck_assert_double_eq_tol(stats.time, 0.2, 1e-12);
    ck_assert_double_eq_tol(x, 0, 1e-12);
    ck_assert_ptr_nonnull(strstr(message, "guard 0"));
}
END_TEST

// A ball that is thrown up: h = z.
static void thrown_field(void *user, const double *x, const double *label, double *f)
{
    (void)user;
    (void)label;
    f[0] = x[1];
    f[1] = -1;
}

START_TEST(crossed_guards_that_are_left_again_are_a_mismatch)
{
    sprag_ess_problem p = {.states = 2, .guards = 1, .field = thrown_field, .guard = line_guard};
    double x[2] = {-0.5, 2}, label = NAN; // through 0 at 2 -+ sqrt(3) s
    sprag_ess_options o = sprag_ess_defaults(0.01);
    o.eps = 0.02;
    ck_assert_int_eq(integrate(&p, &o, 0, 10, x, &label, NULL), SPRAG_NOT_CONVERGED);
    ck_assert_int_eq(stats.stop, SPRAG_ESS_MISMATCH);
    ck_assert_int_eq(stats.stop_guard, 0);
    ck_assert_int_eq(stats.events, 1);
    ck_assert(stats.time > 2 + sqrt(3) && stats.time < 2 + sqrt(3) + 0.03);
    // And one that starts so, either way.
    for (int given = 0; given < 2; given++) {
        double y[2] = {given ? -1 : 1, 0}, wrong = given;
        ck_assert_int_eq(integrate(&p, &o, 0, 10, y, &wrong, NULL), SPRAG_NOT_CONVERGED);
        ck_assert_int_eq(stats.stop, SPRAG_ESS_MISMATCH);
        ck_assert_double_eq(stats.time, 0);
    }
}
END_TEST

// The check of labels does not depend on eps or mode: thrown through h = 0 at 2 - sqrt(3) s, the
// ball falls back through it at 2 + sqrt(3) s.
START_TEST(labels_have_a_tolerance_of_their_own)
{
    static const double eps[] = {0, 1e-6, 0.1, 0.4};
    sprag_ess_problem p = {.states = 2, .guards = 1, .field = thrown_field, .guard = line_guard};
    double back = 2 + sqrt(3), step = 0.01;
    for (int i = 0; i < 4; i++) {
        double x[2] = {-0.5, 2}, label = NAN;
        sprag_ess_options o = sprag_ess_defaults(step);
        o.mode = modes[_i % MODES];
        o.trust_eps = _i / MODES;
        o.eps = eps[i];
        ck_assert_int_eq(integrate(&p, &o, 0, 10, x, &label, NULL), SPRAG_NOT_CONVERGED);
        ck_assert_int_eq(stats.stop, SPRAG_ESS_MISMATCH);
        ck_assert_int_eq(stats.events, 1);
        // A projection may leave the ball before the guard, by what it neglects.
        double left = o.mode == SPRAG_ESS_FIRST && o.trust_eps ? o.eps * o.eps : 0;
        ck_assert(stats.time > back - left && stats.time < back + left + 2 * step);
    }
    static const double tolerance[] = {1e-6, 0.3, INFINITY};
    for (int i = 0; i < 6; i++) { // by the options, by the problem
        double x[2] = {-0.5, 2}, label = NAN, low = tolerance[i % 3];
        sprag_ess_options o = sprag_ess_defaults(step);
        o.mode = modes[_i % MODES];
        o.label_tolerance = i < 3 ? low : 0.1;
        p.label_tolerance = i < 3 ? NULL : &low;
        sprag_result result = integrate(&p, &o, 0, 5, x, &label, NULL);
        ck_assert_int_eq(result, low < INFINITY ? SPRAG_NOT_CONVERGED : SPRAG_OK);
        double until = 2 + sqrt(3 + 2 * low); // h = 1.5 - (t - 2)^2 / 2
        ck_assert(result == SPRAG_OK || (stats.time >= until && stats.time < until + 2 * step));
    }
    p.label_tolerance = NULL;
    for (int i = 0; i < 2; i++) { // labels that are wrong at the start
        double x[2] = {i ? -1e-3 : 1e-3, 0}, label = i;
        sprag_ess_options o = sprag_ess_defaults(step);
        o.mode = modes[_i % MODES];
        o.eps = 1e-4;
        ck_assert_int_eq(integrate(&p, &o, 0, 5, x, &label, NULL), SPRAG_NOT_CONVERGED);
        ck_assert_int_eq(stats.stop, SPRAG_ESS_MISMATCH);
        ck_assert_double_eq(stats.time, 0);
    }
}
END_TEST

// Thrown to 3 mm before the guard: it enters the band of 10 mm and leaves it again.
START_TEST(strict_ends_where_a_guard_recedes_in_every_mode)
{
    sprag_ess_problem p = {.states = 2, .guards = 1, .field = thrown_field, .guard = line_guard};
    static const double step[] = {1e-3, 0.05, 3};
    static const bool two_way = true;
    for (int i = 0; i < 12; i++) {
        double x[2] = {-0.503, 1}, label = 0;
        sprag_ess_options o = sprag_ess_defaults(step[i % 3]);
        o.mode = modes[_i];
        o.adaptive = i / 3 % 2;
        o.strict = i < 6;
        OK(integrate(&order_problem, &o, 0, 0.5, (double[3]){-0.4, -0.15, 0.3},
                     (double[3]){0, 0, 0}, NULL)); // its guards are live
        ck_assert_int_eq(stats.events, 3);
        p.two_way = NULL;
        sprag_result result = integrate(&p, &o, 0, 3, x, &label, NULL);
        ck_assert_int_eq(stats.events, 0);
        if (o.strict) {
            ck_assert_int_eq(result, SPRAG_NOT_CONVERGED);
            ck_assert_int_eq(stats.stop, SPRAG_ESS_NOT_LIVE);
            ck_assert_int_eq(stats.stop_guard, 0);
            ck_assert(stats.time >= 1 - sqrt(2 * 0.007) - 1e-6);
        } else {
            ck_assert_int_eq(result, SPRAG_OK);
        }
        double y[2] = {-0.503, 1};
        label = 0;
        p.two_way = &two_way; // such may recede
        OK(integrate(&p, &o, 0, 3, y, &label, NULL));
    }
}
END_TEST

// x'' = -2 sgn x - sgn x': ends in the origin after a finite time and infinitely many events.
static void twist_field(void *user, const double *x, const double *label, double *f)
{
    (void)user;
    f[0] = x[1];
    f[1] = 3 - 4 * label[0] - 2 * label[1];
}

static void twist_guard(void *user, const double *x, const int *which, int count, double *h)
{
    (void)user;
    for (int i = 0; i < count; i++) {
        h[i] = x[which ? which[i] : i];
    }
}

START_TEST(zeno_ends_with_its_guard)
{
    static const bool two_way[] = {true, true};
    sprag_ess_problem p = {
        .states = 2, .guards = 2, .field = twist_field, .guard = twist_guard, .two_way = two_way};
    double x[2] = {1, 0.5}, label[2] = {NAN, NAN};
    sprag_ess_options o = sprag_ess_defaults(0.01);
    o.mode = modes[_i];
    o.zeno_events = 10;
    ck_assert_int_eq(integrate(&p, &o, 0, 100, x, label, NULL), SPRAG_NOT_CONVERGED);
    ck_assert_str_eq(sprag_ess_stop_name(stats.stop), "zeno");
    ck_assert(stats.stop_guard == 0 || stats.stop_guard == 1);
    ck_assert_double_lt(stats.time, 20);
    ck_assert_double_lt(fabs(x[0]) + fabs(x[1]), 0.1);
    ck_assert_int_lt(stats.events, 1000);
}
END_TEST

// All three at 0.5 s, exactly.
START_TEST(ties_are_taken_by_index)
{
    for (int m = 0; m < MODES; m++) {
        for (int jump = 0; jump < 2; jump++) {
            sprag_ess_problem p = corner_problem;
            p.jump = jump ? corner_jump : NULL;
            double x[3] = {-0.5, -0.5, -0.5}, label[3];
            sprag_ess_event event[3];
            sprag_ess_output out = {.event = event, .event_room = 3};
            sprag_ess_options o = sprag_ess_defaults(0.125);
            o.mode = modes[m];
            o.eps = 1;
            o.trust_eps = true;
            ask_for_labels(label, 3);
            OK(integrate(&p, &o, 0, 1, x, label, &out));
            ck_assert_int_eq(stats.events, 3);
            for (int i = 0; i < 3; i++) {
                ck_assert_double_eq_tol(event[i].time, 0.5, 1e-15);
                ck_assert(o.mode == SPRAG_ESS_LOCATE || event[i].guard == i);
            }
        }
    }
}
END_TEST

// All three within one step; the field behind the first is what leads to the second.
START_TEST(one_step_may_cross_several_guards)
{
    for (int m = 0; m < MODES; m++) {
        sprag_ess_options o = sprag_ess_defaults(0.5);
        o.mode = modes[m];
        o.eps = 1e-4;
        double x[3], label[3], exact[3];
        flow(&order_problem, order_start, 0.5, exact);
        memcpy(x, order_start, sizeof x);
        ask_for_labels(label, 3);
        OK(integrate(&order_problem, &o, 0, 0.5, x, label, NULL));
        ck_assert_int_eq(stats.events, 3);
        ck_assert_double_le(largest_difference(x, exact, 3), 1e-4); // the long step's own
    }
}
END_TEST

START_TEST(start_on_a_guard_goes_where_the_flow_leads)
{
    static const struct {
        double x, speed;
        double label; // at once
    } start[] = {{0, 1, 1}, {0, -1, 0}, {1e-17, -1, 0}, {-1e-17, 1, 1}, {-0.005, 1, 0}};
    sprag_ess_problem p = {.states = 2, .guards = 1, .field = thrown_field, .guard = line_guard};
    for (size_t i = 0; i < 5; i++) {
        double x[2] = {start[i].x, start[i].speed}, label = NAN;
        sprag_ess_options o = sprag_ess_defaults(0.01);
        OK(integrate(&p, &o, 0, 0, x, &label, NULL));
        ck_assert_double_eq(label, start[i].label);
        OK(integrate(&p, &o, 0, 0.1, x, &label, NULL));
        ck_assert_double_eq(label, start[i].speed > 0 ? 1 : 0);
    }
}
END_TEST

// Up and down again between two samples of a step of 1 s.
START_TEST(brief_touches_are_found)
{
    static const bool two_way = true;
    static const double height[] = {1e-3, 1e-5, 1e-8};
    for (int i = 0; i < 3; i++) {
        for (int phase = 0; phase < 5; phase++) {
            sprag_ess_problem p = {.states = 2,
                                   .guards = 1,
                                   .field = thrown_field,
                                   .guard = line_guard,
                                   .two_way = &two_way};
            double top = 0.13 + 0.17 * phase, half = sqrt(2 * height[i]); // s
            double x[2] = {height[i] - top * top / 2, top}, label = NAN;
            sprag_ess_event event[3];
            sprag_ess_output out = {.event = event, .event_room = 3};
            sprag_ess_options o = sprag_ess_defaults(1);
            o.mode = SPRAG_ESS_LOCATE;
            OK(integrate(&p, &o, 0, 1, x, &label, &out));
            ck_assert_int_eq(stats.events, 2);
            ck_assert_double_eq_tol(event[0].time, top - half, 1e-9);
            ck_assert_double_eq_tol(event[1].time, top + half, 1e-9);
            ck_assert_int_eq(event[1].direction, -1);
            ck_assert_double_eq(label, 0);
        }
    }
}
END_TEST

// x = cos 4 pi t - 0.999 is beyond the guard for 7 ms near 0.5 and 1 s, in a step of 1.2 s: found
// where there are some samples a period.
static void wave_field(void *user, const double *x, const double *label, double *f)
{
    (void)user;
    (void)label;
    f[0] = -4 * M_PI * sin(4 * M_PI * x[1]);
    f[1] = 1;
}

static sprag_result exact_step(const sprag_field *field, double *room, double step, const double *y,
                               const double *f, double *y1, double *f1, double *error)
{
    (void)f;
    room[0] = y[1];
    room[1] = step;
    y1[1] = y[1] + step;
    y1[0] = cos(4 * M_PI * y1[1]) - 0.999;
    field->value(field->data, y1, f1);
    error[0] = error[1] = 0;
    return SPRAG_OK;
}

static void exact_between(const double *room, int n, double part, int first, int end, double *y)
{
    (void)n, (void)first, (void)end;
    y[1] = room[0] + part * room[1];
    y[0] = cos(4 * M_PI * y[1]) - 0.999;
}

START_TEST(more_samples_find_more_touches)
{
    static const sprag_smooth exact = {.name = "exact",
                                       .order = 5,
                                       .room = rk4_room,
                                       .step = exact_step,
                                       .between = exact_between};
    static const bool two_way = true;
    double half = acos(0.999) / (4 * M_PI);
    for (int samples = 6; samples <= 8; samples++) {
        sprag_ess_problem p = {.states = 2,
                               .guards = 1,
                               .field = wave_field,
                               .guard = line_guard,
                               .two_way = &two_way};
        double x[2] = {cos(0.4 * M_PI) - 0.999, 0.1}, label = NAN;
        sprag_ess_event event[5];
        sprag_ess_output out = {.event = event, .event_room = 5};
        sprag_ess_options o = sprag_ess_defaults(1.2);
        o.mode = SPRAG_ESS_LOCATE;
        o.smooth = &exact;
        o.samples = samples;
        OK(integrate(&p, &o, 0.1, 1.3, x, &label, &out));
        ck_assert_int_eq(stats.events, 4);
        for (int i = 0; i < 4; i++) {
            double top = i < 2 ? 0.5 : 1;
            ck_assert_double_eq_tol(event[i].time, top + (i % 2 ? half : -half), 1e-9);
        }
    }
}
END_TEST

// x = -(t - c)^2 reaches the guard at c, a sample or the top of a parabola, and is not beyond.
static const double *touched;

static double touching(double t)
{
    return -(t - *touched) * (t - *touched);
}

static void touching_field(void *user, const double *x, const double *label, double *f)
{
    (void)user;
    (void)label;
    f[0] = -2 * (x[1] - *touched);
    f[1] = 1;
}

static sprag_result touching_step(const sprag_field *field, double *room, double step,
                                  const double *y, const double *f, double *y1, double *f1,
                                  double *error)
{
    exact_step(field, room, step, y, f, y1, f1, error);
    y1[0] = touching(y1[1]);
    field->value(field->data, y1, f1);
    return SPRAG_OK;
}

static void touching_between(const double *room, int n, double part, int first, int end, double *y)
{
    exact_between(room, n, part, first, end, y);
    y[0] = touching(y[1]);
}

START_TEST(a_guard_that_is_touched_exactly_is_not_crossed)
{
    static const sprag_smooth exact = {.name = "exact",
                                       .order = 5,
                                       .room = rk4_room,
                                       .step = touching_step,
                                       .between = touching_between};
    for (int i = 1; i < 64; i++) {
        const double at = i / 64.0;
        sprag_ess_problem p = {
            .states = 2, .guards = 1, .field = touching_field, .guard = line_guard};
        double x[2] = {-at * at, 0}, label = NAN;
        sprag_ess_options o = sprag_ess_defaults(1);
        o.mode = SPRAG_ESS_LOCATE;
        o.smooth = &exact;
        o.samples = 3;
        touched = &at;
        OK(integrate(&p, &o, 0, 1, x, &label, NULL));
        ck_assert_int_eq(stats.events, 0);
        ck_assert_double_eq(label, 0);
    }
}
END_TEST

static void unit_guard(void *user, const double *x, const int *which, int count, double *h)
{
    const double *unit = user;
    for (int i = 0; i < count; i++) {
        int k = which ? which[i] : i;
        order_guard(NULL, x, &k, 1, h + i);
        h[i] *= unit ? unit[k] : 1;
    }
}

// Guards are in units of their own, and so are their bands.
START_TEST(every_guard_has_its_own_band)
{
    static const double unit[3] = {1, 1000, 1e-3};
    double x[2][3], label[3], eps[3];
    for (int i = 0; i < 2; i++) {
        sprag_ess_problem p = order_problem;
        sprag_ess_options o = sprag_ess_defaults(1e-3);
        for (int k = 0; k < 3; k++) {
            eps[k] = 0.01 * unit[k];
        }
        p.user = i ? (void *)unit : NULL;
        p.guard = unit_guard;
        p.row = NULL;
        p.eps = i ? eps : NULL;
        o.eps = i ? 0 : 0.01;
        o.trust_eps = true;
        memcpy(x[i], order_start, sizeof x[i]);
        ask_for_labels(label, 3);
        OK(integrate(&p, &o, 0, 0.5, x[i], label, NULL));
        ck_assert_int_eq(stats.projected, 3);
    }
    ck_assert_double_le(largest_difference(x[0], x[1], 3), 1e-9);
}
END_TEST

// Of a thousand guards three are ever near: no row of the others is asked for.
static void crowd_guard(void *user, const double *x, const int *which, int count, double *h)
{
    for (int i = 0; i < count; i++) {
        int k = which ? which[i] : i;
        h[i] = -5 - k;
        if (k % 400 == 100) {
            k /= 400;
            order_guard(user, x, &k, 1, h + i);
        }
    }
}

static int crowd_row(void *user, const double *x, int guard, int *column, double *value)
{
    ck_assert_msg(guard % 400 == 100 || x[0] == order_start[0], "row of guard %d", guard);
    return order_row(user, x, guard / 400, column, value);
}

static void crowd_field(void *user, const double *x, const double *label, double *f)
{
    double near[3] = {label[100], label[500], label[900]};
    order_field(user, x, near, f);
}

START_TEST(rows_are_asked_for_in_bands_only)
{
    double x[3], exact[3], label[1000] = {0};
    sprag_ess_problem p = {.states = 3,
                           .guards = 1000,
                           .field = crowd_field,
                           .guard = crowd_guard,
                           .row = crowd_row,
                           .row_entries = 1};
    flow(&order_problem, order_start, 0.5, exact);
    for (int m = 0; m < MODES; m++) {
        sprag_ess_options o = sprag_ess_defaults(1e-3);
        o.mode = modes[m];
        memcpy(x, order_start, sizeof x);
        memset(label, 0, sizeof label);
        OK(integrate(&p, &o, 0, 0.5, x, label, NULL));
        ck_assert_int_eq(stats.events, 3);
        ck_assert_double_le(largest_difference(x, exact, 3), 1e-5);
        ck_assert_int_le(stats.rows, 1000 + 100); // labels took one each
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("guards");
    ADD_TESTS(
        suite, "situations", {overdue_guards_are_crossed_at_once, 1},
        {a_way_back_crosses_nothing, 1}, {resting_contact_takes_plain_steps, 1},
        {jumps_are_located_by_halves, 1}, {receding_guards_are_no_candidates, 1},
        {sliding_ends_with_its_guard, 2 * MODES},
        {crossed_guards_that_are_left_again_are_a_mismatch, 1},
        {labels_have_a_tolerance_of_their_own, 2 * MODES},
        {strict_ends_where_a_guard_recedes_in_every_mode, MODES}, {zeno_ends_with_its_guard, MODES},
        {ties_are_taken_by_index, 1}, {one_step_may_cross_several_guards, 1},
        {start_on_a_guard_goes_where_the_flow_leads, 1}, {brief_touches_are_found, 1},
        {more_samples_find_more_touches, 1}, {a_guard_that_is_touched_exactly_is_not_crossed, 1},
        {every_guard_has_its_own_band, 1}, {rows_are_asked_for_in_bands_only, 1});
    int code = run_suite(suite);
    sprag_scratch_free(&scratch);
    return code;
}
