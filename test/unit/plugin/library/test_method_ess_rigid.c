// Rigid contacts under method=ess: at rest, sliding, rolling and tipping in continuous time,
// against closed forms, without a frame of the implicit step.
#include <check.h>
#include <math.h>
#include <string.h>

#include "body_motion.h"
#include "floors.h"
#include "program_world.h"
#include "sprag.h"
#include "start.h"
#include "suite.h"

static const double G = 9.81, RADIUS = 0.1, PI = 3.14159265358979;
static const double steps[] = {0.001, 0.01, 1 / 60.0}; // s
enum { STEPS = sizeof steps / sizeof steps[0] };

typedef struct scene {
    dWorldID world;
    dSpaceID space;
    dJointGroupID group;
    dSurfaceParameters surface;
    double step;
    floor_data floor;
    dJointFeedback feedback[16]; // of the contacts of a step
    int contacts;
} scene;

static scene open_scene(double step, double mu, double slope)
{
    scene s = {.world = dWorldCreate(),
               .space = dSimpleSpaceCreate(NULL),
               .group = dJointGroupCreate(0),
               .surface = {.mode = dContactApprox1, .mu = mu},
               .step = step};
    dWorldSetGravity(s.world, G * sin(slope), 0, -G * cos(slope));
    ck_assert(sprag_world_configure(s.world, "method=ess"));
    return s;
}

// No frame of the implicit step.
static void close_scene(scene *s)
{
    sprag_world_statistics stats = statistics_of(s->world);
    ck_assert_int_eq(stats.ess_declined + stats.ess_switched + stats.fallbacks, 0);
    ck_assert_int_gt(stats.ess_whole, 0);
    destroy_world(s->world, s->space, s->group);
    free_floor(s->floor);
}

static void touch(void *data, dGeomID a, dGeomID b)
{
    enum { MOST = 8 };
    scene *s = data;
    dContactGeom geom[MOST];
    int count = dCollide(a, b, MOST, geom, sizeof geom[0]);
    for (int i = 0; i < count; i++) {
        dContact contact = {.geom = geom[i], .surface = s->surface, .fdir1 = {1}};
        dJointID joint = dJointCreateContact(s->world, s->group, &contact);
        dJointAttach(joint, dGeomGetBody(a), dGeomGetBody(b));
        if (s->contacts < 16) {
            memset(&s->feedback[s->contacts], 0, sizeof s->feedback[0]);
            dJointSetFeedback(joint, &s->feedback[s->contacts++]);
        }
    }
}

static void step(scene *s)
{
    dJointGroupEmpty(s->group);
    s->contacts = 0;
    dSpaceCollide(s->space, s, touch);
    ck_assert(dWorldStep(s->world, s->step));
}

static int run(scene *s, double seconds)
{
    int count = (int)(seconds / s->step + 0.5);
    for (int k = 0; k < count; k++) {
        step(s);
    }
    return count;
}

static dBodyID add(const scene *s, dGeomID geom, const dMass *mass, double x, double z)
{
    return add_solid(s->world, geom, mass, x, 0, z);
}

static dBodyID add_box(const scene *s, double a, double b, double c, double x, double z)
{
    dMass mass;
    dMassSetBoxTotal(&mass, 1, a, b, c);
    return add(s, dCreateBox(s->space, a, b, c), &mass, x, z);
}

static dBodyID add_ball(const scene *s, double x, double z)
{
    dMass mass;
    dMassSetSphereTotal(&mass, 1, RADIUS);
    return add(s, dCreateSphere(s->space, RADIUS), &mass, x, z);
}

static double energy_of(const scene *s, dBodyID body)
{
    dVector3 g;
    dWorldGetGravity(s->world, g);
    return kinetic_energy(body) - dCalcVectorDot3(g, dBodyGetPosition(body));
}

// ---- one body

START_TEST(box_sticks_on_a_slope)
{
    scene s = open_scene(steps[_i % STEPS], 0.5, 20 * PI / 180);
    s.floor = add_floor(s.space, _i / STEPS);
    dBodyID box = add_box(&s, 0.2, 0.2, 0.1, 0, 0.05);
    run(&s, 1);
    ck_assert_double_lt(fabs(dBodyGetPosition(box)[0]), 1e-6);
    ck_assert_double_eq_tol(dBodyGetPosition(box)[2], 0.05, 1e-9);
    close_scene(&s);
}
END_TEST

START_TEST(box_slides_down_a_slope)
{
    double slope = 20 * PI / 180, a = G * sin(slope) - 0.2 * G * cos(slope);
    scene s = open_scene(steps[_i % STEPS], 0.2, slope);
    s.floor = add_floor(s.space, _i / STEPS);
    dBodyID box = add_box(&s, 0.2, 0.2, 0.1, 0, 0.05);
    double t = run(&s, 1) * s.step;
    ck_assert_double_eq_tol(dBodyGetPosition(box)[0], a * t * t / 2, 1e-8);
    ck_assert_double_eq_tol(dBodyGetPosition(box)[2], 0.05, 1e-8);
    close_scene(&s);
}
END_TEST

// Where it comes to rest is off by mu g (h / 3)^2 / 2.
START_TEST(box_slides_to_rest)
{
    scene s = open_scene(steps[_i % STEPS], 0.3, 0);
    s.floor = add_floor(s.space, _i / STEPS);
    dBodyID box = add_box(&s, 0.2, 0.2, 0.1, 0, 0.05);
    dBodySetLinearVel(box, 2, 0, 0);
    run(&s, 1);
    double way = 4 / (2 * 0.3 * G), error = 0.3 * G * s.step * s.step / 18;
    ck_assert_double_eq_tol(dBodyGetPosition(box)[0], way, 1.01 * error + 1e-6);
    ck_assert_double_lt(kinetic_energy(box), 1e-12);
    close_scene(&s);
}
END_TEST

// From one box onto the next. The edges meet where rounding decides which face has the normal.
START_TEST(box_slides_over_tiles)
{
    static const double speed[] = {4, 4.3, 5};
    scene s = open_scene(_i < 3 ? 0.02 : steps[_i / 3 - 1], 0.3, 0);
    for (int i = -1; i < 10; i++) {
        dGeomSetPosition(dCreateBox(s.space, 0.5, 0.5, 1), 0.5 * i, 0, -0.5);
    }
    dBodyID box = add_box(&s, 0.3, 0.3, 0.2, 0, 0.1);
    dBodySetLinearVel(box, speed[_i % 3], 0, 0);
    run(&s, 2);
    double way = speed[_i % 3] * speed[_i % 3] / (2 * 0.3 * G);
    ck_assert_double_eq_tol(dBodyGetPosition(box)[0], way, 1e-4);
    ck_assert_double_eq_tol(dBodyGetPosition(box)[2], 0.1, 1e-6);
    close_scene(&s);
}
END_TEST

// Friction bounded by a force, on each of four corners.
START_TEST(friction_of_a_force)
{
    scene s = open_scene(steps[_i], 0.5, 0);
    s.surface.mode = 0;
    s.floor = add_floor(s.space, PLANE);
    dBodyID box = add_box(&s, 0.2, 0.2, 0.1, 0, 0.05);
    dBodySetLinearVel(box, 3, 0, 0);
    double t = run(&s, 1) * s.step;
    ck_assert_double_eq_tol(dBodyGetLinearVel(box)[0], 3 - 4 * 0.5 * t, 1e-6);
    close_scene(&s);
}
END_TEST

// Beside one wall or two, with friction that no normal force bounds, of rigid contacts and of
// springs. What does not push has none.
START_TEST(walls_do_not_brake_what_falls)
{
    static const double gaps[] = {0, 1e-9, 1e-7, 1e-5}, bounds[] = {1, INFINITY, 1};
    for (int k = 0; k < 4 * 3 * 2; k++) {
        const double gap = gaps[k % 4];
        if (k / 12 && gap == 0 && _i / STEPS == HEIGHTFIELD) {
            continue; // its rounding squeezes the box
        }
        scene s = open_scene(steps[_i % STEPS], bounds[k / 4 % 3], 0);
        dWorldSetGravity(s.world, G, 0, 0);
        s.surface.mode = k / 4 % 3 == 2 ? dContactSoftCFM | dContactSoftERP : 0;
        s.surface.soft_cfm = 1e-3;
        s.surface.soft_erp = 0.5;
        s.floor = add_floor(s.space, _i / STEPS);
        if (k / 12) {
            dCreatePlane(s.space, 0, 0, -1, -0.2 - 2 * gap);
        }
        dBodyID box = add_box(&s, 0.2, 0.2, 0.2, 0, 0.1 + gap);
        double t = run(&s, 0.3) * s.step;
        ck_assert_double_eq_tol(dBodyGetPosition(box)[0], G * t * t / 2, 1e-6);
        ck_assert_int_eq(statistics_of(s.world).ess_declined, 0);
        destroy_world(s.world, s.space, s.group);
        free_floor(s.floor);
    }
}
END_TEST

// A ball bounces beside a wall, against which the impact does not press it.
START_TEST(walls_do_not_brake_a_bounce)
{
    const double e = 0.4, drop = 0.4;
    scene s = open_scene(steps[_i], INFINITY, 0);
    s.surface = (dSurfaceParameters){.mode = dContactBounce, .mu = INFINITY, .bounce = e};
    s.floor = add_floor(s.space, PLANE);
    dCreatePlane(s.space, -1, 0, 0, -RADIUS);
    dBodyID ball = add_ball(&s, 0, RADIUS + drop);
    double hit = sqrt(2 * drop / G), t = run(&s, 0.4) * s.step - hit;
    double height = RADIUS + e * G * hit * t - G * t * t / 2;
    ck_assert_double_eq_tol(dBodyGetPosition(ball)[2], height, 1e-6);
    close_scene(&s);
}
END_TEST

// Free along x, held across. Only slip that friction resists counts for its direction: the faster
// it went, the more steps the integrator would take.
START_TEST(box_skates)
{
    const double force = 1, angle = 0.5;
    scene s = open_scene(steps[_i], 0, 0);
    s.surface.mode |= dContactMu2 | dContactFDir1;
    s.surface.mu2 = 0.8;
    s.floor = add_floor(s.space, PLANE);
    dBodyID box = add_box(&s, 0.4, 0.4, 0.1, 0, 0.05);
    int count = (int)(2 / s.step + 0.5);
    for (int k = 0; k < count; k++) {
        dBodyAddForce(box, force * cos(angle), force * sin(angle), 0);
        step(&s);
    }
    sprag_world_statistics stats = statistics_of(s.world);
    ck_assert_int_lt(stats.ess_steps, 3 * count);
    ck_assert_double_eq_tol(dBodyGetLinearVel(box)[0], count * s.step * force * cos(angle), 1e-8);
    ck_assert_double_eq_tol(dBodyGetPosition(box)[1], 0, 1e-8);
    close_scene(&s);
}
END_TEST

// A ball passes from one triangle of a plane to the next without an event.
START_TEST(ball_rolls_over_edges)
{
    scene s = open_scene(steps[_i % STEPS], 0.3, 0);
    s.floor = add_floor(s.space, _i / STEPS ? HEIGHTFIELD : MESH);
    dBodyID ball = add_ball(&s, -0.47, RADIUS);
    dBodySetLinearVel(ball, 1, 0, 0);
    dBodySetAngularVel(ball, 0, 1 / RADIUS, 0);
    int count = run(&s, 1);
    sprag_world_statistics stats = statistics_of(s.world);
    ck_assert_int_eq(stats.ess_events, 0);
    ck_assert_double_eq_tol(dBodyGetPosition(ball)[0], -0.47 + count * s.step, 1e-8);
    ck_assert_double_eq_tol(dBodyGetPosition(ball)[2], RADIUS, 1e-8);
    close_scene(&s);
}
END_TEST

// It slides, then rolls with 5/7 of its speed.
START_TEST(ball_slides_then_rolls)
{
    scene s = open_scene(steps[_i % STEPS], 0.3, 0);
    s.floor = add_floor(s.space, _i / STEPS);
    dBodyID ball = add_ball(&s, 0.03, RADIUS);
    dBodySetLinearVel(ball, 2, 0, 0);
    double t = run(&s, 1) * s.step, start = 2 * 2.0 / (7 * 0.3 * G);
    double way = 2 * start - 0.3 * G * start * start / 2 + 10.0 / 7 * (t - start);
    ck_assert_double_eq_tol(dBodyGetLinearVel(ball)[0], 10.0 / 7, 1e-6);
    ck_assert_double_eq_tol(dBodyGetAngularVel(ball)[1], 10.0 / 7 / RADIUS, 1e-5);
    double error = 0.3 * G * s.step * s.step / 18;
    ck_assert_double_eq_tol(dBodyGetPosition(ball)[0], 0.03 + way, 1.01 * error + 1e-6);
    ck_assert_double_eq_tol(dBodyGetPosition(ball)[2], RADIUS, 1e-7);
    close_scene(&s);
}
END_TEST

// A torque of rho N against rolling.
START_TEST(rolling_friction_slows_a_ball)
{
    const double rho = 0.01;
    scene s = open_scene(steps[_i], 0.8, 0);
    s.surface.mode |= dContactRolling;
    s.surface.rho = s.surface.rho2 = rho;
    s.floor = add_floor(s.space, PLANE);
    dBodyID ball = add_ball(&s, 0, RADIUS);
    dBodySetLinearVel(ball, 1, 0, 0);
    dBodySetAngularVel(ball, 0, 1 / RADIUS, 0);
    double t = run(&s, 1) * s.step;
    ck_assert_double_eq_tol(dBodyGetLinearVel(ball)[0], 1 - rho * G / (1.4 * RADIUS) * t, 1e-5);
    close_scene(&s);
}
END_TEST

// On its edge, without a slip: keeps its energy until the next face lands.
START_TEST(tall_box_tips)
{
    scene s = open_scene(steps[_i], 1, 0.6);
    s.floor = add_floor(s.space, PLANE);
    dBodyID box = add_box(&s, 0.1, 0.1, 0.3, 0, 0.15);
    double first = energy_of(&s, box);
    run(&s, 0.25);
    ck_assert_double_gt(dBodyGetAngularVel(box)[1], 1);
    ck_assert_double_eq_tol(energy_of(&s, box), first, 1e-6);
    run(&s, 1);
    ck_assert_double_lt(energy_of(&s, box), first);
    close_scene(&s);
}
END_TEST

// Upright straight on, and tilted in an arc.
START_TEST(disc_rolls)
{
    double tilt = _i / STEPS ? 0.2 : 0, half = 0.01, radius = 0.2;
    scene s = open_scene(steps[_i % STEPS], 2, 0);
    dMass mass;
    dMatrix3 R;
    s.floor = add_floor(s.space, PLANE);
    dMassSetCylinderTotal(&mass, 1, 3, radius, 2 * half);
    dBodyID disc = add(&s, dCreateCylinder(s.space, radius, 2 * half), &mass, 0,
                       radius * cos(tilt) + half * sin(tilt));
    dRFromAxisAndAngle(R, 1, 0, 0, PI / 2 + tilt);
    dBodySetRotation(disc, R);
    dBodySetLinearVel(disc, 2, 0, 0);
    dBodySetAngularVel(disc, 0, 2 / radius * cos(tilt), 2 / radius * sin(tilt));
    step(&s); // what it slips, and where it is not at its height
    double first = energy_of(&s, disc), t = run(&s, 0.5) * s.step;
    ck_assert_double_eq_tol(energy_of(&s, disc), first, 2e-6);
    if (tilt == 0) {
        ck_assert_double_eq_tol(dBodyGetPosition(disc)[0], 2 * (t + s.step), 1e-8);
    } else {
        ck_assert_double_gt(fabs(dBodyGetPosition(disc)[1]), 0.05);
    }
    close_scene(&s);
}
END_TEST

// A wheel that turns by up to 0.3 rad a step passes from one triangle of a plane to the next.
START_TEST(wheel_rolls_over_edges)
{
    const double radius = 0.4, width = 0.25, speed = 8;
    scene s = open_scene(steps[_i % STEPS], 1, 0);
    dMass mass;
    dMatrix3 R;
    s.floor = add_floor(s.space, _i / STEPS ? HEIGHTFIELD : MESH);
    dMassSetCylinderTotal(&mass, 1, 3, radius, width);
    dBodyID wheel =
        add_solid(s.world, dCreateCylinder(s.space, radius, width), &mass, -4, 0.13, radius);
    dRFromAxisAndAngle(R, 1, 0, 0, PI / 2);
    dBodySetRotation(wheel, R);
    dBodySetLinearVel(wheel, speed, 0, 0);
    dBodySetAngularVel(wheel, 0, speed / radius, 0);
    int count = run(&s, 1);
    ck_assert_double_eq_tol(dBodyGetPosition(wheel)[0], speed * count * s.step - 4, 1e-5);
    ck_assert_double_eq_tol(dBodyGetPosition(wheel)[2], radius, 1e-6);
    close_scene(&s);
}
END_TEST

// Falls freely until it touches: its contact has no force before.
START_TEST(box_falls_flat)
{
    scene s = open_scene(steps[_i % STEPS], 0.5, 0);
    s.floor = add_floor(s.space, _i / STEPS);
    dBodyID box = add_box(&s, 0.2, 0.2, 0.2, 0, 0.3);
    double t = run(&s, 0.19) * s.step; // of 0.2019 s
    ck_assert_double_eq_tol(dBodyGetPosition(box)[2], 0.3 - G * t * t / 2, 1e-9);
    run(&s, 0.5);
    ck_assert_double_eq_tol(dBodyGetPosition(box)[2], 0.1, 1e-7);
    ck_assert_double_lt(kinetic_energy(box), 1e-12);
    close_scene(&s);
}
END_TEST

START_TEST(tumbling_box_gains_nothing)
{
    scene s = open_scene(steps[_i], 0.5, 0);
    s.floor = add_floor(s.space, PLANE);
    dBodyID box = add_box(&s, 0.2, 0.3, 0.1, 0, 0.5);
    dBodySetAngularVel(box, 3, 2, 1);
    dBodySetLinearVel(box, 1, 0.5, 0);
    double last = energy_of(&s, box);
    for (int k = 0; k < 2 / s.step; k++) {
        step(&s);
        ck_assert_double_le(energy_of(&s, box), last + 1e-6);
        last = energy_of(&s, box);
    }
    ck_assert_double_lt(kinetic_energy(box), 1e-6);
    close_scene(&s);
}
END_TEST

// Without a CFM there is no stiffness that ERP and CFM would give.
START_TEST(box_rests_without_cfm)
{
    scene s = open_scene(steps[_i], 0.5, 0);
    dWorldSetCFM(s.world, 0);
    s.floor = add_floor(s.space, PLANE);
    dBodyID box = add_box(&s, 0.2, 0.2, 0.1, 0, 0.05);
    run(&s, 0.2);
    ck_assert_double_eq_tol(dBodyGetPosition(box)[2], 0.05, 1e-9);
    close_scene(&s);
}
END_TEST

// ---- several

START_TEST(stack_stands)
{
    scene s = open_scene(steps[_i], 0.5, 0);
    s.floor = add_floor(s.space, PLANE);
    add_box(&s, 0.2, 0.2, 0.2, 0, 0.1);
    dBodyID top = add_box(&s, 0.2, 0.2, 0.2, 0.03, 0.3);
    run(&s, 1);
    ck_assert_double_eq_tol(dBodyGetPosition(top)[2], 0.3, 1e-8);
    ck_assert_double_eq_tol(dBodyGetPosition(top)[0], 0.03, 1e-8);
    close_scene(&s);
}
END_TEST

// A ball of 1 g falls on the end of a plank beyond one of its two posts, at 2 m/s. The plank leaves
// the other post by two micrometres at most, which is no flight: the touch of the ball is the only
// event of the step.
START_TEST(plank_on_posts_does_not_rattle)
{
    scene s = open_scene(steps[_i], 0.5, 0);
    for (int side = -1; side <= 1; side += 2) {
        dGeomSetPosition(dCreateBox(s.space, 0.04, 0.2, 0.2), side * 0.3, 0, -0.1);
    }
    dMass mass;
    dBodyID plank = add_box(&s, 1, 0.1, 0.05, 0, 0.025);
    dMassSetSphereTotal(&mass, 1e-3, 0.02);
    dBodyID ball = add(&s, dCreateSphere(s.space, 0.02), &mass, 0.45, 0.05 + 0.02 + 1e-3);
    dBodySetLinearVel(ball, 0, 0, -2);
    step(&s);
    ck_assert_int_eq(statistics_of(s.world).ess_events, 1);
    run(&s, 0.1);
    ck_assert_double_eq_tol(dBodyGetPosition(plank)[2], 0.025, 1e-6);
    ck_assert_double_eq_tol(dBodyGetPosition(ball)[2], 0.07, 1e-6);
    close_scene(&s);
}
END_TEST

// The upper box is pulled; it slides on the lower one, which sticks to the floor.
START_TEST(upper_box_slides_on_the_lower_one)
{
    scene s = open_scene(steps[_i], 0.3, 0);
    s.floor = add_floor(s.space, PLANE);
    dBodyID low = add_box(&s, 0.4, 0.4, 0.1, 0, 0.05), top = add_box(&s, 0.2, 0.2, 0.1, 0, 0.15);
    double t = 0;
    for (int k = 0; k < 0.2 / s.step; k++, t += s.step) {
        dBodyAddForceAtRelPos(top, 5, 0, 0, 0, 0, -0.05); // without a moment about its sole
        step(&s);
    }
    ck_assert_double_eq_tol(dBodyGetPosition(top)[0], (5 - 0.3 * G) * t * t / 2, 1e-6);
    ck_assert_double_lt(fabs(dBodyGetPosition(low)[0]), 1e-6);
    close_scene(&s);
}
END_TEST

// A pendulum that stands on the floor: the forces of its hinge and of its contact are one system.
START_TEST(hinged_ball_rests)
{
    scene s = open_scene(steps[_i], 0.5, 0);
    dCreatePlane(s.space, 0, 0, 1, 0);
    dBodyID ball = add_ball(&s, 0.8, 0.6);
    dJointID hinge = dJointCreateHinge(s.world, 0);
    dJointFeedback of_hinge;
    dJointAttach(hinge, ball, 0);
    dJointSetHingeAnchor(hinge, 0, 0, 0.6);
    dJointSetHingeAxis(hinge, 0, 1, 0);
    dJointSetFeedback(hinge, &of_hinge);
    run(&s, 2);
    ck_assert_double_eq_tol(dBodyGetPosition(ball)[2], RADIUS, 1e-6);
    ck_assert_double_lt(kinetic_energy(ball), 1e-12);
    double sum = of_hinge.f1[2];
    for (int i = 0; i < s.contacts; i++) {
        sum += s.feedback[i].f1[2];
    }
    ck_assert_double_eq_tol(sum, G, 1e-6 * G);
    close_scene(&s);
}
END_TEST

// Mean forces of the contacts are the change of momentum, up to the kink where the box stops.
START_TEST(feedback_is_the_change_of_momentum)
{
    scene s = open_scene(steps[_i], 0.3, 0);
    s.floor = add_floor(s.space, PLANE);
    dBodyID box = add_box(&s, 0.2, 0.2, 0.1, 0, 0.05);
    dBodySetLinearVel(box, 0.6, 0.2, 0);
    for (int k = 0; k < 0.4 / s.step; k++) {
        const dReal *v = dBodyGetLinearVel(box);
        double before[3] = {v[0], v[1], v[2]}, sum[3] = {0, 0, -G};
        step(&s);
        for (int i = 0; i < s.contacts; i++) {
            for (int j = 0; j < 3; j++) {
                sum[j] += s.feedback[i].f1[j];
            }
        }
        for (int j = 0; j < 3; j++) {
            ck_assert_double_eq_tol(v[j] - before[j], s.step * sum[j], 5e-5);
        }
    }
    close_scene(&s);
}
END_TEST

// Thin ones that spin, at up to 100 times their size a step.
START_TEST(nothing_passes_a_sheet)
{
    scene s = open_scene(steps[_i % STEPS], 0, 0);
    s.floor = add_floor(s.space, MESH);
    dGeomID geom[] = {dCreateSphere(s.space, 0.01), dCreateBox(s.space, 0.03, 0.02, 0.01),
                      dCreateCapsule(s.space, 0.01, 0.03), dCreateCylinder(s.space, 0.01, 0.03)};
    dBodyID body[4];
    for (int k = 0; k < 4; k++) {
        dMass mass;
        dMassSetBoxTotal(&mass, 0.01, 0.03, 0.02, 0.02);
        body[k] = add(&s, geom[k], &mass, 0.123 + 0.3 * k, 1.33);
        dBodySetLinearVel(body[k], 0, 0, _i / STEPS ? -100 : -30);
        dBodySetAngularVel(body[k], 10, 5, 3);
    }
    run(&s, 0.1);
    for (int k = 0; k < 4; k++) {
        ck_assert_double_gt(dBodyGetPosition(body[k])[2], 0);
    }
    close_scene(&s);
}
END_TEST

static double hill(double x, double y)
{
    return 0.1 * sin(x) * cos(0.8 * y);
}

static dReal height_at(void *data, int i, int j)
{
    const double *cell = data;
    return hill((i - 50) * *cell, (j - 50) * *cell);
}

// An edge of a box lifts, and weight takes it back: forces that would jump where it ceases to touch
// cost 14 steps of the integrator.
START_TEST(box_rocks)
{
    scene s = open_scene(steps[_i], 0.5, 0);
    const double spin = 0.3 * s.step;
    dCreatePlane(s.space, 0, 0, 1, 0);
    dBodyID box = add_box(&s, 0.2, 0.2, 0.2, 0, 0.1);
    dBodySetAngularVel(box, 0, spin, 0);
    dBodySetLinearVel(box, 0.1 * spin, 0, 0.1 * spin);
    step(&s);
    ck_assert_int_le(statistics_of(s.world).ess_steps, 7);
    run(&s, 40 * s.step);
    ck_assert_int_le(statistics_of(s.world).ess_steps, 50);
    ck_assert_double_eq_tol(dBodyGetPosition(box)[2], 0.1, 1e-9);
    close_scene(&s);
}
END_TEST

// A box slides and tips on edges of a heightfield that cross its own.
START_TEST(box_crosses_edges_of_hills)
{
    double cell = 0.2, most = 0;
    scene s = open_scene(steps[_i], 0.8, 0);
    dMatrix3 up;
    dHeightfieldDataID heights = dGeomHeightfieldDataCreate();
    dGeomHeightfieldDataBuildCallback(heights, &cell, height_at, 100 * cell, 100 * cell, 101, 101,
                                      1, 0, 0.5, 0);
    dGeomHeightfieldDataSetBounds(heights, -1, 1);
    dRFromAxisAndAngle(up, 1, 0, 0, PI / 2);
    dGeomSetRotation(dCreateHeightfield(s.space, heights, 1), up);
    dBodyID box = add_box(&s, 0.2, 0.2, 0.2, 0, 0);
    dBodySetPosition(box, -0.73, -0.77, hill(-0.73, -0.77) + 0.13);
    dBodySetLinearVel(box, 1, 0.3, 0);
    double energy = energy_of(&s, box);
    for (int k = 0; k < 1.5 / s.step; k++) {
        step(&s);
        most = fmax(most, energy_of(&s, box) - energy);
        energy = energy_of(&s, box);
    }
    ck_assert_double_lt(most, 1e-5);
    close_scene(&s);
    dGeomHeightfieldDataDestroy(heights);
}
END_TEST

static Suite *rigid_suite(void)
{
    Suite *suite = suite_create("method_ess_rigid");
    ADD_TESTS(suite, "one body", {box_sticks_on_a_slope, FLOORS * STEPS},
              {box_slides_down_a_slope, FLOORS * STEPS}, {box_slides_to_rest, FLOORS * STEPS},
              {box_slides_over_tiles, 3 * (STEPS + 1)}, {friction_of_a_force, STEPS},
              {walls_do_not_brake_what_falls, FLOORS * STEPS}, {walls_do_not_brake_a_bounce, STEPS},
              {box_skates, STEPS}, {ball_rolls_over_edges, 2 * STEPS},
              {ball_slides_then_rolls, FLOORS * STEPS}, {rolling_friction_slows_a_ball, STEPS},
              {tall_box_tips, STEPS}, {disc_rolls, 2 * STEPS}, {wheel_rolls_over_edges, 2 * STEPS},
              {box_falls_flat, FLOORS * STEPS}, {tumbling_box_gains_nothing, STEPS},
              {nothing_passes_a_sheet, 2 * STEPS}, {box_crosses_edges_of_hills, STEPS},
              {box_rocks, STEPS}, {box_rests_without_cfm, STEPS});
    ADD_TESTS(suite, "several", {stack_stands, STEPS}, {plank_on_posts_does_not_rattle, STEPS},
              {upper_box_slides_on_the_lower_one, STEPS}, {hinged_ball_rests, STEPS},
              {feedback_is_the_change_of_momentum, STEPS});
    return suite;
}

int main(void)
{
    start_ode();
    return run_suite(rigid_suite());
}
