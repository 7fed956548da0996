// Bodies that spin fast, held near the axis (../frame/spinners.h). What is certified is the one
// turn, about one axis, that ends in the same pose; the angular velocity at the end follows the
// axis.
#include "spinners.h"

#include "advance_solve.h"
#include "linalg.h"

void advance_spin(advance_run *run, advance_problem *p)
{
    sprag_spin_held(run->frame->body, run->frame->step, &p->problem, p->body, run->attempt.axis,
                    run->solving);
}

void advance_turn_with_axes(advance_run *run)
{
    for (int i = 0; i < run->frame->bodies; i++) {
        const double *axis = run->attempt.axis[i];
        double rate[3], *end = run->attempt.velocity[i] + 3, *lag = run->attempt.lag[i] + 3;
        if (dot3(axis, axis) > 0 && !run->attempt.flies[i] && !run->attempt.failed) {
            sprag_spin_rate(axis, run->attempt.length, end, rate);
            subtract3(end, rate, lag);
        }
    }
}
