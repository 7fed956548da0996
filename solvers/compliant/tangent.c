// Derivatives of a frame: the integrator takes directions along (ess.h), one for each state and
// force of a body, in coordinates of 12 a body, where the state has 13.
#include <math.h>
#include <string.h>

#include "compliant_run.h"
#include "linalg.h"

enum { TANGENTS = 12, TURN = 3, FORCES = 6, ENTRIES = TANGENTS + FORCES };

// Tolerance of the integration of states and directions, relative to their scale. Smaller: steps
// that follow the rounding of differences.
static const double TOLERANCE = 1e-6;

// m, m/s, rad, N, ...: displacement of a difference of f. Larger: truncation errors, where friction
// changes from sticking to slipping. Smaller: rounding.
static const double DISPLACEMENT = 1e-7;

static const char *const no_memory = "no memory";

// ---- coordinates

// The direction of a body's state along one of its 12 coordinates.
static void direction_of(const double *x, int coordinate, double *v)
{
    const double *q = x + COMPLIANT_QUATERNION;
    if (coordinate < TURN) {
        v[coordinate] = 1;
    } else if (coordinate >= TURN + 3) {
        v[coordinate + 1] = 1;
    } else {
        double e[3] = {0}, across[3];
        e[coordinate - TURN] = 0.5;
        cross3(e, q + 1, across);
        v[COMPLIANT_QUATERNION] = -dot3(e, q + 1);
        for (int k = 0; k < 3; k++) {
            v[COMPLIANT_QUATERNION + 1 + k] = q[0] * e[k] + across[k];
        }
    }
}

// Back: the turn of a change dq is twice the vector part of dq conj(q) / |q|^2.
static void coordinates_of(const double *x, const double *v, double to[TANGENTS])
{
    const double *q = x + COMPLIANT_QUATERNION, *dq = v + COMPLIANT_QUATERNION;
    double across[3], scale = 2 / (q[0] * q[0] + dot3(q + 1, q + 1));
    cross3(q + 1, dq + 1, across);
    memcpy(to, v, 3 * sizeof *to);
    for (int k = 0; k < 3; k++) {
        to[TURN + k] = scale * (q[0] * dq[1 + k] - dq[0] * q[1 + k] + across[k]);
    }
    memcpy(to + TURN + 3, v + COMPLIANT_VELOCITY, 6 * sizeof *to);
}

// Directions: for each body its 12 coordinates, then its 6 forces.
static void set_directions(const compliant_run *run, double *direction)
{
    const size_t n = (size_t)compliant_states(run);
    for (int i = 0; i < ENTRIES * run->frame->bodies; i++) {
        double *v = direction + (size_t)i * n;
        int body = i / ENTRIES, k = i % ENTRIES, at = COMPLIANT_STATES * body;
        memset(v, 0, n * sizeof *v);
        if (k < TANGENTS) {
            direction_of(run->state.x + at, k, v + at);
        } else {
            v[compliant_forces_at(run) + FORCES * body + k - TANGENTS] = 1;
        }
    }
}

static void write_matrices(const compliant_run *run, const double *direction, double *A, double *B)
{
    const int bodies = run->frame->bodies;
    for (int i = 0; i < ENTRIES * bodies; i++) {
        const double *v = direction + (size_t)i * (size_t)compliant_states(run);
        bool force = i % ENTRIES >= TANGENTS;
        int width = (force ? FORCES : TANGENTS) * bodies;
        int column = force ? FORCES * (i / ENTRIES) + i % ENTRIES - TANGENTS
                           : TANGENTS * (i / ENTRIES) + i % ENTRIES;
        for (int body = 0; body < bodies; body++) {
            int at = COMPLIANT_STATES * body;
            double of_body[TANGENTS];
            coordinates_of(run->state.x + at, v + at, of_body);
            for (int k = 0; k < TANGENTS; k++) {
                (force ? B : A)[(size_t)(TANGENTS * body + k) * (size_t)width + (size_t)column] =
                    of_body[k];
            }
        }
    }
}

// ---- slopes of f
//
// A body's part of f depends on its own state and forces, and on the states of those it touches:
// all directions share the blocks of D f at a state.

enum { COLUMNS = COMPLIANT_STATES + FORCES, CONTACT = 6, TURNS = 4, SPINS = 3 };

typedef struct slopes {
    double *x, *label;                              // where they hold
    double (*turn)[TURNS + SPINS][TURNS];           // bodies: q' by quaternion and angular velocity
    double (*own)[COLUMNS][CONTACT];                // bodies: accelerations by its state and forces
    double (*across)[2][COMPLIANT_STATES][CONTACT]; // pairs: the other side's by that of a side
    double (*wrench)[CONTACT];                      // bodies, N, N m, of contacts
    double *room;                                   // two states
} slopes;

static bool allocate_slopes(compliant_run *run)
{
    sprag_scratch *scratch = run->scratch;
    const size_t bodies = (size_t)run->frame->bodies, pairs = (size_t)run->guards.pairs;
    slopes *s = SPRAG_TAKE(scratch, 1, slopes);
    if (!s) {
        return false;
    }
    s->x = SPRAG_TAKE(scratch, compliant_states(run), double);
    s->label = SPRAG_TAKE(scratch, pairs, double);
    s->turn = SPRAG_TAKE(scratch, bodies, double[TURNS + SPINS][TURNS]);
    s->own = SPRAG_TAKE(scratch, bodies, double[COLUMNS][CONTACT]);
    s->across = SPRAG_TAKE(scratch, pairs, double[2][COMPLIANT_STATES][CONTACT]);
    s->wrench = SPRAG_TAKE(scratch, bodies, double[CONTACT]);
    s->room = SPRAG_TAKE(scratch, 2 * (size_t)compliant_states(run), double);
    run->slopes = s;
    if (!scratch->failed) {
        s->x[0] = NAN; // none yet
    }
    return !scratch->failed;
}

// Derivatives of a body by its own state, with the forces of its contacts as they are.
static void set_own(compliant_run *run, int body)
{
    slopes *s = run->slopes;
    const int at = COMPLIANT_STATES * body, n = compliant_states(run);
    double *f[2] = {s->room + at, s->room + n + at}, slope[COMPLIANT_STATES];
    for (int k = 0; k < COMPLIANT_STATES; k++) {
        double *x = &s->x[at + k];
        const double here = *x;
        for (int i = 0; i < 2; i++) {
            *x = i ? here - DISPLACEMENT : here + DISPLACEMENT;
            compliant_place_body(run, s->x, body);
            compliant_body_field(run, s->x, body, s->wrench[body], s->room + i * n);
        }
        *x = here;
        for (int i = 0; i < COMPLIANT_STATES; i++) {
            slope[i] = (f[0][i] - f[1][i]) / (2 * DISPLACEMENT);
        }
        memcpy(s->own[body][k], slope + COMPLIANT_VELOCITY, sizeof s->own[body][k]);
        if (k >= COMPLIANT_QUATERNION && k < COMPLIANT_VELOCITY) {
            memcpy(s->turn[body][k - COMPLIANT_QUATERNION], slope + COMPLIANT_QUATERNION,
                   sizeof s->turn[body][0]);
        } else if (k >= COMPLIANT_SPIN) {
            memcpy(s->turn[body][TURNS + k - COMPLIANT_SPIN], slope + COMPLIANT_QUATERNION,
                   sizeof s->turn[body][0]);
        }
    }
    compliant_place_body(run, s->x, body);
    for (int k = 0; k < FORCES; k++) {
        double unit[FORCES] = {0};
        unit[k] = 1;
        compliant_accelerate(run, body, unit, s->own[body][COMPLIANT_STATES + k]);
    }
}

// Adds a contact's forces on both sides; NAN: there is no gap.
static void add_wrenches(const compliant_run *run, int guard, const compliant_contact *c,
                         double scale, double to[2][CONTACT])
{
    for (int side = 0; side < 2; side++) {
        double wrench[CONTACT] = {isnan(c->gap.distance) ? NAN : 0};
        if (!isnan(c->gap.distance)) {
            compliant_add_wrench(run, guard, side, c, wrench);
        }
        add_scaled(to[side], scale, wrench, CONTACT);
    }
}

// Sets the derivatives by a state k of the body of a side. here: the contact without displacement.
static void set_pair_column(compliant_run *run, int guard, int side, int k,
                            const compliant_contact *here)
{
    slopes *s = run->slopes;
    const int body = compliant_body(run, guard, side), other = compliant_body(run, guard, !side);
    double *x = &s->x[COMPLIANT_STATES * body + k], change[2][CONTACT] = {{0}}, a[CONTACT];
    const double at = *x;
    compliant_contact c = *here;
    for (int sign = 1; sign >= -1; sign -= 2) {
        *x = at + sign * DISPLACEMENT;
        if (k < COMPLIANT_VELOCITY) {
            compliant_place_body(run, s->x, body);
            compliant_find_contact(run, s->x, guard, COMPLIANT_FORCES, &c);
        } else {
            compliant_update_forces(run, s->x, guard, &c);
        }
        add_wrenches(run, guard, &c, sign / (2 * DISPLACEMENT), change);
    }
    *x = at;
    compliant_place_body(run, s->x, body);
    compliant_accelerate(run, body, change[side], a);
    add_scaled(s->own[body][k], 1, a, CONTACT);
    if (other != SPRAG_STATIC) {
        compliant_accelerate(run, other, change[!side], s->across[guard][side][k]);
    }
}

static bool overlaps(const compliant_run *run, int guard)
{
    return run->slopes->label[guard] != 0 && compliant_acts(&run->guards.law[guard]);
}

static void find_contact(compliant_run *run, int guard, compliant_contact *c)
{
    compliant_find_contact(run, run->slopes->x, guard, COMPLIANT_FORCES, c);
}

static void set_slopes(compliant_run *run, const double *x, const double *label)
{
    slopes *s = run->slopes;
    const int bodies = run->frame->bodies, pairs = run->guards.pairs;
    compliant_contact c;
    memcpy(s->x, x, (size_t)compliant_states(run) * sizeof *x);
    memcpy(s->label, label, (size_t)pairs * sizeof *label);
    memset(s->wrench, 0, (size_t)bodies * sizeof *s->wrench);
    compliant_place(run, s->x);
    for (int g = 0; g < pairs; g++) {
        if (overlaps(run, g)) {
            find_contact(run, g, &c);
            for (int side = 0; side < 2; side++) {
                const int body = compliant_body(run, g, side);
                if (body != SPRAG_STATIC) {
                    compliant_add_wrench(run, g, side, &c, s->wrench[body]);
                }
            }
        }
    }
    for (int i = 0; i < bodies; i++) {
        set_own(run, i);
    }
    for (int g = 0; g < pairs; g++) {
        if (!overlaps(run, g)) {
            continue;
        }
        find_contact(run, g, &c);
        for (int i = 0; i < 2 * COMPLIANT_STATES; i++) {
            if (compliant_body(run, g, i % 2) != SPRAG_STATIC) {
                set_pair_column(run, g, i % 2, i / 2, &c);
            }
        }
    }
}

static inline void add_columns(const double *restrict v, int columns, const double *restrict column,
                               int rows, double *restrict to)
{
    double sum[CONTACT] = {0};
    for (int k = 0; k < columns; k++) {
        if (v[k] != 0) {
            add_scaled(sum, v[k], column + k * rows, rows);
        }
    }
    add_scaled(to, 1, sum, rows);
}

// The other side's accelerations.
static void add_across(const compliant_run *run, int guard, int side, const double *v, double *Df)
{
    const int body = compliant_body(run, guard, side), other = compliant_body(run, guard, !side);
    if (body != SPRAG_STATIC && other != SPRAG_STATIC) {
        add_columns(v + COMPLIANT_STATES * body, COMPLIANT_STATES,
                    run->slopes->across[guard][side][0], CONTACT,
                    Df + COMPLIANT_STATES * other + COMPLIANT_VELOCITY);
    }
}

static void tangent(void *user, const double *x, const double *label, const double *v, double *Df)
{
    compliant_run *run = user;
    const slopes *s = run->slopes;
    const size_t n = (size_t)compliant_states(run), pairs = (size_t)run->guards.pairs;
    if (memcmp(s->x, x, n * sizeof *x) != 0 || memcmp(s->label, label, pairs * sizeof *x) != 0) {
        set_slopes(run, x, label);
    }
    memset(Df, 0, n * sizeof *Df);
    for (int i = 0; i < run->frame->bodies; i++) {
        const double *of = v + COMPLIANT_STATES * i;
        double *to = Df + COMPLIANT_STATES * i, *q = to + COMPLIANT_QUATERNION;
        memcpy(to, of + COMPLIANT_VELOCITY, 3 * sizeof *to);
        add_columns(of + COMPLIANT_QUATERNION, TURNS, s->turn[i][0], TURNS, q);
        add_columns(of + COMPLIANT_SPIN, SPINS, s->turn[i][TURNS], TURNS, q);
        add_columns(of, COMPLIANT_STATES, s->own[i][0], CONTACT, to + COMPLIANT_VELOCITY);
        add_columns(v + compliant_forces_at(run) + FORCES * i, FORCES, s->own[i][COMPLIANT_STATES],
                    CONTACT, to + COMPLIANT_VELOCITY);
    }
    for (int g = 0; g < run->guards.pairs; g++) {
        for (int side = 0; side < 2 && overlaps(run, g); side++) {
            add_across(run, g, side, v, Df);
        }
    }
}

// ---- the integration

// The reason for which a step would not integrate the frame as a whole; NULL: none.
static const char *prepare(compliant_run *run, double *rate)
{
    sprag_compliant_reason reason;
    const size_t bytes = compliant_state_bytes(run);
    double *before = SPRAG_TAKE_RAW(run->scratch, compliant_forces_at(run), double);
    if (!before) {
        return no_memory;
    }
    if (compliant_starts_implicit(run, &reason)) {
        return sprag_compliant_reason_name(reason);
    }
    compliant_place(run, run->state.x);
    compliant_find_guards(run);
    if (compliant_needs_implicit_step(run, rate, &reason)) {
        return sprag_compliant_reason_name(reason);
    }
    memcpy(before, run->state.x, bytes);
    if (!compliant_impact(run) || memcmp(before, run->state.x, bytes) != 0) {
        return "rigid contacts are hit at the start of the step";
    }
    compliant_set_held_pairs(run);
    for (int g = 0; g < run->guards.pairs; g++) {
        if (run->held.pair[g]) {
            return "rigid contacts hold, with a kink where they begin to: use soft contacts, or "
                   "method=stribeck";
        }
    }
    return NULL;
}

// Takes directions along. NULL: to the end of the frame.
static const char *integrate(compliant_run *run, double rate, double *direction)
{
    const double h = run->frame->step;
    sprag_ess_stats stats;
    sprag_ess_options options = sprag_ess_defaults(h);
    options.adaptive = true;
    options.first_step = rate * h > 1 ? 1 / rate : h;
    options.relative_tolerance = 0;
    options.absolute_tolerance = TOLERANCE;
    options.scale = run->sizes.scale;
    sprag_ess_output output = {.directions = ENTRIES * run->frame->bodies, .direction = direction};
    sprag_ess_problem problem = compliant_problem(run);
    problem.tangent = tangent;
    problem.should_stop = NULL;
    sprag_result result =
        sprag_ess_integrate(&problem, &options, 0, h, run->state.x, run->guards.label, &output,
                            run->solve_scratch, &stats, NULL, 0);
    if (result == SPRAG_NO_MEMORY) {
        return no_memory;
    }
    if (result != SPRAG_OK) {
        return stats.stop == SPRAG_ESS_LAST_EVENT
                   ? "geoms touch in the step that have no contact joint yet "
                     "(advance.callbacks=before), or whose contact is rigid or bounces"
                   : sprag_ess_stop_name(stats.stop);
    }
    return NULL;
}

static const char *differentiate(compliant_run *run, double *A, double *B)
{
    if (!compliant_allocate(run)) {
        return no_memory;
    }
    compliant_set_sizes(run);
    compliant_pack(run);
    compliant_place(run, run->state.x);
    compliant_set_scale(run);
    const int n = compliant_states(run);
    for (int i = compliant_forces_at(run); i < n; i++) {
        run->sizes.scale[i] = 1;
    }
    double *direction =
        SPRAG_TAKE(run->scratch, (size_t)n * ENTRIES * (size_t)run->frame->bodies, double);
    if (!compliant_allocate_guards(run) || !compliant_allocate_held(run) || !direction) {
        return no_memory;
    }
    double rate = 0;
    const char *why = prepare(run, &rate);
    if (!why && !allocate_slopes(run)) {
        why = no_memory;
    }
    if (!why) {
        set_directions(run, direction);
        why = integrate(run, rate, direction);
    }
    if (!why) {
        write_matrices(run, direction, A, B);
    }
    return why;
}

const char *sprag_compliant_differentiate(sprag_frame *frame,
                                          const sprag_compliant_options *options,
                                          const sprag_frame_calls *calls, sprag_scratch scratch[2],
                                          double *A, double *B)
{
    sprag_compliant_stats stats = {0};
    compliant_run run = {.frame = frame,
                         .options = options,
                         .calls = calls,
                         .scratch = &scratch[0],
                         .solve_scratch = &scratch[1],
                         .stats = &stats,
                         .rows = -1,
                         .work_left = HUGE_VAL,
                         .hold_work = HUGE_VAL,
                         .has_forces = true};
    if (!sprag_frame_is_good(frame)) {
        return "the state of a body is not finite";
    }
    if (calls->rows) {
        return "method=ess has no derivatives of joints yet: use method=stribeck";
    }
    if (frame->contacts > 0) {
        return sprag_compliant_reason_name(SPRAG_COMPLIANT_PROGRAM_CONTACTS);
    }
    compliant_begin_memories(frame);
    return differentiate(&run, A, B);
}
