#include "derivative.h"

#include <math.h>
#include <string.h>

#include "forces.h"
#include "lanes.h"
#include "laws.h"
#include "linalg.h"
#include "newton.h"
#include "stribeck_constants.h"
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
        d->hardened = state.hardened;
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
                     const double *more, sprag_columns *const to[2], double slip[SPRAG_INVERSE])
{
    const sprag_equation *equation = &d->system.equation[row];
    const sprag_row_stencil *stencil = &((const sprag_space6 *)d->system.chart)->equation[row];
    const double impulse = d->system.row_impulse[row];
    const double gain =
        sprag_equation_yields(equation, d->system.rate[row]) ? 1 / equation->yield : 0;
    double turned[6];
    vector6 sum = {{0}, {0}};
    subtract6(&sum, 1, slopes->bias);
    for (int side = 0; side < 2; side++) {
        for (int k = 0; k < 6 && to[side]; k++) {
            add6(&sum, d->velocity[6 * stencil->node[side] + k], slopes->jacobian[side][k]);
        }
    }
    store6(turned, &sum);
    add_scaled(slip, 1, turned, 6);
    for (int side = 0; side < 2; side++) {
        for (int k = 0; k < 6 && to[side]; k++) {
            const double loss = gain * stencil->jacobian[side][0][k];
            double *entry = (*to[side])[k];
            load6(&sum, entry);
            add6(&sum, impulse, slopes->jacobian[side][k]);
            subtract6(&sum, loss, turned);
            store6(entry, &sum);
            if (more) {
                load6(&sum, entry + 6);
                add6(&sum, loss, more);
                store6(entry + 6, &sum);
            }
        }
    }
    if (more) {
        add_scaled(slip + 6, -1, more, 6);
    }
}

void sprag_derivative_take_row(const sprag_derivative *d, int row, const sprag_row_slopes *slopes,
                               const double *more, sprag_columns *const to[2],
                               double slip[SPRAG_INVERSE])
{
    take_row(d, row, slopes, more, to, slip);
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

// ---- columns

// A row of right-hand sides.
typedef struct columns_row {
    sprag_four a, b, c, d;
    sprag_two e;
} columns_row;

INLINE void load_row(columns_row *s, const double *x)
{
    const sprag_four *of = (const sprag_four *)x;
    s->a = of[0], s->b = of[1], s->c = of[2], s->d = of[3];
    s->e = *(const sprag_two *)(x + 16);
}

INLINE void store_row(double *x, const columns_row *s)
{
    sprag_four *to = (sprag_four *)x;
    to[0] = s->a, to[1] = s->b, to[2] = s->c, to[3] = s->d;
    *(sprag_two *)(x + 16) = s->e;
}

// s -= f x
INLINE void subtract_row(columns_row *s, double f, const double *x)
{
    const sprag_four *of = (const sprag_four *)x;
    s->a -= f * of[0], s->b -= f * of[1], s->c -= f * of[2], s->d -= f * of[3];
    s->e -= f * *(const sprag_two *)(x + 16);
}

// C = from - A B; A has its entries `across` and `down` apart.
INLINE void subtract_block(sprag_columns C, const double (*from)[SPRAG_COLUMNS], const double *A,
                           int down, int across, const double (*B)[SPRAG_COLUMNS])
{
    for (int i = 0; i < 6; i += 2) { // two at once: B is loaded half as often
        columns_row s = {{0}, {0}, {0}, {0}, {0}}, t = s;
        if (from) {
            load_row(&s, from[i]);
            load_row(&t, from[i + 1]);
        }
        for (int j = 0; j < 6; j++) {
            subtract_row(&s, A[i * down + j * across], B[j]);
            subtract_row(&t, A[(i + 1) * down + j * across], B[j]);
        }
        store_row(C[i], &s);
        store_row(C[i + 1], &t);
    }
}

// X = D^-1 X, with the factors of a pivot block.
INLINE void divide_block(const double *D, const int *pivot, sprag_columns X)
{
    for (int k = 0; k < 6; k++) {
        columns_row a, b;
        load_row(&a, X[k]);
        load_row(&b, X[pivot[k]]);
        store_row(X[k], &b);
        store_row(X[pivot[k]], &a);
    }
    for (int i = 0; i < 12; i++) { // forward, then back
        const int k = i < 6 ? i : 11 - i, first = i < 6 ? 0 : k + 1, end = i < 6 ? k : 6;
        columns_row s;
        load_row(&s, X[k]);
        for (int j = first; j < end; j++) {
            subtract_row(&s, D[6 * k + j], X[j]);
        }
        if (i >= 6) {
            const double f = D[7 * k];
            s.a *= f, s.b *= f, s.c *= f, s.d *= f, s.e *= f;
        }
        store_row(X[k], &s);
    }
}

// By the inverse P of the factors L U, where L has unit blocks on its diagonal and U the blocks D:
//
//     P = D^-1 L^-1 - (D^-1 U - 1) P    gives rows of P from those eliminated later,
//     P = U^-1 - P (L - 1)              below the diagonal, where U^-1 is 0, columns likewise
//
// (Takahashi, Fagan, Chin, Formation of a Sparse Bus Impedance Matrix and its Application to Short
// Circuit Study, 1973). Below the diagonal, what is left of right-hand sides that are eliminated up
// to their node stands for them.

typedef struct work {
    sprag_columns *y;    // by place: what is being eliminated
    bool *has;           // has y anything there?
    sprag_columns *left; // minus what is left, by columns, and on which rows (places)
    int *left_start, *left_row, room;
    sprag_columns *T; // of a row: the blocks of D^-1 U
    bool *known;      // by places: Z has the part of y
} work;

// Room for more that is left; of trees, it is one block a column. false: no memory.
static bool make_room(work *w, int left, int more, sprag_scratch *scratch)
{
    const work old = *w;
    if (left + more <= w->room) {
        return true;
    }
    w->room = 2 * (left + more);
    w->left = SPRAG_TAKE_RAW(scratch, w->room, sprag_columns);
    w->left_row = SPRAG_TAKE_RAW(scratch, w->room, int);
    if (left > 0 && !scratch->failed) {
        memcpy(w->left, old.left, (size_t)left * sizeof *old.left);
        memcpy(w->left_row, old.left_row, (size_t)left * sizeof *old.left_row);
    }
    return !scratch->failed;
}

// Eliminates the right-hand sides of the node at place t, down to it.
SPRAG_VECTORS
static void eliminate(const sprag_blocks *blocks, const sprag_columns *const *X, int t,
                      const work *w, sprag_columns *Z)
{
    int left = w->left_start[t];
    const int n = blocks->n, node = blocks->body[t];
    int first = t;
    for (int i = 0; i < n; i++) {
        const sprag_columns *from = X[(size_t)node * (size_t)n + (size_t)i];
        if (from) {
            const int k = blocks->rank[i];
            memcpy(w->y[k], from, sizeof *from);
            w->has[k] = true;
            first = k < first ? k : first;
        }
    }
    for (int k = first; k <= t; k++) {
        if (!w->has[k]) {
            continue;
        }
        w->has[k] = false;
        for (int p = blocks->start[k]; p < blocks->start[k + 1]; p++) {
            const int r = blocks->row[p];
            subtract_block(w->y[r], w->has[r] ? w->y[r] : NULL, blocks->lower[p], 1, 6, w->y[k]);
            w->has[r] = true;
        }
        sprag_columns *to = &Z[(size_t)blocks->body[k] * (size_t)n + (size_t)node];
        divide_block(blocks->diagonal[k], blocks->pivot[k], w->y[k]);
        memcpy(to, w->y[k], sizeof *to);
        w->known[(size_t)k * (size_t)n + (size_t)t] = true;
    }
    for (int r = t + 1; r < n; r++) {
        if (w->has[r]) {
            for (int i = 0; i < 6; i++) {
                columns_row s = {{0}, {0}, {0}, {0}, {0}};
                subtract_row(&s, 1, w->y[r][i]);
                store_row(w->left[left][i], &s);
            }
            w->has[r] = false;
            w->left_row[left++] = r;
        }
    }
    w->left_start[t + 1] = left;
}

SPRAG_VECTORS
static void spread(const sprag_blocks *blocks, const work *w, sprag_columns *Z)
{
    const size_t n = (size_t)blocks->n;
    for (int k = blocks->n - 1; k >= 0; k--) {
        sprag_columns *row = Z + (size_t)blocks->body[k] * n;
        const int start = blocks->start[k], end = blocks->start[k + 1];
        for (int p = start; p < end; p++) {
            double(*T)[SPRAG_COLUMNS] = w->T[p - start];
            memset(T, 0, sizeof *w->T);
            for (int i = 0; i < 6; i++) {
                memcpy(T[i], blocks->upper[p] + 6 * i, 6 * sizeof **T);
            }
            divide_block(blocks->diagonal[k], blocks->pivot[k], T);
        }
        for (int t = k; t < blocks->n; t++) {
            const int node = blocks->body[t];
            bool any = w->known[(size_t)k * n + (size_t)t];
            for (int p = start; p < end; p++) {
                const sprag_columns *of = Z + (size_t)blocks->body[blocks->row[p]] * n + node;
                subtract_block(row[node], any ? row[node] : NULL, w->T[p - start][0], SPRAG_COLUMNS,
                               1, *of);
                any = true;
            }
            if (!any) {
                memset(row[node], 0, sizeof *row);
            }
        }
        for (int t = k - 1; t >= 0; t--) {
            const int node = blocks->body[t];
            const int first = w->left_start[t];
            for (int p = first; p < w->left_start[t + 1]; p++) {
                const double *P = row[blocks->body[w->left_row[p]]][0] + SPRAG_INVERSE;
                subtract_block(row[node], p > first ? row[node] : NULL, P, SPRAG_COLUMNS, 1,
                               w->left[p]);
            }
            if (first == w->left_start[t + 1]) {
                memset(row[node], 0, sizeof *row);
            }
        }
    }
}

sprag_result sprag_columns_spread(const sprag_blocks *blocks, const sprag_columns *const *X,
                                  sprag_columns *Z, sprag_scratch *scratch)
{
    const int n = blocks->n;
    work w = {.y = SPRAG_TAKE_RAW(scratch, n, sprag_columns),
              .has = SPRAG_TAKE(scratch, n, bool),
              .left_start = SPRAG_TAKE(scratch, n + 1, int),
              .T = SPRAG_TAKE_RAW(scratch, n, sprag_columns),
              .known = SPRAG_TAKE(scratch, (size_t)n * (size_t)n, bool)};
    for (int t = 0; t < n && !scratch->failed; t++) {
        if (make_room(&w, w.left_start[t], n, scratch)) {
            eliminate(blocks, X, t, &w, Z);
        }
    }
    if (scratch->failed) {
        return SPRAG_NO_MEMORY;
    }
    spread(blocks, &w, Z);
    return SPRAG_OK;
}

SPRAG_VECTORS
static void solve_columns(const sprag_blocks *blocks, sprag_columns *Z)
{
    const size_t n = (size_t)blocks->n;
    for (int i = 0; i < 2 * blocks->n; i++) { // forward, then back
        const bool back = i >= blocks->n;
        const int k = back ? 2 * blocks->n - 1 - i : i;
        sprag_columns *at = Z + (size_t)blocks->body[k] * n;
        for (size_t j = 0; j < n; j++) {
            for (int p = blocks->start[k]; p < blocks->start[k + 1]; p++) {
                sprag_columns *of = Z + (size_t)blocks->body[blocks->row[p]] * n;
                if (back) {
                    subtract_block(at[j], at[j], blocks->upper[p], 6, 1, of[j]);
                } else {
                    subtract_block(of[j], of[j], blocks->lower[p], 1, 6, at[j]);
                }
            }
            if (back) {
                divide_block(blocks->diagonal[k], blocks->pivot[k], at[j]);
            }
        }
    }
}

void sprag_columns_solve(const sprag_blocks *blocks, sprag_columns *Z)
{
    solve_columns(blocks, Z);
}

// ---- the solve

// The impulses that the excess yield takes, as right-hand sides: J' excess / yield^2 d(J v - bias)
// less.
SPRAG_VECTORS
static void take_excess(const sprag_derivative *d, const double (*slip)[2][SPRAG_INVERSE],
                        const sprag_columns *v, sprag_columns *excess)
{
    const sprag_space6 *space = d->system.chart;
    const int n = d->problem->bodies;
    for (int i = 0; i < d->system.equations; i++) {
        const sprag_equation *equation = &d->system.equation[i];
        const sprag_row_stencil *stencil = &space->equation[i];
        const double part = equation->excess / (equation->yield * equation->yield);
        if (!isfinite(equation->excess) || !sprag_equation_yields(equation, d->system.rate[i])) {
            continue;
        }
        for (int j = 0; j < n; j++) {
            double change[SPRAG_COLUMNS] = {0};
            for (int side = 0; side < 2; side++) {
                const int node = stencil->node[side];
                if (node == j) {
                    memcpy(change, slip[i][side], sizeof slip[i][side]);
                }
            }
            for (int side = 0; side < 2; side++) {
                const int node = stencil->node[side];
                for (int k = 0; k < 6 && node != SPRAG_NOWHERE; k++) {
                    add_scaled(change, stencil->jacobian[side][0][k], v[node * n + j][k],
                               SPRAG_COLUMNS);
                }
            }
            for (int side = 0; side < 2; side++) {
                const int node = stencil->node[side];
                for (int k = 0; k < 6 && node != SPRAG_NOWHERE; k++) {
                    add_scaled(excess[node * n + j][k], -part * stencil->jacobian[side][0][k],
                               change, SPRAG_COLUMNS);
                }
            }
        }
    }
}

sprag_result sprag_derivative_solve(const sprag_derivative *d, const sprag_columns *const *X,
                                    const double (*slip)[2][SPRAG_INVERSE], sprag_columns *v,
                                    sprag_scratch *scratch)
{
    const sprag_blocks *blocks = &((const sprag_space6 *)d->system.chart)->blocks;
    const int size = d->problem->bodies * d->problem->bodies;
    sprag_result result = sprag_columns_spread(blocks, X, v, scratch);
    if (result == SPRAG_OK && d->hardened) {
        sprag_columns *excess = SPRAG_TAKE(scratch, size, sprag_columns);
        if (!excess) {
            return SPRAG_NO_MEMORY;
        }
        take_excess(d, slip, v, excess);
        sprag_columns_solve(blocks, excess);
        add_scaled(v[0][0], 1, excess[0][0], size * 6 * SPRAG_COLUMNS);
    }
    return result;
}
