// No energy from nothing: what load_stiffness.c adds must not drive.
//
// The added inertia A takes energy from the motion, and gives it back as it grows less: a body that
// swings against it has w.A w / 2 in it, and as much in the tension. So each body keeps an account
// of what A and the rows under load have taken. A joint that opens under its force takes energy
// too, and brings it in again as its error is mended: that is charged to the account. Where it was
// free, a chain of 3 links under 20 won 30 % in 60 s.
//
// So is what a stop mends: sliders with stops in a chain under 100 kg won half of the energy. But
// all stops are passed by before ODE gives them a row, and soft ones are springs. So each has an
// account of its own for what its error takes to mend, of the energy that the step has taken and
// that the bodies' accounts do not hold. Without it, a load that falls onto a stop stays too low.
//
// Springs (rows with a CFM above load_spring) and motors do work of their own. So does the program
// where it opens a joint (load_opened.c): that is mended without being charged, also in a second
// solve.
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
#include <string.h>

#include "island_constants.h"
#include "linalg.h"
#include "loads.h"
#include "vectors3.h"

// J, of all bodies and distances under load.
typedef struct account {
    double before, room; // what is in it before the step; what it holds at most after it
    double stops;        // what more the accounts of stops hold at most
    double won;          // in the step, by A and by rows
    double driven;       // the part of it that u and the look ahead bring in
    double energy;       // of the free motion: at rest, that of one step's fall
    bool pushed;         // the program moves a body
    bool has_stops;      // stops have accounts of their own
} account;

static bool is_pushed(const ode_problem *pulled, int body)
{
    return body != SPRAG_STATIC && !(pulled->body[body].mass > 0);
}

// J, of forces along the way of the step, on bodies that the program moves; or on others.
static double work(const ode_problem *pulled, const int body[2], const double wrench[2][6],
                   bool pushed)
{
    double sum = 0;
    for (int side = 0; side < 2; side++) {
        const int b = body[side];
        if (b != SPRAG_STATIC && is_pushed(pulled, b) == pushed) {
            sum += 0.5 * (product6(wrench[side], pulled->body[b].velocity) +
                          product6(wrench[side], pulled->solution.velocity[b]));
        }
    }
    return sum;
}

// The momentum that a body has won beyond that of its free motion is by rows, contacts, and A: with
// its velocity in the middle of the step, that is their work. The part by A is added later.
SPRAG_VECTORS
static void add_bodies(account *sum, const ode_problem *pulled)
{
    vector3 won = {0}, energy = {0};
    for (int i = 0; i < pulled->problem.bodies; i++) {
        const sprag_body *body = &pulled->body[i];
        const double *before = body->velocity, *after = pulled->solution.velocity[i],
                     *free = body->free_velocity, *I = body->inertia;
        const vector3 from = CONST_VECTOR3(free);
        vector3 turn, free_turn;
        load_last3(&turn, after);
        load_last3(&free_turn, free);
        const vector3 gained = turn - free_turn;
        turn += CONST_VECTOR3(before + 3);
        won += 0.5 * (body->mass * (CONST_VECTOR3(before) + CONST_VECTOR3(after)) *
                          (CONST_VECTOR3(after) - from) +
                      (turn[0] * CONST_VECTOR3(I) + turn[1] * CONST_VECTOR3(I + 3) +
                       turn[2] * CONST_VECTOR3(I + 6)) *
                          gained);
        energy += 0.5 * body->mass * from * from;
        sum->pushed |= !(body->mass > 0);
    }
    sum->won = sum3(&won);
    sum->energy = sum3(&energy);
}

// The impulse A (u - w) of a body under load, by the turn in the middle of the step. Sets `stored`
// to the room of its account.
SPRAG_VECTORS
static void add_stiffened_bodies(account *sum, const ode_problem *pulled)
{
    lanes won = zeros, driven = zeros, before = zeros, all = zeros;
    for (int i = 0; i < pulled->stiffened_fours; i++) {
        ode_stiffened_four *of = &pulled->stiffened_four[i];
        const lanes *A = of->added;
        const void *body[LANES];
        lanes after[LANES], left[3], middle[3], momentum[3], part;
        for (int l = 0; l < LANES; l++) {
            body[l] = &pulled->solution.velocity[of->body[l]][2];
        }
        load_four(body, 0, after);
        for (int k = 0; k < 3; k++) {
            left[k] = of->target[k] - after[1 + k];
            middle[k] = 0.5 * (after[1 + k] + of->own[k]);
        }
        momentum[0] = A[0] * middle[0] + A[1] * middle[1] + A[2] * middle[2];
        momentum[1] = A[1] * middle[0] + A[3] * middle[1] + A[4] * middle[2];
        momentum[2] = A[2] * middle[0] + A[4] * middle[1] + A[5] * middle[2];
        dot_of(left, momentum, &part);
        won += part;
        dot_of(of->own, momentum, &part);
        driven += of->kept * part;
        before += of->stored;
        dot_of(middle, momentum, &of->stored);
        all += of->stored;
    }
    sum->won += sum_of(&won);
    sum->driven += sum_of(&driven);
    sum->before += sum_of(&before);
    sum->room += sum_of(&all);
}

// J, of a stop's own account.
typedef struct stop_account {
    double spent; // on what the solution mends
    double kept;  // of the rest, no more than of the error
    double room;  // for what it takes to mend the rest of the error by the force of this step
} stop_account;

static stop_account account_of_stop(const ode_problem *pulled, int i)
{
    const sprag_row *row = &pulled->row[i];
    const ode_mending *mending = &pulled->mending[i];
    const double bias = row->bias - pulled->ahead[i], force = pulled->solution.row_force[i],
                 rate = sprag_ode_mending_rate(pulled, i),
                 left = bias != 0 ? fmax(0, 1 - mending->stop_erp * rate / bias) : 0;
    const double work = pulled->problem.step * force * rate,
                 whole = pulled->problem.step * force * bias / mending->stop_erp,
                 spent = fmax(0, fmin(work, mending->stored)),
                 kept = (mending->stored - spent) * fmin(1, left);
    return (stop_account){spent, kept, fmax(0, whole * left - kept)};
}

// By four sums, of which none waits for another.
SPRAG_VECTORS
static double dot(int n, const double *a, const double *b)
{
    sprag_four sum = {0};
    double rest = 0;
    int i = 0;
    for (; i + 4 <= n; i += 4) {
        sum += *(const sprag_four *)(a + i) * *(const sprag_four *)(b + i);
    }
    for (; i < n; i++) {
        rest += a[i] * b[i];
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]) + rest;
}

// J / s, of the rows' forces on bodies that the program moves.
static double work_on_pushed(const ode_problem *pulled)
{
    double won = 0;
    bool pushed = false; // one of the row's bodies
    for (int i = 0; i < pulled->problem.rows; i++) {
        const sprag_row *row = &pulled->row[i];
        if (i == 0 || memcmp(row->body, row[-1].body, sizeof row->body) != 0) {
            pushed = is_pushed(pulled, row->body[0]) || is_pushed(pulled, row->body[1]);
        }
        if (pushed && !row->drives) {
            won += pulled->solution.row_force[i] *
                   work(pulled, row->body, (const double(*)[6])row->jacobian, true);
        }
    }
    return won;
}

// The work of motors, and of what the program moves, is their own.
static void add_rows(account *sum, const ode_problem *pulled)
{
    const double step = pulled->problem.step, *force = pulled->solution.row_force;
    double driven = dot(pulled->problem.rows, force, pulled->ahead),
           won = sum->pushed ? work_on_pushed(pulled) : 0;
    const sprag_row *row = pulled->row;
    for (int i = 0; i < pulled->problem.rows && pulled->drives; i++, row++) {
        if (row->drives) {
            won -= force[i] * work(pulled, row->body, (const double(*)[6])row->jacobian, false);
            driven -= force[i] * pulled->ahead[i];
        }
    }
    sum->won += step * won;
    sum->driven += 0.5 * step * driven;
}

// The program does the work of mending what it has opened; a stop's account pays for what the stop
// mends.
static void add_mending(account *sum, const ode_problem *pulled)
{
    for (int i = 0; i < pulled->joint_rows; i++) {
        const ode_mending *mending = &pulled->mending[i];
        if (mending->opened != 0 && !pulled->row[i].drives) {
            sum->won -=
                pulled->problem.step * pulled->solution.row_force[i] * sprag_ode_mended(pulled, i);
        }
        if (mending->stop_erp > 0) {
            const stop_account of = account_of_stop(pulled, i);
            sum->won -= of.spent;
            sum->stops += of.room;
            sum->has_stops = true;
        }
    }
}

// The work of contacts is their own.
static void add_contacts(account *sum, const ode_problem *pulled)
{
    for (int i = 0; i < pulled->problem.contacts; i++) {
        const sprag_contact *contact = &pulled->contact[i];
        double wrench[2][6];
        sprag_contact_wrench(contact, pulled->solution.contact_force[i], wrench);
        sum->won -=
            pulled->problem.step * work(pulled, contact->body, (const double(*)[6])wrench, false);
    }
}

static void add_distance(account *sum, const ode_problem *pulled, ode_stiffened_distance *of)
{
    sum->before += of->stored;
    of->stored = 0;
    for (int k = 0; k < 2; k++) {
        const sprag_row *row = &pulled->row[of->row + k];
        const double middle = 0.5 * (sprag_ode_rate(pulled, row, NULL) +
                                     sprag_ode_rate(pulled, row, &pulled->solution));
        sum->driven += of->target[k] * of->added * middle;
        of->stored += middle * of->added * middle;
    }
    sum->room += of->stored;
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
    if (share < 1) {
        mix(to->velocity[0], from->velocity[0], share, 6 * pulled->problem.bodies);
        mix(to->row_force, from->row_force, share, pulled->problem.rows);
        mix(to->row_rate, from->row_rate, share, pulled->problem.rows);
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

// The same, of bodies.
SPRAG_VECTORS
static void settle_bodies(const ode_problem *pulled, double kept)
{
    for (int i = 0; i < pulled->stiffened_fours; i++) {
        ode_stiffened_four *of = &pulled->stiffened_four[i];
        const lanes least = load_least_share * ones, next = pulled->factor * of->share,
                    share = SMALLER(next, ones), of_any = SELECT(next > least, share, least);
        of->stored *= kept;
        of->share = SELECT(of->trace > 0, of_any, zeros);
    }
}

// share: of the room of each stop, that is filled.
static void keep_stops(ode_problem *pulled, double share)
{
    for (int i = 0; i < pulled->joint_rows; i++) {
        if (pulled->mending[i].stop_erp > 0) {
            const stop_account of = account_of_stop(pulled, i);
            pulled->mending[i].stored = of.kept + fmax(0, share) * of.room;
        }
    }
}

bool sprag_ode_charge_loads(ode_problem *pulled)
{
    account sum = {0};
    if (pulled->stiffened_bodies + pulled->stiffened_distances == 0) {
        if (pulled->knows_opened) {
            keep_stops(pulled, 0);
        }
        return true;
    }
    add_bodies(&sum, pulled);
    add_stiffened_bodies(&sum, pulled);
    add_rows(&sum, pulled);
    add_contacts(&sum, pulled);
    if (pulled->mends) {
        add_mending(&sum, pulled);
    }
    for (int i = 0; i < pulled->stiffened_distances; i++) {
        add_distance(&sum, pulled, &pulled->stiffened_distance[i]);
    }
    if (pulled->solve == ODE_WON) {
        take_mean(pulled, &sum);
    }
    double left = sum.before - sum.won, over = fmax(0, sum.won) - left;
    double kept = sum.room > 0 ? fmax(-1, fmin(1, left / sum.room)) : 0;
    if (pulled->solve != ODE_WON && sum.driven > 0) {
        pulled->factor = fmax(0, 1 - over / sum.driven);
    }
    settle_bodies(pulled, kept);
    for (int i = 0; i < pulled->stiffened_distances; i++) {
        ode_stiffened_distance *of = &pulled->stiffened_distance[i];
        settle(&of->stored, &of->share, kept, pulled->factor);
    }
    pulled->won = sum.won;
    pulled->may_win = fmax(0, sum.before) + load_most_gain * sum.energy;
    if (pulled->solve != ODE_WON && sum.won > pulled->may_win) {
        return false;
    }
    if (sum.has_stops) {
        keep_stops(pulled, sum.stops > 0 ? fmin(1, (left - sum.room) / sum.stops) : 0);
    }
    return true;
}
