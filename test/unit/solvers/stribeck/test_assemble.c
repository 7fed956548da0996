// Kinematic bodies and joint rows in implicit Stribeck, on problems with known answers.
#include <check.h>

#include "problems.h"
#include "stribeck_cases.h"
#include "suite.h"

// ---- bodies that keep their velocity

START_TEST(kinematic_body_drags_another)
{
    open_scene(&s);
    add_cube(&s, MASS);
    add_cube(&s, 0);
    stand(&s, 0, 1, MU);
    s.body[1].velocity[0] = 0.5;
    fall(&s);
    solve(&s);
    double along = 0, normal = 0;
    for (int i = 0; i < 4; i++) {
        along += s.contact_force[i][1];
        normal += fn(i);
    }
    ck_assert_double_eq_tol(along, MU * normal, 1e-4);
    ck_assert_double_eq_tol(s.velocity[0][0], STEP * along / MASS, 1e-6);
    ck_assert_mem_eq(s.velocity[1], s.body[1].velocity, sizeof s.velocity[1]);
    for (int i = 0; i < 30; i++) {
        next_step(&s);
        solve(&s);
    }
    ck_assert_double_eq_tol(s.velocity[0][0], 0.5, MOVING);
}
END_TEST

// On a turntable, 2 m from its axis: the surface moves with 2 m times its rate. On either side of
// the contact.
START_TEST(turntable_drags_by_its_rim)
{
    open_scene(&s);
    add_cube(&s, MASS);
    add_cube(&s, 0);
    sprag_contact *contact = add_ground(&s, 0, MU);
    contact->body[1] = 1;
    memcpy(contact->arm[1], (double[]){2, 0, 0}, sizeof contact->arm[1]);
    s.body[1].velocity[5] = 3;
    if (_i) { // the normal points down into the table; y becomes the other's tangent
        contact->body[0] = 1;
        contact->body[1] = 0;
        memcpy(contact->arm[0], (double[]){2, 0, 0}, sizeof contact->arm[0]);
        memset(contact->arm[1], 0, sizeof contact->arm[1]);
        contact->frame[0][2] = -1;
    }
    fall(&s);
    solve(&s);
    ck_assert_double_eq_tol(fn(0), PUCK_WEIGHT, 1e-4);
    ck_assert_double_eq_tol(s.velocity[0][1], STEP * MU * G / (1 + SOFTNESS), 1e-6);
    ck_assert_double_eq_tol(s.velocity[0][0], 0, 1e-9);
}
END_TEST

START_TEST(kinematic_row_partner_pulls)
{
    open_scene(&s);
    add_cube(&s, MASS);
    add_cube(&s, 0);
    s.body[1].velocity[0] = 0.7;
    sprag_row *row = add_row(&s, 0, 1);
    row->jacobian[0][0] = 1;
    row->jacobian[1][0] = -1;
    fall(&s);
    solve(&s);
    ck_assert_double_eq_tol(s.velocity[0][0], 0.7, 1e-7);
    ck_assert_double_eq_tol(s.row_force[0], MASS * 0.7 / STEP, 1e-4);
}
END_TEST

// Contacts and rows between bodies that keep their velocity get no force and do not disturb the
// others.
START_TEST(bodies_that_keep_their_velocity_feel_no_force)
{
    puck(MU);
    for (int i = 0; i < 2; i++) {
        int kinematic = add_cube(&s, 0);
        s.body[kinematic].velocity[2] = -1;
        sprag_contact *contact = add_ground(&s, kinematic, i ? INFINITY : MU);
        contact->bias = 0.5;
        sprag_turning *turning = turning_of(&s, contact);
        turning->roll.coefficient[0] = turning->spin.coefficient[0] = INFINITY;
        add_axis_row(&s, kinematic, 2)->bias = 1;
    }
    add_contact(&s, 1, 2, (double[]){1, 0, 0})->bias = 1;
    add_row(&s, 0, SPRAG_STATIC)->bias = 1; // of nothing but zeros
    s.body[0].velocity[0] = 1;
    fall(&s);
    memset(s.contact_force, 0x55, sizeof s.contact_force);
    memset(s.row_force, 0x55, sizeof s.row_force);
    solve(&s);
    ck_assert_double_eq_tol(s.velocity[0][0], 1 - STEP * MU * G / (1 + SOFTNESS), 1e-6);
    for (int i = 1; i < s.problem.contacts; i++) {
        for (int k = 0; k < 6; k++) {
            ck_assert_double_eq(s.contact_force[i][k], 0);
        }
    }
    for (int i = 0; i < s.problem.rows; i++) {
        ck_assert_double_eq(s.row_force[i], 0);
    }
}
END_TEST

// ---- rows

// A motor towards 10 m/s, in both directions: its largest force is what it gives.
START_TEST(motor_saturates_at_its_force)
{
    double sign = _i ? -1 : 1;
    open_scene(&s);
    add_cube(&s, MASS);
    sprag_row *motor = add_axis_row(&s, 0, 0);
    motor->bias = 10 * sign;
    motor->lo = -3;
    motor->hi = 5;
    fall(&s);
    solve(&s);
    double force = _i ? -3 : 5;
    ck_assert_double_eq_tol(s.row_force[0], force, 1e-15 * 10);
    ck_assert_double_eq_tol(s.velocity[0][0], STEP * force / MASS, 1e-9);
}
END_TEST

START_TEST(motor_within_its_force_reaches_its_speed)
{
    open_scene(&s);
    add_cube(&s, MASS);
    sprag_row *motor = add_axis_row(&s, 0, 5);
    motor->bias = -2;
    motor->lo = -100;
    motor->hi = 100;
    fall(&s);
    solve(&s);
    ck_assert_double_eq_tol(s.velocity[0][5], -2, 1e-6);
    ck_assert_double_eq_tol(s.row_force[0], -2 * MASS / 6 / STEP, 1e-3);
}
END_TEST

// A stop ends motion towards it and allows motion away from it.
START_TEST(limit_works_one_way)
{
    open_scene(&s);
    add_cube(&s, MASS);
    add_axis_row(&s, 0, 2)->lo = 0;
    s.body[0].velocity[2] = _i ? 1 : -1;
    fall(&s);
    solve(&s);
    if (_i) {
        ck_assert_double_eq(s.row_force[0], 0);
        ck_assert_double_eq(s.velocity[0][2], s.body[0].free_velocity[2]);
    } else {
        ck_assert_double_eq_tol(s.row_force[0], MASS * (1 + STEP * G) / STEP, 1e-3);
        ck_assert_double_eq_tol(s.velocity[0][2], 0, 1e-6);
    }
}
END_TEST

START_TEST(row_of_one_force_gives_it)
{
    open_scene(&s);
    add_cube(&s, MASS);
    sprag_row *row = add_axis_row(&s, 0, 0);
    row->lo = row->hi = 7;
    fall(&s);
    solve(&s);
    ck_assert_double_eq_tol(s.row_force[0], 7, 1e-14);
    ck_assert_double_eq_tol(s.velocity[0][0], STEP * 7 / MASS, 1e-9);
}
END_TEST

static const double springs[][2] = {{1, 0}, {100, 0}, {1e4, 1}, {1e4, 1e3}, {0, 50}, {1e8, 1e5}};

// compliance = 1 / (h k + c), bias = -k x / (h k + c) is the implicit step of a spring and a
// damper.
START_TEST(soft_row_is_a_spring_and_a_damper)
{
    double k = springs[_i][0], c = springs[_i][1], x = 0.1, h = STEP, v0 = -0.5;
    open_scene(&s);
    add_cube(&s, MASS);
    sprag_row *row = add_axis_row(&s, 0, 1);
    row->compliance = 1 / (h * k + c);
    row->bias = -k * x / (h * k + c);
    s.body[0].velocity[1] = v0;
    fall(&s);
    solve(&s);
    double v = (MASS * v0 - h * k * x) / (MASS + h * h * k + h * c);
    ck_assert_double_eq_tol(s.velocity[0][1], v, 1e-9 * fmax(1, fabs(v)));
    ck_assert_double_eq_tol(s.row_force[0], -k * (x + h * v) - c * v, 1e-6 * (k + c));
}
END_TEST

// Row i wants its bodies' velocities: random equations over random pairs of bodies.
static void random_rows(uint64_t seed, int bodies, int rows)
{
    chance c = {seed};
    open_scene(&s);
    for (int b = 0; b < bodies; b++) {
        double mass = pow(10, uniform(&c, -1, 1));
        add_cube(&s, mass);
        random_inertia(&c, mass, s.body[b].inertia);
        for (int k = 0; k < 6; k++) {
            s.body[b].velocity[k] = uniform(&c, -1, 1);
        }
    }
    for (int i = 0; i < rows; i++) {
        int a = pick(&c, bodies), b = pick(&c, bodies + 1) - 1;
        sprag_row *row = add_row(&s, a, b == a ? SPRAG_STATIC : b);
        for (int k = 0; k < 12; k++) {
            row->jacobian[k / 6][k % 6] = row->body[k / 6] == SPRAG_STATIC ? 0 : uniform(&c, -1, 1);
        }
        row->bias = uniform(&c, -1, 1);
        row->compliance = i % 3 ? 0 : pow(10, uniform(&c, -6, 0));
    }
    fall(&s);
}

// The exact solution of M v - J' p = M v*, J v + CFM / h p = bias, dense and in one piece: what
// rows yield for rounding's sake is given back.
START_TEST(rows_agree_with_a_dense_kkt_solution)
{
    enum { MAX = 6 * 12 + 40 };
    static double K[MAX * MAX], x[MAX];
    int bodies = 2 + _i, rows = 3 * bodies, n = 6 * bodies + rows, one = 1, info, pivot[MAX];
    random_rows((uint64_t)_i, bodies, rows);
    memset(K, 0, sizeof K);
    for (int b = 0; b < bodies; b++) {
        momentum(&s.body[b], s.body[b].free_velocity, x + 6 * b);
        for (int k = 0; k < 3; k++) {
            K[(6 * b + k) * (n + 1)] = s.body[b].mass;
            for (int j = 0; j < 3; j++) {
                K[(6 * b + 3 + j) * n + 6 * b + 3 + k] = s.body[b].inertia[3 * k + j];
            }
        }
    }
    for (int i = 0; i < rows; i++) {
        const sprag_row *row = &s.row[i];
        int r = 6 * bodies + i;
        for (int side = 0; side < 2; side++) {
            for (int k = 0; k < 6 && row->body[side] != SPRAG_STATIC; k++) {
                int j = 6 * row->body[side] + k;
                K[r * n + j] = -row->jacobian[side][k];
                K[j * n + r] = row->jacobian[side][k];
            }
        }
        K[r * (n + 1)] = row->compliance / STEP;
        x[r] = row->bias;
    }
    dgesv_(&n, &one, K, &n, pivot, x, &n, &info);
    ck_assert_int_eq(info, 0);
    solve(&s);
    for (int i = 0; i < 6 * bodies; i++) {
        ck_assert_double_eq_tol(s.velocity[i / 6][i % 6], x[i], 1e-10);
    }
    for (int i = 0; i < rows; i++) {
        ck_assert_double_eq_tol(STEP * s.row_force[i], x[6 * bodies + i],
                                1e-9 * fmax(1, fabs(x[6 * bodies + i])));
    }
}
END_TEST

// A chain of cubes linked at their faces, hanging still: each link bears what hangs below.
START_TEST(hanging_chain_bears_its_weight)
{
    int n = 2 << _i;
    open_scene(&s);
    for (int b = 0; b < n; b++) {
        add_cube(&s, 1 + b % 3);
        for (int axis = 0; axis < 3; axis++) {
            sprag_row *row = b ? add_row(&s, b, b - 1) : add_row(&s, b, SPRAG_STATIC);
            double e[3] = {axis == 0, axis == 1, axis == 2};
            for (int k = 0; k < 3; k++) {
                row->jacobian[0][k] = e[k];
                row->jacobian[1][k] = b ? -e[k] : 0;
            }
            cross((double[]){0, 0, 0.5}, e, row->jacobian[0] + 3);
            cross((double[]){0, 0, 0.5}, e, row->jacobian[1] + 3);
            memset(row->jacobian[1] + 3, 0, b ? 0 : 3 * sizeof(double));
        }
    }
    fall(&s);
    solve(&s);
    double below = 0;
    for (int b = n - 1; b >= 0; b--) {
        below += s.body[b].mass * G;
        ck_assert_double_eq_tol(s.row_force[3 * b + 2] / below, 1, 1e-9);
        ck_assert_double_eq_tol(s.row_force[3 * b] / below, 0, 1e-9);
    }
}
END_TEST

// ---- stacks

static const struct {
    int boxes;
    double growth; // of the mass from one to the next above
    double softening;
    double tolerance; // of the forces: the yields of all interfaces below add up
} stacks[] = {{2, 1000, 1, 2e-2}, {2, 1000, 0, 1e-4}, {4, 10, 1, 2e-2}, {4, 10, 0, 1e-4},
              {4, 0.1, 1, 2e-2},  {10, 1, 1, 6e-2},   {10, 1, 0, 1e-4}, {20, 1, 0, 1e-3}};

START_TEST(stack_bears_its_weight)
{
    double above = 0;
    open_scene(&s);
    for (int b = 0; b < stacks[_i].boxes; b++) {
        add_cube(&s, pow(stacks[_i].growth, b));
        stand(&s, b, b - 1, MU); // the lowest on SPRAG_STATIC
    }
    for (int i = 0; i < s.problem.contacts; i++) {
        s.contact[i].softening = stacks[_i].softening;
    }
    fall(&s);
    solve(&s);
    ck_assert_int_le(s.stats.strategy, SPRAG_STRATEGY_CONTINUATION);
    for (int b = stacks[_i].boxes - 1; b >= 0; b--) {
        above += s.body[b].mass * G;
        for (int i = 4 * b; i < 4 * b + 4; i++) {
            ck_assert_double_eq_tol(fn(i) / (above / 4), 1, stacks[_i].tolerance);
        }
    }
}
END_TEST

// ---- strategies

static const struct {
    double slip, stiction; // m/s, of what slides
} stictions[] = {{0, AT_REST}, {1e-7, AT_REST}, {0.01, 1e-5}, {0.05, 5e-5}, {50, 1e-5 * 50}};

// A thousandth of its slip, whatever the other bodies do; a hundredth of the fastest counts as what
// a step changes.
START_TEST(stiction_follows_the_slip_of_the_contact)
{
    open_scene(&s);
    add_cube(&s, 1);
    add_ground(&s, 0, MU);
    s.body[0].velocity[1] = -stictions[_i].slip;
    fall(&s);
    solve(&s);
    double scale = fmax(1, 1e-2 * stictions[_i].slip / (G * STEP));
    ck_assert_double_eq_tol(s.stats.stiction,
                            fmin(fmax(stictions[_i].stiction, AT_REST * scale), MOVING * scale),
                            1e-12);
}
END_TEST

// Two bodies that move together hold one another as if they were at rest.
START_TEST(stiction_is_that_of_rest_in_a_moving_frame)
{
    open_scene(&s);
    add_cube(&s, 1);
    add_cube(&s, 1000);
    stand(&s, 0, 1, MU);
    s.body[0].velocity[0] = s.body[1].velocity[0] = 3;
    fall(&s);
    push(&s, 0, 2, 0, 0);
    push(&s, 1, 2000, 0, 1000 * G);
    solve(&s);
    ck_assert_double_lt(s.stats.stiction, 1e-6);
    ck_assert_double_lt(fabs(s.velocity[0][0] - s.velocity[1][0]), 1e-6);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("assemble");
    ADD_CASE(suite, "normal", {stack_bears_its_weight, COUNT(stacks)});
    ADD_CASE(suite, "kinematic", {kinematic_body_drags_another, 1}, {turntable_drags_by_its_rim, 2},
             {kinematic_row_partner_pulls, 1}, {bodies_that_keep_their_velocity_feel_no_force, 1});
    ADD_CASE(suite, "rows", {motor_saturates_at_its_force, 2},
             {motor_within_its_force_reaches_its_speed, 1}, {limit_works_one_way, 2},
             {row_of_one_force_gives_it, 1}, {soft_row_is_a_spring_and_a_damper, COUNT(springs)},
             {rows_agree_with_a_dense_kkt_solution, 11}, {hanging_chain_bears_its_weight, 5});
    ADD_CASE(suite, "strategies", {stiction_follows_the_slip_of_the_contact, COUNT(stictions)},
             {stiction_is_that_of_rest_in_a_moving_frame, 1});
    return run_suite(suite);
}
