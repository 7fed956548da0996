// Problems in generalized coordinates, for test and bench: deterministic ones with known sums, and
// random families. Six velocities a body: x y z, then about x y z.
//
// The families follow the description in words that the figures of the original solver came with
// (its own generator is not public, so the ranges below are ours):
//   BODIES  masses 0.1..10 kg, any inertia; contacts of a body with the ground or with another one,
//           along the axes or any way; hard: k 1e5..1e7, deep, friction mostly 0.8..1.5
//   STACK   a tower of boxes of random sizes and masses, four contacts between two
//   DENSE   mass matrices and jacobians of random numbers
#ifndef SPRAG_PROBLEMS_GENERAL_H
#define SPRAG_PROBLEMS_GENERAL_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "general.h"

// A problem with its arrays, and arrays for its solution: `guess` is to be copied to its velocity.
typedef struct made {
    sprag_general_problem problem;
    sprag_general_solution solution;
    double *mass, *normal, *tangent, *momentum, *friction, *force, *depth, *stiffness, *dissipation;
    double *guess;
    double *memory;
} made;

static inline double *made_part(double **free, size_t count)
{
    double *part = *free;
    *free += count;
    return part;
}

// All zero.
static inline made make(int velocities, int contacts, double step, bool one_way)
{
    size_t nv = (size_t)velocities, nc = (size_t)contacts;
    made m = {.memory = calloc(nv * (nv + 3 * nc + 5) + 11 * nc + 1, sizeof(double))};
    if (!m.memory) {
        abort();
    }
    double *free = m.memory;
    m.mass = made_part(&free, nv * nv);
    m.normal = made_part(&free, nc * nv);
    m.tangent = made_part(&free, 2 * nc * nv);
    m.momentum = made_part(&free, nv);
    m.friction = made_part(&free, nc);
    m.force = made_part(&free, nc);
    m.depth = made_part(&free, nc);
    m.stiffness = made_part(&free, nc);
    m.dissipation = made_part(&free, nc);
    m.guess = made_part(&free, nv);
    m.solution.velocity = made_part(&free, nv);
    m.solution.normal_velocity = made_part(&free, nc);
    m.solution.tangent_velocity = made_part(&free, 2 * nc);
    m.solution.normal_force = made_part(&free, nc);
    m.solution.friction_force = made_part(&free, 2 * nc);
    m.solution.generalized_friction = made_part(&free, nv);
    m.solution.generalized_force = made_part(&free, nv);
    m.problem = (sprag_general_problem){.velocities = velocities,
                                        .contacts = contacts,
                                        .step = step,
                                        .mass = m.mass,
                                        .normal_jacobian = m.normal,
                                        .tangent_jacobian = m.tangent,
                                        .momentum = m.momentum,
                                        .friction = m.friction,
                                        .normal_force = one_way ? m.force : NULL,
                                        .penetration = m.depth,
                                        .stiffness = m.stiffness,
                                        .dissipation = m.dissipation};
    return m;
}

static inline void made_free(made *m)
{
    free(m->memory);
}

static inline sprag_result made_solve(made *m, const sprag_general_options *options,
                                      sprag_scratch *scratch, sprag_stats *stats)
{
    memcpy(m->solution.velocity, m->guess, (size_t)m->problem.velocities * sizeof *m->guess);
    sprag_result result =
        sprag_general_solve(&m->problem, options, scratch, &m->solution, stats, NULL, 0);
    sprag_scratch_reset(scratch);
    return result;
}

// p* = M (guess + change)
static inline void made_set_momentum(made *m, const double *change)
{
    int nv = m->problem.velocities;
    for (int i = 0; i < nv; i++) {
        m->momentum[i] = 0;
        for (int j = 0; j < nv; j++) {
            m->momentum[i] += m->mass[i * nv + j] * (m->guess[j] + change[j]);
        }
    }
}

// One row of a contact: the velocity along `axis` of the point at `arm` from the centre of a body.
static inline void made_add_row(made *m, double *row, int body, double sign, const double *arm,
                                const double *axis)
{
    if (body >= 0 && 6 * body < m->problem.velocities) {
        double *at = row + 6 * body;
        for (int k = 0; k < 3; k++) {
            at[k] += sign * axis[k];
            at[3 + k] += sign * (arm[(k + 1) % 3] * axis[(k + 2) % 3] -
                                 arm[(k + 2) % 3] * axis[(k + 1) % 3]);
        }
    }
}

// Contact c of body[0], into which the normal points, with body[1] (-1: ground).
static inline void made_touch(made *m, int c, const int body[2], const double arm[2][3],
                              const double frame[3][3])
{
    int nv = m->problem.velocities;
    for (int k = 0; k < 3; k++) {
        double *row = k == 0 ? m->normal + c * nv : m->tangent + (2 * c + k - 1) * nv;
        made_add_row(m, row, body[0], 1, arm[0], frame[k]);
        made_add_row(m, row, body[1], -1, arm[1], frame[k]);
    }
}

// ---- the cubes: n of them as a tower, or each on the ground

static inline made make_cubes(int n, bool tower, bool one_way)
{
    static const double h = 0.1, g = 9.81, step = 1e-3, stiffness = 1e5;
    static const double frame[3][3] = {{0, 0, 1}, {1, 0, 0}, {0, 1, 0}};
    made m = make(6 * n, 4 * n, step, one_way);
    int nv = m.problem.velocities;
    for (int i = 0; i < nv; i++) {
        m.mass[i * nv + i] = i % 6 < 3 ? 1 : (2 * h) * (2 * h) / 6;
    }
    for (int b = 0; b < n; b++) {
        double slide = tower ? 0.05 : 0.01, turn = tower ? 0.2 : 0.02;
        m.guess[6 * b] = slide * sin(1.7 * b + 0.3);
        m.guess[6 * b + 1] = slide * cos(2.3 * b + 0.1);
        m.guess[6 * b + 5] = turn * sin(0.9 * b);
        for (int i = 0; i < 6; i++) {
            m.momentum[6 * b + i] = m.mass[(6 * b + i) * (nv + 1)] * m.guess[6 * b + i];
        }
        m.momentum[6 * b + 2] -= step * g;
        for (int k = 0; k < 4; k++) {
            int c = 4 * b + k, body[2] = {b, tower ? b - 1 : -1};
            double x = k % 2 ? h : -h, y = k >= 2 ? h : -h;
            made_touch(&m, c, body, (const double[2][3]){{x, y, -h}, {x, y, h}}, frame);
            m.friction[c] = 0.5;
            m.force[c] = (tower ? n - b : 1) * g / 4;
            m.depth[c] = m.force[c] / stiffness;
            m.stiffness[c] = stiffness;
            m.dissipation[c] = 1;
        }
    }
    return m;
}

// ---- random numbers, the same on every machine

// In [0, 1) (Knuth's MMIX generator).
static inline double draw(uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (double)(*random >> 11) / 9007199254740992.0;
}

static inline double draw_between(uint64_t *random, double low, double high)
{
    return low + (high - low) * draw(random);
}

static inline double draw_magnitude(uint64_t *random, double low, double high)
{
    return low * pow(high / low, draw(random));
}

// Mean 0, variance 1, as far as twelve draws make it.
static inline double draw_normal(uint64_t *random)
{
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        sum += draw(random);
    }
    return sum;
}

// Three unit vectors at right angles.
static inline void draw_frame(uint64_t *random, double frame[3][3])
{
    for (int i = 0; i < 2; i++) {
        double square = 0;
        for (int k = 0; k < 3; k++) {
            frame[i][k] = draw_normal(random);
        }
        double along = 0;
        for (int k = 0; i == 1 && k < 3; k++) {
            along += frame[0][k] * frame[1][k];
        }
        for (int k = 0; k < 3; k++) {
            frame[i][k] -= i == 1 ? along * frame[0][k] : 0;
            square += frame[i][k] * frame[i][k];
        }
        for (int k = 0; k < 3; k++) {
            frame[i][k] /= sqrt(square);
        }
    }
    for (int k = 0; k < 3; k++) {
        frame[2][k] = frame[0][(k + 1) % 3] * frame[1][(k + 2) % 3] -
                      frame[0][(k + 2) % 3] * frame[1][(k + 1) % 3];
    }
}

// ---- the families

typedef enum family { BODIES, STACK, DENSE } family;

// A body: its mass block and its velocity before the step.
static inline void draw_body(made *m, int body, const double half[3], bool turned, double speed,
                             uint64_t *random)
{
    int nv = m->problem.velocities;
    double mass = draw_magnitude(random, 0.1, 10);
    double axes[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    if (turned) {
        draw_frame(random, axes);
    }
    for (int i = 0; i < 3; i++) {
        m->mass[(6 * body + i) * (nv + 1)] = mass;
        double inertia =
            mass / 3 *
            (half[(i + 1) % 3] * half[(i + 1) % 3] + half[(i + 2) % 3] * half[(i + 2) % 3]);
        for (int j = 0; j < 3; j++) {
            for (int k = 0; k < 3; k++) {
                m->mass[(6 * body + 3 + j) * nv + 6 * body + 3 + k] +=
                    inertia * axes[i][j] * axes[i][k];
            }
        }
        m->guess[6 * body + i] = speed * draw_normal(random);
        m->guess[6 * body + 3 + i] = speed * draw_normal(random);
    }
}

static inline void draw_materials(made *m, bool hard, uint64_t *random)
{
    bool same = draw(random) < 0.5; // one stiffness and dissipation for all contacts
    for (int c = 0; c < m->problem.contacts; c++) {
        bool again = same && c > 0;
        double kind = draw(random);
        m->friction[c] = hard         ? kind < 0.8   ? draw_between(random, 0.8, 1.5)
                                        : kind < 0.9 ? draw_between(random, 0, 0.8)
                                                     : 0
                         : kind < 0.9 ? draw_between(random, 0, 1.5)
                                      : 0;
        m->stiffness[c] = again ? m->stiffness[0] : draw_magnitude(random, hard ? 1e5 : 1e3, 1e7);
        m->dissipation[c] = again ? m->dissipation[0] : draw_between(random, 0, 10);
        double deep =
            hard ? draw_magnitude(random, 1e-5, 5e-3) : draw_magnitude(random, 1e-7, 1e-3);
        m->depth[c] = draw(random) < (hard ? 0.1 : 0.2) ? -0.1 * deep : deep;
        double load = m->stiffness[c] * fmax(0, m->depth[c]);
        m->force[c] = m->problem.normal_force ? draw_magnitude(random, 0.1, 100) : load;
    }
}

static inline void draw_contact(made *m, int c, int body, const double (*half)[3], uint64_t *random)
{
    int bodies = m->problem.velocities / 6;
    int other = draw(random) < 0.5 || bodies == 1 ? -1 : (int)(draw(random) * bodies);
    other = other == body ? -1 : other;
    double frame[3][3] = {{0, 0, 1}, {1, 0, 0}, {0, 1, 0}}, arm[2][3] = {{0}};
    if (draw(random) < 0.5) {
        draw_frame(random, frame);
    }
    for (int k = 0; k < 3; k++) {
        arm[0][k] = half[body][k] * draw_between(random, -1, 1);
        arm[1][k] = other >= 0 ? half[other][k] * draw_between(random, -1, 1) : 0;
    }
    made_touch(m, c, (const int[2]){body, other}, (const double(*)[3])arm,
               (const double(*)[3])frame);
}

static inline made draw_bodies(family family, int velocities, int contacts, double step,
                               bool one_way, bool hard, uint64_t *random)
{
    enum { BODIES_MAX = 100 };
    made m = make(velocities, contacts, step, one_way);
    int bodies = velocities / 6;
    double half[BODIES_MAX][3], change[6 * BODIES_MAX] = {0};
    double speed = draw_magnitude(random, 1e-3, 3);
    static const double upright[3][3] = {{0, 0, 1}, {1, 0, 0}, {0, 1, 0}};
    for (int b = 0; b < bodies; b++) {
        double size = draw_magnitude(random, 0.05, 0.5);
        for (int k = 0; k < 3; k++) {
            half[b][k] =
                family == STACK && k > 0 ? half[b][0] : size * draw_between(random, 0.5, 1);
        }
        draw_body(&m, b, half[b], family == BODIES, speed, random);
        change[6 * b + 2] = -9.81 * step;
    }
    made_set_momentum(&m, change);
    for (int c = 0; c < contacts; c++) {
        if (family == BODIES) {
            draw_contact(&m, c, c % bodies, (const double(*)[3])half, random);
        } else { // at the corners of the smaller face
            int b = c / 4 % bodies;
            double below = b > 0 ? half[b - 1][0] : half[b][0], s = fmin(half[b][0], below);
            double x = c % 2 ? s : -s, y = c % 4 >= 2 ? s : -s;
            made_touch(&m, c, (const int[2]){b, b - 1},
                       (const double[2][3]){{x, y, -half[b][2]}, {x, y, below}}, upright);
        }
    }
    draw_materials(&m, hard, random);
    return m;
}

static inline made draw_dense(int velocities, int contacts, double step, bool one_way, bool hard,
                              uint64_t *random)
{
    made m = make(velocities, contacts, step, one_way);
    int nv = velocities;
    double *A = calloc((size_t)nv * (size_t)nv + (size_t)nv, sizeof *A);
    if (!A) {
        abort();
    }
    double *change = A + (size_t)nv * (size_t)nv;
    double speed = draw_magnitude(random, 1e-2, 3), spread = 1 / sqrt(nv);
    for (int i = 0; i < nv * nv; i++) {
        A[i] = draw_normal(random);
    }
    for (int i = 0; i < nv; i++) {
        for (int j = 0; j < nv; j++) {
            double sum = i == j ? 0.3 : 0;
            for (int k = 0; k < nv; k++) {
                sum += A[i * nv + k] * A[j * nv + k] / nv;
            }
            m.mass[i * nv + j] = sum;
        }
        m.guess[i] = speed * draw_normal(random);
        change[i] = 10 * step * draw_normal(random);
    }
    made_set_momentum(&m, change);
    for (int i = 0; i < contacts * nv; i++) {
        m.normal[i] = spread * draw_normal(random);
    }
    for (int i = 0; i < 2 * contacts * nv; i++) {
        m.tangent[i] = spread * draw_normal(random);
    }
    draw_materials(&m, hard, random);
    free(A);
    return m;
}

static inline made draw_problem(family family, int velocities, int contacts, double step,
                                bool one_way, bool hard, uint64_t *random)
{
    return family == DENSE ? draw_dense(velocities, contacts, step, one_way, hard, random)
                           : draw_bodies(family, velocities, contacts, step, one_way, hard, random);
}

// ---- checks of a solution

// The laws at the returned velocities, in N: the largest difference of a returned force, relative
// to the largest normal force.
static inline double made_law_error(const made *m, const sprag_general_options *options)
{
    const sprag_general_problem *p = &m->problem;
    double worst = 0, most = 1e-300, vs = options->stiction_tolerance;
    for (int c = 0; c < p->contacts; c++) {
        double vn = m->solution.normal_velocity[c], fn = m->force[c];
        if (!p->normal_force) {
            fn = p->stiffness[c] * fmax(0, 1 - p->dissipation[c] * vn) *
                 fmax(0, p->penetration[c] - p->step * vn);
        }
        const double *vt = m->solution.tangent_velocity + 2 * c;
        double ev = options->relative_tolerance * vs;
        double rho = sqrt(vt[0] * vt[0] + vt[1] * vt[1] + ev * ev), s = rho / vs;
        double ratio = p->friction[c] * (s < 1 ? s * (2 - s) : 1) * fn / rho;
        worst = fmax(worst, fabs(fn - m->solution.normal_force[c]));
        for (int k = 0; k < 2; k++) {
            double error = ratio * vt[k] + m->solution.friction_force[2 * c + k];
            worst = fmax(worst, fabs(error));
        }
        most = fmax(most, fn);
    }
    return worst / most;
}

// max |M v - p* - dt J' f|, relative to the largest sum of absolute terms of an entry.
static inline double made_momentum_error(const made *m)
{
    const sprag_general_problem *p = &m->problem;
    int nv = p->velocities;
    double worst = 0, scale = 1e-300;
    for (int i = 0; i < nv; i++) {
        double sum = -p->momentum[i], absolute = fabs(p->momentum[i]);
        for (int j = 0; j < nv; j++) {
            double term = p->mass[i * nv + j] * m->solution.velocity[j];
            sum += term;
            absolute += fabs(term);
        }
        for (int r = 0; r < 3 * p->contacts; r++) {
            int c = r / 3, k = r % 3 - 1;
            double term = k < 0 ? p->normal_jacobian[c * nv + i] * m->solution.normal_force[c]
                                : p->tangent_jacobian[(2 * c + k) * nv + i] *
                                      m->solution.friction_force[2 * c + k];
            sum -= p->step * term;
            absolute += p->step * fabs(term);
        }
        worst = fmax(worst, fabs(sum));
        scale = fmax(scale, absolute);
    }
    return worst / scale;
}

// Sums over D^2 = 1 / diag(M) of squares: of M v - p* - dt J' f, of dt J' f, of p* - M guess, of
// p*.
static inline void made_momentum_squares(const made *m, double square[4])
{
    const sprag_general_problem *p = &m->problem;
    int nv = p->velocities;
    memset(square, 0, 4 * sizeof *square);
    for (int i = 0; i < nv; i++) {
        double now = 0, before = 0, impulse = 0;
        for (int j = 0; j < nv; j++) {
            now += p->mass[i * nv + j] * m->solution.velocity[j];
            before += p->mass[i * nv + j] * m->guess[j];
        }
        for (int c = 0; c < p->contacts; c++) {
            impulse += p->step * p->normal_jacobian[c * nv + i] * m->solution.normal_force[c];
            for (int k = 0; k < 2; k++) {
                impulse += p->step * p->tangent_jacobian[(2 * c + k) * nv + i] *
                           m->solution.friction_force[2 * c + k];
            }
        }
        double e[4] = {now - p->momentum[i] - impulse, impulse, p->momentum[i] - before,
                       p->momentum[i]};
        for (int k = 0; k < 4; k++) {
            square[k] += e[k] * e[k] / p->mass[i * (nv + 1)];
        }
    }
}

// The error of momentum relative to what the step changes: what contacts change, p* - M guess, or a
// hundredth of p*.
static inline double made_momentum_share(const made *m)
{
    double s[4];
    made_momentum_squares(m, s);
    return sqrt(s[0] / fmax(fmax(s[1], s[2]), 1e-4 * s[3]));
}

// The same, relative to p* or to what contacts change.
static inline double made_momentum_residual(const made *m)
{
    double s[4];
    made_momentum_squares(m, s);
    return sqrt(s[0] / fmax(s[1], s[3]));
}

// A root, as far as the numbers go.
static inline bool made_is_solved(const made *m, const sprag_general_options *options)
{
    double fastest = 0;
    for (int i = 0; i < m->problem.velocities; i++) {
        fastest = fmax(fastest, fabs(m->solution.velocity[i]));
    }
    double rounding = 1e-9 + 2e-16 * fastest / options->stiction_tolerance;
    return made_momentum_error(m) <= rounding && made_law_error(m, options) <= 1e-9;
}

#endif
