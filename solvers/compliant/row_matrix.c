// The rows that act now, and their matrix. It is kept and factorised within its envelope: rows of
// chains are narrow.
#include <math.h>
#include <string.h>

#include "compliant_rows.h"
#include "linalg.h"

void comply_yield_of(const comply_run *run, const sprag_row *row, double yielded[2][6])
{
    for (int side = 0; side < 2; side++) {
        memset(yielded[side], 0, sizeof yielded[side]);
        if (row->body[side] != SPRAG_STATIC) {
            comply_accelerate(run, row->body[side], row->jacobian[side], yielded[side]);
        }
    }
}

double comply_row_inverse_mass(const comply_run *run, const sprag_row *row)
{
    double yielded[2][6], sum = 0;
    comply_yield_of(run, row, yielded);
    for (int side = 0; side < 2; side++) {
        sum += dot6(row->jacobian[side], yielded[side]);
    }
    return sum;
}

bool comply_hardly_yields(const comply_run *run, const sprag_row *row, double compliance)
{
    return COMPLY_CATCH_UP * compliance <= run->frame->step * comply_row_inverse_mass(run, row);
}

void comply_push_along(const comply_joints *j, int row, double force, double *f)
{
    for (int side = 0; side < 2; side++) {
        int body = j->row[row].body[side];
        if (body != SPRAG_STATIC) {
            add_scaled(f + COMPLY_STATES * body + COMPLY_VELOCITY, force, j->yielded[row][side], 6);
        }
    }
}

// ---- lines

static void add_line(comply_joints *j, comply_line added)
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

double comply_stop_bias(const comply_run *run, const sprag_stop *stop)
{
    return -fmin(stop->erp, 1) / run->frame->step * stop->inside;
}

static bool stop_hardly_yields(const comply_run *run, int which)
{
    const sprag_stop *stop = &run->joints->stop[which];
    return comply_hardly_yields(run, &run->joints->row[stop->row], stop->compliance);
}

static void add_stop(const comply_run *run, int which)
{
    comply_joints *j = run->joints;
    const sprag_stop *s = &j->stop[which];
    double bias = stop_hardly_yields(run, which) ? j->parting[which] : comply_stop_bias(run, s);
    add_line(j, (comply_line){s->row, which, s->sign, bias, s->compliance, 0, INFINITY, COMPLY_FREE,
                              false});
}

static bool is_line(const comply_joints *j, int row, const sprag_stop *at, comply_lines_of of)
{
    const sprag_row *r = &j->row[row];
    bool acts = j->rule[row] == COMPLY_HARD ||
                (j->rule[row] == COMPLY_SOFT && of != COMPLY_OF_START) ||
                (j->rule[row] == COMPLY_MOTOR && of == COMPLY_OF_FORCES);
    return acts && (r->lo != 0 || r->hi != 0) && (of == COMPLY_OF_FORCES || !at);
}

// A motor that drives away from a stop has a share of its force there; one of unbounded force that
// drives into it yields as its bodies do. Of bounded forces there are no impulses.
static void add_row(comply_joints *j, int row, const sprag_stop *at, comply_lines_of of)
{
    const sprag_row *r = &j->row[row];
    bool bounded = j->rule[row] == COMPLY_MOTOR, away = at && at->sign * r->bias > 0;
    double share = away ? at->fudge : j->share[row];
    if (share > 0 && is_line(j, row, at, of)) {
        comply_line added = {row,
                             -1,
                             1,
                             r->bias,
                             r->compliance,
                             share * r->lo,
                             share * r->hi,
                             COMPLY_FREE,
                             at && !away && !bounded};
        add_line(j, added);
    }
}

void comply_set_lines(comply_run *run, const double *label, comply_lines_of of)
{
    comply_joints *j = run->joints;
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
            if (label[k] != 0 && (of != COMPLY_OF_START || stop_hardly_yields(run, k))) {
                add_stop(run, k);
            }
        }
    }
}

// ---- the matrix

// Bounded rows always yield a little: a motor that drives into its stop has the same row.
void comply_set_matrix(comply_run *run, double time)
{
    const double cost = 0.1; // of an entry, in looks at two balls
    comply_joints *j = run->joints;
    double h = run->frame->step;
    for (int i = 0; i < run->rows; i++) {
        comply_yield_of(run, &j->row[i], j->yielded[i]);
    }
    for (int i = 0; i < j->lines; i++) {
        const comply_line *own = &j->line[i];
        const sprag_row *row = &j->row[own->row];
        run->work += cost * (i - j->first[i] + 1);
        for (int k = j->first[i]; k <= i; k++) {
            const comply_line *with = &j->line[k];
            const sprag_row *other = &j->row[with->row];
            double sum = 0;
            for (int a = 0; a < 2; a++) {
                for (int b = 0; b < 2; b++) {
                    if (row->body[a] != SPRAG_STATIC && row->body[a] == other->body[b]) {
                        sum += dot6(row->jacobian[a], j->yielded[with->row][b]);
                    }
                }
            }
            *comply_entry(j, j->A, i, k) = own->sign * with->sign * sum;
        }
        double *diagonal = comply_entry(j, j->A, i, i),
               least = isfinite(own->lo) || isfinite(own->hi);
        bool drives = own->stop < 0 && j->rule[own->row] == COMPLY_MOTOR;
        bool hard =
            own->stop < 0 ? j->rule[own->row] == COMPLY_HARD : stop_hardly_yields(run, own->stop);
        double yield = own->compliance / h * (drives ? 1 + COMPLY_CATCH_UP * time / h : 1);
        yield = j->holding && hard ? fmin(yield, 1e-9 * *diagonal) : yield;
        *diagonal *= own->soft ? 2 : 1;
        *diagonal += fmax(yield, 1e-10 * least * *diagonal);
    }
}
