// Error control. Bodies in contact or on joints go h v(h) in a sub-step, where v(h) is solved at
// its end. If v changes evenly, the error of that is (v(h) - v(0)) h / 2 = (v(h) - v(h / 2)) h;
// where bodies meet, both velocities are those after the impact. Flight has no error (flight.c).
//
// The tolerance is that of a frame and a sub-step may have its share, so the sum of the errors
// falls with the tolerance. Through an impact that holds down to sub-steps in which bodies approach
// by more than epsilon: shorter ones divide the impact.
#include <math.h>
#include <string.h>

#include "advance_run.h"
#include "linalg.h"

// m, of any point of a body at the end of a sub-step of this length. The push is the same in both
// attempts.
static double find_error(advance_run *run, double length)
{
    double(*half)[6] = run->half, most = 0;
    advance_begin_attempt(run, 0.5 * length);
    advance_solve(run);
    for (int i = 0; i < run->frame->bodies; i++) {
        memcpy(half[i], run->attempt.motion[i].velocity, sizeof half[i]);
    }
    advance_begin_attempt(run, length);
    advance_solve(run);
    for (int i = 0; i < run->frame->bodies; i++) {
        add_scaled(half[i], -1, run->attempt.motion[i].velocity, 6);
        most = run->attempt.flies[i] ? most : fmax(most, norm3(half[i]));
    }
    for (int i = 0; i < run->frame->colliders; i++) {
        const int body = run->frame->collider[i].body;
        const double radius = run->side[i].radius;
        if (body != SPRAG_STATIC && !run->attempt.flies[body] && isfinite(radius)) {
            most = fmax(most, norm3(half[body]) + radius * norm3(half[body] + 3));
        }
    }
    return length * most;
}

double advance_choose_length(advance_run *run)
{
    const double shortest = fmax(run->options->shortest, 1e-6) * run->frame->step;
    double suggested = run->suggested, error = 0, allowed = 0;
    double length = suggested < advance_nearly_all * run->left ? suggested : run->left;
    for (bool again = true; again && advance_is_controlled(run);) {
        error = find_error(run, length);
        allowed = run->options->error * length / run->frame->step;
        again = error > allowed && length > shortest && !run->attempt.failed;
        length *= again ? 0.5 : 1;
    }
    run->suggested = length * (error <= advance_error_slack * allowed ? 2 : 1);
    run->stats->error = fmax(run->stats->error, error);
    return length;
}
