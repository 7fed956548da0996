#include "derivative.h"

#include <math.h>
#include <string.h>

#include "assemble.h"
#include "laws.h"
#include "linalg.h"

// Momentum residual, relative to the impulses, beyond which a velocity is no solution.
static const double RESIDUAL_MAX = 1e-6;

enum { REFINEMENTS = 2 };

static double dot6_of(const double *a, const double *b, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

static bool is_fixed(const sprag_derivative *d, int body)
{
    return d->node_of[body] == SPRAG_NOWHERE;
}

// Shifts the rows that yield to the forces of the solution.
static void shift_rows(sprag_derivative *d, const sprag_solution *solution)
{
    sprag_system *system = &d->system;
    for (int i = 0; i < system->equations; i++) {
        sprag_equation *equation = &system->equation[i];
        double impulse = solution->row_force[i] * system->step;
        bool yields = impulse > equation->lo && impulse < equation->hi && isfinite(equation->yield);
        d->shift[i] = yields ? -impulse * equation->yield - system->rate[i] : 0;
        equation->offset += d->shift[i];
    }
}

// Keeps the system as it is evaluated.
static void save_base(sprag_derivative *d)
{
    sprag_system *system = &d->system;
    memcpy(d->momentum, system->momentum_change, (size_t)system->size * sizeof(double));
    memcpy(d->impulse, system->impulse, (size_t)system->points * sizeof *d->impulse);
    memcpy(d->row_impulse, system->row_impulse, (size_t)system->equations * sizeof(double));
    system->space->gather(system, d->gathered);
    for (int i = 0; i < system->points; i++) {
        double impulse[6];
        sprag_point_law(system, i, system->slip[i], d->stiction, NULL, impulse, d->slope[i]);
    }
}

sprag_result sprag_derivative_open(sprag_derivative *d, const sprag_problem *problem,
                                   const sprag_stribeck_options *options,
                                   const sprag_solution *solution, sprag_scratch *scratch)
{
    *d = (sprag_derivative){.options = *options, .bodies = problem->bodies};
    sprag_system *system = &d->system;
    sprag_result result =
        sprag_stribeck_system(problem, options, scratch, system, &d->node_of, &d->stiction);
    if (result != SPRAG_OK) {
        return result;
    }
    d->velocity = SPRAG_TAKE(scratch, system->size, double);
    d->work = SPRAG_TAKE(scratch, system->size, double);
    d->right = SPRAG_TAKE(scratch, system->size, double);
    d->sum = SPRAG_TAKE(scratch, system->size, double);
    d->rest = SPRAG_TAKE(scratch, system->size, double);
    d->momentum = SPRAG_TAKE(scratch, system->size, double);
    d->gathered = SPRAG_TAKE(scratch, system->size, double);
    d->shift = SPRAG_TAKE(scratch, system->equations, double);
    d->row_impulse = SPRAG_TAKE(scratch, system->equations, double);
    d->impulse = SPRAG_TAKE(scratch, system->points, double[6]);
    d->slope = SPRAG_TAKE(scratch, system->points, double[6][6]);
    if (scratch->failed) {
        return SPRAG_NO_MEMORY;
    }
    for (int b = 0; b < d->bodies; b++) {
        if (!is_fixed(d, b)) {
            memcpy(d->velocity + 6 * d->node_of[b], solution->velocity[b],
                   sizeof solution->velocity[b]);
        }
    }
    sprag_system_place(system, d->velocity);
    shift_rows(d, solution);
    sprag_system_place(system, d->velocity);
    if (!(sprag_system_residual(system, d->velocity, d->stiction, NULL) <= RESIDUAL_MAX)) {
        return SPRAG_NOT_CONVERGED;
    }
    save_base(d);
    return sprag_system_factor(system, d->stiction, NULL);
}

// Sets the impulses of the system to the part of their change that is not by J and M.
static void set_law_changes(sprag_derivative *d, sprag_system *near)
{
    sprag_system *system = &d->system;
    for (int i = 0; i < system->points; i++) {
        double *to = system->impulse[i];
        sprag_point_law(near, i, system->slip[i], d->stiction, NULL, to, NULL);
        for (int k = 0; k < system->point[i].dim; k++) {
            to[k] -= d->impulse[i][k];
            for (int j = 0; j < system->point[i].dim; j++) {
                to[k] -= d->slope[i][k][j] * (near->slip[i][j] - system->slip[i][j]);
            }
        }
    }
    for (int i = 0; i < system->equations; i++) {
        const sprag_equation *equation = &system->equation[i];
        double rate = system->rate[i], turned = near->rate[i] - rate;
        system->row_impulse[i] =
            sprag_equation_yields(equation, rate)
                ? -turned / equation->yield
                : sprag_equation_impulse(&near->equation[i], rate) - d->row_impulse[i];
    }
}

static void restore_impulses(sprag_derivative *d)
{
    sprag_system *system = &d->system;
    memcpy(system->impulse, d->impulse, (size_t)system->points * sizeof *d->impulse);
    memcpy(system->row_impulse, d->row_impulse, (size_t)system->equations * sizeof(double));
}

// dr of the nodes, in d->work.
static void set_change(sprag_derivative *d, sprag_system *near)
{
    sprag_system *system = &d->system;
    double *r = d->work, *part = near->work;
    for (int i = 0; i < system->size; i++) {
        part[i] = d->velocity[i] - near->free[i];
    }
    near->space->momentum(near, part, r);
    add_scaled(r, -1, d->momentum, system->size);
    for (int i = 0; i < system->equations; i++) {
        near->equation[i].offset += d->shift[i]; // as in the system: what is not displaced has the
    }                                            // same bits
    sprag_system_place(near, d->velocity);
    memcpy(near->impulse, d->impulse, (size_t)system->points * sizeof *d->impulse);
    memcpy(near->row_impulse, d->row_impulse, (size_t)system->equations * sizeof(double));
    near->space->gather(near, part);
    add_scaled(r, -1, part, system->size);
    add_scaled(r, 1, d->gathered, system->size);
    set_law_changes(d, near);
    system->space->gather(system, part);
    add_scaled(r, -1, part, system->size);
    restore_impulses(d);
}

sprag_result sprag_derivative_change(sprag_derivative *d, const sprag_problem *problem,
                                     sprag_scratch *scratch, double (*change)[6])
{
    sprag_system near;
    int *node_of;
    double stiction;
    sprag_result result =
        sprag_stribeck_system(problem, &d->options, scratch, &near, &node_of, &stiction);
    if (result != SPRAG_OK) {
        return result;
    }
    set_change(d, &near);
    for (int b = 0; b < d->bodies; b++) {
        memset(change[b], 0, sizeof change[b]);
        if (!is_fixed(d, b)) {
            memcpy(change[b], d->work + 6 * node_of[b], sizeof change[b]);
        }
    }
    return SPRAG_OK;
}

// K x of the nodes.
static void multiply(sprag_derivative *d, const double *x, double *Kx)
{
    sprag_system *system = &d->system;
    sprag_system_change(system, x);
    for (int i = 0; i < system->points; i++) {
        for (int k = 0; k < system->point[i].dim; k++) {
            system->impulse[i][k] =
                dot6_of(d->slope[i][k], system->slip_change[i], system->point[i].dim);
        }
    }
    for (int i = 0; i < system->equations; i++) {
        const sprag_equation *equation = &system->equation[i];
        bool yields = sprag_equation_yields(equation, system->rate[i]);
        system->row_impulse[i] = yields ? system->rate_change[i] / equation->yield : 0;
    }
    system->space->momentum(system, x, Kx);
    system->space->gather(system, system->work);
    add_scaled(Kx, 1, system->work, system->size);
    restore_impulses(d);
}

void sprag_derivative_solve(sprag_derivative *d, double (*x)[6])
{
    for (int b = 0; b < d->bodies; b++) {
        if (!is_fixed(d, b)) {
            memcpy(d->work + 6 * d->node_of[b], x[b], sizeof x[b]);
        }
    }
    // Rows are stiff, so the solution is refined.
    size_t size = (size_t)d->system.size;
    double *sum = d->sum, *rest = d->rest;
    memcpy(d->right, d->work, size * sizeof *sum);
    d->system.space->solve(&d->system, false, d->work);
    memcpy(sum, d->work, size * sizeof *sum);
    for (int round = 0; round < REFINEMENTS; round++) {
        multiply(d, sum, rest);
        for (size_t i = 0; i < size; i++) {
            d->work[i] = d->right[i] - rest[i];
        }
        d->system.space->solve(&d->system, false, d->work);
        add_scaled(sum, 1, d->work, (int)size);
    }
    memcpy(d->work, sum, size * sizeof *sum);
    for (int b = 0; b < d->bodies; b++) {
        memset(x[b], 0, sizeof x[b]);
        if (!is_fixed(d, b)) {
            memcpy(x[b], d->work + 6 * d->node_of[b], sizeof x[b]);
        }
    }
}
