// The momentum balance of an island, in the form that the solvers iterate on:
//
//     r(v) = M (v - v*) - sum J' g(J v) = 0        (N s)
//
// with the contact and row laws g, the derivative of r as a block-sparse matrix, and the search
// along an update. The friction bounds are either coupled to the normal impulse at the same
// velocity, or frozen; frozen, r is the gradient of a strictly convex function. Implicit Stribeck,
// its convex fallback and every later solver of contact impulses share this one place where the
// laws are written.
#ifndef SPRAG_SYSTEM_H
#define SPRAG_SYSTEM_H

#include "solvers/blocks.h"
#include "solvers/problem.h"
#include "solvers/scratch.h"

// Friction along, or about, one axis or two.
// An infinite coefficient makes it linear: impulse = -(slip - velocity) / slip_yield.
typedef struct sprag_cone {
    int first, axes;    // components of the contact's relative velocity
    double coefficient; // of the normal impulse; of the step (s) if `force`
    double shape[2];    // coefficients of the axes, relative to the larger
    double velocity[2]; // m/s, rad/s
    double slip_yield;  // m/s per N s
    double per_length;  // 1 or 1/m: makes a speed (stiction tolerance) one of rolling
    bool force;         // the normal impulse does not bound it
} sprag_cone;

// Components of a contact's relative velocity: along the rows of its frame, then about tangents and
// normal.
enum { SPRAG_NORMAL = 0, SPRAG_SLIDE = 1, SPRAG_ROLL = 3, SPRAG_SPIN = 5 };

// A contact.
typedef struct sprag_point {
    int node[2];              // nodes are the bodies that forces move; SPRAG_STATIC: none
    int dim;                  // 3 or 6
    int cone, cones;          // first, number
    int block;                // off-diagonal block of the two nodes
    double jacobian[2][6][6]; // dim rows
    double offset[6];         // relative velocity that kinematic bodies bring
    double inverse_mass;      // of the normal direction, 1/kg
    double bias, yield;       // normal impulse = max(0, (bias - vn) / yield)
} sprag_point;

typedef struct sprag_equation { // a row
    int node[2];
    int block;
    double jacobian[2][6];
    double offset, bias, yield;
    double lo, hi; // N s
} sprag_equation;

typedef struct sprag_system {
    const sprag_problem *problem;
    int nodes, points, equations;
    bool convex;          // no friction depends on a normal impulse
    bool bounded;         // some equation has a finite bound
    int *body;            // node -> body
    double *start, *free; // 6 nodes: v0, v*
    double *weight;       // 6 nodes: diag(M)^-1/2
    sprag_point *point;
    sprag_cone *cone;
    sprag_equation *equation;
    double momentum;   // |D M v*|, N s / sqrt(kg)
    double (*slip)[6]; // relative velocity of the points
    double *rate;      // of the equations
    // of the last sprag_system_residual:
    double *residual;     // 6 nodes
    double (*impulse)[6]; // of the points
    double *row_impulse;
    // along an update, and what part of it was last gone:
    double moved;
    double (*slip_change)[6];
    double *rate_change;
    sprag_blocks blocks;
    bool analysed;
    sprag_scratch *scratch;
} sprag_system;

// softness, row_softness: least yield of contacts and rows, relative to their inverse mass.
sprag_result sprag_system_prepare(sprag_system *system, const sprag_problem *problem,
                                  double softness, double row_softness, sprag_scratch *scratch);

// Goes to v (6 nodes): relative velocities of all points and equations.
void sprag_system_place(sprag_system *system, const double *v);

// Goes on from there: v += alpha dv. Relative velocities follow by their own changes: stiff laws
// would turn the rounding of J v, though not that of J dv, into impulses that no iteration can
// balance.
void sprag_system_move(sprag_system *system, double *v, double alpha, const double *dv);

// Evaluates impulses and residual at v, where the system has been placed or moved to. stiction:
// m/s. bound: normal impulses (N s, one per point) that bound friction, frozen; NULL: coupled.
// Returns |D r|, relative to the larger of the island's momentum and its contact and row impulses.
double sprag_system_residual(sprag_system *system, const double *v, double stiction,
                             const double *bound);

// Assembles and factorises the derivative of the residual where it was last evaluated.
sprag_result sprag_system_factor(sprag_system *system, double stiction, const double *bound);

// dv = -(dr/dv)^-1 r, and the changes of slip and rate that go with it.
void sprag_system_update(sprag_system *system, const double *bound, double *dv);

// Does a row reach or leave a bound along the update?
bool sprag_system_meets_bound(const sprag_system *system);

// The exact minimum, for frozen bounds, along v + alpha dv, alpha in (0, 1]. v is where the
// residual was last evaluated.
double sprag_system_search(sprag_system *system, const double *v, const double *dv, double stiction,
                           const double *bound);

// The slip of a cone in the metric of its shape, at the last residual, its change, and the
// tolerance to measure them by. Returns false if the cone carries no force before nor after the
// update.
bool sprag_system_cone_slip(const sprag_system *system, const sprag_point *point,
                            const sprag_cone *cone, double stiction, double slip[2],
                            double change[2], double *tolerance);

#endif
