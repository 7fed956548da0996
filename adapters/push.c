// Solution -> velocities, joint feedback, poses by ODE's own dxStepBody, empty accumulators.
#include <string.h>

#include "adapters/ode.h"

void sprag_ode_empty_accumulators(dBodyID body)
{
    dBodySetForce(body, 0, 0, 0);
    dBodySetTorque(body, 0, 0, 0);
}

void sprag_ode_add_feedback(dJointFeedback *to, const double wrench[2][6], bool two)
{
    for (int k = 0; k < 3; k++) {
        to->f1[k] += wrench[0][k];
        to->t1[k] += wrench[0][3 + k];
        if (two) {
            to->f2[k] += wrench[1][k];
            to->t2[k] += wrench[1][3 + k];
        }
    }
}

// The second body's only if there is one, as stock does.
void sprag_ode_clear_feedback(dJointID joint)
{
    dJointFeedback *feedback = dJointGetFeedback(joint);
    if (feedback) {
        memset(feedback->f1, 0, sizeof feedback->f1);
        memset(feedback->t1, 0, sizeof feedback->t1);
        if (dJointGetBody(joint, 0) && dJointGetBody(joint, 1)) {
            memset(feedback->f2, 0, sizeof feedback->f2);
            memset(feedback->t2, 0, sizeof feedback->t2);
        }
    }
}

static void write_feedback(const ode_problem *pulled)
{
    const sprag_problem *problem = &pulled->problem;
    for (int j = 0; j < pulled->island.joints; j++) { // of every joint that has rows
        if (pulled->rows_of[j]) {
            sprag_ode_clear_feedback(pulled->island.joint[j]);
        }
    }
    for (int i = 0; i < problem->contacts; i++) {
        dJointFeedback *feedback = dJointGetFeedback(pulled->contact_joint[i]);
        if (feedback) {
            const sprag_contact *contact = &problem->contact[i];
            double wrench[2][6];
            sprag_contact_wrench(contact, pulled->solution.contact_force[i], wrench);
            sprag_ode_add_feedback(feedback, wrench, contact->body[1] != SPRAG_STATIC);
        }
    }
    for (int i = 0; i < problem->rows; i++) {
        dJointFeedback *feedback = dJointGetFeedback(pulled->row_joint[i]);
        if (feedback) {
            const sprag_row *row = &problem->row[i];
            double wrench[2][6];
            for (int k = 0; k < 6; k++) {
                wrench[0][k] = row->jacobian[0][k] * pulled->solution.row_force[i];
                wrench[1][k] = row->jacobian[1][k] * pulled->solution.row_force[i];
            }
            sprag_ode_add_feedback(feedback, wrench, row->body[1] != SPRAG_STATIC);
        }
    }
}

void sprag_ode_set_velocity(dBodyID body, const double v[6])
{
    dBodySetLinearVel(body, v[0], v[1], v[2]);
    dBodySetAngularVel(body, v[3], v[4], v[5]);
}

// Forces that a moved callback adds are lost, as in stock.
static void integrate(dBodyID body, dReal step)
{
    sprag_ode_step_body(body, step);
    sprag_ode_empty_accumulators(body);
}

void sprag_ode_push_velocities(const ode_problem *pulled, ode_memory *memory)
{
    const ode_island *island = &pulled->island;
    if (pulled->wants_feedback) {
        write_feedback(pulled);
    }
    if (memory) {
        sprag_ode_remember(memory, pulled);
    }
    for (int i = 0; i < island->bodies; i++) {
        sprag_ode_set_velocity(island->body[i], pulled->solution.velocity[i]);
    }
}

void sprag_ode_move(const ode_island *island, dReal step)
{
    enum { GEOM_AHEAD = 2, GEOM_SIZE = 192 };
    for (int i = 0; i < island->bodies; i++) {
        sprag_ode_fetch_ahead((void *const *)island->body, i, island->bodies, ODE_BODY_SIZE);
        if (i + GEOM_AHEAD < island->bodies) {
            sprag_ode_fetch(dBodyGetFirstGeom(island->body[i + GEOM_AHEAD]), GEOM_SIZE);
        }
        integrate(island->body[i], step);
    }
}

void sprag_ode_push(const ode_problem *pulled, ode_memory *memory)
{
    sprag_ode_push_velocities(pulled, memory);
    sprag_ode_move(&pulled->island, pulled->problem.step);
}

bool sprag_ode_step_free(dBodyID id, dWorldID world, dReal step, bool *bad_force)
{
    if (!sprag_ode_body_is_usable(id)) {
        return false;
    }
    sprag_body body;
    dVector3 gravity;
    dWorldGetGravity(world, gravity);
    *bad_force = !sprag_ode_pull_body(&body, id, gravity, step);
    sprag_ode_set_velocity(id, body.free_velocity);
    integrate(id, step);
    return true;
}

void sprag_ode_restore(const ode_problem *pulled)
{
    for (int i = 0; pulled->force && i < pulled->island.bodies; i++) {
        const double *f = pulled->force[i];
        dBodySetForce(pulled->island.body[i], f[0], f[1], f[2]);
        dBodySetTorque(pulled->island.body[i], f[3], f[4], f[5]);
    }
}

void sprag_ode_hold(const ode_island *island)
{
    for (int i = 0; i < island->bodies; i++) {
        sprag_ode_empty_accumulators(island->body[i]);
    }
}
