// Joints that the program opens: a winch moves an anchor, a stop, or a body. It does the work of
// mending that.
//
// A row's bias (times the step) is the joint's error, times its ERP. What the error will be after a
// step is known from the motion, but for the second order of the step: turns leave the circle about
// a joint. What the bias has beyond that at the next step's start, the program has opened. Joints
// without a lever are left out.
#include <math.h>

#include "island_constants.h"
#include "linalg.h"
#include "loads.h"
#include "vectors3.h"

// A row's bias times the step, m or rad, of rows that do not look ahead yet.
static double mends(const ode_problem *pulled, int row)
{
    return pulled->problem.step * pulled->row[row].bias;
}

// Is a row of the joint one without a linear part? No: it is not one of its rows.
static bool turns(const ode_loaded_joint *joint, int row)
{
    return joint->turning >> (row - joint->first) & 1;
}

// The ERP of the rows that hold.
static double erp_of(const ode_problem *pulled, const ode_loaded_joint *joint)
{
    const double own = sprag_ode_own_erp(pulled->row_joint[joint->first]);
    return own > 0 ? own : pulled->erp;
}

// ---- what bodies miss by themselves, by their velocities before the step

static const double *turn_of(const ode_problem *pulled, int body)
{
    return pulled->body[body].velocity + 3;
}

// Is a direction free, or left to a motor or a stop?
static bool slides(const ode_loaded_joint *joint)
{
    const sprag_row *third = &joint->row[2];
    return joint->linear == 2 || (joint->linear == 3 && !sprag_row_holds(third));
}

// m/s^2, at which a body turns away what slides along it.
static double slide_of(const ode_problem *pulled, const ode_loaded_joint *joint)
{
    const int *body = joint->row->body;
    double along[3] = {0}, most = 0, part[3]; // m/s
    for (int side = 0; side < 2; side++) {
        if (body[side] != SPRAG_STATIC) {
            cross3(turn_of(pulled, body[side]), joint->lever[side], part);
            add_scaled(part, 1, pulled->body[body[side]].velocity, 3);
            add_scaled(along, side ? -1 : 1, part, 3);
        }
    }
    for (int side = 0; side < 2; side++) {
        if (body[side] != SPRAG_STATIC) {
            cross3(turn_of(pulled, body[side]), along, part);
            most = sprag_larger(most, 2 * norm3(part));
        }
    }
    return most;
}

// m, of the anchors, by which a step leaves the tangent of its motion, or twice as much: half of
// step^2 w^2 r by each turn, half of that of a distance across it, and step^2 w x v where the joint
// slides along a body that turns. Rounding moves anchors, too.
static double own_way(const ode_problem *pulled, const ode_loaded_joint *joint)
{
    double sum = joint->linear == 1 ? sprag_ode_swing_of_distance(pulled, joint->at)
                 : slides(joint)    ? slide_of(pulled, joint)
                                    : 0;
    for (int side = 0; side < 2; side++) {
        const int body = joint->row->body[side];
        if (body != SPRAG_STATIC) {
            const double *w = turn_of(pulled, body);
            sum += dot3(w, w) * norm3(joint->lever[side]);
        }
    }
    return pulled->problem.step * (pulled->problem.step * sum + load_least_way);
}

// m^2, no more than its square, and known at once.
INLINE double least_own_way(const ode_problem *pulled, const ode_loaded_joint *joint)
{
    const double least = pulled->problem.step * load_least_way;
    vector3 sum = {least * least};
    for (int side = 0; side < 2; side++) {
        const int body = joint->row->body[side];
        if (body != SPRAG_STATIC) {
            const vector3 way = pulled->turn[body].square * CONST_VECTOR3(joint->lever[side]);
            sum += way * way;
        }
    }
    return sum3(&sum);
}

// rad, likewise, of angular rows. Turns of both bodies do not add up. What axes are apart is the
// sine of an angle, and a stop turns about an axis between theirs.
static double own_turn(const ode_problem *pulled, const ode_loaded_joint *joint, bool stop)
{
    double square = 0;
    for (int i = joint->first; i < joint->end; i++) {
        if (turns(joint, i) && sprag_row_holds(&pulled->row[i])) {
            square += pulled->mending[i].before * pulled->mending[i].before;
        }
    }
    const double left = sqrt(square);
    const double apart = left / erp_of(pulled, joint);
    double turn[2];
    for (int side = 0; side < 2; side++) {
        const int body = joint->row->body[side];
        turn[side] = body == SPRAG_STATIC ? 0 : norm3(turn_of(pulled, body));
        turn[side] *= pulled->problem.step;
    }
    const double both = turn[0] * turn[1], any = turn[0] + turn[1];
    return both + (stop ? any * apart : (any + left) * apart * apart);
}

// ---- what the program has opened

static void set_opened_way(ode_problem *pulled, const ode_loaded_joint *joint)
{
    pulled->mends = true;
    const double own = own_way(pulled, joint);
    for (int i = joint->at; i < joint->at + joint->rows; i++) {
        ode_mending *mending = &pulled->mending[i];
        const double now = mends(pulled, i), change = now - mending->expected;
        const double more = fabs(change) - own,
                     all = mending->opened + (more > 0 ? copysign(more, change) : 0);
        mending->opened = clamp(all, sprag_smaller(0, now), sprag_larger(0, now));
    }
}

INLINE void find_opened_way(ode_problem *pulled, const ode_loaded_joint *joint)
{
    const double step = pulled->problem.step;
    const ode_mending *mending = &pulled->mending[joint->at];
    double square = 0; // of all changes
    bool opened = false;
    for (const sprag_row *row = joint->row, *end = row + joint->rows; row < end; row++, mending++) {
        const double change = step * row->bias - mending->expected;
        square += change * change;
        if (mending->opened != 0) {
            opened = true;
        }
    }
    if (opened || !(square <= least_own_way(pulled, joint))) {
        set_opened_way(pulled, joint);
    }
}

// The turns of other joints about two axes do not keep these at right angles, and a row may be
// another stop's than in the step before.
static bool turns_are_known(dJointID joint)
{
    const dJointType type = dJointGetType(joint);
    return type == dJointTypeHinge || type == dJointTypeFixed || type == dJointTypeSlider;
}

// now, expected, opened: rad, lengths of the error.
static void set_opened_turn(ode_problem *pulled, const ode_loaded_joint *joint, int first, int end,
                            double now, double expected, double opened)
{
    pulled->mends = true;
    const bool stop = !sprag_row_holds(&pulled->row[first]),
               passes = stop && // from one stop to the other, by half a turn
                        mends(pulled, first) * pulled->mending[first].expected < 0;
    const double stops = pulled->mending[first].stop_erp,
                 erp = stops > 0 ? stops : erp_of(pulled, joint),
                 more = now - expected - erp * own_turn(pulled, joint, stop),
                 all = sprag_smaller(now, opened + (passes ? 0 : sprag_larger(more, 0)));
    for (int i = first; i < end; i++) {
        pulled->mending[i].opened = now > 0 ? all / now * mends(pulled, i) : 0;
    }
}

// The angular rows from the first on that mend one error: those that hold axes. A stop has an error
// of its own. Rows see the error in axes that turn with the bodies, and jump: it is known by its
// length alone. Returns the end of the rows.
INLINE int find_opened_turn(ode_problem *pulled, const ode_loaded_joint *joint, int first)
{
    const bool holds = sprag_row_holds(&pulled->row[first]);
    double now = 0, expected = 0, opened = 0;
    int end = first;
    do {
        const ode_mending *mending = &pulled->mending[end];
        const double all = mends(pulled, end);
        now += all * all;
        expected += mending->expected * mending->expected;
        opened += mending->opened * mending->opened;
        end++;
    } while (holds && turns(joint, end) && sprag_row_holds(&pulled->row[end]));
    if (opened != 0 || (now > expected && turns_are_known(pulled->row_joint[first]))) {
        set_opened_turn(pulled, joint, first, end, sqrt(now), sqrt(expected), sqrt(opened));
    }
    return end;
}

INLINE void find_opened_turns(ode_problem *pulled, const ode_loaded_joint *joint)
{
    for (unsigned left = joint->turning; left != 0;) {
        const int end = find_opened_turn(pulled, joint, joint->first + __builtin_ctz(left));
        left &= ~0u << (end - joint->first);
    }
}

SPRAG_VECTORS
static void find_opened(ode_problem *pulled)
{
    for (const ode_loaded_joint *joint = pulled->loaded, *end = joint + pulled->loadeds;
         joint < end; joint++) {
        find_opened_way(pulled, joint);
        find_opened_turns(pulled, joint);
    }
}

void sprag_ode_find_opened(ode_problem *pulled)
{
    find_opened(pulled);
    pulled->knows_opened = true;
}

// ---- what is mended

double sprag_ode_mending_rate(const ode_problem *pulled, int row)
{
    return sprag_ode_rate(pulled, &pulled->row[row], &pulled->solution) -
           (pulled->solve == ODE_WON ? 0 : pulled->ahead[row]);
}

double sprag_ode_mended(const ode_problem *pulled, int row)
{
    const double opened = pulled->mending[row].opened / pulled->problem.step,
                 rate = sprag_ode_mending_rate(pulled, row);
    return clamp(rate, fmin(0, opened), fmax(0, opened));
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

// ---- what is to be mended in the next step

// Caps turns as ODE will, and what the rows then have of them.
static void cap_turns(ode_problem *pulled)
{
    const bool any = pulled->slowest_cap < dInfinity;
    for (int i = 0; i < pulled->problem.bodies && any; i++) {
        sprag_ode_cap_turn(pulled->island.body[i], pulled->solution.velocity[i]);
    }
    for (int i = 0; i < pulled->joint_rows && any; i++) {
        pulled->solution.row_rate[i] = sprag_ode_rate(pulled, &pulled->row[i], &pulled->solution);
    }
}

void sprag_ode_expect_mending(ode_problem *pulled)
{
    if (!pulled->knows_opened) {
        return;
    }
    const double step = pulled->problem.step, *rate = pulled->solution.row_rate;
    const double *ahead = pulled->ahead;
    const sprag_row *row = pulled->row;
    ode_mending *mending = pulled->mending;
    cap_turns(pulled);
    for (const ode_loaded_joint *joint = pulled->loaded, *last = joint + pulled->loadeds;
         joint < last; joint++) {
        const double holding = step * erp_of(pulled, joint);
        for (const sprag_row *end = pulled->row + joint->end; row < end; row++, mending++) {
            const double before = step * (row->bias - *ahead++), now = *rate++;
            double part = holding;
            if (mending->stop_erp > 0) {
                part = step * mending->stop_erp;
            }
            mending->before = before;
            mending->expected = before - part * now;
            if (mending->opened != 0) {
                mending->opened -= part * sprag_ode_mended(pulled, (int)(row - pulled->row));
            }
        }
    }
}
