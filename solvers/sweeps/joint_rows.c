#include "joint_rows.h"

#include <math.h>
#include <string.h>

#include "rows.h"

static void set(sweeps *s, int of, batch_row *to)
{
    const sprag_row *row = &s->problem->row[of];
    double step = s->problem->step;
    *to = (batch_row){.row = of, .offset = -row->bias, .lo = row->lo * step, .hi = row->hi * step};
    sweeps_set_row(s, to, row->body, row->jacobian, fmin(fmax(row->guess * step, to->lo), to->hi));
}

void joint_rows_set(sweeps *s)
{
    int next = 0;
    for (int wide = 0; wide < 2; wide++) {
        for (int i = 0; i < s->problem->rows; i++) {
            if (!mechanisms_hold(s, i) && mechanisms_hold_wide(s, i) == wide) {
                if (wide) {
                    s->mechanisms->swept[i] = next;
                }
                set(s, i, &s->row[next++]);
            }
        }
        s->lone_rows = wide ? s->lone_rows : next;
    }
}

double sweeps_row_yield(const sweeps *s, const sprag_row *row)
{
    sprag_inverse inverse[2];
    for (int side = 0; side < 2; side++) {
        const int node = node_of(s, row->body[side]);
        inverse[side] = (sprag_inverse){s->mass[node][0], s->inverse[node]};
    }
    return sprag_row_yield(&s->soft, row, inverse);
}

// Adds a times J' of a swept row to a vector over the nodes of its mechanism.
static void add_transposed(const sweeps *s, const batch_row *row, double a, double *to)
{
    for (int side = 0; side < 2; side++) {
        if (row->node[side] < s->nodes) {
            add_scaled(to + 6 * s->mechanisms->local[row->node[side]], a, row->jacobian[side], 6);
        }
    }
}

static double rate_with(const sweeps *s, const batch_row *row, const double *push)
{
    double rate = rate_of(s, row);
    for (int side = 0; side < 2; side++) {
        if (row->node[side] < s->nodes) {
            rate += dot6(row->jacobian[side], push + 6 * s->mechanisms->local[row->node[side]]);
        }
    }
    return rate;
}

// Velocities change by A^-1 J' of what the rows ask for where the bodies stand still.
static double relax_at_once(sweeps *s, mechanism *m)
{
    sweeps_mechanisms *all = s->mechanisms;
    double *push = all->work, sum = 0;
    for (int r = 0; r < m->rows; r++) {
        const batch_row *row = &s->row[all->swept[m->row[r]]];
        double asked = -rate_of(s, row) / row->yield;
        add_transposed(s, row, asked - s->x.row_impulse[row - s->row], push);
    }
    sprag_blocks_solve(&m->blocks, true, push);
    for (int r = 0; r < m->rows; r++) {
        const batch_row *row = &s->row[all->swept[m->row[r]]];
        all->wanted[m->row[r]] = -rate_with(s, row, push) / row->yield;
    }
    for (int r = 0; r < m->rows; r++) {
        const batch_row *row = &s->row[all->swept[m->row[r]]];
        double *p = &s->x.row_impulse[row - s->row];
        sum += set_impulse(s, row, *p + m->share * (all->wanted[m->row[r]] - *p), p);
    }
    memset(push, 0, 6 * (size_t)m->nodes * sizeof *push);
    return sum;
}

double joint_rows_sweep(sweeps *s)
{
    double sum = 0;
    for (int i = 0; i < s->mechanisms->count; i++) {
        sum += s->mechanisms->of[i].wide ? relax_at_once(s, &s->mechanisms->of[i]) : 0;
    }
    return sum;
}
