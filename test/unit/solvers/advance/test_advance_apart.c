// Conservative advancement keeps bodies apart whatever their velocities, and moves bodies that
// overlap apart.
#include <check.h>
#include <math.h>
#include <string.h>

#include "advance_scene.h"
#include "chance.h"
#include "linalg.h"
#include "suite.h"

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

// ---- separation

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
            const double before = energy(s);
            step(s);
            ck_assert_double_gt(least_separation(s), 0);
            ck_assert_double_le(energy(s), before + 1e-6);
        }
        ck_assert_double_gt(s->stats.least_gap, 0);
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

// A group of so many bodies that it is a large one: boxes that fall on each other.
static scene *open_heap(void)
{
    enum { WIDE = 3 };
    scene *s = open_scene(0.5);
    s->chance = (chance){7};
    add_floor(s);
    for (int i = 0; i < BODIES; i++) {
        double x = 0.75 * (i % WIDE), y = 0.75 * (i / WIDE % WIDE),
               z = 0.5 + 0.8 * (i / WIDE / WIDE);
        sprag_mover *b = add_box(s, x, y, z, box_of(0.6, 0.5, 0.3));
        chance_rotation(&s->chance, b->pose.rotation);
        b->velocity[2] = -2;
    }
    add_pairs(s, SPRAG_PAIR_ACCEPTED);
    return s;
}

// Disturbed velocities may stop some of the bodies for a time, undisturbed velocities may not.
START_TEST(no_velocity_penetrates_in_a_heap)
{
    enum { FRAMES = 60 };
    scene *s = open_heap();
    s->most = (const double[]){0, 0.01, 1, 5}[_i];
    s->calls.disturb = _i ? disturb : NULL;
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

// Contacts made in advance press on the surface of a ball, where it is when they act: without
// friction nothing turns it.
START_TEST(balls_without_friction_do_not_turn)
{
    scene *s = open_scene(0);
    s->chance = (chance){5};
    add_floor(s);
    for (int i = 0; i < BODIES; i++) {
        sprag_mover *b = add_ball(s, 0.7 * (i % 3), 0.7 * (i / 3 % 3), 0.4 + 0.7 * (i / 9), 0.3);
        for (int k = 0; k < 3; k++) {
            b->velocity[k] = chance_between(&s->chance, -60, 60);
        }
    }
    add_pairs(s, SPRAG_PAIR_ACCEPTED);
    for (int i = 0; i < 20; i++) {
        step(s);
        for (int b = 0; b < s->bodies; b++) {
            ck_assert_double_lt(norm3(s->body[b].velocity + 3), 1e-9);
        }
    }
    ck_assert_int_gt(s->stats.events[SPRAG_CONTACT_MADE], BODIES);
    close_scene(s);
}
END_TEST

// Gaps of bodies that do not overlap are opened by sweeps, once in a frame, and what is faster than
// a frame's fall is solved by sweeps.
START_TEST(heaps_take_little_work)
{
    enum { FRAMES = 200 };
    scene *s = open_heap();
    double work = 0; // in frames' shares
    for (int i = 0; i < FRAMES; i++) {
        s->stats.work = 0;
        step(s);
        work += s->stats.work;
    }
    ck_assert_int_lt(s->stats.solves, 530);
    ck_assert_double_lt(work, 6.6);
    close_scene(s);
}
END_TEST

// The displacement that opens the gaps of bricks placed flush is not solved for as long as their
// friction is.
START_TEST(walls_take_little_work)
{
    enum { WIDE = 4, HIGH = 6, FRAMES = 20 };
    scene *s = open_scene(0.5);
    add_floor(s);
    for (int i = 0; i < WIDE * HIGH; i++) {
        double x = 0.4 * (i % WIDE) + 0.2 * (i / WIDE % 2), z = 0.1 + 0.2 * (i / WIDE);
        add_box(s, x, 0, z, box_of(0.4, 0.2, 0.2));
    }
    add_pairs(s, SPRAG_PAIR_ACCEPTED);
    double work = 0; // in frames' shares
    for (int i = 0; i < FRAMES; i++) {
        s->stats.work = 0;
        step(s);
        work += s->stats.work;
    }
    ck_assert_double_lt(work, 1.1);
    ck_assert_double_gt(least_separation(s), 0.4 * EPSILON);
    close_scene(s);
}
END_TEST

// Under a large load sweeps would leave the displacement inexact in every frame.
START_TEST(stacks_under_a_load_open_their_gaps)
{
    enum { HIGH = 10 };
    scene *s = open_scene(0.5);
    add_floor(s);
    for (int i = 0; i < HIGH; i++) {
        add_box(s, 0, 0, 0.5 + i, box_of(1, 1, 1));
    }
    sprag_mover *top = &s->body[HIGH - 1];
    top->mass *= 1000;
    top->force[2] *= 1000;
    for (int k = 0; k < 9; k++) {
        top->inertia[k] *= 1000;
    }
    add_pairs(s, SPRAG_PAIR_ACCEPTED);
    run(s, 50);
    double height = top->pose.position[2];
    run(s, 50);
    ck_assert_double_eq_tol(top->pose.position[2], height, 1e-9);
    ck_assert_double_gt(least_separation(s), 0.4 * EPSILON);
    close_scene(s);
}
END_TEST

// ---- overlaps

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

int main(void)
{
    Suite *suite = suite_create("advance_apart");
    ADD_TESTS(suite, "stays apart", {thrown_dice_rest_on_top, 2}, {heap_of_boxes_stays_apart, 1},
              {nothing_passes_a_thin_wall, COUNT(bullets)}, {no_velocity_penetrates, 1},
              {no_velocity_penetrates_in_a_heap, 4}, {balls_without_friction_do_not_turn, 1},
              {heaps_take_little_work, 1}, {walls_take_little_work, 1},
              {stacks_under_a_load_open_their_gaps, 1});
    ADD_TESTS(suite, "overlaps", {overlap_is_pushed_out_without_speed, 2},
              {recovery_is_no_faster_than_allowed, 1}, {squeezed_bodies_are_let_through, 1},
              {kinematic_bodies_carry, 1});
    return run_suite(suite);
}
