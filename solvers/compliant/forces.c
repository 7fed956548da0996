// The equations of motion: f at a state, and its jump where a pair begins or ceases to overlap.
#include <math.h>
#include <string.h>

#include "compliant_joints.h"
#include "linalg.h"
#include "mover.h"

static void add_contact_forces(compliant_run *run, int guard, const compliant_contact *c)
{
    for (int side = 0; side < 2; side++) {
        int body = compliant_body(run, guard, side);
        if (body != SPRAG_STATIC) {
            compliant_add_wrench(run, guard, side, c, run->state.wrench[body]);
        }
    }
}

static void add_gyroscopic_torque(const compliant_run *run, int body, const double *w,
                                  double *wrench)
{
    const double *R = run->state.pose[body].rotation;
    double own[3], own_torque[3], torque[3];
    mul33_transposed(R, w, own);
    sprag_gyroscopic_torque(run->frame->body[body].inertia, own, 0, own_torque);
    mul33(R, own_torque, torque);
    add_scaled(wrench + 3, 1, torque, 3);
}

static void set_applied_forces(compliant_run *run, const double *x, int body)
{
    const sprag_mover *mover = &run->frame->body[body];
    double *wrench = run->state.wrench[body];
    memcpy(wrench, mover->force, sizeof mover->force);
    if (run->has_forces) {
        add_scaled(wrench, 1, x + compliant_forces_at(run) + 6 * body, 6);
    }
    if (mover->gyroscopic && mover->mass > 0) {
        add_gyroscopic_torque(run, body, x + COMPLIANT_STATES * body + COMPLIANT_SPIN, wrench);
    }
}

// Rates of a body's state: q' = (0, w) q / 2, accelerations by its wrench.
static void set_rates(const compliant_run *run, const double *x, int body, double *f)
{
    const double *s = x + COMPLIANT_STATES * body, *q = s + COMPLIANT_QUATERNION;
    double *to = f + COMPLIANT_STATES * body, *dq = to + COMPLIANT_QUATERNION, w[3], turned[3];
    memcpy(w, s + COMPLIANT_SPIN, sizeof w);
    sprag_mover_cap(&run->frame->body[body], w);
    memcpy(to, s + COMPLIANT_VELOCITY, 3 * sizeof *to);
    cross3(w, q + 1, turned);
    dq[0] = -dot3(w, q + 1) / 2;
    for (int k = 0; k < 3; k++) {
        dq[1 + k] = (q[0] * w[k] + turned[k]) / 2;
    }
    compliant_accelerate(run, body, run->state.wrench[body], to + COMPLIANT_VELOCITY);
}

void compliant_body_field(compliant_run *run, const double *x, int body, const double *contacts,
                          double *f)
{
    set_applied_forces(run, x, body);
    add_scaled(run->state.wrench[body], 1, contacts, 6);
    set_rates(run, x, body, f);
}

void compliant_field(void *user, const double *x, const double *label, double *f)
{
    compliant_run *run = user;
    const compliant_guards *guards = &run->guards;
    run->budget.work += run->frame->bodies;
    compliant_place(run, x);
    if (run->rows >= 0 && !compliant_evaluate_row_rates(run, x)) {
        f[0] = NAN;
        return;
    }
    for (int i = 0; i < run->frame->bodies; i++) {
        set_applied_forces(run, x, i);
    }
    for (int g = 0; g < guards->pairs; g++) {
        if (label[g] != 0 && compliant_acts(&guards->law[g])) {
            compliant_contact contact;
            compliant_find_contact(run, x, g, COMPLIANT_FORCES, &contact);
            if (isnan(contact.gap.distance)) {
                f[0] = NAN;
                return;
            }
            add_contact_forces(run, g, &contact);
        }
    }
    for (int i = 0; i < run->frame->bodies; i++) {
        set_rates(run, x, i, f);
    }
    if (run->rows >= 0 || run->has_forces) {
        f[COMPLIANT_STATES * run->frame->bodies] = 1;
    }
    if (run->has_forces) {
        memset(f + compliant_forces_at(run), 0, 6 * (size_t)run->frame->bodies * sizeof *f);
    }
    f[0] = compliant_hold(run, x, label, f) ? f[0] : NAN;
}

void compliant_jump(void *user, const double *x, const double *label, int guard, double *change)
{
    compliant_run *run = user;
    compliant_contact contact;
    int n = COMPLIANT_STATES * run->frame->bodies;
    memset(change, 0, (size_t)n * sizeof *change);
    if (!compliant_acts(&run->guards.law[guard])) {
        return;
    }
    compliant_place_pair(run, x, guard);
    compliant_find_contact(run, x, guard, COMPLIANT_FORCES, &contact);
    for (int side = 0; side < 2; side++) {
        int body = compliant_body(run, guard, side);
        if (body != SPRAG_STATIC) {
            memset(run->state.wrench[body], 0, sizeof run->state.wrench[body]);
        }
    }
    add_contact_forces(run, guard, &contact);
    for (int side = 0; side < 2; side++) {
        int body = compliant_body(run, guard, side);
        if (body != SPRAG_STATIC) {
            double *a = change + COMPLIANT_STATES * body + COMPLIANT_VELOCITY;
            compliant_accelerate(run, body, run->state.wrench[body], a);
            for (int k = 0; k < 6; k++) {
                a[k] *= label[guard] == 0 ? 1 : -1;
            }
        }
    }
}
