#include "mover.h"

#include <string.h>

#include "linalg.h"

// T of I and L.
static void find_turning(const double inertia[9], const double L[3], double step, double T[9])
{
    double X[9];
    memcpy(T, inertia, 9 * sizeof *T);
    cross33(L, X);
    add_scaled(T, -step, X, 9);
}

void sprag_gyroscopic_torque(const double inertia[9], const double w[3], double step,
                             double torque[3])
{
    double L[3], inverse[9], ratio[9];
    mul33(inertia, w, L);
    if (step == 0) {
        cross3(L, w, torque);
        return;
    }
    double T[9];
    find_turning(inertia, L, step, T);
    if (invert33(T, inverse) == 0) {
        memset(torque, 0, 3 * sizeof *torque);
        return;
    }
    mul33_33(inertia, inverse, ratio);
    for (int i = 0; i < 3; i++) {
        ratio[4 * i] -= 1;
        L[i] *= 1 / step;
    }
    mul33(ratio, L, torque);
}

// With z = T^-1 L the torque is (I z - L) / step, and T z' = (1 - step [z]x) L'.
void sprag_gyroscopic_slope(const double inertia[9], const double w[3], double step,
                            double slope[9])
{
    double L[3], T[9], inverse[9], z[3], part[9], turned[9];
    memset(slope, 0, 9 * sizeof *slope);
    mul33(inertia, w, L);
    find_turning(inertia, L, step, T);
    if (invert33(T, inverse) == 0) {
        return;
    }
    mul33(inverse, L, z);
    const double by_momentum[9] = {
        1, step * z[2], -step * z[1], -step * z[2], 1, step * z[0], step * z[1], -step * z[0], 1};
    mul33_33(inertia, inverse, part);
    mul33_33(part, by_momentum, turned);
    for (int i = 0; i < 9; i++) {
        turned[i] = (turned[i] - (i % 4 == 0)) / step;
    }
    mul33_33(turned, inertia, slope);
}

void sprag_mover_inertia(const sprag_mover *mover, double inertia[9])
{
    turn33(mover->pose.rotation, mover->inertia, inertia);
}

void sprag_mover_body(const sprag_mover *mover, const double inertia[9], double step,
                      sprag_body *to)
{
    to->mass = mover->mass;
    to->by_angle = true;
    memcpy(to->inertia, inertia, sizeof to->inertia);
    memcpy(to->velocity, mover->velocity, sizeof to->velocity);
    memcpy(to->free_velocity, mover->velocity, sizeof to->free_velocity);
    if (mover->mass > 0) {
        double inverse[9], torque[3] = {0, 0, 0}, turned[3];
        if (mover->gyroscopic) {
            sprag_gyroscopic_torque(inertia, mover->velocity + 3, step, torque);
        }
        add_scaled(torque, 1, mover->force + 3, 3);
        add_scaled(to->free_velocity, step / mover->mass, mover->force, 3);
        if (invert33(inertia, inverse) != 0) {
            mul33(inverse, torque, turned);
            add_scaled(to->free_velocity + 3, step, turned, 3);
        }
    }
}

void sprag_mover_cap(const sprag_mover *mover, double turning[3])
{
    double speed = mover->capped ? norm3(turning) : 0;
    for (int k = 0; k < 3 && speed > mover->cap; k++) {
        turning[k] *= mover->cap / speed;
    }
}
