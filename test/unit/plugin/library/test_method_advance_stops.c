// Bodies on joints under method=advance bounce off the stops of their joints, and off the floor, as
// high as restitution says, and come to rest when the closed form does.
#include <math.h>

#include <ode/ode.h>

#include "body_motion.h"
#include "linalg.h"
#include "sprag.h"
#include "start.h"
#include "suite.h"

static const double steps[] = {0.001, 0.01, 1 / 60.0}; // s
static const double restitutions[] = {0.1, 0.5, 0.9};
static const double gravity = 9.81, fall = 0.5; // m/s^2; m or rad

enum { CASES = 9 }; // of steps and restitutions

typedef struct scene {
    dWorldID world;
    dSpaceID space;
    dJointGroupID contacts;
    dBodyID body;
    dJointID joint;
    double step, restitution, friction;
} scene;

static scene open_scene(int i)
{
    start_ode();
    scene s = {.world = dWorldCreate(),
               .space = dSimpleSpaceCreate(0),
               .contacts = dJointGroupCreate(0),
               .step = steps[i % 3],
               .restitution = restitutions[i / 3 % 3]};
    dMass m;
    dWorldSetGravity(s.world, 0, 0, -gravity);
    sprag_world_configure(s.world, "method=advance");
    s.body = dBodyCreate(s.world);
    dMassSetBoxTotal(&m, 1, 1, 0.1, 0.1);
    dBodySetMass(s.body, &m);
    dGeomSetBody(dCreateBox(s.space, 1, 0.1, 0.1), s.body);
    return s;
}

static void close_scene(scene *s)
{
    dJointGroupDestroy(s->contacts);
    dSpaceDestroy(s->space);
    dWorldDestroy(s->world);
    dCloseODE();
}

static void add_slider(scene *s)
{
    s->joint = dJointCreateSlider(s->world, 0);
    dJointAttach(s->joint, s->body, NULL);
    dJointSetSliderAxis(s->joint, 0, 0, 1);
}

static void meet(void *data, dGeomID a, dGeomID b)
{
    const scene *s = data;
    dContact contact[8];
    int count = dCollide(a, b, 8, &contact[0].geom, sizeof *contact);
    for (int i = 0; i < count; i++) {
        contact[i].surface =
            (dSurfaceParameters){.mode = dContactBounce | (s->friction > 0 ? dContactApprox1 : 0),
                                 .mu = s->friction,
                                 .bounce = s->restitution};
        dJointAttach(dJointCreateContact(s->world, s->contacts, &contact[i]), dGeomGetBody(a),
                     dGeomGetBody(b));
    }
}

static void step(scene *s)
{
    dSpaceCollide(s->space, s, meet);
    dWorldStep(s->world, s->step);
    dJointGroupEmpty(s->contacts);
}

typedef double height_fn(const scene *s); // m or rad, above the stop

static double slider_height(const scene *s)
{
    return fall + dJointGetSliderPosition(s->joint);
}

static double floor_height(const scene *s)
{
    return dBodyGetPosition(s->body)[2] - 0.05;
}

static double hinge_height(const scene *s)
{
    return fall - fabs(dJointGetHingeAngle(s->joint));
}

typedef struct course {
    double apex; // m or rad, after the first bounce
    double rest; // s, from which on it is slower than 0.1 mm/s
    double last; // m/s, at the end
} course;

static course run(scene *s, height_fn *height)
{
    course c = {0};
    int bounces = 0;
    double before = height(s), rate = 0;
    for (int i = 1; i * s->step < 8; i++) {
        step(s);
        double here = height(s), now = here - before;
        bounces += rate < 0 && now > 0;
        c.apex = bounces == 1 ? fmax(c.apex, here) : c.apex;
        c.last = norm3(dBodyGetLinearVel(s->body));
        c.rest = c.last > 1e-4 ? i * s->step : c.rest;
        before = here;
        rate = now;
    }
    close_scene(s);
    return c;
}

// s: free fall, and flights that are shorter by e each.
static double time_of_bounces(double e)
{
    return sqrt(2 * fall / gravity) * (1 + 2 * e / (1 - e));
}

// A flight that is shorter than two steps may be left out.
static void check(const course *c, double apex, double rest, double step)
{
    const double seen = gravity * step * step / 8; // between two steps
    ck_assert_double_eq_tol(c->apex, apex, 0.003 * apex + 2 * seen);
    ck_assert_double_le(c->rest, rest + 2 * step);
    ck_assert_double_ge(c->rest, 0.98 * rest - 4 * step);
    ck_assert_double_lt(c->last, 1e-9);
}

START_TEST(slider_bounces_off_its_stop)
{
    scene s = open_scene(_i);
    const double e = s.restitution;
    add_slider(&s);
    dJointSetSliderParam(s.joint, dParamLoStop, -fall);
    dJointSetSliderParam(s.joint, dParamBounce, e);
    const course c = run(&s, slider_height);
    check(&c, e * e * fall, time_of_bounces(e), s.step);
}
END_TEST

START_TEST(slider_bounces_off_the_floor)
{
    scene s = open_scene(_i);
    const double e = s.restitution;
    dCreatePlane(s.space, 0, 0, 1, 0);
    dBodySetPosition(s.body, 0, 0, fall + 0.05);
    add_slider(&s);
    const course c = run(&s, floor_height);
    check(&c, e * e * fall, time_of_bounces(e), s.step);
}
END_TEST

// A motor of 2 N drives upwards all the time, too weakly to reach its speed.
START_TEST(driven_slider_bounces_off_its_stop)
{
    scene s = open_scene(_i);
    const double e = s.restitution;
    add_slider(&s);
    dJointSetSliderParam(s.joint, dParamLoStop, -fall);
    dJointSetSliderParam(s.joint, dParamBounce, e);
    dJointSetSliderParam(s.joint, dParamVel, 100);
    dJointSetSliderParam(s.joint, dParamFMax, 2);
    const double seen = gravity * s.step * s.step / 8, apex = run(&s, slider_height).apex;
    ck_assert_double_eq_tol(apex, e * e * fall, 1e-3 * fall + 2 * seen);
}
END_TEST

// A brake of 2 N works against the fall, and against the rise. It made tops 6e-3 too low at 16.7
// ms.
START_TEST(braked_slider_bounces_off_its_stop)
{
    scene s = open_scene(_i);
    const double e = s.restitution, brake = 2, seen = gravity * s.step * s.step / 8;
    add_slider(&s);
    dJointSetSliderParam(s.joint, dParamLoStop, -fall);
    dJointSetSliderParam(s.joint, dParamBounce, e);
    dJointSetSliderParam(s.joint, dParamFMax, brake);
    const double apex = run(&s, slider_height).apex;
    const double right = e * e * fall * (gravity - brake) / (gravity + brake);
    ck_assert_double_eq_tol(apex, right, 1e-3 * fall + 2 * seen);
}
END_TEST

// A motor of 2 N pushes a free body and the slider that bounces apart, and never reaches its speed.
// The free body had 2 % too much at 16.7 ms where it was the motor's second one.
START_TEST(motor_pushes_both_bodies_alike)
{
    for (int second = 0; second < 2; second++) {
        scene s = open_scene(_i);
        dBodyID body = dBodyCreate(s.world);
        dMass mass;
        dMassSetBoxTotal(&mass, 1, 1, 0.1, 0.1);
        dBodySetMass(body, &mass);
        dGeomSetBody(dCreateBox(s.space, 1, 0.1, 0.1), body);
        dBodySetPosition(body, 0, 0, 5);
        dBodySetGravityMode(body, 0);
        add_slider(&s);
        dJointSetSliderParam(s.joint, dParamLoStop, -fall);
        dJointSetSliderParam(s.joint, dParamBounce, s.restitution);
        dJointID motor = dJointCreateLMotor(s.world, 0);
        dJointAttach(motor, second ? s.body : body, second ? body : s.body);
        dJointSetLMotorNumAxes(motor, 1);
        dJointSetLMotorAxis(motor, 0, 0, 0, 0, 1);
        dJointSetLMotorParam(motor, dParamVel, second ? -1e3 : 1e3);
        dJointSetLMotorParam(motor, dParamFMax, 2);
        double time = 0;
        for (; time < 2; time += s.step) {
            step(&s);
        }
        ck_assert_double_eq_tol(dBodyGetLinearVel(body)[2], 2 * time, 1e-6);
        close_scene(&s);
    }
}
END_TEST

// m: the top of a body of 1 kg that comes from rest at `from` down to a floor at -fall, on a spring
// with this stiffness and damping.
static double top_on_spring(double from, double stiffness, double damping, double e)
{
    static const double fine = 1e-6;
    double z = from, v = 0;
    bool up = false;
    while (!up || v > 0) {
        v -= fine * (stiffness * z + damping * v);
        z += fine * v;
        if (z < -fall) {
            v = -e * v;
            z = -fall;
            up = true;
        }
    }
    return z;
}

// Without gravity. ODE's spring is damped by step times its stiffness. A spring counted as what
// holds, and tops were 4 % too high at 16.7 ms.
START_TEST(spring_bounces_off_the_floor)
{
    static const double stiffness = 20, from = 1; // N/m, m
    scene s = open_scene(_i);
    const double step = s.step, e = s.restitution;
    dWorldSetGravity(s.world, 0, 0, 0);
    dCreatePlane(s.space, 0, 0, 1, -fall - 0.05);
    add_slider(&s);
    dJointSetSliderParam(s.joint, dParamLoStop, 0);
    dJointSetSliderParam(s.joint, dParamHiStop, 0);
    dJointSetSliderParam(s.joint, dParamStopERP, 1);
    dJointSetSliderParam(s.joint, dParamStopCFM, 1 / (step * stiffness));
    dBodySetPosition(s.body, 0, 0, from);
    const double apex = run(&s, slider_height).apex - fall;
    ck_assert_double_eq_tol(apex, top_on_spring(from, stiffness, step * stiffness, e), 0.006);
}
END_TEST

// The end of the bar rises by e^2 of its fall.
START_TEST(hinge_bounces_off_its_stop)
{
    scene s = open_scene(_i);
    const double e = s.restitution;
    dBodySetPosition(s.body, 0.5, 0, 0);
    s.joint = dJointCreateHinge(s.world, 0);
    dJointAttach(s.joint, s.body, NULL);
    dJointSetHingeAnchor(s.joint, 0, 0, 0);
    dJointSetHingeAxis(s.joint, 0, 1, 0);
    dJointSetHingeParam(s.joint, dParamLoStop, -fall);
    dJointSetHingeParam(s.joint, dParamHiStop, fall);
    dJointSetHingeParam(s.joint, dParamBounce, e);
    const course c = run(&s, hinge_height);
    const double apex = fall - asin((1 - e * e) * sin(fall));
    const double seen = 1.5 * gravity * s.step * s.step / 8;
    ck_assert_double_eq_tol(c.apex, apex, 0.003 * apex + 2 * seen);
    ck_assert_double_lt(c.rest, 5.5);
    ck_assert_double_lt(c.last, 1e-9);
}
END_TEST

// A bar that nothing else acts on turns back with e times its speed, wherever in a step it meets
// its stop. With 1e-8 s of a step of 1 ms left, the CFM of its hinge took 1.5 % of it.
START_TEST(hinge_bounces_at_any_time_of_a_step)
{
    static const double left[] = {1.5e-8, 1e-7, 1e-6, 1e-4}; // s
    for (int i = 0; i < (int)(sizeof left / sizeof *left); i++) {
        scene s = open_scene(_i);
        dWorldSetGravity(s.world, 0, 0, 0);
        dBodySetPosition(s.body, 0.5, 0, 0);
        s.joint = dJointCreateHinge(s.world, 0);
        dJointAttach(s.joint, s.body, NULL);
        dJointSetHingeAnchor(s.joint, 0, 0, 0);
        dJointSetHingeAxis(s.joint, 0, 1, 0);
        dBodySetAngularVel(s.body, 0, 1, 0);
        dBodySetLinearVel(s.body, 0, 0, -0.5);
        dJointSetHingeParam(s.joint, dParamHiStop, 20 * s.step - left[i]);
        dJointSetHingeParam(s.joint, dParamBounce, s.restitution);
        for (int k = 0; k < 25; k++) {
            step(&s);
        }
        ck_assert_double_eq_tol(dBodyGetAngularVel(s.body)[1], -s.restitution, 1e-4);
        close_scene(&s);
    }
}
END_TEST

// An elastic pendulum of 1 m and 0.7 rad at a wall. It rose 13 % higher after 16 s at 10 ms.
START_TEST(pendulum_keeps_its_height_at_a_wall)
{
    static const double kept[] = {0.999, 0.97, 0.92};
    scene s = open_scene(_i);
    const double height = 1 - cos(0.7), radius = 0.05;
    double most = 0;
    dMass m;
    s.restitution = 1;
    dMassSetSphereTotal(&m, 1, radius);
    dBodySetMass(s.body, &m);
    dGeomDestroy(dBodyGetFirstGeom(s.body));
    dGeomSetBody(dCreateSphere(s.space, radius), s.body);
    dCreatePlane(s.space, 1, 0, 0, -0.1 - radius);
    dBodySetPosition(s.body, sin(0.7), 0, -cos(0.7));
    s.joint = dJointCreateHinge(s.world, 0);
    dJointAttach(s.joint, s.body, NULL);
    dJointSetHingeAnchor(s.joint, 0, 0, 0);
    dJointSetHingeAxis(s.joint, 0, 1, 0);
    for (int i = 0; i * s.step < 20; i++) {
        step(&s);
        most = i * s.step > 16 ? fmax(most, dBodyGetPosition(s.body)[2] + 1) : most;
    }
    ck_assert_double_lt(most, 1.0005 * height);
    ck_assert_double_gt(most, kept[_i] * height);
    close_scene(&s);
}
END_TEST

enum { LINKS = 5 };

// J; velocities are those of the middle of a step.
static double energy_of(const dBodyID *link, double h)
{
    double sum = 0;
    for (int i = 0; i < LINKS; i++) {
        sum += kinetic_energy(link[i]);
        sum += gravity * (dBodyGetPosition(link[i])[2] - h / 2 * dBodyGetLinearVel(link[i])[2]);
    }
    return sum;
}

// A chain that falls from level onto all of its stops. Its links won 50 J at 10 ms, and 2e12 J at
// 16.7 ms, with a restitution of 0.8.
START_TEST(chain_wins_nothing_at_its_stops)
{
    // J, of a step, without restitution; at 10 ms 0.03 by the ways of the links, because velocities
    // are later than those of the middle of a step where loads divide it.
    static const double rise[] = {1e-3, 0.25, 0.1};
    scene s = open_scene(_i);
    dBodyID link[LINKS];
    dMass m;
    double before = 0, most = -INFINITY;
    dMassSetBoxTotal(&m, 1, 0.2, 0.06, 0.06);
    for (int i = 0; i < LINKS; i++) {
        link[i] = i > 0 ? dBodyCreate(s.world) : s.body;
        dBodySetMass(link[i], &m);
        dBodySetPosition(link[i], 0.1 + 0.2 * i, 0, 0);
        s.joint = dJointCreateHinge(s.world, 0);
        dJointAttach(s.joint, link[i], i > 0 ? link[i - 1] : NULL);
        dJointSetHingeAnchor(s.joint, 0.2 * i, 0, 0);
        dJointSetHingeAxis(s.joint, 0, 1, 0);
        dJointSetHingeParam(s.joint, dParamLoStop, -0.4);
        dJointSetHingeParam(s.joint, dParamHiStop, 0.4);
        dJointSetHingeParam(s.joint, dParamBounce, _i < 3 ? 0 : 0.8);
    }
    for (int i = 0; i * s.step < 5; i++) {
        step(&s);
        double now = energy_of(link, s.step);
        ck_assert_double_lt(now, 1e-9);
        most = fmax(most, now - before);
        before = now;
    }
    ck_assert_double_lt(most, _i < 3 ? rise[_i] : 0.5);
    close_scene(&s);
}
END_TEST

enum { LIMBS = 6 };

typedef struct limb {
    double side[3], at[3], mass; // m, m, kg
    int on;                      // which one it hangs on
    double joint[3];             // m; of the first: none
    double low, high, low2;      // rad; low2 0: a hinge about y
} limb;

static const limb torso[LIMBS] = {
    {{0.2, 0.3, 0.16}, {0, 0, 0.98}, 12, 0, {0}, 0, 0, 0},
    {{0.2, 0.34, 0.38}, {0, 0, 1.27}, 25, 0, {0, 0, 1.07}, -0.6, 0.6, -1.2},
    {{0.1, 0.1, 0.2}, {0, 0.25, 1.28}, 2, 1, {0, 0.25, 1.41}, -0.6, 0.6, -1.2},
    {{0.1, 0.1, 0.2}, {0, -0.25, 1.28}, 2, 1, {0, -0.25, 1.41}, -0.6, 0.6, -1.2},
    {{0.08, 0.08, 0.2}, {0, 0.25, 1}, 1.5, 2, {0, 0.25, 1.14}, 0, 2.2, 0},
    {{0.08, 0.08, 0.2}, {0, -0.25, 1}, 1.5, 3, {0, -0.25, 1.14}, 0, 2.2, 0},
};

static dBodyID add_limb(const scene *s, const limb *l, dBodyID on)
{
    dMass m;
    dBodyID body = dBodyCreate(s->world);
    dMassSetBoxTotal(&m, l->mass, l->side[0], l->side[1], l->side[2]);
    dBodySetMass(body, &m);
    dBodySetPosition(body, l->at[0], l->at[1], l->at[2]);
    const double x = 40 * dRandReal() - 20, y = 40 * dRandReal() - 20;
    dBodySetAngularVel(body, x, y, 40 * dRandReal() - 20);
    if (on && l->low2 != 0) {
        dJointID joint = dJointCreateUniversal(s->world, 0);
        dJointAttach(joint, on, body);
        dJointSetUniversalAnchor(joint, l->joint[0], l->joint[1], l->joint[2]);
        dJointSetUniversalParam(joint, dParamLoStop, l->low);
        dJointSetUniversalParam(joint, dParamHiStop, l->high);
        dJointSetUniversalParam(joint, dParamLoStop2, l->low2);
        dJointSetUniversalParam(joint, dParamHiStop2, -l->low2);
    } else if (on) {
        dJointID joint = dJointCreateHinge(s->world, 0);
        dJointAttach(joint, body, on);
        dJointSetHingeAnchor(joint, l->joint[0], l->joint[1], l->joint[2]);
        dJointSetHingeAxis(joint, 0, 1, 0);
        dJointSetHingeParam(joint, dParamLoStop, l->low);
        dJointSetHingeParam(joint, dParamHiStop, l->high);
    }
    return body;
}

// Torso and arms of a ragdoll whirl without weight, from stop to stop. Where a stop ended a
// sub-step early after a step of many, what the program saw went on by more than the sub-step had
// changed, and won 0.2 %. The rest is what mending the joints' errors does against the forces of
// stops. A stop that is hit loads joints in one sub-step, not in all of the next step, which took
// 12200 sub-steps.
START_TEST(limbs_win_nothing_at_their_stops)
{
    long substeps = 0;
    for (unsigned seed = 1; seed <= 60; seed++) {
        scene s = open_scene(2);
        dBodyID body[LIMBS];
        double before = 0;
        dWorldSetGravity(s.world, 0, 0, 0);
        dBodySetPosition(s.body, 0, 0, 100);
        dRandSetSeed(seed);
        for (int i = 0; i < LIMBS; i++) {
            body[i] = add_limb(&s, &torso[i], i > 0 ? body[torso[i].on] : NULL);
            dGeomSetBody(dCreateSphere(s.space, 1e-3), body[i]);
        }
        for (int i = 0; i < 60; i++) {
            double now = 0;
            step(&s);
            for (int k = 0; k < LIMBS; k++) {
                now += kinetic_energy(body[k]);
            }
            ck_assert(i <= 10 || now < 1.001 * before); // first the joints come together
            before = now;
        }
        sprag_world_statistics stats = {.struct_size = sizeof stats};
        ck_assert(sprag_world_stats(s.world, &stats));
        substeps += stats.substeps;
        close_scene(&s);
    }
    ck_assert_int_lt(substeps, 11500);
}
END_TEST

// A bar on a braked one turns against its stop. The brake won 0.17 J at 16.7 ms.
START_TEST(brake_wins_nothing_at_a_stop)
{
    static const double brakes[] = {0.1, 10, 1000};         // N m
    for (double offset = 0.05; offset < 1; offset += 0.1) { // steps
        scene s = open_scene(_i % 3);
        dBodyID bar[2] = {s.body, dBodyCreate(s.world)};
        double before = 0.04; // J, at the start, and more
        dMass m;
        dWorldSetGravity(s.world, 0, 0, 0);
        dMassSetBoxTotal(&m, 1, 0.2, 0.06, 0.06);
        for (int i = 0; i < 2; i++) {
            dBodySetMass(bar[i], &m);
            dBodySetPosition(bar[i], 0.1 + 0.2 * i, 0, 0);
            s.joint = dJointCreateHinge(s.world, 0);
            dJointAttach(s.joint, bar[i], i > 0 ? bar[0] : NULL);
            dJointSetHingeAnchor(s.joint, 0.2 * i, 0, 0);
            dJointSetHingeAxis(s.joint, 0, 1, 0);
            dJointSetHingeParam(s.joint, dParamFMax, i > 0 ? 0 : brakes[_i / 3]);
        }
        dJointSetHingeParam(s.joint, dParamHiStop, 2 * (10 + offset) * s.step);
        dJointSetHingeParam(s.joint, dParamBounce, 0.8);
        dBodySetAngularVel(bar[1], 0, 2, 0);
        dBodySetLinearVel(bar[1], 0, 0, -0.2);
        for (int i = 0; i < 40; i++) {
            step(&s);
            double now = kinetic_energy(bar[0]) + kinetic_energy(bar[1]);
            ck_assert_double_lt(now, before + 1e-6);
            before = now;
        }
        close_scene(&s);
    }
}
END_TEST

// A strong motor drives a slider against its stop at 1 m/s: nothing makes the slider faster. Once
// it is at the stop, ODE leaves out the motor.
START_TEST(motor_makes_no_bounce_faster)
{
    static const double offsets[] = {0.1, 0.3, 0.5, 0.7, 0.9, 0.98}; // steps
    scene s = open_scene(_i % 3);
    double fastest = 0;
    dWorldSetGravity(s.world, 0, 0, 0);
    add_slider(&s);
    dBodySetLinearVel(s.body, 0, 0, 1);
    dJointSetSliderParam(s.joint, dParamHiStop, (20 + offsets[_i / 3]) * s.step);
    dJointSetSliderParam(s.joint, dParamBounce, 0.9);
    dJointSetSliderParam(s.joint, dParamVel, 1);
    dJointSetSliderParam(s.joint, dParamFMax, 1000);
    for (int i = 0; i < 40; i++) {
        step(&s);
        fastest = fmax(fastest, norm3(dBodyGetLinearVel(s.body)));
    }
    ck_assert_double_lt(fastest, 1 + 1e-6);
    close_scene(&s);
}
END_TEST

// Two balls on sliders meet in the air, without restitution, and fall on together: their centre
// falls as that of one body does. The touch gave it the speed of half a sub-step.
START_TEST(balls_that_meet_fall_on)
{
    scene s = open_scene(_i);
    dBodyID ball[] = {s.body, dBodyCreate(s.world)};
    dMass m;
    double time = 0;
    s.restitution = 0;
    dGeomDestroy(dBodyGetFirstGeom(s.body));
    dMassSetSphereTotal(&m, 1, 0.1);
    for (int i = 0; i < 2; i++) {
        dBodySetMass(ball[i], &m);
        dBodySetPosition(ball[i], 0, 0, i);
        dGeomSetBody(dCreateSphere(s.space, 0.1), ball[i]);
        s.body = ball[i];
        add_slider(&s);
    }
    dBodySetLinearVel(ball[0], 0, 0, 2);
    for (; time < 1.5; time += s.step) {
        step(&s);
    }
    const double *low = dBodyGetPosition(ball[0]), *high = dBodyGetPosition(ball[1]);
    ck_assert_double_eq_tol(high[2] - low[2], 0.2, 1e-3);
    ck_assert_double_eq_tol((low[2] + high[2]) / 2,
                            0.5 + time - gravity * time * (time + s.step) / 2, 1e-3);
    close_scene(&s);
}
END_TEST

// Two boxes on a slider, of which the first drives the second by its stop, hit a third one askew.
// The stop comes to act while the others touch: what it gives them at that time they keep.
START_TEST(boxes_at_a_stop_keep_their_momentum)
{
    static const double at[3][3] = {{0, 0, 0}, {0.5, 0, 0}, {1.5, 0.07, 0.03}};
    static const double speed[3][3] = {{3, 0, 0}, {1, 0.1, 0}, {-2, 0, 0}}, mass[] = {1, 2, 1.5};
    scene s = open_scene(_i);
    s.restitution = 0;
    s.friction = 0.6;
    dWorldSetGravity(s.world, 0, 0, 0);
    dBodySetPosition(s.body, 0, 0, 100);
    dBodyID body[3];
    for (int i = 0; i < 3; i++) {
        const double width = i == 2 ? 0.3 : 0.2;
        dMass m;
        dMassSetBoxTotal(&m, mass[i], 0.2, width, 0.2);
        body[i] = dBodyCreate(s.world);
        dBodySetMass(body[i], &m);
        dGeomSetBody(dCreateBox(s.space, 0.2, width, 0.2), body[i]);
        dBodySetPosition(body[i], at[i][0] + (i == 2 ? 0.01 * (_i / 3) : 0), at[i][1], at[i][2]);
        dBodySetLinearVel(body[i], speed[i][0], speed[i][1], speed[i][2]);
    }
    s.joint = dJointCreateSlider(s.world, 0);
    dJointAttach(s.joint, body[0], body[1]);
    dJointSetSliderAxis(s.joint, 1, 0, 0);
    dJointSetSliderParam(s.joint, dParamLoStop, -0.1);
    dJointSetSliderParam(s.joint, dParamHiStop, 0.1);
    for (int i = 0; i * s.step < 0.5; i++) {
        step(&s);
    }
    for (int k = 0; k < 3; k++) {
        double change = 0;
        for (int i = 0; i < 3; i++) {
            change += mass[i] * (dBodyGetLinearVel(body[i])[k] - speed[i][k]);
        }
        ck_assert_double_eq_tol(change, 0, 1e-9);
    }
    close_scene(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("method_advance_stops");
    ADD_TESTS(suite, "stops", {slider_bounces_off_its_stop, CASES},
              {driven_slider_bounces_off_its_stop, CASES},
              {braked_slider_bounces_off_its_stop, CASES}, {motor_pushes_both_bodies_alike, CASES},
              {spring_bounces_off_the_floor, CASES}, {slider_bounces_off_the_floor, CASES},
              {hinge_bounces_off_its_stop, CASES}, {hinge_bounces_at_any_time_of_a_step, CASES},
              {chain_wins_nothing_at_its_stops, 6}, {limbs_win_nothing_at_their_stops, 1},
              {pendulum_keeps_its_height_at_a_wall, 3}, {brake_wins_nothing_at_a_stop, 9},
              {motor_makes_no_bounce_faster, 18}, {balls_that_meet_fall_on, 3},
              {boxes_at_a_stop_keep_their_momentum, 24});
    return run_suite(suite);
}
