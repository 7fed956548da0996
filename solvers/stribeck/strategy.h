// The direct strategies of the implicit Stribeck method, which factorize (sprag_strategy.h):
//   newton           Newton's method on the coupled equations, with updates limited in direction
//                    (arXiv 1909.05700, section IV)
//   continuation     newton along a path from a problem with a large stiction tolerance, where the
//                    laws of contacts are curved
//   warm_newton      Newton's method in the forces of the last step or of sweeps (forces.h), which
//                    is enough for bodies at rest
//   frozen_friction  friction bounds fixed at their estimates, a convex problem (arXiv 2110.10107,
//                    2312.03908): for islands that settle (settled_work), for the one-way scheme,
//                    and where continuation fails
//   interior_point   Coulomb's law along its central path, from any start (interior.h)
// newton, warm_newton and continuation end at a root of the coupled equations, the others near one.
#ifndef SPRAG_STRATEGY_H
#define SPRAG_STRATEGY_H

#include "best.h"
#include "system.h"

// Strategies that may run, a set of these.
typedef enum sprag_attempt {
    SPRAG_ATTEMPT_DIRECT = 1,    // warm_newton, or newton where laws are no springs
    SPRAG_ATTEMPT_SWEPT = 2,     // the same after sweeps, from what they have left in state->best
    SPRAG_ATTEMPT_INTERIOR = 4,  // interior_point
    SPRAG_ATTEMPT_SETTLED = 8,   // frozen_friction, of islands that settle
    SPRAG_ATTEMPT_NEWTON = 16,   // newton on contacts: of one body that slides, and in trees
    SPRAG_ATTEMPT_FORCES = 32,   // warm_newton in small islands, by way of interior_point
    SPRAG_ATTEMPT_ROOT = 64,     // to a root: in small islands newton, then as above; continuation
                                 // and frozen_friction where laws are curved or one-way
    SPRAG_ATTEMPT_PATIENT = 128, // of warm_newton: more updates, as interior_point would follow
} sprag_attempt;

// Settings of one solve. The caller computes them before the solve (stribeck.c).
typedef struct sprag_strategy_options {
    // tolerances
    double stiction;     // m/s, stiction tolerance of frozen_friction and interior_point
    double finest;       // m/s, stiction tolerance of the others; a cone's own tolerance is a lower
                         // bound of both
    double tolerance;    // momentum residual at which Newton's method ends
    bool exact;          // in motion: the caller asks for no larger change of the last sweep
    double small, theta; // of the limiter: share of the tolerance, rad (newton.h)
    unsigned attempts;   // which strategies may run, a set of sprag_attempt
    int max_iterations;  // updates of newton, and of each stage of continuation
    // continuation
    int max_continuation; // updates
    double softest;       // m/s, stiction tolerance at the start of the path
    // all
    double small_work;   // largest factorization for newton on contacts, and warm_newton to a root
    double settled_work; // the same for frozen_friction, per contact and row
    double most_work;    // after which no further strategy is tried, in products of blocks
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
    double root_work;   // of SPRAG_ATTEMPT_ROOT's strategies so far, in products of blocks
    bool at_root;       // one of these was accepted
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

// Products of blocks of all updates so far.
double sprag_strategy_work(const sprag_strategy_state *state);

// Offers state->v to state->best. SPRAG_OK: accepted.
sprag_result sprag_strategy_offer(sprag_strategy_state *state);

#endif
