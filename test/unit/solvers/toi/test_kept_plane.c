// Certificates that follow the plane of an earlier one: safe at other velocities, and hardly ever
// shorter than without it. And what a certificate reports of a cylinder that spins.
#include <check.h>
#include <math.h>
#include <string.h>

#include "certificate.h"
#include "chance.h"
#include "linalg.h"
#include "suite.h"

#define LEVEL 2e-8 // m

typedef struct pair {
    sprag_shape shape[2];
    sprag_motion motion[2];
    sprag_carried carried[2];
} pair;

static double gap_at(const pair *p, double t, sprag_gap *gap)
{
    sprag_pose pose[2];
    const sprag_shape *const shape[2] = {&p->shape[0], &p->shape[1]};
    const sprag_pose *const where[2] = {&pose[0], &pose[1]};
    const sprag_gap_query query = {.reach = INFINITY};
    sprag_carried_at(&p->carried[0], t, &pose[0]);
    sprag_carried_at(&p->carried[1], t, &pose[1]);
    ck_assert_int_ne(sprag_gap_find(shape, where, &query, NULL, gap, NULL), SPRAG_BAD_PROBLEM);
    return gap->distance;
}

// Boxes, balls and capsules in any poses, `gap` apart.
static void random_pair(pair *p, chance *dice, double gap)
{
    static const sprag_shape_kind kinds[] = {SPRAG_BOX, SPRAG_SPHERE, SPRAG_CAPSULE};
    sprag_gap found;
    for (int b = 0; b < 2; b++) {
        sprag_motion *m = &p->motion[b];
        double spin = chance_power(dice, -2, 2);
        p->shape[b] = (sprag_shape){.kind = kinds[(int)(3 * chance_fraction(dice))]};
        p->shape[b].radius = chance_between(dice, 0.05, 1);
        p->carried[b] = (sprag_carried){&p->shape[b], {.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}}, m};
        chance_rotation(dice, m->pose.rotation);
        chance_unit(dice, m->velocity + 3);
        for (int k = 0; k < 3; k++) {
            p->shape[b].half[k] = chance_between(dice, 0.05, 1);
            m->pose.position[k] = chance_between(dice, -3, 3);
            m->velocity[k] = chance_between(dice, -5, 5);
            m->velocity[3 + k] *= spin;
        }
    }
    for (int i = 0; i < 3; i++) {
        double distance = gap_at(p, 0, &found);
        add_scaled(p->motion[0].pose.position, gap - distance, found.normal, 3);
    }
}

START_TEST(a_kept_plane_serves_at_other_velocities)
{
    int tried = 0, shorter = 0;
    chance dice = {12};
    for (int i = 0; i < 10000; i++) {
        pair p;
        sprag_gap gap;
        sprag_certificate again = {0}, fresh = {0};
        double horizon = chance_power(&dice, -3, -1);
        random_pair(&p, &dice, chance_power(&dice, -6, -1));
        if (gap_at(&p, 0, &gap) < LEVEL) {
            continue;
        }
        sprag_time_of_impact(p.carried, &gap, LEVEL, horizon, &again);
        for (int k = 0; k < 6; k++) {
            p.motion[0].velocity[k] *= 1 + 0.01 * chance_between(&dice, -1, 1);
        }
        sprag_time_of_impact(p.carried, &gap, LEVEL, horizon, &again);
        sprag_time_of_impact(p.carried, &gap, LEVEL, horizon, &fresh);
        for (int s = 1; s <= 10 && again.time > 0; s++) {
            ck_assert_double_ge(gap_at(&p, again.time * s / 10, &gap), LEVEL - 1e-12);
        }
        shorter += again.time < 0.9 * fresh.time;
        tried++;
    }
    ck_assert_int_gt(tried, 8000);
    ck_assert_msg(shorter < tried / 100, "%d of %d", shorter, tried);
}
END_TEST

// A cylinder that turns about its own axis stays where it is: its rim comes down as that of one
// that does not turn. The axis is aslant, so that a point of a rim comes down, from 1 mm at 1 m/s.
START_TEST(a_spin_about_the_axis_is_not_reported)
{
    static const double spins[] = {0, 3, -40, 100}, above = 1e-3, radius = 0.3, half = 0.2;
    for (int i = 0; i < 2 * COUNT(spins); i++) {
        const int side = i % 2;
        const sprag_pose nowhere = {.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
        const sprag_motion turning = {.pose = nowhere, .velocity = {0, 0, 0, 0.7, 0.2, 0}};
        pair p = {0};
        sprag_gap gap;
        sprag_certificate c;
        sprag_motion *m = &p.motion[side];
        sprag_motion_at(&turning, 1, &m->pose);
        const double *R = m->pose.rotation, up = side ? -1 : 1;
        m->pose.position[2] = up * (above + half * R[8] + radius * sqrt(1 - R[8] * R[8]));
        m->velocity[0] = 0.3, m->velocity[2] = -up;
        for (int k = 0; k < 3; k++) {
            m->velocity[3 + k] = spins[i / 2] * R[3 * k + 2];
        }
        p.shape[side] = (sprag_shape){SPRAG_CYLINDER, .radius = radius, .half = {0, 0, half}};
        p.shape[!side] = (sprag_shape){SPRAG_BOX, .half = {2, 2, 0.5}};
        p.carried[side] = (sprag_carried){&p.shape[side], nowhere, m};
        p.carried[!side] = (sprag_carried){&p.shape[!side], nowhere, NULL};
        p.carried[!side].mount.position[2] = -up / 2;
        gap_at(&p, 0, &gap);
        sprag_time_of_impact(p.carried, &gap, LEVEL, 0.01, &c);
        ck_assert_double_eq_tol(c.time, above, 1e-2 * above);
        ck_assert_double_eq_tol(c.height, above, 1e-6);
        ck_assert_double_eq_tol(c.lowest, above - 0.01, 1e-5);
    }
}
END_TEST

// Two boxes of a heap, 5 um apart, turn on each other and meet after 8 ms, where two of their edges
// have become parallel and crossed the other way. The plane across these separates the boxes only
// then: its height is negative at first, and its normal is still that into box 0.
START_TEST(edges_that_pass_parallel_keep_their_side)
{
    static const double half[2][3] = {{0.205809685, 0.204196777, 0.185524174},
                                      {0.179733573, 0.299501071, 0.157604364}};
    static const double at[2][3] = {{0.159087748, 0.342094127, 0.220986536}, {0}};
    static const double turn[2][3] = {{-0.527686996, 0.167098817, 0.943579781},
                                      {2.53232423, -0.820230716, 0.307675874}};
    static const double v[2][6] = {
        {-1.235585, -0.173662, -0.302589, 0.533213, -1.251982, -4.571335},
        {-0.356843, -0.034385, -0.138931, 0.330176, 0.440254, -1.601227}};
    pair p;
    sprag_gap gap;
    sprag_certificate c = {0};
    for (int b = 0; b < 2; b++) {
        p.shape[b] = (sprag_shape){.kind = SPRAG_BOX};
        memcpy(p.shape[b].half, half[b], sizeof half[b]);
        memcpy(p.motion[b].pose.position, at[b], sizeof at[b]);
        memcpy(p.motion[b].velocity, v[b], sizeof v[b]);
        sprag_exponential(turn[b], p.motion[b].pose.rotation);
        p.carried[b] =
            (sprag_carried){&p.shape[b], {.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}}, &p.motion[b]};
    }
    ck_assert_double_eq_tol(gap_at(&p, 0, &gap), 4.6e-6, 1e-7);
    sprag_time_of_impact(p.carried, &gap, LEVEL, 0.01, &c);
    ck_assert_double_eq_tol(c.time, 0.00821, 1e-4);
    ck_assert_double_gt(dot3(c.normal, gap.normal), 0.99);
    ck_assert_double_lt(c.height, 0);
    ck_assert_double_gt(c.lowest, c.height);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kept planes");
    ADD_TESTS(suite, "all", {a_kept_plane_serves_at_other_velocities, 1},
              {a_spin_about_the_axis_is_not_reported, 1},
              {edges_that_pass_parallel_keep_their_side, 1});
    return run_suite(suite);
}
