// Joints that the program opens: a winch moves an anchor, a stop, or a body. It does the work of
// mending that.
//
// A row's bias (times the step) is the joint's error, times its ERP. What the error will be after a
// step is known from the motion, but for the second order of the step: turns leave the circle about
// a joint. What the bias has beyond that at the next step's start, the program has opened. Linear
// rows of joints without a lever are left out.
#include <math.h>

#include "island.h"
#include "linalg.h"

// The angular rows from the first on that mend one error: those of its joint that hold axes. A stop
// has an error of its own.
static int end_of_turn(const ode_problem *pulled, int first)
{
    int end = first + 1;
    while (sprag_ode_holds(&pulled->row[first]) && end < pulled->joint_rows &&
           pulled->row_joint[end] == pulled->row_joint[first] &&
           sprag_ode_turns(&pulled->row[end]) && sprag_ode_holds(&pulled->row[end])) {
        end++;
    }
    return end;
}

// Of a row's bias times the step, m or rad.
static double mends(const ode_problem *pulled, int row)
{
    return pulled->problem.step * (pulled->row[row].bias - pulled->ahead[row]);
}

// Rows see the error in axes that turn with the bodies, and jump: it is known by its length alone.
static void find_opened_turn(ode_problem *pulled, int first, int end)
{
    double now = 0, expected = 0, opened = 0;
    for (int i = first; i < end; i++) {
        const ode_mending *mending = &pulled->mending[i];
        now += mends(pulled, i) * mends(pulled, i);
        expected += mending->expected * mending->expected;
        opened += mending->opened * mending->opened;
    }
    if (opened == 0 && !(now > expected)) {
        return;
    }
    now = sqrt(now);
    const double more = now - sqrt(expected) - pulled->mending[first].own;
    const bool passes = // from one stop to the other, by half a turn
        !sprag_ode_holds(&pulled->row[first]) &&
        mends(pulled, first) * pulled->mending[first].expected < 0;
    opened = fmin(now, sqrt(opened) + (passes ? 0 : fmax(0, more)));
    for (int i = first; i < end; i++) {
        pulled->mending[i].opened = now > 0 ? opened / now * mends(pulled, i) : 0;
    }
}

void sprag_ode_find_opened(ode_problem *pulled)
{
    for (int i = 0; i < pulled->loadeds; i++) {
        const ode_loaded_joint *joint = &pulled->loaded[i];
        const int first = (int)(joint->row - pulled->row);
        for (int k = first; k < first + joint->rows; k++) {
            ode_mending *mending = &pulled->mending[k];
            const double now = mends(pulled, k), change = now - mending->expected,
                         more = fabs(change) - mending->own,
                         opened = mending->opened + (more > 0 ? copysign(more, change) : 0);
            mending->opened = now > 0 ? fmax(0, fmin(opened, now)) : fmin(0, fmax(opened, now));
        }
    }
    for (int first = 0, end; first < pulled->joint_rows; first = end) {
        end = first + 1;
        if (sprag_ode_turns(&pulled->row[first])) {
            end = end_of_turn(pulled, first);
            find_opened_turn(pulled, first, end);
        }
    }
    pulled->knows_opened = true;
}

double sprag_ode_mending_rate(const ode_problem *pulled, int row)
{
    return sprag_ode_rate(pulled, &pulled->row[row], &pulled->solution) -
           (pulled->solve == ODE_WON ? 0 : pulled->ahead[row]);
}

double sprag_ode_mended(const ode_problem *pulled, int row)
{
    const double opened = pulled->mending[row].opened / pulled->problem.step,
                 rate = sprag_ode_mending_rate(pulled, row);
    return opened > 0 ? fmax(0, fmin(rate, opened)) : fmin(0, fmax(rate, opened));
}

// m/s, the part of a stop's bias that its account pays for, by its work in the solution.
static double paid(const ode_problem *pulled, int row)
{
    const double stored = pulled->mending[row].stored, step = pulled->problem.step,
                 work = step * pulled->solution.row_force[row] *
                        sprag_ode_rate(pulled, &pulled->row[row], &pulled->solution);
    return pulled->row[row].bias * (work > stored ? stored / work : stored > 0);
}

// Soft rows keep the force of the last step: without it they yield in each, and a load on a soft
// stop sinks for ever.
void sprag_ode_mend_nothing(ode_problem *pulled)
{
    for (int i = 0; i < pulled->joint_rows; i++) {
        sprag_row *row = &pulled->row[i];
        if (!row->drives) {
            const double bias = row->bias, back = -sprag_ode_rate(pulled, row, NULL),
                         more = pulled->mending[i].stop_erp > 0 ? paid(pulled, i) : 0,
                         held = pulled->mending[i].opened / pulled->problem.step +
                                row->compliance * row->guess + more,
                         least = bias > 0 ? fmax(0, fmin(held, bias)) : fmin(0, fmax(held, bias));
            row->bias = row->lo == 0   ? fmin(bias, fmax(least, back))
                        : row->hi == 0 ? fmax(bias, fmin(least, back))
                                       : least;
            pulled->ahead[i] = row->bias - bias;
        }
    }
}

// Is a direction free, or left to a motor or a stop?
static bool slides(const ode_loaded_joint *joint)
{
    const sprag_row *third = &joint->row[2];
    return joint->linear == 2 || (joint->linear == 3 && !sprag_ode_holds(third));
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

// rad, likewise, of a joint's angular rows. Turns of both bodies do not add up. What axes are apart
// is the sine of an angle, and a stop turns about an axis between theirs.
typedef struct own_turns {
    double axes, stop;
} own_turns;

static own_turns find_own_turns(const ode_problem *pulled, int first, int end, double erp)
{
    double turn[2] = {0}, square = 0;
    for (int side = 0; side < 2; side++) {
        const int body = pulled->row[first].body[side];
        turn[side] = body == SPRAG_STATIC ? 0 : norm3(pulled->solution.velocity[body] + 3);
        turn[side] *= pulled->problem.step;
    }
    for (int i = first; i < end; i++) {
        const double now = sprag_ode_turns(&pulled->row[i]) && sprag_ode_holds(&pulled->row[i])
                               ? mends(pulled, i)
                               : 0;
        square += now * now;
    }
    const double left = sqrt(square), apart = left / erp, both = turn[0] * turn[1],
                 any = turn[0] + turn[1];
    return (own_turns){.axes = both + (any + left) * apart * apart, .stop = both + any * apart};
}

// Of other joints turns about two axes do not keep these at right angles, and a row may be another
// stop's than in the step before.
static bool turns_are_known(dJointID joint)
{
    const dJointType type = dJointGetType(joint);
    return type == dJointTypeHinge || type == dJointTypeFixed || type == dJointTypeSlider;
}

static void expect(ode_problem *pulled, int i, double erp, double own)
{
    const sprag_row *row = &pulled->row[i];
    const double step = pulled->problem.step, bias = row->bias - pulled->ahead[i];
    ode_mending *mending = &pulled->mending[i];
    mending->own = own;
    mending->expected = step * (bias - erp * sprag_ode_rate(pulled, row, &pulled->solution));
    if (mending->opened != 0) {
        mending->opened -= step * erp * sprag_ode_mended(pulled, i);
    }
}

void sprag_ode_expect_mending(ode_problem *pulled)
{
    if (!pulled->knows_opened) {
        return;
    }
    for (int i = 0; i < pulled->problem.bodies; i++) {
        sprag_ode_cap_turn(pulled->island.body[i], pulled->solution.velocity[i]);
    }
    const ode_loaded_joint *joint = pulled->loaded, *last = joint + pulled->loadeds;
    for (int first = 0, end; first < pulled->joint_rows; first = end) {
        const double joints = sprag_ode_own_erp(pulled->row_joint[first]),
                     holding = joints > 0 ? joints : pulled->erp;
        bool angular = false;
        own_turns own = {INFINITY, INFINITY};
        for (end = first;
             end < pulled->joint_rows && pulled->row_joint[end] == pulled->row_joint[first];
             end++) {
            angular |= sprag_ode_turns(&pulled->row[end]);
        }
        const bool levers = joint < last && joint->row < &pulled->row[end];
        const double anchors = levers ? find_own(pulled, joint) : INFINITY;
        if (angular && turns_are_known(pulled->row_joint[first])) {
            own = find_own_turns(pulled, first, end, holding);
        }
        for (int i = first; i < end; i++) {
            const sprag_row *row = &pulled->row[i];
            const double stop = pulled->mending[i].stop_erp, erp = stop > 0 ? stop : holding;
            expect(pulled, i, erp,
                   sprag_ode_turns(row) ? erp * (sprag_ode_holds(row) ? own.axes : own.stop)
                                        : anchors);
        }
        joint += levers;
    }
}
