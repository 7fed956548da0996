// The rest of a frame by an implicit Stribeck step, with the laws of its pairs. It ends early where
// a pair that bounces touches, for the impulses of the impact (impact.c), and another one follows.
#include <math.h>
#include <string.h>

#include "compliant_joints.h"
#include "linalg.h"
#include "mover.h"
#include "pair_contact.h"
#include "spinners.h"

typedef struct implicit_step {
    compliant_run *run;
    double step; // s, the rest of the frame
    sprag_body *body;
    bool *flies;       // bodies: without contacts and rows
    double (*axis)[3]; // unit, bodies that spin fast; 0: others (spinners.h)
    double (*rate)[3]; // rad/s, of their turn over the step
    sprag_contact *contact;
    int *guard; // of the contacts
    int contacts, rows;
    const sprag_row *row;
    sprag_solution solution;
    bool arrests; // pairs that bounce become contacts that do not
} implicit_step;

// ---- contacts

static double approach(const compliant_run *run, const sprag_contact *contact)
{
    double u[3];
    sprag_contact_velocity(contact, run->frame->body->velocity, sizeof(sprag_mover), u);
    return -dot3(contact->frame[0], u);
}

// Spring and damper, N = k (x - h u) - c u.
static void set_spring(const implicit_step *s, const compliant_law *law,
                       const sprag_surface *surface, sprag_contact *to)
{
    double h = s->run->frame->step, depth = fmax(0, -to->gap);
    double slope = law->damping + law->stiffness * s->step;
    to->erp = fmin(surface->erp, 1);
    if (slope > 0) {
        to->compliance = 1 / slope;
        to->bias = law->stiffness * depth / slope;
    } else {
        to->compliance = law->compliance;
        to->bias = to->erp * depth / h;
    }
    to->bias = fmin(to->bias, s->run->frame->recovery_speed);
    if (to->gap > 0) {
        to->bias = -to->gap / s->step;
    }
    to->recovery = surface->velocity_normal == 0 ? fmax(0, to->bias) : 0;
    to->bias += surface->velocity_normal;
}

static void add_contact(implicit_step *s, int guard, const compliant_contact *points, int i)
{
    const sprag_surface *surface = compliant_surface(s->run, guard);
    const compliant_law *law = &s->run->guards.law[guard];
    sprag_contact *to = &s->contact[s->contacts];
    sprag_pair_contact(s->run->frame, compliant_pair(s->run, guard), points->at[i],
                       points->gap.normal, to);
    to->gap = -points->depth[i];
    if (law->hunt_crossley && law->damping == 0) {
        to->stiffness = law->stiffness * points->share[i];
        to->dissipation = law->dissipation;
        to->bias = surface->velocity_normal;
    } else {
        set_spring(s, law, surface, to);
        to->compliance /= points->share[i];
    }
    s->guard[s->contacts++] = guard;
}

// Resolves a pair without a law: one with a surface gets its law, the caller is asked about others
// that will touch by their velocities within the step (all legs of a table land at once). false: no
// contact, or one that bounces.
static bool resolve(const implicit_step *s, int guard, const compliant_contact *points)
{
    compliant_run *run = s->run;
    if (compliant_pair(run, guard)->state == SPRAG_PAIR_ACCEPTED) {
        if (s->arrests || !compliant_rebounds(run, guard)) {
            compliant_set_law(run, guard, true);
            return true;
        }
        return false;
    }
    for (int i = 0; i < points->count; i++) {
        sprag_contact contact;
        sprag_pair_contact(run->frame, compliant_pair(run, guard), points->at[i],
                           points->gap.normal, &contact);
        double speed = approach(run, &contact);
        if (-points->depth[i] < speed * s->step) {
            const sprag_ess_event event = {
                .guard = guard, .time = run->time, .direction = 1, .rate = speed};
            return compliant_resolve_pair(run, guard, points->gap.distance, &event) &&
                   !compliant_rebounds(run, guard);
        }
    }
    return false;
}

static bool find_contacts(implicit_step *s)
{
    compliant_run *run = s->run;
    double near = 2 * run->sizes.fastest * s->step;
    int room = run->guards.pairs * SPRAG_MANIFOLD_MAX;
    s->contact = SPRAG_TAKE_RAW(run->solve_scratch, room, sprag_contact);
    s->guard = SPRAG_TAKE_RAW(run->solve_scratch, room, int);
    if (run->solve_scratch->failed) {
        return false;
    }
    compliant_measure_motion(run, run->state.x);
    for (int g = 0; g < run->guards.pairs; g++) {
        const compliant_law *law = &run->guards.law[g];
        compliant_contact points;
        if (law->status == COMPLIANT_DECLINED || compliant_gap_bound(run, g) > near) {
            continue;
        }
        compliant_find_points(run, run->state.x, g, near, &points);
        if (law->status == COMPLIANT_UNKNOWN && !resolve(s, g, &points)) {
            continue;
        }
        for (int i = 0; i < points.count && points.gap.distance <= near; i++) {
            if (points.share[i] > 0) {
                add_contact(s, g, &points, i);
            }
        }
    }
    return true;
}

// ---- problem and solution

static bool allocate(implicit_step *s)
{
    sprag_scratch *scratch = s->run->solve_scratch;
    int bodies = s->run->frame->bodies;
    s->body = SPRAG_TAKE(scratch, bodies, sprag_body);
    s->flies = SPRAG_TAKE(scratch, bodies, bool);
    s->axis = SPRAG_TAKE(scratch, bodies, *s->axis);
    s->rate = SPRAG_TAKE(scratch, bodies, *s->rate);
    s->solution.velocity = SPRAG_TAKE(scratch, bodies, *s->solution.velocity);
    if (scratch->failed || !find_contacts(s)) {
        return false;
    }
    s->solution.contact_force = SPRAG_TAKE(scratch, s->contacts, *s->solution.contact_force);
    s->solution.row_force = SPRAG_TAKE(scratch, s->rows, double);
    return !scratch->failed;
}

static void find_flying(implicit_step *s)
{
    for (int i = 0; i < s->run->frame->bodies; i++) {
        s->flies[i] = true;
    }
    for (int i = 0; i < s->contacts + s->rows; i++) {
        const int *body = i < s->contacts ? s->contact[i].body : s->row[i - s->contacts].body;
        for (int side = 0; side < 2; side++) {
            if (body[side] != SPRAG_STATIC) {
                s->flies[body[side]] = false;
            }
        }
    }
}

static sprag_result solve(implicit_step *s)
{
    compliant_run *run = s->run;
    const sprag_frame *frame = run->frame;
    sprag_stats stats = {0};
    for (int i = 0; i < frame->bodies; i++) {
        double inertia[9];
        sprag_mover_inertia(&frame->body[i], inertia);
        sprag_mover_body(&frame->body[i], inertia, s->step, &s->body[i]);
    }
    sprag_problem problem = {.step = s->step,
                             .bodies = frame->bodies,
                             .contacts = s->contacts,
                             .rows = s->rows,
                             .body = s->body,
                             .contact = s->contact,
                             .row = s->row};
    sprag_spin_held(frame->body, frame->step, &problem, s->body, s->axis, run->solve_scratch);
    if (run->solve_scratch->failed) {
        return SPRAG_NO_MEMORY;
    }
    sprag_stribeck_options options = run->options->solver;
    options.work_left = &run->work_left;
    sprag_result result =
        sprag_stribeck_solve(&problem, &options, run->solve_scratch, &s->solution, &stats);
    if (result == SPRAG_OK) {
        result = sprag_stribeck_limit_energy(&problem, &options, run->solve_scratch, &s->solution,
                                             &stats);
    }
    for (int i = 0; i < frame->bodies && result == SPRAG_OK; i++) {
        if (dot3(s->axis[i], s->axis[i]) > 0) {
            sprag_spin_rate(s->axis[i], s->step, s->solution.velocity[i] + 3, s->rate[i]);
        }
    }
    run->stats->implicit_step = stats;
    return result;
}

static void add_impulse(const implicit_step *s, int i)
{
    double wrench[2][6];
    sprag_contact_wrench(&s->contact[i], s->solution.contact_force[i], wrench);
    sprag_pair_add_impulse(compliant_pair(s->run, s->guard[i]), (const double(*)[6])wrench,
                           s->step);
}

// Motion until a time within the step: with the velocity of its end, which contacts and rows are
// solved for; in flight, along a parabola.
static sprag_motion motion_of(const implicit_step *s, int body, double time)
{
    const sprag_mover *mover = &s->run->frame->body[body];
    const double *v = s->solution.velocity[body];
    sprag_motion motion = {.pose = mover->pose};
    for (int k = 0; k < 6; k++) {
        double gain = (v[k] - mover->velocity[k]) * time / (2 * s->step);
        motion.velocity[k] = s->flies[body] ? mover->velocity[k] + gain : v[k];
    }
    if (dot3(s->axis[body], s->axis[body]) > 0) {
        memcpy(motion.velocity + 3, s->rate[body], sizeof s->rate[body]);
    }
    sprag_mover_cap(mover, motion.velocity + 3);
    return motion;
}

static void move_bodies(const implicit_step *s)
{
    for (int i = 0; i < s->run->frame->bodies; i++) {
        sprag_mover *body = &s->run->frame->body[i];
        sprag_motion motion = motion_of(s, i, s->step);
        sprag_motion_at(&motion, s->step, &body->pose);
        memcpy(body->velocity, s->solution.velocity[i], sizeof body->velocity);
        body->flown += s->flies[i] ? s->step : 0;
    }
}

// ---- impacts within the step

// m, of a pair at a time along the motion, more than what it may overlap.
static double gap_at(const implicit_step *s, int guard, double time)
{
    compliant_run *run = s->run;
    sprag_gap gap;
    for (int side = 0; side < 2; side++) {
        int body = compliant_body(run, guard, side);
        if (body != SPRAG_STATIC) {
            sprag_motion motion = motion_of(s, body, time);
            sprag_motion_at(&motion, time, &run->state.pose[body]);
        }
    }
    bool found = compliant_find_gap(run, guard, INFINITY, 0, NULL, &gap, NULL);
    return found ? gap.distance + run->guards.overlap[guard] : INFINITY;
}

// s, until the pair touches, along the motion, if it does so by `first`, the time of another touch
// or the end, `left`; else INFINITY.
static double time_of_touch(const implicit_step *s, int guard, double first, double left)
{
    double low = 0, high = fmin(first, left), at_high = gap_at(s, guard, high);
    if (at_high > 0) {
        return INFINITY;
    }
    double at_low = gap_at(s, guard, 0);
    for (int i = 0; i < 60 && high - low > 1e-12 * left && at_low > 0; i++) {
        double secant = low + (high - low) * at_low / (at_low - at_high);
        double middle = i % 2 ? (low + high) / 2 : secant, at = gap_at(s, guard, middle);
        *(at > 0 ? &low : &high) = middle;
        *(at > 0 ? &at_low : &at_high) = at;
    }
    return high;
}

static double first_touch(const implicit_step *s, double left)
{
    compliant_run *run = s->run;
    double first = INFINITY;
    for (int g = 0; g < run->guards.pairs && !s->arrests; g++) {
        if (compliant_flies(run, g) &&
            !(compliant_gap_bound(run, g) > 2 * run->sizes.fastest * left)) {
            first = fmin(first, time_of_touch(s, g, first, left));
        }
    }
    compliant_place(run, run->state.x);
    return first;
}

// The caller receives mean forces of rows over the frame: those of now stand for the time until
// now, those of the step for the rest.
static bool report_rows_until_now(compliant_run *run, double share)
{
    if (run->rows <= 0 || !(share > 0)) {
        return true;
    }
    compliant_set_known_labels(run);
    return compliant_report_row_forces(run, run->guards.known_label, share);
}

static sprag_result solve_part(implicit_step *s)
{
    compliant_run *run = s->run;
    const sprag_frame_calls *calls = run->calls;
    sprag_frame *frame = run->frame;
    sprag_scratch_reset(run->solve_scratch);
    s->contacts = 0;
    if (run->rows >= 0) {
        s->rows = calls->rows(calls->data, frame->body, frame->step, &s->row);
    }
    if (s->rows < 0 || !allocate(s)) {
        return SPRAG_NO_MEMORY;
    }
    find_flying(s);
    return solve(s);
}

// A step over the rest of the frame, or until the first touch. The velocities depend on the length
// of the step, and the time of the touch depends on them.
static sprag_result take_part(implicit_step *s, bool *touches)
{
    compliant_run *run = s->run;
    const double left = run->frame->step - run->time;
    s->step = left;
    *touches = false;
    for (int i = 0; i < COMPLIANT_PART_SOLVES && run->work_left > 0; i++) {
        double before = run->budget.work;
        sprag_result result = solve_part(s);
        double touch = result == SPRAG_OK ? first_touch(s, left) : INFINITY;
        run->work_left -= COMPLIANT_PRODUCTS_PER_EVALUATION * (run->budget.work - before);
        *touches = touch <= s->step * (1 + 1e-9);
        if (result != SPRAG_OK || !(touch < left) || fabs(touch - s->step) <= 1e-9 * left) {
            return result;
        }
        s->step = fmax(touch, 1e-9 * left);
    }
    return solve_part(s);
}

static void finish_part(implicit_step *s)
{
    compliant_run *run = s->run;
    for (int i = 0; i < s->contacts; i++) {
        add_impulse(s, i);
    }
    run->frame->rows = s->rows;
    if (s->rows > 0 && run->calls->add_forces) {
        run->calls->add_forces(run->calls->data, s->row, s->solution.row_force, NULL,
                               s->step / run->frame->step);
    }
    move_bodies(s);
    run->time = s->step < run->frame->step - run->time ? run->time + s->step : run->frame->step;
    compliant_pack(run);
}

sprag_result compliant_implicit_step(compliant_run *run)
{
    run->work_left = run->options->work * COMPLIANT_SOLVE_WORK;
    if (!report_rows_until_now(run, run->time / run->frame->step)) {
        return SPRAG_NOT_CONVERGED;
    }
    for (int parts = 0; run->time < run->frame->step; parts++) {
        implicit_step s = {.run = run,
                           .arrests = parts >= COMPLIANT_PARTS_MAX || !(run->work_left > 0)};
        bool touches;
        sprag_result result = take_part(&s, &touches);
        if (result != SPRAG_OK) {
            return result;
        }
        finish_part(&s);
        if (touches && !compliant_impact(run)) {
            return SPRAG_NOT_CONVERGED;
        }
    }
    return SPRAG_OK;
}
