// Derivatives of a contact solve by the implicit function theorem. The velocity v at the end of the
// step solves r(v, y) = 0, where y is all that the problem depends on (poses, velocities, forces).
// So
//
//     dv/dy = -K^-1 dr/dy        K = dr/dv, factorised once
//
// A caller gets dr/dy from problems near this one. Laws are stiff: within any displacement that can
// be told from rounding, friction goes from one side to the other. So the laws are linear in the
// velocities, with the slopes G that K has; with g the impulses and u = J v - offset,
//
//     dr = d(M (v - v*)) - dJ' g - J' (dg - G du)        dg: by other parameters of the laws
//
// At a kink (a contact or row just at the edge of its law) the derivative is that of the side on
// which the solution lies.
#ifndef SPRAG_DERIVATIVE_H
#define SPRAG_DERIVATIVE_H

#include "stribeck.h"
#include "system.h"

typedef struct sprag_derivative {
    sprag_stribeck_options options;
    sprag_system system;
    int bodies;
    int *node_of;     // bodies
    double stiction;  // m/s, of the last solve
    double *velocity; // of the nodes, m/s, rad/s
    double *shift;    // rows, m/s or rad/s: rows are solved without the yield that is added to them
                      // against rounding; so much more offset gives their force with it
    double *momentum; // size of the system: M (v - v*)
    double *gathered; // size: J' g
    double (*impulse)[6], *row_impulse; // points, equations: g
    double (*slope)[6][6];              // points: G
    double *work, *right, *sum, *rest;  // size
} sprag_derivative;

// solution: of the problem, found with these options. All memory is in the scratch. SPRAG_OK;
// SPRAG_NOT_CONVERGED: the momentum of the solution does not balance within 1e-6 of its impulses;
// SPRAG_SINGULAR: K has no inverse; SPRAG_NO_MEMORY.
sprag_result sprag_derivative_open(sprag_derivative *d, const sprag_problem *problem,
                                   const sprag_stribeck_options *options,
                                   const sprag_solution *solution, sprag_scratch *scratch);

// dr (bodies, N s and N m s; 0 for kinematic ones) of a problem with the same bodies, contacts and
// rows, a little displaced. SPRAG_OK, SPRAG_NO_MEMORY.
sprag_result sprag_derivative_change(sprag_derivative *d, const sprag_problem *problem,
                                     sprag_scratch *scratch, double (*change)[6]);

// x = K^-1 x (bodies; N s -> m/s). Rows of kinematic bodies become 0.
void sprag_derivative_solve(sprag_derivative *d, double (*x)[6]);

#endif
