// Bodies at rest in contact: how often their forces are asked for.
#include <math.h>

#include "compliant.h"
#include "suite.h"

enum { ASKED = 11 }; // times that rows are asked for at the start and end of a frame

typedef struct scene {
    sprag_row row;
    int asked; // for rows
} scene;

static int rows(void *data, const sprag_mover *body, double step, const sprag_row **row)
{
    scene *s = data;
    (void)body, (void)step;
    s->asked++;
    *row = &s->row;
    return 1;
}

// A ball that slides over a plane, and does not turn about its normal: a row without a law, which
// the caller gives three times for each evaluation of the forces. What moves is not asked whether
// it rests.
START_TEST(what_slides_is_not_at_rest)
{
    scene s = {.row = {.body = {0, SPRAG_STATIC},
                       .jacobian = {{0, 0, 0, 0, 0, 1}},
                       .lo = -INFINITY,
                       .hi = INFINITY}};
    sprag_mover ball = {.mass = 1,
                        .inertia = {0.004, 0, 0, 0, 0.004, 0, 0, 0, 0.004},
                        .pose = {.position = {0, 0, 0.1}, .rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}},
                        .velocity = {1},
                        .force = {0, 0, -9.81}};
    const sprag_pose still = {.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    const sprag_collider collider[2] = {
        {.body = 0, .shape = {.kind = SPRAG_SPHERE, .radius = 0.1}, .mount = still},
        {.body = SPRAG_STATIC, .shape = {.kind = SPRAG_PLANE}, .mount = still}};
    sprag_pair_memory memory = {0};
    sprag_pair pair = {.collider = {0, 1},
                       .memory = &memory,
                       .state = SPRAG_PAIR_ACCEPTED,
                       .surface = {.slide = {.coefficient = {0.3, 0.3}}}};
    sprag_frame frame = {.step = 0.01,
                         .number = 1,
                         .bodies = 1,
                         .colliders = 2,
                         .pairs = 1,
                         .body = &ball,
                         .collider = collider,
                         .pair = &pair};
    const sprag_frame_calls calls = {.data = &s, .rows = rows};
    sprag_scratch scratch[2] = {{0}};
    sprag_compliant_stats stats = {0};
    sprag_compliant_reason reason;
    sprag_result result = sprag_compliant(&frame, NULL, &calls, scratch, &stats, &reason);
    ck_assert_str_eq(sprag_result_name(result), "ok");
    ck_assert_int_gt(stats.field_evaluations, 0);
    ck_assert_int_eq(s.asked, ASKED + 3 * stats.field_evaluations);
    for (int i = 0; i < 2; i++) {
        sprag_scratch_free(&scratch[i]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rest");
    ADD_TESTS(suite, "all", {what_slides_is_not_at_rest, 1});
    return run_suite(suite);
}
