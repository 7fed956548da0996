// Implicit Stribeck in generalized coordinates, for any mass matrix and any jacobians: the problem
// of Castro et al. (arXiv 1909.05700, section III and IV), with its laws and its parameters.
//
//     M v = p* + dt (Jn' fn + Jt' ft)
//     ft = -m(s) mu fn vt / rho,  rho^2 = |vt|^2 + (r vs)^2,  s = rho / vs
//     m = s (2 - s) up to s = 1, then 1
//     one-way: fn given;  two-way: fn = k max(0, 1 - d vn) max(0, x0 - dt vn)
//
// Newton's method from the guess solves most problems. Where it fails, the roots for falling
// stiction tolerances are followed from a problem without friction, whose root is the only one
// (continuation.h). One-way coupled the problem is convex and has one root; two-way it has at least
// one. Mass matrices that fall into blocks of up to six velocities, with contacts between two of
// them at most, are treated as bodies, with sparse matrices; others are dense (LAPACK).
#ifndef SPRAG_GENERAL_H
#define SPRAG_GENERAL_H

#include "result.h"
#include "scratch.h"

SPRAG_BEGIN_C

// Matrices row by row.
typedef struct sprag_general_problem {
    int velocities, contacts;       // nv, nc
    double step;                    // s, dt
    const double *mass;             // nv x nv, symmetric and positive definite
    const double *normal_jacobian;  // nc x nv, vn = Jn v is the speed of separation
    const double *tangent_jacobian; // 2 nc x nv, two rows a contact
    const double *momentum;         // nv, p* = M v0 + dt tau
    const double *friction;         // nc, mu
    const double *normal_force;     // nc, N, one-way coupled; NULL: two-way, with
    const double *penetration;      // nc, m, x0 before the step, positive when overlapping
    const double *stiffness;        // nc, N/m
    const double *dissipation;      // nc, s/m
} sprag_general_problem;

typedef struct sprag_general_options {
    double stiction_tolerance; // m/s, vs
    double relative_tolerance; // r: part of the law, and of the limiter
    double theta_max;          // rad, the most that a slip turns in an update of Newton's method
    int max_iterations;        // factorisations of the matrix in all; an update takes one
    double residual_tolerance; // of momentum, relative, at which Newton's method ends, rounding
                               // allowing
} sprag_general_options;

// 1e-4, 1e-2, pi/3, 20000, 1e-13
SPRAG_SOLVER_API sprag_general_options sprag_general_defaults(void);

// Arrays are the caller's. velocity: first guess on entry, such as the velocity before the step.
// NULL for others that are not wanted.
typedef struct sprag_general_solution {
    double *velocity;                           // nv
    double *normal_velocity, *tangent_velocity; // nc, 2 nc
    double *normal_force, *friction_force;      // N: nc, 2 nc
    double *generalized_friction;               // nv, Jt' ft
    double *generalized_force;                  // nv, Jt' ft + Jn' fn
} sprag_general_solution;

// options: NULL for the defaults. stats: NULL for none; its history and history_room are read, see
// result.h; its residual is that of the returned solution, below. message (size bytes, NULL for
// none) names the entry of a bad problem or option, or says how far a solution is from a root; it
// is empty otherwise. Nothing is kept in the scratch: reset it after every solve, free it at the
// end.
//   SPRAG_OK             the residual is at most 1e-6, or residual_tolerance if that is larger; for
//                        problems with ordinary numbers it is about residual_tolerance
//   SPRAG_NOT_CONVERGED  no root was found, or none that momentum balances at, because of rounding:
//                        all arrays are those of the velocity with the least residual that was met
//   SPRAG_BAD_PROBLEM, SPRAG_NO_MEMORY
//                        nothing is touched
// The residual is measured anew from problem and solution, whatever the iteration says: the largest
// error of momentum, of a normal force and of a friction force, relative to what the step changes
// (general_residual.h).
//
// Threads: no state outlives a call. Any number of threads may solve at once, each with a scratch,
// a solution and statistics of its own; problems and options may be shared.
SPRAG_SOLVER_API sprag_result sprag_general_solve(const sprag_general_problem *problem,
                                                  const sprag_general_options *options,
                                                  sprag_scratch *scratch,
                                                  sprag_general_solution *solution,
                                                  sprag_stats *stats, char *message, int size);

SPRAG_END_C

#endif
