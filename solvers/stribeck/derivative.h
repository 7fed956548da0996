// Derivatives of a contact solve by the implicit function theorem. The velocity v at the end of the
// step solves r(v, y) = 0, where y is all that the problem depends on (poses, velocities, forces).
// So
//
//     dv/dy = -K^-1 dr/dy        K = dr/dv, factorised once
//
// A caller gets dr/dy from bodies, rows and contacts near those of the problem, each alone or
// several at once. Laws are stiff: within any displacement that can be told from rounding, friction
// goes from one side to the other. So the laws are linear in the velocities, with the slopes G that
// K has; with g the impulses and u = J v - offset,
//
//     dr = d(M (v - v*)) - dJ' g - J' (dg - G du)        dg: by other parameters of the laws
//
// Without contacts the solve takes the excess yield out of its rows by one further update
// (sprag_newton_harden_rows), and the derivative does by one further solve.
//
// Numbers of the whole problem, its speeds and its heaviest body, count as constant.
//
// At a kink (a contact or row just at the edge of its law) the derivative is that of the side on
// which the solution lies.
#ifndef SPRAG_DERIVATIVE_H
#define SPRAG_DERIVATIVE_H

#include "assemble.h"

typedef struct sprag_derivative {
    const sprag_problem *problem;
    sprag_scales scales;
    sprag_system system;
    int *node_of;                 // bodies
    double stiction;              // m/s, of the last solve
    double *velocity;             // of the nodes, m/s, rad/s
    double (*slip)[6];            // points: J v; the system is at the points of the laws
    double (*slope)[6][6];        // points: G
    double (*panel)[SPRAG_PANEL]; // size: right-hand sides, in the order of elimination
    double (*soft)[SPRAG_PANEL];  // size: of rows with their excess yield; NULL: rows keep it
} sprag_derivative;

// solution: near that of the problem with these options, which replaces it, found by Newton's
// method in the forces (brief, see forces.h). All memory is in the scratch, and the problem is used
// until the end. SPRAG_OK; SPRAG_NOT_CONVERGED; SPRAG_SINGULAR: K has no inverse; SPRAG_NO_MEMORY.
sprag_result sprag_derivative_open(sprag_derivative *d, const sprag_problem *problem,
                                   const sprag_stribeck_options *options, sprag_solution *solution,
                                   sprag_scratch *scratch);

// Each adds dr of what is a little displaced to `change`: bodies of the problem, N s, N m s; of a
// body, its own. A row returns the change of its J v - bias.
void sprag_derivative_add_body(const sprag_derivative *d, int body, const sprag_body *near,
                               double change[6]);
double sprag_derivative_add_row(const sprag_derivative *d, int row, const sprag_row *near,
                                double (*change)[6]);
// near: some bodies with contacts among them; its rows do not count. body, contact: which of
// the problem's they are. SPRAG_OK, SPRAG_NO_MEMORY.
sprag_result sprag_derivative_add_contacts(const sprag_derivative *d, const sprag_problem *near,
                                           const int *body, const int *contact,
                                           sprag_scratch *scratch, double (*change)[6]);

// Derivatives of a row by six coordinates, such as those of a body.
typedef struct sprag_row_slopes {
    double jacobian[2][6][6]; // by side, entry, coordinate
    double bias[6];
} sprag_row_slopes;

// Takes dr of the row's bodies by these coordinates from six rows of matrices, which are `columns`
// apart. to: of each side; NULL: static. The row's bounds are constant. slip: of its J v - bias.
void sprag_derivative_take_row(const sprag_derivative *d, int row, const sprag_row_slopes *slopes,
                               double *const to[2], size_t columns, double slip[6]);

// The rows of a body (N s, N m s; m/s, rad/s) in the panel. NULL: it is kinematic.
double (*sprag_derivative_rows(const sprag_derivative *d, int body))[SPRAG_PANEL];

// panel = K^-1 panel. slip: rows, the derivatives of J v - bias at these velocities; NULL: 0.
void sprag_derivative_solve(sprag_derivative *d, const double (*slip)[SPRAG_PANEL]);

#endif
