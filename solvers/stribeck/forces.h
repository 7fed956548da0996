// Newton's method in the forces: the step of a contact problem (problem.h) whose solution is nearly
// known. A law g, of contacts and rows, is taken not at the velocity u that a point has, which
// errors move far along a stiff law, but at the point of the law that is nearest to u and the
// impulse p of the iterate,
//
//     g(w) - rho w = p - rho u        w: velocity of the law, 1 / rho: inverse mass of the point
//
// (its resolvent: Alart, Curnier, Comput. Methods Appl. Mech. Eng. 92, 1991). An update is linear:
//
//     M (v - v*) = J' p,  p = g(w) + g'(w) (J v - w)
//
// and ends at a solution where w = u for all points. What sticks, slides or lets go stays so from
// one problem to the next, however stiff it is, so that one update or two are enough.
#ifndef SPRAG_STRIBECK_FORCES_H
#define SPRAG_STRIBECK_FORCES_H

#include "stribeck.h"
#include "system.h"

// An iteration whose updates lead away from the laws ends:
typedef enum sprag_forces_mode {
    SPRAG_FORCES_BRIEF,   // at an error above that of its start
    SPRAG_FORCES_PATIENT, // far above it, the nearer the more updates, or after a few in vain
    SPRAG_FORCES_LONG,    // after all
} sprag_forces_mode;

typedef struct sprag_forces_limits {
    double stiction;  // m/s
    double tolerance; // of momentum and laws, relative to the impulses
    int updates;      // at most
    sprag_forces_mode mode;
} sprag_forces_limits;

// On bodies, from v (m/s, rad/s) and the impulses of the system. dv: size, scratch. Brief or
// patient, it takes a start without an update only if that is a hundred times nearer than the
// tolerance. SPRAG_OK: the system has the impulses at v, and is at the points w.
// SPRAG_NOT_CONVERGED after the updates, SPRAG_SINGULAR, SPRAG_NO_MEMORY.
sprag_result sprag_forces_iterate(sprag_system *system, const sprag_forces_limits *limits,
                                  double *v, double *dv, sprag_stats *stats);

// The same, not brief; then, if it fails, from what the interior-point method finds. softest: m/s,
// of sprag_interior_solve. The updates are those of all.
sprag_result sprag_forces_solve(sprag_system *system, double softest,
                                const sprag_forces_limits *limits, double *v, double *dv,
                                sprag_stats *stats);

// Newton's method in the forces of a problem, with updates that are shortened. Starts from the
// velocities and forces of *solution; forces of 0 do for new contacts. If it ends nowhere, it
// begins anew without them, with laws that are rounded at first,
//
//     p (w + yield p) = e^2 times the mass of the point,  sticking within 3 e         e: m/s
//
// and follows the solution to e = 0 (Chen, Mangasarian, Comput. Optim. Appl. 5, 1996): what pushes
// and what slides is found little by little. Contacts with a stiffness (Hunt and Crossley's law)
// are not solved. Of the options: softness, stiction, work_left, and tolerance (of momentum and
// laws, relative to the impulses); where no update comes as near, a hundred times that will do.
// stats: iterations and convergence. SPRAG_OK, SPRAG_NOT_CONVERGED, SPRAG_SINGULAR,
// SPRAG_NO_MEMORY; *solution changes with SPRAG_OK alone.
sprag_result sprag_stribeck_forces(const sprag_problem *problem,
                                   const sprag_stribeck_options *options, sprag_scratch *scratch,
                                   sprag_solution *solution, sprag_stats *stats);

#endif
