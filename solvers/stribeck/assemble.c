// Converts a problem to a system: nodes, jacobians, yields, cones.
#include "assemble.h"

#include <math.h>
#include <string.h>

#include "contact_lanes.h"
#include "kinematics.h"
#include "laws.h"
#include "linalg.h"
#include "stribeck_constants.h"
#include "symmetric3.h"

typedef struct assembly {
    const sprag_problem *problem;
    sprag_space6 *space;
    int *node_of; // body -> node
    sprag_softness soft;
} assembly;

static int count_cones(const sprag_friction *f)
{
    return (f->coefficient[0] > 0) + (f->coefficient[1] > 0);
}

static int count_turning(const sprag_turning *turning)
{
    return turning ? count_cones(&turning->roll) + (turning->spin.coefficient[0] > 0) : 0;
}

static void add_cone(sprag_system *system, sprag_point *point, const sprag_friction *f, int first,
                     int axis, int axes, double per_length)
{
    sprag_cone *cone = &system->cone[point->cone + point->cones++];
    double largest = f->coefficient[axis];
    if (axes == 2) {
        largest = sprag_larger(largest, f->coefficient[1]);
    }
    if (isfinite(largest)) { // programs write DBL_MAX: leave room for the products
        largest = sprag_smaller(largest, 1e100);
    }
    system->convex &= f->force[axis] || isinf(largest);
    *cone = (sprag_cone){.first = first + axis,
                         .axes = axes,
                         .coefficient = largest,
                         .slip_yield = f->slip[axis] / system->step,
                         .creeps = f->slip[axis] > 0,
                         .of_stiction = per_length,
                         .force = f->force[axis]};
    for (int k = 0; k < axes; k++) {
        cone->shape[k] = isinf(largest) ? 1 : sprag_smaller(1, f->coefficient[axis + k] / largest);
        point->offset[first + axis + k] -= f->velocity[axis + k];
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

static void add_turning(sprag_system *system, sprag_point *point, const sprag_turning *turning,
                        double per_length)
{
    add_cones(system, point, &turning->roll, SPRAG_ROLL, per_length);
    if (turning->spin.coefficient[0] > 0) {
        add_cone(system, point, &turning->spin, SPRAG_SPIN, 0, 1, per_length);
    }
}

// Sets the jacobians of bodies: nobody reads those of immovable sides.
static void set_jacobian(sprag_space6 *space, int i, const sprag_contact *contact)
{
    for (int side = 0; side < 2; side++) {
        for (int k = 0; k < 3 && contact->body[side] != SPRAG_STATIC; k++) {
            double *row = space->jacobian[side][i][k];
            point_jacobian(contact->arm[side], contact->frame[k], row);
            for (int j = 0; j < 6 && side; j++) {
                row[j] = -row[j];
            }
        }
    }
}

// J M^-1 J' of the normal of a point, 1/kg.
static double normal_inverse_mass(const sprag_space6 *space, int i, const sprag_inverse of[2])
{
    double sum = 0;
    for (int side = 0; side < 2; side++) {
        if (of[side].mass > 0) {
            sum += inverse_mass_along(of[side].mass, of[side].inertia,
                                      space->jacobian[side][i][SPRAG_NORMAL]);
        }
    }
    return sum;
}

// Sets the inverse mass of a cone. Returns that of its first axis, by which it yields.
static double set_inverse_mass(sprag_cone *cone, const sprag_space6 *space, int i,
                               const sprag_inverse of[2])
{
    double first = 0, last = 0, both = 0;
    for (int side = 0; side < 2; side++) {
        const double m = of[side].mass, *I = of[side].inertia;
        if (m > 0) {
            double room[2][6];
            const double *a = sprag_space6_row(space, i, side, cone->first, room[0]);
            first += inverse_mass_along(m, I, a);
            if (cone->axes == 2) {
                const double *b = sprag_space6_row(space, i, side, cone->first + 1, room[1]);
                last += inverse_mass_along(m, I, b);
                both += inverse_mass_between(m, I, a, b);
            }
        }
    }
    cone->inverse_mass = sprag_larger(first, last) + fabs(both);
    return first;
}

// The node of a side. A kinematic body has none: its velocity is returned, else NULL.
static const double *set_node(const assembly *assembly, int body, int *node)
{
    *node = body == SPRAG_STATIC ? SPRAG_NOWHERE : assembly->node_of[body];
    const bool kinematic = body != SPRAG_STATIC && *node == SPRAG_NOWHERE;
    return kinematic ? assembly->problem->body[body].velocity : NULL;
}

static void set_point_nodes(const assembly *assembly, const int body[2], int i, sprag_point *point)
{
    for (int side = 0; side < 2; side++) {
        const double *v = set_node(assembly, body[side], &assembly->space->point[i].node[side]);
        for (int k = 0; k < point->dim && v; k++) {
            double room[6];
            point->offset[k] += dot6(sprag_space6_row(assembly->space, i, side, k, room), v);
        }
    }
}

// A contact or row between immovable bodies carries no force: its yield is infinite.
static double yield_of(double compliance, double soft, double inverse_mass)
{
    return inverse_mass > 0 ? sprag_larger(compliance, soft) : INFINITY;
}

// Friction yields a little; under an infinite coefficient it is a bond that yields as much.
static void prepare_cones(sprag_system *system, const assembly *assembly, int i,
                          const sprag_inverse of[2])
{
    const sprag_point *point = &system->point[i];
    for (int c = point->cone; c < point->cone + point->cones; c++) {
        sprag_cone *cone = &system->cone[c];
        const double w = set_inverse_mass(cone, assembly->space, i, of);
        double soft = assembly->soft.share.friction * w;
        bool bond = isinf(cone->coefficient);
        cone->slip_yield =
            bond ? yield_of(cone->slip_yield, soft, w) : sprag_larger(cone->slip_yield, soft);
    }
}

static void set_stiffness(sprag_point *point, const sprag_contact *contact,
                          const sprag_softness *soft, double w)
{
    point->law = SPRAG_HUNT_CROSSLEY;
    point->stiffness = sprag_contact_stiffness(soft, contact, w);
    point->dissipation = contact->dissipation;
    point->penetration = -contact->gap;
}

// Does a point belong to a run? The centres are as far apart as for the others, but for rounding.
static bool runs_on(const sprag_stencil *run, const int node[2], const double arm[2][3])
{
    const int near = run->near;
    double apart = 0, size = 0;
    if (node[near] == SPRAG_NOWHERE || run->node[0] != node[0] || run->node[1] != node[1]) {
        return false;
    }
    for (int k = 0; k < 3; k++) {
        const double own = fabs(arm[near][k]), other = fabs(arm[!near][k]);
        apart = sprag_larger(apart, fabs(arm[!near][k] - arm[near][k] - run->shift[k]));
        size = sprag_larger(size, sprag_larger(own, other));
    }
    return node[!near] == SPRAG_NOWHERE || apart <= STRIBECK_SAME_SHIFT * size;
}

// Sets the run of a point whose nodes are known, as those of the points before. arm: m, from the
// centres of both sides to it.
static void find_run(sprag_space6 *space, int p, const double arm[2][3])
{
    sprag_stencil *at = &space->point[p];
    const int first = p > 0 ? at[-1].first : 0;
    at->first = p;
    at->run = 1;
    if (p > 0 && runs_on(&space->point[first], at->node, arm)) {
        at->first = first;
        space->point[first].run++;
        return;
    }
    const bool other = dot3(arm[1], arm[1]) < dot3(arm[0], arm[0]);
    at->near = at->node[0] == SPRAG_NOWHERE || (other && at->node[1] != SPRAG_NOWHERE);
    subtract3(arm[!at->near], arm[at->near], at->shift);
}

static void prepare_point(sprag_system *system, const assembly *assembly, int i, int cone)
{
    const sprag_contact *contact = &assembly->problem->contact[i];
    sprag_point *point = &system->point[i];
    bool turns = count_turning(contact->turning) > 0;
    *point = (sprag_point){.dim = turns ? 6 : 3, .cone = cone, .offset = {-contact->bias}};
    set_jacobian(assembly->space, i, contact);
    set_point_nodes(assembly, contact->body, i, point);
    find_run(assembly->space, i, contact->arm);
    double lever = sprag_larger(norm3(contact->arm[0]), norm3(contact->arm[1]));
    double per_length = lever > 0 ? 1 / lever : 1;
    add_cones(system, point, &contact->slide, SPRAG_SLIDE, 1);
    if (turns) {
        add_turning(system, point, contact->turning, per_length);
    }
    sprag_inverse of[2];
    sprag_space6_inverse(assembly->space, assembly->space->point[i].node, of);
    prepare_cones(system, assembly, i, of);
    double w = normal_inverse_mass(assembly->space, i, of);
    point->yield = sprag_contact_yield(&assembly->soft, contact, w);
    if (contact->stiffness > 0) {
        set_stiffness(point, contact, &assembly->soft, w);
        system->curved = true;
    }
    for (int k = 0; k < 3; k++) {
        point->guess[k] = contact->guess[k] * system->step;
    }
    point->inverse_mass = w;
}

// Inverse masses and yields of four rows.
SPRAG_VECTORS
static void weigh_rows(const assembly *assembly, const int at[LANES], double *w, double *yield)
{
    static const double none[10];
    const sprag_row *of[LANES];
    row_lanes rows = {zeros, zeros, zeros};
    lanes compliance, hard, J[6], I[LANES], inverse[10];
    for (int l = 0; l < LANES; l++) {
        of[l] = &assembly->problem->row[at[l]];
        compliance[l] = of[l]->compliance / assembly->soft.step;
    }
    for (int side = 0; side < 2; side++) {
        const void *from[LANES];
        for (int l = 0; l < LANES; l++) {
            const int body = of[l]->body[side];
            const int node = body == SPRAG_STATIC ? SPRAG_NOWHERE : assembly->node_of[body];
            from[l] = node == SPRAG_NOWHERE ? none : assembly->space->inverse[node];
        }
        load_four(from, 0, inverse);
        load_four(from, 4 * sizeof(double), inverse + 4);
        load_four(from, 6 * sizeof(double), I);
        inverse[8] = I[2], inverse[9] = I[3];
        add_side_of_rows(of, side, &inverse[0], inverse + 1, &rows, J);
    }
    yields_of_rows(&assembly->soft, &rows, &compliance, &hard);
    memcpy(w, &rows.w, sizeof rows.w);
    memcpy(yield, &hard, sizeof hard);
}

static void prepare_equation(sprag_system *system, const assembly *assembly, int i, double w,
                             double yield)
{
    const sprag_row *row = &assembly->problem->row[i];
    double step = system->step;
    sprag_equation *equation = &system->equation[i];
    sprag_row_stencil *stencil = &assembly->space->equation[i];
    *equation = (sprag_equation){.offset = -row->bias,
                                 .lo = row->lo * step,
                                 .hi = row->hi * step,
                                 .guess = row->guess * step};
    memcpy(stencil->jacobian, row->jacobian, sizeof stencil->jacobian);
    for (int side = 0; side < 2; side++) {
        const double *v = set_node(assembly, row->body[side], &stencil->node[side]);
        equation->offset += v ? dot6(row->jacobian[side], v) : 0;
    }
    equation->inverse_mass = w;
    equation->yield = yield;
    equation->excess = equation->yield - row->compliance / step;
    system->bounded |= isfinite(row->lo) || isfinite(row->hi);
}

static void prepare_node(sprag_system *system, const assembly *assembly, int node, int b,
                         double *mass_diagonal)
{
    const sprag_body *body = &assembly->problem->body[b];
    double *mass = assembly->space->mass[node], I[9];
    memcpy(I, body->inertia, sizeof I);
    system->gyroscopic |= sprag_symmetrise3(I, 3);
    for (int i = 0; i < 3; i++) {
        mass[7 * i] = body->mass;
        memcpy(mass + 6 * (3 + i) + 3, body->inertia + 3 * i, 3 * sizeof *mass);
    }
    for (int i = 0; i < 6; i++) {
        mass_diagonal[6 * node + i] = mass[7 * i];
        system->start[6 * node + i] = body->velocity[i];
        system->free[6 * node + i] = body->free_velocity[i];
    }
    assembly->space->inverse[node][0] = 1 / body->mass;
    invert33(body->inertia, assembly->space->inverse[node] + 1);
}

static int count_all_cones(const sprag_problem *problem)
{
    int cones = 0;
    for (int i = 0; i < problem->contacts; i++) {
        const sprag_contact *contact = &problem->contact[i];
        cones += count_cones(&contact->slide) + count_turning(contact->turning);
    }
    return cones;
}

sprag_result sprag_assemble(sprag_system *system, const sprag_problem *problem,
                            const sprag_softness *softness, sprag_scratch *scratch, int **node_of)
{
    *system = (sprag_system){.step = problem->step,
                             .points = problem->contacts,
                             .cones = count_all_cones(problem),
                             .equations = problem->rows,
                             .convex = true};
    assembly assembly = {.problem = problem, .soft = *softness};
    assembly.node_of = SPRAG_TAKE_RAW(scratch, problem->bodies, int);
    assembly.space = SPRAG_TAKE_RAW(scratch, 1, sprag_space6);
    if (scratch->failed) {
        return SPRAG_NO_MEMORY;
    }
    int nodes = 0;
    double w[LANES], yield[LANES]; // of rows
    for (int b = 0; b < problem->bodies; b++) {
        assembly.node_of[b] = problem->body[b].mass > 0 ? nodes++ : SPRAG_NOWHERE;
    }
    double *mass_diagonal = SPRAG_TAKE_RAW(scratch, 6 * nodes, double);
    if (scratch->failed || sprag_space6_take(assembly.space, system, nodes, scratch) != SPRAG_OK ||
        sprag_system_take(system, scratch) != SPRAG_OK) {
        return SPRAG_NO_MEMORY;
    }
    assembly.space->rigid = true;
    for (int b = 0; b < problem->bodies; b++) {
        if (assembly.node_of[b] != SPRAG_NOWHERE) {
            prepare_node(system, &assembly, assembly.node_of[b], b, mass_diagonal);
        }
    }
    sprag_system_weigh(system, mass_diagonal, system->start);
    for (int i = 0; i < system->equations; i++) {
        const int last = system->equations - 1;
        if (i % LANES == 0) {
            const int at[LANES] = {i, i < last ? i + 1 : last, i + 2 < last ? i + 2 : last,
                                   i + 3 < last ? i + 3 : last};
            weigh_rows(&assembly, at, w, yield);
        }
        prepare_equation(system, &assembly, i, w[i % LANES], yield[i % LANES]);
    }
    system->cones = 0; // two axes alike are one
    for (int i = 0; i < system->points; i++) {
        prepare_point(system, &assembly, i, system->cones);
        system->cones += system->point[i].cones;
    }
    *node_of = assembly.node_of;
    return SPRAG_OK;
}

sprag_scales sprag_stribeck_scales(const sprag_problem *problem,
                                   const sprag_stribeck_options *options)
{
    sprag_softness soft = sprag_problem_softness(problem, sprag_stribeck_shares(options));
    return (sprag_scales){.soft = soft,
                          .stiction = sprag_stiction_of(soft.scale, options->stiction_tolerance,
                                                        options->stiction_at_rest)};
}

// |slip| of a cone, m/s, in the metric of its shape, where the system is placed. What has gone
// along a chord goes along the next one after the turn: the bend of the last one is the other way.
static double slip_of(const sprag_system *system, int point, const sprag_cone *cone,
                      const sprag_contact *contact)
{
    const bool on_chord = contact->on_chords && cone->first < SPRAG_ROLL;
    double sum = 0;
    for (int k = 0; k < cone->axes; k++) {
        const int row = cone->first + k;
        double bend = on_chord ? 2 * contact->slide.velocity[row - SPRAG_SLIDE] : 0;
        double u = cone->shape[k] * (system->slip[point][row] + bend) / cone->of_stiction;
        sum += u * u;
    }
    return sqrt(sum);
}

// Sets the stiction tolerance of each cone: the contact's own if it has one, else a thousandth of
// its slip before the step, between the tolerance at rest, by which contacts at rest creep even if
// their bodies move together, and that of sliding contacts.
// *at_rest: m/s, the least of contacts at rest.
static void set_stiction(sprag_system *system, const sprag_problem *problem, sprag_scales *scales,
                         double *at_rest)
{
    if (system->points > 0) {
        sprag_system_place(system, system->start);
    }
    for (int i = 0; i < system->points; i++) {
        const sprag_point *point = &system->point[i];
        for (int c = point->cone; c < point->cone + point->cones; c++) {
            system->cone[c].stiction = slip_of(system, i, &system->cone[c], &problem->contact[i]);
            scales->fastest = sprag_larger(scales->fastest, system->cone[c].stiction);
        }
    }
    *at_rest = scales->stiction.at_rest;
    for (int i = 0; i < system->points; i++) {
        const sprag_point *point = &system->point[i];
        double asked = problem->contact[i].stiction;
        for (int c = point->cone; c < point->cone + point->cones; c++) {
            double *tolerance = &system->cone[c].stiction;
            *tolerance =
                sprag_stiction_tolerance(&scales->stiction, asked, *tolerance, scales->fastest);
            system->cone[c].linear = asked > 0;
        }
        *at_rest = asked > 0 ? sprag_smaller(*at_rest, asked) : *at_rest;
    }
}

// Measures the slip of contacts at rest from where their friction is that of the last step, so that
// what rests creeps by changes of its friction only. Surfaces with a slip or a stiction tolerance
// of their own have the law that they ask for.
static void hold(sprag_system *system, const sprag_problem *problem, const sprag_scales *scales,
                 double at_rest)
{
    for (int i = 0; i < system->points; i++) {
        sprag_point *point = &system->point[i];
        const bool held = point->guess[0] > 0 && sprag_contact_rests(problem, &problem->contact[i],
                                                                     scales->stiction.moving);
        for (int c = point->cone; c < point->cone + point->cones && held; c++) {
            sprag_cone *cone = &system->cone[c];
            double slip[2];
            if (cone->first + cone->axes <= SPRAG_ROLL && isfinite(cone->coefficient) &&
                !cone->creeps && !cone->linear) {
                cone->of_stiction *= STRIBECK_HELD_TOLERANCE;
                sprag_cone_stuck_slip(cone, at_rest, cone->force ? system->step : point->guess[0],
                                      point->guess + cone->first, slip);
                add_scaled(point->offset + cone->first, 1, slip, cone->axes);
            }
        }
    }
}

sprag_result sprag_stribeck_assemble(const sprag_problem *problem, sprag_scales *scales,
                                     sprag_scratch *scratch, sprag_system *system, int **node_of,
                                     double *at_rest)
{
    sprag_result result = sprag_assemble(system, problem, &scales->soft, scratch, node_of);
    if (result == SPRAG_OK) {
        set_stiction(system, problem, scales, at_rest);
        hold(system, problem, scales, *at_rest);
    }
    return result;
}

void sprag_assemble_free(const sprag_problem *problem, const sprag_solution *solution)
{
    for (int b = 0; b < problem->bodies; b++) {
        const sprag_body *body = &problem->body[b];
        memcpy(solution->velocity[b], body->mass > 0 ? body->free_velocity : body->velocity,
               sizeof solution->velocity[b]);
    }
}

void sprag_assemble_solution(const sprag_system *system, const sprag_problem *problem,
                             const int *node_of, const double *v, sprag_solution *solution)
{
    for (int b = 0; b < problem->bodies; b++) {
        const double *of = node_of[b] == SPRAG_NOWHERE ? problem->body[b].velocity // kinematic
                                                       : v + 6 * node_of[b];
        memcpy(solution->velocity[b], of, sizeof solution->velocity[b]);
    }
    for (int i = 0; i < system->points; i++) {
        for (int k = 0; k < 6; k++) {
            solution->contact_force[i][k] = system->impulse[i][k] / problem->step;
        }
    }
    for (int i = 0; i < system->equations; i++) {
        solution->row_force[i] = system->row_impulse[i] / problem->step;
    }
}

void sprag_assemble_start(sprag_system *system, const sprag_problem *problem, const int *node_of,
                          const sprag_solution *solution, double *v)
{
    for (int b = 0; b < problem->bodies; b++) {
        if (node_of[b] != SPRAG_NOWHERE) {
            memcpy(v + 6 * node_of[b], solution->velocity[b], 6 * sizeof *v);
        }
    }
    for (int i = 0; i < system->points; i++) {
        for (int k = 0; k < 6; k++) {
            system->impulse[i][k] = problem->step * solution->contact_force[i][k];
        }
    }
    for (int i = 0; i < system->equations; i++) {
        system->row_impulse[i] = problem->step * solution->row_force[i];
    }
}
