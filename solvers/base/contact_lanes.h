// Four contacts or rows of a problem at once. Only kernels include it.
#ifndef SPRAG_CONTACT_LANES_H
#define SPRAG_CONTACT_LANES_H

#include <stddef.h>

#include "lanes.h"
#include "softness.h"

// Numbers 0 to 3 and 2 to 5 of six in each of four structs.
INLINE void load_six(const void *const from[LANES], size_t first, lanes r[6])
{
    lanes more[LANES];
    load_four(from, first, r);
    load_four(from, first + 2 * sizeof(double), more);
    r[4] = more[2], r[5] = more[3];
}

// x . I x
INLINE void weigh(const lanes I[9], const lanes x[3], lanes *sum)
{
    lanes turned[3];
    for (int k = 0; k < 3; k++) {
        dot_of(I + 3 * k, x, &turned[k]);
    }
    dot_of(x, turned, sum);
}

// ---- contacts

// Members as in sprag_contact.
typedef struct contact_lanes {
    lanes arm[2][3], frame[3][3], bias, compliance, softening, erp, stiction;
    lanes coefficient[2], velocity[2], slip[2]; // of slide
} contact_lanes;

#define AT(member) offsetof(sprag_contact, member)
#define FOLLOWS(member, before, numbers)                                                           \
    _Static_assert(AT(member) == AT(before) + (numbers) * sizeof(double), #member)
FOLLOWS(frame, arm, 6);
FOLLOWS(bias, arm, 16);
FOLLOWS(compliance, bias, 1);
FOLLOWS(softening, bias, 2);
FOLLOWS(erp, bias, 3);
FOLLOWS(stiction, bias, 6);
FOLLOWS(slide.coefficient, bias, 7);
FOLLOWS(slide.velocity, slide.coefficient, 2);
FOLLOWS(slide.slip, slide.coefficient, 4);

INLINE void load_contacts(const sprag_contact *const of[LANES], contact_lanes *c)
{
    const void *const *from = (const void *const *)of;
    lanes r[LANES], more[LANES], rest[LANES], last[LANES];
    load_four(from, AT(arm), r);
    load_four(from, AT(arm) + 4 * sizeof(double), more);
    load_four(from, AT(arm) + 8 * sizeof(double), rest);
    load_four(from, AT(arm) + 11 * sizeof(double), last);
    for (int k = 0; k < 3; k++) {
        c->arm[0][k] = r[k];
        c->frame[1][k] = k < 2 ? rest[1 + k] : last[0];
        c->frame[2][k] = last[1 + k];
    }
    c->arm[1][0] = r[3], c->arm[1][1] = more[0], c->arm[1][2] = more[1];
    c->frame[0][0] = more[2], c->frame[0][1] = more[3], c->frame[0][2] = rest[0];
    load_four(from, AT(bias), r);
    c->bias = r[0], c->compliance = r[1], c->softening = r[2], c->erp = r[3];
    load_four(from, AT(stiction), r);
    load_four(from, AT(slide) + 3 * sizeof(double), more);
    c->stiction = r[0];
    c->coefficient[0] = r[1], c->coefficient[1] = r[2];
    c->velocity[0] = r[3], c->velocity[1] = more[0];
    c->slip[0] = more[1], c->slip[1] = more[2];
}

// As sprag_contact_yield, where w > 0. compliance: over the step, m/s per N s.
INLINE void yields_of(const sprag_softness *soft, const lanes arm[2][3], const lanes *compliance,
                      const lanes *softening, const lanes *w, lanes *yield)
{
    lanes length[2];
    dot_of(arm[0], arm[0], &length[0]);
    dot_of(arm[1], arm[1], &length[1]);
    lanes lever = LARGER(length[0], length[1]);
    root_of(&lever);
    lanes most = ones * (SPRAG_SOFT_HEAVIEST / soft->heaviest), share = *softening;
    lanes unit = SMALLER(*w, most), fall = ones * soft->fall;
    fall = SELECT(lever > 0, fall, zeros);
    lane_mask falls = fall > SPRAG_SOFT_FALL * lever;
    lanes less = share * (SPRAG_SOFT_FALL * lever / DIVISOR(falls, fall));
    share = SELECT(falls, less, share);
    lanes least = ones * SPRAG_SOFT_LEAST, sum = share * soft->share.normal;
    sum = LARGER(sum, least) * unit;
    *yield = soft->share.normal > 0 ? LARGER(*compliance, sum) : *compliance;
}

// ---- rows

// J M^-1 J', and the two parts of sprag_row_unit.
typedef struct row_lanes {
    lanes w, linear, angular;
} row_lanes;

// Adds one side of four rows. Sets J, that of the side.
INLINE void add_side_of_rows(const sprag_row *const of[LANES], int side, const lanes *inverse_mass,
                             const lanes inverse[9], row_lanes *to, lanes J[6])
{
    const size_t first = offsetof(sprag_row, jacobian) + (size_t)side * sizeof(double[6]);
    lanes linear, angular, sum;
    load_six((const void *const *)of, first, J);
    dot_of(J, J, &linear);
    dot_of(J + 3, J + 3, &angular);
    weigh(inverse, J + 3, &sum);
    to->w += *inverse_mass * linear + sum;
    to->linear += linear * *inverse_mass;
    to->angular += angular * (inverse[0] + inverse[4] + inverse[8]) / 3;
}

// As sprag_row_yield. compliance: over the step, m/s per N s.
INLINE void yields_of_rows(const sprag_softness *soft, const row_lanes *rows,
                           const lanes *compliance, lanes *yield)
{
    const lanes unit = SELECT(rows->linear > 0, rows->linear, rows->angular);
    const lanes least = soft->share.row * unit, hard = ones * INFINITY;
    const lanes own = LARGER(*compliance, least);
    *yield = SELECT(unit > 0, own, hard);
}

#endif
