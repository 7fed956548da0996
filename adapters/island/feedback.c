// Joint feedback: all writes to dJointFeedback. ODE's f1, t1 act on the joint's first body and f2,
// t2 on its second; a joint with one body has it as its first, whichever way the program attached
// it. As in stock, f2 and t2 of a joint with one body are left as they are.
#include <math.h>
#include <string.h>

#include "island.h"
#include "layout.h"
#include "linalg.h"

static int bodies_of(dJointID joint)
{
    const ode_layout *layout = sprag_ode_layout();
    return (sprag_ode_pointer_at(joint, layout->body[0]) != NULL) +
           (sprag_ode_pointer_at(joint, layout->body[1]) != NULL);
}

static bool is_contact(const ode_feedback *f)
{
    return dJointGetType(f->joint) == dJointTypeContact;
}

static dReal *force_of(dJointFeedback *feedback, int side)
{
    return side ? feedback->f2 : feedback->f1;
}

static void set_side(dJointFeedback *feedback, int side, const double wrench[6])
{
    dReal *torque = side ? feedback->t2 : feedback->t1;
    memcpy(force_of(feedback, side), wrench, 3 * sizeof *wrench);
    memcpy(torque, wrench + 3, 3 * sizeof *wrench);
}

void sprag_ode_feedback_set(dJointID joint, const double (*wrench)[6])
{
    dJointFeedback *feedback = dJointGetFeedback(joint);
    if (feedback) {
        set_side(feedback, 0, wrench[0]);
        if (bodies_of(joint) == 2) {
            set_side(feedback, 1, wrench[1]);
        }
    }
}

void sprag_ode_feedback_clear(dJointID joint)
{
    static const double none[2][6];
    sprag_ode_feedback_set(joint, none);
}

static void add_contact(ode_feedback *f, const sprag_contact *contact, const double force[6])
{
    double wrench[2][6];
    memcpy(f->body, contact->body, sizeof f->body);
    sprag_contact_wrench(contact, force, wrench);
    add_scaled(f->wrench[0], 1, wrench[0], 12);
}

// Sets what add_contact would make of zeros: no force is -0.
static void set_contact(ode_feedback *f, const sprag_contact *contact, const double force[6])
{
    memcpy(f->body, contact->body, sizeof f->body);
    sprag_contact_wrench(contact, force, f->wrench);
    for (int k = 0; k < 6; k++) {
        f->wrench[0][k] += 0.0;
        f->wrench[1][k] += 0.0;
    }
}

static void add_row(ode_feedback *f, const sprag_row *row, double force)
{
    memcpy(f->body, row->body, sizeof f->body);
    for (int side = 0; side < 2; side++) {
        add_scaled(f->wrench[side], force, row->jacobian[side], 6);
    }
}

int sprag_ode_feedback_of_island(const ode_problem *pulled, ode_feedback *to)
{
    const sprag_problem *p = &pulled->problem;
    const sprag_solution *solution = &pulled->solution;
    const ode_layout *layout = sprag_ode_layout();
    ode_feedback ignored, *f;
    int count = 0, contact = 0, row = 0; // the first contacts, and rows, are in the joints' order
    for (int j = 0; j < pulled->island.joints; j++) {
        dJointID joint = pulled->island.joint[j];
        bool is_wanted = pulled->rows_of[j] && *sprag_ode_feedback_of(layout, joint);
        f = is_wanted ? &to[count++] : &ignored;
        f->joint = joint;
        if (contact < p->contacts && pulled->contact_joint[contact] == joint) {
            set_contact(f, &p->contact[contact], solution->contact_force[contact]);
            contact++;
        } else {
            f->body[0] = f->body[1] = -1;
            memset(f->wrench, 0, sizeof f->wrench);
        }
        for (; row < p->rows && pulled->row_joint[row] == joint; row++) {
            add_row(f, &p->row[row], solution->row_force[row]);
        }
    }
    for (; contact < p->contacts; contact++) { // those of touches.c
        for (f = to; f < to + count; f++) {
            if (f->joint == pulled->contact_joint[contact]) {
                add_contact(f, &p->contact[contact], solution->contact_force[contact]);
            }
        }
    }
    return count;
}

// A moved callback of an island before may have taken feedback away.
static void find_feedback(ode_feedback *f)
{
    f->to = *sprag_ode_feedback_of(sprag_ode_layout(), f->joint);
    f->sides = f->to ? bodies_of(f->joint) : 0;
}

// A feedback that several joints share: finds the joints of the body that comes last in the island.
// Until the forces are written, the feedback itself has the index of that body.
static void find_last_body(ode_feedback *feedback, int count, int side)
{
    for (ode_feedback *f = feedback; f < feedback + count; f++) {
        if (side < f->sides) {
            force_of(f->to, side)[0] = -1;
        }
    }
    for (ode_feedback *f = feedback; f < feedback + count; f++) {
        if (side < f->sides) {
            dReal *last = force_of(f->to, side);
            last[0] = fmax(f->body[side], last[0]);
        }
    }
    for (ode_feedback *f = feedback; f < feedback + count; f++) {
        f->of_last_body[side] = side < f->sides && f->body[side] == force_of(f->to, side)[0];
    }
}

static void write_of_last_body(const ode_feedback *f)
{
    for (int side = 0; side < 2; side++) {
        if (f->of_last_body[side]) {
            set_side(f->to, side, f->wrench[side]);
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
        if (is_contact(&feedback[i])) {
            write_of_last_body(&feedback[i]);
        }
    }
    for (int i = 0; i < count; i++) {
        if (!is_contact(&feedback[i])) {
            write_of_last_body(&feedback[i]);
        }
    }
}

static void write_one_by_one(const ode_feedback *feedback, int count)
{
    for (const ode_feedback *f = feedback; f < feedback + count; f++) {
        for (int side = 0; side < f->sides; side++) {
            set_side(f->to, side, f->wrench[side]);
        }
    }
}

void sprag_ode_push_feedback(ode_feedback *feedback, int count, bool quick)
{
    for (int i = 0; i < count; i++) {
        find_feedback(&feedback[i]);
    }
    if (quick) {
        write_one_by_one(feedback, count);
    } else {
        write_body_after_body(feedback, count);
    }
}
