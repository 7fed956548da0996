// Sweeps of Gauss-Seidel in batches: known answers, laws of every kind of contact in heaps, and
// what holds after any number of sweeps.
#include <check.h>
#include <fenv.h>
#include <stdlib.h>

#include "linalg.h"
#include "problems.h"
#include "residual.h"
#include "suite.h"
#include "sweeps.h"

static scene s;
static sprag_scratch scratch, measuring;

static void free_scratch(void)
{
    sprag_scratch_free(&scratch);
    sprag_scratch_free(&measuring);
}

static sprag_result solve(int most, double tolerance)
{
    s.stats = (sprag_stats){0};
    sprag_scratch_reset(&scratch);
    const sprag_sweeps_options options = {
        .soft = {1e-3, 1e-8, 1e-8}, .most = most, .most_work = INFINITY, .tolerance = tolerance};
    return sprag_sweeps_solve(&s.problem, &options, &scratch, &s.solution, &s.stats);
}

static sprag_residual measured(void)
{
    sprag_scratch_reset(&measuring);
    return sprag_problem_residual(&s.problem, &s.solution, (sprag_shares){1e-3, 1e-8, 1e-8},
                                  &measuring);
}

// ---- known answers

START_TEST(a_cube_on_its_corners_is_carried)
{
    open_scene(&s);
    add_cube(&s, 3);
    fall(&s);
    stand(&s, 0, SPRAG_STATIC, 0.5);
    ck_assert_int_eq(solve(200, 1e-12), SPRAG_OK);
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        sum += s.contact_force[i][0];
    }
    ck_assert_double_eq_tol(sum, 3 * G, 3 * G * 2e-3); // less the softness
    ck_assert_double_lt(fabs(s.velocity[0][2]), 1e-3 * G * STEP);
}
END_TEST

// Two corners across carry more at the start, and the others take over their share little by
// little. That moves nothing: near the tolerance sweeps do not wait for it.
START_TEST(sweeps_do_not_wait_for_loads_that_are_shared)
{
    const double mu = 0.5, speed = 0.3;
    open_scene(&s);
    add_cube(&s, 3);
    s.body[0].velocity[0] = speed;
    fall(&s);
    stand(&s, 0, SPRAG_STATIC, mu);
    for (int i = 0; i < 4; i++) {
        const double *arm = s.contact[i].arm[0];
        s.contact[i].guess[0] = (arm[0] * arm[1] > 0 ? 1 : 0.5) * G;
    }
    for (int waits = 0; waits < 2; waits++) {
        const sprag_sweeps_options options = {.soft = {1e-3, 1e-8, 1e-8},
                                              .most = 1000,
                                              .most_work = INFINITY,
                                              .tolerance = 1e-4,
                                              .enough = waits ? 0 : 1e-3};
        s.stats = (sprag_stats){0};
        ck_assert_int_eq(sprag_sweeps_solve(&s.problem, &options, &scratch, &s.solution, &s.stats),
                         SPRAG_OK);
        ck_assert_int_eq(s.stats.sweeps, waits ? 32 : 16);
        ck_assert_double_gt(s.stats.convergence, 1e-4);
        ck_assert_double_eq_tol(s.velocity[0][0], speed - mu * G * STEP, 1e-3 * G * STEP);
    }
}
END_TEST

// Above the cone the cube slides with a = F / m - mu g; below it stays.
START_TEST(a_pushed_cube_slides_above_its_cone)
{
    static const double share[] = {0.5, 0.99, 1.01, 3};
    const double mu = 0.4, mass = 2;
    open_scene(&s);
    add_cube(&s, mass);
    fall(&s);
    add_ground(&s, 0, mu);
    push(&s, 0, 0.6 * share[_i] * mu * mass * G, 0.8 * share[_i] * mu * mass * G, 0);
    ck_assert_int_eq(solve(100, 1e-13), SPRAG_OK);
    double speed = share[_i] > 1 ? STEP * (share[_i] - 1) * mu * G : 0;
    ck_assert_double_eq_tol(s.velocity[0][0], 0.6 * speed, 1e-3 * mu * G * STEP);
    ck_assert_double_eq_tol(s.velocity[0][1], 0.8 * speed, 1e-3 * mu * G * STEP);
}
END_TEST

START_TEST(a_motor_within_its_bound_has_its_speed)
{
    open_scene(&s);
    add_cube(&s, 2);
    sprag_row *motor = add_axis_row(&s, 0, 0);
    motor->bias = 0.5;
    motor->lo = -1000;
    motor->hi = 1000;
    ck_assert_int_eq(solve(10, 1e-12), SPRAG_OK);
    ck_assert_double_eq_tol(s.velocity[0][0], 0.5, 1e-7);
    motor->hi = 10;
    ck_assert_int_eq(solve(10, 1e-12), SPRAG_OK);
    ck_assert_double_eq_tol(s.velocity[0][0], 10 * STEP / 2, 1e-12);
}
END_TEST

// The motor moves with its bodies as joints do, and so converges however light what carries it is.
START_TEST(a_motor_stands_on_a_light_foot)
{
    open_scene(&s);
    add_cube(&s, 0.01);
    add_cube(&s, 10);
    fall(&s);
    add_ground(&s, 0, 0.5);
    sprag_row *motor = add_row(&s, 0, 1);
    motor->jacobian[0][2] = 1;
    motor->jacobian[1][2] = -1;
    motor->lo = -1000;
    motor->hi = 1000;
    ck_assert_int_eq(solve(20, 0), SPRAG_OK);
    ck_assert_double_eq_tol(s.contact_force[0][0], 10.01 * G,
                            10.01 * G * 5e-3); // less the softness
    ck_assert_double_eq_tol(s.velocity[1][2], s.velocity[0][2], 1e-7);
    motor->lo = -50; // it yields
    ck_assert_int_eq(solve(5000, 1e-13), SPRAG_OK);
    ck_assert_double_eq_tol(s.row_force[0], -50, 1e-9);
    ck_assert_double_eq_tol(s.velocity[1][2], STEP * (50 / 10.0 - G), 1e-9);
}
END_TEST

// One motor gives way, the other one holds; the next step knows both.
START_TEST(a_motor_holds_while_another_one_gives_way)
{
    int first = 0;
    open_scene(&s);
    add_cube(&s, 0.01);
    add_cube(&s, 10);
    fall(&s);
    add_ground(&s, 0, 0);
    for (int i = 0; i < 2; i++) {
        sprag_row *motor = i ? add_axis_row(&s, 1, 0) : add_row(&s, 0, 1);
        motor->jacobian[0][2] = !i;
        motor->jacobian[1][2] = -!i;
        motor->bias = i;
        motor->lo = i ? -10.0 / 3 : -1000;
        motor->hi = -motor->lo;
    }
    for (int step = 0; step < 2; step++) {
        ck_assert_int_eq(solve(20, 0), SPRAG_OK);
        first = step == 0 ? s.stats.sweeps : first;
        ck_assert_int_eq(s.stats.sweeps, step == 0 ? first : first / 2);
        ck_assert_double_eq_tol(s.contact_force[0][0], 10.01 * G, 10.01 * G * 5e-3);
        ck_assert_double_eq_tol(s.velocity[1][0], STEP / 3, 1e-12);
        s.row[0].guess = s.row_force[0];
        s.row[1].guess = s.row_force[1] * (1 - 1e-15); // rounding
    }
}
END_TEST

// ---- heaps

// Cubes with random contacts of every kind that can be batched.
static void heap(unsigned seed, int bodies, int contacts)
{
    chance c = {seed};
    open_scene(&s);
    for (int b = 0; b < bodies; b++) {
        add_box(&s, b % 7 == 3 ? 0 : uniform(&c, 0.5, 4), uniform(&c, 0.5, 2), uniform(&c, 0.5, 2),
                uniform(&c, 0.5, 2));
        for (int k = 0; k < 6; k++) {
            s.body[b].velocity[k] = uniform(&c, -0.1, 0.1);
        }
    }
    fall(&s);
    for (int i = 0; i < contacts; i++) {
        double normal[3];
        int a = pick(&c, bodies), b = pick(&c, bodies + 1) - 1;
        random_direction(&c, normal);
        sprag_contact *contact = add_contact(&s, a, b == a ? SPRAG_STATIC : b, normal);
        for (int k = 0; k < 6; k++) {
            contact->arm[k / 3][k % 3] = uniform(&c, -1, 1);
        }
        double mu = uniform(&c, 0, 1.5);
        contact->slide.coefficient[0] = i % 11 == 0 ? INFINITY : mu;
        contact->slide.coefficient[1] = i % 11 == 0 ? INFINITY : i % 5 == 0 ? 0.3 * mu : mu;
        contact->slide.force[0] = contact->slide.force[1] = i % 13 == 0 && i % 11 != 0;
        contact->slide.slip[0] = contact->slide.slip[1] = i % 9 == 0 && i % 5 != 0 ? 1e-3 : 0;
        contact->slide.velocity[1] = i % 8 == 0 ? 0.2 : 0;
        contact->compliance = i % 6 == 0 ? 1e-3 : 0;
        contact->bias = i % 4 == 0 ? 0.01 : 0;
        if (contact->slide.coefficient[0] == 0) {
            contact->slide.coefficient[1] = 0;
        }
    }
}

// Terms of a fast spin (spin.h): the part of the inertia that is not symmetric.
static void add_gyroscopic_terms(sprag_body *body, double share)
{
    double size = share * (body->inertia[0] + body->inertia[4] + body->inertia[8]) / 3;
    body->inertia[1] += size, body->inertia[3] -= size;
    body->inertia[5] += 0.7 * size, body->inertia[7] -= 0.7 * size;
}

START_TEST(momentum_of_spinning_bodies_balances)
{
    heap((unsigned)_i + 1, 40, 150);
    for (int b = 0; b < s.problem.bodies; b += 3) {
        add_gyroscopic_terms(&s.body[b], 1);
        sprag_row *motor = add_axis_row(&s, b, b % 2);
        motor->lo = -5, motor->hi = 5, motor->bias = 0.1;
    }
    ck_assert_int_eq(solve(7, 0), SPRAG_OK);
    sprag_residual r = measured();
    ck_assert_double_lt(r.momentum, 1e-12 * (1 + r.scale));
}
END_TEST

// A body on its tip, like a top, with terms as large as its inertia.
START_TEST(a_spinning_body_stands_on_its_tip)
{
    open_scene(&s);
    add_cube(&s, 2);
    fall(&s);
    add_gyroscopic_terms(&s.body[0], 1);
    s.body[0].free_velocity[3] = 0.2;
    sprag_contact *tip = add_ground(&s, 0, 0.5);
    tip->arm[0][0] = 0.1, tip->arm[0][1] = -0.2;
    ck_assert_int_eq(solve(100, 1e-10), SPRAG_OK);
    ck_assert_double_lt(measured().relative, 1e-8);
}
END_TEST

// The same among four walls, with terms of many times its inertia. Rows that each take what the
// law asks for at once would gain energy from one another, sweep by sweep.
START_TEST(sweeps_of_a_fast_spin_converge)
{
    static const double share[] = {1, 4, 16};
    open_scene(&s);
    add_cube(&s, 2);
    fall(&s);
    add_gyroscopic_terms(&s.body[0], share[_i]);
    double *free = s.body[0].free_velocity;
    free[0] = 1, free[3] = 5, free[4] = -3;
    stand(&s, 0, SPRAG_STATIC, 0.5);
    for (int k = 0; k < 3; k++) { // motors hold a corner
        const double arm[3] = {0.5, -0.5, 0.5};
        sprag_row *motor = add_axis_row(&s, 0, k);
        motor->lo = -1e3, motor->hi = 1e3;
        cross3(arm, motor->jacobian[0], motor->jacobian[0] + 3);
    }
    for (int k = 0; k < 4; k++) {
        double side = k % 2 ? 1 : -1, normal[3] = {0};
        normal[k / 2] = -side;
        sprag_contact *wall = add_contact(&s, 0, SPRAG_STATIC, normal);
        wall->arm[0][k / 2] = 0.5 * side, wall->arm[0][!(k / 2)] = 0.3, wall->arm[0][2] = 0.4;
        wall->slide.coefficient[0] = wall->slide.coefficient[1] = 0.3;
    }
    ck_assert_int_eq(solve(1000, 0), SPRAG_OK);
    ck_assert_double_lt(measured().relative, 1e-3);
}
END_TEST

// Motors alone, about three axes. With whole steps their errors would double in each sweep.
START_TEST(motors_of_a_fast_spin_converge)
{
    open_scene(&s);
    add_cube(&s, 2);
    fall(&s);
    add_gyroscopic_terms(&s.body[0], 16);
    s.body[0].free_velocity[3] = 5, s.body[0].free_velocity[4] = -3;
    for (int k = 0; k < 3; k++) {
        sprag_row *motor = add_axis_row(&s, 0, 3 + k);
        motor->lo = -1e6, motor->hi = 1e6;
    }
    ck_assert_int_eq(solve(10000, 0), SPRAG_OK);
    ck_assert_double_lt(measured().relative, 1e-5);
}
END_TEST

// The slip that counts as sticking is a share of a contact's own slip before the step, also where
// the contact is swept alone, as those that roll are.
START_TEST(stiction_of_single_contacts_is_that_of_batches)
{
    static const sprag_turning turning = {.roll = {.coefficient = {0.01, 0.01}}};
    const sprag_sweeps_options options = {
        .soft = {1e-3, 1e-8, 1e-8}, .most = 1, .most_work = INFINITY, .moving = 1, .at_rest = 1e-9};
    double stiction[2];
    open_scene(&s);
    add_cube(&s, 2);
    s.body[0].velocity[_i] = 0.3;
    fall(&s);
    sprag_contact *contact = add_ground(&s, 0, 0.5);
    for (int alone = 0; alone < 2; alone++) {
        contact->turning = alone ? &turning : NULL;
        sprag_scratch_reset(&scratch);
        s.stats = (sprag_stats){0};
        ck_assert_int_eq(sprag_sweeps_solve(&s.problem, &options, &scratch, &s.solution, &s.stats),
                         SPRAG_OK);
        stiction[alone] = s.stats.stiction;
    }
    ck_assert_double_gt(stiction[0], 1e-4);
    ck_assert_double_eq_tol(stiction[1], stiction[0], 1e-12);
}
END_TEST

// A hinge that asks for nothing leaves the spin of its body as it is.
START_TEST(a_mechanism_does_not_disturb_a_spin)
{
    open_scene(&s);
    add_cube(&s, 2);
    add_gyroscopic_terms(&s.body[0], 0.5);
    double *free = s.body[0].free_velocity;
    free[3] = 0.2, free[4] = -0.1, free[5] = 60;
    add_axis_row(&s, 0, 0);
    add_ground(&s, 0, 0)->gap = 1;
    ck_assert_int_eq(solve(20, 0), SPRAG_OK);
    for (int k = 0; k < 6; k++) {
        ck_assert_double_eq_tol(s.velocity[0][k], free[k], 1e-9);
    }
}
END_TEST

START_TEST(momentum_and_cones_hold_after_any_number_of_sweeps)
{
    static const int most[] = {1, 2, 7, 50};
    heap((unsigned)_i + 1, 40, 150);
    ck_assert_int_eq(solve(most[_i % 4], 0), SPRAG_OK);
    sprag_residual r = measured();
    ck_assert_double_lt(r.momentum, 1e-12 * (1 + r.scale));
    for (int i = 0; i < s.problem.contacts; i++) {
        const sprag_friction *f = &s.contact[i].slide;
        const double *force = s.contact_force[i];
        double bound = f->force[0] ? 1 : force[0], sum = 0;
        ck_assert_double_ge(force[0], 0);
        for (int k = 0; k < 2 && isfinite(f->coefficient[0]) && f->coefficient[k] > 0; k++) {
            double share = force[1 + k] / f->coefficient[k];
            sum += share * share;
        }
        ck_assert_double_le(sum, bound * bound * (1 + 1e-9) + 1e-20);
    }
}
END_TEST

START_TEST(many_sweeps_solve_a_heap)
{
    heap((unsigned)_i + 1, 30, 60);
    ck_assert_int_eq(solve(5000, 1e-10), SPRAG_OK);
    sprag_residual r = measured();
    ck_assert_double_lt(r.relative, 2e-3); // stiction tolerances are a part of it
    int swept = s.stats.sweeps;
    ck_assert_int_gt(swept, 1);
    for (int i = 0; i < s.problem.contacts; i++) { // the answer is where the next solve begins
        memcpy(s.contact[i].guess, s.contact_force[i], sizeof s.contact[i].guess);
    }
    ck_assert_int_eq(solve(5000, 1e-7), SPRAG_OK);
    ck_assert_int_lt(s.stats.sweeps, swept);
}
END_TEST

// A body with more contacts than there are colours.
START_TEST(one_body_may_have_hundreds_of_contacts)
{
    open_scene(&s);
    add_box(&s, 5, 4, 4, 1);
    fall(&s);
    for (int i = 0; i < 300; i++) {
        sprag_contact *contact = add_ground(&s, 0, 0.5);
        memcpy(contact->arm[0], (double[]){i % 20 * 0.2 - 1.9, i / 20 * 0.2 - 1.4, -0.5},
               sizeof contact->arm[0]);
    }
    ck_assert_int_eq(solve(300, 1e-10), SPRAG_OK);
    double sum = 0;
    for (int i = 0; i < 300; i++) {
        sum += s.contact_force[i][0];
    }
    ck_assert_double_eq_tol(sum, 5 * G, 5 * G * 2e-3);
    ck_assert_double_lt(measured().momentum, 1e-12);
}
END_TEST

// ---- mechanisms

// Ball joints between bodies that follow each other, so many to a mechanism; a hinge with the world
// and a motor, which is bounded, in every third of them.
static void join(unsigned seed, int bodies)
{
    chance c = {seed + 1000};
    for (int b = 1; b < s.problem.bodies; b++) {
        if (b % bodies != 0) {
            double arm[2][3];
            for (int k = 0; k < 6; k++) {
                arm[k / 3][k % 3] = uniform(&c, -0.5, 0.5);
            }
            for (int axis = 0; axis < 3; axis++) {
                sprag_row *row = add_row(&s, b - 1, b);
                for (int side = 0; side < 2; side++) {
                    double unit[3] = {axis == 0, axis == 1, axis == 2};
                    for (int k = 0; k < 3; k++) {
                        row->jacobian[side][k] = (side ? -1 : 1) * unit[k];
                    }
                    cross(arm[side], row->jacobian[side], row->jacobian[side] + 3);
                }
                row->bias = uniform(&c, -0.05, 0.05);
                row->compliance = b % 3 == 0 ? 1e-4 : 0;
            }
        } else if (b % 3 == 0) {
            add_axis_row(&s, b, 0);
            sprag_row *motor = add_axis_row(&s, b, 4);
            motor->bias = 1;
            motor->lo = -5, motor->hi = 5;
        }
    }
}

// Kinematic bodies divide these into mechanisms of six bodies, which are wide with 700 contacts.
enum { FEW = 4, MANY = 20 };

// Whatever the contacts still lack, joints hold: the error of a joint row is that of rounding, in
// wide mechanisms that of its softness.
START_TEST(joints_hold_after_any_number_of_sweeps)
{
    static const int most[] = {1, 3, 20, 60};
    const bool wide = _i >= 8;
    heap((unsigned)_i + 1, 40, wide ? 700 : 60);
    join((unsigned)_i, wide ? MANY : FEW);
    ck_assert_int_eq(solve(most[_i % 4], 0), SPRAG_OK);
    sprag_residual r = measured();
    ck_assert_double_lt(r.momentum, (wide ? 1e-7 : 2e-8) * (1 + r.scale));
    int held = 0;
    for (int i = 0; i < s.problem.rows; i++) {
        const sprag_row *row = &s.row[i];
        double error = row->bias - row->compliance * s.row_force[i];
        bool moves = false;
        for (int side = 0; side < 2; side++) {
            int b = row->body[side];
            error -= b == SPRAG_STATIC ? 0 : dot(row->jacobian[side], s.velocity[b], 6);
            moves |= b != SPRAG_STATIC && s.body[b].mass > 0;
        }
        if (isinf(row->lo) && moves) {
            ck_assert_double_lt(fabs(error), wide ? 1e-6 : 1e-9);
            held++;
        } else {
            ck_assert_double_le(fabs(s.row_force[i]), row->hi * (1 + 1e-12));
        }
    }
    ck_assert_int_gt(held, 30);
}
END_TEST

// Rows without a Jacobian between the bodies of mechanisms, whatever they ask for.
START_TEST(rows_that_move_nothing_have_no_force)
{
    static scene without;
    const bool wide = _i > 0;
    heap(1, 40, wide ? 700 : 60);
    join(1, wide ? MANY : FEW);
    ck_assert_int_eq(solve(3, 0), SPRAG_OK);
    memcpy(&without, &s, sizeof s);
    for (int b = 1; b < 40; b += FEW) {
        add_row(&s, b - 1, b)->bias = 0.3;
    }
    ck_assert_int_eq(solve(3, 0), SPRAG_OK);
    for (int i = without.problem.rows; i < s.problem.rows; i++) {
        ck_assert_double_eq(s.row_force[i], 0);
    }
    for (int b = 0; b < 40; b++) {
        for (int k = 0; k < 6; k++) {
            ck_assert_double_eq_tol(s.velocity[b][k], without.velocity[b][k], 1e-9);
        }
    }
}
END_TEST

// Bodies slide on in chains that motors hold in shape: what they touch jams, and sweeps do not
// converge before the motors give way. In the last two only some have left their bounds: the others
// go on holding, without which the residual is 0.15 and 0.02.
START_TEST(motors_that_jam_give_way)
{
    static const struct {
        unsigned seed;
        double most;
        int sweeps;
        double left;
    } jams[] = {{1369, 9000, 60, 0.01},
                {679, 1000, 60, 0.01},
                {665, 9000, 60, 0.01},
                {146, 9000, 20, 0.02},
                {365, 9000, 20, 0.002}};
    heap(jams[_i].seed, 24, 30);
    join(jams[_i].seed, FEW);
    for (int b = 1; b < s.problem.bodies; b++) {
        for (int k = 3; k < 6 && b % FEW != 0; k++) {
            sprag_row *motor = add_row(&s, b - 1, b);
            motor->jacobian[0][k] = 1, motor->jacobian[1][k] = -1;
            motor->lo = -jams[_i].most, motor->hi = jams[_i].most;
        }
    }
    for (int b = 0; b < s.problem.bodies; b++) {
        const double slides = s.body[b].mass > 0 ? 3 : 0;
        s.body[b].velocity[0] += slides, s.body[b].free_velocity[0] += slides;
    }
    for (int i = 0; i < s.problem.contacts; i++) {
        s.contact[i].slide.coefficient[0] = s.contact[i].slide.coefficient[1] = 1.5;
    }
    ck_assert_int_eq(solve(jams[_i].sweeps, 0), SPRAG_OK);
    ck_assert_double_lt(measured().relative, jams[_i].left);
}
END_TEST

START_TEST(many_sweeps_solve_mechanisms)
{
    const bool wide = _i >= 5;
    heap((unsigned)_i + 1, 30, wide ? 700 : 30);
    join((unsigned)_i, wide ? MANY : FEW);
    ck_assert_int_eq(solve(wide ? 2000 : 20000, 1e-11), SPRAG_OK);
    sprag_residual r = measured();
    ck_assert_double_lt(r.relative, 1e-3); // stiction tolerances are a part of it
}
END_TEST

// A hanging chain: each joint carries what is below it. Rows that hold do not make it wide.
START_TEST(a_chain_hangs)
{
    enum { LINKS = 40 };
    open_scene(&s);
    for (int b = 0; b < LINKS; b++) {
        add_cube(&s, b == LINKS - 1 ? 1000 : 1);
    }
    fall(&s);
    for (int b = 0; b < LINKS; b++) {
        for (int axis = 0; axis < 6; axis++) {
            sprag_row *row = add_row(&s, b, b > 0 ? b - 1 : SPRAG_STATIC);
            row->jacobian[0][axis] = 1;
            row->jacobian[1][axis] = -1;
        }
    }
    ck_assert_int_eq(solve(1, 0), SPRAG_OK);
    for (int b = 0; b < LINKS; b++) {
        double below = (1000 + LINKS - 1 - b) * G;
        ck_assert_double_eq_tol(s.row_force[6 * b + 2], below, 1e-6 * below);
        ck_assert_double_lt(fabs(s.velocity[b][2]), 1e-10);
    }
}
END_TEST

START_TEST(the_same_problem_gives_the_same_bits)
{
    static scene first;
    heap(5, 50, 200);
    ck_assert_int_eq(solve(30, 0), SPRAG_OK);
    memcpy(&first, &s, sizeof s);
    ck_assert_int_eq(solve(30, 0), SPRAG_OK);
    ck_assert_mem_eq(first.velocity, s.velocity, sizeof s.velocity);
    ck_assert_mem_eq(first.contact_force, s.contact_force, sizeof s.contact_force);
}
END_TEST

// Programs may trap these.
START_TEST(no_operation_is_invalid_or_divides_by_zero)
{
    heap((unsigned)_i + 20, 35, 101);
    feclearexcept(FE_ALL_EXCEPT);
    ck_assert_int_eq(solve(40, 0), SPRAG_OK);
    ck_assert_int_eq(fetestexcept(FE_INVALID | FE_DIVBYZERO), 0);
}
END_TEST

START_TEST(a_settled_solve_allocates_nothing)
{
    heap(7, 40, 150);
    ck_assert_int_eq(solve(5, 0), SPRAG_OK);
    ck_assert_int_eq(solve(5, 0), SPRAG_OK);
    long before = scratch.allocations;
    ck_assert_int_eq(solve(5, 0), SPRAG_OK);
    ck_assert_int_eq(scratch.allocations, before);
}
END_TEST

// ---- contacts that cannot be batched

enum { BONDS = 9 }; // bonds of four contacts contradict each other by their yield

// Every law on a leaning box that slides, spins and rolls. A hinge holds the box to the world in
// every second case.
START_TEST(every_law_is_swept_to_its_solution)
{
    const int kind = _i / 4;
    open_scene(&s);
    add_box(&s, 2, 1, 2, 0.5);
    if (_i % 2) {
        stand(&s, 0, SPRAG_STATIC, 0.4);
    } else {
        add_ground(&s, 0, 0.4)->arm[0][0] = 0.3;
    }
    for (int i = 0; i < s.problem.contacts; i++) {
        set_kind(&s, &s.contact[i], kind);
    }
    s.body[0].velocity[0] = 0.4;
    s.body[0].velocity[1] = -0.2;
    s.body[0].velocity[3] = 0.3;
    s.body[0].velocity[5] = 2;
    fall(&s);
    if (_i % 4 > 1) {
        add_axis_row(&s, 0, 1);
    }
    const sprag_sweeps_options options = {.soft = {1e-3, 1e-8, 1e-8},
                                          .most = 20000,
                                          .most_work = INFINITY,
                                          .tolerance = 1e-13,
                                          .moving = 1e-9,
                                          .at_rest = 1e-9};
    sprag_scratch_reset(&scratch);
    s.stats = (sprag_stats){0};
    ck_assert_int_eq(sprag_sweeps_solve(&s.problem, &options, &scratch, &s.solution, &s.stats),
                     SPRAG_OK);
    sprag_residual r = measured();
    ck_assert_double_le(r.momentum, 1e-12);
    ck_assert_double_le(r.relative, kind == BONDS ? 1e-3 : 1e-6);
}
END_TEST

// Contacts of every kind and rows between kinematic bodies and the world, with forces guessed.
START_TEST(what_no_force_moves_has_no_forces)
{
    open_scene(&s);
    for (int b = 0; b < 2; b++) {
        add_cube(&s, 0);
        s.body[b].velocity[2] = s.body[b].free_velocity[2] = b - 1;
        s.body[b].velocity[5] = s.body[b].free_velocity[5] = 0.3;
        set_kind(&s, add_ground(&s, b, 0.5), _i);
        add_axis_row(&s, b, 2)->guess = 2;
        sprag_row *motor = add_axis_row(&s, b, 5);
        motor->guess = 1, motor->bias = -1, motor->lo = -3, motor->hi = 3;
    }
    set_kind(&s, add_contact(&s, 1, 0, (double[]){0.6, 0, 0.8}), _i);
    for (int i = 0; i < s.problem.contacts; i++) {
        s.contact[i].guess[0] = 4, s.contact[i].guess[1] = s.contact[i].guess[2] = 1;
    }
    feclearexcept(FE_ALL_EXCEPT);
    ck_assert_int_eq(solve(5, 0), SPRAG_OK);
    ck_assert_int_eq(fetestexcept(FE_INVALID | FE_DIVBYZERO), 0);
    for (int i = 0; i < s.problem.contacts; i++) {
        for (int k = 0; k < 6; k++) {
            ck_assert_double_eq(s.contact_force[i][k], 0);
        }
    }
    for (int i = 0; i < s.problem.rows; i++) {
        ck_assert_double_eq(s.row_force[i], 0);
    }
    for (int b = 0; b < 2; b++) {
        ck_assert_mem_eq(s.velocity[b], s.body[b].velocity, sizeof s.velocity[b]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sweeps");
    ADD_TESTS_WITH(
        suite, "all", NULL, free_scratch, {a_cube_on_its_corners_is_carried, 1},
        {sweeps_do_not_wait_for_loads_that_are_shared, 1}, {a_pushed_cube_slides_above_its_cone, 4},
        {a_motor_within_its_bound_has_its_speed, 1}, {a_motor_stands_on_a_light_foot, 1},
        {a_motor_holds_while_another_one_gives_way, 1},
        {momentum_and_cones_hold_after_any_number_of_sweeps, 20}, {many_sweeps_solve_a_heap, 5},
        {one_body_may_have_hundreds_of_contacts, 1}, {joints_hold_after_any_number_of_sweeps, 16},
        {many_sweeps_solve_mechanisms, 8}, {rows_that_move_nothing_have_no_force, 2},
        {a_chain_hangs, 1}, {momentum_of_spinning_bodies_balances, 8},
        {a_spinning_body_stands_on_its_tip, 1}, {sweeps_of_a_fast_spin_converge, 3},
        {motors_of_a_fast_spin_converge, 1}, {motors_that_jam_give_way, 5},
        {stiction_of_single_contacts_is_that_of_batches, 2},
        {a_mechanism_does_not_disturb_a_spin, 1}, {the_same_problem_gives_the_same_bits, 1},
        {no_operation_is_invalid_or_divides_by_zero, 10}, {a_settled_solve_allocates_nothing, 1},
        {every_law_is_swept_to_its_solution, 4 * KINDS},
        {what_no_force_moves_has_no_forces, KINDS});
    return run_suite(suite);
}
