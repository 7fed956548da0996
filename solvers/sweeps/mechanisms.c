#include "mechanisms.h"

#include <math.h>
#include <string.h>

#include "linalg.h"
#include "sweeps_constants.h"
#include "symmetric3.h"
#include "unions.h"
#include "vectors.h"
#include "vectors6.h"

// ---- finding them

// -1: the body does not move.
static int moving_node(const sweeps *s, int body)
{
    int node = node_of(s, body);
    return node < s->nodes ? node : -1;
}

// A node that the row moves; -1: none.
static int first_node(const sweeps *s, const sprag_row *row)
{
    int node = moving_node(s, row->body[0]);
    return node < 0 ? moving_node(s, row->body[1]) : node;
}

// A motor whose force is within its bounds.
static bool is_inside(const sprag_row *row, double force)
{
    const double margin = SWEEPS_INSIDE * (row->hi - row->lo);
    return isfinite(margin) && force > row->lo + margin && force < row->hi - margin;
}

// Was a motor inside its bounds in the last step, and in this one so far? Then it is likely to
// hold. Not where its bodies have gyroscopic terms, which mechanisms leave out.
static bool may_hold(const sweeps *s, const sprag_row *row)
{
    const bool spins =
        s->spin[node_of(s, row->body[0])] > 0 || s->spin[node_of(s, row->body[1])] > 0;
    return !spins && !s->left[row - s->problem->row] && is_inside(row, row->guess);
}

// A node that the row holds; -1: none. Motors that hold and leave their bounds are swept in the
// next solve (sprag_sweeps_solve). Stops open like contacts: they are swept in the first.
static int node_held_by(const sweeps *s, const sprag_row *row)
{
    return (isinf(row->lo) && isinf(row->hi)) || may_hold(s, row) ? first_node(s, row) : -1;
}

// Rows of ports that each tree of held bodies would have, at its root.
static void count_port_rows(const sweeps *s, int *parent, int *width)
{
    const sprag_problem *problem = s->problem;
    for (int i = 0; i < problem->contacts; i++) {
        for (int side = 0; side < 2; side++) {
            int node = moving_node(s, problem->contact[i].body[side]);
            width[node < 0 ? s->nodes : sprag_leader_of(parent, node)] +=
                problem->contact[i].turning ? 6 : 3;
        }
    }
    for (int i = 0; i < problem->rows; i++) {
        for (int side = 0; side < 2 && s->mechanisms->held[i] < 0; side++) {
            int node = moving_node(s, problem->row[i].body[side]);
            width[node < 0 ? s->nodes : sprag_leader_of(parent, node)] += 1;
        }
    }
}

// Joins the bodies of held rows. held: nodes that such a row touches.
static void join(const sweeps *s, int *parent, bool *held)
{
    for (int i = 0; i < s->nodes; i++) {
        parent[i] = i;
    }
    for (int i = 0; i < s->problem->rows; i++) {
        const sprag_row *row = &s->problem->row[i];
        if (s->mechanisms->held[i] >= 0) {
            int a = moving_node(s, row->body[0]), b = moving_node(s, row->body[1]);
            held[a < 0 ? b : a] = held[b < 0 ? a : b] = true;
            if (a >= 0 && b >= 0) {
                parent[sprag_leader_of(parent, a)] = sprag_leader_of(parent, b);
            }
        }
    }
}

// Lists nodes and rows by mechanism.
static void list(sweeps *s, int *node, int *row)
{
    sweeps_mechanisms *all = s->mechanisms;
    for (int n = 0; n < s->nodes; n++) {
        if (all->mechanism_of[n] >= 0) {
            all->of[all->mechanism_of[n]].nodes++;
        }
    }
    for (int i = 0; i < s->problem->rows; i++) {
        if (all->held[i] >= 0) {
            all->of[all->mechanism_of[all->held[i]]].rows++;
        }
    }
    for (int m = 0; m < all->count; m++) {
        all->of[m].node = node;
        all->of[m].row = row;
        node += all->of[m].nodes;
        row += all->of[m].rows;
        all->of[m].nodes = all->of[m].rows = 0;
    }
    for (int n = 0; n < s->nodes; n++) {
        if (all->mechanism_of[n] >= 0) {
            mechanism *m = &all->of[all->mechanism_of[n]];
            all->local[n] = m->nodes;
            ((int *)m->node)[m->nodes++] = n;
        }
    }
    for (int i = 0; i < s->problem->rows; i++) {
        if (all->held[i] >= 0) {
            mechanism *m = &all->of[all->mechanism_of[all->held[i]]];
            ((int *)m->row)[m->rows++] = i;
        }
    }
}

bool mechanisms_find(sweeps *s, sprag_scratch *scratch)
{
    int rows = s->problem->rows, nodes = s->nodes;
    sweeps_mechanisms *all = s->mechanisms = SPRAG_TAKE(scratch, 1, sweeps_mechanisms);
    if (!all || rows == 0 || s->without_mechanisms) {
        return all != NULL;
    }
    int *parent = SPRAG_TAKE(scratch, nodes, int), *width = SPRAG_TAKE(scratch, nodes + 1, int);
    int *index = SPRAG_TAKE(scratch, nodes, int), *node = SPRAG_TAKE(scratch, nodes, int);
    int *row = SPRAG_TAKE(scratch, rows, int);
    bool *held = SPRAG_TAKE(scratch, nodes, bool);
    all->mechanism_of = SPRAG_TAKE(scratch, nodes + 1, int);
    all->local = SPRAG_TAKE(scratch, nodes + 1, int);
    all->held = SPRAG_TAKE_RAW(scratch, rows, int);
    all->holds = SPRAG_TAKE_RAW(scratch, rows, bool);
    all->swept = SPRAG_TAKE(scratch, rows, int);
    all->wanted = SPRAG_TAKE(scratch, rows, double);
    all->of_row = SPRAG_TAKE_RAW(scratch, rows, mechanism_row);
    all->work = SPRAG_TAKE(scratch, 6 * SPRAG_FORWARD * ((size_t)nodes + 1), double);
    if (scratch->failed) {
        return false;
    }
    for (int i = 0; i < rows; i++) {
        all->held[i] = node_held_by(s, &s->problem->row[i]);
    }
    join(s, parent, held);
    count_port_rows(s, parent, width);
    for (int n = 0; n < nodes; n++) {
        index[n] = -1;
    }
    for (int n = 0; n < nodes; n++) {
        int root = sprag_leader_of(parent, n);
        index[root] = held[n] && index[root] < 0 ? all->count++ : index[root];
        all->mechanism_of[n] = held[n] ? index[root] : -1;
    }
    all->mechanism_of[nodes] = -1;
    all->of = SPRAG_TAKE(scratch, all->count, mechanism);
    if (!all->of) {
        return false;
    }
    for (int n = 0; n < nodes; n++) {
        if (held[n]) {
            all->of[all->mechanism_of[n]].wide =
                width[sprag_leader_of(parent, n)] > SWEEPS_PORT_ROWS;
        }
    }
    for (int i = 0; i < rows; i++) {
        all->holds[i] = all->held[i] >= 0 && mechanisms_of_node(s, all->held[i]) >= 0;
    }
    list(s, node, row);
    return true;
}

bool mechanisms_hold_wide(const sweeps *s, int row)
{
    return s->mechanisms->count > 0 && !s->mechanisms->holds[row] && s->mechanisms->held[row] >= 0;
}

bool mechanisms_release(const sweeps *s, const sprag_solution *solution, bool all)
{
    bool released = false;
    for (int i = 0; i < s->problem->rows; i++) {
        const sprag_row *row = &s->problem->row[i];
        if (isfinite(row->hi - row->lo) && (mechanisms_hold(s, i) || mechanisms_hold_wide(s, i)) &&
            (all || !is_inside(row, solution->row_force[i]))) {
            s->left[i] = released = true;
        }
    }
    return released;
}

int mechanisms_add_port(sweeps *s, int rows, const int node[2], const double (*jacobian)[3][6])
{
    int in = s->mechanisms->mechanism_of[node[0] < 0 ? node[1] : node[0]];
    sweeps_port *port = &s->port[s->ports];
    *port = (sweeps_port){.mechanism = in, .rows = rows, .node = {node[0], node[1]}};
    for (int side = 0; side < 2; side++) {
        if (node[side] >= 0) {
            memcpy(port->jacobian[side], jacobian[side], sizeof port->jacobian[side]);
        }
    }
    s->mechanisms->of[in].width += rows;
    return s->ports++;
}

// ---- factors

// block += a' slope b
static inline __attribute__((always_inline)) void add_row(double *block, const double a[6],
                                                          double slope, const double b[6])
{
    for (int i = 0; i < 6; i++) {
        vector6 sum;
        load6(&sum, block + 6 * i);
        add6(&sum, a[i] * slope, b);
        store6(block + 6 * i, &sum);
    }
}

// Returns the yield of a row that holds a mechanism.
static double set_row(const sweeps *s, int i)
{
    const sprag_row *row = &s->problem->row[i];
    const double yield = sweeps_row_yield(s, row), step = s->problem->step;
    const double own = isfinite(yield) ? yield - row->compliance / step : 0;
    double still = row->bias;
    for (int side = 0; side < 2; side++) {
        if (row->body[side] != SPRAG_STATIC && moving_node(s, row->body[side]) < 0) {
            still -= dot6(row->jacobian[side], s->problem->body[row->body[side]].velocity);
        }
    }
    s->mechanisms->of_row[i] = (mechanism_row){
        .still = still, .yield = yield, .own = own, .shift = own * row->guess * step};
    return yield;
}

// Adds J' J / yield of all rows.
SPRAG_VECTORS
static void add_rows(sweeps *s, mechanism *m)
{
    const sweeps_mechanisms *all = s->mechanisms;
    sprag_blocks *blocks = &m->blocks;
    for (int r = 0; r < m->rows; r++) {
        const sprag_row *row = &s->problem->row[m->row[r]];
        const double(*J)[6] = row->jacobian, slope = 1 / set_row(s, m->row[r]);
        const int a = moving_node(s, row->body[0]), b = moving_node(s, row->body[1]);
        if (a >= 0) {
            add_row(blocks->diagonal[blocks->rank[all->local[a]]], J[0], slope, J[0]);
        }
        if (b >= 0) {
            add_row(blocks->diagonal[blocks->rank[all->local[b]]], J[1], slope, J[1]);
        }
        if (a >= 0 && b >= 0) {
            const int i = all->local[a], j = all->local[b];
            const bool late = blocks->rank[j] > blocks->rank[i]; // of the upper block's columns
            double scaled[6];
            for (int k = 0; k < 6; k++) {
                scaled[k] = J[late][k] * slope;
            }
            add_row(blocks->upper[sprag_blocks_find(blocks, i, j)], J[!late], 1, scaled);
        }
    }
}

static sprag_result factor(sweeps *s, mechanism *m, sprag_scratch *scratch)
{
    const sweeps_mechanisms *all = s->mechanisms;
    int(*edge)[2] = SPRAG_TAKE(scratch, m->rows, int[2]), edges = 0;
    if (!edge) {
        return SPRAG_NO_MEMORY;
    }
    for (int r = 0; r < m->rows; r++) {
        const int *body = s->problem->row[m->row[r]].body;
        int a = moving_node(s, body[0]), b = moving_node(s, body[1]);
        if (a >= 0 && b >= 0) {
            edge[edges][0] = all->local[a];
            edge[edges++][1] = all->local[b];
        }
    }
    sprag_result result =
        sprag_blocks_analyse(&m->blocks, m->nodes, edges, (const int(*)[2])edge, scratch);
    result = result == SPRAG_OK ? sprag_blocks_take(&m->blocks, scratch) : result;
    if (result != SPRAG_OK) {
        return result;
    }
    sprag_blocks_clear(&m->blocks, true);
    memset(m->blocks.diagonal, 0, (size_t)m->nodes * sizeof *m->blocks.diagonal);
    m->share = 1;
    for (int n = 0; n < m->nodes; n++) {
        m->share = fmin(m->share, 1 / (1 + s->spin[m->node[n]]));
        const sprag_body *body = &s->problem->body[s->body_of[m->node[n]]];
        double *to = m->blocks.diagonal[m->blocks.rank[n]];
        for (int k = 0; k < 3; k++) {
            to[7 * k] = body->mass;
            memcpy(to + 6 * (3 + k) + 3, body->inertia + 3 * k, 3 * sizeof *to);
        }
        sprag_symmetrise3(to + 6 * 3 + 3, 6);
    }
    add_rows(s, m);
    return sprag_blocks_factor(&m->blocks, true);
}

// L^-1 J' of a port, and the places where it is not zero.
static void solve_forward(sweeps *s, sweeps_port *port)
{
    sweeps_mechanisms *all = s->mechanisms;
    const sprag_blocks *blocks = &all->of[port->mechanism].blocks;
    int place[2] = {blocks->n, blocks->n};
    for (int side = 0; side < 2; side++) {
        if (port->node[side] >= 0) {
            place[side] = blocks->rank[all->local[port->node[side]]];
            double *x = all->work + 6 * SPRAG_FORWARD * place[side];
            for (int r = 0; r < port->rows; r++) {
                for (int k = 0; k < 6; k++) {
                    x[k * SPRAG_FORWARD + r] += port->jacobian[side][r][k];
                }
            }
        }
    }
    port->first = all->paths;
    port->places = sprag_blocks_forward(blocks, place[0], place[1], all->work,
                                        all->path + all->paths, all->forward + all->paths);
    all->paths += port->places;
}

sprag_result mechanisms_factor(sweeps *s, sprag_scratch *scratch)
{
    sweeps_mechanisms *all = s->mechanisms;
    long room = 0;
    int rows = 0, *ports = SPRAG_TAKE(scratch, s->ports, int);
    if (!ports) {
        return SPRAG_NO_MEMORY;
    }
    for (int m = 0; m < all->count; m++) {
        sprag_result result = factor(s, &all->of[m], scratch);
        if (result != SPRAG_OK) {
            return result;
        }
        all->of[m].stride = (all->of[m].width + LANES - 1) & -LANES;
        all->of[m].first = rows;
        rows += all->of[m].stride;
        all->of[m].width = 0;
    }
    for (int p = 0; p < s->ports; p++) {
        all->of[s->port[p].mechanism].ports++;
    }
    for (int m = 0, next = 0; m < all->count; m++) {
        all->of[m].port = ports + next;
        next += all->of[m].ports;
        all->of[m].ports = 0;
    }
    for (int p = 0; p < s->ports; p++) {
        sweeps_port *port = &s->port[p];
        mechanism *m = &all->of[port->mechanism];
        m->port[m->ports++] = p;
        port->at = m->first + m->width;
        m->width += port->rows;
        for (int side = 0; side < 2; side++) {
            int k = port->node[side] < 0 ? -1 : m->blocks.rank[all->local[port->node[side]]];
            for (; k >= 0; k = sprag_blocks_parent(&m->blocks, k)) {
                room++;
            }
        }
    }
    all->path = SPRAG_TAKE_RAW(scratch, room, int);
    all->forward = SPRAG_TAKE_RAW(scratch, room, double[6][SPRAG_FORWARD]);
    if (scratch->failed) {
        return SPRAG_NO_MEMORY;
    }
    for (int p = 0; p < s->ports; p++) {
        solve_forward(s, &s->port[p]);
    }
    return SPRAG_OK;
}

// ---- velocities

// Impulses of the rows at the velocities of the moment.
static void set_impulses(sweeps *s, const mechanism *m)
{
    for (int r = 0; r < m->rows; r++) {
        const sprag_row *row = &s->problem->row[m->row[r]];
        mechanism_row *of = &s->mechanisms->of_row[m->row[r]];
        double error = of->still + of->shift;
        for (int side = 0; side < 2; side++) {
            const int node = moving_node(s, row->body[side]);
            if (node >= 0) {
                const double *v = s->x.v[node], *J = row->jacobian[side];
                error -= dot3(J, v) + dot3(J + 3, v + 4);
            }
        }
        of->impulse = error / of->yield;
    }
}

double mechanisms_row_impulse(const sweeps *s, int i)
{
    return s->mechanisms->of_row[i].impulse;
}

// Momentum of a mechanism without the forces of its rows (but for what their bias gives), N s.
static void set_momentum(const sweeps *s, const mechanism *m, double *right)
{
    const sweeps_mechanisms *all = s->mechanisms;
    for (int n = 0; n < m->nodes; n++) {
        const sprag_body *body = &s->problem->body[s->body_of[m->node[n]]];
        double inertia[9];
        for (int k = 0; k < 3; k++) {
            right[6 * n + k] = body->mass * body->free_velocity[k];
        }
        memcpy(inertia, body->inertia, sizeof inertia);
        sprag_symmetrise3(inertia, 3);
        mul33(inertia, body->free_velocity + 3, right + 6 * n + 3);
    }
    for (int p = 0; p < m->ports; p++) {
        const sweeps_port *port = &s->port[m->port[p]];
        for (int side = 0; side < 2; side++) {
            for (int k = 0; k < port->rows && port->node[side] >= 0; k++) {
                add_scaled(right + 6 * all->local[port->node[side]], *port->impulse[k],
                           port->jacobian[side][k], 6);
            }
        }
    }
}

// Velocities of the bodies of a mechanism, by its momentum and what its rows ask for where the
// bodies stand still, with what is taken back of their yield. right: 6 nodes.
static void move(sweeps *s, mechanism *m, const double *momentum, double *right)
{
    const sweeps_mechanisms *all = s->mechanisms;
    memcpy(right, momentum, 6 * (size_t)m->nodes * sizeof *right);
    for (int r = 0; r < m->rows; r++) {
        const sprag_row *row = &s->problem->row[m->row[r]];
        const mechanism_row *of = &all->of_row[m->row[r]];
        const double impulse = (of->still + of->shift) / of->yield;
        for (int side = 0; side < 2; side++) {
            int node = moving_node(s, row->body[side]);
            if (node >= 0) {
                add_scaled(right + 6 * all->local[node], impulse, row->jacobian[side], 6);
            }
        }
    }
    sprag_blocks_solve(&m->blocks, true, right);
    for (int n = 0; n < m->nodes; n++) {
        batch_set_velocity(s->x.v[m->node[n]], right + 6 * n);
    }
}

static void set_port_velocities(sweeps *s)
{
    for (int p = 0; p < s->ports; p++) {
        const sweeps_port *port = &s->port[p];
        for (int k = 0; k < port->rows; k++) {
            double *u = &s->x.port[port->at + k];
            *u = 0;
            for (int side = 0; side < 2; side++) {
                if (port->node[side] >= 0) {
                    const double *v = s->x.v[port->node[side]], *J = port->jacobian[side][k];
                    *u += dot3(J, v) + dot3(J + 3, v + 4);
                }
            }
        }
    }
}

void mechanisms_balance(sweeps *s, bool last)
{
    sweeps_mechanisms *all = s->mechanisms;
    for (int i = 0; i < all->count; i++) {
        mechanism *m = &all->of[i];
        if (m->wide) {
            continue;
        }
        double *momentum = all->work, *right = momentum + 6 * m->nodes;
        set_momentum(s, m, momentum);
        move(s, m, momentum, right);
        set_impulses(s, m);
        for (int r = 0; r < m->rows; r++) {
            mechanism_row *of = &all->of_row[m->row[r]];
            of->shift = of->own * of->impulse;
        }
        if (last) {
            move(s, m, momentum, right);
            set_impulses(s, m);
        }
        memset(momentum, 0, 12 * (size_t)m->nodes * sizeof *momentum);
    }
    set_port_velocities(s);
}
