// The motion of a rigid body within a sub-step, at constant twist: the centre of mass moves
// straight, the axes turn about a constant direction.
//
//     x(t) = x(0) + t v,   R(t) = exp(t [w]) R(0)
#ifndef SPRAG_MOTION_H
#define SPRAG_MOTION_H

#include "linalg.h"
#include "shape.h"

// A point (m) of the axes of a pose in the world, and the other way round.
static inline void sprag_pose_world(const sprag_pose *pose, const double local[3], double world[3])
{
    mul33(pose->rotation, local, world);
    add_scaled(world, 1, pose->position, 3);
}

static inline void sprag_pose_local(const sprag_pose *pose, const double world[3], double local[3])
{
    double from[3];
    subtract3(world, pose->position, from);
    mul33_transposed(pose->rotation, from, local);
}

typedef struct sprag_motion {
    sprag_pose pose;    // of the centre of mass, at t = 0
    double velocity[6]; // m/s, rad/s, world axes
} sprag_motion;

// R = exp([w]): the rotation about w by |w| rad.
void sprag_exponential(const double w[3], double R[9]);

// A pose turned about a point (m), by a rotation as above.
void sprag_turn_pose(const sprag_pose *pose, const double about[3], const double turn[3],
                     sprag_pose *turned);

// The pose at time t (s).
void sprag_motion_at(const sprag_motion *motion, double t, sprag_pose *pose);

// A pose in the world, told in the axes of a frame: what carries it back is frame * mount.
void sprag_pose_in(const sprag_pose *frame, const sprag_pose *of, sprag_pose *mount);

// of = frame * mount; none of the others.
void sprag_pose_on(const sprag_pose *frame, const sprag_pose *mount, sprag_pose *of);

// A shape mounted on a body.
typedef struct sprag_carried {
    const sprag_shape *shape;
    sprag_pose mount; // of the shape: in the axes of the body; in the world if motion is NULL
    const sprag_motion *motion; // of the body; NULL: the shape does not move
} sprag_carried;

// rad/s, at which its surface turns; 0 of a ball about the centre of its body, however it turns.
static inline double sprag_carried_spin(const sprag_carried *carried)
{
    const double *at = carried->mount.position;
    const bool stays =
        carried->shape->kind == SPRAG_SPHERE && at[0] == 0 && at[1] == 0 && at[2] == 0;
    return carried->motion && !stays ? norm3(carried->motion->velocity + 3) : 0;
}

// The pose of the shape in the world at time t (s).
void sprag_carried_at(const sprag_carried *carried, double t, sprag_pose *pose);

#endif
