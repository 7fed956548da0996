// Bodies that spin fast while contacts or rows near the axis hold them, as a top: their sub-step is
// solved in the frame that follows the axis (spin.h). What is certified is the one turn, about one
// axis, that ends in the same pose; the angular velocity at the end follows the axis.
#include <math.h>
#include <string.h>

#include "advance_solve.h"
#include "kinematics.h"
#include "spin.h"

// Of the body's radius of gyration: what holds it farther from the axis lets it swing, tip or roll.
static const double off_axis = 0.05;

typedef enum hold { FREE, ON_AXIS, OFF_AXIS } hold;

static bool finds_axis(const advance_run *run, const advance_problem *p, int i, double axis[3])
{
    const sprag_mover *mover = &run->frame->body[i];
    const double *w = p->body[i].velocity + 3;
    return mover->gyroscopic && mover->mass > 0 && !mover->capped &&
           norm3(w) * p->problem.step < advance_farthest_turn &&
           sprag_spin_find(mover->inertia, mover->pose.rotation, w, run->frame->step, axis);
}

static void add_torque(const advance_run *run, const advance_problem *p, hold *of, int body,
                       const double torque[3])
{
    const double *axis = run->attempt.axis[body], *I = p->body[body].inertia;
    double along = dot3(axis, torque);
    bool off = along * along * p->body[body].mass > off_axis * off_axis * (I[0] + I[4] + I[8]);
    of[body] = of[body] == OFF_AXIS || off ? OFF_AXIS : ON_AXIS;
}

static void find_holds(const advance_run *run, const advance_problem *p, hold *of)
{
    for (int i = 0; i < p->problem.rows; i++) {
        const sprag_row *row = &p->problem.row[i];
        for (int side = 0; side < 2; side++) {
            const double *J = row->jacobian[side];
            if (row->body[side] != SPRAG_STATIC && dot3(J, J) > 0) {
                add_torque(run, p, of, row->body[side], J + 3);
            }
        }
    }
    for (int i = 0; i < p->problem.contacts; i++) {
        const sprag_contact *contact = &p->contact[i];
        for (int side = 0; side < 2; side++) {
            for (int k = 0; k < 3 && contact->body[side] != SPRAG_STATIC; k++) {
                double torque[3];
                cross3(contact->arm[side], contact->frame[k], torque);
                add_torque(run, p, of, contact->body[side], torque);
            }
        }
    }
}

// false: such a step has no solution.
static bool spin(const advance_run *run, const advance_problem *p, int i)
{
    sprag_body *body = &p->body[i];
    double inverse[9], turned[3], free[3];
    if (invert33(run->inertia[i], inverse) == 0) {
        return false;
    }
    mul33(inverse, run->frame->body[i].force + 3, turned);
    memcpy(free, body->velocity + 3, sizeof free);
    add_scaled(free, p->problem.step, turned, 3);
    if (!sprag_spin_free(body->inertia, run->attempt.axis[i], body->velocity + 3, p->problem.step,
                         true, free)) {
        return false;
    }
    memcpy(body->free_velocity + 3, free, sizeof free);
    return true;
}

void advance_spin(advance_run *run, advance_problem *p)
{
    int spinning = 0;
    for (int i = 0; i < run->frame->bodies; i++) {
        double *axis = run->attempt.axis[i];
        if (finds_axis(run, p, i, axis)) {
            spinning++;
        } else {
            memset(axis, 0, 3 * sizeof *axis);
        }
    }
    hold *of = spinning > 0 ? SPRAG_TAKE(run->solving, run->frame->bodies, hold) : NULL;
    if (!of) {
        return;
    }
    find_holds(run, p, of);
    for (int i = 0; i < run->frame->bodies; i++) {
        double *axis = run->attempt.axis[i];
        if (dot3(axis, axis) > 0 && (of[i] != ON_AXIS || !spin(run, p, i))) {
            memset(axis, 0, 3 * sizeof *axis);
        }
    }
}

void advance_turn_with_axes(advance_run *run)
{
    for (int i = 0; i < run->frame->bodies; i++) {
        const double *axis = run->attempt.axis[i];
        double turn[4], *end = run->attempt.velocity[i] + 3, *lag = run->attempt.lag[i] + 3;
        if (dot3(axis, axis) > 0 && !run->attempt.flies[i] && !run->attempt.failed) {
            sprag_spin_turn(axis, run->attempt.length, end, turn);
            double sine = norm3(turn + 1), rate = 2 * atan2(sine, turn[0]) / run->attempt.length;
            memcpy(lag, end, 3 * sizeof *lag);
            add_scaled(lag, sine > 0 ? -rate / sine : 0, turn + 1, 3);
        }
    }
}
