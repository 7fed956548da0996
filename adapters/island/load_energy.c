// No energy from nothing: what load_stiffness.c adds must not drive.
//
// The added inertia A takes energy from the motion, and gives it back as it grows less: a body that
// swings against it has w.A w / 2 in it, and as much in the tension. So each body keeps an account
// of what A and the look ahead have taken, of at most w.A w, and a step may win what is there. A
// joint that opens under its force takes energy too, and brings it in again as its error is mended:
// that is charged to the account. Where it was free, a chain of 3 links under 20 won 30 % in 60 s.
//
// With u = 0, no look ahead and no rebound nothing can be won: the step is then the nearest
// velocity that the rows allow, in the metric of M + A, to one of less energy. So where the
// solution has won more than is there, the problem is solved again that way, and the step is the
// mean of both that wins no more. The mean balances momentum and meets rows as both do. Where loads
// have grown within the step, A and u are not those of this load: the second solution, with A for
// it, is the step.
#include <math.h>
#include <string.h>

#include "island.h"
#include "island_constants.h"
#include "linalg.h"

// A step with the multipliers x of rows J changes the energy, with the weight at the middles of
// steps, by 1/2 step x.(J v before + J v after), J v after = look ahead + what mends errors.
typedef struct work {
    double before, ahead, mending; // J, the part of each of these
} work;

static work work_of_rows(const ode_problem *pulled, const sprag_solution *solution)
{
    work sum = {0};
    for (int i = 0; i < pulled->joint_rows; i++) {
        const sprag_row *row = &pulled->row[i];
        if (row->lo == -INFINITY && row->hi == INFINITY) {
            double half = 0.5 * pulled->problem.step * solution->row_force[i];
            sum.before += half * sprag_ode_rate(pulled, row, NULL);
            sum.ahead += half * pulled->ahead[i];
            sum.mending += half * (row->bias - pulled->ahead[i]);
        }
    }
    return sum;
}

// J, the work of A (share u - w).
static double work_of_inertia(const ode_problem *pulled, const sprag_solution *solution,
                              double share)
{
    double sum = 0;
    for (int i = 0; i < pulled->stiffened_bodies; i++) {
        const ode_stiffened_body *of = &pulled->stiffened_body[i];
        const double *before = pulled->body[of->body].velocity + 3;
        const double *after = solution->velocity[of->body] + 3;
        double pull[3], impulse[3];
        for (int k = 0; k < 3; k++) {
            pull[k] = share * of->target[k] - after[k];
        }
        mul33(of->added, pull, impulse);
        sum += 0.5 * (dot3(impulse, before) + dot3(impulse, after));
    }
    for (int i = 0; i < 2 * pulled->stiffened_distances; i++) {
        const ode_stiffened_distance *of = &pulled->stiffened_distance[i / 2];
        const sprag_row *row = &pulled->row[of->row + i % 2];
        double before = sprag_ode_rate(pulled, row, NULL),
               after = sprag_ode_rate(pulled, row, solution);
        sum += 0.5 * of->added * (share * of->target[i % 2] - after) * (before + after);
    }
    return sum;
}

// J; share: of u and of the look ahead. Rows that mend errors, or drive, do as in stock.
static double gain(const ode_problem *pulled, const sprag_solution *solution, double share)
{
    work rows = work_of_rows(pulled, solution);
    return rows.before + share * rows.ahead + work_of_inertia(pulled, solution, share);
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

// ---- the account

static double stored(const ode_problem *pulled)
{
    double sum = 0;
    for (int i = 0; i < pulled->stiffened_bodies; i++) {
        sum += pulled->stiffened_body[i].stored;
    }
    for (int i = 0; i < pulled->stiffened_distances; i++) {
        sum += pulled->stiffened_distance[i].stored;
    }
    return sum;
}

// Shares out what is left of it, among the bodies that can hold it.
static void store(ode_problem *pulled, double left)
{
    double room = 0;
    for (int i = 0; i < pulled->stiffened_bodies; i++) {
        ode_stiffened_body *of = &pulled->stiffened_body[i];
        const double *w = pulled->solution.velocity[of->body] + 3;
        double momentum[3];
        mul33(of->added, w, momentum);
        of->stored = dot3(w, momentum);
        room += of->stored;
    }
    for (int i = 0; i < pulled->stiffened_distances; i++) {
        ode_stiffened_distance *of = &pulled->stiffened_distance[i];
        double v[2];
        for (int k = 0; k < 2; k++) {
            v[k] = sprag_ode_rate(pulled, &pulled->row[of->row + k], &pulled->solution);
        }
        of->stored = of->added * (v[0] * v[0] + v[1] * v[1]);
        room += of->stored;
    }
    double share = left > 0 && room > 0 ? fmin(1, left / room) : 0;
    for (int i = 0; i < pulled->stiffened_bodies; i++) {
        pulled->stiffened_body[i].stored *= share;
    }
    for (int i = 0; i < pulled->stiffened_distances; i++) {
        pulled->stiffened_distance[i].stored *= share;
    }
}

// The next steps ask for the share that has been right in this one, and a little more in each that
// wins no more than it may: else a chain that mends the gaps of a jerk is solved twice in each.
static void change_share(ode_problem *pulled, double factor, double more)
{
    for (int i = 0; i < pulled->stiffened_bodies; i++) {
        double *share = &pulled->stiffened_body[i].share;
        *share = factor * *share + more;
    }
    for (int i = 0; i < pulled->stiffened_distances; i++) {
        double *share = &pulled->stiffened_distance[i].share;
        *share = factor * *share + more;
    }
}

// Sets what the solution may win, beside what mending wins. Returns whether it wins more, by A and
// the look ahead: what mending alone brings in stays.
static bool wins(ode_problem *pulled)
{
    if (pulled->stiffened_bodies + pulled->stiffened_distances == 0) {
        return false;
    }
    const sprag_solution *solution = &pulled->solution;
    work rows = work_of_rows(pulled, solution);
    double added = rows.ahead + work_of_inertia(pulled, solution, 1), all = rows.before + added;
    pulled->may_win = stored(pulled) - rows.mending;
    bool more = added > 0 && all > pulled->may_win + load_least_gain * energy(pulled);
    if (!more) {
        store(pulled, stored(pulled) - rows.mending - all);
        change_share(pulled, 1 - load_recovery, load_recovery);
    }
    return more;
}

// ---- the second solution

static void guess(ode_problem *pulled)
{
    for (int i = 0; i < pulled->problem.rows; i++) {
        pulled->row[i].guess = pulled->solution.row_force[i];
    }
    for (int i = 0; i < pulled->problem.contacts; i++) {
        double *to = pulled->contact[i].guess;
        memcpy(to, pulled->solution.contact_force[i], sizeof pulled->contact[i].guess);
    }
}

bool sprag_ode_keep_solution(ode_problem *pulled, sprag_scratch *scratch)
{
    const sprag_solution *from = &pulled->solution;
    size_t bodies = (size_t)pulled->problem.bodies, contacts = (size_t)pulled->problem.contacts;
    size_t rows = (size_t)pulled->problem.rows;
    size_t most = (size_t)(pulled->joint_rows + 2 * pulled->distances); // of the second problem
    pulled->first = (sprag_solution){
        .velocity = sprag_scratch_take_raw(scratch, bodies, sizeof *from->velocity),
        .contact_force =
            sprag_scratch_take_raw(scratch, (size_t)pulled->room, sizeof *from->contact_force),
        .row_force = sprag_scratch_take(scratch, most, sizeof *from->row_force)};
    if (scratch->failed) {
        return false;
    }
    memcpy(pulled->first.velocity, from->velocity, bodies * sizeof *from->velocity);
    memcpy(pulled->first.contact_force, from->contact_force,
           contacts * sizeof *from->contact_force);
    memcpy(pulled->first.row_force, from->row_force, rows * sizeof *from->row_force);
    guess(pulled);
    return true;
}

// Adds a share of what rows look ahead, and of what contacts ask for to rebound or to recover an
// overlap.
static void ask(ode_problem *pulled, double share)
{
    for (int i = 0; i < pulled->joint_rows; i++) {
        pulled->row[i].bias += share * pulled->ahead[i];
    }
    for (int i = 0; i < pulled->problem.contacts; i++) {
        pulled->contact[i].bias += share * pulled->contact[i].recovery;
    }
}

// The target of A is rest, no row looks ahead, and no contact rebounds: a body that A has stopped
// does not meet it at the speed that the rebound is a share of.
static void make_passive(ode_problem *pulled)
{
    for (int i = 0; i < pulled->stiffened_bodies; i++) {
        const ode_stiffened_body *stiffened = &pulled->stiffened_body[i];
        sprag_ode_aim_at_rest(&pulled->body[stiffened->body], stiffened);
    }
    ask(pulled, -1);
    for (int i = pulled->joint_rows; i < pulled->problem.rows; i++) {
        pulled->row[i].bias = 0;
    }
}

bool sprag_ode_solve_again(ode_problem *pulled, const ode_warm_start *warm_start,
                           sprag_scratch *scratch)
{
    bool grown = sprag_ode_loads_have_grown(pulled, scratch);
    if ((!grown && !wins(pulled)) || !sprag_ode_keep_solution(pulled, scratch)) {
        return false;
    }
    if (grown) {
        sprag_ode_stiffen_again(pulled, warm_start, scratch);
    } else {
        make_passive(pulled);
    }
    return true;
}

static void mix(double *to, const double *from, double share, int n)
{
    for (int i = 0; i < n; i++) {
        to[i] += share * (from[i] - to[i]);
    }
}

static void mix_solutions(ode_problem *pulled, double share)
{
    const sprag_solution *to = &pulled->solution, *from = &pulled->first;
    mix(to->velocity[0], from->velocity[0], share, 6 * pulled->problem.bodies);
    mix(to->row_force, from->row_force, share, pulled->problem.rows);
    if (pulled->problem.contacts > 0) {
        mix(to->contact_force[0], from->contact_force[0], share, 6 * pulled->problem.contacts);
    }
}

void sprag_ode_keep_first(ode_problem *pulled)
{
    pulled->solution = pulled->first;
    if (!pulled->by_solution) {
        ask(pulled, 1);
    }
    store(pulled, 0);
}

void sprag_ode_combine(ode_problem *pulled)
{
    if (pulled->stiffened_bodies + pulled->stiffened_distances == 0) {
        return;
    }
    if (pulled->by_solution) {
        double mended = fmax(0, work_of_rows(pulled, &pulled->solution).mending);
        store(pulled, stored(pulled) - gain(pulled, &pulled->solution, 0) - mended);
        return;
    }
    ask(pulled, 1);
    double none = gain(pulled, &pulled->solution, 0) - pulled->may_win;
    double all = gain(pulled, &pulled->first, 1) - pulled->may_win;
    double share = 0;
    if (none < 0) { // the gain of a mean is none + b share + c share^2
        mix_solutions(pulled, 0.5);
        double half = gain(pulled, &pulled->solution, 0.5) - pulled->may_win;
        double c = 2 * (none + all - 2 * half), b = all - none - c;
        share = -2 * none / (b + sqrt(b * b - 4 * c * none)); // of the root in (0, 1)
        mix_solutions(pulled, 2 * share - 1);
    }
    change_share(pulled, share, 0);
    store(pulled, 0);
}
