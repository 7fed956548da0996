// One body of ODE -> its mass, its velocity, and its velocity at the end of a step in which only
// the accumulated force, gravity and the gyroscopic torque act. The arithmetic is stock's, in
// stock's order, so that a free body moves to the same bits.
//
// The gyroscopic torque does no work on the spin that it turns, but it would on one that a contact
// has changed: it acts first, and contacts hit and rebound from what it leaves.

#include "island.h"
#include "kinematics.h"
#include "linalg.h"
#include "mover.h"

static void unpack(const double *rows_of_3, dReal *rows_of_4)
{
    for (int i = 0; i < 3; i++) {
        memcpy(rows_of_4 + 4 * i, rows_of_3 + 3 * i, 3 * sizeof *rows_of_3);
        rows_of_4[4 * i + 3] = 0;
    }
}

// Sums each product in the order of dMultiply0_333, a row at once.
static inline void multiply(const dReal *restrict A, const dReal *restrict B,
                            dReal *restrict product)
{
    for (int i = 0; i < 12; i += 4) {
        for (int k = 0; k < 4; k++) {
            product[i + k] = A[i] * B[k] + A[i + 1] * B[4 + k] + A[i + 2] * B[8 + k];
        }
    }
}

// R A R'
static void turn(const dReal *R, const dReal *A, dReal *turned)
{
    const dMatrix3 transposed = {R[0], R[4], R[8], 0, R[1], R[5], R[9], 0, R[2], R[6], R[10], 0};
    dMatrix3 half;
    multiply(A, transposed, half);
    multiply(R, half, turned);
}

static bool is_finite(const dReal *x, int n)
{
    dReal sum = 0;
    for (int i = 0; i < n; i++) {
        sum += x[i] * 0; // 0, or not a number
    }
    return sum == 0;
}

// Greater velocities, forces and torques are taken as invalid input: far beyond any scene, and
// small enough to be squared. In the unit of each.
static const double MODERATE_MAX = 1e150;

static bool is_moderate(const dReal *x, int n)
{
    for (int i = 0; i < n; i++) {
        if (!(fabs(x[i]) < MODERATE_MAX)) {
            return false;
        }
    }
    return true;
}

// The sum of the accumulators and gravity. false: the accumulators are not finite; they count as 0.
static bool force_on(dBodyID id, const dMass *mass, const dReal *gravity, dReal *force,
                     dReal *torque)
{
    memcpy(force, dBodyGetForce(id), 3 * sizeof *force);
    memcpy(torque, dBodyGetTorque(id), 3 * sizeof *torque);
    bool good = is_finite(force, 3) && is_finite(torque, 3);
    for (int k = 0; k < 3; k++) {
        force[k] = good ? force[k] : 0;
        torque[k] = good ? torque[k] : 0;
        if (gravity[k] != 0 && dBodyGetGravityMode(id)) {
            force[k] += mass->mass * gravity[k];
        }
    }
    return good;
}

bool sprag_ode_pull_body(sprag_body *to, dBodyID id, const dReal *gravity, dReal step)
{
    dMass mass;
    dVector3 force, torque;
    const dReal *R = dBodyGetRotation(id);
    sprag_ode_read_velocity(id, to->velocity);
    memcpy(to->free_velocity, to->velocity, sizeof to->velocity);
    to->by_angle = dBodyGetFiniteRotationMode(id);
    if (dBodyIsKinematic(id)) {
        to->mass = 0;
        memset(to->inertia, 0, sizeof to->inertia);
        return true;
    }
    dBodyGetMass(id, &mass);
    bool good = force_on(id, &mass, gravity, force, torque);
    dMatrix3 inertia, body_inverse, inverse;
    double packed[9], packed_inverse[9];
    sprag_ode_pack(mass.I, packed);
    if (invert33(packed, packed_inverse) == 0) { // as dBodySetMass does
        memset(packed_inverse, 0, sizeof packed_inverse);
        packed_inverse[0] = packed_inverse[4] = packed_inverse[8] = 1;
        dMatrix3 identity = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
        memcpy(mass.I, identity, sizeof identity);
    }
    unpack(packed_inverse, body_inverse);
    turn(R, body_inverse, inverse);
    turn(R, mass.I, inertia);
    to->mass = mass.mass;
    sprag_ode_pack(inertia, to->inertia);
    double gyroscopic[3] = {0};
    if (dBodyGetGyroscopicMode(id)) {
        sprag_gyroscopic_torque(to->inertia, to->velocity + 3, step, gyroscopic);
        add_scaled(torque, 1, gyroscopic, 3);
    }
    double push = step * (1 / mass.mass);
    for (int k = 0; k < 3; k++) {
        to->free_velocity[k] += push * force[k];
        torque[k] *= step;
        gyroscopic[k] *= step;
    }
    dMultiplyAdd0_331(to->free_velocity + 3, inverse, torque);
    if (!is_moderate(to->free_velocity, 6)) { // the force is too great
        memcpy(to->free_velocity, to->velocity, sizeof to->velocity);
        return false;
    }
    dMultiplyAdd0_331(to->velocity + 3, inverse, gyroscopic);
    return good;
}

bool sprag_ode_pull_mover(sprag_mover *to, dBodyID id, const dReal *gravity)
{
    dMass mass;
    dVector3 force, torque;
    double inverse[9];
    memset(to, 0, sizeof *to);
    sprag_ode_read_pose(id, &to->pose);
    sprag_ode_read_velocity(id, to->velocity);
    to->cap = fabs(dBodyGetMaxAngularSpeed(id)); // ODE squares it
    to->capped = to->cap < dInfinity;
    if (dBodyIsKinematic(id)) {
        sprag_mover_cap(to, to->velocity + 3);
        return true;
    }
    dBodyGetMass(id, &mass);
    bool good = force_on(id, &mass, gravity, force, torque);
    to->mass = mass.mass;
    sprag_ode_pack(mass.I, to->inertia);
    if (invert33(to->inertia, inverse) == 0) { // as dBodySetMass does
        memset(to->inertia, 0, sizeof to->inertia);
        to->inertia[0] = to->inertia[4] = to->inertia[8] = 1;
    }
    if (!is_moderate(force, 3) || !is_moderate(torque, 3)) {
        memset(force, 0, sizeof force);
        memset(torque, 0, sizeof torque);
        good = false;
    }
    memcpy(to->force, force, 3 * sizeof *force);
    memcpy(to->force + 3, torque, 3 * sizeof *torque);
    to->gyroscopic = dBodyGetGyroscopicMode(id);
    return good;
}

bool sprag_ode_body_is_finite(dBodyID id)
{
    dMass mass;
    dBodyGetMass(id, &mass);
    bool has_mass = is_finite(&mass.mass, 1);
    for (int i = 0; i < 3; i++) {
        has_mass &= is_finite(mass.I + 4 * i, 3);
    }
    return (has_mass || dBodyIsKinematic(id)) && is_finite(dBodyGetPosition(id), 3) &&
           is_finite(dBodyGetQuaternion(id), 4) && is_finite(dBodyGetLinearVel(id), 3) &&
           is_finite(dBodyGetAngularVel(id), 3);
}

double sprag_ode_inverse_mass(const sprag_body *bodies, const int body[2],
                              const double jacobian[2][6])
{
    double sum = 0, inverse[9], turned[3];
    for (int side = 0; side < 2; side++) {
        const double *J = jacobian[side];
        const sprag_body *of = body[side] == SPRAG_STATIC ? NULL : &bodies[body[side]];
        if (of && of->mass > 0 && invert33(of->inertia, inverse) != 0) {
            mul33(inverse, J + 3, turned);
            sum += dot3(J, J) / of->mass + dot3(J + 3, turned);
        }
    }
    return sum;
}

double sprag_ode_inverse_mass_of_contact(const sprag_body *bodies, const sprag_contact *contact)
{
    double jacobian[2][6];
    for (int side = 0; side < 2; side++) {
        point_jacobian(contact->arm[side], contact->frame[0], jacobian[side]);
    }
    return sprag_ode_inverse_mass(bodies, contact->body, (const double(*)[6])jacobian);
}
