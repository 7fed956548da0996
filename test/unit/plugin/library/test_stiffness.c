// Stiffness and dissipation of contact surfaces, sprag's own parameters beside ODE's, and the
// one-way scheme.
#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sprag.h"
#include "suite.h"
#include "surface_rig.h"
#include "worlds.h"

// ---- stiffness and dissipation

static const double stiffnesses[] = {1e3, 1e5, 1e7, 1e9}; // N/m

// By option or by surface: m g / 4 k, whatever the step, up to what rounding lets it be: k step^2 =
// 1e6 masses.
START_TEST(depth_under_load_follows_the_stiffness)
{
    double k = stiffnesses[_i / 2 % COUNT(stiffnesses)];
    char options[64];
    snprintf(options, sizeof options, "stribeck.stiffness=%g,stribeck.dissipation=0.1", k);
    rig r = open_rig(_i % 2 ? options : "", dContactApprox1);
    r.step = steps[_i / 2 / COUNT(stiffnesses)];
    r.surface.mu = 0.5;
    if (_i % 2 == 0) {
        sprag_surface_set_stiffness(&r.surface, k);
        sprag_surface_set_dissipation(&r.surface, 0.1);
    }
    k = fmin(k, 1e6 / (r.step * r.step * 4 / 2));
    double sink = 2 * G / (CORNERS * k);
    add_box(&r, 2, 0.5, 0.5, 0.5, -sink);
    run_rig(&r, fmin(2, 1000 * r.step));
    ck_assert_double_eq_tol(0.25 - position(&r)[2], sink, 1e-6 * sink + 1e-15);
    sprag_world_statistics s = statistics_of(r.world);
    ck_assert_double_eq_tol(s.stiffness_least, k, 1e-9 * k);
    ck_assert_double_eq_tol(s.stiffness_most, k, 1e-9 * k);
    ck_assert_double_eq_tol(s.damping_least, k * 0.1 * sink, 1e-4 * k * 0.1 * sink);
    ck_assert_int_eq(s.invalid_surfaces, 0);
    close_rig(&r);
}
END_TEST

// From m v dv / (1 - d v) = -k x dx, v: of separation: F(v) = v / d + ln(1 - d v) / d^2 is the same
// before and after, whatever the mass and the stiffness. By bisection.
static double hunt_crossley_rebound(double d, double speed)
{
    double low = 0, high = fmin(speed, 1 / d), target = -speed / d + log1p(d * speed) / (d * d);
    for (int i = 0; i < 100; i++) {
        double v = low + (high - low) / 2;
        *(v / d + log1p(-d * v) / (d * d) > target ? &low : &high) = v;
    }
    return low;
}

static double rebound_at(double h, double d, double speed)
{
    rig r = open_rig("", 0);
    r.step = h;
    dWorldSetGravity(r.world, 0, 0, 0);
    sprag_surface_set_stiffness(&r.surface, 1e4);
    sprag_surface_set_dissipation(&r.surface, d);
    add_ball(&r, 2, radius, 0);
    dBodySetLinearVel(r.body[0], 0, 0, -speed);
    step_rig(&r);
    for (int i = 0; i < 20000 && position(&r)[2] < radius; i++) {
        step_rig(&r);
    }
    double v = velocity(&r)[2];
    close_rig(&r);
    return v;
}

static const double dissipations[] = {0.01, 0.1, 0.5, 2}; // s/m

// The step's own error is of first order: extrapolated to none.
START_TEST(dissipation_is_hunt_and_crossleys)
{
    double d = dissipations[_i], speed = 1, exact = hunt_crossley_rebound(d, speed);
    double coarse = rebound_at(1e-4, d, speed), fine = rebound_at(5e-5, d, speed);
    ck_assert_double_eq_tol(2 * fine - coarse, exact, 1e-4);
    ck_assert_double_gt(fabs(coarse - exact), 10 * fabs(2 * fine - coarse - exact));
}
END_TEST

// A contact that bounces does so by ODE's law, as stiff as it may be.
START_TEST(bounce_stays_newtons)
{
    rig r = open_rig("stribeck.stiffness=1e4,stribeck.dissipation=1", dContactBounce);
    r.surface.bounce = 0.8;
    r.surface.bounce_vel = 0.1;
    add_ball(&r, 2, radius, -1e-4);
    dBodySetLinearVel(r.body[0], 0, 0, -2);
    step_rig(&r);
    ck_assert_double_eq_tol(velocity(&r)[2], 0.8 * 2, 1e-4);
    close_rig(&r);
}
END_TEST

// The more special wins: the surface over the world, ODE's softness of a surface over the world's
// stiffness, a stiffness of 0 for ODE's law.
START_TEST(the_surface_wins_over_the_world)
{
    static const struct {
        double stiffness, cfm; // negative: not set
        double effective;      // N/m
    } cases[] = {{-1, -1, 1e4}, {1e5, -1, 1e5}, {-1, 1e-3, 0.2 / (0.01 * 1e-3)}, {0, -1, 0}};
    for (int i = 0; i < COUNT(cases); i++) {
        rig r = open_rig("stribeck.stiffness=1e4", 0);
        dWorldSetERP(r.world, 0.2);
        if (cases[i].stiffness >= 0) {
            sprag_surface_set_stiffness(&r.surface, cases[i].stiffness);
        }
        if (cases[i].cfm >= 0) {
            r.surface.mode |= dContactSoftCFM;
            r.surface.soft_cfm = cases[i].cfm;
        }
        add_box(&r, 2, 0.5, 0.5, 0.5, 0);
        step_rig(&r);
        sprag_world_statistics s = statistics_of(r.world);
        if (cases[i].effective > 0) {
            ck_assert_double_eq_tol(s.stiffness_least, cases[i].effective,
                                    1e-6 * s.stiffness_least);
        } else {
            ck_assert_double_gt(s.stiffness_least, 5e5); // rigid: 0.2 / (1e-4 s^2 1e-3 4 / 2 kg)
        }
        ck_assert_int_eq(s.invalid_surfaces, 0);
        close_rig(&r);
    }
}
END_TEST

// Below the cone the box creeps with the stiction tolerance vs of its surface:
// v = vs t, t the share of the cone.
START_TEST(stiction_is_that_of_the_surface)
{
    static const double tolerances[] = {1e-2, 1e-4, 1e-7}; // m/s
    const double t = 0.6, mu = 0.5;
    double vs = tolerances[_i];
    rig r = open_rig("", dContactApprox1);
    r.surface.mu = mu;
    sprag_surface_set_stiction(&r.surface, vs);
    add_box(&r, 2, 1, 1, 0.05, 0);
    push_rig(&r, 1, t * mu * 2 * G, 0, 0);
    ck_assert_double_eq_tol(velocity(&r)[0], vs * t, 1e-3 * vs);
    sprag_world_statistics s = statistics_of(r.world);
    ck_assert_double_eq_tol(s.stiction, vs, 1e-12 * vs);
    ck_assert_double_eq_tol(s.stiction_least, vs, 1e-12 * vs);
    close_rig(&r);
}
END_TEST

// From next to nothing to far more than a step can resolve, on a stack that is hit by a ball: every
// island is solved, and what is stiff enough stands.
START_TEST(any_stiffness_is_solved)
{
    double k = pow(10, _i % 16), d = (const double[]){0, 1, 1e3}[_i / 16];
    char options[80];
    snprintf(options, sizeof options, "stribeck.stiffness=%g,stribeck.dissipation=%g", k, d);
    rig r = open_rig(options, dContactApprox1);
    r.surface.mu = 0.6;
    for (int i = 0; i < 4; i++) {
        add_box(&r, 1 + i, 0.4, 0.4, 0.4, 0.4 * i);
    }
    add_ball(&r, 5, 0.2, 3);
    run_rig(&r, 1.5);
    sprag_world_statistics s = statistics_of(r.world);
    ck_assert_int_eq(s.fallbacks, 0);
    ck_assert_int_eq(s.frozen, 0);
    for (int i = 0; i < r.bodies; i++) {
        body_state state = state_of(r.body[i]);
        ck_assert(state_is_finite(&state));
        ck_assert_double_lt(fabs(state.v[2]), 20);
    }
    if (k >= 1e5) {
        ck_assert_double_gt(position(&r)[2], 0.19);
        ck_assert_double_lt(s.penetration, 0.01);
    }
    close_rig(&r);
}
END_TEST

// ---- beside ODE's own parameters

static char said[4][512];
static int messages;

static void listen(int number, const char *format, va_list arguments)
{
    (void)number;
    if (messages < COUNT(said)) {
        vsnprintf(said[messages], sizeof said[0], format, arguments);
    }
    messages++;
}

static const struct {
    int ours, odes;
    double value, stiffness; // set; effective, N/m, 0: rigid
    const char *says;
} odd[] = {
    {SPRAG_CONTACT_STIFFNESS, dContactSoftCFM, 1e-3, 0.2 / (0.01 * 1e-3),
     "ODE's parameters are used"},
    {SPRAG_CONTACT_DISSIPATION, dContactSoftERP, 0.5, 0, "ODE's parameters are used"},
    {SPRAG_CONTACT_STICTION, dContactMotionN, 0.01, 0, "the motion is used"},
    {SPRAG_CONTACT_STIFFNESS, 0, -1e5, 0, "stiffness that is negative or not finite"},
    {SPRAG_CONTACT_STIFFNESS, 0, NAN, 0, "stiffness that is negative or not finite"},
    {SPRAG_CONTACT_STIFFNESS, 0, INFINITY, 0, "stiffness that is negative or not finite"},
    {SPRAG_CONTACT_DISSIPATION, 0, -1, 0, "dissipation that is negative or not finite"},
    {SPRAG_CONTACT_DISSIPATION, 0, 0.5, 0, "dissipation without a stiffness"},
    {SPRAG_CONTACT_STICTION, 0, NAN, 0, "stiction tolerance that is negative or not finite"},
};

// sprag prints one message with the names of the bodies, counts the surfaces, and ignores the
// parameter.
START_TEST(odd_parameters_are_reported_once)
{
    char name[32];
    rig r = open_rig("", odd[_i].ours | odd[_i].odes);
    dSetMessageHandler(listen);
    messages = 0;
    r.surface.soft_cfm = r.surface.soft_erp = r.surface.motionN = odd[_i].value;
    add_box(&r, 2, 0.5, 0.5, 0.5, 0);
    run_rig(&r, 0.1);
    ck_assert_int_eq(messages, 1);
    snprintf(name, sizeof name, "%p", (void *)r.body[0]);
    ck_assert_msg(strstr(said[0], odd[_i].says) && strstr(said[0], name), "%s", said[0]);
    sprag_world_statistics s = statistics_of(r.world);
    ck_assert_int_gt(s.invalid_surfaces, 0);
    if (odd[_i].stiffness > 0) {
        ck_assert_double_eq_tol(s.stiffness_least, odd[_i].stiffness, 1e-6 * odd[_i].stiffness);
    } else {
        ck_assert_double_gt(s.stiffness_least, 5e5);
    }
    close_rig(&r);
}
END_TEST

// Setters clear ODE's bits for the field that they take, and no others.
START_TEST(setters_take_the_place_of_odes)
{
    dSurfaceParameters surface = {
        .mode =
            ~0 & ~(SPRAG_CONTACT_STIFFNESS | SPRAG_CONTACT_DISSIPATION | SPRAG_CONTACT_STICTION)};
    int before = surface.mode;
    sprag_surface_set_stiffness(&surface, 1);
    sprag_surface_set_dissipation(&surface, 2);
    sprag_surface_set_stiction(&surface, 3);
    ck_assert_int_eq(before & ~surface.mode, dContactSoftERP | dContactSoftCFM | dContactMotionN);
    ck_assert_int_eq(surface.mode & ~before,
                     SPRAG_CONTACT_STIFFNESS | SPRAG_CONTACT_DISSIPATION | SPRAG_CONTACT_STICTION);
    ck_assert_double_eq(surface.soft_cfm, 1);
    ck_assert_double_eq(surface.soft_erp, 2);
    ck_assert_double_eq(surface.motionN, 3);
}
END_TEST

// Stock ignores them: to the last bit, by either of its steppers, whatever else the surface has.
START_TEST(stock_steps_alike_with_our_parameters)
{
    static const int modes[] = {dContactApprox1, dContactApprox1 | dContactBounce | dContactSlip1,
                                dContactApprox1 | dContactMu2 | dContactRolling | dContactMotion1,
                                0};
    body_state state[2][4];
    for (int with = 0; with < 2; with++) {
        rig r = open_rig(_i % 2 ? "method=ode-quick" : "method=ode", modes[_i / 2]);
        r.surface.mu = r.surface.mu2 = 0.5;
        r.surface.bounce = 0.4;
        r.surface.slip1 = 1e-3;
        r.surface.motion1 = 0.2;
        r.surface.rho = r.surface.rho2 = r.surface.rhoN = 0.01;
        if (with) {
            sprag_surface_set_stiffness(&r.surface, 1e3);
            sprag_surface_set_dissipation(&r.surface, 7);
            sprag_surface_set_stiction(&r.surface, 0.3);
        }
        dRandSetSeed(0);
        for (int i = 0; i < 3; i++) {
            add_box(&r, 1 + i, 0.4, 0.4, 0.4, 0.1 + 0.5 * i);
        }
        add_ball(&r, 1, 0.2, 2);
        dBodySetLinearVel(r.body[0], 1, 0.5, 0);
        run_rig(&r, 1);
        for (int i = 0; i < 4; i++) {
            state[with][i] = state_of(r.body[i]);
        }
        close_rig(&r);
    }
    ck_assert_mem_eq(state[0], state[1], sizeof state[0]);
}
END_TEST

// ---- one-way

static const char *const schemes[] = {"stribeck.scheme=two-way", "stribeck.scheme=one-way"};

// Both schemes agree if friction does not change the normal forces.
START_TEST(schemes_agree_on_a_sliding_box)
{
    double v[2];
    for (int i = 0; i < 2; i++) {
        rig r = open_rig(schemes[i], dContactApprox1);
        r.surface.mu = 0.3;
        add_box(&r, 2, 1, 1, 1e-3, 0);
        run_rig(&r, 0.5);
        dBodySetLinearVel(r.body[0], 2, 0, 0);
        run_rig(&r, 0.5);
        v[i] = velocity(&r)[0];
        ck_assert_double_eq_tol(v[i], 2 - 0.3 * G * 0.5, 1e-4);
        run_rig(&r, 1);
        ck_assert_double_eq_tol(velocity(&r)[0], 0, 1e-6);
        ck_assert_int_eq(statistics_of(r.world).fallbacks, 0);
        close_rig(&r);
    }
    ck_assert_double_eq_tol(v[0], v[1], 1e-6);
}
END_TEST

// A body that slides on a point ahead of and below its centre, by (lx, -lz): friction turns it onto
// the point. With w = 1/m + lx^2 / I, c = lx lz / I, the normal force is g / (w - mu c). One-way
// friction is bounded by that of no friction, g / w, and the normal force is (g + mu g c / w) / w.
START_TEST(one_way_ignores_the_effect_of_friction_on_its_bound)
{
    const double mass = 2, lx = 0.3, lz = 0.5, mu = 0.4;
    rig r = open_rig(schemes[_i], 0);
    dMass m;
    dMassSetParameters(&m, mass, 0, 0, 0, 0.1, 0.1, 0.1, 0, 0, 0);
    dBodyID body = dBodyCreate(r.world);
    dBodySetMass(body, &m);
    dBodySetLinearVel(body, 1, 0, 0);
    dContact contact = {.surface = {.mode = dContactApprox1, .mu = mu},
                        .geom = {.pos = {lx, 0, -lz}, .normal = {0, 0, 1}}};
    dJointID joint = dJointCreateContact(r.world, r.contacts, &contact);
    dJointFeedback feedback;
    dJointSetFeedback(joint, &feedback);
    dJointAttach(joint, body, 0);
    dWorldStep(r.world, step);
    double w = 1 / mass + lx * lx / 0.1, c = lx * lz / 0.1;
    double bound = G / (_i ? w : w - mu * c), force = (G + mu * bound * c) / w;
    ck_assert_double_eq_tol(feedback.f1[2], force, 3e-3 * force);
    ck_assert_double_eq_tol(-feedback.f1[0], mu * bound, 3e-3 * mu * bound);
    double sinking = lx * dBodyGetAngularVel(body)[1] - dBodyGetLinearVel(body)[2];
    ck_assert_double_eq_tol(sinking, 0, 3e-3 * step * G);
    ck_assert_double_eq_tol(statistics_of(r.world).bound_error, (force - bound) / force, 1e-3);
    close_rig(&r);
}
END_TEST

// With a stiffness the normal force is that of the state before the step.
START_TEST(one_way_stiffness_is_explicit)
{
    const double k = 1e4, d = 0.2, speed = 0.3, depth = 1e-3;
    for (int i = 0; i < 2; i++) {
        rig r = open_rig(schemes[i], dContactApprox1);
        r.surface.mu = 0.2;
        sprag_surface_set_stiffness(&r.surface, k);
        sprag_surface_set_dissipation(&r.surface, d);
        add_ball(&r, 2, radius, -depth);
        dBodySetLinearVel(r.body[0], 1, 0, -speed);
        step_rig(&r);
        double v = velocity(&r)[2], force = 2 * ((v + speed) / step + G);
        double implicit = k * (1 - d * v) * (depth - step * v),
               explicit = k * (1 + d * speed) * depth;
        ck_assert_double_eq_tol(force, i ? explicit : implicit, 1e-5 * force);
        ck_assert_double_eq_tol(2 * (1 - velocity(&r)[0]) / step, 0.2 * force, 1e-5 * force);
        close_rig(&r);
    }
}
END_TEST

// An unstable stiffness is reported once.
START_TEST(one_way_reports_too_high_a_stiffness_once)
{
    for (int i = 0; i < 2; i++) {
        rig r = open_rig(schemes[i], dContactApprox1);
        sprag_surface_set_stiffness(&r.surface, 1e6); // step^2 k / m = 50
        add_ball(&r, 2, radius, -1e-3);
        messages = 0;
        dSetMessageHandler(listen);
        step_rig(&r);
        dBodySetPosition(r.body[0], 0, 0, radius - 1e-3);
        step_rig(&r);
        dSetMessageHandler(NULL);
        ck_assert_int_eq(messages, i);
        ck_assert(i == 0 || strstr(said[0], "one-way"));
        close_rig(&r);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stiffness");
    ADD_TESTS_WITH(
        suite, "all", setup, dCloseODE,
        {depth_under_load_follows_the_stiffness, 2 * COUNT(stiffnesses) * COUNT(steps)},
        {dissipation_is_hunt_and_crossleys, COUNT(dissipations)}, {bounce_stays_newtons, 1},
        {the_surface_wins_over_the_world, 1}, {stiction_is_that_of_the_surface, 3},
        {any_stiffness_is_solved, 48}, {odd_parameters_are_reported_once, COUNT(odd)},
        {setters_take_the_place_of_odes, 1}, {stock_steps_alike_with_our_parameters, 8},
        {schemes_agree_on_a_sliding_box, 1},
        {one_way_ignores_the_effect_of_friction_on_its_bound, 2},
        {one_way_stiffness_is_explicit, 1}, {one_way_reports_too_high_a_stiffness_once, 1});
    return run_suite(suite);
}
