// The kernels. GCC compiles each for three widths of vectors, and the program takes the one of its
// processor (vectors.h); batches of four at every width keep the bits the same.
#include "batches.h"

#include <math.h>
#include <string.h>

#include "joint_rows.h"
#include "local_law.h"
#include "rows.h"
#include "singles.h"

// ---- one batch, or two of a colour side by side: neither waits for the results of the other

// Velocities of so many sides after the impulses p.
INLINE void apply(const batch *c, const int sides, const lanes p[3], lanes v[2][NUMBERS])
{
    lanes F[3], torque[3], turned[3];
    for (int k = 0; k < 3; k++) {
        F[k] = p[0] * c->frame[0][k] + p[1] * c->frame[1][k] + p[2] * c->frame[2][k];
    }
    for (int side = 0; side < sides; side++) {
        cross(c->arm[side], F, torque);
        turn(c->inertia[side], torque, turned);
        for (int k = 0; k < 3; k++) {
            const lanes linear = c->inverse_mass[side] * F[k];
            v[side][k] += side ? -linear : linear;
            v[side][4 + k] += side ? -turned[k] : turned[k];
        }
    }
}

// Friction p = bound q / (bound w + speed) at the sliding speed of the last sweep: p = bound t /
// (product of both w), t being q times the w of the other axis. Newton's method on 1 / |p| leads
// towards the speed at which |p| = bound, until |p| is near it. What slides gets its bound, and the
// last of its direction as the sweeps go on. least: the speed of what sticks.
INLINE void rub(batch c[], const int count, const lanes q[][2], const lanes bound[],
                const lanes least[], const lane_mask rubs[], lanes p[][2])
{
    enum { UPDATES = 8 };
    const double near =
        1e-2; // of the bound; with a tenth, sweeps of mechanisms go round in circles
    lanes speed[BESIDE], t[BESIDE][2], divisor[BESIDE], next[BESIDE];
    lane_mask open[BESIDE], exceeds[BESIDE];
    for (int h = 0; h < count; h++) {
        speed[h] = LARGER(c[h].speed, least[h]);
    }
    for (int it = 0;; it++) {
        lanes w[BESIDE][2];
        lane_mask some = {0}, far[BESIDE], any_far = {0};
        for (int h = 0; h < count; h++) {
            w[h][0] = bound[h] * c[h].inverse_axis[0] + speed[h];
            w[h][1] = bound[h] * c[h].inverse_axis[1] + speed[h];
            t[h][0] = q[h][0] * w[h][1], t[h][1] = q[h][1] * w[h][0];
            divisor[h] = w[h][0] * w[h][1];
            const lanes square = t[h][0] * t[h][0] + t[h][1] * t[h][1];
            const lane_mask slid = speed[h] > least[h];
            exceeds[h] = square > divisor[h] * divisor[h];
            open[h] = rubs[h] & ~c[h].bonded & (slid | exceeds[h]);
            some |= open[h];
        }
        if (!any(&some)) {
            break;
        }
        for (int h = 0; h < count; h++) {
            const lanes x = t[h][0] * t[h][0], y = t[h][1] * t[h][1], product = divisor[h];
            const lanes square = x + y, fall = x * w[h][1] + y * w[h][0];
            const lane_mask moves = open[h] & (fall > 0);
            lanes size = square;
            root_of(&size);
            const lanes off = size - product;
            next[h] = speed[h] + square / DIVISOR(moves, fall) * off;
            next[h] = LARGER(next[h], least[h]);
            next[h] = SELECT(moves, next[h], least[h]);
            c[h].speed = SELECT(open[h], next[h], c[h].speed);
            const lane_mask slides = moves & (exceeds[h] | (next[h] > least[h]));
            far[h] = open[h] & (off * off > near * near * product * product);
            any_far |= far[h];
            divisor[h] = SELECT(slides, size, product);
        }
        if (it == UPDATES - 1 || !any(&any_far)) {
            break;
        }
        for (int h = 0; h < count; h++) {
            speed[h] = any(&far[h]) ? SELECT(open[h], next[h], speed[h]) : speed[h];
        }
    }
    for (int h = 0; h < count; h++) {
        const lanes scale = bound[h] / DIVISOR(rubs[h], divisor[h]);
        p[h][0] = SELECT(rubs[h], t[h][0] * scale, zeros);
        p[h][1] = SELECT(rubs[h], t[h][1] * scale, zeros);
    }
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

// Impulses of batches in equilibrium with the velocities that they leave: the normal first, then
// friction under its bound. Adds up what changed. sides: that may move, the first or both. link: of
// a single batch; NULL: it has none.
INLINE void relax(sweeps *s, int i, const int count, const int sides, const batch_link *link,
                  lanes *sum)
{
    batch *c = &s->batch[i];
    lanes(*impulse)[3] = &s->x.impulse[i], v[BESIDE][2][NUMBERS];
    lanes slip[BESIDE][3], change[BESIDE][3], q[BESIDE][2], p[BESIDE][2];
    lanes normal[BESIDE], bound[BESIDE], least[BESIDE];
    lane_mask rubs[BESIDE];
    const bool moves = !link || link->moves; // else what it touches moves by ports
    for (int h = 0; h < count; h++) {
        memcpy(slip[h], c[h].offset, sizeof slip[h]);
        if (moves) {
            for (int side = 0; side < sides; side++) {
                load((const batch_velocity *)s->x.v, c[h].node[side], v[h][side]);
            }
            slip_of(&c[h], sides, (const lanes(*)[NUMBERS])v[h], slip[h]);
        }
    }
    if (link) {
        add_port_velocities(s, link, slip[0]);
    }
    for (int h = 0; h < count; h++) {
        normal[h] = (c[h].coupling[0] * impulse[h][0] - slip[h][0]) * c[h].give;
        normal[h] = LARGER(normal[h], zeros);
        change[h][0] = normal[h] - impulse[h][0];
        bound[h] = c[h].coefficient * SELECT(c[h].bound > 0, c[h].bound, normal[h]);
        const lane_mask loaded = bound[h] > SPRAG_LEAST_FRICTION;
        rubs[h] = (loaded | c[h].bonded) & (c[h].give > 0);
        bound[h] = SELECT(c[h].bonded, ones, bound[h]);
        least[h] = c[h].creep * bound[h];
        least[h] = SELECT((least[h] > c[h].stiction) | c[h].bonded, least[h], c[h].stiction);
        for (int k = 0; k < 2; k++) {
            q[h][k] = c[h].inverse_axis[k] * impulse[h][1 + k] -
                      (slip[h][1 + k] + c[h].coupling[1 + k] * change[h][0]);
        }
    }
    rub(c, count, (const lanes(*)[2])q, bound, least, rubs, p);
    for (int h = 0; h < count; h++) {
        *sum += c[h].coupling[0] * change[h][0] * change[h][0];
        impulse[h][0] = normal[h];
        for (int k = 0; k < 2; k++) {
            change[h][1 + k] = p[h][k] - impulse[h][1 + k];
            impulse[h][1 + k] = p[h][k];
            *sum += c[h].inverse_axis[k] * change[h][1 + k] * change[h][1 + k];
        }
        if (moves) {
            apply(&c[h], sides, change[h], v[h]);
            for (int side = 0; side < sides; side++) {
                store(s->x.v, c[h].node[side], v[h][side]);
            }
        }
    }
    if (link) {
        apply_to_ports(s, link, change[0]);
    }
}

INLINE void relax_all(sweeps *s, int from, int end, const int sides, lanes *sum)
{
    for (int i = from; i < end; i++) {
        if (s->paired[i]) {
            relax(s, i++, BESIDE, sides, NULL, sum);
        } else {
            relax(s, i, 1, sides, NULL, sum);
        }
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
    relax_all(s, 0, s->grounded_batches, 1, &sum);
    relax_all(s, s->grounded_batches, s->free_batches, 2, &sum);
    for (int i = s->free_batches; i < s->batches; i++) {
        relax(s, i, 1, 2, &s->link[i - s->free_batches], &sum);
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

// Adds what a batch's impulses change of the velocities.
INLINE void carry(sweeps *s, int i, const int sides)
{
    const batch *c = &s->batch[i];
    lanes v[2][NUMBERS];
    for (int side = 0; side < sides; side++) {
        load((const batch_velocity *)s->x.v, c->node[side], v[side]);
    }
    apply(c, sides, s->x.impulse[i], v);
    for (int side = 0; side < sides; side++) {
        store(s->x.v, c->node[side], v[side]);
    }
}

SPRAG_VECTORS
static void balance(sweeps *s)
{
    memcpy(s->x.v, s->free, (size_t)s->x.velocities * sizeof(double));
    for (int i = 0; i < s->rows + s->single_rows; i++) {
        const batch_row *row = &s->row[i];
        apply_row(row, s->x.row_impulse[i], s->x.v[row->node[0]], s->x.v[row->node[1]]);
    }
    for (int i = 0; i < s->grounded_batches; i++) {
        carry(s, i, 1);
    }
    for (int i = s->grounded_batches; i < s->batches; i++) {
        carry(s, i, 2);
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
