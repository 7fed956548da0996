// Implicit Stribeck: the velocity at the end of a step at which momentum balances with compliant
// normal forces and regularised Coulomb friction, both taken at that same velocity.
//
//     M (v - v*) = Jn' gn(Jn v) + Jt' gt(Jt v, gn) + Jr' gr(Jr v)        (N s)
//
// Castro, Qu, Kuppuswamy, Alspach, Sherman: A Transition-Aware Method for the Simulation of
// Compliant Contact with Regularized Friction (arXiv 1909.05700), eqs. 13-20, with phases behind
// the direct Newton iteration, so that a step that it misses is still solved (strategy.h).
#ifndef SPRAG_STRIBECK_H
#define SPRAG_STRIBECK_H

#include "problem.h"
#include "result.h"
#include "scratch.h"

// Two-way: normal forces and friction at the same velocity. One-way: friction under normal forces
// that are known before (oneway.h).
typedef enum sprag_stribeck_scheme { SPRAG_TWO_WAY, SPRAG_ONE_WAY } sprag_stribeck_scheme;

typedef struct sprag_stribeck_options {
    int scheme;                // sprag_stribeck_scheme
    double stiction_tolerance; // m/s; slip that counts as sticking, of contacts that slide; 0:
                               // 1/1000 of what the step changes, or 1e-5 of the fastest speed
    double stiction_at_rest;   // m/s; the same of contacts at rest; 0: 1e-8 of what
                               // the step changes
    double tolerance;          // of the momentum residual, relative to the island's impulses
    double softness;           // of contact normals, relative to the contact's inverse mass
    double row_softness;       // of joint rows, likewise
    int max_iterations;        // phase A
    int max_continuation;      // phase C, sum of its iterations
    int sweeps;                // phase B, and E ten times as many where it is not good; 0: none
    int sweeps_least;          // phase E in a hurry: no more than these where they are acceptable,
                               // though not good; 0: in none
    int lagged_passes;         // phase D
    int central;               // updates of phase I; 0: none
    double central_work; // most products of 6x6 blocks that a factorisation may take for it, by
                         // contact and row
    bool warm;           // the solution's velocity is a guess to start from, on entry
    double direct_work; // most products of 6x6 blocks that a factorisation may take for phases A to
                        // D at length; larger islands, but for chains and trees, are swept. 0: all
} sprag_stribeck_options;

sprag_stribeck_options sprag_stribeck_defaults(void);

// solution: velocity, forces. options, stats: NULL for defaults, for none.
// Returns SPRAG_OK; SPRAG_BAD_PROBLEM for sizes, indices or numbers that make no sense;
// SPRAG_SINGULAR or SPRAG_NOT_CONVERGED when every phase failed (the solution is then not to be
// used); SPRAG_NO_MEMORY.
sprag_result sprag_stribeck_solve(const sprag_problem *problem,
                                  const sprag_stribeck_options *options, sprag_scratch *scratch,
                                  sprag_solution *solution, sprag_stats *stats);

#endif
