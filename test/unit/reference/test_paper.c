// Algorithm 1 as published: its order, its steps, and that its bound for touching bodies lets them
// interpenetrate, where ours on the same body does not.
#include <check.h>
#include <math.h>
#include <string.h>

#include "chance.h"
#include "paper.h"
#include "suite.h"

#define FRAME 0.01   // s
#define GRAVITY 9.81 // m/s^2

typedef struct scene { // a box over a floor
    sprag_mover body;
    sprag_collider collider[2];
    sprag_pair pair;
    sprag_pair_memory memory;
    sprag_advance_options options;
    sprag_advance_stats stats;
    sprag_scratch scratch[2];
    double share;
} scene;

typedef sprag_result simulate(sprag_frame *, const sprag_advance_options *,
                              const sprag_frame_calls *, sprag_scratch[2], sprag_advance_stats *);

static void start(scene *s, double height)
{
    const sprag_pose nowhere = {{0}, {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    memset(s, 0, sizeof *s);
    s->body = (sprag_mover){.mass = 1,
                            .inertia = {1 / 6.0, 0, 0, 0, 1 / 6.0, 0, 0, 0, 1 / 6.0},
                            .pose = nowhere,
                            .force = {0, 0, -GRAVITY},
                            .gyroscopic = true};
    s->body.pose.position[2] = height;
    s->collider[0] =
        (sprag_collider){0, {.kind = SPRAG_BOX, .half = {0.5, 0.5, 0.5}}, nowhere, NULL};
    s->collider[1] = (sprag_collider){SPRAG_STATIC, {.kind = SPRAG_PLANE}, nowhere, NULL};
    s->pair = (sprag_pair){.collider = {0, 1}, .memory = &s->memory};
    s->options = sprag_advance_defaults();
    s->options.shortest = 1e-4;
}

static bool touch(void *data, int pair, double gap, double time)
{
    scene *s = data;
    (void)pair;
    (void)gap;
    (void)time;
    s->pair.surface = (sprag_surface){.slide = {.coefficient = {INFINITY, INFINITY}}};
    return true;
}

static void acted(void *data, const sprag_row *row, const double *row_force,
                  const double (*contact_force)[6], double share)
{
    (void)row;
    (void)row_force;
    (void)contact_force;
    ((scene *)data)->share += share;
}

static sprag_result run(scene *s, simulate *by, int frames)
{
    const sprag_frame_calls calls = {.data = s, .ask_pair = touch, .add_forces = acted};
    sprag_frame frame = {.step = FRAME,
                         .bodies = 1,
                         .colliders = 2,
                         .pairs = 1,
                         .body = &s->body,
                         .collider = s->collider,
                         .pair = &s->pair};
    sprag_result result = SPRAG_OK;
    for (int i = 0; i < frames && result == SPRAG_OK; i++) {
        sprag_scratch_reset(&s->scratch[0]);
        s->share = 0;
        result = by(&frame, &s->options, &calls, s->scratch, &s->stats);
        ck_assert_msg(result != SPRAG_OK || fabs(s->share - 1) < 1e-4, "share %.17g frame %d",
                      s->share, i);
    }
    return result;
}

static void end(scene *s)
{
    sprag_scratch_free(&s->scratch[0]);
    sprag_scratch_free(&s->scratch[1]);
}

static scene played, again;

// Positions first, at the old velocity: n steps fall g h^2 n (n - 1) / 2.
START_TEST(positions_go_first)
{
    start(&played, 100);
    ck_assert_int_eq(run(&played, sprag_paper_simulate, 20), SPRAG_OK);
    ck_assert_int_eq(played.stats.substeps, 20);
    ck_assert_int_eq(played.stats.limited, 0);
    double fallen = GRAVITY * FRAME * FRAME * 20 * 19 / 2;
    ck_assert_double_eq_tol(played.body.pose.position[2], 100 - fallen, 1e-12);
    ck_assert_double_eq_tol(played.body.velocity[2], -GRAVITY * FRAME * 20, 1e-12);
    end(&played);
}
END_TEST

// By (4), that closes the gap by its share: many steps, and never less than nothing. At rest, by
// (8), frame by frame.
START_TEST(falls_flat_and_rests)
{
    start(&played, 0.6);
    played.body.velocity[3] = 1e-3; // some spin, that the bound for its radius makes much of
    ck_assert_int_eq(run(&played, sprag_paper_simulate, 100), SPRAG_OK);
    ck_assert_int_gt(played.stats.limited, 10);
    ck_assert_double_ge(played.stats.least_gap, -1e-9);
    ck_assert_double_eq_tol(played.body.pose.position[2], 0.5, 2e-6);
    for (int k = 0; k < 6; k++) {
        ck_assert_double_eq_tol(played.body.velocity[k], 0, 1e-6);
    }
    long before = played.stats.substeps;
    ck_assert_int_eq(run(&played, sprag_paper_simulate, 10), SPRAG_OK);
    ck_assert_int_eq(played.stats.substeps - before, 10);
    ck_assert_double_eq_tol(played.pair.impulse[0][2], GRAVITY * FRAME, 1e-6);
    end(&played);
}
END_TEST

// A box that turns about a corner at rest on the floor; no forces.
static void pivot(scene *s, chance *dice)
{
    start(s, 0);
    double low = 0, corner[3] = {0};
    memset(s->body.force, 0, sizeof s->body.force);
    chance_rotation(dice, s->body.pose.rotation);
    for (int i = 0; i < 8; i++) {
        const double local[3] = {i & 1 ? 0.5 : -0.5, i & 2 ? 0.5 : -0.5, i & 4 ? 0.5 : -0.5};
        double arm[3];
        mul33(s->body.pose.rotation, local, arm);
        if (arm[2] < low) {
            low = arm[2];
            memcpy(corner, arm, sizeof corner);
        }
    }
    double turn[3];
    s->body.pose.position[2] = 5e-7 - low;
    for (int k = 0; k < 3; k++) {
        s->body.velocity[3 + k] = chance_between(dice, -10, 10);
    }
    cross3(s->body.velocity + 3, corner, turn);
    for (int k = 0; k < 3; k++) {
        s->body.velocity[k] = -turn[k];
    }
}

START_TEST(touching_bodies_may_leave_the_plane)
{
    enum { TRIALS = 50 };
    chance dice = {5};
    double paper = INFINITY, ours = INFINITY;
    for (int i = 0; i < TRIALS; i++) {
        chance same = dice;
        pivot(&played, &dice);
        pivot(&again, &same);
        ck_assert_int_eq(run(&played, sprag_paper_simulate, 5), SPRAG_OK);
        ck_assert_int_eq(run(&again, sprag_advance, 5), SPRAG_OK);
        paper = fmin(paper, played.stats.least_gap);
        ours = fmin(ours, again.stats.least_gap);
        end(&played);
        end(&again);
    }
    ck_assert_double_lt(paper, -1e-5);
    ck_assert_double_ge(ours, 0);
}
END_TEST

START_TEST(unsupported_geoms_are_refused)
{
    start(&played, 2);
    played.collider[0].shape = (sprag_shape){.kind = SPRAG_SPHERE, .radius = 0.5};
    sprag_mover before = played.body;
    before.strayed = before.swerved = 0;
    ck_assert_int_eq(run(&played, sprag_paper_simulate, 1), SPRAG_BAD_PROBLEM);
    ck_assert_int_eq(memcmp(&before, &played.body, sizeof before), 0);
    end(&played);
    start(&played, 2);
    played.body.velocity[0] = INFINITY;
    ck_assert_int_eq(run(&played, sprag_paper_simulate, 1), SPRAG_BAD_PROBLEM);
    end(&played);
    start(&played, 2);
    played.body.velocity[4] = 1e14; // no end of steps
    ck_assert_int_eq(run(&played, sprag_paper_simulate, 1), SPRAG_BAD_PROBLEM);
    ck_assert_double_eq(played.body.pose.position[2], 2);
    end(&played);
}
END_TEST

START_TEST(the_same_bits_twice)
{
    chance dice = {9}, same = dice;
    pivot(&played, &dice);
    pivot(&again, &same);
    played.body.force[2] = again.body.force[2] = -GRAVITY;
    ck_assert_int_eq(run(&played, sprag_paper_simulate, 50), SPRAG_OK);
    ck_assert_int_eq(run(&again, sprag_paper_simulate, 50), SPRAG_OK);
    ck_assert_int_eq(memcmp(&played.body, &again.body, sizeof played.body), 0);
    ck_assert_int_gt(played.stats.changes, 0);
    end(&played);
    end(&again);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("Algorithm 1");
    ADD_TESTS(suite, "all", {positions_go_first, 1}, {falls_flat_and_rests, 1},
              {touching_bodies_may_leave_the_plane, 1}, {unsupported_geoms_are_refused, 1},
              {the_same_bits_twice, 1});
    return run_suite(suite);
}
