// The exponential of a constant twist (Rodrigues), then one Newton step for the polar factor: it
// keeps rotations orthonormal to rounding however often they are composed.
#include "motion.h"

// sin(x)/x and (1 - cos(x))/x^2 are exact for any x > 0.
void sprag_exponential(const double w[3], double R[9])
{
    double angle = norm3(w), a = 1, b = 0.5;
    if (angle > 0) {
        double half = sin(angle / 2) / angle;
        a = sin(angle) / angle;
        b = 2 * half * half;
    }
    double x = w[0], y = w[1], z = w[2];
    R[0] = 1 - b * (y * y + z * z);
    R[4] = 1 - b * (x * x + z * z);
    R[8] = 1 - b * (x * x + y * y);
    R[1] = b * x * y - a * z, R[3] = b * x * y + a * z;
    R[2] = b * x * z + a * y, R[6] = b * x * z - a * y;
    R[5] = b * y * z - a * x, R[7] = b * y * z + a * x;
}

// R <- R (3 - R' R) / 2
static void straighten(double R[9])
{
    double S[9], out[9];
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            double rr = R[i] * R[j] + R[3 + i] * R[3 + j] + R[6 + i] * R[6 + j];
            S[3 * i + j] = ((i == j ? 3 : 0) - rr) / 2;
        }
    }
    mul33_33(R, S, out);
    memcpy(R, out, sizeof out);
}

void sprag_motion_at(const sprag_motion *motion, double t, sprag_pose *pose)
{
    const double *v = motion->velocity;
    const double turn[3] = {t * v[3], t * v[4], t * v[5]};
    double R[9], turned[9];
    for (int k = 0; k < 3; k++) {
        pose->position[k] = motion->pose.position[k] + t * v[k];
    }
    if (dot3(turn, turn) == 0) {
        memcpy(pose->rotation, motion->pose.rotation, sizeof pose->rotation);
        return;
    }
    sprag_exponential(turn, R);
    mul33_33(R, motion->pose.rotation, turned);
    straighten(turned);
    memcpy(pose->rotation, turned, sizeof turned);
}

void sprag_turn_pose(const sprag_pose *pose, const double about[3], const double turn[3],
                     sprag_pose *turned)
{
    double R[9], from[3];
    sprag_exponential(turn, R);
    subtract3(pose->position, about, from);
    mul33(R, from, turned->position);
    add_scaled(turned->position, 1, about, 3);
    mul33_33(R, pose->rotation, turned->rotation);
}

void sprag_pose_in(const sprag_pose *frame, const sprag_pose *of, sprag_pose *mount)
{
    const double *F = frame->rotation, *R = of->rotation;
    sprag_pose_local(frame, of->position, mount->position);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            mount->rotation[3 * i + j] = F[i] * R[j] + F[3 + i] * R[3 + j] + F[6 + i] * R[6 + j];
        }
    }
}

void sprag_pose_on(const sprag_pose *frame, const sprag_pose *mount, sprag_pose *of)
{
    mul33_33(frame->rotation, mount->rotation, of->rotation);
    sprag_pose_world(frame, mount->position, of->position);
}

void sprag_carried_at(const sprag_carried *carried, double t, sprag_pose *pose)
{
    if (!carried->motion) {
        *pose = carried->mount;
        return;
    }
    sprag_pose body;
    sprag_motion_at(carried->motion, t, &body);
    sprag_pose_on(&body, &carried->mount, pose);
}
