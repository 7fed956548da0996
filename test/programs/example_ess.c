// The integrator of event-selected systems without ODE: a hopper on three springy legs that are
// preloaded, so that a leg pushes at once where it touches the ground (Anderson, Revzen, figure 1).
//
//     cc example_ess.c $(pkg-config --cflags --libs sprag_ess) -lm
#include <math.h>
#include <sprag/ess.h>
#include <stdio.h>

enum { HEIGHT, ROLL, PITCH, STATES = 6, LEGS = 3, EVENTS = 8 }; // m, rad, rad; then their rates

static const double gravity = 9.81, mass = 1, inertia = 0.03, radius = 0.2; // SI units
static const double leg_length = 1, stiffness = 400, preload = 5;

// Of the hip of a leg: its height is x[HEIGHT] + arm[0] x[ROLL] + arm[1] x[PITCH].
static void arms(int leg, double arm[2])
{
    double angle = 2 * 3.14159265358979323846 / LEGS * leg;
    arm[0] = radius * sin(angle);
    arm[1] = -radius * cos(angle);
}

static double shortening(const double *x, int leg)
{
    double arm[2];
    arms(leg, arm);
    return leg_length - x[HEIGHT] - arm[0] * x[ROLL] - arm[1] * x[PITCH];
}

// A leg whose label is 1 is on the ground.
static void field(void *user, const double *x, const double *label, double *f)
{
    (void)user;
    for (int i = 0; i < STATES / 2; i++) {
        f[i] = x[STATES / 2 + i];
        f[STATES / 2 + i] = i == HEIGHT ? -gravity : 0;
    }
    for (int leg = 0; leg < LEGS; leg++) {
        double arm[2], force = label[leg] * (preload + stiffness * shortening(x, leg));
        arms(leg, arm);
        f[3 + HEIGHT] += force / mass;
        f[3 + ROLL] += arm[0] * force / inertia;
        f[3 + PITCH] += arm[1] * force / inertia;
    }
}

static void guard(void *user, const double *x, const int *which, int count, double *h)
{
    (void)user;
    for (int i = 0; i < count; i++) {
        h[i] = shortening(x, which ? which[i] : i);
    }
}

static int integrate(const double *start, double end, double *x, sprag_ess_output *output,
                     sprag_ess_stats *stats)
{
    static const bool two_way[LEGS] = {true, true, true}; // touch-down and lift-off
    sprag_ess_problem problem = {
        .states = STATES, .guards = LEGS, .field = field, .guard = guard, .two_way = two_way};
    sprag_ess_options options = sprag_ess_defaults(end); // steps of at most `end`
    options.adaptive = true;
    options.mode = SPRAG_ESS_LOCATE;
    options.relative_tolerance = options.absolute_tolerance = 1e-11;
    double label[LEGS] = {NAN, NAN, NAN}; // as h says
    sprag_scratch scratch = {0};
    char message[100] = "";
    for (int i = 0; i < STATES; i++) {
        x[i] = start[i];
    }
    sprag_result result = sprag_ess_integrate(&problem, &options, 0, end, x, label, output,
                                              &scratch, stats, message, sizeof message);
    sprag_scratch_free(&scratch);
    if (result != SPRAG_OK) {
        printf("%s: %s\n", sprag_result_name(result), message);
    }
    return result == SPRAG_OK;
}

int main(void)
{
    const double tilted[STATES] = {1.2, 0.05, 0.02}, level[STATES] = {1.2};
    double x[STATES], near[STATES], slope[STATES] = {[PITCH] = 1}; // of x(0): pitch
    sprag_ess_event event[EVENTS];
    sprag_ess_stats stats;
    sprag_ess_output output = {
        .event = event, .event_room = EVENTS, .directions = 1, .direction = slope};
    if (!integrate(tilted, 0.5, x, &output, &stats)) {
        return 1;
    }
    for (int i = 0; i < stats.events; i++) {
        printf("%.6f s: leg %d %s\n", event[i].time, event[i].guard,
               event[i].direction > 0 ? "lands" : "lifts off");
    }
    const double small = 1e-6;
    double start[STATES] = {1.2, 0.05, 0.02 + small};
    if (!integrate(start, 0.5, near, NULL, &stats)) {
        return 1;
    }
    printf("height %.6f m; d pitch / d pitch(0) %.4f, by a difference %.4f\n", x[HEIGHT],
           slope[PITCH], (near[PITCH] - x[PITCH]) / small);
    // The state transition matrix of a hop from a level start, where all legs land at once: the
    // directions are the unit vectors.
    double matrix[STATES][STATES] = {{0}};
    for (int i = 0; i < STATES; i++) {
        matrix[i][i] = 1;
    }
    output = (sprag_ess_output){.directions = STATES, .direction = matrix[0]};
    if (!integrate(level, 0.5, x, &output, &stats)) {
        return 1;
    }
    printf("level: %ld events\n", stats.events);
    for (int row = 0; row < STATES; row++) {
        for (int column = 0; column < STATES; column++) {
            double entry = matrix[column][row];
            printf("%8.4f%s", fabs(entry) < 1e-9 ? 0 : entry, column < STATES - 1 ? "" : "\n");
        }
    }
    return 0;
}
