#include "solvers/stribeck.h"

#include <math.h>
#include <string.h>

#include "solvers/island.h"
#include "solvers/linalg.h"
#include "solvers/phases.h"

sprag_stribeck_options sprag_stribeck_defaults(void)
{
    return (sprag_stribeck_options){.stiction_tolerance = 1e-4,
                                    .stiction_at_rest = 1e-6,
                                    .tolerance = 1e-6,
                                    .softness = 1e-3,
                                    .row_softness = 1e-8,
                                    .max_iterations = 25,
                                    .max_continuation = 250,
                                    .lagged_passes = 3,
                                    .direct_bodies = 200};
}

// A thousandth of the fastest motion, within bounds: creep at rest is that of the lower, the cost
// of motion that of the upper.
static double choose_stiction(const sprag_problem *problem, const sprag_stribeck_options *options)
{
    double fastest = 0;
    for (int i = 0; i < problem->bodies; i++) {
        fastest = fmax(fastest, norm3(problem->body[i].velocity));
    }
    double moving = fmax(options->stiction_at_rest, 1e-3 * fastest);
    return fmin(moving, options->stiction_tolerance);
}

static sprag_phases settings(const sprag_problem *problem, const sprag_system *system,
                             const sprag_stribeck_options *options)
{
    static const double pi = 3.14159265358979323846;
    double stiction = choose_stiction(problem, options);
    return (sprag_phases){.stiction = stiction,
                          .tolerance = options->tolerance,
                          .small = 1e-2,
                          .theta = pi / 3,
                          .direct = system->size <= 6 * options->direct_bodies,
                          .max_iterations = options->max_iterations,
                          .patience = 25,
                          .max_continuation = options->max_continuation,
                          .paths = 1,
                          .softest = 0.1,
                          .stride = 1.0 / 3,
                          .polish_passes = system->bounded,
                          .lagged_passes = options->lagged_passes,
                          .stats = {.phase = '-', .stiction = stiction}};
}

static void write_solution(const sprag_phases *w, const sprag_problem *problem, const int *node_of,
                           sprag_solution *solution)
{
    const sprag_system *system = w->system;
    for (int b = 0; b < problem->bodies; b++) {
        const double *v = node_of[b] == SPRAG_NOWHERE ? problem->body[b].velocity // kinematic
                                                      : w->v + 6 * node_of[b];
        memcpy(solution->velocity[b], v, 6 * sizeof *v);
    }
    for (int i = 0; i < system->points; i++) {
        for (int k = 0; k < 6; k++) {
            solution->contact_force[i][k] = system->impulse[i][k] / problem->step;
        }
    }
    for (int i = 0; i < system->equations; i++) {
        solution->row_force[i] = system->row_impulse[i] / problem->step;
    }
}

static bool solution_is_finite(const sprag_phases *w)
{
    double sum = 0;
    for (int i = 0; i < w->system->size; i++) {
        sum += w->v[i];
    }
    return isfinite(sum) && isfinite(w->stats.residual);
}

sprag_result sprag_stribeck_solve(const sprag_problem *problem,
                                  const sprag_stribeck_options *options, sprag_scratch *scratch,
                                  sprag_solution *solution, sprag_stats *stats)
{
    sprag_stribeck_options defaults = sprag_stribeck_defaults();
    sprag_result result = sprag_problem_check(problem, NULL, 0);
    if (result != SPRAG_OK) {
        return result;
    }
    options = options ? options : &defaults;
    sprag_system system;
    int *node_of;
    result = sprag_island_prepare(&system, problem, options->softness, options->row_softness,
                                  scratch, &node_of);
    if (result != SPRAG_OK) {
        return result;
    }
    sprag_phases w = settings(problem, &system, options);
    if (sprag_phases_take(&w, &system, scratch) != SPRAG_OK) {
        return SPRAG_NO_MEMORY;
    }
    if (problem->contacts || problem->rows) {
        result = sprag_phases_run(&w);
    } else {
        memcpy(w.v, system.free, (size_t)system.size * sizeof *w.v);
    }
    if (result == SPRAG_OK && !solution_is_finite(&w)) {
        result = SPRAG_NOT_CONVERGED;
    }
    if (result == SPRAG_OK) {
        write_solution(&w, problem, node_of, solution);
    }
    if (stats) {
        *stats = w.stats;
    }
    return result;
}
