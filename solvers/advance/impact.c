// Impacts: contacts that bounce change velocities at once, at the start of a sub-step, before
// forces act. A round solves for the impulses of the contacts that approach each other,
//
//     n.u+ >= -e n.u-   where the contact bounces,   n.u+ >= 0   where bodies touch,
//
// with friction bounded by the impulse and joints that keep their rates. Contacts that bodies only
// approach by the outcome follow in the next round, and so do bodies at rest that touch, if their
// surface bounces: in the same round they would go on as one body. Without friction a round adds no
// energy, because the work of each impulse P is P.(u+ + u-) / 2 <= 0. With friction it can (Kane,
// Levinson: Dynamics, 1985, 5.8): then the outcome is the one nearest to it, towards that without
// restitution, that adds none. That one always loses energy.
#include <math.h>
#include <string.h>

#include "advance_solve.h"
#include "linalg.h"

typedef struct impact {
    advance_run *run;
    advance_problem *p;
    sprag_problem problem; // forces: impulses over the sub-step
    sprag_body *body;      // velocities of the round
    sprag_contact *contact;
    sprag_row *row;
    sprag_solution bounced, plastic;
    int *of;     // contacts: which of those of p
    bool driven; // something does work: a kinematic body, a moving surface
    bool hits;   // a contact bounces
} impact;

static bool bounces(const advance_run *run)
{
    for (int i = 0; i < run->points.count; i++) {
        if (run->frame->pair[run->points.point[i].pair].surface.bounce > 0) {
            return true;
        }
    }
    return false;
}

static bool take(impact *m)
{
    const sprag_problem *problem = &m->p->problem;
    sprag_scratch *scratch = m->run->solving;
    m->problem = *problem;
    m->body = SPRAG_TAKE(scratch, problem->bodies, sprag_body);
    m->contact = SPRAG_TAKE(scratch, problem->contacts, sprag_contact);
    m->row = SPRAG_TAKE(scratch, problem->rows, sprag_row);
    m->of = SPRAG_TAKE(scratch, problem->contacts, int);
    sprag_solution *solution[] = {&m->bounced, &m->plastic};
    for (int i = 0; i < 2; i++) {
        solution[i]->velocity = SPRAG_TAKE(scratch, problem->bodies, *solution[i]->velocity);
        solution[i]->contact_force =
            SPRAG_TAKE(scratch, problem->contacts, *solution[i]->contact_force);
        solution[i]->row_force = SPRAG_TAKE(scratch, problem->rows, double);
    }
    m->problem.body = m->body;
    m->problem.contact = m->contact;
    m->problem.row = m->row;
    return !scratch->failed;
}

// A given contact resists what it is pressed by.
static void add_given(impact *m, int i)
{
    sprag_contact *contact = &m->contact[m->problem.contacts];
    double u[3];
    *contact = m->p->contact[i];
    sprag_contact_velocity(contact, m->body->velocity, sizeof *m->body, u);
    contact->bias = fmin(0, dot3(contact->frame[0], u));
    contact->guess[0] = -1;
    advance_remove_friction(contact);
    m->of[m->problem.contacts++] = i;
}

// A contact bounces if it approaches faster than forces make bodies at rest approach within the
// shortest sub-step. An overlap that is deeper than this approach explains is older, and does not.
static void add_point(impact *m, const advance_point *point, int i)
{
    const advance_run *run = m->run;
    const sprag_pair *pair = &run->frame->pair[point->pair];
    const sprag_surface *surface = &pair->surface;
    sprag_contact *contact = &m->contact[m->problem.contacts];
    double u[3], motion = surface->velocity_normal;
    *contact = m->p->contact[i];
    sprag_contact_velocity(contact, m->body->velocity, sizeof *m->body, u);
    double approach = motion - dot3(contact->frame[0], u);
    double least = fmax(surface->bounce_speed, 2 * run->acceleration * run->floor);
    bool overlaps = advance_is_pushed(run, point);
    bool closes = !point->speculative || point->gap <= approach * m->problem.step;
    bool is_older = overlaps && -point->gap > approach * run->frame->step;
    bool hits = surface->bounce > 0 && approach > least && closes && !is_older;
    bool joins = surface->bounce > 0 ? approach > advance_touching_speed
                                     : approach > -advance_touching_speed;
    bool touches = point->gap <= run->options->epsilon && joins;
    if (!hits && !touches) {
        return;
    }
    contact->bias = motion + (hits ? surface->bounce * approach : 0);
    contact->guess[0] = -1;
    if (surface->slide.force[0] || surface->slide.force[1] ||
        (!hits && advance_is_unbounded(&surface->slide))) {
        advance_remove_friction(contact); // a force has no impulse
    }
    m->driven |= motion != 0 || surface->bounce > 1 || contact->slide.velocity[0] != 0 ||
                 contact->slide.velocity[1] != 0;
    m->hits |= hits;
    m->of[m->problem.contacts++] = i;
}

static void set_row(const impact *m, const sprag_row *from, sprag_row *row)
{
    *row = *from;
    row->bias = row->guess = 0;
    for (int side = 0; side < 2; side++) {
        if (row->body[side] != SPRAG_STATIC) {
            row->bias += dot6(row->jacobian[side], m->body[row->body[side]].velocity);
        }
    }
    row->lo = isinf(row->lo) ? row->lo : 0;
    row->hi = isinf(row->hi) ? row->hi : 0;
}

// The contacts and rows of a round. false: nothing hits anything.
static bool set_round(impact *m)
{
    const advance_run *run = m->run;
    m->problem.contacts = 0;
    m->hits = m->driven = false;
    for (int i = 0; i < run->frame->contacts; i++) {
        add_given(m, i);
    }
    for (int i = 0; i < run->points.count; i++) {
        add_point(m, &run->points.point[i], run->frame->contacts + i);
    }
    for (int i = 0; i < m->problem.rows && m->hits; i++) {
        set_row(m, &m->p->problem.row[i], &m->row[i]);
    }
    return m->hits;
}

static sprag_result solve(const impact *m, sprag_solution *solution)
{
    sprag_stats stats = {0};
    return advance_solve_contacts(m->run, &m->problem, false, false, NULL, solution, &stats);
}

// J, a' M b of all bodies that have a mass.
static double product(const impact *m, double (*a)[6], double (*b)[6])
{
    double sum = 0;
    for (int i = 0; i < m->problem.bodies; i++) {
        sum += advance_product(m->run, i, a[i], b[i]);
    }
    return sum;
}

static double energy_before(const impact *m)
{
    double sum = 0;
    for (int i = 0; i < m->problem.bodies; i++) {
        sum += advance_product(m->run, i, m->body[i].velocity, m->body[i].velocity);
    }
    return sum;
}

// The share of b, 0 to 1, with which |a + share b|^2 is at most `most`; own: |a|^2, both: a.b,
// square: |b|^2.
static double share_within(double own, double both, double square, double most)
{
    double left = most - own;
    if (!(square > 0) || !(left > 0)) {
        return 0;
    }
    double root = sqrt(both * both + square * left);
    double share = both > 0 ? left / (both + root) : (root - both) / square;
    return share < 1 ? share : 1;
}

static void mix(double *a, const double *b, double share, int count)
{
    for (int i = 0; i < count; i++) {
        a[i] = b[i] + share * (a[i] - b[i]);
    }
}

// Takes from the bounce what it gains.
static sprag_result limit_energy(impact *m)
{
    double most = energy_before(m);
    sprag_solution *bounced = &m->bounced, *plastic = &m->plastic;
    for (int i = 0; i < m->problem.bodies && !m->driven; i++) {
        m->driven = m->body[i].mass == 0 && dot6(m->body[i].velocity, m->body[i].velocity) > 0;
    }
    if (m->driven || product(m, bounced->velocity, bounced->velocity) <= most) {
        return SPRAG_OK;
    }
    for (int i = 0; i < m->problem.contacts; i++) {
        m->contact[i].bias = fmin(0, m->contact[i].bias);
    }
    sprag_result result = solve(m, plastic);
    if (result != SPRAG_OK) {
        return result;
    }
    double own = product(m, plastic->velocity, plastic->velocity);
    double both = product(m, plastic->velocity, bounced->velocity) - own;
    double square = product(m, bounced->velocity, bounced->velocity) - own - 2 * both;
    double share = share_within(own, both, square, most);
    mix(*bounced->velocity, *plastic->velocity, share, 6 * m->problem.bodies);
    mix(*bounced->contact_force, *plastic->contact_force, share, 6 * m->problem.contacts);
    mix(bounced->row_force, plastic->row_force, share, m->problem.rows);
    return SPRAG_OK;
}

// The impulses of a round, as forces over the sub-step.
static void keep(const impact *m)
{
    advance_run *run = m->run;
    const sprag_solution *bounced = &m->bounced;
    for (int i = 0; i < m->problem.bodies; i++) {
        memcpy(m->body[i].velocity, bounced->velocity[i], sizeof m->body[i].velocity);
        memcpy(m->body[i].free_velocity, bounced->velocity[i], sizeof m->body[i].velocity);
    }
    for (int i = 0; i < m->problem.contacts; i++) {
        int point = m->of[i] - run->frame->contacts;
        if (point < 0) {
            add_scaled(m->p->impact.given_force[m->of[i]], 1, bounced->contact_force[i], 6);
            continue;
        }
        double wrench[2][6];
        sprag_contact_wrench(&m->contact[i], bounced->contact_force[i], wrench);
        add_scaled(*run->points.point[point].impact, 1, *wrench, 12);
    }
    for (int i = 0; i < m->problem.rows; i++) {
        m->p->impact.row_force[i] += bounced->row_force[i];
    }
}

sprag_result advance_impact(advance_run *run, advance_problem *p)
{
    impact m = {.run = run, .p = p};
    for (int i = 0; i < run->points.count; i++) {
        memset(run->points.point[i].impact, 0, sizeof run->points.point[i].impact);
    }
    p->impact.acts = false;
    if (!bounces(run)) {
        return SPRAG_OK;
    }
    p->impact.row_force = SPRAG_TAKE(run->solving, p->problem.rows, double);
    p->impact.given_force = SPRAG_TAKE(run->solving, run->frame->contacts, *p->impact.given_force);
    if (!take(&m)) {
        return SPRAG_NO_MEMORY;
    }
    for (int i = 0; i < p->problem.bodies; i++) {
        m.body[i] = p->body[i];
        memcpy(m.body[i].free_velocity, p->body[i].velocity, sizeof p->body[i].velocity);
    }
    const int most = ADVANCE_IMPACT_ROUNDS + run->points.count;
    for (int round = 0; round < most && (round == 0 || run->work_left > 0) && set_round(&m);
         round++) {
        sprag_result result = solve(&m, &m.bounced);
        result = result == SPRAG_OK ? limit_energy(&m) : result;
        if (result == SPRAG_NO_MEMORY) {
            return result;
        }
        if (result != SPRAG_OK) {
            break; // the contacts stop what approaches
        }
        keep(&m);
        p->impact.acts = true;
    }
    for (int i = 0; i < p->problem.bodies && p->impact.acts; i++) {
        add_scaled(p->body[i].free_velocity, 1, m.body[i].velocity, 6);
        add_scaled(p->body[i].free_velocity, -1, p->body[i].velocity, 6);
        memcpy(p->body[i].velocity, m.body[i].velocity, sizeof p->body[i].velocity);
    }
    return SPRAG_OK;
}
