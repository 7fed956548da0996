// Movers as bodies of a contact problem, for both methods that step a frame (advance.h,
// compliant.h).
#ifndef SPRAG_MOVER_H
#define SPRAG_MOVER_H

#include "frame.h"
#include "linalg.h"

// Gyroscopic torque (N m) on a body with this inertia and angular velocity, both in the same axes:
// (I T^-1 - 1) L / step with L = I w, T = I - step [L]x, implicit in the turn of the axes
// (Lacoursiere: Stabilizing Gyroscopic Forces in Rigid Multibody Simulations, 2006). step 0: its
// limit L x w.
void sprag_gyroscopic_torque(const double inertia[9], const double w[3], double step,
                             double torque[3]);

// The derivative of the gyroscopic torque by w, N m s. step > 0.
void sprag_gyroscopic_slope(const double inertia[9], const double w[3], double step,
                            double slope[9]);

// m/s^2, by the force on it.
static inline double sprag_mover_acceleration(const sprag_mover *mover)
{
    return mover->mass > 0 ? norm3(mover->force) / mover->mass : 0;
}

// Notes how far (m) the mover is from where it would be with the velocity that it had at the start,
// this time (s) ago.
static inline void sprag_mover_stray(sprag_mover *mover, const sprag_mover *start, double time)
{
    double off[3];
    subtract3(mover->pose.position, start->pose.position, off);
    add_scaled(off, -time, start->velocity, 3);
    mover->strayed = fmax(mover->strayed, norm3(off));
}

// Notes how far (rad) the mover turns, at this rate (rad/s) for this time (s), off the way that it
// would go with its angular velocity at the start: on that way it may be slower.
static inline void sprag_mover_swerve(sprag_mover *mover, const sprag_mover *start,
                                      const double rate[3], double time)
{
    const double *at = start->velocity + 3, square = dot3(at, at);
    double off[3] = {rate[0], rate[1], rate[2]};
    add_scaled(off, square > 0 ? -clamp(dot3(rate, at) / square, 0, 1) : 0, at, 3);
    mover->swerved += norm3(off) * time;
}

void sprag_mover_inertia(const sprag_mover *mover, double inertia[9]); // world axes

// inertia: of the mover, world axes.
void sprag_mover_body(const sprag_mover *mover, const double inertia[9], double step,
                      sprag_body *to);

// Slows a turning (rad/s, world axes) down to the mover's cap.
void sprag_mover_cap(const sprag_mover *mover, double turning[3]);

#endif
