// Order of convergence without contact: a box that tumbles freely, and a pendulum on a hinge. The
// reference is a Runge-Kutta integration of fourth order with steps 1000 times shorter.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench_advance.h"

enum { HALVINGS = 3, FINE = 10000, STATE = 7 };

static const double coarse = 0.02, span = 1; // s

// ---- exact motions: y' = f(y)

typedef void motion_fn(const double *y, double *rate);

static void runge_kutta(motion_fn *f, double *y, int size, double h)
{
    double k[4][STATE], at[STATE];
    static const double share[4] = {0, 0.5, 0.5, 1};
    for (int stage = 0; stage < 4; stage++) {
        for (int i = 0; i < size; i++) {
            at[i] = y[i] + (stage ? h * share[stage] * k[stage - 1][i] : 0);
        }
        f(at, k[stage]);
    }
    for (int i = 0; i < size; i++) {
        y[i] += h / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
    }
}

static const double side[3] = {0.2, 0.6, 1}; // m, mass 1 kg
static const double spin[3] = {0.4, 5, 0.3}; // rad/s, about the middle axis
static const double length = 1, width = 0.1; // m, of the pendulum, hung by its end, level

static double inertia(int k)
{
    return (pow(side[(k + 1) % 3], 2) + pow(side[(k + 2) % 3], 2)) / 12;
}

// y: quaternion (w x y z), angular velocity in the axes of the body.
static void tumble(const double *y, double *rate)
{
    const double *q = y, *w = y + 4;
    rate[0] = (-q[1] * w[0] - q[2] * w[1] - q[3] * w[2]) / 2;
    rate[1] = (q[0] * w[0] + q[2] * w[2] - q[3] * w[1]) / 2;
    rate[2] = (q[0] * w[1] + q[3] * w[0] - q[1] * w[2]) / 2;
    rate[3] = (q[0] * w[2] + q[1] * w[1] - q[2] * w[0]) / 2;
    for (int k = 0; k < 3; k++) {
        int a = (k + 1) % 3, b = (k + 2) % 3;
        rate[4 + k] = (inertia(a) - inertia(b)) * w[a] * w[b] / inertia(k);
    }
}

// y: angle below the level, its rate.
static void swing(const double *y, double *rate)
{
    double about_end = (length * length + width * width) / 12 + length * length / 4;
    rate[0] = y[1];
    rate[1] = SPRAG_GRAVITY * length / 2 * cos(y[0]) / about_end;
}

// ---- the same in ODE

static void free_open(sprag_scene *scene)
{
    dBodyID body = sprag_scene_box(scene, 1, side, 0, 0, 0);
    dBodySetLinearVel(body, 1, 2, 3);
    dBodySetAngularVel(body, spin[0], spin[1], spin[2]);
}

static double free_turn_error(const sprag_scene *scene)
{
    double y[STATE] = {1, 0, 0, 0, spin[0], spin[1], spin[2]}, along = 0;
    for (int k = 0; k < FINE; k++) {
        runge_kutta(tumble, y, 7, span / FINE);
    }
    const dReal *q = dBodyGetQuaternion(scene->body[0]);
    double across = 0;
    for (int k = 0; k < 4; k++) {
        along += q[k] * y[k];
    }
    for (int k = 0; k < 4; k++) {
        across += pow(q[k] - (along < 0 ? -1 : 1) * y[k], 2);
    }
    return 2 * sqrt(across); // rad, for small ones
}

static double free_way_error(const sprag_scene *scene)
{
    const dReal *x = dBodyGetPosition(scene->body[0]);
    const dVector3 exact = {span, 2 * span, 3 * span - SPRAG_GRAVITY * span * span / 2};
    return sprag_distance(x, exact);
}

static void pendulum_open(sprag_scene *scene)
{
    const double sides[3] = {length, width, width};
    dBodyID body = sprag_scene_box(scene, 1, sides, length / 2, 0, 0);
    dJointID joint = dJointCreateHinge(scene->world, 0);
    dJointAttach(joint, body, 0);
    dJointSetHingeAnchor(joint, 0, 0, 0);
    dJointSetHingeAxis(joint, 0, 1, 0);
}

static double pendulum_error(const sprag_scene *scene)
{
    double y[2] = {0, 0};
    for (int k = 0; k < FINE; k++) {
        runge_kutta(swing, y, 2, span / FINE);
    }
    const dReal *x = dBodyGetPosition(scene->body[0]);
    double off = atan2(-x[2], x[0]) - y[0];
    return fabs(remainder(off, 2 * M_PI));
}

typedef struct motion {
    const char *name;
    void (*open)(sprag_scene *);
    double (*error)(const sprag_scene *);
    double exact; // rad, m, of the finest step, where the order is rounding's; 0: not exact
} motion;

static const motion motions[] = {{"free flight, turn", free_open, free_turn_error, 1e-6},
                                 {"free flight, way", free_open, free_way_error, 1e-12},
                                 {"pendulum", pendulum_open, pendulum_error, 0}};

// Collision is asked for, and finds nothing.
static double error_at(const motion *m, double step, const char *options)
{
    advance_world w;
    w.script = (sprag_script){.contacts = 1, .open = m->open};
    w.model = (sprag_model){.name = m->name, .step = step, .script = &w.script};
    advance_world_open(&w, &w.model, 0, options);
    advance_world_run(&w, span);
    double error = m->error(&w.of.scene);
    advance_world_close(&w);
    return error;
}

static double find_order(const motion *m, const char *name, const char *options,
                         double error[HALVINGS])
{
    char figure[64];
    for (int i = 0; i < HALVINGS; i++) {
        double step = coarse / (1 << i);
        error[i] = error_at(m, step, options);
        snprintf(figure, sizeof figure, "%s, error at %g s", name, step);
        row_report(figure, error[i]);
    }
    return log2(error[0] / error[HALVINGS - 1]) / (HALVINGS - 1);
}

void part_order(bool full)
{
    (void)full;
    for (int i = 0; i < (int)(sizeof motions / sizeof *motions); i++) {
        double stock[HALVINGS], ours[HALVINGS];
        row_scene("%s", motions[i].name);
        const double order = find_order(&motions[i], "dWorldStep", "method=ode-step", stock);
        row_report("dWorldStep, order", order);
        row_report("ours, order", find_order(&motions[i], "ours", advance_ours, ours));
        if (motions[i].exact > 0) {
            row_at_most("ours, error at the finest", ours[HALVINGS - 1], motions[i].exact);
        } else {
            row_at_most("error over dWorldStep's, coarsest", ours[0] / stock[0], 0.15);
        }
        row_at_most("error over dWorldStep's, finest", ours[HALVINGS - 1] / stock[HALVINGS - 1],
                    0.75);
    }
}
