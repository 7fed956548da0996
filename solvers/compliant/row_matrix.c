// The rows that act now, and their matrix. It is kept and factorised within its envelope: rows of
// chains are narrow.
#include <math.h>
#include <string.h>

#include "compliant_rows.h"
#include "linalg.h"

void compliant_yield_of(const compliant_run *run, const sprag_row *row, double yielded[2][6])
{
    for (int side = 0; side < 2; side++) {
        memset(yielded[side], 0, sizeof yielded[side]);
        if (row->body[side] != SPRAG_STATIC) {
            compliant_accelerate(run, row->body[side], row->jacobian[side], yielded[side]);
        }
    }
}

double compliant_row_inverse_mass(const compliant_run *run, const sprag_row *row)
{
    double sum = 0;
    for (int side = 0; side < 2; side++) {
        if (row->body[side] != SPRAG_STATIC) {
            sum += compliant_body_inverse_mass(run, row->body[side], row->jacobian[side]);
        }
    }
    return sum;
}

bool compliant_hardly_yields(const compliant_run *run, const sprag_row *row, double compliance)
{
    return COMPLIANT_CATCH_UP * compliance <=
           run->frame->step * compliant_row_inverse_mass(run, row);
}

void compliant_push_along(const compliant_joints *j, int row, double force, double *f)
{
    for (int side = 0; side < 2; side++) {
        int body = j->row[row].body[side];
        if (body != SPRAG_STATIC) {
            add_scaled(f + COMPLIANT_STATES * body + COMPLIANT_VELOCITY, force,
                       j->yielded[row][side], 6);
        }
    }
}

// ---- lines

static void add_line(compliant_joints *j, compliant_line added)
{
    const sprag_row *row = &j->row[added.row];
    int i = j->lines++;
    j->first[i] = i;
    for (int side = 0; side < 2; side++) {
        int body = row->body[side];
        if (body != SPRAG_STATIC) {
            j->body_line[body] = j->body_line[body] < 0 ? i : j->body_line[body];
            j->first[i] = j->body_line[body] < j->first[i] ? j->body_line[body] : j->first[i];
        }
    }
    j->line[i] = added;
    j->start[i] = i == 0 ? 0 : j->start[i - 1] + (size_t)(i - 1 - j->first[i - 1] + 1);
}

double compliant_stop_bias(const compliant_run *run, const sprag_stop *stop)
{
    return -fmin(stop->erp, 1) / run->frame->step * stop->inside;
}

static bool stop_hardly_yields(const compliant_run *run, int which)
{
    const sprag_stop *stop = &run->joints->stop[which];
    return compliant_hardly_yields(run, &run->joints->row[stop->row], stop->compliance);
}

static void add_stop(const compliant_run *run, int which)
{
    compliant_joints *j = run->joints;
    const sprag_stop *s = &j->stop[which];
    double bias = stop_hardly_yields(run, which) ? j->parting[which] : compliant_stop_bias(run, s);
    add_line(j, (compliant_line){s->row, which, s->sign, bias, s->compliance, 0, INFINITY,
                                 COMPLIANT_FREE, false});
}

static bool is_line(const compliant_joints *j, int row, const sprag_stop *at, compliant_lines_of of)
{
    const sprag_row *r = &j->row[row];
    bool acts = j->rule[row] == COMPLIANT_HARD ||
                (j->rule[row] == COMPLIANT_SOFT && of != COMPLIANT_OF_START) ||
                (j->rule[row] == COMPLIANT_MOTOR && of == COMPLIANT_OF_FORCES);
    return acts && (r->lo != 0 || r->hi != 0) && (of == COMPLIANT_OF_FORCES || !at);
}

// A motor that drives away from a stop has a share of its force there; one of unbounded force that
// drives into it yields as its bodies do. Of bounded forces there are no impulses.
static void add_row(compliant_joints *j, int row, const sprag_stop *at, compliant_lines_of of)
{
    const sprag_row *r = &j->row[row];
    bool bounded = j->rule[row] == COMPLIANT_MOTOR, away = at && at->sign * r->bias > 0;
    double share = away ? at->fudge : j->share[row];
    if (share > 0 && is_line(j, row, at, of)) {
        compliant_line added = {row,
                                -1,
                                1,
                                r->bias,
                                r->compliance,
                                share * r->lo,
                                share * r->hi,
                                COMPLIANT_FREE,
                                at && !away && !bounded};
        add_line(j, added);
    }
}

void compliant_set_lines(compliant_run *run, const double *label, compliant_lines_of of)
{
    compliant_joints *j = run->joints;
    j->lines = 0;
    for (int i = 0; i < run->frame->bodies; i++) {
        j->body_line[i] = -1;
    }
    for (int i = 0, s = 0; i < run->rows; i++) {
        const sprag_stop *at = NULL;
        int first = s;
        for (; s < run->stops && j->stop[s].row == i; s++) {
            at = label[s] != 0 ? &j->stop[s] : at;
        }
        add_row(j, i, at, of);
        for (int k = first; k < s; k++) {
            if (label[k] != 0 && (of != COMPLIANT_OF_START || stop_hardly_yields(run, k))) {
                add_stop(run, k);
            }
        }
    }
}

// ---- the matrix

// Bounded rows always yield a little: a motor that drives into its stop has the same row.
void compliant_set_matrix(compliant_run *run, double time)
{
    const double cost = 0.1; // of an entry, in looks at two balls
    compliant_joints *j = run->joints;
    double h = run->frame->step;
    for (int i = 0; i < run->rows; i++) {
        compliant_yield_of(run, &j->row[i], j->yielded[i]);
    }
    for (int i = 0; i < j->lines; i++) {
        const compliant_line *own = &j->line[i];
        const sprag_row *row = &j->row[own->row];
        run->work += cost * (i - j->first[i] + 1);
        for (int k = j->first[i]; k <= i; k++) {
            const compliant_line *with = &j->line[k];
            const sprag_row *other = &j->row[with->row];
            double sum = 0;
            for (int a = 0; a < 2; a++) {
                for (int b = 0; b < 2; b++) {
                    if (row->body[a] != SPRAG_STATIC && row->body[a] == other->body[b]) {
                        sum += dot6(row->jacobian[a], j->yielded[with->row][b]);
                    }
                }
            }
            *compliant_entry(j, j->A, i, k) = own->sign * with->sign * sum;
        }
        double *diagonal = compliant_entry(j, j->A, i, i),
               least = isfinite(own->lo) || isfinite(own->hi);
        bool drives = own->stop < 0 && j->rule[own->row] == COMPLIANT_MOTOR;
        bool hard = own->stop < 0 ? j->rule[own->row] == COMPLIANT_HARD
                                  : stop_hardly_yields(run, own->stop);
        double yield = own->compliance / h * (drives ? 1 + COMPLIANT_CATCH_UP * time / h : 1);
        yield = j->holding && hard ? fmin(yield, 1e-9 * *diagonal) : yield;
        *diagonal *= own->soft ? 2 : 1;
        *diagonal += fmax(yield, 1e-10 * least * *diagonal);
    }
}
