// The implicit Stribeck method on any system: phases, each tried when the one before fails.
//   A  direct: Newton on the coupled equations, updates limited in direction
//   B  polish: A again, from a solution by sweeps, or with frozen friction bounds
//   C  continuation from a problem with a soft stiction tolerance, or without friction, to ours
//   D  lagged: friction bounds frozen at the last estimate, a convex problem, in a few passes
// Islands whose factorisation takes long go through A and D in brief, which is enough for what
// rests, and then to
//   E  sweeps alone; and D at length, where they fail.
// Before all others, if asked for, and where a factorisation takes about as long as a few sweeps:
//   I  interior point, under the bounds of friction that are expected (interior_point.h)
// A to C end at a root of the coupled equations, D, E and I near one.
#ifndef SPRAG_STRATEGY_H
#define SPRAG_STRATEGY_H

#include "system.h"

typedef struct sprag_phases {
    double stiction;     // m/s, tolerance that B to D go down to
    double finest;       // m/s, that of A; each cone has one of its own below which it does not go
    double tolerance;    // of the residual
    double rounding;     // residual that is accepted when updates do not lower it any more
    double small, theta; // of the limiter (limiter.h)
    double direct_work;  // most that a factorisation may take (sprag_space.work) for A and B; for C
                         // and D a quarter; 0: E at once
    int max_iterations;  // of A, and of every stage of C
    int patience;        // updates without a new least residual, after which it goes in circles
    int max_continuation; // of C, of every path
    int paths;            // of C, 1 to 4
    double softest;       // m/s, stiction tolerance that C starts from
    double stride;        // first step of C, as a part of its path
    bool extrapolates;    // C: steps grow, and start where the last two point
    int polish_passes;    // of B in generalized coordinates; 0: none
    int sweeps;           // of B, and of E ten times as many where it is not good; 0: none
    int sweeps_least;     // of E, which ends at a worse residual then; 0: as above
    double sweeps_tolerance;
    int lagged_passes;   // of D; 0: none
    int central;         // updates of I; 0: none
    double central_work; // most products of blocks that a factorisation may take for it, by contact
    sprag_system *system;
    double *v;                // the solution: size velocities
    const double *guess;      // of it; NULL: none
    double *dv, *good, *last; // size
    double *bound;            // points
    double *coefficient;      // cones
    sprag_stats stats;
} sprag_phases;

// Memory for a system; the settings are the caller's.
sprag_result sprag_phases_take(sprag_phases *phases, sprag_system *system, sprag_scratch *scratch);

// SPRAG_OK: v, and the system is left evaluated there. Otherwise v is not to be used.
sprag_result sprag_phases_run(sprag_phases *phases);

#endif
