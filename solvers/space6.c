#include "solvers/space6.h"

#include <string.h>

#include "solvers/linalg.h"

static void momentum(const sprag_system *system, const double *v, double *p)
{
    const sprag_space6 *space = system->chart;
    for (int node = 0; node < space->nodes; node++) {
        for (int i = 0; i < 6; i++) {
            p[6 * node + i] = dot6(space->mass[node] + 6 * i, v + 6 * node);
        }
    }
}

static void velocities(const sprag_system *system, const double *v, double (*slip)[6], double *rate)
{
    const sprag_space6 *space = system->chart;
    for (int p = 0; p < system->points; p++) {
        const sprag_stencil *stencil = &space->point[p];
        for (int side = 0; side < 2; side++) {
            int node = stencil->node[side];
            for (int i = 0; node != SPRAG_NOWHERE && i < system->point[p].dim; i++) {
                slip[p][i] += dot6(stencil->jacobian[side][i], v + 6 * node);
            }
        }
    }
    for (int e = 0; e < system->equations; e++) {
        const sprag_row_stencil *stencil = &space->equation[e];
        for (int side = 0; side < 2; side++) {
            if (stencil->node[side] != SPRAG_NOWHERE) {
                rate[e] += dot6(stencil->jacobian[side][0], v + 6 * stencil->node[side]);
            }
        }
    }
}

static void gather(const sprag_system *system, double *sum)
{
    const sprag_space6 *space = system->chart;
    memset(sum, 0, (size_t)system->size * sizeof *sum);
    for (int p = 0; p < system->points; p++) {
        const sprag_stencil *stencil = &space->point[p];
        for (int side = 0; side < 2; side++) {
            int node = stencil->node[side];
            for (int i = 0; node != SPRAG_NOWHERE && i < system->point[p].dim; i++) {
                add_scaled(sum + 6 * node, system->impulse[p][i], stencil->jacobian[side][i], 6);
            }
        }
    }
    for (int e = 0; e < system->equations; e++) {
        const sprag_row_stencil *stencil = &space->equation[e];
        for (int side = 0; side < 2; side++) {
            if (stencil->node[side] != SPRAG_NOWHERE) {
                add_scaled(sum + 6 * stencil->node[side], system->row_impulse[e],
                           stencil->jacobian[side][0], 6);
            }
        }
    }
}

// ---- matrix

static bool joins(const int node[2])
{
    return node[0] != SPRAG_NOWHERE && node[1] != SPRAG_NOWHERE;
}

// Done at the first matrix: a step that starts at rest needs none.
static sprag_result analyse(sprag_system *system, sprag_space6 *space)
{
    int edges = 0;
    int(*edge)[2] = SPRAG_TAKE(system->scratch, system->points + system->equations, int[2]);
    if (!edge) {
        return SPRAG_NO_MEMORY;
    }
    for (int p = 0; p < system->points; p++) {
        if (joins(space->point[p].node)) {
            memcpy(edge[edges++], space->point[p].node, sizeof *edge);
        }
    }
    for (int e = 0; e < system->equations; e++) {
        if (joins(space->equation[e].node)) {
            memcpy(edge[edges++], space->equation[e].node, sizeof *edge);
        }
    }
    sprag_result result = sprag_blocks_analyse(&space->blocks, space->nodes, edges,
                                               (const int(*)[2])edge, system->scratch);
    if (result != SPRAG_OK) {
        return result;
    }
    for (int p = 0; p < system->points; p++) {
        sprag_stencil *s = &space->point[p];
        s->block = joins(s->node) ? sprag_blocks_find(&space->blocks, s->node[0], s->node[1]) : 0;
    }
    for (int e = 0; e < system->equations; e++) {
        sprag_row_stencil *s = &space->equation[e];
        s->block = joins(s->node) ? sprag_blocks_find(&space->blocks, s->node[0], s->node[1]) : 0;
    }
    space->analysed = true;
    return SPRAG_OK;
}

static double work(sprag_system *system)
{
    sprag_space6 *space = system->chart;
    sprag_result result = space->analysed ? SPRAG_OK : analyse(system, space);
    return result == SPRAG_OK ? sprag_blocks_work(&space->blocks) : -1;
}

static sprag_result begin(sprag_system *system, bool symmetric)
{
    sprag_space6 *space = system->chart;
    if (!space->analysed && analyse(system, space) != SPRAG_OK) {
        return SPRAG_NO_MEMORY;
    }
    sprag_blocks_clear(&space->blocks, symmetric);
    for (int node = 0; node < space->nodes; node++) {
        memcpy(space->blocks.diagonal[space->blocks.rank[node]], space->mass[node],
               sizeof space->mass[node]);
    }
    return SPRAG_OK;
}

// A += Ja' GJ, rows x 6 each
static inline void add_rows(double *restrict A, int rows, const double (*restrict Ja)[6],
                            const double (*restrict GJ)[6])
{
    for (int i = 0; i < 6; i++) {
        double sum[6];
        memcpy(sum, A + 6 * i, sizeof sum);
        for (int r = 0; r < rows; r++) {
            for (int j = 0; j < 6; j++) {
                sum[j] += Ja[r][i] * GJ[r][j];
            }
        }
        memcpy(A + 6 * i, sum, sizeof sum);
    }
}

// Counts that compilers know make the difference.
static void add_product(double *restrict A, int rows, const double (*restrict Ja)[6],
                        const double (*restrict GJ)[6])
{
    if (rows == 3) {
        add_rows(A, 3, Ja, GJ);
    } else {
        add_rows(A, rows, Ja, GJ);
    }
}

// Adds J' G J of one contact or row to the matrix. GJ[side] = G J[side].
static void add_stencil(sprag_blocks *blocks, const int node[2], int block, bool symmetric,
                        int rows, const double (*J[2])[6], const double (*GJ[2])[6])
{
    for (int side = 0; side < 2; side++) {
        if (node[side] != SPRAG_NOWHERE) {
            add_product(blocks->diagonal[blocks->rank[node[side]]], rows, J[side], GJ[side]);
        }
    }
    if (joins(node)) {
        int late = blocks->rank[node[0]] > blocks->rank[node[1]] ? 0 : 1;
        add_product(blocks->lower[block], rows, J[late], GJ[!late]);
        if (!symmetric) {
            add_product(blocks->upper[block], rows, J[!late], GJ[late]);
        }
    }
}

static void add_point(sprag_system *system, int p, const double G[6][6], bool symmetric)
{
    sprag_space6 *space = system->chart;
    const sprag_stencil *stencil = &space->point[p];
    int dim = system->point[p].dim;
    double GJ[2][6][6];
    for (int side = 0; side < 2; side++) {
        for (int a = 0; stencil->node[side] != SPRAG_NOWHERE && a < dim; a++) {
            double sum[6] = {0};
            for (int b = 0; b < dim; b++) {
                double g = G[a][b];
                for (int j = 0; g != 0 && j < 6; j++) {
                    sum[j] += g * stencil->jacobian[side][b][j];
                }
            }
            memcpy(GJ[side][a], sum, sizeof sum);
        }
    }
    const double(*J[2])[6] = {stencil->jacobian[0], stencil->jacobian[1]};
    const double(*turned[2])[6] = {(const double(*)[6])GJ[0], (const double(*)[6])GJ[1]};
    add_stencil(&space->blocks, stencil->node, stencil->block, symmetric, dim, J, turned);
}

static void add_equation(sprag_system *system, int e, double slope, bool symmetric)
{
    sprag_space6 *space = system->chart;
    const sprag_row_stencil *stencil = &space->equation[e];
    double GJ[2][1][6];
    for (int side = 0; side < 2; side++) {
        for (int k = 0; k < 6; k++) {
            GJ[side][0][k] = stencil->jacobian[side][0][k] * slope;
        }
    }
    const double(*J[2])[6] = {stencil->jacobian[0], stencil->jacobian[1]};
    const double(*turned[2])[6] = {(const double(*)[6])GJ[0], (const double(*)[6])GJ[1]};
    add_stencil(&space->blocks, stencil->node, stencil->block, symmetric, 1, J, turned);
}

static sprag_result factor(sprag_system *system, bool symmetric)
{
    sprag_space6 *space = system->chart;
    return sprag_blocks_factor(&space->blocks, symmetric);
}

static void solve(sprag_system *system, bool symmetric, double *x)
{
    sprag_space6 *space = system->chart;
    sprag_blocks_solve(&space->blocks, symmetric, x);
}

static const sprag_space bodies = {.momentum = momentum,
                                   .velocities = velocities,
                                   .gather = gather,
                                   .work = work,
                                   .begin = begin,
                                   .add_point = add_point,
                                   .add_equation = add_equation,
                                   .factor = factor,
                                   .solve = solve};

sprag_result sprag_space6_take(sprag_space6 *space, sprag_system *system, int nodes,
                               sprag_scratch *scratch)
{
    *space = (sprag_space6){.nodes = nodes};
    space->mass = SPRAG_TAKE(scratch, nodes, double[36]);
    space->point = SPRAG_TAKE(scratch, system->points, sprag_stencil);
    space->equation = SPRAG_TAKE(scratch, system->equations, sprag_row_stencil);
    system->space = &bodies;
    system->chart = space;
    system->size = 6 * nodes;
    return scratch->failed ? SPRAG_NO_MEMORY : SPRAG_OK;
}
