// Fast spin: bodies with gyroscopic torque that spin about a principal axis step in a frame that
// follows the axis (spin.h), in place of ODE's torque and integration.
#include <math.h>
#include <string.h>

#include "island.h"
#include "island_constants.h"
#include "linalg.h"
#include "mover.h"
#include "spin.h"

static bool finds_axis(dBodyID body, const sprag_body *pulled, double step, double axis[3])
{
    const double *w = pulled->velocity + 3;
    double inertia[9], rotation[9];
    dMass mass;
    if (!sprag_spin_is_fast(w, step) || !(pulled->mass > 0) || !dBodyGetGyroscopicMode(body)) {
        return false;
    }
    dBodyGetMass(body, &mass);
    sprag_ode_pack(mass.I, inertia);
    sprag_ode_pack(dBodyGetRotation(body), rotation);
    return sprag_spin_find(inertia, rotation, w, step, axis);
}

// A body that may spin, and what acts on it.
typedef struct spinner {
    double axis[3];
    double most;   // m, lever about the axis from which it is held off; 0: it does not spin fast
    bool touched;  // by a contact: nutation fades, as a contact pushes and does not pull
    bool held_off; // at a point off the axis: it swings, tips or rolls
} spinner;

// NULL: no body spins fast, or the scratch has failed.
static spinner *find_spinners(const ode_problem *pulled, sprag_scratch *scratch)
{
    const int bodies = pulled->problem.bodies;
    spinner *of = NULL;
    for (int i = 0; i < bodies && !scratch->failed; i++) {
        const sprag_body *body = &pulled->body[i];
        double axis[3];
        if (finds_axis(pulled->island.body[i], body, pulled->problem.step, axis)) {
            of = of ? of : SPRAG_TAKE(scratch, bodies, spinner);
            if (of) {
                double trace = body->inertia[0] + body->inertia[4] + body->inertia[8];
                memcpy(of[i].axis, axis, sizeof axis);
                of[i].most = spin_off_axis * sqrt(trace / body->mass);
            }
        }
    }
    return of;
}

static bool spins(const spinner *of)
{
    return of->most > 0;
}

static void add_torque(spinner *of, const double torque[3])
{
    of->held_off |= fabs(dot3(of->axis, torque)) > of->most;
}

static void mark_rows(const ode_problem *pulled, spinner *of)
{
    for (int i = 0; i < pulled->problem.rows; i++) {
        const sprag_row *row = &pulled->row[i];
        for (int side = 0; side < 2; side++) {
            const double *J = row->jacobian[side];
            if (row->body[side] != SPRAG_STATIC && dot3(J, J) > 0) {
                add_torque(&of[row->body[side]], J + 3);
            }
        }
    }
}

static void mark_contacts(const ode_problem *pulled, spinner *of)
{
    for (int i = 0; i < pulled->problem.contacts; i++) {
        const sprag_contact *contact = &pulled->contact[i];
        for (int side = 0; side < 2; side++) {
            spinner *body = contact->body[side] != SPRAG_STATIC ? &of[contact->body[side]] : NULL;
            for (int k = 0; k < 3 && body && spins(body); k++) {
                double torque[3];
                cross3(contact->arm[side], contact->frame[k], torque);
                add_torque(body, torque);
                body->touched = true;
            }
        }
    }
}

// The free angular velocity without ODE's gyroscopic torque. false: the inertia is singular.
static bool without_gyroscope(const sprag_body *body, double step, double free[3])
{
    double torque[3], inverse[9], change[3];
    if (invert33(body->inertia, inverse) == 0) {
        return false;
    }
    sprag_gyroscopic_torque(body->inertia, body->velocity + 3, step, torque);
    mul33(inverse, torque, change);
    memcpy(free, body->free_velocity + 3, 3 * sizeof *free);
    add_scaled(free, -step, change, 3);
    return true;
}

// Sets what is to be solved in the frame that follows the axis.
static bool spin(sprag_body *body, const spinner *of, double step)
{
    double free[3];
    if (!without_gyroscope(body, step, free) ||
        !sprag_spin_free(body->inertia, of->axis, body->velocity + 3, step, of->touched, free)) {
        return false;
    }
    memcpy(body->free_velocity + 3, free, sizeof free);
    return true;
}

void sprag_ode_spin(ode_problem *pulled, sprag_scratch *scratch)
{
    spinner *of = find_spinners(pulled, scratch);
    pulled->spin = of ? SPRAG_TAKE(scratch, pulled->problem.bodies, ode_spin) : NULL;
    if (!pulled->spin) {
        return;
    }
    mark_rows(pulled, of);
    mark_contacts(pulled, of);
    for (int i = 0; i < pulled->problem.bodies; i++) {
        if (spins(&of[i]) && !of[i].held_off &&
            spin(&pulled->body[i], &of[i], pulled->problem.step)) {
            ode_spin *found = &pulled->spin[pulled->spins++];
            found->body = i;
            memcpy(found->axis, of[i].axis, sizeof found->axis);
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
    double v[6], inertia[9];
    dQuaternion q;
    dMass mass;
    memcpy(v, body->free_velocity, sizeof v);
    if (!(body->mass > 0) || !dBodyGetGyroscopicMode(id) ||
        !sprag_spin_tumbles(body->inertia, body->velocity + 3, step) ||
        !without_gyroscope(body, step, v + 3)) {
        return false;
    }
    dBodyGetMass(id, &mass);
    sprag_ode_pack(mass.I, inertia);
    memcpy(q, dBodyGetQuaternion(id), sizeof q);
    cap(id, v);
    sprag_spin_fly(inertia, step, v + 3, q);
    put(id, v, q, step);
    return true;
}
