#include "spinners.h"

#include <math.h>
#include <string.h>

#include "linalg.h"
#include "mover.h"
#include "spin.h"

// Relative to the body's radius of gyration: a hold farther from the axis lets it swing or tip. The
// tip of a top is within. So is the rim of a wheel, whose contacts push towards its axis: their
// friction alone has a torque about it, and their place does not turn with the wheel.
static const double off_axis = 0.05;

static bool finds_axis(const sprag_mover *mover, const sprag_body *body, double step,
                       double frame_step, double axis[3])
{
    const double *w = body->velocity + 3;
    return mover->gyroscopic && mover->mass > 0 && !mover->capped &&
           norm3(w) * step < sprag_spin_farthest_turn &&
           sprag_spin_find(mover->inertia, mover->pose.rotation, w, frame_step, axis);
}

bool sprag_spin_is_off_axis(double mass, const double I[9], double torque)
{
    return torque * torque * mass > off_axis * off_axis * (I[0] + I[4] + I[8]);
}

static bool spins(const double (*axis)[3], int body)
{
    return body != SPRAG_STATIC && dot3(axis[body], axis[body]) > 0;
}

static void add_torque(const sprag_body *body, const double axis[3], const double torque[3],
                       sprag_spin_hold *of)
{
    of->held = true;
    of->off |= sprag_spin_is_off_axis(body->mass, body->inertia, dot3(axis, torque));
}

void sprag_spin_find_holds(const sprag_problem *problem, const double (*axis)[3],
                           sprag_spin_hold *of)
{
    bool spin[2] = {false, false}; // the bodies of a joint's rows
    for (int i = 0; i < problem->rows; i++) {
        const sprag_row *row = &problem->row[i];
        if (i == 0 || memcmp(row->body, row[-1].body, sizeof row->body) != 0) {
            spin[0] = spins(axis, row->body[0]), spin[1] = spins(axis, row->body[1]);
        }
        for (int side = 0; side < 2; side++) {
            const double *J = row->jacobian[side];
            const int b = row->body[side];
            if (spin[side] && dot3(J, J) > 0) {
                add_torque(&problem->body[b], axis[b], J + 3, &of[b]);
            }
        }
    }
    for (int i = 0; i < problem->contacts; i++) {
        const sprag_contact *contact = &problem->contact[i];
        for (int side = 0; side < 2; side++) {
            int b = contact->body[side];
            if (spins(axis, b)) {
                double torque[3];
                cross3(contact->arm[side], contact->frame[0], torque);
                add_torque(&problem->body[b], axis[b], torque, &of[b]);
                of[b].touched = true;
            }
        }
    }
}

// false: such a step has no solution.
static bool follow_axis(const sprag_mover *mover, const double axis[3], bool damped, double step,
                        sprag_body *body)
{
    double inverse[9], turned[3], free[3];
    if (invert33(body->inertia, inverse) == 0) {
        return false;
    }
    mul33(inverse, mover->force + 3, turned);
    memcpy(free, body->velocity + 3, sizeof free);
    add_scaled(free, step, turned, 3);
    if (!sprag_spin_free(body->inertia, axis, body->velocity + 3, step, damped, free)) {
        return false;
    }
    memcpy(body->free_velocity + 3, free, sizeof free);
    return true;
}

void sprag_spin_held(const sprag_mover *mover, double frame_step, const sprag_problem *problem,
                     sprag_body *body, double (*axis)[3], sprag_scratch *scratch)
{
    int spinning = 0;
    for (int i = 0; i < problem->bodies; i++) {
        if (finds_axis(&mover[i], &body[i], problem->step, frame_step, axis[i])) {
            spinning++;
        } else {
            memset(axis[i], 0, sizeof axis[i]);
        }
    }
    sprag_spin_hold *of =
        spinning > 0 ? SPRAG_TAKE(scratch, problem->bodies, sprag_spin_hold) : NULL;
    if (!of) {
        return;
    }
    sprag_spin_find_holds(problem, (const double(*)[3])axis, of);
    for (int i = 0; i < problem->bodies; i++) {
        if (spins((const double(*)[3])axis, i) &&
            (!of[i].held || of[i].off ||
             !follow_axis(&mover[i], axis[i], of[i].touched, problem->step, &body[i]))) {
            memset(axis[i], 0, sizeof axis[i]);
        }
    }
}

void sprag_spin_rate(const double axis[3], double step, double w[3], double rate[3])
{
    double turn[4];
    sprag_spin_turn(axis, step, w, turn);
    double sine = norm3(turn + 1), speed = 2 * atan2(sine, turn[0]) / step;
    for (int k = 0; k < 3; k++) {
        rate[k] = sine > 0 ? speed / sine * turn[1 + k] : 0;
    }
}
