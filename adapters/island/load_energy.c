// No energy from nothing: what load_stiffness.c adds must not drive.
//
// The added inertia A and the look ahead of rows may bring energy into the island, as their own
// grows less. With p = 0 and no look ahead they cannot: the step is then the nearest velocity that
// the rows allow, in the metric of M + A, to one of less energy. So where the solution has won
// energy, the problem is solved again that way, and the step is the mean of both that wins nothing.
// The mean balances momentum and meets rows as both do.
#include <math.h>
#include <string.h>

#include "island.h"
#include "island_constants.h"
#include "linalg.h"

// A step with the multipliers x of rows J changes the energy, with the weight at the middles of
// steps, by 1/2 step x.(J v before + J v after). Rows that mend errors, or drive, do as in stock:
// J v after is here what the look ahead asks for.
static double gain_of_rows(const ode_problem *pulled, const sprag_solution *solution, double share)
{
    double gain = 0;
    for (int i = 0; i < pulled->problem.rows; i++) {
        const sprag_row *row = &pulled->row[i];
        if (row->lo == -INFINITY && row->hi == INFINITY) {
            double sum = share * pulled->ahead[i];
            for (int side = 0; side < 2; side++) {
                if (row->body[side] != SPRAG_STATIC) {
                    const double *v = pulled->body[row->body[side]].velocity;
                    sum += dot3(row->jacobian[side], v) + dot3(row->jacobian[side] + 3, v + 3);
                }
            }
            gain += 0.5 * pulled->problem.step * solution->row_force[i] * sum;
        }
    }
    return gain;
}

// The work of A (p - w) on the body.
static double gain_of_body(const ode_tight *tight, const double *before, const double *after,
                           double share)
{
    double pull[3], sum[3], impulse[3];
    for (int k = 0; k < 3; k++) {
        pull[k] = share * tight->hold[k] - after[k];
        sum[k] = before[k] + after[k];
    }
    mul33(tight->added, pull, impulse);
    return 0.5 * dot3(impulse, sum);
}

// J; share: of p and of the look ahead.
static double gain(const ode_problem *pulled, const sprag_solution *solution, double share)
{
    double sum = gain_of_rows(pulled, solution, share);
    for (int i = 0; i < pulled->tights; i++) {
        const ode_tight *tight = &pulled->tight[i];
        sum += gain_of_body(tight, pulled->body[tight->body].velocity + 3,
                            solution->velocity[tight->body] + 3, share);
    }
    return sum;
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

// false: no memory.
static bool keep(ode_problem *pulled, sprag_scratch *scratch)
{
    const sprag_solution *from = &pulled->solution;
    size_t bodies = (size_t)pulled->problem.bodies, contacts = (size_t)pulled->problem.contacts;
    size_t rows = (size_t)pulled->problem.rows;
    pulled->held_on = (sprag_solution){
        .velocity = sprag_scratch_take_raw(scratch, bodies, sizeof *from->velocity),
        .contact_force = sprag_scratch_take_raw(scratch, contacts, sizeof *from->contact_force),
        .row_force = sprag_scratch_take_raw(scratch, rows, sizeof *from->row_force)};
    if (scratch->failed) {
        return false;
    }
    memcpy(pulled->held_on.velocity, from->velocity, bodies * sizeof *from->velocity);
    memcpy(pulled->held_on.contact_force, from->contact_force,
           contacts * sizeof *from->contact_force);
    memcpy(pulled->held_on.row_force, from->row_force, rows * sizeof *from->row_force);
    return true;
}

bool sprag_ode_let_go(ode_problem *pulled, sprag_scratch *scratch)
{
    if (pulled->tights == 0 ||
        !(gain(pulled, &pulled->solution, 1) > load_least_gain * energy(pulled)) ||
        !keep(pulled, scratch)) {
        return false;
    }
    for (int i = 0; i < pulled->tights; i++) {
        const ode_tight *tight = &pulled->tight[i];
        memcpy(pulled->body[tight->body].free_velocity + 3, tight->released,
               sizeof tight->released);
    }
    for (int i = 0; i < pulled->problem.rows; i++) {
        pulled->row[i].bias -= pulled->ahead[i];
        pulled->row[i].guess = pulled->solution.row_force[i];
    }
    for (int i = 0; i < pulled->problem.contacts; i++) {
        double *guess = pulled->contact[i].guess;
        memcpy(guess, pulled->solution.contact_force[i], sizeof pulled->contact[i].guess);
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
    const sprag_solution *to = &pulled->solution, *from = &pulled->held_on;
    mix(to->velocity[0], from->velocity[0], share, 6 * pulled->problem.bodies);
    mix(to->row_force, from->row_force, share, pulled->problem.rows);
    if (pulled->problem.contacts > 0) {
        mix(to->contact_force[0], from->contact_force[0], share, 6 * pulled->problem.contacts);
    }
}

void sprag_ode_hold_on(ode_problem *pulled)
{
    double none = gain(pulled, &pulled->solution, 0), all = gain(pulled, &pulled->held_on, 1);
    if (none < 0) { // the gain of a mean is none + b share + c share^2
        mix_solutions(pulled, 0.5);
        double c = 2 * (none + all - 2 * gain(pulled, &pulled->solution, 0.5)), b = all - none - c;
        double share = -2 * none / (b + sqrt(b * b - 4 * c * none)); // of the root in (0, 1)
        mix_solutions(pulled, 2 * share - 1);
    }
}
