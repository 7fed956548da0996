// Bounces under method=ess: impulses at the moment of the impact, against closed forms.
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "body_motion.h"
#include "floors.h"
#include "join_contacts.h"
#include "program_world.h"
#include "sprag.h"
#include "start.h"
#include "suite.h"

static const double G = 9.81, RADIUS = 0.1; // m/s^2, m

typedef struct scene {
    dWorldID world;
    dSpaceID space;
    dJointGroupID group;
    dSurfaceParameters surface;
    floor_data floor;
} scene;

static scene open_scene(double bounce, double mu)
{
    scene s = {.world = dWorldCreate(),
               .space = dSimpleSpaceCreate(NULL),
               .group = dJointGroupCreate(0),
               .surface = {.mode = dContactBounce | dContactApprox1, .bounce = bounce, .mu = mu}};
    dWorldSetGravity(s.world, 0, 0, -G);
    ck_assert(sprag_world_configure(s.world, "method=ess"));
    return s;
}

static void close_scene(scene *s)
{
    destroy_world(s->world, s->space, s->group);
    free_floor(s->floor);
}

static void touch(void *data, dGeomID a, dGeomID b)
{
    const scene *s = data;
    join_contacts(s->world, s->group, a, b, 8, s->surface, NULL);
}

static void step(scene *s, double h)
{
    dSpaceCollide(s->space, s, touch);
    ck_assert(dWorldStep(s->world, h));
    dJointGroupEmpty(s->group);
}

static dBodyID add_body(scene *s, dGeomID geom, const dMass *mass, double x, double z)
{
    return add_solid(s->world, geom, mass, x, 0, z);
}

static dBodyID add_ball(scene *s, double x, double z)
{
    dMass mass;
    dMassSetSphereTotal(&mass, 1, RADIUS);
    return add_body(s, dCreateSphere(s->space, RADIUS), &mass, x, z);
}

static double energy_of(dBodyID body)
{
    dMass mass;
    dBodyGetMass(body, &mass);
    return kinetic_energy(body) + mass.mass * G * dBodyGetPosition(body)[2];
}

// A step's errors are well below those that the tests with it assert.
static const char *const ACCURATE = "method=ess,ess.tolerance=1e-9";

// ---- one ball

// m, height above rest that a ball of this state reaches.
static double top_of(dBodyID ball)
{
    double v = dBodyGetLinearVel(ball)[2];
    return dBodyGetPosition(ball)[2] - RADIUS + v * v / (2 * G);
}

static const double lengths[] = {1.0 / 60, 0.01, 0.003};
static const double frictions[] = {0, 0.5, dInfinity};

// At any step, on any ground, with any friction, rolling friction and motion of the surface: the
// ball returns to 1 m three times.
START_TEST(elastic_balls_return)
{
    double h = lengths[_i % 3], mu = frictions[_i / 3 % 3], rho = frictions[_i / 9 % 3];
    int ground = _i / 27;
    for (int motion = 0; motion < 4; motion++) {
        scene s = open_scene(1, mu);
        s.surface.mode |= dContactRolling | (motion & 1 ? dContactMotion1 : 0) |
                          (motion & 2 ? dContactMotion2 : 0);
        s.surface.rho = s.surface.rho2 = s.surface.rhoN = rho;
        s.surface.motion1 = 0.5;
        s.surface.motion2 = 0.3;
        s.floor = add_floor(s.space, ground);
        dBodyID ball = add_ball(&s, 0.1, RADIUS + 1);
        for (int k = 0; k * h < 3; k++) {
            step(&s, h);
            ck_assert_double_eq_tol(top_of(ball), 1, 1e-6);
        }
        ck_assert_int_eq(statistics_of(s.world).ess_declined, 0);
        close_scene(&s);
    }
}
END_TEST

// A tumbling box keeps its energy to the tolerance of the integration.
START_TEST(boxes_gain_nothing_on_triangles)
{
    double h = lengths[_i % 2], mu = frictions[_i / 2 % 3];
    scene s = open_scene(1, mu);
    s.floor = add_floor(s.space, MESH + _i / 6 % 2);
    dMass mass;
    dMatrix3 R;
    dMassSetBoxTotal(&mass, 1, 0.2, 0.3, 0.2);
    dBodyID box = add_body(&s, dCreateBox(s.space, 0.2, 0.3, 0.2), &mass, 0.3, 1.3);
    if (_i / 12) {
        dRFromAxisAndAngle(R, 1, 0.3, 0.2, 0.4);
        dBodySetRotation(box, R);
        dBodySetAngularVel(box, 1, 2, 0.5);
    }
    double first = energy_of(box), most = first;
    for (int k = 0; k * h < 4; k++) {
        step(&s, h);
        most = fmax(most, energy_of(box));
    }
    ck_assert_double_lt(most - first, mu == 0 ? 6e-5 : 1e-2); // of 13 J; friction: Newton's law
    ck_assert(mu > 0 || energy_of(box) > first - 0.5);
    close_scene(&s);
}
END_TEST

// The heights of bounces fall by e^2 each. Bouncing ends at t (1 + e) / (1 - e), t the time of the
// fall; the last flights, each shorter than 1/100 of a step, are left out.
START_TEST(bouncing_ends_in_rest)
{
    static const double restitution[] = {0.3, 0.5, 0.9};
    double e = restitution[_i % 3], h = lengths[_i / 3 % 3], fall = sqrt(2 / G);
    double end = fall * (1 + e) / (1 - e), shortest = 0.01 * h;
    scene s = open_scene(e, 0.5);
    ck_assert(sprag_world_configure(s.world, ACCURATE));
    s.floor = add_floor(s.space, _i / 9);
    dBodyID ball = add_ball(&s, 0.1, RADIUS + 1);
    for (double t = h; t < end + 1; t += h) {
        step(&s, h);
        // The bounce that the ball is in at the time t: number n, at the instants below.
        double next = fall, top = 1, flight = 2 * e * fall;
        while (next < t && flight > shortest) {
            next += flight;
            top *= e * e;
            flight *= e;
        }
        if (t < end - 10 * shortest && flight > shortest) {
            ck_assert_double_eq_tol(top_of(ball), top, 1e-6);
        } else if (t > end + h) {
            ck_assert_double_eq_tol(top_of(ball), 0, 1e-5);
        }
    }
    // The implicit step lowers it to its overlap at rest.
    ck_assert_double_eq_tol(dBodyGetLinearVel(ball)[2], 0, 1e-4);
    close_scene(&s);
}
END_TEST

// A sticking bounce of a solid ball takes 2/7 of its slip at the point of contact.
START_TEST(spinning_balls_bounce_by_closed_form)
{
    scene s = open_scene(1, _i ? dInfinity : 0.1);
    s.floor = add_floor(s.space, PLANE);
    dWorldSetGravity(s.world, 0, 0, 0);
    dBodyID ball = add_ball(&s, 0, RADIUS + 0.013);
    dBodySetLinearVel(ball, 3, 0, -2);
    dBodySetAngularVel(ball, 0, -5, 0);
    for (int k = 0; k < 5; k++) {
        step(&s, 0.01);
    }
    double slip = 3 + 5 * RADIUS, change = _i ? 2 * slip / 7 : 0.1 * 2 * 2;
    ck_assert_double_eq_tol(dBodyGetLinearVel(ball)[2], 2, 1e-8);
    ck_assert_double_eq_tol(dBodyGetLinearVel(ball)[0], 3 - change, 1e-5);
    ck_assert_double_eq_tol(dBodyGetAngularVel(ball)[1], -5 + change / (0.4 * RADIUS), 1e-4);
    close_scene(&s);
}
END_TEST

// A soft ball lands and rolls over the seams of a mesh or heightfield as on a plane.
START_TEST(rolling_over_seams_is_as_on_a_plane)
{
    dBodyID ball[2];
    scene s[2];
    for (int i = 0; i < 2; i++) {
        s[i] = open_scene(0, 0.5);
        ck_assert(sprag_world_configure(s[i].world, ACCURATE));
        s[i].surface.mode = dContactApprox1 | dContactSoftERP | dContactSoftCFM;
        s[i].surface.soft_erp = 0.9; // 1e4 N/m at 10 ms
        s[i].surface.soft_cfm = 0.9 / (0.01 * 1e4);
        s[i].floor = add_floor(s[i].space, i ? MESH + _i : PLANE);
        ball[i] = add_ball(&s[i], 0.313, RADIUS + 0.02);
        dBodySetLinearVel(ball[i], -0.7, 0.4, 0); // over the diagonal, and the lines of the field
    }
    for (int k = 0; k < 150; k++) {
        step(&s[0], 0.01);
        step(&s[1], 0.01);
        const dReal *a = dBodyGetPosition(ball[0]), *b = dBodyGetPosition(ball[1]);
        for (int j = 0; j < 3; j++) {
            ck_assert_double_eq_tol(a[j], b[j], 4e-6);
        }
    }
    close_scene(&s[0]);
    close_scene(&s[1]);
}
END_TEST

// ---- several bodies

// Newton's cradle of five on hinges: as many leave as come, and the others stay.
START_TEST(cradle_of_five)
{
    enum { BALLS = 5 };
    const double length = 0.5, angle = 0.5;
    int moving = 1 + _i;
    scene s = open_scene(1, 0);
    dBodyID ball[BALLS];
    for (int i = 0; i < BALLS; i++) {
        double x = 2 * RADIUS * i, swung = i < moving ? -angle : 0;
        ball[i] = add_ball(&s, x + length * sin(swung), length * (1 - cos(swung)));
        dJointID joint = dJointCreateHinge(s.world, 0);
        dJointAttach(joint, ball[i], NULL);
        dJointSetHingeAnchor(joint, x, 0, length);
        dJointSetHingeAxis(joint, 0, 1, 0);
    }
    double square = 2 * G * length * (1 - cos(angle)) / (1 + 0.4 * pow(RADIUS / length, 2));
    for (int k = 0; k < 60; k++) {
        step(&s, 0.01);
        if (k < 45) {
            continue; // the first impact is at 0.37 s
        }
        for (int i = 0; i < BALLS; i++) {
            const dReal *v = dBodyGetLinearVel(ball[i]), *at = dBodyGetPosition(ball[i]);
            double expected =
                i < BALLS - moving
                    ? 0
                    : sqrt(square - 2 * G * at[2] / (1 + 0.4 * pow(RADIUS / length, 2)));
            ck_assert_double_eq_tol(hypot(v[0], v[2]), expected, 1e-4);
        }
    }
    close_scene(&s);
}
END_TEST

// Restitution and friction of a rod that hits with its end can make more energy in Newton's law
// (Kane). Here they do not, whatever the friction and the angle.
START_TEST(friction_makes_no_energy)
{
    for (int k = 0; k < 60; k++) {
        scene s = open_scene(1, frictions[_i] + 0.02 * k);
        s.floor = add_floor(s.space, PLANE);
        dWorldSetGravity(s.world, 0, 0, 0);
        dMass mass;
        dMassSetBoxTotal(&mass, 1, 1, 0.05, 0.05);
        dBodyID rod = add_body(&s, dCreateBox(s.space, 1, 0.05, 0.05), &mass, 0, 0.6);
        dMatrix3 R;
        dRFromAxisAndAngle(R, 0.1 * k, 1, 0.05 * k, 0.2 + 0.02 * k);
        dBodySetRotation(rod, R);
        dBodySetLinearVel(rod, 4 - 0.1 * k, 0.03 * k, -2);
        dBodySetAngularVel(rod, 0.05 * k, 3 - 0.1 * k, 0);
        double before = energy_of(rod) - G * dBodyGetPosition(rod)[2];
        for (int i = 0; i < 40; i++) {
            step(&s, 0.01);
            double now = energy_of(rod) - G * dBodyGetPosition(rod)[2];
            ck_assert_double_le(now, before * (1 + 1e-6));
        }
        close_scene(&s);
    }
}
END_TEST

// Balls that fall on one another while others rest. Elastic ones keep their energy. Others come to
// rest, with implicit steps between their impacts; what these correct adds no more than 0.003 J.
START_TEST(columns_gain_nothing)
{
    enum { BALLS = 4 };
    static const double restitution[] = {1, 0.7, 0.3};
    scene s = open_scene(restitution[_i % 3], frictions[_i / 3]);
    s.floor = add_floor(s.space, PLANE);
    dBodyID ball[BALLS];
    for (int i = 0; i < BALLS; i++) {
        ball[i] = add_ball(&s, 0.007 * (i % 3), 0.15 + 0.45 * i);
    }
    double first = 0, last;
    for (int k = 0; k < 400; k++) {
        double sum = 0;
        for (int i = 0; i < BALLS; i++) {
            sum += energy_of(ball[i]);
        }
        first = k == 0 ? sum : first;
        last = k == 0 ? sum : last;
        ck_assert_double_le(sum, last + (_i % 3 ? 0.003 : 1e-6));
        last = sum;
        step(&s, 0.01);
    }
    if (_i == 0) {
        ck_assert_double_eq_tol(last, first, 1e-6);
    }
    close_scene(&s);
}
END_TEST

// Events tell of each impact, and of where it leaves.
START_TEST(impacts_are_events)
{
    scene s = open_scene(0.5, 0);
    s.floor = add_floor(s.space, PLANE);
    add_ball(&s, 0, RADIUS + 1);
    int made = 0, lost = 0;
    for (int k = 0; k < 90; k++) { // two impacts, at 0.45 and 0.90 s
        sprag_world_event event[4];
        step(&s, 0.01);
        int count = sprag_world_events(s.world, event, 4);
        for (int i = 0; i < count; i++) {
            if (event[i].kind == SPRAG_EVENT_CONTACT_MADE) {
                ck_assert_double_eq_tol(event[i].speed, sqrt(2 * G), 1e-6);
                ck_assert_double_eq_tol(0.01 * k + event[i].time, sqrt(2 / G), 1e-8);
                made++;
            } else if (event[i].kind == SPRAG_EVENT_CONTACT_LOST) {
                ck_assert_double_eq_tol(event[i].speed, sqrt(2 * G) / 2, 1e-6);
                lost++;
            }
        }
    }
    ck_assert_int_eq(made, 1);
    ck_assert_int_eq(lost, 1);
    close_scene(&s);
}
END_TEST

// A ball that sinks slower than its surface recedes feels no impulse. It gets a law where it
// touches, or each bit of further overlap would be an impact, up to the limit of work.
START_TEST(receding_surfaces_are_no_impacts)
{
    scene s = open_scene(0.5, 0);
    s.surface.mode |= dContactMotionN;
    s.surface.motionN = -0.5;
    dWorldSetGravity(s.world, 0, 0, 0);
    dCreatePlane(s.space, 0, 0, 1, 0);
    dBodyID ball = add_ball(&s, 0, RADIUS + 1e-3);
    dBodySetLinearVel(ball, 0, 0, -0.2);
    step(&s, 0.01);
    ck_assert_double_eq_tol(dBodyGetLinearVel(ball)[2], -0.2, 1e-6);
    ck_assert_double_eq_tol(dBodyGetPosition(ball)[2], RADIUS - 1e-3, 1e-8);
    ck_assert_int_eq(statistics_of(s.world).ess_switched, 1);
    close_scene(&s);
}
END_TEST

// A contact that the program makes without geoms acts at the start of the step, and is no reason to
// leave the integrator if nothing touches afterwards.
START_TEST(contacts_without_geoms_rebound_in_the_integrator)
{
    scene s = open_scene(0.5, 0);
    dMass mass;
    dContact contact = {.surface = s.surface, .geom = {.normal = {0, 0, 1}}};
    dBodyID body = dBodyCreate(s.world);
    dMassSetSphereTotal(&mass, 1, RADIUS);
    dBodySetMass(body, &mass);
    dBodySetPosition(body, 0, 0, RADIUS);
    dBodySetLinearVel(body, 0, 0, -5);
    dJointAttach(dJointCreateContact(s.world, s.group, &contact), body, 0);
    step(&s, 0.01);
    ck_assert_double_eq_tol(dBodyGetLinearVel(body)[2], 2.5 - G * 0.01, 1e-4);
    ck_assert_int_eq(statistics_of(s.world).ess_declined, 0);
    close_scene(&s);
}
END_TEST

// A lattice of balls that meet one another hundreds of times in a step: each rebound is one of two
// balls, and none is left to the implicit step.
START_TEST(lattices_keep_their_energy)
{
    enum { SIDE = 6, BALLS = SIDE * SIDE * SIDE };
    const double h = lengths[_i], apart = 2.1 * RADIUS;
    scene s = open_scene(1, 0);
    dBodyID ball[BALLS];
    double first = 0;
    dCreatePlane(s.space, 0, 0, 1, 0);
    for (int i = 0; i < BALLS; i++) {
        const double *at = (const double[]){i / (SIDE * SIDE), i / SIDE % SIDE, i % SIDE};
        ball[i] = add_ball(&s, 0, 0);
        dBodySetPosition(ball[i], apart * at[0] + 1e-3 * fmod(0.618034 * i, 1),
                         apart * at[1] + 1e-3 * fmod(0.414214 * i, 1),
                         1 + RADIUS + apart * at[2] + 1e-3 * fmod(0.732051 * i, 1));
        first += energy_of(ball[i]);
    }
    for (int k = 0; k * h < 0.6; k++) {
        double energy = 0;
        step(&s, h);
        for (int i = 0; i < BALLS; i++) {
            energy += energy_of(ball[i]);
        }
        ck_assert_double_eq_tol(energy / first, 1, 1e-8);
    }
    const sprag_world_statistics statistics = statistics_of(s.world);
    ck_assert_int_eq(statistics.ess_declined, 0);
    ck_assert_int_eq(statistics.ess_switched, 0);
    ck_assert_int_gt(statistics.ess_events, 1000);
    close_scene(&s);
}
END_TEST

static Suite *bounces_suite(void)
{
    Suite *suite = suite_create("bounces");
    ADD_TESTS(suite, "one", {elastic_balls_return, 27 * FLOORS},
              {bouncing_ends_in_rest, 9 * FLOORS}, {spinning_balls_bounce_by_closed_form, 2},
              {boxes_gain_nothing_on_triangles, 24}, {impacts_are_events, 1},
              {receding_surfaces_are_no_impacts, 1}, {rolling_over_seams_is_as_on_a_plane, 2},
              {contacts_without_geoms_rebound_in_the_integrator, 1});
    ADD_TESTS(suite, "several", {cradle_of_five, 3}, {friction_makes_no_energy, 3},
              {columns_gain_nothing, 9}, {lattices_keep_their_energy, 3});
    return suite;
}

int main(void)
{
    start_ode();
    dSetMessageHandler(quiet);
    return run_suite(bounces_suite());
}
