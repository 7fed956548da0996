// Contact surfaces of whole worlds: the effect of each parameter of a surface, against the analytic
// answer, or against stock (method=ode) where stock is right. The same motion in other units of
// mass and length; rest at every step.
#include <check.h>

#include "join_contacts.h"
#include "program_world.h"
#include "sprag.h"
#include "suite.h"
#include "surface_rig.h"
#include "worlds.h"

// ---- friction

static const double headings[] = {0, 25, 60, 110, 200}; // deg

// Friction of an elliptic cone takes the most power from the slip u: f = -N S^2 u / |S u|, S =
// diag(mu, mu2) in the axes of fdir1. u is that at the end of the step.
START_TEST(anisotropic_friction_is_an_ellipse)
{
    const double mu[2] = {0.6, 0.2}, turned = M_PI / 6, heading = headings[_i] * M_PI / 180;
    rig r = open_rig("", dContactApprox1 | dContactMu2 | dContactFDir1);
    r.fdir1[0] = cos(turned);
    r.fdir1[1] = sin(turned);
    add_box(&r, 2, 1, 1, 0.05, 0);
    run_rig(&r, 0.5);
    r.surface.mu = mu[0];
    r.surface.mu2 = mu[1];
    double v0[2] = {2 * cos(heading), 2 * sin(heading)};
    dBodySetLinearVel(r.body[0], v0[0], v0[1], 0);
    step_rig(&r);
    const dReal *v = velocity(&r);
    double u[2] = {v[0] * cos(turned) + v[1] * sin(turned),
                   v[1] * cos(turned) - v[0] * sin(turned)};
    double length = hypot(mu[0] * u[0], mu[1] * u[1]);
    double f[2] = {mu[0] * mu[0] * u[0] / length, mu[1] * mu[1] * u[1] / length};
    ck_assert_double_eq_tol((v0[0] - v[0]) / (G * step), f[0] * cos(turned) - f[1] * sin(turned),
                            1e-5);
    ck_assert_double_eq_tol((v0[1] - v[1]) / (G * step), f[0] * sin(turned) + f[1] * cos(turned),
                            1e-5);
    ck_assert_double_eq_tol(dBodyGetAngularVel(r.body[0])[2], 0, 1e-6);
    close_rig(&r);
}
END_TEST

static const char *const ours_and_stock[] = {"method=stribeck", "method=ode"};

// Ten weights do not move it, nor in stock.
START_TEST(infinite_friction_holds)
{
    rig r = open_rig(ours_and_stock[_i], dContactApprox1);
    r.surface.mu = dInfinity;
    add_box(&r, 2, 1, 1, 0.05, 0);
    push_rig(&r, 1, 200, 0, 0);
    ck_assert_double_eq_tol(position(&r)[0], 0, 1e-6);
    close_rig(&r);
}
END_TEST

// Without dContactApprox1 mu is a force, of each contact, whatever presses it on: what is pushed
// harder than the four together speeds up by the rest, what is not stays.
START_TEST(plain_mu_is_a_force)
{
    const double limit = 1.5, mass = 2, force = _i % 2 ? 10 : 5; // N a contact, kg, N
    const double load = _i / 2 % 2 ? 300 : 0;                    // N
    rig r = open_rig(ours_and_stock[_i / 4], 0);
    r.surface.mu = limit;
    add_box(&r, mass, 1, 1, 0.05, 0);
    push_rig(&r, 0.5, 0, 0, -load);
    push_rig(&r, 1, force, 0, -load);
    double exact = fmax(0, force - CORNERS * limit) / mass;
    ck_assert_double_eq_tol(velocity(&r)[0], exact, 1e-5);
    close_rig(&r);
}
END_TEST

// Two fingers of sliders close on a cube that touches them from the first step on: their contacts
// bear it from then on. The cube is well above the floor.
START_TEST(a_flush_cube_is_held_at_once)
{
    static const double mu[] = {2, 5, 2}, steps[] = {0.01, 0.01, 1.0 / 60}; // N of each contact
    rig r = open_rig("", 0);
    r.step = steps[_i];
    r.surface.mu = mu[_i];
    add_box(&r, 1, 0.2, 0.2, 0.2, 1);
    for (int side = -1; side <= 1; side += 2) {
        dMass m;
        dMassSetBoxTotal(&m, 0.2, 0.05, 0.1, 0.1);
        dBodyID finger =
            add_body(&r, &m, dCreateBox(r.space, 0.05, 0.1, 0.1), 0.125 * side, 0, 1.1);
        dJointID slider = dJointCreateSlider(r.world, 0);
        dJointAttach(slider, finger, NULL);
        dJointSetSliderAxis(slider, 1, 0, 0);
        dJointSetSliderParam(slider, dParamVel, -0.2 * side);
        dJointSetSliderParam(slider, dParamFMax, 50);
    }
    run_rig(&r, 5);
    ck_assert_double_eq_tol(position(&r)[2], 1.1, 1e-6);
    close_rig(&r);
}
END_TEST

// A gripper on a lift: two fingers of sliders press 20 N on what stands between them. Along a line
// or at a corner it may turn while they close, and sweeps alone let it slip by millimetres.
static const struct grasp {
    int class;
    double tilt, step, mu; // of the body's z axis about the fingers' way, rad; s; 1
} grasps[] = {
    {dCylinderClass, 0, 1.0 / 60, 0.8},
    {dCylinderClass, M_PI / 2, 0.01, 0.3},
    {dCylinderClass, M_PI / 2, 1.0 / 60, 0.3},
    {dCapsuleClass, M_PI / 2, 1.0 / 60, 0.3},
    {dBoxClass, 0, 0.01, 1},
};

static dBodyID add_grasped(rig *r, const struct grasp *g)
{
    const double half = 0.05, side = 0.07, weight = 0.5; // m, m, kg
    dMass m;
    dGeomID geom;
    dMatrix3 turn;
    if (g->class == dBoxClass) { // on its edges
        dMassSetBoxTotal(&m, weight, side, side, 2 * half);
        geom = dCreateBox(r->space, side, side, 2 * half);
        dRFromAxisAndAngle(turn, 0, 0, 1, M_PI / 4);
    } else {
        const bool capsule = g->class == dCapsuleClass;
        (capsule ? dMassSetCapsuleTotal : dMassSetCylinderTotal)(&m, weight, 3, half, 2 * half);
        geom = (capsule ? dCreateCapsule : dCreateCylinder)(r->space, half, 2 * half);
        dRFromAxisAndAngle(turn, 1, 0, 0, g->tilt);
    }
    dBodyID body = add_body(r, &m, geom, 0, 0, half);
    dBodySetRotation(body, turn);
    return body;
}

START_TEST(what_is_lifted_does_not_slip)
{
    const struct grasp *g = &grasps[_i % COUNT(grasps)];
    rig r = open_rig(_i < COUNT(grasps) ? "" : "method=advance", dContactApprox1);
    r.step = g->step;
    r.surface.mu = g->mu;
    add_grasped(&r, g);
    dMass m;
    dMassSetBoxTotal(&m, 5, 0.2, 0.2, 0.1);
    dBodyID base = add_body(&r, &m, dCreateBox(r.space, 0.2, 0.2, 0.1), 0, 0, 0.3), finger[2];
    dJointID lift = dJointCreateSlider(r.world, 0);
    dJointAttach(lift, base, NULL);
    dJointSetSliderAxis(lift, 0, 0, 1);
    dJointSetSliderParam(lift, dParamFMax, 1000);
    for (int i = 0; i < 2; i++) {
        const int side = i ? 1 : -1;
        dMassSetBoxTotal(&m, 0.2, 0.02, 0.06, 0.15);
        finger[i] = add_body(&r, &m, dCreateBox(r.space, 0.02, 0.06, 0.15), 0.09 * side, 0, 0.1);
        dJointID slider = dJointCreateSlider(r.world, 0);
        dJointAttach(slider, finger[i], base);
        dJointSetSliderAxis(slider, 1, 0, 0);
        dJointSetSliderParam(slider, dParamFMax, 20);
        dJointSetSliderParam(slider, dParamVel, -0.1 * side);
    }
    double held = NAN;
    for (double t = 0; t < 4; t += g->step) {
        const double ramp = fmin(1, fmin(t - 1, 2 - t) / 0.2);
        dJointSetSliderParam(lift, dParamVel, 0.3 * fmax(0, ramp));
        step_rig(&r);
        const double off = position(&r)[2] - dBodyGetPosition(finger[0])[2] / 2 -
                           dBodyGetPosition(finger[1])[2] / 2;
        held = isnan(held) && t > 0.9 ? off : held;
        ck_assert(isnan(held) || fabs(off - held) < 1e-7);
    }
    ck_assert_double_gt(position(&r)[2], 0.2);
    close_rig(&r);
}
END_TEST

// A finger pushes a box along until it is held by the other one, too. Both are on a mast, which two
// sliders hold up. Nothing pushes the box sideways.
START_TEST(what_fingers_close_on_goes_straight)
{
    rig r = open_rig("", dContactApprox1);
    r.step = _i ? 1.0 / 60 : 0.01;
    r.surface.mu = 0.7;
    add_box(&r, 0.8, 0.12, 0.1, 0.1, 0);
    dBodySetPosition(r.body[0], 0, 0.01, 0.05);
    dBodyID above = NULL;
    for (int i = 0; i < 2; i++) { // along x, then z
        dMass m;
        dMassSetBoxTotal(&m, i ? 5 : 20, 0.2, 0.2, 0.2);
        dBodyID body = dBodyCreate(r.world);
        dBodySetMass(body, &m);
        dBodySetPosition(body, 0, 0, i ? 0.2 : 0.8);
        dJointID slider = dJointCreateSlider(r.world, 0);
        dJointAttach(slider, body, above);
        dJointSetSliderAxis(slider, !i, 0, i);
        dJointSetSliderParam(slider, dParamFMax, 1000);
        above = body;
    }
    for (int side = -1; side <= 1; side += 2) {
        dMass m;
        dMassSetBoxTotal(&m, 0.5, 0.06, 0.02, 0.12);
        dBodyID finger =
            add_body(&r, &m, dCreateBox(r.space, 0.06, 0.02, 0.12), 0, 0.12 * side, 0.07);
        dJointID slider = dJointCreateSlider(r.world, 0);
        dJointAttach(slider, finger, above);
        dJointSetSliderAxis(slider, 0, 1, 0);
        dJointSetSliderParam(slider, dParamFMax, 25);
        dJointSetSliderParam(slider, dParamVel, -0.2 * side);
    }
    run_rig(&r, 1);
    ck_assert_double_lt(fabs(position(&r)[0]), 5e-7);
    close_rig(&r);
}
END_TEST

// Creep in proportion to the force, v = slip f, of each contact; along each axis by its own slip.
START_TEST(slip_creeps_in_proportion)
{
    const double slip[2] = {0.05, _i % 2 ? 0.1 : 0.05}, force[2] = {2, 3};
    rig r = open_rig(ours_and_stock[_i / 2],
                     dContactApprox1 | dContactFDir1 | dContactSlip1 | dContactSlip2);
    r.fdir1[0] = 1;
    r.surface.mu = 100;
    r.surface.slip1 = slip[0];
    r.surface.slip2 = slip[1];
    add_box(&r, 2, 1, 1, 0.05, 0);
    push_rig(&r, 2, force[0], force[1], 0);
    for (int k = 0; k < 2; k++) {
        double exact = slip[k] * force[k] / CORNERS;
        ck_assert_double_eq_tol(velocity(&r)[k], exact, 1e-5 * exact);
    }
    close_rig(&r);
}
END_TEST

// A belt takes a box along with mu g, up to its own speed; the axis is fdir1 or the one across, and
// which way stock tells.
START_TEST(moving_surface_takes_along)
{
    const double speed = 0.5, mu = 0.3;
    const int axis = _i % 2;
    rig r[2];
    for (int i = 0; i < 2; i++) {
        r[i] = open_rig(ours_and_stock[i], dContactApprox1 | dContactFDir1 |
                                               (axis ? dContactMotion2 : dContactMotion1));
        r[i].fdir1[0] = 1;
        r[i].surface.mu = mu;
        r[i].surface.motion1 = axis ? 0 : speed;
        r[i].surface.motion2 = axis ? speed : 0;
        add_box(&r[i], 2, 1, 1, 0.05, 0);
        run_rig(&r[i], 0.1);
    }
    ck_assert_double_eq_tol(fabs(velocity(&r[0])[axis]), mu * G * 0.1, 1e-3 * speed);
    run_rig(&r[0], 1);
    run_rig(&r[1], 1);
    ck_assert_double_eq_tol(fabs(velocity(&r[0])[axis]), speed, 1e-6);
    ck_assert_double_eq_tol(velocity(&r[0])[axis], velocity(&r[1])[axis], 1e-6);
    ck_assert_double_eq_tol(velocity(&r[0])[1 - axis], 0, 1e-6);
    close_rig(&r[0]);
    close_rig(&r[1]);
}
END_TEST

// Short of it by the softness, a thousandth of what the step changes.
START_TEST(surface_moves_along_its_normal)
{
    double z[2];
    for (int i = 0; i < 2; i++) {
        rig r = open_rig(ours_and_stock[i], dContactMotionN);
        r.surface.motionN = 0.3;
        add_box(&r, 2, 1, 1, 0.05, 0);
        step_rig(&r);
        z[i] = velocity(&r)[2];
        close_rig(&r);
    }
    ck_assert_double_eq_tol(z[1], 0.3, 1e-6);
    ck_assert_double_eq_tol(z[0], z[1], 1e-3 * (0.3 + G * step));
}
END_TEST

// ---- rolling and spinning

// Contacts that yield within a step have laws without such friction.
static const char *const rolling[] = {"",
                                      "method=ess,stribeck.stiffness=1e5,stribeck.dissipation=1"};

// A bore of rhoN times the weight brakes the spin: I dw/dt = -rhoN m g.
START_TEST(spinning_friction_is_a_torque)
{
    const double rho = 0.01, mass = 2, inertia = 0.4 * mass * radius * radius;
    rig r = open_rig(rolling[_i], dContactApprox1 | dContactAxisDep | dContactRolling);
    r.surface.mu = r.surface.mu2 = 0.5;
    r.surface.rhoN = rho;
    add_ball(&r, mass, radius, 0);
    run_rig(&r, 0.5);
    dBodySetAngularVel(r.body[0], 0, 0, 30);
    run_rig(&r, 0.1);
    ck_assert_double_eq_tol(dBodyGetAngularVel(r.body[0])[2], 30 - rho * mass * G / inertia * 0.1,
                            1e-4);
    close_rig(&r);
}
END_TEST

// About fdir1 by rho, about the axis across by rho2: (m r + I / r) dv/dt = -rho m g.
START_TEST(rolling_friction_is_a_torque)
{
    const double rho[2] = {0.002, 0.005}, mass = 2, speed = 1;
    const int axis = _i % 2;
    rig r = open_rig(rolling[_i / 2],
                     dContactApprox1 | dContactAxisDep | dContactRolling | dContactFDir1);
    r.fdir1[1] = 1; // so that rho brakes what rolls along x
    r.surface.mu = r.surface.mu2 = 0.8;
    r.surface.rho = rho[0];
    r.surface.rho2 = rho[1];
    add_ball(&r, mass, radius, 0);
    run_rig(&r, 0.5);
    dBodySetLinearVel(r.body[0], axis ? 0 : speed, axis ? speed : 0, 0);
    dBodySetAngularVel(r.body[0], axis ? -speed / radius : 0, axis ? 0 : speed / radius, 0);
    run_rig(&r, 0.5);
    double change = rho[axis] * G / (1.4 * radius) * 0.5, yields = _i / 2 ? 4e-4 : 0; // m/s
    ck_assert_double_eq_tol(velocity(&r)[axis], speed - change, 1e-4 + yields);
    ck_assert_double_eq_tol(velocity(&r)[1 - axis], 0, 1e-6);
    close_rig(&r);
}
END_TEST

// ---- bounce

static const double restitutions[] = {0.1, 0.3, 0.5, 0.7, 0.9, 1};
static const double speeds[] = {0.2, 1, 5, 20}; // m/s

enum { BOUNCES = 2 * COUNT(restitutions) * COUNT(speeds) };

// Newton's: e times the speed before the step, of a ball and of a box on four corners.
START_TEST(bounce_is_to_a_ten_thousandth)
{
    double e = restitutions[_i / 2 % COUNT(restitutions)];
    double speed = speeds[_i / 2 / COUNT(restitutions)];
    rig r = open_rig("", dContactApprox1 | dContactBounce);
    r.surface.mu = 0.5;
    r.surface.bounce = e;
    r.surface.bounce_vel = 0.1;
    if (_i % 2) {
        add_ball(&r, 2, radius, -1e-4);
    } else {
        add_box(&r, 2, 0.3, 0.2, 0.1, -1e-4);
    }
    dBodySetLinearVel(r.body[0], 0, 0, -speed);
    step_rig(&r);
    ck_assert_double_eq_tol(velocity(&r)[2] / speed, e, 1e-4);
    close_rig(&r);
}
END_TEST

START_TEST(slow_impacts_do_not_bounce)
{
    rig r = open_rig("", dContactApprox1 | dContactBounce);
    r.surface.bounce = 0.9;
    r.surface.bounce_vel = 0.1;
    add_ball(&r, 2, radius, 0);
    dBodySetLinearVel(r.body[0], 0, 0, -0.09);
    step_rig(&r);
    ck_assert_double_eq_tol(velocity(&r)[2], 0, 1e-3);
    close_rig(&r);
}
END_TEST

// ---- soft contacts

static const struct {
    double erp, cfm, layer; // -, m/s per N, m
} soft[] = {{0.4, 1e-3, 0}, {0.2, 1e-2, 0}, {0.8, 1e-3, 1e-3}, {0.05, 1e-2, 1e-2}};

// ERP and CFM of a contact are a spring, k = ERP / (h CFM), and a damper, c = (1 - ERP) / CFM: a
// box that is put down sinks as in stock, and ends m g / 4 k under the layer.
START_TEST(soft_contact_sinks_as_in_stock)
{
    rig r[2];
    double h = step, k = soft[_i].erp / (h * soft[_i].cfm);
    for (int i = 0; i < 2; i++) {
        r[i] = open_rig(ours_and_stock[i], dContactSoftERP | dContactSoftCFM);
        r[i].surface.soft_erp = soft[_i].erp;
        r[i].surface.soft_cfm = soft[_i].cfm;
        dWorldSetContactSurfaceLayer(r[i].world, soft[_i].layer);
        add_box(&r[i], 2, 0.5, 0.5, 0.5, 0);
    }
    for (int i = 0; i < 600; i++) {
        step_rig(&r[0]);
        step_rig(&r[1]);
        ck_assert_double_eq_tol(position(&r[0])[2], position(&r[1])[2], 1e-7);
        ck_assert_double_eq_tol(velocity(&r[0])[2], velocity(&r[1])[2], 1e-5);
    }
    double sink = 0.25 - position(&r[0])[2];
    ck_assert_double_eq_tol(sink, soft[_i].layer + 2 * G / (CORNERS * k), 1e-7);
    sprag_world_statistics s = statistics_of(r[0].world);
    ck_assert_double_eq_tol(s.stiffness_least, k, 1e-9 * k);
    ck_assert_double_eq_tol(s.stiffness_most, k, 1e-9 * k);
    ck_assert_double_eq_tol(s.damping_least * soft[_i].cfm, 1 - soft[_i].erp, 1e-9);
    close_rig(&r[0]);
    close_rig(&r[1]);
}
END_TEST

// Rigid, as by default: the stiffness that the solver's softness makes of it is reported.
START_TEST(rigid_contact_sinks_by_its_effective_stiffness)
{
    const double mass = 3;
    rig r = open_rig("", dContactApprox1);
    r.step = steps[_i];
    r.surface.mu = 0.5;
    add_box(&r, mass, 1, 1, 1, 0);
    push_rig(&r, 200 * r.step, 0.3 * mass * G, 0, 0);
    double x = position(&r)[0], sink = 0.5 - position(&r)[2];
    sprag_world_statistics s = statistics_of(r.world);
    ck_assert_double_eq_tol(sink, mass * G / (CORNERS * s.stiffness_least), 2e-4 * sink);
    ck_assert_double_le(sink, 5.1e-3 * G * r.step * r.step); // 5 um at 10 ms, 0.13 mm at 50 ms
    ck_assert_double_eq_tol(s.stiffness_most, s.stiffness_least, 1e-3 * s.stiffness_least);
    push_rig(&r, 1, 0.3 * mass * G, 0, 0);
    ck_assert_double_eq_tol(position(&r)[0], x, 1e-8);
    ck_assert_double_eq_tol(velocity(&r)[2], 0, 1e-8 * G * r.step); // the tolerance at rest
    ck_assert_int_eq(statistics_of(r.world).fallbacks, 0);
    close_rig(&r);
}
END_TEST

// ---- all of it

// A heap, in units of mass and length: what is measured in them, parameters too, is multiplied.
static void run_heap(double mass, double length, double stiffness, body_state state[5])
{
    rig r = open_rig("", dContactApprox1 | dContactRolling | dContactBounce);
    dWorldSetGravity(r.world, 0.3 * length, 0, -G * length);
    dWorldSetCFM(r.world, 1e-9 / mass);
    r.surface.mu = 0.5;
    r.surface.rho = 1e-3 * length;
    r.surface.bounce = 0.3;
    r.surface.bounce_vel = 0.5 * length;
    if (stiffness > 0) {
        sprag_surface_set_stiffness(&r.surface, stiffness * mass);
        sprag_surface_set_dissipation(&r.surface, 0.1 / length);
        sprag_surface_set_stiction(&r.surface, 1e-4 * length);
    }
    for (int i = 0; i < 4; i++) {
        double side = 0.4 * length;
        dBodyID box = add_box(&r, (1 + i) * mass, side, side, side, (0.05 + 0.45 * i) * length);
        dBodySetLinearVel(box, 0.2 * i * length, 0.1 * length, 0);
        dBodySetAngularVel(box, 0, 0, 0.5 * i);
    }
    add_ball(&r, 2 * mass, 0.2 * length, 2 * length);
    run_rig(&r, 1);
    ck_assert_int_eq(statistics_of(r.world).fallbacks, 0);
    for (int i = 0; i < 5; i++) {
        state[i] = state_of(r.body[i]);
        for (int k = 0; k < 3; k++) {
            state[i].x[k] /= length;
            state[i].v[k] /= length;
        }
    }
    close_rig(&r);
}

static const struct {
    double mass, length;
} units[] = {{1e-3, 1}, {1e3, 1}, {1024, 1}, {1, 1e3}, {1, 1e-3}, {1e3, 1e3}, {1e-3, 0.3048}};

// To the rounding that a second of impacts makes of a last digit.
START_TEST(units_are_arbitrary)
{
    body_state one[5], other[5];
    double stiffness = _i % 2 ? 1e5 : 0;
    run_heap(1, 1, stiffness, one);
    run_heap(units[_i / 2].mass, units[_i / 2].length, stiffness, other);
    for (int i = 0; i < 5; i++) {
        for (int k = 0; k < 3; k++) {
            ck_assert_double_eq_tol(other[i].x[k], one[i].x[k], 1e-8);
            ck_assert_double_eq_tol(other[i].v[k], one[i].v[k], 1e-6);
            ck_assert_double_eq_tol(other[i].v[3 + k], one[i].v[3 + k], 1e-6);
        }
    }
}
END_TEST

static const struct {
    double share; // of the cone
    double creep; // m in a minute
} slopes[] = {{0.73, 1e-7}, {0.99, 1e-6}};

// At 10 ms, from the first second to the 60th.
START_TEST(slopes_hold_for_a_minute)
{
    const double mu = 0.5, angle = atan(slopes[_i].share * mu);
    rig r = open_rig("", dContactApprox1);
    dWorldSetGravity(r.world, G * sin(angle), 0, -G * cos(angle));
    r.surface.mu = mu;
    add_box(&r, 1, 0.1, 0.1, 0.1, 0);
    run_rig(&r, 1);
    double x = position(&r)[0];
    run_rig(&r, 59);
    ck_assert_double_le(fabs(position(&r)[0] - x), slopes[_i].creep);
    close_rig(&r);
}
END_TEST

// ---- a crate on a slab that turns

typedef struct ride {
    dWorldID world;
    dSpaceID space;
    dJointGroupID contacts;
    dBodyID slab, crate;
    double place; // m, of the crate along x, on the slab
} ride;

// A slab of `size` (m) about the origin, and on it a crate with this edge (m).
static ride open_ride(const char *options, const dReal size[3], double mass_of_slab, double edge,
                      double mass_of_crate, double place)
{
    ride r = {.world = dWorldCreate(),
              .space = dHashSpaceCreate(0),
              .contacts = dJointGroupCreate(0),
              .place = place};
    dMass mass;
    dWorldSetData(r.world, r.contacts);
    dWorldSetGravity(r.world, 0, 0, -G);
    ck_assert(sprag_world_configure(r.world, options));
    dMassSetBoxTotal(&mass, mass_of_slab, size[0], size[1], size[2]);
    r.slab = add_solid(r.world, dCreateBox(r.space, size[0], size[1], size[2]), &mass, 0, 0, 0);
    dMassSetBoxTotal(&mass, mass_of_crate, edge, edge, edge);
    r.crate = add_solid(r.world, dCreateBox(r.space, edge, edge, edge), &mass, place, 0,
                        (size[2] + edge) / 2);
    return r;
}

// The slab turns about an axis through its centre.
static dJointID hold_slab(const ride *r, double x, double y, double z)
{
    dJointID hinge = dJointCreateHinge(r->world, 0);
    dJointAttach(hinge, r->slab, 0);
    dJointSetHingeAnchor(hinge, 0, 0, 0);
    dJointSetHingeAxis(hinge, x, y, z);
    return hinge;
}

static void touch_slab(void *data, dGeomID a, dGeomID b)
{
    join_contacts(data, dWorldGetData(data), a, b, 8,
                  (dSurfaceParameters){.mode = dContactApprox1, .mu = 0.5}, NULL);
}

static void step_ride(const ride *r, double step)
{
    dSpaceCollide(r->space, r->world, touch_slab);
    ck_assert_int_eq(dWorldStep(r->world, step), 1);
    dJointGroupEmpty(r->contacts);
}

static void close_ride(const ride *r, double slipped)
{
    dVector3 at;
    const dReal *x = dBodyGetPosition(r->crate);
    dBodyGetPosRelPoint(r->slab, x[0], x[1], x[2], at);
    ck_assert_double_le(hypot(at[0] - r->place, at[1]), slipped);
    destroy_world(r->world, r->space, r->contacts);
}

// A crate on a bed that a motor tilts slides at the angle of friction. Each turn of both opens
// their contacts a little, by more than they sink.
static const struct {
    double step, speed, place; // s, rad/s, m
} beds[] = {{0.01, 0.1, 1}, {0.01, 0.05, 3}, {1.0 / 60, 0.1, 1}, {0.01, 0.2, 2}};

START_TEST(a_crate_on_a_tilting_bed_slides_at_the_angle_of_friction)
{
    const double until = atan(0.5) - 0.02;
    const ride r =
        open_ride("method=stribeck", (dVector3){8, 2, 0.1}, 500, 0.4, 100, beds[_i].place);
    dJointID hinge = hold_slab(&r, 0, 1, 0);
    dJointSetHingeParam(hinge, dParamVel, -beds[_i].speed);
    dJointSetHingeParam(hinge, dParamFMax, 1e7);
    while (fabs(dJointGetHingeAngle(hinge)) < until) {
        step_ride(&r, beds[_i].step);
    }
    close_ride(&r, 1e-3);
}
END_TEST

// A crate on a table that turns stays where it is, without a motor, too: both keep their momentum.
static const struct {
    const char *options;
    double step, speed, place; // s, rad/s, m
    bool driven, finite;       // finite: the table turns by the angle of its turn
} tables[] = {{"method=stribeck", 0.001, 2, 1, false, false},
              {"method=stribeck", 0.01, 2, 1, false, false},
              {"method=stribeck", 1.0 / 60, 2, 1, false, false},
              {"method=stribeck", 0.01, 5, 0.15, false, false},
              {"method=stribeck", 0.01, 20, 0.01, false, false},
              {"method=stribeck", 0.01, 1.5, 1, true, false},
              {"method=stribeck", 1.0 / 60, 1.5, 1, true, false},
              {"method=advance", 0.01, 2, 1, false, false},
              {"method=advance", 0.01, 1.5, 1, true, false},
              {"method=advance", 1.0 / 60, 1.5, 1, true, false},
              {"method=advance", 1.0 / 60, 5, 0.15, true, false},
              {"method=stribeck", 1.0 / 60, 5, 0.15, true, true}};

START_TEST(a_crate_on_a_turntable_stays)
{
    const double speed = tables[_i].speed, place = tables[_i].place;
    const ride r = open_ride(tables[_i].options, (dVector3){4, 4, 0.1}, 50, 0.2, 5, place);
    if (tables[_i].driven) {
        dBodySetKinematic(r.slab);
    } else {
        hold_slab(&r, 0, 0, 1);
    }
    dBodySetFiniteRotationMode(r.slab, tables[_i].finite);
    dBodySetAngularVel(r.slab, 0, 0, speed);
    dBodySetAngularVel(r.crate, 0, 0, speed);
    dBodySetLinearVel(r.crate, 0, speed * place, 0);
    for (int i = 0; i < 10 / tables[_i].step; i++) {
        step_ride(&r, tables[_i].step);
    }
    ck_assert_double_eq_tol(dBodyGetAngularVel(r.slab)[2] / speed, 1, 1e-4);
    close_ride(&r, 1e-3);
}
END_TEST

// A crate that lies inside of a wall 1 m from the axis that it turns about, as in a drum, without
// gravity.
static const double drum_steps[] = {0.001, 0.01, 1.0 / 60};

START_TEST(a_crate_in_a_drum_does_not_sink)
{
    const double speed = 3, edge = 0.2, step = drum_steps[_i];
    const ride r = open_ride("method=stribeck", (dVector3){1, 1, 0.1}, 1, edge, 1, 0);
    const double height = edge / 2 - 1;
    dVector3 at;
    dWorldSetGravity(r.world, 0, 0, 0);
    dBodySetKinematic(r.slab);
    dGeomSetOffsetPosition(dBodyGetFirstGeom(r.slab), 0, 0, -1.05);
    dBodySetAngularVel(r.slab, 0, speed, 0);
    dBodySetPosition(r.crate, 0, 0, height);
    dBodySetAngularVel(r.crate, 0, speed, 0);
    dBodySetLinearVel(r.crate, speed * height, 0, 0);
    for (int i = 0; i < 10 / step; i++) {
        step_ride(&r, step);
    }
    const dReal *x = dBodyGetPosition(r.crate);
    dBodyGetPosRelPoint(r.slab, x[0], x[1], x[2], at);
    ck_assert_double_eq_tol(at[2], height, 5e-5);
    close_ride(&r, 1e-4);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("surface");
    ADD_TESTS_WITH(
        suite, "all", setup, dCloseODE, {anisotropic_friction_is_an_ellipse, COUNT(headings)},
        {infinite_friction_holds, 2}, {plain_mu_is_a_force, 8}, {a_flush_cube_is_held_at_once, 3},
        {what_is_lifted_does_not_slip, 2 * COUNT(grasps)}, {what_fingers_close_on_goes_straight, 2},
        {slip_creeps_in_proportion, 4}, {moving_surface_takes_along, 2},
        {surface_moves_along_its_normal, 1}, {spinning_friction_is_a_torque, 2},
        {rolling_friction_is_a_torque, 4}, {bounce_is_to_a_ten_thousandth, BOUNCES},
        {slow_impacts_do_not_bounce, 1}, {soft_contact_sinks_as_in_stock, COUNT(soft)},
        {rigid_contact_sinks_by_its_effective_stiffness, COUNT(steps)},
        {units_are_arbitrary, 2 * COUNT(units)}, {slopes_hold_for_a_minute, COUNT(slopes)},
        {a_crate_on_a_tilting_bed_slides_at_the_angle_of_friction, COUNT(beds)},
        {a_crate_on_a_turntable_stays, COUNT(tables)},
        {a_crate_in_a_drum_does_not_sink, COUNT(drum_steps)});
    return run_suite(suite);
}
