// Certificates of pairs in other units of length and time, powers of two times as large: the same
// to the last bit, by as much work.
#include <check.h>
#include <math.h>

#include "certificate.h"
#include "chance.h"
#include "suite.h"

typedef struct pair {
    sprag_shape shape[2];
    sprag_motion motion[2];
    sprag_carried carried[2];
} pair;

static void change(double *x, int count, int exponent)
{
    for (int i = 0; i < count; i++) {
        x[i] = ldexp(x[i], exponent);
    }
}

// Near each other, in motion; one may be at rest, or a plane.
static void open_pair(pair *p, chance *dice)
{
    *p = (pair){0};
    for (int side = 0; side < 2; side++) {
        sprag_shape *shape = &p->shape[side];
        sprag_motion *m = &p->motion[side];
        shape->kind = (sprag_shape_kind)(chance_between(dice, 0, 1) * (SPRAG_POLYTOPE + side));
        shape->kind = shape->kind == SPRAG_POLYTOPE ? SPRAG_PLANE : shape->kind;
        const bool box = shape->kind == SPRAG_BOX, round = shape->kind == SPRAG_SPHERE;
        for (int k = 0; k < 3; k++) {
            shape->half[k] = box || (k == 2 && !round) ? chance_between(dice, 0.1, 0.5) : 0;
        }
        shape->radius = box ? 0 : chance_between(dice, 0.1, 0.5);
        chance_rotation(dice, m->pose.rotation);
        chance_unit(dice, m->pose.position);
        chance_unit(dice, m->velocity);
        chance_unit(dice, m->velocity + 3);
        const double speed = chance_power(dice, -1, 1), spin = chance_power(dice, -1, 2);
        for (int k = 0; k < 3; k++) {
            m->velocity[k] *= speed;
            m->velocity[3 + k] *= spin;
        }
    }
}

static sprag_certificate certify_above(pair *p, double level, double horizon)
{
    const sprag_shape *shape[2];
    const sprag_pose *pose[2];
    static const sprag_pose centred = {{0}, {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    sprag_certificate c = {0};
    sprag_gap gap;
    for (int side = 0; side < 2; side++) {
        p->carried[side] = (sprag_carried){&p->shape[side], centred, &p->motion[side]};
        shape[side] = &p->shape[side];
        pose[side] = &p->motion[side].pose;
    }
    const sprag_gap_query query = {.reach = INFINITY};
    ck_assert_int_ne(sprag_gap_find(shape, pose, &query, NULL, &gap, NULL), SPRAG_BAD_PROBLEM);
    sprag_time_of_impact(p->carried, &gap, level, horizon, &c);
    return c;
}

static sprag_certificate certify(pair *p, int metre, int second)
{
    for (int side = 0; side < 2; side++) {
        sprag_motion *m = &p->motion[side];
        change(&p->shape[side].radius, 1, metre);
        change(p->shape[side].half, 3, metre);
        change(m->pose.position, 3, metre);
        change(m->velocity, 3, metre - second);
        change(m->velocity + 3, 3, -second);
    }
    return certify_above(p, ldexp(1e-6, metre), ldexp(0.1, second));
}

START_TEST(units_change_no_digit)
{
    static const int unit[][2] = {{10, 0}, {-10, 0}, {0, 10}, {0, -10}};
    chance dice = {11};
    int ends = 0;
    for (int i = 0; i < 10000; i++) {
        pair p, other;
        open_pair(&p, &dice);
        other = p;
        sprag_certificate a = certify(&p, 0, 0), b = certify(&other, unit[_i][0], unit[_i][1]);
        change(&a.time, 1, unit[_i][1]);
        change(&a.height, 1, unit[_i][0]);
        change(&a.lowest, 1, unit[_i][0]);
        change(a.point, 3, unit[_i][0]);
        ck_assert_double_eq(b.time, a.time);
        ck_assert_double_eq(b.height, a.height);
        ck_assert_double_eq(b.lowest, a.lowest);
        ck_assert_int_eq(b.whole, a.whole);
        ck_assert_int_eq(b.side, a.side);
        ck_assert_mem_eq(b.point, a.point, sizeof a.point);
        ck_assert_mem_eq(b.normal, a.normal, sizeof a.normal);
        ck_assert_int_eq(b.expansions, a.expansions);
        ends += !a.whole && a.time > 0;
    }
    ck_assert_int_gt(ends, 500);
}
END_TEST

// Balls that approach at 2 m/s end at a thousandth above the level, or half of the way to it where
// they are nearer.
START_TEST(margins_are_a_thousandth_or_half_of_the_way)
{
    static const double level = 1e-3, above[] = {2e-4, 2e-6, 1.8e-6, 1e-7}; // m
    const double gap = level + above[_i], margin = fmin(1e-3 * level, above[_i] / 2);
    pair p = {0};
    for (int side = 0; side < 2; side++) {
        p.shape[side] = (sprag_shape){.kind = SPRAG_SPHERE, .radius = 0.5};
        p.motion[side] = (sprag_motion){
            .pose = {{0, 0, side ? 0 : 1 + gap}, {1, 0, 0, 0, 1, 0, 0, 0, 1}},
            .velocity = {0, 0, side ? 1 : -1},
        };
    }
    const sprag_certificate c = certify_above(&p, level, 0.1);
    ck_assert_double_eq_tol(c.time, (above[_i] - margin) / 2, 1e-12);
    ck_assert(!c.whole);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("certificate_units");
    ADD_TESTS(suite, "certificates", {units_change_no_digit, 4},
              {margins_are_a_thousandth_or_half_of_the_way, 4});
    return run_suite(suite);
}
