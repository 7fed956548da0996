// Event-selected systems: against exact answers (test/data/ess); the B-derivative against tables
// and against differences of flows; what is refused and why, one test a situation; then the
// interface: bad input, output, determinism, other methods for the smooth parts.
#include <check.h>
#include <stdlib.h>

#include "problems_ess.h"
#include "rodas.h"
#include "suite.h"

typeof(sprag_ess_integrate) plain_ess_integrate; // without versions for wider vectors

static sprag_scratch scratch;
static long tangents;
static sprag_ess_stats stats;
static char message[200];

static sprag_result integrate(const sprag_ess_problem *p, const sprag_ess_options *o, double start,
                              double end, double *x, double *label, sprag_ess_output *out)
{
    *message = '\0';
    sprag_result result = sprag_ess_integrate(p, o, start, end, x, label, out, &scratch, &stats,
                                              message, sizeof message);
    sprag_scratch_reset(&scratch);
    for (int i = 0; result != SPRAG_BAD_PROBLEM && i < p->states; i++) {
        ck_assert_msg(isfinite(x[i]), "x[%d] is %g", i, x[i]);
    }
    return result;
}

#define OK(call)                                                                                   \
    do {                                                                                           \
        sprag_result result_ = (call);                                                             \
        ck_assert_msg(result_ == SPRAG_OK, "%s, %s: %s", sprag_result_name(result_),               \
                      sprag_ess_stop_name(stats.stop), message);                                   \
    } while (0)

static void ask_for_labels(double *label, int guards)
{
    for (int k = 0; k < guards; k++) {
        label[k] = NAN;
    }
}

static double largest_difference(const double *a, const double *b, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++) {
        most = fmax(most, fabs(a[i] - b[i]));
    }
    return most;
}

static const sprag_ess_mode modes[] = {SPRAG_ESS_FIRST, SPRAG_ESS_MIDPOINT, SPRAG_ESS_LOCATE};
enum { MODES = sizeof modes / sizeof *modes };

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

typedef struct order_error {
    double rms, final; // over all points and components; 2-norm at the end
} order_error;

static order_error run_order(const sprag_ess_problem *p, const sprag_ess_options *o)
{
    table t = table_read("order_exact");
    double *time = calloc((size_t)t.rows, sizeof *time);
    double(*state)[3] = calloc((size_t)t.rows, sizeof *state);
    double x[3], label[3];
    for (int i = 0; i < t.rows; i++) {
        time[i] = t.row[i][0];
    }
    memcpy(x, order_start, sizeof x);
    ask_for_labels(label, 3);
    sprag_ess_event event[4];
    sprag_ess_output out = {
        .time = time, .times = t.rows, .state = state[0], .event = event, .event_room = 4};
    OK(integrate(p, o, 0, 0.5, x, label, &out));
    ck_assert_int_eq(out.reached, t.rows);
    ck_assert_int_eq(stats.events, 3);
    for (int i = 1; i < 3; i++) {
        ck_assert_double_ge(event[i].time, event[i - 1].time);
    }
    order_error e = {0};
    for (int i = 0; i < t.rows; i++) {
        e.final = 0;
        for (int k = 0; k < 3; k++) {
            double wrong = state[i][k] - t.row[i][1 + k];
            e.rms += wrong * wrong / (3 * t.rows);
            e.final += wrong * wrong;
        }
    }
    ck_assert_double_le(largest_difference(state[t.rows - 1], x, 3), 0);
    free(time);
    free(state);
    table_free(&t);
    return (order_error){sqrt(e.rms), sqrt(e.final)};
}

static double slope(const double *x, const double *y, int n)
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (int i = 0; i < n; i++) {
        sx += x[i];
        sy += y[i];
        sxx += x[i] * x[i];
        sxy += x[i] * y[i];
    }
    return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

// Second order by lines, third by parabolas, and no dependence on eps where roots are located.
START_TEST(projections_have_their_orders)
{
    enum { POINTS = 5 };
    double le[POINTS], rms[POINTS], final[POINTS];
    sprag_ess_problem p = order_problem;
    sprag_ess_options o = sprag_ess_defaults(1e-3);
    o.mode = modes[_i / 2];
    o.trust_eps = true;
    p.row = _i % 2 ? NULL : order_row; // differences do as well
    for (int i = 0; i < POINTS; i++) {
        o.eps = pow(10, -1 - 0.5 * i);
        order_error e = run_order(&p, &o);
        le[i] = log(o.eps);
        rms[i] = log(e.rms);
        final[i] = log(e.final);
        if (o.mode == SPRAG_ESS_LOCATE) {
            ck_assert_double_le(e.final, 1e-11);
        } else if (i == 2 && o.mode == SPRAG_ESS_FIRST) {
            ck_assert(e.final >= 1e-4 && e.final <= 3e-4);
        } else if (i == 2) {
            ck_assert_double_le(e.final, 1e-5);
        }
    }
    if (o.mode == SPRAG_ESS_FIRST) {
        ck_assert_double_eq_tol(slope(le, final, POINTS), 2, 0.1);
        ck_assert_double_eq_tol(slope(le, rms, POINTS), 2, 0.15);
    } else if (o.mode == SPRAG_ESS_MIDPOINT) {
        ck_assert_double_ge(slope(le, final, POINTS), 2.8);
        ck_assert_double_ge(slope(le, rms, POINTS), 2.8);
    }
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

typedef struct hopper_error {
    double z, speed;
} hopper_error;

static hopper_error run_hopper(const char *name, hopper *leg, const sprag_ess_options *o)
{
    table t = table_read(name);
    ck_assert_int_eq(t.rows, 1001);
    double time[1001], state[1001][2], x[2] = {2, 0}, label[2] = {NAN, NAN};
    for (int i = 0; i < t.rows; i++) {
        time[i] = t.row[i][0];
    }
    sprag_ess_problem p = hopper_problem(leg);
    sprag_ess_output out = {.time = time, .times = t.rows, .state = state[0]};
    OK(integrate(&p, o, 0, 2, x, label, &out));
    hopper_error e = {0};
    for (int i = 0; i < t.rows; i++) {
        e.z += pow(state[i][0] - t.row[i][1], 2) / t.rows;
        e.speed += pow(state[i][1] - t.row[i][2], 2) / t.rows;
    }
    table_free(&t);
    return (hopper_error){sqrt(e.z), sqrt(e.speed)};
}

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

// ---- the B-derivative

START_TEST(corner_has_the_known_derivative)
{
    static const int guard[] = {0, 1, 2};
    static const double rho[3] = {0}, label[3] = {0};
    table t = table_read("corner3_bderiv");
    ck_assert_int_gt(t.rows, 10);
    for (int r = 0; r < t.rows; r++) {
        double w[3];
        int order[3];
        ck_assert_int_eq(sprag_ess_corner(&corner_problem, rho, label, guard, 3, false, t.row[r], w,
                                          order, &scratch, message, sizeof message),
                         SPRAG_OK);
        sprag_scratch_reset(&scratch);
        ck_assert_double_le(largest_difference(w, t.row[r] + 4, 3), 1e-12);
        // Along the trajectory through it: constant fields carry directions unchanged.
        double x[3] = {-0.5, -0.5, -0.5}, at[3], v[3]; // f is (1, 1, 1) up to the origin
        memcpy(v, t.row[r], sizeof v);
        ask_for_labels(at, 3);
        sprag_ess_options o = sprag_ess_defaults(0.01);
        sprag_ess_output out = {.directions = 1, .direction = v};
        OK(integrate(&corner_problem, &o, 0, 1, x, at, &out));
        ck_assert_int_eq(stats.corners, 1);
        ck_assert_double_le(largest_difference(v, t.row[r] + 4, 3), 1e-9);
    }
    table_free(&t);
}
END_TEST

static void flow(const sprag_ess_problem *p, const double *start, double end, double *x)
{
    double label[3];
    sprag_ess_options o = sprag_ess_defaults(1e-3);
    o.mode = SPRAG_ESS_LOCATE;
    memcpy(x, start, 3 * sizeof *x);
    ask_for_labels(label, 3);
    OK(integrate(p, &o, 0, end, x, label, NULL));
}

// Through three guards at once: the table, and the quotient of two flows.
START_TEST(order_test_has_the_known_directional_derivatives)
{
    static const double start[3] = {-0.278491537543878145, -0.216316380965167714,
                                    0.284025416687741484};
    table t = table_read("order_bderiv");
    ck_assert_int_eq(t.rows, 12);
    for (int r = 0; r < t.rows; r++) {
        double x[3], v[3], label[3], moved[3], there[3], here[3];
        memcpy(x, start, sizeof x);
        memcpy(v, t.row[r], sizeof v);
        ask_for_labels(label, 3);
        sprag_ess_options o = sprag_ess_defaults(1e-3);
        o.mode = SPRAG_ESS_LOCATE;
        sprag_ess_output out = {.directions = 1, .direction = v};
        OK(integrate(&order_problem, &o, 0, 0.5, x, label, &out));
        ck_assert_int_eq(stats.corners, 1);
        ck_assert_double_le(largest_difference(v, t.row[r] + 4, 3), 1e-6);
        double step = 1e-7;
        for (int i = 0; i < 3; i++) {
            moved[i] = start[i] + step * t.row[r][i];
        }
        flow(&order_problem, start, 0.5, here);
        flow(&order_problem, moved, 0.5, there);
        for (int i = 0; i < 3; i++) {
            ck_assert_double_eq_tol((there[i] - here[i]) / step, v[i], 2e-5);
        }
    }
    table_free(&t);
}
END_TEST

static void jacobian(const sprag_ess_problem *p, const sprag_ess_options *o, double end, double *x,
                     double *J)
{
    double label[3];
    int n = p->states;
    memset(J, 0, (size_t)(n * n) * sizeof *J);
    for (int i = 0; i < n; i++) {
        J[i * n + i] = 1;
    }
    ask_for_labels(label, p->guards);
    sprag_ess_output out = {.directions = n, .direction = J};
    OK(integrate(p, o, 0, end, x, label, &out));
    ck_assert_int_eq(stats.corners, 0);
}

// direction i is column i of the table.
static double jacobian_error(const char *name, const double *J, int n)
{
    table t = table_read(name);
    double worst = 0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            worst = fmax(worst, fabs(J[j * n + i] - t.row[i][j]));
        }
    }
    table_free(&t);
    return worst;
}

START_TEST(flow_has_the_known_jacobian)
{
    static const struct {
        sprag_ess_mode mode;
        double eps, bound; // with D f along projections: of their orders, too
    } run[] = {{SPRAG_ESS_LOCATE, 0.01, 1e-6},
               {SPRAG_ESS_MIDPOINT, 0.01, 3e-5},
               {SPRAG_ESS_MIDPOINT, 0.001, 3e-8},
               {SPRAG_ESS_FIRST, 0.01, 2e-3},
               {SPRAG_ESS_FIRST, 0.001, 2e-5}};
    double J[9];
    for (size_t i = 0; i < sizeof run / sizeof *run; i++) {
        double x[3];
        memcpy(x, order_start, sizeof x);
        sprag_ess_options o = sprag_ess_defaults(1e-3);
        o.mode = run[i].mode;
        o.eps = run[i].eps;
        o.trust_eps = true;
        jacobian(&order_problem, &o, 0.5, x, J);
        ck_assert_double_le(jacobian_error("order_jacobian", J, 3), run[i].bound);
    }
    static const char *const name[] = {"hopper_jacobian", "hopper_damped_jacobian"};
    for (int damped = 0; damped < 2; damped++) {
        double x[2] = {2, 0};
        hopper leg = {1000, damped ? 4 : 0};
        sprag_ess_problem p = hopper_problem(&leg);
        sprag_ess_options o = sprag_ess_defaults(0.05);
        o.mode = SPRAG_ESS_LOCATE;
        o.adaptive = true;
        o.relative_tolerance = o.absolute_tolerance = 1e-11;
        jacobian(&p, &o, 2, x, J);
        ck_assert_double_le(jacobian_error(name[damped], J, 2), 1e-6);
    }
}
END_TEST

// D f of the order test, where f is affine: given, instead of by differences.
static void order_tangent(void *user, const double *x, const double *label, const double *v,
                          double *Df)
{
    static const double origin[3] = {0};
    double here[3], there[3];
    (void)x;
    order_field(user, origin, label, here);
    order_field(user, v, label, there);
    for (int i = 0; i < 3; i++) {
        Df[i] = there[i] - here[i];
    }
    tangents++;
}

START_TEST(directions_use_the_tangent_that_is_given)
{
    for (int m = 0; m < MODES; m++) {
        double J[2][9], x[3];
        for (int given = 0; given < 2; given++) {
            sprag_ess_problem p = order_problem;
            sprag_ess_options o = sprag_ess_defaults(1e-3);
            p.tangent = given ? order_tangent : NULL;
            o.mode = modes[m];
            tangents = 0;
            memcpy(x, order_start, sizeof x);
            jacobian(&p, &o, 0.5, x, J[given]);
            ck_assert(!given || tangents > 1000);
        }
        ck_assert_double_le(largest_difference(J[0], J[1], 9), 1e-7);
        ck_assert_double_le(jacobian_error("order_jacobian", J[1], 3), 1e-4);
    }
}
END_TEST

// Events within corner_time of one another are one corner, and no others.
START_TEST(corner_time_says_what_is_one_corner)
{
    for (int wide = 0; wide < 2; wide++) {
        double x[3], v[3] = {1, 0, 0}, label[3];
        memcpy(x, order_start, sizeof x);
        ask_for_labels(label, 3);
        sprag_ess_options o = sprag_ess_defaults(1e-3);
        o.mode = SPRAG_ESS_LOCATE;
        o.corner_time = wide ? 0.06 : 0.05; // the first two are 0.0528 s apart
        sprag_ess_output out = {.directions = 1, .direction = v};
        OK(integrate(&order_problem, &o, 0, 0.5, x, label, &out));
        ck_assert_int_eq(stats.corners, wide);
        ck_assert_double_eq_tol(stats.smallest_gap, 0.262364264467491 - 0.209588078334635, 1e-9);
    }
}
END_TEST

// Guards 0.01 apart and an offset that takes them in another order: what the affine corner says of
// constant fields is exact.
START_TEST(affine_corner_takes_guards_in_another_order)
{
    static const int guard[] = {0, 1, 2};
    static const double label[3] = {0};
    double rho[3] = {0, -0.01, -0.03}, v[3] = {-0.05, 0.04, 0.02}, w[3], linear[3];
    double start[3], moved[3], here[3], there[3];
    for (int i = 0; i < 3; i++) {
        start[i] = rho[i] - 0.5;
        moved[i] = start[i] + v[i];
    }
    int order[3];
    ck_assert_int_eq(sprag_ess_corner(&corner_problem, rho, label, guard, 3, true, v, w, order,
                                      &scratch, NULL, 0),
                     SPRAG_OK);
    ck_assert_int_eq(order[0], 1);
    ck_assert_int_eq(sprag_ess_corner(&corner_problem, rho, label, guard, 3, false, v, linear, NULL,
                                      &scratch, NULL, 0),
                     SPRAG_OK);
    flow(&corner_problem, start, 1, here);
    flow(&corner_problem, moved, 1, there);
    for (int i = 0; i < 3; i++) {
        ck_assert_double_eq_tol(there[i] - here[i], w[i], 1e-12);
    }
    ck_assert_double_gt(largest_difference(linear, w, 3), 1e-3);
}
END_TEST

// ---- situations, one by one (what is measured of a plain loop is in the paper's listing 1)

static const hopper stiff_leg = {1000, 0};

// On its spring, at rest or hardly moving: no projection leads from there to the guard.
static void oscillate(double eps, double amplitude, double speed, double end, sprag_ess_mode mode)
{
    hopper leg = stiff_leg;
    sprag_ess_problem p = hopper_problem(&leg);
    double w = sqrt(1000), middle = 1 - 9.81 / 1000, x[2] = {middle + amplitude, speed};
    double label[2] = {1, 0};
    sprag_ess_options o = sprag_ess_defaults(0.002);
    o.mode = mode;
    o.eps = eps;
    o.trust_eps = true;
    OK(integrate(&p, &o, 0, end, x, label, NULL));
    ck_assert_double_eq_tol(x[0], middle + amplitude * cos(w * end) + speed / w * sin(w * end),
                            1e-7);
    ck_assert_int_eq(stats.events, 0);
    ck_assert_int_eq(stats.projected, 0);
}

START_TEST(grazing_projections_are_refused)
{
    for (int m = 0; m < MODES; m++) {
        // Its top stays 0.01 mm below the free length.
        oscillate(0.005, 9.81 / 1000 - 1e-5, 0, 1, modes[m]);
        ck_assert(modes[m] == SPRAG_ESS_LOCATE || stats.refused[SPRAG_ESS_GRAZING] > 0);
    }
}
END_TEST

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

static void line_guard(void *user, const double *x, const int *which, int count, double *h)
{
    (void)user;
    (void)which;
    for (int i = 0; i < count; i++) {
        h[i] = x[0];
    }
}

// A wall that repels before the guard: half way there is nothing of it yet.
static void wall_field(void *user, const double *x, const double *label, double *f)
{
    (void)user;
    (void)label;
    f[0] = x[1];
    f[1] = -150 * exp(x[0] / 0.002);
}

START_TEST(projections_are_undone_where_the_flow_has_turned)
{
    sprag_ess_problem p = {.states = 2, .guards = 1, .field = wall_field, .guard = line_guard};
    double x[2] = {-0.02, 0.1}, label = 0;
    sprag_ess_options o = sprag_ess_defaults(1e-3);
    o.eps = 0.0205;
    o.trust_eps = true;
    OK(integrate(&p, &o, 0, 0.5, x, &label, NULL));
    ck_assert_int_eq(stats.events, 0);
    ck_assert_double_eq(label, 0);
    ck_assert_int_gt(stats.refused[SPRAG_ESS_GRAZING], 0);
    // energy: v^2 / 2 + 0.3 exp(x / 0.002)
    double speed = sqrt(0.01 + 0.6 * (exp(-10) - exp(x[0] / 0.002)));
    ck_assert_double_eq_tol(x[1], -speed, 1e-8);
}
END_TEST

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

// A band that is deeper than the bounce arms the lift-off guard like any other.
START_TEST(deep_bands_do_not_lose_guards)
{
    hopper leg = {1000, 0};
    sprag_ess_options o = sprag_ess_defaults(0.002);
    o.eps = 0.3;
    hopper_error e = run_hopper("hopper_exact", &leg, &o);
    ck_assert_int_eq(stats.events, 4);
    ck_assert_double_le(e.z, 1e-6);
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

START_TEST(eps_is_only_an_upper_bound)
{
    sprag_ess_problem p = order_problem;
    sprag_ess_options o = sprag_ess_defaults(1e-3);
    o.relative_tolerance = o.absolute_tolerance = 1e-9;
    o.eps = 1;
    ck_assert_double_le(run_order(&p, &o).final, 1e-8);
    ck_assert_int_gt(stats.refused[SPRAG_ESS_TOO_LONG] + stats.refused[SPRAG_ESS_INACCURATE], 0);
    // So small that steps jump over it: located instead, with no tail of errors.
    for (o.eps = 1e-4; o.eps > 1e-9; o.eps /= 10) {
        o.step = 0.01;
        ck_assert_double_le(run_order(&p, &o).final, 1e-8);
    }
}
END_TEST

START_TEST(end_comes_before_a_projection)
{
    for (int m = 0; m < MODES; m++) {
        double x[3], label[3], end = 0.2095; // guard y follows 1e-4 s later
        memcpy(x, order_start, sizeof x);
        ask_for_labels(label, 3);
        sprag_ess_options o = sprag_ess_defaults(1e-3);
        o.mode = modes[m];
        o.eps = 0.1;
        OK(integrate(&order_problem, &o, 0, end, x, label, NULL));
        ck_assert_double_eq(stats.time, end);
        ck_assert_int_eq(stats.events, 0);
        ck_assert_double_eq(label[1], 0);
        ck_assert(x[1] < 0 && x[1] > -1e-3);
        ck_assert(o.mode == SPRAG_ESS_LOCATE || stats.refused[SPRAG_ESS_PAST_END] > 0);
    }
}
END_TEST

// A guard outside its band that would be crossed on the way.
START_TEST(projections_do_not_jump_over_others)
{
    static const double eps[3] = {1, 1e-6, 1e-6};
    sprag_ess_problem p = corner_problem;
    p.eps = eps;
    double x[3] = {-0.5, -0.25, -0.5}, label[3], exact[3];
    flow(&corner_problem, x, 1, exact);
    sprag_ess_options o = sprag_ess_defaults(0.01);
    o.trust_eps = true;
    ask_for_labels(label, 3);
    OK(integrate(&p, &o, 0, 1, x, label, NULL));
    ck_assert_int_gt(stats.refused[SPRAG_ESS_NOT_FIRST], 0);
    ck_assert_double_le(largest_difference(x, exact, 3), 1e-13);
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

static size_t rk4_room(int size)
{
    return 6 * (size_t)size + 1;
}

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

static void exact_between(const double *room, int n, double part, double *y)
{
    (void)n;
    y[1] = room[0] + part * room[1];
    y[0] = cos(4 * M_PI * y[1]) - 0.999;
}

START_TEST(more_samples_find_more_touches)
{
    static const sprag_smooth exact = {"exact", 5, rk4_room, exact_step, exact_between};
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

// Each reason is counted by itself.
START_TEST(refusals_are_counted_by_reason)
{
    sprag_ess_options o = sprag_ess_defaults(1e-3);
    o.eps = 0.1; // 0.1 s away, a step is 1 ms
    o.relative_tolerance = o.absolute_tolerance = 1;
    run_order(&order_problem, &o);
    ck_assert_int_gt(stats.refused[SPRAG_ESS_TOO_LONG], 20);
    ck_assert_int_eq(stats.refused[SPRAG_ESS_INACCURATE], 0);
    ck_assert_int_eq(stats.projected, 3);
    o.relative_tolerance = o.absolute_tolerance = 1e-12;
    run_order(&order_problem, &o);
    ck_assert_int_gt(stats.refused[SPRAG_ESS_INACCURATE], 0);
    ck_assert_int_eq(stats.projected + stats.located, 3);
    ck_assert_int_gt(stats.located, 0);
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

// Errors at the end and, of the dense output, between, where steps are halved.
START_TEST(smooth_methods_have_their_orders)
{
    const sprag_smooth *method[] = {&sprag_dopri5, &sprag_rodas};
    const double order[] = {5, 4}, dense[] = {4, 3};
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

static void rk4_between(const double *room, int n, double s, double *y)
{
    double h = room[0], r = 1 - s;
    for (int i = 0; i < n; i++) {
        const double *at = room + 1 + i;
        y[i] = r * r * (1 + 2 * s) * at[0] + s * s * (3 - 2 * s) * at[n] +
               h * s * r * (r * at[2 * n] - s * at[3 * n]);
    }
}

START_TEST(any_method_takes_the_smooth_parts)
{
    static const sprag_smooth rk4 = {"rk4", 5, rk4_room, rk4_step, rk4_between};
    const sprag_smooth *method[] = {&rk4, &sprag_rodas, &sprag_dopri5};
    const double bound[] = {1e-4, 1e-5, 1e-8};
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

// ---- the interface

static void nan_field(void *user, const double *x, const double *label, double *f)
{
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

START_TEST(bad_entries_are_named)
{
    static const bool two_way[3];
    static const sprag_ess_reset reset = {0, 3, true};
    static const double eps[3] = {0.1, -1, 0}, scale[3] = {1, 0, 1}, time[2] = {0.3, 0.2};
    static double state[6], direction[3] = {1, NAN, 0};
    for (int i = 0; i < 36; i++) {
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
            BAD(8, (p.resets = 1, p.reset = &reset), "reset[0]");
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
            BAD(35, (out.directions = 1, out.direction = NULL), "direction");
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

// In long steps guards that have just been crossed are ahead as well: once each.
START_TEST(long_steps_cross_many_guards)
{
    static const double tolerance[] = {1e-4, 5e-5, 2e-5, 1e-5};
    table t = table_read("bed_ref");
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
    }
    bed_free(&b);
    table_free(&t);
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
        p.last = last;
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
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ess");
    TCase *exact = tcase_create("exact answers");
    tcase_set_timeout(exact, 60);
    tcase_add_test(exact, corner_is_exact);
    tcase_add_loop_test(exact, projections_have_their_orders, 0, 2 * MODES);
    tcase_add_test(exact, events_are_where_they_should_be);
    tcase_add_loop_test(exact, hopper_hops, 0, 2);
    tcase_add_loop_test(exact, plate_bounces_on_its_bed, 0, 5);
    tcase_add_loop_test(exact, long_steps_cross_many_guards, 0, 4);
    suite_add_tcase(suite, exact);
    TCase *derivative = tcase_create("B-derivative");
    tcase_set_timeout(derivative, 60);
    tcase_add_test(derivative, corner_has_the_known_derivative);
    tcase_add_test(derivative, order_test_has_the_known_directional_derivatives);
    tcase_add_test(derivative, flow_has_the_known_jacobian);
    tcase_add_test(derivative, directions_use_the_tangent_that_is_given);
    tcase_add_test(derivative, corner_time_says_what_is_one_corner);
    tcase_add_test(derivative, affine_corner_takes_guards_in_another_order);
    suite_add_tcase(suite, derivative);
    TCase *situation = tcase_create("situations");
    tcase_set_timeout(situation, 60);
    tcase_add_test(situation, grazing_projections_are_refused);
    tcase_add_test(situation, projections_are_undone_where_the_flow_has_turned);
    tcase_add_test(situation, overdue_guards_are_crossed_at_once);
    tcase_add_test(situation, resting_contact_takes_plain_steps);
    tcase_add_test(situation, receding_guards_are_no_candidates);
    tcase_add_loop_test(situation, sliding_ends_with_its_guard, 0, 2 * MODES);
    tcase_add_test(situation, crossed_guards_that_are_left_again_are_a_mismatch);
    tcase_add_test(situation, deep_bands_do_not_lose_guards);
    tcase_add_loop_test(situation, zeno_ends_with_its_guard, 0, MODES);
    tcase_add_test(situation, ties_are_taken_by_index);
    tcase_add_test(situation, one_step_may_cross_several_guards);
    tcase_add_test(situation, start_on_a_guard_goes_where_the_flow_leads);
    tcase_add_test(situation, eps_is_only_an_upper_bound);
    tcase_add_test(situation, end_comes_before_a_projection);
    tcase_add_test(situation, projections_do_not_jump_over_others);
    tcase_add_test(situation, brief_touches_are_found);
    tcase_add_test(situation, more_samples_find_more_touches);
    tcase_add_test(situation, every_guard_has_its_own_band);
    tcase_add_test(situation, rows_are_asked_for_in_bands_only);
    tcase_add_test(situation, refusals_are_counted_by_reason);
    suite_add_tcase(suite, situation);
    TCase *many = tcase_create("resets, continuation, groups");
    tcase_set_timeout(many, 60);
    tcase_add_loop_test(many, crossing_arms_and_disarms_others, 0, MODES);
    tcase_add_loop_test(many, many_short_calls_are_one_long_one, 0, MODES);
    tcase_add_test(many, groups_keep_the_number_of_evaluations);
    suite_add_tcase(suite, many);
    TCase *smooth = tcase_create("smooth parts");
    tcase_set_timeout(smooth, 60);
    tcase_add_test(smooth, rodas_takes_stiffness_that_dopri5_cannot);
    tcase_add_loop_test(smooth, smooth_methods_have_their_orders, 0, 2);
    tcase_add_loop_test(smooth, any_method_takes_the_smooth_parts, 0, 3);
    tcase_add_test(smooth, rodas_carries_directions);
    suite_add_tcase(suite, smooth);
    TCase *interface = tcase_create("interface");
    tcase_set_timeout(interface, 60);
    tcase_add_test(interface, bad_values_of_callbacks_are_named);
    tcase_add_test(interface, bad_entries_are_named);
    tcase_add_loop_test(interface, dense_output_is_continuous, 0, MODES);
    tcase_add_loop_test(interface, same_problem_gives_the_same_bits, 0, MODES);
    tcase_add_loop_test(interface, wide_vectors_give_the_same_bits, 0, MODES);
    tcase_add_test(interface, steps_are_limited);
    tcase_add_loop_test(interface, last_event_ends_the_integration, 0, 3);
    suite_add_tcase(suite, interface);
    int code = run_suite(suite);
    sprag_scratch_free(&scratch);
    return code;
}
