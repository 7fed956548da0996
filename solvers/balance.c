// The momentum balance at a velocity, its derivative as a block-sparse matrix, and the search along
// an update.
#include <float.h>
#include <math.h>
#include <string.h>

#include "solvers/laws.h"
#include "solvers/linalg.h"
#include "solvers/system.h"

// ---- evaluation

static void point_velocity(const sprag_point *point, const double *v, double *slip)
{
    for (int side = 0; side < 2; side++) {
        if (point->node[side] != SPRAG_STATIC) {
            for (int i = 0; i < point->dim; i++) {
                slip[i] += dot6(point->jacobian[side][i], v + 6 * point->node[side]);
            }
        }
    }
}

static double equation_velocity(const sprag_equation *equation, const double *v)
{
    double rate = 0;
    for (int side = 0; side < 2; side++) {
        if (equation->node[side] != SPRAG_STATIC) {
            rate += dot6(equation->jacobian[side], v + 6 * equation->node[side]);
        }
    }
    return rate;
}

// |D x|^2
static double weighed(const sprag_system *system, const double *x)
{
    double sum = 0;
    for (int i = 0; i < 6 * system->nodes; i++) {
        double e = system->weight[i] * x[i];
        sum += e * e;
    }
    return sum;
}

static void gather_impulses(sprag_system *system, double *sum)
{
    memset(sum, 0, 6 * (size_t)system->nodes * sizeof *sum);
    for (int i = 0; i < system->points; i++) {
        const sprag_point *point = &system->point[i];
        for (int side = 0; side < 2; side++) {
            for (int k = 0; point->node[side] != SPRAG_STATIC && k < point->dim; k++) {
                add_scaled(sum + 6 * point->node[side], system->impulse[i][k],
                           point->jacobian[side][k], 6);
            }
        }
    }
    for (int i = 0; i < system->equations; i++) {
        const sprag_equation *equation = &system->equation[i];
        for (int side = 0; side < 2; side++) {
            if (equation->node[side] != SPRAG_STATIC) {
                add_scaled(sum + 6 * equation->node[side], system->row_impulse[i],
                           equation->jacobian[side], 6);
            }
        }
    }
}

void sprag_system_place(sprag_system *system, const double *v)
{
    for (int i = 0; i < system->points; i++) {
        memcpy(system->slip[i], system->point[i].offset, sizeof system->slip[i]);
        point_velocity(&system->point[i], v, system->slip[i]);
    }
    for (int i = 0; i < system->equations; i++) {
        const sprag_equation *equation = &system->equation[i];
        system->rate[i] = equation->offset + equation_velocity(equation, v);
    }
    system->moved = 1;
}

void sprag_system_move(sprag_system *system, double *v, double alpha, const double *dv)
{
    add_scaled(v, alpha, dv, 6 * system->nodes);
    add_scaled(system->slip[0], alpha, system->slip_change[0], 6 * system->points);
    add_scaled(system->rate, alpha, system->rate_change, system->equations);
    system->moved = alpha;
}

double sprag_system_residual(sprag_system *system, const double *v, double stiction,
                             const double *bound)
{
    for (int i = 0; i < system->points; i++) {
        sprag_point_law(system, i, system->slip[i], stiction, bound, system->impulse[i], NULL);
    }
    for (int i = 0; i < system->equations; i++) {
        system->row_impulse[i] = sprag_equation_impulse(&system->equation[i], system->rate[i]);
    }
    double *r = system->residual;
    gather_impulses(system, r);
    double scale = fmax(system->momentum, sqrt(weighed(system, r)));
    for (int node = 0; node < system->nodes; node++) {
        double change[6], momentum[6];
        for (int k = 0; k < 6; k++) {
            change[k] = v[6 * node + k] - system->free[6 * node + k];
        }
        sprag_apply_mass(&system->problem->body[system->body[node]], change, momentum);
        for (int k = 0; k < 6; k++) {
            r[6 * node + k] = momentum[k] - r[6 * node + k];
        }
    }
    return isfinite(scale) ? sqrt(weighed(system, r)) / fmax(scale, DBL_MIN) : INFINITY;
}

// ---- matrix

static sprag_result analyse(sprag_system *system)
{
    int room = system->points + system->equations, edges = 0;
    int(*edge)[2] = SPRAG_TAKE(system->scratch, room, int[2]);
    if (!edge) {
        return SPRAG_NO_MEMORY;
    }
    for (int i = 0; i < room; i++) {
        const int *node =
            i < system->points ? system->point[i].node : system->equation[i - system->points].node;
        if (node[0] != SPRAG_STATIC && node[1] != SPRAG_STATIC) {
            memcpy(edge[edges++], node, sizeof *edge);
        }
    }
    sprag_result result = sprag_blocks_analyse(&system->blocks, system->nodes, edges,
                                               (const int(*)[2])edge, system->scratch);
    if (result != SPRAG_OK) {
        return result;
    }
    for (int i = 0; i < room; i++) {
        bool contact = i < system->points;
        const int *node =
            contact ? system->point[i].node : system->equation[i - system->points].node;
        if (node[0] != SPRAG_STATIC && node[1] != SPRAG_STATIC) {
            int block = sprag_blocks_find(&system->blocks, node[0], node[1]);
            *(contact ? &system->point[i].block : &system->equation[i - system->points].block) =
                block;
        }
    }
    system->analysed = true;
    return SPRAG_OK;
}

// A += Ja' GJ, rows x 6 each
static void add_product(double *restrict A, int rows, const double (*restrict Ja)[6],
                        const double (*restrict GJ)[6])
{
    for (int r = 0; r < rows; r++) {
        for (int i = 0; i < 6; i++) {
            double a = Ja[r][i];
            for (int j = 0; j < 6; j++) {
                A[6 * i + j] += a * GJ[r][j];
            }
        }
    }
}

// Adds J' G J of one contact or row to the matrix. GJ[side] = G J[side].
static void add_stencil(sprag_blocks *blocks, const int node[2], int block, bool symmetric,
                        int rows, const double (*J[2])[6], const double (*GJ[2])[6])
{
    for (int side = 0; side < 2; side++) {
        if (node[side] != SPRAG_STATIC) {
            add_product(blocks->diagonal[blocks->rank[node[side]]], rows, J[side], GJ[side]);
        }
    }
    if (node[0] != SPRAG_STATIC && node[1] != SPRAG_STATIC) {
        int late = blocks->rank[node[0]] > blocks->rank[node[1]] ? 0 : 1;
        add_product(blocks->lower[block], rows, J[late], GJ[!late]);
        if (!symmetric) {
            add_product(blocks->upper[block], rows, J[!late], GJ[late]);
        }
    }
}

// A search that stops at once has met the kink of a stiff law, and Newton steps may go back and
// forth across it for ever. Then the mean slope over the last move counts, if it is steeper than
// that where the move ended.
static double steepened(const sprag_system *system, double slope, double change, double impulse_now,
                        double impulse_before)
{
    double moved = system->moved * change;
    if (system->moved > 0.01 || moved == 0) {
        return slope;
    }
    return fmax(slope, (impulse_before - impulse_now) / moved);
}

static double normal_slope(const sprag_system *system, int i)
{
    const sprag_point *point = &system->point[i];
    double now = system->slip[i][SPRAG_NORMAL], change = system->slip_change[i][SPRAG_NORMAL];
    double slope = now < point->bias ? 1 / point->yield : 0;
    return steepened(system, slope, change, sprag_normal_impulse(point, now),
                     sprag_normal_impulse(point, now - system->moved * change));
}

static double equation_slope(const sprag_system *system, int i)
{
    const sprag_equation *equation = &system->equation[i];
    double now = system->rate[i], change = system->rate_change[i];
    double slope = sprag_equation_yields(equation, now) ? 1 / equation->yield : 0;
    return steepened(system, slope, change, sprag_equation_impulse(equation, now),
                     sprag_equation_impulse(equation, now - system->moved * change));
}

static void add_point(sprag_system *system, int i, double stiction, const double *bound)
{
    const sprag_point *point = &system->point[i];
    double slope = normal_slope(system, i);
    if (slope == 0 && point->cones == 0) {
        return;
    }
    double impulse[6], G[6][6], GJ[2][6][6];
    sprag_point_law(system, i, system->slip[i], stiction, bound, impulse, G);
    G[SPRAG_NORMAL][SPRAG_NORMAL] = slope;
    for (int side = 0; side < 2; side++) {
        for (int a = 0; point->node[side] != SPRAG_STATIC && a < point->dim; a++) {
            memset(GJ[side][a], 0, sizeof GJ[side][a]);
            for (int b = 0; b < point->dim; b++) {
                if (G[a][b] != 0) {
                    add_scaled(GJ[side][a], G[a][b], point->jacobian[side][b], 6);
                }
            }
        }
    }
    const double(*J[2])[6] = {point->jacobian[0], point->jacobian[1]};
    const double(*turned[2])[6] = {(const double(*)[6])GJ[0], (const double(*)[6])GJ[1]};
    add_stencil(&system->blocks, point->node, point->block, bound != NULL, point->dim, J, turned);
}

static void add_equation(sprag_system *system, int i, bool symmetric)
{
    const sprag_equation *equation = &system->equation[i];
    double slope = equation_slope(system, i);
    if (slope == 0) {
        return; // at its bound
    }
    double GJ[2][1][6];
    for (int side = 0; side < 2; side++) {
        for (int k = 0; k < 6; k++) {
            GJ[side][0][k] = equation->jacobian[side][k] * slope;
        }
    }
    const double(*J[2])[6] = {&equation->jacobian[0], &equation->jacobian[1]};
    const double(*turned[2])[6] = {(const double(*)[6])GJ[0], (const double(*)[6])GJ[1]};
    add_stencil(&system->blocks, equation->node, equation->block, symmetric, 1, J, turned);
}

sprag_result sprag_system_factor(sprag_system *system, double stiction, const double *bound)
{
    bool symmetric = bound != NULL;
    if (!system->analysed) {
        sprag_result result = analyse(system);
        if (result != SPRAG_OK) {
            return result;
        }
    }
    sprag_blocks *blocks = &system->blocks;
    sprag_blocks_clear(blocks, symmetric);
    for (int node = 0; node < system->nodes; node++) {
        const sprag_body *body = &system->problem->body[system->body[node]];
        double *A = blocks->diagonal[blocks->rank[node]];
        for (int i = 0; i < 3; i++) {
            A[7 * i] = body->mass;
            memcpy(A + 6 * (3 + i) + 3, body->inertia + 3 * i, 3 * sizeof *A);
        }
    }
    for (int i = 0; i < system->points; i++) {
        add_point(system, i, stiction, bound);
    }
    for (int i = 0; i < system->equations; i++) {
        add_equation(system, i, symmetric);
    }
    return sprag_blocks_factor(blocks, symmetric);
}

void sprag_system_update(sprag_system *system, const double *bound, double *dv)
{
    for (int i = 0; i < 6 * system->nodes; i++) {
        dv[i] = -system->residual[i];
    }
    sprag_blocks_solve(&system->blocks, bound != NULL, dv);
    for (int i = 0; i < system->points; i++) {
        memset(system->slip_change[i], 0, sizeof system->slip_change[i]);
        point_velocity(&system->point[i], dv, system->slip_change[i]);
    }
    for (int i = 0; i < system->equations; i++) {
        system->rate_change[i] = equation_velocity(&system->equation[i], dv);
    }
}

// ---- search

// Slope of the convex function along the update: dv' r(v + alpha dv).
static double slope_at(const sprag_system *system, double alpha, double inertial,
                       double inertial_change, double stiction, const double *bound)
{
    double sum = inertial + alpha * inertial_change;
    for (int i = 0; i < system->points; i++) {
        double slip[6], impulse[6];
        for (int k = 0; k < 6; k++) {
            slip[k] = system->slip[i][k] + alpha * system->slip_change[i][k];
        }
        sprag_point_law(system, i, slip, stiction, bound, impulse, NULL);
        sum -= dot6(impulse, system->slip_change[i]);
    }
    for (int i = 0; i < system->equations; i++) {
        double rate = system->rate[i] + alpha * system->rate_change[i];
        sum -= sprag_equation_impulse(&system->equation[i], rate) * system->rate_change[i];
    }
    return sum;
}

bool sprag_system_meets_bound(const sprag_system *system)
{
    for (int i = 0; i < system->equations; i++) {
        const sprag_equation *equation = &system->equation[i];
        double now = system->rate[i], end = now + system->rate_change[i];
        bool yields = sprag_equation_yields(equation, now);
        bool crosses =
            sprag_equation_impulse(equation, now) != sprag_equation_impulse(equation, end);
        if (yields != sprag_equation_yields(equation, end) || (!yields && crosses)) {
            return true;
        }
    }
    return false;
}

double sprag_system_search(sprag_system *system, const double *v, const double *dv, double stiction,
                           const double *bound)
{
    double inertial = 0, inertial_change = 0;
    for (int node = 0; node < system->nodes; node++) {
        const sprag_body *body = &system->problem->body[system->body[node]];
        double change[6], momentum[6];
        for (int k = 0; k < 6; k++) {
            change[k] = v[6 * node + k] - system->free[6 * node + k];
        }
        sprag_apply_mass(body, change, momentum);
        inertial += dot6(dv + 6 * node, momentum);
        sprag_apply_mass(body, dv + 6 * node, momentum);
        inertial_change += dot6(dv + 6 * node, momentum);
    }
    double at_start = slope_at(system, 0, inertial, inertial_change, stiction, bound);
    double at_end = slope_at(system, 1, inertial, inertial_change, stiction, bound);
    if (!(at_start < 0) || !(at_end > 1e-3 * -at_start)) {
        return 1; // still falling, or rounding: the full step
    }
    // The slope grows monotonically: regula falsi (Illinois) between its signs.
    double low = 0, high = 1, low_slope = at_start, high_slope = at_end, alpha = 1;
    int side = 0;
    for (int it = 0; it < 40; it++) {
        alpha = (low * high_slope - high * low_slope) / (high_slope - low_slope);
        double slope = slope_at(system, alpha, inertial, inertial_change, stiction, bound);
        if (fabs(slope) <= 1e-3 * -at_start || high - low < 1e-14) {
            break;
        }
        if (slope > 0) {
            high = alpha, high_slope = slope;
            low_slope *= side == 1 ? 0.5 : 1;
            side = 1;
        } else {
            low = alpha, low_slope = slope;
            high_slope *= side == -1 ? 0.5 : 1;
            side = -1;
        }
    }
    return alpha;
}

bool sprag_system_cone_slip(const sprag_system *system, const sprag_point *point,
                            const sprag_cone *cone, double stiction, double slip[2],
                            double change[2], double *tolerance)
{
    int i = (int)(point - system->point);
    double before = system->slip[i][SPRAG_NORMAL],
           after = before + system->slip_change[i][SPRAG_NORMAL];
    bool carries = before < point->bias || after < point->bias;
    if (isinf(cone->coefficient) || !(carries || cone->force)) {
        return false;
    }
    double bound = cone->force ? system->problem->step
                               : sprag_normal_impulse(point, fmin(before, after)); // the larger
    *tolerance = fmax(stiction * cone->per_length, cone->slip_yield * cone->coefficient * bound);
    slip[1] = change[1] = 0;
    for (int k = 0; k < cone->axes; k++) {
        int at = cone->first + k;
        slip[k] = cone->shape[k] * (system->slip[i][at] - cone->velocity[k]);
        change[k] = cone->shape[k] * system->slip_change[i][at];
    }
    return true;
}
