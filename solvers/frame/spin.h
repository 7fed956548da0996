// Bodies that spin fast: a step in a frame that follows the spin axis but does not spin, and the
// exact flight of a body that nothing touches.
#ifndef SPRAG_SPIN_H
#define SPRAG_SPIN_H

#include <stdbool.h>

// rad within the step: a body that turns farther turns about its angular velocity. Below half a
// turn, so that the turn has one axis.
static const double sprag_spin_farthest_turn = 2.5;

// rad/s; a body that turns no faster does not spin fast.
double sprag_spin_least(double step);

// Does a body with this inertia (kg m^2, in its own axes) and rotation spin fast about one of its
// principal axes? Sets it: a unit vector in world axes.
bool sprag_spin_find(const double inertia[9], const double rotation[9], const double w[3],
                     double step, double axis[3]);

// Is a body with this inertia (kg m^2) as good as a ball, which has no axis of its own?
bool sprag_spin_is_round(const double inertia[9]);

// Does a body spin fast about this axis (unit, world axes)?
bool sprag_spin_is_about(const double axis[3], const double w[3], double step);

// Makes the inertia (world axes) and the free angular velocity (rad/s, which the torques of a step
// give to a body without gyroscopic torque) those of the step in the frame that follows the axis.
// w: before the step. The inertia is then no longer symmetric. damped: nutation fades, as in
// contact; otherwise it stays. Returns false, and changes nothing, where such a step has no
// solution.
bool sprag_spin_free(double inertia[9], const double axis[3], const double w[3], double step,
                     bool damped, double free[3]);

// The body's turn over the step, as a quaternion (1 first), with the angular velocity w at the end
// of the step in the frame that follows the axis; makes w that in world axes.
void sprag_spin_turn(const double axis[3], double step, double w[3], double turn[4]);

// Turns a vector by a quaternion.
void sprag_spin_rotate(const double q[4], double x[3]);

// Free flight over a step: the angular momentum stays, and the energy, to rounding. inertia: in the
// axes of the body. q: its rotation. w: world axes.
void sprag_spin_fly(const double inertia[9], double step, double w[3], double q[4]);

// Does the axis of such a free body move noticeably in a step? inertia, w: in the same axes.
bool sprag_spin_tumbles(const double inertia[9], const double w[3], double step);

#endif
