// Law of a pair's points, from its surface and, where it has a stiffness and bounces, the speed of
// impact. Surfaces without a stiffness bounce by impulses (impact.c); here is their law at rest.
// And the solves of the contacts that hold and that are hit.
#include <math.h>
#include <string.h>

#include "compliant_run.h"
#include "forces.h"
#include "linalg.h"
#include "unions.h"

// ---- restitution -> dissipation
//
// Rebound of springs with force k x (1 + d v), v the speed of approach: in units of the speed of
// impact v0, with D = d v0,
//
//     v dv / (1 + D v) = -k x dx / m
//
// An impact at v = 1 ends at v = -e for the D with log((1 + D) / (1 - D e)) = D (1 + e).

// D, with Hunt and Crossley's dissipation, for which the rebound has restitution e > 0. It does not
// depend on the mass, the stiffness, or the number of springs.
static double dissipation_number(double e)
{
    double lo = 0, hi = fmin(COMPLIANT_DISSIPATION_MAX, 1 / e);
    for (int i = 0; i < 60 && e < 1; i++) {
        double middle = (lo + hi) / 2, left = 1 - e * middle;
        *(log((1 + middle) / left) < middle * (1 + e) ? &lo : &hi) = middle;
    }
    return e < 1 ? lo : 0;
}

// Integral of v / (1 + D v) from 0 to v; by its series where D v is small.
static double energy(double D, double v)
{
    double z = D * v;
    return fabs(z) < 1e-2 ? v * v * (1.0 / 2 - z / 3 + z * z / 4 - z * z * z / 5)
                          : v / D - log1p(z) / (D * D);
}

// A constant push a changes the equation to v dv = (a - x (1 + D v)) dx, in units of the impact. To
// first order the restitution falls by a times
//
//     (1 - D e) / e  integral of -v / (x (1 + D v)^2) dv, from -e to 1
//
// by the midpoint rule in the angle of v = middle + reach sin(angle).
static double restitution_loss(double D, double e)
{
    enum { POINTS = 32 };
    double middle = (1 - e) / 2, reach = (1 + e) / 2, sum = 0, all = energy(D, 1);
    for (int i = 0; i < POINTS; i++) {
        double angle = acos(-1) * ((i + 0.5) / POINTS - 0.5), v = middle + reach * sin(angle);
        double x = sqrt(fmax(1e-300, 2 * (all - energy(D, v)))), left = 1 + D * v;
        sum -= v * reach * cos(angle) / (x * left * left);
    }
    return (1 - D * e) / e * sum * acos(-1) / POINTS;
}

// The same where a constant force pushes the bodies together meanwhile. push: its acceleration over
// that of the impact, v0 sqrt(k / m).
static double pushed_dissipation_number(double e, double push)
{
    const double least = COMPLIANT_PUSH_RESTITUTION_MIN, most = COMPLIANT_PUSH_MAX;
    double aim = e, number = dissipation_number(e);
    push = fmin(fmax(push, -most), most);
    for (int i = 0; i < 3 && e >= least && e < 1 && push != 0; i++) {
        aim = fmin(fmax(e + push * restitution_loss(number, aim), least), 1);
        number = dissipation_number(aim);
    }
    return number;
}

// ---- surface -> law

// 1/kg; 0 of a side that no force moves.
static double inverse_mass_of(const compliant_run *run, int guard, int side)
{
    int body = compliant_body(run, guard, side);
    double mass = body == SPRAG_STATIC ? 0 : run->frame->body[body].mass;
    return mass > 0 ? 1 / mass : 0;
}

// Speed of impact, m/s. Of a pair that overlapped at the end of the last frame it is that of its
// first touch, unless it touches now.
static double impact_speed(compliant_run *run, int guard, bool touches_now)
{
    sprag_compliant_memory *of = &compliant_pair(run, guard)->memory->compliant;
    if (of->start_points > 0 && !touches_now) {
        return of->impact_speed;
    }
    compliant_contact contact;
    compliant_find_contact(run, run->state.x, guard, COMPLIANT_FORCES, &contact);
    return of->impact_speed = contact.approach;
}

// m/s^2, by which forces on its bodies push them together.
static double push_along(const compliant_run *run, int guard, const double *normal)
{
    double sum = 0;
    for (int side = 0; side < 2; side++) {
        int body = compliant_body(run, guard, side);
        double mass = body == SPRAG_STATIC ? 0 : run->frame->body[body].mass;
        sum -= mass > 0 ? (side ? -1 : 1) * dot3(normal, run->frame->body[body].force) / mass : 0;
    }
    return sum;
}

// Dissipation for a rebound of restitution `bounce` from an impact at `speed`. A body at rest
// counts as impacting at the speed that forces give it in a frame.
static void set_bounce(compliant_run *run, int guard, double bounce, double speed)
{
    compliant_law *law = &run->guards.law[guard];
    compliant_contact contact;
    speed = fmax(speed, fmax(run->sizes.change, 1e-9 * run->sizes.fastest));
    if (run->law_for_test || bounce >= 1) {
        law->dissipation = dissipation_number(bounce) / speed;
        return;
    }
    double depth = speed / sqrt(law->stiffness / law->effective_mass);
    compliant_find_points(run, run->state.x, guard, COMPLIANT_SAME_TIME_DEPTH * depth, &contact);
    if (contact.count == 0) { // the implicit step meets it while it is farther away
        compliant_find_own_points(run, run->state.x, guard, &contact);
    }
    if (contact.count == 0) {
        law->dissipation = dissipation_number(bounce) / speed;
        return;
    }
    double one = compliant_inverse_mass(run, guard, contact.at[0], contact.gap.normal);
    double weight = contact.count > 1 ? contact.count / law->effective_mass : one;
    double rate = sqrt(law->stiffness * weight);
    double push = push_along(run, guard, contact.gap.normal) / (rate * speed);
    law->dissipation = pushed_dissipation_number(bounce, isfinite(push) ? push : 0) / speed;
}

// ODE's ERP and CFM as a spring and damper.
static void set_soft(compliant_law *law, const sprag_surface *surface, double step)
{
    double erp = fmin(surface->erp, 1), cfm = surface->compliance;
    law->compliance = cfm;
    law->recovery = erp / step;
    if (cfm > 0) {
        law->stiffness = erp / (step * cfm);
        law->damping = (1 - erp) / cfm;
    }
}

// Would explicit integration at the rate of the law need more steps than allowed? Of a law without
// a stiffness, too.
static bool is_stiff(const compliant_run *run, const compliant_law *law)
{
    double h = run->frame->step, m = law->effective_mass;
    double rate = sqrt(law->stiffness / m) + law->damping / m;
    return !(law->stiffness > 0 && rate * h < run->options->steps);
}

// Shapes other than balls meet several triangles of a mesh at once, at points that come and go:
// forces of springs would jump.
static bool is_faceted(const compliant_run *run, int guard)
{
    int side = sprag_pair_triangle(run->frame, run->guards.pair[guard]);
    return side >= 0 && compliant_collider(run, guard, !side)->shape.kind != SPRAG_SPHERE;
}

// Laws that springs within the integration do not have.
static bool is_unsupported(const sprag_surface *surface, bool bounces)
{
    return sprag_turning_acts(&surface->turning) || isinf(surface->slide.coefficient[0]) ||
           isinf(surface->slide.coefficient[1]) || (bounces && surface->velocity_normal != 0);
}

void compliant_set_law(compliant_run *run, int guard, bool touches_now)
{
    const sprag_surface *surface = compliant_surface(run, guard);
    compliant_law *law = &run->guards.law[guard];
    double h = run->frame->step;
    double inverse_mass = inverse_mass_of(run, guard, 0) + inverse_mass_of(run, guard, 1);
    *law = (compliant_law){.effective_mass = inverse_mass > 0 ? 1 / inverse_mass : 1};
    double speed =
        compliant_needs_speed(surface) ? impact_speed(run, guard, touches_now) : INFINITY;
    bool bounces = surface->bounce > 0 && speed > surface->bounce_speed;
    if (surface->stiffness > 0) {
        law->stiffness = surface->stiffness;
        law->dissipation = surface->dissipation;
        law->compliance = 1 / (h * surface->stiffness);
        law->recovery = 1 / h;
        law->hunt_crossley = true;
        if (bounces) {
            set_bounce(run, guard, surface->bounce, speed);
        }
    } else {
        set_soft(law, surface, h);
    }
    bool unsupported = is_unsupported(surface, bounces && surface->stiffness > 0);
    if (unsupported || is_stiff(run, law) || is_faceted(run, guard)) {
        law->status = law->hunt_crossley && bounces ? COMPLIANT_IMPLICIT : COMPLIANT_RIGID_PAIR;
        law->reason = unsupported ? SPRAG_COMPLIANT_UNSUPPORTED_LAW : SPRAG_COMPLIANT_STIFF;
    }
    double given = surface->stiction > 0 ? surface->stiction : run->options->stiction;
    law->stiction = given > 0 ? given : fmax(COMPLIANT_STICTION * run->sizes.fastest, 1e-12);
}

// ---- friction that the normal force does not bound

static bool is_free(const sprag_friction *f, int axis)
{
    return f->coefficient[axis] > 0 && (f->force[axis] || isinf(f->coefficient[axis]));
}

static bool has_free_friction(const sprag_contact *c)
{
    const sprag_turning *t = c->turning;
    return is_free(&c->slide, 0) || is_free(&c->slide, 1) ||
           (t && (is_free(&t->roll, 0) || is_free(&t->roll, 1) || is_free(&t->spin, 0)));
}

// m/s, by which a force along the normal changes the velocities of its bodies.
static double change_by(const sprag_problem *problem, const sprag_contact *c, double force)
{
    double inverse_mass = 0;
    for (int side = 0; side < 2; side++) {
        double mass = c->body[side] == SPRAG_STATIC ? 0 : problem->body[c->body[side]].mass;
        inverse_mass += mass > 0 ? 1 / mass : 0;
    }
    return force * problem->step * inverse_mass;
}

// Points that pushed in the last solve, and those that approach.
static bool is_expected(const sprag_problem *problem, const sprag_contact *c, double least)
{
    double u[3];
    sprag_contact_velocity(c, problem->body->free_velocity, sizeof *problem->body, u);
    return change_by(problem, c, c->guess[0]) > least || c->bias - dot3(c->frame[0], u) > least;
}

// From the second solve on no point loses its friction again, so that the solves end.
sprag_result compliant_solve_pushing(compliant_solver *solve, sprag_problem *problem,
                                     const sprag_stribeck_options *options, sprag_scratch *scratch,
                                     double least, sprag_solution *solution)
{
    const sprag_contact *with = problem->contact;
    const int count = problem->contacts;
    int asked = 0, *ask = SPRAG_TAKE_RAW(scratch, count, int);
    bool *rubs = SPRAG_TAKE_RAW(scratch, count, bool), same = false;
    for (int i = 0; i < count && !scratch->failed; i++) {
        if (has_free_friction(&with[i])) {
            rubs[asked] = is_expected(problem, &with[i], least);
            ask[asked++] = i;
        }
    }
    sprag_contact *contact = SPRAG_TAKE_RAW(scratch, asked > 0 ? count : 0, sprag_contact);
    if (scratch->failed) {
        return SPRAG_NO_MEMORY;
    }
    if (asked > 0) {
        memcpy(contact, with, (size_t)count * sizeof *with);
        problem->contact = contact;
    }
    sprag_result result = SPRAG_OK;
    for (int pass = 0; result == SPRAG_OK && !same; pass++) {
        sprag_stats stats = {0};
        for (int k = 0; k < asked; k++) {
            sprag_contact *c = &contact[ask[k]];
            *c = with[ask[k]];
            if (!rubs[k]) {
                memset(&c->slide, 0, sizeof c->slide);
                c->turning = NULL;
                memset(solution->contact_force[ask[k]] + 1, 0, 5 * sizeof(double));
            }
        }
        result = solve(problem, options, scratch, solution, &stats);
        same = true;
        for (int k = 0; k < asked; k++) {
            double force = solution->contact_force[ask[k]][0];
            bool stays = pass > 0 && rubs[k];
            bool now = stays || change_by(problem, &with[ask[k]], force) > least;
            same = same && now == rubs[k];
            rubs[k] = now;
        }
    }
    return result;
}

// ---- islands: bodies that contacts and rows connect

// The problem of an island, and where its parts are from.
typedef struct island {
    const sprag_problem *whole;
    int *set;    // bodies of the whole: sets (unions.h) of those that move
    int *number; // likewise: in the island; -1: not in it
    int bodies, contacts, rows;
    int *of_body, *of_contact, *of_row;
    sprag_body *body;
    sprag_contact *contact;
    sprag_row *row;
    sprag_solution solution;
} island;

static bool take_island(island *to, sprag_scratch *scratch)
{
    const int bodies = to->whole->bodies, contacts = to->whole->contacts, rows = to->whole->rows;
    to->set = SPRAG_TAKE_RAW(scratch, bodies, int);
    to->number = SPRAG_TAKE_RAW(scratch, bodies, int);
    to->of_body = SPRAG_TAKE_RAW(scratch, bodies, int);
    to->of_contact = SPRAG_TAKE_RAW(scratch, contacts, int);
    to->of_row = SPRAG_TAKE_RAW(scratch, rows, int);
    to->body = SPRAG_TAKE_RAW(scratch, bodies, sprag_body);
    to->contact = SPRAG_TAKE_RAW(scratch, contacts, sprag_contact);
    to->row = SPRAG_TAKE_RAW(scratch, rows, sprag_row);
    to->solution.velocity = SPRAG_TAKE_RAW(scratch, bodies, double[6]);
    to->solution.contact_force = SPRAG_TAKE_RAW(scratch, contacts, double[6]);
    to->solution.row_force = SPRAG_TAKE_RAW(scratch, rows, double);
    return !scratch->failed;
}

static bool moves(const island *of, int body)
{
    return body != SPRAG_STATIC && of->whole->body[body].mass > 0;
}

// The body that leads the island of a contact or row; SPRAG_STATIC: nothing moves there.
static int leader_of(const island *of, const int body[2])
{
    const int side = !moves(of, body[0]);
    return moves(of, body[side]) ? sprag_leader_of(of->set, body[side]) : SPRAG_STATIC;
}

static void unite(const island *of, const int body[2])
{
    if (moves(of, body[0]) && moves(of, body[1])) {
        sprag_unite(of->set, body[0], body[1]);
    }
}

static void connect(const island *of)
{
    for (int i = 0; i < of->whole->bodies; i++) {
        of->set[i] = i;
    }
    for (int i = 0; i < of->whole->contacts; i++) {
        unite(of, of->whole->contact[i].body);
    }
    for (int i = 0; i < of->whole->rows; i++) {
        unite(of, of->whole->row[i].body);
    }
}

// Numbers two bodies in the island.
static void add_bodies(island *to, const sprag_solution *solution, int body[2])
{
    for (int side = 0; side < 2; side++) {
        const int b = body[side];
        if (b == SPRAG_STATIC) {
            continue;
        }
        if (to->number[b] < 0) {
            to->number[b] = to->bodies;
            to->of_body[to->bodies] = b;
            to->body[to->bodies] = to->whole->body[b];
            memcpy(to->solution.velocity[to->bodies++], solution->velocity[b], 6 * sizeof(double));
        }
        body[side] = to->number[b];
    }
}

static void gather(island *to, int leader, const sprag_solution *solution)
{
    to->bodies = to->contacts = to->rows = 0;
    for (int i = 0; i < to->whole->bodies; i++) {
        to->number[i] = -1;
    }
    for (int i = 0; i < to->whole->contacts; i++) {
        if (leader_of(to, to->whole->contact[i].body) == leader) {
            sprag_contact *c = &to->contact[to->contacts];
            *c = to->whole->contact[i];
            add_bodies(to, solution, c->body);
            to->of_contact[to->contacts] = i;
            memcpy(to->solution.contact_force[to->contacts++], solution->contact_force[i],
                   6 * sizeof(double));
        }
    }
    for (int i = 0; i < to->whole->rows; i++) {
        if (leader_of(to, to->whole->row[i].body) == leader) {
            sprag_row *r = &to->row[to->rows];
            *r = to->whole->row[i];
            add_bodies(to, solution, r->body);
            to->of_row[to->rows] = i;
            to->solution.row_force[to->rows++] = solution->row_force[i];
        }
    }
}

static void scatter(const island *from, sprag_solution *solution)
{
    for (int i = 0; i < from->bodies; i++) {
        memcpy(solution->velocity[from->of_body[i]], from->solution.velocity[i],
               6 * sizeof(double));
    }
    for (int i = 0; i < from->contacts; i++) {
        memcpy(solution->contact_force[from->of_contact[i]], from->solution.contact_force[i],
               6 * sizeof(double));
    }
    for (int i = 0; i < from->rows; i++) {
        solution->row_force[from->of_row[i]] = from->solution.row_force[i];
    }
}

// Nothing pushes between bodies that do not move.
static void set_unmoved(const island *of, sprag_solution *solution)
{
    for (int i = 0; i < of->whole->contacts; i++) {
        if (leader_of(of, of->whole->contact[i].body) == SPRAG_STATIC) {
            memset(solution->contact_force[i], 0, sizeof solution->contact_force[i]);
        }
    }
    for (int i = 0; i < of->whole->rows; i++) {
        if (leader_of(of, of->whole->row[i].body) == SPRAG_STATIC) {
            solution->row_force[i] = 0;
        }
    }
}

static sprag_result solve_island(island *of, const sprag_stribeck_options *options,
                                 sprag_scratch *scratch, sprag_stats *stats)
{
    const sprag_problem problem = {.step = of->whole->step,
                                   .bodies = of->bodies,
                                   .contacts = of->contacts,
                                   .rows = of->rows,
                                   .body = of->body,
                                   .contact = of->contact,
                                   .row = of->row};
    const sprag_scratch before = *scratch;
    sprag_result result = sprag_stribeck_forces(&problem, options, scratch, &of->solution, stats);
    sprag_scratch_release(scratch, &before);
    return result;
}

sprag_result compliant_island_forces(const sprag_problem *problem,
                                     const sprag_stribeck_options *options, sprag_scratch *scratch,
                                     sprag_solution *solution, sprag_stats *stats)
{
    island of = {.whole = problem};
    if (!take_island(&of, scratch)) {
        return SPRAG_NO_MEMORY;
    }
    connect(&of);
    set_unmoved(&of, solution);
    sprag_result result = SPRAG_OK;
    for (int b = 0; b < problem->bodies && result == SPRAG_OK; b++) {
        if (moves(&of, b) && sprag_leader_of(of.set, b) != b) {
            continue;
        }
        gather(&of, moves(&of, b) ? b : problem->bodies, solution);
        if (of.bodies == 0) {
            memcpy(solution->velocity[b], problem->body[b].free_velocity,
                   sizeof solution->velocity[b]);
            continue;
        }
        result = solve_island(&of, options, scratch, stats);
        scatter(&of, solution);
    }
    return result;
}
