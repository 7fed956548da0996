// Frames of conservative advancement without ODE: boxes, balls and planes, an oracle for their
// penetration by separating axes, and what a scene answers when a pair is offered.
#ifndef TEST_ADVANCE_SCENE_H
#define TEST_ADVANCE_SCENE_H

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

static inline scene *open_scene(double mu)
{
    scene *s = calloc(1, sizeof *s);
    ck_assert_ptr_nonnull(s);
    s->options = sprag_advance_defaults();
    s->surface.slide = (sprag_friction){.coefficient = {mu, mu}};
    s->recovery = 0.2;
    s->recovery_speed = INFINITY;
    return s;
}

static inline void close_scene(scene *s)
{
    sprag_scratch_free(&s->scratch[0]);
    sprag_scratch_free(&s->scratch[1]);
    free(s);
}

static inline void set_identity(double *R)
{
    memset(R, 0, 9 * sizeof *R);
    R[0] = R[4] = R[8] = 1;
}

static inline sprag_collider *add_collider(scene *s, int body, sprag_shape shape)
{
    sprag_collider *c = &s->collider[s->colliders++];
    *c = (sprag_collider){.body = body, .shape = shape};
    set_identity(c->mount.rotation);
    return c;
}

static inline void add_floor(scene *s)
{
    add_collider(s, SPRAG_STATIC, (sprag_shape){.kind = SPRAG_PLANE});
}

static inline sprag_shape box_of(double x, double y, double z) // m, sides
{
    return (sprag_shape){.kind = SPRAG_BOX, .half = {x / 2, y / 2, z / 2}};
}

static inline void add_fixed_box(scene *s, double x, double y, double z, sprag_shape box)
{
    sprag_collider *c = add_collider(s, SPRAG_STATIC, box);
    memcpy(c->mount.position, (double[]){x, y, z}, sizeof c->mount.position);
}

static inline sprag_mover *add_body(scene *s, double mass, const double inertia[3], double x,
                                    double y, double z, sprag_shape shape)
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
static inline sprag_mover *add_box(scene *s, double x, double y, double z, sprag_shape box)
{
    const double *h = box.half;
    const double inertia[3] = {(h[1] * h[1] + h[2] * h[2]) / 3, (h[0] * h[0] + h[2] * h[2]) / 3,
                               (h[0] * h[0] + h[1] * h[1]) / 3};
    return add_body(s, 1, inertia, x, y, z, box);
}

static inline sprag_mover *add_ball(scene *s, double x, double y, double z, double radius)
{
    double i = 0.4 * radius * radius;
    const double inertia[3] = {i, i, i};
    return add_body(s, 1, inertia, x, y, z, (sprag_shape){.kind = SPRAG_SPHERE, .radius = radius});
}

static inline void add_pairs(scene *s, sprag_pair_state state)
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

static inline void note(void *data, const sprag_event *event)
{
    scene *s = data;
    if (s->events < EVENTS) {
        s->event[s->events] = *event;
        s->event[s->events++].time += s->time;
    }
}

static inline sprag_frame frame_of(scene *s, double step)
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

static inline sprag_result try_step(scene *s, double step)
{
    sprag_frame frame = frame_of(s, step);
    s->calls.data = s;
    s->calls.event = note;
    sprag_scratch_reset(&s->scratch[0]);
    sprag_scratch_reset(&s->scratch[1]);
    return sprag_advance(&frame, &s->options, &s->calls, s->scratch, &s->stats);
}

static inline void step(scene *s)
{
    ck_assert_str_eq(sprag_result_name(try_step(s, STEP)), "ok");
    s->time += STEP;
}

static inline void run(scene *s, int frames)
{
    for (int i = 0; i < frames; i++) {
        step(s);
    }
}

// ---- an oracle: boxes and planes, by separating axes

static inline void box_in_world(const scene *s, const sprag_collider *c, double R[9], double x[3])
{
    if (c->body == SPRAG_STATIC) {
        memcpy(R, c->mount.rotation, 9 * sizeof *R);
        memcpy(x, c->mount.position, 3 * sizeof *x);
    } else { // (all mounts of bodies are at their centres)
        memcpy(R, s->body[c->body].pose.rotation, 9 * sizeof *R);
        memcpy(x, s->body[c->body].pose.position, 3 * sizeof *x);
    }
}

static inline double half_along(const sprag_collider *c, const double *R, const double n[3])
{
    double sum = 0;
    for (int k = 0; k < 3; k++) {
        const double axis[3] = {R[k], R[3 + k], R[6 + k]};
        sum += c->shape.half[k] * fabs(dot3(axis, n));
    }
    return sum;
}

static inline void axis_of(const double *R, int k, double axis[3])
{
    memcpy(axis, (double[]){R[k], R[3 + k], R[6 + k]}, 3 * sizeof *axis);
}

static inline double separation_along(const sprag_collider *const c[2], double R[2][9], double d[3],
                                      double n[3])
{
    return normalise3(n) ? fabs(dot3(d, n)) - half_along(c[0], R[0], n) - half_along(c[1], R[1], n)
                         : -INFINITY;
}

// m, negative: they overlap. Of a plane: the height of the lowest corner.
static inline double separation(const scene *s, const sprag_pair *pair)
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

static inline double least_separation(const scene *s)
{
    double least = INFINITY;
    for (int i = 0; i < s->pairs; i++) {
        least = fmin(least, separation(s, &s->pair[i]));
    }
    return least;
}

// ---- landing, bouncing

// s, after which what falls from a height lands.
static inline double landing_time(double height, double speed, double gravity)
{
    return 2 * height / (speed + sqrt(speed * speed + 2 * gravity * height));
}

typedef struct fall {
    double height, speed, gravity;
    bool ball;
} fall;

static const fall falls[] = {
    {1, 0, 9.81, false}, {0.123, 0, 9.81, false}, {1, 3, 0, false},
    {1, 0, 9.81, true},  {2, 7, 9.81, true},      {0.005, 0.01, 9.81, false},
};

static inline sprag_mover *drop(scene *s, const fall *f)
{
    add_floor(s);
    sprag_mover *body = f->ball ? add_ball(s, 0, 0, 0.5 + f->height, 0.5)
                                : add_box(s, 0, 0, 0.5 + f->height, box_of(1, 1, 1));
    body->velocity[2] = -f->speed;
    body->force[2] = -f->gravity;
    add_pairs(s, SPRAG_PAIR_ACCEPTED);
    return body;
}

#endif
