// Joints that the program opens: a winch moves an anchor, a stop, or a body. It does the work of
// mending that.
//
// A row's bias (times the step) is the joint's error, times its ERP. What the error will be after a
// step is known from the motion, but for the second order of the step: turns leave the circle about
// a joint. What the bias has beyond that at the next step's start, the program has opened. Rows
// without a linear part are left out.
#include <math.h>

#include "island.h"
#include "linalg.h"

void sprag_ode_find_opened(ode_problem *pulled)
{
    const double step = pulled->problem.step;
    for (int i = 0; i < pulled->loadeds; i++) {
        const ode_loaded_joint *joint = &pulled->loaded[i];
        const int first = (int)(joint->row - pulled->row);
        for (int k = first; k < first + joint->rows; k++) {
            ode_mending *mending = &pulled->mending[k];
            const double now = step * (pulled->row[k].bias - pulled->ahead[k]),
                         change = now - mending->expected, more = fabs(change) - mending->own,
                         opened = mending->opened + (more > 0 ? copysign(more, change) : 0);
            mending->opened = now > 0 ? fmax(0, fmin(opened, now)) : fmin(0, fmax(opened, now));
        }
    }
    pulled->knows_opened = true;
}

double sprag_ode_mended(const ode_problem *pulled, int row)
{
    const double opened = pulled->mending[row].opened / pulled->problem.step;
    const double ahead = pulled->solve == ODE_WON ? 0 : pulled->ahead[row],
                 rate = sprag_ode_rate(pulled, &pulled->row[row], &pulled->solution) - ahead;
    return opened > 0 ? fmax(0, fmin(rate, opened)) : fmin(0, fmax(rate, opened));
}

void sprag_ode_mend_nothing(ode_problem *pulled)
{
    for (int i = 0; i < pulled->joint_rows; i++) {
        sprag_row *row = &pulled->row[i];
        if (!row->drives) {
            const double bias = row->bias, back = -sprag_ode_rate(pulled, row, NULL);
            const double opened = pulled->mending[i].opened / pulled->problem.step;
            row->bias = row->lo == 0   ? fmin(bias, fmax(opened, back))
                        : row->hi == 0 ? fmax(bias, fmin(opened, back))
                                       : opened;
            pulled->ahead[i] = row->bias - bias;
        }
    }
}

// Is a direction free, or left to a motor or a stop?
static bool slides(const ode_loaded_joint *joint)
{
    const sprag_row *third = &joint->row[2];
    return joint->linear == 2 ||
           (joint->linear == 3 && (third->lo != -INFINITY || third->hi != INFINITY));
}

// m/s^2, by the solution, at which a body turns away what slides along it.
static double slide_of(const ode_problem *pulled, const ode_loaded_joint *joint)
{
    const int *body = joint->row->body;
    double along[3] = {0}, most = 0, part[3]; // m/s
    for (int side = 0; side < 2; side++) {
        if (body[side] != SPRAG_STATIC) {
            const double *v = pulled->solution.velocity[body[side]];
            cross3(v + 3, joint->lever[side], part);
            add_scaled(part, 1, v, 3);
            add_scaled(along, side ? -1 : 1, part, 3);
        }
    }
    for (int side = 0; side < 2; side++) {
        if (body[side] != SPRAG_STATIC) {
            cross3(pulled->solution.velocity[body[side]] + 3, along, part);
            most = fmax(most, 2 * norm3(part));
        }
    }
    return most;
}

// m, of the anchors, by which a step of the solution leaves the tangent of its motion, or twice as
// much: half of step^2 w^2 r by each turn, half of that of a distance across it, and step^2 w x v
// where the joint slides along a body that turns.
static double find_own(const ode_problem *pulled, const ode_loaded_joint *joint)
{
    const int first = (int)(joint->row - pulled->row);
    double sum = joint->linear == 1 ? sprag_ode_swing_of_distance(pulled, first)
                 : slides(joint)    ? slide_of(pulled, joint)
                                    : 0;
    for (int side = 0; side < 2; side++) {
        const int body = joint->row->body[side];
        if (body != SPRAG_STATIC) {
            const double *w = pulled->solution.velocity[body] + 3;
            sum += dot3(w, w) * norm3(joint->lever[side]);
        }
    }
    return pulled->problem.step * pulled->problem.step * sum;
}

void sprag_ode_expect_mending(ode_problem *pulled)
{
    const double step = pulled->problem.step;
    for (int i = 0; i < pulled->problem.bodies && pulled->knows_opened; i++) {
        sprag_ode_cap_turn(pulled->island.body[i], pulled->solution.velocity[i]);
    }
    for (int i = 0; i < pulled->loadeds && pulled->knows_opened; i++) {
        const ode_loaded_joint *joint = &pulled->loaded[i];
        const int first = (int)(joint->row - pulled->row);
        const double joints = sprag_ode_own_erp(pulled->row_joint[first]),
                     erp = joints > 0 ? joints : pulled->erp, own = find_own(pulled, joint);
        for (int k = first; k < first + joint->rows; k++) {
            const sprag_row *row = &pulled->row[k];
            const double bias = row->bias - pulled->ahead[k];
            ode_mending *mending = &pulled->mending[k];
            mending->own = own;
            mending->expected =
                step * (bias - erp * sprag_ode_rate(pulled, row, &pulled->solution));
            if (mending->opened != 0) {
                mending->opened -= step * erp * sprag_ode_mended(pulled, k);
            }
        }
    }
}
