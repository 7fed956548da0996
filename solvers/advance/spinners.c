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

bool advance_spins(const advance_run *run, int body)
{
    const double *axis = run->attempt.axis[body];
    return dot3(axis, axis) > 0;
}

void advance_turn_with_axes(advance_run *run)
{
    for (int i = 0; i < run->frame->bodies; i++) {
        double rate[3], *end = run->attempt.velocity[i] + 3, *lag = run->attempt.lag[i] + 3;
        if (advance_spins(run, i) && !run->attempt.flies[i] && !run->attempt.failed) {
            sprag_spin_rate(run->attempt.axis[i], run->attempt.length, end, rate);
            subtract3(end, rate, lag);
        }
    }
}
