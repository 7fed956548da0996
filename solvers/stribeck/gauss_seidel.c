#include "gauss_seidel.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "laws.h"
#include "linalg.h"
#include "space6.h"
#include "stribeck_constants.h"

// The data of a contact that a sweep reads. The rows of a friction cone are scaled by its shape and
// rotated so that its part of J M^-1 J' is diagonal: then the cone is round and its axes are
// decoupled. Rows of no cone are zero.
typedef struct gs_point {
    double *v[2]; // of its bodies
    double *impulse;
    double frame[3][3];
    double lever[2][3][3]; // angular part of the jacobian
    double turn[2][3][3];  // inverse inertia times that
    double inverse_mass[2];
    double offset[3];
    double coupling[3]; // column of the normal in J M^-1 J'
    double across;      // of the tangents with one another, if each has a cone of its own
    double normal_gain; // 1 / (yield + coupling[0]), of a spring; 0: another law
    int cone, cones;    // of w->cone: first, number of those that slide
    double basis[2][2]; // rows of the tangents = basis x those of the problem
    struct gs_roll *roll;
} gs_point;

// The part of a contact that resists rolling and spinning: components of system.h from SPRAG_ROLL.
typedef struct gs_roll {
    double *impulse;
    double axis[3][3];
    double turn[2][3][3];
    double offset[3];
    double across[3]; // of components 0 1, 0 2, 1 2
    double basis[3][3];
} gs_roll;

typedef struct gs_row {
    double *v[2];
    double *impulse;
    double jacobian[2][6];
    double turn[2][6]; // inverse mass times that
} gs_row;

typedef struct gs_cone {
    double coefficient; // as in sprag_cone
    double slip_yield;
    double yield[2];  // m/s per N s: its part of J M^-1 J'
    double tolerance; // of stiction
    double slope;     // m/s per N s, of slip against impulse, when it last slid
    int first, axes;
    bool bond, force;
} gs_cone;

typedef struct gauss_seidel {
    sprag_system *system;
    const sprag_space6 *space;
    gs_point *point;
    gs_row *row;
    gs_cone *cone;
    // All unknowns: velocities of the nodes and of the immovable node, impulses of points (3
    // each), of points that resist rolling (3 more) and of rows.
    int unknowns, velocities;
    double *x, *before, *acceleration;
} gauss_seidel;

// ---- one contact, one row

static inline double larger(double a, double b)
{
    return a > b ? a : b;
}

// p = b / (yield + slope) with the slope, of slip against impulse, at which |p| = most: Newton on
// 1 / |p|, from where the last sweep ended.
static void slide(gs_cone *cone, const double b[2], double most, double least, double p[2])
{
    double slope = larger(cone->slope, least), size = 0;
    for (int it = 0; it < STRIBECK_SLIDE_ITERATIONS; it++) {
        double ease[2] = {1 / (cone->yield[0] + slope), 1 / (cone->yield[1] + slope)};
        p[0] = b[0] * ease[0];
        p[1] = b[1] * ease[1];
        double square = p[0] * p[0] + p[1] * p[1];
        size = sqrt(square);
        if (fabs(size - most) <= STRIBECK_SLIDE_TOLERANCE * most) {
            break;
        }
        double fall = p[0] * p[0] * ease[0] + p[1] * p[1] * ease[1];
        slope = larger(least, slope + square / fall * (size / most - 1));
    }
    cone->slope = slope;
    if (size > most) {
        p[0] *= most / size;
        p[1] *= most / size;
    }
}

// Sets the impulse of a cone to the one in equilibrium with the slip that it leaves: proportional
// to the slip up to the bound (where laws.h is smooth), then opposite to it. Returns the squared
// change, in the metric of energy.
static inline double relax_cone(gs_cone *cone, bool two, double bound, const double *slip,
                                double *impulse, double *change)
{
    const double *yield = cone->yield;
    double had[2] = {impulse[0], two ? impulse[1] : 0}, p[2] = {0, 0};
    double b[2] = {yield[0] * had[0] - slip[0], two ? yield[1] * had[1] - slip[1] : 0};
    double most = cone->bond ? 1 : cone->coefficient * bound;
    if (most > 0) {
        double slope = cone->bond ? cone->slip_yield
                                  : sprag_friction_yield(cone->slip_yield, cone->tolerance, most);
        p[0] = b[0] / (yield[0] + slope);
        p[1] = b[1] / (yield[1] + slope);
        if (!cone->bond && p[0] * p[0] + p[1] * p[1] > most * most) {
            slide(cone, b, most, slope, p);
        }
    }
    change[0] = p[0] - had[0];
    impulse[0] = p[0];
    double sum = yield[0] * change[0] * change[0];
    if (two) {
        change[1] = p[1] - had[1];
        impulse[1] = p[1];
        sum += yield[1] * change[1] * change[1];
    }
    return sum;
}

static double relax_roll(gauss_seidel *w, const gs_point *p, int i, double normal)
{
    const sprag_point *point = &w->system->point[i];
    double change[3] = {0, 0, 0}, slip[3], sum = 0;
    for (int k = 0; k < 3; k++) {
        slip[k] = p->roll->offset[k] + dot3(p->roll->axis[k], p->v[0] + 3) -
                  dot3(p->roll->axis[k], p->v[1] + 3);
    }
    for (int c = p->cone + p->cones; c < point->cone + point->cones; c++) {
        gs_cone *cone = &w->cone[c];
        int first = cone->first - SPRAG_ROLL, end = first + cone->axes;
        sum += relax_cone(cone, cone->axes == 2, cone->force ? w->system->step : normal,
                          slip + first, p->roll->impulse + first, change + first);
        for (int a = first; a < end; a++) {
            for (int b = end; b < 3; b++) {
                slip[b] += p->roll->across[a + b - 1] * change[a];
            }
        }
    }
    for (int side = 0; side < 2; side++) {
        for (int k = 0; k < 3; k++) {
            add_scaled(p->v[side] + 3, change[k], p->roll->turn[side][k], 3);
        }
    }
    return sum;
}

static inline void apply(const gs_point *p, const double change[3])
{
    double *a = p->v[0], *b = p->v[1];
    for (int k = 0; k < 3; k++) {
        double force =
            change[0] * p->frame[0][k] + change[1] * p->frame[1][k] + change[2] * p->frame[2][k];
        a[k] += force * p->inverse_mass[0];
        b[k] -= force * p->inverse_mass[1];
        a[3 + k] += change[0] * p->turn[0][0][k] + change[1] * p->turn[0][1][k] +
                    change[2] * p->turn[0][2][k];
        b[3 + k] += change[0] * p->turn[1][0][k] + change[1] * p->turn[1][1][k] +
                    change[2] * p->turn[1][2][k];
    }
}

static double relax_point(gauss_seidel *w, int i)
{
    const gs_point *p = &w->point[i];
    const double *a = p->v[0], *b = p->v[1];
    double along[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    double slip[3], change[3] = {0, 0, 0};
    for (int k = 0; k < 3; k++) {
        slip[k] = p->offset[k] + dot3(p->frame[k], along) + dot3(p->lever[0][k], a + 3) +
                  dot3(p->lever[1][k], b + 3);
    }
    double free = slip[0] - p->coupling[0] * p->impulse[0];
    double normal = p->normal_gain > 0 ? larger(0, -free * p->normal_gain)
                                       : sprag_normal_balance(w->system, &w->system->point[i], free,
                                                              p->coupling[0]);
    change[0] = normal - p->impulse[0];
    p->impulse[0] = normal;
    slip[1] += p->coupling[1] * change[0];
    slip[2] += p->coupling[2] * change[0];
    double sum = p->coupling[0] * change[0] * change[0];
    if (p->cones == 1 && w->cone[p->cone].axes == 2) { // most contacts
        gs_cone *cone = &w->cone[p->cone];
        sum += relax_cone(cone, true, cone->force ? w->system->step : normal, slip + SPRAG_SLIDE,
                          p->impulse + SPRAG_SLIDE, change + SPRAG_SLIDE);
    } else {
        for (int c = p->cone; c < p->cone + p->cones; c++) {
            gs_cone *cone = &w->cone[c];
            int k = cone->first;
            sum += relax_cone(cone, false, cone->force ? w->system->step : normal, slip + k,
                              p->impulse + k, change + k);
            slip[2] += p->across * change[1];
        }
    }
    apply(p, change);
    return p->roll ? sum + relax_roll(w, p, i, normal) : sum;
}

static double relax_row(gauss_seidel *w, int i)
{
    const gs_row *row = &w->row[i];
    const sprag_equation *equation = &w->system->equation[i];
    double rate =
        equation->offset + dot6(row->jacobian[0], row->v[0]) + dot6(row->jacobian[1], row->v[1]);
    double self = equation->inverse_mass;
    double wanted = (self * *row->impulse - rate) / (self + equation->yield);
    double now = clamp(wanted, equation->lo, equation->hi), change = now - *row->impulse;
    *row->impulse = now;
    add_scaled(row->v[0], change, row->turn[0], 6);
    add_scaled(row->v[1], change, row->turn[1], 6);
    return self * change * change;
}

// ---- preparation

static double *velocity_of(const gauss_seidel *w, int node)
{
    return w->x + 6 * (node == SPRAG_NOWHERE ? w->space->nodes : node);
}

// Scales the rows of a cone of two axes and rotates them to the eigenvectors of their J M^-1 J'.
static void turn_axes(double a, double b, double d, const double shape[2], double basis[2][2],
                      double yield[2])
{
    a *= shape[0] * shape[0], b *= shape[0] * shape[1], d *= shape[1] * shape[1];
    double angle = 0.5 * atan2(2 * b, a - d), x = cos(angle), y = sin(angle);
    basis[0][0] = x * shape[0], basis[0][1] = y * shape[1];
    basis[1][0] = -y * shape[0], basis[1][1] = x * shape[1];
    yield[0] = x * x * a + 2 * x * y * b + y * y * d;
    yield[1] = y * y * a - 2 * x * y * b + x * x * d;
}

// Sets the cones and the basis of components 0 (the normal) to 5.
static void prepare_cones(gauss_seidel *w, gs_point *p, int i, double stiction, double basis[6][6])
{
    const sprag_point *point = &w->system->point[i];
    const sprag_stencil *stencil = &w->space->point[i];
    const double(*J0)[6] = stencil->jacobian[0], (*J1)[6] = stencil->jacobian[1];
    basis[0][0] = 1;
    p->cone = point->cone;
    for (int c = point->cone; c < point->cone + point->cones; c++) {
        const sprag_cone *cone = &w->system->cone[c];
        gs_cone *gs = &w->cone[c];
        int k = cone->first;
        *gs = (gs_cone){.coefficient = cone->coefficient,
                        .slip_yield = cone->slip_yield,
                        .tolerance = sprag_cone_tolerance(cone, stiction),
                        .first = k,
                        .axes = cone->axes,
                        .bond = isinf(cone->coefficient),
                        .force = cone->force};
        p->cones += k < SPRAG_ROLL; // these come first
        if (cone->axes == 2) {
            double turned[2][2];
            turn_axes(
                sprag_space6_inverse_mass(w->space, stencil->node, J0[k], J1[k], J0[k], J1[k]),
                sprag_space6_inverse_mass(w->space, stencil->node, J0[k], J1[k], J0[k + 1],
                                          J1[k + 1]),
                sprag_space6_inverse_mass(w->space, stencil->node, J0[k + 1], J1[k + 1], J0[k + 1],
                                          J1[k + 1]),
                cone->shape, turned, gs->yield);
            memcpy(&basis[k][k], turned[0], sizeof turned[0]);
            memcpy(&basis[k + 1][k], turned[1], sizeof turned[1]);
        } else {
            basis[k][k] = cone->shape[0];
            gs->yield[0] = gs->yield[1] =
                cone->shape[0] * cone->shape[0] *
                sprag_space6_inverse_mass(w->space, stencil->node, J0[k], J1[k], J0[k], J1[k]);
        }
    }
}

// to = basis x from, of three rows of n numbers.
static void change_rows(const double basis[6][6], int first, const double *from, int stride, int n,
                        double *to)
{
    for (int k = 0; k < 3; k++) {
        for (int j = 0; j < n; j++) {
            to[n * k + j] = 0;
            for (int l = 0; l < 3; l++) {
                to[n * k + j] += basis[first + k][first + l] * from[stride * l + j];
            }
        }
    }
}

static void prepare_roll(gauss_seidel *w, gs_roll *roll, int i, const double basis[6][6])
{
    const sprag_stencil *stencil = &w->space->point[i];
    for (int side = 0; side < 2; side++) {
        int node = stencil->node[side];
        if (node != SPRAG_NOWHERE) {
            double row[3][3];
            change_rows(basis, 3, stencil->jacobian[side][3] + 3, 6, 3, row[0]);
            for (int k = 0; k < 3; k++) {
                mul33(w->space->inverse_inertia[node], row[k], roll->turn[side][k]);
                memset(roll->axis[k], 0, sizeof roll->axis[k]);
                add_scaled(roll->axis[k], side ? -1 : 1, row[k], 3);
            }
        }
    }
    change_rows(basis, 3, w->system->point[i].offset + 3, 1, 1, roll->offset);
    for (int a = 0; a < 3; a++) {
        memcpy(roll->basis[a], &basis[3 + a][3], sizeof roll->basis[a]);
        for (int b = a + 1; b < 3; b++) {
            roll->across[a + b - 1] =
                dot3(roll->axis[a], roll->turn[0][b]) - dot3(roll->axis[a], roll->turn[1][b]);
        }
    }
}

static double coupling(const gs_point *p, int i, int j)
{
    return (p->inverse_mass[0] + p->inverse_mass[1]) * dot3(p->frame[i], p->frame[j]) +
           dot3(p->lever[0][i], p->turn[0][j]) + dot3(p->lever[1][i], p->turn[1][j]);
}

static void prepare_point(gauss_seidel *w, int i, double stiction)
{
    const sprag_point *point = &w->system->point[i];
    const sprag_stencil *stencil = &w->space->point[i];
    gs_point *p = &w->point[i];
    double basis[6][6] = {{0}};
    prepare_cones(w, p, i, stiction, basis);
    for (int side = 0; side < 2; side++) {
        int node = stencil->node[side];
        p->v[side] = velocity_of(w, node);
        if (node != SPRAG_NOWHERE) {
            p->inverse_mass[side] = 1 / w->space->mass[node][0];
            change_rows(basis, 0, stencil->jacobian[side][0], 6, 3, p->frame[0]);
            change_rows(basis, 0, stencil->jacobian[side][0] + 3, 6, 3, p->lever[side][0]);
            for (int k = 0; k < 3; k++) {
                mul33(w->space->inverse_inertia[node], p->lever[side][k], p->turn[side][k]);
            }
        }
        for (int k = 0; side == 1 && node != SPRAG_NOWHERE && k < 9; k++) {
            p->frame[k / 3][k % 3] *= -1; // towards the first body
        }
    }
    change_rows(basis, 0, point->offset, 1, 1, p->offset);
    for (int k = 0; k < 3; k++) {
        p->coupling[k] = coupling(p, SPRAG_NORMAL, k);
    }
    p->across = p->cones == 2 ? coupling(p, 1, 2) : 0;
    memcpy(p->basis[0], &basis[1][1], sizeof p->basis[0]);
    memcpy(p->basis[1], &basis[2][1], sizeof p->basis[1]);
    p->normal_gain = point->law == SPRAG_SPRING ? 1 / (point->yield + p->coupling[0]) : 0;
    if (p->roll) {
        prepare_roll(w, p->roll, i, (const double(*)[6])basis);
    }
}

static void prepare_row(gauss_seidel *w, int i)
{
    const sprag_row_stencil *stencil = &w->space->equation[i];
    gs_row *row = &w->row[i];
    for (int side = 0; side < 2; side++) {
        int node = stencil->node[side];
        row->v[side] = velocity_of(w, node);
        if (node != SPRAG_NOWHERE) {
            const double *J = stencil->jacobian[side][0];
            memcpy(row->jacobian[side], J, sizeof row->jacobian[side]);
            add_scaled(row->turn[side], 1 / w->space->mass[node][0], J, 3);
            mul33(w->space->inverse_inertia[node], J + 3, row->turn[side] + 3);
        }
    }
}

static sprag_result prepare(gauss_seidel *w, sprag_system *system, double stiction)
{
    sprag_scratch *scratch = system->scratch;
    *w = (gauss_seidel){.system = system, .space = system->chart};
    int rolls = 0;
    for (int i = 0; i < system->points; i++) {
        rolls += system->point[i].dim > 3;
    }
    w->velocities = 6 * (w->space->nodes + 1);
    w->unknowns = w->velocities + 3 * (system->points + rolls) + system->equations;
    w->point = SPRAG_TAKE(scratch, system->points, gs_point);
    gs_roll *roll = SPRAG_TAKE(scratch, rolls, gs_roll);
    w->row = SPRAG_TAKE(scratch, system->equations, gs_row);
    w->cone = SPRAG_TAKE(scratch, system->cones, gs_cone);
    w->x = SPRAG_TAKE(scratch, w->unknowns, double);
    w->before = SPRAG_TAKE(scratch, w->unknowns, double);
    w->acceleration = SPRAG_TAKE(scratch, w->unknowns, double);
    if (scratch->failed) {
        return SPRAG_NO_MEMORY;
    }
    double *impulse = w->x + w->velocities;
    for (int i = 0; i < system->points; i++, impulse += 3) {
        w->point[i].impulse = impulse;
    }
    for (int i = 0; i < system->points; i++) {
        if (system->point[i].dim > 3) {
            w->point[i].roll = roll++;
            w->point[i].roll->impulse = impulse;
            impulse += 3;
        }
        prepare_point(w, i, stiction);
    }
    for (int i = 0; i < system->equations; i++, impulse++) {
        w->row[i].impulse = impulse;
        prepare_row(w, i);
    }
    return SPRAG_OK;
}

// ---- start and end

// Sets the velocities from the impulses.
static void balance(gauss_seidel *w)
{
    const sprag_system *system = w->system;
    memcpy(w->x, system->free, (size_t)system->size * sizeof *w->x);
    for (int i = 0; i < system->points; i++) {
        const gs_point *p = &w->point[i];
        apply(p, p->impulse);
        for (int k = 0; p->roll && k < 3; k++) {
            add_scaled(p->v[0] + 3, p->roll->impulse[k], p->roll->turn[0][k], 3);
            add_scaled(p->v[1] + 3, p->roll->impulse[k], p->roll->turn[1][k], 3);
        }
    }
    for (int i = 0; i < system->equations; i++) {
        const gs_row *row = &w->row[i];
        add_scaled(row->v[0], *row->impulse, row->turn[0], 6);
        add_scaled(row->v[1], *row->impulse, row->turn[1], 6);
    }
}

// Twice the kinetic energy.
static double energy(const gauss_seidel *w, const double *v)
{
    double sum = 0;
    w->system->space->momentum(w->system, v, w->system->work);
    for (int i = 0; i < w->system->size; i++) {
        sum += v[i] * w->system->work[i];
    }
    return sum;
}

// Starts from the expected impulses, unless they add energy: contacts only take it away.
static void start(gauss_seidel *w)
{
    const sprag_system *system = w->system;
    for (int i = 0; i < system->points; i++) {
        const double *guess = system->point[i].guess;
        const double(*basis)[2] = (const double(*)[2])w->point[i].basis;
        double *impulse = w->point[i].impulse;
        double det = basis[0][0] * basis[1][1] - basis[0][1] * basis[1][0];
        if (guess[SPRAG_NORMAL] > 0) {
            impulse[0] = guess[0];
        }
        if (guess[SPRAG_NORMAL] > 0 && det != 0) { // guess = basis' impulse
            impulse[1] = (basis[1][1] * guess[1] - basis[1][0] * guess[2]) / det;
            impulse[2] = (basis[0][0] * guess[2] - basis[0][1] * guess[1]) / det;
        }
    }
    for (int i = 0; i < system->equations; i++) {
        const sprag_equation *equation = &system->equation[i];
        *w->row[i].impulse = clamp(equation->guess, equation->lo, equation->hi);
    }
    balance(w);
    if (!(energy(w, w->x) <= STRIBECK_GUESS_ENERGY * energy(w, system->free))) {
        memset(w->x + w->velocities, 0, (size_t)(w->unknowns - w->velocities) * sizeof *w->x);
        balance(w);
    }
}

// Writes the impulses to the system, also as those expected by later sweeps.
static void finish(gauss_seidel *w, double *v)
{
    sprag_system *system = w->system;
    balance(w);
    memcpy(v, w->x, (size_t)system->size * sizeof *v);
    for (int i = 0; i < system->points; i++) {
        const gs_point *p = &w->point[i];
        double *impulse = system->impulse[i];
        memset(impulse, 0, sizeof system->impulse[i]);
        impulse[0] = p->impulse[0];
        for (int k = 0; k < 2; k++) {
            impulse[1 + k] = p->basis[0][k] * p->impulse[1] + p->basis[1][k] * p->impulse[2];
        }
        for (int k = 0; p->roll && k < 3; k++) {
            for (int l = 0; l < 3; l++) {
                impulse[3 + k] += p->roll->basis[l][k] * p->roll->impulse[l];
            }
        }
        memcpy(system->point[i].guess, impulse, sizeof system->point[i].guess);
    }
    for (int i = 0; i < system->equations; i++) {
        system->row_impulse[i] = system->equation[i].guess = *w->row[i].impulse;
    }
}

// ---- sweeps

// Returns the root of the sum of squared changes, in the metric of energy.
static double sweep(gauss_seidel *w)
{
    double sum = 0;
    for (int i = 0; i < w->system->equations; i++) {
        sum += relax_row(w, i);
    }
    for (int i = 0; i < w->system->points; i++) {
        sum += relax_point(w, i);
    }
    return sqrt(sum);
}

// Adds a share of the last sweep and of the acceleration before it (Nesterov).
static void accelerate(gauss_seidel *w, double part)
{
    for (int i = 0; i < w->unknowns; i++) {
        w->acceleration[i] = part * (w->acceleration[i] + w->x[i] - w->before[i]);
        w->x[i] += w->acceleration[i];
    }
}

// |D M (v - v0)| of the free motion, or of all contact and row impulses if that is larger.
static double scale_of(const gauss_seidel *w)
{
    const sprag_system *system = w->system;
    for (int i = 0; i < system->size; i++) {
        system->residual[i] = w->x[i] - system->free[i];
    }
    system->space->momentum(system, system->residual, system->work);
    return fmax(fmax(system->momentum, sprag_system_weighed(system, system->work)), DBL_MIN);
}

sprag_result sprag_gauss_seidel_solve(sprag_system *system, const sprag_gauss_seidel_limits *limits,
                                      double stiction, double *v, sprag_stats *stats)
{
    gauss_seidel w;
    if (prepare(&w, system, stiction) != SPRAG_OK) {
        return SPRAG_NO_MEMORY;
    }
    start(&w);
    double last = INFINITY, scale = 0;
    for (int it = 1, since = 1;; it++, since++) {
        memcpy(w.before, w.x, (size_t)w.unknowns * sizeof *w.x);
        double change = sweep(&w);
        bool power_of_two = (it & (it - 1)) == 0;
        scale = power_of_two || it >= limits->least ? scale_of(&w) : scale;
        stats->sweeps++;
        stats->convergence = change / scale;
        bool good = it >= limits->least && stats->convergence <= limits->good;
        if (good || it >= limits->most || stats->convergence <= limits->tolerance ||
            !isfinite(change)) {
            break;
        }
        since = change > last ? 1 : since;
        last = change;
        accelerate(&w, (since - 1.0) / (since + 2.0));
    }
    if (!isfinite(stats->convergence)) {
        return SPRAG_NOT_CONVERGED;
    }
    finish(&w, v);
    return SPRAG_OK;
}
