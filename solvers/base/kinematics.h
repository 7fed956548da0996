// Velocity and inverse mass of points of rigid bodies. A velocity is (vx vy vz wx wy wz) of the
// centre of mass in world axes; an arm goes from there to the point. A NULL velocity is that of an
// immovable side.
#ifndef SPRAG_KINEMATICS_H
#define SPRAG_KINEMATICS_H

#include "linalg.h"
#include "problem.h"

// u = v + w x arm, m/s.
static inline void point_velocity(const double v[6], const double arm[3], double u[3])
{
    cross3(v + 3, arm, u);
    add_scaled(u, 1, v, 3);
}

// Velocity of the point of side 0 relative to that of side 1, m/s.
static inline void relative_velocity(const double *const v[2], const double arm[2][3], double u[3])
{
    memset(u, 0, 3 * sizeof *u);
    for (int side = 0; side < 2; side++) {
        if (v[side]) {
            double of_side[3];
            point_velocity(v[side], arm[side], of_side);
            add_scaled(u, side ? -1 : 1, of_side, 3);
        }
    }
}

// J with J v = direction . (v + w x arm).
static inline void point_jacobian(const double arm[3], const double direction[3], double J[6])
{
    memcpy(J, direction, 3 * sizeof *J);
    cross3(arm, direction, J + 3);
}

// a' M b of one body.
static inline double mass_between(const sprag_body *body, const double a[6], const double b[6])
{
    double turned[3];
    mul33(body->inertia, b + 3, turned);
    return body->mass * dot3(a, b) + dot3(a + 3, turned);
}

// Ja M^-1 Jb' of one body, 1/kg for rows without unit. inverse_inertia: in the axes of the rows.
static inline double inverse_mass_between(double inverse_mass, const double inverse_inertia[9],
                                          const double Ja[6], const double Jb[6])
{
    double turned[3];
    mul33(inverse_inertia, Jb + 3, turned);
    return inverse_mass * dot3(Ja, Jb) + dot3(Ja + 3, turned);
}

static inline double inverse_mass_along(double inverse_mass, const double inverse_inertia[9],
                                        const double J[6])
{
    return inverse_mass_between(inverse_mass, inverse_inertia, J, J);
}

#endif
