// Event-selected systems against exact answers (test/data/ess), resets, continuation, groups, and
// the interface: bad input, output, determinism.
#include <check.h>
#include <stdlib.h>

#include "ess_cases.h"
#include "problems_ess.h"
#include "suite.h"

typeof(sprag_ess_integrate) plain_ess_integrate; // without versions for wider vectors

// ---- exact answers

// For a constant field a projection is exact, whatever the band, the mode and the ties.
START_TEST(corner_is_exact)
{
    static const double eps[] = {1e-3, 1e-2, 3e-2, 0.1, 0.3, 1, 10};
    table t = table_read("corner3_exact");
    ck_assert_int_eq(t.rows, 27);
    for (size_t e = 0; e < sizeof eps / sizeof *eps; e++) {
        for (int variant = 0; variant < 4 * MODES; variant++) {
            sprag_ess_problem p = corner_problem;
            p.jump = variant & 1 ? corner_jump : NULL;
            sprag_ess_options o = sprag_ess_defaults(0.01);
            o.mode = modes[variant / 4];
            o.trust_eps = variant & 2;
            o.eps = eps[e];
            for (int r = 0; r < t.rows; r++) {
                double x[3], label[3];
                sprag_ess_event event[4];
                sprag_ess_output out = {.event = event, .event_room = 4};
                memcpy(x, t.row[r], sizeof x);
                ask_for_labels(label, 3);
                OK(integrate(&p, &o, 0, 1, x, label, &out));
                ck_assert_double_le(largest_difference(x, t.row[r] + 9, 3), 1e-13);
                ck_assert_int_eq(stats.events, 3);
                for (int i = 0; i < 3; i++) {
                    ck_assert_double_eq_tol(event[i].time, t.row[r][3 + 2 * i], 1e-13);
                    bool tied = (i > 0 && t.row[r][1 + 2 * i] == t.row[r][3 + 2 * i]) ||
                                (i < 2 && t.row[r][5 + 2 * i] == t.row[r][3 + 2 * i]);
                    ck_assert(tied || event[i].guard + 1 == (int)t.row[r][4 + 2 * i]);
                }
            }
        }
    }
    table_free(&t);
}
END_TEST

START_TEST(events_are_where_they_should_be)
{
    table t = table_read("order_events");
    double x[3], label[3], state[3][3];
    sprag_ess_event event[3];
    memcpy(x, order_start, sizeof x);
    ask_for_labels(label, 3);
    sprag_ess_options o = sprag_ess_defaults(1e-3);
    o.mode = SPRAG_ESS_LOCATE;
    sprag_ess_output out = {.event = event, .event_room = 3, .event_state = state[0]};
    OK(integrate(&order_problem, &o, 0, 0.5, x, label, &out));
    for (int i = 0; i < 3; i++) {
        ck_assert_double_eq_tol(event[i].time, t.row[i][0], 1e-12);
        ck_assert_int_eq(event[i].guard + 1, (int)t.row[i][1]);
        ck_assert_double_le(largest_difference(state[i], t.row[i] + 2, 3), 1e-12);
        ck_assert(!event[i].projected && event[i].direction == 1);
    }
    // y is crossed at ydot = x + 1, z at -zdot = 1, x at xdot = y + 1
    ck_assert_double_eq_tol(event[0].rate, t.row[0][2] + 1, 1e-8);
    ck_assert_double_eq_tol(event[1].rate, 1, 1e-8);
    ck_assert_double_eq_tol(event[2].rate, t.row[2][3] + 1, 1e-8);
    table_free(&t);
}
END_TEST

// MuJoCo's error is 2.8e-3 m with Euler at this step, 8.7e-5 m with RK4.
START_TEST(hopper_hops)
{
    static const struct {
        sprag_ess_mode mode;
        double eps, tolerance;
        bool trust;
        double z; // bound
        bool all; // events are projected
    } run[] = {
        // From -eps on, which a step's end is somewhere behind, it is 5.1e-3.
        {SPRAG_ESS_FIRST, 0.01, 1, false, 4e-3, true},
        {SPRAG_ESS_FIRST, 0.01, 1, true, 6e-3, true},
        {SPRAG_ESS_FIRST, 0.01, 1e-6, false, 1e-8, false},
        {SPRAG_ESS_MIDPOINT, 0.02, 1, true, 1e-4, true},
        {SPRAG_ESS_MIDPOINT, 0.02, 1e-3, false, 1e-6, false},
        {SPRAG_ESS_LOCATE, 0.02, 1e-6, false, 1e-8, false},
    };
    static const char *const name[] = {"hopper_exact", "hopper_damped_exact"};
    for (size_t i = 0; i < sizeof run / sizeof *run; i++) {
        hopper leg = {1000, _i ? 4 : 0};
        sprag_ess_options o = sprag_ess_defaults(0.002);
        o.mode = run[i].mode;
        o.eps = run[i].eps;
        o.trust_eps = run[i].trust;
        o.relative_tolerance = run[i].tolerance;
        hopper_error e = run_hopper(name[_i], &leg, &o);
        double allowed = _i && o.trust_eps && o.mode == SPRAG_ESS_FIRST ? 2 * run[i].z : run[i].z;
        ck_assert_msg(e.z <= allowed, "%s, run %zu: %g m", name[_i], i, e.z);
        ck_assert_int_eq(stats.events, _i ? 5 : 4);
        ck_assert(!run[i].all || stats.projected == stats.events);
    }
}
END_TEST

// All 160 rows, velocities too, also with all events of a step at once.
START_TEST(plate_bounces_on_its_bed)
{
    static const struct {
        sprag_ess_mode mode;
        bool adaptive, jump;
        double tolerance, bound;
    } run[] = {{SPRAG_ESS_LOCATE, false, false, 1e-6, 1e-5},
               {SPRAG_ESS_LOCATE, true, false, 1e-9, 1e-5},
               {SPRAG_ESS_LOCATE, true, true, 1e-9, 2e-5},
               {SPRAG_ESS_MIDPOINT, true, false, 1e-4, 3e-2},
               {SPRAG_ESS_MIDPOINT, true, true, 1e-4, 3e-2}};
    table t = table_read("bed_ref");
    ck_assert_int_eq(t.rows, 160);
    double label[100], worst = 0;
    for (int r = 0; r < t.rows; r++) {
        double x[6] = {0, t.row[r][2], t.row[r][3]}, state[4][6];
        static const double time[4] = {0.5, 1, 1.5, 2};
        bed b = bed_make((int)t.row[r][0]);
        sprag_ess_problem p = bed_problem(&b);
        p.jump = run[_i].jump ? p.jump : NULL;
        sprag_ess_options o = sprag_ess_defaults(run[_i].adaptive ? 0.1 : 0.002);
        o.mode = run[_i].mode;
        o.adaptive = run[_i].adaptive;
        o.relative_tolerance = o.absolute_tolerance = run[_i].tolerance;
        o.eps = 0.02;
        sprag_ess_output out = {.time = time, .times = 4, .state = state[0]};
        ask_for_labels(label, b.springs);
        OK(integrate(&p, &o, 0, 2, x, label, &out));
        worst = fmax(worst, largest_difference(state[0], t.row[r] + 5, 24));
        ck_assert(run[_i].bound > 1e-4 || stats.events == (long)t.row[r][4]);
        bed_free(&b);
    }
    ck_assert_msg(worst <= run[_i].bound, "%g", worst);
    table_free(&t);
}
END_TEST

// ---- the reset matrix, continuation, groups

// x grows through guards at 1, 2, 3: 0 arms 2 and disarms 1.
static void steps_guard(void *user, const double *x, const int *which, int count, double *h)
{
    (void)user;
    for (int i = 0; i < count; i++) {
        h[i] = x[0] - 1 - (which ? which[i] : i);
    }
}

static void steps_field(void *user, const double *x, const double *label, double *f)
{
    (void)user;
    (void)x;
    f[0] = 1 + label[0] + 2 * label[1] + 4 * label[2];
}

START_TEST(crossing_arms_and_disarms_others)
{
    static const sprag_ess_reset reset[] = {{0, 1, false}, {0, 2, true}};
    sprag_ess_problem p = {.states = 1,
                           .guards = 3,
                           .field = steps_field,
                           .guard = steps_guard,
                           .reset = reset,
                           .resets = 2};
    double x = 0, label[3] = {0, 0, 1}; // the last one cannot be crossed at first
    sprag_ess_event event[3];
    sprag_ess_output out = {.event = event, .event_room = 3};
    sprag_ess_options o = sprag_ess_defaults(0.01);
    o.mode = modes[_i];
    OK(integrate(&p, &o, 0, 2, &x, label, &out));
    // 5 m/s to x = 1, then 2 to x = 3, then 6
    ck_assert_int_eq(stats.events, 2);
    ck_assert_double_eq_tol(event[0].time, 0.2, 1e-12);
    ck_assert_int_eq(event[1].guard, 2);
    ck_assert_double_eq_tol(event[1].time, 1.2, 1e-12);
    ck_assert_double_eq_tol(x, 3 + 6 * 0.8, 1e-11);
    ck_assert(label[0] == 1 && label[1] == 0 && label[2] == 1);
}
END_TEST

// As an ODE world does: a call a step, labels and state handed on.
START_TEST(many_short_calls_are_one_long_one)
{
    bed b = bed_make(20);
    sprag_ess_problem p = bed_problem(&b);
    sprag_ess_options o = sprag_ess_defaults(0.01);
    double x[2][6] = {{0, 2.5, 0.05}, {0, 2.5, 0.05}}, label[20];
    long events = 0;
    o.mode = modes[_i];
    o.relative_tolerance = o.absolute_tolerance = 1e-9;
    o.adaptive = true;
    ask_for_labels(label, 20);
    OK(integrate(&p, &o, 0, 2, x[0], label, NULL));
    long whole = stats.events;
    ask_for_labels(label, 20);
    for (int i = 0; i < 200; i++) {
        OK(integrate(&p, &o, i * 0.01, (i + 1) * 0.01, x[1], label, NULL));
        events += stats.events;
        o.first_step = stats.next_step;
    }
    ck_assert_int_eq(events, whole);
    ck_assert_double_le(largest_difference(x[0], x[1], 6), 1e-5);
    bed_free(&b);
}
END_TEST

// Ten times the springs, each with a tenth of the stiffness: ten times the events, but f is not
// evaluated more often, as all events of a step are resolved together.
START_TEST(groups_keep_the_number_of_evaluations)
{
    long values[2], events[2];
    double z[2];
    for (int i = 0; i < 2; i++) {
        bed b = bed_make(i ? 1000 : 100);
        sprag_ess_problem p = bed_problem(&b);
        sprag_ess_options o = sprag_ess_defaults(0.002);
        o.mode = SPRAG_ESS_LOCATE;
        o.relative_tolerance = o.absolute_tolerance = 1e-3;
        double x[6] = {0, 2.5, 0.05}, *label = calloc((size_t)b.springs, sizeof *label);
        OK(integrate(&p, &o, 0, 2, x, label, NULL));
        values[i] = stats.field_values;
        events[i] = stats.events;
        z[i] = x[1];
        free(label);
        bed_free(&b);
    }
    ck_assert_int_gt(events[1], 7 * events[0]);
    ck_assert_int_lt(values[1], values[0] * 3 / 2);
    ck_assert_double_eq_tol(z[0], z[1], 0.02);
}
END_TEST

// ---- the interface

static void nan_field(void *user, const double *x, const double *label, double *f)
{
    ck_assert_msg(isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]), "x is always finite");
    order_field(user, x, label, f);
    f[2] = x[0] > *(const double *)user ? NAN : f[2];
}

static void nan_guard(void *user, const double *x, const int *which, int count, double *h)
{
    order_guard(user, x, which, count, h);
    for (int i = 0; i < count; i++) {
        h[i] = (which ? which[i] : i) == 1 && x[0] > *(const double *)user ? INFINITY : h[i];
    }
}

static int bad_row(void *user, const double *x, int guard, int *column, double *value)
{
    order_row(user, x, guard, column, value);
    column[0] = guard == 1 ? 3 : column[0];
    return 1;
}

START_TEST(bad_values_of_callbacks_are_named)
{
    double from[] = {-1, -0.3}; // of x: at the start, later
    for (int later = 0; later < 2; later++) {
        for (int adaptive = 0; adaptive < 2; adaptive++) {
            for (int what = 0; what < 3; what++) {
                sprag_ess_problem p = order_problem;
                p.user = &from[later];
                p.field = what == 0 ? nan_field : order_field;
                p.guard = what == 1 ? nan_guard : order_guard;
                p.row = what == 2 ? bad_row : order_row;
                double x[3], label[3];
                memcpy(x, order_start, sizeof x);
                ask_for_labels(label, 3);
                sprag_ess_options o = sprag_ess_defaults(1e-2);
                o.adaptive = adaptive;
                sprag_result result = integrate(&p, &o, 0, 0.5, x, label, NULL);
                ck_assert_int_ne(result, SPRAG_OK);
                ck_assert_int_ne(stats.stop, SPRAG_ESS_DONE);
                ck_assert_str_ne(message, "");
                ck_assert(what == 0 || result == SPRAG_BAD_PROBLEM);
            }
        }
    }
}
END_TEST

static void unit_field(void *user, const double *x, const double *label, double *f)
{
    (void)user, (void)x, (void)label;
    f[0] = 1;
}

static void hole_guard(void *user, const double *x, const int *which, int count, double *h)
{
    (void)user, (void)which;
    for (int i = 0; i < count; i++) {
        h[i] = x[0] > -0.3 && x[0] < -0.2 ? INFINITY : x[0];
    }
}

// A value that is bad in the middle of a step alone ends it before any event.
START_TEST(bad_values_within_a_step_are_named)
{
    sprag_ess_problem p = {.states = 1, .guards = 1, .field = unit_field, .guard = hole_guard};
    sprag_ess_options o = sprag_ess_defaults(1.5);
    double x = -1, label = 0;
    o.mode = SPRAG_ESS_LOCATE;
    o.samples = 1;
    ck_assert_int_eq(integrate(&p, &o, 0, 3, &x, &label, NULL), SPRAG_BAD_PROBLEM);
    ck_assert_int_eq(stats.stop, SPRAG_ESS_BAD_VALUE);
    ck_assert_int_eq(stats.stop_guard, 0);
    ck_assert_int_eq(stats.events, 0);
    ck_assert_double_eq(x, -1);
}
END_TEST

START_TEST(bad_entries_are_named)
{
    static const bool two_way[3];
    static const sprag_ess_reset reset[] = {
        {0, 3, true}, {0, -1, true}, {3, 0, true}, {-1, 0, true}};
    static const double eps[3] = {0.1, -1, 0}, scale[3] = {1, 0, 1}, time[2] = {0.3, 0.2};
    static const double wide[3] = {1, INFINITY, 1};
    static double state[6], direction[3] = {1, NAN, 0};
    for (int i = 0; i < 49; i++) {
        sprag_ess_problem p = order_problem;
        p.two_way = two_way;
        sprag_ess_options o = sprag_ess_defaults(1e-2);
        sprag_ess_output out = {.time = time, .times = 1, .state = state};
        double x[3], label[3] = {0, 0, 0}, start = 0, end = 0.5;
        memcpy(x, order_start, sizeof x);
        const char *name = NULL;
        switch (i) {
#define BAD(number, change, word)                                                                  \
    case number:                                                                                   \
        change;                                                                                    \
        name = word;                                                                               \
        break
            BAD(0, p.states = 0, "states");
            BAD(1, p.guards = -1, "guards");
            BAD(2, p.field = NULL, "field");
            BAD(3, p.guard = NULL, "guard");
            BAD(4, p.row_entries = 4, "row_entries");
            BAD(5, p.row_entries = -1, "row_entries");
            BAD(6, p.resets = -1, "resets");
            BAD(7, p.resets = 1, "reset");
            BAD(8, (p.resets = 1, p.reset = reset), "reset[0]");
            BAD(9, p.eps = eps, "eps[1]");
            BAD(10, o.step = 0, "step");
            BAD(11, o.step = NAN, "step");
            BAD(12, o.step = INFINITY, "step");
            BAD(13, o.first_step = -1, "first_step");
            BAD(14, o.relative_tolerance = -1, "relative_tolerance");
            BAD(15, o.absolute_tolerance = 0, "absolute_tolerance");
            BAD(16, o.eps = NAN, "eps");
            BAD(17, o.corner_time = -1, "corner_time");
            BAD(18, o.zeno_time = NAN, "zeno_time");
            BAD(19, o.zeno_events = 0, "zeno_events");
            BAD(20, o.max_steps = 0, "max_steps");
            BAD(21, o.samples = 0, "samples");
            BAD(22, o.samples = 9, "samples");
            BAD(23, o.mode = (sprag_ess_mode)7, "mode");
            BAD(24, o.scale = scale, "scale[1]");
            BAD(25, x[2] = NAN, "x[2]");
            BAD(26, x[1] = -INFINITY, "x[1]");
            BAD(27, label[1] = 0.5, "label[1]");
            BAD(28, end = -1, "-1");
            BAD(29, start = NAN, "nan");
            BAD(30, out.times = 2, "time[1]");
            BAD(31, out.times = -1, "times");
            BAD(32, out.state = NULL, "state");
            BAD(33, out.time = NULL, "time");
            BAD(34, (out.directions = 1, out.direction = direction), "direction[1]");
            BAD(36, o.label_tolerance = 0, "label_tolerance");
            BAD(37, p.label_tolerance = scale, "label_tolerance[1]");
            BAD(38, p.rate_bound = eps, "rate_bound[1]");
            BAD(39, p.rate_bound = direction, "rate_bound[1]");
            BAD(40, (p.rate_bound = scale, o.label_tolerance = INFINITY), "rate_bound[0]");
            BAD(35, (out.directions = 1, out.direction = NULL), "direction");
            BAD(41, out.event_room = -1, "event_room");
            BAD(42, out.directions = -1, "directions");
            BAD(43, (p.resets = 1, p.reset = reset + 1), "reset[0]");
            BAD(44, (p.resets = 1, p.reset = reset + 2), "reset[0]");
            BAD(45, (p.resets = 1, p.reset = reset + 3), "reset[0]");
            BAD(46, p.eps = wide, "eps[1]");
            BAD(47, start = 0.35, "time[0]");
            BAD(48, end = 0.25, "time[0]");
        }
        ck_assert_msg(integrate(&p, &o, start, end, x, label, &out) == SPRAG_BAD_PROBLEM, "%s",
                      name);
        ck_assert_msg(strstr(message, name), "\"%s\" does not name %s", message, name);
    }
    double x[3], w[3];
    memcpy(x, order_start, sizeof x);
    sprag_ess_options o = sprag_ess_defaults(1e-2);
    ck_assert_int_eq(integrate(&order_problem, &o, 0, 1, x, NULL, NULL), SPRAG_BAD_PROBLEM);
    ck_assert_ptr_nonnull(strstr(message, "label"));
    ck_assert_int_eq(integrate(&order_problem, NULL, 0, 1, x, NULL, NULL), SPRAG_BAD_PROBLEM);
    ck_assert_ptr_nonnull(strstr(message, "options"));
    ck_assert_int_eq(integrate(&order_problem, &o, 0, 1, NULL, NULL, NULL), SPRAG_BAD_PROBLEM);
    ck_assert_ptr_nonnull(strstr(message, "x is missing"));
    static const int guard[] = {0, 3};
    static const double label[3], v[3] = {1, 2, 3};
    ck_assert_int_eq(sprag_ess_corner(&order_problem, x, label, guard, 2, false, v, w, NULL,
                                      &scratch, message, sizeof message),
                     SPRAG_BAD_PROBLEM);
    ck_assert_ptr_nonnull(strstr(message, "guard[1]"));
}
END_TEST

static sprag_result corner_of(const sprag_ess_problem *p, const double *at[3], const int *guard,
                              int guards)
{
    double w[3];
    sprag_result result = sprag_ess_corner(p, at[0], at[1], guard, guards, false, at[2], w, NULL,
                                           &scratch, message, sizeof message);
    sprag_scratch_reset(&scratch);
    return result;
}

static void keep_state(void *user, const double *x, const double *label, int guard, double *after)
{
    (void)user, (void)label, (void)guard;
    memcpy(after, x, 3 * sizeof *after);
}

// Each entry of a corner that is missing or out of its range, by its name.
START_TEST(bad_corners_are_named)
{
    static const double x[3], label[3] = {0, 1, 0}, below[3] = {0, -1, 0}, v[3] = {1, 2, 3};
    static const double bad[3] = {0, NAN, 0};
    static const bool mapped[3] = {false, true, false};
    static const int low[] = {-1}, guard[] = {0, 2}, mapped_guard[] = {0, 1};
    static const struct {
        const char *name;
        const double *at[3];
        const int *guard;
        int guards;
    } wrong[] = {
        {"guards", {x, label, v}, NULL, 1},    {"guards", {x, label, v}, guard, -1},
        {"guard[0]", {x, label, v}, low, 1},   {"x is missing", {NULL, label, v}, guard, 2},
        {"x[1]", {bad, label, v}, guard, 2},   {"label is missing", {x, NULL, v}, guard, 2},
        {"label[1]", {x, below, v}, guard, 2}, {"v is missing", {x, label, NULL}, guard, 2},
        {"v[1]", {x, label, bad}, guard, 2},   {"guard[1]", {x, label, v}, mapped_guard, 2}};
    sprag_ess_problem p = order_problem;
    p.reset_map = keep_state;
    p.is_mapped = mapped;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const double *at[3] = {wrong[i].at[0], wrong[i].at[1], wrong[i].at[2]};
        ck_assert_int_eq(corner_of(&p, at, wrong[i].guard, wrong[i].guards), SPRAG_BAD_PROBLEM);
        ck_assert_msg(strstr(message, wrong[i].name), "%s: %s", message, wrong[i].name);
    }
    const double *at[3] = {x, label, v};
    ck_assert_int_eq(corner_of(NULL, at, guard, 2), SPRAG_BAD_PROBLEM);
    ck_assert_int_ne(corner_of(&p, at, guard, 2), SPRAG_BAD_PROBLEM);
    ck_assert_int_eq(corner_of(&p, at, NULL, 0), SPRAG_OK);
    p.is_mapped = NULL; // every guard is
    ck_assert_int_eq(corner_of(&p, at, guard, 2), SPRAG_BAD_PROBLEM);
    ck_assert_ptr_nonnull(strstr(message, "guard[0]"));
}
END_TEST

typedef struct watch {
    double end;      // of the last piece
    double state[6]; // there
    double gap;      // between the last piece and this
    double at[6], time;
    int pieces;
} watch;

static void observe(void *user, double start, double end, const sprag_ess_piece *piece)
{
    watch *w = user;
    double x[6];
    ck_assert_double_eq(start, w->end);
    ck_assert_double_gt(end, start);
    sprag_ess_piece_at(piece, start, x);
    w->gap = w->pieces++ ? fmax(w->gap, largest_difference(x, w->state, 6)) : 0;
    sprag_ess_piece_at(piece, end, w->state);
    if (start <= w->time && w->time <= end) {
        sprag_ess_piece_at(piece, w->time, w->at);
    }
    w->end = end;
}

// Pieces follow one another without a gap, and say the same as the states asked for.
START_TEST(dense_output_is_continuous)
{
    bed b = bed_make(40);
    for (int jump = 0; jump < 2; jump++) {
        sprag_ess_problem p = bed_problem(&b);
        p.jump = jump ? p.jump : NULL;
        double x[6] = {0, 2.5, 0.05}, label[40], state[6], time = 1.2345;
        watch w = {.time = time};
        sprag_ess_output out = {
            .time = &time, .times = 1, .state = state, .user = &w, .observe = observe};
        sprag_ess_options o = sprag_ess_defaults(0.002);
        o.mode = modes[_i];
        o.relative_tolerance = 1e-4;
        ask_for_labels(label, 40);
        OK(integrate(&p, &o, 0, 2, x, label, &out));
        ck_assert_double_eq(w.end, 2);
        ck_assert_double_le(w.gap, 1e-11);
        ck_assert_double_le(largest_difference(w.at, state, 6), 0);
        ck_assert_double_le(largest_difference(w.state, x, 6), 1e-12);
    }
    bed_free(&b);
}
END_TEST

// In long steps guards that have just been crossed are ahead as well: once each. What groups of
// events neglect is added to the path: without, heights are 1.5 to 2 times as wrong.
START_TEST(long_steps_cross_many_guards)
{
    static const double tolerance[] = {1e-4, 5e-5, 2e-5, 1e-5};
    static const double limit[] = {4e-5, 4e-5, 2e-5, 1.6e-5}; // m
    table t = table_read("bed_ref");
    double square = 0;
    int runs = 0;
    bed b = bed_make(100);
    for (int r = 0; r < t.rows; r++) {
        if ((int)t.row[r][0] != b.springs) {
            continue;
        }
        sprag_ess_problem p = bed_problem(&b);
        sprag_ess_options o = sprag_ess_defaults(2);
        double x[6] = {0, t.row[r][2], t.row[r][3]}, label[100];
        ask_for_labels(label, b.springs);
        o.adaptive = true;
        o.mode = SPRAG_ESS_MIDPOINT;
        o.eps = 0.02;
        o.relative_tolerance = o.absolute_tolerance = tolerance[_i];
        o.max_steps = 5000;
        OK(integrate(&p, &o, 0, 2, x, label, NULL));
        ck_assert_int_lt(stats.steps, 1000);
        square += pow(x[1] - t.row[r][5 + 3 * 6 + 1], 2); // at 2 s
        runs++;
    }
    ck_assert_double_lt(sqrt(square / runs), limit[_i]);
    bed_free(&b);
    table_free(&t);
}
END_TEST

static void still_field(void *user, const double *x, const double *label, double *f)
{
    (void)user, (void)x, (void)label;
    memset(f, 0, 3 * sizeof *f);
}

// The values at the ends of what entries may be.
START_TEST(extreme_entries_are_accepted)
{
    static const double none[3], endless[3] = {INFINITY, INFINITY, INFINITY}, time[] = {0, 0, 0.01};
    for (int i = 0; i < 15; i++) {
        double x[3], label[3] = {0, 0, 0}, state[9], *labels = i == 5 ? NULL : label;
        sprag_ess_options o = sprag_ess_defaults(1e-2);
        sprag_ess_problem p = order_problem;
        sprag_ess_output out = {.time = time, .times = i == 6 ? 3 : 0, .state = state};
        p.guards = i == 5 ? 0 : p.guards;
        p.guard = i == 5 ? NULL : p.guard;
        p.field = i == 5 ? still_field : p.field;
        p.row_entries = i == 7 ? 0 : i == 8 ? 3 : p.row_entries;
        p.eps = i == 9 ? none : NULL;
        p.label_tolerance = i == 10 ? endless : NULL;
        p.rate_bound = i == 10 ? endless : NULL;
        o.eps = i == 11 ? 0 : o.eps;
        o.corner_time = i == 12 ? 0 : o.corner_time;
        o.zeno_time = i == 13 ? 0 : o.zeno_time;
        o.relative_tolerance = i == 14 ? 0 : o.relative_tolerance;
        out.state = i == 6 ? out.state : NULL;
        memcpy(x, order_start, sizeof x);
        o.samples = i == 0 ? 1 : i == 1 ? 8 : o.samples;
        o.zeno_events = i == 2 ? 1 : o.zeno_events;
        o.max_steps = i == 3 ? 1 : o.max_steps;
        o.first_step = i == 4 ? 0 : o.first_step;
        ck_assert_msg(integrate(&p, &o, 0, i == 3 ? 1e-3 : 0.01, x, labels, &out) == SPRAG_OK,
                      "%d: %s", i, message);
        ck_assert_int_eq(out.reached, out.times);
        ck_assert_msg(integrate(&p, &o, 1, 1, x, labels, NULL) == SPRAG_OK, "%d: %s", i, message);
    }
}
END_TEST

START_TEST(same_problem_gives_the_same_bits)
{
    bed b = bed_make(60);
    sprag_ess_problem p = bed_problem(&b);
    double x[2][6], label[60];
    sprag_ess_event event[2][600];
    memset(event, 0, sizeof event);
    long events[2], allocations[2];
    for (int i = 0; i < 2; i++) {
        memcpy(x[i], (double[6]){0, 2.5, 0.05}, sizeof x[i]);
        ask_for_labels(label, 60);
        sprag_ess_output out = {.event = event[i], .event_room = 600};
        sprag_ess_options o = sprag_ess_defaults(0.05);
        o.mode = modes[_i];
        o.adaptive = true;
        OK(integrate(&p, &o, 0, 2, x[i], label, &out));
        events[i] = stats.events;
        allocations[i] = scratch.allocations;
    }
    ck_assert_mem_eq(x[0], x[1], sizeof x[0]);
    ck_assert_int_eq(events[0], events[1]);
    for (long i = 0; i < events[0]; i++) {
        ck_assert(event[0][i].time == event[1][i].time && event[0][i].guard == event[1][i].guard &&
                  event[0][i].rate == event[1][i].rate);
        ck_assert(i == 0 || event[0][i].time >= event[0][i - 1].time);
    }
    ck_assert_int_eq(allocations[0], allocations[1]);
    bed_free(&b);
}
END_TEST

// Whatever the processor has, for the integrator and for f: 103 springs fill no vectors.
START_TEST(wide_vectors_give_the_same_bits)
{
    bed plain = bed_make(103), wide = plain;
    bed_widen(&wide);
    sprag_ess_problem p[2] = {bed_problem(&plain), bed_problem(&wide)};
    double x[2][6], label[103];
    sprag_ess_stats of[2];
    for (int adaptive = 0; adaptive < 2; adaptive++) {
        sprag_ess_options o = sprag_ess_defaults(adaptive ? 0.1 : 0.002);
        o.mode = modes[_i];
        o.adaptive = adaptive;
        o.eps = 0.02;
        o.relative_tolerance = o.absolute_tolerance = 1e-4;
        for (int i = 0; i < 2; i++) {
            memcpy(x[i], (double[6]){0, 2.5, 0.05}, sizeof x[i]);
            ask_for_labels(label, 103);
            typeof(sprag_ess_integrate) *with = i ? sprag_ess_integrate : plain_ess_integrate;
            OK(with(&p[i], &o, 0, 2, x[i], label, NULL, &scratch, &of[i], NULL, 0));
            sprag_scratch_reset(&scratch);
        }
        ck_assert_mem_eq(x[0], x[1], sizeof x[0]);
        ck_assert_mem_eq(&of[0], &of[1], sizeof of[0]);
        ck_assert_int_gt(of[0].events, 400);
    }
    bed_free(&plain);
}
END_TEST

// The first of three guards to be crossed ends it, or one behind others does.
START_TEST(last_event_ends_the_integration)
{
    static const double time[] = {0.209588078334635, 0.262364264467491, 0.369207153821750};
    static const int guard[] = {1, 2, 0};
    for (int mode = 0; mode < 3; mode++) {
        bool last[3] = {false};
        double x[3], label[3] = {NAN, NAN, NAN};
        sprag_ess_problem p = order_problem;
        sprag_ess_options options = sprag_ess_defaults(0.5);
        sprag_ess_stats stats;
        options.adaptive = true;
        options.mode = (sprag_ess_mode)mode;
        options.relative_tolerance = options.absolute_tolerance = 1e-9;
        options.eps = 1e-4;
        last[guard[_i]] = true;
        p.terminal = last;
        memcpy(x, order_start, sizeof x);
        sprag_result result =
            sprag_ess_integrate(&p, &options, 0, 0.5, x, label, NULL, &scratch, &stats, NULL, 0);
        ck_assert_int_eq(result, SPRAG_NOT_CONVERGED);
        ck_assert_int_eq(stats.stop, SPRAG_ESS_LAST_EVENT);
        ck_assert_str_eq(sprag_ess_stop_name(stats.stop), "last event");
        ck_assert_int_eq(stats.stop_guard, guard[_i]);
        ck_assert_int_eq(stats.events, _i + 1);
        ck_assert_double_eq_tol(stats.time, time[_i], 1e-5);
        ck_assert_double_eq(label[guard[_i]], 1);
        sprag_scratch_reset(&scratch);
    }
}
END_TEST

static void field_before(void *user, const double *x, const double *label, double *f)
{
    (void)user;
    (void)x;
    f[0] = label[0] == 0 ? 1 : NAN;
}

static void guard_of_half(void *user, const double *x, const int *which, int count, double *h)
{
    (void)user;
    (void)which;
    (void)count;
    h[0] = x[0] - 0.5;
}

static int row_of_half(void *user, const double *x, int guard, int *column, double *value)
{
    (void)user;
    (void)x;
    column[0] = guard;
    value[0] = 1;
    return 1;
}

// Behind a located event that ends the integration there need be no field.
START_TEST(nothing_is_asked_behind_the_last_event)
{
    const bool last = true;
    double x = 0, label = NAN;
    const sprag_ess_problem p = {.states = 1,
                                 .guards = 1,
                                 .field = field_before,
                                 .guard = guard_of_half,
                                 .row = row_of_half,
                                 .row_entries = 1,
                                 .terminal = &last};
    sprag_ess_options o = sprag_ess_defaults(1);
    o.mode = SPRAG_ESS_LOCATE;
    ck_assert_int_eq(integrate(&p, &o, 0, 1, &x, &label, NULL), SPRAG_NOT_CONVERGED);
    ck_assert_int_eq(stats.stop, SPRAG_ESS_LAST_EVENT);
    ck_assert_int_eq(stats.field_values, 7); // of a step
    ck_assert_double_eq_tol(x, 0.5, 1e-9);
    ck_assert_double_eq(label, 1);
}
END_TEST

START_TEST(steps_are_limited)
{
    double x[3], label[3];
    memcpy(x, order_start, sizeof x);
    ask_for_labels(label, 3);
    sprag_ess_options o = sprag_ess_defaults(1e-3);
    o.max_steps = 10;
    ck_assert_int_eq(integrate(&order_problem, &o, 0, 0.5, x, label, NULL), SPRAG_NOT_CONVERGED);
    ck_assert_int_eq(stats.stop, SPRAG_ESS_MANY_STEPS);
    ck_assert_double_eq_tol(stats.time, 0.01, 1e-12);
    ck_assert_str_eq(message, "10 steps, at 0.01 s");
    o.max_steps = 1000;
    ck_assert_int_eq(integrate(&order_problem, &o, 0, 0.5, x, label, NULL), SPRAG_OK);
    ck_assert_str_eq(message, "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ess");
    ADD_TESTS(suite, "exact answers", {corner_is_exact, 1}, {events_are_where_they_should_be, 1},
              {hopper_hops, 2}, {plate_bounces_on_its_bed, 5}, {long_steps_cross_many_guards, 4});
    ADD_TESTS(suite, "resets, continuation, groups", {crossing_arms_and_disarms_others, MODES},
              {many_short_calls_are_one_long_one, MODES},
              {groups_keep_the_number_of_evaluations, 1});
    ADD_TESTS(suite, "interface", {bad_values_of_callbacks_are_named, 1},
              {bad_values_within_a_step_are_named, 1}, {bad_entries_are_named, 1},
              {extreme_entries_are_accepted, 1}, {bad_corners_are_named, 1},
              {dense_output_is_continuous, MODES}, {same_problem_gives_the_same_bits, MODES},
              {wide_vectors_give_the_same_bits, MODES}, {steps_are_limited, 1},
              {last_event_ends_the_integration, 3}, {nothing_is_asked_behind_the_last_event, 1});
    int code = run_suite(suite);
    sprag_scratch_free(&scratch);
    return code;
}
