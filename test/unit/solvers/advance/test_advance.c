// Conservative advancement without ODE: known answers first, then what must hold whatever happens:
// nothing penetrates, no solve adds energy, bad input moves nothing.
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advance.h"
#include "chance.h"
#include "linalg.h"
#include "suite.h"

static const double G = 9.81;    // m/s^2
static const double STEP = 0.01; // s
static const double EPSILON = 1e-6;

enum { BODIES = 27, COLLIDERS = 32, PAIRS = 512, EVENTS = 8192 };

typedef struct scene {
    sprag_mover body[BODIES];
    sprag_collider collider[COLLIDERS];
    sprag_pair pair[PAIRS];
    sprag_pair_memory memory[PAIRS];
    int bodies, colliders, pairs;
    sprag_surface surface; // of all pairs
    sprag_scratch scratch[2];
    sprag_advance_options options;
    sprag_frame_calls calls;
    sprag_advance_stats stats;
    double recovery, recovery_speed;
    double time;               // s
    sprag_event event[EVENTS]; // time: s, from the start
    int events;
    int touches; // of the callback
    double touch_time, touch_gap;
    bool accepts;
    chance chance;
    double most; // m/s and rad/s, of disturbances
} scene;

static scene *open_scene(double mu)
{
    scene *s = calloc(1, sizeof *s);
    ck_assert_ptr_nonnull(s);
    s->options = sprag_advance_defaults();
    s->surface.slide = (sprag_friction){.coefficient = {mu, mu}};
    s->recovery = 0.2;
    s->recovery_speed = INFINITY;
    return s;
}

static void close_scene(scene *s)
{
    sprag_scratch_free(&s->scratch[0]);
    sprag_scratch_free(&s->scratch[1]);
    free(s);
}

static void set_identity(double *R)
{
    memset(R, 0, 9 * sizeof *R);
    R[0] = R[4] = R[8] = 1;
}

static sprag_collider *add_collider(scene *s, int body, sprag_shape shape)
{
    sprag_collider *c = &s->collider[s->colliders++];
    *c = (sprag_collider){.body = body, .shape = shape};
    set_identity(c->mount.rotation);
    return c;
}

static void add_floor(scene *s)
{
    add_collider(s, SPRAG_STATIC, (sprag_shape){.kind = SPRAG_PLANE});
}

static sprag_shape box_of(double x, double y, double z) // m, sides
{
    return (sprag_shape){.kind = SPRAG_BOX, .half = {x / 2, y / 2, z / 2}};
}

static void add_fixed_box(scene *s, double x, double y, double z, sprag_shape box)
{
    sprag_collider *c = add_collider(s, SPRAG_STATIC, box);
    memcpy(c->mount.position, (double[]){x, y, z}, sizeof c->mount.position);
}

static sprag_mover *add_body(scene *s, double mass, const double inertia[3], double x, double y,
                             double z, sprag_shape shape)
{
    sprag_mover *b = &s->body[s->bodies];
    *b = (sprag_mover){.mass = mass, .gyroscopic = true};
    set_identity(b->pose.rotation);
    memcpy(b->pose.position, (double[]){x, y, z}, sizeof b->pose.position);
    for (int k = 0; k < 3; k++) {
        b->inertia[4 * k] = inertia[k];
    }
    b->force[2] = -G * mass;
    add_collider(s, s->bodies++, shape);
    return b;
}

// 1 kg
static sprag_mover *add_box(scene *s, double x, double y, double z, sprag_shape box)
{
    const double *h = box.half;
    const double inertia[3] = {(h[1] * h[1] + h[2] * h[2]) / 3, (h[0] * h[0] + h[2] * h[2]) / 3,
                               (h[0] * h[0] + h[1] * h[1]) / 3};
    return add_body(s, 1, inertia, x, y, z, box);
}

static sprag_mover *add_ball(scene *s, double x, double y, double z, double radius)
{
    double i = 0.4 * radius * radius;
    const double inertia[3] = {i, i, i};
    return add_body(s, 1, inertia, x, y, z, (sprag_shape){.kind = SPRAG_SPHERE, .radius = radius});
}

static void add_pairs(scene *s, sprag_pair_state state)
{
    for (int i = 0; i < s->colliders; i++) {
        for (int j = i + 1; j < s->colliders; j++) {
            if (s->collider[i].body != s->collider[j].body) {
                ck_assert_int_lt(s->pairs, PAIRS);
                bool second = s->collider[i].body == SPRAG_STATIC; // side 0 moves
                s->pair[s->pairs] = (sprag_pair){.collider = {second ? j : i, second ? i : j},
                                                 .memory = &s->memory[s->pairs],
                                                 .state = state,
                                                 .surface = s->surface};
                s->pairs++;
            }
        }
    }
}

static void note(void *data, const sprag_event *event)
{
    scene *s = data;
    if (s->events < EVENTS) {
        s->event[s->events] = *event;
        s->event[s->events++].time += s->time;
    }
}

static bool touch(void *data, int pair, double gap, double time)
{
    scene *s = data;
    s->touches++;
    s->touch_gap = gap;
    s->touch_time = s->time + time;
    s->pair[pair].surface = s->surface;
    return s->accepts;
}

static sprag_frame frame_of(scene *s, double step)
{
    return (sprag_frame){.step = step,
                         .bodies = s->bodies,
                         .colliders = s->colliders,
                         .pairs = s->pairs,
                         .body = s->body,
                         .collider = s->collider,
                         .pair = s->pair,
                         .recovery = s->recovery,
                         .recovery_speed = s->recovery_speed};
}

static sprag_result try_step(scene *s, double step)
{
    sprag_frame frame = frame_of(s, step);
    s->calls.data = s;
    s->calls.event = note;
    sprag_scratch_reset(&s->scratch[0]);
    sprag_scratch_reset(&s->scratch[1]);
    return sprag_advance(&frame, &s->options, &s->calls, s->scratch, &s->stats);
}

static void step(scene *s)
{
    ck_assert_str_eq(sprag_result_name(try_step(s, STEP)), "ok");
    s->time += STEP;
}

static void run(scene *s, int frames)
{
    for (int i = 0; i < frames; i++) {
        step(s);
    }
}

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

static double kinetic_energy(const sprag_mover *b)
{
    double w[3], L[3];
    mul33_transposed(b->pose.rotation, b->velocity + 3, w);
    mul33(b->inertia, w, L);
    return 0.5 * (b->mass * dot3(b->velocity, b->velocity) + dot3(w, L));
}

static double energy(const scene *s)
{
    double sum = 0;
    for (int i = 0; i < s->bodies; i++) {
        sum += kinetic_energy(&s->body[i]) + s->body[i].mass * G * s->body[i].pose.position[2];
    }
    return sum;
}

static bool is_finite(const scene *s)
{
    double sum = 0;
    for (int i = 0; i < s->bodies; i++) {
        for (int k = 0; k < 9; k++) {
            sum += 0 * s->body[i].pose.rotation[k];
        }
        for (int k = 0; k < 6; k++) {
            sum += 0 * s->body[i].velocity[k] + 0 * s->body[i].pose.position[k % 3];
        }
    }
    return sum == 0;
}

// ---- an oracle: boxes and planes, by separating axes

static void box_in_world(const scene *s, const sprag_collider *c, double R[9], double x[3])
{
    if (c->body == SPRAG_STATIC) {
        memcpy(R, c->mount.rotation, 9 * sizeof *R);
        memcpy(x, c->mount.position, 3 * sizeof *x);
    } else { // (all mounts of bodies are at their centres)
        memcpy(R, s->body[c->body].pose.rotation, 9 * sizeof *R);
        memcpy(x, s->body[c->body].pose.position, 3 * sizeof *x);
    }
}

static double half_along(const sprag_collider *c, const double *R, const double n[3])
{
    double sum = 0;
    for (int k = 0; k < 3; k++) {
        const double axis[3] = {R[k], R[3 + k], R[6 + k]};
        sum += c->shape.half[k] * fabs(dot3(axis, n));
    }
    return sum;
}

static void axis_of(const double *R, int k, double axis[3])
{
    memcpy(axis, (double[]){R[k], R[3 + k], R[6 + k]}, 3 * sizeof *axis);
}

static double separation_along(const sprag_collider *const c[2], double R[2][9], double d[3],
                               double n[3])
{
    return normalise3(n) ? fabs(dot3(d, n)) - half_along(c[0], R[0], n) - half_along(c[1], R[1], n)
                         : -INFINITY;
}

// m, negative: they overlap. Of a plane: the height of the lowest corner.
static double separation(const scene *s, const sprag_pair *pair)
{
    const sprag_collider *c[2] = {&s->collider[pair->collider[0]], &s->collider[pair->collider[1]]};
    double R[2][9], x[2][3], d[3], best = -INFINITY;
    for (int side = 0; side < 2; side++) {
        box_in_world(s, c[side], R[side], x[side]);
    }
    if (c[0]->shape.kind == SPRAG_PLANE) {
        double up[3];
        axis_of(R[0], 2, up);
        subtract3(x[1], x[0], d);
        return dot3(d, up) - half_along(c[1], R[1], up);
    }
    subtract3(x[1], x[0], d);
    for (int i = 0; i < 3; i++) {
        double n[3], a[3], b[3];
        axis_of(R[0], i, n);
        best = fmax(best, separation_along(c, R, d, n));
        axis_of(R[1], i, n);
        best = fmax(best, separation_along(c, R, d, n));
        for (int j = 0; j < 3; j++) {
            axis_of(R[0], i, a);
            axis_of(R[1], j, b);
            cross3(a, b, n);
            best = fmax(best, norm3(n) > 1e-6 ? separation_along(c, R, d, n) : -INFINITY);
        }
    }
    return best;
}

static double least_separation(const scene *s)
{
    double least = INFINITY;
    for (int i = 0; i < s->pairs; i++) {
        least = fmin(least, separation(s, &s->pair[i]));
    }
    return least;
}

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

// By hand: from where does it fall, how fast, and when does it land? A step ends at the speed that
// it goes with: frames fall g h^2 further each, the last one goes (v + g t) t.
static double landing_time(double height, double speed, double gravity)
{
    double time = 0;
    while (height > (speed + gravity * STEP) * STEP) {
        speed += gravity * STEP;
        height -= speed * STEP;
        time += STEP;
    }
    return time + 2 * height / (speed + sqrt(speed * speed + 4 * gravity * height));
}

typedef struct fall {
    double height, speed, gravity;
    bool ball;
} fall;

static const fall falls[] = {
    {1, 0, 9.81, false}, {0.123, 0, 9.81, false}, {1, 3, 0, false},
    {1, 0, 9.81, true},  {2, 7, 9.81, true},      {0.005, 0.01, 9.81, false},
};

static sprag_mover *drop(scene *s, const fall *f)
{
    add_floor(s);
    sprag_mover *body = f->ball ? add_ball(s, 0, 0, 0.5 + f->height, 0.5)
                                : add_box(s, 0, 0, 0.5 + f->height, box_of(1, 1, 1));
    body->velocity[2] = -f->speed;
    body->force[2] = -f->gravity;
    add_pairs(s, SPRAG_PAIR_ACCEPTED);
    return body;
}

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
    ck_assert_double_lt(s->stats.energy_gain, 1e-9);
    close_scene(s);
}
END_TEST

// What rests allocates no more.
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
START_TEST(what_spins_on_the_spot_is_not_lifted)
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

// It slides to rest in v / (mu g); told then, and only then.
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

// ---- what must never penetrate

static void throw(scene * s, chance *c, sprag_mover *b)
{
    chance_rotation(c, b->pose.rotation);
    for (int k = 0; k < 6; k++) {
        b->velocity[k] = chance_between(c, -10, 10);
    }
    (void)s;
}

// Onto a plane, and onto a box as large as a room.
START_TEST(thrown_dice_rest_on_top)
{
    long limited = 0, changes = 0;
    for (unsigned seed = 1; seed <= 10; seed++) {
        chance c = {seed};
        scene *s = open_scene(_i ? 0.5 : INFINITY);
        if (seed % 2) {
            add_floor(s);
        } else {
            add_fixed_box(s, 0, 0, -10, box_of(200, 200, 20));
        }
        sprag_mover *die = add_box(s, 0, 0, chance_between(&c, 1, 3), box_of(1, 1, 1));
        throw(s, &c, die);
        add_pairs(s, SPRAG_PAIR_ACCEPTED);
        double before = energy(s);
        for (int i = 0; i < 400; i++) {
            step(s);
            ck_assert_double_gt(least_separation(s), 0);
            double now = energy(s);
            ck_assert_double_le(now, before + 1e-6);
            before = now;
        }
        ck_assert_double_lt(s->stats.energy_gain, 1e-6);
        limited += s->stats.limited;
        changes += s->stats.changes;
        close_scene(s);
    }
    ck_assert_int_gt(changes, 50);
    ck_assert_double_le((double)limited, 1.1 * (double)changes);
}
END_TEST

START_TEST(heap_of_boxes_stays_apart)
{
    for (unsigned seed = 1; seed <= 2; seed++) {
        chance c = {seed};
        scene *s = open_scene(0.5);
        s->options.checks = 1;
        add_floor(s);
        for (int i = 0; i < 6; i++) {
            sprag_mover *b =
                add_box(s, chance_between(&c, -0.3, 0.3), chance_between(&c, -0.3, 0.3),
                        1 + 1.4 * i, box_of(0.8, 0.6, 0.5));
            chance_rotation(&c, b->pose.rotation);
        }
        add_pairs(s, SPRAG_PAIR_ACCEPTED);
        for (int i = 0; i < 150; i++) {
            step(s);
            ck_assert_double_gt(least_separation(s), 0);
        }
        ck_assert_double_gt(s->stats.least_gap, 0);
        ck_assert_double_lt(s->stats.energy_gain, 1e-6);
        ck_assert_int_eq(s->stats.overlaps + s->stats.squeezed, 0);
        close_scene(s);
    }
}
END_TEST

typedef struct bullet {
    sprag_shape shape;
    double speed, spin;
} bullet;

static const bullet bullets[] = {
    {{.kind = SPRAG_BOX, .half = {0.05, 0.05, 0.05}}, 200, 229},
    {{.kind = SPRAG_BOX, .half = {0.5, 0.01, 0.01}}, 30, 100}, // a rod
    {{.kind = SPRAG_BOX, .half = {0.01, 0.5, 0.01}}, 5, 300},
    {{.kind = SPRAG_SPHERE, .radius = 0.02}, 100, 0},
    {{.kind = SPRAG_BOX, .half = {0.001, 0.2, 0.2}}, 500, 3}, // a plate
};

// At a wall of 1 cm; a step is up to metres long.
START_TEST(nothing_passes_a_thin_wall)
{
    const bullet *b = &bullets[_i];
    static const double axes[][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 1}};
    for (int k = 0; k < 4; k++) {
        scene *s = open_scene(0.3);
        add_fixed_box(s, 0, 0, 0, box_of(0.01, 20, 20));
        sprag_mover *body = b->shape.kind == SPRAG_SPHERE ? add_ball(s, -1.7, 0, 0, b->shape.radius)
                                                          : add_box(s, -1.7, 0, 0, b->shape);
        double n[3];
        memcpy(n, axes[k], sizeof n);
        normalise3(n);
        body->velocity[0] = b->speed;
        memset(body->force, 0, sizeof body->force);
        add_scaled(body->velocity + 3, b->spin, n, 3);
        add_pairs(s, SPRAG_PAIR_ACCEPTED);
        for (int i = 0; i < 60; i++) {
            step(s);
            ck_assert_double_lt(body->pose.position[0], -0.005);
            if (b->shape.kind == SPRAG_BOX) {
                ck_assert_double_gt(least_separation(s), 0);
            }
        }
        ck_assert_int_ge(s->stats.events[SPRAG_CONTACT_MADE], 1);
        ck_assert_double_gt(s->stats.least_gap, 0);
        ck_assert_int_eq(s->stats.overlaps + s->stats.squeezed, 0);
        close_scene(s);
    }
}
END_TEST

static void disturb(void *data, int bodies, double (*velocity)[6])
{
    scene *s = data;
    for (int i = 0; i < bodies; i++) {
        if (chance_fraction(&s->chance) < 0.5) {
            for (int k = 0; k < 6; k++) {
                velocity[i][k] += chance_between(&s->chance, -s->most, s->most);
            }
        }
    }
}

// Whatever a solve returns.
START_TEST(no_velocity_penetrates)
{
    for (unsigned seed = 1; seed <= 100; seed++) {
        scene *s = open_scene(0.5);
        s->chance = (chance){seed};
        s->most = (const double[]){0.01, 1, 5, 100}[seed % 4];
        s->calls.disturb = disturb;
        add_floor(s);
        add_fixed_box(s, 1.5, 0, 0.5, box_of(1, 1, 1));
        for (int i = 0; i < 2; i++) {
            sprag_mover *b = add_box(s, 0.1 * i, 0, 1 + 1.8 * i, box_of(1, 0.8, 0.6));
            chance_rotation(&s->chance, b->pose.rotation);
        }
        add_pairs(s, SPRAG_PAIR_ACCEPTED);
        for (int i = 0; i < 15; i++) {
            step(s);
            ck_assert_double_gt(least_separation(s), 0);
        }
        ck_assert_int_eq(s->stats.overlaps + s->stats.squeezed, 0);
        ck_assert(is_finite(s));
        close_scene(s);
    }
}
END_TEST

// So many bodies that they are swept. What a solve returns may keep some of them back, but without
// disturbance none.
START_TEST(no_velocity_penetrates_in_a_heap)
{
    enum { WIDE = 3, FRAMES = 60 };
    scene *s = open_scene(0.5);
    s->chance = (chance){7};
    s->most = (const double[]){0, 0.01, 1, 5}[_i];
    s->calls.disturb = _i ? disturb : NULL;
    add_floor(s);
    for (int i = 0; i < BODIES; i++) {
        double x = 0.75 * (i % WIDE), y = 0.75 * (i / WIDE % WIDE),
               z = 0.5 + 0.8 * (i / WIDE / WIDE);
        sprag_mover *b = add_box(s, x, y, z, box_of(0.6, 0.5, 0.3));
        chance_rotation(&s->chance, b->pose.rotation);
        b->velocity[2] = -2;
    }
    add_pairs(s, SPRAG_PAIR_ACCEPTED);
    for (int i = 0; i < FRAMES; i++) {
        step(s);
        ck_assert_double_gt(least_separation(s), 0);
    }
    ck_assert_int_eq(s->stats.overlaps + s->stats.squeezed, 0);
    ck_assert_int_gt(s->stats.events[SPRAG_CONTACT_MADE], BODIES);
    ck_assert(_i > 0 || s->stats.stalled <= 1e-3 * FRAMES * STEP);
    ck_assert(is_finite(s));
    close_scene(s);
}
END_TEST

// ---- what overlaps

START_TEST(overlap_is_pushed_out_without_speed)
{
    static const double depth = 0.01;
    scene *s = open_scene(0.5);
    if (_i) {
        add_fixed_box(s, 0, 0, -1, box_of(10, 10, 2));
    } else {
        add_floor(s);
    }
    sprag_mover *box = add_box(s, 0, 0, 0.5 - depth, box_of(1, 1, 1));
    add_pairs(s, SPRAG_PAIR_ACCEPTED);
    double last = separation(s, &s->pair[0]);
    ck_assert_double_eq_tol(last, -depth, 1e-12);
    for (int i = 0; i < 120; i++) {
        step(s);
        double now = separation(s, &s->pair[0]);
        ck_assert_double_lt(kinetic_energy(box), 1e-9);
        ck_assert_double_ge(now, last - 1e-9);
        ck_assert_double_le(now, last + 0.2 * (EPSILON - last) + EPSILON); // no more than its share
        last = now;
    }
    ck_assert_int_ge(s->stats.overlaps, 1);
    ck_assert_double_gt(last, -EPSILON);
    ck_assert_double_le(last, EPSILON);
    close_scene(s);
}
END_TEST

START_TEST(recovery_is_no_faster_than_allowed)
{
    scene *s = open_scene(0.5);
    s->recovery_speed = 0.05;
    add_floor(s);
    sprag_mover *box = add_box(s, 0, 0, 0.45, box_of(1, 1, 1));
    add_pairs(s, SPRAG_PAIR_ACCEPTED);
    run(s, 10);
    ck_assert_double_eq_tol(box->pose.position[2], 0.45 + 0.05 * 10 * STEP, 1e-5);
    close_scene(s);
}
END_TEST

// A kinematic body presses another one against the floor: something has to give.
START_TEST(squeezed_bodies_are_let_through)
{
    scene *s = open_scene(0.5);
    add_floor(s);
    sprag_mover *box = add_box(s, 0, 0, 0.5 + EPSILON / 2, box_of(1, 1, 1));
    sprag_mover *press = add_box(s, 0, 0, 2, box_of(1, 1, 1));
    press->mass = 0;
    press->velocity[2] = -1;
    memset(press->force, 0, sizeof press->force);
    add_pairs(s, SPRAG_PAIR_ACCEPTED);
    for (int i = 0; i < 70; i++) {
        step(s);
        ck_assert(is_finite(s));
        ck_assert_double_eq_tol(press->pose.position[2], 2 - (i + 1) * STEP, 1e-9);
        ck_assert_double_lt(norm3(box->velocity), 100);
        ck_assert_double_eq(press->velocity[2], -1);
    }
    ck_assert_int_ge(s->stats.squeezed + s->stats.overlaps, 1); // within a frame, or at its end
    ck_assert_int_lt(s->stats.substeps, 70 * 300);
    close_scene(s);
}
END_TEST

// A lift carries what stands on it.
START_TEST(kinematic_bodies_carry)
{
    scene *s = open_scene(0.5);
    sprag_mover *lift = add_box(s, 0, 0, -0.5, box_of(4, 4, 1));
    lift->mass = 0;
    lift->velocity[2] = 0.7;
    lift->velocity[0] = 0.3;
    sprag_mover *box = add_box(s, 0, 0, 0.5 + EPSILON / 2, box_of(1, 1, 1));
    add_pairs(s, SPRAG_PAIR_ACCEPTED);
    run(s, 100);
    ck_assert_double_eq_tol(box->velocity[2], 0.7, 1e-6);
    ck_assert_double_eq_tol(box->velocity[0], 0.3, 1e-6);
    ck_assert_double_eq_tol(box->pose.position[2] - lift->pose.position[2], 1 + EPSILON / 2,
                            EPSILON);
    ck_assert_double_eq_tol(lift->pose.position[2], -0.5 + 0.7, 1e-9);
    ck_assert_double_gt(least_separation(s), 0);
    close_scene(s);
}
END_TEST

// ---- pairs that nobody has been asked about

START_TEST(declined_pairs_pass)
{
    for (int told = 0; told < 2; told++) {
        scene *s = open_scene(0.5);
        s->calls.touch = touch;
        add_fixed_box(s, 0, 0, 0, box_of(2, 2, 0.2));
        const sprag_mover *ball = add_ball(s, 0, 0, 1, 0.2);
        add_pairs(s, told ? SPRAG_PAIR_DECLINED : SPRAG_PAIR_UNKNOWN);
        run(s, 100);
        ck_assert_int_eq(s->touches, !told);
        ck_assert_double_eq_tol(ball->velocity[2], -G, 1e-9);
        ck_assert_double_eq_tol(ball->pose.position[2], 1 - G * (1 + STEP) / 2, 1e-3);
        ck_assert_int_eq(s->stats.events[SPRAG_CONTACT_MADE], 0);
        ck_assert_int_eq(s->stats.overlaps, 0);
        close_scene(s);
    }
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
    s->calls.touch = touch;
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

// ---- groups, repetition, refusals

// What bounces far away makes more sub-steps, and nothing else.
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
    ck_assert_str_eq(sprag_result_name(sprag_advance(&frame, NULL, NULL, scratch, NULL)), "ok");
    sprag_scratch_free(&scratch[0]);
    sprag_scratch_free(&scratch[1]);
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
    double coarse = momentum_lost(0.01, true), fine = momentum_lost(0.0025, true);
    ck_assert_double_lt(coarse, 0.03);
    ck_assert_double_lt(fine, 0.35 * coarse);
    ck_assert_double_gt(momentum_lost(0.0025, false), 0.1); // what it would be without
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("advance");
    TCase *lands = tcase_create("lands");
    int all = sizeof falls / sizeof falls[0];
    tcase_add_test(lands, oracle_sees);
    tcase_add_loop_test(lands, lands_when_it_must, 0, all);
    tcase_add_loop_test(lands, bounces_as_fast_as_asked, 0, 4);
    tcase_add_test(lands, slow_ones_do_not_bounce);
    tcase_add_test(lands, bouncing_ends);
    suite_add_tcase(suite, lands);
    TCase *rests = tcase_create("rests and slides");
    tcase_add_loop_test(rests, stack_rests, 0, 2);
    tcase_add_test(rests, settled_frames_allocate_nothing);
    tcase_add_loop_test(rests, box_on_a_slope, 0, 4);
    tcase_add_loop_test(rests, ball_rolls_without_slip, 0, 3);
    tcase_add_loop_test(rests, what_spins_on_the_spot_is_not_lifted, 0, 12);
    tcase_add_test(rests, driven_box_rolls_over_its_edges);
    tcase_add_test(rests, box_without_slip_tips);
    tcase_add_loop_test(rests, slip_ends_when_it_must, 0, 3);
    tcase_add_test(rests, slip_begins_and_contact_is_lost);
    tcase_add_loop_test(rests, edges_between_boxes_are_not_felt, 0, 4);
    suite_add_tcase(suite, rests);
    TCase *apart = tcase_create("stays apart");
    tcase_add_loop_test(apart, thrown_dice_rest_on_top, 0, 2);
    tcase_add_test(apart, heap_of_boxes_stays_apart);
    tcase_add_loop_test(apart, nothing_passes_a_thin_wall, 0, sizeof bullets / sizeof bullets[0]);
    tcase_add_test(apart, no_velocity_penetrates);
    tcase_add_loop_test(apart, no_velocity_penetrates_in_a_heap, 0, 4);
    suite_add_tcase(suite, apart);
    TCase *overlaps = tcase_create("overlaps");
    tcase_add_loop_test(overlaps, overlap_is_pushed_out_without_speed, 0, 2);
    tcase_add_test(overlaps, recovery_is_no_faster_than_allowed);
    tcase_add_test(overlaps, squeezed_bodies_are_let_through);
    tcase_add_test(overlaps, kinematic_bodies_carry);
    suite_add_tcase(suite, overlaps);
    TCase *asks = tcase_create("asks");
    tcase_add_test(asks, declined_pairs_pass);
    tcase_add_test(asks, unasked_pairs_pass);
    tcase_add_loop_test(asks, is_asked_at_the_touch, 0, all);
    suite_add_tcase(suite, asks);
    TCase *frames = tcase_create("frames");
    tcase_add_test(frames, far_bodies_do_not_matter);
    tcase_add_test(frames, same_input_same_bits);
    tcase_add_loop_test(frames, bad_input_moves_nothing, 0, BAD_THINGS);
    tcase_add_test(frames, nothing_is_a_frame_too);
    tcase_add_test(frames, angular_momentum_stays);
    suite_add_tcase(suite, frames);
    return run_suite(suite);
}
