// Work of a frame. Work is counted, not timed: the same frame always ends at the same place.
#include <math.h>

#include "compliant_run.h"
#include "linalg.h"

static double shape_cost(sprag_shape_kind kind)
{
    switch (kind) {
    case SPRAG_POLYTOPE:
    case SPRAG_CYLINDER:
        return COMPLIANT_COST_HULL;
    case SPRAG_BOX:
    case SPRAG_CAPSULE:
        return COMPLIANT_COST_BOX;
    case SPRAG_SPHERE:
    case SPRAG_PLANE:
    case SPRAG_SHAPE_KINDS:
        break;
    }
    return 1;
}

double compliant_cost(const compliant_run *run, int guard)
{
    double cost = 1;
    for (int side = 0; side < 2; side++) {
        cost *= shape_cost(compliant_collider(run, guard, side)->shape.kind);
    }
    return cost;
}

double compliant_max_work(const compliant_run *run)
{
    return COMPLIANT_WORK_PER_STEP * run->options->steps * run->options->work;
}

// Slow integrations end before all of the work is spent, and so do those that meet a state beyond
// which no forces are found: each shorter step towards it would take as much as many others.
bool compliant_is_over_budget(void *user, double time)
{
    const compliant_run *run = user;
    double done = time / run->frame->step, work = run->budget.work / compliant_max_work(run);
    bool slow = work > COMPLIANT_JUDGED_FROM && done < COMPLIANT_SLOW * work;
    slow |= run->held.lost >= COMPLIANT_LOST_MAX;
    return !(run->work_left > 0) || !(run->hold_work > 0) || work > 1 || slow;
}

long compliant_step_limit(const compliant_run *run)
{
    const compliant_budget *budget = &run->budget;
    double turn = 0;
    for (int i = 0; i < run->frame->bodies; i++) {
        turn = fmax(turn, norm3(run->state.x + COMPLIANT_STATES * i + COMPLIANT_SPIN));
    }
    double limit = run->options->steps / 2 + COMPLIANT_STEPS_PER_EXPECTED * budget->expected_steps +
                   COMPLIANT_STEPS_PER_PAIR * run->guards.pairs +
                   COMPLIANT_STEPS_PER_STOP * run->stops +
                   COMPLIANT_STEPS_PER_RADIAN * turn * run->frame->step;
    long most = (long)fmin(COMPLIANT_STEPS_MAX, limit);
    return budget->max_steps < most ? budget->max_steps : most;
}
