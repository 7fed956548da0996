// No energy from nothing: velocities that contacts ask for must not drive.
//
// An impulse h f at a place that moves at u changes the kinetic energy by h f.(u before + u
// after)/2. A contact that asks for no velocity of separation takes energy, whatever acts besides.
// One that rebounds, or recovers an overlap, asks for a velocity r, and may win energy in two ways:
//
// - Newton's restitution together with friction (Kane, Levinson: Dynamics, 1985).
// - What several of them ask for is not possible, or hardly: a limb between two others is pushed
//   away from both. Then forces grow until something yields, and their work with them.
//
// Alone, a contact of the inverse mass a that recovers would win (r^2 - u^2) / 2a, u the velocity
// at which it closes. One that rebounds may win what a stop has taken from it in the step before
// (speculative contacts), else nothing: r is no more than u. Contacts may win the sum of that, and
// what lifts bodies against free forces where overlaps recover: the impulses that hold those bodies
// up, at the velocities that these contacts ask for. A rebound lifts nothing: it returns what the
// fall has won. Where contacts win more, the problem is solved again without these velocities, and
// the step is the mean of both solutions that wins no more. The mean balances momentum and meets
// rows as both do.
//
// Motors, springs and moving surfaces do work: what they bring in is theirs. Rows of joints mend
// errors: what that brings in without these velocities is theirs, but not what they are pushed to.
#include <math.h>
#include <string.h>

#include "kinematics.h"
#include "linalg.h"
#include "stribeck.h"
#include "stribeck_constants.h"

typedef struct limit {
    const sprag_problem *problem;
    const sprag_solution *solution;
    double (*inverse)[9]; // 1/(kg m^2), bodies; 0: kinematic
    double (*middle)[6];  // m/s, rad/s, bodies: mean of the velocities before and after
    double slight;        // J, gain that is not worth a solve
    double lifts;         // J, most that the recovery of overlaps may lift
    bool rebounds;        // any contact does
} limit;

// J, of overlaps that recover under the contact forces of a solution.
static double most_lifted(const sprag_problem *problem, const sprag_solution *solution)
{
    double sum = 0;
    for (int i = 0; i < problem->contacts; i++) {
        const sprag_contact *contact = &problem->contact[i];
        sum += contact->rebounds ? 0 : contact->recovery * solution->contact_force[i][0];
    }
    return problem->step * sum;
}

// J, work of all impulses, less what lifts bodies against free forces, and less what is not worth a
// solve. Sets `middle` and `slight`.
static double work_of_all(limit *l)
{
    double sum = 0, lifted = 0, fallen = 0;
    l->slight = 0;
    for (int i = 0; i < l->problem->bodies; i++) {
        const sprag_body *body = &l->problem->body[i];
        const double *after = l->solution->velocity[i];
        double change[6], fall[6];
        for (int k = 0; k < 6; k++) {
            l->middle[i][k] = 0.5 * (body->velocity[k] + after[k]);
            change[k] = after[k] - body->free_velocity[k];
            fall[k] = body->free_velocity[k] - body->velocity[k];
        }
        if (body->mass > 0) {
            sum += mass_between(body, l->middle[i], change);
            lifted -= mass_between(body, l->middle[i], fall);
            l->slight += 0.5 * STRIBECK_LEAST_GAIN * mass_between(body, change, change);
            fallen += 0.5 * STRIBECK_LEAST_GAIN_OF_FALL * body->mass * dot3(fall, fall);
        }
    }
    l->slight += l->rebounds ? 0 : fallen;
    return sum - clamp(lifted, 0, l->lifts) - l->slight;
}

static double inverse_mass(const limit *l, const int body[2], const double jacobian[2][6])
{
    double sum = 0;
    for (int side = 0; side < 2; side++) {
        const sprag_body *of = body[side] == SPRAG_STATIC ? NULL : &l->problem->body[body[side]];
        if (of && of->mass > 0) {
            sum += inverse_mass_along(1 / of->mass, l->inverse[body[side]], jacobian[side]);
        }
    }
    return sum;
}

// ---- contacts

static bool is_driven(const sprag_friction *f)
{
    return f->velocity[0] != 0 || f->velocity[1] != 0;
}

// Does the contact do work of its own: as a spring that the step resolves, or by its surface?
static bool contact_drives(const limit *l, const sprag_contact *contact, double inverse_mass)
{
    bool drives =
        contact->stiffness > 0 || (contact->bias > 0 && !(contact->recovery > 0)) ||
        contact->compliance / l->problem->step > STRIBECK_RESOLVED_SPRING * inverse_mass ||
        (is_driven(&contact->slide) && !contact->on_chords);
    if (contact->turning) {
        drives |= is_driven(&contact->turning->roll) || is_driven(&contact->turning->spin);
    }
    for (int side = 0; side < 2; side++) {
        const sprag_body *body =
            contact->body[side] == SPRAG_STATIC ? NULL : &l->problem->body[contact->body[side]];
        drives |= body && !(body->mass > 0) && dot6(body->velocity, body->velocity) > 0;
    }
    return drives;
}

static double inverse_mass_of_contact(const limit *l, const sprag_contact *contact)
{
    double jacobian[2][6];
    for (int side = 0; side < 2; side++) {
        point_jacobian(contact->arm[side], contact->frame[0], jacobian[side]);
    }
    return inverse_mass(l, contact->body, (const double(*)[6])jacobian);
}

// J, of a contact that does work of its own: that work; of another one: what it may win alone.
static double own_work_of_contact(const limit *l, int i)
{
    const sprag_contact *contact = &l->problem->contact[i];
    const sprag_body *body = l->problem->body;
    double wrench[2][6], u[3], sum = 0, a = inverse_mass_of_contact(l, contact);
    sprag_contact_wrench(contact, l->solution->contact_force[i], wrench);
    for (int side = 0; side < 2; side++) {
        int b = contact->body[side];
        if (b != SPRAG_STATIC && body[b].mass > 0) {
            sum += l->problem->step * dot6(wrench[side], l->middle[b]);
        }
    }
    if (contact_drives(l, contact, a)) {
        return fmax(0, sum);
    }
    if (contact->rebounds) {
        return contact->returns;
    }
    sprag_contact_velocity(contact, body->velocity, sizeof *body, u);
    double closing = fmax(0, -dot3(contact->frame[0], u)), r = contact->recovery;
    return r > closing && a > 0 ? 0.5 * (r + closing) * (r - closing) / a : 0;
}

// J, no less than what rebounds and recoveries win beyond what they may: with the impulses p, a
// change of what contacts ask for changes the energy by p times it, and p grows with it.
static double most_excess(const limit *l)
{
    double sum = 0;
    for (int i = 0; i < l->problem->contacts; i++) {
        const sprag_contact *contact = &l->problem->contact[i];
        if (contact->recovery > 0 &&
            !contact_drives(l, contact, inverse_mass_of_contact(l, contact))) {
            sum += l->problem->step * l->solution->contact_force[i][0] * contact->recovery -
                   own_work_of_contact(l, i);
        }
    }
    return sum - l->slight;
}

// ---- rows

typedef struct row_work { // J
    double drives;        // of motors and springs that win
    double mending;       // of the others, at the velocities that they ask for
} row_work;

static void add_work_of_row(const limit *l, int i, row_work *to)
{
    const sprag_row *row = &l->problem->row[i];
    double impulse = l->problem->step * l->solution->row_force[i], before = 0, middle = 0;
    for (int side = 0; side < 2; side++) {
        int b = row->body[side];
        if (b != SPRAG_STATIC && l->problem->body[b].mass > 0) {
            before += dot6(row->jacobian[side], l->problem->body[b].velocity);
            middle += dot6(row->jacobian[side], l->middle[b]);
        }
    }
    double a = inverse_mass(l, row->body, row->jacobian);
    bool holds = isinf(row->lo) || isinf(row->hi);
    if (holds && row->compliance / l->problem->step <= STRIBECK_RESOLVED_SPRING * a) {
        double asked = clamp(before, fmin(0, row->bias), fmax(0, row->bias));
        to->mending += impulse * (middle - 0.5 * (before - asked));
    } else {
        to->drives += fmax(0, impulse * middle);
    }
}

// ---- the limit

// J, by which contacts win more than they may, but for what rows mend.
static double excess(limit *l, double *mending)
{
    double sum = work_of_all(l);
    for (int i = 0; i < l->problem->contacts; i++) {
        sum -= own_work_of_contact(l, i);
    }
    row_work rows = {0};
    for (int i = 0; i < l->problem->rows; i++) {
        add_work_of_row(l, i, &rows);
    }
    *mending = fmax(0, rows.mending);
    return sum - rows.drives;
}

// The sum of energy that sweeps take from the free motion grows from no forces on, and not from
// guesses: the second solve has none.
static bool remove_recovery(const limit *l, sprag_scratch *scratch, sprag_problem *without)
{
    const sprag_problem *p = l->problem;
    sprag_contact *contact = SPRAG_TAKE(scratch, p->contacts, sprag_contact);
    sprag_row *row = SPRAG_TAKE(scratch, p->rows, sprag_row);
    if (scratch->failed) {
        return false;
    }
    for (int i = 0; i < p->contacts; i++) {
        contact[i] = p->contact[i];
        contact[i].guess[0] = -1;
        if (!contact_drives(l, &contact[i], inverse_mass_of_contact(l, &contact[i]))) {
            contact[i].bias -= contact[i].recovery;
            if (contact[i].on_chords) { // forces that wedge win by the least slip
                contact[i].slide.velocity[0] = contact[i].slide.velocity[1] = 0;
            }
        }
    }
    for (int i = 0; i < p->rows; i++) {
        row[i] = p->row[i];
        row[i].guess = 0;
    }
    *without = *p;
    without->contact = contact;
    without->row = row;
    return true;
}

static bool any_recovers(const sprag_problem *p, bool *rebounds)
{
    bool any = false;
    for (int i = 0; i < p->contacts; i++) {
        any |= p->contact[i].recovery > 0;
        *rebounds |= p->contact[i].rebounds;
    }
    return any;
}

static bool take_solution(const sprag_problem *p, sprag_scratch *scratch, sprag_solution *to,
                          bool rates)
{
    *to = (sprag_solution){.velocity = SPRAG_TAKE(scratch, p->bodies, double[6]),
                           .contact_force = SPRAG_TAKE(scratch, p->contacts, double[6]),
                           .row_force = SPRAG_TAKE(scratch, p->rows, double),
                           .row_rate = rates ? SPRAG_TAKE(scratch, p->rows, double) : NULL};
    return !scratch->failed;
}

static void mix(double *to, const double *from, double share, int n)
{
    for (int i = 0; i < n; i++) {
        to[i] += share * (from[i] - to[i]);
    }
}

static void mix_solutions(const sprag_problem *p, sprag_solution *to, const sprag_solution *from,
                          double share)
{
    mix(to->velocity[0], from->velocity[0], share, 6 * p->bodies);
    mix(to->contact_force[0], from->contact_force[0], share, 6 * p->contacts);
    mix(to->row_force, from->row_force, share, p->rows);
    mix(to->row_rate, from->row_rate, share, to->row_rate ? p->rows : 0);
}

// The excess of a mean is none + b share + c share^2, but for what only one of both solutions
// drives or lifts. Returns the greatest share without excess, or else that of the least.
static double share_without_excess(double none, double half, double all)
{
    double c = 2 * (none + all - 2 * half), b = all - none - c;
    if (none < 0) {
        return fmin(1, -2 * none / (b + sqrt(fmax(0, b * b - 4 * c * none))));
    }
    return c > 0 ? clamp(-b / (2 * c), 0, 1) : all < none;
}

static bool take_inverses(limit *l, sprag_scratch *scratch)
{
    l->inverse = SPRAG_TAKE(scratch, l->problem->bodies, *l->inverse);
    for (int i = 0; i < l->problem->bodies && !scratch->failed; i++) {
        if (l->problem->body[i].mass > 0) {
            invert33(l->problem->body[i].inertia, l->inverse[i]);
        }
    }
    return !scratch->failed;
}

sprag_result sprag_stribeck_limit_energy(const sprag_problem *problem,
                                         const sprag_stribeck_options *options,
                                         sprag_scratch *scratch, sprag_solution *solution,
                                         sprag_stats *stats)
{
    limit l = {.problem = problem, .solution = solution};
    if (!any_recovers(problem, &l.rebounds)) {
        return SPRAG_OK;
    }
    l.middle = SPRAG_TAKE(scratch, problem->bodies, *l.middle);
    if (scratch->failed) {
        return SPRAG_NO_MEMORY;
    }
    l.lifts = most_lifted(problem, solution);
    if (!(work_of_all(&l) > 0)) {
        return SPRAG_OK;
    }
    sprag_problem without;
    sprag_solution lost;
    if (!take_inverses(&l, scratch)) {
        return SPRAG_NO_MEMORY;
    }
    double mending, all = excess(&l, &mending);
    if (!(all > 0) || !(most_excess(&l) > 0)) {
        return SPRAG_OK;
    }
    if (!remove_recovery(&l, scratch, &without) ||
        !take_solution(problem, scratch, &lost, solution->row_rate != NULL)) {
        return SPRAG_NO_MEMORY;
    }
    sprag_stats second = {0};
    sprag_stribeck_options own = options ? *options : sprag_stribeck_defaults();
    sprag_memory memory = own.memory ? *own.memory : (sprag_memory){0};
    own.memory = &memory; // what solves the island without recovery is not remembered
    sprag_result result = sprag_stribeck_solve(&without, &own, scratch, &lost, &second);
    if (result != SPRAG_OK) { // the first solution stands
        return result == SPRAG_NO_MEMORY ? result : SPRAG_OK;
    }
    if (stats) {
        sprag_stats_add_work(stats, &second);
    }
    l.solution = &lost;
    l.lifts = most_lifted(problem, &lost);
    double none = excess(&l, &mending) - mending, unused;
    l.solution = solution;
    all = excess(&l, &unused);
    if (!(all > mending)) {
        return SPRAG_OK;
    }
    if (stats) {
        stats->strategy = second.residual > stats->residual ? second.strategy : stats->strategy;
        stats->residual = fmax(stats->residual, second.residual);
        stats->gap = fmax(stats->gap, second.gap);
    }
    mix_solutions(problem, solution, &lost, 0.5);
    double half = excess(&l, &unused) - mending;
    double share = share_without_excess(none, half, all - mending);
    mix_solutions(problem, solution, &lost, 1 - 2 * share);
    return SPRAG_OK;
}
