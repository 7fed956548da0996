// Joint feedback: all writes to dJointFeedback. ODE's f1, t1 act on the joint's first body and f2,
// t2 on its second; a joint with one body has it as its first, whichever way the program attached
// it. As in stock, f2 and t2 of a joint with one body are left as they are.
#include <string.h>

#include "island.h"
#include "linalg.h"

static bool has_two_bodies(dJointID joint)
{
    return dJointGetBody(joint, 0) && dJointGetBody(joint, 1);
}

void sprag_ode_feedback_clear(dJointID joint)
{
    dJointFeedback *feedback = dJointGetFeedback(joint);
    if (!feedback) {
        return;
    }
    memset(feedback->f1, 0, sizeof feedback->f1);
    memset(feedback->t1, 0, sizeof feedback->t1);
    if (has_two_bodies(joint)) {
        memset(feedback->f2, 0, sizeof feedback->f2);
        memset(feedback->t2, 0, sizeof feedback->t2);
    }
}

void sprag_ode_feedback_add(dJointID joint, const double wrench[2][6])
{
    dJointFeedback *feedback = dJointGetFeedback(joint);
    if (!feedback) {
        return;
    }
    bool two = has_two_bodies(joint);
    for (int k = 0; k < 3; k++) {
        feedback->f1[k] += wrench[0][k];
        feedback->t1[k] += wrench[0][3 + k];
        if (two) {
            feedback->f2[k] += wrench[1][k];
            feedback->t2[k] += wrench[1][3 + k];
        }
    }
}

void sprag_ode_feedback_add_pair(dJointID joint, dBodyID side_0, const double wrench[2][6])
{
    dBodyID body[2];
    bool reversed;
    double turned[2][6];
    sprag_ode_joint_bodies(joint, body, &reversed);
    memcpy(turned[0], wrench[body[0] != side_0], sizeof turned[0]);
    memcpy(turned[1], wrench[body[0] == side_0], sizeof turned[1]);
    sprag_ode_feedback_add(joint, (const double(*)[6])turned);
}

int sprag_ode_feedback_of_island(const ode_problem *pulled, ode_feedback *to)
{
    const sprag_problem *problem = &pulled->problem;
    const sprag_solution *solution = &pulled->solution;
    int count = 0, contact = 0, row = 0; // contacts and rows come in the order of the joints
    for (int j = 0; j < pulled->island.joints; j++) {
        ode_feedback f = {.joint = pulled->island.joint[j]};
        if (contact < problem->contacts && pulled->contact_joint[contact] == f.joint) {
            sprag_contact_wrench(&problem->contact[contact], solution->contact_force[contact],
                                 f.wrench);
            contact++;
        }
        for (; row < problem->rows && pulled->row_joint[row] == f.joint; row++) {
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

void sprag_ode_push_feedback(const ode_feedback *feedback, int count)
{
    for (int i = 0; i < count; i++) {
        sprag_ode_feedback_clear(feedback[i].joint);
    }
    for (int i = 0; i < count; i++) {
        sprag_ode_feedback_add(feedback[i].joint, feedback[i].wrench);
    }
}
