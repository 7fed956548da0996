// The equations of motion, guards and rows of Dh, at a state.
#include <math.h>
#include <string.h>

#include "compliant_run.h"
#include "kinematics.h"
#include "mover.h"

// ---- f

static void add_force(compliant_run *run, int guard, const compliant_contact *c)
{
    for (int side = 0; side < 2; side++) {
        int body = compliant_body(run, guard, side);
        if (body != SPRAG_STATIC) {
            compliant_add_wrench(run, guard, side, c, run->wrench[body]);
        }
    }
}

static void add_gyroscopic(const compliant_run *run, int body, const double *spin, double *wrench)
{
    const double *R = run->pose[body].rotation;
    double own[3], own_torque[3], torque[3];
    mul33_transposed(R, spin, own);
    sprag_gyroscopic_torque(run->frame->body[body].inertia, own, 0, own_torque);
    mul33(R, own_torque, torque);
    add_scaled(wrench + 3, 1, torque, 3);
}

static void field(void *user, const double *x, const double *label, double *f)
{
    compliant_run *run = user;
    run->work += run->frame->bodies;
    compliant_place(run, x);
    if (run->rows >= 0 && !compliant_ask_rows(run, x)) {
        f[0] = NAN;
        return;
    }
    for (int i = 0; i < run->frame->bodies; i++) {
        const sprag_mover *body = &run->frame->body[i];
        memcpy(run->wrench[i], body->force, sizeof body->force);
        if (body->gyroscopic && body->mass > 0) {
            add_gyroscopic(run, i, x + COMPLIANT_STATES * i + COMPLIANT_SPIN, run->wrench[i]);
        }
    }
    for (int g = 0; g < run->guards; g++) {
        if (label[g] != 0 && compliant_acts(&run->law[g])) {
            compliant_contact contact;
            run->work += run->cost[g];
            compliant_touch(run, x, g, COMPLIANT_FORCES, &contact);
            if (isnan(contact.gap.distance)) {
                f[0] = NAN;
                return;
            }
            add_force(run, g, &contact);
        }
    }
    for (int i = 0; i < run->frame->bodies; i++) {
        const double *s = x + COMPLIANT_STATES * i, *q = s + COMPLIANT_QUATERNION;
        double *to = f + COMPLIANT_STATES * i, *dq = to + COMPLIANT_QUATERNION, w[3], turned[3];
        memcpy(w, s + COMPLIANT_SPIN, sizeof w);
        sprag_mover_cap(&run->frame->body[i], w);
        memcpy(to, s + COMPLIANT_VELOCITY, 3 * sizeof *to);
        cross3(w, q + 1, turned);
        dq[0] = -dot3(w, q + 1) / 2;
        for (int k = 0; k < 3; k++) {
            dq[1 + k] = (q[0] * w[k] + turned[k]) / 2;
        }
        compliant_accelerate(run, i, run->wrench[i], to + COMPLIANT_VELOCITY);
    }
    if (run->rows >= 0) {
        f[COMPLIANT_STATES * run->frame->bodies] = 1;
        f[0] = compliant_constrain(run, x, label + run->guards, f) ? f[0] : NAN;
    }
}

// ---- guards

// Of all guards at once a lower bound of the gap will do, where that is outside of the band.
static double past(compliant_run *run, const double *x, int guard, bool exact)
{
    const double glance = 0.05, alone = 0.5; // at a lower bound; without forces
    sprag_gap gap;
    run->work += glance;
    double least = exact ? 0 : compliant_least_gap(run, guard);
    if (least > 2 * run->eps[guard]) {
        return -least;
    }
    run->work += alone * run->cost[guard];
    compliant_place_pair(run, x, guard);
    bool found = compliant_find_gap(run, guard, run->reach, 0, NULL, &gap, NULL);
    return !found ? NAN : gap.beyond ? -run->reach : -gap.distance;
}

static void guard(void *user, const double *x, const int *which, int count, double *h)
{
    compliant_run *run = user;
    int first = which ? 0 : run->guards; // of the stops
    if (!which) {
        compliant_measure(run, x);
    }
    if (run->stops > 0) {
        compliant_place(run, x);
    }
    for (int i = 0; i < count; i++) {
        int g = which ? which[i] : i, stop = g - run->guards;
        if (stop >= 0 && which) {
            h[i] = NAN;
            compliant_past_stops(run, x, &stop, 1, &h[i]);
        } else if (stop < 0) {
            h[i] = past(run, x, g, which != NULL);
        }
    }
    if (!which && run->stops > 0 && !compliant_past_stops(run, x, NULL, run->stops, h + first)) {
        h[first] = NAN;
    }
}

// The gap grows with the velocities of the nearest points along the normal; a change of q turns by
// twice the vector part of dq conj(q) / |q|^2.
static int row(void *user, const double *x, int guard, int *column, double *value)
{
    compliant_run *run = user;
    sprag_gap gap;
    int entries = 0;
    if (guard >= run->guards) {
        compliant_place(run, x);
        return compliant_stop_row(run, x, guard - run->guards, column, value);
    }
    compliant_place_pair(run, x, guard);
    if (!compliant_find_gap(run, guard, INFINITY, 0, NULL, &gap, NULL)) {
        return -1;
    }
    for (int side = 0; side < 2; side++) {
        int body = compliant_body(run, guard, side);
        if (body == SPRAG_STATIC) {
            continue;
        }
        const double *q = x + COMPLIANT_STATES * body + COMPLIANT_QUATERNION;
        double sign = side ? 1 : -1, arm[3], J[6]; // h = -gap
        subtract3(gap.point[side], run->pose[body].position, arm);
        point_jacobian(arm, gap.normal, J);
        for (int k = 0; k < 7; k++) {
            column[entries + k] = COMPLIANT_STATES * body + k;
        }
        for (int k = 0; k < 3; k++) {
            value[entries + k] = sign * J[k];
        }
        compliant_turn_row(q, J + 3, sign, value + entries + 3);
        entries += 7;
    }
    return entries;
}

static void jump(void *user, const double *x, const double *label, int guard, double *change)
{
    compliant_run *run = user;
    compliant_contact contact;
    int n = COMPLIANT_STATES * run->frame->bodies;
    memset(change, 0, (size_t)n * sizeof *change);
    if (!compliant_acts(&run->law[guard])) {
        return;
    }
    compliant_place_pair(run, x, guard);
    compliant_touch(run, x, guard, COMPLIANT_FORCES, &contact);
    for (int side = 0; side < 2; side++) {
        int body = compliant_body(run, guard, side);
        if (body != SPRAG_STATIC) {
            memset(run->wrench[body], 0, sizeof run->wrench[body]);
        }
    }
    add_force(run, guard, &contact);
    for (int side = 0; side < 2; side++) {
        int body = compliant_body(run, guard, side);
        if (body != SPRAG_STATIC) {
            double *a = change + COMPLIANT_STATES * body + COMPLIANT_VELOCITY;
            compliant_accelerate(run, body, run->wrench[body], a);
            for (int k = 0; k < 6; k++) {
                a[k] *= label[guard] == 0 ? 1 : -1;
            }
        }
    }
}

sprag_ess_problem compliant_problem(compliant_run *run)
{
    int states = COMPLIANT_STATES * run->frame->bodies + (run->rows >= 0);
    return (sprag_ess_problem){.states = states,
                               .guards = run->guards + run->stops,
                               .user = run,
                               .field = field,
                               .guard = guard,
                               .row = row,
                               .row_entries = states < 14 ? states : 14,
                               .jump = run->rows >= 0 ? NULL : jump,
                               .eps = run->eps,
                               .two_way = run->two_way,
                               .terminal = run->last,
                               .should_stop = compliant_is_enough};
}
