// Sub-steps of bodies that joints swing. Such a body turns about the joint by its turn before the
// sub-step (chords.c), and where it turns far, any error of that is large; and joints under load
// are stiff (loads.c). Likewise a body that turns on a contact: the speed that makes up for its
// curved motion (dip) turns it faster, and the next dip is larger. What that gains is taken back
// (energy.c), except where a kinematic body moves.
#include <math.h>

#include "advance_run.h"
#include "linalg.h"

// rad/s, at which the fastest body turns that is in contact with a kinematic one that moves.
static double driven_rate(const advance_run *run)
{
    double fastest = 0;
    for (int i = 0; i < run->points.closed; i++) {
        const int pair = run->points.point[i].pair;
        const advance_near *near = &run->near[pair];
        for (int side = 0; side < 2; side++) {
            const int body = advance_body_of(run, pair, side),
                      other = advance_body_of(run, pair, !side);
            if (near->radius[!side] > 0 && body != SPRAG_STATIC &&
                !(run->frame->body[other].mass > 0) &&
                !advance_is_centred_ball(&near->carried[side])) {
                fastest = fmax(fastest, norm3(run->frame->body[body].velocity + 3));
            }
        }
    }
    return fastest;
}

double advance_part_of_swing(advance_run *run, double time)
{
    const double driven = driven_rate(run);
    const double shortest = run->options->shortest * run->frame->step;
    double most = advance_length_of_loads(run);
    most = driven > 0 ? fmin(most, advance_driven_turn / driven) : most;
    most = run->work_left > 0 ? fmax(shortest, most) : INFINITY;
    return time > most ? time / ceil(time / most) : time;
}
