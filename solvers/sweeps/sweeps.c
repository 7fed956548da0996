#include "sweeps.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "joint_rows.h"
#include "kinematics.h"
#include "mechanisms.h"
#include "singles.h"
#include "stiction.h"
#include "sweeps_constants.h"
#include "sweeps_run.h"
#include "symmetric3.h"

// Colours of contacts, from 1 on: a body may have that many before its further contacts go alone.
enum { ALONE = 0, COLOURS = 64 };

// ---- bodies

static bool take_bodies(sweeps *s, batch_velocity **start, sprag_scratch *scratch)
{
    const sprag_problem *problem = s->problem;
    s->node_of = SPRAG_TAKE_RAW(scratch, problem->bodies, int);
    for (int b = 0; b < problem->bodies && s->node_of; b++) {
        s->nodes += problem->body[b].mass > 0;
    }
    s->body_of = SPRAG_TAKE_RAW(scratch, s->nodes, int);
    s->free = SPRAG_TAKE(scratch, s->nodes + 1, batch_velocity);
    s->mass = SPRAG_TAKE(scratch, s->nodes + 1, batch_velocity);
    s->inverse = SPRAG_TAKE(scratch, s->nodes, double[9]);
    s->spin = SPRAG_TAKE(scratch, s->nodes + 1, double);
    *start = SPRAG_TAKE(scratch, s->nodes + 1, batch_velocity);
    if (scratch->failed) {
        return false;
    }
    int next = 0;
    for (int b = 0; b < problem->bodies; b++) {
        const sprag_body *body = &problem->body[b];
        int node = s->node_of[b] = body->mass > 0 ? next++ : s->nodes;
        if (body->mass > 0) {
            s->body_of[node] = b;
            double I[9], *mass = s->mass[node];
            invert33(body->inertia, s->inverse[node]);
            memcpy(I, s->inverse[node], sizeof I);
            s->spin[node] = sprag_symmetrise3(I, 3) ? sprag_skew_share3(s->inverse[node]) : 0;
            batch_set_velocity((*start)[node], body->velocity);
            batch_set_velocity(s->free[node], body->free_velocity);
            mass[0] = 1 / body->mass;
            mass[1] = I[0], mass[2] = I[4], mass[3] = I[8];
            mass[4] = I[1], mass[5] = I[2], mass[6] = I[5];
        }
    }
    return true;
}

// ---- batches

static bool is_linked(const sweeps *s, const int body[2])
{
    return mechanisms_of_node(s, node_of(s, body[0])) >= 0 ||
           mechanisms_of_node(s, node_of(s, body[1])) >= 0;
}

// The thing that moves with a body: a node or a mechanism.
static int mover_of(const sweeps *s, int body)
{
    int node = node_of(s, body), m = mechanisms_of_node(s, node);
    return m >= 0 ? s->nodes + 1 + m : node;
}

// Second bodies of grounded contacts do not move; linked contacts touch mechanisms.
typedef enum kind { GROUNDED, LOOSE, LINKED, KINDS } kind;

static kind kind_of(const sweeps *s, const int body[2])
{
    return is_linked(s, body) ? LINKED : node_of(s, body[1]) == s->nodes ? GROUNDED : LOOSE;
}

// Gives each contact the first colour that neither of its movers has, and counts them. Contacts of
// a mover that has all colours go alone. Returns the last colour.
static int colour(const sweeps *s, uint64_t *used, unsigned char *of, int count[KINDS][COLOURS + 1])
{
    int last = 0;
    for (int i = 0; i < s->problem->contacts; i++) {
        const int *body = s->problem->contact[i].body;
        if (s->is_single[i]) {
            continue;
        }
        int a = mover_of(s, body[0]), b = mover_of(s, body[1]);
        uint64_t may = ~(used[a] | used[b]), first = may & -may;
        int c = may ? 1 + __builtin_ctzll(may) : ALONE;
        used[a] |= first, used[b] |= first;
        used[s->nodes] = 0; // static
        of[i] = (unsigned char)c;
        count[kind_of(s, body)][c]++;
        last = c > last ? c : last;
    }
    return last;
}

// Batches of so many contacts of a colour.
static int batches_of(int colour, int count)
{
    return colour == ALONE ? count : (count + LANES - 1) / LANES;
}

// Places in batches: those of one colour share no mover. Grounded batches take less work and go
// first. Contacts of a kind fill what those of the next kind leave of the batches of their colour.
static void place(sweeps *s, uint64_t *used, unsigned char *of, int *at)
{
    int count[KINDS][COLOURS + 1] = {{0}}, next[KINDS][COLOURS + 1];
    int filled[KINDS][COLOURS + 1] = {{0}}, end[KINDS];
    const int last = colour(s, used, of, count);
    for (kind kind = LINKED; kind > GROUNDED; kind--) {
        for (int c = ALONE + 1; c <= last; c++) {
            const int spare = LANES * batches_of(c, count[kind][c]) - count[kind][c];
            const int fill = count[kind - 1][c] < spare ? count[kind - 1][c] : spare;
            count[kind - 1][c] -= filled[kind - 1][c] = fill;
        }
    }
    for (kind kind = 0; kind < KINDS; kind++) {
        for (int c = 0; c <= last; c++) {
            const int batches = batches_of(c, count[kind][c]);
            next[kind][c] = LANES * s->batches;
            for (int b = 0; b < batches; b++) {
                s->paired[s->batches++] = c != ALONE && (b | 1) < batches;
            }
        }
        end[kind] = s->batches;
    }
    s->grounded_batches = end[GROUNDED];
    s->free_batches = end[LOOSE];
    for (int i = 0; i < s->problem->contacts; i++) {
        if (!s->is_single[i]) {
            const kind kind = kind_of(s, s->problem->contact[i].body);
            int *to = &next[kind + (filled[kind][of[i]]-- > 0)][of[i]];
            at[i] = *to;
            *to += of[i] == ALONE ? LANES : 1;
        }
    }
}

// at: counted in lanes.
static void set_lane(sweeps *s, int at, int contact)
{
    batch *c = &s->batch[at / LANES];
    int l = at % LANES;
    c->contact[l] = contact;
    for (int side = 0; side < 2; side++) {
        c->node[side][l] = node_of(s, s->problem->contact[contact].body[side]);
    }
}

static bool take_batches(sweeps *s, sprag_scratch *scratch)
{
    int contacts = s->problem->contacts, movers = s->nodes + 1 + s->mechanisms->count;
    uint64_t *used = SPRAG_TAKE(scratch, movers, uint64_t);
    unsigned char *of = SPRAG_TAKE_RAW(scratch, contacts, unsigned char);
    int *at = SPRAG_TAKE_RAW(scratch, contacts, int);
    s->paired = SPRAG_TAKE_RAW(scratch, contacts, bool);
    if (scratch->failed) {
        return false;
    }
    place(s, used, of, at);
    s->batch = SPRAG_TAKE_RAW(scratch, s->batches, batch);
    s->link = SPRAG_TAKE(scratch, s->batches - s->free_batches, batch_link);
    s->port = SPRAG_TAKE_RAW(scratch, 2 * ((long)contacts + s->problem->rows + s->single_rows),
                             sweeps_port);
    if (scratch->failed) {
        return false;
    }
    for (int i = 0; i < s->batches; i++) {
        for (int l = 0; l < LANES; l++) {
            s->batch[i].contact[l] = -1;
            s->batch[i].node[0][l] = s->batch[i].node[1][l] = s->nodes;
        }
    }
    for (int i = 0; i < s->batches - s->free_batches; i++) {
        memset(s->link[i].port, -1, sizeof s->link[i].port);
    }
    for (int i = 0; i < contacts; i++) {
        if (!s->is_single[i]) {
            set_lane(s, at[i], i);
        }
    }
    for (int i = 0; i < s->batches - s->free_batches; i++) {
        memcpy(s->link[i].node, s->batch[s->free_batches + i].node, sizeof s->link[i].node);
    }
    return true;
}

// Ports of something with Jacobians over two nodes: one a mechanism. Those nodes become static.
static void add_ports(sweeps *s, int rows, int node[2], const double (*jacobian)[3][6],
                      int32_t port[2])
{
    int in[2] = {mechanisms_of_node(s, node[0]), mechanisms_of_node(s, node[1])};
    bool one = in[0] >= 0 && in[0] == in[1];
    for (int side = 0; side < 2; side++) {
        port[side] = -1;
        if (in[side] >= 0 && !(one && side == 1)) {
            const int of[2] = {one || side == 0 ? node[0] : -1, one || side == 1 ? node[1] : -1};
            port[side] = mechanisms_add_port(s, rows, of, jacobian);
        }
    }
    for (int side = 0; side < 2; side++) {
        node[side] = in[side] >= 0 ? s->nodes : node[side];
    }
}

// Lets a contact touch mechanisms by ports.
static void link_lane(sweeps *s, int i, int l)
{
    batch *c = &s->batch[i];
    batch_link *link = &s->link[i - s->free_batches];
    const sprag_contact *contact = &s->problem->contact[c->contact[l]];
    double jacobian[2][3][6];
    int node[2] = {c->node[0][l], c->node[1][l]};
    int32_t port[2];
    for (int side = 0; side < 2; side++) {
        for (int k = 0; k < 3; k++) {
            point_jacobian(contact->arm[side], contact->frame[k], jacobian[side][k]);
            for (int j = 0; j < 6 && side; j++) {
                jacobian[side][k][j] = -jacobian[side][k][j];
            }
        }
    }
    add_ports(s, 3, node, (const double(*)[3][6])jacobian, port);
    for (int side = 0; side < 2; side++) {
        c->node[side][l] = node[side];
        link->port[side][l] = port[side];
        link->moves |= node[side] != s->nodes;
        for (int k = 0; k < 3 && port[side] >= 0; k++) {
            s->port[port[side]].impulse[k] = &((double *)&s->x.impulse[i][k])[l];
        }
    }
}

void sweeps_set_row(sweeps *s, batch_row *to, const int body[2], const double J[2][6],
                    double impulse)
{
    double jacobian[2][3][6];
    int node[2] = {node_of(s, body[0]), node_of(s, body[1])};
    for (int side = 0; side < 2; side++) {
        memcpy(jacobian[side][0], J[side], sizeof jacobian[side][0]);
        if (node[side] == s->nodes && body[side] != SPRAG_STATIC) {
            to->offset += dot6(J[side], s->problem->body[body[side]].velocity);
        }
    }
    add_ports(s, 1, node, (const double(*)[3][6])jacobian, to->port);
    for (int side = 0; side < 2; side++) {
        const double *of = J[side];
        double *turn = to->turn[side];
        to->node[side] = node[side];
        if (node[side] == s->nodes) {
            continue;
        }
        to->moves = true;
        memcpy(to->jacobian[side], of, sizeof to->jacobian[side]);
        for (int k = 0; k < 3; k++) {
            turn[k] = s->mass[node[side]][0] * of[k];
        }
        mul33(s->inverse[node[side]], of + 3, turn + 3);
        to->inverse_mass += dot6(of, turn);
        to->spin_mass += s->spin[node[side]] * dot3(of + 3, turn + 3);
    }
    double *at = &s->x.row_impulse[to - s->row];
    *at = impulse;
    for (int side = 0; side < 2; side++) {
        if (to->port[side] >= 0) {
            s->port[to->port[side]].impulse[0] = at;
        }
    }
}

// 1/kg, of the first row of a port, as if no row held its bodies.
static double bare_inverse_mass(const sweeps *s, const sweeps_port *port)
{
    double sum = 0;
    for (int side = 0; side < 2; side++) {
        if (port->node[side] >= 0) {
            sum += node_inverse_mass(s, port->node[side], port->jacobian[side][0]);
        }
    }
    return sum;
}

double sweeps_add_mechanisms(const sweeps *s, batch_row *row)
{
    double bare = row->inverse_mass;
    for (int side = 0; side < 2; side++) {
        if (row->port[side] >= 0) {
            double W[3][3];
            mechanisms_port_inverse_mass(s, row->port[side], W);
            row->inverse_mass += W[0][0];
            bare += bare_inverse_mass(s, &s->port[row->port[side]]);
        }
    }
    return bare;
}

// After mechanisms_factor.
static void set_row_yield(sweeps *s, batch_row *row)
{
    sweeps_add_mechanisms(s, row);
    row->yield = sweeps_row_yield(s, &s->problem->row[row->row]);
}

static void add_port_masses(sweeps *s)
{
    for (int i = s->free_batches; i < s->batches; i++) {
        batch_link *link = &s->link[i - s->free_batches];
        for (int l = 0; l < 2 * LANES; l++) {
            int port = link->port[l / LANES][l % LANES];
            double W[3][3];
            if (port >= 0) {
                mechanisms_port_inverse_mass(s, port, W);
                link->bare[l % LANES] += bare_inverse_mass(s, &s->port[port]);
                for (int k = 0; k < 9; k++) {
                    link->inverse_mass[k / 3][k % 3][l % LANES] += W[k / 3][k % 3];
                }
            }
        }
    }
}

// Ports take the friction axes of their contacts.
static void turn_ports(sweeps *s)
{
    for (int i = s->free_batches; i < s->batches; i++) {
        const batch *c = &s->batch[i];
        for (int l = 0; l < 2 * LANES; l++) {
            int port = s->link[i - s->free_batches].port[l / LANES][l % LANES];
            if (port >= 0) {
                int lane = l % LANES;
                double basis[2][2] = {{c->basis[0][0][lane], c->basis[0][1][lane]},
                                      {c->basis[1][0][lane], c->basis[1][1][lane]}};
                mechanisms_turn_port(s, port, (const double(*)[2])basis);
            }
        }
    }
}

// Stiction tolerances are a share of a contact's own slip before the step, within bounds, unless
// its surface sets one.
static void prepare_batches(sweeps *s, const batch_velocity *start,
                            const sprag_sweeps_options *options, sprag_stats *stats)
{
    sprag_stiction stiction = sprag_stiction_of(s->soft.scale, options->moving, options->at_rest);
    batch_slips slips = {.least = INFINITY};
    batches_prepare(s, start, &slips);
    singles_prepare(s, start, &slips);
    batches_set_stiction(s, &stiction, &slips);
    singles_set_stiction(s, &stiction, &slips);
    stats->stiction = slips.most;
    stats->stiction_least = slips.least;
}

// Room for the unknowns and the rows that are swept.
static bool take_unknowns(sweeps *s, sprag_scratch *scratch)
{
    for (int i = 0; i < s->problem->rows; i++) {
        s->rows += !mechanisms_hold(s, i);
    }
    s->x.velocities = BATCH_NUMBERS * (s->nodes + 1L);
    long impulses = 3L * LANES * s->batches, rows = (s->rows + s->single_rows + LANES - 1) & -LANES;
    // of ports: at most three rows a side, and less than a vector left over in each mechanism
    long ports = 3 * 2 * (long)LANES * (s->batches - s->free_batches) +
                 (s->mechanisms->count > 0 ? 2L * rows : 0) + (long)LANES * s->mechanisms->count;
    s->x.count = s->x.velocities + impulses + rows + ports;
    s->x.all = SPRAG_TAKE(scratch, s->x.count, double);
    s->before = SPRAG_TAKE_RAW(scratch, s->x.count, double);
    s->push = SPRAG_TAKE(scratch, s->x.count, double);
    s->row = SPRAG_TAKE(scratch, (long)s->rows + s->single_rows, batch_row);
    if (scratch->failed) {
        return false;
    }
    s->x.v = (batch_velocity *)s->x.all;
    s->x.impulse = (lanes(*)[3])(s->x.all + s->x.velocities);
    s->x.row_impulse = s->x.all + s->x.velocities + impulses;
    s->x.port = s->x.row_impulse + rows;
    return true;
}

// Twice the kinetic energy of v less from; from NULL: of v.
static double energy(const sweeps *s, const batch_velocity *v, const batch_velocity *from)
{
    double sum = 0;
    for (int b = 0; b < s->problem->bodies; b++) {
        const sprag_body *body = &s->problem->body[b];
        int node = s->node_of[b];
        if (node < s->nodes) {
            double d[8], L[3];
            for (int k = 0; k < 8; k++) {
                d[k] = v[node][k] - (from ? from[node][k] : 0);
            }
            mul33(body->inertia, d + 4, L);
            sum += body->mass * dot3(d, d) + dot3(d + 4, L);
        }
    }
    return sum;
}

static sprag_result prepare(sweeps *s, const sprag_sweeps_options *options, sprag_scratch *scratch,
                            sprag_stats *stats)
{
    batch_velocity *start;
    s->soft = sprag_problem_softness(s->problem, options->soft);
    if (!take_bodies(s, &start, scratch) || !mechanisms_find(s, scratch) ||
        !singles_find(s, scratch) || !take_batches(s, scratch) || !take_unknowns(s, scratch)) {
        return SPRAG_NO_MEMORY;
    }
    for (int i = s->free_batches; i < s->batches; i++) {
        for (int l = 0; l < LANES; l++) {
            if (s->batch[i].contact[l] >= 0) {
                link_lane(s, i, l);
            }
        }
    }
    joint_rows_set(s);
    singles_set_rows(s);
    if (s->mechanisms->count > 0) {
        sprag_result result = mechanisms_factor(s, scratch);
        if (result != SPRAG_OK) {
            return result;
        }
        add_port_masses(s);
    }
    prepare_batches(s, (const batch_velocity *)start, options, stats);
    for (int i = 0; i < s->rows; i++) {
        set_row_yield(s, &s->row[i]);
    }
    if (s->mechanisms->count > 0) {
        turn_ports(s);
        if (!mechanisms_couple(s, scratch)) {
            return SPRAG_NO_MEMORY;
        }
    }
    s->scale = sqrt(energy(s, (const batch_velocity *)s->free, (const batch_velocity *)start));
    return SPRAG_OK;
}

// ---- start and end

// From the expected impulses, unless they are those of something else: contacts take energy away.
static void start(sweeps *s)
{
    const batch_velocity *v = (const batch_velocity *)s->x.v;
    batches_balance(s, false);
    if (!(energy(s, v, NULL) <= 2 * energy(s, (const batch_velocity *)s->free, NULL))) {
        memset(s->x.impulse, 0, (size_t)(s->x.count - s->x.velocities) * sizeof(double));
        batches_balance(s, false);
    }
}

static void write_solution(sweeps *s, sprag_solution *solution)
{
    const sprag_problem *problem = s->problem;
    for (int b = 0; b < problem->bodies; b++) {
        double *v = solution->velocity[b];
        const double *of = s->x.v[s->node_of[b]];
        for (int k = 0; k < 6; k++) {
            v[k] = s->node_of[b] == s->nodes ? problem->body[b].velocity[k] : of[k + k / 3];
        }
    }
    for (int i = 0; i < s->batches; i++) {
        const batch *c = &s->batch[i];
        for (int l = 0; l < LANES; l++) {
            if (c->contact[l] >= 0) {
                double *f = solution->contact_force[c->contact[l]], p[3];
                for (int k = 0; k < 3; k++) {
                    p[k] = s->x.impulse[i][k][l] / problem->step;
                }
                f[0] = p[0];
                f[1] = c->basis[0][0][l] * p[1] + c->basis[1][0][l] * p[2];
                f[2] = c->basis[0][1][l] * p[1] + c->basis[1][1][l] * p[2];
                f[3] = f[4] = f[5] = 0;
            }
        }
    }
    for (int i = 0; i < s->rows; i++) {
        solution->row_force[s->row[i].row] = s->x.row_impulse[i] / problem->step;
    }
    singles_write(s, solution);
    for (int i = 0; i < problem->rows; i++) {
        if (mechanisms_hold(s, i)) {
            solution->row_force[i] = mechanisms_row_impulse(s, i) / problem->step;
        }
    }
}

// ---- sweeps

// Stagnation: at 32, 64 ... sweeps a small residual that has not halved since half as many ends
// the solve. One ball that still turns in its pocket would take hundreds of sweeps.
static bool stagnates(int it, double residual, double halfway)
{
    return it >= SWEEPS_STAGNATION_FIRST && (it & (it - 1)) == 0 &&
           residual <= SWEEPS_STAGNATION_RESIDUAL && residual > 0.5 * halfway;
}

// sqrt(kg) m/s: what the step changes without contacts, or what contacts change if that is more.
static double scale_of(const sweeps *s)
{
    const batch_velocity *v = (const batch_velocity *)s->x.v;
    return fmax(fmax(s->scale, sqrt(energy(s, v, (const batch_velocity *)s->free))), DBL_MIN);
}

// Has the last sweep hardly moved a body? Contacts of one face take load from one another for
// hundreds of sweeps.
static bool moves_nothing(const sweeps *s, double least)
{
    const batch_velocity *v = (const batch_velocity *)s->x.v;
    return sqrt(energy(s, v, (const batch_velocity *)s->before)) <= SWEEPS_STILL * least;
}

// Products of 6x6 blocks, of a sweep.
static double work_of_sweep(const sweeps *s)
{
    double batched = s->problem->contacts - s->singles;
    return batched + s->problem->rows + SWEEPS_SINGLE_ROW_WORK * s->single_rows +
           SWEEPS_PORT_ENTRY_WORK * mechanisms_entries(s);
}

// Momentum carries sweeps that go round in a cycle, as friction may make them, away for ever (by 15
// % a sweep in a hostile world). So there is none while a sweep changes more than the first one
// did.
static void run(sweeps *s, const sprag_sweeps_options *options, sprag_stats *stats)
{
    const double each = work_of_sweep(s), coupling = SWEEPS_COUPLING_WORK * mechanisms_entries(s);
    const double paid = fmax((options->most_work - coupling) / each, options->least);
    double halfway = INFINITY, first = INFINITY, last = INFINITY, scale = 1;
    memcpy(s->before, s->x.all, (size_t)s->x.count * sizeof *s->before);
    for (int it = 1, since = 1;; it++, since++) {
        double change = batches_sweep(s);
        bool power_of_two = (it & (it - 1)) == 0, stops = it >= options->most || it + 1 > paid;
        scale = power_of_two || stops ? scale_of(s) : scale;
        stats->sweeps++;
        stats->convergence = change / scale;
        if (stops || stats->convergence <= options->tolerance || !isfinite(change) ||
            stagnates(it, stats->convergence, halfway) ||
            (it % SWEEPS_STILL_SPAN == 0 && stats->convergence <= options->enough &&
             moves_nothing(s, options->tolerance * scale))) {
            stats->sweep_work += coupling + it * each;
            return;
        }
        halfway = power_of_two ? stats->convergence : halfway;
        first = it == 1 ? change : first;
        since = change > last || change > first ? 1 : since;
        last = change;
        batches_accelerate(s, (since - 1.0) / (since + 2.0));
    }
}

static sprag_result solve(sweeps *s, const sprag_sweeps_options *options, sprag_scratch *scratch,
                          sprag_solution *solution, sprag_stats *stats)
{
    sprag_result result = prepare(s, options, scratch, stats);
    if (result == SPRAG_OK) {
        start(s);
        run(s, options, stats);
        batches_balance(s, true); // rounding of the sums
        write_solution(s, solution);
        result = isfinite(stats->convergence) ? SPRAG_OK : SPRAG_NOT_CONVERGED;
    }
    return result;
}

// Motors that leave their bounds are swept in a further solve, and all if none leaves them and the
// sweeps have not converged. Masses of a mechanism may be so far apart that its matrix has no
// factors in double, or useless ones. A row alone always has an inverse: then all rows are swept.
sprag_result sprag_sweeps_solve(const sprag_problem *problem, const sprag_sweeps_options *options,
                                sprag_scratch *scratch, sprag_solution *solution,
                                sprag_stats *stats)
{
    sprag_sweeps_options with = *options;
    const double before = stats->sweep_work;
    bool *left = SPRAG_TAKE(scratch, problem->rows, bool);
    sweeps s = {.problem = problem, .left = left};
    sprag_result result = left ? solve(&s, &with, scratch, solution, stats) : SPRAG_NO_MEMORY;
    for (int i = 2; result == SPRAG_OK; i++) {
        const bool jams = stats->convergence > SWEEPS_JAMMED;
        if (!mechanisms_release(&s, solution, false) &&
            !(jams && mechanisms_release(&s, solution, true))) {
            break;
        }
        if (i >= SWEEPS_SOLVES_OF_MOTORS) {
            memset(left, true, (size_t)problem->rows * sizeof *left);
        }
        s = (sweeps){.problem = problem, .left = left};
        with.most_work = options->most_work - (stats->sweep_work - before);
        result = solve(&s, &with, scratch, solution, stats);
    }
    if (result != SPRAG_OK && result != SPRAG_NO_MEMORY && s.mechanisms->count > 0) {
        s = (sweeps){.problem = problem, .left = left, .without_mechanisms = true};
        result = solve(&s, &with, scratch, solution, stats);
    }
    return result;
}
