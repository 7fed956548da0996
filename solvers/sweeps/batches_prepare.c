// Batches from the contacts of a problem: what the kernels of batches.c read.
#include "batches.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "kinematics.h"
#include "lanes.h"
#include "sweeps_run.h"

// GCC splits a comparison whose result is combined with that of another one into its lanes; hence
// SELECT where a `&` would do.

// Four at once of sprag_contact_yield. `give` and `speed` hold compliance / step and softening.
// bare: inverse mass by which yields are measured; w: what the rows of mechanisms leave of it.
INLINE void set_give(batch *c, const sprag_softness *soft, const batch_real *bare,
                     const batch_real *w)
{
    batch_real length[2];
    for (int side = 0; side < 2; side++) {
        const batch_real *r = c->arm[side];
        length[side] = r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
    }
    batch_real lever = LARGER(length[0], length[1]);
    root(&lever);
    batch_real most = ones * (SPRAG_SOFT_HEAVIEST / soft->heaviest), share = c->speed;
    batch_real unit = SELECT(*bare < most, *bare, most), fall = ones * soft->fall;
    fall = SELECT(lever > 0, fall, zeros);
    batch_mask falls = fall > SPRAG_SOFT_FALL * lever;
    batch_real less = share * (SPRAG_SOFT_FALL * lever / DIVISOR(falls, fall));
    share = SELECT(falls, less, share);
    batch_real least = ones * SPRAG_SOFT_LEAST, yield = share * soft->share.normal;
    yield = LARGER(yield, least) * unit;
    yield = soft->share.normal > 0 ? LARGER(c->give, yield) : c->give;
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
    det = SELECT(c->give > 0, det, zeros);
    batch_mask good = det != 0;
    det = DIVISOR(good, det);
    batch_real q0 = (c->basis[1][1] * p[1] - c->basis[1][0] * p[2]) / det;
    batch_real q1 = (c->basis[0][0] * p[2] - c->basis[0][1] * p[1]) / det;
    p[0] = SELECT(c->give > 0, p[0], zeros);
    p[1] = SELECT(good, q0, zeros);
    p[2] = SELECT(good, q1, zeros);
}

// Adds the velocity of kinematic bodies to the relative velocity, in the frame of the contact.
static void add_kinematic(const sweeps *s, const sprag_contact *contact, batch *c, int l)
{
    for (int side = 0; side < 2; side++) {
        int b = contact->body[side];
        if (b != SPRAG_STATIC && s->node_of[b] == s->nodes) {
            double u[3];
            point_velocity(s->problem->body[b].velocity, contact->arm[side], u);
            for (int k = 0; k < 3; k++) {
                c->offset[k][l] += (side ? -1 : 1) * dot3(contact->frame[k], u);
            }
        }
    }
}

// Eight numbers, one after the other in each of four contacts: number by number.
INLINE void load_contacts(const sprag_contact *const contact[LANES], size_t first,
                          batch_real r[NUMBERS])
{
    for (int l = 0; l < LANES; l++) {
        const char *from = (const char *)contact[l] + first;
        memcpy(&r[l], from, sizeof r[l]);
        memcpy(&r[LANES + l], from + sizeof r[l], sizeof r[l]);
    }
    transpose(r);
    transpose(r + LANES);
}

#define AT(member) offsetof(sprag_contact, member)
#define FOLLOWS(member, before, numbers)                                                           \
    _Static_assert(AT(member) == AT(before) + (numbers) * sizeof(double), #member)
FOLLOWS(frame, arm, 6);
FOLLOWS(bias, arm, 16);
FOLLOWS(compliance, bias, 1);
FOLLOWS(softening, bias, 2);
FOLLOWS(stiction, bias, 6);
FOLLOWS(slide.velocity, slide.coefficient, 2);
FOLLOWS(slide.slip, slide.coefficient, 4);
_Static_assert(AT(guess) == sizeof(sprag_contact) - 3 * sizeof(double), "guess");

INLINE void take_friction(batch *c, const batch_real slide[NUMBERS],
                          const sprag_contact *const contact[LANES], double step)
{
    batch_real largest = LARGER(slide[1], slide[0]);
    batch_real bounded = SELECT(largest < INFINITY, largest, zeros);
    batch_mask shaped = bounded > 0;
    c->bonded = largest == INFINITY;
    c->coefficient = SELECT(largest < 1e100, largest, 1e100 * ones); // room for products
    c->coefficient = SELECT(c->bonded, zeros, c->coefficient);
    for (int k = 0; k < 2; k++) {
        batch_real share = slide[k] / DIVISOR(shaped, largest);
        c->basis[k][k] = SELECT(shaped, share, ones);
        c->offset[1 + k] = -slide[2 + k];
    }
    c->creep = slide[4] / step;
    for (int l = 0; l < LANES; l++) {
        c->bound[l] = contact[l]->slide.force[0] ? step : 0;
    }
}

// The data of four contacts as the problem has them; zeros, of the static node, in unused lanes.
INLINE void take(sweeps *s, int i)
{
    static const sprag_contact none = {.body = {SPRAG_STATIC, SPRAG_STATIC}};
    batch *c = &s->batch[i];
    const sprag_contact *contact[LANES];
    batch_real r[NUMBERS], more[NUMBERS];
    double step = s->problem->step;
    for (int l = 0; l < LANES; l++) {
        contact[l] = c->contact[l] < 0 ? &none : &s->problem->contact[c->contact[l]];
    }
    load_contacts(contact, AT(arm), r);
    load_contacts(contact, AT(arm) + NUMBERS * sizeof(double), more);
    for (int k = 0; k < 3; k++) {
        c->arm[0][k] = r[k];
        c->arm[1][k] = r[3 + k];
        c->frame[1][k] = more[1 + k];
        c->frame[2][k] = more[4 + k];
    }
    c->frame[0][0] = r[6], c->frame[0][1] = r[7], c->frame[0][2] = more[0];
    load_contacts(contact, AT(bias), r);
    c->offset[0] = -r[0];
    c->give = r[1] / step;
    c->speed = r[2];
    c->stiction = r[6];
    load_contacts(contact, AT(slide), r);
    take_friction(c, r, contact, step);
    for (int l = 0; l < LANES && s->nodes < s->problem->bodies; l++) {
        add_kinematic(s, contact[l], c, l);
    }
    load_contacts(contact, sizeof(sprag_contact) - NUMBERS * sizeof(double), r);
    batch_mask known = r[5] > 0;
    for (int k = 0; k < 3; k++) {
        batch_real impulse = r[5 + k] * step;
        s->x.impulse[i][k] = SELECT(known, impulse, zeros);
    }
    for (int side = 0; side < 2; side++) {
        load((const batch_velocity *)s->mass, c->node[side], r);
        c->inverse_mass[side] = r[0];
        memcpy(c->inertia[side], r + 1, sizeof c->inertia[side]);
    }
}

INLINE void note(const batch_mask *moves, const batch_real *value, batch_real *least,
                 batch_real *most)
{
    batch_real low = SELECT(*moves, *value, *least), high = SELECT(*moves, *value, *most);
    *least = SELECT(low < *least, low, *least);
    *most = LARGER(high, *most);
}

INLINE void finish(sweeps *s, int i, const batch_link *link, const batch_velocity *start,
                   batch_real *fastest)
{
    batch *c = &s->batch[i];
    batch_real W[3][3], lever[2][3][3], turned[2][3][3], mass, a[NUMBERS], b[NUMBERS], slip[3];
    take(s, i);
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
    batch_real bare = link ? W[0][0] + link->bare : W[0][0];
    for (int j = 0; j < 3 && link; j++) {
        for (int k = j; k < 3; k++) {
            W[j][k] += link->inverse_mass[j][k];
        }
    }
    set_give(c, &s->soft, &bare, &W[0][0]);
    batch_real creep = s->soft.share.friction * W[1][1];
    c->creep = LARGER(c->creep, creep);
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
    load(start, link ? link->node[0] : c->node[0], a);
    load(start, link ? link->node[1] : c->node[1], b);
    slip_of(c, a, b, slip);
    c->speed = slip[1] * slip[1] + slip[2] * slip[2];
    root(&c->speed);
    *fastest = LARGER(*fastest, c->speed);
}

SPRAG_VECTORS
static void finish_all(sweeps *s, const batch_velocity *start, batch_real *fastest)
{
    for (int i = 0; i < s->batches; i++) {
        bool linked = i >= s->free_batches;
        finish(s, i, linked ? &s->link[i - s->free_batches] : NULL, start, fastest);
    }
}

void batches_prepare(sweeps *s, const batch_velocity *start, batch_slips *slips)
{
    batch_real fastest = zeros;
    finish_all(s, start, &fastest);
    for (int l = 0; l < LANES; l++) {
        slips->fastest = fmax(slips->fastest, fastest[l]);
    }
}

// Four at once of sprag_stiction_tolerance.
SPRAG_VECTORS
static void set_stiction(sweeps *s, double moving, double least, batch_real range[2])
{
    batch_real floor = least * ones, ceiling = moving * ones;
    for (int i = 0; i < s->batches; i++) {
        batch *c = &s->batch[i];
        batch_mask moves = c->give > 0;
        batch_real own = SPRAG_STICTION_OWN * c->speed;
        own = LARGER(own, floor);
        own = SELECT(own < ceiling, own, ceiling);
        c->stiction = SELECT(c->stiction > 0, c->stiction, own);
        c->speed = zeros;
        note(&moves, &c->stiction, &range[0], &range[1]);
    }
}

void batches_set_stiction(sweeps *s, const sprag_stiction *stiction, batch_slips *slips)
{
    batch_real range[2] = {INFINITY * ones, zeros};
    double least = fmax(stiction->at_rest, SPRAG_STICTION_LEAST * slips->fastest);
    set_stiction(s, stiction->moving, least, range);
    for (int l = 0; l < LANES; l++) {
        slips->least = fmin(slips->least, range[0][l]);
        slips->most = fmax(slips->most, range[1][l]);
    }
}
