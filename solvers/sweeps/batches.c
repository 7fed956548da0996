// The kernels. GCC compiles each for three widths of vectors, and the program takes the one of its
// processor (vectors.h); batches of eight at every width keep the bits the same.
#include "batches.h"

#include <math.h>
#include <string.h>

#include "sweeps_run.h"
#include "vectors.h"

#define INLINE static inline __attribute__((always_inline))
#define SELECT(mask, a, b) ((batch_real)(((batch_mask)(a) & (mask)) | ((batch_mask)(b) & ~(mask))))
#define LARGER(a, b) SELECT((a) > (b), a, b)
// A divisor: 1 in lanes whose quotient nobody reads, for programs that trap invalid operations.
#define DIVISOR(mask, a) SELECT(mask, a, ones)

#if defined(__clang__) || __GNUC__ >= 12
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (batch_mask){__VA_ARGS__})
#endif

enum { LANES = BATCH_LANES };

static const batch_real ones = {1, 1, 1, 1, 1, 1, 1, 1}, zeros = {0};

// ---- vectors of eight

INLINE void transpose(batch_real r[LANES])
{
    batch_real t[LANES], u[LANES];
    for (int i = 0; i < 8; i += 2) {
        t[i] = SHUFFLE(r[i], r[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        t[i + 1] = SHUFFLE(r[i], r[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    for (int i = 0; i < 8; i += 4) {
        for (int k = i; k < i + 2; k++) {
            u[k] = SHUFFLE(t[k], t[k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            u[k + 2] = SHUFFLE(t[k], t[k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    }
    for (int k = 0; k < 4; k++) {
        r[k] = SHUFFLE(u[k], u[k + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        r[k + 4] = SHUFFLE(u[k], u[k + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

// Velocities of eight nodes, component by component.
INLINE void load(const batch_velocity *v, const int32_t node[LANES], batch_real r[LANES])
{
    for (int l = 0; l < LANES; l++) {
        r[l] = *(const batch_real *)v[node[l]];
    }
    transpose(r);
}

INLINE void store(batch_velocity *v, const int32_t node[LANES], batch_real r[LANES])
{
    transpose(r);
    for (int l = 0; l < LANES; l++) {
        *(batch_real *)v[node[l]] = r[l];
    }
}

INLINE void cross(const batch_real a[3], const batch_real b[3], batch_real c[3])
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

// y = I x
INLINE void turn(const batch_real I[6], const batch_real x[3], batch_real y[3])
{
    y[0] = I[0] * x[0] + I[3] * x[1] + I[4] * x[2];
    y[1] = I[3] * x[0] + I[1] * x[1] + I[5] * x[2];
    y[2] = I[4] * x[0] + I[5] * x[1] + I[2] * x[2];
}

INLINE void root(batch_real *x)
{
    for (int l = 0; l < LANES; l++) {
        (*x)[l] = sqrt((*x)[l]);
    }
}

INLINE bool any(const batch_mask *mask)
{
    int64_t all = 0;
    for (int l = 0; l < LANES; l++) {
        all |= (*mask)[l];
    }
    return all != 0;
}

// ---- one batch

// Relative velocities in the frames of the contacts, with the offsets; a, b: of the nodes.
INLINE void slip_of(const batch *c, const batch_real a[LANES], const batch_real b[LANES],
                    batch_real slip[3])
{
    batch_real by_a[3], by_b[3], u[3];
    cross(a + 4, c->arm[0], by_a);
    cross(b + 4, c->arm[1], by_b);
    for (int k = 0; k < 3; k++) {
        u[k] = (a[k] + by_a[k]) - (b[k] + by_b[k]);
    }
    for (int k = 0; k < 3; k++) {
        const batch_real *f = c->frame[k];
        slip[k] = c->offset[k] + (f[0] * u[0] + f[1] * u[1] + f[2] * u[2]);
    }
}

// Velocities after the impulses p.
INLINE void apply(const batch *c, const batch_real p[3], batch_real a[LANES], batch_real b[LANES])
{
    batch_real F[3], torque[3], turned[3];
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

// Friction at its bound: p = q / (w + slope) with the slope, of slip against impulse, at which |p|
// = bound. Newton's method on 1 / |p|, from the slope of the last sweep, in the lanes of `slides`.
INLINE void slide(batch *c, const batch_real q[2], const batch_real *bound, const batch_real *least,
                  const batch_mask *in, batch_real p[2])
{
    enum { UPDATES = 8 };
    const double precision = 1e-5; // of the bound; the next sweep goes on from here
    batch_mask slides = *in;
    batch_real slope = LARGER(c->slope, *least), size = zeros;
    for (int it = 0; it < UPDATES; it++) {
        batch_real ease[2], at[2];
        for (int k = 0; k < 2; k++) {
            batch_real w = c->inverse_axis[k] + slope;
            ease[k] = 1 / DIVISOR(slides, w);
            at[k] = q[k] * ease[k];
            p[k] = SELECT(slides, at[k], p[k]);
        }
        batch_real square = at[0] * at[0] + at[1] * at[1];
        size = square;
        root(&size);
        batch_real off = size - *bound;
        off = (batch_real)((batch_mask)off & INT64_MAX);
        batch_mask open = slides & (off > precision * *bound);
        if (!any(&open)) {
            break;
        }
        batch_real fall = at[0] * at[0] * ease[0] + at[1] * at[1] * ease[1];
        batch_real next = slope + square / DIVISOR(open, fall) * (size / DIVISOR(open, *bound) - 1);
        next = LARGER(*least, next);
        slope = SELECT(open, next, slope);
    }
    c->slope = SELECT(slides, slope, c->slope);
    batch_mask beyond = slides & (size > *bound);
    batch_real shrink = *bound / DIVISOR(beyond, size);
    shrink = SELECT(beyond, shrink, ones);
    p[0] *= shrink;
    p[1] *= shrink;
}

// Impulses of a batch in equilibrium with the velocities that they leave: the normal first, then
// friction under its bound. Adds up what changed.
INLINE void relax(sweeps *s, int i, batch_real *sum)
{
    batch *c = &s->batch[i];
    batch_real *impulse = s->x.impulse[i], a[LANES], b[LANES], slip[3], change[3], p[2];
    load((const batch_velocity *)s->x.v, c->node[0], a);
    load((const batch_velocity *)s->x.v, c->node[1], b);
    slip_of(c, a, b, slip);
    batch_real normal = (c->coupling[0] * impulse[0] - slip[0]) * c->give;
    normal = LARGER(normal, zeros);
    change[0] = normal - impulse[0];
    batch_real bound = c->coefficient * SELECT(c->bound > 0, c->bound, normal);
    batch_mask rubs = ((bound > 0) | c->bonded) & (c->give > 0);
    batch_real least = c->stiction / DIVISOR(bound > 0, bound), q[2];
    least = LARGER(least, c->creep);
    least = SELECT(c->bonded, c->creep, least);
    for (int k = 0; k < 2; k++) {
        q[k] = c->inverse_axis[k] * impulse[1 + k] - (slip[1 + k] + c->coupling[1 + k] * change[0]);
        batch_real w = c->inverse_axis[k] + least;
        p[k] = q[k] / DIVISOR(rubs, w);
        p[k] = SELECT(rubs, p[k], zeros);
    }
    batch_mask slides = rubs & ~c->bonded & (p[0] * p[0] + p[1] * p[1] > bound * bound);
    if (any(&slides)) {
        slide(c, q, &bound, &least, &slides, p);
    }
    *sum += c->coupling[0] * change[0] * change[0];
    impulse[0] = normal;
    for (int k = 0; k < 2; k++) {
        change[1 + k] = p[k] - impulse[1 + k];
        impulse[1 + k] = p[k];
        *sum += c->inverse_axis[k] * change[1 + k] * change[1 + k];
    }
    apply(c, change, a, b);
    store(s->x.v, c->node[0], a);
    store(s->x.v, c->node[1], b);
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

INLINE double relax_row(const batch_row *row, batch_velocity *v, double *impulse)
{
    double *a = v[row->node[0]], *b = v[row->node[1]];
    double rate = row->offset + dot(row->jacobian[0], a) + dot(row->jacobian[0] + 3, a + 4) +
                  dot(row->jacobian[1], b) + dot(row->jacobian[1] + 3, b + 4);
    double w = row->inverse_mass, wanted = (w * *impulse - rate) / (w + row->yield);
    wanted = wanted < row->lo ? row->lo : wanted > row->hi ? row->hi : wanted;
    double change = wanted - *impulse;
    *impulse = wanted;
    apply_row(row, change, a, b);
    return w * change * change;
}

// ---- all

SPRAG_VECTORS
static void sweep(sweeps *s, double *change)
{
    batch_real sum = zeros;
    double total = 0;
    for (int i = 0; i < s->rows; i++) {
        total += relax_row(&s->row[i], s->x.v, &s->x.row_impulse[i]);
    }
    for (int i = 0; i < s->batches; i++) {
        relax(s, i, &sum);
    }
    for (int l = 0; l < LANES; l++) {
        total += sum[l];
    }
    *change = sqrt(total);
}

double batches_sweep(sweeps *s)
{
    double change;
    sweep(s, &change);
    return change;
}

SPRAG_VECTORS
static void balance(sweeps *s)
{
    memcpy(s->x.v, s->free, (size_t)s->x.velocities * sizeof(double));
    for (int i = 0; i < s->rows; i++) {
        const batch_row *row = &s->row[i];
        apply_row(row, s->x.row_impulse[i], s->x.v[row->node[0]], s->x.v[row->node[1]]);
    }
    for (int i = 0; i < s->batches; i++) {
        const batch *c = &s->batch[i];
        batch_real a[LANES], b[LANES];
        load((const batch_velocity *)s->x.v, c->node[0], a);
        load((const batch_velocity *)s->x.v, c->node[1], b);
        apply(c, s->x.impulse[i], a, b);
        store(s->x.v, c->node[0], a);
        store(s->x.v, c->node[1], b);
    }
}

void batches_balance(sweeps *s)
{
    balance(s);
}

SPRAG_VECTORS
static void accelerate(sweeps *s, double share)
{
    batch_real *x = (batch_real *)s->x.all, *push = (batch_real *)s->push;
    const batch_real *before = (const batch_real *)s->before;
    for (long i = 0; i < s->x.count / LANES; i++) {
        push[i] = share * (push[i] + x[i] - before[i]);
        x[i] += push[i];
    }
}

void batches_accelerate(sweeps *s, double share)
{
    accelerate(s, share);
}

// ---- preparation

INLINE void set_give(batch *c, const sprag_softness *soft, const batch_real *w)
{
    // Eight at once of sprag_contact_yield; `give` and `slope` hold compliance / step and
    // softening.
    batch_real length[2];
    for (int side = 0; side < 2; side++) {
        const batch_real *r = c->arm[side];
        length[side] = r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
    }
    batch_real lever = LARGER(length[0], length[1]);
    root(&lever);
    batch_real most = ones * (SPRAG_SOFT_HEAVIEST / soft->heaviest), share = c->slope;
    batch_real unit = SELECT(*w < most, *w, most), fall = ones * soft->fall;
    batch_mask falls = (lever > 0) & (fall > SPRAG_SOFT_FALL * lever);
    batch_real less = share * (SPRAG_SOFT_FALL * lever / DIVISOR(falls, fall));
    share = SELECT(falls, less, share);
    batch_real least = ones * SPRAG_SOFT_LEAST, yield = share * soft->normal;
    yield = LARGER(yield, least) * unit;
    yield = soft->normal > 0 ? LARGER(c->give, yield) : c->give;
    batch_mask moves = *w > 0;
    batch_real sum = yield + *w, give = 1 / DIVISOR(moves, sum);
    c->give = SELECT(moves, give, zeros);
}

// The axes of friction: scaled by the shape of the cone (in the diagonal of `basis`), then turned
// to the eigenvectors of their 2x2 part (a b; b d) of W.
INLINE void set_axes(batch *c, const batch_real *w11, const batch_real *w12, const batch_real *w22)
{
    batch_real s0 = c->basis[0][0], s1 = c->basis[1][1];
    batch_real a = *w11 * s0 * s0, b = *w12 * s0 * s1, d = *w22 * s1 * s1;
    batch_real half = 0.5 * (a - d), radius = half * half + b * b;
    root(&radius);
    batch_real cosine = half / DIVISOR(radius > 0, radius); // of twice the angle
    cosine = SELECT(radius > 0, cosine, ones);
    batch_real x = 0.5 + 0.5 * cosine, y = 0.5 - 0.5 * cosine;
    x = LARGER(x, zeros);
    y = LARGER(y, zeros);
    root(&x);
    root(&y);
    y = SELECT(b < 0, -y, y);
    c->basis[0][0] = x * s0;
    c->basis[0][1] = y * s1;
    c->basis[1][0] = -y * s0;
    c->basis[1][1] = x * s1;
    c->inverse_axis[0] = x * x * a + 2 * x * y * b + y * y * d;
    c->inverse_axis[1] = y * y * a - 2 * x * y * b + x * x * d;
}

// to_k = basis (of_1, of_2)
INLINE void change_axes(const batch *c, batch_real *first, batch_real *second)
{
    batch_real u = *first, v = *second;
    *first = c->basis[0][0] * u + c->basis[0][1] * v;
    *second = c->basis[1][0] * u + c->basis[1][1] * v;
}

// Expected impulses p of the problem's axes: p = basis' q. Those between things that nothing moves
// are zero.
INLINE void change_impulses(const batch *c, batch_real p[3])
{
    batch_real det = c->basis[0][0] * c->basis[1][1] - c->basis[0][1] * c->basis[1][0];
    batch_mask good = (det != 0) & (c->give > 0);
    det = DIVISOR(good, det);
    batch_real q0 = (c->basis[1][1] * p[1] - c->basis[1][0] * p[2]) / det;
    batch_real q1 = (c->basis[0][0] * p[2] - c->basis[0][1] * p[1]) / det;
    p[0] = SELECT(c->give > 0, p[0], zeros);
    p[1] = SELECT(good, q0, zeros);
    p[2] = SELECT(good, q1, zeros);
}

INLINE void finish(sweeps *s, int i, const batch_velocity *start)
{
    batch *c = &s->batch[i];
    batch_real W[3][3], lever[2][3][3], turned[2][3][3], mass, a[LANES], b[LANES], slip[3];
    mass = c->inverse_mass[0] + c->inverse_mass[1];
    for (int side = 0; side < 2; side++) {
        for (int k = 0; k < 3; k++) {
            cross(c->arm[side], c->frame[k], lever[side][k]);
            turn(c->inertia[side], lever[side][k], turned[side][k]);
        }
    }
    for (int j = 0; j < 3; j++) {
        for (int k = j; k < 3; k++) {
            batch_real sum = zeros;
            for (int m = 0; m < 3; m++) {
                sum += mass * c->frame[j][m] * c->frame[k][m] + lever[0][j][m] * turned[0][k][m] +
                       lever[1][j][m] * turned[1][k][m];
            }
            W[j][k] = sum;
        }
    }
    set_give(c, &s->soft, &W[0][0]);
    batch_real creep = s->soft.row * W[1][1];
    c->creep = LARGER(c->creep, creep);
    c->slope = zeros;
    set_axes(c, &W[1][1], &W[1][2], &W[2][2]);
    c->coupling[0] = W[0][0];
    c->coupling[1] = W[0][1];
    c->coupling[2] = W[0][2];
    change_axes(c, &c->coupling[1], &c->coupling[2]);
    change_axes(c, &c->offset[1], &c->offset[2]);
    for (int k = 0; k < 3; k++) {
        change_axes(c, &c->frame[1][k], &c->frame[2][k]);
    }
    change_impulses(c, s->x.impulse[i]);
    load(start, c->node[0], a);
    load(start, c->node[1], b);
    slip_of(c, a, b, slip);
    c->slope = slip[1] * slip[1] + slip[2] * slip[2];
    root(&c->slope);
}

SPRAG_VECTORS
static void finish_all(sweeps *s, const batch_velocity *start)
{
    for (int i = 0; i < s->batches; i++) {
        finish(s, i, start);
    }
}

void batches_finish(sweeps *s, const batch_velocity *start)
{
    finish_all(s, start);
}
