// Joints mend their errors, but not with energy from nothing. Bodies open their joints in each
// sub-step, as they go along tangents and turn, and a row that mends brings in its force times its
// bias: a bridge of light planks that catches a load would throw it back. Where joints win more in
// a frame than contacts lose, the sub-step is solved once more, with rows that mend only what the
// program has opened (sprag_row.opened), and the mean of both solutions is taken at which they win
// nothing. Both balance momentum and keep contacts apart, so their mean does.
//
// Forces work along the mean of the velocities before and after the sub-step. Along those after it,
// a pendulum, which its weight turns by the velocity after, would be braked whenever it rises. Its
// joint opens as it falls, and closes as it rises: what is lost can be won back in later frames, up
// to what a swing needs.
#include <math.h>
#include <string.h>

#include "advance_solve.h"
#include "kinematics.h"
#include "linalg.h"

// m/s or rad/s.
static double rate_of(const sprag_row *row, const sprag_body *body, const double (*after)[6])
{
    double rate = 0;
    for (int side = 0; side < 2; side++) {
        const int b = row->body[side];
        if (b != SPRAG_STATIC) {
            rate += dot6(row->jacobian[side], after ? after[b] : body[b].velocity);
        }
    }
    return rate;
}

// W, of a contact, against a surface that moves along itself.
static double power_of(const advance_problem *p, const sprag_contact *contact, const double *force)
{
    double sum = 0;
    for (int after = 0; after < 2; after++) {
        const double *v[2] = {NULL, NULL};
        double u[3];
        for (int side = 0; side < 2; side++) {
            const int b = contact->body[side];
            v[side] = b == SPRAG_STATIC ? NULL
                      : after           ? p->solution.velocity[b]
                                        : p->body[b].velocity;
        }
        relative_velocity(v, (const double(*)[3])contact->arm, u);
        for (int k = 0; k < 3; k++) {
            const double driven = k > 0 ? contact->slide.velocity[k - 1] : 0;
            sum += 0.5 * force[k] * (dot3(contact->frame[k], u) - driven);
        }
    }
    return sum;
}

// J, that joints have won by the end of the sub-step, beyond what they may and less what contacts
// lose.
static double won_by(const advance_run *run, const advance_problem *p)
{
    static const double slight = 1e-12; // rounding of the energy
    double power = 0, moving = 0;
    for (int i = 0; i < run->frame->bodies; i++) {
        moving += 0.5 * advance_product(run, i, p->body[i].velocity, p->body[i].velocity);
    }
    for (int i = 0; i < run->rows.count; i++) {
        const sprag_row *row = &run->rows.row[i];
        if (!row->drives) {
            const double rate =
                0.5 * (rate_of(row, p->body, NULL) +
                       rate_of(row, p->body, (const double(*)[6])p->solution.velocity));
            power += p->solution.row_force[i] * (rate - row->opened);
        }
    }
    for (int i = 0; i < p->problem.contacts; i++) {
        power += power_of(p, &p->contact[i], p->solution.contact_force[i]);
    }
    return run->rows.won + p->problem.step * power - advance_mending_gain * run->attempt.given -
           slight * moving;
}

// J, that forces give free bodies at rest in the sub-step.
static double given_by(const advance_run *run, const advance_problem *p)
{
    double sum = 0;
    for (int i = 0; i < run->frame->bodies; i++) {
        double given[6];
        memcpy(given, p->body[i].free_velocity, sizeof given);
        add_scaled(given, -1, p->body[i].velocity, 6);
        sum += 0.5 * advance_product(run, i, given, given);
    }
    return sum;
}

// A stop throws its bodies back, at most as fast as they came.
static void mend_nothing(advance_problem *p)
{
    for (int i = 0; i < p->problem.rows; i++) {
        sprag_row *row = &p->row[i];
        if (!row->drives) {
            const double back = -rate_of(row, p->body, NULL);
            row->bias = row->lo == 0   ? fmin(row->bias, fmax(row->opened, back))
                        : row->hi == 0 ? fmax(row->bias, fmin(row->opened, back))
                                       : row->opened;
        }
    }
}

// Of the first solution in the mean, the largest at which joints win nothing. What they win is a
// square function of the share, known by both solutions and their middle.
static double share_of_first(double all, double none, double middle)
{
    const double square = 2 * (all + none) - 4 * middle, slope = all - none - square;
    return none < 0 ? -2 * none / (slope + sqrt(fmax(0, slope * slope - 4 * square * none))) : 0;
}

static void mix(double *to, const double *from, double share, int n)
{
    for (int i = 0; i < n; i++) {
        to[i] += share * (from[i] - to[i]);
    }
}

static void mix_solutions(const sprag_problem *problem, sprag_solution *to,
                          const sprag_solution *from, double share)
{
    mix(to->velocity[0], from->velocity[0], share, 6 * problem->bodies);
    mix(to->row_force, from->row_force, share, problem->rows);
    if (problem->contacts > 0) {
        mix(to->contact_force[0], from->contact_force[0], share, 6 * problem->contacts);
    }
}

sprag_result advance_settle_mending(advance_run *run, advance_problem *p)
{
    const int bodies = run->frame->bodies, contacts = p->problem.contacts, rows = run->rows.count;
    if (rows == 0) {
        return SPRAG_OK;
    }
    run->attempt.given = given_by(run, p);
    const double all = won_by(run, p);
    run->attempt.won = all;
    if (!(all > 0)) {
        return SPRAG_OK;
    }
    const sprag_solution first = p->solution;
    sprag_solution *to = &p->solution;
    to->velocity = SPRAG_TAKE_RAW(run->solving, bodies, *to->velocity);
    to->contact_force = SPRAG_TAKE_RAW(run->solving, contacts, *to->contact_force);
    to->row_force = SPRAG_TAKE(run->solving, rows + ADVANCE_CAP_ROWS * bodies, double);
    if (run->solving->failed) {
        return SPRAG_NO_MEMORY;
    }
    mend_nothing(p);
    memcpy(run->attempt.velocity, first.velocity, (size_t)bodies * sizeof *first.velocity);
    run->attempt.has_guess = true;
    const sprag_result result = advance_solve_problem(run, p);
    if (result != SPRAG_OK) {
        *to = first;
        return result == SPRAG_NO_MEMORY ? result : SPRAG_OK;
    }
    const double none = won_by(run, p);
    mix_solutions(&p->problem, to, &first, 0.5);
    const double share = share_of_first(all, none, won_by(run, p));
    mix_solutions(&p->problem, to, &first, 2 * share - 1);
    run->attempt.won = won_by(run, p);
    return SPRAG_OK;
}
