// The kernels. GCC compiles each for three widths of vectors, and the program takes the one of its
// processor (vectors.h); batches of four at every width keep the bits the same.
#include "batches.h"

#include <math.h>
#include <string.h>

#include "joint_rows.h"
#include "local_law.h"
#include "rows.h"
#include "singles.h"

// ---- one batch

// Velocities after the impulses p.
INLINE void apply(const batch *c, const lanes p[3], lanes a[NUMBERS], lanes b[NUMBERS])
{
    lanes F[3], torque[3], turned[3];
    for (int k = 0; k < 3; k++) {
        F[k] = p[0] * c->frame[0][k] + p[1] * c->frame[1][k] + p[2] * c->frame[2][k];
    }
    cross(c->arm[0], F, torque);
    turn(c->inertia[0], torque, turned);
    for (int k = 0; k < 3; k++) {
        a[k] += c->inverse_mass[0] * F[k];
        a[4 + k] += turned[k];
    }
    cross(c->arm[1], F, torque);
    turn(c->inertia[1], torque, turned);
    for (int k = 0; k < 3; k++) {
        b[k] -= c->inverse_mass[1] * F[k];
        b[4 + k] -= turned[k];
    }
}

// Friction p = bound q / (bound w + speed) at the sliding speed of the last sweep: p = bound t /
// (product of both w), t being q times the w of the other axis. Newton's method on 1 / |p| leads
// towards the speed at which |p| = bound, until |p| is near it. What slides gets its bound, and the
// last of its direction as the sweeps go on. least: the speed of what sticks.
INLINE void rub(batch *c, const lanes q[2], const lanes *bound, const lanes *least,
                const lane_mask *rubs, lanes p[2])
{
    enum { UPDATES = 8 };
    const double near =
        1e-2; // of the bound; with a tenth, sweeps of mechanisms go round in circles
    const lanes turned[2] = {*bound * c->inverse_axis[0], *bound * c->inverse_axis[1]};
    const lane_mask bounded = *rubs & ~c->bonded;
    lanes speed = LARGER(c->speed, *least), t[2], divisor;
    for (int it = 0;; it++) {
        const lanes w[2] = {turned[0] + speed, turned[1] + speed}, product = w[0] * w[1];
        t[0] = q[0] * w[1], t[1] = q[1] * w[0];
        const lanes x = t[0] * t[0], y = t[1] * t[1], square = x + y;
        const lane_mask slid = speed > *least, exceeds = square > product * product;
        const lane_mask open = bounded & (slid | exceeds);
        divisor = product;
        if (!any(&open)) {
            break;
        }
        const lanes fall = x * w[1] + y * w[0];
        const lane_mask moves = open & (fall > 0);
        lanes size = square;
        root_of(&size);
        const lanes off = size - product;
        lanes next = speed + square / DIVISOR(moves, fall) * off;
        next = LARGER(next, *least);
        next = SELECT(moves, next, *least);
        c->speed = SELECT(open, next, c->speed);
        const lane_mask slides = moves & (exceeds | (next > *least));
        const lane_mask far = open & (off * off > near * near * product * product);
        if (it == UPDATES - 1 || !any(&far)) {
            divisor = SELECT(slides, size, product);
            break;
        }
        speed = SELECT(open, next, speed);
    }
    const lanes scale = *bound / DIVISOR(*rubs, divisor);
    p[0] = SELECT(*rubs, t[0] * scale, zeros);
    p[1] = SELECT(*rubs, t[1] * scale, zeros);
}

INLINE void add_port_velocities(const sweeps *s, const batch_link *link, lanes slip[3])
{
    for (int l = 0; l < LANES; l++) {
        for (int side = 0; side < 2; side++) {
            if (link->port[side][l] >= 0) {
                const double *u = s->x.port + s->port[link->port[side][l]].at;
                slip[0][l] += u[0];
                slip[1][l] += u[1];
                slip[2][l] += u[2];
            }
        }
    }
}

INLINE void apply_to_ports(const sweeps *s, const batch_link *link, const lanes change[3])
{
    for (int l = 0; l < LANES; l++) {
        const double p[3] = {change[0][l], change[1][l], change[2][l]};
        for (int side = 0; side < 2; side++) {
            if (link->port[side][l] >= 0) {
                apply_to_port(s, link->port[side][l], p, 3);
            }
        }
    }
}

// Impulses of a batch in equilibrium with the velocities that they leave: the normal first, then
// friction under its bound. Adds up what changed.
INLINE void relax(sweeps *s, int i, const batch_link *link, lanes *sum)
{
    batch *c = &s->batch[i];
    lanes *impulse = s->x.impulse[i], a[NUMBERS], b[NUMBERS], slip[3], change[3], p[2];
    const bool moves = !link || link->moves; // else what it touches moves by ports
    memcpy(slip, c->offset, sizeof slip);
    if (moves) {
        load((const batch_velocity *)s->x.v, c->node[0], a);
        load((const batch_velocity *)s->x.v, c->node[1], b);
        slip_of(c, a, b, slip);
    }
    if (link) {
        add_port_velocities(s, link, slip);
    }
    lanes normal = (c->coupling[0] * impulse[0] - slip[0]) * c->give;
    normal = LARGER(normal, zeros);
    change[0] = normal - impulse[0];
    lanes bound = c->coefficient * SELECT(c->bound > 0, c->bound, normal);
    lane_mask loaded = bound > SPRAG_LEAST_FRICTION, rubs = (loaded | c->bonded) & (c->give > 0);
    bound = SELECT(c->bonded, ones, bound);
    lanes least = c->creep * bound, q[2];
    least = SELECT((least > c->stiction) | c->bonded, least, c->stiction);
    for (int k = 0; k < 2; k++) {
        q[k] = c->inverse_axis[k] * impulse[1 + k] - (slip[1 + k] + c->coupling[1 + k] * change[0]);
    }
    rub(c, q, &bound, &least, &rubs, p);
    *sum += c->coupling[0] * change[0] * change[0];
    impulse[0] = normal;
    for (int k = 0; k < 2; k++) {
        change[1 + k] = p[k] - impulse[1 + k];
        impulse[1 + k] = p[k];
        *sum += c->inverse_axis[k] * change[1 + k] * change[1 + k];
    }
    if (moves) {
        apply(c, change, a, b);
        store(s->x.v, c->node[0], a);
        store(s->x.v, c->node[1], b);
    }
    if (link) {
        apply_to_ports(s, link, change);
    }
}

INLINE double relax_row(const sweeps *s, const batch_row *row, double *impulse)
{
    double w = row->inverse_mass + row->spin_mass;
    double wanted = (w * *impulse - rate_of(s, row)) / (w + row->yield);
    wanted = wanted < row->lo ? row->lo : wanted > row->hi ? row->hi : wanted;
    return set_impulse(s, row, wanted, impulse);
}

// ---- all

SPRAG_VECTORS
static void sweep(sweeps *s, double *squares)
{
    lanes sum = zeros;
    double total = 0;
    for (int i = 0; i < s->lone_rows; i++) {
        total += relax_row(s, &s->row[i], &s->x.row_impulse[i]);
    }
    for (int i = 0; i < s->free_batches; i++) {
        relax(s, i, NULL, &sum);
    }
    for (int i = s->free_batches; i < s->batches; i++) {
        relax(s, i, &s->link[i - s->free_batches], &sum);
    }
    for (int l = 0; l < LANES; l++) {
        total += sum[l];
    }
    *squares = total;
}

double batches_sweep(sweeps *s)
{
    double squares;
    sweep(s, &squares);
    squares += singles_sweep(s);
    return sqrt(squares + joint_rows_sweep(s));
}

SPRAG_VECTORS
static void balance(sweeps *s)
{
    memcpy(s->x.v, s->free, (size_t)s->x.velocities * sizeof(double));
    for (int i = 0; i < s->rows + s->single_rows; i++) {
        const batch_row *row = &s->row[i];
        apply_row(row, s->x.row_impulse[i], s->x.v[row->node[0]], s->x.v[row->node[1]]);
    }
    for (int i = 0; i < s->batches; i++) {
        const batch *c = &s->batch[i];
        lanes a[NUMBERS], b[NUMBERS];
        load((const batch_velocity *)s->x.v, c->node[0], a);
        load((const batch_velocity *)s->x.v, c->node[1], b);
        apply(c, s->x.impulse[i], a, b);
        store(s->x.v, c->node[0], a);
        store(s->x.v, c->node[1], b);
    }
}

void batches_balance(sweeps *s, bool last)
{
    balance(s);
    mechanisms_balance(s, last);
}

SPRAG_VECTORS
static void accelerate(sweeps *s, double share)
{
    lanes *x = (lanes *)s->x.all, *push = (lanes *)s->push;
    lanes *before = (lanes *)s->before;
    for (long i = 0; i < s->x.count / LANES; i++) {
        push[i] = share * (push[i] + x[i] - before[i]);
        before[i] = x[i] += push[i];
    }
}

void batches_accelerate(sweeps *s, double share)
{
    accelerate(s, share);
}
