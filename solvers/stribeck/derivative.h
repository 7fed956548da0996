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

// Right-hand sides of a general matrix (blocks.h), of which every node has some.

// The last six of a node's are those of the inverse: 1 on its own rows.
enum { SPRAG_COLUMNS = 18, SPRAG_INVERSE = 12 };
typedef double sprag_columns[6][SPRAG_COLUMNS]; // on the rows of a node

// Sets Z (n x n): the solutions at node i for the right-hand sides of node j are at n i + j. X: the
// right-hand sides of node j on the rows of node i are at n j + i; NULL: 0, not where i is j.
// SPRAG_OK, SPRAG_NO_MEMORY.
sprag_result sprag_columns_spread(const sprag_blocks *blocks, const sprag_columns *const *X,
                                  sprag_columns *Z, sprag_scratch *scratch);

// Z (as above): right-hand sides on all rows on entry, solutions on return.
void sprag_columns_solve(const sprag_blocks *blocks, sprag_columns *Z);

typedef struct sprag_derivative {
    const sprag_problem *problem;
    sprag_scales scales;
    sprag_system system;
    int *node_of;          // bodies
    double stiction;       // m/s, of the last solve
    double *velocity;      // of the nodes, m/s, rad/s
    double (*slip)[6];     // points: J v; the system is at the points of the laws
    double (*slope)[6][6]; // points: G
    bool hardened;         // rows lose their excess yield by a further solve
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

// Takes dr of the row's bodies by these coordinates from the first columns, and by six more, which
// its bias alone follows, from the next. to: of each side; NULL: static. more: of the bias; NULL:
// 0. The row's bounds are constant. Adds what its J v - bias is by all of them to `slip`.
void sprag_derivative_take_row(const sprag_derivative *d, int row, const sprag_row_slopes *slopes,
                               const double *more, sprag_columns *const to[2],
                               double slip[SPRAG_INVERSE]);

// Sets v (bodies x bodies; m/s, rad/s): K^-1 X, X (N s, N m s) as sprag_columns_spread has it, of
// bodies. slip: of rows, the derivatives of J v - bias at these velocities, by the first columns of
// the bodies on its sides. SPRAG_OK, SPRAG_NO_MEMORY. No body may be kinematic.
sprag_result sprag_derivative_solve(const sprag_derivative *d, const sprag_columns *const *X,
                                    const double (*slip)[2][SPRAG_INVERSE], sprag_columns *v,
                                    sprag_scratch *scratch);

#endif
