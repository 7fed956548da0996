// The motion of a rigid body within a sub-step, at constant twist: the centre of mass moves
// straight, the axes turn about a constant direction.
//
//     x(t) = x(0) + t v,   R(t) = exp(t [w]) R(0)
#ifndef SPRAG_MOTION_H
#define SPRAG_MOTION_H

#include "shape.h"

typedef struct sprag_motion {
    sprag_pose pose;    // of the centre of mass, at t = 0
    double velocity[6]; // m/s, rad/s, world axes
} sprag_motion;

// R = exp([w]): the rotation about w by |w| rad.
void sprag_exponential(const double w[3], double R[9]);

// The pose at time t (s).
void sprag_motion_at(const sprag_motion *motion, double t, sprag_pose *pose);

// A pose in the world, told in the axes of a frame: what carries it back is frame * mount.
void sprag_pose_in(const sprag_pose *frame, const sprag_pose *of, sprag_pose *mount);

// A shape mounted on a body.
typedef struct sprag_carried {
    const sprag_shape *shape;
    sprag_pose mount; // of the shape: in the axes of the body; in the world if motion is NULL
    const sprag_motion *motion; // of the body; NULL: the shape does not move
} sprag_carried;

// The pose of the shape in the world at time t (s).
void sprag_carried_at(const sprag_carried *carried, double t, sprag_pose *pose);

#endif
