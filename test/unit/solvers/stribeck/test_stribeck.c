// Implicit Stribeck on problems with known answers; then what holds for every solution: momentum,
// the laws, dissipation, symmetries; then its phases one by one, and the system of equations
// underneath.
//
// The laws, with w the inverse mass of a contact's normal direction and h the step:
//     yield = max(compliance / h, max(1e-3 softening, 1e-6) min(w, 4 / heaviest))
//     normal impulse = max(0, (bias - vn) / yield)
//     friction = -mu fn u / sqrt(vs^2 + |u|^2),  vs = 1e-3 of the contact's slip before the step,
//                between 1e-8 and 1e-3 of what the step changes
#include <check.h>
#include <stdlib.h>

#include "assemble.h"
#include "problems.h"
#include "stribeck.h"
#include "suite.h"

#define MU 0.5
#define MASS 2.0
#define SOFTNESS 1e-3 // of the defaults
#define ROW_SOFTNESS 1e-8
#define MOVING (1e-3 * G * STEP) // m/s, stiction tolerance of what slides, if gravity is all
#define AT_REST (1e-5 * MOVING)
#define TOLERANCE 1e-6

extern void dgesv_(const int *n, const int *nrhs, double *a, const int *lda, int *pivot, double *b,
                   const int *ldb, int *info);

static scene s, t;
static sprag_scratch scratch;

static void free_scratch(void)
{
    sprag_scratch_free(&scratch);
}

static sprag_result solve_with(scene *scene, const sprag_stribeck_options *options)
{
    sprag_result result =
        sprag_stribeck_solve(&scene->problem, options, &scratch, &scene->solution, &scene->stats);
    sprag_scratch_reset(&scratch);
    return result;
}

static void solve(scene *scene)
{
    ck_assert_str_eq(sprag_result_name(solve_with(scene, NULL)), "ok");
    ck_assert_double_le(momentum_error(scene), 1.01 * TOLERANCE);
}

// Every contact with the same stiction tolerance, moving or not, and Newton for every island.
static sprag_stribeck_options alike(void)
{
    sprag_stribeck_options options = sprag_stribeck_defaults();
    options.stiction_tolerance = options.stiction_at_rest = 1e-4;
    options.direct_work = 1e15;
    return options;
}

static void solve_alike(scene *scene)
{
    sprag_stribeck_options options = alike();
    ck_assert_str_eq(sprag_result_name(solve_with(scene, &options)), "ok");
    ck_assert_double_le(momentum_error(scene), 1.01 * TOLERANCE);
}

// One body without extent in contact with the ground: nothing turns, w = 1 / mass.
static sprag_contact *puck(double mu)
{
    open_scene(&s);
    add_cube(&s, MASS);
    sprag_contact *contact = add_ground(&s, 0, mu);
    fall(&s);
    return contact;
}

static double fn(int contact)
{
    return s.contact_force[contact][0];
}

static double ft(int contact)
{
    return hypot(s.contact_force[contact][1], s.contact_force[contact][2]);
}

// The force that carries the puck: it sinks in, until the law gives its weight.
#define PUCK_WEIGHT (MASS * G / (1 + SOFTNESS))

// ---- nothing to solve

START_TEST(nothing_is_solved_by_nothing)
{
    open_scene(&s);
    solve(&s);
    ck_assert_int_eq(s.stats.phase, '-');
}
END_TEST

START_TEST(bodies_fall_freely)
{
    chance c = {1};
    open_scene(&s);
    for (int b = 0; b < 5; b++) {
        add_cube(&s, uniform(&c, 0.1, 10));
        s.body[b].velocity[0] = uniform(&c, -1, 1);
        s.body[b].velocity[4] = uniform(&c, -1, 1);
    }
    fall(&s);
    solve(&s);
    ck_assert_int_eq(s.stats.phase, '-');
    ck_assert_int_eq(s.stats.iterations, 0);
    for (int b = 0; b < 5; b++) {
        ck_assert_mem_eq(s.velocity[b], s.body[b].free_velocity, sizeof s.velocity[b]);
    }
}
END_TEST

// A contact that the bodies do not reach within the step; the bias is how fast they may close.
START_TEST(contact_out_of_reach_gives_no_force)
{
    sprag_contact *contact = puck(MU);
    contact->bias = -0.2;
    s.body[0].free_velocity[0] = 1;
    solve(&s);
    ck_assert_double_eq(fn(0), 0);
    ck_assert_double_eq(ft(0), 0);
    ck_assert_mem_eq(s.velocity[0], s.body[0].free_velocity, sizeof s.velocity[0]);
}
END_TEST

// ---- normal force

static const double masses[] = {1e-3, 1, 1e6};

// w = 4 / mass at the corners: the cube sinks as fast as its weight, on all four, times the yield.
START_TEST(box_rests_on_four_contacts)
{
    double mass = masses[_i];
    open_scene(&s);
    add_cube(&s, mass);
    stand(&s, 0, SPRAG_STATIC, MU);
    fall(&s);
    solve(&s);
    for (int i = 0; i < 4; i++) {
        ck_assert_double_eq_tol(fn(i) / (mass * G / 4 / (1 + SOFTNESS)), 1, 1e-9);
        ck_assert_double_eq_tol(ft(i) / (mass * G), 0, 1e-9);
    }
    ck_assert_double_eq_tol(s.velocity[0][2], -G * STEP * SOFTNESS / (1 + SOFTNESS), 1e-12);
}
END_TEST

START_TEST(softening_is_a_share_of_the_softness)
{
    static const double softening[] = {1, 0.5, 0.1, 1e-2, 0};
    static const double softness[] = {1e-3, 5e-4, 1e-4, 1e-5, 1e-6}; // and not less
    sprag_contact *contact = puck(0);
    contact->softening = softening[_i];
    solve(&s);
    ck_assert_double_eq_tol(s.velocity[0][2], -G * STEP * softness[_i] / (1 + softness[_i]), 1e-14);
}
END_TEST

// Under a bias the body is driven out: a compliance above the softness decides how hard.
START_TEST(compliance_and_bias_are_a_spring)
{
    sprag_contact *contact = puck(0);
    contact->bias = 0.3;
    contact->compliance = 0.02;
    solve(&s);
    double v = s.velocity[0][2];
    ck_assert_double_eq_tol(fn(0), (0.3 - v) / 0.02, 1e-9);
    ck_assert_double_eq_tol(MASS * (v + G * STEP), STEP * fn(0), 1e-12);
}
END_TEST

static const double restitution[] = {0, 0.2, 0.5, 0.8, 1};

START_TEST(bounce_meets_its_target)
{
    double e = restitution[_i], before = 3;
    open_scene(&s);
    add_cube(&s, MASS);
    stand(&s, 0, SPRAG_STATIC, MU);
    s.body[0].velocity[2] = -before;
    for (int i = 0; i < 4; i++) {
        s.contact[i].bias = e * before;
        s.contact[i].softening = 0;
    }
    fall(&s);
    solve(&s);
    ck_assert_double_eq_tol(s.velocity[0][2], e * before, 1e-5);
}
END_TEST

// No one pulls: what lies on another is not held when that one is torn away.
START_TEST(contacts_never_pull)
{
    open_scene(&s);
    add_cube(&s, 1);
    add_cube(&s, 1);
    stand(&s, 0, SPRAG_STATIC, MU);
    stand(&s, 1, 0, MU);
    fall(&s);
    push(&s, 1, 0, 0, 100);
    solve(&s);
    for (int i = 4; i < 8; i++) {
        ck_assert_double_eq(fn(i), 0);
    }
    ck_assert_double_eq_tol(fn(0) + fn(1) + fn(2) + fn(3), G, 0.01 * G);
}
END_TEST

// ---- friction on a puck

START_TEST(slides_with_mu_g_against_its_velocity)
{
    double angle = 0.1 + _i * 0.5236, c = cos(angle), d = sin(angle);
    puck(MU);
    s.body[0].velocity[0] = c;
    s.body[0].velocity[1] = d;
    fall(&s);
    solve(&s);
    double speed = 1 - MU * G * STEP / (1 + SOFTNESS);
    ck_assert_double_eq_tol(s.stats.stiction / MOVING, 1, 1e-12);
    ck_assert_double_eq_tol(s.velocity[0][0], c * speed, 1e-6);
    ck_assert_double_eq_tol(s.velocity[0][1], d * speed, 1e-6);
    ck_assert_double_eq_tol(s.contact_force[0][1], -MU * PUCK_WEIGHT * c, 1e-4);
    ck_assert_double_eq_tol(s.contact_force[0][2], -MU * PUCK_WEIGHT * d, 1e-4);
    ck_assert_double_eq_tol(ft(0) / fn(0), MU, MU * MOVING * MOVING); // (vs / |u|)^2 / 2 missing
    ck_assert_double_le(ft(0), MU * fn(0) * (1 + 1e-15));
}
END_TEST

START_TEST(a_sliding_box_brakes_as_a_puck)
{
    open_scene(&s);
    add_box(&s, MASS, 1, 1, 1);
    stand(&s, 0, SPRAG_STATIC, MU);
    s.body[0].velocity[0] = 3;
    s.body[0].velocity[1] = -4;
    fall(&s);
    solve(&s);
    double normal = 0, along = 0;
    for (int i = 0; i < 4; i++) {
        normal += fn(i);
        along -= 0.6 * s.contact_force[i][1] - 0.8 * s.contact_force[i][2];
    }
    ck_assert_double_eq_tol(along, MU * normal, 1e-6 * normal);
    ck_assert_double_eq_tol(normal, MASS * G, 2e-3 * MASS * G);
    ck_assert_double_gt(fn(1), fn(2)); // it leans towards +x, -y
}
END_TEST

static const double load[] = {0.01, 0.1, 0.5, 0.9, 0.99};

// Below the cone it creeps by v with m v / h = F - mu fn v / sqrt(vs^2 + v^2), by bisection here.
START_TEST(sticks_below_the_cone_and_creeps)
{
    double low = 0, high = 1, force = load[_i] * MU * MASS * G;
    double at_rest = AT_REST * hypot(1, load[_i] * MU); // the push changes what a step changes
    puck(MU);
    push(&s, 0, force, 0, 0);
    solve(&s);
    for (int i = 0; i < 100; i++) {
        double v = (low + high) / 2;
        double rest = force - MU * PUCK_WEIGHT * v / hypot(at_rest, v) - MASS * v / STEP;
        *(rest > 0 ? &low : &high) = v;
    }
    double used = ft(0) / (MU * fn(0));
    ck_assert_double_eq_tol(s.stats.stiction / at_rest, 1, 1e-12);
    ck_assert_double_eq_tol(s.velocity[0][0] / low, 1, 1e-4);
    ck_assert_double_eq_tol(s.velocity[0][0] / (at_rest * used / sqrt(1 - used * used)), 1, 1e-4);
}
END_TEST

static const double ratios[] = {1.1, 2, 5, 100};

// Above the cone it slides with a = F/m - mu g.
START_TEST(slides_above_the_cone)
{
    puck(MU);
    push(&s, 0, 0, ratios[_i] * MU * MASS * G, 0);
    solve(&s);
    ck_assert_double_eq_tol(s.velocity[0][1], STEP * MU * G * (ratios[_i] - 1 / (1 + SOFTNESS)),
                            1e-6);
    ck_assert_double_eq_tol(s.contact_force[0][2], -MU * fn(0), 1e-4);
}
END_TEST

START_TEST(stops_and_does_not_turn_back)
{
    puck(MU);
    s.body[0].velocity[0] = 0.5 * MU * G * STEP; // needs half of the step's friction
    fall(&s);
    solve(&s);
    ck_assert_double_ge(s.velocity[0][0], 0);
    ck_assert_double_le(s.velocity[0][0], s.stats.stiction);
    ck_assert_double_eq_tol(ft(0), MASS * s.body[0].velocity[0] / STEP, 1e-2);
}
END_TEST

START_TEST(slides_freely_without_friction)
{
    puck(0);
    s.body[0].velocity[0] = 2;
    fall(&s);
    solve(&s);
    ck_assert_double_eq(s.velocity[0][0], 2);
    ck_assert_double_eq(ft(0), 0);
}
END_TEST

// Maximum dissipation: of all forces within the ellipse (f0 / mu0)^2 + (f1 / mu1)^2 <= fn^2 the
// returned one takes the most power from the slip.
START_TEST(elliptic_cone_dissipates_the_most)
{
    static const double mu[2] = {0.8, 0.2};
    double angle = _i * 0.2618, slip[6], best = 0;
    sprag_contact *contact = puck(0);
    memcpy(contact->slide.coefficient, mu, sizeof mu);
    s.body[0].velocity[0] = cos(angle);
    s.body[0].velocity[1] = sin(angle);
    fall(&s);
    solve(&s);
    contact_velocity(&s, 0, (const double(*)[6])s.velocity, slip);
    const double *f = s.contact_force[0];
    for (int i = 0; i < 3600; i++) {
        double a = i * 1.7453292519943295e-3;
        best = fmax(best, -fn(0) * (mu[0] * cos(a) * slip[1] + mu[1] * sin(a) * slip[2]));
    }
    ck_assert_double_eq_tol(hypot(f[1] / mu[0], f[2] / mu[1]) / fn(0), 1, 1e-6);
    ck_assert_double_eq_tol(-(f[1] * slip[1] + f[2] * slip[2]) / best, 1, 1e-5);
}
END_TEST

START_TEST(friction_along_one_axis_only)
{
    sprag_contact *contact = puck(MU);
    contact->slide.coefficient[1 - _i] = 0;
    s.body[0].velocity[0] = s.body[0].velocity[1] = 1;
    fall(&s);
    solve(&s);
    ck_assert_double_eq_tol(s.velocity[0][_i], 1 - MU * G * STEP / (1 + SOFTNESS), 1e-6);
    ck_assert_double_eq(s.velocity[0][1 - _i], 1);
}
END_TEST

// A force limit does not ask for the normal force, neither under a load nor when the contact lifts
// off.
START_TEST(friction_as_a_force)
{
    static const double loads[] = {0, 1000, -100};
    sprag_contact *contact = puck(3);
    contact->slide.force[0] = contact->slide.force[1] = true;
    s.body[0].velocity[1] = -1;
    fall(&s);
    push(&s, 0, 0, 0, -loads[_i]);
    solve(&s);
    ck_assert_double_eq_tol(fn(0), fmax(0, MASS * G + loads[_i]) / (1 + SOFTNESS), 1e-3);
    ck_assert_double_eq_tol(s.contact_force[0][2], 3, 2e-6); // (vs / |u|)^2 / 2 missing
    ck_assert_double_eq_tol(s.velocity[0][1], -1 + STEP * 3 / MASS, 1e-6);
}
END_TEST

// One axis bounded by a force, the other by the normal force: each for itself.
START_TEST(friction_of_two_kinds)
{
    sprag_contact *contact = puck(MU);
    contact->slide.force[1] = true;
    contact->slide.coefficient[1] = 3;
    s.body[0].velocity[0] = s.body[0].velocity[1] = 1;
    fall(&s);
    solve(&s);
    ck_assert_double_eq_tol(s.contact_force[0][1], -MU * fn(0), 1e-4);
    ck_assert_double_eq_tol(s.contact_force[0][2], -3, 1e-4);
}
END_TEST

START_TEST(moving_surface_drags)
{
    sprag_contact *contact = puck(MU);
    contact->slide.velocity[0] = 0.4;
    contact->slide.velocity[1] = -0.3;
    for (int i = 0; i < 9; i++) { // 0.0490 m/s in each
        solve(&s);
        double speed = (i + 1) * MU * G * STEP;
        ck_assert_double_eq_tol(s.velocity[0][0], 0.8 * speed, 1e-4);
        ck_assert_double_eq_tol(s.velocity[0][1], -0.6 * speed, 1e-4);
        next_step(&s);
    }
    for (int i = 0; i < 5; i++) { // more than enough to arrive
        solve(&s);
        next_step(&s);
    }
    ck_assert_double_eq_tol(s.velocity[0][0], 0.4, 2 * MOVING);
    ck_assert_double_eq_tol(s.velocity[0][1], -0.3, 2 * MOVING);
    ck_assert_double_eq_tol(ft(0), 0, 1e-3 * MASS * G);
}
END_TEST

// Creep in proportion to the force, up to the cone: v = slip f.
START_TEST(slip_creeps_in_proportion_to_the_force)
{
    static const double slip = 1e-3; // m/s per N
    double force = load[_i] * MU * MASS * G;
    sprag_contact *contact = puck(MU);
    contact->slide.slip[0] = contact->slide.slip[1] = slip;
    push(&s, 0, force, 0, 0);
    solve(&s);
    ck_assert_double_eq_tol(s.velocity[0][0] / (slip * ft(0)), 1, 1e-6);
    ck_assert_double_lt(ft(0), MU * fn(0));
    ck_assert_double_eq_tol(ft(0) + MASS * s.velocity[0][0] / STEP, force, 1e-4);
}
END_TEST

// slip0 != slip1: each axis for itself.
START_TEST(slip_differs_by_axis)
{
    sprag_contact *contact = puck(MU);
    contact->slide.slip[0] = 1e-2;
    push(&s, 0, 1, 1, 0);
    solve(&s);
    ck_assert_double_eq_tol(s.velocity[0][0] / (1e-2 * -s.contact_force[0][1]), 1, 1e-2);
    ck_assert_double_lt(s.velocity[0][1], AT_REST);
}
END_TEST

// A hundred weights do not move it by more than a joint row yields.
START_TEST(infinite_friction_never_slips)
{
    double force = 100 * MASS * G;
    puck(INFINITY);
    push(&s, 0, 0.6 * force, -0.8 * force, 0);
    solve(&s);
    ck_assert_double_eq_tol(s.contact_force[0][1], -0.6 * force, 1e-5 * force);
    ck_assert_double_eq_tol(s.contact_force[0][2], 0.8 * force, 1e-5 * force);
    ck_assert_double_eq_tol(s.velocity[0][0] / (ROW_SOFTNESS / MASS * 0.6 * force * STEP), 1, 1e-4);
}
END_TEST

// ---- rolling and spinning

// On a point below the centre, without sliding friction: torque alone.
static sprag_contact *ball(void)
{
    sprag_contact *contact = puck(0);
    memcpy(contact->arm[0], (double[]){0, 0, -0.5}, sizeof contact->arm[0]);
    return contact;
}

#define BALL_INERTIA (MASS / 6) // of the cube that stands for it

START_TEST(spinning_friction_brakes_the_spin)
{
    sprag_contact *contact = ball();
    turning_of(&s, contact)->spin.coefficient[0] = 0.02;
    s.body[0].velocity[5] = _i ? -10 : 10;
    fall(&s);
    solve(&s);
    double torque = 0.02 * fn(0), sign = _i ? -1 : 1;
    ck_assert_double_eq_tol(s.contact_force[0][5], -sign * torque, 1e-6);
    ck_assert_double_eq_tol(s.velocity[0][5], sign * (10 - STEP * torque / BALL_INERTIA), 1e-6);
}
END_TEST

START_TEST(rolling_friction_brakes_the_rolling)
{
    double angle = 0.3 + 0.7854 * _i;
    sprag_contact *contact = ball();
    sprag_turning *turning = turning_of(&s, contact);
    turning->roll.coefficient[0] = turning->roll.coefficient[1] = 0.02;
    s.body[0].velocity[3] = 10 * cos(angle);
    s.body[0].velocity[4] = 10 * sin(angle);
    fall(&s);
    solve(&s);
    double rate = 10 - STEP * 0.02 * fn(0) / BALL_INERTIA;
    ck_assert_double_eq_tol(fn(0), PUCK_WEIGHT, 1e-6);
    ck_assert_double_eq_tol(s.velocity[0][3], rate * cos(angle), 1e-6);
    ck_assert_double_eq_tol(s.velocity[0][4], rate * sin(angle), 1e-6);
    ck_assert_double_eq(s.contact_force[0][5], 0);
}
END_TEST

static const double torques[] = {0.5, 0.9, 1.5, 4};

// About each axis a torque is held up to the coefficient times the normal force, and no further.
START_TEST(torque_is_held_up_to_its_bound)
{
    int axis = _i / 4;
    double ratio = torques[_i % 4], bound = 0.02 * PUCK_WEIGHT, torque[3] = {0};
    sprag_contact *contact = ball();
    sprag_turning *turning = turning_of(&s, contact);
    sprag_friction *friction = axis == 2 ? &turning->spin : &turning->roll;
    friction->coefficient[axis % 2] = 0.02;
    torque[axis] = ratio * bound;
    turn(&s, 0, torque[0], torque[1], torque[2]);
    solve(&s);
    double rate = s.velocity[0][3 + axis];
    if (ratio < 1) {
        double used = -s.contact_force[0][3 + axis] / (0.02 * fn(0));
        double creep = AT_REST / 0.5 * used / sqrt(1 - used * used); // as a rate: over the arm
        ck_assert_double_eq_tol(rate / creep, 1, 1e-4);
        ck_assert_double_eq_tol(used / ratio, 1, 1e-3);
    } else {
        ck_assert_double_eq_tol(-s.contact_force[0][3 + axis] / bound, 1, 1e-4);
        ck_assert_double_eq_tol(rate, STEP * (ratio - 1) * bound / BALL_INERTIA, 1e-5);
    }
}
END_TEST

// Billiards: a sliding ball ends up rolling with v0 m r^2 / (m r^2 + I), whatever the friction in
// between.
START_TEST(a_sliding_ball_ends_up_rolling)
{
    static const double r = 0.5, v0 = 2;
    sprag_contact *contact = ball();
    contact->slide.coefficient[0] = contact->slide.coefficient[1] = 0.2;
    s.body[0].velocity[0] = v0;
    fall(&s);
    for (int i = 0; i < 100; i++) {
        solve(&s);
        double about_contact = MASS * r * s.velocity[0][0] + BALL_INERTIA * s.velocity[0][4];
        ck_assert_double_eq_tol(about_contact, MASS * r * v0, 1e-4);
        next_step(&s);
    }
    ck_assert_double_eq_tol(s.velocity[0][0], v0 * r * r / (r * r + 1.0 / 6), 1e-3);
    ck_assert_double_eq_tol(s.velocity[0][4] * r, s.velocity[0][0], MOVING);
}
END_TEST

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

// Where nothing can yield there is nothing to find: such contacts and rows ask for no force, and do
// not disturb the others.
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

// A stop holds what comes against it and lets go of what leaves.
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

// J M^-1 J' of a row, by LAPACK.
static double inverse_mass(const sprag_row *row)
{
    double sum = 0;
    for (int side = 0; side < 2; side++) {
        int b = row->body[side], n = 6, one = 1, info, pivot[6];
        double M[36] = {0}, x[6];
        for (int k = 0; b != SPRAG_STATIC && k < 3; k++) {
            M[7 * k] = s.body[b].mass;
            memcpy(M + 21 + 6 * k, s.body[b].inertia + 3 * k, 3 * sizeof *M);
        }
        if (b != SPRAG_STATIC) {
            memcpy(x, row->jacobian[side], sizeof x);
            dgesv_(&n, &one, M, &n, pivot, x, &n, &info);
            sum += dot(row->jacobian[side], x, 6);
        }
    }
    return sum;
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
    ck_assert_int_le(s.stats.phase, 'C');
    for (int b = stacks[_i].boxes - 1; b >= 0; b--) {
        above += s.body[b].mass * G;
        for (int i = 4 * b; i < 4 * b + 4; i++) {
            ck_assert_double_eq_tol(fn(i) / (above / 4), 1, stacks[_i].tolerance);
        }
    }
}
END_TEST

// ---- what holds for every solution

static const double speeds[] = {0, 0.1, 1, 10};
static const double coefficients[] = {0, 0.3, 0.6, 1};

enum { PILES = 4 * 4 * 12 };

static void open_pile(scene *scene, int i, bool bias)
{
    open_scene(scene);
    add_pile(scene, (uint64_t)i, 5 + i * 7 % 56, coefficients[i / 4 % 4], speeds[i % 4], bias);
}

// From the problem alone.
static double normal_yield(const scene *scene, int i)
{
    const sprag_contact *contact = &scene->contact[i];
    double heaviest = 0;
    sprag_row row = {.body = {contact->body[0], contact->body[1]}};
    for (int side = 0; side < 2; side++) {
        memcpy(row.jacobian[side], contact->frame[0], sizeof contact->frame[0]);
        cross(contact->arm[side], contact->frame[0], row.jacobian[side] + 3);
    }
    for (int b = 0; b < scene->problem.bodies; b++) {
        heaviest = fmax(heaviest, scene->body[b].mass);
    }
    double soft = fmax(SOFTNESS * contact->softening, 1e-6);
    return fmax(contact->compliance / STEP, soft * fmin(inverse_mass(&row), 4 / heaviest));
}

// Isotropic piles: normal forces by their law; friction by its own, bounded by the normal force
// itself or, if lagged, by another.
static void check_laws(const scene *scene)
{
    bool lagged = scene->stats.phase == 'D';
    double largest = 0;
    for (int i = 0; i < scene->problem.contacts; i++) {
        largest =
            fmax(largest, scene->contact[i].slide.coefficient[0] * scene->contact_force[i][0]);
    }
    for (int i = 0; i < scene->problem.contacts; i++) {
        const double *f = scene->contact_force[i];
        double slip[6], mu = scene->contact[i].slide.coefficient[0];
        contact_velocity(scene, i, (const double(*)[6])scene->velocity, slip);
        double wanted = fmax(0, scene->contact[i].bias - slip[0]);
        ck_assert_double_ge(f[0], 0);
        ck_assert_double_eq_tol(f[0] * STEP * normal_yield(scene, i), wanted, 1e-11);
        ck_assert_double_le(f[1] * slip[1] + f[2] * slip[2], 1e-15);
        double error = lagged ? scene->stats.bound_error : 0; // of the larger of bounds and forces
        double allowed = error < 1 ? mu * f[0] + error / (1 - error) * largest : INFINITY;
        ck_assert_double_le(hypot(f[1], f[2]), allowed * (1 + 1e-9));
        double rho = sqrt(dot(slip + 1, slip + 1, 2) + pow(scene->stats.stiction, 2));
        for (int k = 1; k < 3 && !lagged; k++) {
            ck_assert_double_eq_tol(f[k], -mu * f[0] * slip[k] / rho, 1e-7 * (1 + mu * f[0]));
        }
        for (int k = 3; k < 6; k++) {
            ck_assert_double_eq(f[k], 0);
        }
    }
}

START_TEST(piles_are_solved)
{
    for (int bias = 0; bias < 2; bias++) {
        open_pile(&s, _i, bias);
        solve_alike(&s);
        ck_assert_double_le(s.stats.residual, TOLERANCE);
        ck_assert_double_eq_tol(momentum_error(&s), s.stats.residual, 1e-9);
        check_laws(&s);
    }
}
END_TEST

// Motors, limits and hinges between random bodies of a pile: each row by its law.
START_TEST(piles_with_rows_are_solved)
{
    chance c = {(uint64_t)_i};
    open_pile(&s, _i, true);
    int bodies = s.problem.bodies;
    for (int i = 0; i < bodies; i++) {
        int a = pick(&c, bodies), b = pick(&c, bodies + 1) - 1;
        sprag_row *row = add_row(&s, a, b == a ? SPRAG_STATIC : b);
        for (int k = 0; k < 12; k++) {
            row->jacobian[k / 6][k % 6] = row->body[k / 6] == SPRAG_STATIC ? 0 : uniform(&c, -1, 1);
        }
        row->bias = uniform(&c, -1, 1);
        row->hi = i % 4 ? uniform(&c, 0, 30) : INFINITY;
        row->lo = i % 2 ? -row->hi : i % 4 ? 0 : -INFINITY;
    }
    solve_alike(&s);
    ck_assert_double_le(s.stats.residual, TOLERANCE);
    check_laws(&s);
    for (int i = 0; i < s.problem.rows; i++) {
        const sprag_row *row = &s.row[i];
        double yield = ROW_SOFTNESS * inverse_mass(row), rate = 0, force = s.row_force[i];
        for (int side = 0; side < 2; side++) {
            if (row->body[side] != SPRAG_STATIC) {
                rate += dot(row->jacobian[side], s.velocity[row->body[side]], 6);
            }
        }
        double wanted = (row->bias - rate) / yield / STEP;
        double expected = fmin(fmax(wanted, row->lo), row->hi);
        ck_assert_double_eq_tol(yield * STEP * force, yield * STEP * expected, 1e-11);
        ck_assert_double_ge(force, row->lo * (1 + 1e-15));
        ck_assert_double_le(force, row->hi * (1 + 1e-15));
    }
}
END_TEST

// Without biases nothing drives: |v|^2 + |v - v*|^2 <= |v*|^2 in the metric of M, as for every
// implicit step.
START_TEST(piles_gain_no_energy)
{
    double energy = 0, change = 0;
    open_pile(&s, _i, false);
    solve(&s);
    energy = kinetic_energy(&s, false);
    for (int b = 0; b < s.problem.bodies; b++) {
        double dv[6], p[6];
        for (int k = 0; k < 6; k++) {
            dv[k] = s.velocity[b][k] - s.body[b].free_velocity[k];
        }
        momentum(&s.body[b], dv, p);
        change += dot(p, dv, 6) / 2;
    }
    ck_assert_double_le(energy + change, kinetic_energy(&s, true) * (1 + 1e-5));
}
END_TEST

// Two bodies that meet in the void keep their momentum, and their angular momentum about any point.
START_TEST(collision_conserves_momentum)
{
    chance c = {(uint64_t)_i};
    static const double at[2][3] = {{0.3, -0.2, 1},
                                    {0.1, 0.4, -0.5}}; // of the centres, from the contact
    double n[3], total[2][6] = {{0}};
    random_direction(&c, n);
    open_scene(&s);
    add_cube(&s, 1);
    add_cube(&s, 5);
    sprag_contact *contact = add_contact(&s, 0, 1, n);
    contact->slide.coefficient[0] = contact->slide.coefficient[1] = 0.7;
    sprag_turning *turning = turning_of(&s, contact);
    turning->roll.coefficient[0] = turning->roll.coefficient[1] = 0.1;
    turning->spin.coefficient[0] = 0.1;
    for (int b = 0; b < 2; b++) {
        for (int k = 0; k < 3; k++) {
            contact->arm[b][k] = -at[b][k];
            s.body[b].velocity[k] = (b ? 3 : -3) * n[k] + uniform(&c, -1, 1);
            s.body[b].velocity[3 + k] = uniform(&c, -1, 1);
        }
        memcpy(s.body[b].free_velocity, s.body[b].velocity, sizeof s.body[b].velocity);
    }
    solve(&s);
    ck_assert_double_gt(fn(0), 0);
    ck_assert_double_gt(fabs(s.contact_force[0][5]), 0);
    for (int end = 0; end < 2; end++) {
        for (int b = 0; b < 2; b++) {
            double p[6], moment[3];
            momentum(&s.body[b], end ? s.velocity[b] : s.body[b].velocity, p);
            cross(at[b], p, moment);
            for (int k = 0; k < 3; k++) {
                total[end][k] += p[k];
                total[end][3 + k] += p[3 + k] + moment[k];
            }
        }
    }
    for (int k = 0; k < 6; k++) {
        ck_assert_double_eq_tol(total[0][k], total[1][k], 1e-4);
    }
}
END_TEST

static void expect_same_velocities(const double (*v)[6], const double (*expected)[6],
                                   double tolerance)
{
    for (int b = 0; b < s.problem.bodies; b++) {
        for (int k = 0; k < 6; k++) {
            ck_assert_double_eq_tol(v[b][k], expected[b][k], tolerance);
        }
    }
}

START_TEST(same_input_same_bits)
{
    open_pile(&s, _i, true);
    t = s;
    t.solution = (sprag_solution){t.velocity, t.contact_force, t.row_force};
    solve(&s);
    sprag_scratch other = {0};
    sprag_scratch_take(&other, 12345, 1);
    memset(t.velocity, 0x55, sizeof t.velocity); // what is not read cannot matter
    memset(t.contact_force, 0x55, sizeof t.contact_force);
    ck_assert_int_eq(sprag_stribeck_solve(&t.problem, NULL, &other, &t.solution, &t.stats),
                     SPRAG_OK);
    sprag_scratch_free(&other);
    size_t bodies = (size_t)s.problem.bodies, contacts = (size_t)s.problem.contacts;
    ck_assert_mem_eq(s.velocity, t.velocity, bodies * sizeof *s.velocity);
    ck_assert_mem_eq(s.contact_force, t.contact_force, contacts * sizeof *s.contact_force);
    ck_assert_int_eq(s.stats.iterations, t.stats.iterations);
}
END_TEST

// In a mirror x and the turns about y and z change their signs, and nothing else.
START_TEST(mirrored_pile_is_mirrored)
{
    static const double sign[6] = {-1, 1, 1, 1, -1, -1};
    double expected[BODIES_MAX][6];
    open_pile(&s, _i, true);
    solve(&s);
    for (int b = 0; b < s.problem.bodies; b++) {
        sprag_body *body = &s.body[b];
        for (int k = 0; k < 6; k++) {
            body->velocity[k] *= sign[k];
            body->free_velocity[k] *= sign[k];
            expected[b][k] = sign[k] * s.velocity[b][k];
        }
        body->inertia[1] *= -1;
        body->inertia[2] *= -1;
        body->inertia[3] *= -1;
        body->inertia[6] *= -1;
    }
    for (int i = 0; i < s.problem.contacts; i++) {
        for (int k = 0; k < 3; k++) {
            s.contact[i].frame[k][0] *= -1;
        }
        s.contact[i].arm[0][0] *= -1;
        s.contact[i].arm[1][0] *= -1;
    }
    solve(&s);
    expect_same_velocities((const double(*)[6])s.velocity, (const double(*)[6])expected, 1e-12);
}
END_TEST

// Units of mass are arbitrary: by a power of two, to the last bit.
START_TEST(heavier_pile_moves_alike)
{
    double expected[BODIES_MAX][6];
    open_pile(&s, _i, true);
    solve(&s);
    memcpy(expected, s.velocity, sizeof expected);
    double force = fn(0);
    for (int b = 0; b < s.problem.bodies; b++) {
        s.body[b].mass *= 0x1p20;
        for (int k = 0; k < 9; k++) {
            s.body[b].inertia[k] *= 0x1p20;
        }
    }
    solve(&s);
    ck_assert_double_eq(fn(0), 0x1p20 * force);
    ck_assert_mem_eq(s.velocity, expected, (size_t)s.problem.bodies * sizeof *expected);
}
END_TEST

// The order of bodies and contacts, and which of a pair comes first, are the caller's business.
// Where friction is weak there is one solution, and both find it.
START_TEST(permuted_pile_is_permuted)
{
    chance c = {(uint64_t)_i};
    int place[BODIES_MAX];
    sprag_stribeck_options options = sprag_stribeck_defaults();
    options.tolerance = 1e-10;
    open_scene(&s);
    add_pile(&s, (uint64_t)_i, 8, 0.1, 1, true);
    t = s;
    t.problem.body = t.body;
    t.problem.contact = t.contact;
    t.solution = (sprag_solution){t.velocity, t.contact_force, t.row_force};
    for (int b = 0; b < s.problem.bodies; b++) {
        int other = pick(&c, b + 1);
        place[b] = place[other];
        place[other] = b;
    }
    for (int b = 0; b < s.problem.bodies; b++) {
        t.body[place[b]] = s.body[b];
    }
    for (int i = 0; i < s.problem.contacts; i++) {
        sprag_contact *contact = &t.contact[s.problem.contacts - 1 - i];
        *contact = s.contact[i];
        for (int side = 0; side < 2; side++) {
            int b = s.contact[i].body[side];
            contact->body[side] = b == SPRAG_STATIC ? b : place[b];
        }
        if (contact->body[1] != SPRAG_STATIC && i % 2) { // normal and a tangent turn with the sides
            for (int side = 0; side < 2; side++) {
                contact->body[side] = place[s.contact[i].body[1 - side]];
                memcpy(contact->arm[side], s.contact[i].arm[1 - side], sizeof contact->arm[side]);
            }
            for (int k = 0; k < 6; k++) {
                contact->frame[k / 3][k % 3] *= -1;
            }
        }
    }
    ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
    ck_assert_int_eq(solve_with(&t, &options), SPRAG_OK);
    for (int b = 0; b < s.problem.bodies; b++) {
        for (int k = 0; k < 6; k++) {
            ck_assert_double_eq_tol(t.velocity[place[b]][k], s.velocity[b][k], 1e-7);
        }
    }
}
END_TEST

START_TEST(scratch_stops_growing)
{
    long allocations = 0;
    open_pile(&s, 59, true);
    for (int round = 0; round < 5; round++) {
        solve(&s);
        if (round == 0) {
            allocations = scratch.allocations;
        }
        ck_assert_int_eq(scratch.allocations, allocations);
    }
}
END_TEST

// A solver leaves in the scratch what it has found there, and adds to it.
START_TEST(scratch_may_be_in_use)
{
    puck(MU);
    int *mine = SPRAG_TAKE(&scratch, 3, int);
    memcpy(mine, (int[]){1, 2, 3}, 3 * sizeof(int));
    ck_assert_int_eq(sprag_stribeck_solve(&s.problem, NULL, &scratch, &s.solution, NULL), SPRAG_OK);
    ck_assert_mem_eq(mine, ((int[]){1, 2, 3}), 3 * sizeof(int));
}
END_TEST

// ---- phases

static sprag_stribeck_options only(char phase)
{
    sprag_stribeck_options options = sprag_stribeck_defaults();
    switch (phase) {
    case 'B': // after an island has failed in A
        options.max_iterations = 0;
        break;
    case 'C': // its stages are as short as A
        options.max_iterations = 6;
        options.sweeps = 0;
        break;
    case 'E':
        options.direct_work = 0;
        break;
    case 'D':
        options.direct_work = options.sweeps = 0;
        break;
    default:
        break;
    }
    return options;
}

START_TEST(easy_scenes_are_solved_directly)
{
    puck(MU);
    s.body[0].velocity[0] = 1;
    fall(&s);
    solve(&s);
    ck_assert_int_eq(s.stats.phase, 'A');
    ck_assert_int_gt(s.stats.iterations, 0);
    ck_assert_int_le(s.stats.iterations, 10);
    ck_assert_int_eq(s.stats.factorizations, s.stats.iterations);
    ck_assert_double_eq(s.stats.bound_error, 0);
}
END_TEST

// A motor drags a cube over the ground, with too little force for its speed.
static void motorised_cube(void)
{
    open_scene(&s);
    add_cube(&s, MASS);
    stand(&s, 0, SPRAG_STATIC, MU);
    sprag_row *motor = add_axis_row(&s, 0, 0);
    motor->bias = 3;
    motor->lo = -30;
    motor->hi = 30;
    fall(&s);
}

// A saturated motor pushes with its force.
START_TEST(motorised_cube_moves_as_if_pushed)
{
    double expected[6];
    motorised_cube();
    s.problem.rows = 0;
    push(&s, 0, 30, 0, 0);
    solve(&s);
    memcpy(expected, s.velocity[0], sizeof expected);
    motorised_cube();
    solve(&s);
    ck_assert_double_eq_tol(s.row_force[0], 30, 1e-12);
    expect_same_velocities((const double(*)[6])s.velocity, (const double(*)[6])expected, 1e-6);
}
END_TEST

START_TEST(polish_agrees_with_direct)
{
    sprag_stribeck_options options = only('B');
    double expected[6];
    motorised_cube();
    s.problem.rows = 0;
    push(&s, 0, 30, 0, 0);
    solve(&s);
    ck_assert_int_eq(s.stats.phase, 'A');
    memcpy(expected, s.velocity[0], sizeof expected);
    motorised_cube();
    ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
    ck_assert_int_eq(s.stats.phase, 'B');
    ck_assert_double_le(momentum_error(&s), 1.01 * TOLERANCE);
    expect_same_velocities((const double(*)[6])s.velocity, (const double(*)[6])expected, 1e-6);
}
END_TEST

// Slow for A, which needs more than six updates to find the cone of each box.
START_TEST(continuation_agrees_with_direct)
{
    sprag_stribeck_options options = only('C');
    double expected[BODIES_MAX][6];
    open_scene(&s);
    for (int b = 0; b < 3; b++) {
        add_cube(&s, 1 + b);
        stand(&s, b, b - 1, 0.3);
        s.body[b].velocity[0] = 0.2 * (b + 1);
        s.body[b].velocity[1] = 0.3 * (b % 2);
        s.body[b].velocity[5] = 0.5 - b;
    }
    fall(&s);
    solve(&s);
    ck_assert_int_eq(s.stats.phase, 'A');
    memcpy(expected, s.velocity, sizeof expected);
    ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
    ck_assert_int_eq(s.stats.phase, 'C');
    ck_assert_double_eq(s.stats.bound_error, 0);
    ck_assert_double_le(momentum_error(&s), 1.01 * TOLERANCE);
    check_laws(&s);
    expect_same_velocities((const double(*)[6])s.velocity, (const double(*)[6])expected, 1e-5);
}
END_TEST

// Where friction does not change the normal force, the second pass has the right bound.
START_TEST(lagged_agrees_with_direct)
{
    sprag_stribeck_options options = only('D');
    double expected[6];
    puck(MU);
    s.body[0].velocity[0] = 0.3;
    s.body[0].velocity[1] = -1;
    fall(&s);
    solve(&s);
    memcpy(expected, s.velocity[0], sizeof expected);
    ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
    ck_assert_int_eq(s.stats.phase, 'D');
    ck_assert_double_le(s.stats.bound_error, 1e-6);
    ck_assert_double_le(momentum_error(&s), 1.01 * TOLERANCE);
    expect_same_velocities((const double(*)[6])s.velocity, (const double(*)[6])expected, 1e-5);
}
END_TEST

static const double guesses[] = {0, 0.5, 0.9, 1, 2};

// One pass takes the bound that it is given, tells by how much it is wrong, and balances momentum
// all the same.
START_TEST(one_lagged_pass_reports_its_bound_error)
{
    sprag_stribeck_options options = only('D');
    options.lagged_passes = 1;
    sprag_contact *contact = puck(MU);
    contact->guess[0] = guesses[_i] * PUCK_WEIGHT;
    s.body[0].velocity[0] = 1;
    fall(&s);
    ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
    ck_assert_double_eq_tol(s.contact_force[0][1], -MU * guesses[_i] * PUCK_WEIGHT, 1e-4);
    ck_assert_double_eq_tol(s.stats.bound_error, fabs(1 - guesses[_i]) / fmax(1, guesses[_i]),
                            1e-4);
    ck_assert_double_le(momentum_error(&s), 1.01 * TOLERANCE);
}
END_TEST

// Frozen bounds make it convex: every pile ends, with its momentum in balance.
START_TEST(lagged_solves_every_pile)
{
    sprag_stribeck_options options = only('D');
    open_pile(&s, _i, true);
    ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
    ck_assert_int_eq(s.stats.phase, 'D');
    ck_assert_double_le(s.stats.residual, TOLERANCE);
    ck_assert_double_le(momentum_error(&s), 1.01 * TOLERANCE);
    ck_assert(s.stats.bound_error >= 0 && s.stats.bound_error <= 1);
    check_laws(&s);
}
END_TEST

// Sweeps leave velocities that are not quite those of the laws; but momentum balances, friction is
// within its cones and rows within their bounds, whatever is left.
static void check_swept(const scene *scene, double left)
{
    ck_assert_int_eq(scene->stats.phase, 'E');
    ck_assert_int_gt(scene->stats.sweeps, 0);
    ck_assert_double_le(scene->stats.residual, left);
    ck_assert_double_le(momentum_error(scene), 1e-10);
    for (int i = 0; i < scene->problem.contacts; i++) {
        const double *f = scene->contact_force[i];
        double mu = scene->contact[i].slide.coefficient[0];
        ck_assert_double_ge(f[0], 0);
        ck_assert_double_le(hypot(f[1], f[2]), mu * f[0] * (1 + 1e-12));
    }
    for (int i = 0; i < scene->problem.rows; i++) {
        ck_assert_double_ge(scene->row_force[i], scene->row[i].lo * (1 + 1e-15));
        ck_assert_double_le(scene->row_force[i], scene->row[i].hi * (1 + 1e-15));
    }
}

START_TEST(sweeps_solve_every_pile)
{
    sprag_stribeck_options options = only('E');
    open_pile(&s, _i, true);
    ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
    if (s.stats.phase == 'E' || _i / 4 % 4 < 3) { // with mu = 1 sweeps may go in circles
        check_swept(&s, 0.1);
    }
}
END_TEST

// One where friction is not so large that there are many solutions.
static void open_gentle_pile(scene *scene, int i)
{
    open_pile(scene, 16 * (i / 2) + 4 * (i % 2) + 1, false);
}

// |v - expected| over all bodies, in the metric of mass, m/s.
static double distance_to(const double (*expected)[6])
{
    double error = 0, mass = 0;
    for (int b = 0; b < s.problem.bodies; b++) {
        for (int k = 0; k < 3; k++) {
            error += s.body[b].mass * pow(s.velocity[b][k] - expected[b][k], 2);
        }
        mass += s.body[b].mass;
    }
    return sqrt(error / mass);
}

// Swept long enough, it is the coupled solution, where Newton finds that.
START_TEST(sweeps_end_at_the_coupled_solution)
{
    static double velocity[BODIES_MAX][6];
    int compared = 0;
    for (int i = 0; i < 12; i++) {
        sprag_stribeck_options options = alike();
        open_gentle_pile(&s, i);
        solve_alike(&s);
        bool coupled = s.stats.phase < 'D';
        memcpy(velocity, s.velocity, sizeof velocity);
        options.direct_work = 0;
        options.sweeps = 100000;
        ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
        check_swept(&s, 1.0001e-5);
        if (coupled) {
            ck_assert_double_le(distance_to((const double(*)[6])velocity), 1e-3 * G * STEP);
            compared++;
        }
    }
    ck_assert_int_ge(compared, 9);
}
END_TEST

// Every kind of friction on a leaning box that slides, spins and rolls: swept as by Newton.
static void set_kind(sprag_contact *contact, int kind)
{
    sprag_turning *turning = turning_of(&s, contact);
    sprag_friction *slide = &contact->slide, *roll = &turning->roll, *spin = &turning->spin;
    switch (kind) {
    case 1: // an ellipse
        slide->coefficient[1] = 0.1;
        break;
    case 2: // a long ellipse
        slide->coefficient[0] = 1;
        slide->coefficient[1] = 0.05;
        break;
    case 3: // along one axis only
        slide->coefficient[0] = 0;
        break;
    case 4: // each axis for itself
        slide->slip[0] = 1e-2;
        break;
    case 5:
        slide->force[0] = slide->force[1] = true;
        slide->coefficient[0] = slide->coefficient[1] = 3;
        break;
    case 6: // a bond
        slide->coefficient[0] = slide->coefficient[1] = INFINITY;
        break;
    case 7: // a bond along one axis
        slide->coefficient[0] = INFINITY;
        break;
    case 8:
        roll->coefficient[0] = roll->coefficient[1] = spin->coefficient[0] = 0.1;
        break;
    case 9: // bonds of all kinds
        roll->coefficient[0] = roll->coefficient[1] = spin->coefficient[0] = INFINITY;
        break;
    case 10: // one axis by a force, one by the normal force
        slide->force[0] = true;
        slide->coefficient[0] = 2;
        roll->coefficient[0] = 0.3;
        break;
    case 11:
        contact->stiffness = 1e5;
        contact->dissipation = 0.2;
        contact->gap = -1e-3;
        contact->bias = 0;
        break;
    case 12:
        slide->velocity[0] = 0.5;
        slide->velocity[1] = -0.25;
        break;
    default: // a cone
        break;
    }
}

enum { KINDS = 13 };

START_TEST(sweeps_know_every_kind_of_friction)
{
    sprag_stribeck_options options = alike();
    double expected[6];
    open_scene(&s);
    add_box(&s, MASS, 1, 2, 0.5);
    if (_i % 2) {
        stand(&s, 0, SPRAG_STATIC, MU);
    } else {
        add_ground(&s, 0, MU)->arm[0][0] = 0.3;
    }
    for (int i = 0; i < s.problem.contacts; i++) {
        set_kind(&s.contact[i], _i / 2);
    }
    s.body[0].velocity[0] = 0.4;
    s.body[0].velocity[1] = -0.2;
    s.body[0].velocity[3] = 0.3;
    s.body[0].velocity[5] = 2;
    fall(&s);
    solve_alike(&s);
    ck_assert_int_le(s.stats.phase, 'C');
    memcpy(expected, s.velocity[0], sizeof expected);
    options.direct_work = 0;
    options.sweeps = 100000;
    ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
    ck_assert_int_eq(s.stats.phase, 'E');
    ck_assert_double_le(momentum_error(&s), 1e-10);
    for (int k = 0; k < 6; k++) {
        ck_assert_double_eq_tol(s.velocity[0][k], expected[k], 2e-3);
    }
}
END_TEST

// Rest without a force on anything: nothing to measure by, and nothing to do but what is asked.
START_TEST(sweeps_need_no_force_to_measure_by)
{
    sprag_stribeck_options options = only('E');
    open_scene(&s);
    add_cube(&s, MASS);
    add_ground(&s, 0, MU)->bias = 0.1;
    ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
    ck_assert_int_eq(s.stats.phase, 'E');
    ck_assert_double_eq_tol(s.velocity[0][2], 0.1, 1e-3);
}
END_TEST

static const double nonsense[] = {1e3, 1e12, 1e20, 1e150};

// Forces expected that nothing bears out are not even tried.
START_TEST(sweeps_forget_nonsense)
{
    sprag_stribeck_options options = alike();
    options.direct_work = 0;
    open_gentle_pile(&s, 4);
    ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
    t = s;
    for (int i = 0; i < s.problem.contacts; i++) {
        for (int k = 0; k < 3; k++) {
            s.contact[i].guess[k] = nonsense[_i] * (1 + i % 3);
        }
    }
    ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
    ck_assert_mem_eq(s.velocity, t.velocity, sizeof s.velocity);
}
END_TEST

// From the forces that solve it there is nothing left to do.
START_TEST(sweeps_start_from_the_forces_expected)
{
    sprag_stribeck_options options = alike();
    open_gentle_pile(&s, _i);
    options.direct_work = 0;
    options.sweeps = 100000;
    ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
    int cold = s.stats.sweeps;
    for (int i = 0; i < s.problem.contacts; i++) {
        memcpy(s.contact[i].guess, s.contact_force[i], sizeof s.contact[i].guess);
    }
    ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
    ck_assert_int_le(10 * s.stats.sweeps, cold);
}
END_TEST

START_TEST(piles_reach_every_phase)
{
    bool reached[128] = {false};
    for (int i = 0; i < 80; i++) {
        sprag_stribeck_options options = sprag_stribeck_defaults();
        options.sweeps = i % 2 ? options.sweeps : 0;
        open_pile(&s, i / 2, true);
        ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
        reached[(int)s.stats.phase] = true;
    }
    for (char phase = 'A'; phase <= 'E'; phase++) {
        ck_assert_msg(reached[(int)phase], "phase %c", phase);
    }
}
END_TEST

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

// ---- what is refused leaves no trace

static void expect_untouched(sprag_result expected)
{
    memset(s.velocity, 0x55, sizeof s.velocity);
    memset(s.contact_force, 0x55, sizeof s.contact_force);
    memset(s.row_force, 0x55, sizeof s.row_force);
    t = s;
    sprag_result result = solve_with(&s, NULL);
    ck_assert_int_ne(result, SPRAG_OK);
    if (expected != SPRAG_OK) {
        ck_assert_str_eq(sprag_result_name(result), sprag_result_name(expected));
    }
    ck_assert_mem_eq(s.velocity, t.velocity, sizeof s.velocity);
    ck_assert_mem_eq(s.contact_force, t.contact_force, sizeof s.contact_force);
    ck_assert_mem_eq(s.row_force, t.row_force, sizeof s.row_force);
}

static const struct {
    size_t where;
    double value;
} spoils[] = {
    {offsetof(scene, problem.step), 0},
    {offsetof(scene, problem.step), NAN},
    {offsetof(scene, body[0].mass), -1},
    {offsetof(scene, body[0].inertia[0]), 0},
    {offsetof(scene, body[0].velocity[2]), NAN},
    {offsetof(scene, body[0].free_velocity[4]), INFINITY},
    {offsetof(scene, contact[3].frame[0][2]), 0.5},
    {offsetof(scene, contact[3].bias), NAN},
    {offsetof(scene, contact[1].compliance), -1},
    {offsetof(scene, contact[1].slide.coefficient[0]), NAN},
    {offsetof(scene, row[0].jacobian[0][0]), NAN},
    {offsetof(scene, row[0].lo), 40},
};

enum { SPOILS = sizeof spoils / sizeof spoils[0] };

START_TEST(bad_problem_leaves_the_solution_alone)
{
    motorised_cube();
    memcpy((char *)&s + spoils[_i].where, &spoils[_i].value, sizeof(double));
    expect_untouched(SPRAG_BAD_PROBLEM);
}
END_TEST

START_TEST(bad_indices_leave_the_solution_alone)
{
    motorised_cube();
    *(_i ? &s.contact[2].body[0] : &s.row[0].body[1]) = 1;
    expect_untouched(SPRAG_BAD_PROBLEM);
}
END_TEST

// lo = hi = infinity is in order, but no force.
START_TEST(infinite_force_leaves_the_solution_alone)
{
    motorised_cube();
    s.row[0].lo = s.row[0].hi = INFINITY;
    expect_untouched(SPRAG_OK);
}
END_TEST

START_TEST(too_few_iterations_leave_the_solution_alone)
{
    sprag_stribeck_options options = sprag_stribeck_defaults();
    options.max_iterations = options.max_continuation = 0;
    options.sweeps = options.lagged_passes = 0;
    puck(MU);
    memset(s.velocity, 0x55, sizeof s.velocity);
    t = s;
    ck_assert_str_eq(sprag_result_name(solve_with(&s, &options)), "not converged");
    ck_assert_mem_eq(s.velocity, t.velocity, sizeof s.velocity);
    ck_assert_mem_eq(s.contact_force, t.contact_force, sizeof s.contact_force);
}
END_TEST

START_TEST(options_and_stats_may_be_missing)
{
    sprag_stribeck_options options = sprag_stribeck_defaults();
    double expected[6];
    motorised_cube();
    ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
    memcpy(expected, s.velocity[0], sizeof expected);
    ck_assert_int_eq(sprag_stribeck_solve(&s.problem, NULL, &scratch, &s.solution, NULL), SPRAG_OK);
    ck_assert_mem_eq(s.velocity[0], expected, sizeof expected);
}
END_TEST

// ---- the system underneath

static sprag_system sys;
static int *node_of;
static double v[6 * BODIES_MAX], dv[6 * BODIES_MAX], bounds[CONTACTS_MAX];

#define STICTION 0.05 // m/s: smooth enough for finite differences

// Everything that the laws know: each kind of friction, biases, soft and bounded rows, a kinematic
// body.
static void open_system(uint64_t seed)
{
    chance c = {seed};
    open_scene(&s);
    add_pile(&s, seed, 6, 0.7, 1, true);
    s.body[1].mass = 0;
    for (int i = 0; i < s.problem.contacts; i++) {
        sprag_contact *contact = &s.contact[i];
        sprag_turning *turning = turning_of(&s, contact);
        if (i % 4 == 1) {
            contact->stiffness = uniform(&c, 1e2, 1e4);
            contact->dissipation = uniform(&c, 0, 2);
            contact->gap = -uniform(&c, 0, 0.01);
        }
        switch (i % 6) {
        case 0:
            turning->roll.coefficient[0] = turning->roll.coefficient[1] = 0.1;
            turning->spin.coefficient[0] = 0.05;
            break;
        case 1:
            contact->slide.coefficient[1] *= 0.3;
            contact->slide.velocity[0] = 0.2;
            break;
        case 2:
            contact->slide.slip[0] = contact->slide.slip[1] = uniform(&c, 0, 0.1);
            break;
        case 3:
            contact->slide.force[0] = true;
            contact->slide.coefficient[0] = 5;
            break;
        case 4:
            contact->slide.coefficient[0] = INFINITY;
            contact->slide.slip[0] = 0.1;
            break;
        case 5:
            contact->compliance = 1e-3;
            turning->roll.coefficient[1] = 0.2;
            turning->roll.velocity[1] = 0.3;
            break;
        }
    }
    for (int i = 0; i < 6; i++) {
        sprag_row *row = add_row(&s, i, i == 1 ? 0 : i % 2 ? SPRAG_STATIC : (i + 3) % 6);
        for (int k = 0; k < 12; k++) {
            row->jacobian[k / 6][k % 6] = uniform(&c, -1, 1);
        }
        row->compliance = 1e-2;
        row->bias = uniform(&c, -1, 1);
        row->lo = i < 3 ? -INFINITY : -20;
        row->hi = i < 3 ? INFINITY : 20;
    }
    ck_assert_int_eq(sprag_island_prepare(&sys, &s.problem, 0, 1e-1, 1e-3, &scratch, &node_of),
                     SPRAG_OK);
    ck_assert_int_eq(sys.size, 6 * 5);
    for (int i = 0; i < sys.size; i++) {
        v[i] = sys.free[i] + uniform(&c, -0.3, 0.3);
    }
    for (int i = 0; i < s.problem.contacts; i++) {
        bounds[i] = uniform(&c, 0, 0.3);
    }
}

static double residual_at(const double *at, const double *bound)
{
    sprag_system_place(&sys, at);
    return sprag_system_residual(&sys, at, STICTION, bound);
}

// (r(v + e d) - r(v - e d)) / 2 e
static void difference_along(const double *d, const double *bound, double *slope)
{
    static const double e = 1e-7;
    double there[6 * BODIES_MAX];
    int n = sys.size;
    for (int sign = -1; sign < 2; sign += 2) {
        for (int i = 0; i < n; i++) {
            there[i] = v[i] + sign * e * d[i];
        }
        residual_at(there, bound);
        for (int i = 0; i < n; i++) {
            slope[i] = (sign < 0 ? 0 : slope[i]) + sign * sys.residual[i] / (2 * e);
        }
    }
}

// Every column of the inverse, moved along, changes the residual by its unit vector.
START_TEST(derivative_meets_finite_differences)
{
    const double *bound = _i % 2 ? bounds : NULL;
    double slope[6 * BODIES_MAX];
    open_system((uint64_t)_i / 2);
    residual_at(v, bound);
    ck_assert_int_eq(sprag_system_factor(&sys, STICTION, bound), SPRAG_OK);
    for (int j = 0; j < sys.size; j++) {
        for (int i = 0; i < sys.size; i++) {
            sys.residual[i] = -(i == j);
        }
        sprag_system_update(&sys, bound, dv);
        difference_along(dv, bound, slope);
        for (int i = 0; i < sys.size; i++) {
            ck_assert_double_eq_tol(slope[i], i == j, 1e-5);
        }
    }
}
END_TEST

// Symmetric when frozen, not when coupled: what a gradient is.
START_TEST(frozen_residual_is_a_gradient)
{
    chance c = {(uint64_t)_i};
    double a[6 * BODIES_MAX] = {0}, b[6 * BODIES_MAX] = {0}, Aa[6 * BODIES_MAX], Ab[6 * BODIES_MAX];
    open_system((uint64_t)_i);
    int n = sys.size;
    for (int i = 0; i < n; i++) {
        a[i] = uniform(&c, -1, 1);
        b[i] = uniform(&c, -1, 1);
    }
    difference_along(a, bounds, Aa);
    difference_along(b, bounds, Ab);
    double size = sqrt(dot(a, Aa, n) * dot(b, Ab, n));
    ck_assert_double_eq_tol(dot(b, Aa, n) / size, dot(a, Ab, n) / size, 1e-7);
    difference_along(a, NULL, Aa);
    difference_along(b, NULL, Ab);
    ck_assert_double_gt(fabs(dot(b, Aa, n) - dot(a, Ab, n)) / size, 1e-4);
}
END_TEST

// Strictly convex: (r(v1) - r(v2)) (v1 - v2) >= |v1 - v2|^2 in the metric of M, near and far.
START_TEST(frozen_residual_is_monotone)
{
    chance c = {(uint64_t)_i};
    double there[6 * BODIES_MAX], here[6 * BODIES_MAX];
    open_system((uint64_t)_i);
    int n = sys.size;
    for (double far = 1e-3; far < 1e3; far *= 3) {
        residual_at(v, bounds);
        memcpy(here, sys.residual, (size_t)n * sizeof *here);
        for (int i = 0; i < n; i++) {
            dv[i] = uniform(&c, -far, far);
            there[i] = v[i] + dv[i];
        }
        residual_at(there, bounds);
        double rise = 0, least = 0;
        for (int b = 0; b < s.problem.bodies; b++) {
            if (node_of[b] != SPRAG_NOWHERE) {
                double p[6];
                momentum(&s.body[b], dv + 6 * node_of[b], p);
                least += dot(p, dv + 6 * node_of[b], 6);
            }
        }
        for (int i = 0; i < n; i++) {
            rise += (sys.residual[i] - here[i]) * dv[i];
        }
        ck_assert_double_ge(rise, least * (1 - 1e-9));
    }
}
END_TEST

// Along a Newton update the search ends where the residual is normal to it, or at the whole update
// if the function still falls there.
START_TEST(search_ends_where_the_slope_vanishes)
{
    int shortened = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        open_system(seed);
        int n = sys.size;
        for (int it = 0; it < 8; it++) {
            residual_at(v, bounds);
            ck_assert_int_eq(sprag_system_factor(&sys, STICTION, bounds), SPRAG_OK);
            sprag_system_update(&sys, bounds, dv);
            double before = dot(sys.residual, dv, n);
            if (!(before < -1e-12)) {
                break;
            }
            double alpha = sprag_system_search(&sys, v, dv, STICTION, bounds);
            ck_assert_double_gt(alpha, 0);
            ck_assert_double_le(alpha, 1);
            sprag_system_move(&sys, v, alpha, dv);
            residual_at(v, bounds);
            double after = dot(sys.residual, dv, n);
            ck_assert_double_le(after, 2e-3 * -before);
            if (alpha < 1) {
                ck_assert_double_ge(after, -2e-3 * -before);
                shortened++;
            }
        }
        sprag_scratch_reset(&scratch);
    }
    ck_assert_int_gt(shortened, 5);
}
END_TEST

// What moves along with an update is what placing anew would find.
START_TEST(move_agrees_with_place)
{
    double moved[6];
    open_system(3);
    residual_at(v, NULL);
    ck_assert_int_eq(sprag_system_factor(&sys, STICTION, NULL), SPRAG_OK);
    sprag_system_update(&sys, NULL, dv);
    sprag_system_move(&sys, v, 0.7, dv);
    for (int i = 0; i < s.problem.contacts; i++) {
        memcpy(moved, sys.slip[i], sizeof moved);
        sprag_system_place(&sys, v);
        for (int k = 0; k < sys.point[i].dim; k++) {
            ck_assert_double_eq_tol(moved[k], sys.slip[i][k], 1e-12);
        }
    }
}
END_TEST

// Where squares overflow, or nothing was tried, nothing is called solved.
START_TEST(unsolved_is_never_ok)
{
    static const double beyond[] = {1e160, 1e300};
    scene s;
    sprag_scratch own = {0};
    for (int i = 0; i < 2; i++) {
        open_scene(&s);
        add_cube(&s, 2);
        add_ground(&s, 0, 0.5);
        s.body[0].velocity[1] = beyond[i];
        fall(&s);
        ck_assert_int_ne(sprag_stribeck_solve(&s.problem, NULL, &own, &s.solution, &s.stats),
                         SPRAG_OK);
    }
    sprag_stribeck_options options = sprag_stribeck_defaults();
    options.direct_work = options.sweeps = options.lagged_passes = 0;
    open_scene(&s);
    add_cube(&s, 2);
    add_ground(&s, 0, 0.5);
    fall(&s);
    ck_assert_int_eq(sprag_stribeck_solve(&s.problem, &options, &own, &s.solution, &s.stats),
                     SPRAG_NOT_CONVERGED);
    sprag_scratch_free(&own);
}
END_TEST

#define COUNT(table) ((int)(sizeof(table) / sizeof(table)[0]))

typedef struct entry {
    const TTest *test;
    int count;
} entry;

static void add_case(Suite *suite, const char *name, const entry *entries, int count)
{
    TCase *tcase = tcase_create(name);
    tcase_add_checked_fixture(tcase, NULL, free_scratch);
    tcase_set_timeout(tcase, 60);
    for (int i = 0; i < count; i++) {
        tcase_add_loop_test(tcase, entries[i].test, 0, entries[i].count);
        tcase_add_test(tcase, unsolved_is_never_ok);
    }
    suite_add_tcase(suite, tcase);
}

#define ADD_CASE(suite, name, ...)                                                                 \
    add_case((suite), (name), (const entry[]){__VA_ARGS__}, COUNT(((const entry[]){__VA_ARGS__})))

int main(void)
{
    Suite *suite = suite_create("stribeck");
    ADD_CASE(suite, "normal", {nothing_is_solved_by_nothing, 1}, {bodies_fall_freely, 1},
             {contact_out_of_reach_gives_no_force, 1}, {box_rests_on_four_contacts, COUNT(masses)},
             {softening_is_a_share_of_the_softness, 5}, {compliance_and_bias_are_a_spring, 1},
             {bounce_meets_its_target, COUNT(restitution)}, {contacts_never_pull, 1},
             {stack_bears_its_weight, COUNT(stacks)});
    ADD_CASE(suite, "friction", {slides_with_mu_g_against_its_velocity, 12},
             {a_sliding_box_brakes_as_a_puck, 1}, {sticks_below_the_cone_and_creeps, COUNT(load)},
             {slides_above_the_cone, COUNT(ratios)}, {stops_and_does_not_turn_back, 1},
             {slides_freely_without_friction, 1}, {elliptic_cone_dissipates_the_most, 24},
             {friction_along_one_axis_only, 2}, {friction_as_a_force, 3},
             {friction_of_two_kinds, 1}, {moving_surface_drags, 1},
             {slip_creeps_in_proportion_to_the_force, COUNT(load)}, {slip_differs_by_axis, 1},
             {infinite_friction_never_slips, 1});
    ADD_CASE(suite, "turning", {spinning_friction_brakes_the_spin, 2},
             {rolling_friction_brakes_the_rolling, 8}, {torque_is_held_up_to_its_bound, 12},
             {a_sliding_ball_ends_up_rolling, 1});
    ADD_CASE(suite, "kinematic", {kinematic_body_drags_another, 1}, {turntable_drags_by_its_rim, 2},
             {kinematic_row_partner_pulls, 1}, {bodies_that_keep_their_velocity_feel_no_force, 1});
    ADD_CASE(suite, "rows", {motor_saturates_at_its_force, 2},
             {motor_within_its_force_reaches_its_speed, 1}, {limit_works_one_way, 2},
             {row_of_one_force_gives_it, 1}, {soft_row_is_a_spring_and_a_damper, COUNT(springs)},
             {rows_agree_with_a_dense_kkt_solution, 11}, {hanging_chain_bears_its_weight, 5});
    ADD_CASE(suite, "every solution", {piles_are_solved, PILES}, {piles_gain_no_energy, PILES},
             {piles_with_rows_are_solved, PILES / 4}, {collision_conserves_momentum, 20},
             {same_input_same_bits, 24}, {mirrored_pile_is_mirrored, 24},
             {heavier_pile_moves_alike, 24}, {permuted_pile_is_permuted, 20},
             {scratch_stops_growing, 1}, {scratch_may_be_in_use, 1});
    ADD_CASE(
        suite, "phases", {easy_scenes_are_solved_directly, 1}, {polish_agrees_with_direct, 1},
        {motorised_cube_moves_as_if_pushed, 1}, {continuation_agrees_with_direct, 1},
        {lagged_agrees_with_direct, 1}, {one_lagged_pass_reports_its_bound_error, COUNT(guesses)},
        {lagged_solves_every_pile, PILES / 4}, {sweeps_solve_every_pile, PILES},
        {sweeps_end_at_the_coupled_solution, 1}, {sweeps_know_every_kind_of_friction, 2 * KINDS},
        {sweeps_need_no_force_to_measure_by, 1}, {sweeps_forget_nonsense, COUNT(nonsense)},
        {sweeps_start_from_the_forces_expected, 12}, {piles_reach_every_phase, 1},
        {stiction_follows_the_slip_of_the_contact, COUNT(stictions)},
        {stiction_is_that_of_rest_in_a_moving_frame, 1});
    ADD_CASE(
        suite, "refused", {bad_problem_leaves_the_solution_alone, SPOILS},
        {bad_indices_leave_the_solution_alone, 2}, {infinite_force_leaves_the_solution_alone, 1},
        {too_few_iterations_leave_the_solution_alone, 1}, {options_and_stats_may_be_missing, 1});
    ADD_CASE(suite, "system", {derivative_meets_finite_differences, 20},
             {frozen_residual_is_a_gradient, 10}, {frozen_residual_is_monotone, 10},
             {search_ends_where_the_slope_vanishes, 1}, {move_agrees_with_place, 1});
    return run_suite(suite);
}
