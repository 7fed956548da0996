// The bound of second order: what it calls apart is apart, by the gap query; where motion is
// straight it is exact.
#include <check.h>
#include <math.h>

#include "certificate.h"
#include "chance.h"
#include "suite.h"

static const double level = 2e-8; // m

typedef struct pair {
    sprag_shape shape[2];
    sprag_motion motion[2];
    sprag_carried carried[2];
    sprag_pose now[2];
    double corner[2][3][3], face[2][2][3]; // of triangles
    sprag_polytope triangle[2];
} pair;

static void set_side(pair *p, int side, sprag_shape shape, bool moves)
{
    static const sprag_pose centred = {{0}, {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    sprag_motion *m = &p->motion[side];
    p->shape[side] = shape;
    p->carried[side] =
        (sprag_carried){&p->shape[side], moves ? centred : m->pose, moves ? m : NULL};
    p->now[side] = m->pose;
}

static void open_pair(pair *p, chance *dice)
{
    for (int side = 0; side < 2; side++) {
        sprag_motion *m = &p->motion[side];
        sprag_shape shape = {.kind = (sprag_shape_kind)chance_between(dice, 0, SPRAG_PLANE + side)};
        const double speed = chance_power(dice, -1, 1), spin = chance_power(dice, -1, 1.5);
        for (int k = 0; k < 3; k++) {
            shape.half[k] = chance_between(dice, 0.1, 0.5);
            chance_unit(dice, p->corner[side][k]);
        }
        shape.radius = chance_between(dice, 0.1, 0.5);
        if (shape.kind == SPRAG_POLYTOPE) {
            p->triangle[side] =
                sprag_triangle_make((const double(*)[3])p->corner[side], p->face[side]);
            shape.polytope = &p->triangle[side];
        }
        chance_rotation(dice, m->pose.rotation);
        chance_unit(dice, m->pose.position);
        chance_unit(dice, m->velocity);
        chance_unit(dice, m->velocity + 3);
        scale3(speed, m->velocity, m->velocity);
        scale3(spin, m->velocity + 3, m->velocity + 3);
        set_side(p, side, shape, side == 0 || chance_between(dice, 0, 1) < 0.5);
    }
}

static bool stay_apart(const pair *p, const double normal[3], double horizon)
{
    const sprag_pose *const pose[2] = {&p->now[0], &p->now[1]};
    return sprag_stay_apart(p->carried, pose, normal, level, horizon);
}

START_TEST(what_is_called_apart_is_apart)
{
    enum { RUNS = 20000, TIMES = 16 };
    chance dice = {5};
    int found = 0, whole = 0;
    for (int i = 0; i < RUNS; i++) {
        pair p;
        sprag_gap gap;
        double off[3];
        open_pair(&p, &dice);
        const double horizon = chance_power(&dice, -3, -1);
        ck_assert_int_ne(sprag_carried_gap(p.carried, 0, INFINITY, &gap), SPRAG_BAD_PROBLEM);
        if (i % 2 && p.shape[1].kind != SPRAG_PLANE) {
            chance_unit(&dice, off);
            add_scaled(gap.normal, 0.1, off, 3);
            normalise3(gap.normal);
        }
        const bool apart = stay_apart(&p, gap.normal, horizon);
        double least = gap.distance;
        for (int k = 1; k <= TIMES; k++) {
            ck_assert_int_ne(sprag_carried_gap(p.carried, horizon * k / TIMES, INFINITY, &gap),
                             SPRAG_BAD_PROBLEM);
            least = fmin(least, gap.distance);
        }
        ck_assert_msg(!apart || least > level - 1e-12, "run %d: gap %g", i, least);
        found += apart;
        whole += least > level;
    }
    ck_assert_msg(found > 0.7 * whole, "%d of %d", found, whole);
}
END_TEST

// A ball that rolls, a cylinder that hardly does, and a box that turns on the spot come down to a
// triangle by their speed alone.
START_TEST(straight_motion_is_bounded_exactly)
{
    static const sprag_shape of[] = {
        {.kind = SPRAG_SPHERE, .radius = 0.3},
        {.kind = SPRAG_CYLINDER, .radius = 0.3, .half = {0, 0, 0.1}},
        {.kind = SPRAG_BOX, .half = {0.1, 0.2, 0.3}},
    };
    static const double corner[3][3] = {{-9, 9, 0}, {-9, -9, 0}, {9, 0, 0}}, up[3] = {0, 0, 1},
                        gap = 1e-3, speed = 1;
    pair p = {.motion[1].pose.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    p.triangle[1] = sprag_triangle_make(corner, p.face[1]);
    p.motion[0] = (sprag_motion){.pose = {{0, 0, 0.3 + gap}, {1, 0, 0, 0, 0, -1, 0, 1, 0}},
                                 .velocity = {3, 0, -speed, 0, 10, 0}};
    if (of[_i].kind == SPRAG_CYLINDER) {
        p.motion[0].velocity[4] = 1;
    } else if (of[_i].kind == SPRAG_BOX) {
        memcpy(p.motion[0].pose.rotation, p.motion[1].pose.rotation, sizeof p.now->rotation);
        memcpy(p.motion[0].velocity + 3, (double[3]){0, 0, 10}, sizeof up);
    }
    set_side(&p, 0, of[_i], true);
    set_side(&p, 1, (sprag_shape){.kind = SPRAG_POLYTOPE, .polytope = &p.triangle[1]}, false);
    const double end = (gap - level) / speed;
    ck_assert(!stay_apart(&p, up, end * 1.0001));
    ck_assert(stay_apart(&p, up, end * (of[_i].kind == SPRAG_SPHERE ? 0.9999 : 0.99)));
}
END_TEST

START_TEST(nonsense_is_not_apart)
{
    chance dice = {7};
    pair p;
    open_pair(&p, &dice);
    static const double zero[3];
    ck_assert(!stay_apart(&p, zero, 0));
    for (int k = 0; k < 6; k++) {
        open_pair(&p, &dice);
        p.motion[0].velocity[k] = k % 2 ? NAN : INFINITY;
        ck_assert(!stay_apart(&p, (double[3]){0, 0, 1}, 0.01));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("apart");
    ADD_TESTS(suite, "certificates", {what_is_called_apart_is_apart, 1},
              {straight_motion_is_bounded_exactly, 3}, {nonsense_is_not_apart, 1});
    return run_suite(suite);
}
