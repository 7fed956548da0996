// The residual of a problem: zero at answers known in closed form, and of the right size, in m/s,
// at answers that are wrong by a known amount.
#include <check.h>
#include <stdlib.h>

#include "problems.h"
#include "residual.h"
#include "softness.h"
#include "suite.h"

#define TINY 1e-14 // m/s; rounding of speeds of 0.1 m/s

static scene s;
static double softness;
static sprag_scratch scratch;

static void free_scratch(void)
{
    sprag_scratch_free(&scratch);
}

static sprag_residual measured(void)
{
    sprag_scratch_reset(&scratch);
    return sprag_problem_residual(&s.problem, &s.solution, (sprag_shares){softness, 0, 0},
                                  &scratch);
}

#define ck_residual(r, m, n, f, w)                                                                 \
    do {                                                                                           \
        ck_assert_double_eq_tol((r).momentum, m, TINY);                                            \
        ck_assert_double_eq_tol((r).normal, n, TINY);                                              \
        ck_assert_double_eq_tol((r).friction, f, TINY);                                            \
        ck_assert_double_eq_tol((r).row, w, TINY);                                                 \
    } while (0)

// A cube of so much mass rests on the ground, on one point below its centre, and is carried.
static sprag_contact *resting(double mass, double mu)
{
    open_scene(&s);
    add_cube(&s, mass);
    fall(&s);
    sprag_contact *contact = add_ground(&s, 0, mu);
    s.contact_force[0][0] = mass * G;
    return contact;
}

// The same, pushed along a direction and sliding along it, with the friction of the cone.
static sprag_contact *sliding(double mu, double x, double y)
{
    const double speed = 0.3, push_force = 40, mass = 2;
    sprag_contact *contact = resting(mass, mu);
    double size = hypot(x, y), along[2] = {x / size, y / size};
    push(&s, 0, push_force * along[0], push_force * along[1], 0);
    for (int k = 0; k < 2; k++) {
        s.velocity[0][k] = speed * along[k];
        s.contact_force[0][1 + k] = -mu * mass * G * along[k];
        s.body[0].free_velocity[k] = s.velocity[0][k] - STEP / mass * s.contact_force[0][1 + k];
    }
    return contact;
}

START_TEST(nothing_has_no_residual)
{
    open_scene(&s);
    sprag_residual r = measured();
    ck_residual(r, 0, 0, 0, 0);
    ck_assert_double_eq(r.mean, 0);
    ck_assert_int_eq(r.body, -1);
    ck_assert_double_eq(r.relative, 0);
}
END_TEST

START_TEST(a_cube_that_rests_on_its_corners_has_none)
{
    open_scene(&s);
    add_cube(&s, 3);
    fall(&s);
    stand(&s, 0, SPRAG_STATIC, 0.5);
    for (int i = 0; i < 4; i++) {
        s.contact_force[i][0] = 3 * G / 4;
    }
    sprag_residual r = measured();
    ck_residual(r, 0, 0, 0, 0);
    ck_assert_double_eq_tol(r.scale, G * STEP, TINY);
}
END_TEST

START_TEST(a_missing_force_is_a_momentum_error_of_its_speed)
{
    resting(5, 0);
    s.contact_force[0][0] *= 0.99;
    sprag_residual r = measured();
    ck_residual(r, 0.01 * G * STEP, 0, 0, 0);
    ck_assert_int_eq(r.body, 0);
    ck_assert_double_eq_tol(r.relative, 0.01, 1e-12);
}
END_TEST

START_TEST(a_missing_torque_counts_by_its_energy)
{
    open_scene(&s);
    add_cube(&s, 6);
    turn(&s, 0, 0, 2, 0);
    sprag_residual r = measured(); // the cube stays where it should turn: e = I w
    double I = s.body[0].inertia[4], w = STEP * 2 / I;
    ck_residual(r, sqrt(I * w * w / 6), 0, 0, 0);
}
END_TEST

START_TEST(a_kinematic_body_must_keep_its_velocity)
{
    open_scene(&s);
    add_cube(&s, 0);
    s.body[0].velocity[1] = 2;
    s.velocity[0][1] = 2.25;
    ck_residual(measured(), 0.25, 0, 0, 0);
}
END_TEST

// A cube on a soft point, whose normal impulse is a share of the right one: the gap is that of the
// quadratic energy of the point, and half the error of the velocity squared is below it.
START_TEST(the_gap_bounds_the_error_of_the_velocity)
{
    static const double shares[] = {1, 0.99, 0.5, 1.5};
    for (int i = 0; i < 4; i++) {
        resting(2, 0);
        softness = 1e-3;
        double w = 1.0 / 2, y = softness * w, free = -G * STEP, right = -free / (w + y);
        double p = shares[i] * right, off = (w + y) * (right - p);
        s.contact_force[0][0] = p / STEP;
        s.velocity[0][2] = free + w * p;
        // from 1 + y / w of it on the cube rises, and y p^2 / 2 + p u is the gap
        double gap =
            s.velocity[0][2] < 0 ? off * off / (2 * y) : y * p * p / 2 + p * s.velocity[0][2];
        double energy = 2 * (w * (p - right)) * (w * (p - right)) / 2;
        ck_assert_double_eq_tol(measured().gap, sqrt(2 * gap / 2), 1e-9);
        ck_assert_double_le(energy, gap + TINY);
    }
    softness = 0;
}
END_TEST

// Friction that does not oppose the slip: bound |u| + p u.
START_TEST(the_gap_of_friction_is_the_power_that_it_should_take)
{
    static const double along[][2] = {{-1, 0}, {0, -1}, {1, 0}, {0, 0}}, expected[] = {0, 1, 2, 1};
    for (int i = 0; i < 4; i++) {
        const double mu = 0.5, p = 2 * G * STEP, y = SPRAG_SOFT_LEAST / 2;
        sliding(mu, 1, 0);
        for (int k = 0; k < 2; k++) {
            s.contact_force[0][1 + k] = mu * 2 * G * along[i][k];
        }
        s.velocity[0][2] = -y * p; // what the normal yields
        double gap = expected[i] * mu * p * s.velocity[0][0];
        ck_assert_double_eq_tol(measured().gap, sqrt(2 * gap / 2), 1e-9);
    }
}
END_TEST

// What turns though it never may: w^2 / 2 y, y the share of its inverse inertia by which the normal
// yields.
START_TEST(the_gap_of_turning_is_that_of_its_inertia)
{
    const double mass = 2, w = 0.3;
    sprag_contact *contact = resting(mass, 0);
    turning_of(&s, contact)->roll = (sprag_friction){.coefficient = {INFINITY, INFINITY}};
    softness = 1e-3;
    double right = G * STEP / (1 + softness) * mass, y = softness / s.body[0].inertia[0];
    s.contact_force[0][0] = right / STEP;
    s.velocity[0][2] = -G * STEP + right / mass;
    ck_assert_double_eq_tol(measured().gap, 0, 1e-9);
    s.velocity[0][3] = w;
    ck_assert_double_eq_tol(measured().gap, sqrt(2 * (w * w / (2 * y)) / mass), 1e-9);
    softness = 0;
}
END_TEST

START_TEST(a_force_on_a_point_that_separates_is_a_normal_error)
{
    resting(2, 0);
    s.velocity[0][2] = 0.5; // and the body has the momentum for it
    s.body[0].free_velocity[2] = 0.5 - STEP * G;
    sprag_residual r = measured();
    ck_residual(r, 0, G * STEP, 0, 0);
    ck_assert_int_eq(r.contact, 0);
}
END_TEST

START_TEST(an_approach_without_force_is_a_normal_error_of_its_speed)
{
    resting(2, 0);
    s.contact_force[0][0] = 0;
    s.velocity[0][2] = s.body[0].free_velocity[2] = -0.125;
    ck_residual(measured(), 0, 0.125, 0, 0);
}
END_TEST

START_TEST(a_force_that_pulls_is_a_normal_error)
{
    resting(2, 0);
    s.contact_force[0][0] = -3;
    s.body[0].free_velocity[2] = STEP * 3 / 2;
    ck_residual(measured(), 0, STEP * 3 / 2, 0, 0);
}
END_TEST

START_TEST(bias_and_compliance_belong_to_the_law)
{
    sprag_contact *contact = resting(2, 0);
    contact->bias = 0.04;
    contact->compliance = 1e-3;
    double F = s.contact_force[0][0];
    s.velocity[0][2] = 0.04 - 1e-3 * F;
    s.body[0].free_velocity[2] = s.velocity[0][2] - STEP * F / 2;
    ck_residual(measured(), 0, 0, 0, 0);
}
END_TEST

START_TEST(softness_of_the_problem_belongs_to_the_law)
{
    resting(2, 0);
    softness = 1e-3;
    double w = 1.0 / 2, F = s.contact_force[0][0], yield = 1e-3 * w;
    sprag_softness soft = sprag_problem_softness(&s.problem, (sprag_shares){softness, 0, 0});
    ck_assert_double_eq_tol(sprag_contact_yield(&soft, &s.contact[0], w), yield, 1e-18);
    s.velocity[0][2] = -yield * STEP * F;
    s.body[0].free_velocity[2] = s.velocity[0][2] - STEP * F / 2;
    ck_residual(measured(), 0, 0, 0, 0);
    softness = 0;
    sprag_residual r = measured();
    ck_assert_double_eq_tol(r.normal, yield * STEP * F, TINY);
}
END_TEST

// Without any, redundant contacts have no unique forces. Nothing moves at first, as where bodies
// are placed.
START_TEST(softness_in_motion_is_never_less_than_the_least)
{
    resting(2, 0);
    const double change = G * STEP;
    ck_assert_double_eq(sprag_softness_in_motion(1e-3, &s.problem), SPRAG_SOFT_LEAST);
    ck_assert_double_eq(sprag_softness_in_motion(0, &s.problem), 0);
    s.body[0].velocity[0] = s.body[0].free_velocity[0] = change / 4;
    ck_assert_double_eq_tol(sprag_softness_in_motion(1e-3, &s.problem), 1e-3 / 4, 1e-15);
    s.body[0].velocity[0] = s.body[0].free_velocity[0] = 2 * change;
    ck_assert_double_eq(sprag_softness_in_motion(1e-3, &s.problem), 1e-3);
}
END_TEST

START_TEST(hunt_and_crossleys_force_at_its_velocity_has_none)
{
    static const double velocity[] = {-0.2, -0.01, 0, 0.03};
    sprag_contact *contact = resting(2, 0);
    contact->stiffness = 2e4;
    contact->dissipation = 0.4;
    contact->gap = -1e-3;
    double u = velocity[_i], x = 1e-3 - STEP * u;
    double F = x > 0 ? 2e4 * (1 - 0.4 * u) * x : 0;
    s.contact_force[0][0] = F;
    s.velocity[0][2] = u;
    s.body[0].free_velocity[2] = u - STEP * F / 2;
    ck_residual(measured(), 0, 0, 0, 0);
    s.contact_force[0][0] = F + 1;
    ck_assert_double_gt(measured().normal, 1e-3 * STEP);
}
END_TEST

START_TEST(friction_of_the_cone_against_the_slip_has_none)
{
    static const double direction[][2] = {{1, 0}, {0, -1}, {1, 1}, {-3, 0.2}, {0.1, -7}};
    sliding(0.6, direction[_i][0], direction[_i][1]);
    ck_residual(measured(), 0, 0, 0, 0);
}
END_TEST

START_TEST(friction_of_an_arm_has_none_whatever_the_inertia)
{
    sprag_contact *contact = sliding(0.6, 1, 2);
    contact->arm[0][2] = -0.5; // inverse masses of the tangents differ
    s.body[0].inertia[0] = 0.01;
    s.body[0].inertia[4] = 7;
    sprag_residual r = measured();
    ck_assert_double_eq_tol(r.friction, 0, TINY);
}
END_TEST

START_TEST(an_elliptic_cone_takes_the_most_energy)
{
    // p_k = -c b_k^2 u_k, (p0 / b0)^2 + (p1 / b1)^2 = N^2
    sprag_contact *contact = resting(2, 0);
    double b[2] = {0.3, 0.9}, u[2] = {0.2, -0.5}, N = 2 * G;
    double c = N / hypot(b[0] * u[0], b[1] * u[1]);
    for (int k = 0; k < 2; k++) {
        contact->slide.coefficient[k] = b[k];
        s.velocity[0][k] = u[k];
        s.contact_force[0][1 + k] = -c * b[k] * b[k] * u[k];
        s.body[0].free_velocity[k] = u[k] - STEP / 2 * s.contact_force[0][1 + k];
    }
    ck_residual(measured(), 0, 0, 0, 0);
}
END_TEST

START_TEST(friction_beyond_the_cone_is_an_error_of_what_is_beyond)
{
    resting(2, 0.5);
    s.contact_force[0][1] = 0.75 * 2 * G;
    s.body[0].free_velocity[0] = -0.75 * G * STEP;
    ck_residual(measured(), 0, 0, 0.25 * G * STEP, 0);
}
END_TEST

START_TEST(slip_of_what_could_stick_is_an_error_of_its_speed)
{
    resting(2, 0.5);
    s.velocity[0][0] = s.body[0].free_velocity[0] = 1e-3;
    ck_residual(measured(), 0, 0, 1e-3, 0);
}
END_TEST

START_TEST(friction_across_the_slip_is_an_error)
{
    sliding(0.6, 1, 0);
    double N = 2 * G;
    s.contact_force[0][1] = 0;
    s.contact_force[0][2] = -0.6 * N;
    s.body[0].free_velocity[0] = s.velocity[0][0];
    s.body[0].free_velocity[1] = STEP * 0.6 * G;
    sprag_residual r = measured();
    ck_assert_double_eq_tol(r.momentum, 0, TINY);
    ck_assert_double_gt(r.friction, 0.6 * G * STEP / 2);
}
END_TEST

START_TEST(an_infinite_coefficient_lets_nothing_slip)
{
    sprag_contact *contact = resting(2, INFINITY);
    s.contact_force[0][1] = 1e4;
    s.body[0].free_velocity[0] = -STEP / 2 * 1e4;
    ck_residual(measured(), 0, 0, 0, 0);
    s.contact_force[0][0] = 0; // and needs no normal force
    s.body[0].free_velocity[2] = 0;
    ck_residual(measured(), 0, 0, 0, 0);
    contact->slide.slip[0] = contact->slide.slip[1] = 1e-6;
    s.velocity[0][0] = -1e-2;
    s.body[0].free_velocity[0] -= 1e-2;
    ck_residual(measured(), 0, 0, 0, 0);
}
END_TEST

START_TEST(a_force_as_bound_needs_no_normal_force)
{
    sprag_contact *contact = resting(2, 0);
    contact->slide = (sprag_friction){.coefficient = {7, 7}, .force = {true, true}};
    s.velocity[0][2] = s.body[0].free_velocity[2] = 1;
    s.contact_force[0][0] = 0;
    s.velocity[0][0] = 0.5;
    s.contact_force[0][1] = -7;
    s.body[0].free_velocity[0] = 0.5 + STEP * 7 / 2;
    ck_residual(measured(), 0, 0, 0, 0);
}
END_TEST

START_TEST(axes_of_different_kinds_are_bounded_one_by_one)
{
    sprag_contact *contact = resting(2, 0);
    contact->slide = (sprag_friction){.coefficient = {0.5, 3}, .force = {false, true}};
    double u[2] = {0.3, -0.2}, F[2] = {-0.5 * 2 * G, 3};
    for (int k = 0; k < 2; k++) {
        s.velocity[0][k] = u[k];
        s.contact_force[0][1 + k] = F[k];
        s.body[0].free_velocity[k] = u[k] - STEP / 2 * F[k];
    }
    ck_residual(measured(), 0, 0, 0, 0);
}
END_TEST

START_TEST(a_moving_surface_takes_along)
{
    sprag_contact *contact = resting(2, 0.5);
    contact->slide.velocity[0] = 0.7;
    s.velocity[0][0] = s.body[0].free_velocity[0] = 0.7;
    ck_residual(measured(), 0, 0, 0, 0);
}
END_TEST

START_TEST(rolling_and_spinning_friction_count_too)
{
    sprag_contact *contact = resting(2, 0);
    sprag_turning *turning = turning_of(&s, contact);
    turning->roll = (sprag_friction){.coefficient = {0.02, 0.02}}; // m, about x and y
    turning->spin.coefficient[0] = 0.01;                           // m, about z
    double N = 2 * G, I = s.body[0].inertia[0], torque[3] = {-0.02 * N, 0, -0.01 * N};
    s.velocity[0][3] = 0.4;
    s.velocity[0][5] = 0.2;
    s.contact_force[0][3] = torque[0];
    s.contact_force[0][5] = torque[2];
    for (int k = 0; k < 3; k++) {
        s.body[0].free_velocity[3 + k] = s.velocity[0][3 + k] - STEP * torque[k] / I;
    }
    ck_residual(measured(), 0, 0, 0, 0);
    s.contact_force[0][5] = 0;
    ck_assert_double_gt(measured().friction, 1e-6);
}
END_TEST

START_TEST(a_row_between_its_bounds_holds_its_rate)
{
    open_scene(&s);
    add_cube(&s, 2);
    sprag_row *row = add_axis_row(&s, 0, 0);
    row->bias = 0.5;
    row->compliance = 1e-3;
    s.row_force[0] = 30;
    s.velocity[0][0] = 0.5 - 1e-3 * 30;
    s.body[0].free_velocity[0] = s.velocity[0][0] - STEP / 2 * 30;
    ck_residual(measured(), 0, 0, 0, 0);
    ck_assert_double_eq_tol(s.row_rate[0], s.velocity[0][0], TINY);
    s.velocity[0][0] += 0.01;
    s.body[0].free_velocity[0] += 0.01;
    sprag_residual r = measured();
    ck_assert_double_eq_tol(s.row_rate[0], s.velocity[0][0], TINY);
    double w = 0.5; // a soft row counts an error of velocity in full
    ck_assert_double_eq_tol(r.row, 0.01 / w * sqrt(w / 2), TINY);
    ck_assert_int_eq(r.joint_row, 0);
}
END_TEST

START_TEST(a_row_at_its_bound_may_be_behind)
{
    open_scene(&s);
    add_cube(&s, 2);
    sprag_row *motor = add_axis_row(&s, 0, 0);
    motor->bias = 1;
    motor->lo = -5;
    motor->hi = 5;
    s.row_force[0] = 5;
    s.velocity[0][0] = 0.2;
    s.body[0].free_velocity[0] = 0.2 - STEP / 2 * 5;
    ck_residual(measured(), 0, 0, 0, 0);
    s.row_force[0] = 6; // beyond
    s.body[0].free_velocity[0] = 0.2 - STEP / 2 * 6;
    ck_residual(measured(), 0, 0, 0, STEP / 2 * 1);
}
END_TEST

START_TEST(nobody_can_move_what_two_kinematic_bodies_do)
{
    open_scene(&s);
    add_cube(&s, 0);
    add_cube(&s, 0);
    s.body[0].velocity[2] = s.velocity[0][2] = -1;
    add_contact(&s, 0, 1, (double[]){0, 0, 1});
    add_row(&s, 0, 1)->jacobian[0][0] = 1;
    ck_residual(measured(), 0, 0, 0, 0);
}
END_TEST

START_TEST(masses_and_frames_of_reference_do_not_matter)
{
    static const double mass[] = {1, 1e-6, 1e9};
    double first = 0;
    for (int i = 0; i < 3; i++) {
        for (int moving = 0; moving < 2; moving++) {
            open_scene(&s);
            add_cube(&s, mass[i]);
            add_cube(&s, 3 * mass[i]);
            for (int b = 0; b < 2; b++) {
                s.body[b].velocity[1] = moving;
            }
            fall(&s);
            sprag_contact *contact = add_contact(&s, 0, 1, (double[]){0, 0, 1});
            contact->slide.coefficient[0] = contact->slide.coefficient[1] = 0.5;
            s.contact_force[0][0] = mass[i];
            s.contact_force[0][1] = 0.7 * mass[i];
            memcpy(s.velocity[0], s.body[0].free_velocity, sizeof s.velocity[0]);
            memcpy(s.velocity[1], s.body[1].free_velocity, sizeof s.velocity[1]);
            s.velocity[0][0] += 0.1;
            sprag_residual r = measured();
            double sum = r.momentum + r.normal + r.friction;
            first = first > 0 ? first : sum;
            ck_assert_double_gt(sum, 1e-3);
            ck_assert_double_eq_tol(sum, first, 1e-9);
        }
    }
}
END_TEST

// Kinds of contacts that are measured four at once, between bodies of which one in four is
// kinematic, at velocities and forces of chance.
static void add_any_contacts(chance *c, int count)
{
    enum { BODIES = 6 };
    open_scene(&s);
    for (int b = 0; b < BODIES; b++) {
        int body = add_box(&s, uniform(c, 1, 5), uniform(c, 0.5, 1), 1, uniform(c, 0.5, 1));
        s.body[body].mass *= pick(c, 4) > 0;
        for (int k = 0; k < 6; k++) {
            s.velocity[b][k] = uniform(c, -1, 1);
            s.body[b].free_velocity[k] = uniform(c, -1, 1);
        }
    }
    for (int i = 0; i < count; i++) {
        double normal[3];
        random_direction(c, normal);
        int body = pick(c, BODIES), other = pick(c, BODIES);
        sprag_contact *contact =
            add_contact(&s, body, other == body ? SPRAG_STATIC : other, normal);
        for (int k = 0; k < 6; k++) {
            contact->arm[k / 3][k % 3] = uniform(c, -1, 1);
        }
        sprag_friction *slide = &contact->slide;
        for (int k = 0; k < 2; k++) {
            slide->coefficient[k] = pick(c, 3) * uniform(c, 0.1, 1);
            slide->velocity[k] = pick(c, 2) * uniform(c, -1, 1);
        }
        slide->slip[0] = slide->slip[1] = pick(c, 2) * 1e-3;
        slide->force[0] = slide->force[1] = pick(c, 2);
        contact->bias = uniform(c, -1, 1);
        contact->compliance = pick(c, 2) * 1e-3;
        contact->erp = uniform(c, 0.1, 1.1);
        contact->stiction = pick(c, 2) * 1e-4;
        for (int k = 0; k < 3; k++) {
            s.contact_force[i][k] = uniform(c, k ? -20 : -10, 20);
        }
    }
}

START_TEST(four_contacts_at_once_are_measured_as_one_by_one)
{
    chance c = {(uint64_t)_i};
    add_any_contacts(&c, 1 + _i % 11);
    softness = _i % 2 ? 1e-3 : 0;
    sprag_residual all = measured();
    for (int i = 0; i < s.problem.contacts; i++) {
        turning_of(&s, &s.contact[i]); // of no friction: such a contact goes alone
    }
    sprag_residual each = measured();
    softness = 0;
    ck_assert_double_eq(all.normal, each.normal);
    ck_assert_double_eq(all.friction, each.friction);
    ck_assert_double_eq(all.gap, each.gap);
    ck_assert_double_eq(all.mean, each.mean);
    ck_assert_double_eq(all.relative, each.relative);
    ck_assert_int_eq(all.contact, each.contact);
    for (int k = 0; k < 2; k++) {
        ck_assert_double_eq(all.stiffness[k], each.stiffness[k]);
        ck_assert_double_eq(all.damping[k], each.damping[k]);
    }
}
END_TEST

START_TEST(what_is_not_finite_is_infinitely_wrong)
{
    resting(1, 0.5);
    double *entry[] = {&s.velocity[0][0], &s.contact_force[0][0], &s.contact_force[0][2]};
    *entry[_i] = NAN;
    sprag_residual r = measured();
    ck_assert(isinf(r.relative));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("residual");
    ADD_TESTS_WITH(
        suite, "all", NULL, free_scratch, {nothing_has_no_residual, 1},
        {a_cube_that_rests_on_its_corners_has_none, 1},
        {a_missing_force_is_a_momentum_error_of_its_speed, 1},
        {a_missing_torque_counts_by_its_energy, 1}, {a_kinematic_body_must_keep_its_velocity, 1},
        {a_force_on_a_point_that_separates_is_a_normal_error, 1},
        {an_approach_without_force_is_a_normal_error_of_its_speed, 1},
        {a_force_that_pulls_is_a_normal_error, 1}, {bias_and_compliance_belong_to_the_law, 1},
        {softness_of_the_problem_belongs_to_the_law, 1},
        {softness_in_motion_is_never_less_than_the_least, 1},
        {hunt_and_crossleys_force_at_its_velocity_has_none, 4},
        {friction_of_the_cone_against_the_slip_has_none, 5},
        {friction_of_an_arm_has_none_whatever_the_inertia, 1},
        {an_elliptic_cone_takes_the_most_energy, 1},
        {friction_beyond_the_cone_is_an_error_of_what_is_beyond, 1},
        {slip_of_what_could_stick_is_an_error_of_its_speed, 1},
        {friction_across_the_slip_is_an_error, 1}, {an_infinite_coefficient_lets_nothing_slip, 1},
        {a_force_as_bound_needs_no_normal_force, 1},
        {axes_of_different_kinds_are_bounded_one_by_one, 1}, {a_moving_surface_takes_along, 1},
        {rolling_and_spinning_friction_count_too, 1}, {a_row_between_its_bounds_holds_its_rate, 1},
        {a_row_at_its_bound_may_be_behind, 1}, {nobody_can_move_what_two_kinematic_bodies_do, 1},
        {the_gap_bounds_the_error_of_the_velocity, 1},
        {the_gap_of_turning_is_that_of_its_inertia, 1},
        {the_gap_of_friction_is_the_power_that_it_should_take, 1},
        {masses_and_frames_of_reference_do_not_matter, 1},
        {four_contacts_at_once_are_measured_as_one_by_one, 200},
        {what_is_not_finite_is_infinitely_wrong, 3});
    return run_suite(suite);
}
