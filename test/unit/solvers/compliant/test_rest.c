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

// A ball slides at 1 m/s from one triangle of a slope on to the next, without friction. fold: m, by
// which the far corner of that is raised.
static sprag_compliant_stats cross_an_edge(double tilt, sprag_mover *ball, double fold)
{
    static double vertex[2][3][3], normal[2][2][3];
    static const int mesh;
    static const double corner[4][2] = {{0, -1}, {0, 1}, {-1, 0}, {1, 0}};
    static const int of[2][3] = {{0, 1, 2}, {1, 0, 3}};
    sprag_polytope triangle[2];
    const double up[3] = {-sin(tilt), 0, cos(tilt)};
    for (int t = 0; t < 2; t++) {
        for (int i = 0; i < 3; i++) {
            const double *c = corner[of[t][i]];
            double *to = vertex[t][i];
            to[0] = cos(tilt) * c[0], to[1] = c[1], to[2] = sin(tilt) * c[0] + (c[0] > 0) * fold;
        }
        triangle[t] = sprag_triangle_make((const double(*)[3])vertex[t], normal[t]);
    }
    const sprag_collider collider[3] = {
        {.body = 0, .shape = {.kind = SPRAG_SPHERE, .radius = 0.1}, .mount = still},
        {.body = SPRAG_STATIC,
         .shape = {.kind = SPRAG_POLYTOPE, .polytope = &triangle[0]},
         .mount = still,
         .mesh = &mesh},
        {.body = SPRAG_STATIC,
         .shape = {.kind = SPRAG_POLYTOPE, .polytope = &triangle[1]},
         .mount = still,
         .mesh = &mesh}};
    sprag_pair_memory memory[2] = {0};
    sprag_pair pair[2] = {0};
    for (int t = 0; t < 2; t++) {
        pair[t] = (sprag_pair){
            .collider = {0, 1 + t}, .memory = &memory[t], .state = SPRAG_PAIR_ACCEPTED};
    }
    *ball = ball_at(0, 0);
    for (int k = 0; k < 3; k++) {
        ball->pose.position[k] = 0.1 * up[k];
    }
    ball->pose.position[0] -= 0.005 * cos(tilt);
    ball->pose.position[2] -= 0.005 * sin(tilt);
    ball->velocity[0] = cos(tilt), ball->velocity[2] = sin(tilt);
    sprag_frame frame = {.step = 0.01,
                         .number = 1,
                         .bodies = 1,
                         .colliders = 3,
                         .pairs = 2,
                         .body = ball,
                         .collider = collider,
                         .pair = pair};
    const sprag_frame_calls calls = {0};
    sprag_scratch scratch[2] = {{0}};
    sprag_compliant_stats stats = {0};
    sprag_compliant_reason reason;
    sprag_result result = sprag_compliant(&frame, NULL, &calls, scratch, &stats, &reason);
    ck_assert_str_eq(sprag_result_name(result), "ok");
    for (int i = 0; i < 2; i++) {
        sprag_scratch_free(&scratch[i]);
    }
    return stats;
}

// The next one pushes from the first touch on, as one of the contacts that hold: the ball keeps its
// speed but for gravity's part along the slope.
START_TEST(level_triangles_are_met_without_an_event)
{
    for (int i = -20; i <= 20; i++) {
        const double tilt = 0.03 * i, speed = 1 - 9.81 * sin(tilt) * 0.01;
        sprag_mover ball;
        const sprag_compliant_stats stats = cross_an_edge(tilt, &ball, 0);
        ck_assert_int_eq(stats.events, 0);
        ck_assert_int_le(stats.steps, 2);
        ck_assert_double_eq_tol(ball.velocity[0], speed * cos(tilt), 1e-7);
        ck_assert_double_eq_tol(ball.velocity[2], speed * sin(tilt), 1e-7);
    }
}
END_TEST

START_TEST(triangles_that_rise_are_hit)
{
    sprag_mover ball;
    ck_assert_int_eq(cross_an_edge(0, &ball, 0.2).events, 1);
    ck_assert_double_gt(ball.velocity[2], 0.1);
}
END_TEST

// A ball that does not turn and that only a force drives, 0.5 m in the frame, meets a plate of 1 mm
// before the end.
START_TEST(thin_plates_stop_what_a_force_drives)
{
    const double force = 1e4, radius = 0.001, half = 0.0005, gap = 0.01 * (_i + 0.5); // N, m
    scene s = {.row = {.body = {0, SPRAG_STATIC},
                       .jacobian = {{0, 0, 0, 0, 0, 1}},
                       .lo = -INFINITY,
                       .hi = INFINITY}};
    const sprag_collider collider[2] = {
        {.body = 0, .shape = {.kind = SPRAG_SPHERE, .radius = radius}, .mount = still},
        {.body = SPRAG_STATIC, .shape = {.kind = SPRAG_BOX, .half = {1, 1, half}}, .mount = still}};
    sprag_pair_memory memory = {0};
    sprag_pair pair = {.collider = {0, 1}, .memory = &memory, .state = SPRAG_PAIR_ACCEPTED};
    sprag_mover ball = ball_at(gap + radius + half, 0);
    ball.force[2] = -force;
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
    ck_assert_int_eq(stats.events, 1);
    ck_assert_double_eq_tol(ball.pose.position[2], radius + half, 0.01);
    for (int i = 0; i < 2; i++) {
        sprag_scratch_free(&scratch[i]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rest");
    ADD_TESTS(suite, "all", {what_slides_is_not_at_rest, 1}, {overlaps_are_asked_about, 2},
              {level_triangles_are_met_without_an_event, 1}, {triangles_that_rise_are_hit, 1},
              {thin_plates_stop_what_a_force_drives, 50});
    return run_suite(suite);
}
