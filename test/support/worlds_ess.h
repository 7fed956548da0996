// ODE worlds of contacts that yield, with exact or converged answers, for the tests and the bench.
#ifndef SPRAG_WORLDS_ESS_H
#define SPRAG_WORLDS_ESS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ode/ode.h>

#include "body_motion.h"
#include "ess.h"
#include "program_world.h"
#include "sprag.h"

static const double ESS_G = 9.81;

// Material of a contact. Stock has no stiffness and gets the equivalent ERP and CFM.
typedef struct material {
    double stiffness, dissipation; // N/m, s/m
    double friction, stiction;     // 1, m/s
    double bounce;                 // negative: none
} material;

typedef struct yielding {
    dWorldID world;
    dSpaceID space;
    dJointGroupID group;
    material made_of;
    bool stock;
    double step, bounce_speed; // s, m/s
    dBodyID *body;
    int bodies;
    dJointFeedback *feedback; // of the first contact of a step, NULL: not wanted
    int feedbacks_set;        // contacts of this step that have feedback
} yielding;

static inline yielding *yielding_open(const char *options, material made_of, double step)
{
    yielding *y = calloc(1, sizeof *y);
    if (!y) {
        abort();
    }
    y->world = dWorldCreate();
    y->space = dSimpleSpaceCreate(NULL);
    y->group = dJointGroupCreate(0);
    y->made_of = made_of;
    y->step = step;
    y->stock = strstr(options, "method=ode") != NULL;
    dWorldSetGravity(y->world, 0, 0, -ESS_G);
    if (!sprag_world_configure(y->world, options)) {
        fprintf(stderr, "%s\n", sprag_error());
        abort();
    }
    return y;
}

static inline void yielding_close(yielding *y)
{
    destroy_world(y->world, y->space, y->group);
    free(y->body);
    free(y);
}

static inline dBodyID yielding_body(yielding *y, const dMass *mass, dGeomID geom, double x,
                                    double up_y, double z)
{
    dBodyID body = dBodyCreate(y->world);
    dBodySetMass(body, mass);
    dBodySetPosition(body, x, up_y, z);
    if (geom) {
        dGeomSetBody(geom, body);
    }
    y->body = realloc(y->body, ((size_t)y->bodies + 1) * sizeof *y->body);
    if (!y->body) {
        abort();
    }
    y->body[y->bodies++] = body;
    return body;
}

static inline dBodyID yielding_ball(yielding *y, double m, double radius, double x, double up_y,
                                    double z)
{
    dMass mass;
    dMassSetSphereTotal(&mass, m, radius);
    return yielding_body(y, &mass, dCreateSphere(y->space, radius), x, up_y, z);
}

static inline void yielding_touch(void *data, dGeomID a, dGeomID b)
{
    yielding *y = data;
    enum { MOST = 8 };
    dContactGeom geom[MOST];
    int count = dCollide(a, b, MOST, geom, sizeof geom[0]);
    const material *m = &y->made_of;
    for (int i = 0; i < count; i++) {
        dContact contact = {.geom = geom[i],
                            .surface = {.mode = dContactApprox1, .mu = m->friction}};
        dSurfaceParameters *s = &contact.surface;
        if (m->bounce >= 0) {
            s->mode |= dContactBounce;
            s->bounce = m->bounce;
            s->bounce_vel = y->bounce_speed;
        }
        if (y->stock && m->stiffness > 0 && m->bounce < 0) {
            s->mode |= dContactSoftERP | dContactSoftCFM;
            s->soft_erp = 1; // a damper without Hunt's and Crossley's overlap there is none
            s->soft_cfm = 1 / (y->step * m->stiffness);
        } else if (m->stiffness > 0 && !y->stock) {
            sprag_surface_set_stiffness(s, m->stiffness);
            sprag_surface_set_dissipation(s, m->dissipation);
            sprag_surface_set_stiction(s, m->stiction);
        }
        dJointID joint = dJointCreateContact(y->world, y->group, &contact);
        dJointAttach(joint, dGeomGetBody(a), dGeomGetBody(b));
        if (y->feedback && y->feedbacks_set == 0) {
            memset(y->feedback, 0, sizeof *y->feedback);
            dJointSetFeedback(joint, y->feedback);
            y->feedbacks_set++;
        }
    }
}

static inline void yielding_step(yielding *y)
{
    dJointGroupEmpty(y->group);
    y->feedbacks_set = 0;
    dSpaceCollide(y->space, y, yielding_touch);
    dWorldStep(y->world, y->step);
}

static inline double yielding_energy(const yielding *y) // kinetic and potential, not of springs
{
    double sum = 0;
    for (int i = 0; i < y->bodies; i++) {
        dMass mass;
        dBodyGetMass(y->body[i], &mass);
        sum += kinetic_energy(y->body[i]) + mass.mass * ESS_G * dBodyGetPosition(y->body[i])[2];
    }
    return sum;
}

// ---- hopper: a ball of radius 1 m and 1 kg, 1000 N/m, dropped from 0.5 m above touch

enum { HOPPER_STIFFNESS = 1000 };
static const double hopper_drop = 0.5;

static inline yielding *hopper_open(const char *options, double step)
{
    yielding *y = yielding_open(options, (material){HOPPER_STIFFNESS, .bounce = -1}, step);
    dCreatePlane(y->space, 0, 0, 1, 0);
    yielding_ball(y, 1, 1, 0, 0, 1 + hopper_drop);
    return y;
}

// Height, without dissipation: parabolas and arcs of a sine.
static inline double hopper_height(double t)
{
    double w = sqrt(HOPPER_STIFFNESS), sag = ESS_G / HOPPER_STIFFNESS;
    double fall = sqrt(2 * hopper_drop / ESS_G), v = ESS_G * fall;
    double phase = atan2(v / w, sag), stance = (2 * acos(-1) - 2 * phase) / w;
    double since = fmod(t, 2 * fall + stance);
    if (since > fall + stance) {
        since = 2 * fall + stance - since; // as on the way down
    }
    if (since < fall) {
        return 1 + hopper_drop - ESS_G * since * since / 2;
    }
    return 1 - sag + hypot(sag, v / w) * cos(w * (since - fall) + phase);
}

// ---- a ball that flies into a wall, without gravity: exact speed of rebound

static inline double exact_rebound(double speed, double dissipation)
{
    double d = dissipation, lo = 0, hi = fmin(speed, (1 - 1e-12) / d);
    double given = speed / d - log1p(d * speed) / (d * d); // F(-v)
    for (int i = 0; i < 200; i++) {
        double v = (lo + hi) / 2;
        *(-v / d - log1p(-d * v) / (d * d) < given ? &lo : &hi) = v;
    }
    return lo;
}

// ---- plate on a bed of springs: a box of 10 kg on tips (balls), along a line

static const double plate_half = 0.5, tip_radius = 0.01; // m
static const double plate_mass = 10, plate_inertia = 30; // kg, kg m^2

typedef struct springs {
    int count;
    double stiffness, dissipation; // of each, N/m, s/m
} springs;

static inline double tip_at(const springs *s, int i)
{
    return -0.5 + (double)i / (s->count - 1);
}

static const double plate_start[6] = {0.01, 1.06, 0.03, 0, 0, 0}; // x, z, theta and rates

static inline yielding *plate_open(const char *options, const springs *s, double step)
{
    yielding *y =
        yielding_open(options, (material){s->stiffness, s->dissipation, .bounce = -1}, step);
    dMass mass;
    dMassSetParameters(&mass, plate_mass, 0, 0, 0, 1000, plate_inertia, 1000, 0, 0, 0);
    dBodyID plate = yielding_body(y, &mass, dCreateBox(y->space, 4, 1, 2 * plate_half),
                                  plate_start[0], 0, plate_start[1] + plate_half);
    dMatrix3 R;
    dRFromAxisAndAngle(R, 0, 1, 0, plate_start[2]);
    dBodySetRotation(plate, R);
    dBodySetLinearVel(plate, plate_start[3], 0, plate_start[4]);
    for (int i = 0; i < s->count; i++) {
        dGeomSetPosition(dCreateSphere(y->space, tip_radius), tip_at(s, i), 0, 1 - tip_radius);
    }
    return y;
}

// The same as a generic event-selected system, by hand: x, z (of the centre), theta, rates.
static inline double plate_overlap(const springs *s, const double *x, int i, double n[2],
                                   double at[2])
{
    n[0] = sin(x[2]), n[1] = cos(x[2]); // up, out of the plate's back
    double from[2] = {x[0] - tip_at(s, i), x[1] - (1 - tip_radius)};
    double gap = from[0] * n[0] + from[1] * n[1] - plate_half - tip_radius;
    double reach = tip_radius + gap / 2; // midway between the points
    at[0] = tip_at(s, i) + reach * n[0];
    at[1] = 1 - tip_radius + reach * n[1];
    return -gap;
}

static inline void plate_field(void *user, const double *x, const double *label, double *f)
{
    const springs *s = user;
    f[0] = x[3], f[1] = x[4], f[2] = x[5];
    f[3] = 0, f[4] = -ESS_G, f[5] = 0;
    for (int i = 0; i < s->count; i++) {
        if (label[i] == 0) {
            continue;
        }
        double n[2], at[2], deep = plate_overlap(s, x, i, n, at);
        double arm[2] = {at[0] - x[0], at[1] - x[1]};
        // turning about y takes z to x
        double apart = n[0] * (x[3] + x[5] * arm[1]) + n[1] * (x[4] - x[5] * arm[0]);
        double N = s->stiffness * fmax(0, deep) * fmax(0, 1 - s->dissipation * apart);
        f[3] += N * n[0] / plate_mass;
        f[4] += N * n[1] / plate_mass;
        f[5] += N * (arm[1] * n[0] - arm[0] * n[1]) / plate_inertia;
    }
}

static inline void plate_guard(void *user, const double *x, const int *which, int count, double *h)
{
    double n[2], at[2];
    for (int i = 0; i < count; i++) {
        h[i] = plate_overlap(user, x, which ? which[i] : i, n, at);
    }
}

// States (6 each) after every step. Ends the program if it cannot be integrated.
static inline void plate_reference(springs *s, double step, int steps, double *state)
{
    double x[6], *label = calloc((size_t)s->count, sizeof *label);
    bool *two_way = calloc((size_t)s->count, sizeof *two_way);
    double *time = calloc((size_t)steps, sizeof *time);
    sprag_scratch scratch = {0};
    char message[256] = "";
    if (!label || !two_way || !time) {
        abort();
    }
    memcpy(x, plate_start, sizeof x);
    x[0] = plate_start[0];
    x[1] = plate_start[1] + plate_half;
    for (int i = 0; i < s->count; i++) {
        label[i] = NAN;
        two_way[i] = true;
    }
    for (int k = 0; k < steps; k++) {
        time[k] = (k + 1) * step;
    }
    sprag_ess_problem problem = {.states = 6,
                                 .guards = s->count,
                                 .user = s,
                                 .field = plate_field,
                                 .guard = plate_guard,
                                 .two_way = two_way};
    sprag_ess_options options = sprag_ess_defaults(step);
    options.mode = SPRAG_ESS_LOCATE;
    options.adaptive = true;
    options.relative_tolerance = options.absolute_tolerance = 1e-12;
    sprag_ess_output output = {.time = time, .times = steps, .state = state};
    if (sprag_ess_integrate(&problem, &options, 0, steps * step, x, label, &output, &scratch, NULL,
                            message, sizeof message) != SPRAG_OK) {
        fprintf(stderr, "the bed cannot be integrated: %s\n", message);
        abort();
    }
    sprag_scratch_free(&scratch);
    free(label);
    free(two_way);
    free(time);
}

// Largest error of the plate's position, m, and angle, rad, against that.
static inline double plate_error(const char *options, springs *s, double step, int steps,
                                 const double *state)
{
    yielding *y = plate_open(options, s, step);
    double error = 0;
    for (int k = 0; k < steps; k++, state += 6) {
        yielding_step(y);
        const dReal *x = dBodyGetPosition(y->body[0]), *R = dBodyGetRotation(y->body[0]);
        error = fmax(error, hypot(x[0] - state[0], x[2] - state[1]));
        error = fmax(error, fabs(atan2(R[2], R[10]) - state[2]));
    }
    yielding_close(y);
    return error;
}

static inline double hopper_error(const char *options, double step, double seconds)
{
    yielding *y = hopper_open(options, step);
    double error = 0;
    int steps = (int)lround(seconds / step);
    for (int k = 1; k <= steps; k++) {
        yielding_step(y);
        error = fmax(error, fabs(dBodyGetPosition(y->body[0])[2] - hopper_height(k * step)));
    }
    yielding_close(y);
    return error;
}

// ---- pendulum: a rod of 1 m on a hinge at its end, let go when it is level

static const double rod_mass = 2, rod_inertia = 2.0 / 12; // kg, kg m^2

static inline yielding *pendulum_open(const char *options, double step)
{
    yielding *y = yielding_open(options, (material){.bounce = -1}, step);
    dMass mass;
    dMassSetParameters(&mass, rod_mass, 0, 0, 0, 0.01, rod_inertia, rod_inertia, 0, 0, 0);
    dBodyID rod = yielding_body(y, &mass, NULL, 0.5, 0, 0);
    dJointID hinge = dJointCreateHinge(y->world, 0);
    dJointAttach(hinge, rod, 0);
    dJointSetHingeAnchor(hinge, 0, 0, 0);
    dJointSetHingeAxis(hinge, 0, 1, 0);
    return y;
}

// Of the rod's centre, against fine steps of Runge and Kutta's.
static inline double pendulum_error(const char *options, double step, double seconds)
{
    yielding *y = pendulum_open(options, step);
    double a = 0, w = 0, error = 0; // below the level
    double pull = rod_mass * ESS_G * 0.5 / (rod_inertia + rod_mass * 0.25);
    int steps = (int)lround(seconds / step), fine = (int)ceil(step / 1e-4);
    for (int k = 0; k < steps; k++) {
        yielding_step(y);
        for (int i = 0; i < fine; i++) {
            double h = step / fine, A[4], W[4], da = 0, dw = 0;
            for (int s = 0; s < 4; s++) {
                double part = s == 0 ? 0 : s == 3 ? h : h / 2;
                A[s] = w + (s ? part * W[s - 1] : 0);
                W[s] = pull * cos(a + (s ? part * A[s - 1] : 0));
                da += h / 6 * (s == 0 || s == 3 ? 1 : 2) * A[s];
                dw += h / 6 * (s == 0 || s == 3 ? 1 : 2) * W[s];
            }
            a += da;
            w += dw;
        }
        const dReal *x = dBodyGetPosition(y->body[0]);
        error = fmax(error, hypot(x[0] - 0.5 * cos(a), x[2] + 0.5 * sin(a)));
    }
    yielding_close(y);
    return error;
}

// Of the speed of rebound, against the exact one.
static inline double rebound_error(const char *options, double step, double stiffness,
                                   double dissipation, double speed)
{
    yielding *y = yielding_open(options, (material){stiffness, dissipation, .bounce = -1}, step);
    dWorldSetGravity(y->world, 0, 0, 0);
    dCreatePlane(y->space, 0, 0, 1, 0);
    dBodyID ball = yielding_ball(y, 1, 0.1, 0, 0, 0.1 + 0.037);
    dBodySetLinearVel(ball, 0, 0, -speed);
    for (int k = 0; k < 1000 && dBodyGetPosition(ball)[2] < 0.2; k++) {
        yielding_step(y);
    }
    double error = fabs(dBodyGetLinearVel(ball)[2] - exact_rebound(speed, dissipation));
    yielding_close(y);
    return error;
}

// ---- 6 x 6 x 6 balls of 0.1 m that fall on a floor and one another, and lose nothing. After
// SimBenchmark's 666; every ball a little off its column.

static inline yielding *elastic_balls_open(const char *options, int side, double step)
{
    material made_of = {.stiffness = 0, .bounce = 1};
    yielding *y = yielding_open(options, made_of, step);
    unsigned long seed = dRandGetSeed();
    dRandSetSeed(666);
    dCreatePlane(y->space, 0, 0, 1, 0);
    for (int i = 0; i < side * side * side; i++) {
        double off[2] = {0.02 * (dRandReal() - 0.5), 0.02 * (dRandReal() - 0.5)};
        yielding_ball(y, 1, 0.1, 0.25 * (i % side) + off[0], 0.25 * (i / side % side) + off[1],
                      0.3 + 0.25 * (i / side / side));
    }
    dRandSetSeed(seed);
    return y;
}

// Energy that the springs of touching balls hold, under method=ess: k is of a quarter of a step.
static inline double elastic_balls_stored(const yielding *y)
{
    double rate = acos(-1) / (0.25 * y->step), sum = 0;
    for (int i = 0; i < y->bodies; i++) {
        const dReal *a = dBodyGetPosition(y->body[i]);
        double deep = fmax(0, 0.1 - a[2]);
        sum += 0.5 * rate * rate * deep * deep;
        for (int j = 0; j < i; j++) {
            const dReal *b = dBodyGetPosition(y->body[j]);
            double apart = sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
                                (a[2] - b[2]) * (a[2] - b[2]));
            deep = fmax(0, 0.2 - apart);
            sum += 0.25 * rate * rate * deep * deep;
        }
    }
    return sum;
}

// Largest and root mean square error of the energy, J, of `first`; with what springs hold.
typedef struct energy_error {
    double first, largest, rms;
} energy_error;

static inline energy_error elastic_balls_error(const char *options, int side, double step,
                                               double seconds, bool springs)
{
    yielding *y = elastic_balls_open(options, side, step);
    energy_error e = {.first = yielding_energy(y)};
    int steps = (int)lround(seconds / step);
    for (int k = 0; k < steps; k++) {
        yielding_step(y);
        double error = yielding_energy(y) + (springs ? elastic_balls_stored(y) : 0) - e.first;
        e.largest = fmax(e.largest, fabs(error));
        e.rms += error * error;
    }
    e.rms = sqrt(e.rms / steps);
    yielding_close(y);
    return e;
}

#endif
