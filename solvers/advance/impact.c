// Impacts: contacts and joint stops that bounce change velocities at once, at the start of a
// sub-step, before forces act. A round solves for the impulses of the contacts that approach each
// other,
//
//     n.u+ >= -e n.u-   where the contact bounces,   n.u+ >= 0   where bodies touch,
//
// and of stops likewise, with the rate J v of their rows for n.u,
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
    advance_problem round;  // velocities of the round; forces: impulses over the sub-step
    sprag_solution plastic; // in the room of the problem's
    int *of;                // contacts behind the given ones: of which points
    double *least; // rows of stops that bounce, m/s or rad/s: what approaches more slowly does not
    bool driven;   // something does work: a kinematic body, a moving surface
    bool hits;     // a contact or a stop bounces
} impact;

// m/s, at which the bodies of a contact come nearer.
static double approach_at(const sprag_contact *contact, const sprag_surface *surface,
                          const sprag_body *body)
{
    return surface->velocity_normal - sprag_contact_rate(contact, body->velocity, sizeof *body);
}

double advance_point_approach(const advance_run *run, const advance_problem *p, int i)
{
    const sprag_surface *surface = &run->frame->pair[run->points.point[i].pair].surface;
    return approach_at(&p->contact[run->frame->contacts + i], surface, p->body);
}

bool advance_bounces(const advance_run *run, const advance_problem *p)
{
    bool any = false;
    for (int i = 0; i < run->rows.count && !any; i++) {
        const sprag_row *row = &run->rows.row[i];
        any = row->bounce > 0 && advance_stop_approach(row, sprag_row_rate(row, p->body->velocity,
                                                                           sizeof *p->body)) > 0;
    }
    for (int i = 0; i < run->points.count && !any; i++) {
        const sprag_surface *surface = &run->frame->pair[run->points.point[i].pair].surface;
        any = surface->bounce > 0 && advance_point_approach(run, p, i) > 0;
    }
    return any;
}

// A contact bounces if it approaches faster than forces make bodies at rest approach within the
// shortest sub-step. An overlap that is deeper than this approach explains is older, and does not.
static void add_point(impact *m, const advance_point *point, int i)
{
    const advance_run *run = m->run;
    const sprag_pair *pair = &run->frame->pair[point->pair];
    const sprag_surface *surface = &pair->surface;
    sprag_contact *contact = &m->round.contact[m->round.problem.contacts];
    const double motion = surface->velocity_normal;
    *contact = m->p->contact[run->frame->contacts + i];
    double approach = approach_at(contact, surface, m->round.body);
    double least = fmax(surface->bounce_speed, 2 * run->acceleration * run->floor);
    least -= fmin(0, sprag_contact_rate(contact, *run->middles.kick, sizeof(double[6])));
    bool overlaps = advance_is_pushed(run, point);
    bool closes = !point->speculative || point->gap <= approach * m->round.problem.step;
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
    m->of[m->round.problem.contacts++] = i;
}

static void add_bounce(impact *m, sprag_row *stop, double least)
{
    if (stop->bounce > 0 && advance_stop_approach(stop, stop->bias) > least) {
        stop->bias *= -stop->bounce;
        m->driven |= stop->bounce > 1;
        m->hits = true;
    }
}

// The contacts and rows of a round. false: nothing hits anything.
static bool set_round(impact *m)
{
    const advance_run *run = m->run;
    m->hits = m->driven = false;
    advance_keep_rates(run, NULL, &m->round);
    for (int i = 0; i < m->round.problem.rows; i++) {
        add_bounce(m, &m->round.row[i], m->least[i]);
    }
    for (int i = 0; i < run->points.count; i++) {
        add_point(m, &run->points.point[i], i);
    }
    return m->hits;
}

static bool solve(const impact *m, sprag_solution *solution)
{
    return advance_solve_contacts(m->run, &m->round.problem, ADVANCE_SWEEPS, solution, NULL);
}

// J, a' M b of all bodies that have a mass.
static double product(const impact *m, double (*a)[6], double (*b)[6])
{
    double sum = 0;
    for (int i = 0; i < m->round.problem.bodies; i++) {
        sum += advance_product(m->run, i, a[i], b[i]);
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

// Takes from the bounce what it gains. false: no solution.
static bool limit_energy(impact *m)
{
    sprag_solution *bounced = &m->round.solution, *plastic = &m->plastic;
    for (int i = 0; i < m->round.problem.bodies; i++) {
        const sprag_body *body = &m->round.body[i];
        memcpy(plastic->velocity[i], body->velocity, sizeof body->velocity);
        m->driven |= body->mass == 0 && dot6(body->velocity, body->velocity) > 0;
    }
    const double most = product(m, plastic->velocity, plastic->velocity);
    if (m->driven || product(m, bounced->velocity, bounced->velocity) <= most) {
        return true;
    }
    for (int i = 0; i < m->round.problem.contacts; i++) {
        m->round.contact[i].bias = fmin(0, m->round.contact[i].bias);
    }
    for (int i = 0; i < m->round.problem.rows; i++) {
        sprag_row *row = &m->round.row[i];
        row->bias = row->bounce > 0 && advance_stop_approach(row, row->bias) < 0 ? 0 : row->bias;
    }
    if (!solve(m, plastic)) {
        return false;
    }
    double own = product(m, plastic->velocity, plastic->velocity);
    double both = product(m, plastic->velocity, bounced->velocity) - own;
    double square = product(m, bounced->velocity, bounced->velocity) - own - 2 * both;
    double share = share_within(own, both, square, most);
    mix(*bounced->velocity, *plastic->velocity, share, 6 * m->round.problem.bodies);
    mix(*bounced->contact_force, *plastic->contact_force, share, 6 * m->round.problem.contacts);
    mix(bounced->row_force, plastic->row_force, share, m->round.problem.rows);
    return true;
}

// The impulses of a round, as forces over the sub-step.
static void keep(impact *m)
{
    advance_run *run = m->run;
    const sprag_solution *bounced = &m->round.solution;
    for (int i = 0; i < m->round.problem.bodies; i++) {
        advance_start_rates(&m->round, i, bounced->velocity[i]);
    }
    for (int i = 0; i < run->frame->contacts; i++) {
        add_scaled(m->p->impact.given_force[i], 1, bounced->contact_force[i], 6);
    }
    for (int i = run->frame->contacts; i < m->round.problem.contacts; i++) {
        double wrench[2][6];
        sprag_contact_wrench(&m->round.contact[i], bounced->contact_force[i], wrench);
        add_scaled(*run->points.point[m->of[i]].impact, 1, *wrench, 12);
    }
    for (int i = 0; i < m->round.problem.rows; i++) {
        m->p->impact.row_force[i] += bounced->row_force[i];
    }
}

// Stops bounce, as contacts do, if bodies come faster than forces make bodies at rest come within
// the shortest sub-step.
static void set_least(impact *m)
{
    const advance_run *run = m->run;
    for (int i = 0; i < run->rows.count; i++) {
        const sprag_row *row = &run->rows.row[i];
        double forced =
            advance_stop_approach(row, sprag_row_rate(row, *run->middles.kick, sizeof(double[6])));
        const double lag = run->middles.lag[advance_body_of(run, row->body)];
        m->least[i] = advance_touching_speed + fmax(0, forced) * (1 + 2 * run->floor / lag);
    }
}

void advance_impact(advance_run *run, advance_problem *p, bool bounces)
{
    impact m = {.run = run, .p = p, .plastic = p->solution};
    for (int i = 0; i < run->points.count; i++) {
        memset(run->points.point[i].impact, 0, sizeof run->points.point[i].impact);
    }
    p->impact.acts = false;
    if (!bounces) {
        return;
    }
    p->impact.row_force = SPRAG_TAKE(run->solving, p->problem.rows, double);
    p->impact.given_force = SPRAG_TAKE(run->solving, run->frame->contacts, *p->impact.given_force);
    m.of = SPRAG_TAKE(run->solving, p->problem.contacts, int);
    m.least = SPRAG_TAKE(run->solving, p->problem.rows, double);
    if (!advance_take_rates(run, p->problem.contacts, &m.round)) {
        return;
    }
    set_least(&m);
    for (int i = 0; i < p->problem.bodies; i++) {
        advance_start_rates(&m.round, i, p->body[i].velocity);
    }
    const int most = ADVANCE_IMPACT_ROUNDS + run->points.count;
    for (int round = 0; round < most && (round == 0 || run->work_left > 0) && set_round(&m);
         round++) {
        if (!solve(&m, &m.round.solution) || !limit_energy(&m)) {
            break; // the contacts stop what approaches
        }
        keep(&m);
        p->impact.acts = true;
    }
    for (int i = 0; i < p->problem.bodies && p->impact.acts; i++) {
        add_scaled(p->body[i].free_velocity, 1, m.round.body[i].velocity, 6);
        add_scaled(p->body[i].free_velocity, -1, p->body[i].velocity, 6);
        memcpy(p->body[i].velocity, m.round.body[i].velocity, sizeof p->body[i].velocity);
    }
}
