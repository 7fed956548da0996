// Conservative advancement against known answers: landing, bouncing, resting, friction, free
// flight; groups, repetition, refused input.
#include <check.h>
#include <math.h>
#include <string.h>

#include "advance.h"
#include "advance_scene.h"
#include "chance.h"
#include "linalg.h"
#include "suite.h"

// NULL: there was none from the given one on.
static const sprag_event *find_event(const scene *s, sprag_event_kind kind, int from)
{
    for (int i = from; i < s->events; i++) {
        if (s->event[i].kind == kind) {
            return &s->event[i];
        }
    }
    return NULL;
}

// ---- an oracle: boxes and planes, by separating axes

// The oracle sees what overlaps, and how far what does not is apart.
START_TEST(oracle_sees)
{
    scene *s = open_scene(0);
    add_fixed_box(s, 0, 0, 0, box_of(1, 1, 1));
    sprag_mover *box = add_box(s, 0, 0, 1.2, box_of(1, 1, 1));
    add_pairs(s, SPRAG_PAIR_ACCEPTED);
    ck_assert_double_eq_tol(separation(s, &s->pair[0]), 0.2, 1e-12);
    box->pose.position[2] = 0.9;
    ck_assert_double_eq_tol(separation(s, &s->pair[0]), -0.1, 1e-12);
    box->velocity[3] = 1; // onto an edge: half a diagonal
    sprag_motion turn = {.pose = box->pose, .velocity = {0, 0, 0, atan(1), 0, 0}};
    sprag_motion_at(&turn, 1, &box->pose);
    box->pose.position[2] = 0.5 + sqrt(0.5) + 0.01;
    ck_assert_double_eq_tol(separation(s, &s->pair[0]), 0.01, 1e-12);
    close_scene(s);
}
END_TEST

// ---- landing, bouncing

START_TEST(lands_when_it_must)
{
    const fall *f = &falls[_i];
    scene *s = open_scene(0.5);
    const sprag_mover *body = drop(s, f);
    double at = landing_time(f->height - EPSILON / 2, f->speed, f->gravity);
    run(s, (int)(at / STEP) + 2);
    const sprag_event *made = find_event(s, SPRAG_CONTACT_MADE, 0);
    ck_assert_ptr_nonnull(made);
    ck_assert_double_eq_tol(made->time, at, 1e-6 + EPSILON / fmax(f->speed, 0.3));
    ck_assert_double_eq_tol(fabs(made->normal[2]), 1, 1e-9);
    double speed = f->speed + f->gravity * at;
    ck_assert_double_eq_tol(made->speed, speed, 1e-5 + 2 * STEP * f->gravity);
    run(s, 20);
    if (f->gravity > 0) {
        ck_assert_double_lt(norm3(body->velocity) + norm3(body->velocity + 3), 1e-6);
        ck_assert_double_eq_tol(body->pose.position[2], 0.5 + EPSILON / 2, 0.05 * EPSILON);
    } else { // nothing holds it down
        ck_assert_double_lt(norm3(body->velocity), 1e-3);
    }
    ck_assert_int_eq(s->stats.events[SPRAG_CONTACT_MADE], 1);
    ck_assert_double_gt(s->stats.least_gap, 0);
    close_scene(s);
}
END_TEST

START_TEST(bounces_as_fast_as_asked)
{
    static const double bounce[] = {0.2, 0.5, 0.9, 1};
    for (int ball = 0; ball < 2; ball++) {
        scene *s = open_scene(0);
        s->surface.bounce = bounce[_i];
        s->surface.bounce_speed = 0.1;
        const sprag_mover *body = drop(s, &(fall){1, 3, 0, ball});
        run(s, 60);
        ck_assert_double_eq_tol(body->velocity[2], 3 * bounce[_i], 12e-6); // they yield by 1e-6
        double lands = landing_time(1 - EPSILON / 2, 3, 0);
        ck_assert_double_eq_tol(body->pose.position[2], 0.5 + 3 * bounce[_i] * (0.6 - lands), 1e-5);
        ck_assert_int_eq(s->stats.events[SPRAG_CONTACT_MADE], 1);
        ck_assert_int_eq(s->stats.events[SPRAG_CONTACT_LOST], 1);
        close_scene(s);
    }
}
END_TEST

START_TEST(slow_ones_do_not_bounce)
{
    for (int faster = 0; faster < 2; faster++) {
        scene *s = open_scene(0);
        s->surface.bounce = 0.5;
        s->surface.bounce_speed = 2;
        const sprag_mover *body = drop(s, &(fall){1, faster ? 2.01 : 1.99, 0, true});
        run(s, 60);
        ck_assert_double_eq_tol(body->velocity[2], faster ? 1.005 : 0, faster ? 1e-5 : 1e-3);
        close_scene(s);
    }
}
END_TEST

// Infinitely many bounces, in 3 t and a little: it rests after them, in a bounded number of
// sub-steps.
START_TEST(bouncing_ends)
{
    scene *s = open_scene(0);
    s->surface.bounce = 0.5;
    const sprag_mover *body = drop(s, &(fall){1, 0, G, true});
    run(s, 200);
    ck_assert_double_eq_tol(body->pose.position[2], 0.5 + EPSILON / 2, 0.1 * EPSILON);
    ck_assert_double_lt(fabs(body->velocity[2]), 1e-6);
    ck_assert_int_ge(s->stats.events[SPRAG_CONTACT_MADE], 3);
    ck_assert_int_lt(s->stats.substeps, 300);
    ck_assert_int_eq(find_event(s, SPRAG_STALLED, 0) != NULL, 0);
    double last = s->event[s->events - 1].time;
    ck_assert_double_eq_tol(last, 3 * sqrt(2 / G), 0.15);
    close_scene(s);
}
END_TEST

// ---- resting

START_TEST(stack_rests)
{
    enum { HIGH = 10, FRAMES = 500 };
    double aside = _i ? 0.02 : 0;
    scene *s = open_scene(0.5);
    add_floor(s);
    for (int i = 0; i < HIGH; i++) {
        add_box(s, aside * (i % 2), 0, 0.5 + i + (i + 1) * EPSILON / 2, box_of(1, 1, 1));
    }
    add_pairs(s, SPRAG_PAIR_ACCEPTED);
    run(s, FRAMES);
    ck_assert_int_le(s->stats.substeps, (long)(1.01 * FRAMES));
    ck_assert_double_gt(least_separation(s), 0);
    for (int i = 0; i < HIGH; i++) {
        const double *x = s->body[i].pose.position;
        ck_assert_double_eq_tol(x[0], aside * (i % 2), 1e-5);
        ck_assert_double_eq_tol(x[1], 0, 1e-5);
        ck_assert_double_eq_tol(x[2], 0.5 + i + (i + 1) * EPSILON / 2, 1e-5);
        ck_assert_double_lt(norm3(s->body[i].velocity), 1e-5);
    }
    close_scene(s);
}
END_TEST

// A scene at rest allocates no memory.
START_TEST(settled_frames_allocate_nothing)
{
    scene *s = open_scene(0.5);
    add_floor(s);
    for (int i = 0; i < 3; i++) {
        add_box(s, 0.02 * i, 0, 0.6 + i * 1.1, box_of(1, 1, 1));
    }
    add_pairs(s, SPRAG_PAIR_ACCEPTED);
    run(s, 100);
    long before = s->scratch[0].allocations + s->scratch[1].allocations;
    ck_assert_int_gt(before, 0);
    run(s, 50);
    ck_assert_int_eq(s->scratch[0].allocations + s->scratch[1].allocations, before);
    close_scene(s);
}
END_TEST

// ---- friction

// Gravity is turned, the floor is not.
static void tilt(sprag_mover *b, double angle)
{
    b->force[0] = G * b->mass * sin(angle);
    b->force[2] = -G * b->mass * cos(angle);
}

START_TEST(box_on_a_slope)
{
    static const double part[] = {0.5, 0.9, 1.1, 1.5}; // of the cone
    const double mu = 0.5;
    double angle = atan(mu * part[_i]);
    scene *s = open_scene(mu);
    add_floor(s);
    sprag_mover *box = add_box(s, 0, 0, 0.25 + EPSILON / 2, box_of(1, 1, 0.5));
    tilt(box, angle);
    add_pairs(s, SPRAG_PAIR_ACCEPTED);
    run(s, 200);
    double a = fmax(0, G * (sin(angle) - mu * cos(angle)));
    ck_assert_double_eq_tol(box->velocity[0], a * 2, 1e-3);
    ck_assert_double_eq_tol(box->pose.position[0], a * 2 * (2 + STEP) / 2, 2e-3);
    ck_assert_double_eq_tol(box->pose.position[2], 0.25 + EPSILON / 2, 0.1 * EPSILON);
    ck_assert_int_le(s->stats.substeps, 202);
    close_scene(s);
}
END_TEST

// No slip: a ball rolls down at 5/7 of what a frictionless body does, however steep.
START_TEST(ball_rolls_without_slip)
{
    static const double degrees[] = {10, 45, 80};
    double angle = degrees[_i] * atan(1) / 45;
    scene *s = open_scene(INFINITY);
    add_floor(s);
    sprag_mover *ball = add_ball(s, 0, 0, 0.5 + EPSILON / 2, 0.5);
    tilt(ball, angle);
    add_pairs(s, SPRAG_PAIR_ACCEPTED);
    run(s, 100);
    double v = 5.0 / 7 * G * sin(angle);
    ck_assert_double_eq_tol(ball->velocity[0], v, 1e-3);
    ck_assert_double_eq_tol(ball->velocity[4], v / 0.5, 2e-3);
    ck_assert_double_gt(ball->pose.position[2], 0.5);
    close_scene(s);
}
END_TEST

// Whichever the pair names first, and on whatever.
START_TEST(bodies_that_spin_in_place_are_not_lifted)
{
    static const sprag_shape_kind kinds[] = {SPRAG_SPHERE, SPRAG_CAPSULE, SPRAG_CYLINDER};
    const sprag_shape shape = {.kind = kinds[_i / 4], .radius = 0.1, .half = {0, 0, 0.1}};
    scene *s = open_scene(0);
    for (int i = 0; i < 2; i++) {
        if (i == _i % 2) {
            sprag_mover *wheel =
                add_body(s, 1, (double[]){0.01, 0.01, 0.01}, 0, 0, 0.1 + EPSILON / 2, shape);
            memcpy(wheel->pose.rotation, (double[]){1, 0, 0, 0, 0, -1, 0, 1, 0},
                   sizeof wheel->pose.rotation);
            wheel->velocity[4] = 20;
        } else if (_i % 4 < 2) {
            add_floor(s);
        } else {
            add_fixed_box(s, 0, 0, -0.5, box_of(4, 4, 1));
        }
    }
    add_pairs(s, SPRAG_PAIR_ACCEPTED);
    for (int i = 0; i < 50; i++) {
        step(s);
        ck_assert_double_eq_tol(s->body[0].pose.position[2], 0.1, EPSILON);
    }
    ck_assert_double_eq_tol(s->body[0].velocity[4], 20, 1e-9);
    close_scene(s);
}
END_TEST

static int motor_row(void *data, const sprag_mover *body, double length, const sprag_row **row)
{
    static sprag_row motor = {.body = {0, SPRAG_STATIC},
                              .jacobian = {{0, 0, 0, 0, 1, 0}},
                              .bias = 4, // rad/s
                              .lo = -100,
                              .hi = 100}; // N m
    (void)data, (void)body, (void)length;
    *row = &motor;
    return 1;
}

// Edge after edge comes down on what a motor does: energy, but not of the contacts.
START_TEST(driven_box_rolls_over_its_edges)
{
    scene *s = open_scene(INFINITY);
    add_floor(s);
    sprag_mover *box = add_box(s, 0, 0, 0.1 + EPSILON / 2, box_of(0.2, 1, 0.2));
    s->calls.rows = motor_row;
    add_pairs(s, SPRAG_PAIR_ACCEPTED);
    run(s, 200);
    ck_assert_double_eq_tol(box->velocity[4], 4, 1e-6);
    ck_assert_double_gt(box->pose.position[0], 0.9);
    ck_assert_int_lt((int)s->stats.solves, 260);
    ck_assert_double_eq(s->stats.stalled, 0);
    ck_assert_double_gt(least_separation(s), 0);
    close_scene(s);
}
END_TEST

// A box that nothing slips under falls over its edge where a sliding one stays on its face.
START_TEST(box_without_slip_tips)
{
    for (int slips = 0; slips < 2; slips++) {
        scene *s = open_scene(slips ? 0.5 : INFINITY);
        add_floor(s);
        sprag_mover *box = add_box(s, 0, 0, 0.5 + EPSILON / 2, box_of(1, 1, 1));
        tilt(box, atan(1.5));
        add_pairs(s, SPRAG_PAIR_ACCEPTED);
        run(s, 30);
        ck_assert(slips ? fabs(box->velocity[4]) < 1e-6 : box->velocity[4] > 0.1);
        ck_assert_double_gt(least_separation(s), 0);
        close_scene(s);
    }
}
END_TEST

// It slides to rest in v / (mu g). The event comes then, and only then.
START_TEST(slip_ends_when_it_must)
{
    static const double speeds[] = {0.5, 1.234, 3};
    const double mu = 0.4, v = speeds[_i];
    scene *s = open_scene(mu);
    add_floor(s);
    sprag_mover *box = add_box(s, 0, 0, 0.1 + EPSILON / 2, box_of(1, 1, 0.2));
    add_pairs(s, SPRAG_PAIR_ACCEPTED);
    run(s, 5);
    ck_assert_ptr_null(find_event(s, SPRAG_SLIP_BEGINS, 0));
    box->velocity[0] = v;
    double start = s->time, rests = v / (mu * G);
    run(s, (int)(1.2 * rests / STEP) + 2);
    const sprag_event *begins = find_event(s, SPRAG_SLIP_BEGINS, 0);
    ck_assert_ptr_nonnull(begins);
    ck_assert_double_eq_tol(begins->time, start, 1e-9);
    const sprag_event *ends = find_event(s, SPRAG_SLIP_ENDS, 0);
    ck_assert_ptr_nonnull(ends);
    ck_assert_double_eq_tol(ends->time - start, rests, 0.01 * rests);
    ck_assert_int_eq(s->stats.events[SPRAG_SLIP_BEGINS], 1);
    ck_assert_int_eq(s->stats.events[SPRAG_SLIP_ENDS], 1);
    ck_assert_double_lt(fabs(box->velocity[0]), 1e-6);
    ck_assert_double_eq_tol(box->pose.position[0], v * v / (2 * mu * G), v * STEP);
    close_scene(s);
}
END_TEST

// A push beyond the cone makes it slip; a pull lifts it off.
START_TEST(slip_begins_and_contact_is_lost)
{
    scene *s = open_scene(0.5);
    add_floor(s);
    sprag_mover *box = add_box(s, 0, 0, 0.1 + EPSILON / 2, box_of(1, 1, 0.2));
    add_pairs(s, SPRAG_PAIR_ACCEPTED);
    run(s, 3);
    box->force[0] = 0.4 * G;
    run(s, 3);
    ck_assert_ptr_null(find_event(s, SPRAG_SLIP_BEGINS, 0));
    box->force[0] = 0.6 * G;
    run(s, 3);
    ck_assert_int_eq(s->stats.events[SPRAG_SLIP_BEGINS], 1);
    ck_assert_double_eq_tol(find_event(s, SPRAG_SLIP_BEGINS, 0)->time, 0.06, 1e-9);
    ck_assert_ptr_null(find_event(s, SPRAG_CONTACT_LOST, 0));
    box->force[2] = 0.5 * G;
    run(s, 3);
    ck_assert_int_eq(s->stats.events[SPRAG_CONTACT_LOST], 1);
    ck_assert_double_eq_tol(find_event(s, SPRAG_CONTACT_LOST, 0)->time, 0.09, STEP + 1e-9);
    close_scene(s);
}
END_TEST

// Boxes side by side are one floor, in whatever direction it is crossed; a step is a step.
START_TEST(edges_between_boxes_are_not_felt)
{
    static const double directions[][2] = {{1, 0}, {0.98, 0.2}, {0.7, 0.7}, {0.3, 0.9}};
    for (int step_up = 0; step_up < 2; step_up++) {
        scene *s = open_scene(0);
        double rise = step_up ? 0.005 : 0;
        for (int i = 0; i < 9; i++) {
            double z = -0.5 + (i ? rise : 0);
            add_fixed_box(s, 2 * (i % 3), 2 * (i / 3), z, box_of(2, 2, 1));
        }
        sprag_mover *box = add_box(s, 0, 0, 0.2 + EPSILON / 2, box_of(0.4, 0.4, 0.4));
        add_pairs(s, SPRAG_PAIR_ACCEPTED);
        run(s, 2);
        for (int k = 0; k < 2; k++) { // 0.3 um before the edge when a frame begins
            box->velocity[k] = 3 * directions[_i][k];
            box->pose.position[k] = 0.8 - 10 * STEP * box->velocity[k] - 3e-7;
        }
        for (int i = 0; i < 100; i++) {
            step(s);
            ck_assert_double_gt(least_separation(s), 0);
        }
        double along = dot3(box->velocity, (double[]){directions[_i][0], directions[_i][1], 0});
        if (step_up) {
            ck_assert_double_lt(along, 2.5);
        } else {
            ck_assert_double_eq_tol(box->velocity[0], 3 * directions[_i][0], 1e-3);
            ck_assert_double_eq_tol(box->velocity[1], 3 * directions[_i][1], 1e-3);
            ck_assert_double_eq_tol(box->pose.position[2], 0.2 + EPSILON / 2, 1e-5);
        }
        close_scene(s);
    }
}
END_TEST

// ---- groups, repetition, refusals

// A distant bouncing body adds sub-steps and changes nothing else.
START_TEST(far_bodies_do_not_matter)
{
    scene *s = open_scene(0.5), *alone = open_scene(0.5);
    s->surface.bounce = 0.7;
    alone->surface.bounce = 0.7;
    add_floor(s);
    add_floor(alone);
    add_box(s, 0, 0, 0.5 + EPSILON / 2, box_of(1, 1, 1));
    add_ball(s, 50, 0, 1, 0.3);
    sprag_mover *ball = add_ball(alone, 50, 0, 1, 0.3);
    add_pairs(s, SPRAG_PAIR_ACCEPTED);
    add_pairs(alone, SPRAG_PAIR_ACCEPTED);
    run(s, 100);
    run(alone, 100);
    ck_assert_double_eq_tol(s->body[1].pose.position[2], ball->pose.position[2], 1e-5);
    ck_assert_double_eq_tol(s->body[0].pose.position[0], 0, 1e-9);
    ck_assert_double_eq_tol(s->body[0].pose.position[2], 0.5 + EPSILON / 2, 0.1 * EPSILON);
    ck_assert_double_lt(norm3(s->body[0].velocity), 1e-6);
    close_scene(s);
    close_scene(alone);
}
END_TEST

static scene *heap(unsigned seed)
{
    chance c = {seed};
    scene *s = open_scene(0.5);
    add_floor(s);
    for (int i = 0; i < 4; i++) {
        sprag_mover *b = add_box(s, 0.2 * i, 0, 1 + 1.3 * i, box_of(1, 0.7, 0.4));
        chance_rotation(&c, b->pose.rotation);
    }
    add_pairs(s, SPRAG_PAIR_ACCEPTED);
    return s;
}

START_TEST(same_input_same_bits)
{
    scene *a = heap(3), *b = heap(3);
    for (int i = 0; i < 120; i++) {
        step(a);
        step(b);
        ck_assert_mem_eq(a->body, b->body, sizeof a->body);
    }
    ck_assert_int_gt(a->stats.events[SPRAG_CONTACT_MADE], 4);
    ck_assert_int_eq(a->events, b->events);
    ck_assert_mem_eq(a->event, b->event, (size_t)a->events * sizeof a->event[0]);
    close_scene(a);
    close_scene(b);
}
END_TEST

typedef enum badness {
    NAN_MASS,
    NAN_INERTIA,
    NAN_POSE,
    INFINITE_TURN,
    NAN_VELOCITY,
    INFINITE_FORCE,
    NO_COLLIDER,
    NEGATIVE_COLLIDER,
    NO_BODY,
    BODY_BELOW_STATIC,
    ZERO_STEP,
    NEGATIVE_STEP,
    NAN_STEP,
    BAD_THINGS
} badness;

static double spoil(scene *s, int how)
{
    sprag_mover *b = &s->body[1];
    switch ((badness)how) {
    case NAN_MASS:
        b->mass = NAN;
        break;
    case NAN_INERTIA:
        b->inertia[4] = NAN;
        break;
    case NAN_POSE:
        b->pose.position[1] = NAN;
        break;
    case INFINITE_TURN:
        b->pose.rotation[3] = INFINITY;
        break;
    case NAN_VELOCITY:
        b->velocity[5] = NAN;
        break;
    case INFINITE_FORCE:
        b->force[0] = -INFINITY;
        break;
    case NO_COLLIDER:
        s->pair[0].collider[1] = s->colliders;
        break;
    case NEGATIVE_COLLIDER:
        s->pair[0].collider[0] = -1;
        break;
    case NO_BODY:
        s->collider[1].body = s->bodies;
        break;
    case BODY_BELOW_STATIC:
        s->collider[1].body = SPRAG_STATIC - 1;
        break;
    case ZERO_STEP:
        return 0;
    case NEGATIVE_STEP:
        return -STEP;
    case NAN_STEP:
        return NAN;
    case BAD_THINGS:
        break;
    }
    return STEP;
}

START_TEST(bad_input_moves_nothing)
{
    scene *s = heap(1);
    double length = spoil(s, _i);
    sprag_mover before[BODIES];
    memcpy(before, s->body, sizeof before);
    ck_assert_str_eq(sprag_result_name(try_step(s, length)), sprag_result_name(SPRAG_BAD_PROBLEM));
    ck_assert_mem_eq(s->body, before, sizeof before);
    ck_assert_int_eq(s->events, 0);
    close_scene(s);
}
END_TEST

START_TEST(nothing_is_a_frame_too)
{
    sprag_scratch scratch[2] = {{0}};
    sprag_frame frame = {.step = STEP};
    const sprag_advance_options options = sprag_advance_defaults();
    const sprag_frame_calls calls = {0};
    sprag_advance_stats stats = {0};
    ck_assert_str_eq(sprag_result_name(sprag_advance(&frame, &options, &calls, scratch, &stats)),
                     "ok");
    sprag_scratch_free(&scratch[0]);
    sprag_scratch_free(&scratch[1]);
}
END_TEST

// A body is marked in frames that push it out of an overlap, and in no other.
START_TEST(pushed_bodies_are_marked)
{
    scene *s = open_scene(0.5);
    sprag_mover *body = drop(s, &(fall){0.1, 0, G, true});
    body->pushed = true;
    run(s, 1);
    ck_assert(!body->pushed);
    body->pose.position[2] = 0.499;
    body->velocity[2] = 0;
    run(s, 1);
    ck_assert(body->pushed);
    run(s, 200);
    ck_assert(!body->pushed);
    close_scene(s);
}
END_TEST

// ---- free flight

static void momentum(const sprag_mover *b, double L[3])
{
    double w[3], local[3];
    mul33_transposed(b->pose.rotation, b->velocity + 3, w);
    mul33(b->inertia, w, local);
    mul33(b->pose.rotation, local, L);
}

static double momentum_lost(double step, bool gyroscopic)
{
    scene *s = open_scene(0);
    sprag_mover *b = add_box(s, 0, 0, 0, box_of(1, 0.6, 0.2));
    b->gyroscopic = gyroscopic;
    memset(b->force, 0, sizeof b->force);
    memcpy(b->velocity + 3, (double[]){0.5, 3, 0.4}, 3 * sizeof *b->velocity);
    double L[3], now[3], d[3];
    momentum(b, L);
    for (int i = 0; i * step < 1; i++) {
        ck_assert_str_eq(sprag_result_name(try_step(s, step)), "ok");
    }
    momentum(b, now);
    subtract3(now, L, d);
    close_scene(s);
    return norm3(d) / norm3(L);
}

START_TEST(angular_momentum_stays)
{
    ck_assert_double_lt(momentum_lost(0.01, true), 1e-12);
    ck_assert_double_gt(momentum_lost(0.0025, false), 0.1); // what it would be without
}
END_TEST

// J, of three tumbling boxes that stick to one another, about their centre of mass, which moves at
// `speed`.
static double energy_about_centre(double speed)
{
    scene *s = open_scene(0.5);
    double centre[3] = {0}, sum = 0;
    for (int i = 0; i < 3; i++) {
        sprag_mover *b = add_box(s, 0.55 * i, 0.1 * i, 0.05 * i, box_of(0.5, 0.4, 0.3));
        b->mass = 2;
        memset(b->force, 0, sizeof b->force);
        memcpy(b->velocity, (double[]){speed + 2 * (1 - i), 0, 0, 3 - i, 2, 4 * i},
               sizeof b->velocity);
    }
    add_pairs(s, SPRAG_PAIR_ACCEPTED);
    run(s, 20);
    for (int i = 0; i < 3; i++) {
        add_scaled(centre, 1. / 3, s->body[i].velocity, 3);
    }
    for (int i = 0; i < 3; i++) {
        double v[3], L[3];
        subtract3(s->body[i].velocity, centre, v);
        momentum(&s->body[i], L);
        sum += (2 * dot3(v, v) + dot3(L, s->body[i].velocity + 3)) / 2;
    }
    close_scene(s);
    return sum;
}

START_TEST(energy_is_taken_about_the_centre)
{
    double still = energy_about_centre(0);
    ck_assert_double_gt(still, 0.1);
    ck_assert_double_eq_tol(energy_about_centre(20), still, 2e-3 * still);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("advance");
    ADD_TESTS(suite, "lands", {oracle_sees, 1}, {lands_when_it_must, COUNT(falls)},
              {bounces_as_fast_as_asked, 4}, {slow_ones_do_not_bounce, 1}, {bouncing_ends, 1});
    ADD_TESTS(suite, "rests and slides", {stack_rests, 2}, {settled_frames_allocate_nothing, 1},
              {box_on_a_slope, 4}, {ball_rolls_without_slip, 3},
              {bodies_that_spin_in_place_are_not_lifted, 12}, {driven_box_rolls_over_its_edges, 1},
              {box_without_slip_tips, 1}, {slip_ends_when_it_must, 3},
              {slip_begins_and_contact_is_lost, 1}, {edges_between_boxes_are_not_felt, 4});
    ADD_TESTS(suite, "frames", {far_bodies_do_not_matter, 1}, {same_input_same_bits, 1},
              {bad_input_moves_nothing, BAD_THINGS}, {nothing_is_a_frame_too, 1},
              {pushed_bodies_are_marked, 1}, {angular_momentum_stays, 1},
              {energy_is_taken_about_the_centre, 1});
    return run_suite(suite);
}
