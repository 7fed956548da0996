// Pairs under conservative advancement: declined, not asked about, asked about at the touch, by the
// hundred.
#include <check.h>
#include <math.h>
#include <string.h>

#include "advance_scene.h"
#include "pair_contact.h"
#include "reduce.h"
#include "suite.h"

static bool touch(void *data, int pair, double gap, double time)
{
    scene *s = data;
    s->touches++;
    s->touch_gap = gap;
    s->touch_time = s->time + time;
    s->pair[pair].surface = s->surface;
    return s->accepts;
}

// ---- pairs that nobody has been asked about

START_TEST(declined_pairs_pass)
{
    for (int told = 0; told < 2; told++) {
        scene *s = open_scene(0.5);
        s->calls.ask_pair = touch;
        add_fixed_box(s, 0, 0, 0, box_of(2, 2, 0.2));
        const sprag_mover *ball = add_ball(s, 0, 0, 1, 0.2);
        add_pairs(s, told ? SPRAG_PAIR_DECLINED : SPRAG_PAIR_UNKNOWN);
        run(s, 100);
        ck_assert_int_eq(s->touches, !told);
        ck_assert_double_eq_tol(ball->velocity[2], -G, 1e-9);
        ck_assert_double_eq_tol(ball->pose.position[2], 1 - G / 2, 1e-9);
        ck_assert_int_eq(s->stats.events[SPRAG_CONTACT_MADE], 0);
        ck_assert_int_eq(s->stats.overlaps, 0);
        close_scene(s);
    }
}
END_TEST

// A frame of many pairs takes time though no gap of theirs is found.
START_TEST(looks_at_pairs_are_work)
{
    scene *s = open_scene(0.5);
    add_fixed_box(s, 0, 0, 0, box_of(2, 2, 0.2));
    add_ball(s, 0, 0, 1, 0.2);
    add_pairs(s, SPRAG_PAIR_DECLINED);
    run(s, 1);
    ck_assert_double_gt(s->stats.work, 0);
    close_scene(s);
}
END_TEST

// Without anybody to ask, nobody has accepted.
START_TEST(unasked_pairs_pass)
{
    scene *s = open_scene(0.5);
    const sprag_mover *ball = drop(s, &(fall){0.1, 0, G, true});
    s->pair[0].state = SPRAG_PAIR_UNKNOWN;
    run(s, 50);
    ck_assert_double_lt(ball->pose.position[2], 0);
    close_scene(s);
}
END_TEST

START_TEST(is_asked_at_the_touch)
{
    const fall *f = &falls[_i];
    scene *s = open_scene(0.5);
    s->calls.ask_pair = touch;
    s->accepts = true;
    const sprag_mover *body = drop(s, f);
    s->pair[0].state = SPRAG_PAIR_UNKNOWN;
    double at = landing_time(f->height - EPSILON / 2, f->speed, f->gravity);
    run(s, (int)(at / STEP) + 10);
    ck_assert_int_eq(s->touches, 1);
    ck_assert_double_gt(s->touch_gap, 0);
    ck_assert_double_le(s->touch_gap, EPSILON);
    ck_assert_double_eq_tol(s->touch_time, at, 1e-6 + EPSILON / fmax(f->speed, 0.3));
    ck_assert_int_eq(s->pair[0].state, SPRAG_PAIR_ACCEPTED);
    ck_assert_double_eq_tol(body->pose.position[2], 0.5 + EPSILON / 2,
                            f->gravity > 0 ? 0.1 * EPSILON : 1e-4);
    close_scene(s);
}
END_TEST

// Contacts without rolling and spinning friction have no rows for them.
START_TEST(only_friction_against_turning_has_rows)
{
    const double at[3] = {0, 0, 0.8}, up[3] = {0, 0, 1};
    scene *s = open_scene(0.5);
    sprag_contact contact;
    add_fixed_box(s, 0, 0, 0, box_of(2, 2, 0.2));
    add_ball(s, 0, 0, 1, 0.2);
    add_pairs(s, SPRAG_PAIR_ACCEPTED);
    sprag_turning *turning = &s->pair[0].surface.turning;
    double *coefficient[] = {NULL, &turning->roll.coefficient[0], &turning->roll.coefficient[1],
                             &turning->spin.coefficient[0]};
    *turning = (sprag_turning){0};
    if (coefficient[_i]) {
        *coefficient[_i] = 0.01;
    }
    const sprag_frame frame = frame_of(s, STEP);
    sprag_pair_contact(&frame, &s->pair[0], at, up, &contact);
    ck_assert_ptr_eq(contact.turning, _i ? turning : NULL);
    close_scene(s);
}
END_TEST

// Two boxes, edge by edge. One that moves past the other is not held by the edges: their contact is
// with a face. Of boxes at rest no rounding makes it that of a face, whose gap would be opened.
START_TEST(rounding_chooses_no_face)
{
    static const double beside = 0.12 * EPSILON, speeds[] = {1e-11, 1e-2};
    double above = sqrt(EPSILON * EPSILON / 4 - beside * beside); // m
    scene *s = open_scene(0);
    add_fixed_box(s, -1, 0, -1, box_of(2, 2, 2));
    sprag_mover *box = add_box(s, 1 + beside, 0, 1 + above, box_of(2, 2, 2));
    memset(box->force, 0, sizeof box->force);
    box->velocity[2] = -speeds[_i];
    add_pairs(s, SPRAG_PAIR_ACCEPTED);
    run(s, 10);
    const double *at = box->pose.position;
    ck_assert_double_eq_tol(at[2], 1 + above - speeds[_i] * 10 * STEP, 1e-3 * EPSILON);
    ck_assert(_i > 0 || fabs(at[0] - 1 - beside) < 1e-3 * EPSILON);
    ck_assert(_i == 0 || at[0] >= 1 + beside);
    close_scene(s);
}
END_TEST

// However slow.
START_TEST(boxes_slide_over_seams)
{
    static const double speeds[] = {1e-6, 1e-5, 1e-4, 1e-2};
    const double speed = speeds[_i], start = -0.5 - 20 * STEP * speed;
    scene *s = open_scene(0);
    add_fixed_box(s, -1, 0, -0.5, box_of(2, 2, 1));
    add_fixed_box(s, 1, 0, -0.5, box_of(2, 2, 1));
    sprag_mover *box = add_box(s, start, 0, 0.5 + EPSILON / 2, box_of(1, 1, 1));
    box->velocity[0] = speed;
    add_pairs(s, SPRAG_PAIR_ACCEPTED);
    run(s, 100);
    ck_assert_double_eq_tol(box->pose.position[0] - start, 100 * STEP * speed, STEP * speed);
    close_scene(s);
}
END_TEST

// ---- two meshes

enum { TURNS = COLLIDERS / 2 }; // triangles of a mesh, all in one plane, about one middle

typedef struct sheet {
    double vertex[TURNS][3][3], normal[TURNS][2][3];
    sprag_polytope triangle[TURNS];
} sheet;

static void add_sheet(scene *s, int body, bool down, sheet *of)
{
    for (int i = 0; i < TURNS; i++) {
        for (int k = 0; k < 3; k++) {
            const double turn = 0.1 + i + (down ? -k : k) * 2 * acos(-1) / 3;
            memcpy(of->vertex[i][k], (double[]){cos(turn), sin(turn), 0}, sizeof of->vertex[i][k]);
        }
        of->triangle[i] = sprag_triangle_make((const double(*)[3])of->vertex[i], of->normal[i]);
        add_collider(s, body, (sprag_shape){.kind = SPRAG_POLYTOPE, .polytope = &of->triangle[i]})
            ->mesh = of;
    }
}

// What a frame may take in all is less by the gaps of 256 pairs of triangles.
START_TEST(gaps_of_triangles_are_work)
{
    static sheet lower, upper;
    const double inertia[3] = {1, 1, 1};
    scene *s = open_scene(0.5);
    add_sheet(s, SPRAG_STATIC, false, &lower);
    add_body(s, 1, inertia, 0, 0, 5, box_of(1, 1, 1));
    s->colliders--;
    add_sheet(s, 0, true, &upper);
    add_pairs(s, SPRAG_PAIR_ACCEPTED);
    run(s, 1);
    ck_assert_double_gt(s->stats.work, TURNS * TURNS * 20 / s->options.work);
    close_scene(s);
}
END_TEST

// Each triangle of the one touches all of the other. The two touch in a few points, and once; front
// to front, and back to back, which do not cross.
START_TEST(two_meshes_touch_in_a_few_points)
{
    static sheet lower, upper;
    const double inertia[3] = {1, 1, 1};
    scene *s = open_scene(0.5);
    add_sheet(s, SPRAG_STATIC, _i, &lower);
    sprag_mover *body = add_body(s, 1, inertia, 0, 0, EPSILON / 2, box_of(1, 1, 1));
    s->colliders--;
    add_sheet(s, 0, !_i, &upper);
    add_pairs(s, SPRAG_PAIR_ACCEPTED);
    body->force[0] = 0.4 * G;
    for (int i = 0; i < 20; i++) {
        sprag_frame frame = frame_of(s, STEP);
        s->calls.data = s;
        s->calls.event = note;
        sprag_scratch_reset(&s->scratch[0]);
        ck_assert_int_eq(sprag_advance(&frame, &s->options, &s->calls, s->scratch, &s->stats),
                         SPRAG_OK);
        ck_assert_int_ge(frame.touching, 3);
        ck_assert_int_le(frame.touching, SPRAG_REDUCE_TO);
    }
    ck_assert_int_eq(s->stats.events[SPRAG_CONTACT_MADE], 1);
    ck_assert_int_eq(s->stats.events[SPRAG_CONTACT_LOST], 0);
    ck_assert_double_eq_tol(body->pose.position[2], EPSILON / 2, 0.1 * EPSILON);
    ck_assert_double_lt(norm3(body->velocity), 1e-6);
    ck_assert_double_lt(norm3(body->velocity + 3), 1e-6);
    close_scene(s);
}
END_TEST

// A ball that has come through the front of a wall of 2 cm leaves by it, though it overlaps the
// back as well; whether the wall is the first of a pair or the second.
START_TEST(thin_walls_are_left_by_the_front)
{
    static double vertex[2][3][3], normal[2][2][3];
    static sprag_polytope triangle[2];
    static const int wall;
    const double radius = 0.1, inertia[3] = {100, 100, 100};
    scene *s = open_scene(0);
    const sprag_mover *ball = _i ? NULL : add_ball(s, 0, 0, 0.07, radius), *body = NULL;
    if (_i) {
        body = add_body(s, 1000, inertia, 0, 0, 0, box_of(1, 1, 1));
        s->colliders--;
    }
    for (int side = 0; side < 2; side++) { // front, back
        for (int k = 0; k < 3; k++) {
            const double turn = 0.1 + (side ? -k : k) * 2 * acos(-1) / 3;
            memcpy(vertex[side][k], (double[]){2 * cos(turn), 2 * sin(turn), side ? -0.02 : 0},
                   sizeof vertex[side][k]);
        }
        triangle[side] = sprag_triangle_make((const double(*)[3])vertex[side], normal[side]);
        add_collider(s, _i ? 0 : SPRAG_STATIC,
                     (sprag_shape){.kind = SPRAG_POLYTOPE, .polytope = &triangle[side]})
            ->mesh = &wall;
    }
    ball = ball ? ball : add_ball(s, 0, 0, 0.07, radius);
    for (int i = 0; i < s->bodies; i++) {
        s->body[i].force[2] = 0;
    }
    add_pairs(s, SPRAG_PAIR_ACCEPTED);
    run(s, 200);
    ck_assert_double_eq_tol(ball->pose.position[2] - (body ? body->pose.position[2] : 0), radius,
                            1e-3);
    ck_assert_double_lt(norm3(ball->velocity), 1e-6);
    close_scene(s);
}
END_TEST

// The triangles of a box whose lower face is below a floor's by less than two epsilon: that face
// and the floor's are back to back, and do not hold the box, whichever mesh moves.
START_TEST(what_is_hardly_through_comes_out)
{
    static const int corner[12][3] = {{0, 2, 1}, {1, 2, 3}, {4, 5, 6}, {5, 7, 6},
                                      {0, 1, 4}, {1, 5, 4}, {2, 6, 3}, {3, 6, 7},
                                      {0, 4, 2}, {2, 4, 6}, {1, 3, 5}, {3, 7, 5}};
    static const double floor[2][3][3] = {{{-1, -1, 0}, {1, -1, 0}, {-1, 1.1, 0}},
                                          {{1, -1, 0}, {1, 1, 0}, {-1, 1.1, 0}}};
    static double vertex[14][3][3], normal[14][2][3];
    static sprag_polytope triangle[14];
    static const int box, ground;
    const double half = 0.1, inertia[3] = {0.01, 0.01, 0.01}, force = 1;
    scene *s = open_scene(0);
    for (int b = 0; b < 2; b++) { // the box moves up, or the floor down
        if (b == _i) {
            add_body(s, 1, inertia, 0, 0, b == 0 ? half - 0.8 * EPSILON : 0, box_of(1, 1, 1));
            s->colliders--;
        }
        for (int i = b == 0 ? 0 : 12; i < (b == 0 ? 12 : 14); i++) {
            for (int k = 0; k < 3; k++) {
                const int c = b == 0 ? corner[i][k] : 0;
                const double at[3] = {c & 1 ? half : -half, c & 2 ? half : -half,
                                      c & 4 ? half : -half};
                memcpy(vertex[i][k], b == 0 ? at : floor[i - 12][k], sizeof at);
            }
            triangle[i] = sprag_triangle_make((const double(*)[3])vertex[i], normal[i]);
            sprag_collider *c =
                add_collider(s, b == _i ? 0 : SPRAG_STATIC,
                             (sprag_shape){.kind = SPRAG_POLYTOPE, .polytope = &triangle[i]});
            c->mesh = b == 0 ? &box : &ground;
            c->mount.position[2] = b == 0 && b != _i ? half - 0.8 * EPSILON : 0;
        }
    }
    s->body[0].force[2] = _i == 0 ? force : -force;
    add_pairs(s, SPRAG_PAIR_ACCEPTED);
    run(s, 20);
    const double time = 20 * STEP, went = s->body[0].pose.position[2] - (_i == 0 ? half : 0);
    ck_assert_double_eq_tol(_i == 0 ? went : -went, force * time * time / 2, 2e-3);
    close_scene(s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("advance_pairs");
    ADD_TESTS(suite, "asks", {declined_pairs_pass, 1}, {looks_at_pairs_are_work, 1},
              {unasked_pairs_pass, 1}, {is_asked_at_the_touch, COUNT(falls)},
              {only_friction_against_turning_has_rows, 4});
    ADD_TESTS(suite, "faces", {rounding_chooses_no_face, 2}, {boxes_slide_over_seams, 4},
              {two_meshes_touch_in_a_few_points, 2}, {gaps_of_triangles_are_work, 1},
              {thin_walls_are_left_by_the_front, 2}, {what_is_hardly_through_comes_out, 2});
    return run_suite(suite);
}
