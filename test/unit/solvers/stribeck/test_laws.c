// The contact laws of implicit Stribeck on problems with known answers: normal force, friction,
// rolling and spinning friction.
//
// With w the inverse mass of a contact's normal direction and h the step:
//     yield = max(compliance / h, max(1e-3 softening, 1e-6) min(w, 4 / heaviest))
//     normal impulse = max(0, (bias - vn) / yield)
//     friction = -mu fn u / sqrt(vs^2 + |u|^2),  vs = 1e-3 of the contact's slip before the step,
//                between 1e-8 and 1e-3 of what the step changes
#include <check.h>

#include "laws.h"
#include "problems.h"
#include "stribeck_cases.h"
#include "suite.h"

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

// The creep is that of the first step: in the next friction is known, and needs no slip. Let go, it
// does not move by more than that.
START_TEST(what_friction_holds_rests)
{
    const double force = load[_i] * MU * MASS * G;
    sprag_contact *contact = puck(MU);
    push(&s, 0, force, 0, 0);
    solve(&s);
    const double creep = s.velocity[0][0];
    ck_assert_double_gt(creep, 0);
    for (int pushed = 1; pushed >= 0; pushed--) {
        memcpy(contact->guess, s.contact_force[0], sizeof contact->guess);
        s.body[0].velocity[0] = s.velocity[0][0];
        fall(&s);
        push(&s, 0, pushed * force, 0, 0);
        solve(&s);
        ck_assert_double_lt(fabs(s.velocity[0][0]), pushed ? 1e-3 * creep : 1.1 * creep);
    }
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

// ---- the inverse of friction

// The law at the slip that sticks gives the impulse back, on an axis alone and on two whatever
// their shape; beyond the bound, that of the same direction within it.
START_TEST(slip_that_sticks_has_its_impulse)
{
    static const double shapes[][2] = {{1, 1}, {1, 0.3}, {0.2, 1}, {1, 0}};
    static const double along[][2] = {{0.6, 0.2}, {-0.1, 0.5}, {3, -1}, {0, 0}};
    const double stiction = 1e-3, bound = 4, *shape = shapes[_i / 4 % 4], *share = along[_i % 4];
    const sprag_cone cone = {.axes = _i < 16 ? 2 : 1,
                             .shape = {shape[0], shape[1]},
                             .coefficient = 0.5,
                             .of_stiction = 1,
                             .slip_yield = 1e-5};
    const sprag_friction_law law = sprag_cone_law(&cone, stiction, bound);
    double impulse[2], slip[2] = {0}, found[2] = {0}, square = 0;
    for (int k = 0; k < cone.axes; k++) {
        impulse[k] = 0.5 * bound * shape[k] * share[k];
        square += shape[k] > 0 ? share[k] * share[k] : 0;
    }
    const double within = square > 1 ? 0.999 / sqrt(square) : 1;
    sprag_cone_stuck_slip(&cone, stiction, bound, impulse, slip);
    sprag_friction_impulse(&law, shape, cone.axes, slip, found, NULL);
    for (int k = 0; k < cone.axes; k++) {
        ck_assert_double_eq_tol(found[k], within * impulse[k], 1e-12);
    }
    sprag_cone_stuck_slip(&cone, stiction, 0, impulse, slip);
    ck_assert_double_eq(slip[0], 0); // nothing sticks without a bound
    ck_assert_double_eq(slip[1], 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("laws");
    ADD_CASE(suite, "normal", {box_rests_on_four_contacts, COUNT(masses)},
             {softening_is_a_share_of_the_softness, 5}, {compliance_and_bias_are_a_spring, 1},
             {bounce_meets_its_target, COUNT(restitution)}, {contacts_never_pull, 1});
    ADD_CASE(suite, "friction", {slides_with_mu_g_against_its_velocity, 12},
             {a_sliding_box_brakes_as_a_puck, 1}, {sticks_below_the_cone_and_creeps, COUNT(load)},
             {what_friction_holds_rests, COUNT(load)}, {slides_above_the_cone, COUNT(ratios)},
             {stops_and_does_not_turn_back, 1}, {slides_freely_without_friction, 1},
             {elliptic_cone_dissipates_the_most, 24}, {friction_along_one_axis_only, 2},
             {friction_as_a_force, 3}, {friction_of_two_kinds, 1}, {moving_surface_drags, 1},
             {slip_creeps_in_proportion_to_the_force, COUNT(load)}, {slip_differs_by_axis, 1},
             {infinite_friction_never_slips, 1});
    ADD_CASE(suite, "turning", {spinning_friction_brakes_the_spin, 2},
             {rolling_friction_brakes_the_rolling, 8}, {torque_is_held_up_to_its_bound, 12},
             {a_sliding_ball_ends_up_rolling, 1});
    ADD_CASE(suite, "inverse", {slip_that_sticks_has_its_impulse, 32});
    return run_suite(suite);
}
