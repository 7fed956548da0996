// stribeck.speculative=1: walls and meshes that fast balls do not pass.
#include <math.h>
#include <string.h>

#include "speculative_scene.h"

// Balls against a wall of 10 cm, from seven distances, with and without a rebound; the first step
// is of a length that sprag does not know before.
START_TEST(balls_never_pass_a_wall)
{
    static const double radius = 0.05, thick = 0.1, bounce = 0.7;
    for (double speed = 5; speed < 101; speed *= 1.11) {
        for (int k = 0; k < 14; k++) {
            scene s = open_scene(speculative, 0);
            double wall = 0.2 + 0.13 * (k / 2);
            s.bounce = k % 2 ? bounce : 0;
            dGeomSetPosition(dCreateBox(s.space, thick, 2, 2), wall, 0, 0);
            dBodyID ball = add_ball(&s, radius, 0, 0.1 * (k / 2) - 0.3, 0);
            dBodySetLinearVel(ball, speed, 0, 0);
            double deepest = -1;
            for (int i = 0; i < 60; i++) {
                step(&s, 0.01);
                double front = dBodyGetPosition(ball)[0] + radius;
                deepest = fmax(deepest, front - (wall - thick / 2));
            }
            ck_assert_double_lt(deepest, 0.02 * radius);
            ck_assert_double_eq_tol(dBodyGetLinearVel(ball)[0], k % 2 ? -bounce * speed : 0,
                                    1e-3 * speed);
            close_scene(&s);
        }
    }
}
END_TEST

// A ball that the ground turns aside meets the wall behind in the same step, or passes beside it.
START_TEST(balls_on_the_ground_never_pass_a_wall)
{
    const double h = (const double[]){0.001, 0.01, 1 / 60.0}[_i / 2]; // s
    for (int k = 0; k < 60; k++) {
        const double speed = 5 * pow(20, k / 59.0), radius = 0.02 + 0.01 * (k % 9); // m/s, m
        const double on = speed * cos(0.1 + 0.2 * (k % 7)), fall = sqrt(speed * speed - on * on);
        const double late = h * (k % 5) / 5, near = 0.07 * (k % 8); // s, m from the wall
        const bool beside = k % 10 == 9;
        scene s = open_scene(speculative, 0);
        s.friction = 0;
        s.bounce = _i % 2 ? 0.7 : 0;
        dCreatePlane(s.space, 0, 0, 1, 0);
        dGeomSetPosition(dCreateBox(s.space, 0.1, 2, 4), 0.05, beside ? 1.001 + radius : 0, 0);
        dBodyID ball = add_ball(&s, radius, -near - radius - on * late, 0, radius + fall * late);
        dBodySetLinearVel(ball, on, 0, -fall);
        const dReal *at = dBodyGetPosition(ball), *v = dBodyGetLinearVel(ball);
        for (int i = 0; i < 8 + (int)(0.6 / on / h); i++) {
            step(&s, h);
            ck_assert(at[2] > 0.98 * radius && (beside || at[0] < -0.98 * radius));
        }
        ck_assert_double_eq_tol(v[0], beside ? on : -s.bounce * on, 1e-3 * speed);
        ck_assert_double_eq_tol(v[2], s.bounce * fall, 1e-3 * speed);
        close_scene(&s);
    }
}
END_TEST

// An elastic ball between two walls that are nearer than its way in a step crosses once a step, and
// leaves with its speed when one of them is gone. Kinematic walls take it along, and it may be on a
// joint.
START_TEST(balls_between_walls_keep_their_energy)
{
    const double h = (const double[]){0.001, 0.01, 1 / 60.0}[_i % 3], drift = _i / 3 == 1; // s, m/s
    for (int k = 0; k < 40; k++) {
        const double speed = 5 * pow(20, k / 39.0), radius = 0.01 + 0.01 * (k % 5); // m/s, m
        const double room = 0.01 + 0.03 * (k % 7), aside = k % 3 ? 0 : 0.2 * speed;
        scene s = open_scene(speculative, 0);
        dGeomID wall[2];
        s.friction = 0;
        s.bounce = 1;
        for (int side = 0; side < 2; side++) {
            const double x = (side ? 1 : -1) * (radius + room / 2 + 0.05);
            wall[side] = dCreateBox(s.space, 0.1, 20, 20);
            dGeomSetPosition(wall[side], x, 0, 0);
            if (drift > 0) {
                dBodyID body = add(&s, wall[side], x, 0, 0);
                dBodySetKinematic(body);
                dBodySetLinearVel(body, drift, 0, 0);
            }
        }
        dBodyID ball = add_ball(&s, radius, 0, 0, 0);
        dBodySetLinearVel(ball, drift + speed, aside, 0);
        if (_i / 3 == 2) {
            dJointAttach(dJointCreatePlane2D(s.world, 0), ball, 0);
        }
        const dReal *at = dBodyGetPosition(ball), *v = dBodyGetLinearVel(ball);
        for (int i = 1; i <= 20; i++) {
            step(&s, h);
            ck_assert_double_lt(fabs(at[0] - drift * i * h), room / 2 + 0.5 * radius);
        }
        dGeomDestroy(wall[v[0] > drift ? 0 : 1]);
        for (int i = 0; i < 20; i++) {
            step(&s, h);
        }
        ck_assert_double_eq_tol(fabs(v[0] - drift), speed, 1e-3 * speed);
        ck_assert_double_eq_tol(v[1], aside, 1e-6);
        close_scene(&s);
    }
}
END_TEST

// A ball that leaves a wall three times as fast as it came meets the wall behind it in that step.
START_TEST(balls_with_a_bounce_above_one_do_not_pass)
{
    const double h = (const double[]){0.001, 0.01, 1 / 60.0}[_i], radius = 5 * h; // s, m
    for (int k = 0; k < 40; k++) {
        const double speed = 5 * pow(4, k / 39.0), room = h * speed * (1.01 + 0.05 * (k % 37)); // m
        scene s = open_scene(speculative, 0);
        s.friction = 0;
        s.bounce = 3;
        for (int side = -1; side < 2; side += 2) {
            dGeomSetPosition(dCreateBox(s.space, 0.01, 20, 20), side * (radius + room / 2 + 0.005),
                             0, 0);
        }
        dBodyID ball = add_ball(&s, radius, 0, 0, 0);
        dBodySetLinearVel(ball, speed, 0, 0);
        for (int i = 0; i < 5; i++) {
            step(&s, h);
            ck_assert_double_lt(fabs(dBodyGetPosition(ball)[0]), room / 2 + 0.5 * radius);
        }
        close_scene(&s);
    }
}
END_TEST

// A marble falls on a mesh at 5 to 80 m/s, on faces, edges and corners, and flies up at one
// that is upside down; it is the first geom of the pair or the second one.
START_TEST(marbles_never_pass_a_mesh)
{
    enum { N = 5 };
    static const double radius = 0.02, speed[] = {5, 20, 40, 80};
    static dReal vertex[N * N][3];
    static dTriIndex index[2 * (N - 1) * (N - 1)][3];
    int triangles = 0;
    for (int i = 0; i < N * N; i++) {
        vertex[i][0] = 0.5 * (i % N - N / 2);
        vertex[i][1] = 0.5 * (i / N - N / 2);
        vertex[i][2] = 0;
    }
    for (unsigned i = 0; i < N * N; i++) {
        if (i % N < N - 1 && i / N < N - 1) {
            const dTriIndex corner[2][3] = {{i, i + 1, i + N + 1}, {i, i + N + 1, i + N}};
            memcpy(index[triangles], corner, sizeof corner);
            triangles += 2;
        }
    }
    for (int k = 0; k < 16; k++) {
        scene s = open_scene(speculative, 0);
        dTriMeshDataID data = dGeomTriMeshDataCreate();
        const double side = k % 2 ? -1 : 1;
        dBodyID ball = k < 8 ? NULL : add_ball(&s, radius, 0.06 * k, 0.03 * k, side * 0.41);
        dGeomTriMeshDataBuildDouble(data, vertex, sizeof vertex[0], N * N, index, 3 * triangles,
                                    sizeof index[0]);
        dMatrix3 turn;
        dRFromAxisAndAngle(turn, 1, 0, 0, k % 2 ? M_PI : 0);
        dGeomSetRotation(dCreateTriMesh(s.space, data, NULL, NULL, NULL), turn);
        ball = ball ? ball : add_ball(&s, radius, 0.13 * k, 0.07 * k, side * 0.41);
        dBodySetLinearVel(ball, 0, 0, -side * speed[_i]);
        for (int i = 0; i < 30; i++) {
            step(&s, 0.01);
            ck_assert_double_gt(side * dBodyGetPosition(ball)[2], 0.9 * radius);
        }
        close_scene(&s);
        dGeomTriMeshDataDestroy(data);
    }
}
END_TEST

// A marble that one flank of a valley turns aside, or on which it rolls down, meets the other flank
// in the same step.
START_TEST(marbles_stay_in_a_valley)
{
    static const dReal vertex[][3] = {{-3, -1, 3}, {-3, 1, 3}, {0, -1, 0},
                                      {0, 1, 0},   {3, -1, 3}, {3, 1, 3}};
    static const dTriIndex index[][3] = {{0, 2, 1}, {1, 2, 3}, {2, 4, 3}, {3, 4, 5}};
    const double speed = 10 + 10 * _i, radius = 0.02; // m/s, m
    scene s = open_scene(speculative, 0);
    dTriMeshDataID data = dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildDouble(data, vertex, sizeof *vertex, 6, index, 12, sizeof *index);
    dCreateTriMesh(s.space, data, NULL, NULL, NULL);
    const bool rolls = _i >= 9;
    const double off = rolls ? 0.02 * _i : 0.05 + 0.02 * (_i % 3);
    dBodyID ball = add_ball(&s, radius, -off, 0.1, rolls ? off + radius * M_SQRT2 : 0.4);
    dBodySetLinearVel(ball, rolls ? speed / 9 : 0, 0, -speed / (rolls ? 9 : 1));
    for (int i = 0; i < 20; i++) {
        step(&s, 0.01);
        const dReal *at = dBodyGetPosition(ball);
        ck_assert_double_gt((at[2] - fabs(at[0])) * M_SQRT1_2, 0.5 * radius);
    }
    close_scene(&s);
    dGeomTriMeshDataDestroy(data);
}
END_TEST

// m/s, at most, by which velocities differ from those that the feedback of joints gives.
static double step_off_momentum(scene *s, const dBodyID *body, int bodies, double h)
{
    enum { MOST = 2000 };
    static dJointFeedback of[MOST];
    double before[32][3], worst = 0;
    int joints = 0;
    dSpaceCollide(s->space, s, touch);
    for (int i = 0; i < bodies; i++) {
        memcpy(before[i], dBodyGetLinearVel(body[i]), sizeof before[i]);
        for (int k = 0; k < dBodyGetNumJoints(body[i]); k++) {
            dJointSetFeedback(dBodyGetJoint(body[i], k), &of[joints++]);
            ck_assert_int_lt(joints, MOST);
        }
    }
    ck_assert_int_eq(dWorldStep(s->world, h), 1);
    for (int i = 0; i < bodies; i++) {
        for (int k = 0; k < dBodyGetNumJoints(body[i]); k++) {
            dJointID joint = dBodyGetJoint(body[i], k);
            const dJointFeedback *f = dJointGetFeedback(joint);
            const dReal *force = dJointGetBody(joint, 0) == body[i] ? f->f1 : f->f2;
            for (int axis = 0; axis < 3; axis++) {
                before[i][axis] += h * force[axis]; // the mass is 1 kg
            }
        }
        for (int axis = 0; axis < 3; axis++) {
            worst = fmax(worst, fabs(dBodyGetLinearVel(body[i])[axis] - before[i][axis]));
        }
    }
    dJointGroupEmpty(s->contacts);
    return worst;
}

static double random_share(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state / 2147483648.0 - 1;
}

// Elastic balls cross a room of 60 cm in a step, bound by friction that needs no normal force, or
// that is a force, or without.
START_TEST(crowds_win_no_energy)
{
    enum { N = 12, WALLS = 6 };
    static const double friction[] = {dInfinity, 5, 0};
    static const double radius = 0.05, half = 0.3, speed = 30, h = 1 / 60.0;
    for (unsigned k = 0; k < 8; k++) {
        unsigned state = 8 * (unsigned)(_i / 3) + k;
        scene s = open_scene(speculative, 0);
        s.friction = friction[_i % 3];
        s.force = s.friction == 5;
        s.bounce = 1;
        for (int i = 0; i < WALLS; i++) {
            const double side = i < 3 ? 1 : -1;
            dCreatePlane(s.space, side * (i % 3 == 0), side * (i % 3 == 1), side * (i % 3 == 2),
                         -half);
        }
        dBodyID ball[N];
        double start = 0;
        for (int i = 0; i < N; i++) {
            ball[i] = add_ball(&s, radius, 0.18 * (i % 3 - 1), 0.18 * (i / 3 % 3 - 1),
                               0.18 * (i / 9 - 1));
            const double v[] = {speed * random_share(&state), speed * random_share(&state),
                                speed * random_share(&state)};
            dBodySetLinearVel(ball[i], v[0], v[1], v[2]);
            start += dCalcVectorLengthSquare3(v);
        }
        for (int i = 0; i < 100; i++) {
            double now = 0;
            ck_assert_double_lt(step_off_momentum(&s, ball, N, h), 1e-4 * speed);
            for (int b = 0; b < N; b++) {
                now +=
                    dCalcVectorLengthSquare3(dBodyGetLinearVel(ball[b])) +
                    0.4 * radius * radius * dCalcVectorLengthSquare3(dBodyGetAngularVel(ball[b]));
            }
            ck_assert_double_lt(now, 1.001 * start);
        }
        close_scene(&s);
    }
}
END_TEST

int main(void)
{
    dInitODE2(0);
    Suite *suite = suite_create("speculative_walls");
    TCase *tests =
        ADD_TESTS(suite, "walls", {balls_never_pass_a_wall, 1}, {marbles_never_pass_a_mesh, 4},
                  {marbles_stay_in_a_valley, 18}, {balls_on_the_ground_never_pass_a_wall, 6},
                  {balls_between_walls_keep_their_energy, 9},
                  {balls_with_a_bounce_above_one_do_not_pass, 3}, {crowds_win_no_energy, 15});
    tcase_set_timeout(tests, 300);
    return run_suite(suite);
}
