// The yield of contacts and rows beyond their own compliance. Rounding spoils the solution of rigid
// contacts, and bodies that are held more often than needed have several; a little softness makes
// the solution unique. All strategies solve the same soft equations.
#ifndef SPRAG_SOFTNESS_H
#define SPRAG_SOFTNESS_H

#include "problem.h"

// The step changes velocities by so much, m/s: the fastest change of a body without contacts and
// rows, or a hundredth of the fastest body; 1 if nothing moves.
double sprag_problem_scale(const sprag_problem *problem);

// Relative to the fastest body speed: the least speed scale of a step, where forces change
// velocities less. Larger: fast bodies stick earlier.
#define SPRAG_FASTEST_SHARE 1e-2
// Least softness of a rigid contact, relative to its inverse mass. Smaller: rounding in heavy
// stacks.
#define SPRAG_SOFT_LEAST 1e-6
// Softness is measured by the inverse mass of the contact or by this over the heaviest body (kg),
// if that is less. Larger: light bodies sink deeper under heavy ones.
#define SPRAG_SOFT_HEAVIEST 4.0
// Relative to the lever arm: fall in a step up to which a contact is fully soft. Smaller: small
// bodies sink less, and solves take longer.
#define SPRAG_SOFT_FALL 0.01

// Moving bodies up to which an island is solved with the softness as it is, and the largest factor
// for islands of more (sprag_softness_for_sweeps). More bodies, or a smaller factor: sweeps leave
// large heaps trembling, which then overlap deeper than softness lets them.
#define SPRAG_SOFT_BODIES 10.0
#define SPRAG_SOFT_GROWTH 10.0

// Softness that a solve adds, relative to the inverse mass. 0: none.
typedef struct sprag_shares {
    double normal, row, friction; // of contact normals, joint rows and friction
} sprag_shares;

// The softness of a problem, once for all its contacts and rows.
typedef struct sprag_softness {
    double step;  // s
    double scale; // m/s, sprag_problem_scale
    sprag_shares share;
    double heaviest; // kg, of the bodies: softness under a load grows no further with it
    double fall;     // m, what a body falls in a step
} sprag_softness;

sprag_softness sprag_problem_softness(const sprag_problem *problem, sprag_shares share);

// The softness `normal` for an island that a limited number of sweeps solves: it grows with the
// number n of its moving bodies as n^(2/3), the square of the bodies on a path through a heap.
// Sweeps need about the inverse square root of the softness times that number to carry a load down
// such a path.
double sprag_softness_for_sweeps(double normal, const sprag_problem *problem);

// The softness `normal` in proportion to the fastest body, as long as that is slower than what a
// step changes: bodies at rest hardly sink. At least SPRAG_SOFT_LEAST, unless `normal` is 0.
double sprag_softness_in_motion(double normal, const sprag_problem *problem);

// m/s per N s, at which a normal with the inverse mass w (1/kg) yields; INFINITY where nothing
// moves.
double sprag_contact_yield(const sprag_softness *softness, const sprag_contact *contact, double w);

// N/m, of Hunt and Crossley's law: the contact's own, or the largest that rounding lets be.
double sprag_contact_stiffness(const sprag_softness *softness, const sprag_contact *contact,
                               double w);

// One side of a row.
typedef struct sprag_inverse {
    double mass;           // 1/kg; 0: nothing moves it
    const double *inertia; // 3x3, 1/(kg m^2), the inverse
} sprag_inverse;

// The unit of a row's softness: the inverse mass (1/kg) of what is linear in the row, or else the
// mean of the inverse moments of inertia; 0 where nothing moves. The three rows of a point, or of a
// turn, yield alike in all directions, so the force of an error acts along it. Otherwise joints
// that contradict each other, whose forces are as large as their softness is small, would drive the
// bodies that they hold together.
double sprag_row_unit(const sprag_row *row, const sprag_inverse of[2]);

// m/s per N s (rad/s per N m s), of a row; INFINITY where nothing moves.
double sprag_row_yield(const sprag_softness *softness, const sprag_row *row,
                       const sprag_inverse of[2]);

#endif
