// Solution -> velocities, joint feedback, poses by ODE's own dxStepBody, empty accumulators.
#include <string.h>

#include "adapters/ode.h"

static void empty_accumulators(dBodyID body)
{
    dBodySetForce(body, 0, 0, 0);
    dBodySetTorque(body, 0, 0, 0);
}

static void add_feedback(dJointFeedback *to, const double wrench[2][6], bool two)
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

// Stock writes the feedback of every joint that has rows; the second body's only if there is one.
static void clear_feedback(const ode_problem *pulled)
{
    const ode_island *island = &pulled->island;
    for (int j = 0; j < island->joints; j++) {
        dJointFeedback *feedback = dJointGetFeedback(island->joint[j]);
        if (feedback && pulled->rows_of[j]) {
            bool two = dJointGetBody(island->joint[j], 0) && dJointGetBody(island->joint[j], 1);
            memset(feedback->f1, 0, sizeof feedback->f1);
            memset(feedback->t1, 0, sizeof feedback->t1);
            if (two) {
                memset(feedback->f2, 0, sizeof feedback->f2);
                memset(feedback->t2, 0, sizeof feedback->t2);
            }
        }
    }
}

static void write_feedback(const ode_problem *pulled)
{
    const sprag_problem *problem = &pulled->problem;
    clear_feedback(pulled);
    for (int i = 0; i < problem->contacts; i++) {
        dJointFeedback *feedback = dJointGetFeedback(pulled->contact_joint[i]);
        if (feedback) {
            const sprag_contact *contact = &problem->contact[i];
            double wrench[2][6];
            sprag_contact_wrench(contact, pulled->solution.contact_force[i], wrench);
            add_feedback(feedback, wrench, contact->body[1] != SPRAG_STATIC);
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
            add_feedback(feedback, wrench, row->body[1] != SPRAG_STATIC);
        }
    }
}

static void remember_forces(const ode_problem *pulled, ode_memory *memory)
{
    const sprag_problem *problem = &pulled->problem;
    for (int i = 0; i < problem->contacts; i++) {
        sprag_ode_remember_contact(memory, pulled->contact_joint[i], &problem->contact[i],
                                   pulled->solution.contact_force[i]);
    }
    for (int i = 0, row = 0; i < problem->rows; i++) {
        bool first = i == 0 || pulled->row_joint[i] != pulled->row_joint[i - 1];
        row = first ? 0 : row + 1;
        sprag_ode_remember_row(memory, pulled->row_joint[i], row, pulled->solution.row_force[i]);
    }
}

static void set_velocity(dBodyID body, const double *v)
{
    dBodySetLinearVel(body, v[0], v[1], v[2]);
    dBodySetAngularVel(body, v[3], v[4], v[5]);
}

// Forces that a moved callback adds are lost, as in stock.
static void integrate(dBodyID body, dReal step)
{
    sprag_ode_step_body(body, step);
    empty_accumulators(body);
}

void sprag_ode_push(const ode_problem *pulled, ode_memory *memory)
{
    const ode_island *island = &pulled->island;
    write_feedback(pulled);
    if (memory) {
        remember_forces(pulled, memory);
    }
    for (int i = 0; i < island->bodies; i++) {
        set_velocity(island->body[i], pulled->solution.velocity[i]);
    }
    for (int i = 0; i < island->bodies; i++) {
        integrate(island->body[i], pulled->problem.step);
    }
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
    set_velocity(id, body.free_velocity);
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
        empty_accumulators(island->body[i]);
    }
}
