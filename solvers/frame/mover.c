#include "mover.h"

#include <math.h>
#include <string.h>

#include "linalg.h"

// Without torque angular momentum stays: (I - h [L]x) w' = L, implicit in the turn of the axes
// (Lacoursiere: Stabilizing Gyroscopic Forces in Rigid Multibody Simulations, 2006).
static void spin_freely(const double *inertia, const double *w, double step, double *free)
{
    double L[3], T[9], inverse[9];
    mul33(inertia, w, L);
    memcpy(T, inertia, sizeof T);
    T[1] += step * L[2], T[2] -= step * L[1];
    T[3] -= step * L[2], T[5] += step * L[0];
    T[6] += step * L[1], T[7] -= step * L[0];
    if (invert33(T, inverse) == 0) {
        memcpy(free, w, 3 * sizeof *w);
        return;
    }
    mul33(inverse, L, free);
}

void sprag_mover_body(const sprag_mover *mover, const double inertia[9], double step,
                      sprag_body *to)
{
    to->mass = mover->mass;
    memcpy(to->inertia, inertia, sizeof to->inertia);
    memcpy(to->velocity, mover->velocity, sizeof to->velocity);
    memcpy(to->free_velocity, mover->velocity, sizeof to->free_velocity);
    if (mover->mass > 0) {
        double inverse[9], turned[3];
        if (mover->gyroscopic) {
            spin_freely(inertia, mover->velocity + 3, step, to->free_velocity + 3);
        }
        add_scaled(to->free_velocity, step / mover->mass, mover->force, 3);
        if (invert33(inertia, inverse) != 0) {
            mul33(inverse, mover->force + 3, turned);
            add_scaled(to->free_velocity + 3, step, turned, 3);
        }
    }
}

void sprag_contact_frame(const double normal[3], const double direction[3], double frame[3][3])
{
    double along[3];
    memcpy(frame[0], normal, sizeof frame[0]);
    memcpy(along, direction, sizeof along);
    add_scaled(along, -dot3(direction, normal), normal, 3);
    if (!normalise3(along)) {
        int least = fabs(normal[0]) < fabs(normal[1]) ? 0 : 1;
        least = fabs(normal[2]) < fabs(normal[least]) ? 2 : least;
        const double axis[3] = {least == 0, least == 1, least == 2};
        cross3(axis, normal, along);
        normalise3(along);
    }
    memcpy(frame[1], along, sizeof along);
    cross3(normal, along, frame[2]);
}

void sprag_mover_cap(const sprag_mover *mover, double turning[3])
{
    double speed = mover->capped ? norm3(turning) : 0;
    for (int k = 0; k < 3 && speed > mover->cap; k++) {
        turning[k] *= mover->cap / speed;
    }
}
