// Joints on chords. A sub-step turns a body by an angle, and a point of it goes along a circle.
// Rows that hold a point are solved along the tangents of these circles, so that joints would open
// by step^2 w^2 r / 2, and what mends that brakes what swings. So these rows ask for the chords.
// The velocity of a body on a circle is then that of its chord: the force that turns it from one
// chord to the next points along the lever, and turns nothing (SHAKE).
//
// Contacts see points go along tangents: what pressed on one that goes along a chord would be
// driven by it. So assemblies that may touch something keep the tangents, as do bodies that spin
// fast, whose turn beside the spin goes round with it.
//
// The turn of the sub-step is not known before the solve; that before it is taken. Where turns
// change, and where bodies begin to turn, joints then do work. What the chords win is taken back
// (energy.c).
#include <math.h>
#include <string.h>

#include "advance_solve.h"
#include "linalg.h"

static void hold_on_chord(const advance_problem *p, sprag_row *row, int side)
{
    const int b = row->body[side];
    double lever[3], bend[3];
    sprag_rows_lever(row, 3, side, lever);
    sprag_bend(p->body[b].velocity + 3, lever, p->problem.step, p->body[b].by_angle, bend);
    for (int k = 0; k < 3; k++) {
        row[k].bias -= dot3(row[k].jacobian[side], bend);
    }
}

// May the row go on chords? What touches a kinematic body does not count: no force changes how it
// goes.
static bool is_free(const advance_run *run, const sprag_row *row)
{
    bool kept = !row->holds_point;
    for (int side = 0; side < 2; side++) {
        const int b = row->body[side];
        kept |= !advance_stays(run, b) && run->attempt.chords[run->assembly[b]].kept;
    }
    return !kept;
}

static void set_chords(const advance_run *run, const advance_problem *p)
{
    for (int i = 0; i < run->rows.count; i++) {
        p->row[i].bias = run->rows.row[i].bias;
    }
    for (int i = 0; i < run->rows.count; i++) {
        for (int side = 0; side < 2 && is_free(run, &p->row[i]); side++) {
            const int b = p->row[i].body[side];
            if (b != SPRAG_STATIC && !advance_spins(run, b)) {
                hold_on_chord(p, &p->row[i], side);
            }
        }
    }
}

void advance_hold_on_chords(advance_run *run, const advance_problem *p)
{
    memset(run->attempt.chords, 0, (size_t)run->frame->bodies * sizeof *run->attempt.chords);
    for (int i = 0; i < p->problem.contacts && run->rows.count > 0; i++) {
        for (int side = 0; side < 2; side++) {
            const int b = p->contact[i].body[side];
            if (b != SPRAG_STATIC) {
                run->attempt.chords[run->assembly[b]].kept = true;
            }
        }
    }
    set_chords(run, p);
}

void advance_weigh_chords(advance_run *run, const advance_problem *p)
{
    const int bodies = run->rows.count > 0 ? run->frame->bodies : 0;
    for (int i = 0; i < bodies; i++) {
        run->attempt.chords[i] = (advance_chords){.kept = run->attempt.chords[i].kept};
    }
    for (int i = 0; i < bodies; i++) {
        const double *v = p->solution.velocity[i];
        run->attempt.chords[run->assembly[i]].energy += 0.5 * advance_product(run, i, v, v);
    }
    for (int i = 0; i < run->rows.count; i++) {
        const sprag_row *row = &p->row[i];
        if (!row->drives) {
            const int b = advance_body_of(run, row->body);
            advance_chords *of = &run->attempt.chords[run->assembly[b]];
            const double impulse = p->problem.step * p->solution.row_force[i];
            of->work += 0.5 * impulse * sprag_row_rate(row, p->body->velocity, sizeof *p->body);
            of->work += 0.5 * impulse *
                        sprag_row_rate(row, *p->solution.velocity, sizeof *p->solution.velocity);
            of->ahead += 0.5 * impulse * (row->bias - run->rows.row[i].bias);
        }
    }
}

bool advance_drop_chords(advance_run *run, const advance_problem *p)
{
    const int bodies = run->rows.count > 0 ? run->frame->bodies : 0;
    bool any = false;
    for (int i = 0; i < bodies; i++) {
        advance_chords *of = &run->attempt.chords[i];
        if (!of->kept && fmin(of->work, of->ahead) > advance_chord_gain * of->energy) {
            of->kept = any = true;
        }
    }
    if (any) {
        set_chords(run, p);
    }
    return any;
}
