// From a problem to the form that is iterated on: nodes, jacobians, yields, cones.
#include "solvers/system.h"

#include <math.h>
#include <string.h>

#include "solvers/linalg.h"

// ---- preparation

static int count_cones(const sprag_friction *f)
{
    return (f->coefficient[0] > 0) + (f->coefficient[1] > 0);
}

static void add_cone(sprag_system *system, sprag_point *point, const sprag_friction *f, int first,
                     int axis, int axes, double per_length)
{
    double step = system->problem->step;
    sprag_cone *cone = &system->cone[point->cone + point->cones++];
    double largest = f->coefficient[axis];
    if (axes == 2) {
        largest = fmax(largest, f->coefficient[1]);
    }
    if (isfinite(largest)) {
        largest = fmin(largest, 1e100); // programs write DBL_MAX: leave room for the products
    }
    system->convex &= f->force[axis] || isinf(largest);
    *cone = (sprag_cone){.first = first + axis,
                         .axes = axes,
                         .coefficient = largest,
                         .slip_yield = f->slip[axis] / step,
                         .per_length = per_length,
                         .force = f->force[axis]};
    for (int k = 0; k < axes; k++) {
        cone->shape[k] = isinf(largest) ? 1 : fmin(1, f->coefficient[axis + k] / largest);
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
    static const int component[3] = {SPRAG_SPIN, SPRAG_ROLL,
                                     SPRAG_ROLL + 1}; // about normal, tangent, tangent
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

// Between bodies that nothing moves a contact or row carries nothing, whatever its law.
static double yield_of(double compliance, double soft, double inverse_mass)
{
    return inverse_mass > 0 ? fmax(compliance, soft) : INFINITY;
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
    add_cones(system, point, &contact->slide, SPRAG_SLIDE, 1);
    add_cones(system, point, &contact->roll, SPRAG_ROLL, per_length);
    if (contact->spin.coefficient[0] > 0) {
        add_cone(system, point, &contact->spin, SPRAG_SPIN, 0, 1, per_length);
    }
    double w = inverse_mass_of(system, point->node, point->jacobian[0][SPRAG_NORMAL],
                               point->jacobian[1][SPRAG_NORMAL], inverse_inertia);
    point->inverse_mass = w;
    // Sinking under a load grows with the load: the heaviest body of the island bounds it.
    double soft = fmax(softness * contact->softening, least) * fmin(w, 4 / heaviest);
    point->yield = yield_of(contact->compliance / step, soft, w);
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
    equation->yield = yield_of(row->compliance / step, softness * w, w);
    system->bounded |= isfinite(row->lo) || isfinite(row->hi);
}

// No friction is stiffer than a joint row; under an infinite coefficient it is a bond just as
// stiff.
static void prepare_cones(sprag_system *system, const sprag_point *point,
                          const double (*inverse_inertia)[9], double softness)
{
    for (int c = point->cone; c < point->cone + point->cones; c++) {
        sprag_cone *cone = &system->cone[c];
        double w = inverse_mass_of(system, point->node, point->jacobian[0][cone->first],
                                   point->jacobian[1][cone->first], inverse_inertia);
        bool bond = isinf(cone->coefficient);
        cone->slip_yield = bond ? yield_of(cone->slip_yield, softness * w, w)
                                : fmax(cone->slip_yield, softness * w);
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

static double prepare_node(sprag_system *system, int node, int b, double inverse_inertia[9])
{
    const sprag_body *body = &system->problem->body[b];
    system->body[node] = b;
    memcpy(system->start + 6 * node, body->velocity, 6 * sizeof(double));
    memcpy(system->free + 6 * node, body->free_velocity, 6 * sizeof(double));
    double p[6], sum = 0;
    sprag_apply_mass(body, body->free_velocity, p);
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
                             .convex = true,
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
        prepare_cones(system, &system->point[i], inverse_inertia, row_softness);
        cones += system->point[i].cones;
    }
    for (int i = 0; i < system->equations; i++) {
        prepare_equation(system, i, node_of, inverse_inertia, row_softness);
    }
    return SPRAG_OK;
}
