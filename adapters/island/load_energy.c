// No energy from nothing: what load_stiffness.c adds must not drive.
//
// The added inertia A takes energy from the motion, and gives it back as it grows less: a body that
// swings against it has w.A w / 2 in it, and as much in the tension. So each body keeps an account
// of what A and the rows under load have taken. A joint that opens under its force takes energy
// too, and brings it in again as its error is mended: that is charged to the account. Where it was
// free, a chain of 3 links under 20 won 30 % in 60 s. So is what a stop mends: sliders with stops
// in a chain under 100 kg won half of the energy.
//
// With u = 0, no look ahead and no mending, nothing can be won: the step is then the nearest
// velocity that the rows allow, in the metric of M + A, to one of less energy. What a step has won
// is known after its solve, and seldom worth another one: the next steps ask for a share of u and
// of the look ahead that pays for it. If the next step wins as much as this one, but for its share,
// it wins what is in the account. An account holds w.A w at most, w in the middle of the step, and
// is overdrawn by no more: what mends the errors of a crash is not to be paid for in seconds to
// come. Where a step wins much at once (bodies that are thrown back on their joints, or open joints
// that a jerk mends), it is solved again so that it wins nothing, and is the mean of both that wins
// no more than that.
#include <math.h>

#include "island.h"
#include "island_constants.h"
#include "linalg.h"

// J, of all bodies and distances under load.
typedef struct account {
    double before, room; // what is in it before the step; what it holds at most after it
    double won;          // in the step, by A and by rows
    double driven;       // the part of it that u and the look ahead bring in
} account;

// A step with the multipliers x of rows J changes the energy, with the weight at the middles of
// steps, by step x.(J v in the middle of the step). J v after is the look ahead and what mends
// errors, less what the row yields: rows that contradict each other mend nothing, with all their
// might.
static void add_rows(account *sum, const ode_problem *pulled, const sprag_solution *middle)
{
    static const double still[6];
    const double step = pulled->problem.step, *v[2] = {still, still};
    for (int i = 0; i < pulled->joint_rows; i++) {
        const sprag_row *row = &pulled->row[i];
        const bool first = i == 0 || pulled->row_joint[i] != pulled->row_joint[i - 1];
        for (int side = 0; side < 2 && first; side++) {
            const int body = row->body[side];
            v[side] = body == SPRAG_STATIC ? still : middle->velocity[body];
        }
        if (!row->drives) { // what a motor brings in is its own
            double impulse = step * pulled->solution.row_force[i];
            sum->won +=
                impulse * (product6(row->jacobian[0], v[0]) + product6(row->jacobian[1], v[1]));
            sum->driven += 0.5 * impulse * pulled->ahead[i];
        }
    }
}

// The work of A (u - w). Sets `stored` to the room of the account.
static void add_body(account *sum, const ode_problem *pulled, const sprag_solution *at_middle,
                     ode_stiffened_body *of)
{
    const double *middle = at_middle->velocity[of->body] + 3;
    double momentum[3];
    mul33(of->added, middle, momentum);
    double driven = dot3(of->target, momentum);
    sum->won += driven - dot3(pulled->solution.velocity[of->body] + 3, momentum);
    sum->driven += driven - dot3(of->common, momentum);
    sum->before += of->stored;
    of->stored = dot3(middle, momentum);
    sum->room += of->stored;
}

static void add_distance(account *sum, const ode_problem *pulled, const sprag_solution *at_middle,
                         ode_stiffened_distance *of)
{
    sum->before += of->stored;
    of->stored = 0;
    for (int k = 0; k < 2; k++) {
        const sprag_row *row = &pulled->row[of->row + k];
        double after = sprag_ode_rate(pulled, row, &pulled->solution);
        double middle = sprag_ode_rate(pulled, row, at_middle);
        double momentum = of->added * middle;
        sum->won += (of->target[k] - after) * momentum;
        sum->driven += of->target[k] * momentum;
        of->stored += middle * momentum;
    }
    sum->room += of->stored;
}

// J, of the free motion: at rest, that of one step's fall.
static double energy(const ode_problem *pulled)
{
    double sum = 0;
    for (int i = 0; i < pulled->problem.bodies; i++) {
        const double *v = pulled->body[i].free_velocity;
        sum += 0.5 * pulled->body[i].mass * dot3(v, v);
    }
    return sum;
}

static void mix(double *to, const double *from, double share, int n)
{
    for (int i = 0; i < n; i++) {
        to[i] += share * (from[i] - to[i]);
    }
}

// The solution is now the mean with the one before that wins no more than a step may. It balances
// momentum and meets rows as both do, and its energy is below the mean of theirs.
static void take_mean(ode_problem *pulled, account *sum)
{
    const sprag_solution *to = &pulled->solution, *from = &pulled->first;
    double share = fmax(0, (pulled->may_win - sum->won) / (pulled->won - sum->won));
    if (pulled->won > pulled->may_win && share < 1) {
        mix(to->velocity[0], from->velocity[0], share, 6 * pulled->problem.bodies);
        mix(to->row_force, from->row_force, share, pulled->problem.rows);
        if (pulled->problem.contacts > 0) {
            mix(to->contact_force[0], from->contact_force[0], share, 6 * pulled->problem.contacts);
        }
        sum->won += share * (pulled->won - sum->won);
    }
}

static void settle(double *stored, double *share, double kept, double factor)
{
    double next = factor * *share;
    *stored *= kept;
    *share = next > load_least_share ? (next < 1 ? next : 1) : load_least_share;
}

// The velocities at the middle of the step. false: no memory.
static bool find_middle(const ode_problem *pulled, sprag_scratch *scratch, sprag_solution *middle)
{
    const int bodies = pulled->problem.bodies;
    middle->velocity = SPRAG_TAKE_RAW(scratch, bodies, double[6]);
    for (int i = 0; i < bodies && middle->velocity; i++) {
        for (int k = 0; k < 6; k++) {
            middle->velocity[i][k] =
                0.5 * (pulled->body[i].velocity[k] + pulled->solution.velocity[i][k]);
        }
    }
    return middle->velocity;
}

bool sprag_ode_charge_loads(ode_problem *pulled, sprag_scratch *scratch)
{
    account sum = {0};
    sprag_solution middle = {0};
    if (pulled->stiffened_bodies + pulled->stiffened_distances == 0 ||
        !find_middle(pulled, scratch, &middle)) {
        return true;
    }
    add_rows(&sum, pulled, &middle);
    for (int i = 0; i < pulled->stiffened_bodies; i++) {
        add_body(&sum, pulled, &middle, &pulled->stiffened_body[i]);
    }
    for (int i = 0; i < pulled->stiffened_distances; i++) {
        add_distance(&sum, pulled, &middle, &pulled->stiffened_distance[i]);
    }
    if (pulled->solve == ODE_WON) {
        take_mean(pulled, &sum);
    }
    double left = sum.before - sum.won, over = fmax(0, sum.won) - left;
    double kept = sum.room > 0 ? fmax(-1, fmin(1, left / sum.room)) : 0;
    if (pulled->solve != ODE_WON && sum.driven > 0) {
        pulled->factor = fmax(0, 1 - over / sum.driven);
    }
    for (int i = 0; i < pulled->stiffened_bodies; i++) {
        ode_stiffened_body *of = &pulled->stiffened_body[i];
        settle(&of->stored, &of->share, kept, pulled->factor);
    }
    for (int i = 0; i < pulled->stiffened_distances; i++) {
        ode_stiffened_distance *of = &pulled->stiffened_distance[i];
        settle(&of->stored, &of->share, kept, pulled->factor);
    }
    pulled->won = sum.won;
    pulled->may_win = fmax(0, sum.before) + load_most_gain * energy(pulled);
    return pulled->solve == ODE_WON || sum.won <= pulled->may_win;
}

void sprag_ode_mend_nothing(ode_problem *pulled)
{
    for (int i = 0; i < pulled->joint_rows; i++) {
        sprag_row *row = &pulled->row[i];
        if (!row->drives) {
            const double bias = row->bias, back = -sprag_ode_rate(pulled, row, NULL);
            row->bias = row->lo == 0   ? fmin(bias, fmax(0, back))
                        : row->hi == 0 ? fmax(bias, fmin(0, back))
                                       : 0;
            pulled->ahead[i] = row->bias - bias;
        }
    }
}
