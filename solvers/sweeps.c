#include "solvers/sweeps.h"

#include <math.h>
#include <string.h>

#include "solvers/laws.h"
#include "solvers/linalg.h"
#include "solvers/space6.h"

// A contact: what a sweep reads of it, in one place. Rows that belong to a friction cone are scaled
// by its shape, so that every cone is round here; those that belong to none are zero.
typedef struct swept_point {
    double *v[2]; // of its bodies
    double *impulse;
    double frame[3][3];
    double lever[2][3][3]; // angular part of the jacobian
    double turn[2][3][3];  // inverse inertia times that
    double inverse_mass[2];
    double offset[3];
    double coupling[3]; // column of the normal in J M^-1 J'
    double give;        // 1 / (yield + coupling[0]), of a spring; 0: another law
    int cone, cones;    // of w->cone: first, number of those that slide
    struct swept_roll *roll;
} swept_point;

// What a contact adds that resists rolling or spinning: components as in system.h, from SPRAG_ROLL.
typedef struct swept_roll {
    double *impulse;
    double axis[3][3];
    double turn[2][3][3];
    double offset[3];
} swept_roll;

typedef struct swept_row {
    double *v[2];
    double *impulse;
    double jacobian[2][6];
    double turn[2][6]; // inverse mass times that
} swept_row;

typedef struct swept_cone {
    double coefficient; // as in sprag_cone
    double slip_yield;
    double yield;     // m/s per N s: largest eigenvalue of its part of J M^-1 J'
    double tolerance; // of stiction
    int first, axes;
    bool bond, force;
} swept_cone;

typedef struct sweeps {
    sprag_system *system;
    const sprag_space6 *space;
    double (*inverse_inertia)[9]; // of the nodes
    swept_point *point;
    swept_row *row;
    swept_cone *cone;
    // All unknowns: velocities of the nodes and of what nothing moves, impulses of points (3 each),
    // of those that resist rolling (3 more) and of rows.
    int unknowns;
    double *x, *before, *push;
} sweeps;

// ---- one contact, one row

static inline double larger(double a, double b)
{
    return a > b ? a : b;
}

// The impulse that a cone asks for if its own part of the matrix were round: what it had, less the
// slip that is left, cut to the bound. Returns the square of what changed, in the metric of energy.
static inline double relax_cone(const swept_cone *cone, double bound, const double *slip,
                                double *impulse, double *change)
{
    bool two = cone->axes == 2;
    double had[2] = {impulse[0], two ? impulse[1] : 0};
    double x = cone->yield * had[0] - slip[0], y = two ? cone->yield * had[1] - slip[1] : 0;
    double most = cone->coefficient * bound, square = x * x + y * y, ratio = 0;
    if (cone->bond) {
        ratio = 1 / (cone->yield + cone->slip_yield);
    } else if (most > 0) {
        double soft = cone->yield * most + larger(cone->tolerance, cone->slip_yield * most);
        ratio = most / (square > soft * soft ? sqrt(square) : soft);
    }
    change[0] = ratio * x - had[0];
    impulse[0] = ratio * x;
    if (two) {
        change[1] = ratio * y - had[1];
        impulse[1] = ratio * y;
        return cone->yield * (change[0] * change[0] + change[1] * change[1]);
    }
    return cone->yield * change[0] * change[0];
}

static double relax_roll(sweeps *w, const swept_point *p, int i, double normal)
{
    const sprag_point *point = &w->system->point[i];
    double change[3] = {0, 0, 0}, slip[3], sum = 0;
    for (int k = 0; k < 3; k++) {
        slip[k] = p->roll->offset[k] + dot3(p->roll->axis[k], p->v[0] + 3) -
                  dot3(p->roll->axis[k], p->v[1] + 3);
    }
    for (int c = p->cone + p->cones; c < point->cone + point->cones; c++) {
        const swept_cone *cone = &w->cone[c];
        int first = cone->first - SPRAG_ROLL;
        sum += relax_cone(cone, cone->force ? w->system->step : normal, slip + first,
                          p->roll->impulse + first, change + first);
    }
    for (int side = 0; side < 2; side++) {
        for (int k = 0; k < 3; k++) {
            add_scaled(p->v[side] + 3, change[k], p->roll->turn[side][k], 3);
        }
    }
    return sum;
}

static inline void apply(const swept_point *p, const double change[3])
{
    double *a = p->v[0], *b = p->v[1];
    for (int k = 0; k < 3; k++) {
        double push =
            change[0] * p->frame[0][k] + change[1] * p->frame[1][k] + change[2] * p->frame[2][k];
        a[k] += push * p->inverse_mass[0];
        b[k] -= push * p->inverse_mass[1];
        a[3 + k] += change[0] * p->turn[0][0][k] + change[1] * p->turn[0][1][k] +
                    change[2] * p->turn[0][2][k];
        b[3 + k] += change[0] * p->turn[1][0][k] + change[1] * p->turn[1][1][k] +
                    change[2] * p->turn[1][2][k];
    }
}

static double relax_point(sweeps *w, int i)
{
    const swept_point *p = &w->point[i];
    const double *a = p->v[0], *b = p->v[1];
    double along[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    double slip[3], change[3] = {0, 0, 0};
    for (int k = 0; k < 3; k++) {
        slip[k] = p->offset[k] + dot3(p->frame[k], along) + dot3(p->lever[0][k], a + 3) +
                  dot3(p->lever[1][k], b + 3);
    }
    double free = slip[0] - p->coupling[0] * p->impulse[0];
    double normal =
        p->give > 0 ? larger(0, -free * p->give)
                    : sprag_normal_balance(w->system, &w->system->point[i], free, p->coupling[0]);
    change[0] = normal - p->impulse[0];
    p->impulse[0] = normal;
    slip[1] += p->coupling[1] * change[0];
    slip[2] += p->coupling[2] * change[0];
    double sum = p->coupling[0] * change[0] * change[0];
    for (int c = p->cone; c < p->cone + p->cones; c++) {
        const swept_cone *cone = &w->cone[c];
        sum += relax_cone(cone, cone->force ? w->system->step : normal, slip + cone->first,
                          p->impulse + cone->first, change + cone->first);
    }
    apply(p, change);
    return p->roll ? sum + relax_roll(w, p, i, normal) : sum;
}

static double relax_row(sweeps *w, int i)
{
    const swept_row *row = &w->row[i];
    const sprag_equation *equation = &w->system->equation[i];
    double rate =
        equation->offset + dot6(row->jacobian[0], row->v[0]) + dot6(row->jacobian[1], row->v[1]);
    double self = equation->inverse_mass;
    double wanted = (self * *row->impulse - rate) / (self + equation->yield);
    double now = fmin(fmax(wanted, equation->lo), equation->hi), change = now - *row->impulse;
    *row->impulse = now;
    add_scaled(row->v[0], change, row->turn[0], 6);
    add_scaled(row->v[1], change, row->turn[1], 6);
    return self * change * change;
}

// ---- preparation

static double *velocity_of(const sweeps *w, int node)
{
    return w->x + 6 * (node == SPRAG_NOWHERE ? w->space->nodes : node);
}

// Scales of the rows of a point: its cones' shapes.
static void scale_rows(const sprag_system *system, const sprag_point *point, double scale[6])
{
    memset(scale, 0, 6 * sizeof *scale);
    scale[SPRAG_NORMAL] = 1;
    for (int c = point->cone; c < point->cone + point->cones; c++) {
        memcpy(scale + system->cone[c].first, system->cone[c].shape,
               (size_t)system->cone[c].axes * sizeof *scale);
    }
}

static double largest_eigenvalue(double a, double b, double d)
{
    return (a + d) / 2 + sqrt((a - d) * (a - d) / 4 + b * b);
}

// J M^-1 J' of two rows of a point.
static double product(const swept_point *p, int i, int j)
{
    double sum = 0;
    for (int side = 0; side < 2; side++) {
        sum += i < 3 ? p->inverse_mass[side] * dot3(p->frame[i], p->frame[j]) +
                           dot3(p->lever[side][i], p->turn[side][j])
                     : (side ? -1 : 1) * dot3(p->roll->axis[i - 3], p->roll->turn[side][j - 3]);
    }
    return sum;
}

static void prepare_cones(sweeps *w, swept_point *p, const sprag_point *point, double stiction)
{
    p->cone = point->cone;
    for (int c = point->cone; c < point->cone + point->cones; c++) {
        const sprag_cone *cone = &w->system->cone[c];
        int i = cone->first, j = i + 1;
        double yield = product(p, i, i);
        if (cone->axes == 2) {
            yield = largest_eigenvalue(yield, product(p, i, j), product(p, j, j));
        }
        w->cone[c] = (swept_cone){.coefficient = cone->coefficient,
                                  .slip_yield = cone->slip_yield,
                                  .yield = yield,
                                  .tolerance = sprag_cone_tolerance(cone, stiction),
                                  .first = cone->first,
                                  .axes = cone->axes,
                                  .bond = isinf(cone->coefficient),
                                  .force = cone->force};
        p->cones += cone->first < SPRAG_ROLL; // these come first
    }
}

static void prepare_roll(sweeps *w, swept_point *p, const sprag_stencil *stencil,
                         const sprag_point *point, const double scale[6])
{
    for (int side = 0; side < 2; side++) {
        int node = stencil->node[side];
        for (int k = 0; node != SPRAG_NOWHERE && k < 3; k++) {
            double row[3] = {0, 0, 0};
            add_scaled(row, scale[3 + k], stencil->jacobian[side][3 + k] + 3, 3);
            mul33(w->inverse_inertia[node], row, p->roll->turn[side][k]);
            memset(p->roll->axis[k], 0, sizeof p->roll->axis[k]);
            add_scaled(p->roll->axis[k], side ? -1 : 1, row, 3);
        }
    }
    for (int k = 0; k < 3; k++) {
        p->roll->offset[k] = scale[3 + k] * point->offset[3 + k];
    }
}

static void prepare_point(sweeps *w, int i, double stiction)
{
    const sprag_point *point = &w->system->point[i];
    const sprag_stencil *stencil = &w->space->point[i];
    swept_point *p = &w->point[i];
    double scale[6];
    scale_rows(w->system, point, scale);
    for (int side = 0; side < 2; side++) {
        int node = stencil->node[side];
        p->v[side] = velocity_of(w, node);
        p->inverse_mass[side] = node == SPRAG_NOWHERE ? 0 : 1 / w->space->mass[node][0];
        for (int k = 0; node != SPRAG_NOWHERE && k < 3; k++) {
            const double *row = stencil->jacobian[side][k];
            memset(p->frame[k], 0, sizeof p->frame[k]);
            add_scaled(p->frame[k], side ? -scale[k] : scale[k], row, 3);
            add_scaled(p->lever[side][k], scale[k], row + 3, 3);
            mul33(w->inverse_inertia[node], p->lever[side][k], p->turn[side][k]);
        }
    }
    if (p->roll) {
        prepare_roll(w, p, stencil, point, scale);
    }
    for (int k = 0; k < 3; k++) {
        p->offset[k] = scale[k] * point->offset[k];
        p->coupling[k] = product(p, SPRAG_NORMAL, k);
    }
    prepare_cones(w, p, point, stiction);
    p->give = point->law == SPRAG_SPRING ? 1 / (point->yield + p->coupling[0]) : 0;
    if (point->guess[SPRAG_NORMAL] > 0) {
        p->impulse[0] = point->guess[0];
        for (int k = 1; k < 3; k++) { // within its cone from the first sweep on
            p->impulse[k] = scale[k] > 0 ? point->guess[k] / scale[k] : 0;
        }
        apply(p, p->impulse);
    }
}

static void prepare_row(sweeps *w, int i)
{
    const sprag_equation *equation = &w->system->equation[i];
    const sprag_row_stencil *stencil = &w->space->equation[i];
    swept_row *row = &w->row[i];
    for (int side = 0; side < 2; side++) {
        int node = stencil->node[side];
        row->v[side] = velocity_of(w, node);
        if (node != SPRAG_NOWHERE) {
            const double *J = stencil->jacobian[side][0];
            memcpy(row->jacobian[side], J, sizeof row->jacobian[side]);
            add_scaled(row->turn[side], 1 / w->space->mass[node][0], J, 3);
            mul33(w->inverse_inertia[node], J + 3, row->turn[side] + 3);
        }
    }
    *row->impulse = fmin(fmax(equation->guess, equation->lo), equation->hi);
    add_scaled(row->v[0], *row->impulse, row->turn[0], 6);
    add_scaled(row->v[1], *row->impulse, row->turn[1], 6);
}

static void invert_inertias(sweeps *w)
{
    for (int node = 0; node < w->space->nodes; node++) {
        double inertia[9];
        for (int i = 0; i < 3; i++) {
            memcpy(inertia + 3 * i, w->space->mass[node] + 6 * (3 + i) + 3, 3 * sizeof *inertia);
        }
        invert33(inertia, w->inverse_inertia[node]);
    }
}

static sprag_result prepare(sweeps *w, sprag_system *system, double stiction)
{
    sprag_scratch *scratch = system->scratch;
    *w = (sweeps){.system = system, .space = system->chart};
    int rolls = 0;
    for (int i = 0; i < system->points; i++) {
        rolls += system->point[i].dim > 3;
    }
    int velocities = 6 * (w->space->nodes + 1);
    w->unknowns = velocities + 3 * (system->points + rolls) + system->equations;
    w->inverse_inertia = SPRAG_TAKE(scratch, w->space->nodes, double[9]);
    w->point = SPRAG_TAKE(scratch, system->points, swept_point);
    swept_roll *roll = SPRAG_TAKE(scratch, rolls, swept_roll);
    w->row = SPRAG_TAKE(scratch, system->equations, swept_row);
    w->cone = SPRAG_TAKE(scratch, system->cones, swept_cone);
    w->x = SPRAG_TAKE(scratch, w->unknowns, double);
    w->before = SPRAG_TAKE(scratch, w->unknowns, double);
    w->push = SPRAG_TAKE(scratch, w->unknowns, double);
    if (scratch->failed) {
        return SPRAG_NO_MEMORY;
    }
    invert_inertias(w);
    memcpy(w->x, system->free, (size_t)system->size * sizeof *w->x);
    double *impulse = w->x + velocities;
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

// ---- sweeps

// Returns the root of the sum of squares of what it changed.
static double sweep(sweeps *w)
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

// Goes on by a part of the way that the last sweep and the push before it went.
static void accelerate(sweeps *w, double part)
{
    for (int i = 0; i < w->unknowns; i++) {
        w->push[i] = part * (w->push[i] + w->x[i] - w->before[i]);
        w->x[i] += w->push[i];
    }
}

static void write_back(const sweeps *w, double *v)
{
    sprag_system *system = w->system;
    memcpy(v, w->x, (size_t)system->size * sizeof *v);
    for (int i = 0; i < system->points; i++) {
        const swept_point *p = &w->point[i];
        double scale[6];
        scale_rows(system, &system->point[i], scale);
        memset(system->impulse[i], 0, sizeof system->impulse[i]);
        for (int k = 0; k < 3; k++) {
            system->impulse[i][k] = scale[k] * p->impulse[k];
            system->impulse[i][3 + k] = p->roll ? scale[3 + k] * p->roll->impulse[k] : 0;
        }
    }
    for (int i = 0; i < system->equations; i++) {
        system->row_impulse[i] = *w->row[i].impulse;
    }
}

sprag_result sprag_sweeps_run(sprag_system *system, int sweeps, double tolerance, double acceptable,
                              double stiction, double *v, sprag_stats *stats)
{
    struct sweeps w;
    if (prepare(&w, system, stiction) != SPRAG_OK) {
        return SPRAG_NO_MEMORY;
    }
    double last = INFINITY;
    for (int it = 1, since = 1;; it++, since++) {
        memcpy(w.before, w.x, (size_t)w.unknowns * sizeof *w.x);
        double change = sweep(&w);
        stats->sweeps++;
        stats->residual = change / system->momentum;
        bool enough = it >= sweeps && (stats->residual <= acceptable || it >= 10 * sweeps);
        if (enough || stats->residual <= tolerance || !isfinite(change)) {
            break;
        }
        since = change > last ? 1 : since;
        last = change;
        accelerate(&w, (since - 1.0) / (since + 2.0));
    }
    write_back(&w, v);
    return isfinite(stats->residual) ? SPRAG_OK : SPRAG_NOT_CONVERGED;
}
