// Guards that move faster than the flow: with a bound on their speed no crossing is lost, whatever
// the steps. Systems of this file alone; the crossings are those of sums of sines, found by
// bisection on a grid of 6e4 points.
#include "ess_cases.h"

enum { WAVES = 3, MOST = 2000, GRID = 60000 };

// States: time, y. y' = 1, or -y where an odd number of labels is 1. Guard k: a sum of sines of the
// time, plus `pull` y.
typedef struct waves {
    int guards;
    double height[4][WAVES], pace[4][WAVES], phase[4][WAVES], level[4], pull[4];
} waves;

static double wave(const waves *w, int k, double time)
{
    double h = w->level[k];
    for (int i = 0; i < WAVES; i++) {
        h += w->height[k][i] * sin(w->pace[k][i] * time + w->phase[k][i]);
    }
    return h;
}

static void waves_field(void *user, const double *x, const double *label, double *f)
{
    const waves *w = user;
    int on = 0;
    for (int k = 0; k < w->guards; k++) {
        on += label[k] != 0;
    }
    f[0] = 1;
    f[1] = on % 2 ? -x[1] : 1;
}

static void waves_guard(void *user, const double *x, const int *which, int count, double *h)
{
    const waves *w = user;
    for (int i = 0; i < count; i++) {
        h[i] = wave(w, which ? which[i] : i, x[0]) + w->pull[which ? which[i] : i] * x[1];
    }
}

static double fraction(uint64_t *state) // [0, 1)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)((*state ^ *state >> 32) * 0x9e3779b97f4a7c15u >> 11) / 9007199254740992.0;
}

// bound: of |dh/dt|; |y'| <= 1 while |y| <= 1.
static waves make_waves(uint64_t seed, int guards, double *bound)
{
    uint64_t state = 2 * seed + 1;
    waves w = {.guards = guards};
    for (int k = 0; k < guards; k++) {
        bound[k] = 0;
        for (int i = 0; i < WAVES; i++) {
            w.height[k][i] = 0.2 + fraction(&state);
            w.pace[k][i] = pow(10, 2.5 * fraction(&state)); // 1/s
            w.phase[k][i] = 6 * fraction(&state);
            bound[k] += w.height[k][i] * w.pace[k][i];
        }
        w.level[k] = 2 * fraction(&state) - 1;
    }
    return w;
}

typedef struct crossing {
    double time;
    int guard;
} crossing;

static int by_time(const void *a, const void *b)
{
    const crossing *p = a, *q = b;
    return (p->time > q->time) - (p->time < q->time);
}

// Crossings up to `end`, in order.
static int true_crossings(const waves *w, double end, crossing *found)
{
    int count = 0;
    for (int k = 0; k < w->guards; k++) {
        for (int i = 0; i < GRID; i++) {
            double low = end * i / GRID, high = end * (i + 1) / GRID;
            bool up = wave(w, k, low) < 0;
            if (up == (wave(w, k, high) < 0)) {
                continue;
            }
            for (int round = 0; round < 60; round++) {
                double middle = (low + high) / 2;
                *((wave(w, k, middle) < 0) == up ? &low : &high) = middle;
            }
            ck_assert_int_lt(count, MOST);
            found[count++] = (crossing){high, k};
        }
    }
    qsort(found, (size_t)count, sizeof *found, by_time);
    return count;
}

// y at `end`, from 0.3 at time 0.
static double true_y(const waves *w, const crossing *c, int count, double end)
{
    int on = 0;
    double y = 0.3, time = 0;
    for (int k = 0; k < w->guards; k++) {
        on += wave(w, k, 0) > 0;
    }
    for (int i = 0; i <= count; i++, on++) { // a crossing either way changes whether it is odd
        double until = i < count ? c[i].time : end;
        y = on % 2 ? y * exp(time - until) : y + until - time;
        time = until;
    }
    return y;
}

static const bool two_way[4] = {true, true, true, true};

static sprag_ess_problem waves_problem(waves *w, const double *bound)
{
    return (sprag_ess_problem){.states = 2,
                               .guards = w->guards,
                               .user = w,
                               .field = waves_field,
                               .guard = waves_guard,
                               .two_way = two_way,
                               .rate_bound = bound};
}

// Steps as long as the tolerance allows: of a linear field, up to the whole time.
static sprag_ess_options long_steps(sprag_ess_mode mode, double end)
{
    sprag_ess_options o = sprag_ess_defaults(end);
    o.mode = mode;
    o.adaptive = true;
    o.zeno_events = MOST;
    return o;
}

static void check_events(const sprag_ess_event *event, const crossing *c, int count, double error)
{
    ck_assert_int_eq(stats.events, count);
    for (int i = 0; i < count; i++) {
        ck_assert_int_eq(event[i].guard, c[i].guard);
        ck_assert_double_eq_tol(event[i].time, c[i].time, error);
    }
}

// Sixty-four crossings of a sine in a second.
START_TEST(steps_longer_than_a_period_lose_crossings_without_a_bound_only)
{
    double bound = 64 * M_PI, y;
    waves w = {.guards = 1, .height = {{1}}, .pace = {{bound}}, .phase = {{-0.3}}};
    sprag_ess_problem p = waves_problem(&w, &bound);
    sprag_ess_options o = long_steps(modes[_i], 1);
    sprag_ess_event event[64];
    crossing c[MOST];
    ck_assert_int_eq(true_crossings(&w, 1, c), 64);
    y = true_y(&w, c, 64, 1);
    sprag_ess_output out = {.event = event, .event_room = 64};
    double x[2] = {0, 0.3}, label = NAN;
    OK(integrate(&p, &o, 0, 1, x, &label, &out));
    check_events(event, c, 64, 1e-6);
    ck_assert_double_eq_tol(x[1], y, 1e-5);

    p.rate_bound = NULL;
    double z[2] = {0, 0.3};
    label = NAN;
    OK(integrate(&p, &o, 0, 1, z, &label, &out));
    ck_assert_int_lt(stats.events, 64);

    o.step = 1.0 / 64 / 4; // four a crossing
    double x1[2] = {0, 0.3};
    label = NAN;
    OK(integrate(&p, &o, 0, 1, x1, &label, &out));
    check_events(event, c, 64, 1e-6);
    ck_assert_double_eq_tol(x1[1], y, 1e-5);
}
END_TEST

// Excursions lower than the tolerance of labels may be missed; there are none in these.
static bool is_clear(const waves *w, double end)
{
    for (int k = 0; k < w->guards; k++) {
        double last = wave(w, k, 0), change = 0;
        for (int i = 1; i <= GRID; i++) {
            double h = wave(w, k, end * i / GRID);
            if (change * (h - last) < 0 && fabs(last) < 1e-4) {
                return false;
            }
            change = h - last;
            last = h;
        }
    }
    return true;
}

START_TEST(no_crossing_of_random_waves_is_lost)
{
    static crossing c[MOST];
    static sprag_ess_event event[MOST];
    int guards = 1 + _i % 4, mode = _i / 4 % MODES;
    double bound[4], end = 3, x[2] = {0, 0.3}, label[4];
    waves w = make_waves((uint64_t)_i, guards, bound);
    if (!is_clear(&w, end)) {
        return;
    }
    int count = true_crossings(&w, end, c);
    sprag_ess_problem p = waves_problem(&w, bound);
    sprag_ess_options o = long_steps(modes[mode], end);
    o.adaptive = _i % 5 != 0; // else one step of 3 s, but for events
    o.relative_tolerance = o.absolute_tolerance = 1e-8;
    sprag_ess_output out = {.event = event, .event_room = MOST};
    ask_for_labels(label, guards);
    OK(integrate(&p, &o, 0, end, x, label, &out));
    check_events(event, c, count, 1e-6);
    if (o.adaptive) {
        ck_assert_double_eq_tol(x[1], true_y(&w, c, count, end), 1e-5);
    }
}
END_TEST

// A guard that depends on the state, too, and arms another: the answer is that of short steps.
START_TEST(guards_of_the_state_that_arm_each_other_are_not_lost)
{
    static const bool one_way[4];
    static const sprag_ess_reset reset[] = {{0, 1, true}, {1, 0, true}};
    waves w = {.guards = 2,
               .height = {{0.8, 0.3}, {-0.8, -0.3}},
               .pace = {{150, 61}, {150, 61}},
               .level = {-0.4, 0.4},
               .pull = {0.3, -0.3}};
    double bound[4] = {0.8 * 150 + 0.3 * 61 + 0.3, 0.8 * 150 + 0.3 * 61 + 0.3};
    sprag_ess_problem p = waves_problem(&w, bound);
    p.two_way = one_way;
    p.reset = reset;
    p.resets = 2;
    sprag_ess_event event[2][MOST];
    double x[2][2] = {{0, 0.1}, {0, 0.1}}, label[2][4] = {{0, 1}, {0, 1}};
    for (int s = 0; s < 2; s++) {
        sprag_ess_output out = {.event = event[s], .event_room = MOST};
        sprag_ess_options o = long_steps(SPRAG_ESS_LOCATE, 2);
        o.adaptive = s == 0;
        o.step = s == 0 ? 2 : 1e-4;
        p.rate_bound = s == 0 ? bound : NULL;
        OK(integrate(&p, &o, 0, 2, x[s], label[s], &out));
        ck_assert_int_gt(stats.events, 90);
    }
    long events = stats.events;
    for (long i = 0; i < events; i++) {
        ck_assert_int_eq(event[0][i].guard, event[1][i].guard);
        ck_assert_double_eq_tol(event[0][i].time, event[1][i].time, 1e-7);
    }
    ck_assert_double_eq_tol(x[0][1], x[1][1], 1e-5);
}
END_TEST

// Beyond the guard for 0.9 ms of every 157 ms, by 1e-4.
START_TEST(brief_touches_are_found_under_a_bound)
{
    double bound = 40;
    waves w = {.guards = 1, .height = {{1}}, .pace = {{40}}, .level = {1e-4 - 1}};
    crossing c[MOST];
    sprag_ess_event event[MOST];
    int count = true_crossings(&w, 5, c);
    ck_assert_int_eq(count, 64);
    sprag_ess_problem p = waves_problem(&w, &bound);
    sprag_ess_output out = {.event = event, .event_room = MOST};
    sprag_ess_options o = long_steps(modes[_i], 5);
    double x[2] = {0, 0.3}, label = NAN;
    OK(integrate(&p, &o, 0, 5, x, &label, &out));
    check_events(event, c, count, 1e-5);
}
END_TEST

START_TEST(bounds_that_do_not_hold_are_named)
{
    double bound[4];
    waves w = make_waves(7, 2, bound);
    bound[1] /= 3;
    sprag_ess_problem p = waves_problem(&w, bound);
    sprag_ess_options o = long_steps(modes[_i], 3);
    double x[2] = {0, 0.3}, label[4] = {NAN, NAN};
    ck_assert_int_eq(integrate(&p, &o, 0, 3, x, label, NULL), SPRAG_BAD_PROBLEM);
    ck_assert_int_eq(stats.stop, SPRAG_ESS_BAD_VALUE);
    ck_assert_int_eq(stats.stop_guard, 1);
    ck_assert_ptr_nonnull(strstr(message, "rate_bound"));
}
END_TEST

static long asked;

static bool stop_after_a_thousand(void *user, double time)
{
    (void)user, (void)time;
    return ++asked > 1000;
}

// A bound far above the speed of a guard that stays near 0 asks for millions of its values.
START_TEST(the_caller_stops_a_search_within_a_step)
{
    double bound = 1e7;
    waves w = {.guards = 1, .height = {{1e-3}}, .pace = {{1}}, .level = {-2e-3}};
    sprag_ess_problem p = waves_problem(&w, &bound);
    sprag_ess_options o = long_steps(modes[_i], 1);
    double x[2] = {0, 0.3}, label = NAN;
    asked = 0;
    p.should_stop = stop_after_a_thousand;
    ck_assert_int_eq(integrate(&p, &o, 0, 1, x, &label, NULL), SPRAG_NOT_CONVERGED);
    ck_assert_int_eq(stats.stop, SPRAG_ESS_MANY_STEPS);
    ck_assert_int_ge(asked, 1000);
    ck_assert_int_lt(asked, 1010);
}
END_TEST

// INFINITY is no bound: the same bits as without.
START_TEST(unknown_bounds_change_nothing)
{
    static const double bound[3] = {INFINITY, INFINITY, INFINITY};
    double x[2][3], label[2][3];
    for (int i = 0; i < 2; i++) {
        sprag_ess_problem p = order_problem;
        p.rate_bound = i ? bound : NULL;
        sprag_ess_options o = sprag_ess_defaults(1e-2);
        memcpy(x[i], order_start, sizeof x[i]);
        ask_for_labels(label[i], 3);
        OK(integrate(&p, &o, 0, 0.5, x[i], label[i], NULL));
    }
    ck_assert_mem_eq(x[0], x[1], sizeof x[0]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bounded");
    ADD_TESTS(
        suite, "bounds", {steps_longer_than_a_period_lose_crossings_without_a_bound_only, MODES},
        {no_crossing_of_random_waves_is_lost, 60},
        {guards_of_the_state_that_arm_each_other_are_not_lost, 1},
        {brief_touches_are_found_under_a_bound, MODES}, {bounds_that_do_not_hold_are_named, MODES},
        {the_caller_stops_a_search_within_a_step, MODES}, {unknown_bounds_change_nothing, 1});
    int code = run_suite(suite);
    sprag_scratch_free(&scratch);
    return code;
}
