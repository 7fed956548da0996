// Bodies that fit others with less than a micrometre to spare, under method=advance: they slide as
// with room, and only what presses them has friction.
#include <check.h>
#include <math.h>

#include "advance_program.h"
#include "start.h"
#include "suite.h"

static void add_block(scene *s, const double side[3], double x, double y, double z)
{
    dGeomSetPosition(dCreateBox(s->space, side[0], side[1], side[2]), x, y, z);
}

static double largest_force(const scene *s) // N
{
    double most = 0;
    for (int i = 0; i < s->joints && i < MOST; i++) {
        most = fmax(most, norm3(s->feedback[i].f1));
    }
    return most;
}

static const double plays[] = {0, 1e-8, 1e-7, 3e-7, 5e-7, 1e-5}; // m, on each side

enum { PLAYS = sizeof plays / sizeof plays[0], FRAMES = 50, FINER = 10 };

// A drawer of 20 N, pushed by 15 N against the friction of its floor, of 10 N, or 2.5 N at each of
// its four corners, at steps of 10 and of 1 ms. Neither its top nor its sides are pressed on.
START_TEST(drawer_slides)
{
    static const double along[3] = {8, 1, 0.1}, beside[3] = {8, 0.1, 1};
    static const double mass = 2, push = 15, friction = 10; // kg, N
    const double play = plays[_i % PLAYS];
    const bool bounded = _i / PLAYS % 2;
    const int finer = _i < 2 * PLAYS ? 1 : FINER;
    scene *s = open_scene("method=advance");
    s->length = STEP / finer;
    dWorldSetGravity(s->world, 0, 0, -10);
    s->surface.mode = bounded ? dContactApprox1 : 0;
    s->surface.mu = bounded ? 0.5 : friction / 4;
    for (int side = -1; side <= 1; side += 2) {
        add_block(s, along, 2, 0, side * (0.05 + 0.05 + play));
        add_block(s, beside, 2, side * (0.1 + 0.05 + play), 0);
    }
    dBodyID drawer = body_at(s, dCreateBox(s->space, 0.3, 0.2, 0.1), 0, 0, 0);
    for (int frame = 0; frame < FRAMES * finer; frame++) {
        dBodyAddForce(drawer, push, 0, 0);
        step(s);
        ck_assert_double_lt(largest_force(s), 2 * 10 * mass);
    }
    double speed = (push - friction) / mass * FRAMES * STEP;
    ck_assert_double_eq_tol(dBodyGetLinearVel(drawer)[0], speed, 0.02 * speed);
    close_scene(s);
}
END_TEST

// Nine cubes fill a frame. The middle one is pulled up and leaves the others where they are, at
// steps of 10 and of 1 ms.
START_TEST(cube_leaves_its_row)
{
    static const double cube = 0.1, thick[2][3] = {{0.1, 2, 0.3}, {2, 0.1, 0.3}}; // m
    dBodyID body[9];
    scene *s = open_scene("method=advance");
    int finer = _i < PLAYS ? 1 : FINER;
    double wall = 1.5 * cube + 0.05 + plays[_i % PLAYS];
    s->length = STEP / finer;
    add_floor(s);
    for (int side = -1; side <= 1; side += 2) {
        add_block(s, thick[0], side * wall, 0, 0.15);
        add_block(s, thick[1], 0, side * wall, 0.15);
    }
    for (int i = 0; i < 9; i++) {
        dGeomID geom = dCreateBox(s->space, cube, cube, cube);
        body[i] = body_at(s, geom, (i % 3 - 1) * cube, (i / 3 - 1) * cube, cube / 2);
    }
    for (int frame = 0; frame < 15 * finer; frame++) {
        dBodyAddForce(body[4], 0, 0, frame < 5 * finer ? 0 : 2 * 2 * G);
        step(s);
        ck_assert_double_lt(largest_force(s), 1.2 * 2 * G);
    }
    double speed = G * 10 * STEP;
    ck_assert_double_eq_tol(dBodyGetLinearVel(body[4])[2], speed, 0.1 * speed);
    for (int i = 0; i < 9; i++) {
        ck_assert_double_lt(i == 4 ? 0 : fabs(height(body[i]) - cube / 2), 2 * REST);
    }
    close_scene(s);
}
END_TEST

// A round peg falls into a hole of 24 walls as fast as in the air, at both lengths of steps.
START_TEST(round_peg_falls)
{
    enum { WALLS = 24 };
    static const double radius = 0.02, length = 0.1, deep = 0.04; // m
    scene *s = open_scene("method=advance");
    s->length = _i < PLAYS ? STEP : STEP / FINER;
    for (int i = 0; i < WALLS; i++) {
        double angle = 2 * M_PI * i / WALLS, away = radius + plays[_i % PLAYS] + 0.05;
        dMatrix3 R;
        dGeomID wall = dCreateBox(s->space, 0.1, 0.02, 0.06);
        dRFromAxisAndAngle(R, 0, 0, 1, angle);
        dGeomSetPosition(wall, away * cos(angle), away * sin(angle), -0.03);
        dGeomSetRotation(wall, R);
    }
    dBodyID peg = body_at(s, dCreateCylinder(s->space, radius, length), 0, 0, length / 2 + 1e-4);
    int frames = 0;
    while (height(peg) > length / 2 - deep && frames < 100 * FINER) {
        step(s);
        frames++;
    }
    ck_assert_int_le(frames, (int)(sqrt(2 * (deep + 1e-4) / G) / s->length) + 1);
    close_scene(s);
}
END_TEST

// A sled on a rail that is flush with the floor, or nearly, tows a train of boxes by ball joints,
// or by upright hinges. They press on the floor by no more than their weight, at steps of 10 and of
// 1 ms.
START_TEST(rail_tows_boxes)
{
    enum { BOXES = 4 };
    static const double apart = 0.4, high = 0.1; // m
    scene *s = open_scene("method=advance");
    const double gap = _i & 1 ? 3e-7 : 0, z = high / 2 + gap;
    const bool balls = _i & 2;
    const int finer = _i & 4 ? FINER : 1;
    dBodyID before = NULL;
    s->length = STEP / finer;
    add_floor(s);
    for (int i = 0; i < BOXES; i++) {
        const double x = -apart * i;
        dBodyID box = body_at(s, dCreateBox(s->space, 0.3, 0.2, high), x, 0, z);
        dJointID joint = i == 0  ? dJointCreateSlider(s->world, NULL)
                         : balls ? dJointCreateBall(s->world, NULL)
                                 : dJointCreateHinge(s->world, NULL);
        dJointAttach(joint, box, before);
        if (i == 0) {
            dJointSetSliderAxis(joint, 1, 0, 0);
            dJointSetSliderParam(joint, dParamVel, 1);
            dJointSetSliderParam(joint, dParamFMax, 1000);
        } else if (balls) {
            dJointSetBallAnchor(joint, x + apart / 2, 0, z);
        } else {
            dJointSetHingeAnchor(joint, x + apart / 2, 0, z);
            dJointSetHingeAxis(joint, 0, 0, 1);
        }
        before = box;
    }
    for (int frame = 0; frame < 100 * finer; frame++) {
        double pressed = 0;
        step(s);
        for (int i = 0; i < s->joints; i++) {
            pressed += s->feedback[i].f1[2];
        }
        ck_assert_double_lt(pressed, BOXES * 2 * G);
    }
    ck_assert_double_eq_tol(dBodyGetLinearVel(before)[0], 1, 1e-3);
    close_scene(s);
}
END_TEST

// 16 boxes slide flush on a free sled, whose weight and theirs it bears: they keep their momentum,
// and no body stands still in the way of another.
START_TEST(boxes_slide_on_a_sled)
{
    enum { BOXES = 16 };
    static const double speed = 5; // m/s
    scene *s = open_scene("method=advance");
    dBodyID box[BOXES], sled = body_at(s, dCreateBox(s->space, 6, 2, 0.2), 0, 0, 0);
    dMass mass;
    double momentum = 0, before = 0; // kg m/s
    dWorldSetGravity(s->world, 0, 0, 0);
    s->surface.mu = 0.4;
    dMassSetBoxTotal(&mass, 20, 6, 2, 0.2);
    dBodySetMass(sled, &mass);
    for (int i = 0; i < BOXES; i++) {
        dGeomID geom = dCreateBox(s->space, 0.3, 0.3, 0.3);
        box[i] = body_at(s, geom, 0.5 * (i / 2) - 2.5, 0.6 * (i % 2) - 0.3, 0.25);
        dMassSetBoxTotal(&mass, i % 2 ? 0.5 : 5, 0.3, 0.3, 0.3);
        dBodySetMass(box[i], &mass);
        dBodySetLinearVel(box[i], speed, 0, 0);
        before += mass.mass * speed;
    }
    for (int frame = 0; frame < 60; frame++) {
        for (int i = 0; i < BOXES; i++) {
            const dReal *at = dBodyGetPosition(box[i]);
            dBodyGetMass(box[i], &mass);
            dBodyAddForce(box[i], 0, 0, -mass.mass * G);
            dBodyAddForceAtPos(sled, 0, 0, mass.mass * G, at[0], at[1], at[2]);
        }
        step(s);
    }
    momentum = 20 * dBodyGetLinearVel(sled)[0];
    for (int i = 0; i < BOXES; i++) {
        dBodyGetMass(box[i], &mass);
        momentum += mass.mass * dBodyGetLinearVel(box[i])[0];
    }
    ck_assert_double_eq_tol(momentum, before, 1e-6 * before);
    ck_assert_double_eq(stats_of(s).stalled, 0);
    close_scene(s);
}
END_TEST

int main(void)
{
    start_ode();
    dSetMessageHandler(quiet);
    Suite *suite = suite_create("method_advance_fits");
    TCase *fits =
        ADD_TESTS(suite, "fits", {drawer_slides, 4 * PLAYS}, {cube_leaves_its_row, 2 * PLAYS},
                  {rail_tows_boxes, 8}, {boxes_slide_on_a_sled, 1});
    tcase_add_loop_test(fits, round_peg_falls, 2, PLAYS);
    tcase_add_loop_test(fits, round_peg_falls, PLAYS + 2, 2 * PLAYS);
    return run_suite(suite);
}
