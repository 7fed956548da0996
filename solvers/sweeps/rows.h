// Single rows over two nodes: joint rows with bounds, and the rows of contacts that are swept one
// at a time. Only kernels include it.
#ifndef SPRAG_ROWS_H
#define SPRAG_ROWS_H

#include "batch_lanes.h"
#include "mechanisms.h"
#include "sweeps_run.h"

// Velocities of the ports of a mechanism after impulses at the first `rows` rows of one of them.
INLINE void apply_to_port(const sweeps *s, int index, const double *p, int rows)
{
    const sweeps_port *port = &s->port[index];
    const mechanism *m = &s->mechanisms->of[port->mechanism];
    double *u = s->x.port + m->first;
    const double *D = m->delassus + (long)(port->at - m->first) * m->stride;
    if (rows == 3) {
        const lanes *D0 = (const lanes *)D, *D1 = (const lanes *)(D + m->stride);
        const lanes *D2 = (const lanes *)(D + 2 * m->stride);
        for (int i = 0; i < m->stride / LANES; i++) {
            ((lanes *)u)[i] += p[0] * D0[i] + p[1] * D1[i] + p[2] * D2[i];
        }
    } else {
        for (int i = 0; i < m->stride / LANES; i++) {
            ((lanes *)u)[i] += p[0] * ((const lanes *)D)[i];
        }
    }
}

INLINE void apply_row(const batch_row *row, double p, double *a, double *b)
{
    for (int k = 0; k < 3; k++) {
        a[k] += p * row->turn[0][k];
        a[4 + k] += p * row->turn[0][3 + k];
        b[k] += p * row->turn[1][k];
        b[4 + k] += p * row->turn[1][3 + k];
    }
}

INLINE double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// J v, with the offset.
INLINE double rate_of(const sweeps *s, const batch_row *row)
{
    const double *a = s->x.v[row->node[0]], *b = s->x.v[row->node[1]];
    double rate = row->offset;
    if (row->moves) {
        rate = rate + dot(row->jacobian[0], a) + dot(row->jacobian[0] + 3, a + 4) +
               dot(row->jacobian[1], b) + dot(row->jacobian[1] + 3, b + 4);
    }
    for (int side = 0; side < 2; side++) {
        rate += row->port[side] < 0 ? 0 : s->x.port[s->port[row->port[side]].at];
    }
    return rate;
}

// Sets the impulse of a row. Returns what that changed, squared, in the metric of energy.
INLINE double set_impulse(const sweeps *s, const batch_row *row, double wanted, double *impulse)
{
    double change = wanted - *impulse;
    *impulse = wanted;
    if (row->moves) {
        apply_row(row, change, s->x.v[row->node[0]], s->x.v[row->node[1]]);
    }
    for (int side = 0; side < 2; side++) {
        if (row->port[side] >= 0) {
            apply_to_port(s, row->port[side], &change, 1);
        }
    }
    return row->inverse_mass * change * change;
}

#endif
