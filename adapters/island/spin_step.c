// Fast spin: bodies with gyroscopic torque that spin about a principal axis step in a frame that
// follows the axis (spin.h), in place of ODE's torque and integration.
#include <math.h>
#include <string.h>

#include "island.h"
#include "island_constants.h"
#include "linalg.h"
#include "mover.h"
#include "spin.h"

static void pack_rotation(dBodyID body, double rotation[9])
{
    const dReal *R = dBodyGetRotation(body);
    for (int i = 0; i < 3; i++) {
        memcpy(rotation + 3 * i, R + 4 * i, 3 * sizeof *rotation);
    }
}

static void pack_inertia(const dMass *mass, double inertia[9])
{
    for (int i = 0; i < 3; i++) {
        memcpy(inertia + 3 * i, mass->I + 4 * i, 3 * sizeof *inertia);
    }
}

static bool finds_axis(dBodyID body, const sprag_body *pulled, double step, double axis[3])
{
    static const double slowest = 1e-2; // rad a step, below spin.h's
    const double *w = pulled->velocity + 3;
    double inertia[9], rotation[9];
    dMass mass;
    if (!(dot3(w, w) * step * step > slowest * slowest) || !(pulled->mass > 0) ||
        !dBodyGetGyroscopicMode(body)) {
        return false;
    }
    dBodyGetMass(body, &mass);
    pack_inertia(&mass, inertia);
    pack_rotation(body, rotation);
    return sprag_spin_find(inertia, rotation, w, step, axis);
}

static bool is_off(const double axis[3], const double torque[3], double most)
{
    return fabs(dot3(axis, torque)) > most;
}

// Does a joint or a contact hold the body at a point off the axis? Such a body swings, tips or
// rolls.
static bool is_held_off(const ode_problem *pulled, int body, const double axis[3])
{
    const sprag_body *of = &pulled->body[body];
    double trace = of->inertia[0] + of->inertia[4] + of->inertia[8];
    double most = spin_off_axis * sqrt(trace / of->mass), torque[3];
    bool off = false;
    for (int i = 0; i < pulled->problem.rows && !off; i++) {
        const sprag_row *row = &pulled->row[i];
        for (int side = 0; side < 2; side++) {
            const double *J = row->jacobian[side];
            off |= row->body[side] == body && dot3(J, J) > 0 && is_off(axis, J + 3, most);
        }
    }
    for (int i = 0; i < pulled->problem.contacts && !off; i++) {
        const sprag_contact *contact = &pulled->contact[i];
        for (int side = 0; side < 2; side++) {
            for (int k = 0; k < 3 && contact->body[side] == body; k++) {
                cross3(contact->arm[side], contact->frame[k], torque);
                off |= is_off(axis, torque, most);
            }
        }
    }
    return off;
}

// In contact nutation fades: a contact pushes, and does not pull.
static void mark_touched(const ode_problem *pulled, bool *touched)
{
    for (int i = 0; i < pulled->problem.contacts; i++) {
        for (int side = 0; side < 2; side++) {
            int body = pulled->contact[i].body[side];
            if (body != SPRAG_STATIC) {
                touched[body] = true;
            }
        }
    }
}

// Takes back ODE's torque, and sets what is to be solved in the frame that follows the axis.
static bool spin(sprag_body *body, const double axis[3], double step, bool touched)
{
    double gyroscopic[3], inverse[9], change[3], free[3];
    const double *w = body->velocity + 3;
    sprag_gyroscopic_torque(body->inertia, w, step, gyroscopic);
    if (invert33(body->inertia, inverse) == 0) {
        return false;
    }
    mul33(inverse, gyroscopic, change);
    memcpy(free, body->free_velocity + 3, sizeof free);
    add_scaled(free, -step, change, 3);
    if (!sprag_spin_free(body->inertia, axis, w, step, touched, free)) {
        return false;
    }
    memcpy(body->free_velocity + 3, free, sizeof free);
    return true;
}

void sprag_ode_spin(ode_problem *pulled, sprag_scratch *scratch)
{
    const int bodies = pulled->problem.bodies;
    const double step = pulled->problem.step;
    bool *touched = NULL;
    for (int i = 0; i < bodies && !scratch->failed; i++) {
        ode_spin found = {.body = i};
        if (finds_axis(pulled->island.body[i], &pulled->body[i], step, found.axis) &&
            !is_held_off(pulled, i, found.axis)) {
            if (!touched) {
                pulled->spin = SPRAG_TAKE(scratch, bodies, ode_spin);
                touched = SPRAG_TAKE(scratch, bodies, bool);
                if (scratch->failed) {
                    return;
                }
                mark_touched(pulled, touched);
            }
            if (spin(&pulled->body[i], found.axis, step, touched[i])) {
                pulled->spin[pulled->spins++] = found;
            }
        }
    }
}

// Slows v down to the body's greatest angular velocity.
static void cap(dBodyID body, double v[6])
{
    double speed = norm3(v + 3), most = fabs(dBodyGetMaxAngularSpeed(body));
    for (int k = 0; k < 3 && speed > most; k++) {
        v[3 + k] *= most / speed;
    }
}

// The pose and velocity of the body after the step. ODE's own dxStepBody, over no time, follows for
// geoms, moved callback and damping.
static void put(dBodyID body, const double v[6], const dReal q[4], dReal step)
{
    const dReal *at = dBodyGetPosition(body);
    dBodySetPosition(body, at[0] + step * v[0], at[1] + step * v[1], at[2] + step * v[2]);
    dBodySetQuaternion(body, q);
    sprag_ode_set_velocity(body, v);
}

void sprag_ode_turn_with_axis(dBodyID body, const double axis[3], dReal step)
{
    double v[6], turn[4];
    dQuaternion after;
    sprag_ode_read_velocity(body, v);
    cap(body, v);
    sprag_spin_turn(axis, step, v + 3, turn);
    dQMultiply0(after, turn, dBodyGetQuaternion(body));
    put(body, v, after, step);
}

bool sprag_ode_fly(dBodyID id, const sprag_body *body, dReal step)
{
    double v[6], gyroscopic[3], inverse[9], change[3];
    dQuaternion q;
    dMass mass;
    if (!(body->mass > 0) || !dBodyGetGyroscopicMode(id) ||
        !sprag_spin_tumbles(body->inertia, body->velocity + 3, step) ||
        invert33(body->inertia, inverse) == 0) {
        return false;
    }
    sprag_gyroscopic_torque(body->inertia, body->velocity + 3, step, gyroscopic);
    mul33(inverse, gyroscopic, change);
    memcpy(v, body->free_velocity, sizeof v);
    add_scaled(v + 3, -step, change, 3);
    dBodyGetMass(id, &mass);
    double inertia[9];
    pack_inertia(&mass, inertia);
    memcpy(q, dBodyGetQuaternion(id), sizeof q);
    cap(id, v);
    sprag_spin_fly(inertia, step, v + 3, q);
    put(id, v, q, step);
    return true;
}
