// Implicit Stribeck: the velocity at the end of a step at which momentum balances with compliant
// normal forces and regularised Coulomb friction, both taken at that same velocity.
//
//     M (v - v*) = Jn' gn(Jn v) + Jt' gt(Jt v, gn) + Jr' gr(Jr v)        (N s)
//
// Castro, Qu, Kuppuswamy, Alspach, Sherman: A Transition-Aware Method for the Simulation of
// Compliant Contact with Regularized Friction (arXiv 1909.05700), eqs. 13-20. Other strategies
// follow where Newton's method fails (strategy.h).
#ifndef SPRAG_STRIBECK_H
#define SPRAG_STRIBECK_H

#include "problem.h"
#include "result.h"
#include "scratch.h"

// Two-way: normal forces and friction at the same velocity. One-way: friction under normal forces
// that are known before (oneway.h).
typedef enum sprag_stribeck_scheme { SPRAG_TWO_WAY, SPRAG_ONE_WAY } sprag_stribeck_scheme;

// Options of the user, or of a method that calls the contact solve.
typedef struct sprag_stribeck_options {
    // laws
    int scheme;                // sprag_stribeck_scheme
    double stiction_tolerance; // m/s, slip of sliding contacts that counts as sticking; 0: 1/1000
                               // of the change in the step, or 1e-5 of the fastest speed
    double stiction_at_rest;   // m/s, the same of contacts at rest; 0: 1e-8 of the change in the
                               // step
    double softness;           // least yield of contact normals, relative to their inverse mass
    double row_softness;       // the same of joint rows
    double friction_softness;  // and of friction
    // accuracy and effort
    bool exact;          // direct methods go first, and work until one meets the tolerance;
                         // otherwise they run where they are likely to pay (stribeck.c)
    int sweeps;          // of Gauss-Seidel, at most; 0: none
    double sweep_change; // of the last sweep, relative to what the step changes, with which sweeps
                         // end in motion, unless solves are exact; near rest in proportion to the
                         // speed
    double hard_in_motion; // gap of the sweeps' solution (stats.gap), relative to the speed before
                           // the step, from which the interior-point method follows in motion,
                           // where bodies are stacked
    double tolerance;      // of the momentum residual, relative to the island's impulses
    int max_iterations;    // Newton updates of newton and warm_newton
    int max_continuation;  // Newton updates of continuation
    double direct_work;  // largest factorization, in products of 6x6 blocks, for which exact solves
                         // end at a root, not near one; 0: sweeps alone, exact or not
    double settled_work; // largest factorization, in products of 6x6 blocks per contact and row,
                         // for frozen_friction instead of sweeps: for islands that settle, whose
                         // friction bounds (guess) are nearly right. 0: sweeps
    double *work_left;   // of several solves, in products of 6x6 blocks: each takes what it
                         // needs, and once none is left, a few sweeps. NULL: without end
    // start
    sprag_memory *memory; // of this island; NULL: none
    bool warm;            // the solution's velocity on entry is a guess
} sprag_stribeck_options;

sprag_stribeck_options sprag_stribeck_defaults(void);

// Adds the work that another solve of the same step has done.
static inline void sprag_stats_add_work(sprag_stats *to, const sprag_stats *other)
{
    to->iterations += other->iterations;
    to->sweeps += other->sweeps;
    to->sweep_work += other->sweep_work;
    to->factorizations += other->factorizations;
}

// solution: velocity, forces; the best that the strategies have found by sprag_problem_residual
// (stats->residual). options, stats: NULL for defaults, for none.
// Returns SPRAG_OK; SPRAG_BAD_PROBLEM for sizes, indices or numbers that make no sense;
// SPRAG_SINGULAR or SPRAG_NOT_CONVERGED when every strategy ended without finite numbers (the
// solution is then unchanged); SPRAG_NO_MEMORY.
sprag_result sprag_stribeck_solve(const sprag_problem *problem,
                                  const sprag_stribeck_options *options, sprag_scratch *scratch,
                                  sprag_solution *solution, sprag_stats *stats);

// The same; but where friction contradicts what contacts ask for, by the one-way scheme: not where
// velocities are near a solution (stats->gap up to 1), for then there is one. If that scheme fails,
// the first solution stands. options, stats: not NULL.
//
// Coulomb's problem has a solution if bodies can move such that each contact separates by more than
// it asks for, and by mu times its slip besides (Acary, Cadoux, Lemarechal, Malick: A formulation
// of the linear discrete Coulomb friction problem via convex optimization, 2011). A ball that is to
// rebound from two walls at a right angle cannot if mu is above 1, nor from three if it is above
// 0.71. Forces then grow until they are cut off, press against one another, and let bodies pass.
sprag_result sprag_stribeck_solve_bounded(const sprag_problem *problem,
                                          const sprag_stribeck_options *options,
                                          sprag_scratch *scratch, sprag_solution *solution,
                                          sprag_stats *stats);

// After sprag_stribeck_solve, with the same arguments: where rebounds and the recovery of overlaps
// (contact->recovery) win energy, solves again without them, and sets the solution to the mean of
// both that wins what each of them would win alone. stats: residual and gap are those of the worse
// solve, each of its own problem. SPRAG_OK, SPRAG_NO_MEMORY.
sprag_result sprag_stribeck_limit_energy(const sprag_problem *problem,
                                         const sprag_stribeck_options *options,
                                         sprag_scratch *scratch, sprag_solution *solution,
                                         sprag_stats *stats);

#endif
