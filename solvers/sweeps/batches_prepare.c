// Batches from the contacts of a problem: what the kernels of batches.c read.
#include "batches.h"

#include "batch_lanes.h"
#include "contact_lanes.h"
#include "kinematics.h"
#include "sweeps_run.h"

// GCC splits a comparison whose result is combined with that of another one into its lanes; hence
// SELECT where a `&` would do.

// bare: inverse mass by which yields are measured; w: what the rows of mechanisms leave of it.
// `give` holds compliance / step, `speed` softening.
INLINE void set_give(batch *c, const sprag_softness *soft, const lanes *bare, const lanes *w)
{
    lanes yield;
    yields_of(soft, (const lanes(*)[3])c->arm, &c->give, &c->speed, bare, &yield);
    lane_mask moves = *w > 0;
    lanes sum = yield + *w, give = 1 / DIVISOR(moves, sum);
    c->give = SELECT(moves, give, zeros);
}

// The axes of friction: scaled by the shape of the cone (in the diagonal of `basis`), then turned
// to the eigenvectors of their 2x2 part (a b; b d) of W.
INLINE void set_axes(batch *c, const lanes *w11, const lanes *w12, const lanes *w22)
{
    lanes s0 = c->basis[0][0], s1 = c->basis[1][1];
    lanes a = *w11 * s0 * s0, b = *w12 * s0 * s1, d = *w22 * s1 * s1;
    lanes half = 0.5 * (a - d), radius = half * half + b * b;
    root_of(&radius);
    lanes cosine = half / DIVISOR(radius > 0, radius); // of twice the angle
    cosine = SELECT(radius > 0, cosine, ones);
    lanes x = 0.5 + 0.5 * cosine, y = 0.5 - 0.5 * cosine;
    x = LARGER(x, zeros);
    y = LARGER(y, zeros);
    root_of(&x);
    root_of(&y);
    y = SELECT(b < 0, -y, y);
    c->basis[0][0] = x * s0;
    c->basis[0][1] = y * s1;
    c->basis[1][0] = -y * s0;
    c->basis[1][1] = x * s1;
    c->inverse_axis[0] = x * x * a + 2 * x * y * b + y * y * d;
    c->inverse_axis[1] = y * y * a - 2 * x * y * b + x * x * d;
}

// to_k = basis (of_1, of_2)
INLINE void change_axes(const batch *c, lanes *first, lanes *second)
{
    lanes u = *first, v = *second;
    *first = c->basis[0][0] * u + c->basis[0][1] * v;
    *second = c->basis[1][0] * u + c->basis[1][1] * v;
}

// Expected impulses p of the problem's axes: p = basis' q.
INLINE void change_impulses(const batch *c, lanes p[3])
{
    lanes det = c->basis[0][0] * c->basis[1][1] - c->basis[0][1] * c->basis[1][0];
    lane_mask good = det != 0;
    det = DIVISOR(good, det);
    lanes q0 = (c->basis[1][1] * p[1] - c->basis[1][0] * p[2]) / det;
    lanes q1 = (c->basis[0][0] * p[2] - c->basis[0][1] * p[1]) / det;
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

INLINE void take_friction(batch *c, const contact_lanes *of,
                          const sprag_contact *const contact[LANES], double step)
{
    lanes largest = LARGER(of->coefficient[1], of->coefficient[0]);
    lanes bounded = SELECT(largest < INFINITY, largest, zeros);
    lane_mask shaped = bounded > 0;
    c->bonded = largest == INFINITY;
    c->coefficient = SELECT(largest < 1e100, largest, 1e100 * ones); // room for products
    c->coefficient = SELECT(c->bonded, zeros, c->coefficient);
    for (int k = 0; k < 2; k++) {
        lanes share = of->coefficient[k] / DIVISOR(shaped, largest);
        c->basis[k][k] = SELECT(shaped, share, ones);
        c->offset[1 + k] = -of->velocity[k];
    }
    c->creep = of->slip[0] / step;
    for (int l = 0; l < LANES; l++) {
        c->bound[l] = contact[l]->slide.force[0] ? step : 0;
    }
}

_Static_assert(AT(guess) == sizeof(sprag_contact) - 3 * sizeof(double), "guess");

// The data of four contacts as the problem has them; zeros, of the static node, in unused lanes.
// sides: that may move.
INLINE void take(sweeps *s, int i, const int sides)
{
    static const sprag_contact none = {.body = {SPRAG_STATIC, SPRAG_STATIC}};
    batch *c = &s->batch[i];
    const sprag_contact *contact[LANES];
    contact_lanes of;
    lanes r[NUMBERS];
    double step = s->problem->step;
    for (int l = 0; l < LANES; l++) {
        contact[l] = c->contact[l] < 0 ? &none : &s->problem->contact[c->contact[l]];
    }
    load_contacts(contact, &of);
    memcpy(c->arm, of.arm, sizeof c->arm);
    memcpy(c->frame, of.frame, sizeof c->frame);
    c->offset[0] = -of.bias;
    c->give = of.compliance / step;
    c->speed = of.softening;
    c->stiction = of.stiction;
    take_friction(c, &of, contact, step);
    for (int l = 0; l < LANES && s->nodes < s->problem->bodies; l++) {
        add_kinematic(s, contact[l], c, l);
    }
    load_four((const void *const *)contact, sizeof(sprag_contact) - LANES * sizeof(double), r);
    lane_mask known = r[1] > 0;
    for (int k = 0; k < 3; k++) {
        lanes impulse = r[1 + k] * step;
        s->x.impulse[i][k] = SELECT(known, impulse, zeros);
    }
    for (int side = 0; side < sides; side++) {
        load((const batch_velocity *)s->mass, c->node[side], r);
        c->inverse_mass[side] = r[0];
        memcpy(c->inertia[side], r + 1, sizeof c->inertia[side]);
    }
}

INLINE void note(const lane_mask *moves, const lanes *value, lanes *least, lanes *most)
{
    lanes low = SELECT(*moves, *value, *least), high = SELECT(*moves, *value, *most);
    *least = SELECT(low < *least, low, *least);
    *most = LARGER(high, *most);
}

// J M^-1 J' of the contacts, above the diagonal and on it.
INLINE void set_inverse_mass(const batch *c, const int sides, lanes W[3][3])
{
    lanes lever[2][3][3], turned[2][3][3], mass = zeros;
    for (int side = 0; side < sides; side++) {
        mass += c->inverse_mass[side];
        for (int k = 0; k < 3; k++) {
            cross(c->arm[side], c->frame[k], lever[side][k]);
            turn(c->inertia[side], lever[side][k], turned[side][k]);
        }
    }
    for (int j = 0; j < 3; j++) {
        for (int k = j; k < 3; k++) {
            lanes sum = zeros;
            for (int m = 0; m < 3; m++) {
                sum += mass * c->frame[j][m] * c->frame[k][m];
                for (int side = 0; side < sides; side++) {
                    sum += lever[side][j][m] * turned[side][k][m];
                }
            }
            W[j][k] = sum;
        }
    }
}

INLINE void finish(sweeps *s, int i, const int sides, const batch_link *link,
                   const batch_velocity *start, lanes *fastest)
{
    batch *c = &s->batch[i];
    lanes W[3][3], v[2][NUMBERS], slip[3];
    take(s, i, sides);
    set_inverse_mass(c, sides, W);
    lanes bare = link ? W[0][0] + link->bare : W[0][0];
    for (int j = 0; j < 3 && link; j++) {
        for (int k = j; k < 3; k++) {
            W[j][k] += link->inverse_mass[j][k];
        }
    }
    set_give(c, &s->soft, &bare, &W[0][0]);
    lanes creep = s->soft.share.friction * W[1][1];
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
    for (int side = 0; side < sides; side++) {
        load(start, link ? link->node[side] : c->node[side], v[side]);
    }
    slip_of(c, sides, (const lanes(*)[NUMBERS])v, slip);
    c->speed = slip[1] * slip[1] + slip[2] * slip[2];
    root_of(&c->speed);
    *fastest = LARGER(*fastest, c->speed);
}

SPRAG_VECTORS
static void finish_all(sweeps *s, const batch_velocity *start, lanes *fastest)
{
    for (int i = 0; i < s->grounded_batches; i++) {
        finish(s, i, 1, NULL, start, fastest);
    }
    for (int i = s->grounded_batches; i < s->batches; i++) {
        bool linked = i >= s->free_batches;
        finish(s, i, 2, linked ? &s->link[i - s->free_batches] : NULL, start, fastest);
    }
}

void batches_prepare(sweeps *s, const batch_velocity *start, batch_slips *slips)
{
    lanes fastest = zeros;
    finish_all(s, start, &fastest);
    for (int l = 0; l < LANES; l++) {
        slips->fastest = fmax(slips->fastest, fastest[l]);
    }
}

// Four at once of sprag_stiction_tolerance.
SPRAG_VECTORS
static void set_stiction(sweeps *s, double moving, double least, lanes range[2])
{
    lanes floor = least * ones, ceiling = moving * ones;
    for (int i = 0; i < s->batches; i++) {
        batch *c = &s->batch[i];
        lane_mask moves = c->give > 0;
        lanes own = SPRAG_STICTION_OWN * c->speed;
        own = LARGER(own, floor);
        own = SELECT(own < ceiling, own, ceiling);
        c->stiction = SELECT(c->stiction > 0, c->stiction, own);
        c->speed = zeros;
        note(&moves, &c->stiction, &range[0], &range[1]);
    }
}

void batches_set_stiction(sweeps *s, const sprag_stiction *stiction, batch_slips *slips)
{
    lanes range[2] = {INFINITY * ones, zeros};
    double least = fmax(stiction->at_rest, SPRAG_STICTION_LEAST * slips->fastest);
    set_stiction(s, stiction->moving, least, range);
    for (int l = 0; l < LANES; l++) {
        slips->least = fmin(slips->least, range[0][l]);
        slips->most = fmax(slips->most, range[1][l]);
    }
}
