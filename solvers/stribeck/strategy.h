// The implicit Stribeck method on bodies, by strategies that are tried in turn
// (sprag_strategy.h):
//   newton           Newton's method on the coupled equations, with updates limited in direction
//                    (arXiv 1909.05700, section IV)
//   warm_newton      the same, started from Gauss-Seidel; or Newton's method in the forces of the
//                    last step or of sweeps (forces.h), which is enough for bodies at rest
//   continuation     newton along a path from a problem with a large stiction tolerance
//   frozen_friction  friction bounds fixed at the last estimate, a convex problem; a few passes
//                    correct the bounds (arXiv 2110.10107, 2312.03908)
//   interior_point   Coulomb's law along its central path, from any start (interior.h)
//   gauss_seidel     sweeps over contacts and rows, without a matrix
// Islands whose factorisation takes long get newton from a guess, if there is one, then, where they
// are stacked, warm_newton in the forces and interior_point, then gauss_seidel, and frozen_friction
// if that fails. Islands that settle (settled_work) get frozen_friction in full instead of the
// sweeps of a budget.
// newton, warm_newton and continuation end at a root of the coupled equations, the others near one.
#ifndef SPRAG_STRATEGY_H
#define SPRAG_STRATEGY_H

#include "best.h"
#include "system.h"

// Strategies of the table that may run: all; or, where the caller sweeps itself, Newton's method in
// known forces; or, after its sweeps, the same from what they have left in state->best; or
// interior_point; or, instead of the sweeps, frozen_friction in full for islands that settle. A set
// of these: TREES adds newton to BRIEF where bodies touch in chains and trees only.
typedef enum sprag_attempt {
    SPRAG_ATTEMPT_ALL = 1,
    SPRAG_ATTEMPT_BRIEF = 2,
    SPRAG_ATTEMPT_SWEPT = 4,
    SPRAG_ATTEMPT_INTERIOR = 8,
    SPRAG_ATTEMPT_SETTLED = 16,
    SPRAG_ATTEMPT_TREES = 32
} sprag_attempt;

// Settings of one solve. The caller computes them before the solve (stribeck.c).
typedef struct sprag_strategy_options {
    // tolerances
    double stiction; // m/s, stiction tolerance of warm_newton, continuation, frozen_friction
    double finest; // m/s, stiction tolerance of newton and gauss_seidel; a cone's own tolerance is
                   // a lower bound of both
    double tolerance;              // momentum residual at which Newton's method ends
    double softness, row_softness; // of sprag_problem_softness
    double small, theta;           // of the limiter: share of the tolerance, rad (newton.h)
    unsigned attempts;             // which strategies may run, a set of sprag_attempt
    // newton
    double direct_work; // largest factorisation (sprag_space.work) for newton, warm_newton,
                        // continuation and frozen_friction; 0: gauss_seidel at once
    int max_iterations; // updates of newton, and of each stage of continuation
    int patience;       // updates without a new least residual before Newton's method is given up
    // continuation
    int max_continuation; // updates
    double softest;       // m/s, stiction tolerance at the start of the path
    // other strategies
    int sweeps;       // before warm_newton; gauss_seidel takes up to ten times as many; 0: no
                      // Gauss-Seidel
    int sweeps_least; // gauss_seidel ends after these if the result is acceptable, though not
                      // good; 0: it must be good
    double sweeps_tolerance; // change of a sweep at which Gauss-Seidel ends
    int lagged_passes;       // passes of frozen_friction; 0: not tried
    double settled_work;     // largest factorisation for frozen_friction instead of sweeps, per
                             // contact and row; 0: sweeps
    double most_work;        // after which no further strategy is tried, in products of blocks
} sprag_strategy_options;

// One solve: its settings, its system, and the vectors of all strategies.
typedef struct sprag_strategy_state {
    sprag_strategy_options options; // of the caller
    sprag_system *system;           // of the caller
    const sprag_problem *problem;   // of the caller: what the system was assembled from
    const int *node_of;             // of the caller: bodies, SPRAG_NOWHERE or a place in the system
    sprag_best *best;               // of the caller
    bool is_two_way;                // of the caller: the system has the equations of the problem
    const double *guess;            // of the caller: size velocities, m/s, rad/s; NULL: none
    double *v;          // size, m/s, rad/s: the present iterate, at the end the solution
    double *dv;         // size: the last update
    double *good;       // size: an iterate that a strategy goes back to
    double *bound;      // points, N s: normal impulses that bound frozen friction
    unsigned traits;    // of the island (strategy.c)
    double update_work; // of a Newton update, in products of blocks
    double reached;     // m/s, stiction tolerance of the present iterate
    sprag_stats stats;  // of all strategies so far; the caller sets the history
} sprag_strategy_state;

// Takes the vectors for a system from the scratch. SPRAG_NO_MEMORY if they do not fit.
sprag_result sprag_strategy_open(sprag_strategy_state *state, sprag_system *system,
                                 sprag_scratch *scratch);

// Tries the strategies in turn, in the order of their cost, and offers to state->best what each
// finds, until one is accepted: SPRAG_OK, state->v is its solution and the system has its impulses.
// One-way, nothing is offered, and what converges is accepted. Otherwise the result of the last;
// SPRAG_NO_MEMORY.
sprag_result sprag_strategy_solve(sprag_strategy_state *state);

// Products of blocks of all updates and sweeps so far.
double sprag_strategy_work(const sprag_strategy_state *state);

// Offers state->v to state->best. SPRAG_OK: accepted.
sprag_result sprag_strategy_offer(sprag_strategy_state *state);

#endif
