// What a caller is asked for bodies in contact: how often for rows, and whether pairs touch.
#include <math.h>

#include "compliant.h"
#include "suite.h"

enum { ASKED = 11 }; // times that rows are asked for at the start and end of a frame

typedef struct scene {
    sprag_row row;
    int asked;    // for rows
    bool accepts; // pairs
} scene;

static int rows(void *data, const sprag_mover *body, double step, const sprag_row **row)
{
    scene *s = data;
    (void)body, (void)step;
    s->asked++;
    *row = &s->row;
    return 1;
}

static bool ask_pair(void *data, int pair, double gap, double time)
{
    const scene *s = data;
    (void)pair, (void)gap, (void)time;
    return s->accepts;
}

static const sprag_pose still = {.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}};

static sprag_mover ball_at(double height, double speed)
{
    return (sprag_mover){
        .mass = 1,
        .inertia = {0.004, 0, 0, 0, 0.004, 0, 0, 0, 0.004},
        .pose = {.position = {0, 0, height}, .rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}},
        .velocity = {speed},
        .force = {0, 0, -9.81}};
}

// Of a ball on a plane.
static void run(sprag_mover *ball, sprag_pair *pair, const sprag_frame_calls *calls,
                sprag_compliant_stats *stats)
{
    const sprag_collider collider[2] = {
        {.body = 0, .shape = {.kind = SPRAG_SPHERE, .radius = 0.1}, .mount = still},
        {.body = SPRAG_STATIC, .shape = {.kind = SPRAG_PLANE}, .mount = still}};
    sprag_pair_memory memory = {0};
    sprag_frame frame = {.step = 0.01,
                         .number = 1,
                         .bodies = 1,
                         .colliders = 2,
                         .pairs = 1,
                         .body = ball,
                         .collider = collider,
                         .pair = pair};
    sprag_scratch scratch[2] = {{0}};
    sprag_compliant_reason reason;
    pair->collider[1] = 1;
    pair->memory = &memory;
    pair->surface.slide.coefficient[0] = pair->surface.slide.coefficient[1] = 0.3;
    sprag_result result = sprag_compliant(&frame, NULL, calls, scratch, stats, &reason);
    ck_assert_str_eq(sprag_result_name(result), "ok");
    for (int i = 0; i < 2; i++) {
        sprag_scratch_free(&scratch[i]);
    }
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
    sprag_mover ball = ball_at(0.1, 1);
    sprag_pair pair = {.state = SPRAG_PAIR_ACCEPTED};
    const sprag_frame_calls calls = {.data = &s, .rows = rows};
    sprag_compliant_stats stats = {0};
    run(&ball, &pair, &calls, &stats);
    ck_assert_int_gt(stats.field_evaluations, 0);
    ck_assert_int_eq(s.asked, ASKED + 3 * stats.field_evaluations);
}
END_TEST

// A pair that overlaps when a frame begins touches if the caller says so.
START_TEST(overlaps_are_asked_about)
{
    const scene s = {.accepts = _i};
    sprag_mover ball = ball_at(0.0999, 0);
    sprag_pair pair = {.state = SPRAG_PAIR_UNKNOWN};
    const sprag_frame_calls calls = {.data = (void *)&s, .ask_pair = ask_pair};
    sprag_compliant_stats stats = {0};
    run(&ball, &pair, &calls, &stats);
    ck_assert_int_eq(pair.state, _i ? SPRAG_PAIR_ACCEPTED : SPRAG_PAIR_DECLINED);
    ck_assert(_i ? ball.velocity[2] > -1e-6 : fabs(ball.velocity[2] + 0.0981) < 1e-12);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rest");
    ADD_TESTS(suite, "all", {what_slides_is_not_at_rest, 1}, {overlaps_are_asked_about, 2});
    return run_suite(suite);
}
