// What is left of a frame, in one implicit Stribeck step of the same laws.
#include <math.h>
#include <string.h>

#include "compliant_run.h"
#include "kinematics.h"
#include "mover.h"
#include "pair_contact.h"

typedef struct rest {
    compliant_run *run;
    double step; // s
    sprag_body *body;
    sprag_contact *contact;
    int *guard; // of the contacts
    int contacts, rows;
    const sprag_row *row;
    sprag_solution solution;
} rest;

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

// Where no law of Hunt and Crossley's holds: spring and damper, N = k (x - h u) - c u.
static void set_spring(const rest *r, const compliant_law *law, const sprag_surface *surface,
                       sprag_contact *to)
{
    double h = r->run->frame->step, depth = fmax(0, -to->gap), left = r->step;
    double yield = law->damping + law->stiffness * left;
    if (yield > 0) {
        to->compliance = 1 / yield;
        to->bias = law->stiffness * depth / yield;
    } else {
        to->compliance = law->compliance;
        to->bias = fmin(surface->erp, 1) * depth / h;
    }
    to->bias = fmin(to->bias, r->run->frame->recovery_speed);
    to->erp = fmin(surface->erp, 1);
    if (to->gap > 0) {
        to->bias = -to->gap / left;
    }
    double speed = approach(r->run, to) + surface->velocity_normal;
    double rebound = surface->bounce * speed;
    if (surface->bounce > 0 && speed > surface->bounce_speed && rebound > to->bias &&
        to->gap < speed * left) {
        to->bias = rebound;
        to->softening = 0;
        to->compliance = law->compliance;
    }
    to->bias += surface->velocity_normal;
}

// Of one that is known, and not touched yet.
static bool settle(compliant_run *run, int guard)
{
    bool known = run->frame->pair[run->pair[guard]].state == SPRAG_PAIR_ACCEPTED;
    if (known) {
        compliant_set_law(run, guard, true);
    }
    return known;
}

// Will two that nobody has been asked about touch, as they go now? Legs of a table land at once.
static bool meets(const rest *r, int guard, const compliant_contact *touch)
{
    const sprag_frame *frame = r->run->frame;
    for (int i = 0; i < touch->count; i++) {
        sprag_contact contact;
        sprag_pair_contact(frame, &frame->pair[r->run->pair[guard]], touch->at[i],
                           touch->gap.normal, &contact);
        double speed = approach(r->run, &contact);
        const sprag_ess_event event = {
            .guard = guard, .time = r->run->time, .direction = 1, .rate = speed};
        if (-touch->depth[i] < speed * r->step) {
            return compliant_meet(r->run, guard, touch->gap.distance, &event);
        }
    }
    return false;
}

static void set_contact(rest *r, int guard, const compliant_contact *touch, int i)
{
    compliant_run *run = r->run;
    const sprag_pair *pair = &run->frame->pair[run->pair[guard]];
    const sprag_surface *surface = &pair->surface;
    const compliant_law *law = &run->law[guard];
    sprag_contact *to = &r->contact[r->contacts];
    sprag_pair_contact(run->frame, pair, touch->at[i], touch->gap.normal, to);
    to->gap = -touch->depth[i];
    if (law->hunt_crossley && law->damping == 0) {
        to->stiffness = law->stiffness;
        to->dissipation = law->dissipation;
        to->bias = surface->velocity_normal;
    } else {
        set_spring(r, law, surface, to);
    }
    r->guard[r->contacts++] = guard;
}

static bool find_contacts(rest *r)
{
    compliant_run *run = r->run;
    double near = 2 * run->fastest * r->step;
    int room = run->guards * SPRAG_MANIFOLD_MAX;
    r->contact = SPRAG_TAKE(run->solving, room, sprag_contact);
    r->guard = SPRAG_TAKE(run->solving, room, int);
    if (run->solving->failed) {
        return false;
    }
    compliant_measure(run, run->x);
    for (int g = 0; g < run->guards; g++) {
        if (run->law[g].declined) {
            continue;
        }
        compliant_contact touch;
        if (compliant_least_gap(run, g) > near) {
            continue;
        }
        compliant_touch_near(run, run->x, g, near, &touch);
        if (run->law[g].unknown && !settle(run, g) && !meets(r, g, &touch)) {
            continue;
        }
        for (int i = 0; i < touch.count && touch.gap.distance <= near; i++) {
            set_contact(r, g, &touch, i);
        }
    }
    return true;
}

static bool take(rest *r)
{
    sprag_scratch *scratch = r->run->solving;
    int bodies = r->run->frame->bodies;
    r->body = SPRAG_TAKE(scratch, bodies, sprag_body);
    r->solution.velocity = SPRAG_TAKE(scratch, bodies, *r->solution.velocity);
    if (scratch->failed || !find_contacts(r)) {
        return false;
    }
    r->solution.contact_force = SPRAG_TAKE(scratch, r->contacts, *r->solution.contact_force);
    r->solution.row_force = SPRAG_TAKE(scratch, r->rows, double);
    return !scratch->failed;
}

static void add_impulse(const rest *r, int i)
{
    compliant_run *run = r->run;
    double wrench[2][6];
    sprag_contact_wrench(&r->contact[i], r->solution.contact_force[i], wrench);
    sprag_pair_add_impulse(&run->frame->pair[run->pair[r->guard[i]]], (const double(*)[6])wrench,
                           r->step);
}

sprag_result compliant_rest(compliant_run *run)
{
    sprag_frame *frame = run->frame;
    rest r = {.run = run, .step = frame->step - run->time};
    sprag_stats stats = {0};
    if (!(r.step > 0)) {
        return SPRAG_OK;
    }
    double share = r.step / frame->step;
    if (run->rows > 0 && share < 1) { // rows are told their mean force, this one for all until now
        compliant_set_sides(run);
        if (!compliant_tell_rows(run, run->side, 1 - share)) {
            return SPRAG_NOT_CONVERGED;
        }
    }
    sprag_scratch_reset(run->solving);
    const sprag_frame_calls *calls = run->calls;
    if (run->rows >= 0) {
        r.rows = calls->rows(calls->data, frame->body, frame->step, &r.row);
    }
    if (r.rows < 0 || !take(&r)) {
        return SPRAG_NO_MEMORY;
    }
    for (int i = 0; i < frame->bodies; i++) {
        double inertia[9];
        sprag_mover_inertia(&frame->body[i], inertia);
        sprag_mover_body(&frame->body[i], inertia, r.step, &r.body[i]);
    }
    sprag_problem problem = {.step = r.step,
                             .bodies = frame->bodies,
                             .contacts = r.contacts,
                             .rows = r.rows,
                             .body = r.body,
                             .contact = r.contact,
                             .row = r.row};
    sprag_result result =
        sprag_stribeck_solve(&problem, &run->options->solver, run->solving, &r.solution, &stats);
    run->stats->implicit_step = stats;
    if (result != SPRAG_OK) {
        return result;
    }
    for (int i = 0; i < r.contacts; i++) {
        add_impulse(&r, i);
    }
    frame->rows = r.rows;
    if (r.rows > 0 && calls->add_forces) {
        calls->add_forces(calls->data, r.solution.row_force, NULL, share);
    }
    for (int i = 0; i < frame->bodies; i++) {
        sprag_mover *body = &frame->body[i];
        sprag_motion motion = {.pose = body->pose};
        memcpy(motion.velocity, r.solution.velocity[i], sizeof motion.velocity);
        memcpy(body->velocity, motion.velocity, sizeof body->velocity);
        sprag_mover_cap(body, motion.velocity + 3);
        sprag_motion_at(&motion, r.step, &body->pose);
    }
    return SPRAG_OK;
}
