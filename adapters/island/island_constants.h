// Numbers that tune the room's pull and push, all without unit unless they say one.
#ifndef SPRAG_ISLAND_CONSTANTS_H
#define SPRAG_ISLAND_CONSTANTS_H

// ---- spin_step.c

// Of the body's radius of gyration: a joint or a contact that is farther from the axis holds the
// body off it. The tip of a top is within, the rim of a wheel without.
static const double spin_off_axis = 0.05;

// ---- load_stiffness.c. Measured on chains of 50 links under loads of 1 to 1000 links, on hinged
// bridges and on bolas, at 5 to 17 ms.

// Inertia added per unit of step^2 stiffness beyond the body's own. A quarter keeps a constant
// stiffness stable; the rest is for forces that grow within the step, which is known at its end.
static const double load_inertia = 0.9;

// Most stiffness that counts, relative to the inertia: with more, rounding would leave nothing of
// it.
static const double load_most = 1e6;

// Share of the way on the circle about the joint, beyond the tangent, that a row looks ahead. All
// of it (1) wins energy in half of the steps, so that these are solved twice; without it chains of
// light links stretch by 22 mm and bolas lose 5 % of their energy in 5 s, at 17 ms.
static const double load_look_ahead = 0.8;

// Least gain of energy that is taken back, as a share of the energy.
static const double load_least_gain = 1e-7;

#endif
