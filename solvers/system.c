#include "solvers/system.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "solvers/linalg.h"

// ---- preparation

static int count_cones(const sprag_friction *f)
{
    return (f->coefficient[0] > 0) + (f->coefficient[1] > 0);
}

// The relative velocity's component that belongs to rows 0, 1, 2 of the frame, and about them.
enum { NORMAL = 0, SLIDE = 1, ROLL = 3, SPIN = 5 };

static void add_cone(sprag_system *system, sprag_point *point, const sprag_friction *f, int first,
                     int axis, int axes, double per_length)
{
    double step = system->problem->step;
    sprag_cone *cone = &system->cone[point->cone + point->cones++];
    double largest = f->coefficient[axis];
    if (axes == 2) {
        largest = fmax(largest, f->coefficient[1]);
    }
    *cone = (sprag_cone){.first = first + axis,
                         .axes = axes,
                         .coefficient = largest,
                         .slip_yield = f->slip[axis] / step,
                         .per_length = per_length,
                         .force = f->force[axis]};
    for (int k = 0; k < axes; k++) {
        cone->shape[k] = isinf(largest) ? 1 : f->coefficient[axis + k] / largest;
        cone->velocity[k] = f->velocity[axis + k];
    }
}

// Axes that share everything but the coefficient make one elliptic cone; axes that do not are
// bounded one by one, as ODE does.
static void add_cones(sprag_system *system, sprag_point *point, const sprag_friction *f, int first,
                      double per_length)
{
    bool infinite = isinf(f->coefficient[0]) || isinf(f->coefficient[1]);
    bool alike = f->slip[0] == f->slip[1] && f->force[0] == f->force[1];
    if (count_cones(f) == 2 && alike && !infinite) {
        add_cone(system, point, f, first, 0, 2, per_length);
        return;
    }
    for (int axis = 0; axis < 2; axis++) {
        if (f->coefficient[axis] > 0) {
            add_cone(system, point, f, first, axis, 1, per_length);
        }
    }
}

static void set_jacobian(sprag_point *point, const sprag_contact *contact)
{
    static const int component[3] = {SPIN, ROLL, ROLL + 1}; // about normal, tangent, tangent
    for (int side = 0; side < 2; side++) {
        double sign = side ? -1 : 1;
        for (int i = 0; i < 3; i++) {
            double *row = point->jacobian[side][i];
            cross3(contact->arm[side], contact->frame[i], row + 3);
            for (int k = 0; k < 3; k++) {
                row[k] = sign * contact->frame[i][k];
                row[3 + k] *= sign;
            }
            if (point->dim == 6) {
                for (int k = 0; k < 3; k++) {
                    point->jacobian[side][component[i]][3 + k] = sign * contact->frame[i][k];
                }
            }
        }
    }
}

// J M^-1 J' of one row
static double inverse_mass_of(const sprag_system *system, const int node[2], const double *row0,
                              const double *row1, const double (*inverse_inertia)[9])
{
    double sum = 0;
    for (int side = 0; side < 2; side++) {
        if (node[side] != SPRAG_STATIC) {
            const double *row = side ? row1 : row0;
            const sprag_body *body = &system->problem->body[system->body[node[side]]];
            double turned[3];
            mul33(inverse_inertia[node[side]], row + 3, turned);
            sum += dot3(row, row) / body->mass + dot3(row + 3, turned);
        }
    }
    return sum;
}

static void set_nodes(const sprag_problem *problem, const int *node_of, const int body[2],
                      int node[2], const double *row0, const double *row1, int rows, double *offset)
{
    for (int side = 0; side < 2; side++) {
        int b = body[side];
        node[side] = b == SPRAG_STATIC ? SPRAG_STATIC : node_of[b];
        if (b != SPRAG_STATIC && node[side] == SPRAG_STATIC) { // kinematic
            for (int i = 0; i < rows; i++) {
                offset[i] += dot6((side ? row1 : row0) + 6 * i, problem->body[b].velocity);
            }
        }
    }
}

static void prepare_point(sprag_system *system, int i, int cone, const int *node_of,
                          const double (*inverse_inertia)[9], double softness, double heaviest)
{
    static const double least = 1e-6;
    const sprag_contact *contact = &system->problem->contact[i];
    double step = system->problem->step;
    sprag_point *point = &system->point[i];
    bool turns = count_cones(&contact->roll) || contact->spin.coefficient[0] > 0;
    *point = (sprag_point){.dim = turns ? 6 : 3, .cone = cone, .bias = contact->bias};
    set_jacobian(point, contact);
    set_nodes(system->problem, node_of, contact->body, point->node, point->jacobian[0][0],
              point->jacobian[1][0], point->dim, point->offset);
    double lever = fmax(norm3(contact->arm[0]), norm3(contact->arm[1]));
    double per_length = lever > 0 ? 1 / lever : 1;
    add_cones(system, point, &contact->slide, SLIDE, 1);
    add_cones(system, point, &contact->roll, ROLL, per_length);
    if (contact->spin.coefficient[0] > 0) {
        add_cone(system, point, &contact->spin, SPIN, 0, 1, per_length);
    }
    double w = inverse_mass_of(system, point->node, point->jacobian[0][NORMAL],
                               point->jacobian[1][NORMAL], inverse_inertia);
    point->inverse_mass = w;
    // Sinking under a load grows with the load: the heaviest body of the island bounds it.
    double soft = fmax(softness * contact->softening, least) * fmin(w, 4 / heaviest);
    point->yield = fmax(contact->compliance / step, soft);
}

static void prepare_equation(sprag_system *system, int i, const int *node_of,
                             const double (*inverse_inertia)[9], double softness)
{
    const sprag_row *row = &system->problem->row[i];
    double step = system->problem->step;
    sprag_equation *equation = &system->equation[i];
    *equation = (sprag_equation){.bias = row->bias, .lo = row->lo * step, .hi = row->hi * step};
    memcpy(equation->jacobian, row->jacobian, sizeof equation->jacobian);
    set_nodes(system->problem, node_of, row->body, equation->node, row->jacobian[0],
              row->jacobian[1], 1, &equation->offset);
    double w = inverse_mass_of(system, equation->node, row->jacobian[0], row->jacobian[1],
                               inverse_inertia);
    equation->yield = fmax(row->compliance / step, softness * w);
    system->bounded |= isfinite(row->lo) || isfinite(row->hi);
}

// An infinite coefficient is a bond, as stiff as a joint row.
static void prepare_bonds(sprag_system *system, const sprag_point *point,
                          const double (*inverse_inertia)[9], double softness)
{
    for (int c = point->cone; c < point->cone + point->cones; c++) {
        sprag_cone *cone = &system->cone[c];
        if (isinf(cone->coefficient)) {
            double w = inverse_mass_of(system, point->node, point->jacobian[0][cone->first],
                                       point->jacobian[1][cone->first], inverse_inertia);
            cone->slip_yield = fmax(cone->slip_yield, softness * w);
        }
    }
}

static sprag_result take_memory(sprag_system *system, int cones)
{
    sprag_scratch *scratch = system->scratch;
    int n = system->nodes;
    system->body = SPRAG_TAKE(scratch, n, int);
    system->start = SPRAG_TAKE(scratch, 6 * n, double);
    system->free = SPRAG_TAKE(scratch, 6 * n, double);
    system->weight = SPRAG_TAKE(scratch, 6 * n, double);
    system->residual = SPRAG_TAKE(scratch, 6 * n, double);
    system->point = SPRAG_TAKE(scratch, system->points, sprag_point);
    system->cone = SPRAG_TAKE(scratch, cones, sprag_cone);
    system->equation = SPRAG_TAKE(scratch, system->equations, sprag_equation);
    system->slip = SPRAG_TAKE(scratch, system->points, double[6]);
    system->slip_change = SPRAG_TAKE(scratch, system->points, double[6]);
    system->impulse = SPRAG_TAKE(scratch, system->points, double[6]);
    system->rate = SPRAG_TAKE(scratch, system->equations, double);
    system->rate_change = SPRAG_TAKE(scratch, system->equations, double);
    system->row_impulse = SPRAG_TAKE(scratch, system->equations, double);
    return scratch->failed ? SPRAG_NO_MEMORY : SPRAG_OK;
}

static void apply_mass(const sprag_body *body, const double *v, double *p)
{
    for (int k = 0; k < 3; k++) {
        p[k] = body->mass * v[k];
    }
    mul33(body->inertia, v + 3, p + 3);
}

static double prepare_node(sprag_system *system, int node, int b, double inverse_inertia[9])
{
    const sprag_body *body = &system->problem->body[b];
    system->body[node] = b;
    memcpy(system->start + 6 * node, body->velocity, 6 * sizeof(double));
    memcpy(system->free + 6 * node, body->free_velocity, 6 * sizeof(double));
    double p[6], sum = 0;
    apply_mass(body, body->free_velocity, p);
    for (int k = 0; k < 6; k++) {
        double weight = 1 / sqrt(k < 3 ? body->mass : body->inertia[4 * (k - 3)]);
        system->weight[6 * node + k] = weight;
        sum += weight * p[k] * weight * p[k];
    }
    invert33(body->inertia, inverse_inertia);
    return sum;
}

sprag_result sprag_system_prepare(sprag_system *system, const sprag_problem *problem,
                                  double softness, double row_softness, sprag_scratch *scratch)
{
    *system = (sprag_system){.problem = problem,
                             .points = problem->contacts,
                             .equations = problem->rows,
                             .scratch = scratch};
    int cones = 0;
    for (int i = 0; i < problem->contacts; i++) {
        const sprag_contact *contact = &problem->contact[i];
        cones += count_cones(&contact->slide) + count_cones(&contact->roll) +
                 (contact->spin.coefficient[0] > 0);
    }
    int *node_of = SPRAG_TAKE(scratch, problem->bodies, int);
    if (!node_of) {
        return SPRAG_NO_MEMORY;
    }
    for (int b = 0; b < problem->bodies; b++) {
        node_of[b] = problem->body[b].mass > 0 ? system->nodes++ : SPRAG_STATIC;
    }
    double(*inverse_inertia)[9] = SPRAG_TAKE(scratch, system->nodes, double[9]);
    if (take_memory(system, cones) != SPRAG_OK) {
        return SPRAG_NO_MEMORY;
    }
    double heaviest = 0, sum = 0;
    for (int b = 0; b < problem->bodies; b++) {
        if (node_of[b] != SPRAG_STATIC) {
            sum += prepare_node(system, node_of[b], b, inverse_inertia[node_of[b]]);
            heaviest = fmax(heaviest, problem->body[b].mass);
        }
    }
    system->momentum = sqrt(sum);
    cones = 0;
    for (int i = 0; i < system->points; i++) {
        prepare_point(system, i, cones, node_of, inverse_inertia, softness, heaviest);
        prepare_bonds(system, &system->point[i], inverse_inertia, row_softness);
        cones += system->point[i].cones;
    }
    for (int i = 0; i < system->equations; i++) {
        prepare_equation(system, i, node_of, inverse_inertia, row_softness);
    }
    return SPRAG_OK;
}

// ---- laws

// Impulse of one cone under a given bound (normal impulse, or the step if `force`), and, if asked
// for, its derivatives: slope[i][j] = -d impulse_i / d slip_j, by_bound[i] = d impulse_i / d bound.
static void cone_law(const sprag_cone *cone, const double *slip, double stiction, double bound,
                     double impulse[2], double slope[2][2], double by_bound[2])
{
    double u[2] = {0, 0};
    for (int k = 0; k < cone->axes; k++) {
        u[k] = cone->shape[k] * (slip[cone->first + k] - cone->velocity[k]);
    }
    if (isinf(cone->coefficient)) {
        impulse[0] = -u[0] / cone->slip_yield;
        if (slope) {
            slope[0][0] = 1 / cone->slip_yield;
            by_bound[0] = 0;
        }
        return;
    }
    double largest = cone->coefficient * bound;
    double tolerance = stiction * cone->per_length;
    bool slips = cone->slip_yield * largest > tolerance;
    if (slips) { // creep in proportion to the force, in series with stiction
        tolerance = cone->slip_yield * largest;
    }
    double rho = sqrt(tolerance * tolerance + u[0] * u[0] + u[1] * u[1]);
    double s = rho > 0 ? 1 / rho : 0;
    for (int i = 0; i < cone->axes; i++) {
        impulse[i] = -largest * s * cone->shape[i] * u[i];
    }
    if (slope) {
        double ease = slips ? 1 - tolerance * tolerance * s * s : 1;
        for (int i = 0; i < cone->axes; i++) {
            by_bound[i] = -cone->coefficient * ease * s * cone->shape[i] * u[i];
            for (int j = 0; j < cone->axes; j++) {
                slope[i][j] = largest * s * cone->shape[i] * cone->shape[j] *
                              ((i == j) - s * u[i] * s * u[j]);
            }
        }
    }
}

static double normal_impulse(const sprag_point *point, double normal_velocity)
{
    return fmax(0, (point->bias - normal_velocity) / point->yield);
}

static double cone_bound(const sprag_system *system, const sprag_cone *cone, double normal,
                         const double *bound, int i)
{
    return cone->force ? system->problem->step : bound ? bound[i] : normal;
}

// Impulse of point i at a given relative velocity; G, if asked for, dim x dim in rows of 6: -d
// impulse/d slip.
static void point_law(const sprag_system *system, int i, const double *slip, double stiction,
                      const double *bound, double impulse[6], double G[6][6])
{
    const sprag_point *point = &system->point[i];
    memset(impulse, 0, 6 * sizeof *impulse);
    if (G) {
        memset(G, 0, 6 * sizeof *G);
    }
    double normal = normal_impulse(point, slip[NORMAL]);
    double normal_slope = normal > 0 ? 1 / point->yield : 0;
    impulse[NORMAL] = normal;
    if (G) {
        G[NORMAL][NORMAL] = normal_slope;
    }
    for (int c = point->cone; c < point->cone + point->cones; c++) {
        const sprag_cone *cone = &system->cone[c];
        double slope[2][2], by_bound[2];
        cone_law(cone, slip, stiction, cone_bound(system, cone, normal, bound, i),
                 impulse + cone->first, G ? slope : NULL, by_bound);
        for (int a = 0; G && a < cone->axes; a++) {
            for (int b = 0; b < cone->axes; b++) {
                G[cone->first + a][cone->first + b] = slope[a][b];
            }
            if (!bound && !cone->force) {
                G[cone->first + a][NORMAL] = by_bound[a] * normal_slope;
            }
        }
    }
}

static double equation_impulse(const sprag_equation *equation, double rate)
{
    double wanted = (equation->bias - rate) / equation->yield;
    return fmin(fmax(wanted, equation->lo), equation->hi);
}

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
}

void sprag_system_move(sprag_system *system, double *v, double alpha, const double *dv)
{
    add_scaled(v, alpha, dv, 6 * system->nodes);
    add_scaled(system->slip[0], alpha, system->slip_change[0], 6 * system->points);
    add_scaled(system->rate, alpha, system->rate_change, system->equations);
}

double sprag_system_residual(sprag_system *system, const double *v, double stiction,
                             const double *bound)
{
    for (int i = 0; i < system->points; i++) {
        point_law(system, i, system->slip[i], stiction, bound, system->impulse[i], NULL);
    }
    for (int i = 0; i < system->equations; i++) {
        system->row_impulse[i] = equation_impulse(&system->equation[i], system->rate[i]);
    }
    double *r = system->residual;
    gather_impulses(system, r);
    double scale = fmax(system->momentum, sqrt(weighed(system, r)));
    for (int node = 0; node < system->nodes; node++) {
        double change[6], momentum[6];
        for (int k = 0; k < 6; k++) {
            change[k] = v[6 * node + k] - system->free[6 * node + k];
        }
        apply_mass(&system->problem->body[system->body[node]], change, momentum);
        for (int k = 0; k < 6; k++) {
            r[6 * node + k] = momentum[k] - r[6 * node + k];
        }
    }
    return sqrt(weighed(system, r)) / fmax(scale, DBL_MIN);
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

static void add_point(sprag_system *system, int i, double stiction, const double *bound)
{
    const sprag_point *point = &system->point[i];
    double impulse[6], G[6][6], GJ[2][6][6];
    point_law(system, i, system->slip[i], stiction, bound, impulse, G);
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
    double wanted = (equation->bias - system->rate[i]) / equation->yield;
    if (wanted < equation->lo || wanted > equation->hi || equation->lo == equation->hi) {
        return; // at its bound: yields to nothing
    }
    double GJ[2][1][6];
    for (int side = 0; side < 2; side++) {
        for (int k = 0; k < 6; k++) {
            GJ[side][0][k] = equation->jacobian[side][k] / equation->yield;
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
        if (bound || normal_impulse(&system->point[i], system->slip[i][NORMAL]) > 0 ||
            system->point[i].cones) {
            add_point(system, i, stiction, bound);
        }
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
        point_law(system, i, slip, stiction, bound, impulse, NULL);
        sum -= dot6(impulse, system->slip_change[i]);
    }
    for (int i = 0; i < system->equations; i++) {
        double rate = system->rate[i] + alpha * system->rate_change[i];
        sum -= equation_impulse(&system->equation[i], rate) * system->rate_change[i];
    }
    return sum;
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
        apply_mass(body, change, momentum);
        inertial += dot6(dv + 6 * node, momentum);
        apply_mass(body, dv + 6 * node, momentum);
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
    double before = system->slip[i][NORMAL], after = before + system->slip_change[i][NORMAL];
    bool carries = before < point->bias || after < point->bias;
    if (isinf(cone->coefficient) || !(carries || cone->force)) {
        return false;
    }
    double bound = cone->force ? system->problem->step
                               : normal_impulse(point, fmin(before, after)); // the larger
    *tolerance = fmax(stiction * cone->per_length, cone->slip_yield * cone->coefficient * bound);
    slip[1] = change[1] = 0;
    for (int k = 0; k < cone->axes; k++) {
        int at = cone->first + k;
        slip[k] = cone->shape[k] * (system->slip[i][at] - cone->velocity[k]);
        change[k] = cone->shape[k] * system->slip_change[i][at];
    }
    return true;
}
