#include "sweeps.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "kinematics.h"
#include "stiction.h"
#include "sweeps_run.h"

// Colours of contacts: a body may have that many before its further contacts go alone.
enum { COLOURS = 64 };

bool sprag_sweeps_apply(const sprag_problem *problem)
{
    for (int i = 0; i < problem->contacts; i++) {
        const sprag_contact *contact = &problem->contact[i];
        const sprag_friction *f = &contact->slide;
        bool cone = f->slip[0] == f->slip[1] && f->force[0] == f->force[1] &&
                    isinf(f->coefficient[0]) == isinf(f->coefficient[1]) &&
                    (f->coefficient[0] > 0) == (f->coefficient[1] > 0);
        if (contact->turning || contact->stiffness > 0 || !cone) {
            return false;
        }
    }
    return true;
}

// ---- bodies

static int node_of(const sweeps *s, int body)
{
    return body == SPRAG_STATIC ? s->nodes : s->node_of[body];
}

static void set_velocity(batch_velocity to, const double v[6])
{
    memcpy(to, v, 3 * sizeof *v);
    memcpy(to + 4, v + 3, 3 * sizeof *v);
}

static bool take_bodies(sweeps *s, batch_velocity **start, sprag_scratch *scratch)
{
    const sprag_problem *problem = s->problem;
    s->node_of = SPRAG_TAKE(scratch, problem->bodies, int);
    for (int b = 0; b < problem->bodies && s->node_of; b++) {
        s->nodes += problem->body[b].mass > 0;
    }
    s->free = SPRAG_TAKE(scratch, s->nodes + 1, batch_velocity);
    s->mass = SPRAG_TAKE(scratch, s->nodes + 1, batch_velocity);
    *start = SPRAG_TAKE(scratch, s->nodes + 1, batch_velocity);
    if (scratch->failed) {
        return false;
    }
    int next = 0;
    for (int b = 0; b < problem->bodies; b++) {
        const sprag_body *body = &problem->body[b];
        int node = s->node_of[b] = body->mass > 0 ? next++ : s->nodes;
        if (body->mass > 0) {
            double I[9] = {0}, *mass = s->mass[node];
            invert33(body->inertia, I);
            set_velocity((*start)[node], body->velocity);
            set_velocity(s->free[node], body->free_velocity);
            mass[0] = 1 / body->mass;
            mass[1] = I[0], mass[2] = I[4], mass[3] = I[8];
            mass[4] = I[1], mass[5] = I[2], mass[6] = I[5];
        }
    }
    return true;
}

// ---- batches

// Gives each contact the first colour that neither of its bodies has, and counts them. Contacts of
// a body that has all colours get COLOURS.
static void colour(const sweeps *s, uint64_t *used, unsigned char *of, int count[COLOURS + 1])
{
    for (int i = 0; i < s->problem->contacts; i++) {
        const int *body = s->problem->contact[i].body;
        uint64_t taken = 0;
        for (int side = 0; side < 2; side++) {
            int node = node_of(s, body[side]);
            taken |= node < s->nodes ? used[node] : 0;
        }
        int c = ~taken ? __builtin_ctzll(~taken) : COLOURS;
        for (int side = 0; side < 2; side++) {
            used[node_of(s, body[side])] |= c < COLOURS ? (uint64_t)1 << c : 0;
        }
        of[i] = (unsigned char)c;
        count[c]++;
    }
}

// at: counted in lanes.
static void set_lane(sweeps *s, int at, int contact)
{
    batch *c = &s->batch[at / BATCH_LANES];
    int l = at % BATCH_LANES;
    c->contact[l] = contact;
    for (int side = 0; side < 2; side++) {
        c->node[side][l] = node_of(s, s->problem->contact[contact].body[side]);
    }
}

// Batches of one colour share no body. Contacts without a colour have batches of their own.
static bool take_batches(sweeps *s, sprag_scratch *scratch)
{
    int contacts = s->problem->contacts, count[COLOURS + 1] = {0}, next[COLOURS + 1];
    uint64_t *used = SPRAG_TAKE(scratch, s->nodes + 1, uint64_t);
    unsigned char *of = SPRAG_TAKE(scratch, contacts, unsigned char);
    if (scratch->failed) {
        return false;
    }
    colour(s, used, of, count);
    for (int c = 0; c < COLOURS; c++) {
        next[c] = BATCH_LANES * s->batches;
        s->batches += (count[c] + BATCH_LANES - 1) / BATCH_LANES;
    }
    next[COLOURS] = BATCH_LANES * s->batches;
    s->batches += count[COLOURS];
    s->batch = SPRAG_TAKE_RAW(scratch, s->batches, batch);
    if (!s->batch) {
        return false;
    }
    for (int i = 0; i < s->batches; i++) {
        for (int l = 0; l < BATCH_LANES; l++) {
            s->batch[i].contact[l] = -1;
            s->batch[i].node[0][l] = s->batch[i].node[1][l] = s->nodes;
        }
    }
    for (int i = 0; i < contacts; i++) {
        set_lane(s, next[of[i]], i);
        next[of[i]] += of[i] < COLOURS ? 1 : BATCH_LANES;
    }
    return true;
}

static void set_row(sweeps *s, int i)
{
    const sprag_row *row = &s->problem->row[i];
    batch_row *to = &s->row[i];
    double step = s->problem->step;
    *to = (batch_row){.offset = -row->bias, .lo = row->lo * step, .hi = row->hi * step};
    for (int side = 0; side < 2; side++) {
        int b = row->body[side], node = to->node[side] = node_of(s, b);
        const double *J = row->jacobian[side], *mass = s->mass[node], *I = mass + 1;
        double *turn = to->turn[side];
        if (node == s->nodes) {
            to->offset += b == SPRAG_STATIC ? 0 : dot6(J, s->problem->body[b].velocity);
            continue;
        }
        memcpy(to->jacobian[side], J, sizeof to->jacobian[side]);
        for (int k = 0; k < 3; k++) {
            turn[k] = mass[0] * J[k];
        }
        turn[3] = I[0] * J[3] + I[3] * J[4] + I[4] * J[5];
        turn[4] = I[3] * J[3] + I[1] * J[4] + I[5] * J[5];
        turn[5] = I[4] * J[3] + I[5] * J[4] + I[2] * J[5];
        to->inverse_mass += dot6(J, turn);
    }
    to->yield = sprag_row_yield(&s->soft, row, to->inverse_mass);
    s->x.row_impulse[i] = fmin(fmax(row->guess * step, to->lo), to->hi);
}

// Stiction tolerances are a share of a contact's own slip before the step, within bounds, unless
// its surface sets one.
static void prepare_batches(sweeps *s, const batch_velocity *start,
                            const sprag_sweeps_options *options, sprag_stats *stats)
{
    sprag_stiction stiction = sprag_stiction_of(s->soft.scale, options->moving, options->at_rest);
    batch_ranges of;
    batches_prepare(s, start, &of);
    batches_set_stiction(s, &stiction, &of);
    stats->stiction = of.most.stiction;
    stats->stiction_least = of.least.stiction;
    stats->stiffness[0] = isfinite(of.least.stiffness) ? of.least.stiffness : 0;
    stats->damping[0] = isfinite(of.least.damping) ? of.least.damping : 0;
    stats->stiffness[1] = of.most.stiffness;
    stats->damping[1] = of.most.damping;
}

static bool prepare(sweeps *s, const sprag_sweeps_options *options, sprag_scratch *scratch,
                    sprag_stats *stats)
{
    batch_velocity *start;
    s->soft = sprag_problem_softness(s->problem, options->softness, options->row_softness);
    s->rows = s->problem->rows;
    if (!take_bodies(s, &start, scratch) || !take_batches(s, scratch)) {
        return false;
    }
    s->x.velocities = BATCH_LANES * (s->nodes + 1L);
    long impulses = 3L * BATCH_LANES * s->batches;
    s->x.count = s->x.velocities + impulses + ((s->rows + BATCH_LANES - 1) & -BATCH_LANES);
    s->x.all = SPRAG_TAKE(scratch, s->x.count, double);
    s->before = SPRAG_TAKE_RAW(scratch, s->x.count, double);
    s->push = SPRAG_TAKE(scratch, s->x.count, double);
    s->row = SPRAG_TAKE(scratch, s->rows, batch_row);
    if (scratch->failed) {
        return false;
    }
    s->x.v = (batch_velocity *)s->x.all;
    s->x.impulse = (batch_real(*)[3])(s->x.all + s->x.velocities);
    s->x.row_impulse = s->x.all + s->x.velocities + impulses;
    prepare_batches(s, (const batch_velocity *)start, options, stats);
    for (int i = 0; i < s->rows; i++) {
        set_row(s, i);
    }
    s->scale = 0;
    for (int b = 0; b < s->problem->bodies; b++) {
        const sprag_body *body = &s->problem->body[b];
        double gain[6], L[3];
        for (int k = 0; k < 6; k++) {
            gain[k] = body->free_velocity[k] - body->velocity[k];
        }
        mul33(body->inertia, gain + 3, L);
        s->scale += body->mass > 0 ? body->mass * dot3(gain, gain) + dot3(gain + 3, L) : 0;
    }
    s->scale = sqrt(s->scale);
    return true;
}

// ---- start and end

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

// From the expected impulses, unless they are those of something else: contacts take energy away.
static void start(sweeps *s)
{
    const batch_velocity *v = (const batch_velocity *)s->x.v;
    batches_balance(s);
    if (!(energy(s, v, NULL) <= 2 * energy(s, (const batch_velocity *)s->free, NULL))) {
        memset(s->x.impulse, 0, (size_t)(s->x.count - s->x.velocities) * sizeof(double));
        batches_balance(s);
    }
}

static void write_solution(sweeps *s, sprag_solution *solution)
{
    const sprag_problem *problem = s->problem;
    for (int b = 0; b < problem->bodies; b++) {
        double *v = solution->velocity[b];
        const double *of = s->x.v[s->node_of[b]];
        if (s->node_of[b] == s->nodes) {
            memcpy(v, problem->body[b].velocity, 6 * sizeof *v);
        } else {
            memcpy(v, of, 3 * sizeof *v);
            memcpy(v + 3, of + 4, 3 * sizeof *v);
        }
    }
    for (int i = 0; i < s->batches; i++) {
        const batch *c = &s->batch[i];
        for (int l = 0; l < BATCH_LANES; l++) {
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
        solution->row_force[i] = s->x.row_impulse[i] / problem->step;
    }
}

// ---- sweeps

// Stagnation: at 16, 32, 64 ... sweeps a residual below `small` that has not halved since half as
// many ends the solve. One ball that still turns in its pocket would take hundreds of sweeps.
static bool stagnates(int it, double residual, double *then)
{
    enum { FIRST = 16 };
    static const double small = 1e-3;
    if (it < FIRST || (it & (it - 1)) != 0) {
        return false;
    }
    bool ends = residual <= small && residual > 0.5 * *then;
    *then = residual;
    return ends;
}

// sqrt(kg) m/s: what the step changes without contacts, or what contacts change if that is more.
static double scale_of(const sweeps *s)
{
    double change =
        sqrt(energy(s, (const batch_velocity *)s->x.v, (const batch_velocity *)s->free));
    return fmax(fmax(s->scale, change), DBL_MIN);
}

static void run(sweeps *s, const sprag_sweeps_options *options, sprag_stats *stats)
{
    double last = INFINITY, then = INFINITY, scale = 1;
    for (int it = 1, since = 1;; it++, since++) {
        memcpy(s->before, s->x.all, (size_t)s->x.count * sizeof *s->before);
        double change = batches_sweep(s);
        bool power_of_two = (it & (it - 1)) == 0;
        scale = power_of_two || it >= options->most ? scale_of(s) : scale;
        stats->sweeps++;
        stats->sweep_change = change / scale;
        if (it >= options->most || stats->sweep_change <= options->tolerance || !isfinite(change) ||
            stagnates(it, stats->sweep_change, &then)) {
            return;
        }
        since = change > last ? 1 : since;
        last = change;
        batches_accelerate(s, (since - 1.0) / (since + 2.0));
    }
}

sprag_result sprag_sweeps_solve(const sprag_problem *problem, const sprag_sweeps_options *options,
                                sprag_scratch *scratch, sprag_solution *solution,
                                sprag_stats *stats)
{
    sweeps s = {.problem = problem};
    if (!prepare(&s, options, scratch, stats)) {
        return SPRAG_NO_MEMORY;
    }
    start(&s);
    run(&s, options, stats);
    if (!isfinite(stats->sweep_change)) {
        return SPRAG_NOT_CONVERGED;
    }
    batches_balance(&s); // rounding of the sums
    write_solution(&s, solution);
    return SPRAG_OK;
}
