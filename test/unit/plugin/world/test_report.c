// Statistics of worlds.
#include <check.h>

#include "plugin_scene.h"
#include "suite.h"

// ---- statistics

static const sprag_world_statistics nothing;

// With effort=exact, so that direct strategies come first: a heap in motion is swept.
START_TEST(statistics_describe_the_step)
{
    scene s = open_scene("method=stribeck,effort=exact");
    sprag_world_statistics t = {.struct_size = sizeof t};
    memset(&t, 1, sizeof t);
    t.struct_size = sizeof t;
    ck_assert_int_eq(sprag_world_stats(s.world, &t), 0);
    ck_assert_double_eq(t.time, 0);
    ck_assert_int_eq(t.bodies, 0);
    int contacts = 0;
    for (int i = 0; i < 100; i++) {
        dSpaceCollide(s.space, &s, touch);
        contacts = 0;
        for (int k = 0; k < HEAP; k++) {
            contacts += dBodyGetNumJoints(s.body[k]);
            for (int j = 0; j < dBodyGetNumJoints(s.body[k]); j++) { // with two bodies: seen twice
                dJointID joint = dBodyGetJoint(s.body[k], j);
                contacts -= dJointGetBody(joint, 0) && dJointGetBody(joint, 1) &&
                            dJointGetBody(joint, 1) == s.body[k];
            }
        }
        dWorldStep(s.world, step);
        dJointGroupEmpty(s.contacts);
    }
    t = statistics_of(s.world);
    ck_assert_double_eq_tol(t.time, 1, 1e-12);
    ck_assert_double_eq(t.step, step);
    ck_assert_int_eq(t.bodies, SCENE_BODIES);
    ck_assert_int_ge(t.islands, 3);
    ck_assert_int_eq(t.contacts, contacts);
    ck_assert_int_eq(t.rows, 8);
    ck_assert_int_eq(t.dropped, 0);
    ck_assert(t.strategy >= SPRAG_STRATEGY_NEWTON && t.strategy <= SPRAG_STRATEGY_GAUSS_SEIDEL);
    ck_assert_int_gt(t.factorizations, 0);
    ck_assert(t.residual >= 0 && t.residual < 1e-3);
    ck_assert(t.penetration >= 0 && t.penetration < 0.05);
    ck_assert_double_gt(t.stiction, 0);
    ck_assert(t.pull_us > 0 && t.solve_us > 0 && t.push_us > 0);
    ck_assert_int_eq(t.steps, 100);
    ck_assert_int_eq(t.fallbacks, 0);
    ck_assert_int_eq(t.frozen, 0);
    dWorldQuickStep(s.world, 2 * step);
    t = statistics_of(s.world);
    ck_assert_int_eq(t.steps, 101);
    ck_assert_int_eq(t.contacts, 0);
    ck_assert_double_eq(t.step, 2 * step);
    ck_assert_double_eq_tol(t.time, 1 + 2 * step, 1e-12);
    close_scene(&s);
}
END_TEST

// Programs that are older or newer than the library have a shorter or longer struct.
START_TEST(statistics_fill_as_much_as_the_caller_has)
{
    scene s = open_scene("method=stribeck");
    step_scene(&s, dWorldStep);
    const sprag_world_statistics all = statistics_of(s.world);
    struct {
        sprag_world_statistics own;
        char more[64];
    } room;
    for (size_t size = offsetof(sprag_world_statistics, steps); size <= sizeof room; size += 8) {
        size_t known = size < sizeof all ? size : sizeof all;
        memset(&room, 1, sizeof room);
        room.own.struct_size = size;
        ck_assert_int_eq(sprag_world_stats(s.world, &room.own), 1);
        ck_assert_uint_eq(room.own.struct_size, size);
        room.own.struct_size = sizeof all;
        ck_assert_int_eq(memcmp(&room, &all, known), 0);
        for (size_t i = known; i < sizeof room; i++) {
            ck_assert_int_eq(((char *)&room)[i], i < size ? 0 : 1);
        }
    }
    close_scene(&s);
}
END_TEST

START_TEST(statistics_need_a_struct_size)
{
    static const size_t wrong[] = {0, sizeof(size_t), (size_t)-1};
    scene s = open_scene("method=stribeck");
    step_scene(&s, dWorldStep);
    for (int i = 0; i < 3; i++) {
        sprag_world_statistics t = {.struct_size = wrong[i], .bodies = 7};
        ck_assert_int_eq(sprag_world_stats(s.world, &t), 0);
        ck_assert_ptr_nonnull(strstr(sprag_error(), "set struct_size"));
        ck_assert_int_eq(t.bodies, 7);
    }
    ck_assert_int_eq(sprag_world_stats(s.world, NULL), 0);
    ck_assert_ptr_nonnull(strstr(sprag_error(), "NULL"));
    close_scene(&s);
}
END_TEST

START_TEST(statistics_of_stock_count_steps)
{
    scene s = open_scene("method=ode");
    step_scene(&s, dWorldStep);
    sprag_world_statistics t = statistics_of(s.world);
    ck_assert_int_eq(t.steps, 1);
    ck_assert_int_eq(t.strategy, SPRAG_STRATEGY_NONE);
    ck_assert_double_eq(t.time, step);
    ck_assert_int_eq(t.contacts, 0);
    close_scene(&s);
    ck_assert_int_eq(sprag_world_stats(s.world, &t), 0); // of the world that was
    ck_assert_int_eq(t.steps, nothing.steps);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("report");
    ADD_TESTS_WITH(suite, "all", setup, teardown, {statistics_describe_the_step, 1},
                   {statistics_of_stock_count_steps, 1},
                   {statistics_fill_as_much_as_the_caller_has, 1},
                   {statistics_need_a_struct_size, 1});
    return run_suite(suite);
}
