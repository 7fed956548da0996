#include "space6.h"

#include <math.h>
#include <string.h>

#include "linalg.h"
#include "symmetric3.h"
#include "vectors.h"
#include "vectors6.h"

SPRAG_VECTORS
static void momentum(const sprag_system *system, const double *v, double *p)
{
    const sprag_space6 *space = system->chart;
    for (int node = 0; node < space->nodes; node++) {
        const double *mass = space->mass[node], *at = v + 6 * node;
        for (int i = 0; i < 3 && space->rigid; i++) {
            p[6 * node + i] = mass[0] * at[i];
            p[6 * node + 3 + i] = dot3(mass + 6 * (3 + i) + 3, at + 3);
        }
        for (int i = 0; i < 6 && !space->rigid; i++) {
            p[6 * node + i] = dot6(mass + 6 * i, at);
        }
    }
}

// Velocity of the near side relative to the far one, at the near centre.
static inline __attribute__((always_inline)) void relative_twist(const sprag_stencil *run,
                                                                 const double *v, double u[6])
{
    memcpy(u, v + 6 * run->node[run->near], 6 * sizeof *u);
    if (run->node[!run->near] != SPRAG_NOWHERE) {
        const double *far = v + 6 * run->node[!run->near];
        double turn[3];
        cross3(far + 3, run->shift, turn);
        for (int k = 0; k < 3; k++) {
            u[k] -= far[k] + turn[k];
            u[3 + k] -= far[3 + k];
        }
    }
}

// Adds the wrench at the near centre to both sides.
static inline __attribute__((always_inline)) void add_wrench(const sprag_stencil *run,
                                                             const double w[6], double *sum)
{
    add_scaled(sum + 6 * run->node[run->near], 1, w, 6);
    if (run->node[!run->near] != SPRAG_NOWHERE) {
        double *far = sum + 6 * run->node[!run->near], torque[3];
        cross3(run->shift, w, torque);
        for (int k = 0; k < 3; k++) {
            far[k] -= w[k];
            far[3 + k] -= w[3 + k] + torque[k];
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

// Rows of a point and side. J: room for those that are not kept.
static inline __attribute__((always_inline))
const double (*rows_of(const sprag_space6 *space, int p, int side, int dim, double J[6][6]))[6]
{
    const double(*kept)[6] = (const double(*)[6])space->jacobian[side][p];
    if (dim == 3) {
        return kept;
    }
    memcpy(J, kept, 3 * sizeof *J);
    for (int i = SPRAG_ROLL; i < 6; i++) {
        sprag_space6_row(space, p, side, i, J[i]);
    }
    return (const double(*)[6])J;
}

static inline __attribute__((always_inline)) void
place_side(const sprag_system *system, int p, int side, const double *v, double *slip)
{
    const sprag_space6 *space = system->chart;
    double J[6][6];
    if (system->point[p].dim == 3) {
        place_rows(slip, 3, rows_of(space, p, side, 3, J), v);
    } else {
        place_rows(slip, 6, rows_of(space, p, side, 6, J), v);
    }
}

static inline __attribute__((always_inline)) void place_run(const sprag_system *system, int first,
                                                            const double *v, double (*slip)[6])
{
    const sprag_stencil *run = &((const sprag_space6 *)system->chart)->point[first];
    double u[6];
    relative_twist(run, v, u);
    for (int i = 0; i < run->run; i++) {
        place_side(system, first + i, run->near, u, slip[first + i]);
    }
}

SPRAG_VECTORS
static void velocities(const sprag_system *system, const double *v, double (*slip)[6], double *rate)
{
    const sprag_space6 *space = system->chart;
    for (int p = 0; p < system->points; p++) {
        const sprag_stencil *stencil = &space->point[p];
        if (stencil->run > 1) {
            place_run(system, p, v, slip);
            p += stencil->run - 1;
            continue;
        }
        for (int side = 0; side < 2; side++) {
            int node = stencil->node[side];
            if (node != SPRAG_NOWHERE) {
                place_side(system, p, side, v + 6 * node, slip[p]);
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

static inline __attribute__((always_inline)) void gather_side(const sprag_system *system, int p,
                                                              int side, double *sum)
{
    const sprag_space6 *space = system->chart;
    double J[6][6];
    if (system->point[p].dim == 3) {
        gather_rows(sum, 3, system->impulse[p], rows_of(space, p, side, 3, J));
    } else {
        gather_rows(sum, 6, system->impulse[p], rows_of(space, p, side, 6, J));
    }
}

static inline __attribute__((always_inline)) void gather_run(const sprag_system *system, int first,
                                                             double *sum)
{
    const sprag_stencil *run = &((const sprag_space6 *)system->chart)->point[first];
    double w[6] = {0};
    for (int i = 0; i < run->run; i++) {
        gather_side(system, first + i, run->near, w);
    }
    add_wrench(run, w, sum);
}

SPRAG_VECTORS
static void gather(const sprag_system *system, double *sum)
{
    const sprag_space6 *space = system->chart;
    memset(sum, 0, (size_t)system->size * sizeof *sum);
    for (int p = 0; p < system->points; p++) {
        const sprag_stencil *stencil = &space->point[p];
        if (stencil->run > 1) {
            gather_run(system, p, sum);
            p += stencil->run - 1;
            continue;
        }
        for (int side = 0; side < 2; side++) {
            int node = stencil->node[side];
            if (node != SPRAG_NOWHERE) {
                gather_side(system, p, side, sum + 6 * node);
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

enum { ROWS_AT_ONCE = 3 };

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
    space->summed = false;
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
    double GJ[2][6][6], room[2][6][6];
    const double(*J[2])[6], (*turned[2])[6];
    for (int side = 0; side < 2; side++) {
        J[side] = rows_of(space, p, side, rows == 6 ? 6 : 3, room[side]) + first;
        turned[side] = (const double(*)[6])GJ[side];
        for (int a = 0; stencil->node[side] != SPRAG_NOWHERE && a < rows; a++) {
            vector6 sum = {{0}, {0}};
            for (int b = 0; b < rows; b++) {
                add6(&sum, G[first + a][first + b], J[side][b]);
            }
            store6(GJ[side][a], &sum);
        }
    }
    add_stencil(&space->blocks, stencil->node, stencil->block, symmetric, rows, J, turned);
}

// M = M T, where T takes a twist from the far centre to the near one
static inline __attribute__((always_inline)) void shift_columns(double *M, const double shift[3])
{
    for (int i = 0; i < 6; i++, M += 6) {
        double change[3];
        cross3(shift, M, change);
        add_scaled(M + 3, 1, change, 3);
    }
}

// M = T' M
static inline __attribute__((always_inline)) void shift_rows(double *M, const double shift[3])
{
    for (int k = 0; k < 3; k++) {
        vector6 row;
        load6(&row, M + 6 * (3 + k));
        add6(&row, shift[(k + 1) % 3], M + 6 * ((k + 2) % 3));
        subtract6(&row, shift[(k + 2) % 3], M + 6 * ((k + 1) % 3));
        store6(M + 6 * (3 + k), &row);
    }
}

static inline __attribute__((always_inline)) void shift_one(double *M, bool columns,
                                                            const double shift[3])
{
    if (columns) {
        shift_columns(M, shift);
    } else {
        shift_rows(M, shift);
    }
}

// to += f M
static inline __attribute__((always_inline)) void add_block(double *to, double f, const double *M)
{
    for (int i = 0; i < 6; i++) {
        vector6 row;
        load6(&row, to + 6 * i);
        add6(&row, f, M + 6 * i);
        store6(to + 6 * i, &row);
    }
}

// Adds S, the sum over a run of J' G J of the near side, to the matrix.
static inline __attribute__((always_inline)) void
add_run(sprag_space6 *space, const sprag_stencil *run, const double *S, bool symmetric)
{
    sprag_blocks *blocks = &space->blocks;
    const int near = run->node[run->near], far = run->node[!run->near];
    add_block(blocks->diagonal[blocks->rank[near]], 1, S);
    if (far == SPRAG_NOWHERE) {
        return;
    }
    const bool near_first = blocks->rank[near] < blocks->rank[far];
    double M[36];
    memcpy(M, S, sizeof M);
    shift_one(M, near_first, run->shift);
    add_block(blocks->upper[run->block], -1, M);
    shift_one(M, !near_first, run->shift);
    add_block(blocks->diagonal[blocks->rank[far]], 1, M);
    if (!symmetric) {
        for (int i = 0; i < 36; i++) {
            M[i] = S[6 * (i % 6) + i / 6];
        }
        shift_one(M, near_first, run->shift);
        add_block(blocks->lower[run->block], -1, M);
    }
}

// S += J' G J
static inline __attribute__((always_inline)) void
sum_rows(double *S, int rows, const double G[6][6], const double (*J)[6])
{
    double GJ[6][6];
    for (int a = 0; a < rows; a++) {
        vector6 sum = {{0}, {0}};
        for (int b = 0; b < rows; b++) {
            add6(&sum, G[a][b], J[b]);
        }
        store6(GJ[a], &sum);
    }
    add_first_rows(S, 6, rows, J, (const double(*)[6])GJ);
}

// Sums over the points of a run, in their order, and adds the sum after the last one.
static inline __attribute__((always_inline)) void add_to_run(sprag_system *system, int p,
                                                             const double G[6][6], bool symmetric)
{
    sprag_space6 *space = system->chart;
    const sprag_stencil *run = &space->point[space->point[p].first];
    double room[6][6];
    const bool acts = system->point[p].dim == 6 || G[SPRAG_NORMAL][SPRAG_NORMAL] != 0 ||
                      G[SPRAG_SLIDE][SPRAG_SLIDE] != 0 || G[SPRAG_SLIDE + 1][SPRAG_SLIDE + 1] != 0;
    if (acts && !space->summed) {
        memset(space->sum, 0, sizeof space->sum);
        space->summed = true;
    }
    if (acts && system->point[p].dim == 6) {
        sum_rows(space->sum, 6, G, rows_of(space, p, run->near, 6, room));
    } else if (acts) {
        sum_rows(space->sum, 3, G, rows_of(space, p, run->near, 3, room));
    }
    if (space->summed && p == run->first + run->run - 1) {
        add_run(space, run, space->sum, symmetric);
        space->summed = false;
    }
}

SPRAG_VECTORS
static void add_point(sprag_system *system, int p, const double G[6][6], bool symmetric)
{
    sprag_space6 *space = system->chart;
    if (space->point[space->point[p].first].run > 1) {
        add_to_run(system, p, G, symmetric);
    } else if (system->point[p].dim == 6) {
        add_point_rows(space, p, G, 0, 6, symmetric);
    } else if (G[SPRAG_NORMAL][SPRAG_NORMAL] != 0) {
        add_point_rows(space, p, G, 0, 3, symmetric);
    } else if (G[SPRAG_SLIDE][SPRAG_SLIDE] != 0 || G[SPRAG_SLIDE + 1][SPRAG_SLIDE + 1] != 0) {
        add_point_rows(space, p, G, SPRAG_SLIDE, 2, symmetric);
    }
}

// Equations that follow one another between the same two nodes, as those of a joint.
static inline __attribute__((always_inline)) void add_rows(sprag_space6 *space, int e, int rows,
                                                           const double *slope, bool symmetric)
{
    const sprag_row_stencil *stencil = &space->equation[e];
    double rows_of[2][ROWS_AT_ONCE][6], GJ[2][ROWS_AT_ONCE][6];
    for (int side = 0; side < 2; side++) {
        for (int r = 0; r < rows; r++) {
            vector6 row;
            load6(&row, stencil[r].jacobian[side][0]);
            store6(rows_of[side][r], &row);
            row.a *= slope[r];
            row.b *= slope[r];
            store6(GJ[side][r], &row);
        }
    }
    const double(*J[2])[6] = {(const double(*)[6])rows_of[0], (const double(*)[6])rows_of[1]};
    const double(*turned[2])[6] = {(const double(*)[6])GJ[0], (const double(*)[6])GJ[1]};
    add_stencil(&space->blocks, stencil->node, stencil->block, symmetric, rows, J, turned);
}

// Number of equations from one on that are added at once.
static int rows_at(const sprag_row_stencil *at, int left, const double *slope)
{
    int rows = 1;
    while (rows < left && rows < ROWS_AT_ONCE && slope[0] > 0 && slope[rows] > 0 &&
           at[rows].node[0] == at->node[0] && at[rows].node[1] == at->node[1]) {
        rows++;
    }
    return rows;
}

SPRAG_VECTORS
static void add_equations(sprag_system *system, int first, int count, const double *slope,
                          bool symmetric)
{
    sprag_space6 *space = system->chart;
    for (int i = 0, rows; i < count; i += rows) {
        rows = rows_at(&space->equation[first + i], count - i, slope + i);
        if (rows == 3) {
            add_rows(space, first + i, 3, slope + i, symmetric);
        } else if (rows == 2) {
            add_rows(space, first + i, 2, slope + i, symmetric);
        } else if (slope[i] > 0) {
            add_rows(space, first + i, 1, slope + i, symmetric);
        }
    }
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
                                   .add_equations = add_equations,
                                   .factor = factor,
                                   .solve = solve,
                                   .orientation = orientation};

sprag_result sprag_space6_take(sprag_space6 *space, sprag_system *system, int nodes,
                               sprag_scratch *scratch)
{
    *space = (sprag_space6){.nodes = nodes};
    space->mass = SPRAG_TAKE(scratch, nodes, double[36]);
    space->inverse = SPRAG_TAKE(scratch, nodes, double[10]);
    space->point = SPRAG_TAKE_RAW(scratch, system->points, sprag_stencil);
    space->jacobian[0] = SPRAG_TAKE_RAW(scratch, system->points, double[3][6]);
    space->jacobian[1] = SPRAG_TAKE_RAW(scratch, system->points, double[3][6]);
    space->equation = SPRAG_TAKE_RAW(scratch, system->equations, sprag_row_stencil);
    system->space = &bodies;
    system->chart = space;
    system->size = 6 * nodes;
    return scratch->failed ? SPRAG_NO_MEMORY : SPRAG_OK;
}

void sprag_space6_divide_by_mass(const sprag_space6 *space, double *x)
{
    for (int node = 0; node < space->nodes; node++) {
        double *at = x + 6 * node, turn[3];
        for (int k = 0; k < 3; k++) {
            at[k] /= space->mass[node][0];
        }
        mul33(space->inverse[node] + 1, at + 3, turn);
        memcpy(at + 3, turn, sizeof turn);
    }
}
