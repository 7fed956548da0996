#include "oneway.h"

#include <math.h>

#include "kinematics.h"
#include "linalg.h"
#include "stribeck.h"
#include "stribeck_constants.h"

static bool is_bounded_by_normal(const sprag_cone *cone)
{
    return !cone->force && !isinf(cone->coefficient);
}

// Sets explicit normal forces of stiff contacts. Returns whether all contacts have one.
// *stiff_step: the largest step^2 stiffness / mass.
static bool set_explicit_forces(sprag_system *system, double *stiff_step)
{
    bool all = true;
    sprag_system_place(system, system->start);
    for (int i = 0; i < system->points; i++) {
        sprag_point *point = &system->point[i];
        if (point->law == SPRAG_HUNT_CROSSLEY) {
            double damping = fmax(0, 1 - point->dissipation * system->slip[i][SPRAG_NORMAL]);
            point->law = SPRAG_GIVEN;
            point->given = system->step * point->stiffness * damping * fmax(0, point->penetration);
            double ratio = system->step * system->step * point->stiffness * point->inverse_mass;
            *stiff_step = fmax(*stiff_step, ratio);
        }
        all &= point->law == SPRAG_GIVEN;
    }
    return all;
}

// Solves the step without friction that a normal force bounds. mu: coefficients, of all cones.
static sprag_result solve_without_friction(sprag_strategy_state *w, const double *mu)
{
    for (int c = 0; c < w->system->cones; c++) {
        sprag_cone *cone = &w->system->cone[c];
        cone->coefficient = is_bounded_by_normal(cone) ? 0 : cone->coefficient;
    }
    sprag_result result = sprag_strategy_solve(w);
    for (int c = 0; c < w->system->cones; c++) {
        w->system->cone[c].coefficient = mu[c];
    }
    return result;
}

// Friction bounded by normal impulses becomes friction bounded by a force. normal: of the points.
static void bound_friction(sprag_system *system, double *normal)
{
    for (int i = 0; i < system->points; i++) {
        const sprag_point *point = &system->point[i];
        normal[i] = point->law == SPRAG_GIVEN ? point->given : system->impulse[i][SPRAG_NORMAL];
        for (int c = point->cone; c < point->cone + point->cones; c++) {
            sprag_cone *cone = &system->cone[c];
            if (is_bounded_by_normal(cone)) {
                cone->coefficient *= normal[i] / system->step;
                cone->force = true;
            }
        }
    }
}

// Largest |bound - mu fn| / largest of these, as for frozen friction. mu: coefficients of the
// cones, 0 of those that a normal force does not bound.
static double bound_error(const sprag_system *system, const double *normal, const double *mu)
{
    double error = 0, largest = 0;
    for (int i = 0; i < system->points; i++) {
        const sprag_point *point = &system->point[i];
        for (int c = point->cone; c < point->cone + point->cones; c++) {
            double now = system->impulse[i][SPRAG_NORMAL];
            error = fmax(error, mu[c] * fabs(now - normal[i]));
            largest = fmax(largest, mu[c] * fmax(now, normal[i]));
        }
    }
    return largest > 0 ? error / largest : 0;
}

sprag_result sprag_oneway_solve(sprag_strategy_state *w)
{
    sprag_system *system = w->system;
    double *mu = SPRAG_TAKE(system->scratch, system->cones, double);
    double *normal = SPRAG_TAKE(system->scratch, system->points, double);
    if (system->scratch->failed) {
        return SPRAG_NO_MEMORY;
    }
    for (int c = 0; c < system->cones; c++) {
        mu[c] = system->cone[c].coefficient;
    }
    bool known = set_explicit_forces(system, &w->stats.stiff_step);
    system->convex = true;
    sprag_result result = known ? SPRAG_OK : solve_without_friction(w, mu);
    if (result != SPRAG_OK) {
        return result;
    }
    for (int c = 0; c < system->cones; c++) {
        mu[c] = is_bounded_by_normal(&system->cone[c]) ? mu[c] : 0;
    }
    sprag_strategy first = w->stats.strategy;
    bound_friction(system, normal);
    result = sprag_strategy_solve(w);
    w->stats.strategy = first > w->stats.strategy ? first : w->stats.strategy;
    w->stats.bound_error = bound_error(system, normal, mu);
    return result;
}

// ---- where friction contradicts the normals

// Is the work of the forces, at the velocities that hard contacts ask for and do not get, beyond a
// share of the energy that bodies have? Near rest it never counts: sweeps that have not converged
// leave as much there.
static bool contradicts(const sprag_problem *problem, const sprag_solution *solution)
{
    double power = 0, start = 0, change = 0, ends = 0;
    for (int i = 0; i < problem->contacts; i++) {
        const sprag_contact *contact = &problem->contact[i];
        const double force = solution->contact_force[i][0];
        if (contact->stiffness > 0) { // the scheme is explicit there
            return false;
        }
        if (force > 0 && (contact->rebounds || contact->bias < 0)) {
            const double u =
                sprag_contact_rate(contact, *solution->velocity, sizeof *solution->velocity);
            power += force * fmax(0, contact->bias - contact->compliance * force - u);
        }
    }
    for (int i = 0; i < problem->bodies && power > 0; i++) {
        const sprag_body *body = &problem->body[i];
        double gain[6];
        for (int k = 0; k < 6; k++) {
            gain[k] = body->free_velocity[k] - body->velocity[k];
        }
        start += mass_between(body, body->velocity, body->velocity);
        change += mass_between(body, gain, gain);
        ends += mass_between(body, solution->velocity[i], solution->velocity[i]);
    }
    return start > change && problem->step * power > STRIBECK_CONTRADICTION * (start + ends);
}

sprag_result sprag_stribeck_solve_bounded(const sprag_problem *problem,
                                          const sprag_stribeck_options *options,
                                          sprag_scratch *scratch, sprag_solution *solution,
                                          sprag_stats *stats)
{
    const sprag_result result = sprag_stribeck_solve(problem, options, scratch, solution, stats);
    if (result != SPRAG_OK || options->scheme != SPRAG_TWO_WAY || !(stats->gap > 1) ||
        !contradicts(problem, solution)) {
        return result;
    }
    sprag_stats bounded = *stats;
    sprag_stribeck_options one_way = *options;
    one_way.scheme = SPRAG_ONE_WAY;
    one_way.warm = false;
    if (sprag_stribeck_solve(problem, &one_way, scratch, solution, &bounded) == SPRAG_OK) {
        bounded.strategy = SPRAG_STRATEGY_FROZEN_FRICTION;
        sprag_stats_add_work(&bounded, stats);
        *stats = bounded;
    }
    return result;
}
