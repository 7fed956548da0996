// Contact surfaces at the level of whole worlds: what each parameter of a surface does to a body,
// against the analytic answer, or against stock (method=ode) where stock is right. Then what holds
// of all: the same motion in other units of mass and length, and rest at every step.
#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sprag.h"
#include "start.h"
#include "suite.h"
#include "worlds.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static const double G = 9.81; // m/s^2

enum { CONTACTS = 8, CORNERS = 4, BODIES = 8 };

// A world with a floor at z = 0 and a surface that all contacts have.
typedef struct rig {
    dWorldID world;
    dSpaceID space;
    dJointGroupID contacts;
    dBodyID body[BODIES];
    int bodies;
    dSurfaceParameters surface;
    dVector3 fdir1;
    double step; // s
} rig;

static const double step = 0.01; // s

static rig open_rig(const char *options, int mode)
{
    rig r = {.world = dWorldCreate(),
             .space = dSimpleSpaceCreate(0),
             .contacts = dJointGroupCreate(0),
             .surface = {.mode = mode},
             .step = step};
    dWorldSetGravity(r.world, 0, 0, -G);
    dCreatePlane(r.space, 0, 0, 1, 0);
    ck_assert_msg(sprag_world_configure(r.world, options), "%s", sprag_error());
    return r;
}

static void close_rig(rig *r)
{
    dJointGroupDestroy(r->contacts);
    dSpaceDestroy(r->space);
    dWorldDestroy(r->world);
}

static dBodyID add_body(rig *r, const dMass *mass, dGeomID geom, double x, double y, double z)
{
    dBodyID body = dBodyCreate(r->world);
    dBodySetMass(body, mass);
    dGeomSetBody(geom, body);
    dBodySetPosition(body, x, y, z);
    return r->body[r->bodies++] = body;
}

// On the floor, in touch with all four corners, if bottom is 0.
static dBodyID add_box(rig *r, double mass, double x, double y, double z, double bottom)
{
    dMass m;
    dMassSetBoxTotal(&m, mass, x, y, z);
    bottom = bottom == 0 ? -1e-9 * z : bottom;
    return add_body(r, &m, dCreateBox(r->space, x, y, z), 0, 0, bottom + z / 2);
}

static dBodyID add_ball(rig *r, double mass, double radius, double bottom)
{
    dMass m;
    dMassSetSphereTotal(&m, mass, radius);
    return add_body(r, &m, dCreateSphere(r->space, radius), 0, 0, bottom + radius);
}

static void touch(void *data, dGeomID a, dGeomID b)
{
    rig *r = data;
    dContact contact[CONTACTS];
    int count = dCollide(a, b, CONTACTS, &contact[0].geom, sizeof contact[0]);
    for (int i = 0; i < count; i++) {
        contact[i].surface = r->surface;
        memcpy(contact[i].fdir1, r->fdir1, sizeof r->fdir1);
        dJointAttach(dJointCreateContact(r->world, r->contacts, &contact[i]), dGeomGetBody(a),
                     dGeomGetBody(b));
    }
}

static void step_rig(rig *r)
{
    dSpaceCollide(r->space, r, touch);
    dWorldStep(r->world, r->step);
    dJointGroupEmpty(r->contacts);
}

static void run_rig(rig *r, double seconds)
{
    for (long i = 0, n = lround(seconds / r->step); i < n; i++) {
        step_rig(r);
    }
}

// Under a force on the first body, at each step.
static void push_rig(rig *r, double seconds, double x, double y, double z)
{
    for (long i = 0, n = lround(seconds / r->step); i < n; i++) {
        dBodyAddForce(r->body[0], x, y, z);
        step_rig(r);
    }
}

static sprag_world_statistics statistics_of(const rig *r)
{
    sprag_world_statistics s;
    ck_assert(sprag_world_stats(r->world, &s));
    return s;
}

static const dReal *velocity(const rig *r)
{
    return dBodyGetLinearVel(r->body[0]);
}

static const dReal *position(const rig *r)
{
    return dBodyGetPosition(r->body[0]);
}

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

static const double radius = 0.1;

// A bore of rhoN times the weight brakes the spin: I dw/dt = -rhoN m g.
START_TEST(spinning_friction_is_a_torque)
{
    const double rho = 0.01, mass = 2, inertia = 0.4 * mass * radius * radius;
    rig r = open_rig("", dContactApprox1 | dContactAxisDep | dContactRolling);
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
    const int axis = _i;
    rig r = open_rig("", dContactApprox1 | dContactAxisDep | dContactRolling | dContactFDir1);
    r.fdir1[1] = 1; // so that rho brakes what rolls along x
    r.surface.mu = r.surface.mu2 = 0.8;
    r.surface.rho = rho[0];
    r.surface.rho2 = rho[1];
    add_ball(&r, mass, radius, 0);
    run_rig(&r, 0.5);
    dBodySetLinearVel(r.body[0], axis ? 0 : speed, axis ? speed : 0, 0);
    dBodySetAngularVel(r.body[0], axis ? -speed / radius : 0, axis ? 0 : speed / radius, 0);
    run_rig(&r, 0.5);
    ck_assert_double_eq_tol(velocity(&r)[axis], speed - rho[axis] * G / (1.4 * radius) * 0.5, 1e-4);
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
    sprag_world_statistics s = statistics_of(&r[0]);
    ck_assert_double_eq_tol(s.stiffness_least, k, 1e-9 * k);
    ck_assert_double_eq_tol(s.stiffness_most, k, 1e-9 * k);
    ck_assert_double_eq_tol(s.damping_least * soft[_i].cfm, 1 - soft[_i].erp, 1e-9);
    close_rig(&r[0]);
    close_rig(&r[1]);
}
END_TEST

static const double steps[] = {1e-4, 1e-3, 1e-2, 5e-2}; // s

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
    sprag_world_statistics s = statistics_of(&r);
    ck_assert_double_eq_tol(sink, mass * G / (CORNERS * s.stiffness_least), 2e-4 * sink);
    ck_assert_double_le(sink, 5.1e-3 * G * r.step * r.step); // 5 um at 10 ms, 0.13 mm at 50 ms
    ck_assert_double_eq_tol(s.stiffness_most, s.stiffness_least, 1e-3 * s.stiffness_least);
    push_rig(&r, 1, 0.3 * mass * G, 0, 0);
    ck_assert_double_eq_tol(position(&r)[0], x, 1e-8);
    ck_assert_double_eq_tol(velocity(&r)[2], 0, 1e-9);
    ck_assert_int_eq(statistics_of(&r).fallbacks, 0);
    close_rig(&r);
}
END_TEST

// ---- stiffness and dissipation

static const double stiffnesses[] = {1e3, 1e5, 1e7, 1e9}; // N/m

// By option or by surface: m g / 4 k, whatever the step, up to what rounding lets it be: k step^2 =
// 1e6 masses.
START_TEST(stiffness_is_what_it_sinks_by)
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
    sprag_world_statistics s = statistics_of(&r);
    ck_assert_double_eq_tol(s.stiffness_least, k, 1e-9 * k);
    ck_assert_double_eq_tol(s.stiffness_most, k, 1e-9 * k);
    ck_assert_double_eq_tol(s.damping_least, k * 0.1 * sink, 1e-4 * k * 0.1 * sink);
    ck_assert_int_eq(s.odd_surfaces, 0);
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
        sprag_world_statistics s = statistics_of(&r);
        if (cases[i].effective > 0) {
            ck_assert_double_eq_tol(s.stiffness_least, cases[i].effective,
                                    1e-6 * s.stiffness_least);
        } else {
            ck_assert_double_gt(s.stiffness_least, 5e5); // rigid: 0.2 / (1e-4 s^2 1e-3 4 / 2 kg)
        }
        ck_assert_int_eq(s.odd_surfaces, 0);
        close_rig(&r);
    }
}
END_TEST

// Where friction pushes below the cone the box creeps with the tolerance that its surface asks for:
// v = vs t / sqrt(1 - t^2), t the share of the cone.
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
    ck_assert_double_eq_tol(velocity(&r)[0], vs * t / sqrt(1 - t * t), 1e-3 * vs);
    sprag_world_statistics s = statistics_of(&r);
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
    sprag_world_statistics s = statistics_of(&r);
    ck_assert_int_eq(s.fallbacks, 0);
    ck_assert_int_eq(s.held, 0);
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

// ---- what goes with ODE's own

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
    {SPRAG_CONTACT_STIFFNESS, dContactSoftCFM, 1e-3, 0.2 / (0.01 * 1e-3), "ODE's parameters count"},
    {SPRAG_CONTACT_DISSIPATION, dContactSoftERP, 0.5, 0, "ODE's parameters count"},
    {SPRAG_CONTACT_STICTION, dContactMotionN, 0.01, 0, "the motion counts"},
    {SPRAG_CONTACT_STIFFNESS, 0, -1e5, 0, "stiffness that is negative or not finite"},
    {SPRAG_CONTACT_STIFFNESS, 0, NAN, 0, "stiffness that is negative or not finite"},
    {SPRAG_CONTACT_STIFFNESS, 0, INFINITY, 0, "stiffness that is negative or not finite"},
    {SPRAG_CONTACT_DISSIPATION, 0, -1, 0, "dissipation that is negative or not finite"},
    {SPRAG_CONTACT_DISSIPATION, 0, 0.5, 0, "dissipation without a stiffness"},
    {SPRAG_CONTACT_STICTION, 0, NAN, 0, "stiction tolerance that is negative or not finite"},
};

// Said once, with the bodies' names, and counted; the step goes on without the parameter.
START_TEST(odd_parameters_are_said_once)
{
    char name[32];
    rig r = open_rig("", odd[_i].ours | odd[_i].odes);
    dSetMessageHandler(listen);
    r.surface.soft_cfm = r.surface.soft_erp = r.surface.motionN = odd[_i].value;
    add_box(&r, 2, 0.5, 0.5, 0.5, 0);
    run_rig(&r, 0.1);
    ck_assert_int_eq(messages, 1);
    snprintf(name, sizeof name, "%p", (void *)r.body[0]);
    ck_assert_msg(strstr(said[0], odd[_i].says) && strstr(said[0], name), "%s", said[0]);
    sprag_world_statistics s = statistics_of(&r);
    ck_assert_int_gt(s.odd_surfaces, 0);
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

// Where friction does not change the normal forces both schemes are one.
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
        ck_assert_int_eq(statistics_of(&r).fallbacks, 0);
        close_rig(&r);
    }
    ck_assert_double_eq_tol(v[0], v[1], 1e-6);
}
END_TEST

// A body that slides on a point ahead of and below its centre, by (lx, -lz): friction turns it onto
// the point. With w = 1/m + lx^2 / I, c = lx lz / I, the normal force is g / (w - mu c). One-way
// friction is bounded by that of no friction, g / w, and the normal force is (g + mu g c / w) / w.
START_TEST(one_way_misses_what_friction_does_to_its_bound)
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
    ck_assert_double_eq_tol(statistics_of(&r).bound_error, (force - bound) / force, 1e-3);
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

// Where that is unstable it is said, once.
START_TEST(one_way_stiffness_too_stiff_is_said_once)
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
    ck_assert_int_eq(statistics_of(&r).fallbacks, 0);
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

static void setup(void)
{
    start_ode();
    dSetMessageHandler(quiet); // stock: "LCP internal error, s <= 0"
}

typedef struct entry {
    const TTest *test;
    int count;
} entry;

int main(void)
{
    const entry tests[] = {
        {anisotropic_friction_is_an_ellipse, COUNT(headings)},
        {infinite_friction_holds, 2},
        {plain_mu_is_a_force, 8},
        {slip_creeps_in_proportion, 4},
        {moving_surface_takes_along, 2},
        {surface_moves_along_its_normal, 1},
        {spinning_friction_is_a_torque, 1},
        {rolling_friction_is_a_torque, 2},
        {bounce_is_to_a_ten_thousandth, BOUNCES},
        {slow_impacts_do_not_bounce, 1},
        {soft_contact_sinks_as_in_stock, COUNT(soft)},
        {rigid_contact_sinks_by_its_effective_stiffness, COUNT(steps)},
        {stiffness_is_what_it_sinks_by, 2 * COUNT(stiffnesses) * COUNT(steps)},
        {dissipation_is_hunt_and_crossleys, COUNT(dissipations)},
        {bounce_stays_newtons, 1},
        {the_surface_wins_over_the_world, 1},
        {stiction_is_that_of_the_surface, 3},
        {any_stiffness_is_solved, 48},
        {odd_parameters_are_said_once, COUNT(odd)},
        {setters_take_the_place_of_odes, 1},
        {stock_steps_alike_with_our_parameters, 8},
        {schemes_agree_on_a_sliding_box, 1},
        {one_way_misses_what_friction_does_to_its_bound, 2},
        {one_way_stiffness_is_explicit, 1},
        {one_way_stiffness_too_stiff_is_said_once, 1},
        {units_are_arbitrary, 2 * COUNT(units)},
        {slopes_hold_for_a_minute, COUNT(slopes)},
    };
    Suite *suite = suite_create("surface");
    TCase *all = tcase_create("all");
    suite_add_tcase(suite, all);
    tcase_add_checked_fixture(all, setup, dCloseODE);
    tcase_set_timeout(all, 60);
    for (int i = 0; i < COUNT(tests); i++) {
        tcase_add_loop_test(all, tests[i].test, 0, tests[i].count);
    }
    return run_suite(suite);
}
