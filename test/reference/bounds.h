// Bounds of the time during which bodies cannot touch, from
//
// Drumwright: True Rigidity: Interpenetration-free Multi-Body Simulation with Polytopic Contact,
// after Mirtich: Timewarp Rigid Body Simulation, SIGGRAPH 2000.
//
// For comparison only: sprag_time_of_impact uses none of them. Equations 4 and 11 hold for bodies
// at constant twist, or joints at constant rates. Equations 7 and 8 do not hold: they assume
// that a vertex on the plane stays there, while a vertex that turns about the centre of mass curves
// into it by w^2 r t^2 / 2 (millimetres within 10 ms at 10 rad/s).
#ifndef SPRAG_BOUNDS_H
#define SPRAG_BOUNDS_H

#include <stdbool.h>

// (4) t = d / (|n.(v0 - v1)| + |w0 x n| r0 + |w1 x n| r1)
//
// distance: m. normal: unit, from one nearest point to the other. velocity: m/s, rad/s, of the
// centres of mass. radius: m, about those. s; INFINITY if nothing moves along the normal.
double sprag_bound_apart(double distance, const double normal[3], const double velocity[2][6],
                         const double radius[2]);

// Vertices of both bodies and a plane between them, n.x = offset.
typedef struct sprag_bound_plane {
    double normal[3]; // unit, into body 0
    double offset;    // m
    int vertices[2];
    const double (*vertex[2])[3]; // m, world
    double touching;              // m: nearer ones are on the plane
} sprag_bound_plane;

// The part of one pair in r(q, v), Figure 6: apart, (4); touching, with all vertices on the plane
// at rest along its normal, (8); otherwise the shortest step.
typedef struct sprag_bound_pair {
    double distance;         // m
    sprag_bound_plane plane; // its `touching` decides whether they touch
    double centre[2][3];     // m, of mass
    double velocity[2][6];   // m/s, rad/s
    double radius[2];        // m
    double rest;             // m/s, slower vertices are at rest
    double shortest;         // s
} sprag_bound_pair;

double sprag_bound_step(const sprag_bound_pair *pair);

// ---- links, in reduced coordinates

typedef enum sprag_bound_kind {
    SPRAG_BOUND_TURNS,  // revolute, universal, spherical
    SPRAG_BOUND_SLIDES, // prismatic
} sprag_bound_kind;

typedef struct sprag_bound_joint {
    sprag_bound_kind kind;
    double position; // m, sliding: 0 where the next joint is nearest
    double rate;     // m/s, or rad/s (length of the relative angular velocity)
    double length;   // m, to the next joint; sliding: when it is nearest (0 in the paper, where the
                     // axis leads there)
} sprag_bound_joint;

// Joints from the base to the link; the last one's length is not used.
typedef struct sprag_bound_chain {
    int joints;
    const sprag_bound_joint *joint;
    double radius;      // m, of a ball around the link and its joint
    double velocity[6]; // m/s, rad/s, of the base, at its first joint (at the centre of mass, as
                        // the paper may be read, the way from there to the joint is neglected)
} sprag_bound_chain;

// Bound (m/s, along n) of the speed of any point of the link:
//
//     (11) |v.n| + |w| gamma_1 + sum over j of kappa_j
//     (12) kappa_j = rate_j (slides), rate_j gamma_j (turns)
//     (13) gamma_j = sum over k from j to the last but one of d_k, + 2 radius
//     (14) d_k = |q_k| + rate_k + length_k (slides), length_k (turns)
//
// A last joint that slides adds |q| + rate to gamma. The paper's sum leaves this out; without it,
// a link that a turning joint swings while it slides out is faster than the bound.
//
// The bound holds for one second: d_k takes rate_k times 1 s as the way of a sliding joint.
double sprag_bound_link(const sprag_bound_chain *chain, const double normal[3]);

#endif
