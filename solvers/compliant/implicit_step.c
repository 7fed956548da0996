// The rest of a frame in one implicit Stribeck step, with the laws of its pairs.
#include <math.h>
#include <string.h>

#include "compliant_joints.h"
#include "kinematics.h"
#include "mover.h"
#include "pair_contact.h"

typedef struct implicit_step {
    compliant_run *run;
    double step; // s, the rest of the frame
    sprag_body *body;
    sprag_contact *contact;
    int *guard; // of the contacts
    int contacts, rows;
    const sprag_row *row;
    sprag_solution solution;
} implicit_step;

// ---- contacts

static double approach(const compliant_run *run, const sprag_contact *contact)
{
    const double *velocity[2];
    double u[3];
    for (int side = 0; side < 2; side++) {
        int body = contact->body[side];
        velocity[side] = body == SPRAG_STATIC ? NULL : run->frame->body[body].velocity;
    }
    relative_velocity(velocity, contact->arm, u);
    return -dot3(contact->frame[0], u);
}

// Spring and damper, N = k (x - h u) - c u, or a rebound.
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
    double speed = approach(s->run, to) + surface->velocity_normal;
    double rebound = surface->bounce * speed;
    if (surface->bounce > 0 && speed > surface->bounce_speed && rebound > to->bias &&
        to->gap < speed * s->step) {
        to->bias = rebound;
        to->softening = 0;
        to->compliance = law->compliance;
    }
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
        to->stiffness = law->stiffness;
        to->dissipation = law->dissipation;
        to->bias = surface->velocity_normal;
    } else {
        set_spring(s, law, surface, to);
    }
    s->guard[s->contacts++] = guard;
}

// Resolves a pair without a law: one with a surface gets its law, the caller is asked about others
// that will touch by their velocities within the step (all legs of a table land at once). false: no
// contact.
static bool resolve(const implicit_step *s, int guard, const compliant_contact *points)
{
    compliant_run *run = s->run;
    if (compliant_pair(run, guard)->state == SPRAG_PAIR_ACCEPTED) {
        compliant_set_law(run, guard, true);
        return true;
    }
    for (int i = 0; i < points->count; i++) {
        sprag_contact contact;
        sprag_pair_contact(run->frame, compliant_pair(run, guard), points->at[i],
                           points->gap.normal, &contact);
        double speed = approach(run, &contact);
        if (-points->depth[i] < speed * s->step) {
            const sprag_ess_event event = {
                .guard = guard, .time = run->time, .direction = 1, .rate = speed};
            return compliant_resolve_pair(run, guard, points->gap.distance, &event);
        }
    }
    return false;
}

static bool find_contacts(implicit_step *s)
{
    compliant_run *run = s->run;
    double near = 2 * run->sizes.fastest * s->step;
    int room = run->guards.pairs * SPRAG_MANIFOLD_MAX;
    s->contact = SPRAG_TAKE(run->solve_scratch, room, sprag_contact);
    s->guard = SPRAG_TAKE(run->solve_scratch, room, int);
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
            add_contact(s, g, &points, i);
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
    s->solution.velocity = SPRAG_TAKE(scratch, bodies, *s->solution.velocity);
    if (scratch->failed || !find_contacts(s)) {
        return false;
    }
    s->solution.contact_force = SPRAG_TAKE(scratch, s->contacts, *s->solution.contact_force);
    s->solution.row_force = SPRAG_TAKE(scratch, s->rows, double);
    return !scratch->failed;
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
    sprag_result result = sprag_stribeck_solve(&problem, &run->options->solver, run->solve_scratch,
                                               &s->solution, &stats);
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

static void move_bodies(const implicit_step *s)
{
    for (int i = 0; i < s->run->frame->bodies; i++) {
        sprag_mover *body = &s->run->frame->body[i];
        sprag_motion motion = {.pose = body->pose};
        memcpy(motion.velocity, s->solution.velocity[i], sizeof motion.velocity);
        memcpy(body->velocity, motion.velocity, sizeof body->velocity);
        sprag_mover_cap(body, motion.velocity + 3);
        sprag_motion_at(&motion, s->step, &body->pose);
    }
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

sprag_result compliant_implicit_step(compliant_run *run)
{
    sprag_frame *frame = run->frame;
    const sprag_frame_calls *calls = run->calls;
    implicit_step s = {.run = run, .step = frame->step - run->time};
    if (!(s.step > 0)) {
        return SPRAG_OK;
    }
    double share = s.step / frame->step;
    if (!report_rows_until_now(run, 1 - share)) {
        return SPRAG_NOT_CONVERGED;
    }
    sprag_scratch_reset(run->solve_scratch);
    if (run->rows >= 0) {
        s.rows = calls->rows(calls->data, frame->body, frame->step, &s.row);
    }
    if (s.rows < 0 || !allocate(&s)) {
        return SPRAG_NO_MEMORY;
    }
    sprag_result result = solve(&s);
    if (result != SPRAG_OK) {
        return result;
    }
    for (int i = 0; i < s.contacts; i++) {
        add_impulse(&s, i);
    }
    frame->rows = s.rows;
    if (s.rows > 0 && calls->add_forces) {
        calls->add_forces(calls->data, s.solution.row_force, NULL, share);
    }
    move_bodies(&s);
    return SPRAG_OK;
}
