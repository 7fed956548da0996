#include "derivative.h"

#include <math.h>
#include <string.h>

#include "forces.h"
#include "laws.h"
#include "linalg.h"
#include "newton.h"
#include "stribeck_constants.h"
#include "vectors.h"
#include "vectors6.h"

static bool is_fixed(const sprag_derivative *d, int body)
{
    return d->node_of[body] == SPRAG_NOWHERE;
}

// Keeps the solution at which the system is: the system itself is at the points of its laws.
static void save_base(sprag_derivative *d, double *rate)
{
    sprag_system *system = &d->system;
    memset(rate, 0, (size_t)system->equations * sizeof *rate);
    for (int i = 0; i < system->points; i++) {
        double impulse[6];
        memcpy(d->slip[i], system->point[i].offset, sizeof d->slip[i]);
        sprag_point_law(system, i, system->slip[i], d->stiction, NULL, impulse, d->slope[i]);
    }
    system->space->velocities(system, d->velocity, d->slip, rate);
    system->moved = 0; // slopes are those at the points
}

sprag_result sprag_derivative_open(sprag_derivative *d, const sprag_problem *problem,
                                   const sprag_stribeck_options *options, sprag_solution *solution,
                                   sprag_scratch *scratch)
{
    *d = (sprag_derivative){.problem = problem, .scales = sprag_stribeck_scales(problem, options)};
    sprag_system *system = &d->system;
    sprag_stats stats = {.factorizations = 1};
    sprag_result result =
        sprag_stribeck_assemble(problem, &d->scales, scratch, system, &d->node_of, &d->stiction);
    if (result != SPRAG_OK) {
        return result;
    }
    d->velocity = SPRAG_TAKE(scratch, system->size, double);
    d->panel = SPRAG_TAKE_RAW(scratch, system->size, double[SPRAG_PANEL]);
    d->slip = SPRAG_TAKE_RAW(scratch, system->points, double[6]);
    d->slope = SPRAG_TAKE(scratch, system->points, double[6][6]);
    double *dv = SPRAG_TAKE_RAW(scratch, system->size, double);
    double *rate = SPRAG_TAKE_RAW(scratch, system->equations, double);
    if (scratch->failed) {
        return SPRAG_NO_MEMORY;
    }
    sprag_assemble_start(system, problem, d->node_of, solution, d->velocity);
    const sprag_forces_limits limits = {d->stiction, options->tolerance, STRIBECK_FORCE_UPDATES,
                                        SPRAG_FORCES_BRIEF};
    result = sprag_forces_iterate(system, &limits, d->velocity, dv, &stats);
    if (result != SPRAG_OK) {
        return result;
    }
    save_base(d, rate);
    result = sprag_system_factor(system, d->stiction, NULL, false);
    if (result == SPRAG_OK) { // as in a step
        sprag_newton_state state = {.v = d->velocity, .dv = dv};
        result = sprag_newton_harden_rows(system, options->tolerance, d->stiction, &state, &stats);
        if (result == SPRAG_OK && state.hardened) {
            d->soft = SPRAG_TAKE_RAW(scratch, system->size, double[SPRAG_PANEL]);
            result = d->soft ? SPRAG_OK : SPRAG_NO_MEMORY;
        }
    }
    sprag_assemble_solution(system, problem, d->node_of, d->velocity, solution);
    return result;
}

void sprag_derivative_add_body(const sprag_derivative *d, int body, const sprag_body *near,
                               double change[6])
{
    const sprag_space6 *space = d->system.chart;
    if (is_fixed(d, body)) {
        return;
    }
    const int node = d->node_of[body];
    const double *v = d->velocity + 6 * node, *mass = space->mass[node];
    double was[6], is[6], turned[3];
    for (int k = 0; k < 6; k++) {
        was[k] = v[k] - d->system.free[6 * node + k];
        is[k] = v[k] - near->free_velocity[k];
    }
    mul33(near->inertia, is + 3, turned);
    for (int k = 0; k < 3; k++) {
        change[k] += near->mass * is[k] - mass[0] * was[k];
        change[3 + k] += turned[k] - dot3(mass + 6 * (3 + k) + 3, was + 3);
    }
}

double sprag_derivative_add_row(const sprag_derivative *d, int row, const sprag_row *near,
                                double (*change)[6])
{
    const sprag_space6 *space = d->system.chart;
    const sprag_equation *equation = &d->system.equation[row];
    const sprag_row_stencil *stencil = &space->equation[row];
    const double rate = d->system.rate[row], step = d->system.step;
    double slip = d->problem->row[row].bias - near->bias, gain, J[2][6];
    for (int side = 0; side < 2; side++) {
        if (stencil->node[side] != SPRAG_NOWHERE) {
            vector6 change;
            load6(&change, near->jacobian[side]);
            subtract6(&change, 1, stencil->jacobian[side][0]);
            store6(J[side], &change);
            slip += product6(J[side], d->velocity + 6 * stencil->node[side]);
        }
    }
    if (sprag_equation_yields(equation, rate)) {
        const bool same = near->compliance == d->problem->row[row].compliance;
        sprag_inverse inverse[2];
        sprag_space6_inverse(space, stencil->node, inverse);
        const double yield =
            same ? equation->yield : sprag_row_yield(&d->scales.soft, near, inverse);
        gain = -slip / yield;
        gain += same ? 0 : d->system.row_impulse[row] * (equation->yield / yield - 1);
    } else {
        sprag_equation bound = *equation;
        bound.lo = near->lo * step, bound.hi = near->hi * step;
        gain = sprag_equation_impulse(&bound, rate) - d->system.row_impulse[row];
    }
    for (int side = 0; side < 2; side++) {
        if (stencil->node[side] != SPRAG_NOWHERE) {
            double *to = change[near->body[side]];
            vector6 sum;
            load6(&sum, to);
            subtract6(&sum, d->system.row_impulse[row], J[side]);
            subtract6(&sum, gain, stencil->jacobian[side][0]);
            store6(to, &sum);
        }
    }
    return slip;
}

SPRAG_VECTORS
static void take_row(const sprag_derivative *d, int row, const sprag_row_slopes *slopes,
                     double *const to[2], size_t columns, double slip[6])
{
    const sprag_equation *equation = &d->system.equation[row];
    const sprag_row_stencil *stencil = &((const sprag_space6 *)d->system.chart)->equation[row];
    const double impulse = d->system.row_impulse[row];
    const bool yields = sprag_equation_yields(equation, d->system.rate[row]);
    vector6 turned = {{0}, {0}};
    subtract6(&turned, 1, slopes->bias);
    for (int side = 0; side < 2; side++) {
        for (int k = 0; k < 6 && to[side]; k++) {
            add6(&turned, d->velocity[6 * stencil->node[side] + k], slopes->jacobian[side][k]);
        }
    }
    store6(slip, &turned);
    for (int side = 0; side < 2; side++) {
        for (int k = 0; k < 6 && to[side]; k++) {
            const double loss = yields ? stencil->jacobian[side][0][k] / equation->yield : 0;
            vector6 sum;
            load6(&sum, to[side] + (size_t)k * columns);
            add6(&sum, impulse, slopes->jacobian[side][k]);
            subtract6(&sum, loss, slip);
            store6(to[side] + (size_t)k * columns, &sum);
        }
    }
}

void sprag_derivative_take_row(const sprag_derivative *d, int row, const sprag_row_slopes *slopes,
                               double *const to[2], size_t columns, double slip[6])
{
    take_row(d, row, slopes, to, columns, slip);
}

// The part of a contact's change of impulse that is not by J and M.
static void change_of_law(const sprag_derivative *d, int i, const sprag_system *near, int k,
                          double change[6])
{
    const sprag_system *system = &d->system;
    sprag_point_law(near, k, system->slip[i], d->stiction, NULL, change, NULL);
    for (int a = 0; a < system->point[i].dim; a++) {
        change[a] -= d->system.impulse[i][a];
        for (int b = 0; b < system->point[i].dim; b++) {
            change[a] -= d->slope[i][a][b] * (near->slip[k][b] - d->slip[i][b]);
        }
    }
}

sprag_result sprag_derivative_add_contacts(const sprag_derivative *d, const sprag_problem *near,
                                           const int *body, const int *contact,
                                           sprag_scratch *scratch, double (*change)[6])
{
    const sprag_space6 *space = d->system.chart;
    sprag_problem contacts = *near;
    sprag_scales scales = d->scales;
    sprag_system system;
    int *node_of;
    double at_rest;
    contacts.rows = 0;
    sprag_result result =
        sprag_stribeck_assemble(&contacts, &scales, scratch, &system, &node_of, &at_rest);
    double *velocity = SPRAG_TAKE(scratch, system.size, double);
    if (result != SPRAG_OK || !velocity) {
        return SPRAG_NO_MEMORY;
    }
    for (int b = 0; b < near->bodies; b++) {
        if (node_of[b] != SPRAG_NOWHERE) {
            memcpy(velocity + 6 * node_of[b], d->velocity + 6 * d->node_of[body[b]],
                   6 * sizeof *velocity);
        }
    }
    sprag_system_place(&system, velocity);
    const sprag_space6 *there = system.chart;
    for (int k = 0; k < near->contacts; k++) {
        double gain[6];
        const int i = contact[k];
        change_of_law(d, i, &system, k, gain);
        for (int side = 0; side < 2; side++) {
            int b = near->contact[k].body[side];
            if (b == SPRAG_STATIC || node_of[b] == SPRAG_NOWHERE) {
                continue;
            }
            for (int a = 0; a < system.point[k].dim; a++) {
                double room[2][6];
                const double *J = sprag_space6_row(space, i, side, a, room[0]);
                const double *to = sprag_space6_row(there, k, side, a, room[1]);
                for (int c = 0; c < 6; c++) {
                    double turned = to[c] - J[c];
                    change[body[b]][c] -= d->system.impulse[i][a] * turned + gain[a] * J[c];
                }
            }
        }
    }
    return SPRAG_OK;
}

double (*sprag_derivative_rows(const sprag_derivative *d, int body))[SPRAG_PANEL]
{
    const sprag_blocks *blocks = &((const sprag_space6 *)d->system.chart)->blocks;
    return is_fixed(d, body) ? NULL : d->panel + 6 * blocks->rank[d->node_of[body]];
}

static void solve_panel(const sprag_derivative *d)
{
    const sprag_blocks *blocks = &((const sprag_space6 *)d->system.chart)->blocks;
    static const double zero[6][SPRAG_PANEL];
    int first = 0;
    while (first < blocks->n && memcmp(d->panel + 6 * first, zero, sizeof zero) == 0) {
        first++;
    }
    sprag_blocks_solve_panel(blocks, first, d->panel[0]);
}

// The impulses that the excess yield takes, as a right-hand side: J' excess / yield^2 d(J v - bias)
// less.
SPRAG_VECTORS
static void take_excess(const sprag_derivative *d, const double (*slip)[SPRAG_PANEL])
{
    const sprag_space6 *space = d->system.chart;
    for (int i = 0; i < d->system.equations; i++) {
        const sprag_equation *equation = &d->system.equation[i];
        const sprag_row_stencil *stencil = &space->equation[i];
        vector6 change = {{0}, {0}};
        double of_slip[6], part = equation->excess / (equation->yield * equation->yield);
        if (!isfinite(equation->excess) || !sprag_equation_yields(equation, d->system.rate[i])) {
            continue;
        }
        if (slip) {
            add6(&change, 1, slip[i]);
        }
        for (int side = 0; side < 2; side++) {
            const int node = stencil->node[side];
            const int row = node == SPRAG_NOWHERE ? 0 : 6 * space->blocks.rank[node];
            for (int k = 0; k < 6 && node != SPRAG_NOWHERE; k++) {
                add6(&change, stencil->jacobian[side][0][k], d->soft[row + k]);
            }
        }
        store6(of_slip, &change);
        for (int side = 0; side < 2; side++) {
            const int node = stencil->node[side];
            const int row = node == SPRAG_NOWHERE ? 0 : 6 * space->blocks.rank[node];
            for (int k = 0; k < 6 && node != SPRAG_NOWHERE; k++) {
                vector6 sum;
                load6(&sum, d->panel[row + k]);
                subtract6(&sum, part * stencil->jacobian[side][0][k], of_slip);
                store6(d->panel[row + k], &sum);
            }
        }
    }
}

void sprag_derivative_solve(sprag_derivative *d, const double (*slip)[SPRAG_PANEL])
{
    const size_t size = (size_t)d->system.size;
    solve_panel(d);
    if (d->soft) {
        memcpy(d->soft, d->panel, size * sizeof *d->soft);
        memset(d->panel, 0, size * sizeof *d->panel);
        take_excess(d, slip);
        solve_panel(d);
        add_scaled(d->panel[0], 1, d->soft[0], (int)size * SPRAG_PANEL);
    }
}
