#include "space6.h"

#include <string.h>

#include "kinematics.h"
#include "linalg.h"
#include "symmetric3.h"
#include "vectors.h"
#include "vectors6.h"

SPRAG_VECTORS
static void momentum(const sprag_system *system, const double *v, double *p)
{
    const sprag_space6 *space = system->chart;
    for (int node = 0; node < space->nodes; node++) {
        for (int i = 0; i < 6; i++) {
            p[6 * node + i] = dot6(space->mass[node] + 6 * i, v + 6 * node);
        }
    }
}

// slip += J v
static inline __attribute__((always_inline)) void place_rows(double *restrict slip, int rows,
                                                             const double (*J)[6], const double *v)
{
    for (int i = 0; i < rows; i++) {
        slip[i] += product6(J[i], v);
    }
}

SPRAG_VECTORS
static void velocities(const sprag_system *system, const double *v, double (*slip)[6], double *rate)
{
    const sprag_space6 *space = system->chart;
    for (int p = 0; p < system->points; p++) {
        const sprag_stencil *stencil = &space->point[p];
        for (int side = 0; side < 2; side++) {
            int node = stencil->node[side];
            if (node != SPRAG_NOWHERE && system->point[p].dim == 3) {
                place_rows(slip[p], 3, stencil->jacobian[side], v + 6 * node);
            } else if (node != SPRAG_NOWHERE) {
                place_rows(slip[p], 6, stencil->jacobian[side], v + 6 * node);
            }
        }
    }
    for (int e = 0; e < system->equations; e++) {
        const sprag_row_stencil *stencil = &space->equation[e];
        for (int side = 0; side < 2; side++) {
            if (stencil->node[side] != SPRAG_NOWHERE) {
                rate[e] += product6(stencil->jacobian[side][0], v + 6 * stencil->node[side]);
            }
        }
    }
}

// sum += J' impulse
static inline __attribute__((always_inline)) void
gather_rows(double *sum, int rows, const double *impulse, const double (*J)[6])
{
    vector6 here;
    load6(&here, sum);
    for (int i = 0; i < rows; i++) {
        add6(&here, impulse[i], J[i]);
    }
    store6(sum, &here);
}

SPRAG_VECTORS
static void gather(const sprag_system *system, double *sum)
{
    const sprag_space6 *space = system->chart;
    memset(sum, 0, (size_t)system->size * sizeof *sum);
    for (int p = 0; p < system->points; p++) {
        const sprag_stencil *stencil = &space->point[p];
        for (int side = 0; side < 2; side++) {
            int node = stencil->node[side];
            if (node == SPRAG_NOWHERE) {
                continue;
            }
            if (system->point[p].dim == 3) {
                gather_rows(sum + 6 * node, 3, system->impulse[p], stencil->jacobian[side]);
            } else {
                gather_rows(sum + 6 * node, 6, system->impulse[p], stencil->jacobian[side]);
            }
        }
    }
    for (int e = 0; e < system->equations; e++) {
        const sprag_row_stencil *stencil = &space->equation[e];
        for (int side = 0; side < 2; side++) {
            if (stencil->node[side] != SPRAG_NOWHERE) {
                gather_rows(sum + 6 * stencil->node[side], 1, &system->row_impulse[e],
                            stencil->jacobian[side]);
            }
        }
    }
}

// ---- matrix

static bool joins(const int node[2])
{
    return node[0] != SPRAG_NOWHERE && node[1] != SPRAG_NOWHERE;
}

// Analyses the pattern at the first matrix: a step that starts at rest needs none.
static sprag_result analyse(sprag_system *system, sprag_space6 *space)
{
    int edges = 0;
    int(*edge)[2] = SPRAG_TAKE_RAW(system->scratch, system->points + system->equations, int[2]);
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

SPRAG_VECTORS
static sprag_result begin(sprag_system *system, bool symmetric)
{
    sprag_space6 *space = system->chart;
    if (!space->analysed && analyse(system, space) != SPRAG_OK) {
        return SPRAG_NO_MEMORY;
    }
    if (!space->blocks.diagonal && sprag_blocks_take(&space->blocks, system->scratch) != SPRAG_OK) {
        return SPRAG_NO_MEMORY;
    }
    sprag_blocks_clear(&space->blocks, symmetric);
    for (int node = 0; node < space->nodes; node++) {
        double *block = space->blocks.diagonal[space->blocks.rank[node]];
        for (int i = 0; i < 6; i++) {
            vector6 row;
            load6(&row, space->mass[node] + 6 * i);
            store6(block + 6 * i, &row);
        }
        if (symmetric) {
            sprag_symmetrise3(block + 6 * 3 + 3, 6);
        }
    }
    return SPRAG_OK;
}

// The first rows of A += Ja' GJ, rows x 6 each
static inline void add_first_rows(double *restrict A, int count, int rows,
                                  const double (*restrict Ja)[6], const double (*restrict GJ)[6])
{
    for (int i = 0; i < count; i++) {
        vector6 sum;
        load6(&sum, A + 6 * i);
        for (int r = 0; r < rows; r++) {
            add6(&sum, Ja[r][i], GJ[r]);
        }
        store6(A + 6 * i, &sum);
    }
}

// The same, of the upper half of a symmetric block.
static inline void add_upper_rows(double *restrict A, int rows, const double (*restrict Ja)[6],
                                  const double (*restrict GJ)[6])
{
    add_first_rows(A, 2, rows, Ja, GJ);
    for (int i = 2; i < 4; i++) {
        sprag_four sum = *(const sprag_four *)(A + 6 * i + 2);
        for (int r = 0; r < rows; r++) {
            sum += Ja[r][i] * *(const sprag_four *)(GJ[r] + 2);
        }
        *(sprag_four *)(A + 6 * i + 2) = sum;
    }
    for (int i = 4; i < 6; i++) {
        sprag_two sum = *(const sprag_two *)(A + 6 * i + 4);
        for (int r = 0; r < rows; r++) {
            sum += Ja[r][i] * *(const sprag_two *)(GJ[r] + 4);
        }
        *(sprag_two *)(A + 6 * i + 4) = sum;
    }
}

// Adds J' G J of one contact or row to the matrix. GJ[side] = G J[side]. Row counts known at
// compile time make it fast.
static inline __attribute__((always_inline)) void
add_stencil(sprag_blocks *blocks, const int node[2], int block, bool symmetric, int rows,
            const double (*J[2])[6], const double (*GJ[2])[6])
{
    for (int side = 0; side < 2; side++) {
        if (node[side] != SPRAG_NOWHERE) {
            double *A = blocks->diagonal[blocks->rank[node[side]]];
            if (symmetric) {
                add_upper_rows(A, rows, J[side], GJ[side]);
            } else {
                add_first_rows(A, 6, rows, J[side], GJ[side]);
            }
        }
    }
    if (joins(node)) {
        int late = blocks->rank[node[0]] > blocks->rank[node[1]] ? 0 : 1;
        double *lower = symmetric ? blocks->upper[block] : blocks->lower[block];
        add_first_rows(lower, 6, rows, GJ[!late], J[late]); // of symmetric ones either is both
        if (!symmetric) {
            add_first_rows(blocks->upper[block], 6, rows, J[!late], GJ[late]);
        }
    }
}

// Number of leading rows of a point that are not zero in G.
static inline __attribute__((always_inline)) void add_point_rows(sprag_space6 *space, int p,
                                                                 const double G[6][6], int first,
                                                                 int rows, bool symmetric)
{
    const sprag_stencil *stencil = &space->point[p];
    double GJ[2][6][6];
    for (int side = 0; side < 2; side++) {
        for (int a = 0; stencil->node[side] != SPRAG_NOWHERE && a < rows; a++) {
            vector6 sum = {{0}, {0}};
            for (int b = 0; b < rows; b++) {
                add6(&sum, G[first + a][first + b], stencil->jacobian[side][first + b]);
            }
            store6(GJ[side][a], &sum);
        }
    }
    const double(*J[2])[6] = {stencil->jacobian[0] + first, stencil->jacobian[1] + first};
    const double(*turned[2])[6] = {(const double(*)[6])GJ[0], (const double(*)[6])GJ[1]};
    add_stencil(&space->blocks, stencil->node, stencil->block, symmetric, rows, J, turned);
}

SPRAG_VECTORS
static void add_point(sprag_system *system, int p, const double G[6][6], bool symmetric)
{
    sprag_space6 *space = system->chart;
    if (system->point[p].dim == 6) {
        add_point_rows(space, p, G, 0, 6, symmetric);
    } else if (G[SPRAG_NORMAL][SPRAG_NORMAL] != 0) {
        add_point_rows(space, p, G, 0, 3, symmetric);
    } else if (G[SPRAG_SLIDE][SPRAG_SLIDE] != 0 || G[SPRAG_SLIDE + 1][SPRAG_SLIDE + 1] != 0) {
        add_point_rows(space, p, G, SPRAG_SLIDE, 2, symmetric);
    }
}

SPRAG_VECTORS
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

static double orientation(const sprag_system *system)
{
    const sprag_space6 *space = system->chart;
    return sprag_blocks_orientation(&space->blocks);
}

static const sprag_space bodies = {.momentum = momentum,
                                   .velocities = velocities,
                                   .gather = gather,
                                   .work = work,
                                   .begin = begin,
                                   .add_point = add_point,
                                   .add_equation = add_equation,
                                   .factor = factor,
                                   .solve = solve,
                                   .orientation = orientation};

sprag_result sprag_space6_take(sprag_space6 *space, sprag_system *system, int nodes,
                               sprag_scratch *scratch)
{
    *space = (sprag_space6){.nodes = nodes};
    space->mass = SPRAG_TAKE(scratch, nodes, double[36]);
    space->inverse_mass = SPRAG_TAKE_RAW(scratch, nodes, double);
    space->inverse_inertia = SPRAG_TAKE(scratch, nodes, double[9]);
    space->point = SPRAG_TAKE_RAW(scratch, system->points, sprag_stencil);
    space->equation = SPRAG_TAKE_RAW(scratch, system->equations, sprag_row_stencil);
    system->space = &bodies;
    system->chart = space;
    system->size = 6 * nodes;
    return scratch->failed ? SPRAG_NO_MEMORY : SPRAG_OK;
}

double sprag_space6_inverse_mass(const sprag_space6 *space, const int node[2], const double *a0,
                                 const double *a1, const double *b0, const double *b1)
{
    double sum = 0;
    sprag_inverse of[2];
    sprag_space6_inverse(space, node, of);
    for (int side = 0; side < 2; side++) {
        if (of[side].mass > 0) {
            sum += inverse_mass_between(of[side].mass, of[side].inertia, side ? a1 : a0,
                                        side ? b1 : b0);
        }
    }
    return sum;
}

void sprag_space6_divide_by_mass(const sprag_space6 *space, double *x)
{
    for (int node = 0; node < space->nodes; node++) {
        double *at = x + 6 * node, turn[3];
        for (int k = 0; k < 3; k++) {
            at[k] /= space->mass[node][0];
        }
        mul33(space->inverse_inertia[node], at + 3, turn);
        memcpy(at + 3, turn, sizeof turn);
    }
}
