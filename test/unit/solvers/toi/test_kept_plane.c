// Certificates that follow the plane of an earlier one: safe at other velocities, and hardly ever
// shorter than without it.
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
        sprag_certificate again, fresh;
        double horizon = chance_power(&dice, -3, -1);
        random_pair(&p, &dice, chance_power(&dice, -6, -1));
        if (gap_at(&p, 0, &gap) < LEVEL) {
            continue;
        }
        sprag_time_of_impact(p.carried, &gap, LEVEL, horizon, &again);
        for (int k = 0; k < 6; k++) {
            p.motion[0].velocity[k] *= 1 + 0.01 * chance_between(&dice, -1, 1);
        }
        sprag_time_of_impact_again(p.carried, &gap, LEVEL, horizon, &again);
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

int main(void)
{
    Suite *suite = suite_create("kept planes");
    ADD_TESTS(suite, "all", {a_kept_plane_serves_at_other_velocities, 1});
    return run_suite(suite);
}
