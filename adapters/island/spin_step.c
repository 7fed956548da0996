// Fast spin: bodies with gyroscopic torque that spin about a principal axis step in a frame that
// follows the axis (spin.h), in place of ODE's torque and integration.
#include <math.h>
#include <string.h>

#include "island.h"
#include "linalg.h"
#include "spin.h"
#include "spinners.h"

// The arm from its centre to a ball joint, to the world, that alone holds it. false: it has none.
static bool finds_arm(dBodyID body, dJointID joint, dVector3 arm)
{
    const int side = dJointGetBody(joint, 1) == body;
    const dBodyID other = dJointGetBody(joint, !side);
    if (dJointGetType(joint) != dJointTypeBall || dBodyGetNumJoints(body) > 1 ||
        (other && !dBodyIsKinematic(other))) {
        return false;
    }
    if (side == 0) {
        dJointGetBallAnchor(joint, arm);
    } else {
        dJointGetBallAnchor2(joint, arm);
    }
    dSubtractVectors3(arm, arm, dBodyGetPosition(body));
    return dSafeNormalize3(arm);
}

// The axis that a ball turns about as a wheel, on a hinge or hinge2, or as a gyroscope.
static bool finds_axle(dBodyID body, const double inertia[9], double axis[3])
{
    if (!sprag_spin_is_round(inertia)) {
        return false;
    }
    for (int i = 0; i < dBodyGetNumJoints(body); i++) {
        const dJointID joint = dBodyGetJoint(body, i);
        const dJointType type = dJointIsEnabled(joint) ? dJointGetType(joint) : dJointTypeNone;
        dVector3 axle;
        if (type == dJointTypeHinge) {
            dJointGetHingeAxis(joint, axle);
        } else if (type == dJointTypeHinge2 && dJointGetBody(joint, 1) == body) {
            dJointGetHinge2Axis2(joint, axle);
        } else if (type == dJointTypeNone || !finds_arm(body, joint, axle)) {
            continue;
        }
        memcpy(axis, axle, 3 * sizeof *axis);
        return true;
    }
    return false;
}

static bool finds_axis(dBodyID body, const sprag_body *pulled, double step, double axis[3])
{
    const dReal *w = dBodyGetAngularVel(body);
    double inertia[9], rotation[9];
    dMass mass;
    if (!(pulled->mass > 0) || !dBodyGetGyroscopicMode(body)) {
        return false;
    }
    dBodyGetMass(body, &mass);
    sprag_ode_pack(mass.I, inertia);
    sprag_ode_pack(dBodyGetRotation(body), rotation);
    return sprag_spin_find(inertia, rotation, w, step, axis) ||
           (finds_axle(body, inertia, axis) && sprag_spin_is_about(axis, w, step));
}

// The free angular velocity without ODE's gyroscopic torque, which has turned w first.
static void without_gyroscope(const sprag_body *body, const dReal *w, double free[3])
{
    for (int k = 0; k < 3; k++) {
        free[k] = body->free_velocity[3 + k] - (body->velocity[3 + k] - w[k]);
    }
}

// Sets what is to be solved in the frame that follows the axis. Nutation fades in contact, for
// contacts push and do not pull.
static bool spin(sprag_body *body, const dReal *w, const double axis[3], bool touched, double step)
{
    double free[3];
    without_gyroscope(body, w, free);
    if (!sprag_spin_free(body->inertia, axis, w, step, touched, free)) {
        return false;
    }
    memcpy(body->velocity + 3, w, sizeof free);
    memcpy(body->free_velocity + 3, free, sizeof free);
    body->by_angle = true;
    return true;
}

void sprag_ode_spin(ode_problem *pulled, sprag_scratch *scratch)
{
    const int bodies = pulled->problem.bodies;
    const double step = pulled->problem.step;
    const double least = sprag_spin_least(step);
    double(*axis)[3] = NULL; // of each body; 0: it does not spin fast
    const bool any = pulled->fastest_turn > least * least;
    for (int i = 0; i < bodies && any && !scratch->failed; i++) {
        const dReal *w = dBodyGetAngularVel(pulled->island.body[i]);
        double found[3];
        if (dot3(w, w) > least * least &&
            finds_axis(pulled->island.body[i], &pulled->body[i], step, found)) {
            axis = axis ? axis : SPRAG_TAKE(scratch, bodies, double[3]);
            if (axis) {
                memcpy(axis[i], found, sizeof found);
            }
        }
    }
    sprag_spin_hold *hold = axis ? SPRAG_TAKE(scratch, bodies, sprag_spin_hold) : NULL;
    pulled->spin = hold ? SPRAG_TAKE_RAW(scratch, bodies, ode_spin) : NULL;
    if (!pulled->spin) {
        return;
    }
    sprag_spin_find_holds(&pulled->problem, (const double(*)[3])axis, hold);
    for (int i = 0; i < bodies; i++) {
        if (dot3(axis[i], axis[i]) > 0 && !hold[i].off &&
            spin(&pulled->body[i], dBodyGetAngularVel(pulled->island.body[i]), axis[i],
                 hold[i].touched, step)) {
            ode_spin *found = &pulled->spin[pulled->spins++];
            *found = (ode_spin){.body = i};
            memcpy(found->axis, axis[i], sizeof found->axis);
        }
    }
}

bool sprag_ode_cap_turn(dBodyID body, double v[6])
{
    const double square = dot3(v + 3, v + 3), most = fabs(dBodyGetMaxAngularSpeed(body));
    if (!(square > most * most)) {
        return false;
    }
    const double share = most / sqrt(square);
    for (int k = 3; k < 6; k++) {
        v[k] *= share;
    }
    return true;
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

// Puts a body to where its velocity and this turn leave its anchor in place. w: rad/s, in the frame
// that follows the axis.
static void follow_anchor(dBodyID body, const ode_spin *spin, const double w[3],
                          const double turn[4], dReal step)
{
    const dReal *at = dBodyGetPosition(body);
    double way[3], after[3];
    cross3(w, spin->anchor, way);
    memcpy(after, spin->anchor, sizeof after);
    sprag_spin_rotate(turn, after);
    for (int k = 0; k < 3; k++) {
        way[k] = step * (way[k] + spin->ahead[k]) - (after[k] - spin->anchor[k]);
    }
    dBodySetPosition(body, at[0] + way[0], at[1] + way[1], at[2] + way[2]);
}

void sprag_ode_turn_with_axis(dBodyID body, const ode_spin *spin, dReal step)
{
    double v[6], w[3], turn[4];
    dQuaternion after;
    sprag_ode_read_velocity(body, v);
    sprag_ode_cap_turn(body, v);
    memcpy(w, v + 3, sizeof w);
    sprag_spin_turn(spin->axis, step, v + 3, turn);
    if (spin->follows) {
        follow_anchor(body, spin, w, turn, step);
    }
    dQMultiply0(after, turn, dBodyGetQuaternion(body));
    put(body, v, after, step);
}

bool sprag_ode_fly(dBodyID id, const sprag_body *body, dReal step)
{
    double v[6], inertia[9];
    dQuaternion q;
    dMass mass;
    const dReal *w = dBodyGetAngularVel(id);
    if (!(body->mass > 0) || !dBodyGetGyroscopicMode(id) ||
        !sprag_spin_tumbles(body->inertia, w, step)) {
        return false;
    }
    memcpy(v, body->free_velocity, 3 * sizeof *v);
    without_gyroscope(body, w, v + 3);
    dBodyGetMass(id, &mass);
    sprag_ode_pack(mass.I, inertia);
    memcpy(q, dBodyGetQuaternion(id), sizeof q);
    sprag_ode_cap_turn(id, v);
    sprag_spin_fly(inertia, step, v + 3, q);
    put(id, v, q, step);
    return true;
}
