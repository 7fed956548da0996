// J A^-1 J' of the ports of mechanisms, from their forward solves.
#include <string.h>

#include "lanes.h"
#include "mechanisms.h"
#include "vectors.h"
#include "vectors6.h"

// W += A' B, row by row: columns of B at once.
static inline __attribute__((always_inline)) void
add_product(lanes W[3], const double A[6][SPRAG_FORWARD], const double B[6][SPRAG_FORWARD])
{
    const sprag_four *b = (const sprag_four *)B;
    for (int i = 0; i < 3; i++) {
        W[i] += (A[0][i] * b[0] + A[1][i] * b[1] + A[2][i] * b[2]) +
                (A[3][i] * b[3] + A[4][i] * b[4] + A[5][i] * b[5]);
    }
}

SPRAG_VECTORS
static void port_inverse_mass(const sweeps *s, const sweeps_port *port, lanes W[3])
{
    for (int k = port->first; k < port->first + port->places; k++) {
        const double(*z)[SPRAG_FORWARD] = (const double(*)[SPRAG_FORWARD])s->mechanisms->forward[k];
        add_product(W, z, z);
    }
}

void mechanisms_port_inverse_mass(const sweeps *s, int p, double W[3][3])
{
    lanes sum[3] = {zeros};
    port_inverse_mass(s, &s->port[p], sum);
    for (int i = 0; i < 3; i++) {
        memcpy(W[i], &sum[i], sizeof W[i]);
    }
}

SPRAG_VECTORS
static void turn_port(const sweeps *s, sweeps_port *port, const double basis[2][2])
{
    const lanes same = {1, basis[0][0], basis[1][1], 1}, other = {0, basis[0][1], basis[1][0], 0};
    for (int side = 0; side < 2; side++) {
        vector6 first = {{0}, {0}}, second = {{0}, {0}};
        double(*J)[6] = port->jacobian[side];
        add6(&first, basis[0][0], J[1]);
        add6(&first, basis[0][1], J[2]);
        add6(&second, basis[1][0], J[1]);
        add6(&second, basis[1][1], J[2]);
        store6(J[1], &first);
        store6(J[2], &second);
    }
    sprag_four *row = (sprag_four *)s->mechanisms->forward[port->first];
    for (int k = 0; k < 6 * port->places; k++) {
        const lanes r = row[k];
        row[k] = same * r + other * SHUFFLE(r, r, 0, 2, 1, 3);
    }
}

void mechanisms_turn_port(sweeps *s, int p, const double basis[2][2])
{
    turn_port(s, &s->port[p], basis);
}

// One or three entries. whole: those behind them are there, and not yet set.
INLINE void set_row_of(double *to, const lanes *W, int columns, bool whole)
{
    if (whole) {
        *(sprag_four *)to = *W;
        return;
    }
    to[0] = (*W)[0];
    if (columns > 1) {
        to[1] = (*W)[1], to[2] = (*W)[2];
    }
}

// Part of J A^-1 J' between two ports, of one or three rows each. Entries have fixed places, so
// that compilers keep W in registers.
INLINE void set_entries(double *to, long stride, const lanes W[3], int rows, int columns,
                        bool whole)
{
    set_row_of(to, &W[0], columns, whole);
    if (rows > 1) {
        set_row_of(to + stride, &W[1], columns, whole);
        set_row_of(to + 2 * stride, &W[2], columns, whole);
    }
}

// J A^-1 J' of all pairs of ports.
SPRAG_VECTORS
static void couple(const sweeps *s, const mechanism *m, int *at_place)
{
    const sweeps_mechanisms *all = s->mechanisms;
    const long stride = m->stride;
    for (int p = 0; p < m->ports; p++) {
        const sweeps_port *a = &s->port[m->port[p]];
        double *row = m->delassus + (a->at - m->first) * stride;
        double *column = m->delassus + (a->at - m->first);
        for (int k = a->first; k < a->first + a->places; k++) {
            at_place[all->path[k]] = k;
        }
        for (int q = p; q < m->ports; q++) {
            const sweeps_port *b = &s->port[m->port[q]];
            const int at = b->at - m->first;
            lanes W[3] = {zeros};
            for (int k = b->first; k < b->first + b->places; k++) {
                int other = at_place[all->path[k]];
                if (other >= 0) {
                    add_product(W, (const double(*)[SPRAG_FORWARD])all->forward[other],
                                (const double(*)[SPRAG_FORWARD])all->forward[k]);
                }
            }
            set_entries(row + at, stride, W, a->rows, b->rows, at + LANES <= stride);
            if (q > p) {
                lanes of_columns[LANES] = {W[0], W[1], W[2]};
                transpose(of_columns);
                set_entries(column + at * stride, stride, of_columns, b->rows, a->rows,
                            a->at - m->first + LANES <= stride);
            }
        }
        for (int i = 0; i < a->rows; i++) {
            for (long j = m->width; j < stride; j++) {
                row[i * stride + j] = 0;
            }
        }
        for (int k = a->first; k < a->first + a->places; k++) {
            at_place[all->path[k]] = -1;
        }
    }
}

bool mechanisms_couple(sweeps *s, sprag_scratch *scratch)
{
    sweeps_mechanisms *all = s->mechanisms;
    int *at_place = SPRAG_TAKE(scratch, s->nodes, int);
    for (int n = 0; n < s->nodes && at_place; n++) {
        at_place[n] = -1;
    }
    for (int m = 0; m < all->count && !scratch->failed; m++) {
        all->of[m].delassus =
            SPRAG_TAKE_RAW(scratch, (long)all->of[m].width * all->of[m].stride, double);
        if (all->of[m].delassus) {
            couple(s, &all->of[m], at_place);
        }
    }
    return !scratch->failed;
}

double mechanisms_entries(const sweeps *s)
{
    double sum = 0;
    for (int m = 0; m < s->mechanisms->count; m++) {
        sum += (double)s->mechanisms->of[m].width * s->mechanisms->of[m].stride;
    }
    return sum;
}
