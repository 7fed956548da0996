// Joints on chords. A sub-step turns a body by an angle, and a point of it goes along a circle.
// Rows that hold a point are solved along the tangents of these circles, so that joints would open
// by step^2 w^2 r / 2, and what mends that brakes what swings. So these rows ask for the chords.
// The velocity of a body on a circle is then that of its chord: the force that turns it from one
// chord to the next points along the lever, and turns nothing (SHAKE).
//
// The turn of the sub-step is not known before the solve; that before it is taken. Where turns
// change, and where bodies begin to turn, joints then do work. What the chords win is taken back
// (energy.c).
#include <string.h>

#include "advance_solve.h"
#include "linalg.h"

// The axis of a fast spin follows the rest of the turn alone.
static void hold_on_chord(const advance_run *run, const advance_problem *p, sprag_row *row,
                          int side)
{
    const int b = row->body[side];
    const double *axis = run->attempt.axis[b];
    double lever[3], turn[3], bend[3];
    memcpy(turn, p->body[b].velocity + 3, sizeof turn);
    add_scaled(turn, -dot3(axis, turn), axis, 3);
    sprag_rows_lever(row, side, lever);
    sprag_bend(turn, lever, p->problem.step, p->body[b].by_angle, bend);
    for (int k = 0; k < 3; k++) {
        row[k].bias -= dot3(row[k].jacobian[side], bend);
    }
}

void advance_hold_on_chords(const advance_run *run, const advance_problem *p)
{
    for (int i = 0; i < p->problem.rows; i++) {
        for (int side = 0; side < 2 && p->row[i].holds_point; side++) {
            if (p->row[i].body[side] != SPRAG_STATIC) {
                hold_on_chord(run, p, &p->row[i], side);
            }
        }
    }
}

void advance_weigh_chords(advance_run *run, const advance_problem *p)
{
    memset(run->attempt.chords, 0, (size_t)run->frame->bodies * sizeof *run->attempt.chords);
    for (int i = 0; i < run->rows.count; i++) {
        const sprag_row *row = &p->row[i];
        const int *body = row->body;
        const bool second = body[0] == SPRAG_STATIC || !(run->frame->body[body[0]].mass > 0);
        const int b = body[second];
        if (!row->drives && b != SPRAG_STATIC) {
            advance_chords *of = &run->attempt.chords[run->assembly[b]];
            const double impulse = p->problem.step * p->solution.row_force[i];
            of->work += 0.5 * impulse * advance_row_rate(row, p->body->velocity, sizeof *p->body);
            of->work += 0.5 * impulse *
                        advance_row_rate(row, *p->solution.velocity, sizeof *p->solution.velocity);
            of->ahead += 0.5 * impulse * (row->bias - run->rows.row[i].bias);
        }
    }
}
