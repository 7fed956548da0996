// Joint feedback: all writes to dJointFeedback. ODE's f1, t1 act on the joint's first body and f2,
// t2 on its second; a joint with one body has it as its first, whichever way the program attached
// it. As in stock, f2 and t2 of a joint with one body are left as they are.
#include <math.h>
#include <string.h>

#include "island.h"
#include "linalg.h"

static bool has_two_bodies(dJointID joint)
{
    return dJointGetBody(joint, 0) && dJointGetBody(joint, 1);
}

static void set_side(dJointID joint, int side, const double wrench[6])
{
    dJointFeedback *feedback = dJointGetFeedback(joint);
    if (!feedback || (side == 1 && !has_two_bodies(joint))) {
        return;
    }
    dReal *force = side ? feedback->f2 : feedback->f1, *torque = side ? feedback->t2 : feedback->t1;
    for (int k = 0; k < 3; k++) {
        force[k] = wrench[k];
        torque[k] = wrench[3 + k];
    }
}

void sprag_ode_feedback_set(dJointID joint, const double (*wrench)[6])
{
    set_side(joint, 0, wrench[0]);
    set_side(joint, 1, wrench[1]);
}

void sprag_ode_feedback_clear(dJointID joint)
{
    static const double none[2][6];
    sprag_ode_feedback_set(joint, none);
}

int sprag_ode_feedback_of_island(const ode_problem *pulled, ode_feedback *to)
{
    const sprag_problem *problem = &pulled->problem;
    const sprag_solution *solution = &pulled->solution;
    int count = 0, contact = 0, row = 0; // contacts and rows come in the order of the joints
    for (int j = 0; j < pulled->island.joints; j++) {
        ode_feedback f = {.joint = pulled->island.joint[j], .body = {-1, -1}};
        if (contact < problem->contacts && pulled->contact_joint[contact] == f.joint) {
            memcpy(f.body, problem->contact[contact].body, sizeof f.body);
            sprag_contact_wrench(&problem->contact[contact], solution->contact_force[contact],
                                 f.wrench);
            contact++;
        }
        for (; row < problem->rows && pulled->row_joint[row] == f.joint; row++) {
            memcpy(f.body, problem->row[row].body, sizeof f.body);
            for (int side = 0; side < 2; side++) {
                add_scaled(f.wrench[side], solution->row_force[row],
                           problem->row[row].jacobian[side], 6);
            }
        }
        if (pulled->rows_of[j] && dJointGetFeedback(f.joint)) {
            to[count++] = f;
        }
    }
    return count;
}

// A feedback that several joints share: finds the joints of the body that comes last in the island.
// Until the forces are written, the feedback itself has the index of that body.
static void find_last_body(ode_feedback *feedback, int count, int side)
{
    static const double none[6] = {-1};
    for (int i = 0; i < count; i++) {
        set_side(feedback[i].joint, side, none);
    }
    for (int i = 0; i < count; i++) {
        const dJointFeedback *shared = dJointGetFeedback(feedback[i].joint);
        double last = side ? shared->f2[0] : shared->f1[0];
        double body[6] = {fmax(feedback[i].body[side], last)};
        set_side(feedback[i].joint, side, body);
    }
    for (int i = 0; i < count; i++) {
        const dJointFeedback *shared = dJointGetFeedback(feedback[i].joint);
        double last = side ? shared->f2[0] : shared->f1[0];
        feedback[i].of_last_body[side] = feedback[i].body[side] == last;
    }
}

static void write_of_last_body(const ode_feedback *f)
{
    for (int side = 0; side < 2; side++) {
        if (f->of_last_body[side]) {
            set_side(f->joint, side, f->wrench[side]);
        }
    }
}

// dWorldStep writes feedback body after body, for each body its contacts in reverse order and then
// its other joints. (It orders joints with bounded and unbounded rows in other ways too.)
static void write_body_after_body(ode_feedback *feedback, int count)
{
    find_last_body(feedback, count, 0);
    find_last_body(feedback, count, 1);
    for (int i = count - 1; i >= 0; i--) {
        if (dJointGetType(feedback[i].joint) == dJointTypeContact) {
            write_of_last_body(&feedback[i]);
        }
    }
    for (int i = 0; i < count; i++) {
        if (dJointGetType(feedback[i].joint) != dJointTypeContact) {
            write_of_last_body(&feedback[i]);
        }
    }
}

void sprag_ode_push_feedback(ode_feedback *feedback, int count, bool quick)
{
    if (!quick) {
        write_body_after_body(feedback, count);
        return;
    }
    for (int i = 0; i < count; i++) {
        sprag_ode_feedback_set(feedback[i].joint, (const double(*)[6])feedback[i].wrench);
    }
}
