// Bodies in flight: constant forces F move them along a parabola, of which a sub-step of length h
// goes the chord,
//
//     v(h) = v(0) + h F / m,   x(h) = x(0) + h (v(0) + v(h)) / 2
//
// so that speed and place at its end are exact, and with them the energy. Without torque the
// angular momentum stays: the turn of the sub-step is exact too, about one axis instead of a moving
// one. Contacts act until the end of the sub-step and hold there: the bodies that have them move
// with v(h).
#include <math.h>
#include <string.h>

#include "advance_solve.h"
#include "linalg.h"
#include "spin.h"

static void ground(advance_run *run, const advance_problem *p, const int body[2])
{
    for (int side = 0; side < 2; side++) {
        const int b = body[side];
        if (b != SPRAG_STATIC && run->attempt.flies[b]) {
            run->attempt.flies[b] = false;
            memset(run->attempt.lag[b], 0, sizeof run->attempt.lag[b]);
            memcpy(run->attempt.velocity[b], p->solution.velocity[b],
                   sizeof p->solution.velocity[b]);
        }
    }
}

// Torques act in two halves, before and after a turn without torque.
static void tumble(advance_run *run, const advance_problem *p, int i)
{
    const sprag_mover *mover = &run->frame->body[i];
    const double step = run->attempt.length, *w = p->body[i].velocity + 3;
    const double *inverse = run->inverse[i];
    double end[3], kick[3], own[3], turn[4] = {1}, turned[3] = {0}, R[9];
    if (!mover->gyroscopic || !sprag_spin_tumbles(run->inertia[i], w, step) ||
        norm3(w) * step > sprag_spin_farthest_turn) {
        return;
    }
    mul33(inverse, mover->force + 3, kick);
    memcpy(end, w, sizeof end);
    add_scaled(end, 0.5 * step, kick, 3);
    sprag_spin_fly(run->inertia[i], step, end, turn);
    const double sine = norm3(turn + 1);
    add_scaled(turned, sine > 0 ? 2 * atan2(sine, turn[0]) / sine : 0, turn + 1, 3);
    sprag_exponential(turned, R);
    mul33_transposed(R, mover->force + 3, kick);
    mul33(inverse, kick, own);
    mul33(R, own, kick);
    add_scaled(end, 0.5 * step, kick, 3);
    memcpy(run->attempt.velocity[i] + 3, end, sizeof end);
    add_scaled(end, -1 / step, turned, 3);
    memcpy(run->attempt.lag[i] + 3, end, sizeof end);
}

static void fly(advance_run *run, const advance_problem *p, int i)
{
    double *lag = run->attempt.lag[i];
    for (int k = 0; k < 6; k++) {
        lag[k] = 0.5 * (p->body[i].free_velocity[k] - p->body[i].velocity[k]);
    }
    if (run->frame->body[i].capped) {
        memset(lag + 3, 0, 3 * sizeof *lag);
    } else {
        tumble(run, p, i);
    }
}

// Does the flight of a body close the gap of a point sooner than v(h)? Only what flies has a lag.
static bool closes(const advance_run *run, const advance_point *point, const sprag_contact *contact)
{
    const double slower = sprag_contact_rate(contact, *run->attempt.lag, sizeof(double[6]));
    return slower > 0 &&
           (sprag_contact_rate(contact, *run->attempt.velocity, sizeof(double[6])) - slower) *
                   run->attempt.length <
               run->target - point->gap;
}

void advance_set_flight(advance_run *run, const advance_problem *p)
{
    const sprag_frame *frame = run->frame;
    const sprag_contact *contact = p->contact + frame->contacts;
    bool *flies = run->attempt.flies;
    for (int i = 0; i < frame->bodies; i++) {
        flies[i] = frame->body[i].mass > 0 && !run->attempt.failed;
        memset(run->attempt.lag[i], 0, sizeof run->attempt.lag[i]);
    }
    for (int i = 0; i < p->problem.rows; i++) {
        ground(run, p, p->problem.row[i].body);
    }
    for (int i = 0; i < frame->contacts; i++) {
        ground(run, p, p->contact[i].body);
    }
    for (int i = 0; i < run->points.count; i++) {
        if (run->points.point[i].normal_force > advance_rounding_force(p, &contact[i])) {
            ground(run, p, contact[i].body);
        }
    }
    for (int i = 0; i < frame->bodies; i++) {
        if (flies[i]) {
            fly(run, p, i);
        }
    }
    for (bool again = true; again;) { // each round grounds a body
        again = false;
        for (int i = 0; i < run->points.count; i++) {
            if (closes(run, &run->points.point[i], &contact[i])) {
                ground(run, p, contact[i].body);
                again = true;
            }
        }
    }
}
