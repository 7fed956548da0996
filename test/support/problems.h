// Hand-made contact problems. A scene owns the arrays of one problem and of its solution; bodies,
// contacts and rows are added one by one. The measures of a solution are computed here
// from the fields of the problem alone, never by the solvers' own functions.
#ifndef SPRAG_PROBLEMS_H
#define SPRAG_PROBLEMS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "problem.h"
#include "result.h"

enum { BODIES_MAX = 64, CONTACTS_MAX = 768, ROWS_MAX = 256 };

#define G 9.81    // m/s^2
#define STEP 0.01 // s

typedef struct scene {
    sprag_problem problem;
    sprag_solution solution;
    sprag_stats stats;
    sprag_body body[BODIES_MAX];
    sprag_contact contact[CONTACTS_MAX];
    sprag_turning turning[CONTACTS_MAX]; // of the contacts that have been given some
    sprag_row row[ROWS_MAX];
    double velocity[BODIES_MAX][6], contact_force[CONTACTS_MAX][6], row_force[ROWS_MAX];
    double row_rate[ROWS_MAX];
} scene;

// ---- chance, the same in every run

typedef struct chance {
    uint64_t state;
} chance;

static inline double uniform(chance *c, double low, double high)
{
    c->state = c->state * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(c->state >> 11) * 0x1p-53;
}

static inline int pick(chance *c, int count)
{
    return (int)uniform(c, 0, count);
}

// ---- vectors

static inline double dot(const double *a, const double *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

static inline void cross(const double *a, const double *b, double *c)
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

static inline void random_direction(chance *c, double *n)
{
    double length;
    do {
        for (int k = 0; k < 3; k++) {
            n[k] = uniform(c, -1, 1);
        }
        length = sqrt(dot(n, n, 3));
    } while (length > 1 || length < 0.1);
    for (int k = 0; k < 3; k++) {
        n[k] /= length;
    }
}

// ---- building

static inline void open_scene(scene *s)
{
    memset(s, 0, sizeof *s);
    s->problem =
        (sprag_problem){.step = STEP, .body = s->body, .contact = s->contact, .row = s->row};
    s->solution = (sprag_solution){.velocity = s->velocity,
                                   .contact_force = s->contact_force,
                                   .row_force = s->row_force,
                                   .row_rate = s->row_rate};
}

// A box, parallel to the axes, at rest.
static inline int add_box(scene *s, double mass, double x, double y, double z)
{
    sprag_body *body = &s->body[s->problem.bodies];
    *body = (sprag_body){.mass = mass};
    body->inertia[0] = mass * (y * y + z * z) / 12;
    body->inertia[4] = mass * (z * z + x * x) / 12;
    body->inertia[8] = mass * (x * x + y * y) / 12;
    return s->problem.bodies++;
}

static inline int add_cube(scene *s, double mass)
{
    return add_box(s, mass, 1, 1, 1);
}

// Without friction and bias, at the centres, first tangent as near to +x (+y) as the normal lets
// it.
static inline sprag_contact *add_contact(scene *s, int body0, int body1, const double normal[3])
{
    sprag_contact *contact = &s->contact[s->problem.contacts++];
    *contact = (sprag_contact){.body = {body0, body1}, .softening = 1, .guess = {-1}};
    double(*frame)[3] = contact->frame;
    memcpy(frame[0], normal, sizeof frame[0]);
    int axis = fabs(normal[0]) < 0.9 ? 0 : 1;
    double length = sqrt(1 - normal[axis] * normal[axis]);
    for (int k = 0; k < 3; k++) {
        frame[1][k] = ((k == axis) - normal[axis] * normal[k]) / length;
    }
    cross(frame[0], frame[1], frame[2]);
    return contact;
}

// On the ground or another body below: normal +z, tangents +x and +y.
static inline sprag_contact *add_ground(scene *s, int body, double mu)
{
    sprag_contact *contact = add_contact(s, body, SPRAG_STATIC, (double[]){0, 0, 1});
    contact->slide.coefficient[0] = contact->slide.coefficient[1] = mu;
    return contact;
}

static inline sprag_turning *turning_of(scene *s, sprag_contact *contact)
{
    sprag_turning *turning = &s->turning[contact - s->contact];
    contact->turning = turning;
    return turning;
}

// Kinds of friction and contact laws, by number.
enum { KINDS = 13 };

static inline void set_kind(scene *s, sprag_contact *contact, int kind)
{
    sprag_turning *turning = turning_of(s, contact);
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

// A cube stands on another, or on the ground, with its four corners.
static inline void stand(scene *s, int upper, int lower, double mu)
{
    for (int i = 0; i < 4; i++) {
        double x = i & 1 ? 0.5 : -0.5, y = i & 2 ? 0.5 : -0.5;
        sprag_contact *contact = add_ground(s, upper, mu);
        contact->body[1] = lower;
        memcpy(contact->arm[0], (double[]){x, y, -0.5}, sizeof contact->arm[0]);
        memcpy(contact->arm[1], (double[]){x, y, 0.5}, sizeof contact->arm[1]);
    }
}

// Unbounded; the jacobian is left to the caller.
static inline sprag_row *add_row(scene *s, int body0, int body1)
{
    sprag_row *row = &s->row[s->problem.rows++];
    *row = (sprag_row){.body = {body0, body1}, .lo = -INFINITY, .hi = INFINITY};
    return row;
}

// Along an axis (3 to 5: about it) of the world.
static inline sprag_row *add_axis_row(scene *s, int body, int axis)
{
    sprag_row *row = add_row(s, body, SPRAG_STATIC);
    row->jacobian[0][axis] = 1;
    return row;
}

// Free velocities from velocities, under gravity.
static inline void fall(scene *s)
{
    for (int b = 0; b < s->problem.bodies; b++) {
        memcpy(s->body[b].free_velocity, s->body[b].velocity, sizeof s->body[b].velocity);
        if (s->body[b].mass > 0) {
            s->body[b].free_velocity[2] -= G * s->problem.step;
        }
    }
}

static inline void push(scene *s, int body, double fx, double fy, double fz)
{
    double f[3] = {fx, fy, fz};
    for (int k = 0; k < 3; k++) {
        s->body[body].free_velocity[k] += s->problem.step * f[k] / s->body[body].mass;
    }
}

// Torque, for an inertia that is diagonal.
static inline void turn(scene *s, int body, double tx, double ty, double tz)
{
    double t[3] = {tx, ty, tz};
    for (int k = 0; k < 3; k++) {
        s->body[body].free_velocity[3 + k] += s->problem.step * t[k] / s->body[body].inertia[4 * k];
    }
}

// From the solution of one step to the problem of the next.
static inline void next_step(scene *s)
{
    for (int b = 0; b < s->problem.bodies; b++) {
        memcpy(s->body[b].velocity, s->velocity[b], sizeof s->velocity[b]);
    }
    fall(s);
}

// ---- random piles

static inline void random_inertia(chance *c, double mass, double *inertia)
{
    double e[3][3], moment[3];
    random_direction(c, e[0]);
    double other[3], length;
    do {
        random_direction(c, other);
        cross(e[0], other, e[1]);
        length = sqrt(dot(e[1], e[1], 3));
    } while (length < 0.1);
    for (int k = 0; k < 3; k++) {
        e[1][k] /= length;
    }
    cross(e[0], e[1], e[2]);
    for (int k = 0; k < 3; k++) { // of a box with sides of 0.5 to 1.2 m
        moment[k] = mass * (uniform(c, 0.25, 1.44) + uniform(c, 0.25, 1.44)) / 12;
    }
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j <= i; j++) {
            double sum = 0;
            for (int k = 0; k < 3; k++) {
                sum += moment[k] * e[k][i] * e[k][j];
            }
            inertia[3 * i + j] = inertia[3 * j + i] = sum;
        }
    }
}

// One to three points of one patch, at distance 0.5 m of both centres.
static inline void add_patch(scene *s, chance *c, int body0, int body1, const double *normal,
                             double mu, bool bias)
{
    int points = 1 + pick(c, 3);
    double friction = uniform(c, 0.5, 1) * mu, depth = uniform(c, 0, 0.5);
    for (int p = 0; p < points && s->problem.contacts < CONTACTS_MAX; p++) {
        sprag_contact *contact = add_contact(s, body0, body1, normal);
        double a = uniform(c, -0.4, 0.4), b = uniform(c, -0.4, 0.4);
        for (int k = 0; k < 3; k++) {
            double aside = a * contact->frame[1][k] + b * contact->frame[2][k];
            contact->arm[0][k] = aside - 0.5 * normal[k];
            contact->arm[1][k] = aside + 0.5 * normal[k];
        }
        contact->slide.coefficient[0] = contact->slide.coefficient[1] = friction;
        contact->bias = bias ? depth : 0;
    }
}

// Bodies of 0.1 to 10 kg strewn into a cube until they overlap, on the ground or near it, as fast
// as `speed`.
static inline void add_pile(scene *s, uint64_t seed, int bodies, double mu, double speed, bool bias)
{
    chance c = {seed};
    double x[BODIES_MAX][3], side = 0.8 * cbrt(bodies);
    uniform(&c, 0, 1);
    for (int b = 0; b < bodies; b++) {
        double mass = pow(10, uniform(&c, -1, 1));
        add_cube(s, mass);
        random_inertia(&c, mass, s->body[b].inertia);
        for (int k = 0; k < 3; k++) {
            x[b][k] = uniform(&c, 0, side);
            s->body[b].velocity[k] = uniform(&c, -speed, speed);
            s->body[b].velocity[3 + k] = uniform(&c, -speed, speed);
        }
        x[b][2] = fmax(x[b][2], 0.4);
    }
    for (int b = 0; b < bodies; b++) {
        if (x[b][2] < 0.6 || b == 0) {
            add_patch(s, &c, b, SPRAG_STATIC, (double[]){0, 0, 1}, mu, bias);
        }
        for (int a = 0; a < b; a++) {
            double n[3], distance;
            for (int k = 0; k < 3; k++) {
                n[k] = x[b][k] - x[a][k];
            }
            distance = sqrt(dot(n, n, 3));
            for (int k = 0; k < 3; k++) {
                n[k] /= distance;
            }
            if (distance < 1) {
                add_patch(s, &c, b, a, n, mu, bias);
            }
        }
    }
    fall(s);
}

// ---- measuring

// Relative velocity of a contact under the velocities v: normal, slide 0 1, roll 0 1, spin.
static inline void contact_velocity(const scene *s, int i, const double (*v)[6], double slip[6])
{
    const sprag_contact *contact = &s->contact[i];
    double linear[3] = {0}, angular[3] = {0};
    for (int side = 0; side < 2; side++) {
        int b = contact->body[side];
        double sign = side ? -1 : 1, turned[3];
        if (b != SPRAG_STATIC) {
            const double *w = s->body[b].mass > 0 ? v[b] : s->body[b].velocity;
            cross(w + 3, contact->arm[side], turned);
            for (int k = 0; k < 3; k++) {
                linear[k] += sign * (w[k] + turned[k]);
                angular[k] += sign * w[3 + k];
            }
        }
    }
    for (int i3 = 0; i3 < 3; i3++) {
        slip[i3] = dot(contact->frame[i3], linear, 3);
        slip[3 + (i3 + 2) % 3] = dot(contact->frame[i3], angular, 3);
    }
}

static inline void momentum(const sprag_body *body, const double *v, double *p)
{
    for (int k = 0; k < 3; k++) {
        p[k] = body->mass * v[k];
        p[3 + k] = dot(body->inertia + 3 * k, v + 3, 3);
    }
}

static inline double kinetic_energy(const scene *s, bool free)
{
    double sum = 0;
    for (int b = 0; b < s->problem.bodies; b++) {
        const double *v = free ? s->body[b].free_velocity : s->velocity[b];
        double p[6];
        if (s->body[b].mass > 0) {
            momentum(&s->body[b], v, p);
            sum += dot(p, v, 6) / 2;
        }
    }
    return sum;
}

// Impulses of all contacts and rows on every body, by their returned forces.
static inline void sum_impulses(const scene *s, double (*sum)[6])
{
    double h = s->problem.step;
    memset(sum, 0, (size_t)s->problem.bodies * sizeof *sum);
    for (int i = 0; i < s->problem.contacts; i++) {
        const sprag_contact *contact = &s->contact[i];
        const double *f = s->contact_force[i];
        double force[3], torque[3], moment[3];
        for (int k = 0; k < 3; k++) {
            force[k] = f[0] * contact->frame[0][k] + f[1] * contact->frame[1][k] +
                       f[2] * contact->frame[2][k];
            torque[k] = f[5] * contact->frame[0][k] + f[3] * contact->frame[1][k] +
                        f[4] * contact->frame[2][k];
        }
        for (int side = 0; side < 2; side++) {
            double sign = side ? -1 : 1;
            cross(contact->arm[side], force, moment);
            for (int k = 0; k < 3 && contact->body[side] != SPRAG_STATIC; k++) {
                sum[contact->body[side]][k] += h * sign * force[k];
                sum[contact->body[side]][3 + k] += h * sign * (moment[k] + torque[k]);
            }
        }
    }
    for (int i = 0; i < s->problem.rows; i++) {
        for (int side = 0; side < 2; side++) {
            for (int k = 0; k < 6 && s->row[i].body[side] != SPRAG_STATIC; k++) {
                sum[s->row[i].body[side]][k] += h * s->row_force[i] * s->row[i].jacobian[side][k];
            }
        }
    }
}

// |M (v - v*) - impulses|, each component by the root of its mass, relative to the larger of
// |M (v* - v0)| and the impulses. Bodies that keep their velocity take what they are given.
static inline double momentum_error(const scene *s)
{
    double sum[BODIES_MAX][6], error = 0, before = 0, given = 0;
    sum_impulses(s, sum);
    for (int b = 0; b < s->problem.bodies; b++) {
        double change[6], pushed[6], p[6], p0[6];
        for (int k = 0; k < 6; k++) {
            change[k] = s->velocity[b][k] - s->body[b].free_velocity[k];
            pushed[k] = s->body[b].free_velocity[k] - s->body[b].velocity[k];
        }
        momentum(&s->body[b], change, p);
        momentum(&s->body[b], pushed, p0);
        for (int k = 0; k < 6 && s->body[b].mass > 0; k++) {
            double mass = k < 3 ? s->body[b].mass : s->body[b].inertia[4 * (k - 3)];
            error += (p[k] - sum[b][k]) * (p[k] - sum[b][k]) / mass;
            before += p0[k] * p0[k] / mass;
            given += sum[b][k] * sum[b][k] / mass;
        }
    }
    return error > 0 ? sqrt(error / fmax(before, given)) : 0;
}

#endif
