// The solution of a step that is differentiated, and the reasons why the step is no solution of one
// contact problem.
#include <math.h>
#include <string.h>

#include "island_step.h"
#include "linearize_run.h"

// Relative to the impulses: residual of the solve that is differentiated.
static const double TOLERANCE = 1e-13;

// Velocities before the step and forces of the last one.
static void set_start(ode_problem *pulled)
{
    const sprag_problem *problem = &pulled->problem;
    const sprag_solution *to = &pulled->solution;
    for (int i = 0; i < problem->bodies; i++) {
        memcpy(to->velocity[i], problem->body[i].velocity, sizeof to->velocity[i]);
    }
    memset(to->contact_force, 0, (size_t)problem->contacts * sizeof *to->contact_force);
    for (int i = 0; i < problem->contacts; i++) {
        const double *guess = problem->contact[i].guess;
        memcpy(to->contact_force[i], guess, guess[0] >= 0 ? sizeof problem->contact[i].guess : 0);
    }
    for (int i = 0; i < problem->rows; i++) {
        to->row_force[i] = problem->row[i].guess;
    }
}

// The forces of the last step are mostly a few updates from the solution. Where these lead away
// from them, maybe to another one of bodies that wedge, and if the effort is exact, whose solution
// does not depend on them, the whole method finds it.
static sprag_result find_solution(component *c, const sprag_stribeck_options *options)
{
    ode_problem *pulled = &c->pulled;
    sprag_solution *solution = &pulled->solution;
    sprag_result result = SPRAG_NOT_CONVERGED;
    if (c->world->settings.effort != EFFORT_EXACT) {
        set_start(pulled);
        result =
            sprag_derivative_open(&c->derivative, &pulled->problem, options, solution, c->scratch);
    }
    if (result == SPRAG_NOT_CONVERGED) {
        sprag_stats stats = {0};
        result = sprag_stribeck_solve(&pulled->problem, options, c->scratch, solution, &stats);
        if (result == SPRAG_OK) {
            result = sprag_derivative_open(&c->derivative, &pulled->problem, options, solution,
                                           c->scratch);
        }
    }
    return result;
}

// Has a motor at its stop pushed a body, as its rows were asked for?
static bool has_pushes(const component *c)
{
    bool any = false;
    for (int i = 0; i < c->bodies && c->pulled.force; i++) {
        double now[6];
        sprag_ode_read_accumulators(c->body[i], now);
        any |= memcmp(now, c->pulled.force[i], sizeof now) != 0;
    }
    return any;
}

static void *copy(sprag_scratch *scratch, const void *from, int count, size_t size)
{
    void *to = sprag_scratch_take_raw(scratch, (size_t)count, size);
    return to && count > 0 ? memcpy(to, from, (size_t)count * size) : to;
}

// Does the step take back energy that its contacts win? Then it is the mean of two solutions.
static sprag_result find_winnings(const component *c, const sprag_stribeck_options *options,
                                  bool *any)
{
    ode_problem own = c->pulled;
    sprag_problem *p = &own.problem;
    sprag_solution *to = &own.solution;
    p->body = own.body = copy(c->scratch, own.body, p->bodies, sizeof *own.body);
    p->row = own.row = copy(c->scratch, own.row, p->rows, sizeof *own.row);
    to->velocity = copy(c->scratch, to->velocity, p->bodies, sizeof *to->velocity);
    to->contact_force = copy(c->scratch, to->contact_force, p->contacts, sizeof *to->contact_force);
    to->row_force = copy(c->scratch, to->row_force, p->rows, sizeof *to->row_force);
    if (c->scratch->failed) {
        return SPRAG_NO_MEMORY;
    }
    sprag_ode_unstiffen(&own);
    const sprag_result result = sprag_stribeck_limit_energy(p, options, c->scratch, to, NULL);
    *any = memcmp(to->velocity, c->pulled.solution.velocity,
                  (size_t)p->bodies * sizeof *to->velocity) != 0;
    return result;
}

const char *linearize_solve(component *c)
{
    world_state *w = c->world;
    ode_problem *pulled = &c->pulled;
    sprag_stribeck_options options = w->settings.stribeck;
    bool wins = false;
    sprag_result result = sprag_ode_pull(pulled, w->id, &c->island, c->step, &w->settings.stiffness,
                                         w->warm_start, c->scratch);
    c->has_pushes = has_pushes(c);
    c->turning = result == SPRAG_OK && !c->has_pushes ? sprag_ode_share_of_turning(pulled) : 0;
    sprag_ode_restore(pulled);
    if (result != SPRAG_OK) {
        return result == SPRAG_NO_MEMORY ? "no memory" : "the state of a body is not finite";
    }
    if (pulled->errors.invalid_forces > 0) {
        return "the force on a body is not finite or too great";
    }
    if (pulled->spins > 0) {
        return "a body spins so fast that its step follows its axis";
    }
    options.softness = island_softness(w, &pulled->problem);
    options.tolerance = fmin(options.tolerance, TOLERANCE);
    result = find_solution(c, &options);
    if (result == SPRAG_OK && pulled->problem.rows > 0 &&
        sprag_ode_solve_again(pulled, w->warm_start, c->scratch)) {
        return "joints draw a body so much tighter than in the last step that the step is solved "
               "twice";
    }
    if (result == SPRAG_OK && pulled->problem.contacts > 0) {
        result = find_winnings(c, &options, &wins);
    }
    if (wins) {
        return "contacts win energy that the step takes back";
    }
    switch (result) {
    case SPRAG_OK:
        return NULL;
    case SPRAG_NO_MEMORY:
        return "no memory";
    case SPRAG_SINGULAR:
        return "the matrix of the contact problem is singular";
    default:
        return "the contact problem has not been solved exactly";
    }
}
