// Derivatives of a frame: the integrator takes directions along (ess.h), one for each state and
// force of a body, in coordinates of 12 a body, where the state has 13.
#include <math.h>
#include <string.h>

#include "compliant_run.h"
#include "linalg.h"

enum { TANGENTS = 12, TURN = 3, FORCES = 6, ENTRIES = TANGENTS + FORCES };

// Of the integration of states and directions, times their scale. Smaller: steps that follow the
// rounding of differences.
static const double TOLERANCE = 1e-7;

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

// ---- the integration

static void tangent(void *user, const double *x, const double *label, const double *v, double *Df)
{
    compliant_run *run = user;
    const int n = compliant_states(run);
    double wide = 0, *shifted = run->tangent_room, *f = shifted + n;
    for (int i = 0; i < n; i++) {
        wide = fmax(wide, fabs(v[i]));
    }
    const double step = wide > 0 ? DISPLACEMENT / wide : 1;
    run->held.observed = true;
    for (int sign = 1; sign >= -1; sign -= 2) {
        for (int i = 0; i < n; i++) {
            shifted[i] = x[i] + sign * step * v[i];
        }
        compliant_field(run, shifted, label, sign > 0 ? Df : f);
    }
    run->held.observed = false;
    for (int i = 0; i < n; i++) {
        Df[i] = (Df[i] - f[i]) / (2 * step);
    }
}

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
    run->tangent_room = SPRAG_TAKE(run->scratch, 2 * (size_t)n, double);
    double *direction =
        SPRAG_TAKE(run->scratch, (size_t)n * ENTRIES * (size_t)run->frame->bodies, double);
    if (!compliant_allocate_guards(run) || !compliant_allocate_held(run) || !direction) {
        return no_memory;
    }
    double rate = 0;
    const char *why = prepare(run, &rate);
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
