// Islands under a budget of sweeps.
#include "swept.h"

#include "stribeck_constants.h"
#include "sweeps.h"

bool sprag_swept_applies(const sprag_problem *problem, const sprag_stribeck_options *options)
{
    return options->budget > 0 && options->scheme == SPRAG_TWO_WAY &&
           (problem->contacts > 0 || problem->rows > 0);
}

bool sprag_contacts_form_trees(const sprag_problem *problem)
{
    int edges = 0, moving = 0, last[2] = {SPRAG_STATIC, SPRAG_STATIC};
    for (int b = 0; b < problem->bodies; b++) {
        moving += problem->body[b].mass > 0;
    }
    for (int i = 0; i < problem->contacts; i++) {
        const int *body = problem->contact[i].body;
        bool joins = body[1] != SPRAG_STATIC && problem->body[body[0]].mass > 0 &&
                     problem->body[body[1]].mass > 0;
        edges += joins && (body[0] != last[0] || body[1] != last[1]);
        last[0] = body[0], last[1] = body[1];
    }
    return edges < moving;
}

sprag_result sprag_swept_solve(const sprag_problem *problem, const sprag_stribeck_options *options,
                               sprag_scratch *scratch, sprag_solution *solution, sprag_stats *stats)
{
    const sprag_sweeps_options sweeps = {.softness = options->softness,
                                         .row_softness = options->row_softness,
                                         .most = options->budget,
                                         .stagnates = true,
                                         .tolerance = STRIBECK_SWEPT_TOLERANCE,
                                         .moving = options->stiction_tolerance,
                                         .at_rest = options->stiction_at_rest};
    stats->strategy = SPRAG_STRATEGY_GAUSS_SEIDEL;
    return sprag_sweeps_solve(problem, &sweeps, scratch, solution, stats);
}
