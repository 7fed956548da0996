// Figures 1, 3, 4, 5 and table 2 of Anderson, Revzen, Rapid Integrator for a Class of Multi-Contact
// Systems (arXiv 2402.00279), one command each. The paper leaves masses, stiffnesses and MuJoCo's
// contacts open: those here are 1 kg and 1000 N/m where nothing else is said, and contacts of
// MuJoCo that are springs. Steps are 2 ms, as in the paper; "first" with bands that are trusted is
// its method.
#include "ess_beds.h"

#ifdef BENCH_MUJOCO
#include <mujoco/mujoco.h>
#endif

static const double gravity = 9.81; // m/s^2

enum { SAMPLES = 1001 };                      // of a hopper, from 0 to 2 s
static double sample_time[SAMPLES];           // s
typedef double hop[SAMPLES][2];               // height, speed
static const double paper_eps = 0.13;         // table 2: eps'
static const double paper_ms[] = {2.4, 10.3}; // table 2: MuJoCo, theirs

static sprag_scratch scratch;

// ---- figure 1: a photograph of a hopper on three springy legs whose cables preload them

enum { LEGS = 3, HEIGHT = 0, ROLL = 1, PITCH = 2 };
static const double leg_stiffness = 400, preload = 5, body_inertia = 0.03, hip_radius = 0.2; // SI

static void hip(int leg, double arm[2])
{
    double angle = 2 * M_PI / LEGS * leg;
    arm[0] = hip_radius * sin(angle);
    arm[1] = -hip_radius * cos(angle);
}

static double shortening(const double *x, int leg)
{
    double arm[2];
    hip(leg, arm);
    return 1 - x[HEIGHT] - arm[0] * x[ROLL] - arm[1] * x[PITCH];
}

static void tripod_field(void *user, const double *x, const double *label, double *f)
{
    (void)user;
    for (int i = 0; i < 3; i++) {
        f[i] = x[3 + i];
        f[3 + i] = i == HEIGHT ? -gravity : 0;
    }
    for (int leg = 0; leg < LEGS; leg++) {
        double arm[2], force = label[leg] * (preload + leg_stiffness * shortening(x, leg));
        hip(leg, arm);
        f[3 + HEIGHT] += force;
        f[3 + ROLL] += arm[0] * force / body_inertia;
        f[3 + PITCH] += arm[1] * force / body_inertia;
    }
}

static void tripod_guard(void *user, const double *x, const int *which, int count, double *h)
{
    (void)user;
    for (int i = 0; i < count; i++) {
        h[i] = shortening(x, which ? which[i] : i);
    }
}

static int drop_tripod(double x[6], double end, sprag_ess_event *event, double (*state)[6],
                       int room)
{
    static const bool two_way[LEGS] = {true, true, true};
    const sprag_ess_problem p = {.states = 6,
                                 .guards = LEGS,
                                 .field = tripod_field,
                                 .guard = tripod_guard,
                                 .two_way = two_way};
    sprag_ess_options o = sprag_ess_defaults(0.01);
    o.adaptive = true;
    o.relative_tolerance = o.absolute_tolerance = 1e-10;
    sprag_ess_output out = {.event = event, .event_state = state[0], .event_room = room};
    sprag_ess_stats stats;
    char message[200];
    double label[LEGS] = {NAN, NAN, NAN};
    ess_check(sprag_ess_integrate(&p, &o, 0, end, x, label, &out, &scratch, &stats, message,
                                  sizeof message),
              message);
    sprag_scratch_reset(&scratch);
    return stats.events < room ? (int)stats.events : room;
}

static void figure_1(line_fn *line)
{
    enum { ROOM = 64 };
    sprag_ess_event event[ROOM];
    double state[ROOM][6], x[6] = {1.2, 0.05, 0.02}, level[6] = {1.2};
    int events = drop_tripod(x, 1, event, state, ROOM);
    line("figure 1|leg|event|time|height|roll|pitch");
    for (int i = 0; i < events; i++) {
        line("tilted|%d|%s|%.6f|%.6f|%+.6f|%+.6f", event[i].guard,
             event[i].direction > 0 ? "touch-down" : "lift-off", event[i].time, state[i][HEIGHT],
             state[i][ROLL], state[i][PITCH]);
    }
    // Level, height is a spring of three legs: landing, and half a stance to the lowest point.
    double down = sqrt(2 * 0.2 / gravity), fast = gravity * down;
    double w = sqrt(3 * leg_stiffness), sag = gravity - 3 * preload;
    double up = down + 2 * atan2(fast * w, -sag) / w;
    events = drop_tripod(level, 0.5, event, state, ROOM);
    line("figure 1|leg|event|time|exact|error");
    for (int i = 0; i < events; i++) {
        double exact = event[i].direction > 0 ? down : up;
        line("level|%d|%s|%.6f|%.6f|%.1e", event[i].guard,
             event[i].direction > 0 ? "touch-down" : "lift-off", event[i].time, exact,
             fabs(event[i].time - exact));
    }
}

// ---- figure 3: error against eps

double ess_slope(const double *x, const double *y, int n)
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

ess_error ess_order_error(sprag_ess_mode mode, double eps)
{
    table t = table_read("order_exact");
    double *time = bench_allocate((size_t)t.rows, sizeof *time);
    double(*state)[3] = bench_allocate((size_t)t.rows, sizeof *state);
    double x[3] = {order_start[0], order_start[1], order_start[2]}, label[3] = {NAN, NAN, NAN};
    char message[200];
    for (int i = 0; i < t.rows; i++) {
        time[i] = t.row[i][0];
    }
    sprag_ess_options o = sprag_ess_defaults(1e-3);
    o.mode = mode;
    o.trust_eps = true;
    o.eps = eps;
    sprag_ess_output out = {.time = time, .times = t.rows, .state = state[0]};
    ess_check(sprag_ess_integrate(&order_problem, &o, 0, 0.5, x, label, &out, &scratch, NULL,
                                  message, sizeof message),
              message);
    sprag_scratch_reset(&scratch);
    ess_error error = {0};
    for (int r = 0; r < t.rows; r++) {
        error.final = 0;
        for (int k = 0; k < 3; k++) {
            double wrong = state[r][k] - t.row[r][1 + k];
            error.rms += wrong * wrong / (3 * t.rows);
            error.final += wrong * wrong;
        }
    }
    free(time);
    free(state);
    table_free(&t);
    return (ess_error){sqrt(error.rms), sqrt(error.final)};
}

static void figure_3(line_fn *line)
{
    static const sprag_ess_mode mode[] = {SPRAG_ESS_FIRST, SPRAG_ESS_MIDPOINT};
    line("figure 3|mode||1/eps|rms|in the fit");
    for (int m = 0; m < 2; m++) {
        const char *name = m ? "midpoint" : "first";
        double lx[64], ly[64];
        int fitted = 0;
        for (int i = -4; i <= 24; i++) { // eps from 10 to 1e-6
            double eps = pow(10, -0.25 * i), rms = ess_order_error(mode[m], eps).rms;
            bool in = i >= 4 && i <= 12;
            line("figure 3|%s||%.3g|%.2e|%s", name, 1 / eps, rms, in ? "yes" : "no");
            if (in) {
                lx[fitted] = log(eps);
                ly[fitted++] = log(rms);
            }
        }
        line("figure 3|%s|order|10..1000|%.2f", name, ess_slope(lx, ly, fitted));
    }
}

// ---- the hopper of figure 4 and table 2: 1 kg dropped from 2 m onto a leg of 1 m, without damping

static void hop_exact(double stiffness, hop x)
{
    double fall = sqrt(2 / gravity), fast = gravity * fall, w = sqrt(stiffness);
    double stance = 2 * atan2(fast * w, -gravity) / w, period = 2 * fall + stance;
    for (int i = 0; i < SAMPLES; i++) {
        double t = fmod(sample_time[i], period), s = t - fall;
        if (s >= 0 && s < stance) {
            x[i][0] = 1 - gravity / stiffness * (1 - cos(w * s)) - fast / w * sin(w * s);
            x[i][1] = -gravity / w * sin(w * s) - fast * cos(w * s);
        } else {
            t = s < 0 ? t : t - period; // from the top before or behind
            x[i][0] = 2 - gravity * t * t / 2;
            x[i][1] = -gravity * t;
        }
    }
}

static double hop_error(hop x, hop exact, int column)
{
    double sum = 0;
    for (int i = 0; i < SAMPLES; i++) {
        sum += pow(x[i][column] - exact[i][column], 2) / SAMPLES;
    }
    return sqrt(sum);
}

// us; INFINITY: it ended early.
static double hop_ours(double stiffness, double eps, hop x)
{
    hopper leg = {stiffness, 0};
    sprag_ess_problem p = hopper_problem(&leg);
    sprag_ess_options o = sprag_ess_defaults(0.002);
    o.mode = SPRAG_ESS_FIRST;
    o.trust_eps = true;
    o.eps = eps;
    o.max_steps = 100000;
    double state[2] = {2, 0}, label[2] = {NAN, NAN};
    sprag_ess_output out = {.time = sample_time, .times = SAMPLES, .state = x[0]};
    double begin = bench_cpu_us();
    sprag_result result =
        sprag_ess_integrate(&p, &o, 0, 2, state, label, &out, &scratch, NULL, NULL, 0);
    double us = bench_cpu_us() - begin;
    sprag_scratch_reset(&scratch);
    return result == SPRAG_OK ? us : INFINITY;
}

// us; NAN: MuJoCo is not there.
static double hop_mujoco(double stiffness, hop x)
{
#ifdef BENCH_MUJOCO
    mjModel *model = mujoco_model(
        "<mujoco><option timestep='0.002' gravity='0 0 -9.81' collision='predefined'/><worldbody>"
        "<geom name='floor' type='plane' size='9 9 1'/><body name='body' pos='0 0 2'>"
        "<joint type='slide' axis='0 0 1'/><inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/>"
        "<geom name='leg' type='sphere' size='1'/></body></worldbody>"
        "<contact><pair geom1='floor' geom2='leg' condim='1'/></contact></mujoco>");
    double d = 1e-4, impedance[] = {d, d, 0.001, 0.5, 2}; // force = stiffness depth, up to O(d)
    model->pair_solref[0] = -stiffness * model->body_invweight0[2];
    model->pair_solref[1] = 0;
    memcpy(model->pair_solimp, impedance, sizeof impedance);
    mjData *data = mj_makeData(model);
    double begin = bench_cpu_us();
    for (int i = 0; i < SAMPLES; i++) {
        x[i][0] = 2 + data->qpos[0];
        x[i][1] = data->qvel[0];
        mj_step(model, data);
    }
    double us = bench_cpu_us() - begin;
    mj_deleteData(data);
    mj_deleteModel(model);
    return us;
#else
    (void)stiffness;
    for (int i = 0; i < SAMPLES; i++) {
        x[i][0] = x[i][1] = NAN;
    }
    return NAN;
#endif
}

static double rms_at(double stiffness, double eps, hop exact)
{
    static hop x;
    return hop_ours(stiffness, eps, x) < INFINITY ? hop_error(x, exact, 0) : INFINITY;
}

// eps': our error in height is not monotonous in eps, so this is the largest eps up to which it
// stays within `rms`, by bisection from the first point of a scan where it is more. NAN: none.
// again: how many more times the scan crosses it, up to eps = 1.
static double calibrate(double stiffness, double rms, hop exact, int *again)
{
    double low = NAN, high = NAN, last = 0;
    *again = 0;
    for (int i = 0; i <= 160; i++) { // from 1e-4 to 1
        double eps = pow(10, -4 + 0.025 * i), here = rms_at(stiffness, eps, exact);
        if (i > 0 && (here > rms) != (last > rms)) {
            *again += !isnan(high);
            low = isnan(high) ? pow(10, -4 + 0.025 * (i - 1)) : low;
            high = isnan(high) ? eps : high;
        }
        last = here;
    }
    while (high / low > 1 + 1e-6) {
        double middle = sqrt(low * high);
        *(rms_at(stiffness, middle, exact) > rms ? &high : &low) = middle;
    }
    return low;
}

// MuJoCo's error; where it is not installed, that of its version 2.2.2 at 1000 N/m.
static double target_rms(double stiffness, hop mujoco, hop exact)
{
    double rms = hop_error(mujoco, exact, 0);
    return isnan(rms) && stiffness == 1000 ? 2.80e-3 : rms;
}

static void figure_4(line_fn *line)
{
    static hop exact, theirs, ours;
    int again;
    hop_exact(1000, exact);
    hop_mujoco(1000, theirs);
    double eps = calibrate(1000, target_rms(1000, theirs, exact), exact, &again);
    hop_ours(1000, eps, ours);
    line("figure 4|t|eps'|z|MuJoCo|ours|zdot|MuJoCo|ours");
    for (int i = 0; i < SAMPLES; i += 20) {
        line("figure 4|%.3f|%.4g|%.5f|%.5f|%.5f|%.4f|%.4f|%.4f", sample_time[i], eps, exact[i][0],
             theirs[i][0], ours[i][0], exact[i][1], theirs[i][1], ours[i][1]);
    }
    line("figure 4||rms error||%.2e|%.2e||%.2e|%.2e", hop_error(theirs, exact, 0),
         hop_error(ours, exact, 0), hop_error(theirs, exact, 1), hop_error(ours, exact, 1));
}

static void table_2(line_fn *line)
{
    static const double stiffness[] = {1000, 400, 200, 100, 50};
    static hop exact, theirs, ours;
    line("table 2|k, N/m||eps'|rms MuJoCo|rms ours|us MuJoCo|us ours|again");
    line("published|||%g|equal|equal|%.0f|%.0f (Python)", paper_eps, 1e3 * paper_ms[0],
         1e3 * paper_ms[1]);
    for (size_t i = 0; i < sizeof stiffness / sizeof *stiffness; i++) {
        double us[2] = {INFINITY, INFINITY};
        int again;
        hop_exact(stiffness[i], exact);
        for (int repeat = 0; repeat < 5; repeat++) {
            us[0] = fmin(us[0], hop_mujoco(stiffness[i], theirs));
        }
        double rms = target_rms(stiffness[i], theirs, exact);
        double eps = calibrate(stiffness[i], rms, exact, &again);
        for (int repeat = 0; repeat < 5 && eps > 0; repeat++) {
            us[1] = fmin(us[1], hop_ours(stiffness[i], eps, ours));
        }
        line("here|%g||%.4g|%.2e|%.2e|%.0f|%.0f|%d", stiffness[i], eps, rms,
             eps > 0 ? hop_error(ours, exact, 0) : NAN, isfinite(us[0]) ? us[0] : NAN,
             isfinite(us[1]) ? us[1] : NAN, again);
    }
}

// ---- figure 5: marginal cost of a contact

static void figure_5(line_fn *line)
{
    enum { STARTS = 120, COUNTS = 11 };
    static const int count[COUNTS] = {2, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100};
    static hop exact, theirs;
    int again;
    hop_exact(1000, exact);
    hop_mujoco(1000, theirs);
    double eps = calibrate(1000, target_rms(1000, theirs, exact), exact, &again);
    const program programs[] = {
        {"first", "fixed, eps'", OURS,
         BY(ours, .mode = SPRAG_ESS_FIRST, .trust = true, .tolerance = 1e-3, .eps = eps)},
        {"midpoint", "fixed, 0.02", OURS,
         BY(ours, .mode = SPRAG_ESS_MIDPOINT, .jump = true, .tolerance = 1e-3, .eps = 0.02)},
#ifdef BENCH_MUJOCO
        {"MuJoCo", "compliant", COMPLIANT, BY(mujoco, .solver = "Newton")},
        {"MuJoCo", "tips", TIPS, BY(mujoco, .solver = "Newton")},
#endif
    };
    enum { PROGRAMS = sizeof programs / sizeof *programs };
    double median[PROGRAMS][COUNTS], number[COUNTS];
    line("figure 5|N|program|us|us a contact|a second");
    for (int c = 0; c < COUNTS; c++) {
        bed b = bed_make(count[c]);
        number[c] = count[c];
        for (int p = 0; p < PROGRAMS; p++) {
            double us[STARTS];
            void *of = programs[p].open(&programs[p], &b);
            uint64_t state = 1;
            for (int i = 0; i < STARTS; i++) { // the same for every N
                double part[2];
                for (int k = 0; k < 2; k++) {
                    state = state * 6364136223846793005u + 1442695040888963407u;
                    part[k] = (double)(state >> 11) / 9007199254740992.0;
                }
                start at = {2 + part[0], 0.2 * part[1] - 0.1};
                us[i] = programs[p].run(&programs[p], of, &at, NULL);
            }
            programs[p].close(of);
            median[p][c] = bench_median(us, STARTS);
            double marginal =
                c > 0 ? (median[p][c] - median[p][c - 1]) / (count[c] - count[c - 1]) : NAN;
            line("figure 5|%d|%s %s|%.0f|%.2f|%.2f", count[c], programs[p].name, programs[p].how,
                 median[p][c], marginal, marginal / 2);
        }
        bed_free(&b);
    }
    for (int p = 0; p < PROGRAMS; p++) {
        double all = ess_slope(number, median[p], COUNTS);
        line("figure 5|2..100|%s %s||%.2f|%.2f", programs[p].name, programs[p].how, all, all / 2);
    }
}

bool bench_ess_figure(line_fn *line, const char *name)
{
    static const struct {
        const char *name;
        void (*print)(line_fn *line);
    } figure[] = {{"figure1", figure_1},
                  {"figure3", figure_3},
                  {"figure4", figure_4},
                  {"figure5", figure_5},
                  {"table2", table_2}};
    for (int i = 0; i < SAMPLES; i++) {
        sample_time[i] = 2.0 * i / (SAMPLES - 1);
    }
    for (size_t i = 0; i < sizeof figure / sizeof *figure; i++) {
        if (!strcmp(name, figure[i].name)) {
            figure[i].print(line);
            sprag_scratch_free(&scratch);
            ess_beds_free();
            return true;
        }
    }
    return false;
}
