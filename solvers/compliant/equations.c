// The event-selected system of a frame: f, guards, and rows of Dh.
#include <math.h>

#include "compliant_joints.h"
#include "kinematics.h"

// Guard of a pair, minus its gap and what it may overlap. exact: not replaced by a lower bound of
// the gap where that lies before the band.
static double pair_guard(compliant_run *run, const double *x, int guard, bool exact)
{
    sprag_gap gap;
    double range = run->sizes.step_range;
    run->budget.work += COMPLIANT_COST_BOUND;
    double least = exact ? 0 : compliant_gap_bound(run, guard);
    if (least > 2 * run->guards.band[guard]) {
        return -least - run->guards.overlap[guard];
    }
    compliant_place_pair(run, x, guard);
    bool found = compliant_find_gap(run, guard, range, 0, NULL, &gap, NULL);
    return !found ? NAN : (gap.beyond ? -range : -gap.distance) - run->guards.overlap[guard];
}

// The rows of joints are those of all bodies, which x has only where stops are asked for (reads).
static bool find_stops(compliant_run *run, const double *x, const int *stop, int count, double *h)
{
    compliant_place(run, x);
    return compliant_stop_guards(run, x, stop, count, h);
}

static void guard(void *user, const double *x, const int *which, int count, double *h)
{
    compliant_run *run = user;
    int pairs = run->guards.pairs, first_stop = which ? 0 : pairs;
    if (!which) {
        compliant_measure_motion(run, x);
    }
    for (int i = 0; i < count; i++) {
        int g = which ? which[i] : i, stop = g - pairs;
        if (stop >= 0 && which) {
            h[i] = NAN;
            find_stops(run, x, &stop, 1, &h[i]);
        } else if (stop < 0) {
            h[i] = pair_guard(run, x, g, which != NULL);
        }
    }
    if (!which && run->stops > 0 && !find_stops(run, x, NULL, run->stops, h + first_stop)) {
        h[first_stop] = NAN;
    }
}

// Poses of both bodies; of stops, everything.
static int reads(void *user, int guard, int *range)
{
    const compliant_run *run = user;
    int ranges = 0;
    if (guard >= run->guards.pairs) {
        range[0] = 0;
        range[1] = COMPLIANT_STATES * run->frame->bodies + (run->rows >= 0);
        return 1;
    }
    for (int side = 0; side < 2; side++) {
        int body = compliant_body(run, guard, side);
        if (body != SPRAG_STATIC) {
            range[2 * ranges] = COMPLIANT_STATES * body;
            range[2 * ranges + 1] = COMPLIANT_STATES * body + COMPLIANT_VELOCITY;
            ranges++;
        }
    }
    return ranges;
}

// A gap grows with the velocities of the nearest points along the normal.
static int row(void *user, const double *x, int guard, int *column, double *value)
{
    compliant_run *run = user;
    sprag_gap gap;
    int entries = 0;
    if (guard >= run->guards.pairs) {
        compliant_place(run, x);
        return compliant_stop_row(run, x, guard - run->guards.pairs, column, value);
    }
    compliant_place_pair(run, x, guard);
    if (!compliant_find_gap(run, guard, INFINITY, 0, NULL, &gap, NULL)) {
        return -1;
    }
    for (int side = 0; side < 2; side++) {
        int body = compliant_body(run, guard, side);
        if (body != SPRAG_STATIC) {
            double arm[3], J[6];
            subtract3(gap.point[side], run->state.pose[body].position, arm);
            point_jacobian(arm, gap.normal, J);
            entries +=
                compliant_guard_row(x, body, J, side ? 1 : -1, column + entries, value + entries);
        }
    }
    return entries;
}

sprag_ess_problem compliant_problem(compliant_run *run)
{
    int states = compliant_states(run);
    return (sprag_ess_problem){.states = states,
                               .guards = run->guards.pairs + run->stops,
                               .user = run,
                               .field = compliant_field,
                               .guard = guard,
                               .has_bounds = true,
                               .reads = reads,
                               .row = row,
                               .row_entries = states < 14 ? states : 14,
                               .jump =
                                   run->rows >= 0 || compliant_holds(run) ? NULL : compliant_jump,
                               .eps = run->guards.band,
                               .two_way = run->guards.two_way,
                               .terminal = run->guards.ends_integration,
                               .should_stop = compliant_is_over_budget};
}
