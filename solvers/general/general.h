// Implicit Stribeck in generalized coordinates, for any mass matrix and any jacobians: the problem
// of Castro et al. (arXiv 1909.05700, section III and IV), with its laws and its parameters.
//
//     M v = p* + dt (Jn' fn + Jt' ft)
//     ft = -m(s) mu fn vt / rho,  rho^2 = |vt|^2 + (r vs)^2,  s = rho / vs,  m = s (2 - s), 1 from
//     s = 1 on one-way: fn given;  two-way: fn = k max(0, 1 - d vn) max(0, x0 - dt vn)
//
// One-way coupled it is convex and has one root, which is always found. Two-way it has at least
// one; strategies behind the direct iteration find it where that fails. Mass matrices that
// fall into blocks of up to six velocities, with contacts between two of them at most, are treated
// as bodies, with sparse matrices; others are dense (LAPACK).
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
    double theta_max;          // rad, the most that a slip turns in an update
    int max_iterations;        // of the first strategy, Newton's method
    double residual_tolerance; // of momentum, relative; rounding allowing
} sprag_general_options;

// 1e-4, 1e-2, pi/3, 100, 1e-13
SPRAG_GENERAL_API sprag_general_options sprag_general_defaults(void);

// Arrays are the caller's. velocity: first guess on entry.
typedef struct sprag_general_solution {
    double *velocity;                           // nv
    double *normal_velocity, *tangent_velocity; // nc, 2 nc
    double *normal_force, *friction_force;      // N: nc, 2 nc
    double *generalized_friction;               // nv, Jt' ft
    double *generalized_force;                  // nv, Jt' ft + Jn' fn
} sprag_general_solution;

// options: NULL for the defaults. stats: NULL for none; its history and history_room are read, see
// result.h. message (size bytes, NULL for none) names the entry of a bad problem or option, and is
// empty otherwise. Nothing is kept in the scratch: reset it after every solve, free it at the end.
//   SPRAG_OK             a root
//   SPRAG_NOT_CONVERGED, SPRAG_SINGULAR
//                        no root was found: velocity is still the guess, and the other arrays are
//                        those of the guess; the statistics tell what was tried
//   SPRAG_BAD_PROBLEM, SPRAG_NO_MEMORY
//                        nothing is touched
SPRAG_GENERAL_API sprag_result sprag_general_solve(const sprag_general_problem *problem,
                                                   const sprag_general_options *options,
                                                   sprag_scratch *scratch,
                                                   sprag_general_solution *solution,
                                                   sprag_stats *stats, char *message, int size);

SPRAG_END_C

#endif
